"""A JSON document as text: one entry more or less, and every other byte where it was.

A parser that writes back what it read would lose the person's indentation, number forms and escapes; so the document is
only read to know where its entries begin and end, and the change is a splice of text.
"""

from __future__ import annotations

import json
from typing import Any

from reflect_git.model.tuples import NamedTuple

BLANK = " \t\n\r"
_UNIT = "  "  # what Claude Code itself writes


class Entry(NamedTuple):
    """A member of an object (`start` is that of its key) or an item of an array (`key` is empty)."""

    key: str
    start: int
    value: int
    end: int


def _refuse_constant(word: str) -> Any:
    raise ValueError(word)


_DECODER = json.JSONDecoder(parse_constant=_refuse_constant)


def parse(text: str) -> Any:
    """The document's value, or a ValueError that knows the line and the column (`json.JSONDecodeError`)."""
    try:
        return _DECODER.decode(text)
    except json.JSONDecodeError:
        raise
    except ValueError as error:
        raise json.JSONDecodeError(f"{error} is not JSON", text, max(0, text.find(str(error)))) from None


def root(text: str) -> int:
    """Where the document's value begins."""
    return _skip(text, 0)


def value_at(text: str, position: int) -> Any:
    return _DECODER.raw_decode(text, position)[0]


def line_and_column(text: str, position: int) -> tuple[int, int]:
    return text.count("\n", 0, position) + 1, position - text.rfind("\n", 0, position)


def entries(text: str, opening: int) -> list[Entry]:
    """The members or items of the object or array that opens there, in a text that `parse` took."""
    found: list[Entry] = []
    position = _skip(text, opening + 1)
    while text[position] not in "}]":
        start, key = position, ""
        if text[opening] == "{":
            key, position = _DECODER.raw_decode(text, position)
            position = _skip(text, _skip(text, position) + 1)
        end = _DECODER.raw_decode(text, position)[1]
        found.append(Entry(key, start, position, end))
        position = _skip(text, end)
        if text[position] == ",":
            position = _skip(text, position + 1)
    return found


def find(text: str, opening: int, key: str) -> int:
    """Where the value of a key begins, or -1. Of a key given twice the last one counts, as in every JSON reader."""
    return next((entry.value for entry in reversed(entries(text, opening)) if entry.key == key), -1)


def append(text: str, opening: int, value: Any, key: str = "") -> str:
    """One entry more at the end of an object or array, in the manner of the document."""
    there = entries(text, opening)
    newline, unit = _newline(text), _unit(text)
    if there:
        gap = _gap_before(text, there[-1].start)
        lead = "," + (gap if gap or len(there) > 1 else _space(text))
        base = _indent(text, there[-1].start)
        return _splice(text, there[-1].end, lead + _render(text, key, value, newline + base, unit))
    outer = newline + _indent(text, opening)
    if not _has_lines(text):
        return _splice(text, opening + 1, _render(text, key, value, newline, unit))
    return _splice(text, opening + 1, outer + unit + _render(text, key, value, outer + unit, unit) + outer)


def cut(text: str, opening: int, index: int) -> str:
    """One entry less; what `append` made goes with all it brought, whatever else the container holds by now."""
    there = entries(text, opening)
    entry = there[index]
    if index:
        return text[: there[index - 1].end] + text[entry.end :]
    if len(there) > 1:
        return text[: entry.start] + text[there[1].start :]
    lead, rest = text[opening + 1 : entry.start], text[entry.end :]
    outer = _newline(lead) + _indent(text, opening)
    if lead.startswith(("\n", "\r\n")) and rest.startswith(outer):
        rest = rest[len(outer) :]
    return text[: opening + 1] + rest


def _splice(text: str, position: int, added: str) -> str:
    return text[:position] + added + text[position:]


def _skip(text: str, position: int) -> int:
    while position < len(text) and text[position] in BLANK:
        position += 1
    return position


def _gap_before(text: str, position: int) -> str:
    """The white space that sets an entry apart from what stands before it; of several lines, the last."""
    start = position
    while text[start - 1] in BLANK:
        start -= 1
    gap = text[start:position]
    line = gap.rfind("\n")
    if line > 0:
        return gap[line - 1 :] if gap[line - 1] == "\r" else gap[line:]
    return gap


def _indent(text: str, position: int) -> str:
    """The white space that the line of a position begins with."""
    start = text.rfind("\n", 0, position) + 1
    end = start
    while text[end : end + 1] in (" ", "\t"):
        end += 1
    return text[start:end]


def _newline(text: str) -> str:
    line = text.find("\n")
    return "\r\n" if line > 0 and text[line - 1] == "\r" else "\n"


def _has_lines(text: str) -> bool:
    """Whether the document is written on several lines; an empty one is going to be."""
    return "\n" in text.strip(BLANK) or not entries(text, root(text))


def _unit(text: str) -> str:
    """One step of indentation: that of the first entry which stands on a line of its own."""
    opening = root(text)
    for entry in entries(text, opening):
        gap = _gap_before(text, entry.start)
        own = gap[gap.rfind("\n") + 1 :]
        if "\n" in gap and own.startswith(_indent(text, opening)) and own != _indent(text, opening):
            return own[len(_indent(text, opening)) :]
    return _UNIT


def _space(text: str) -> str:
    """What a document of one line puts behind its commas and colons."""
    opening = root(text)
    for entry in entries(text, opening):
        return " " if text[entry.value - 1] == " " else ""
    return " "


def _render(text: str, key: str, value: Any, newline: str, unit: str) -> str:
    if _has_lines(text):
        shown = json.dumps(value, ensure_ascii=False, indent=unit).replace("\n", newline)
        return f"{json.dumps(key, ensure_ascii=False)}: {shown}" if key else shown
    space = _space(text)
    shown = json.dumps(value, ensure_ascii=False, separators=("," + space, ":" + space))
    return f"{json.dumps(key, ensure_ascii=False)}:{space}{shown}" if key else shown
