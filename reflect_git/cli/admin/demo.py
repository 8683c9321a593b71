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
from reflect_git.cli.context import CliContext
from reflect_git.errors import EXIT_USAGE, ReflectError
from reflect_git.guards import table
from reflect_git.records.ids import utc_precise
from reflect_git.store import machines, policy

_SESSION = "5f0c9a52-7d0e-4c7e-9a53-0d3a5c1f2b10"
_EXPECTED_SIGNALS = 2  # things worth learning in that session
_CAPTURE_TIMEOUT, _HOOK_SECONDS = 120.0, 5.0
_DEMO_USER: Any = {"road": "terminal", "name": "Demo", "email": ""}


@click.command()
@click.option("--keep", is_flag=True, help="Keep the temporary home, to try things out.")
@click.pass_obj
def demo_command(cli: CliContext, keep: bool) -> None:
    """Show everything in a minute, in a temporary home: capture, approve, guard, explain, revert, sync."""
    if cli.json:  # as after the verb, where there is no such option
        raise ReflectError("demo has no JSON output", "run it without --json", "usage", EXIT_USAGE)
    home = Path(os.path.realpath(tempfile.mkdtemp(prefix="reflect-git-demo.")))
    try:
        _Demo(cli, home).run()
    finally:
        if not keep:
            shutil.rmtree(home, ignore_errors=True)
    _print_heading(cli, "Next steps:")
    if keep:
        programs = os.path.dirname(sys.executable)
        cli.print_line(f"cd '{home}/laptop/webshop' && HOME='{home}/laptop' PATH=\"{programs}:$PATH\" $SHELL")
        cli.print_line("    opens a shell on the demo's laptop; 'exit' leaves it")
    if shutil.which("reflect-git", path=cli.env.get("PATH")) is None:
        cli.print_line("pipx install .\n    installs the command; or use: uv tool install .")
    cli.print_line("reflect-git enable\n    adds the hooks to Claude Code (not needed with the plugin)")
    cli.print_line(
        "reflect-git import transcripts --since 30d\n    imports signals from the sessions of the last 30 days"
    )
    cli.print_line("reflect-git review\n    reviews proposed rules one by one")


def _print_heading(cli: CliContext, text: str) -> None:
    cli.print_text("\n" + click.style(text, bold=True))


class _Demo:
    """On two machines, each a home of its own, that share a bare repository."""

    def __init__(self, cli: CliContext, home: Path) -> None:
        self._cli = cli
        self._remote = home / "learnings.git"
        self._laptop, self._desktop = home / "laptop", home / "desktop"
        self._home = self._laptop
        start = "import sys; sys.path.insert(0, sys.argv.pop(1)); from reflect_git.cli.start import main; main()"
        self._program = (sys.executable, "-I", "-c", start, os.path.dirname(os.path.dirname(paths.__file__)))

    @property
    def _project(self) -> Path:
        return self._home / "webshop"

    def run(self) -> None:
        self._show_capture()
        self._show_approval()
        self._show_guard()
        self._show_history()
        self._show_sync()

    def _show_capture(self) -> None:
        self._create_project()
        self._print_heading("A session: Claude Code uses npm twice, and you correct it: this project uses pnpm.")
        transcript = self._write_session()
        self._run_shown("mine", str(transcript))
        self._print_heading(
            "A hook stores your words as signals. The proposed rules, and how often each would have applied:"
        )
        self._run_capture_hook(transcript)
        self._run_shown("candidates")

    def _show_approval(self) -> None:
        self._print_heading(
            "You approve them in 'reflect-git review' or with /reflect. Here a policy approves without asking:"
        )
        self._allow_unattended()
        first, second = [each["id"] for each in self._run_json("candidates")[:2]]
        self._run_shown("approve", first, "--to", "project")
        self._run_shown("approve", second, "--to", "project")

    def _show_guard(self) -> None:
        self._print_heading("Claude may still forget a rule. A guard enforces it, tested on past calls first:")
        self._run_shown("guard", "PROJ-001", "--mode", "deny")
        call = "cd web && npm install zod"
        self._print_heading(f"Claude wants to run '{call}'. It does not run, and Claude reads:")
        event = {
            "hook_event_name": "PreToolUse", "session_id": _SESSION, "cwd": str(self._project), "tool_name": "Bash",
            "tool_input": {"command": call}, "transcript_path": "",
        }  # fmt: skip
        script = table.get_script_path(service.open_store(self._build_env()).git_dir)
        answer = json.loads(self._run_process([script], json.dumps(event)))["hookSpecificOutput"]
        for line in answer["permissionDecisionReason"].splitlines():
            self._cli.print_text(f"    {line}", hang=4)
        self._run_shown("guards")

    def _show_history(self) -> None:
        self._print_heading("'why' explains every line …")
        self._run_shown("why", f"CLAUDE.md:{self._find_line_number('never use npm')}")
        self._print_heading("… and any rule can be reverted, with its guard, whatever came later.")
        self._run_shown("revert", self._find_rule_id("never use npm"))
        self._run_shown("rules")
        self._print_heading("All of it is git history.")
        self._run_shown("log", "-n", "4")

    def _show_sync(self) -> None:
        self._print_heading("Your machines share rules through any private git repository. From the laptop …")
        self._run_process(["git", "init", "-q", "--bare", str(self._remote)])
        self._run_shown("--yes", "remote", "set", str(self._remote))
        self._print_heading("… to the desktop, which asks once whether the laptop is yours. Here the demo says yes:")
        other = service.open_store(self._build_env()).machine
        self._home = self._desktop
        self._create_project()
        self._run_shown("--yes", "remote", "set", str(self._remote))
        machines.accept_machines(service.open_store(self._build_env()), [other], _DEMO_USER, utc_precise())
        self._run_shown("sync")
        self._run_shown("rules")

    def _create_project(self) -> None:
        self._project.mkdir(parents=True)
        (self._project / "CLAUDE.md").write_text("# Webshop\n\n- Prices are in cents.\n", encoding="utf-8")
        for words in (
            ("init", "-q", "-b", "main", "."),
            ("remote", "add", "origin", "https://example.com/acme/webshop.git"),
            ("config", "--global", "user.name", "Ada"),
        ):
            self._run_process(["git", *words])

    def _write_session(self) -> Path:
        """Write a transcript that looks like a session of a few minutes ago. Return its path."""
        folder = paths.sessions_folder(str(self._project))
        path = self._home / ".claude" / "projects" / folder / f"{_SESSION}.jsonl"
        path.parent.mkdir(parents=True)
        with open(paths.resource_path("templates", "demo", "session.jsonl"), encoding="utf-8") as file:
            lines = [json.loads(line) for line in file]
        began = time.time() - 600
        for number, entry in enumerate(lines):
            entry |= {
                "uuid": f"entry-{number}", "sessionId": _SESSION, "cwd": str(self._project), "version": "2.1.325",
                "timestamp": utc_precise(began + 20 * number), "isSidechain": False,
            }  # fmt: skip
        path.write_text("".join(f"{json.dumps(entry)}\n" for entry in lines), encoding="utf-8")
        return path

    def _run_capture_hook(self, transcript: Path) -> None:
        """Run the hook until its signals are stored.

        A hook never blocks: on a busy machine it continues in the background, or gives up and leaves the work to the
        next one.
        """
        deadline = time.monotonic() + _CAPTURE_TIMEOUT
        while time.monotonic() < deadline:
            self._run_hook("PreCompact", {"trigger": "manual", "transcript_path": str(transcript)})
            later = time.monotonic() + _HOOK_SECONDS
            while time.monotonic() < later:
                if len(self._run_json("candidates")) >= _EXPECTED_SIGNALS:
                    return
                time.sleep(0.2)
        raise ReflectError("the hook of the demo stored nothing", "try again when this machine is less busy", "demo")

    def _allow_unattended(self) -> None:
        self._print_command("reflect-git config approval unattended")
        store = service.open_store(self._build_env())
        policy.set_policies(store, {"reflect.approval": "unattended"}, _DEMO_USER, utc_precise())

    def _find_line_number(self, words: str) -> int:
        lines = (self._project / "CLAUDE.md").read_text(encoding="utf-8").splitlines()
        return next(number for number, line in enumerate(lines, 1) if words in line.lower())

    def _find_rule_id(self, words: str) -> str:
        return next(str(rule["id"]) for rule in self._run_json("rules") if words in rule["text"].lower())

    def _build_env(self) -> Mapping[str, str]:
        own = self._cli.env
        return {
            "HOME": str(self._home), "PATH": own.get("PATH", os.defpath), "TMPDIR": str(self._home),
            "TERM": own.get("TERM", "dumb"), "LC_ALL": "C.UTF-8", "GIT_PAGER": "cat", "GIT_CONFIG_NOSYSTEM": "1",
        }  # fmt: skip

    def _print_heading(self, text: str) -> None:
        _print_heading(self._cli, text)

    def _print_command(self, command: str) -> None:
        self._cli.print_line(click.style(f"$ {command}", dim=True))

    def _run_shown(self, *words: str) -> None:
        self._print_command(" ".join(["reflect-git", *map(self._shorten_path, words)]))
        sys.stdout.flush()
        color = "always" if self._cli.uses_color(sys.stdout.isatty()) else "never"
        self._run_process([*self._program, "--color", color, *words], shown=True)

    def _shorten_path(self, word: str) -> str:
        """Shorten a path to the form that a user of that home would see."""
        short = word.replace(paths.sessions_folder(str(self._project)), "…")
        return short.replace(str(self._home), "~")

    def _run_json(self, *words: str) -> Any:
        return json.loads(self._run_process([*self._program, *words, "--json"]))["data"]

    def _run_hook(self, event: str, given: Mapping[str, str]) -> None:
        facts = {"session_id": _SESSION, "hook_event_name": event, "cwd": str(self._project), **given}
        self._run_process(["/bin/sh", paths.resource_path("hooks", "launch.sh"), event], json.dumps(facts))

    def _run_process(self, command: list[str], given: str = "", shown: bool = False) -> str:
        done = subprocess.run(
            command, input=given, cwd=self._project, env=self._build_env(), text=True, check=False,
            stdout=None if shown else subprocess.PIPE,
        )  # fmt: skip
        if done.returncode:
            raise ReflectError(f"the demo stopped at '{command[-1]}'", "run 'reflect-git doctor'", code="demo")
        return done.stdout or ""
