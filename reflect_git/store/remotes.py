"""The store's remote: its URL, its last known state, and a lock so that one sync runs at a time."""

from __future__ import annotations

import os
import time

from reflect_git.errors import ReflectError
from reflect_git.platform import files
from reflect_git.platform.git import SYNC_CONFIG, GitError
from reflect_git.records import json_form
from reflect_git.records.ids import utc
from reflect_git.store.main import ref_updates
from reflect_git.store.repository import MAIN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from types import TracebackType
    from typing import Any, Optional

    from reflect_git.store.config_file import Value
    from reflect_git.store.repository import Store

URL_KEY = "remote.origin.url"
TRACKING_REF = "refs/remotes/origin/main"
BEFORE_PREFIX = "refs/reflect/before/"
INCOMING_FOLDER = "incoming"  # the throw-away repository of a sync, below .git/reflect
_STATE_FILE = "sync.json"
SIGNALS_KEY = "reflect.sync.signals"
# As `git remote add -t main` and `git push -u` set them, so that the user's own git shows ahead and behind.
_REMOTE_CONFIG: Mapping[str, Value] = {
    "remote.origin.fetch": f"+{MAIN}:{TRACKING_REF}", "remote.origin.tagOpt": "--no-tags",
    "branch.main.remote": "origin", "branch.main.merge": MAIN,
}  # fmt: skip


def get_url(store: Store) -> str:
    """Return the URL of the remote; empty without a remote."""
    return store.get_setting(URL_KEY)


def shares_signals(store: Store) -> bool:
    """Return whether inboxes are synced too."""
    return store.is_enabled(SIGNALS_KEY, False)


def build_config(url: Optional[str]) -> dict[str, Value]:
    """Return the config keys for a remote; None as value removes them."""
    return {URL_KEY: url, **{key: value if url else None for key, value in _REMOTE_CONFIG.items()}}


def load_state(store: Store) -> dict[str, Any]:
    """Return the state after the last sync.

    Keys: `tip` of the remote's main, our `main`, `time`, `error`, `refused`, `inboxes`.
    """
    try:
        found = json_form.loads(files.read_if_exists(store.private_path(_STATE_FILE)) or b"{}")
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def update_state(store: Store, **news: Any) -> None:
    """Update the state of the sync; None removes a key."""
    known = {**load_state(store), **news}
    data = {key: value for key, value in known.items() if value is not None}
    files.write_atomic(store.private_path(_STATE_FILE), json_form.dumps(data))


def delete_state(store: Store) -> None:
    """Forget the state of the remote, which was changed or removed. The caller holds the lock."""
    files.remove(store.private_path(_STATE_FILE))
    if store.git.resolve(TRACKING_REF):
        ref_updates.update(store, f"delete {TRACKING_REF}\n")


def update_tracking_ref(store: Store, commit: str, meanwhile: Callable[[], object]) -> None:
    """Store the remote's main for `git status`. A commit that was not accepted has no ref here."""
    asked = ("update-ref", TRACKING_REF, commit)

    def write() -> None:
        child = store.git.start(*asked, config=SYNC_CONFIG)
        try:
            meanwhile()
        finally:
            result = child.communicate()
        if result.code and store.git.resolve(f"{commit}^{{commit}}"):
            raise GitError(asked, result)

    ref_updates.run_with_locks(store, ref_updates.get_lock_files([TRACKING_REF]), write)


def find_lost_files(store: Store, there: Mapping[str, Any]) -> list[str]:
    """List the files that the remote had at the last sync and no longer has. They are not treated as deletions."""
    known = store.git.resolve(TRACKING_REF)
    return [path for path in store.git.tree(known) if path not in there] if known else []


def create_before_ref(store: Store) -> str:
    """Create a ref for the remote's state before it was rewritten; return it. The caller holds the lock."""
    known = store.git.resolve(TRACKING_REF)
    if known is None:
        return ""
    name = f"{BEFORE_PREFIX}{known[:12]}"
    ref_updates.update(store, f"update {name} {known}\n")
    return name


class SyncLock:
    """A lock for one sync at a time: `with Alone(store, 10):`. Hooks and other commands are not blocked.

    It may be entered earlier and handed over to that block.
    """

    def __init__(self, store: Store, seconds: float) -> None:
        self._lock = files.Lock(store.private_path("syncing"))
        self._seconds = seconds

    def __enter__(self) -> None:
        if self._lock.descriptor < 0 and not self._lock.acquire(self._seconds):
            raise ReflectError("another sync is running", "wait for it to end", code="busy")

    def __exit__(
        self, kind: Optional[type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        self._lock.release()


def record_failure(store: Store, error: ReflectError) -> None:
    """Store the error of a sync, for `status` and `doctor`."""
    update_state(store, error=error.message, hint=error.hint, failed=utc(time.time()))


def has_incoming(store: Store) -> bool:
    """Return whether the throw-away repository of a sync exists."""
    return os.path.isdir(store.private_path(INCOMING_FOLDER))


def discard_incoming(store: Store) -> None:
    """Remove the throw-away repository; try three times, since a git killed a moment ago may still write to it."""
    for is_last in (False, False, True):
        try:
            files.remove_tree(store.private_path(INCOMING_FOLDER))
            return
        except OSError:
            if is_last:
                raise
            time.sleep(0.05)
