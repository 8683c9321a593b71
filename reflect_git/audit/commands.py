"""Judge from the text of a Bash call whether it could have run a reflect-git command that decides something.

Ordinary calls and read-only commands give nothing. A call counts if it names a deciding command, directly or through
another program, a script that a session wrote, an alias or a variable. It also counts if it runs a text that the
transcript does not show, or calls our hook itself. Writing into the store or the client's transcripts counts as well.
"""

from __future__ import annotations

import fnmatch
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from reflect_git.audit import invocations
from reflect_git.audit.invocations import (
    HOOK,
    ID,
    KEYS,
    OPAQUE,
    PAGE,
    RUNS,
    STORE,
    STORE_PROGRAM,
    TRANSCRIPT,
    Suspicion,
    check_invocation,
    check_store_program,
    check_verb_with_id,
    find_commands_in_text,
    find_mentions,
)
from reflect_git.rules.drift import shell
from reflect_git.rules.drift.shell import UNKNOWN, Command
from reflect_git.rules.drift.shell_writes import OUR_NAME, OUR_PACKAGE, SessionWrites, record_writes

_MAX_DEPTH = 6
_MAX_SCRIPT_LENGTH = 1 << 16  # maximum size of a script that is parsed; a longer one that names us counts as opaque

_SPAWN_CODE = re.compile(
    r"os\.system|subprocess|popen|spawn|pty\.|runpy|exec[lv(]|child_process|execSync|system\s*\(|qx|`|eval|__import__",
    re.I,
)
_DECODE_CODE = re.compile(
    r"b64decode|fromhex|unhexlify|codecs|rot.?13|\bchr\b|\[::-1\]|atob|fromCharCode|decompress|pack\("
    r"|bytes(?:array)?\(\s*[\[(]|maketrans|unquote\(|\\x[0-9a-f]{2}"
)
_WRITE_CODE = re.compile(
    r"""(?:,\s*|mode\s*=\s*|open\(\s*)['"](?:w|a|x|r\+)[bt+]*['"]|(?<!stdout)(?<!stderr)\.write|(?:write|append|copy|rename|unlink|rm)(?:File|Sync)"""
    r"""|\bos\.(?:rename|replace|link|symlink|unlink|remove|truncate|open)|shutil|json\.dump\("""
    r"""|\.(?:rename|unlink|touch|truncate|symlink_to|hardlink_to)\(|>>"""
)
# Parts of a path that code joins, as `home / ".claude" / "projects"` or `join(home, ".claude", "projects")`.
_PATH_JOIN = re.compile(r"""['"]\s*[/,]\s*['"]""")
_APPROVE_WORD = re.compile(r"(?<![\w-])approve(?![\w-])")
# Code that joins our name from parts, or finds the program by a pattern, shows a part of it and the verb as a word.
_NAME_PART = re.compile(r"refl|lfer", re.I)
_QUOTED_VERB = re.compile(
    r"""['"\s](?:approve|review|undo|revert|restore|dismiss|purge|edit|guard|unguard|pin|unpin)['"]"""
)
_LITERAL = re.compile(r"""(['"])([^'"\n]+)\1""")
_HOOK_PATH = re.compile(r"(?:^|/)(?:hooks?/)?(?:hook\.py|launch\.sh)$|reflect_git[./]hook")
_HOOK_FILE = re.compile(r"hooks?/(?:hook\.py|launch\.sh)|reflect_git[./]hook")
_HOOK_EVENT = "PostToolUse"
_STARTUP_FILE = re.compile(
    r"/cron|/systemd/|autostart/|LaunchAgents/|\.(?:bash|zsh|k?sh|tmux|screen|vim)(?:rc|env|\.conf)$"
    r"|\.(?:bash_|z)?(?:profile|login|logout|aliases)$|/fish/"
)
# A path below the client's folder that contains a pattern or an unknown part.
_CLIENT_PATTERN = re.compile(rf"\.claude/?[^\s'\"/]*[*?\[{UNKNOWN}]")
_WRITE_COMMANDS = frozenset((
    "tee", "mv", "ln", "touch", "patch", "rm", "truncate", "dd", "unzip", "scp", "curl", "wget", "sponge",
))  # fmt: skip
_SEPARATE_COMMANDS = frozenset(("git", "eval", "source", ".", "cd", "pushd", "popd", "for", "set", "read", "code"))
_READ_LINES_COMMAND = re.compile(r"\b(?:read|mapfile|readarray)\b")
_KEY_TYPING_CODE = re.compile(
    r"TIOCSTI|0x5412\b|keystroke|send-keys|send-text|write-chars|xdotool|ydotool|pyautogui|pynput|libtmux|uinput"
)
_TYPING_COMMAND = re.compile(r"send|send-[kt]\w*|stuff|pas\w*(?:-\w+)?|write-chars|write")
_NAMED_KEYS = {"Enter": "\n", "C-m": "\n", "Space": " ", "Tab": " "}
_CRON = re.compile(r"^\s*(?:@\w+|(?:[\d*/,-]+\s+){5})", re.MULTILINE)
# The panel's cookie and the file with its link; a request that sends something to this computer, in any language.
_PANEL_NAME = re.compile(r"reflect-panel|reflect/panel-|panel-\d+\.html")
_LOCAL_ADDRESS = re.compile(r"127\.0\.0\.\d|localhost|\[::1\]|/dev/tcp/")
_SENDS = re.compile(
    r"\s-d|--data|--json|--form|\s-F\b|-X\s*['\"]?P|--request|--post|\bpost\b|urlopen|urllib|socket|http\.client|fetch\("
    r"|/dev/tcp/|\bnc\b|ncat|socat|telnet|httpie|\bhttp\s|cookie|--cookie|\s-b\b", re.I
)  # fmt: skip
_BROWSER_TOOL = re.compile(
    r"browser|playwright|puppeteer|chrome|chromium|firefox|selenium|devtools|computer|webdriver", re.I
)
_EXIT_KEYS = frozenset(("C-c", "C-d", "C-z", "C-l"))  # keys that end or suspend a program, and answer nothing
_YES_KEYS = frozenset("yesYES \n")  # `yyyy` answers four questions
_DOCUMENT_SUFFIXES = (".md", ".rst", ".txt", ".adoc", ".html")


class WatchedPaths(NamedTuple):
    """The paths of the store and the client's transcripts, as a command may name them."""

    store: tuple[str, ...] = (".claude/reflections",)
    transcripts: tuple[str, ...] = (".claude/projects",)
    cwd: str = ""


def find_suspicions(text: str, written: SessionWrites, place: WatchedPaths = WatchedPaths()) -> list[Suspicion]:  # noqa: B008 - it is immutable
    """Return why this call could have decided something; empty for an ordinary call.

    The files the call writes, and the names it gives to our program, are added to `written` for later calls.
    """
    listed = shell.parse_commands(text, files=written.files)
    for command in listed:
        record_writes(command, written)
    found = list(_CallChecker(written, place, text).check_text(text, 0))
    written.has_stored_command = written.has_stored_command or any(
        one.is_in_text and one.verb in invocations.DECIDING_VERBS for one in found
    )
    is_detached = any(command.is_background for command in listed)
    is_late = any(_is_scheduling(command) for command in listed)
    return [
        one._replace(is_plain=one.is_plain and not is_detached, is_scheduled=one.is_scheduled or is_late)
        for one in dict.fromkeys(found)
    ]


def check_page_use(tool: str, text: str) -> Iterator[Suspicion]:
    """Judge whether a call could have used the panel: with a browser tool, or by a request from a command."""
    if tool.startswith("mcp__") or not text:
        if _BROWSER_TOOL.search(tool):
            yield Suspicion(PAGE, is_plain=True)
    elif _PANEL_NAME.search(text) or (_LOCAL_ADDRESS.search(text) and _SENDS.search(text)):
        yield Suspicion(PAGE)


def _is_scheduling(command: Command) -> bool:
    """Tell whether a command runs something later."""
    return any(word.rpartition("/")[2] in invocations.SCHEDULERS for word in command.words) or any(
        re.search(r"\bsleep\W+\d", word) for word in command.words
    )


class _CallChecker:
    """Judges the commands of one call, with what earlier calls wrote."""

    def __init__(self, written: SessionWrites, place: WatchedPaths, whole: str) -> None:
        self.written, self.place, self.call_text = written, place, whole
        self.cwd = place.cwd
        self.decodes = False

    def check_text(self, text: str, depth: int, variables: Mapping[str, str] | None = None) -> Iterator[Suspicion]:
        """Judge a text that a shell runs; `depth` is the number of shells above it."""
        if depth > _MAX_DEPTH or len(text) > _MAX_SCRIPT_LENGTH:
            if OUR_NAME.search(text):
                yield Suspicion(OPAQUE)
            return
        listed = shell.parse_commands(text, variables, files=self.written.files)
        self.decodes = self.decodes or any(_is_decoding(command) for command in listed)
        for command in listed:
            if command.name in ("cd", "pushd") and len(command.words) > 1:
                self.cwd = os.path.join(self.cwd, command.words[1])
            yield from self._check_writes(command)
            yield from self._check_variables(command)
            yield from self._check_command(command, command.words, depth)

    def _check_writes(self, command: Command) -> Iterator[Suspicion]:
        """Judge the files that a command writes.

        A program that is not known to be read-only may write any file it names.
        """
        targets = [target for operator, target in command.redirects if ">" in operator]
        if command.name in ("cp", "install", "rsync"):
            targets += _find_copy_target(command.words)
        elif command.name in _WRITE_COMMANDS or _may_write_arguments(command, self.written):
            targets += command.words[1:]
        for target in targets:
            yield from check_write(self._resolve(target), self.place)
            yield from check_startup_file(target, self.written.files.get(target, ""))
            if UNKNOWN in target:  # `T=$(ls ~/.claude/projects/*/*.jsonl); echo … >> $T`
                yield from check_write(self.call_text, self.place)

    def _resolve(self, path: str) -> str:
        """Resolve a path: relative to the folder of the call, and through links that a session made."""
        path = os.path.join(self.cwd, path)
        for link, source in self.written.links.items():
            at = path.find(link)
            if at >= 0 and path[at + len(link) :][:1] in ("", "/"):
                return source + path[at + len(link) :]
        return path

    def _check_variables(self, command: Command) -> Iterator[Suspicion]:
        """Judge variables whose value another program runs, now or later."""
        is_exported = command.name in ("export", "declare", "typeset")
        for name, value in command.variables.items():
            if is_exported or invocations.RUN_VARIABLES.fullmatch(name):
                found = [*find_commands_in_text(value), *find_commands_in_text(self.written.find_text(value) or "")]
                self.written.changes_git_programs = self.written.changes_git_programs or bool(found)
                yield from found

    def _check_command(self, command: Command, words: Sequence[str], depth: int) -> Iterator[Suspicion]:
        """Judge one simple command; `words` are its own, or those that a launcher starts."""
        if not words:
            return
        name = words[0].rpartition("/")[2]
        if name in self.written.names:
            yield from check_invocation(words[1:], is_plain=depth == 0 and words is command.words)
        elif self._is_store_program(words[0]):
            yield from check_store_program(words[1:])
        elif name == "git":
            yield from self._check_git(command, words, depth)
        elif name == "eval":
            yield from self._check_nested(" ".join(words[1:]), depth)
        elif name in ("source", "."):
            yield from self._check_script(command, words[1] if len(words) > 1 else "", depth)
        elif name in invocations.SHELLS:
            yield from self._check_shell(command, words, depth)
        elif invocations.INTERPRETER.fullmatch(name):
            yield from self._check_interpreter(command, words, depth)
        elif name in invocations.LAUNCHERS:
            yield from self._check_launcher(command, words, depth)
        elif self.written.find_text(words[0]) is not None and (
            "/" in words[0] or name not in invocations.INERT_PROGRAMS
        ):
            yield from self._check_file(words[0], depth)
        elif not set(name).isdisjoint(f"{UNKNOWN}*?[{{"):
            yield from self._check_unknown(name, words)
            yield from find_commands_in_text(" ".join(words))
        else:
            yield from self._check_unlisted(command, words)

    def _check_unlisted(self, command: Command, words: Sequence[str]) -> Iterator[Suspicion]:
        """Judge any other program: unless it is read-only, it may run its arguments or its input."""
        name = words[0].rpartition("/")[2]
        if name in invocations.INERT_PROGRAMS and name != "alias":
            form = invocations.RUN_ARGUMENTS.get(name)
            for word in filter(form.search, words[1:]) if form else ():
                yield from find_commands_in_text(word)
            return
        if name in invocations.KEY_PROGRAMS:
            yield Suspicion(KEYS)
        if name in invocations.EDITORS:
            yield from self._check_named_files(" ".join(words[1:]))
        found = [*self._check_other(words, [word for word in words if " " in word]), *check_verb_with_id(words)]
        yield from found or find_commands_in_text(" ".join(words))
        yield from find_commands_in_text(shell.input_of(command, self.written.files) or "")

    def _check_git(self, command: Command, words: Sequence[str], depth: int) -> Iterator[Suspicion]:
        """Judge a git command: aliases and settings that run programs, and writes into the store."""
        rest = list(words[1:])
        where = os.path.join(self.cwd, command.variables.get("GIT_DIR", command.variables.get("GIT_WORK_TREE", "")))
        while rest and rest[0].startswith("-"):
            option = rest.pop(0)
            value = rest.pop(0) if option in ("-C", "-c", "--git-dir", "--work-tree") and rest else ""
            given = value if option in ("-C", "--git-dir") else option.partition("git-dir=")[2]
            where = self._resolve(os.path.join(where, given))
            if option == "-c" and OUR_NAME.search(value):
                yield Suspicion(RUNS)
            elif option == "-c":
                yield from self._check_named_files(value)
        if not rest:
            return
        if f"git-{rest[0]}" in self.written.names:
            yield from check_invocation(rest[1:], is_plain=depth == 0)
        elif any(invocations.GIT_RUN_PATTERN.search(word) for word in rest):
            joined = " ".join(rest)
            found = [
                *(find_mentions(joined) if OUR_NAME.search(joined) else find_commands_in_text(joined)),
                *self._check_named_files(joined),
            ]
            self.written.changes_git_programs = self.written.changes_git_programs or bool(found)
            yield from found
        elif rest[1:2] and rest[1] in invocations.DECIDING_VERBS:
            yield from check_verb_with_id(rest[1:])
        sent_to = [self._resolve(word) for word in rest[1:]] if rest[0] in invocations.GIT_SEND_COMMANDS else []
        if any(_contains_any(path, self.place.store) for path in (*([where] if _is_git_write(rest) else ()), *sent_to)):
            yield Suspicion(STORE)

    def _check_nested(self, text: str, depth: int, variables: Mapping[str, str] | None = None) -> Iterator[Suspicion]:
        """Judge a text that a nested shell runs."""
        yield from self.check_text(text, depth + 1, variables)

    def _check_named_files(self, text: str) -> Iterator[Suspicion]:
        """Judge the session's files that a text names, where another program may run them."""
        for name, content in self.written.files.items():
            if name and "/" not in name and name in text:
                yield from find_commands_in_text(content)

    def _check_shell(self, command: Command, words: Sequence[str], depth: int) -> Iterator[Suspicion]:
        """Judge a shell: its `-c` text, its script, or its input."""
        flags = [at for at, word in enumerate(words) if re.fullmatch(r"-\w*c", word)]
        if flags:
            code, given = " ".join(words[flags[0] + 1 : flags[0] + 2]), words[flags[0] + 2 :]
            positional = {str(number): word for number, word in enumerate(given)}
            everything = " ".join(given[1:])
            yield from self._check_nested(code, depth, {**positional, "@": everything, "*": everything})
            return
        script = next((word for word in words[1:] if not word.startswith("-")), "")
        if script:
            if script.rpartition("/")[2] in self.written.names:
                yield from check_invocation(words[words.index(script) + 1 :])
            yield from self._check_hook(*words[1:])
            yield from check_verb_with_id(words[1:])
            yield from self._check_script(command, script, depth)
        else:
            text = shell.input_of(command, self.written.files)
            if text is not None:
                fed = command.piped_from is not None and (
                    _is_decoding(command.piped_from) or invocations.INTERPRETER.fullmatch(command.piped_from.name)
                )
                self.decodes = self.decodes or bool(fed)
                yield from self._check_nested(text, depth)
                yield from self._check_piped(command)

    def _check_script(self, command: Command, path: str, depth: int) -> Iterator[Suspicion]:
        """Judge a script by its path: a file, the standard input, or `<(…)`, which is read as its output."""
        if path in ("/dev/stdin", "/proc/self/fd/0", "/dev/fd/0"):
            yield from self._check_nested(shell.input_of(command, self.written.files) or "", depth)
            yield from self._check_piped(command)
        elif path == UNKNOWN and self.decodes:
            yield Suspicion(OPAQUE)
        elif any(character in path for character in " \n"):
            yield from self._check_nested(path, depth)
        yield from self._check_file(path, depth)

    def _check_piped(self, command: Command) -> Iterator[Suspicion]:
        """Judge what a pipe feeds to a shell if its text is unknown: by the words of the commands before."""
        before = command.piped_from
        while before is not None:
            if UNKNOWN in shell.output_of(before, self.written.files):
                yield from find_commands_in_text(" ".join(before.words))
                yield from find_commands_in_text(shell.input_of(before, self.written.files) or "")
            before = before.piped_from

    def _check_interpreter(self, command: Command, words: Sequence[str], depth: int) -> Iterator[Suspicion]:
        """Judge a program in another language: its code, its script, or our package."""
        yield from self._check_hook(*words[1:])
        for at, word in enumerate(words[1:], 1):
            if self._is_store_program(word):
                yield from check_store_program(words[at + 1 :])
            option = re.fullmatch(r"-[A-Za-z]*?m(.*)", word)
            behind = at + 1 if option is None or option[1] else at + 2
            module = (option[1] or "".join(words[at + 1 : at + 2])) if option else word
            name = module.partition(".")[0] if option else module.rstrip("/").rpartition("/")[2]
            if name in {*self.written.names, "reflect_git"} or OUR_PACKAGE.search(module):
                yield from (one for one in check_invocation(words[behind:]) if not _HOOK_PATH.search(module))
                return
        yield from check_verb_with_id(words[1:])
        codes = [
            words[at + 1] for at in range(1, len(words) - 1) if re.fullmatch(r"-\w*[ceEr]|--eval|--print", words[at])
        ]
        if words[0].rpartition("/")[2].endswith("awk"):
            codes = list(words[1:])
        first = next((word for word in words[1:] if not word.startswith("-")), "") if not codes else ""
        # An argument after the script is data, unless its text is known and shows otherwise.
        texts = ((word, self.written.find_text(word)) for word in words[1:])
        scripts = [text for word, text in texts if text and (word == first or not text.startswith(UNKNOWN))]
        if (self.written.find_text(first) or "").startswith(UNKNOWN) or (first.startswith(UNKNOWN) and self.decodes):
            yield Suspicion(OPAQUE)
        if any(operator == "<" and self._is_our_program(source) for operator, source in command.redirects):
            yield from check_invocation(words[1:])
        fed = shell.input_of(command, self.written.files) if not codes and not any(scripts) else None
        for code in (*codes, *scripts, *([fed] if fed else ())):
            if not shell.PRINT_STATEMENT.fullmatch(code):
                yield from self._check_code(code, words[1:])

    def _check_code(self, code: str, words: Sequence[str] = ()) -> Iterator[Suspicion]:
        """Judge code; `words` are its arguments, which may name the file that it writes."""
        joined = re.sub(r"""(['"])\s*[+.]?\s*\1""", "", code)
        joined = re.sub(r"""['"]\s*\+\s*['"]""", "", joined)
        if UNKNOWN in code and self.decodes and (code.lstrip().startswith(UNKNOWN) or _SPAWN_CODE.search(code)):
            yield Suspicion(OPAQUE)
        spawns = bool(_SPAWN_CODE.search(code))
        if spawns and (_APPROVE_WORD.search(joined) or (_NAME_PART.search(code) and _QUOTED_VERB.search(code))):
            yield Suspicion(RUNS, "approve" if _APPROVE_WORD.search(joined) else "", is_in_text=True)
        yield from find_commands_in_text(joined)
        if spawns:
            yield from self._check_named_files(code)
        elif _DECODE_CODE.search(code) and _WRITE_CODE.search(
            code
        ):  # it writes what no transcript shows, to be run later
            for literal in _LITERAL.finditer(code):
                self.written.add(literal[2], UNKNOWN)
        if _KEY_TYPING_CODE.search(code):
            yield Suspicion(KEYS)
        if _HOOK_FILE.search(code) and _SPAWN_CODE.search(code):
            yield Suspicion(HOOK)
        if OUR_NAME.search(joined):
            yield from find_mentions(joined)
        elif _DECODE_CODE.search(code) and _SPAWN_CODE.search(code):
            yield Suspicion(OPAQUE)
        for places, kind in ((self.place.transcripts, TRANSCRIPT), (self.place.store, STORE)):
            named = (code, _PATH_JOIN.sub("/", code), *map(self._resolve, words))
            is_named = any(one in path for one in places for path in named)
            if is_named and (_WRITE_CODE.search(code) or _SPAWN_CODE.search(code)):
                yield Suspicion(kind)

    def _check_launcher(self, command: Command, words: Sequence[str], depth: int) -> Iterator[Suspicion]:
        """Judge what a launcher starts: its words from the first program on, its texts, and its input."""
        name = words[0].rpartition("/")[2]
        if name == "find" and not any(word.startswith(("-exec", "-ok")) for word in words):
            return
        if name in invocations.TERMINALS:
            yield from [Suspicion(KEYS)] if sends_keys(words) else ()
            yield from find_commands_in_text("".join(_NAMED_KEYS.get(key, key) for key in _get_typed_keys(words)))
        words = self._fill_placeholders(command, words)
        late, is_data, has_program = name in invocations.SCHEDULERS, False, False
        for at, word in enumerate(words[1:], 1):
            if not has_program and "=" not in word and (UNKNOWN in word or word.startswith("{")):
                yield from self._check_unknown(word.rpartition("/")[2], words[at:])
                yield from find_commands_in_text(word)
            if "IFS" in command.variables:  # then characters other than spaces can split the words of a variable
                yield from find_commands_in_text(word)
            if any(character in word for character in " ;\n"):
                found = [
                    *self._check_nested(word, depth + 1),
                    *(find_mentions(word) if name == "socat" and OUR_NAME.search(word) else ()),
                ]
                yield from (one._replace(is_plain=False, is_scheduled=late) for one in found)
            elif self._is_program(word) and not (
                (is_data or (name in invocations.PACKAGE_RUNNERS and word.lower().endswith(_DOCUMENT_SUFFIXES)))
                and self.written.find_text(word) is not None
            ):
                rest = [*words[at:], *(self._get_arguments(command) if name in ("xargs", "parallel") else ())]
                yield from find_commands_in_text(shell.input_of(command, self.written.files) or "")
                for one in self._check_command(command, rest, depth + 1):
                    if not is_data or one.verb in invocations.DECIDING_VERBS:
                        yield one._replace(is_plain=False, is_scheduled=late or one.is_scheduled)
                return
            is_data = word != ";" and (is_data or word in invocations.INERT_PROGRAMS)
            has_program = has_program or is_data or "/" in word
        if not is_data:
            yield from (one._replace(is_scheduled=late) for one in check_verb_with_id(words[1:]))
        text = shell.input_of(command, self.written.files)
        if text is not None:
            found = list(self._check_nested(_CRON.sub("", text), depth)) or list(find_commands_in_text(text))
            found += self._check_piped(command) if name not in ("xargs", "parallel") else ()
            yield from (one._replace(is_plain=False, is_scheduled=late) for one in found)

    def _fill_placeholders(self, command: Command, words: Sequence[str]) -> list[str]:
        """Return the words with what `find`, `xargs` and `parallel` substitute for a placeholder such as `{}`."""
        name, mark, rest = words[0].rpartition("/")[2], "{}", list(words)
        if name == "find":
            at = next((at for at, word in enumerate(rest) if word.startswith(("-exec", "-ok"))), 0)
            return [rest[0], *(word.replace(mark, UNKNOWN) for word in rest[at + 1 :])]
        if name not in ("xargs", "parallel"):
            return rest
        for at, word in enumerate(rest):
            if word.startswith("-I"):
                mark = word[2:] or "".join(rest[at + 1 : at + 2]) or mark
                rest = [*rest[:at], *rest[at + (1 if word[2:] else 2) :]]
                break
        given = " ".join(self._get_arguments(command))
        return [word.replace(mark, given) for word in rest]

    def _is_store_program(self, word: str) -> bool:
        return bool(STORE_PROGRAM.search(self._resolve(word)) or STORE_PROGRAM.search(self.written.links.get(word, "")))

    def _is_our_program(self, path: str) -> bool:
        return path.rpartition("/")[2] in self.written.names

    def _get_arguments(self, command: Command) -> list[str]:
        """Return the words that xargs adds from its input."""
        text = shell.input_of(command, self.written.files)
        return text.split() if text and UNKNOWN not in text else [UNKNOWN]

    def _is_program(self, word: str) -> bool:
        name = word.rpartition("/")[2]
        known = (
            name in self.written.names
            or name in invocations.SHELLS
            or name in invocations.LAUNCHERS
            or name in ("git", "eval", "source")
            or self._is_store_program(word)
        )
        return known or bool(invocations.INTERPRETER.fullmatch(name)) or self.written.find_text(word) is not None

    def _check_file(self, path: str, depth: int) -> Iterator[Suspicion]:
        """Judge a script that is run, if a session wrote it."""
        text = self.written.find_text(path)
        if text is None:
            return
        if text.startswith(UNKNOWN):  # a download, or the output of a program
            yield Suspicion(OPAQUE)
        first = text.partition("\n")[0]
        is_code = first.startswith("#!") and not re.search(r"\b(?:ba|da|z|k|fi)?sh\b", first)
        if is_code or path.endswith((".py", ".js", ".mjs", ".ts", ".pl", ".rb", ".php", ".lua")):
            yield from self._check_code(text)
        else:
            yield from (one._replace(is_plain=False) for one in self._check_nested(_CRON.sub("", text), depth))

    def _check_hook(self, *words: str) -> Iterator[Suspicion]:
        """Judge a program and its arguments: our hook takes the name of an event, wherever it was copied to."""
        if any(_HOOK_PATH.search(word) or word == _HOOK_EVENT for word in words):
            yield Suspicion(HOOK)

    def _check_unknown(self, name: str, words: Sequence[str]) -> Iterator[Suspicion]:
        """Judge a program whose name is unknown: by its pattern, or by a verb of ours after it."""
        pattern = re.sub(r"\{[^}]*\}", "*", name.replace(UNKNOWN, "*"))
        is_pattern = bool(pattern.strip("*")) and any(fnmatch.fnmatch(one, pattern) for one in self.written.names)
        verb = next((word for word in words[1:] if not word.startswith("-")), "")
        if (
            is_pattern
            or verb in ("approve", "review", "undo", "dismiss", "purge")
            or (verb in invocations.DECIDING_VERBS and ID.search(" ".join(words)))
        ):
            yield from check_invocation(words[1:]) if verb else (Suspicion(OPAQUE),)
        elif self.decodes and name == UNKNOWN:
            yield Suspicion(OPAQUE)
        elif name == UNKNOWN and _READ_LINES_COMMAND.search(self.call_text):  # `while read l; do $l; done <<< "…"`
            yield from find_commands_in_text(self.call_text)
            yield from self._check_named_files(self.call_text)

    def _check_other(self, words: Sequence[str], texts: Sequence[str] = ()) -> Iterator[Suspicion]:
        """Judge an unknown program: our name among its words counts if a deciding verb follows."""
        for at, word in enumerate(words):
            yield from self._check_hook(word)
            if word.rpartition("/")[2] in self.written.names:
                yield from (one for one in check_invocation(words[at + 1 :]) if one.verb in invocations.DECIDING_VERBS)
        for text in texts:
            yield from find_mentions(text) if OUR_NAME.search(text) else ()


def _is_decoding(command: Command) -> bool:
    """Tell whether a command produces a text that its own words do not show."""
    if any(
        one.startswith(("/dev/tcp/", "/dev/udp/")) for one in (*command.words, *(to for _, to in command.redirects))
    ):
        return True
    if command.name == "printf":
        return any("\\" in word for word in command.words[1:]) and UNKNOWN in shell.output_of(command)
    return command.name in invocations.DECODERS or bool(
        invocations.INTERPRETER.fullmatch(command.name) and _DECODE_CODE.search(" ".join(command.words))
    )


def _find_copy_target(words: Sequence[str]) -> list[str]:
    """Return where `cp` and similar programs write; their sources are only read."""
    for at, word in enumerate(words):
        if word in ("-t", "--target-directory") or word.startswith("--target-directory="):
            return [word, *words[at + 1 : at + 2]]
    return list(words[-1:])


def _is_git_write(rest: Sequence[str]) -> bool:
    """Tell whether a git command may change the repository it runs in."""
    if rest[0] in invocations.GIT_LIST_COMMANDS:
        return not invocations.GIT_LIST_OPTIONS.issuperset(rest[1:])
    return rest[0] not in invocations.GIT_READ_COMMANDS


def _may_write_arguments(command: Command, written: SessionWrites) -> bool:
    """Tell whether a program may write files that it names. Code, launchers and git are judged separately."""
    name = command.name
    if name in ("sed", "yq", "perl", "ruby", "awk", "gawk"):
        return any(re.match(r"-\w*i|--in-?place", word) for word in command.words[1:])
    if name == "tar":
        return not re.match(r"-?[a-z]*[ct]|--create|--list", "".join(command.words[1:2]))
    if invocations.INTERPRETER.fullmatch(
        name
    ):  # a script that no session wrote; `-c` and `-m json.tool` show what they do
        first = "".join(command.words[1:2])
        return bool(first) and not first.startswith("-") and written.find_text(first) is None
    known = (invocations.INERT_PROGRAMS, invocations.LAUNCHERS, invocations.SHELLS, written.names, _SEPARATE_COMMANDS)
    return bool(name) and not any(name in names for names in known)


def check_startup_file(path: str, text: str) -> list[Suspicion]:
    """Judge a text in a file that the system, or the user's next shell, runs automatically."""
    return (
        [one._replace(is_scheduled=True) for one in find_commands_in_text(text)] if _STARTUP_FILE.search(path) else []
    )


def check_write(path: str, place: WatchedPaths) -> Iterator[Suspicion]:
    """Judge a file that a call writes: nobody may edit the client's transcripts or the store by hand."""
    is_pattern = bool(_CLIENT_PATTERN.search(path))
    if is_pattern or _contains_any(path, place.transcripts):
        yield Suspicion(TRANSCRIPT)
    if is_pattern or _contains_any(path, place.store):
        yield Suspicion(STORE)


def _contains_any(word: str, places: Sequence[str]) -> bool:
    return any(one in word for one in places)


def sends_keys(words: Sequence[str]) -> bool:
    """Tell whether a terminal multiplexer types an answer: short keys, or unknown ones."""
    if "pipe-pane" in words:  # with -I, the output of a program is typed
        return any(re.fullmatch(r"-\w*I\w*", word) for word in words)
    if not any(map(_TYPING_COMMAND.fullmatch, words[1:])):
        return False
    rest = _get_typed_keys(words)
    if rest and _EXIT_KEYS.issuperset(rest):
        return False
    keys = [key.strip() for key in rest if key not in _NAMED_KEYS]
    return all(UNKNOWN in key or len(key) <= 3 or key.startswith("C-") or _YES_KEYS.issuperset(key) for key in keys)


def _get_typed_keys(words: Sequence[str]) -> list[str]:
    """Return the keys that a terminal multiplexer types, without its options."""
    at = next((at for at, word in enumerate(words[1:], 1) if _TYPING_COMMAND.fullmatch(word)), 0)
    rest = list(words[at + 1 :]) if at else []
    while rest and rest[0].startswith("-") and len(rest[0]) > 1:
        rest = rest[2:] if rest[0] == "-t" else rest[1:]
    return rest


def decides_when_run(path: str, text: str) -> bool:
    """Tell whether a file that a session wrote decides something when it is run; documents are not run."""
    if path.lower().endswith(_DOCUMENT_SUFFIXES):
        return False
    typing = [line for line in text.splitlines() if _KEY_TYPING_CODE.search(line)]
    if any(sends_keys(command.words) for line in typing for command in shell.parse_commands(line)):
        return True
    if not OUR_NAME.search(text):
        return False
    if _SPAWN_CODE.search(text) and _QUOTED_VERB.search(text):
        return True
    return any(one.kind == RUNS and one.verb in invocations.DECIDING_VERBS for one in find_mentions(text))


def runs_programs(text: str, arms_git: bool = False) -> bool:
    """Tell whether a call runs more than programs that read and list.

    A git command may run a hook. `arms_git`: a session changed what git runs, so every git command counts.
    """
    listed = [command for command in shell.parse_commands(text) if command.words]
    return any(
        command.name not in invocations.INERT_PROGRAMS
        and (command.name != "git" or arms_git or not invocations.GIT_HOOK_COMMANDS.isdisjoint(command.words))
        for command in listed
    )
