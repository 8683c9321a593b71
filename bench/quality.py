"""How good the miner is: labelled messages, event windows and planted secrets, from a folder given as LABELLED=DIR.

The folder has `dev/*.jsonl`, `tools/to_transcript.py`, which makes a transcript of each item, and
`scorers/gen_secrets.py`, which plants random secrets. Nothing is measured without it: labelled people's words are not
ours to ship.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from bench.setting import Setting
from bench.table import Row, Table
from reflect_git.capture import service
from reflect_git.redact import find_secrets

Item = dict[str, Any]
CONFIDENT = 2
MIN_RATES = {
    "F1": 0.64, "recall": 0.72, "average precision": 0.66, "precision of the best tenth": 0.82,
    "precision of confident ones": 0.70, "recall of confident ones": 0.48, "F1 of lasting ones": 0.52,
    "recall of refusals": 0.95, "other languages: recall less that of English": -0.15,
    "events: F1": 0.70, "secrets: spans gone": 0.97,
}  # fmt: skip


def tables(setting: Setting) -> list[Table]:
    given = os.environ.get("LABELLED")
    if not given:
        return []
    folder = Path(given).resolve()
    found = {
        **measure_messages(setting, folder),
        **measure_languages(setting, folder),
        **measure_events(setting, folder),
        **measure_secrets(setting, folder),
    }
    floors = {name: f"at least {floor:g}" for name, floor in MIN_RATES.items()}
    rows = [Row(name, ratio=value, base=floors.get(name, "")) for name, value in found.items()]
    short = [name for name, floor in MIN_RATES.items() if found[name] < floor]
    wanted = ", ".join(f"{name} {floor:g}" for name, floor in MIN_RATES.items())
    notes = [f"wanted at least: {wanted}", f"short of it: {', '.join(short) or 'none'}"]
    return [Table("What the miner finds, on the labelled set for checking", rows, notes=notes)]


def measure_messages(setting: Setting, folder: Path) -> dict[str, float]:
    items = read_items(folder / "dev" / "messages_real.jsonl")
    found = mine_items(setting, folder, items, "messages_real", everything=True)
    scores = {name: max(map(_get_score, signals)) for name, signals in found.items()}
    best = {
        name: max(taken, key=_get_score)
        for name, signals in found.items()
        if (taken := list(filter(_is_captured, signals)))
    }
    ranked = sorted((item for item in items if item["id"] in scores), key=lambda item: -scores[item["id"]])
    tenth = ranked[: len(items) // 10]
    confident = {name for name, signal in best.items() if signal["confidence"] >= CONFIDENT}
    lasting = [item for item in items if item["durable"] or not item["signal"]]
    refused = [item for item in items if item["via"] == "tool_rejection"]
    precision, recall, f1 = compute_rates(items, best)
    sure = compute_rates(items, confident)
    return {
        "precision": precision,
        "recall": recall,
        "F1": f1,
        "average precision": compute_average_precision(items, ranked),
        "average precision of what is captured": compute_average_precision(
            items, [i for i in ranked if i["id"] in best]
        ),
        "precision of the best tenth": sum(item["signal"] for item in tenth) / max(1, len(tenth)),
        "precision of confident ones": sure[0],
        "recall of confident ones": sure[1],
        "F1 of lasting ones": compute_rates(lasting, best)[2],
        "recall of refusals": compute_rates(refused, best)[1],
    }


def measure_languages(setting: Setting, folder: Path) -> dict[str, float]:
    """Of messages that were written in many languages: hardly any real one in the set is not English."""
    items = read_items(folder / "dev" / "messages_synthetic.jsonl")
    found = mine_items(setting, folder, items, "messages_synthetic")
    english = compute_rates([item for item in items if item["lang"] == "en"], found)[1]
    other = compute_rates([item for item in items if item["lang"] != "en"], found)[1]
    return {"other languages: recall": other, "other languages: recall less that of English": other - english}


def measure_events(setting: Setting, folder: Path) -> dict[str, float]:
    items = read_items(folder / "dev" / "events.jsonl")
    precision, recall, f1 = compute_rates(items, mine_items(setting, folder, items, "events"))
    return {"events: precision": precision, "events: recall": recall, "events: F1": f1}


def measure_secrets(setting: Setting, folder: Path) -> dict[str, float]:
    out = setting.create_home("planted") / "secrets.jsonl"
    templates = folder / "dev" / "secrets_templates.jsonl"
    _run_script(folder / "scorers" / "gen_secrets.py", str(templates), str(out))
    gone = spans = touched = clean = 0
    for item in read_items(out):
        taken = [(start, end) for start, end, *_ in find_secrets(item["text"])]
        if item["label"] == "clean":
            clean += 1
            touched += bool(taken)
        for start, end, _ in item["spans"]:
            spans += 1
            gone += all(any(a <= at < b for a, b in taken) for at in range(start, end))
    out.unlink()
    return {"secrets: spans gone": gone / spans, "secrets: clean texts touched": touched / max(1, clean)}


def mine_items(
    setting: Setting, folder: Path, items: Sequence[Item], name: str, everything: bool = False
) -> dict[str, list[Item]]:
    """Item → the signals of its transcript; with `everything`, what would not be captured, too."""
    out = setting.create_home(name)
    _run_script(folder / "tools" / "to_transcript.py", str(out), str(folder / "dev" / f"{name}.jsonl"))
    found: dict[str, list[Item]] = {}
    for item in items:  # one at a time: items are no sessions of one person, whose requests could recur
        path = str(out / f"{item['id']}.jsonl")
        signals = [dict(signal) for _, signal in service.mine_transcripts([path], "/nowhere", everything)]
        if signals:
            found[item["id"]] = signals
    return found


def compute_rates(items: Sequence[Item], found: Iterable[str]) -> tuple[float, float, float]:
    """Precision, recall and F1 of having been captured."""
    taken = set(found)
    hits = sum(item["signal"] and item["id"] in taken for item in items)
    captured, wanted = sum(item["id"] in taken for item in items), sum(item["signal"] for item in items)
    precision, recall = hits / max(1, captured), hits / max(1, wanted)
    return precision, recall, 2 * precision * recall / max(1e-9, precision + recall)


def compute_average_precision(items: Sequence[Item], ranked: Sequence[Item]) -> float:
    """Best score first; what is not in the list counts as never found."""
    hits, total = 0, 0.0
    for place, item in enumerate(ranked, 1):
        if item["signal"]:
            hits += 1
            total += hits / place
    return total / max(1, sum(bool(item["signal"]) for item in items))


def read_items(path: Path) -> list[Item]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]


def _is_captured(signal: Item) -> bool:
    return signal["meta"].get("captured") is not False


def _get_score(signal: Item) -> float:
    return float(signal["meta"].get("score", 0.0))


def _run_script(script: Path, *words: str) -> None:
    subprocess.run([sys.executable, str(script), *words], check=True, stdout=subprocess.DEVNULL)
