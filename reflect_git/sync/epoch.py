"""What was purged, and since when: write-once files on main, so that two purges at once are a union, too.

A purge rewrites main. A clone that still has the old history must not bring the text back, so the files name it by
hashes: of the blobs that held it, of the records that are gone for good, and of the learnings that nobody may speak of
any more: what another machine decided about one of them, or wrote down of it, is not known to the one who purges.
"""

from __future__ import annotations

from reflect_git.adapters import records
from reflect_git.adapters.records import RecordError
from reflect_git.model.marks import about_mark, blob_mark, file_mark, id_mark, is_gone, marks_in, place_mark
from reflect_git.model.tuples import NamedTuple
from reflect_git.store.layout import PURGES
from reflect_git.sync import names

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

AFTER = "After-Purge"  # of a commit: the purge because of which it brings files without their history
VERSION = 1
LAST = 9999  # of four digits, as a name has them
MOST_MARKS = 1500
_FIELDS = ("version", "epoch", "timestamp", "machine", "purged")


class Purge(NamedTuple):
    """One file. `purged` are marks; the epoch counts purges, for people."""

    epoch: int
    timestamp: str
    machine: str
    purged: tuple[str, ...]


def path_for(epoch: int, name: str) -> str:
    """`name` is eight random characters of the alphabet of ids."""
    return f"{PURGES}/{epoch:04d}-{name}.yaml"


def marks_of(identities: Iterable[str], blobs: Iterable[str], mirrors: Iterable[str] = ()) -> list[str]:
    """What a purge says of these records, of these bytes, and of mirrors that have it in their names."""
    known = list(identities)
    learned = [one for one in known if one.startswith("LRN-")]
    of_learnings = (mark(one) for mark in (about_mark, file_mark) for one in learned)
    return [*map(blob_mark, blobs), *map(id_mark, known), *of_learnings, *dict.fromkeys(map(place_mark, mirrors))]


def emit(purge: Purge) -> bytes:
    fields = (VERSION, purge.epoch, purge.timestamp, purge.machine, list(purge.purged))
    return records.emit(dict(zip(_FIELDS, fields)))


def parse(data: bytes) -> Purge:
    found = records.parse(data)
    marks = marks_in(found)
    is_right = (
        tuple(found) == _FIELDS and found["version"] == VERSION
        and type(found["epoch"]) is int and 0 < found["epoch"] <= LAST
        and type(found["timestamp"]) is str and type(found["machine"]) is str and names.is_machine(found["machine"])
        and found["purged"] == marks and len(marks) <= MOST_MARKS
    )  # fmt: skip
    if not is_right:
        raise RecordError("it does not say what was purged")
    return Purge(found["epoch"], found["timestamp"], found["machine"], tuple(marks))


def marks(purges: Iterable[Purge]) -> frozenset[str]:
    return frozenset(mark for purge in purges for mark in purge.purged)


def number(paths: Iterable[str]) -> int:
    """The epoch of a main with these files, whose names tell it; 0 if nothing was ever purged."""
    told = (path.removeprefix(f"{PURGES}/")[:4] for path in paths if names.kind_on_main(path) == names.PURGE)
    return max(map(int, told), default=0)


def following(paths: Iterable[str]) -> int:
    """The epoch of the next purge there. After the last one all have its number: no machine would take a file with a
    longer one for a purge, and names differ without it."""
    return min(number(paths) + 1, LAST)


def is_purged(path: str, blob: str, purged: frozenset[str]) -> bool:
    return bool(purged) and (blob_mark(blob) in purged or is_gone(path, purged))


def without(tree: Mapping[str, str], purged: frozenset[str]) -> dict[str, str]:
    """Path → blob of what may stay."""
    return {path: blob for path, blob in tree.items() if not is_purged(path, blob, purged)}
