"""What is proposed for labelled messages that last, beside the line that a reader wrote for them.

`python -m bench.wording_quality DIR FILE…` prints one line of JSON per message for a person to rate: `n`, `id`,
`message`, `proposed`, `gold`. The texts go through the miner and are worded as they would be for a sitting; nothing is
kept: labelled people's words are not ours to ship. Who rates does not know who worded it, and writes one line of JSON
per message: `n`, `acceptable` (without an edit) and `inverted`. With `RATED=FILE:FILE` the verdicts of each reader
become a table.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from bench.quality import read_items
from bench.setting import Setting
from bench.table import Row, Table
from reflect_git.capture import service
from reflect_git.language.wording import Wording, choose_wording

Item = dict[str, Any]


def tables(_setting: Setting) -> list[Table]:
    given = os.environ.get("RATED")
    if not given:
        return []
    readers = [read_items(Path(name)) for name in given.split(os.pathsep)]
    rows = [row for number, verdicts in enumerate(readers, 1) for row in rate_wordings(f"reader {number}", verdicts)]
    return [Table("Proposed texts for labelled messages that last, rated by blind readers", rows)]


def rate_wordings(reader: str, verdicts: Sequence[Item]) -> list[Row]:
    acceptable, inverted = (sum(bool(one[name]) for one in verdicts) for name in ("acceptable", "inverted"))
    return [
        Row(f"{reader}: texts rated", ratio=len(verdicts)),
        Row(f"{reader}: acceptable without an edit", ratio=acceptable / max(1, len(verdicts))),
        Row(f"{reader}: saying the opposite", ratio=inverted, ceiling=0),
    ]


def load_pairs(folder: Path, names: Sequence[str]) -> Iterator[Item]:
    with tempfile.TemporaryDirectory(prefix="reflect-git-bench-") as made:
        files = [folder / name for name in names]
        script = folder / "tools" / "to_transcript.py"
        subprocess.run([sys.executable, script, made, *files], check=True, stdout=subprocess.DEVNULL)
        lasting = [item for file in files for item in read_items(file) if item["durable"] and item["learning"]]
        for n, item in enumerate(lasting, 1):
            found = propose_wording(Path(made) / f"{item['id']}.jsonl")
            yield {
                "n": n, "id": item["id"], "message": item["text"], "proposed": found and found.text,
                "needs_wording": found.why if found else "not captured", "gold": item["learning"],
            }  # fmt: skip


def propose_wording(transcript: Path) -> Wording | None:
    """What a sitting would propose for a message, also for one that would not be captured."""
    signals = [signal for _, signal in service.mine_transcripts([str(transcript)], "/nowhere", everything=True)]
    said = [signal for signal in signals if signal["meta"].get("via")]
    return choose_wording([max(said, key=lambda signal: signal["meta"]["score"])]) if said else None


if __name__ == "__main__":
    for pair in load_pairs(Path(sys.argv[1]), sys.argv[2:] or ["dev/messages_real.jsonl"]):
        print(json.dumps(pair, ensure_ascii=False))
