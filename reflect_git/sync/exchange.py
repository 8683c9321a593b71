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
    from collections.abc import Mapping
    from typing import Any

    from reflect_git.store.repository import Store
    from reflect_git.sync.fetched import Incoming
    from reflect_git.sync.store_paths import Purge
    from reflect_git.sync.validate import Refusal


TRIES = 8
TIMEOUT = "reflect.sync.timeout"
_WAIT = 10.0
_LONGEST_PAUSE = 30.0


def _nobody(purges: Sequence[Purge]) -> bool:
    return False


def _nothing() -> None:
    pass


def _silence(step: str) -> None:
    pass


class Wishes(NamedTuple):
    """Options of a sync. `agrees` is asked whether a purge by another machine may remove records here too.

    `foresee` is called with the commit that main is about to become, and must not fail. `meanwhile` runs while the
    remote receives data; main no longer changes then. `begun` is a sync whose request is already under way.
    """

    dry_run: bool = False
    unattended: bool = False
    agrees: Callable[[Sequence[Purge]], bool] = _nobody
    say: Callable[[str], None] = _silence
    limits: Limits = Limits()
    pause: Callable[[float], None] = time.sleep
    foresee: Callable[[str], object] = _silence
    meanwhile: Callable[[], object] = _nothing
    begun: Begun | None = None


class Begun:
    """A sync that has already asked the remote and keeps other syncs out. It is either continued or dropped."""

    def __init__(self, store: Store, alone: remotes.Alone, incoming: Incoming) -> None:
        self._store = store
        self.alone = alone
        self._incoming: Incoming | None = incoming

    def taken(self) -> Incoming | None:
        """Return the connection once, to whoever continues the sync."""
        incoming, self._incoming = self._incoming, None
        return incoming

    def drop(self) -> None:
        incoming = self.taken()
        if incoming is not None:
            incoming.__exit__(None, None, None)
            remotes.discard_incoming(self._store)
            self.alone.__exit__(None, None, None)


class Report:
    """The result of a sync: paths received and sent, each once over all rounds, and the merge commit on main, if any.

    `lost` lists what the remote had and no longer has; it was put back. `left` says where words that others purged are
    still found here, if that was searched. `followed` are purges by others that removed nothing here. `looked` is the
    result of `meanwhile`. `begun` maps commits offered to the remote to their paths, until it is known whether it took
    them.
    """

    def __init__(self) -> None:
        self.pulled: list[str] = []
        self.pushed: list[str] = []
        self.merged: str | None = None
        self.refused: list[dict[str, str]] = []
        self.beside: list[str] = []
        self.purges: list[Purge] = []
        self.followed: list[Purge] = []
        self.lost: list[str] = []
        self.left: list[str] | None = None
        self.begun: dict[str, list[str]] = {}
        self.tries = 0
        self.looked: Any = None

    def tell(
        self, pulled: Sequence[str] = (), pushed: Sequence[str] = (), beside: Sequence[str] = (),
        lost: Sequence[str] = (),
    ) -> None:  # fmt: skip
        """Add what one round found or did."""
        self.pulled = list(dict.fromkeys((*self.pulled, *pulled)))
        self.pushed = list(dict.fromkeys((*self.pushed, *pushed)))
        self.beside = list(dict.fromkeys((*self.beside, *beside)))
        self.lost = list(dict.fromkeys((*self.lost, *lost)))

    def refuse(self, side: str, refused: Sequence[Refusal]) -> None:
        """Add refused paths, each once; `side` says who has them."""
        known = {(one["side"], one["path"]) for one in self.refused}
        for one in refused:
            if (side, one.path) not in known:
                self.refused.append({"path": one.path, "reason": one.reason, "side": side})

    def follow(self, purges: Iterable[Purge]) -> None:
        """Add purges by other machines that removed nothing here, each once."""
        self.followed = list(dict.fromkeys((*self.followed, *purges)))

    def add(self, later: Report) -> None:
        """Merge the report of a second sync into this one."""
        self.tell(later.pulled, later.pushed, later.beside, later.lost)
        self.merged = later.merged or self.merged
        self.refused += [one for one in later.refused if one not in self.refused]
        self.follow(later.followed)
        self.looked = later.looked


def remote_of(store: Store, url: str = "") -> Remote:
    """Return the remote of this store; refuse an address we would not have set, as a person may have typed it."""
    wanted = url or remotes.url_of(store)
    if not wanted:
        raise ReflectError("there is no remote", "set one with 'reflect-git remote set URL'", code="no-remote")
    address = urls.parse(wanted)
    return Remote(address.text, address.protocols, address.scheme == "file")


def limits_of(store: Store, seconds: float = 0.0) -> Limits:
    """Return the limits of a sync: `seconds` if given, else `reflect.sync.timeout`, else the default."""
    configured = store.setting(TIMEOUT)
    if not seconds and configured.isascii() and configured.isdigit():
        seconds = float(configured)
    return Limits(seconds=seconds) if seconds > 0 else Limits()


def sync(store: Store, env: Mapping[str, str], wishes: Wishes) -> Report:
    """Sync in both directions. Failures are stored for `status`, and raised."""
    remote = remote_of(store)
    report = Report()
    with wishes.begun.alone if wishes.begun else remotes.Alone(store, 0.0 if wishes.unattended else _WAIT):
        try:
            if not wishes.dry_run:
                machines.begin(store)  # also where a person's own git set the remote
            _until_pushed(store, env, remote, wishes, report)
        except ReflectError as error:
            if not wishes.dry_run:
                remotes.failed(store, error)
            raise
        finally:
            remotes.discard_incoming(store)
    return report


def begin(store: Store, env: Mapping[str, str], refs: Mapping[str, str]) -> Begun | None:
    """Ask the remote before it is known what else is needed; None if another step or another sync comes first.

    `refs` are main here and the last known main there.
    """
    if remotes.shares_signals(store):
        return None
    remote, alone = remote_of(store), remotes.Alone(store, 0.0)
    alone.__enter__()
    try:
        incoming = converse(store, env, remote, Wishes(limits=limits_of(store)))
    except BaseException:
        alone.__exit__(None, None, None)
        raise
    begun = Begun(store, alone, incoming)
    try:
        known, ours = remotes.state(store), incoming.main_here(refs)
        if not _is_asked_first(incoming, known, ours):
            _ask(incoming, known, ours)
            return begun
    except BaseException:
        begun.drop()
        raise
    begun.drop()
    return None


def converse(store: Store, env: Mapping[str, str], remote: Remote, wishes: Wishes) -> Incoming:
    user = remote_git.quiet(env) if wishes.unattended else dict(env)
    return Incoming(store, remote, wishes.limits._replace(apart=wishes.unattended), user)


def _until_pushed(store: Store, env: Mapping[str, str], remote: Remote, wishes: Wishes, report: Report) -> None:
    for report.tries in range(1, TRIES + 1):
        began = time.monotonic()
        try:
            with (wishes.begun and wishes.begun.taken()) or converse(store, env, remote, wishes) as incoming:
                if _round(store, incoming, wishes, report):
                    return
        except move_main.Moved:  # by the user's own git, a moment ago
            pass
        except GitError:
            if remotes.has_incoming(store):
                raise  # else a purge took away what the remote had offered: it is asked again
        if report.tries < TRIES:
            _pause(wishes, time.monotonic() - began, report.tries)
    raise ReflectError(
        f"other machines were faster {TRIES} times in a row", "what they sent is here; run 'reflect-git sync' again",
        code="race",
    )  # fmt: skip


def _pause(wishes: Wishes, took: float, tries: int) -> None:
    """Wait a random time before the next round.

    Two clones that collided would collide again after equal pauses. With many clones, one succeeds per round, so the
    pauses spread over that many rounds.
    """
    import random  # seldom needed

    wishes.say("waiting: another machine was faster")
    wishes.pause(random.uniform(0, min(_LONGEST_PAUSE, took * 3**tries)))


def _round(store: Store, incoming: Incoming, wishes: Wishes, report: Report) -> bool:
    """Fetch, merge and push once; return False if another clone pushed meanwhile."""
    wishes.say("asking the remote")
    if remotes.shares_signals(store) and not wishes.dry_run:
        from reflect_git.sync import inboxes  # few have it

        try:
            report.refuse("remote", inboxes.exchange(store, incoming, incoming.heads(), time.time()))
        except remote_git.NoBranch:  # another machine began its next generation a moment ago
            return False
    return _exchange_main(store, incoming, wishes, report)


def _exchange_main(store: Store, incoming: Incoming, wishes: Wishes, report: Report) -> bool:
    known, ours = remotes.state(store), incoming.ours or incoming.main_here()
    report.looked = None
    theirs = _main_there(incoming, known, ours)
    from reflect_git.sync import merge

    if theirs is not None and theirs == known.get("tip") and ours == known.get("main"):
        report.refused += [one for one in known.get("refused", []) if one not in report.refused]
        merge.remember(store, wishes, theirs, ours, report)
        return True
    wishes.say("checking new records")
    return merge.join(store, incoming, theirs, known, wishes, report)


def _main_there(incoming: Incoming, known: Mapping[str, object], ours: str) -> str | None:
    tip = known.get("tip")
    if _is_asked_first(incoming, known, ours) and incoming.heads().get(MAIN) == tip:
        return str(tip)
    if not incoming.is_asked:
        _ask(incoming, known, ours)
    theirs = incoming.fetch_main(_load)
    incoming.leave_begun(but=(ours,) if theirs is None else (ours, theirs))
    return theirs


def _is_asked_first(incoming: Incoming, known: Mapping[str, object], ours: str) -> bool:
    """Return whether to ask for the remote's tip first: refused data is not in the store and would be fetched again."""
    tip = known.get("tip")
    return isinstance(tip, str) and known.get("main") == ours and incoming.tracked != tip


def _ask(incoming: Incoming, known: Mapping[str, object], ours: str) -> None:
    """Request main from the remote, and start listing what is new here.

    Usually main there is unchanged or missing, so what is new here beside it will be needed.
    """
    incoming.begin_main()
    if ours != known.get("main"):
        incoming.begin(ours, [incoming.tracked] if incoming.tracked else [])


def _load() -> None:
    """Import the modules for merging while the remote answers."""
    from reflect_git.sync import merge  # noqa: F401


AUTO = "reflect.sync.auto"
EVERY = 30 * 60
_AFTER = 20.0
_BEFORE = 5.0  # a person waits for the review


def _briefly(seconds: float) -> None:
    time.sleep(min(seconds, 0.5))


def after_session(store: Store, env: Mapping[str, str], now: float) -> bool:
    """Sync at the end of a session, if there is something to send; return whether it was tried."""
    return is_due(store, now) and has_news(store) and _try(store, env, _wishes(store, _AFTER), now)


def before_review(store: Store, env: Mapping[str, str], now: float) -> bool:
    """Sync before a review, since proposed rules may be waiting on other machines; return whether it was tried."""
    return is_due(store, now) and _try(store, env, _wishes(store, _BEFORE)._replace(pause=_briefly), now)


def _wishes(store: Store, most: float) -> Wishes:
    """Return the options of a background sync: at most `most` seconds, and no more than configured."""
    limits = limits_of(store)
    return Wishes(unattended=True, limits=limits._replace(seconds=min(most, limits.seconds)))


def is_due(store: Store, now: float) -> bool:
    if not store.switched(AUTO, False) or not remotes.url_of(store):
        return False
    tried = remotes.state(store).get("tried")
    return not isinstance(tried, (int, float)) or not 0 <= now - tried < EVERY


def has_news(store: Store) -> bool:
    known = remotes.state(store)
    shared = remotes.shares_signals(store) and store.git.resolve(inbox.current(store)) != known.get("inbox")
    return shared or store.git.resolve(MAIN) != known.get("main")


def _try(store: Store, env: Mapping[str, str], wishes: Wishes, now: float) -> bool:
    if AUTO in policy.undecided(store, reader.scan(store).history.decisions):
        return False
    remotes.remember(store, tried=now)
    try:
        sync(store, env, wishes)
    except (ReflectError, OSError) as error:
        store.log(f"sync: {error}")
    return True
