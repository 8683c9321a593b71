"""Run `reflect-git why`: explain where a line comes from."""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import groupby
from typing import TYPE_CHECKING, Any

import click

from reflect_git.cli.context import Front, printable
from reflect_git.cli.options import json_option
from reflect_git.cli.output import candidate_view, history_view
from reflect_git.cli.output.history_view import when
from reflect_git.errors import EXIT_USAGE, ReflectError
from reflect_git.history import rule_history as stories
from reflect_git.records.ids import plural
from reflect_git.rules.drift import line_owner as spots
from reflect_git.store.purge.purge_marks import Gone

if TYPE_CHECKING:
    from reflect_git.history.rule_history import Story
    from reflect_git.rules.drift.line_owner import Author, Sheet, Spot
    from reflect_git.store.reading.lookup import Excerpt
    from reflect_git.store.repository import Store

# Entries that this store does not know, by whose they are.
_NOT_OURS = {
    "colleague": "from a colleague, not in this store",
    spots.CLAUDE: "written by Claude, not approved",
    "unapproved": "not approved, and in no commit of the project",
}


@click.command()
@click.argument("name", metavar="FILE[:LINE]")
@json_option
@click.pass_obj
def why_command(front: Front, name: str) -> None:
    """Explain where a line of an instruction file comes from.

    For a rule: what you said, who approved it, what it replaced, and what happened since. For any other line: its
    commit, Claude, or you. Without a line number: every rule of the file, and who wrote the rest.
    """
    path, number = _parse(name)
    store = front.store(create=False)
    page = spots.sheet(store, front.env, path, os.getcwd())
    if number > len(page.lines):
        lines = plural(len(page.lines), "line")
        raise ReflectError(f"'{page.label}' has {lines}", f"for example: {page.label}:1", "usage", EXIT_USAGE)
    excerpt = front.excerpt(store)
    if number:
        _tell_line(front, store, excerpt, page, number)
    else:
        _tell_file(front, store, excerpt, page)


def _parse(name: str) -> tuple[str, int]:
    """Split FILE:LINE; the line is 0 if there is none. A file name may contain colons."""
    path, colon, number = name.rpartition(":")
    if not colon or not number.isdigit() or os.path.exists(name):
        return os.path.abspath(name), 0
    if not int(number):
        raise ReflectError("line numbers start at 1", f"try '{path}:1'", "usage", EXIT_USAGE)
    return os.path.abspath(path), int(number)


def _tell_line(front: Front, store: Store, excerpt: Excerpt, page: Sheet, number: int) -> None:
    spot = page.spot_at(number)
    story = stories.tell(store, excerpt, spot.id) if spot else None
    if spot and story:
        if front.json:
            front.data([_entry_json(page, spot, story)])
        else:
            _tell_story(front, page, spot, story, number)
        return
    author, gone = _author(front, store, page, spot, number), Gone(store)
    if front.json:
        front.data([_rest_json(page, author, [number], spot, gone)])
        return
    where = f"{page.label}:{number}"
    front.out(f"{click.style(where, fg='cyan')}  {printable(page.lines[number - 1].strip())}".rstrip())
    for name, text in _author_lines(author, spot, gone):
        _field(front, name, text)


def _author(front: Front, store: Store, page: Sheet, spot: Spot | None, number: int) -> Author | None:
    """Return who wrote a line that belongs to no rule of ours; None for a blank line or an unknown author."""
    if spot is None:
        return spots.authors_of(store, front.env, page).get(number)
    return spots.entry_author(store, front.env, page, spot)


def _tell_story(front: Front, page: Sheet, spot: Spot, story: Story, number: int) -> None:
    where = f"{page.label}:{number}"
    identity = click.style(spot.id, fg="yellow")
    front.out(f"{click.style(where, fg='cyan')}  {identity}  {history_view.state(story)}")
    front.out()
    for line in candidate_view.text_lines(story.learning["text"]):
        front.out(line)
    front.out()
    if _differs(spot, story):
        _field(front, "reads now", f'"{spot.text}"')
    for name, text in history_view.lines(story):
        _field(front, name, text)
    _field(front, "commit", story.commit[:10])


def _field(front: Front, name: str, text: str) -> None:
    for line in candidate_view.field(name, text) if text else ():
        front.out(line)


def _differs(spot: Spot, story: Story) -> bool:
    """Return whether the file's wording differs from the approved one.

    For an improvement, the heading is not enough to tell.
    """
    from reflect_git.targets.inert import same

    is_plain = story.learning["target"]["kind"] != "improvements"
    return is_plain and bool(spot.text) and not same(spot.text, story.learning["text"])


def _tell_file(front: Front, store: Store, excerpt: Excerpt, page: Sheet) -> None:
    known = stories.tell_all(excerpt, [spot.id for spot in page.spots])
    told = {spot: known[spot.id] for spot in page.spots if spot.id in known}
    strange = [spot for spot in page.spots if spot.id not in known]
    rest, gone = spots.authors_of(store, front.env, page), Gone(store)
    brought = {spot: spots.entry_author(store, front.env, page, spot) for spot in strange}
    if front.json:
        front.data(_file_json(page, told, brought, rest, gone))
        return
    for spot, story in told.items():
        for line in _paragraph(spot, story):
            front.out(line)
        front.out()
    for spot in strange:
        whose = "purged, but still here" if gone.has(spot.id) else _NOT_OURS[_kind(brought[spot])]
        front.out(f"{_lines(spot)}  {click.style(spot.id, fg='yellow')}  {whose}")
        for line in candidate_view.text_lines(spot.text):
            front.out(line)
        front.out()
    for line in _rest(page, rest):
        front.out(line)


def _paragraph(spot: Spot, story: Story) -> Iterator[str]:
    yield f"{_lines(spot)}  {click.style(spot.id, fg='yellow')}  {history_view.state(story)}"
    yield from candidate_view.text_lines(story.learning["text"])
    facts = f"approved {history_view.approved(story)}"
    facts += f"; said again {plural(story.again.times, 'time')} since" if story.again.times else ""
    for line in candidate_view.wrap(printable(facts), candidate_view.width() - 4):
        yield f"    {line}"


def _lines(spot: Spot) -> str:
    """Format the line numbers of an entry, without the comment line that has its id."""
    return f"line {spot.end}" if spot.end == spot.start + 1 else f"lines {spot.start + 1}-{spot.end}"


def _rest(page: Sheet, rest: dict[int, Author]) -> Iterator[str]:
    """Count the lines of each author, largest count first."""
    counts: dict[str, int] = {}
    for author in rest.values():
        counts[_name(author)] = counts.get(_name(author), 0) + 1
    names = sorted(counts, key=lambda name: (-counts[name], name))
    told = "; ".join(f"{plural(counts[name], 'line')} {name}" for name in names) or "nothing"
    part = "the rest of " if page.spots else ""
    yield from candidate_view.wrap(printable(f"{part}{page.label}: {told}"), candidate_view.width())


def _name(author: Author) -> str:
    if author.kind == spots.COMMIT:
        return f"committed by {author.name}"
    if author.kind == spots.CLAUDE:
        written = "probably written" if author.is_probable else "written"
        return f"{written} by Claude in session {author.session[:8]}"
    return {spots.MARK: "of reflect-git markers", spots.YOU: "yours, not committed"}[author.kind]


def _author_lines(author: Author | None, spot: Spot | None, gone: Gone) -> Iterator[tuple[str, str]]:
    if spot is not None and gone.has(spot.id):
        yield "purged", f"'{spot.id}' was purged from the history, but is still in this file"
        yield "to do", "delete the line with the id, and the text below it"
    elif spot is not None and author is not None and author.kind == spots.COMMIT:
        yield "written by", f"a colleague with reflect-git; '{spot.id}' is not in this store"
    elif spot is not None:
        yield "approved by", f"nobody: '{spot.id}' is neither in this store nor in a commit of the project"
    if author is None:
        yield "", "" if spot else "a blank line"
    elif author.kind == spots.COMMIT:
        yield "committed by", f"{author.name}, {when(author.time)}"
        yield "commit", f"{author.commit[:10]} {author.subject}"
    elif author.kind == spots.CLAUDE:
        where = f"in session {author.session[:8]}, {when(author.time)}; not approved"
        who = "probably Claude, with a Bash command," if author.is_probable else "Claude"
        yield "written by", f"{who} {where}"
        yield "you had said", f'"{author.subject}"' if author.subject else ""
    elif author.kind == spots.MARK:
        yield "written by", "reflect-git, to mark its rules; removed with the last rule"
    else:
        yield "written by", "you; not committed, and not written in a session"


def _kind(author: Author | None) -> str:
    """Name whose an entry is that this store does not know."""
    if author is None:
        return "unapproved"
    return "colleague" if author.kind == spots.COMMIT else author.kind


def _entry_json(page: Sheet, spot: Spot, story: Story) -> dict[str, Any]:
    return {
        "file": page.path, "lines": [*range(spot.start + 1, spot.end + 1)], "text": spot.text,
        "author": {"kind": spots.LEARNING}, "story": story.as_json(),
    }  # fmt: skip


def _rest_json(
    page: Sheet, author: Author | None, numbers: list[int], spot: Spot | None, gone: Gone
) -> dict[str, Any]:  # fmt: skip
    told = author.as_json() if author else {"kind": "nobody"}
    if spot:
        told = {**told, "kind": "purged" if gone.has(spot.id) else _kind(author), "id": spot.id}
    text = spot.text if spot else "\n".join(page.lines[number - 1].rstrip("\r\n") for number in numbers)
    return {"file": page.path, "lines": numbers, "text": text, "author": told, "story": None}


def _file_json(
    page: Sheet, told: dict[Spot, Story], strange: dict[Spot, Author | None], rest: dict[int, Author], gone: Gone
) -> list[dict[str, Any]]:  # fmt: skip
    """Return our rules, then entries of others, then the remaining lines by author."""
    found = [_entry_json(page, spot, story) for spot, story in told.items()]
    for spot, author in strange.items():
        found.append(_rest_json(page, author, [*range(spot.start + 1, spot.end + 1)], spot, gone))
    by_author = sorted(rest.items(), key=lambda item: str(item[1]))
    for author, group in groupby(by_author, key=lambda item: item[1]):
        found.append(_rest_json(page, author, [number for number, _ in group], None, gone))
    return found
