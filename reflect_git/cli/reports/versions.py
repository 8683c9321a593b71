"""Run `reflect-git versions`: the versions of an instruction file, and what sessions under each were like."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from reflect_git.cli import options
from reflect_git.cli.context import CliContext, display_width, one_line, printable, terminal_width
from reflect_git.cli.options import json_option, project_option
from reflect_git.cli.review_setup import open_context, print_diff
from reflect_git.effect.scores import load_overall_scores
from reflect_git.errors import EXIT_USAGE, ReflectError
from reflect_git.history.versions import build_version_diff, load_file_versions
from reflect_git.records.ids import plural
from reflect_git.rules import restore, snapshot

if TYPE_CHECKING:
    from reflect_git.history.versions import FileVersion
    from reflect_git.rules.context import Context

_SHOW, _DIFF = "show", "diff"
_USAGE = "give a file, 'show v7', or 'diff v6 v7'"


@click.command()
@click.argument("words", metavar="[TARGET] | show V | diff V [V]", nargs=-1)
@click.option("--target", "to", metavar="TARGET", default="", help=f"The file: {options.TARGETS}.")
@project_option
@json_option
@click.pass_obj
def versions_command(cli: CliContext, words: tuple[str, ...], to: str, project: str | None) -> None:
    """List the versions of an instruction file, the newest first.

    Each line has the version's parent, the person and the reason, and how many sessions loaded it. It also says how
    often you corrected Claude in these sessions, for each 100 messages that you typed. Without a file: the project's,
    or else the global one.

    \b
    Examples:
      reflect-git versions global
      reflect-git versions show v7
      reflect-git versions diff v6 v7
    """
    verb = words[0] if words and words[0] in (_SHOW, _DIFF) else ""
    names = words[1:] if verb else ()
    limits = {_SHOW: (1, 1), _DIFF: (1, 2), "": (0, 0)}[verb]
    if not verb and words:
        to, words = to or words[0], words[1:]
    if not limits[0] <= len(names) <= limits[1] or (not verb and words):
        raise ReflectError("no version or file named", _USAGE, "usage", EXIT_USAGE)
    ctx = _open(cli, project)
    if ctx is None:
        return
    target, listed = restore.find_versions(ctx, to)
    chosen = [snapshot.find_version(listed, name).number for name in names]
    found = load_file_versions(ctx, target, listed, load_overall_scores(ctx.scan.other_records.values()))
    label = ctx.place.diff_path(target)
    by_number = {one.version.number: one for one in found}
    if verb == _SHOW:
        _show_version(cli, by_number[chosen[0]], label)
    elif verb == _DIFF:
        old, new = _find_pair(by_number, chosen)
        text = build_version_diff(ctx.place, target, old.body if old else b"", new.body)
        if cli.json:
            cli.print_json(
                {"target": label, "from": old and old.version.number, "to": new.version.number, "diff": text}
            )
        else:
            print_diff(cli, text or "no difference\n")
    elif cli.json:
        cli.print_json({"target": label, "versions": [one.as_json() for one in reversed(found)]})
    else:
        _list_versions(cli, found, label)


def _open(cli: CliContext, project: str | None) -> Context | None:
    """Open the store and the project; None if no store exists."""
    store = cli.find_store()
    if store is None:
        cli.print_json({"target": None, "versions": []}) if cli.json else cli.print_no_store()
        return None
    return open_context(cli, project)


def _find_pair(known: dict[int, FileVersion], chosen: list[int]) -> tuple[FileVersion | None, FileVersion]:
    """Return two versions; one alone is compared with its parent."""
    if len(chosen) == 2:
        return known[chosen[0]], known[chosen[1]]
    parent = known[chosen[0]].parent
    return (known[parent] if parent else None), known[chosen[0]]


def _format_usage(one: FileVersion) -> str:
    usage = one.usage
    if not usage.sessions:
        return "no sessions"
    said = plural(usage.sessions, "session")
    said += "" if usage.rate is None else f", {usage.rate:.1f} corrections per 100"
    anchored = "anchored" if usage.is_anchored else "not anchored"
    return said + ("" if usage.score is None else f", score {usage.score:.1f} ({anchored})")


def _list_versions(cli: CliContext, found: list[FileVersion], label: str) -> None:
    cli.print_text(printable(f"{label}: {plural(len(found), 'version')}"))
    room = terminal_width()
    usages = [_format_usage(one) for one in found]
    width = max(map(display_width, usages))
    for one, usage in zip(reversed(found), reversed(usages), strict=True):
        number = f"v{one.version.number}"
        head = f"{one.version.time[:10]}  {usage:<{width}}  "
        parent = f"from v{one.parent}" if one.parent else "first"
        same = f", same rules as v{one.same_as}" if one.same_as else ""
        said = one_line(one.subject, max(20, room - len(head) - 7))
        cli.print_line(f"{click.style(f'{number:<5}', fg='yellow')}  {head}{said}")
        by = f", by {one.person}" if one.person else ""
        cli.print_line(click.style(f"       {one_line(f'{parent}{same}{by}', room - 7)}", dim=True))
        if one.reason:
            cli.print_line(click.style(f"       {one_line(one.reason, room - 7)}", dim=True))


def _show_version(cli: CliContext, one: FileVersion, label: str) -> None:
    if cli.json:
        cli.print_json({"target": label, **one.as_json(), "texts": dict(one.entries)})
        return
    cli.print_line(click.style(printable(f"v{one.version.number} of {label}"), fg="yellow"))
    fields = [
        ("commit", one.version.commit[:10]), ("time", one.version.time), ("change", one.subject),
        ("reason", one.reason), ("by", one.person), ("parent", f"v{one.parent}" if one.parent else ""),
        ("same as", f"v{one.same_as}" if one.same_as else ""), ("sessions", _format_usage(one)),
    ]  # fmt: skip
    for name, value in fields:
        if value:
            cli.print_line(printable(f"{name + ':':<10} {value}"))
    cli.print_line()
    for record_id, text in one.entries.items():
        cli.print_line(f"{click.style(record_id, fg='yellow')}  {one_line(text, max(20, terminal_width() - 24))}")
    if not one.entries:
        cli.print_note("no rules of ours in this version")
