"""Open transcripts safely and read their complete lines in big blocks; irrelevant lines are dropped unparsed.

More than nine tenths of a transcript are not conversation but snapshots of the prompt and copies of requests.
"""

from __future__ import annotations

import errno
import os
import stat
import time

from reflect_git.errors import ReflectError
from reflect_git.records import json_form

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Generator, Iterator
    from typing import Any, Optional

    Line = tuple[int, int, bytes]  # its offset, the offset of the next line, its bytes

BLOCK_SIZE = 1 << 20
MAX_LINE = 8 << 20

_TYPE_MARK = b'"type":"'
_ATTACHMENT_MARK = b'"attachment":'
_ENTRY_TYPES = frozenset((b"user", b"assistant", b"attachment", b"queue-operation"))
_ATTACHMENT_TYPES = frozenset(
    (b"queued_command", b"instructions", b"nested_memory", b"edited_text_file", b"max_turns_reached")
)


def is_relevant(data: bytes, begin: int, end: int) -> bool:
    """Return False if a line is certainly irrelevant, judging by what precedes the first inner object of its entry.

    In that part `"type":"x"` is a key of the entry itself, because quotes in a text would be escaped. Keys come in any
    order. An entry that says nothing this early has to be parsed.
    """
    brace = data.find(b"{", begin + 1, end)
    head = brace if brace > 0 else end
    if data.startswith(_TYPE_MARK, head + 1, end) and data.endswith(_ATTACHMENT_MARK, begin, head):
        return _read_word(data, head + 1 + len(_TYPE_MARK), end) in _ATTACHMENT_TYPES
    at = data.find(_TYPE_MARK, begin, head)
    if at < 0:
        return end > begin
    kind = _read_word(data, at + len(_TYPE_MARK), end)
    return kind in _ENTRY_TYPES or (kind == b"system" and data.find(b"compact_boundary", begin, end) > 0)


def _read_word(data: bytes, begin: int, end: int) -> bytes:
    return data[begin : data.find(b'"', begin, end)]


def parse_line(line: bytes) -> Optional[dict[str, Any]]:
    """Return the entry; None if the line is not a JSON object, or is nested too deeply."""
    try:
        # A crash of the machine can leave NULs in place of a line.
        entry = json_form.loads(line.strip(b"\0 \t\r\n").decode("utf-8", "replace"))
    except (ValueError, RecursionError, MemoryError):
        return None
    return entry if type(entry) is dict else None


class LineReader:
    """The lines of an open file from an offset on; an offset within a line skips to the next one.

    After each block comes an empty line that only reports how far complete lines were read. An unterminated last line
    has its own start as its end; the reader decides whether it is complete.
    """

    def __init__(self, descriptor: int, start: int, deadline: Optional[float] = None) -> None:
        self.finished = False
        self._descriptor = descriptor
        self._offset = start
        self._deadline = deadline
        # What is appended meanwhile is left for the next pass: a busy client must not keep us here.
        self._bytes_left = os.fstat(descriptor).st_size - start

    def __iter__(self) -> Iterator[Line]:
        rest, dropped = b"", self._seek_start()
        while self._bytes_left > 0:
            block = self._read_block()
            if dropped >= 0:
                block, dropped = self._skip_line(block, dropped)
            if rest:
                cut = block.find(b"\n") + 1 or len(block)
                rest = yield from self._split_lines(rest + block[:cut])
                block = block[cut:]
            rest += yield from self._split_lines(block)
            if len(rest) > MAX_LINE:
                rest, dropped = b"", len(rest)
            yield self._offset, self._offset, b""
            if self._deadline is not None and time.monotonic() >= self._deadline and self._bytes_left > 0:
                return
        self.finished = True
        if is_relevant(rest, 0, len(rest)):
            yield self._offset, self._offset, rest

    def _seek_start(self) -> int:
        """Return 0 if the first bytes belong to a line that began before, -1 if not."""
        os.lseek(self._descriptor, self._offset, os.SEEK_SET)
        return 0 if self._offset > 0 and os.pread(self._descriptor, 1, self._offset - 1) != b"\n" else -1

    def _read_block(self) -> bytes:
        block = os.read(self._descriptor, min(BLOCK_SIZE, self._bytes_left))
        self._bytes_left = self._bytes_left - len(block) if block else 0  # truncated by somebody else
        return block

    def _skip_line(self, block: bytes, dropped: int) -> tuple[bytes, int]:
        """Return the block after the end of an unwanted line; empty if the line does not end there."""
        cut = block.find(b"\n") + 1
        if not cut:
            return b"", dropped + len(block)
        self._offset += dropped + cut
        return block[cut:], -1

    def _split_lines(self, data: bytes) -> Generator[Line, None, bytes]:
        """Yield the relevant lines; return the bytes after the last line."""
        begin, at, find = 0, self._offset, data.find
        cut = find(b"\n")
        while cut >= 0:
            if is_relevant(data, begin, cut) and cut - begin <= MAX_LINE:
                yield at + begin, at + cut + 1, data[begin:cut]
            begin = cut + 1
            cut = find(b"\n", begin)
        self._offset = at + begin
        return data[begin:]


# Without O_NONBLOCK, opening a FIFO waits for a writer, possibly for ever.
_OPEN_FLAGS = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NOCTTY


def check_path(path: str, projects: str) -> None:
    """Raise the error that `open_transcript` would raise."""
    os.close(open_transcript(path, projects))


def open_transcript(path: str, projects: str = "") -> int:
    """Open a regular file; with `projects`, only one that is really inside that folder. Return the descriptor."""
    descriptor = _open_file(path)
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise _build_error(path, "is not a regular file")
        if projects and not _is_inside(path, projects, status):
            raise _build_error(path, "lies outside the client's projects folder")
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def _open_file(path: str) -> int:
    try:
        return os.open(path, _OPEN_FLAGS)
    except ValueError:  # a NUL in the path
        raise ReflectError("the path of the transcript is not a path", code="transcript") from None
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.EMLINK):  # FreeBSD uses EMLINK
            raise _build_error(path, "is a symbolic link") from None
        raise ReflectError(f"cannot read transcript '{path}': {error.strerror}", code="transcript") from error


def _is_inside(path: str, projects: str, opened: os.stat_result) -> bool:
    """Return whether the opened file is inside the folder.

    The file now at the real path must be the opened one, because a folder can become a link in between.
    """
    real, folder = os.path.realpath(path), os.path.realpath(projects)
    if not real.startswith(folder.rstrip("/") + "/"):
        return False
    try:
        return os.path.samestat(os.lstat(real), opened)
    except OSError:
        return False


def _build_error(path: str, why: str) -> ReflectError:
    return ReflectError(
        f"transcript '{path}' {why}",
        "give the file itself, as it is named below the projects folder of Claude Code",
        code="transcript",
    )
