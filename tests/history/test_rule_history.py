"""The history of a rule, from records alone."""

from __future__ import annotations

from typing import Any

from reflect_git.history.rule_history import (
    IN_FORCE,
    REVERTED,
    SUPERSEDED,
    Count,
    EarlierWording,
    RuleHistory,
    RuleRecords,
    build_rule_history,
)
from reflect_git.records import schema
from reflect_git.records.history import History, session_hash

LRN, OTHER = "LRN-20260211-4c8d2a1f", "LRN-20260101-00000000"


def learning(identity: str = LRN, text: str = "Use pnpm", **more: Any) -> Any:
    base = {**dict.fromkeys(schema.LEARNING_FIELDS, ""), "version": 1, "project": None, "topic": None, "matcher": None}
    return {
        **base, "id": identity, "timestamp": "2026-02-11T12:00:00.000Z", "text": text, "title": text,
        "category": "command", "scope": "global", "trust": "user_typed",
        "target": {"kind": "global", "path": "CLAUDE.md"}, "paths": [], "signals": [], "supersedes": [],
        "decision": "DEC-20260211-00000000", "meta": {}, **more,
    }  # fmt: skip


def decision(number: int, kind: str, subject: str = LRN, **more: Any) -> Any:
    by = {"road": "terminal", "name": "Ada", "email": ""}
    return {
        **dict.fromkeys(schema.DECISION_FIELDS), "id": f"DEC-20260211-0000000{number}",
        "timestamp": f"2026-02-1{number + 1}T12:00:00.000Z", "machine": "desk-1", "by": by, "kind": kind,
        "subject": subject, "reason": "", "meta": {}, **more,
    }  # fmt: skip


def exposure(day: int, hits: int = 0, rules: tuple[str, ...] = ()) -> Any:
    return {
        "start": f"2026-02-{day}T08:00:00Z",
        "hits": {LRN: hits} if hits else {},
        "rules": {"CLAUDE.md": list(rules)},
    }


def told(learnings: list[Any], decisions: list[Any], **more: Any) -> RuleHistory:
    tallies = more.pop("tallies", [])
    history = History(learnings, decisions, tallies)
    return build_rule_history(RuleRecords(history, {one["id"]: one for one in learnings}, **more), LRN)


def test_what_nobody_took_back_is_in_force() -> None:
    story = told([learning()], [decision(0, "approved", text="Use pnpm")])
    assert (story.state, story.ended_by, story.replaced_by, story.replaced) == (IN_FORCE, None, "", ())
    assert story.approval is not None
    assert story.approval["by"]["name"] == "Ada"


def test_what_was_taken_back_says_by_which_decision() -> None:
    story = told([learning()], [decision(0, "approved"), decision(1, "reverted", reason="too strict")])
    assert (story.state, story.ended_by and story.ended_by["reason"]) == (REVERTED, "too strict")


def test_what_was_replaced_names_its_heir() -> None:
    story = told([learning()], [decision(0, "approved"), decision(1, "superseded", meta={"by": OTHER})])
    assert (story.state, story.replaced_by) == (SUPERSEDED, OTHER)


def test_it_tells_what_it_replaced_and_what_it_said_before() -> None:
    amended = [decision(1, "amended", text="Use pnpm, please"), decision(2, "amended", text="Use pnpm always")]
    story = told([learning(supersedes=[OTHER]), learning(OTHER, "Use npm")], [decision(0, "approved"), *amended])
    assert story.learning["text"] == "Use pnpm always"
    assert story.replaced == (
        EarlierWording(OTHER, "Use npm", "DEC-20260211-00000000"),
        EarlierWording(LRN, "Use pnpm", "DEC-20260211-00000001"),
        EarlierWording(LRN, "Use pnpm, please", "DEC-20260211-00000002"),
    )


def test_an_amendment_that_was_taken_back_never_was() -> None:
    amended = decision(1, "amended", text="Use npm")
    story = told([learning()], [decision(0, "approved"), amended, decision(2, "reverted", reopens=amended["id"])])
    assert (story.state, story.learning["text"], story.replaced) == (IN_FORCE, "Use pnpm", ())


def test_what_was_said_again_counts_from_the_approval_on() -> None:
    own = "SIG-20260212-00000000"
    said = [
        ("SIG-20260210-00000000", "2026-02-10T09:00:00Z", "before", None),
        (own, "2026-02-12T09:00:00Z", "its own", None),
        ("SIG-20260213-00000000", "2026-02-13T09:00:00Z", "s-1", None),
        ("SIG-20260214-00000000", "2026-02-14T09:00:00Z", "s-1", None),
    ]  # fmt: skip
    lines = [
        ["k", "correction", "", "2026-02-15", session_hash("s-2"), "user_typed"],
        ["k", "correction", "", "2026-02-11", session_hash("s-3"), "user_typed"],
        ["other", "correction", "", "2026-02-16", session_hash("s-4"), "user_typed"],
    ]
    story = told(
        [learning(signals=[own])], [decision(0, "approved", key="k")], mentions=said, tallies=[{"lines": lines}]
    )
    assert story.repeats == Count(3, 2, "2026-02-15T00:00:00Z")
    assert story.missing_signals == 1


def test_sessions_before_and_after() -> None:
    exposures = [exposure(10, hits=4), exposure(12, hits=1, rules=(LRN,)), exposure(13, rules=(LRN,)), exposure(14)]
    story = told([learning()], [decision(0, "approved")], exposures=exposures)
    assert story.sessions_loaded == 2
    assert (story.hits_before, story.hits_after) == (
        Count(4, 1, "2026-02-10T08:00:00Z"),
        Count(1, 1, "2026-02-12T08:00:00Z"),
    )


def test_what_another_project_was_told_is_not_said_again_of_a_rule_of_this_one() -> None:
    shop, garden = {"key": "path:~/shop", "name": "shop"}, {"key": "example.org/garden", "name": "garden"}
    committed = {"key": "root:1234", "name": "shop"}
    projects = (shop, committed, garden, None)
    said = [
        (f"SIG-20260213-0000000{at}", "2026-02-13T09:00:00Z", f"s-{at}", project) for at, project in enumerate(projects)
    ]
    lines = [
        ["k", "correction", project["key"], "2026-02-15", session_hash(project["name"]), "user_typed"]
        for project in (shop, garden)
    ]
    for scope, times in (("project", 4), ("global", 6)):
        rule = learning(scope=scope, project=shop)
        story = told([rule], [decision(0, "approved", key="k")], mentions=said, tallies=[{"lines": lines}])
        assert story.repeats.times == times
