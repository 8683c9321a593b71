"""Build what is sent to the judge: the rubric, the instructions of the assistant, and the messages as fenced data."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from reflect_git import paths
from reflect_git.errors import ReflectError
from reflect_git.platform import files
from reflect_git.records import yaml_form
from reflect_git.records.ids import digest
from reflect_git.records.named_tuple import NamedTuple
from reflect_git.records.schema import CATEGORIES, CRITERIA, RECOMMENDATIONS
from reflect_git.records.yaml_form import RecordError

if TYPE_CHECKING:
    from reflect_git.judge.messages import Message
    from reflect_git.store.repository import Store

SETTING = "reflect.judge.rubric"
LOWEST, HIGHEST = 1, 5
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_MAX_INSTRUCTIONS = 16_000  # characters of instruction files
_MAX_RUBRIC_BYTES = 1 << 16


class Rubric(NamedTuple):
    """The text of the rubric, as the judge reads it, and its hash."""

    text: str
    sha: str


class Extract(NamedTuple):
    """One part of a session to judge: the instructions of the assistant, what was before, and the messages."""

    instructions: str
    earlier: tuple[str, ...]
    messages: tuple[Message, ...]


def load_rubric(store: Store | None) -> Rubric:
    """Load the rubric: the person's own file if a policy names one, else ours."""
    own = store.get_setting(SETTING) if store else None
    path = os.path.expanduser(own) if own else paths.resource_path("templates", "rubric.yaml")
    try:
        given = _parse_rubric(files.read_regular(path, _MAX_RUBRIC_BYTES))
    except OSError as error:
        hint = f"name another file, or take ours: reflect-git config --unset {SETTING}"
        raise ReflectError(f"cannot read the rubric '{path}': {error.strerror}", hint, "rubric") from None
    lines = []
    for name in CRITERIA:
        anchors = [given.get(f"{name}_{number}") for number in range(LOWEST, HIGHEST + 1)]
        if not given.get(name) or not all(anchors):
            hint = "write it like templates/rubric.yaml: five criteria, each with five anchors"
            raise ReflectError(f"the rubric '{path}' has not all of '{name}'", hint, "rubric")
        lines += [
            f"{name}: {given[name]}",
            *(f"  {number} = {text}" for number, text in enumerate(anchors, LOWEST)),
            "",
        ]
    text = "\n".join(lines).strip()
    return Rubric(text, digest("rubric", text)[:16])


def _parse_rubric(data: bytes) -> dict[str, Any]:
    """Parse a rubric. Ours has the form of a record, which needs no YAML library in a hook."""
    try:
        return yaml_form.parse(data)
    except RecordError:
        from reflect_git.platform import yaml_loose  # only for a file that a person edited

        return yaml_loose.parse_edited(data)


@cache
def _load_template() -> str:
    with open(paths.resource_path("templates", "judge", "system.md"), encoding="utf-8") as file:
        return file.read()


def build_system_prompt(rubric: Rubric) -> str:
    """Return the system prompt: the task of the judge, with the rubric."""
    return _load_template().replace("{categories}", ", ".join(CATEGORIES)).replace("{rubric}", rubric.text)


def get_prompt_sha() -> str:
    """Return the hash of everything that is asked, except the rubric and the messages."""
    return digest("prompt", _load_template(), json.dumps(ANSWER_SCHEMA, sort_keys=True))[:16]


def join_instructions(files_by_name: Sequence[tuple[str, str]]) -> str:
    """Return the text of instruction files as Claude reads them: without comments, which have our ids and versions."""
    parts = []
    for name, text in files_by_name:
        plain = _COMMENT.sub("", text).strip()
        if plain:
            parts.append(f"# {os.path.basename(name)}\n{plain}")
    whole = "\n\n".join(parts)
    return whole if len(whole) <= _MAX_INSTRUCTIONS else f"{whole[:_MAX_INSTRUCTIONS]}…"


def build_prompt(extract: Extract, fence: str) -> str:
    """Return the prompt. `fence` is a random word, so that no text in between can end the data."""
    lines = [
        "The instructions that the assistant had:",
        f"=== {fence}",
        extract.instructions or "(none)",
        f"=== {fence}",
    ]
    if extract.earlier:
        lines += ["", "What was before these messages, in short:", f"=== {fence}"]
        lines += [f"- {one}" for one in extract.earlier]
        lines.append(f"=== {fence}")
    lines += ["", "The messages to judge, each after its number and speaker:", f"=== {fence}"]
    for one in extract.messages:
        lines += [f"[{one.n}] {one.role}:", one.text]
    return "\n".join([*lines, f"=== {fence}", "", "Judge these messages now."]) + "\n"


def build_command_input(task: str, rubric: str, extract: Extract, schema: dict[str, Any]) -> str:
    """Return the input of a judge that is a program: one JSON document."""
    return json.dumps(
        {
            "task": task, "rubric": rubric, "instructions": extract.instructions, "earlier": list(extract.earlier),
            "messages": [{"n": one.n, "role": one.role, "text": one.text} for one in extract.messages],
            "schema": schema,
        },
        ensure_ascii=False,
    )  # fmt: skip


_QUOTES = {
    "type": "array",
    "items": {
        "type": "object",
        "properties": {"n": {"type": "integer"}, "text": {"type": "string"}},
        "required": ["n", "text"],
    },
}
_SCORE = {
    "type": "object",
    "properties": {"score": {"type": "number", "minimum": LOWEST, "maximum": HIGHEST}, "quotes": _QUOTES},
    "required": ["score", "quotes"],
}
ANSWER_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "scores": {"type": "object", "properties": dict.fromkeys(CRITERIA, _SCORE), "required": list(CRITERIA)},
        "analysis": {"type": "string"},
        "weaknesses": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"text": {"type": "string"}, "quotes": _QUOTES},
                "required": ["text", "quotes"],
            },
        },
        "recommendation": {"type": "string", "enum": list(RECOMMENDATIONS)},
        "suggestions": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "category": {"type": "string", "enum": list(CATEGORIES)},
                    "text": {"type": "string"},
                    "priority": {"type": "integer", "minimum": 1, "maximum": 5},
                },
                "required": ["category", "text", "priority"],
            },
        },
    },
    "required": ["scores", "analysis", "weaknesses", "recommendation", "suggestions"],
}
