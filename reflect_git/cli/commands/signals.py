"""List and filter signals."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import click

from reflect_git import paths
from reflect_git.capture import service
from reflect_git.cli.context import CliContext, format_age, one_line, terminal_width
from reflect_git.cli.options import ShortOptionCommand, WordChoice, json_option
from reflect_git.errors import EXIT_USAGE, ReflectError
from reflect_git.records import schema
from reflect_git.records.ids import format_signal_count, plural

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from reflect_git.records.schema import Signal
    from reflect_git.store.repository import Store

TRUST_WORDS = {
    "user_typed": "typed by the user",
    "user_feedback": "the user's answer to a tool call",
    "assistant": "Claude",
    "tool_output": "tool",
    "remote": "another machine",
    "imported": "imported",
}
_USER_TRUST = ("user_typed", "user_feedback")
_MIN_CONTENT_WIDTH = 16
_WIDE_TERMINAL = 100


@click.command(cls=ShortOptionCommand)
@click.option("--status", type=WordChoice("status", schema.STATUSES), metavar="WORD", help="captured, promoted, …")
@click.option("--type", "kind", type=WordChoice("type", schema.TYPES), metavar="WORD", help="correction, failure, …")
@click.option("--since", metavar="TIME", default="", help="2026-02-11, or 2h, 3d, 1w for a time ago.")
@click.option("--tag", "tags", metavar="WORD", multiple=True, help="Only with this tag; may be repeated.")
@click.option("--session", metavar="ID", default="", help="Only this session (a prefix is enough), or 'current'.")
@click.option("--project", metavar="NAME|KEY|DIR", default="", help="Only this project.")
@click.option("-n", "--limit", metavar="N", type=click.IntRange(min=1), help="Only the newest N.")
@json_option
@click.pass_obj
def signals_command(
    cli: CliContext, status: str | None, kind: str | None, since: str, tags: Sequence[str], session: str, project: str,
    limit: int | None,
) -> None:  # fmt: skip
    """List signals and session summaries, oldest first.

    Each line has the id, age, type, confidence (1 low … 4 approved) and content. Brackets show a status other than
    captured, or words that are not the user's own.
    """
    since = service.parse_since(since) if since else ""
    session = get_current_session(cli) if session == "current" else session
    store = cli.open_mined_store()
    if store is None:
        _print_no_store(cli)
        return
    scan = cli.scan(store)
    found = scan.select(
        status=status or "", kind=kind or "", since=since, tags=tags, session=session,
        project=_find_project_key(cli, store, project),
    )  # fmt: skip
    found = found[-limit:] if limit else found
    if cli.json:
        cli.print_json_parts(scan.to_json(found))
    elif found:
        _print_signals(cli, scan.get_signals(found))
    else:
        cli.print_note(
            "no matching signals" if any((status, kind, since, tags, session, project)) else "no signals yet"
        )


def _print_no_store(cli: CliContext) -> None:
    if cli.json:
        cli.print_json([])
    else:
        cli.print_no_store()


def get_current_session(cli: CliContext) -> str:
    session = cli.env.get("CLAUDE_CODE_SESSION_ID", "")
    if not session:
        raise ReflectError("not inside a session", "use --session ID", "usage", EXIT_USAGE)
    return session


def _find_project_key(cli: CliContext, store: Store, text: str) -> str:
    """Return the key of the project that a folder is in. A plain name such as `app` is returned unchanged."""
    if os.sep not in text and text not in (".", ".."):
        return text
    from reflect_git.redact import redact

    found = service.get_project(store, os.path.expanduser(text))
    # A signal's key was redacted like the rest of it: the home folder in it is '~'.
    return redact(str(found["key"]), paths.home_dir(cli.env)) if found else text


def _print_signals(cli: CliContext, found: Sequence[Signal]) -> None:
    room = terminal_width()
    ages = [format_age(min(signal["timestamp"], signal["stored"])) for signal in found]
    age_width = max(len(age) for age in ages)
    kind_width = max(len(signal["type"]) for signal in found)
    for signal, age in zip(found, ages, strict=True):
        shown = signal["id"] if room >= _WIDE_TERMINAL else signal["id"][-8:]  # which every verb takes as well
        head = f"{shown}  {age:<{age_width}}  {signal['type']:<{kind_width}}  {signal['confidence']}  "
        notes = _format_notes(signal)
        content = one_line(signal["content"], max(_MIN_CONTENT_WIDTH, room - len(head) - len(notes)))
        cli.print_line(_color_head(head, signal) + (click.style(notes, dim=True) if notes else "") + content)


def _color_head(head: str, signal: Signal) -> str:
    record_id, _, rest = head.partition(" ")
    colored = rest.replace(signal["type"], click.style(signal["type"], fg="cyan"), 1)
    return f"{click.style(record_id, fg='yellow')} {colored}"


def _format_notes(signal: Signal) -> str:
    notes = [] if signal["status"] == "captured" else [signal["status"]]
    notes += [] if signal["trust"] in _USER_TRUST else [format_speaker(signal)]
    return f"[{', '.join(notes)}] " if notes else ""


def format_speaker(signal: Mapping[str, Any]) -> str:
    """Return whose words a signal has. A session summary has Claude's trust, but begins with the user's request."""
    is_mined = signal["type"] == "summary" and "goal" in signal["meta"]
    return "user and Claude" if is_mined and signal["trust"] == "assistant" else TRUST_WORDS[signal["trust"]]


_NO_COUNTS: dict[str, Any] = {"total": 0, "summaries": 0, "status": {}, "type": {}, "category": {}, "learnings": 0}


@click.command()
@json_option
@click.pass_obj
def stats_command(cli: CliContext) -> None:
    """Count signals by status, type and category; count session summaries separately."""
    from reflect_git.store import api
    from reflect_git.store.local import usage

    store = cli.open_mined_store()
    if store is None and not cli.json:
        cli.print_no_store()
        return
    scan = cli.scan(store) if store else None
    counts = api.stats(scan) if scan else _NO_COUNTS
    spent = usage.summarise(store) if store else {}
    counts = {**counts, "usage": spent} if spent else counts
    if cli.json:
        cli.print_json(counts)
        return
    rules = plural(len(scan.history.get_rules_in_force()) if scan else 0, "rule")
    cli.print_line(f"{format_signal_count(counts['total'], counts['summaries'])}, {rules} in force")
    for field in ("status", "type", "category"):
        words = counts[field]
        if words:
            cli.print_line(f"\n{field}")
        for word in sorted(words, key=lambda word: (-words[word], word)):
            cli.print_line(f"  {words[word]:>6}  {word}")
    if spent:
        calls = f"{plural(spent['calls'], 'call')} ({spent['failed']} failed), {spent['tokens']:,} tokens"
        cli.print_line(f"\ncalls to models in 90 days: {calls}, ${spent['usd']:.2f}; ${spent['usd_today']:.2f} today")
