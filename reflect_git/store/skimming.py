"""Signals as this program writes them, read in one look: a third of what it takes to parse, check and cut them.

A pattern proves that a file has the fields of a signal in their order, each right and in its canonical form, and tells
where they are. Whatever it does not know, however right it may be, goes the long way through `records`.
"""

from __future__ import annotations

import re

from reflect_git.adapters import records
from reflect_git.errors import ReflectError
from reflect_git.model import schema
from reflect_git.model.ids import ALPHABET
from reflect_git.store import rows
from reflect_git.store.layout import place_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

# Of the escapes those that JSON has a letter for. A text with others is rare, and none has a raw line end.
_TEXT = r'"[^"\\\n]*(?:\\["\\bfnrt][^"\\\n]*)*"'
_MAYBE_TEXT = f"(?:{_TEXT}|null)"
_TEXTS = rf"\[(?:{_TEXT}(?:, {_TEXT})*)?\]"
_COUNT = "(?:0|[1-9][0-9]{0,17})"
_MONTH, _DATE = "(?:0[1-9]|1[0-2])", "(?:0[1-9]|[12][0-9]|3[01])"
_TIME = rf'"[0-9]{{4}}-{_MONTH}-{_DATE}T(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](?:\.[0-9]{{1,9}})?Z"'


def _word_of(words: Iterable[str]) -> str:
    return f'"(?:{"|".join(words)})"'


# Fields that are not named here are texts. What `meta` holds is proved by `records`.
_VALUES = {
    "id": rf'"SIG-[0-9]{{4}}{_MONTH}{_DATE}-[{ALPHABET}]{{8}}"', "version": str(schema.VERSION),
    "timestamp": _TIME, "type": _word_of(schema.TYPES), "status": _word_of(schema.STATUSES), "confidence": _COUNT,
    "source": rf'\{{"hook": {_TEXT}, "turn": (?:{_COUNT}|null), "file": {_MAYBE_TEXT}, "entry": {_MAYBE_TEXT}\}}',
    "category": _word_of(schema.CATEGORIES), "tags": _TEXTS, "related": _TEXTS, "promoted_to": _MAYBE_TEXT,
    "meta": r"\{[^\n]*\}", "project": rf'(?:\{{"key": {_TEXT}, "name": {_TEXT}\}}|null)',
    "trust": _word_of(schema.TRUSTS), "stored": _TIME,
}  # fmt: skip
# As this program captures what a person typed: of these keys none is there twice, and such numbers are canonical.
_USUAL_META = r'\{"score": (?:[01]\.0|0\.[0-9]{0,3}[1-9]), "durable": (true|false)(?:, "via": "[a-z_-]+")?\}'
_FIELDS = schema.FIELDS["SIG"]
_ENOUGH = 4096
# The groups of the pattern, which count from one.
_META = _FIELDS.index("meta") + 1
_HEAD = [_FIELDS.index(name) + 1 for name in rows.HEAD]
_PIECES = [(form, [_FIELDS.index(name) + 1 for name in names]) for form, names in rows.forms(_FIELDS)]


class Skimmer:
    """What many signals share is read once and is one object, which marshal writes once."""

    def __init__(self) -> None:
        lines = [f"{name}: ({_VALUES.get(name, _TEXT)})\n" for name in _FIELDS]
        self._match = re.compile("".join(lines)).fullmatch
        self._match_meta = re.compile(_USUAL_META).fullmatch
        self._values: dict[str, Any] = {}  # by the JSON of a field

    def skim(self, shelf: rows.Shelf, items: Iterable[tuple[str, bytes]]) -> list[tuple[str, bytes]]:
        """Put every signal that can be read at a glance on the shelf; returns the others, paths with their bytes."""
        seen, others = [], []
        for path, data in items:
            row = self._row(path, data)
            if row:
                seen.append((path, *row))
            else:
                others.append((path, data))
        for column, values in zip((shelf.paths, *shelf.columns, *shelf.pieces), zip(*seen)):
            column.extend(values)
        return others

    def _row(self, path: str, data: bytes) -> tuple[Any, ...]:
        """The columns and pieces of a signal; nothing if there is more to it."""
        try:
            text = data.decode("utf-8")
            # What is not printable has escapes of more than one letter, or is raw where it should not be.
            match = self._match(text) if text.replace("\n", "").isprintable() else None
            if not match or len(data) > records.MAX_BYTES or place_of(match[1][1:-1]) != path:
                return ()
            known = self._values
            fields = [known[field] if field in known else self._value(field) for field in match.group(*_HEAD)]
            is_durable = self._is_durable(match[_META])
        except (UnicodeDecodeError, ReflectError):
            return ()
        return (*fields, is_durable, *[(form % match.group(*cut)).encode() for form, cut in _PIECES])

    def _value(self, text: str) -> Any:
        if len(self._values) >= _ENOUGH:  # signals that share a value lie close together: nothing is lost but memory
            self._values.clear()
        # Of a text the pattern has proved the rest.
        value = text[1:-1] if text[0] == '"' and "\\" not in text else records.read_value(text)
        self._values[text] = value
        return value

    def _is_durable(self, text: str) -> bool:
        usual = self._match_meta(text)
        return usual[1] == "true" if usual else bool(records.read_value(text).get("durable", True))
