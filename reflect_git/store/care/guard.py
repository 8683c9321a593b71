"""What the user's own git may do to main: a `git revert` applies, and no record is lost by it.

Records are write-once, so one that a commit removed is put back by the next command, and a person is asked what was
meant: `removed` has a line for each until there is an answer. Moving main back is another thing: nothing is done about
it, but the commits that were there are remembered, one a line in `tips`, until main has them again.
"""

from __future__ import annotations

import os

from reflect_git.adapters import files
from reflect_git.model.counts import plural
from reflect_git.store import mainline
from reflect_git.store.creation import DRIVER, add_lines, lines_lacking, template
from reflect_git.store.layout import RESTORED, id_in
from reflect_git.store.repository import MAIN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from reflect_git.store.repository import Store

TIPS = "tips"
REMOVED = "removed"
MIRRORS = "targets/"
_KEPT = 50


def is_needed(store: Store) -> bool:
    """Whether main moved since it was last looked at, or a `git revert` could conflict: two small files to read."""
    known = tips(store)
    return not known or known[-1] != mainline.tip(store) or bool(_wrong(store)) or _lacks_attributes(store)


def guard(store: Store) -> None:
    """The caller holds the lock."""
    if _lacks_attributes(store):
        add_lines(_attributes(store), template("store", "attributes"))
    if _wrong(store):
        store.change_config({key: DRIVER[key] for key in _wrong(store)})
    known, now = tips(store), store.git.resolve(MAIN)
    if now is None or os.path.lexists(os.path.join(store.git_dir, "index.lock")):  # the user's git is at work
        return
    if known and known[-1] != now and is_ancestor(store, known[-1], now) and put_back(store, known[-1], now):
        now = store.git.resolve(MAIN) or now
    remember(store, now)


def _wrong(store: Store) -> list[str]:
    return [key for key, value in DRIVER.items() if store.setting(key) != value]


def _attributes(store: Store) -> str:
    return os.path.join(store.git_dir, "info", "attributes")


def _lacks_attributes(store: Store) -> bool:
    return bool(lines_lacking(files.read_if_there(_attributes(store)) or b"", template("store", "attributes")))


def tips(store: Store) -> list[str]:
    """Commits that main was at: the last line is where it was seen last, the others are ones that it left."""
    text = files.read_if_there(store.private_path(TIPS)) or b""
    return text.decode("ascii", "replace").split()


def remember(store: Store, now: str) -> None:
    left = [tip for tip in tips(store) if not is_ancestor(store, tip, now)]
    text = "".join(f"{tip}\n" for tip in [*left[-_KEPT:], now])
    files.write_whole(store.private_path(TIPS), text.encode("ascii"), sync=False)


def is_ancestor(store: Store, old: str, new: str) -> bool:
    return store.git.run("merge-base", "--is-ancestor", old, new, check=False).code == 0


def put_back(store: Store, old: str, new: str) -> list[str]:
    """Records, and mirrors, that commits of others took out between two commits of main; returns their paths."""
    from reflect_git.store import chronicle  # main moves rarely

    there, lost = store.git.tree(new), {}
    seen: dict[str, list[str]] = {}
    by: dict[str, str] = {}
    for commit in chronicle.read(store, new, old):
        for change in commit.changes:
            if change.record and change.kind == chronicle.DELETED and change.path not in there:
                lost[change.path] = change.old
                by.setdefault(change.record, commit.id)
            elif change.path.startswith(MIRRORS):
                seen.setdefault(change.path, []).extend((change.old, change.new))
    lost.update(_newest(store, seen, there))
    data = dict(zip(lost, store.git.blobs(list(lost.values()))))
    if data:
        _write_removed(store, {**removed(store), **by})
        named = "".join(f"Restores: {id_in(path)}\n" for path in data if id_in(path))
        what = f"{RESTORED}{plural(len(data), 'file')} that a commit removed"
        mainline.record(store, data, f"{what}\n\n{named}Machine: {store.machine}\n")
    return list(data)


def removed(store: Store) -> dict[str, str]:
    """Record → the commit that took it out; those about which nobody was asked yet."""
    text = (files.read_if_there(store.private_path(REMOVED)) or b"").decode("ascii", "replace")
    return dict(line.split(" ", 1) for line in text.splitlines() if " " in line)


def forget_removed(store: Store, commit: str) -> None:
    """What this commit took out is settled."""
    _write_removed(store, {record: by for record, by in removed(store).items() if by != commit})


def _write_removed(store: Store, listed: Mapping[str, str]) -> None:
    text = "".join(f"{record} {commit}\n" for record, commit in listed.items())
    files.write_whole(store.private_path(REMOVED), text.encode("ascii"), sync=False)


def _newest(store: Store, seen: Mapping[str, list[str]], there: Mapping[str, str]) -> dict[str, str]:
    """Mirrors that went back, or went: the highest version of each is what we last wrote."""
    found = {}
    for path, blobs in seen.items():
        known = [blob for blob in dict.fromkeys([there.get(path, ""), *blobs]) if blob.strip("0")]
        versions = dict(zip(known, map(_version, store.git.blobs(known))))
        best = max(known, key=versions.__getitem__)
        if best != there.get(path) and versions[best] > versions.get(there.get(path, ""), -1):
            found[path] = best
    return found


def _version(mirror: bytes) -> int:
    name, _, number = mirror.partition(b"\n")[0].partition(b": ")
    return int(number) if name == b"version" and number.isdigit() else 0
