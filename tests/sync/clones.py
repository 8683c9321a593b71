"""Several machines of one person, and their remote: stores and a bare repository in temporary folders."""

from __future__ import annotations

import os
import random
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from reflect_git.capture import service
from reflect_git.records.ids import ALPHABET
from reflect_git.records.search_text import TextSearch
from reflect_git.store import policy, recover, remotes
from reflect_git.store.main import main_branch, move_main
from reflect_git.store.purge import purge_main
from reflect_git.store.reading import reader
from reflect_git.store.repository import Store, get_record_id
from reflect_git.sync import exchange, store_paths
from reflect_git.sync.exchange import SyncOptions, SyncReport
from reflect_git.sync.store_paths import Purge
from tests.conftest import find_store_problems
from tests.faults import git
from tests.sync.sample_records import blob_id, build_approval, build_decision, build_files

NO_PAUSE = SyncOptions(pause=lambda seconds: None)


class Clone:
    """One machine."""

    def __init__(self, root: Path, url: str = "") -> None:
        self.root = root
        self.store = service.open_store(self.env)
        if url:
            self.connect(url)

    @property
    def env(self) -> Mapping[str, str]:
        return {**os.environ, "REFLECT_GIT_HOME": str(self.root)}

    def connect(self, url: str) -> None:
        policy.set_keys(self.store, remotes.build_config(url))

    def open_store(self) -> Store:
        """Open the store as the next command does."""
        self.store = service.open_recovered_store(self.env)
        return self.store

    def add_records(self, *made: dict[str, Any], **files: bytes) -> list[str]:
        new = {**build_files(*made), **files}
        with self.store.locked(5):
            recover.finish_interrupted(self.store)
            main_branch.commit_files(self.store, new, "dismiss: something\n")
        return list(new)

    def approve(self, number: int) -> list[str]:
        return self.add_records(*build_approval(number, self.store.machine))

    def dismiss(self, number: int) -> list[str]:
        return self.add_records(build_decision(number, self.store.machine))

    def sync(self, wishes: SyncOptions = NO_PAUSE) -> SyncReport:
        return exchange.sync(self.open_store(), self.env, wishes)

    def list_paths(self) -> set[str]:
        return set(git(self.root, "ls-tree", "-r", "--name-only", "-z", "main").split("\0")) - {""}

    @property
    def tree(self) -> str:
        return git(self.root, "rev-parse", "main^{tree}").strip()

    @property
    def tip(self) -> str:
        return git(self.root, "rev-parse", "main").strip()

    def commit(self, name: str, data: bytes) -> None:
        """Commit a file with the user's own git."""
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        git(self.root, "add", "--force", "--", name)
        git(self.root, "-c", "user.name=Ada", "-c", "user.email=ada@example.com", "commit", "-qm", f"edit {name}")

    def require_sound(self) -> None:
        assert not (faults := find_store_problems(self.root)), "\n".join(faults)
        assert not (self.root / ".git" / "reflect" / "incoming").exists()


def create_bare_repository(path: Path, *options: str) -> Path:
    subprocess.run(["git", "init", "-q", "--bare", "-b", "main", *options, str(path)], check=True)
    return path


def purge_record(clone: Clone, path: str) -> None:
    """Purge a record and keep the rest of the history, so that it still shows who made what."""
    store, sought = clone.open_store(), TextSearch([])
    with store.locked(5):
        found = purge_main.preview_purge(store, sought, [get_record_id(path)], _list_decisions_about(store))
        marks = store_paths.build_marks(found.records, found.blobs)
        said = store_paths.emit_purge(Purge(1, "2026-02-12T10:00:00Z", store.machine, tuple(marks)))
        name = "".join(random.Random(path + store.machine).choices(ALPHABET, k=8))
        purge_main.run_purge(
            store, found, sought, marks, {store_paths.build_purge_path(1, name): said}, "purge: a record\n"
        )


def _list_decisions_about(store: Store) -> dict[str, list[str]]:
    decided = reader.read(store).main_records.values()
    made = [one for one in decided if one["id"].startswith("DEC-") and one["subject"].startswith("LRN-")]
    return {one["subject"]: [each["id"] for each in made if each["subject"] == one["subject"]] for one in made}


def purge_squashed(clone: Clone, paths: Sequence[str]) -> None:
    """Purge some records, with all history in one commit, which is enough if nobody edited by hand."""
    store = clone.open_store()
    known = store.git.tree(clone.tip)
    marks = store_paths.build_marks(map(get_record_id, paths), (known[path] for path in paths))
    name = "".join(random.Random(str(paths) + clone.store.machine).choices(ALPHABET, k=8))
    said = store_paths.emit_purge(Purge(1, "2026-02-12T10:00:00Z", store.machine, tuple(marks)))
    with store.locked(5):
        tree = {path: ("100644", blob) for path, blob in known.items() if not _is_about(path, paths)}
        tree[store_paths.build_purge_path(1, name)] = ("100644", blob_id(said))
        new = move_main.create_commit(
            store, [], 0, move_main.get_tree_changes({}, tree), {blob_id(said): said}, "purge: some records\n"
        )
        purge_main.replace_main(store, clone.tip, new, TextSearch([]), marks, "purge: some records")


def _is_about(path: str, paths: Sequence[str]) -> bool:
    return any(get_record_id(one) in path for one in paths)


def sync_until_stable(*clones: Clone, rounds: int = 3) -> None:
    """Sync all clones until nothing changes."""
    for _ in range(rounds):
        for clone in clones:
            clone.sync()
