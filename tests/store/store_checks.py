"""Create a store, query git about it, and check its promises."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reflect_git.capture import service
from reflect_git.records.ids import utc_precise
from reflect_git.store import maintenance, policy, recover
from reflect_git.store.reading import reader
from reflect_git.store.repository import Store, get_record_id
from tests.conftest import find_store_problems
from tests.faults import git
from tests.store.operations import DAY, facts

if TYPE_CHECKING:
    from reflect_git.records.schema import DecisionAuthor, Signal


def open_store(root: Path) -> Store:
    return service.open_store({**os.environ, "REFLECT_GIT_HOME": str(root)})


def open_recovered_store(root: Path) -> Store:
    """Open the store as the next command does."""
    return service.open_recovered_store({**os.environ, "REFLECT_GIT_HOME": str(root)})


def capture(store: Store, content: str, **more: Any) -> Signal:
    signal, _ = service.capture_signal(store, facts(content, **more), os.environ, wait=5)
    return signal


def inbox_ids(root: Path) -> set[str]:
    """Return every signal in the tip of any inbox."""
    found: set[str] = set()
    for ref in git(root, "for-each-ref", "--format=%(refname)", "refs/heads/inbox/").split():
        found.update(get_record_id(path) for path in git(root, "ls-tree", "-r", "--name-only", ref).splitlines())
    return found - {""}


def main_paths(root: Path) -> set[str]:
    return set(git(root, "ls-tree", "-r", "--name-only", "main").splitlines())


def require_promises(root: Path, acknowledged: Iterable[str] = ()) -> Store:
    """Check that the next command repairs everything: nothing acknowledged is lost, git is content, no lock is left."""
    store = open_recovered_store(root)
    missing = set(acknowledged) - inbox_ids(root)
    assert not missing, f"acknowledged and not in the inbox: {sorted(missing)}"
    assert not (faults := find_store_problems(root)), "\n".join(faults)
    for name in ("pending", "journal", "quarantine"):
        left = os.listdir(store.private_path(name))
        assert not [n for n in left if not n.startswith(".tmp-")], f"left in {name}: {left}"
    locks = [str(path) for path in (root / ".git").rglob("*.lock")]
    assert not locks, f"lock files stand: {locks}"
    litter = [str(path) for path in root.rglob(".tmp-*") if ".git" not in path.parts]
    assert not litter, f"temporary files in the work tree: {litter}"
    assert not reader.read(store).unreadable
    return store


def run_maintenance(store: Store, now: float) -> int:
    """Run a day's maintenance; return how many signals expired."""
    recover.recover_store(store)
    with store.locked(5):
        return maintenance.run_maintenance(store, reader.read(store), now)


def run_maintenance_after(store: Store, days: float) -> int:
    """Run maintenance as on a machine in use: a clock that was seen a week before is trusted."""
    now = time.time() + days * DAY
    return run_maintenance(store, now - 8 * DAY) + run_maintenance(store, now)


def list_copies(root: Path) -> set[str]:
    """Return the ids of the plain copies in signals/."""
    found = {get_record_id(str(path.relative_to(root))) for path in (root / "signals").rglob("*.yaml")}
    return found - {""}


# git waits 0.1 s for a lock on a ref; on a busy machine its holder can sleep longer than that.
LOCK_TIMEOUT_OPTIONS = ["-c", "core.filesRefLockTimeout=10000"]


def user_commit(root: Path, name: str, text: str) -> subprocess.CompletedProcess[str]:
    """Write, add and commit a file, as a person does in their own repository."""
    (root / name).write_text(text, encoding="utf-8")
    git(root, "add", name)
    user = ["-c", "user.name=Ada", "-c", "user.email=ada@example.com"]
    command = ["git", "-C", str(root), *LOCK_TIMEOUT_OPTIONS, *user, "commit", "-qm", name]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def allow_unattended(root: Path) -> None:
    """Allow unattended approval as a person does at a terminal: the setting, and the decision behind it."""
    by: DecisionAuthor = {"road": "terminal", "name": "Ada", "email": "ada@example.com"}
    policy.set_policies(Store(str(root), os.environ), {"reflect.approval": "unattended"}, by, utc_precise())
