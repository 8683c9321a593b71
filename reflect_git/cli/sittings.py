"""What the verbs of a review share: the sitting, who decides, and how a change is shown."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import click

from reflect_git import workflow
from reflect_git.cli.front import Front, printable
from reflect_git.errors import ReflectError
from reflect_git.model.schema import SWITCHING_KINDS
from reflect_git.review.candidate import NOTHING
from reflect_git.sitting import authority, review
from reflect_git.sitting.authority import Wish
from reflect_git.sitting.review import Sitting
from reflect_git.store import answers

if TYPE_CHECKING:
    from collections.abc import Iterable

    from reflect_git.model.schema import By
    from reflect_git.review.risks import Finding
    from reflect_git.sitting.amend import Amendment
    from reflect_git.sitting.approve import Proposal
    from reflect_git.sitting.writing import Approved

_OF_PROJECTS = ("project", "improvements")
_PATIENCE = 2.0  # the last hook of a session takes 1.5 s for 10 MB
_COLOURS = {"+": "green", "-": "red", "@": "cyan"}


def sitting(
    front: Front, project: str | None = None, everything: bool = False, *, writes: bool = False
) -> Sitting:  # fmt: skip
    """What waits here, the session that runs right now included. No store is made for it: in a new one nothing does.

    Who `writes` carries out first what was decided already: on this machine while the project was not here, or on other
    own machines, where the person wants that without a question.
    """
    store = front.caught_up(front.store(create=False), _PATIENCE)
    folder = os.path.abspath(project or here())
    sat = review.sit(store, front.env, front.scan(store), folder, everything)
    if writes:
        for settle in (_settle_own, _settle_arrived):
            if settle(front, sat):
                sat = review.sit(store, front.env, front.scan(store), folder, everything)
    return sat


def sitting_if_any(
    front: Front, project: str | None, everything: bool = False, *, writes: bool = False
) -> Sitting | None:  # fmt: skip
    """The same for who only looks: None where there is no store."""
    try:
        return sitting(front, project, everything, writes=writes)
    except ReflectError as error:
        if error.code != "no-store":
            raise
        return None


def _settle_own(front: Front, sat: Sitting) -> bool:
    """Most of the time nothing waits to be carried out, and what it takes to do so stays away."""
    if not any(made["meta"].get("waits") for made in sat.scan.history.decisions):
        return False
    from reflect_git.sitting import waiting

    done = waiting.settle_own(sat)
    if done is not None:
        front.talk(printable(f"carried out what was decided before: {_files(done)}, commit {done.commit[:10]}"))
    return done is not None


def _settle_arrived(front: Front, sat: Sitting) -> bool:
    """Inside Claude Code everything waits for a person's answer."""
    if sat.store.setting("reflect.sync.apply") != "auto" or authority.is_inside_client(front.env):
        return False
    from reflect_git.sitting import unasked

    done = unasked.settle_arrived(sat, workflow.author(sat.store, unasked.ROAD))
    if done is not None:
        front.talk(printable(f"took over what was decided on your other machines: {_files(done)}"))
        front.talk(f"commit {done.commit[:10]}, take it back with: reflect-git revert {done.commit[:10]}")
    return done is not None


def _files(done: Approved) -> str:
    return ", ".join(f"'{name}'" for name in (done.target, *done.others))


def sitting_with(front: Front, project: str | None, identity: str, *, writes: bool = False) -> Sitting:
    """What waits here if that is among it, else what waits anywhere: a group is named and worded as it was shown."""
    sat = sitting(front, project, writes=writes)
    try:
        sat.find(identity)
    except ReflectError as error:
        if error.code != "no-candidate":
            raise
        return review.sit(sat.store, front.env, sat.scan, os.path.abspath(project or here()), everything=True)
    return sat


def way_back(road: str, commit: str) -> str:
    """`undo` takes back what a person decided last, and passes over what a script did since."""
    return f"to take it back: reflect-git {f'revert {commit[:10]}' if road == 'unattended' else 'undo'}"


def say_nothing(front: Front, why: str) -> None:
    """Nothing is to be answered; but what was said last may not be read yet."""
    front.tell(why)
    if front.unread:
        front.talk(front.unread)


def say_nothing_yet(front: Front) -> None:
    """Nothing waits where there is no store."""
    if front.json:
        front.data([])
        return
    front.tell(NOTHING)
    front.say_no_store()


def here() -> str:
    try:
        return os.getcwd()
    except FileNotFoundError:  # deleted under our feet
        return os.sep


def approver(front: Front, sat: Sitting, wish: Wish) -> tuple[By, str]:
    """Who approves this text for this target, and the answer it rests on; refused if nobody does."""
    decisions = sat.scan.history.decisions
    if wish.to in _OF_PROJECTS:
        wish = wish._replace(projects=tuple(sat.place.keys))
    road, answer = authority.road_for(sat.store, front.env, front.at_terminal and not front.no_input, decisions, wish)
    by = workflow.author(sat.store, road)
    if not by["name"]:
        _say_nameless(front, sat)
    return by, answer


def _say_nameless(front: Front, sat: Sitting) -> None:
    """Once, before this machine's first decision that nobody's name stands under."""
    mine = (made for made in sat.scan.history.decisions if made["machine"] == sat.store.machine)
    if not front.json and not any(made["kind"] not in SWITCHING_KINDS and not made["by"]["name"] for made in mine):
        for line in (authority.NAMELESS, authority.GIVE_A_NAME):
            front.talk(click.style(f"hint: {line}", fg="yellow"))


def used(answer: str, subject: str) -> dict[str, str]:
    """An answer counts once. Returns where it was given; nothing where there is none."""
    return answers.use(answer, subject) if answer else {}


def preview(front: Front, sat: Sitting, learning: str | None, change: Proposal | Amendment) -> None:
    """What would be written, and that it was not."""
    if front.json:
        from reflect_git.sitting.writing import Approved, labels  # who only looks at what waits does without

        target, *others = labels(sat.place, change.plans) or [""]
        warnings = [found.message for found in change.findings]
        would = Approved("", "", "", target, change.diff, warnings, tuple(others))
        front.data({**vars(would), "learning": learning, "commit": None, "backup": None})
        return
    show_diff(front, change.diff)
    for found in change.findings:
        front.talk(printable(f"{found.kind}: {found.message}"))


def advise(front: Front, sat: Sitting, path: str) -> None:
    """What is left to do about a file of the project that was changed."""
    from reflect_git.sitting import committing  # who only looks at what waits does without

    told = committing.advice(sat, path, front.env, here())
    if told:
        front.talk(printable(told))


def require_typed_yes(front: Front, findings: Iterable[Finding], diff: str) -> bool:
    """What is risky is never approved by a key, a flag or in bulk, and not before the change was seen. Whether it was
    shown for that."""
    risks = [found for found in findings if found.kind == "risk"]
    if not risks or front.env.get("CLAUDECODE"):  # there the person saw the warnings with the question
        return False
    is_asked = front.at_terminal and not front.no_input
    if is_asked and not front.json:
        show_diff(front, diff)
    for found in risks:
        front.talk(click.style(f"risk: {printable(found.message)}", fg="red", bold=True))
    if not is_asked:
        raise ReflectError("a risk needs a person's typed yes", "run it in a terminal", code="approval")
    if click.prompt("type 'yes' to approve it all the same", default="no", err=True) != "yes":
        raise ReflectError("nothing was changed", code="declined")
    return True


def show_diff(front: Front, diff: str) -> None:
    for line in diff.splitlines():
        front.out(click.style(printable(line), fg=_COLOURS.get(line[:1])))
