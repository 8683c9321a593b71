"""Where instruction files are, and what they are called in a diff."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from reflect_git.apply.targets import Target
from reflect_git.sitting.approve import Request, propose
from reflect_git.sitting.places import Place
from tests.faults import git
from tests.sitting.desk import PNPM, say, sit
from tests.store.probe import opened

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
    assert here.shown(RULES) == name and here.shown(Target("dir", "a/CLAUDE.md")) == "a/CLAUDE.md"


def test_a_diff_names_the_folder_that_the_sitting_was_given(store_home: Path, home: Path) -> None:
    """The environment of the process is the affair of fronts."""
    (home / "shop").mkdir()
    git(home / "shop", "init", "-q", "-b", "main")
    store = opened(store_home)
    signal = say(store, PNPM)
    sitting = sit(store, {**os.environ, "CLAUDE_CONFIG_DIR": str(home / "own")})
    told = propose(sitting, Request(sitting.find(signal), to="global")).diff
    assert told.splitlines()[0] == "diff --git a/~/own/CLAUDE.md b/~/own/CLAUDE.md"
