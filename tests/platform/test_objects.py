"""Git objects by name, from one process."""

from __future__ import annotations

from pathlib import Path

import pytest

from reflect_git.platform.background_git import ObjectReader, parse_tree_names
from reflect_git.platform.git import Git
from tests.conftest import REAL_GIT
from tests.faults import git


@pytest.fixture
def repository(tmp_path: Path) -> Git:
    git(tmp_path, "init", "-q", "-b", "main")
    (tmp_path / "folder").mkdir()
    for name, data in (("empty", b""), ("line", b"one\n"), ("lines", b"\n\none\n\ntwo"), ("folder/größe", b"\0\n\0")):
        (tmp_path / name).write_bytes(data)
    git(tmp_path, "add", "-A")
    git(tmp_path, "-c", "user.name=x", "-c", "user.email=x@example.org", "commit", "-q", "-m", "x")
    return Git(REAL_GIT, str(tmp_path))


def test_bytes_come_as_they_are_and_in_order(repository: Git) -> None:
    names = ["main:lines", "main:nothing", "main:empty", "main:folder/größe", "nowhere:x y", "main:line"]
    with ObjectReader(repository) as objects:
        assert objects.get(names) == [b"\n\none\n\ntwo", None, b"", b"\0\n\0", None, b"one\n"]
        assert objects.get([]) == []
        assert objects.get(["main:line"] * 1000) == [b"one\n"] * 1000


def test_a_name_that_would_be_two_is_not_asked_for(repository: Git) -> None:
    with ObjectReader(repository) as objects:
        assert objects.get(["main:line\nmain:lines", "main:line"]) == [None, b"one\n"]


def test_long_names_that_nobody_has_fill_no_pipe(repository: Git) -> None:
    """git repeats each name while we are still asking; names may come from a remote."""
    names = [f"main:{'x' * length}" for length in (4000, 20_000, 4090, 4091, 1, 200_000) * 40]
    with ObjectReader(repository) as objects:
        assert objects.get([*names, "main:line"]) == [None] * len(names) + [b"one\n"]


def test_the_names_in_a_tree(repository: Git) -> None:
    with ObjectReader(repository) as objects:
        tree, inner = objects.get(["main^{tree}", "main:folder"])
    assert tree is not None
    assert inner is not None
    assert parse_tree_names(tree) == ["empty", "folder", "line", "lines"]
    assert parse_tree_names(inner) == ["größe"]


@pytest.mark.parametrize("warm", ["main:nowhere", "main:lines"])
def test_what_was_asked_to_warm_up_is_no_answer(repository: Git, warm: str) -> None:
    with ObjectReader(repository, warm=warm) as objects:
        assert objects.get(["main:nothing", "main:line"]) == [None, b"one\n"]
        assert objects.get(["main:empty"]) == [b""]
