"""Match a rule against tool calls: build the pattern, and count how often it would have applied."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from reflect_git.language.sentences import split_line
from reflect_git.language.words import drop_openers, load_table, plain_words
from reflect_git.records.ids import parse_utc

if TYPE_CHECKING:
    from reflect_git.candidates.candidate import Candidate
    from reflect_git.language.parse import Frame

Matcher = dict[str, str]
Call = tuple[str, str, Mapping[str, Any]]

# Programs that people name when they mean the command. A word that is also plain English (`go`, `make`) is taken only
# with more words behind it.
PROGRAMS = frozenset(load_table("programs")["programs"].split())
_ENGLISH_WORDS = frozenset(load_table("programs")["english"].split())
# What may stand before a command without being it.
_COMMAND_START = (
    r"(?:^|[;&|(]|\n)[^\S\n]*"
    r"(?:(?:sudo|time|command|exec|nohup|env|npx|then|do)\s+(?:-\w+\s+)*)*(?:[A-Za-z_]\w*=\S*\s+)*"
)
_COMMAND_END = r"(?=$|[\s;&|)])"
COMMAND_FIELD = "command"  # what of a call a matcher looks at
_WORD = re.compile(r"^[\w@.:/+=-]+$")
_MAX_SHOWN_LENGTH = 200
_DAY = 86400


def is_program(word: str) -> bool:
    """Return whether a word can only be the name of a program."""
    return word in PROGRAMS and word not in _ENGLISH_WORDS


def build_matcher(frame: Frame | None, texts: Iterable[str] = ()) -> Matcher | None:
    """Return a matcher for a parsed rule, or None if it is not clear enough.

    "Use pnpm, not npm" matches Bash calls whose command starts with `npm`. `texts` are the user's own words. A frame
    has lost case and endings, so names are looked up there.
    """
    if frame is None or not frame.unwanted or frame.condition:
        return None
    said = " ".join(texts)
    unwanted = _find_command(frame.unwanted, said)
    if unwanted is None:
        return None
    wanted = _find_as_typed(frame.wanted.split(), said) or frame.wanted.split()
    if wanted[: len(unwanted)] == unwanted:
        return None  # `npm`, but `npm test`: the pattern would meet what is wanted
    return {
        "tool": "Bash",
        "field": COMMAND_FIELD,
        "pattern": _COMMAND_START + r"\s+".join(map(re.escape, unwanted)) + _COMMAND_END,
        "instead": " ".join(wanted),
    }


def get_candidate_matcher(candidate: Candidate, text: str) -> Matcher | None:
    """Return the matcher of a candidate in another wording; without another wording, its own."""
    return candidate.matcher if text in ("", candidate.text) else find_matcher(text)


def find_matcher(text: str) -> Matcher | None:
    """Return the matcher of a text that somebody worded; None unless all sentences that have one agree."""
    from reflect_git.language.parse import parse_frame  # most texts are approved as proposed

    found = [
        made for made in (build_matcher(parse_frame(sentence), [sentence]) for sentence in split_line(text)) if made
    ]
    return found[0] if len({made["pattern"] for made in found}) == 1 else None


def _find_command(part: str, said: str) -> list[str] | None:
    """Return the words of a command as they were typed; None for anything else."""
    words = part.split()
    if words[:1] == ["run"]:
        words = words[1:]
    name = words[0].removeprefix("=") if words else ""  # as frames mark a name that is a word of talk, too
    if not words or len(words) > 4 or name not in PROGRAMS or (len(words) == 1 and name in _ENGLISH_WORDS):
        return None
    if not all(_WORD.match(word) for word in words):
        return None
    if len(words) == 1:
        return words
    return _find_in_code(words, said)


def _find_in_code(words: list[str], said: str) -> list[str] | None:
    """Return words as typed in backticks: `docker build` is a command there, "docker images in CI" is prose."""
    for code in said.split("`")[1::2]:
        if plain_words(f"`{code}`") == words or code.split() == words:
            return code.split()
    return None


def _find_as_typed(words: list[str], said: str) -> list[str] | None:
    """Return the user's own spelling of words from a frame."""
    typed = said.replace("`", " ").split()
    runs = (typed[at : at + len(words)] for at in range(len(typed))) if words else iter(())
    found = next((run for run in runs if drop_openers(plain_words(" ".join(run))) == words), None)
    return _find_in_code(words, said) or ([word.strip(".,;:!?'\"()") for word in found] if found else None)


def backtest(matcher: Matcher, calls: Iterable[Call]) -> dict[str, Any]:
    """Count the calls a matcher applies to, over how many days, and return the last of them."""
    pattern = re.compile(matcher["pattern"])

    def find_value(tool: str, given: Mapping[str, Any]) -> str:
        value = given.get(matcher["field"]) if tool == matcher["tool"] else None
        return value if isinstance(value, str) and pattern.search(value) else ""

    return count_applied((timestamp, find_value(tool, given)) for timestamp, tool, given in calls)


def count_applied(calls: Iterable[tuple[str, str]]) -> dict[str, Any]:
    """Sum up calls: the time of each, and what a matcher applied to, or empty."""
    applied = 0
    last: dict[str, str] | None = None
    first_seen = last_seen = ""
    for timestamp, value in calls:
        first_seen = min(first_seen or timestamp, timestamp)
        last_seen = max(last_seen, timestamp)
        if not value:
            continue
        applied += 1
        if last is None or timestamp >= last["timestamp"]:
            last = {"timestamp": timestamp, "value": " ".join(value.split())[:_MAX_SHOWN_LENGTH]}
    # By the time that passed, not by dates: ten minutes around midnight are one day, wherever the person is.
    days = max(0, int((parse_utc(last_seen) - parse_utc(first_seen)) // _DAY)) + 1 if first_seen else 0
    return {"applied": applied, "days": days, "last": last}
