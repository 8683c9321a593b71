"""What the git of a project has of a file: read only.

A project's repository is not trusted. Only objects, the index and the log of HEAD are looked at: no hook, filter,
textconv, fsmonitor or signature program of its configuration runs, and nothing is fetched.
"""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

from reflect_git.adapters import files
from reflect_git.adapters.git import Git
from reflect_git.adapters.live import LIMIT

if TYPE_CHECKING:
    from collections.abc import Sequence

_SECONDS = 2.0
KILLED = -9  # by us, after that time
_LOG = 1 << 16  # the end of the log of HEAD, some 400 moves
_FLAGS = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC


class Checkout:
    """One work tree, and the commit that its HEAD is on."""

    def __init__(self, program: str, top: str) -> None:
        self.top = top
        self._git = Git(program, top)
        self._is_stuck = False

    def has_commit(self) -> bool:
        return bool(self._ask("rev-parse", "--verify", "--quiet", "HEAD^{commit}"))

    def file(self, path: str) -> bytes | None:
        """The bytes of a file as HEAD has it, unfiltered; None where it has none, or one that is too large."""
        name = f"HEAD:{os.path.relpath(path, self.top)}"
        size = self._ask("cat-file", "-s", name)
        if not size or int(size) > LIMIT or self._ask("cat-file", "-t", name) != b"blob\n":
            return None
        return self._ask("cat-file", "blob", name)

    def is_unmerged(self, path: str) -> bool:
        """Is a merge or rebase under way that has not settled this file yet?"""
        return bool(self._ask("ls-files", "--unmerged", "-z", "--", f":(literal){os.path.relpath(path, self.top)}"))

    def is_tracked(self, path: str) -> bool:
        return bool(self._ask("ls-files", "-z", "--", f":(literal){os.path.relpath(path, self.top)}"))

    def is_as_committed(self, path: str) -> bool:
        """Byte for byte."""
        try:
            return files.read_followed(path, LIMIT) == self.file(path)
        except OSError:  # deleted, or no file at all
            return False

    def is_ignored(self, path: str, excludes: str) -> bool:
        """By the project, or by the person's own file of patterns."""
        asked = ("check-ignore", "--quiet", "--", os.path.relpath(path, self.top))
        return self._ask(*asked, config=(f"core.excludesFile={excludes}",)) is not None

    def moved(self) -> float | None:
        """When git last put other files into the work tree; commits only record what is there. None: nobody knows."""
        named = self._ask("rev-parse", "--git-path", "logs/HEAD")
        log = _end_of(os.path.join(self.top, os.fsdecode((named or b"").strip()))) if named else None
        if log is None:
            return None
        for line in reversed(log.splitlines()):
            head, _, what = line.partition(b"\t")
            moment = head.split()[-2:-1]
            if not what.startswith(b"commit") and moment and moment[0].isdigit():
                return float(moment[0])
        return 0.0

    def _ask(self, *arguments: str, config: Sequence[str] = ()) -> bytes | None:
        """Ask git; None if it fails. After one answer that did not come in time nothing more is asked: a FIFO in place
        of a file that git reads keeps it every time."""
        if self._is_stuck:
            return None
        result = self._git.run(*arguments, config=config, check=False, seconds=_SECONDS)
        self._is_stuck = result.code == KILLED
        return None if result.code else result.out


def _end_of(path: str) -> bytes | None:
    try:
        descriptor = os.open(path, _FLAGS)
    except OSError:
        return None
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            return None
        start = max(0, status.st_size - _LOG)
        data = os.pread(descriptor, _LOG, start)
    finally:
        os.close(descriptor)
    return data.partition(b"\n")[2] if start else data
