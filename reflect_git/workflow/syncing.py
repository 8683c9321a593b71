"""sync: what was learned on this machine goes to the remote, what was learned on others comes from it.

Fetch into a throw-away repository, judge, merge, push; again if another clone was faster. The network is spoken to
without the store's lock, so hooks and other commands never wait for it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence

from reflect_git.adapters import transport
from reflect_git.adapters.git import GitError
from reflect_git.adapters.transport import Limits, Remote
from reflect_git.errors import ReflectError
from reflect_git.model.tuples import NamedTuple
from reflect_git.store import incoming as arrivals
from reflect_git.store import machines, moves, remotes
from reflect_git.store.incoming import Incoming
from reflect_git.store.repository import MAIN
from reflect_git.sync import urls

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from reflect_git.store.repository import Store
    from reflect_git.sync.epoch import Purge
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
    """How to sync. `agrees` is asked whether a purge of another machine may take records out here, too.

    `foresee` is told which commit main is about to be, and what it does must not fail; `meanwhile` is done while the
    remote takes what is sent: main here is then as it stays. `begun` is where the remote is being asked already.
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
    """A sync that has asked the remote already; nobody else syncs meanwhile. It goes on, or is dropped."""

    def __init__(self, store: Store, alone: remotes.Alone, incoming: Incoming) -> None:
        self._store = store
        self.alone = alone
        self._incoming: Incoming | None = incoming

    def taken(self) -> Incoming | None:
        """Once; by who goes on with it."""
        incoming, self._incoming = self._incoming, None
        return incoming

    def drop(self) -> None:
        incoming = self.taken()
        if incoming is not None:
            incoming.__exit__(None, None, None)
            arrivals.discard(self._store)
            self.alone.__exit__(None, None, None)


class Report:
    """Paths that came and went, each once in however many rounds; the commit on main that joined two histories, if
    there is one.

    `lost` is what the remote had and has no more: it was put back. `left` is where the words of something that
    others purged stand here still, if they were looked for. `followed` are purges of others of which nothing was
    here. `looked` is what `meanwhile` gave. `begun` is what the remote was offered, commit and paths, while it is
    not known whether it took it.
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
        """What one round found or did."""
        self.pulled = list(dict.fromkeys((*self.pulled, *pulled)))
        self.pushed = list(dict.fromkeys((*self.pushed, *pushed)))
        self.beside = list(dict.fromkeys((*self.beside, *beside)))
        self.lost = list(dict.fromkeys((*self.lost, *lost)))

    def refuse(self, side: str, refused: Sequence[Refusal]) -> None:
        """Each path once; `side` says who has it."""
        known = {(one["side"], one["path"]) for one in self.refused}
        for one in refused:
            if (side, one.path) not in known:
                self.refused.append({"path": one.path, "reason": one.reason, "side": side})

    def follow(self, purges: Iterable[Purge]) -> None:
        """Keep purges of other machines of which nothing was here, each once."""
        self.followed = list(dict.fromkeys((*self.followed, *purges)))

    def add(self, later: Report) -> None:
        """What a second sync did is part of the same story."""
        self.tell(later.pulled, later.pushed, later.beside, later.lost)
        self.merged = later.merged or self.merged
        self.refused += [one for one in later.refused if one not in self.refused]
        self.follow(later.followed)
        self.looked = later.looked


def remote_of(store: Store, url: str = "") -> Remote:
    """The remote of this store; refused if it is none that we would have set: a person may have typed it into git."""
    wanted = url or remotes.url_of(store)
    if not wanted:
        raise ReflectError("there is no remote", "set one with 'reflect-git remote set URL'", code="no-remote")
    address = urls.parse(wanted)
    return Remote(address.text, address.protocols, address.scheme == "file")


def limits_of(store: Store, seconds: float = 0.0) -> Limits:
    """Of every sync: `seconds` if they are given, else `reflect.sync.timeout`, else the usual."""
    configured = store.setting(TIMEOUT)
    if not seconds and configured.isascii() and configured.isdigit():
        seconds = float(configured)
    return Limits(seconds=seconds) if seconds > 0 else Limits()


def sync(store: Store, env: Mapping[str, str], wishes: Wishes) -> Report:
    """Both directions. What failed is remembered for `status`, and raised."""
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
            arrivals.discard(store)
    return report


def begin(store: Store, env: Mapping[str, str], refs: Mapping[str, str]) -> Begun | None:
    """Ask the remote, before it is known what else is wished; None where something else comes first, or somebody else
    is at it. `refs` are main here and what is known of main there."""
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
    user = transport.quiet(env) if wishes.unattended else dict(env)
    return Incoming(store, remote, wishes.limits._replace(apart=wishes.unattended), user)


def _until_pushed(store: Store, env: Mapping[str, str], remote: Remote, wishes: Wishes, report: Report) -> None:
    for report.tries in range(1, TRIES + 1):
        began = time.monotonic()
        try:
            with (wishes.begun and wishes.begun.taken()) or converse(store, env, remote, wishes) as incoming:
                if _round(store, incoming, wishes, report):
                    return
        except moves.Moved:  # by the user's own git, a moment ago
            pass
        except GitError:
            if arrivals.is_there(store):
                raise  # else a purge took away what the remote had offered: it is asked again
        if report.tries < TRIES:
            _pause(wishes, time.monotonic() - began, report.tries)
    raise ReflectError(
        f"other machines were faster {TRIES} times in a row", "what they sent is here; run 'reflect-git sync' again",
        code="race",
    )  # fmt: skip


def _pause(wishes: Wishes, took: float, tries: int) -> None:
    """Two clones that met once would meet again after the same pause; and of many, one succeeds in the time that a
    round takes, so they spread over as many times as that."""
    import random  # seldom needed

    wishes.say("waiting: another machine was faster")
    wishes.pause(random.uniform(0, min(_LONGEST_PAUSE, took * 3**tries)))


def _round(store: Store, incoming: Incoming, wishes: Wishes, report: Report) -> bool:
    """Fetch, merge, push once; False when another clone pushed meanwhile."""
    wishes.say("asking the remote")
    if remotes.shares_signals(store) and not wishes.dry_run:
        from reflect_git.workflow import inboxes  # few have it

        try:
            report.refuse("remote", inboxes.exchange(store, incoming, incoming.heads(), time.time()))
        except transport.NoBranch:  # another machine began its next generation a moment ago
            return False
    return _exchange_main(store, incoming, wishes, report)


def _exchange_main(store: Store, incoming: Incoming, wishes: Wishes, report: Report) -> bool:
    known, ours = remotes.state(store), incoming.ours or incoming.main_here()
    report.looked = None
    theirs = _main_there(incoming, known, ours)
    from reflect_git.workflow import joining

    if theirs is not None and theirs == known.get("tip") and ours == known.get("main"):
        report.refused += [one for one in known.get("refused", []) if one not in report.refused]
        joining.remember(store, wishes, theirs, ours, report)
        return True
    wishes.say("looking at what came")
    return joining.join(store, incoming, theirs, known, wishes, report)


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
    """What was refused is not in the store: a fetch would bring all of it again, so the remote is asked what it has."""
    tip = known.get("tip")
    return isinstance(tip, str) and known.get("main") == ours and incoming.tracked != tip


def _ask(incoming: Incoming, known: Mapping[str, object], ours: str) -> None:
    """For main there. As a rule it is what it was, or is not there: what is new here beside that will be looked at."""
    incoming.begin_main()
    if ours != known.get("main"):
        incoming.begin(ours, [incoming.tracked] if incoming.tracked else [])


def _load() -> None:
    """What is needed of what came takes a while to load: as long as the remote takes to answer."""
    from reflect_git.workflow import joining  # noqa: F401
