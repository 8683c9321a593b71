"""Run `reflect-git show`: print a record or a commit with its decisions."""

from __future__ import annotations

import re
import time
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import click

from reflect_git.cli import options
from reflect_git.cli.commands.signals import TRUST_WORDS, format_speaker
from reflect_git.cli.context import CliContext, format_duration, printable
from reflect_git.cli.options import json_option
from reflect_git.cli.output import history_view
from reflect_git.cli.output.history_view import format_when
from reflect_git.errors import ReflectError
from reflect_git.history import rule_history as stories
from reflect_git.history.rule_history import format_person
from reflect_git.platform import commit_reader
from reflect_git.records.history import get_decision_name
from reflect_git.store import api, expiry
from reflect_git.store.repository import is_id

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from reflect_git.history.rule_history import RuleHistory
    from reflect_git.platform.commit_reader import CommitDetails
    from reflect_git.records.schema import Decision, Project
    from reflect_git.store.reading.lookup import RecordLookup
    from reflect_git.store.repository import Store

    FieldLine = tuple[str, str]

_NAME_WIDTH = 12
_CONFIDENCE = {1: "low", 2: "medium", 3: "high", 4: "approved"}
_TEXT_FIELD = {"SIG": "content", "LRN": "text", "DEC": "text"}


@dataclass(frozen=True)
class ShowResult:
    """A record, a commit, or a record with the commit that brought it; of a learning, its story and its effect."""

    record: Any
    commit: CommitDetails | None
    decisions: list[Decision]
    story: RuleHistory | None = None
    effect: str = ""


@click.command()
@click.argument("name", metavar="ID|COMMIT", callback=options.resolve_numbers, shell_complete=options.complete_records)
@json_option
@click.pass_obj
def show_command(cli: CliContext, name: str) -> None:
    """Show a signal, rule, decision or commit of the store, with its history.

    A unique beginning of an id is enough, and so is the part after the date.
    """
    store = cli.open_store(create=False)
    found = _find_record(cli, store, name)
    if cli.json:
        commit = asdict(found.commit) if found.commit else None
        story = found.story.as_json() if found.story else None
        cli.print_json({"record": found.record, "commit": commit, "decisions": found.decisions, "story": story})
        return
    if found.record:
        _print_record(cli, found, _format_lifetime(store, found.record))
    _print_commit(cli, found.commit)
    for decision in found.decisions:
        is_back = history_view.get_revert_effect(found.decisions, decision) == history_view.RESTORED
        _print_decision(cli, decision, ", in force again," if is_back else "")


def _find_record(cli: CliContext, store: Store, name: str) -> ShowResult:
    excerpt = cli.open_lookup(store)
    try:
        record_id = name if is_id(name) and excerpt.has_id(name) else api.find_id(excerpt.list_ids(), name)
    except ReflectError as error:
        if error.code != "unknown-id" or not re.fullmatch("[0-9a-f]{4,40}", name):
            raise
        sha = store.git.resolve(f"{name}^{{commit}}")
        if sha is None:
            raise ReflectError(error.message, "list commits with 'reflect-git log'", error.code) from None
        return _load_commit(excerpt, _read_commit(store, sha))
    return _load_record(cli, store, excerpt, record_id)


def _load_commit(excerpt: RecordLookup, commit: CommitDetails) -> ShowResult:
    named = commit.trailers.get("Decision", [])
    known = excerpt.find_mentions(*named) if named else {}
    return ShowResult(None, commit, [known[one] for one in named if one in known])


def _load_record(cli: CliContext, store: Store, excerpt: RecordLookup, record_id: str) -> ShowResult:
    story = stories.load_rule_history(store, excerpt, record_id) if record_id.startswith("LRN-") else None
    sha = story.commit if story else stories.find_adding_commit(store, record_id)
    commit = _read_commit(store, sha) if sha else None
    if story:
        effect = history_view.load_effect_line(cli, store, excerpt.size, story)
        return ShowResult(story.learning, commit, list(story.decisions), story, effect)
    if record_id.startswith("SIG-"):  # its status and its confidence hang on all that was ever said
        scan = cli.scan(store)
        (record,) = scan.get_signals([scan.columns["id"].index(record_id)])
        return ShowResult(record, commit, stories.load_decisions_about(excerpt, record_id))
    decisions = (
        [] if record_id.startswith(("EXP-", "EVL-", "DIG-")) else stories.load_decisions_about(excerpt, record_id)
    )
    return ShowResult(excerpt.find_mentions(record_id)[record_id], commit, decisions)


def _read_commit(store: Store, sha: str) -> CommitDetails:
    return commit_reader.read_commit(store.root, store.git.program, sha)


def _format_lifetime(store: Store, record: Mapping[str, Any]) -> str:
    if not record["id"].startswith("SIG-"):
        return ""
    end = expiry.get_expiry_time(record, expiry.get_ttl_days(store), expiry.load_shown_ids(store))  # type: ignore[arg-type]
    if end == float("inf"):
        return "never expires"
    return f"expires in {format_duration(max(0.0, end - time.time()))}"


def _print_record(cli: CliContext, found: ShowResult, lifetime: str) -> None:
    record = found.record
    prefix = record["id"][:3]
    headline = _format_learning_headline(found.story) if found.story else _HEADLINES[prefix](record)
    cli.print_text(f"{click.style(record['id'], fg='yellow')}  {headline}")
    text = record.get(_TEXT_FIELD.get(prefix, ""))
    if text:
        cli.print_line()
        for line in printable(text).splitlines():
            cli.print_text(f"    {line}".rstrip())
    cli.print_line()
    story = history_view.format_history(found.story, found.effect) if found.story else ()
    for name, value in (*story, *_FIELD_LISTS[prefix](record), ("lifetime", lifetime)):
        _print_field(cli, name, value)


def _format_signal_headline(signal: Mapping[str, Any]) -> str:
    return f"{signal['type']}, {signal['status']}, confidence {_format_confidence(signal['confidence'])}"


def _format_learning_headline(story: RuleHistory) -> str:
    return f"rule, {history_view.format_state(story)}: {printable(story.learning['title'])}"


def _format_decision_headline(decision: Mapping[str, Any]) -> str:
    return f"decision: {get_decision_name(decision)}"


def _format_plain_headline(record: Mapping[str, Any]) -> str:
    return {
        "TLY": "counts of expired signals", "EXP": "statistics of a session",
        "EVL": "scores of a session",
        "DIG": f"digest of {record.get('period', '')}",
    }[record["id"][:3]]  # fmt: skip


def _list_signal_fields(signal: Mapping[str, Any]) -> Iterator[FieldLine]:
    yield "context", signal["context"]
    yield "happened", format_when(signal["timestamp"])
    yield "source", _format_source(signal["source"])
    yield "session", signal["session_id"]
    yield "words of", format_speaker(signal)
    yield "category", signal["category"]
    yield "tags", ", ".join(signal["tags"])
    yield "project", _format_project(signal["project"])
    yield "machine", signal["machine"]
    yield "stored", format_when(signal["stored"])
    yield "related", ", ".join(signal["related"])
    yield "promoted to", signal["promoted_to"] or ""
    yield "key", signal["key"]
    if signal["type"] == "summary":
        yield "files", _format_some(signal["meta"].get("files", []))
        yield "tools", _format_pairs(signal["meta"].get("tools", {}))
    else:
        yield "more", _format_pairs(signal["meta"])


def _list_learning_fields(learning: Mapping[str, Any]) -> Iterator[FieldLine]:
    yield "target", f"{learning['target']['path']} ({learning['target']['kind']})"
    yield "scope", learning["scope"]
    yield "project", _format_project(learning["project"])
    yield "category", learning["category"]
    yield "topic", learning["topic"] or ""
    yield "paths", ", ".join(learning["paths"])
    yield "until", str(learning["meta"].get("until") or "")
    yield "words of", TRUST_WORDS[learning["trust"]]
    yield "reason", learning["reason"]
    yield "learned from", ", ".join(learning["signals"])
    yield "supersedes", ", ".join(learning["supersedes"])
    yield "decision", learning["decision"]
    yield "matcher", _format_matcher(learning["matcher"] or {})
    yield "more", _format_pairs(learning["meta"])


def _list_decision_fields(decision: Mapping[str, Any]) -> Iterator[FieldLine]:
    yield "about", decision["subject"]
    yield "decided", f"{format_when(decision['timestamp'])}, {format_person(decision['by'])}"
    yield "target", decision["target"]["path"] if decision["target"] else ""
    yield "reason", decision["reason"]
    yield "reopens", decision["reopens"] or ""
    yield "machine", decision["machine"]
    yield "text sha256", decision["text_sha256"] or ""
    yield "more", _format_pairs(decision["meta"])


def _list_other_fields(record: Mapping[str, Any]) -> Iterator[FieldLine]:
    """Yield the fields of figures: a tally, an exposure or an evaluation."""
    for name, value in record.items():
        if name not in ("id", "version", "lines"):
            yield name, _format_pairs(value) if isinstance(value, dict) else str(value)
    if "lines" in record:
        yield "signals", str(len(record["lines"]))


def _list_digest_fields(digest: Mapping[str, Any]) -> Iterator[FieldLine]:
    yield "project", _format_project(digest["project"])
    yield "made", format_when(digest["timestamp"])
    yield "figures", _format_pairs(digest["figures"])
    yield "records", str(len(digest["from"]))
    for line in digest["lines"]:
        yield line["section"], f"{line['text']} ({_format_some(line['ids'])})"


_HEADLINES = {
    "SIG": _format_signal_headline,
    "DEC": _format_decision_headline,
    "TLY": _format_plain_headline,
    "EXP": _format_plain_headline,
    "EVL": _format_plain_headline,
    "DIG": _format_plain_headline,
}
_FIELD_LISTS = {
    "SIG": _list_signal_fields,
    "LRN": _list_learning_fields,
    "DEC": _list_decision_fields,
    "TLY": _list_other_fields,
    "EXP": _list_other_fields,
    "EVL": _list_other_fields,
    "DIG": _list_digest_fields,
}


def _print_commit(cli: CliContext, commit: CommitDetails | None) -> None:
    if commit is None:
        _print_field(cli, "commit", "pending; the next reflect-git command commits it")
        return
    _print_field(cli, "commit", f"{commit.id[:10]}  {format_when(commit.time)}")
    _print_field(cli, "", commit.subject)
    for name, values in commit.trailers.items():
        _print_field(cli, "", f"{name}: {_format_some(values)}")
    _print_field(cli, "files", _format_some(commit.files))


def _print_decision(cli: CliContext, decision: Decision, outcome: str) -> None:
    said = (
        f"{get_decision_name(decision)}{outcome} {format_when(decision['timestamp'])}, {format_person(decision['by'])}"
    )
    cli.print_line()
    cli.print_text(f"{click.style(decision['id'], fg='yellow')}  {printable(said)}")
    for name, value in (("text", decision["text"] or ""), ("reason", decision["reason"])):
        _print_field(cli, name, value)


def _format_some(values: list[str]) -> str:
    shown = ", ".join(values[:3])
    return shown if len(values) <= 3 else f"{shown} and {len(values) - 3} more"


def _format_confidence(number: int) -> str:
    return f"{number} ({_CONFIDENCE.get(number, 'unknown')})"


def _format_source(source: Mapping[str, Any]) -> str:
    parts = ["by hand" if source["hook"] == "manual" else source["hook"]]
    parts += [f"{name} {source[name]}" for name in ("turn", "file", "entry") if source[name] is not None]
    return ", ".join(parts)


def _format_project(project: Project | None) -> str:
    return f"{project['name']} ({project['key']})" if project else ""


def _format_matcher(matcher: Mapping[str, Any]) -> str:
    if "any" not in matcher:  # of an older program: a pattern for one field of one tool
        return _format_pairs(matcher)
    from reflect_git.guards.form import describe_matcher  # few rules have one

    return describe_matcher(matcher)


def _format_pairs(mapping: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}: {value}" for name, value in mapping.items())


def _print_field(cli: CliContext, name: str, value: str) -> None:
    if not value:
        return
    head = click.style(f"{name:<{_NAME_WIDTH}}", dim=True)
    first, *rest = printable(value).splitlines() or [""]
    cli.print_text(f"{head}  {first}", _NAME_WIDTH + 2)
    for line in rest:
        cli.print_text(f"{'':<{_NAME_WIDTH}}  {line}")
