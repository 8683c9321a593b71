"""A rule that can be tested: which calls of a tool it speaks of, and how often it would have applied."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from reflect_git.model.ids import seconds_of
from reflect_git.model.tables import table

if TYPE_CHECKING:
    from reflect_git.model.frames import Frame
    from reflect_git.review.candidate import Candidate

Matcher = dict[str, str]
Call = tuple[str, str, Mapping[str, Any]]

# Programs that people name when they mean the command. A word that is also plain English (`go`, `make`) is taken only
# with more words behind it.
PROGRAMS = frozenset(table("programs")["programs"].split())
_ENGLISH = frozenset(table("programs")["english"].split())
# What may stand before a command without being it.
_BEFORE = (
    r"(?:^|[;&|(]|\n)[^\S\n]*"
    r"(?:(?:sudo|time|command|exec|nohup|env|npx|then|do)\s+(?:-\w+\s+)*)*(?:[A-Za-z_]\w*=\S*\s+)*"
)
_AFTER = r"(?=$|[\s;&|)])"
FIELD = "command"  # what of a call a matcher looks at
_WORD = re.compile(r"^[\w@.:/+=-]+$")
_SHOWN = 200
_DAY = 86400


def is_program(word: str) -> bool:
    """Tell whether a word names a program and nothing else."""
    return word in PROGRAMS and word not in _ENGLISH


def matcher_of(frame: Frame | None, texts: Iterable[str] = ()) -> Matcher | None:
    """Of "use pnpm, not npm": calls of Bash whose command begins with `npm`. None where it is not that clear.

    `texts` are the user's own words: a frame has lost case and endings, so that what it names is looked up there.
    """
    if frame is None or not frame.unwanted or frame.condition:
        return None
    said = " ".join(texts)
    unwanted = _command(frame.unwanted, said)
    if unwanted is None:
        return None
    wanted = _as_typed(frame.wanted.split(), said) or frame.wanted.split()
    if wanted[: len(unwanted)] == unwanted:
        return None  # `npm`, but `npm test`: the pattern would meet what is wanted
    return {
        "tool": "Bash",
        "field": FIELD,
        "pattern": _BEFORE + r"\s+".join(map(re.escape, unwanted)) + _AFTER,
        "instead": " ".join(wanted),
    }


def matcher_for(candidate: Candidate, text: str) -> Matcher | None:
    """Return the matcher of a candidate in another wording; without one, its own."""
    return candidate.matcher if text in ("", candidate.text) else matcher_in(text)


def matcher_in(text: str) -> Matcher | None:
    """Return the matcher of a text that somebody worded: that of the one sentence which has one; None if two differ."""
    from reflect_git.model.frames import frame_of  # most texts are approved as proposed
    from reflect_git.review.sentences import split

    found = [made for made in (matcher_of(frame_of(sentence), [sentence]) for sentence in split(text)) if made]
    return found[0] if len({made["pattern"] for made in found}) == 1 else None


def _command(part: str, said: str) -> list[str] | None:
    """The words of a command, as they were typed; None for anything else."""
    words = part.split()
    if words[:1] == ["run"]:
        words = words[1:]
    name = words[0].removeprefix("=") if words else ""  # as frames mark a name that is a word of talk, too
    if not words or len(words) > 4 or name not in PROGRAMS or (len(words) == 1 and name in _ENGLISH):
        return None
    if not all(_WORD.match(word) for word in words):
        return None
    if len(words) == 1:
        return words
    return _in_code(words, said)


def _in_code(words: list[str], said: str) -> list[str] | None:
    """`docker build` is a command where it stood in backticks; "docker images in CI" is prose."""
    from reflect_git.model.plainwords import plain_words  # a matcher that was made is tried without

    for code in said.split("`")[1::2]:
        if plain_words(f"`{code}`") == words or code.split() == words:
            return code.split()
    return None


def _as_typed(words: list[str], said: str) -> list[str] | None:
    """The user's own form of what a frame keeps as plain words."""
    from reflect_git.model.plainwords import opened, plain_words

    typed = said.replace("`", " ").split()
    runs = (typed[at : at + len(words)] for at in range(len(typed))) if words else iter(())
    found = next((run for run in runs if opened(plain_words(" ".join(run))) == words), None)
    return _in_code(words, said) or ([word.strip(".,;:!?'\"()") for word in found] if found else None)


def backtest(matcher: Matcher, calls: Iterable[Call]) -> dict[str, Any]:
    """`applied` calls in the `days` from the first call to the last, and the `last` of them."""
    pattern = re.compile(matcher["pattern"])
    applied = 0
    last: dict[str, str] | None = None
    first_seen = last_seen = ""
    for timestamp, tool, given in calls:
        first_seen = min(first_seen or timestamp, timestamp)
        last_seen = max(last_seen, timestamp)
        value = given.get(matcher["field"]) if tool == matcher["tool"] else None
        if not isinstance(value, str) or not pattern.search(value):
            continue
        applied += 1
        if last is None or timestamp >= last["timestamp"]:
            last = {"timestamp": timestamp, "value": " ".join(value.split())[:_SHOWN]}
    return {"applied": applied, "days": _days(first_seen, last_seen), "last": last}


def _days(first: str, last: str) -> int:
    """Count the days that were begun from the first call to the last; 0 if there was none.

    By the time that passed, not by dates: ten minutes around midnight are one day, wherever the person is."""
    if not first:
        return 0
    return max(0, int((seconds_of(last) - seconds_of(first)) // _DAY)) + 1
