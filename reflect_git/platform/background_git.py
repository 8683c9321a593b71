"""Run git in a background thread, and read git objects in batches.

Output longer than a pipe's buffer blocks git until it is read. Without a thread, a walk through 1,000 commits stopped
until the caller had processed the files of the last one.
"""

from __future__ import annotations

import threading

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from types import TracebackType

    from reflect_git.platform.git import Git, GitProcess, Result


class PendingResult:
    """The pending result of a git process that a thread feeds and reads.

    `data` is git's input. Above `most` bytes of output git is killed, as by `GitProcess.communicate`.
    """

    def __init__(self, child: GitProcess, data: bytes = b"", most: float = float("inf")) -> None:
        self._child = child
        self._results: list[Result] = []
        self._errors: list[BaseException] = []
        self._thread = threading.Thread(target=self._wait_for_process, args=(data, most), daemon=True)
        self._thread.start()

    def _wait_for_process(self, data: bytes, most: float) -> None:
        try:
            self._results.append(self._child.communicate(data, most=most))
        except BaseException as error:  # re-raised in the caller, by result()
            self._errors.append(error)

    def result(self) -> Result:
        """Wait for git and return its result."""
        self._thread.join()
        if self._errors:
            raise self._errors[0]
        return self._results[0]

    def drop(self) -> None:
        """Kill git; its result is no longer needed."""
        if self._thread.is_alive():
            self._child.kill()
        self._thread.join()


# Bytes of names in flight. git repeats each unknown name in its output. With more, it could block on that output while
# the pipe to it is full. No file has a longer name.
_MAX_REQUEST_BYTES = 4096


class ObjectReader:
    """A `git cat-file --batch` process: `with Objects(git) as objects:`.

    A name is `main:README.md`, `<commit>:path` or an object id. `warm` is a name that is requested at once: git then
    opens its packs while the caller works, not at the first real request.
    """

    def __init__(self, git: Git, warm: str = "") -> None:
        self._child = git.start("cat-file", "--batch")
        self._is_warming = bool(warm)
        if warm:
            self._child.send(_format_request(warm))

    def __enter__(self) -> ObjectReader:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._child.drop()

    def get(self, names: Sequence[str]) -> list[bytes | None]:
        """Return the bytes of each object, in order; None if it is missing or its name cannot be requested."""
        return list(self.iter_objects(names))

    def iter_objects(self, names: Sequence[str]) -> Iterator[bytes | None]:
        """Yield what `get` returns, one by one, while git already works. Read everything before the next request."""
        return self._iter_answers(names, self._send_names(names, 0))

    def _iter_answers(self, names: Sequence[str], sent: int) -> Iterator[bytes | None]:
        for number, name in enumerate(names):
            if number == sent:
                sent = self._send_names(names, number)
            yield self._read_object() if _format_request(name) else None

    def _send_names(self, names: Sequence[str], start: int) -> int:
        """Send as many names as may be in flight; return the index of the next one."""
        if self._is_warming:
            self._is_warming = False
            self._read_object()
        lines = b""
        for number in range(start, len(names)):
            line = _format_request(names[number])
            if lines and len(lines) + len(line) > _MAX_REQUEST_BYTES:
                break
            lines += line
        else:
            number = len(names)
        self._child.send(lines)
        return number

    def _read_object(self) -> bytes | None:
        """Read one object: `<id> <type> <size>`, the bytes, a newline. A shorter header means that it is missing."""
        head = self._child.read_line().split(b" ")
        if len(head) != 3 or not head[2].isdigit():
            return None
        return self._child.read_bytes(int(head[2]) + 1)[:-1]


def _format_request(name: str) -> bytes:
    """Return the request line for a name; empty if the name cannot be requested."""
    line = f"{name}\n".encode("utf-8", "surrogateescape")
    return line if name.isprintable() and len(line) <= _MAX_REQUEST_BYTES else b""


def parse_tree_names(tree: bytes) -> list[str]:
    """List the names in a tree object. Each entry is `<mode> <name>`, NUL, and the 20 bytes of an id."""
    found, at = [], 0
    while at < len(tree):
        end = tree.index(b"\0", at)
        found.append(tree[at:end].partition(b" ")[2].decode("utf-8", "surrogateescape"))
        at = end + 21
    return found
