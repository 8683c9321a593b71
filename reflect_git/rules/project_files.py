"""Locate instruction files of the project and of the client, and read what they already say."""

from __future__ import annotations

import fnmatch
import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, overload

from reflect_git import paths
from reflect_git.capture import service
from reflect_git.capture.new_signal import project as named
from reflect_git.errors import ReflectError
from reflect_git.platform import instruction_files
from reflect_git.platform.project import top_of
from reflect_git.records.named_tuple import NamedTuple
from reflect_git.store.projects import names, other_keys
from reflect_git.targets import targets
from reflect_git.targets.targets import Surroundings, Target

if TYPE_CHECKING:
    from reflect_git.candidates.already_said import Statement
    from reflect_git.records.schema import Learning, Project
    from reflect_git.store.repository import Store

_RULES = 500


_SEARCHED = 5000
_UNSEARCHED = (".git", "node_modules", ".venv", "venv", "target", "dist", "build")


class Place(NamedTuple):
    """A project's folder and the client's config; `root` is empty outside a project.

    `others`: other keys of the project.
    """

    root: str
    config: str
    home: str
    project: Project | None
    others: tuple[str, ...] = ()

    @property
    def keys(self) -> list[str]:
        """Return all keys of the project: by path before its first commit, by that commit, by its remotes."""
        mine = [self.project["key"]] if self.project else []
        others = (f"path:{os.path.realpath(self.root)}", *self.others) if self.root else ()
        return list(dict.fromkeys([*mine, *(self.name_of(key) for key in others)]))

    def name_of(self, key: str) -> str:
        """Return a key in the form that records use."""
        found = named({"key": key, "name": ""}, self.home)
        return found["key"] if found else key

    def reaches(self, learning: Learning) -> bool:
        """Tell whether a learning applies here: it is global, or for this project."""
        project = learning["project"]
        return learning["scope"] == "global" or bool(self.root and project and project["key"] in self.keys)

    def has_path(self, pattern: str) -> bool:
        """Tell whether a glob matches files of the project; `release/*` may be a branch.

        The search stops early in large projects.
        """
        folder = pattern.partition("*")[0].rpartition("/")[0]
        if not self.root:
            return False
        if folder:
            return os.path.isdir(os.path.join(self.root, *folder.split("/")))
        seen = 0
        for _, folders, files in os.walk(self.root):
            folders[:] = [one for one in folders if one not in _UNSEARCHED]
            if fnmatch.filter(files, pattern.rpartition("/")[2]):
                return True
            seen += len(files)
            if seen > _SEARCHED:
                break
        return False

    def path_of(self, target: Target) -> str:
        """Return the file of a target, following links that stay inside the allowed folder."""
        base, within = (self.config, self.home) if target.is_global else (self.root, self.root)
        return instruction_files.locate(base, target.path, within)

    def label_of(self, target: Target) -> str:
        """Return the file of a target as a person would name it."""
        return self.label(self.path_of(target))

    def named(self, target: Target) -> str:
        """Return the path of a target without following links."""
        return os.path.join(self.config if target.is_global else self.root, *target.path.split("/"))

    def shown(self, target: Target) -> str:
        """Return the path of a target for a diff: global files from the home folder, as in `log`, in any project."""
        return self._replace(root="").label(self.named(target)) if target.is_global else target.path

    def label(self, path: str) -> str:
        """Return a path as a person would name it: relative to the project, or to the home folder."""
        for base, sign in ((self.root, ""), (self.home, "~/")):
            if base and path.startswith(base.rstrip("/") + "/"):
                return sign + path[len(base.rstrip("/")) + 1 :]
        return path


def place(store: Store | None, env: Mapping[str, str], folder: str) -> Place:
    """Find the project of a folder. Without a store the project has no key."""
    root = top_of(folder) or folder
    home, config = paths.home_dir(env), os.path.abspath(paths.config_dir(env))
    is_project = paths.is_project(env, root)
    # Like in signals: without what a folder's name may reveal.
    project = named(service.project_of(store, root), home) if store and is_project else None
    others = tuple(other_keys(store, root)) if store and project else ()
    return Place(root if is_project else "", config, home, project, others)


def is_ignored(store: Store, here: Place) -> bool:
    """Tell whether this project is ignored, so that nothing is written into its files."""
    return bool(here.root) and service.is_ignored(store, here.root)


def require_wanted(store: Store, here: Place) -> None:
    """Raise if this project is ignored."""
    if is_ignored(store, here):
        raise ReflectError(
            f"'{here.root}' is ignored: nothing is learned there",
            "approve it '--to global', or take the project up with 'reflect-git enable --project'", code="ignored",
        )  # fmt: skip


def aliases(store: Store, here: Place) -> dict[str, str]:
    """Map each key to the main key of its project, for projects known by several keys."""
    groups = [[here.name_of(key) for key in keys] for keys in names(store)]
    return {key: keys[0] for keys in (*groups, here.keys) for key in keys}


def surroundings(here: Place, to: str = "") -> Surroundings:
    """Return which files exist in the project and in the folder of `to`, and which have our block."""
    names = dict.fromkeys((*targets.USUAL_FILES, *targets.in_folder(to)))
    found = {name: _read(os.path.join(here.root, *name.split("/"))) for name in names} if here.root else {}
    existing = {name: data for name, data in found.items() if data is not None}
    blocks = {name for name, data in existing.items() if _has_block(data)}
    return Surroundings(frozenset(existing), frozenset(blocks), bool(here.root))


def _has_block(data: bytes) -> bool:
    from reflect_git.targets import finding  # imported late: listing candidates does not need the Markdown parser

    try:
        return finding.find(data) is not None
    except ReflectError:
        return False


def owners_of_lines(data: bytes) -> dict[int, str]:
    """Map line numbers, from 1, to the rules on them, in a file with a list of ours."""
    if b"<!-- reflect-git:begin" not in data:
        return {}
    from reflect_git.targets import finding

    try:
        block = finding.find(data)
    except ReflectError:
        return {}
    return {entry.start + 1: entry.id for entry in block.entries if entry.text} if block and block.listed else {}


class Said(Sequence["Statement"]):
    """The statements in files, parsed on first use. `own` are the project's files."""

    def __init__(self, sources: Mapping[str, bytes], own: Collection[str] = ()) -> None:
        self.sources = sources
        self.own = own

    @cached_property
    def _statements(self) -> list[Statement]:
        from reflect_git.candidates.already_said import statements

        return [
            one
            for name, data in self.sources.items()
            for one in statements(name, data.decode("utf-8", "replace"), owners_of_lines(data))
        ]

    def __len__(self) -> int:
        return len(self._statements)

    @overload
    def __getitem__(self, at: int) -> Statement: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[Statement]: ...
    def __getitem__(self, at: int | slice) -> Statement | Sequence[Statement]:
        return self._statements[at]


def baselines(here: Place) -> Said:
    """Load the statements of every file that Claude Code reads, and of improvement files."""
    own = {here.label(path): path for path in _project_files(here)}
    found = {here.label(path): _read(path) for path in (*_global_files(here), *own.values())}
    return Said({name: data for name, data in found.items() if data}, own)


def _global_files(here: Place) -> Iterator[str]:
    yield os.path.join(here.config, "CLAUDE.md")
    yield from _below(os.path.join(here.config, "rules"))


def _project_files(here: Place) -> Iterator[str]:
    if here.root:
        yield from (os.path.join(here.root, *name.split("/")) for name in targets.USUAL_FILES)
        yield from _below(os.path.join(here.root, ".claude", "rules"))
        yield from _below(memory_dir(here))


def named_by_path(learnings: Iterable[Learning], home: str) -> Iterator[str]:
    """Yield the folders of projects known only by path: the store remembers no other location."""
    for learning in learnings:
        kind, _, path = learning["project"]["key"].partition(":") if learning["project"] else ("", "", "")
        folder = os.path.join(home, path[2:]) if path.startswith("~/") else path
        if kind == "path" and os.path.isdir(folder):
            yield folder


def memory_dir(here: Place) -> str:
    """Return the folder of the client's own memory of a project."""
    return os.path.join(here.config, "projects", sessions_folder(here.root), "memory")


def sessions_folder(root: str) -> str:
    """Return the client's name for the folder of a project's transcripts."""
    return "".join(c if c.isascii() and c.isalnum() else "-" for c in root)


def _below(folder: str) -> list[str]:
    """List the Markdown files below a folder, up to a limit."""
    found = [os.path.join(base, name) for base, _, names in os.walk(folder) for name in names if name.endswith(".md")]
    return sorted(found)[:_RULES]


def _read(path: str) -> bytes | None:
    try:
        return instruction_files.read(os.path.realpath(path))
    except (ReflectError, OSError):
        return None
