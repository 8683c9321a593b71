"""Run `reflect-git review`: show signals and changes one by one, each answered with a key."""

from __future__ import annotations

import os
import time
from itertools import chain
from typing import TYPE_CHECKING, Any

import click

from reflect_git.candidates.session_events import SessionEvents
from reflect_git.cli.context import PIPED_HINT, CliContext, display_width, get_cwd, one_line, printable
from reflect_git.cli.options import json_option, project_option
from reflect_git.cli.output import candidate_view
from reflect_git.cli.output.console import Console, InputEnded
from reflect_git.cli.review import arrivals, drift
from reflect_git.cli.review.arrivals import ArrivalsReview
from reflect_git.cli.review.broken_rules import BrokenRulesReview, format_list
from reflect_git.cli.review.decorative import DecorativeReview, EndedReview
from reflect_git.cli.review.drift import DriftReview
from reflect_git.cli.review.loop import ReviewLoop
from reflect_git.cli.review.screen import APPROVED, DISMISSED, DISMISSED_FOR_GOOD, SKIPPED, ReviewCursor, ReviewScreen
from reflect_git.cli.review_setup import open_queue_if_any, print_nothing_to_review, print_nothing_yet
from reflect_git.errors import ReflectError
from reflect_git.memory.staleness import find_ended
from reflect_git.platform import files
from reflect_git.records.ids import plural
from reflect_git.records.named_tuple import NamedTuple
from reflect_git.rules import approver, dismiss, project_commits, project_files
from reflect_git.rules.arrivals import list_arrivals
from reflect_git.rules.automatic import autopilot
from reflect_git.rules.drift.questions import find_questions
from reflect_git.rules.guarding.broken_rules import find_broken_rules
from reflect_git.rules.guarding.guards import find_decorative_rules
from reflect_git.rules.queue import load_queue, with_backtests

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from reflect_git.candidates.gather import Candidate, GatherResult
    from reflect_git.cli.review.drift import DriftItem
    from reflect_git.cli.review.going_back import GoingBackReview
    from reflect_git.effect.going_back import WayBack
    from reflect_git.records.schema import Decision, Learning
    from reflect_git.rules.arrivals import Arrival
    from reflect_git.rules.context import Context
    from reflect_git.rules.guarding.broken_rules import BrokenRule
    from reflect_git.rules.queue import Queue

LIST_THRESHOLD = 10
_OPENING_KEYS = {
    "Enter": "start",
    "l": "list them; answer several at once",
    "a": "skip all; ask again in the next review",
    "n": "dismiss all in one commit; each may return after 3 sessions",
    "q": "quit; keep all for later",
    "?": "this help",
}
_NEW_KEYS_NOTE = "the keys changed: n dismiss, s skip, v show the signals, ? list all"
_ANSWER_KINDS = ("approved", "dismissed", "never", "amended", "applied", "reverted")
_MAX_DECORATIVE = 3  # decorative rules in one review
_MAX_ENDED = 3


@click.command()
@project_option
@click.option("--all", "everything", is_flag=True, help="Review all projects.")
@json_option
@click.pass_obj
def review_command(cli: CliContext, project: str | None, everything: bool) -> None:
    """Review proposed rules one by one, as with 'git add -p'.

    Changed rules come first: rules that differ from their files, lines that Claude added by itself, and rules that your
    own git commits removed. Rules from your other machines come next. Each question shows the exact change. Every
    answer is one key and is saved at once; press ? for the keys. If git's 'interactive.singleKey' is false, press Enter
    after each key.
    """
    if not cli.json and cli.is_at_terminal:
        _sync_if_automatic(cli)
    queue = open_queue_if_any(cli, project, everything, writes=not cli.json and cli.is_at_terminal)
    if queue is None:
        print_nothing_yet(cli)
        return
    if approver.is_inside_client(cli.env):
        raise ReflectError(
            "review needs a person at a terminal",
            "run 'reflect-git review' in a terminal; with the plugin, type /reflect here",
            code="approval",
        )  # fmt: skip
    broken, back = (
        find_broken_rules(queue),
        _find_ways_back(queue)._replace(decorative=_find_decorative(queue), ended=_find_ended(queue)),
    )
    if cli.json:
        gathered = queue.candidates
        shown = with_backtests(queue, gathered.strong)
        listed = [each.as_json() for each in chain(shown, gathered.more, gathered.weak)]
        more: dict[str, Any] = {}
        if back.total:
            more["going_back"] = [one.as_json() for one in back.proposed]
            more["taken_back"] = [made["id"] for made in back.done]
        if back.decorative:
            found_idle = back.decorative
            more["decorative"] = [{"rule": rule["id"], "text": rule["text"], "why": why} for rule, why in found_idle]
        if back.ended:
            more["ended"] = [{"rule": rule["id"], "text": rule["text"], "why": why} for rule, why in back.ended]
        cli.print_json(listed, broken=[one.as_json() for one in broken], **more)
        return
    found, asked = find_questions(queue)
    arrived = _find_arrivals(queue)
    for line in drift.format_notes(queue.place, found):
        cli.print_text(line)
    if cli.no_input or not cli.is_at_terminal:
        _print_changes(cli, queue, asked, arrived, broken, back)
        if not ((broken or back.total) and queue.candidates.message):
            _print_candidates(cli, queue.candidates)
        _print_other_projects(cli, queue)
    elif queue.candidates.message and not (asked or arrived or broken or back.total or back.decorative or back.ended):
        print_nothing_to_review(cli, queue.candidates.message)
        _print_other_projects(cli, queue)
    else:
        console = Console(cli, queue.store.git.get_user_config())
        screen = ReviewScreen(cli, queue, console.get_setting("interactive.difffilter"))
        _run_review(cli, screen, console, DriftReview(screen, console, asked), arrived, broken, back)


class _WaysBack(NamedTuple):
    """Reverts that nobody has seen, proposals to go back, and for each rule in one line whether it helps.

    `decorative`: rules that nothing enforces or counts, and why. `ended`: rules whose time is over, and why.
    """

    done: Sequence[Decision] = ()
    proposed: Sequence[WayBack] = ()
    effects: Mapping[str, str] = {}
    decorative: Sequence[tuple[Learning, str]] = ()
    ended: Sequence[tuple[Learning, str]] = ()

    @property
    def total(self) -> int:
        return len(self.done) + len(self.proposed)


def _find_ways_back(queue: Queue) -> _WaysBack:
    """Judge the rules in force; loads nothing without rules or recorded sessions."""
    scan = queue.scan
    if not scan.history.learnings:
        return _WaysBack()
    applied = autopilot.list_unseen(scan.history)
    if not any(one["id"].startswith("EXP-") for one in scan.other_records.values()):
        return _WaysBack(applied)
    from reflect_git.effect import going_back, table

    aliases = project_files.load_key_aliases(queue.store, queue.place)
    effects = table.load_effects(scan, aliases)
    lines = {one.rule["id"]: table.effect_line(one) for one in effects.rules}
    proposed = going_back.find_ways_back(queue, SessionEvents(scan, aliases), effects)
    here = [one for one in proposed if all(queue.place.is_in_scope(rule) for rule in one.rules)]
    return _WaysBack([*applied, *going_back.list_unseen_reverts(scan.history)], here, lines)


def _find_decorative(queue: Queue) -> list[tuple[Learning, str]]:
    """Return the few oldest rules here that nothing enforces or counts, then the skills that do not help."""
    rules = [rule for rule in queue.scan.history.get_rules_in_force() if queue.place.is_in_scope(rule)]
    if not rules:
        return []
    now = time.time()
    found = find_decorative_rules(queue.store, queue.scan, rules, now)[:_MAX_DECORATIVE]
    if any("skill" in rule["meta"] for rule in rules):
        from reflect_git.skills.deploy import find_useless

        found += find_useless(queue, now)
    return found


def _find_ended(queue: Queue) -> list[tuple[Learning, str]]:
    """Return the few oldest rules here whose time is over."""
    rules = [rule for rule in queue.scan.history.get_rules_in_force() if queue.place.is_in_scope(rule)]
    if not rules:
        return []
    return find_ended(queue.store, queue.scan.history, rules, time.time())[:_MAX_ENDED]


def _build_ended_review(screen: ReviewScreen, console: Console, back: _WaysBack) -> EndedReview | None:
    if not back.ended:
        return None
    return EndedReview(screen, console, back.ended)


def _build_decorative_review(screen: ReviewScreen, console: Console, back: _WaysBack) -> DecorativeReview | None:
    if not back.decorative:
        return None
    return DecorativeReview(screen, console, back.decorative)


def _sync_if_automatic(cli: CliContext) -> None:
    """Sync first if automatic sync is on."""
    store = cli.find_store()
    if store is not None and store.is_enabled("reflect.sync.auto", False):
        from reflect_git.cli import sync_view  # few have it

        sync_view.sync_before_review(cli, store)


def _find_arrivals(ctx: Context) -> list[Arrival]:
    """Return decisions of other machines that this one has not applied.

    Usually there are none, and no module is loaded.
    """
    machine = ctx.store.machine
    if all(made["machine"] == machine and not made["meta"].get("waits") for made in ctx.scan.history.decisions):
        return []
    return list_arrivals(ctx)


def _build_arrivals_review(screen: ReviewScreen, console: Console, arrived: Sequence[Arrival]) -> ArrivalsReview | None:
    if not arrived:
        return None
    return ArrivalsReview(screen, console, arrived)


def _build_back_review(screen: ReviewScreen, console: Console, back: _WaysBack) -> GoingBackReview | None:
    if not back.total:
        return None
    from reflect_git.cli.review.going_back import GoingBackReview

    return GoingBackReview(screen, console, back.done, back.proposed)


def _build_broken_review(
    screen: ReviewScreen, console: Console, broken: Sequence[BrokenRule], back: _WaysBack
) -> BrokenRulesReview | None:
    if not broken:
        return None
    return BrokenRulesReview(screen, console, broken, back.effects)


def _print_changes(
    cli: CliContext, ctx: Context, asked: Sequence[DriftItem], arrived: Sequence[Arrival], broken: Sequence[BrokenRule],
    back: _WaysBack,
) -> None:  # fmt: skip
    for line in drift.format_list(ctx.place, asked):
        cli.print_text(line)
    if arrived:
        for line in arrivals.format_list(ctx.place, arrived):
            cli.print_text(line)
    if broken:
        for line in format_list(broken):
            cli.print_text(printable(line))
    if back.total:
        from reflect_git.cli.review import going_back

        for line in going_back.format_list(ctx, back.done, back.proposed):
            cli.print_text(printable(line))
    if asked or arrived or broken or back.total:
        cli.print_note("answer these in a terminal: reflect-git review")


def _print_candidates(cli: CliContext, gathered: GatherResult) -> None:
    """List everything to review, and where a person can answer it, if nobody can be asked now."""
    if gathered.message:
        print_nothing_to_review(cli, gathered.message)
        return
    _print_summary(cli, list(gathered.strong))
    for line in _format_rest(gathered):
        cli.print_text(line)
    no_one = "no terminal: run 'reflect-git review' in one, or /reflect in Claude Code"
    cli.print_note(PIPED_HINT if cli.is_piped and not cli.no_input else no_one)
    cli.print_note("for scripts: 'reflect-git candidates', 'approve' and 'dismiss'")


def _print_other_projects(cli: CliContext, queue: Queue) -> None:
    """Mention signals of other projects if this folder has none or is in no project."""
    if not queue.candidates.message or not queue.place.keys:
        return
    found = load_queue(queue, everything=True).candidates
    count = len(found.strong) + len(found.more)
    if count:
        cli.print_text(f"{plural(count, 'proposed rule')} in other projects: reflect-git review --all")


def _print_summary(cli: CliContext, shown: list[Candidate]) -> None:
    room = candidate_view.text_width()
    for number, each in enumerate(shown, 1):
        head = f"{number:>3}  {each.id}  {each.type.replace('_', ' ')} → {each.target}"
        cli.print_line(one_line(head, room) if display_width(head) > room else head)
        cli.print_line(f"     {one_line(candidate_view.format_brief(each), room - 5)}")


def _format_rest(gathered: GatherResult) -> list[str]:
    found = [f"{len(gathered.more)} more after these"] if gathered.more else []
    found += [f"{plural(len(gathered.weak), 'unlikely one')}"] if gathered.weak else []
    return found


def _run_review(
    cli: CliContext,
    screen: ReviewScreen,
    console: Console,
    first: DriftReview,
    arrived: Sequence[Arrival],
    broken: Sequence[BrokenRule],
    back: _WaysBack,
) -> None:
    """Ask everything. ^C and ^D end it; what was answered is stored, and counted at the end."""
    loop, then = ReviewLoop(screen, console), _build_arrivals_review(screen, console, arrived)
    again = _build_broken_review(screen, console, broken, back)
    worse = _build_back_review(screen, console, back)
    idle = _build_decorative_review(screen, console, back)
    ended = _build_ended_review(screen, console, back)
    _print_new_keys_once(cli, screen.queue)
    _print_counts(cli, first.open_count, len(arrived), len(loop.cursor.cards), len(broken), back.total)
    try:
        if first.run():  # a file may have become by it what was decided elsewhere
            then = _build_arrivals_review(screen, console, _find_arrivals(screen.queue))
        if worse:
            worse.run()
        if then:
            then.run()
        if again:
            again.run()
        loop.wordings.offer_wordings(loop.cursor)
        typed = _ask_opening(cli, loop)
        if typed in ("s", "n"):
            return
        if typed == "y":
            loop.run()
        if ended:
            ended.run()
        if idle:
            idle.run()
    except InputEnded:
        pass
    except KeyboardInterrupt:
        cli.print_line()
        _print_end(cli, screen, loop.cursor, first, then, again, worse, idle, ended)
        raise click.Abort from None
    _print_end(cli, screen, loop.cursor, first, then, again, worse, idle, ended)


def _print_new_keys_once(cli: CliContext, ctx: Context) -> None:
    """Say once that the keys changed, where a person of this machine knows the old ones."""
    path, machine = ctx.store.private_path("keys"), ctx.store.machine
    if os.path.exists(path):
        return
    if any(
        made["machine"] == machine and made["by"]["road"] == "terminal" and made["kind"] in _ANSWER_KINDS
        for made in ctx.scan.history.decisions
    ):
        cli.print_text(_NEW_KEYS_NOTE)
    files.write_atomic(path, b"2\n")


def _print_counts(cli: CliContext, changes: int, arrived: int, proposed: int, broken: int, back: int) -> None:
    """Say how many questions come where there are several kinds: each kind is counted by itself."""
    kinds = _format_counts(changes, arrived, proposed, broken, back)
    if len(kinds) > 1:
        cli.print_text(f"to review: {', '.join(kinds)}")


def _format_counts(changes: int, arrived: int, proposed: int, broken: int, back: int) -> list[str]:
    found = [plural(changes, "changed rule")] if changes else []
    found += [f"{plural(back, 'change')} that made sessions worse"] if back else []
    found += [f"{plural(arrived, 'rule')} from your other machines"] if arrived else []
    found += [plural(broken, "broken rule")] if broken else []
    return found + ([plural(proposed, "proposed rule")] if proposed else [])


def _ask_opening(cli: CliContext, loop: ReviewLoop) -> str:
    """Offer the list, and one answer to all, before ten or more. Returns the key; "y" after answers in the list."""
    screen, console = loop.screen, loop.console
    gathered = screen.queue.candidates
    everyone = [*gathered.strong, *gathered.more] if len(gathered.strong) + len(gathered.more) >= LIST_THRESHOLD else []
    question = f"{len(everyone)} to review: Enter start, l list, a skip all, q quit, ? help: "
    while everyone:
        typed = console.read_key(question)
        typed = {"": "y", "a": "s"}.get(typed, typed)
        if typed in ("y", "q") or (typed in ("s", "n") and _answer_all(cli, screen, console, everyone, typed)):
            return typed
        if typed == "l":
            if loop.answer_from_list():
                return "y"
        elif typed not in ("s", "n"):
            screen.print_keys(_OPENING_KEYS)
    return "y"


def _answer_all(
    cli: CliContext, screen: ReviewScreen, console: Console, everyone: Sequence[Candidate], key: str
) -> bool:
    """Skip everything that waits, or say no to it; False if the person thought better of it."""
    store = screen.queue.store
    if key == "s":
        dismiss.mark_seen(store, everyone)
        cli.print_text(f"skipped {len(everyone)}; asked again in the next review")
        return True
    if not console.confirm(f"dismiss all {len(everyone)}"):
        return False
    dismiss.dismiss_all(store, everyone, screen.find_author(everyone[0]))
    cli.print_text(f"dismissed {len(everyone)}; each may return after 3 sessions")
    cli.print_text("undo with: reflect-git undo")
    return True


def _print_end(
    cli: CliContext,
    screen: ReviewScreen,
    cursor: ReviewCursor,
    first: DriftReview,
    then: ArrivalsReview | None,
    again: BrokenRulesReview | None,
    worse: GoingBackReview | None,
    idle: DecorativeReview | None,
    ended: EndedReview | None,
) -> None:
    """Print the totals and the next steps."""
    cli.print_line()
    answers = [one for part in (first, worse, then, again, ended, idle) if part for one in part.answers]
    if answers:
        cli.print_text(", ".join(f"{answers.count(said)} {said}" for said in dict.fromkeys(answers)))
    counts = [(cursor.count_outcome(said), said) for said in (APPROVED, SKIPPED, DISMISSED, DISMISSED_FOR_GOOD)]
    counts.append((len(cursor.list_open()), "undecided"))
    if cursor.answers:
        cli.print_text(", ".join(f"{count} {said}" for count, said in counts if count))
    for path in screen.changed_files:
        advice = project_commits.get_commit_advice(screen.queue, path, cli.env, get_cwd())
        if advice:
            cli.print_text(printable(advice))
    # Ignoring a change or keeping a rule is not a decision that 'undo' could take back.
    if any(said not in (drift.IGNORED, drift.KEPT_IN_FORCE) for said in answers) or any(
        map(cursor.count_outcome, (APPROVED, DISMISSED, DISMISSED_FOR_GOOD))
    ):
        cli.print_text("undo the last answer with: reflect-git undo")
    weak = {each.id for each in screen.queue.candidates.weak}  # they go by themselves, seen or not
    postponed = [answer.position for answer in cursor.answers if answer.outcome == SKIPPED]
    left = len([at for at in (*cursor.list_open(), *postponed) if cursor.cards[at].id not in weak])
    arrived, broken = then.open_count if then else 0, again.open_count if again else 0
    back = worse.open_count if worse else 0
    if kinds := _format_counts(first.open_count, arrived, left, broken, back):
        cli.print_text(f"left for later: {', '.join(kinds)}; continue with: reflect-git review")
    elif cursor.count_outcome(APPROVED):
        cli.print_text("list all rules with: reflect-git rules")
