"""What was decided and is not in the files here yet: on another own machine, or while the project was not here."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from reflect_git.adapters import live
from reflect_git.apply import improvements
from reflect_git.apply.targets import Target
from reflect_git.errors import ReflectError
from reflect_git.history.words import DECLINED
from reflect_git.model.ids import utc_precise
from reflect_git.review.gate import instead_of
from reflect_git.review.risks import RISK, Finding, risks
from reflect_git.sitting import effects, links, places
from reflect_git.sitting.approve import says, target_of
from reflect_git.sitting.declining import declined, is_no, root_of
from reflect_git.sitting.effects import WAITING, Rule, Shift, section_of
from reflect_git.sitting.news import news_for
from reflect_git.sitting.rivals import Wording, rivals, wordings
from reflect_git.sitting.versions import entries_in
from reflect_git.sitting.writing import Approved, Step, message, shown, write
from reflect_git.store import memory

if TYPE_CHECKING:
    from reflect_git.model.schema import By, Decision, Learning
    from reflect_git.sitting.places import Place
    from reflect_git.sitting.review import Sitting
    from reflect_git.store.reading import Scan
    from reflect_git.store.repository import Store

ADD, REMOVE, CHANGE = "add", "remove", "change"
_WRITING = ("approved", "applied", "amended")
_PLACING = (*_WRITING, "superseded", "reverted")


@dataclass(frozen=True)
class Look:
    """What it takes to see what waits, without anything that is captured."""

    store: Store
    place: Place
    scan: Scan


@dataclass(frozen=True)
class Waiting:
    """One learning whose file here is behind a decision. `own`: it was made on this machine.

    `trouble` is why it cannot be carried out as it stands, where it cannot. `wordings`: which of these it is to be,
    where several machines reworded it.
    """

    place: Place
    shift: Shift
    decision: Decision
    own: bool
    steps: tuple[Step, ...] = ()
    trouble: ReflectError | None = None
    links: tuple[Finding, ...] = ()
    against: tuple[Finding, ...] = ()
    wordings: tuple[Wording, ...] = ()

    @property
    def learning(self) -> Learning:
        return self.shift.rule.learning

    @property
    def kind(self) -> str:
        if self.shift.old is None:
            return ADD
        return REMOVE if self.shift.new is None else CHANGE

    @property
    def diff(self) -> str:
        return shown(self.place, (step.plan for step in self.steps))

    @property
    def risks(self) -> list[Finding]:
        """Who can write to the remote can say that it was approved."""
        if self.kind == REMOVE:
            return list(self.links)
        return [*self.links, *self.against, *risks(self.learning["text"], self.learning["trust"])]


def waiting(sitting: Sitting | Look) -> list[Waiting]:
    """Everything that waits in this project and in the files of all projects."""
    news = news_for(sitting.place, sitting.scan.history, sitting.store.machine)
    several = rivals(sitting.place, sitting.scan.history, sitting.store.machine)
    news |= {identity: _of_another(sitting, last) for identity, last in several.items()}
    if not news:
        return []
    shelf = _Shelf(sitting)
    in_force = {one["id"]: one for one in sitting.scan.history.in_force()}
    if places.is_ignored(sitting.store, sitting.place):  # nothing comes into it; what was taken back leaves it
        of_project = {identity for identity, one in in_force.items() if one["scope"] != "global"}
        news = {identity: made for identity, made in news.items() if identity not in of_project}
    found = (
        _reworded(sitting, shelf, in_force[identity], made, several[identity])
        if identity in several
        else _waiting(sitting, shelf, identity, made, in_force.get(identity))
        for identity, made in news.items()
    )
    return [one for one in found if one]


def _of_another(sitting: Sitting | Look, last: Sequence[Decision]) -> Decision:
    return next((made for made in reversed(last) if made["machine"] != sitting.store.machine), last[-1])


def _reworded(
    sitting: Sitting | Look, shelf: _Shelf, rule: Learning, made: Decision, last: Sequence[Decision]
) -> Waiting | None:
    """Nobody takes it over as it stands: a person says which of the wordings it is to be."""
    history, old = sitting.scan.history, shelf.standing(rule["id"])
    if old is None and is_left_here(sitting, rule["id"]):
        return None  # its absence is a question of its own
    shift = Shift(rule["id"], old, Rule(rule, section_of(history, rule)))
    try:
        found = wordings(sitting.store, sitting.place, history, old, last)
    except ReflectError as error:
        return Waiting(sitting.place, shift, made, own=False, trouble=error)
    several = ReflectError(f"'{rule['id']}' was reworded on several machines", "choose in 'reflect-git review'")
    return Waiting(sitting.place, shift, made, own=False, trouble=several, wordings=found)


def _waiting(
    sitting: Sitting | Look, shelf: _Shelf, identity: str, made: Decision, wanted: Learning | None
) -> Waiting | None:
    history, own = sitting.scan.history, made["machine"] == sitting.store.machine
    old = shelf.standing(identity)
    new = Rule(wanted, section_of(history, wanted)) if wanted else None
    if old is None and (new is None or (is_left_here(sitting, identity) and not own)):
        return None  # nothing is there and nothing should be; or we put it there: its absence is a question of its own
    shift = Shift(identity, old, new)
    try:
        found = effects.of(sitting.place, [shift])
        links.require_single_names(sitting.place, [step.plan for step in found.steps])
    except ReflectError as error:
        return Waiting(sitting.place, shift, made, own, trouble=error)
    if not found.steps:
        return None
    linked = links.in_the_way(sitting.store, sitting.place, [step.plan for step in found.steps])
    against = tuple(_against(sitting, wanted)) if wanted else ()
    return Waiting(sitting.place, shift, made, own, tuple(found.steps), links=tuple(linked), against=against)


def _against(sitting: Sitting | Look, wanted: Learning) -> Iterator[Finding]:
    """Rules for here that say the opposite: two machines decided, and neither knew of the other. Both are kept, and
    every machine asks the same."""
    from reflect_git.review.likeness import is_opposed  # most of the time nothing waits

    for rule in sitting.scan.history.in_force():
        if rule["id"] != wanted["id"] and sitting.place.reaches(rule) and is_opposed(wanted["text"], rule["text"]):
            is_exception = rule["scope"] == "global" != wanted["scope"]
            message = f"it contradicts '{rule['id']}', which is in force: {rule['text']}"
            message = instead_of(rule["id"], rule["text"]) if is_exception else message
            yield Finding(RISK, "contradiction", message, f"take one of them back: reflect-git revert {rule['id']}")


def is_left_here(sitting: Sitting | Look, identity: str) -> bool:
    """Did this machine, when it last did something about a learning, leave it in its file?"""
    by_id = {made["id"]: made for made in sitting.scan.history.decisions}
    is_left = False
    for made in sitting.scan.history.decisions:
        if made["subject"] == identity and made["machine"] == sitting.store.machine and not made["meta"].get("waits"):
            root, is_undone = root_of(by_id, made)
            if is_no(root) or _left(by_id, made):  # nothing was done about the file, nor by taking that back
                continue
            if root["kind"] in _PLACING and not (root["kind"] == "amended" and made is not root):
                is_left = (root["kind"] in _WRITING and root["meta"].get("change") != REMOVE) != is_undone
    return is_left


def _left(by_id: Mapping[str, Decision], made: Decision) -> bool:
    """It found no entry to take out, or takes such a one back."""
    return any(one is not None and one["meta"].get("left") for one in (made, by_id.get(made["reopens"] or "")))


class _Shelf:
    """What stands in the files here, each read once."""

    def __init__(self, sitting: Sitting | Look) -> None:
        self._sitting = sitting
        self._files: dict[tuple[bool, str], bytes | None] = {}

    def standing(self, identity: str) -> Rule | None:
        """The learning as it stands here: in words that it once had if they are its own, else where it is at all."""
        there = []
        for was in self._sitting.scan.history.wordings(identity):
            target = target_of(was)
            text = self._text(target, identity)
            if text is None:
                continue
            rule = Rule(was, self._section(target, identity))
            if says(was, text):
                return rule
            there.append(rule)
        if not there:
            return None
        return there[1] if len(there) > 1 else there[0]  # reworded by hand: not from what is only news

    def _text(self, target: Target, identity: str) -> str | None:
        try:
            return entries_in(target.kind, self._data(target)).get(identity)
        except ReflectError:  # no text, or a link that leads out: whoever writes there says so
            return None

    def _section(self, target: Target, identity: str) -> str:
        listed = improvements.find(self._data(target)) if target.form == "improvements" else ()
        return next((one.section for one in listed if one.id == identity), "")

    def _data(self, target: Target) -> bytes | None:
        where = target.is_global, target.path
        if where not in self._files:
            self._files[where] = live.read(self._sitting.place.path_of(target))
        return self._files[where]


def take(sitting: Sitting, chosen: Sequence[Waiting], by: By, settled: bool = False) -> Approved:
    """Carry out what was shown: all of it in one commit. Refused if a file is not any more what it was then."""
    for one in chosen:
        if one.trouble is not None:
            raise one.trouble
        for step in one.steps:
            path = sitting.place.path_of(step.plan.target)
            if live.read(path) != step.plan.before:
                raise live.Changed(path)
    found = effects.of(sitting.place, [one.shift for one in chosen])
    now = utc_precise()
    made = [_applied(sitting, one, by, now, settled) for one in chosen]
    first = chosen[0].learning
    more = f" and {len(chosen) - 1} more" if len(chosen) > 1 else ""
    text = message(
        sitting, f"apply: {memory.title(first['title'] or first['text'])}{more}", _trailers(chosen, made), by
    )
    done = write(sitting, first["id"], found.steps, made, text, [asked for one in chosen for asked in one.links])
    return replace(done, warnings=found.notes)


def decline(sitting: Sitting, one: Waiting, by: By) -> tuple[str, str]:
    """Not on this machine: one decision, which is in the way of no other machine, and of no later wording. Returns its
    id and the commit."""
    learning = one.learning
    meta = {"of": one.decision["id"], "change": DECLINED}
    made = memory.decision(sitting.store, "applied", learning["id"], by, utc_precise(), meta=meta)  # of no file
    subject = f"decline: {memory.title(learning['title'] or learning['text'])}"
    trailers: dict[str, list[str]] = {}
    for name, value in (*_trailers([one], [made]), ("Approved-By", by["road"])):
        trailers.setdefault(name, []).append(value)
    return made["id"], memory.record(sitting.store, [made], subject, trailers)


def absent(sitting: Sitting | Look) -> dict[str, str]:
    """Rules in force that are in no file here → why: they wait for an answer, or the answer was no."""
    said = dict.fromkeys(declined(sitting.scan.history, sitting.store.machine), DECLINED)
    return said | {one.learning["id"]: WAITING for one in waiting(sitting) if one.kind == ADD}


def _applied(sitting: Sitting, one: Waiting, by: By, now: str, settled: bool) -> Decision:
    meta: dict[str, Any] = {"of": one.decision["id"], "change": one.kind, **({"settled": True} if settled else {})}
    learning = one.learning
    text = learning["text"] if one.kind != REMOVE else None
    return memory.decision(
        sitting.store, "applied", learning["id"], by, now, text=text, target=learning["target"], meta=meta
    )


def _trailers(chosen: Sequence[Waiting], made: Sequence[Decision]) -> list[tuple[str, str]]:
    targets = dict.fromkeys(target_of(one.learning).path for one in chosen)
    projects = dict.fromkeys(one.learning["project"]["key"] for one in chosen if one.learning["project"])
    return [
        *(("Learning-Id", one.learning["id"]) for one in chosen), *(("Decision", one["id"]) for one in made),
        *(("Target", one) for one in targets), *(("Project", one) for one in projects),
    ]  # fmt: skip


def settle_own(sitting: Sitting) -> Approved | None:
    """Carry out what was decided on this machine while its file was not here; None where there is nothing.

    Its person has said so already; what cannot be done as it stands is left for review.
    """
    decisions = sitting.scan.history.decisions
    if not any(made["meta"].get("waits") and made["machine"] == sitting.store.machine for made in decisions):
        return None
    own = [one for one in waiting(sitting) if one.own and one.trouble is None and not one.links]
    return take(sitting, own, own[-1].decision["by"], settled=True) if own else None
