"""`demo` and `make demo`: the whole loop in a temporary home, and nothing outside it."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from reflect_git.candidates.matcher import Call, backtest
from reflect_git.cli.admin import demo
from reflect_git.cli.context import CliContext
from reflect_git.errors import ReflectError
from reflect_git.records.ids import parse_utc
from tests.conftest import RunCli, SetZone


def _files(home: Path) -> list[str]:
    return sorted(str(path.relative_to(home)) for path in home.rglob("*"))


def _in_shell(line: str) -> Any:
    env = {"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"}
    done = subprocess.run(["/bin/sh", "-c", line], env=env, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)["data"]


def test_the_demo_tells_the_whole_story_and_leaves_nothing(run_cli: RunCli, home: Path, store_home: Path) -> None:
    before = _files(home)
    done = run_cli("demo", timeout=120)
    assert done.code == 0, done.err
    told = [line.removeprefix("$ reflect-git ") for line in done.out.splitlines() if line.startswith("$ reflect-git ")]
    verbs = [line.removeprefix("--yes ").split()[0] for line in told]
    laptop = ["mine", "candidates", "config", "approve", "approve", "guard", "guards", "why", "revert", "rules", "log"]
    assert verbs == [*laptop, "remote", "remote", "sync", "rules"]
    assert "2 matches in the last day; last: `npm test`" in done.out
    assert "\n+- Never use npm in this project, always use pnpm instead\n" in done.out
    # The session was minutes ago, so around midnight it was the day before.
    assert re.search(r"1  npm test  1×, last (today|on \S+)", done.out), "the past calls that the guard would stop"
    assert "Not run, because a rule of the user forbids it." in done.out
    assert "fired 1, obeyed 1" in done.out
    assert re.search(r"you said +\"no, never use npm", done.out)
    assert "\n-- Never use npm in this project, always use pnpm instead\n" in done.out
    assert "1 rule to review: reflect-git review" in done.out
    assert "run `pnpm lint`" in done.out.rpartition("$ reflect-git rules")[2], "the desktop has it"
    assert done.out.splitlines()[-2] == "reflect-git review", "what to type next"
    assert _files(home) == before


def test_a_kept_home_can_be_played_with(run_cli: RunCli, home: Path, tmp_path: Path) -> None:
    done = run_cli("demo", "--keep", env={"TMPDIR": str(tmp_path)}, timeout=120)
    assert done.code == 0, done.err
    (kept,) = tmp_path.glob("reflect-git-demo.*")
    (advice,) = [line for line in done.out.splitlines() if line.startswith("cd ")]
    rules = _in_shell(advice.replace("$SHELL", "reflect-git rules --json"))
    assert [rule["text"][:19] for rule in rules] == ["Always run `pnpm li"]
    there = _in_shell(advice.replace("laptop", "desktop").replace("$SHELL", "reflect-git status --json"))
    assert (there["learnings"], there["arrived"], there["remote"]) == (1, 1, f"{kept}/learnings.git")
    shutil.rmtree(kept)


@pytest.mark.parametrize("lost", [0, 1, 2])
def test_a_hook_that_a_busy_machine_gave_up_is_called_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], lost: int
) -> None:
    called, real = [], demo._Demo._run_hook

    def hook(tour: demo._Demo, event: str, given: Mapping[str, str]) -> None:
        called.append(event)
        if len(called) > lost:
            real(tour, event, given)

    monkeypatch.setattr(demo._Demo, "_run_hook", hook)
    monkeypatch.setattr(demo, "_HOOK_SECONDS", 0.1 if lost else 60.0)
    tour = demo._Demo(CliContext(os.environ), tmp_path)
    tour._show_capture()
    assert len(called) > lost and len(tour._run_json("candidates")) == 2
    assert "Never use npm" in capfd.readouterr().out


def test_a_machine_that_is_too_busy_is_no_bug(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(demo._Demo, "_run_hook", lambda *_: None)
    monkeypatch.setattr(demo, "_CAPTURE_TIMEOUT", 0.5)
    with pytest.raises(ReflectError, match="stored nothing") as caught:
        demo._Demo(CliContext(os.environ), tmp_path)._show_capture()
    assert caught.value.hint


def test_it_is_no_document(run_cli: RunCli) -> None:
    for words in (("--json", "demo"), ("demo", "--json")):
        refused = run_cli(*words)
        assert refused.code == 2 and refused.json()["error"]["code"] == "usage"


@pytest.mark.parametrize("zone", ["UTC", "Pacific/Kiritimati"])
@pytest.mark.parametrize("now", ["2026-11-19T00:03:00Z", "2026-11-18T23:58:00Z"])
def test_the_demo_says_the_same_at_any_time_of_day(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, set_zone: SetZone, zone: str, now: str
) -> None:
    """The output of the session is the same; the hooks of the demo use the clock that `make clocks` sets."""
    set_zone(zone)
    tour = demo._Demo(CliContext(os.environ), tmp_path)
    monkeypatch.setattr("time.time", lambda: parse_utc(now))
    lines = [json.loads(line) for line in tour._write_session().read_text(encoding="utf-8").splitlines()]
    calls: list[Call] = [(line["timestamp"], "Bash", {"command": "npm test"}) for line in lines]
    matcher = {"tool": "Bash", "field": "command", "pattern": "npm"}
    assert backtest(matcher, calls)["days"] == 1
