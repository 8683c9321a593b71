"""The number of open questions in a project, cached in a file of eight lines for callers without time to count."""

from __future__ import annotations

import os

from reflect_git import paths
from reflect_git.platform import files
from reflect_git.records.ids import day_number, folder_digest, local_day
from reflect_git.store import expiry, inbox

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence
    from typing import Any, Optional

    from reflect_git.store.reading.reader import Scan
    from reflect_git.store.repository import Store

SOON_DAYS = 3
SETTLED, STRONG, WEAK = "settled", "strong", "weak"  # what a review makes of a signal
# How a count was made: by a review; without one, to be repeated by a slower caller; without one, final.
EXACT, GUESSED, BEST = "exact", "guessed", "best"
_MIN_CONFIDENCE = 2
_MAIN = "refs/heads/main"
_USER_TRUST = ("user_typed", "user_feedback")
_COUNTED_FIELDS = ("id", "type", "status", "trust", "confidence", "stored", "durable", "project", "key")
_MAX_AGE = 60 * 86400


class WaitingCounts:
    """The counts of open questions and signals.

    `questions` are those of a review here, `elsewhere` those in other projects. `own_words` are the `questions` in the
    user's own words. `waiting_here` are signals here, `weak` those that no review asks about by default. `waiting` and
    `strong` are signals of all projects. `expiring` says how many questions expire on each of the next days; today is
    0.
    """

    __slots__ = (
        "elsewhere",
        "expiring",
        "last_capture",
        "own_words",
        "questions",
        "strong",
        "waiting",
        "waiting_here",
        "weak",
    )

    def __init__(self) -> None:
        self.questions = self.elsewhere = self.own_words = self.strong = 0
        self.waiting = self.waiting_here = self.weak = 0
        self.expiring: list[dict[str, int]] = []
        self.last_capture: Optional[str] = None


def format_strong(question: str) -> str:
    """Return the judgement of a signal that belongs to a question in a review."""
    return f"{STRONG} {question}"


def count_waiting(
    store: Store, scan: Scan, now: float, judged: Mapping[str, str], keys: Collection[str]
) -> WaitingCounts:
    """Count open questions and signals, here in the project with these keys; everywhere without keys.

    `judged` is the last review's judgement of signals. Later captures are judged by the signal alone. Summaries and
    settled signals do not count, because no review asks about them.
    """
    found = WaitingCounts()
    here: dict[str, list[dict[str, Any]]] = {}
    elsewhere = set()
    for row in zip(*(scan.columns[field] for field in _COUNTED_FIELDS)):
        if row[2] != "captured" or row[1] == "summary":
            continue
        signal: dict[str, Any] = dict(zip(_COUNTED_FIELDS, row))
        word = judged.get(signal["id"]) or _judge_signal(signal)
        if word == SETTLED:
            continue
        is_here = not keys or signal["project"] is None or signal["project"]["key"] in keys
        found.waiting += 1
        found.waiting_here += is_here
        if word == WEAK:
            found.weak += is_here
            continue
        found.strong += 1
        if is_here:
            here.setdefault(word, []).append(signal)
        else:
            elsewhere.add(word)
    found.questions, found.elsewhere = len(here), len(elsewhere)
    found.own_words = sum(any(signal["trust"] in _USER_TRUST for signal in signals) for signals in here.values())
    found.expiring = _count_expiring(store, here.values(), now)
    found.last_capture = max(scan.columns["stored"], default=None)
    return found


def _judge_signal(signal: Mapping[str, Any]) -> str:
    is_sure = signal["confidence"] >= _MIN_CONFIDENCE and signal["durable"] and signal["type"] != "failure"
    return format_strong(str(signal["key"])) if is_sure else WEAK


def _count_expiring(store: Store, questions: Iterable[Sequence[Any]], now: float) -> list[dict[str, int]]:
    """Count questions by local day of expiry: at 23:00, 01:00 is tomorrow. A question expires with its last signal."""
    ttl, shown, today = expiry.get_ttl_days(store), expiry.load_shown_ids(store), day_number(now)
    counts: dict[int, int] = {}
    for signals in questions:
        last = max(expiry.get_expiry_time(signal, ttl, shown) for signal in signals)
        days = max(0, day_number(last) - today)
        if days <= SOON_DAYS:
            counts[days] = counts.get(days, 0) + 1
    return [{"days": days, "count": counts[days]} for days in sorted(counts)]


def format_status_line(counts: WaitingCounts) -> str:
    """Return the status line: `✎ 5 · 2 expire today, 3 in 2 days`; empty if there is no question."""
    if not counts.questions:
        return ""
    return " · ".join([f"✎ {counts.questions}", *([format_expiring(counts.expiring)] if counts.expiring else [])])


def format_expiring(going: list[dict[str, int]]) -> str:
    """Return `2 expire today, 5 in 3 days`."""
    words = {0: "today", 1: "tomorrow"}
    parts = [f"{day['count']} {words.get(day['days']) or 'in ' + str(day['days']) + ' days'}" for day in going]
    number, _, rest = parts[0].partition(" ")
    return ", ".join([f"{number} {'expires' if number == '1' else 'expire'} {rest}", *parts[1:]])


def get_branch_tips(store: Store) -> str:
    """Return the inbox branch, its tip and that of main.

    Call it before counting: later changes make a count outdated.
    """
    ref = inbox.get_current_ref(store)
    return f"{ref}\n{_read_tip(store, ref)}\n{_read_tip(store, _MAIN)}"


def save_count(
    store: Store, folder: str, counts: WaitingCounts, seen_before: str, now: float, how: str = EXACT
) -> None:
    """Write the count for hooks/statusline.py.

    Eight lines: a hash of the folder, what was `seen` before (three), the day, how it was counted, how many questions
    are in the user's own words, and the line to show.
    """
    head = f"{folder_digest(folder)}\n{seen_before}\n{local_day(now)}\n{how}\n"
    text = f"{head}{counts.own_words}\n{format_status_line(counts)}\n"
    try:
        files.write_atomic(_get_path(store, folder), text.encode("utf-8", "surrogateescape"), sync=False)
    except OSError:  # read-only or full disk: count each time
        pass


def load_count(store: Store, folder: str) -> list[str]:
    """Return the eight lines for a folder; empty ones if there is no count."""
    lines = (files.read_if_exists(_get_path(store, folder)) or b"").decode("utf-8", "surrogateescape").split("\n")
    return lines[:8] if len(lines) > 7 and lines[0] == folder_digest(folder) else [""] * 8


def is_outdated(store: Store, folder: str) -> bool:
    """Return whether anything was decided since the last count here."""
    lines = load_count(store, folder)
    return bool(lines[0]) and lines[3] != _read_tip(store, _MAIN)


def is_exact(store: Store, folder: str, now: float) -> bool:
    """Return whether the count of a review here is still valid."""
    lines = load_count(store, folder)
    return bool(lines[0]) and lines[5] == EXACT and [*get_branch_tips(store).split("\n"), local_day(now)] == lines[1:5]


def delete_old_counts(store: Store, now: float) -> None:
    """Delete the counts of folders that were not used for two months."""
    for name in files.list_names(store.private_path("cache")):
        path = store.private_path("cache", name)
        try:
            if name.startswith(paths.count_file_name("")) and now - os.stat(path).st_mtime > _MAX_AGE:
                files.remove(path)
        except OSError:
            pass


def _get_path(store: Store, folder: str) -> str:
    return store.private_path("cache", paths.count_file_name(folder_digest(folder)))


def save_judgements(store: Store, judged: Mapping[str, str]) -> None:
    """Write a review's judgement of each signal, for callers without time to compute it."""
    try:
        lines = (f"{identity} {word}" for identity, word in sorted(judged.items()))
        files.write_atomic(store.private_path("cache", "judged"), "\n".join(lines).encode(), sync=False)
    except OSError:
        pass


def _load_judgements(store: Store) -> Mapping[str, str]:
    """Return the last review's judgements.

    A later decision may have reopened a question; that is rare, and the next review counts it.
    """
    text = (files.read_if_exists(store.private_path("cache", "judged"), 1 << 23) or b"").decode("utf-8", "replace")
    told = (line.partition(" ") for line in text.split("\n"))
    return {identity: word for identity, _, word in told}


def _read_tip(store: Store, ref: str) -> str:
    """Return the commit of a loose ref; empty if it is packed. Only changes matter here."""
    return (
        (files.read_if_exists(os.path.join(store.git_dir, *ref.split("/"))) or b"").decode("ascii", "replace").strip()
    )


def count_without_review(store: Store, folder: str, keys: Collection[str], now: float, how: str = GUESSED) -> None:
    """Count without a review, unless the count of one is still valid. For background processes."""
    from reflect_git.store.reading import reader

    if is_exact(store, folder, now):
        return
    before = get_branch_tips(store)
    save_count(
        store, folder, count_waiting(store, reader.scan(store), now, _load_judgements(store), keys), before, now, how
    )


def get_own_words_count(store: Store, folder: str) -> int:
    """Return how many questions in the user's own words were open at the last count here."""
    said = load_count(store, folder)[6]
    return int(said) if said.isdigit() else 0
