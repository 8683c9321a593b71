"""The workflows and forms for public continuous integration: valid, and about the versions that we support."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.conftest import REPO

FOLDER = REPO / ".github"
CHECKER = Path(sys.executable).with_name("check-jsonschema")

pytestmark = pytest.mark.skipif(not FOLDER.is_dir(), reason="the archive of the source has no workflows")


def _load(name: str) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((FOLDER / "workflows" / name).read_text(encoding="utf-8"))
    return found


def _check(schema: str, *files: Path) -> int:
    if not CHECKER.exists():
        pytest.skip("check-jsonschema is not installed")
    command = [str(CHECKER), "-q", "--builtin-schema", schema, *map(str, files)]
    return subprocess.run(command, capture_output=True, check=False, timeout=60).returncode


def test_the_forms_of_issues_are_valid() -> None:
    forms = sorted((FOLDER / "ISSUE_TEMPLATE").glob("[!c]*.yml"))
    assert len(forms) == 2
    assert _check("vendor.github-issue-forms", *forms) == 0
    assert _check("vendor.github-issue-config", FOLDER / "ISSUE_TEMPLATE" / "config.yml") == 0


def test_the_badge_of_the_readme_is_of_a_workflow() -> None:
    """On GitHub the page is two folders below the repository."""
    linked = re.findall(r"\.\./\.\./actions/workflows/([\w.]+)", (REPO / "README.md").read_text(encoding="utf-8"))
    assert linked and all((FOLDER / "workflows" / name).is_file() for name in linked)


def test_a_broken_workflow_is_found(tmp_path: Path) -> None:
    """`make lint` checks the real ones."""
    for old, new in (("runs-on", "run-on"), ("steps:", "step:"), ("uses: actions/checkout@v4", "use: x")):
        broken = tmp_path / "broken.yml"
        text = (FOLDER / "workflows" / "tests.yml").read_text(encoding="utf-8")
        assert old in text
        broken.write_text(text.replace(old, new), encoding="utf-8")
        assert _check("vendor.github-workflows", broken) == 1, old


def test_every_supported_python_runs_on_both_systems() -> None:
    listed = re.findall(r'"Programming Language :: Python :: (3\.\d+)"', (REPO / "pyproject.toml").read_text())
    matrix = _load("tests.yml")["jobs"]["tests"]["strategy"]["matrix"]
    assert matrix == {"os": ["ubuntu-latest", "macos-latest"], "python": listed}
    released = _load("release.yml")["jobs"]["build"]["steps"][1]["with"]["python-version"]
    assert released.split() == listed


def test_the_oldest_git_is_the_one_of_the_readme() -> None:
    version = _load("tests.yml")["jobs"]["oldest-git"]["env"]["GIT_VERSION"]
    assert f"git {version.rpartition('.')[0]}" in (REPO / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ["tests.yml", "release.yml"])
def test_a_workflow_runs_what_exists_and_may_not_write(name: str) -> None:
    workflow = _load(name)
    assert workflow["permissions"] == {"contents": "read"}
    targets = set(re.findall(r"^([a-z0-9-]+):", (REPO / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    for job in workflow["jobs"].values():
        assert job["timeout-minutes"] <= 60
        for step in job["steps"]:
            command = step.get("run", "")
            assert set(re.findall(r"\bmake ([a-z]+)", command)) <= targets
            assert "${{" not in command, "a value from outside would be run by the shell"
            for path in re.findall(r"\b(?:tests|reflect_git|\.claude-plugin)/[\w./-]+", command):
                assert (REPO / path).exists(), path
