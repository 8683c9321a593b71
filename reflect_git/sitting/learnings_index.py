"""learnings/LEARNINGS.md and its topic files: rendered from main, never tracked, the same bytes from the same main."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reflect_git.adapters import files
from reflect_git.apply.learnings import Listed, render
from reflect_git.store.fold import session_hash

if TYPE_CHECKING:
    from reflect_git.store.reading import Scan
    from reflect_git.store.repository import Store

_FOLDER = "learnings"


def write(store: Store, scan: Scan) -> None:
    """What is in force now; a topic file that nothing is left for goes."""
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
    """In how many sessions it came up, as far as anybody still knows: those of its signals, and of tallied ones."""
    keys = {made["key"] for made in scan.history.decisions if made["subject"] == identity and made["key"]}
    rows = zip(scan.columns["id"], scan.columns["session_id"], scan.columns["key"], strict=True)
    own = set(scan.history.learnings[identity]["signals"])
    seen = {session_hash(session or signal) for signal, session, key in rows if signal in own or key in keys}
    return len(seen | {line[4] for line in scan.history.tallied if line[0] in keys})
