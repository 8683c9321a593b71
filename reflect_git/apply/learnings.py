"""learnings/LEARNINGS.md and its topic files: what is in force, for people to read. Rendered, never parsed."""

from __future__ import annotations

from reflect_git.apply.inert import inert
from reflect_git.apply.listing import TITLES
from reflect_git.model.counts import plural
from reflect_git.model.tuples import NamedTuple

SHOWN = 30
INDEX = "LEARNINGS.md"


class Listed(NamedTuple):
    """A learning and in how many sessions it came up."""

    id: str
    text: str
    category: str
    sessions: int


def render(learnings: list[Listed]) -> dict[str, str]:
    """File name -> text. A category of more than 30 has a file of its own; the index then shows its newest 30."""
    files = {}
    index = ["# Learnings"]
    for category, title in TITLES.items():
        lines = [_line(each) for each in sorted(learnings, key=lambda each: each.id) if each.category == category]
        if not lines:
            continue
        index += ["", f"## {title}", "", *lines[-SHOWN:]]
        if len(lines) > SHOWN:
            name = f"{title.lower().replace(' ', '-')}.md"
            index += ["", f"The newest {SHOWN} of {len(lines)}, all of them in [{name}]({name})."]
            files[name] = "\n".join([f"# {title}", "", *lines, ""])
    return {INDEX: "\n".join([*index, ""]), **files}


def _line(learning: Listed) -> str:
    sessions = f", {plural(learning.sessions, 'session')}" if learning.sessions > 1 else ""
    return f"- [{learning.id}] {inert(learning.text)[0]} (confirmed{sessions})"
