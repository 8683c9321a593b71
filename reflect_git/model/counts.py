"""How many there are of something, in words."""

from __future__ import annotations


def plural(count: int, noun: str, several: str = "") -> str:
    """`1 signal`, `2 signals`; `several` is the noun of more than one where an s is not all."""
    return f"{count} {noun if count == 1 else several or f'{noun}s'}"


def signals_said(signals: int, summaries: int) -> str:
    """`3 signals, 1 session summary`: a summary is there to be read, and no review asks about it."""
    apart = f", {plural(summaries, 'session summary', 'session summaries')}" if summaries else ""
    return plural(signals, "signal") + apart
