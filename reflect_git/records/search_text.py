"""Search for a text to purge, however a file wraps it: plain, or escaped in JSON.

The child process that rewrites history loads this module, so it uses only the standard library.
"""

from __future__ import annotations

import json
import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from typing import Any

PURGED = "[purged]"
_SHORTEST = 12  # of words that are looked for elsewhere: less than that is said in many places
# Of a record, a mirror or a purge: in a hash anything may be found, and nothing is said by it.
_OURS = ("id: ", "version: ")
_HASHES = re.compile(
    r'^(?:(?:key|sha256|text_sha256): "[0-9a-f]+"|purged: \["[0-9a-f]+"(?:, ?"[0-9a-f]+")*\])$', re.MULTILINE
)
_HIDDEN = re.compile("\0([0-9]+)\0")


class Sought:
    """Search for any of several regular expressions."""

    def __init__(self, patterns: Sequence[str]) -> None:
        self.patterns = list(patterns)
        self._compiled = [re.compile(pattern) for pattern in patterns]

    def in_text(self, text: str) -> bool:
        return any(pattern.search(text) for pattern in self._compiled)

    def in_bytes(self, data: bytes) -> bool:
        if not self._compiled:
            return False
        text = _hidden(_decoded(data), [])
        return self.in_text(text) or any(self.in_text(one) for one in _strings_in(text))

    def cleaned(self, data: bytes) -> bytes:
        """Replace all matches by `[purged]`; replace the whole file if they cannot be cut out."""
        if not self.in_bytes(data):
            return data
        hashes: list[str] = []
        text = _hidden(_decoded(data), hashes)
        for pattern in self._compiled:
            text = pattern.sub(PURGED, text)
        made = text.encode("utf-8", "surrogateescape")
        if self.in_bytes(made):
            return f"{PURGED}\n".encode()
        if not hashes:  # then any number between zeros is the file's own
            return made
        return _HIDDEN.sub(lambda found: hashes[int(found[1])], text).encode("utf-8", "surrogateescape")

    def person(self, name: bytes, email: bytes) -> tuple[bytes, bytes]:
        """Clean name and e-mail of a commit: each on its own, or both if only the combination matches."""
        parts = [self.cleaned(part).strip() if part else part for part in (name, email)]
        if self.in_bytes(b"%s <%s>" % (parts[0], parts[1])):
            parts = [PURGED.encode()] * 2
        return parts[0], parts[1]


def patterns_for(texts: Iterable[str]) -> list[str]:
    """Return patterns for texts that are long enough to be specific."""
    return [literal(text) for text in sorted(set(texts)) if len(text.strip()) >= _SHORTEST]


def words_of(record: Mapping[str, Any]) -> Iterator[str]:
    """Yield the free texts of a record."""
    meta = record.get("meta")
    fields = meta.get("improvement") if isinstance(meta, dict) and str(record.get("id")).startswith("LRN-") else None
    more = fields.values() if isinstance(fields, dict) else ()
    for value in (*(record.get(name) for name in ("content", "context", "text")), *more):
        if isinstance(value, str):
            yield value


def literal(text: str) -> str:
    """Return a pattern for a text, regardless of line breaks."""
    return r"\s+".join(map(re.escape, text.split()))


def _hidden(text: str, hashes: list[str]) -> str:
    """Replace each hash in a file of ours by a number; append the hashes to `hashes`."""

    def hide(found: re.Match[str]) -> str:
        hashes.append(found[0])
        return f"\0{len(hashes) - 1}\0"

    return _HASHES.sub(hide, text) if text.startswith(_OURS) and "\0" not in text else text


def _decoded(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")


def _strings_in(text: str) -> Iterator[str]:
    """Yield the strings of JSON in a text: the whole text, or the value on each line of a record."""
    if "\\" not in text:  # then what it says stands there as it is
        return
    for part in (text, *(line.partition(": ")[2] for line in text.splitlines())):
        if part[:1] in ('"', "[", "{"):
            try:
                yield from _strings(json.loads(part))
            except (ValueError, RecursionError):
                continue


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for name, inner in value.items():
            yield name
            yield from _strings(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _strings(inner)
