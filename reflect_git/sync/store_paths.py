"""Define which paths a branch of the store may have, and the format of purge files.

A path from outside is refused unless it is one that this program writes. The free part, the name of a snapshot, is
limited to names valid on every file system: elsewhere a harmless name may be a device, a hidden folder or a duplicate.
"""

from __future__ import annotations

from functools import lru_cache
from unicodedata import normalize

from reflect_git.records import yaml_form
from reflect_git.records.ids import ALPHABET
from reflect_git.records.named_tuple import NamedTuple
from reflect_git.records.purge_marks import (
    blob_mark,
    get_marks,
    id_mark,
    is_purged_path,
    learning_mark,
    rules_file_mark,
    snapshot_path_mark,
)
from reflect_git.records.yaml_form import RecordError
from reflect_git.store.repository import PURGES_FOLDER, SIGNALS_README, get_record_id, is_id

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

RECORD, SNAPSHOT, MACHINE, PURGE, ASIDE, README, INBOX_MARKER, HOST_FILE = (
    "record", "mirror", "machine", "purge", "aside", "readme", "marker", "beside",
)  # fmt: skip
README_FILE = "README.md"
# Files that a host puts into a new repository: they may stay in history, but are not part of the store.
HOST_FILES = ("LICENSE", "LICENSE.md", "LICENSE.txt", ".gitignore")
_MAIN_PREFIXES = ("LRN", "DEC", "TLY", "EXP", "EVL")
_INBOX_PREFIXES = ("SIG", "EXP", "DIG")
_MACHINE_LETTERS = frozenset("abcdefghijklmnopqrstuvwxyz0123456789-")
_HEX_DIGITS = frozenset("0123456789abcdef")
_MAX_MACHINE_LENGTH = 40
_MAX_PATH_BYTES, _MAX_DEPTH, _MAX_PART_BYTES = 1024, 32, 255
_DEVICE_NAMES = frozenset(
    ("con", "prn", "aux", "nul", *(f"{name}{digit}" for name in ("com", "lpt") for digit in "0123456789"))
)
# HFS+ ignores these inside a name: `.g\u200cit` is `.git` there.
_IGNORED_CHARACTERS = frozenset(
    map(chr, (*range(0x200C, 0x2010), *range(0x202A, 0x202F), *range(0x206A, 0x2070), 0xFEFF))
)


@lru_cache(maxsize=1 << 16)  # called several times for each of 10,000 paths
def get_main_kind(path: str) -> str:
    """Return what kind of file a path of main is; empty for a path that main does not have."""
    if path == README_FILE:
        return README
    if path in HOST_FILES:
        return HOST_FILE
    if get_record_id(path)[:3] in _MAIN_PREFIXES:
        return RECORD
    folder, _, rest = path.partition("/")
    shapes = {"machines": (MACHINE, _is_machine_file), "targets": (SNAPSHOT, _is_snapshot),
              PURGES_FOLDER: (PURGE, _is_purge), "aside": (ASIDE, _is_aside)}  # fmt: skip
    kind, is_right = shapes.get(folder, ("", _is_never))
    return kind if is_right(rest) else ""


def get_shared_kind(path: str) -> str:
    """Return what kind of file a path of main is; empty for files that others do not get, such as a host's."""
    kind = get_main_kind(path)
    return "" if kind == HOST_FILE else kind


def get_inbox_kind(path: str) -> str:
    """Return what kind of file a path of an inbox branch is; empty if it has no such path."""
    if path == SIGNALS_README:
        return INBOX_MARKER
    return RECORD if get_record_id(path)[:3] in _INBOX_PREFIXES else ""


def find_path_fault(path: str) -> str:
    """Return why no branch of ours has such a path; empty if only its place is wrong."""
    parts = path.split("/")
    if len(path.encode("utf-8", "surrogateescape")) > _MAX_PATH_BYTES or len(parts) > _MAX_DEPTH:
        return "its path is too long or too deep"
    for part in parts:
        fault = _find_part_fault(part)
        if fault:
            return fault
    return ""


def _find_part_fault(part: str) -> str:
    if part in ("", ".", ".."):
        return "its path leaves the store"
    if any(ord(c) < 32 or 0x7F <= ord(c) < 0xA0 or c in '\\:*?"<>|' or "\ud800" <= c <= "\udfff" for c in part):
        return "its path has a character that no path of ours has"
    plain = "".join(c for c in normalize("NFKC", part) if c not in _IGNORED_CHARACTERS).casefold()
    if plain.startswith((".git", "git~")):
        return "its path is one of git's own"
    if part.startswith("-"):
        return "its path looks like an option"
    if part[-1] in ". " or plain.partition(".")[0].rstrip() in _DEVICE_NAMES:
        return "its path is not a valid file name on every system"
    if len(part.encode("utf-8")) > _MAX_PART_BYTES:
        return "its path is too long or too deep"
    return ""


def fold_path(path: str) -> str:
    """Return a form that is equal for paths that are one file on systems ignoring case or accents."""
    if path.isascii():  # nearly all are, and this takes a tenth of the time
        return path.lower()
    return normalize("NFC", normalize("NFC", path).casefold())


def is_machine(name: str) -> bool:
    """Return whether a text is a valid machine name."""
    return 0 < len(name) <= _MAX_MACHINE_LENGTH and _MACHINE_LETTERS.issuperset(name) and name[0] != "-"


def get_inbox_machine(ref: str) -> str:
    """Return the machine of `refs/heads/inbox/<machine>/<generation>`; empty for any other ref."""
    parts = ref.split("/")
    is_right = len(parts) == 5 and parts[:3] == ["refs", "heads", "inbox"] and is_machine(parts[3])
    return parts[3] if is_right and len(parts[4]) >= 4 and parts[4].isascii() and parts[4].isdigit() else ""


def get_machine(path: str) -> str:
    """Return the machine that a snapshot or a machine file belongs to."""
    folder, _, rest = path.partition("/")
    return rest.partition("/")[0] if folder == "targets" else rest[:-5] if folder == "machines" else ""


def build_aside_path(path: str, blob: str) -> str:
    """Return the path where another version of a record is kept."""
    return f"aside/{get_record_id(path)}/{blob}.yaml"


def parse_aside_path(path: str) -> tuple[str, str]:
    """Return (id, blob) of a path below aside/."""
    _, record_id, name = path.split("/")
    return record_id, name[:-5]


def _is_never(rest: str) -> bool:
    return False


def _is_machine_file(rest: str) -> bool:
    return rest.endswith(".yaml") and is_machine(rest[:-5])


def _is_snapshot(rest: str) -> bool:
    """Return whether this is a snapshot path as this program writes it; `records.purge_marks` is less strict."""
    machine, _, below = rest.partition("/")
    folder, _, name = below.partition("/")
    return is_machine(machine) and bool(folder and name)


def _is_purge(rest: str) -> bool:
    number, _, name = rest.removesuffix(".yaml").partition("-")
    return (
        rest.endswith(".yaml") and len(number) == 4 and number.isascii() and number.isdigit()
        and len(name) == 8 and all(c in ALPHABET for c in name)
    )  # fmt: skip


def _is_aside(rest: str) -> bool:
    record_id, _, name = rest.partition("/")
    return is_id(record_id) and record_id[:3] in _MAIN_PREFIXES and name.endswith(".yaml") and _is_blob(name[:-5])


def _is_blob(text: str) -> bool:
    return len(text) == 40 and _HEX_DIGITS.issuperset(text)


PURGE_TRAILER = "After-Purge"  # trailer of a commit: the purge because of which it brings files without their history
PURGE_VERSION = 1
MAX_EPOCH = 9999  # the largest number of four digits, as in file names
MAX_MARKS = 1500
_PURGE_FIELDS = ("version", "epoch", "timestamp", "machine", "purged")


class Purge(NamedTuple):
    """One purge file. `purged` are marks; the epoch counts purges, for people."""

    epoch: int
    timestamp: str
    machine: str
    purged: tuple[str, ...]


def build_purge_path(epoch: int, name: str) -> str:
    """Return the path of a purge file; `name` is eight random characters of the id alphabet."""
    return f"{PURGES_FOLDER}/{epoch:04d}-{name}.yaml"


def build_marks(identities: Iterable[str], blobs: Iterable[str], mirrors: Iterable[str] = ()) -> list[str]:
    """Return the marks of a purge for these records, these bytes, and snapshots with the text in their names."""
    known = list(identities)
    learned = [one for one in known if one.startswith("LRN-")]
    of_learnings = (mark(one) for mark in (learning_mark, rules_file_mark) for one in learned)
    return [
        *map(blob_mark, blobs),
        *map(id_mark, known),
        *of_learnings,
        *dict.fromkeys(map(snapshot_path_mark, mirrors)),
    ]


def emit_purge(purge: Purge) -> bytes:
    """Return the bytes of a purge file."""
    fields = (PURGE_VERSION, purge.epoch, purge.timestamp, purge.machine, list(purge.purged))
    return yaml_form.emit(dict(zip(_PURGE_FIELDS, fields)))


def parse_purge(data: bytes) -> Purge:
    """Parse a purge file; raise an error if it is malformed."""
    found = yaml_form.parse(data)
    marks = get_marks(found)
    is_right = (
        tuple(found) == _PURGE_FIELDS and found["version"] == PURGE_VERSION
        and type(found["epoch"]) is int and 0 < found["epoch"] <= MAX_EPOCH
        and type(found["timestamp"]) is str and type(found["machine"]) is str and is_machine(found["machine"])
        and found["purged"] == marks and len(marks) <= MAX_MARKS
    )  # fmt: skip
    if not is_right:
        raise RecordError("it does not say what was purged")
    return Purge(found["epoch"], found["timestamp"], found["machine"], tuple(marks))


def collect_marks(purges: Iterable[Purge]) -> frozenset[str]:
    """Return all marks of these purges."""
    return frozenset(mark for purge in purges for mark in purge.purged)


def get_epoch(paths: Iterable[str]) -> int:
    """Return the epoch of a main with these files, from their names; 0 if nothing was ever purged."""
    numbers = (path.removeprefix(f"{PURGES_FOLDER}/")[:4] for path in paths if get_main_kind(path) == PURGE)
    return max(map(int, numbers), default=0)


def get_next_epoch(paths: Iterable[str]) -> int:
    """Return the epoch of the next purge there.

    After the last number all purges share it: no machine would accept a longer one, and the names still differ.
    """
    return min(get_epoch(paths) + 1, MAX_EPOCH)


def is_purged(path: str, blob: str, purged: frozenset[str]) -> bool:
    """Return whether a file was purged, by its blob or by its path."""
    return bool(purged) and (blob_mark(blob) in purged or is_purged_path(path, purged))


def drop_purged(tree: Mapping[str, str], purged: frozenset[str]) -> dict[str, str]:
    """Return the files of a tree that were not purged."""
    return {path: blob for path, blob in tree.items() if not is_purged(path, blob, purged)}
