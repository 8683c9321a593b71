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
from tests.rules.reverts import amend, approve, open_queue, read_claude_md, write_project_file


def reworded_on_sofa(store: Store, rule: str, text: str, after: list[str] | None) -> str:
    """Add one decision as a sync does, without a file. `after` is what the other machine knew."""
    target = reader.scan(store).history.learnings[rule]["target"]
    meta = {"learning": {"title": text}, **({} if after is None else {"after": after})}
    made = api.build_decision(store, "amended", rule, BY, utc_precise(), text=text, target=target, meta=meta)
    api.commit_records(store, [{**made, "machine": "sofa"}], "sync: sofa", {})
    return made["id"]


def last(store: Store, rule: str) -> list[str]:
    return [made["text"] or "" for made in reader.scan(store).history.get_last_amendments(rule)]


def one_waiting(store: Store) -> arrivals.Arrival:
    (one,) = arrivals.list_arrivals(open_queue(store))
    return one


def test_both_machines_are_asked_the_same(store: Store) -> None:
    """The machine with the later wording gets nothing that differs, and still asks."""
    rule = approve(store, "use pnpm, not npm").learning
    reworded_on_sofa(store, rule, "Take pnpm for everything", [])
    behind = api.build_decision(
        store, "amended", rule, BY, utc_precise(), text="Install with pnpm",
        target=reader.scan(store).history.learnings[rule]["target"], meta={"after": []},
    )  # fmt: skip
    api.commit_records(store, [behind], "sync: as this machine said it", {})
    texts = ["Take pnpm for everything", "Install with pnpm"]
    assert last(store, rule) == texts
    for state in ("Use pnpm, not npm", *texts):
        for was in ("Use pnpm, not npm", *texts):
            write_project_file(read_claude_md().replace(was.encode(), state.encode()))
        one = one_waiting(store)
        assert [wording.learning["text"] for wording in one.wordings] == texts, state
        assert [bool(wording.steps) for wording in one.wordings] == [state != text for text in texts]
        with pytest.raises(Exception, match="was reworded on several machines"):
            arrivals.apply_arrivals(open_queue(store), [one], BY)


@pytest.mark.parametrize("chosen", [0, 1])
def test_the_one_that_was_chosen_holds_and_knows_of_both(store: Store, chosen: int) -> None:
    rule = approve(store, "use pnpm, not npm").learning
    amend(store, rule, "Install with pnpm")
    reworded_on_sofa(store, rule, "Take pnpm for everything", [])
    before, wording = read_claude_md(), one_waiting(store).wordings[chosen]
    arrivals.resolve_reword_conflict(open_queue(store), wording, BY)
    text = wording.learning["text"]
    assert f"- {text}\r\n".encode() in read_claude_md() and last(store, rule) == [text]
    assert reader.scan(store).history.learnings[rule]["title"] == text
    assert arrivals.list_arrivals(open_queue(store)) == []
    reverts.undo(store)
    assert read_claude_md() == before and len(one_waiting(store).wordings) == 2, (
        "as it was, and the question is open again"
    )
    reverts.undo(store)
    assert f"- {text}\r\n".encode() in read_claude_md() and arrivals.list_arrivals(open_queue(store)) == []


def test_two_answers_that_differ_are_a_question_again(store: Store) -> None:
    rule = approve(store, "use pnpm, not npm").learning
    amend(store, rule, "Install with pnpm")
    theirs = reworded_on_sofa(store, rule, "Take pnpm for everything", [])
    both = [made["id"] for made in reader.scan(store).history.get_last_amendments(rule)]
    arrivals.resolve_reword_conflict(open_queue(store), one_waiting(store).wordings[0], BY)
    reworded_on_sofa(store, rule, "Take pnpm for everything", both)
    assert theirs in both and last(store, rule) == ["Install with pnpm", "Take pnpm for everything"]


def test_who_knew_of_the_other_only_came_later(store: Store) -> None:
    rule = approve(store, "use pnpm, not npm").learning
    amend(store, rule, "Install with pnpm")
    known = [made["id"] for made in reader.scan(store).history.get_last_amendments(rule)]
    reworded_on_sofa(store, rule, "Take pnpm for everything", known)
    one = one_waiting(store)
    assert one.wordings == () and one.trouble is None and one.kind == arrivals.CHANGE
    reworded_on_sofa(store, rule, "Use pnpm", None)
    assert last(store, rule) == ["Use pnpm"], "from before it was written down"


def test_what_a_wording_knew_of_is_no_rival_if_the_one_between_was_taken_back(store: Store) -> None:
    rule = approve(store, "use pnpm, not npm").learning
    for text in ("Install with pnpm", "Take pnpm for everything", "Use pnpm"):
        amend(store, rule, text)
    between = reader.scan(store).history.decisions[-2]
    assert between["text"] == "Take pnpm for everything"
    api.commit_records(
        store, [api.build_decision(store, "reverted", rule, BY, utc_precise(), reopens=between["id"])], "revert: it", {}
    )
    assert last(store, rule) == ["Use pnpm"]


def test_the_same_words_are_no_question_and_neither_is_what_was_taken_back(store: Store) -> None:
    rule = approve(store, "use pnpm, not npm").learning
    amend(store, rule, "Install with pnpm")
    reworded_on_sofa(store, rule, "Install with pnpm", [])
    assert arrivals.list_arrivals(open_queue(store)) == []
    theirs = reworded_on_sofa(store, rule, "Take pnpm for everything", [])
    assert one_waiting(store).wordings
    queue = open_queue(store)
    revert.write_revert(queue, revert.plan_revert(queue, revert.select_by_name(queue, theirs)), BY)
    assert arrivals.list_arrivals(open_queue(store)) == []


def test_nobody_chooses_without_a_person(store: Store) -> None:
    rule = approve(store, "use pnpm, not npm").learning
    amend(store, rule, "Install with pnpm")
    reworded_on_sofa(store, rule, "Take pnpm for everything", [])
    before = read_claude_md()
    store.git.run("config", "reflect.sync.apply", "auto")
    assert arrivals.apply_safe_arrivals(open_queue(store), BY) is None and read_claude_md() == before


def test_a_file_that_changed_since_it_was_shown(store: Store) -> None:
    rule = approve(store, "use pnpm, not npm").learning
    amend(store, rule, "Install with pnpm")
    reworded_on_sofa(store, rule, "Take pnpm for everything", [])
    shown = one_waiting(store).wordings[1]
    write_project_file(read_claude_md() + b"an edit\r\n")
    with pytest.raises(instruction_files.FileChanged):
        arrivals.resolve_reword_conflict(open_queue(store), shown, BY)


def test_the_order_in_which_decisions_came_changes_nothing(store: Store) -> None:
    rule = approve(store, "use pnpm, not npm").learning
    amend(store, rule, "Install with pnpm")
    reworded_on_sofa(store, rule, "Take pnpm for everything", [])
    scan = reader.scan(store)
    records: list[Any] = [scan.other_records[rule]]
    for order in itertools.permutations(scan.history.decisions):
        found = History(records, order, ()).get_last_amendments(rule)
        assert [made["text"] for made in found] == ["Install with pnpm", "Take pnpm for everything"]
