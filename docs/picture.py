"""docs/picture.svg: what the demo prints, drawn as a terminal. `make docs` runs it, and the same is drawn each time."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

from rich.console import Console
from rich.text import Text

HERE = Path(__file__).parent
_WIDTH = 104
_DAY = "2026-02-12"  # a Thursday
_TIME = r"\d{4}-\d\d-\d\d \d\d:\d\d"
# What stands before one may be the end of a colour.
_ID = r"(SIG|LRN|DEC)-\d{8}-[0-9a-z]{8}(?!\w)"
_COMMIT = r"(?<![0-9a-f-])(?=\d*[a-f])(?=[a-f]*\d)[0-9a-f]{10}(?![\w-])"
_SCENES = ("A hook of Claude Code", "You answer", "Every line has a story", "… and anything can be taken back")


def scenes(printed: str) -> list[str]:
    """The parts of the demo that fit a picture; of several approvals the first."""
    found = []
    for part in re.split(r"\n\n\x1b\[1m(?=\S)", printed):  # what `why` prints in bold is indented
        if part.startswith(_SCENES):
            found.append("\x1b[1m" + part.split("\n\x1b[2m$ reflect-git approve", 2)[0] + _first_approval(part))
    return found


def settled(printed: str) -> str:
    """With ids, times and names that are the same in every run; the i-th of a kind stays the i-th."""
    earlier = sorted(set(re.findall(_TIME, printed)), reverse=True)
    for pattern, write in (
        (_TIME, lambda found: f"{_DAY} {_clock(earlier.index(found[0]))}"),
        (r"(?<![-\d])\d{4}-\d\d-\d\d(?!\d)", lambda _: _DAY),
        (r"\d+ minutes ago", lambda _: "8 minutes ago"),
        (r"(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day", lambda _: "Thursday"),
        (_ID, _in_order(lambda found, at: f"{found[1]}-{_DAY.replace('-', '')}-{_hash(found[1], at, 8)}")),
        (_COMMIT, _in_order(lambda _, at: _hash("commit", at, 10))),
        (r"(?<=by a script, )[\w-]+", lambda _: "laptop-k3f9"),
    ):
        printed = re.sub(pattern, write, printed)
    return printed


def _clock(at: int) -> str:
    minutes = 600 - 8 * at
    return f"{minutes // 60:02d}:{minutes % 60:02d}"


def _in_order(write: Callable[[re.Match[str], int], str]) -> Callable[[re.Match[str]], str]:
    seen: list[str] = []

    def replace(found: re.Match[str]) -> str:
        if found[0] not in seen:
            seen.append(found[0])
        return write(found, seen.index(found[0]))

    return replace


def _hash(kind: str, at: int, length: int) -> str:
    return sha256(f"{kind} {at}".encode()).hexdigest()[:length]


def _first_approval(part: str) -> str:
    pieces = part.split("\n\x1b[2m$ reflect-git approve")
    return f"\n\x1b[2m$ reflect-git approve{pieces[1]}" if len(pieces) > 1 else ""


def _demo() -> str:
    """What it prints, where the first rule is the first of its file: entries stand in the order of ids, by chance."""
    program = [sys.executable, "-m", "reflect_git.cli.start", "--color", "always", "demo"]
    env = {**os.environ, "COLUMNS": str(_WIDTH), "TERM": "xterm-256color"}
    while True:
        printed = subprocess.run(program, capture_output=True, text=True, check=True, env=env).stdout
        first, second, *_ = dict.fromkeys(found[0] for found in re.finditer(_ID, printed) if found[1] == "LRN")
        if first < second:
            return printed


def main() -> int:
    printed = settled("\n\n".join(scenes(_demo())))
    with open(os.devnull, "w", encoding="utf-8") as nowhere:
        console = Console(record=True, width=_WIDTH, file=nowhere, force_terminal=True)
        console.print(Text.from_ansi(printed))
        drawn = console.export_svg(title="reflect-git", unique_id="reflect-git")
    # With the fonts of whoever looks at it: a picture asks no other host for some.
    drawn = re.sub(r"@font-face \{.*?\}", "", drawn, flags=re.DOTALL)
    (HERE / "picture.svg").write_text("\n".join(line.rstrip() for line in drawn.splitlines()) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
