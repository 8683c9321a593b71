"""The program as it was at 0.1.0, run from this repository's history: it makes the stores that are upgraded."""

from __future__ import annotations

import io
import json
import os
import pty
import select
import subprocess
import sys
import tarfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import REAL_GIT, REPO

COMMIT = "5a83e1d640621c8a5362612adb3a27446c44e74a"  # the last one of 0.1.0
# One process for many commands: each in a fork, as a new process would run it.
_RUN = """
import json, os, sys
sys.argv[0] = "reflect-git"
from reflect_git.cli import start
try:
    from reflect_git.cli import app
except ImportError:
    pass
codes = []
for words in json.load(open(sys.argv[1])):
    child = os.fork()
    if not child:
        sys.argv[1:] = words
        start.main()
        os._exit(70)
    codes.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
sys.stdout.flush()
os._exit(max(codes, key=abs) % 256)
"""


class OldProgram:
    """0.1.0 on one machine, with a home folder of its own."""

    def __init__(self, tree: Path, home: Path) -> None:
        self.tree, self.home = tree, home
        self.store = home / ".claude" / "reflections"
        self.folder = home / "shop"

    def create_home(self) -> None:
        """Make a home with settings of Claude Code, a project and a name."""
        (self.home / ".claude").mkdir(parents=True, exist_ok=True)
        (self.home / ".claude" / "settings.json").write_text('{"model": "opus"}\n')
        (self.home / ".gitconfig").write_text("[user]\n\tname = Ada\n\temail = ada@example.org\n")
        self.folder.mkdir()
        for words in (("init", "-q", "-b", "main"), ("remote", "add", "origin", "https://example.org/ada/shop.git")):
            subprocess.run([REAL_GIT, "-C", self.folder, *words], check=True, env=self._env({}))
        (self.folder / "CLAUDE.md").write_bytes(b"# Shop\r\n\r\n- be brief")

    def _env(self, more: dict[str, str]) -> dict[str, str]:
        return {
            "HOME": str(self.home), "PATH": os.environ["PATH"], "PYTHONPATH": str(self.tree), "PYTHONSAFEPATH": "1",
            "LC_ALL": "C.UTF-8", "GIT_CONFIG_NOSYSTEM": "1", "TMPDIR": str(self.home.parent), **more,
        }  # fmt: skip

    def run_all(self, commands: Sequence[Sequence[str]], code: int = 0, **more: str) -> str:
        """Run commands one after the other; return what they printed."""
        listed = self.home.parent / "commands.json"
        listed.write_text(json.dumps([list(words) for words in commands]))
        done = subprocess.run(
            [sys.executable, "-c", _RUN, str(listed)], env=self._env(more), cwd=self.folder, capture_output=True,
            text=True, check=False,
        )  # fmt: skip
        assert done.returncode == code, done.stderr[-2000:]
        return done.stdout

    def run(self, *words: str, **more: str) -> str:
        return self.run_all([words], 0, **more)

    def read_json(self, *words: str) -> Any:
        return json.loads(self.run(*words, "--json"))["data"]

    def kill(self, number: int, *words: str) -> None:
        """Kill a command at a side effect."""
        self.run_all([words], 247, REFLECT_GIT_FAULT=f"kill:{number}")

    def answer(self, *words: str, answer: bytes = b"yes\n") -> str:
        """Run a command at a terminal and answer its only question."""
        child, terminal = pty.fork()
        if not child:
            os.chdir(self.folder)
            command = [sys.executable, "-c", _RUN, str(self._write_commands(words))]
            os.execve(sys.executable, command, self._env({}))
        seen, answered = b"", False
        while select.select([terminal], [], [], 60)[0]:
            try:
                seen += os.read(terminal, 4096)
            except OSError:
                break
            if b"[y/N]" in seen and not answered:
                os.write(terminal, answer)
                answered = True
        assert os.waitpid(child, 0)[1] == 0, seen.decode()
        os.close(terminal)
        return seen.decode()

    def _write_commands(self, words: Sequence[str]) -> Path:
        listed = self.home.parent / "command.json"
        listed.write_text(json.dumps([list(words)]))
        return listed

    def say(self, texts: Sequence[str], session: str) -> None:
        """Write a transcript in which a person typed these texts, and import it."""
        place = self.home / ".claude" / "projects" / "-shop"
        place.mkdir(parents=True, exist_ok=True)
        lines: list[dict[str, Any]] = []
        for number, text in enumerate(texts):
            answer = [{"type": "text", "text": "I used it."}]
            for role, content in (("assistant", answer), ("user", text)):
                own = f"{session[:8]}-{number}-{role}"
                more = {"promptSource": "typed", "origin": {"kind": "human"}} if role == "user" else {}
                model = {"model": "claude-x"} if role == "assistant" else {}
                lines.append({
                    "parentUuid": lines[-1]["uuid"] if lines else None, "type": role, "uuid": own, "sessionId": session,
                    "isSidechain": False, "cwd": str(self.folder), "version": "2.1.325", "entrypoint": "cli",
                    "timestamp": f"2026-11-10T{10 + number // 3600:02d}:{number // 60 % 60:02d}:{number % 60:02d}.000Z",
                    "message": {"role": role, "content": content, **model}, **more,
                })  # fmt: skip
        (place / f"{session}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
        self.run("import", "transcripts")

    def list_journal(self) -> list[str]:
        return [name for name in os.listdir(self.store / ".git" / "reflect" / "journal") if name[0] != "."]


@pytest.fixture(scope="session")
def old_tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the files of 0.1.0; skip in an archive or a shallow clone, which have no history."""
    wanted = ("reflect_git", "hooks", "templates", "bin")
    command = [REAL_GIT, "-C", str(REPO), "archive", COMMIT, *wanted]
    done = subprocess.run(command, capture_output=True, check=False)
    if done.returncode:
        pytest.skip("NOT CHECKED: this is no clone with history")
    tree = tmp_path_factory.mktemp("old")
    with tarfile.open(fileobj=io.BytesIO(done.stdout)) as archive:
        archive.extractall(tree, filter="data")
    return tree
