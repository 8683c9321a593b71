"""`doctor` reports problems with hints, repairs what is ours, and tests the first promise on the spot."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from reflect_git.capture import service
from reflect_git.cli import doctor_env
from reflect_git.cli.admin import doctor
from reflect_git.cli.context import CliContext
from reflect_git.cli.doctor_env import CheckResult
from reflect_git.platform import git, system
from reflect_git.store.repository import Store
from tests.conftest import RunCli


@pytest.fixture
def store(store_home: Path) -> Store:
    return service.open_store(os.environ)


def _levels(run_cli: RunCli, *args: str) -> dict[str, str]:
    findings = run_cli("doctor", *args, "--json").json()["data"]["findings"]
    return {finding["check"]: finding["level"] for finding in findings}


def test_a_well_store_passes_every_check(run_cli: RunCli, store: Store) -> None:
    assert _levels(run_cli)["hooks"] == "note"
    run_cli("enable")
    Path(os.environ["GIT_CONFIG_GLOBAL"]).write_text("[user]\n\tname = Ada\n", encoding="utf-8")
    result = run_cli("doctor")
    assert result.code == 0, result.out
    lines = [line for line in result.out.splitlines() if "git  " not in line and "update git" not in line]
    assert {line.split()[0] for line in lines} == {"ok"}  # the machine may have an old git
    assert {line[22:24].strip() == "" for line in lines} == {False}  # the third column is aligned
    assert len(lines) == 30
    document = run_cli("doctor", "--json").json()["data"]
    assert document["ok"] is True
    assert document["findings"][1]["check"] == "git"


def test_without_a_store_it_says_so_and_makes_none(run_cli: RunCli, store_home: Path) -> None:
    result = run_cli("doctor", "--fix")
    assert (result.code, "reflect-git init" in result.out) == (0, True)
    assert not store_home.exists()
    assert run_cli("doctor", "--json").json()["data"]["ok"] is True


def test_doctor_mends_what_is_ours_and_says_what_it_did(run_cli: RunCli, store: Store) -> None:
    os.chmod(store.root, 0o755)
    (Path(store.git_dir) / "info" / "exclude").unlink()
    told = run_cli("doctor")
    assert (told.code, told.out.count("hint: reflect-git doctor --fix")) == (1, 2)
    dry = run_cli("doctor", "--fix", "--dry-run")
    assert (dry.code, "--fix would repair 2 of these" in dry.err) == (1, True)
    mended = run_cli("doctor", "--fix")
    assert (mended.code, [line for line in mended.out.splitlines() if line.startswith("fixed")]) == (
        0,
        [
            "fixed    rights        made 1 file or folder private",
            "fixed    files         wrote info/exclude",
        ],
    )
    assert run_cli("doctor").code == 0


@pytest.mark.dirty_store
def test_what_is_the_users_waits_for_a_decision(run_cli: RunCli, store: Store) -> None:
    Path(store.path("mine.txt")).write_text("mine\n")
    lock = Path(store.git_dir, "index.lock")
    lock.touch()
    if (system.current.get_boot_time() or 0) > time.time() - 200:
        pytest.skip("this system has just started: every older lock is a corpse")
    os.utime(lock, (time.time() - 190, time.time() - 190))
    result = run_cli("doctor", "--fix")
    assert result.code == 4
    assert "'.git/index.lock', 3 min old, of another git process" in result.out
    assert (lock.exists(), Path(store.path("mine.txt")).exists()) == (True, True)
    assert run_cli("doctor", "--json").json()["data"]["ok"] is False


def test_a_symlinked_store_is_refused(run_cli: RunCli, store_home: Path, tmp_path: Path) -> None:
    store_home.parent.mkdir()
    store_home.symlink_to(tmp_path)
    result = run_cli("doctor")
    assert (result.code, "is a symbolic link" in result.out) == (1, True)


def test_a_folder_that_is_no_store_is_an_error(run_cli: RunCli, store_home: Path) -> None:
    store_home.mkdir(parents=True)
    (store_home / "file").touch()
    result = run_cli("doctor", "--fix")
    assert (result.code, "is not a reflect-git store" in result.out) == (1, True)
    assert os.listdir(store_home) == ["file"]


@pytest.mark.dirty_store
def test_a_config_that_git_cannot_read_is_named(run_cli: RunCli, store: Store) -> None:
    Path(store.git_dir, "config").write_text("[core\n")
    result = run_cli("doctor")
    assert (result.code, "git config failed" in result.out, "repair or restore" in result.out) == (1, True, True)


def test_without_git_it_says_what_to_install(run_cli: RunCli, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(git, "_DEFAULT_FOLDERS", ())
    assert doctor._check_git(CliContext({"PATH": "/nonexistent"}), "").message == "git was not found"
    monkeypatch.setattr(git.Git, "get_version", lambda self: (2, 30, 1))
    found = doctor._check_git(CliContext(os.environ), "")
    assert (found.level, found.message.startswith("too old: 2.30.1"), "2.34" in found.hint) == ("error", True, True)


def test_log_lines_are_data(run_cli: RunCli, store: Store) -> None:
    store.log("hook: \x1b]52;c;aGk=\x07 \u202egnirts")
    out = run_cli("doctor").out
    assert ("\x1b" in out, "\u202e" in out, "<U+001B>]52" in out) == (False, False, True)


def test_a_copied_store_and_pending_captures_are_seen_before_they_are_mended(run_cli: RunCli, store: Store) -> None:
    from reflect_git.capture.new_signal import build_signal_from_input
    from reflect_git.store import pending

    pending.write_record(store, build_signal_from_input({"content": "waits"}, store.machine, "2026-02-11T09:00:00Z"))
    for name in pending.list_pending(store):
        os.utime(store.private_path("pending", name))  # by this process's clock, which `make clocks` sets
    store.change_config({"reflect.binding": "0123456789abcdef"})
    seen = _levels(run_cli)
    assert (seen["name"], seen["pending"]) == ("warning", "note")
    assert run_cli("doctor", "--fix").code == 0
    seen = _levels(run_cli)
    assert (seen["name"], seen["pending"]) == ("ok", "ok")
    assert len(run_cli("signals", "--json").json()["data"]) == 1


def test_a_repair_that_fails_says_why(run_cli: RunCli, store: Store) -> None:
    store.change_config({"gc.auto": "1"})
    lock = Path(store.git_dir, "config.lock")
    lock.touch()
    result = run_cli("doctor", "--fix")
    lock.unlink()
    assert (result.code, "cannot repair: another git process holds the store's config" in result.out) == (1, True)


def test_the_selftest_proves_the_promise_away_from_the_store(run_cli: RunCli, store_home: Path, tmp_path: Path) -> None:
    result = run_cli("doctor", "--selftest", env={"TMPDIR": str(tmp_path)})
    assert result.code == 0, result.out
    assert [line.split()[:2] for line in result.out.splitlines()] == [
        ["ok", "store"], ["ok", "capture"], ["ok", "sweep"], ["ok", "compare"], ["ok", "git"],
    ]  # fmt: skip
    assert (os.listdir(tmp_path), store_home.exists()) == ([], False)


def test_a_selftest_that_loses_a_capture_fails(
    run_cli: RunCli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    monkeypatch.setattr(doctor_env, "PROCESSES", 3)
    real = doctor_env._Selftest.run_captures

    def lose(trial: doctor_env._Selftest) -> str:
        said = real(trial)
        trial.acknowledged.add("SIG-20260211-7k3v9q2m")
        return said

    monkeypatch.setattr(doctor_env._Selftest, "run_captures", lose)
    steps = list(doctor_env.run_selftest(os.environ))
    assert [(step.name, step.ok) for step in steps][-1] == ("compare", False)
    assert steps[-1].message.startswith("1 of ")


def test_selftest_and_fix_do_not_go_together(run_cli: RunCli) -> None:
    assert run_cli("doctor", "--selftest", "--fix").code == 2


def test_a_message_of_many_lines_keeps_its_column(capsys: pytest.CaptureFixture[str]) -> None:
    doctor._print_result(CliContext({}), CheckResult("remote", "warning", "git said no\n\nfatal: twice", "try again"))
    assert capsys.readouterr().out.splitlines() == [
        "warning  remote        git said no",
        f"{' ' * 23}fatal: twice",
        f"{' ' * 23}hint: try again",
    ]


def test_an_old_git_is_told_by_its_weaknesses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(git.Git, "get_version", lambda self: (2, 50, 0))
    told = doctor._check_git(CliContext(os.environ), "")
    assert (told.level, "CVE-2025-48384" in told.message, "update git" in told.hint) == ("note", True, True)
    monkeypatch.setattr(git.Git, "get_version", lambda self: (2, 57, 0))
    assert doctor._check_git(CliContext(os.environ), "").level == "ok"


def test_an_old_python_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "_OLDEST_PYTHON", (99, 0))
    assert (doctor._check_python().level, doctor._check_python().hint) == ("error", "install Python 3.10 or later")
