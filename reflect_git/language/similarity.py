"""Measure how similar two texts are, and detect contradictions. For lists that people read; it merges nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from functools import lru_cache

from reflect_git.language import meaning
from reflect_git.language.meaning import (
    CREATING_VERBS,
    EMPTY_WORDS,
    LANGUAGES,
    NUMBERS,
    VAGUE_WORDS,
    Clause,
    get_subject_stem,
    get_words,
    have_same_sense,
    normalize_phrases,
    parse_clauses,
    parse_sense,
)
from reflect_git.language.parse import compute_key, opposes, parse_frame
from reflect_git.language.rule_form import is_english
from reflect_git.language.words import BAN_MARKS, ORDER_VERBS, drop_openers, load_words, plain_words

SIMILAR_LIMIT = 0.3
_STEM_LENGTH, _STEM_WEIGHT, _VAGUE_WEIGHT = 5, 0.8, 0.4
_MIN_SHARED_WORDS, _MAX_DIFFERENCES = 2, 2  # words that two texts share, and places in which two of one form differ
_MARK_WORDS = frozenset(("USE", "PREFER", "ALWAYS", "ONLY", "ASK", "VAGUE", "WHY", ",", ";", "INSTEAD", "BUT", "USED"))
_GLUE_WORDS = load_words("meanings", "glue")


def compute_similarity(a: str, b: str) -> float:
    """Return 0 to 1 from shared words, including translations and words on the same subject; opposites do not match."""
    first, second = _weigh_words(a), _weigh_words(b)
    shared = sum(weight for word, weight in first.items() if word in second)
    if not first or not second:
        return 0.0
    left = [word for word in first if word not in second and len(word) >= _STEM_LENGTH]
    if left:  # other endings of one word: migrations, Migrationen
        others = {word[:_STEM_LENGTH] for word in second if word not in first}
        shared += sum(_STEM_WEIGHT * first[word] for word in left if word[:_STEM_LENGTH] in others)
    sizes = sum(first.values()), sum(second.values())
    return min(1.0, 0.5 * shared / (sum(sizes) - shared) + 0.5 * shared / min(sizes))


def are_similar(a: str, b: str, likeness: float) -> bool:
    """Return whether two texts are worth showing side by side."""
    return likeness >= SIMILAR_LIMIT and not _have_different_subjects(a, b)


def _have_different_subjects(a: str, b: str) -> bool:
    """Return whether two texts have the same form but different subjects, or share only one word.

    "Never commit secrets" and "never commit generated files" are such a pair.
    """
    first, second = _get_content_words(a), _get_content_words(b)
    ends = [word[:_STEM_LENGTH] for word in first], [word[:_STEM_LENGTH] for word in second]
    mine = [word for word, end in zip(first, ends[0]) if end not in ends[1]]
    others = [word for word, end in zip(second, ends[1]) if end not in ends[0]]
    if VAGUE_WORDS.issuperset(mine) or VAGUE_WORDS.issuperset(others):
        return False
    if len(set(ends[0]).intersection(ends[1])) < _MIN_SHARED_WORDS:
        return True
    if len(first) == len(second):
        return sum(x != y for x, y in zip(*ends)) == max(len(mine), len(others)) <= _MAX_DIFFERENCES
    before = next(at for at, pair in enumerate(zip(*ends)) if pair[0] != pair[1])
    after = next((at for at, pair in enumerate(zip(ends[0][::-1], ends[1][::-1])) if pair[0] != pair[1]), 0)
    return before + after + max(len(mine), len(others)) == max(len(first), len(second))


def find_relation(a: str, b: str) -> str:
    """Return the relation of two texts: same (one entry is enough), contradicts, similar or different."""
    if compute_key(a) == compute_key(b):
        return "same"
    if contradicts(a, b):
        return "contradicts"
    if have_same_sense(parse_sense(a), parse_sense(b)):
        return "same"
    return "similar" if are_similar(a, b, compute_similarity(a, b)) else "different"


def contradicts(a: str, b: str) -> bool:
    """Return whether two texts cannot both hold, judging by their words."""
    return a != b and have_conflict(a, b)


def is_certain_contradiction(a: str, b: str) -> bool:
    """Return whether a contradiction is certain enough to refuse an approval: one demands what the other forbids.

    Frames in two languages share no words, so the meaning of the words decides there.
    """
    first, second = parse_frame(a), parse_frame(b)
    denied = {(not is_denied, form) for is_denied, form in parse_sense(a) or ()}
    if (first and second and opposes(first, second)) or not denied.isdisjoint(parse_sense(b) or ()):
        return True
    return is_english(a) != is_english(b) and contradicts(a, b)


@lru_cache(maxsize=16384)
def _weigh_words(text: str) -> dict[str, float]:
    """Return the content words of a text with their weights."""
    return {word: _VAGUE_WEIGHT if word in VAGUE_WORDS or len(word) < 3 else 1.0 for word in _get_content_words(text)}


@lru_cache(maxsize=16384)
def _get_content_words(text: str) -> tuple[str, ...]:
    """Return the content words of a text in order, one word for each subject."""
    is_spaced = text.isascii() or max(text) < "\u3040"
    words = drop_openers(plain_words(normalize_phrases(text))) if is_spaced else get_words(text)
    plain = (NUMBERS.get(word, word) for word in words if word not in _MARK_WORDS and word not in BAN_MARKS)
    found = (get_subject_stem(word.strip("/") or word) for word in plain)
    return tuple(word for word in found if word not in _GLUE_WORDS)


_SHORT_LIMIT = 120  # two texts this short together may exclude each other without a word in common
_FAILURE_MARK = " fails here"


def _index_by_word(sets: Sequence[frozenset[str]]) -> dict[str, frozenset[int]]:
    """Map each word to the numbers of the sets that contain it."""
    found: dict[str, set[int]] = {}
    for number, words in enumerate(sets):
        for word in words:
            found.setdefault(word, set()).add(number)
    return {word: frozenset(numbers) for word, numbers in found.items()}


_ALTERNATIVE_SETS, _SCOPE_SETS = _index_by_word(meaning.ALTERNATIVES), _index_by_word(meaning.SCOPES)
_NO_SETS: frozenset[int] = frozenset()


def _get_set_numbers(words: Set[str], table: Mapping[str, frozenset[int]]) -> frozenset[int]:
    return _NO_SETS.union(*(table[word] for word in words if word in table))


def have_conflict(a: str, b: str) -> bool:
    if _FAILURE_MARK in a or _FAILURE_MARK in b:  # what was found out is no order
        return False
    if not (_get_all_content(a) & _get_all_content(b)) and len(a) + len(b) > _SHORT_LIMIT:
        return False
    return (
        _has_denial(a, b) or _have_different_values(a, b) or _have_opposite_order(a, b) or _have_different_places(a, b)
    )  # fmt: skip


@lru_cache(maxsize=16384)
def _get_all_content(text: str) -> frozenset[str]:
    return frozenset().union(*(_get_content(clause) for clause in parse_clauses(text)))


def exclude_each_other(x: str, y: str) -> bool:
    if x == y:
        return False
    kinds = _ALTERNATIVE_SETS.get(x)
    if kinds and not kinds.isdisjoint(_ALTERNATIVE_SETS.get(y, _NO_SETS)):
        return True
    return x[-1] == y[-1] and (y in (f"un{x}", f"non-{x}") or x in (f"un{y}", f"non-{y}"))


def _has_denial(a: str, b: str) -> bool:
    """Return whether one text denies most of what a clause of the other says."""
    return any(
        _denies(one, other, parse_clauses(a)) or _denies(other, one, parse_clauses(b))
        for one in parse_clauses(a)
        for other in parse_clauses(b)
        if one.denied != other.denied
    )


def _denies(ban: Clause, wish: Clause, beside: Sequence[Clause]) -> bool:
    if not ban.denied:
        return False
    if "unless" in ban.near:  # "only X when C"
        core = _get_unconditional_words(ban)
        if not wish.words.isdisjoint(_get_content(ban) - core):  # an X when C
            return False
        if ban.near[0] == wish.near[0]:  # an X that says nothing of C
            ban = ban._replace(words=core, near=tuple(word for word in ban.near if word in core))
    if (
        _get_unconditional_words(ban).isdisjoint(_get_unconditional_words(wish))
        or not _forbids(ban, wish, beside)
        or _have_different_objects(ban, wish)
    ):
        return False
    # No to one kind and yes to the other go together: merged and unmerged ones.
    return not any(exclude_each_other(x, y) for x in ban.words - wish.words for y in wish.words - ban.words)


def _forbids(ban: Clause, wish: Clause, beside: Sequence[Clause]) -> bool:
    """Return whether most of what is forbidden is wanted. A ban that says more covers only a part, so both hold.

    `beside` are the other clauses of the ban's text: "send mails directly, without the queue".
    """
    bad, good = _get_content(ban), _get_content(wish)
    if _get_first_word(wish) in meaning.AVOIDING_VERBS - bad or (good - bad and limits_scope(bad - good)):
        return False
    if len(bad) == 1:
        about = any(not clause.denied and _get_content(clause) & good - bad for clause in beside)
        return bad <= good and (
            len(good) == 1 or about or _get_first_word(wish) in bad or not next(iter(bad)).isalnum()
        )
    shared = len(bad & good)
    return shared > 1 and shared >= (0.66 if good - bad else 0.5) * len(bad)


def _have_different_objects(ban: Clause, wish: Clause) -> bool:
    """Return whether the same action concerns different things, or different things are said of one.

    "Titles have no full stop" and "titles are in English" are such a pair.
    """
    first, second = ([word for word in clause.near if word in _get_content(clause)] for clause in (ban, wish))
    if first[:1] != second[:1]:
        return False
    if first[1:] and second[1:] and first[1] not in second and second[1] not in first:
        return True
    is_of_one = first[0] not in ORDER_VERBS or first[:2] == second[:2]
    return is_of_one and first[-1] not in second and second[-1] not in first


def _get_first_word(clause: Clause) -> str:
    content = _get_content(clause)
    return next((word for word in clause.near if word in content and word not in CREATING_VERBS), "")


def _get_unconditional_words(clause: Clause) -> frozenset[str]:
    """Return the words without conditions: "check before guessing" does not say to guess."""
    return frozenset(word for word in clause.tagged if ":" not in word) & _get_content(clause)


def _have_same_subject(one: frozenset[str], other: frozenset[str]) -> bool:
    shared, least = len(one & other), min(len(one), len(other))
    return least > 0 and shared >= 0.6 * least and (shared > 1 or least == 1)


def _have_different_values(a: str, b: str) -> bool:
    """Return whether two texts give one thing in one scope different values, overall or in a clause."""
    pairs = [(_get_wished_words(a), _get_wished_words(b))]
    if len(parse_clauses(a)) + len(parse_clauses(b)) > 2:
        pairs += [(one, other) for one in _get_wishes(a) for other in _get_wishes(b)]
    return any(_differ_in_value(one, other) for one, other in pairs)


def _differ_in_value(one: frozenset[str], other: frozenset[str]) -> bool:
    first, second = one - other, other - one
    if not first or not second or _get_set_numbers(first, _SCOPE_SETS) & _get_set_numbers(second, _SCOPE_SETS):
        return False
    for number in _get_set_numbers(first, _ALTERNATIVE_SETS) & _get_set_numbers(second, _ALTERNATIVE_SETS):
        rest, others = (
            frozenset(word for word in words - meaning.ALTERNATIVES[number] if not _is_version(word))
            for words in (first, second)
        )
        if limits_scope(rest ^ others):
            continue
        jobs, others_jobs = rest & meaning.JOBS, others & meaning.JOBS
        is_purpose = rest | others <= meaning.PURPOSES and (jobs == others_jobs or not (jobs and others_jobs))
        if (one & other and (is_purpose or not (rest and others))) or (is_purpose and len(one) + len(other) < 7):
            return True
    if not one & other:
        return False
    if len(first) == len(second) == 1 and exclude_each_other(*first, *second):
        return True
    rest, others = (frozenset(w for w in words - meaning.UNITS if not _is_version(w)) for words in (first, second))
    first, second = first - meaning.UNITS, second - meaning.UNITS
    return len(first - rest) == len(second - others) == 1 and not (rest and others)


def _is_version(word: str) -> bool:
    return word[0].isdigit() or word in ("latest", "newest")


def limits_scope(words: Set[str]) -> bool:
    """Return whether words that only one of two rules has limit its scope: both rules may then hold."""
    return not words.isdisjoint(_SCOPE_SETS)


def _get_wishes(text: str) -> list[frozenset[str]]:
    return [_get_content(clause) for clause in parse_clauses(text) if not clause.denied]


def _have_opposite_order(a: str, b: str) -> bool:
    """Return whether two texts demand opposite orders: A before B and B before A, or A first and A after something."""
    if any(
        _must_come_first(one, two) or _must_come_first(two, one) for one in parse_clauses(a) for two in parse_clauses(b)
    ):
        return True
    return any(
        _have_same_subject(one, after) and _have_same_subject(then, other) and not _have_same_subject(one, other)
        for one, then in _find_orders(a)
        for other, after in _find_orders(b)
    )


def _must_come_first(one: Clause, other: Clause) -> bool:
    if one.denied or other.denied or "first" not in one.tagged or "first" in other.words:
        return False
    what = _get_unconditional_words(one) - {"first"}
    return bool(what) and any(
        what <= later and ORDER_VERBS.isdisjoint(later - what) for _, later in _find_clause_order(other)
    )


def _have_different_places(a: str, b: str) -> bool:
    """Return whether one thing belongs in two places, or is written in two languages."""
    return any(
        thing == other and not (place <= there or there <= place) and bool(place & LANGUAGES) == bool(there & LANGUAGES)
        for thing, place in _find_places(a)
        for other, there in _find_places(b)
    )


@lru_cache(maxsize=16384)
def _find_places(text: str) -> tuple[tuple[frozenset[str], frozenset[str]], ...]:
    """Return pairs of thing and place: "X live in Y", "put X into Y", "X are kept under Y", "open X against Y"."""
    found = []
    for clause in parse_clauses(text):
        said = clause.near
        at = next((at for at, word in enumerate(said) if at and word in _PLACE_PREPOSITIONS and not clause.denied), 0)
        verbs = (
            _RECORDING_VERBS
            if at and (said[at] == "to" or not LANGUAGES.isdisjoint(said[at + 1 :]))
            else _PLACING_VERBS
        )
        is_there = said[at - 1 : at] in (("is",), ("be",)) and any("/" in word for word in said[at:])
        if not at or not (is_there or said[at] == "target" or not verbs.isdisjoint(said[:at])):
            continue
        thing = (frozenset(said[:at]) - verbs - EMPTY_WORDS) or (frozenset(said[:at]) - verbs - _BE_FORMS)
        place = (frozenset(said[at + 1 :]) - EMPTY_WORDS - _PLACE_PREPOSITIONS) or (
            frozenset(said[at + 1 :]) - _BE_FORMS
        )
        if thing and place:
            found.append((thing, place))
    return tuple(found)


_BE_FORMS = frozenset(("is", "be"))
_PLACING_VERBS = frozenset("put plac stor sav keep liv go goe belong sit locat land open".split())
_RECORDING_VERBS = _PLACING_VERBS | frozenset("writ record log send".split())
_PLACE_PREPOSITIONS = frozenset("in into to under next besid alongsid at on against onto target".split())


@lru_cache(maxsize=16384)
def _find_orders(text: str) -> tuple[tuple[frozenset[str], frozenset[str]], ...]:
    return tuple(pair for clause in parse_clauses(text) for pair in _find_clause_order(clause))


def _find_clause_order(clause: Clause) -> list[tuple[frozenset[str], frozenset[str]]]:
    """Return pairs of (earlier, later) things in a clause."""
    found = []
    plain = frozenset(word for word in clause.tagged if ":" not in word) - EMPTY_WORDS
    for tag in ("before:", "after:"):
        other = frozenset(word.removeprefix(tag) for word in clause.tagged if word.startswith(tag)) - EMPTY_WORDS
        if plain and other and not clause.denied:
            found.append((plain, other) if tag == "before:" else (other, plain))
    return found


@lru_cache(maxsize=16384)
def _get_wished_words(text: str) -> frozenset[str]:
    return frozenset().union(*_get_wishes(text))


@lru_cache(maxsize=16384)
def _get_content(clause: Clause) -> frozenset[str]:
    return clause.words - EMPTY_WORDS
