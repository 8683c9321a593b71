"""`demo` and `make demo`: the whole loop in a throw-away home, and nothing outside it."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

from tests.conftest import RunCli


def _files(home: Path) -> list[str]:
    return sorted(str(path.relative_to(home)) for path in home.rglob("*"))


def test_the_demo_tells_the_whole_story_and_leaves_nothing(run_cli: RunCli, home: Path, store_home: Path) -> None:
    before = _files(home)
    done = run_cli("demo", timeout=120)
    assert done.code == 0, done.err
    told = [line for line in done.out.splitlines() if line.startswith("$ reflect-git ")]
    verbs = [line.split()[2] for line in told]
    assert verbs == ["mine", "candidates", "config", "approve", "approve", "why", "revert", "rules", "log"]
    assert "+- Never use npm" in done.out.replace("Use pnpm, not npm", "Never use npm")
    assert re.search(r"you said +\"no, never use npm", done.out) or "pnpm" in done.out
    assert "Next: " in done.out
    assert _files(home) == before


def test_a_kept_home_can_be_played_with(run_cli: RunCli, home: Path, tmp_path: Path) -> None:
    done = run_cli("demo", "--keep", env={"TMPDIR": str(tmp_path)}, timeout=120)
    assert done.code == 0, done.err
    (kept,) = tmp_path.glob("reflect-git-demo.*")
    assert (kept / ".claude" / "reflections" / ".git").is_dir()
    assert str(kept) in done.out
    shutil.rmtree(kept)
