"""Going back to an earlier version: what proposes it, what may do it without a question, and what stops that."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from reflect_git.candidates.session_events import SessionEvents
from reflect_git.effect import going_back, table
from reflect_git.effect.going_back import WayBack
from reflect_git.records.history import session_hash
from reflect_git.records.ids import get_signal_id, parse_utc, utc, utc_precise
from reflect_git.rules import revert
from reflect_git.rules.automatic import limits
from reflect_git.store import api, policy
from reflect_git.store.reading import reader
from reflect_git.store.repository import Store
from tests.conftest import RunCli
from tests.faults import git
from tests.rules import reverts
from tests.rules.conftest import project, store
from tests.rules.queues import BY
from tests.rules.reverts import approve, list_rules_in_force, open_queue, read_claude_md
from tests.stories.terminal import Terminal

__all__ = ["project", "store"]
CLAUDE = {"kind": "claude", "model": "small", "rubric_sha": "1", "prompt_sha": "2"}


@pytest.fixture(autouse=True)
def base(store: Store) -> Iterator[None]:
    """Start from a file with one rule of long ago. Without a cooldown, since the change is made just now."""
    store.change_config({limits.COOLDOWN_SETTING: "0"})
    yield


def add_sessions(
    store: Store, scores: Sequence[float], start: float, version: int, *, anchored: bool = True,
    judge: dict[str, str] | None = None, machine: str = "", path: str = "CLAUDE.md", advice: str = "keep",
) -> None:  # fmt: skip
    """Add sessions of the project with a score each, a minute apart; `start`: seconds since 1970."""
    home = reader.scan(store).history.learnings[list_rules_in_force(store)[0]]["project"]
    records: list[Any] = []
    for at, score in enumerate(scores):
        name = f"session {version} {start} {at}"
        when = utc(start + 60 * at)
        records.append({
            "id": get_signal_id(when, name, "exposure", prefix="EXP"), "version": 1, "session": session_hash(name),
            "project": home, "start": when, "end": when, "turns": 8, "typed": 4, "corrections": 0, "failures": {},
            "interruptions": 0, "model": "m", "client": "2.1.0", "attended": True, "rules": {}, "hits": {},
        })  # fmt: skip
        records.append({
            "id": get_signal_id(when, name, f"evaluation {judge}", prefix="EVL"), "version": 1, "timestamp": when,
            "machine": machine or store.machine, "session": session_hash(name), "project": home,
            "messages": {"first": 1, "last": 9, "count": 9}, "versions": {path: version}, "rules": [],
            "scores": {"tone": score}, "overall": score, "recommendation": advice, "judge": judge or CLAUDE,
            "usage": {"input": 1, "output": 1, "usd": 0.0}, "anchored": anchored, "meta": {},
        })  # fmt: skip
    api.commit_records(store, records, "record: scored sessions", {})


def tell_story(store: Store, before: float = 4.2, after: float = 3.0, more: int = 14, **given: Any) -> str:
    """Approve a rule with which the scores of sessions change. Return its id."""
    dice = random.Random("story")
    rule = approve(store, "use pnpm, not npm").learning
    changed = get_last_moment(store)
    add_sessions(store, [before + dice.uniform(-0.5, 0.5) for _ in range(40)], changed - 50 * 60, 1, **given)
    add_sessions(store, [after + dice.uniform(-0.5, 0.5) for _ in range(more)], changed + 5, 2, **given)
    return rule


def get_last_moment(store: Store) -> float:
    return parse_utc(reader.scan(store).history.decisions[-1]["timestamp"])


def look(store: Store, now: str = "") -> list[WayBack]:
    ctx = open_queue(store)
    return going_back.find_ways_back(ctx, SessionEvents(ctx.scan, {}), table.load_effects(ctx.scan, {}), now)


def act(store: Store, **env: str) -> list[str]:
    """Run what `upkeep` runs; return the ids of the rules that are gone."""
    before = list_rules_in_force(store)
    ctx = open_queue(store).replace(env={**os.environ, **env})
    going_back.revert_if_due(ctx, SessionEvents(ctx.scan, {}), table.load_effects(ctx.scan, {}), BY)
    return [one for one in before if one not in list_rules_in_force(store)]


def allow(store: Store, value: str = "apply") -> None:
    policy.set_policies(store, {going_back.SETTING: value}, BY, utc_precise())


def test_a_clear_fall_of_the_scores_proposes_to_go_back(store: Store) -> None:
    second = tell_story(store)
    (one,) = look(store)
    assert (one.cause, one.question, [rule["id"] for rule in one.rules]) == ("drop", "back to v1?", [second])
    assert one.drop and one.drop.factor > 100 and one.drop.after == 14
    assert one.reason == f"scores fell by {one.drop.drop:.1f} after this change, in 14 sessions"
    assert one.priority == 2, "5 - 3.0, rounded"
    there, plan = going_back.plan_way_back(open_queue(store), one)
    assert f"-- Use pnpm, not npm <!-- {second}" in plan.diff or "-- Use pnpm, not npm" in plan.diff
    assert there.place.root and second.encode() in read_claude_md(), "only planned"


def test_no_fall_proposes_nothing(store: Store) -> None:
    tell_story(store, after=4.2)
    assert look(store) == []


def test_by_default_it_only_proposes(store: Store) -> None:
    tell_story(store)
    assert act(store) == [] and len(look(store)) == 1


def test_off_is_silent(store: Store) -> None:
    tell_story(store)
    allow(store, "off")
    assert look(store) == [] and act(store) == []


def test_it_goes_back_if_a_person_decided_so_and_one_revert_undoes_it(store: Store) -> None:
    second = tell_story(store)
    allow(store)
    before = read_claude_md()
    assert act(store) == [second] and second.encode() not in read_claude_md()
    said = git(Path(store.root), "log", "-1", "--format=%B", "main")
    assert "Approved-By: autorevert" in said and "Backup: backup/" in said
    (made,) = going_back.list_unseen_reverts(reader.scan(store).history)
    assert made["reason"].startswith("scores fell by 1.") and made["meta"]["cause"] == "drop"
    assert act(store) == [], "once"
    reverts.revert(store, made["id"])
    assert read_claude_md() == before and list_rules_in_force(store) == [second]
    assert going_back.list_unseen_reverts(reader.scan(store).history) == []
    assert act(store) == [], "a person decided about it since"


def test_seen_and_accepted_it_is_not_shown_again(store: Store) -> None:
    second = tell_story(store)
    allow(store)
    act(store)
    (made,) = going_back.list_unseen_reverts(reader.scan(store).history)
    going_back.accept_revert(open_queue(store), made, BY)
    assert going_back.list_unseen_reverts(reader.scan(store).history) == []
    assert second not in list_rules_in_force(store)


def test_a_value_in_the_config_alone_never_acts(store: Store) -> None:
    tell_story(store)
    git(Path(store.root), "config", going_back.SETTING, "apply")
    store.reload()
    assert act(store) == [] and len(look(store)) == 1


def test_never_inside_claude_code(store: Store) -> None:
    tell_story(store)
    allow(store)
    assert act(store, CLAUDECODE="1") == []


def test_a_pinned_rule_is_only_proposed(store: Store) -> None:
    second = tell_story(store)
    allow(store)
    ctx = open_queue(store)
    limits.write_pin(ctx, limits.plan_pin(ctx, second), BY)
    assert act(store) == []
    (one,) = look(store)
    assert one.blocks == (limits.Block("pinned"),)


def test_a_later_decision_of_a_person_stands(store: Store) -> None:
    second = tell_story(store)
    allow(store)
    later = utc(get_last_moment(store) + 3600).replace("Z", ".000Z")
    made = api.build_decision(store, "amended", second, BY, later, text="Install with pnpm.")
    api.commit_records(store, [made], "amend: Install with pnpm.", {})
    assert act(store) == []
    (one,) = look(store)
    assert [block.reason for block in one.blocks] == ["Ada decided about it since"]


def test_inside_the_cooldown_it_waits_and_is_offered(store: Store) -> None:
    tell_story(store)
    allow(store)
    store.change_config({limits.COOLDOWN_SETTING: "4h"})
    assert act(store) == []
    (one,) = look(store)
    assert one.blocks[0].reason.startswith("cooldown: 'CLAUDE.md' was changed less than 4h ago")
    (later,) = look(store, utc(parse_utc(utc_precise()) + 5 * 3600))
    assert later.blocks == ()


def test_kept_by_a_person_it_is_not_asked_again_for_twenty_sessions(store: Store) -> None:
    second = tell_story(store)
    allow(store)
    (one,) = look(store)
    going_back.keep(open_queue(store), one, BY)
    assert look(store) == [] and act(store) == []
    scan = reader.scan(store)
    assert second in list_rules_in_force(store) and set(scan.columns["status"]) == {"promoted"}
    now = parse_utc(scan.history.decisions[-1]["timestamp"])
    add_sessions(store, [3.0] * 20, now + 3600, 2)
    (again,) = look(store)
    assert again.blocks, "asked again, but not done: a person decided about it"


@pytest.mark.parametrize("given", [{"anchored": False}, {"judge": {**CLAUDE, "kind": "in-session"}, "anchored": True}])
def test_scores_that_do_not_count_never_act(store: Store, given: dict[str, Any]) -> None:
    tell_story(store, after=2.9, **given)
    allow(store)
    assert act(store) == [] and look(store) == []


def test_scores_of_a_strange_machine_never_act(store: Store) -> None:
    """Whoever can push to the remote could make a rule disappear."""
    store.change_config({"reflect.connected": "2026-01-01T00:00:00Z"})
    tell_story(store, machine="stranger-1a2b")
    allow(store)
    assert act(store) == [] and look(store) == []


def test_the_last_score_of_a_worker_hides_no_other_score(store: Store) -> None:
    tell_story(store)
    changed = get_last_moment(store)
    forged = {**CLAUDE, "kind": "in-session"}
    add_sessions(store, [5.0] * 14, changed + 5, 2, judge=forged, anchored=False)
    assert len(look(store)) == 1


def test_three_low_scores_only_ask(store: Store) -> None:
    """A version before must exist."""
    second = tell_story(store, after=2.0, more=3)
    allow(store)
    (one,) = look(store)
    assert (one.cause, one.question, one.priority) == ("low", "back to v1?", 3)
    assert one.reason.startswith("the last three sessions scored 2.") or one.reason.startswith("the last three")
    assert act(store) == [] and second in list_rules_in_force(store)


def test_low_scores_of_a_judge_that_was_not_calibrated_ask_nothing(store: Store) -> None:
    tell_story(store, after=1.6, anchored=False)
    assert look(store) == []


def test_the_first_scored_session_may_advise_to_go_back_on_the_last_change_alone(store: Store) -> None:
    first = approve(store, "use pnpm, not npm").learning
    second = approve(store, "use tabs, not spaces").learning
    changed = get_last_moment(store)
    add_sessions(store, [2.0], changed + 5, 2, advice="revert", anchored=False)
    (one,) = look(store)
    assert (one.cause, one.question, [each["id"] for each in one.rules]) == ("advised", "back to v1?", [second])
    assert "not anchored" in one.reason and first in list_rules_in_force(store)
    allow(store)
    assert act(store) == [], "a recommendation only asks"
    going_back.keep(open_queue(store), one, BY)
    assert look(store) == []


def test_advice_on_the_first_version_or_before_a_change_asks_nothing(store: Store) -> None:
    approve(store, "use pnpm, not npm")
    changed = get_last_moment(store)
    add_sessions(store, [2.0], changed - 600, 2, advice="revert")
    assert look(store) == []
    add_sessions(store, [2.0], changed + 5, 1)
    assert look(store) == []


def test_low_scores_without_an_earlier_version_ask_nothing(store: Store) -> None:
    approve(store, "use tabs, not spaces")
    changed = get_last_moment(store)
    add_sessions(store, [2.0] * 5, changed + 5, 1)
    assert look(store) == []


def test_a_file_that_was_changed_meanwhile_is_left_for_review(store: Store) -> None:
    second = tell_story(store)
    allow(store)
    path = reverts.get_current_project() / "CLAUDE.md"
    path.write_bytes(path.read_bytes().replace(b"Use pnpm, not npm", b"Use pnpm, never npm"))
    act(store)
    assert b"never npm" in path.read_bytes() and second in list_rules_in_force(store)


@pytest.mark.parametrize("is_allowed", [True, False])
def test_an_audit_finds_a_revert_that_no_policy_allowed(store: Store, run_cli: RunCli, is_allowed: bool) -> None:
    tell_story(store)
    if is_allowed:
        allow(store)
    (one,) = look(store)
    there, plan = going_back.plan_way_back(open_queue(store), one)
    revert.write_revert(there, plan, {**BY, "road": "autorevert"})
    told = run_cli("audit", "--json", cwd=reverts.get_current_project()).json()["data"]["findings"]
    found = [each for each in told if each["code"] == "unattended"]
    assert [each["subject"] for each in found] == ([] if is_allowed else [plan.decisions[0]["id"]])


def test_rules_that_came_with_one_change_go_together(store: Store) -> None:
    first = approve(store, "use tabs, not spaces").learning
    second = tell_story(store)
    allow(store)
    assert set(act(store)) == {first, second}


def test_review_asks_and_y_goes_back(store: Store) -> None:
    rule = tell_story(store)
    with Terminal("review", cwd=reverts.get_current_project()) as terminal:
        shown = terminal.passes("Back to v1 [y,n,s,q,?]?")
        assert "Sessions became worse 1 of 1 — back to v1?" in shown and "-- Use pnpm, not npm" in shown
        assert "scores fell by 1." in shown and "40 sessions before, 14 after; more than 1000 times" in shown
        terminal.presses("y")
        assert "1 taken back" in terminal.ends()
    assert list_rules_in_force(store) == [] and rule.encode() not in read_claude_md()
    assert "Approved-By: terminal" in git(Path(store.root), "log", "-1", "--format=%B", "main")


def test_review_keeps_it_for_twenty_sessions(store: Store) -> None:
    rule = tell_story(store)
    with Terminal("review", cwd=reverts.get_current_project()) as terminal:
        terminal.passes("Back to v1 [y,n,s,q,?]?")
        terminal.presses("n")
        assert "kept; asked again after 20 more sessions" in terminal.ends()
    assert list_rules_in_force(store) == [rule] and look(store) == []


def test_review_shows_what_auto_revert_did_and_one_key_puts_it_back(store: Store) -> None:
    rule = tell_story(store)
    allow(store)
    before = read_claude_md()
    assert act(store) == [rule]
    with Terminal("review", cwd=reverts.get_current_project()) as terminal:
        shown = terminal.passes("Leave it so [y,b,s,q,?]?")
        assert "Auto-revert took this rule back" in shown and "scores fell by 1." in shown
        terminal.presses("b")
        assert "1 put back" in terminal.ends()
    assert read_claude_md() == before and list_rules_in_force(store) == [rule]
    assert act(store) == []


def test_without_a_terminal_review_lists_it(store: Store, run_cli: RunCli) -> None:
    rule = tell_story(store)
    said = run_cli("review", cwd=reverts.get_current_project()).out
    assert f"{rule}  back to v1? scores fell by 1." in " ".join(said.split("\n"))
    told = run_cli("review", "--json", cwd=reverts.get_current_project()).json()
    assert [one["learnings"] for one in told["going_back"]] == [[rule]] and told["taken_back"] == []
    assert told["going_back"][0]["priority"] == 2


def test_upkeep_goes_back_and_says_so(store: Store, run_cli: RunCli) -> None:
    rule = tell_story(store)
    steps = run_cli("upkeep", "--json", cwd=reverts.get_current_project()).json()["data"]["steps"]
    assert "auto-revert" not in [step["name"] for step in steps] and list_rules_in_force(store) == [rule]
    allow(store)
    steps = run_cli("upkeep", "--json", cwd=reverts.get_current_project()).json()["data"]["steps"]
    (step,) = [each for each in steps if each["name"] == "auto-revert"]
    assert (step["done"], step["text"]) == (1, f"took back {rule}; see 'reflect-git review'")
    assert list_rules_in_force(store) == [] and rule.encode() not in read_claude_md()


def test_upkeep_from_another_folder_finds_the_project(store: Store, run_cli: RunCli, tmp_path: Path) -> None:
    rule = tell_story(store)
    allow(store)
    run_cli("upkeep", cwd=tmp_path)
    assert list_rules_in_force(store) == [] and rule.encode() not in read_claude_md()


def test_a_harmful_rule_is_only_proposed(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    rule = tell_story(store, after=4.2)
    allow(store)
    judged = table.load_effects

    def load_harmful(*given: Any) -> Any:
        found = judged(*given)
        rules = [
            one._replace(judged=one.judged._replace(verdict=one.judged.verdict._replace(verdict="harmful?")))
            for one in found.rules
        ]
        return found._replace(rules=rules)

    monkeypatch.setattr(table, "load_effects", load_harmful)
    (one,) = look(store)
    assert (one.cause, one.question, [each["id"] for each in one.rules]) == ("harmful", "retire this rule?", [rule])
    assert act(store) == []
    going_back.keep(open_queue(store), one, BY)
    assert look(store) == []


def test_a_judge_that_advises_it_opens_the_question_and_does_no_more(store: Store) -> None:
    rule = tell_story(store, after=3.4, more=1, advice="revert")
    allow(store)
    (one,) = look(store)
    assert (one.cause, one.question, [each["id"] for each in one.rules]) == ("advised", "back to v1?", [rule])
    assert one.reason.startswith("the judge advised it after the last session, which scored 3.")
    assert act(store) == []
    going_back.keep(open_queue(store), one, BY)
    assert look(store) == []
