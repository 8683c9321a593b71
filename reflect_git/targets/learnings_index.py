"""Render learnings/LEARNINGS.md and its topic files: untracked, and the same bytes for the same main."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reflect_git.platform import files
from reflect_git.records.history import session_hash
from reflect_git.records.ids import plural
from reflect_git.records.named_tuple import NamedTuple
from reflect_git.targets.safe_text import make_safe
from reflect_git.targets.target_page import CATEGORY_TITLES

if TYPE_CHECKING:
    from reflect_git.store.reading.reader import Scan
    from reflect_git.store.repository import Store

_FOLDER = "learnings"


def write(store: Store, scan: Scan) -> None:
    """Write the files for the rules in force; delete topic files that are now empty."""
    wanted = render([_build_entry(scan, learning["id"]) for learning in scan.history.get_rules_in_force()])
    for name in files.list_names(store.path(_FOLDER)):
        if name.endswith(".md") and name not in wanted:
            files.discard(store.path(f"{_FOLDER}/{name}"))
    for name, text in wanted.items():
        store.write(f"{_FOLDER}/{name}", text.encode("utf-8"), sync=False)


def _build_entry(scan: Scan, record_id: str) -> IndexEntry:
    learning = scan.history.learnings[record_id]
    return IndexEntry(record_id, learning["text"], learning["category"], _count_sessions(scan, record_id))


def _count_sessions(scan: Scan, record_id: str) -> int:
    """Count the sessions in which a learning came up, from its remaining signals and from tallies."""
    keys = {made["key"] for made in scan.history.decisions if made["subject"] == record_id and made["key"]}
    rows = zip(scan.columns["id"], scan.columns["session_id"], scan.columns["key"], strict=True)
    own = set(scan.history.learnings[record_id]["signals"])
    seen = {session_hash(session or signal) for signal, session, key in rows if signal in own or key in keys}
    return len(seen | {line[4] for line in scan.history.tally_lines if line[0] in keys})


MAX_SHOWN = 30
INDEX_FILE = "LEARNINGS.md"


class IndexEntry(NamedTuple):
    """A learning and the number of sessions in which it came up."""

    id: str
    text: str
    category: str
    sessions: int


def render(learnings: list[IndexEntry]) -> dict[str, str]:
    """Map file names to texts.

    A category of more than 30 has its own file; the index then shows its newest 30.
    """
    files = {}
    index = ["# Learnings"]
    for category, title in CATEGORY_TITLES.items():
        lines = [
            _format_line(each) for each in sorted(learnings, key=lambda each: each.id) if each.category == category
        ]
        if not lines:
            continue
        index += ["", f"## {title}", "", *lines[-MAX_SHOWN:]]
        if len(lines) > MAX_SHOWN:
            name = f"{title.lower().replace(' ', '-')}.md"
            index += ["", f"The newest {MAX_SHOWN} of {len(lines)}, all of them in [{name}]({name})."]
            files[name] = "\n".join([f"# {title}", "", *lines, ""])
    return {INDEX_FILE: "\n".join([*index, ""]), **files}


def _format_line(learning: IndexEntry) -> str:
    sessions = f", {plural(learning.sessions, 'session')}" if learning.sessions > 1 else ""
    return f"- [{learning.id}] {make_safe(learning.text)[0]} (confirmed{sessions})"
