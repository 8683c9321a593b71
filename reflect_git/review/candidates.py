"""What review would ask: gathered, deduplicated, classified, worded. Computed, never stored."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, overload

from reflect_git.model.frames import Frame, agrees
from reflect_git.review import classify, wording
from reflect_git.review.baseline import Statement
from reflect_git.review.groups import STRONG, Group, Signal, grouped, parts_of, undecided, within_flood
from reflect_git.review.likeness import SIMILAR, contradicts, similarity
from reflect_git.review.matcher import matcher_of
from reflect_git.review.risks import lowest, risks
from reflect_git.store.fold import History

if TYPE_CHECKING:
    from reflect_git.model.schema import Learning

LIMIT = 10
_LISTED = 5
_COMPARED = 2000  # texts that one candidate is held against
_SHORT = 60  # two texts this short together may exclude each other without a word in common: "use tabs", "use spaces"


@dataclass(frozen=True)
class Candidate:
    id: str
    text: str
    type: str
    category: str
    scope: str
    target: str
    tier: str
    confidence: int
    occurrences: int
    sessions: int
    trust: str
    signals: tuple[str, ...]
    first_seen: str
    last_seen: str
    similar: tuple[dict[str, Any], ...]
    conflicts_with: tuple[dict[str, Any], ...]
    backtest: dict[str, Any] | None
    warnings: tuple[str, ...]
    sha256: str
    quote: str
    title: str
    side: str
    paths: tuple[str, ...]
    key: str
    matcher: dict[str, str] | None
    recurrence_of: str | None = None
    dismissed_before: str | None = None

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


class Lazily(Sequence[Candidate]):
    """Candidates that are made when they are looked at: a flood of 10,000 is counted, not worded."""

    def __init__(self, groups: Sequence[Group], make: Callable[[Group], Candidate]) -> None:
        self._groups = groups
        self._make = make
        self._made: dict[int, Candidate] = {}

    def __len__(self) -> int:
        return len(self._groups)

    @overload
    def __getitem__(self, at: int) -> Candidate: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[Candidate]: ...
    def __getitem__(self, at: int | slice) -> Candidate | Sequence[Candidate]:
        if isinstance(at, slice):
            return Lazily(self._groups[at], self._make)
        place = range(len(self._groups))[at]
        if place not in self._made:
            self._made[place] = self._make(self._groups[place])
        return self._made[place]


@dataclass(frozen=True)
class Gathered:
    """`strong` is what a sitting shows, `more` how many strong ones wait behind it, `held` what a flood brought beyond
    its share, `recurrences` what a rule in force already says, `known` how many signals files say already."""

    strong: Sequence[Candidate]
    more: Sequence[Candidate]
    weak: Sequence[Candidate]
    held: Sequence[Candidate]
    recurrences: Sequence[Candidate]
    gathered: int
    known: int
    _places: dict[str, tuple[str, int]] = field(default_factory=dict, repr=False)

    @property
    def message(self) -> str:
        """Where there is nothing to ask, why."""
        if self.strong or self.weak or self.held:
            return ""
        return "All learnings already captured." if self.known or self.recurrences else "Nothing to reflect on."

    def of(self, signal: str) -> Candidate | None:
        """The candidate that a signal belongs to: any id of the group names it."""
        place = self._places.get(signal)
        if place is None:
            return None
        found: Candidate = getattr(self, place[0])[place[1]]
        return found


def candidates(
    signals: Iterable[Signal],
    history: History,
    baselines: Sequence[Statement],
    *,
    project: Collection[str] = (),
    now: str = "",
    shown: Collection[str] = (),
    limit: int = LIMIT,
) -> Gathered:
    """`project`: the keys of the project that is reviewed, none for all. `shown`: ids that were shown before; they come
    after those that never were, so that ten "not now" do not block the line. `now` bounds what a wrong clock dates."""
    live = [signal for signal in signals if _is_live(signal, project, now)]
    rules = _Rules(history, baselines, project)
    fresh: list[Group] = []
    again: list[Group] = []
    known = 0
    for group in undecided(grouped(live, history), history):
        rule = rules.saying(group)
        if rule is None:
            fresh.append(group)
        elif rule and group.signals[-1]["timestamp"] > rules.since(rule):
            again.append(group)
        else:
            known += len(group.signals)
    kept, held = within_flood(fresh)
    make = _Maker(kept, rules).make
    strong = sorted((group for group in kept if group.tier == STRONG), key=lambda group: _was_shown(group, shown))
    weak = [group for group in kept if group.tier != STRONG]
    listed = {"strong": strong[:limit], "more": strong[limit:], "weak": weak, "held": held, "recurrences": again}
    places = {
        signal["id"]: (name, at)
        for name, groups in listed.items()
        for at, group in enumerate(groups)
        for signal in group.signals
    }
    return Gathered(
        **{name: Lazily(groups, make) for name, groups in listed.items()},
        gathered=len(live), known=known, _places=places,
    )  # fmt: skip


def _is_live(signal: Signal, project: Collection[str], now: str) -> bool:
    if signal["status"] != "captured" or signal["type"] == "summary":
        return False
    if now and signal["stored"][:10] > now[:10] and signal["timestamp"][:10] > now[:10]:
        return False
    return not project or signal["project"] is None or signal["project"]["key"] in project


def _was_shown(group: Group, shown: Collection[str]) -> bool:
    return any(signal["id"] in shown for signal in group.signals)


class _Rules:
    """What is said already: learnings in force here, and the statements of files."""

    def __init__(self, history: History, baselines: Sequence[Statement], project: Collection[str]) -> None:
        self._learnings = {one["id"]: one for one in history.in_force() if _holds_in(one, project)}
        own = [Statement(one["target"]["path"], 0, one["text"], identity) for identity, one in self._learnings.items()]
        self.statements = [*own, *baselines]
        self._by_key: dict[str, str] = {}
        for said in self.statements:
            self._by_key.setdefault(said.key, self._rule(said))
        for decision in history.decisions:
            if decision["key"] and decision["subject"] in self._learnings:
                self._by_key[decision["key"]] = decision["subject"]
        self._by_part: dict[tuple[str, str, str], list[tuple[Frame, str]]] = {}
        for said in self.statements:
            for part in parts_of(said.frame):
                self._by_part.setdefault(part, []).append((said.frame, self._rule(said)))  # type: ignore[arg-type]

    def _rule(self, said: Statement) -> str:
        """The id of the learning in force; empty for what somebody else wrote."""
        return said.learning if said.learning in self._learnings and said.learning else ""

    def saying(self, group: Group) -> str | None:
        """The rule that says what the group says; empty if only a file does; None if nothing does."""
        for key in group.keys:
            if key in self._by_key:
                return self._by_key[key]
        if group.frame is None:
            return None
        near = [said for part in parts_of(group.frame) for said in self._by_part.get(part, ())]
        return max((rule for frame, rule in near if _covers(frame, group.frame)), default=None)

    def since(self, rule: str) -> str:
        return self._learnings[rule]["timestamp"]


def _covers(said: Frame, frame: Frame) -> bool:
    """What is said says all that the frame says, and maybe more."""
    if not agrees(said, frame):
        return False
    return (not frame.wanted or frame.wanted == said.wanted) and (not frame.unwanted or frame.unwanted == said.unwanted)


def _holds_in(learning: Learning, project: Collection[str]) -> bool:
    return (
        not project
        or learning["project"] is None
        or learning["scope"] == "global"
        or learning["project"]["key"] in project
    )


class _Maker:
    """Words a candidate and looks for what is near it."""

    def __init__(self, groups: Sequence[Group], rules: _Rules) -> None:
        self._rules = rules
        said = [group.oldest for group in groups if group.oldest["type"] != "failure"]
        self._others = [(signal["id"], str(signal["content"])) for signal in said[:_COMPARED]]

    def make(self, group: Group) -> Candidate:
        signals = group.signals
        text = wording.proposal(signals)
        first = wording.spokesman(signals)
        trusts = [signal["trust"] for signal in signals]
        trust = lowest([*trusts, "assistant"] if wording.is_borrowed(signals) else trusts)
        projects = {signal["project"]["key"] for signal in signals if signal["project"]}
        place = classify.place(text, first["type"], first["category"], len(projects), str(first["context"])[:400])
        similar, conflicts = self._near(group, text)
        rule = self._rules.saying(group) or None
        return Candidate(
            id=group.oldest["id"], text=text, type=first["type"], category=place.category, scope=place.scope,
            target=place.target, tier=group.tier, confidence=group.confidence, occurrences=len(signals),
            sessions=group.sessions, trust=trust, signals=tuple(signal["id"] for signal in signals),
            first_seen=signals[0]["timestamp"], last_seen=max(signal["timestamp"] for signal in signals),
            similar=similar, conflicts_with=conflicts, backtest=None,
            warnings=tuple(finding.message for finding in risks(text, trust)),
            sha256=hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest(), quote=_quote(first),
            title=place.title, side=place.side, paths=place.paths, key=first["key"],
            matcher=matcher_of(group.frame, [str(signal["content"]) for signal in signals]),
            recurrence_of=rule, dismissed_before=group.dismissed_before,
        )  # fmt: skip

    def _near(self, group: Group, text: str) -> tuple[tuple[dict[str, Any], ...], tuple[dict[str, Any], ...]]:
        """Rules and files first: what is in force weighs more than what only waits."""
        own = {signal["id"] for signal in group.signals}
        said = [(_told(one), one.text) for one in self._rules.statements[:_COMPARED]]
        said += [({"id": identity, "text": words}, words) for identity, words in self._others if identity not in own]
        content = str(group.oldest["content"])
        conflicts: list[dict[str, Any]] = []
        similar: list[tuple[float, dict[str, Any]]] = []
        for entry, words in said:
            likeness = similarity(content, words)
            if (likeness > 0 or len(content) + len(words) < _SHORT) and contradicts(content, words):
                conflicts.append(entry)
            elif likeness >= SIMILAR:
                similar.append((likeness, entry))
        similar.sort(key=lambda pair: -pair[0])
        return _once(entry for _, entry in similar), _once(conflicts)


def _once(entries: Iterable[dict[str, Any]]) -> tuple[dict[str, Any], ...]:
    """A rule stands in the store and in a file, a bullet says itself and its sentences: each place is named once."""
    found: dict[Any, dict[str, Any]] = {}
    for entry in entries:
        found.setdefault(entry["id"] or entry.get("where"), entry)
    return tuple(found.values())[:_LISTED]


def _told(said: Statement) -> dict[str, Any]:
    where = f"{said.file}:{said.line}" if said.line else said.file
    return {"id": said.learning, "where": where, "text": said.text}


def _quote(signal: Signal) -> str:
    """The user's own words, as far as they are shown; for what nobody said, what was seen."""
    said = str(signal["context"] or signal["content"])
    return wording.clip(" ".join(said.split()), 600)
