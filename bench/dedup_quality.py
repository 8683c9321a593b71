"""How well texts are told apart: labelled pairs, from a folder given as LABELLED=DIR.

Nothing is measured without the folder. `python -m bench.dedup_quality DIR [PAIRS]` prints one line of JSON per pair, as
the scorer beside the pairs reads it.
"""

from __future__ import annotations

import json
import os
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bench.quality import read_items
from bench.setting import Setting
from bench.table import Row, Table
from reflect_git.language.similarity import find_relation

Item = dict[str, Any]
MERGED_CONTRADICTIONS = "contradictions merged"
FOUND_PARAPHRASES = "paraphrases merged or shown as similar"
MIN_RATES = {
    "precision of merges": 0.95,
    FOUND_PARAPHRASES: 0.6,
    "contradictions: precision": 0.6,
    "contradictions: recall": 0.5,
}


def tables(setting: Setting) -> list[Table]:
    given = os.environ.get("LABELLED")
    if not given:
        return []
    found = compute_rates(read_items(Path(given) / "dev" / "dedup.jsonl"))
    floors = {name: f"at least {floor:g}" for name, floor in MIN_RATES.items()}
    rows = [
        Row(name, ratio=value, base=floors.get(name, ""), ceiling=0 if name == MERGED_CONTRADICTIONS else None)
        for name, value in found.items()
    ]
    short = [name for name, floor in MIN_RATES.items() if found[name] < floor]
    notes = [f"short of it: {', '.join(short) or 'none'}"]
    return [Table("What review merges and what it shows as a contradiction", rows, notes=notes)]


def classify_pair(item: Item) -> str:
    """Similar ones are shown, not merged: for the scorer they are different."""
    found = find_relation(item["a"], item["b"])
    return "different" if found == "similar" else found


def compute_rates(items: Sequence[Item]) -> dict[str, float]:
    pairs = Counter((item["label"], classify_pair(item)) for item in items)
    merged = sum(count for (_, found), count in pairs.items() if found == "same")
    flagged = sum(count for (_, found), count in pairs.items() if found == "contradicts")
    beside = Counter(item["label"] for item in items if find_relation(item["a"], item["b"]) == "similar")
    labels = Counter(item["label"] for item in items)
    return {
        MERGED_CONTRADICTIONS: pairs["contradicts", "same"],
        "merges": merged,
        "precision of merges": pairs["same", "same"] / max(1, merged),
        FOUND_PARAPHRASES: (pairs["same", "same"] + beside["same"]) / max(1, labels["same"]),
        "unrelated pairs shown as similar": beside["different"] / max(1, labels["different"]),
        "contradictions shown as similar": beside["contradicts"] / max(1, labels["contradicts"]),
        "contradictions: precision": pairs["contradicts", "contradicts"] / max(1, flagged),
        "contradictions: recall": pairs["contradicts", "contradicts"] / max(1, labels["contradicts"]),
    }


if __name__ == "__main__":
    for pair in read_items(Path(sys.argv[1]) / (sys.argv[2] if len(sys.argv) > 2 else "dev/dedup.jsonl")):
        print(json.dumps({"id": pair["id"], "label": classify_pair(pair)}))
