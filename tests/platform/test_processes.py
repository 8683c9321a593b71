"""Background work."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.sessions import wait_until

PROGRAM = """\
import os, sys
from reflect_git.platform import processes as process
if process.detach():
    group = "/proc/self/autogroup"
    weight = open(group).read() if os.path.exists(group) else ""
    with open(sys.argv[1] + ".part", "w") as file:
        print(os.getsid(0) == int(sys.argv[2]), os.nice(0), weight, file=file)
    os.rename(sys.argv[1] + ".part", sys.argv[1])
    os._exit(0)
print("the caller goes on")
"""


def test_it_has_a_session_of_its_own_and_gives_way(tmp_path: Path) -> None:
    found = tmp_path / "found"
    command = [sys.executable, "-c", PROGRAM, str(found), str(os.getsid(0))]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout == "the caller goes on\n"
    wait_until(found.exists, "what it found")
    same, nice, *group = found.read_text().split()
    assert (same, int(nice)) == ("False", min(19, os.nice(0) + 10))
    if group and os.geteuid() == 0:  # others may set it ten times a second in total
        assert group[-2:] == ["nice", "10"]


def test_who_cannot_leave_its_session_does_not_weigh_on_it() -> None:
    program = (
        "import os; from reflect_git.platform import processes; os.setpgid(0, 0); os.dup2(1, 5000)\n"
        "is_alone = processes.start_session(); processes.lower_priority(is_alone)\n"
        "group = '/proc/self/autogroup'; weight = open(group).read() if os.path.exists(group) else ''\n"
        "os.write(5000, f'{is_alone} {os.nice(0)} {weight}'.encode())"
    )
    before = Path("/proc/self/autogroup").read_text() if Path("/proc/self/autogroup").exists() else ""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.strip() == f"False {min(19, os.nice(0) + 10)} {before}".strip()
