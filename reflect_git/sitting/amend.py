"""A rule in other words or in another place: one `amended` decision, by the same Plan and gate as an approval.

The learning's record stays as it was; what it says now is computed from the decisions about it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

from reflect_git.adapters import live
from reflect_git.apply import plan as plans
from reflect_git.apply import targets
from reflect_git.apply.inert import inert
from reflect_git.apply.plan import Plan
from reflect_git.apply.targets import Target
from reflect_git.errors import ReflectError
from reflect_git.model.ids import utc_precise
from reflect_git.review.matcher import matcher_in
from reflect_git.review.risks import Finding
from reflect_git.sitting import links, places
from reflect_git.sitting.approve import (
    in_force_here,
    item_of,
    question_in,
    say_once,
    target_of,
    topic_of,
    with_way_out,
)
from reflect_git.sitting.gating import findings_on, secret_fields
from reflect_git.sitting.writing import Approved, Step, message_of, require_unrefused, reworded, shown, steps, write
from reflect_git.store import memory

if TYPE_CHECKING:
    from reflect_git.model.schema import By, Learning
    from reflect_git.sitting.places import Place
    from reflect_git.sitting.review import Sitting

_ALSO = ("title", "scope", "project", "topic", "paths", "matcher", "meta")
_WITH_TARGET = ("scope", "project")  # belong to the target, which every amendment names


@dataclass(frozen=True)
class Wanted:
    """What is to be different; what is empty stays as it is."""

    text: str = ""
    to: str = ""
    reason: str = ""
    fields: dict[str, str] = field(default_factory=dict)  # of an improvement: title, impact, details, action


@dataclass(frozen=True)
class Amendment:
    """One change, whole: the preview is the write."""

    place: Place
    old: Learning
    new: Learning
    to: str
    plans: tuple[Plan, ...]
    findings: tuple[Finding, ...] = ()
    reason: str = ""
    meta: dict[str, Any] = field(default_factory=dict)

    @property
    def diff(self) -> str:
        return shown(self.place, self.plans)


def find(sitting: Sitting, prefix: str) -> Learning:
    """A rule in force that holds here."""
    try:
        return in_force_here(sitting, prefix)
    except ReflectError as error:
        hint = "see what is in force with 'reflect-git rules --all'" if error.code == "unknown-id" else error.hint
        raise ReflectError(error.message, hint, error.code) from None


def amend(sitting: Sitting, old: Learning, wanted: Wanted) -> Amendment:
    """The exact change, and everything that stands against it. Nothing is written."""
    text, mended = inert(wanted.text or old["text"])
    if not text:
        raise ReflectError("there is no text left", "give one with --text TEXT", "usage")
    place = target_of(old)
    around = places.surroundings(sitting.place, wanted.to)
    target = targets.resolve(wanted.to, around, old["id"], old["title"]) if wanted.to else place
    new = _reworded(sitting, old, text, target, wanted)
    if _substance(new) == _substance(old):
        raise ReflectError(f"'{old['id']}' says that already, and there", "give --text or --to", code="unchanged")
    before = live.read(sitting.place.path_of(target))
    try:
        made = _plans(sitting, old, new, place, target, before)
    except ReflectError as error:
        raise with_way_out(sitting, (old,), error) from None
    links.require_single_names(sitting.place, made)
    others = sitting if place.form != "improvements" else _without(sitting, place.path)
    found = findings_on(others, text, new["trust"], target, before, mended, (old["id"],))
    linked = links.in_the_way(sitting.store, sitting.place, made)
    asked = question_in(text) if text != old["text"] else []
    against = (*asked, *secret_fields(new), *linked, *found)
    return Amendment(sitting.place, old, new, wanted.to or place.kind, made, against, wanted.reason)


def _without(sitting: Sitting, path: str) -> Sitting:
    """The fields of an improvement say its text again, and only its heading stands right below its id."""
    return sitting._replace(said=[one for one in sitting.said if one.file != path])


def move(sitting: Sitting, old: Learning, section: str) -> Amendment:
    """An improvement into Applied or Deferred, or back to Pending."""
    target = target_of(old)
    if target.form != "improvements":
        raise ReflectError(f"'{old['id']}' is a rule and no improvement", "see 'reflect-git improvements'", "usage")
    before = live.read(sitting.place.path_of(target))
    try:
        plan = plans.move(target, _there(target, before), old["id"], section)
    except ReflectError as error:
        raise with_way_out(sitting, (old,), error) from None
    if plan.after == plan.before:
        raise ReflectError(f"'{old['id']}' is {section.lower()} already", code="unchanged")
    links.require_single_names(sitting.place, [plan])
    return Amendment(sitting.place, old, old, target.kind, (plan,), meta={"section": section})


def _reworded(sitting: Sitting, old: Learning, text: str, target: Target, wanted: Wanted) -> Learning:
    fields = wanted.fields
    scope = "global" if target.is_global else "project"
    changes: dict[str, Any] = {
        "text": text, "target": {"kind": target.kind, "path": target.path}, "scope": scope,
        "project": (old["project"] or sitting.place.project) if scope == "project" else None,
        "title": fields.get("title") or (old["title"] if text == old["text"] else memory.title(text)),
        "matcher": old["matcher"] if text == old["text"] else matcher_in(text),
        "topic": topic_of(wanted.to, target) if wanted.to else old["topic"],
        "paths": old["paths"] if target.form == "rules" else [],
    }  # fmt: skip
    if target.form == "improvements":
        changes["meta"] = {**old["meta"], "improvement": _fields(old, changes["title"], text, fields)}
    return cast("Learning", {**old, **changes})


def _fields(old: Learning, title: str, text: str, given: dict[str, str]) -> dict[str, str]:
    """Return the fields of an improvement: as given, else as they were, else what is known of a rule."""
    details = old["text"] if old["text"] != text else ""
    kept = old["meta"].get("improvement") or {
        "impact": "Medium", **say_once(title, text, details, text), "confidence": "Verified (it was a rule before)",
    }  # fmt: skip
    return {name: given.get(name) or str(kept.get(name, "")) for name in ("impact", "details", "action", "confidence")}


def _substance(learning: Learning) -> tuple[Any, ...]:
    fields = learning["meta"].get("improvement") if target_of(learning).form == "improvements" else None
    return learning["text"], learning["target"], learning["title"] if fields else "", fields


def _plans(
    sitting: Sitting, old: Learning, new: Learning, place: Target, target: Target, before: bytes | None
) -> tuple[Plan, ...]:
    """In its place; or first into the new file and then out of the old one, so that it is never in neither."""
    if (place.kind, place.path) != (target.kind, target.path):
        if not target.is_global:
            places.require_wanted(sitting.store, sitting.place)
        left = live.read(sitting.place.path_of(place))
        return plans.add(target, before, item_of(new)), plans.remove(place, left, item_of(old))
    return (plans.replace(target, _there(target, before), item_of(old), item_of(new)),)


def _there(target: Target, data: bytes | None) -> bytes:
    if data is None:
        raise ReflectError(f"there is no '{target.path}' here", "is this the right branch?", code="missing")
    return data


def carry_out(sitting: Sitting, amendment: Amendment, by: By, basis: Mapping[str, str] | None = None) -> Approved:
    """Write what was shown. `basis`: the recorded answer that it rests on, if it rests on one."""
    require_unrefused(amendment.findings)
    new = amendment.new
    said = also(sitting.scan.others[new["id"]], amendment.old, new)
    after = [made["id"] for made in sitting.scan.history.last_amendments(new["id"])]
    meta = {"after": after, **({"learning": said} if said else {}), **amendment.meta}
    meta |= {"from": amendment.old["target"]} if new["target"] != amendment.old["target"] else {}
    meta |= {"answer": dict(basis)} if basis else {}
    made = memory.decision(
        sitting.store, "amended", new["id"], by, utc_precise(), text=new["text"], target=new["target"],
        reason=amendment.reason, meta=meta,
    )  # fmt: skip
    message = message_of(sitting, "amend", new, [made], by)
    taken = [_step(amendment, one) for one in amendment.plans]
    return write(sitting, new["id"], taken, [made], message, amendment.findings)


def also(record: Mapping[str, Any], before: Learning, after: Learning) -> dict[str, Any]:
    """All that it says beside text and target, whole: an earlier amendment may be taken back from under it."""
    new, old = cast("Mapping[str, Any]", after), cast("Mapping[str, Any]", before)
    changed = {name for name in _ALSO if not new[name] == old[name] == record[name]}
    return {name: new[name] for name in _ALSO if name in changed or name in _WITH_TARGET}


def _step(amendment: Amendment, plan: Plan) -> Step:
    if plan.kind in ("add", "remove"):
        return steps([plan])[0]
    return Step(plan) if plan.kind == "move" else reworded(plan, amendment.old["text"], amendment.new["text"])
