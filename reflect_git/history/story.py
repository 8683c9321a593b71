"""The story of a learning: what it says now and said before, who decided what about it, and whether it helped."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from reflect_git.store.fold import session_hash

if TYPE_CHECKING:
    from reflect_git.model.schema import Decision, Exposure, Learning, Project, Signal
    from reflect_git.store.fold import History

IN_FORCE, REVERTED, SUPERSEDED = "in force", "reverted", "superseded"


@dataclass(frozen=True)
class Wording:
    """A text that is not said any more: an earlier one of the same learning, or that of a rule it took the place of."""

    id: str
    text: str
    by: str  # the decision that put other words in its place


@dataclass(frozen=True)
class Count:
    """How often, in how many sessions, and when last."""

    times: int = 0
    sessions: int = 0
    last: str = ""


@dataclass(frozen=True)
class Story:
    """`learning` is as people worded and placed it since; `ended` what keeps it out of force, `heir` what replaced it.

    `again`: what was said once more after the approval. `read`: sessions that had it loaded. `before`, `after`: calls
    that its matcher would have caught.
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
        """How many of the signals behind it this machine does not have any more, or never had."""
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
    """What is known around one learning. `originals` are records as they were approved; `said` has an id, a time, a
    session and a project for each signal that says the same."""

    history: History
    originals: Mapping[str, Learning]
    exposures: Sequence[Exposure] = ()
    signals: Sequence[Signal] = ()
    said: Sequence[tuple[str, str, str, Project | None]] = ()


def story_of(material: Material, identity: str, commit: str = "") -> Story:
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
    """By which one knows that the same was said again."""
    return {made["key"] for made in history.decisions if made["subject"] == identity and made["key"]}


def _replaced(material: Material, identity: str, about: Iterable[Decision]) -> Iterable[Wording]:
    """Rules whose place it took, then its own earlier words, oldest first."""
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
    """Where the rule holds: what another project was told is no word about this one's."""
    since, own = learning["timestamp"], set(learning["signals"])
    its = learning["project"] if learning["scope"] != "global" else None
    later = [(moment, session_hash(session or one)) for one, moment, session, project in material.said
             if moment > since and one not in own and _is_same(its, project)]  # fmt: skip
    tallied = [line for line in material.history.tallied if line[0] in keys and line[3] > since[:10]]
    tallied = [line for line in tallied if its is None or line[2] in ("", its["key"])]
    later += [(f"{line[3]}T00:00:00Z", line[4]) for line in tallied]  # of these only the day is kept
    return Count(len(later), len({session for _, session in later}), max((moment for moment, _ in later), default=""))


def _is_same(its: Project | None, project: Project | None) -> bool:
    """A project has another key after its first commit, or at another remote, and mostly the name it had."""
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
