"""What a change that nobody is asked about may not touch: a file changed just before, and a pinned rule."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from reflect_git.records.ids import parse_utc, utc, utc_precise
from reflect_git.rules import arrivals
from reflect_git.rules.automatic import limits
from reflect_git.store import policy
from reflect_git.store.reading import reader
from reflect_git.store.repository import Store
from tests.faults import git
from tests.rules import reverts
from tests.rules.queues import BY
from tests.rules.reverts import BASE, amend, approve, open_queue, read_claude_md, write_project_file
from tests.rules.test_arrivals import approved_elsewhere, from_elsewhere, reverted_elsewhere

if TYPE_CHECKING:
    from reflect_git.records.schema import Decision

MINUTE = 60


@pytest.fixture(autouse=True)
def base(project: Path) -> Iterator[None]:
    write_project_file(BASE)
    yield


def find_block(store: Store, rule: str, after: float) -> limits.Block | None:
    """Return why this rule is left alone so many seconds after the last decision."""
    history = reader.scan(store).history
    now = utc(parse_utc(history.decisions[-1]["timestamp"]) + after)
    return limits.find_block(store, history, history.learnings[rule], now)


def test_a_file_is_left_alone_for_half_an_hour_after_each_change(store: Store) -> None:
    rule = approve(store, "use pnpm, not npm").learning
    block = find_block(store, rule, 29 * MINUTE)
    assert block is not None and block.reason == "cooldown: 'CLAUDE.md' was changed less than 30m ago"
    until = parse_utc(block.until) - parse_utc(reader.scan(store).history.decisions[-1]["timestamp"])
    assert 29 * MINUTE < until <= 30 * MINUTE
    assert find_block(store, rule, 31 * MINUTE) is None
    amend(store, rule, "Install with pnpm.")
    assert find_block(store, rule, 29 * MINUTE)
    assert find_block(store, rule, 31 * MINUTE) is None


def test_the_cooldown_outlives_a_revert_and_a_revert_starts_it_again(store: Store) -> None:
    rule = approve(store, "use pnpm, not npm").learning
    other = approve(store, "use tabs, not spaces").learning
    reverts.revert(store, other)
    assert find_block(store, rule, 29 * MINUTE) and find_block(store, rule, 31 * MINUTE) is None


def test_a_change_on_another_machine_counts_here_after_a_sync(store: Store) -> None:
    rule = approve(store, "use pnpm, not npm").learning
    target, key = _describe_file(store, rule)
    last = limits.find_last_change(reader.scan(store).history, target, key)
    assert last is not None and last["kind"] == "approved"
    reverted = reverted_elsewhere(store, rule)
    assert limits.find_last_change(reader.scan(store).history, target, key) == last, "it names no file"
    made = {**last, "id": reverted["id"][:-1] + "x", "timestamp": utc_precise()}
    from_elsewhere(store, made)
    history = reader.scan(store).history
    assert _get_machine(limits.find_last_change(history, target, key)) == "sofa"
    assert _get_machine(limits.find_last_change(history, target, key, store.machine)) == store.machine


def _get_machine(made: Decision | None) -> str:
    return made["machine"] if made else ""


def _describe_file(store: Store, rule: str) -> tuple[dict[str, str], str]:
    learning = reader.scan(store).history.learnings[rule]
    assert learning["project"]
    return {"kind": learning["target"]["kind"], "path": learning["target"]["path"]}, learning["project"]["key"]


def test_other_files_and_other_projects_are_free(store: Store) -> None:
    rule = approve(store, "use pnpm, not npm").learning
    history, now = reader.scan(store).history, utc_precise()
    target, key = _describe_file(store, rule)
    assert limits.find_cooldown(store, history, target, key, now)
    assert limits.find_cooldown(store, history, target, "elsewhere", now) is None
    assert limits.find_cooldown(store, history, {**target, "path": "AGENTS.md"}, key, now) is None
    assert limits.find_cooldown(store, history, {"kind": "global", "path": "CLAUDE.md"}, None, now) is None


def test_a_clock_that_was_wrong_blocks_nothing_for_years(store: Store) -> None:
    rule = approve(store, "use pnpm, not npm").learning
    assert find_block(store, rule, -86400) is None
    assert find_block(store, rule, -5 * MINUTE), "but a machine may be some minutes ahead"


@pytest.mark.parametrize(
    ("value", "seconds"), [("0", 0), ("4h", 14400), ("1d", 86400), ("soon", 1800), ("", 1800), ("90s", 90)]
)
def test_the_length_is_a_setting(store: Store, value: str, seconds: int) -> None:
    store.change_config({limits.COOLDOWN_SETTING: value})
    assert limits.get_cooldown(store) == seconds


def test_no_cooldown_at_all(store: Store) -> None:
    rule = approve(store, "use pnpm, not npm").learning
    store.change_config({limits.COOLDOWN_SETTING: "0"})
    assert find_block(store, rule, 0) is None


def test_a_pin_holds_after_a_revert_and_its_undo_and_is_ended_once(store: Store) -> None:
    rule = approve(store, "use pnpm, not npm").learning
    ctx = open_queue(store)
    limits.write_pin(ctx, limits.plan_pin(ctx, rule), BY)
    assert find_block(store, rule, 86400) == limits.Block("pinned")
    with pytest.raises(Exception, match="already pinned"):
        limits.plan_pin(open_queue(store), rule)
    reverts.revert(store, rule)
    reverts.undo(store)
    assert find_block(store, rule, 86400) == limits.Block("pinned") and rule.encode() in read_claude_md()
    ctx = open_queue(store)
    limits.write_unpin(ctx, limits.plan_unpin(ctx, rule[:16]), BY)
    assert find_block(store, rule, 86400) is None
    with pytest.raises(Exception, match="not pinned"):
        limits.plan_unpin(open_queue(store), rule)


def test_a_pin_of_another_machine_holds_here_and_both_are_ended_together(store: Store) -> None:
    rule = approve(store, "use pnpm, not npm").learning
    ctx = open_queue(store)
    limits.write_pin(ctx, limits.plan_pin(ctx, rule), BY)
    (own,) = reader.scan(store).history.get_pins().values()
    from_elsewhere(store, {**own, "id": own["id"][:-1] + ("a" if own["id"][-1] != "a" else "b")})
    ctx = open_queue(store)
    limits.write_unpin(ctx, limits.plan_unpin(ctx, rule), BY)
    assert reader.scan(store).history.get_pins() == {}


def test_a_pin_and_its_end_change_no_file_and_no_status_of_a_signal(store: Store) -> None:
    rule = approve(store, "use pnpm, not npm").learning
    before = read_claude_md()
    ctx = open_queue(store)
    limits.write_pin(ctx, limits.plan_pin(ctx, rule), BY)
    ctx = open_queue(store)
    limits.write_unpin(ctx, limits.plan_unpin(ctx, rule), BY)
    scan = reader.scan(store)
    assert read_claude_md() == before and [one["id"] for one in scan.history.get_rules_in_force()] == [rule]
    assert scan.columns["status"] == ["promoted"]
    assert arrivals.list_arrivals(open_queue(store)) == []
    assert limits.find_last_change(scan.history, *_describe_file(store, rule))["kind"] == "approved"  # type: ignore[index]


def test_rules_of_other_machines_wait_for_the_cooldown(store: Store) -> None:
    policy.set_policies(store, {"reflect.sync.apply": "auto"}, BY, utc_precise())
    rule = approved_elsewhere(store, "Use ruff, not black")  # which approves and reverts something here as well
    assert arrivals.apply_safe_arrivals(open_queue(store), BY) is None
    (waiting,) = arrivals.list_arrivals(open_queue(store))
    assert waiting.learning["id"] == rule, "it is offered in review"
    store.change_config({limits.COOLDOWN_SETTING: "0"})
    assert arrivals.apply_safe_arrivals(open_queue(store), BY) is not None


def test_a_person_is_told_and_not_refused(store: Store) -> None:
    rule = approve(store, "use pnpm, not npm").learning
    ctx = open_queue(store)
    learning = ctx.scan.history.learnings[rule]
    assert limits.describe_cooldown(ctx, learning, "terminal") == "", "nothing is automatic here"
    policy.set_policies(store, {"reflect.autorevert": "apply"}, BY, utc_precise())
    told = limits.describe_cooldown(open_queue(store), learning, "terminal")
    assert told == "cooldown: 'CLAUDE.md' was changed less than 30m ago; automatic changes wait"
    git(Path(store.root), "config", "reflect.autorevert", "propose")
    assert amend(store, rule, "Install with pnpm.").learning == rule


@pytest.mark.parametrize(("score", "priority"), [(1.0, 4), (0.2, 5), (2.4, 3), (3.9, 1), (5.0, 1), (4.4, 1)])
def test_the_priority_of_a_waiting_change(score: float, priority: int) -> None:
    assert limits.get_priority(score) == priority
