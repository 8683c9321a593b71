"""Decide whether a guard's matcher applies to a tool call.

A matcher is a mapping that a decision stores as JSON:

    {"any": [CLAUSE, …], "except": [CLAUSE, …], "instead": "pnpm"}

It applies if one clause of `any` does and no clause of `except` does. `except` works on one command or one file at a
time: `rm -rf build && rm -rf src` still applies if only `build` is excepted. `instead` is shown, not matched.

A clause has one of the keys `run`, `paths`, `content` and `tool`. In names and words, `|` separates alternatives, and
`*` and `?` are wildcards.

Commands: what a Bash call runs, also through `sudo`, `npx`, `bash -c`, `$(…)` and the like.

    {"run": "git push"}                                   program, then subcommands in order
    {"run": "npm|pnpm install|add", "flags": ["-g|--global"]}     all of `flags` are there, in any form and place
    {"run": "pytest", "missing": ["-n=auto"]}             one of `missing` is not there; `=` gives a value
    {"run": "git push", "args": ["main|*:main"]}          each of `args` is one of the arguments
    {"run": "git push", "no_args": ["main"]}              none of `no_args` is one of the arguments
    {"run": "pytest", "bare": true}                       no argument but `.` and `./...`
    {"run": "aws", "env": {"AWS_PROFILE": "prod"}}        environment of the command
    {"run": "sh|bash", "from": "curl|wget"}               reads the output of one of these programs
    {"run": "pytest", "by": "uv|poetry"}                  one of these programs runs it: `uv run pytest`
    {"run": "git commit", "branch": "main|master"}        the branch at that point of the command line
    {"run": "git commit", "text": "(?i)co-authored-by"}   a regular expression over its words and what it reads
    {"run": "cat", "files": "read"}                       it reads a file; `cat > x` and `… | head` do not; or "write"

Files: what Edit, Write, MultiEdit, NotebookEdit and shell commands write, or with `"access": "read"` what Read, Grep
and shell commands read; `"any"` means both. Globs are relative to the project; without a slash they match at any depth.

    {"paths": ["src/gen/**", "*.lock"], "access": "write"}
    {"paths": ["migrations/**"], "existing": true}        only files that exist; `false`: only files that do not
    {"paths": ["*.go"], "lacks": "SPDX"}                  a whole file is written without a match of this expression

Content: text that a call adds, as a regular expression. `look_in` says where: `code` (the default; neither comments
nor strings), `strings` (code and strings) or `all`. Without `paths`, every file but documents such as *.md.

    {"content": "\\\\bprint\\\\(", "paths": ["src/**"]}

Other tools: by name, and optionally a regular expression over the texts of their input.

    {"tool": "mcp__github__merge*", "text": "main"}

A matcher with the key `requires` applies to no call: it is about the end of a turn, see `stop`.
"""

from __future__ import annotations

from reflect_git.guards.files import find_reads, find_writes
from reflect_git.guards.globs import matches_path, matches_word
from reflect_git.guards.options import find_arguments, has_option
from reflect_git.guards.shell import parse_commands

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any, Optional

    from reflect_git.guards.shell import Command

    Matcher = Mapping[str, Any]
    Clause = Mapping[str, Any]

PATTERN_SECONDS = 0.02
_LONGEST_TEXT = 200_000
EDITORS = ("Edit", "Write", "MultiEdit", "NotebookEdit")
_WRITING_WORDS = ("write", "edit", "create", "update", "append", "delete", "move", "replace", "insert")
_MAKES_BRANCH = ("-b", "-B", "-c", "-C", "--create", "--orphan")


class Call:
    """Hold a tool call, and what its command or input says, parsed once for all guards."""

    def __init__(self, tool: str, given: Mapping[str, Any], folder: str = "", root: str = "", branch: str = "") -> None:
        self.tool = tool
        self.given = given
        self.folder = folder.replace("\\", "/")
        self.root = root.replace("\\", "/").rstrip("/")
        self._branch = branch
        self._commands: Optional[list[Command]] = None
        self._writes: Optional[list[tuple[str, str, str]]] = None
        self._reads: Optional[list[str]] = None

    @property
    def commands(self) -> list[Command]:
        """Return the commands that a Bash call runs."""
        if self._commands is None:
            text = self.given.get("command") if self.tool == "Bash" else None
            self._commands = parse_commands(text) if isinstance(text, str) else []
        return self._commands

    @property
    def writes(self) -> list[tuple[str, str, str]]:
        """Return path, new text and old text of everything that the call writes."""
        if self._writes is None:
            self._writes = self._find_writes()
        return self._writes

    @property
    def reads(self) -> list[str]:
        """Return the paths of the files that the call reads."""
        if self._reads is None:
            self._reads = []
            if self.tool in ("Read", "NotebookRead"):
                self._reads = [_get_text(self.given, "file_path") or _get_text(self.given, "notebook_path")]
            elif self.tool == "Grep":
                self._reads = [_get_text(self.given, "path"), _get_text(self.given, "glob")]
            elif self.tool.startswith("mcp__") and "read" in self.tool.lower():
                self._reads = [_get_text(self.given, "path") or _get_text(self.given, "file_path")]
            for command in self.commands:
                self._reads += [_join(command.folder, path) for path in find_reads(command) if not command.is_remote]
        return self._reads

    def _find_writes(self) -> list[tuple[str, str, str]]:
        path = _get_text(self.given, "file_path") or _get_text(self.given, "notebook_path")
        found: list[tuple[str, str, str]] = []
        if self.tool in EDITORS or (self.tool.startswith("mcp__") and _is_writing(self.tool)):
            path = path or _get_text(self.given, "path") or _get_text(self.given, "destination")
            new = [
                _get_text(self.given, key) for key in ("new_string", "content", "new_source", "new_str", "file_text")
            ]
            old = _get_text(self.given, "old_string") or _get_text(self.given, "old_str")
            found.append((path, "\n".join(filter(None, new)), old))
            edits = self.given.get("edits")
            for edit in edits if isinstance(edits, list) else ():
                if isinstance(edit, dict):
                    new_text = _get_text(edit, "new_string") or _get_text(edit, "newText")
                    found.append((path, new_text, _get_text(edit, "old_string") or _get_text(edit, "oldText")))
        for command in self.commands:
            if not command.is_remote:
                found += [(_join(command.folder, path), text or "", "") for path, text in find_writes(command)]
        return [each for each in found if each[0]]

    def get_branch(self, command: Command) -> str:
        """Return the git branch on which a command runs, as far as it is known."""
        branch = self._branch
        for earlier in self.commands:
            if earlier is command:
                break
            if earlier.name == "git":
                branch = _get_new_branch(earlier) or branch
        return branch

    def matches_path(self, globs: Sequence[str], path: str) -> bool:
        """Return whether a path matches one of the globs, relative to the project if that is known."""
        path = path.replace("\\", "/").replace("$PWD/", "").replace("${PWD}/", "").replace("$HOME/", "~/")
        at_home = [glob for glob in globs if glob[:2] == "~/"]
        if at_home and any(matches_path(glob, _get_home_path(path), True) for glob in at_home):
            return True
        is_absolute = path[:1] in ("/", "~", "$") or path[1:2] == ":"
        is_anchored = False
        if self.root:
            if not is_absolute:
                path, is_absolute = _join(self.folder or self.root, path), True
            path = _normalise(path)
            if path == self.root or path.startswith(self.root + "/"):
                path, is_anchored = path[len(self.root) + 1 :], True
            else:
                globs = [glob for glob in globs if glob[:1] in ("/", "~") or "/" not in glob.rstrip("/*")]
        else:
            path = _normalise(path)
        return any(matches_path(glob, path, is_anchored) for glob in globs)


def find_match(matcher: Matcher, call: Call) -> str:
    """Return what in a call the matcher applies to, in a few words; empty if it does not apply."""
    if "requires" in matcher:
        return ""
    clauses = matcher.get("any")
    exceptions = [clause for clause in matcher.get("except") or () if isinstance(clause, dict)]
    for clause in clauses if isinstance(clauses, list) else (matcher,):
        if isinstance(clause, dict):
            found = _find_clause(clause, call, exceptions)
            if found:
                return found
    return ""


def _find_clause(clause: Clause, call: Call, exceptions: Sequence[Clause]) -> str:
    """Return what one clause applies to."""
    if "run" in clause:
        for command in call.commands:
            is_excepted = any("run" in each and _matches_command(each, command, call) for each in exceptions)
            if not is_excepted and _matches_command(clause, command, call):
                return " ".join([command.name, *command.args])[:200]
        return ""
    spared = [each["paths"] for each in exceptions if "paths" in each]
    if "content" in clause:
        return _find_content(clause, call, spared)
    if "paths" in clause:
        if "lacks" in clause:
            return _find_lacking(clause, call, spared)
        access = clause.get("access", "write")
        paths = [path for path, _, _ in call.writes] if access != "read" else []
        for path in paths + (call.reads if access != "write" else []):
            is_spared = any(call.matches_path(globs, path) for globs in spared)
            if not is_spared and call.matches_path(clause["paths"], path) and _fits_existence(clause, path, call):
                return path
        return ""
    if "tool" in clause and _matches_name(clause["tool"], call.tool):
        pattern = clause.get("text")
        if not pattern or any(_search(pattern, text) for text in _get_texts(call.given)):
            return call.tool
    return ""


def _find_lacking(clause: Clause, call: Call, spared: Sequence[Sequence[str]]) -> str:
    """Return the path of a whole file that a call writes without the text that it must have."""
    for path, new, old in call.writes:
        if not new.strip() or old or call.tool not in ("Write", "Bash") or not call.matches_path(clause["paths"], path):
            continue
        if any(call.matches_path(each, path) for each in spared) or not _fits_existence(clause, path, call):
            continue
        if not _search(clause["lacks"], new):
            return path
    return ""


def _fits_existence(clause: Clause, path: str, call: Call) -> bool:
    """Return whether a file exists, or does not, as the clause demands.

    Edit works on files that exist. For other calls the disk is asked; without a project, a written file counts as new.
    """
    if "existing" not in clause:
        return True
    exists = call.tool in ("Edit", "MultiEdit", "NotebookEdit")
    if not exists and call.root:
        import os

        exists = os.path.exists(_join(call.folder or call.root, path))
    elif not exists and call.tool == "Bash":
        made = [
            _join(command.folder, each)
            for command in call.commands
            for each in (command.args if command.name in ("touch", "cp", "mv") else command.writes)
        ]
        exists = not any(path == each or path.startswith(each.rstrip("/") + "/") for each in made)
    return bool(clause["existing"]) == exists


def _matches_command(clause: Clause, command: Command, call: Call) -> bool:
    """Return whether a clause with `run` applies to one command."""
    words = clause["run"].split()
    if not words or not command.name or not _matches_name(words[0], command.name):
        return False
    found = None
    for arguments in find_arguments(command, len(words) - 1):
        given = arguments[: len(words) - 1]
        if len(given) == len(words) - 1 and all(map(_matches_name, words[1:], given)):
            found = arguments[len(words) - 1 :]
            break
    if found is None:
        return False
    if not all(has_option(command, flag) for flag in clause.get("flags", ())):
        return False
    missing = clause.get("missing", ())
    if missing and all(has_option(command, flag, looks_behind=True) for flag in missing):
        return False
    if not all(any(_matches_name(spec, word) for word in found) for spec in clause.get("args", ())):
        return False
    if any(_matches_name(spec, word) for spec in clause.get("no_args", ()) for word in found):
        return False
    if clause.get("bare") and any(word not in (".", "./", "./...", "...") for word in found):
        return False
    return _matches_surroundings(clause, command, call)


def _matches_surroundings(clause: Clause, command: Command, call: Call) -> bool:
    """Return whether the environment, input and text of a command fit a clause."""
    for name, value in clause.get("env", {}).items():
        if not _matches_name(value, command.env.get(name, "")):
            return False
    if "from" in clause and not any(_matches_name(clause["from"], source) for source in command.sources):
        return False
    if "by" in clause and not any(_matches_name(clause["by"], outer) for outer in command.outer):
        return False
    if "branch" in clause and not _matches_name(clause["branch"], call.get_branch(command)):
        return False
    if clause.get("files") == "read" and not find_reads(command):
        return False
    if clause.get("files") == "write" and not find_writes(command):
        return False
    if "text" in clause:
        text = "\n".join([*command.args, command.stdin or ""])
        return _search(clause["text"], text)
    return True


def _find_content(clause: Clause, call: Call, spared: Sequence[Sequence[str]]) -> str:
    """Return the path to which a call adds content that matches."""
    from reflect_git.guards.added_text import DOCUMENTS, blank_text, get_extension

    globs, look_in = clause.get("paths"), clause.get("look_in", "code")
    for path, new, old in call.writes:
        extension = get_extension(path)
        if not new or (not globs and extension in DOCUMENTS) or (globs and not call.matches_path(globs, path)):
            continue
        if any(call.matches_path(each, path) for each in spared):
            continue
        new = new[:_LONGEST_TEXT]
        text = new if look_in == "all" else blank_text(new, extension, look_in == "strings")
        if _adds(clause["content"], text, new, old):
            return path
    return ""


def _adds(pattern: str, text: str, new: str, old: str) -> bool:
    """Return whether a match is in lines that the old text did not have."""
    for begin, end in _find_all(pattern, text):
        first = new.rfind("\n", 0, begin) + 1
        last = new.find("\n", end)
        lines = new[first : last if last >= 0 else len(new)].strip()
        if not old or lines not in old:
            return True
    return False


def _search(pattern: str, text: str) -> bool:
    return bool(_find_all(pattern, text[:_LONGEST_TEXT], most=1))


def _find_all(pattern: str, text: str, most: int = 200) -> list[tuple[int, int]]:
    """Return where a pattern matches; nothing if it is not valid or takes too long."""
    import re

    found: list[tuple[int, int]] = []
    try:
        with _Timer(PATTERN_SECONDS):
            for match in re.compile(pattern).finditer(text):
                found.append(match.span())
                if len(found) >= most:
                    break
    except (re.error, _TimeIsUp, RecursionError, OverflowError, TypeError):
        pass
    return found


class _TimeIsUp(Exception):
    """Stop a regular expression."""


class _Timer:
    """Raise _TimeIsUp after some processor time; without signals (another thread, Windows) there is no limit.

    Time on the clock would stop harmless patterns on a busy machine, and a guard would then not apply.
    """

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.before: Any = None

    def __enter__(self) -> None:
        import _signal

        try:
            self.before = _signal.signal(_signal.SIGVTALRM, _stop)
            _signal.setitimer(_signal.ITIMER_VIRTUAL, self.seconds)
        except (AttributeError, ValueError):
            self.before = None

    def __exit__(self, *_: object) -> None:
        if self.before is not None:
            import _signal

            _signal.setitimer(_signal.ITIMER_VIRTUAL, 0)
            _signal.signal(_signal.SIGVTALRM, self.before)


def _stop(*_: object) -> None:
    raise _TimeIsUp


def _get_new_branch(command: Command) -> str:
    """Return the branch that a git command switches to; empty if it stays on the old one."""
    words = find_arguments(command, 1)[0]
    if words[:1] not in (["checkout"], ["switch"]) or words[0] not in command.args:
        return ""
    behind = command.args[command.args.index(words[0]) + 1 :]
    if "--" in behind:
        return ""
    made = [word for at, word in enumerate(behind) if behind[at - 1 : at] and behind[at - 1] in _MAKES_BRANCH]
    return made[0] if made else next((word for word in behind if word[:1] != "-"), "")


def _matches_name(spec: str, word: str) -> bool:
    return any(matches_word(each, word) for each in spec.split("|"))


def _get_text(given: Mapping[str, Any], key: str) -> str:
    value = given.get(key)
    return value if isinstance(value, str) else ""


def _get_texts(value: Any, depth: int = 0) -> list[str]:
    """Return all texts in the input of a tool."""
    if isinstance(value, str):
        return [value]
    if depth > 8 or not isinstance(value, (dict, list)):
        return []
    parts = value.values() if isinstance(value, dict) else value
    return [text for part in parts for text in _get_texts(part, depth + 1)]


def _is_writing(tool: str) -> bool:
    name = tool.lower().rsplit("__", 1)[-1]
    return any(word in name for word in _WRITING_WORDS)


def _join(folder: str, path: str) -> str:
    if not folder or path[:1] in ("/", "~", "$") or path[1:2] == ":":
        return path
    return folder.rstrip("/") + "/" + path


def _get_home_path(path: str) -> str:
    """Return a path below a home folder with `~` for that folder."""
    parts = path.split("/")
    if parts[:2] == ["", "root"]:
        return "~/" + "/".join(parts[2:])
    return "~/" + "/".join(parts[3:]) if parts[:2] in (["", "home"], ["", "Users"]) else path


def _normalise(path: str) -> str:
    """Resolve `.` and `..` without looking at the disk."""
    made: list[str] = []
    for part in path.split("/"):
        if part == ".." and made and made[-1] not in ("..", ""):
            made.pop()
        elif part != "." and (part or not made):
            made.append(part)
    return "/".join(made)
