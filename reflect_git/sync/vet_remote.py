"""Check what a remote offers and what we would offer it, file by file, through all new history."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from types import MappingProxyType

from reflect_git.errors import ReflectError
from reflect_git.platform.git import COMMITTER
from reflect_git.platform.remote_git import LimitExceeded
from reflect_git.records import yaml_form
from reflect_git.records.named_tuple import NamedTuple
from reflect_git.records.purge_marks import (
    is_emptied_snapshot,
    is_purged_snapshot_path,
    learning_mark,
    mentions_any,
    remove_purged_entries,
)
from reflect_git.store.repository import get_record_path, is_id
from reflect_git.sync import store_paths, validate
from reflect_git.sync.store_paths import Purge
from reflect_git.sync.validate import FILE_MODE, Refusal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from reflect_git.store.main.provenance import TreeFile
    from reflect_git.sync.fetched import Incoming

    Tree = Mapping[str, tuple[str, str]]
    from collections.abc import Collection
    from typing import Any

    File = tuple[str, str]  # path, blob

_BATCH_SIZE = 2000
_PURGED_REASON = "it was purged"
_MAX_BYTES_AT_ONCE, _MAX_BYTES = 32 << 20, 1 << 30


class Offer(NamedTuple):
    """A tip of main that the remote offers. `tree` is all of it, `accepted` is what may be taken (path → blob).

    `is_clean`: nothing was refused, or purged here, in its whole new history. Only then are its commits taken over.
    Otherwise the accepted files come under a commit of ours, and no other object enters the store.
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
        return store_paths.collect_marks(self.purges)


def check_offer(
    incoming: Incoming, commit: str | None, ours: str, before: Tree, us: str, is_ours_next: bool = False
) -> Offer:  # fmt: skip
    """Check main of the remote.

    `ours` is main here, `before` its tree, which was checked earlier, and `us` this machine. `is_ours_next`: the
    history here beside that of the tip will be needed.
    """
    if commit is None:
        return Offer()
    incoming.start_history(commit, [ours])
    if is_ours_next:  # what is there is walked through, too: nobody waits for it before that was looked at
        incoming.start_history(ours, [commit])
    marks = store_paths.collect_marks(load_purges(incoming, {path: blob for path, (_, blob) in before.items()}))
    listed = incoming.list_tree(commit)
    offered = dict.fromkeys(find_new_files(listed, before))
    bad, purged = _find_bad_and_purged(incoming, offered, marks, us)
    # What is in the tree was looked at while git walked through the history, which seldom has anything else.
    incoming.require_sound(commit, [ours])
    passed = [one for one in find_new_files(incoming.get_history(commit, [ours]).files, before) if one not in offered]
    for found, known in zip(_find_bad_and_purged(incoming, passed, marks, us), (bad, purged)):
        known.update(found)
    offered.update(dict.fromkeys(passed))
    purges = load_purges(incoming, {one[1]: one[2] for one in listed if one not in bad and one not in purged})
    new = store_paths.collect_marks(purges) - marks  # what the offer itself says was purged
    purged.update(_find_purged(incoming, [one for one in offered if one not in bad and one not in purged], new))
    bad = _drop_own_files(incoming, bad, before, is_purging=not store_paths.collect_marks(purges) <= marks)
    # Twins are a matter of one tree, not of a history.
    twins = validate.find_twins((path for mode, path, blob in listed if (mode, path, blob) not in bad), before)
    unfit = {*bad, *(one for one in purged if not _is_snapshot(one))}  # of a mirror, the rest is taken
    accepted = {
        path: blob
        for mode, path, blob in listed
        if mode == FILE_MODE
        and (mode, path, blob) not in unfit
        and path not in twins
        and store_paths.get_shared_kind(path)
    }
    # A remote that does not know of a purge is about to be told; one that does has no business with what was purged.
    back = purged if marks <= store_paths.collect_marks(purges) else {}
    refused = {**{one[1]: reason for one, reason in {**bad, **back}.items()}, **twins}
    return Offer(
        commit, {path: (mode, blob) for mode, path, blob in listed}, accepted,
        tuple(Refusal(path, reason) for path, reason in sorted(refused.items())), not refused and not purged, purges,
        any(store_paths.get_shared_kind(path) not in ("", store_paths.README) for _, path, _ in chain(listed, offered)),
    )  # fmt: skip


def _find_bad_and_purged(
    incoming: Incoming, listed: Iterable[TreeFile], marks: frozenset[str], us: str
) -> tuple[dict[TreeFile, str], dict[TreeFile, str]]:  # fmt: skip
    """Return the files that may not be accepted, and those that were purged here, each with the reason."""
    offered = list(listed)
    purged = _find_purged(incoming, offered, marks)
    fit = [one for one in offered if not store_paths.is_purged(one[1], one[2], marks)]
    return find_refused(
        incoming, [one for one in fit if one not in purged or _is_snapshot(one)], store_paths.get_main_kind, us
    ), purged


def _is_snapshot(one: TreeFile) -> bool:
    return store_paths.get_main_kind(one[1]) == store_paths.SNAPSHOT


def _find_purged(incoming: Incoming, listed: Sequence[TreeFile], marks: frozenset[str]) -> dict[TreeFile, str]:
    """Return the files that were purged, by their identity or by what they mention."""
    spoken = find_mentions(incoming, ((path, blob) for _, path, blob in listed), marks)
    return {one: _PURGED_REASON for one in listed if one[1:] in spoken or store_paths.is_purged(one[1], one[2], marks)}


def unspoiled(incoming: Incoming, commit: str, ours: str, marks: frozenset[str]) -> list[str]:
    """Return the newest commits of an offered history with nothing purged in or before them: `commit`, if it is one.

    What main here has is clean, because the purge searched it. Marks do not say what a message must not contain, so a
    commit that somebody made by hand, and that main here lacks, counts as purged too.
    """
    walked = incoming.list_ancestry(commit, [ours])
    raw = incoming.read_blobs([one for one, *_ in walked], _MAX_BYTES_AT_ONCE) or [b""] * len(walked)
    purged = _find_purged(incoming, list(dict.fromkeys(chain.from_iterable(listed for *_, listed in walked))), marks)
    affected: set[str] = set()
    before: set[str] = set()
    for (one, parents, listed), data in zip(walked, raw):
        is_spoiled = not affected.isdisjoint(parents) or not purged.keys().isdisjoint(listed)
        if is_spoiled or f"\ncommitter {COMMITTER} ".encode() not in data or mentions_any([data], marks):
            affected.add(one)
            before.update(parents)
    return incoming.independent(sorted(before - affected)) if commit in affected else [commit]


def _drop_own_files(
    incoming: Incoming, bad: dict[TreeFile, str], before: Tree, is_purging: bool
) -> dict[TreeFile, str]:
    """Drop refusals of files in our name that were once in main here: they were edited by hand since.

    A purge on another machine changes our snapshots too, and a person here is asked about it.
    """
    claimed = [one for one, reason in bad.items() if reason == validate.IN_OUR_NAME]
    mirrors = list(filter(_is_snapshot, claimed))
    harmless = mirrors if is_purging else _find_outdated(incoming, mirrors, before)
    places = {place: one for one in claimed if one not in harmless for place in _get_possible_paths(one)}
    ours = {*harmless, *(places[place] for place in incoming.find_once_on_main(places))}
    return {one: reason for one, reason in bad.items() if one not in ours}


def _get_possible_paths(one: TreeFile) -> list[TreeFile]:
    """Return where main may have the same version of a record: at its path or aside, as others decide."""
    mode, path, blob = one
    kind = store_paths.get_main_kind(path)
    if kind not in (store_paths.RECORD, store_paths.ASIDE):
        return [one]
    home = get_record_path(store_paths.parse_aside_path(path)[0]) if kind == store_paths.ASIDE else path
    return [(mode, home, blob), (mode, store_paths.build_aside_path(home, blob), blob)]


def _find_outdated(incoming: Incoming, mirrors: Iterable[TreeFile], before: Tree) -> list[TreeFile]:
    """Return the snapshots that are older than the one here."""
    known = [one for one in mirrors if one[1] in before]
    theirs = incoming.read_blobs([blob for *_, blob in known])
    standing = incoming.read_blobs([before[path][1] for _, path, _ in known])
    versions = [
        (validate.get_snapshot_version(one), validate.get_snapshot_version(other))
        for one, other in zip(theirs, standing)
    ]
    return [one for one, (version, newer) in zip(known, versions) if version < newer]


def find_unshareable(
    incoming: Incoming, commit: str, tree: Tree, offer: Offer, us: str, replaces: bool = False
) -> dict[TreeFile, str]:  # fmt: skip
    """Return the files of main here that others would refuse, in its tree or in history new to the remote.

    With `replaces`, all of our history is new to it. Files committed by the program need no second check; those
    committed by hand do.
    """
    history = incoming.get_history(commit, [offer.commit] if offer.commit and not replaces else [])
    there: Tree = {} if replaces else offer.tree
    bad = _find_bad_by_hand(incoming, find_new_files(history.by_hand, there), offer.tree, us)
    bad.update(_find_misplaced(find_new_files(history.files, there), store_paths.get_main_kind))
    for path, (mode, blob) in tree.items():
        if there.get(path) != (mode, blob) and not store_paths.get_shared_kind(path):
            bad[mode, path, blob] = "the store has no such file"
    return bad


def _find_bad_by_hand(incoming: Incoming, listed: Iterable[TreeFile], offered: Tree, us: str) -> dict[TreeFile, str]:
    """Return files committed by hand that nobody else may have.

    Words of another machine that came from this or an earlier remote were its own person's.
    """
    bad = find_refused(incoming, listed, store_paths.get_main_kind, by_hand_of=us)
    foreign = find_new_files((one for one, reason in bad.items() if reason == validate.IN_ANOTHER_NAME), offered)
    made_here = set(foreign) - incoming.find_once_on_remote(foreign)
    return {one: reason for one, reason in bad.items() if reason != validate.IN_ANOTHER_NAME or one in made_here}


def find_repaired(incoming: Incoming, commit: str, tree: Tree, offer: Offer, us: str) -> dict[str, str]:
    """Return records that were spoiled by hand, as they were before (path → blob).

    Other machines must not get the spoiled ones.
    """
    history = incoming.get_history(commit, [offer.commit] if offer.commit else [])
    bad = _find_bad_by_hand(incoming, history.by_hand, offer.tree, us)
    affected = {
        path for mode, path, blob in bad
        if tree.get(path) == (mode, blob) and store_paths.get_main_kind(path) == store_paths.RECORD
    }  # fmt: skip
    found = {path: offer.accepted[path] for path in affected if path in offer.accepted}
    versions = [one for one in history.files if one[1] in affected - set(found) and one not in bad]
    wrong = find_refused(incoming, versions, store_paths.get_main_kind)
    for mode, path, blob in versions:
        if (mode, path, blob) not in wrong:
            found[path] = min(blob, found.get(path, blob))
    return found


def find_new_files(listed: Iterable[TreeFile], tree: Tree) -> list[TreeFile]:
    """Return the files that a tree does not have."""
    return [(mode, path, blob) for mode, path, blob in listed if tree.get(path) != (mode, blob)]


def find_refused(
    incoming: Incoming, listed: Iterable[TreeFile], kind_of: Callable[[str], str], us: str = "", by_hand_of: str = ""
) -> dict[TreeFile, str]:  # fmt: skip
    """Return the files that may not be accepted, each with the reason."""
    offered = list(listed)
    bad = _find_misplaced(offered, kind_of)
    good = [one for one in offered if one not in bad]
    at_once = incoming.read_blobs([blob for *_, blob in good], _MAX_BYTES_AT_ONCE)
    portions: Iterable[tuple[list[TreeFile], list[bytes]]] = [(good, at_once)]
    if len(at_once) < len(good):
        large = _find_too_large(incoming, good, kind_of)
        bad.update(large)
        portions = _read_in_batches(incoming, [one for one in good if one not in large])
    for some, blobs in portions:
        reasons = validate.check_contents([path for _, path, _ in some], blobs, kind_of, us, by_hand_of)
        bad.update((one, reason) for one, reason in zip(some, reasons) if reason)
    return bad


def _find_misplaced(listed: Iterable[TreeFile], kind_of: Callable[[str], str]) -> dict[TreeFile, str]:
    """Return the files whose path or mode is not allowed, whatever they contain."""
    return {one: reason for one in listed for reason in [validate.find_fault(*one, kind_of)] if reason}


def _find_too_large(
    incoming: Incoming, listed: Sequence[TreeFile], kind_of: Callable[[str], str]
) -> dict[TreeFile, str]:
    """Return files that are too large, by their stated size, if they were too much to read at once.

    A bomb is small in transit.
    """
    sizes = incoming.get_sizes(dict.fromkeys(blob for *_, blob in listed))
    large = [one for one in listed if validate.is_too_large(sizes.get(one[2], 0), kind_of(one[1]))]
    if sum(sizes.get(one[2], 0) for one in listed if one not in large) > _MAX_BYTES:
        raise LimitExceeded("its files are larger than allowed")
    return dict.fromkeys(large, validate.TOO_LARGE)


def _read_in_batches(incoming: Incoming, listed: list[TreeFile]) -> Iterator[tuple[list[TreeFile], list[bytes]]]:
    for start in range(0, len(listed), _BATCH_SIZE):
        some = listed[start : start + _BATCH_SIZE]
        yield some, incoming.read_blobs([blob for *_, blob in some])


def load_purges(incoming: Incoming, accepted: Mapping[str, str]) -> tuple[Purge, ...]:
    """Return the valid purges in a tree: one that was edited by hand binds no other machine."""
    paths = [path for path in accepted if store_paths.get_main_kind(path) == store_paths.PURGE]
    return tuple(filter(None, map(_parse_purge, incoming.read_blobs([accepted[path] for path in paths]))))


def _parse_purge(data: bytes) -> Purge | None:
    try:
        return store_paths.parse_purge(data)
    except ReflectError:
        return None


def build_ranking(
    incoming: Incoming, contested: Iterable[tuple[str, str]], known: Mapping[str, str]
) -> Callable[[str, str], validate.Rank]:  # fmt: skip
    """Return a function that ranks contested blobs; each is read once. `known` maps uncontested paths to blobs."""
    listed = list(dict.fromkeys(contested))
    blobs = incoming.read_blobs([blob for _, blob in listed])
    reasons = validate.check_contents([path for path, _ in listed], blobs, store_paths.get_main_kind)
    approved = _find_approved(incoming, [data for data, reason in zip(blobs, reasons) if not reason], known)
    found = {
        one: validate.rank_blob(*one, data, not reason, data in approved)
        for one, data, reason in zip(listed, blobs, reasons)
    }
    return lambda path, blob: found[path, blob]


def _find_approved(incoming: Incoming, blobs: Iterable[bytes], known: Mapping[str, str]) -> set[bytes]:
    """Return learnings with exactly the text that the decision they name approved."""
    learned = [(data, yaml_form.parse(data)) for data in blobs if data.startswith(b'id: "LRN-')]
    paths = [
        get_record_path(name) if is_id(name) else "" for _, record in learned for name in [str(record.get("decision"))]
    ]
    asked = [(data, record, known[path]) for (data, record), path in zip(learned, paths) if path in known]
    made = yaml_form.parse_many(incoming.read_blobs([blob for *_, blob in asked]))
    return {
        data for (data, record, _), decision in zip(asked, made)
        if not isinstance(decision, ReflectError) and decision.get("text") == record.get("text") is not None
    }  # fmt: skip


_PURGE_BATCH_SIZE = 2000
_LEARNING_FOLDERS = ("learnings/", "decisions/", "aside/")


def drop_purged_text(
    incoming: Incoming, tree: Mapping[str, str], marks: frozenset[str], known: Mapping[str, str]
) -> dict[str, str]:
    """Return a tree without what was purged, also within snapshots (path → blob); `known` was checked before."""
    if not marks:
        return dict(tree)
    stays = store_paths.drop_purged(tree, marks)
    asked = [(path, blob) for path, blob in stays.items() if known.get(path) != blob]
    for (path, _), left in find_mentions(incoming, asked, marks).items():
        if left is None:
            del stays[path]
        else:
            stays[path] = incoming.write_blob(left)
    return stays


def find_mentions(incoming: Incoming, listed: Iterable[File], marks: frozenset[str]) -> dict[File, bytes | None]:
    """Return the files that mention a purged learning, with what is left of each, or None."""
    wanted = [one for one in listed if _may_mention(one[0])] if marks else []
    sizes = incoming.get_sizes(dict.fromkeys(blob for _, blob in wanted))
    fit = [one for one in wanted if not validate.is_too_large(sizes.get(one[1], 0), store_paths.get_main_kind(one[0]))]
    lefts = ((one, data, _get_remainder(one[0], data, marks)) for one, data in _read_files(incoming, fit))
    return {one: left for one, data, left in lefts if left != data}


def _get_remainder(path: str, data: bytes, marks: frozenset[str]) -> bytes | None:
    left = remove_purged_entries(data, marks)
    return (
        None if left is not None and is_purged_snapshot_path(path, marks) and is_emptied_snapshot(left, marks) else left
    )


def _may_mention(path: str) -> bool:
    """Return whether a path is a decision or a snapshot."""
    return path.startswith(("decisions/", "aside/DEC-")) or store_paths.get_main_kind(path) == store_paths.SNAPSHOT


def _read_files(incoming: Incoming, listed: list[File]) -> Iterator[tuple[File, bytes]]:
    for start in range(0, len(listed), _PURGE_BATCH_SIZE):
        some = listed[start : start + _PURGE_BATCH_SIZE]
        yield from zip(some, incoming.read_blobs([blob for _, blob in some]))


def build_search_patterns(
    incoming: Incoming, before: Mapping[str, str], kept: Collection[str], marks: frozenset[str]
) -> tuple[str, ...]:
    """Return patterns for the text of learnings that are removed here, to search this machine for the same words."""
    from reflect_git.records.search_text import build_patterns, get_free_texts  # once in a store's life, if ever

    gone = [(path, blob) for path, blob in before.items() if path not in kept and path.startswith(_LEARNING_FOLDERS)]
    parsed = yaml_form.parse_many(data for _, data in _read_files(incoming, gone))
    learned = [one for one in parsed if not isinstance(one, ReflectError) and _is_about_learning(one, marks)]
    return tuple(build_patterns(text for one in learned for text in get_free_texts(one)))


def _is_about_learning(record: dict[str, Any], marks: frozenset[str]) -> bool:
    record_id = str(record.get("id"))
    return record_id.startswith("LRN-") or learning_mark(str(record.get("subject"))) in marks
