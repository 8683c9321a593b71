"""Open the store and the queue for a command, find the approver, and show changes."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import click

from reflect_git.candidates.candidate import NOTHING
from reflect_git.capture import service
from reflect_git.cli.context import Front, printable
from reflect_git.errors import ReflectError
from reflect_git.records.schema import SWITCHING_KINDS
from reflect_git.rules import approver
from reflect_git.rules.approver import Wish
from reflect_git.rules.context import Context, load_context
from reflect_git.rules.queue import Queue, load_queue
from reflect_git.store import asked_questions

if TYPE_CHECKING:
    from collections.abc import Iterable

    from reflect_git.candidates.gate import Finding
    from reflect_git.records.schema import By
    from reflect_git.rules.amend import Amendment
    from reflect_git.rules.approve import Proposal
    from reflect_git.rules.write_change import Approved
    from reflect_git.store.repository import Store

_OF_PROJECTS = ("project", "improvements")
_PATIENCE = 2.0  # the last hook of a session takes 1.5 s for 10 MB
_COLOURS = {"+": "green", "-": "red", "@": "cyan"}


def open_context(front: Front, project: str | None = None, *, writes: bool = False) -> Context:
    """Open the store and the project. Read no transcripts and load no proposed rules.

    With `writes`, first carry out what was decided while the project was not here, or on other own machines if the
    person wants that without a question.
    """
    return _open(front, front.store(create=False), project, writes)


def _open(front: Front, store: Store, project: str | None, writes: bool) -> Context:
    folder = os.path.abspath(project or here())
    ctx = load_context(store, front.env, front.scan(store), folder)
    if writes:
        for settle in (_settle_own, _settle_arrived):
            if settle(front, ctx):
                ctx = load_context(store, front.env, front.scan(store), folder)
    return ctx


def open_queue(
    front: Front, project: str | None = None, everything: bool = False, *, writes: bool = False
) -> Queue:  # fmt: skip
    """Mine the sessions that run right now, then load the proposed rules. Never create a store."""
    store = front.caught_up(front.store(create=False), _PATIENCE)
    return load_queue(_open(front, store, project, writes), everything)


def open_queue_if_any(
    front: Front, project: str | None, everything: bool = False, *, writes: bool = False
) -> Queue | None:  # fmt: skip
    """Load the proposed rules; return None if no store exists."""
    try:
        return open_queue(front, project, everything, writes=writes)
    except ReflectError as error:
        if error.code != "no-store":
            raise
        return None


def _settle_own(front: Front, ctx: Context) -> bool:
    """Apply this machine's own postponed decisions. Usually there are no such decisions, and no module is loaded."""
    if not any(made["meta"].get("waits") for made in ctx.scan.history.decisions):
        return False
    from reflect_git.rules import arrivals

    done = arrivals.settle_own(ctx)
    if done is not None:
        front.talk(printable(f"carried out what was decided before: {_files(done)}, commit {done.commit[:10]}"))
    return done is not None


def _settle_arrived(front: Front, ctx: Context) -> bool:
    """Apply decisions of other machines if that is switched on; never inside Claude Code."""
    if ctx.store.setting("reflect.sync.apply") != "auto" or approver.is_inside_client(front.env):
        return False
    from reflect_git.rules import arrivals

    done = arrivals.settle_arrived(ctx, service.author(ctx.store, arrivals.ROAD))
    if done is not None:
        front.talk(printable(f"took over what was decided on your other machines: {_files(done)}"))
        front.talk(f"commit {done.commit[:10]}, take it back with: reflect-git revert {done.commit[:10]}")
    return done is not None


def _files(done: Approved) -> str:
    return ", ".join(f"'{name}'" for name in (done.target, *done.others))


def open_queue_with(front: Front, project: str | None, identity: str, *, writes: bool = False) -> Queue:
    """Load the proposed rules of the project, or of all projects if the id is not among them.

    A group is named and worded as it was shown there.
    """
    queue = open_queue(front, project, writes=writes)
    try:
        queue.find(identity)
    except ReflectError as error:
        if error.code != "no-candidate":
            raise
        return load_queue(queue, everything=True)
    return queue


def way_back(road: str, commit: str) -> str:
    """Return the undo hint. `undo` skips what a script decided, so that needs `revert`."""
    return f"to take it back: reflect-git {f'revert {commit[:10]}' if road == 'unattended' else 'undo'}"


def say_nothing(front: Front, why: str) -> None:
    """Say why there is nothing to review, and if the last messages are still being read."""
    front.tell(why)
    if front.unread:
        front.talk(front.unread)


def say_nothing_yet(front: Front) -> None:
    """Say that there is nothing to review because no store exists."""
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


def find_approver(front: Front, ctx: Context, wish: Wish) -> tuple[By, str]:
    """Return who approves this text for this target, and the recorded answer; raise if nobody does."""
    decisions = ctx.scan.history.decisions
    if wish.to in _OF_PROJECTS:
        wish = wish._replace(projects=tuple(ctx.place.keys))
    road, answer = approver.road_for(ctx.store, front.env, front.at_terminal and not front.no_input, decisions, wish)
    by = service.author(ctx.store, road)
    if not by["name"]:
        _say_nameless(front, ctx)
    return by, answer


def _say_nameless(front: Front, ctx: Context) -> None:
    """Hint once, before this machine's first decision without a name."""
    mine = (made for made in ctx.scan.history.decisions if made["machine"] == ctx.store.machine)
    if not front.json and not any(made["kind"] not in SWITCHING_KINDS and not made["by"]["name"] for made in mine):
        for line in (approver.NAMELESS, approver.GIVE_A_NAME):
            front.talk(click.style(f"hint: {line}", fg="yellow"))


def used(answer: str, subject: str) -> dict[str, str]:
    """Mark an answer as used, since it counts once; return where it was given."""
    return asked_questions.use_answer(answer, subject) if answer else {}


def preview(front: Front, ctx: Context, learning: str | None, change: Proposal | Amendment) -> None:
    """Show what would be written."""
    if front.json:
        from reflect_git.rules.write_change import Approved, labels  # who only looks at what waits does without

        target, *others = labels(ctx.place, change.plans) or [""]
        warnings = [found.message for found in change.findings]
        would = Approved("", "", "", target, change.diff, warnings, tuple(others))
        front.data({**vars(would), "learning": learning, "commit": None, "backup": None})
        return
    show_diff(front, change.diff)
    for found in change.findings:
        front.talk(printable(f"{found.kind}: {found.message}"))


def advise(front: Front, ctx: Context, path: str) -> None:
    """Tell how to commit a changed file of the project."""
    from reflect_git.rules import project_commits  # who only looks at what waits does without

    told = project_commits.advice(ctx, path, front.env, here())
    if told:
        front.talk(printable(told))


def require_typed_yes(front: Front, findings: Iterable[Finding], diff: str) -> bool:
    """Require a typed yes for a risky change, after showing it; return whether it was shown."""
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
