"""Load the data of the pages: the store and the project, read again only when something changed."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from reflect_git.candidates.session_events import SessionEvents, find_keys
from reflect_git.effect import table
from reflect_git.effect.from_store import RuleEffect, judge_rules
from reflect_git.effect.trend import get_monday, list_weeks
from reflect_git.history.rules_at import ALL, RuleFilter, RuleInForce, list_rules
from reflect_git.records.ids import utc
from reflect_git.rules import project_files
from reflect_git.rules.context import Context
from reflect_git.rules.guarding import guards
from reflect_git.rules.guarding.guards import Firings, GuardState, load_firings, load_guard_states
from reflect_git.rules.queue import Queue, load_queue
from reflect_git.store.reading import waiting_counts

if TYPE_CHECKING:
    from reflect_git.records.schema import Learning
    from reflect_git.store.reading.reader import Scan
    from reflect_git.store.repository import Store

T = TypeVar("T")
PAGE_SIZE = 50
WEEKS = 12
LEFT_OUT = "(left out: it never leaves the machine)"


class Call(NamedTuple):
    """A request: the name of a page or a change, its fields, and how to get the token of a form."""

    name: str
    fields: Mapping[str, str]
    get_token: Callable[[str], str]
    is_read_only: bool

    def get(self, field: str) -> str:
        return self.fields.get(field, "")

    def get_number(self, field: str, default: int, most: int) -> int:
        """Return a number between 1 and `most`; the default for anything else."""
        text = self.get(field)
        return min(most, max(1, int(text))) if text.isdecimal() and len(text) < 9 else default


class Page(NamedTuple):
    """A page: its template, its title, and its data, which the JSON twin shows as they are.

    `pictures`: charts of the same data.
    """

    template: str
    title: str
    data: dict[str, Any]
    status: int = 200
    pictures: Mapping[str, str] = {}


class CaptureSwitch(NamedTuple):
    """The state of capture, and how to switch it. The commands `pause` and `resume` do the same."""

    describe: Callable[[], tuple[str, str]]
    pause: Callable[[str], None]
    resume: Callable[[], None]


class Panel:
    """The data of all pages. `is_private`: whether texts may be shown that never leave the machine."""

    def __init__(
        self, store: Store, env: Mapping[str, str], folder: str, read_scan: Callable[[Store], Scan],
        switch: CaptureSwitch, is_private: bool = True,
    ) -> None:  # fmt: skip
        self.store, self.env, self.folder = store, env, folder
        self.switch, self.is_private = switch, is_private
        self.read_scan = read_scan
        self._state: tuple[Any, ...] = ()
        self._cache: dict[str, Any] = {}
        self.ctx: Context
        self.load()

    def load(self) -> None:
        """Read what changed since the last request: the store, the project's files."""
        state = self._get_state()
        if state != self._state:
            place = project_files.find_place(self.store, self.env, self.folder)
            said = project_files.load_statements(place)
            self.ctx = Context(self.store, self.env, place, self.read_scan(self.store), said)
            self._cache.clear()
            self._state = state
            return
        said = project_files.load_statements(self.ctx.place)
        if said.sources != self.ctx.statements.sources:
            self.ctx = self.ctx.replace(statements=said)
            self._cache.clear()

    def _get_state(self) -> tuple[Any, ...]:
        """Return what changes with every record, decision, firing and setting of this store."""
        paths = (self.store.private_path("pending"), self.store.private_path("firings"), self.store.path(".git/config"))
        return (
            waiting_counts.get_branch_tips(self.store),
            *map(_get_change_time, (*paths, self.store.private_path("shown"))),
        )

    def keep(self, name: str, make: Callable[[], T]) -> T:
        """Return a result that is valid until something changes."""
        if name not in self._cache:
            self._cache[name] = make()
        found: T = self._cache[name]
        return found

    def drop(self, name: str) -> None:
        """Forget a kept result."""
        self._cache.pop(name, None)

    def show_private(self, text: str) -> str:
        """Return a text that never leaves the machine, unless this is for somebody else."""
        return text if self.is_private or not text else LEFT_OUT

    @property
    def queue(self) -> Queue:
        """Return the proposed rules of this project."""
        return self.keep("queue", lambda: load_queue(self.ctx))

    @property
    def rules(self) -> list[RuleInForce]:
        """Return all rules in force."""
        return self.keep("rules", lambda: list_rules(self.ctx.scan, RuleFilter(self.ctx.place.keys, ALL)))

    @property
    def events(self) -> SessionEvents:
        def load() -> SessionEvents:
            return SessionEvents(self.ctx.scan, project_files.load_key_aliases(self.store, self.ctx.place))

        return self.keep("events", load)

    @property
    def effects(self) -> dict[str, RuleEffect]:
        """Map each rule in force to its effect, the worst first."""

        def judge() -> dict[str, RuleEffect]:
            aliases = project_files.load_key_aliases(self.store, self.ctx.place)
            found = table.select_in_force(judge_rules(self.ctx.scan, aliases), self.ctx.scan.history, None)
            return {one.rule["id"]: one for one in found.rules}

        return self.keep("effects", judge)

    @property
    def guards(self) -> dict[str, GuardState]:
        states = self.keep("guards", lambda: load_guard_states(self.ctx.scan.history, self.store.machine))
        return {state.rule["id"]: state for state in states}

    def can_guard(self, rule: Learning) -> bool:
        """Return whether a rule's text names calls that a guard can match."""
        if rule["target"]["kind"] == "improvements":
            return False
        return self.keep(f"guardable {rule['text']}", lambda: guards.derive(rule["text"]) is not None)

    @property
    def firings(self) -> dict[str, Firings]:
        return self.keep("firings", lambda: load_firings(self.store, self.ctx.scan.other_records.values()))

    @property
    def weeks(self) -> list[str]:
        """Return the Mondays of the last weeks."""
        return list_weeks(utc(), WEEKS)

    def count_per_week(self, rule: str) -> list[int]:
        """Count the sessions of each of the last weeks in which a rule was needed: said again, or broken."""
        numbers, weeks = self.keep("numbers", self._find_event_numbers), self.weeks
        counts = dict.fromkeys(weeks, 0)
        for number in numbers.get(rule, ()):
            week = get_monday(self.events.sessions[number].start)
            if week in counts:
                counts[week] += 1
        return list(counts.values())

    def _find_event_numbers(self) -> dict[str, set[int]]:
        columns, events = self.ctx.scan.columns, self.events
        keys = find_keys(self.ctx.scan.history, dict(zip(columns["id"], columns["key"], strict=True)))
        found = {rule: set(events.find_events(listed)) for rule, listed in keys.items()}
        for number, session in enumerate(events.sessions):
            for rule in session.hits:
                found.setdefault(rule, set()).add(number)
        return found


def _get_change_time(path: str) -> int:
    try:
        return os.stat(path).st_mtime_ns
    except OSError:
        return 0


def paginate(listed: list[T], number: int) -> tuple[list[T], int]:
    """Return one page of a list, and how many pages there are."""
    pages = max(1, -(-len(listed) // PAGE_SIZE))
    first = (min(number, pages) - 1) * PAGE_SIZE
    return listed[first : first + PAGE_SIZE], pages
