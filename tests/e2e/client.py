"""Install the real client from npm into a cache and print its path: `python tests/e2e/client.py`.

A separate program, since the cache is in the real home, where no test may write.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Optional

PACKAGE = "@anthropic-ai/claude-code"
VERSION = "2.1.325"
INSTALL_SECONDS = 300


def cache_folder(env: Mapping[str, str]) -> Path:
    given = env.get("REFLECT_GIT_E2E_CACHE")
    if given:
        return Path(given)
    return Path(env.get("XDG_CACHE_HOME") or Path(env["HOME"], ".cache")) / "reflect-git-e2e"


def find_binary(folder: Path) -> Optional[Path]:
    """Find the binary that starts: npm may install those for glibc and for musl."""
    found = sorted((folder / "node_modules" / "@anthropic-ai").glob("claude-code-*/claude"))
    return next((path for path in found if is_runnable(path)), None)


def is_runnable(binary: Path) -> bool:
    try:
        done = subprocess.run([binary, "--version"], capture_output=True, text=True, timeout=60, check=False)
    except OSError:
        return False
    return done.returncode == 0 and VERSION in done.stdout


def install(cache: Path) -> Path:
    """Install the client once while others wait; a folder with its final name is complete."""
    cache.mkdir(parents=True, exist_ok=True)
    folder = cache / VERSION
    with (cache / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.is_dir():
            download(cache, folder)
        binary = find_binary(folder)
    if binary is None:
        raise SystemExit(f"'{folder}' holds no client that starts here")
    return binary


def download(cache: Path, folder: Path) -> None:
    npm = shutil.which("npm")
    if npm is None:
        raise SystemExit("npm is not installed")
    fresh = tempfile.mkdtemp(prefix=".new-", dir=cache)
    try:
        quietly = ["--no-audit", "--no-fund", "--ignore-scripts", "--no-update-notifier"]
        # With npm's default timeouts an attempt without a network takes more than five minutes.
        done = subprocess.run(
            [npm, "install", "--prefix", fresh, *quietly, "--fetch-retries=0", f"{PACKAGE}@{VERSION}"],
            capture_output=True,
            text=True,
            timeout=INSTALL_SECONDS,
            check=False,
        )
        if done.returncode:
            raise SystemExit(f"npm could not install {PACKAGE}@{VERSION}: {find_npm_error(done.stderr)}")
        os.rename(fresh, folder)
    except subprocess.TimeoutExpired:
        raise SystemExit(f"npm did not install {PACKAGE} within {INSTALL_SECONDS} s") from None
    finally:
        shutil.rmtree(fresh, ignore_errors=True)


def find_npm_error(text: str) -> str:
    """Return npm's error message: its output ends with the path of its log, the error is before that."""
    lines = [
        line for line in text.splitlines() if line.strip() and "debug-0.log" not in line and "complete log" not in line
    ]
    return lines[-1] if lines else "it does not say why"


if __name__ == "__main__":
    sys.stdout.write(f"{install(cache_folder(os.environ))}\n")
