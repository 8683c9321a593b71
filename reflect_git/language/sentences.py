"""Split texts into sentences."""

from __future__ import annotations

import re

_READ_LIMIT, _MAX_LINES = 4000, 60
_SENTENCE_END = re.compile(r"(?<=[.!?…])(?<!\.\.\.)\s+(?=[\w`\"'(*@])|(?<=\.\.\.)\s+(?=[A-Z`])|(?<=[。！？])")
_ABBREVIATIONS = ("e.g.", "i.e.", "etc.", "vs.", "cf.", "z.b.", "bzw.", "ca.", "p. ej.", "ex.")
_PASTED_LINE = re.compile(
    r"\s{4,}[^\s\-*•\d]|\s*(?:[>|$%+]|@@|at |\[?\d\d:\d\d|\[?\d{4}-\d\d|Traceback|File \"|[{}\[\]<]|//|/\*"
    r"|\"[\w-]+\"\s*:)|.*[({=].*[;{}]\s*$"
)
_ASIDE_DASH = re.compile(
    r"\s+--\s+(?!(?:not|unless|except|only|instead|never|but not|without|if|when)\b)", re.IGNORECASE
)
_OPEN_LINE_END = re.compile(r"(?:,|\b(?:and|or|the|a|an|to|of|in|with|for|by|at|on|is|are|that))$", re.IGNORECASE)


def split_sentences(message: str) -> list[str]:
    """Return the sentences of a message, without pasted lines."""
    found = [
        part
        for line in _get_own_lines(message[:_READ_LIMIT])
        for sentence in split_line(line)
        for part in _split_asides(sentence)
    ]
    return [sentence for sentence in found if any(map(str.isalnum, sentence))]


def _split_asides(sentence: str) -> list[str]:
    """Split a long sentence where a dash begins another one."""
    return _ASIDE_DASH.split(sentence) if len(sentence) > 120 and sentence.count("`") % 2 == 0 else [sentence]


def _get_own_lines(message: str) -> list[str]:
    lines: list[str] = []
    fenced = False
    for line in message.splitlines()[:_MAX_LINES]:
        if line.lstrip().startswith(("```", "~~~")):
            fenced = not fenced
        elif not fenced and not _PASTED_LINE.match(line):
            if lines and _OPEN_LINE_END.search(lines[-1]):
                lines[-1] = f"{lines[-1]} {line.strip()}"
            else:
                lines.append(line.strip())
    return lines


def split_line(line: str) -> list[str]:
    """Split a line into sentences; abbreviations such as `e.g.` and text in backticks or quotes do not end one."""
    found: list[str] = []
    rest = ""
    for part in _SENTENCE_END.split(line):
        if found and part[:4].lower() in ("e.g.", "i.e."):
            rest = found.pop()
        rest = f"{rest} {part}".strip() if rest else part.strip()
        is_open = rest.count("`") % 2 or rest.count('"') % 2 or re.fullmatch(r"[-*• ]*\d{1,2}\.", rest)
        if rest.lower().endswith(_ABBREVIATIONS) or is_open:
            continue
        found += [rest] if rest else []
        rest = ""
    return [*found, rest] if rest else found
