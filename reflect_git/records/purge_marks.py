"""Purge marks: hashes that name purged records without quoting them. Remove purged content from files.

A snapshot is the store's copy of a target file. The process that rewrites history imports this module, so it uses only
the standard library.
"""

from __future__ import annotations

from reflect_git.records.ids import digest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection
    from typing import Optional

_DIGITS, _HEX = 32, frozenset("0123456789abcdef")  # of a mark
_ID = rb"(LRN-[0-9]{8}-[0-9a-z]+)"
_SUBJECT = rb"(?m)^subject:[ \t]*[\"']?" + _ID + rb"[\"']?[ \t]*\r?$"
_ENTRY = rb"(?m)^[ \t]*<!--[ \t]*" + _ID + rb"[ \t]*-->[ \t]*\r?$"
_BEGIN = rb"<!--[ \t]*reflect-git:begin[^>\n]*-->"  # a plain list names its rules here
_IN_FRONT = rb"(?m)^id: [\"']?" + _ID
_LAST = rb'(?m)^learning: "' + _ID + rb'"$'
_FRONT = (b"---", b"\xef\xbb\xbf---")
_RECORDS = ("signals", "learnings", "decisions", "exposure", "tally")
_RULES = "/rules/reflect/"


def blob_mark(blob: str) -> str:
    """Return the mark for these bytes: they never come back, in any file."""
    return digest("blob", blob)[:_DIGITS]


def id_mark(identity: str) -> str:
    """Return the mark for a record: it never comes back, whatever its bytes."""
    return digest("id", identity)[:_DIGITS]


def about_mark(learning: str) -> str:
    """Return the mark for everything about a learning: decisions and entries in snapshots never come back."""
    return digest("about", learning)[:_DIGITS]


def file_mark(learning: str) -> str:
    """Return the mark for a learning's rules file: no snapshot of it comes back.

    The file name consists of words of the rule and of the end of the id.
    """
    return digest("file", learning.rpartition("-")[2])[:_DIGITS]


def place_mark(mirror: str) -> str:
    """Return the mark for the path of an emptied snapshot, on any machine: its folders reveal what was purged."""
    return digest("place", mirror.split("/", 2)[2])[:_DIGITS]


def marks_in(purge: object) -> list[str]:
    """List the marks in a parsed file of purges/; ignore anything invalid that a person put there."""
    listed = purge.get("purged") if isinstance(purge, dict) else None
    return [one for one in listed if _is_mark(one)] if isinstance(listed, list) else []


def _is_mark(text: object) -> bool:
    return isinstance(text, str) and len(text) == _DIGITS and _HEX.issuperset(text)


def is_gone(path: str, marks: Collection[str]) -> bool:
    """Return whether a path's name alone shows that it is a purged record, or the snapshot of a purged rules file."""
    folder, _, rest = path.partition("/")
    if folder == "aside":
        return id_mark(rest.partition("/")[0]) in marks
    if folder in _RECORDS:
        return id_mark(path.rpartition("/")[2].removesuffix(".yaml")) in marks
    return is_mirror(path) and is_gone_file(path, marks)


def is_gone_file(path: str, marks: Collection[str]) -> bool:
    """Return whether this is, or once was, the rules file of a purged learning, in any folder."""
    return _RULES in f"/{path}" and file_mark(path.rpartition("/")[2].removesuffix(".md")) in marks


def is_mirror(path: str) -> bool:
    """Return whether a path may ever have held a snapshot.

    `sync.names` accepts fewer paths; a purge also has to find files that a person put there.
    """
    return path.startswith("targets/") and path.count("/") > 1


def is_of_place(path: str, marks: Collection[str]) -> bool:
    return is_mirror(path) and place_mark(path) in marks


def is_spent(mirror: bytes, marks: Collection[str]) -> bool:
    """Return whether a snapshot has no entries and its header names a purged learning: the remains of a removal."""
    import re

    head, _, body = mirror.partition(b"\n\n")
    found = re.search(_LAST, head)
    return not body.strip() and found is not None and about_mark(found[1].decode("ascii")) in marks


def left_of(data: bytes, marks: Collection[str]) -> Optional[bytes]:
    """Return a decision or snapshot without purged entries; None for a decision about a purged learning."""
    import re

    if b"LRN-" not in data:
        return data
    if data.startswith(b"version: "):
        return _without_entries(data, marks)
    found = re.search(_SUBJECT, data)  # whatever else a hand made of it
    return None if found and about_mark(found[1].decode("ascii")) in marks else data


def has_entry(data: bytes, marks: Collection[str]) -> bool:
    """Return whether an instruction file contains an entry of a purged learning."""
    import re

    if b"LRN-" not in data:
        return False
    listed = [identity for marker in re.findall(_BEGIN, data) for identity in re.findall(_ID, marker)]
    found = [*re.findall(_ENTRY, data), *re.findall(_IN_FRONT, data), *listed]
    return any(about_mark(identity.decode("ascii")) in marks for identity in found)


def _without_entries(mirror: bytes, marks: Collection[str]) -> bytes:
    """Return a snapshot without purged entries. An entry extends to the next id; a rules file is one learning."""
    import re

    head, gap, body = mirror.partition(b"\n\n")
    if body.startswith(_FRONT):
        found = re.search(_IN_FRONT, body)
        return head + gap if found and about_mark(found[1].decode("ascii")) in marks else mirror
    entries = list(re.finditer(_ENTRY, body))
    starts = [entry.start() for entry in entries]
    parts = [body[start:end] for start, end in zip([0, *starts], [*starts, len(body)])]
    stays = [True, *(about_mark(entry[1].decode("ascii")) not in marks for entry in entries)]
    return head + gap + b"".join(part for part, is_kept in zip(parts, stays) if is_kept)
