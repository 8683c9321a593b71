"""From a candidate to one commit: proposed with its diff and what stands against it, then carried out as shown."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from reflect_git.adapters import live, records, redact
from reflect_git.apply import finding, targets
from reflect_git.apply import plan as plans
from reflect_git.apply.diff import diff
from reflect_git.apply.improvements import Improvement
from reflect_git.apply.inert import inert
from reflect_git.apply.plan import Item, Plan, Rule
from reflect_git.apply.targets import Target
from reflect_git.errors import EXIT_DECISION, ReflectError
from reflect_git.model import schema
from reflect_git.model.ids import random_id, utc_precise
from reflect_git.review import gate
from reflect_git.review.gate import Subject
from reflect_git.review.risks import Finding, lowest
from reflect_git.sitting import mirror, places
from reflect_git.store import approval, memory
from reflect_git.store.approval import Change
from reflect_git.store.layout import path_of

if TYPE_CHECKING:
    from reflect_git.model.schema import By, Decision, Learning
    from reflect_git.review.candidates import Candidate
    from reflect_git.sitting.review import Sitting

CONFIDENCE = {1: "Low", 2: "Medium", 3: "High", 4: "Verified"}


@dataclass(frozen=True)
class Request:
    """What a person wants made of a candidate; what is empty is as proposed."""

    candidate: Candidate
    to: str = ""
    text: str = ""
    joined: tuple[Candidate, ...] = ()
    supersedes: tuple[str, ...] = ()
    title: str = ""
    impact: str = ""
    details: str = ""
    action: str = ""
    paths: tuple[str, ...] = ()
    reason: str = ""


@dataclass(frozen=True)
class Proposal:
    """One change, whole: the preview is the write."""

    request: Request
    learning: Learning
    to: str
    plans: tuple[Plan, ...]
    findings: tuple[Finding, ...]
    replaced: tuple[Learning, ...] = ()

    @property
    def diff(self) -> str:
        return "".join(map(diff, self.plans))

    @property
    def is_refused(self) -> bool:
        return gate.is_refused(self.findings)

    @property
    def is_risky(self) -> bool:
        return gate.is_risky(self.findings)


@dataclass(frozen=True)
class Approved:
    learning: str
    commit: str
    backup: str
    target: str
    diff: str
    warnings: list[str] = field(default_factory=list)


def propose(sitting: Sitting, request: Request) -> Proposal:
    """The exact change, and everything that stands against it. Nothing is written."""
    candidate = request.candidate
    text, mended = inert(request.text or candidate.text)
    if not text:
        raise ReflectError("there is no text to approve", "give one with --text TEXT", "usage")
    now = utc_precise()
    identity = random_id("LRN", now)
    to = request.to or candidate.target
    around = places.surroundings(sitting.place)
    target = targets.resolve(to, around, identity, request.title or candidate.title)
    learning = _learning(sitting, request, text, identity, target, now)
    replaced = tuple(in_force_here(sitting, old) for old in request.supersedes)
    before = live.read(sitting.place.path_of(target))
    made = _plans(sitting, learning, target, before, item_of(learning), replaced)
    found = findings_on(sitting, text, learning["trust"], target, before, mended, request.supersedes)
    return Proposal(request, learning, to, made, (*_secret_fields(learning), *found), replaced)


def _secret_fields(learning: Learning) -> list[Finding]:
    """An improvement has more words than its text, and a secret may be in any of them."""
    fields = {"title": learning["title"], **learning["meta"].get("improvement", {})}
    return [
        Finding(gate.REFUSED, "secret", f"the {name} holds a known kind of secret", f"give another: --{name} TEXT")
        for name, value in fields.items()
        if _has_secret(str(value))
    ]


def findings_on(
    sitting: Sitting, text: str, trust: str, target: Target, before: bytes | None, mended: Sequence[str],
    supersedes: Sequence[str],
) -> tuple[Finding, ...]:  # fmt: skip
    """What the gate says. A rule of ours stands in the store and in its file: what it stands against is told once."""
    found = gate.findings(
        _subject(text, trust, target, before), _rules(sitting), has_secret=_has_secret, mended=mended,
        supersedes=supersedes,
    )  # fmt: skip
    return tuple(dict.fromkeys(found))


def _has_secret(text: str) -> bool:
    return bool(redact.find(text))


def require_unrefused(proposal: Proposal) -> None:
    for found in proposal.findings:
        if found.kind == gate.REFUSED:
            raise ReflectError(found.message, found.way_out, f"refused-{found.code}", EXIT_DECISION)


def carry_out(sitting: Sitting, proposal: Proposal, by: By) -> Approved:
    """Write what was proposed: files and one commit, or neither."""
    require_unrefused(proposal)
    store, learning = sitting.store, proposal.learning
    decided = _decisions(sitting, proposal, by)
    made: list[Any] = [{**learning, "decision": decided[0]["id"]}, *decided]
    for record in made:
        records.check(record)
    new = {path_of(record["id"]): records.emit(record) for record in made}
    for one in proposal.plans:
        where = mirror.path_of(store, one, sitting.place.project)
        new[where] = mirror.content(one, mirror.version_of(store, where) + 1)
    changes = [_change(sitting, one) for one in proposal.plans]
    message = _message(sitting, proposal, decided, by)
    done = approval.carry_out(store, learning["id"], changes, new, message, time.time())
    path = sitting.place.label(changes[0].path)
    said = [found.message for found in proposal.findings]
    return Approved(learning["id"], done.commit, done.backup, path, proposal.diff, said)


def _learning(sitting: Sitting, request: Request, text: str, identity: str, target: Target, now: str) -> Learning:
    candidate, everyone = request.candidate, (request.candidate, *request.joined)
    scope = "global" if target.is_global else "project"
    meta: dict[str, Any] = {"type": candidate.type}
    if target.form == "improvements":
        meta["improvement"] = _improvement_fields(request, text)
    return {
        "id": identity, "version": schema.VERSION, "timestamp": now, "text": text,
        "title": request.title or candidate.title or memory.title(text), "category": candidate.category, "scope": scope,
        "project": sitting.place.project if scope == "project" else None,
        "target": {"kind": target.kind, "path": target.path}, "topic": None,
        "paths": list(request.paths or (candidate.paths if target.form == "rules" else ())),
        "signals": list(dict.fromkeys(one for each in everyone for one in each.signals)), "decision": "",
        "supersedes": list(request.supersedes), "reason": request.reason,
        "trust": lowest([each.trust for each in everyone]),
        "matcher": candidate.matcher if not request.text or request.text == candidate.text else None, "meta": meta,
    }  # fmt: skip


def _improvement_fields(request: Request, text: str) -> dict[str, str]:
    """From the facts of the signal where nobody said otherwise."""
    candidate = request.candidate
    times = f"seen in {candidate.sessions} session{'s' if candidate.sessions != 1 else ''}"
    return {
        "impact": request.impact or CONFIDENCE[max(1, min(3, candidate.sessions))],
        "details": request.details or candidate.quote or text,
        "action": request.action or text,
        "confidence": f"{CONFIDENCE[candidate.confidence]} ({times})",
    }


def item_of(learning: Learning) -> Item:
    """As its file has it."""
    fields = learning["meta"].get("improvement")
    if target_of(learning).form != "improvements" or not fields:
        return Rule(learning["id"], learning["text"], learning["category"], tuple(learning["paths"]))
    category = learning["category"].replace("-", " ").capitalize()
    return Improvement(
        learning["id"], learning["timestamp"][:10], learning["title"], category, fields["impact"], fields["details"],
        fields["action"], fields["confidence"],
    )  # fmt: skip


def target_of(learning: Learning) -> Target:
    return Target(learning["target"]["kind"], learning["target"]["path"])


def _plans(
    sitting: Sitting, learning: Learning, target: Target, before: bytes | None, item: Item,
    replaced: Sequence[Learning],
) -> tuple[Plan, ...]:  # fmt: skip
    """In the place of the rule it replaces, if that stands in the same file; other rules it replaces go."""
    same = [old for old in replaced if target_of(old) == Target(target.kind, target.path)]
    if same and isinstance(item, Rule) and before is not None and target.form == "block":
        first = plans.replace(target, before, item_of(same[0]), item)
        rest = [old for old in replaced if old is not same[0]]
    else:
        first, rest = plans.add(target, before, item), list(replaced)
    made = [first]
    for old in rest:
        place = target_of(old)
        live_bytes = first.after if place.path == target.path else live.read(sitting.place.path_of(place))
        made.append(plans.remove(place, live_bytes, item_of(old)))
    return tuple(_merged(made))


def _merged(made: Sequence[Plan]) -> list[Plan]:
    """Two changes of one file are one."""
    first, *rest = made
    found = [first]
    for one in rest:
        if one.path == first.path and one.target.kind == first.target.kind:
            found[0] = Plan(first.target, found[0].before, one.after, first.learning, first.kind, first.replaces)
        else:
            found.append(one)
    return found


def in_force_here(sitting: Sitting, prefix: str) -> Learning:
    rules = {learning["id"]: learning for learning in sitting.scan.history.in_force()}
    return rules[memory.find(rules, prefix)]


def _subject(text: str, trust: str, target: Target, before: bytes | None) -> Subject:
    block = finding.find(before) if target.form == "block" else None
    entries = len(block.entries) if block else 0
    return Subject(text, trust, target.path, entries, (before or b"").count(b"\n"))


def _rules(sitting: Sitting) -> list[Any]:
    from reflect_git.review.baseline import Statement

    own = [Statement(one["target"]["path"], 0, one["text"], one["id"]) for one in sitting.scan.history.in_force()]
    return [*own, *sitting.said]


def _decisions(sitting: Sitting, proposal: Proposal, by: By) -> list[Decision]:
    learning, candidate = proposal.learning, proposal.request.candidate
    approved = memory.decision(
        sitting.store, "approved", learning["id"], by, learning["timestamp"], text=learning["text"], key=candidate.key,
        target=learning["target"], reason=proposal.request.reason, meta={"signals": learning["signals"]},
    )  # fmt: skip
    gone = [
        memory.decision(
            sitting.store, "superseded", old["id"], by, learning["timestamp"], target=old["target"],
            meta={"by": learning["id"]},
        )
        for old in proposal.replaced
    ]  # fmt: skip
    return [approved, *gone]


def _change(sitting: Sitting, plan: Plan) -> Change:
    mark = f"{plan.learning}"
    present, absent = ((), (mark,)) if plan.kind == "remove" else ((mark,), ())
    return Change(sitting.place.path_of(plan.target), plan.before, plan.after, present, absent)


def _message(sitting: Sitting, proposal: Proposal, decided: Sequence[Decision], by: By) -> str:
    learning = proposal.learning
    project = sitting.place.project
    trailers = [
        *(("Signal-Id", one) for one in learning["signals"]), ("Learning-Id", learning["id"]),
        *(("Decision", one["id"]) for one in decided), ("Target", learning["target"]["path"]),
        *([("Project", project["key"])] if project and learning["scope"] == "project" else []),
        ("Machine", sitting.store.machine), ("Approved-By", by["road"]), ("Backup", "{backup}"),
    ]  # fmt: skip
    lines = [f"{name}: {' '.join(value.split())}" for name, value in trailers]
    return f"approve: {memory.title(learning['title'] or learning['text'])}\n\n" + "\n".join(lines) + "\n"
