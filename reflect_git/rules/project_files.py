"""Locate instruction files of the project and of the client, and read what they already say."""

from __future__ import annotations

import fnmatch
import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, overload

from reflect_git import paths
from reflect_git.capture import service
from reflect_git.capture.new_signal import redact_project as named
from reflect_git.errors import ReflectError
from reflect_git.platform import instruction_files, system
from reflect_git.platform.project import top_of
from reflect_git.records.named_tuple import NamedTuple
from reflect_git.store.local.projects import list_keys, list_other_keys
from reflect_git.targets import target_files
from reflect_git.targets.target_files import ExistingFiles, Target

if TYPE_CHECKING:
    from reflect_git.candidates.statements import Statement
    from reflect_git.records.schema import Learning, Project
    from reflect_git.store.repository import Store

_MAX_RULE_FILES = 500


_MAX_SEARCHED_FILES = 5000
_SKIPPED_FOLDERS = (".git", "node_modules", ".venv", "venv", "target", "dist", "build")


@lru_cache(maxsize=64)
def _list_keys(key: str, root: str, others: tuple[str, ...], home: str) -> tuple[str, ...]:
    """Return all keys of a project. A panel asks for them with each rule, and redacting one takes 0.3 ms."""
    more = (f"path:{os.path.realpath(root)}", *others) if root else ()
    return tuple(dict.fromkeys([*([key] if key else []), *(_normalise_key(one, home) for one in more)]))


def _normalise_key(key: str, home: str) -> str:
    found = named({"key": key, "name": ""}, home)
    return found["key"] if found else key


class Place(NamedTuple):
    """A project's folder and the client's config; `root` is empty outside a project.

    `other_keys`: other keys of the project.
    """

    root: str
    config: str
    home: str
    project: Project | None
    other_keys: tuple[str, ...] = ()

    @property
    def keys(self) -> list[str]:
        """Return all keys of the project: by path before its first commit, by that commit, by its remotes."""
        return list(_list_keys(self.project["key"] if self.project else "", self.root, self.other_keys, self.home))

    def normalise_key(self, key: str) -> str:
        """Return a key in the form that records use."""
        return _normalise_key(key, self.home)

    def is_in_scope(self, learning: Learning) -> bool:
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
            folders[:] = [one for one in folders if one not in _SKIPPED_FOLDERS]
            if fnmatch.filter(files, pattern.rpartition("/")[2]):
                return True
            seen += len(files)
            if seen > _MAX_SEARCHED_FILES:
                break
        return False

    def path_of(self, target: Target) -> str:
        """Return the file of a target, following links that stay inside the allowed folder."""
        base, within = (self.config, self.home) if target.is_global else (self.root, self.root)
        return instruction_files.resolve_path(base, target.path, within)

    def label_of(self, target: Target) -> str:
        """Return the file of a target as a person would name it."""
        return self.label(self.path_of(target))

    def unresolved_path(self, target: Target) -> str:
        """Return the path of a target without following links."""
        return os.path.join(self.config if target.is_global else self.root, *target.path.split("/"))

    def diff_path(self, target: Target) -> str:
        """Return the path of a target for a diff: global files from the home folder, as in `log`, in any project."""
        return self._replace(root="").label(self.unresolved_path(target)) if target.is_global else target.path

    def label(self, path: str) -> str:
        """Return a path as a person would name it: relative to the project, or to the home folder."""
        for base, sign in ((self.root, ""), (self.home, "~/")):
            if base and path.startswith(base.rstrip("/") + "/"):
                return sign + path[len(base.rstrip("/")) + 1 :]
        return path


def find_place(store: Store | None, env: Mapping[str, str], folder: str) -> Place:
    """Find the project of a folder. Without a store the project has no key."""
    root = top_of(folder) or folder
    home, config = paths.home_dir(env), os.path.abspath(paths.config_dir(env))
    is_project = paths.is_project(env, root)
    # Like in signals: without what a folder's name may reveal.
    project = named(service.get_project(store, root), home) if store and is_project else None
    others = tuple(list_other_keys(store, root)) if store and project else ()
    return Place(root if is_project else "", config, home, project, others)


def is_ignored(store: Store, here: Place) -> bool:
    """Tell whether this project is ignored, so that nothing is written into its files."""
    return bool(here.root) and service.is_ignored(store, here.root)


def require_not_ignored(store: Store, here: Place) -> None:
    """Raise if this project is ignored."""
    if is_ignored(store, here):
        raise ReflectError(
            f"'{here.root}' is ignored: nothing is learned there",
            "approve it '--to global', or take the project up with 'reflect-git enable --project'", code="ignored",
        )  # fmt: skip


def load_key_aliases(store: Store, here: Place) -> dict[str, str]:
    """Map each key to the main key of its project, for projects known by several keys."""
    groups = [[here.normalise_key(key) for key in keys] for keys in list_keys(store)]
    return {key: keys[0] for keys in (*groups, here.keys) for key in keys}


def spell_target(here: Place, to: str) -> str:
    """Return a target `dir:PATH` with the names that the file system has: most of a Mac's ignore case."""
    kind, _, path = to.partition(":")
    if kind != "dir" or not path or not here.root:
        return to
    found = os.path.relpath(system.current.find_true_path(os.path.join(here.root, *path.split("/"))), here.root)
    is_same = system.current.fold_name(found) == system.current.fold_name(os.path.normpath(path))
    return f"dir:{found}" if is_same else to


def load_surroundings(here: Place, to: str = "") -> ExistingFiles:
    """Return which files exist in the project and in the folder of `to`, and which have our block."""
    names = dict.fromkeys((*target_files.USUAL_FILES, *target_files.list_folder_files(to)))
    found = {name: _read_file(os.path.join(here.root, *name.split("/"))) for name in names} if here.root else {}
    existing = {name: data for name, data in found.items() if data is not None}
    blocks = {name for name, data in existing.items() if _has_block(data)}
    return ExistingFiles(frozenset(existing), frozenset(blocks), bool(here.root))


def _has_block(data: bytes) -> bool:
    from reflect_git.targets import target_page  # imported late: listing candidates does not need the Markdown parser

    try:
        return target_page.find_block(data) is not None
    except ReflectError:
        return False


def map_lines_to_rules(data: bytes) -> dict[int, str]:
    """Map line numbers, from 1, to the rules on them, in a file with a list of ours."""
    if b"<!-- reflect-git:begin" not in data:
        return {}
    from reflect_git.targets import target_page

    try:
        block = target_page.find_block(data)
    except ReflectError:
        return {}
    return {entry.start + 1: entry.id for entry in block.entries if entry.text} if block and block.listed_rules else {}


class FileStatements(Sequence["Statement"]):
    """The statements in files, parsed on first use. `own_files` are the project's files."""

    def __init__(self, sources: Mapping[str, bytes], own: Collection[str] = ()) -> None:
        self.sources = sources
        self.own_files = own

    @cached_property
    def _statements(self) -> list[Statement]:
        from reflect_git.candidates.statements import parse_statements

        return [
            one
            for name, data in self.sources.items()
            for one in parse_statements(name, data.decode("utf-8", "replace"), map_lines_to_rules(data))
        ]

    def __len__(self) -> int:
        return len(self._statements)

    @overload
    def __getitem__(self, at: int) -> Statement: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[Statement]: ...
    def __getitem__(self, at: int | slice) -> Statement | Sequence[Statement]:
        return self._statements[at]


def load_statements(here: Place) -> FileStatements:
    """Load the statements of every file that Claude Code reads, and of improvement files."""
    own = {here.label(path): path for path in _list_project_files(here)}
    found = {here.label(path): _read_file(path) for path in (*_list_global_files(here), *own.values())}
    return FileStatements({name: data for name, data in found.items() if data}, own)


def _list_global_files(here: Place) -> Iterator[str]:
    yield os.path.join(here.config, "CLAUDE.md")
    yield from _list_markdown(os.path.join(here.config, "rules"))


def _list_project_files(here: Place) -> Iterator[str]:
    if here.root:
        yield from (os.path.join(here.root, *name.split("/")) for name in target_files.USUAL_FILES)
        yield from _list_markdown(os.path.join(here.root, ".claude", "rules"))
        yield from _list_markdown(memory_dir(here))


def find_path_projects(learnings: Iterable[Learning], home: str) -> Iterator[str]:
    """Yield the folders of projects known only by path: the store remembers no other location."""
    for learning in learnings:
        kind, _, path = learning["project"]["key"].partition(":") if learning["project"] else ("", "", "")
        folder = os.path.join(home, path[2:]) if path.startswith("~/") else path
        if kind == "path" and os.path.isdir(folder):
            yield folder


def memory_dir(here: Place) -> str:
    """Return the folder of the client's own memory of a project."""
    return os.path.join(here.config, "projects", paths.sessions_folder(here.root), "memory")


def _list_markdown(folder: str) -> list[str]:
    """List the Markdown files below a folder, up to a limit."""
    found = [os.path.join(base, name) for base, _, names in os.walk(folder) for name in names if name.endswith(".md")]
    return sorted(found)[:_MAX_RULE_FILES]


def _read_file(path: str) -> bytes | None:
    try:
        return instruction_files.read(os.path.realpath(path))
    except (ReflectError, OSError):
        return None
