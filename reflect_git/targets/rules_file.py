"""Read and write `.claude/rules/reflect/<slug>.md`: one learning per file, its id in the front matter.

---
id: LRN-20260211-4c8d2a1f
paths:
  - "src/**/*.ts"
---

- Use named exports.

A numbered file has a heading above the text: `## PROJ-014: Use named exports`.

A skill, `.claude/skills/<name>/SKILL.md`, is such a file as well: the id is in its front matter, the rest is its text.
"""

from __future__ import annotations

import re
import unicodedata

from reflect_git.errors import ReflectError
from reflect_git.records.named_tuple import NamedTuple
from reflect_git.records.yaml_form import RecordError, quote_text
from reflect_git.targets import markdown
from reflect_git.targets import target_page as pages
from reflect_git.targets.markdown import is_blank
from reflect_git.targets.safe_text import RewordedError, is_same_text, make_safe, strip_bullet

_FRONT_MARK = "---\n"
_MAX_SLUG_WORDS = 6
_MAX_SLUG_LENGTH = 40
HEADING_PATTERN = re.compile(r"## ((?:PROJ|AGENT)-[0-9]{3,6}[a-z]{0,3}: .+)")


class RulesFile(NamedTuple):
    """A learning with a file of its own; `paths` limits it to some files, empty means all."""

    id: str
    text: str
    paths: tuple[str, ...] = ()
    heading: str = ""

    @property
    def words(self) -> str:
        """Return everything that Claude reads in the file: heading and text."""
        return f"{self.heading}. {self.text}" if self.heading else self.text


def build_slug(words: str, record_id: str) -> str:
    """Return a file name from a title or a topic; the end of the id tells two with the same name apart."""
    plain = unicodedata.normalize("NFKD", words).encode("ascii", "ignore").decode().lower()
    parts = re.findall("[a-z0-9]+", plain)[:_MAX_SLUG_WORDS]
    return "-".join([*"-".join(parts)[:_MAX_SLUG_LENGTH].strip("-").split("-"), record_id.rpartition("-")[2]]).strip(
        "-"
    )


def render(rule: RulesFile) -> bytes:
    """Return the content of a rules file, or of a skill: a text with front matter of its own."""
    if rule.text.startswith(_FRONT_MARK):
        return f"{_FRONT_MARK}id: {rule.id}\n{rule.text[len(_FRONT_MARK) :]}".encode()
    line = make_safe(rule.text)[0]
    if not line:
        raise ReflectError("the text of the learning is empty", "give it with --text", code="empty")
    paths = "".join(f"  - {quote_text(path)}\n" for path in rule.paths)
    front = f"id: {rule.id}\n" + (f"paths:\n{paths}" if paths else "")
    heading = f"## {rule.heading}\n\n" if rule.heading else ""
    return f"---\n{front}---\n\n{heading}- {line}\n".encode()


def parse(data: bytes) -> RulesFile | None:
    """Return the learning in a file; None if its front matter has no id of ours."""
    from reflect_git.platform import yaml_loose  # takes 25 ms, and most stores have no such file

    page = pages.read_page(data)
    lines = list(page.lines)
    end = markdown.count_front_matter_lines(lines)
    try:
        front = yaml_loose.parse_edited("".join(lines[1 : end - 1]).encode()) if end else {}
    except RecordError:
        return None
    if not isinstance(front.get("id"), str) or not re.fullmatch(r"LRN-[0-9]{8}-[0-9a-z]+", front["id"]):
        return None
    if "description" in front:
        kept = [line for line in lines[:end] if not line.startswith("id:")]
        return RulesFile(front["id"], "".join([*kept, *lines[end:]]))
    body = [line for line in lines[end:] if not is_blank(line)]
    named = HEADING_PATTERN.fullmatch(body[0].rstrip()) if body else None
    text = strip_bullet(body[1:] if named else body)
    return RulesFile(front["id"], text, _parse_paths(front.get("paths")), named[1] if named else "")


def read_description(document: str) -> str:
    """Return the description in the front matter of a skill, in one inert line."""
    from reflect_git.platform import yaml_loose

    lines = markdown.split_lines(document)
    end = markdown.count_front_matter_lines(lines)
    front = yaml_loose.parse_edited("".join(lines[1 : end - 1]).encode()) if end else {}
    return make_safe(" ".join(str(front.get("description") or "").split()))[0]


def has_same_rule(data: bytes, rule: RulesFile) -> bool:
    """Return whether the file says what the learning says, ignoring what formatters change."""
    live = parse(data)
    return (
        live is not None
        and live.id == rule.id
        and set(live.paths) == set(rule.paths)
        and live.heading == rule.heading
        and is_same_text(live.text, rule.text)
    )


def check_removal(data: bytes, rule: RulesFile, force: bool = False) -> None:
    """Raise an error if the file is not ours, or was reworded and `force` is not set."""
    live = parse(data)
    if live is None or live.id != rule.id:
        raise ReflectError(f"the file is not the one of '{rule.id}'", code="missing")
    if not force and not has_same_rule(data, rule):
        raise RewordedError(rule.id, _format_rule(rule), _format_rule(live))


def _format_rule(rule: RulesFile) -> str:
    return f"{rule.words} ({', '.join(rule.paths)})" if rule.paths else rule.words


def _parse_paths(value: object) -> tuple[str, ...]:
    """Return the paths: Claude Code accepts a list, a text, and a text with commas."""
    if isinstance(value, str):
        return tuple(part.strip() for part in value.split(",") if part.strip())
    return tuple(str(part) for part in value) if isinstance(value, list) else ()
