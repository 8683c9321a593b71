"""Two trees become one: a union by path, the same one whichever comes first.

What one of them lacks stays: deletions exist only as records. Where both have other bytes at one path, the bytes
themselves decide, never the side they are on, so that any order of syncs among any number of clones ends in one tree.
"""

from __future__ import annotations

from collections.abc import Mapping

from reflect_git.errors import ReflectError
from reflect_git.sync import epoch, names

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    # Which of several blobs at one path stays: the one with the smallest rank.
    Rank = tuple[int, int, str]

Tree = Mapping[str, str]
_TITLE = b"# reflections\n"
_DIGITS = 9  # of a mirror's version: far more than a person answers, and the next one still is a number


class Union:
    """The merged tree, and the (path, blob) that lost their place: kept beside it, or dropped."""

    def __init__(self, tree: dict[str, str]) -> None:
        self.tree = tree
        self.beside: list[tuple[str, str]] = []
        self.dropped: list[tuple[str, str]] = []


def contested(ours: Tree, theirs: Tree) -> list[tuple[str, str]]:
    """The (path, blob) whose bytes must be looked at before `merge` can be called."""
    both = [path for path, blob in theirs.items() if ours.get(path, blob) != blob]
    return [(path, tree[path]) for path in both for tree in (ours, theirs)]


def merge(ours: Tree, theirs: Tree, rank_of: Callable[[str, str], Rank]) -> Union:
    union = Union(dict(ours))
    for path, blob in theirs.items():
        standing = union.tree.get(path, blob)
        if standing == blob:
            union.tree[path] = blob
            continue
        stays, goes = sorted((standing, blob), key=lambda one: rank_of(path, one))
        union.tree[path] = stays
        _set_aside(union, path, goes, rank_of)
    return union


def _set_aside(union: Union, path: str, blob: str, rank_of: Callable[[str, str], Rank]) -> None:
    """A record that is well made and lost its place is still something that was written: it stays readable. The older
    version of a mirror is no loss: it is in the history, and the next one follows with every approval."""
    is_ill_made, number, _ = rank_of(path, blob)
    kind = names.kind_on_main(path)
    if kind == names.RECORD and not is_ill_made:
        union.tree[names.aside(path, blob)] = blob
        union.beside.append((path, blob))
    elif is_ill_made or kind != names.MIRROR or number == rank_of(path, union.tree[path])[1]:
        union.dropped.append((path, blob))


def rank(path: str, blob: str, data: bytes, is_canonical: bool, is_approved: bool = False) -> Rank:
    """Well-made before ill-made; of a mirror, which alone changes, the higher version; a learning in the words that
    its decision approved; of a purge that somebody edited, the one that names more; else the smaller blob id.

    A README that a host made gives way to the one that says what the folder is.
    """
    kind = names.kind_on_main(path)
    counted = {names.MIRROR: version_in, names.PURGE: _marks_in}
    number = counted[kind](data) if kind in counted else int(is_approved)
    is_right = is_canonical and (kind != names.README or data.startswith(_TITLE))
    return (0 if is_right else 1, -number, blob)


def _marks_in(data: bytes) -> int:
    try:
        return len(set(epoch.parse(data).purged))
    except ReflectError:
        return 0


def version_in(data: bytes) -> int:
    """The number in the first line of a mirror; 0 for what is none."""
    name, _, number = data.split(b"\n", 1)[0].partition(b": ")
    return int(number) if name == b"version" and number.isdigit() and len(number) <= _DIGITS else 0
