"""Handle what the user's own git does to main: a `git revert` works, and no record is lost.

Records are write-once. The next command restores a removed record, and a person is asked what was meant: `removed` has
a line for each until there is an answer. If main is moved back, nothing is changed. The commits it left are remembered
in `tips`, one a line, until main has them again.
"""

from __future__ import annotations

import os

from reflect_git.platform import files
from reflect_git.records.ids import plural
from reflect_git.store.creation import MERGE_DRIVER, add_missing_lines, find_missing_lines, read_template
from reflect_git.store.main import main_branch
from reflect_git.store.repository import MAIN, RESTORE_PREFIX, get_record_id

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from reflect_git.store.repository import Store

TIPS_FILE = "tips"
REMOVED_FILE = "removed"
TARGETS_PREFIX = "targets/"
_MAX_TIPS = 50


def is_repair_needed(store: Store) -> bool:
    """Return whether main has moved since the last check, or a `git revert` could conflict. Reads two small files."""
    known = load_tips(store)
    return (
        not known
        or known[-1] != main_branch.get_tip(store)
        or bool(_find_wrong_settings(store))
        or _lacks_attributes(store)
    )


def repair_main(store: Store) -> None:
    """Repair attributes and merge driver, and restore records that the user's git removed.

    The caller holds the lock.
    """
    if _lacks_attributes(store):
        add_missing_lines(_get_attributes_path(store), read_template("store", "attributes"))
    if _find_wrong_settings(store):
        store.change_config({key: MERGE_DRIVER[key] for key in _find_wrong_settings(store)})
    known, now = load_tips(store), store.git.resolve(MAIN)
    if now is None or os.path.lexists(os.path.join(store.git_dir, "index.lock")):  # the user's git is running
        return
    if known and known[-1] != now and is_ancestor(store, known[-1], now) and restore_removed(store, known[-1], now):
        now = store.git.resolve(MAIN) or now
    save_tip(store, now)


def _find_wrong_settings(store: Store) -> list[str]:
    return [key for key, value in MERGE_DRIVER.items() if store.get_setting(key) != value]


def _get_attributes_path(store: Store) -> str:
    return os.path.join(store.git_dir, "info", "attributes")


def _lacks_attributes(store: Store) -> bool:
    return bool(
        find_missing_lines(
            files.read_if_exists(_get_attributes_path(store)) or b"", read_template("store", "attributes")
        )
    )


def load_tips(store: Store) -> list[str]:
    """Return the commits that main was at: the last one seen at the end, before it those that main left."""
    text = files.read_if_exists(store.private_path(TIPS_FILE)) or b""
    return text.decode("ascii", "replace").split()


def save_tip(store: Store, now: str) -> None:
    """Store main's commit, and the earlier ones that it does not contain."""
    left = [tip for tip in load_tips(store) if not is_ancestor(store, tip, now)]
    text = "".join(f"{tip}\n" for tip in [*left[-_MAX_TIPS:], now])
    files.write_atomic(store.private_path(TIPS_FILE), text.encode("ascii"), sync=False)


def is_ancestor(store: Store, old: str, new: str) -> bool:
    """Return whether `old` is an ancestor of `new`."""
    return store.git.run("merge-base", "--is-ancestor", old, new, check=False).code == 0


def restore_removed(store: Store, old: str, new: str) -> list[str]:
    """Restore the records and target snapshots that others' commits removed from main; return their paths."""
    from reflect_git.store.main import commit_log  # main rarely moves

    there, lost = store.git.tree(new), {}
    seen: dict[str, list[str]] = {}
    by: dict[str, str] = {}
    for commit in commit_log.read(store, new, old):
        for change in commit.changes:
            if change.record_id and change.kind == commit_log.DELETED and change.path not in there:
                lost[change.path] = change.old
                by.setdefault(change.record_id, commit.id)
            elif change.path.startswith(TARGETS_PREFIX):
                seen.setdefault(change.path, []).extend((change.old, change.new))
    lost.update(_find_newest_snapshots(store, seen, there))
    data = dict(zip(lost, store.git.blobs(list(lost.values()))))
    if data:
        _write_removed(store, {**load_removed(store), **by})
        named = "".join(f"Restores: {get_record_id(path)}\n" for path in data if get_record_id(path))
        what = f"{RESTORE_PREFIX}{plural(len(data), 'file')} that a commit removed"
        main_branch.commit_files(store, data, f"{what}\n\n{named}Machine: {store.machine}\n")
    return list(data)


def load_removed(store: Store) -> dict[str, str]:
    """Return record → the commit that removed it, for those that no person was asked about yet."""
    text = (files.read_if_exists(store.private_path(REMOVED_FILE)) or b"").decode("ascii", "replace")
    return dict(line.split(" ", 1) for line in text.splitlines() if " " in line)


def delete_removed(store: Store, commit: str) -> None:
    """Forget the records that this commit removed: the question is answered."""
    _write_removed(store, {record: by for record, by in load_removed(store).items() if by != commit})


def _write_removed(store: Store, listed: Mapping[str, str]) -> None:
    text = "".join(f"{record} {commit}\n" for record, commit in listed.items())
    files.write_atomic(store.private_path(REMOVED_FILE), text.encode("ascii"), sync=False)


def _find_newest_snapshots(store: Store, seen: Mapping[str, list[str]], there: Mapping[str, str]) -> dict[str, str]:
    """Return the target snapshots that were reverted or deleted: the highest version is what we last wrote."""
    found = {}
    for path, blobs in seen.items():
        known = [blob for blob in dict.fromkeys([there.get(path, ""), *blobs]) if blob.strip("0")]
        versions = dict(zip(known, map(_parse_version, store.git.blobs(known))))
        best = max(known, key=versions.__getitem__)
        if best != there.get(path) and versions[best] > versions.get(there.get(path, ""), -1):
            found[path] = best
    return found


def _parse_version(mirror: bytes) -> int:
    name, _, number = mirror.partition(b"\n")[0].partition(b": ")
    return int(number) if name == b"version" and number.isdigit() else 0
