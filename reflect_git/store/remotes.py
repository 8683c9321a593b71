"""The remote of this store: where it is, what it had when we last looked, and that one sync runs at a time."""

from __future__ import annotations

import time

from reflect_git.adapters import files, jsontext
from reflect_git.adapters.git import SYNCED, GitError
from reflect_git.errors import ReflectError
from reflect_git.model.ids import utc
from reflect_git.store import refwrites
from reflect_git.store.repository import MAIN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from types import TracebackType
    from typing import Any, Optional

    from reflect_git.store.configfile import Value
    from reflect_git.store.repository import Store

URL = "remote.origin.url"
TRACKED = "refs/remotes/origin/main"
BEFORE = "refs/reflect/before/"
_STATE = "sync.json"
SIGNALS = "reflect.sync.signals"
# As `git remote add -t main` and `git push -u` leave it, so that the user's own git knows what is ahead and behind.
_KEYS: Mapping[str, Value] = {
    "remote.origin.fetch": f"+{MAIN}:{TRACKED}", "remote.origin.tagOpt": "--no-tags",
    "branch.main.remote": "origin", "branch.main.merge": MAIN,
}  # fmt: skip


def url_of(store: Store) -> str:
    return store.setting(URL)


def shares_signals(store: Store) -> bool:
    """Whether inboxes are exchanged, too."""
    return store.switched(SIGNALS, False)


def changes(url: Optional[str]) -> dict[str, Value]:
    """What the store's config has to say of a remote, or of none."""
    return {URL: url, **{key: value if url else None for key, value in _KEYS.items()}}


def state(store: Store) -> dict[str, Any]:
    """What the last sync left: `tip` of main there, `main` here, `time`, `error`, `refused`, `inboxes`."""
    try:
        found = jsontext.loads(files.read_if_there(store.private_path(_STATE)) or b"{}")
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def remember(store: Store, **news: Any) -> None:
    known = {**state(store), **news}
    data = {key: value for key, value in known.items() if value is not None}
    files.write_whole(store.private_path(_STATE), jsontext.dumps(data))


def forget(store: Store) -> None:
    """Another remote, or none: nothing that was seen there counts any more. The caller holds the lock."""
    files.remove(store.private_path(_STATE))
    if store.git.resolve(TRACKED):
        refwrites.update(store, f"delete {TRACKED}\n")


def track(store: Store, commit: str, meanwhile: Callable[[], object]) -> None:
    """Remember what main is there, for `git status`; a commit that was not taken over has no ref here."""
    asked = ("update-ref", TRACKED, commit)

    def write() -> None:
        child = store.git.start(*asked, config=SYNCED)
        try:
            meanwhile()
        finally:
            result = child.finish()
        if result.code and store.git.resolve(f"{commit}^{{commit}}"):
            raise GitError(asked, result)

    refwrites.take(store, refwrites.locks_of([TRACKED]), write)


def lost(store: Store, there: Mapping[str, Any]) -> list[str]:
    """What the remote had when we last looked, and has no more: nobody here reads that as a deletion."""
    known = store.git.resolve(TRACKED)
    return [path for path in store.git.tree(known) if path not in there] if known else []


def keep_before(store: Store) -> str:
    """A ref that holds what the remote had before it was rewritten. The caller holds the lock."""
    known = store.git.resolve(TRACKED)
    if known is None:
        return ""
    name = f"{BEFORE}{known[:12]}"
    refwrites.update(store, f"update {name} {known}\n")
    return name


class Alone:
    """`with Alone(store, 10):` – one sync at a time; hooks and other commands go on meanwhile.

    It may be entered before, by who hands it over to that block.
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
    """For `status` and `doctor`."""
    remember(store, error=error.message, hint=error.hint, failed=utc(time.time()))
