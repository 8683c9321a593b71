"""A store under examination: what every check needs to see, and what it answers."""

from __future__ import annotations

import os
import re

from reflect_git.adapters import files
from reflect_git.errors import ReflectError
from reflect_git.store.repository import INBOX

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import NamedTuple, Optional

    from reflect_git.adapters.child import Result
    from reflect_git.store.reading import Snapshot
    from reflect_git.store.repository import Store

    class Finding(NamedTuple):
        level: str
        message: str
        hint: str = ""
        fixable: bool = False
        details: Sequence[str] = ()

else:
    from collections import namedtuple

    Finding = namedtuple("Finding", "level message hint fixable details", defaults=("", False, ()))

OK, NOTE, WARNING, DECIDE, ERROR = "ok", "note", "warning", "decide", "error"
MINUTE, DAY = 60, 86400
_NAMED = 5


class Case:
    """A store under examination. `read` gives its snapshot, in the way the front can read it."""

    def __init__(self, store: Store, now: float, read: Callable[[Store], Snapshot]) -> None:
        self.store = store
        self.now = now
        self._read = read
        self._snapshot: Optional[Snapshot] = None
        self._fsck: Optional[Result] = None

    def snapshot(self) -> Snapshot:
        if self._snapshot is None:
            self._snapshot = self._read(self.store)
        return self._snapshot

    def read_again(self) -> Snapshot:
        """Under the lock: what was decided since the checks counts."""
        self._snapshot = None
        return self.snapshot()

    def fsck(self) -> Result:
        if self._fsck is None:
            self._fsck = self.store.git.fsck()
        return self._fsck

    @property
    def bad_objects(self) -> set[str]:
        said = (self.fsck().out + self.fsck().err).decode("utf-8", "replace")
        return set(re.findall(r"\b[0-9a-f]{40}\b", said))

    def is_broken(self, ref: str) -> bool:
        """Whether a branch cannot be read to its end, or holds an object that git complains about."""
        if self.fsck().code == 0:
            return False
        listing = self.store.git.run("rev-list", "--objects", "--no-object-names", "--end-of-options", ref, check=False)
        return listing.code != 0 or not self.bad_objects.isdisjoint(listing.out.decode("ascii", "replace").split())

    @property
    def broken_inboxes(self) -> list[str]:
        prefix = f"{INBOX}{self.store.machine}/"
        return [ref for ref in all_refs(self.store) if ref.startswith(prefix) and self.is_broken(ref)]


class Check:
    """One thing that can be wrong: how to see it and, where it is ours, how to mend it."""

    def __init__(
        self, name: str, look: Callable[[Case], list[Finding]], mend: Optional[Callable[[Case], str]] = None
    ) -> None:
        self.name = name
        self._look = look
        self.mend = mend

    def run(self, case: Case) -> list[Finding]:
        """What is found; a check that cannot even be made says why."""
        try:
            return self._look(case)
        except (ReflectError, OSError) as error:
            return [Finding(ERROR, f"cannot be checked: {error}", "mend what stands above first")]


def all_refs(store: Store) -> list[str]:
    """Every branch by name, those included that git passes over because it cannot read them."""
    found = set(store.git.refs("refs/heads/"))
    for path in files.files_below(os.path.join(store.git_dir, "refs", "heads")):
        if not path.endswith(".lock"):
            found.add(os.path.relpath(path, store.git_dir).replace(os.sep, "/"))
    return sorted(found)


def age(seconds: float) -> str:
    """`40 s`, `3 min`, `5 h`, `12 days`."""
    for size, unit in ((DAY, "days"), (3600, "h"), (MINUTE, "min")):
        if seconds >= 2 * size:
            return f"{int(seconds // size)} {unit}"
    return f"{max(0, int(seconds))} s"


def some(names: Sequence[str]) -> str:
    return ", ".join(f"'{name}'" for name in names[:_NAMED]) + (", …" if len(names) > _NAMED else "")
