"""A Claude Code session in which a person is asked what `candidates --ask` prints, as the client records it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from reflect_git.records.ids import utc_precise
from tests.conftest import Result, RunCli
from tests.faults import git
from tests.sessions import Session

CORRECTION = "no, never use npm in this project, always use pnpm instead"


class AskedSession:
    """A session. `ask` and `answer` are what the model and the person do; `run` is the model at its shell."""

    def __init__(self, run_cli: RunCli, home: Path, project: Path, name: str = "") -> None:
        self.session = Session(home, name, cwd=str(project))
        self.run_cli, self.home, self.project = run_cli, home, project
        self.marks = {"CLAUDECODE": "1", "CLAUDE_CODE_SESSION_ID": self.session.name}

    def start(self, *words: str) -> AskedSession:
        self.session.run_hook("SessionStart", source="startup", env={"CLAUDE_PROJECT_DIR": str(self.project)})
        self.session.write_sample_work()
        for said in words or (CORRECTION,):
            self.session.say(said)
            self.session.answer("As you wish.")
        return self

    def run(self, *words: str, **env: str) -> Result:
        return self.run_cli(*words, cwd=self.project, env={**self.marks, **env})

    def get_first_question(self, *words: str) -> dict[str, Any]:
        """Return the first question that the program prints."""
        shown = self.run("candidates", "--ask", *words)
        assert shown.code == 0, shown.out + shown.err
        question: dict[str, Any] = shown.json()["data"]["questions"][0]
        return question

    def answer(
        self, question: dict[str, Any], label: str, call: str = "toolu_1", *, when: str = "", hooked: bool = True,
        recorded: bool = True, beside: Sequence[dict[str, Any]] = (), notes: dict[str, Any] | None = None,
        **more: Any,
    ) -> None:  # fmt: skip
        """Answer as the person: the client records it and calls the hook. `more` is other input of the call."""
        asked = [question, *beside]
        labels = {one["question"]: label for one in asked}
        answers = {"questions": asked, "answers": labels, "annotations": notes or {}}
        moment = when or utc_precise()
        if recorded:
            block = {"type": "tool_use", "id": call, "name": "AskUserQuestion", "input": {"questions": asked, **more}}
            content = {"role": "assistant", "model": "claude-x", "content": [block]}
            call_entry = self.session.write("assistant", message=content, timestamp=moment)
            result = {"type": "tool_result", "tool_use_id": call, "content": "answered"}
            said = {"role": "user", "content": [result]}
            links = {"sourceToolAssistantUUID": call_entry, "toolUseResult": answers}
            self.session.write("user", message=said, timestamp=moment, **links)
        if hooked:
            self.session.run_hook("PostToolUse", tool_name="AskUserQuestion", tool_use_id=call, tool_response=answers)

    def get_state(self) -> tuple[str, dict[str, bytes]]:
        """Return what an approval changes: main, and every instruction file."""
        store = self.home / ".claude" / "reflections"
        listed = [self.home / ".claude" / "CLAUDE.md", *self.project.glob("*"), *self.project.glob(".claude/**/*")]
        files = {str(path): path.read_bytes() for path in listed if path.is_file()}
        return git(store, "rev-parse", "main").strip(), files


def get_subject(question: dict[str, Any]) -> str:
    head = str(question["question"]).partition("\n")[0]
    return head[head.index("[") + 1 : -1]
