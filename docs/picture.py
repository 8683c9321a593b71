"""docs/picture.svg: what the demo prints, drawn as a terminal. `make docs` runs it; ids and times differ each time."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from rich.console import Console
from rich.text import Text

HERE = Path(__file__).parent
_WIDTH = 104
_SCENES = ("A hook of Claude Code", "You answer", "Every line has a story", "… and anything can be taken back")


def scenes(printed: str) -> list[str]:
    """The parts of the demo that fit a picture; of several approvals the first."""
    found = []
    for part in re.split(r"\n\n\x1b\[1m(?=\S)", printed):  # what `why` prints in bold is indented
        if part.startswith(_SCENES):
            found.append("\x1b[1m" + part.split("\n\x1b[2m$ reflect-git approve", 2)[0] + _first_approval(part))
    return found


def _first_approval(part: str) -> str:
    pieces = part.split("\n\x1b[2m$ reflect-git approve")
    return f"\n\x1b[2m$ reflect-git approve{pieces[1]}" if len(pieces) > 1 else ""


def main() -> int:
    program = [sys.executable, "-m", "reflect_git.cli.start", "--color", "always", "demo"]
    env = {**os.environ, "COLUMNS": str(_WIDTH), "TERM": "xterm-256color"}
    done = subprocess.run(program, capture_output=True, text=True, check=True, env=env)
    with open(os.devnull, "w", encoding="utf-8") as nowhere:
        console = Console(record=True, width=_WIDTH, file=nowhere, force_terminal=True)
        console.print(Text.from_ansi("\n\n".join(scenes(done.stdout))))
        drawn = console.export_svg(title="reflect-git")
    # With the fonts of whoever looks at it: a picture asks no other host for some.
    drawn = re.sub(r"@font-face \{.*?\}", "", drawn, flags=re.DOTALL)
    (HERE / "picture.svg").write_text("\n".join(line.rstrip() for line in drawn.splitlines()) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
