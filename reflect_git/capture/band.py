"""Find the content of the band above the prompt: the last sentence noted in this session, and a count."""

from __future__ import annotations

from reflect_git.capture.notice import shorten

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from reflect_git.store.reading.reader import Scan
    from reflect_git.store.repository import Store

_OWN_WORDS = ("user_typed", "user_feedback")
_FIELDS = ("session_id", "status", "trust", "type", "durable")
_NOTED_TYPES = ("correction", "convention")


def find_last_noted(scan: Scan, session: str) -> str:
    """Return what was last noted in this session and waits for an answer; empty if nothing."""
    listed: Sequence[tuple[str, ...]] = list(zip(*(scan.columns[field] for field in _FIELDS)))
    rows = [
        row
        for row, (own, status, trust, kind, durable) in enumerate(listed)
        if own == session and status == "captured" and trust in _OWN_WORDS and kind in _NOTED_TYPES and durable
    ]
    stored = scan.columns["stored"]
    last = max(rows, key=lambda row: str(stored[row]), default=None)
    return "" if last is None else shorten(str(scan.get_signals([last])[0]["content"]))


def count_questions(store: Store, top: str) -> int:
    """Return how many questions a review here has, by the count that the status line shows too."""
    from reflect_git.store.reading import waiting_counts

    line = waiting_counts.load_count(store, top)[7]
    number = line.removeprefix("✎ ").partition(" ")[0]
    return int(number) if number.isdigit() else 0
