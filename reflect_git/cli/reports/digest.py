"""Run `reflect-git digest`: what a day, a week or a month was about."""

from __future__ import annotations

import re
import time
from datetime import date, timedelta
from typing import TYPE_CHECKING

import click

from reflect_git.capture import service
from reflect_git.cli.context import CliContext, get_cwd, one_line, printable, terminal_width
from reflect_git.cli.options import json_option
from reflect_git.cli.reports.search import show_progress
from reflect_git.errors import EXIT_USAGE, ReflectError
from reflect_git.memory import digest_page, digests
from reflect_git.records import yaml_form
from reflect_git.records.ids import plural, utc
from reflect_git.store.index import Index

if TYPE_CHECKING:
    from reflect_git.memory.digests import Page
    from reflect_git.store.repository import Store

_TITLES = {
    "worked": "worked on", "decided": "decided", "learned": "learned", "broken": "broken", "open": "still open",
    "noticed": "noticed",
}  # fmt: skip
_SHOWN = 12  # lines of a section, without --all


@click.command()
@click.argument("period", default="")
@click.option("--day", "unit", flag_value="day", help="Today.")
@click.option("--week", "unit", flag_value="week", default=True, help="This week. This is the default.")
@click.option("--month", "unit", flag_value="month", help="This month: its weeks, from Monday to Sunday.")
@click.option("--last", is_flag=True, help="The day, week or month before that.")
@click.option("--since", metavar="TIME", default="", help="From 2026-02-11, or 12h, 30d, 4w ago, until today.")
@click.option("--project", metavar="NAME|KEY", default="", help="Only this project.")
@click.option("--all", "everything", is_flag=True, help=f"All lines; otherwise {_SHOWN} of each kind.")
@json_option
@click.pass_obj
def digest_command(
    cli: CliContext, period: str, unit: str, last: bool, since: str, project: str, everything: bool
) -> None:
    """Show what a day, week or month was about: worked on, decided, learned, broken, still open.

    PERIOD is a day (2026-02-11), a week (2026-W07) or a month (2026-02). Each line says how many records it stands for;
    --json lists their ids. Lines are extracts, and no model is called.

    \b
    Examples:
      reflect-git digest --week --last
      reflect-git digest 2026-02 --project shop --all
    """
    store = cli.open_mined_store()
    if store is None:
        cli.print_json(None) if cli.json else cli.print_no_store()
        return
    from reflect_git.platform import yaml_loose

    today = utc(time.time())[:10]
    if since:
        start, end, name = service.parse_since(since)[:10], _get_next_day(today), f"since {since}"
    else:
        name = period or _get_period(today, unit, last)
        if not yaml_form.is_period(name) and not _is_day(name):
            hint = "write 2026-02-11, 2026-W07 or 2026-02"
            raise ReflectError(f"'{printable(name)}' is not a day, week or month", hint, "usage", EXIT_USAGE)
        start, end = digests.get_bounds(name)
    index = Index(store, yaml_loose.parse_edited, show_progress(cli))
    page = digest_page.load_page(store, index, start, end, name, project, today)
    effect = _describe_effect(cli, store) if page.is_running else ""
    if cli.json:
        cli.print_json({**digest_page.as_json(page), "effect": effect or None})
    else:
        _print_page(cli, page, effect, everything)


def _describe_effect(cli: CliContext, store: Store) -> str:
    """Return in one line whether the rules help; empty without rules or recorded sessions."""
    scan = cli.scan(store)
    if not scan.history.learnings:
        return ""
    from reflect_git.effect import table

    return table.describe_all(store, cli.env, scan, get_cwd())


def _get_next_day(day: str) -> str:
    return (date.fromisoformat(day) + timedelta(days=1)).isoformat()


def _is_day(name: str) -> bool:
    try:
        return date.fromisoformat(name).isoformat() == name
    except ValueError:
        return False


def _get_period(today: str, unit: str, last: bool) -> str:
    """Return the running day, week or month, or the one before."""
    day = date.fromisoformat(today)
    if unit == "day":
        return (day - timedelta(days=last)).isoformat()
    week = digests.week_of((day - timedelta(days=7 * (last and unit == "week"))).isoformat())
    if unit == "week":
        return week
    month = digests.month_of(week)
    if last:
        first = date.fromisoformat(digests.get_bounds(month)[0])
        month = digests.month_of(digests.week_of((first - timedelta(days=1)).isoformat()))
    return month


def _print_page(cli: CliContext, page: Page, effect: str, everything: bool) -> None:
    note = ", still running" if page.is_running else ""
    cli.print_line(f"{click.style(page.period, bold=True)}  {page.start} to before {page.end}{note}")
    cli.print_text(digest_page.format_figures(page.figures))
    if effect:
        cli.print_text(printable(effect))
    if page.ratio >= 1:
        cli.print_text(f"one character stands for {page.ratio:,.0f} of the conversations")
    several = len({name for name, _ in page.lines}) > 1
    for section, title in _TITLES.items():
        found = [(name, line) for name, line in page.lines if line["section"] == section]
        if not found:
            continue
        cli.print_line()
        cli.print_line(click.style(title, fg="cyan"))
        for name, line in found if everything else found[:_SHOWN]:
            count = f"{len(line['ids'])} × " if len(line["ids"]) > 1 else ""
            where = f"[{printable(name)}] " if several and name else ""
            text = re.sub(r"^[-*#>\s]+", "", line["text"])
            room = max(40, terminal_width() - len(count) - len(where) - 4)
            cli.print_line(f"  {click.style(where, dim=True)}{count}{one_line(text, room)}")
        if len(found) > _SHOWN and not everything:
            cli.print_line(click.style(f"  and {plural(len(found) - _SHOWN, 'line')} more: --all", dim=True))
    if not page.lines:
        cli.print_note("nothing was recorded in that time")
