"""Decisions made elsewhere reach the files here, without a question only if a person decided so here."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from reflect_git.platform import instruction_files
from reflect_git.records.ids import utc_precise
from reflect_git.rules import arrivals, project_commits, project_files, revert
from reflect_git.rules.queue import Queue
from reflect_git.store import api
from reflect_git.store.reading import reader
from reflect_git.store.repository import Store
from reflect_git.targets.safe_text import RewordedError
from tests.faults import git
from tests.rules import reverts
from tests.rules.queues import BY
from tests.rules.reverts import (
    BASE,
    amend,
    approve,
    list_rules_in_force,
    open_queue,
    read_claude_md,
    write_project_file,
)

OWN = {**BY, "road": "own-machine"}


def away(store: Store, home: Path) -> Queue:
    """Return a queue in another project, which does not know where the first one is."""
    other = home / "garden"
    if not other.exists():
        other.mkdir()
        git(other, "init", "-q")
    return open_queue(store).replace(place=project_files.find_place(store, os.environ, str(other)))


def from_elsewhere(store: Store, made: Mapping[str, Any]) -> dict[str, Any]:
    there = {**made, "machine": "sofa"}
    records = [record for record in (there,) if record]
    api.commit_records(store, records, f"sync: {there['id']}", {})
    return there


def reverted_elsewhere(store: Store, learning: str) -> dict[str, Any]:
    approval = reader.scan(store).history.learnings[learning]["decision"]
    return from_elsewhere(store, api.build_decision(store, "reverted", learning, BY, utc_precise(), reopens=approval))


def approved_elsewhere(store: Store, text: str, /, **facts: Any) -> str:
    """Add records as a sync does, without a file."""
    approve(store, "use bun, not deno")
    reverts.undo(store)
    (pattern,) = reader.scan(store).history.learnings.values()
    now = utc_precise()
    identity = f"LRN-20260101-{len(text):0>8}"
    made = {**api.build_decision(store, "approved", identity, BY, now, text=text), "machine": "sofa"}
    record = {**pattern, "id": identity, "timestamp": now, "text": text, "title": text, "decision": made["id"],
              "supersedes": [], "signals": [], **facts}  # fmt: skip
    api.commit_records(store, [record, made], "sync: sofa", {})
    return identity


def test_a_learning_whose_project_is_not_here_is_recorded_and_carried_out_there(store: Store, home: Path) -> None:
    rule = approve(store, "use pnpm, not npm").learning
    approved = read_claude_md()
    ctx = away(store, home)
    done = revert.write_revert(ctx, revert.plan_revert(ctx, revert.select_by_name(ctx, rule)), BY)
    assert read_claude_md() == approved and list_rules_in_force(store) == [] and done.diff == ""
    assert "belongs to the project 'shop': recorded, its file is changed when" in done.warnings[0]
    assert arrivals.apply_own_decisions(away(store, home)) is None, "not from elsewhere"
    (one,) = arrivals.list_arrivals(open_queue(store))
    assert (one.kind, one.is_own, one.learning["id"]) == (arrivals.REMOVE, True, rule)
    settled = arrivals.apply_own_decisions(open_queue(store))
    assert settled is not None and read_claude_md() == BASE
    said = git(Path(store.root), "log", "-1", "--format=%B", "main")
    assert said.startswith("apply: Use pnpm, not npm\n") and "Approved-By: terminal" in said
    assert arrivals.apply_own_decisions(open_queue(store)) is None and arrivals.list_arrivals(open_queue(store)) == []
    reverts.undo(store)
    assert list_rules_in_force(store) == [rule] and read_claude_md() == approved, (
        "the undo takes the revert back, not its carrying out"
    )


def test_an_undo_from_elsewhere_finds_the_project(store: Store, home: Path) -> None:
    rule = approve(store, "use pnpm, not npm").learning
    ctx = away(store, home)
    chosen = revert.select_by_name(ctx, rule)
    there = project_commits.with_project_of(ctx, chosen.decisions)
    assert there.place.root == str(reverts.get_current_project())
    revert.write_revert(there, revert.plan_revert(there, chosen), BY)
    assert read_claude_md() == BASE


def test_a_revert_and_its_undo_from_elsewhere_leave_the_file_alone(store: Store, home: Path) -> None:
    rule = approve(store, "use pnpm, not npm").learning
    approved = read_claude_md()
    for _ in range(2):
        ctx = away(store, home)
        last = revert.select_by_name(ctx, reader.scan(store).history.decisions[-1]["id"])
        revert.write_revert(ctx, revert.plan_revert(ctx, last), BY)
    assert list_rules_in_force(store) == [rule]
    assert arrivals.apply_own_decisions(open_queue(store)) is None and read_claude_md() == approved


def test_a_revert_of_another_machine_waits_for_a_person(store: Store) -> None:
    rule = approve(store, "use pnpm, not npm").learning
    made = reverted_elsewhere(store, rule)
    assert list_rules_in_force(store) == [] and arrivals.apply_own_decisions(open_queue(store)) is None
    (one,) = arrivals.list_arrivals(open_queue(store))
    assert (one.kind, one.is_own, one.decision["id"]) == (arrivals.REMOVE, False, made["id"])
    assert "-- Use pnpm, not npm" in one.diff and rule in one.diff
    arrivals.apply_arrivals(open_queue(store), [one], OWN)  # type: ignore[arg-type]
    assert read_claude_md() == BASE and arrivals.list_arrivals(open_queue(store)) == []
    said = git(Path(store.root), "log", "-1", "--format=%B", "main")
    assert "Approved-By: own-machine" in said and f"Learning-Id: {rule}" in said


def test_the_undo_of_a_removal_is_called_one(store: Store) -> None:
    """In a log, 'revert: <the rule>' means that the rule was reverted."""
    rule = approve(store, "use pnpm, not npm").learning
    reverted_elsewhere(store, rule)
    arrivals.apply_arrivals(open_queue(store), arrivals.list_arrivals(open_queue(store)), BY)
    for undone, is_there in (("the removal of", True), ("the revert of the removal of", False)):
        reverts.undo(store)
        assert (rule.encode() in read_claude_md()) is is_there
        assert git(Path(store.root), "log", "-1", "--format=%s", "main") == f"revert: {undone} Use pnpm, not npm\n"


def test_learnings_of_another_machine_are_taken_together(store: Store, home: Path) -> None:
    one = approved_elsewhere(store, "Use ruff, not black")
    two = approved_elsewhere2(store, "Answer in German", one)
    found = arrivals.list_arrivals(open_queue(store))
    assert {item.learning["id"]: item.kind for item in found} == {one: arrivals.ADD, two: arrivals.ADD}
    done = arrivals.apply_arrivals(open_queue(store), found, BY)
    assert one.encode() in read_claude_md() and two in (home / ".claude/CLAUDE.md").read_text()
    assert arrivals.list_arrivals(open_queue(store)) == []
    assert done.commit and git(Path(store.root), "log", "-1", "--format=%s", "main").endswith(" and 1 more\n")
    reverts.undo(store)
    assert read_claude_md() == BASE and len(arrivals.list_arrivals(open_queue(store))) == 2, (
        "not taken is not taken back"
    )


def approved_elsewhere2(store: Store, text: str, like: str) -> str:
    """Add another one, for all projects."""
    pattern, now = reader.scan(store).history.learnings[like], utc_precise()
    identity = f"LRN-20260102-{len(text):0>8}"
    made = {**api.build_decision(store, "approved", identity, BY, now, text=text), "machine": "sofa"}
    record = {**pattern, "id": identity, "text": text, "title": text, "decision": made["id"], "scope": "global",
              "project": None, "target": {"kind": "global", "path": "CLAUDE.md"}}  # fmt: skip
    api.commit_records(store, [record, made], "sync: sofa", {})
    return identity


def test_an_exception_of_another_machine_to_a_rule_for_all_is_told_as_one(store: Store) -> None:
    arrived = approved_elsewhere(store, "Use npm, not pnpm")
    rule, wide = "LRN-20260101-00000001", {"kind": "global", "path": "CLAUDE.md"}
    made = api.build_decision(store, "approved", rule, BY, utc_precise(), text="Use pnpm, not npm")
    record = {**reader.scan(store).history.learnings[arrived], "id": rule, "text": "Use pnpm, not npm"}
    record |= {"scope": "global", "project": None, "target": wide, "decision": made["id"]}
    api.commit_records(store, [record, made], "approve: Use pnpm, not npm", {})
    (one,) = arrivals.list_arrivals(open_queue(store))
    assert one.learning["id"] == arrived
    assert [risk.message for risk in one.risks] == [
        f"in this project it overrides the global rule '{rule}': Use pnpm, not npm"
    ]


def test_what_the_file_has_already_does_not_wait(store: Store) -> None:
    rule = approved_elsewhere(store, "Use ruff, not black")
    write_project_file(BASE + f"\r\n\r\n<!-- {rule} -->\r\n\r\n- Use ruff, not black\r\n".encode())
    assert arrivals.list_arrivals(open_queue(store)) == []


def test_what_we_wrote_and_somebody_deleted_is_no_news(store: Store) -> None:
    approve(store, "use pnpm, not npm")
    write_project_file(BASE)
    assert arrivals.list_arrivals(open_queue(store)) == []


def test_other_words_of_another_machine(store: Store) -> None:
    rule = approve(store, "use pnpm, not npm").learning
    target = reader.scan(store).history.learnings[rule]["target"]
    text = "Install with pnpm."
    made = api.build_decision(store, "amended", rule, BY, utc_precise(), text=text, target=target)
    from_elsewhere(store, made)
    (one,) = arrivals.list_arrivals(open_queue(store))
    assert one.kind == arrivals.CHANGE
    edited = read_claude_md().replace(b"not npm", b"and no npm")
    write_project_file(edited)
    (one,) = arrivals.list_arrivals(open_queue(store))
    assert isinstance(one.trouble, RewordedError) and one.steps == ()
    with pytest.raises(RewordedError):
        arrivals.apply_arrivals(open_queue(store), [one], BY)
    write_project_file(edited.replace(b"and no npm", b"not npm"))
    arrivals.apply_arrivals(open_queue(store), arrivals.list_arrivals(open_queue(store)), BY)
    assert b"- Install with pnpm." in read_claude_md() and arrivals.list_arrivals(open_queue(store)) == []


def test_what_another_machine_replaced_and_gave_back(store: Store) -> None:
    rule = approve(store, "use pnpm, not npm").learning
    approved = read_claude_md()
    made = api.build_decision(store, "superseded", rule, BY, utc_precise(), meta={"by": "LRN-20260101-00000000"})
    replaced = from_elsewhere(store, made)
    arrivals.apply_arrivals(open_queue(store), arrivals.list_arrivals(open_queue(store)), BY)
    assert read_claude_md() == BASE
    from_elsewhere(store, api.build_decision(store, "reverted", rule, BY, utc_precise(), reopens=replaced["id"]))
    (one,) = arrivals.list_arrivals(open_queue(store))
    assert one.kind == arrivals.ADD
    arrivals.apply_arrivals(open_queue(store), [one], BY)
    assert read_claude_md() == approved


def test_a_place_of_another_machine_and_an_improvement_that_was_applied(store: Store, home: Path) -> None:
    rule = approve(store, "use pnpm, not npm").learning
    moved = api.build_decision(
        store, "amended", rule, BY, utc_precise(), text="Use pnpm, not npm",
        target={"kind": "global", "path": "CLAUDE.md"}, meta={"learning": {"scope": "global", "project": None}},
    )  # fmt: skip
    from_elsewhere(store, moved)
    proposal = approve(store, "the build needs a cache", "improvements").learning
    applied = api.build_decision(store, "amended", proposal, BY, utc_precise(), meta={"section": "Applied"})
    from_elsewhere(store, applied)
    arrivals.apply_arrivals(open_queue(store), arrivals.list_arrivals(open_queue(store)), BY)
    assert read_claude_md() == BASE and rule in (home / ".claude/CLAUDE.md").read_text()
    text = (reverts.get_current_project() / ".claude/improvements.md").read_text()
    assert text.index("## Applied") < text.index(proposal)
    assert arrivals.list_arrivals(open_queue(store)) == []


def test_a_file_that_changed_since_it_was_shown(store: Store) -> None:
    reverted_elsewhere(store, approve(store, "use pnpm, not npm").learning)
    shown = arrivals.list_arrivals(open_queue(store))
    write_project_file(read_claude_md() + b"an edit\r\n")
    with pytest.raises(instruction_files.FileChanged):
        arrivals.apply_arrivals(open_queue(store), shown, BY)


def test_an_amendment_that_is_taken_back_elsewhere_is_carried_out_there(store: Store, home: Path) -> None:
    rule = approve(store, "use pnpm, not npm").learning
    first = read_claude_md()
    amend(store, rule, "Install with pnpm.")
    ctx = away(store, home)
    made = reader.scan(store).history.decisions[-1]["id"]
    revert.write_revert(ctx, revert.plan_revert(ctx, revert.select_by_name(ctx, made)), BY)
    assert b"Install with pnpm." in read_claude_md()
    assert arrivals.apply_own_decisions(open_queue(store)) is not None
    assert read_claude_md() == first


def decline(store: Store) -> str:
    """Decline as a person, on this machine only."""
    (one,) = arrivals.list_arrivals(open_queue(store))
    return arrivals.decline(open_queue(store), one, BY)[0]


def test_an_undo_of_a_revert_that_found_no_entry_writes_none(store: Store) -> None:
    rule = approved_elsewhere(store, "Use ruff, not black")
    decline(store)
    for _ in range(2):
        assert reverts.revert(store, rule).warnings == [
            f"'CLAUDE.md' has no entry of '{rule}': it is left as it is"
        ] and list_rules_in_force(store) == []  # fmt: skip
        undone = reverts.undo(store)
        assert undone.warnings == [f"'CLAUDE.md' had no entry of '{rule}' before: it is left as it is"]
        assert (undone.diff, read_claude_md(), list_rules_in_force(store)) == ("", BASE, [rule])
        assert (
            arrivals.find_absent_rules(open_queue(store)) == {rule: "declined"}
            and arrivals.list_arrivals(open_queue(store)) == []
        )
        assert not arrivals.is_expected_here(open_queue(store), rule)
        reverts.undo(store), reverts.undo(store)
        assert read_claude_md() == BASE and arrivals.find_absent_rules(open_queue(store)) == {rule: "declined"}


def test_what_a_person_deleted_stays_deleted_through_a_revert_and_its_undo(store: Store) -> None:
    rule = approve(store, "use pnpm, not npm").learning
    write_project_file(BASE)
    reverts.revert(store, rule)
    reverts.undo(store)
    assert read_claude_md() == BASE and list_rules_in_force(store) == [rule]
    assert arrivals.is_expected_here(open_queue(store), rule), "its absence is a question of its own again"


def test_the_redo_of_a_no_is_a_no(store: Store) -> None:
    rule = approved_elsewhere(store, "Use ruff, not black")
    decline(store)
    for state in ("waiting", "declined", "waiting"):
        reverts.undo(store)
        assert arrivals.find_absent_rules(open_queue(store)) == {rule: state}
        assert len(arrivals.list_arrivals(open_queue(store))) == (state == "waiting")
        said = git(Path(store.root), "log", "-1", "--format=%s", "main")
        undone = "the revert of " if state == "declined" else ""
        assert said == f"revert: {undone}the no here to 'Use ruff, not black'\n"


def test_a_no_holds_until_another_machine_says_something_new(store: Store) -> None:
    rule = approved_elsewhere(store, "Use ruff, not black")
    decline(store)
    gone = reverted_elsewhere(store, rule)
    from_elsewhere(store, api.build_decision(store, "reverted", rule, BY, utc_precise(), reopens=gone["id"]))
    assert (
        arrivals.find_absent_rules(open_queue(store)) == {rule: "declined"}
        and arrivals.list_arrivals(open_queue(store)) == []
    )
    target = reader.scan(store).history.learnings[rule]["target"]
    from_elsewhere(
        store, api.build_decision(store, "amended", rule, BY, utc_precise(), text="Use ruff for all", target=target)
    )
    assert arrivals.find_absent_rules(open_queue(store)) == {rule: "waiting"}
    decline(store)
    assert arrivals.find_absent_rules(open_queue(store)) == {rule: "declined"}
