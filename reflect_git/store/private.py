"""`.git/reflect`, made again where somebody deleted it or a part of it, or put something else in its place.

All that is there can be found again on the branches, or may be lost, except captures that wait for a commit.
"""

from __future__ import annotations

import os
import stat

from reflect_git.adapters import files
from reflect_git.store.repository import PRIVATE, PRIVATE_FILES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from reflect_git.store.repository import Store


def mend(store: Store) -> None:
    """Make the folders that are missing; what is of the wrong kind stays beside them under another name.

    On a disk that takes nothing this does nothing: whoever only reads can go on.
    """
    try:
        for name in ("", *PRIVATE):
            _make_folder(store.private_path(name).rstrip(os.sep))
        for name in PRIVATE_FILES:
            path = store.private_path(name)
            if os.path.lexists(path) and not stat.S_ISREG(os.lstat(path).st_mode):
                files.set_aside(path)
    except OSError:
        return


def _make_folder(path: str) -> None:
    if os.path.lexists(path) and not stat.S_ISDIR(os.lstat(path).st_mode):
        files.set_aside(path)
    files.claim_directory(path)
