"""Histories without what has to go, made in a bare repository below .git/reflect that borrows the store's objects.

Nothing in the store knows of them until a ref does; what a kill leaves is one folder, and objects that nobody holds.
"""

from __future__ import annotations

import os

from reflect_git.adapters import files
from reflect_git.adapters.git import SYNCED, Git

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from reflect_git.model.sought import Sought
    from reflect_git.store.repository import Store

FOLDER = "purge"
_BROUGHT = "protocol.file.allow=always"  # from a folder of our own


def rewrite(
    store: Store, tips: Mapping[str, str], sought: Sought, paths: Iterable[str] = (), blobs: Iterable[str] = (),
    messages: Mapping[str, str] | None = None, marks: Iterable[str] = (),
) -> dict[str, str]:  # fmt: skip
    """Ref → its new commit, whose objects are in the store; a ref of which nothing is left has none.

    `paths` go from every commit, `blobs` and `sought` texts are replaced, `messages` are given to their commits;
    mirrors lose the entries of which `marks` tell.
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
        "paths": list(paths), "patterns": sought.patterns, "blobs": list(blobs), "messages": dict(messages or {}),
        "marks": list(marks),
    }  # fmt: skip
    filterrepo.rewrite(store.git.program, git.git_dir, spec, store.git.keep)
    made = git.refs()
    if made:
        store.git.run(
            "fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--end-of-options", git.git_dir, *made,
            config=(_BROUGHT, *SYNCED),
        )  # fmt: skip
    discard(store)
    return {ref: made[ref] for ref in tips if ref in made}


def discard(store: Store) -> None:
    files.remove_tree(store.private_path(FOLDER))
