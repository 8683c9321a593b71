"""Score a message: whether it is a signal, its type, how certain that is, whether it lasts, and the sentence to keep.

A linear model and small trees over the features of `score_features`; `bench/train_messages.py` writes the weights.
"""

from __future__ import annotations

import os
from math import exp, sqrt
from operator import itemgetter
from struct import calcsize, unpack_from

from reflect_git.capture import score_features
from reflect_git.capture.score_features import BUCKETS, CORE_FACTS, FACT_NAMES, KINDS, OPENINGS, MessageFeatures
from reflect_git.errors import ReflectError
from reflect_git.language.parse import is_current_task, parse_frame, says_all_projects
from reflect_git.language.words import load_table
from reflect_git.records.ids import count_words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any, Optional


FILE_MAGIC = b"reflect-git messages 4\n"
# Weights are bytes around this one: an array of signed ones would cost an import of 2.6 ms.
ZERO_WEIGHT = 128
TYPES = ("correction", "convention", "command", "gotcha", "discovery", "pattern", "project_friction")
HEAD_NAMES = ("signal", "durable")
FEATURE_PARTS = (
    ("facts", len(FACT_NAMES)),
    ("pairs", len(CORE_FACTS) ** 2),
    ("words", BUCKETS),
    ("letters", BUCKETS),
    ("openings", OPENINGS),
)
# Types are told apart by fewer: with pairs and letters they would cost half of a message's time.
TYPE_PARTS = (("facts", len(FACT_NAMES)), ("words", BUCKETS))
TREE_DEPTH = 4
TREE_NODES, TREE_LEAVES = (1 << TREE_DEPTH) - 1, 1 << TREE_DEPTH
# Thresholds on the signal head (returned, confidence 2, confidence 3), on the durable head (lasts, confidence 2); what
# some facts add.
LIMIT_NAMES = ("returned", "confident", "certain", "durable", "standing", "refusal", "queued", "after_failure", "rule")
# Lifts `In all my projects, write …` (-3.3 as a first message) over the limit of what is asked first (0.5).
ALL_PROJECTS_BONUS = 4.0
KNOWLEDGE_DIR = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "knowledge")
# What a phrase of the user makes of a message that has it.
TYPE_BY_PHRASE_KIND = {
    "correction": "correction",
    "workflow": "correction",
    "convention": "convention",
    "prohibition": "convention",
}
_PRAISE_BIT, _NEUTRAL_BIT = 1 << KINDS.index("praise"), 1 << KINDS.index("neutral")
_SIGNAL_BITS = (1 << len(KINDS)) - 1 - _PRAISE_BIT - _NEUTRAL_BIT
_HINT_BITS = _SIGNAL_BITS | score_features.INSTEAD_BIT | score_features.TOOL_BIT
_MAX_WEIGHED, _MAX_WEIGHED_WORDS, _FRAME_LIMIT, _MAX_TOOL_WORDS = 3, 24, 160, 3
_MIN_PRAISED_STEPS, _MAX_PRAISE_WORDS = 2, 12
_MAX_ACKNOWLEDGEMENT_WORDS, _MAX_ACKNOWLEDGED = 4, 240  # words, letters


class ScoreResult:
    """The scorer's result for one message. `is_standing`: it is short, and surely holds in later sessions."""

    __slots__ = ("confidence", "durable", "is_signal", "is_standing", "score", "sentence", "type")

    def __init__(
        self, score: float, is_signal: bool, kind: str, confidence: int, durable: bool, text: str,
        is_standing: bool = False,
    ) -> None:  # fmt: skip
        self.score = score
        self.is_signal = is_signal
        self.type = kind
        self.confidence = confidence
        self.durable = durable
        self.sentence = text
        self.is_standing = is_standing

    def __repr__(self) -> str:
        return f"Verdict({', '.join(repr(getattr(self, name)) for name in self.__slots__)})"


def get_values(table: bytes, places: Sequence[int]) -> Sequence[int]:
    """Return the values at these places, in 0.4 of the time of subscribing one by one."""
    if len(places) < 2:
        return [table[place] for place in places]
    found: Sequence[int] = itemgetter(*places)(table)
    return found


class DecisionTrees:
    """Small trees of one depth that test facts, level by level: below place n are 2n (false) and 2n+1 (true)."""

    __slots__ = ("leaves", "levels", "scale")

    def __init__(self, scale: float, nodes: bytes, leaves: bytes) -> None:
        count = len(leaves) // TREE_LEAVES
        self.scale = scale
        self.levels = [
            nodes[count * (size - 1) : count * (2 * size - 1)] for size in (1 << at for at in range(TREE_DEPTH))
        ]
        self.leaves = leaves

    def compute_score(self, facts: list[int]) -> float:
        holds = bytearray(256)
        for fact in facts:
            holds[fact] = 1
        places: Sequence[int] = range(len(self.leaves) // TREE_LEAVES)
        for level in self.levels:
            answers = level.translate(holds)
            places = [at + at + answers[at] for at in places]
        return self.scale * (sum(get_values(self.leaves, places)) - ZERO_WEIGHT * len(places))


class Head:
    """One output of the model: a bias and, for each part of the features, one-byte weights and their scale."""

    __slots__ = ("bias", "parts")

    def __init__(self, bias: float, parts: dict[str, tuple[float, bytes]]) -> None:
        self.bias = bias
        self.parts = parts

    def compute_score(self, seen: MessageFeatures) -> float:
        return self.bias + sum([self.compute_part_score(part, getattr(seen, part)) for part in self.parts])

    def compute_part_score(self, part: str, places: list[int]) -> float:
        """Return the contribution of one part, normalised by length: a long message must not count more."""
        scale, table = self.parts[part]
        return scale * (sum(get_values(table, places)) - ZERO_WEIGHT * len(places)) / compute_length_norm(part, places)


class TypeHeads:
    """All type outputs at once; their weights for one place are adjacent, so that each place is looked up once."""

    __slots__ = ("biases", "parts")

    def __init__(self, biases: tuple[float, ...], parts: dict[str, tuple[tuple[float, ...], bytes]]) -> None:
        self.biases = biases
        self.parts = parts

    def compute_scores(self, seen: MessageFeatures) -> list[float]:
        heights, count = list(self.biases), len(TYPES)
        for part, (scales, table) in self.parts.items():
            places = getattr(seen, part)
            root = compute_length_norm(part, places)
            rows = [table[at : at + count] for at in map(count.__mul__, places)]
            for kind, weights in enumerate(zip(*rows)):
                heights[kind] += scales[kind] * (sum(weights) - ZERO_WEIGHT * len(places)) / root
        return heights


def compute_length_norm(part: str, places: list[int]) -> float:
    return sqrt(len(places)) if places and part != "facts" else 1.0


class Knowledge:
    """The weights, limits and phrases from the file, and the user's own phrases by their first word."""

    __slots__ = ("heads", "limits", "phrases", "trees", "types", "user_phrases")

    def __init__(
        self,
        limits: dict[str, float],
        heads: dict[str, Head],
        trees: DecisionTrees,
        types: TypeHeads,
        phrases: score_features.Phrases,
    ) -> None:
        self.heads = heads
        self.trees = trees
        self.types = types
        self.limits = limits
        self.phrases = phrases
        self.user_phrases: dict[str, dict[str, str]] = {}


_knowledge: Optional[Knowledge] = None


def load_knowledge() -> Knowledge:
    """Return the weights, loaded once per process."""
    global _knowledge
    if _knowledge is None:
        with open(os.path.join(KNOWLEDGE_DIR, "messages.bin"), "rb") as file:
            _knowledge = parse_knowledge(file.read())
    return _knowledge


def parse_knowledge(data: bytes) -> Knowledge:
    if not data.startswith(FILE_MAGIC):
        raise ValueError("not a knowledge file of this version")
    at = len(FILE_MAGIC)
    limits = dict(zip(LIMIT_NAMES, unpack_from(f"<{len(LIMIT_NAMES)}f", data, at)))
    at += calcsize(f"<{len(LIMIT_NAMES)}f")
    heads = {}
    for name in HEAD_NAMES:
        heads[name], at = _parse_head(data, at)
    trees, at = _parse_trees(data, at)
    types, at = _parse_types(data, at)
    return Knowledge(limits, heads, trees, types, _parse_phrases(data[at:].decode("utf-8")))


def _parse_head(data: bytes, at: int) -> tuple[Head, int]:
    form = f"<{1 + len(FEATURE_PARTS)}f"
    bias, *scales = unpack_from(form, data, at)
    at += calcsize(form)
    tables = {}
    for scale, (part, size) in zip(scales, FEATURE_PARTS):
        tables[part] = (scale, data[at : at + size])
        at += size
    return Head(bias, tables), at


def _parse_trees(data: bytes, at: int) -> tuple[DecisionTrees, int]:
    scale, count = unpack_from("<fH", data, at)
    at += calcsize("<fH")
    middle, end = at + TREE_NODES * count, at + (TREE_NODES + TREE_LEAVES) * count
    return DecisionTrees(scale, data[at:middle], data[middle:end]), end


def _parse_types(data: bytes, at: int) -> tuple[TypeHeads, int]:
    form = f"<{len(TYPES)}f"
    biases = unpack_from(form, data, at)
    at += calcsize(form)
    tables = {}
    for part, size in TYPE_PARTS:
        scales = unpack_from(form, data, at)
        at += calcsize(form)
        tables[part] = (scales, data[at : at + size * len(TYPES)])
        at += size * len(TYPES)
    return TypeHeads(biases, tables), at


def _parse_phrases(text: str) -> score_features.Phrases:
    """Parse the phrases: each block starts with the bits of its kinds."""
    phrases: dict[str, int] = {}
    for block in text.split("\n\n"):
        mask, *lines = block.split("\n")
        if lines:
            phrases.update(dict.fromkeys(lines, int(mask)))
    return score_features.Phrases(phrases)


def _find_user_phrase(lines: list[str], added: Mapping[str, Mapping[str, str]]) -> str:
    """Return the kind of a user's phrase in these lines, or an empty text."""
    if not added:
        return ""
    plain = f" {' '.join(score_features.normalize_text(' '.join(lines)).split())} "
    for start in sorted({*plain.split(), *filter(score_features.FIRST_WIDE_LETTER.__lt__, plain)}.intersection(added)):
        for phrase, kind in added[start].items():
            bare = phrase.lstrip("^")
            whole = bare if bare[0] > score_features.FIRST_WIDE_LETTER else f" {bare} "
            if plain.lstrip().startswith(whole.lstrip()) if phrase[0] == "^" else whole in plain:
                return kind
    return ""


def score_message(text: str, via: str, context: Mapping[str, Any]) -> ScoreResult:
    """Score a message.

    `via` is prompt, queued, feedback or command-args; any key of the context may be missing. A rule behind "Great,
    thanks!" is scored by itself: 8 of 16 were missed. Of 1,304 labelled messages, this captures no further one.
    """
    found = _score_text(text, via, context)
    rest = "" if found.is_signal and found.type != "pattern" else _drop_acknowledgement(text)
    said = _score_text(rest, via, context) if rest else found
    return said if said.is_standing else found


def _drop_acknowledgement(text: str) -> str:
    """Return a short message without its first sentence, if that is short and asks nothing; else nothing."""
    if len(text) > _MAX_ACKNOWLEDGED:
        return ""
    first, *rest = score_features.split_sentences(text) or [""]
    return "" if "?" in first or count_words(first) > _MAX_ACKNOWLEDGEMENT_WORDS else " ".join(rest)


def _score_text(text: str, via: str, context: Mapping[str, Any]) -> ScoreResult:
    known = load_knowledge()
    seen = MessageFeatures(text, via, context, known.phrases)
    if "client" in seen.fact_names or not any(map(_has_letters, seen.lines)):
        return ScoreResult(0.0, False, "none", 1, False, "")
    limits, lasting = known.limits, known.heads["durable"].compute_score(seen)
    height = compute_log_odds(seen, known, lasting)
    framed = may_name_tool(seen)
    added = _find_user_phrase(seen.lines, known.user_phrases)
    from_now_on = says_from_now_on(seen)
    if not added and via != "feedback" and (is_praise(seen) or is_liking(seen)):
        return _score_praise(seen, height, context, limits)
    if not (framed or added or from_now_on or reaches_limit(height, via, limits)):
        return ScoreResult(to_probability(height), False, "none", 1, False, "")
    said, framed = choose_sentence(seen.lines, framed, known)
    height = max(height, limits["certain"] if framed else limits["confident"] if added or from_now_on else height)
    if not reaches_limit(height, via, limits):
        return ScoreResult(to_probability(height), False, "none", 1, False, "")
    of_all = is_about_all_projects(seen)
    lasts = framed or of_all or from_now_on or states_rule(seen) or lasting >= limits["durable"]
    kind = "correction" if framed else TYPE_BY_PHRASE_KIND[added] if added else _find_type(seen, known)
    is_standing = lasting >= limits["standing"] and is_short_statement(seen)
    confidence = max(2 if added or of_all or from_now_on or is_standing else 1, get_confidence(height, lasting, limits))
    text = score_features.clip_sentence(said)
    return ScoreResult(to_probability(height), True, kind, confidence, lasts, text, is_standing)


def to_probability(height: float) -> float:
    return 1.0 / (1.0 + exp(-max(-30.0, min(30.0, height))))


def _has_letters(line: str) -> bool:
    return any(map(str.isalnum, line))


def _find_type(seen: MessageFeatures, known: Knowledge) -> str:
    heights = known.types.compute_scores(seen)
    return TYPES[heights.index(max(heights))]


def compute_log_odds(seen: MessageFeatures, known: Knowledge, lasting: float) -> float:
    """Return the log odds of a signal, at least the limit for what is likely to last.

    Labelled messages have few plain statements ("money in cents"), so the signal head puts them far below its limit.
    """
    taught = known.heads["signal"].compute_score(seen) + known.trees.compute_score(seen.facts)
    height = (
        taught
        + compute_context_bonus(seen.fact_names, known.limits)
        + (ALL_PROJECTS_BONUS if is_about_all_projects(seen) else 0.0)
    )
    limit = known.limits["returned"]
    height = raise_to_limit(seen, height, limit)
    is_lasting = lasting >= known.limits["durable"] and is_short_statement(seen)
    return max(height, limit) if is_lasting else height


def is_about_all_projects(seen: MessageFeatures) -> bool:
    """Return whether a message is about all projects, which is seldom meant for the current task."""
    return (
        seen.fact_names.isdisjoint(("ends_ask", "ask"))
        and not is_current_task(seen.wording)
        and says_all_projects(seen.wording)
    )


def compute_context_bonus(said: frozenset[str], limits: Mapping[str, float]) -> float:
    """Return what labelled messages cannot teach: typed during work, after a failure, a lasting instruction."""
    height = limits["queued"] if "queued" in said else 0.0
    if "failure" in said:
        height += limits["after_failure"]
    if "ends_ask" not in said and ("rule" in said or "frame" in said):
        height += limits["rule"]
    return height


def compute_confidence_score(height: float, lasting: float) -> float:
    """Return the value that confidence is based on: a lasting statement is more likely a signal.

    By session, at a recall of 0.47: precision 0.802, and 0.797 without it.
    """
    return height + 0.3 * lasting


def reaches_limit(height: float, via: str, limits: Mapping[str, float]) -> bool:
    return height >= limits["refusal" if via == "feedback" else "returned"]


def get_confidence(height: float, lasting: float, limits: Mapping[str, float]) -> int:
    if height >= limits["certain"]:
        return 3
    return 2 if compute_confidence_score(height, lasting) >= limits["confident"] else 1


def may_name_tool(seen: MessageFeatures) -> bool:
    """Return whether a tool or a command is named at all; scripts without spaces may hide one in a word."""
    return not seen.fact_names.isdisjoint(("ticks", "wide")) or bool(
        score_features.join_masks(seen.masks) & score_features.TOOL_BIT
    )


def choose_sentence(lines: list[str], framed: bool, known: Knowledge) -> tuple[str, bool]:
    """Return the sentence that says most, and whether it says to use one tool instead of another."""
    parts = score_features.limit_sentences(score_features.split_lines(lines))
    if len(parts) == 1 and not framed:
        return parts[0], False
    best, most = "", -1e9
    for part, plain in _shortlist_sentences(parts, known.phrases):
        words = plain.split()[:_MAX_WEIGHED_WORDS]
        masks = score_features.find_masks(words, plain, known.phrases)
        named = framed and _names_tools(part, plain, known.phrases)
        if named and _is_tool_replacement(part, score_features.join_masks(masks), known.phrases):
            return part, True
        weight = _compute_sentence_weight(words, masks, known)
        if weight > most:
            best, most = part, weight
    return best, False


def _shortlist_sentences(parts: list[str], phrases: score_features.Phrases) -> list[tuple[str, str]]:
    """Return the few sentences worth weighing, by a quick look: weighing all ten would double the time."""
    flat = [(part, score_features.normalize_text(part)) for part in parts]
    if len(parts) <= _MAX_WEIGHED:
        return flat
    hints = [-_count_hints(plain, phrases) for _, plain in flat]
    return [flat[at] for at in sorted(sorted(range(len(parts)), key=hints.__getitem__)[:_MAX_WEIGHED])]


def _count_hints(plain: str, phrases: score_features.Phrases) -> int:
    words = plain.split()[:_MAX_WEIGHED_WORDS]
    found = [*map(phrases.get, words), *map(phrases.get, map(" ".join, zip(words, words[1:])))]
    wide = 0 if plain.isascii() else len([letter for letter in plain[:_FRAME_LIMIT] if letter in phrases.wide_starts])
    return wide + len([mask for mask in found if mask and mask & _HINT_BITS])


def _names_tools(part: str, plain: str, phrases: Mapping[str, int]) -> bool:
    if part.rstrip()[-1:] in "?？":
        return False
    words = score_features.separate_wide_letters(plain).split()
    return part.count("`") > 1 or any(phrases.get(word, 0) & score_features.TOOL_BIT for word in words)


def _is_tool_replacement(part: str, every: int, phrases: Mapping[str, int]) -> bool:
    if not every & score_features.USE_BIT or every & score_features.INSTEAD_BIT or len(part) > _FRAME_LIMIT:
        return bool(every & score_features.USE_BIT and every & score_features.INSTEAD_BIT)
    frame = parse_frame(part)
    if frame is None or not frame.wanted:
        return False
    tools = [bool(phrases.get(word, 0) & score_features.TOOL_BIT) for word in frame.unwanted.split()]
    return any(tools) and len(tools) <= _MAX_TOOL_WORDS and len(frame.wanted.split()) <= _MAX_TOOL_WORDS


def _compute_sentence_weight(words: list[str], masks: list[int], known: Knowledge) -> float:
    """Return how strongly a sentence indicates a signal, by its words and phrases."""
    lean = known.heads["signal"].compute_part_score("words", score_features.word_buckets(words))
    telling = len([mask for mask in masks if mask & _SIGNAL_BITS])
    neutral = len([mask for mask in masks if mask & _NEUTRAL_BIT])
    return lean + 0.5 * min(telling, 6) - 0.4 * min(neutral, 2)


def is_praise(seen: MessageFeatures) -> bool:
    """Return whether a message is praise and nothing else."""
    if is_plain_praise(seen):
        return True
    praise = [mask for mask in seen.masks if mask & _PRAISE_BIT]
    if len(praise) < 2 or len(seen.wording) > _MAX_PRAISE_WORDS or "?" in seen.wording:
        return False
    return not score_features.join_masks(seen.masks) & _SIGNAL_BITS


def _score_praise(
    seen: MessageFeatures, height: float, context: Mapping[str, Any], limits: Mapping[str, float]
) -> ScoreResult:
    """Return the result for praise: it counts only after several steps, and lasts if it says what was liked."""
    steps = context.get("steps")
    if not isinstance(steps, int) or steps < _MIN_PRAISED_STEPS:
        return ScoreResult(to_probability(height), False, "none", 1, False, "")
    says_what = is_liking(seen)
    height = max(height, limits["confident"]) if says_what else height
    said = score_features.clip_sentence(" ".join(seen.lines))
    return ScoreResult(to_probability(height), True, "pattern", 2 if says_what else 1, says_what, said)


# Of 1,304 labelled real messages six more are captured, none of them a signal; of 12 rules that trials missed, 11 are.
MAX_LIFT = 0.6
_MIN_RULE_WORDS, _MAX_RULE_WORDS, _MAX_CORRECTION_WORDS = 3, 30, 12
_MAX_STATEMENT_WORDS = 16  # words: a longer message is rather a task with details
_MIN_LIKING_WORDS = 7  # words: fewer leave no room for what is liked
_WORD_LISTS = load_table("stated")
_STANDING_WORDS, _RUN_WORDS, _PURPOSE_WORDS, _WHEN_WORDS, _JOINING_WORDS = (
    frozenset(_WORD_LISTS[name].split()) for name in ("standing_words", "runs", "purposes", "when_words", "joins")
)  # fmt: skip
_WHEN_WIDE = tuple(_WORD_LISTS["when_wide"])
_STANDING_PHRASES = tuple(f" {phrase} " for phrase in _WORD_LISTS["standing_phrases"])
_FROM_NOW_ON_PHRASES = tuple(f" {phrase} " for phrase in _WORD_LISTS["from_now_on"])
_CORRECTION_PHRASES = tuple(f" {phrase} " for phrase in _WORD_LISTS["corrections"])
_LIKING_PHRASES = tuple(f" {phrase} " for phrase in _WORD_LISTS["likings"])
_PRAISE_PHRASES = frozenset(_WORD_LISTS["praise"])
_PRAISE_WORDS = tuple([word] for word in _PRAISE_PHRASES if " " not in word)
_NOT_STATEMENT_FACTS = ("first", "ask", "ends_ask", "you_did", "client", "lets", "can_you", "can_we")
_TASK_FACTS = (*_NOT_STATEMENT_FACTS[1:], "task", "slash")


def raise_to_limit(seen: MessageFeatures, height: float, limit: float) -> float:
    """Raise such a statement to the limit and no further: higher, it would displace what the model is sure of."""
    if height >= limit:
        return height
    is_near = height + MAX_LIFT >= limit and states_rule(seen)
    return limit if is_near or is_correction_or_command(seen) else height


def states_rule(seen: MessageFeatures) -> bool:
    """Return whether a short message says what always holds, where things belong, or which command is for what."""
    if not _is_statement(seen, _MAX_RULE_WORDS):
        return False
    is_command = _gives_command(seen) and not _PURPOSE_WORDS.isdisjoint(seen.wording)
    words = " ".join(seen.wording).replace("never mind", "").split()
    return (
        not _STANDING_WORDS.isdisjoint(words)
        or is_command
        or _has_phrase(seen, _STANDING_PHRASES, _WORD_LISTS["standing_wide"])
    )


def says_from_now_on(seen: MessageFeatures) -> bool:
    """Return whether a short message says that it holds from now on, also as a question: "could you from now on …?"."""
    is_short = count_words(" ".join(seen.wording)) <= _MAX_RULE_WORDS
    return is_short and _has_phrase(seen, _FROM_NOW_ON_PHRASES, _WORD_LISTS["from_now_on_wide"])


def is_correction_or_command(seen: MessageFeatures) -> bool:
    """Return whether a message of a few words corrects something or gives a command, lasting or not."""
    return _is_statement(seen, _MAX_CORRECTION_WORDS) and (
        _gives_command(seen) or _has_phrase(seen, _CORRECTION_PHRASES)
    )


def is_short_statement(seen: MessageFeatures) -> bool:
    """Tell whether a message is short, asks nothing and does not begin like a task."""
    is_short = len(seen.wording) <= _MAX_STATEMENT_WORDS and "?" not in seen.wording
    return is_short and seen.fact_names.isdisjoint(_TASK_FACTS) and not is_current_task(seen.wording)


def is_plain_praise(seen: MessageFeatures) -> bool:
    """Return whether a message is one phrase of praise and nothing else."""
    return " ".join(seen.wording) in _PRAISE_PHRASES


def is_liking(seen: MessageFeatures) -> bool:
    """Return whether a message praises a way of working and names it: "exactly how I like it: one commit each"."""
    is_praise = "praise" in seen.fact_names or seen.wording[:1] in _PRAISE_WORDS
    is_told = count_words(" ".join(seen.wording)) >= _MIN_LIKING_WORDS and "?" not in seen.wording
    return is_praise and is_told and _has_phrase(seen, _LIKING_PHRASES, _WORD_LISTS["likings_wide"])


def is_way_of_working(said: str) -> bool:
    """Return whether a text is a way of working ("run the linter before a push") rather than a task.

    It says when it holds or what is not wanted, or it joins two instructions.
    """
    words = said.split()
    return not (_WHEN_WORDS.isdisjoint(words) and _JOINING_WORDS.isdisjoint(words[1:])) or any(
        map(said.__contains__, _WHEN_WIDE)
    )


def _has_phrase(seen: MessageFeatures, phrases: Sequence[str], wide: Sequence[str] = ()) -> bool:
    plain = f" {' '.join(seen.wording)} "
    return any(phrase in plain for phrase in phrases) or (
        "wide" in seen.fact_names and any(map(plain.__contains__, wide))
    )


def _is_statement(seen: MessageFeatures, most: int) -> bool:
    count = count_words(" ".join(seen.wording))
    return (
        _MIN_RULE_WORDS <= count <= most
        and "?" not in seen.wording
        and seen.fact_names.isdisjoint(_NOT_STATEMENT_FACTS)
    )


def _gives_command(seen: MessageFeatures) -> bool:
    return "ticks" in seen.fact_names and not _RUN_WORDS.isdisjoint(seen.wording)


_MAX_PHRASES, _MAX_PHRASE_WORDS, _MAX_PHRASE_LETTERS = 1000, 8, 80


def parse_user_phrases(data: bytes) -> dict[str, list[str]]:
    """Parse a user's phrases: JSON with the kinds of `knowledge/phrases/en.json`, each with a list of phrases."""
    from reflect_git.records import json_form

    try:
        phrases = json_form.loads(data.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise _build_phrase_error("the phrases are no JSON in UTF-8") from error
    if not isinstance(phrases, dict):
        raise _build_phrase_error("the phrases are no JSON object of kinds")
    check_phrases(phrases)
    return phrases


def _build_phrase_error(message: str) -> ReflectError:
    form = '{"correction": ["that is not how we do it"]}'
    return ReflectError(message, f"write them as {form}; kinds: {', '.join(KINDS)}", "phrases")


def check_phrases(phrases: Mapping[str, Any]) -> None:
    for kind, listed in phrases.items():
        if kind not in KINDS:
            raise _build_phrase_error(f"unknown kind of phrases '{kind}'")
        if not isinstance(listed, list) or not all(isinstance(phrase, str) for phrase in listed):
            raise _build_phrase_error(f"the phrases of '{kind}' are no list of strings")
        for phrase in listed:
            words = score_features.normalize_text(phrase.lstrip("^")).split()
            if not 0 < len(words) <= _MAX_PHRASE_WORDS or len(phrase) > _MAX_PHRASE_LETTERS:
                raise _build_phrase_error(
                    f"a phrase of '{kind}' has no words, more than {_MAX_PHRASE_WORDS} "
                    f"or over {_MAX_PHRASE_LETTERS} letters"
                )
    if sum(map(len, phrases.values())) > _MAX_PHRASES:
        raise _build_phrase_error(
            f"more than {_MAX_PHRASES} phrases, with '{max(phrases, key=lambda kind: len(phrases[kind]))}' first"
        )


def add_phrases(phrases: Mapping[str, list[str]]) -> None:
    """Add a user's phrases.

    A message with one of a correction, convention, prohibition or workflow is always returned.
    """
    check_phrases(phrases)
    known = load_knowledge()
    for kind, listed in phrases.items():
        for phrase in listed:
            _add_phrase(phrase, kind, known)


def _add_phrase(phrase: str, kind: str, known: Knowledge) -> None:
    plain = " ".join(score_features.normalize_text(phrase.lstrip("^")).split())
    anchored = "^" * phrase.startswith("^") + plain
    known.phrases[anchored] = known.phrases.get(anchored, 0) | 1 << KINDS.index(kind)
    is_wide = plain[0] > score_features.FIRST_WIDE_LETTER
    if is_wide:
        known.phrases.wide_starts.add(plain[0])
    known.phrases.long_starts |= score_features.first_pairs([plain])
    if kind in TYPE_BY_PHRASE_KIND:
        known.user_phrases.setdefault(plain[0] if is_wide else plain.split()[0], {}).setdefault(anchored, kind)
