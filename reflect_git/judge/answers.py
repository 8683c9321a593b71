"""Check a judge's answer: every score needs a quote that is in the messages byte for byte; the rest is dropped."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from reflect_git.errors import ReflectError
from reflect_git.records.named_tuple import NamedTuple
from reflect_git.records.schema import CATEGORIES, CRITERIA, RECOMMENDATIONS

if TYPE_CHECKING:
    from reflect_git.judge.messages import Message

KEEP, UPDATE, REVERT = RECOMMENDATIONS
CHANGE_BELOW, SMALL_FROM = 3.5, 4.0
LEAST_SCORED = 3  # criteria with a score, below which there is no overall score
_LEAST_QUOTE = 12  # characters: shorter ones are in every text
_MAX_QUOTES, _MAX_WEAKNESSES, _MAX_SUGGESTIONS, _MAX_SMALL = 3, 5, 5, 3
_MAX_TEXT, _MAX_ANALYSIS, _MAX_QUOTE = 300, 2000, 400
_DEFAULT_CATEGORY, _DEFAULT_PRIORITY = "convention", 3


class Weakness(NamedTuple):
    """A weakness of the session, with true quotes."""

    text: str
    quotes: tuple[str, ...]


class Suggestion(NamedTuple):
    """A rule that the judge suggests. `priority`: 1 to 5, 5 the most urgent."""

    text: str
    category: str
    priority: int


class Verdict(NamedTuple):
    """The accepted part of an answer. `dropped`: criteria whose quotes were not found. `overall`: None if too few."""

    scores: Mapping[str, float]
    dropped: tuple[str, ...]
    overall: float | None
    analysis: str
    weaknesses: tuple[Weakness, ...]
    recommendation: str
    suggestions: tuple[Suggestion, ...]


def parse_answer(answer: Any, messages: Sequence[Message]) -> Verdict:
    """Return what is accepted of an answer; raise if it has not the form that was asked for, or no true quote."""
    given = answer.get("scores") if isinstance(answer, dict) else None
    if not isinstance(given, dict) or not any(name in given for name in CRITERIA):
        raise ReflectError("the judge did not answer in the form that was asked for", "run it again", "judge")
    texts = {one.n: one.text for one in messages}
    scores: dict[str, float] = {}
    dropped = []
    for name in CRITERIA:
        score = _parse_score(given.get(name))
        if score is not None and _find_true_quotes(given[name].get("quotes"), texts):
            scores[name] = score
        else:
            dropped.append(name)
    if not scores:
        hint = "nothing was stored; another model may do better: reflect-git config reflect.judge.model"
        raise ReflectError("no quote of the judge is in the messages", hint, "judge")
    overall = round(sum(scores.values()) / len(scores), 2) if len(scores) >= LEAST_SCORED else None
    is_weak = overall is not None and overall < CHANGE_BELOW
    word = answer.get("recommendation")
    return Verdict(
        scores, tuple(dropped), overall, to_text(answer.get("analysis"), _MAX_ANALYSIS),
        tuple(_parse_weaknesses(answer.get("weaknesses"), texts)) if is_weak else (),
        word if is_weak and word in RECOMMENDATIONS else KEEP,
        tuple(_parse_suggestions(answer.get("suggestions"), overall)),
    )  # fmt: skip


def _parse_score(given: Any) -> float | None:
    """Return a score from 1 to 5; None for anything else."""
    value: Any = given.get("score") if isinstance(given, dict) else None
    if type(value) not in (int, float) or not 1 <= value <= 5:
        return None
    return round(float(value), 2)


def _find_true_quotes(given: Any, texts: Mapping[int, str]) -> list[str]:
    """Return the quotes that are in the message that they name."""
    found = []
    for one in given if isinstance(given, list) else ():
        number, text = (one.get("n"), one.get("text")) if isinstance(one, dict) else (None, None)
        if type(number) is not int or not isinstance(text, str) or len(text.strip()) < _LEAST_QUOTE:
            continue
        if text in texts.get(number, ""):
            found.append(text[:_MAX_QUOTE])
    return found[:_MAX_QUOTES]


def _parse_weaknesses(given: Any, texts: Mapping[int, str]) -> list[Weakness]:
    found = []
    for one in given if isinstance(given, list) else ():
        text = to_text(one.get("text"), _MAX_TEXT) if isinstance(one, dict) else ""
        quotes = _find_true_quotes(one.get("quotes"), texts) if text else []
        if quotes:
            found.append(Weakness(text, tuple(quotes)))
    return found[:_MAX_WEAKNESSES]


def _parse_suggestions(given: Any, overall: float | None) -> list[Suggestion]:
    """Return the suggestions: none from 3.5 up to 4.0, and at most three small ones from there on."""
    if overall is None or CHANGE_BELOW <= overall < SMALL_FROM:
        return []
    found = []
    for one in given if isinstance(given, list) else ():
        text = to_text(one.get("text"), _MAX_TEXT) if isinstance(one, dict) else ""
        if not text:
            continue
        category, priority = one.get("category"), one.get("priority")
        found.append(
            Suggestion(
                text, category if category in CATEGORIES else _DEFAULT_CATEGORY,
                min(5, max(1, priority)) if type(priority) is int else _DEFAULT_PRIORITY,
            )
        )  # fmt: skip
    return found[: _MAX_SUGGESTIONS if overall < CHANGE_BELOW else _MAX_SMALL]


def to_text(value: Any, limit: int) -> str:
    """Return a text on one line without control characters, shortened; empty if the value is not a text."""
    if not isinstance(value, str):
        return ""
    text = "".join(sign for sign in " ".join(value[: limit * 4].split()) if sign.isprintable())
    return text if len(text) <= limit else f"{text[: limit - 1]}…"
