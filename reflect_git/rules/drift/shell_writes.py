"""Collect what a session wrote into files with its tools and with Bash, as far as its transcript shows the text."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from reflect_git.capture.transcript.calls import ToolCall, read_tool_calls
from reflect_git.rules.drift import shell
from reflect_git.rules.drift.shell import UNKNOWN, Command

_IN_PLACE_EDITORS = frozenset(("sed", "perl", "ruby", "yq", "awk", "gawk"))
_COPY_COMMANDS = ("cp", "mv", "install")
_MCP_PREFIX = "mcp__"  # tools of other programs, such as the editor, which can run code in a notebook
OUR_PROGRAMS = ("reflect-git", "git-reflect")
OUR_PACKAGE = re.compile(r"reflect_git(?:/(?:__main__|cli/start)\.py)?/?$")
OUR_NAME = re.compile(r"reflect[-_]git|git[-_]reflect", re.IGNORECASE)


@dataclass
class SessionWrites:
    """The writes of sessions before a call: files by path and by name, links, and other names of our program.

    `has_stored_command`: a command of ours was put where another program may run it later. `changes_git_programs`:
    where git may.
    """

    files: dict[str, str] = field(default_factory=dict)
    names: set[str] = field(default_factory=lambda: set(OUR_PROGRAMS))
    links: dict[str, str] = field(default_factory=dict)
    has_stored_command: bool = False
    changes_git_programs: bool = False
    new: list[str] = field(default_factory=list)

    def add(self, path: str, text: str) -> None:
        self.files[path] = self.files[path.rpartition("/")[2]] = text
        self.new.append(path)

    def pop_new(self) -> list[str]:
        """Return the files written since the last call of this method."""
        new, self.new = self.new, []
        return new

    def find_text(self, word: str) -> str | None:
        if not word or UNKNOWN in word:
            return None
        return self.files.get(word) or self.files.get(word.rpartition("/")[2])


def record_writes(command: Command, written: SessionWrites) -> None:
    """Record the files that a command writes, and other names it gives to our program."""
    targets = [target for operator, target in command.redirects if operator in (">", ">>", ">|", "&>")]
    if command.name == "tee":
        targets += [word for word in command.words[1:] if not word.startswith("-")]
    for target in targets:
        given = shell.input_of(command, written.files)
        text = given or "" if command.name == "tee" else shell.output_of(command, written.files)
        before = written.files.get(target, "") if (">>", target) in command.redirects else ""
        written.add(target, before + text + _get_inserted_text(command))
    for target in _find_downloads(command):
        written.add(target, UNKNOWN)
    _record_changes(command, written)
    rest = [word for word in command.words[1:] if not word.startswith("-")]
    if command.name == "install" and {"-m", "-o", "-g"} & set(command.words):
        rest = rest[-2:]
    if len(rest) > 1 and (
        command.name == "ln" or (command.name in _COPY_COMMANDS and rest[0].endswith("hooks/store.py"))
    ):
        written.links[rest[-1]] = rest[0]  # a copy of a program is the program
    if command.name in ("cp", "mv", "ln", "install") and len(rest) > 1:
        known = written.find_text(rest[0])
        if known is not None:
            written.add(rest[-1], known)
        # A copy of our package's entry point is our program as well. A folder keeps the name of what is copied into it.
        name = rest[-1].rpartition("/")[2] or rest[0].rpartition("/")[2]
        if name and (rest[0].rpartition("/")[2] in written.names or OUR_PACKAGE.search(rest[0]) or UNKNOWN in rest[0]):
            written.names.add(name)
    if command.name == "alias":
        for word in rest:
            name, _, value = word.partition("=")
            if OUR_NAME.search(value):
                written.names.add(name)


def _record_changes(command: Command, written: SessionWrites) -> None:
    """Record what a command adds to an existing file, by editing it in place or by a patch."""
    rest = [word for word in command.words[1:] if not word.startswith("-")]
    if (
        command.name in _IN_PLACE_EDITORS
        and any(re.match(r"-\w*i|--in-?place", word) for word in command.words[1:])
        and rest
    ):
        written.add(rest[-1], f"{written.find_text(rest[-1]) or ''}\n{' '.join(rest[:-1])}")
    if command.name == "patch" or command.words[:2] in (["git", "apply"], ["git", "am"]):
        written.add("applied.patch", shell.output_of(command, written.files))


def _get_inserted_text(command: Command) -> str:
    """Return the arguments of a program that inserts them into the text it passes on."""
    is_adding = command.name in ("sed", "jq", "yq") and "-n" not in command.words
    return "\n" + " ".join(command.words[1:]) if is_adding else ""


def _find_downloads(command: Command) -> list[str]:
    """Return the files that a download writes; no transcript has their text."""
    if command.name not in ("curl", "wget"):
        return []
    options = ("-o", "--output") if command.name == "curl" else ("-O", "--output-document")
    named = [word for before, word in zip(command.words, command.words[1:]) if before in options]
    is_by_name = command.name == "wget" or "-O" in command.words or "--remote-name" in command.words
    return named or [word.rpartition("/")[2] for word in command.words[1:] if "://" in word and is_by_name]


def record_edit(call: ToolCall, written: SessionWrites) -> None:
    """Record what an editing tool wrote."""
    path = call.input.get("file_path")
    if not isinstance(path, str):
        return
    edits = call.input.get("edits")
    listed = [call.input, *(one for one in edits if isinstance(one, dict))] if isinstance(edits, list) else [call.input]
    texts = [str(one.get("content") or one.get("new_string") or "") for one in listed]
    before = written.files.get(path, "") if call.tool != "Write" else ""
    written.add(path, "\n".join([before, *texts]).strip("\n"))


def command_of(call: ToolCall) -> str:
    """Return the text that a call ran: of Bash, and of other tools that take a command or a program."""
    given = call.input.get("command", call.input.get("cmd"))
    if isinstance(given, list):
        return shlex.join(map(str, given))
    if isinstance(given, str):
        return given
    code = call.input.get("code") if call.tool.startswith(_MCP_PREFIX) else None
    return shlex.join(["python3", "-c", code]) if isinstance(code, str) else ""


CERTAIN, PROBABLE = "certain", "probable"
_WRITE_COMMANDS = frozenset(("tee", "cp", "mv", "ln", "install", "rsync", "dd", "truncate", "ed", "ex", "rm", "patch"))
_IN_PLACE_OPTIONS = ("-i", "--in-place", "-pi", "-ni")
_GIT_WRITE_COMMANDS = frozenset(
    ("apply", "checkout", "restore", "stash", "am", "cherry-pick", "merge", "pull", "mv", "rm")
)
_CODE_WRITES = re.compile(
    r"""write|['"](?:w|a|r\+)b?['"]|append|replace|rename|copy|unlink|remove|>>?|\btee\b|sed\s+-i"""
)
_SUBSTITUTION = re.compile(r"s([/|#,@!])(?:[^\\]|\\.)*?\1((?:[^\\]|\\.)*?)\1")
_MIN_LINE_LENGTH = 8  # minimum characters for a line to be recognised
_WORD = re.compile(r"\w{3,}")
_PROBABLE_SHARE = 0.6  # share of a line's words that must be in a call to make it probable


class BashCall(NamedTuple):
    """A call that could write a file: `texts` are its command and the session's files it names."""

    path: str
    session: str
    timestamp: str
    texts: tuple[str, ...]


def match_line(texts: Sequence[str], line: str) -> str:
    """Return CERTAIN if a call has this line, PROBABLE if it has most of it or inserts a part of it, else ""."""
    wanted = _normalise(line)
    if len(wanted) < _MIN_LINE_LENGTH:
        return ""
    if any(wanted in _normalise(text) for text in texts):
        return CERTAIN
    parts = [_normalise(match[2]) for text in texts for match in _SUBSTITUTION.finditer(text)]
    if any(len(part) > 2 and part in wanted for part in parts):
        return PROBABLE
    words = set(_WORD.findall(wanted))
    known = {word for text in texts for word in _WORD.findall(_normalise(text))}
    return PROBABLE if len(words) > 2 and len(words & known) >= _PROBABLE_SHARE * len(words) else ""


def find_bash_calls(path: str, projects: str, wanted: Collection[str], since: str) -> Iterator[BashCall]:
    """Yield the calls of a transcript after a moment that could write one of these files."""
    written = SessionWrites()
    for call in read_tool_calls(path, projects):
        record_edit(call, written)
        text = command_of(call)
        if not text:
            continue
        listed = shell.parse_commands(text)
        for command in listed:
            record_writes(command, written)
        if call.timestamp > since:
            named = _find_named_files(text, written)
            for target in wanted:
                if _can_write(call, listed, named, target):
                    yield BashCall(target, call.session, call.timestamp, (text, *named))


def _find_named_files(text: str, written: SessionWrites) -> list[str]:
    """Return the contents of the session's files that a command names."""
    return [content for name, content in written.files.items() if "/" not in name and name and name in text]


def _can_write(call: ToolCall, listed: Sequence[Command], named: Sequence[str], target: str) -> bool:
    name = os.path.basename(target)
    is_patch = any(command.name == "patch" or command.words[:1] == ["git"] for command in listed)
    naming = [content for content in named if name in content]
    if any(is_patch or _CODE_WRITES.search(content) for content in naming) and any(map(_can_run_files, listed)):
        return True
    moved = [command.words[1] for command in listed if command.name in ("cd", "pushd") and len(command.words) > 1]
    folders = [call.cwd or os.sep, *(os.path.join(call.cwd or os.sep, os.path.expanduser(one)) for one in moved)]
    return any(name in _find_written_name(command, target, folders) for command in listed)


def _can_run_files(command: Command) -> bool:
    """Tell whether a command can run or apply a file, rather than only read it."""
    reads = ("cat", "ls", "grep", "rg", "head", "tail", "less", "wc", "chmod", "stat", "diff", "echo")
    return bool(command.words) and command.name not in reads and command.words[:2] != ["git", "add"]


def _find_written_name(command: Command, target: str, folders: Sequence[str]) -> str:
    """Return the name of the target if this command can write it, else ""."""
    name = os.path.basename(target)
    spots = [spot for operator, spot in command.redirects if ">" in operator]
    is_in_place = any(word.startswith(_IN_PLACE_OPTIONS) for word in command.words[1:])
    is_git = command.name == "git" and not _GIT_WRITE_COMMANDS.isdisjoint(command.words)
    if (
        command.name in _WRITE_COMMANDS
        or is_git
        or (command.name in ("sed", "perl", "ruby", "awk", "gawk") and is_in_place)
    ):
        spots += command.words[1:]
    if any(_is_target(spot, target, folders) for spot in spots):
        return name
    codes = [word for word in command.words[1:] if name in word and (" " in word or "(" in word)]
    codes += [command.input] if command.input and name in command.input and command.name != "cat" else []
    return name if any(_CODE_WRITES.search(code) for code in codes) and _can_run_files(command) else ""


def _is_target(word: str, target: str, folders: Sequence[str]) -> bool:
    """Tell whether a word of a command names this file; unresolvable words are compared by their last part."""
    if os.path.basename(word) != os.path.basename(target):
        return False
    if shell.UNKNOWN in word or "$" in word:
        return True
    path = os.path.expanduser(word)
    return any(os.path.realpath(os.path.join(folder, path)) == os.path.realpath(target) for folder in folders)


def _normalise(text: str) -> str:
    """Return a text without the quotes, bullets and runs of spaces that a command may add to a line."""
    return " ".join(re.sub(r"[\\'\"`]", "", shell.unescape(text)).split()).lstrip("-*# ").strip()
