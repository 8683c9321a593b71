"""`demo` and `make demo`: the whole loop in a throw-away home, and nothing outside it."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

from tests.conftest import RunCli


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
    laptop = ["mine", "candidates", "config", "approve", "approve", "why", "revert", "rules", "log", "remote"]
    assert verbs == [*laptop, "remote", "sync", "rules"]
    assert "would have applied 2 times in 1 day; last: `npm test`" in done.out
    assert "\n+- Never use npm in this project, always use pnpm instead\n" in done.out
    assert re.search(r"you said +\"no, never use npm", done.out)
    assert "\n-- Never use npm in this project, always use pnpm instead\n" in done.out
    assert "1 learning waits for you" in done.out
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
