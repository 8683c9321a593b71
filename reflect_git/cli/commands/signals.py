"""List and filter signals."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import click

from reflect_git.capture import service
from reflect_git.cli.context import Front, ago, one_line, terminal_width
from reflect_git.cli.options import Lettered, Word, json_option
from reflect_git.errors import EXIT_USAGE, ReflectError
from reflect_git.records import schema
from reflect_git.records.ids import plural, signals_said

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from reflect_git.records.schema import Signal
    from reflect_git.store.repository import Store

TRUST = {
    "user_typed": "typed by the user",
    "user_feedback": "the user's answer to a tool call",
    "assistant": "Claude",
    "tool_output": "tool",
    "remote": "another machine",
    "imported": "imported",
}
_OWN_WORDS = ("user_typed", "user_feedback")
_NARROWEST = 16
_WIDE = 100


@click.command(cls=Lettered)
@click.option("--status", type=Word("status", schema.STATUSES), metavar="WORD", help="captured, promoted, …")
@click.option("--type", "kind", type=Word("type", schema.TYPES), metavar="WORD", help="correction, failure, …")
@click.option("--since", metavar="TIME", default="", help="2026-02-11, or 2h, 3d, 1w for a time ago.")
@click.option("--tag", "tags", metavar="WORD", multiple=True, help="Only with this tag; may be repeated.")
@click.option("--session", metavar="ID", default="", help="Only this session (a prefix is enough), or 'current'.")
@click.option("--project", metavar="NAME|KEY|DIR", default="", help="Only this project.")
@click.option("-n", "--limit", metavar="N", type=click.IntRange(min=1), help="Only the newest N.")
@json_option
@click.pass_obj
def signals_command(
    front: Front, status: str | None, kind: str | None, since: str, tags: Sequence[str], session: str, project: str,
    limit: int | None,
) -> None:  # fmt: skip
    """List signals and session summaries, oldest first.

    Each line has the id, age, type, confidence (1 low … 4 approved) and content. Brackets show a status other than
    captured, or words that are not the user's own.
    """
    since = service.parse_since(since) if since else ""
    session = current_session(front) if session == "current" else session
    store = front.existing()
    if store is None:
        _say_none(front)
        return
    scan = front.scan(store)
    found = scan.select(
        status=status or "", kind=kind or "", since=since, tags=tags, session=session,
        project=_project_key(front, store, project),
    )  # fmt: skip
    found = found[-limit:] if limit else found
    if front.json:
        front.parts(scan.json(found))
    elif found:
        _list(front, scan.whole(found))
    else:
        front.talk("no matching signals" if any((status, kind, since, tags, session, project)) else "no signals yet")


def _say_none(front: Front) -> None:
    if front.json:
        front.data([])
    else:
        front.say_no_store()


def current_session(front: Front) -> str:
    session = front.env.get("CLAUDE_CODE_SESSION_ID", "")
    if not session:
        raise ReflectError("not inside a session", "use --session ID", "usage", EXIT_USAGE)
    return session


def _project_key(front: Front, store: Store, text: str) -> str:
    """Return the key of the project that a folder is in. A plain name such as `app` is returned unchanged."""
    if os.sep not in text and text not in (".", ".."):
        return text
    from reflect_git import paths
    from reflect_git.redact import redact

    found = service.project_of(store, os.path.expanduser(text))
    # A signal's key was redacted like the rest of it: the home folder in it is '~'.
    return redact(str(found["key"]), paths.home_dir(front.env)) if found else text


def _list(front: Front, found: Sequence[Signal]) -> None:
    room = terminal_width()
    ages = [ago(min(signal["timestamp"], signal["stored"])) for signal in found]
    age_width = max(len(age) for age in ages)
    kind_width = max(len(signal["type"]) for signal in found)
    for signal, age in zip(found, ages, strict=True):
        shown = signal["id"] if room >= _WIDE else signal["id"][-8:]  # which every verb takes as well
        head = f"{shown}  {age:<{age_width}}  {signal['type']:<{kind_width}}  {signal['confidence']}  "
        notes = _notes(signal)
        content = one_line(signal["content"], max(_NARROWEST, room - len(head) - len(notes)))
        front.out(_colored(head, signal) + (click.style(notes, dim=True) if notes else "") + content)


def _colored(head: str, signal: Signal) -> str:
    identity, _, rest = head.partition(" ")
    colored = rest.replace(signal["type"], click.style(signal["type"], fg="cyan"), 1)
    return f"{click.style(identity, fg='yellow')} {colored}"


def _notes(signal: Signal) -> str:
    notes = [] if signal["status"] == "captured" else [signal["status"]]
    notes += [] if signal["trust"] in _OWN_WORDS else [words_of(signal)]
    return f"[{', '.join(notes)}] " if notes else ""


def words_of(signal: Mapping[str, Any]) -> str:
    """Return whose words a signal has. A session summary has Claude's trust, but begins with the user's request."""
    is_mined = signal["type"] == "summary" and "goal" in signal["meta"]
    return "user and Claude" if is_mined and signal["trust"] == "assistant" else TRUST[signal["trust"]]


_NOTHING: dict[str, Any] = {"total": 0, "summaries": 0, "status": {}, "type": {}, "category": {}, "learnings": 0}


@click.command()
@json_option
@click.pass_obj
def stats_command(front: Front) -> None:
    """Count signals by status, type and category; count session summaries separately."""
    from reflect_git.store import api

    store = front.existing()
    if store is None and not front.json:
        front.say_no_store()
        return
    scan = front.scan(store) if store else None
    counts = api.stats(scan) if scan else _NOTHING
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
