"""Run `reflect-git search`: find rules, signals, digests and incidents by words."""

from __future__ import annotations

import re
import sys
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from reflect_git.capture import service
from reflect_git.cli.context import CliContext, format_age, printable
from reflect_git.cli.options import json_option
from reflect_git.memory import search
from reflect_git.memory.search import CLOSING, OPENING
from reflect_git.records.ids import plural
from reflect_git.store.index import Index

if TYPE_CHECKING:
    from collections.abc import Callable

    from reflect_git.memory.search import SearchHit

_LIMIT = 20
_SHOWN_KEY = 8


def show_progress(cli: CliContext) -> Callable[[int, int], None] | None:
    """Return a function that shows how much of the index is built; None if nobody watches."""
    if not sys.stderr.isatty():
        return None

    def show(done: int, total: int) -> None:
        end = "\n" if done >= total else ""
        click.echo(f"\rindexing {done:,} of {total:,} records{end}", nl=False, err=True)

    return show


@click.command()
@click.argument("words", nargs=-1, required=True)
@click.option("--rules", "kinds", flag_value="rule", multiple=True, help="Only rules.")
@click.option("--signals", "kinds", flag_value="signal", multiple=True, help="Only signals.")
@click.option("--digests", "kinds", flag_value="digest", multiple=True, help="Only lines of digests.")
@click.option("--incidents", "kinds", flag_value="incident", multiple=True, help="Only incidents.")
@click.option("--project", metavar="NAME|KEY", default="", help="Only this project, and what belongs to none.")
@click.option("--since", metavar="TIME", default="", help="2026-02-11, or 12h, 30d, 4w for a time ago.")
@click.option(
    "-n", "--limit", metavar="N", type=click.IntRange(1, 500), default=_LIMIT, help=f"How many hits; default: {_LIMIT}."
)
@json_option
@click.pass_obj
def search_command(
    cli: CliContext, words: tuple[str, ...], kinds: tuple[str, ...], project: str, since: str, limit: int
) -> None:
    """Search rules, signals, digests and incidents, best hits first.

    Other forms of a word and synonyms are found as well. Special characters are searched as typed. Signals that expired
    are found through the digests that cite them.

    \b
    Examples:
      reflect-git search staging database port
      reflect-git search --incidents "connection refused"
      reflect-git search --json -- --force-with-lease
    """
    since = service.parse_since(since) if since else ""
    store = cli.open_mined_store()
    if store is None:
        cli.print_json([]) if cli.json else cli.print_no_store()
        return
    from reflect_git.platform import yaml_loose

    index = Index(store, yaml_loose.parse_edited, show_progress(cli))
    if index.warning:
        cli.print_note(printable(index.warning))
        cli.print_hint("index", "the search works without it, but takes longer: reflect-git doctor")
    hits = search.search(store, index, " ".join(words), kinds=kinds, project=project, since=since, limit=limit)
    if cli.json:
        cli.print_json([asdict(hit) | {"snippet": _mark(hit, "[", "]")} for hit in hits])
        return
    for hit in hits:
        _print_hit(cli, hit)
    if not hits:
        cli.print_note(f"nothing found for '{printable(' '.join(words))}'")
    else:
        cli.print_hint("search", f"{plural(len(hits), 'hit')}; see one with 'reflect-git show {hits[0].id}'")


def _mark(hit: SearchHit, opening: str, closing: str) -> str:
    return hit.snippet.replace(OPENING, opening).replace(CLOSING, closing)


def _print_hit(cli: CliContext, hit: SearchHit) -> None:
    shown = hit.id[:_SHOWN_KEY] if hit.kind == "incident" else hit.id
    notes = [hit.state, hit.project, format_age(hit.time) if hit.time else ""]
    notes += [plural(hit.count, "signal")] if hit.count > 1 and hit.kind != "rule" else []
    notes += [f"cites {plural(len(hit.ids), 'record')}"] if hit.kind == "digest" else []
    head = f"{hit.kind:<8}  {click.style(shown, fg='yellow')}  "
    cli.print_line(head + click.style(printable(", ".join(filter(None, notes))), dim=True))
    parts = (hit.snippet or hit.text).replace(CLOSING, OPENING).split(OPENING)
    flat = [printable(re.sub(r"\s+", " ", part)) for part in parts]
    cli.print_line("    " + "".join(click.style(part, bold=True) if at % 2 else part for at, part in enumerate(flat)))
