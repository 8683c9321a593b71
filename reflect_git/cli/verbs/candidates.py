"""What review would show."""

from __future__ import annotations

import sys
from itertools import chain
from typing import TYPE_CHECKING, Any

import click

from reflect_git.cli.front import Front, printable
from reflect_git.cli.options import json_option, project_option
from reflect_git.cli.portrait import by_itself, tested
from reflect_git.cli.sittings import say_nothing, say_nothing_yet, sitting, sitting_if_any, sitting_with
from reflect_git.errors import EXIT_USAGE, ReflectError
from reflect_git.model.counts import plural
from reflect_git.review.candidate import NOTHING
from reflect_git.sitting.review import all_tried

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from reflect_git.review.candidates import Candidate, Gathered
    from reflect_git.sitting.review import Sitting

_RULE = "LRN"


@click.command()
@project_option
@click.option("--all", "everything", is_flag=True, help="Of all projects.")
@click.option("--ask", is_flag=True, help="The questions to pass on with AskUserQuestion, as JSON.")
@click.option("--id", "identity", metavar="ID", default="", help="With --ask: this one alone, or a rule to reword.")
@click.option("--text", metavar="TEXT", default="", help="With --ask --id: in another wording.")
@click.option(
    "--with", "joined", metavar="ID,ID", default="", help="With --ask --id: together with what says the same."
)
@click.option("--supersedes", metavar="LRN", multiple=True, help="With --ask --id: in place of a rule in force.")
@click.option("--title", metavar="TEXT", default="", help="With --ask --id: as 'approve' takes it.")
@click.option("--impact", metavar="TEXT", default="", help="With --ask --id: as 'approve' takes it.")
@click.option("--details", metavar="TEXT", default="", help="With --ask --id: as 'approve' takes it.")
@click.option("--action", metavar="TEXT", default="", help="With --ask --id: as 'approve' takes it.")
@click.option("--for-skill", is_flag=True, help="Plain text for /reflect; always exit 0.")
@json_option
@click.pass_obj
def command(
    front: Front, /, project: str | None, everything: bool, ask: bool, for_skill: bool, identity: str, text: str,
    joined: str, supersedes: tuple[str, ...], **fields: str,
) -> None:  # fmt: skip
    """Show what waits for an answer: signals that say one thing, with the text proposed for it."""
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
    sat = sitting_with(front, project, identity) if identity else sitting_if_any(front, project, everything)
    if sat is None:
        if ask:
            front.data({"questions": []})
        else:
            say_nothing_yet(front)
        return
    gathered = sat.gathered
    if ask:
        from reflect_git.sitting.ask import questions  # a list does without what questions need, which takes 30 ms

        alone = [_question(sat, identity, text, joined, supersedes, fields)] if identity else []
        front.data({"questions": alone or questions(sat, gathered.strong)})
    elif front.json:
        shown = all_tried(sat, gathered.strong)
        front.data([each.as_json() for each in chain(shown, gathered.more, gathered.weak)])
    else:
        _print(front, gathered, all_tried(sat, gathered.strong))
    sat.keep()


def _ask_of_rule(front: Front, project: str | None, identity: str, text: str, is_alone: bool) -> None:
    """What 'edit' wants answered inside Claude Code."""
    from reflect_git.sitting import amend
    from reflect_git.sitting.ask import question_to_amend
    from reflect_git.sitting.writing import require_unrefused

    if not text or not is_alone:
        raise ReflectError("a rule in force is asked about in other words", "give --text alone", "usage", EXIT_USAGE)
    sat = sitting(front, project, everything=True)
    wanted = amend.amend(sat, amend.find(sat, identity), amend.Wanted(text))
    require_unrefused(wanted.findings)
    front.data({"questions": [question_to_amend(wanted)]})


def _question(
    sat: Sitting, identity: str, text: str, joined: str, supersedes: Sequence[str], fields: Mapping[str, str]
) -> dict[str, Any]:  # fmt: skip
    """With the number it has among all that are asked; one that is not among them is asked alone."""
    from reflect_git.sitting.approve import in_force_here
    from reflect_git.sitting.ask import question

    candidate = sat.find(identity)
    others = [sat.find(one.strip()) for one in joined.split(",") if one.strip()]
    strong = [each.id for each in sat.gathered.strong]
    place = (strong.index(candidate.id) + 1, len(strong)) if candidate.id in strong else (1, 1)
    return question(sat, candidate, *place, text, others, [in_force_here(sat, old) for old in supersedes], fields)


def _print(front: Front, gathered: Gathered, strong: Sequence[Candidate]) -> None:
    if gathered.message:
        say_nothing(front, gathered.message)
        return
    for candidate in strong:
        _show(front, candidate)
    for line in _rest(gathered):
        front.tell(click.style(line, dim=True))


def _show(front: Front, candidate: Candidate) -> None:
    front.out(f"{candidate.id}  {candidate.type}, {_times(candidate)} → {candidate.target}")
    for line in printable(candidate.text).splitlines():
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
        found.append(f"{plural(count, 'weak one')}; {by_itself(count)}; 'w' in 'reflect-git review' shows {them}")
    if gathered.recurrences:
        found.append(f"{len(gathered.recurrences)} that a rule in force already says")
    return found


def _for_skill(front: Front, project: str | None) -> None:
    """A slash command whose command fails is not sent at all, so whatever happens is told in words."""
    try:
        sat = sitting_if_any(front, project)
        if sat is None:
            sys.stdout.write(f"{NOTHING}\n")
            return
        text = sat.gathered.message or _told(sat.gathered.strong, sat.gathered)
        text += f" ({front.unread})" if sat.gathered.message and front.unread else ""
        sat.keep()
    except Exception as error:
        text = f"reflect-git could not look: {error}. Tell the user, and to run 'reflect-git doctor'."
    sys.stdout.write(f"{text}\n")


def _told(shown: Sequence[Candidate], gathered: Gathered) -> str:
    """One line each, so that no quotation can look like anything else; and no tag in it is one."""
    from reflect_git.apply.inert import inert
    from reflect_git.sitting.ask import source_of, warnings_of

    lines = []
    for number, each in enumerate(shown, 1):
        text, _ = inert(each.text)
        lines += [f"{number}. [{each.id}] {each.type}, {_times(each)}, proposed for: {each.target}", f"   Text: {text}"]
        lines += [f"   {line}" for line in (source_of(each), *warnings_of(text, [each]))]
        lines += [f"   Similar: [{other['id']}] {other['text']}" for other in each.similar if other.get("id")]
    return "\n".join(" ".join(line.replace("<", "\\u003c").splitlines()) for line in [*lines, *_rest(gathered)])
