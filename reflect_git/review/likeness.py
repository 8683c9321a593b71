"""How near two texts are, and whether they contradict each other. For lists that a person reads; it merges nothing."""

from __future__ import annotations

import re
from collections.abc import Set
from functools import lru_cache

from reflect_git.model.frames import Frame, frame_of, key_of, opposes, turned
from reflect_git.model.phrases import ORDERS
from reflect_git.model.plainwords import BANS, opened, plain_words
from reflect_git.review.clashes import AVOIDING, GRANTED, clash, exclude_each_other, is_of_a_part
from reflect_git.review.families import PURPOSES, canon
from reflect_git.review.parts import agree, alike
from reflect_git.review.senses import clauses_of, sense_of
from reflect_git.review.spoken import plainly

SIMILAR = 0.4
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
    """0 to 1: shared words, or shared pairs of letters where scripts do without spaces."""
    first, second = _bag(a), _bag(b)
    if not first or not second:
        return 0.0
    shared = len(first & second)
    return 0.5 * shared / len(first | second) + 0.5 * shared / min(len(first), len(second))


def relation(a: str, b: str) -> str:
    """same (one entry is enough), contradicts, similar or different: what review makes of two texts."""
    if key_of(a) == key_of(b):
        return "same"
    first, second = _frame(a), _frame(b)
    if first and second and agree(first, second) and (first == second or not clash(a, b)):
        return "same"
    if contradicts(a, b):
        return "contradicts"
    one, other = sense_of(a), sense_of(b)
    if one and other and alike(one, other):
        return "same"
    return "similar" if similarity(a, b) >= SIMILAR else "different"


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
    if _differs_in_value(a, b) or _is_turned(a, b) or (not (first and second) and _is_denied(a, b)):
        return True
    return not (first and second and first == second) and clash(a, b)


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
    if _number_of(one) and _number_of(other) and _number_of(one) != _number_of(other):
        near = _beside(a, _number_of(one)) & _beside(b, _number_of(other))
        return bool(near) and len(first & second) >= 2 and _subject(a) == _subject(b) and min(len(one), len(other)) == 1
    turned = {word for x in one for y in other if exclude_each_other(x, y) for word in (x, y)}
    if is_of_a_part((one | other) - turned) or len((one | other) - turned) > 1:
        return False
    return bool(turned) and min(len(one), len(other)) == 1 and _polarity(a, turned) == _polarity(b, turned)


def _is_denied(a: str, b: str) -> bool:
    """One says no to what the other says, where not both are orders. Of several clauses each says its own."""
    if len(clauses_of(a)) > 1 or len(clauses_of(b)) > 1:
        return False
    first, second = _bag(a), _bag(b)
    smaller, larger = sorted((first, second), key=len)
    if smaller < larger and not (GRANTED | AVOIDING).isdisjoint(larger - smaller):
        return False
    return len(smaller) >= 2 and smaller <= larger and _polarity(a) != _polarity(b)


def _polarity(text: str, without: Set[str] = frozenset()) -> bool:
    """Whether it says no, all in all."""
    words = [word for word in _words(text) if word not in without]
    bans = sum(word in BANS or word == "INSTEAD" for word in words) + (not _NEGATIVE.isdisjoint(words))
    return bans % 2 == 1


def _number_of(words: frozenset[str]) -> str:
    numbers = [word for word in words if _is_number(word)]
    return numbers[0] if len(numbers) == 1 else ""


def _beside(text: str, number: str) -> set[str]:
    """The words next to a number: what it counts."""
    words = _words(text)
    at = words.index(number) if number in words else 0
    return set(words[max(0, at - 1) : at] + words[at + 1 : at + 2]) - _GLUE


def _subject(text: str) -> str:
    return next((word for word in _words(text) if word in _bag(text)), "")


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
