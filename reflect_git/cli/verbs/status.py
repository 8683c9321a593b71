"""What is captured, waiting and going soon, on one screen."""

from __future__ import annotations

import json
import os
import shlex
import sys
import time
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

import click

from reflect_git import paths, workflow
from reflect_git.cli import wiring
from reflect_git.cli.front import Front, ago, columns, printable
from reflect_git.cli.options import json_option
from reflect_git.cli.switching import Capture, capture_here
from reflect_git.errors import ReflectError
from reflect_git.model.counts import plural
from reflect_git.sitting import counting
from reflect_git.store import glance, machines, policy, remotes, spool
from reflect_git.store.care import health
from reflect_git.store.care.case import some
from reflect_git.sync import urls

if TYPE_CHECKING:
    from collections.abc import Mapping

    from reflect_git.store.glance import Glance
    from reflect_git.store.reading import Scan
    from reflect_git.store.repository import Store

_DRIFT_SECONDS = 0.3  # of looking through transcripts, on one screen that people wait for
FORMATS = ("table", "statusline", "statusline-setup")


_ADD = "'reflect-git enable' adds them, or install the plugin"
_UNCALLED = {
    None: f"none; {_ADD}",
    wiring.PROJECTS: "in some projects only; 'reflect-git doctor' names them",
}


@dataclass
class Report:
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


@click.command()
@click.option("--format", "form", type=click.Choice(FORMATS), default="table", help="'statusline': one short line.")
@click.option(
    "--for-skill",
    is_flag=True,
    expose_value=False,
    help="For /reflect-toggle: where packages have to be fetched, say so.",
)
@json_option
@click.pass_obj
def command(front: Front, form: str) -> None:
    """Show what is captured, waiting and going soon."""
    if form == "statusline-setup":
        _show_setup(front)
        return
    root = workflow.locate_store(front.env, front.store_option)
    try:
        store = front.store(create=False)
    except ReflectError as error:
        if error.code != "no-store":
            raise
        _say_none(front, root, form)
        return
    if form == "statusline":
        before, scan = glance.seen(store), front.scan(store)
        _statusline(front, counting.count(store, front.env, scan, _here(), before))
        return
    capture = capture_here(store, front.env, _here(), time.time())
    report = Report(root, True, capture.state, paused_until=capture.until, machine=store.machine)
    state = wiring.look(front.env).state
    report.hooks = None if state == wiring.NONE else state
    before = glance.seen(front.caught_up(store))
    scan = front.scan(store)
    _look_at_records(report, store, scan, counting.count(store, front.env, scan, _here(), before))
    _look_at_files(report, store, front.env, scan)
    _look_at_git(report, store)
    decisions = machines.decisions_in(scan.decided)
    report.undecided = policy.undecided(store, decisions) + [machines.OWN] * bool(machines.unaccepted(store, decisions))
    _look_at_arrivals(report, store, front.env, scan)
    if front.json:
        front.data(asdict(report))
    else:
        _print(front, rows(report, capture))


def _show_setup(front: Front) -> None:
    """What to put into the client's settings for a status line."""
    line = f"{shlex.quote(sys.executable)} -I -S {shlex.quote(paths.resource('hooks', 'statusline.py'))}"
    setting = {"statusLine": {"type": "command", "command": line}}
    if front.json:
        front.data(setting)
    else:
        front.out(json.dumps(setting)[1:-1])


def _here() -> str:
    try:
        return os.getcwd()
    except FileNotFoundError:  # deleted under our feet
        return os.sep


def _say_none(front: Front, root: str, form: str) -> None:
    if front.json:
        front.data(asdict(Report(root)))
    elif form == "table":
        front.tell(f"there is no store at '{printable(root)}' yet; the first capture makes it")
        is_called = wiring.look(front.env).state != wiring.NONE
        begin = f"make it now with '{front.command('init')}'" if is_called else wiring.BEGIN
        front.talk(click.style(f"hint: {begin}", fg="yellow"))


def _look_at_records(report: Report, store: Store, scan: Scan, counted: Glance) -> None:
    report.questions, report.questions_elsewhere = counted.questions, counted.elsewhere
    report.waiting, report.strong, report.weak_here = counted.waiting, counted.strong, counted.weak
    report.waiting_here, report.going = counted.waiting_here, counted.going
    report.last_capture = counted.last_capture
    report.learnings = len(scan.history.in_force())
    report.pending = len(spool.pending(store))
    report.quarantined = len(health.quarantined(store))
    report.unreadable, report.newer = len(scan.unreadable), len(scan.newer)


def _look_at_files(report: Report, store: Store, env: Mapping[str, str], scan: Scan) -> None:
    """Which rules are not in their files here as they were approved."""
    from reflect_git.sitting import declining, drift, places, removals

    here = places.place(store, env, _here())
    noes = declining.declined(scan.history, store.machine)
    report.rules_here = sum(here.reaches(one) and one["id"] not in noes for one in scan.history.in_force())
    found = drift.look(store, env, here, scan.history, _DRIFT_SECONDS)
    report.removed = len(removals.look(store, scan.history))
    report.foreign = found.foreign
    report.drift = [
        {"learning": one.learning["id"], "kind": one.found.kind, "author": one.author,
         "target": here.label(one.page.path), "line": one.found.line}
        for one in (*found.asked, *found.elsewhere)
    ]  # fmt: skip


def _look_at_arrivals(report: Report, store: Store, env: Mapping[str, str], scan: Scan) -> None:
    """What other own machines decided and this one's files do not have."""
    if all(made["machine"] == store.machine for made in scan.history.decisions):
        return
    from reflect_git.sitting import places, waiting

    found = waiting.waiting(waiting.Look(store, places.place(store, env, _here()), scan))
    report.arrived = sum(not one.own for one in found)
    report.rules_absent = sum(one.kind == waiting.ADD for one in found)


def _look_at_git(report: Report, store: Store) -> None:
    """Branch, uncommitted changes and distance to the remote, from one git process."""
    out = store.git.run("status", "--porcelain=v2", "--branch", "-z", "--no-renames").out
    for entry in out.decode("utf-8", "surrogateescape").split("\0"):
        kind, _, rest = entry.partition(" ")
        if entry.startswith("# branch.head "):
            report.branch = entry[14:]
        elif entry.startswith("# branch.ab ") and report.branch == "main":
            ahead, behind = entry[12:].split()
            report.ahead, report.behind = int(ahead), -int(behind)
        elif kind in ("1", "u", "?"):
            report.changes.append(rest.split(" ", {"1": 7, "u": 9, "?": 0}[kind])[-1])
    url = remotes.url_of(store)
    report.remote = urls.shown(url) if url else None
    report.sync_error = remotes.state(store).get("error") if url else None


def rows(report: Report, capture: Capture) -> list[tuple[str, str, bool]]:
    """(label, value, whether it wants attention); what is as it should be and says nothing is left out."""
    found = [
        *_capture(report, capture),
        ("store", report.store, False),
        ("machine", report.machine or "", False),
        ("waiting", _waiting(report), False),
    ]
    if report.going:
        found.append(("going soon", glance.going_said(report.going), True))
    found += [
        ("last capture", f"{ago(report.last_capture)} ago" if report.last_capture else "none yet", False),
        ("rules", _rules(report), False),
        *_waits_from_elsewhere(report),
        *_drift(report),
    ]
    return found + _troubles(report) + _remote(report)


def _capture(report: Report, capture: Capture) -> list[tuple[str, str, bool]]:
    """Whether it is switched on, and what calls it: switched on without a hook, it captures nothing."""
    is_on = capture.state == "on"
    if is_on and report.hooks is None:
        return [("capture", f"none, for there are no hooks: {_ADD}", True)]
    called = [("hooks", _UNCALLED[report.hooks], True)] if report.hooks in _UNCALLED else []
    return [("capture", capture.said(), not is_on), *called]


def _waiting(report: Report) -> str:
    """Name the questions that a review asks here, then those of other projects, then what no review asks by itself."""
    found = [plural(report.questions, "proposed rule") if report.questions else "no proposed rules"]
    found += [f"{report.questions_elsewhere} in other projects"] if report.questions_elsewhere else []
    found += [plural(report.weak_here, "weak signal")] if report.weak_here else []
    command = "reflect-git review" if report.questions else "reflect-git review --all"
    return ", ".join(found) + (f": {command}" if report.questions or report.questions_elsewhere else "")


def _rules(report: Report) -> str:
    """Those that 'rules' lists here, and those that 'rules --all' lists."""
    told = f"{report.rules_here or 'none'} in force here, {report.learnings} in all projects"
    if report.rules_here == report.learnings:
        told = f"{report.learnings or 'none'} in force"
    absent = f", {report.rules_absent} of them in no file here yet: reflect-git review" if report.rules_absent else ""
    return told + absent


def _waits_from_elsewhere(report: Report) -> list[tuple[str, str, bool]]:
    said = plural(report.arrived, "learning")
    return [("arrived", f"{said} of your other machines: reflect-git review", True)] if report.arrived else []


def _drift(report: Report) -> list[tuple[str, str, bool]]:
    """What is not on this branch is as it should be."""
    count = sum(one["author"] != "branch" for one in report.drift)
    said = "1 rule differs from its file" if count == 1 else f"{count} rules differ from their files"
    return [("drift", f"{said}: reflect-git review", True)] if count else []


def _troubles(report: Report) -> list[tuple[str, str, bool]]:
    found = []
    if report.pending:
        found.append(("pending", f"{report.pending} not committed yet; the next command does it", True))
    if report.branch != "main":
        where = f"on '{report.branch}'" if report.branch != "(detached)" else "detached"
        found.append(("HEAD", f"{where}; go back with: git -C '{report.store}' switch main", True))
    if report.removed:
        by = "a commit of yours" if report.removed == 1 else f"{report.removed} commits of yours"
        found.append(("removed", f"records, by {by}, and put back: reflect-git review", True))
    if report.changes:
        found.append(("changed", f"{some(report.changes)}; see 'git -C {report.store} status'", True))
    broken = [(report.quarantined, "quarantined"), (report.unreadable, "unreadable")]
    if any(number for number, _ in broken):
        said = ", ".join(f"{number} {word}" for number, word in broken if number)
        found.append(("files", f"{said}; see 'reflect-git doctor'", True))
    if report.undecided:
        said = f"set by hand, not decided: {', '.join(report.undecided)}; see 'reflect-git doctor'"
        found.append(("settings", said, True))
    if report.newer:
        found.append(("newer", f"{report.newer} written by a newer reflect-git; upgrade to read them", True))
    return found


def _remote(report: Report) -> list[tuple[str, str, bool]]:
    if report.remote is None:
        return []
    distance = "" if report.ahead is None else f", {report.ahead} ahead, {report.behind} behind"
    if report.ahead or report.behind:
        distance += "; run 'reflect-git sync'"
    found = [("remote", report.remote + distance, False)]
    if report.sync_error:
        found.append(("last sync", f"failed: {report.sync_error}", True))
    return found


def _print(front: Front, listed: list[tuple[str, str, bool]]) -> None:
    width = max(columns(label) for label, _, _ in listed)
    for label, value, loud in listed:
        shown = printable(value)
        line = f"{click.style(label.ljust(width), dim=True)}  {click.style(shown, fg='yellow') if loud else shown}"
        if label == "store":  # a path, which may have blanks
            front.out(line)
        else:
            front.tell(line, width + 2)


def _statusline(front: Front, counted: Glance) -> None:
    if front.json:
        front.data({"waiting": counted.waiting, "questions": counted.questions, "going": counted.going})
    elif counted.questions:
        front.out(glance.line(counted))
