"""Run `reflect-git guard`, `unguard` and `guards`: enforce a rule, stop that, and list the guards."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import click

from reflect_git.cli import options
from reflect_git.cli.context import CliContext, one_line, printable
from reflect_git.cli.guard_dialog import (
    backtest_guard,
    confirm_matches,
    describe_mode,
    find_guard_author,
    find_reminder_author,
    format_backtest,
    write_and_compile,
)
from reflect_git.cli.options import dry_run_option, json_option, reason_option, yes_option
from reflect_git.cli.output import candidate_view
from reflect_git.cli.output.history_view import format_when
from reflect_git.cli.review_setup import format_undo_hint, mark_answer_used, open_context
from reflect_git.errors import EXIT_USAGE, ReflectError
from reflect_git.guards.form import add_exceptions, build_matcher, parse_call
from reflect_git.guards.match import Call, find_match
from reflect_git.records.schema import GUARD_MODES
from reflect_git.rules.derived_files import refresh_guards
from reflect_git.rules.guarding import guards
from reflect_git.rules.guarding.guards import Firings, GuardPlan, GuardState

if TYPE_CHECKING:
    from reflect_git.rules.context import Context
    from reflect_git.rules.guarding.guard_backtest import Backtest


@dataclass(frozen=True)
class _Choice:
    """The options that describe a guard."""

    mode: str
    tool: str
    match: Sequence[str]
    paths: Sequence[str]
    content: str
    look_in: str
    exceptions: Sequence[str]
    instead: str
    event: str
    required: Sequence[str]

    @property
    def has_matcher(self) -> bool:
        described = (self.tool, self.match, self.paths, self.content, self.look_in, self.event, self.required)
        return any(described)


@click.command()
@click.argument(
    "name", metavar="[LRN]", default="", callback=options.resolve_numbers, shell_complete=options.complete_rules
)
@click.option("--mode", type=options.WordChoice("mode", GUARD_MODES), help="How it acts; default: hint.")
@click.option("--tool", metavar="NAME", default="", help="A tool, such as Read or 'mcp__x__*'.")
@click.option("--match", metavar="COMMAND", multiple=True, help="A command, such as 'git push --force'.")
@click.option("--path", "paths", metavar="GLOB", multiple=True, help="Files, such as 'src/gen/**'.")
@click.option("--content", metavar="REGEX", default="", help="Text that a call adds to a file.")
@click.option(
    "--in",
    "look_in",
    type=options.WordChoice("place", ["code", "strings", "all"]),
    help="Where to look; default: code.",
)
@click.option(
    "--on", "event", type=options.WordChoice("event", ["stop"]), help="stop: check before Claude says it is done."
)
@click.option("--requires", "required", metavar="COMMAND", multiple=True, help="With --on stop: run after an edit.")
@click.option("--except", "exceptions", metavar="TEXT", multiple=True, help="A command or a path that is fine.")
@click.option("--instead", metavar="TEXT", default="", help="Tell Claude to use this instead.")
@click.option("--accept", is_flag=True, help="Accept a guard from your other machine.")
@click.option("--test", is_flag=True, help="Only show what it would have matched.")
@click.option("--call", metavar="JSON", default="", help="Only say whether it applies to this call.")
@click.option("--try", "source", metavar="FILE", default="", help="Try JSON lines of rules and calls; - is stdin.")
@dry_run_option
@yes_option
@json_option
@click.pass_obj
def guard_command(
    cli: CliContext, /, name: str, accept: bool, test: bool, call: str, source: str, dry_run: bool, **given: Any
) -> None:
    """Enforce a rule: Claude Code checks every tool call against it.

    First you see what it would have matched in past sessions, and mark what is wrong. Without --match, --path or
    --content, the program reads from the rule's text what to match.

    \b
    reflect-git guard LRN-20260211-4c8d2a1f --mode deny
    reflect-git guard 4c8d --match 'git push --force' --except 'git push --force origin wip'
    reflect-git guard 4c8d --on stop --requires 'ruff check' --path '*.py'

    \b
    --match takes a command as you type it, with these marks:
      npm|yarn add             alternatives; * and ? are wildcards
      git push --force         options, in every form and place
      cargo build !--locked    without this option;  jest !*  without a file
      git push ... main        a word anywhere after it;  ... !main  no such word
      curl | sh                a pipe;  AWS_PROFILE=prod aws  a variable
      git commit on:main       a branch;  text:REGEX  a text;  cat <file  reads
    """
    if source:
        _try_rows(cli, source)
        return
    if not name:
        raise ReflectError("which rule?", "list them: reflect-git rules", "usage", EXIT_USAGE)
    is_written = not (test or call or dry_run)
    ctx = open_context(cli, writes=is_written)
    choice = _Choice(
        **{**given, "mode": given["mode"] or "", "event": given["event"] or "", "look_in": given["look_in"] or ""}
    )
    plan = _build_plan(ctx, name, choice, accept)
    if call:
        _print_call_result(cli, plan, call)
        return
    if not is_written:
        found = backtest_guard(cli, ctx, plan)
        _print_plan(cli, plan, found)
        return
    if cli.is_inside_client:
        by, answer = find_reminder_author(cli, ctx, plan)
    else:
        by, answer = find_guard_author(cli, ctx, "a guard"), ""
    agreed = _confirm(cli, ctx, plan)
    if agreed is None:
        raise ReflectError("nothing was changed", code="declined")
    plan, found = agreed
    decision, commit = write_and_compile(cli, ctx, plan, found, by, mark_answer_used(answer, plan.rule["id"]))
    if cli.json:
        cli.print_json(_build_plan_json(plan, found, decision, commit))
        return
    cli.print_text(printable(f"guarded {plan.rule['id']} ({plan.mode}), commit {commit[:10]}"))
    cli.print_note(f"{plan.mode}: {describe_mode(plan)}")
    cli.print_note(format_undo_hint(by["road"], commit))


def _build_plan(ctx: Context, name: str, choice: _Choice, accept: bool) -> GuardPlan:
    rule = guards.find_rule(ctx, name)
    if accept:
        if choice.has_matcher or choice.mode or choice.exceptions or choice.instead:
            raise ReflectError("--accept takes the guard as it is", "leave out the other options", "usage", EXIT_USAGE)
        return guards.plan_acceptance(ctx, rule)
    if bool(choice.event) != bool(choice.required):
        raise ReflectError("--on stop and --requires go together", "see reflect-git guard --help", "usage", EXIT_USAGE)
    matcher = None
    if choice.has_matcher:
        matcher = build_matcher(
            tool=choice.tool, match=choice.match, paths=choice.paths, content=choice.content, look_in=choice.look_in,
            required=choice.required,
        )  # fmt: skip
    plan = guards.plan_guard(ctx, rule, choice.mode, matcher, choice.instead)
    plan = replace(plan, matcher=add_exceptions(plan.matcher, choice.exceptions))
    guards.require_usable(plan)
    return plan


def _confirm(cli: CliContext, ctx: Context, plan: GuardPlan) -> tuple[GuardPlan, Backtest] | None:
    """Show the plan and its backtest, and let the person mark wrong matches; None if they cancel."""
    if cli.json or cli.yes or cli.no_input or not cli.is_at_terminal:
        found = backtest_guard(cli, ctx, plan)
        if not cli.json:
            _print_plan(cli, plan, found)
        return plan, found
    _print_head(cli, plan)
    return confirm_matches(
        cli, ctx, plan, lambda asked: str(click.prompt(asked, "", show_default=False, prompt_suffix="")), cli.print_text
    )


def _print_head(cli: CliContext, plan: GuardPlan) -> None:
    for line in candidate_view.format_text(plan.rule["text"]):
        cli.print_line(line)
    before = f" (until now: {plan.former})" if plan.former and plan.former != plan.mode else ""
    fields = (("mode", f"{plan.mode}{before}: {describe_mode(plan)}"), ("will sync", plan.synced_text))
    for name, value in fields:
        for line in candidate_view.format_field(name, value):
            cli.print_line(line)


def _print_plan(cli: CliContext, plan: GuardPlan, found: Backtest) -> None:
    if cli.json:
        cli.print_json(_build_plan_json(plan, found, None, None))
        return
    _print_head(cli, plan)
    for line in format_backtest(found, plan.matcher):
        cli.print_line(printable(line))


def _build_plan_json(plan: GuardPlan, found: Backtest, decision: str | None, commit: str | None) -> dict[str, Any]:
    return {
        "learning": plan.rule["id"], "mode": plan.mode, "matcher": plan.matcher, "instead": plan.instead or None,
        "derived": plan.is_derived, "former": plan.former or None, "backtest": found.as_json(), "decision": decision,
        "commit": commit,
    }  # fmt: skip


def _print_call_result(cli: CliContext, plan: GuardPlan, text: str) -> None:
    found = find_match(plan.matcher, parse_call(text))
    if cli.json:
        cli.print_json(
            {"learning": plan.rule["id"], "applies": bool(found), "matched": found or None, "matcher": plan.matcher}
        )
    else:
        cli.print_text(printable(f"applies: {found}" if found else "does not apply"))


@click.command()
@click.argument("name", metavar="LRN", callback=options.resolve_numbers, shell_complete=options.complete_rules)
@reason_option
@dry_run_option
@json_option
@click.pass_obj
def unguard_command(cli: CliContext, name: str, reason: str, dry_run: bool) -> None:
    """Remove the guard of a rule. The rule stays in its file.

    \b
    reflect-git unguard LRN-20260211-4c8d2a1f
    """
    ctx = open_context(cli, writes=not dry_run)
    state = guards.plan_unguard(ctx, name)
    decision = commit = None
    channel = ""
    if not dry_run:
        by = find_guard_author(cli, ctx, "removing a guard")
        decision, commit = guards.write_unguard(ctx, state, by, reason)
        refresh_guards(ctx.store, cli.env, cli.scan(ctx.store))
        channel = by["road"]
    if cli.json:
        cli.print_json({"learning": state.rule["id"], "decision": decision, "commit": commit})
        return
    said = "would remove" if dry_run else "removed"
    cli.print_text(f"{said} the guard of {state.rule['id']}" + (f", commit {commit[:10]}" if commit else ""))
    if commit:
        cli.print_note(format_undo_hint(channel, commit))


@click.command()
@json_option
@click.pass_obj
def guards_command(cli: CliContext) -> None:
    """List the guards: rule, mode, and how often each fired.

    "Obeyed": after it fired, no matching call ran in that turn. "Overridden": you said yes to its question.

    \b
    reflect-git guards
    """
    store = cli.find_store()
    scan = cli.scan(store) if store else None
    states = guards.load_guard_states(scan.history, store.machine) if store and scan else []
    counts = guards.load_firings(store, scan.other_records.values()) if store and scan and states else {}
    if cli.json:
        cli.print_json([_build_state_json(state, counts.get(state.rule["id"], Firings())) for state in states])
        return
    if not states:
        cli.print_note("no guards; to make one: reflect-git guard LRN")
    for state in states:
        _print_state(cli, state, counts.get(state.rule["id"], Firings()))


def _print_state(cli: CliContext, state: GuardState, counts: Firings) -> None:
    record_id, room = state.rule["id"], candidate_view.text_width()
    figures = guards.format_firings(counts)
    figures += f", last {format_when(counts.last)}" if counts.last else ""
    shown = f"{click.style(state.mode or 'off', bold=True)}  {figures}" if state.decision else "waiting"
    number = f"{click.style(state.number, bold=True)}  " if state.number else ""
    cli.print_text(f"{number}{click.style(record_id, fg='yellow')}  {shown}")
    cli.print_line(f"    {one_line(state.rule['text'], room - 4)}")
    if state.guard:
        cli.print_line(f"    {one_line(guards.describe_guard(state.guard.matcher, state.guard.instead), room - 4)}")
    if state.problem:
        cli.print_text(
            click.style(
                f"    off: {printable(state.problem)}; guard it again: reflect-git guard {record_id}", fg="yellow"
            )
        )
    if state.waiting:
        meta = state.waiting["meta"]
        said = (
            f"{meta['mode']} on {state.waiting['machine']}: {guards.describe_guard(meta['matcher'], meta['instead'])}"
        )
        cli.print_line(f"    {one_line(said, room - 4)}")
        cli.print_text(click.style(f"    accept it here: reflect-git guard {record_id} --accept", fg="yellow"))


def _build_state_json(state: GuardState, counts: Firings) -> dict[str, Any]:
    made = state.decision or state.waiting
    assert made is not None
    project = state.rule["project"] if state.rule["scope"] != "global" else None
    word = "in force" if state.guard else "off" if state.decision else "waiting"
    return {
        "learning": state.rule["id"], "number": state.number or None, "text": state.rule["text"],
        "mode": made["meta"]["mode"], "state": word,
        "matcher": made["meta"]["matcher"], "instead": made["meta"].get("instead") or None, "project": project,
        **counts._asdict(), "last": counts.last or None, "since": made["timestamp"], "decision": made["id"],
        "machine": made["machine"], "backtest": made["meta"].get("backtest"), "problem": state.problem or None,
        "waiting": state.waiting["id"] if state.waiting else None,
    }  # fmt: skip


def _try_rows(cli: CliContext, source: str) -> None:
    """Answer each line of a file, without a store."""
    from reflect_git.guards.derivation.derive import derive_matcher  # reads word lists

    derived: dict[str, dict[str, Any] | None] = {}
    for number, row in _read_rows(source):
        rule, call = row.get("rule"), row.get("call")
        if not isinstance(call, dict) or not isinstance(call.get("tool_input"), dict):
            raise ReflectError(
                f"line {number} has no call", 'give "call": {"tool_name", "tool_input"}', "usage", EXIT_USAGE
            )
        matcher = row.get("matcher")
        if not isinstance(matcher, dict):
            text = rule if isinstance(rule, str) else ""
            if text not in derived:
                derived[text] = derive_matcher(text)
            matcher = derived[text]
        cli.print_line(json.dumps(_decide(row.get("id"), matcher, call), ensure_ascii=False))


def _read_rows(source: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the number and the object of each line that is not empty."""
    stream = sys.stdin if source == "-" else click.open_file(source, encoding="utf-8")
    with stream:
        for number, line in enumerate(stream, 1):
            if line.strip():
                try:
                    row = json.loads(line)
                except ValueError:
                    row = None
                if not isinstance(row, dict):
                    raise ReflectError(
                        f"line {number} is not a JSON object", "give one object a line", "usage", EXIT_USAGE
                    )
                yield number, row


def _decide(identifier: Any, matcher: dict[str, Any] | None, call: dict[str, Any]) -> dict[str, Any]:
    """Return the answer for one call."""
    found = ""
    if matcher is not None:
        folder = call.get("cwd") if isinstance(call.get("cwd"), str) else ""
        found = find_match(matcher, Call(str(call.get("tool_name", "")), call["tool_input"], str(folder)))
    why = "not guardable: the text names no call" if matcher is None else f"matches: {found}" if found else "no match"
    return {"id": identifier, "guardable": matcher is not None, "applies": bool(found), "why": why, "matcher": matcher}
