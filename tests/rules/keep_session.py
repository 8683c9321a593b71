"""A session in which a person answers /keep, as the client and the mod of the plugin record it."""

from __future__ import annotations

from typing import Any

from reflect_git.records.ids import utc_precise
from tests.rules.client_session import AskedSession


class KeepSession(AskedSession):
    """`ask` is the mod asking for questions, `call_hook` and `print_answers` are what the client does after answers."""

    def ask(self, *words: str) -> dict[str, Any]:
        shown = self.run("keep", "--ask", "--json", *words)
        assert shown.code == 0, shown.out + shown.err
        data: dict[str, Any] = shown.json()["data"]
        return data

    def call_hook(self, question: dict[str, Any], label: str, call: str = "toolu_plugin_1", **changed: Any) -> None:
        """Report an answer to the hook, as the client does while the dialog closes."""
        options = [{"label": one, "description": ""} for one in question["labels"]]
        shown = {"question": question["question"], "header": question["header"], "options": options, **changed}
        answers = {"questions": [{**shown, "multiSelect": False}], "answers": {shown["question"]: label}}
        self.session.run_hook(
            "PostToolUse", tool_name="AskUserQuestion", tool_use_id=call, tool_response=answers,
            env={"CLAUDE_PROJECT_DIR": str(self.project)},
        )  # fmt: skip

    def print_answers(self, *lines: str, plugin: str = "reflect-git", **typed: Any) -> None:
        """Write the two rows of a typed command: the command, and its output."""
        now = utc_precise()
        command = "<command-name>/keep</command-name>\n            <command-message>keep</command-message>"
        row = self.write_system(content=command, timestamp=now, **typed)
        printed = "\n".join(lines)
        self.write_system(
            content=f"<local-command-stdout>{plugin}: {printed}</local-command-stdout>", timestamp=now, parentUuid=row,
            commandRun={"command": "keep", "args": "", "plugin": plugin},
        )  # fmt: skip

    def write_system(self, **fields: Any) -> str:
        """Write a row that continues the conversation without a message."""
        self.session.last = self.session.write("system", **{"subtype": "local_command", "level": "info", **fields})
        return self.session.last

    def answer_kept(self, question: dict[str, Any], label: str, call: str = "toolu_plugin_1") -> None:
        """Answer as the person, and let the command end."""
        self.call_hook(question, label, call)
        self.print_answers(f"{question['number']}: {label}")
