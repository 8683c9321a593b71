"""Read and replace instruction files outside the store, without overwriting changes by other programs.

An editor, a formatter or Claude may write such a file at any moment. We exchange two names in one step
and then check the old content. If it is not the expected content, we exchange them back. If the system has no such
call, the file is compared right before the rename.
"""

from __future__ import annotations

import errno
import os
import stat
import time

from reflect_git.errors import EXIT_DECISION, ReflectError
from reflect_git.platform import faults, files, system

MAX_BYTES = 1 << 24
_WAIT_SECONDS = 2.0  # a program that keeps the file open for longer only reads it
_PROTECTION_HINTS = {
    errno.EACCES: "see who owns it and its folder",
    errno.EPERM: "see who owns it and its folder, and whether one of them is marked as immutable",
    errno.EROFS: "mount its file system for writing",
    errno.EBUSY: "a file that is mounted by itself cannot be replaced: mount its folder instead",
}


class FileChanged(ReflectError):
    """Another program changed the file after it was read."""

    def __init__(self, path: str) -> None:
        super().__init__(f"'{path}' was changed meanwhile", "look at the change again", "changed", EXIT_DECISION)


def resolve_path(base: str, name: str, within: str) -> str:
    """Return the real path of `name` below `base`. Links must stay inside `within`; others are refused."""
    path = os.path.join(base, *name.split("/"))
    real = os.path.realpath(path)
    is_linked = real != os.path.join(os.path.realpath(base), *name.split("/"))
    if is_linked and not real.startswith(os.path.realpath(within).rstrip("/") + "/"):
        raise ReflectError(
            f"'{path}' is a link to '{real}', outside '{within}'", "replace it by a file, or choose another target",
            code="target-link",
        )  # fmt: skip
    return real


def read(path: str) -> bytes | None:
    """Return the bytes of a regular file owned by the user; None if it is missing."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOFOLLOW)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise ReflectError(f"cannot read '{path}': {error.strerror}", code="target") from error
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise ReflectError(f"'{path}' is not a file", "move it out of the way", code="target")
        if status.st_uid != os.geteuid():
            raise ReflectError(f"'{path}' belongs to another user", "run as its owner", code="target")
        if status.st_size > MAX_BYTES:
            raise ReflectError(f"'{path}' is larger than {MAX_BYTES >> 20} MiB", code="target")
        with os.fdopen(os.dup(descriptor), "rb") as file:
            return file.read()
    finally:
        os.close(descriptor)


def require_writable(path: str) -> None:
    """Refuse a read-only file: its owner meant it, although a rename would succeed."""
    try:
        mode = os.stat(path).st_mode
    except FileNotFoundError:
        return
    if not mode & stat.S_IWUSR:
        import shlex  # rarely needed

        hint = f"if you mean it, make it writable: chmod u+w {shlex.quote(path)}"
        raise ReflectError(f"'{path}' is read-only", hint, code="target")


def require_single_name(path: str) -> None:
    """Refuse a file with hard links: replacing it creates a new file, and the other names keep the old text."""
    try:
        count = os.stat(path).st_nlink
    except FileNotFoundError:
        return
    if count > 1:
        import shlex  # rarely needed

        name, copy = shlex.quote(path), shlex.quote(f"{path}.copy")
        raise ReflectError(
            f"'{path}' has {count} hard links; replacing it would separate them",
            f"make the others symbolic links to it, or separate it: cp -p {name} {copy} && mv {copy} {name}",
            code="hard-link",
        )


def replace(path: str, before: bytes | None, after: bytes | None) -> None:
    """Replace `before` with `after`; None means no file. Refuse if the file has changed or is protected."""
    try:
        if after is None:
            _remove_file(path, before)
        elif before is None:
            _create_file(path, after)
        else:
            _exchange_file(path, before, after)
    except OSError as error:
        if error.errno not in _PROTECTION_HINTS:
            raise
        said = os.strerror(error.errno).lower()
        raise ReflectError(f"cannot write '{path}': {said}", _PROTECTION_HINTS[error.errno], code="target") from error
    files.sync_directory(os.path.dirname(path))


def count_missing_folders(path: str) -> int:
    """Count the folders that would have to be created for a file."""
    count, folder = 0, os.path.dirname(path)
    while not os.path.lexists(folder):
        count, folder = count + 1, os.path.dirname(folder)
    return count


def remove_empty_folders(path: str, count: int) -> None:
    """Remove up to `count` folders created for a file, innermost first, as long as they are empty."""
    for _ in range(count):
        path = os.path.dirname(path)
        faults.point("rmdir", path)
        try:
            os.rmdir(path)
        except FileNotFoundError:  # already removed
            continue
        except OSError:  # in use by others
            return
        files.sync_directory(os.path.dirname(path))


def _create_file(path: str, after: bytes) -> None:
    """Create the file with a hard link, which fails if it exists meanwhile."""
    faults.point("mkdir", os.path.dirname(path))
    os.makedirs(os.path.dirname(path), exist_ok=True)
    temporary = _write_temporary(path, after, 0o666 & ~_get_umask())
    try:
        files.link(temporary, path)
    except FileExistsError:
        raise FileChanged(path) from None
    finally:
        files.discard(temporary)


def _remove_file(path: str, before: bytes | None) -> None:
    """Move the file away, check its content, then delete it."""
    if before is None:
        return
    require_single_name(path)
    taken = _get_temporary_path(path)
    try:
        files.rename(path, taken)
    except FileNotFoundError:
        raise FileChanged(path) from None
    if read(taken) != before:
        _restore_file(taken, path)
        raise FileChanged(path)
    files.discard(taken)


def _restore_file(taken: str, path: str) -> None:
    try:
        os.link(taken, path)
    except FileExistsError:  # another program wrote a new file: keep it, and leave the old one next to it
        return
    files.discard(taken)


def _exchange_file(path: str, before: bytes, after: bytes) -> None:
    """Replace the file by an atomic exchange and check the old content; undo it if that has changed."""
    if read(path) != before:
        raise FileChanged(path)
    require_single_name(path)
    temporary = _write_temporary(path, after, stat.S_IMODE(os.stat(path).st_mode))
    try:
        faults.point("rename", path)
        swapped = system.current.swap_names(temporary, path)
    except OSError:
        files.discard(temporary)
        raise
    if not swapped:
        if read(path) != before:
            files.discard(temporary)
            raise FileChanged(path)
        os.rename(temporary, path)
        return
    _wait_until_closed(temporary)
    if read(temporary) != before:
        _undo_exchange(temporary, path, after)
        raise FileChanged(path)
    files.discard(temporary)


def _undo_exchange(taken: str, path: str, ours: bytes) -> None:
    """Undo an exchange. Repeat until our own bytes come out: anything written in between is newer and is kept."""
    system.current.swap_names(taken, path)
    while read(taken) != ours:
        system.current.swap_names(taken, path)
    files.discard(taken)


def _wait_until_closed(path: str) -> None:
    """Wait until no process has the old file open, because an editor may be about to write into it."""
    deadline = time.monotonic() + _WAIT_SECONDS
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        while system.current.is_open_elsewhere(path, descriptor) and time.monotonic() < deadline:
            time.sleep(0.001)
    finally:
        os.close(descriptor)


def _write_temporary(path: str, data: bytes, mode: int) -> str:
    """Write and sync a temporary file next to the target: a rename cannot leave the file system."""
    if not os.access(os.path.dirname(path), os.W_OK):
        raise ReflectError(f"cannot write in '{os.path.dirname(path)}'", "make it writable", code="target")
    temporary = _get_temporary_path(path)
    faults.point("write", path)
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fchmod(file.fileno(), mode)
            system.current.sync_all(file.fileno())
    except BaseException:
        files.discard(temporary)
        raise
    return temporary


def _get_temporary_path(path: str) -> str:
    return os.path.join(os.path.dirname(path), f".{os.path.basename(path)}.{os.getpid()}-{os.urandom(3).hex()}.tmp")


def remove_leftovers(path: str, ours: tuple[bytes | None, ...]) -> list[str]:
    """Remove temporary files that killed processes left next to a target.

    Files with bytes that are not ours are kept; return their paths.
    """
    folder, prefix = os.path.dirname(path), f".{os.path.basename(path)}."
    kept = []
    for name in files.list_names_with_prefix(folder, prefix):
        left = os.path.join(folder, name)
        if not name.endswith(".tmp") or os.path.islink(left):
            continue
        if read(left) in ours or os.path.getsize(left) == 0:
            files.discard(left)
        else:
            kept.append(left)
    return kept


def _get_umask() -> int:
    current = os.umask(0o077)
    os.umask(current)
    return current
