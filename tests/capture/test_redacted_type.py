"""Signals and summaries are built from redacted text only: the type checker enforces it."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import REPO

PACKAGE = REPO / "reflect_git"
REDACTION = PACKAGE / "redact" / "__init__.py"
SNIPPET = """
from reflect_git.redact import Redacted, clip, format_redacted, flatten, join_redacted, redact
from reflect_git.capture.transcript import Turn
from reflect_git.capture import failure, summary
from reflect_git.capture.detectors.common import build_facts
from reflect_git.capture.new_signal import build_signal
from reflect_git.capture.new_signal import Facts, Meta

def build(turn: Turn, typed: str, clean: Redacted) -> None:
    build_signal({"content": clean}, "box", "now")
    build_signal({"content": clean, "context": join_redacted(", ", [clip(clean, 5), flatten(clean, 5)])}, "box", "now")
    failed = format_redacted("{} failed", redact(typed))
    build_signal({"content": failed, "tags": [clean], "meta": {"goal": clean}}, "box", "now")
    build_signal({"content": turn.text, "context": turn.output}, "box", "now")
    build_facts(turn, "fix", "gotcha", 1, turn.text)
    summary.build_facts([turn], [clean])
    build_signal({"content": typed}, "box", "now")  # rejected
    build_signal({"content": "typed"}, "box", "now")  # rejected
    build_signal({"content": turn.raw}, "box", "now")  # rejected
    build_signal({"content": turn.raw_output}, "box", "now")  # rejected
    build_signal({"content": f"{clean} failed"}, "box", "now")  # rejected
    build_signal({"content": clean[:5]}, "box", "now")  # rejected
    build_signal({"content": clean, "context": typed}, "box", "now")  # rejected
    build_signal({"content": clean, "tags": [typed]}, "box", "now")  # rejected
    build_signal({"content": clean, "source": {"file": typed}}, "box", "now")  # rejected
    build_signal({"content": clean, "meta": {"goal": typed}}, "box", "now")  # rejected
    build_signal({"content": clean, "meta": {"todos": [typed]}}, "box", "now")  # rejected
    build_signal({"content": clean, "meta": {"anything": typed}}, "box", "now")  # rejected
    build_facts(turn, "fix", "gotcha", 1, typed)  # rejected
    build_facts(turn, "fix", "gotcha", 1, clean, context=turn.raw_output)  # rejected
    summary.build_facts([turn], [typed])  # rejected
    format_redacted("{} failed", typed)  # rejected
    join_redacted(" ", [clean, typed])  # rejected
    clip(typed, 5)  # rejected
    flatten(typed, 5)  # rejected
"""


def test_the_type_checker_rejects_what_was_not_redacted(tmp_path: Path) -> None:
    file = tmp_path / "snippet.py"
    file.write_text(SNIPPET)
    command = [sys.executable, "-m", "mypy", "--config-file", str(REPO / "pyproject.toml"), "--no-error-summary"]
    command += ["--cache-dir", str(REPO / ".mypy_cache"), str(file)]
    done = subprocess.run(command, cwd=REPO, capture_output=True, text=True, check=False, timeout=120)
    reported = {int(line.split(":")[1]) for line in done.stdout.splitlines() if ": error:" in line}
    lines = SNIPPET.split("\n")
    assert reported == {number for number, line in enumerate(lines, 1) if line.endswith("# rejected")}, done.stdout


def calls(name: str) -> Iterator[tuple[Path, ast.Call]]:
    """Yield every call of a redaction function, in modules that import it."""
    for path in [*PACKAGE.rglob("*.py"), *(REPO / "hooks").glob("*.py")]:
        tree = ast.parse(path.read_text())
        imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
        names = [one.name for node in imports if node.module == "reflect_git.redact" for one in node.names]
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and name in names and getattr(node.func, "id", "") == name:
                yield path, node


@pytest.mark.parametrize("name", ["format_redacted", "join_redacted"])
def test_only_constants_stand_beside_redacted_texts(name: str) -> None:
    found = list(calls(name))
    assert len(found) > 2
    odd = [(path, call.lineno) for path, call in found if not isinstance(call.args[0], ast.Constant)]
    assert odd == []


def test_only_redaction_makes_redacted_texts() -> None:
    assert [path for path, _ in calls("Redacted")] == []
    casts = [path for path in PACKAGE.rglob("*.py") if "cast(" in path.read_text() and "Redacted" in path.read_text()]
    assert casts == [] and "Redacted(" in REDACTION.read_text()
