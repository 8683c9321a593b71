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
from reflect_git.cli.context import CliContext, finish_run, get_cwd, prepare_streams, printable
from reflect_git.errors import EXIT_DECISION, EXIT_OK, ReflectError
from reflect_git.records.ids import local_day, parse_utc, plural, utc_precise
from reflect_git.store import machines
from reflect_git.sync import exchange
from reflect_git.sync.exchange import SyncOptions, SyncReport

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn

    from reflect_git.cli.fast_start import PlainSyncOptions, Prefetch
    from reflect_git.store.reading.reader import PreloadedMain, Scan
    from reflect_git.store.repository import Store

_MAX_REFUSED = 10
_POLL_SECONDS = 0.1
_REPORT_SECONDS = (2, 10, 30, 60, 120, 300, 600, 1800, 3600)
_CHECKING_STEP = "checking your other machines"
_REMOTE_STEPS = ("", "asking the remote", "sending", _CHECKING_STEP)  # steps in which the remote is waited for


class Progress:
    """Progress on the terminal while a remote works: the step after a second, then the remote and the time.

    It uses lines of its own, which do not overwrite a question of ssh. Meanwhile, a signal that ends the program acts
    like Ctrl-C, so that git and its children end as well.
    """

    def __init__(self, cli: CliContext, remote: str) -> None:
        self._is_shown = sys.stderr.isatty() and not cli.json
        self._remote = printable(remote)
        self._step = ""
        self._start_time = time.monotonic()
        self._stop_event = threading.Event()
        self._thread = threading.Thread(target=self._print_steps, daemon=True)
        self._old_handlers: dict[int, Any] = {}

    def __enter__(self) -> Progress:
        self._start_time = time.monotonic()
        for number in (SIGTERM, SIGHUP):
            if getsignal(number) == SIG_DFL:
                self._old_handlers[number] = on_signal(number, _raise_interrupt)
        if self._is_shown:
            self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop_event.set()
        if self._thread.is_alive():
            self._thread.join(1.0)
        for number, handler in self._old_handlers.items():
            on_signal(number, handler)

    def __call__(self, step: str) -> None:
        self._step, self._start_time = step, time.monotonic()

    def _print_steps(self) -> None:
        """Say it at each of these moments of a step, unless the step is over before."""
        last_step = ""
        while not self._stop_event.wait(_POLL_SECONDS):
            step, seconds = self._step, int(time.monotonic() - self._start_time)
            due = [moment for moment in _REPORT_SECONDS if moment <= seconds]
            said = f"{step} {due[-1]}" if due else ""
            if not said or said == last_step or self._stop_event.is_set():
                continue
            last_step = said
            waits = f"waiting for {self._remote} ({seconds} s); Ctrl-C stops it, nothing is lost"
            sys.stderr.write(f"{waits}\n" if step in _REMOTE_STEPS else f"{step} …\n")
            sys.stderr.flush()


def _raise_interrupt(_number: int, _frame: object) -> None:
    raise KeyboardInterrupt


def run_sync_command(cli: CliContext, dry_run: bool, timeout: float = 0.0) -> int:
    """Run `sync` and return its exit code. A `timeout` of 0 means the configured one."""
    store = cli.opened_store = cli.prefetch.store if cli.prefetch else cli.open_store(create=False)
    report = run_sync(cli, store, dry_run, timeout)
    if not dry_run and store.get_setting("reflect.sync.apply") == "auto":
        from reflect_git.cli.review_setup import open_context

        open_context(cli, writes=True)
        report.pushing_result = None
    waits = [] if dry_run else _finish_sync(cli, store, report.pushing_result or cli.scan(store))
    if cli.json:
        cli.print_json(build_sync_json(report, waits))
    else:
        print_report(cli, report, waits, dry_run)
    return EXIT_DECISION if report.purges else EXIT_OK


def run_sync(cli: CliContext, store: Store, dry_run: bool = False, timeout: float = 0.0) -> SyncReport:
    """Sync, ask what only a person can answer, and sync again if the answer changed something."""
    view, begun = _UpcomingStore(cli, store), cli.prefetch.started_fetch if cli.prefetch else None
    limits = exchange.get_limits(store, timeout)
    with Progress(cli, exchange.get_remote(store).name) as progress:
        report = exchange.sync(
            store,
            cli.env,
            SyncOptions(
                dry_run,
                show_step=progress,
                limits=limits,
                on_new_main=view.load_upcoming,
                while_pushing=view.read_scan,
                started_sync=begun,
            ),
        )
    if report.purges and not dry_run and _can_ask(cli):
        from reflect_git.cli.remote_purges import follow_remote_purges  # once in a store's life, if ever

        report = follow_remote_purges(
            cli, store, report, lambda wishes: _sync_with_progress(cli, store, wishes._replace(limits=limits))
        )
    if not dry_run and _can_ask(cli) and _ask_new_machines(cli, store):
        report.add_report(_sync_with_progress(cli, store, SyncOptions(limits=limits)))
    return report


def _sync_with_progress(cli: CliContext, store: Store, wishes: SyncOptions) -> SyncReport:
    with Progress(cli, exchange.get_remote(store).name) as progress:
        return exchange.sync(store, cli.env, wishes._replace(show_step=progress))


class _UpcomingStore:
    """The store after a sync. Errors in it are reported at the end, so that they do not stop the push."""

    def __init__(self, cli: CliContext, store: Store) -> None:
        self._cli, self._store = cli, store
        self.upcoming: PreloadedMain | None = None

    def load_upcoming(self, commit: str) -> None:
        try:
            self.upcoming = self._cli.read_upcoming(self._store, commit)
        except Exception:
            self.upcoming = None

    def read_scan(self) -> Scan | None:
        try:
            return self._cli.scan(self._store, self.upcoming).load_decisions()
        except Exception:
            return None


def sync_before_review(cli: CliContext, store: Store) -> None:
    """Sync before a review if a sync is due. `status` reports a failure."""
    if not exchange.is_due(store, time.time()):
        return
    try:
        remote = exchange.get_remote(store).name
    except ReflectError:
        remote = "the remote"
    with Progress(cli, remote) as progress:
        progress(_CHECKING_STEP)
        exchange.sync_before_review(store, cli.env, time.time())


def _can_ask(cli: CliContext) -> bool:
    return not cli.no_input and not cli.json and cli.is_at_terminal


def _ask_new_machines(cli: CliContext, store: Store) -> bool:
    """Ask about each new machine. Return whether one was accepted.

    --yes does not answer: this is a question of trust.
    """
    accepted: list[str] = []
    strangers = machines.find_unknown_machines(store, cli.scan(store).main_records)
    if strangers:
        cli.print_note("rules from your machines go to review; others are ignored")
    for name, when in strangers.items():
        said = f"new machine '{printable(name)}', first seen {local_day(parse_utc(when))}: yours?"
        if cli.ask_yes_no(said):
            accepted.append(name)
    if accepted:
        by = service.get_author(store, service.get_channel(cli.env, cli.is_at_terminal))
        machines.accept_machines(store, accepted, by, utc_precise())
    return bool(accepted)


def _finish_sync(cli: CliContext, store: Store, scan: Scan) -> list[dict[str, Any]]:
    """Compile the guards that are in force now, and list what needs an answer."""
    if any(made.get("kind") == "guarded" for made in scan.main_records.values()):
        from reflect_git.rules.derived_files import refresh_guards  # few have guards

        refresh_guards(store, cli.env, scan)
    return list_waiting(cli, store, scan)


def list_waiting(cli: CliContext, store: Store, looked: Scan | None = None) -> list[dict[str, Any]]:
    """List what needs an answer after a sync: rules from own machines, and machines that are not accepted yet.

    `looked` is the store as read since main moved.
    """
    scan = looked or cli.scan(store)
    new = machines.find_unknown_machines(store, scan.main_records)
    return _list_arrived(cli, store, scan) + [
        {"kind": "machine", "machine": name, "first_seen": when} for name, when in new.items()
    ]


def _list_arrived(cli: CliContext, store: Store, scan: Scan) -> list[dict[str, Any]]:
    decisions = [made for identity, made in scan.main_records.items() if identity.startswith("DEC-")]
    if not any(made["machine"] != store.machine and made["subject"].startswith("LRN-") for made in decisions):
        return []
    from reflect_git.rules import arrivals as arrived
    from reflect_git.rules import project_files

    look = arrived.ArrivalContext(store, project_files.find_place(store, cli.env, os.path.abspath(get_cwd())), scan)
    return [
        {"kind": one.kind, "learning": one.learning["id"], "title": one.learning["title"],
         "machine": one.decision["machine"]}
        for one in arrived.list_arrivals(look)
        if not one.is_own
    ]  # fmt: skip


def build_sync_json(report: SyncReport, waits: Sequence[dict[str, Any]]) -> dict[str, Any]:
    purged = [{"kind": "purge", "machine": one.machine, "epoch": one.epoch} for one in report.purges]
    return {
        "pulled": len(report.pulled), "pushed": len(report.pushed), "merged": report.merge_commit,
        "waiting": [*waits, *purged], "refused": report.refused,
    }  # fmt: skip


def print_report(cli: CliContext, report: SyncReport, waits: Sequence[dict[str, Any]], dry_run: bool) -> None:
    came, went = len(report.pulled), len(report.pushed)
    would = "would be " if dry_run else ""
    if came or went:
        cli.print_text(f"{plural(came, 'file')} {would}received, {went} {would}sent")
    elif not report.purges:
        cli.print_text("nothing new")
    for side, what in (("remote", "refused"), ("here", "not sent")):
        _print_refused(cli, what, [one for one in report.refused if one["side"] == side])
    if report.lost:
        cli.print_note(f"{plural(len(report.lost), 'file')} missing on the remote; nothing was deleted here")
    for path in report.kept_beside:
        cli.print_note(printable(f"'{path}' differs on the remote; both versions are kept, see 'aside/'"))
    _print_waiting(cli, report, waits)


def _print_refused(cli: CliContext, what: str, refused: Sequence[dict[str, str]]) -> None:
    for one in refused[:_MAX_REFUSED]:
        cli.print_note(printable(f"{what}: '{one['path']}': {one['reason']}"))
    if len(refused) > _MAX_REFUSED:
        cli.print_note(f"{what}: {len(refused) - _MAX_REFUSED} more; --json lists them all")


def _print_waiting(cli: CliContext, report: SyncReport, waits: Sequence[dict[str, Any]]) -> None:
    learned = [one for one in waits if "learning" in one]
    if learned:
        cli.print_text(f"{plural(len(learned), 'rule')} to review: reflect-git review")
    for one in waits:
        if one["kind"] == "machine":
            said = f"'{one['machine']}' is not accepted yet; accept it in a terminal with: reflect-git sync"
            cli.print_note(printable(said))
    if report.noted_purges:
        who = ", ".join(sorted({one.machine for one in report.noted_purges}))
        cli.print_note(printable(f"{who} purged records that this store never had; nothing to purge here"))
    if report.purges:
        cli.print_note("another machine purged records; nothing is synced until you agree")


def run_prefetched_sync(prefetch: Prefetch, plain: PlainSyncOptions) -> NoReturn:
    prepare_streams()
    cli = CliContext(os.environ, prefetch)
    cli.store_option, cli.json, cli.no_input, cli.yes = plain.store, plain.json, plain.no_input, plain.yes
    try:
        code = run_sync_command(cli, plain.dry_run)
    except (Exception, KeyboardInterrupt) as error:
        from reflect_git.cli import app

        code = app.handle_error(cli, error, sys.argv[1:])
    finish_run(cli, code)
