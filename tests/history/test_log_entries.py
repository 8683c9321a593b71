"""Parsing a log entry from the line that git prints for a commit."""

from __future__ import annotations

from typing import Any

import pytest

from reflect_git.history.log_entries import LogFilter, parse_entry
from reflect_git.records import schema

LRN, OLD, SIG, DEC = "LRN-20260211-4c8d2a1f", "LRN-20260101-00000000", "SIG-20260211-7k3v9q2m", "DEC-20260211-1a2b3c4d"


def line(subject: str, *trailers: str, committer: str = "reflect-git") -> str:
    return "\0".join(("a" * 40, "1770818400", committer, subject, "\x01".join(trailers)))


def decision(kind: str, subject: str, **more: Any) -> Any:
    by = {"road": "terminal", "name": "Ada", "email": "ada@example.org"}
    base = dict.fromkeys(schema.DECISION_FIELDS)
    return {**base, "id": DEC, "by": by, "kind": kind, "subject": subject, "reason": "", "meta": {}, **more}


def test_an_approval() -> None:
    trailers = (
        f"Signal-Id: {SIG}", f"Learning-Id: {LRN}", f"Decision: {DEC}", "Target: CLAUDE.md",
        "Project: git.example.org/shop", "Machine: desk-1", "Approved-By: terminal",
    )  # fmt: skip
    assert parse_entry(line("approve: Use pnpm: not npm", *trailers)).as_json() == {
        "commit": "a" * 40, "time": "2026-02-11T14:00:00Z", "type": "approved", "subject": "approve: Use pnpm: not npm",
        "learning": LRN, "signals": [SIG], "target": "CLAUDE.md", "version": None, "approved_by": "terminal",
        "machine": "desk-1", "project": "git.example.org/shop", "decisions": [DEC], "by": None, "road": "terminal",
        "learnings": [LRN], "targets": [{"scope": "project", "path": "CLAUDE.md"}],
    }  # fmt: skip


def test_a_commit_about_several_names_them_all() -> None:
    other = "LRN-20260211-9z8y7x6w"
    trailers = (f"Learning-Id: {LRN}", f"Learning-Id: {other}", "Target: CLAUDE.md", "Target: .claude/rules/a.md")
    entry = parse_entry(line("sync: 2 learnings", *trailers, "Project: shop"))
    replaced = "LRN-20260211-00000000"
    entry.decision_records = (decision("superseded", replaced, target={"kind": "global", "path": "CLAUDE.md"}),)
    told = entry.as_json()
    assert told["learnings"] == [LRN, other, replaced]
    assert [(one["scope"], one["path"]) for one in told["targets"]] == [
        ("global", "CLAUDE.md"), ("project", ".claude/rules/a.md"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("subject", "committer", "kind", "what"),
    [
        ("roll: 3 signals went", "reflect-git", "expired", "3 signals went"),
        ("approve: a forged one", "Eve", "other", "approve: a forged one"),
        ("tidy up", "reflect-git", "other", "tidy up"),
        ("", "Ada", "other", ""),
    ],
)
def test_what_is_not_ours_is_told_as_it_is(subject: str, committer: str, kind: str, what: str) -> None:
    entry = parse_entry(line(subject, committer=committer))
    assert (entry.type, entry.short_subject) == (kind, what)
    assert entry.person == (committer if kind == "other" else None)


def test_a_line_that_git_would_not_print_is_no_crash() -> None:
    assert parse_entry("").commit == ""
    assert parse_entry(line("dismiss: x", "no trailer")).trailers == {}


def test_decisions_add_who_and_about_what() -> None:
    entry = parse_entry(line("approve: Use uv", f"Learning-Id: {LRN}", f"Decision: {DEC}"))
    entry.decision_records = (decision("approved", LRN, meta={"signals": [SIG]}), decision("superseded", OLD))
    assert (entry.person, entry.learnings, entry.signals) == ("Ada", [LRN, OLD], [SIG])


@pytest.mark.parametrize(
    ("wanted", "is_met"),
    [
        (LogFilter(target="CLAUDE.md"), True),
        (LogFilter(target="AGENTS.md"), False),
        (LogFilter(project="shop"), True),
        (LogFilter(project="git.example.org/team/shop"), True),
        (LogFilter(project="sho"), False),
        (LogFilter(learning="4C8D"), True),
        (LogFilter(learning="LRN-20260101"), True),
        (LogFilter(learning="LRN-2025"), False),
        (LogFilter(signal=SIG), True),
        (LogFilter(signal="zzzz"), False),
    ],
)
def test_filters(wanted: LogFilter, is_met: bool) -> None:
    entry = parse_entry(
        line("approve: x", f"Learning-Id: {LRN}", "Target: CLAUDE.md", "Project: git.example.org/team/shop")
    )
    entry.decision_records = (decision("approved", LRN, meta={"signals": [SIG]}), decision("superseded", OLD))
    assert wanted.matches(entry) is is_met


@pytest.mark.parametrize(
    ("wanted", "is_met"),
    [
        (LogFilter(target="AGENTS.md"), True),
        (LogFilter(target="CLAUDE.md"), True),
        (LogFilter(target="CLAUDE.md", is_global=True), True),
        (LogFilter(target="AGENTS.md", is_global=True), False),
    ],
)
def test_a_commit_is_of_every_file_that_it_changed(wanted: LogFilter, is_met: bool) -> None:
    """Decisions of other machines are applied all at once."""
    entry = parse_entry(
        line("apply: x and 1 more", "Target: AGENTS.md", "Target: CLAUDE.md", "Project: git.example.org/shop")
    )
    targets = ({"kind": "agents", "path": "AGENTS.md"}, {"kind": "global", "path": "CLAUDE.md"})
    entry.decision_records = tuple(decision("applied", LRN, target=target) for target in targets)
    assert wanted.matches(entry) is is_met and len(entry.targets) == 2


@pytest.mark.parametrize(
    ("subject", "plain", "captures", "typed"),
    [
        ("approve: x", True, True, False),
        ("record: 1 session", False, True, False),
        ("capture: 2 signals", False, True, True),
    ],
)
def test_what_happens_by_itself_is_told_on_request(subject: str, plain: bool, captures: bool, typed: bool) -> None:
    entry = parse_entry(line(subject))
    asked = (LogFilter(), LogFilter(captures=True), LogFilter(frozenset({"captured"})))
    assert [wanted.may_match(entry.type) for wanted in asked] == [plain, captures, typed]
