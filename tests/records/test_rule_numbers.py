"""Numbers of rules: given once, the same on every machine, and never taken away."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reflect_git.records.history import History
from reflect_git.records.rule_numbers import find_numbered_rule, find_numbers_to_record, normalise_number, number_rules

Records = tuple[list[Any], list[Any]]


def build_learning(number: int, kind: str = "project") -> Any:
    return {
        "id": f"LRN-20260211-{number:08d}", "timestamp": f"2026-02-11T10:00:{number % 60:02d}.000Z", "text": "x",
        "title": "", "signals": [], "decision": f"DEC-20260211-{number:08d}", "supersedes": [], "meta": {},
        "target": {"kind": kind, "path": "CLAUDE.md"},
    }  # fmt: skip


def build_decision(learning: Any, numbers: dict[str, str]) -> Any:
    return {
        "id": learning["decision"], "timestamp": learning["timestamp"], "kind": "approved", "subject": learning["id"],
        "reopens": None, "key": None, "target": learning["target"], "text": None, "machine": "a",
        "meta": {"signals": [], "numbers": numbers},
    }  # fmt: skip


def approve(records: Records, number: int, kind: str = "project") -> str:
    """Approve a rule on the machine that has these records; return its number there."""
    learnings, decisions = records
    learning = build_learning(number, kind)
    numbers = find_numbers_to_record(History(learnings, decisions, []), learning)
    learnings.append(learning)
    decisions.append(build_decision(learning, numbers))
    return numbers.get(learning["id"], "")


def merge(*machines: Records) -> Records:
    learnings = {one["id"]: one for each in machines for one in each[0]}
    decisions = {one["id"]: one for each in machines for one in each[1]}
    return list(learnings.values()), list(decisions.values())


def get_numbers(records: Records) -> list[str]:
    return list(number_rules(History(*records, [])).values())


def test_rules_are_numbered_in_the_order_of_their_approval() -> None:
    records: Records = ([], [])
    assert [approve(records, 1), approve(records, 2), approve(records, 3, "agent")] == [
        "PROJ-001", "PROJ-002", "AGENT-001"
    ]  # fmt: skip
    assert approve(records, 4, "improvements") == "", "an improvement is no rule"
    assert approve(records, 5, "global") == "PROJ-003"
    assert get_numbers(records) == ["PROJ-001", "PROJ-002", "AGENT-001", "PROJ-003"]


def test_two_machines_that_gave_the_same_number_agree() -> None:
    first: Records = ([], [])
    approve(first, 1)
    second = merge(first)
    assert [approve(first, 2), approve(second, 3), approve(second, 4)] == ["PROJ-002", "PROJ-002", "PROJ-003"]
    assert get_numbers(merge(first, second)) == get_numbers(merge(second, first))
    both = merge(first, second)
    assert get_numbers(both) == ["PROJ-001", "PROJ-002", "PROJ-002b", "PROJ-003"]
    assert approve(both, 5) == "PROJ-004"
    assert find_numbered_rule(History(*both, []), "proj-2B") == "LRN-20260211-00000003"
    # Decision 5 recorded the suffix, so that the number stays if the other rule is purged.
    both[0].remove(next(one for one in both[0] if one["id"].endswith("2")))
    assert get_numbers(both) == ["PROJ-001", "PROJ-002b", "PROJ-003", "PROJ-004"]


def test_rules_from_before_numbers_are_recorded_with_the_next_approval() -> None:
    old = [build_learning(number) for number in range(1, 4)]
    records: Records = (old, [])
    assert get_numbers(records) == ["PROJ-001", "PROJ-002", "PROJ-003"]
    assert approve(records, 9) == "PROJ-004"
    assert list(records[1][0]["meta"]["numbers"].values()) == ["PROJ-001", "PROJ-002", "PROJ-003", "PROJ-004"]
    records[0].append(build_learning(0))  # an older one arrives with a sync
    assert number_rules(History(*records, []))["LRN-20260211-00000000"] == "PROJ-005"


@given(st.lists(st.tuples(st.integers(0, 3), st.sampled_from("asg")), max_size=25), st.integers(0, 2**16))
def test_all_machines_end_with_the_same_distinct_numbers(steps: list[tuple[int, str]], seed: int) -> None:
    machines: list[Records] = [([], []) for _ in range(4)]
    for number, (machine, step) in enumerate(steps, 1):
        if step == "s":
            other = (machine + 1) % 4
            machines[machine] = merge(machines[machine], machines[other])
        else:
            approve(machines[machine], number, "agent" if step == "g" else "project")
    dice = random.Random(seed)
    found = []
    for _ in range(4):
        dice.shuffle(machines)
        learnings, decisions = merge(*machines)
        dice.shuffle(decisions)
        found.append(number_rules(History(learnings, decisions, [])))
    assert all(one == found[0] for one in found)
    assert len(set(found[0].values())) == len(found[0]) == len(merge(*machines)[0])


@pytest.mark.parametrize("claim", ["PROJ-0", "PROJ-1234567", "X-001", 7, None, "PROJ-001; rm", "PROJ-001" + "b" * 9])
def test_odd_numbers_in_records_are_ignored(claim: Any) -> None:
    learning = build_learning(1)
    history = History([learning], [build_decision(learning, {learning["id"]: claim, "LRN-gone": "PROJ-007"})], [])
    assert number_rules(history) == {learning["id"]: "PROJ-001"}
    for meta in ({"numbers": ["PROJ-001"]}, {"numbers": "x"}, {}):
        made: Any = {**build_decision(learning, {}), "meta": meta}
        assert number_rules(History([learning], [made], [])) == {learning["id"]: "PROJ-001"}


@pytest.mark.parametrize(
    ("text", "number"),
    [("PROJ-014", "PROJ-014"), ("proj-14", "PROJ-014"), ("AGENT-003B", "AGENT-003b"), ("PROJ-", ""), ("LRN-2026", "")],
)
def test_numbers_as_people_type_them(text: str, number: str) -> None:
    assert normalise_number(text) == number
