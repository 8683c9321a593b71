"""Classify a failed call: a real obstacle, a failing test, or nothing of interest.

Programs report errors in words, so words decide. No patterns are compiled, because most transcripts contain few
failures.
"""

from __future__ import annotations

from reflect_git.capture.detectors import shell
from reflect_git.capture.detectors.moment import text_in
from reflect_git.redact import flatten, redact

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Optional

    from reflect_git.capture.transcript import Turn
    from reflect_git.redact import Redacted

_READ = 1500  # at either end: errors explain themselves at the start or the end of the output
_LINES = 60
_LONG = 120
_SENTENCE = 3  # words
_LINE = 160
_KEPT = 2048

# Real obstacles, whatever else the output says: tests that cannot reach their database also fail as tests.
_SURE = {
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
_RED = (
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
_PASSING = (
    "econnreset", "index.lock", "pathspec", "nothing to commit", "no changes added",
    "non-fast-forward", "fetch first", "[rejected]", "already exists", "conflict", "rate limit", "502 bad", "503 ",
    "would be overwritten", "commit your changes or stash", "unmerged", "temporarily unavailable", "try again later",
    "no upstream branch", "nothing added to commit", "unstaged changes", "uncommitted changes", "not fully merged",
    "bad gateway", "is already used by worktree", "overloaded", "is not mergeable",
)  # fmt: skip
# Dependency conflicts between packages are not temporary.
_LASTING = ("eresolve", "dependency conflict", "conflicting dependencies", "version conflict", "resolutionimpossible")
_LIKELY = {
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
_QUERYING = frozenset("psql sqlite3 mysql mariadb mongosh duckdb bq ssh".split())
_CONTAINERS = frozenset("docker podman nerdctl kubectl".split())
# For a forge: commands that report on checks, which may be failing or still running.
_LOOKS_OF_FORGES = frozenset("checks watch view status list".split())
_LOOKS_OF_GIT = frozenset("diff log show grep status ls-files rev-parse cat-file check-ignore describe config".split())
_NO_SUCH_TEXT = ("String to replace not found", "matches of the string to replace")
_CANCELLED = ("Sibling tool call errored", "Cancelled: parallel tool call", "Cancelled: sibling")
WRITERS = frozenset(("Edit", "Write", "MultiEdit", "NotebookEdit"))
_WARNINGS = ("npm warn", "warning", "warn ", "(node:", "deprecat", "** warning")
_OTHER_SYSTEM = ("command not found", "illegal option", "invalid option", "unrecognized option", "unknown primary")

# Phrases with which the assistant says that a failure was expected.
_MEANT = (
    "as expected", "expected error", "expected failure", "correctly reject", "correctly fail", "correctly refuse",
    "properly reject", "is rejected as", "fails as it should", "should fail", "as intended",
)  # fmt: skip

NOT_FOUND = 127  # exit code of a shell for a program it cannot find
REAL = frozenset(("calling", "place", "surroundings"))
COUNTED = REAL | {"astray", "server", "unknown"}


class Findings:
    """The redacted parts of a failure that may be stored: its cause and what was tried."""

    __slots__ = ("cause", "tried")

    def __init__(self, cause: Redacted, tried: Redacted) -> None:
        self.cause = cause
        self.tried = tried


class Outcome:
    """The classification of one failed call.

    `kind` is calling, place or surroundings (real obstacles), unknown, astray (wrong folder), server (may still be
    starting), passing, red, or empty. `family` is the subject of the call and `cause` is what went wrong.
    """

    __slots__ = ("_turn", "cause", "code", "command", "family", "kind", "text")

    def __init__(self, turn: Turn, output: Optional[Redacted] = None) -> None:
        self._turn = turn
        self.code, self.text = _strip(turn.raw_output if output is None else output)
        self.command: Optional[shell.Command] = None
        self.cause = ""
        if turn.tool == "Bash":
            self.command = shell.command_of(turn.input.get("command"))
            self.kind = self._unless_looking(self._judge(self.command))
        else:
            self.kind = self._judge_other(turn)
        self.family = self.command.family if self.command else family_of(turn)

    def redacted(self) -> Findings:
        """Classify the full redacted output again, for words that may be stored."""
        same = Outcome(self._turn, self._turn.output)
        return Findings(flatten(redact(same.cause or same.text[: _LINE * 2]), _LINE), _tried(self._turn))

    def excerpt(self) -> Redacted:
        """Return the beginning of the redacted output, without the exit code and warnings."""
        return redact(_strip(self._turn.output)[1][:_KEPT])

    @property
    def is_counted(self) -> bool:
        """Return whether this kind of failure counts towards a series."""
        return self.kind in COUNTED

    def _judge(self, command: shell.Command) -> str:
        low = self.text.lower()
        passes = "" if any(mark in low for mark in _LASTING) else self._find("passing", _PASSING, low)
        found = passes or self._find_kind(_SURE, low)
        if found:
            return "calling" if "known to git" in low and command.action in ("checkout", "switch") else found
        if self._is_red(command, low):
            self.cause = self._error_line()
            return "red"
        if self.code == NOT_FOUND:  # works for any language of the shell
            self.cause = self._error_line() or clean(next(iter(_lines(self.text)), ""))
            return "calling"
        found = self._find_kind(_LIKELY, low)
        if not found:
            self.cause = self._error_line() or self._only_line()
            return "unknown"
        if "cd:" not in self.cause:
            return found
        # a shell that strips the backslashes of a Windows path will do so again
        return "calling" if ":\\" in command.text else "astray"

    def _judge_other(self, turn: Turn) -> str:
        """Classify a tool other than Bash; only some can meet an obstacle that others will meet again."""
        self.cause = self._error_line()
        low = self.text.lower()
        if turn.tool in WRITERS:
            return self._find("surroundings", _SURE["surroundings"], low)
        if turn.tool == "Read":
            return "unknown" if "exceeds maximum" in low else ""
        if turn.tool.startswith("mcp__"):  # the JSON a server returns concerns only this call
            self.cause = self.cause.partition("{")[0].rstrip(" [:") or self.cause
        is_outside = turn.tool.startswith("mcp__") or turn.tool == "WebFetch"
        return "unknown" if is_outside and "404" not in low and "ENOTFOUND" not in self.text else ""

    def _find_kind(self, kinds: dict[str, tuple[str, ...]], low: str) -> str:
        return next((kind for kind, marks in kinds.items() if self._find(kind, marks, low)), "")

    def _find(self, kind: str, marks: tuple[str, ...], low: str) -> str:
        for mark in marks:
            if mark in low:
                self.cause = self._line_with(mark)
                return kind
        return ""

    def _is_red(self, command: shell.Command, low: str) -> bool:
        usage = _USAGE_CODES.get(command.tool, 126)
        if self.code >= usage and self.code not in (130, 137, 143):
            return False
        return any(mark in f"{low}\n" for mark in _RED)

    def _unless_looking(self, kind: str) -> str:
        """Drop the kind if the command only looked around and found nothing, or ran an inline script with a bug."""
        command = self.command
        if command is None or not command.tool:
            return ""
        if command.is_look:
            low = self.cause.lower()
            return kind if kind == "calling" and any(mark in low for mark in _OTHER_SYSTEM) else ""
        if command.tool in ("curl", "wget"):
            return {"calling": kind, "surroundings": "server"}.get(kind, "")
        if command.inline or command.script or _is_asking(command):
            return kind if kind in ("calling", "surroundings") and not _is_about_data(self.cause) else ""
        if _is_query(command) and "expression" in self.cause.lower():
            return ""
        if kind == "unknown" and _is_report(command):
            return ""
        return kind

    def _line_with(self, mark: str) -> str:
        found = next((line for line in _lines(self.text) if mark in line.lower()), "")
        if found.rstrip().endswith(":"):  # the heading of a list of valid values
            return self._error_line()
        return clean(_clause(found, mark)) or self._error_line()

    def _only_line(self) -> str:
        """Return the only line of the output if it is a sentence: it then says why the program failed."""
        lines = _lines(self.text)
        return clean(lines[0]) if len(lines) == 1 and len(lines[0].split()) >= _SENTENCE else ""

    def _error_line(self) -> str:
        for line in _lines(self.text):
            low = line.lower()
            for word in _ERROR_WORDS:
                if word in low:
                    return clean(line)
        return ""


def family_of(turn: Turn) -> str:
    """Return the subject of a call: program and action, host or file; empty for tools of MCP servers."""
    if turn.tool == "Bash":
        return shell.command_of(turn.input.get("command")).family
    return text_in(turn, "file_path") or _host(text_in(turn, "url"))


def _tried(turn: Turn) -> Redacted:
    """Return the command, the host or the file, from the redacted call."""
    if turn.tool == "Bash":
        return redact(shell.command_of(turn.input.get("command")).redacted().essence)
    path = redact(text_in(turn, "file_path"))
    return path or redact(_host(redact(text_in(turn, "url"))))


def _host(url: str) -> str:
    return url.partition("://")[2].partition("/")[0]


def _is_about_data(cause: str) -> bool:
    return "does not exist" in cause and ("column" in cause or "relation" in cause or "table" in cause)


def _is_asking(command: shell.Command) -> bool:
    """Return whether a command queries a database or another machine, possibly inside a container."""
    if command.tool in _QUERYING:
        return True
    return command.tool in _CONTAINERS and any(word in _QUERYING for word in command.words[2:8])


def _is_query(command: shell.Command) -> bool:
    """Return whether a command contains an expression that was written on the spot."""
    if command.tool in ("sed", "awk", "perl"):
        return True
    return any(word.partition("=")[0] in ("--jq", "--query", "--template", "-q") for word in command.words)


def _is_report(command: shell.Command) -> bool:
    """Return whether a command only reports a state, such as `git log` or `gh pr checks`."""
    if command.tool == "git":
        return command.action in _LOOKS_OF_GIT
    return command.tool in ("gh", "glab") and not _LOOKS_OF_FORGES.isdisjoint(command.words[1:3])


def gist(cause: str) -> str:
    """Return a cause without the names in it: two files that cannot be written fail for the same reason."""
    words = cause.replace('"', "'").split("'")[::2]
    return " ".join(word for part in words for word in part.split() if "/" not in word and not word.isdigit())


def is_meant(text: str) -> bool:
    """Return whether the assistant says that a failure was expected, for example when testing a refusal."""
    low = text[:400].lower()
    return any(mark in low for mark in _MEANT)


class Judge:
    """Classifies each call once, although several detectors ask about it."""

    __slots__ = ("_outcome", "_turn")

    def __init__(self) -> None:
        self._turn: Optional[Turn] = None
        self._outcome: Optional[Outcome] = None

    def of(self, turn: Turn) -> Optional[Outcome]:
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
    return not turn.invalid and not any(mark in turn.raw_output[:200] for mark in _CANCELLED)


def is_lost_edit(turn: Turn) -> bool:
    """Return whether an edit failed because the file does not contain the text to replace."""
    return turn.is_error and any(mark in turn.raw_output[:400] for mark in _NO_SUCH_TEXT)


def _strip(output: str) -> tuple[int, str]:
    """Return the exit code (1 if none is given) and the output without it; a long output keeps both ends."""
    text = output if len(output) <= 2 * _READ else f"{output[:_READ]}\n{output[-_READ:]}"
    text = text.replace("<tool_use_error>", "").replace("</tool_use_error>", "")
    if text.startswith("Exit code "):
        first, _, rest = text.partition("\n")
        code = first[10:].strip()
        return int(code) if code.isdigit() and len(code) < 5 else 1, _without_warnings(rest)
    return 1, _without_warnings(text)


def _without_warnings(text: str) -> str:
    low = text.lower()
    if not any(sign in low for sign in _WARNINGS):
        return text
    return "\n".join(line for line in text.splitlines() if not line.strip().lower().startswith(_WARNINGS))


def _lines(text: str) -> list[str]:
    lines = [line for line in text.splitlines() if line.strip()]
    return lines if len(lines) <= _LINES else lines[: _LINES // 2] + lines[-_LINES // 2 :]


def _clause(line: str, mark: str) -> str:
    """Return the relevant part of a long line: nested errors are prefixed with one name after the other."""
    begin = line.rfind(": ", 0, line.lower().find(mark) + 1)
    return line[begin + 2 :] if len(line) > _LONG and begin > 0 else line


def clean(line: str) -> str:
    """Remove colours and the prefixes that programs put before an error."""
    while "\x1b[" in line:
        before, _, after = line.partition("\x1b[")
        line = before + after.lstrip("0123456789;?")[1:]
    line = "".join(char for char in line if char.isprintable()).strip()
    for prefix in ("npm ERR! ", "npm error ", "error: ", "Error: ", "fatal: ", "ERROR: "):
        line = line[len(prefix) :] if line.startswith(prefix) else line
    line = " ".join(line[: _LINE * 8].split())
    return line if len(line) <= _LINE else f"{line[: _LINE - 1]}…"
