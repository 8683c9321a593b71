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
from reflect_git.records.purge_marks import about_mark, blob_mark, file_mark, id_mark, is_gone, marks_in, place_mark
from reflect_git.records.yaml_form import RecordError
from reflect_git.store.repository import MARKER, PURGES, id_in, is_id

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

RECORD, MIRROR, MACHINE, PURGE, ASIDE, README, MARK, BESIDE = (
    "record", "mirror", "machine", "purge", "aside", "readme", "marker", "beside",
)  # fmt: skip
SHOWN_AS = "README.md"
# Files that a host puts into a new repository: they may stay in history, but are not part of the store.
HOSTED = ("LICENSE", "LICENSE.md", "LICENSE.txt", ".gitignore")
_MAIN = ("LRN", "DEC", "TLY", "EXP")
_INBOX = ("SIG", "EXP")
_MACHINE = frozenset("abcdefghijklmnopqrstuvwxyz0123456789-")
_HEX = frozenset("0123456789abcdef")
_LONGEST_MACHINE = 40
_LONGEST, _DEEPEST, _LONGEST_PART = 1024, 32, 255
_DEVICES = frozenset(
    ("con", "prn", "aux", "nul", *(f"{name}{digit}" for name in ("com", "lpt") for digit in "0123456789"))
)
# HFS+ ignores these inside a name: `.g\u200cit` is `.git` there.
_IGNORED = frozenset(map(chr, (*range(0x200C, 0x2010), *range(0x202A, 0x202F), *range(0x206A, 0x2070), 0xFEFF)))


@lru_cache(maxsize=1 << 16)  # called several times for each of 10,000 paths
def kind_on_main(path: str) -> str:
    """Return what kind of file a path of main is; empty for a path that main does not have."""
    if path == SHOWN_AS:
        return README
    if path in HOSTED:
        return BESIDE
    if id_in(path)[:3] in _MAIN:
        return RECORD
    folder, _, rest = path.partition("/")
    shapes = {"machines": (MACHINE, _is_machine_file), "targets": (MIRROR, _is_mirror),
              PURGES: (PURGE, _is_purge), "aside": (ASIDE, _is_aside)}  # fmt: skip
    kind, is_right = shapes.get(folder, ("", _is_nothing))
    return kind if is_right(rest) else ""


def kind_shared(path: str) -> str:
    """Return what kind of file a path of main is; empty for files that others do not get, such as a host's."""
    kind = kind_on_main(path)
    return "" if kind == BESIDE else kind


def kind_on_inbox(path: str) -> str:
    """Return what kind of file a path of an inbox branch is; empty if it has no such path."""
    if path == MARKER:
        return MARK
    return RECORD if id_in(path)[:3] in _INBOX else ""


def fault_in(path: str) -> str:
    """Return why no branch of ours has such a path; empty if only its place is wrong."""
    parts = path.split("/")
    if len(path.encode("utf-8", "surrogateescape")) > _LONGEST or len(parts) > _DEEPEST:
        return "its path is too long or too deep"
    for part in parts:
        fault = _fault_in_part(part)
        if fault:
            return fault
    return ""


def _fault_in_part(part: str) -> str:
    if part in ("", ".", ".."):
        return "its path leaves the store"
    if any(ord(c) < 32 or 0x7F <= ord(c) < 0xA0 or c in '\\:*?"<>|' or "\ud800" <= c <= "\udfff" for c in part):
        return "its path has a character that no path of ours has"
    plain = "".join(c for c in normalize("NFKC", part) if c not in _IGNORED).casefold()
    if plain.startswith((".git", "git~")):
        return "its path is one of git's own"
    if part.startswith("-"):
        return "its path looks like an option"
    if part[-1] in ". " or plain.partition(".")[0].rstrip() in _DEVICES:
        return "its path is not a valid file name on every system"
    if len(part.encode("utf-8")) > _LONGEST_PART:
        return "its path is too long or too deep"
    return ""


def folded(path: str) -> str:
    """Return a form that is equal for paths that are one file on systems ignoring case or accents."""
    if path.isascii():  # nearly all are, and this takes a tenth of the time
        return path.lower()
    return normalize("NFC", normalize("NFC", path).casefold())


def is_machine(name: str) -> bool:
    """Return whether a text is a valid machine name."""
    return 0 < len(name) <= _LONGEST_MACHINE and _MACHINE.issuperset(name) and name[0] != "-"


def inbox_of(ref: str) -> str:
    """Return the machine of `refs/heads/inbox/<machine>/<generation>`; empty for any other ref."""
    parts = ref.split("/")
    is_right = len(parts) == 5 and parts[:3] == ["refs", "heads", "inbox"] and is_machine(parts[3])
    return parts[3] if is_right and len(parts[4]) >= 4 and parts[4].isascii() and parts[4].isdigit() else ""


def machine_of(path: str) -> str:
    """Return the machine that a snapshot or a machine file belongs to."""
    folder, _, rest = path.partition("/")
    return rest.partition("/")[0] if folder == "targets" else rest[:-5] if folder == "machines" else ""


def aside(path: str, blob: str) -> str:
    """Return the path where another version of a record is kept."""
    return f"aside/{id_in(path)}/{blob}.yaml"


def set_aside(path: str) -> tuple[str, str]:
    """Return (id, blob) of a path below aside/."""
    _, identity, name = path.split("/")
    return identity, name[:-5]


def _is_nothing(rest: str) -> bool:
    return False


def _is_machine_file(rest: str) -> bool:
    return rest.endswith(".yaml") and is_machine(rest[:-5])


def _is_mirror(rest: str) -> bool:
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
    identity, _, name = rest.partition("/")
    return is_id(identity) and identity[:3] in _MAIN and name.endswith(".yaml") and _is_blob(name[:-5])


def _is_blob(text: str) -> bool:
    return len(text) == 40 and _HEX.issuperset(text)


AFTER = "After-Purge"  # trailer of a commit: the purge because of which it brings files without their history
VERSION = 1
LAST = 9999  # the largest number of four digits, as in file names
MOST_MARKS = 1500
_FIELDS = ("version", "epoch", "timestamp", "machine", "purged")


class Purge(NamedTuple):
    """One purge file. `purged` are marks; the epoch counts purges, for people."""

    epoch: int
    timestamp: str
    machine: str
    purged: tuple[str, ...]


def path_for(epoch: int, name: str) -> str:
    """Return the path of a purge file; `name` is eight random characters of the id alphabet."""
    return f"{PURGES}/{epoch:04d}-{name}.yaml"


def marks_of(identities: Iterable[str], blobs: Iterable[str], mirrors: Iterable[str] = ()) -> list[str]:
    """Return the marks of a purge for these records, these bytes, and snapshots with the text in their names."""
    known = list(identities)
    learned = [one for one in known if one.startswith("LRN-")]
    of_learnings = (mark(one) for mark in (about_mark, file_mark) for one in learned)
    return [*map(blob_mark, blobs), *map(id_mark, known), *of_learnings, *dict.fromkeys(map(place_mark, mirrors))]


def emit(purge: Purge) -> bytes:
    """Return the bytes of a purge file."""
    fields = (VERSION, purge.epoch, purge.timestamp, purge.machine, list(purge.purged))
    return yaml_form.emit(dict(zip(_FIELDS, fields)))


def parse(data: bytes) -> Purge:
    """Parse a purge file; raise an error if it is malformed."""
    found = yaml_form.parse(data)
    marks = marks_in(found)
    is_right = (
        tuple(found) == _FIELDS and found["version"] == VERSION
        and type(found["epoch"]) is int and 0 < found["epoch"] <= LAST
        and type(found["timestamp"]) is str and type(found["machine"]) is str and is_machine(found["machine"])
        and found["purged"] == marks and len(marks) <= MOST_MARKS
    )  # fmt: skip
    if not is_right:
        raise RecordError("it does not say what was purged")
    return Purge(found["epoch"], found["timestamp"], found["machine"], tuple(marks))


def marks(purges: Iterable[Purge]) -> frozenset[str]:
    """Return all marks of these purges."""
    return frozenset(mark for purge in purges for mark in purge.purged)


def number(paths: Iterable[str]) -> int:
    """Return the epoch of a main with these files, from their names; 0 if nothing was ever purged."""
    told = (path.removeprefix(f"{PURGES}/")[:4] for path in paths if kind_on_main(path) == PURGE)
    return max(map(int, told), default=0)


def following(paths: Iterable[str]) -> int:
    """Return the epoch of the next purge there.

    After the last number all purges share it: no machine would accept a longer one, and the names still differ.
    """
    return min(number(paths) + 1, LAST)


def is_purged(path: str, blob: str, purged: frozenset[str]) -> bool:
    """Return whether a file was purged, by its blob or by its path."""
    return bool(purged) and (blob_mark(blob) in purged or is_gone(path, purged))


def without(tree: Mapping[str, str], purged: frozenset[str]) -> dict[str, str]:
    """Return the files of a tree that were not purged."""
    return {path: blob for path, blob in tree.items() if not is_purged(path, blob, purged)}
