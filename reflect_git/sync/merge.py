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
from reflect_git.sync.validate import FILE_MODE, Refusal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from reflect_git.store.main.provenance import TreeFile
    from reflect_git.store.repository import Store
    from reflect_git.sync.exchange import SyncOptions, SyncReport
    from reflect_git.sync.fetched import Incoming
    from reflect_git.sync.vet_remote import Offer, Tree

    MergedTree = dict[str, tuple[str, str]]

_LOCK_SECONDS = 10.0
_MAX_REFUSALS = 200  # refusals that are remembered for `status`


class RemoteCommit(NamedTuple):
    """The commit that main should become on the remote, and the paths that are new in it."""

    commit: str
    paths: list[str]


class MergeResult(NamedTuple):
    """The new tip of main here, and what is being sent to the remote, if anything is yet."""

    target: str
    remote_commit: RemoteCommit | None = None


def merge_main(
    store: Store,
    incoming: Incoming,
    theirs: str | None,
    known: Mapping[str, object],
    options: SyncOptions,
    report: SyncReport,
) -> bool:
    """Merge main of the remote with main here; return False if the round must be repeated.

    `known` is the state that the last sync stored.
    """
    ours = incoming.ours
    before = {path: (mode, blob) for mode, path, blob in incoming.list_tree(ours)}
    if not _has_all_purge_marks(store, incoming, before):
        return False
    offer = offers.check_offer(incoming, theirs, ours, before, store.machine, is_ours_next=ours != known.get("main"))
    report.add_refused("remote", offer.refused)
    _report_earlier_pushes(incoming, offer, report)
    planned = plan_merge(store, incoming, ours, before, offer)
    if known.get("tip") and offer.commit not in (None, known["tip"]) and not before.keys() <= offer.tree.keys():
        report.add_paths(lost=[path for path in remotes.find_lost_files(store, offer.tree) if path in planned.tree])
    _require_unrewritten(store, incoming, offer, planned, known)
    if planned.drops_own_history and not options.confirm_purges(offer.purges):
        report.purges = list(offer.purges)
        return True
    if not planned.drops_own_history:
        report.add_noted_purges(one for one in offer.purges if not planned.new_marks.isdisjoint(one.purged))
    if options.dry_run:
        _report_dry_run(store, incoming, offer, planned, report)
        return True
    landed = _apply_merge(store, incoming, offer, planned, options, report)
    if planned.drops_own_history:  # what the remote offered was forgotten, too: ask it again
        report.remains = find_remains(store, planned)
        return False
    return _finish_push(store, incoming, offer, planned, landed, options, report)


def _has_all_purge_marks(store: Store, incoming: Incoming, before: Tree) -> bool:
    """Return whether main, whose tree is `before`, names everything that was purged here.

    The remote may still have purged records, and only main keeps them from coming back.
    """
    kept = purge_marks.load_saved_marks(store)
    named = store_paths.collect_marks(offers.load_purges(incoming, {path: blob for path, (_, blob) in before.items()}))
    if kept < named:  # a sync was killed right after main moved
        with store.locked(_LOCK_SECONDS):
            purge_marks.save_marks(store, named)
    if kept <= named:
        return True
    if main_branch.get_tip(store) != incoming.ours:  # somebody purged a moment ago
        return False
    raise ReflectError(
        "'purges/' in the store no longer lists everything that was purged here, so it could come back",
        "find the change with 'git log -- purges' in the store, undo it, commit, and sync again",
        code="purged", exit_code=EXIT_DECISION,
    )  # fmt: skip


def _require_unrewritten(
    store: Store, incoming: Incoming, offer: Offer, planned: MergePlan, known: Mapping[str, object]
) -> None:  # fmt: skip
    """Raise an error if main on the remote was rewritten, after backing up what we had from there."""
    tip, was = known.get("tip"), known.get("main")
    if not isinstance(tip, str) or offer.commit is None or planned.drops_own_history:
        return
    if incoming.contains(offer.commit, tip):
        return
    if not incoming.contains(planned.ours, str(was)):  # ours was replaced, because of a purge: what we knew is void
        return
    with store.locked(_LOCK_SECONDS):
        kept = remotes.create_before_ref(store)
    where = f"; what it was is kept as '{kept}'" if kept else ""
    raise ReflectError(
        f"the remote's main was rewritten: it no longer has {tip[:10]}{where}",
        f"nothing was taken or sent. If that was you: reflect-git remote set {remotes.get_url(store)}",
        code="rewritten", exit_code=EXIT_DECISION,
    )  # fmt: skip


def _report_dry_run(store: Store, incoming: Incoming, offer: Offer, planned: MergePlan, report: SyncReport) -> None:
    bad = offers.find_unshareable(
        incoming, planned.ours, planned.tree, offer, store.machine, planned.drops_remote_history
    )
    report.add_paths(planned.received, list(find_shareable(planned, offer.tree, bad)))
    _report_refused(report, planned, bad)


def _report_refused(report: SyncReport, planned: MergePlan, bad: Mapping[TreeFile, str]) -> None:
    """Report refused files in main as it is now, not those in its history."""
    standing = [
        Refusal(path, reason) for (mode, path, blob), reason in bad.items() if planned.tree.get(path) == (mode, blob)
    ]
    report.add_refused("here", standing)


def find_shareable(planned: MergePlan, there: Tree, bad: Mapping[TreeFile, str]) -> dict[str, tuple[str, str]]:
    """Return the files of ours that the remote lacks and may have."""
    return {
        path: (mode, blob)
        for path, (mode, blob) in planned.tree.items()
        if there.get(path) != (mode, blob) and (mode, path, blob) not in bad
    }


def _apply_merge(
    store: Store, incoming: Incoming, offer: Offer, planned: MergePlan, options: SyncOptions, report: SyncReport
) -> MergeResult:  # fmt: skip
    """Move main here while the remote receives its new main.

    Either may finish without the other; the next sync continues from there. A purge is done here first.
    """
    with store.locked(_LOCK_SECONDS):
        recover.finish_interrupted(store)
        if main_branch.get_tip(store) != planned.ours:  # also where nothing came: what a purge took out is not sent
            raise move_main.MainMoved()
        if is_unchanged(planned):
            return MergeResult(planned.ours)
        options.show_step("merging")
        message = _build_message(store, len(planned.received), _get_purge_reasons(offer, planned))
        target = create_merge_commit(store, incoming, offer, planned, message)
        is_first = planned.drops_own_history or planned.drops_remote_history
        sending = None if is_first else _start_push(store, incoming, offer, planned, target, report)
        update_main(store, planned, target, message.partition("\n")[0], lambda: options.on_new_main(target))
    report.add_paths(planned.received, beside=planned.kept_beside)
    if target not in (planned.ours, offer.commit):
        report.merge_commit = target
    return MergeResult(target, sending)


def _build_message(store: Store, count: int, reasons: Iterable[str] = ()) -> str:
    why = "".join(f"{store_paths.PURGE_TRAILER}: {one}\n" for one in reasons)
    return f"sync: {plural(count, 'file')} from other machines\n\nMachine: {store.machine}\n{why}"


def _get_purge_reasons(offer: Offer, planned: MergePlan) -> list[str]:
    """Return the purges that exclude one of the two histories."""
    if not (planned.drops_own_history or planned.drops_remote_history):
        return []
    known = planned.before if planned.drops_remote_history else offer.tree
    return sorted(path for path in known if store_paths.get_main_kind(path) == store_paths.PURGE)


def _finish_push(
    store: Store,
    incoming: Incoming,
    offer: Offer,
    planned: MergePlan,
    landed: MergeResult,
    options: SyncOptions,
    report: SyncReport,
) -> bool:
    options.show_step("sending")
    sending = landed.remote_commit or _start_push(store, incoming, offer, planned, landed.target, report)
    if sending.commit == offer.commit:
        save_sync_state(store, options, sending.commit, landed.target, report, looks=landed.target != planned.ours)
        return True
    report.pushing_result = options.while_pushing()
    if incoming.finish_push() != remote_git.OK:
        return False
    report.add_paths(pushed=sending.paths)
    save_sync_state(store, options, sending.commit, landed.target, report)
    return True


def _start_push(
    store: Store, incoming: Incoming, offer: Offer, planned: MergePlan, target: str, report: SyncReport
) -> RemoteCommit:  # fmt: skip
    """Start sending to the remote what it lacks, if anything."""
    sending = RemoteCommit(*_build_remote_commit(store, incoming, offer, planned, target, report))
    if sending.commit != offer.commit:
        report.offered_commits[sending.commit] = sending.paths
        incoming.start_push({MAIN: sending.commit}, str(offer.commit) if planned.drops_remote_history else "")
    return sending


def _report_earlier_pushes(incoming: Incoming, offer: Offer, report: SyncReport) -> None:
    """Report earlier offers that the remote took.

    A round may end before the remote answers, because main moved here meanwhile.
    """
    for commit in [one for one in report.offered_commits if offer.commit and incoming.contains(offer.commit, one)]:
        report.add_paths(pushed=report.offered_commits.pop(commit))


def _build_remote_commit(
    store: Store, incoming: Incoming, offer: Offer, planned: MergePlan, target: str, report: SyncReport
) -> tuple[str, list[str]]:  # fmt: skip
    """Return the commit that main should become on the remote, and the paths that are new in it.

    Ours, if others would accept its whole history and theirs is part of it. Otherwise a commit that only the remote
    has: everything there, and those files of ours that others accept. After a purge it starts with an empty tree.
    """
    there: Tree = {} if planned.drops_remote_history else offer.tree
    base = None if planned.drops_remote_history else offer.commit
    known = [base] if base else list(planned.stays)
    # A commit of ours upon it brings only what was looked at.
    bad = offers.find_unshareable(
        incoming, planned.ours, planned.tree, offer, store.machine, planned.drops_remote_history
    )
    _report_refused(report, planned, bad)
    new = find_shareable(planned, there, bad)
    if not bad and all(one in (target, *planned.parents) or incoming.contains(target, one) for one in known):
        return target, list(new)
    if base and not new:
        return base, []
    parents = [*known, *([] if bad else [target])]
    return incoming.create_commit(base, new, parents, _build_message(store, len(new))), list(new)


def save_sync_state(
    store: Store, options: SyncOptions, tip: str, main: str, report: SyncReport, looks: bool = False
) -> None:
    """Store the state for the next sync and for `status`.

    `looks`: run `meanwhile` now, because there was nothing to wait for earlier.
    """
    if options.dry_run:
        return
    with store.locked(_LOCK_SECONDS):
        sent = {"inbox": store.git.resolve(inbox.get_current_ref(store))} if remotes.shares_signals(store) else {}

        def keep() -> None:
            if looks:
                report.pushing_result = options.while_pushing()
            remotes.update_state(
                store, tip=tip, main=main, time=utc(), error=None, hint=None, failed=None,
                refused=report.refused[:_MAX_REFUSALS], **sent,
            )  # fmt: skip

        if tip == remotes.load_state(store).get("tip") and store.git.resolve(remotes.TRACKING_REF):
            keep()
        else:
            remotes.update_tracking_ref(store, tip, keep)


class MergePlan(NamedTuple):
    """The plan for main: its tree before and after, the parents of the commit, and what it changes.

    `new_marks` name what others purged and this store did not know of. `drops_own_history` means that some of it is
    here, so our history is dropped. Matches of `patterns` in what stays are only reported: a remote says what was
    purged, and nobody here has checked what else has those words. `drops_remote_history` means that their history has
    what we purged. It is dropped, except for `stays`: the newest commits of theirs without it, which other machines may
    know as the remote's main.
    """

    ours: str
    before: MergedTree
    tree: MergedTree
    parents: tuple[str, ...]
    received: tuple[str, ...]
    kept_beside: tuple[str, ...]
    dropped: tuple[tuple[str, str], ...]
    marks: frozenset[str]
    drops_own_history: bool = False
    drops_remote_history: bool = False
    patterns: tuple[str, ...] = ()
    new_marks: frozenset[str] = frozenset()
    stays: tuple[str, ...] = ()

    @property
    def has_changes(self) -> bool:
        return self.before != self.tree


def plan_merge(store: Store, incoming: Incoming, ours: str, before: MergedTree, offer: Offer) -> MergePlan:
    """Return what main would become. Nothing is written."""
    blobs = {path: blob for path, (_, blob) in before.items()}
    here = store_paths.collect_marks(offers.load_purges(incoming, blobs))
    marks = here | offer.marks
    # Where one side has not purged yet what the other has, its history holds the text and is no parent of anything.
    # A machine that never had it, as a new one, keeps its history, and nobody has to agree to anything.
    forgets = _has_purged(store, offer.marks - here)
    stays = [str(offer.commit)]
    if offer.has_records and here - offer.marks:
        stays = vet_remote.unspoiled(incoming, str(offer.commit), ours, here)
    replaces = stays != [str(offer.commit)]
    agreed = {} if forgets else {path: blob for path, blob in blobs.items() if offer.accepted.get(path) == blob}
    theirs = vet_remote.drop_purged_text(incoming, offer.accepted, marks, agreed)
    mended = offers.find_repaired(incoming, ours, before, offer, store.machine)
    kept = vet_remote.drop_purged_text(incoming, {**blobs, **mended}, marks, agreed)
    patterns = vet_remote.build_search_patterns(incoming, blobs, kept, marks) if forgets else ()
    contested = validate.find_conflicts(kept, theirs)
    torn = dict(contested)
    whole = {path: blob for path, blob in {**theirs, **kept}.items() if path not in torn} if torn else {}
    merged = validate.merge_trees(kept, theirs, offers.build_ranking(incoming, contested, whole))
    dropped = [*merged.dropped, *((path, blobs[path]) for path in mended)]
    tree = {
        path: (FILE_MODE if path in theirs else _get_mode(before, path), blob) for path, blob in merged.tree.items()
    }
    return MergePlan(
        ours, before, tree, _find_parents(incoming, ours, offer, forgets, replaces),
        tuple(path for path, blob in merged.tree.items() if kept.get(path) != blob),
        tuple(path for path, _ in merged.kept_beside), tuple(dropped), marks, forgets, replaces, patterns,
        offer.marks - here, tuple(stays) if replaces else (),
    )  # fmt: skip


def _has_purged(store: Store, marks: frozenset[str]) -> bool:
    if not marks:
        return False
    from reflect_git.store.purge.purge_refs import has_purged_content  # once in a store's life, if ever

    return has_purged_content(store, marks)


def _get_mode(before: Mapping[str, tuple[str, str]], path: str) -> str:
    return before[path][0] if path in before else FILE_MODE


def _find_parents(incoming: Incoming, ours: str, offer: Offer, forgets: bool, replaces: bool) -> tuple[str, ...]:
    """Return the parents of the merge; drop a parent that is an ancestor of the other."""
    may_take = offer.commit is not None and offer.is_clean and not replaces
    heads = [*([] if forgets else [ours]), *([str(offer.commit)] if may_take else [])]
    if len(heads) == 2:
        if incoming.contains(ours, heads[1]):
            return (ours,)
        if incoming.contains(heads[1], ours):
            return (heads[1],)
    return tuple(heads)


def is_unchanged(landing: MergePlan) -> bool:
    """Return whether main stays where it is."""
    return landing.parents == (landing.ours,) and not landing.has_changes


def update_main(store: Store, landing: MergePlan, target: str, subject: str, meanwhile: Callable[[], object]) -> None:
    """Move main to the planned commit. The caller holds the lock, and main has not moved since.

    `meanwhile` may run while files are written.
    """
    if target == landing.ours:
        return
    if landing.drops_own_history:
        from reflect_git.records.search_text import TextSearch  # once in a store's life, if ever
        from reflect_git.store.purge import purge_main

        purge_main.require_ready(store)
        purge_main.replace_main(store, landing.ours, target, TextSearch([]), landing.marks, subject)
        return
    _quarantine(store, landing)
    changed = move_main.get_tree_differences(landing.before, landing.tree)
    move_main.move(store, landing.ours, target, subject, changed, meanwhile)
    if landing.new_marks:
        purge_marks.save_marks(store, landing.new_marks)


def find_remains(store: Store, landing: MergePlan) -> list[str] | None:
    """Return where purged words are still found here; None if they are too short to search for."""
    from reflect_git.records.search_text import TextSearch
    from reflect_git.store.purge import purge_main

    return purge_main.find_remains(store, TextSearch(landing.patterns)) if landing.patterns else None


def create_merge_commit(store: Store, incoming: Incoming, offer: Offer, landing: MergePlan, message: str) -> str:
    """Write the commit that main should become; no ref points to it yet. The caller holds the lock."""
    parents = landing.parents
    if is_unchanged(landing):
        return landing.ours
    if offer.commit in parents:
        incoming.move_to_store(str(offer.commit), [landing.ours])
    trees = [landing.before if parent == landing.ours else offer.tree for parent in parents]
    if len(parents) == 1 and trees[0] == landing.tree:
        return parents[0]
    # From the parent that is most like it: of 10,000 records that came, none is named again.
    changes = [move_main.get_tree_changes(tree, landing.tree) for tree in trees] or [
        move_main.get_tree_changes({}, landing.tree)
    ]
    nearest = min(range(len(changes)), key=lambda at: len(changes[at]))
    lacking = _find_missing_blobs(landing, offer, parents)
    data = dict(zip(lacking, incoming.read_blobs(lacking)))
    return move_main.create_commit(store, parents, nearest, changes[nearest], data, message)


def _find_missing_blobs(landing: MergePlan, offer: Offer, parents: tuple[str, ...]) -> list[str]:
    """Return the blobs that the store lacks: those that come without their history."""
    known = {blob for _, blob in landing.before.values()}
    if offer.commit in parents:
        known |= {blob for _, blob in offer.tree.values()}
    return list(dict.fromkeys(blob for _, blob in landing.tree.values() if blob not in known))


def _quarantine(store: Store, landing: MergePlan) -> None:
    """Keep our files that are replaced by those of others and are not kept beside them in main."""
    mine = [(path, blob) for path, blob in landing.dropped if landing.before.get(path, ("", ""))[1] == blob]
    for (path, blob), data in zip(mine, store.git.blobs([blob for _, blob in mine])):
        name = f"{path.replace('/', '_')}-{blob[:8]}"
        files.write_atomic(store.private_path("quarantine", name), data)
        is_record = store_paths.get_main_kind(path) == store_paths.RECORD
        why = "is no longer a valid record after an edit" if is_record else "gave way to what another machine has"
        store.log(f"quarantined '{name}': '{path}' {why}")
