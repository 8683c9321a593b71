"""How near two texts are, and whether they contradict each other. For lists that a person reads; it merges nothing."""

from __future__ import annotations

import re
from collections.abc import Set
from functools import lru_cache

from reflect_git.model.frames import Frame, agrees, frame_of, key_of, opposes, turned
from reflect_git.model.phrases import ORDERS
from reflect_git.model.plainwords import BANS, opened, plain_words
from reflect_git.review.clashes import GRANTED, clash, exclude_each_other, is_of_a_part
from reflect_git.review.families import LOOSE, NUMBERS, PURPOSES, akin, canon
from reflect_git.review.ruleform import is_english
from reflect_git.review.senses import sense_of, words_of
from reflect_git.review.spoken import plainly

SIMILAR, TURNED = 0.3, 0.4
_STEM, _ALMOST, _LITTLE = 5, 0.8, 0.4
_FEW, _SLOTS = 2, 2  # words that two texts share, and places in which two of one form differ
_MARKS = frozenset(("USE", "PREFER", "ALWAYS", "ONLY", "ASK", "VAGUE", "WHY", ",", ";", "INSTEAD", "BUT", "USED"))
_GLUE = frozenset(
    "is be to of and or with by from it that as i you we do then so in for when if on at per while put liv mak".split()
)
_EXCLUSIVE = frozenset("is us USE USED liv go belong nam start end target land stay sit".split())
_PUT = frozenset("put plac stor keep sav".split())
_PLACES = frozenset("in into next under at alongsid besid on".split())
_MEANS = frozenset("with through via from".split())
_NEGATIVE = frozenset("off disabl remov forbidden GONE needless unnecessary".split())


def similarity(a: str, b: str) -> float:
    """Return 0 to 1: shared words, also of other languages and other words for one matter; opposites are not near."""
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
    """Tell whether two texts are worth a look beside each other; one that says no and one that says yes seldom are."""
    return likeness >= (SIMILAR if _polarity(a) == _polarity(b) else TURNED) and not _are_about_two_things(a, b)


def _are_about_two_things(a: str, b: str) -> bool:
    """Tell rules of one form about two things, "never commit secrets" and "never commit generated files", and such that
    have one word in common, while each says something of its own."""
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
    """same (one entry is enough), contradicts, similar or different: what review makes of two texts."""
    if key_of(a) == key_of(b):
        return "same"
    first, second = _frame(a), _frame(b)
    if first and second and agree(first, second) and (first == second or not clash(a, b)):
        return "same"
    if contradicts(a, b):
        return "contradicts"
    sense = sense_of(a)
    if sense and sense == sense_of(b):
        return "same"
    return "similar" if are_similar(a, b, similarity(a, b)) else "different"


def agree(one: Frame, other: Frame) -> bool:
    """Tell whether two frames say one thing; one that also forbids something else, as "use quills, don't publish
    letters" does, says two."""
    has_two_matters = any(
        frame.wanted and not ORDERS.isdisjoint(word for word in frame.unwanted.split() if word not in frame.wanted)
        for frame in (one, other)
    )
    return agrees(one, other) and (one == other or not has_two_matters)


def contradicts(a: str, b: str) -> bool:
    """Both cannot hold at once, as far as their words show."""
    if a == b:
        return False
    first, second = _frame(a), _frame(b)
    if first and second and (opposes(first, second) or _forbids(first, second) or _forbids(second, first)):
        return True
    if (
        first
        and second
        and (_excludes(first, second, a, b) or _asks_first(first, second) or _asks_first(second, first))
    ):
        return True
    if _differs_in_value(a, b) or _is_turned(a, b):
        return True
    return not (first and second and first == second) and clash(a, b)


def is_opposed(a: str, b: str) -> bool:
    """Tell a contradiction that is sure enough to refuse an approval: one orders what the other forbids.

    Frames of two languages have no words in common, so there the meaning of the words decides."""
    first, second = frame_of(a), frame_of(b)
    if first and second and opposes(first, second):
        return True
    return is_english(a) != is_english(b) and contradicts(a, b)


def _forbids(ban: Frame, wish: Frame) -> bool:
    """What is wanted is a case of what is forbidden, or the other way round."""
    if not ban.unwanted or not wish.wanted or ban.unwanted == wish.unwanted:
        return False
    if not GRANTED.isdisjoint(wish.wanted.split()) and wish.condition != ban.condition:
        return False  # what may be done, and when, beside a ban
    bad, good = set(ban.unwanted.split()) - _GLUE, set(wish.wanted.split()) - _GLUE
    if not bad or not good or not bad <= good:
        return False
    apart = ban.condition and ban.condition != wish.condition
    return not apart or ban.condition.startswith("unless") or wish.condition.startswith("unless")


def _excludes(first: Frame, second: Frame, a: str, b: str) -> bool:
    """Two things for one purpose: "use X for P" and "use Y for P", "class components" and "function components"."""
    if not (_uses(a) and _uses(b)) or not first.wanted or not second.wanted or first.wanted == second.wanted:
        return False
    if first.condition or second.condition:
        is_for = first.condition == second.condition and first.condition.startswith("for ")
        return is_for and not (_ANY_ONE.search(a) or _ANY_ONE.search(b))  # a queue and a template for mails
    one, other = first.wanted.split(), second.wanted.split()
    if any(exclude_each_other(x, y) and _one_thing(one, x, other, y) for x in one for y in other):
        return True
    if len(one) != len(other) or not 2 <= len(one) <= 3:
        return False
    return one[:-1] == other[:-1] and _is_number(one[-1]) and _is_number(other[-1])


def _one_thing(one: list[str], x: str, other: list[str], y: str) -> bool:
    """What is left without the two that exclude each other is of one thing: not short answers and long names."""
    more = (set(one) - {x}) ^ (set(other) - {y})
    return all(_is_number(word) or word in PURPOSES for word in more)


def _asks_first(first: Frame, second: Frame) -> bool:
    """Ask before doing X, and do X freely."""
    if first.wanted != "ask" or not first.condition.startswith("before ") or not second.wanted:
        return False
    doing, done = first.condition.split()[1:], second.wanted.split()
    return done[: len(doing)] == doing and not _FREELY.isdisjoint(done)


_WISHES = frozenset(("USE", "PREFER"))
_ANY_ONE = re.compile(r"\buse an? ", re.IGNORECASE)
_FREELY = frozenset("freely yourself directly immediately automatically automatic".split())


def _uses(text: str) -> bool:
    return not _WISHES.isdisjoint(_words(text)[:3])


def _differs_in_value(a: str, b: str) -> bool:
    """The default branch is main, the default branch is develop."""
    first, second = _assertion(a), _assertion(b)
    if first is None or second is None or first[0] != second[0]:
        return False
    same_verb = first[1][:1] == second[1][:1] and first[1][:1] != ()
    one, other = (set(map(canon, value[same_verb:])) for value in (first[1], second[1]))
    if all(word[0] == "-" for word in one | other):  # options of a command go together
        return False
    if not same_verb and not one & other and min(len(one), len(other)) > 1:  # built in CI and pushed to a registry
        return first[2] == second[2] and ORDERS.isdisjoint((first[1][0], second[1][0]))
    if one & other and not (len(one - other) == len(other - one) == 1):
        return False
    return bool(one and other) and not (one <= other or other <= one)


@lru_cache(maxsize=4096)
def _assertion(text: str) -> tuple[tuple[str, ...], tuple[str, ...], str] | None:
    """Subject, value and verb of a sentence with one verb that leaves no room for two values."""
    words = turned(" ".join(word for word in _words(text) if word != "ONLY")).split()
    if any(word in BANS for word in words):
        return None
    if words[:1] and words[0] in _PUT:
        verbs = _PLACES
    elif words[:1] and words[0] in ORDERS and _EXCLUSIVE.isdisjoint(words[1:4]):
        verbs = _MEANS
    else:
        verbs = _EXCLUSIVE
    at = next((at for at in range(1, len(words)) if words[at] in verbs), 0)
    value = [word for word in words[at + 1 :] if word not in _GLUE]
    if not at or len(words) - at > 6 or len(value) > 4 or "," in words[:at]:
        return None
    return tuple(words[:at]), tuple(value), words[at]


def _is_turned(a: str, b: str) -> bool:
    """The same words but for one, and these two exclude each other or are two numbers of one thing."""
    first, second = _bag(a), _bag(b)
    one, other = first - second, second - first
    if not one or not other or not first & second - _GLUE:
        return False
    if len(one) == len(other) == 1 and _is_number(*one) and _is_number(*other):
        return len(first & second) >= 2
    turned = {word for x in one for y in other if exclude_each_other(x, y) for word in (x, y)}
    if is_of_a_part((one | other) - turned) or len((one | other) - turned) > 1:
        return False
    return bool(turned) and min(len(one), len(other)) == 1 and _polarity(a, turned) == _polarity(b, turned)


def _polarity(text: str, without: Set[str] = frozenset()) -> bool:
    """Whether it says no, all in all."""
    words = [word for word in _words(text) if word not in without]
    bans = sum(word in BANS or word == "INSTEAD" for word in words) + (not _NEGATIVE.isdisjoint(words))
    return bans % 2 == 1


def _is_number(word: str) -> bool:
    return word[:1].isdigit()


@lru_cache(maxsize=16384)
def _frame(text: str) -> Frame | None:
    return frame_of(plainly(text))


@lru_cache(maxsize=16384)
def _words(text: str) -> list[str]:
    return opened(plain_words(plainly(text)))


@lru_cache(maxsize=16384)
def _bag(text: str) -> frozenset[str]:
    words = _words(text[:600])
    plain = {word for word in words if word not in _MARKS and word not in _GLUE and word not in BANS}
    wide = [word for word in plain if word[0] >= "\u3040" and len(word) > 2]
    pairs = {word[at : at + 2] for word in wide for at in range(len(word) - 1)}
    return frozenset(plain - set(wide) | pairs)


@lru_cache(maxsize=16384)
def _concepts(text: str) -> dict[str, float]:
    """Return what a text is about, each with how much it says."""
    words = [*_said(text), *(_bag(text) if max(text, default="") >= "\u3040" else ())]
    return {word: _LITTLE if word in LOOSE or len(word) < 3 else 1.0 for word in words}


@lru_cache(maxsize=16384)
def _said(text: str) -> tuple[str, ...]:
    """Return the words that say what a text is about, in their order: one for all that are about one matter."""
    words = _words(text[:600]) if text.isascii() or max(text) < "\u3040" else words_of(text)
    plain = (NUMBERS.get(word, word) for word in words if word not in _MARKS and word not in BANS)
    found = (akin(word.strip("/") or word) for word in plain)
    return tuple(word for word in found if word not in _GLUE)
