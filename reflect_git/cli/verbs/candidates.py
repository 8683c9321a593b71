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
from reflect_git.sitting.recurring import find_broken
from reflect_git.sitting.review import all_tried

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from reflect_git.review.candidates import Candidate, Gathered
    from reflect_git.sitting.recurring import Broken
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
@click.option("--until", metavar="DATE", default="", help="With --ask --id: as 'approve' takes it.")
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
            front.data({"questions": [], "needs_wording": [], "broken": []})
        else:
            say_nothing_yet(front)
        return
    gathered = sat.gathered
    if ask:
        from reflect_git.sitting.ask import questions, unworded  # 30 ms that a list does without

        if identity and (text or not sat.find(identity).needs_wording):
            front.data({"questions": [_question(sat, identity, text, joined, supersedes, fields)], "needs_wording": []})
        else:
            shown = [sat.find(identity)] if identity else gathered.strong
            asked: dict[str, Any] = {"questions": questions(sat, shown), "needs_wording": unworded(shown)}
            front.data(asked if identity else {**asked, "broken": [one.as_json() for one in find_broken(sat)]})
    elif front.json:
        tried = all_tried(sat, gathered.strong)
        listed = [each.as_json() for each in chain(tried, gathered.more, gathered.weak)]
        front.data(listed, broken=[one.as_json() for one in find_broken(sat)])
    else:
        _print(front, gathered, all_tried(sat, gathered.strong), find_broken(sat))
    sat.keep()


def _ask_of_rule(front: Front, project: str | None, identity: str, text: str, is_alone: bool) -> None:
    """What 'edit' wants answered inside Claude Code; of a rule that was broken again, also 'revert' and 'dismiss'."""
    from reflect_git.sitting import amend
    from reflect_git.sitting.ask import question_about_broken, question_to_amend
    from reflect_git.sitting.writing import require_unrefused

    sat = sitting(front, project, everything=True)
    rule = amend.find(sat, identity)["id"]
    broken = next((one for one in find_broken(sat) if one.rule["id"] == rule), None)
    if broken and not text and is_alone:
        front.data({"questions": [question_about_broken(sat, broken)]})
        return
    if not text or not is_alone:
        raise ReflectError("a rule in force is asked about in other words", "give --text alone", "usage", EXIT_USAGE)
    wanted = amend.amend(sat, amend.find(sat, identity), amend.Wanted(text))
    require_unrefused(wanted.findings)
    front.data({"questions": [question_to_amend(sat, wanted)]})


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
        found.append(f"{plural(count, 'weak one')}; {by_itself(count)}; 'w' in 'reflect-git review' shows {them}")
    return found


def _for_skill(front: Front, project: str | None) -> None:
    """A slash command whose command fails is not sent at all, so whatever happens is told in words."""
    try:
        sat = sitting_if_any(front, project)
        if sat is None:
            sys.stdout.write(f"{NOTHING}\n")
            return
        broken = _told_broken(find_broken(sat))
        text = sat.gathered.message or _told(sat.gathered.strong, sat.gathered)
        text += f" ({front.unread})" if sat.gathered.message and front.unread else ""
        text = broken if broken and sat.gathered.message else f"{broken}\n{text}".strip()
        sat.keep()
    except Exception as error:
        text = f"reflect-git could not look: {error}. Tell the user, and to run 'reflect-git doctor'."
    sys.stdout.write(f"{text}\n")


def _told_broken(found: Sequence[Broken]) -> str:
    """The rules that were broken again, for `_for_skill`."""
    lines = []
    for one in found:
        lines += [f"Broken rule [{one.rule['id']}] {one.headline}", f"   Rule in force: {one.rule['text']}"]
        lines += [f"   You said: {quote}" for quote in one.quotes]
    return _as_data(lines)


def _as_data(lines: Sequence[str]) -> str:
    return "\n".join(" ".join(line.replace("<", "\\u003c").splitlines()) for line in lines)


def _told(shown: Sequence[Candidate], gathered: Gathered) -> str:
    """One line each, so that no quotation can look like anything else; and no tag in it is one."""
    from reflect_git.apply.inert import inert
    from reflect_git.sitting.ask import source_of, warnings_of

    lines = []
    for number, each in enumerate(shown, 1):
        text, _ = inert(each.text)
        lines.append(f"{number}. [{each.id}] {each.type}, {_times(each)}, proposed for: {each.target}")
        lines.append(f"   Needs wording: it {each.why_no_rule}" if each.needs_wording else f"   Text: {text}")
        lines += [f"   Until: {each.until}"] if each.until else []
        lines += [f"   {line}" for line in (source_of(each), *warnings_of(text, [each]))]
        lines += [f"   Similar: [{other['id']}] {other['text']}" for other in each.similar if other.get("id")]
    return _as_data([*lines, *_rest(gathered)])
