"""Which paths a branch may have: the layout of the store, nothing else.

A path from outside is refused unless it is one that this product writes. What is free in it, the name of a mirror, is
held to what every file system takes: a name that is harmless here may be a device, a hidden folder or a twin elsewhere.
"""

from __future__ import annotations

from functools import lru_cache
from unicodedata import normalize

from reflect_git.model.ids import ALPHABET
from reflect_git.store.layout import MARKER, PURGES, id_in, is_id

RECORD, MIRROR, MACHINE, PURGE, ASIDE, README, MARK, BESIDE = (
    "record", "mirror", "machine", "purge", "aside", "readme", "marker", "beside",
)  # fmt: skip
SHOWN_AS = "README.md"
# What a host puts into a new repository: it may stay in history, and is no part of the store.
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
# Ignored by HFS+ inside a name: `.g\u200cit` is `.git` there.
_IGNORED = frozenset(map(chr, (*range(0x200C, 0x2010), *range(0x202A, 0x202F), *range(0x206A, 0x2070), 0xFEFF)))


@lru_cache(maxsize=1 << 16)  # asked several times about each of 10,000 paths
def kind_on_main(path: str) -> str:
    """What lies at a path of main; empty for a path that main does not have."""
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
    """What lies at a path of main that others get: not what a host put there, or the user did."""
    kind = kind_on_main(path)
    return "" if kind == BESIDE else kind


def kind_on_inbox(path: str) -> str:
    if path == MARKER:
        return MARK
    return RECORD if id_in(path)[:3] in _INBOX else ""


def fault_in(path: str) -> str:
    """Why no branch of ours has such a path; empty if only its place is wrong."""
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
        return "its path is no file name on every system"
    if len(part.encode("utf-8")) > _LONGEST_PART:
        return "its path is too long or too deep"
    return ""


def folded(path: str) -> str:
    """Equal for two paths that are one file where case or accents do not count."""
    if path.isascii():  # nearly all are, and this is a tenth of the time
        return path.lower()
    return normalize("NFC", normalize("NFC", path).casefold())


def is_machine(name: str) -> bool:
    return 0 < len(name) <= _LONGEST_MACHINE and _MACHINE.issuperset(name) and name[0] != "-"


def inbox_of(ref: str) -> str:
    """The machine of `refs/heads/inbox/<machine>/<generation>`; empty for any other ref."""
    parts = ref.split("/")
    is_right = len(parts) == 5 and parts[:3] == ["refs", "heads", "inbox"] and is_machine(parts[3])
    return parts[3] if is_right and len(parts[4]) >= 4 and parts[4].isascii() and parts[4].isdigit() else ""


def machine_of(path: str) -> str:
    """The machine that a mirror or a machine's own file speaks of."""
    folder, _, rest = path.partition("/")
    return rest.partition("/")[0] if folder == "targets" else rest[:-5] if folder == "machines" else ""


def aside(path: str, blob: str) -> str:
    """Where another version of a record is kept."""
    return f"aside/{id_in(path)}/{blob}.yaml"


def set_aside(path: str) -> tuple[str, str]:
    """(id, blob) of a path below aside/."""
    _, identity, name = path.split("/")
    return identity, name[:-5]


def _is_nothing(rest: str) -> bool:
    return False


def _is_machine_file(rest: str) -> bool:
    return rest.endswith(".yaml") and is_machine(rest[:-5])


def _is_mirror(rest: str) -> bool:
    """As this product writes it; `model.marks` asks more widely."""
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
