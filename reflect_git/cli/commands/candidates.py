"""Run `reflect-git candidates`: list proposed rules."""

from __future__ import annotations

import json
import sys
from itertools import chain
from typing import TYPE_CHECKING, Any

import click

from reflect_git.candidates.candidate import NOTHING_MESSAGE, format_backtest
from reflect_git.cli.context import CliContext, printable
from reflect_git.cli.options import json_option, project_option, resolve_numbers
from reflect_git.cli.review_setup import (
    open_queue,
    open_queue_if_any,
    open_queue_with,
    print_nothing_to_review,
    print_nothing_yet,
)
from reflect_git.errors import EXIT_USAGE, ReflectError
from reflect_git.records.ids import plural
from reflect_git.rules.guarding.broken_rules import find_broken_rules
from reflect_git.rules.queue import with_backtests

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from reflect_git.candidates.gather import Candidate, GatherResult
    from reflect_git.rules.guarding.broken_rules import BrokenRule
    from reflect_git.rules.queue import Queue

_RULE_PREFIX = "LRN"
_MAX_FAILURES = 3


@click.command()
@project_option
@click.option("--all", "everything", is_flag=True, help="List all projects.")
@click.option("--ask", is_flag=True, help="Print the questions for AskUserQuestion as JSON.")
@click.option(
    "--id", "record_id", metavar="ID", default="", callback=resolve_numbers,
    help="With --ask: only this proposed rule, or a rule to reword.",
)  # fmt: skip
@click.option("--text", metavar="TEXT", default="", help="With --ask --id: another wording.")
@click.option(
    "--with", "joined", metavar="ID,ID", default="", help="With --ask --id: merge these proposed rules into it."
)
@click.option(
    "--supersedes",
    metavar="LRN",
    multiple=True,
    callback=resolve_numbers,
    help="With --ask --id: the rule it replaces.",
)
@click.option("--title", metavar="TEXT", default="", help="With --ask --id: as for 'approve'.")
@click.option("--impact", metavar="TEXT", default="", help="With --ask --id: as for 'approve'.")
@click.option("--details", metavar="TEXT", default="", help="With --ask --id: as for 'approve'.")
@click.option("--action", metavar="TEXT", default="", help="With --ask --id: as for 'approve'.")
@click.option("--until", metavar="DATE", default="", help="With --ask --id: as for 'approve'.")
@click.option("--for-skill", is_flag=True, help="Plain text for /reflect; always exit 0.")
@json_option
@click.pass_obj
def candidates_command(
    cli: CliContext, /, project: str | None, everything: bool, ask: bool, for_skill: bool, record_id: str, text: str,
    joined: str, supersedes: tuple[str, ...], **fields: str,
) -> None:  # fmt: skip
    """List proposed rules: groups of signals that say the same, with a proposed text."""
    if ask and for_skill:
        raise ReflectError("--ask and --for-skill do not go together", "give one of them", "usage", EXIT_USAGE)
    if (record_id and not ask) or (any((text, joined, supersedes, *fields.values())) and not record_id):
        raise ReflectError(
            "--id belongs to --ask; --text, --with, --supersedes and the fields of an improvement to --id",
            "see --help", "usage", EXIT_USAGE,
        )  # fmt: skip
    if for_skill:
        _print_for_skill(cli, project)
        return
    if record_id.upper().startswith(_RULE_PREFIX):
        _print_rule_question(cli, project, record_id, text, is_alone=not any((joined, supersedes, *fields.values())))
        return
    queue = open_queue_with(cli, project, record_id) if record_id else open_queue_if_any(cli, project, everything)
    if queue is None:
        if ask:
            cli.print_json({"questions": [], "needs_wording": [], "broken": []})
        else:
            print_nothing_yet(cli)
        return
    gathered = queue.candidates
    if ask:
        from reflect_git.rules.client_questions import list_questions, list_unworded  # 30 ms that a list does without

        if record_id and (text or not queue.find_candidate(record_id).needs_wording):
            cli.print_json(
                {
                    "questions": [_build_question(queue, record_id, text, joined, supersedes, fields)],
                    "needs_wording": [],
                }
            )
        else:
            shown = [queue.find_candidate(record_id)] if record_id else gathered.strong
            asked: dict[str, Any] = {"questions": list_questions(queue, shown), "needs_wording": list_unworded(shown)}
            cli.print_json(
                asked if record_id else {**asked, "broken": [one.as_json() for one in find_broken_rules(queue)]}
            )
    elif cli.json:
        tried = with_backtests(queue, gathered.strong)
        listed = [each.as_json() for each in chain(tried, gathered.more, gathered.weak)]
        cli.print_json(listed, broken=[one.as_json() for one in find_broken_rules(queue)])
    else:
        _print_list(cli, gathered, with_backtests(queue, gathered.strong), find_broken_rules(queue))
    queue.write_cache()


def _print_rule_question(cli: CliContext, project: str | None, record_id: str, text: str, is_alone: bool) -> None:
    """Print the question that `edit` needs answered inside Claude Code.

    If the rule was broken again, also print the questions for `revert` and `dismiss`.
    """
    from reflect_git.rules import amend
    from reflect_git.rules.client_questions import store_amendment_question, store_broken_rule_question
    from reflect_git.rules.write_change import require_not_refused

    queue = open_queue(cli, project, everything=True)
    rule = amend.find_rule_to_amend(queue, record_id)["id"]
    broken = next((one for one in find_broken_rules(queue) if one.rule["id"] == rule), None)
    if broken and not text and is_alone:
        cli.print_json({"questions": [store_broken_rule_question(queue, broken)]})
        return
    if not text or not is_alone:
        raise ReflectError("a rule in force is asked about in other words", "give --text alone", "usage", EXIT_USAGE)
    wanted = amend.plan_amendment(queue, amend.find_rule_to_amend(queue, record_id), amend.AmendRequest(text))
    require_not_refused(wanted.findings)
    cli.print_json({"questions": [store_amendment_question(queue, wanted)]})


def _build_question(
    queue: Queue, record_id: str, text: str, joined: str, supersedes: Sequence[str], fields: Mapping[str, str]
) -> dict[str, Any]:  # fmt: skip
    """Return the question for a candidate, with its number in the queue.

    A candidate outside the queue is asked alone.
    """
    from reflect_git.rules.approve import find_rule_in_force
    from reflect_git.rules.client_questions import store_candidate_question

    candidate = queue.find_candidate(record_id)
    others = [queue.find_candidate(one.strip()) for one in joined.split(",") if one.strip()]
    strong = [each.id for each in queue.candidates.strong]
    place = (strong.index(candidate.id) + 1, len(strong)) if candidate.id in strong else (1, 1)
    return store_candidate_question(
        queue, candidate, *place, text, others, [find_rule_in_force(queue, old) for old in supersedes], fields
    )


def _print_list(
    cli: CliContext, gathered: GatherResult, strong: Sequence[Candidate], broken: Sequence[BrokenRule]
) -> None:
    for one in broken:
        cli.print_text(printable(f"{one.rule['id']}  {one.headline}"))
        cli.print_text(printable(f"    {one.rule['text']}"))
    if gathered.message and broken:
        return
    if gathered.message:
        print_nothing_to_review(cli, gathered.message)
        return
    for candidate in strong:
        _print_candidate(cli, candidate)
    for line in _format_rest(gathered):
        cli.print_text(click.style(line, dim=True))


def _print_candidate(cli: CliContext, candidate: Candidate) -> None:
    cli.print_line(f"{candidate.id}  {candidate.type}, {_format_sessions(candidate)} → {candidate.target}")
    if candidate.needs_wording:
        cli.print_text(click.style(f"    needs wording: it {candidate.why_no_rule}", fg="yellow"))
    for line in printable(f'"{candidate.text}"' if candidate.needs_wording else candidate.text).splitlines():
        cli.print_text(f"    {line}")
    if candidate.backtest:
        cli.print_text(click.style(f"    {printable(format_backtest(candidate.backtest))}", dim=True))
    for warning in candidate.warnings:
        cli.print_text(click.style(f"    risk: {printable(warning)}", fg="red"))


def _format_sessions(candidate: Candidate) -> str:
    return plural(candidate.sessions, "session")


def _format_rest(gathered: GatherResult) -> list[str]:
    found = []
    if gathered.more:
        found.append(f"{len(gathered.more)} more after these")
    if gathered.weak:
        count = len(gathered.weak)
        them = "it" if count == 1 else "them"
        found.append(f"{plural(count, 'unlikely one')}, expiring unreviewed; 'w' in 'reflect-git review' shows {them}")
    return found


def _print_for_skill(cli: CliContext, project: str | None) -> None:
    """Print the queue for the skill.

    Print errors as text: Claude Code does not send a slash command whose shell command fails.
    """
    try:
        queue = open_queue_if_any(cli, project)
        if queue is None:
            sys.stdout.write(f"{NOTHING_MESSAGE}\n")
            return
        broken = _format_broken_for_skill(find_broken_rules(queue))
        text = queue.candidates.message or _format_for_skill(queue.candidates.strong, queue.candidates)
        text += f" ({cli.unread_note})" if queue.candidates.message and cli.unread_note else ""
        text = broken if broken and queue.candidates.message else f"{broken}\n{text}".strip()
        failures = _format_failures_for_skill(queue)
        text = f"{'' if queue.candidates.message and not broken else text}\n{failures}".strip() if failures else text
        queue.write_cache()
    except Exception as error:
        text = f"reflect-git could not look: {error}. Tell the user, and to run 'reflect-git doctor'."
    sys.stdout.write(f"{text}\n")


def _format_broken_for_skill(found: Sequence[BrokenRule]) -> str:
    """Format the rules that were broken again, for `_print_for_skill`."""
    lines = []
    for one in found:
        lines += [f"Broken rule [{one.rule['id']}] {one.headline}", f"   Rule in force: {one.rule['text']}"]
        lines += [f"   You said: {quote}" for quote in one.quotes]
    return _escape_lines(lines)


def _format_failures_for_skill(queue: Queue) -> str:
    """Format the failures of this project that came back and have no root cause, for `_print_for_skill`."""
    from reflect_git.memory import rootcause  # the list for people does without

    place = queue.place.project
    found = rootcause.list_recurring(queue.store, queue.scan, (place["name"], place["key"])) if place else []
    return _escape_lines([
        f"Recurring failure [{one.key}] {one.cause}: {plural(one.count, 'failure')} in "
        f"{plural(one.sessions, 'session')}, last {one.last[:10]}"
        for one in found[:_MAX_FAILURES]
    ])  # fmt: skip


def _escape_lines(lines: Sequence[str]) -> str:
    return "\n".join(" ".join(line.replace("<", "\\u003c").splitlines()) for line in lines)


def _format_for_skill(shown: Sequence[Candidate], gathered: GatherResult) -> str:
    """Format each candidate on one line, with tags escaped, so that no quotation looks like anything else."""
    from reflect_git.rules.client_questions import MANY, build_overview_question, format_source, list_warnings
    from reflect_git.targets.safe_text import make_safe

    lines, count = [], len(shown) + len(gathered.more)
    if count >= MANY:
        lines.append(f"Ask first, before anything else: {json.dumps(build_overview_question(count))}")
    for number, each in enumerate(shown, 1):
        text, _ = make_safe(each.text)
        lines.append(f"{number}. [{each.id}] {each.type}, {_format_sessions(each)}, proposed for: {each.target}")
        lines.append(f"   Needs wording: it {each.why_no_rule}" if each.needs_wording else f"   Text: {text}")
        lines += [f"   Until: {each.until}"] if each.until else []
        lines += [f"   {line}" for line in (format_source(each), *list_warnings(text, [each]))]
        lines += [f"   Similar: [{other['id']}] {other['text']}" for other in each.similar if other.get("id")]
    return _escape_lines([*lines, *_format_rest(gathered)])
