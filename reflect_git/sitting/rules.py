"""What is in force, as people listed it last: approved, and reworded or moved since. Now, or at any time before."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from reflect_git.apply import targets
from reflect_git.apply.targets import Target
from reflect_git.errors import ReflectError
from reflect_git.sitting import places, versions
from reflect_git.store.fold import History, session_hash

if TYPE_CHECKING:
    from reflect_git.model.schema import Learning, Project
    from reflect_git.sitting.places import Place
    from reflect_git.sitting.versions import Version
    from reflect_git.store.reading import Scan
    from reflect_git.store.repository import Store

GLOBAL, PROJECT, ALL = "global", "project", "all"
ADDED, REWORDED, MOVED, TAKEN_BACK = "added", "reworded", "moved", "taken back"


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
    until: str | None = None

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True)
class Choice:
    """Those that hold here, or of one scope, or everywhere; of one file; with these words in text, target or id."""

    keys: Collection[str]
    where: str = ""
    words: str = ""
    target: str = ""

    def has(self, learning: Learning) -> bool:
        is_global = learning["scope"] == GLOBAL
        if self.target and learning["target"]["path"] != self.target:
            return False
        if self.where in (ALL, GLOBAL):
            return self.where == ALL or is_global
        its = learning["project"]
        is_here = its is not None and its["key"] in self.keys
        return is_here and not is_global if self.where == PROJECT else is_global or is_here

    def says(self, rule: InForce) -> bool:
        return self.words.casefold() in f"{rule.id}\n{rule.text}\n{rule.title}\n{rule.target['path']}".casefold()


def in_force(scan: Scan, choice: Choice, history: History | None = None) -> list[InForce]:
    """Now, or as an earlier history has it."""
    history = history or scan.history
    chosen = [one for one in history.in_force() if choice.has(one)]
    counted = dict(_sessions(scan, chosen))
    amended = {made["subject"]: made["timestamp"] for made in history.decisions if made["kind"] == "amended"}
    found = [_told(one, counted[one["id"]], amended.get(one["id"])) for one in chosen]
    return [one for one in sorted(found, key=_order) if choice.says(one)]


def _order(rule: InForce) -> tuple[bool, str, str, str]:
    return rule.scope != GLOBAL, (rule.project or {"name": ""})["name"], rule.since, rule.id


def history_at(scan: Scan, moment: str) -> History:
    """All that had been decided by then."""
    then = [record for record in scan.others.values() if record.get("timestamp", "~") <= moment]
    learnings = [record for record in then if record["id"].startswith("LRN-")]
    return History(learnings, [record for record in then if record["id"].startswith("DEC-")], [])


def version_at(store: Store, scan: Scan, place: Place, choice: Choice, name: str) -> tuple[Target, Version]:
    """The version `v7` of the file that is meant: one that was named, else the project's, else the global one."""
    for target in _candidates(scan, place, choice):
        listed = versions.versions(store, versions.mirror_of(store, place, target))
        if listed:
            return target, versions.version(listed, name)
    raise ReflectError(
        "nothing was ever written there", "see 'reflect-git log' for files and their versions", "unknown-version"
    )


def _candidates(scan: Scan, place: Place, choice: Choice) -> Iterator[Target]:
    if choice.target:
        learnings = (one for one in scan.history.learnings.values() if choice.has(one))
        yield from dict.fromkeys(Target(one["target"]["kind"], one["target"]["path"]) for one in learnings)
        return
    names = [name for name in (PROJECT, GLOBAL) if choice.where in ("", name) and (place.root or name == GLOBAL)]
    yield from (targets.resolve(name, places.surroundings(place), "") for name in names)


def at_version(store: Store, scan: Scan, choice: Choice, target: Target, version: Version) -> list[InForce]:
    """The learnings that a file had then, in the words it had them in; those of others are not ours to list."""
    entries = versions.entries_at(store, version, target.kind)
    history = history_at(scan, version.time.replace("Z", ".999Z"))
    known = [history.learnings[one] for one in entries if one in history.learnings]
    counted = dict(_sessions(scan, known))
    told = [_told(one, counted[one["id"]], None) for one in known]
    if target.form != "improvements":  # whose heading is not its text
        told = [replace(one, text=entries[one.id]) for one in told]
    return [one for one in sorted(told, key=_order) if choice.says(one)]


def changes(then: Sequence[InForce], now: Sequence[InForce]) -> list[tuple[str, InForce | None, InForce | None]]:
    """What became of each: (how, as it was, as it is), in the order of the list then, and what is new behind it."""
    before, after = _by_id(then), _by_id(now)
    found: list[tuple[str, InForce | None, InForce | None]] = []
    for identity, old in before.items():
        new = after.get(identity)
        if new is None:
            found.append((TAKEN_BACK, old, None))
        elif new.text != old.text:
            found.append((REWORDED, old, new))
        elif new.target != old.target:
            found.append((MOVED, old, new))
    return found + [(ADDED, None, new) for identity, new in after.items() if identity not in before]


def _by_id(rules: Sequence[InForce]) -> Mapping[str, InForce]:
    return {rule.id: rule for rule in rules}


def _told(learning: Learning, sessions: int, amended: str | None) -> InForce:
    return InForce(
        learning["id"], learning["text"], learning["title"], learning["category"], learning["scope"],
        learning["project"], dict(learning["target"].items()), learning["timestamp"], amended, sessions,  # type: ignore[arg-type]
        learning["trust"], learning["signals"], learning["meta"].get("until"),
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
