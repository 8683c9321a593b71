"""Run upkeep: ten steps that keep the store small, complete and fast.

Each step finds out by itself what is left to do, so a run that was killed is simply repeated. No model is called.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from reflect_git.errors import ReflectError
from reflect_git.memory import digests, incidents
from reflect_git.platform import yaml_loose
from reflect_git.records.ids import parse_utc, plural, utc
from reflect_git.records.named_tuple import NamedTuple
from reflect_git.store import append, expiry, inbox, maintenance, recover
from reflect_git.store.index import Index
from reflect_git.store.local import session_state
from reflect_git.store.reading import reader

if TYPE_CHECKING:
    from reflect_git.records.schema import Digest, Signal
    from reflect_git.store.reading.reader import Snapshot
    from reflect_git.store.repository import Store

_LOCK_SECONDS = 10.0
_MAX_BATCHES = 50
_SAME_MOMENT = 2.0  # seconds between two captures of one moment, by a hook and from a transcript
OK, FAILED = "ok", "failed"


class StepResult(NamedTuple):
    """The result of a step: a number, the same in words, and how long it took."""

    name: str
    done: int
    text: str
    seconds: float


Extra = tuple[str, Callable[[], "tuple[int, str]"]]
Show = Callable[[str, int, int], None]


class Upkeep:
    """One run. `extras` are steps of policies that a person switched on; they run before the report."""

    def __init__(
        self, store: Store, env: Mapping[str, str], now: float, patience: float = _LOCK_SECONDS,
        extras: Iterable[Extra] = (),
    ) -> None:  # fmt: skip
        self._store, self._env, self._now, self._patience = store, env, now, patience
        self._snapshot: Snapshot | None = None
        self.results: list[StepResult] = []
        self.steps: list[Extra] = [
            ("recover", self._recover),
            ("mine sessions", self._mine),
            ("deduplicate", self._deduplicate),
            ("week digests", self._make_week_digests),
            ("month digests", self._make_month_digests),
            ("expire", self._expire),
            ("index", self._index),
            ("prune and repack", self._prune),
            ("fitness row", self._count_fitness),
            *extras,
            ("report", self._report),
        ]

    def run(self, show: Show | None = None) -> list[StepResult]:
        """Run all steps; `show` is called before each. An error ends the run, and the state says where."""
        maintenance.save_state(self._store, began=self._now)
        for number, (name, step) in enumerate(self.steps, 1):
            if show:
                show(name, number, len(self.steps))
            start = time.monotonic()
            try:
                count, text = step()
            except (ReflectError, OSError) as error:
                maintenance.save_state(self._store, ended=FAILED, step=name, why=str(error), at=self._now)
                raise
            self.results.append(StepResult(name, count, text, round(time.monotonic() - start, 3)))
        return self.results

    def _load(self) -> Snapshot:
        """Return the store as the last step left it."""
        if self._snapshot is None:
            self._snapshot = reader.read(self._store, yaml_loose.parse_edited)
        return self._snapshot

    def _recover(self) -> tuple[int, str]:
        with self._store.locked(self._patience):
            recover.finish_interrupted(self._store)
            inbox.commit_all(self._store)
            count = self._move_figures()
        return count, "nothing was interrupted" if not count else f"moved figures of {plural(count, 'session')} to main"

    def _move_figures(self) -> int:
        count = 0
        for _ in range(_MAX_BATCHES):
            count += session_state.move_to_main(self._store)
            if not session_state.has_waiting(self._store):
                break
        return count

    def _mine(self) -> tuple[int, str]:
        from reflect_git.capture import sessions

        before = set(self._load().by_id)
        self._snapshot = None
        ended = sessions.end_dead_sessions(self._store, self._env, self._now)
        with self._store.locked(self._patience):
            inbox.commit_all(self._store)
            self._move_figures()
        count = len(set(self._load().by_id) - before)
        return count, f"{plural(ended, 'session')} ended, {plural(count, 'record')} stored"

    def _list_own(self) -> list[Signal]:
        own = set(expiry.list_own_signals(self._store))
        return [signal for signal in self._load().signals if signal["id"] in own]

    def _deduplicate(self) -> tuple[int, str]:
        """Remove second captures of one moment. A tally keeps their count."""
        seen: dict[tuple[str, str, str, str], float] = {}
        twice: list[Signal] = []
        for signal in sorted(self._list_own(), key=lambda one: (one["timestamp"], one["stored"], one["id"])):
            if not signal["session_id"] or signal["type"] == "summary" or signal["status"] != "captured":
                continue
            what = signal["session_id"], signal["type"], signal["content"], signal["context"]
            moment = parse_utc(signal["timestamp"])
            if what in seen and moment - seen[what] <= _SAME_MOMENT:
                twice.append(signal)
            else:
                seen[what] = moment
        if twice:
            with self._store.locked(self._patience):
                expiry.expire_signals(self._store, twice, self._now, incidents.get_incident)
            self._snapshot = None
        return len(twice), plural(len(twice), "duplicate")

    def _make_week_digests(self) -> tuple[int, str]:
        if not digests.is_enabled(self._store):
            return 0, "off (reflect.digests)"
        expiring = {signal["id"] for signal in maintenance.find_expired(self._store, self._load(), self._now)}
        return self._add(
            digests.build_week_digests(self._store, self._load(), self._list_own(), expiring, self._now), "week"
        )

    def _make_month_digests(self) -> tuple[int, str]:
        if not digests.is_enabled(self._store):
            return 0, "off (reflect.digests)"
        return self._add(digests.build_month_digests(self._load(), self._now), "month")

    def _add(self, made: list[Digest], unit: str) -> tuple[int, str]:
        """Store digests and commit them; return how many are new."""
        if made:
            append.append_new(self._store, made, self._patience)
            with self._store.locked(self._patience):
                inbox.commit_all(self._store)
            self._snapshot = None
        periods = {one["period"] for one in made}
        lines = sum(len(one["lines"]) for one in made)
        return len(made), f"{plural(len(periods), unit)}, {plural(lines, 'line')}" if made else f"no {unit} is due"

    def _expire(self) -> tuple[int, str]:
        """Delete what is expired. Without a digest that cites it, a signal stays, however old it is."""
        snapshot = self._load()
        gone = maintenance.find_expired(self._store, snapshot, self._now)
        weeks = digests.find_expired_weeks(snapshot, self._now)
        if digests.is_enabled(self._store):
            cited = digests.list_cited(digests.load_digests(snapshot))
            gone = [
                one for one in gone if one["id"] in cited or digests.is_ignored_project(self._store, one["project"])
            ]
        with self._store.locked(self._patience):
            expiry.expire_signals(self._store, gone, self._now, incidents.get_incident, weeks)
        if gone or weeks:
            self._snapshot = None
        more = f", {plural(len(weeks), 'week digest')}" if weeks else ""
        return len(gone) + len(weeks), f"{plural(len(gone), 'signal')}{more}"

    def _index(self) -> tuple[int, str]:
        index = Index(self._store, yaml_loose.parse_edited)
        ((count,),) = index.query("SELECT count(*) FROM records")
        index.close()
        incidents.refresh_cache(self._store, self._load())
        return count, plural(count, "record")

    def _prune(self) -> tuple[int, str]:
        with self._store.locked(self._patience):
            maintenance.clean_up(self._store, self._now)
        packs = inbox.count_packs(self._store)
        return packs, plural(packs, "pack")

    def _count_fitness(self) -> tuple[int, str]:
        """Count the last complete week, as `trend` shows it."""
        week = digests.week_of(utc(self._now - 7 * expiry.DAY))
        figures = digests.count_figures(self._load(), week, None)
        rate = 100 * figures["corrections"] / figures["typed"] if figures["typed"] else 0.0
        row = {"week": week, **figures, "corrections_per_100": round(rate, 2)}
        maintenance.save_state(self._store, fitness=row)
        sessions = int(figures["sessions"])
        return sessions, f"{week}: {plural(sessions, 'session')}, {rate:.1f} corrections per 100 messages"

    def _report(self) -> tuple[int, str]:
        counts = {result.name: result.done for result in self.results}
        maintenance.save_state(self._store, last=self._now, ended=OK, step="", why="", at=self._now, counts=counts)
        return len(self.results) + 1, f"finished {utc(self._now)}"


def describe_last_run(store: Store) -> dict[str, Any]:
    """Return when upkeep last ran and how it ended: for `schedule status` and `status`."""
    state = maintenance.load_state(store)
    began, at = state.get("began"), state.get("at")
    is_broken = isinstance(began, (int, float)) and began > (at if isinstance(at, (int, float)) else 0)
    return {
        "last": utc(maintenance.get_last_run(store)) if maintenance.get_last_run(store) else None,
        "ended": "interrupted" if is_broken else state.get("ended"), "step": state.get("step") or None,
        "why": state.get("why") or None, "counts": state.get("counts") or {}, "fitness": state.get("fitness"),
    }  # fmt: skip
