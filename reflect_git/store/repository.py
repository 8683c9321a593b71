"""The opened store: paths, lock, settings, and the paths of records."""

from __future__ import annotations

import os
import stat
import time

from reflect_git import __version__
from reflect_git.errors import ReflectError
from reflect_git.platform import files
from reflect_git.platform.git import Git, find_git
from reflect_git.records import json_form
from reflect_git.records.ids import ALPHABET

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from types import TracebackType
    from typing import Any, Optional

    from reflect_git.store.config_file import Value

MAIN = "refs/heads/main"
INBOX = "refs/heads/inbox/"
BACKUP = "refs/heads/backup/"
FIRST_GENERATION = "0001"
VERSION_FILE = "version"  # of the program that last upgraded the store
_FIRST_VERSION = "0.1"  # it noted none
PRIVATE_FOLDERS = ("pending", "journal", "cache", "corpses", "quarantine")
# Files that hooks read or write there; anything else in their place would prevent captures.
PRIVATE_FILES = (
    "lock", "log", "names", "policies.json", "purged", "receipts", "stored", "backups", "cache/inbox",
    "cache/settings.json",
)  # fmt: skip


_SILENT_SECONDS = 1.0  # seconds before a message says what we wait for


def _parse_version(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split(".") if part.isdigit())


class Store:
    """An existing store, checked to be ours."""

    def __init__(self, root: str, env: Optional[Mapping[str, str]] = None) -> None:
        files.require_own_directory(root)
        self.root = root
        self.git_dir = os.path.join(root, ".git")
        self.private = os.path.join(self.git_dir, "reflect")
        self.env = env or {}
        if not self._is_private_complete() and os.path.exists(os.path.join(self.git_dir, "HEAD")):
            self.repair_private()
        self.on_wait: Optional[Callable[[str], None]] = None
        self.overrides: dict[str, list[str]] = {}
        self.config = self._load_settings()
        self.lock = files.Lock(self.private_path("lock"))

    def find_older_version(self) -> str:
        """Return the version that last upgraded this store, if it is older than this program; else an empty text."""
        noted = files.read_if_exists(self.private_path(VERSION_FILE), 64)
        text = noted.decode("ascii", "replace") if noted else _FIRST_VERSION
        return text if _parse_version(text) < _parse_version(__version__) else ""

    def private_path(self, *parts: str) -> str:
        """Return the path of a file below .git/reflect: private, never synced, not used by git."""
        return os.path.join(self.private, *parts)

    def _is_private_complete(self) -> bool:
        """Return whether the folders below .git/reflect exist, and only files where a hook needs files."""
        try:
            modes = [os.lstat(f"{self.private}/{name}").st_mode for name in PRIVATE_FOLDERS]
            modes.append(os.lstat(self.private).st_mode)
        except OSError:
            return False
        if not all(map(stat.S_ISDIR, modes)):
            return False
        for name in PRIVATE_FILES:
            try:
                if not stat.S_ISREG(os.lstat(f"{self.private}/{name}").st_mode):
                    return False
            except OSError:
                continue
        return True

    def repair_private(self) -> None:
        """Recreate .git/reflect if it was deleted or replaced."""

        repair_private_files(self)

    def path(self, relative: str) -> str:
        """Return the path of a file in the work tree."""
        return os.path.join(self.root, *relative.split("/"))

    def write(self, relative: str, data: bytes, sync: bool) -> None:
        """Write a file in the work tree atomically. After a kill, leftovers are in .git/reflect for maintenance."""
        path = self.path(relative)
        files.make_private_dirs(os.path.dirname(path), below=self.root)
        files.write_atomic(path, data, sync, scratch=self.private_path("cache"))

    @property
    def machine(self) -> str:
        """Return this machine's name."""
        return self.get_setting("reflect.machine")

    def get_setting(self, key: str, default: str = "") -> str:
        """Return the effective value of a key: the last one in the store's config, or that of a policy decision."""
        values = self.get_values(key)
        return values[-1] if values else default

    def get_values(self, key: str) -> list[str]:
        """Return all effective values of a key; `config` has those in the file."""
        name = key.lower()
        return self.overrides[name] if name in self.overrides else self.config.get(name, [])

    def is_enabled(self, key: str, default: bool) -> bool:
        """Return a boolean setting."""
        value = self.get_setting(key, "true" if default else "false").lower()
        return value in ("true", "yes", "on", "1", "")

    def locked(self, seconds: float) -> StoreLock:
        """Lock the store: `with store.locked(5):`. One writer at a time, including its git children."""
        return StoreLock(self, seconds)

    def show_wait_message(self, message: str) -> None:
        """Show a message once about what we wait for; hooks have no output for it."""
        if self.on_wait is not None:
            tell, self.on_wait = self.on_wait, None
            tell(message)

    def change_config(self, changes: Mapping[str, Value]) -> None:
        """Set keys of the store's config, or remove them with None, all at once. The caller holds the lock."""
        from reflect_git.store import config_file  # rarely needed in a hook

        config_file.write_changes(self, changes)
        named = changes.get(config_file.MACHINE_KEY)
        if isinstance(named, str):  # policies are decided on each machine, and the saved ones belong to the old name
            files.write_atomic(
                self.private_path(config_file.POLICY_FILE), json_form.dumps({config_file.MACHINE_KEY: named})
            )
        self.reload()

    def reload(self) -> None:
        """Read the config again: another process may have changed it."""
        keep = self.git.lock_fd
        self.config = self._load_settings()
        self.git.lock_fd = keep

    def log(self, line: str) -> None:
        """Write one line for `doctor`. Losing it is better than failing."""
        from reflect_git.redact import redact  # not needed if nothing is logged

        stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        flat = " ".join(redact(line).split())[:500]
        try:
            descriptor = os.open(
                self.private_path("log"), os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW, 0o600
            )
            try:
                os.write(descriptor, f"{stamp} {flat}\n".encode("utf-8", "replace"))
            finally:
                os.close(descriptor)
        except OSError:
            pass

    def _load_settings(self) -> dict[str, list[str]]:
        """Return the store's config and set the policy overrides. git is asked once per change of the file."""
        stamp = _get_stamp(os.path.join(self.git_dir, "config"))
        if stamp is None:
            raise not_a_store_error(self.root)
        stamp += _get_stamp(self.private_path("policies.json")) or []
        cached = self._load_cached_settings()
        program, known, overrides = cached.get("git"), cached.get("config"), cached.get("overrides")
        usable = isinstance(program, str) and os.access(program, os.X_OK) and isinstance(known, dict)
        if usable and cached.get("stamp") == stamp and isinstance(overrides, dict):
            self.git = Git(str(program), self.root, user=self.env)
            self.overrides = overrides
            return dict(known or {})
        self.git = Git(self._find_git(cached), self.root, user=self.env)
        config = self.git.get_local_config()
        if "reflect.machine" not in config:
            raise not_a_store_error(self.root)
        from reflect_git.store import config_file  # once per change of the config

        decided = config_file.load_policies(self.private_path(config_file.POLICY_FILE)) or self._guess_machine_name(
            config["reflect.machine"][-1]
        )
        self.overrides = config_file.get_overrides(config, decided)
        self._cache_settings(stamp, config)
        return config

    def _guess_machine_name(self, named: str) -> dict[str, Any]:
        """Return this machine's name from its inbox: anybody can write another one into the config.

        Only used if nothing says what was decided. Accepted machines have inboxes here too; ours is the one written
        last.
        """
        asked = ("for-each-ref", "--sort=committerdate", "--format=%(refname)", INBOX)
        refs = self.git.run(*asked, check=False).out.decode("utf-8", "replace").split()
        names = [ref[len(INBOX) :].rpartition("/")[0] for ref in refs]
        return {"reflect.machine": names[-1]} if names and named not in names else {}

    def _find_git(self, cached: Mapping[str, Any]) -> str:
        known = cached.get("git")
        if isinstance(known, str) and os.access(known, os.X_OK):
            return known
        return find_git(self.env.get("PATH", ""), self.env.get("CLAUDE_PROJECT_DIR", ""))

    def _load_cached_settings(self) -> dict[str, Any]:
        try:
            with open(self.private_path("cache", "settings.json"), "rb") as file:
                cached = json_form.loads(file.read().decode("utf-8", "replace"))
        except (OSError, ValueError, RecursionError):
            return {}
        return cached if isinstance(cached, dict) else {}

    def _cache_settings(self, stamp: Optional[list[int]], config: Mapping[str, list[str]]) -> None:
        known = {"stamp": stamp, "git": self.git.program, "config": config, "overrides": self.overrides}
        try:
            files.make_private_dirs(self.private_path("cache"))
            files.write_atomic(self.private_path("cache", "settings.json"), json_form.dumps(known), sync=False)
        except OSError:  # read-only or full disk: git is asked again next time
            pass


class StoreLock:
    """The store's lock for a `with` block, inherited by every git child in it."""

    def __init__(self, store: Store, seconds: float) -> None:
        self._store = store
        self._seconds = seconds

    def __enter__(self) -> None:
        lock = self._store.lock
        if not lock.acquire(min(self._seconds, _SILENT_SECONDS)):
            if self._seconds > _SILENT_SECONDS:
                self._store.show_wait_message("waiting for another reflect-git process, which is writing to the store")
            if self._seconds <= _SILENT_SECONDS or not lock.acquire(self._seconds - _SILENT_SECONDS):
                raise StoreBusy()
        self._store.git.lock_fd = self._store.lock.descriptor

    def __exit__(
        self, kind: Optional[type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        self._store.git.lock_fd = -1
        self._store.lock.release()


class StoreBusy(ReflectError):
    """Another reflect-git process holds the lock."""

    def __init__(self) -> None:
        super().__init__(
            "another reflect-git process is writing to the store", "try again, or see 'reflect-git doctor'", code="busy"
        )


def no_store_error(root: str) -> ReflectError:
    """Return the error for a missing store."""
    hint = "the first capture creates it; to create it now, run: reflect-git init"
    return ReflectError(f"there is no store at '{root}'", hint, "no-store")


def not_a_store_error(root: str) -> ReflectError:
    """Return the error for a folder that is not a store."""
    hint = "choose another place with --store DIR or 'git config --global reflect.home DIR'"
    return ReflectError(f"'{root}' is not a reflect-git store", hint, "store-foreign")


def _get_stamp(path: str) -> Optional[list[int]]:
    try:
        status = os.stat(path)
    except OSError:
        return None
    return [status.st_ino, status.st_size, status.st_mtime_ns]


def repair_private_files(store: Store) -> None:
    """Create missing folders; move anything of the wrong kind aside.

    On a read-only disk this does nothing, so that reading still works.
    """
    try:
        for name in ("", *PRIVATE_FOLDERS):
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
    files.make_private_dir(path)


PURGES_FOLDER = "purges"  # the folder on main that names purged records
SIGNALS_README = "signals/README.md"
RESTORE_PREFIX = "restore: "  # prefix of the subject of a commit that restores removed records
_KINDS = frozenset(("SIG", "LRN", "DEC", "EXP", "EVL", "TLY", "DIG"))
_FOLDERS = {"DEC": "decisions", "EXP": "exposure", "EVL": "evaluations", "TLY": "tally", "DIG": "digests"}
_LETTERS = frozenset(ALPHABET)


def is_id(text: str) -> bool:
    """Return whether a text is exactly an id, PREFIX-YYYYMMDD-xxxxxxxx, because it becomes a path."""
    prefix, _, rest = text.partition("-")
    day, _, name = rest.partition("-")
    return (
        prefix in _KINDS
        and len(day) == 8 and day.isascii() and day.isdigit()
        and len(name) == 8 and _LETTERS.issuperset(name)
    )  # fmt: skip


def get_record_path(record_id: str) -> str:
    """Return the path of a record in its tree; raise an error for an invalid id."""
    if not is_id(record_id):
        raise ReflectError(f"'{record_id}' is not an id", "ids look like SIG-20260211-7k3v9q2m", code="bad-id")
    return build_record_path(record_id)


def build_record_path(record_id: str) -> str:
    """Return the path of a record whose id is known to be valid."""
    prefix, day, name = record_id.split("-")
    year, month, date = day[:4], day[4:6], day[6:]
    if prefix == "SIG":
        return f"signals/{year}/{month}/{date}/{name[:2]}/{record_id}.yaml"
    if prefix == "LRN":
        return f"learnings/{record_id}.yaml"
    return f"{_FOLDERS[prefix]}/{year}/{month}/{record_id}.yaml"


def get_record_id(path: str) -> str:
    """Return the id of the record at a path, or an empty text."""
    name = path.rpartition("/")[2]
    stem = name[:-5] if name.endswith(".yaml") else ""
    return stem if is_id(stem) and build_record_path(stem) == path else ""
