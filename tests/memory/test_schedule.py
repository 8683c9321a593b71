"""Schedule: what is installed runs upkeep, whatever the paths look like, and removing it gives back every byte."""

from __future__ import annotations

import json
import os
import plistlib
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from reflect_git.errors import ReflectError
from reflect_git.memory import schedule
from reflect_git.platform import schedulers
from reflect_git.platform.schedulers import CRON, LAUNCHD, SYSTEMD
from reflect_git.store.repository import Store
from tests.conftest import RunCli
from tests.store.store_checks import open_store

ODD = '/srv/a b/it\'s "100%" $HOME\\n `x`; #é/reflections'
COMMAND = ["/usr/bin/env", "CLAUDE_CONFIG_DIR=/srv/x y", "/bin/echo", "--store", ODD, "upkeep", "--if-due"]
MINE = b"# mine\nMAILTO=me\n5 4 * * * /usr/bin/backup 100\\%\n"
FAKES = {
    "systemctl": 'echo "$@" >>"$HOME/calls"; W="$HOME/.config/systemd/user/timers.target.wants"\n'
    'case "$2" in enable) mkdir -p "$W"; ln -s "../$4" "$W/$4";; disable) rm -f "$W/$4";; esac\n',
    "launchctl": 'echo "$@" >>"$HOME/calls"\n',
    "crontab": 'F="$HOME/crontab"\ncase "$1" in\n'
    '-l) [ -e "$F" ] && exec cat "$F"; echo "no crontab for me" >&2; exit 1;;\n'
    '-r) rm "$F";; -) cat >"$F";; esac\n',
}


@pytest.fixture
def store(store_home: Path) -> Store:
    return open_store(store_home)


@pytest.fixture
def env(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """Put programs first in PATH that behave like the real ones as far as files are concerned."""
    folder = tmp_path / "fakes"
    folder.mkdir()
    for name, text in FAKES.items():
        (folder / name).write_text(f"#!/bin/sh\n{text}")
        (folder / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    return {**os.environ, "HOME": str(home)}


def list_files(home: Path) -> dict[str, bytes | None]:
    """Return every file and folder outside the store with its bytes."""
    return {
        str(path.relative_to(home)): path.read_bytes() if path.is_file() else None
        for path in home.rglob("*")
        if "reflections" not in path.parts and path.name != "calls"
    }


def read_exec_start(unit: str) -> list[str]:
    """Split ExecStart as systemd.service(5) says: quotes, C escapes, %% and $$."""
    (line,) = re.findall(r"^ExecStart=(.*)$", unit, re.MULTILINE)
    words = re.findall(r'"((?:[^"\\]|\\.)*)"', line)
    assert " ".join(f'"{word}"' for word in words) == line
    assert "%" not in line.replace("%%", "") and "$" not in line.replace("$$", "")
    return [re.sub(r"\\(.)", r"\1", word.replace("%%", "%").replace("$$", "$")) for word in words]


def test_the_systemd_unit_names_every_path_as_it_is(store: Store, env: dict[str, str], tmp_path: Path) -> None:
    made = schedule.plan(store, env, COMMAND, "03:30", SYSTEMD)
    service, timer = made.files.values()
    assert read_exec_start(service) == COMMAND
    assert "OnCalendar=*-*-* 03:30:00\n" in timer and "Persistent=true" in timer


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="no systemd here")
@pytest.mark.parametrize("when", ["hourly", "23:59"])
def test_systemd_accepts_the_units(store: Store, env: dict[str, str], tmp_path: Path, when: str) -> None:
    folder = tmp_path / "units"
    folder.mkdir()
    made = schedule.plan(store, env, COMMAND, when, SYSTEMD)
    for path, text in made.files.items():
        (folder / os.path.basename(path)).write_text(text)
    units = [str(folder / os.path.basename(path)) for path in made.files]
    runtime = {**os.environ, "XDG_RUNTIME_DIR": str(tmp_path)}
    words = ["systemd-analyze", "--user", "--recursive-errors=no", "verify", *units]
    done = subprocess.run(words, capture_output=True, text=True, env=runtime, check=False)
    ours = [line for line in done.stderr.splitlines() if "reflect-git" in line]
    assert ours == [] and (done.returncode == 0 or "reflect-git" not in done.stderr), done.stderr


def test_the_launchd_agent_is_a_property_list(store: Store, env: dict[str, str]) -> None:
    """launchd itself cannot be run here."""
    command = [*COMMAND, "<&>]]>"]
    (text,) = schedule.plan(store, env, command, "03:05", LAUNCHD).files.values()
    found = plistlib.loads(text.encode())
    assert found["ProgramArguments"] == command and found["StartCalendarInterval"] == {"Hour": 3, "Minute": 5}
    assert found["Label"].startswith("io.reflect-git.") and found["ProcessType"] == "Background"
    (text,) = schedule.plan(store, env, command, "hourly", LAUNCHD).files.values()
    assert plistlib.loads(text.encode())["StartInterval"] == 3600


def test_the_line_of_the_crontab_runs_the_command(store: Store, env: dict[str, str], tmp_path: Path) -> None:
    """cron turns an unescaped % into a line break, removes the backslash before an escaped one, and calls sh."""
    seen = tmp_path / "seen"
    script = tmp_path / "show"
    script.write_text(f"#!/bin/sh\nprintf '%s\\n' \"$@\" >'{seen}'\n")
    script.chmod(0o755)
    line = schedule.plan(store, env, [str(script), ODD, "--if-due"], "03:05", CRON).line
    assert line.count("\n") == 1 and line.startswith("5 3 * * * ")
    command = line.split(" ", 5)[5]
    assert re.search(r"(?<!\\)%", command) is None
    subprocess.run(["/bin/sh", "-c", command.replace("\\%", "%")], check=True)
    assert seen.read_text().splitlines() == [ODD, "--if-due"]


@pytest.mark.parametrize("kind", [SYSTEMD, LAUNCHD, CRON])
def test_installing_and_removing_gives_back_every_byte(
    store: Store, env: dict[str, str], home: Path, kind: str
) -> None:
    (home / "crontab").write_bytes(MINE)
    before = list_files(home)
    for when in ("03:00", "hourly"):  # the second one replaces the first
        schedule.install(store, env, schedule.plan(store, env, COMMAND, when, kind))
        assert schedule.find_faults(schedule.load(store) or {}, env) == []
    assert list_files(home) != before and (home / "crontab").read_bytes().startswith(MINE)
    assert schedule.remove(store, env) and schedule.remove(store, env) is None
    assert list_files(home) == before


@pytest.mark.parametrize("before", [None, b"", b"5 4 * * * /usr/bin/backup"])
def test_any_crontab_comes_back(store: Store, env: dict[str, str], home: Path, before: bytes | None) -> None:
    """One without a last line break, an empty one, and none at all."""
    if before is not None:
        (home / "crontab").write_bytes(before)
    schedule.install(store, env, schedule.plan(store, env, COMMAND, "03:00", CRON))
    assert (home / "crontab").read_bytes().startswith(before or b"0 3")
    schedule.remove(store, env)
    assert ((home / "crontab").read_bytes() if (home / "crontab").exists() else None) == before


def test_what_a_person_changed_stays(store: Store, env: dict[str, str], home: Path) -> None:
    (home / "crontab").write_bytes(MINE)
    schedule.install(store, env, schedule.plan(store, env, COMMAND, "03:00", CRON))
    with (home / "crontab").open("ab") as file:
        file.write(b"7 7 * * * later\n")
    schedule.remove(store, env)
    assert (home / "crontab").read_bytes() == MINE + b"7 7 * * * later\n"
    schedule.install(store, env, schedule.plan(store, env, COMMAND, "03:00", SYSTEMD))
    (timer,) = (home / ".config/systemd/user").glob("*.timer")
    timer.write_text("mine now\n")
    assert schedule.find_faults(schedule.load(store) or {}, env) == [f"'{timer}' was changed"]
    schedule.remove(store, env)
    assert timer.read_text() == "mine now\n" and not list(timer.parent.glob("*.service"))


def test_a_file_of_somebody_else_is_never_replaced(store: Store, env: dict[str, str], home: Path) -> None:
    made = schedule.plan(store, env, COMMAND, "03:00", SYSTEMD)
    path = Path(next(iter(made.files)))
    path.parent.mkdir(parents=True)
    path.write_text("theirs")
    with pytest.raises(ReflectError, match="exists already"):
        schedule.install(store, env, made)
    assert path.read_text() == "theirs" and schedule.load(store) is None


def test_a_scheduler_that_refuses_leaves_nothing(
    store: Store, env: dict[str, str], home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise ReflectError("cannot start the timer: no bus")

    before = list_files(home)
    monkeypatch.setattr(schedulers, "start", refuse)
    with pytest.raises(ReflectError, match="no bus"):
        schedule.install(store, env, schedule.plan(store, env, COMMAND, "03:00", SYSTEMD))
    assert list_files(home) == before and schedule.load(store) is None


@pytest.mark.parametrize("when", ["3:00", "24:00", "noon", "03:00; rm -rf /", "03:60"])
def test_other_times_are_refused(store: Store, env: dict[str, str], when: str) -> None:
    with pytest.raises(ReflectError, match="is not a time of day"):
        schedule.plan(store, env, COMMAND, when, CRON)


def test_the_commands(store: Store, env: dict[str, str], home: Path, run_cli: RunCli) -> None:
    before = list_files(home)
    shown = run_cli("schedule", "install", "--dry-run", "--with", "cron").out
    assert "a line of your crontab" in shown and "upkeep --if-due" in shown and list_files(home) == before
    assert run_cli("schedule", "install", "--with", "cron").code == 1, "nobody answered"
    done = run_cli("schedule", "install", "--yes", "--with", "systemd", "--at", "04:15")
    assert "[Timer]" in done.out and "every day at 04:15 (systemd)" in done.err
    data = json.loads(run_cli("schedule", "status", "--json").out)["data"]
    assert (data["kind"], data["when"], data["faults"], data["run"]["last"]) == ("systemd", "04:15", [], None)
    run_cli("upkeep")
    assert "last complete run" in run_cli("schedule", "status").out
    assert json.loads(run_cli("schedule", "status", "--json").out)["data"]["run"]["ended"] == "ok"
    assert "removed the schedule (systemd)" in run_cli("schedule", "remove").err
    assert list_files(home) == before and "nothing is scheduled" in run_cli("schedule", "remove").err


def test_uninstalling_removes_the_schedule(store: Store, env: dict[str, str], home: Path, run_cli: RunCli) -> None:
    (home / "crontab").write_bytes(MINE)
    run_cli("schedule", "install", "--yes", "--with", "cron")
    assert (home / "crontab").read_bytes() != MINE
    run_cli("uninstall", "--erase", "--yes")
    assert (home / "crontab").read_bytes() == MINE


@pytest.mark.parametrize("words", [("install", "--yes"), ("remove", "--yes")])
def test_no_model_changes_the_schedule(
    store: Store, env: dict[str, str], run_cli: RunCli, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    monkeypatch.setenv("CLAUDECODE", "1")
    done = run_cli("schedule", *words)
    assert done.code != 0 and "from inside Claude Code" in done.err
