"""List the rules in force, now or at any earlier time or version, and what changed since."""

from __future__ import annotations

import re
import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from reflect_git.errors import ReflectError
from reflect_git.records.history import History, session_hash
from reflect_git.records.ids import utc
from reflect_git.records.rule_numbers import number_rules
from reflect_git.rules import project_files, snapshot
from reflect_git.store import target_versions
from reflect_git.targets import target_files
from reflect_git.targets.target_files import Target

if TYPE_CHECKING:
    from reflect_git.records.schema import Learning, Project
    from reflect_git.rules.project_files import Place
    from reflect_git.store.reading.reader import Scan
    from reflect_git.store.repository import Store
    from reflect_git.store.target_versions import Version

GLOBAL, PROJECT, ALL = "global", "project", "all"
ADDED, REWORDED, MOVED, REVERTED = "added", "reworded", "moved", "taken back"


@dataclass(frozen=True)
class RuleInForce:
    """A rule in force. `since`: when it was approved. `amended`: when it was last reworded or moved, if ever."""

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
    pinned: bool = False
    number: str = ""

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True)
class RuleFilter:
    """A filter for rules: by scope or project, by file, and by words in text, target or id."""

    keys: Collection[str]
    where: str = ""
    words: str = ""
    target: str = ""

    def matches(self, learning: Learning) -> bool:
        is_global = learning["scope"] == GLOBAL
        if self.target and learning["target"]["path"] != self.target:
            return False
        if self.where in (ALL, GLOBAL):
            return self.where == ALL or is_global
        its = learning["project"]
        is_here = its is not None and its["key"] in self.keys
        return is_here and not is_global if self.where == PROJECT else is_global or is_here

    def has_words(self, rule: RuleInForce) -> bool:
        return (
            self.words.casefold()
            in f"{rule.id}\n{rule.number}\n{rule.text}\n{rule.title}\n{rule.target['path']}".casefold()
        )


def list_rules(scan: Scan, choice: RuleFilter, history: History | None = None) -> list[RuleInForce]:
    """List the rules in force, now or in an earlier history."""
    history = history or scan.history
    chosen = [one for one in history.get_rules_in_force() if choice.matches(one)]
    counted = dict(_count_sessions(scan, chosen))
    amended = {made["subject"]: made["timestamp"] for made in history.decisions if made["kind"] == "amended"}
    pins, numbers = history.get_pins(), number_rules(scan.history)
    found = [
        replace(_build_rule(one, counted[one["id"]], amended.get(one["id"]), numbers), pinned=one["id"] in pins)
        for one in chosen
    ]
    return [one for one in sorted(found, key=_get_sort_key) if choice.has_words(one)]


def _get_sort_key(rule: RuleInForce) -> tuple[bool, str, str, str]:
    return rule.scope != GLOBAL, (rule.project or {"name": ""})["name"], rule.since, rule.id


def history_at(scan: Scan, moment: str) -> History:
    """Return the history of everything decided by then."""
    then = [record for record in scan.other_records.values() if record.get("timestamp", "~") <= moment]
    learnings = [record for record in then if record["id"].startswith("LRN-")]
    return History(learnings, [record for record in then if record["id"].startswith("DEC-")], [])


def find_version(store: Store, scan: Scan, place: Place, choice: RuleFilter, name: str) -> tuple[Target, Version]:
    """Return the version `v7` of a file: the named one, else the project's, else the global one."""
    for target in _list_targets(scan, place, choice):
        listed = target_versions.list_versions(store, snapshot.get_snapshot_path(store, place, target))
        if listed:
            return target, snapshot.find_version(listed, name)
    raise ReflectError(
        "nothing was ever written there", "see 'reflect-git log' for files and their versions", "unknown-version"
    )


def _list_targets(scan: Scan, place: Place, choice: RuleFilter) -> Iterator[Target]:
    if choice.target:
        learnings = (one for one in scan.history.learnings.values() if choice.matches(one))
        yield from dict.fromkeys(Target(one["target"]["kind"], one["target"]["path"]) for one in learnings)
        return
    names = [name for name in (PROJECT, GLOBAL) if choice.where in ("", name) and (place.root or name == GLOBAL)]
    yield from (target_files.resolve_target(name, project_files.load_surroundings(place), "") for name in names)


def list_rules_at_version(
    store: Store, scan: Scan, choice: RuleFilter, target: Target, version: Version
) -> list[RuleInForce]:
    """List the rules that a file had in a version, in their wording then; other people's are not listed."""
    entries = snapshot.read_entries_at(store, version, target.kind)
    history = history_at(scan, version.time.replace("Z", ".999Z"))
    known = [history.learnings[one] for one in entries if one in history.learnings]
    counted = dict(_count_sessions(scan, known))
    numbers = number_rules(scan.history)
    rules = [_build_rule(one, counted[one["id"]], None, numbers) for one in known]
    if target.form == "block":  # a heading is not the text
        rules = [replace(one, text=entries[one.id]) for one in rules]
    return [one for one in sorted(rules, key=_get_sort_key) if choice.has_words(one)]


def list_changes(
    then: Sequence[RuleInForce], now: Sequence[RuleInForce]
) -> list[tuple[str, RuleInForce | None, RuleInForce | None]]:
    """List (change, before, after) for each rule that differs, in the earlier order; new rules last."""
    before, after = _map_by_id(then), _map_by_id(now)
    found: list[tuple[str, RuleInForce | None, RuleInForce | None]] = []
    for record_id, old in before.items():
        new = after.get(record_id)
        if new is None:
            found.append((REVERTED, old, None))
        elif new.text != old.text:
            found.append((REWORDED, old, new))
        elif new.target != old.target:
            found.append((MOVED, old, new))
    return found + [(ADDED, None, new) for identity, new in after.items() if identity not in before]


def _map_by_id(rules: Sequence[RuleInForce]) -> Mapping[str, RuleInForce]:
    return {rule.id: rule for rule in rules}


def _build_rule(
    learning: Learning, sessions: int, amended: str | None, numbers: Mapping[str, str]
) -> RuleInForce:  # fmt: skip
    return RuleInForce(
        learning["id"], learning["text"], learning["title"], learning["category"], learning["scope"],
        learning["project"], dict(learning["target"].items()), learning["timestamp"], amended, sessions,  # type: ignore[arg-type]
        learning["trust"], learning["signals"], learning["meta"].get("until"), number=numbers.get(learning["id"], ""),
    )  # fmt: skip


def _count_sessions(scan: Scan, learnings: Iterable[Learning]) -> Iterator[tuple[str, int]]:
    """Yield the number of known sessions in which each rule came up, by its signals and by its keys."""
    keys: dict[str, set[str]] = {}
    for made in scan.history.decisions:
        if made["key"]:
            keys.setdefault(made["subject"], set()).add(made["key"])
    by_signal: dict[str, str] = {}
    by_key: dict[str, set[str]] = {}
    columns = scan.columns
    for record_id, session, key in zip(columns["id"], columns["session_id"], columns["key"], strict=True):
        by_signal[record_id] = session_hash(session or record_id)
        by_key.setdefault(key, set()).add(by_signal[record_id])
    for line in scan.history.tally_lines:
        by_key.setdefault(line[0], set()).add(line[4])
    for learning in learnings:
        seen = {by_signal[signal] for signal in learning["signals"] if signal in by_signal}
        yield learning["id"], len(seen.union(*(by_key.get(key, set()) for key in keys.get(learning["id"], ()))))


AGE_HINT = ", or '2 weeks ago'"
_AGE = re.compile(r"(\d{1,6}) (second|minute|hour|day|week|month|year)s? ago")
_SECONDS = {
    "second": 1, "minute": 60, "hour": 3600, "day": 86400, "week": 604800, "month": 30 * 86400, "year": 365 * 86400,
}  # fmt: skip
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")


def normalise_age(text: str) -> str:
    """Return an age such as '2 weeks ago' in the form all commands accept; other texts stay unchanged."""
    plain = " ".join(text.lower().split())
    found = _AGE.fullmatch("1 day ago" if plain == "yesterday" else plain)
    return f"{int(found[1]) * _SECONDS[found[2]]}s" if found else text


def get_day_end(text: str) -> str:
    """Return the end of a day: `until` a day and `at` a day include all of it."""
    if not _DAY.fullmatch(text):
        return normalise_age(text)
    try:
        day = time.strptime(text, "%Y-%m-%d")
        # Not the start plus 24 hours: a day on which clocks change has 23 or 25.
        return utc(time.mktime((*day[:2], day[2] + 1, 0, 0, 0, 0, 0, -1)) - 1)
    except (ValueError, OverflowError):
        return text
