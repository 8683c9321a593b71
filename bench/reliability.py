"""What the deep runs and those with the real client did: they leave figures in a folder, here they are added up.

`make bench-all` runs them first. Nothing is told of a run that left no figures.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterator
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
    found = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(folder.glob("*.json"))]
    whole = [one for one in found if "seconds" in one]  # of the process that the others work for
    if len(whole) != 1:
        return
    counts: Counter[str] = Counter()
    for one in found:
        counts.update(one["counts"])
    rows = [Row(what, ratio=number) for what, number in sorted(counts.items())]
    rows += [Row(f"tests {name}", ratio=whole[0][name], ceiling=0 if name == "failed" else None) for name in _OUTCOMES]
    yield Table(title, rows, ("", ""), [_when(whole[0])])


def _when(facts: dict[str, Any]) -> str:
    return f"ended {facts['ended']}, after {facts['seconds']:,} s"
