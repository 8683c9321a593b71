"""Parse a shell command line into the simple commands that it would run.

`parse_commands` returns every command that may run, in order: both branches of an `if`, the body of a loop for each of
its known values, what `sudo`, `xargs`, `bash -c` and other wrappers run, and what runs inside `$(…)`. Text that is
only printed, searched for or written to a file is not a command.

It never raises, and its work is bounded: past the limits below it returns what it has found. A guard is a help against
mistakes, not a sandbox, so what cannot be understood counts as harmless.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Optional

MAX_COMMANDS = 400
_MAX_COST = 7_000  # about a microsecond each
_MAX_VALUE = 4000
_MAX_TEXT = 250_000
_MAX_DEPTH = 16
_MAX_VALUES = 8
_SPLIT = "\x1f"  # between the words that one expansion makes
_WORD_END = frozenset(" \t\n;&|<>()")
_PLAIN_END = frozenset(" \t\n;&|<>()'\"\\$`{")
_QUOTED_END = frozenset('"\\$`')
_NAME_START = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_")
_NAME = _NAME_START | frozenset("0123456789")
_SKIPPED_WORDS = frozenset(("then", "else", "elif", "do", "!", "coproc", "fi", "done", "esac", "}"))
_CLOSERS = {"if": "fi", "while": "done", "until": "done", "{": "}"}


class Command:
    """Describe one simple command: its program, its words, and where its input and output go."""

    __slots__ = (
        "args",
        "env",
        "folder",
        "is_remote",
        "name",
        "outer",
        "output",
        "program",
        "reads",
        "sources",
        "stdin",
        "writes",
    )

    def __init__(self, words: list[str], folder: str) -> None:
        self.program = words[0] if words else ""
        self.name = get_program_name(self.program)
        self.args = words[1:]
        self.env: dict[str, str] = {}
        self.writes: list[str] = []  # files that redirects write to
        self.reads: list[str] = []  # files that redirects read
        self.stdin: Optional[str] = None  # the text it reads, if it is known
        self.output: Optional[str] = None  # the text it prints, if it is known
        self.sources: list[str] = []  # programs whose output it reads or is given
        self.folder = folder  # where it runs, relative to where the line starts
        self.is_remote = False  # runs in a container or on another machine
        self.outer: tuple[str, ...] = ()  # programs that run it, such as `sudo` and `npx`

    def __repr__(self) -> str:
        return "Command(%s)" % " ".join([self.name, *self.args])


class _TooMuch(Exception):
    """Stop reading: a limit is reached."""


class _State:
    """Hold what the shell knows while it reads: variables, functions, the folder, and the commands found."""

    def __init__(self, run_words: Callable[[_State, Command, list[str]], None]) -> None:
        self.run_words = run_words
        self.found: list[Command] = []
        self.variables: dict[str, str] = {}
        self.exported: dict[str, str] = {}
        self.functions: dict[str, str] = {}
        self.aliases: dict[str, str] = {}
        self.folder = ""
        self.upstream: list[Command] = []
        self.is_remote = False
        self.cost = self.read = self.depth = 0

    def spend(self, cost: int) -> None:
        """Count work, and stop when there was too much of it."""
        self.cost += cost
        if self.cost > _MAX_COST:
            raise _TooMuch

    def add(self, command: Command) -> None:
        """Record a command."""
        if len(self.found) >= MAX_COMMANDS:
            raise _TooMuch
        command.is_remote = self.is_remote
        self.found.append(command)

    def read_text(self, text: str) -> None:
        """Read a text as shell commands in this state."""
        self.read += len(text)
        if self.read > _MAX_TEXT or self.depth >= _MAX_DEPTH:
            raise _TooMuch
        self.depth += 1
        try:
            _Reader(text, self).read_list("")
        finally:
            self.depth -= 1


def parse_commands(text: str) -> list[Command]:
    """Return the commands that a command line would run, in order."""
    from reflect_git.guards.wrappers import run_words  # it imports this module

    state = _State(run_words)
    try:
        state.read_text(text.replace("\r\n", "\n"))
    except Exception:  # noqa: BLE001, S110, RUF100 - a line that cannot be read must not stop the call
        pass
    return state.found


def get_program_name(word: str) -> str:
    """Return the name of a program without its folder and without `.exe`."""
    name = word.replace("\\", "/").rsplit("/", 1)[-1]
    return name[:-4] if name[-4:].lower() in (".exe", ".cmd") else name


class _Reader:
    """Read one text from left to right."""

    def __init__(self, text: str, state: _State) -> None:
        self.text = text
        self.size = len(text)
        self.at = 0
        self.state = state
        self.bodies: dict[int, tuple[str, bool]] = {}  # text of the heredoc whose end mark is at a position
        self.line_ends: dict[int, int] = {}  # where to go on behind a line with heredocs

    # Lists and compound commands

    def read_list(self, closer: str) -> None:  # noqa: C901 - one branch for each character
        """Read commands up to a closing word or bracket, or to the end of the text."""
        state, text = self.state, self.text
        outer = state.upstream
        start, is_piped = len(state.found), False
        while self.at < self.size:
            char = text[self.at]
            if char in " \t":
                self.at += 1
            elif char == "\\" and text[self.at + 1 : self.at + 2] == "\n":
                self.at += 2
            elif char == "\n":
                self.skip_line_end()
                state.spend(1)
                if not is_piped:
                    start, state.upstream = len(state.found), outer
            elif char == "#":
                end = text.find("\n", self.at)
                self.at = end if end >= 0 else self.size
            elif char == "|" and text[self.at + 1 : self.at + 2] != "|":
                self.at += 2 if text[self.at + 1 : self.at + 2] == "&" else 1
                state.upstream = outer + state.found[start:][-20:]
                is_piped = True
            elif char in ";&|" and not (char == "&" and text[self.at + 1 : self.at + 2] == ">"):
                if closer == "esac" and text.startswith((";;", ";&"), self.at):
                    break
                self.at += 2 if text[self.at + 1 : self.at + 2] == char else 1
                start, state.upstream, is_piped = len(state.found), outer, False
            elif char == ")":
                if closer == ")":
                    break
                self.at += 1
            elif char == "(":
                is_piped = False
                self.read_brackets()
            else:
                is_piped = False
                if self.read_command(closer):
                    break
        state.upstream = outer

    def read_brackets(self) -> None:
        """Read `(…)` as a subshell, whose variables and folder are its own, or skip `((…))`."""
        if self.text.startswith("((", self.at):
            self.at += 2
            self.skip_arithmetic()
            return
        self.at += 1
        self.read_inside(")")
        self.at += 1

    def read_inside(self, closer: str) -> None:
        """Read a list in a subshell."""
        state = self.state
        state.spend(10)
        if state.depth >= _MAX_DEPTH:
            raise _TooMuch
        saved = state.variables, state.exported, state.folder, state.functions
        state.variables, state.exported = dict(saved[0]), dict(saved[1])
        state.functions = dict(saved[3])
        state.depth += 1
        self.read_list(closer)
        state.depth -= 1
        state.variables, state.exported, state.folder, state.functions = saved

    def read_compound(self, word: str) -> None:
        """Read what follows a word that opens a compound command."""
        if self.state.depth >= _MAX_DEPTH:
            raise _TooMuch
        self.state.depth += 1
        if word in ("for", "select"):
            self.read_for()
        elif word == "case":
            self.read_case()
        elif word == "function":
            self.skip_space()
            name = self.read_plain()
            self.skip_space()
            if self.text.startswith("()", self.at):
                self.at += 2
            self.read_function(name)
        elif word == "[[":
            self.read_test()
        else:
            self.read_list(_CLOSERS[word])
        self.state.depth -= 1

    def read_for(self) -> None:
        """Read a loop once for each known value of its variable."""
        self.skip_space()
        if self.text.startswith("((", self.at):
            self.at += 2
            self.skip_arithmetic()
            name, values = "", [""]
        else:
            name, values = self.read_plain(), []
            self.skip_space(newlines=True)
            if self.text.startswith("in", self.at) and self.text[self.at + 2 : self.at + 3] in (" ", "\t", "\n", ""):
                self.at += 2
                self.skip_space()
                while self.at < self.size and self.text[self.at] not in ";\n&|)":
                    before = self.at
                    values += self.read_word()
                    self.skip_space()
                    if self.at == before:
                        self.at += 1
        start, known = self.at, list(dict.fromkeys(values))[:_MAX_VALUES] or ["$" + name]
        end = start
        for value in known:
            self.at = start
            if name:
                self.state.variables[name] = value
            self.read_list("done")
            end = self.at
        self.at = end

    def read_case(self) -> None:
        """Read all branches of a `case`."""
        self.skip_space()
        self.read_word()
        self.skip_space(newlines=True)
        if self.text.startswith("in", self.at):
            self.at += 2
        while self.at < self.size:
            self.skip_space(newlines=True)
            if self.text.startswith("esac", self.at):
                self.at += 4
                return
            if self.text.startswith("(", self.at):
                self.at += 1
            while self.at < self.size and self.text[self.at] != ")":
                before = self.at
                self.read_word()
                self.at += self.at == before
            self.at += 1
            self.read_list("esac")
            if self.text.startswith(";", self.at):
                while self.at < self.size and self.text[self.at] in ";&":
                    self.at += 1
            else:
                return

    def read_test(self) -> None:
        """Read `[[ … ]]`: nothing runs in it but `$(…)`."""
        while self.at < self.size:
            self.skip_space(newlines=True)
            before = self.at
            if self.read_word() == ["]]"]:
                return
            self.at += self.at == before

    def read_function(self, name: str) -> None:
        """Read the body of a function, to be run when it is called."""
        self.skip_space(newlines=True)
        state, start = self.state, self.at
        found, state.found = state.found, []
        saved = dict(state.variables), dict(state.exported), state.folder
        try:
            if self.text.startswith("(", self.at):
                self.read_brackets()
            elif self.text.startswith("{", self.at):
                self.at += 1
                self.read_list("}")
        finally:
            state.found = found
            state.variables, state.exported, state.folder = saved
        if name and self.at > start:
            state.functions[name] = self.text[start : self.at]

    # Simple commands

    def read_command(self, closer: str) -> bool:
        """Read one simple command and run it; return whether it was the word that closes the list."""
        state = self.state
        state.spend(10)
        first = len(state.found)
        words: list[str] = []
        command = Command([], state.folder)
        try:
            is_closer = self.read_words(command, words, closer)
        except _TooMuch:
            if words and len(state.found) < MAX_COMMANDS:  # what a line begins with counts, however long it is
                command.program, command.name, command.args = words[0], get_program_name(words[0]), words[1:]
                state.add(command)
            raise
        if is_closer is None:
            self.finish_command(command, words, state.found[first:])
        return bool(is_closer)

    def read_words(self, command: Command, words: list[str], closer: str) -> Optional[bool]:  # noqa: C901 - one branch for each character
        """Read the words of a command; return None at its end, or whether a word closed the list instead."""
        state, text, size = self.state, self.text, self.size
        has_words = False
        while self.at < size:
            char = text[self.at]
            if char in " \t":
                self.at += 1
                continue
            if (char in "<>" or char in "0123456789&{") and self.read_redirect(command, words):
                has_words = True
                continue
            if char in "\n;|)&":
                break
            if char == "#" and text[self.at - 1 : self.at] in ("", " ", "\t", "\n", ";"):
                break
            if char == "(":
                end = text.find(")", self.at, self.at + 9)
                if len(words) == 1 and end > 0 and not text[self.at + 1 : end].strip():
                    self.at = end + 1
                    self.read_function(words[0])
                    return False
                self.at += 1
                continue
            begin = at = self.at
            if words:
                while at < size and text[at] not in _PLAIN_END:
                    at += 1
                if at > begin and (at == size or text[at] in _WORD_END):  # most words need no more than this
                    words.append(text[begin:at])
                    self.at = at
                    state.spend(1)
                    continue
            elif self.read_assignment(command):
                has_words = True
                continue
            made = self.read_word()
            if self.at == begin:
                self.at += 1
                continue
            if not has_words:
                word = text[begin : self.at]
                if word == closer and closer not in (")", ""):
                    return True
                if word in _SKIPPED_WORDS:
                    return False
                if word in _CLOSERS or word in ("for", "select", "case", "function", "[["):
                    self.read_compound(word)
                    return False
            has_words = True
            words += made
        return None

    def finish_command(self, command: Command, words: list[str], inner: list[Command]) -> None:
        """Record a command with what it reads, then what it runs itself."""
        state = self.state
        if not words:
            state.variables.update(command.env)
            state.exported.update({name: value for name, value in command.env.items() if name in state.exported})
            if command.writes:
                state.add(command)
            return
        if command.stdin is None and state.upstream:
            command.stdin = state.upstream[-1].output
        command.sources = [each.name for each in state.upstream] + [each.name for each in inner]
        state.run_words(state, command, words)

    def read_assignment(self, command: Command) -> bool:
        """Read `NAME=value` into the environment of the command; return whether there was one."""
        text, at = self.text, self.at
        if text[at] not in _NAME_START:
            return False
        while at < self.size and text[at] in _NAME:
            at += 1
        name = text[self.at : at]
        adds = text.startswith("+=", at)
        if not adds and text[at : at + 1] != "=":
            return False
        self.at = at + (2 if adds else 1)
        if text.startswith("(", self.at):
            value = self.read_array()
        elif self.at < self.size and text[self.at] not in _WORD_END:
            value = _SPLIT.join(self.read_word(keeps_spaces=True))
        else:
            value = ""
        self.state.spend(3)
        command.env[name] = (self.state.variables.get(name, "") + value if adds else value)[:_MAX_VALUE]
        return True

    def read_array(self) -> str:
        """Read the words of `(…)` after `=`."""
        self.at += 1
        words: list[str] = []
        while self.at < self.size:
            self.skip_space(newlines=True)
            if self.text.startswith(")", self.at):
                self.at += 1
                break
            before = self.at
            words += self.read_word()
            self.at += self.at == before
        return _SPLIT.join(words)

    def read_redirect(self, command: Command, words: list[str]) -> bool:  # noqa: C901 - one branch for each character
        """Read a redirection, or `<(…)` as a word; return whether there was one."""
        self.state.spend(3)
        text, at = self.text, self.at
        if text[at] == "{":
            end = text.find("}", at)
            if end < 0 or text[end + 1 : end + 2] not in ("<", ">") or not text[at + 1 : end].isidentifier():
                return False
            at = end + 1
        elif text[at] == "&":
            if text[at + 1 : at + 2] != ">":
                return False
            at += 1
        else:
            while at < self.size and text[at] in "0123456789":
                at += 1
            if text[at : at + 1] not in ("<", ">"):
                return False
        sign = text[at]
        if text[at + 1 : at + 2] == "(" and at == self.at:
            self.at += 2
            self.read_inside(")")
            self.at += 1
            words.append("/dev/fd/63")
            return True
        for operator in ("<<<", "<<-", "<<", "<>", "<&", "<", ">>", ">|", ">&", ">"):
            if text.startswith(operator, at):
                break
        self.at = at + len(operator)
        self.skip_space()
        if operator in ("<<", "<<-"):
            self.read_heredoc(operator == "<<-", command)
            return True
        target = "".join(self.read_word(keeps_spaces=True))
        if operator == "<<<":
            command.stdin = target + "\n"
        elif operator in (">&", "<&") and (target == "-" or target.rstrip("-").isdigit()):
            pass
        elif sign == ">":
            command.writes.append(target)
        else:
            command.reads.append(target)
        return True

    def read_heredoc(self, strips_tabs: bool, command: Command) -> None:
        """Read the end mark of a heredoc, and its text from the next line on."""
        begin = self.at
        mark = self.read_raw_word()
        if begin not in self.bodies:  # the body of a loop is read several times
            is_quoted = any(char in "'\"\\" for char in self.text[begin : self.at])
            self.bodies[begin] = self.find_heredoc(mark, strips_tabs), is_quoted
        body, is_quoted = self.bodies[begin]
        if not is_quoted and ("$" in body or "`" in body):
            body = _Reader(body, self.state).read_double(is_heredoc=True)
        command.stdin = body

    def find_heredoc(self, mark: str, strips_tabs: bool) -> str:
        """Return the lines from the next line to the end mark, and remember where the line after them begins."""
        line_end = self.text.find("\n", self.at)
        if line_end < 0:
            return ""
        at = self.line_ends.get(line_end, line_end + 1)
        lines: list[str] = []
        while at < self.size:
            end = self.text.find("\n", at)
            end = end if end >= 0 else self.size
            line = self.text[at:end]
            if strips_tabs:
                line = line.lstrip("\t")
            if end == self.size and line != mark and line.rstrip(')`"') == mark:
                at += len(mark)  # `EOF)` on the last line
                break
            at = end + 1
            if line == mark:
                break
            lines.append(line)
        self.line_ends[line_end] = min(at, self.size)
        return "".join([line + "\n" for line in lines])

    def skip_line_end(self) -> None:
        """Go on behind a line end, and behind the heredocs that follow it."""
        self.at = self.line_ends.get(self.at, self.at + 1)

    # Words

    def skip_space(self, newlines: bool = False) -> None:
        """Skip blanks and escaped line ends, and line ends and comments if asked."""
        text = self.text
        while self.at < self.size:
            char = text[self.at]
            if char in " \t":
                self.at += 1
            elif char == "\\" and text[self.at + 1 : self.at + 2] == "\n":
                self.at += 2
            elif newlines and char == "\n":
                self.skip_line_end()
            elif newlines and char == "#":
                end = text.find("\n", self.at)
                self.at = end if end >= 0 else self.size
            else:
                return

    def read_plain(self) -> str:
        """Read a word without expansions, such as the name of a variable."""
        begin = self.at
        while self.at < self.size and self.text[self.at] not in _PLAIN_END:
            self.at += 1
        return self.text[begin : self.at]

    def read_raw_word(self) -> str:
        """Read the end mark of a heredoc: quotes are removed, nothing is expanded."""
        parts: list[str] = []
        while self.at < self.size and self.text[self.at] not in _WORD_END:
            char = self.text[self.at]
            if char in "'\"":
                end = self.text.find(char, self.at + 1)
                end = end if end >= 0 else self.size
                parts.append(self.text[self.at + 1 : end])
                self.at = end + 1
            else:
                self.at += 1
                if char != "\\":
                    parts.append(char)
        return "".join(parts)

    def read_word(self, keeps_spaces: bool = False) -> list[str]:  # noqa: C901 - one branch for each character
        """Read one word and return the words that its expansion makes."""
        text, size = self.text, self.size
        self.state.spend(2)
        parts: list[str] = []
        has_quotes = has_braces = False
        while self.at < size:
            char = text[self.at]
            if char in _WORD_END:
                break
            if char == "'":
                end = text.find("'", self.at + 1)
                end = end if end >= 0 else size
                parts.append(text[self.at + 1 : end])
                self.at, has_quotes = end + 1, True
                self.state.spend(1)
            elif char == '"':
                self.at += 1
                parts.append(self.read_double())
                has_quotes = True
            elif char == "\\":
                if text[self.at + 1 : self.at + 2] != "\n":
                    parts.append(text[self.at + 1 : self.at + 2])
                    has_quotes = True
                self.at += 2
            elif char == "$" and text[self.at + 1 : self.at + 2] in ("'", '"'):
                self.at += 1
                if text[self.at] == "'":
                    parts.append(self.read_ansi())
                    has_quotes = True
            elif char in "$`":
                value = self.read_dollar() if char == "$" else self.read_backticks()
                parts.append(value if keeps_spaces else _split_value(value))
            else:
                begin = self.at
                self.at += 1
                while self.at < size and text[self.at] not in _PLAIN_END:
                    self.at += 1
                parts.append(text[begin : self.at])
                has_braces = has_braces or char == "{"
        word = "".join(parts)
        if len(word) > _MAX_VALUE:
            self.state.spend(len(word) // 500)
        if _SPLIT in word:
            self.state.spend(word.count(_SPLIT))
            return [part for part in word.split(_SPLIT) if part] or ([""] if has_quotes else [])
        if has_braces and not has_quotes and not keeps_spaces:
            return expand_braces(word)
        return [word] if word or has_quotes else []

    def read_double(self, is_heredoc: bool = False) -> str:
        """Read a text in double quotes, from behind the first one to behind the last."""
        text, size = self.text, self.size
        end = size if is_heredoc else text.find('"', self.at)
        inside = text[self.at : end] if end >= 0 else "$"
        if "$" not in inside and "`" not in inside and "\\" not in inside:
            self.at = end + 1
            return inside
        parts: list[str] = []
        while self.at < size:
            char = text[self.at]
            if char == '"' and not is_heredoc:
                self.at += 1
                break
            self.state.spend(1)
            if char == "\\":
                following = text[self.at + 1 : self.at + 2]
                if following != "\n":
                    parts.append(following if following in ("$", "`", '"', "\\") else "\\" + following)
                self.at += 2
            elif char == "$":
                parts.append(self.read_dollar())
            elif char == "`":
                parts.append(self.read_backticks())
            else:
                begin = self.at
                self.at += 1
                while self.at < size and text[self.at] not in _QUOTED_END:
                    self.at += 1
                parts.append(text[begin : self.at])
        return "".join(parts)

    def read_ansi(self) -> str:
        """Read `$'…'` from its quote on."""
        self.at += 1
        parts: list[str] = []
        while self.at < self.size and self.text[self.at] != "'":
            char = self.text[self.at]
            if char == "\\":
                self.at += 1
                char = self.text[self.at : self.at + 1]
                char = {"n": "\n", "t": "\t", "r": "\r"}.get(char, char)
            parts.append(char)
            self.at += 1
        self.at += 1
        return "".join(parts)

    def read_dollar(self) -> str:
        """Read what begins with `$` and return its value; an unknown variable stays as it is written."""
        self.state.spend(4)
        text = self.text
        following = text[self.at + 1 : self.at + 2]
        if following == "(":
            if text.startswith("$((", self.at):
                self.at += 3
                self.skip_arithmetic()
                return "0"
            self.at += 2
            return self.read_substitution()
        if following == "{":
            self.at += 2
            return self.read_parameter()
        if following in _NAME_START and following:
            end = self.at + 1
            while end < self.size and text[end] in _NAME:
                end += 1
            name = text[self.at + 1 : end]
            self.at = end
            return self.state.variables.get(name, "$" + name)
        if following in tuple("0123456789@*#?$!-"):
            self.at += 2
            return self.state.variables.get(following, "" if following in "@*" else "$" + following)
        self.at += 1
        return "$"

    def read_parameter(self) -> str:  # noqa: C901 - one branch for each character
        """Read `${…}` from behind its bracket and return its value."""
        text, begin = self.text, self.at
        variables = self.state.variables
        if text[self.at : self.at + 1] in ("!", "#") and text[self.at + 1 : self.at + 2] != "}":
            self.at += 1
        start = self.at
        while self.at < self.size and text[self.at] in _NAME:
            self.at += 1
        if self.at == start and self.at < self.size and text[self.at] in "@*#?$!-":
            self.at += 1
        name = text[start : self.at]
        if text.startswith(("[@]", "[*]"), self.at):
            self.at += 3
        operator_at = self.at
        parts: list[str] = []
        while self.at < self.size and text[self.at] != "}":
            self.state.spend(1)
            char = text[self.at]
            if char == "'":
                end = text.find("'", self.at + 1)
                end = end if end >= 0 else self.size
                parts.append(text[self.at + 1 : end])
                self.at = end + 1
            elif char == '"':
                self.at += 1
                parts.append(self.read_double())
            elif char == "\\":
                parts.append(text[self.at + 1 : self.at + 2])
                self.at += 2
            elif char == "$":
                parts.append(self.read_dollar())
            elif char == "`":
                parts.append(self.read_backticks())
            else:
                parts.append(char)
                self.at += 1
        self.at += 1
        rest, operator = "".join(parts), text[operator_at : operator_at + 2]
        if start != begin:
            return "${" + text[begin:operator_at] + "}"
        if operator[:1] in ("-", "=") or operator in (":-", ":="):
            default = rest[2:] if operator[:1] == ":" else rest[1:]
            return variables.get(name) or default
        if operator[:1] == "+" or operator == ":+":
            return (rest[2:] if operator[:1] == ":" else rest[1:]) if variables.get(name) else ""
        return variables.get(name, "" if name in "@*" else "$" + name)

    def read_substitution(self) -> str:
        """Read `$(…)` from behind its bracket and return what it prints, if that is known."""
        state = self.state
        first = len(state.found)
        upstream, state.upstream = state.upstream, []
        begin = self.at
        self.read_inside(")")
        inside = self.text[begin : self.at].strip()
        self.at += 1
        state.upstream = upstream
        made = state.found[first:]
        if inside[:1] == "<" and not made:
            return "$(" + inside + ")"
        if len(made) == 1 and made[0].output is not None and not made[0].writes:
            return made[0].output.rstrip("\n")
        return "$()"

    def read_backticks(self) -> str:
        """Read a command in backticks and return what it prints, if that is known."""
        end = self.at + 1
        while end < self.size and self.text[end] != "`":
            end += 2 if self.text[end] == "\\" else 1
        inside = self.text[self.at + 1 : end]
        self.at = end + 1
        for escaped in ("\\`", "\\$", "\\\\"):
            inside = inside.replace(escaped, escaped[1])
        state = self.state
        state.read += len(inside)
        if state.read > _MAX_TEXT or state.depth >= _MAX_DEPTH:
            raise _TooMuch
        state.depth += 1
        value = _Reader(inside + ")", state).read_substitution()
        state.depth -= 1
        return value

    def skip_arithmetic(self) -> None:
        """Skip to behind `))`; commands in `$(…)` run there as well."""
        depth = 0
        while self.at < self.size:
            char = self.text[self.at]
            self.state.spend(1)
            if char == "$" and self.text.startswith("$(", self.at):
                self.read_dollar()
                continue
            if char == ")" and depth == 0:
                self.at += 2
                return
            depth += (char == "(") - (char == ")")
            self.at += 1


def _split_value(value: str) -> str:
    """Mark where the value of an unquoted expansion is split into words."""
    if value.startswith("$(") or not any(char in " \t\n" for char in value):
        return value
    return _SPLIT.join(value.split())


def expand_braces(word: str) -> list[str]:
    """Return the words that `{a,b}` in an unquoted word makes."""
    made, done = [word], False
    while not done and len(made) < _MAX_VALUES * 2:
        done = True
        following: list[str] = []
        for each in made:
            begin = each.rfind("{")
            end = each.find("}", begin)
            if begin < 0 or end < 0 or "," not in each[begin:end] or each[begin - 1 : begin] == "$":
                following.append(each)
                continue
            done = False
            choices: Iterable[str] = each[begin + 1 : end].split(",")
            following += [each[:begin] + choice + each[end + 1 :] for choice in choices]
        made = following
    return [each for each in made if each]
