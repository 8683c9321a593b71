"""Run `reflect-git why`: explain where a line comes from."""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import groupby
from typing import TYPE_CHECKING, Any

import click

from reflect_git.cli.context import CliContext, printable
from reflect_git.cli.options import json_option
from reflect_git.cli.output import candidate_view, history_view
from reflect_git.cli.output.history_view import format_when
from reflect_git.errors import EXIT_USAGE, ReflectError
from reflect_git.history import rule_history as stories
from reflect_git.records.ids import plural
from reflect_git.rules.drift import line_owner as spots
from reflect_git.store.purge.purge_marks import PurgeMarks
from reflect_git.targets.safe_text import is_same_text

if TYPE_CHECKING:
    from reflect_git.history.rule_history import RuleHistory
    from reflect_git.rules.drift.line_owner import Author, EntryLines, InstructionFile
    from reflect_git.store.reading.lookup import RecordLookup
    from reflect_git.store.repository import Store

# Entries that this store does not know, by whose they are.
_FOREIGN_NOTES = {
    "colleague": "from a colleague, not in this store",
    spots.CLAUDE: "written by Claude, not approved",
    "unapproved": "not approved, and in no commit of the project",
}


@click.command()
@click.argument("name", metavar="FILE[:LINE]")
@json_option
@click.pass_obj
def why_command(cli: CliContext, name: str) -> None:
    """Explain where a line of an instruction file comes from.

    For a rule: what you said, who approved it, what it replaced, and what happened since. For any other line: its
    commit, Claude, or you. Without a line number: every rule of the file, and who wrote the rest.
    """
    path, number = _parse_position(name)
    store = cli.open_store(create=False)
    page = spots.load_file(store, cli.env, path, os.getcwd())
    if number > len(page.lines):
        lines = plural(len(page.lines), "line")
        raise ReflectError(f"'{page.label}' has {lines}", f"for example: {page.label}:1", "usage", EXIT_USAGE)
    excerpt = cli.open_lookup(store)
    if number:
        _explain_line(cli, store, excerpt, page, number)
    else:
        _explain_file(cli, store, excerpt, page)


def _parse_position(name: str) -> tuple[str, int]:
    """Split FILE:LINE; the line is 0 if there is none. A file name may contain colons."""
    path, colon, number = name.rpartition(":")
    if not colon or not number.isdigit() or os.path.exists(name):
        return os.path.abspath(name), 0
    if not int(number):
        raise ReflectError("line numbers start at 1", f"try '{path}:1'", "usage", EXIT_USAGE)
    return os.path.abspath(path), int(number)


def _explain_line(cli: CliContext, store: Store, excerpt: RecordLookup, page: InstructionFile, number: int) -> None:
    entry = page.entry_at(number)
    story = stories.load_rule_history(store, excerpt, entry.id) if entry else None
    if entry and story:
        effect = history_view.load_effect_line(cli, store, excerpt.size, story)
        if cli.json:
            cli.print_json([{**_build_rule_json(page, entry, story), "effect": effect or None}])
        else:
            _print_history(cli, page, entry, story, number, effect)
        return
    author, gone = _find_line_author(cli, store, page, entry, number), PurgeMarks(store)
    if cli.json:
        cli.print_json([_build_author_json(page, author, [number], entry, gone)])
        return
    where = f"{page.label}:{number}"
    cli.print_line(f"{click.style(where, fg='cyan')}  {printable(page.lines[number - 1].strip())}".rstrip())
    for name, text in _format_author_fields(author, entry, gone):
        _print_field(cli, name, text)


def _find_line_author(
    cli: CliContext, store: Store, page: InstructionFile, entry: EntryLines | None, number: int
) -> Author | None:
    """Return who wrote a line that belongs to no rule of ours; None for a blank line or an unknown author."""
    if entry is None:
        return spots.find_authors(store, cli.env, page).get(number)
    return spots.find_entry_author(store, cli.env, page, entry)


def _print_history(
    cli: CliContext, page: InstructionFile, entry: EntryLines, story: RuleHistory, number: int, effect: str
) -> None:
    where = f"{page.label}:{number}"
    record_id = click.style(entry.id, fg="yellow")
    cli.print_line(f"{click.style(where, fg='cyan')}  {record_id}  {history_view.format_state(story)}")
    cli.print_line()
    for line in candidate_view.format_text(story.learning["text"]):
        cli.print_line(line)
    cli.print_line()
    if _is_reworded(entry, story):
        _print_field(cli, "reads now", f'"{entry.text}"')
    for name, text in history_view.format_history(story, effect):
        _print_field(cli, name, text)
    _print_field(cli, "commit", story.commit[:10])


def _print_field(cli: CliContext, name: str, text: str) -> None:
    for line in candidate_view.format_field(name, text) if text else ():
        cli.print_line(line)


def _is_reworded(entry: EntryLines, story: RuleHistory) -> bool:
    """Return whether the file's wording differs from the approved one.

    For an improvement, the heading is not enough to tell.
    """
    is_plain = story.learning["target"]["kind"] != "improvements"
    return is_plain and bool(entry.text) and not is_same_text(entry.text, story.learning["text"])


def _explain_file(cli: CliContext, store: Store, excerpt: RecordLookup, page: InstructionFile) -> None:
    known = stories.load_rule_histories(excerpt, [spot.id for spot in page.entries], store.machine)
    described = {spot: known[spot.id] for spot in page.entries if spot.id in known}
    strange = [spot for spot in page.entries if spot.id not in known]
    rest, gone = spots.find_authors(store, cli.env, page), PurgeMarks(store)
    authors = {spot: spots.find_entry_author(store, cli.env, page, spot) for spot in strange}
    if cli.json:
        cli.print_json(_build_file_json(page, described, authors, rest, gone))
        return
    for entry, story in described.items():
        for line in _format_rule(entry, story):
            cli.print_line(line)
        cli.print_line()
    for entry in strange:
        whose = (
            "purged, but still here" if gone.is_purged(entry.id) else _FOREIGN_NOTES[_get_author_kind(authors[entry])]
        )
        cli.print_line(f"{_format_line_range(entry)}  {click.style(entry.id, fg='yellow')}  {whose}")
        for line in candidate_view.format_text(entry.text):
            cli.print_line(line)
        cli.print_line()
    for line in _format_other_authors(page, rest):
        cli.print_line(line)


def _format_rule(entry: EntryLines, story: RuleHistory) -> Iterator[str]:
    yield f"{_format_line_range(entry)}  {click.style(entry.id, fg='yellow')}  {history_view.format_state(story)}"
    yield from candidate_view.format_text(story.learning["text"])
    facts = f"approved {history_view.format_approval(story)}"
    facts += f"; said again {plural(story.repeats.times, 'time')} since" if story.repeats.times else ""
    for line in candidate_view.wrap(printable(facts), candidate_view.text_width() - 4):
        yield f"    {line}"


def _format_line_range(entry: EntryLines) -> str:
    """Format the line numbers of an entry, without the comment line that has its id."""
    return f"line {entry.end}" if entry.end == entry.start + 1 else f"lines {entry.start + 1}-{entry.end}"


def _format_other_authors(page: InstructionFile, rest: dict[int, Author]) -> Iterator[str]:
    """Count the lines of each author, largest count first."""
    counts: dict[str, int] = {}
    for author in rest.values():
        counts[_format_author(author)] = counts.get(_format_author(author), 0) + 1
    names = sorted(counts, key=lambda name: (-counts[name], name))
    described = "; ".join(f"{plural(counts[name], 'line')} {name}" for name in names) or "nothing"
    part = "the rest of " if page.entries else ""
    yield from candidate_view.wrap(printable(f"{part}{page.label}: {described}"), candidate_view.text_width())


def _format_author(author: Author) -> str:
    if author.kind == spots.COMMIT:
        return f"committed by {author.name}"
    if author.kind == spots.CLAUDE:
        written = "probably written" if author.is_probable else "written"
        return f"{written} by Claude in session {author.session[:8]}"
    return {spots.MARK: "of reflect-git markers", spots.YOU: "yours, not committed"}[author.kind]


def _format_author_fields(
    author: Author | None, entry: EntryLines | None, gone: PurgeMarks
) -> Iterator[tuple[str, str]]:
    if entry is not None and gone.is_purged(entry.id):
        yield "purged", f"'{entry.id}' was purged from the history, but is still in this file"
        yield "to do", "delete the line with the id, and the text below it"
    elif entry is not None and author is not None and author.kind == spots.COMMIT:
        yield "written by", f"a colleague with reflect-git; '{entry.id}' is not in this store"
    elif entry is not None:
        yield "approved by", f"nobody: '{entry.id}' is neither in this store nor in a commit of the project"
    if author is None:
        yield "", "" if entry else "a blank line"
    elif author.kind == spots.COMMIT:
        yield "committed by", f"{author.name}, {format_when(author.time)}"
        yield "commit", f"{author.commit[:10]} {author.subject}"
    elif author.kind == spots.CLAUDE:
        where = f"in session {author.session[:8]}, {format_when(author.time)}; not approved"
        who = "probably Claude, with a Bash command," if author.is_probable else "Claude"
        yield "written by", f"{who} {where}"
        yield "you had said", f'"{author.subject}"' if author.subject else ""
    elif author.kind == spots.MARK:
        yield "written by", "reflect-git, to mark its rules; removed with the last rule"
    else:
        yield "written by", "you; not committed, and not written in a session"


def _get_author_kind(author: Author | None) -> str:
    """Name whose an entry is that this store does not know."""
    if author is None:
        return "unapproved"
    return "colleague" if author.kind == spots.COMMIT else author.kind


def _build_rule_json(page: InstructionFile, entry: EntryLines, story: RuleHistory) -> dict[str, Any]:
    return {
        "file": page.path, "lines": [*range(entry.start + 1, entry.end + 1)], "text": entry.text,
        "author": {"kind": spots.LEARNING}, "story": story.as_json(),
    }  # fmt: skip


def _build_author_json(
    page: InstructionFile, author: Author | None, numbers: list[int], entry: EntryLines | None, gone: PurgeMarks
) -> dict[str, Any]:  # fmt: skip
    described = author.as_json() if author else {"kind": "nobody"}
    if entry:
        described = {
            **described,
            "kind": "purged" if gone.is_purged(entry.id) else _get_author_kind(author),
            "id": entry.id,
        }
    text = entry.text if entry else "\n".join(page.lines[number - 1].rstrip("\r\n") for number in numbers)
    return {"file": page.path, "lines": numbers, "text": text, "author": described, "story": None}


def _build_file_json(
    page: InstructionFile,
    described: dict[EntryLines, RuleHistory],
    strange: dict[EntryLines, Author | None],
    rest: dict[int, Author],
    gone: PurgeMarks,
) -> list[dict[str, Any]]:
    """Return our rules, then entries of others, then the remaining lines by author."""
    found = [_build_rule_json(page, spot, story) for spot, story in described.items()]
    for entry, author in strange.items():
        found.append(_build_author_json(page, author, [*range(entry.start + 1, entry.end + 1)], entry, gone))
    by_author = sorted(rest.items(), key=lambda item: str(item[1]))
    for author, group in groupby(by_author, key=lambda item: item[1]):
        found.append(_build_author_json(page, author, [number for number, _ in group], None, gone))
    return found
