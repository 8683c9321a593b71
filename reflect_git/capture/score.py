"""Is a message of the user worth keeping, as what, how surely, for how long, and which of its sentences says it.

A linear model and small trees over the facts and hashes of `features`; `bench/train_messages.py` writes their weights.
"""

from __future__ import annotations

import os
from math import exp, sqrt
from operator import itemgetter
from struct import calcsize, unpack_from

from reflect_git.capture import features, sentence, stated
from reflect_git.capture.features import BUCKETS, CORE, KINDS, NAMES, OPENINGS, Seen
from reflect_git.model.scopes import is_at_hand, is_of_all

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any, Optional

MAGIC = b"reflect-git messages 3\n"
# Weights are bytes around this one: an array of signed ones would cost an import of 2.6 ms.
ZERO = 128
TYPES = ("correction", "convention", "command", "gotcha", "discovery", "pattern", "project_friction")
HEADS = ("signal", "durable")
PARTS = (
    ("facts", len(NAMES)),
    ("pairs", len(CORE) ** 2),
    ("words", BUCKETS),
    ("letters", BUCKETS),
    ("openings", OPENINGS),
)
# Types are told apart by fewer: with pairs and letters they would cost half of a message's time.
FEW = (("facts", len(NAMES)), ("words", BUCKETS))
DEPTH = 4
NODES, LEAVES = (1 << DEPTH) - 1, 1 << DEPTH
# Thresholds on the signal head (returned, confidence 2, confidence 3), on the durable head; what some facts add.
LIMITS = ("returned", "confident", "certain", "durable", "refusal", "queued", "after_failure", "rule")
# Lifts `In all my projects, write …` (-3.3 as a first message) over the limit of what is asked first (0.5).
OF_ALL = 4.0
KNOWLEDGE = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "knowledge")
# What a phrase of the user makes of a message that has it.
MEANT = {"correction": "correction", "workflow": "correction", "convention": "convention", "prohibition": "convention"}
_PRAISE, _NEUTRAL = 1 << KINDS.index("praise"), 1 << KINDS.index("neutral")
_TELLING = (1 << len(KINDS)) - 1 - _PRAISE - _NEUTRAL
_HINTS = _TELLING | features.INSTEAD | features.TOOL
_WEIGHED, _WEIGHED_WORDS, _FRAMED, _TOOL_WORDS = 3, 24, 160, 3
_PRAISED_STEPS, _PRAISED_WORDS = 2, 12


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


def taken(table: bytes, places: Sequence[int]) -> Sequence[int]:
    """What stands at these places: in 0.4 of the time of a subscription each."""
    if len(places) < 2:
        return [table[place] for place in places]
    found: Sequence[int] = itemgetter(*places)(table)
    return found


class Trees:
    """Small trees of one depth that ask for facts, level by level: below place n are 2n (does not hold) and 2n+1."""

    __slots__ = ("leaves", "levels", "scale")

    def __init__(self, scale: float, nodes: bytes, leaves: bytes) -> None:
        count = len(leaves) // LEAVES
        self.scale = scale
        self.levels = [nodes[count * (size - 1) : count * (2 * size - 1)] for size in (1 << at for at in range(DEPTH))]
        self.leaves = leaves

    def weigh(self, facts: list[int]) -> float:
        holds = bytearray(256)
        for fact in facts:
            holds[fact] = 1
        places: Sequence[int] = range(len(self.leaves) // LEAVES)
        for level in self.levels:
            answers = level.translate(holds)
            places = [at + at + answers[at] for at in places]
        return self.scale * (sum(taken(self.leaves, places)) - ZERO * len(places))


class Head:
    """One question put to the model: a bias and, for each part of what is seen, weights of one byte and their scale."""

    __slots__ = ("bias", "parts")

    def __init__(self, bias: float, parts: dict[str, tuple[float, bytes]]) -> None:
        self.bias = bias
        self.parts = parts

    def weigh(self, seen: Seen) -> float:
        return self.bias + sum([self.pull(part, getattr(seen, part)) for part in self.parts])

    def pull(self, part: str, places: list[int]) -> float:
        """What one part says; a long message says more often, but not more."""
        scale, table = self.parts[part]
        return scale * (sum(taken(table, places)) - ZERO * len(places)) / root_of(part, places)


class Types:
    """All types at once: their weights for one place stand side by side, so that a place is looked up once."""

    __slots__ = ("biases", "parts")

    def __init__(self, biases: tuple[float, ...], parts: dict[str, tuple[tuple[float, ...], bytes]]) -> None:
        self.biases = biases
        self.parts = parts

    def weigh(self, seen: Seen) -> list[float]:
        heights, count = list(self.biases), len(TYPES)
        for part, (scales, table) in self.parts.items():
            places = getattr(seen, part)
            root = root_of(part, places)
            rows = [table[at : at + count] for at in map(count.__mul__, places)]
            for kind, weights in enumerate(zip(*rows)):
                heights[kind] += scales[kind] * (sum(weights) - ZERO * len(places)) / root
        return heights


def root_of(part: str, places: list[int]) -> float:
    return sqrt(len(places)) if places and part != "facts" else 1.0


class Knowledge:
    """The weights, the limits and the phrases of one file; the phrases that the user added, by how they begin."""

    __slots__ = ("added", "heads", "limits", "phrases", "trees", "types")

    def __init__(
        self,
        limits: dict[str, float],
        heads: dict[str, Head],
        trees: Trees,
        types: Types,
        phrases: features.Phrases,
    ) -> None:
        self.heads = heads
        self.trees = trees
        self.types = types
        self.limits = limits
        self.phrases = phrases
        self.added: dict[str, dict[str, str]] = {}


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
        heads[name], at = _parse_head(data, at)
    trees, at = _parse_trees(data, at)
    types, at = _parse_types(data, at)
    return Knowledge(limits, heads, trees, types, _parse_phrases(data[at:].decode("utf-8")))


def _parse_head(data: bytes, at: int) -> tuple[Head, int]:
    form = f"<{1 + len(PARTS)}f"
    bias, *scales = unpack_from(form, data, at)
    at += calcsize(form)
    tables = {}
    for scale, (part, size) in zip(scales, PARTS):
        tables[part] = (scale, data[at : at + size])
        at += size
    return Head(bias, tables), at


def _parse_trees(data: bytes, at: int) -> tuple[Trees, int]:
    scale, count = unpack_from("<fH", data, at)
    at += calcsize("<fH")
    middle, end = at + NODES * count, at + (NODES + LEAVES) * count
    return Trees(scale, data[at:middle], data[middle:end]), end


def _parse_types(data: bytes, at: int) -> tuple[Types, int]:
    form = f"<{len(TYPES)}f"
    biases = unpack_from(form, data, at)
    at += calcsize(form)
    tables = {}
    for part, size in FEW:
        scales = unpack_from(form, data, at)
        at += calcsize(form)
        tables[part] = (scales, data[at : at + size * len(TYPES)])
        at += size * len(TYPES)
    return Types(biases, tables), at


def _parse_phrases(text: str) -> features.Phrases:
    """Lines of phrases, each block headed by the kinds it stands for."""
    phrases: dict[str, int] = {}
    for block in text.split("\n\n"):
        mask, *lines = block.split("\n")
        if lines:
            phrases.update(dict.fromkeys(lines, int(mask)))
    return features.Phrases(phrases)


def _find_added(lines: list[str], added: Mapping[str, Mapping[str, str]]) -> str:
    """The kind of a phrase of the user in these lines, or nothing."""
    if not added:
        return ""
    plain = f" {' '.join(features.flatten(' '.join(lines)).split())} "
    for start in sorted({*plain.split(), *filter(features.WIDE.__lt__, plain)}.intersection(added)):
        for phrase, kind in added[start].items():
            bare = phrase.lstrip("^")
            whole = bare if bare[0] > features.WIDE else f" {bare} "
            if plain.lstrip().startswith(whole.lstrip()) if phrase[0] == "^" else whole in plain:
                return kind
    return ""


def score(text: str, via: str, context: Mapping[str, Any]) -> Verdict:
    """`via` is one of prompt, queued, feedback and command-args; every key of the context may be missing."""
    known = knowledge()
    seen = Seen(text, via, context, known.phrases)
    if "client" in seen.said or not any(map(_has_letters, seen.lines)):
        return Verdict(0.0, False, "none", 1, False, "")
    limits, height = known.limits, weigh(seen, known)
    framed = may_frame(seen)
    added = _find_added(seen.lines, known.added)
    if not added and via != "feedback" and is_praise(seen):
        return _praised(seen, height, context)
    if not (framed or added or is_returned(height, via, limits)):
        return Verdict(chance_of(height), False, "none", 1, False, "")
    said, framed = choose_sentence(seen.lines, framed, known)
    height = max(height, limits["certain"] if framed else limits["confident"] if added else height)
    if not is_returned(height, via, limits):
        return Verdict(chance_of(height), False, "none", 1, False, "")
    lasts = framed or is_standing(seen) or stated.is_standing(seen) or is_lasting(seen, height, known)
    kind = "correction" if framed else MEANT[added] if added else _type_of(seen, known)
    return Verdict(chance_of(height), True, kind, confidence_of(height, limits), lasts, sentence.clip(said))


def chance_of(height: float) -> float:
    return 1.0 / (1.0 + exp(-max(-30.0, min(30.0, height))))


def _has_letters(line: str) -> bool:
    return any(map(str.isalnum, line))


def _type_of(seen: Seen, known: Knowledge) -> str:
    heights = known.types.weigh(seen)
    return TYPES[heights.index(max(heights))]


def weigh(seen: Seen, known: Knowledge) -> float:
    """The log odds of a signal."""
    taught = known.heads["signal"].weigh(seen) + known.trees.weigh(seen.facts)
    height = taught + untaught(seen.said, known.limits) + (OF_ALL if is_standing(seen) else 0.0)
    return stated.lifted(seen, height, known.limits["returned"])


def is_standing(seen: Seen) -> bool:
    """What is said of all projects at once is seldom meant for the work at hand."""
    return seen.said.isdisjoint(("ends_ask", "ask")) and not is_at_hand(seen.wording) and is_of_all(seen.wording)


def untaught(said: frozenset[str], limits: Mapping[str, float]) -> float:
    """What labelled messages cannot teach, or too seldom: typed amid the work, after a failure, a standing order."""
    height = limits["queued"] if "queued" in said else 0.0
    if "failure" in said:
        height += limits["after_failure"]
    if "ends_ask" not in said and ("rule" in said or "frame" in said):
        height += limits["rule"]
    return height


def lasting_height(durable: float, height: float) -> float:
    """What is hardly a signal hardly lasts: so the durable head finds more of what does (F1 0.57) than alone (0.55)."""
    return durable + 0.6 * height


def is_lasting(seen: Seen, height: float, known: Knowledge) -> bool:
    return lasting_height(known.heads["durable"].weigh(seen), height) >= known.limits["durable"]


def is_returned(height: float, via: str, limits: Mapping[str, float]) -> bool:
    return height >= limits["refusal" if via == "feedback" else "returned"]


def confidence_of(height: float, limits: Mapping[str, float]) -> int:
    return 3 if height >= limits["certain"] else 2 if height >= limits["confident"] else 1


def may_frame(seen: Seen) -> bool:
    """Is a tool or a command named at all? In scripts without spaces a word may hide one."""
    return not seen.said.isdisjoint(("ticks", "wide")) or bool(features.join_masks(seen.masks) & features.TOOL)


def choose_sentence(lines: list[str], framed: bool, known: Knowledge) -> tuple[str, bool]:
    """The sentence that says most, the earlier of two equals; does it say `use this tool instead of that one`?"""
    parts = sentence.choose(sentence.split_lines(lines))
    if len(parts) == 1 and not framed:
        return parts[0], False
    best, most = "", -1e9
    for part, plain in _shortlist(parts, known.phrases):
        words = plain.split()[:_WEIGHED_WORDS]
        masks = features.find_masks(words, plain, known.phrases)
        named = framed and _names_tools(part, plain, known.phrases)
        if named and _is_frame(part, features.join_masks(masks), known.phrases):
            return part, True
        weight = _pull(words, masks, known)
        if weight > most:
            best, most = part, weight
    return best, False


def _shortlist(parts: list[str], phrases: features.Phrases) -> list[tuple[str, str]]:
    """A look at every word finds the few that are worth weighing: to weigh all ten would take as long as all else."""
    flat = [(part, features.flatten(part)) for part in parts]
    if len(parts) <= _WEIGHED:
        return flat
    hints = [-_count_hints(plain, phrases) for _, plain in flat]
    return [flat[at] for at in sorted(sorted(range(len(parts)), key=hints.__getitem__)[:_WEIGHED])]


def _count_hints(plain: str, phrases: features.Phrases) -> int:
    words = plain.split()[:_WEIGHED_WORDS]
    found = [*map(phrases.get, words), *map(phrases.get, map(" ".join, zip(words, words[1:])))]
    wide = 0 if plain.isascii() else len([letter for letter in plain[:_FRAMED] if letter in phrases.starts])
    return wide + len([mask for mask in found if mask and mask & _HINTS])


def _names_tools(part: str, plain: str, phrases: Mapping[str, int]) -> bool:
    if part.rstrip()[-1:] in "?？":
        return False
    words = features.space_out(plain).split()
    return part.count("`") > 1 or any(phrases.get(word, 0) & features.TOOL for word in words)


def _is_frame(part: str, every: int, phrases: Mapping[str, int]) -> bool:
    if not every & features.USE or every & features.INSTEAD or len(part) > _FRAMED:
        return bool(every & features.USE and every & features.INSTEAD)
    from reflect_git.model.frames import frame_of

    frame = frame_of(part)
    if frame is None or not frame.wanted:
        return False
    tools = [bool(phrases.get(word, 0) & features.TOOL) for word in frame.unwanted.split()]
    return any(tools) and len(tools) <= _TOOL_WORDS and len(frame.wanted.split()) <= _TOOL_WORDS


def _pull(words: list[str], masks: list[int], known: Knowledge) -> float:
    """How much a sentence speaks for a signal: its words, and what the phrases say of it."""
    lean = known.heads["signal"].pull("words", features.word_buckets(words))
    telling = len([mask for mask in masks if mask & _TELLING])
    neutral = len([mask for mask in masks if mask & _NEUTRAL])
    return lean + 0.5 * min(telling, 6) - 0.4 * min(neutral, 2)


def is_praise(seen: Seen) -> bool:
    """Approval and nothing else."""
    if stated.is_plain_praise(seen):
        return True
    praise = [mask for mask in seen.masks if mask & _PRAISE]
    if len(praise) < 2 or len(seen.wording) > _PRAISED_WORDS or "?" in seen.wording:
        return False
    return not features.join_masks(seen.masks) & _TELLING


def _praised(seen: Seen, height: float, context: Mapping[str, Any]) -> Verdict:
    """It tells something only of work of several steps."""
    steps = context.get("steps")
    if not isinstance(steps, int) or steps < _PRAISED_STEPS:
        return Verdict(chance_of(height), False, "none", 1, False, "")
    return Verdict(chance_of(height), True, "pattern", 1, False, sentence.clip(" ".join(seen.lines)))
