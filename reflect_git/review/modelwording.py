"""Write the prompt with which a model words proposed rules, and check its answer. The texts are in templates/wording.

The model's answer is never taken as it is: a text that is no rule in form is dropped with a reason, and what it adds to
the person's words is found by `quotes.find_additions`, as for every wording of a model.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from reflect_git.model.tuples import NamedTuple
from reflect_git.review.ruleform import LONGEST, why_not_whole
from reflect_git.review.sentences import split

AT_ONCE = 20
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "rules": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "n": {"type": "integer"},
                    "rule": {"type": "string"},
                    "same_as": {"type": "integer"},
                    "no_rule": {"type": "string"},
                },
                "required": ["n"],
                "additionalProperties": False,
            },
        }
    },
    "required": ["rules"],
    "additionalProperties": False,
}
_MOST_SENTENCES = 2
_MOST_SAID, _SAID_LENGTH, _MESSAGE_LENGTH, _REASON_LENGTH = 3, 400, 800, 100
_FRAME_TOKENS = 700  # of a request of the client beside our own texts: 2.7 KB
_ANSWER_TOKENS = 150  # of one rule, with what the model thinks


class Item(NamedTuple):
    """What is sent of one proposed rule: redacted words only."""

    said: tuple[str, ...]
    message: str = ""


class Wording(NamedTuple):
    """What the model made of one proposed rule: a text, or why there is none.

    `no_rule` is the model's own reason why nothing lasts; `trouble` is why its text was dropped. `same_as` is the place
    of an earlier proposed rule that means the same, in its view.
    """

    text: str = ""
    no_rule: str = ""
    trouble: str = ""
    same_as: int | None = None


def system_prompt(call: str, rules: str) -> str:
    """Put the rules of wording, which /reflect has word for word, into the frame of a call."""
    return call.replace("{rules}", rules)


def prompt_of(items: Sequence[Item]) -> str:
    """Return the proposed rules as one JSON list, a line each."""
    lines = []
    for number, item in enumerate(items, 1):
        said = [_clip(text, _SAID_LENGTH) for text in item.said[:_MOST_SAID]]
        told: dict[str, Any] = {"n": number, "said": said}
        message = _clip(item.message, _MESSAGE_LENGTH)
        told |= {"message": message} if message not in ("", *said) else {}
        lines.append(json.dumps(told, ensure_ascii=False))
    return "[\n" + ",\n".join(lines) + "\n]\n"


def expected_tokens(system: str, prompt: str, count: int) -> tuple[int, int]:
    """Estimate the tokens that go in and come out. Other scripts than Latin take about one per letter."""
    words = f"{system}{prompt}"
    wide = sum(sign >= "\u0370" for sign in words)
    return _FRAME_TOKENS + (len(words) - wide) // 4 + wide, _ANSWER_TOKENS * count


def parse_answer(answer: Any, count: int) -> list[Wording]:
    """Return one wording for each of `count` proposed rules; whatever is not as asked for is dropped with a reason."""
    listed = answer.get("rules") if isinstance(answer, dict) else None
    found: dict[int, Wording] = {}
    for entry in listed if isinstance(listed, list) else ():
        number = entry.get("n") if isinstance(entry, dict) else None
        if type(number) is int and 1 <= number <= count and number not in found:
            found[number] = _parse_entry(entry, number)
    return [found.get(number, Wording(trouble="Claude left it out")) for number in range(1, count + 1)]


def _parse_entry(entry: dict[str, Any], number: int) -> Wording:
    text = _flat(entry.get("rule"))
    reason = _clip(_flat(entry.get("no_rule")), _REASON_LENGTH).rstrip(".")
    if not text:
        return Wording(no_rule=reason) if reason else Wording(trouble="Claude gave no text")
    same = entry.get("same_as")
    earlier = same - 1 if type(same) is int and 1 <= same < number else None
    trouble = find_fault(text)
    return Wording(trouble=f"Claude's text was dropped: it {trouble}") if trouble else Wording(text, same_as=earlier)


def find_fault(text: str) -> str:
    """Return why a wording has not the form of a rule; empty if it has."""
    count = len(split(text))
    if count > _MOST_SENTENCES:
        return f"has {count} sentences"
    return why_not_whole(text, LONGEST)


def _flat(value: Any) -> str:
    """Return a text on one line, without what a terminal would act on; empty if it is none."""
    text = " ".join(value.split()) if isinstance(value, str) else ""
    return "".join(sign for sign in text if sign.isprintable())


def _clip(text: str, most: int) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= most else f"{flat[: most - 1]}…"
