"""Run a sync for `sync` and `remote set`: show progress, ask questions, print the result."""

from __future__ import annotations

import os
import sys
import threading
import time
from _signal import SIG_DFL, SIGHUP, SIGTERM, getsignal
from _signal import signal as on_signal  # `signal` makes enums of its numbers: 1.5 ms
from collections.abc import Sequence

from reflect_git.capture import service
from reflect_git.cli.context import Front, end, open_streams, printable
from reflect_git.errors import EXIT_DECISION, EXIT_OK, ReflectError
from reflect_git.records.ids import local_day, plural, seconds_of, utc_precise
from reflect_git.store import machines
from reflect_git.sync import exchange
from reflect_git.sync.exchange import Report, Wishes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn

    from reflect_git.cli.fast_start import Ahead, Plain
    from reflect_git.store.reading.reader import Foreseen, Scan
    from reflect_git.store.repository import Store

_SHOWN = 10
_TICK = 0.1
_MOMENTS = (2, 10, 30, 60, 120, 300, 600, 1800, 3600)
_NEWS = "checking your other machines"
_ASKING = ("", "asking the remote", "sending", _NEWS)  # steps in which the remote is waited for


class Progress:
    """Progress on the terminal while a remote works: the step after a second, then the remote and the time.

    It uses lines of its own, which do not overwrite a question of ssh. Meanwhile, a signal that ends the program acts
    like Ctrl-C, so that git and its children end as well.
    """

    def __init__(self, front: Front, remote: str) -> None:
        self._is_wanted = sys.stderr.isatty() and not front.json
        self._remote = printable(remote)
        self._step = ""
        self._began = time.monotonic()
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._tell, daemon=True)
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Progress:
        self._began = time.monotonic()
        for number in (SIGTERM, SIGHUP):
            if getsignal(number) == SIG_DFL:
                self._before[number] = on_signal(number, _interrupt)
        if self._is_wanted:
            self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        if self._thread.is_alive():
            self._thread.join(1.0)
        for number, handler in self._before.items():
            on_signal(number, handler)

    def __call__(self, step: str) -> None:
        self._step, self._began = step, time.monotonic()

    def _tell(self) -> None:
        """Say it at each of these moments of a step, unless the step is over before."""
        told = ""
        while not self._done.wait(_TICK):
            step, seconds = self._step, int(time.monotonic() - self._began)
            due = [moment for moment in _MOMENTS if moment <= seconds]
            said = f"{step} {due[-1]}" if due else ""
            if not said or said == told or self._done.is_set():
                continue
            told = said
            waits = f"waiting for {self._remote} ({seconds} s); Ctrl-C stops it, nothing is lost"
            sys.stderr.write(f"{waits}\n" if step in _ASKING else f"{step} …\n")
            sys.stderr.flush()


def _interrupt(_number: int, _frame: object) -> None:
    raise KeyboardInterrupt


def sync(front: Front, dry_run: bool, timeout: float = 0.0) -> int:
    """Run `sync` and return its exit code. A `timeout` of 0 means the configured one."""
    store = front.opened = front.ahead.store if front.ahead else front.store(create=False)
    report = run_sync(front, store, dry_run, timeout)
    if not dry_run and store.setting("reflect.sync.apply") == "auto":
        from reflect_git.cli.review_setup import open_context  # few have it

        open_context(front, writes=True)
        report.looked = None
    waits = [] if dry_run else waiting(front, store, report.looked)
    if front.json:
        front.data(as_data(report, waits))
    else:
        tell(front, report, waits, dry_run)
    return EXIT_DECISION if report.purges else EXIT_OK


def run_sync(front: Front, store: Store, dry_run: bool = False, timeout: float = 0.0) -> Report:
    """Sync, ask what only a person can answer, and sync again if the answer changed something."""
    view, begun = _View(front, store), front.ahead.begun if front.ahead else None
    limits = exchange.limits_of(store, timeout)
    with Progress(front, exchange.remote_of(store).name) as progress:
        report = exchange.sync(
            store, front.env,
            Wishes(dry_run, say=progress, limits=limits, foresee=view.foresee, meanwhile=view.read, begun=begun),
        )  # fmt: skip
    if report.purges and not dry_run and _asks(front):
        from reflect_git.cli.remote_purges import follow  # once in a store's life, if ever

        report = follow(front, store, report, lambda wishes: _synced(front, store, wishes._replace(limits=limits)))
    if not dry_run and _asks(front) and _meet(front, store):
        report.add(_synced(front, store, Wishes(limits=limits)))
    return report


def _synced(front: Front, store: Store, wishes: Wishes) -> Report:
    with Progress(front, exchange.remote_of(store).name) as progress:
        return exchange.sync(store, front.env, wishes._replace(say=progress))


class _View:
    """The store after a sync. Errors in it are reported at the end, so that they do not stop the push."""

    def __init__(self, front: Front, store: Store) -> None:
        self._front, self._store = front, store
        self.foreseen: Foreseen | None = None

    def foresee(self, commit: str) -> None:
        try:
            self.foreseen = self._front.foresee(self._store, commit)
        except Exception:
            self.foreseen = None

    def read(self) -> Scan | None:
        try:
            return self._front.scan(self._store, self.foreseen).with_decisions()
        except Exception:
            return None


def freshen(front: Front, store: Store) -> None:
    """Sync before a review if a sync is due. `status` reports a failure."""
    from reflect_git.sync import exchange  # a sync itself does without

    if not exchange.is_due(store, time.time()):
        return
    try:
        remote = exchange.remote_of(store).name
    except ReflectError:
        remote = "the remote"
    with Progress(front, remote) as progress:
        progress(_NEWS)
        exchange.before_review(store, front.env, time.time())


def _asks(front: Front) -> bool:
    return not front.no_input and not front.json and front.at_terminal


def _meet(front: Front, store: Store) -> bool:
    """Ask about each new machine. Return whether one was accepted.

    --yes does not answer: this is a question of trust.
    """
    accepted: list[str] = []
    strangers = machines.strangers(store, front.scan(store).decided)
    if strangers:
        front.talk("rules from your machines go to review; others are ignored")
    for name, when in strangers.items():
        said = f"new machine '{printable(name)}', first seen {local_day(seconds_of(when))}: yours?"
        if front.is_yes(said):
            accepted.append(name)
    if accepted:
        by = service.author(store, service.road_of(front.env, front.at_terminal))
        machines.accept(store, accepted, by, utc_precise())
    return bool(accepted)


def waiting(front: Front, store: Store, looked: Scan | None = None) -> list[dict[str, Any]]:
    """List what needs an answer after a sync: rules from own machines, and machines that are not accepted yet.

    `looked` is the store as read since main moved.
    """
    scan = looked or front.scan(store)
    new = machines.strangers(store, scan.decided)
    return _arrived(front, store, scan) + [
        {"kind": "machine", "machine": name, "first_seen": when} for name, when in new.items()
    ]


def _arrived(front: Front, store: Store, scan: Scan) -> list[dict[str, Any]]:
    decisions = [made for identity, made in scan.decided.items() if identity.startswith("DEC-")]
    if not any(made["machine"] != store.machine and made["subject"].startswith("LRN-") for made in decisions):
        return []
    from reflect_git.cli.review_setup import here  # loads what reads and writes files, 50 ms
    from reflect_git.rules import arrivals as arrived
    from reflect_git.rules import project_files

    look = arrived.Look(store, project_files.place(store, front.env, os.path.abspath(here())), scan)
    return [
        {"kind": one.kind, "learning": one.learning["id"], "title": one.learning["title"],
         "machine": one.decision["machine"]}
        for one in arrived.waiting(look)
        if not one.own
    ]  # fmt: skip


def as_data(report: Report, waits: Sequence[dict[str, Any]]) -> dict[str, Any]:
    purged = [{"kind": "purge", "machine": one.machine, "epoch": one.epoch} for one in report.purges]
    return {
        "pulled": len(report.pulled), "pushed": len(report.pushed), "merged": report.merged,
        "waiting": [*waits, *purged], "refused": report.refused,
    }  # fmt: skip


def tell(front: Front, report: Report, waits: Sequence[dict[str, Any]], dry_run: bool) -> None:
    came, went = len(report.pulled), len(report.pushed)
    would = "would be " if dry_run else ""
    if came or went:
        front.tell(f"{plural(came, 'file')} {would}received, {went} {would}sent")
    elif not report.purges:
        front.tell("nothing new")
    for side, what in (("remote", "refused"), ("here", "not sent")):
        _list(front, what, [one for one in report.refused if one["side"] == side])
    if report.lost:
        front.talk(f"{plural(len(report.lost), 'file')} missing on the remote; nothing was deleted here")
    for path in report.beside:
        front.talk(printable(f"'{path}' differs on the remote; both versions are kept, see 'aside/'"))
    _tell_waiting(front, report, waits)


def _list(front: Front, what: str, refused: Sequence[dict[str, str]]) -> None:
    for one in refused[:_SHOWN]:
        front.talk(printable(f"{what}: '{one['path']}': {one['reason']}"))
    if len(refused) > _SHOWN:
        front.talk(f"{what}: {len(refused) - _SHOWN} more; --json lists them all")


def _tell_waiting(front: Front, report: Report, waits: Sequence[dict[str, Any]]) -> None:
    learned = [one for one in waits if "learning" in one]
    if learned:
        front.tell(f"{plural(len(learned), 'rule')} to review: reflect-git review")
    for one in waits:
        if one["kind"] == "machine":
            said = f"'{one['machine']}' is not accepted yet; accept it in a terminal with: reflect-git sync"
            front.talk(printable(said))
    if report.followed:
        who = ", ".join(sorted({one.machine for one in report.followed}))
        front.talk(printable(f"{who} purged records that this store never had; nothing to purge here"))
    if report.purges:
        front.talk("another machine purged records; nothing is synced until you agree")


def run_plain_sync(ahead: Ahead, plain: Plain) -> NoReturn:
    open_streams()
    front = Front(os.environ, ahead)
    front.store_option, front.json, front.no_input, front.yes = plain.store, plain.json, plain.no_input, plain.yes
    try:
        code = sync(front, plain.dry_run)
    except (Exception, KeyboardInterrupt) as error:
        from reflect_git.cli import app

        code = app.failure(front, error, sys.argv[1:])
    end(front, code)
