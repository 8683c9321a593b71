"""Render learnings/LEARNINGS.md and its topic files: untracked, and the same bytes for the same main."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reflect_git.platform import files
from reflect_git.records.history import session_hash
from reflect_git.records.ids import plural
from reflect_git.records.named_tuple import NamedTuple
from reflect_git.targets.finding import TITLES
from reflect_git.targets.inert import inert

if TYPE_CHECKING:
    from reflect_git.store.reading.reader import Scan
    from reflect_git.store.repository import Store

_FOLDER = "learnings"


def write(store: Store, scan: Scan) -> None:
    """Write the files for the rules in force; delete topic files that are now empty."""
    wanted = render([_listed(scan, learning["id"]) for learning in scan.history.in_force()])
    for name in files.names_in(store.path(_FOLDER)):
        if name.endswith(".md") and name not in wanted:
            files.discard(store.path(f"{_FOLDER}/{name}"))
    for name, text in wanted.items():
        store.write(f"{_FOLDER}/{name}", text.encode("utf-8"), sync=False)


def _listed(scan: Scan, identity: str) -> Listed:
    learning = scan.history.learnings[identity]
    return Listed(identity, learning["text"], learning["category"], _sessions(scan, identity))


def _sessions(scan: Scan, identity: str) -> int:
    """Count the sessions in which a learning came up, from its remaining signals and from tallies."""
    keys = {made["key"] for made in scan.history.decisions if made["subject"] == identity and made["key"]}
    rows = zip(scan.columns["id"], scan.columns["session_id"], scan.columns["key"], strict=True)
    own = set(scan.history.learnings[identity]["signals"])
    seen = {session_hash(session or signal) for signal, session, key in rows if signal in own or key in keys}
    return len(seen | {line[4] for line in scan.history.tallied if line[0] in keys})


SHOWN = 30
INDEX = "LEARNINGS.md"


class Listed(NamedTuple):
    """A learning and the number of sessions in which it came up."""

    id: str
    text: str
    category: str
    sessions: int


def render(learnings: list[Listed]) -> dict[str, str]:
    """Map file names to texts.

    A category of more than 30 has its own file; the index then shows its newest 30.
    """
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
