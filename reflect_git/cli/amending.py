"""What `edit` and `improvements` share: show an amendment, ask who may, carry it out, and say so."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from reflect_git.cli.front import Front, printable
from reflect_git.cli.sittings import advise, approver, preview, require_typed_yes, show_diff, used, way_back
from reflect_git.sitting import amend, learnings_index
from reflect_git.sitting.ask import wish_to_amend
from reflect_git.sitting.writing import require_unrefused

if TYPE_CHECKING:
    from reflect_git.sitting.amend import Amendment
    from reflect_git.sitting.review import Sitting
    from reflect_git.sitting.writing import Approved


def settle(front: Front, sat: Sitting, amendment: Amendment, dry_run: bool) -> None:
    """With the gate and the authority of an approval."""
    if dry_run:
        preview(front, sat, amendment.new["id"], amendment)
        return
    require_unrefused(amendment.findings)
    new = amendment.new
    by, answer = approver(front, sat, wish_to_amend(sat, amendment))
    is_shown = require_typed_yes(front, amendment.findings, amendment.diff)
    done = amend.carry_out(sat, amendment, by, used(answer, new["id"]))
    learnings_index.write(sat.store, front.scan(sat.store))
    _say(front, sat, amendment, done, is_shown, by["road"])


def _say(front: Front, sat: Sitting, amendment: Amendment, done: Approved, is_shown: bool, road: str) -> None:
    if front.json:
        front.data(asdict(done))
        return
    show_diff(front, "" if is_shown else done.diff)
    front.tell(printable(f"amended {done.learning} in '{done.target}', commit {done.commit[:10]}"))
    for plan in amendment.plans:
        if not plan.target.is_global:
            advise(front, sat, plan.path)
    front.talk(way_back(road, done.commit))
