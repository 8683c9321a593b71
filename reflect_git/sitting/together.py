"""Several candidates answered at once: each is planned upon what the ones before it leave, so that what is shown is
what is written."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from reflect_git.apply import plan as plans
from reflect_git.review.baseline import Statement
from reflect_git.sitting.approve import Proposal, Request, item_of, propose

if TYPE_CHECKING:
    from reflect_git.apply.plan import Plan
    from reflect_git.sitting.review import Sitting


def propose_after(sitting: Sitting, request: Request, earlier: Sequence[Proposal]) -> Proposal:
    """As if the earlier ones were in force and in their files already."""
    said = [Statement(one.plans[0].path, 0, one.learning["text"], one.learning["id"]) for one in earlier]
    made = propose(sitting._replace(said=[*said, *sitting.said]), request)
    return made._replace(plans=(_upon(made, earlier),)) if len(made.plans) == 1 else made


def _upon(made: Proposal, earlier: Sequence[Proposal]) -> Plan:
    (plan,) = made.plans
    same = [one.plans[0] for one in earlier if _place(one.plans[0]) == _place(plan)]
    return plans.add(plan.target, same[-1].after, item_of(made.learning)) if same else plan


def _place(plan: Plan) -> tuple[bool, str]:
    return plan.target.is_global, plan.path
