"""Draw docs/picture.svg from a real review: a correction, the question about it, and the line in CLAUDE.md.

`make docs` runs this. Every run draws the same picture unless the program prints something else.
Run it in a terminal of your own: inside Claude Code the program refuses the approval.
"""

from __future__ import annotations

import fcntl
import json
import os
import pty
import re
import select
import struct
import subprocess
import sys
import tempfile
import termios
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from rich.console import Console
from rich.text import Text

HERE = Path(__file__).parent
MAX_LINES = 18
_WIDTH = 76  # at 700 px a character is 9 px wide
_TIMEOUT = 60.0
PROGRAM = (sys.executable, "-m", "reflect_git.cli.start")
_SESSION = "5f0c9a52-7d0e-4c7e-9a53-0d3a5c1f2b10"
_CORRECTION = "no, never use npm in this project, always use pnpm instead"
_ENTRIES = 12  # of the demo's session: up to the second correction, so that review asks one question
_LEFT_OUT = ("confidence", "note")  # fields of the card that would make the picture too long
_STYLE = re.compile(r"\x1b\[[0-9;]*m")


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        printed = replace_varying_parts(record_review(Path(os.path.realpath(folder))))
    lines = printed.count("\n") + 1
    if lines > MAX_LINES:
        sys.exit(f"the picture has {lines} lines, {MAX_LINES} are allowed; leave a field of the card out")
    draw(printed, HERE / "picture.svg")
    return 0


def draw(printed: str, path: Path) -> None:
    """Draw terminal text as a picture."""
    with open(os.devnull, "w", encoding="utf-8") as nowhere:
        console = Console(record=True, width=_WIDTH, file=nowhere, force_terminal=True)
        console.print(Text.from_ansi(printed))
        drawn = console.export_svg(title="reflect-git", unique_id="reflect-git")
    # Without web fonts: a page that shows the picture must not contact another host.
    drawn = re.sub(r"@font-face \{.*?\}", "", drawn, flags=re.DOTALL)
    # librsvg drops the indentation of a line otherwise.
    drawn = drawn.replace("<svg ", '<svg xml:space="preserve" ', 1)
    path.write_text("\n".join(line.rstrip() for line in drawn.splitlines()) + "\n", encoding="utf-8")


def record_review(home: Path) -> str:
    """Review one correction in a new home and return what a person sees, as terminal text."""
    project = home / "webshop"
    project.mkdir()
    (project / "CLAUDE.md").write_text("# Webshop\n\n- Prices are in cents.\n", encoding="utf-8")
    env = build_env(home)
    _write_session(home, project)
    for command in (
        ("git", "init", "-q", "-b", "main"),
        ("git", "config", "--global", "user.name", "Ada"),
        (*PROGRAM, "--yes", "import", "transcripts"),
    ):
        subprocess.run(command, cwd=project, env=env, check=True, stdout=subprocess.DEVNULL)
    review = pick_lines(run_at_terminal(["review"], project, env, "?", "y"))
    written = [line for line in (project / "CLAUDE.md").read_text(encoding="utf-8").splitlines() if "pnpm" in line]
    return "\n".join([
        dim("# you correct Claude Code"), f"> {_CORRECTION}", "",
        dim("$ reflect-git review"), *review, "",
        dim("$ grep pnpm CLAUDE.md"), *written,
    ])  # fmt: skip


def build_env(home: Path) -> dict[str, str]:
    return {
        "HOME": str(home), "PATH": os.environ.get("PATH", os.defpath), "TMPDIR": str(home),
        "TERM": "xterm-256color", "LC_ALL": "C.UTF-8", "GIT_CONFIG_NOSYSTEM": "1", "PYTHONPATH": str(HERE.parent),
    }  # fmt: skip


def dim(text: str) -> str:
    return f"\x1b[2m{text}\x1b[0m"


def _write_session(home: Path, project: Path) -> None:
    """Write a transcript as the client does, from the session that the demo uses."""
    lines = (HERE.parent / "templates/demo/session.jsonl").read_text(encoding="utf-8").splitlines()
    began = time.time() - 600
    entries = []
    for number, line in enumerate(lines[:_ENTRIES]):
        stamp = time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime(began + 20 * number))
        entries.append({
            **json.loads(line), "uuid": f"entry-{number}", "sessionId": _SESSION, "cwd": str(project),
            "version": "2.1.325", "timestamp": stamp, "isSidechain": False,
        })  # fmt: skip
    path = home / ".claude" / "projects" / re.sub(r"[^A-Za-z0-9]", "-", str(project)) / f"{_SESSION}.jsonl"
    path.parent.mkdir(parents=True)
    path.write_text("".join(f"{json.dumps(entry)}\n" for entry in entries), encoding="utf-8")


def run_at_terminal(words: Sequence[str], project: Path, env: Mapping[str, str], question: str, answer: str) -> str:
    """Run a command at a terminal, answer when its output ends like the question, and return what it prints."""
    primary, secondary = pty.openpty()
    fcntl.ioctl(secondary, termios.TIOCSWINSZ, struct.pack("HHHH", 50, _WIDTH, 0, 0))
    with subprocess.Popen(
        [*PROGRAM, "--color", "always", *words], cwd=project, env=env,
        stdin=secondary, stdout=secondary, stderr=secondary, start_new_session=True,
    ) as child:  # fmt: skip
        os.close(secondary)
        printed, answered = "", False
        while chunk := _read_terminal(primary):
            printed += chunk
            if not answered and _STYLE.sub("", printed).rstrip().endswith(question):
                os.write(primary, answer.encode())
                answered = True
        os.close(primary)
    if child.returncode or not answered:
        sys.exit(f"'reflect-git {words[0]}' ended with {child.returncode}:\n{printed}")
    return printed.replace("\r\n", "\n")


def _read_terminal(terminal: int) -> str:
    ready, _, _ = select.select([terminal], [], [], _TIMEOUT)
    try:
        return os.read(terminal, 65536).decode() if ready else ""
    except OSError:  # EIO: the program ended
        return ""


def pick_lines(review: str) -> list[str]:
    """Return the card, the rule's line of the diff, the question with its answer, and the result."""
    lines = review.strip("\n").split("\n")
    plain = [_STYLE.sub("", line) for line in lines]
    diff = next(at for at, line in enumerate(plain) if line.startswith("diff --git"))
    question = next(at for at, line in enumerate(plain) if line.startswith("(1/1)"))
    card = [lines[at] for at in range(diff - 1) if not plain[at].strip().startswith(_LEFT_OUT)]
    added = [lines[at] for at in range(diff, question) if plain[at].startswith("+- ")]
    return [*card, dim("…"), *added, *lines[question : question + 2]]


def replace_varying_parts(printed: str) -> str:
    """Replace the rule's id, and the day of a session that began before midnight."""
    return re.sub(r"LRN-\d{8}-[0-9a-z]{8}", "LRN-20260212-8ff3a4q2", printed).replace(" yesterday", " today")


if __name__ == "__main__":
    sys.exit(main())
