"""Rules in force that were broken again: what counts, and how a person answers inside Claude Code."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from reflect_git.records.ids import utc_precise
from reflect_git.store import api
from reflect_git.store.opening import open_or_create
from reflect_git.store.repository import Store
from tests.conftest import REAL_GIT, RunCli
from tests.rules.client_session import CORRECTION, AskedSession
from tests.rules.test_approver import PROJECT, require_refusal, text_of

SHARPER = "Install and run with pnpm only. Never call npm in this project."
SHARPEN, RETIRE, LEAVE = "Use this wording", "Retire the rule", "Leave it as it is"
REMIND = "Remind Claude at each call"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    subprocess.run([REAL_GIT, "init", "-q", "-b", "main", str(tmp_path / "shop")], check=True)
    return tmp_path / "shop"


@pytest.fixture
def rule(run_cli: RunCli, home: Path, project: Path, store_home: Path) -> str:
    """Approve a rule as a person inside Claude Code."""
    asked_session = AskedSession(run_cli, home, project, "5e551010-0000-4000-8000-000000000001").start()
    asked = asked_session.get_first_question()
    asked_session.answer(asked, PROJECT)
    done = asked_session.run(
        "approve", asked["question"].partition("[")[2].partition("]")[0], "--to", "project", "--json"
    )
    return str(done.json()["data"]["learning"])


@pytest.fixture
def asked_session(rule: str, run_cli: RunCli, home: Path, project: Path) -> AskedSession:
    """Start another session, in which the person has to repeat it."""
    return say_again(AskedSession(run_cli, home, project, "5e551010-0000-4000-8000-000000000002"))


def say_again(asked_session: AskedSession) -> AskedSession:
    asked_session.session.run_hook(
        "SessionStart", source="startup", env={"CLAUDE_PROJECT_DIR": str(asked_session.project)}
    )
    for _ in range(2):
        asked_session.session.say(CORRECTION, timestamp=utc_precise())
        asked_session.session.answer("As you wish.")
    return asked_session


def broken(asked_session: AskedSession) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = asked_session.run("candidates", "--ask").json()["data"]["broken"]
    return found


def test_the_skill_is_told_of_it(asked_session: AskedSession, rule: str) -> None:
    told = asked_session.run("candidates", "--for-skill").out
    assert told.startswith(f"Broken rule [{rule}] Claude broke this rule in the last session\n")
    assert f"   You said: {CORRECTION}\n" in told
    (one,) = broken(asked_session)
    assert (one["rule"], one["broken"], one["sessions"], one["said"]) == (rule, 1, 1, [CORRECTION])
    assert sorted(one["answers"]) == ["guard", "leave", "retire", "sharpen"]


def test_the_question_has_the_new_words_the_old_ones_and_what_was_said(asked_session: AskedSession, rule: str) -> None:
    asked = asked_session.get_first_question("--id", rule, "--text", SHARPER)
    lines = asked["question"].split("\n")
    assert lines[0].endswith(f"[{rule}]") and lines[1:4] == ["---", SHARPER, "---"]
    assert lines[4] == "Claude broke this rule in the last session"
    assert lines[5].startswith("Rule in force: ") and lines[6] == f"You said: {CORRECTION}"
    assert [one["label"] for one in asked["options"]] == [SHARPEN, REMIND, RETIRE, LEAVE]
    assert [one["label"] for one in asked_session.get_first_question("--id", rule)["options"]] == [
        REMIND,
        RETIRE,
        LEAVE,
    ]


def test_sharpen(asked_session: AskedSession, rule: str, project: Path, run_cli: RunCli) -> None:
    asked = asked_session.get_first_question("--id", rule, "--text", SHARPER)
    asked_session.answer(asked, SHARPEN)
    require_refusal(asked_session, "no person has answered for this text", "edit", rule, "--text", f"{SHARPER} Ever.")
    require_refusal(asked_session, "the person answered 'Use this wording'", "revert", rule)
    done = asked_session.run("edit", rule, "--text", SHARPER)
    assert done.code == 0, done.err
    assert f"- {SHARPER}\n" in (project / "CLAUDE.md").read_text(encoding="utf-8")
    assert broken(asked_session) == []
    assert run_cli("audit", cwd=project).code == 0, run_cli("audit", cwd=project).out


def test_what_a_sharper_wording_adds_is_a_risk_that_the_person_must_have_seen(
    asked_session: AskedSession, rule: str, project: Path
) -> None:
    text = f"{SHARPER} Run it in Docker."
    risk = "Risk: 'Docker' is not in your words"
    asked = asked_session.get_first_question("--id", rule, "--text", text)
    assert asked["question"].split("\n")[-1] == risk
    before = (project / "CLAUDE.md").read_bytes()
    asked_session.answer({**asked, "question": asked["question"].replace(f"\n{risk}", "")}, SHARPEN)
    require_refusal(asked_session, f"the person was not shown '{risk}'", "edit", rule, "--text", text)
    assert (project / "CLAUDE.md").read_bytes() == before


def test_retire(asked_session: AskedSession, rule: str, project: Path, run_cli: RunCli) -> None:
    asked = asked_session.get_first_question("--id", rule, "--text", SHARPER)
    require_refusal(asked_session, "no person has answered for this", "revert", rule)
    asked_session.answer(asked, RETIRE)
    require_refusal(asked_session, "the person answered 'Retire the rule'", "edit", rule, "--text", SHARPER)
    require_refusal(asked_session, "the person answered 'Retire the rule'", "dismiss", rule)
    done = asked_session.run("revert", rule)
    assert done.code == 0, done.err
    assert not (project / "CLAUDE.md").exists()
    assert asked_session.run("candidates", "--ask").json()["data"] == {
        "questions": [],
        "needs_wording": [],
        "broken": [],
    }
    assert run_cli("audit", cwd=project).code == 0, run_cli("audit", cwd=project).out


def test_remind(asked_session: AskedSession, rule: str, project: Path, run_cli: RunCli, store_home: Path) -> None:
    """Only the guard that the question showed: no other mode, and nothing else to match."""
    asked = asked_session.get_first_question("--id", rule, "--text", SHARPER)
    shown = next(line for line in asked["question"].split("\n") if line.startswith("A guard would match: "))
    assert "`npm`" in shown
    require_refusal(asked_session, "no person has answered for this", "guard", rule, "--mode", "hint")
    asked_session.answer(asked, REMIND)
    for more in (("--mode", "deny"), ("--mode", "hint", "--match", "ls"), ("--mode", "hint", "--except", "npm i")):
        require_refusal(asked_session, "cannot do it inside Claude Code", "guard", rule, *more)
    require_refusal(asked_session, "the person answered 'Remind Claude at each call'", "revert", rule)
    done = asked_session.run("guard", rule, "--mode", "hint")
    assert done.code == 0, done.err
    (made,) = run_cli("guards", "--json", cwd=project).json()["data"]
    assert (made["learning"], made["mode"], made["state"]) == (rule, "hint", "in force")
    assert broken(asked_session) == []
    require_refusal(asked_session, "cannot do it inside Claude Code", "guard", rule, "--mode", "hint")
    require_refusal(asked_session, "cannot do it inside Claude Code", "unguard", rule)
    assert run_cli("audit", cwd=project).code == 0, run_cli("audit", cwd=project).out
    transcript = asked_session.session.path
    transcript.write_text(transcript.read_text(encoding="utf-8").replace(f'"{REMIND}"', f'"{LEAVE}"'), encoding="utf-8")
    audit = run_cli("audit", cwd=project)
    assert audit.code != 0 and "answer-unfounded" in audit.out


def test_leave_it(asked_session: AskedSession, rule: str, project: Path, run_cli: RunCli) -> None:
    before = (project / "CLAUDE.md").read_bytes()
    asked = asked_session.get_first_question("--id", rule)
    require_refusal(asked_session, "no person has answered for this", "dismiss", rule)
    asked_session.answer(asked, LEAVE)
    done = asked_session.run("dismiss", rule)
    assert done.code == 0, done.err
    assert (project / "CLAUDE.md").read_bytes() == before and broken(asked_session) == []
    assert run_cli("audit", cwd=project).code == 0, run_cli("audit", cwd=project).out


@pytest.mark.parametrize("label", [RETIRE, LEAVE, SHARPEN])
def test_a_question_that_was_changed_decides_nothing(asked_session: AskedSession, rule: str, label: str) -> None:
    asked = asked_session.get_first_question("--id", rule, "--text", SHARPER)
    asked_session.answer({**asked, "header": "Cosmetics"}, label)
    for words in (("revert", rule), ("dismiss", rule), ("edit", rule, "--text", SHARPER)):
        sitting_state = asked_session.get_state()
        assert asked_session.run(*words).code != 0
        assert asked_session.get_state() == sitting_state
    asked_session.answer(asked, label, "toolu_2")
    commands = {RETIRE: ["revert", rule], LEAVE: ["dismiss", rule], SHARPEN: ["edit", rule, "--text", SHARPER]}
    assert asked_session.run(*commands[label]).code == 0


def test_an_answer_counts_once_and_for_this_rule_alone(asked_session: AskedSession, rule: str, run_cli: RunCli) -> None:
    asked_session.answer(asked_session.get_first_question("--id", rule), LEAVE)
    assert asked_session.run("dismiss", rule).code == 0
    require_refusal(asked_session, "nothing is asked about", "dismiss", rule)
    # A rule without an open question cannot be reverted inside Claude Code, whatever was answered before.
    require_refusal(asked_session, "cannot revert from inside Claude Code", "revert", rule)


def test_what_is_asked_is_refused_after_the_rule_changed(
    asked_session: AskedSession, rule: str, project: Path, run_cli: RunCli
) -> None:  # fmt: skip
    asked = asked_session.get_first_question("--id", rule, "--text", SHARPER)
    other = asked_session.get_first_question("--id", rule, "--text", "Use pnpm.")
    asked_session.answer(other, SHARPEN)
    assert asked_session.run("edit", rule, "--text", "Use pnpm.").code == 0
    asked_session.answer(asked, RETIRE, "toolu_2")
    require_refusal(asked_session, "cannot revert from inside Claude Code", "revert", rule)
    assert text_of(asked) == SHARPER


def test_an_audit_names_a_rule_that_was_retired_by_another_answer(
    asked_session: AskedSession, rule: str, project: Path, run_cli: RunCli, store_home: Path
) -> None:  # fmt: skip
    """The answer behind a decision must be one that retires."""
    asked_session.answer(asked_session.get_first_question("--id", rule, "--text", SHARPER), RETIRE)
    assert asked_session.run("revert", rule).code == 0
    transcript = asked_session.session.path
    transcript.write_text(transcript.read_text(encoding="utf-8").replace(f'"{RETIRE}"', f'"{LEAVE}"'), encoding="utf-8")
    audit = run_cli("audit", cwd=project)
    assert audit.code != 0 and "answer-unfounded" in audit.out


def exposure(store: Store, rule: str, number: int, hits: int, *, is_read: bool = True) -> None:
    """Record a session that began after the approval and ran what the rule forbids, as a hook does."""
    moment = f"29{number:02d}-01-01T00:00:00Z"
    made = {
        "id": f"EXP-29{number:02d}0101-00000000", "version": 1, "session": f"{number:012x}", "project": None,
        "start": moment, "end": moment, "turns": 2, "typed": 1, "corrections": 0, "failures": {}, "interruptions": 0,
        "model": None, "client": None, "attended": True, "hits": {rule: hits} if hits else {},
        "rules": {"CLAUDE.md": [rule if is_read else "LRN-20260101-aaaaaaaa"]},
    }  # fmt: skip
    api.commit_records(store, [made], "record: 1 session", {})


def test_calls_that_the_rule_forbids_count_by_session(
    rule: str, run_cli: RunCli, project: Path, store_home: Path
) -> None:  # fmt: skip
    store = open_or_create(str(store_home), dict(os.environ))

    def told() -> list[tuple[int, int]]:
        found = run_cli("candidates", "--json", cwd=project).json()["broken"]
        return [(one["broken"], one["sessions"]) for one in found]

    exposure(store, rule, 1, hits=3)
    assert told() == []  # a single session may have been justified
    exposure(store, rule, 2, hits=0)
    exposure(store, rule, 3, hits=1, is_read=False)  # it never saw the rule
    assert told() == []
    exposure(store, rule, 4, hits=1)
    assert told() == [(2, 3)]
    for number in (5, 6, 7):
        exposure(store, rule, number, hits=0)
    assert told() == []  # one of the last five
    exposure(store, rule, 8, hits=2)
    assert told() == [(2, 5)]


def test_a_rule_that_calls_broke_is_left_as_it_is(rule: str, run_cli: RunCli, project: Path, store_home: Path) -> None:
    store = open_or_create(str(store_home), dict(os.environ))
    for number in (1, 2):
        exposure(store, rule, number, hits=1)
    done = run_cli("dismiss", rule, "--json", cwd=project)
    assert done.code == 0 and done.json()["data"]["commit"]
    assert run_cli("candidates", "--json", cwd=project).json()["broken"] == []
    assert {one["status"] for one in run_cli("signals", "--json", cwd=project).json()["data"]} == {"promoted"}
    exposure(store, rule, 3, hits=1)  # the third session since
    assert [one["broken"] for one in run_cli("candidates", "--json", cwd=project).json()["broken"]] == [3]
    assert run_cli("audit", cwd=project).code == 0
