"""Sync with the remote: fetch, check, merge, push, and exchange the inboxes of a person's machines.

Fetch into a temporary repository, check, merge, push; repeat if another clone was faster. The store's lock is not held
during network access, so hooks and other commands never wait for it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence

from reflect_git.errors import ReflectError
from reflect_git.platform import remote_git
from reflect_git.platform.git import GitError
from reflect_git.platform.remote_git import Limits, Remote
from reflect_git.records.named_tuple import NamedTuple
from reflect_git.store import inbox, machines, policy, remotes
from reflect_git.store.main import move_main
from reflect_git.store.reading import reader
from reflect_git.store.repository import MAIN
from reflect_git.sync import urls
from reflect_git.sync.fetched import Incoming

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from reflect_git.store.repository import Store
    from reflect_git.sync.store_paths import Purge
    from reflect_git.sync.validate import Refusal


MAX_TRIES = 8
TIMEOUT_KEY = "reflect.sync.timeout"
_LOCK_SECONDS = 10.0
_MAX_PAUSE = 30.0


def _never_agree(purges: Sequence[Purge]) -> bool:
    return False


def _do_nothing() -> None:
    pass


def _ignore_step(step: str) -> None:
    pass


class SyncOptions(NamedTuple):
    """Options of a sync. `confirm_purges` is asked whether a purge by another machine may remove records here too.

    `on_new_main` is called with the commit that main is about to become, and must not fail. `while_pushing` runs while
    the remote receives data; main no longer changes then. `begun` is a sync whose request is already under way.
    """

    dry_run: bool = False
    unattended: bool = False
    confirm_purges: Callable[[Sequence[Purge]], bool] = _never_agree
    show_step: Callable[[str], None] = _ignore_step
    limits: Limits = Limits()
    pause: Callable[[float], None] = time.sleep
    on_new_main: Callable[[str], object] = _ignore_step
    while_pushing: Callable[[], object] = _do_nothing
    started_sync: StartedSync | None = None


class StartedSync:
    """A sync that has already asked the remote and keeps other syncs out. It is either continued or dropped."""

    def __init__(self, store: Store, alone: remotes.SyncLock, incoming: Incoming) -> None:
        self._store = store
        self.lock = alone
        self._incoming: Incoming | None = incoming

    def take_incoming(self) -> Incoming | None:
        """Return the connection once, to whoever continues the sync."""
        incoming, self._incoming = self._incoming, None
        return incoming

    def cancel(self) -> None:
        incoming = self.take_incoming()
        if incoming is not None:
            incoming.__exit__(None, None, None)
            remotes.discard_incoming(self._store)
            self.lock.__exit__(None, None, None)


class SyncReport:
    """The result of a sync: paths received and sent, each once over all rounds, and the merge commit on main, if any.

    `lost` lists what the remote had and no longer has; it was put back. `remains` says where words that others purged
    are still found here, if that was searched. `noted_purges` are purges by others that removed nothing here.
    `pushing_result` is the result of `while_pushing`. `begun` maps commits offered to the remote to their paths, until
    it is known whether it took them.
    """

    def __init__(self) -> None:
        self.pulled: list[str] = []
        self.pushed: list[str] = []
        self.merge_commit: str | None = None
        self.refused: list[dict[str, str]] = []
        self.kept_beside: list[str] = []
        self.purges: list[Purge] = []
        self.noted_purges: list[Purge] = []
        self.lost: list[str] = []
        self.remains: list[str] | None = None
        self.offered_commits: dict[str, list[str]] = {}
        self.tries = 0
        self.pushing_result: Any = None

    def add_paths(
        self, pulled: Sequence[str] = (), pushed: Sequence[str] = (), beside: Sequence[str] = (),
        lost: Sequence[str] = (),
    ) -> None:  # fmt: skip
        """Add what one round found or did."""
        self.pulled = list(dict.fromkeys((*self.pulled, *pulled)))
        self.pushed = list(dict.fromkeys((*self.pushed, *pushed)))
        self.kept_beside = list(dict.fromkeys((*self.kept_beside, *beside)))
        self.lost = list(dict.fromkeys((*self.lost, *lost)))

    def add_refused(self, side: str, refused: Sequence[Refusal]) -> None:
        """Add refused paths, each once; `side` says who has them."""
        known = {(one["side"], one["path"]) for one in self.refused}
        for one in refused:
            if (side, one.path) not in known:
                self.refused.append({"path": one.path, "reason": one.reason, "side": side})

    def add_noted_purges(self, purges: Iterable[Purge]) -> None:
        """Add purges by other machines that removed nothing here, each once."""
        self.noted_purges = list(dict.fromkeys((*self.noted_purges, *purges)))

    def add_report(self, later: SyncReport) -> None:
        """Merge the report of a second sync into this one."""
        self.add_paths(later.pulled, later.pushed, later.kept_beside, later.lost)
        self.merge_commit = later.merge_commit or self.merge_commit
        self.refused += [one for one in later.refused if one not in self.refused]
        self.add_noted_purges(later.noted_purges)
        self.pushing_result = later.pushing_result


def get_remote(store: Store, url: str = "") -> Remote:
    """Return the remote of this store; refuse an address we would not have set, as a person may have typed it."""
    wanted = url or remotes.get_url(store)
    if not wanted:
        raise ReflectError("there is no remote", "set one with 'reflect-git remote set URL'", code="no-remote")
    address = urls.parse(wanted)
    return Remote(address.text, address.protocols, address.scheme == "file")


def get_limits(store: Store, seconds: float = 0.0) -> Limits:
    """Return the limits of a sync: `seconds` if given, else `reflect.sync.timeout`, else the default."""
    configured = store.get_setting(TIMEOUT_KEY)
    if not seconds and configured.isascii() and configured.isdigit():
        seconds = float(configured)
    return Limits(seconds=seconds) if seconds > 0 else Limits()


def sync(store: Store, env: Mapping[str, str], options: SyncOptions) -> SyncReport:
    """Sync in both directions. Failures are stored for `status`, and raised."""
    remote = get_remote(store)
    report = SyncReport()
    with (
        options.started_sync.lock
        if options.started_sync
        else remotes.SyncLock(store, 0.0 if options.unattended else _LOCK_SECONDS)
    ):
        try:
            if not options.dry_run:
                machines.prepare_connection(store)  # also where a person's own git set the remote
            _sync_until_pushed(store, env, remote, options, report)
        except ReflectError as error:
            if not options.dry_run:
                remotes.record_failure(store, error)
            raise
        finally:
            remotes.discard_incoming(store)
    return report


def start_sync(store: Store, env: Mapping[str, str], refs: Mapping[str, str]) -> StartedSync | None:
    """Ask the remote before it is known what else is needed; None if another step or another sync comes first.

    `refs` are main here and the last known main there.
    """
    if remotes.shares_signals(store):
        return None
    remote, alone = get_remote(store), remotes.SyncLock(store, 0.0)
    alone.__enter__()
    try:
        incoming = open_incoming(store, env, remote, SyncOptions(limits=get_limits(store)))
    except BaseException:
        alone.__exit__(None, None, None)
        raise
    started = StartedSync(store, alone, incoming)
    try:
        known, ours = remotes.load_state(store), incoming.load_own_main(refs)
        if not _should_list_first(incoming, known, ours):
            _request_main(incoming, known, ours)
            return started
    except BaseException:
        started.cancel()
        raise
    started.cancel()
    return None


def open_incoming(store: Store, env: Mapping[str, str], remote: Remote, options: SyncOptions) -> Incoming:
    user = remote_git.build_unattended_env(env) if options.unattended else dict(env)
    return Incoming(store, remote, options.limits._replace(own_group=options.unattended), user)


def _sync_until_pushed(
    store: Store, env: Mapping[str, str], remote: Remote, options: SyncOptions, report: SyncReport
) -> None:
    for report.tries in range(1, MAX_TRIES + 1):
        began = time.monotonic()
        try:
            with (options.started_sync and options.started_sync.take_incoming()) or open_incoming(
                store, env, remote, options
            ) as incoming:
                if _run_round(store, incoming, options, report):
                    return
        except move_main.MainMoved:  # by the user's own git, a moment ago
            pass
        except GitError:
            if remotes.has_incoming(store):
                raise  # else a purge took away what the remote had offered: it is asked again
        if report.tries < MAX_TRIES:
            _wait_before_retry(options, time.monotonic() - began, report.tries)
    raise ReflectError(
        f"other machines were faster {MAX_TRIES} times in a row",
        "what they sent is here; run 'reflect-git sync' again",
        code="race",
    )


def _wait_before_retry(options: SyncOptions, took: float, tries: int) -> None:
    """Wait a random time before the next round.

    Two clones that collided would collide again after equal pauses. With many clones, one succeeds per round, so the
    pauses spread over that many rounds.
    """
    import random  # seldom needed

    options.show_step("waiting: another machine was faster")
    options.pause(random.uniform(0, min(_MAX_PAUSE, took * 3**tries)))


def _run_round(store: Store, incoming: Incoming, options: SyncOptions, report: SyncReport) -> bool:
    """Fetch, merge and push once; return False if another clone pushed meanwhile."""
    options.show_step("asking the remote")
    if remotes.shares_signals(store) and not options.dry_run:
        from reflect_git.sync import inboxes  # few have it

        try:
            report.add_refused("remote", inboxes.exchange_inboxes(store, incoming, incoming.list_heads(), time.time()))
        except remote_git.NoBranch:  # another machine began its next generation a moment ago
            return False
    return _exchange_main(store, incoming, options, report)


def _exchange_main(store: Store, incoming: Incoming, options: SyncOptions, report: SyncReport) -> bool:
    known, ours = remotes.load_state(store), incoming.ours or incoming.load_own_main()
    report.pushing_result = None
    theirs = _fetch_remote_main(incoming, known, ours)
    from reflect_git.sync import merge

    if theirs is not None and theirs == known.get("tip") and ours == known.get("main"):
        report.refused += [one for one in known.get("refused", []) if one not in report.refused]
        merge.save_sync_state(store, options, theirs, ours, report)
        return True
    options.show_step("checking new records")
    return merge.merge_main(store, incoming, theirs, known, options, report)


def _fetch_remote_main(incoming: Incoming, known: Mapping[str, object], ours: str) -> str | None:
    tip = known.get("tip")
    if _should_list_first(incoming, known, ours) and incoming.list_heads().get(MAIN) == tip:
        return str(tip)
    if not incoming.is_fetching_main:
        _request_main(incoming, known, ours)
    theirs = incoming.fetch_main(_import_merge)
    incoming.stop_histories(but=(ours,) if theirs is None else (ours, theirs))
    return theirs


def _should_list_first(incoming: Incoming, known: Mapping[str, object], ours: str) -> bool:
    """Return whether to ask for the remote's tip first: refused data is not in the store and would be fetched again."""
    tip = known.get("tip")
    return isinstance(tip, str) and known.get("main") == ours and incoming.tracked != tip


def _request_main(incoming: Incoming, known: Mapping[str, object], ours: str) -> None:
    """Request main from the remote, and start listing what is new here.

    Usually main there is unchanged or missing, so what is new here beside it will be needed.
    """
    incoming.start_fetching_main()
    if ours != known.get("main"):
        incoming.start_history(ours, [incoming.tracked] if incoming.tracked else [])


def _import_merge() -> None:
    """Import the modules for merging while the remote answers."""
    from reflect_git.sync import merge  # noqa: F401


AUTO_KEY = "reflect.sync.auto"
MIN_INTERVAL = 30 * 60
_SECONDS_AFTER_SESSION = 20.0
_SECONDS_BEFORE_REVIEW = 5.0  # a person waits for the review


def _sleep_briefly(seconds: float) -> None:
    time.sleep(min(seconds, 0.5))


def sync_after_session(store: Store, env: Mapping[str, str], now: float) -> bool:
    """Sync at the end of a session, if there is something to send; return whether it was tried."""
    return (
        is_due(store, now)
        and has_unsent_changes(store)
        and _try_sync(store, env, _build_background_options(store, _SECONDS_AFTER_SESSION), now)
    )


def sync_before_review(store: Store, env: Mapping[str, str], now: float) -> bool:
    """Sync before a review, since proposed rules may be waiting on other machines; return whether it was tried."""
    return is_due(store, now) and _try_sync(
        store, env, _build_background_options(store, _SECONDS_BEFORE_REVIEW)._replace(pause=_sleep_briefly), now
    )


def _build_background_options(store: Store, most: float) -> SyncOptions:
    """Return the options of a background sync: at most `most` seconds, and no more than configured."""
    limits = get_limits(store)
    return SyncOptions(unattended=True, limits=limits._replace(seconds=min(most, limits.seconds)))


def is_due(store: Store, now: float) -> bool:
    if not store.is_enabled(AUTO_KEY, False) or not remotes.get_url(store):
        return False
    tried = remotes.load_state(store).get("tried")
    return not isinstance(tried, (int, float)) or not 0 <= now - tried < MIN_INTERVAL


def has_unsent_changes(store: Store) -> bool:
    known = remotes.load_state(store)
    shared = remotes.shares_signals(store) and store.git.resolve(inbox.get_current_ref(store)) != known.get("inbox")
    return shared or store.git.resolve(MAIN) != known.get("main")


def _try_sync(store: Store, env: Mapping[str, str], options: SyncOptions, now: float) -> bool:
    if AUTO_KEY in policy.find_undecided(store, reader.scan(store).history.decisions):
        return False
    remotes.update_state(store, tried=now)
    try:
        sync(store, env, options)
    except (ReflectError, OSError) as error:
        store.log(f"sync: {error}")
    return True
