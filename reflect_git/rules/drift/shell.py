"""Parse a Bash command line into simple commands, with their words, redirections and input.

This is not a shell. It parses what a transcript shows: quotes, heredocs, substitutions, and variables assigned in the
same text. Unknown values are UNKNOWN. It never fails: a text that ends inside a quote ends there.
"""

from __future__ import annotations

import base64
import binascii
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

UNKNOWN = "\0"
_MAX_DEPTH = 8
_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)(\+?)=(.*)", re.DOTALL)
_NAME = re.compile(r"[A-Za-z_]\w*|[0-9@*#?$!-]")
_RESERVED = frozenset(
    ("if", "then", "else", "elif", "do", "while", "until", "!", "{", "}", "time", "fi", "done", "esac")
)
_DECLARATIONS = frozenset(("export", "declare", "local", "readonly", "typeset"))
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "e": "\x1b", "\\": "\\", "'": "'", '"': '"', "0": "\0"}
# A one-statement program that prints a text.
PRINT_STATEMENT = re.compile(r"""\s*(?:print|puts|console\.log)\b\s*\(?\s*(['"])([^'"`$#\\]*)\1\s*\)?\s*;?\s*""")
_ESCAPE_SEQUENCE = re.compile(r"\\(x[0-9A-Fa-f]{1,2}|u[0-9A-Fa-f]{1,4}|0?[0-7]{1,3}|.)", re.DOTALL)


@dataclass
class Command:
    """One simple command.

    `input`: its literal standard input, UNKNOWN if it cannot be determined, None without one. `piped_from`: the command
    before it in a pipeline. `variables`: those assigned so far.
    """

    words: list[str] = field(default_factory=list)
    redirects: list[tuple[str, str]] = field(default_factory=list)
    input: str | None = None
    piped_from: Command | None = None
    variables: Mapping[str, str] = field(default_factory=dict)
    is_background: bool = False

    @property
    def name(self) -> str:
        """Return the last part of the path of the program."""
        return self.words[0].rpartition("/")[2] if self.words else ""


def parse_commands(
    text: str, variables: Mapping[str, str] | None = None, depth: int = 0, files: Mapping[str, str] | None = None
) -> list[Command]:  # fmt: skip
    """Return the simple commands of a text, including those in substitutions, in order of appearance.

    `files` are texts by path that a substitution may print.
    """
    reader = _Parser(text, dict(variables or {}), depth, files or {})
    reader.parse()
    return [one for one in reader.commands if one.words or one.redirects]


class _Parser:
    """A parser over one text; `commands` collects the commands."""

    def __init__(self, text: str, variables: dict[str, str], depth: int, files: Mapping[str, str]) -> None:
        self.text, self.at, self.depth = text.replace("\\\n", ""), 0, depth
        self.variables, self.files = variables, files
        self.commands: list[Command] = []
        self.command = Command()
        self.word: list[str] | None = None
        self.operator = ""  # a redirection that awaits its target
        self.is_quoted = False  # the word contains quotes: a heredoc with this delimiter is not expanded
        self.heredocs: list[tuple[Command, str, bool, bool]] = []

    def parse(self) -> None:
        while self.at < len(self.text):
            character = self.text[self.at]
            if character in " \t":
                self._end_word()
                self.at += 1
            elif character == "\n":
                self._end_command()
                self.at += 1
                self._read_heredocs()
            elif character == "#" and self.word is None:
                end = self.text.find("\n", self.at)
                self.at = end if end >= 0 else len(self.text)
            elif character in "<>" or self.text.startswith("&>", self.at):
                self._read_redirect()
            elif character in ";|&()":
                self._read_separator()
            else:
                self._read_piece()
        self._end_command()

    def _read_piece(self) -> None:
        """Add what is at this position to the word: a quotation, an expansion, an escape or one character."""
        character, text = self.text[self.at], self.text
        self.is_quoted = self.is_quoted or character in "'\"\\"
        if character == "'":
            end = text.find("'", self.at + 1)
            end = end if end >= 0 else len(text)
            self._add(text[self.at + 1 : end])
            self.at = end + 1
        elif text.startswith("$'", self.at):
            match = re.compile(r"(?:[^'\\]|\\.)*", re.DOTALL).match(text, self.at + 2)
            end = match.end() if match else len(text)
            self._add(unescape(text[self.at + 2 : end]))
            self.at = end + 1
        elif character == '"':
            self.at += 1
            self._read_double()
        elif character in "$`":
            self._add(self._expand())
        elif character == "\\":
            self._add(text[self.at + 1 : self.at + 2])
            self.at += 2
        else:
            self._add(character)
            self.at += 1

    def _read_double(self) -> None:
        self._add("")
        while self.at < len(self.text) and self.text[self.at] != '"':
            character = self.text[self.at]
            if character in "$`":
                self._add(self._expand())
            elif character == "\\" and self.text[self.at + 1 : self.at + 2] in ('"', "\\", "$", "`"):
                self._add(self.text[self.at + 1])
                self.at += 2
            else:
                self._add(character)
                self.at += 1
        self.at += 1

    def _add(self, text: str) -> None:
        if self.word is None:
            self.word = []
        self.word.append(text)

    def _expand(self) -> str:
        """Return the value of `$x`, `${x}`, `$(…)` or a pair of backticks, as far as this text shows it."""
        text, at = self.text, self.at
        if text[at] == "`":
            end = text.find("`", at + 1)
            end = end if end >= 0 else len(text)
            self.at = end + 1
            return self._substitute(text[at + 1 : end])
        if text.startswith("$(", at):
            end = _find_closing(text, at + 1)
            self.at = end + 1
            if text.startswith("$((", at):
                self._expand_all(text[at + 3 : end])
                return UNKNOWN
            return self._substitute(text[at + 2 : end])
        if text.startswith("${", at):
            end = _find_closing(text, at + 1, "{}")
            self.at = end + 1
            return self._expand_braces(text[at + 2 : end])
        name = _NAME.match(text, at + 1)
        self.at = name.end() if name else at + 1
        return self.variables.get(name[0], UNKNOWN) if name else "$"

    def _expand_braces(self, inner: str) -> str:
        """Return the value of the inside of `${…}`; a default counts if the variable is unknown."""
        default = re.fullmatch(r"(\w+):?[-=+](.*)", inner, re.DOTALL)
        if default and not self.variables.get(default[1]):
            given = re.sub(r"""^(['"])(.*)\1$""", r"\2", default[2], flags=re.DOTALL)
            return self._expand_all(given) or UNKNOWN
        changed = re.fullmatch(r"(\w+)(//?|##?|%%?|,,?|\^\^?|:)(.*)", inner, re.DOTALL)
        if changed and not default:
            return _transform_value(self.variables.get(changed[1], UNKNOWN), changed[2], changed[3])
        return self.variables.get(default[1] if default else re.sub(r"\[[@*0]\]$", "", inner), UNKNOWN)

    def _expand_all(self, text: str) -> str:
        """Return a text with its expansions resolved, as in double quotes; also collect their commands."""
        if self.depth >= _MAX_DEPTH or not {"$", "`"} & set(text):
            return text
        reader = _Parser(text.replace('"', '\\"'), self.variables, self.depth + 1, self.files)
        reader._read_double()
        self.commands += reader.commands
        return "".join(reader.word or ())

    def _substitute(self, inner: str) -> str:
        if self.depth >= _MAX_DEPTH:
            return UNKNOWN
        listed = parse_commands(inner, self.variables, self.depth + 1, self.files)
        self.commands += listed
        return (output_of(listed[-1], self.files) or UNKNOWN).rstrip("\n") if listed else ""

    def _read_redirect(self) -> None:
        match = re.compile(r"&>>?|<<<|<<-?|<>|[<>]\(|>>|>\||[<>]&?").match(self.text, self.at)
        operator = match[0] if match else self.text[self.at]
        if operator in ("<(", ">("):
            end = _find_closing(self.text, self.at + 1)
            inner = self.text[self.at + 2 : end]
            listed = (
                parse_commands(inner, self.variables, self.depth + 1, self.files) if self.depth < _MAX_DEPTH else []
            )
            self.commands += listed
            self._add((output_of(listed[-1], self.files) if listed else "") or UNKNOWN)
            self.at = end + 1
            return
        if self.word is not None and "".join(self.word).isdigit():
            self.word = None  # a file descriptor number
        self._end_word()
        self.at += len(operator)
        self.operator = operator

    def _read_separator(self) -> None:
        character = self.text[self.at]
        is_pipe = character == "|" and not self.text.startswith("||", self.at)
        is_background = character == "&" and not self.text.startswith("&&", self.at)
        self._end_word()
        # A pipe after a group reads the output of its last command.
        before = self.command if self.command.words or not self.commands else self.commands[-1]
        self._end_command(is_background)
        if is_pipe:
            self.command.piped_from = before
        self.at += 1

    def _end_word(self) -> None:
        if self.word is None:
            return
        word, operator, is_quoted = "".join(self.word), self.operator, self.is_quoted
        self.word, self.operator, self.is_quoted = None, "", False
        if operator.startswith("<<") and operator != "<<<":
            self.heredocs.append((self.command, word, operator == "<<-", is_quoted))
        elif operator == "<<<":
            self.command.input = word
        elif operator:
            self.command.redirects.append((operator, word))
        elif self.command.words or word not in _RESERVED:
            assigned = _ASSIGNMENT.fullmatch(word)
            if assigned and (not self.command.words or self.command.words[0] in _DECLARATIONS):
                before = self.variables.get(assigned[1], "") if assigned[2] else ""
                self.variables[assigned[1]] = before + assigned[3]
            else:
                self.command.words.append(word)

    def _end_command(self, is_background: bool = False) -> None:
        self._end_word()
        command = self.command
        command.is_background = is_background
        command.variables = dict(self.variables)
        if command.words[:1] == ["for"] and len(command.words) > 3:
            values = command.words[3:]
            self.variables[command.words[1]] = values[0] if len(values) == 1 else UNKNOWN
            command.words = []
        elif command.words[:1] in (["read"], ["mapfile"], ["readarray"]):
            text = input_of(command, self.files) or UNKNOWN
            self.variables.update(dict.fromkeys(command.words[1:], text.rstrip("\n")))
        elif command.words[:2] == ["printf", "-v"] and len(command.words) > 3:
            self.variables[command.words[2]] = _format_printf(command.words[3], command.words[4:])
        if command.words or command.redirects:
            self.commands.append(command)
        if command.words or command.redirects or command.piped_from is None:
            self.command = Command()

    def _read_heredocs(self) -> None:
        for command, end, strips, is_quoted in self.heredocs:
            lines = []
            while self.at < len(self.text):
                cut = self.text.find("\n", self.at)
                cut = cut if cut >= 0 else len(self.text)
                line = self.text[self.at : cut]
                self.at = cut + 1
                line = line.lstrip("\t") if strips else line
                if line.strip() == end:
                    break
                lines.append(line)
            text = "".join(f"{line}\n" for line in lines)
            command.input = text if is_quoted else self._expand_all(text)
        self.heredocs = []


def _find_closing(text: str, at: int, pair: str = "()") -> int:
    """Return where the parenthesis or brace at this position is closed, skipping quotations."""
    depth, quote = 0, ""
    while at < len(text):
        character = text[at]
        if character == "\\" and quote != "'":
            at += 1
        elif quote:
            quote = "" if character == quote else quote
        elif character in "'\"":
            quote = character
        elif character in pair:
            depth += 1 if character == pair[0] else -1
            if not depth:
                return at
        at += 1
    return len(text)


def _transform_value(value: str, operator: str, rest: str) -> str:
    """Return a variable's value after `${x/a/b}`, `${x#a}`, `${x%a}`, `${x:1:2}` and `${x,,}`; patterns are literal."""
    if UNKNOWN in value or UNKNOWN in rest:
        return UNKNOWN
    if operator[0] in ",^":
        return value.lower() if operator[0] == "," else value.upper()
    if operator[0] == "/":
        old, _, new = rest.partition("/")
        return value.replace(old, new, -1 if operator == "//" else 1)
    if operator[0] in "#%":
        return value.removeprefix(rest) if operator[0] == "#" else value.removesuffix(rest)
    start, _, length = rest.strip().partition(":")
    if not (start.isdigit() and (length.isdigit() or not length)):
        return UNKNOWN
    return value[int(start) :][: int(length) if length else None]


def unescape(text: str) -> str:
    """Resolve the escapes of `printf`, `echo -e` and `$'…'`."""

    def one(match: re.Match[str]) -> str:
        code = match[1]
        if code[0] in "xu" and len(code) > 1:
            return chr(int(code[1:], 16))
        return chr(int(code, 8) & 0xFF) if code.isdigit() else _ESCAPES.get(code, match[0])

    return _ESCAPE_SEQUENCE.sub(one, text)


def input_of(command: Command, files: Mapping[str, str] | None = None) -> str | None:
    """Return the text that a command reads from a heredoc, a known file or a pipe; UNKNOWN if it is not known."""
    if command.input is not None:
        return command.input
    source = next((target for operator, target in command.redirects if operator in ("<", "<&", "<>")), "")
    if source:
        return _get_file_text(source, files)
    return output_of(command.piped_from, files) if command.piped_from is not None else None


def output_of(command: Command, files: Mapping[str, str] | None = None) -> str:
    """Return what a command prints, if its own words show it; else UNKNOWN."""
    rest = [word for word in command.words[1:] if not re.fullmatch(r"-[neE]+", word)]
    if command.name == "echo":
        return unescape(" ".join(rest)) + "\n"
    if command.name == "printf" and rest:
        return _format_printf(rest[0], rest[1:])
    if command.name in ("which", "realpath", "readlink") or command.words[:2] in (["command", "-v"], ["type", "-p"]):
        return command.words[-1]
    given = input_of(command, files)
    if command.name in ("cat", "tee", "rev") or (not command.words and given):  # `$(< file)`
        named = [word for word in rest if word == "-" or not word.startswith("-")] if command.name == "cat" else []
        known = [given or UNKNOWN if word == "-" else _get_file_text(word, files) for word in named] or [
            given or UNKNOWN
        ]
        text = "".join(known)
        return text.strip()[::-1] if command.name == "rev" else text
    printed = next((match for word in rest if (match := PRINT_STATEMENT.fullmatch(word))), None)
    if printed:
        return f"{printed[2]}\n"
    if command.name in ("base64", "xxd"):
        return _decode(command, given or UNKNOWN)
    # Any other program may print part of its input, after unknown text.
    read_by_name = (_get_file_text(word, files) for word in rest)
    known = [text for text in (*read_by_name, given or UNKNOWN) if UNKNOWN not in text]
    return "\n".join((UNKNOWN, *known))


def _get_file_text(path: str, files: Mapping[str, str] | None) -> str:
    listed = files or {}
    return listed.get(path, listed.get(path.rpartition("/")[2], UNKNOWN))


def _format_printf(form: str, values: Sequence[str]) -> str:
    text = unescape(form)
    for value in values:
        head, sign, tail = next((text.partition(one) for one in ("%s", "%b", "%q") if one in text), (text, "", ""))
        text = f"{head}{unescape(value) if sign != '%s' else value}{tail}"
    return text


def _decode(command: Command, text: str) -> str:
    """Return decoded base64 or hex, if the encoded text is known."""
    if UNKNOWN in text:
        return UNKNOWN
    try:
        data = (
            binascii.unhexlify("".join(text.split()))
            if command.name == "xxd"
            else base64.b64decode(text, validate=False)
        )
        return data.decode("utf-8", "replace")
    except (binascii.Error, ValueError):
        return UNKNOWN
