"""The client in its own home and project: one print run after another, or its screen under tmux."""

from __future__ import annotations

import itertools
import json
import os
import re
import shlex
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Optional, TypeVar

from tests.e2e.client import VERSION
from tests.e2e.model import Model

Found = TypeVar("Found")

# Shaped like a key: it is in the environment of every tool and every hook, and must not be found in the store.
KEY = "sk-ant-api03-" + "LoopbackOnly" * 8
# Nothing of the developer's: there may be a reflect-git on it, and pyenv's shims do not work in another home.
PATH = "/usr/local/bin:/usr/bin:/bin"
TOOLS = "Bash,Read,Edit,Write,Agent"
RUN_SECONDS = 60
SCREEN_SECONDS = 30.0
COLUMNS, LINES = 150, 50

ERROR_PATTERN = re.compile(r"hook error|hook .*timed out|Hook returned|hook .*failed|non-blocking status")

numbers = itertools.count()


def wait_until(look: Callable[[], Found], seconds: float, what: Callable[[], str]) -> Found:
    """Wait until `look` returns something, and return it."""
    deadline = time.monotonic() + seconds
    while not (found := look()):
        if time.monotonic() > deadline:
            raise AssertionError(f"after {seconds} s: {what()}")
        time.sleep(0.05)
    return found


@dataclass(frozen=True)
class PrintResult:
    """The output of a print run."""

    code: int
    events: list[dict[str, Any]]

    @property
    def session(self) -> str:
        return str(self.events[0]["session_id"])

    def list_hook_events(self, kind: str) -> list[dict[str, Any]]:
        return [event for event in self.events if event.get("subtype") == f"hook_{kind}"]

    @property
    def result(self) -> dict[str, Any]:
        return next(event for event in reversed(self.events) if event["type"] == "result")


@dataclass
class Client:
    """One person's client. `options` are added to every start of it."""

    binary: Path
    model: Model
    home: Path
    project: Path
    options: list[str] = field(default_factory=list)
    env: dict[str, str] = field(default_factory=dict)
    mode: str = "manual"  # the screen's own default is `auto`, which asks a server
    started: list[subprocess.Popen[str]] = field(default_factory=list)

    def prepare(self) -> None:
        """Answer in advance what it would ask at the first start: theme, key, trust in the folder."""
        trusted = {"hasTrustDialogAccepted": True, "hasCompletedProjectOnboarding": True}
        known = {
            "bypassPermissionsModeAccepted": True,
            "hasCompletedOnboarding": True, "lastOnboardingVersion": VERSION, "theme": "dark", "autoUpdates": False,
            "customApiKeyResponses": {"approved": [KEY[-20:]], "rejected": []},
            "projects": {str(self.project): trusted},
        }  # fmt: skip
        (self.home / ".claude.json").write_text(json.dumps(known))

    def build_env(self, more: Optional[Mapping[str, str]] = None) -> dict[str, str]:
        return {
            "HOME": str(self.home), "PATH": PATH, "SHELL": "/bin/sh", "USER": "dev", "LANG": "C.UTF-8",
            "TERM": "xterm-256color", "ANTHROPIC_API_KEY": KEY, "ANTHROPIC_BASE_URL": self.model.url,
            "DISABLE_AUTOUPDATER": "1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "GIT_CONFIG_NOSYSTEM": "1",
            **self.env, **(more or {}),
        }  # fmt: skip

    def build_command(self, *words: str, tools: str = TOOLS) -> list[str]:
        permissions = ["--permission-mode", self.mode, "--allowedTools", tools]
        return [str(self.binary), *words, *self.options, *permissions]

    def run(self, *words: str) -> str:
        """Run `claude plugin …` and similar commands."""
        done = subprocess.run(
            [*self.model.door.prefix, self.binary, *words], cwd=self.project, env=self.build_env(),
            capture_output=True, text=True, timeout=RUN_SECONDS, check=False, stdin=subprocess.DEVNULL,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def start_print(self, prompt: str, *words: str, env: Optional[Mapping[str, str]] = None) -> subprocess.Popen[str]:
        told = ["-p", prompt, "--output-format", "stream-json", "--verbose", "--include-hook-events", *words]
        process = subprocess.Popen(
            [*self.model.door.prefix, *self.build_command(*told)], cwd=self.project, env=self.build_env(env),
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True,
            start_new_session=True,
        )  # fmt: skip
        self.started.append(process)
        return process

    def stop(self) -> None:
        """Stop what a failed test has left running."""
        for process in self.started:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.communicate()

    def run_print(self, prompt: str, *words: str, env: Optional[Mapping[str, str]] = None) -> PrintResult:
        return collect_output(self.start_print(prompt, *words, env=env))

    def open_screen(self, *words: str, tools: str = TOOLS, env: Optional[Mapping[str, str]] = None) -> Screen:
        return Screen(self, self.build_command(*words, tools=tools), self.build_env(env))

    def transcripts(self) -> list[Path]:
        return sorted((self.home / ".claude" / "projects").glob("*/*.jsonl"))


def collect_output(process: subprocess.Popen[str]) -> PrintResult:
    """Collect events with their arrival times: hook events say that one began or ended, but not how long it took."""
    watchdog = threading.Timer(RUN_SECONDS, os.killpg, (process.pid, signal.SIGKILL))
    watchdog.start()
    with process:
        events = [{**json.loads(line), "arrived": time.monotonic()} for line in process.stdout or ()]
    watchdog.cancel()
    return PrintResult(process.returncode, events)


class Screen:
    """The client in a terminal. Every method waits for what is on the screen, never for a time."""

    def __init__(self, client: Client, command: Sequence[str], env: Mapping[str, str]) -> None:
        self.client, self.env = client, dict(env)
        self.tmux = ["tmux", "-f", "/dev/null", "-L", f"reflect-git-{os.getpid()}-{next(numbers)}"]
        # The pane outlives the client, so that its last output can be read.
        self.line = f"{shlex.join(command)}; echo client ended with $?; exec sleep 600"

    def __enter__(self) -> Screen:
        size = ["-x", str(COLUMNS), "-y", str(LINES)]
        start = [*self.tmux, "new-session", "-d", *size, "-c", str(self.client.project), self.line]
        subprocess.run([*self.client.model.door.prefix, *start], env=self.env, check=True)
        try:
            self.expect(r"(?m)^❯")
        except AssertionError:
            self.ask("kill-server")
            raise
        return self

    def __exit__(
        self, kind: Optional[type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        self.ask("kill-server")

    def ask(self, *words: str) -> str:
        done = subprocess.run([*self.tmux, *words], env=self.env, capture_output=True, text=True, check=False)
        return done.stdout

    def text(self) -> str:
        """Return the screen, including what has scrolled away."""
        return self.ask("capture-pane", "-p", "-S", "-2000")

    def expect(self, pattern: str, seconds: float = SCREEN_SECONDS) -> str:
        sought = re.compile(pattern)
        wait_until(lambda: sought.search(self.text()), seconds, lambda: f"no /{pattern}/ on\n{self.text()}")
        return self.text()

    def press(self, *keys: str) -> None:
        self.ask("send-keys", *keys)

    def press_until(self, key: str, pattern: str) -> None:
        """Press a key every second until a pattern appears: an Enter right after another key of a dialog got lost."""
        for _ in range(int(SCREEN_SECONDS)):
            self.press(key)
            try:
                self.expect(pattern, 1)
                return
            except AssertionError:
                continue
        self.expect(pattern, 0)

    def write(self, text: str) -> None:
        """Type a text without sending it, and wait until the client shows it, however it wraps the lines."""
        sought = "".join(text.split())
        before = self._text_without_spaces().count(sought)
        self.ask("send-keys", "-l", text)
        wait_until(
            lambda: self._text_without_spaces().count(sought) > before, SCREEN_SECONDS,
            lambda: f"'{text}' was typed and is not on\n{self.text()}",
        )  # fmt: skip

    def say(self, text: str, answer: str = "") -> None:
        self.write(text)
        self.press("Enter")
        if answer:
            self.expect(answer)

    def choose(self, label: str) -> None:
        """Move down to a line of a dialog, one key at a time."""
        while not (here := self._choice()).startswith(label):
            self.press("Down")
            wait_until(lambda: self._choice() != here, SCREEN_SECONDS, lambda: f"no '{label}' on\n{self.text()}")

    def _choice(self) -> str:
        return str(["", *re.findall(r"❯ \d+\. (.*)", self.text())][-1])

    def exit_client(self) -> None:
        """Leave the client; nothing of ours may be on the screen before or after."""
        self.require_no_errors()
        self.say("/exit")
        self.expect(r"client ended with 0")
        self.require_no_errors()

    def require_no_errors(self) -> None:
        assert not ERROR_PATTERN.search(self.text()), self.text()

    def get_pid(self) -> int:
        """Return the pid of the client itself, not of the shell that waits for it."""
        shell = self.ask("display-message", "-p", "#{pane_pid}").strip()
        return int(Path(f"/proc/{shell}/task/{shell}/children").read_text().split()[0])

    def _text_without_spaces(self) -> str:
        return "".join(self.text().split())
