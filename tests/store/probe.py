"""Ways to make a store, to ask git about it, and to hold it to its promises."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reflect_git import workflow
from reflect_git.model.ids import utc_precise
from reflect_git.store import policy, reading, sweep, upkeep
from reflect_git.store.layout import id_in
from reflect_git.store.repository import Store
from tests.conftest import store_faults
from tests.faults import git
from tests.store.operations import DAY, facts

if TYPE_CHECKING:
    from reflect_git.model.schema import By, Signal


def opened(root: Path) -> Store:
    return workflow.open_store({**os.environ, "REFLECT_GIT_HOME": str(root)})


def swept(root: Path) -> Store:
    """The next command of any kind."""
    return workflow.open_swept({**os.environ, "REFLECT_GIT_HOME": str(root)})


def capture(store: Store, content: str, **more: Any) -> Signal:
    signal, _ = workflow.capture(store, facts(content, **more), os.environ, wait=5)
    return signal


def inbox_ids(root: Path) -> set[str]:
    """Every signal in the tip of any inbox."""
    found: set[str] = set()
    for ref in git(root, "for-each-ref", "--format=%(refname)", "refs/heads/inbox/").split():
        found.update(id_in(path) for path in git(root, "ls-tree", "-r", "--name-only", ref).splitlines())
    return found - {""}


def main_paths(root: Path) -> set[str]:
    return set(git(root, "ls-tree", "-r", "--name-only", "main").splitlines())


def require_promises(root: Path, acknowledged: Iterable[str] = ()) -> Store:
    """The next command mends everything: nothing acknowledged is missing, git has nothing to say, nothing stands."""
    store = swept(root)
    missing = set(acknowledged) - inbox_ids(root)
    assert not missing, f"acknowledged and not in the inbox: {sorted(missing)}"
    assert not (faults := store_faults(root)), "\n".join(faults)
    for name in ("pending", "journal", "quarantine"):
        left = os.listdir(store.private_path(name))
        assert not [n for n in left if not n.startswith(".tmp-")], f"left in {name}: {left}"
    locks = [str(path) for path in (root / ".git").rglob("*.lock")]
    assert not locks, f"lock files stand: {locks}"
    litter = [str(path) for path in root.rglob(".tmp-*") if ".git" not in path.parts]
    assert not litter, f"temporary files in the work tree: {litter}"
    assert not reading.read(store).unreadable
    return store


def keep_up(store: Store, now: float) -> int:
    """The upkeep of a day; returns how many signals went."""
    sweep.sweep(store)
    with store.locked(5):
        return upkeep.upkeep(store, reading.read(store), now)


def days_later(store: Store, days: float) -> int:
    """Upkeep as it runs on a machine that is used: a clock that was seen a week before is believed."""
    now = time.time() + days * DAY
    return keep_up(store, now - 8 * DAY) + keep_up(store, now)


def copies(root: Path) -> set[str]:
    """Ids of the plain copies in signals/."""
    found = {id_in(str(path.relative_to(root))) for path in (root / "signals").rglob("*.yaml")}
    return found - {""}


# git waits 0.1 s for a lock on a ref; on a busy machine its holder can sleep longer than that.
PATIENT = ["-c", "core.filesRefLockTimeout=10000"]


def user_commit(root: Path, name: str, text: str) -> subprocess.CompletedProcess[str]:
    """What a person does in their own repository: write, add, commit."""
    (root / name).write_text(text, encoding="utf-8")
    git(root, "add", name)
    user = ["-c", "user.name=Ada", "-c", "user.email=ada@example.com"]
    command = ["git", "-C", str(root), *PATIENT, *user, "commit", "-qm", name]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def allow_unattended(root: Path) -> None:
    """As a person does at a terminal: the setting, and the decision behind it."""
    by: By = {"road": "terminal", "name": "Ada", "email": "ada@example.com"}
    policy.switch(Store(str(root), os.environ), {"reflect.approval": "unattended"}, by, utc_precise())
