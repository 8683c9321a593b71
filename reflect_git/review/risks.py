"""Wording that would hand over more than a rule: it needs a typed `yes` and is never approved in bulk."""

from __future__ import annotations

import re
import unicodedata
from functools import cache

from reflect_git.model.schema import TRUSTS
from reflect_git.model.tables import table
from reflect_git.model.tuples import NamedTuple
from reflect_git.review.sentences import split

RISK = "risk"
_FLAGS = re.IGNORECASE | re.DOTALL
_OWN = ("user_typed", "user_feedback")


class Finding(NamedTuple):
    """`kind` is one of refused, mended, risk and note; `way_out` is what to run or to change, if anything is."""

    kind: str
    code: str
    message: str
    way_out: str = ""


class Sign(NamedTuple):
    """A kind of risk. In a text that one of the patterns finds stands one of the hints, in small letters: to compile
    all patterns takes 8 ms, and most rules have no hint of any. Without hints the patterns are always asked."""

    code: str
    said: str
    hints: tuple[str, ...]
    patterns: tuple[str, ...]


SIGNS = tuple(
    Sign(one["code"], one["said"], tuple(one["hints"]), tuple(one["patterns"])) for one in table("risks")["signs"]
)
# "Never disable the tests" is the opposite of a risk, if nothing else is said but that something was wrong.
_FORBIDS = r"^\s*(?:(?:%s)\s*[,:;—–-]+\s+)?(never|do not|don't|avoid)\b[^.;,!?]*[.!]?\s*$"
_GUARDED = ("switches-off-safety", "reads-secrets", "widens-permissions")
_LATIN = r"[A-Za-zÀ-ɏ]"
_LOOKALIKE = r"[\u0370-\u03ff\u1f00-\u1fff\u0400-\u052f]"
_FROM = {
    "assistant": "the assistant",
    "tool_output": "the output of a tool",
    "remote": "another machine",
    "imported": "an import",
}


def risks(text: str, trust: str) -> list[Finding]:
    """Trust is mechanical and cannot be argued with; the rest is a list of what attacks look like, never complete."""
    found = []
    if trust not in _OWN:
        # The text may be the user's all the same: what it rests on is trusted as little as the least of it.
        message = f"it rests on words that are not your own: from {_FROM.get(trust, trust)}"
        found.append(Finding(RISK, "trust", message, "read it to the end"))
    mixed = _mixed(text)
    if mixed:
        message = f"'{mixed}' mixes letters of two alphabets that look alike"
        found.append(Finding(RISK, "mixed-script", message, "type the word anew: --text TEXT"))
    seen = _visible(text)
    plain = in_small_letters(seen)
    for sign in SIGNS:
        if (not sign.hints or any(hint in plain for hint in sign.hints)) and _speaks_of(sign, seen):
            found.append(Finding(RISK, sign.code, f"it {sign.said}", "approve it only if you mean exactly this"))
    return found


def _mixed(text: str) -> str:
    """The first word that mixes alphabets."""
    if text.isascii():
        return ""
    words = re.findall(r"\w+", text)
    return next((word for word in words if re.search(_LATIN, word) and re.search(_LOOKALIKE, word)), "")


def in_small_letters(text: str) -> str:
    """As patterns that take no heed of case see it: to them, the Turkish letters are an i, too."""
    return text.replace("İ", "i").replace("ı", "i").lower()


def _visible(text: str) -> str:
    """As a reader takes it: no invisible letters within a word, wide letters as plain ones."""
    return "".join(sign for sign in unicodedata.normalize("NFKC", text) if unicodedata.category(sign) != "Cf")


def lowest(trusts: list[str]) -> str:
    """A derived text is trusted as little as the least of its sources; an unknown label counts as the least."""
    return max(trusts, key=lambda trust: TRUSTS.index(trust) if trust in TRUSTS else len(TRUSTS))


@cache
def _forbids() -> re.Pattern[str]:
    return re.compile(_FORBIDS % "|".join(table("wording")["fault"]), re.IGNORECASE)


@cache
def finder(sign: Sign) -> re.Pattern[str]:
    return re.compile("|".join(f"(?:{one})" for one in sign.patterns), _FLAGS)


def _speaks_of(sign: Sign, text: str) -> bool:
    pattern = finder(sign)
    if not pattern.search(text):
        return False
    if sign.code not in _GUARDED:
        return True
    return any(pattern.search(one) and not _forbids().match(one) for one in split(text))
