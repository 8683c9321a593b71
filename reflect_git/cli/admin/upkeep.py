"""Run `reflect-git upkeep` and `schedule`: keep the store small, complete and fast, also at a fixed time."""

from __future__ import annotations

import os
import sys
import time
from typing import TYPE_CHECKING

import click

from reflect_git.candidates.session_events import SessionEvents
from reflect_git.capture import service
from reflect_git.cli.context import CliContext, format_local_time, get_cwd, printable
from reflect_git.cli.options import SubcommandGroup, WordChoice, dry_run_option, json_option, yes_option
from reflect_git.effect import going_back, table
from reflect_git.errors import ReflectError
from reflect_git.judge import evaluate
from reflect_git.memory import schedule
from reflect_git.memory.upkeep import Upkeep, describe_last_run
from reflect_git.records.ids import plural
from reflect_git.rules import project_files
from reflect_git.rules.automatic import autopilot
from reflect_git.rules.context import load_context
from reflect_git.rules.derived_files import refresh_derived_files
from reflect_git.store import maintenance

if TYPE_CHECKING:
    from reflect_git.memory.upkeep import Extra
    from reflect_git.store.repository import Store

KINDS = ("systemd", "launchd", "cron")


@click.command()
@click.option("--if-due", is_flag=True, help="Do nothing if it ran within the last day.")
@json_option
@click.pass_obj
def upkeep_command(cli: CliContext, if_due: bool) -> None:
    """Keep the store small, complete and fast, in ten steps.

    It finishes what was interrupted, reads sessions that ended without notice, removes duplicates, and makes the
    digests that are due. Then it deletes signals that expired and are cited by a digest, rebuilds the index, and
    removes deleted objects. It calls no model. If it is killed, run it again.

    It runs by itself once a day after a command, or at a fixed time: see 'reflect-git schedule'.

    \b
    Example:
      reflect-git upkeep --if-due
    """
    store = cli.open_store(create=False, upgrades=sys.stderr.isatty())  # nobody reads what a timer's run says
    now = time.time()
    if if_due and not maintenance.is_due(store, now):
        cli.print_json({"due": False, "steps": []}) if cli.json else cli.print_note("not due")
        return
    run = Upkeep(store, cli.env, now, extras=_list_policy_steps(cli, store))
    is_watched = sys.stderr.isatty()

    def show(name: str, number: int, total: int) -> None:
        if is_watched:
            bar = "#" * number + "." * (total - number)
            click.echo(f"\r\x1b[K[{bar}] {name} …", nl=False, err=True)

    try:
        run.run(show)
    finally:
        if is_watched:
            click.echo("\r\x1b[K", nl=False, err=True)
        if not cli.json:
            for result in run.results:
                cli.print_line(f"{result.name:<16}  {click.style(printable(result.text), dim=not result.done)}")
    if cli.json:
        cli.print_json({"due": True, "steps": [result._asdict() for result in run.results]})


def _list_policy_steps(cli: CliContext, store: Store) -> list[Extra]:
    """Return the steps that a person switched on."""
    steps: list[Extra] = []
    if evaluate.is_automatic(store):
        steps.append(("evaluate", lambda: _evaluate_automatically(cli, store)))
    if going_back.get_mode(store, cli.scan(store).history.decisions) == going_back.APPLY:
        steps.append(("auto-revert", lambda: _revert_automatically(cli, store)))
    if autopilot.is_on(store, cli.scan(store).history.decisions):
        steps.append(("autopilot", lambda: _apply_own_words(cli, store)))
    return steps


def _evaluate_automatically(cli: CliContext, store: Store) -> tuple[int, str]:
    """Have the judge score what is due; auto-revert, which follows, uses the scores."""
    done = evaluate.evaluate_if_due(load_context(store, cli.env, cli.scan(store), get_cwd()))
    if not done:
        return 0, "nothing is due"
    return len(done), f"{plural(len(done), 'part')} scored; see 'reflect-git evaluate show'"


def _apply_own_words(cli: CliContext, store: Store) -> tuple[int, str]:
    """Apply the proposed rules that meet every condition of autopilot."""
    done = autopilot.apply_due(store, cli.env, service.get_author(store, autopilot.CHANNEL))
    if not done:
        return 0, "no rule meets every condition"
    refresh_derived_files(store, cli.env, cli.scan(store))
    return len(done), f"applied {plural(len(done), 'rule')}; see 'reflect-git review'"


def _revert_automatically(cli: CliContext, store: Store) -> tuple[int, str]:
    """Go back where the scores of sessions fell clearly after a change."""
    ctx = load_context(store, cli.env, cli.scan(store), get_cwd())
    aliases = project_files.load_key_aliases(store, ctx.place)
    by = service.get_author(store, going_back.CHANNEL)
    done = going_back.revert_if_due(ctx, SessionEvents(ctx.scan, aliases), table.load_effects(ctx.scan, aliases), by)
    if not done:
        return 0, "nothing became clearly worse"
    refresh_derived_files(store, cli.env, cli.scan(store))
    return len(done), f"took back {done[0].learning}; see 'reflect-git review'"


@click.group(cls=SubcommandGroup)
def schedule_command() -> None:
    """Run upkeep at a fixed time: a systemd timer, a launchd agent, or a line of the crontab.

    \b
    Example:
      reflect-git schedule install --at 03:00
    """


@schedule_command.command("install")
@click.option("--hourly", is_flag=True, help="Every hour. Upkeep that is not due ends at once.")
@click.option("--at", "when", metavar="HH:MM", default="03:00", help="Every day at this time; default: 03:00.")
@click.option(
    "--with", "kind", type=WordChoice("scheduler", KINDS), metavar="WORD", help=f"The scheduler: {', '.join(KINDS)}."
)
@yes_option
@dry_run_option
@json_option
@click.pass_obj
def install_command(cli: CliContext, hourly: bool, when: str, kind: str | None, dry_run: bool) -> None:
    """Show what will be written, ask, and write it."""
    cli.require_outside_client("cannot install a schedule from inside Claude Code", ["schedule", "install"])
    store = cli.open_store(create=False)
    made = schedule.plan(store, cli.env, _build_command(cli, store), "hourly" if hourly else when, kind or "")
    if not cli.json:
        for path, text in made.files.items():
            cli.print_line(click.style(printable(path), bold=True))
            cli.print_line(printable(text).rstrip("\n"))
            cli.print_line()
        if made.line:
            cli.print_line(click.style("a line of your crontab", bold=True))
            cli.print_line(printable(made.line).rstrip("\n"))
    done = not dry_run and cli.confirm("write this?")
    if done:
        schedule.install(store, cli.env, made)
    if cli.json:
        cli.print_json(
            {"kind": made.kind, "when": made.when, "files": dict(made.files), "line": made.line, "done": done}
        )
    elif done:
        cli.print_note(f"upkeep runs {'every hour' if hourly else f'every day at {when}'} ({made.kind})")
    elif not dry_run:
        raise ReflectError("nothing was changed", code="declined")


def _build_command(cli: CliContext, store: Store) -> list[str]:
    """Return the command line that the scheduler runs, with absolute paths."""
    root = cli.env.get("REFLECT_GIT_PLUGIN_ROOT", "")
    beside = os.path.join(os.path.dirname(sys.executable), "reflect-git")
    program = os.path.join(root, "bin", "reflect-git") if root else beside
    if not os.path.isfile(program):
        raise ReflectError(f"'{program}' was not found", "install reflect-git with pipx", "scheduler")
    config = cli.env.get("CLAUDE_CONFIG_DIR", "")
    prefix = ["/usr/bin/env", f"CLAUDE_CONFIG_DIR={os.path.abspath(config)}"] if config else []
    return [*prefix, os.path.abspath(program), "--store", os.path.abspath(store.root), "upkeep", "--if-due"]


@schedule_command.command("status")
@json_option
@click.pass_obj
def status_command(cli: CliContext) -> None:
    """Show what is scheduled, when upkeep last ran, and how it ended."""
    store = cli.open_store(create=False)
    facts, run = schedule.load(store), describe_last_run(store)
    faults = schedule.find_faults(facts, cli.env) if facts else []
    if cli.json:
        cli.print_json({"kind": facts["kind"] if facts else None, "when": facts["when"] if facts else None,
                        "faults": faults, "run": run})  # fmt: skip
        return
    if facts:
        at = "every hour" if facts["when"] == "hourly" else f"every day at {facts['when']}"
        cli.print_text(f"upkeep runs {at} ({facts['kind']})")
    else:
        cli.print_text("not scheduled; upkeep runs once a day after a command")
        cli.print_hint("schedule", "run it at a fixed time with 'reflect-git schedule install'")
    for fault in faults:
        cli.print_note(printable(f"{fault}; install it again: reflect-git schedule install"))
    if not run["last"]:
        cli.print_text("it has not run yet")
    else:
        cli.print_text(f"last complete run: {format_local_time(run['last'])}")
    if run["ended"] not in (None, "ok"):
        where = f" at '{run['step']}': {run['why']}" if run["step"] else ""
        cli.print_text(printable(f"the last run {run['ended'].replace('interrupted', 'was interrupted')}{where}"))


@schedule_command.command("remove")
@yes_option
@dry_run_option
@json_option
@click.pass_obj
def remove_command(cli: CliContext, dry_run: bool) -> None:
    """Remove exactly what 'schedule install' wrote."""
    cli.require_outside_client("cannot remove a schedule from inside Claude Code", ["schedule", "remove"])
    store = cli.open_store(create=False)
    facts = schedule.load(store)
    if facts and not dry_run:
        schedule.remove(store, cli.env)
    if cli.json:
        cli.print_json({"removed": facts["kind"] if facts else None, "done": bool(facts) and not dry_run})
    else:
        verb = "would remove" if dry_run else "removed"
        cli.print_note(f"{verb} the schedule ({facts['kind']})" if facts else "nothing is scheduled")
