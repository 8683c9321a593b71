"""Histories of several machines, as they happen: whatever the order, everybody ends with the same tree, and nothing
that was acknowledged is lost."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule, run_state_machine_as_test

from reflect_git.adapters import records
from reflect_git.errors import ReflectError
from reflect_git.sitting import review
from reflect_git.sitting.approve import Request, carry_out, propose
from reflect_git.store import reading
from reflect_git.store.layout import id_in
from reflect_git.workflow.syncing import Wishes
from tests import faults
from tests.conftest import store_faults
from tests.faults import git
from tests.reckoning import count
from tests.sitting.desk import BY, say
from tests.store.probe import capture, days_later, inbox_ids
from tests.sync import operations
from tests.sync.clones import Clone, bare, take_out

AGREED = Wishes(agrees=lambda purges: True, pause=lambda seconds: None)
WHO = st.integers(0, 9)
MOST = 5


class Machine(Clone):
    """A clone with a Claude Code of its own."""

    @property
    def env(self) -> dict[str, str]:
        return {**os.environ, "REFLECT_GIT_HOME": str(self.root), "CLAUDE_CONFIG_DIR": f"{self.root}-claude"}


class Histories(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.base = Path(tempfile.mkdtemp(prefix="reflect-git-histories-"))
        self.remote = bare(self.base / "remote.git")
        self.machines: list[Machine] = []
        self.records: set[str] = set()
        self.purged: set[str] = set()
        self.signals: dict[int, set[str]] = {}
        self.count = 0

    @initialize(number=st.integers(2, 3))
    def begin(self, number: int) -> None:
        for _ in range(number):
            self._join(Machine(self.base / f"machine-{len(self.machines)}", str(self.remote)))

    def _join(self, machine: Machine) -> None:
        self.signals[len(self.machines)] = inbox_ids(machine.root)
        self.machines.append(machine)

    def _at(self, who: int) -> Machine:
        return self.machines[who % len(self.machines)]

    def _next(self) -> int:
        self.count += 1
        return self.count

    @rule(who=WHO)
    def decide(self, who: int) -> None:
        machine = self._at(who)
        machine.open()
        self.records.update(machine.approve(self._next()))

    @rule(who=WHO)
    def dismiss(self, who: int) -> None:
        machine = self._at(who)
        machine.open()
        self.records.update(machine.dismiss(self._next()))

    @rule(who=WHO)
    def capture(self, who: int) -> None:
        machine = self._at(who)
        said = capture(machine.open(), f"signal number {self._next()}")
        self.signals[who % len(self.machines)].add(said["id"])

    @rule(who=WHO)
    def approve(self, who: int) -> None:
        """As a person does, into the file of this machine."""
        machine = self._at(who)
        store = machine.open()
        said = say(store, f"never commit file number {self._next()} to this repository", project=None)
        self.signals[who % len(self.machines)].add(said)
        sitting = review.sit(store, machine.env, reading.scan(store), str(self.base), everything=True)
        candidate = next(one for one in sitting.gathered.strong if said in one.signals)
        before = machine.paths()
        carry_out(sitting, propose(sitting, Request(candidate, to="global")), BY)
        self.records.update(path for path in machine.paths() - before if id_in(path))

    @rule(who=WHO)
    def expire(self, who: int) -> None:
        machine = self._at(who)
        days_later(machine.open(), 20)
        self.signals[who % len(self.machines)] &= inbox_ids(machine.root)

    def _some_record(self, machine: Machine, chosen: int) -> str:
        found = sorted(path for path in machine.paths() if path.startswith("decisions/"))
        return found[chosen % len(found)] if found else ""

    @rule(who=WHO, chosen=WHO, well_made=st.booleans())
    def edit_by_hand(self, who: int, chosen: int, well_made: bool) -> None:
        machine = self._at(who)
        machine.open()
        path = self._some_record(machine, chosen)
        if path:
            data = git(machine.root, "show", f"main:{path}").encode()
            try:
                edited = records.emit({**records.parse(data), "reason": f"edited {self._next()}"})
            except ReflectError:  # it was edited before
                return
            machine.commit(path, edited if well_made else b"# mine\n" + data)

    @rule(who=WHO, chosen=WHO)
    def remove_by_hand(self, who: int, chosen: int) -> None:
        machine = self._at(who)
        machine.open()
        path = self._some_record(machine, chosen)
        if path:
            git(machine.root, "rm", "-q", path)
            git(machine.root, "-c", "user.name=A", "-c", "user.email=a@b", "commit", "-qm", "away with it")

    @precondition(lambda self: len(self.machines) < MOST)
    @rule(who=WHO)
    def copy_store(self, who: int) -> None:
        """A restored backup, a cloned disk."""
        root = self.base / f"machine-{len(self.machines)}"
        shutil.copytree(self._at(who).root, root, symlinks=True)
        self._join(Machine(root))

    @precondition(lambda self: self.records and len(self.purged) < 2)
    @rule(who=WHO, chosen=WHO)
    def purge(self, who: int, chosen: int) -> None:
        machine = self._at(who)
        machine.open()
        path = self._some_record(machine, chosen)
        if path:
            take_out(machine, [path])
            self.purged.add(path)

    @rule(who=WHO)
    def sync(self, who: int) -> None:
        self._at(who).sync(AGREED)

    @rule(who=WHO, effect=st.integers(1, 90))
    def sync_and_die(self, who: int, effect: int) -> None:
        faults.run(operations.sync, self._at(who).root, f"kill:{effect}")

    def teardown(self) -> None:
        try:
            if self.machines:
                self._require_one_tree()
                count("histories of machines that converged")
        finally:
            shutil.rmtree(self.base)

    def _require_one_tree(self) -> None:
        for _ in range(3):
            for machine in self.machines:
                machine.sync(AGREED)
        assert {machine.tree for machine in self.machines} == {self.machines[0].tree}
        for at, machine in enumerate(self.machines):
            paths = machine.paths()
            assert self.records - self.purged <= paths, "a decision was lost"
            assert not self.purged & paths, "what was purged came back"
            assert self.signals[at] <= inbox_ids(machine.root), "a capture was lost"
            assert not (found := store_faults(machine.root)), found


def run(examples: int, steps: int) -> None:
    """A failing history is told as it was: making it shorter would take many minutes of git."""
    run_state_machine_as_test(
        Histories,
        settings=settings(
            max_examples=examples, stateful_step_count=steps, deadline=None, suppress_health_check=list(HealthCheck),
            phases=[Phase.generate],
        ),
    )  # fmt: skip


def test_histories_converge() -> None:
    run(12, 10)


@pytest.mark.slow
def test_ten_thousand_histories_converge() -> None:
    run(10_000, 12)


def test_disjoint_work_asks_nothing(tmp_path: Path) -> None:
    remote = bare(tmp_path / "remote.git")
    machines = [Clone(tmp_path / f"machine-{number}", str(remote)) for number in range(3)]
    reports: list[Any] = []
    for turn in range(3):
        for number, machine in enumerate(machines):
            machine.approve(10 * turn + number)
            reports.append(machine.sync())
    assert not any(report.purges or report.beside or report.refused for report in reports)
