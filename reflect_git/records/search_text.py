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
_MIN_LENGTH = 12  # of words that are looked for elsewhere: less than that is said in many places
# Of a record, a mirror or a purge: in a hash anything may be found, and nothing is said by it.
_RECORD_STARTS = ("id: ", "version: ")
_HASHES = re.compile(
    r'^(?:(?:key|sha256|text_sha256): "[0-9a-f]+"|purged: \["[0-9a-f]+"(?:, ?"[0-9a-f]+")*\])$', re.MULTILINE
)
_HIDDEN_HASH = re.compile("\0([0-9]+)\0")


class TextSearch:
    """Search for any of several regular expressions."""

    def __init__(self, patterns: Sequence[str]) -> None:
        self.patterns = list(patterns)
        self._compiled = [re.compile(pattern) for pattern in patterns]

    def matches_text(self, text: str) -> bool:
        return any(pattern.search(text) for pattern in self._compiled)

    def matches_bytes(self, data: bytes) -> bool:
        if not self._compiled:
            return False
        text = _hide_hashes(_decode(data), [])
        return self.matches_text(text) or any(self.matches_text(one) for one in _find_json_strings(text))

    def remove_matches(self, data: bytes) -> bytes:
        """Replace all matches by `[purged]`; replace the whole file if they cannot be cut out."""
        if not self.matches_bytes(data):
            return data
        hashes: list[str] = []
        text = _hide_hashes(_decode(data), hashes)
        for pattern in self._compiled:
            text = pattern.sub(PURGED, text)
        made = text.encode("utf-8", "surrogateescape")
        if self.matches_bytes(made):
            return f"{PURGED}\n".encode()
        if not hashes:  # then any number between zeros is the file's own
            return made
        return _HIDDEN_HASH.sub(lambda found: hashes[int(found[1])], text).encode("utf-8", "surrogateescape")

    def clean_person(self, name: bytes, email: bytes) -> tuple[bytes, bytes]:
        """Clean name and e-mail of a commit: each on its own, or both if only the combination matches."""
        parts = [self.remove_matches(part).strip() if part else part for part in (name, email)]
        if self.matches_bytes(b"%s <%s>" % (parts[0], parts[1])):
            parts = [PURGED.encode()] * 2
        return parts[0], parts[1]


def build_patterns(texts: Iterable[str]) -> list[str]:
    """Return patterns for texts that are long enough to be specific."""
    return [build_pattern(text) for text in sorted(set(texts)) if len(text.strip()) >= _MIN_LENGTH]


def get_free_texts(record: Mapping[str, Any]) -> Iterator[str]:
    """Yield the free texts of a record."""
    meta = record.get("meta")
    fields = meta.get("improvement") if isinstance(meta, dict) and str(record.get("id")).startswith("LRN-") else None
    more = fields.values() if isinstance(fields, dict) else ()
    for value in (*(record.get(name) for name in ("content", "context", "text")), *more):
        if isinstance(value, str):
            yield value


def build_pattern(text: str) -> str:
    """Return a pattern for a text, regardless of line breaks."""
    return r"\s+".join(map(re.escape, text.split()))


def _hide_hashes(text: str, hashes: list[str]) -> str:
    """Replace each hash in a file of ours by a number; append the hashes to `hashes`."""

    def hide(found: re.Match[str]) -> str:
        hashes.append(found[0])
        return f"\0{len(hashes) - 1}\0"

    return _HASHES.sub(hide, text) if text.startswith(_RECORD_STARTS) and "\0" not in text else text


def _decode(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")


def _find_json_strings(text: str) -> Iterator[str]:
    """Yield the strings of JSON in a text: the whole text, or the value on each line of a record."""
    if "\\" not in text:  # then what it says stands there as it is
        return
    for part in (text, *(line.partition(": ")[2] for line in text.splitlines())):
        if part[:1] in ('"', "[", "{"):
            try:
                yield from _iter_strings(json.loads(part))
            except (ValueError, RecursionError):
                continue


def _iter_strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for name, inner in value.items():
            yield name
            yield from _iter_strings(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _iter_strings(inner)
