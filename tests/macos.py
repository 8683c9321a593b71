"""Run the tests with the class for macOS, which asks a simulated Mac: `make macos`.

The product has no switch for this, because a command could use it to hide Claude Code. So the tests run in a copy of
the checkout that has another last line in `platform/system.py`. This also reaches hooks, which ignore the environment.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

REPO = Path(__file__).resolve().parent.parent
# Tests of what only the real kernel or a checkout has, by name, with the reason.
NEEDS_THE_KERNEL = {
    "tests/test_release.py": "builds from a git checkout, which a copy is not",
    "tests/test_bench.py": "measures this system",
    "tests/test_bench_history.py": "measures this system",
    "tests/platform/test_processes.py::test_it_has_a_session_of_its_own_and_gives_way": "reads Linux's autogroup",
}


def make_copy(folder: Path) -> None:
    """Copy the checkout, with changes that are not committed, and choose the simulated Mac."""
    command = ["git", "-C", str(REPO), "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    for name in filter(None, subprocess.run(command, capture_output=True, text=True, check=True).stdout.split("\0")):
        source, target = REPO / name, folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_file():
            target.write_bytes(source.read_bytes())
            target.chmod(source.stat().st_mode & 0o777)
    module = folder / "reflect_git" / "platform" / "system.py"
    simulated = (folder / "tests" / "platform" / "simulated_macos.py").read_text(encoding="utf-8")
    dropped = "from __future__ import annotations", "from reflect_git.platform.system import Linux, MacOS"
    lines = [line for line in simulated.splitlines() if line not in dropped]
    text = module.read_text(encoding="utf-8") + "\n".join([*lines, "", "current = SimulatedMacOS()", ""])
    module.write_text(text, encoding="utf-8")


def main() -> int:
    """Run pytest in a copy; the arguments are pytest's."""
    with tempfile.TemporaryDirectory(prefix="macos-") as name:
        folder = Path(os.path.realpath(name))
        make_copy(folder)
        for test, why in NEEDS_THE_KERNEL.items():
            print(f"left out: {test}: {why}")
        left_out = [f"--deselect={test}" for test in NEEDS_THE_KERNEL]
        environment = {**os.environ, "REFLECT_GIT_PLATFORM": "macos", "PYTHONPATH": str(folder)}
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *left_out, *sys.argv[1:]]
        return subprocess.run(command, cwd=folder, env=environment, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
