"""The budget: what each instruction file costs, when it is loaded, and what makes a long one shorter."""

from __future__ import annotations

import os
from pathlib import Path

from reflect_git.rules import project_files
from reflect_git.rules.project_files import find_place
from tests.conftest import RunCli
from tests.faults import git
from tests.rules.queues import approve, capture_signal, get_project_folder
from tests.store.store_checks import open_store


def test_each_file_has_its_price_and_a_long_one_a_proposal(store_home: Path, run_cli: RunCli) -> None:
    store, folder = open_store(store_home), get_project_folder(os.environ)
    git(folder.parent, "init", "-q", str(folder))
    for words in ("always run `make lint` before a commit", "never use npm in this project, always use pnpm instead"):
        capture_signal(store, words)
        approve(store, os.environ)
    texts = {
        ".claude/rules/py.md": '---\npaths:\n  - "*.py"\n---\nUse ruff.\n', ".claude/rules/all.md": "Be brief.\n",
        "AGENTS.md": "Use make.\n", ".claude/improvements.md": "# Improvements\n",
    }  # fmt: skip
    for name, text in texts.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    memory = Path(project_files.memory_dir(find_place(store, os.environ, str(folder))))
    memory.mkdir(parents=True)
    (memory / "MEMORY.md").write_text("- [port](port.md)\n")
    (memory / "port.md").write_text("The port is 8080.\n")

    data = run_cli("rules", "--budget", "--json", cwd=folder).json()["data"]
    files = {os.path.basename(one["file"]): one for one in data["files"]}
    assert {name: one["loaded"] for name, one in files.items()} == {
        "CLAUDE.md": "always", "all.md": "always", "MEMORY.md": "always", "py.md": "matching", "port.md": "on request",
        "AGENTS.md": "never", "improvements.md": "never",
    }  # fmt: skip
    ours = files["CLAUDE.md"]
    assert len(ours["rules"]) == 2 and ours["rules"][0]["tokens"] >= ours["rules"][1]["tokens"] > 0
    assert ours["tokens"] == round(len((folder / "CLAUDE.md").read_text()) / 4)
    loaded = sum(one["tokens"] for one in data["files"] if one["loaded"] == "always")
    assert data["tokens_per_session"] == loaded
    assert not any(one["over"] or one["proposal"] for one in data["files"])

    with (folder / "CLAUDE.md").open("a") as file:
        file.write("Line.\n" * 200)
    (folder / ".claude/rules/all.md").write_text("Line.\n" * 200)
    said = " ".join(run_cli("rules", "--budget", cwd=folder).out.split())
    assert "and 2 rules; Claude follows short files best: reflect-git tidy project" in said
    assert "limit it to some files, with 'paths:' in its front matter" in said
    assert f"every session loads about {loaded:,} tokens" not in said
    assert "nothing to tidy in 'CLAUDE.md'" in run_cli("tidy", "project", "--dry-run", cwd=folder).out
    (folder / "CLAUDE.md").write_text("@AGENTS.md\n")
    data = run_cli("rules", "--budget", "--json", cwd=folder).json()["data"]
    assert next(one for one in data["files"] if one["file"] == "AGENTS.md")["loaded"] == "always"


def test_the_budget_is_about_every_file(store_home: Path, run_cli: RunCli) -> None:
    assert run_cli("rules", "--budget", "--global").code == 2
