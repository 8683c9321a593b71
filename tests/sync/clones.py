"""Several machines of one person, and the remote between them: stores and a bare repository in temporary folders."""

from __future__ import annotations

import os
import random
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from reflect_git import workflow
from reflect_git.model.ids import ALPHABET
from reflect_git.model.sought import Sought
from reflect_git.store import mainline, moves, policy, purging, reading, remotes, sweep
from reflect_git.store.layout import id_in
from reflect_git.store.repository import Store
from reflect_git.sync import epoch
from reflect_git.sync.epoch import Purge
from reflect_git.workflow import syncing
from reflect_git.workflow.syncing import Report, Wishes
from tests.conftest import store_faults
from tests.faults import git
from tests.sync.offers import approved, blob_id, decision, files_of

NO_PAUSE = Wishes(pause=lambda seconds: None)


class Clone:
    """One machine."""

    def __init__(self, root: Path, url: str = "") -> None:
        self.root = root
        self.store = workflow.open_store(self.env)
        if url:
            self.connect(url)

    @property
    def env(self) -> Mapping[str, str]:
        return {**os.environ, "REFLECT_GIT_HOME": str(self.root)}

    def connect(self, url: str) -> None:
        policy.set_keys(self.store, remotes.changes(url))

    def open(self) -> Store:
        """As the next command opens it."""
        self.store = workflow.open_swept(self.env)
        return self.store

    def add(self, *made: dict[str, Any], **files: bytes) -> list[str]:
        new = {**files_of(*made), **files}
        with self.store.locked(5):
            sweep.finish_interrupted(self.store)
            mainline.record(self.store, new, "dismiss: something\n")
        return list(new)

    def approve(self, number: int) -> list[str]:
        return self.add(*approved(number, self.store.machine))

    def dismiss(self, number: int) -> list[str]:
        return self.add(decision(number, self.store.machine))

    def sync(self, wishes: Wishes = NO_PAUSE) -> Report:
        return syncing.sync(self.open(), self.env, wishes)

    def paths(self) -> set[str]:
        return set(git(self.root, "ls-tree", "-r", "--name-only", "-z", "main").split("\0")) - {""}

    @property
    def tree(self) -> str:
        return git(self.root, "rev-parse", "main^{tree}").strip()

    @property
    def tip(self) -> str:
        return git(self.root, "rev-parse", "main").strip()

    def commit(self, name: str, data: bytes) -> None:
        """By the user's own hand and git."""
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        git(self.root, "add", "--force", "--", name)
        git(self.root, "-c", "user.name=Ada", "-c", "user.email=ada@example.com", "commit", "-qm", f"edit {name}")

    def require_sound(self) -> None:
        assert not (faults := store_faults(self.root)), "\n".join(faults)
        assert not (self.root / ".git" / "reflect" / "incoming").exists()


def bare(path: Path, *options: str) -> Path:
    subprocess.run(["git", "init", "-q", "--bare", "-b", "main", *options, str(path)], check=True)
    return path


def rewrite_without(clone: Clone, path: str) -> None:
    """A purge of a record, with all of the history that stays: who made what can still be told from it."""
    store, sought = clone.open(), Sought([])
    with store.locked(5):
        found = purging.look(store, sought, [id_in(path)], _about(store))
        marks = epoch.marks_of(found.records, found.blobs)
        said = epoch.emit(Purge(1, "2026-02-12T10:00:00Z", store.machine, tuple(marks)))
        name = "".join(random.Random(path + store.machine).choices(ALPHABET, k=8))
        purging.carry_out(store, found, sought, marks, {epoch.path_for(1, name): said}, "purge: a record\n")


def _about(store: Store) -> dict[str, list[str]]:
    decided = reading.read(store).decided.values()
    made = [one for one in decided if one["id"].startswith("DEC-") and one["subject"].startswith("LRN-")]
    return {one["subject"]: [each["id"] for each in made if each["subject"] == one["subject"]] for one in made}


def take_out(clone: Clone, paths: Sequence[str]) -> None:
    """A purge of some records; all history in one commit, which is enough where no hand was in it."""
    store = clone.open()
    known = store.git.tree(clone.tip)
    marks = epoch.marks_of(map(id_in, paths), (known[path] for path in paths))
    name = "".join(random.Random(str(paths) + clone.store.machine).choices(ALPHABET, k=8))
    said = epoch.emit(Purge(1, "2026-02-12T10:00:00Z", store.machine, tuple(marks)))
    with store.locked(5):
        tree = {path: ("100644", blob) for path, blob in known.items() if not _is_of(path, paths)}
        tree[epoch.path_for(1, name)] = ("100644", blob_id(said))
        new = moves.make(store, [], 0, moves.changes({}, tree), {blob_id(said): said}, "purge: some records\n")
        purging.swap(store, clone.tip, new, Sought([]), marks, "purge: some records")


def _is_of(path: str, paths: Sequence[str]) -> bool:
    return any(id_in(one) in path for one in paths)


def settle(*clones: Clone, rounds: int = 3) -> None:
    """Everybody syncs until nothing moves."""
    for _ in range(rounds):
        for clone in clones:
            clone.sync()
