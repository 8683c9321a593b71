"""The main job on sample data, in a throw-away home: nothing outside it is read or written."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from reflect_git import paths, workflow
from reflect_git.cli.front import Front
from reflect_git.errors import ReflectError
from reflect_git.model.ids import utc_precise
from reflect_git.store import policy

_SESSION = "5f0c9a52-7d0e-4c7e-9a53-0d3a5c1f2b10"
_PERSON: Any = {"road": "terminal", "name": "Demo", "email": ""}


@click.command()
@click.option("--keep", is_flag=True, help="Leave the throw-away home, to play with it.")
@click.pass_obj
def command(front: Front, keep: bool) -> None:
    """Show the product in a minute, in a throw-away home: captured, approved, explained, taken back, synced."""
    home = Path(tempfile.mkdtemp(prefix="reflect-git-demo."))
    try:
        _Tour(front, home).walk()
    finally:
        if not keep:
            shutil.rmtree(home, ignore_errors=True)
    if keep:
        front.out(
            f"\nThe home stays: HOME='{home}' PATH='{os.path.dirname(sys.executable)}:'\"$PATH\" reflect-git status"
        )
    front.out("\nNext: 'reflect-git enable' or the plugin for your own sessions, then 'reflect-git review'.")


class _Tour:
    def __init__(self, front: Front, home: Path) -> None:
        self._front = front
        self._home = home
        self._project = home / "webshop"
        start = "import sys; sys.path.insert(0, sys.argv.pop(1)); from reflect_git.cli.app import main; main()"
        self._program = (sys.executable, "-I", "-c", start, os.path.dirname(os.path.dirname(paths.__file__)))

    def walk(self) -> None:
        self._begin()
        self._say("A session: Claude Code uses npm twice, and is told twice that this project uses pnpm.")
        transcript = self._session()
        self._run("mine", str(transcript))
        self._say("A hook of Claude Code mines it, silently. What waits, with how often it would have applied:")
        self._hook("PreCompact", {"trigger": "manual", "transcript_path": str(transcript)})
        self._run("candidates")
        self._say(
            "You answer in 'reflect-git review' or with /reflect. Here a policy answers, so that nobody is asked:"
        )
        self._switch_unattended()
        first, second = [each["id"] for each in self._ask("candidates")[:2]]
        self._run("approve", first, "--to", "project")
        self._run("approve", second, "--to", "project")
        self._say("Every line has a story …")
        self._run("why", f"CLAUDE.md:{self._line('pnpm')}")
        self._say("… and anything can be taken back, whatever came later.")
        self._run("revert", self._ask("rules")[0]["id"])
        self._run("rules")
        self._say("All of it is git history.")
        self._run("log", "-n", "4")

    def _begin(self) -> None:
        self._project.mkdir()
        (self._project / "CLAUDE.md").write_text("# Webshop\n\n- Prices are in cents.\n", encoding="utf-8")
        for words in (
            ("init", "-q", "-b", "main", "."),
            ("remote", "add", "origin", "https://example.com/acme/webshop.git"),
        ):
            self._call(["git", *words])

    def _session(self) -> Path:
        """A transcript as the client writes it, of a few minutes ago."""
        path = self._home / ".claude" / "projects" / "-webshop" / f"{_SESSION}.jsonl"
        path.parent.mkdir(parents=True)
        with open(paths.resource("templates", "demo", "session.jsonl"), encoding="utf-8") as file:
            lines = [json.loads(line) for line in file]
        began = time.time() - 600
        for number, entry in enumerate(lines):
            entry |= {
                "uuid": f"entry-{number}", "sessionId": _SESSION, "cwd": str(self._project), "version": "2.1.325",
                "timestamp": utc_precise(began + 20 * number), "isSidechain": False,
            }  # fmt: skip
        path.write_text("".join(f"{json.dumps(entry)}\n" for entry in lines), encoding="utf-8")
        return path

    def _switch_unattended(self) -> None:
        self._show("reflect-git config approval unattended")
        store = workflow.open_store(self._env())
        policy.switch(store, {"reflect.approval": "unattended"}, _PERSON, utc_precise())

    def _line(self, word: str) -> int:
        lines = (self._project / "CLAUDE.md").read_text(encoding="utf-8").splitlines()
        return next(number for number, line in enumerate(lines, 1) if word in line)

    def _env(self) -> Mapping[str, str]:
        own = self._front.env
        return {
            "HOME": str(self._home), "PATH": own.get("PATH", os.defpath), "TMPDIR": str(self._home),
            "TERM": own.get("TERM", "dumb"), "LC_ALL": "C.UTF-8", "GIT_PAGER": "cat", "GIT_CONFIG_NOSYSTEM": "1",
        }  # fmt: skip

    def _say(self, text: str) -> None:
        self._front.out("\n" + click.style(text, bold=True))

    def _show(self, command: str) -> None:
        self._front.out(click.style(f"$ {command}", dim=True))

    def _run(self, *words: str) -> None:
        self._show(" ".join(["reflect-git", *words]).replace(str(self._home), "~"))
        sys.stdout.flush()
        color = "always" if self._front.uses_color(sys.stdout.isatty()) else "never"
        self._call([*self._program, "--color", color, *words], shown=True)

    def _ask(self, *words: str) -> Any:
        return json.loads(self._call([*self._program, *words, "--json"]))["data"]

    def _hook(self, event: str, given: Mapping[str, str]) -> None:
        facts = {"session_id": _SESSION, "hook_event_name": event, "cwd": str(self._project), **given}
        self._call(["/bin/sh", paths.resource("hooks", "launch.sh"), event], json.dumps(facts))

    def _call(self, command: list[str], given: str = "", shown: bool = False) -> str:
        done = subprocess.run(
            command, input=given, cwd=self._project, env=self._env(), text=True, check=False,
            stdout=None if shown else subprocess.PIPE,
        )  # fmt: skip
        if done.returncode:
            raise ReflectError(f"the demo stopped at '{command[-1]}'", "run 'reflect-git doctor'", code="demo")
        return done.stdout or ""
