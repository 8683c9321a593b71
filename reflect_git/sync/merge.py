"""Merge main of the remote with main here, and push the result.

`exchange` imports this while it waits for the remote.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from reflect_git.errors import EXIT_DECISION, ReflectError
from reflect_git.platform import files, remote_git
from reflect_git.records.ids import plural, utc
from reflect_git.records.named_tuple import NamedTuple
from reflect_git.store import inbox, recover, remotes
from reflect_git.store.main import main_branch, move_main
from reflect_git.store.purge import purge_marks
from reflect_git.store.repository import MAIN
from reflect_git.sync import store_paths, validate, vet_remote
from reflect_git.sync import vet_remote as offers
from reflect_git.sync.validate import FILE, Refusal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from reflect_git.store.main.provenance import Listed
    from reflect_git.store.repository import Store
    from reflect_git.sync.exchange import Report, Wishes
    from reflect_git.sync.fetched import Incoming
    from reflect_git.sync.vet_remote import Offer, Tree

    MergedTree = dict[str, tuple[str, str]]

_WAIT = 10.0
_SAID = 200  # refusals that are remembered for `status`


class Sending(NamedTuple):
    """The commit that main should become on the remote, and the paths that are new in it."""

    commit: str
    paths: list[str]


class Landed(NamedTuple):
    """The new tip of main here, and what is being sent to the remote, if anything is yet."""

    target: str
    sending: Sending | None = None


def join(
    store: Store, incoming: Incoming, theirs: str | None, known: Mapping[str, object], wishes: Wishes, report: Report
) -> bool:  # fmt: skip
    """Merge main of the remote with main here; return False if the round must be repeated.

    `known` is the state that the last sync stored.
    """
    ours = incoming.ours
    before = {path: (mode, blob) for mode, path, blob in incoming.tree(ours)}
    if not _names_all_purged(store, incoming, before):
        return False
    offer = offers.look(incoming, theirs, ours, before, store.machine, is_ours_next=ours != known.get("main"))
    report.refuse("remote", offer.refused)
    _tell_taken(incoming, offer, report)
    planned = plan(store, incoming, ours, before, offer)
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
        report.left = remains(store, planned)
        return False
    return _publish(store, incoming, offer, planned, landed, wishes, report)


def _names_all_purged(store: Store, incoming: Incoming, before: Tree) -> bool:
    """Return whether main, whose tree is `before`, names everything that was purged here.

    The remote may still have purged records, and only main keeps them from coming back.
    """
    kept = purge_marks.kept(store)
    named = store_paths.marks(offers.purges_in(incoming, {path: blob for path, (_, blob) in before.items()}))
    if kept < named:  # a sync was killed right after main moved
        with store.locked(_WAIT):
            purge_marks.remember(store, named)
    if kept <= named:
        return True
    if main_branch.tip(store) != incoming.ours:  # somebody purged a moment ago
        return False
    raise ReflectError(
        "'purges/' in the store no longer names all that was purged here, which could come back",
        "'git log -- purges' in the store tells since when: put it back as it was, commit it, and sync again",
        code="purged", exit_code=EXIT_DECISION,
    )  # fmt: skip


def _require_history(
    store: Store, incoming: Incoming, offer: Offer, planned: Landing, known: Mapping[str, object]
) -> None:  # fmt: skip
    """Raise an error if main on the remote was rewritten, after backing up what we had from there."""
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
    """Report refused files in main as it is now, not those in its history."""
    standing = [
        Refusal(path, reason) for (mode, path, blob), reason in bad.items() if planned.tree.get(path) == (mode, blob)
    ]
    report.refuse("here", standing)


def shared(planned: Landing, there: Tree, bad: Mapping[Listed, str]) -> dict[str, tuple[str, str]]:
    """Return the files of ours that the remote lacks and may have."""
    return {
        path: (mode, blob)
        for path, (mode, blob) in planned.tree.items()
        if there.get(path) != (mode, blob) and (mode, path, blob) not in bad
    }


def _land(
    store: Store, incoming: Incoming, offer: Offer, planned: Landing, wishes: Wishes, report: Report
) -> Landed:  # fmt: skip
    """Move main here while the remote receives its new main.

    Either may finish without the other; the next sync continues from there. A purge is done here first.
    """
    with store.locked(_WAIT):
        recover.finish_interrupted(store)
        if main_branch.tip(store) != planned.ours:  # also where nothing came: what a purge took out is not sent
            raise move_main.Moved()
        if is_settled(planned):
            return Landed(planned.ours)
        wishes.say("merging")
        message = _message(store, len(planned.arrived), _reasons(offer, planned))
        target = made(store, incoming, offer, planned, message)
        is_first = planned.forgets or planned.replaces
        sending = None if is_first else _send(store, incoming, offer, planned, target, report)
        land(store, planned, target, message.partition("\n")[0], lambda: wishes.foresee(target))
    report.tell(planned.arrived, beside=planned.beside)
    if target not in (planned.ours, offer.commit):
        report.merged = target
    return Landed(target, sending)


def _message(store: Store, count: int, reasons: Iterable[str] = ()) -> str:
    why = "".join(f"{store_paths.AFTER}: {one}\n" for one in reasons)
    return f"sync: {plural(count, 'file')} from other machines\n\nMachine: {store.machine}\n{why}"


def _reasons(offer: Offer, planned: Landing) -> list[str]:
    """Return the purges that exclude one of the two histories."""
    if not (planned.forgets or planned.replaces):
        return []
    known = planned.before if planned.replaces else offer.tree
    return sorted(path for path in known if store_paths.kind_on_main(path) == store_paths.PURGE)


def _publish(
    store: Store, incoming: Incoming, offer: Offer, planned: Landing, landed: Landed, wishes: Wishes, report: Report
) -> bool:  # fmt: skip
    wishes.say("sending")
    sending = landed.sending or _send(store, incoming, offer, planned, landed.target, report)
    if sending.commit == offer.commit:
        remember(store, wishes, sending.commit, landed.target, report, looks=landed.target != planned.ours)
        return True
    report.looked = wishes.meanwhile()
    if incoming.pushed() != remote_git.OK:
        return False
    report.tell(pushed=sending.paths)
    remember(store, wishes, sending.commit, landed.target, report)
    return True


def _send(
    store: Store, incoming: Incoming, offer: Offer, planned: Landing, target: str, report: Report
) -> Sending:  # fmt: skip
    """Start sending to the remote what it lacks, if anything."""
    sending = Sending(*_publication(store, incoming, offer, planned, target, report))
    if sending.commit != offer.commit:
        report.begun[sending.commit] = sending.paths
        incoming.begin_push({MAIN: sending.commit}, str(offer.commit) if planned.replaces else "")
    return sending


def _tell_taken(incoming: Incoming, offer: Offer, report: Report) -> None:
    """Report earlier offers that the remote took.

    A round may end before the remote answers, because main moved here meanwhile.
    """
    for commit in [one for one in report.begun if offer.commit and incoming.contains(offer.commit, one)]:
        report.tell(pushed=report.begun.pop(commit))


def _publication(
    store: Store, incoming: Incoming, offer: Offer, planned: Landing, target: str, report: Report
) -> tuple[str, list[str]]:  # fmt: skip
    """Return the commit that main should become on the remote, and the paths that are new in it.

    Ours, if others would accept its whole history and theirs is part of it. Otherwise a commit that only the remote
    has: everything there, and those files of ours that others accept.
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
    """Store the state for the next sync and for `status`.

    `looks`: run `meanwhile` now, because there was nothing to wait for earlier.
    """
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


class Landing(NamedTuple):
    """The plan for main: its tree before and after, the parents of the commit, and what it changes.

    `new_marks` name what others purged and this store did not know of. `forgets` means that some of it is here, so our
    history is dropped. Matches of `patterns` in what stays are only reported: a remote says what was purged, and nobody
    here has checked what else has those words. `replaces` means that we purged, so their history is dropped.
    """

    ours: str
    before: MergedTree
    tree: MergedTree
    parents: tuple[str, ...]
    arrived: tuple[str, ...]
    beside: tuple[str, ...]
    dropped: tuple[tuple[str, str], ...]
    marks: frozenset[str]
    forgets: bool = False
    replaces: bool = False
    patterns: tuple[str, ...] = ()
    new_marks: frozenset[str] = frozenset()

    @property
    def is_new(self) -> bool:
        return self.before != self.tree


def plan(store: Store, incoming: Incoming, ours: str, before: MergedTree, offer: Offer) -> Landing:
    """Return what main would become. Nothing is written."""
    blobs = {path: blob for path, (_, blob) in before.items()}
    here = store_paths.marks(offers.purges_in(incoming, blobs))
    marks = here | offer.marks
    # Where one side has not purged yet what the other has, its history holds the text and is no parent of anything.
    # A machine that never had it, as a new one, keeps its history, and nobody has to agree to anything.
    forgets = _has_any(store, offer.marks - here)
    replaces = offer.has_records and bool(here - offer.marks)
    agreed = {} if forgets else {path: blob for path, blob in blobs.items() if offer.accepted.get(path) == blob}
    theirs = vet_remote.cleansed(incoming, offer.accepted, marks, agreed)
    mended = offers.mended(incoming, ours, before, offer, store.machine)
    kept = vet_remote.cleansed(incoming, {**blobs, **mended}, marks, agreed)
    patterns = vet_remote.said(incoming, blobs, kept, marks) if forgets else ()
    contested = validate.contested(kept, theirs)
    torn = dict(contested)
    whole = {path: blob for path, blob in {**theirs, **kept}.items() if path not in torn} if torn else {}
    merged = validate.merge(kept, theirs, offers.ranks(incoming, contested, whole))
    dropped = [*merged.dropped, *((path, blobs[path]) for path in mended)]
    tree = {path: (FILE if path in theirs else _mode(before, path), blob) for path, blob in merged.tree.items()}
    return Landing(
        ours, before, tree, _parents(incoming, ours, offer, forgets, replaces),
        tuple(path for path, blob in merged.tree.items() if kept.get(path) != blob),
        tuple(path for path, _ in merged.beside), tuple(dropped), marks, forgets, replaces, patterns,
        offer.marks - here,
    )  # fmt: skip


def _has_any(store: Store, marks: frozenset[str]) -> bool:
    if not marks:
        return False
    from reflect_git.store.purge.purge_refs import has_any  # once in a store's life, if ever

    return has_any(store, marks)


def _mode(before: Mapping[str, tuple[str, str]], path: str) -> str:
    return before[path][0] if path in before else FILE


def _parents(incoming: Incoming, ours: str, offer: Offer, forgets: bool, replaces: bool) -> tuple[str, ...]:
    """Return the parents of the merge; drop a parent that is an ancestor of the other."""
    may_take = offer.commit is not None and offer.is_clean and not replaces
    heads = [*([] if forgets else [ours]), *([str(offer.commit)] if may_take else [])]
    if len(heads) == 2:
        if incoming.contains(ours, heads[1]):
            return (ours,)
        if incoming.contains(heads[1], ours):
            return (heads[1],)
    return tuple(heads)


def is_settled(landing: Landing) -> bool:
    """Return whether main stays where it is."""
    return landing.parents == (landing.ours,) and not landing.is_new


def land(store: Store, landing: Landing, target: str, subject: str, meanwhile: Callable[[], object]) -> None:
    """Move main to the planned commit. The caller holds the lock, and main has not moved since.

    `meanwhile` may run while files are written.
    """
    if target == landing.ours:
        return
    if landing.forgets:
        from reflect_git.records.search_text import Sought  # once in a store's life, if ever
        from reflect_git.store.purge import purge_main

        purge_main.require_ready(store)
        purge_main.swap(store, landing.ours, target, Sought([]), landing.marks, subject)
        return
    _quarantine(store, landing)
    changed = move_main.differences(landing.before, landing.tree)
    move_main.move(store, landing.ours, target, subject, changed, meanwhile)
    if landing.new_marks:
        purge_marks.remember(store, landing.new_marks)


def remains(store: Store, landing: Landing) -> list[str] | None:
    """Return where purged words are still found here; None if they are too short to search for."""
    from reflect_git.records.search_text import Sought
    from reflect_git.store.purge import purge_main

    return purge_main.remains(store, Sought(landing.patterns)) if landing.patterns else None


def made(store: Store, incoming: Incoming, offer: Offer, landing: Landing, message: str) -> str:
    """Write the commit that main should become; no ref points to it yet. The caller holds the lock."""
    parents = landing.parents
    if is_settled(landing):
        return landing.ours
    if offer.commit in parents:
        incoming.hand_over(str(offer.commit), [landing.ours])
    trees = [landing.before if parent == landing.ours else offer.tree for parent in parents]
    if len(parents) == 1 and trees[0] == landing.tree:
        return parents[0]
    # From the parent that is most like it: of 10,000 records that came, none is named again.
    changes = [move_main.changes(tree, landing.tree) for tree in trees] or [move_main.changes({}, landing.tree)]
    nearest = min(range(len(changes)), key=lambda at: len(changes[at]))
    lacking = _lacking(landing, offer, parents)
    data = dict(zip(lacking, incoming.blobs(lacking)))
    return move_main.make(store, parents, nearest, changes[nearest], data, message)


def _lacking(landing: Landing, offer: Offer, parents: tuple[str, ...]) -> list[str]:
    """Return the blobs that the store lacks: those that come without their history."""
    known = {blob for _, blob in landing.before.values()}
    if offer.commit in parents:
        known |= {blob for _, blob in offer.tree.values()}
    return list(dict.fromkeys(blob for _, blob in landing.tree.values() if blob not in known))


def _quarantine(store: Store, landing: Landing) -> None:
    """Keep our files that are replaced by those of others and are not kept beside them in main."""
    mine = [(path, blob) for path, blob in landing.dropped if landing.before.get(path, ("", ""))[1] == blob]
    for (path, blob), data in zip(mine, store.git.blobs([blob for _, blob in mine])):
        name = f"{path.replace('/', '_')}-{blob[:8]}"
        files.write_whole(store.private_path("quarantine", name), data)
        is_record = store_paths.kind_on_main(path) == store_paths.RECORD
        why = "is no longer a valid record after an edit" if is_record else "gave way to what another machine has"
        store.log(f"quarantined '{name}': '{path}' {why}")
