"""Repairs of what is ours in the store; `health` finds what needs them. Each can be repeated, and none loses a record.

What a repair did is returned as a sentence; what it could not do is a ReflectError.
"""

from __future__ import annotations

import os
import stat

from reflect_git.adapters import files
from reflect_git.errors import ReflectError
from reflect_git.model.counts import plural
from reflect_git.store import copies, corpses, identity, inbox, policy, refwrites, stored, sweep, upkeep
from reflect_git.store.care import lockfiles, salvage
from reflect_git.store.care.case import Case
from reflect_git.store.creation import DRIVER, add_lines, lines_lacking, template
from reflect_git.store.repository import MAIN, PRIVATE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from reflect_git.store.repository import Store

WAIT = 5.0
SHIPPED = (("info/exclude", "exclude"), ("info/attributes", "attributes"), ("hooks/pre-push", "pre-push"))
REFLOGS = ("logs/HEAD", "logs/refs/heads/main")
CONFIG = {
    "core.logAllRefUpdates": "false", "core.sharedRepository": "0600", "core.fsmonitor": "false", "gc.auto": "0",
    "maintenance.auto": "false", **DRIVER,
}  # fmt: skip
_OTHERS = stat.S_IRWXG | stat.S_IRWXO


def make_private(case: Case) -> str:
    """Take every right of other users away."""
    open_paths = list(opened_to_others(case.store))
    for path in open_paths:
        os.chmod(path, stat.S_IMODE(os.lstat(path).st_mode) & ~_OTHERS)
    return f"made {plural(len(open_paths), 'file or folder', 'files and folders')} private"


def opened_to_others(store: Store) -> Iterator[str]:
    """Files and folders of ours that other users may read or write; links have no rights of their own."""
    for path, status in everything(store):
        if not stat.S_ISLNK(status.st_mode) and status.st_mode & _OTHERS and status.st_uid == os.geteuid():
            yield path


def everything(store: Store) -> Iterator[tuple[str, os.stat_result]]:
    """The store's folder and all that is in it, except what goes while we look."""
    yield store.root, os.lstat(store.root)
    for base, folders, names in os.walk(store.root):
        for name in (*folders, *names):
            path = os.path.join(base, name)
            try:
                yield path, os.lstat(path)
            except FileNotFoundError:
                continue


def write_shipped(case: Case) -> str:
    """Put back the folders and files that a new store has; lines a person added stay."""
    store = case.store
    missing = missing_files(store)
    for name in PRIVATE:
        files.make_private_dirs(store.private_path(name))
    for name, source in SHIPPED:
        if name in missing:
            _write_shipped(os.path.join(store.git_dir, name), template("store", source))
    os.chmod(os.path.join(store.git_dir, "hooks", "pre-push"), 0o700)
    for name in REFLOGS:
        if name in missing:
            _write_shipped(os.path.join(store.git_dir, name), b"")
    return f"wrote {', '.join(missing)}"


def missing_files(store: Store) -> list[str]:
    """Names below .git of what a new store has and this one lacks, wholly or in part."""
    found = [f"reflect/{name}" for name in PRIVATE if not os.path.isdir(store.private_path(name))]
    found += [name for name, source in SHIPPED if _lacks(os.path.join(store.git_dir, name), template("store", source))]
    return found + [name for name in REFLOGS if not os.path.lexists(os.path.join(store.git_dir, name))]


def _lacks(path: str, shipped: bytes) -> bool:
    live = files.read_if_there(path)
    if live is None:
        return True
    if path.endswith("pre-push"):  # its text is the user's to change
        return not os.access(path, os.X_OK)
    return bool(lines_lacking(live, shipped))


def _write_shipped(path: str, shipped: bytes) -> None:
    if not os.path.lexists(path) or path.endswith(("exclude", "attributes")):
        add_lines(path, shipped)


def set_config(case: Case) -> str:
    wrong = wrong_config(case.store)
    policy.set_keys(case.store, {key: CONFIG[key] for key in wrong})
    return f"set {', '.join(wrong)}"


def wrong_config(store: Store) -> list[str]:
    return [key for key, value in CONFIG.items() if store.setting(key) != value]


def bury_locks(case: Case) -> str:
    """Dead ones go to corpses/; a living or foreign one is never touched."""
    store = case.store
    dead = [lock.name for lock in lockfiles.standing(store, case.now) if lock.owner == lockfiles.DEAD]
    with store.locked(WAIT):
        for name in dead:
            corpses.lay_aside(store, name)
    return f"moved {', '.join(dead)} to '.git/reflect/corpses'"


def finish(case: Case) -> str:
    """What every command does first, but with its errors heard."""
    store = case.store
    with store.locked(WAIT):
        sweep.finish_interrupted(store)
        sweep.mend_inbox(store)
    return "finished what was interrupted and committed what was pending"


def take_new_name(case: Case) -> str:
    store = case.store
    with store.locked(WAIT):
        old = store.machine
        identity.rename(store)
        inbox.start_inbox(store)
    return f"this store goes on as '{store.machine}', with what '{old}' captured"


def restore_refs(case: Case) -> str:
    """main from the last place the reflog knows; an inbox anew, filled from the copies."""
    store, said = case.store, []
    with store.locked(WAIT):
        if store.git.resolve(MAIN) is None:
            said.append(f"put 'main' back to {_restore_main(store)[:10]}")
        if not inbox.generations(store):
            files.remove(store.private_path("cache", "inbox"))
            inbox.start_inbox(store)
            said.append(f"started the inbox again with {plural(_rescue(store), 'signal')} from plain copies")
    return "; ".join(said)


def _rescue(store: Store) -> int:
    """Copies that a new inbox does not have yet are committed to it."""
    if not os.path.exists(store.private_path(inbox.RESCUE)):
        return 0
    rescued = copies.rescue(store)
    inbox.commit_all(store)
    files.remove(store.private_path(inbox.RESCUE))
    return rescued


def _restore_main(store: Store) -> str:
    for commit in last_places(store):
        if store.git.resolve(f"{commit}^{{commit}}"):
            locks = refwrites.locks_of([MAIN, "HEAD"])
            refwrites.run(store, locks, "update-ref", "-m", "doctor: put back", MAIN, commit, "0" * 40)
            return commit
    raise ReflectError("the reflog knows no commit of 'main'", "put the folder back from a backup or another machine")


def last_places(store: Store) -> list[str]:
    """Commits that main was at, the last one first, as the reflogs tell."""
    places = []
    for name in reversed(REFLOGS):
        log = files.read_if_there(os.path.join(store.git_dir, name), 1 << 26) or b""
        places += [line.split()[1].decode("ascii", "replace") for line in reversed(log.splitlines()) if b" " in line]
    return places


def clear_objects(case: Case) -> str:
    """A damaged inbox is built anew; damage that no branch holds is swept out."""
    store, broken, bad = case.store, case.broken_inboxes, case.bad_objects
    with store.locked(WAIT):
        said = f"{salvage.rebuild(store, broken, bad)}; " if broken else ""
        upkeep.free(store)
    return f"{said}took out what no branch holds"


def recover_signals(case: Case) -> str:
    """Store again what somebody deleted, where git still has it."""
    store = case.store
    with store.locked(WAIT):
        sweep.finish_interrupted(store)
        sweep.mend_inbox(store)
        found, lost = stored.recover(store, case.now)
    rest = f"; {plural(lost - found, 'signal')} cannot be recovered" if lost > found else ""
    return f"recovered {plural(found, 'signal')}{rest}"


def run_upkeep(case: Case) -> str:
    store = case.store
    with store.locked(WAIT):
        sweep.finish_interrupted(store)
        inbox.commit_all(store)
        gone = upkeep.upkeep(store, case.read_again(), case.now)
    return f"ran the upkeep; {plural(gone, 'signal')} went"
