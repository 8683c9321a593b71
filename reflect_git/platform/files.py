"""File operations for the store: private permissions, atomic writes, kernel locks."""

from __future__ import annotations

import errno
import fcntl
import os
import stat
import time

from reflect_git.errors import ReflectError
from reflect_git.platform import faults, system

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Optional

PRIVATE_DIR = 0o700
PRIVATE_FILE = 0o600
_POLL_SECONDS = 0.005
_ATTEMPTS = 3


def require_own_directory(path: str) -> None:
    """Refuse a folder that is a link or belongs to another user: writes could end up anywhere."""
    status = os.lstat(path)
    if stat.S_ISLNK(status.st_mode):
        raise ReflectError(
            f"'{path}' is a symbolic link",
            "point REFLECT_GIT_HOME or 'git config --global reflect.home' at the real folder", code="store-symlink",
        )  # fmt: skip
    if not stat.S_ISDIR(status.st_mode):
        raise ReflectError(
            f"'{path}' is not a folder", "move it away or choose another reflect.home", code="store-foreign"
        )
    if status.st_uid != os.geteuid():
        raise ReflectError(
            f"'{path}' belongs to another user",
            "run as its owner, or set HOME to your own home folder",
            code="store-owner",
        )


def make_private_dirs(path: str, below: str = "") -> None:
    """Create a folder and its parents with mode 0700, whatever the umask. Refuse links inside `below`."""
    if below and path.startswith(below + os.sep) and os.path.islink(path):
        hint = "replace it by the folder it points to"
        raise ReflectError(f"'{path}' is a symbolic link", hint, code="store-symlink")
    if os.path.isdir(path):
        if below and path != below:
            make_private_dirs(os.path.dirname(path), below)
        return
    make_private_dirs(os.path.dirname(path), below)
    faults.point("mkdir", path)
    try:
        os.mkdir(path, PRIVATE_DIR)
    except FileExistsError:
        return
    os.chmod(path, PRIVATE_DIR)


def sync_directory(path: str) -> None:
    """Flush a folder to disk."""
    _sync_path(path, os.O_DIRECTORY, system.current.sync_all)


def sync_file(path: str) -> None:
    """Flush a file that another process wrote."""
    _sync_path(path, os.O_NOFOLLOW, system.current.sync_data)


def _sync_path(path: str, flags: int, through: Callable[[int], None]) -> None:
    faults.point("sync", path)
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | flags)
    try:
        through(descriptor)
    finally:
        os.close(descriptor)


def sync_tree(path: str) -> None:
    """Flush every file and folder below a path."""
    for base, _, names in os.walk(path):
        for name in names:
            sync_file(os.path.join(base, name))
        sync_directory(base)


def _write_all(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def _write_temporary(path: str, data: bytes, sync: bool, scratch: str) -> str:
    temporary = os.path.join(scratch or os.path.dirname(path), f".tmp-{os.getpid()}-{os.urandom(4).hex()}")
    faults.point("write", path)
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, PRIVATE_FILE)
    try:
        os.fchmod(descriptor, PRIVATE_FILE)
        _write_all(descriptor, data)
        if sync:
            faults.point("sync", path)
            system.current.sync_data(descriptor)
    except BaseException:
        os.close(descriptor)
        discard(temporary)
        raise
    os.close(descriptor)
    return temporary


def write_atomic(path: str, data: bytes, sync: bool = True, scratch: str = "") -> None:
    """Create or replace a file atomically: readers see the old bytes or the new ones.

    With `sync` it also survives a power cut. `scratch` is a folder on the same file system for the temporary file,
    where a killed process may leave it.
    """
    _rename_or_discard(_write_temporary(path, data, sync, scratch), path)
    if sync:
        sync_directory(os.path.dirname(path))


def append(path: str, data: bytes) -> None:
    """Append to an existing file, without syncing."""
    faults.point("write", path)
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        _write_all(descriptor, data)
    finally:
        os.close(descriptor)


def write_many(folder: str, contents: Mapping[str, bytes]) -> None:
    """Write many files of one folder, each as by `write_atomic`. Syncing the folder once halves the time."""
    for name, data in contents.items():
        path = os.path.join(folder, name)
        _rename_or_discard(_write_temporary(path, data, True, ""), path)
    sync_directory(folder)


def _rename_or_discard(temporary: str, path: str) -> None:
    try:
        rename(temporary, path)
    except BaseException:
        discard(temporary)
        raise


def rename(old: str, new: str) -> None:
    """Rename a file."""
    faults.point("rename", new)
    os.rename(old, new)


def set_aside(path: str) -> None:
    """Rename whatever is at a path (a link itself, not its target) to make way for something else."""
    rename(path, f"{path}.aside-{os.urandom(4).hex()}")


def link(old: str, new: str) -> None:
    """Create a hard link."""
    faults.point("link", new)
    os.link(old, new)


def remove(path: str) -> None:
    """Delete a file; ignore it if it is missing."""
    faults.point("unlink", path)
    discard(path)


def discard(path: str) -> None:
    """Delete a file without a fault-injection point; ignore it if it is missing."""
    try:
        os.unlink(path)
    except FileNotFoundError:
        pass


def remove_tree(path: str) -> None:
    """Delete a folder of ours with its contents. Never follow a link out of it."""
    if os.path.islink(path):
        discard(path)
        return
    for base, folders, names in os.walk(path, topdown=False):
        for name in names:
            discard(os.path.join(base, name))
        for name in folders:
            child = os.path.join(base, name)
            if os.path.islink(child):
                discard(child)
            else:
                os.rmdir(child)
    try:
        os.rmdir(path)
    except FileNotFoundError:
        pass


def read_regular(path: str, limit: int) -> bytes:
    """Return the first `limit` bytes of a regular file. Refuse a FIFO, device or link without blocking."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(errno.EINVAL, "not a regular file", path)
        chunks = []
        while limit > 0:
            chunk = os.read(descriptor, min(limit, 1 << 20))
            if not chunk:
                break
            chunks.append(chunk)
            limit -= len(chunk)
        return b"".join(chunks)
    finally:
        os.close(descriptor)


def read_small_file(path: str, most: int) -> bytes:
    """Read a small regular file, also through a link; raise OSError for anything else, without blocking.

    Unlike `read_regular` it refuses a file larger than `most`: the beginning of a config can mean something else.
    """
    require_regular(path, most)  # before opening: opening a device can have effects
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as file:
        data = file.read(most + 1) if stat.S_ISREG(os.fstat(descriptor).st_mode) else None
    if data is None or len(data) > most:
        raise OSError(errno.EINVAL, "not a small regular file", path)
    return data


def require_regular(path: str, most: float = float("inf")) -> None:
    """Raise OSError unless the path leads to a regular file of at most `most` bytes. Opens nothing."""
    status = os.stat(path)
    if not stat.S_ISREG(status.st_mode) or status.st_size > most:
        raise OSError(errno.EINVAL, "not a small regular file", path)


def read_if_exists(path: str, limit: int = 1 << 20) -> Optional[bytes]:
    """Return the bytes of a regular file; None if it is missing."""
    try:
        return read_regular(path, limit)
    except FileNotFoundError:
        return None


def is_same_file(one: str, other: str) -> bool:
    """Return whether two paths are the same file; False if either is missing."""
    try:
        return os.path.samefile(one, other)
    except OSError:
        return False


def create_exclusive(path: str) -> bool:
    """Create an empty file; return False if it already exists."""
    try:
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, PRIVATE_FILE))
    except FileExistsError:
        return False
    return True


def make_private_dir(path: str) -> None:
    """Create one folder with mode 0700 unless it exists. Its parent must exist."""
    try:
        os.mkdir(path, PRIVATE_DIR)
    except FileExistsError:
        pass


def list_names(path: str) -> list[str]:
    """List visible names, sorted. Our temporary files start with a dot."""
    try:
        return sorted(name for name in os.listdir(path) if not name.startswith("."))
    except (FileNotFoundError, NotADirectoryError):
        return []


def list_by_age(folder: str) -> list[tuple[float, str]]:
    """Return when each visible file of a folder was changed, and its path, newest first."""
    found = []
    for name in list_names(folder):
        path = os.path.join(folder, name)
        try:
            found.append((os.stat(path).st_mtime, path))
        except OSError:
            continue
    return sorted(found, reverse=True)


def delete_old(folder: str, now: float, age: float, most: int) -> None:
    """Delete the visible files of a folder that are older than an age, in seconds, or too many."""
    for at, (moment, path) in enumerate(list_by_age(folder)):
        if at >= most or now - moment > age:
            discard(path)


def list_all_names(path: str) -> list[str]:
    """List all names, unsorted; empty if there is no folder."""
    try:
        return os.listdir(path)
    except (FileNotFoundError, NotADirectoryError):
        return []


def list_names_with_prefix(path: str, prefix: str) -> list[str]:
    """List names with this prefix, sorted, hidden ones included; empty if the folder cannot be read."""
    try:
        return sorted(name for name in os.listdir(path) if name.startswith(prefix))
    except OSError:
        return []


def list_files(path: str) -> list[str]:
    """List the paths of all visible files below a folder."""
    found: list[str] = []
    for base, _, names in os.walk(path):
        found.extend(os.path.join(base, name) for name in names if not name.startswith("."))
    return found


def lock_directory(folder: str, seconds: float) -> int:
    """Lock a folder and return its descriptor; closing it unlocks the folder.

    Leaves no lock file behind. Returns -1 if the lock stays taken or folders cannot be locked.
    """
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    deadline = time.monotonic() + seconds
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return descriptor
        except OSError as error:
            if error.errno not in (errno.EAGAIN, errno.EACCES) or time.monotonic() >= deadline:
                os.close(descriptor)
                return -1
        time.sleep(_POLL_SECONDS)


class Lock:
    """An flock on a file. The kernel releases it when the last process that inherited it has ended.

    git children inherit the descriptor. A second writer therefore cannot start while a killed hook's git still runs.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self.descriptor = -1

    def try_acquire(self) -> bool:
        """Take the lock without waiting; return False if another process holds it."""
        for _ in range(_ATTEMPTS):
            descriptor = self._open()
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                is_current = os.path.samestat(os.fstat(descriptor), os.lstat(self.path))
            except OSError as error:
                os.close(descriptor)
                if error.errno in (errno.EAGAIN, errno.EACCES):
                    return False
                if error.errno == errno.ENOENT:
                    continue
                raise
            if is_current:
                self.descriptor = descriptor
                self._write_owner()
                return True
            os.close(descriptor)  # the file was deleted meanwhile; others lock the new one
        return False

    def _open(self) -> int:
        """Open or create the lock file; move anything that is not a file out of the way."""
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
        try:
            return os.open(self.path, flags, PRIVATE_FILE)
        except FileNotFoundError:
            make_private_dir(os.path.dirname(self.path))
        except OSError as error:
            if error.errno not in (errno.EISDIR, errno.ELOOP):
                raise
            set_aside(self.path)
        return os.open(self.path, flags, PRIVATE_FILE)

    def acquire(self, seconds: float) -> bool:
        """Take the lock, waiting at most `seconds`; return False if that fails."""
        deadline = time.monotonic() + seconds
        while not self.try_acquire():
            if time.monotonic() >= deadline:
                return False
            time.sleep(_POLL_SECONDS)
        return True

    def release(self) -> None:
        """Release the lock if we hold it."""
        if self.descriptor >= 0:
            os.close(self.descriptor)
            self.descriptor = -1

    def _write_owner(self) -> None:
        """Write our process id and the time into the file, for people. The kernel's lock does not depend on it."""
        try:  # fixed width: ext4 flushes a file that was truncated and rewritten, up to 4 ms on a busy disk
            os.pwrite(self.descriptor, f"{os.getpid():>10} {int(time.time()):>12}\n".encode(), 0)
        except OSError:  # a full disk must not prevent locking
            pass
