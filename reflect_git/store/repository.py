"""The opened store: where its files are, its lock, its settings."""

from __future__ import annotations

import os
import stat
import time

from reflect_git.adapters import files, jsontext
from reflect_git.adapters.git import Git, find_program
from reflect_git.errors import ReflectError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from types import TracebackType
    from typing import Any, Optional

    from reflect_git.store.configfile import Value

MAIN = "refs/heads/main"
INBOX = "refs/heads/inbox/"
BACKUP = "refs/heads/backup/"
FIRST_GENERATION = "0001"
PRIVATE = ("pending", "journal", "cache", "corpses", "quarantine")
# What a hook reads or writes there; anything but a file in its place would keep captures from being stored.
PRIVATE_FILES = (
    "lock", "log", "names", "policies.json", "purged", "receipts", "stored", "backups", "cache/inbox",
    "cache/settings.json",
)  # fmt: skip


_SILENT = 1.0  # seconds before a person is told what is waited for


class Store:
    """An existing reflections repository, checked to be ours."""

    def __init__(self, root: str, env: Optional[Mapping[str, str]] = None) -> None:
        files.require_own_directory(root)
        self.root = root
        self.git_dir = os.path.join(root, ".git")
        self.private = os.path.join(self.git_dir, "reflect")
        self.env = env or {}
        if not self._is_private_whole() and os.path.exists(os.path.join(self.git_dir, "HEAD")):
            self.mend_private()
        self.on_wait: Optional[Callable[[str], None]] = None
        self.overrides: dict[str, list[str]] = {}
        self.config = self._settings()
        self.lock = files.Lock(self.private_path("lock"))

    def private_path(self, *parts: str) -> str:
        """A file below .git/reflect: private, never synced, not git's."""
        return os.path.join(self.private, *parts)

    def _is_private_whole(self) -> bool:
        """Whether the folders below .git/reflect are there, and nothing but files where a hook needs files."""
        try:
            modes = [os.lstat(f"{self.private}/{name}").st_mode for name in PRIVATE]
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

    def mend_private(self) -> None:
        """Make .git/reflect again, which somebody deleted or put something else in place of."""
        from reflect_git.store import private  # hardly ever

        private.mend(self)

    def path(self, relative: str) -> str:
        """A file of the work tree."""
        return os.path.join(self.root, *relative.split("/"))

    def write(self, relative: str, data: bytes, sync: bool) -> None:
        """A file of the work tree, whole; what a kill leaves is in .git/reflect, where upkeep finds it."""
        path = self.path(relative)
        files.make_private_dirs(os.path.dirname(path), below=self.root)
        files.write_whole(path, data, sync, scratch=self.private_path("cache"))

    @property
    def machine(self) -> str:
        return self.setting("reflect.machine")

    def setting(self, key: str, default: str = "") -> str:
        """Return the value of a key that counts: the last one of the store's own config, or of a policy's decision."""
        values = self.values(key)
        return values[-1] if values else default

    def values(self, key: str) -> list[str]:
        """Return all values of a key that count; `config` has what the file says."""
        name = key.lower()
        return self.overrides[name] if name in self.overrides else self.config.get(name, [])

    def switched(self, key: str, default: bool) -> bool:
        value = self.setting(key, "true" if default else "false").lower()
        return value in ("true", "yes", "on", "1", "")

    def locked(self, seconds: float) -> Held:
        """`with store.locked(5):` – one writer at a time, its git children included."""
        return Held(self, seconds)

    def say_waiting(self, message: str) -> None:
        """Tell a person, once, what is waited for; a hook has nobody to tell."""
        if self.on_wait is not None:
            tell, self.on_wait = self.on_wait, None
            tell(message)

    def change_config(self, changes: Mapping[str, Value]) -> None:
        """Set or, with None, remove keys of the store's own config, all at once. The caller holds the lock."""
        from reflect_git.store import configfile, inforce  # hardly ever in a hook

        configfile.replace(self, changes)
        named = changes.get(inforce.MACHINE)
        if isinstance(named, str):  # a policy is decided on each machine, and the name that is kept there is old
            files.write_whole(self.private_path(inforce.FILE), jsontext.dumps({inforce.MACHINE: named}))
        self.reload()

    def reload(self) -> None:
        """Read the config again: another process may have changed it."""
        keep = self.git.keep
        self.config = self._settings()
        self.git.keep = keep

    def log(self, line: str) -> None:
        """One line for `doctor`; losing it is better than failing for it."""
        from reflect_git.adapters.redact import redact  # who has nothing to log does without

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

    def _settings(self) -> dict[str, list[str]]:
        """The store's config, asked of git once per change of the file, and which of its policies do not count."""
        stamp = _stamp(os.path.join(self.git_dir, "config"))
        if stamp is None:
            raise not_a_store(self.root)
        stamp += _stamp(self.private_path("policies.json")) or []
        cached = self._cached_settings()
        program, known, overrides = cached.get("git"), cached.get("config"), cached.get("overrides")
        usable = isinstance(program, str) and os.access(program, os.X_OK) and isinstance(known, dict)
        if usable and cached.get("stamp") == stamp and isinstance(overrides, dict):
            self.git = Git(str(program), self.root, user=self.env)
            self.overrides = overrides
            return dict(known or {})
        self.git = Git(self._find_git(cached), self.root, user=self.env)
        config = self.git.settings()
        if "reflect.machine" not in config:
            raise not_a_store(self.root)
        from reflect_git.store import inforce  # once per change of the config

        decided = inforce.load(self.private_path(inforce.FILE)) or self._named_by_inbox(config["reflect.machine"][-1])
        self.overrides = inforce.overrides(config, decided)
        self._remember(stamp, config)
        return config

    def _named_by_inbox(self, named: str) -> dict[str, Any]:
        """Return this machine's name as its inbox has it: anybody can write another one into the config.

        Only where nothing says what was decided. The inboxes of other machines are here too if a person accepted those
        machines; ours is the one that was written last.
        """
        asked = ("for-each-ref", "--sort=committerdate", "--format=%(refname)", INBOX)
        refs = self.git.run(*asked, check=False).out.decode("utf-8", "replace").split()
        names = [ref[len(INBOX) :].rpartition("/")[0] for ref in refs]
        return {"reflect.machine": names[-1]} if names and named not in names else {}

    def _find_git(self, cached: Mapping[str, Any]) -> str:
        known = cached.get("git")
        if isinstance(known, str) and os.access(known, os.X_OK):
            return known
        return find_program(self.env.get("PATH", ""), self.env.get("CLAUDE_PROJECT_DIR", ""))

    def _cached_settings(self) -> dict[str, Any]:
        try:
            with open(self.private_path("cache", "settings.json"), "rb") as file:
                cached = jsontext.loads(file.read().decode("utf-8", "replace"))
        except (OSError, ValueError, RecursionError):
            return {}
        return cached if isinstance(cached, dict) else {}

    def _remember(self, stamp: Optional[list[int]], config: Mapping[str, list[str]]) -> None:
        known = {"stamp": stamp, "git": self.git.program, "config": config, "overrides": self.overrides}
        try:
            files.make_private_dirs(self.private_path("cache"))
            files.write_whole(self.private_path("cache", "settings.json"), jsontext.dumps(known), sync=False)
        except OSError:  # read-only or full: the next one asks git again
            pass


class Held:
    """The lock, held for a `with` block and lent to every git child in it."""

    def __init__(self, store: Store, seconds: float) -> None:
        self._store = store
        self._seconds = seconds

    def __enter__(self) -> None:
        lock = self._store.lock
        if not lock.acquire(min(self._seconds, _SILENT)):
            if self._seconds > _SILENT:
                self._store.say_waiting("waiting for another reflect-git process, which is writing to the store")
            if self._seconds <= _SILENT or not lock.acquire(self._seconds - _SILENT):
                raise Busy()
        self._store.git.keep = self._store.lock.descriptor

    def __exit__(
        self, kind: Optional[type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        self._store.git.keep = -1
        self._store.lock.release()


class Busy(ReflectError):
    def __init__(self) -> None:
        super().__init__(
            "another reflect-git process is writing to the store", "try again, or see 'reflect-git doctor'", code="busy"
        )


def no_store(root: str) -> ReflectError:
    hint = "the first capture makes it, or 'reflect-git init'"
    return ReflectError(f"there is no store at '{root}'", hint, "no-store")


def not_a_store(root: str) -> ReflectError:
    hint = "choose another place with --store DIR or 'git config --global reflect.home DIR'"
    return ReflectError(f"'{root}' is not a reflect-git store", hint, "store-foreign")


def _stamp(path: str) -> Optional[list[int]]:
    try:
        status = os.stat(path)
    except OSError:
        return None
    return [status.st_ino, status.st_size, status.st_mtime_ns]
