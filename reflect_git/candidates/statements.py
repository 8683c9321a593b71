"""Split instruction files into statements: bullets, sentences and our own entries, each with its line number."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from reflect_git.language.meaning import Sense, parse_sense
from reflect_git.language.parse import compute_key
from reflect_git.language.sentences import split_line

_FENCE = re.compile(r"\s{0,3}(`{3,}|~{3,})")
_HEADING = re.compile(r"\s{0,3}#{1,6}\s+(.*?)\s*#*$")
_BULLET = re.compile(r"\s*(?:[-*+]|\d{1,3}[.)])\s+(?:\[[ xX]\]\s+)?(.*)$")
_ENTRY_ID = re.compile(r"\s*<!--\s*(LRN-[0-9a-z-]+)\s*-->\s*$", re.IGNORECASE)
_FRONT_MATTER_ID = re.compile(r"id:\s*[\"']?(LRN-[0-9a-z-]+)[\"']?\s*$", re.IGNORECASE)
_INDEX_ID = re.compile(r"^\[(LRN-[0-9a-z-]+)\]\s*", re.IGNORECASE)
# The format of improvements.md entries, whether written by hand or by reflect-git: `### [2026-01-31] Title`, `-
# **Suggested action**: …`.
_DATED_TITLE = re.compile(r"^\[\d{4}-\d\d-\d\d\]\s+(.+)$")
_FIELD = re.compile(r"^\*\*([\w ]+?):?\*\*:?\s*")
_STATEMENT_FIELDS = ("details", "suggested action", "action", "problem", "what", "proposal")
_MEMORY_FOLDER = re.compile(r"/projects/[^/]+/memory/")
_MAX_LENGTH = 1 << 20


@dataclass(frozen=True)
class Statement:
    """One statement in a file.

    `learning` is the id if the statement is one of our entries. `heading` is the heading above it. `hint` says what to
    do instead of adding it again, where that is not obvious.
    """

    file: str
    line: int
    text: str
    learning: str | None = None
    heading: str = ""
    hint: str = ""

    @cached_property
    def sense(self) -> Sense | None:
        return parse_sense(self.text)

    @cached_property
    def key(self) -> str:
        return compute_key(self.text)


@dataclass
class _Block:
    """The lines of one bullet or paragraph."""

    line: int
    parts: list[str]
    learning: str | None = None


def is_note(said: Statement) -> bool:
    """Return whether Claude Code wrote this statement itself, in a project's memory folder."""
    return "/memory/" in said.file and _MEMORY_FOLDER.search(said.file) is not None


def map_sources(signals: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """Map each imported file to the text imported from it, reasons included."""
    found: dict[str, str] = {}
    for signal in signals:
        if signal["trust"] == "imported" and signal["source"].get("file"):
            words = f"{signal['content']}\n{signal['context']}"
            found[signal["source"]["file"]] = _to_one_line(f"{found.get(signal['source']['file'], '')}\n{words}")
    return found


def is_source(said: Statement, sources: Mapping[str, str]) -> bool:
    """Return whether a statement was imported from this file.

    A line in the memory index that links to an imported file counts too: it is a short form of the same text.
    """
    if said.file in sources:
        return _to_one_line(said.text) in sources[said.file]
    return is_note(said) and any(f"]({file.rpartition('/')[2]})" in said.text for file in sources)


def _to_one_line(text: str) -> str:
    return " ".join(text.split())


def parse_statements(file: str, text: str, owners: Mapping[int, str] | None = None) -> list[Statement]:
    """Return the statements in a file: each bullet or paragraph, plus its sentences if it has several.

    Code, comments, front matter and tables are skipped. A file that holds one learning has its id in the front matter.
    `owners` maps line numbers to learnings, for files that contain our managed list.
    """
    found: list[Statement] = []
    heading = ""
    lines = _without_comments(_keep_ids(text[:_MAX_LENGTH])).splitlines()
    owner = next((line[1] for line in map(_FRONT_MATTER_ID.match, get_front_matter(lines)) if line), None)
    for block in _group_blocks(lines):
        head = _HEADING.match(block.parts[0])
        if head:
            heading = head[1]
            dated = _DATED_TITLE.match(heading)  # the title of an improvements.md entry is a statement too
            found += [Statement(file, block.line, dated[1], owner, heading)] if dated and _has_words(dated[1]) else []
            continue
        whole = " ".join(part.strip() for part in block.parts)
        indexed = _INDEX_ID.match(whole)
        if indexed:
            block.learning, whole = indexed[1], whole[indexed.end() :]
        labelled = _FIELD.match(whole) if _DATED_TITLE.match(heading) else None
        if labelled and labelled[1].lower() not in _STATEMENT_FIELDS:
            continue
        whole = whole[labelled.end() :] if labelled else whole
        sentences = split_line(whole)
        said = [whole, *sentences] if len(sentences) > 1 else [whole]
        learning = block.learning or (owners or {}).get(block.line) or owner
        found += [Statement(file, block.line, one, learning, heading) for one in said if _has_words(one)]
    return found


def _keep_ids(text: str) -> str:
    """Replace the comments that hold our ids with markers, so that they survive the removal of comments."""
    lines = text.replace("\r\n", "\n").lstrip("\ufeff").split("\n")
    return "\n".join(f"\x00{entry[1]}" if (entry := _ENTRY_ID.match(line)) else line for line in lines)


def _without_comments(text: str) -> str:
    """Blank out HTML comments but keep their line breaks.

    A regular expression would rescan to the end of the text for each of a million unclosed openings.
    """
    parts = []
    at = 0
    while (start := text.find("<!--", at)) >= 0 and (end := text.find("-->", start + 4)) >= 0:
        parts += [text[at:start], "\n" * text.count("\n", start, end)]
        at = end + 3
    return "".join([*parts, text[at:]])


def _group_blocks(lines: list[str]) -> Iterator[_Block]:
    """Group prose lines into bullets, paragraphs and headings."""
    open_block: _Block | None = None
    entry: str | None = None
    for number, line in _list_prose(lines):
        if line.startswith("\x00"):
            yield from [open_block] if open_block else []
            open_block, entry = None, line[1:]
            continue
        bullet = _BULLET.match(line)
        if bullet or not line.strip() or _HEADING.match(line):
            yield from [open_block] if open_block else []
            open_block = None
        if bullet or (line.strip() and open_block is None):
            open_block = _Block(number, [bullet[1] if bullet else line], entry)
            entry = None
        elif open_block is not None:
            open_block.parts.append(line)
        if _HEADING.match(line) and open_block:
            yield open_block
            open_block = None
    yield from [open_block] if open_block else []


def _list_prose(lines: list[str]) -> Iterator[tuple[int, str]]:
    """Yield the numbered lines outside code and front matter; a code fence yields an empty line, which ends a block."""
    fence = ""
    start = len(get_front_matter(lines)) + 1
    for number, line in enumerate(lines[start - 1 :], start):
        mark = _FENCE.match(line)
        if mark and (not fence or mark[1].startswith(fence)):
            fence = "" if fence else mark[1]
            yield number, ""
        elif not fence and not line.lstrip().startswith(("|", ">")):
            yield number, line


def get_front_matter(lines: list[str]) -> list[str]:
    """Return the front matter including its `---` lines; empty if the first `---` is never closed."""
    marks = [number for number, line in enumerate(lines[:200]) if line.strip() == "---"]
    return lines[: marks[1] + 1] if len(marks) > 1 and marks[0] == 0 else []


def _has_words(text: str) -> bool:
    """Return whether a text has at least two letters or digits."""
    return sum(map(str.isalnum, text)) > 1
