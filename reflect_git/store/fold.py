"""Status, confidence, `related` and `promoted_to` of a signal: never stored, always computed from records."""

from __future__ import annotations

from reflect_git.errors import ReflectError
from reflect_git.model.ids import digest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any

    from reflect_git.model.schema import Decision, Learning, Tally

# What a decision makes of the signals it speaks of.
_STATUS = {
    "approved": "promoted", "applied": "promoted", "amended": "promoted", "superseded": "promoted",
    "dismissed": "dismissed", "never": "dismissed", "joined": "analyzed", "archived": "archived",
}  # fmt: skip
# What an amendment may change beside the text and the target.
_AMENDABLE = ("title", "scope", "project", "topic", "paths", "matcher", "meta")
VERIFIED = 4
HIGH = 3


class History:
    """All that people decided, in the form that questions about one signal need."""

    def __init__(self, learnings: Iterable[Learning], decisions: Iterable[Decision], tallies: Iterable[Tally]) -> None:
        self.learnings = {learning["id"]: learning for learning in learnings}
        self._approved = dict(self.learnings)
        # To the millisecond; of two in one, that which takes another back is the later one.
        self.decisions = sorted(
            decisions, key=lambda made: (made["timestamp"], made["reopens"] is not None, made["id"])
        )
        self.tallied = [line for tally in tallies for line in tally["lines"]]
        self.void = _taken_back(self.decisions)
        self._amend()
        # Signals that were archived for their age have nothing else in common: such a decision has no key.
        self._by_age = {one["id"] for one in self.decisions if one["kind"] == "archived" and one["key"] is None}
        self.noes: set[str] = set()  # the decisions that stand and say no: dismissals, and approvals taken back
        self._by_signal: dict[str, tuple[Decision, str]] = {}
        kinds = {decision["id"]: decision["kind"] for decision in self.decisions} if self.void else {}
        for decision in self.decisions:
            learning = self.learnings.get(decision["subject"])
            # Another machine may reword what this one takes back: its approval is void all the same.
            is_over = learning is not None and learning["decision"] in self.void and decision["kind"] != "reverted"
            if decision["id"] in self.void or is_over:
                continue
            status = _status(decision, kinds, learning is not None)
            if status == "dismissed":
                self.noes.add(decision["id"])
            for identity in self.signals_of(decision) if status else ():
                self._by_signal[identity] = decision, status

    def _amend(self) -> None:
        """Learnings as people worded and placed them since; the records themselves never change."""
        for decision in self.decisions:
            learning = self.learnings.get(decision["subject"])
            if learning is not None and decision["kind"] == "amended" and decision["id"] not in self.void:
                self.learnings[learning["id"]] = _amended(learning, decision)

    def wordings(self, identity: str) -> list[Learning]:
        """All that a learning ever said, as it is now first, then the newest."""
        said = [self._approved[identity]]
        for decision in self.decisions:
            if decision["kind"] == "amended" and decision["subject"] == identity:
                said.append(_amended(said[-1], decision))
        found: list[Learning] = []
        for was in (self.learnings[identity], *reversed(said)):
            if was not in found:
                found.append(was)
        return found

    def as_amended(self, decision: Decision) -> Learning:
        """A learning as this amendment has it, which is whole: nothing of another one is in it."""
        return _amended(self._approved[decision["subject"]], decision)

    def last_amendments(self, identity: str) -> list[Decision]:
        """The amendments that stand and that no other one knew of: several, if machines did not know of each other."""
        amended = [one for one in self.decisions if one["kind"] == "amended" and one["subject"] == identity]
        after = {made["id"]: _after(made, amended[:at]) for at, made in enumerate(amended)}
        standing = [made for made in amended if made["id"] not in self.void]
        known: set[str] = set()
        asked = [one for made in standing for one in after[made["id"]]]
        while asked:  # also by way of what was taken back since, and whatever clocks say
            one = asked.pop()
            if one not in known:
                known.add(one)
                asked += after.get(one, ())
        return [made for made in standing if made["id"] not in known]

    def signals_of(self, decision: Decision) -> list[str]:
        learning = self.learnings.get(decision["subject"])
        if learning is not None:
            return learning["signals"]
        given = decision["meta"].get("signals")
        listed = [identity for identity in given if isinstance(identity, str)] if isinstance(given, list) else []
        return [decision["subject"], *listed] if decision["subject"].startswith("SIG-") else listed

    def in_force(self) -> list[Learning]:
        """The learnings whose approval stands and that nothing stands against: in whatever order decisions came."""
        gone = {decision["subject"] for decision in self.decisions if _is_against(decision, self.void)}
        return [
            learning
            for identity, learning in self.learnings.items()
            if identity not in gone and learning["decision"] not in self.void
        ]

    def against(self, identity: str) -> list[Decision]:
        """What keeps a learning out of force; nothing for one that is in force."""
        approval = self.learnings[identity]["decision"]
        return [
            decision
            for decision in self.decisions
            if (decision["subject"] == identity and _is_against(decision, self.void))
            or (decision["reopens"] == approval and decision["kind"] == "reverted" and decision["id"] not in self.void)
        ]

    def last_word(self, identity: str) -> Decision | None:
        found = self._by_signal.get(identity)
        return found[0] if found else None

    def status(self, identity: str) -> str:
        found = self._by_signal.get(identity)
        return found[1] if found else "captured"

    def promoted_to(self, identity: str) -> str | None:
        found = self._by_signal.get(identity)
        if found is None or found[1] != "promoted":
            return None
        target = found[0]["target"]
        return target["path"] if target else None

    def related(self, identity: str) -> list[str]:
        """Return the other signals of the decision that counts, if it says that they belong together."""
        found = self._by_signal.get(identity)
        if found is None or found[0]["id"] in self._by_age or found[0]["reopens"] in self._by_age:
            return []
        return [other for other in self.signals_of(found[0]) if other != identity]


def _after(amendment: Decision, earlier: Sequence[Decision]) -> list[str]:
    """What an amendment knew of; before that was written down, the later one was taken to know of all."""
    given = amendment["meta"].get("after")
    return list(map(str, given)) if isinstance(given, list) else [one["id"] for one in earlier]


def _taken_back(decisions: Iterable[Decision]) -> set[str]:
    """Void is what a `reverted` decision that is not void itself reopens, so that a revert can be taken back, too.

    By reference alone: whoever takes a decision back has seen it, whatever the clocks of two machines say.
    """
    reverts = {made["id"]: made["reopens"] for made in decisions if made["reopens"] and made["kind"] == "reverted"}
    if not reverts:
        return set()
    waiting: dict[str, int] = {}
    for reopened in reverts.values():
        waiting[reopened] = waiting.get(reopened, 0) + 1
    void: set[str] = set()
    ready = [identity for identity in reverts if identity not in waiting]
    while ready:  # from those that nobody took back; a ring of them, which only a forger makes, is never ready
        identity = ready.pop()
        reopened = reverts[identity]
        if identity not in void:
            void.add(reopened)
        waiting[reopened] -= 1
        if not waiting[reopened] and reopened in reverts:
            ready.append(reopened)
    return void


def _is_against(decision: Decision, void: set[str]) -> bool:
    """Does it keep its subject out of force?"""
    if decision["kind"] != "superseded" and (decision["kind"] != "reverted" or decision["reopens"]):
        return False
    return decision["id"] not in void


def _status(decision: Decision, kinds: Mapping[str, str], is_of_learning: bool) -> str:
    """What a decision that stands makes of its signals; empty where it says nothing of them."""
    if decision["kind"] != "reverted":
        return _STATUS.get(decision["kind"], "")
    reopened = kinds.get(decision["reopens"] or "", "")
    if reopened in ("reverted", "amended", "superseded", "applied"):
        return ""
    # Whoever takes an approval back said no to it; its signals are asked again only on request.
    return "dismissed" if is_of_learning and not decision["meta"].get("reopen") else "captured"


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
    expired = frozenset(found)  # of the others no session needs its hash
    hashes: dict[str, str] = {}
    for key, session, identity in zip(keys, sessions, ids):
        name = session or identity
        if key in expired:
            name = hashes.get(name) or hashes.setdefault(name, session_hash(name))
        if key in found:
            found[key].add(name)
        else:
            found[key] = {name}
    return found


def fold(columns: dict[str, list[Any]], history: History) -> None:
    """Bring status, confidence, related and promoted_to of signals to what the records say. Columns run in parallel."""
    keys = columns["key"]
    seen = sessions_by_key(keys, columns["session_id"], columns["id"], history.tallied)
    least = {key: min(HIGH, len(sessions)) for key, sessions in seen.items()}
    columns["confidence"] = [
        min(HIGH, own) if own > least[key] else least[key] for own, key in zip(columns["confidence"], keys)
    ]
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
