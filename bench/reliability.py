"""What the deep runs and those with the real client did: they leave figures in a folder, here they are added up.

`make bench-all` runs them first. Nothing is told of a run that left no figures.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from bench.setting import REPO, Setting
from bench.table import Row, Table

RUNS = {"deep": "Deep runs (`make deep`)", "e2e": "The real client (`make e2e`)"}
_OUTCOMES = ("passed", "failed", "skipped")


def tables(setting: Setting) -> list[Table]:
    folder = Path(os.environ.get("RELIABILITY") or REPO / ".reliability")
    return [table for name, title in RUNS.items() for table in _run(folder / name, title)]


def _run(folder: Path, title: str) -> Iterator[Table]:
    """A run may have been made in parts, each in a folder of its own below."""
    found = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(folder.rglob("*.json"))]
    parts = [one for one in found if "seconds" in one]  # of the processes that the others work for
    if not parts:
        return
    counts: Counter[str] = Counter()
    for one in found:
        counts.update(one["counts"])
    rows = [Row(what, ratio=number) for what, number in sorted(counts.items())]
    for name in _OUTCOMES:
        number = sum(part[name] for part in parts)
        rows.append(Row(f"tests {name}", ratio=number, ceiling=0 if name == "failed" else None))
    yield Table(title, rows, ("", ""), [_when(parts)])


def _when(parts: Sequence[dict[str, Any]]) -> str:
    seconds = sum(part["seconds"] for part in parts)
    return f"ended {max(part['ended'] for part in parts)}, after {seconds:,} s"
