"""sync: what was learned on this machine goes to the remote, what was learned on others comes from it.

Fetch into a throw-away repository, judge, merge, push; again if another clone was faster. The network is spoken to
without the store's lock, so hooks and other commands never wait for it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from reflect_git.adapters import transport
from reflect_git.adapters.transport import Limits, Remote
from reflect_git.errors import EXIT_DECISION, ReflectError
from reflect_git.model.ids import utc
from reflect_git.store import inbox, moves, remotes, sweep
from reflect_git.store import incoming as arrivals
from reflect_git.store.incoming import Incoming
from reflect_git.store.repository import MAIN
from reflect_git.sync import urls
from reflect_git.sync.validate import Refusal
from reflect_git.workflow import inboxes
from reflect_git.workflow import landing as landings
from reflect_git.workflow import offer as offers

if TYPE_CHECKING:
    from reflect_git.store.incoming import Listed
    from reflect_git.store.repository import Store
    from reflect_git.sync.epoch import Purge
    from reflect_git.workflow.landing import Landing
    from reflect_git.workflow.offer import Offer, Tree

TRIES = 8
_WAIT = 10.0
_LONGEST_PAUSE = 30.0
_SAID = 200  # refusals that are remembered for `status`


def _nobody(purges: Sequence[Purge]) -> bool:
    return False


def _silence(step: str) -> None:
    pass


class Wishes(NamedTuple):
    """How to sync. `agrees` is asked whether a purge of another machine may take records out here, too."""

    dry_run: bool = False
    unattended: bool = False
    agrees: Callable[[Sequence[Purge]], bool] = _nobody
    say: Callable[[str], None] = _silence
    limits: Limits = Limits()
    pause: Callable[[float], None] = time.sleep


class Report:
    """Paths that came and went; the commit on main that joined two histories, if there is one.

    `lost` is what the remote had and has no more: it was put back.
    """

    def __init__(self) -> None:
        self.pulled: list[str] = []
        self.pushed: list[str] = []
        self.merged: str | None = None
        self.refused: list[dict[str, str]] = []
        self.beside: list[str] = []
        self.purges: list[Purge] = []
        self.lost: list[str] = []
        self.tries = 0

    def add(self, later: Report) -> None:
        """What a second sync did is part of the same story."""
        self.pulled += later.pulled
        self.pushed += later.pushed
        self.merged = later.merged or self.merged
        self.refused += [one for one in later.refused if one not in self.refused]
        self.beside += later.beside
        self.lost += later.lost


def remote_of(store: Store, url: str = "") -> Remote:
    """The remote of this store; refused if it is none that we would have set: a person may have typed it into git."""
    wanted = url or remotes.url_of(store)
    if not wanted:
        raise ReflectError("there is no remote", "set one with 'reflect-git remote set URL'", code="no-remote")
    address = urls.parse(wanted)
    return Remote(address.text, address.protocols, address.scheme == "file")


def sync(store: Store, env: Mapping[str, str], wishes: Wishes) -> Report:
    """Both directions. What failed is remembered for `status`, and raised."""
    remote = remote_of(store)
    report = Report()
    with remotes.Alone(store, 0.0 if wishes.unattended else _WAIT):
        try:
            _until_pushed(store, env, remote, wishes, report)
        except ReflectError as error:
            if not wishes.dry_run:
                remotes.failed(store, error)
            raise
        finally:
            arrivals.discard(store)
    return report


def converse(store: Store, env: Mapping[str, str], remote: Remote, wishes: Wishes) -> Incoming:
    user = transport.quiet(env) if wishes.unattended else dict(env)
    return Incoming(store, remote, wishes.limits._replace(apart=wishes.unattended), user)


def _until_pushed(store: Store, env: Mapping[str, str], remote: Remote, wishes: Wishes, report: Report) -> None:
    for report.tries in range(1, TRIES + 1):
        began = time.monotonic()
        try:
            if _round(store, converse(store, env, remote, wishes), wishes, report):
                return
        except moves.Moved:  # by the user's own git, a moment ago
            pass
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
    if inboxes.are_shared(store) and not wishes.dry_run:
        try:
            _tell(report, "remote", inboxes.exchange(store, incoming, incoming.heads(), time.time()))
        except transport.NoBranch:  # another machine began its next generation a moment ago
            return False
    return _exchange_main(store, incoming, wishes, report)


def _exchange_main(store: Store, incoming: Incoming, wishes: Wishes, report: Report) -> bool:
    known, ours = remotes.state(store), incoming.main_here()
    theirs = _main_there(store, incoming, known, ours)
    if theirs is not None and theirs == known.get("tip") and ours == known.get("main"):
        report.refused += [one for one in known.get("refused", []) if one not in report.refused]
        _remember(store, wishes, theirs, ours, report)
        return True
    wishes.say("looking at what came")
    before = {path: (mode, blob) for mode, path, blob in incoming.tree(ours)}
    offer = offers.look(incoming, theirs, ours, before, store.machine)
    _tell(report, "remote", offer.refused)
    planned = landings.plan(incoming, ours, before, offer, store.machine)
    if known.get("tip") and offer.commit not in (None, known["tip"]) and not before.keys() <= offer.tree.keys():
        report.lost += [path for path in remotes.lost(store, offer.tree) if path in planned.tree]
    _require_history(store, incoming, offer, planned, known)
    if planned.forgets and not wishes.agrees(offer.purges):
        report.purges = list(offer.purges)
        return True
    if wishes.dry_run:
        _foretell(store, incoming, offer, planned, report)
        return True
    target = _land(store, incoming, offer, planned, wishes, report)
    if planned.forgets:  # what the remote offered was forgotten, too: ask it again
        return False
    return _publish(store, incoming, offer, planned, target, wishes, report)


def _main_there(store: Store, incoming: Incoming, known: Mapping[str, object], ours: str) -> str | None:
    """What was refused is not in the store: a fetch would bring all of it again, so the remote is asked first."""
    tip = known.get("tip")
    is_unmoved = (
        isinstance(tip, str) and known.get("main") == ours
        and store.git.resolve(remotes.TRACKED) != tip and incoming.heads().get(MAIN) == tip
    )  # fmt: skip
    return str(tip) if is_unmoved else incoming.fetch_main()


def _tell(report: Report, side: str, refused: Sequence[Refusal]) -> None:
    known = {(one["side"], one["path"]) for one in report.refused}
    for one in refused:
        if (side, one.path) not in known:
            report.refused.append({"path": one.path, "reason": one.reason, "side": side})


def _require_history(
    store: Store, incoming: Incoming, offer: Offer, planned: Landing, known: Mapping[str, object]
) -> None:  # fmt: skip
    """main there holds what it held: otherwise somebody rewrote it, and what we had from there is kept first."""
    tip, was = known.get("tip"), known.get("main")
    if not isinstance(tip, str) or offer.commit is None or planned.forgets or planned.replaces:
        return
    if incoming.contains(offer.commit, tip):
        return
    if not incoming.contains(planned.ours, str(was)):  # ours was replaced, because of a purge: what we knew is void
        return
    with store.locked(_WAIT):
        kept = remotes.keep_before(store)
    where = f"; what it was is kept as '{kept}'" if kept else ""
    raise ReflectError(
        f"the remote's main was rewritten: it no longer has {tip[:10]}{where}",
        f"nothing was taken or sent. If that was you: reflect-git remote set {remotes.url_of(store)}",
        code="rewritten", exit_code=EXIT_DECISION,
    )  # fmt: skip


def _foretell(store: Store, incoming: Incoming, offer: Offer, planned: Landing, report: Report) -> None:
    bad = offers.own(incoming, planned.ours, planned.tree, offer, store.machine, planned.replaces)
    report.pulled = list(planned.arrived)
    report.pushed = list(shared(planned, offer.tree, bad))
    _tell_unshared(report, planned, bad)


def _tell_unshared(report: Report, planned: Landing, bad: Mapping[Listed, str]) -> None:
    """What is in main now; what once was in its history is nobody's concern any more."""
    standing = [
        Refusal(path, reason) for (mode, path, blob), reason in bad.items() if planned.tree.get(path) == (mode, blob)
    ]
    _tell(report, "here", standing)


def shared(planned: Landing, there: Tree, bad: Mapping[Listed, str]) -> dict[str, tuple[str, str]]:
    """What the remote lacks of ours and may have."""
    return {
        path: (mode, blob)
        for path, (mode, blob) in planned.tree.items()
        if there.get(path) != (mode, blob) and (mode, path, blob) not in bad
    }


def _land(
    store: Store, incoming: Incoming, offer: Offer, planned: Landing, wishes: Wishes, report: Report
) -> str:  # fmt: skip
    with store.locked(_WAIT):
        sweep.finish_interrupted(store)
        if store.git.resolve(MAIN) != planned.ours:
            raise moves.Moved()
        wishes.say("merging")
        target = landings.land(store, incoming, offer, planned, _message(store, len(planned.arrived)))
    report.pulled += planned.arrived
    report.beside += planned.beside
    if target not in (planned.ours, offer.commit):
        report.merged = target
    return target


def _message(store: Store, count: int) -> str:
    return f"sync: {count} file{'' if count == 1 else 's'} from other machines\n\nMachine: {store.machine}\n"


def _publish(
    store: Store, incoming: Incoming, offer: Offer, planned: Landing, target: str, wishes: Wishes, report: Report
) -> bool:  # fmt: skip
    wishes.say("sending")
    commit, pushed = _publication(store, incoming, offer, planned, target, report)
    if commit != offer.commit:
        lease = str(offer.commit) if planned.replaces else ""
        if incoming.push({MAIN: commit}, lease) != transport.OK:
            return False
        report.pushed += pushed
    _remember(store, wishes, commit, target, report)
    return True


def _publication(
    store: Store, incoming: Incoming, offer: Offer, planned: Landing, target: str, report: Report
) -> tuple[str, list[str]]:  # fmt: skip
    """The commit that main is to be there, and the paths that are new in it.

    Ours, if nothing in its history would be refused by the others and theirs is part of it. Else one that only the
    remote has: all that is there, and those files of ours that the others take.
    """
    there: Tree = {} if planned.replaces else offer.tree
    known = [offer.commit] if offer.commit and not planned.replaces else []
    # A commit of ours upon it brings only what was looked at.
    bad = offers.own(incoming, planned.ours, planned.tree, offer, store.machine, planned.replaces)
    _tell_unshared(report, planned, bad)
    new = shared(planned, there, bad)
    if not bad and (not known or known[0] in (target, *planned.parents) or incoming.contains(target, known[0])):
        return target, list(new)
    if known and not new:
        return known[0], []
    parents = [*known, *([] if bad else [target])]
    return incoming.commit(known[0] if known else None, new, parents, _message(store, len(new))), list(new)


def _remember(store: Store, wishes: Wishes, tip: str, main: str, report: Report) -> None:
    if wishes.dry_run:
        return
    with store.locked(_WAIT):
        if tip != remotes.state(store).get("tip") or not store.git.resolve(remotes.TRACKED):
            remotes.track(store, tip)
        sent = {"inbox": store.git.resolve(inbox.current(store))} if inboxes.are_shared(store) else {}
        remotes.remember(
            store, tip=tip, main=main, time=utc(), error=None, hint=None, failed=None, refused=report.refused[:_SAID],
            **sent,
        )  # fmt: skip
