"""The first promise, proved on this machine: parallel captures, one process killed, and nothing acknowledged is lost.

Everything happens in a throw-away store below the temp folder, never in the user's.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import reflect_git
from reflect_git import workflow
from reflect_git.errors import ReflectError
from reflect_git.model.counts import plural
from reflect_git.store import inbox, reading, spool, sweep
from reflect_git.store.layout import id_in
from reflect_git.store.repository import Store

PROCESSES = 20
KILLED_AT = 18  # side effects; five captures have 20 at least, more when this process gets the lock
_KILLED_CAPTURES = 5
_SECONDS = 60
_CHILD = """\
import os, sys
sys.path.insert(0, sys.argv[1])
from reflect_git import workflow
store = workflow.open_store(os.environ)
for number in range(int(sys.argv[3])):
    facts = {"type": "discovery", "content": f"self-test {sys.argv[2]} {number}", "session_id": "self-test"}
    signal, _ = workflow.capture(store, facts, os.environ)
    os.write(1, (signal["id"] + "\\n").encode())
"""


@dataclass(frozen=True)
class Step:
    name: str
    ok: bool
    message: str
    seconds: float


class _Trial:
    """One run: the store, and the ids that were acknowledged to their processes."""

    def __init__(self, folder: str, env: Mapping[str, str]) -> None:
        kept = {name: env[name] for name in ("PATH", "LANG", "LC_ALL") if name in env}
        self.env = {**kept, "HOME": folder, "TMPDIR": os.path.dirname(folder), "REFLECT_GIT_HOME": f"{folder}/store"}
        self.acknowledged: set[str] = set()
        self._opened: Store | None = None

    @property
    def store(self) -> Store:
        if self._opened is None:
            self._opened = workflow.open_store(self.env)
        return self._opened

    def create(self) -> str:
        return f"a throw-away store, made with '{self.store.git.program}'"

    def capture(self) -> str:
        children = [self._start(number) for number in range(PROCESSES)]
        codes = []
        for child in children:
            out, _ = child.communicate(timeout=_SECONDS)
            self.acknowledged.update(out.decode("ascii").split())
            codes.append(child.returncode)
        if codes[0] != -9 or any(codes[1:]):
            raise ReflectError(f"processes ended with {sorted(set(codes))}")
        return f"{PROCESSES} processes at once, one killed: {plural(len(self.acknowledged), 'capture')} acknowledged"

    def _start(self, number: int) -> subprocess.Popen[bytes]:
        package = os.path.dirname(os.path.dirname(reflect_git.__file__))
        captures = _KILLED_CAPTURES if number == 0 else 1
        command = [sys.executable, "-I", "-S", "-c", _CHILD, package, str(number), str(captures)]
        fault = {workflow.FAULT: f"kill:{KILLED_AT}"} if number == 0 else {}
        return subprocess.Popen(
            command,
            env={**self.env, **fault},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )

    def sweep(self) -> str:
        waiting = len(spool.pending(self.store))
        sweep.sweep(self.store)
        left = spool.pending(self.store)
        if left:
            raise ReflectError(f"still pending: {plural(len(left), 'capture')}")
        return f"{plural(waiting, 'pending capture')} committed"

    def compare(self) -> str:
        tree = self.store.git.tree(inbox.current(self.store), "signals")
        lost = self.acknowledged - {id_in(path) for path in tree}
        if lost or not self.acknowledged:
            raise ReflectError(f"{len(lost)} of {len(self.acknowledged)} acknowledged captures are lost")
        found = len(reading.read(self.store).signals)
        return f"all {len(self.acknowledged)} acknowledged captures are in the inbox ({found} in all)"

    def check(self) -> str:
        result = self.store.git.fsck()
        changed = self.store.git.run("status", "--porcelain").out
        if result.code or changed:
            raise ReflectError("git fsck or git status complains")
        return "git fsck and git status are clean"


def run(env: Mapping[str, str]) -> Iterator[Step]:
    """The steps as they are done; it stops at the first that fails."""
    with tempfile.TemporaryDirectory(prefix="reflect-git-selftest-") as folder:
        trial = _Trial(os.path.realpath(folder), env)
        steps: dict[str, Callable[[], str]] = {
            "store": trial.create, "capture": trial.capture, "sweep": trial.sweep, "compare": trial.compare,
            "git": trial.check,
        }  # fmt: skip
        for name, act in steps.items():
            step = _timed(name, act)
            yield step
            if not step.ok:
                return


def _timed(name: str, act: Callable[[], str]) -> Step:
    start = time.monotonic()
    try:
        ok, message = True, act()
    except (ReflectError, OSError, subprocess.TimeoutExpired) as error:
        ok, message = False, str(error)
    return Step(name, ok, message, round(time.monotonic() - start, 3))
