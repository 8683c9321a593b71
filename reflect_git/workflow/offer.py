"""What a remote offers, and what we would offer it: judged file by file, through all of the history that is new."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from types import MappingProxyType

from reflect_git.adapters import records
from reflect_git.adapters.transport import TooMuch
from reflect_git.errors import ReflectError
from reflect_git.model.tuples import NamedTuple
from reflect_git.store.layout import is_id, path_of
from reflect_git.sync import epoch, names, union, validate
from reflect_git.sync.epoch import Purge
from reflect_git.sync.validate import FILE, Refusal
from reflect_git.workflow.cleansing import speaking

TYPE_CHECKING = False
if TYPE_CHECKING:
    from reflect_git.store.incoming import Incoming
    from reflect_git.store.origins import Listed

    Tree = Mapping[str, tuple[str, str]]

_AT_ONCE = 2000
_PURGED = "it was purged"
_EASILY, _MOST_BYTES = 32 << 20, 1 << 30


class Offer(NamedTuple):
    """A tip of main. `tree` is all of it, `accepted` what may come in (path → blob).

    `is_clean`: nothing was refused, or purged here, in its whole new history. Only then may its commits come in, too;
    otherwise what was accepted comes in under a commit of ours, and nothing of the rest is in the store's objects.
    """

    commit: str | None = None
    tree: Tree = MappingProxyType({})
    accepted: Mapping[str, str] = MappingProxyType({})
    refused: tuple[Refusal, ...] = ()
    is_clean: bool = True
    purges: tuple[Purge, ...] = ()
    has_records: bool = False  # now or once; a new repository of a host has none

    @property
    def marks(self) -> frozenset[str]:
        return epoch.marks(self.purges)


def look(
    incoming: Incoming, commit: str | None, ours: str, before: Tree, us: str, is_ours_next: bool = False
) -> Offer:  # fmt: skip
    """A tip of main there; `ours` is main here and `before` its tree, which was judged before; `us` is this machine.

    `is_ours_next`: the history here beside that of the tip will be asked for.
    """
    if commit is None:
        return Offer()
    incoming.begin(commit, [ours])
    if is_ours_next:  # what is there is walked through, too: nobody waits for it before that was looked at
        incoming.begin(ours, [commit])
    marks = epoch.marks(purges_in(incoming, {path: blob for path, (_, blob) in before.items()}))
    listed = incoming.tree(commit)
    offered = dict.fromkeys(unlike(listed, before))
    bad, purged = _sifted(incoming, offered, marks, us)
    # What is in the tree was looked at while git walked through the history, which seldom has anything else.
    incoming.require_sound(commit, [ours])
    passed = [one for one in unlike(incoming.history(commit, [ours]).files, before) if one not in offered]
    for found, known in zip(_sifted(incoming, passed, marks, us), (bad, purged)):
        known.update(found)
    offered.update(dict.fromkeys(passed))
    purges = purges_in(incoming, {one[1]: one[2] for one in listed if one not in bad and one not in purged})
    new = epoch.marks(purges) - marks  # what the offer itself says was purged
    purged.update(_purged(incoming, [one for one in offered if one not in bad and one not in purged], new))
    bad = _without_ours(incoming, bad, before, is_purging=not epoch.marks(purges) <= marks)
    # Twins are a matter of one tree, not of a history.
    twins = validate.twins((path for mode, path, blob in listed if (mode, path, blob) not in bad), before)
    unfit = {*bad, *(one for one in purged if not _is_mirror(one))}  # of a mirror, the rest is taken
    accepted = {
        path: blob
        for mode, path, blob in listed
        if mode == FILE and (mode, path, blob) not in unfit and path not in twins and names.kind_shared(path)
    }
    # A remote that does not know of a purge is about to be told; one that does has no business with what was purged.
    back = purged if marks <= epoch.marks(purges) else {}
    refused = {**{one[1]: reason for one, reason in {**bad, **back}.items()}, **twins}
    return Offer(
        commit, {path: (mode, blob) for mode, path, blob in listed}, accepted,
        tuple(Refusal(path, reason) for path, reason in sorted(refused.items())), not refused and not purged, purges,
        any(names.kind_shared(path) not in ("", names.README) for _, path, _ in chain(listed, offered)),
    )  # fmt: skip


def _sifted(
    incoming: Incoming, listed: Iterable[Listed], marks: frozenset[str], us: str
) -> tuple[dict[Listed, str], dict[Listed, str]]:  # fmt: skip
    """Those of these files that may not come in, and those that were purged here, each with the reason."""
    offered = list(listed)
    purged = _purged(incoming, offered, marks)
    fit = [one for one in offered if not epoch.is_purged(one[1], one[2], marks)]
    return judge(incoming, [one for one in fit if one not in purged or _is_mirror(one)], names.kind_on_main, us), purged


def _is_mirror(one: Listed) -> bool:
    return names.kind_on_main(one[1]) == names.MIRROR


def _purged(incoming: Incoming, listed: Sequence[Listed], marks: frozenset[str]) -> dict[Listed, str]:
    """By what they are, or by what they speak of."""
    spoken = speaking(incoming, ((path, blob) for _, path, blob in listed), marks)
    return {one: _PURGED for one in listed if one[1:] in spoken or epoch.is_purged(one[1], one[2], marks)}


def _without_ours(incoming: Incoming, bad: dict[Listed, str], before: Tree, is_purging: bool) -> dict[Listed, str]:
    """What speaks in our name and once was in main here is ours: a hand changed it since. A purge on another machine
    changes our mirrors, too, and a person here is asked about it."""
    claimed = [one for one, reason in bad.items() if reason == validate.IN_OUR_NAME]
    mirrors = list(filter(_is_mirror, claimed))
    harmless = mirrors if is_purging else _outdated(incoming, mirrors, before)
    places = {place: one for one in claimed if one not in harmless for place in _places_of(one)}
    ours = {*harmless, *(places[place] for place in incoming.once_ours(places))}
    return {one: reason for one, reason in bad.items() if one not in ours}


def _places_of(one: Listed) -> list[Listed]:
    """Where main may have the same version of a record: which of two is at its place and which aside, others decide."""
    mode, path, blob = one
    kind = names.kind_on_main(path)
    if kind not in (names.RECORD, names.ASIDE):
        return [one]
    home = path_of(names.set_aside(path)[0]) if kind == names.ASIDE else path
    return [(mode, home, blob), (mode, names.aside(home, blob), blob)]


def _outdated(incoming: Incoming, mirrors: Iterable[Listed], before: Tree) -> list[Listed]:
    """Mirrors that give way to the newer one that stands here."""
    known = [one for one in mirrors if one[1] in before]
    theirs = incoming.blobs([blob for *_, blob in known])
    standing = incoming.blobs([before[path][1] for _, path, _ in known])
    versions = [(union.version_in(one), union.version_in(other)) for one, other in zip(theirs, standing)]
    return [one for one, (version, newer) in zip(known, versions) if version < newer]


def own(
    incoming: Incoming, commit: str, tree: Tree, offer: Offer, us: str, replaces: bool = False
) -> dict[Listed, str]:  # fmt: skip
    """Of main here, what the others would refuse, in its tree or in its history beside that of the offer, unless it
    `replaces` that.

    What the product committed needs no second look into the files; what the user did by hand does.
    """
    history = incoming.history(commit, [offer.commit] if offer.commit and not replaces else [])
    there: Tree = {} if replaces else offer.tree
    bad = _by_hand(incoming, unlike(history.by_hand, there), offer.tree, us)
    bad.update(_misplaced(unlike(history.files, there), names.kind_on_main))
    for path, (mode, blob) in tree.items():
        if there.get(path) != (mode, blob) and not names.kind_shared(path):
            bad[mode, path, blob] = "the store has no such file"
    return bad


def _by_hand(incoming: Incoming, listed: Iterable[Listed], offered: Tree, us: str) -> dict[Listed, str]:
    """Of what no commit of the product brought along, what nobody else may have. Another machine's words that came from
    a remote, this one or an earlier one, were its own person's."""
    bad = judge(incoming, listed, names.kind_on_main, by_hand_of=us)
    foreign = unlike((one for one, reason in bad.items() if reason == validate.IN_ANOTHERS), offered)
    made_here = set(foreign) - incoming.once_theirs(foreign)
    return {one: reason for one, reason in bad.items() if reason != validate.IN_ANOTHERS or one in made_here}


def mended(incoming: Incoming, commit: str, tree: Tree, offer: Offer, us: str) -> dict[str, str]:
    """Path → blob of records that a hand made something else of, as they were before; nobody else may have them."""
    history = incoming.history(commit, [offer.commit] if offer.commit else [])
    bad = _by_hand(incoming, history.by_hand, offer.tree, us)
    spoiled = {
        path for mode, path, blob in bad
        if tree.get(path) == (mode, blob) and names.kind_on_main(path) == names.RECORD
    }  # fmt: skip
    found = {path: offer.accepted[path] for path in spoiled if path in offer.accepted}
    versions = [one for one in history.files if one[1] in spoiled - set(found) and one not in bad]
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
    bad = _misplaced(offered, kind_of)
    good = [one for one in offered if one not in bad]
    at_once = incoming.blobs([blob for *_, blob in good], _EASILY)
    portions: Iterable[tuple[list[Listed], list[bytes]]] = [(good, at_once)]
    if len(at_once) < len(good):
        large = _too_large(incoming, good, kind_of)
        bad.update(large)
        portions = _in_portions(incoming, [one for one in good if one not in large])
    for some, blobs in portions:
        reasons = validate.by_content([path for _, path, _ in some], blobs, kind_of, us, by_hand_of)
        bad.update((one, reason) for one, reason in zip(some, reasons) if reason)
    return bad


def _misplaced(listed: Iterable[Listed], kind_of: Callable[[str], str]) -> dict[Listed, str]:
    """Those that may not be where they are, or as they are, whatever is in them."""
    return {one: reason for one in listed for reason in [validate.fault_of(*one, kind_of)] if reason}


def _too_large(incoming: Incoming, listed: Sequence[Listed], kind_of: Callable[[str], str]) -> dict[Listed, str]:
    """By what they say of their size, once they were too much to be read at a time: a bomb is small on its way."""
    sizes = incoming.sizes(dict.fromkeys(blob for *_, blob in listed))
    large = [one for one in listed if validate.is_too_large(sizes.get(one[2], 0), kind_of(one[1]))]
    if sum(sizes.get(one[2], 0) for one in listed if one not in large) > _MOST_BYTES:
        raise TooMuch("its files are larger than allowed")
    return dict.fromkeys(large, validate.TOO_LARGE)


def _in_portions(incoming: Incoming, listed: list[Listed]) -> Iterator[tuple[list[Listed], list[bytes]]]:
    for start in range(0, len(listed), _AT_ONCE):
        some = listed[start : start + _AT_ONCE]
        yield some, incoming.blobs([blob for *_, blob in some])


def purges_in(incoming: Incoming, accepted: Mapping[str, str]) -> tuple[Purge, ...]:
    """Whole ones, of any tree: what a hand made of one binds no other machine."""
    paths = [path for path in accepted if names.kind_on_main(path) == names.PURGE]
    return tuple(filter(None, map(_purge, incoming.blobs([accepted[path] for path in paths]))))


def _purge(data: bytes) -> Purge | None:
    try:
        return epoch.parse(data)
    except ReflectError:
        return None


def ranks(
    incoming: Incoming, contested: Iterable[tuple[str, str]], known: Mapping[str, str]
) -> Callable[[str, str], union.Rank]:  # fmt: skip
    """Which bytes stay where two differ; they are looked at once. `known` is path → blob of what nobody contests."""
    listed = list(dict.fromkeys(contested))
    blobs = incoming.blobs([blob for _, blob in listed])
    reasons = validate.by_content([path for path, _ in listed], blobs, names.kind_on_main)
    approved = _approved(incoming, [data for data, reason in zip(blobs, reasons) if not reason], known)
    found = {
        one: union.rank(*one, data, not reason, data in approved) for one, data, reason in zip(listed, blobs, reasons)
    }
    return lambda path, blob: found[path, blob]


def _approved(incoming: Incoming, blobs: Iterable[bytes], known: Mapping[str, str]) -> set[bytes]:
    """Learnings in the very words that were approved, as the decision tells that they name."""
    learned = [(data, records.parse(data)) for data in blobs if data.startswith(b'id: "LRN-')]
    paths = [path_of(name) if is_id(name) else "" for _, record in learned for name in [str(record.get("decision"))]]
    asked = [(data, record, known[path]) for (data, record), path in zip(learned, paths) if path in known]
    made = records.parse_many(incoming.blobs([blob for *_, blob in asked]))
    return {
        data for (data, record, _), decision in zip(asked, made)
        if not isinstance(decision, ReflectError) and decision.get("text") == record.get("text") is not None
    }  # fmt: skip
