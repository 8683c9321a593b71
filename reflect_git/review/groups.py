"""Signals that say one thing, by key, frame and sense; what was decided about them; how many there may be of a day."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from reflect_git.model.frames import Frame, frame_of
from reflect_git.review.likeness import agree, contradicts
from reflect_git.review.senses import Sense, sense_of
from reflect_git.review.verdicts import Verdict
from reflect_git.store.fold import History, session_hash

Signal = Mapping[str, Any]
STRONG, WEAK = "strong", "weak"
# Of one machine and one trust in a day; more is a flood, which waits behind what is not.
FLOOD = 50
CLOSELY = 1000  # groups, the newest, that are compared by sense, too: it takes four times as long as by frame
AGAIN = 3  # sessions after a "no" until it is asked once more
_HIGH = 3


@dataclass(frozen=True)
class Signals:
    """Signals in columns, as the store reads them, and whole where somebody asks: of 10,000, ten are shown.

    `rows` are the numbers of those that are meant, the oldest first (clamped to when it was stored: a clock may lie).
    """

    columns: Mapping[str, Sequence[Any]]
    rows: Sequence[int]
    whole: Callable[[Sequence[int]], Sequence[Signal]]

    def among(self, rows: Sequence[int]) -> Signals:
        return Signals(self.columns, rows, self.whole)


@dataclass(slots=True)
class Group:
    """Rows of signals, the oldest first. What is counted of them is counted once: 10,000 groups are looked at often."""

    rows: list[int]
    keys: set[str]
    frame: Frame | None = None
    sense: Sense | None = None
    dismissed_before: str | None = None
    is_fixed: bool = False
    sessions: int = 1
    confidence: int = 1
    tier: str = WEAK

    @property
    def oldest(self) -> int:
        return self.rows[0]


def grouped(signals: Signals, history: History, judge: Callable[[Group, int], Hashable] | None = None) -> list[Group]:
    """One key is one group; then frames that say the same, one of them in fewer words; then failures with their fix.

    Rows that the judge does not judge alike are no group: in one project it may be answered, in another not.
    """
    keys = signals.columns["key"]
    by_key: dict[str, Group] = {}
    for row in signals.rows:
        key = keys[row]
        found = by_key.get(key)
        if found is None:
            by_key[key] = Group([row], {key})
        else:
            found.rows.append(row)
    order = {row: place for place, row in enumerate(signals.rows)}
    groups = _by_sense(_by_frame(list(by_key.values()), signals, order), signals, order)
    groups = _with_their_fix(groups, signals, order)
    if judge:
        groups = [part for group in groups for part in _apart(group, signals, judge)]
        groups.sort(key=lambda group: order[group.oldest])
    expired: dict[str, set[str]] = {}
    for line in history.tallied:
        expired.setdefault(line[0], set()).add(line[4])
    for group in groups:
        _count(group, signals.columns, expired)
    return groups


def _apart(group: Group, signals: Signals, judge: Callable[[Group, int], Hashable]) -> Iterator[Group]:
    found: dict[Hashable, list[int]] = {}
    for row in group.rows:
        found.setdefault(judge(group, row), []).append(row)
    if len(found) == 1:
        yield group
        return
    keys, contents = signals.columns["key"], signals.columns["content"]
    for rows in found.values():
        part = Group(rows, {keys[row] for row in rows}, is_fixed=group.is_fixed)
        said = [row for row in rows if signals.columns["type"][row] != "failure"]
        if said:
            part.frame, part.sense = frame_of(contents[said[0]]), sense_of(contents[said[0]])
        yield part


def _take(group: Group, other: Group, order: Mapping[int, int]) -> None:
    group.rows = sorted([*group.rows, *other.rows], key=order.__getitem__)
    group.keys |= other.keys


def _count(group: Group, columns: Mapping[str, Sequence[Any]], expired: Mapping[str, set[str]]) -> None:
    """Distinct sessions, expired ones included; a signal without a session is one of its own."""
    rows = group.rows
    seen = {columns["session_id"][row] or columns["id"][row] for row in rows}
    if expired and not group.keys.isdisjoint(expired):
        seen = {session_hash(session) for session in seen}.union(*(expired.get(key, ()) for key in group.keys))
    group.sessions = len(seen)
    group.confidence = min(_HIGH, max(len(seen), *[columns["confidence"][row] for row in rows]))
    group.tier = STRONG if _is_strong(group, columns) else WEAK


def _is_strong(group: Group, columns: Mapping[str, Sequence[Any]]) -> bool:
    """Sure or said twice, and likely to hold tomorrow. A failure alone teaches nothing."""
    if group.sessions > 1 or group.is_fixed:
        return True
    if all(columns["type"][row] == "failure" for row in group.rows):
        return False
    if not any(columns["durable"][row] for row in group.rows):
        return False
    return group.confidence > 1 or any(columns["trust"][row] == "user_feedback" for row in group.rows)


def _by_frame(groups: list[Group], signals: Signals, order: Mapping[int, int]) -> list[Group]:
    """A frame that says less joins the one that says more, if there is exactly one; "use X" may belong to several."""
    types, contents = signals.columns["type"], signals.columns["content"]
    shelves: dict[tuple[str, str, str], list[Group]] = {}
    for group in groups:
        if types[group.oldest] == "failure":
            continue
        group.frame = frame = frame_of(contents[group.oldest])
        for part in parts_of(frame):
            shelves.setdefault(part, []).append(group)
    return _joined(groups, shelves, contents, order)


def _by_sense(groups: list[Group], signals: Signals, order: Mapping[int, int]) -> list[Group]:
    """Join what says the same in other words."""
    types, contents = signals.columns["type"], signals.columns["content"]
    by_sense: dict[Sense, Group] = {}
    taken: set[int] = set()
    for group in groups[-CLOSELY:]:
        if types[group.oldest] == "failure":
            continue
        group.sense = sense_of(contents[group.oldest])
        other = by_sense.setdefault(group.sense, group) if group.sense else group
        if other is not group and not contradicts(contents[other.oldest], contents[group.oldest]):
            _take(other, group, order)
            taken.add(id(group))
    return [group for group in groups if id(group) not in taken] if taken else groups


def _joined(
    groups: list[Group], shelves: Mapping[tuple[str, str, str], Sequence[Group]], contents: Sequence[str],
    order: Mapping[int, int],
) -> list[Group]:  # fmt: skip
    """Join each frame that says less with the one that says more, unless the two contradict each other."""
    joined: set[int] = set()
    for group in groups:
        frame = group.frame
        if frame is None or (frame.wanted and frame.unwanted):
            continue
        others = [one for part in parts_of(frame) for one in shelves[part] if one is not group]
        fuller = [one for one in others if id(one) not in joined and _says_as_much(one, group, order)]
        if len({one.frame for one in fuller}) == 1 and not contradicts(
            contents[fuller[0].oldest], contents[group.oldest]
        ):
            _take(fuller[0], group, order)
            joined.add(id(group))
    if not joined:
        return groups
    return sorted([group for group in groups if id(group) not in joined], key=lambda group: order[group.oldest])


def parts_of(frame: Frame | None) -> list[tuple[str, str, str]]:
    """What frames that agree have in common: where to look for them."""
    if frame is None:
        return []
    named = (("wanted", frame.wanted), ("unwanted", frame.unwanted))
    return [(name, part, frame.condition) for name, part in named if part]


def _says_as_much(more: Group, group: Group, order: Mapping[int, int]) -> bool:
    """Signals of old records may have one frame under two keys: then the older group takes the other in."""
    if not more.frame or not group.frame or not agree(group.frame, more.frame):
        return False
    return more.frame != group.frame or order[more.oldest] < order[group.oldest]


def _with_their_fix(groups: list[Group], signals: Signals, order: Mapping[int, int]) -> list[Group]:
    """Join the failure of a command with the group that knows what works in its place."""
    types, contents = signals.columns["type"], signals.columns["content"]
    fixes: dict[str, Group] = {}
    kept, failures = [], []
    for group in groups:
        if types[group.oldest] == "failure":
            failures.append(group)
            continue
        kept.append(group)
        if group.frame and " fails here (" in contents[group.oldest]:
            group.is_fixed = True
        if _is_fix(contents[group.oldest]):
            fixes[_tried(contents[group.oldest])] = group
    for group in failures:
        # The failure comes first, so it becomes the oldest row of its fix.
        fix = fixes.get(_tried(contents[group.oldest])) if fixes else None
        if fix is None:
            kept.append(group)
        else:
            _take(fix, group, order)
    return sorted(kept, key=lambda group: order[group.oldest])


def _is_fix(content: str) -> bool:
    """Tell whether a text names a command that fails and what to run instead, or before it."""
    return content.startswith("`") and "` fails here (" in content and content.endswith(("` works", "` was run"))


def _tried(content: str) -> str:
    content = " ".join(content.split())
    if content.startswith("Bash failed: "):
        return content.removeprefix("Bash failed: ")
    return content[1:].partition("`")[0] if content.startswith("`") else ""


def undecided(groups: Iterable[Group], signals: Signals, verdict: Callable[[Group], Verdict]) -> list[Group]:
    """Without what was answered: never is never; a no holds for three further sessions, the second for good."""
    columns = signals.columns
    kept = []
    for group in groups:
        said = verdict(group)
        if said.never:
            continue
        if said.noes:
            later = {
                columns["session_id"][row] or columns["id"][row]
                for row in group.rows
                if columns["timestamp"][row] > said.noes[-1]
            }
            if len(said.noes) > 1 or len(later) < AGAIN:
                continue
            group.dismissed_before = said.noes[-1][:10]
        kept.append(group)
    return kept


def within_flood(groups: Sequence[Group], signals: Signals) -> tuple[list[Group], list[Group]]:
    """Those of a day that one source may bring, the strong and sure first; and those that it may not."""
    order = sorted(groups, key=lambda group: (group.tier != STRONG, -group.confidence))  # of equals the oldest first
    machines, trusts, stored = (signals.columns[field] for field in ("machine", "trust", "stored"))
    counts: Counter[tuple[str, str, str]] = Counter()
    held = set()
    for group in order:
        source = (machines[group.oldest], trusts[group.oldest], stored[group.oldest][:10])
        counts[source] += 1
        if counts[source] > FLOOD:
            held.add(id(group))
    return [group for group in groups if id(group) not in held], [group for group in groups if id(group) in held]
