"""Where each record lies in the trees of the store."""

from __future__ import annotations

from reflect_git.errors import ReflectError
from reflect_git.model.ids import ALPHABET

PURGES = "purges"  # the folder of main that names what was purged
MARKER = "signals/README.md"
RESTORED = "restore: "  # what the commit that puts back what a hand removed begins with
_KINDS = frozenset(("SIG", "LRN", "DEC", "EXP", "TLY"))
_FOLDERS = {"DEC": "decisions", "EXP": "exposure", "TLY": "tally"}
_LETTERS = frozenset(ALPHABET)


def is_id(text: str) -> bool:
    """PREFIX-YYYYMMDD-xxxxxxxx, nothing else: an id becomes a path."""
    prefix, _, rest = text.partition("-")
    day, _, name = rest.partition("-")
    return (
        prefix in _KINDS
        and len(day) == 8 and day.isascii() and day.isdigit()
        and len(name) == 8 and _LETTERS.issuperset(name)
    )  # fmt: skip


def path_of(identity: str) -> str:
    """The path of a record in its tree."""
    if not is_id(identity):
        raise ReflectError(f"'{identity}' is not an id", "ids look like SIG-20260211-7k3v9q2m", code="bad-id")
    return place_of(identity)


def place_of(identity: str) -> str:
    """The same of what is known to be an id."""
    prefix, day, name = identity.split("-")
    year, month, date = day[:4], day[4:6], day[6:]
    if prefix == "SIG":
        return f"signals/{year}/{month}/{date}/{name[:2]}/{identity}.yaml"
    if prefix == "LRN":
        return f"learnings/{identity}.yaml"
    return f"{_FOLDERS[prefix]}/{year}/{month}/{identity}.yaml"


def id_in(path: str) -> str:
    """The id a path speaks of, or an empty text."""
    name = path.rpartition("/")[2]
    stem = name[:-5] if name.endswith(".yaml") else ""
    return stem if is_id(stem) and place_of(stem) == path else ""
