"""Choose the text that is proposed for a group of signals: the person's own sentence, if one works as a rule.

Nothing is rephrased beyond dropping the talk around a sentence. Where no sentence works as a rule by itself, the text
is a quote that still needs wording, and says so.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from reflect_git.model.frames import frame_of, opposes
from reflect_git.model.schema import TRUSTS
from reflect_git.model.tuples import NamedTuple
from reflect_git.review.ruleform import LONGEST, tidy, why_not, why_not_whole
from reflect_git.review.sentences import sentences_in

WRITTEN_LONGEST = 400  # of what somebody wrote down as a rule
_OWN = ("user_typed", "user_feedback")
_FIX = re.compile(r"^`([^`]+)` fails here \(.*\); `([^`]+)` works$", re.DOTALL)
_AFTER = re.compile(r"^`([^`]+)` fails here \(.*\) until `([^`]+)` was run$", re.DOTALL)
_TWICE = re.compile(r"^`([^`]+)` failed twice: (.*)$", re.DOTALL)
_FAILED = re.compile(r"^Bash failed: (.+)$", re.DOTALL)
# Without it, the sentence before would say more than was said.
_CLINGS = re.compile(r"(?:(?:but|and) )?(?:unless|except|only|otherwise|instead|until|if|or|not|never|but)\b", re.I)
_INSTEAD = re.compile(r"^(?:just |always )*(?:use|keep|stick (?:to|with)|prefer|take)\b.*", re.I)
_EXPLICIT = re.compile(
    r"\b(?:always|never|from now on|going forward|every time|whenever)\b|^(?:don'?t|do not|all|every|each) ", re.I
)


class Worded(NamedTuple):
    """The text, and why it is no rule yet; empty if it is one."""

    text: str
    why: str = ""


def worded(signals: Sequence[Mapping[str, Any]]) -> Worded:
    """Word the signals of one candidate: the best sentence as a rule, else the words as they were said."""
    first = spokesman(signals)
    content = " ".join(str(first["content"]).split())
    found = _found_out(content)
    if found:
        return found
    if is_borrowed(signals):
        question, answer = _asked_and_answered(first)
        return Worded(clip(f"{question} {answer}"), "answers a question")
    if not _is_said(first):
        return _written(content)
    best = [rule for rule in map(_rule_in, _by_right(signals)) if not rule.why]
    if best:
        return best[0]
    return Worded(clip(content), _rule_in(first).why)


def spokesman(signals: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    """Return the signal that says most with the best right to say it; of two equals the first."""
    return _by_right(signals)[0]


def _by_right(signals: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    def weight(signal: Mapping[str, Any]) -> tuple[int, bool, int]:
        frame = frame_of(str(signal["content"]))
        says = bool(frame and frame.wanted) + bool(frame and frame.unwanted)
        return TRUSTS.index(signal["trust"]), signal["type"] == "failure", -says

    return sorted(signals, key=weight)


def is_borrowed(signals: Sequence[Mapping[str, Any]]) -> bool:
    """Tell whether the answer says nothing without the assistant's question: then the text is not the user's alone."""
    signal = spokesman(signals)
    question, answer = _asked_and_answered(signal)
    return bool(question) and (str(signal["content"]).startswith(question[:80]) or len(answer.split()) < 4)


def clip(text: str, limit: int = WRITTEN_LONGEST) -> str:
    return text if len(text) <= limit else f"{text[: limit - 1].rstrip()}…"


def joined(sentences: Sequence[str]) -> str:
    """Join sentences; the last, like a single one, goes without its full stop."""
    text = ""
    for at, one in enumerate(sentences):
        is_wide = one[-1:] >= "\u3040"  # these scripts write their own full stop, without a space behind it
        text += one
        if at < len(sentences) - 1:
            stop = "" if one.endswith((".", "?", "!", "…", "。", "？", "！", ":")) else "。" if is_wide else "."
            text += stop if is_wide else f"{stop} "
    return text


def _is_said(signal: Mapping[str, Any]) -> bool:
    """Tell whether a person said it in passing; what was captured by hand or imported was written to be a rule."""
    return signal["source"]["hook"] != "manual" and signal["trust"] in _OWN


def _written(content: str) -> Worded:
    sentences = sentences_in(content) or [content]
    text = tidy(content) if len(sentences) == 1 else content
    return Worded(clip(text), why_not_whole(text, WRITTEN_LONGEST))


def _rule_in(signal: Mapping[str, Any]) -> Worded:
    """Find the rule in what was captured; else one that says "always" or "never" elsewhere in the message."""
    content, context = str(signal["content"]), str(signal["context"])
    said = sentences_in(content) or [content]
    message = [] if context.startswith("asked: ") else sentences_in(context)
    texts = [tidy(sentence) for sentence in said]
    reasons = [why_not(text, sentence) for text, sentence in zip(texts, said)]
    rules = [at for at, why in enumerate(reasons) if not why]
    if rules:
        return _together(rules, texts, [*said, *_after(said[-1], message)])
    for at, sentence in enumerate(message):
        text = tidy(sentence)
        if _EXPLICIT.search(text) and not why_not(text, sentence):
            return _together([0], [text], message[at:])
    return Worded(clip(content), reasons[0])


def _after(sentence: str, message: Sequence[str]) -> Sequence[str]:
    """Return the sentences of the message behind one of them."""
    return message[message.index(sentence) + 1 :] if sentence in message else ()


def _together(rules: Sequence[int], texts: Sequence[str], said: Sequence[str]) -> Worded:
    """Join the rules, each with the exception or the alternative that follows it. More than two are no one rule."""
    found: list[str] = []
    for at in rules:
        found += [texts[at]] if texts[at] not in found else []
        if at + 1 < len(said) and at + 1 not in rules:
            more = tidy(said[at + 1])
            is_instead = not found[-1].endswith("?") and _is_ban(texts[at]) and bool(_INSTEAD.match(more))
            if _CLINGS.match(said[at + 1]) or is_instead:
                broken = why_not(f"{texts[at]}, {more[:1].lower()}{more[1:]}")
                if broken:
                    return Worded(joined([texts[at], said[at + 1]]), broken)
                found.append(more)
    text = joined(found)
    if len(found) > 2 or len(text) > LONGEST:
        return Worded(clip(joined(said)), "says several things")
    return Worded(text, "" if _keeps_meaning(texts, rules, text) else "is not clear")


def _is_ban(text: str) -> bool:
    frame = frame_of(text)
    return bool(frame and frame.unwanted and not frame.wanted)


def _keeps_meaning(texts: Sequence[str], rules: Sequence[int], text: str) -> bool:
    """Compare what the joined text orders with what each sentence orders."""
    now = frame_of(text)
    frames = [frame_of(texts[at]) for at in rules]
    return now is None or not any(frame and opposes(frame, now) for frame in frames)


def _asked_and_answered(signal: Mapping[str, Any]) -> tuple[str, str]:
    context = str(signal["context"])
    if not context.startswith("asked: "):
        return "", ""
    question, _, answer = context.removeprefix("asked: ").partition("\nanswered: ")
    return question.strip(), answer.strip()


def _found_out(content: str) -> Worded | None:
    """Name what failed and what works. The cause is a tool's text: it is shown, never proposed."""
    fix = _FIX.match(content)
    if fix:
        return Worded(f"`{fix[1]}` fails here; use `{fix[2]}`")
    after = _AFTER.match(content)
    if after:
        return Worded(f"Run `{after[2]}` first: without it `{after[1]}` fails here")
    failed = _TWICE.match(content) or _FAILED.match(content)
    if failed is None:
        return None
    return Worded(f"`{failed[1].replace('`', chr(39))}` fails here", "tells what happened")
