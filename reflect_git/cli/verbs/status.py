"""What is captured, waiting and going soon, on one screen."""

from __future__ import annotations

import math
import os
import time
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

import click

from reflect_git import workflow
from reflect_git.adapters.project import normalise_url
from reflect_git.cli.front import Front, ago, columns, printable
from reflect_git.cli.options import json_option
from reflect_git.cli.switching import Capture, capture_here
from reflect_git.errors import ReflectError
from reflect_git.store import creation, expiry, spool
from reflect_git.store.care import health
from reflect_git.store.care.case import some

if TYPE_CHECKING:
    from reflect_git.store.reading import Snapshot
    from reflect_git.store.repository import Store

FORMATS = ("table", "statusline")
SOON = 3
STRONG = 2
_OUT_OF_FORCE = ("reverted", "superseded")


@dataclass
class Report:
    store: str
    exists: bool = False
    capture: str = "on"
    paused_until: str | None = None
    machine: str | None = None
    waiting: int = 0
    strong: int = 0
    going: list[dict[str, int]] = field(default_factory=list)
    last_capture: str | None = None
    learnings: int = 0
    pending: int = 0
    branch: str | None = None
    quarantined: int = 0
    unreadable: int = 0
    newer: int = 0
    changes: list[str] = field(default_factory=list)
    remote: str | None = None
    ahead: int | None = None
    behind: int | None = None


@click.command()
@click.option("--format", "form", type=click.Choice(FORMATS), default="table", help="'statusline': one short line.")
@json_option
@click.pass_obj
def command(front: Front, form: str) -> None:
    """Show what is captured, waiting and going soon."""
    root = workflow.locate_store(front.env, front.store_option)
    try:
        store = front.store(create=False)
    except ReflectError as error:
        if error.code != "no-store":
            raise
        creation.require_room(root)
        _say_none(front, root, form)
        return
    now = time.time()
    if form == "statusline":
        _statusline(front, _count(Report(root, True), store, front.snapshot(store), now))
        return
    capture = capture_here(store, front.env, _here(), now)
    report = Report(root, True, capture.state, paused_until=capture.until, machine=store.machine)
    _count(report, store, front.snapshot(store), now)
    _look_at_git(report, store)
    if front.json:
        front.data(asdict(report))
    else:
        _print(front, rows(report, capture))


def _here() -> str:
    try:
        return os.getcwd()
    except FileNotFoundError:  # deleted under our feet
        return os.sep


def _say_none(front: Front, root: str, form: str) -> None:
    if front.json:
        front.data(asdict(Report(root)))
    elif form == "table":
        front.out(f"there is no store at '{printable(root)}' yet; the first capture makes it")
        front.talk(click.style("hint: make it now with 'reflect-git init'", fg="yellow"))


def _count(report: Report, store: Store, snapshot: Snapshot, now: float) -> Report:
    waiting = [signal for signal in snapshot.signals if signal["status"] == "captured"]
    report.waiting = len(waiting)
    report.strong = sum(signal["confidence"] >= STRONG for signal in waiting)
    report.going = _going(store, waiting, now)
    report.last_capture = max((signal["stored"] for signal in snapshot.signals), default=None)
    report.learnings = _in_force(snapshot)
    report.pending = len(spool.pending(store))
    report.quarantined = len(health.quarantined(store))
    report.unreadable, report.newer = len(snapshot.unreadable), len(snapshot.newer)
    return report


def _going(store: Store, waiting: list[Any], now: float) -> list[dict[str, int]]:
    """How many go on which of the next days, today being 0."""
    ttl, shown = expiry.lifetime(store), expiry.shown(store)
    counts: dict[int, int] = {}
    for signal in waiting:
        left = (expiry.goes_on(signal, ttl, shown) - now) / expiry.DAY
        if left <= SOON:
            days = max(0, math.floor(left))
            counts[days] = counts.get(days, 0) + 1
    return [{"days": days, "count": counts[days]} for days in sorted(counts)]


def _in_force(snapshot: Snapshot) -> int:
    last = {decision["subject"]: decision["kind"] for decision in snapshot.history.decisions}
    return sum(last.get(identity) not in _OUT_OF_FORCE for identity in snapshot.history.learnings)


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
    urls = [values[-1] for key, values in store.config.items() if key.startswith("remote.") and key.endswith(".url")]
    report.remote = normalise_url(urls[0]) if urls else None  # without a user or a token that may stand in it


def rows(report: Report, capture: Capture) -> list[tuple[str, str, bool]]:
    """(label, value, whether it wants attention); what is as it should be and says nothing is left out."""
    found = [
        ("capture", capture.said(), capture.state != "on"),
        ("store", report.store, False),
        ("machine", report.machine or "", False),
        ("waiting", _waiting(report), False),
    ]
    if report.going:
        found.append(("going soon", going_said(report.going), True))
    found += [
        ("last capture", f"{ago(report.last_capture)} ago" if report.last_capture else "none yet", False),
        ("learnings", str(report.learnings), False),
    ]
    return found + _troubles(report) + _remote(report)


def _waiting(report: Report) -> str:
    return f"{report.waiting}, {report.strong} of them strong" if report.strong else str(report.waiting)


def going_said(going: list[dict[str, int]]) -> str:
    """`2 go today, 5 in 3 days`."""
    words = {0: "today", 1: "tomorrow"}
    parts = [f"{day['count']} {words.get(day['days']) or 'in ' + str(day['days']) + ' days'}" for day in going]
    number, _, rest = parts[0].partition(" ")
    return ", ".join([f"{number} {'goes' if number == '1' else 'go'} {rest}", *parts[1:]])


def _troubles(report: Report) -> list[tuple[str, str, bool]]:
    found = []
    if report.pending:
        found.append(("pending", f"{report.pending} not committed yet; the next command does it", True))
    if report.branch != "main":
        where = f"on '{report.branch}'" if report.branch != "(detached)" else "detached"
        found.append(("HEAD", f"{where}; go back with: git -C '{report.store}' switch main", True))
    if report.changes:
        found.append(("changed", f"{some(report.changes)}; see 'git -C {report.store} status'", True))
    broken = [(report.quarantined, "quarantined"), (report.unreadable, "unreadable")]
    if any(number for number, _ in broken):
        said = ", ".join(f"{number} {word}" for number, word in broken if number)
        found.append(("files", f"{said}; see 'reflect-git doctor'", True))
    if report.newer:
        found.append(("newer", f"{report.newer} written by a newer reflect-git; upgrade to read them", True))
    return found


def _remote(report: Report) -> list[tuple[str, str, bool]]:
    if report.remote is None:
        return []
    distance = "" if report.ahead is None else f", {report.ahead} ahead, {report.behind} behind"
    return [("remote", report.remote + distance, False)]


def _print(front: Front, listed: list[tuple[str, str, bool]]) -> None:
    width = max(columns(label) for label, _, _ in listed)
    for label, value, loud in listed:
        shown = printable(value)
        front.out(f"{click.style(label.ljust(width), dim=True)}  {click.style(shown, fg='yellow') if loud else shown}")


def _statusline(front: Front, report: Report) -> None:
    if front.json:
        front.data({"waiting": report.waiting, "going": report.going})
    elif report.waiting:
        front.out(" · ".join([f"✎ {report.waiting}", *([going_said(report.going)] if report.going else [])]))
