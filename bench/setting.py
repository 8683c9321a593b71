"""What all measurements share: the interpreter, a work folder, a project, how thorough to be."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path

from bench.generate import build_env
from bench.timing import Command

REPO = Path(__file__).resolve().parent.parent
HOOK = REPO / "hooks" / "hook.py"
LAUNCHER = REPO / "hooks" / "launch.sh"
APPEND = REPO / "hooks" / "store.py"


@dataclass(frozen=True)
class Setting:
    """`python` is a real binary: a shim of a version manager would be measured with it."""

    work: Path
    project: Path
    python: str = os.path.realpath(sys.executable)
    quick: bool = False
    rival: Path | None = None
    hookify: Path | None = None

    def rounds(self, full: int) -> int:
        return max(3, full // 10) if self.quick else full

    def sizes(self, *full: int) -> tuple[int, ...]:
        return full[:1] if self.quick else full

    def create_home(self, name: str) -> Path:
        """A home folder of its own for one subject."""
        folder = self.work / name.replace(" ", "-")
        folder.mkdir()
        return folder

    def python_command(self, program: str) -> Command:
        """The interpreter alone, as hooks start it."""
        return Command((self.python, "-I", "-S", "-c", program), build_env(self.work))
