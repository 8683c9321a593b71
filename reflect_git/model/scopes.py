"""Is something said of all of a person's projects, in so many words: `in all my projects`, `across my repos`.

What is captured for that, and what goes into the file of all projects, is told here alone. What a product does with
projects of its own is another thing: `show all projects`, `every repository has an interface`.
"""

from __future__ import annotations

from reflect_git.model.tables import table

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

_WORDS = table("scopes")


def _set(name: str) -> frozenset[str]:
    return frozenset(_WORDS[name].split())


# What is done *to* all projects is work at hand, what holds *in* them is a rule: so a word of place comes first.
_PLACE = _set("place")
# What is meant for each project may be what the program does: it takes a word that says whose projects they are.
_FOR, _OURS, _EVERY = _set("for"), _set("ours"), _set("every")
_EVERY_AFTER = _set("every_after")  # languages whose word of place is the end of the noun
_ENDS, _NOUNS = tuple(_WORDS["ends"]), tuple(_WORDS["nouns"])
_SHORT_NOUNS = _set("short_nouns")
_UNSAID = frozenset("the which what own other".split())  # `regardless of which project`, `in my other repos`
_LOOSE = frozenset("of one single".split())  # `every single one of my projects`
_WITHIN = _PLACE - _OURS
_ORDERS = _set("orders")  # work at hand begins so, wherever it is to be done: `fix the warnings in all projects`
_BETWEEN = 5  # words from `all` to the noun: `every single one of my projects`
_MINE, _WIDE = tuple(_WORDS["mine"]), tuple(_WORDS["wide"])
_PHRASES = (*_MINE, *_WORDS["phrases"])


def is_of_all(words: Sequence[str]) -> bool:
    """`words` are in small letters, without signs."""
    said, plain = _said(words)
    if any(_is_every(said, at) for at, word in enumerate(said) if word in _EVERY or word in _EVERY_AFTER):
        return True
    return any(phrase in plain for phrase in (_PHRASES if plain.isascii() else _PHRASES + _WIDE))


def is_of_mine(words: Sequence[str]) -> bool:
    """Is it said whose projects they are? Then it holds in all of them, though this one is named as well."""
    said, plain = _said(words)
    if any(_is_every_of_ours(said, at) for at, word in enumerate(said) if word in _EVERY):
        return True
    return any(phrase in plain for phrase in _MINE)


def _said(words: Sequence[str]) -> tuple[list[str], str]:
    """Without what says nothing here, as words and as a text."""
    plain = f" {' '.join(word for word in words if word not in _UNSAID)} ".replace(" code base", " codebase")
    return plain.split(), plain


def is_at_hand(words: Sequence[str]) -> bool:
    """Does it begin as an order for now?"""
    return any(word in _ORDERS for word in [word for word in words[:2] if word != "please"][:1])


def _is_every(words: Sequence[str], at: int) -> bool:
    between, noun = _up_to_noun(words, at)
    if words[at] in _EVERY_AFTER:
        return noun.endswith(_ENDS)
    before = words[at - 1] if at else ""
    if before in _FOR and words[at] != "each" and _LOOSE.issuperset(between):
        return bool(noun)
    return bool(noun) and (before in _PLACE or (before in _FOR and not _OURS.isdisjoint(between)))


def _is_every_of_ours(words: Sequence[str], at: int) -> bool:
    between, noun = _up_to_noun(words, at)
    return bool(noun) and len(_OURS.intersection(between)) == 1 and _LOOSE.issuperset(set(between) - _OURS)


def _up_to_noun(words: Sequence[str], at: int) -> tuple[Sequence[str], str]:
    """What stands between `all` and what there is of it; no noun where that is in a project, or something of one."""
    near = words[at + 1 : at + 1 + _BETWEEN]
    end = next((place for place, word in enumerate(near) if _is_project(word)), -1)
    between = near[: max(0, end)]
    is_part = not _WITHIN.isdisjoint(between) or (
        "of" in between and not _LOOSE.issuperset(between[: between.index("of")])
    )
    return between, "" if end < 0 or is_part else near[end]


def _is_project(word: str) -> bool:
    return word in _SHORT_NOUNS or word.startswith(_NOUNS)
