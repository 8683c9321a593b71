"""Do two senses say one thing? A sense is a bag of words: what is asked here is whether they have the same parts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations

from reflect_git.model.frames import Frame, agrees
from reflect_git.model.phrases import ORDERS
from reflect_git.review.senses import WHEN, Clause, Sense

_SAYING_WHERE = {
    word: line.split()[0]
    for line in ("from", "to into onto", "in on at under within", "with via through by", "for", "as", "against")
    for word in line.split()
}


def alike(one: Frame, other: Frame) -> bool:
    """Two senses say one thing, though one of them may also say what not. A bare no is no part of what says more:
    "write a plan, don't commit" is not about commits. Nor do they if who does what to whom is another."""
    is_part = bool(one.wanted) and one.wanted == other.wanted and not (one.unwanted and other.unwanted)
    return (one == other or (is_part and not _has_two_matters(one, other))) and not _are_crossed(one, other)


def agree(one: Frame, other: Frame) -> bool:
    """As frames do, but what says two things is not the same as one of them."""
    return agrees(one, other) and (one == other or not _has_two_matters(one, other))


def _has_two_matters(one: Frame, other: Frame) -> bool:
    """Besides what is wanted, one of them forbids to do something else: "use quills, don't publish letters"."""
    return any(
        frame.wanted and not ORDERS.isdisjoint(word for word in frame.unwanted.split() if word not in frame.wanted)
        for frame in (one, other)
    )


def _are_crossed(one: Frame, other: Frame) -> bool:
    """Whether the same words have other parts: "generate types from the schema", and the schema from types."""
    if not isinstance(one, Sense) or not isinstance(other, Sense):
        return False
    return any(_are_split(one.clauses, other.clauses, denied) for denied in (False, True)) or any(
        first.denied == second.denied and first.words == second.words and _is_crossed(first, second)
        for first in one.clauses
        for second in other.clauses
    )


def _are_split(some: Sequence[Clause], others: Sequence[Clause], denied: bool) -> bool:
    """Both say several things, and not the same of the same: "tabs in ledgers, spaces in lists"."""
    first, second = (
        {clause.words for clause in clauses if clause.denied == denied and not clause.is_reason}
        for clauses in (some, others)
    )
    return len(first) > 1 and len(second) > 1 and first != second


def _is_crossed(one: Clause, other: Clause) -> bool:
    first, second = _parts_of(one), _parts_of(other)
    if _has_other_parts(one, other, first, second):
        return True
    return any(
        first[x] == second[y] and first[y] == second[x] and not _is_done(first, x, y)
        and not _is_open(one.said, x, y) and not _is_open(other.said, y, x)
        for x, y in combinations(first, 2)
        if _comes_before(second, y, x)
    )  # fmt: skip


def _has_other_parts(one: Clause, other: Clause, first: Mapping[str, str], second: Mapping[str, str]) -> bool:
    """Whether a word has another part in the other: "deploy with the script" and "deploy the script"."""
    differing = {(first[word], second[word]) for word in first if first[word] != second[word]}
    if any(x and y and {x, y} not in _SAME_PART for x, y in differing):
        return True
    gained, lost = any(not x for x, _ in differing), any(not y for _, y in differing)
    if one.said[0] != other.said[0] or not (gained or lost):
        return False
    return (gained and lost) or not (_has_object(one, first) and _has_object(other, second))


def _has_object(clause: Clause, parts: Mapping[str, str]) -> bool:
    """Whether there is something that what comes first is done to."""
    return any(not part and word != clause.said[0] for word, part in parts.items())


_SAME_PART = ({"in", "to"}, {"for", "in"}, {"in", "against"})


def _parts_of(clause: Clause) -> dict[str, str]:
    """Its words in their order, each with the word that says what part it has; most have none."""
    found: dict[str, str] = {}
    part = ""
    for word in clause.said:
        if word in _SAYING_WHERE:
            part = _SAYING_WHERE[word]
        elif word in WHEN:
            part = word
        elif word in clause.words:
            found.setdefault(word, part)
    return {**found, **dict.fromkeys(clause.words - found.keys(), "")}


def _is_done(parts: Mapping[str, str], x: str, y: str) -> bool:
    """One of the two is what is done with the other, before or after it: "sign commits", "commit signing"."""
    verbs = (x in ORDERS) + (y in ORDERS)
    alone = sum(not part for part in parts.values()) == 2
    return not (parts[x] or parts[y]) and (verbs == 1 or (verbs == 2 and alone))


def _comes_before(words: Iterable[str], x: str, y: str) -> bool:
    return next(word for word in words if word in (x, y)) == x


def _is_open(said: Sequence[str], x: str, y: str) -> bool:
    """Whether between the two stands what lets them change places: "a and b", "a is b", "a must be done"."""
    between = said[said.index(x) + 1 : said.index(y)]
    return "is" in between or "be" in between or between in (("and",), ("or",))
