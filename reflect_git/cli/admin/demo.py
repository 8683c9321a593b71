"""Run `reflect-git demo`: the main workflow on sample data, in a temporary home."""

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

from reflect_git import paths
from reflect_git.capture import service
from reflect_git.cli.context import Front
from reflect_git.errors import EXIT_USAGE, ReflectError
from reflect_git.records.ids import utc_precise
from reflect_git.rules import project_files
from reflect_git.store import machines, policy

_SESSION = "5f0c9a52-7d0e-4c7e-9a53-0d3a5c1f2b10"
_SAID = 2  # things worth learning in that session
_PATIENCE, _AFTERWARDS = 120.0, 5.0
_PERSON: Any = {"road": "terminal", "name": "Demo", "email": ""}


@click.command()
@click.option("--keep", is_flag=True, help="Keep the temporary home, to try things out.")
@click.pass_obj
def demo_command(front: Front, keep: bool) -> None:
    """Show everything in a minute, in a temporary home: capture, approve, explain, revert, sync."""
    if front.json:  # as after the verb, where there is no such option
        raise ReflectError("demo has no JSON output", "run it without --json", "usage", EXIT_USAGE)
    home = Path(os.path.realpath(tempfile.mkdtemp(prefix="reflect-git-demo.")))
    try:
        _Tour(front, home).walk()
    finally:
        if not keep:
            shutil.rmtree(home, ignore_errors=True)
    _say(front, "Next steps:")
    if keep:
        programs = os.path.dirname(sys.executable)
        front.out(f"cd '{home}/laptop/webshop' && HOME='{home}/laptop' PATH=\"{programs}:$PATH\" $SHELL")
        front.out("    opens a shell on the demo's laptop; 'exit' leaves it")
    if shutil.which("reflect-git", path=front.env.get("PATH")) is None:
        front.out("pipx install .\n    installs the command; or use: uv tool install .")
    front.out("reflect-git enable\n    adds the hooks to Claude Code (not needed with the plugin)")
    front.out("reflect-git import transcripts --since 30d\n    imports signals from the sessions of the last 30 days")
    front.out("reflect-git review\n    reviews proposed rules one by one")


def _say(front: Front, text: str) -> None:
    front.tell("\n" + click.style(text, bold=True))


class _Tour:
    """On two machines, each a home of its own, that share a bare repository."""

    def __init__(self, front: Front, home: Path) -> None:
        self._front = front
        self._remote = home / "learnings.git"
        self._laptop, self._desktop = home / "laptop", home / "desktop"
        self._home = self._laptop
        start = "import sys; sys.path.insert(0, sys.argv.pop(1)); from reflect_git.cli.start import main; main()"
        self._program = (sys.executable, "-I", "-c", start, os.path.dirname(os.path.dirname(paths.__file__)))

    @property
    def _project(self) -> Path:
        return self._home / "webshop"

    def walk(self) -> None:
        self._notice()
        self._approve()
        self._explain()
        self._share()

    def _notice(self) -> None:
        self._begin()
        self._say("A session: Claude Code uses npm twice, and you correct it: this project uses pnpm.")
        transcript = self._session()
        self._run("mine", str(transcript))
        self._say("A hook stores your words as signals. The proposed rules, and how often each would have applied:")
        self._capture(transcript)
        self._run("candidates")

    def _approve(self) -> None:
        self._say("You approve them in 'reflect-git review' or with /reflect. Here a policy approves without asking:")
        self._switch_unattended()
        first, second = [each["id"] for each in self._ask("candidates")[:2]]
        self._run("approve", first, "--to", "project")
        self._run("approve", second, "--to", "project")

    def _explain(self) -> None:
        self._say("'why' explains every line …")
        self._run("why", f"CLAUDE.md:{self._line('never use npm')}")
        self._say("… and any rule can be reverted, whatever came later.")
        self._run("revert", self._learning("never use npm"))
        self._run("rules")
        self._say("All of it is git history.")
        self._run("log", "-n", "4")

    def _share(self) -> None:
        self._say("Your machines share rules through any private git repository. From the laptop …")
        self._call(["git", "init", "-q", "--bare", str(self._remote)])
        self._run("--yes", "remote", "set", str(self._remote))
        self._say("… to the desktop, which asks once whether the laptop is yours. Here the demo says yes:")
        other = service.open_store(self._env()).machine
        self._home = self._desktop
        self._begin()
        self._run("--yes", "remote", "set", str(self._remote))
        machines.accept(service.open_store(self._env()), [other], _PERSON, utc_precise())
        self._run("sync")
        self._run("rules")

    def _begin(self) -> None:
        self._project.mkdir(parents=True)
        (self._project / "CLAUDE.md").write_text("# Webshop\n\n- Prices are in cents.\n", encoding="utf-8")
        for words in (
            ("init", "-q", "-b", "main", "."),
            ("remote", "add", "origin", "https://example.com/acme/webshop.git"),
            ("config", "--global", "user.name", "Ada"),
        ):
            self._call(["git", *words])

    def _session(self) -> Path:
        """Write a transcript that looks like a session of a few minutes ago. Return its path."""
        folder = project_files.sessions_folder(str(self._project))
        path = self._home / ".claude" / "projects" / folder / f"{_SESSION}.jsonl"
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

    def _capture(self, transcript: Path) -> None:
        """Run the hook until its signals are stored.

        A hook never blocks: on a busy machine it continues in the background, or gives up and leaves the work to the
        next one.
        """
        deadline = time.monotonic() + _PATIENCE
        while time.monotonic() < deadline:
            self._hook("PreCompact", {"trigger": "manual", "transcript_path": str(transcript)})
            later = time.monotonic() + _AFTERWARDS
            while time.monotonic() < later:
                if len(self._ask("candidates")) >= _SAID:
                    return
                time.sleep(0.2)
        raise ReflectError("the hook of the demo stored nothing", "try again when this machine is less busy", "demo")

    def _switch_unattended(self) -> None:
        self._show("reflect-git config approval unattended")
        store = service.open_store(self._env())
        policy.switch(store, {"reflect.approval": "unattended"}, _PERSON, utc_precise())

    def _line(self, words: str) -> int:
        lines = (self._project / "CLAUDE.md").read_text(encoding="utf-8").splitlines()
        return next(number for number, line in enumerate(lines, 1) if words in line.lower())

    def _learning(self, words: str) -> str:
        return next(str(rule["id"]) for rule in self._ask("rules") if words in rule["text"].lower())

    def _env(self) -> Mapping[str, str]:
        own = self._front.env
        return {
            "HOME": str(self._home), "PATH": own.get("PATH", os.defpath), "TMPDIR": str(self._home),
            "TERM": own.get("TERM", "dumb"), "LC_ALL": "C.UTF-8", "GIT_PAGER": "cat", "GIT_CONFIG_NOSYSTEM": "1",
        }  # fmt: skip

    def _say(self, text: str) -> None:
        _say(self._front, text)

    def _show(self, command: str) -> None:
        self._front.out(click.style(f"$ {command}", dim=True))

    def _run(self, *words: str) -> None:
        self._show(" ".join(["reflect-git", *map(self._shortened, words)]))
        sys.stdout.flush()
        color = "always" if self._front.uses_color(sys.stdout.isatty()) else "never"
        self._call([*self._program, "--color", color, *words], shown=True)

    def _shortened(self, word: str) -> str:
        """Shorten a path to the form that a user of that home would see."""
        short = word.replace(project_files.sessions_folder(str(self._project)), "…")
        return short.replace(str(self._home), "~")

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
