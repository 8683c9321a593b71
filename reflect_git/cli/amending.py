"""What `edit` and `improvements` share: show an amendment, ask who may, carry it out, and say so."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from reflect_git.cli.front import Front, printable
from reflect_git.cli.sittings import approver, require_typed_yes, show_diff, used
from reflect_git.sitting import amend, index
from reflect_git.sitting.authority import Wish

if TYPE_CHECKING:
    from reflect_git.sitting.amend import Amendment
    from reflect_git.sitting.approve import Approved
    from reflect_git.sitting.review import Sitting


def settle(front: Front, sat: Sitting, amendment: Amendment, dry_run: bool) -> None:
    """With the gate and the authority of an approval."""
    if dry_run:
        _preview(front, amendment)
        return
    amend.require_unrefused(amendment)
    new = amendment.new
    by, answer = approver(front, sat, Wish(new["id"], new["text"], amendment.to))
    require_typed_yes(front, amendment)
    used(answer, new["id"])
    done = amend.carry_out(sat, amendment, by)
    index.write(sat.store, front.scan(sat.store))
    _say(front, amendment, done)


def _preview(front: Front, amendment: Amendment) -> None:
    if front.json:
        front.data({
            "learning": amendment.new["id"], "commit": None, "backup": None, "target": amendment.plans[0].path,
            "diff": amendment.diff, "warnings": [found.message for found in amendment.findings],
        })  # fmt: skip
        return
    show_diff(front, amendment.diff)
    for found in amendment.findings:
        front.talk(printable(f"{found.kind}: {found.message}"))


def _say(front: Front, amendment: Amendment, done: Approved) -> None:
    if front.json:
        front.data(asdict(done))
        return
    show_diff(front, done.diff)
    front.out(printable(f"amended {done.learning} in '{done.target}', commit {done.commit[:10]}"))
    for plan in amendment.plans:
        if not plan.target.is_global:
            front.talk(printable(f"{plan.path} changed in your project; commit it with your work"))
