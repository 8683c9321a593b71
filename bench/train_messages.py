"""Learn the weights of `reflect_git/capture/score.py` from labelled messages and write them as a knowledge file.

    python bench/train_messages.py TRAIN.jsonl --check DEV.jsonl [MORE.jsonl ...] [--out reflect_git/knowledge]

For developers: it needs numpy, scipy and scikit-learn, which the package does not. The same input gives the same bytes.
Limits are set on messages that the model did not learn from; the files of `--check` decide nothing.
"""

# mypy: disable-error-code="import-untyped,import-not-found"
from __future__ import annotations

import argparse
import json
import struct
import sys
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sparse
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score
from sklearn.model_selection import StratifiedKFold

REPO = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(REPO))

from reflect_git.capture import score as scorer  # noqa: E402
from reflect_git.capture.features import KINDS, NAMES, Seen  # noqa: E402

VIAS = {"tool_rejection": "feedback", "queue": "queued"}
# How much each part of what is seen may say before the penalty holds it back.
FREEDOM = {"facts": 0.3, "pairs": 4.0, "words": 3.0, "letters": 3.0}
# Types have few examples: with the freedom above they would be learnt by heart.
FREEDOM_OF_TYPES = {"facts": 1.0, "words": 2.0}
STRENGTH, STRENGTH_OF_TYPES = 0.4, 1.0
LOW, OWN = 0.6, 0.5
SEEDS = (0, 1, 2)
FOLDS = 5
ADDED = {"queued": 0.2, "after_failure": 0.2, "rule": 0.8}
# Facts that labelled transcripts never or hardly show; `score.untaught` adds what is known of them.
UNTAUGHT = ("queued", "args", "failure")


class Message(NamedTuple):
    seen: Seen
    via: str
    signal: bool
    durable: bool
    type: str
    language: str
    weight: float
    group: str


def read_phrases(folder: Path) -> dict[str, int]:
    phrases: dict[str, int] = {}
    for file in sorted(folder.glob("*.json")):
        for kind, listed in json.loads(file.read_text(encoding="utf-8")).items():
            for phrase in listed:
                phrases[phrase.lower()] = phrases.get(phrase.lower(), 0) | 1 << KINDS.index(kind)
    return phrases


def context_of(row: dict[str, Any]) -> dict[str, Any]:
    """What the reader of a transcript with these rows knows when the message comes."""
    calls = [step for step in row["prev_tools"] if not step.startswith("[INTERRUPTED")]
    return {
        "first": not row["prev_tools"] and not row["prev_assistant"],
        "after_interrupt": bool(row["prev_tools"]) and row["prev_tools"][-1].startswith("[INTERRUPTED"),
        "steps": len(calls),
        "assistant": row["prev_assistant"],
    }


def read_labelled(path: Path, phrases: dict[str, int]) -> list[Message]:
    messages = []
    for line in path.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        via = VIAS.get(row["via"], "prompt")
        seen = Seen(row["text"], via, context_of(row), phrases)
        weight = LOW if row["confidence"] == "low" else 1.0
        labels = bool(row["signal"]), bool(row["durable"]), row["type"], row.get("lang", "en")
        messages.append(Message(seen, via, *labels, weight, row["repo"] or ""))
    return messages


def read_own(path: Path, phrases: dict[str, int]) -> list[Message]:
    """Messages written for this purpose, half of them after some work of the assistant."""
    messages = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines()[1:]):
        language, kind, durable, text = line.split("\t")
        context = {"assistant": "I made the change.", "steps": 3 * (number % 2)}
        seen = Seen(text, "prompt", context, phrases)
        messages.append(Message(seen, "prompt", kind != "none", durable == "+", kind, language, OWN, "own"))
    return messages


def freedom(head: str, part: str) -> float:
    return (FREEDOM_OF_TYPES if head in scorer.TYPES else FREEDOM)[part]


def matrix(messages: list[Message], head: str = "signal") -> Any:
    blocks = []
    for part, size in scorer.parts_of(head):
        rows = [getattr(message.seen, part) for message in messages]
        counts = np.array([len(row) for row in rows])
        roots = np.ones(len(rows)) if part == "facts" else np.sqrt(np.maximum(counts, 1))
        values = np.repeat(freedom(head, part) / roots, counts)
        places = np.concatenate([np.array(row, dtype=int) for row in rows])
        blocks.append(sparse.csr_matrix((values, (np.repeat(np.arange(len(rows)), counts), places)), (len(rows), size)))
    found = sparse.hstack(blocks).tolil()
    for name in UNTAUGHT:
        found[:, NAMES.index(name)] = 0
    return found.tocsr()


def fit(rows: Any, target: Any, weight: Any, strength: float = STRENGTH) -> Any:
    return LogisticRegression(C=strength, solver="liblinear", max_iter=1000).fit(rows, target, weight)


class Data:
    """Labelled messages first, our own after them; only the former are measured."""

    def __init__(self, labelled: list[Message], own: list[Message]) -> None:
        self.messages = labelled + own
        self.count = len(labelled)
        self.rows = matrix(self.messages)
        self.weight = np.array([message.weight for message in self.messages])
        self.signal = np.array([message.signal for message in self.messages])
        self.durable = np.array([message.signal and message.durable for message in self.messages])
        self.own = np.arange(self.count, len(self.messages))
        # A signal of the moment is no example of a lasting one, and hardly one of the opposite.
        self.lasting_weight = np.where(self.signal & ~self.durable, 0.5 * self.weight, self.weight)

    def heights(self, folds: Any, target: Any, weight: Any) -> Any:
        """Log odds from models that did not see the message."""
        heights = np.zeros(self.count)
        for taught, asked in folds:
            taught = np.concatenate([taught, self.own])
            heights[asked] = fit(self.rows[taught], target[taught], weight[taught]).decision_function(self.rows[asked])
        return heights

    def cross(self, folds: Any, same: Any) -> tuple[Any, Any]:
        added = np.array([scorer.untaught(message.seen.said, ADDED) for message in self.messages[: self.count]])
        lasting = self.heights(same, self.durable, self.lasting_weight)
        return self.heights(folds, self.signal, self.weight) + added, lasting

    def folds(self, seed: int) -> Any:
        return StratifiedKFold(FOLDS, shuffle=True, random_state=seed).split(
            np.zeros(self.count), self.signal[: self.count]
        )

    def folds_by_group(self) -> Any:
        groups = np.array([message.group for message in self.messages[: self.count]])
        for group in sorted(set(groups)):
            yield np.flatnonzero(groups != group), np.flatnonzero(groups == group)


def limit_at(heights: Any, target: Any, recall: float) -> float:
    """The height above which this share of the signals lies."""
    return float(np.quantile(heights[target], 1.0 - recall))


def prf(taken: Any, target: Any, counted: Any = None) -> tuple[float, float, float]:
    if counted is not None:
        taken, target = taken[counted], target[counted]
    hits = float((taken & target).sum())
    precision, recall = hits / max(1, taken.sum()), hits / max(1, target.sum())
    return precision, recall, 2 * precision * recall / max(1e-9, precision + recall)


def set_limits(data: Data, heights: Any, lasting: Any) -> dict[str, float]:
    """By recall and not by F1: the labels to learn from are more generous than those it will be measured with."""
    signal, durable = data.signal[: data.count], data.durable[: data.count]
    return {
        "returned": limit_at(heights, signal, 0.74),
        "confident": limit_at(heights, signal, 0.40),
        "certain": limit_at(heights, signal, 0.20),
        "durable": limit_at(lasting, durable, 0.62),
        "refusal": -4.0,
        **ADDED,
    }


def pack_head(name: str, model: Any) -> bytes:
    """Each part's weights in one byte; what the penalty's freedom scaled up is scaled back here."""
    scales, tables, at = [], [], 0
    for part, size in scorer.parts_of(name):
        weights = model.coef_[0][at : at + size] * freedom(name, part)
        scale = float(np.float32(max(np.abs(weights).max(), 1e-6) / 127))
        scales.append(scale)
        tables.append((np.rint(weights / scale) + scorer.ZERO).astype(np.uint8).tobytes())
        at += size
    return struct.pack(f"<{1 + len(scales)}f", model.intercept_[0], *scales) + b"".join(tables)


def pack_phrases(phrases: dict[str, int]) -> bytes:
    blocks = []
    for mask in sorted(set(phrases.values())):
        blocks.append("\n".join([str(mask), *sorted(phrase for phrase in phrases if phrases[phrase] == mask)]))
    return "\n\n".join(blocks).encode("utf-8")


def teach(data: Data) -> list[Any]:
    """One model a head, in the order of the heads; types are told apart among signals only."""
    models = [fit(data.rows, data.signal, data.weight), fit(data.rows, data.durable, data.lasting_weight)]
    signals = [message for message in data.messages if message.signal]
    rows, kinds = matrix(signals, scorer.TYPES[0]), np.array([message.type for message in signals])
    models += [fit(rows, kinds == name, weigh_rare(signals), STRENGTH_OF_TYPES) for name in scorer.TYPES]
    return models


def weigh_rare(signals: list[Message]) -> Any:
    """Four types have few examples, most of them ours."""
    kinds = [message.type for message in signals]
    return np.array([3.0 if kinds.count(kind) < 60 else 1.0 for kind in kinds])


def pack(data: Data, limits: dict[str, float], phrases: dict[str, int]) -> bytes:
    head = scorer.MAGIC + struct.pack(f"<{len(scorer.LIMITS)}f", *(limits[name] for name in scorer.LIMITS))
    heads = [pack_head(name, model) for name, model in zip(scorer.HEADS, teach(data))]
    return head + b"".join(heads) + pack_phrases(phrases)


def report(name: str, messages: list[Message], heights: Any, lasting: Any, limits: dict[str, float]) -> None:
    signal = np.array([message.signal for message in messages])
    durable = np.array([message.signal and message.durable for message in messages])
    taken = np.array([
        scorer.is_returned(height, message.via, limits) and "client" not in message.seen.said
        for height, message in zip(heights, messages)
    ])  # fmt: skip
    sure = taken & (heights >= limits["confident"])
    lasts = taken & (lasting >= limits["durable"])
    best = np.argsort(-heights, kind="stable")[: max(1, len(messages) // 10)]
    print(f"{name}: {len(messages)} messages, {signal.sum()} signals, {taken.sum()} returned")
    print(f"  average precision {average_precision_score(signal, heights):.3f}, best tenth {signal[best].mean():.3f}")
    views = {"returned": (taken, signal, None), "confident": (sure, signal, None),
             "durable": (lasts, durable, ~signal | durable), "durable, strictly": (lasts, durable, None)}  # fmt: skip
    groups = {"refusals": np.array([message.via == "feedback" for message in messages])}
    groups.update({f"language {one}": np.array([message.language == one for message in messages])
                   for one in sorted({message.language for message in messages})})  # fmt: skip
    views.update({group: (taken, signal, members) for group, members in groups.items()})
    for view, (chosen, target, counted) in views.items():
        if (target if counted is None else target[counted]).any():
            print("  {:18} precision {:.3f} recall {:.3f} F1 {:.3f}".format(view, *prf(chosen, target, counted)))


def report_types(messages: list[Message], known: scorer.Knowledge) -> None:
    signals = [message for message in messages if message.signal]
    told = [max(scorer.TYPES, key=lambda name: known.heads[name].weigh(one.seen)) for one in signals]
    right = sum(kind == message.type for kind, message in zip(told, signals))
    print(f"  type right for {right} of {len(signals)} signals")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("labelled", type=Path)
    parser.add_argument("--check", type=Path, nargs="*", default=[])
    parser.add_argument("--out", type=Path, default=REPO / "reflect_git" / "knowledge")
    given = parser.parse_args()
    phrases = read_phrases(given.out / "phrases")
    data = Data(read_labelled(given.labelled, phrases), read_own(given.out / "examples.tsv", phrases))
    crossed = [data.cross(data.folds(seed), data.folds(seed)) for seed in SEEDS]
    heights, lasting = np.mean(crossed, axis=0)
    limits = set_limits(data, heights, lasting)
    labelled = data.messages[: data.count]
    report(f"cross-validated, {FOLDS} folds", labelled, *crossed[0], limits)
    by_group = data.cross(data.folds_by_group(), data.folds_by_group())
    report("cross-validated by repository", labelled, *by_group, limits)
    packed = pack(data, limits, phrases)
    (given.out / "messages.bin").write_bytes(packed)
    known = scorer.parse(packed)
    for path in given.check:
        messages = read_labelled(path, phrases)
        heights = np.array([scorer.weigh(message.seen, known) for message in messages])
        lasting = np.array([known.heads["durable"].weigh(message.seen) for message in messages])
        report(path.name, messages, heights, lasting, limits)
        report_types(messages, known)
    print({name: round(limit, 3) for name, limit in limits.items()}, len(packed), "bytes")


if __name__ == "__main__":
    main()
