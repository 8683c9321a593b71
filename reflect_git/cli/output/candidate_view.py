"""A candidate as a person sees it before answering: its text, its origin, and its conflicts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import click

from reflect_git.candidates.candidate import format_backtest, format_confidence
from reflect_git.candidates.describe import OWN_WORDS, TRUST_WORDS
from reflect_git.cli.context import display_width, format_age, printable, terminal_width
from reflect_git.cli.output.wrap import wrap_text

if TYPE_CHECKING:
    from reflect_git.candidates.gate import Finding
    from reflect_git.candidates.gather import Candidate
    from reflect_git.records.schema import Signal

_NAME_WIDTH = 12
_MAX_WIDTH, _MIN_WIDTH = 100, 40
_COLOURS = {"refused": "red", "risk": "red", "mended": "yellow", "note": None}


def text_width() -> int:
    return min(_MAX_WIDTH, max(_MIN_WIDTH, terminal_width()))


def wrap(text: str, room: int) -> list[str]:
    """Wrap a text at `room` cells. A longer word is cut in pieces, so that nothing is left out."""
    lines, line = [], ""
    for word in text.split():
        if line and display_width(f"{line} {word}") <= room:
            line = f"{line} {word}"
            continue
        lines += [line] if line else []
        *cut, line = _split_word(word, room)
        lines += cut
    return [*lines, line] if line else lines


def _split_word(word: str, room: int) -> list[str]:
    pieces = [""]
    for char in word:
        if display_width(pieces[-1] + char) > room:
            pieces.append("")
        pieces[-1] += char
    return pieces


def format_field(name: str, text: str, colour: str | None = None) -> Iterator[str]:
    """Yield a field's name and value, with the value's lines below one another."""
    lines = wrap(printable(text), text_width() - _NAME_WIDTH - 4) or [""]
    for at, line in enumerate(lines):
        yield click.style(f"  {'' if at else name:<{_NAME_WIDTH}}  {line}", fg=colour)


def format_way_out(out: str, colour: str | None) -> str:
    """Format a suggestion below a finding: keys, or a command that is never broken."""
    margin = _NAME_WIDTH + 4
    return click.style(wrap_text(f"{'':{margin}}→ {printable(out)}", text_width(), margin), fg=colour)


def format_text(text: str) -> Iterator[str]:
    for line in wrap(printable(text), text_width() - 8):
        yield click.style(f"    {line}", bold=True)


def format_brief(candidate: Candidate) -> str:
    """Return what a list shows of a proposed rule: a quote that needs wording is marked as one."""
    return f"(needs wording) {candidate.text}" if candidate.needs_wording else candidate.text


def format_facts(candidate: Candidate, findings: Iterable[Finding] = ()) -> Iterator[str]:
    """Yield the origin of a candidate and similar rules, except those that a finding names."""
    findings = list(findings)
    messages = "\n".join(found.message for found in findings)
    own = candidate.trust in OWN_WORDS
    yield from format_field("you said" if own else "it says", f'"{candidate.quote}"')
    yield from format_field("confidence", format_confidence(candidate))
    if not own and not any(found.code == "trust" for found in findings):
        yield from format_field("trust", TRUST_WORDS[candidate.trust], "red")
    if candidate.dismissed_before:
        yield from format_field("before", f"dismissed on {candidate.dismissed_before}")
    if candidate.backtest:
        yield from format_field("backtest", format_backtest(candidate.backtest))
    for name, entries in (("similar", candidate.similar), ("contradicts", candidate.conflicts_with)):
        for entry in entries:
            where = entry.get("id") or entry.get("where")
            if f"'{where}'" not in messages:
                yield from format_field(name, f"{where}: {entry['text']}")


def format_finding(found: Finding, way_out: str) -> Iterator[str]:
    colour = _COLOURS.get(found.kind)
    yield from format_field("changed" if found.kind == "mended" else found.kind, found.message, colour)
    if way_out:
        yield format_way_out(way_out, colour)


def format_signal(signal: Signal) -> Iterator[str]:
    session = f", session {signal['session_id'][:8]}" if signal["session_id"] else ""
    project = f", {signal['project']['name']}" if signal["project"] else ""
    yield printable(f"  {signal['id']}  {signal['type']}, {format_age(signal['timestamp'])} ago{session}{project}")
    for line in wrap(printable(signal["content"]), text_width() - 4):
        yield f"    {line}"
    if signal["context"] and signal["context"] != signal["content"]:
        yield from format_field("context", signal["context"])
    yield from format_field("trust", TRUST_WORDS[signal["trust"]])


def format_last_seen(candidate: Candidate) -> str:
    if candidate.sessions_ago is None:  # typed by hand
        return f"from {format_age(candidate.last_seen)} ago"
    return f"from {candidate.sessions_ago + 1} sessions ago" if candidate.sessions_ago else "from the last session"
