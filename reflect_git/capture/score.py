"""Score a message: whether it is a signal, its type, how certain that is, whether it lasts, and the sentence to keep.

A linear model and small trees over the features of `score_features`; `bench/train_messages.py` writes the weights.
"""

from __future__ import annotations

import os
from math import exp, sqrt
from operator import itemgetter
from struct import calcsize, unpack_from

from reflect_git.capture import score_features
from reflect_git.capture.score_features import BUCKETS, CORE, KINDS, NAMES, OPENINGS, Seen
from reflect_git.errors import ReflectError
from reflect_git.language.parse import is_at_hand, is_of_all
from reflect_git.language.words import load_table
from reflect_git.records.ids import count_words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any, Optional

    from reflect_git.capture.score_features import Seen

MAGIC = b"reflect-git messages 4\n"
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
# Thresholds on the signal head (returned, confidence 2, confidence 3), on the durable head (lasts, confidence 2); what
# some facts add.
LIMITS = ("returned", "confident", "certain", "durable", "standing", "refusal", "queued", "after_failure", "rule")
# Lifts `In all my projects, write …` (-3.3 as a first message) over the limit of what is asked first (0.5).
OF_ALL = 4.0
KNOWLEDGE = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "knowledge")
# What a phrase of the user makes of a message that has it.
MEANT = {"correction": "correction", "workflow": "correction", "convention": "convention", "prohibition": "convention"}
_PRAISE, _NEUTRAL = 1 << KINDS.index("praise"), 1 << KINDS.index("neutral")
_TELLING = (1 << len(KINDS)) - 1 - _PRAISE - _NEUTRAL
_HINTS = _TELLING | score_features.INSTEAD | score_features.TOOL
_WEIGHED, _WEIGHED_WORDS, _FRAMED, _TOOL_WORDS = 3, 24, 160, 3
_PRAISED_STEPS, _PRAISED_WORDS = 2, 12


class Verdict:
    """The scorer's result for one message."""

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
    """Return the values at these places, in 0.4 of the time of subscribing one by one."""
    if len(places) < 2:
        return [table[place] for place in places]
    found: Sequence[int] = itemgetter(*places)(table)
    return found


class Trees:
    """Small trees of one depth that test facts, level by level: below place n are 2n (false) and 2n+1 (true)."""

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
    """One output of the model: a bias and, for each part of the features, one-byte weights and their scale."""

    __slots__ = ("bias", "parts")

    def __init__(self, bias: float, parts: dict[str, tuple[float, bytes]]) -> None:
        self.bias = bias
        self.parts = parts

    def weigh(self, seen: Seen) -> float:
        return self.bias + sum([self.pull(part, getattr(seen, part)) for part in self.parts])

    def pull(self, part: str, places: list[int]) -> float:
        """Return the contribution of one part, normalised by length: a long message must not count more."""
        scale, table = self.parts[part]
        return scale * (sum(taken(table, places)) - ZERO * len(places)) / root_of(part, places)


class Types:
    """All type outputs at once; their weights for one place are adjacent, so that each place is looked up once."""

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
    """The weights, limits and phrases from the file, and the user's own phrases by their first word."""

    __slots__ = ("added", "heads", "limits", "phrases", "trees", "types")

    def __init__(
        self,
        limits: dict[str, float],
        heads: dict[str, Head],
        trees: Trees,
        types: Types,
        phrases: score_features.Phrases,
    ) -> None:
        self.heads = heads
        self.trees = trees
        self.types = types
        self.limits = limits
        self.phrases = phrases
        self.added: dict[str, dict[str, str]] = {}


_known: Optional[Knowledge] = None


def knowledge() -> Knowledge:
    """Return the weights, loaded once per process."""
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


def _parse_phrases(text: str) -> score_features.Phrases:
    """Parse the phrases: each block starts with the bits of its kinds."""
    phrases: dict[str, int] = {}
    for block in text.split("\n\n"):
        mask, *lines = block.split("\n")
        if lines:
            phrases.update(dict.fromkeys(lines, int(mask)))
    return score_features.Phrases(phrases)


def _find_added(lines: list[str], added: Mapping[str, Mapping[str, str]]) -> str:
    """Return the kind of a user's phrase in these lines, or an empty text."""
    if not added:
        return ""
    plain = f" {' '.join(score_features.flatten(' '.join(lines)).split())} "
    for start in sorted({*plain.split(), *filter(score_features.WIDE.__lt__, plain)}.intersection(added)):
        for phrase, kind in added[start].items():
            bare = phrase.lstrip("^")
            whole = bare if bare[0] > score_features.WIDE else f" {bare} "
            if plain.lstrip().startswith(whole.lstrip()) if phrase[0] == "^" else whole in plain:
                return kind
    return ""


def score(text: str, via: str, context: Mapping[str, Any]) -> Verdict:
    """Score a message.

    `via` is prompt, queued, feedback or command-args; any key of the context may be missing.
    """
    known = knowledge()
    seen = Seen(text, via, context, known.phrases)
    if "client" in seen.said or not any(map(_has_letters, seen.lines)):
        return Verdict(0.0, False, "none", 1, False, "")
    limits, lasting = known.limits, known.heads["durable"].weigh(seen)
    height = weigh(seen, known, lasting)
    framed = may_frame(seen)
    added = _find_added(seen.lines, known.added)
    if not added and via != "feedback" and (is_praise(seen) or is_liking(seen)):
        return _praised(seen, height, context, limits)
    if not (framed or added or is_returned(height, via, limits)):
        return Verdict(chance_of(height), False, "none", 1, False, "")
    said, framed = choose_sentence(seen.lines, framed, known)
    height = max(height, limits["certain"] if framed else limits["confident"] if added else height)
    if not is_returned(height, via, limits):
        return Verdict(chance_of(height), False, "none", 1, False, "")
    of_all = is_standing(seen)
    lasts = framed or of_all or states_rule(seen) or lasting >= limits["durable"]
    kind = "correction" if framed else MEANT[added] if added else _type_of(seen, known)
    is_sure = added or of_all or (lasting >= limits["standing"] and is_told(seen))
    confidence = max(2 if is_sure else 1, confidence_of(height, lasting, limits))
    return Verdict(chance_of(height), True, kind, confidence, lasts, score_features.clip(said))


def chance_of(height: float) -> float:
    return 1.0 / (1.0 + exp(-max(-30.0, min(30.0, height))))


def _has_letters(line: str) -> bool:
    return any(map(str.isalnum, line))


def _type_of(seen: Seen, known: Knowledge) -> str:
    heights = known.types.weigh(seen)
    return TYPES[heights.index(max(heights))]


def weigh(seen: Seen, known: Knowledge, lasting: float) -> float:
    """Return the log odds of a signal, at least the limit for what is likely to last.

    Labelled messages have few plain statements ("money in cents"), so the signal head puts them far below its limit.
    """
    taught = known.heads["signal"].weigh(seen) + known.trees.weigh(seen.facts)
    height = taught + untaught(seen.said, known.limits) + (OF_ALL if is_standing(seen) else 0.0)
    limit = known.limits["returned"]
    height = lifted(seen, height, limit)
    is_lasting = lasting >= known.limits["durable"] and is_told(seen)
    return max(height, limit) if is_lasting else height


def is_standing(seen: Seen) -> bool:
    """Return whether a message is about all projects, which is seldom meant for the current task."""
    return seen.said.isdisjoint(("ends_ask", "ask")) and not is_at_hand(seen.wording) and is_of_all(seen.wording)


def untaught(said: frozenset[str], limits: Mapping[str, float]) -> float:
    """Return what labelled messages cannot teach: typed during work, after a failure, a lasting instruction."""
    height = limits["queued"] if "queued" in said else 0.0
    if "failure" in said:
        height += limits["after_failure"]
    if "ends_ask" not in said and ("rule" in said or "frame" in said):
        height += limits["rule"]
    return height


def sure_height(height: float, lasting: float) -> float:
    """Return the value that confidence is based on: a lasting statement is more likely a signal.

    By session, at a recall of 0.47: precision 0.802, and 0.797 without it.
    """
    return height + 0.3 * lasting


def is_returned(height: float, via: str, limits: Mapping[str, float]) -> bool:
    return height >= limits["refusal" if via == "feedback" else "returned"]


def confidence_of(height: float, lasting: float, limits: Mapping[str, float]) -> int:
    if height >= limits["certain"]:
        return 3
    return 2 if sure_height(height, lasting) >= limits["confident"] else 1


def may_frame(seen: Seen) -> bool:
    """Return whether a tool or a command is named at all; scripts without spaces may hide one in a word."""
    return not seen.said.isdisjoint(("ticks", "wide")) or bool(
        score_features.join_masks(seen.masks) & score_features.TOOL
    )


def choose_sentence(lines: list[str], framed: bool, known: Knowledge) -> tuple[str, bool]:
    """Return the sentence that says most, and whether it says to use one tool instead of another."""
    parts = score_features.choose(score_features.split_lines(lines))
    if len(parts) == 1 and not framed:
        return parts[0], False
    best, most = "", -1e9
    for part, plain in _shortlist(parts, known.phrases):
        words = plain.split()[:_WEIGHED_WORDS]
        masks = score_features.find_masks(words, plain, known.phrases)
        named = framed and _names_tools(part, plain, known.phrases)
        if named and _is_frame(part, score_features.join_masks(masks), known.phrases):
            return part, True
        weight = _pull(words, masks, known)
        if weight > most:
            best, most = part, weight
    return best, False


def _shortlist(parts: list[str], phrases: score_features.Phrases) -> list[tuple[str, str]]:
    """Return the few sentences worth weighing, by a quick look: weighing all ten would double the time."""
    flat = [(part, score_features.flatten(part)) for part in parts]
    if len(parts) <= _WEIGHED:
        return flat
    hints = [-_count_hints(plain, phrases) for _, plain in flat]
    return [flat[at] for at in sorted(sorted(range(len(parts)), key=hints.__getitem__)[:_WEIGHED])]


def _count_hints(plain: str, phrases: score_features.Phrases) -> int:
    words = plain.split()[:_WEIGHED_WORDS]
    found = [*map(phrases.get, words), *map(phrases.get, map(" ".join, zip(words, words[1:])))]
    wide = 0 if plain.isascii() else len([letter for letter in plain[:_FRAMED] if letter in phrases.starts])
    return wide + len([mask for mask in found if mask and mask & _HINTS])


def _names_tools(part: str, plain: str, phrases: Mapping[str, int]) -> bool:
    if part.rstrip()[-1:] in "?？":
        return False
    words = score_features.space_out(plain).split()
    return part.count("`") > 1 or any(phrases.get(word, 0) & score_features.TOOL for word in words)


def _is_frame(part: str, every: int, phrases: Mapping[str, int]) -> bool:
    if not every & score_features.USE or every & score_features.INSTEAD or len(part) > _FRAMED:
        return bool(every & score_features.USE and every & score_features.INSTEAD)
    from reflect_git.language.parse import frame_of

    frame = frame_of(part)
    if frame is None or not frame.wanted:
        return False
    tools = [bool(phrases.get(word, 0) & score_features.TOOL) for word in frame.unwanted.split()]
    return any(tools) and len(tools) <= _TOOL_WORDS and len(frame.wanted.split()) <= _TOOL_WORDS


def _pull(words: list[str], masks: list[int], known: Knowledge) -> float:
    """Return how strongly a sentence indicates a signal, by its words and phrases."""
    lean = known.heads["signal"].pull("words", score_features.word_buckets(words))
    telling = len([mask for mask in masks if mask & _TELLING])
    neutral = len([mask for mask in masks if mask & _NEUTRAL])
    return lean + 0.5 * min(telling, 6) - 0.4 * min(neutral, 2)


def is_praise(seen: Seen) -> bool:
    """Return whether a message is praise and nothing else."""
    if is_plain_praise(seen):
        return True
    praise = [mask for mask in seen.masks if mask & _PRAISE]
    if len(praise) < 2 or len(seen.wording) > _PRAISED_WORDS or "?" in seen.wording:
        return False
    return not score_features.join_masks(seen.masks) & _TELLING


def _praised(seen: Seen, height: float, context: Mapping[str, Any], limits: Mapping[str, float]) -> Verdict:
    """Return the result for praise: it counts only after several steps, and lasts if it says what was liked."""
    steps = context.get("steps")
    if not isinstance(steps, int) or steps < _PRAISED_STEPS:
        return Verdict(chance_of(height), False, "none", 1, False, "")
    says_what = is_liking(seen)
    height = max(height, limits["confident"]) if says_what else height
    said = score_features.clip(" ".join(seen.lines))
    return Verdict(chance_of(height), True, "pattern", 2 if says_what else 1, says_what, said)


# Of 1,304 labelled real messages six more are captured, none of them a signal; of 12 rules that trials missed, 11 are.
LIFT = 0.6
_FEWEST, _MOST, _SHORT = 3, 30, 12
_TOLD = 16  # words: a longer message is rather a task with details
_LIKED = 7  # words: fewer leave no room for what is liked
_WORDS = load_table("stated")
_STANDING, _RUNS, _PURPOSES, _WHEN, _JOINS = (
    frozenset(_WORDS[name].split()) for name in ("standing_words", "runs", "purposes", "when_words", "joins")
)  # fmt: skip
_WHEN_WIDE = tuple(_WORDS["when_wide"])
_PHRASES = tuple(f" {phrase} " for phrase in _WORDS["standing_phrases"])
_CORRECTIONS = tuple(f" {phrase} " for phrase in _WORDS["corrections"])
_LIKINGS = tuple(f" {phrase} " for phrase in _WORDS["likings"])
_STATED_PRAISE = frozenset(_WORDS["praise"])
_PRAISING = tuple([word] for word in _STATED_PRAISE if " " not in word)
_OTHER = ("first", "ask", "ends_ask", "you_did", "client", "lets", "can_you", "can_we")
_TASKS = (*_OTHER[1:], "task", "slash")


def lifted(seen: Seen, height: float, limit: float) -> float:
    """Raise such a statement to the limit and no further: higher, it would displace what the model is sure of."""
    if height >= limit:
        return height
    is_near = height + LIFT >= limit and states_rule(seen)
    return limit if is_near or is_stated(seen) else height


def states_rule(seen: Seen) -> bool:
    """Return whether a short message says what always holds, where things belong, or which command is for what."""
    if not _is_statement(seen, _MOST):
        return False
    is_command = _shares_command(seen) and not _PURPOSES.isdisjoint(seen.wording)
    words = " ".join(seen.wording).replace("never mind", "").split()
    return not _STANDING.isdisjoint(words) or is_command or _has_any(seen, _PHRASES, _WORDS["standing_wide"])


def is_stated(seen: Seen) -> bool:
    """Return whether a message of a few words corrects something or gives a command, lasting or not."""
    return _is_statement(seen, _SHORT) and (_shares_command(seen) or _has_any(seen, _CORRECTIONS))


def is_told(seen: Seen) -> bool:
    """Tell whether a message is short, asks nothing and does not begin like a task."""
    is_short = len(seen.wording) <= _TOLD and "?" not in seen.wording
    return is_short and seen.said.isdisjoint(_TASKS) and not is_at_hand(seen.wording)


def is_plain_praise(seen: Seen) -> bool:
    """Return whether a message is one phrase of praise and nothing else."""
    return " ".join(seen.wording) in _STATED_PRAISE


def is_liking(seen: Seen) -> bool:
    """Return whether a message praises a way of working and names it: "exactly how I like it: one commit each"."""
    is_praise = "praise" in seen.said or seen.wording[:1] in _PRAISING
    is_told = count_words(" ".join(seen.wording)) >= _LIKED and "?" not in seen.wording
    return is_praise and is_told and _has_any(seen, _LIKINGS, _WORDS["likings_wide"])


def is_way_of_working(said: str) -> bool:
    """Return whether a text is a way of working ("run the linter before a push") rather than a task.

    It says when it holds or what is not wanted, or it joins two instructions.
    """
    words = said.split()
    return not (_WHEN.isdisjoint(words) and _JOINS.isdisjoint(words[1:])) or any(map(said.__contains__, _WHEN_WIDE))


def _has_any(seen: Seen, phrases: Sequence[str], wide: Sequence[str] = ()) -> bool:
    plain = f" {' '.join(seen.wording)} "
    return any(phrase in plain for phrase in phrases) or ("wide" in seen.said and any(map(plain.__contains__, wide)))


def _is_statement(seen: Seen, most: int) -> bool:
    count = count_words(" ".join(seen.wording))
    return _FEWEST <= count <= most and "?" not in seen.wording and seen.said.isdisjoint(_OTHER)


def _shares_command(seen: Seen) -> bool:
    return "ticks" in seen.said and not _RUNS.isdisjoint(seen.wording)


_PHRASES_MOST, _PHRASES_WORDS, _LETTERS = 1000, 8, 80


def read(data: bytes) -> dict[str, list[str]]:
    """Parse a user's phrases: JSON with the kinds of `knowledge/phrases/en.json`, each with a list of phrases."""
    from reflect_git.records import json_form

    try:
        phrases = json_form.loads(data.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise _wrong("the phrases are no JSON in UTF-8") from error
    if not isinstance(phrases, dict):
        raise _wrong("the phrases are no JSON object of kinds")
    check(phrases)
    return phrases


def _wrong(message: str) -> ReflectError:
    form = '{"correction": ["that is not how we do it"]}'
    return ReflectError(message, f"write them as {form}; kinds: {', '.join(KINDS)}", "phrases")


def check(phrases: Mapping[str, Any]) -> None:
    for kind, listed in phrases.items():
        if kind not in KINDS:
            raise _wrong(f"unknown kind of phrases '{kind}'")
        if not isinstance(listed, list) or not all(isinstance(phrase, str) for phrase in listed):
            raise _wrong(f"the phrases of '{kind}' are no list of strings")
        for phrase in listed:
            words = score_features.flatten(phrase.lstrip("^")).split()
            if not 0 < len(words) <= _PHRASES_WORDS or len(phrase) > _LETTERS:
                raise _wrong(
                    f"a phrase of '{kind}' has no words, more than {_PHRASES_WORDS} or over {_LETTERS} letters"
                )
    if sum(map(len, phrases.values())) > _PHRASES_MOST:
        raise _wrong(
            f"more than {_PHRASES_MOST} phrases, with '{max(phrases, key=lambda kind: len(phrases[kind]))}' first"
        )


def extend(phrases: Mapping[str, list[str]]) -> None:
    """Add a user's phrases.

    A message with one of a correction, convention, prohibition or workflow is always returned.
    """
    check(phrases)
    known = knowledge()
    for kind, listed in phrases.items():
        for phrase in listed:
            _add_phrase(phrase, kind, known)


def _add_phrase(phrase: str, kind: str, known: Knowledge) -> None:
    plain = " ".join(score_features.flatten(phrase.lstrip("^")).split())
    anchored = "^" * phrase.startswith("^") + plain
    known.phrases[anchored] = known.phrases.get(anchored, 0) | 1 << KINDS.index(kind)
    is_wide = plain[0] > score_features.WIDE
    if is_wide:
        known.phrases.starts.add(plain[0])
    known.phrases.long |= score_features.first_pairs([plain])
    if kind in MEANT:
        known.added.setdefault(plain[0] if is_wide else plain.split()[0], {}).setdefault(anchored, kind)
