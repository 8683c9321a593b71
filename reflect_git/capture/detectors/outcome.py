"""Classify a failed call: a real obstacle, a failing test, or nothing of interest.

Programs report errors in words, so words decide. No patterns are compiled, because most transcripts contain few
failures.
"""

from __future__ import annotations

from reflect_git.capture.detectors import shell
from reflect_git.capture.detectors.common import get_input_text
from reflect_git.redact import flatten, redact

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Optional

    from reflect_git.capture.transcript import Turn
    from reflect_git.redact import Redacted

_READ_LIMIT = 1500  # at either end: errors explain themselves at the start or the end of the output
_MAX_LINES = 60
_LONG_LINE = 120
_MIN_SENTENCE_WORDS = 3  # words
_LINE_LIMIT = 160
_EXCERPT_LIMIT = 2048

# Real obstacles, whatever else the output says: tests that cannot reach their database also fail as tests.
_CERTAIN_MARKS = {
    "calling": (
        "command not found", "missing script", "no rule to make target", "unknown option", "unrecognized option",
        "unrecognized argument", "no such option", "invalid choice", "unknown flag", "unknown shorthand flag",
        "is not a git command", "unexpected argument", "unknown command", "no such command", "no such subcommand",
        "the following arguments are required", "error ts5", "error ts6", "error ts18003", "illegal option",
        "invalid option --", "not recognized as an internal", "couldn't find a script named", "named files must be",
        "invalid command code", "unknown file type", "no tests ran", "no test files", "unknown arguments",
        "no tests found", "file or directory not found", "bad interpreter", "is not recognized", "did not match any",
        "may not be empty", "[subject-", "[header-", "[type-", "conventional commit", "no projects matched",
        "does not match any", "protected branch", "build constraints exclude", "cannot use import statement outside",
        "err_require_esm", "unknown file extension",
        "unknown primary", "invalid option -- ", "bad option:", "unknown workspace", "no workspaces found",
        "[scope-", "[body-", "[footer-",
    ),
    "place": (
        "not a git repository", "could not find `cargo.toml`", "go.mod file not found", "no makefile found",
        "no configuration file provided", "could not read package.json", "can't open file", "not inside a",
        "package.json: no such file", "could not find a pyproject", "no such file or directory, open", "no pom in",
        "could not find a part of the path", "couldn't find a package.json", "no project found", "no targets specified",
    ),
    "surroundings": (
        "no module named", "cannot find package", "connection refused", "econnrefused", "permission denied",
        "eacces", "operation not permitted", "read-only file system", "externally-managed-environment",
        "docker daemon", "eaddrinuse", "address already in use", "port is already allocated",
        "unsupported engine", "is not installed", "not logged in", "authentication failed",
        "cannot open shared object", "library not loaded", "dubious ownership", "bad cpu type", "exec format error",
        "requires python", "certificate verify failed", "heap out of memory", "no space left", "eresolve",
        "environment variable not found", "command timed out after", "password authentication", "peer dep missing",
        "gpg failed to sign", "signing failed", "a terminal is required", "a password is required",
        "environment variable", "unsupported class file", "cannot connect", "could not connect", "can't connect",
        "unable to connect", "not installed", "digital envelope routines", "is incompatible with", "requires node",
        "no such container", "no such service", "executable doesn't exist", "sure it's installed",
        "is it installed", "host key verification failed", "publickey", "requires rustc", "requires go ", "was refused",
        "could not resolve host", "name resolution", "getaddrinfo", "network is unreachable", "no route to host",
        "error connecting to", "connect tunnel failed", "connection to server", "connectionnotestablished",
        "required scopes",
    ),
}  # fmt: skip
# Findings about the code itself, which tests, compilers and linters exist to report.
_CHECK_FAILURE_MARKS = (
    "assertionerror", "assertion failed", "tests failed", " failed,", "failed in ", "failed (", "test failed",
    "failures:", " failing", "--- fail", "✗", "✘", "✕", "not ok ", "error ts", "error[e", "could not compile",
    "problems (", "✖ ", "syntaxerror", "compilation failed", "compile error", "undefined reference", " failed\n",
    "cannot find symbol", "error: expected", "panicked at", "traceback (most recent", "typeerror", "referenceerror",
    "nameerror", "keyerror", "valueerror", "attributeerror", "would reformat", "code style issues", " errors in ",
    "is not assignable", "lint error", "type error", "expected:", "tests:       ", "obsolete snapshot", "1 failed",
    "failed tests", "build failed", "undefined:", "declared and not used", "importerror: cannot import name",
    " problems found", "error  ", "warnings generated", "errors generated", "test suites:", "fail  ",
    "cannot find module '.", "snapshot failed",
)  # fmt: skip
# Temporary: resolved, or already done, by the next attempt.
_TEMPORARY_MARKS = (
    "econnreset", "index.lock", "pathspec", "nothing to commit", "no changes added",
    "non-fast-forward", "fetch first", "[rejected]", "already exists", "conflict", "rate limit", "502 bad", "503 ",
    "would be overwritten", "commit your changes or stash", "unmerged", "temporarily unavailable", "try again later",
    "no upstream branch", "nothing added to commit", "unstaged changes", "uncommitted changes", "not fully merged",
    "bad gateway", "is already used by worktree", "overloaded", "is not mergeable",
)  # fmt: skip
# Dependency conflicts between packages are not temporary.
_LASTING_MARKS = (
    "eresolve",
    "dependency conflict",
    "conflicting dependencies",
    "version conflict",
    "resolutionimpossible",
)
_LIKELY_MARKS = {
    "calling": (
        "usage:", "did you mean", "invalid argument", "invalid value", "is not a valid", "not a valid", "too many arg",
        "cannot be used with", "mutually exclusive", "requires an argument", "is not supported", "unsupported",
        "no matches found:", "bad substitution", "unbound variable", "event not found", "parse error near",
        "syntax error near", "unexpected eof while looking", "must be", "not allowed", "was blocked", "is blocked",
        "blocked by", "unknown argument", "not found in registry", "may not be", "must not be", "no such target",
        "task not found", "target not found", "requires at least", "requires exactly", "missing required",
        ": not found", "please use", " instead", "only supports", "no longer supported",
        "extra characters at the end", "denied this tool", "must start with", "must match", "does not match",
        "must contain", "must follow", "must reference", "must include", "must have", "commit-msg",
        "available fields", "available options", "available commands", "valid options", "valid values",
        "possible values", "choose from", "expected one of", "again with", "rerun with", "re-run with", "with the --",
        "use the --", "pass --",
    ),
    "place": ("no such file or directory", "enoent", "does not contain a", "cannot find the path", "not found in"),
    "surroundings": (
        "cannot find module", "module not found", "unauthorized", "access denied", "credentials", "is not set",
        "is incompatible", "version mismatch", "certificate", "is not running", "no such image", "does not exist",
        "timed out", "toolchain", "forbidden",
        "no matching distribution", "unable to connect", "no matching version", "not permitted", "sdk location",
    ),
}  # fmt: skip
_ERROR_WORDS = (
    "error", "fatal", "fail", "cannot", "can't", "could not", "couldn't", "unable", "invalid", "denied", "refused",
    "missing", "exceed", "exception", "panic", "no such", "unknown", "abort", "must ", "required", "blocked", "not ",
    "fehler", "erreur", "errore", "ошибка", "错误", "失败", "エラー", "오류",
)  # fmt: skip
# From this exit code on, a checker reports that it could not run, rather than that it found something.
_USAGE_CODES = {"pytest": 4, "eslint": 2, "golangci-lint": 3, "mypy": 2, "prettier": 2, "ruff": 2}
# These check nothing. Whatever symbols they print, they could not do their work.
_USAGE_CODES.update(
    dict.fromkeys("wrangler terraform tofu kubectl helm aws gcloud az vercel netlify fly supabase".split(), 1)
)
# Queries for these are written on the spot, like an inline script.
_QUERY_TOOLS = frozenset("psql sqlite3 mysql mariadb mongosh duckdb bq ssh".split())
_CONTAINER_TOOLS = frozenset("docker podman nerdctl kubectl".split())
# For a forge: commands that report on checks, which may be failing or still running.
_FORGE_READ_COMMANDS = frozenset("checks watch view status list".split())
_GIT_READ_COMMANDS = frozenset(
    "diff log show grep status ls-files rev-parse cat-file check-ignore describe config".split()
)
_NO_SUCH_TEXT = ("String to replace not found", "matches of the string to replace")
_CANCELLED_MARKS = ("Sibling tool call errored", "Cancelled: parallel tool call", "Cancelled: sibling")
EDIT_TOOLS = frozenset(("Edit", "Write", "MultiEdit", "NotebookEdit"))
_WARNING_PREFIXES = ("npm warn", "warning", "warn ", "(node:", "deprecat", "** warning")
_PORTABILITY_MARKS = ("command not found", "illegal option", "invalid option", "unrecognized option", "unknown primary")

# Phrases with which the assistant says that a failure was expected.
_EXPECTED_PHRASES = (
    "as expected", "expected error", "expected failure", "correctly reject", "correctly fail", "correctly refuse",
    "properly reject", "is rejected as", "fails as it should", "should fail", "as intended",
)  # fmt: skip

EXIT_NOT_FOUND = 127  # exit code of a shell for a program it cannot find
OBSTACLE_KINDS = frozenset(("calling", "place", "surroundings"))
COUNTED_KINDS = OBSTACLE_KINDS | {"astray", "server", "unknown"}


class RedactedOutcome:
    """The redacted parts of a failure that may be stored: its cause and what was tried."""

    __slots__ = ("attempt", "cause")

    def __init__(self, cause: Redacted, tried: Redacted) -> None:
        self.cause = cause
        self.attempt = tried


class Outcome:
    """The classification of one failed call.

    `kind` is calling, place or surroundings (real obstacles), unknown, astray (wrong folder), server (may still be
    starting), passing, red, or empty. `family` is the subject of the call and `cause` is what went wrong.
    """

    __slots__ = ("_turn", "cause", "code", "command", "family", "kind", "text")

    def __init__(self, turn: Turn, output: Optional[Redacted] = None) -> None:
        self._turn = turn
        self.code, self.text = _split_exit_code(turn.raw_output if output is None else output)
        self.command: Optional[shell.Command] = None
        self.cause = ""
        if turn.tool == "Bash":
            self.command = shell.parse_command(turn.input.get("command"))
            self.kind = self._filter_kind(self._classify(self.command))
        else:
            self.kind = self._classify_other_tool(turn)
        self.family = self.command.family if self.command else get_family(turn)

    def get_redacted(self) -> RedactedOutcome:
        """Classify the full redacted output again, for words that may be stored."""
        same = Outcome(self._turn, self._turn.output)
        return RedactedOutcome(
            flatten(redact(same.cause or same.text[: _LINE_LIMIT * 2]), _LINE_LIMIT), _get_attempt(self._turn)
        )

    def get_excerpt(self) -> Redacted:
        """Return the beginning of the redacted output, without the exit code and warnings."""
        return redact(_split_exit_code(self._turn.output)[1][:_EXCERPT_LIMIT])

    @property
    def is_counted(self) -> bool:
        """Return whether this kind of failure counts towards a series."""
        return self.kind in COUNTED_KINDS

    def _classify(self, command: shell.Command) -> str:
        low = self.text.lower()
        passes = (
            "" if any(mark in low for mark in _LASTING_MARKS) else self._find_mark("passing", _TEMPORARY_MARKS, low)
        )
        found = passes or self._find_kind(_CERTAIN_MARKS, low)
        if found:
            return "calling" if "known to git" in low and command.action in ("checkout", "switch") else found
        if self._is_failing_check(command, low):
            self.cause = self._find_error_line()
            return "red"
        if self.code == EXIT_NOT_FOUND:  # works for any language of the shell
            self.cause = self._find_error_line() or clean_line(next(iter(_get_lines(self.text)), ""))
            return "calling"
        found = self._find_kind(_LIKELY_MARKS, low)
        if not found:
            self.cause = self._find_error_line() or self._get_only_line()
            return "unknown"
        if "cd:" not in self.cause:
            return found
        # a shell that strips the backslashes of a Windows path will do so again
        return "calling" if ":\\" in command.text else "astray"

    def _classify_other_tool(self, turn: Turn) -> str:
        """Classify a tool other than Bash; only some can meet an obstacle that others will meet again."""
        self.cause = self._find_error_line()
        low = self.text.lower()
        if turn.tool in EDIT_TOOLS:
            return self._find_mark("surroundings", _CERTAIN_MARKS["surroundings"], low)
        if turn.tool == "Read":
            return "unknown" if "exceeds maximum" in low else ""
        if turn.tool.startswith("mcp__"):  # the JSON a server returns concerns only this call
            self.cause = self.cause.partition("{")[0].rstrip(" [:") or self.cause
        is_outside = turn.tool.startswith("mcp__") or turn.tool == "WebFetch"
        return "unknown" if is_outside and "404" not in low and "ENOTFOUND" not in self.text else ""

    def _find_kind(self, kinds: dict[str, tuple[str, ...]], low: str) -> str:
        return next((kind for kind, marks in kinds.items() if self._find_mark(kind, marks, low)), "")

    def _find_mark(self, kind: str, marks: tuple[str, ...], low: str) -> str:
        for mark in marks:
            if mark in low:
                self.cause = self._find_line(mark)
                return kind
        return ""

    def _is_failing_check(self, command: shell.Command, low: str) -> bool:
        usage = _USAGE_CODES.get(command.tool, 126)
        if self.code >= usage and self.code not in (130, 137, 143):
            return False
        return any(mark in f"{low}\n" for mark in _CHECK_FAILURE_MARKS)

    def _filter_kind(self, kind: str) -> str:
        """Drop the kind if the command only looked around and found nothing, or ran an inline script with a bug."""
        command = self.command
        if command is None or not command.tool:
            return ""
        if command.is_read_only:
            low = self.cause.lower()
            return kind if kind == "calling" and any(mark in low for mark in _PORTABILITY_MARKS) else ""
        if command.tool in ("curl", "wget"):
            return {"calling": kind, "surroundings": "server"}.get(kind, "")
        if command.inline or command.script or _is_remote_query(command):
            return kind if kind in ("calling", "surroundings") and not _is_about_data(self.cause) else ""
        if _has_expression(command) and "expression" in self.cause.lower():
            return ""
        if kind == "unknown" and _is_status_command(command):
            return ""
        return kind

    def _find_line(self, mark: str) -> str:
        found = next((line for line in _get_lines(self.text) if mark in line.lower()), "")
        if found.rstrip().endswith(":"):  # the heading of a list of valid values
            return self._find_error_line()
        return clean_line(_cut_line(found, mark)) or self._find_error_line()

    def _get_only_line(self) -> str:
        """Return the only line of the output if it is a sentence: it then says why the program failed."""
        lines = _get_lines(self.text)
        return clean_line(lines[0]) if len(lines) == 1 and len(lines[0].split()) >= _MIN_SENTENCE_WORDS else ""

    def _find_error_line(self) -> str:
        for line in _get_lines(self.text):
            low = line.lower()
            for word in _ERROR_WORDS:
                if word in low:
                    return clean_line(line)
        return ""


def get_family(turn: Turn) -> str:
    """Return the subject of a call: program and action, host or file; empty for tools of MCP servers."""
    if turn.tool == "Bash":
        return shell.parse_command(turn.input.get("command")).family
    return get_input_text(turn, "file_path") or _get_host(get_input_text(turn, "url"))


def _get_attempt(turn: Turn) -> Redacted:
    """Return the command, the host or the file, from the redacted call."""
    if turn.tool == "Bash":
        return redact(shell.parse_command(turn.input.get("command")).get_redacted().essence)
    path = redact(get_input_text(turn, "file_path"))
    return path or redact(_get_host(redact(get_input_text(turn, "url"))))


def _get_host(url: str) -> str:
    return url.partition("://")[2].partition("/")[0]


def _is_about_data(cause: str) -> bool:
    return "does not exist" in cause and ("column" in cause or "relation" in cause or "table" in cause)


def _is_remote_query(command: shell.Command) -> bool:
    """Return whether a command queries a database or another machine, possibly inside a container."""
    if command.tool in _QUERY_TOOLS:
        return True
    return command.tool in _CONTAINER_TOOLS and any(word in _QUERY_TOOLS for word in command.words[2:8])


def _has_expression(command: shell.Command) -> bool:
    """Return whether a command contains an expression that was written on the spot."""
    if command.tool in ("sed", "awk", "perl"):
        return True
    return any(word.partition("=")[0] in ("--jq", "--query", "--template", "-q") for word in command.words)


def _is_status_command(command: shell.Command) -> bool:
    """Return whether a command only reports a state, such as `git log` or `gh pr checks`."""
    if command.tool == "git":
        return command.action in _GIT_READ_COMMANDS
    return command.tool in ("gh", "glab") and not _FORGE_READ_COMMANDS.isdisjoint(command.words[1:3])


def normalize_cause(cause: str) -> str:
    """Return a cause without the names in it: two files that cannot be written fail for the same reason."""
    words = cause.replace('"', "'").split("'")[::2]
    return " ".join(word for part in words for word in part.split() if "/" not in word and not word.isdigit())


def says_expected(text: str) -> bool:
    """Return whether the assistant says that a failure was expected, for example when testing a refusal."""
    low = text[:400].lower()
    return any(mark in low for mark in _EXPECTED_PHRASES)


class OutcomeCache:
    """Classifies each call once, although several detectors ask about it."""

    __slots__ = ("_outcome", "_turn")

    def __init__(self) -> None:
        self._turn: Optional[Turn] = None
        self._outcome: Optional[Outcome] = None

    def get(self, turn: Turn) -> Optional[Outcome]:
        """Return the outcome of a failed call; None if it is of no interest."""
        if turn is not self._turn:
            self._turn = turn
            outcome = Outcome(turn) if is_failure(turn) else None
            self._outcome = outcome if outcome and outcome.kind and outcome.cause else None
        return self._outcome


def is_failure(turn: Turn) -> bool:
    """Return whether a call ran and failed; refused, cancelled, interrupted and invalid calls do not count."""
    if not turn.is_error or turn.kind != "tool" or not turn.tool or turn.refused or turn.interrupted:
        return False
    return not turn.invalid and not any(mark in turn.raw_output[:200] for mark in _CANCELLED_MARKS)


def is_missed_edit(turn: Turn) -> bool:
    """Return whether an edit failed because the file does not contain the text to replace."""
    return turn.is_error and any(mark in turn.raw_output[:400] for mark in _NO_SUCH_TEXT)


def _split_exit_code(output: str) -> tuple[int, str]:
    """Return the exit code (1 if none is given) and the output without it; a long output keeps both ends."""
    text = output if len(output) <= 2 * _READ_LIMIT else f"{output[:_READ_LIMIT]}\n{output[-_READ_LIMIT:]}"
    text = text.replace("<tool_use_error>", "").replace("</tool_use_error>", "")
    if text.startswith("Exit code "):
        first, _, rest = text.partition("\n")
        code = first[10:].strip()
        return int(code) if code.isdigit() and len(code) < 5 else 1, _drop_warnings(rest)
    return 1, _drop_warnings(text)


def _drop_warnings(text: str) -> str:
    low = text.lower()
    if not any(sign in low for sign in _WARNING_PREFIXES):
        return text
    return "\n".join(line for line in text.splitlines() if not line.strip().lower().startswith(_WARNING_PREFIXES))


def _get_lines(text: str) -> list[str]:
    lines = [line for line in text.splitlines() if line.strip()]
    return lines if len(lines) <= _MAX_LINES else lines[: _MAX_LINES // 2] + lines[-_MAX_LINES // 2 :]


def _cut_line(line: str, mark: str) -> str:
    """Return the relevant part of a long line: nested errors are prefixed with one name after the other."""
    begin = line.rfind(": ", 0, line.lower().find(mark) + 1)
    return line[begin + 2 :] if len(line) > _LONG_LINE and begin > 0 else line


def clean_line(line: str) -> str:
    """Remove colours and the prefixes that programs put before an error."""
    while "\x1b[" in line:
        before, _, after = line.partition("\x1b[")
        line = before + after.lstrip("0123456789;?")[1:]
    line = "".join(char for char in line if char.isprintable()).strip()
    for prefix in ("npm ERR! ", "npm error ", "error: ", "Error: ", "fatal: ", "ERROR: "):
        line = line[len(prefix) :] if line.startswith(prefix) else line
    line = " ".join(line[: _LINE_LIMIT * 8].split())
    return line if len(line) <= _LINE_LIMIT else f"{line[: _LINE_LIMIT - 1]}…"
