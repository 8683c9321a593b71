"""What a remote offers, and what we would offer it: judged file by file, through all of the history that is new."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from reflect_git.adapters.transport import TooMuch
from reflect_git.errors import ReflectError
from reflect_git.sync import epoch, names, union, validate
from reflect_git.sync.epoch import Purge
from reflect_git.sync.validate import FILE, SUBMODULE, Entry, Refusal

if TYPE_CHECKING:
    from reflect_git.store.incoming import Incoming, Listed

    Tree = Mapping[str, tuple[str, str]]

_AT_ONCE = 2000
_MOST_BYTES = 1 << 30


@dataclass(frozen=True)
class Offer:
    """A tip of main. `tree` is all of it, `accepted` what may come in (path → blob).

    `is_clean`: nothing was refused, in its whole new history. Only then may its commits come in, too; otherwise what
    was accepted comes in under a commit of ours, and nothing of the rest is in the store's objects.
    """

    commit: str | None = None
    tree: Tree = field(default_factory=dict)
    accepted: Mapping[str, str] = field(default_factory=dict)
    refused: tuple[Refusal, ...] = ()
    is_clean: bool = True
    purges: tuple[Purge, ...] = ()

    @property
    def marks(self) -> frozenset[str]:
        return epoch.marks(self.purges)


def look(incoming: Incoming, commit: str | None, ours: str, before: Tree, us: str) -> Offer:
    """A tip of main there; `ours` is main here and `before` its tree, which was judged before; `us` is this machine."""
    if commit is None:
        return Offer()
    listed = incoming.tree(commit)
    offered = dict.fromkeys([*listed, *incoming.introduced(incoming.history(commit, [ours]))])
    bad = _without_ours(incoming, judge(incoming, unlike(offered, before), names.kind_on_main, us))
    # Twins are a matter of one tree, not of a history.
    twins = validate.twins((path for mode, path, blob in listed if (mode, path, blob) not in bad), before)
    accepted = {
        path: blob
        for mode, path, blob in listed
        if mode == FILE and (mode, path, blob) not in bad and path not in twins and names.kind_shared(path)
    }
    refused = {**{one[1]: reason for one, reason in bad.items()}, **twins}
    return Offer(
        commit, {path: (mode, blob) for mode, path, blob in listed}, accepted,
        tuple(Refusal(path, reason) for path, reason in sorted(refused.items())), not refused,
        purges_in(incoming, accepted),
    )  # fmt: skip


def _without_ours(incoming: Incoming, bad: dict[Listed, str]) -> dict[Listed, str]:
    """What speaks in our name and once was in main here is ours: a hand changed it since."""
    ours = incoming.once_ours(one for one, reason in bad.items() if reason == validate.IN_OUR_NAME)
    return {one: reason for one, reason in bad.items() if one not in ours}


def own(incoming: Incoming, commit: str, known: list[str], tree: Tree, there: Tree, us: str) -> dict[Listed, str]:
    """Of main here, what the others would refuse, in its tree or in its history beside `known`.

    What the product committed needs no second look into the files; what the user did by hand does.
    """
    history = incoming.history(commit, known)
    bad = judge(incoming, unlike(_by_hand(incoming, history), there), names.kind_on_main, by_hand_of=us)
    for mode, path, blob in unlike(incoming.introduced(history), there):
        reason = validate.fault_of(Entry(mode, path, blob, 0), names.kind_on_main)
        if reason:
            bad[mode, path, blob] = reason
    for path, (mode, blob) in tree.items():
        if there.get(path) != (mode, blob) and not names.kind_shared(path):
            bad[mode, path, blob] = "the store has no such file"
    return bad


def _by_hand(incoming: Incoming, history: Mapping[str, bool]) -> list[Listed]:
    """Every file that only commits of the user's own brought along."""
    made = set(incoming.introduced(one for one, is_ours in history.items() if is_ours))
    found = incoming.introduced(one for one, is_ours in history.items() if not is_ours)
    return [one for one in found if one not in made]


def mended(incoming: Incoming, commit: str, tree: Tree, offer: Offer, us: str) -> dict[str, str]:
    """Path → blob of records that a hand made something else of, as they were before; nobody else may have them."""
    history = incoming.history(commit, [offer.commit] if offer.commit else [])
    bad = judge(incoming, _by_hand(incoming, history), names.kind_on_main, by_hand_of=us)
    spoiled = {
        path for mode, path, blob in bad
        if tree.get(path) == (mode, blob) and names.kind_on_main(path) == names.RECORD
    }  # fmt: skip
    found = {path: offer.accepted[path] for path in spoiled if path in offer.accepted}
    versions = [one for one in incoming.introduced(history) if one[1] in spoiled - set(found) and one not in bad]
    wrong = judge(incoming, versions, names.kind_on_main)
    for mode, path, blob in versions:
        if (mode, path, blob) not in wrong:
            found[path] = min(blob, found.get(path, blob))
    return found


def unlike(listed: Iterable[Listed], tree: Tree) -> list[Listed]:
    """Without those files that a tree has."""
    return [(mode, path, blob) for mode, path, blob in listed if tree.get(path) != (mode, blob)]


def judge(
    incoming: Incoming, listed: Iterable[Listed], kind_of: Callable[[str], str], us: str = "", by_hand_of: str = ""
) -> dict[Listed, str]:  # fmt: skip
    """Those of these files that may not come in, each with the reason."""
    offered = list(listed)
    sizes = incoming.sizes(dict.fromkeys(blob for mode, _, blob in offered if mode != SUBMODULE))
    entries = [Entry(mode, path, blob, sizes.get(blob, 0)) for mode, path, blob in offered]
    bad = {entry[:3]: reason for entry in entries for reason in [validate.fault_of(entry, kind_of)] if reason}
    good = [entry for entry in entries if entry[:3] not in bad]
    if sum(entry.size for entry in good) > _MOST_BYTES:
        raise TooMuch("its files are larger than allowed")
    for start in range(0, len(good), _AT_ONCE):
        some = good[start : start + _AT_ONCE]
        blobs = incoming.blobs([entry.blob for entry in some])
        reasons = validate.by_content([entry.path for entry in some], blobs, kind_of, us, by_hand_of)
        bad.update((entry[:3], reason) for entry, reason in zip(some, reasons) if reason)
    return bad


def purges_in(incoming: Incoming, accepted: Mapping[str, str]) -> tuple[Purge, ...]:
    found = []
    paths = [path for path in accepted if names.kind_on_main(path) == names.PURGE]
    for data in incoming.blobs([accepted[path] for path in paths]):
        try:
            found.append(epoch.parse(data))
        except ReflectError:  # ours, edited by hand
            continue
    return tuple(found)


def ranks(incoming: Incoming, contested: Iterable[tuple[str, str]]) -> Callable[[str, str], union.Rank]:
    """Which bytes stay where two differ; they are looked at once."""
    listed = list(dict.fromkeys(contested))
    blobs = incoming.blobs([blob for _, blob in listed])
    reasons = validate.by_content([path for path, _ in listed], blobs, names.kind_on_main)
    known = {one: union.rank(*one, data, is_canonical=not reason) for one, data, reason in zip(listed, blobs, reasons)}
    return lambda path, blob: known[path, blob]
