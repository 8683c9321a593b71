"""The figures of a session: the versions it loaded, what guards did in it, its tokens and skills."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

import pytest

from reflect_git.capture import sessions
from reflect_git.capture.session_figures import hash_skill
from reflect_git.records.ids import utc
from reflect_git.rules import derived_files
from reflect_git.store.local import firings
from reflect_git.store.reading import reader
from reflect_git.store.repository import Store
from tests.cli.old_store import approve, reword
from tests.conftest import RunCli
from tests.guards.guarded_store import build_event, make_guard, send, write_guards
from tests.hooks.test_session_hooks import exposures
from tests.hooks.test_statusline import shown
from tests.rules import reverts
from tests.rules.guard_calls import guard
from tests.rules.project_edits import make_project
from tests.sessions import Session
from tests.store.store_checks import open_store

PNPM, RUFF = "use pnpm, not npm", "use ruff, not black"
DENIED: dict[str, Any] = {
    "toolDenialKind": "permission-rule",
    "permissionDecision": {"decision": "reject", "source": "hook", "reasonCode": "hook:PreToolUse"},
}


@pytest.fixture
def project(home: Path) -> Path:
    return make_project(home / "shop")


@pytest.fixture
def store(store_home: Path, project: Path) -> Store:
    return open_store(store_home)


def load(session: Session, *paths: Path, kind: str = "Project", **more: Any) -> None:
    """Write what the client writes when it loads instruction files: their text without comments."""
    from reflect_git.store.target_versions import _COMMENT

    files = [{"path": str(path), "type": kind, "content": _COMMENT.sub("", path.read_text())} for path in paths]
    session.write("attachment", attachment={"type": "instructions", "files": files, **more}, timestamp=utc())


def run_session(home: Path, project: Path, *paths: Path, **more: Any) -> Session:
    session = Session(home, cwd=str(project))
    load(session, *paths, **more)
    session.write_sample_work()
    session.run_hook("SessionEnd", reason="other")
    return session


def figures_of(store_home: Path, session: Session) -> dict[str, Any]:
    from reflect_git.records.history import session_hash

    (found,) = [one for one in exposures(store_home) if one["session"] == session_hash(session.name)]
    return found


def wait_for_next_second() -> None:
    """Commits have whole seconds."""
    time.sleep(1.05 - time.time() % 1)


def test_a_session_has_the_version_and_the_rules_that_it_loaded(
    home: Path, store: Store, project: Path, store_home: Path
) -> None:
    file = project / "CLAUDE.md"
    without = run_session(home, project, file)
    pnpm = approve(store, project, PNPM)
    first = run_session(home, project, file)
    wait_for_next_second()
    ruff = approve(store, project, RUFF)
    second, neither = run_session(home, project, file), run_session(home, project)
    found = [figures_of(store_home, one) for one in (without, first, second, neither)]
    assert [one["versions"] for one in found] == [{}, {"CLAUDE.md": 1}, {"CLAUDE.md": 2}, {}]
    assert [one["rules"] for one in found] == [{}, {"CLAUDE.md": [pnpm]}, {"CLAUDE.md": [pnpm, ruff]}, {}]
    assert [one["loaded"] for one in found] == ["instructions"] * 3 + ["none"]
    assert {one["version"] for one in found} == {2}


def test_the_version_is_that_of_the_text_and_not_only_of_the_time(
    home: Path, store: Store, project: Path, store_home: Path
) -> None:
    """A reverted and a reworded rule, a file from before, and a file that somebody changed."""
    file = project / "CLAUDE.md"
    pnpm = approve(store, project, PNPM)
    old = file.read_bytes()
    wait_for_next_second()
    approve(store, project, RUFF)
    wait_for_next_second()
    reword(store, project, pnpm, "Use pnpm for everything.")
    reworded = run_session(home, project, file)
    now = file.read_bytes()
    file.write_bytes(old)  # an old branch is checked out
    before = run_session(home, project, file)
    file.write_bytes(now.replace(b"pnpm", b"yarn").replace(b"ruff", b"flake8"))
    changed = run_session(home, project, file)
    found = [figures_of(store_home, one) for one in (reworded, before, changed)]
    assert [one["versions"] for one in found] == [{"CLAUDE.md": 3}, {"CLAUDE.md": 1}, {}]
    assert found[1]["rules"] == {"CLAUDE.md": [pnpm]}, "in the wording that it had then"
    assert found[2]["rules"] == {} and found[2]["loaded"] == "instructions"


def test_a_file_without_rules_after_a_revert_is_a_version_too(
    home: Path, store: Store, project: Path, store_home: Path
) -> None:
    approve(store, project, PNPM)
    wait_for_next_second()
    reverts.revert(store, reader.scan(store).history.decisions[-1]["id"])
    session = run_session(home, project, project / "CLAUDE.md")
    assert figures_of(store_home, session)["versions"] == {"CLAUDE.md": 2}


def test_global_files_and_rules_files_are_told_from_those_of_the_project(
    home: Path, store: Store, project: Path, store_home: Path
) -> None:
    approve(store, project, PNPM, to="global")
    approve(store, project, RUFF)
    approve(store, project, "always sort the imports", to="rules:imports")
    (rules,) = (project / ".claude" / "rules" / "reflect").glob("*.md")
    files = (home / ".claude" / "CLAUDE.md", project / "CLAUDE.md", rules)
    session = run_session(home, project, *files)
    names = {"global/CLAUDE.md": 1, "CLAUDE.md": 1, str(rules.relative_to(project)): 1}
    assert figures_of(store_home, session)["versions"] == names


def test_a_resumed_session_keeps_what_it_had_loaded(home: Path, store: Store, project: Path, store_home: Path) -> None:
    pnpm = approve(store, project, PNPM)
    session = run_session(home, project, project / "CLAUDE.md")
    session.run_hook("SessionStart", source="resume")
    session.say("and a colour picker")
    session.answer("Done.")
    session.run_hook("SessionEnd", reason="other")
    found = exposures(store_home)
    assert [(one["versions"], one["rules"]) for one in found] == [({"CLAUDE.md": 1}, {"CLAUDE.md": [pnpm]})] * 2


def test_a_dead_session_is_counted_by_the_next_one(home: Path, store: Store, project: Path, store_home: Path) -> None:
    approve(store, project, PNPM)
    session = Session(home, cwd=str(project))
    session.run_hook("SessionStart", source="startup", env={"CLAUDE_PID": "999999"})
    load(session, project / "CLAUDE.md")
    session.write_sample_work()
    os.utime(session.path, (0, 0))
    sessions.end_dead_sessions(store, os.environ, time.time() + 10**6)
    assert figures_of(store_home, session)["versions"] == {"CLAUDE.md": 1}


def test_the_past_gets_figures_from_an_import_and_only_once(
    home: Path, store: Store, project: Path, store_home: Path, run_cli: RunCli
) -> None:
    approve(store, project, PNPM)
    session = Session(home, cwd=str(project))
    load(session, project / "CLAUDE.md")
    session.write_sample_work()
    os.utime(session.path, (10**9, 10**9))
    for _ in range(2):
        assert run_cli("import", "transcripts").code == 0
        found = figures_of(store_home, session)
        assert (found["versions"], found["typed"], found["loaded"]) == ({"CLAUDE.md": 1}, 1, "instructions")


def test_a_transcript_that_was_imported_without_figures_gets_them_later(
    home: Path, store: Store, project: Path, store_home: Path, run_cli: RunCli, monkeypatch: pytest.MonkeyPatch
) -> None:
    from reflect_git.capture.mine import TranscriptMiner

    session = Session(home, cwd=str(project))
    session.write_sample_work()
    session.say("no, never use npm in this project, always use pnpm instead")
    session.answer("Understood.")
    os.utime(session.path, (10**9, 10**9))
    with monkeypatch.context() as patched:  # as an older program
        patched.setattr(TranscriptMiner, "_store_end", lambda *_, **__: None)
        assert sessions.mine_past_transcript(store, os.environ, str(session.path), time.time())[0]
    assert exposures(store_home) == []
    signals = run_cli("signals", "--json", "--all").out
    run_cli("import", "transcripts")
    found = figures_of(store_home, session)
    assert (found["typed"], found["corrections"], found["turns"]) == (2, 1, 4)
    assert run_cli("signals", "--json", "--all").out == signals


def test_tokens_are_counted_once_for_each_answer(session: Session, store_home: Path) -> None:
    usage = {"input_tokens": 3, "output_tokens": 50, "cache_read_input_tokens": 900, "cache_creation_input_tokens": 70}
    session.say("please add a date picker")
    for identity, more in (("msg_1", {}), ("msg_1", {}), ("msg_2", {}), ("msg_3", {"output_tokens": "many"})):
        block = {"type": "text", "text": "Working."}
        message = {"role": "assistant", "model": "claude-x", "id": identity, "content": [block], "usage": usage | more}
        session.write("assistant", message=message)
        if identity == "msg_1":
            session.run_hook("PreCompact", trigger="auto")  # mined in several passes
    session.run_hook("SessionEnd", reason="other")
    (found,) = exposures(store_home)
    assert found["tokens"] == {"input": 9, "output": 100, "cache_read": 2700, "cache_write": 210}


def test_a_skill_counts_once_for_each_message_and_only_ours_by_name(session: Session, store_home: Path) -> None:
    def answer(skill: str) -> None:
        message = {"role": "assistant", "model": "claude-x", "content": [{"type": "text", "text": "Working."}]}
        session.write("assistant", message=message, attributionSkill=skill)

    session.say("ship it")
    session.run_tool("Skill", skill="acme-secret-launch", args="")
    answer("acme-secret-launch")
    answer("acme-secret-launch")
    session.say("and once more")
    answer("acme-secret-launch")
    session.run_hook("SessionEnd", reason="other")
    (found,) = exposures(store_home)
    assert found["skills"] == {hash_skill("acme-secret-launch"): 2}
    assert "acme" not in json.dumps(found)


def fire(session: Session, store: Store, mode: str, command: str = "npm i zod") -> dict[str, Any]:
    """Let the client ask the guard about the next call."""
    call = session.begin_call("Bash", {"command": command})
    event = {
        **json.loads(build_event(command=command)),
        "session_id": session.name,
        "tool_use_id": call,
        "cwd": session.cwd,
    }
    answer = send(json.dumps({**event, "prompt_id": session.prompt}, separators=(",", ":")).encode() + b"\n")
    return {"call": call, "answer": answer}


@pytest.fixture
def session(home: Path, store: Store, project: Path) -> Session:
    return Session(home, cwd=str(project))


def test_a_denied_call_is_obeyed_and_neither_a_failure_nor_a_hit(
    session: Session, store: Store, store_home: Path, project: Path
) -> None:
    pnpm = approve(store, project, PNPM)
    write_guards(store, [make_guard(learning=pnpm)])
    session.say("please add zod")
    for _ in range(2):
        call = fire(session, store, "deny")["call"]
        session.end_call(call, f"PreToolUse:Bash hook error: {PNPM}", True, **DENIED)
    session.run_tool("Bash", command="pnpm add zod")
    session.run_hook("SessionEnd", reason="other")
    (found,) = exposures(store_home)
    assert (found["guards"], found["failures"], found["hits"]) == ({pnpm: [2, 2, 0]}, {}, {})
    from tests.hooks.test_session_hooks import learned

    assert [one for one in learned(store_home) if one["type"] in ("failure", "correction")] == [
        one for one in learned(store_home) if one["content"] == PNPM
    ]


def test_a_hint_that_was_followed_and_one_that_was_not(
    session: Session, store: Store, store_home: Path, project: Path
) -> None:
    pnpm = approve(store, project, PNPM)
    write_guards(store, [make_guard(learning=pnpm, mode="hint")])
    session.say("please add zod")
    session.end_call(fire(session, store, "hint")["call"], "ok", False)
    session.say("please add react")
    session.end_call(fire(session, store, "hint", "npm i react")["call"], "ok", False)
    session.end_call(fire(session, store, "hint", "npm i react-dom")["call"], "ok", False)
    session.run_hook("SessionEnd", reason="other")
    (found,) = exposures(store_home)
    assert found["guards"] == {pnpm: [3, 2, 0]}, "the second one was not obeyed; after the last nothing matched"
    assert found["hits"] == {pnpm: 3}


def test_a_yes_to_a_question_is_an_override_and_a_no_is_not(
    session: Session, store: Store, store_home: Path, project: Path
) -> None:
    pnpm = approve(store, project, PNPM)
    write_guards(store, [make_guard(learning=pnpm, mode="ask")])
    session.say("please add zod")
    yes = {"permissionDecision": {"decision": "accept", "source": "user_temporary", "reasonCode": "hook:PreToolUse"}}
    session.end_call(fire(session, store, "ask")["call"], "ok", False, **yes)
    session.say("please add react")
    no = {"toolDenialKind": "user-rejected", "permissionDecision": {"decision": "reject", "source": "user_reject"}}
    session.end_call(fire(session, store, "ask")["call"], "The user doesn't want to proceed", True, **no)
    session.run_hook("SessionEnd", reason="other")
    (found,) = exposures(store_home)
    assert found["guards"] == {pnpm: [2, 1, 1]}
    assert found["hits"] == {pnpm: 1}


def test_each_part_of_a_resumed_session_counts_its_own_firings(
    session: Session, store: Store, store_home: Path, project: Path
) -> None:
    pnpm = approve(store, project, PNPM)
    write_guards(store, [make_guard(learning=pnpm)])
    for number in (1, 2):
        session.say(f"please add thing {number}")
        for _ in range(number):
            session.end_call(fire(session, store, "deny")["call"], "hook error", True, **DENIED)
        session.answer("Then not.")
        session.run_hook("SessionEnd", reason="other")
    assert sorted(one["guards"][pnpm] for one in exposures(store_home)) == [[1, 1, 0], [2, 2, 0]]


def test_what_a_guard_did_is_shown(session: Session, store: Store, project: Path, run_cli: RunCli, home: Path) -> None:
    pnpm = approve(store, project, PNPM)
    guard(store, pnpm, "deny")
    derived_files.refresh_guards(store, os.environ, reader.scan(store))
    session.say("please add zod")
    for _ in range(2):
        session.end_call(fire(session, store, "deny")["call"], "hook error", True, **DENIED)
    said = "fired 2, obeyed 2, last "
    assert said in run_cli("guards").out, "while the session runs"
    assert run_cli("status", "--format", "statusline", cwd=project).out == "guards fired 2 today\n"
    assert shown(project) == "guards fired 2 today\n"
    session.run_hook("SessionEnd", reason="other")
    (row,) = run_cli("guards", "--json").json()["data"]
    assert (row["fired"], row["obeyed"], row["overridden"]) == (2, 2, 0), "and not twice when it has ended"
    assert row["last"][:10] == utc()[:10], "by the log"
    line = (project / "CLAUDE.md").read_text().splitlines().index("- Use pnpm, not npm") + 1
    assert said in run_cli("why", f"CLAUDE.md:{line}", cwd=project).out
    assert said in run_cli("show", pnpm).out
    assert "1, fired 2 today" in run_cli("status").out
    assert run_cli("status", "--json").json()["data"]["guards_fired_today"] == 2


def test_the_log_of_another_day_is_not_counted_today(store: Store) -> None:
    folder = Path(store.private_path("firings"))
    folder.mkdir()
    now = 1_771_200_000.0
    day = [now - 86_400 * ago for ago in (0, 1)]
    rows = [{"time": utc(moment), "learning": "LRN-20260211-00000001", "outcome": "denied"} for moment in day]
    rows.append({**rows[0], "outcome": "ignored"})
    path = folder / "one.jsonl"
    path.write_text("".join(json.dumps(row, separators=(",", ":")) + "\n" for row in rows))
    os.utime(path, (now, now))
    assert firings.count_today(store.git_dir, now) == 1
    os.utime(path, (day[1], day[1]))
    assert firings.count_today(store.git_dir, now) == 0
    (folder / "two.jsonl").symlink_to("/dev/zero")
    assert firings.count_today(store.git_dir, now) == 0
    assert firings.format_today(0) == ""
