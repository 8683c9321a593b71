"""What a session wrote into files with its tools and with Bash, as far as its transcript shows the text."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from reflect_git.sitting import shell
from reflect_git.sitting.shell import UNKNOWN, Command

if TYPE_CHECKING:
    from reflect_git.adapters.transcript.calls import ToolCall

_SERVED = "mcp__"  # tools of other programs, such as the editor's, which runs code in a notebook
OURS = ("reflect-git", "git-reflect")
PACKAGE = re.compile(r"reflect_git(?:/(?:__main__|cli/start)\.py)?/?$")
NAMED = re.compile(r"reflect[-_]git|git[-_]reflect", re.IGNORECASE)


@dataclass
class Written:
    """What sessions wrote before a call: files by path and by name, links, and other names for our program.

    `is_armed`: a command of ours was put where another program may run it later; `arms_git`: where git may.
    """

    files: dict[str, str] = field(default_factory=dict)
    names: set[str] = field(default_factory=lambda: set(OURS))
    links: dict[str, str] = field(default_factory=dict)
    is_armed: bool = False
    arms_git: bool = False
    new: list[str] = field(default_factory=list)

    def add(self, path: str, text: str) -> None:
        self.files[path] = self.files[path.rpartition("/")[2]] = text
        self.new.append(path)

    def take_new(self) -> list[str]:
        """Return the files that were written since the last time it was asked."""
        new, self.new = self.new, []
        return new

    def find(self, word: str) -> str | None:
        if not word or UNKNOWN in word:
            return None
        return self.files.get(word) or self.files.get(word.rpartition("/")[2])


def note_writes(command: Command, written: Written) -> None:
    """Remember a file that a command writes, and another name for our program."""
    targets = [target for operator, target in command.redirects if operator in (">", ">>", ">|", "&>")]
    if command.name == "tee":
        targets += [word for word in command.words[1:] if not word.startswith("-")]
    for target in targets:
        text = shell.output_of(command, written.files) if command.name != "tee" else shell.input_of(command)
        before = written.files.get(target, "") if (">>", target) in command.redirects else ""
        written.add(target, before + (text or ""))
    for target in _downloaded_to(command):
        written.add(target, UNKNOWN)
    rest = [word for word in command.words[1:] if not word.startswith("-")]
    if command.name == "ln" and len(rest) > 1:
        written.links[rest[-1]] = rest[0]
    if command.name in ("cp", "mv", "ln", "install") and len(rest) > 1:
        known = written.find(rest[0])
        if known is not None:
            written.add(rest[-1], known)
        # A copy of our package's start is our program as well. A folder keeps the name of what is copied into it.
        name = rest[-1].rpartition("/")[2] or rest[0].rpartition("/")[2]
        if name and (rest[0].rpartition("/")[2] in written.names or PACKAGE.search(rest[0]) or UNKNOWN in rest[0]):
            written.names.add(name)
    if command.name == "alias":
        for word in rest:
            name, _, value = word.partition("=")
            if NAMED.search(value):
                written.names.add(name)


def _downloaded_to(command: Command) -> list[str]:
    """Return the files that a download writes; no transcript has their text."""
    if command.name not in ("curl", "wget"):
        return []
    options = ("-o", "--output") if command.name == "curl" else ("-O", "--output-document")
    named = [word for before, word in zip(command.words, command.words[1:]) if before in options]
    is_by_name = command.name == "wget" or "-O" in command.words or "--remote-name" in command.words
    return named or [word.rpartition("/")[2] for word in command.words[1:] if "://" in word and is_by_name]


def note_edit(call: ToolCall, written: Written) -> None:
    """Remember what an editing tool wrote."""
    path = call.input.get("file_path")
    if not isinstance(path, str):
        return
    edits = call.input.get("edits")
    listed = [call.input, *(one for one in edits if isinstance(one, dict))] if isinstance(edits, list) else [call.input]
    texts = [str(one.get("content") or one.get("new_string") or "") for one in listed]
    before = written.files.get(path, "") if call.tool != "Write" else ""
    written.add(path, "\n".join([before, *texts]).strip("\n"))


def command_of(call: ToolCall) -> str:
    """Return the text that a call has run: that of Bash, and of other tools that take a command or a program."""
    given = call.input.get("command", call.input.get("cmd"))
    if isinstance(given, list):
        return shlex.join(map(str, given))
    if isinstance(given, str):
        return given
    code = call.input.get("code") if call.tool.startswith(_SERVED) else None
    return shlex.join(["python3", "-c", code]) if isinstance(code, str) else ""
