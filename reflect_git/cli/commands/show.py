"""Run `reflect-git show`: print a record or a commit with its decisions."""

from __future__ import annotations

import re
import time
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import click

from reflect_git.cli import options
from reflect_git.cli.commands.signals import TRUST, words_of
from reflect_git.cli.context import Front, age, printable
from reflect_git.cli.options import json_option
from reflect_git.cli.output import history_view
from reflect_git.cli.output.history_view import when, who
from reflect_git.errors import ReflectError
from reflect_git.history import rule_history as stories
from reflect_git.records.history import called
from reflect_git.store import api, expiry
from reflect_git.store.repository import is_id

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from reflect_git.history.rule_history import Story
    from reflect_git.platform.commit_reader import CommitStory
    from reflect_git.records.schema import Decision, Project
    from reflect_git.store.reading.lookup import Excerpt
    from reflect_git.store.repository import Store

    Line = tuple[str, str]

_NAME_WIDTH = 12
_CONFIDENCE = {1: "low", 2: "medium", 3: "high", 4: "approved"}
_TEXT_FIELD = {"SIG": "content", "LRN": "text", "DEC": "text"}


@dataclass(frozen=True)
class Found:
    """A record, a commit, or a record with the commit that brought it; of a learning, its story."""

    record: Any
    commit: CommitStory | None
    decisions: list[Decision]
    story: Story | None = None


@click.command()
@click.argument("name", metavar="ID|COMMIT", shell_complete=options.records)
@json_option
@click.pass_obj
def show_command(front: Front, name: str) -> None:
    """Show a signal, rule, decision or commit of the store, with its history.

    A unique beginning of an id is enough, and so is the part after the date.
    """
    store = front.store(create=False)
    found = _find(front, store, name)
    if front.json:
        commit = asdict(found.commit) if found.commit else None
        story = found.story.as_json() if found.story else None
        front.data({"record": found.record, "commit": commit, "decisions": found.decisions, "story": story})
        return
    if found.record:
        _tell_record(front, found, _where_it_goes(store, found.record))
    _tell_commit(front, found.commit)
    for decision in found.decisions:
        is_back = history_view.turn(found.decisions, decision) == history_view.PUT_BACK
        _tell_decision(front, decision, ", in force again," if is_back else "")


def _find(front: Front, store: Store, name: str) -> Found:
    excerpt = front.excerpt(store)
    try:
        identity = name if is_id(name) and excerpt.has(name) else api.find(excerpt.identities(), name)
    except ReflectError as error:
        if error.code != "unknown-id" or not re.fullmatch("[0-9a-f]{4,40}", name):
            raise
        sha = store.git.resolve(f"{name}^{{commit}}")
        if sha is None:
            raise ReflectError(error.message, "list commits with 'reflect-git log'", error.code) from None
        return _found_commit(excerpt, _commit(store, sha))
    return _found_record(front, store, excerpt, identity)


def _found_commit(excerpt: Excerpt, commit: CommitStory) -> Found:
    named = commit.trailers.get("Decision", [])
    known = excerpt.mentioning(*named) if named else {}
    return Found(None, commit, [known[one] for one in named if one in known])


def _found_record(front: Front, store: Store, excerpt: Excerpt, identity: str) -> Found:
    story = stories.tell(store, excerpt, identity) if identity.startswith("LRN-") else None
    sha = story.commit if story else stories.commit_that_brought(store, identity)
    commit = _commit(store, sha) if sha else None
    if story:
        return Found(story.learning, commit, list(story.decisions), story)
    if identity.startswith("SIG-"):  # its status and its confidence hang on all that was ever said
        scan = front.scan(store)
        (record,) = scan.whole([scan.columns["id"].index(identity)])
        return Found(record, commit, stories.decisions_about(excerpt, identity))
    decisions = [] if identity.startswith("EXP-") else stories.decisions_about(excerpt, identity)
    return Found(excerpt.mentioning(identity)[identity], commit, decisions)


def _commit(store: Store, sha: str) -> CommitStory:
    from reflect_git.platform import commit_reader  # GitPython: 60 ms

    return commit_reader.commit_of(store.root, store.git.program, sha)


def _where_it_goes(store: Store, record: Mapping[str, Any]) -> str:
    if not record["id"].startswith("SIG-"):
        return ""
    end = expiry.goes_on(record, expiry.lifetime(store), expiry.shown(store))  # type: ignore[arg-type]
    if end == float("inf"):
        return "never expires"
    return f"expires in {age(max(0.0, end - time.time()))}"


def _tell_record(front: Front, found: Found, lifetime: str) -> None:
    record = found.record
    prefix = record["id"][:3]
    headline = _learning_headline(found.story) if found.story else _HEADLINES[prefix](record)
    front.tell(f"{click.style(record['id'], fg='yellow')}  {headline}")
    text = record.get(_TEXT_FIELD.get(prefix, ""))
    if text:
        front.out()
        for line in printable(text).splitlines():
            front.tell(f"    {line}".rstrip())
    front.out()
    story = history_view.lines(found.story) if found.story else ()
    for name, value in (*story, *_LINES[prefix](record), ("lifetime", lifetime)):
        _out_line(front, name, value)


def _signal_headline(signal: Mapping[str, Any]) -> str:
    return f"{signal['type']}, {signal['status']}, confidence {_confidence(signal['confidence'])}"


def _learning_headline(story: Story) -> str:
    return f"rule, {history_view.state(story)}: {printable(story.learning['title'])}"


def _decision_headline(decision: Mapping[str, Any]) -> str:
    return f"decision: {called(decision)}"


def _plain_headline(record: Mapping[str, Any]) -> str:
    return {"TLY": "counts of expired signals", "EXP": "statistics of a session"}[record["id"][:3]]


def _signal_lines(signal: Mapping[str, Any]) -> Iterator[Line]:
    yield "context", signal["context"]
    yield "happened", when(signal["timestamp"])
    yield "source", _source(signal["source"])
    yield "session", signal["session_id"]
    yield "words of", words_of(signal)
    yield "category", signal["category"]
    yield "tags", ", ".join(signal["tags"])
    yield "project", _project(signal["project"])
    yield "machine", signal["machine"]
    yield "stored", when(signal["stored"])
    yield "related", ", ".join(signal["related"])
    yield "promoted to", signal["promoted_to"] or ""
    yield "key", signal["key"]
    if signal["type"] == "summary":
        yield "files", _some(signal["meta"].get("files", []))
        yield "tools", _pairs(signal["meta"].get("tools", {}))
    else:
        yield "more", _pairs(signal["meta"])


def _learning_lines(learning: Mapping[str, Any]) -> Iterator[Line]:
    yield "target", f"{learning['target']['path']} ({learning['target']['kind']})"
    yield "scope", learning["scope"]
    yield "project", _project(learning["project"])
    yield "category", learning["category"]
    yield "topic", learning["topic"] or ""
    yield "paths", ", ".join(learning["paths"])
    yield "until", str(learning["meta"].get("until") or "")
    yield "words of", TRUST[learning["trust"]]
    yield "reason", learning["reason"]
    yield "learned from", ", ".join(learning["signals"])
    yield "supersedes", ", ".join(learning["supersedes"])
    yield "decision", learning["decision"]
    yield "matcher", _pairs(learning["matcher"] or {})
    yield "more", _pairs(learning["meta"])


def _decision_lines(decision: Mapping[str, Any]) -> Iterator[Line]:
    yield "about", decision["subject"]
    yield "decided", f"{when(decision['timestamp'])}, {who(decision['by'])}"
    yield "target", decision["target"]["path"] if decision["target"] else ""
    yield "reason", decision["reason"]
    yield "reopens", decision["reopens"] or ""
    yield "machine", decision["machine"]
    yield "text sha256", decision["text_sha256"] or ""
    yield "more", _pairs(decision["meta"])


def _other_lines(record: Mapping[str, Any]) -> Iterator[Line]:
    """Yield the fields of a tally or an exposure."""
    for name, value in record.items():
        if name not in ("id", "version", "lines"):
            yield name, _pairs(value) if isinstance(value, dict) else str(value)
    if "lines" in record:
        yield "signals", str(len(record["lines"]))


_HEADLINES = {
    "SIG": _signal_headline, "DEC": _decision_headline, "TLY": _plain_headline, "EXP": _plain_headline,
}  # fmt: skip
_LINES = {
    "SIG": _signal_lines, "LRN": _learning_lines, "DEC": _decision_lines, "TLY": _other_lines, "EXP": _other_lines,
}  # fmt: skip


def _tell_commit(front: Front, commit: CommitStory | None) -> None:
    if commit is None:
        _out_line(front, "commit", "pending; the next reflect-git command commits it")
        return
    _out_line(front, "commit", f"{commit.id[:10]}  {when(commit.time)}")
    _out_line(front, "", commit.subject)
    for name, values in commit.trailers.items():
        _out_line(front, "", f"{name}: {_some(values)}")
    _out_line(front, "files", _some(commit.files))


def _tell_decision(front: Front, decision: Decision, outcome: str) -> None:
    said = f"{called(decision)}{outcome} {when(decision['timestamp'])}, {who(decision['by'])}"
    front.out()
    front.tell(f"{click.style(decision['id'], fg='yellow')}  {printable(said)}")
    for name, value in (("text", decision["text"] or ""), ("reason", decision["reason"])):
        _out_line(front, name, value)


def _some(values: list[str]) -> str:
    shown = ", ".join(values[:3])
    return shown if len(values) <= 3 else f"{shown} and {len(values) - 3} more"


def _confidence(number: int) -> str:
    return f"{number} ({_CONFIDENCE.get(number, 'unknown')})"


def _source(source: Mapping[str, Any]) -> str:
    parts = ["by hand" if source["hook"] == "manual" else source["hook"]]
    parts += [f"{name} {source[name]}" for name in ("turn", "file", "entry") if source[name] is not None]
    return ", ".join(parts)


def _project(project: Project | None) -> str:
    return f"{project['name']} ({project['key']})" if project else ""


def _pairs(mapping: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}: {value}" for name, value in mapping.items())


def _out_line(front: Front, name: str, value: str) -> None:
    if not value:
        return
    head = click.style(f"{name:<{_NAME_WIDTH}}", dim=True)
    first, *rest = printable(value).splitlines() or [""]
    front.tell(f"{head}  {first}", _NAME_WIDTH + 2)
    for line in rest:
        front.tell(f"{'':<{_NAME_WIDTH}}  {line}")
