"""The story of any id: what it says, where it came from, where it is, and what was decided about it."""

from __future__ import annotations

import re
import textwrap
import time
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from reflect_git.cli.front import Front, age, ago, printable
from reflect_git.cli.options import json_option
from reflect_git.cli.verbs.signals import TRUST
from reflect_git.errors import ReflectError
from reflect_git.store import expiry, layout, memory
from reflect_git.store.repository import INBOX, MAIN

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from reflect_git.adapters.gitread import CommitStory
    from reflect_git.model.schema import Decision, Project
    from reflect_git.store.reading import Snapshot
    from reflect_git.store.repository import Store

    Line = tuple[str, str]

_NAME_WIDTH = 12
_TEXT_WIDTH = 76
_CONFIDENCE = {1: "low", 2: "medium", 3: "high", 4: "approved"}
_ROADS = {
    "terminal": "at a terminal", "ask-user-question": "in Claude Code", "own-machine": "on another own machine",
    "unattended": "by a script",
}  # fmt: skip
_TEXT_FIELD = {"SIG": "content", "LRN": "text", "DEC": "text"}


@click.command()
@click.argument("name", metavar="ID|COMMIT")
@json_option
@click.pass_obj
def command(front: Front, name: str) -> None:
    """Tell the story of an id, or of a commit of the store.

    The beginning of an id is enough while it is unique, and so is the part after the date.
    """
    store = front.store(create=False)
    snapshot = front.snapshot(store)
    record, commit = _find(store, snapshot, name)
    decisions = _decisions_about(snapshot, record["id"]) if record else _decisions_in(snapshot, commit)
    if front.json:
        front.data({"record": record, "commit": asdict(commit) if commit else None, "decisions": decisions})
        return
    if record:
        _tell_record(front, record, _where_it_goes(store, record))
    _tell_commit(front, commit)
    for decision in decisions:
        _tell_decision(front, decision)


def _find(store: Store, snapshot: Snapshot, name: str) -> tuple[Any, CommitStory | None]:
    """The record with the commit that brought it, or a commit alone."""
    try:
        record = memory.get(snapshot, name)
    except ReflectError as error:
        sha = store.git.resolve(f"{name}^{{commit}}") if re.fullmatch("[0-9a-f]{4,40}", name) else None
        if error.code != "unknown-id" or sha is None:
            raise
        return None, _story(store, sha)
    sha = _commit_that_brought(store, record["id"])
    return record, _story(store, sha) if sha else None


def _commit_that_brought(store: Store, identity: str) -> str | None:
    """None: the record is still pending."""
    branches = store.git.refs(INBOX, MAIN)
    path = layout.path_of(identity)
    wanted = ("--max-count=1", "--diff-filter=A", "--format=%H", "--end-of-options", *branches, "--", path)
    return store.git.run("log", *wanted).out.decode("ascii").strip() or None


def _story(store: Store, sha: str) -> CommitStory:
    from reflect_git.adapters import gitread  # GitPython: 60 ms

    return gitread.commit_of(store.root, store.git.program, sha)


def _decisions_about(snapshot: Snapshot, identity: str) -> list[Decision]:
    history = snapshot.history
    return [made for made in history.decisions if identity in (made["subject"], *history.signals_of(made))]


def _decisions_in(snapshot: Snapshot, commit: CommitStory | None) -> list[Decision]:
    named = commit.trailers.get("Decision", []) if commit else []
    return [decision for decision in snapshot.history.decisions if decision["id"] in named]


def _where_it_goes(store: Store, record: Mapping[str, Any]) -> str:
    if not record["id"].startswith("SIG-"):
        return ""
    end = expiry.goes_on(record, expiry.lifetime(store), expiry.shown(store))  # type: ignore[arg-type]
    if end == float("inf"):
        return "stays for good"
    return f"goes by itself in {age(max(0.0, end - time.time()))}"


def _tell_record(front: Front, record: Mapping[str, Any], lifetime: str) -> None:
    prefix = record["id"][:3]
    front.out(f"{click.style(record['id'], fg='yellow')}  {_HEADLINES[prefix](record)}")
    text = record.get(_TEXT_FIELD.get(prefix, ""))
    if text:
        front.out()
        _out_text(front, text, "    ")
    front.out()
    for name, value in (*_LINES[prefix](record), ("lifetime", lifetime)):
        _out_line(front, name, value)


def _signal_headline(signal: Mapping[str, Any]) -> str:
    return f"{signal['type']}, {signal['status']}, confidence {_confidence(signal['confidence'])}"


def _learning_headline(learning: Mapping[str, Any]) -> str:
    return f"learning: {printable(learning['title'])}"


def _decision_headline(decision: Mapping[str, Any]) -> str:
    return f"decision: {decision['kind']}"


def _plain_headline(record: Mapping[str, Any]) -> str:
    return {"TLY": "what is left of expired signals", "EXP": "figures of a session"}[record["id"][:3]]


def _signal_lines(signal: Mapping[str, Any]) -> Iterator[Line]:
    yield "context", signal["context"]
    yield "happened", _when(signal["timestamp"])
    yield "source", _source(signal["source"])
    yield "session", signal["session_id"]
    yield "words of", TRUST[signal["trust"]]
    yield "category", signal["category"]
    yield "tags", ", ".join(signal["tags"])
    yield "project", _project(signal["project"])
    yield "machine", signal["machine"]
    yield "stored", _when(signal["stored"])
    yield "related", ", ".join(signal["related"])
    yield "promoted to", signal["promoted_to"] or ""
    yield "key", signal["key"]
    if signal["type"] == "summary":
        yield "files", _some(signal["meta"].get("files", []))
        yield "tools", _pairs(signal["meta"].get("tools", {}))
    else:
        yield "more", _pairs(signal["meta"])


def _learning_lines(learning: Mapping[str, Any]) -> Iterator[Line]:
    yield "approved", _when(learning["timestamp"])
    yield "target", f"{learning['target']['path']} ({learning['target']['kind']})"
    yield "scope", learning["scope"]
    yield "project", _project(learning["project"])
    yield "category", learning["category"]
    yield "topic", learning["topic"] or ""
    yield "paths", ", ".join(learning["paths"])
    yield "words of", TRUST[learning["trust"]]
    yield "reason", learning["reason"]
    yield "learned from", ", ".join(learning["signals"])
    yield "supersedes", ", ".join(learning["supersedes"])
    yield "decision", learning["decision"]
    yield "matcher", _pairs(learning["matcher"] or {})
    yield "more", _pairs(learning["meta"])


def _decision_lines(decision: Mapping[str, Any]) -> Iterator[Line]:
    yield "about", decision["subject"]
    yield "decided", f"{_when(decision['timestamp'])}, {_by(decision)}"
    yield "target", decision["target"]["path"] if decision["target"] else ""
    yield "reason", decision["reason"]
    yield "reopens", decision["reopens"] or ""
    yield "machine", decision["machine"]
    yield "text sha256", decision["text_sha256"] or ""
    yield "more", _pairs(decision["meta"])


def _other_lines(record: Mapping[str, Any]) -> Iterator[Line]:
    """Tallies and exposures: figures, field by field."""
    for name, value in record.items():
        if name not in ("id", "version", "lines"):
            yield name, _pairs(value) if isinstance(value, dict) else str(value)
    if "lines" in record:
        yield "signals", str(len(record["lines"]))


_HEADLINES = {
    "SIG": _signal_headline, "LRN": _learning_headline, "DEC": _decision_headline, "TLY": _plain_headline,
    "EXP": _plain_headline,
}  # fmt: skip
_LINES = {
    "SIG": _signal_lines, "LRN": _learning_lines, "DEC": _decision_lines, "TLY": _other_lines, "EXP": _other_lines,
}  # fmt: skip


def _tell_commit(front: Front, commit: CommitStory | None) -> None:
    if commit is None:
        _out_line(front, "commit", "none yet: it is pending, and the next command commits it")
        return
    _out_line(front, "commit", f"{commit.id[:10]}  {_when(commit.time)}")
    _out_line(front, "", commit.subject)
    for name, values in commit.trailers.items():
        _out_line(front, "", f"{name}: {_some(values)}")
    _out_line(front, "files", _some(commit.files))


def _tell_decision(front: Front, decision: Decision) -> None:
    said = f"{decision['kind']} {_when(decision['timestamp'])}, {_by(decision)}"
    front.out()
    front.out(f"{click.style(decision['id'], fg='yellow')}  {printable(said)}")
    for name, value in (("text", decision["text"] or ""), ("reason", decision["reason"])):
        _out_line(front, name, value)


def _some(values: list[str]) -> str:
    shown = ", ".join(values[:3])
    return shown if len(values) <= 3 else f"{shown} and {len(values) - 3} more"


def _when(timestamp: str) -> str:
    local = time.strftime("%Y-%m-%d %H:%M", time.localtime(expiry.seconds_of(timestamp)))
    return f"{ago(timestamp)} ago ({local})"


def _confidence(number: int) -> str:
    return f"{number} ({_CONFIDENCE.get(number, 'unknown')})"


def _source(source: Mapping[str, Any]) -> str:
    parts = ["by hand" if source["hook"] == "manual" else source["hook"]]
    parts += [f"{name} {source[name]}" for name in ("turn", "file", "entry") if source[name] is not None]
    return ", ".join(parts)


def _project(project: Project | None) -> str:
    return f"{project['name']} ({project['key']})" if project else ""


def _by(decision: Mapping[str, Any]) -> str:
    by = decision["by"]
    return f"{by['name'] or 'somebody'} {_ROADS[by['road']]}"


def _pairs(mapping: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}: {value}" for name, value in mapping.items())


def _out_line(front: Front, name: str, value: str) -> None:
    if not value:
        return
    head = click.style(f"{name:<{_NAME_WIDTH}}", dim=True)
    first, *rest = printable(value).splitlines() or [""]
    front.out(f"{head}  {first}")
    for line in rest:
        front.out(f"{'':<{_NAME_WIDTH}}  {line}")


def _out_text(front: Front, text: str, indent: str) -> None:
    for line in printable(text).splitlines():
        front.out(
            textwrap.fill(line, _TEXT_WIDTH, initial_indent=indent, subsequent_indent=indent, break_on_hyphens=False)
        )
