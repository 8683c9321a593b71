"""Two machines reworded one rule, and neither knew of the other: both are kept, and a person says which holds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from reflect_git.adapters import live
from reflect_git.model.ids import utc_precise
from reflect_git.model.tuples import NamedTuple
from reflect_git.review.risks import Finding, risks
from reflect_git.sitting import effects, links
from reflect_git.sitting.amend import also
from reflect_git.sitting.declining import declined
from reflect_git.sitting.effects import Rule, Shift, section_of
from reflect_git.sitting.writing import Approved, Step, message_of, shown, write
from reflect_git.store import memory

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reflect_git.model.schema import By, Decision, Learning
    from reflect_git.sitting.places import Place
    from reflect_git.sitting.review import Sitting
    from reflect_git.store.fold import History
    from reflect_git.store.repository import Store


class Wording(NamedTuple):
    """One of several: the rule as this decision has it, and what the file here becomes if it holds."""

    place: Place
    decision: Decision
    learning: Learning
    steps: tuple[Step, ...]
    findings: tuple[Finding, ...] = ()

    @property
    def diff(self) -> str:
        return shown(self.place, (step.plan for step in self.steps))


def rivals(place: Place, history: History, machine: str) -> dict[str, list[Decision]]:
    """Rule in force here → its last amendments, where they are several that do not say the same. So on every clone."""
    amended = {made["subject"] for made in history.decisions if made["kind"] == "amended"}
    noes = declined(history, machine) if amended else {}
    found = {}
    for learning in history.in_force() if amended else ():
        identity = learning["id"]
        if identity in amended and identity not in noes and place.reaches(learning):
            last = history.last_amendments(identity)
            if any((one["text"], one["target"]) != (last[0]["text"], last[0]["target"]) for one in last):
                found[identity] = last
    return found


def wordings(
    store: Store, place: Place, history: History, old: Rule | None, last: Sequence[Decision]
) -> tuple[Wording, ...]:  # fmt: skip
    """What each of them would make of the file, in which the rule stands as `old`."""
    found = []
    for made in last:
        said = history.as_amended(made)
        shift = Shift(made["subject"], old, Rule(said, made["meta"].get("section") or section_of(history, said)))
        steps = tuple(effects.of(place, [shift]).steps)
        linked = links.in_the_way(store, place, [step.plan for step in steps])
        found.append(Wording(place, made, said, steps, (*linked, *risks(said["text"], said["trust"]))))
    return tuple(found)


def settle(sitting: Sitting, one: Wording, by: By) -> Approved:
    """It holds from now on, and so it does on the other machines: an amendment that knows of all the others. What it
    does to the file here is a decision of its own, so that taking both back gives back the bytes."""
    for step in one.steps:
        path = sitting.place.path_of(step.plan.target)
        if live.read(path) != step.plan.before:
            raise live.Changed(path)
    said, identity = one.decision, one.learning["id"]
    before = sitting.scan.history.learnings[identity]
    meta: dict[str, Any] = {"learning": also(sitting.scan.others[identity], before, one.learning)}
    meta |= {"section": said["meta"]["section"]} if "section" in said["meta"] else {}
    meta |= {"after": [made["id"] for made in sitting.scan.history.last_amendments(identity)], "left": True}
    words: Any = {"text": one.learning["text"], "target": one.learning["target"]}
    now = utc_precise()
    chosen = memory.decision(sitting.store, "amended", identity, by, now, **words, meta=meta)
    done = {"of": chosen["id"], "change": "change"}
    applied = [memory.decision(sitting.store, "applied", identity, by, now, **words, meta=done)] if one.steps else []
    message = message_of(sitting, "amend", one.learning, [chosen, *applied], by)
    return write(sitting, identity, one.steps, [chosen, *applied], message, one.findings)
