"""`panel --export`: the pages as files, without anything that stays on the machine."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from reflect_git.store.repository import Store
from tests.conftest import RunCli
from tests.faults import git
from tests.rules.queues import capture_signal
from tests.sessions import Session
from tests.web import reported_store
from tests.web.large_store import build_panel_in

MARKER = "xylophone"


@pytest.fixture
def marked(store: Store, project: Path, home: Path) -> Store:
    """Plant a word in a signal, a failure and a session: all of them stay here."""
    capture_signal(store, f"always tune the {MARKER} before you commit", session_id="s-20")
    for number in (21, 22):
        capture_signal(
            store, f"Bash failed: {MARKER} --tune", session_id=f"s-{number}", type="failure", trust="tool_output",
            confidence=1, context=f"sh: 1: {MARKER}: not found", tags=["Bash"],
        )  # fmt: skip
    Session(home, cwd=str(project)).say(f"where is my {MARKER}?")
    return store


def read_files(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text(encoding="utf-8") for path in sorted(folder.iterdir())}


def test_private_texts_are_left_out(marked: Store, project: Path, run_cli: RunCli, tmp_path: Path) -> None:
    before = git(Path(marked.root), "rev-parse", "main")
    done = run_cli("panel", "--export", str(tmp_path / "report"), cwd=project)
    assert done.code == 0, done.err
    found = read_files(tmp_path / "report")
    assert {"index.html", "rules.html", "trend.html", "machines.html", "versions.html", "panel.css"} <= set(found)
    assert [name for name, text in found.items() if MARKER in text] == []
    assert "pnpm" in found["rules.html"], "an approved rule is no secret"
    for name, text in found.items():
        assert not re.search(r"<form|<script|type=\"hidden\"|http-equiv", text), name
    assert git(Path(marked.root), "rev-parse", "main") == before


def test_with_private_texts(marked: Store, project: Path, run_cli: RunCli, tmp_path: Path) -> None:
    assert run_cli("panel", "--export", str(tmp_path / "report"), "--private", cwd=project).code == 0
    assert any(MARKER in text for text in read_files(tmp_path / "report").values())


def test_every_link_leads_to_a_file(marked: Store, project: Path, run_cli: RunCli, tmp_path: Path) -> None:
    run_cli("panel", "--export", str(tmp_path / "report"), cwd=project)
    found = read_files(tmp_path / "report")
    for name, text in found.items():
        links = set(re.findall(r'(?:href|src)="([^"#]+)"', text)) if name.endswith(".html") else set()
        assert links - set(found) == set(), name
    assert len([name for name in found if name.startswith("rule-LRN-")]) == 1


def test_inside_claude_code(marked: Store, project: Path, run_cli: RunCli, tmp_path: Path) -> None:
    done = run_cli("panel", "--export", str(tmp_path / "report"), cwd=project, env={"CLAUDECODE": "1"})
    assert done.code == 0 and (tmp_path / "report" / "index.html").exists()


def test_a_folder_with_files_is_left_alone(project: Path, run_cli: RunCli, tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("mine")
    refused = run_cli("panel", "--export", str(tmp_path), cwd=project)
    assert (refused.code, [path.name for path in tmp_path.iterdir()]) == (1, ["thesis.txt"])
    assert run_cli("panel", "--private", cwd=project).code == 2


def test_reports_are_exported_without_private_texts(
    marked: Store, project: Path, run_cli: RunCli, tmp_path: Path
) -> None:
    run_cli("panel", "--export", str(tmp_path / "before"), cwd=project)
    assert not {"evaluations.html", "digests.html", "skills.html"} & set(read_files(tmp_path / "before"))
    reported_store.add_reports(build_panel_in(os.environ, project))
    for folder, option in (("shared", ()), ("own", ("--private",))):
        assert run_cli("panel", "--export", str(tmp_path / folder), *option, cwd=project).code == 0
        found = read_files(tmp_path / folder)
        assert {"evaluations.html", "digests.html", "digest-2026-W07.html", "skills.html"} <= set(found)
        assert len([name for name in found if name.startswith("evaluation-EVL-")]) == 4
        with_marker = {name.partition("-")[0] for name, text in found.items() if reported_store.MARKER in text}
        assert ({"evaluation", "digest"} <= with_marker) == bool(option) and (option or not with_marker)
        for name, text in found.items():
            if name.startswith(("evaluation", "digest", "skills")):
                assert set(re.findall(r'(?:href|src)="([^"#]+)"', text)) - set(found) == set(), name
