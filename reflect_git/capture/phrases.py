"""Phrases that a user adds to those the scorer knows."""

from __future__ import annotations

from reflect_git.capture import features, score
from reflect_git.capture.features import KINDS
from reflect_git.errors import ReflectError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

_MOST, _WORDS, _LETTERS = 1000, 8, 80


def read(data: bytes) -> dict[str, list[str]]:
    """A user's file of phrases: JSON, the kinds of `knowledge/phrases/en.json`, each with a list of phrases."""
    from reflect_git.adapters import jsontext

    try:
        phrases = jsontext.loads(data.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise _wrong("the phrases are no JSON in UTF-8") from error
    if not isinstance(phrases, dict):
        raise _wrong("the phrases are no JSON object of kinds")
    check(phrases)
    return phrases


def _wrong(message: str) -> ReflectError:
    form = '{"correction": ["that is not how we do it"]}'
    return ReflectError(message, f"write them as {form}; kinds: {', '.join(KINDS)}", "phrases")


def check(phrases: Mapping[str, Any]) -> None:
    for kind, listed in phrases.items():
        if kind not in KINDS:
            raise _wrong(f"unknown kind of phrases '{kind}'")
        if not isinstance(listed, list) or not all(isinstance(phrase, str) for phrase in listed):
            raise _wrong(f"the phrases of '{kind}' are no list of strings")
        for phrase in listed:
            words = features.flatten(phrase.lstrip("^")).split()
            if not 0 < len(words) <= _WORDS or len(phrase) > _LETTERS:
                raise _wrong(f"a phrase of '{kind}' has no words, more than {_WORDS} or over {_LETTERS} letters")
    if sum(map(len, phrases.values())) > _MOST:
        raise _wrong(f"more than {_MOST} phrases, with '{max(phrases, key=lambda kind: len(phrases[kind]))}' first")


def extend(phrases: Mapping[str, list[str]]) -> None:
    """Add a user's phrases; a message that has one of a correction, convention, prohibition or workflow is returned."""
    check(phrases)
    known = score.knowledge()
    for kind, listed in phrases.items():
        for phrase in listed:
            _add_phrase(phrase, kind, known)


def _add_phrase(phrase: str, kind: str, known: score.Knowledge) -> None:
    plain = " ".join(features.flatten(phrase.lstrip("^")).split())
    anchored = "^" * phrase.startswith("^") + plain
    known.phrases[anchored] = known.phrases.get(anchored, 0) | 1 << KINDS.index(kind)
    is_wide = plain[0] > features.WIDE
    if is_wide:
        known.phrases.starts.add(plain[0])
    known.phrases.long |= features.first_pairs([plain])
    if kind in score.MEANT:
        known.added.setdefault(plain[0] if is_wide else plain.split()[0], {}).setdefault(anchored, kind)
