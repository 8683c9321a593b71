"""Run `reflect-git candidates`, `approve` and `dismiss`."""

from __future__ import annotations

import sys
from itertools import chain
from typing import TYPE_CHECKING, Any

import click

from reflect_git.candidates.candidate import NOTHING
from reflect_git.cli.context import Front, printable
from reflect_git.cli.options import json_option, project_option
from reflect_git.cli.output.candidate_view import tested
from reflect_git.cli.review_setup import open_queue, open_queue_if_any, open_queue_with, say_nothing, say_nothing_yet
from reflect_git.errors import EXIT_USAGE, ReflectError
from reflect_git.records.ids import plural
from reflect_git.rules.queue import all_tried
from reflect_git.rules.recurring import find_broken

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from reflect_git.candidates.gather import Candidate, Gathered
    from reflect_git.rules.queue import Queue
    from reflect_git.rules.recurring import Broken

_RULE = "LRN"


@click.command()
@project_option
@click.option("--all", "everything", is_flag=True, help="List all projects.")
@click.option("--ask", is_flag=True, help="Print the questions for AskUserQuestion as JSON.")
@click.option(
    "--id", "identity", metavar="ID", default="", help="With --ask: only this proposed rule, or a rule to reword."
)
@click.option("--text", metavar="TEXT", default="", help="With --ask --id: another wording.")
@click.option(
    "--with", "joined", metavar="ID,ID", default="", help="With --ask --id: merge these proposed rules into it."
)
@click.option("--supersedes", metavar="LRN", multiple=True, help="With --ask --id: the rule it replaces.")
@click.option("--title", metavar="TEXT", default="", help="With --ask --id: as for 'approve'.")
@click.option("--impact", metavar="TEXT", default="", help="With --ask --id: as for 'approve'.")
@click.option("--details", metavar="TEXT", default="", help="With --ask --id: as for 'approve'.")
@click.option("--action", metavar="TEXT", default="", help="With --ask --id: as for 'approve'.")
@click.option("--until", metavar="DATE", default="", help="With --ask --id: as for 'approve'.")
@click.option("--for-skill", is_flag=True, help="Plain text for /reflect; always exit 0.")
@json_option
@click.pass_obj
def candidates_command(
    front: Front, /, project: str | None, everything: bool, ask: bool, for_skill: bool, identity: str, text: str,
    joined: str, supersedes: tuple[str, ...], **fields: str,
) -> None:  # fmt: skip
    """List proposed rules: groups of signals that say the same, with a proposed text."""
    if ask and for_skill:
        raise ReflectError("--ask and --for-skill do not go together", "give one of them", "usage", EXIT_USAGE)
    if (identity and not ask) or (any((text, joined, supersedes, *fields.values())) and not identity):
        raise ReflectError(
            "--id belongs to --ask; --text, --with, --supersedes and the fields of an improvement to --id",
            "see --help", "usage", EXIT_USAGE,
        )  # fmt: skip
    if for_skill:
        _for_skill(front, project)
        return
    if identity.upper().startswith(_RULE):
        _ask_of_rule(front, project, identity, text, is_alone=not any((joined, supersedes, *fields.values())))
        return
    queue = open_queue_with(front, project, identity) if identity else open_queue_if_any(front, project, everything)
    if queue is None:
        if ask:
            front.data({"questions": [], "needs_wording": [], "broken": []})
        else:
            say_nothing_yet(front)
        return
    gathered = queue.gathered
    if ask:
        from reflect_git.rules.client_questions import list_questions, unworded  # 30 ms that a list does without

        if identity and (text or not queue.find(identity).needs_wording):
            front.data(
                {"questions": [_question(queue, identity, text, joined, supersedes, fields)], "needs_wording": []}
            )
        else:
            shown = [queue.find(identity)] if identity else gathered.strong
            asked: dict[str, Any] = {"questions": list_questions(queue, shown), "needs_wording": unworded(shown)}
            front.data(asked if identity else {**asked, "broken": [one.as_json() for one in find_broken(queue)]})
    elif front.json:
        tried = all_tried(queue, gathered.strong)
        listed = [each.as_json() for each in chain(tried, gathered.more, gathered.weak)]
        front.data(listed, broken=[one.as_json() for one in find_broken(queue)])
    else:
        _print(front, gathered, all_tried(queue, gathered.strong), find_broken(queue))
    queue.keep()


def _ask_of_rule(front: Front, project: str | None, identity: str, text: str, is_alone: bool) -> None:
    """Print the question that `edit` needs answered inside Claude Code.

    If the rule was broken again, also print the questions for `revert` and `dismiss`.
    """
    from reflect_git.rules import amend
    from reflect_git.rules.client_questions import question_about_broken, question_to_amend
    from reflect_git.rules.write_change import require_unrefused

    queue = open_queue(front, project, everything=True)
    rule = amend.find(queue, identity)["id"]
    broken = next((one for one in find_broken(queue) if one.rule["id"] == rule), None)
    if broken and not text and is_alone:
        front.data({"questions": [question_about_broken(queue, broken)]})
        return
    if not text or not is_alone:
        raise ReflectError("a rule in force is asked about in other words", "give --text alone", "usage", EXIT_USAGE)
    wanted = amend.amend(queue, amend.find(queue, identity), amend.Wanted(text))
    require_unrefused(wanted.findings)
    front.data({"questions": [question_to_amend(queue, wanted)]})


def _question(
    queue: Queue, identity: str, text: str, joined: str, supersedes: Sequence[str], fields: Mapping[str, str]
) -> dict[str, Any]:  # fmt: skip
    """Return the question for a candidate, with its number in the queue.

    A candidate outside the queue is asked alone.
    """
    from reflect_git.rules.approve import in_force_here
    from reflect_git.rules.client_questions import question

    candidate = queue.find(identity)
    others = [queue.find(one.strip()) for one in joined.split(",") if one.strip()]
    strong = [each.id for each in queue.gathered.strong]
    place = (strong.index(candidate.id) + 1, len(strong)) if candidate.id in strong else (1, 1)
    return question(queue, candidate, *place, text, others, [in_force_here(queue, old) for old in supersedes], fields)


def _print(front: Front, gathered: Gathered, strong: Sequence[Candidate], broken: Sequence[Broken]) -> None:
    for one in broken:
        front.tell(printable(f"{one.rule['id']}  {one.headline}"))
        front.tell(printable(f"    {one.rule['text']}"))
    if gathered.message and broken:
        return
    if gathered.message:
        say_nothing(front, gathered.message)
        return
    for candidate in strong:
        _show(front, candidate)
    for line in _rest(gathered):
        front.tell(click.style(line, dim=True))


def _show(front: Front, candidate: Candidate) -> None:
    front.out(f"{candidate.id}  {candidate.type}, {_times(candidate)} → {candidate.target}")
    if candidate.needs_wording:
        front.tell(click.style(f"    needs wording: it {candidate.why_no_rule}", fg="yellow"))
    for line in printable(f'"{candidate.text}"' if candidate.needs_wording else candidate.text).splitlines():
        front.tell(f"    {line}")
    if candidate.backtest:
        front.tell(click.style(f"    {printable(tested(candidate.backtest))}", dim=True))
    for warning in candidate.warnings:
        front.tell(click.style(f"    risk: {printable(warning)}", fg="red"))


def _times(candidate: Candidate) -> str:
    return plural(candidate.sessions, "session")


def _rest(gathered: Gathered) -> list[str]:
    found = []
    if gathered.more:
        found.append(f"{len(gathered.more)} more after these")
    if gathered.weak:
        count = len(gathered.weak)
        them = "it" if count == 1 else "them"
        found.append(f"{plural(count, 'unlikely one')}, expiring unreviewed; 'w' in 'reflect-git review' shows {them}")
    return found


def _for_skill(front: Front, project: str | None) -> None:
    """Print the queue for the skill.

    Print errors as text: Claude Code does not send a slash command whose shell command fails.
    """
    try:
        queue = open_queue_if_any(front, project)
        if queue is None:
            sys.stdout.write(f"{NOTHING}\n")
            return
        broken = _told_broken(find_broken(queue))
        text = queue.gathered.message or _told(queue.gathered.strong, queue.gathered)
        text += f" ({front.unread})" if queue.gathered.message and front.unread else ""
        text = broken if broken and queue.gathered.message else f"{broken}\n{text}".strip()
        queue.keep()
    except Exception as error:
        text = f"reflect-git could not look: {error}. Tell the user, and to run 'reflect-git doctor'."
    sys.stdout.write(f"{text}\n")


def _told_broken(found: Sequence[Broken]) -> str:
    """Format the rules that were broken again, for `_for_skill`."""
    lines = []
    for one in found:
        lines += [f"Broken rule [{one.rule['id']}] {one.headline}", f"   Rule in force: {one.rule['text']}"]
        lines += [f"   You said: {quote}" for quote in one.quotes]
    return _as_data(lines)


def _as_data(lines: Sequence[str]) -> str:
    return "\n".join(" ".join(line.replace("<", "\\u003c").splitlines()) for line in lines)


def _told(shown: Sequence[Candidate], gathered: Gathered) -> str:
    """Format each candidate on one line, with tags escaped, so that no quotation looks like anything else."""
    from reflect_git.rules.client_questions import source_of, warnings_of
    from reflect_git.targets.inert import inert

    lines = []
    for number, each in enumerate(shown, 1):
        text, _ = inert(each.text)
        lines.append(f"{number}. [{each.id}] {each.type}, {_times(each)}, proposed for: {each.target}")
        lines.append(f"   Needs wording: it {each.why_no_rule}" if each.needs_wording else f"   Text: {text}")
        lines += [f"   Until: {each.until}"] if each.until else []
        lines += [f"   {line}" for line in (source_of(each), *warnings_of(text, [each]))]
        lines += [f"   Similar: [{other['id']}] {other['text']}" for other in each.similar if other.get("id")]
    return _as_data([*lines, *_rest(gathered)])
