"""What was purged, in a tree that somebody has: what a purge names, and what speaks of it."""

from __future__ import annotations

from reflect_git.adapters import records
from reflect_git.errors import ReflectError
from reflect_git.model.marks import about_mark, is_of_place, is_spent, left_of
from reflect_git.sync import epoch, names, validate

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping
    from typing import Any

    from reflect_git.store.incoming import Incoming

    File = tuple[str, str]  # path, blob

_AT_ONCE = 2000
_TOLD = ("learnings/", "decisions/", "aside/")


def cleansed(
    incoming: Incoming, tree: Mapping[str, str], marks: frozenset[str], known: Mapping[str, str]
) -> dict[str, str]:
    """Path → blob of what may stay of a tree, mirrors without what was purged; `known` is what was looked at before."""
    if not marks:
        return dict(tree)
    stays = epoch.without(tree, marks)
    asked = [(path, blob) for path, blob in stays.items() if known.get(path) != blob]
    for (path, _), left in speaking(incoming, asked, marks).items():
        if left is None:
            del stays[path]
        else:
            stays[path] = incoming.keep(left)
    return stays


def speaking(incoming: Incoming, listed: Iterable[File], marks: frozenset[str]) -> dict[File, bytes | None]:
    """Of these files, those that speak of a learning that is gone: what is left of each, or nothing."""
    wanted = [one for one in listed if _may_speak(one[0])] if marks else []
    sizes = incoming.sizes(dict.fromkeys(blob for _, blob in wanted))
    fit = [one for one in wanted if not validate.is_too_large(sizes.get(one[1], 0), names.kind_on_main(one[0]))]
    lefts = ((one, data, _left(one[0], data, marks)) for one, data in _read(incoming, fit))
    return {one: left for one, data, left in lefts if left != data}


def _left(path: str, data: bytes, marks: frozenset[str]) -> bytes | None:
    left = left_of(data, marks)
    return None if left is not None and is_of_place(path, marks) and is_spent(left, marks) else left


def _may_speak(path: str) -> bool:
    """Decisions and mirrors."""
    return path.startswith(("decisions/", "aside/DEC-")) or names.kind_on_main(path) == names.MIRROR


def _read(incoming: Incoming, listed: list[File]) -> Iterator[tuple[File, bytes]]:
    for start in range(0, len(listed), _AT_ONCE):
        some = listed[start : start + _AT_ONCE]
        yield from zip(some, incoming.blobs([blob for _, blob in some]))


def said(
    incoming: Incoming, before: Mapping[str, str], kept: Collection[str], marks: frozenset[str]
) -> tuple[str, ...]:
    """Patterns for what the learnings said that go from here: to name what else of this machine has those words."""
    from reflect_git.model.sought import patterns_for, words_of  # once in a store's life, if ever

    gone = [(path, blob) for path, blob in before.items() if path not in kept and path.startswith(_TOLD)]
    parsed = records.parse_many(data for _, data in _read(incoming, gone))
    learned = [one for one in parsed if not isinstance(one, ReflectError) and _is_of_a_learning(one, marks)]
    return tuple(patterns_for(text for one in learned for text in words_of(one)))


def _is_of_a_learning(record: dict[str, Any], marks: frozenset[str]) -> bool:
    identity = str(record.get("id"))
    return identity.startswith("LRN-") or about_mark(str(record.get("subject"))) in marks
