"""What one message costs the scorer, and what loading its knowledge costs: in one process, on messages of our own."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median

from bench.setting import REPO, Setting
from bench.table import Row, Table
from reflect_git.capture import score

TRIES, LOADS = 7, 30
SLOW, SLOW_TRIES = (
    50,
    60,
)  # of 9,000 some are hit by something in each of seven tries
MESSAGE, LOADING = 0.001, 0.005
CONTEXT = {"assistant": "All done. I updated the module and the tests pass. Shall I commit?", "steps": 4}


def tables(setting: Setting) -> list[Table]:
    texts = load_messages()[:: 20 if setting.quick else 1]
    found = sorted((_get_fastest(text, TRIES), text) for text in texts)
    each = [*(seconds for seconds, _ in found[:-SLOW]), *(_get_fastest(text, SLOW_TRIES) for _, text in found[-SLOW:])]
    data = Path(score.KNOWLEDGE_DIR, "messages.bin").read_bytes()
    load = _time_calls(partial(score.parse_knowledge, data), LOADS)
    ceiling = None if setting.quick else 1.0
    rows = [
        _build_row("one message", (min(each), median(each)), median(each), MESSAGE, ceiling),
        _build_row("the slowest message", (max(each), max(each)), max(each), MESSAGE, ceiling),
        _build_row("loading the knowledge", (min(load), median(load)), median(load), LOADING, ceiling),
    ]
    note = (
        f"{len(texts):,} messages; the time of one is the least of {TRIES}, of the slowest {SLOW} of {SLOW_TRIES}, so "
        "that the machine's load hits none"
    )
    return [Table("Scoring a message, in one process", rows, notes=(note,))]


def _get_fastest(text: str, tries: int) -> float:
    return min(_time_calls(partial(score.score_message, text, "prompt", CONTEXT), tries))


def load_messages() -> list[str]:
    """What the scorer learnt from, as far as it is ours."""
    found = []
    for name in ("examples.tsv", "sessions.tsv"):
        lines = (REPO / "bench" / name).read_text(encoding="utf-8").splitlines()[1:]
        found += [line.split("\t")[-1].replace("\\n", "\n") for line in lines]
    return found


def _time_calls(call: Callable[[], object], count: int) -> list[float]:
    found = []
    for _ in range(count):
        started = time.perf_counter()
        call()
        found.append(time.perf_counter() - started)
    return found


def _build_row(name: str, figures: tuple[float, float], figure: float, allowed: float, ceiling: float | None) -> Row:
    return Row(name, figures, figure / allowed, f"{allowed * 1000:g} ms", ceiling)
