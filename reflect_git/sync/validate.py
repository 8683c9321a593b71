"""Check which files of an offered tree may be accepted, and merge two trees.

Refused files are reported with their path and the reason.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from reflect_git.errors import ReflectError
from reflect_git.records import yaml_form
from reflect_git.records.named_tuple import NamedTuple
from reflect_git.store import machines
from reflect_git.store.repository import get_record_id
from reflect_git.sync import store_paths

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    # Decides which of several blobs at one path stays: the one with the smallest rank.
    Rank = tuple[int, int, str]

FILE_MODE = "100644"
TOO_LARGE = "it is too large"
_MAX_SIZES = {store_paths.SNAPSHOT: 1 << 20}
IN_OUR_NAME = "it speaks in this machine's name, and this machine does not have it"
IN_ANOTHER_NAME = "it speaks in the name of another machine, and was made by hand here"
_MODE_FAULTS = {
    "100755": "it is executable", "120000": "it is a symbolic link", "160000": "it is a submodule",
    "040000": "it is an empty folder",
}  # fmt: skip


class Refusal(NamedTuple):
    """A refused path and the reason."""

    path: str
    reason: str


def find_fault(mode: str, path: str, blob: str, kind_of: Callable[[str], str]) -> str:
    """Return why a file may not be accepted whatever it contains; empty if its content has to be checked."""
    kind = kind_of(path)
    fault = store_paths.find_path_fault(path) if kind not in (store_paths.RECORD, store_paths.HOST_FILE) else ""
    if fault:
        return fault
    if mode != FILE_MODE:
        return _MODE_FAULTS.get(mode, "its mode is not allowed")
    if not kind:
        return "the store has no such file"
    if kind == store_paths.ASIDE and store_paths.parse_aside_path(path)[1] != blob:
        return "its name is not that of its bytes"
    return ""


def is_too_large(size: int, kind: str) -> bool:
    """Return whether a file of this kind may not have this size."""
    return size > _MAX_SIZES.get(kind, yaml_form.MAX_BYTES)


def find_twins(offered: Iterable[str], ours: Iterable[str]) -> dict[str, str]:
    """Map paths to why they may not be accepted: some file systems would treat them and another path as one file."""
    known, new = set(ours), set(offered)
    first = {store_paths.fold_path(path): path for path in sorted(known)}
    found: dict[str, str] = {}
    for path in sorted(new):
        twin = first.setdefault(store_paths.fold_path(path), path)
        if twin != path:
            found[path] = twin
            if twin not in known:
                found[twin] = path
    return {path: f"it is one file with '{twin}' on some systems" for path, twin in found.items()}


def check_contents(
    paths: Sequence[str], blobs: Sequence[bytes], kind_of: Callable[[str], str], us: str = "", by_hand_of: str = ""
) -> list[str]:  # fmt: skip
    """Return for each file why it may not be accepted; an empty text if it may.

    Nobody else may write with the name `us`. Files made `by_hand_of` a machine's person may use only its name.
    """
    kinds = [kind_of(path) for path in paths]
    listed = [at for at, kind in enumerate(kinds) if kind in (store_paths.RECORD, store_paths.ASIDE)]
    parsed = dict(zip(listed, yaml_form.parse_many(blobs[at] for at in listed)))
    names_of = us, by_hand_of
    return [_find_content_fault(paths[at], blobs[at], kind, parsed.get(at), *names_of) for at, kind in enumerate(kinds)]


def _find_content_fault(path: str, data: bytes, kind: str, record: Any, us: str, by_hand_of: str) -> str:
    if is_too_large(len(data), kind):
        return TOO_LARGE
    try:
        if kind in (store_paths.RECORD, store_paths.ASIDE):
            _require_record(record, get_record_id(path) or store_paths.parse_aside_path(path)[0])
            _require_name(record, us, by_hand_of)
        elif kind == store_paths.MACHINE:
            _require_machine(path, data)
        elif kind == store_paths.PURGE:
            _require_purge(path, data)
        elif kind == store_paths.SNAPSHOT:
            _require_snapshot(path, data, us)
        elif kind in (store_paths.README, store_paths.INBOX_MARKER, store_paths.HOST_FILE) and not _is_text(data):
            return "it is not text"
    except ReflectError as error:
        return error.message
    return ""


def _require_record(record: Any, record_id: str) -> None:
    if isinstance(record, ReflectError):
        raise record
    if record.get("id") != record_id:
        raise ReflectError("its name is not its id")
    yaml_form.check(record)


def _require_name(record: Any, us: str, by_hand_of: str) -> None:
    machine = record.get("machine")
    if machine is None or record["id"].startswith("SIG-"):
        return
    if machine == us:
        raise ReflectError(IN_OUR_NAME)
    if by_hand_of and machine != by_hand_of:
        raise ReflectError(IN_ANOTHER_NAME)


def _require_snapshot(path: str, data: bytes, us: str) -> None:
    if not (get_snapshot_version(data) and _is_text(data)):
        raise ReflectError("it is not a snapshot")
    if us and store_paths.get_machine(path) == us:
        raise ReflectError(IN_OUR_NAME)


def _require_machine(path: str, data: bytes) -> None:
    if data != machines.build_machine_file(store_paths.get_machine(path)):
        raise ReflectError("it does not say which machine it is")


def _require_purge(path: str, data: bytes) -> None:
    if store_paths.parse_purge(data).epoch != store_paths.get_epoch([path]):
        raise ReflectError("its name is not its epoch")


def _is_text(data: bytes) -> bool:
    try:
        return "\0" not in data.decode("utf-8")
    except UnicodeDecodeError:
        return False


Tree = Mapping[str, str]
_README_TITLE = b"# reflections\n"
_MAX_VERSION_DIGITS = (
    9  # digits of a snapshot's version: far more than people produce, and the next one is still a number
)


class TreeMerge:
    """The merged tree, and the (path, blob) pairs that lost: kept beside it, or dropped."""

    def __init__(self, tree: dict[str, str]) -> None:
        self.tree = tree
        self.kept_beside: list[tuple[str, str]] = []
        self.dropped: list[tuple[str, str]] = []


def find_conflicts(ours: Tree, theirs: Tree) -> list[tuple[str, str]]:
    """Return the (path, blob) pairs whose bytes are needed before `merge` can be called."""
    both = [path for path, blob in theirs.items() if ours.get(path, blob) != blob]
    return [(path, tree[path]) for path in both for tree in (ours, theirs)]


def merge_trees(ours: Tree, theirs: Tree, rank_of: Callable[[str, str], Rank]) -> TreeMerge:
    """Merge two trees; where they differ, the blob with the smaller rank stays."""
    union = TreeMerge(dict(ours))
    for path, blob in theirs.items():
        standing = union.tree.get(path, blob)
        if standing == blob:
            union.tree[path] = blob
            continue
        stays, goes = sorted((standing, blob), key=lambda one: rank_of(path, one))
        union.tree[path] = stays
        _keep_or_drop(union, path, goes, rank_of)
    return union


def _keep_or_drop(union: TreeMerge, path: str, blob: str, rank_of: Callable[[str, str], Rank]) -> None:
    """Keep or drop the losing version of a file.

    A valid record that lost is still something that was written, so it stays readable. The older version of a snapshot
    can be dropped: it is in the history, and the next one follows with every approval.
    """
    is_ill_made, number, _ = rank_of(path, blob)
    kind = store_paths.get_main_kind(path)
    if kind == store_paths.RECORD and not is_ill_made:
        union.tree[store_paths.build_aside_path(path, blob)] = blob
        union.kept_beside.append((path, blob))
    elif is_ill_made or kind != store_paths.SNAPSHOT or number == rank_of(path, union.tree[path])[1]:
        union.dropped.append((path, blob))


def rank_blob(path: str, blob: str, data: bytes, is_canonical: bool, is_approved: bool = False) -> Rank:
    """Return the rank of a blob: valid before invalid, then by kind, then the smaller blob id.

    Snapshots: the higher version. Learnings: the text that its decision approved. Edited purges: the one that names
    more. A README made by a host loses to the one that explains the folder.
    """
    kind = store_paths.get_main_kind(path)
    counted = {store_paths.SNAPSHOT: get_snapshot_version, store_paths.PURGE: _count_marks}
    number = counted[kind](data) if kind in counted else int(is_approved)
    is_right = is_canonical and (kind != store_paths.README or data.startswith(_README_TITLE))
    return (0 if is_right else 1, -number, blob)


def _count_marks(data: bytes) -> int:
    try:
        return len(set(store_paths.parse_purge(data).purged))
    except ReflectError:
        return 0


def get_snapshot_version(data: bytes) -> int:
    """Return the version in the first line of a snapshot; 0 if it is not one."""
    name, _, number = data.split(b"\n", 1)[0].partition(b": ")
    return int(number) if name == b"version" and number.isdigit() and len(number) <= _MAX_VERSION_DIGITS else 0
