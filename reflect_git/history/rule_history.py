"""The history of a rule: its current and earlier wordings, who decided what about it, and whether it helped."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from reflect_git.records.history import History, session_hash
from reflect_git.store.repository import INBOX, MAIN, get_record_path

if TYPE_CHECKING:
    from reflect_git.platform.git import GitProcess
    from reflect_git.records.schema import Decision, Exposure, Learning, Project, Signal
    from reflect_git.rules.guarding.guards import Firings, GuardState
    from reflect_git.store.reading.lookup import RecordLookup
    from reflect_git.store.repository import Store

IN_FORCE, REVERTED, SUPERSEDED = "in force", "reverted", "superseded"
CHANNEL_WORDS = {
    "terminal": "at a terminal", "ask-user-question": "in Claude Code", "keep": "with /keep in Claude Code",
    "panel": "in the panel",
    "own-machine": "on another machine of yours", "unattended": "by a script",
    "autorevert": "by auto-revert",
    "autopilot": "by autopilot",
}  # fmt: skip


def format_person(by: Mapping[str, Any]) -> str:
    """Format who made a decision, and how."""
    return f"{by['name'] or 'somebody'} {CHANNEL_WORDS.get(by['road'], 'in an unknown way')}"


@dataclass(frozen=True)
class EarlierWording:
    """A text no longer in use: an earlier wording of the same rule, or a rule it replaced."""

    id: str
    text: str
    by: str  # the decision that replaced it


@dataclass(frozen=True)
class Count:
    """A number of times and of sessions, and the last time."""

    times: int = 0
    sessions: int = 0
    last: str = ""


@dataclass(frozen=True)
class RuleHistory:
    """Everything known about one rule.

    `learning`: with its current wording and target. `ended_by`: what took it out of force. `replaced_by`: what replaced
    it. `repeats`: repetitions after the approval. `sessions_loaded`: sessions that had it loaded. `hits_before`,
    `hits_after`: calls that its matcher would have caught. `guard`: its guard on this machine, if it has one, and in
    `firings` what it did, if that was asked for.
    """

    learning: Learning
    state: str
    decisions: tuple[Decision, ...]
    approval: Decision | None
    ended_by: Decision | None
    replaced_by: str
    replaced: tuple[EarlierWording, ...]
    signals: tuple[Signal, ...]
    repeats: Count
    sessions_loaded: int
    hits_before: Count
    hits_after: Count
    guard: GuardState | None = None
    commit: str = ""
    pin: Decision | None = None
    firings: Firings | None = None

    @property
    def missing_signals(self) -> int:
        """Return how many of its signals this machine no longer has, or never had."""
        return len(self.learning["signals"]) - len(self.signals)

    def as_json(self) -> dict[str, Any]:
        return {
            "learning": self.learning,
            "state": self.state,
            "commit": self.commit or None,
            "approval": self.approval,
            "ended": self.ended_by,
            "replaced_by": self.replaced_by or None,
            "decisions": list(self.decisions),
            "replaced": [vars(one) for one in self.replaced],
            "signals": list(self.signals),
            "signals_gone": self.missing_signals,
            "again": vars(self.repeats),
            "sessions_with_it": self.sessions_loaded,
            "guard": _build_guard_json(self.guard, self.firings) if self.guard else None,
            "pinned": self.pin is not None,
            "hits": {"before": vars(self.hits_before), "after": vars(self.hits_after)},
        }


@dataclass(frozen=True)
class RuleRecords:
    """The records around one rule.

    `originals`: records as approved. `mentions`: id, time, session and project of each signal that says the same.
    """

    history: History
    originals: Mapping[str, Learning]
    exposures: Sequence[Exposure] = ()
    signals: Sequence[Signal] = ()
    mentions: Sequence[tuple[str, str, str, Project | None]] = ()


def _load_guard(history: History, machine: str, record_id: str) -> GuardState | None:
    if not any(made["kind"] == "guarded" for made in history.decisions):
        return None
    from reflect_git.rules.guarding.guards import find_guard_state  # few rules are guarded

    return find_guard_state(history, machine, record_id)


def build_rule_history(material: RuleRecords, record_id: str, commit: str = "", machine: str = "") -> RuleHistory:
    """Assemble the history of one rule from its records."""
    history = material.history
    learning = history.learnings[record_id]
    about = tuple(made for made in history.decisions if made["subject"] == record_id)
    against = history.get_decisions_against(record_id)
    ended = against[-1] if against else None
    before, after = _count_hits(material.exposures, learning)
    return RuleHistory(
        learning, _get_state(ended), about, next((made for made in about if made["id"] == learning["decision"]), None),
        ended, str((ended or {"meta": {}})["meta"].get("by", "")), tuple(_list_replaced(material, record_id, about)),
        tuple(material.signals), _count_repeats(material, learning, get_keys(history, record_id)),
        sum(any(record_id in listed for listed in one["rules"].values()) for one in material.exposures),
        before, after, _load_guard(history, machine, record_id), commit,
        history.get_pins().get(record_id),
    )  # fmt: skip


def _build_guard_json(state: GuardState, counts: Firings | None) -> dict[str, Any]:
    made = state.decision or state.waiting
    assert made is not None
    word = "in force" if state.guard else "off" if state.decision else "waiting"
    meta = made["meta"]
    return {
        "mode": meta.get("mode"), "state": word, "matcher": meta.get("matcher"), "instead": meta.get("instead") or None,
        "decision": made["id"], "problem": state.problem or None, **(counts._asdict() if counts else {}),
    }  # fmt: skip


def _get_state(ended: Decision | None) -> str:
    if ended is None:
        return IN_FORCE
    return SUPERSEDED if ended["kind"] == "superseded" else REVERTED


def get_keys(history: History, record_id: str) -> set[str]:
    """Return the keys that identify repetitions of a rule."""
    return {made["key"] for made in history.decisions if made["subject"] == record_id and made["key"]}


def _list_replaced(material: RuleRecords, record_id: str, about: Iterable[Decision]) -> Iterable[EarlierWording]:
    """Yield the rules it replaced, then its own earlier wordings, oldest first."""
    history, original = material.history, material.originals[record_id]
    for old in original["supersedes"]:
        known = history.learnings.get(old)
        yield EarlierWording(old, known["text"] if known else "", original["decision"])
    text = original["text"]
    for made in about:
        is_other = (
            made["kind"] == "amended" and made["id"] not in history.void_decisions and made["text"] not in (None, text)
        )
        if is_other:
            yield EarlierWording(record_id, text, made["id"])
            text = made["text"] or text


def _count_repeats(material: RuleRecords, learning: Learning, keys: set[str]) -> Count:
    """Count repetitions after the approval, only where the rule applies: other projects do not count."""
    since, own = learning["timestamp"], set(learning["signals"])
    its = learning["project"] if learning["scope"] != "global" else None
    later = [(moment, session_hash(session or one)) for one, moment, session, project in material.mentions
             if moment > since and one not in own and _is_same_project(its, project)]  # fmt: skip
    tallied = [line for line in material.history.tally_lines if line[0] in keys and line[3] > since[:10]]
    tallied = [line for line in tallied if its is None or line[2] in ("", its["key"])]
    later += [(f"{line[3]}T00:00:00Z", line[4]) for line in tallied]  # tallies keep only the day
    return Count(len(later), len({session for _, session in later}), max((moment for moment, _ in later), default=""))


def _is_same_project(its: Project | None, project: Project | None) -> bool:
    """Tell whether two projects are the same: the key changes with the first commit or remote, the name rarely."""
    return its is None or project is None or project["key"] == its["key"] or project["name"] == its["name"]


def _count_hits(exposures: Iterable[Exposure], learning: Learning) -> tuple[Count, Count]:
    found: tuple[list[Exposure], list[Exposure]] = ([], [])
    for one in exposures:
        if one["hits"].get(learning["id"]):
            found[one["start"] >= learning["timestamp"]].append(one)
    before, after = (_sum_hits(side, learning["id"]) for side in found)
    return before, after


def _sum_hits(exposures: Sequence[Exposure], record_id: str) -> Count:
    last = max((one["start"] for one in exposures), default="")
    return Count(sum(one["hits"][record_id] for one in exposures), len(exposures), last)


def load_rule_history(store: Store, excerpt: RecordLookup, record_id: str) -> RuleHistory | None:
    """Return the history of a rule, or None if this store does not have it."""
    asked = start_commit_search(store, record_id, MAIN)  # runs while we read
    histories = load_rule_histories(excerpt, [record_id], store.machine)
    commit = read_commit(asked)
    if not histories:
        return None
    story = replace(histories[record_id], commit=commit)
    if story.guard:
        from reflect_git.rules.guarding.guards import Firings, load_firings  # few rules are guarded

        counts = load_firings(store, excerpt.find_mentions(record_id).values())
        story = replace(story, firings=counts.get(record_id, Firings()))
    return story


def load_rule_histories(excerpt: RecordLookup, wanted: Sequence[str], machine: str) -> dict[str, RuleHistory]:
    """Return the histories of those rules that this store has, without commits: a file may have a colleague's rules."""
    found = excerpt.find_mentions(*wanted)
    identities = [one for one in wanted if one in found]
    replaced = [old for one in identities for old in found[one]["supersedes"]]
    if replaced:  # in their last wording
        found = {**excerpt.find_mentions(*replaced, figures=False), **found}
    keys = {one: get_keys(_build_history(found), one) for one in identities}
    tallied = excerpt.find_mentions(*set().union(*keys.values()), figures=False)
    history = _build_history({**_filter_by_prefix(tallied, "TLY"), **found})
    return {
        one: build_rule_history(_load_records(excerpt, history, found, one, keys[one]), one, machine=machine)
        for one in identities
    }


def _load_records(
    excerpt: RecordLookup, history: History, found: Mapping[str, Any], record_id: str, keys: set[str]
) -> RuleRecords:  # fmt: skip
    signals = excerpt.get_signals(history.learnings[record_id]["signals"])
    return RuleRecords(
        history,
        _filter_by_prefix(found, "LRN"),
        list(_filter_by_prefix(found, "EXP").values()),
        signals,
        excerpt.find_by_keys(keys),
    )


def load_decisions_about(excerpt: RecordLookup, record_id: str) -> list[Decision]:
    """Return the decisions about a learning, a signal, or what it became, including their reverts."""
    found = excerpt.find_mentions(record_id)
    learnings = [
        one for one, record in _filter_by_prefix(found, "LRN").items() if record_id in (one, *record["signals"])
    ]
    found = {**excerpt.find_mentions(*learnings), **found} if learnings and learnings != [record_id] else found
    history = _build_history(found)
    return [made for made in history.decisions if record_id in (made["subject"], *history.get_signals(made))]


def _build_history(found: Mapping[str, Any]) -> History:
    return History(
        _filter_by_prefix(found, "LRN").values(),
        _filter_by_prefix(found, "DEC").values(),
        _filter_by_prefix(found, "TLY").values(),
    )


def _filter_by_prefix(found: Mapping[str, Any], prefix: str) -> dict[str, Any]:
    return {identity: record for identity, record in found.items() if identity.startswith(prefix)}


def start_commit_search(store: Store, record_id: str, *branches: str) -> GitProcess:
    """Start git to find the newest commit that added a record; the commit-graph's path filters make it fast."""
    wanted = ("--max-count=1", "--diff-filter=A", "--format=%H", "--end-of-options", *branches, "--")
    return store.git.start("log", *wanted, get_record_path(record_id))


def read_commit(asked: GitProcess) -> str:
    return asked.communicate().out.decode("ascii", "replace").strip()


def find_adding_commit(store: Store, record_id: str) -> str:
    """Return the commit that added a record; "" while it is still pending."""
    return read_commit(start_commit_search(store, record_id, *store.git.refs(INBOX, MAIN)))
