"""What words have to do with each other: which exclude each other, which mean one thing (`knowledge/meanings.json`).

Nothing of it goes into a key.
"""

from __future__ import annotations

import re

from reflect_git.model.phrases import MARKS
from reflect_git.model.plainwords import stem
from reflect_git.model.tables import table

_WORDS = table("meanings")


def _firsts(name: str) -> dict[str, str]:
    return {stem(word): stem(line.split()[0]) for line in _WORDS[name] for word in line.split()}


_CANON = _firsts("same")  # one word for those that mean the same in an order
_ROUGHLY = _firsts("near")  # near enough for two that seem to be at odds, but not to be taken for one

_AKIN = _firsts("akin")  # near enough to be shown beside each other, and for nothing else


def akin(word: str) -> str:
    """Return the stem that stands for all that are about one matter."""
    word = roughly(canon(FOREIGN.get(word, word)))
    return _AKIN.get(word, word)


def canon(word: str) -> str:
    """Return the stem that stands for all that mean the same."""
    return _CANON.get(word, word)


def roughly(word: str) -> str:
    """Return, for a canon, the one that stands for all that mean nearly the same."""
    return _ROUGHLY.get(word, word)


def _sets(name: str) -> tuple[frozenset[str], ...]:
    return tuple(frozenset(roughly(canon(stem(word))) for word in line.split()) for line in _WORDS[name])


def _stems(name: str) -> frozenset[str]:
    return frozenset(map(stem, _WORDS[name].split()))


ALTERNATIVES = _sets("alternatives")  # of each of these a thing has one
SCOPES = _sets("scopes")  # where these differ, both may hold
PURPOSES = _stems("purposes")  # "use yarn" and "use npm for installing packages" are about one thing
JOBS = _stems("jobs")  # of these purposes each may have its own tool
LOOSE = _stems("loose")  # these say little of what a rule is about
LANGUAGES = frozenset(map(canon, _stems("languages")))  # another one for the same program is at odds
_COUNTED = "one two three four five six seven eight nine ten".split()
NUMBERS = {form: str(number) for number, word in enumerate(_COUNTED, 1) for form in (stem(word), word)}


def _by_word() -> dict[str, str]:
    found = {}
    for meaning, words in _WORDS["foreign"].items():
        plain = MARKS.get(meaning, stem(meaning))
        found.update({stem(word): plain for word in words.split() if stem(word) != plain})
    return found


FOREIGN = _by_word()  # words of orders in other languages, in English
_UNSPACED: dict[str, str] = _WORDS["unspaced"]
_WORD = "|".join(sorted(_UNSPACED, key=lambda word: -len(word)))
_BEFORE = rf"(?:每次|在)?({_WORD}|[a-z]+)\s*(?:する)?(?:之前|以前|前|하기 전)(?:に|必ず|先|,|，)*"
_AFTER = rf"(?:每次|在)?({_WORD}|[a-z]+)\s*(?:した)?(?:之后|以后|后|後)(?:に|,|，)*"


def in_english(text: str) -> str:
    """Set apart and translate what scripts without spaces run together; the rest is looked up word by word."""
    if text.isascii() or max(text) < "\u3040":
        return text
    text = re.sub(_BEFORE, r" before \1 , ", text)  # compiled with the first such text, and kept by `re`
    text = re.sub(_AFTER, r" after \1 , ", text)
    return re.sub(_WORD, lambda found: f" {_UNSPACED[found[0]]} ", text)
