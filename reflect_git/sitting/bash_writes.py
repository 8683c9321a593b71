"""Bash calls by which Claude wrote, or may have written, into instruction files."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

from reflect_git.adapters.transcript.calls import ToolCall, tool_calls
from reflect_git.sitting import shell
from reflect_git.sitting.shell import Command
from reflect_git.sitting.written import Written, command_of, note_edit, note_writes

CERTAIN, PROBABLE = "certain", "probable"
_WRITERS = frozenset(("tee", "cp", "mv", "ln", "install", "rsync", "dd", "truncate", "ed", "ex", "rm", "patch"))
_IN_PLACE = ("-i", "--in-place", "-pi", "-ni")
_GIT = frozenset(("apply", "checkout", "restore", "stash", "am", "cherry-pick", "merge", "pull", "mv", "rm"))
_CODE_WRITES = re.compile(
    r"""write|['"](?:w|a|r\+)b?['"]|append|replace|rename|copy|unlink|remove|>>?|\btee\b|sed\s+-i"""
)
_SUBSTITUTION = re.compile(r"s([/|#,@!])(?:[^\\]|\\.)*?\1((?:[^\\]|\\.)*?)\1")
_LEAST = 8  # letters that a line must have to be recognised
_WORD = re.compile(r"\w{3,}")
_MOST = 0.6  # of the words of a line, found in a call, make it probable


class BashCall(NamedTuple):
    """A call that could write a file: `texts` are its command and the files of the session that it names."""

    path: str
    session: str
    timestamp: str
    texts: tuple[str, ...]


def shows(texts: Sequence[str], line: str) -> str:
    """Return CERTAIN if a call has this line, PROBABLE if it has most of it or puts a part of it in, else ''."""
    wanted = _plain(line)
    if len(wanted) < _LEAST:
        return ""
    if any(wanted in _plain(text) for text in texts):
        return CERTAIN
    parts = [_plain(match[2]) for text in texts for match in _SUBSTITUTION.finditer(text)]
    if any(len(part) > 2 and part in wanted for part in parts):
        return PROBABLE
    words = set(_WORD.findall(wanted))
    known = {word for text in texts for word in _WORD.findall(_plain(text))}
    return PROBABLE if len(words) > 2 and len(words & known) >= _MOST * len(words) else ""


def find_bash_calls(path: str, projects: str, wanted: Collection[str], since: str) -> Iterator[BashCall]:
    """Yield the calls of a transcript after a moment that could write one of these files."""
    written = Written()
    for call in tool_calls(path, projects):
        note_edit(call, written)
        text = command_of(call)
        if not text:
            continue
        listed = shell.read(text)
        for command in listed:
            note_writes(command, written)
        if call.timestamp > since:
            named = _named_files(text, written)
            for target in wanted:
                if _can_write(call, listed, named, target):
                    yield BashCall(target, call.session, call.timestamp, (text, *named))


def _named_files(text: str, written: Written) -> list[str]:
    """Return the contents of the session's files that a command names."""
    return [content for name, content in written.files.items() if "/" not in name and name and name in text]


def _can_write(call: ToolCall, listed: Sequence[Command], named: Sequence[str], target: str) -> bool:
    name = os.path.basename(target)
    is_patch = any(command.name == "patch" or command.words[:1] == ["git"] for command in listed)
    naming = [content for content in named if name in content]
    if any(is_patch or _CODE_WRITES.search(content) for content in naming) and any(map(_runs, listed)):
        return True
    moved = [command.words[1] for command in listed if command.name in ("cd", "pushd") and len(command.words) > 1]
    folders = [call.cwd or os.sep, *(os.path.join(call.cwd or os.sep, os.path.expanduser(one)) for one in moved)]
    return any(name in _written_by(command, target, folders) for command in listed)


def _runs(command: Command) -> bool:
    """Tell whether a command can run or apply a file; those that only read one do not."""
    reads = ("cat", "ls", "grep", "rg", "head", "tail", "less", "wc", "chmod", "stat", "diff", "echo")
    return bool(command.words) and command.name not in reads and command.words[:2] != ["git", "add"]


def _written_by(command: Command, target: str, folders: Sequence[str]) -> str:
    """Return the name of the target if this command can write it, else an empty text."""
    name = os.path.basename(target)
    spots = [spot for operator, spot in command.redirects if ">" in operator]
    is_in_place = any(word.startswith(_IN_PLACE) for word in command.words[1:])
    is_git = command.name == "git" and not _GIT.isdisjoint(command.words)
    if command.name in _WRITERS or is_git or (command.name in ("sed", "perl", "ruby", "awk", "gawk") and is_in_place):
        spots += command.words[1:]
    if any(_is_target(spot, target, folders) for spot in spots):
        return name
    codes = [word for word in command.words[1:] if name in word and (" " in word or "(" in word)]
    codes += [command.input] if command.input and name in command.input and command.name != "cat" else []
    return name if any(_CODE_WRITES.search(code) for code in codes) and _runs(command) else ""


def _is_target(word: str, target: str, folders: Sequence[str]) -> bool:
    """Tell whether a word of a command names this file; what cannot be resolved counts by its last part."""
    if os.path.basename(word) != os.path.basename(target):
        return False
    if shell.UNKNOWN in word or "$" in word:
        return True
    path = os.path.expanduser(word)
    return any(os.path.realpath(os.path.join(folder, path)) == os.path.realpath(target) for folder in folders)


def _plain(text: str) -> str:
    """Return a text without quotes, bullets and runs of spaces, which a command has around a line."""
    return " ".join(re.sub(r"[\\'\"`]", "", shell.unescape(text)).split()).lstrip("-*# ").strip()
