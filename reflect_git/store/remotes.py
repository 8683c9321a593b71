"""The store's remote: its URL, its last known state, and a lock so that one sync runs at a time."""

from __future__ import annotations

import os
import time

from reflect_git.errors import ReflectError
from reflect_git.platform import files
from reflect_git.platform.git import SYNCED, GitError
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

URL = "remote.origin.url"
TRACKED = "refs/remotes/origin/main"
BEFORE = "refs/reflect/before/"
INCOMING = "incoming"  # the throw-away repository of a sync, below .git/reflect
_STATE = "sync.json"
SIGNALS = "reflect.sync.signals"
# As `git remote add -t main` and `git push -u` set them, so that the user's own git shows ahead and behind.
_KEYS: Mapping[str, Value] = {
    "remote.origin.fetch": f"+{MAIN}:{TRACKED}", "remote.origin.tagOpt": "--no-tags",
    "branch.main.remote": "origin", "branch.main.merge": MAIN,
}  # fmt: skip


def url_of(store: Store) -> str:
    """Return the URL of the remote; empty without a remote."""
    return store.setting(URL)


def shares_signals(store: Store) -> bool:
    """Return whether inboxes are synced too."""
    return store.switched(SIGNALS, False)


def changes(url: Optional[str]) -> dict[str, Value]:
    """Return the config keys for a remote; None as value removes them."""
    return {URL: url, **{key: value if url else None for key, value in _KEYS.items()}}


def state(store: Store) -> dict[str, Any]:
    """Return the state after the last sync.

    Keys: `tip` of the remote's main, our `main`, `time`, `error`, `refused`, `inboxes`.
    """
    try:
        found = json_form.loads(files.read_if_there(store.private_path(_STATE)) or b"{}")
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def remember(store: Store, **news: Any) -> None:
    """Update the state of the sync; None removes a key."""
    known = {**state(store), **news}
    data = {key: value for key, value in known.items() if value is not None}
    files.write_whole(store.private_path(_STATE), json_form.dumps(data))


def forget(store: Store) -> None:
    """Forget the state of the remote, which was changed or removed. The caller holds the lock."""
    files.remove(store.private_path(_STATE))
    if store.git.resolve(TRACKED):
        ref_updates.update(store, f"delete {TRACKED}\n")


def track(store: Store, commit: str, meanwhile: Callable[[], object]) -> None:
    """Store the remote's main for `git status`. A commit that was not accepted has no ref here."""
    asked = ("update-ref", TRACKED, commit)

    def write() -> None:
        child = store.git.start(*asked, config=SYNCED)
        try:
            meanwhile()
        finally:
            result = child.finish()
        if result.code and store.git.resolve(f"{commit}^{{commit}}"):
            raise GitError(asked, result)

    ref_updates.take(store, ref_updates.locks_of([TRACKED]), write)


def lost(store: Store, there: Mapping[str, Any]) -> list[str]:
    """List the files that the remote had at the last sync and no longer has. They are not treated as deletions."""
    known = store.git.resolve(TRACKED)
    return [path for path in store.git.tree(known) if path not in there] if known else []


def keep_before(store: Store) -> str:
    """Create a ref for the remote's state before it was rewritten; return it. The caller holds the lock."""
    known = store.git.resolve(TRACKED)
    if known is None:
        return ""
    name = f"{BEFORE}{known[:12]}"
    ref_updates.update(store, f"update {name} {known}\n")
    return name


class Alone:
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


def failed(store: Store, error: ReflectError) -> None:
    """Store the error of a sync, for `status` and `doctor`."""
    remember(store, error=error.message, hint=error.hint, failed=utc(time.time()))


def has_incoming(store: Store) -> bool:
    """Return whether the throw-away repository of a sync exists."""
    return os.path.isdir(store.private_path(INCOMING))


def discard_incoming(store: Store) -> None:
    """Remove the throw-away repository; try three times, since a git killed a moment ago may still write to it."""
    for is_last in (False, False, True):
        try:
            files.remove_tree(store.private_path(INCOMING))
            return
        except OSError:
            if is_last:
                raise
            time.sleep(0.05)
