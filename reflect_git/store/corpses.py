"""Lock files that a killed git child left: moved away, never deleted, and never while they may have a living owner."""

from __future__ import annotations

import os
import time

from reflect_git.adapters import files

TYPE_CHECKING = False
if TYPE_CHECKING:
    from reflect_git.store.repository import Store

AGE = 2.0


def bury(store: Store, lock_file: str, deadline: float, not_before: float = 0.0) -> bool:
    """Move a dead lock file of ours away once it stood unchanged for two seconds.

    False when there is none, when it is older than the step that could have left it (`not_before`), or when it is too
    young to be sure before `deadline`.
    """
    path = os.path.join(store.git_dir, lock_file)
    while True:
        try:
            made = os.lstat(path).st_mtime
        except OSError:
            return False
        if made < not_before:
            return False
        age = time.time() - made
        if age >= AGE or age < -AGE:
            lay_aside(store, lock_file)
            return True
        if time.monotonic() >= deadline:
            return False
        time.sleep(0.05)


def lay_aside(store: Store, lock_file: str) -> None:
    name = f"{lock_file.replace('/', '_')}-{os.urandom(4).hex()}"
    store.log(f"moved the dead lock '{lock_file}' away")
    files.rename(os.path.join(store.git_dir, lock_file), store.private_path("corpses", name))
