"""Terminals as people really have them: no colours, no UTF-8, 40 columns, a screen reader, another pager."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.conftest import REPO, RunCli
from tests.stories.terminal import Terminal

WORDS = "Nein, „immer“ pnpm statt npm – überall 🎉 日本語"
# A cursor that moves, a line that is written again: a screen reader would read it all once more.
REDRAW = re.compile(r"\x1b\[[0-9;?]*[A-HJKSTfhlsu]|\x1b[78M=>]|\r(?!\r*\n)|\x08")
COLOUR = re.compile(rb"\x1b\[[0-9;]*m")
COMMANDS = (
    ("status",), ("signals",), ("rules",), ("log",), ("candidates",), ("doctor",), ("show", "{rule}"),
    ("why", "CLAUDE.md"), ("review",),
)  # fmt: skip
PLAIN = {"TERM": "xterm", "NO_COLOR": "1"}
ASCII = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}


def look(
    cwd: Path, *words: str, columns: int = 80, typed: bytes = b"", env: Mapping[str, str] | None = None
) -> tuple[int, str]:
    """Run a command in a fresh interpreter, at a terminal with this many columns; return its code and what it wrote."""
    primary, secondary = pty.openpty()
    fcntl.ioctl(secondary, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    surroundings = {**os.environ, "PYTHONPATH": str(REPO), "PYTHONSAFEPATH": "1", **(env or {})}
    child = subprocess.Popen(
        [sys.executable, "-m", "reflect_git.cli.start", *words], stdin=secondary, stdout=secondary, stderr=secondary,
        env=surroundings, cwd=cwd, start_new_session=True,
    )  # fmt: skip
    os.close(secondary)
    shown, deadline, waits = b"", time.monotonic() + 60, typed
    while time.monotonic() < deadline:
        if waits and COLOUR.sub(b"", shown).rstrip().endswith((b"?", b":")):
            os.write(primary, waits)
            waits = b""
        if not select.select([primary], [], [], 0.2)[0]:
            continue
        try:
            chunk = os.read(primary, 65536)
        except OSError:  # EIO: it has ended
            break
        if not chunk:
            break
        shown += chunk
    else:
        child.kill()
    os.close(primary)
    code = child.wait(30)
    assert time.monotonic() < deadline, shown
    return code, shown.decode("utf-8", "backslashreplace")


@pytest.fixture
def shop(run_cli: RunCli, home: Path, tmp_path: Path) -> Path:
    """A project with one rule and one proposed rule."""
    (home / ".gitconfig").write_text("[user]\n\tname = Ada\n\temail = ada@example.com\n")
    folder = tmp_path / "shop"
    folder.mkdir()
    subprocess.run(["git", "init", "-q", str(folder)], check=True)
    for text in ("never edit generated files, run the generator instead", WORDS):
        with Terminal("capture", "--type", "correction", "--content", text, cwd=folder) as terminal:
            signal = terminal.ends().split()[1]
        if text != WORDS:
            with Terminal("approve", signal, "--to", "project", cwd=folder) as terminal:
                terminal.ends()
    return folder


def _rule(run_cli: RunCli, shop: Path) -> str:
    (rule,) = run_cli("rules", "--json", cwd=shop).json()["data"]
    return str(rule["id"])


SURROUNDINGS: dict[str, dict[str, str]] = {
    "dumb": {"TERM": "dumb"},
    "no colour": {"TERM": "xterm-256color", "NO_COLOR": "1"},
    "no UTF-8": {"TERM": "xterm", "NO_COLOR": "1", **ASCII},
    "colour": {"TERM": "xterm-256color"},
}


@pytest.mark.parametrize(("name", "columns"), [("dumb", 40), ("no colour", 40), ("no UTF-8", 80), ("colour", 80)])
def test_every_screen_is_plain_lines(run_cli: RunCli, shop: Path, name: str, columns: int) -> None:
    """Nothing is drawn again, so that a screen reader can follow."""
    rule = _rule(run_cli, shop)
    for words in COMMANDS:
        given = [word.format(rule=rule) for word in words]
        code, shown = look(shop, *given, columns=columns, typed=b"q", env={"GIT_PAGER": "cat", **SURROUNDINGS[name]})
        assert code == 0, shown
        assert REDRAW.findall(shown) == [], (given, shown)
        if name != "colour":
            assert "\x1b" not in shown, (given, shown)
        assert "Traceback" not in shown


def test_sentences_fit_into_forty_columns(run_cli: RunCli, shop: Path) -> None:
    """Lists, diffs and commands to copy are never wrapped; everything else is."""
    _, shown = look(shop, "review", columns=40, typed=b"q", env={**PLAIN, "TERM": "dumb"})
    long = [line for line in shown.replace("\r", "").split("\n") if len(line) > 40]
    assert [line for line in long if not line.startswith(("+", "-", "@", " ", "diff"))] == []


@pytest.mark.parametrize("locale", [ASCII, {"PYTHONIOENCODING": "latin-1"}])
def test_what_is_typed_is_stored_and_written_whole_without_utf_8(
    run_cli: RunCli, shop: Path, locale: dict[str, str]
) -> None:
    """The terminal shows escapes for letters it cannot show; the file has the letters."""
    code, said = look(shop, "capture", "--type", "correction", "--content", "für „immer“ bun 🎉", env=locale)
    assert code == 0, said
    code, said = look(shop, "approve", said.split()[1], "--to", "project", env=locale)
    assert code == 0, said
    assert "ür „immer“ bun" in (shop / "CLAUDE.md").read_text(encoding="utf-8")
    assert "\\u201e" in said


def test_without_less_the_log_is_simply_printed(run_cli: RunCli, shop: Path, tmp_path: Path) -> None:
    tools = tmp_path / "tools"
    tools.mkdir()
    for name in ("git", "sh", "env"):
        found = subprocess.run(["which", name], capture_output=True, text=True, check=True).stdout.strip()
        (tools / name).symlink_to(found)
    code, shown = look(shop, "log", env={"PATH": str(tools), **PLAIN})
    assert code == 0 and "approved" in shown and "not found" not in shown


def test_on_a_dumb_terminal_nothing_waits_for_a_key(shop: Path) -> None:
    code, shown = look(shop, "log", env={"TERM": "dumb"})
    assert code == 0 and "\x1b" not in shown and "WARNING" not in shown


@pytest.mark.parametrize("setting", ["core.pager", "interactive.diffFilter"])
def test_a_pager_that_rewrites_diffs_changes_no_file(
    run_cli: RunCli, shop: Path, home: Path, tmp_path: Path, setting: str
) -> None:
    """As delta, which people set as git's pager: it replaces the signs at the start of a line."""
    delta = tmp_path / "delta"
    delta.write_text("#!/bin/sh\nsed 's/^[+-]/▌/; s/approved/APPROVED/'\n", encoding="utf-8")
    delta.chmod(0o755)
    section, _, key = setting.partition(".")
    with (home / ".gitconfig").open("a") as config:
        config.write(f"[{section}]\n\t{key} = {delta}\n")
    code, shown = look(shop, "log", env=PLAIN)
    assert code == 0 and "pproved" in shown.lower()
    waiting = run_cli("candidates", "--json", cwd=shop).json()["data"]
    code, shown = look(shop, "approve", waiting[0]["id"], "--to", "project", env=PLAIN)
    assert code == 0, shown
    assert "pnpm" in (shop / "CLAUDE.md").read_text(encoding="utf-8")
    assert "▌" not in (shop / "CLAUDE.md").read_text(encoding="utf-8")
    assert run_cli("audit", cwd=shop).code == 0
