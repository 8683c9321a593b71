"""Read single commits for display, with GitPython. No other module imports it; it only reads our own repository.

Only objects are read, by their full ids. GitPython would run git for diffs, trailers and statistics. They are computed
here from the objects instead, so that no outside text ever becomes a command argument.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from reflect_git.errors import ReflectError

if TYPE_CHECKING:
    from git import Commit, IndexObject, Repo, Tree

_HEX = frozenset("0123456789abcdef")


@dataclass(frozen=True)
class CommitDetails:
    """Id, time, subject, trailers and changed files of a commit."""

    id: str
    time: str
    subject: str
    trailers: dict[str, list[str]]
    files: list[str]


def read_commit(root: str, program: str, sha: str) -> CommitDetails:
    """Read one commit of the repository at `root`. `sha` is a full object id, `program` a trusted git."""
    if len(sha) != 40 or not _HEX.issuperset(sha):
        raise ReflectError(f"'{sha}' is not a commit id", code="bad-commit")
    with _isolated_environment(root, program):
        from git import ODBError, Repo

        try:
            with Repo(os.path.join(root, ".git"), expand_vars=False) as repository:
                return _build_details(repository, sha)
        except (ODBError, ValueError) as error:
            raise ReflectError(
                f"cannot read commit '{sha}': {error}", "run 'reflect-git doctor'", code="git"
            ) from error


@contextmanager
def _isolated_environment(root: str, program: str) -> Iterator[None]:
    """Replace all GIT_* variables while GitPython runs. It obeys them, and its import runs the first `git` on PATH."""
    ours = {
        "GIT_PYTHON_GIT_EXECUTABLE": program,
        "GIT_DIR": os.path.join(root, ".git"),
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
    }
    taken = {name: os.environ.pop(name) for name in list(os.environ) if name.startswith("GIT_")}
    os.environ.update(ours)
    try:
        yield
    finally:
        for name in ours:
            os.environ.pop(name, None)
        os.environ.update(taken)


def _build_details(repository: Repo, sha: str) -> CommitDetails:
    commit = repository.commit(sha)
    message = commit.message if isinstance(commit.message, str) else commit.message.decode("utf-8", "replace")
    return CommitDetails(
        id=commit.hexsha,
        time=time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(commit.committed_date)),
        subject=message.partition("\n")[0],
        trailers=_parse_trailers(message),
        files=_list_changed_files(commit),
    )


def _parse_trailers(message: str) -> dict[str, list[str]]:
    """Parse the `Name: value` lines of the last paragraph: name → values, in order."""
    found: dict[str, list[str]] = {}
    _, _, body = message.strip().rpartition("\n\n")
    for line in body.splitlines():
        name, colon, value = line.partition(": ")
        if colon and " " not in name:
            found.setdefault(name, []).append(value)
    return found


def _list_changed_files(commit: Commit) -> list[str]:
    """List the paths that the commit added, changed or removed, compared with its first parent."""
    before = commit.parents[0].tree if commit.parents else None
    return sorted(_iter_differing_paths(before, commit.tree))


def _iter_differing_paths(old: Tree | None, new: Tree | None) -> Iterator[str]:
    """Yield the paths that differ between two trees. Subtrees with equal ids are identical and are skipped."""
    before, after = _map_entries(old), _map_entries(new)
    for name in before.keys() | after.keys():
        was, now = before.get(name), after.get(name)
        if was is not None and now is not None and (was.binsha, was.mode) == (now.binsha, now.mode):
            continue
        yield from _iter_differing_paths(_as_tree(was), _as_tree(now))
        yield from {str(item.path) for item in (was, now) if item is not None and item.type != "tree"}


def _map_entries(tree: Tree | None) -> dict[str, IndexObject]:
    return {str(item.name): item for item in tree} if tree is not None else {}


def _as_tree(item: IndexObject | None) -> Tree | None:
    return item if item is not None and item.type == "tree" else None
