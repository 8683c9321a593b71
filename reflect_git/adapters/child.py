"""A process that runs git: fed, read to its end, killed when its time is up."""

from __future__ import annotations

import os
import time

from reflect_git.adapters import faults
from reflect_git.errors import ReflectError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Optional

_KILL = 9
_LAST_WORDS = 2.0
_MOST_SAID = 1 << 20  # kept of what git says beside its answer: a remote can have it say anything without end


class Result:
    """How a git process ended."""

    __slots__ = ("code", "err", "out")

    def __init__(self, code: int, out: bytes, err: bytes) -> None:
        self.code = code
        self.out = out
        self.err = err


class GitMissing(ReflectError):
    def __init__(self, message: str) -> None:
        super().__init__(message, "install git 2.34 or later, or put it on PATH", code="git-missing")


class Child:
    """A running git: fed through `send`, read line by line or to the end."""

    def __init__(self, argv: Sequence[str], env: Mapping[str, str], keep: int = -1, apart: bool = False) -> None:
        faults.point("spawn", argv[0])
        self._apart = apart
        feed, self._stdin = os.pipe()
        self._stdout, out = os.pipe()
        self._stderr, err = os.pipe()
        actions: list[tuple[int, int, int]] = [
            (os.POSIX_SPAWN_DUP2, feed, 0), (os.POSIX_SPAWN_DUP2, out, 1), (os.POSIX_SPAWN_DUP2, err, 2)
        ]  # fmt: skip
        if keep >= 0:  # another number than its own, else the close-on-exec flag stays
            actions.append((os.POSIX_SPAWN_DUP2, keep, 17 if keep != 17 else 18))
        umask = os.umask(0o077)
        try:
            if apart:
                self.pid = os.posix_spawn(argv[0], list(argv), env, file_actions=actions, setpgroup=0)
            else:
                self.pid = os.posix_spawn(argv[0], list(argv), env, file_actions=actions)
        except OSError as error:
            self._close(self._stdin, self._stdout, self._stderr)
            raise GitMissing(f"cannot run '{argv[0]}': {error.strerror}") from error
        finally:
            os.umask(umask)
            self._close(feed, out, err)
        self._buffer, self._at = b"", 0

    @staticmethod
    def _close(*descriptors: int) -> None:
        for descriptor in descriptors:
            os.close(descriptor)

    def send(self, data: bytes) -> None:
        """Write to git; if it is gone, `finish` tells why."""
        view = memoryview(data)
        try:
            while view:
                view = view[os.write(self._stdin, view) :]
        except BrokenPipeError:
            pass

    def line(self) -> bytes:
        """The next line git prints, without its end; empty when git is gone."""
        while (end := self._buffer.find(b"\n", self._at)) < 0:
            chunk = os.read(self._stdout, 65536)
            self._buffer, self._at = self._buffer[self._at :] + (chunk or b"\n"), 0
        found, self._at = self._buffer[self._at : end], end + 1
        return found

    def take(self, count: int) -> bytes:
        """The next bytes git prints; fewer when git is gone."""
        while len(self._buffer) < self._at + count and (chunk := os.read(self._stdout, 65536)):
            self._buffer += chunk
        start, self._at = self._at, min(self._at + count, len(self._buffer))
        return self._buffer[start : self._at]

    def finish(self, data: bytes = b"", seconds: Optional[float] = None, most: float = float("inf")) -> Result:
        """Feed the rest, read all, wait. Past `seconds`, or `most` bytes of answer, git is killed: the code is -9."""
        deadline = None if seconds is None else time.monotonic() + seconds
        try:
            out, err = self._pump(memoryview(data), deadline, most)
        except BaseException:
            self.kill()
            os.waitpid(self.pid, 0)  # what it wrote may be removed now
            raise
        _, status = os.waitpid(self.pid, 0)
        return Result(os.waitstatus_to_exitcode(status), self._buffer[self._at :] + out, err)

    def kill(self) -> None:
        try:
            (os.killpg if self._apart else os.kill)(self.pid, _KILL)
        except ProcessLookupError:
            pass

    def drop(self) -> None:
        """Enough was read: kill it and go on, not for who holds the lock. It is gone 2 ms later, with this process."""
        self.kill()
        self._close(self._stdin, self._stdout, self._stderr)

    def watch(self) -> None:
        """Called again and again while git is waited for; may raise, which ends it."""

    def _patience(self, deadline: Optional[float]) -> Optional[float]:
        """How many milliseconds to wait for git before the next look at the clock; None: until it says something."""
        return None if deadline is None else max(0.0, deadline - time.monotonic()) * 1000

    def _pump(self, view: memoryview, deadline: Optional[float], most: float) -> tuple[bytes, bytes]:
        import select  # who reads line by line does without

        chunks: dict[int, list[bytes]] = {self._stdout: [], self._stderr: []}
        room: dict[int, float] = {self._stdout: most, self._stderr: _MOST_SAID}
        poll = select.poll()
        for descriptor in chunks:
            poll.register(descriptor, select.POLLIN)
        if view:
            os.set_blocking(self._stdin, False)
            poll.register(self._stdin, select.POLLOUT)
        else:
            os.close(self._stdin)
        left, was_killed = set(chunks), False
        while left:
            if deadline is not None and time.monotonic() >= deadline:  # also while git talks without end
                if was_killed:  # ssh or a helper lives on and holds its end: nobody waits for it
                    for descriptor in left:
                        os.close(descriptor)
                    break
                self.kill()
                was_killed, deadline = True, time.monotonic() + _LAST_WORDS
            events = poll.poll(self._patience(deadline))
            self.watch()
            for descriptor, _ in events:
                if descriptor == self._stdin:
                    view = self._feed(view)
                    if not view:
                        poll.unregister(descriptor)
                        os.close(descriptor)
                    continue
                if not self._take(descriptor, chunks, room):
                    poll.unregister(descriptor)
                    os.close(descriptor)
                    left.discard(descriptor)
        if view:
            os.close(self._stdin)
        return b"".join(chunks[self._stdout]), b"".join(chunks[self._stderr])

    def _take(self, descriptor: int, chunks: dict[int, list[bytes]], room: dict[int, float]) -> bytes:
        chunk = os.read(descriptor, 1 << 20)
        if room[descriptor] >= 0:
            chunks[descriptor].append(chunk)
            room[descriptor] -= len(chunk)
            if room[self._stdout] < 0:
                self.kill()
        return chunk

    def _feed(self, view: memoryview) -> memoryview:
        try:
            return view[os.write(self._stdin, view[:65536]) :]
        except BlockingIOError:
            return view
        except BrokenPipeError:
            return view[len(view) :]
