"""The text that is proposed: the user's own words, cleaned of talk, as an order where they were one.

Nothing is added that the user did not say, and no negation is ever dropped or put in: a sentence that cannot stand
alone stays as it was typed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from reflect_git.model.frames import Frame, frame_of, opposes
from reflect_git.model.schema import TRUSTS
from reflect_git.review.carrying import carrying, sentences_in
from reflect_git.review.orders import coded, ordered

LONGEST = 400

_OWN = ("user_typed", "user_feedback")
_FIX = re.compile(r"^`([^`]+)` fails here \(.*\); `([^`]+)` works$", re.DOTALL)
_AFTER = re.compile(r"^`([^`]+)` fails here \(.*\) until `([^`]+)` was run$", re.DOTALL)
_TWICE = re.compile(r"^`([^`]+)` failed twice: (.*)$", re.DOTALL)
_FAILED = re.compile(r"^Bash failed: (.+)$", re.DOTALL)


def proposal(signals: Sequence[Mapping[str, Any]]) -> str:
    """Of the signals of one candidate."""
    signal = spokesman(signals)
    content = " ".join(str(signal["content"]).split())
    found = _found_out(content)
    if found:
        return found
    if is_borrowed(signals):
        question, answer = _asked_and_answered(signal)
        return clip(f"{question} {ordered(answer)}")
    return _said(content, _message(signal))


def spokesman(signals: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    """The signal that says most with the best right to say it; of two equals the first."""

    def weight(signal: Mapping[str, Any]) -> tuple[int, int]:
        frame = frame_of(str(signal["content"]))
        parts = bool(frame and frame.wanted) + bool(frame and frame.unwanted)
        return TRUSTS.index(signal["trust"]), -parts

    return min(signals, key=weight)


def is_borrowed(signals: Sequence[Mapping[str, Any]]) -> bool:
    """The answer says nothing without the assistant's question, so that the text is not the user's alone."""
    signal = spokesman(signals)
    question, answer = _asked_and_answered(signal)
    return bool(question) and (str(signal["content"]).startswith(question[:80]) or len(answer.split()) < 4)


def clip(text: str, limit: int = LONGEST) -> str:
    return text if len(text) <= limit else f"{text[: limit - 1].rstrip()}…"


def _asked_and_answered(signal: Mapping[str, Any]) -> tuple[str, str]:
    context = str(signal["context"])
    if not context.startswith("asked: "):
        return "", ""
    question, _, answer = context.removeprefix("asked: ").partition("\nanswered: ")
    return question.strip(), answer.strip()


def _found_out(content: str) -> str:
    """What failed and what works. The cause is a tool's text: it is shown, never proposed."""
    fix = _FIX.match(content)
    if fix:
        return f"`{fix[1]}` fails here; use `{fix[2]}`"
    after = _AFTER.match(content)
    if after:
        return f"Run `{after[2]}` first: without it `{after[1]}` fails here"
    failed = _TWICE.match(content) or _FAILED.match(content)
    return f"`{failed[1].replace('`', chr(39))}` fails here" if failed else ""


def _message(signal: Mapping[str, Any]) -> str:
    """The whole message of the user, where that is what the context holds; else it may be anybody's words."""
    context = str(signal["context"])
    is_mined = signal["source"]["hook"] != "manual" and signal["trust"] in _OWN
    return context if is_mined and not context.startswith("asked: ") else ""


def _said(content: str, message: str) -> str:
    """The user's sentences as orders; as they were typed where these would say something else."""
    frame = frame_of(content)
    ways = (_replaced(content, message) or joined(carrying(content, message)), joined(carrying(content, "")))
    return clip(next((text for text in map(coded, ways) if _keeps_meaning(frame, text)), content))


def joined(sentences: Sequence[str]) -> str:
    """One after the other; the last, like a single one, without its full stop."""
    text = ""
    for at, one in enumerate(sentences):
        is_wide = one[-1:] >= "\u3040"  # these write their own full stop, without a space behind it
        text += one
        if at < len(sentences) - 1:
            stop = "" if one.endswith(_ENDS) else "。" if is_wide else "."
            text += stop if is_wide else f"{stop} "
    return text


_ENDS = (".", "?", "!", "…", "。", "？", "！", ":")


def _replaced(content: str, context: str) -> str:
    """What was done and what is done here are one rule: "why did you use npm? we use pnpm"."""
    said = [part for sentence in sentences_in(context)[:8] for part in _halves(sentence)]
    for at, one in enumerate(said):
        did, its = _DID.match(one), _ITS.match(said[at + 1]) if at + 1 < len(said) else None
        if did and its and any(part in content for part in (one, said[at + 1])):
            return f"Use {its['good']}, not {did['bad']}"
        here = frame_of(said[at + 1]) if did and at + 1 < len(said) else None
        if did is None or here is None or not here.wanted or here.unwanted or here.condition:
            continue
        told = _HERE.match(ordered(said[at + 1]))
        text = f"Use {told['good']}, not {did['bad']}" if told else ""
        frame = frame_of(text)
        if frame and frame.wanted == here.wanted and any(part in content for part in (one, said[at + 1])):
            return text
    return ""


def _halves(sentence: str) -> list[str]:
    """What was done and what it should be, with a comma between them."""
    left, _, right = sentence.partition(", ")
    return [left, right] if _DID.match(left) and (_ITS.match(right) or _HERE.match(ordered(right))) else [sentence]


_ITS = re.compile(
    r"^(?:no,? )?(?:it'?s|it is|this is an?) (?P<good>`[^`]+`|[\w.@/-]*\w)(?: (?:here|project|repo))?[ !.]*$", re.I
)
_DID = re.compile(
    r"^(?:.{0,20}[,:] )?(?:why (?:did|do|are|would) you (?:still |always |even )?"
    r"(?:use|using|run|running|install|installing)|you (?:just |again )?(?:used|ran|installed|are using)|"
    r"(?:this|that)(?:'s| is) the \w+ time (?:that )?you(?:'ve)? (?:use|used|run|ran)) "
    r"(?P<bad>`[^`]+`|[\w.@/-]*\w)(?: again| here)*[ ?!.]*$",
    re.IGNORECASE,
)
_HERE = re.compile(
    r"^(?:(?:we|this project|the project|this repo|the repo|our team)(?: only| always| all)? uses? |(?:always )?use )"
    r"(?P<good>`[^`]+`|[\w.@/-]*\w)(?: here| in this (?:repo|project)| for (?:this|that|everything)| instead)?$",
    re.IGNORECASE,
)


def _keeps_meaning(frame: Frame | None, text: str) -> bool:
    """The last guard: what the text now orders is what was ordered."""
    now = frame_of(text) if frame else None
    return frame is None or now is None or not opposes(frame, now)
