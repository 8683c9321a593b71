"""Run `reflect-git rootcause`: record why an incident happens and what should change."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from reflect_git import paths
from reflect_git.capture import service
from reflect_git.cli.context import CliContext, printable
from reflect_git.cli.options import WordChoice, dry_run_option, json_option, yes_option
from reflect_git.cli.reports.evaluate import format_price
from reflect_git.cli.reports.incidents import open_incident
from reflect_git.errors import EXIT_USAGE, ReflectError
from reflect_git.memory import rootcause
from reflect_git.memory.rootcause import CLASSES, Answers, RootCause
from reflect_git.records.ids import plural

if TYPE_CHECKING:
    from reflect_git.memory.incidents import Incident
    from reflect_git.store.reading.reader import Scan
    from reflect_git.store.repository import Store


@click.command()
@click.argument("key", metavar="KEY")
@click.option("--what", metavar="TEXT", default="", help="What happened.")
@click.option("--why", metavar="TEXT", default="", help="Why it could happen: the gap in knowledge, process or tools.")
@click.option("--change", metavar="TEXT", default="", help="The change to make from now on; becomes a proposed rule.")
@click.option(
    "--class", "kind", type=WordChoice("class", CLASSES), metavar="WORD", default=None, help=", ".join(CLASSES) + "."
)
@click.option("--scope", metavar="SCOPE", default="project", help="project, global or agent:NAME.")
@click.option("--judge", "with_judge", is_flag=True, help="Ask the judge for what you leave out, if it is switched on.")
@click.option("--draft", is_flag=True, help="Only propose it: whoever approves the change approves the root cause too.")
@dry_run_option
@yes_option
@json_option
@click.pass_obj
def rootcause_command(
    cli: CliContext, key: str, what: str, why: str, change: str, kind: str | None, scope: str, with_judge: bool,
    draft: bool, dry_run: bool
) -> None:  # fmt: skip
    """Record the root cause of an incident, and propose a change for review.

    The program adds the earlier failures and the rules that it compared the change with. No model is called unless you
    pass --judge; then the price is shown first, and you confirm what is written.

    \b
    Example:
      reflect-git rootcause 3f9a --class missing-knowledge \\
        --what "the tests failed without a database" \\
        --why "nothing says that the tests need one" \\
        --change "Start the database with 'make db' before the tests."
    """
    store, scan, incident = open_incident(cli, key)
    answers = Answers(what, why, change, kind or "", scope)
    if with_judge:
        answers = _ask_judge(cli, store, scan, incident, answers)
    if not answers.kind:
        raise ReflectError("a root cause needs a class", f"one of: --class {', '.join(CLASSES)}", "usage", EXIT_USAGE)
    cause = rootcause.prepare(scan.history, incident, answers, paths.home_dir(cli.env))
    if not cli.json:
        _preview(cli, cause)
    signal: str | None = None
    decision: str | None = None
    commit: str | None = None
    if draft and not cause.proposes_rule:
        raise ReflectError("there is no rule to propose", cause.hint, "usage", EXIT_USAGE)
    if draft and not dry_run:
        facts = rootcause.build_draft(cause, _find_project(scan, incident), cli.env.get("CLAUDE_CODE_SESSION_ID", ""))
        signal = service.capture_signal(store, facts, cli.env, 5.0)[0]["id"]
    elif not dry_run:
        if not cli.confirm("write this root cause?"):
            raise click.Abort
        trust = "user_typed" if cli.is_at_terminal and not with_judge else "assistant"
        if cause.proposes_rule:
            session = cli.env.get("CLAUDE_CODE_SESSION_ID", "")
            facts = rootcause.build_signal(cause, _find_project(scan, incident), trust, session)
            signal = service.capture_signal(store, facts, cli.env, 5.0)[0]["id"]
        by = service.get_author(store, service.get_channel(cli.env, cli.is_at_terminal))
        made, commit = rootcause.write(store, cause, by, signal or "")
        decision = made["id"]
    if cli.json:
        cli.print_json(_document(cause, signal, decision, commit))
        return
    if draft and signal:
        cli.print_text(f"proposed rule {signal}, with its root cause")
    if decision and commit:
        cli.print_text(f"recorded {decision}, commit {commit[:10]}{f'; proposed rule {signal}' if signal else ''}")
    cli.print_note(printable(f"hint: {cause.hint}"))


def _ask_judge(cli: CliContext, store: Store, scan: Scan, incident: Incident, given: Answers) -> Answers:
    """Return the answers of the judge where the person gave none; the price is shown and confirmed before."""
    from reflect_git.judge import analyst, calls  # only on demand

    cli.require_outside_client("the judge runs only for a person", ["rootcause", incident.key, "--judge"])
    judge = calls.load_judge(store)
    extract = analyst.build_extract(scan, incident, given.scope)
    price = calls.estimate_price(store, judge, analyst.load_prompt(), extract, analyst.TASK)
    if not cli.confirm(f"{format_price(judge, price)}; ask the judge?"):
        raise ReflectError("nothing was sent", code="declined")
    found = analyst.find_root_cause(store, cli.env, judge, extract, given.scope)
    own = {name: value for name, value in vars(given).items() if value}
    return replace(found, **own)


def _find_project(scan: Scan, incident: Incident) -> Mapping[str, str] | None:
    """Return the project that the failures happened in."""
    names = {one["name"]: one for one in scan.columns["project"] if one}
    return next((names[name] for name in incident.projects if name in names), None)


def _preview(cli: CliContext, cause: RootCause) -> None:
    """Show everything that leaves this machine with the next sync."""
    answers, before = cause.answers, cause.before
    cli.print_line("will sync:")
    for name, text in (("what", answers.what), ("why", answers.why), ("change", answers.change)):
        cli.print_text(printable(f"  {name + ':':<8} {text}"), hang=11)
    cli.print_line(printable(f"  {'class:':<8} {answers.kind}, scope {answers.scope}"))
    said = (
        f"{plural(before['count'], 'failure')} in {plural(before['sessions'], 'session')} since {before['first'][:10]}"
    )
    earlier = f", {plural(len(before['root_causes']), 'earlier root cause')}" if before["root_causes"] else ""
    cli.print_line(f"  {'before:':<8} {said}{earlier}")
    cli.print_text(f"  {cause.summary}")
    cli.print_line(f"  {'propose:':<8} {cause.proposed}")


def _document(cause: RootCause, signal: str | None, decision: str | None, commit: str | None) -> dict[str, Any]:
    answers = cause.answers
    return {
        "key": cause.key, "what": answers.what, "why": answers.why, "change": answers.change, "class": answers.kind,
        "scope": answers.scope, "before": cause.before, "checked": list(cause.checked),
        "overlap": [{"rule": identity, "relation": relation} for identity, relation in cause.overlap],
        "summary": cause.summary, "proposed": cause.proposed, "hint": cause.hint, "signal": signal,
        "decision": decision, "commit": commit,
    }  # fmt: skip
