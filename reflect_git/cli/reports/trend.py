"""Run `reflect-git trend` and `bisect`: what changed over time, and with which approval."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

import click

from reflect_git.candidates.session_events import SessionEvents, find_keys
from reflect_git.cli.context import CliContext, get_cwd, one_line, printable
from reflect_git.cli.options import json_option
from reflect_git.effect import bisect, trend
from reflect_git.effect.chart import build_sparkline, build_svg, describe_approvals, format_rate
from reflect_git.effect.scores import load_scores
from reflect_git.effect.trend import FIGURES
from reflect_git.errors import EXIT_USAGE, ReflectError
from reflect_git.judge.calibrate import format_anchor
from reflect_git.records.ids import plural, utc
from reflect_git.rules import project_files
from reflect_git.store import api

if TYPE_CHECKING:
    from reflect_git.effect.bisect import StepSearch
    from reflect_git.effect.scores import Score
    from reflect_git.effect.trend import VersionFigures, Week
    from reflect_git.records.schema import Decision
    from reflect_git.rules.project_files import Place
    from reflect_git.store.reading.reader import Scan

_MAX_WEEKS = 520
_LABEL_WIDTH = 15


def _load(cli: CliContext, only_project: bool) -> tuple[Scan, SessionEvents, dict[str, Score], Place | None] | None:
    """Load the sessions of this project or of all; None if no store exists."""
    store = cli.open_mined_store()
    if store is None:
        return None
    scan = cli.scan(store)
    place = project_files.find_place(store, cli.env, get_cwd())
    if only_project and not place.project:
        raise ReflectError("this folder is in no project", "run it in a project, or without --project", "usage")
    seen = SessionEvents(scan, project_files.load_key_aliases(store, place))
    return scan, seen, load_scores(scan.other_records.values()), place if only_project else None


@click.command()
@click.option(
    "--weeks", metavar="N", type=click.IntRange(1, _MAX_WEEKS), default=12, help="How many weeks; default: 12."
)
@click.option("--project", "only_project", is_flag=True, help="Only sessions and rules of this project.")
@click.option("--by-version", is_flag=True, help="Compare the versions of each file instead of weeks.")
@click.option("--svg", "picture", metavar="FILE", type=click.Path(dir_okay=False), help="Also draw it as a picture.")
@json_option
@click.pass_obj
def trend_command(cli: CliContext, weeks: int, only_project: bool, by_version: bool, picture: str | None) -> None:
    """Show corrections, failures, interruptions and tokens per week, for each 100 messages that you typed.

    It also shows how many rules were approved, changed and reverted in each week, and the scores of a judge if there
    are any. Tokens are those that Claude read for the first time, and those that it wrote.

    --by-version shows the same for the sessions that loaded each version of an instruction file.

    \b
    Examples:
      reflect-git trend --weeks 26
      reflect-git trend --svg trend.svg
    """
    if by_version and picture:
        raise ReflectError("--svg draws weeks, not versions", "leave out --by-version", "usage", EXIT_USAGE)
    loaded = _load(cli, only_project)
    if loaded is None:
        cli.print_json({"versions" if by_version else "weeks": []}) if cli.json else cli.print_no_store()
        return
    scan, seen, scores, place = loaded
    projects = set(place.keys) if place else None
    sessions = [one for one in seen.sessions if projects is None or one.project in projects]
    if by_version:
        _print_versions(cli, trend.count_versions(sessions, scores))
        return
    changes = trend.list_changes(scan.history, projects)
    found = trend.count_weeks(sessions, changes, scores, trend.list_weeks(utc(), weeks))
    if picture:
        _write_picture(picture, found)
    if cli.json:
        cli.print_json({"weeks": [week.as_json() for week in found]})
    else:
        _show_trend(cli, found)
    if picture:
        cli.print_note(printable(f"wrote '{picture}'"))


def _print_versions(cli: CliContext, found: list[VersionFigures]) -> None:
    """Print a table for each file; its versions are rows."""
    if cli.json:
        cli.print_json({"versions": [one.as_json() for one in found]})
        return
    if not found:
        cli.print_note("no session recorded which version of a file it loaded")
        return
    weeks = [one.figures for one in found]
    figures, criteria = _list_figures(weeks), sorted({name for week in weeks for name in week.criteria})
    scored = ["score", *criteria] if any(week.scored for week in weeks) else []
    heads = [name.replace("_", " ") for name in ("sessions", "messages", *figures, *scored)]
    for (_, path), listed in groupby(found, lambda one: (one.project, one.path)):
        cli.print_line(click.style(printable(f"{path}, for each 100 of your messages"), bold=True))
        cli.print_line(click.style("version  " + "  ".join(f"{head:>8}" for head in heads), dim=True))
        for one in listed:
            week = one.figures
            cells = [str(week.sessions), str(week.typed), *(format_rate(week.get_rate(name)) for name in figures)]
            cells += [format_rate(week.score), *(format_rate(week.criteria.get(name)) for name in criteria)][
                : len(scored)
            ]
            row = "  ".join(f"{cell:>{max(8, len(head))}}" for cell, head in zip(cells, heads, strict=True))
            cli.print_line(f"{f'v{one.version}':<7}  {row}")
    _note_anchors(cli, weeks)


def _note_anchors(cli: CliContext, weeks: list[Week]) -> None:
    """Say what the scores are worth, if there are any."""
    scored = [week for week in weeks if week.scored]
    if scored:
        cli.print_note(f"scores: {format_anchor(all(week.is_anchored for week in scored))}")


def _list_figures(weeks: list[Week]) -> list[str]:
    """Return the figures that any of the weeks has; older sessions have no tokens."""
    return [name for name in FIGURES if name != "tokens" or any(week.tokens is not None for week in weeks)]


def _write_picture(path: str, weeks: list[Week]) -> None:
    try:
        with open(path, "w", encoding="utf-8") as file:
            file.write(build_svg(weeks, _list_figures(weeks)))
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        raise ReflectError(f"cannot write '{path}': {why}", "choose another file", "system") from error


def _show_trend(cli: CliContext, weeks: list[Week]) -> None:
    """Print a line of blocks for each figure, then a table."""
    sessions, typed = sum(week.sessions for week in weeks), sum(week.typed for week in weeks)
    cli.print_text(
        f"per 100 of your messages, {plural(len(weeks), 'week')}: {plural(sessions, 'session')}, "
        f"{plural(typed, 'message')}, {describe_approvals(weeks)}"
    )
    if not sessions:
        return
    cli.print_line()
    figures = _list_figures(weeks)
    for name in figures:
        rates = [week.get_rate(name) for week in weeks]
        known = [rate for rate in rates if rate is not None]
        ends = f"{format_rate(known[0])} → {format_rate(known[-1])}" if known else ""
        cli.print_line(f"{name:<{_LABEL_WIDTH}}{click.style(build_sparkline(rates), fg='cyan')}  {ends}")
    for name in sorted({name for week in weeks for name in week.criteria}):
        means = [week.criteria.get(name) for week in weeks]
        known = [mean for mean in means if mean is not None]
        ends = f"{format_rate(known[0])} → {format_rate(known[-1])} of 5"
        label = name.replace("missed_", "missed ").partition(" opp")[0]
        cli.print_line(f"{label:<{_LABEL_WIDTH}}{click.style(build_sparkline(means), fg='cyan')}  {ends}")
    counts = [("approved", [week.approvals for week in weeks]), ("versions", [week.changes for week in weeks]),
              ("reverted", [week.reversions for week in weeks])]  # fmt: skip
    for label, numbers in counts:
        if any(numbers) or label == "approved":
            marks = "".join(str(min(number, 9)) if number else "·" for number in numbers)
            cli.print_line(f"{label:<{_LABEL_WIDTH}}{click.style(marks, fg='yellow')}")
    cli.print_line()
    scored = any(week.scored for week in weeks)
    heads = ["sessions", "messages", *figures, "approved", *(["score"] if scored else [])]
    cli.print_line(click.style("week of     " + "  ".join(f"{head:>8}" for head in heads), dim=True))
    for week in weeks:
        cells = [str(week.sessions), str(week.typed), *(format_rate(week.get_rate(name)) for name in figures)]
        cells += [str(week.approvals or "-"), *([format_rate(week.score)] if scored else [])]
        widths = [max(8, len(head)) for head in heads]
        cli.print_line(f"{week.start}  " + "  ".join(f"{cell:>{w}}" for cell, w in zip(cells, widths, strict=True)))
    _note_anchors(cli, weeks)


_SCORE, _CORRECTIONS = "score", "corrections"
_LEAST_SCORED = 10
_CLEAR, _STRONG = 3.0, 1000.0


@click.command()
@click.option("--metric", metavar="WORD", default="", help="score, corrections, or a rule: how often it was needed.")
@click.option("--project", "only_project", is_flag=True, help="Only sessions and rules of this project.")
@json_option
@click.pass_obj
def bisect_command(cli: CliContext, metric: str, only_project: bool) -> None:
    """Find the approval after which sessions became worse.

    It first says whether sessions became worse at all. If they did, it lists the approvals, edits and reverts among
    which the cause is with 90 % probability. Often these are several, because they are close in time.

    \b
    Examples:
      reflect-git bisect
      reflect-git bisect --metric LRN-20260211-6t8r1w3q
    """
    loaded = _load(cli, only_project)
    if loaded is None:
        cli.print_json({"metric": None, "factor": 0.0, "suspects": []}) if cli.json else cli.print_no_store()
        return
    scan, seen, scores, place = loaded
    projects = set(place.keys) if place else None
    numbers = [at for at, one in enumerate(seen.sessions) if projects is None or one.project in projects]
    scored = [at for at in numbers if seen.sessions[at].name in scores]
    metric = metric or (_SCORE if len(scored) >= _LEAST_SCORED else _CORRECTIONS)
    if metric == _SCORE:
        if not scored:
            raise ReflectError("no session has a score", f"try --metric {_CORRECTIONS}", "no-scores")
        numbers, values = scored, [scores[seen.sessions[at].name].overall for at in scored]
    elif metric == _CORRECTIONS:
        numbers = [at for at in numbers if seen.sessions[at].typed]
        # The square root of a count has the same spread at every level.
        values = [-((seen.sessions[at].corrections / seen.sessions[at].typed) ** 0.5) for at in numbers]
    else:
        metric, events = _find_events(scan, seen, metric)
        values = [-1.0 if at in events else 0.0 for at in numbers]
    by_start: dict[int, list[Decision]] = {}
    for made in trend.list_changes(scan.history, projects):
        start = seen.count_before(made["timestamp"])
        by_start.setdefault(sum(at < start for at in numbers), []).append(made)
    starts = sorted(by_start)
    step = bisect.STEP
    if metric != _SCORE:
        values, step = bisect.normalise(values, starts), 1.0
    search = bisect.find_step(values, starts, step)
    likely = [(one.probability, by_start[starts[one.approval]]) for one in bisect.find_likely_set(search.suspects)]
    if cli.json:
        listed = [
            {"probability": round(share, 4), "decisions": [made["id"] for made in group],
             "learnings": list(dict.fromkeys(made["subject"] for made in group)), "timestamp": group[0]["timestamp"]}
            for share, group in likely
        ]  # fmt: skip
        cli.print_json(
            {"metric": metric, "sessions": len(numbers), "changes": len(search.suspects),
             "factor": float(f"{search.factor:.3g}"), "is_clear": search.factor >= _CLEAR, "suspects": listed}
        )  # fmt: skip
    else:
        _show_suspects(cli, scan, metric, len(numbers), search, likely)


def _find_events(scan: Scan, seen: SessionEvents, name: str) -> tuple[str, set[int]]:
    """Return the key or rule that a name means, and the sessions in which it was seen."""
    if name in seen.events:
        return name, seen.events[name]
    history = scan.history
    hint = f"give '{_SCORE}', '{_CORRECTIONS}', or the id of a rule"
    record_id = api.find_id_of_kind("a rule", history.learnings, name, scan.columns["id"], hint)
    keys = find_keys(history, dict(zip(scan.columns["id"], scan.columns["key"], strict=True)))[record_id]
    return record_id, set(seen.find_events(keys))


def _show_suspects(
    cli: CliContext, scan: Scan, metric: str, sessions: int, search: StepSearch,
    likely: list[tuple[float, list[Decision]]],
) -> None:  # fmt: skip
    what = {_SCORE: "scores", _CORRECTIONS: "corrections"}.get(metric, f"sessions that needed {metric}")
    if not search.suspects:
        cli.print_text(f"no evidence yet: no change of a rule between {plural(sessions, 'session')} with {what}")
        return
    worse = "became lower" if metric == _SCORE else "became more"
    changes = plural(len(search.suspects), "change", "changes")
    if search.factor < _CLEAR:
        cli.print_text(f"no evidence that {what} {worse} after one of {changes}, in {plural(sessions, 'session')}")
        cli.print_note("if there was one cause, it is with 90 % probability among these:")
    else:
        times = "more than 1000" if search.factor > _STRONG else f"{search.factor:.0f}"
        cli.print_text(f"{what} {worse}: {times} times more likely than no change, in {plural(sessions, 'session')}")
        cli.print_note("if there was one cause, it is with 90 % probability among these:")
    for share, group in likely:
        for at, made in enumerate(group):
            rule = scan.history.learnings[made["subject"]]
            chance = f"{100 * share:3.0f} %" if not at else "     "
            cli.print_line(
                f"{chance}  {made['timestamp'][:10]}  {made['kind']:<8}  {click.style(rule['id'], fg='yellow')}"
            )
            cli.print_line(f"       {one_line(rule['title'] or rule['text'], 90)}")
