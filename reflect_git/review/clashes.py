"""Do two rules seem to be at odds? Read clause by clause, where frames read nothing; for lists that a person reads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from functools import lru_cache

from reflect_git.model.phrases import ORDERS
from reflect_git.model.plainwords import stem
from reflect_git.review.families import ALTERNATIVES, FOREIGN, JOBS, LANGUAGES, PURPOSES, SCOPES, canon, roughly
from reflect_git.review.senses import MAKING, Clause
from reflect_git.review.senses import clauses_of as exactly

_SHORT = 120  # two texts this short together may exclude each other without a word in common
_FAILS = " fails here"
_EMPTY = frozenset(
    roughly(canon(stem(word)))
    for word in """is be to of and or with by from it that as i you we they do then so in for when if on at per while
    into than this there here me my our us them its just all each any every whatever more no please may can should
    must need want have has get got go goes make put keep let tell thing way time new same also too still very around
    plain are am was were will would such one some both through via under over up out right straight because since where
    which who what how code project repo work set run write add ONLY unless until outside optional voluntary max min
    yourself myself stay give come live sit belong located requirement follow already their onto within name
    call word appear cover look like carry contain place command anything repository codebase""".split()
)
# Said with a number: beside another number, another unit does not make it another thing.
_UNITS = frozenset(
    map(stem, "kb mb gb tb ms s sec seconds minutes hours days px rem em percent port listen listens".split())
)
GRANTED = frozenset("may can allow ok okay fin permit except".split())


def _by_word(sets: Sequence[frozenset[str]]) -> dict[str, frozenset[int]]:
    """Word → the numbers of the sets that hold it."""
    found: dict[str, set[int]] = {}
    for number, words in enumerate(sets):
        for word in words:
            found.setdefault(word, set()).add(number)
    return {word: frozenset(numbers) for word, numbers in found.items()}


_KINDS, _SCOPES = _by_word(ALTERNATIVES), _by_word(SCOPES)
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
def clauses_of(text: str) -> tuple[Clause, ...]:
    """With one word for those that mean nearly the same."""
    return tuple(
        clause._replace(
            words=frozenset(map(roughly, clause.words)),
            said=tuple(map(roughly, clause.said)),
        )
        for clause in exactly(text)
    )


@lru_cache(maxsize=16384)
def _touched(text: str) -> frozenset[str]:
    return frozenset().union(*(_content(clause) for clause in clauses_of(text)))


def exclude_each_other(x: str, y: str) -> bool:
    x, y = _kind_word(x), _kind_word(y)
    if x == y:
        return False
    kinds = _KINDS.get(x)
    if kinds and not kinds.isdisjoint(_KINDS.get(y, _NONE)):
        return True
    return x[-1] == y[-1] and (y in (f"un{x}", f"non-{x}") or x in (f"un{y}", f"non-{y}"))


@lru_cache(maxsize=16384)
def _kind_word(word: str) -> str:
    return roughly(canon(FOREIGN.get(word, word)))


def _is_denied(a: str, b: str) -> bool:
    """Tell whether one says no to most of what the other says in a clause."""
    return any(
        one.denied != other.denied
        and _core(one) & _core(other)
        and (_forbids(one, other, clauses_of(a)) if one.denied else _forbids(other, one, clauses_of(b)))
        and not _differ_in_kind(one.words, other.words)
        and not _have_other_objects(one, other)
        for one in clauses_of(a)
        for other in clauses_of(b)
    )


def _forbids(ban: Clause, wish: Clause, beside: Sequence[Clause]) -> bool:
    """Most of what is forbidden is in what is wanted. A ban that says more is one for a part: both hold.

    `beside` the ban stand the other clauses of its text: "send mails directly, without the queue"."""
    bad, good = _content(ban), _content(wish)
    if "edit" in bad and not good.isdisjoint(_EDITING):  # not to be touched, so not to be patched
        good |= {"edit"}
    elif _first(wish) in AVOIDING - bad or _say_other_things(ban, wish):
        return False
    if _is_exception(wish, good - bad - GRANTED) or (good - bad and is_of_a_part(bad - good)):
        return False
    if len(bad) == 1:
        about = any(not clause.denied and _content(clause) & good - bad for clause in beside)
        return bad <= good and (
            len(good - GRANTED) == 1 or about or _first(wish) in bad or not next(iter(bad)).isalnum()
        )
    shared = len(bad & good)
    return shared > 1 and shared >= (0.66 if good - bad - GRANTED else 0.5) * len(bad)


_EDITING = frozenset(
    roughly(canon(stem(word))) for word in "patch refactor rewrite remove rename format move fix extend".split()
)


# Who does this with a thing wants no more of it: "strip blanks", "mock the clock".
AVOIDING = frozenset(roughly(canon(stem(word))) for word in "remove strip trim eliminate mock replace".split())


def _say_other_things(ban: Clause, wish: Clause) -> bool:
    """Of the same: "titles have no full stop", "titles are in English"."""
    first, second = ([word for word in clause.said if word in _content(clause)] for clause in (ban, wish))
    is_of_one = first[:1] == second[:1] and (first[0] not in ORDERS or first[:2] == second[:2])
    return is_of_one and first[-1] not in second and second[-1] not in first and GRANTED.isdisjoint(wish.said)


def _is_exception(wish: Clause, more: Set[str]) -> bool:
    """What may be done beside a ban, and when or where."""
    if GRANTED.isdisjoint(wish.said):
        return False
    return len(more) > 1 or any(":" in word for word in wish.tagged) or is_of_a_part(more)


def _first(clause: Clause) -> str:
    content = _content(clause)
    return next((word for word in clause.said if word in content and word not in MAKING), "")


def _core(clause: Clause) -> frozenset[str]:
    """Without when it holds: "check before guessing" does not say to guess."""
    return frozenset(word for word in clause.tagged if ":" not in word) & _content(clause)


def _differ_in_kind(one: frozenset[str], other: frozenset[str]) -> bool:
    """No to one kind and yes to the other go together: merged and unmerged ones."""
    first, second = one - other, other - one
    return any(exclude_each_other(x, y) for x in first for y in second)


def _have_other_objects(one: Clause, other: Clause) -> bool:
    """The same is done, to other things."""
    first, second = ([word for word in clause.said if word in _content(clause)] for clause in (one, other))
    return (
        first[:1] == second[:1] and bool(first[1:] and second[1:]) and first[1] not in second and second[1] not in first
    )


def _is_of_one_thing(one: frozenset[str], other: frozenset[str]) -> bool:
    shared, least = len(one & other), min(len(one), len(other))
    return least > 0 and shared >= 0.6 * least and (shared > 1 or least == 1)


def _has_another_value(a: str, b: str) -> bool:
    """Of one thing, in one scope: another of its kind, or another number. All in all, or in a clause."""
    pairs = [(_affirmed(a), _affirmed(b))]
    if len(clauses_of(a)) + len(clauses_of(b)) > 2:
        pairs += [(one, other) for one in _wishes(a) for other in _wishes(b)]
    return any(_differ_in_value(one, other) for one, other in pairs)


def _differ_in_value(one: frozenset[str], other: frozenset[str]) -> bool:
    first, second = one - other, other - one
    if not first or not second or _numbers(first, _SCOPES) & _numbers(second, _SCOPES):
        return False
    for number in _numbers(first, _KINDS) & _numbers(second, _KINDS):
        rest, others = first - ALTERNATIVES[number], second - ALTERNATIVES[number]
        if is_of_a_part(rest ^ others):
            continue
        is_purpose = rest | others <= PURPOSES and (rest & JOBS == others & JOBS or not (rest & JOBS and others & JOBS))
        if (one & other and (is_purpose or not (rest and others))) or (is_purpose and len(one) + len(other) < 7):
            return True
    if not one & other:
        return False
    rest, others = (frozenset(w for w in words - _UNITS if not _is_version(w)) for words in (first, second))
    first, second = first - _UNITS, second - _UNITS
    return len(first - rest) == len(second - others) == 1 and not (rest and others)


def _is_version(word: str) -> bool:
    return word[0].isdigit() or word in ("latest", "newest")


def is_of_a_part(words: Set[str]) -> bool:
    """What only one of two rules says, and that says where it holds: a rule for a part beside the rule for all."""
    return not words.isdisjoint(_SCOPES)


def _wishes(text: str) -> list[frozenset[str]]:
    return [_content(clause) for clause in clauses_of(text) if not clause.denied]


def _is_the_other_way_round(a: str, b: str) -> bool:
    """A before B, and B before A; A first, and A after something."""
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
    """One thing goes to two places, or is written in two languages."""
    return any(
        thing == other and not (place <= there or there <= place) and bool(place & LANGUAGES) == bool(there & LANGUAGES)
        for thing, place in _places(a)
        for other, there in _places(b)
    )


@lru_cache(maxsize=16384)
def _places(text: str) -> tuple[tuple[frozenset[str], frozenset[str]], ...]:
    """What is to be found where: "X live in Y", "put X into Y", "X are kept under Y", "open X against Y"."""
    found = []
    for clause in clauses_of(text):
        said = clause.said
        at = next((at for at, word in enumerate(said) if at and word in _WHERE and not clause.denied), 0)
        verbs = _RECORDING if at and (said[at] == "to" or not LANGUAGES.isdisjoint(said[at + 1 :])) else _PLACING
        is_there = said[at - 1 : at] in (("is",), ("be",)) and any("/" in word for word in said[at:])
        if not at or not (is_there or said[at] == "target" or not verbs.isdisjoint(said[:at])):
            continue
        thing = (frozenset(said[:at]) - verbs - _EMPTY) or (frozenset(said[:at]) - verbs - _BEING)
        place = frozenset(said[at + 1 :]) - _EMPTY - _WHERE
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
    """What comes before what."""
    found = []
    plain = frozenset(word for word in clause.tagged if ":" not in word) - _EMPTY
    for tag in ("before:", "after:"):
        other = frozenset(word.removeprefix(tag) for word in clause.tagged if word.startswith(tag)) - _EMPTY
        if plain and other and not clause.denied:
            found.append((plain, other) if tag == "before:" else (other, plain))
    return found


@lru_cache(maxsize=16384)
def _affirmed(text: str) -> frozenset[str]:
    return frozenset().union(*_wishes(text))


@lru_cache(maxsize=16384)
def _content(clause: Clause) -> frozenset[str]:
    return clause.words - _EMPTY
