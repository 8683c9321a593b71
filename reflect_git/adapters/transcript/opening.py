"""A transcript is a plain file below the client's projects folder, or is not opened: its path comes from outside."""

from __future__ import annotations

import errno
import os
import stat

from reflect_git.errors import ReflectError

# Without O_NONBLOCK the open of a FIFO waits for a writer, for ever if need be.
_FLAGS = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NOCTTY


def check_path(path: str, projects: str) -> None:
    """Refuse what `open_transcript` would refuse."""
    os.close(open_transcript(path, projects))


def open_transcript(path: str, projects: str = "") -> int:
    """A descriptor of a regular file; with `projects`, only of one that really lies below that folder."""
    descriptor = _open(path)
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise _refusal(path, "is not a regular file")
        if projects and not _lies_below(path, projects, status):
            raise _refusal(path, "lies outside the client's projects folder")
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def _open(path: str) -> int:
    try:
        return os.open(path, _FLAGS)
    except ValueError:  # a NUL in the path
        raise ReflectError("the path of the transcript is not a path", code="transcript") from None
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.EMLINK):  # EMLINK is FreeBSD's word for it
            raise _refusal(path, "is a symbolic link") from None
        raise ReflectError(f"cannot read transcript '{path}': {error.strerror}", code="transcript") from error


def _lies_below(path: str, projects: str, opened: os.stat_result) -> bool:
    """The file now at the real path must be the one that was opened: a folder can become a link in between."""
    real, folder = os.path.realpath(path), os.path.realpath(projects)
    if not real.startswith(folder.rstrip("/") + "/"):
        return False
    try:
        return os.path.samestat(os.lstat(real), opened)
    except OSError:
        return False


def _refusal(path: str, why: str) -> ReflectError:
    return ReflectError(
        f"transcript '{path}' {why}",
        "give the file itself, as it is named below the projects folder of Claude Code",
        code="transcript",
    )
