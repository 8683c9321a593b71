"""What becomes of what the remote has: looked at, joined with what is here, and both of it sent back.

`syncing` loads this while it waits for the remote.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from reflect_git.adapters import transport
from reflect_git.errors import EXIT_DECISION, ReflectError
from reflect_git.model.counts import plural
from reflect_git.model.ids import utc
from reflect_git.model.tuples import NamedTuple
from reflect_git.store import inbox, mainline, moves, purged, remotes, sweep
from reflect_git.store.repository import MAIN
from reflect_git.sync import epoch, names
from reflect_git.sync.validate import Refusal
from reflect_git.workflow import landing as landings
from reflect_git.workflow import offer as offers

TYPE_CHECKING = False
if TYPE_CHECKING:
    from reflect_git.store.incoming import Incoming
    from reflect_git.store.origins import Listed
    from reflect_git.store.repository import Store
    from reflect_git.workflow.landing import Landing
    from reflect_git.workflow.offer import Offer, Tree
    from reflect_git.workflow.syncing import Report, Wishes

_WAIT = 10.0
_SAID = 200  # refusals that are remembered for `status`


class Sending(NamedTuple):
    """The commit that main is to be there, and the paths that are new in it."""

    commit: str
    paths: list[str]


class Landed(NamedTuple):
    """Where main is here, and what is on its way to the remote since, if anything is yet."""

    target: str
    sending: Sending | None = None


def join(
    store: Store, incoming: Incoming, theirs: str | None, known: Mapping[str, object], wishes: Wishes, report: Report
) -> bool:  # fmt: skip
    """main there and main here become one; `known` is what the last sync left. False when it has to be done again."""
    ours = incoming.ours
    before = {path: (mode, blob) for mode, path, blob in incoming.tree(ours)}
    if not _names_all_purged(store, incoming, before):
        return False
    offer = offers.look(incoming, theirs, ours, before, store.machine, is_ours_next=ours != known.get("main"))
    report.refuse("remote", offer.refused)
    _tell_taken(incoming, offer, report)
    planned = landings.plan(store, incoming, ours, before, offer)
    if known.get("tip") and offer.commit not in (None, known["tip"]) and not before.keys() <= offer.tree.keys():
        report.tell(lost=[path for path in remotes.lost(store, offer.tree) if path in planned.tree])
    _require_history(store, incoming, offer, planned, known)
    if planned.forgets and not wishes.agrees(offer.purges):
        report.purges = list(offer.purges)
        return True
    if not planned.forgets:
        report.follow(one for one in offer.purges if not planned.new_marks.isdisjoint(one.purged))
    if wishes.dry_run:
        _foretell(store, incoming, offer, planned, report)
        return True
    landed = _land(store, incoming, offer, planned, wishes, report)
    if planned.forgets:  # what the remote offered was forgotten, too: ask it again
        report.left = landings.remains(store, planned)
        return False
    return _publish(store, incoming, offer, planned, landed, wishes, report)


def _names_all_purged(store: Store, incoming: Incoming, before: Tree) -> bool:
    """The remote may still have what was purged, and only main, whose tree is `before`, keeps it from coming back."""
    kept = purged.kept(store)
    named = epoch.marks(offers.purges_in(incoming, {path: blob for path, (_, blob) in before.items()}))
    if kept < named:  # a sync was killed right after main moved
        with store.locked(_WAIT):
            purged.remember(store, named)
    if kept <= named:
        return True
    if mainline.tip(store) != incoming.ours:  # somebody purged a moment ago
        return False
    raise ReflectError(
        "'purges/' in the store no longer names all that was purged here, which could come back",
        "'git log -- purges' in the store tells since when: put it back as it was, commit it, and sync again",
        code="purged", exit_code=EXIT_DECISION,
    )  # fmt: skip


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
    report.tell(planned.arrived, list(shared(planned, offer.tree, bad)))
    _tell_unshared(report, planned, bad)


def _tell_unshared(report: Report, planned: Landing, bad: Mapping[Listed, str]) -> None:
    """What is in main now; what once was in its history is nobody's concern any more."""
    standing = [
        Refusal(path, reason) for (mode, path, blob), reason in bad.items() if planned.tree.get(path) == (mode, blob)
    ]
    report.refuse("here", standing)


def shared(planned: Landing, there: Tree, bad: Mapping[Listed, str]) -> dict[str, tuple[str, str]]:
    """What the remote lacks of ours and may have."""
    return {
        path: (mode, blob)
        for path, (mode, blob) in planned.tree.items()
        if there.get(path) != (mode, blob) and (mode, path, blob) not in bad
    }


def _land(
    store: Store, incoming: Incoming, offer: Offer, planned: Landing, wishes: Wishes, report: Report
) -> Landed:  # fmt: skip
    """main moves here while the remote takes what is to be its own: either may come to its end without the other, and
    the next sync goes on from there. A purge is done here first."""
    with store.locked(_WAIT):
        sweep.finish_interrupted(store)
        if mainline.tip(store) != planned.ours:  # also where nothing came: what a purge took out is not sent
            raise moves.Moved()
        if landings.is_settled(planned):
            return Landed(planned.ours)
        wishes.say("merging")
        message = _message(store, len(planned.arrived), _reasons(offer, planned))
        target = landings.made(store, incoming, offer, planned, message)
        is_first = planned.forgets or planned.replaces
        sending = None if is_first else _send(store, incoming, offer, planned, target, report)
        landings.land(store, planned, target, message.partition("\n")[0], lambda: wishes.foresee(target))
    report.tell(planned.arrived, beside=planned.beside)
    if target not in (planned.ours, offer.commit):
        report.merged = target
    return Landed(target, sending)


def _message(store: Store, count: int, reasons: Iterable[str] = ()) -> str:
    why = "".join(f"{epoch.AFTER}: {one}\n" for one in reasons)
    return f"sync: {plural(count, 'file')} from other machines\n\nMachine: {store.machine}\n{why}"


def _reasons(offer: Offer, planned: Landing) -> list[str]:
    """The purges because of which one of the two histories does not come along."""
    if not (planned.forgets or planned.replaces):
        return []
    known = planned.before if planned.replaces else offer.tree
    return sorted(path for path in known if names.kind_on_main(path) == names.PURGE)


def _publish(
    store: Store, incoming: Incoming, offer: Offer, planned: Landing, landed: Landed, wishes: Wishes, report: Report
) -> bool:  # fmt: skip
    wishes.say("sending")
    sending = landed.sending or _send(store, incoming, offer, planned, landed.target, report)
    if sending.commit == offer.commit:
        remember(store, wishes, sending.commit, landed.target, report, looks=landed.target != planned.ours)
        return True
    report.looked = wishes.meanwhile()
    if incoming.pushed() != transport.OK:
        return False
    report.tell(pushed=sending.paths)
    remember(store, wishes, sending.commit, landed.target, report)
    return True


def _send(
    store: Store, incoming: Incoming, offer: Offer, planned: Landing, target: str, report: Report
) -> Sending:  # fmt: skip
    """The remote begins to take what it lacks, if it lacks anything."""
    sending = Sending(*_publication(store, incoming, offer, planned, target, report))
    if sending.commit != offer.commit:
        report.begun[sending.commit] = sending.paths
        incoming.begin_push({MAIN: sending.commit}, str(offer.commit) if planned.replaces else "")
    return sending


def _tell_taken(incoming: Incoming, offer: Offer, report: Report) -> None:
    """A round that ended before the remote's answer, for main moved here meanwhile, may have been heard out there."""
    for commit in [one for one in report.begun if offer.commit and incoming.contains(offer.commit, one)]:
        report.tell(pushed=report.begun.pop(commit))


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


def remember(store: Store, wishes: Wishes, tip: str, main: str, report: Report, looks: bool = False) -> None:
    """For the next sync, and for `status`. `looks`: there was nothing to wait for yet while the store is looked at."""
    if wishes.dry_run:
        return
    with store.locked(_WAIT):
        sent = {"inbox": store.git.resolve(inbox.current(store))} if remotes.shares_signals(store) else {}

        def keep() -> None:
            if looks:
                report.looked = wishes.meanwhile()
            remotes.remember(
                store, tip=tip, main=main, time=utc(), error=None, hint=None, failed=None,
                refused=report.refused[:_SAID], **sent,
            )  # fmt: skip

        if tip == remotes.state(store).get("tip") and store.git.resolve(remotes.TRACKED):
            keep()
        else:
            remotes.track(store, tip, keep)
