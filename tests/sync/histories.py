"""A hypothesis state machine: histories of several machines of one person and their remote.

A world is made once and copied before each history, to the same path: a store that moved would take another name.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule, run_state_machine_as_test

from reflect_git.candidates.candidate import Candidate
from reflect_git.errors import ReflectError
from reflect_git.platform import faults
from reflect_git.records import yaml_form
from reflect_git.rules import arrivals, dismiss, queue, revert
from reflect_git.rules.approve import Request, plan_approval, write_approval
from reflect_git.rules.queue import Queue
from reflect_git.store.main import main_branch
from reflect_git.store.reading import reader
from reflect_git.store.repository import get_record_id, get_record_path
from reflect_git.sync.exchange import SyncOptions, SyncReport
from tests.conftest import find_store_problems
from tests.counters import count
from tests.faults import git
from tests.rules.queues import BY, capture_signal
from tests.store.store_checks import capture, inbox_ids, run_maintenance_after
from tests.sync.clones import Clone, create_bare_repository, purge_record

AGREE_TO_PURGES = SyncOptions(confirm_purges=lambda purges: True, pause=lambda seconds: None)
MAX_MACHINES = 5
ROUNDS = 4
WHO = st.integers(0, 9)
_IN_MEMORY = "/dev/shm"


class Machine(Clone):
    """A clone with its own Claude Code."""

    @property
    def env(self) -> dict[str, str]:
        return {**os.environ, "REFLECT_GIT_HOME": str(self.root), "CLAUDE_CONFIG_DIR": f"{self.root}-claude"}


class World:
    """The folders in which all histories run, one after another."""

    def __init__(self, base: Path) -> None:
        self.root = base / "world"
        self.counts: Counter[str] = Counter()
        self._template = base / "template"
        self.root.mkdir()
        create_bare_repository(self.remote)
        for number in range(MAX_MACHINES):
            Machine(self.folder(number), str(self.remote))
        self.root.rename(self._template)

    @property
    def remote(self) -> Path:
        return self.root / "remote.git"

    def folder(self, number: int) -> Path:
        return self.root / f"machine-{number}"

    def copy_template(self, number: int) -> list[Machine]:
        self.remove_folders()
        self.root.mkdir()
        self._copy(self.root, self._template / self.remote.name,
                   *(self._template / self.folder(at).name for at in range(number)))  # fmt: skip
        return [Machine(self.folder(at)) for at in range(number)]

    def copy_store(self, source: Path, number: int) -> None:
        self._copy(self.folder(number), source)

    @staticmethod
    def _copy(to: Path, *sources: Path) -> None:
        """Copy with one process: copying file by file in Python took a tenth of all histories."""
        subprocess.run(["cp", "-a", "--", *map(str, sources), str(to)], check=True)

    def remove_folders(self) -> None:
        subprocess.run(["rm", "-rf", "--", str(self.root)], check=True)


class Histories(RuleBasedStateMachine):
    world: World

    def __init__(self) -> None:
        super().__init__()
        self.machines: list[Machine] = []
        self.records: set[str] = set()
        self.purged: set[str] = set()
        self.about: dict[str, str] = {}  # path of a decision → path of the learning it is about
        self.signals: list[set[str]] = []
        self.reports: list[SyncReport] = []
        self.is_disjoint = True
        self.count = 0

    @initialize(number=st.sampled_from((2, 2, 2, 3, 3, 4, 5)))
    def begin(self, number: int) -> None:
        self.machines = self.world.copy_template(number)
        self.signals = [set() for _ in self.machines]

    def _open_machine(self, who: int, what: str) -> Machine:
        """Return a machine at which a command starts."""
        machine = self._get_machine(who, what)
        machine.open_store()
        return machine

    def _get_machine(self, who: int, what: str) -> Machine:
        """Return a machine for a command that opens the store itself."""
        self.world.counts[what] += 1
        return self.machines[who % len(self.machines)]

    def _add_signal(self, who: int, signal: str) -> None:
        self.signals[who % len(self.machines)].add(signal)

    def _get_next_number(self) -> int:
        self.count += 1
        return self.count

    def _open_queue(self, machine: Machine) -> Queue:
        scan = reader.scan(machine.store)
        return queue.open_queue(machine.store, machine.env, scan, str(self.world.root), everything=True)

    def _some_record(self, machine: Machine, chosen: int, *more: str) -> str:
        folders = ("decisions/", *more)
        found = sorted(path for path in self.records if path.startswith(folders) and (machine.root / path).exists())
        return found[chosen % len(found)] if found else ""

    @rule(who=WHO)
    def capture(self, who: int) -> None:
        machine = self._open_machine(who, "capture")
        self._add_signal(who, capture(machine.store, f"signal number {self._get_next_number()}")["id"])

    @rule(who=WHO)
    def decide(self, who: int) -> None:
        """Write the records of an approval and of a dismissal, for projects that are not here."""
        machine = self._open_machine(who, "decide")
        [learning, decision] = machine.approve(self._get_next_number())
        self.records |= {learning, decision}
        self.about[decision] = learning
        self.records.update(machine.dismiss(self._get_next_number()))

    @rule(who=WHO)
    def approve(self, who: int) -> None:
        """Approve as a person does, into the file of this machine."""
        machine = self._open_machine(who, "approve")
        said = capture_signal(
            machine.store, f"never commit file number {self._get_next_number()} to this repository", project=None
        )
        self._add_signal(who, said)
        ctx = self._open_queue(machine)
        done = write_approval(ctx, plan_approval(ctx, Request(_find_candidate(ctx, said), to="global")), BY)
        decision = get_record_path(reader.scan(machine.store).other_records[done.learning]["decision"])
        self.records |= {get_record_path(done.learning), decision}
        self.about[decision] = get_record_path(done.learning)

    @rule(who=WHO)
    def dismiss(self, who: int) -> None:
        machine = self._open_machine(who, "dismiss")
        said = capture_signal(
            machine.store, f"never push branch number {self._get_next_number()} to this remote", project=None
        )
        self._add_signal(who, said)
        self.records.add(
            get_record_path(dismiss.dismiss(machine.store, _find_candidate(self._open_queue(machine), said), BY)[0])
        )

    @rule(who=WHO, chosen=WHO)
    def revert(self, who: int, chosen: int) -> None:
        """Revert a learning of this machine or of another one."""
        machine = self._open_machine(who, "revert")
        ctx = self._open_queue(machine)
        learned = sorted(one["id"] for one in ctx.scan.history.get_rules_in_force())
        if not learned:
            return
        try:
            found = revert.select_by_name(ctx, learned[chosen % len(learned)])
        except ReflectError:  # its approval was purged
            return
        planned = revert.plan_revert(ctx, found, revert.RevertOptions(force=True))
        revert.write_revert(ctx, planned, BY)
        self.records.update(get_record_path(made["id"]) for made in planned.decisions)
        self.about.update({get_record_path(made["id"]): get_record_path(made["subject"]) for made in planned.decisions})

    @rule(who=WHO)
    def apply_arrivals(self, who: int) -> None:
        """Apply what the other machines decided to the file here."""
        machine = self._open_machine(who, "take over")
        ctx = self._open_queue(machine)
        able = [one for one in arrivals.list_arrivals(ctx) if one.trouble is None]
        if able:
            arrivals.apply_arrivals(ctx, able, BY)

    @rule(who=WHO)
    def expire(self, who: int) -> None:
        machine = self._open_machine(who, "expire")
        run_maintenance_after(machine.store, 20)
        self.signals[who % len(self.machines)] &= inbox_ids(machine.root)

    @rule(who=WHO, chosen=WHO, well_made=st.booleans())
    def edit_by_hand(self, who: int, chosen: int, well_made: bool) -> None:
        machine = self._open_machine(who, "edit by hand")
        path = self._some_record(machine, chosen)
        if path:
            data = (machine.root / path).read_bytes()
            try:
                edited = yaml_form.emit({**yaml_form.parse(data), "reason": f"edited {self._get_next_number()}"})
            except ReflectError:  # it was edited before
                return
            self.is_disjoint = False
            machine.commit(path, edited if well_made else b"# mine\n" + data)

    @rule(who=WHO, chosen=WHO)
    def remove_by_hand(self, who: int, chosen: int) -> None:
        machine = self._open_machine(who, "remove by hand")
        path = self._some_record(machine, chosen)
        if path:
            self.is_disjoint = False
            git(machine.root, "rm", "-q", path)
            git(machine.root, "-c", "user.name=A", "-c", "user.email=a@b", "commit", "-qm", "away with it")

    @precondition(lambda self: len(self.machines) < MAX_MACHINES)
    @rule(who=WHO)
    def copy_store(self, who: int) -> None:
        """Copy a store, like a restored backup or a cloned disk."""
        source, number = self._open_machine(who, "copy store"), len(self.machines)
        self.world.copy_store(source.root, number)
        self.machines.append(Machine(self.world.folder(number)))
        self.signals.append(inbox_ids(self.machines[-1].root))
        assert self.machines[-1].store.machine != source.store.machine

    @precondition(lambda self: self.records and len(self.purged) < 2)
    @rule(who=WHO, chosen=WHO)
    def purge(self, who: int, chosen: int) -> None:
        machine = self._open_machine(who, "purge")
        path = self._some_record(machine, chosen, "learnings/")
        if path:
            self.is_disjoint = False
            purge_record(machine, path)
            self.purged.add(self.about.get(path, path))  # a decision is purged with the learning it is about

    @rule(who=WHO)
    def sync(self, who: int) -> None:
        self.reports.append(self._get_machine(who, "sync").sync(AGREE_TO_PURGES))
        count("histories: syncs between other work")

    @rule(who=WHO)
    def sync_offline(self, who: int) -> None:
        machine = self._open_machine(who, "sync offline")  # this restores what was removed by hand
        before = machine.tip
        away = self.world.remote.with_suffix(".away")
        self.world.remote.rename(away)
        try:
            machine.sync(AGREE_TO_PURGES)
        except ReflectError:
            pass
        else:
            raise AssertionError("there was nobody to sync with")
        finally:
            away.rename(self.world.remote)
        assert machine.tip == before

    @rule(who=WHO, effect=st.integers(1, 90))
    def sync_and_kill(self, who: int, effect: int) -> None:
        """Kill -9 at a side effect; what a killed child would print was never acknowledged."""
        machine = self._get_machine(who, "sync and die")
        child = os.fork()
        if not child:
            faults.arm(f"{faults.KILL}:{effect}", str(machine.root), str(self.world.root))
            try:
                machine.sync(AGREE_TO_PURGES)
            finally:
                os._exit(0)
        if os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) < 0:
            self.world.counts["killed"] += 1
            count("histories: syncs killed")

    def teardown(self) -> None:
        if self.machines:
            self._require_one_tree()
            self.world.counts["histories"] += 1
            count("histories of 2 to 5 machines that converged")
            self.world.remove_folders()

    def _require_one_tree(self) -> None:
        self._sync_until_stable()
        paths = self.machines[0].list_paths()
        gone = {*self.purged, *(one for one, learning in self.about.items() if learning in self.purged)}
        assert self.records - gone <= paths, "a decision was lost"
        assert not gone & paths, "what was purged came back"
        self._require_no_mention()
        for known, machine in zip(self.signals, self.machines):
            assert not known or known <= inbox_ids(machine.root), "a capture was lost"
            assert not (found := find_store_problems(machine.root)), found
        if self.is_disjoint:
            asked = [one for one in self.reports if one.purges or one.kept_beside or one.refused or one.lost]
            assert not asked, "disjoint work asked something"

    def _require_no_mention(self) -> None:
        """Check that no decision and no snapshot of any machine mentions a purged learning."""
        for learning in {get_record_id(path) for path in self.purged if path.startswith("learnings/")}:
            found = git(self.machines[0].root, "grep", "-l", "-e", f'^subject: "{learning}"', "-e",
                        f"<!-- {learning} -->", "main", check=False)  # fmt: skip
            assert not found, "what was purged is spoken of"

    def _sync_until_stable(self) -> None:
        """Sync all machines until nothing changes."""
        for _ in range(ROUNDS):
            self.reports += [machine.sync(AGREE_TO_PURGES) for machine in self.machines]
            trees = {machine.tree for machine in self.machines}
            if len(trees) == 1:
                break
        assert len(trees) == 1, f"{len(trees)} trees after {ROUNDS} rounds"


def _find_candidate(here: Queue, signal: str) -> Candidate:
    found = here.candidates.find_candidate(signal)
    assert found, f"nobody is asked about {signal}"
    return found


@contextmanager
def _skip_user_wait() -> Iterator[None]:
    """Skip waiting for the user's git: nobody else works in these stores."""
    before = main_branch._QUIET_SECONDS
    main_branch._QUIET_SECONDS = 0.0
    try:
        yield
    finally:
        main_branch._QUIET_SECONDS = before


def run_histories(examples: int, steps: int, chance: int) -> Counter[str]:
    """Run that many histories; return how often each step happened. Another `chance` gives other histories.

    A failing history is reported unchanged: making it shorter would take many minutes of git.
    """
    wanted = settings(
        max_examples=examples, stateful_step_count=steps, deadline=None, suppress_health_check=list(HealthCheck),
        phases=[Phase.generate], database=None,
    )  # fmt: skip
    folder = _IN_MEMORY if os.access(_IN_MEMORY, os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="reflect-git-histories-", dir=folder) as base, _skip_user_wait():

        class Here(Histories):
            world = World(Path(base))

        run_state_machine_as_test(seed(chance)(Here), settings=wanted)
        return Here.world.counts
