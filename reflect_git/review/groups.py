"""Signals that say one thing, by key and frame alone; what was decided about them; how many there may be of a day."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from reflect_git.model.frames import Frame, agrees, frame_of
from reflect_git.store.fold import History, session_hash

Signal = Mapping[str, Any]
STRONG, WEAK = "strong", "weak"
# Of one machine and one trust in a day; more is a flood, which waits behind what is not.
FLOOD = 50
AGAIN = 3  # sessions after a "no" until it is asked once more
_HIGH = 3


@dataclass(slots=True)
class Group:
    """Signals, the oldest first. What is counted of them is counted once: 10,000 groups are looked at several times."""

    signals: list[Signal]
    keys: set[str]
    frame: Frame | None = None
    dismissed_before: str | None = None
    is_fixed: bool = False
    sessions: int = 1
    confidence: int = 1
    tier: str = WEAK

    @property
    def oldest(self) -> Signal:
        return self.signals[0]

    def take(self, other: Group) -> None:
        self.signals = sorted([*self.signals, *other.signals], key=_moment)
        self.keys |= other.keys


_hashed = lru_cache(maxsize=4096)(session_hash)


def grouped(signals: Iterable[Signal], history: History) -> list[Group]:
    """One key is one group; then frames that say the same, one of them in fewer words; then failures with their fix."""
    by_key: dict[str, Group] = {}
    for signal in sorted(signals, key=_moment):
        key = signal["key"]
        found = by_key.get(key)
        if found is None:
            by_key[key] = Group([signal], {key})
        else:
            found.signals.append(signal)
    groups = _with_their_fix(_by_frame(list(by_key.values())))
    expired: dict[str, set[str]] = {}
    for line in history.tallied:
        expired.setdefault(line[0], set()).add(line[4])
    for group in groups:
        _count(group, expired)
    return groups


def _count(group: Group, expired: Mapping[str, set[str]]) -> None:
    """Distinct sessions, expired ones included; a signal without a session is one of its own."""
    seen = {_hashed(signal["session_id"] or signal["id"]) for signal in group.signals}
    for key in group.keys & expired.keys() if expired else ():
        seen |= expired[key]
    group.sessions = len(seen)
    group.confidence = min(_HIGH, max(len(seen), *[signal["confidence"] for signal in group.signals]))
    group.tier = STRONG if _is_strong(group) else WEAK


def _is_strong(group: Group) -> bool:
    """Sure or said twice, and likely to hold tomorrow. A failure alone teaches nothing."""
    if group.sessions > 1 or group.is_fixed:
        return True
    if {signal["type"] for signal in group.signals} == {"failure"}:
        return False
    lasts = True in {bool(signal["meta"].get("durable", True)) for signal in group.signals}
    return lasts and (group.confidence > 1 or "user_feedback" in {signal["trust"] for signal in group.signals})


def _moment(signal: Signal) -> tuple[str, str]:
    """Clamped to when it was stored: a clock may lie."""
    return min(signal["timestamp"], signal["stored"]), signal["id"]


def _by_frame(groups: list[Group]) -> list[Group]:
    """A frame that says less joins the one that says more, if there is exactly one; "use X" may belong to several."""
    shelves: dict[tuple[str, str, str], list[Group]] = {}
    for group in groups:
        if group.oldest["type"] == "failure":
            continue
        group.frame = frame = frame_of(group.oldest["content"])
        for part in parts_of(frame):
            shelves.setdefault(part, []).append(group)
    joined: set[int] = set()
    for group in groups:
        if group.frame is None or (group.frame.wanted and group.frame.unwanted):
            continue
        others = [
            one for part in parts_of(group.frame) for one in shelves[part] if one is not group and id(one) not in joined
        ]
        fuller = [one for one in others if one.frame and agrees(group.frame, one.frame) and _is_fuller(one, group)]
        if len({one.frame for one in fuller}) == 1:
            fuller[0].take(group)
            joined.add(id(group))
    if not joined:
        return groups
    return sorted([group for group in groups if id(group) not in joined], key=lambda group: _moment(group.oldest))


def parts_of(frame: Frame | None) -> list[tuple[str, str, str]]:
    """What frames that agree have in common: where to look for them."""
    if frame is None:
        return []
    named = (("wanted", frame.wanted), ("unwanted", frame.unwanted))
    return [(name, part, frame.condition) for name, part in named if part]


def _is_fuller(one: Group, group: Group) -> bool:
    """Signals of old records may have one frame under two keys: then the older group takes the other in."""
    assert one.frame and group.frame
    return one.frame != group.frame or _moment(one.oldest) < _moment(group.oldest)


def _with_their_fix(groups: list[Group]) -> list[Group]:
    """A failure of a command goes to the candidate that knows what works in its place."""
    fixes = {
        group.frame.unwanted: group for group in groups if group.frame and " fails here (" in group.oldest["content"]
    }
    for group in fixes.values():
        group.is_fixed = True
    kept = []
    for group in groups:
        fix = fixes.get(_tried(group.oldest)) if fixes and group.oldest["type"] == "failure" else None
        if fix is None:
            kept.append(group)
        else:
            fix.take(group)
    return kept


def _tried(signal: Signal) -> str:
    content = " ".join(signal["content"].split())
    if content.startswith("Bash failed: "):
        return content.removeprefix("Bash failed: ")
    return content[1:].partition("`")[0] if content.startswith("`") else ""


@dataclass
class _Verdict:
    """What people said to one key so far."""

    noes: list[str] = field(default_factory=list)
    never: bool = False


def undecided(groups: Iterable[Group], history: History) -> list[Group]:
    """Without what was answered: never is never; a no holds for three further sessions, the second for good."""
    verdicts = _verdicts(history)
    if not verdicts:
        return list(groups)
    kept = []
    for group in groups:
        found = [verdicts[key] for key in group.keys if key in verdicts]
        if any(verdict.never for verdict in found):
            continue
        noes = sorted(time for verdict in found for time in verdict.noes)
        if noes:
            later = {signal["session_id"] or signal["id"] for signal in group.signals if signal["timestamp"] > noes[-1]}
            if len(noes) > 1 or len(later) < AGAIN:
                continue
            group.dismissed_before = noes[-1][:10]
        kept.append(group)
    return kept


def _verdicts(history: History) -> dict[str, _Verdict]:
    reopened = {decision["reopens"] for decision in history.decisions if decision["reopens"]}
    found: dict[str, _Verdict] = {}
    for decision in history.decisions:
        if decision["kind"] not in ("dismissed", "never") or not decision["key"] or decision["id"] in reopened:
            continue
        verdict = found.setdefault(decision["key"], _Verdict())
        verdict.never = verdict.never or decision["kind"] == "never"
        if decision["kind"] == "dismissed":
            verdict.noes.append(decision["timestamp"])
    return found


def within_flood(groups: Sequence[Group]) -> tuple[list[Group], list[Group]]:
    """Those of a day that one source may bring, the strong and sure first; and those that it may not."""
    order = sorted(groups, key=lambda group: (group.tier != STRONG, -group.confidence))  # of equals the oldest first
    counts: Counter[tuple[str, str, str]] = Counter()
    held = set()
    for group in order:
        source = (group.oldest["machine"], group.oldest["trust"], group.oldest["stored"][:10])
        counts[source] += 1
        if counts[source] > FLOOD:
            held.add(id(group))
    return [group for group in groups if id(group) not in held], [group for group in groups if id(group) in held]
