"""A file without our marks: what was learned stays in it as plain text."""

from __future__ import annotations

import re
from collections.abc import Collection

from reflect_git.adapters import markdown
from reflect_git.apply import finding, improvements, listing, rulesfile
from reflect_git.apply import page as pages
from reflect_git.apply.page import Page

_ID_LINE = re.compile(r"\s*id\s*:\s*[\"']?LRN-[0-9]{8}-[0-9a-z]+[\"']?\s*")


def unmark(form: str, data: bytes, ours: Collection[str]) -> bytes:
    """Only learnings of `ours` lose their ids: entries of colleagues are marked by their tools, and stay so."""
    if form == "rules":
        rule = rulesfile.parse(data)
        return _without_front(data) if rule and rule.id in ours else data
    page = pages.read(data)
    if form == "improvements":
        starts = [entry.start for entry in improvements.find(data) if entry.id in ours]
        return _without(page, starts).data
    block = finding.locate(page)
    if block is None:
        return data
    listed = {rule.id for rule in block.listed}
    starts = [entry.start for entry in block.entries if entry.id in ours and entry.id not in listed]
    if block.pair and all(entry.id in ours for entry in block.entries):
        starts += block.pair
    elif listed:
        rules = [rule for rule in block.listed if rule.id not in ours]
        first, last = block.header
        page = page.splice(first, last, listing.render(block.notes, rules) + page.newline_at(first))
    return _without(page, starts).data


def _without(page: Page, marks: Collection[int]) -> Page:
    """Each mark goes with the blank line below it; the last one of a file with the one above it."""
    for line in sorted(marks, reverse=True):
        below = line + 1 < len(page.lines)
        end = line + 2 if below and page.is_bare(line + 1) else line + 1
        start = line - 1 if not below and page.is_bare(line - 1) else line
        page = page.splice(start, end, "")
    return page


def _without_front(data: bytes) -> bytes:
    page = pages.read(data)
    end = markdown.front_matter(list(page.lines))
    kept = [line for line in page.lines[1 : end - 1] if not _ID_LINE.fullmatch(line.rstrip("\r\n"))]
    if any(line.strip() for line in kept):
        return page.splice(1, end - 1, "".join(kept)).data
    return page.splice(0, page.next_text(end), "").data
