"""Repairs for `doctor --fix`, and the owners of lock files in the store.

A lock file is ours if it has our inode (index and config), if a journal names it, or if it is on our own inbox. Only
holders of the store's lock write to that inbox. A file older than the boot has no owner. Any other lock file belongs to
somebody else: it is reported, never removed.
"""

from __future__ import annotations

import json
import os
import stat

from reflect_git.errors import ReflectError
from reflect_git.memory.upkeep import Upkeep
from reflect_git.platform import files, system
from reflect_git.records.ids import plural
from reflect_git.records.named_tuple import NamedTuple
from reflect_git.store import copies, inbox, lost_signals, maintenance, opening, policy, recover
from reflect_git.store.creation import MERGE_DRIVER, add_missing_lines, find_missing_lines, read_template
from reflect_git.store.lost_signals import CheckContext
from reflect_git.store.main import journal, ref_updates
from reflect_git.store.repository import INBOX, MAIN, PRIVATE_FOLDERS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Optional

    from reflect_git.store.repository import Store

DEAD, BUSY, FOREIGN = "dead", "busy", "foreign"
_LIMIT = 1 << 20


class LockFile(NamedTuple):
    """A lock file: its age in seconds, and whether its owner is dead, busy or somebody else."""

    name: str
    age: float
    owner: str


def list_lock_files(store: Store, now: float) -> list[LockFile]:
    """List every lock file of git in the store, by name. Call it without the store's lock."""
    busy, named = get_lock_holder(store) is not None, _list_journal_locks(store)
    found = []
    for name in sorted(_find_lock_names(store)):
        try:
            changed = os.lstat(os.path.join(store.git_dir, name)).st_mtime
        except FileNotFoundError:
            continue
        found.append(LockFile(name, now - changed, _find_owner(store, name, changed, now - changed, busy, named)))
    return found


def get_lock_holder(store: Store) -> Optional[tuple[int, float]]:
    """Return process and start time of the holder of the store's lock, or None if it is free."""
    lock = files.Lock(store.lock.path)
    if lock.try_acquire():
        lock.release()
        return None
    words = (files.read_if_exists(lock.path) or b"").split()
    pid, since = (int(word) if word.isdigit() else 0 for word in (*words, b"", b"")[:2])
    return pid, float(since)


def _find_lock_names(store: Store) -> Iterator[str]:
    for base, folders, names in os.walk(store.git_dir):
        inside = os.path.relpath(base, store.git_dir)
        if inside == ".":
            folders[:] = [folder for folder in folders if folder != "reflect"]
        elif inside == "objects":
            folders[:] = [folder for folder in folders if folder in ("info", "pack")]
        for name in names:
            if name.endswith(".lock"):
                yield os.path.normpath(os.path.join(inside, name))


def _find_owner(store: Store, name: str, changed: float, age: float, busy: bool, named: set[str]) -> str:
    boot = system.current.get_boot_time()
    if boot is not None and changed < boot:
        return DEAD
    if _is_our_link(store, name):
        return BUSY if busy else DEAD
    if name in named or name.startswith(f"{INBOX}{store.machine}/"):
        return BUSY if busy or abs(age) < journal.STALE_SECONDS else DEAD
    return FOREIGN


def _is_our_link(store: Store, name: str) -> bool:
    """Tell whether a lock is ours: the locks of index and config are hard links to our temporary files."""
    kind = name.removesuffix(".lock")
    return kind in ("index", "config") and files.is_same_file(
        os.path.join(store.git_dir, name), store.private_path(kind)
    )


def _list_journal_locks(store: Store) -> set[str]:
    named: set[str] = set()
    for name in files.list_names(store.private_path("journal")):
        try:
            facts = json.loads(files.read_regular(store.private_path("journal", name), _LIMIT << 6))
        except (OSError, ValueError):
            continue
        if isinstance(facts, dict):
            named.update(str(lock) for lock in facts.get("locks", ()))
    return named


LOCK_SECONDS = 5.0
SHIPPED_FILES = (("info/exclude", "exclude"), ("info/attributes", "attributes"), ("hooks/pre-push", "pre-push"))
REFLOGS = ("logs/HEAD", "logs/refs/heads/main")
REQUIRED_CONFIG = {
    "core.logAllRefUpdates": "false", "core.sharedRepository": "0600", "core.fsmonitor": "false", "gc.auto": "0",
    "maintenance.auto": "false", **MERGE_DRIVER,
}  # fmt: skip
_OTHER_USERS = stat.S_IRWXG | stat.S_IRWXO


def make_private(ctx: CheckContext) -> str:
    """Remove all permissions of other users."""
    open_paths = list(find_open_to_others(ctx.store))
    for path in open_paths:
        os.chmod(path, stat.S_IMODE(os.lstat(path).st_mode) & ~_OTHER_USERS)
    return f"made {plural(len(open_paths), 'file or folder', 'files and folders')} private"


def find_open_to_others(store: Store) -> Iterator[str]:
    """Yield our files and folders that other users may read or write; links have no permissions of their own."""
    for path, status in list_all_files(store):
        if not stat.S_ISLNK(status.st_mode) and status.st_mode & _OTHER_USERS and status.st_uid == os.geteuid():
            yield path


def list_all_files(store: Store) -> Iterator[tuple[str, os.stat_result]]:
    """Yield the store's folder and everything in it, except files that disappear meanwhile."""
    yield store.root, os.lstat(store.root)
    for base, folders, names in os.walk(store.root):
        for name in (*folders, *names):
            path = os.path.join(base, name)
            try:
                yield path, os.lstat(path)
            except FileNotFoundError:
                continue


def restore_shipped_files(ctx: CheckContext) -> str:
    """Restore the folders and files of a new store; lines that a person added stay."""
    store = ctx.store
    missing = find_missing_files(store)
    for name in PRIVATE_FOLDERS:
        files.make_private_dirs(store.private_path(name))
    for name, source in SHIPPED_FILES:
        if name in missing:
            _write_shipped_file(os.path.join(store.git_dir, name), read_template("store", source))
    os.chmod(os.path.join(store.git_dir, "hooks", "pre-push"), 0o700)
    for name in REFLOGS:
        if name in missing:
            _write_shipped_file(os.path.join(store.git_dir, name), b"")
    return f"wrote {', '.join(missing)}"


def find_missing_files(store: Store) -> list[str]:
    """Return the names below .git that a new store has and this one lacks, wholly or in part."""
    found = [f"reflect/{name}" for name in PRIVATE_FOLDERS if not os.path.isdir(store.private_path(name))]
    found += [
        name
        for name, source in SHIPPED_FILES
        if _is_incomplete(os.path.join(store.git_dir, name), read_template("store", source))
    ]
    return found + [name for name in REFLOGS if not os.path.lexists(os.path.join(store.git_dir, name))]


def _is_incomplete(path: str, shipped: bytes) -> bool:
    live = files.read_if_exists(path)
    if live is None:
        return True
    if path.endswith("pre-push"):  # the user may change its text
        return not os.access(path, os.X_OK)
    return bool(find_missing_lines(live, shipped))


def _write_shipped_file(path: str, shipped: bytes) -> None:
    if not os.path.lexists(path) or path.endswith(("exclude", "attributes")):
        add_missing_lines(path, shipped)


def set_config(ctx: CheckContext) -> str:
    wrong = find_wrong_config(ctx.store)
    policy.set_keys(ctx.store, {key: REQUIRED_CONFIG[key] for key in wrong})
    return f"set {', '.join(wrong)}"


def find_wrong_config(store: Store) -> list[str]:
    """Return the git settings that differ from CONFIG."""
    return [key for key, value in REQUIRED_CONFIG.items() if store.get_setting(key) != value]


def move_stale_locks(ctx: CheckContext) -> str:
    """Move dead lock files aside; never touch those of a running or foreign process."""
    store = ctx.store
    dead = [lock.name for lock in list_lock_files(store, ctx.now) if lock.owner == DEAD]
    with store.locked(LOCK_SECONDS):
        for name in dead:
            journal.move_lock_aside(store, name)
    return f"moved {', '.join(dead)} to '.git/reflect/corpses'"


def finish_interrupted(ctx: CheckContext) -> str:
    """Finish interrupted steps, as every command does first, but report errors."""
    store = ctx.store
    with store.locked(LOCK_SECONDS):
        recover.finish_interrupted(store)
        recover.repair_inbox(store)
    return "finished what was interrupted and committed what was pending"


def rename_machine(ctx: CheckContext) -> str:
    """Give a copied store a new machine name and its own inbox."""
    store = ctx.store
    with store.locked(LOCK_SECONDS):
        old = store.machine
        opening.rename_machine(store)
        inbox.ensure_inbox(store)
    return f"this store is now '{store.machine}' and keeps the signals of '{old}'"


def restore_refs(ctx: CheckContext) -> str:
    """Restore main from the reflog, and start a new inbox from the plain copies."""
    store, said = ctx.store, []
    with store.locked(LOCK_SECONDS):
        if store.git.resolve(MAIN) is None:
            said.append(f"put 'main' back to {_restore_main(store)[:10]}")
        if not inbox.list_generations(store):
            files.remove(store.private_path("cache", "inbox"))
            inbox.ensure_inbox(store)
            said.append(f"started the inbox again with {plural(_commit_copies(store), 'signal')} from plain copies")
    return "; ".join(said)


def _commit_copies(store: Store) -> int:
    """Commit plain copies that a new inbox does not have yet; return how many."""
    if not os.path.exists(store.private_path(inbox.RESCUE_FILE)):
        return 0
    rescued = copies.move_lost_to_pending(store)
    inbox.commit_all(store)
    files.remove(store.private_path(inbox.RESCUE_FILE))
    return rescued


def _restore_main(store: Store) -> str:
    """Point main at the newest commit in the reflog that exists; return it."""
    for commit in list_main_commits(store):
        if store.git.resolve(f"{commit}^{{commit}}"):
            locks = ref_updates.get_lock_files([MAIN, "HEAD"])
            ref_updates.run(store, locks, "update-ref", "-m", "doctor: put back", MAIN, commit, "0" * 40)
            return commit
    raise ReflectError("the reflog knows no commit of 'main'", "put the folder back from a backup or another machine")


def list_main_commits(store: Store) -> list[str]:
    """List the commits that main was at, newest first, from the reflogs."""
    places = []
    for name in reversed(REFLOGS):
        log = files.read_if_exists(os.path.join(store.git_dir, name), 1 << 26) or b""
        places += [line.split()[1].decode("ascii", "replace") for line in reversed(log.splitlines()) if b" " in line]
    return places


def remove_damaged_objects(ctx: CheckContext) -> str:
    """Rebuild damaged inboxes, and remove damaged objects that no branch holds."""
    store, broken, bad = ctx.store, ctx.broken_inboxes, ctx.bad_objects
    with store.locked(LOCK_SECONDS):
        said = f"{lost_signals.rebuild_inboxes(store, broken, bad)}; " if broken else ""
        maintenance.remove_unreachable(store)
    return f"{said}took out what no branch holds"


def recover_signals(ctx: CheckContext) -> str:
    """Store deleted signals again where git still has them."""
    store = ctx.store
    with store.locked(LOCK_SECONDS):
        recover.finish_interrupted(store)
        recover.repair_inbox(store)
        found, lost = lost_signals.recover_missing(store, ctx.now)
    rest = f"; {plural(lost - found, 'signal')} cannot be recovered" if lost > found else ""
    return f"recovered {plural(found, 'signal')}{rest}"


def run_maintenance(ctx: CheckContext) -> str:
    """Run the overdue maintenance."""
    store = ctx.store
    done = {result.name: result.done for result in Upkeep(store, store.env, ctx.now, LOCK_SECONDS).run()}
    ctx.reload_snapshot()
    return f"ran the upkeep; {plural(done['expire'], 'signal')} went"
