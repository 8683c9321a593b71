"""How many signals there are, by status, type and category."""

from __future__ import annotations

from typing import Any

import click

from reflect_git.cli.front import Front
from reflect_git.cli.options import json_option
from reflect_git.model.counts import plural, signals_said

_NOTHING: dict[str, Any] = {"total": 0, "summaries": 0, "status": {}, "type": {}, "category": {}, "learnings": 0}


@click.command()
@json_option
@click.pass_obj
def command(front: Front) -> None:
    """Count signals by status, type and category; summaries of sessions apart."""
    from reflect_git.store import memory

    store = front.existing()
    if store is None and not front.json:
        front.say_no_store()
        return
    scan = front.scan(store) if store else None
    counts = memory.stats(scan) if scan else _NOTHING
    if front.json:
        front.data(counts)
        return
    rules = plural(len(scan.history.in_force()) if scan else 0, "rule")
    front.out(f"{signals_said(counts['total'], counts['summaries'])}, {rules} in force")
    for field in ("status", "type", "category"):
        words = counts[field]
        if words:
            front.out(f"\n{field}")
        for word in sorted(words, key=lambda word: (-words[word], word)):
            front.out(f"  {words[word]:>6}  {word}")
