"""Whole lines of a transcript, read in big blocks; lines that cannot matter are dropped unparsed.

More than nine tenths of a transcript are no conversation: snapshots of the prompt, copies of requests.
"""

from __future__ import annotations

import os
import time

from reflect_git.adapters import jsontext

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Generator, Iterator
    from typing import Any, Optional

    Line = tuple[int, int, bytes]  # where it begins, where the next one begins, its bytes

BLOCK = 1 << 20
MAX_LINE = 8 << 20

_TYPE = b'"type":"'
_ATTACHMENT = b'"attachment":'
_ENTRIES = frozenset((b"user", b"assistant", b"attachment", b"queue-operation"))
_ATTACHMENTS = frozenset(
    (b"queued_command", b"instructions", b"nested_memory", b"edited_text_file", b"max_turns_reached")
)


def matters(data: bytes, begin: int, end: int) -> bool:
    """False if a line certainly has nothing to tell; decided by what stands before the first inner object of its entry.

    In there `"type":"x"` is a key of the entry itself: in a text its quotes would be escaped. Keys come in any order,
    and an entry may say nothing this early: then it has to be parsed.
    """
    brace = data.find(b"{", begin + 1, end)
    head = brace if brace > 0 else end
    if data.startswith(_TYPE, head + 1, end) and data.endswith(_ATTACHMENT, begin, head):
        return _word(data, head + 1 + len(_TYPE), end) in _ATTACHMENTS
    at = data.find(_TYPE, begin, head)
    if at < 0:
        return end > begin
    kind = _word(data, at + len(_TYPE), end)
    return kind in _ENTRIES or (kind == b"system" and data.find(b"compact_boundary", begin, end) > 0)


def _word(data: bytes, begin: int, end: int) -> bytes:
    return data[begin : data.find(b'"', begin, end)]


def parse(line: bytes) -> Optional[dict[str, Any]]:
    """The entry; None for what is no JSON object, or one nested deeper than any entry."""
    try:
        # A crash of the machine can leave NULs where a line was about to be.
        entry = jsontext.loads(line.strip(b"\0 \t\r\n").decode("utf-8", "replace"))
    except (ValueError, RecursionError, MemoryError):
        return None
    return entry if type(entry) is dict else None


class Lines:
    """The lines of an open file from an offset on; an offset within a line goes on with the next one.

    After each block comes an empty line that only tells how far whole lines were read. A last line without its end
    comes as one that ends where it begins: it is for the reader to see whether it is whole.
    """

    def __init__(self, descriptor: int, start: int, deadline: Optional[float] = None) -> None:
        self.finished = False
        self._descriptor = descriptor
        self._at = start
        self._deadline = deadline
        # What is appended meanwhile is for the next time: a busy client must not keep us here.
        self._left = os.fstat(descriptor).st_size - start

    def __iter__(self) -> Iterator[Line]:
        rest, dropped = b"", self._open_dropped()
        while self._left > 0:
            block = self._read()
            if dropped >= 0:
                block, dropped = self._drop(block, dropped)
            if rest:
                cut = block.find(b"\n") + 1 or len(block)
                rest = yield from self._give(rest + block[:cut])
                block = block[cut:]
            rest += yield from self._give(block)
            if len(rest) > MAX_LINE:
                rest, dropped = b"", len(rest)
            yield self._at, self._at, b""
            if self._deadline is not None and time.monotonic() >= self._deadline and self._left > 0:
                return
        self.finished = True
        if matters(rest, 0, len(rest)):
            yield self._at, self._at, rest

    def _open_dropped(self) -> int:
        """0 if the first bytes belong to a line that began before, -1 if not."""
        os.lseek(self._descriptor, self._at, os.SEEK_SET)
        return 0 if self._at > 0 and os.pread(self._descriptor, 1, self._at - 1) != b"\n" else -1

    def _read(self) -> bytes:
        block = os.read(self._descriptor, min(BLOCK, self._left))
        self._left = self._left - len(block) if block else 0  # cut short by somebody else
        return block

    def _drop(self, block: bytes, dropped: int) -> tuple[bytes, int]:
        """The block after the end of a line that is not wanted, if it is in there."""
        cut = block.find(b"\n") + 1
        if not cut:
            return b"", dropped + len(block)
        self._at += dropped + cut
        return block[cut:], -1

    def _give(self, data: bytes) -> Generator[Line, None, bytes]:
        """The lines that matter; what follows the last line is handed back."""
        begin, at, find = 0, self._at, data.find
        cut = find(b"\n")
        while cut >= 0:
            if matters(data, begin, cut) and cut - begin <= MAX_LINE:
                yield at + begin, at + cut + 1, data[begin:cut]
            begin = cut + 1
            cut = find(b"\n", begin)
        self._at = at + begin
        return data[begin:]
