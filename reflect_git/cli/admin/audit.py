"""Run `reflect-git audit`: check that every rule traces to an approval."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import click

from reflect_git import audit
from reflect_git.audit.context import DECIDE, ERROR, NOTE, WARNING, Finding
from reflect_git.capture import service
from reflect_git.cli.context import CliContext, get_cwd, printable
from reflect_git.cli.options import dry_run_option, json_option
from reflect_git.cli.output.history_view import format_day
from reflect_git.cli.review_setup import format_undo_hint
from reflect_git.errors import EXIT_DECISION, EXIT_OK, ReflectError
from reflect_git.history.rule_history import format_person
from reflect_git.records.ids import plural
from reflect_git.rules import project_files

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from reflect_git.audit import Report
    from reflect_git.store.repository import Store

_COLOURS = {NOTE: "blue", WARNING: "yellow", DECIDE: "yellow", ERROR: "red"}
_SEVERITY_ORDER = (ERROR, DECIDE, WARNING, NOTE)
_COUNT_NOUNS = {"in_force": "rule", "decisions": "decision", "commits": "commit"}
_LEVEL_WIDTH = max(map(len, _SEVERITY_ORDER))


@click.command()
@click.option("--accept", "keys", metavar="KEY", multiple=True, help="Accept a finding.")
@click.option("--reason", metavar="TEXT", default="", help="Why it is accepted.")
@dry_run_option
@json_option
@click.pass_obj
def audit_command(cli: CliContext, keys: tuple[str, ...], reason: str, dry_run: bool) -> int:
    """Check that every rule traces to an approval, and every approval to a person.

    Exit code: 0 nothing to decide, 4 a finding needs your decision. Each finding names the command to run.
    """
    store = cli.open_store(create=False)
    report = _run_audit(cli, store)
    if keys:
        chosen = _find_findings(report, keys)
        if dry_run:
            cli.print_note(f"would accept: {', '.join(chosen)}")
        else:
            _accept_findings(cli, store, chosen.values(), reason)
            report = _run_audit(cli, store)
    if cli.json:
        cli.print_json(report.as_json())
    else:
        _print_report(cli, report, store)
    return EXIT_OK if report.ok else EXIT_DECISION


def _run_audit(cli: CliContext, store: Store) -> Report:
    return audit.run_audit(store, cli.env, time.time(), cli.scan, get_cwd())


def _find_findings(report: Report, keys: Sequence[str]) -> dict[str, Finding]:
    chosen = {one.key: one for one in report.findings if one.key in keys and one.needs_decision}
    for key in keys:
        if key not in chosen:
            raise ReflectError(f"no finding '{key}' needs a decision", "see 'reflect-git audit'", "unknown-id")
    return chosen


def _accept_findings(cli: CliContext, store: Store, chosen: Collection[Finding], reason: str) -> None:
    if cli.no_input or not cli.is_at_terminal:
        raise ReflectError("accepting a finding needs a person at a terminal", "run it in a terminal", code="approval")
    by = service.get_author(store, "terminal")
    made = audit.accept_findings(store, chosen, by, reason)
    cli.print_note(f"accepted {plural(len(chosen), 'finding')}: {made['id']}")
    cli.print_note(format_undo_hint(by["road"], ""))


def _print_report(cli: CliContext, report: Report, store: Store) -> None:
    label = project_files.find_place(store, cli.env, get_cwd()).label
    listed = sorted(report.findings, key=lambda one: (bool(one.accepted), _SEVERITY_ORDER.index(one.severity)))
    for one in listed:
        _print_finding(cli, one, label(one.path) if one.path else one.file)
    for file in report.authors:
        cli.print_text(printable(f"lines     {label(file['path'])}: {_format_line_authors(file)}"), _LEVEL_WIDTH + 2)
    for policy in report.policies:
        # Each machine has its own: what another one decided says nothing of this one.
        switched = [one for one in policy["switched"] if one["machine"] == store.machine]
        if policy["value"] is not None or switched:
            cli.print_text(printable(_format_policy(policy, switched)), _LEVEL_WIDTH + 2)
    counts = report.counts
    if "commits" in counts:
        parts = [plural(counts[name], word) for name, word in _COUNT_NOUNS.items()]
        cli.print_text(f"{', '.join(parts)} ({counts['signed']} signed)")
    cli.print_text(_format_summary(report))


def _format_summary(report: Report) -> str:
    """Claim no more than was checked: what a policy let in, or could not be looked at, is not a person's word."""
    needing, parts, unchecked = report.counts["needing_decision"], len(report.findings), report.counts["unchecked"]
    rest = f"; {plural(unchecked, 'decision')} could not be checked" if unchecked else ""
    if needing:
        return f"{plural(needing, 'finding')} {'needs' if needing == 1 else 'need'} a decision{rest}"
    if unchecked:
        return f"nothing to decide{rest}"
    roads = {rule["approved"]["by"]["road"] for rule in report.rules if rule["approved"]}
    policies = " or to a policy that a person set" if "unattended" in roads else ""
    if not parts:
        return f"everything traces to a person{policies}"
    word = "warning" if all(one.severity == WARNING and not one.accepted for one in report.findings) else "finding"
    return f"{plural(parts, word)}; everything else traces to a person{policies}"


def _print_finding(cli: CliContext, one: Finding, file: str) -> None:
    word = "accepted" if one.accepted else one.severity
    colour = "green" if one.accepted else _COLOURS[one.severity]
    level = click.style(word.ljust(_LEVEL_WIDTH), fg=colour, bold=one.severity == ERROR)
    where = f"{file}:{one.line}: " if one.line else f"{file}: " if file else ""
    margin = " " * (_LEVEL_WIDTH + 2)
    cli.print_text(f"{level}  {one.code}  {printable(where + one.message)}", len(margin))
    if one.accepted:
        cli.print_text(f"{margin}accepted by {one.accepted}")
    elif one.hint:
        cli.print_text(click.style(f"{margin}hint: {printable(one.hint)}", fg="yellow"))
    if one.needs_decision and "--accept" not in one.hint:
        cli.print_text(click.style(f"{margin}or accept it: reflect-git audit --accept {one.key}", dim=True))


def _format_line_authors(file: dict[str, Any]) -> str:
    """Count the lines by author: `3 rules, 12 lines committed, 2 by Claude`."""
    words = {"commit": "committed", "claude": "by Claude", "you": "uncommitted, by you"}
    counts = [(kind, number) for kind, number in file["lines"].items() if kind in words]
    parts = [f"{number if at else plural(number, 'line')} {words[kind]}" for at, (kind, number) in enumerate(counts)]
    return ", ".join([plural(file["learnings"], "rule"), *parts])


def _format_policy(policy: dict[str, Any], switched: Sequence[dict[str, Any]]) -> str:
    value = policy["value"]
    word = "default" if value is None else value if isinstance(value, str) else plural(len(value), "value")
    last = switched[-1] if switched else None
    since = f", since {format_day(last['time'])}, {format_person(last['by'])} ({last['decision']})" if last else ""
    return f"policy    {policy['key']} is {word}{since}"
