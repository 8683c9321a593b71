"""A person's answer to what differs: put it back, make it so for good, or leave it so in this work tree."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, cast

from reflect_git.adapters import live
from reflect_git.apply import drift as findings
from reflect_git.apply import finding, improvements, rulesfile, targets
from reflect_git.apply import plan as plans
from reflect_git.apply.inert import inert
from reflect_git.apply.plan import Plan
from reflect_git.apply.targets import AGENTS_IMPORT, Target
from reflect_git.errors import ReflectError
from reflect_git.model.ids import utc_precise
from reflect_git.review.matcher import matcher_in
from reflect_git.sitting import amend, links
from reflect_git.sitting.amend import Amendment
from reflect_git.sitting.approve import item_of, target_of
from reflect_git.sitting.authors import CLAUDE
from reflect_git.sitting.drift import RETURNED, Difference, Page
from reflect_git.sitting.gating import findings_on, secret_fields
from reflect_git.sitting.news import news_for
from reflect_git.sitting.writing import Approved, Step, message_of, write
from reflect_git.store import memory

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reflect_git.model.schema import By, Decision, Learning
    from reflect_git.sitting.passages import Passage
    from reflect_git.sitting.review import Sitting


def put_back(sitting: Sitting, one: Difference) -> Plan:
    """The file with the approved text in it, or without what was taken back; refused if it has hard links."""
    plan = _put_back(sitting, one)
    links.require_single_names(sitting.place, [plan])
    return plan


def _put_back(sitting: Sitting, one: Difference) -> Plan:
    page, item = one.page, item_of(one.learning)
    if one.found.kind == RETURNED:
        return plans.remove(page.target, page.data, item, force=True)
    times = _times(page, one.learning["id"])
    if page.data is None or not times:
        added = plans.add(_opened(page), page.data, item)
        return _in_its_section(sitting, one.learning, added)
    if times == 1:
        return plans.replace(page.target, page.data, item, item, force=True)
    without = plans.remove(page.target, page.data, item, force=True)
    whole = plans.add(page.target, without.after, item)._replace(before=page.data, kind="replace")
    plans.check(whole)
    return whole


def _times(page: Page, identity: str) -> int:
    """How often the entry is there, with or without its words."""
    if page.target.form == "improvements":
        return sum(found.id == identity for found in improvements.find(page.data))
    if page.target.form == "rules":
        live_rule = rulesfile.parse(page.data or b"")
        return int(bool(live_rule and live_rule.id == identity))
    block = finding.find(page.data)
    return sum(entry.id == identity for entry in block.entries) if block else 0


def _opened(page: Page) -> Target:
    """A CLAUDE.md that is made anew begins with the AGENTS.md beside it, which Claude Code would not read any more."""
    beside = os.path.join(os.path.dirname(page.path), targets.AGENTS_FILE)
    hides = page.data is None and page.target.kind in ("project", "dir") and os.path.lexists(beside)
    return page.target._replace(opening=AGENTS_IMPORT) if hides else page.target


def _in_its_section(sitting: Sitting, learning: Learning, added: Plan) -> Plan:
    """An improvement that was applied or deferred comes back as such."""
    sections = [
        made["meta"].get("section") for made in sitting.scan.history.decisions if made["subject"] == learning["id"]
    ]
    section = next((one for one in reversed(sections) if one in improvements.SECTIONS), "")
    if added.target.form != "improvements" or not section or added.after is None:
        return added
    return plans.move(added.target, added.after, learning["id"], section)._replace(before=added.before, kind="add")


def carry_back(sitting: Sitting, one: Difference, plan: Plan, by: By) -> Approved:
    """Write the plan that was shown. The rule says what it said: no new learning, one `applied` decision."""
    require_standing(sitting, one)
    made = _decision(sitting, "applied", one, by, text=one.learning["text"])
    made["meta"].update(_taken(sitting, one))
    verb = "revert" if one.found.kind == RETURNED else "apply"
    message = message_of(sitting, verb, one.learning, [made], by)
    return write(sitting, one.learning["id"], [Step(plan)], [made], message)


def _taken(sitting: Sitting, one: Difference) -> dict[str, str]:
    """The words that were put back may be those of another machine: they are taken over then, and not asked again."""
    news = news_for(sitting.place, sitting.scan.history, sitting.store.machine).get(one.learning["id"])
    return {"of": news["id"]} if news else {}


def for_good(sitting: Sitting, one: Difference) -> Amendment:
    """The rule as the file has it now; the file changes only where it could not stay as it is."""
    page, old = one.page, one.learning
    new, mended = _as_it_reads(one)
    item = item_of(new)
    stays = not any(found.id == old["id"] for found in findings.of_file(page.target.form, page.data, [item]))
    data = page.data or b""
    plan = (
        Plan(page.target, data, data, old["id"], "replace")
        if stays
        else plans.replace(page.target, data, item_of(old), item, force=True)
    )
    links.require_single_names(sitting.place, [plan])
    # Where an entry is more than a line below its id, its own file would be said to say it already.
    own = "" if page.target.form == "block" else sitting.place.label(page.path)
    said = [statement for statement in sitting.said if statement.file != own]
    trust = "assistant" if one.author == CLAUDE else new["trust"]
    found = findings_on(sitting._replace(said=said), new["text"], trust, page.target, data, mended, (old["id"],))
    linked = links.in_the_way(sitting.store, sitting.place, [plan])
    against = (*secret_fields(new, "take it out of the file"), *linked, *found)
    return Amendment(sitting.place, old, new, page.target.kind, (plan,), against, meta=_facts(one))


def may_be_for_good(one: Difference) -> bool:
    """Not what was taken back, which `revert` brings back, nor what stands there twice."""
    if one.found.kind == RETURNED:
        return False
    return one.found.kind == "missing" or _times(one.page, one.learning["id"]) == 1


def carry_on(sitting: Sitting, one: Difference, amendment: Amendment, by: By) -> Approved:
    """From now on the rule reads so: one `amended` decision."""
    require_standing(sitting, one)
    return amend.carry_out(sitting, amendment, by)


def withdraw(sitting: Sitting, one: Difference, by: By) -> Approved:
    """What is gone from the file is taken back for good: one `reverted` decision, no file is touched."""
    require_standing(sitting, one)
    made = _decision(sitting, "reverted", one, by, reopens=one.learning["decision"])
    message = message_of(sitting, "revert", one.learning, [made], by)
    plan = Plan(one.page.target, one.page.data, one.page.data, one.learning["id"], "remove")
    return write(sitting, one.learning["id"], [Step(plan)], [made], message)


def take_back(sitting: Sitting, passage: Passage, by: By) -> Approved:
    """What Claude wrote by itself, out of the file again: one `reverted` decision about the file."""
    page, call, plan = passage.page, passage.call, passage.plan
    if plan is None:
        raise ReflectError(
            f"what Claude wrote into '{page.target.path}' was changed since", "edit the file", code="changed"
        )
    _require_unchanged(page)
    target = page.target
    made = memory.decision(
        sitting.store, "reverted", target.path, by, utc_precise(), target={"kind": target.kind, "path": target.path},
        meta={"drift": "written", "author": CLAUDE, "session": call.session},
    )  # fmt: skip
    project = sitting.place.project
    trailers = [
        ("Decision", made["id"]), ("Target", target.path),
        *([("Project", project["key"])] if project and not target.is_global else []),
        ("Session", call.session), ("Machine", sitting.store.machine), ("Approved-By", by["road"]),
        ("Backup", "{backup}"),
    ]  # fmt: skip
    lines = "".join(f"{name}: {' '.join(value.split())}\n" for name, value in trailers)
    message = f"revert: {memory.title(f'what Claude wrote into {target.path}')}\n\n{lines}"
    return write(sitting, made["id"], [Step(plan)], [made], message)


def require_standing(sitting: Sitting, one: Difference) -> None:
    """Is everything still as it was shown?"""
    if sitting.scan.history.learnings.get(one.learning["id"]) != one.learning:
        raise ReflectError(f"'{one.learning['id']}' was changed elsewhere meanwhile", "look again", code="changed")
    _require_unchanged(one.page)


def _require_unchanged(page: Page) -> None:
    if live.read(page.path) != page.data:
        raise live.Changed(page.path)


def _facts(one: Difference) -> dict[str, Any]:
    """How it came to this decision; the words in the file are no part of it."""
    session = {"session": one.call.session} if one.call else {}
    return {"drift": one.found.kind, "author": one.author, **session}


def _decision(
    sitting: Sitting, kind: str, one: Difference, by: By, text: str | None = None, reopens: str | None = None
) -> Decision:
    return memory.decision(
        sitting.store, kind, one.learning["id"], by, utc_precise(), text=text, target=one.learning["target"],
        reopens=reopens, meta=_facts(one),
    )  # fmt: skip


def _as_it_reads(one: Difference) -> tuple[Learning, Sequence[str]]:
    """The learning with what stands in the file now, and what had to be mended of it."""
    page, old = one.page, one.learning
    if page.target.form == "improvements":
        return cast("Learning", {**old, **_improvement(page, old)}), ()
    text, mended = inert(one.found.live)
    if not text:
        raise ReflectError("there is no text left", "put it back, or take the rule back", "usage")
    changes: dict[str, Any] = {"text": text}
    if text != old["text"]:
        changes.update(title=memory.title(text), matcher=matcher_in(text))
    rule = rulesfile.parse(page.data or b"") if page.target.form == "rules" else None
    if rule is not None:
        changes["paths"] = list(rule.paths)
    return cast("Learning", {**old, **changes}), mended


def _improvement(page: Page, old: Learning) -> dict[str, Any]:
    """Title and fields of a proposal as they stand in the file."""
    (found,) = [one for one in improvements.find(page.data) if one.id == old["id"]]
    fields = findings.fields_of(found)
    kept = dict(old["meta"].get("improvement") or {})
    kept.update({name: fields[name] for name in kept if name in fields})
    new = {"title": fields.get("title") or old["title"], "meta": {**old["meta"], "improvement": kept}}
    if not improvements.same(found, cast("Any", item_of(cast("Learning", {**old, **new})))):
        raise ReflectError(
            f"'{target_of(old).path}' has more or other fields of '{old['id']}' than can be kept",
            "title, impact, details, suggested action and confidence can be changed", code="usage",
        )  # fmt: skip
    return new
