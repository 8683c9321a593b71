"""Group signals that say the same thing, drop groups that were already decided, and limit floods from one source."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from reflect_git.language.meaning import Sense, have_same_sense, parse_sense
from reflect_git.language.parse import parse_frame
from reflect_git.language.similarity import contradicts
from reflect_git.records.history import History, session_hash

if TYPE_CHECKING:
    from reflect_git.records.schema import Decision, Project

Signal = Mapping[str, Any]
STRONG, WEAK = "strong", "weak"
# Of one machine and one trust in a day; more is a flood, which waits behind what is not.
FLOOD_LIMIT = 50
MAX_COMPARED = 1000  # groups, the newest, that are compared by sense: reading 10,000 would take seconds
SESSIONS_BEFORE_NEXT_QUESTION = 3  # sessions after a "no" until it is asked once more
_MAX_CONFIDENCE = 3


@dataclass(frozen=True)
class Signals:
    """Signals in columns, as the store reads them; loaded in full only on request, since ten of 10,000 are shown.

    `rows` holds the row numbers of the selected signals, oldest first. Their times are capped by the time of storage,
    because a clock may be wrong.
    """

    columns: Mapping[str, Sequence[Any]]
    rows: Sequence[int]
    get_signals: Callable[[Sequence[int]], Sequence[Signal]]

    def select(self, rows: Sequence[int]) -> Signals:
        return Signals(self.columns, rows, self.get_signals)


@dataclass(slots=True)
class Group:
    """Rows of signals that say the same thing, oldest first.

    The counts are computed once, because 10,000 groups are read often.
    """

    rows: list[int]
    keys: set[str]
    sense: Sense | None = None
    dismissed_before: str | None = None
    is_fixed: bool = False
    sessions: int = 1
    confidence: int = 1
    tier: str = WEAK

    @property
    def oldest(self) -> int:
        return self.rows[0]


def group_signals(
    signals: Signals, history: History, judge: Callable[[Group, int], Hashable] | None = None
) -> list[Group]:
    """Group signals by key, then by meaning, then failures with their fix; a signal may say less than its group.

    Rows for which `judge` returns different values are split: one project may have an answer that another lacks.
    """
    keys = signals.columns["key"]
    by_key: dict[str, Group] = {}
    for row in signals.rows:
        key = keys[row]
        found = by_key.get(key)
        if found is None:
            by_key[key] = Group([row], {key})
        else:
            found.rows.append(row)
    order = {row: place for place, row in enumerate(signals.rows)}
    groups = _merge_failures(_merge_by_meaning(list(by_key.values()), signals, order), signals, order)
    if judge:
        groups = [part for group in groups for part in _split_group(group, signals, judge)]
        groups.sort(key=lambda group: order[group.oldest])
    expired: dict[str, set[str]] = {}
    for line in history.tally_lines:
        expired.setdefault(line[0], set()).add(line[4])
    for group in groups:
        _set_counts(group, signals.columns, expired)
    return groups


def _split_group(group: Group, signals: Signals, judge: Callable[[Group, int], Hashable]) -> Iterator[Group]:
    found: dict[Hashable, list[int]] = {}
    for row in group.rows:
        found.setdefault(judge(group, row), []).append(row)
    if len(found) == 1:
        yield group
        return
    keys, contents = signals.columns["key"], signals.columns["content"]
    for rows in found.values():
        part = Group(rows, {keys[row] for row in rows}, is_fixed=group.is_fixed)
        said = [row for row in rows if signals.columns["type"][row] != "failure"]
        if said:
            part.sense = parse_sense(contents[said[0]])
        yield part


def _merge_into(group: Group, other: Group, order: Mapping[int, int]) -> None:
    group.rows = sorted([*group.rows, *other.rows], key=order.__getitem__)
    group.keys |= other.keys


def _set_counts(group: Group, columns: Mapping[str, Sequence[Any]], expired: Mapping[str, set[str]]) -> None:
    """Set a group's sessions, confidence and tier.

    Sessions are distinct and include expired ones; a signal without a session counts as its own.
    """
    rows = group.rows
    seen = {columns["session_id"][row] or columns["id"][row] for row in rows}
    if expired and not group.keys.isdisjoint(expired):
        seen = {session_hash(session) for session in seen}.union(*(expired.get(key, ()) for key in group.keys))
    group.sessions = len(seen)
    group.confidence = min(_MAX_CONFIDENCE, max(len(seen), *[columns["confidence"][row] for row in rows]))
    group.tier = STRONG if _is_strong(group, columns) else WEAK


def _is_strong(group: Group, columns: Mapping[str, Sequence[Any]]) -> bool:
    """Return whether a group is certain or repeated, and likely to hold later. A failure alone teaches nothing."""
    if group.sessions > 1 or group.is_fixed:
        return True
    if all(columns["type"][row] == "failure" for row in group.rows):
        return False
    if not any(columns["durable"][row] for row in group.rows):
        return False
    return group.confidence > 1 or any(columns["trust"][row] == "user_feedback" for row in group.rows)


def _merge_by_meaning(groups: list[Group], signals: Signals, order: Mapping[int, int]) -> list[Group]:
    """Merge groups with the same meaning; one that says less joins the one that says more, if there is exactly one."""
    types, contents = signals.columns["type"], signals.columns["content"]
    by_sense: dict[Sense, list[Group]] = {}
    fuller: dict[Hashable, list[Sense]] = {}
    for group in groups[-MAX_COMPARED:]:
        group.sense = parse_sense(contents[group.oldest]) if types[group.oldest] != "failure" else None
        if group.sense and group.sense not in by_sense:
            for clause in group.sense if len(group.sense) > 1 else ():
                fuller.setdefault(clause, []).append(group.sense)
        if group.sense:
            by_sense.setdefault(group.sense, []).append(group)
    taken: set[int] = set()
    for sense, alike in by_sense.items():
        more = [one for one in fuller.get(sense[0], ()) if len(sense) == 1 and have_same_sense(sense, one)]
        first = by_sense[more[0]][0] if len(more) == 1 else alike[0]
        for group in alike:
            if group is not first and not contradicts(contents[first.oldest], contents[group.oldest]):
                _merge_into(first, group, order)
                taken.add(id(group))
    return sorted((one for one in groups if id(one) not in taken), key=lambda one: order[one.oldest])


def _merge_failures(groups: list[Group], signals: Signals, order: Mapping[int, int]) -> list[Group]:
    """Merge the failure of a command with the group that knows what works instead."""
    types, contents = signals.columns["type"], signals.columns["content"]
    fixes: dict[str, Group] = {}
    kept, failures = [], []
    for group in groups:
        if types[group.oldest] == "failure":
            failures.append(group)
            continue
        kept.append(group)
        group.is_fixed = " fails here (" in contents[group.oldest] and parse_frame(contents[group.oldest]) is not None
        if _is_fix(contents[group.oldest]):
            fixes[_get_failed_command(contents[group.oldest])] = group
    for group in failures:
        # The failure comes first, so it becomes the oldest row of its fix.
        fix = fixes.get(_get_failed_command(contents[group.oldest])) if fixes else None
        if fix is None:
            kept.append(group)
        else:
            _merge_into(fix, group, order)
    return sorted(kept, key=lambda group: order[group.oldest])


def _is_fix(content: str) -> bool:
    """Return whether a text names a failing command and what to run instead of it or before it."""
    return content.startswith("`") and "` fails here (" in content and content.endswith(("` works", "` was run"))


def _get_failed_command(content: str) -> str:
    content = " ".join(content.split())
    if content.startswith("Bash failed: "):
        return content.removeprefix("Bash failed: ")
    return content[1:].partition("`")[0] if content.startswith("`") else ""


def filter_undecided(groups: Iterable[Group], signals: Signals, verdict: Callable[[Group], Dismissals]) -> list[Group]:
    """Return the groups that still need an answer.

    "Never" is final. A "no" holds for three more sessions, and a second "no" is final.
    """
    columns = signals.columns
    kept = []
    for group in groups:
        said = verdict(group)
        if said.never:
            continue
        if said.times:
            later = {
                columns["session_id"][row] or columns["id"][row]
                for row in group.rows
                if columns["timestamp"][row] > said.times[-1]
            }
            if len(said.times) > 1 or len(later) < SESSIONS_BEFORE_NEXT_QUESTION:
                continue
            group.dismissed_before = said.times[-1][:10]
        kept.append(group)
    return kept


def split_flood(groups: Sequence[Group], signals: Signals) -> tuple[list[Group], list[Group]]:
    """Split groups into those within the daily limit of their source and the rest; strong and certain ones go first."""
    order = sorted(groups, key=lambda group: (group.tier != STRONG, -group.confidence))  # of equals the oldest first
    machines, trusts, stored = (signals.columns[field] for field in ("machine", "trust", "stored"))
    counts: Counter[tuple[str, str, str]] = Counter()
    held = set()
    for group in order:
        source = (machines[group.oldest], trusts[group.oldest], stored[group.oldest][:10])
        counts[source] += 1
        if counts[source] > FLOOD_LIMIT:
            held.add(id(group))
    return [group for group in groups if id(group) not in held], [group for group in groups if id(group) in held]


NO_PROJECT = ""  # the one spot of a review of one project; in a review of all, where no project is


class ProjectKeys:
    def __init__(
        self, project: Collection[str], projects: Sequence[Project | None], aliases: Mapping[str, str]
    ) -> None:
        """Take the keys of the reviewed project (empty for all) and the project of each row."""
        self._reviewed = project
        self._projects = projects
        self._aliases = aliases

    def get_key(self, row: int) -> str:
        project = self._projects[row]
        return NO_PROJECT if self._reviewed or project is None else self.get_main_key(project["key"])

    def get_main_key(self, key: str) -> str:
        """Return the main key of a project, given any of its keys."""
        return self._aliases.get(key, key)

    def is_same_project(self, project_key: str, key: str) -> bool:
        return key in self._reviewed if self._reviewed else self.get_main_key(key) == project_key


@dataclass(frozen=True)
class Dismissals:
    """Earlier answers to a group; `times` are the times of those that count, in order."""

    times: tuple[str, ...] = ()
    never: bool = False


class DismissalLookup:
    def __init__(self, history: History, spots: ProjectKeys) -> None:
        self._history = history
        self._projects = spots
        self._by_key: dict[str, list[tuple[Decision, Collection[str]]]] = {}
        for key, decision in _list_dismissals(history):
            self._by_key.setdefault(key, []).append((decision, self._get_projects(decision)))

    def find_dismissals(self, keys: Iterable[str], project_key: str) -> Dismissals:
        said = [no for key in keys for no in self._by_key.get(key, ())] if self._by_key else []
        made = [
            one
            for one, where in said
            if not where or any(self._projects.is_same_project(project_key, key) for key in where)
        ]
        dismissal_times = sorted(one["timestamp"] for one in made if one["kind"] != "never")
        return Dismissals(tuple(dismissal_times), any(one["kind"] == "never" for one in made))

    def _get_projects(self, decision: Decision) -> Collection[str]:
        """Return the project keys for which a "no" counts; empty means everywhere.

        Old decisions do not name projects and count everywhere, as they did when they were made. Their signals are on
        one machine and expire soon.
        """
        learning = self._history.learnings.get(decision["subject"])
        if learning is not None:
            project = learning["project"] if learning["scope"] != "global" else None
            return [project["key"]] if project else ()
        return parse_projects(decision["meta"]) if "projects" in decision["meta"] else ()


def parse_projects(meta: Mapping[str, Any]) -> list[str]:
    """Return the project keys in a decision's metadata; an unknown form counts everywhere."""
    given = meta["projects"]
    return [key for key in given if isinstance(key, str)] if isinstance(given, list) else []


def _list_dismissals(history: History) -> Iterator[tuple[str, Decision]]:
    """Yield the key and decision of each "no" in effect; reverting an approval counts as a "no"."""
    approved: dict[str, str | None] = {}
    for decision in history.decisions:
        if decision["kind"] == "approved":
            approved[decision["subject"]] = decision["key"]
        if decision["id"] in history.rejections:
            key = approved.get(decision["subject"]) if decision["kind"] == "reverted" else decision["key"]
            if key:
                yield key, decision
