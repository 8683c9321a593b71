"""Purge marks: hashes that name purged records without quoting them. Remove purged content from files.

A snapshot is the store's copy of a target file. The process that rewrites history imports this module, so it uses only
the standard library.
"""

from __future__ import annotations

from reflect_git.records.ids import digest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable
    from typing import Optional

_MARK_LENGTH, _HEX = 32, frozenset("0123456789abcdef")  # of a mark
_ID = rb"(LRN-[0-9]{8}-[0-9a-z]+)"
_SUBJECT = rb"(?m)^subject:[ \t]*[\"']?" + _ID + rb"[\"']?[ \t]*\r?$"
_ENTRY = rb"(?m)^[ \t]*<!--[ \t]*" + _ID + rb"[ \t]*-->[ \t]*\r?$"
_BEGIN_MARKER = rb"<!--[ \t]*reflect-git:begin[^>\n]*-->"  # a plain list names its rules here
_FRONT_MATTER_ID = rb"(?m)^id: [\"']?" + _ID
_LAST_LEARNING = rb'(?m)^learning: "' + _ID + rb'"$'
_FRONT_MATTER = (b"---", b"\xef\xbb\xbf---")
_RECORD_FOLDERS = ("signals", "learnings", "decisions", "exposure", "evaluations", "tally", "digests")
_RULES_FOLDER = "/rules/reflect/"


def blob_mark(blob: str) -> str:
    """Return the mark for these bytes: they never come back, in any file."""
    return digest("blob", blob)[:_MARK_LENGTH]


def id_mark(record_id: str) -> str:
    """Return the mark for a record: it never comes back, whatever its bytes."""
    return digest("id", record_id)[:_MARK_LENGTH]


def learning_mark(learning: str) -> str:
    """Return the mark for everything about a learning: decisions and entries in snapshots never come back."""
    return digest("about", learning)[:_MARK_LENGTH]


def rules_file_mark(learning: str) -> str:
    """Return the mark for a learning's rules file: no snapshot of it comes back.

    The file name consists of words of the rule and of the end of the id.
    """
    return digest("file", learning.rpartition("-")[2])[:_MARK_LENGTH]


def snapshot_path_mark(mirror: str) -> str:
    """Return the mark for the path of an emptied snapshot, on any machine: its folders reveal what was purged."""
    return digest("place", mirror.split("/", 2)[2])[:_MARK_LENGTH]


def get_marks(purge: object) -> list[str]:
    """List the marks in a parsed file of purges/; ignore anything invalid that a person put there."""
    listed = purge.get("purged") if isinstance(purge, dict) else None
    return [one for one in listed if _is_mark(one)] if isinstance(listed, list) else []


def _is_mark(text: object) -> bool:
    return isinstance(text, str) and len(text) == _MARK_LENGTH and _HEX.issuperset(text)


def is_purged_path(path: str, marks: Collection[str]) -> bool:
    """Return whether a path's name alone shows that it is a purged record, or the snapshot of a purged rules file."""
    folder, _, rest = path.partition("/")
    if folder == "aside":
        return id_mark(rest.partition("/")[0]) in marks
    if folder in _RECORD_FOLDERS:
        return id_mark(path.rpartition("/")[2].removesuffix(".yaml")) in marks
    return is_target_snapshot(path) and is_purged_rules_file(path, marks)


def is_purged_rules_file(path: str, marks: Collection[str]) -> bool:
    """Return whether this is, or once was, the rules file of a purged learning, in any folder."""
    return _RULES_FOLDER in f"/{path}" and rules_file_mark(path.rpartition("/")[2].removesuffix(".md")) in marks


def is_target_snapshot(path: str) -> bool:
    """Return whether a path may ever have held a snapshot.

    `sync.names` accepts fewer paths; a purge also has to find files that a person put there.
    """
    return path.startswith("targets/") and path.count("/") > 1


def is_purged_snapshot_path(path: str, marks: Collection[str]) -> bool:
    return is_target_snapshot(path) and snapshot_path_mark(path) in marks


def is_emptied_snapshot(mirror: bytes, marks: Collection[str]) -> bool:
    """Return whether a snapshot has no entries and its header names a purged learning: the remains of a removal."""
    import re

    head, _, body = mirror.partition(b"\n\n")
    found = re.search(_LAST_LEARNING, head)
    return not body.strip() and found is not None and learning_mark(found[1].decode("ascii")) in marks


def remove_purged_entries(data: bytes, marks: Collection[str]) -> Optional[bytes]:
    """Return a decision or snapshot without purged entries; None for a decision about a purged learning."""
    import re

    if b"LRN-" not in data:
        return data
    if data.startswith(b"version: "):
        return _remove_snapshot_entries(data, marks)
    found = re.search(_SUBJECT, data)  # whatever else a hand made of it
    return None if found and learning_mark(found[1].decode("ascii")) in marks else data


def mentions_any(texts: Iterable[bytes], marks: Collection[str]) -> bool:
    """Return whether a text contains the id of a record that was purged, or whose decisions were."""
    import re

    seen: set[bytes] = set()
    for text in texts:
        seen.update(re.findall(rb"\b[A-Z]{3}-[0-9]{8}-[0-9a-z]+", text))
    ids = [one.decode("ascii") for one in seen]
    return any(id_mark(one) in marks or learning_mark(one) in marks for one in ids)


def has_purged_entry(data: bytes, marks: Collection[str]) -> bool:
    """Return whether an instruction file contains an entry of a purged learning."""
    import re

    if b"LRN-" not in data:
        return False
    listed = [identity for marker in re.findall(_BEGIN_MARKER, data) for identity in re.findall(_ID, marker)]
    found = [*re.findall(_ENTRY, data), *re.findall(_FRONT_MATTER_ID, data), *listed]
    return any(learning_mark(identity.decode("ascii")) in marks for identity in found)


def _remove_snapshot_entries(mirror: bytes, marks: Collection[str]) -> bytes:
    """Return a snapshot without purged entries. An entry extends to the next id; a rules file is one learning."""
    import re

    head, gap, body = mirror.partition(b"\n\n")
    if body.startswith(_FRONT_MATTER):
        found = re.search(_FRONT_MATTER_ID, body)
        return head + gap if found and learning_mark(found[1].decode("ascii")) in marks else mirror
    entries = list(re.finditer(_ENTRY, body))
    starts = [entry.start() for entry in entries]
    parts = [body[start:end] for start, end in zip([0, *starts], [*starts, len(body)])]
    stays = [True, *(learning_mark(entry[1].decode("ascii")) not in marks for entry in entries)]
    return head + gap + b"".join(part for part, is_kept in zip(parts, stays) if is_kept)
