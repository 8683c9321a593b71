"""The rules in force follow from the records alone, in whatever order they arrive."""

from __future__ import annotations

from itertools import permutations
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from reflect_git.records.history import History
from tests.candidates.signals import decision, history, learning


def rule(name: str, **facts: Any) -> dict[str, Any]:
    end = f"{name:0<8}"
    given = {"id": f"LRN-20260301-{end}", "decision": f"DEC-20260301-{end}", "signals": [f"SIG-20260301-{end}"]}
    return learning(f"Use {name}", **{**given, **facts})


def approval(of: dict[str, Any], day: int = 1, **facts: Any) -> dict[str, Any]:
    return decision("approved", of["id"], day=day, id=of["decision"], **facts)


def back(of: dict[str, Any], day: int = 2, **facts: Any) -> dict[str, Any]:
    return decision("reverted", of["subject"], day=day, reopens=of["id"], **facts)


def texts(past: History) -> list[str]:
    return [one["text"] for one in past.get_rules_in_force()]


PNPM = rule("pnpm")
SAID = PNPM["signals"][0]
APPROVED = approval(PNPM)


def test_a_revert_may_be_taken_back_and_that_too() -> None:
    made = [APPROVED]
    for number in range(5):
        past = history([PNPM], made)
        assert texts(past) == ([] if number % 2 else ["Use pnpm"])
        assert past.status(SAID) == ("dismissed" if number % 2 else "promoted")
        assert len(past.get_decisions_against(PNPM["id"])) == number % 2
        made = [*made, back(made[-1], day=number + 2)]


def test_taking_an_amendment_back_brings_the_earlier_words_and_keeps_the_rule() -> None:
    first = decision("amended", PNPM["id"], day=2, text="Use pnpm 9")
    second = decision("amended", PNPM["id"], day=3, text="Use pnpm 10")
    assert texts(history([PNPM], [APPROVED, first, second])) == ["Use pnpm 10"]
    assert texts(history([PNPM], [APPROVED, first, second, back(second, 4)])) == ["Use pnpm 9"]
    assert texts(history([PNPM], [APPROVED, first, second, back(first, 4)])) == ["Use pnpm 10"]
    assert texts(history([PNPM], [APPROVED, first, back(first, 4)])) == ["Use pnpm"]
    assert history([PNPM], [APPROVED, first, back(first, 4)]).status(SAID) == "promoted"


def test_what_was_replaced_comes_back_with_the_decision_that_replaced_it() -> None:
    yarn = rule("yarn")
    replaced = decision("superseded", PNPM["id"], day=2, meta={"by": yarn["id"]})
    made = [APPROVED, approval(yarn, 2), replaced]
    assert texts(history([PNPM, yarn], made)) == ["Use yarn"]
    assert texts(history([PNPM, yarn], [*made, back(made[1], 3)])) == []
    assert texts(history([PNPM, yarn], [*made, back(made[1], 3), back(replaced, 3)])) == ["Use pnpm"]


def test_two_machines_that_take_the_same_back_both_stand() -> None:
    here, there = back(APPROVED, 2, machine="desk"), back(APPROVED, 2, machine="sofa")
    assert texts(history([PNPM], [APPROVED, here, there, back(here, 3)])) == []
    assert texts(history([PNPM], [APPROVED, here, there, back(here, 3), back(there, 3)])) == ["Use pnpm"]


def test_no_clock_matters_to_what_was_taken_back() -> None:
    """Whoever reverts something has seen it, even if their clock is a month behind."""
    late = {**APPROVED, "timestamp": "2026-04-01T00:00:00.000Z"}
    assert texts(history([PNPM], [late, back(late, 1)])) == []
    assert texts(history([PNPM], [late, back(late, 1), decision("amended", PNPM["id"], day=9, text="x")])) == []
    assert history([PNPM], [late, back(late, 1), decision("amended", PNPM["id"], day=9)]).status(SAID) == "dismissed"


def test_a_revert_without_a_name_is_against_its_learning() -> None:
    plain = decision("reverted", PNPM["id"], day=2)
    assert texts(history([PNPM], [APPROVED, plain])) == []
    assert texts(history([PNPM], [APPROVED, plain, back(plain, 3)])) == ["Use pnpm"]


def test_signals_of_what_is_taken_back_wait_again_only_on_request() -> None:
    assert history([PNPM], [APPROVED, back(APPROVED)]).status(SAID) == "dismissed"
    assert history([PNPM], [APPROVED, back(APPROVED, meta={"reopen": True})]).status(SAID) == "captured"


def test_an_answer_that_is_taken_back_leaves_the_one_before_it() -> None:
    no = decision("dismissed", SAID, day=1)
    assert history([], [no, back(no)]).status(SAID) == "captured"
    opened = back(no)
    assert history([], [no, opened, back(opened, 3)]).status(SAID) == "dismissed"


def test_reverts_in_a_ring_end() -> None:
    one, other = decision("reverted", "LRN-x", id="DEC-1", reopens="DEC-2"), decision("reverted", "LRN-x", id="DEC-2")
    ring = [one, {**other, "reopens": "DEC-1"}, {**other, "id": "DEC-3", "reopens": "DEC-3"}]
    assert texts(history([PNPM], [APPROVED, *ring])) == ["Use pnpm"]


@st.composite
def decided(draw: st.DrawFn) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Draw learnings, and decisions about them and about each other, with arbitrary clocks."""
    rules = [rule(name) for name in "abc"[: draw(st.integers(1, 3))]]
    made = [approval(one, day=draw(st.integers(1, 9))) for one in rules]
    for number in range(draw(st.integers(0, 8))):
        day, machine = draw(st.integers(1, 9)), draw(st.sampled_from(["desk", "sofa"]))
        kind = draw(st.sampled_from(["reverted", "reverted", "reverted", "amended", "superseded", "applied"]))
        facts: dict[str, Any] = {"id": f"DEC-20260302-0000000{number}", "day": day, "machine": machine}
        if kind == "reverted":
            of = draw(st.sampled_from(made))
            made.append(decision(kind, of["subject"], reopens=draw(st.sampled_from([of["id"], None])), **facts))
        else:
            text = f"words {number}" if kind == "amended" else None
            made.append(decision(kind, draw(st.sampled_from(rules))["id"], text=text, **facts))
    return rules, made


@given(decided(), st.randoms())
def test_any_order_of_records_says_the_same(given_: Any, random: Any) -> None:
    rules, made = given_
    shuffled = list(made)
    random.shuffle(shuffled)
    one, other = history(rules, made), history(rules, shuffled)
    assert one.get_rules_in_force() == other.get_rules_in_force() and one.void_decisions == other.void_decisions
    signals = [signal for rule_ in rules for signal in rule_["signals"]]
    assert [one.status(signal) for signal in signals] == [other.status(signal) for signal in signals]


@given(decided())
def test_the_rule_in_words(given_: Any) -> None:
    """The slow definition: a decision is void if a revert that is not void reopens it."""
    rules, made = given_

    def stands(one: dict[str, Any]) -> bool:
        return not any(stands(other) for other in made if other["kind"] == "reverted" and other["reopens"] == one["id"])

    def is_out(one: dict[str, Any]) -> bool:
        plain = [other for other in made if other["subject"] == one["id"] and stands(other) and not other["reopens"]]
        return any(other["kind"] in ("superseded", "reverted") for other in plain)

    approvals = {one["id"]: one for one in made}
    wanted = {one["id"] for one in rules if stands(approvals[one["decision"]]) and not is_out(one)}
    past = history(rules, made)
    assert {one["id"] for one in past.get_rules_in_force()} == wanted
    assert past.void_decisions == {one["id"] for one in made if not stands(one)}
    assert {one["id"] for one in rules if not past.get_decisions_against(one["id"])} == wanted


def test_all_orders_of_a_few() -> None:
    taken = back(APPROVED)
    made = [APPROVED, taken, back(taken, 3), decision("amended", PNPM["id"], day=2, text="Use it")]
    assert {tuple(texts(history([PNPM], order))) for order in permutations(made)} == {("Use it",)}
