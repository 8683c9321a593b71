"""How many questions wait in a project, kept in a file of eight lines for those who may not take the time to count."""

from __future__ import annotations

import os

from reflect_git import paths
from reflect_git.adapters import files
from reflect_git.model.ids import day_number, folder_digest, local_day
from reflect_git.store import expiry

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence
    from typing import Any, Optional

    from reflect_git.store.reading import Scan
    from reflect_git.store.repository import Store

SOON = 3
SETTLED, STRONG, WEAK = "settled", "strong", "weak"  # what a review makes of a signal
# How a count was made: by a review; without one, so that somebody with more time counts again; without one, for good.
EXACT, GUESSED, BEST = "exact", "guessed", "best"
_SURE = 2
_MAIN = "refs/heads/main"
_OWN_WORDS = ("user_typed", "user_feedback")
_FIELDS = ("id", "type", "status", "trust", "confidence", "stored", "durable", "project", "key")
_FORGOTTEN = 60 * 86400


class Glance:
    """`questions` is what a review here asks, `elsewhere` what one of other projects does, `said` those of `questions`
    that rest on the user's own words. `waiting_here` are signals here, `weak` those that no review asks about by
    itself; `waiting` and `strong` are signals of all projects. `going` says how many questions go on which of the
    next days, today being 0."""

    __slots__ = ("elsewhere", "going", "last_capture", "questions", "said", "strong", "waiting", "waiting_here", "weak")

    def __init__(self) -> None:
        self.questions = self.elsewhere = self.said = self.strong = 0
        self.waiting = self.waiting_here = self.weak = 0
        self.going: list[dict[str, int]] = []
        self.last_capture: Optional[str] = None


def strong(question: str) -> str:
    """Return the word for a signal of a question that a review asks."""
    return f"{STRONG} {question}"


def count(store: Store, scan: Scan, now: float, judged: Mapping[str, str], keys: Collection[str]) -> Glance:
    """Count what waits, here in the project with these keys, or everywhere where there are none.

    What a signal is worth the review has `judged`. Of what was captured since, it is told as well as one can of a
    signal alone. Summaries are there to be read, and what is settled is asked about by no review: neither waits.
    """
    found = Glance()
    here: dict[str, list[dict[str, Any]]] = {}
    elsewhere = set()
    for row in zip(*(scan.columns[field] for field in _FIELDS)):
        if row[2] != "captured" or row[1] == "summary":
            continue
        signal: dict[str, Any] = dict(zip(_FIELDS, row))
        word = judged.get(signal["id"]) or _likely(signal)
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
    found.said = sum(any(signal["trust"] in _OWN_WORDS for signal in signals) for signals in here.values())
    found.going = _going(store, here.values(), now)
    found.last_capture = max(scan.columns["stored"], default=None)
    return found


def _likely(signal: Mapping[str, Any]) -> str:
    is_sure = signal["confidence"] >= _SURE and signal["durable"] and signal["type"] != "failure"
    return strong(str(signal["key"])) if is_sure else WEAK


def _going(store: Store, questions: Iterable[Sequence[Any]], now: float) -> list[dict[str, int]]:
    """Count by the person's own days: at 23:00, what goes at 01:00 goes tomorrow. A question goes with its last
    signal."""
    ttl, shown, today = expiry.lifetime(store), expiry.shown(store), day_number(now)
    counts: dict[int, int] = {}
    for signals in questions:
        last = max(expiry.goes_on(signal, ttl, shown) for signal in signals)
        days = max(0, day_number(last) - today)
        if days <= SOON:
            counts[days] = counts.get(days, 0) + 1
    return [{"days": days, "count": counts[days]} for days in sorted(counts)]


def line(glance: Glance) -> str:
    """Return the status line: `✎ 5 · 2 go today, 3 in 2 days`; nothing where no question waits."""
    if not glance.questions:
        return ""
    return " · ".join([f"✎ {glance.questions}", *([going_said(glance.going)] if glance.going else [])])


def going_said(going: list[dict[str, int]]) -> str:
    """`2 go today, 5 in 3 days`."""
    words = {0: "today", 1: "tomorrow"}
    parts = [f"{day['count']} {words.get(day['days']) or 'in ' + str(day['days']) + ' days'}" for day in going]
    number, _, rest = parts[0].partition(" ")
    return ", ".join([f"{number} {'goes' if number == '1' else 'go'} {rest}", *parts[1:]])


def seen(store: Store) -> str:
    """Return the inbox branch, its tip and that of main. Taken before counting: what comes meanwhile makes the count
    old."""
    from reflect_git.store import inbox

    ref = inbox.current(store)
    return f"{ref}\n{_tip(store, ref)}\n{_tip(store, _MAIN)}"


def keep(store: Store, folder: str, glance: Glance, seen_before: str, now: float, how: str = EXACT) -> None:
    """Keep the count for hooks/statusline.py, eight lines: a hash of the folder, what was seen before (three), the day,
    how it was counted, how many the user said, and the line that is shown."""
    text = f"{folder_digest(folder)}\n{seen_before}\n{local_day(now)}\n{how}\n{glance.said}\n{line(glance)}\n"
    try:
        files.write_whole(_path(store, folder), text.encode("utf-8", "surrogateescape"), sync=False)
    except OSError:  # read-only or full: then it is counted each time
        pass


def kept(store: Store, folder: str) -> list[str]:
    """Return the eight lines for a folder; empty ones if nobody counted there."""
    lines = (files.read_if_there(_path(store, folder)) or b"").decode("utf-8", "surrogateescape").split("\n")
    return lines[:8] if len(lines) > 7 and lines[0] == folder_digest(folder) else [""] * 8


def is_outdated(store: Store, folder: str) -> bool:
    """Tell whether something was decided since somebody counted here."""
    lines = kept(store, folder)
    return bool(lines[0]) and lines[3] != _tip(store, _MAIN)


def is_exact(store: Store, folder: str, now: float) -> bool:
    """Tell whether the count of a review here still holds."""
    lines = kept(store, folder)
    return bool(lines[0]) and lines[5] == EXACT and [*seen(store).split("\n"), local_day(now)] == lines[1:5]


def forget_old(store: Store, now: float) -> None:
    """Remove the counts of folders in which nobody worked for two months."""
    for name in files.names_in(store.private_path("cache")):
        path = store.private_path("cache", name)
        try:
            if name.startswith(paths.count_file("")) and now - os.stat(path).st_mtime > _FORGOTTEN:
                files.remove(path)
        except OSError:
            pass


def _path(store: Store, folder: str) -> str:
    return store.private_path("cache", paths.count_file(folder_digest(folder)))


def keep_judged(store: Store, judged: Mapping[str, str]) -> None:
    """Keep what a review makes of each signal for those who may not take the time to find out."""
    try:
        lines = (f"{identity} {word}" for identity, word in sorted(judged.items()))
        files.write_whole(store.private_path("cache", "judged"), "\n".join(lines).encode(), sync=False)
    except OSError:
        pass


def _judged(store: Store) -> Mapping[str, str]:
    """Return what the last review made of signals. A decision since may have opened a question again; that is rare,
    and the next review counts it."""
    text = (files.read_if_there(store.private_path("cache", "judged"), 1 << 23) or b"").decode("utf-8", "replace")
    told = (line.partition(" ") for line in text.split("\n"))
    return {identity: word for identity, _, word in told}


def _tip(store: Store, ref: str) -> str:
    """As the loose ref says; empty while it is packed. Only whether it changed is of interest."""
    return (files.read_if_there(os.path.join(store.git_dir, *ref.split("/"))) or b"").decode("ascii", "replace").strip()


def guess(store: Store, folder: str, keys: Collection[str], now: float, how: str = GUESSED) -> None:
    """Count without a review, unless the count of one still holds; for processes that nobody waits for."""
    from reflect_git.store import reading

    if is_exact(store, folder, now):
        return
    before = seen(store)
    keep(store, folder, count(store, reading.scan(store), now, _judged(store), keys), before, now, how)


def own_words_waiting(store: Store, folder: str) -> int:
    """Return how many questions in the user's own words waited here when somebody last counted."""
    said = kept(store, folder)[6]
    return int(said) if said.isdigit() else 0
