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
from reflect_git.targets.inert import Reworded
from tests.faults import git
from tests.rules import reverts
from tests.rules.queues import BY
from tests.rules.reverts import BASE, amend, approve, claude_md, in_force, sit, write

OWN = {**BY, "road": "own-machine"}


def away(store: Store, home: Path) -> Queue:
    """Return a queue in another project, which does not know where the first one is."""
    other = home / "garden"
    if not other.exists():
        other.mkdir()
        git(other, "init", "-q")
    return sit(store).replace(place=project_files.place(store, os.environ, str(other)))


def from_elsewhere(store: Store, made: Mapping[str, Any]) -> dict[str, Any]:
    there = {**made, "machine": "sofa"}
    records = [record for record in (there,) if record]
    api.record(store, records, f"sync: {there['id']}", {})
    return there


def reverted_elsewhere(store: Store, learning: str) -> dict[str, Any]:
    approval = reader.scan(store).history.learnings[learning]["decision"]
    return from_elsewhere(store, api.decision(store, "reverted", learning, BY, utc_precise(), reopens=approval))


def approved_elsewhere(store: Store, text: str, /, **facts: Any) -> str:
    """Add records as a sync does, without a file."""
    approve(store, "use bun, not deno")
    reverts.undo(store)
    (pattern,) = reader.scan(store).history.learnings.values()
    now = utc_precise()
    identity = f"LRN-20260101-{len(text):0>8}"
    made = {**api.decision(store, "approved", identity, BY, now, text=text), "machine": "sofa"}
    record = {**pattern, "id": identity, "timestamp": now, "text": text, "title": text, "decision": made["id"],
              "supersedes": [], "signals": [], **facts}  # fmt: skip
    api.record(store, [record, made], "sync: sofa", {})
    return identity


def test_a_learning_whose_project_is_not_here_is_recorded_and_carried_out_there(shelf: Store, home: Path) -> None:
    rule = approve(shelf, "use pnpm, not npm").learning
    approved = claude_md()
    sitting = away(shelf, home)
    done = revert.carry_out(sitting, revert.propose(sitting, revert.find(sitting, rule)), BY)
    assert claude_md() == approved and in_force(shelf) == [] and done.diff == ""
    assert "belongs to the project 'shop': recorded, its file is changed when" in done.warnings[0]
    assert arrivals.settle_own(away(shelf, home)) is None, "not from elsewhere"
    (one,) = arrivals.waiting(sit(shelf))
    assert (one.kind, one.own, one.learning["id"]) == (arrivals.REMOVE, True, rule)
    settled = arrivals.settle_own(sit(shelf))
    assert settled is not None and claude_md() == BASE
    said = git(Path(shelf.root), "log", "-1", "--format=%B", "main")
    assert said.startswith("apply: Use pnpm, not npm\n") and "Approved-By: terminal" in said
    assert arrivals.settle_own(sit(shelf)) is None and arrivals.waiting(sit(shelf)) == []
    reverts.undo(shelf)
    assert in_force(shelf) == [rule] and claude_md() == approved, "the undo takes the revert back, not its carrying out"


def test_an_undo_from_elsewhere_finds_the_project(shelf: Store, home: Path) -> None:
    rule = approve(shelf, "use pnpm, not npm").learning
    sitting = away(shelf, home)
    chosen = revert.find(sitting, rule)
    there = project_commits.moved_to(sitting, chosen.decisions)
    assert there.place.root == str(reverts.project())
    revert.carry_out(there, revert.propose(there, chosen), BY)
    assert claude_md() == BASE


def test_a_revert_and_its_undo_from_elsewhere_leave_the_file_alone(shelf: Store, home: Path) -> None:
    rule = approve(shelf, "use pnpm, not npm").learning
    approved = claude_md()
    for _ in range(2):
        sitting = away(shelf, home)
        last = revert.find(sitting, reader.scan(shelf).history.decisions[-1]["id"])
        revert.carry_out(sitting, revert.propose(sitting, last), BY)
    assert in_force(shelf) == [rule]
    assert arrivals.settle_own(sit(shelf)) is None and claude_md() == approved


def test_a_revert_of_another_machine_waits_for_a_person(shelf: Store) -> None:
    rule = approve(shelf, "use pnpm, not npm").learning
    made = reverted_elsewhere(shelf, rule)
    assert in_force(shelf) == [] and arrivals.settle_own(sit(shelf)) is None
    (one,) = arrivals.waiting(sit(shelf))
    assert (one.kind, one.own, one.decision["id"]) == (arrivals.REMOVE, False, made["id"])
    assert "-- Use pnpm, not npm" in one.diff and rule in one.diff
    arrivals.take(sit(shelf), [one], OWN)  # type: ignore[arg-type]
    assert claude_md() == BASE and arrivals.waiting(sit(shelf)) == []
    said = git(Path(shelf.root), "log", "-1", "--format=%B", "main")
    assert "Approved-By: own-machine" in said and f"Learning-Id: {rule}" in said


def test_the_undo_of_a_removal_is_called_one(shelf: Store) -> None:
    """In a log, 'revert: <the rule>' means that the rule was reverted."""
    rule = approve(shelf, "use pnpm, not npm").learning
    reverted_elsewhere(shelf, rule)
    arrivals.take(sit(shelf), arrivals.waiting(sit(shelf)), BY)
    for undone, is_there in (("the removal of", True), ("the revert of the removal of", False)):
        reverts.undo(shelf)
        assert (rule.encode() in claude_md()) is is_there
        assert git(Path(shelf.root), "log", "-1", "--format=%s", "main") == f"revert: {undone} Use pnpm, not npm\n"


def test_learnings_of_another_machine_are_taken_together(shelf: Store, home: Path) -> None:
    one = approved_elsewhere(shelf, "Use ruff, not black")
    two = approved_elsewhere2(shelf, "Answer in German", one)
    found = arrivals.waiting(sit(shelf))
    assert {item.learning["id"]: item.kind for item in found} == {one: arrivals.ADD, two: arrivals.ADD}
    done = arrivals.take(sit(shelf), found, BY)
    assert one.encode() in claude_md() and two in (home / ".claude/CLAUDE.md").read_text()
    assert arrivals.waiting(sit(shelf)) == []
    assert done.commit and git(Path(shelf.root), "log", "-1", "--format=%s", "main").endswith(" and 1 more\n")
    reverts.undo(shelf)
    assert claude_md() == BASE and len(arrivals.waiting(sit(shelf))) == 2, "not taken is not taken back"


def approved_elsewhere2(store: Store, text: str, like: str) -> str:
    """Add another one, for all projects."""
    pattern, now = reader.scan(store).history.learnings[like], utc_precise()
    identity = f"LRN-20260102-{len(text):0>8}"
    made = {**api.decision(store, "approved", identity, BY, now, text=text), "machine": "sofa"}
    record = {**pattern, "id": identity, "text": text, "title": text, "decision": made["id"], "scope": "global",
              "project": None, "target": {"kind": "global", "path": "CLAUDE.md"}}  # fmt: skip
    api.record(store, [record, made], "sync: sofa", {})
    return identity


def test_an_exception_of_another_machine_to_a_rule_for_all_is_told_as_one(shelf: Store) -> None:
    arrived = approved_elsewhere(shelf, "Use npm, not pnpm")
    rule, wide = "LRN-20260101-00000001", {"kind": "global", "path": "CLAUDE.md"}
    made = api.decision(shelf, "approved", rule, BY, utc_precise(), text="Use pnpm, not npm")
    record = {**reader.scan(shelf).history.learnings[arrived], "id": rule, "text": "Use pnpm, not npm"}
    record |= {"scope": "global", "project": None, "target": wide, "decision": made["id"]}
    api.record(shelf, [record, made], "approve: Use pnpm, not npm", {})
    (one,) = arrivals.waiting(sit(shelf))
    assert one.learning["id"] == arrived
    assert [risk.message for risk in one.risks] == [
        f"in this project it holds instead of '{rule}', which is for all: Use pnpm, not npm"
    ]


def test_what_the_file_has_already_does_not_wait(shelf: Store) -> None:
    rule = approved_elsewhere(shelf, "Use ruff, not black")
    write(BASE + f"\r\n\r\n<!-- {rule} -->\r\n\r\n- Use ruff, not black\r\n".encode())
    assert arrivals.waiting(sit(shelf)) == []


def test_what_we_wrote_and_somebody_deleted_is_no_news(shelf: Store) -> None:
    approve(shelf, "use pnpm, not npm")
    write(BASE)
    assert arrivals.waiting(sit(shelf)) == []


def test_other_words_of_another_machine(shelf: Store) -> None:
    rule = approve(shelf, "use pnpm, not npm").learning
    target = reader.scan(shelf).history.learnings[rule]["target"]
    text = "Install with pnpm."
    made = api.decision(shelf, "amended", rule, BY, utc_precise(), text=text, target=target)
    from_elsewhere(shelf, made)
    (one,) = arrivals.waiting(sit(shelf))
    assert one.kind == arrivals.CHANGE
    edited = claude_md().replace(b"not npm", b"and no npm")
    write(edited)
    (one,) = arrivals.waiting(sit(shelf))
    assert isinstance(one.trouble, Reworded) and one.steps == ()
    with pytest.raises(Reworded):
        arrivals.take(sit(shelf), [one], BY)
    write(edited.replace(b"and no npm", b"not npm"))
    arrivals.take(sit(shelf), arrivals.waiting(sit(shelf)), BY)
    assert b"- Install with pnpm." in claude_md() and arrivals.waiting(sit(shelf)) == []


def test_what_another_machine_replaced_and_gave_back(shelf: Store) -> None:
    rule = approve(shelf, "use pnpm, not npm").learning
    approved = claude_md()
    made = api.decision(shelf, "superseded", rule, BY, utc_precise(), meta={"by": "LRN-20260101-00000000"})
    replaced = from_elsewhere(shelf, made)
    arrivals.take(sit(shelf), arrivals.waiting(sit(shelf)), BY)
    assert claude_md() == BASE
    from_elsewhere(shelf, api.decision(shelf, "reverted", rule, BY, utc_precise(), reopens=replaced["id"]))
    (one,) = arrivals.waiting(sit(shelf))
    assert one.kind == arrivals.ADD
    arrivals.take(sit(shelf), [one], BY)
    assert claude_md() == approved


def test_a_place_of_another_machine_and_an_improvement_that_was_applied(shelf: Store, home: Path) -> None:
    rule = approve(shelf, "use pnpm, not npm").learning
    moved = api.decision(
        shelf, "amended", rule, BY, utc_precise(), text="Use pnpm, not npm",
        target={"kind": "global", "path": "CLAUDE.md"}, meta={"learning": {"scope": "global", "project": None}},
    )  # fmt: skip
    from_elsewhere(shelf, moved)
    proposal = approve(shelf, "the build needs a cache", "improvements").learning
    applied = api.decision(shelf, "amended", proposal, BY, utc_precise(), meta={"section": "Applied"})
    from_elsewhere(shelf, applied)
    arrivals.take(sit(shelf), arrivals.waiting(sit(shelf)), BY)
    assert claude_md() == BASE and rule in (home / ".claude/CLAUDE.md").read_text()
    text = (reverts.project() / ".claude/improvements.md").read_text()
    assert text.index("## Applied") < text.index(proposal)
    assert arrivals.waiting(sit(shelf)) == []


def test_a_file_that_changed_since_it_was_shown(shelf: Store) -> None:
    reverted_elsewhere(shelf, approve(shelf, "use pnpm, not npm").learning)
    shown = arrivals.waiting(sit(shelf))
    write(claude_md() + b"an edit\r\n")
    with pytest.raises(instruction_files.Changed):
        arrivals.take(sit(shelf), shown, BY)


def test_an_amendment_that_is_taken_back_elsewhere_is_carried_out_there(shelf: Store, home: Path) -> None:
    rule = approve(shelf, "use pnpm, not npm").learning
    first = claude_md()
    amend(shelf, rule, "Install with pnpm.")
    sitting = away(shelf, home)
    made = reader.scan(shelf).history.decisions[-1]["id"]
    revert.carry_out(sitting, revert.propose(sitting, revert.find(sitting, made)), BY)
    assert b"Install with pnpm." in claude_md()
    assert arrivals.settle_own(sit(shelf)) is not None
    assert claude_md() == first


def decline(store: Store) -> str:
    """Decline as a person, on this machine only."""
    (one,) = arrivals.waiting(sit(store))
    return arrivals.decline(sit(store), one, BY)[0]


def test_an_undo_of_a_revert_that_found_no_entry_writes_none(shelf: Store) -> None:
    rule = approved_elsewhere(shelf, "Use ruff, not black")
    decline(shelf)
    for _ in range(2):
        assert reverts.revert(shelf, rule).warnings == [
            f"'CLAUDE.md' has no entry of '{rule}': it is left as it is"
        ] and in_force(shelf) == []  # fmt: skip
        undone = reverts.undo(shelf)
        assert undone.warnings == [f"'CLAUDE.md' had no entry of '{rule}' before: it is left as it is"]
        assert (undone.diff, claude_md(), in_force(shelf)) == ("", BASE, [rule])
        assert arrivals.absent(sit(shelf)) == {rule: "declined"} and arrivals.waiting(sit(shelf)) == []
        assert not arrivals.is_left_here(sit(shelf), rule)
        reverts.undo(shelf), reverts.undo(shelf)
        assert claude_md() == BASE and arrivals.absent(sit(shelf)) == {rule: "declined"}


def test_what_a_person_deleted_stays_deleted_through_a_revert_and_its_undo(shelf: Store) -> None:
    rule = approve(shelf, "use pnpm, not npm").learning
    write(BASE)
    reverts.revert(shelf, rule)
    reverts.undo(shelf)
    assert claude_md() == BASE and in_force(shelf) == [rule]
    assert arrivals.is_left_here(sit(shelf), rule), "its absence is a question of its own again"


def test_the_redo_of_a_no_is_a_no(shelf: Store) -> None:
    rule = approved_elsewhere(shelf, "Use ruff, not black")
    decline(shelf)
    for state in ("waiting", "declined", "waiting"):
        reverts.undo(shelf)
        assert arrivals.absent(sit(shelf)) == {rule: state}
        assert len(arrivals.waiting(sit(shelf))) == (state == "waiting")
        said = git(Path(shelf.root), "log", "-1", "--format=%s", "main")
        undone = "the revert of " if state == "declined" else ""
        assert said == f"revert: {undone}the no here to 'Use ruff, not black'\n"


def test_a_no_holds_until_another_machine_says_something_new(shelf: Store) -> None:
    rule = approved_elsewhere(shelf, "Use ruff, not black")
    decline(shelf)
    gone = reverted_elsewhere(shelf, rule)
    from_elsewhere(shelf, api.decision(shelf, "reverted", rule, BY, utc_precise(), reopens=gone["id"]))
    assert arrivals.absent(sit(shelf)) == {rule: "declined"} and arrivals.waiting(sit(shelf)) == []
    target = reader.scan(shelf).history.learnings[rule]["target"]
    from_elsewhere(
        shelf, api.decision(shelf, "amended", rule, BY, utc_precise(), text="Use ruff for all", target=target)
    )
    assert arrivals.absent(sit(shelf)) == {rule: "waiting"}
    decline(shelf)
    assert arrivals.absent(sit(shelf)) == {rule: "declined"}
