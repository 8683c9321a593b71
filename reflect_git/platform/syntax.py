"""Check the syntax of a script without running it: `sh -n`, or Python's compiler."""

from __future__ import annotations

import subprocess
from pathlib import Path

_TIMEOUT = 5.0


def find_syntax_error(path: str) -> str:
    """Return the first syntax error of a `.sh` or `.py` file, or an empty text."""
    if path.endswith(".py"):
        try:
            compile(Path(path).read_bytes(), path, "exec", dont_inherit=True)
        except (SyntaxError, ValueError) as error:
            return str(error)
        return ""
    try:
        done = subprocess.run(
            ["sh", "-n", "--", path],
            capture_output=True, text=True, timeout=_TIMEOUT, stdin=subprocess.DEVNULL, check=False,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    return done.stderr.strip().partition("\n")[0] if done.returncode else ""
