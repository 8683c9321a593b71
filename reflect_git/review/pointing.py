"""Sentences that only point: "leave it alone", "I meant the second file". Who was not there cannot follow them."""

from __future__ import annotations

import re
from functools import cache

from reflect_git.model.tables import table

_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")


@cache
def _set(name: str) -> frozenset[str]:
    return frozenset(table("pointing")[name].split())


def points(text: str) -> bool:
    """Return True if a pronoun in it stands for something outside: "it", "that", "these"."""
    return not _set("pronouns").isdisjoint(_words(text))


def only_points(text: str) -> bool:
    """Tell whether nothing in it says what it is about: pronouns and ordinals, and verbs that go with anything."""
    words = _words(text)
    pointing, ordinals = _set("pointing"), _set("ordinals")
    pointed = False
    for word, before in zip(words, ["", *words]):
        if word in pointing or (word in ordinals and before in _set("articles")):
            pointed = True
        elif word not in _set("empty") and not (word in _set("things") and before in pointing | ordinals):
            return False
    return pointed


def _words(text: str) -> list[str]:
    return [word.replace("’", "'") for word in _WORD.findall(text.lower())]
