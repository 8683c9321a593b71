"""Run `reflect-git rules`: list the rules, now or at an earlier time."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from itertools import groupby
from typing import TYPE_CHECKING, Any

import click

from reflect_git.capture.service import parse_since
from reflect_git.cli.context import CliContext, get_cwd, one_line, printable
from reflect_git.cli.options import json_option
from reflect_git.cli.output import candidate_view
from reflect_git.cli.output.history_view import format_day, format_when
from reflect_git.errors import EXIT_USAGE, ReflectError
from reflect_git.history import rules_at
from reflect_git.history.rules_at import (
    AGE_HINT,
    ALL,
    GLOBAL,
    PROJECT,
    RuleFilter,
    RuleInForce,
    get_day_end,
    list_rules,
)
from reflect_git.records.ids import plural
from reflect_git.records.rule_numbers import get_heading
from reflect_git.rules import project_files
from reflect_git.rules.context import load_context

if TYPE_CHECKING:
    from reflect_git.store.reading.reader import Scan
    from reflect_git.store.repository import Store

    RuleChange = tuple[str, RuleInForce | None, RuleInForce | None]
    Absent = tuple[str, list[str]]

_VERSION = re.compile("v[0-9]{1,9}")
_ABSENT_NOTES = {
    "waiting": ("not in a file here yet; apply it with: reflect-git review",),
    "declined": ("declined on this machine", "apply it after all: reflect-git revert {}"),
}
_LOADED = {
    "matching": "when a matching file is read",
    "on request": "when Claude opens it",
    "never": "not read by Claude Code",
}
_COLOURS = {rules_at.ADDED: "green", rules_at.REWORDED: "cyan", rules_at.MOVED: "cyan", rules_at.REVERTED: "red"}


@click.command()
@click.option("--global", "only_global", is_flag=True, help="Only global rules.")
@click.option("--project", "only_project", is_flag=True, help="Only rules of this project.")
@click.option("--all", "everything", is_flag=True, help="Rules of every project.")
@click.option("--target", metavar="FILE", default="", help="Rules of one file, as listed.")
@click.option("--grep", "words", metavar="TEXT", default="", help="Rules with this in their text, target or id.")
@click.option(
    "--at", metavar="TIME|vN", default="", help="Rules at an earlier time: 2026-02-11, 2w, '2 weeks ago', v7."
)
@click.option("--decorative", is_flag=True, help="Rules that nothing enforces or counts, though it could be.")
@click.option("--stale", is_flag=True, help="Rules that may no longer be true, with the reason.")
@click.option("--budget", is_flag=True, help="Lines, rules and tokens of every instruction file.")
@click.option("--diff", "compare", is_flag=True, help="Show the changes since --at.")
@json_option
@click.pass_obj
def rules_command(
    cli: CliContext, only_global: bool, only_project: bool, everything: bool, target: str, words: str, at: str,
    compare: bool, decorative: bool, stale: bool, budget: bool,
) -> None:  # fmt: skip
    """List the rules that apply here: approved and not reverted.

    --at v7 means version 7 of the project's file. Add --global or --target for another file.
    'reflect-git log' shows the version that each decision made.

    With --json, each rule in force now has a trigger (what a guard matches), its enforcement (the guard's mode) and its
    verification (how it is counted whether Claude follows it). A decorative rule could be guarded but is not, or has
    nothing that can be counted.
    """
    chosen = [name for name, is_on in ((GLOBAL, only_global), (PROJECT, only_project), (ALL, everything)) if is_on]
    if len(chosen) > 1:
        raise ReflectError(
            f"--{chosen[0]} and --{chosen[1]} cannot be used together", "use one of them", "usage", EXIT_USAGE
        )
    if compare and not at:
        raise ReflectError("--diff needs --at", "for example: --at 2w, or --at v7", "usage", EXIT_USAGE)
    if stale and at:
        raise ReflectError("--stale is about the rules in force now", "leave out --at", "usage", EXIT_USAGE)
    if decorative and at:
        raise ReflectError("--decorative is about the rules in force now", "leave out --at", "usage", EXIT_USAGE)
    if budget and (at or chosen or target or words or decorative or stale):
        raise ReflectError("--budget is about every file here", "leave out the other options", "usage", EXIT_USAGE)
    store = cli.open_mined_store()
    if store is None:
        _print_no_store(cli)
        return
    if budget:
        _print_budget(cli, store)
        return
    place = project_files.find_place(store, cli.env, get_cwd())
    target, is_global = cli.parse_listed_path(target)
    choice = RuleFilter(place.keys, GLOBAL if is_global else "".join(chosen), words, target)
    scan = cli.scan(store)
    if not at:
        found = list_rules(scan, choice)
        parts = _describe_parts(store, scan, found) if cli.json or decorative else None
        if parts and decorative:
            found = [rule for rule in found if parts[rule.id]["decorative"]]
        reasons = _find_stale(store, scan, place, [rule.id for rule in found]) if stale else {}
        found = [rule for rule in found if rule.id in reasons] if stale else found
        is_filtered = bool(words or chosen or target or decorative or stale)
        effects = _load_effect_lines(store, scan, place) if found else {}
        absent = {**_find_old_headings(scan, found), **_find_absent(store, scan, place), **reasons}
        _print_answer(cli, found, is_filtered, absent, parts=parts, effects=effects)
        return
    said, then, now = _load_past_rules(store, scan, place, choice, at)
    if compare:
        _print_changes(cli, said, rules_at.list_changes(then, now))
    else:
        _print_answer(cli, then, bool(words or target), none="no rules were in force then")


def _print_budget(cli: CliContext, store: Store) -> None:
    """Print what each instruction file costs, and what would make long ones shorter."""
    from reflect_git.memory import budget

    found = budget.measure_files(load_context(store, cli.env, cli.scan(store), get_cwd()))
    total = budget.count_session_tokens(found)
    if cli.json:
        cli.print_json({"tokens_per_session": total, "files": [one.as_json() for one in found]})
        return
    if not found:
        cli.print_note("no instruction files here")
        return
    cli.print_line(click.style(f"{'lines':>7}{'rules':>7}{'tokens':>9}  file", bold=True))
    room = candidate_view.text_width() - 25
    for one in found:
        when = "" if one.loaded == budget.ALWAYS else f" ({_LOADED[one.loaded]})"
        name = one_line(printable(one.file), max(20, room - len(when)))
        row = f"{one.lines:>7}{len(one.rules):>7}{one.tokens:>9,}  {name}{when}"
        cli.print_line(click.style(row, fg="yellow") if one.is_over else row)
    cli.print_text(f"every session loads about {total:,} tokens of them")
    for one in found:
        if one.is_over:
            said = f"{plural(one.lines, 'line')} and {plural(len(one.rules), 'rule')}; Claude follows short files best"
            cli.print_text(printable(f"'{one.file}' has {said}: {one.proposal}"))


def _find_stale(store: Store, scan: Scan, place: project_files.Place, record_ids: list[str]) -> dict[str, Absent]:
    """Return for each rule that may no longer be true why, and what to do about it."""
    import time

    from reflect_git.memory import staleness

    wanted = set(record_ids)
    rules = [rule for rule in scan.history.get_rules_in_force() if rule["id"] in wanted and place.is_in_scope(rule)]
    sessions = [
        one
        for one in scan.other_records.values()
        if one["id"].startswith("EXP-") and one["project"] and one["project"]["key"] in place.keys
    ]
    found = staleness.find_reasons(store, scan.history, rules, place.root, sessions, time.time())
    hint = "still true? say so in reflect-git review, or edit it: reflect-git edit {0}; if not: reflect-git revert {0}"
    return {name: ("stale", [*(one.text for one in listed), hint.format(name)]) for name, listed in found.items()}


def _load_past_rules(
    store: Store, scan: Scan, place: project_files.Place, choice: RuleFilter, at: str
) -> tuple[str, list[RuleInForce], list[RuleInForce]]:
    """Return the date or version in words, the rules in force then, and those of the same selection in force now."""
    if not _VERSION.fullmatch(at):
        moment = parse_since(get_day_end(at), more=f"{AGE_HINT}, or v7 for a version of the file")
        then = list_rules(scan, choice, rules_at.history_at(scan, moment))
        return format_day(moment), then, list_rules(scan, choice)
    target, version = rules_at.find_version(store, scan, place, choice, at)
    where = RuleFilter(place.keys, GLOBAL if target.is_global else PROJECT, choice.words, target.path)
    said = f"v{version.number} of {target.path}, {format_when(version.time)}"
    return said, rules_at.list_rules_at_version(store, scan, choice, target, version), list_rules(scan, where)


def _find_absent(store: Store, scan: Scan, place: project_files.Place) -> Mapping[str, Absent]:
    """Return the rules of other machines that are in no file here, with the reason."""
    if all(made["machine"] == store.machine for made in scan.history.decisions):
        return {}
    from reflect_git.rules import arrivals, dismiss  # what is one machine's own is where it was approved for

    declines = {identity: made["id"] for identity, made in dismiss.find_declines(scan.history, store.machine).items()}
    found = arrivals.find_absent_rules(arrivals.ArrivalContext(store, place, scan))
    return {
        one: (why, [said.format(declines.get(one, "")) for said in _ABSENT_NOTES[why]]) for one, why in found.items()
    }


def _find_old_headings(scan: Scan, found: list[RuleInForce]) -> Mapping[str, Absent]:
    """Return the rules whose file has another number in its heading, because two machines had given the same one."""
    headings = {rule.id: get_heading(scan.history.learnings[rule.id]).partition(":")[0] for rule in found}
    return {
        rule.id: ("", [f"its heading says {headings[rule.id]}; to change it: reflect-git edit {rule.id} --numbered"])
        for rule in found
        if headings[rule.id] and headings[rule.id] != rule.number
    }


def _describe_parts(store: Store, scan: Scan, found: list[RuleInForce]) -> dict[str, dict[str, Any]]:
    """Map each rule to its trigger, enforcement and verification, and to why it is decorative, if it is."""
    from reflect_git.rules.guarding.guards import describe_rule_parts  # reads word lists

    return describe_rule_parts(store, scan, [rule.id for rule in found])


def _load_effect_lines(store: Store, scan: Scan, place: project_files.Place) -> dict[str, str]:
    """Map each rule to whether it helps, on one line."""
    from reflect_git.effect.table import load_effect_lines

    return load_effect_lines(scan, project_files.load_key_aliases(store, place))


def _print_no_store(cli: CliContext) -> None:
    if cli.json:
        cli.print_json([])
    else:
        cli.print_no_store()


def _print_answer(
    cli: CliContext, found: list[RuleInForce], is_filtered: bool, out: Mapping[str, Absent] | None = None,
    none: str = "no rules in force here", parts: Mapping[str, Mapping[str, Any]] | None = None,
    effects: Mapping[str, str] | None = None,
) -> None:  # fmt: skip
    """Print the rules. `out` has those that are in no file here, with the reason; None if this was not checked."""
    if cli.json:
        more = parts or {}
        cli.print_json(
            [
                {**rule.as_json(), **_build_absent_json(rule, out), **_build_effect_json(rule, effects),
                 **more.get(rule.id, {})}
                for rule in found
            ]
        )  # fmt: skip
    elif found:
        reasons = {one: str(part["decorative"]) for one, part in (parts or {}).items()}
        _print_list(cli, found, out or {}, reasons, effects or {})
    else:
        cli.print_note("no matching rules" if is_filtered else none)


def _build_absent_json(rule: RuleInForce, out: Mapping[str, Absent] | None) -> dict[str, Any]:
    if out is None:
        return {}
    state, notes = out.get(rule.id, ("", []))
    if state == "stale":
        return {"absent": None, "stale": notes[:-1]}
    return {"absent": state or None}


def _build_effect_json(rule: RuleInForce, effects: Mapping[str, str] | None) -> dict[str, str | None]:
    return {} if effects is None else {"effect": effects.get(rule.id)}


def _print_list(
    cli: CliContext, found: list[RuleInForce], out: Mapping[str, Absent], reasons: Mapping[str, str],
    effects: Mapping[str, str],
) -> None:  # fmt: skip
    gap = False
    for scope, listed in groupby(found, _format_scope):
        if gap:
            cli.print_line()
        gap = True
        cli.print_line(click.style(scope, bold=True))
        for rule in listed:
            why = [f"decorative: {reasons[rule.id]}"] if rule.id in reasons else []
            _print_rule(cli, rule, [*(out[rule.id][1] if rule.id in out else []), *why])
            if rule.id in effects:
                cli.print_text(click.style(f"    {effects[rule.id]}", dim=True), hang=4)


def _format_scope(rule: RuleInForce) -> str:
    return "global" if rule.scope == GLOBAL or not rule.project else f"project {printable(rule.project['name'])}"


def _print_rule(cli: CliContext, rule: RuleInForce, absent: list[str]) -> None:
    room = candidate_view.text_width()
    seen = f", {plural(rule.sessions, 'session')}" if rule.sessions else ""  # none: said on another machine
    facts = f"since {format_day(rule.since)}{seen}"
    facts += f", amended {format_day(rule.amended)}" if rule.amended else ""
    facts += f", until {rule.until}" if rule.until else ""
    facts += ", pinned" if rule.pinned else ""
    number = f"{click.style(rule.number, bold=True)}  " if rule.number else ""
    cli.print_line(f"{number}{click.style(rule.id, fg='yellow')}  {facts}")
    cli.print_line(click.style(f"    → {one_line(_format_file(cli, rule), room - 6)}", dim=True))
    for line in absent:
        cli.print_text(click.style(f"    {line}", fg="yellow"))
    for line in candidate_view.wrap(printable(rule.text), room - 4):
        cli.print_line(f"    {line}")


def _format_file(cli: CliContext, rule: RuleInForce) -> str:
    path = rule.target["path"]
    return cli.format_global_path(path) if rule.scope == GLOBAL else path


def _print_changes(cli: CliContext, said: str, found: list[RuleChange]) -> None:
    if cli.json:
        cli.print_json([
            {"change": how, "then": then and then.as_json(), "now": now and now.as_json()} for how, then, now in found
        ])  # fmt: skip
        return
    counts = Counter(how for how, _, _ in found)
    summary = ", ".join(f"{counts[how]} {how}" for how in _COLOURS if counts[how]) or "nothing changed"
    cli.print_text(printable(f"since {said}: {summary}"))
    for how, then, now in found:
        cli.print_line()
        _print_change(cli, how, then, now)


def _print_change(cli: CliContext, how: str, then: RuleInForce | None, now: RuleInForce | None) -> None:
    rule = now or then
    assert rule is not None
    cli.print_line(f"{click.style(rule.id, fg='yellow')}  {click.style(how, fg=_COLOURS[how])}")
    for one, sign, colour in ((then, "-", "red"), (now, "+", "green")):
        if one is None:
            continue
        if how != rules_at.REWORDED or then is None or now is None or then.target != now.target:
            cli.print_line(
                click.style(
                    f"  {sign} → {one_line(_format_file(cli, one), candidate_view.text_width() - 6)}", fg=colour
                )
            )
        for line in (
            candidate_view.wrap(printable(one.text), candidate_view.text_width() - 4) if how != rules_at.MOVED else ()
        ):
            cli.print_line(click.style(f"  {sign} {line}", fg=colour))
