"""Open the store and the queue for a command, find the approver, and show changes."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import click

from reflect_git.candidates.candidate import NOTHING_MESSAGE
from reflect_git.capture import service
from reflect_git.cli.context import CliContext, get_cwd, printable
from reflect_git.errors import ReflectError
from reflect_git.records.schema import SETTING_KINDS
from reflect_git.rules import approver
from reflect_git.rules.approver import ApprovalRequest
from reflect_git.rules.automatic.limits import describe_cooldown
from reflect_git.rules.context import Context, load_context
from reflect_git.rules.derived_files import refresh_guards
from reflect_git.rules.queue import Queue, load_queue
from reflect_git.store.local import asked_questions, mod_state

if TYPE_CHECKING:
    from collections.abc import Iterable

    from reflect_git.candidates.gate import Finding
    from reflect_git.records.schema import DecisionAuthor, Learning
    from reflect_git.rules.amend import Amendment
    from reflect_git.rules.approve import Proposal
    from reflect_git.rules.write_change import WriteResult
    from reflect_git.store.repository import Store

_PROJECT_TARGETS = ("project", "improvements")
_MINING_WAIT = 2.0  # the last hook of a session takes 1.5 s for 10 MB
_COLOURS = {"+": "green", "-": "red", "@": "cyan"}


def open_context(cli: CliContext, project: str | None = None, *, writes: bool = False) -> Context:
    """Open the store and the project. Read no transcripts and load no proposed rules.

    With `writes`, first carry out what was decided while the project was not here, or on other own machines if the
    person wants that without a question.
    """
    return _open_context(cli, cli.open_store(create=False), project, writes)


def _open_context(cli: CliContext, store: Store, project: str | None, writes: bool) -> Context:
    folder = os.path.abspath(project or get_cwd())
    ctx = load_context(store, cli.env, cli.scan(store), folder)
    if writes:
        refresh_guards(store, cli.env, ctx.scan)  # a sync in the background may have brought a decision
        for settle in (_apply_kept_answers, _apply_own_decisions, _apply_arrived_decisions):
            if settle(cli, ctx):
                ctx = load_context(store, cli.env, cli.scan(store), folder)
    return ctx


def open_queue(
    cli: CliContext, project: str | None = None, everything: bool = False, *, writes: bool = False
) -> Queue:  # fmt: skip
    """Mine the sessions that run right now, then load the proposed rules. Never create a store."""
    store = cli.mine_live_sessions(cli.open_store(create=False), _MINING_WAIT)
    return load_queue(_open_context(cli, store, project, writes), everything)


def open_queue_if_any(
    cli: CliContext, project: str | None, everything: bool = False, *, writes: bool = False
) -> Queue | None:  # fmt: skip
    """Load the proposed rules; return None if no store exists."""
    try:
        return open_queue(cli, project, everything, writes=writes)
    except ReflectError as error:
        if error.code != "no-store":
            raise
        return None


def _apply_kept_answers(cli: CliContext, ctx: Context) -> bool:
    """Apply what was answered in /keep. Usually the plugin has done so, and no module is loaded."""
    if not mod_state.has_kept_answers(ctx.store.private):
        return False
    from reflect_git.rules import keep

    outcomes = keep.apply_answers(ctx.store, cli.env, lambda: cli.scan(ctx.store))
    for one in outcomes:
        cli.print_note(printable(f"from /keep: {one.problem or one.message}"))
    keep.refresh_files(ctx.store, cli.env, cli.scan(ctx.store), outcomes)
    return bool(outcomes)


def _apply_own_decisions(cli: CliContext, ctx: Context) -> bool:
    """Apply this machine's own postponed decisions. Usually there are no such decisions, and no module is loaded."""
    if not any(made["meta"].get("waits") for made in ctx.scan.history.decisions):
        return False
    from reflect_git.rules import arrivals

    done = arrivals.apply_own_decisions(ctx)
    if done is not None:
        cli.print_note(
            printable(f"carried out what was decided before: {_format_files(done)}, commit {done.commit[:10]}")
        )
    return done is not None


def _apply_arrived_decisions(cli: CliContext, ctx: Context) -> bool:
    """Apply decisions of other machines if that is switched on; never inside Claude Code."""
    if ctx.store.get_setting("reflect.sync.apply") != "auto" or approver.is_inside_client(cli.env):
        return False
    from reflect_git.rules import arrivals

    done = arrivals.apply_safe_arrivals(ctx, service.get_author(ctx.store, arrivals.CHANNEL))
    if done is not None:
        cli.print_note(printable(f"took over what was decided on your other machines: {_format_files(done)}"))
        cli.print_note(f"commit {done.commit[:10]}, take it back with: reflect-git revert {done.commit[:10]}")
    return done is not None


def _format_files(done: WriteResult) -> str:
    return ", ".join(f"'{name}'" for name in (done.target, *done.others))


def open_queue_with(cli: CliContext, project: str | None, record_id: str, *, writes: bool = False) -> Queue:
    """Load the proposed rules of the project, or of all projects if the id is not among them.

    A group is named and worded as it was shown there.
    """
    queue = open_queue(cli, project, writes=writes)
    try:
        queue.find_candidate(record_id)
    except ReflectError as error:
        if error.code != "no-candidate":
            raise
        return load_queue(queue, everything=True)
    return queue


def format_undo_hint(channel: str, commit: str) -> str:
    """Return the undo hint. `undo` skips what a script decided, so that needs `revert`."""
    return f"to take it back: reflect-git {f'revert {commit[:10]}' if channel == 'unattended' else 'undo'}"


def print_nothing_to_review(cli: CliContext, why: str) -> None:
    """Say why there is nothing to review, and if the last messages are still being read."""
    cli.print_text(why)
    if cli.unread_note:
        cli.print_note(cli.unread_note)


def print_nothing_yet(cli: CliContext) -> None:
    """Say that there is nothing to review because no store exists."""
    if cli.json:
        cli.print_json([])
        return
    cli.print_text(NOTHING_MESSAGE)
    cli.print_no_store()


def find_approver(cli: CliContext, ctx: Context, wish: ApprovalRequest) -> tuple[DecisionAuthor, str]:
    """Return who approves this text for this target, and the recorded answer; raise if nobody does."""
    decisions = ctx.scan.history.decisions
    if wish.to in _PROJECT_TARGETS:
        wish = wish._replace(projects=tuple(ctx.place.keys))
    channel, answer = approver.get_channel(ctx.store, cli.env, cli.is_at_terminal and not cli.no_input, decisions, wish)
    if channel == "terminal" and wish.text and not approver.can_see_all_parents():
        _require_first_word(cli, wish.text)
    by = service.get_author(ctx.store, channel)
    if not by["name"]:
        _print_name_hint(cli, ctx)
    return by, answer


def _require_first_word(cli: CliContext, text: str) -> None:
    """Ask for more than a key: a client above us may not be visible."""
    from reflect_git.cli.output.console import get_first_word, is_same_word  # few systems hide processes

    word = get_first_word(text)
    cli.print_note("this system does not show all processes above this one, so Claude Code may have started it")
    cli.print_note(printable(f"the rule: {text}"))
    asked = cli.wrap_for_stream(f"type the rule's first word, '{word}', to go on: ", sys.stderr)
    if not is_same_word(click.prompt(asked, "", show_default=False, prompt_suffix="", err=True), word):
        raise ReflectError("nothing was changed", code="declined")


def _print_name_hint(cli: CliContext, ctx: Context) -> None:
    """Hint once, before this machine's first decision without a name."""
    mine = (made for made in ctx.scan.history.decisions if made["machine"] == ctx.store.machine)
    if not cli.json and not any(made["kind"] not in SETTING_KINDS and not made["by"]["name"] for made in mine):
        for line in (approver.NO_NAME_WARNING, approver.NO_NAME_HINT):
            cli.print_note(click.style(f"hint: {line}", fg="yellow"))


def mark_answer_used(answer: str, subject: str) -> dict[str, str]:
    """Mark an answer as used, since it counts once; return where it was given."""
    return asked_questions.mark_answer_used(answer, subject) if answer else {}


def preview_change(cli: CliContext, ctx: Context, learning: str | None, change: Proposal | Amendment) -> None:
    """Show what would be written."""
    if cli.json:
        from reflect_git.rules.write_change import (
            WriteResult,
            list_changed_files,
        )  # who only looks at what waits does without

        target, *others = list_changed_files(ctx.place, change.plans) or [""]
        warnings = [found.message for found in change.findings]
        would = WriteResult("", "", "", target, change.diff, warnings, tuple(others))
        cli.print_json({**vars(would), "learning": learning, "commit": None, "backup": None})
        return
    print_diff(cli, change.diff)
    for found in change.findings:
        cli.print_note(printable(f"{found.kind}: {found.message}"))


def print_cooldown_note(cli: CliContext, ctx: Context, rule: Learning, channel: str) -> None:
    """Note that the file was changed just before: a person may go on, automatic changes wait. `ctx`: as it was then."""
    note = describe_cooldown(ctx, rule, channel)
    if note:
        cli.print_note(printable(f"note: {note}"))


def print_commit_advice(cli: CliContext, ctx: Context, path: str) -> None:
    """Tell how to commit a changed file of the project."""
    from reflect_git.rules import project_commits  # who only looks at what waits does without

    advice = project_commits.get_commit_advice(ctx, path, cli.env, get_cwd())
    if advice:
        cli.print_note(printable(advice))


def require_typed_yes(cli: CliContext, findings: Iterable[Finding], diff: str) -> bool:
    """Require a typed yes for a risky change, after showing it; return whether it was shown."""
    risks = [found for found in findings if found.kind == "risk"]
    if not risks or cli.env.get("CLAUDECODE"):  # there the person saw the warnings with the question
        return False
    is_asked = cli.is_at_terminal and not cli.no_input
    if is_asked and not cli.json:
        print_diff(cli, diff)
    for found in risks:
        cli.print_note(click.style(f"risk: {printable(found.message)}", fg="red", bold=True))
    if not is_asked:
        raise ReflectError("a risk needs a person's typed yes", "run it in a terminal", code="approval")
    if click.prompt("type 'yes' to approve it all the same", default="no", err=True) != "yes":
        raise ReflectError("nothing was changed", code="declined")
    return True


def print_diff(cli: CliContext, diff: str) -> None:
    for line in diff.splitlines():
        cli.print_line(click.style(printable(line), fg=_COLOURS.get(line[:1])))
