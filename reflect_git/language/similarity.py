"""Measure how similar two texts are, and detect contradictions. For lists that people read; it merges nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from functools import lru_cache

from reflect_git.language import meaning
from reflect_git.language.meaning import (
    EMPTY,
    LANGUAGES,
    LOOSE,
    MAKING,
    NUMBERS,
    Clause,
    agree,
    akin,
    clauses_of,
    plainly,
    sense_of,
    words_of,
)
from reflect_git.language.parse import frame_of, key_of, opposes
from reflect_git.language.rule_form import is_english
from reflect_git.language.words import BANS, ORDERS, opened, plain_words, words_in

SIMILAR = 0.3
_STEM, _ALMOST, _LITTLE = 5, 0.8, 0.4
_FEW, _SLOTS = 2, 2  # words that two texts share, and places in which two of one form differ
_MARKS = frozenset(("USE", "PREFER", "ALWAYS", "ONLY", "ASK", "VAGUE", "WHY", ",", ";", "INSTEAD", "BUT", "USED"))
_GLUE = words_in("meanings", "glue")


def similarity(a: str, b: str) -> float:
    """Return 0 to 1 from shared words, including translations and words on the same subject; opposites do not match."""
    first, second = _concepts(a), _concepts(b)
    shared = sum(weight for word, weight in first.items() if word in second)
    if not first or not second:
        return 0.0
    left = [word for word in first if word not in second and len(word) >= _STEM]
    if left:  # other endings of one word: migrations, Migrationen
        others = {word[:_STEM] for word in second if word not in first}
        shared += sum(_ALMOST * first[word] for word in left if word[:_STEM] in others)
    sizes = sum(first.values()), sum(second.values())
    return min(1.0, 0.5 * shared / (sum(sizes) - shared) + 0.5 * shared / min(sizes))


def are_similar(a: str, b: str, likeness: float) -> bool:
    """Return whether two texts are worth showing side by side."""
    return likeness >= SIMILAR and not _are_about_two_things(a, b)


def _are_about_two_things(a: str, b: str) -> bool:
    """Return whether two texts have the same form but different subjects, or share only one word.

    "Never commit secrets" and "never commit generated files" are such a pair.
    """
    first, second = _said(a), _said(b)
    ends = [word[:_STEM] for word in first], [word[:_STEM] for word in second]
    mine = [word for word, end in zip(first, ends[0]) if end not in ends[1]]
    others = [word for word, end in zip(second, ends[1]) if end not in ends[0]]
    if LOOSE.issuperset(mine) or LOOSE.issuperset(others):
        return False
    if len(set(ends[0]).intersection(ends[1])) < _FEW:
        return True
    if len(first) == len(second):
        return sum(x != y for x, y in zip(*ends)) == max(len(mine), len(others)) <= _SLOTS
    before = next(at for at, pair in enumerate(zip(*ends)) if pair[0] != pair[1])
    after = next((at for at, pair in enumerate(zip(ends[0][::-1], ends[1][::-1])) if pair[0] != pair[1]), 0)
    return before + after + max(len(mine), len(others)) == max(len(first), len(second))


def relation(a: str, b: str) -> str:
    """Return the relation of two texts: same (one entry is enough), contradicts, similar or different."""
    if key_of(a) == key_of(b):
        return "same"
    if contradicts(a, b):
        return "contradicts"
    if agree(sense_of(a), sense_of(b)):
        return "same"
    return "similar" if are_similar(a, b, similarity(a, b)) else "different"


def contradicts(a: str, b: str) -> bool:
    """Return whether two texts cannot both hold, judging by their words."""
    return a != b and clash(a, b)


def is_opposed(a: str, b: str) -> bool:
    """Return whether a contradiction is certain enough to refuse an approval: one demands what the other forbids.

    Frames in two languages share no words, so the meaning of the words decides there.
    """
    first, second = frame_of(a), frame_of(b)
    denied = {(not is_denied, form) for is_denied, form in sense_of(a) or ()}
    if (first and second and opposes(first, second)) or not denied.isdisjoint(sense_of(b) or ()):
        return True
    return is_english(a) != is_english(b) and contradicts(a, b)


@lru_cache(maxsize=16384)
def _concepts(text: str) -> dict[str, float]:
    """Return the content words of a text with their weights."""
    return {word: _LITTLE if word in LOOSE or len(word) < 3 else 1.0 for word in _said(text)}


@lru_cache(maxsize=16384)
def _said(text: str) -> tuple[str, ...]:
    """Return the content words of a text in order, one word for each subject."""
    is_spaced = text.isascii() or max(text) < "\u3040"
    words = opened(plain_words(plainly(text))) if is_spaced else words_of(text)
    plain = (NUMBERS.get(word, word) for word in words if word not in _MARKS and word not in BANS)
    found = (akin(word.strip("/") or word) for word in plain)
    return tuple(word for word in found if word not in _GLUE)


_SHORT = 120  # two texts this short together may exclude each other without a word in common
_FAILS = " fails here"


def _by_word(sets: Sequence[frozenset[str]]) -> dict[str, frozenset[int]]:
    """Map each word to the numbers of the sets that contain it."""
    found: dict[str, set[int]] = {}
    for number, words in enumerate(sets):
        for word in words:
            found.setdefault(word, set()).add(number)
    return {word: frozenset(numbers) for word, numbers in found.items()}


_KINDS, _SCOPES = _by_word(meaning.ALTERNATIVES), _by_word(meaning.SCOPES)
_NONE: frozenset[int] = frozenset()


def _numbers(words: Set[str], table: Mapping[str, frozenset[int]]) -> frozenset[int]:
    return _NONE.union(*(table[word] for word in words if word in table))


def clash(a: str, b: str) -> bool:
    if _FAILS in a or _FAILS in b:  # what was found out is no order
        return False
    if not (_touched(a) & _touched(b)) and len(a) + len(b) > _SHORT:
        return False
    return (
        _is_denied(a, b) or _has_another_value(a, b) or _is_the_other_way_round(a, b) or _has_another_place(a, b)
    )  # fmt: skip


@lru_cache(maxsize=16384)
def _touched(text: str) -> frozenset[str]:
    return frozenset().union(*(_content(clause) for clause in clauses_of(text)))


def exclude_each_other(x: str, y: str) -> bool:
    if x == y:
        return False
    kinds = _KINDS.get(x)
    if kinds and not kinds.isdisjoint(_KINDS.get(y, _NONE)):
        return True
    return x[-1] == y[-1] and (y in (f"un{x}", f"non-{x}") or x in (f"un{y}", f"non-{y}"))


def _is_denied(a: str, b: str) -> bool:
    """Return whether one text denies most of what a clause of the other says."""
    return any(
        _denies(one, other, clauses_of(a)) or _denies(other, one, clauses_of(b))
        for one in clauses_of(a)
        for other in clauses_of(b)
        if one.denied != other.denied
    )


def _denies(ban: Clause, wish: Clause, beside: Sequence[Clause]) -> bool:
    if not ban.denied:
        return False
    if "unless" in ban.near:  # "only X when C"
        core = _core(ban)
        if not wish.words.isdisjoint(_content(ban) - core):  # an X when C
            return False
        if ban.near[0] == wish.near[0]:  # an X that says nothing of C
            ban = ban._replace(words=core, near=tuple(word for word in ban.near if word in core))
    if _core(ban).isdisjoint(_core(wish)) or not _forbids(ban, wish, beside) or _are_about_other_things(ban, wish):
        return False
    # No to one kind and yes to the other go together: merged and unmerged ones.
    return not any(exclude_each_other(x, y) for x in ban.words - wish.words for y in wish.words - ban.words)


def _forbids(ban: Clause, wish: Clause, beside: Sequence[Clause]) -> bool:
    """Return whether most of what is forbidden is wanted. A ban that says more covers only a part, so both hold.

    `beside` are the other clauses of the ban's text: "send mails directly, without the queue".
    """
    bad, good = _content(ban), _content(wish)
    if _first(wish) in meaning.AVOIDING - bad or (good - bad and is_of_a_part(bad - good)):
        return False
    if len(bad) == 1:
        about = any(not clause.denied and _content(clause) & good - bad for clause in beside)
        return bad <= good and (len(good) == 1 or about or _first(wish) in bad or not next(iter(bad)).isalnum())
    shared = len(bad & good)
    return shared > 1 and shared >= (0.66 if good - bad else 0.5) * len(bad)


def _are_about_other_things(ban: Clause, wish: Clause) -> bool:
    """Return whether the same action concerns different things, or different things are said of one.

    "Titles have no full stop" and "titles are in English" are such a pair.
    """
    first, second = ([word for word in clause.near if word in _content(clause)] for clause in (ban, wish))
    if first[:1] != second[:1]:
        return False
    if first[1:] and second[1:] and first[1] not in second and second[1] not in first:
        return True
    is_of_one = first[0] not in ORDERS or first[:2] == second[:2]
    return is_of_one and first[-1] not in second and second[-1] not in first


def _first(clause: Clause) -> str:
    content = _content(clause)
    return next((word for word in clause.near if word in content and word not in MAKING), "")


def _core(clause: Clause) -> frozenset[str]:
    """Return the words without conditions: "check before guessing" does not say to guess."""
    return frozenset(word for word in clause.tagged if ":" not in word) & _content(clause)


def _is_of_one_thing(one: frozenset[str], other: frozenset[str]) -> bool:
    shared, least = len(one & other), min(len(one), len(other))
    return least > 0 and shared >= 0.6 * least and (shared > 1 or least == 1)


def _has_another_value(a: str, b: str) -> bool:
    """Return whether two texts give one thing in one scope different values, overall or in a clause."""
    pairs = [(_affirmed(a), _affirmed(b))]
    if len(clauses_of(a)) + len(clauses_of(b)) > 2:
        pairs += [(one, other) for one in _wishes(a) for other in _wishes(b)]
    return any(_differ_in_value(one, other) for one, other in pairs)


def _differ_in_value(one: frozenset[str], other: frozenset[str]) -> bool:
    first, second = one - other, other - one
    if not first or not second or _numbers(first, _SCOPES) & _numbers(second, _SCOPES):
        return False
    for number in _numbers(first, _KINDS) & _numbers(second, _KINDS):
        rest, others = (
            frozenset(word for word in words - meaning.ALTERNATIVES[number] if not _is_version(word))
            for words in (first, second)
        )
        if is_of_a_part(rest ^ others):
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


def is_of_a_part(words: Set[str]) -> bool:
    """Return whether words that only one of two rules has limit its scope: both rules may then hold."""
    return not words.isdisjoint(_SCOPES)


def _wishes(text: str) -> list[frozenset[str]]:
    return [_content(clause) for clause in clauses_of(text) if not clause.denied]


def _is_the_other_way_round(a: str, b: str) -> bool:
    """Return whether two texts demand opposite orders: A before B and B before A, or A first and A after something."""
    if any(_is_first(one, two) or _is_first(two, one) for one in clauses_of(a) for two in clauses_of(b)):
        return True
    return any(
        _is_of_one_thing(one, after) and _is_of_one_thing(then, other) and not _is_of_one_thing(one, other)
        for one, then in _orders(a)
        for other, after in _orders(b)
    )


def _is_first(one: Clause, other: Clause) -> bool:
    if one.denied or other.denied or "first" not in one.tagged or "first" in other.words:
        return False
    what = _core(one) - {"first"}
    return bool(what) and any(what <= later and ORDERS.isdisjoint(later - what) for _, later in _order(other))


def _has_another_place(a: str, b: str) -> bool:
    """Return whether one thing belongs in two places, or is written in two languages."""
    return any(
        thing == other and not (place <= there or there <= place) and bool(place & LANGUAGES) == bool(there & LANGUAGES)
        for thing, place in _places(a)
        for other, there in _places(b)
    )


@lru_cache(maxsize=16384)
def _places(text: str) -> tuple[tuple[frozenset[str], frozenset[str]], ...]:
    """Return pairs of thing and place: "X live in Y", "put X into Y", "X are kept under Y", "open X against Y"."""
    found = []
    for clause in clauses_of(text):
        said = clause.near
        at = next((at for at, word in enumerate(said) if at and word in _WHERE and not clause.denied), 0)
        verbs = _RECORDING if at and (said[at] == "to" or not LANGUAGES.isdisjoint(said[at + 1 :])) else _PLACING
        is_there = said[at - 1 : at] in (("is",), ("be",)) and any("/" in word for word in said[at:])
        if not at or not (is_there or said[at] == "target" or not verbs.isdisjoint(said[:at])):
            continue
        thing = (frozenset(said[:at]) - verbs - EMPTY) or (frozenset(said[:at]) - verbs - _BEING)
        place = (frozenset(said[at + 1 :]) - EMPTY - _WHERE) or (frozenset(said[at + 1 :]) - _BEING)
        if thing and place:
            found.append((thing, place))
    return tuple(found)


_BEING = frozenset(("is", "be"))
_PLACING = frozenset("put plac stor sav keep liv go goe belong sit locat land open".split())
_RECORDING = _PLACING | frozenset("writ record log send".split())
_WHERE = frozenset("in into to under next besid alongsid at on against onto target".split())


@lru_cache(maxsize=16384)
def _orders(text: str) -> tuple[tuple[frozenset[str], frozenset[str]], ...]:
    return tuple(pair for clause in clauses_of(text) for pair in _order(clause))


def _order(clause: Clause) -> list[tuple[frozenset[str], frozenset[str]]]:
    """Return pairs of (earlier, later) things in a clause."""
    found = []
    plain = frozenset(word for word in clause.tagged if ":" not in word) - EMPTY
    for tag in ("before:", "after:"):
        other = frozenset(word.removeprefix(tag) for word in clause.tagged if word.startswith(tag)) - EMPTY
        if plain and other and not clause.denied:
            found.append((plain, other) if tag == "before:" else (other, plain))
    return found


@lru_cache(maxsize=16384)
def _affirmed(text: str) -> frozenset[str]:
    return frozenset().union(*_wishes(text))


@lru_cache(maxsize=16384)
def _content(clause: Clause) -> frozenset[str]:
    return clause.words - EMPTY
