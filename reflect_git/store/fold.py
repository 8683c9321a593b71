"""Status, confidence, `related` and `promoted_to` of a signal: never stored, always computed from records."""

from __future__ import annotations

from reflect_git.errors import ReflectError
from reflect_git.model.ids import digest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    from reflect_git.model.schema import Decision, Learning, Tally

# What a decision makes of the signals it speaks of; a reverted one opens them again.
_STATUS = {
    "approved": "promoted", "applied": "promoted", "amended": "promoted", "superseded": "promoted",
    "dismissed": "dismissed", "never": "dismissed", "joined": "analyzed", "archived": "archived",
}  # fmt: skip
# What an amendment may change beside the text and the target.
_AMENDABLE = ("title", "scope", "project", "paths", "matcher", "meta")
_OUT_OF_FORCE = ("reverted", "superseded")
VERIFIED = 4
HIGH = 3


class History:
    """All that people decided, in the form that questions about one signal need."""

    def __init__(self, learnings: Iterable[Learning], decisions: Iterable[Decision], tallies: Iterable[Tally]) -> None:
        self.learnings = {learning["id"]: learning for learning in learnings}
        # To the millisecond; of two in one, that which takes another back is the later one.
        self.decisions = sorted(
            decisions, key=lambda made: (made["timestamp"], made["reopens"] is not None, made["id"])
        )
        self.tallied = [line for tally in tallies for line in tally["lines"]]
        self._amend()
        self._by_signal: dict[str, Decision] = {}
        for decision in self.decisions:
            for identity in self.signals_of(decision):
                self._by_signal[identity] = decision

    def _amend(self) -> None:
        """Learnings as people worded and placed them since; the records themselves never change."""
        taken_back = {decision["reopens"] for decision in self.decisions if decision["reopens"]}
        for decision in self.decisions:
            learning = self.learnings.get(decision["subject"])
            if learning is not None and decision["kind"] == "amended" and decision["id"] not in taken_back:
                self.learnings[learning["id"]] = _amended(learning, decision)

    def signals_of(self, decision: Decision) -> list[str]:
        learning = self.learnings.get(decision["subject"])
        if learning is not None:
            return learning["signals"]
        given = decision["meta"].get("signals")
        listed = [identity for identity in given if isinstance(identity, str)] if isinstance(given, list) else []
        return [decision["subject"], *listed] if decision["subject"].startswith("SIG-") else listed

    def in_force(self) -> list[Learning]:
        """The learnings that nobody took back or replaced."""
        last = {decision["subject"]: decision["kind"] for decision in self.decisions}
        return [learning for identity, learning in self.learnings.items() if last.get(identity) not in _OUT_OF_FORCE]

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
        return [other for other in self.signals_of(decision) if other != identity]


def _amended(learning: Learning, decision: Decision) -> Learning:
    given = decision["meta"].get("learning")
    changes = {name: given[name] for name in _AMENDABLE if name in given} if isinstance(given, dict) else {}
    if decision["text"] is not None:
        changes["text"] = decision["text"]
    if decision["target"] is not None:
        changes["target"] = decision["target"]
    from reflect_git.adapters import records  # few stores have amendments

    made: Any = {**learning, **changes}
    try:
        records.check(made)
    except ReflectError:  # from another machine, in a form that no learning has
        return learning
    return made  # type: ignore[no-any-return]


def session_hash(session: str) -> str:
    """What a tally keeps of a session: enough to count it once, too little to find it."""
    return digest("session", session)[:12]


def sessions_by_key(
    keys: Iterable[str], sessions: Iterable[str], ids: Iterable[str], tallied: Iterable[list[str]]
) -> dict[str, set[str]]:
    """Key → the distinct sessions in which it was seen, expired ones included; no session: each is one."""
    found: dict[str, set[str]] = {}
    for line in tallied:
        found.setdefault(line[0], set()).add(line[4])
    hashes: dict[str, str] = {}
    for key, session, identity in zip(keys, sessions, ids):
        name = session or identity
        if name not in hashes:
            hashes[name] = session_hash(name)
        if key in found:
            found[key].add(hashes[name])
        else:
            found[key] = {hashes[name]}
    return found


def fold(columns: dict[str, list[Any]], history: History) -> None:
    """Bring status, confidence, related and promoted_to of signals to what the records say. Columns run in parallel."""
    keys = columns["key"]
    seen = sessions_by_key(keys, columns["session_id"], columns["id"], history.tallied)
    least = {key: min(HIGH, len(sessions)) for key, sessions in seen.items()}
    columns["confidence"] = [max(min(HIGH, own), least[key]) for own, key in zip(columns["confidence"], keys)]
    # What the file says of these is not believed: they are computed.
    columns["status"] = ["captured"] * len(keys)
    columns["related"] = [[]] * len(keys)
    columns["promoted_to"] = [None] * len(keys)
    if not history.decisions:
        return
    for row, identity in enumerate(columns["id"]):
        if history.last_word(identity) is not None:
            _decide(columns, row, history)


def _decide(columns: dict[str, list[Any]], row: int, history: History) -> None:
    identity = columns["id"][row]
    columns["status"][row] = history.status(identity)
    columns["related"][row] = history.related(identity)
    columns["promoted_to"][row] = history.promoted_to(identity)
    if columns["status"][row] == "promoted":
        columns["confidence"][row] = VERIFIED


def in_order(columns: Mapping[str, list[Any]]) -> list[int]:
    """Row numbers, oldest first (clamped to when they were stored: a clock may lie)."""
    times = [(time if time < stored else stored) for time, stored in zip(columns["timestamp"], columns["stored"])]
    ids = columns["id"]
    return sorted(range(len(times)), key=list(zip(times, ids)).__getitem__)
