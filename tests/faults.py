"""Run one operation with a fault at its first side effect, then at its second, until it succeeds.

An operation is a function in a module that imports no test library: `operation(store, env) -> None`. It runs in a
process that opens the store with the fault armed; it prints what it acknowledged. Before each run the store is restored
at the same path: a store that moved would take another machine name.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Optional

import pytest

from reflect_git.store.repository import Store
from tests import fork_server
from tests.counters import count

REPO = Path(__file__).resolve().parent.parent
KILL, FAIL = "kill", "fail"

Operation = Callable[[Store, Mapping[str, str]], None]
_MAX_EFFECTS = 400


@dataclass(frozen=True)
class FaultRun:
    """One run: the effect at which it failed (none if it succeeded), how it ended, and what it had printed before."""

    mode: str
    number: int
    effect: Optional[str]
    code: int
    output: tuple[str, ...]
    errors: str

    def __str__(self) -> str:
        return f"{self.mode}:{self.number} at '{self.effect}' (exit {self.code})"


class SavedStore:
    """A saved state of a store, which may be no store at all; `restore` brings it back."""

    def __init__(self, root: Path, folder: Path) -> None:
        self.root = root
        self._saved_copy = folder / "prepared"
        if root.exists():
            shutil.copytree(root, self._saved_copy, symlinks=True)

    def restore(self) -> None:
        for leftover in self.root.parent.glob(".reflections-new-*"):
            shutil.rmtree(leftover)
        if self.root.exists():
            shutil.rmtree(self.root)
        if self._saved_copy.exists():
            shutil.copytree(self._saved_copy, self.root, symlinks=True)


def run_operation(
    operation: Operation, root: Path, spec: str = "", trace: str = ""
) -> subprocess.CompletedProcess[str]:
    """Run the operation in its own process, with a fault armed if there is a `spec`."""
    env = {**os.environ, "REFLECT_GIT_HOME": str(root), "TMPDIR": str(root.parent)}
    if spec:
        env.update({"REFLECT_GIT_FAULT": spec, "REFLECT_GIT_FAULT_TRACE": trace})
    done = fork_server.run(("operation", operation.__module__, operation.__name__), env, os.getcwd())
    return subprocess.CompletedProcess(done.args, done.returncode, done.stdout.decode(), done.stderr.decode())


def inject_faults(
    operation: Operation, prepared: SavedStore, mode: str, first: int = 1, step: int = 1
) -> Iterator[FaultRun]:
    """Yield the runs in order, restoring the store before each; the last one succeeds."""
    trace = prepared.root.parent / "effects"
    for number in range(first, _MAX_EFFECTS, step):
        prepared.restore()
        trace.unlink(missing_ok=True)
        done = run_operation(operation, prepared.root, f"{mode}:{number}", str(trace))
        effects = trace.read_text(encoding="utf-8").splitlines() if trace.exists() else []
        effect = effects[number - 1] if len(effects) >= number else None
        yield FaultRun(mode, number, effect, done.returncode, tuple(done.stdout.split()), done.stderr)
        if effect is None:
            return
        count(f"side effects struck ({mode})")
    raise AssertionError(f"'{operation.__name__}' does not come through after {_MAX_EFFECTS} effects")


def check_every_fault(
    operation: Operation,
    prepared: SavedStore,
    mode: str,
    check: Callable[[FaultRun], None],
    first: int = 1,
    step: int = 1,
) -> None:
    """Run the check after every fault and report all effects at which it fails."""
    broken, count = [], 0
    for fault_run in inject_faults(operation, prepared, mode, first, step):
        count += 1
        try:
            _require_expected_exit(fault_run)
            check(fault_run)
        except Exception as error:
            broken.append(f"{fault_run}: {type(error).__name__}: {error}\n{fault_run.errors}")
    if broken:
        pytest.fail(f"{len(broken)} of {count} strikes broke a promise\n\n" + "\n".join(broken), pytrace=False)
    assert count > 1, f"'{operation.__name__}' passed no side effect at all"


def _require_expected_exit(fault_run: FaultRun) -> None:
    if fault_run.effect is None:
        assert fault_run.code == 0, f"unstruck and yet it ended with {fault_run.code}"
    elif fault_run.mode == KILL:
        assert fault_run.code == -9, "struck and yet alive"
    else:
        assert fault_run.code in (0, 3), "a failing call became a traceback"


def git(root: Path, *arguments: str, stdin: str = "", check: bool = True) -> str:
    """Run git as a person does in the store."""
    done = subprocess.run(
        ["git", "-C", str(root), *arguments], input=stdin, capture_output=True, text=True,
        errors="replace", check=False, timeout=60,
    )  # fmt: skip
    if check and done.returncode:
        raise AssertionError(f"git {' '.join(arguments)} ended with {done.returncode}: {done.stderr}")
    return done.stdout
