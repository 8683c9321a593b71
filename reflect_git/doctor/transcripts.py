"""Check whether the newest transcripts have the form that the miner reads."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from reflect_git.capture.transcript.lines import open_transcript, parse_line
from reflect_git.errors import ReflectError

_TAIL_BYTES = 1 << 20
_CONVERSATION = ("user", "assistant")


@dataclass
class TranscriptCounts:
    """Counts of the entries at the end of some transcripts; `unreadable` counts lines that are not JSON objects."""

    files: int = 0
    entries: int = 0
    unreadable: int = 0
    malformed: int = 0
    versions: Counter[str] = field(default_factory=Counter)

    @property
    def has_many_errors(self) -> bool:
        """Return whether there are more bad lines than crashes explain: a crash leaves one."""
        return self.entries > 0 and self.unreadable + self.malformed > max(2, self.entries // 100)


def count_entries(paths: Iterable[str], projects: str) -> TranscriptCounts:
    """Count the entries at the end of transcripts, for `doctor`."""
    found = TranscriptCounts()
    for path in paths:
        try:
            data = _read_tail(path, projects)
        except (ReflectError, OSError):
            continue
        found.files += 1
        for line in data.split(b"\n")[:-1]:  # the last one may be half written
            if line.strip():
                _count_line(found, line)
    return found


def _read_tail(path: str, projects: str) -> bytes:
    """Return complete lines from the end of a transcript."""
    descriptor = open_transcript(path, projects)
    try:
        start = max(0, os.fstat(descriptor).st_size - _TAIL_BYTES)
        data = os.pread(descriptor, _TAIL_BYTES, start)
    finally:
        os.close(descriptor)
    return data.partition(b"\n")[2] if start else data


def _count_line(found: TranscriptCounts, line: bytes) -> None:
    entry = parse_line(line)
    found.entries += 1
    if entry is None:
        found.unreadable += 1
        return
    if entry.get("type") in _CONVERSATION:
        message = entry.get("message")
        content = message.get("content") if isinstance(message, dict) else None
        found.malformed += not isinstance(content, (str, list))
        found.versions[str(entry.get("version", "unknown"))] += 1
