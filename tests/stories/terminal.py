"""A person at a terminal: what they see, screen by screen, and what they type."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import struct
import termios
import time
from collections.abc import Mapping
from difflib import unified_diff
from pathlib import Path
from textwrap import dedent

from tests import fork_server
from tests.conftest import REPO

TIMEOUT = 60.0
_ID = re.compile(r"\b(SIG|LRN|DEC)-[0-9]{8}-[0-9a-z]{8}\b")
_COMMIT = re.compile(r"\bcommit [0-9a-f]{10}\b")
_AGO = re.compile(r"\b[0-9]+ minutes? ago")


class Terminal:
    """A terminal of 80 columns. Ids are shown as SIG-1, LRN-1 … in order of appearance; `ids` maps them."""

    def __init__(self, *arguments: str, cwd: Path, env: Mapping[str, str] | None = None) -> None:
        primary, secondary = pty.openpty()
        fcntl.ioctl(secondary, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 80, 0, 0))
        environment = {**os.environ, "PYTHONPATH": str(REPO), "PYTHONSAFEPATH": "1", **(env or {})}
        self._child = fork_server.start(("cli", *arguments), (secondary,) * 3, environment, cwd, terminal=True)
        os.close(secondary)
        self._primary = primary
        self._unseen = b""
        self.ids: dict[str, str] = {}

    def __enter__(self) -> Terminal:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        if self._child.poll() is None:
            self._child.kill()
            self._child.wait()
        if self._primary >= 0:
            os.close(self._primary)
            self._primary = -1

    def sees(self, screen: str) -> None:
        """Expect everything since the last key, up to the question at the end."""
        expected = _strip_style(dedent(screen).strip("\n"))
        deadline = time.monotonic() + TIMEOUT
        while True:
            seen = self._replace_varying_parts(_strip_style(self._unseen.decode("utf-8", "replace")))
            if seen.strip("\n").endswith(expected.rpartition("\n")[2]) or not self._read(deadline):
                break
        self._unseen = b""
        _compare(seen.strip("\n"), expected)

    def passes(self, question: str) -> str:
        """Skip everything up to this question; return it."""
        deadline = time.monotonic() + TIMEOUT
        while not _strip_style(self._unseen.decode("utf-8", "replace")).endswith(question) and self._read(deadline):
            pass
        seen = self._replace_varying_parts(_strip_style(self._unseen.decode("utf-8", "replace")))
        self._unseen = b""
        assert seen.endswith(question), seen
        return seen

    def types(self, text: str) -> None:
        """Type a line and Enter; the terminal's echo is not part of the next screen."""
        os.write(self._primary, f"{text}\n".encode())
        self._expect_echo(text)

    def presses(self, key: str) -> None:
        """Press a key without Enter; the program shows it itself."""
        os.write(self._primary, key.encode())
        self._expect_echo(key)

    def writes(self, text: str) -> None:
        """Write just these bytes."""
        os.write(self._primary, text.encode())

    def sends(self, code: str) -> None:
        """Send ^C or ^D."""
        os.write(self._primary, bytes([ord(code) & 0x1F]))

    def exits_with(self, screen: str, code: int = 0) -> None:
        """Expect this last screen and this exit code."""
        deadline = time.monotonic() + TIMEOUT
        while self._read(deadline):
            pass
        seen = self._replace_varying_parts(_strip_style(self._unseen.decode("utf-8", "replace")))
        _compare(seen.strip("\n"), _strip_style(dedent(screen).strip("\n")))
        assert self._child.wait(TIMEOUT) == code

    def ends(self, code: int = 0) -> str:
        """Return all output until the program ends with this exit code."""
        deadline = time.monotonic() + TIMEOUT
        while self._read(deadline):
            pass
        assert self._child.wait(TIMEOUT) == code, self._unseen
        return self._unseen.decode("utf-8")

    def _expect_echo(self, text: str) -> None:
        echo, deadline = f"{text}\n".replace("\n", "\r\n").encode(), time.monotonic() + TIMEOUT
        while len(self._unseen) < len(echo) and self._read(deadline):
            pass
        assert self._unseen.startswith(echo), self._unseen
        self._unseen = self._unseen[len(echo) :]

    def _read(self, deadline: float) -> bool:
        ready, _, _ = select.select([self._primary], [], [], max(0.0, deadline - time.monotonic()))
        try:
            chunk = os.read(self._primary, 65536) if ready else b""
        except OSError:  # EIO: the program has ended
            chunk = b""
        self._unseen += chunk
        return bool(chunk)

    def _replace_varying_parts(self, text: str) -> str:
        """Return a text without run-specific parts."""
        self.ids = {}
        return _AGO.sub("a moment ago", _COMMIT.sub("commit 0123456789", _ID.sub(self._number_id, text)))

    def _number_id(self, match: re.Match[str]) -> str:
        known = [name for name, identity in self.ids.items() if identity == match[0]]
        if known:
            return known[0]
        name = f"{match[1]}-{sum(each.startswith(match[1]) for each in self.ids) + 1}"
        self.ids[name] = match[0]
        return name


def _compare(seen: str, expected: str) -> None:
    changes = "\n".join(unified_diff(expected.split("\n"), seen.split("\n"), "expected", "seen", lineterm=""))
    assert seen == expected, f"another screen:\n{changes}"


def _strip_style(text: str) -> str:
    return "\n".join(line.rstrip() for line in text.replace("\r\n", "\n").split("\n"))
