"""Show capture, proposed rules, rules and the state of the store on one screen."""

from __future__ import annotations

import json
import os
import shlex
import sys
import time
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

import click

from reflect_git import doctor, paths
from reflect_git.capture import service, sessions
from reflect_git.cli import capture_switch
from reflect_git.cli.capture_switch import CaptureState, get_capture_state
from reflect_git.cli.context import CliContext, display_width, format_age, printable
from reflect_git.cli.options import json_option
from reflect_git.errors import ReflectError
from reflect_git.guards import entry as guard_entry
from reflect_git.guards import table
from reflect_git.records.ids import plural
from reflect_git.rules import queue
from reflect_git.store import machines, pending, policy, remotes
from reflect_git.store.local import firings
from reflect_git.store.lost_signals import format_names
from reflect_git.store.reading import waiting_counts
from reflect_git.sync import urls

if TYPE_CHECKING:
    from collections.abc import Mapping

    from reflect_git.store.reading.reader import Scan
    from reflect_git.store.reading.waiting_counts import WaitingCounts
    from reflect_git.store.repository import Store

_DRIFT_SECONDS = 0.3  # of looking through transcripts, on one screen that people wait for
_OFFER_DAYS = 30  # Claude Code deletes older transcripts by default
_FEW_SIGNALS = 10
FORMATS = ("table", "statusline", "statusline-setup")


_NO_HOOKS = "off (no hooks installed): reflect-git enable"
_HOOK_WARNINGS = {
    None: "none installed: reflect-git enable",
    capture_switch.PROJECTS: "only in some projects: reflect-git doctor",
}


@dataclass
class StatusReport:
    store: str
    exists: bool = False
    capture: str = "on"
    paused_until: str | None = None
    hooks: str | None = None
    machine: str | None = None
    waiting: int = 0
    waiting_here: int = 0
    strong: int = 0
    questions: int = 0
    questions_elsewhere: int = 0
    weak_here: int = 0
    going: list[dict[str, int]] = field(default_factory=list)
    last_capture: str | None = None
    learnings: int = 0
    rules_here: int = 0
    rules_absent: int = 0
    arrived: int = 0
    drift: list[dict[str, Any]] = field(default_factory=list)
    foreign: int = 0
    pending: int = 0
    branch: str | None = None
    quarantined: int = 0
    unreadable: int = 0
    newer: int = 0
    changes: list[str] = field(default_factory=list)
    remote: str | None = None
    ahead: int | None = None
    behind: int | None = None
    sync_error: str | None = None
    removed: int = 0
    undecided: list[str] = field(default_factory=list)
    guards: int = 0
    guards_fired_today: int = 0
    guard_entry: str | None = None
    effect: str | None = None
    unread_sessions: int = 0


@click.command()
@click.option(
    "--format", "form", type=click.Choice(FORMATS), default="table", help="'statusline' prints one short line."
)
@click.option(
    "--for-skill",
    is_flag=True,
    help="For /reflect-toggle: say if packages must be fetched.",
)
@json_option
@click.pass_obj
def status_command(cli: CliContext, form: str, for_skill: bool) -> None:
    """Show capture, proposed rules, rules and what needs attention."""
    if form == "statusline-setup":
        _print_statusline_setup(cli)
        return
    root = service.locate_store(cli.env, cli.store_option)
    try:
        store = cli.open_store(create=False)
    except ReflectError as error:
        if error.code != "no-store":
            raise
        _print_no_store(cli, root, form)
        return
    if form == "statusline":
        before, scan = waiting_counts.get_branch_tips(store), cli.scan(store)
        fired = firings.count_today(store.git_dir, time.time())
        _print_statusline(cli, queue.count_waiting(store, cli.env, scan, _get_cwd(), before), fired)
        return
    capture = get_capture_state(store, cli.env, _get_cwd(), time.time())
    report = StatusReport(root, True, capture.state, paused_until=capture.until, machine=store.machine)
    state = capture_switch.find_hooks(cli.env).state
    report.hooks = None if state == capture_switch.NONE else state
    before = waiting_counts.get_branch_tips(cli.mine_live_sessions(store))
    scan = cli.scan(store)
    _add_record_counts(report, store, scan, queue.count_waiting(store, cli.env, scan, _get_cwd(), before))
    _add_drift(report, store, cli.env, scan)
    _add_git_state(report, store)
    decisions = machines.filter_decisions(scan.main_records)
    report.undecided = policy.find_undecided(store, decisions) + [machines.OWN_KEY] * bool(
        machines.find_unaccepted(store, decisions)
    )
    _add_arrivals(report, store, cli.env, scan)
    report.guards = len(table.read_table(store.git_dir))
    report.guards_fired_today = firings.count_today(store.git_dir, time.time())
    report.guard_entry = guard_entry.entry_state(cli.env, store.root) if report.guards else None
    report.effect = _describe_effect(store, cli.env, scan)
    is_fresh = len(scan.columns["id"]) < _FEW_SIGNALS and capture.state == "on"
    report.unread_sessions = _count_offered_sessions(cli, store) if is_fresh else 0
    if cli.json:
        cli.print_json(asdict(report))
        return
    _print_rows(cli, build_rows(report, capture))
    if is_fresh and not for_skill:
        _print_next_step(cli, report)


def _print_statusline_setup(cli: CliContext) -> None:
    """Print the entry for a status line in Claude Code's settings."""
    line = f"{shlex.quote(sys.executable)} -I -S {shlex.quote(paths.resource_path('hooks', 'statusline.py'))}"
    setting = {"statusLine": {"type": "command", "command": line}}
    if cli.json:
        cli.print_json(setting)
    else:
        cli.print_line(json.dumps(setting)[1:-1])


def _get_cwd() -> str:
    try:
        return os.getcwd()
    except FileNotFoundError:  # deleted under our feet
        return os.sep


def _print_no_store(cli: CliContext, root: str, form: str) -> None:
    if cli.json:
        cli.print_json(asdict(StatusReport(root, unread_sessions=_count_offered_sessions(cli, None))))
    elif form == "table":
        cli.print_text(f"no store at '{printable(root)}' yet; the first capture creates it")
        is_called = capture_switch.find_hooks(cli.env).state != capture_switch.NONE
        begin = f"create it now with '{cli.format_command('init')}'" if is_called else capture_switch.NO_HOOKS_HINT
        cli.print_note(click.style(f"hint: {begin}", fg="yellow"))
        _print_offer(cli, _count_offered_sessions(cli, None))


def _count_offered_sessions(cli: CliContext, store: Store | None) -> int:
    """Count the sessions that an import would be the first to read; 0 if the person silenced the offer."""
    if cli.env.get("REFLECT_GIT_OFF") == "1":
        return 0
    count = sessions.count_unread_sessions(store, cli.env, time.time() - _OFFER_DAYS * 86400)
    return count if count and cli.is_hint_enabled("import") else 0


def _print_offer(cli: CliContext, count: int) -> None:
    if count:
        command = cli.format_command("import", "transcripts", "--since", f"{_OFFER_DAYS}d", "--dry-run")
        verb = "was" if count == 1 else "were"
        said = f"{plural(count, 'session')} in the last {_OFFER_DAYS} days {verb} not read yet: {command}"
        cli.print_hint("import", said)


def _print_next_step(cli: CliContext, report: StatusReport) -> None:
    """Say what to do in a fresh store, unless a row above says it already."""
    if report.unread_sessions:
        _print_offer(cli, report.unread_sessions)
    elif report.hooks is None or report.questions or report.questions_elsewhere or report.learnings:
        return
    elif report.weak_here:
        cli.print_hint("start", f"see what was noted: {cli.format_command('review', '--all')}")
    else:
        cli.print_hint("start", "when you correct Claude, a proposed rule waits here for your review")


def _add_record_counts(report: StatusReport, store: Store, scan: Scan, counted: WaitingCounts) -> None:
    report.questions, report.questions_elsewhere = counted.questions, counted.elsewhere
    report.waiting, report.strong, report.weak_here = counted.waiting, counted.strong, counted.weak
    report.waiting_here, report.going = counted.waiting_here, counted.expiring
    report.last_capture = counted.last_capture
    report.learnings = len(scan.history.get_rules_in_force())
    report.pending = len(pending.list_pending(store))
    report.quarantined = len(doctor.load_quarantine(store))
    report.unreadable, report.newer = len(scan.unreadable), len(scan.newer)


def _describe_effect(store: Store, env: Mapping[str, str], scan: Scan) -> str | None:
    """Return in one line whether the rules help; None without rules or recorded sessions."""
    if not scan.history.learnings:
        return None
    from reflect_git.effect import table as effects

    return effects.describe_all(store, env, scan, _get_cwd()) or None


def _add_drift(report: StatusReport, store: Store, env: Mapping[str, str], scan: Scan) -> None:
    """Add the rules that differ from their files here."""
    from reflect_git.rules import dismiss, project_files, restore
    from reflect_git.rules.drift import drift

    here = project_files.find_place(store, env, _get_cwd())
    declines = dismiss.find_declines(scan.history, store.machine)
    report.rules_here = sum(
        here.is_in_scope(one) and one["id"] not in declines for one in scan.history.get_rules_in_force()
    )
    found = drift.find_drift(store, env, here, scan.history, _DRIFT_SECONDS)
    report.removed = len(restore.list_removals(store, scan.history))
    report.foreign = found.foreign_count
    report.drift = [
        {"learning": one.learning["id"], "kind": one.found.kind, "author": one.author,
         "target": here.label(one.file.path), "line": one.found.line}
        for one in (*found.open_differences, *found.branch_differences)
    ]  # fmt: skip


def _add_arrivals(report: StatusReport, store: Store, env: Mapping[str, str], scan: Scan) -> None:
    """Add the decisions of the person's other machines that are not in the files here."""
    if all(made["machine"] == store.machine for made in scan.history.decisions):
        return
    from reflect_git.rules import arrivals, project_files

    found = arrivals.list_arrivals(
        arrivals.ArrivalContext(store, project_files.find_place(store, env, _get_cwd()), scan)
    )
    report.arrived = sum(not one.is_own for one in found)
    report.rules_absent = sum(one.kind == arrivals.ADD for one in found)


def _add_git_state(report: StatusReport, store: Store) -> None:
    """Branch, uncommitted changes and distance to the remote, from one git process."""
    out = store.git.run("status", "--porcelain=v2", "--branch", "-z", "--no-renames").out
    for entry in out.decode("utf-8", "surrogateescape").split("\0"):
        kind, _, rest = entry.partition(" ")
        if entry.startswith("# branch.head "):
            report.branch = entry[14:]
        elif entry.startswith("# branch.ab ") and report.branch == "main":
            prefetch, behind = entry[12:].split()
            report.ahead, report.behind = int(prefetch), -int(behind)
        elif kind in ("1", "u", "?"):
            report.changes.append(rest.split(" ", {"1": 7, "u": 9, "?": 0}[kind])[-1])
    url = remotes.get_url(store)
    report.remote = urls.format_url(url) if url else None
    report.sync_error = remotes.load_state(store).get("error") if url else None


def build_rows(report: StatusReport, capture: CaptureState) -> list[tuple[str, str, bool]]:
    """Return rows of label, value and whether it needs attention. Rows without a value are left out."""
    found = [
        *_build_capture_rows(report, capture),
        ("store", report.store, False),
        ("machine", report.machine or "", False),
        ("waiting", _format_waiting(report), False),
    ]
    if report.going:
        found.append(("expiring", waiting_counts.format_expiring(report.going), True))
    found += [
        ("last capture", f"{format_age(report.last_capture)} ago" if report.last_capture else "none yet", False),
        ("rules", _format_rules(report), False),
        *([("effect", f"{report.effect}: reflect-git effect", False)] if report.effect else []),
        *_build_guard_rows(report),
        *_build_arrival_rows(report),
        *_build_drift_rows(report),
    ]
    return found + _build_problem_rows(report) + _build_remote_rows(report)


def _build_capture_rows(report: StatusReport, capture: CaptureState) -> list[tuple[str, str, bool]]:
    """Return the rows for capture and hooks. Without a hook nothing is captured, even if capture is on."""
    is_on = capture.state == "on"
    if is_on and report.hooks is None:
        return [("capture", _NO_HOOKS, True)]
    called = [("hooks", _HOOK_WARNINGS[report.hooks], True)] if report.hooks in _HOOK_WARNINGS else []
    return [("capture", capture.describe(), not is_on), *called]


def _format_waiting(report: StatusReport) -> str:
    """Name the questions that a review asks here, then those of other projects, then what no review asks by itself."""
    found = [plural(report.questions, "proposed rule") if report.questions else "no proposed rules"]
    found += [f"{report.questions_elsewhere} in other projects"] if report.questions_elsewhere else []
    found += [plural(report.weak_here, "unlikely one")] if report.weak_here else []
    command = "reflect-git review" if report.questions else "reflect-git review --all"
    return ", ".join(found) + (f": {command}" if report.questions or report.questions_elsewhere else "")


def _format_rules(report: StatusReport) -> str:
    """Count the rules here, as `rules` lists them, and all rules, as `rules --all` does."""
    absent = "" if report.rules_absent == report.rules_here else f"{report.rules_absent} "
    here = (
        f"{report.rules_here or 'none'} here"
        if report.rules_here < report.learnings
        else str(report.learnings or "none")
    )
    here += f" ({absent}not written yet)" if report.rules_absent else ""
    total = f", {report.learnings} in total" if report.rules_here < report.learnings else ""
    return here + total + (": reflect-git review" if report.rules_absent else "")


def _build_guard_rows(report: StatusReport) -> list[tuple[str, str, bool]]:
    """Return the row for guards. Without the entry in Claude Code's settings they do nothing."""
    if not report.guards:
        return []
    if report.guard_entry == guard_entry.PRESENT:
        fired = f", fired {report.guards_fired_today} today" if report.guards_fired_today else ""
        return [("guards", f"{report.guards}{fired}", False)]
    return [("guards", f"{report.guards}, entry in settings.json {report.guard_entry}: reflect-git enable", True)]


def _build_arrival_rows(report: StatusReport) -> list[tuple[str, str, bool]]:
    said = plural(report.arrived, "rule")
    return [("arrived", f"{said} from your other machines: reflect-git review", True)] if report.arrived else []


def _build_drift_rows(report: StatusReport) -> list[tuple[str, str, bool]]:
    """Return the row for rules that differ from their files. A rule that is missing only on this branch is fine."""
    count = sum(one["author"] != "branch" for one in report.drift)
    said = "1 rule differs from its file" if count == 1 else f"{count} rules differ from their files"
    return [("drift", f"{said}: reflect-git review", True)] if count else []


def _build_problem_rows(report: StatusReport) -> list[tuple[str, str, bool]]:
    found = []
    if report.pending:
        found.append(("pending", f"{report.pending} not committed yet; the next command commits them", True))
    if report.branch != "main":
        where = f"on '{report.branch}'" if report.branch != "(detached)" else "detached"
        found.append(("HEAD", f"{where}; switch back with: git -C '{report.store}' switch main", True))
    if report.removed:
        by = plural(report.removed, "commit")
        found.append(("removed", f"{by} of yours removed records, now restored: reflect-git review", True))
    if report.changes:
        found.append(("changed", f"{format_names(report.changes)}; see 'git -C {report.store} status'", True))
    broken = [(report.quarantined, "quarantined"), (report.unreadable, "unreadable")]
    if any(number for number, _ in broken):
        said = ", ".join(f"{number} {word}" for number, word in broken if number)
        found.append(("files", f"{said}; see 'reflect-git doctor'", True))
    if report.undecided:
        said = f"set by hand: {', '.join(report.undecided)}; see 'reflect-git doctor'"
        found.append(("settings", said, True))
    if report.newer:
        found.append(("newer", f"{report.newer} from a newer reflect-git; upgrade to read them", True))
    return found


def _build_remote_rows(report: StatusReport) -> list[tuple[str, str, bool]]:
    if report.remote is None:
        return []
    distance = "" if report.ahead is None else f", {report.ahead} ahead, {report.behind} behind"
    if report.ahead or report.behind:
        distance += "; run 'reflect-git sync'"
    found = [("remote", report.remote + distance, False)]
    if report.sync_error:
        found.append(("last sync", f"failed: {report.sync_error}", True))
    return found


def _print_rows(cli: CliContext, listed: list[tuple[str, str, bool]]) -> None:
    width = max(display_width(label) for label, _, _ in listed)
    for label, value, loud in listed:
        shown = printable(value)
        line = f"{click.style(label.ljust(width), dim=True)}  {click.style(shown, fg='yellow') if loud else shown}"
        if label == "store":  # a path, which may have blanks
            cli.print_line(line)
        else:
            cli.print_text(line, width + 2)


def _print_statusline(cli: CliContext, counted: WaitingCounts, fired: int) -> None:
    if cli.json:
        cli.print_json(
            {
                "waiting": counted.waiting, "questions": counted.questions, "going": counted.expiring,
                "guards_fired_today": fired,
            }
        )  # fmt: skip
        return
    said = " · ".join(filter(None, (waiting_counts.format_status_line(counted), firings.format_today(fired))))
    if said:
        cli.print_line(said)
