"""What `revert` and `undo` share: show what would be taken back, ask who may, carry it out, and say so."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from reflect_git import workflow
from reflect_git.cli.front import Front, printable
from reflect_git.cli.sittings import advise, approver, require_typed_yes, show_diff, used, way_back
from reflect_git.errors import ReflectError
from reflect_git.sitting import elsewhere, learnings_index, links, revert
from reflect_git.sitting.ask import wish_about_broken
from reflect_git.sitting.authority import is_inside_client
from reflect_git.sitting.recurring import find_broken

if TYPE_CHECKING:
    from reflect_git.model.schema import By
    from reflect_git.review.risks import Finding
    from reflect_git.sitting.revert import Chosen, Reversal, Wanted
    from reflect_git.sitting.review import Sitting
    from reflect_git.sitting.writing import Approved


def settle(
    front: Front, sat: Sitting, chosen: Chosen, wanted: Wanted, dry_run: bool, *, is_named: bool = True
) -> None:  # fmt: skip
    """`is_named`: the person said what is to be taken back, and not only that it is the last."""
    there = elsewhere.moved_to(sat, chosen.decisions)
    reversal = revert.propose(there, chosen, wanted)
    if dry_run:
        _preview(front, there, reversal)
        return
    by, basis = _approver(front, there, chosen)
    linked = links_of(there, reversal)
    is_shown = not is_named and _is_asked(front, sat, there, reversal)
    is_shown = require_typed_yes(front, linked, "" if is_shown else reversal.diff) or is_shown
    done = revert.carry_out(there, reversal, by, linked, basis)
    learnings_index.write(there.store, front.scan(there.store))
    _say(front, there, reversal, done, is_shown, by["road"])


def _is_asked(front: Front, sat: Sitting, there: Sitting, reversal: Reversal) -> bool:
    """Who stands in another project may have forgotten what was decided last. Whether the change was shown for that."""
    at_terminal = front.at_terminal and not front.no_input
    paths = [step.plan.path for step in reversal.steps if not step.plan.target.is_global]
    if not paths or there.place.root == sat.place.root or front.yes or not at_terminal:
        return False
    if not front.json:
        show_diff(front, reversal.diff)
    files = ", ".join(f"'{path}'" for path in paths)
    where = sat.place.label(there.place.root)
    if not front.confirm(printable(f"take back {reversal.told} in {files} of another project, {where}?")):
        raise ReflectError("nothing was changed", code="declined")
    return not front.json


def links_of(sat: Sitting, reversal: Reversal) -> list[Finding]:
    """A file may have become a link since it was written."""
    return links.in_the_way(sat.store, sat.place, [step.plan for step in reversal.steps])


def _approver(front: Front, sat: Sitting, chosen: Chosen) -> tuple[By, dict[str, str]]:
    """Who takes it back, and the recorded answer that it rests on, if it rests on one.

    Inside Claude Code that is only a rule that was broken again, after a person answered that it is to be retired.
    """
    approvals = [made["subject"] for made in chosen.decisions if made["kind"] == "approved"]
    if is_inside_client(front.env) and len(approvals) == 1 and len(chosen.decisions) == 1:
        broken = next((one for one in find_broken(sat) if one.rule["id"] == approvals[0]), None)
        if broken:
            by, answer = approver(front, sat, wish_about_broken(sat, broken, "retire"))
            return by, used(answer, approvals[0])
    return person(front, sat), {}


def person(front: Front, sat: Sitting) -> By:
    """Who takes it back: words may come back into a file, so inside Claude Code nobody may."""
    if is_inside_client(front.env):
        raise ReflectError(
            "inside Claude Code nothing is taken back: that is a person's to do", "let them run it in a terminal",
            code="approval",
        )  # fmt: skip
    decisions = sat.scan.history.decisions
    at_terminal = front.at_terminal and not front.no_input
    road = workflow.require_approval(sat.store, front.env, at_terminal, decisions, "taking something back")
    return workflow.author(sat.store, road)


def _preview(front: Front, sat: Sitting, reversal: Reversal) -> None:
    if front.json:
        front.data(document(reversal, None, None, first_target(sat, reversal), reversal.diff))
        return
    show_diff(front, reversal.diff)
    for note in reversal.notes:
        front.talk(printable(note))
    if not reversal.steps:
        front.talk("no file would change")


def first_target(sat: Sitting, reversal: Reversal) -> str | None:
    """The file that would change, called as it is called when it did."""
    plans = [step.plan for step in reversal.steps if step.plan.before != step.plan.after]
    return sat.place.label_of(plans[0].target) if plans else None


def _say(front: Front, sat: Sitting, reversal: Reversal, done: Approved, is_shown: bool, road: str) -> None:
    if front.json:
        front.data(document(reversal, done.commit, done.backup or None, done.target or None, done.diff))
        return
    show_diff(front, "" if is_shown else done.diff)
    front.tell(printable(f"took back {reversal.told}{_where(sat, done)}, commit {done.commit[:10]}"))
    for note in reversal.notes:
        front.talk(printable(note))
    advise_of(front, sat, done)
    front.talk(way_back(road, done.commit))


def advise_of(front: Front, sat: Sitting, done: Approved) -> None:
    """What changed in the project is the person's to commit."""
    if done.target and not done.target.startswith(("/", "~")):
        advise(front, sat, done.target)


def advise_of_all(front: Front, written: Iterable[tuple[Sitting, Approved]]) -> None:
    """Each file once, though several rules left it."""
    for sat, done in {(sat.place.root, done.target): (sat, done) for sat, done in written}.values():
        advise_of(front, sat, done)


def _where(sat: Sitting, done: Approved) -> str:
    if not done.target:
        return ""
    in_project = sat.place.project if not done.target.startswith(("/", "~")) else None
    return f" in '{done.target}'" + (f" of {in_project['name']}" if in_project else "")


def document(
    reversal: Reversal, commit: str | None, backup: str | None, target: str | None, diff: str
) -> dict[str, Any]:
    return {
        "commit": commit, "target": target, "diff": diff, "backup": backup, "learnings": reversal.learnings,
        "decisions": [made["id"] for made in reversal.made] if commit else [], "reverts": reversal.reverts,
        "notes": list(reversal.notes),
    }  # fmt: skip
