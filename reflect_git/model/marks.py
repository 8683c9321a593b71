"""How a purge names what is gone without saying it, what is left of a file without it, and which mirrors go whole.

The child that rewrites history reads this, too, so it stands on the standard library.
"""

from __future__ import annotations

from reflect_git.model.ids import digest

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
    """These bytes never come back, wherever they lie."""
    return digest("blob", blob)[:_DIGITS]


def id_mark(identity: str) -> str:
    """This record never comes back, whatever its bytes."""
    return digest("id", identity)[:_DIGITS]


def about_mark(learning: str) -> str:
    """No decision about this learning comes back, and no entry of it in a mirror, whoever writes them."""
    return digest("about", learning)[:_DIGITS]


def file_mark(learning: str) -> str:
    """No mirror of its file of rules comes back: the name is made of the words, and of the end of the id."""
    return digest("file", learning.rpartition("-")[2])[:_DIGITS]


def place_mark(mirror: str) -> str:
    """No spent mirror comes back at this place, on whichever machine: its folders say what was purged."""
    return digest("place", mirror.split("/", 2)[2])[:_DIGITS]


def marks_in(purge: object) -> list[str]:
    """What a file of purges/ names, as it was read; where a hand made something else of it, what is left of that."""
    listed = purge.get("purged") if isinstance(purge, dict) else None
    return [one for one in listed if _is_mark(one)] if isinstance(listed, list) else []


def _is_mark(text: object) -> bool:
    return isinstance(text, str) and len(text) == _DIGITS and _HEX.issuperset(text)


def is_gone(path: str, marks: Collection[str]) -> bool:
    """Whether its very name tells that this record, or the mirror of this file of rules, is gone."""
    folder, _, rest = path.partition("/")
    if folder == "aside":
        return id_mark(rest.partition("/")[0]) in marks
    if folder in _RECORDS:
        return id_mark(path.rpartition("/")[2].removesuffix(".yaml")) in marks
    return is_mirror(path) and is_gone_file(path, marks)


def is_gone_file(path: str, marks: Collection[str]) -> bool:
    """Whether this is, or once was, the file of rules of a learning that is gone, wherever it lies."""
    return _RULES in f"/{path}" and file_mark(path.rpartition("/")[2].removesuffix(".md")) in marks


def is_mirror(path: str) -> bool:
    """Wherever a mirror may ever have lain. Which paths may come in is asked more narrowly, by `sync.names`: a purge
    has to find what a hand put there, too."""
    return path.startswith("targets/") and path.count("/") > 1


def is_of_place(path: str, marks: Collection[str]) -> bool:
    return is_mirror(path) and place_mark(path) in marks


def is_spent(mirror: bytes, marks: Collection[str]) -> bool:
    """No entry, and a head about what is gone: what is left where it was taken out."""
    import re

    head, _, body = mirror.partition(b"\n\n")
    found = re.search(_LAST, head)
    return not body.strip() and found is not None and about_mark(found[1].decode("ascii")) in marks


def left_of(data: bytes, marks: Collection[str]) -> Optional[bytes]:
    """What is left of a decision or a mirror; nothing of a decision about a learning that is gone."""
    import re

    if b"LRN-" not in data:
        return data
    if data.startswith(b"version: "):
        return _without_entries(data, marks)
    found = re.search(_SUBJECT, data)  # whatever else a hand made of it
    return None if found and about_mark(found[1].decode("ascii")) in marks else data


def has_entry(data: bytes, marks: Collection[str]) -> bool:
    """Whether an instruction file has an entry of a learning that is gone."""
    import re

    if b"LRN-" not in data:
        return False
    listed = [identity for marker in re.findall(_BEGIN, data) for identity in re.findall(_ID, marker)]
    found = [*re.findall(_ENTRY, data), *re.findall(_IN_FRONT, data), *listed]
    return any(about_mark(identity.decode("ascii")) in marks for identity in found)


def _without_entries(mirror: bytes, marks: Collection[str]) -> bytes:
    """An entry begins with its id and goes on to the next one; a file of rules is one learning."""
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
