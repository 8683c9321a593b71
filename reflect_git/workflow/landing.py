"""What was accepted becomes part of main: a union, a commit, one move of the branch."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from reflect_git.adapters import files
from reflect_git.model.tuples import NamedTuple
from reflect_git.store import moves, purged
from reflect_git.sync import epoch, names, union
from reflect_git.sync.validate import FILE
from reflect_git.workflow import cleansing
from reflect_git.workflow import offer as offers

TYPE_CHECKING = False
if TYPE_CHECKING:
    from reflect_git.store.incoming import Incoming
    from reflect_git.store.repository import Store
    from reflect_git.workflow.offer import Offer

    Tree = dict[str, tuple[str, str]]


class Landing(NamedTuple):
    """What main is to become: its tree `before` and then, the parents of the commit, and what changes by it.

    `new_marks` name what others purged and this store did not know of. `forgets`: some of it is here, and our history
    goes; what `patterns` find in what stays is named, and no more:
    a remote says what was purged, and nobody here has seen what else has those words. `replaces`: we did, and theirs
    goes.
    """

    ours: str
    before: Tree
    tree: Tree
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


def plan(store: Store, incoming: Incoming, ours: str, before: Tree, offer: Offer) -> Landing:
    """Return what main would become. Nothing is written."""
    blobs = {path: blob for path, (_, blob) in before.items()}
    here = epoch.marks(offers.purges_in(incoming, blobs))
    marks = here | offer.marks
    # Where one side has not purged yet what the other has, its history holds the text and is no parent of anything.
    # A machine that never had it, as a new one, keeps its history, and nobody has to agree to anything.
    forgets = _has_any(store, offer.marks - here)
    replaces = offer.has_records and bool(here - offer.marks)
    agreed = {} if forgets else {path: blob for path, blob in blobs.items() if offer.accepted.get(path) == blob}
    theirs = cleansing.cleansed(incoming, offer.accepted, marks, agreed)
    mended = offers.mended(incoming, ours, before, offer, store.machine)
    kept = cleansing.cleansed(incoming, {**blobs, **mended}, marks, agreed)
    patterns = cleansing.said(incoming, blobs, kept, marks) if forgets else ()
    contested = union.contested(kept, theirs)
    torn = dict(contested)
    whole = {path: blob for path, blob in {**theirs, **kept}.items() if path not in torn} if torn else {}
    merged = union.merge(kept, theirs, offers.ranks(incoming, contested, whole))
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
    from reflect_git.store.forgetting import has_any  # once in a store's life, if ever

    return has_any(store, marks)


def _mode(before: Mapping[str, tuple[str, str]], path: str) -> str:
    return before[path][0] if path in before else FILE


def _parents(incoming: Incoming, ours: str, offer: Offer, forgets: bool, replaces: bool) -> tuple[str, ...]:
    """Of two of which one has the other in its history, that one; the tree of the first is what changes."""
    may_take = offer.commit is not None and offer.is_clean and not replaces
    heads = [*([] if forgets else [ours]), *([str(offer.commit)] if may_take else [])]
    if len(heads) == 2:
        if incoming.contains(ours, heads[1]):
            return (ours,)
        if incoming.contains(heads[1], ours):
            return (heads[1],)
    return tuple(heads)


def is_settled(landing: Landing) -> bool:
    """Whether main stays where it is."""
    return landing.parents == (landing.ours,) and not landing.is_new


def land(store: Store, landing: Landing, target: str, subject: str, meanwhile: Callable[[], object]) -> None:
    """main as planned, which is this commit. The caller holds the lock, and main did not move since.

    `meanwhile` may be done while files are written.
    """
    if target == landing.ours:
        return
    if landing.forgets:
        from reflect_git.model.sought import Sought  # once in a store's life, if ever
        from reflect_git.store import purging

        purging.require_ready(store)
        purging.swap(store, landing.ours, target, Sought([]), landing.marks, subject)
        return
    _quarantine(store, landing)
    changed = moves.differences(landing.before, landing.tree)
    moves.move(store, landing.ours, target, subject, changed, meanwhile)
    if landing.new_marks:
        purged.remember(store, landing.new_marks)


def remains(store: Store, landing: Landing) -> list[str] | None:
    """Where it stands still, in words, after main here forgot what others purged; None if it is too short to look."""
    from reflect_git.model.sought import Sought
    from reflect_git.store import purging

    return purging.remains(store, Sought(landing.patterns)) if landing.patterns else None


def made(store: Store, incoming: Incoming, offer: Offer, landing: Landing, message: str) -> str:
    """The commit that main is to be, on disk; no ref points to it yet. The caller holds the lock."""
    parents = landing.parents
    if is_settled(landing):
        return landing.ours
    if offer.commit in parents:
        incoming.hand_over(str(offer.commit), [landing.ours])
    trees = [landing.before if parent == landing.ours else offer.tree for parent in parents]
    if len(parents) == 1 and trees[0] == landing.tree:
        return parents[0]
    # From the parent that is most like it: of 10,000 records that came, none is named again.
    changes = [moves.changes(tree, landing.tree) for tree in trees] or [moves.changes({}, landing.tree)]
    nearest = min(range(len(changes)), key=lambda at: len(changes[at]))
    lacking = _lacking(landing, offer, parents)
    data = dict(zip(lacking, incoming.blobs(lacking)))
    return moves.make(store, parents, nearest, changes[nearest], data, message)


def _lacking(landing: Landing, offer: Offer, parents: tuple[str, ...]) -> list[str]:
    """Blobs that the store does not have: those that come without their history."""
    known = {blob for _, blob in landing.before.values()}
    if offer.commit in parents:
        known |= {blob for _, blob in offer.tree.values()}
    return list(dict.fromkeys(blob for _, blob in landing.tree.values() if blob not in known))


def _quarantine(store: Store, landing: Landing) -> None:
    """What of ours gives way to what others have, and is not in main beside it: its bytes stay here."""
    mine = [(path, blob) for path, blob in landing.dropped if landing.before.get(path, ("", ""))[1] == blob]
    for (path, blob), data in zip(mine, store.git.blobs([blob for _, blob in mine])):
        name = f"{path.replace('/', '_')}-{blob[:8]}"
        files.write_whole(store.private_path("quarantine", name), data)
        is_record = names.kind_on_main(path) == names.RECORD
        why = "was edited into something that is no record" if is_record else "gave way to what another machine has"
        store.log(f"quarantined '{name}': '{path}' {why}")
