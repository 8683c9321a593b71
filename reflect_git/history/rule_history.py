"""The history of a rule: its current and earlier wordings, who decided what about it, and whether it helped."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from reflect_git.records.history import History, session_hash
from reflect_git.store.repository import INBOX, MAIN, path_of

if TYPE_CHECKING:
    from reflect_git.platform.git import Child
    from reflect_git.records.history import History
    from reflect_git.records.schema import Decision, Exposure, Learning, Project, Signal
    from reflect_git.store.reading.lookup import Excerpt
    from reflect_git.store.repository import Store

IN_FORCE, REVERTED, SUPERSEDED = "in force", "reverted", "superseded"


@dataclass(frozen=True)
class Wording:
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
class Story:
    """Everything known about one rule.

    `learning`: with its current wording and target. `ended`: what took it out of force. `heir`: what replaced it.
    `again`: repetitions after the approval. `read`: sessions that had it loaded. `before`, `after`: calls that its
    matcher would have caught.
    """

    learning: Learning
    state: str
    decisions: tuple[Decision, ...]
    approval: Decision | None
    ended: Decision | None
    heir: str
    replaced: tuple[Wording, ...]
    signals: tuple[Signal, ...]
    again: Count
    read: int
    before: Count
    after: Count
    commit: str = ""

    @property
    def forgotten(self) -> int:
        """Return how many of its signals this machine no longer has, or never had."""
        return len(self.learning["signals"]) - len(self.signals)

    def as_json(self) -> dict[str, Any]:
        return {
            "learning": self.learning, "state": self.state, "commit": self.commit or None,
            "approval": self.approval, "ended": self.ended, "replaced_by": self.heir or None,
            "decisions": list(self.decisions), "replaced": [vars(one) for one in self.replaced],
            "signals": list(self.signals), "signals_gone": self.forgotten, "again": vars(self.again),
            "sessions_with_it": self.read, "hits": {"before": vars(self.before), "after": vars(self.after)},
        }  # fmt: skip


@dataclass(frozen=True)
class Material:
    """The records around one rule.

    `originals`: records as approved. `said`: id, time, session and project of each signal that says the same.
    """

    history: History
    originals: Mapping[str, Learning]
    exposures: Sequence[Exposure] = ()
    signals: Sequence[Signal] = ()
    said: Sequence[tuple[str, str, str, Project | None]] = ()


def story_of(material: Material, identity: str, commit: str = "") -> Story:
    """Assemble the history of one rule from its records."""
    history = material.history
    learning = history.learnings[identity]
    about = tuple(made for made in history.decisions if made["subject"] == identity)
    against = history.against(identity)
    ended = against[-1] if against else None
    before, after = _hits(material.exposures, learning)
    return Story(
        learning, _state(ended), about, next((made for made in about if made["id"] == learning["decision"]), None),
        ended, str((ended or {"meta": {}})["meta"].get("by", "")), tuple(_replaced(material, identity, about)),
        tuple(material.signals), _again(material, learning, keys_of(history, identity)),
        sum(any(identity in listed for listed in one["rules"].values()) for one in material.exposures),
        before, after, commit,
    )  # fmt: skip


def _state(ended: Decision | None) -> str:
    if ended is None:
        return IN_FORCE
    return SUPERSEDED if ended["kind"] == "superseded" else REVERTED


def keys_of(history: History, identity: str) -> set[str]:
    """Return the keys that identify repetitions of a rule."""
    return {made["key"] for made in history.decisions if made["subject"] == identity and made["key"]}


def _replaced(material: Material, identity: str, about: Iterable[Decision]) -> Iterable[Wording]:
    """Yield the rules it replaced, then its own earlier wordings, oldest first."""
    history, original = material.history, material.originals[identity]
    for old in original["supersedes"]:
        known = history.learnings.get(old)
        yield Wording(old, known["text"] if known else "", original["decision"])
    text = original["text"]
    for made in about:
        is_other = made["kind"] == "amended" and made["id"] not in history.void and made["text"] not in (None, text)
        if is_other:
            yield Wording(identity, text, made["id"])
            text = made["text"] or text


def _again(material: Material, learning: Learning, keys: set[str]) -> Count:
    """Count repetitions after the approval, only where the rule applies: other projects do not count."""
    since, own = learning["timestamp"], set(learning["signals"])
    its = learning["project"] if learning["scope"] != "global" else None
    later = [(moment, session_hash(session or one)) for one, moment, session, project in material.said
             if moment > since and one not in own and _is_same(its, project)]  # fmt: skip
    tallied = [line for line in material.history.tallied if line[0] in keys and line[3] > since[:10]]
    tallied = [line for line in tallied if its is None or line[2] in ("", its["key"])]
    later += [(f"{line[3]}T00:00:00Z", line[4]) for line in tallied]  # tallies keep only the day
    return Count(len(later), len({session for _, session in later}), max((moment for moment, _ in later), default=""))


def _is_same(its: Project | None, project: Project | None) -> bool:
    """Tell whether two projects are the same: the key changes with the first commit or remote, the name rarely."""
    return its is None or project is None or project["key"] == its["key"] or project["name"] == its["name"]


def _hits(exposures: Iterable[Exposure], learning: Learning) -> tuple[Count, Count]:
    found: tuple[list[Exposure], list[Exposure]] = ([], [])
    for one in exposures:
        if one["hits"].get(learning["id"]):
            found[one["start"] >= learning["timestamp"]].append(one)
    before, after = (_count(side, learning["id"]) for side in found)
    return before, after


def _count(exposures: Sequence[Exposure], identity: str) -> Count:
    last = max((one["start"] for one in exposures), default="")
    return Count(sum(one["hits"][identity] for one in exposures), len(exposures), last)


def tell(store: Store, excerpt: Excerpt, identity: str) -> Story | None:
    """Return the history of a rule, or None if this store does not have it."""
    asked = ask_for_commit(store, identity, MAIN)  # runs while we read
    told = tell_all(excerpt, [identity])
    commit = commit_in(asked)
    return replace(told[identity], commit=commit) if told else None


def tell_all(excerpt: Excerpt, wanted: Sequence[str]) -> dict[str, Story]:
    """Return the histories of those rules that this store has, without commits: a file may have a colleague's rules."""
    found = excerpt.mentioning(*wanted)
    identities = [one for one in wanted if one in found]
    replaced = [old for one in identities for old in found[one]["supersedes"]]
    if replaced:  # in their last wording
        found = {**excerpt.mentioning(*replaced, figures=False), **found}
    keys = {one: keys_of(_history(found), one) for one in identities}
    tallied = excerpt.mentioning(*set().union(*keys.values()), figures=False)
    history = _history({**_of(tallied, "TLY"), **found})
    return {one: story_of(_material(excerpt, history, found, one, keys[one]), one) for one in identities}


def _material(
    excerpt: Excerpt, history: History, found: Mapping[str, Any], identity: str, keys: set[str]
) -> Material:  # fmt: skip
    signals = excerpt.signals(history.learnings[identity]["signals"])
    return Material(history, _of(found, "LRN"), list(_of(found, "EXP").values()), signals, excerpt.said(keys))


def decisions_about(excerpt: Excerpt, identity: str) -> list[Decision]:
    """Return the decisions about a learning, a signal, or what it became, including their reverts."""
    found = excerpt.mentioning(identity)
    learnings = [one for one, record in _of(found, "LRN").items() if identity in (one, *record["signals"])]
    found = {**excerpt.mentioning(*learnings), **found} if learnings and learnings != [identity] else found
    history = _history(found)
    return [made for made in history.decisions if identity in (made["subject"], *history.signals_of(made))]


def _history(found: Mapping[str, Any]) -> History:
    return History(_of(found, "LRN").values(), _of(found, "DEC").values(), _of(found, "TLY").values())


def _of(found: Mapping[str, Any], prefix: str) -> dict[str, Any]:
    return {identity: record for identity, record in found.items() if identity.startswith(prefix)}


def ask_for_commit(store: Store, identity: str, *branches: str) -> Child:
    """Start git to find the newest commit that added a record; the commit-graph's path filters make it fast."""
    wanted = ("--max-count=1", "--diff-filter=A", "--format=%H", "--end-of-options", *branches, "--")
    return store.git.start("log", *wanted, path_of(identity))


def commit_in(asked: Child) -> str:
    return asked.finish().out.decode("ascii", "replace").strip()


def commit_that_brought(store: Store, identity: str) -> str:
    """Return the commit that added a record; "" while it is still pending."""
    return commit_in(ask_for_commit(store, identity, *store.git.refs(INBOX, MAIN)))
