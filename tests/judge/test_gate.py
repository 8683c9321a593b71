"""The gate: every approval stores all stages, and an audit reports one that lacks some."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from reflect_git.capture import service
from reflect_git.errors import ReflectError
from reflect_git.records import yaml_form
from reflect_git.records.ids import utc_precise
from reflect_git.rules import amend, approver, dismiss
from reflect_git.rules.approve import Request, plan_approval, write_approval
from reflect_git.rules.approver import ApprovalRequest
from reflect_git.rules.gate import STAGES
from reflect_git.store import api, policy
from reflect_git.store.local import refusals
from reflect_git.store.main import main_branch
from reflect_git.store.reading import reader
from reflect_git.store.repository import Store, get_record_path
from tests.conftest import RunCli
from tests.judge.test_records import build_evaluation
from tests.rules.audit.audited_store import run_audit
from tests.rules.queues import BY, PNPM, capture_signal, get_project_folder, open_queue


@pytest.fixture
def store(home: Path, store_home: Path) -> Store:
    (home / "shop" / ".git").mkdir(parents=True)
    return service.open_store(os.environ)


def approve(store: Store, words: str = PNPM) -> dict[str, Any]:
    capture_signal(store, words, session_id=words)
    queue = open_queue(store, os.environ)
    done = write_approval(queue, plan_approval(queue, Request(queue.candidates.strong[0], to="project")), BY)
    return next(dict(one) for one in reader.scan(store).history.decisions if one["subject"] == done.learning)


def test_a_decision_stores_the_result_of_every_stage(store: Store) -> None:
    made = approve(store)
    assert tuple(made["meta"]["gate"]) == STAGES
    assert made["meta"]["gate"] == {
        "schema": "passed", "redaction": "passed", "duplicate": "passed", "contradiction": "passed", "risk": "passed",
        "budget": "note", "backtest": "0 of 0 sessions", "judge": "off", "person": "terminal",
    }  # fmt: skip
    ctx = open_queue(store, os.environ)
    rule = ctx.scan.history.get_rules_in_force()[0]
    amend.write_amendment(ctx, amend.plan_amendment(ctx, rule, amend.AmendRequest("Keep answers short.")), BY)
    amended = reader.scan(store).history.decisions[-1]
    assert tuple(amended["meta"]["gate"]) == STAGES and amended["meta"]["gate"]["backtest"] == "no matcher"
    assert run_audit(store).ok


@pytest.mark.parametrize("stage", [*STAGES, "gate"])
def test_a_stage_that_is_removed_by_hand_is_an_audit_finding(store: Store, stage: str) -> None:
    approve(store)
    made = approve(store, "no, never use tabs in this project, always use spaces instead")
    assert "gate-incomplete" not in {one.code for one in run_audit(store).findings}
    edited = {**made, "meta": {**made["meta"]}}
    if stage == "gate":
        del edited["meta"]["gate"]
    else:
        edited["meta"]["gate"] = {name: value for name, value in made["meta"]["gate"].items() if name != stage}
    path = get_record_path(made["id"])
    with store.locked(5):
        main_branch.commit_files(store, {path: yaml_form.emit(edited)}, "by hand\n")
    (found,) = [one for one in run_audit(store).findings if one.code == "gate-incomplete"]
    assert found.subject == made["id"] and ("any" if stage == "gate" else stage) in found.message


def test_approvals_of_an_older_program_are_no_finding(store: Store) -> None:
    made = approve(store)
    old = {**made, "meta": {name: value for name, value in made["meta"].items() if name != "gate"}}
    with store.locked(5):
        main_branch.commit_files(store, {get_record_path(made["id"]): yaml_form.emit(old)}, "older\n")
    assert "gate-incomplete" not in {one.code for one in run_audit(store).findings}


def test_the_command_shows_the_stages_of_a_proposed_rule_and_of_an_approval(store: Store, run_cli: RunCli) -> None:
    cwd = get_project_folder(os.environ)
    made = approve(store)
    signal = capture_signal(store, "no, never use pnpm in this project, always use npm instead", session_id="s-9")
    now = run_cli("gate", signal, cwd=cwd)
    assert now.code == 0 and "contradiction  refused" in now.out and "it contradicts" in now.out
    assert "person         waits for a person" in now.out
    stored = run_cli("gate", made["subject"], "--json", cwd=cwd).json()["data"]
    assert [one["stage"] for one in stored["stages"]] == list(STAGES) and stored["subject"] == made["id"]
    assert stored["stages"][-1]["result"] == "terminal"


def test_a_wording_that_was_refused_three_times_needs_a_terminal(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = ApprovalRequest("SIG-20260211-00000000", "Use pnpm.", "project")
    for _ in range(3):
        refusals.add_refusal(store, wanted.text)
    policy.set_policies(store, {"reflect.approval": "unattended"}, BY, utc_precise())
    decisions = reader.scan(store).history.decisions
    for is_inside in (True, False):
        monkeypatch.setattr(approver, "is_inside_client", lambda env, is_inside=is_inside: is_inside)
        for text in ("Use pnpm.", "use  PNPM."):
            with pytest.raises(ReflectError, match="this wording was refused 3 times"):
                approver.get_channel(store, os.environ, False, decisions, wanted._replace(text=text))
    assert approver.get_channel(store, os.environ, False, decisions, wanted._replace(text="Other."))[0] == "unattended"
    assert approver.get_channel(store, os.environ, True, decisions, wanted) == ("terminal", "")


@pytest.mark.parametrize("road", ["panel", "keep", "autopilot", "unattended", "ask-user-question"])
def test_no_channel_but_a_terminal_writes_such_a_wording(store: Store, road: str) -> None:
    rule = approve(store, "no, never use tabs in this project, always use spaces instead")["subject"]
    capture_signal(store, PNPM)
    queue = open_queue(store, os.environ)
    proposal = plan_approval(queue, Request(queue.candidates.strong[0], to="project"))
    for _ in range(3):
        refusals.add_refusal(store, proposal.learning["text"])
    with pytest.raises(ReflectError, match="this wording was refused 3 times"):
        write_approval(queue, proposal, {**BY, "road": road})
    ctx = open_queue(store, os.environ)
    amendment = amend.plan_amendment(
        ctx, amend.find_rule_to_amend(ctx, rule), amend.AmendRequest(proposal.learning["text"])
    )
    with pytest.raises(ReflectError, match="this wording was refused 3 times"):
        amend.write_amendment(ctx, amendment, {**BY, "road": road})
    write_approval(open_queue(store, os.environ), proposal, {**BY, "road": "terminal"})


def test_a_no_of_a_person_counts(store: Store) -> None:
    capture_signal(store, PNPM)
    (candidate,) = open_queue(store, os.environ).candidates.strong
    dismiss.dismiss(store, candidate, BY)
    assert refusals.count_refusals(store, candidate.text) == 1


def test_the_judge_stage_has_the_score_that_led_to_a_suggestion(store: Store, run_cli: RunCli) -> None:
    given = {"id": "EVL-20260214-3f6h8k1m", "overall": 2.25}
    api.commit_records(store, [build_evaluation(machine=store.machine, **given)], "evaluate: 1 session", {})
    meta = {"suggestion": {"priority": 5, "category": "convention"}, "evaluation": given["id"], "durable": True}
    words = "Run the linter before you report that the work is done."
    signal = capture_signal(store, words, type="convention", trust="assistant", source={"hook": "evaluate"}, meta=meta)
    cwd = get_project_folder(os.environ)
    assert "judge          suggested at 2.25" in run_cli("gate", signal, cwd=cwd).out
    policy.set_policies(store, {"reflect.approval": "unattended"}, BY, utc_precise())
    plan = run_cli("suggestions", "take", signal, "--dry-run", cwd=cwd)
    assert "reason, which will sync: scored 2.25 in 1 evaluation" in plan.err


def test_a_refusal_by_the_gate_counts(store: Store, run_cli: RunCli) -> None:
    cwd = get_project_folder(os.environ)
    signal = capture_signal(store, PNPM)
    for _ in range(3):
        done = run_cli("approve", signal, "--text", "Should we use pnpm?", cwd=cwd)
        assert done.code != 0 and "a question is not a rule" in done.err
    assert refusals.count_refusals(store, "Should we use pnpm?") == 3
    Path(store.private_path(refusals.FILE)).write_bytes(b"[1]")
    assert refusals.count_refusals(store, "Should we use pnpm?") == 0
