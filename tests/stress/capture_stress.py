"""Many processes that capture while others kill them: the hook alone, its git alone, or both."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

from tests.counters import count
from tests.faults import REPO

HOOK, GIT, BOTH = "hook", "git", "both"
MODES = (HOOK, GIT, BOTH)

# Like hook.py: what cannot be done now is left to the next one, and the exit code is 0.
_WORKER = """
import os, sys
sys.path.insert(0, sys.argv[1])
from reflect_git.capture import service
from reflect_git.errors import ReflectError
from tests.store import operations as o
o.print_acknowledged()
for number in range(int(sys.argv[2])):
    try:
        service.capture_signal(service.open_store(os.environ), o.facts(f"capture {os.getpid()} {number}"), os.environ)
    except (ReflectError, OSError):
        pass
"""


@dataclass
class Slot:
    """One of the capturing processes; a killed one is replaced until the work is done."""

    process: subprocess.Popen[bytes]
    killed: bool = False
    ended: bool = False


@dataclass
class CaptureStress:
    root: Path
    captures: int
    mode: str
    seed: int
    folder: Path
    codes: list[int] = field(default_factory=list)
    kills: int = 0

    def run(self, processes: int) -> set[str]:
        """Run everything; return the acknowledged ids."""
        chance = random.Random(self.seed)
        slots = [self._start(number) for number in range(processes)]
        while running := self._list_running(slots):
            time.sleep(0.05)
            if len(running) > processes // 4:
                self._kill(chance.choice(running))
        logs = "".join(path.read_text() for path in self.folder.glob("said-*"))
        acknowledged = set(logs.split())
        count("storms of captures under kill -9")
        count("storms: kills", self.kills)
        count("storms: captures acknowledged", len(acknowledged))
        return acknowledged

    def _start(self, number: int) -> Slot:
        log = self.folder / f"said-{number}"
        left = self.captures - (len(log.read_text().split()) if log.exists() else 0)
        env = {**os.environ, "REFLECT_GIT_HOME": str(self.root)}
        command = [sys.executable, "-I", "-S", "-c", _WORKER, str(REPO), str(left)]
        with open(log, "ab") as out:
            return Slot(subprocess.Popen(command, env=env, stdout=out))

    def _list_running(self, slots: list[Slot]) -> list[Slot]:
        for number, slot in enumerate(slots):
            code = slot.process.poll()
            if code is None or slot.ended:
                continue
            if slot.killed and code == -signal.SIGKILL:
                slots[number] = self._start(number)
            else:
                slot.ended = True
                self.codes.append(code)
        return [slot for slot in slots if not slot.ended]

    def _kill(self, slot: Slot) -> None:
        pid = slot.process.pid
        self.kills += 1
        if self.mode in (GIT, BOTH):
            for child in find_children(pid):
                _kill_process(child)
        if self.mode in (HOOK, BOTH):
            slot.killed = True
            _kill_process(pid)
            slot.process.wait()


def find_children(pid: int) -> list[int]:
    try:
        return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []


def _kill_process(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
