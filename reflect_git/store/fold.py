"""Status, confidence, `related` and `promoted_to` of a signal: never stored, always computed from records."""

from __future__ import annotations

from reflect_git.model.ids import digest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    from reflect_git.model.schema import Decision, Learning, Signal, Tally

# What a decision makes of the signals it speaks of; a reverted one opens them again.
_STATUS = {
    "approved": "promoted", "applied": "promoted", "amended": "promoted", "superseded": "promoted",
    "dismissed": "dismissed", "never": "dismissed", "joined": "analyzed", "archived": "archived",
}  # fmt: skip
VERIFIED = 4
HIGH = 3


class History:
    """All that people decided, in the form that questions about one signal need."""

    def __init__(self, learnings: Iterable[Learning], decisions: Iterable[Decision], tallies: Iterable[Tally]) -> None:
        self.learnings = {learning["id"]: learning for learning in learnings}
        self.decisions = sorted(decisions, key=lambda decision: (decision["timestamp"], decision["id"]))
        self.tallied = [line for tally in tallies for line in tally["lines"]]
        self._by_signal: dict[str, Decision] = {}
        for decision in self.decisions:
            for identity in self._signals_of(decision):
                self._by_signal[identity] = decision

    def _signals_of(self, decision: Decision) -> list[str]:
        learning = self.learnings.get(decision["subject"])
        if learning is not None:
            return learning["signals"]
        given = decision["meta"].get("signals")
        listed = [identity for identity in given if isinstance(identity, str)] if isinstance(given, list) else []
        return [decision["subject"], *listed] if decision["subject"].startswith("SIG-") else listed

    def last_word(self, identity: str) -> Decision | None:
        return self._by_signal.get(identity)

    def status(self, identity: str) -> str:
        decision = self._by_signal.get(identity)
        return _STATUS.get(decision["kind"], "captured") if decision else "captured"

    def promoted_to(self, identity: str) -> str | None:
        decision = self._by_signal.get(identity)
        if decision is None or self.status(identity) != "promoted":
            return None
        target = decision["target"]
        return target["path"] if target else None

    def related(self, identity: str) -> list[str]:
        decision = self._by_signal.get(identity)
        if decision is None:
            return []
        return [other for other in self._signals_of(decision) if other != identity]


def session_hash(session: str) -> str:
    """What a tally keeps of a session: enough to count it once, too little to find it."""
    return digest("session", session)[:12]


def sessions_by_key(signals: Iterable[Mapping[str, Any]], tallied: Iterable[list[str]]) -> dict[str, set[str]]:
    """Key → the distinct sessions in which it was seen, expired ones included."""
    found: dict[str, set[str]] = {}
    for line in tallied:
        found.setdefault(line[0], set()).add(line[4])
    hashes: dict[str, str] = {}
    for signal in signals:
        session = signal["session_id"] or signal["id"]
        if session not in hashes:
            hashes[session] = session_hash(session)
        found.setdefault(signal["key"], set()).add(hashes[session])
    return found


def fold(signals: Iterable[Signal], history: History) -> list[Signal]:
    """The signals as people see them, oldest first (clamped to when they were stored: a clock may lie)."""
    listed = list(signals)
    seen = sessions_by_key(listed, history.tallied)
    folded = [_folded(signal, history, len(seen[signal["key"]])) for signal in listed]
    return sorted(folded, key=lambda signal: (min(signal["timestamp"], signal["stored"]), signal["id"]))


def _folded(signal: Signal, history: History, sessions: int) -> Signal:
    identity = signal["id"]
    confidence = max(signal["confidence"], min(HIGH, sessions))
    if history.last_word(identity) is None:
        return signal if confidence == signal["confidence"] else {**signal, "confidence": confidence}
    status = history.status(identity)
    return {
        **signal,
        "status": status,
        "confidence": VERIFIED if status == "promoted" else confidence,
        "related": history.related(identity),
        "promoted_to": history.promoted_to(identity),
    }
