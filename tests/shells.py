"""The shells that our scripts run under, and the tools of busybox, which have no options of GNU."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

SHELLS = {
    "dash": ("dash",),
    "bash": ("bash",),
    "bash-posix": ("bash", "--posix"),
    "busybox": ("busybox", "sh"),
    "zsh": ("zsh", "--emulate", "sh"),
    "mksh": ("mksh",),
}


def list_shells() -> Sequence[object]:
    """Return a parameter for each shell; `.ci/run` installs them all, so only a developer's machine misses one."""
    found = []
    for name, (program, *options) in SHELLS.items():
        path = shutil.which(program)
        marks = [] if path else [pytest.mark.skip(reason=f"{program} is not installed")]
        found.append(pytest.param([path or program, *options], id=name, marks=marks))
    return found


def list_installed_shells() -> list[list[str]]:
    """Return the command of each shell that is installed."""
    found = [(shutil.which(program), options) for program, *options in SHELLS.values()]
    return [[path, *options] for path, options in found if path]


def make_busybox_tools(folder: Path) -> str:
    """Fill a folder with busybox under the name of each of its tools; skip the test without it."""
    busybox = shutil.which("busybox")
    if busybox is None:
        pytest.skip("busybox is not installed")
    folder.mkdir()
    for name in subprocess.run([busybox, "--list"], capture_output=True, text=True, check=True).stdout.split():
        (folder / name).symlink_to(busybox)
    return str(folder)
