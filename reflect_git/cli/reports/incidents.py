"""Run `reflect-git incidents`: list failures that share a cause, show one, mute one."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from reflect_git.capture import service
from reflect_git.cli.context import CliContext, format_age, format_local_time, one_line, printable, terminal_width
from reflect_git.cli.options import SubcommandGroup, WordChoice, dry_run_option, json_option, reason_option
from reflect_git.errors import EXIT_USAGE, ReflectError
from reflect_git.memory import fingerprint, incidents
from reflect_git.records.ids import plural

if TYPE_CHECKING:
    from reflect_git.memory.incidents import Incident
    from reflect_git.store.reading.reader import Scan
    from reflect_git.store.repository import Store

_SHOWN_KEY = 8
_EXAMPLES = 5
_NARROWEST = 20


@click.group(cls=SubcommandGroup, invoke_without_command=True)
@click.option("--new", "only_new", is_flag=True, help="Only what reached its second session; each is reported once.")
@click.option("--since", metavar="TIME", default="", help="2026-02-11, or 12h, 30d, 4w for a time ago.")
@click.option("--project", metavar="NAME|KEY", default="", help="Count only what happened in this project.")
@click.option(
    "--kind", type=WordChoice("kind", fingerprint.KINDS), metavar="WORD", help=", ".join(fingerprint.KINDS) + "."
)
@click.option("--all", "everything", is_flag=True, help="Also what is muted, or was seen in one session only.")
@click.option("--try", "tried", metavar="FILE", default="", help="Read failures as JSON lines ('-': stdin); no store.")
@dry_run_option
@json_option
@click.pass_context
def incidents_command(
    ctx: click.Context, only_new: bool, since: str, project: str, kind: str | None, everything: bool, tried: str,
    dry_run: bool,
) -> None:  # fmt: skip
    """List incidents: failures with the same cause, in all sessions.

    Each line has the key, sessions, age of the last failure, kind and cause. Counts include expired signals.

    \b
    Examples:
      reflect-git incidents --new --since 30d
      reflect-git incidents show 3f9a
      reflect-git incidents mute 3f9a --reason "only on the train"
    """
    cli: CliContext = ctx.obj
    if ctx.invoked_subcommand is not None:
        return
    if tried:
        _try(cli, tried)
        return
    since = service.parse_since(since) if since else ""
    store = cli.open_mined_store()
    if store is None:
        cli.print_json([]) if cli.json else cli.print_no_store()
        return
    found = incidents.load_incidents(store, cli.scan(store), project)
    found = [one for one in found if one.last >= since[: len(one.last)] and (not kind or one.kind == kind)]
    shown = incidents.find_new(store, found) if only_new else found if everything else [*filter(_is_usual, found)]
    if cli.json:
        cli.print_json([asdict(one) for one in shown])
    else:
        _list(cli, shown, len(found) - len(shown), only_new or everything)
    if only_new and shown and not dry_run:
        incidents.mark_reported(store, shown)


def _is_usual(one: Incident) -> bool:
    return one.sessions > 1 and not one.muted


def _try(cli: CliContext, path: str) -> None:
    """Print the fingerprint of each failure in a file of JSON lines; lines may be thousands, the process is one."""
    with sys.stdin if path == "-" else open(path, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            if not line.strip():
                continue
            try:
                row = json.loads(line)
                given = row.get("input")
                found = fingerprint.fingerprint(
                    str(row.get("tool") or ""), given if isinstance(given, dict) else {}, str(row.get("error") or "")
                )
            except (ValueError, AttributeError, RecursionError):
                raise ReflectError(
                    f"line {number} is not a JSON object", 'write {"id", "tool", "input", "error"}', "usage", EXIT_USAGE
                ) from None
            answer = {"id": row.get("id"), "fingerprint": found.key or None, "noise": found.noise}
            cli.print_line(json.dumps(answer, ensure_ascii=True))


def _list(cli: CliContext, shown: list[Incident], hidden: int, is_filtered: bool) -> None:
    if not shown:
        cli.print_note("no new incidents" if is_filtered else "no incidents in two or more sessions")
    room = terminal_width()
    ages = [format_age(_moment(one.last)) for one in shown]
    age_width = max(map(len, ages), default=0)
    for one, age in zip(shown, ages, strict=True):
        head = f"{one.key[:_SHOWN_KEY]}  {one.sessions:>3}  {age:<{age_width}}  {one.kind:<5}  "
        notes = _notes(one)
        cause = one_line(_describe(one), max(_NARROWEST, room - len(head) - len(notes)))
        cli.print_line(
            click.style(head[:_SHOWN_KEY], fg="yellow") + head[_SHOWN_KEY:] + click.style(notes, dim=True) + cause
        )
    if hidden and not is_filtered:
        cli.print_note(f"{hidden} more were muted or seen in one session; list them with --all")


def _describe(one: Incident) -> str:
    return fingerprint.describe_cause(one.cause) if one.cause else "(text expired)"


def _notes(one: Incident) -> str:
    """Return what changes how an incident is read: muted, covered by a rule, still recurring."""
    notes = ["muted"] if one.muted else []
    if one.rule:
        again = f", {plural(one.recurrences, 'session')} since" if one.recurrences else ""
        notes.append(f"rule {one.rule[-8:]}{again}")
    return f"[{'; '.join(notes)}] " if notes else ""


def _moment(text: str) -> str:
    """Return a full time; a tally has only the day."""
    return text if "T" in text else f"{text}T00:00:00Z"


def _open(cli: CliContext) -> tuple[Store, Scan, list[Incident]]:
    store = cli.mine_live_sessions(cli.open_store(create=False))
    scan = cli.scan(store)
    return store, scan, incidents.load_incidents(store, scan)


def open_incident(cli: CliContext, key: str) -> tuple[Store, Scan, Incident]:
    """Return the store, its records and the incident that a key or its beginning names."""
    store, scan, found = _open(cli)
    return store, scan, incidents.find_incident(found, key)


@incidents_command.command("show")
@click.argument("key", metavar="KEY")
@json_option
@click.pass_obj
def _show(cli: CliContext, key: str) -> None:
    """Show an incident: figures, the rule that covers it, root causes and the last failures.

    \b
    Example:
      reflect-git incidents show 3f9a
    """
    _, scan, one = open_incident(cli, key)
    rows = {identity: row for row, identity in enumerate(scan.columns["id"])}
    signals = scan.get_signals([rows[identity] for identity in one.signals[-_EXAMPLES:]])
    causes = incidents.find_root_causes(scan.history).get(one.key, [])
    if cli.json:
        last = [{name: signal[name] for name in ("id", "timestamp", "content", "context")} for signal in signals]
        cli.print_json(
            {**asdict(one), "last_signals": last, "causes": [dict(made["meta"], id=made["id"]) for made in causes]}
        )
        return
    rule = (
        f"{one.rule} since {format_local_time(one.rule_since)}, {plural(one.recurrences, 'session')} with it since"
        if one.rule
        else "none"
    )
    fields: list[tuple[str, Any]] = [
        ("incident", one.key), ("cause", _describe(one)), ("kind", one.kind),
        ("first", format_local_time(_moment(one.first))), ("last", format_local_time(_moment(one.last))),
        ("seen", f"{plural(one.count, 'failure')} in {plural(one.sessions, 'session')}"),
        ("machines", ", ".join(one.machines)), ("agents", ", ".join(one.agents)), ("projects", ", ".join(one.projects)),
        ("rule", rule), ("muted", f"by {one.muted}" if one.muted else ""),
    ]  # fmt: skip
    for name, value in fields:
        if value:
            cli.print_line(printable(f"{name + ':':<10} {value}"))
    for made in causes:
        cli.print_line(printable(f"\nroot cause {made['id']} ({made['meta'].get('class')})"))
        for name in ("what", "why", "change"):
            cli.print_text(printable(f"  {name + ':':<8} {made['meta'].get(name, '')}"))
    for signal in reversed(signals):
        cli.print_line(
            printable(f"\n{signal['id']}  {format_local_time(signal['timestamp'])}  {one_line(signal['content'], 100)}")
        )
        for line in str(signal["context"]).strip().splitlines()[:6]:
            cli.print_line(f"    {one_line(line, 110)}")
    if not one.rule and not causes:
        words = f"{cli.format_command('rootcause', one.key[:_SHOWN_KEY])} --help"
        cli.print_hint("rootcause", f"record why it happens: {words}")


@incidents_command.command("mute")
@click.argument("keys", metavar="KEY...", nargs=-1, required=True)
@click.option("--unmute", is_flag=True, help="Undo the muting.")
@reason_option
@dry_run_option
@json_option
@click.pass_obj
def _mute(cli: CliContext, keys: tuple[str, ...], unmute: bool, reason: str, dry_run: bool) -> None:
    """Mute incidents: they are still counted, but weigh less and are not reported.

    \b
    Examples:
      reflect-git incidents mute 3f9a --reason "only on the train"
      reflect-git incidents mute 3f9a --unmute
    """
    words = ["incidents", "mute", *keys, *(["--unmute"] if unmute else [])]
    cli.require_outside_client("muting an incident is a person's decision", words)
    store, _, known = _open(cli)
    found = list({one.key: one for one in (incidents.find_incident(known, key) for key in keys)}.values())
    decisions: list[str] = []
    commit = None
    if not dry_run:
        by = service.get_author(store, service.get_channel(cli.env, cli.is_at_terminal))
        decisions, commit = (incidents.unmute if unmute else incidents.mute)(store, found, by, reason)
    if cli.json:
        listed = [one.key for one in found]
        cli.print_json({"keys": listed, "muted": not unmute, "decisions": decisions, "commit": commit})
        return
    verb = f"{'would be ' if dry_run else ''}{'unmuted' if unmute else 'muted'}"
    for one in found:
        cli.print_text(printable(f"{verb} {one.key[:_SHOWN_KEY]}: {_describe(one)}"))
    if commit:
        cli.print_note(f"commit {commit[:10]}, undo with: reflect-git revert {decisions[0]}")
