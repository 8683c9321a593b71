"""What the long runs and those with the real client did: each leaves figures in a folder, here they are added up.

`make bench-all` runs them first. Nothing is told of a run that left no figures: what is written of it stays.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bench.setting import REPO, Setting
from bench.table import Row, Table

RUNS = {
    "deep": "Deep runs (`make deep`)",
    "histories": "Sync between machines (`make histories`)",
    "kills": "Kills while a user works in the store (`make kills`)",
    "e2e": "The real client (`make e2e`)",
}
_OUTCOMES = ("passed", "failed", "skipped")


def tables(name: str, setting: Setting) -> list[Table]:
    """Of one of the runs; it may have been made in parts, each in a folder of its own below."""
    folder = Path(os.environ.get("RELIABILITY") or REPO / ".reliability") / name
    found = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(folder.rglob("*.json"))]
    parts = [one for one in found if "seconds" in one]  # of the processes that the others work for
    if not parts:
        return []
    counts: Counter[str] = Counter()
    for one in found:
        counts.update(one["counts"])
    rows = [Row(what, ratio=number) for what, number in sorted(counts.items())]
    for outcome in _OUTCOMES:
        number = sum(part[outcome] for part in parts)
        rows.append(Row(f"tests {outcome}", ratio=number, ceiling=0 if outcome == "failed" else None))
    return [Table(RUNS[name], rows, ("", ""), [_format_dates(parts)])]


def _format_dates(parts: Sequence[dict[str, Any]]) -> str:
    seconds = sum(part["seconds"] for part in parts)
    return f"ended {max(part['ended'] for part in parts)}, after {seconds:,} s"
