"""What is in force, as people listed it last: approved, and reworded or moved since."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from reflect_git.store.fold import session_hash

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from reflect_git.model.schema import Learning, Project
    from reflect_git.store.reading import Scan

GLOBAL, PROJECT, ALL = "global", "project", "all"


@dataclass(frozen=True)
class InForce:
    """`since` is when it was approved, `amended` when it was last reworded or moved, if it ever was."""

    id: str
    text: str
    title: str
    category: str
    scope: str
    project: Project | None
    target: dict[str, str]
    since: str
    amended: str | None
    sessions: int
    trust: str
    signals: list[str]

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


def in_force(scan: Scan, project: Project | None, where: str = "", words: str = "") -> list[InForce]:
    """Those that hold here, or of one scope only, or everywhere; with these words in their text, target or id."""
    chosen = [one for one in scan.history.in_force() if _is_wanted(one, project, where)]
    counted = dict(_sessions(scan, chosen))
    amended = {made["subject"]: made["timestamp"] for made in scan.history.decisions if made["kind"] == "amended"}
    found = [_told(one, counted[one["id"]], amended.get(one["id"])) for one in chosen]
    found.sort(key=lambda one: (one.scope != GLOBAL, (one.project or {"name": ""})["name"], one.since, one.id))
    return [one for one in found if _has(one, words)]


def _is_wanted(learning: Learning, project: Project | None, where: str) -> bool:
    is_global = learning["scope"] == GLOBAL
    if where == ALL:
        return True
    if where == GLOBAL:
        return is_global
    is_here = project is not None and learning["project"] is not None and learning["project"]["key"] == project["key"]
    return is_here and not is_global if where == PROJECT else is_global or is_here


def _has(rule: InForce, words: str) -> bool:
    return words.casefold() in f"{rule.id}\n{rule.text}\n{rule.title}\n{rule.target['path']}".casefold()


def _told(learning: Learning, sessions: int, amended: str | None) -> InForce:
    return InForce(
        learning["id"], learning["text"], learning["title"], learning["category"], learning["scope"],
        learning["project"], dict(learning["target"].items()), learning["timestamp"], amended, sessions,  # type: ignore[arg-type]
        learning["trust"], learning["signals"],
    )  # fmt: skip


def _sessions(scan: Scan, learnings: Iterable[Learning]) -> Iterator[tuple[str, int]]:
    """In how many sessions each came up, as far as anybody still knows: by its signals and by its keys."""
    keys: dict[str, set[str]] = {}
    for made in scan.history.decisions:
        if made["key"]:
            keys.setdefault(made["subject"], set()).add(made["key"])
    by_signal: dict[str, str] = {}
    by_key: dict[str, set[str]] = {}
    columns = scan.columns
    for identity, session, key in zip(columns["id"], columns["session_id"], columns["key"], strict=True):
        by_signal[identity] = session_hash(session or identity)
        by_key.setdefault(key, set()).add(by_signal[identity])
    for line in scan.history.tallied:
        by_key.setdefault(line[0], set()).add(line[4])
    for learning in learnings:
        seen = {by_signal[signal] for signal in learning["signals"] if signal in by_signal}
        yield learning["id"], len(seen.union(*(by_key.get(key, set()) for key in keys.get(learning["id"], ()))))
