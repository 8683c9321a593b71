"""Counters of what the deep runs did.

If RELIABILITY names a folder, each process writes its figures there; `bench/run.py --write` adds them up.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from pathlib import Path
from typing import Any

_counts: Counter[str] = Counter()


def count(what: str, number: int = 1) -> None:
    _counts[what] += number


def write_counts(folder: Path, facts: dict[str, Any]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{os.getpid()}.json").write_text(json.dumps({**facts, "counts": _counts}), encoding="utf-8")
