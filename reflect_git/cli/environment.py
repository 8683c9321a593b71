"""The private environment of people who have the plugin only: `python3 environment.py ROOT DATA VERSION`.

It holds what reflect-git depends on; the code itself runs from the plugin's folder, which may be read-only and moves
with every update. bin/reflect-git runs this with the standard library alone.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

STAMP_FILE = "reflect-git"
_PIP_INSTALL = ("-I", "-m", "pip", "install", "-q", "--disable-pip-version-check", "--no-input", "--retries", "1")


class SetupError(Exception):
    """A failed step of the setup, and the command to run."""

    def __init__(self, message: str, command: str) -> None:
        super().__init__(message)
        self.command = command


def main(root: Path, data: Path, version: str) -> int:
    os.umask(0o077)
    try:
        data.mkdir(parents=True, exist_ok=True)
        with open(data / "venv.lock", "w", encoding="ascii") as lock:
            _acquire_lock(lock)
            if not is_ready(data, version):
                create_environment(root, data, version)
    except SetupError as error:
        _print_stderr(f"error: {error}", f"hint: {error.command}")
        return 1
    except OSError as error:
        _print_stderr(
            f"error: {(error.strerror or str(error)).lower()}: '{error.filename}'", f"hint: {_format_retry_hint(root)}"
        )
        return 1
    return 0


def _acquire_lock(lock: TextIO) -> None:
    """Get the lock; say so if another process is fetching, which takes as long as fetching."""
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        _print_stderr("reflect-git: waiting for another reflect-git that fetches its packages; this can take a minute")
        fcntl.flock(lock, fcntl.LOCK_EX)


def is_ready(data: Path, version: str) -> bool:
    try:
        stamp = (data / "venv" / STAMP_FILE).read_text(encoding="utf-8").strip()
    except OSError:
        return False
    return stamp == version and os.access(data / "venv" / "bin" / "python", os.X_OK)


def create_environment(root: Path, data: Path, version: str) -> None:
    """Install the packages in a folder with a unique name, and link it as `venv` when it is complete.

    The next run removes what a killed one left.
    """
    wanted = list(read_dependencies(root))
    _remove_leftovers(data)
    _print_stderr(f"reflect-git: fetching its packages into '{data}', once; this can take a minute")
    made = data / f"venv-{os.getpid()}-{os.urandom(4).hex()}"
    try:
        _run_logged(
            sys.executable, "-I", "-m", "venv", str(made), log=data / "venv.log", or_else=_build_no_venv_error(root)
        )
        offline = SetupError(
            f"the packages of reflect-git could not be fetched, see '{data / 'venv.log'}'", _format_retry_hint(root)
        )
        _run_logged(str(made / "bin" / "python"), *_PIP_INSTALL, *wanted, log=data / "venv.log", or_else=offline)
        (made / STAMP_FILE).write_text(f"{version}\n", encoding="utf-8")
        _replace_link(made, data / "venv")
    except BaseException:
        shutil.rmtree(made, ignore_errors=True)
        raise


def read_dependencies(root: Path) -> Iterator[str]:
    """Yield the dependencies in pyproject.toml; Python 3.10 has no TOML parser."""
    listing = False
    for line in (root / "pyproject.toml").read_text(encoding="utf-8").splitlines():
        if line == "dependencies = [":
            listing = True
        elif listing and line == "]":
            return
        elif listing:
            yield line.strip().rstrip(",").strip('"')


def _run_logged(*command: str, log: Path, or_else: SetupError) -> None:
    with open(log, "wb") as file:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=file, stderr=file, check=False)
    if done.returncode:
        raise or_else


def _replace_link(made: Path, name: Path) -> None:
    link = name.with_name(f"{made.name}.link")
    link.symlink_to(made.name)
    if name.is_dir() and not name.is_symlink():
        shutil.rmtree(name)
    os.replace(link, name)


def _remove_leftovers(data: Path) -> None:
    """Remove all environments except the one in use: a long run of the previous version may still load from it."""
    used = os.path.realpath(data / "venv")
    for path in data.glob("venv-*"):
        if path.is_symlink():
            path.unlink()
        elif os.path.realpath(path) != used:
            shutil.rmtree(path, ignore_errors=True)


def _build_no_venv_error(root: Path) -> SetupError:
    said = f"'{sys.executable}' cannot make environments"
    return SetupError(
        said, f"install its 'venv' (Debian, Ubuntu: sudo apt install python3-venv), then {_format_retry_hint(root)}"
    )


def _format_retry_hint(root: Path) -> str:
    return f"run, with a network: '{root / 'bin' / 'reflect-git'}' status"


def _print_stderr(*lines: str) -> None:
    for line in lines:
        print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]))
