"""`import transcripts`: what was said before reflect-git was installed."""

from __future__ import annotations

import os
import shutil
import time
from pathlib import Path

import pytest

from tests.conftest import RunCli
from tests.faults import git
from tests.sessions import CORRECTION, Session, load_signals
from tests.store.store_checks import require_promises

pytestmark = pytest.mark.usefixtures("store_home")


def past(home: Path, count: int) -> list[Session]:
    found = []
    for _ in range(count):
        session = Session(home)
        session.write_sample_work()
        session.say(CORRECTION)
        session.answer("Understood.")
        found.append(session)
    return found


def test_all_past_sessions_are_mined_once(run_cli: RunCli, home: Path, store_home: Path) -> None:
    sessions = past(home, 2)
    done = run_cli("import", "transcripts", "--json").json()["data"]
    assert done == {"transcripts": 2, "new": 2, "signals": 2, "left_out": 0}
    assert {signal["session_id"] for signal in load_signals(store_home)} == {session.name for session in sessions}
    assert {signal["source"]["hook"] for signal in load_signals(store_home)} == {"import"}
    again = run_cli("import", "transcripts")
    assert again.out == "nothing new in 2 transcripts\n"
    assert len(load_signals(store_home)) == 2
    require_promises(store_home)


def test_what_was_said_in_a_folder_that_is_gone_is_of_that_project(
    run_cli: RunCli, home: Path, store_home: Path
) -> None:
    shop = home / "shop"
    git(home, "init", "-q", str(shop))
    git(shop, "remote", "add", "origin", "https://example.com/ada/shop")
    run_cli("init")
    run_cli("candidates", cwd=shop)
    shutil.rmtree(shop)
    for cwd in (home / "scratch", shop / "src"):
        session = Session(home, cwd=str(cwd))
        session.say(CORRECTION)
        session.answer("Understood.")
    run_cli("import", "transcripts")
    assert {signal["project"]["key"] for signal in load_signals(store_home)} == {
        "path:~/scratch",
        "example.com/ada/shop",
    }


def test_what_was_said_in_a_work_tree_that_is_gone_is_of_its_project(
    run_cli: RunCli, home: Path, store_home: Path
) -> None:
    shop, linked = home / "shop", home / "shop-next"
    git(home, "init", "-q", str(shop))
    git(shop, "-c", "user.name=Ada", "-c", "user.email=ada@example.com", "commit", "-q", "--allow-empty", "-m", "first")
    git(shop, "worktree", "add", "-q", str(linked))
    run_cli("init")
    run_cli("candidates", cwd=linked)
    git(shop, "worktree", "remove", "--force", str(linked))
    session = Session(home, cwd=str(linked))
    session.say(CORRECTION)
    session.answer("Understood.")
    run_cli("import", "transcripts")
    assert {signal["project"]["name"] for signal in load_signals(store_home)} == {"shop"}
    assert run_cli("candidates", "--json", cwd=shop).json()["data"]


def test_what_is_new_since_is_mined_by_the_next_run(run_cli: RunCli, home: Path, store_home: Path) -> None:
    (session,) = past(home, 1)
    run_cli("import", "transcripts")
    session.say("no, always use tabs, never spaces, in this project")
    assert "1 signal from 1 of 1 transcript" in run_cli("import", "transcripts").out
    assert len(load_signals(store_home)) == 2


def test_a_dry_run_makes_no_store(run_cli: RunCli, home: Path, store_home: Path) -> None:
    past(home, 2)
    assert run_cli("import", "transcripts", "--dry-run").out == "would import 2 signals from 2 transcripts\n"
    assert not store_home.exists()


def test_a_folder_a_file_and_a_time(run_cli: RunCli, home: Path, store_home: Path) -> None:
    old, young = past(home, 2)
    os.utime(old.path, (time.time() - 90 * 86400,) * 2)
    folder = str(old.path.parent)
    assert run_cli("import", "transcripts", folder, "--since", "30d", "--json").json()["data"]["transcripts"] == 1
    assert [signal["session_id"] for signal in load_signals(store_home)] == [young.name]
    assert run_cli("import", "transcripts", str(old.path), "--json").json()["data"]["signals"] == 1
    none = run_cli("import", "transcripts", folder, "--since", "2030-01-01")
    assert (none.code, "that changed since 2030-01-01\nhint: try an earlier --since" in none.err) == (1, True)


def test_what_lies_elsewhere_is_told_of_and_left_out(run_cli: RunCli, home: Path, tmp_path: Path) -> None:
    (session,) = past(home, 1)
    stranger = tmp_path / "stranger.jsonl"
    stranger.write_bytes(session.path.read_bytes())
    result = run_cli("import", "transcripts", str(stranger))
    assert (result.code, "outside the client's projects folder" in result.err) == (0, True)
    assert result.out == "nothing new in 1 transcript\n"


def test_nothing_there(run_cli: RunCli, home: Path) -> None:
    result = run_cli("import", "transcripts")
    assert (result.code, "no transcript" in result.err) == (1, True)


def test_a_living_session_goes_on_where_the_import_ended(run_cli: RunCli, home: Path, store_home: Path) -> None:
    session = Session(home)
    session.run_hook("SessionStart", {"CLAUDE_PID": str(os.getpid())}, source="startup")
    session.write_sample_work()
    session.say(CORRECTION)
    run_cli("import", "transcripts")
    session.answer("Understood.")
    session.run_hook("SessionEnd", reason="other")
    found = load_signals(store_home)
    assert sorted(signal["type"] == "summary" for signal in found) == [False, True]
