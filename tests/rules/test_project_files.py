"""Locations of instruction files, and their names in a diff."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from reflect_git.rules.approve import Request, plan_approval
from reflect_git.rules.project_files import Place
from reflect_git.targets.target_files import Target
from tests.faults import git
from tests.rules.queues import PNPM, capture_signal, open_queue
from tests.store.store_checks import open_store

RULES = Target("global-rules", "rules/reflect/pnpm.md")


@pytest.mark.parametrize(
    ("root", "config", "name"),
    [
        ("/home/ada/shop", "/home/ada/.claude", "~/.claude/rules/reflect/pnpm.md"),
        ("/home/ada/dotfiles", "/home/ada/dotfiles/claude", "~/dotfiles/claude/rules/reflect/pnpm.md"),
        ("", "/srv/claude", "/srv/claude/rules/reflect/pnpm.md"),
    ],
)
def test_a_file_of_all_projects_is_shown_by_where_it_is_whatever_project_is_at_hand(
    root: str, config: str, name: str
) -> None:
    here = Place(root, config, "/home/ada", None)
    assert here.diff_path(RULES) == name and here.diff_path(Target("dir", "a/CLAUDE.md")) == "a/CLAUDE.md"


def test_a_diff_names_the_folder_that_the_sitting_was_given(store_home: Path, home: Path) -> None:
    """Only the outer layers read the environment of the process."""
    (home / "shop").mkdir()
    git(home / "shop", "init", "-q", "-b", "main")
    store = open_store(store_home)
    signal = capture_signal(store, PNPM)
    queue = open_queue(store, {**os.environ, "CLAUDE_CONFIG_DIR": str(home / "own")})
    told = plan_approval(queue, Request(queue.find_candidate(signal), to="global")).diff
    assert told.splitlines()[0] == "diff --git a/~/own/CLAUDE.md b/~/own/CLAUDE.md"
