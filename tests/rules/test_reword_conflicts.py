"""Two machines reword one rule at the same time: nothing is lost, and both ask the same question."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from reflect_git.platform import instruction_files
from reflect_git.records.history import History
from reflect_git.records.ids import utc_precise
from reflect_git.rules import arrivals, revert
from reflect_git.store import api
from reflect_git.store.reading import reader
from reflect_git.store.repository import Store
from tests.rules import reverts
from tests.rules.queues import BY
from tests.rules.reverts import amend, approve, claude_md, sit, write


def reworded_on_sofa(store: Store, rule: str, text: str, after: list[str] | None) -> str:
    """Add one decision as a sync does, without a file. `after` is what the other machine knew."""
    target = reader.scan(store).history.learnings[rule]["target"]
    meta = {"learning": {"title": text}, **({} if after is None else {"after": after})}
    made = api.decision(store, "amended", rule, BY, utc_precise(), text=text, target=target, meta=meta)
    api.record(store, [{**made, "machine": "sofa"}], "sync: sofa", {})
    return made["id"]


def last(store: Store, rule: str) -> list[str]:
    return [made["text"] or "" for made in reader.scan(store).history.last_amendments(rule)]


def one_waiting(store: Store) -> arrivals.Waiting:
    (one,) = arrivals.waiting(sit(store))
    return one


def test_both_machines_are_asked_the_same(shelf: Store) -> None:
    """The machine with the later wording gets nothing that differs, and still asks."""
    rule = approve(shelf, "use pnpm, not npm").learning
    reworded_on_sofa(shelf, rule, "Take pnpm for everything", [])
    behind = api.decision(
        shelf, "amended", rule, BY, utc_precise(), text="Install with pnpm",
        target=reader.scan(shelf).history.learnings[rule]["target"], meta={"after": []},
    )  # fmt: skip
    api.record(shelf, [behind], "sync: as this machine said it", {})
    texts = ["Take pnpm for everything", "Install with pnpm"]
    assert last(shelf, rule) == texts
    for state in ("Use pnpm, not npm", *texts):
        for was in ("Use pnpm, not npm", *texts):
            write(claude_md().replace(was.encode(), state.encode()))
        one = one_waiting(shelf)
        assert [wording.learning["text"] for wording in one.wordings] == texts, state
        assert [bool(wording.steps) for wording in one.wordings] == [state != text for text in texts]
        with pytest.raises(Exception, match="was reworded on several machines"):
            arrivals.take(sit(shelf), [one], BY)


@pytest.mark.parametrize("chosen", [0, 1])
def test_the_one_that_was_chosen_holds_and_knows_of_both(shelf: Store, chosen: int) -> None:
    rule = approve(shelf, "use pnpm, not npm").learning
    amend(shelf, rule, "Install with pnpm")
    reworded_on_sofa(shelf, rule, "Take pnpm for everything", [])
    before, wording = claude_md(), one_waiting(shelf).wordings[chosen]
    arrivals.settle(sit(shelf), wording, BY)
    text = wording.learning["text"]
    assert f"- {text}\r\n".encode() in claude_md() and last(shelf, rule) == [text]
    assert reader.scan(shelf).history.learnings[rule]["title"] == text
    assert arrivals.waiting(sit(shelf)) == []
    reverts.undo(shelf)
    assert claude_md() == before and len(one_waiting(shelf).wordings) == 2, "as it was, and the question is open again"
    reverts.undo(shelf)
    assert f"- {text}\r\n".encode() in claude_md() and arrivals.waiting(sit(shelf)) == []


def test_two_answers_that_differ_are_a_question_again(shelf: Store) -> None:
    rule = approve(shelf, "use pnpm, not npm").learning
    amend(shelf, rule, "Install with pnpm")
    theirs = reworded_on_sofa(shelf, rule, "Take pnpm for everything", [])
    both = [made["id"] for made in reader.scan(shelf).history.last_amendments(rule)]
    arrivals.settle(sit(shelf), one_waiting(shelf).wordings[0], BY)
    reworded_on_sofa(shelf, rule, "Take pnpm for everything", both)
    assert theirs in both and last(shelf, rule) == ["Install with pnpm", "Take pnpm for everything"]


def test_who_knew_of_the_other_only_came_later(shelf: Store) -> None:
    rule = approve(shelf, "use pnpm, not npm").learning
    amend(shelf, rule, "Install with pnpm")
    known = [made["id"] for made in reader.scan(shelf).history.last_amendments(rule)]
    reworded_on_sofa(shelf, rule, "Take pnpm for everything", known)
    one = one_waiting(shelf)
    assert one.wordings == () and one.trouble is None and one.kind == arrivals.CHANGE
    reworded_on_sofa(shelf, rule, "Use pnpm", None)
    assert last(shelf, rule) == ["Use pnpm"], "from before it was written down"


def test_what_a_wording_knew_of_is_no_rival_if_the_one_between_was_taken_back(shelf: Store) -> None:
    rule = approve(shelf, "use pnpm, not npm").learning
    for text in ("Install with pnpm", "Take pnpm for everything", "Use pnpm"):
        amend(shelf, rule, text)
    between = reader.scan(shelf).history.decisions[-2]
    assert between["text"] == "Take pnpm for everything"
    api.record(
        shelf, [api.decision(shelf, "reverted", rule, BY, utc_precise(), reopens=between["id"])], "revert: it", {}
    )
    assert last(shelf, rule) == ["Use pnpm"]


def test_the_same_words_are_no_question_and_neither_is_what_was_taken_back(shelf: Store) -> None:
    rule = approve(shelf, "use pnpm, not npm").learning
    amend(shelf, rule, "Install with pnpm")
    reworded_on_sofa(shelf, rule, "Install with pnpm", [])
    assert arrivals.waiting(sit(shelf)) == []
    theirs = reworded_on_sofa(shelf, rule, "Take pnpm for everything", [])
    assert one_waiting(shelf).wordings
    queue = sit(shelf)
    revert.carry_out(queue, revert.propose(queue, revert.find(queue, theirs)), BY)
    assert arrivals.waiting(sit(shelf)) == []


def test_nobody_chooses_without_a_person(shelf: Store) -> None:
    rule = approve(shelf, "use pnpm, not npm").learning
    amend(shelf, rule, "Install with pnpm")
    reworded_on_sofa(shelf, rule, "Take pnpm for everything", [])
    before = claude_md()
    shelf.git.run("config", "reflect.sync.apply", "auto")
    assert arrivals.settle_arrived(sit(shelf), BY) is None and claude_md() == before


def test_a_file_that_changed_since_it_was_shown(shelf: Store) -> None:
    rule = approve(shelf, "use pnpm, not npm").learning
    amend(shelf, rule, "Install with pnpm")
    reworded_on_sofa(shelf, rule, "Take pnpm for everything", [])
    shown = one_waiting(shelf).wordings[1]
    write(claude_md() + b"an edit\r\n")
    with pytest.raises(instruction_files.Changed):
        arrivals.settle(sit(shelf), shown, BY)


def test_the_order_in_which_decisions_came_changes_nothing(shelf: Store) -> None:
    rule = approve(shelf, "use pnpm, not npm").learning
    amend(shelf, rule, "Install with pnpm")
    reworded_on_sofa(shelf, rule, "Take pnpm for everything", [])
    scan = reader.scan(shelf)
    records: list[Any] = [scan.others[rule]]
    for order in itertools.permutations(scan.history.decisions):
        found = History(records, order, ()).last_amendments(rule)
        assert [made["text"] for made in found] == ["Install with pnpm", "Take pnpm for everything"]
