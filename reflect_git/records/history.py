"""Compute the status, confidence, `related` and `promoted_to` of signals from records; they are never stored."""

from __future__ import annotations

from reflect_git.errors import ReflectError
from reflect_git.records.ids import digest
from reflect_git.records.schema import GUARD_KINDS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any

    from reflect_git.records.schema import Decision, Learning, Tally

# The status that each kind of decision gives to its signals.
_STATUS_BY_KIND = {
    "approved": "promoted", "applied": "promoted", "amended": "promoted", "superseded": "promoted",
    "dismissed": "dismissed", "never": "dismissed", "joined": "analyzed", "archived": "archived",
}  # fmt: skip
# The fields that an amendment may change, besides text and target.
_AMENDABLE_FIELDS = ("title", "scope", "project", "topic", "paths", "matcher", "meta")
VERIFIED_CONFIDENCE = 4
HIGH_CONFIDENCE = 3


class History:
    """All learnings and decisions, indexed for queries about one signal or rule."""

    def __init__(self, learnings: Iterable[Learning], decisions: Iterable[Decision], tallies: Iterable[Tally]) -> None:
        self.learnings = {learning["id"]: learning for learning in learnings}
        self._original_learnings = dict(self.learnings)
        # Sorted by millisecond. If two are equal, the one that reverts the other is later.
        self.decisions = sorted(
            decisions, key=lambda made: (made["timestamp"], made["reopens"] is not None, made["id"])
        )
        self.tallies = list(tallies)
        self.tally_lines = [line for tally in self.tallies for line in tally["lines"]]
        self.void_decisions = _find_void_decisions(self.decisions)
        self._repeat_signals: dict[
            str, list[str]
        ] = {}  # rule → signals that repeated it, which led to a sharper wording
        self._apply_amendments()
        # Signals archived by age have nothing else in common: such a decision has no key.
        self._archived_by_age = {
            one["id"] for one in self.decisions if one["kind"] == "archived" and one["key"] is None
        }
        self.rejections: set[str] = set()  # decisions in effect that say no: dismissals and reverted approvals
        self._by_signal: dict[str, tuple[Decision, str]] = {}
        kinds = {decision["id"]: decision["kind"] for decision in self.decisions} if self.void_decisions else {}
        for decision in self.decisions:
            learning = self.learnings.get(decision["subject"])
            # Another machine may amend a rule that this one reverted: its approval is still void.
            is_over = (
                learning is not None and learning["decision"] in self.void_decisions and decision["kind"] != "reverted"
            )
            if decision["id"] in self.void_decisions or is_over:
                continue
            status = _get_status(decision, kinds, learning is not None)
            if status == "dismissed":
                self.rejections.add(decision["id"])
            for record_id in self.get_signals(decision) if status else ():
                self._by_signal[record_id] = decision, status

    def _apply_amendments(self) -> None:
        """Apply all amendments that are in effect. The records themselves never change."""
        for decision in self.decisions:
            learning = self.learnings.get(decision["subject"])
            if learning is not None and decision["kind"] == "amended" and decision["id"] not in self.void_decisions:
                self.learnings[learning["id"]] = _apply_amendment(learning, decision)
                self._repeat_signals.setdefault(learning["id"], []).extend(_get_listed_signals(decision))

    def get_versions(self, record_id: str) -> list[Learning]:
        """List all versions of a learning: the current one first, then from the newest to the oldest."""
        said = [self._original_learnings[record_id]]
        for decision in self.decisions:
            if decision["kind"] == "amended" and decision["subject"] == record_id:
                said.append(_apply_amendment(said[-1], decision))
        found: list[Learning] = []
        for was in (self.learnings[record_id], *reversed(said)):
            if was not in found:
                found.append(was)
        return found

    def get_amended_learning(self, decision: Decision) -> Learning:
        """Return a learning as this amendment defines it. An amendment is complete, independent of others."""
        return _apply_amendment(self._original_learnings[decision["subject"]], decision)

    def get_last_amendments(self, record_id: str) -> list[Decision]:
        """List the amendments in effect that no other amendment builds on.

        There are several if machines amended a rule without knowing of each other.
        """
        amended = [one for one in self.decisions if one["kind"] == "amended" and one["subject"] == record_id]
        after = {made["id"]: _get_base_amendments(made, amended[:at]) for at, made in enumerate(amended)}
        standing = [made for made in amended if made["id"] not in self.void_decisions]
        known: set[str] = set()
        asked = [one for made in standing for one in after[made["id"]]]
        while asked:  # follow reverted amendments too, and ignore clocks
            one = asked.pop()
            if one not in known:
                known.add(one)
                asked += after.get(one, ())
        return [made for made in standing if made["id"] not in known]

    def get_signals(self, decision: Decision) -> list[str]:
        """List the signals that a decision is about."""
        learning = self.learnings.get(decision["subject"])
        if learning is not None:
            again = self._repeat_signals.get(learning["id"], ()) if decision["kind"] in ("amended", "reverted") else ()
            return [*learning["signals"], *again] if again else learning["signals"]
        listed = _get_listed_signals(decision)
        return [decision["subject"], *listed] if decision["subject"].startswith("SIG-") else listed

    def get_rules_in_force(self) -> list[Learning]:
        """List the learnings that are approved and neither reverted nor superseded, in any order of decisions."""
        gone = {decision["subject"] for decision in self.decisions if _is_against(decision, self.void_decisions)}
        return [
            learning
            for identity, learning in self.learnings.items()
            if identity not in gone and learning["decision"] not in self.void_decisions
        ]

    def list_skills(self) -> set[str]:
        """Return the names of the skills that reflect-git deployed, also of retired ones."""
        skills = [one["meta"]["skill"] for one in self.learnings.values() if "skill" in one["meta"]]
        return {str(skill["name"]) for skill in skills}

    def get_decisions_against(self, record_id: str) -> list[Decision]:
        """List the decisions that keep a learning out of force; empty if it is in force."""
        approval = self.learnings[record_id]["decision"]
        return [
            decision
            for decision in self.decisions
            if (decision["subject"] == record_id and _is_against(decision, self.void_decisions))
            or (
                decision["reopens"] == approval
                and decision["kind"] == "reverted"
                and decision["id"] not in self.void_decisions
            )
        ]

    def get_pins(self) -> dict[str, Decision]:
        """Map each pinned rule to the decision that pinned it; a pin outlives a revert of the rule."""
        return {
            made["subject"]: made
            for made in self.decisions
            if made["kind"] == "pinned" and made["id"] not in self.void_decisions
        }

    def get_last_decision(self, record_id: str) -> Decision | None:
        """Return the decision that determines a signal's status, or None."""
        found = self._by_signal.get(record_id)
        return found[0] if found else None

    def status(self, record_id: str) -> str:
        """Return the status of a signal."""
        found = self._by_signal.get(record_id)
        return found[1] if found else "captured"

    def promoted_to(self, record_id: str) -> str | None:
        """Return the path of the target that a signal was promoted to, or None."""
        found = self._by_signal.get(record_id)
        if found is None or found[1] != "promoted":
            return None
        target = found[0]["target"]
        return target["path"] if target else None

    def related(self, record_id: str) -> list[str]:
        """Return the other signals of the deciding decision, if it groups them."""
        found = self._by_signal.get(record_id)
        if found is None or found[0]["id"] in self._archived_by_age or found[0]["reopens"] in self._archived_by_age:
            return []
        return [other for other in self.get_signals(found[0]) if other != record_id]


def _get_base_amendments(amendment: Decision, earlier: Sequence[Decision]) -> list[str]:
    """Return the ids of the amendments that this one builds on.

    Older records do not list them: there, an amendment builds on all earlier ones.
    """
    given = amendment["meta"].get("after")
    return list(map(str, given)) if isinstance(given, list) else [one["id"] for one in earlier]


def _find_void_decisions(decisions: Iterable[Decision]) -> set[str]:
    """Return the ids of void decisions: those reverted by a decision that is not void itself.

    A revert can therefore be reverted too. Only references count: whoever reverts a decision has seen it, whatever the
    clocks of two machines say.
    """
    reverts = {made["id"]: made["reopens"] for made in decisions if made["reopens"] and made["kind"] == "reverted"}
    if not reverts:
        return set()
    waiting: dict[str, int] = {}
    for reopened in reverts.values():
        waiting[reopened] = waiting.get(reopened, 0) + 1
    void: set[str] = set()
    ready = [identity for identity in reverts if identity not in waiting]
    while ready:  # start with those that were not reverted; a cycle, which only a forger creates, is never reached
        record_id = ready.pop()
        reopened = reverts[record_id]
        if record_id not in void:
            void.add(reopened)
        waiting[reopened] -= 1
        if not waiting[reopened] and reopened in reverts:
            ready.append(reopened)
    return void


def _is_against(decision: Decision, void: set[str]) -> bool:
    """Return whether a decision keeps its subject out of force."""
    if decision["kind"] != "superseded" and (decision["kind"] != "reverted" or decision["reopens"]):
        return False
    return decision["id"] not in void


def _get_listed_signals(decision: Decision) -> list[str]:
    given = decision["meta"].get("signals")
    return [identity for identity in given if isinstance(identity, str)] if isinstance(given, list) else []


def _get_status(decision: Decision, kinds: Mapping[str, str], is_of_learning: bool) -> str:
    """Return the status that a decision in effect gives to its signals; empty if it gives none."""
    if decision["kind"] != "reverted":
        return _STATUS_BY_KIND.get(decision["kind"], "")
    reopened = kinds.get(decision["reopens"] or "", "")
    if reopened in ("reverted", "amended", "superseded", "applied", "pinned", "kept", *GUARD_KINDS):
        return ""
    # Reverting an approval means no; its signals are offered again only on request.
    return "dismissed" if is_of_learning and not decision["meta"].get("reopen") else "captured"


def _apply_amendment(learning: Learning, decision: Decision) -> Learning:
    """Return a learning with the changes of an amendment; unchanged if the result is invalid."""
    given = decision["meta"].get("learning")
    changes = {name: given[name] for name in _AMENDABLE_FIELDS if name in given} if isinstance(given, dict) else {}
    if decision["text"] is not None:
        changes["text"] = decision["text"]
    if decision["target"] is not None:
        changes["target"] = decision["target"]
    from reflect_git.records import yaml_form  # few stores have amendments

    made: Any = {**learning, **changes}
    try:
        yaml_form.check(made)
    except ReflectError:  # from another machine, and not valid as a learning
        return learning
    return made  # type: ignore[no-any-return]


def session_hash(session: str) -> str:
    """Return the hash of a session for a tally: enough to count it once, too short to identify it."""
    return digest("session", session)[:12]


def sessions_by_key(
    keys: Iterable[str], sessions: Iterable[str], ids: Iterable[str], tallied: Iterable[list[str]]
) -> dict[str, set[str]]:
    """Return key → the distinct sessions in which it was seen, expired ones included.

    A signal without a session counts as a session of its own.
    """
    found: dict[str, set[str]] = {}
    for line in tallied:
        found.setdefault(line[0], set()).add(line[4])
    expired = frozenset(found)  # other sessions need no hash
    hashes: dict[str, str] = {}
    for key, session, record_id in zip(keys, sessions, ids):
        name = session or record_id
        if key in expired:
            name = hashes.get(name) or hashes.setdefault(name, session_hash(name))
        if key in found:
            found[key].add(name)
        else:
            found[key] = {name}
    return found


def set_computed_fields(columns: dict[str, list[Any]], history: History) -> None:
    """Set status, confidence, related and promoted_to of signals from the records. Columns are parallel lists."""
    keys = columns["key"]
    seen = sessions_by_key(keys, columns["session_id"], columns["id"], history.tally_lines)
    least = {key: min(HIGH_CONFIDENCE, len(sessions)) for key, sessions in seen.items()}
    columns["confidence"] = [
        min(HIGH_CONFIDENCE, own) if own > least[key] else least[key] for own, key in zip(columns["confidence"], keys)
    ]
    # These are computed; ignore the values in the file.
    columns["status"] = ["captured"] * len(keys)
    columns["related"] = [[]] * len(keys)
    columns["promoted_to"] = [None] * len(keys)
    if not history.decisions:
        return
    for row, record_id in enumerate(columns["id"]):
        if history.get_last_decision(record_id) is not None:
            _set_decided_fields(columns, row, history)


def _set_decided_fields(columns: dict[str, list[Any]], row: int, history: History) -> None:
    """Set the computed fields of one decided signal."""
    record_id = columns["id"][row]
    columns["status"][row] = history.status(record_id)
    columns["related"][row] = history.related(record_id)
    columns["promoted_to"][row] = history.promoted_to(record_id)
    if columns["status"][row] == "promoted":
        columns["confidence"][row] = VERIFIED_CONFIDENCE


def sort_rows(columns: Mapping[str, list[Any]]) -> list[int]:
    """Return row numbers, oldest first. Times are clamped to the time of storing, because a clock may be wrong."""
    times = [(time if time < stored else stored) for time, stored in zip(columns["timestamp"], columns["stored"])]
    ids = columns["id"]
    return sorted(range(len(times)), key=list(zip(times, ids)).__getitem__)


# One line for each commit: id, seconds, committer, subject, trailers. No message that git shows contains NUL.
LOG_FORMAT = "%H%x00%ct%x00%cn%x00%s%x00%(trailers:only,unfold,separator=%x01)"

# First word of a commit's subject → type of the event, as in records.
EVENT_TYPES = {
    "approve": "approved",
    "dismiss": "dismissed",
    "revert": "reverted",
    "amend": "amended",
    "apply": "applied",
    "decline": "declined",
    "guard": "guarded",
    "unguard": "unguarded",
    "pin": "pinned",
    "unpin": "unpinned",
    "keep": "kept",
    "policy": "policy",
    "pause": "paused",
    "resume": "resumed",
    "remote": "remote",
    "accept": "accepted",
    "sync": "synced",
    "join": "joined",
    "archive": "archived",
    "mute": "muted",
    "rootcause": "rootcause",
    "restore": "restored",
    "purge": "purged",
    "init": "begun",
    "capture": "captured",
    "record": "recorded",
    "roll": "expired",
}
DECLINED = "declined"
OTHER_EVENT = "other"  # a commit that the user made with their own git
# Automatic events, listed only on request.
AUTOMATIC_EVENTS = frozenset({"captured", "recorded", "expired", "begun"})


def get_decision_name(made: Mapping[str, Any]) -> str:
    """Return the name of a decision: its kind, or `declined` for an `applied` decision that changed nothing."""
    is_no = made["kind"] == "applied" and made["meta"].get("change") == DECLINED
    return DECLINED if is_no else str(made["kind"])
