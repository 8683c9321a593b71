"""Check whether the newest transcripts have the form that the miner reads."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from reflect_git.capture.transcript.lines import open_transcript, parse
from reflect_git.errors import ReflectError

_TAIL = 1 << 20
_CONVERSATION = ("user", "assistant")


@dataclass
class Survey:
    """Counts of the entries at the end of some transcripts; `unreadable` counts lines that are not JSON objects."""

    files: int = 0
    entries: int = 0
    unreadable: int = 0
    odd: int = 0
    versions: Counter[str] = field(default_factory=Counter)

    @property
    def is_odd(self) -> bool:
        """Return whether there are more bad lines than crashes explain: a crash leaves one."""
        return self.entries > 0 and self.unreadable + self.odd > max(2, self.entries // 100)


def survey(paths: Iterable[str], projects: str) -> Survey:
    """Count the entries at the end of transcripts, for `doctor`."""
    found = Survey()
    for path in paths:
        try:
            data = _tail(path, projects)
        except (ReflectError, OSError):
            continue
        found.files += 1
        for line in data.split(b"\n")[:-1]:  # the last one may be half written
            if line.strip():
                _count(found, line)
    return found


def _tail(path: str, projects: str) -> bytes:
    """Return complete lines from the end of a transcript."""
    descriptor = open_transcript(path, projects)
    try:
        start = max(0, os.fstat(descriptor).st_size - _TAIL)
        data = os.pread(descriptor, _TAIL, start)
    finally:
        os.close(descriptor)
    return data.partition(b"\n")[2] if start else data


def _count(found: Survey, line: bytes) -> None:
    entry = parse(line)
    found.entries += 1
    if entry is None:
        found.unreadable += 1
        return
    if entry.get("type") in _CONVERSATION:
        message = entry.get("message")
        content = message.get("content") if isinstance(message, dict) else None
        found.odd += not isinstance(content, (str, list))
        found.versions[str(entry.get("version", "unknown"))] += 1
