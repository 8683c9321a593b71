"""Histories without what has to go, made in a bare repository below .git/reflect that borrows the store's objects.

Nothing in the store knows of them until a ref does; what a kill leaves is one folder, and objects that nobody holds.
"""

from __future__ import annotations

import os

from reflect_git.adapters import files
from reflect_git.adapters.git import SYNCED, Git
from reflect_git.model.marks import is_gone_file
from reflect_git.model.sought import PURGED
from reflect_git.store import refwrites

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from reflect_git.store.chronicle import Commit
    from reflect_git.store.repository import Store
    from reflect_git.store.stains import Doomed

FOLDER = "purge"
HELD = "refs/reflect/rewritten/"
_BROUGHT = "protocol.file.allow=always"  # from a folder of our own


def rewrite(
    store: Store, tips: Mapping[str, str], doomed: Doomed, commits: Iterable[Commit], blobs: Iterable[str] = ()
) -> dict[str, str]:  # fmt: skip
    """Ref → its new commit, whose objects are in the store and held until `release`; none where nothing is left of it.

    What is gone leaves every one of its `commits`; `blobs` are replaced, as is a text that is sought.
    """
    from reflect_git.adapters import filterrepo  # once in a store's life, if ever

    discard(store)
    root = store.private_path(FOLDER)
    files.make_private_dirs(root)
    git = Git(store.git.program, root)
    git.keep = store.git.keep
    git.run("init", "--quiet", "--template=", "-b", "none", "--object-format=sha1")
    git.run("config", "core.bare", "true")  # nothing is ever checked out of it
    files.make_private_dirs(os.path.join(git.git_dir, "objects", "info"))
    borrowed = os.fsencode(os.path.join(store.git_dir, "objects")) + b"\n"
    files.write_whole(os.path.join(git.git_dir, "objects", "info", "alternates"), borrowed, sync=False)
    git.update_refs("".join(f"create {ref} {tip}\n" for ref, tip in tips.items()))
    spec = {
        "patterns": doomed.sought.patterns, "blobs": list(blobs), "marks": list(doomed.marks),
        "messages": {commit.id: text for commit in commits for text in retold(commit, doomed)},
    }  # fmt: skip
    filterrepo.rewrite(store.git.program, git.git_dir, spec, store.git.keep)
    made = git.refs()
    if made:
        # With refs of their own, and in a pack that git keeps until they are written: a gc takes nothing of it.
        held = [f"{HELD}{number}" for number in range(len(made))]
        words = [
            "fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--end-of-options", git.git_dir,
            *(f"+{ref}:{name}" for ref, name in zip(made, held)),
        ]  # fmt: skip
        config = (_BROUGHT, "fetch.unpackLimit=1", *SYNCED)
        refwrites.run(store, refwrites.locks_of(held), *words, config=config)
    discard(store)
    return {ref: made[ref] for ref in tips if ref in made}


def retold(commit: Commit, doomed: Doomed) -> list[str]:
    """The message of a commit that speaks of what goes: its verb, without the title, and which records it had."""
    told = [(name, value) for name, values in commit.trailers.items() for value in values]
    left = sorted({one for one in (*commit.records(), *(value for _, value in told)) if doomed.is_id(one)})
    if not left:
        return []
    verb, colon, _ = commit.subject.partition(": ")
    kept = [f"{name}: {value}\n" for name, value in told if value not in left and not is_gone_file(value, doomed.marks)]
    lines = "".join([*kept, *(f"Purged: {identity}\n" for identity in left)])
    return [f"{verb}: {PURGED}\n\n{lines}" if colon else f"{PURGED}\n\n{lines}"]


def release(store: Store) -> None:
    """Branches hold what was rewritten, or it is not needed any more."""
    refwrites.update(store, "".join(f"delete {ref}\n" for ref in store.git.refs(HELD)))


def discard(store: Store) -> None:
    files.remove_tree(store.private_path(FOLDER))
