"""Is a message of the user worth keeping, as what, how surely, for how long, and which of its sentences says it.

A linear model over the facts and hashes of `features`; its weights come from `bench/train_messages.py`.
"""

from __future__ import annotations

import os
from math import exp, sqrt
from struct import calcsize, unpack_from

from reflect_git.capture import sentence
from reflect_git.capture.features import BUCKETS, KINDS, NAMES, Seen, count_kinds, flatten, word_buckets

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, Optional

MAGIC = b"reflect-git messages 1\n"
# Weights are bytes around this one: an array of signed ones would cost an import of 2.6 ms.
ZERO = 128
TYPES = ("correction", "convention", "command", "gotcha", "discovery", "pattern", "project_friction")
HEADS = ("signal", "durable", *TYPES)
PARTS = (("facts", len(NAMES)), ("pairs", len(NAMES) ** 2), ("words", BUCKETS), ("letters", BUCKETS))
# Types are told apart by fewer: seven more heads over pairs and letters would cost half of a message's time.
FEW = ("facts", "words")
# Thresholds on the signal head (returned, confidence 2, confidence 3), on the durable head; what some facts add.
LIMITS = ("returned", "confident", "certain", "durable", "refusal", "queued", "after_failure", "rule")
KNOWLEDGE = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "knowledge")
_TELLING = [at for at, kind in enumerate(KINDS) if kind not in ("neutral", "praise")]


class Verdict:
    """What the scorer says of one message."""

    __slots__ = ("confidence", "durable", "is_signal", "score", "sentence", "type")

    def __init__(self, score: float, is_signal: bool, kind: str, confidence: int, durable: bool, text: str) -> None:
        self.score = score
        self.is_signal = is_signal
        self.type = kind
        self.confidence = confidence
        self.durable = durable
        self.sentence = text

    def __repr__(self) -> str:
        return f"Verdict({', '.join(repr(getattr(self, name)) for name in self.__slots__)})"


class Head:
    """One question put to the model: a bias and, for each part of what is seen, weights of one byte and their scale."""

    __slots__ = ("bias", "parts")

    def __init__(self, bias: float, parts: dict[str, tuple[float, bytes]]) -> None:
        self.bias = bias
        self.parts = parts

    def weigh(self, seen: Seen) -> float:
        places = {"facts": seen.facts, "pairs": seen.pairs, "words": seen.words, "letters": seen.letters}
        return self.bias + sum([self.pull(part, places[part]) for part in self.parts])

    def pull(self, part: str, places: list[int]) -> float:
        """What one part says; a long message says more often, but not more."""
        scale, table = self.parts[part]
        root = sqrt(len(places)) if places and part != "facts" else 1.0
        return scale * (sum(map(table.__getitem__, places)) - ZERO * len(places)) / root


class Knowledge:
    """The weights, the limits and the phrases of one file."""

    __slots__ = ("heads", "limits", "phrases")

    def __init__(self, heads: dict[str, Head], limits: dict[str, float], phrases: dict[str, int]) -> None:
        self.heads = heads
        self.limits = limits
        self.phrases = phrases


_known: Optional[Knowledge] = None


def knowledge() -> Knowledge:
    """Read once per process."""
    global _known
    if _known is None:
        with open(os.path.join(KNOWLEDGE, "messages.bin"), "rb") as file:
            _known = parse(file.read())
    return _known


def parse(data: bytes) -> Knowledge:
    if not data.startswith(MAGIC):
        raise ValueError("not a knowledge file of this version")
    at = len(MAGIC)
    limits = dict(zip(LIMITS, unpack_from(f"<{len(LIMITS)}f", data, at)))
    at += calcsize(f"<{len(LIMITS)}f")
    heads = {}
    for name in HEADS:
        heads[name], at = _parse_head(data, at, parts_of(name))
    return Knowledge(heads, limits, _parse_phrases(data[at:].decode("utf-8")))


def parts_of(head: str) -> list[tuple[str, int]]:
    return [(part, size) for part, size in PARTS if head not in TYPES or part in FEW]


def _parse_head(data: bytes, at: int, parts: list[tuple[str, int]]) -> tuple[Head, int]:
    form = f"<{1 + len(parts)}f"
    bias, *scales = unpack_from(form, data, at)
    at += calcsize(form)
    tables = {}
    for scale, (part, size) in zip(scales, parts):
        tables[part] = (scale, data[at : at + size])
        at += size
    return Head(bias, tables), at


def _parse_phrases(text: str) -> dict[str, int]:
    """Lines of phrases, each block headed by the kinds it stands for."""
    phrases: dict[str, int] = {}
    for block in text.split("\n\n"):
        mask, *lines = block.split("\n")
        if lines:
            phrases.update(dict.fromkeys(lines, int(mask)))
    return phrases


def score(text: str, via: str, context: Mapping[str, Any]) -> Verdict:
    """`via` is one of prompt, queued, feedback and command-args; every key of the context may be missing."""
    known = knowledge()
    seen = Seen(text, via, context, known.phrases)
    if "client" in seen.said or not any(map(_has_letters, seen.lines)):
        return Verdict(0.0, False, "none", 1, False, "")
    height = weigh(seen, known)
    chance = 1.0 / (1.0 + exp(-max(-30.0, min(30.0, height))))
    if not is_returned(height, via, known.limits):
        return Verdict(chance, False, "none", 1, False, "")
    lasts = known.heads["durable"].weigh(seen) >= known.limits["durable"]
    kind = max(TYPES, key=lambda name: known.heads[name].weigh(seen))
    said = sentence.carrying(sentence.split_lines(seen.lines), lambda part: _pull(part, known))
    return Verdict(chance, True, kind, confidence_of(height, known.limits), lasts, said)


def _has_letters(line: str) -> bool:
    return any(map(str.isalnum, line))


def weigh(seen: Seen, known: Knowledge) -> float:
    """The log odds of a signal."""
    return known.heads["signal"].weigh(seen) + untaught(seen.said, known.limits)


def untaught(said: frozenset[str], limits: Mapping[str, float]) -> float:
    """What labelled messages cannot teach, or too seldom: typed amid the work, after a failure, a standing order."""
    height = limits["queued"] if "queued" in said else 0.0
    if "failure" in said:
        height += limits["after_failure"]
    if "ends_ask" not in said and ("rule" in said or "frame" in said):
        height += limits["rule"]
    return height


def is_returned(height: float, via: str, limits: Mapping[str, float]) -> bool:
    return height >= limits["refusal" if via == "feedback" else "returned"]


def confidence_of(height: float, limits: Mapping[str, float]) -> int:
    return 3 if height >= limits["certain"] else 2 if height >= limits["confident"] else 1


def _pull(part: str, known: Knowledge) -> float:
    """How much a sentence speaks for a signal: its words, and what the phrases say of it."""
    plain = flatten(part)
    words = plain.split()[:40]
    counts = count_kinds(words, plain, known.phrases)
    lean = known.heads["signal"].pull("words", word_buckets(words))
    return lean + sum(0.5 * min(counts[at], 2) for at in _TELLING) - 0.4 * min(counts[-1], 2)
