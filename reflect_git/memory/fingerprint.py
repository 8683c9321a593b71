"""Compute the fingerprint of a failed tool call: failures with the same cause have the same one.

A known cause is a row of `knowledge/errors.txt` and what the message names: a module, a port, a table. Then the tool
that showed it does not matter. Any other failure is recognised by its most telling line, without paths, numbers, hashes
and times. If that line says too little, the command counts as well.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from reflect_git.capture.detectors import shell
from reflect_git.records.ids import digest

KINDS = ("tool", "types", "test", "lint", "review", "loop", "task")
TABLE = Path(__file__).parent.parent / "knowledge" / "errors.txt"
_READ = 6000  # characters at either end of an error
_WIDEST = 600  # characters of one line
_LONGEST = 160  # of a line that is the cause
_FILE_TOOLS = frozenset(("Read", "Edit", "Write", "MultiEdit", "NotebookEdit", "NotebookRead", "LS"))
_SEARCHES = frozenset(("Grep", "Glob"))
_TASKS = frozenset(("Task", "Agent"))
# A search without a match, a comparison, or a question whose answer is the exit code.
_PROBES = frozenset(
    """ls find fd stat file which whereis type command hash test [ [[ grep egrep fgrep rg ag ack pgrep kill pkill killall
    lsof nc ping pg_isready diff cmp comm ps ss netstat fuser id getent true false du tree wc""".split()
)
_GIT_QUESTIONS = frozenset(
    "diff diff-index diff-files grep merge-base rev-parse show-ref check-ignore ls-files ls-remote config cat-file "
    "symbolic-ref for-each-ref check-attr log show status describe".split()
)
# The same for other programs, by their action.
_QUESTIONS = {
    "systemctl": frozenset(("is-active", "is-enabled", "is-failed", "status")),
    "docker": frozenset(("inspect",)),
    "podman": frozenset(("inspect",)),
    "pip": frozenset(("show",)),
    "js": frozenset(("ls", "list", "outdated")),
    "brew": frozenset(("list", "ls")),
    "git": _GIT_QUESTIONS,
}
# Causes that answer such a question.
_ANSWERS = frozenset(
    " file-missing git-ref git-pathspec lint refused directory image-missing container-missing".split(" ")
)
# Services with limits, by a word that their messages, addresses or programs contain.
_SERVICES = ("github", "gitlab", "docker", "npm", "pypi", "huggingface", "openai", "anthropic", "slack", "google", "gh")
_LINT_KINDS = frozenset(
    "lint format format-prettier format-go format-rust format-python commit-message hook eslint-config".split()
)
_TYPE_KINDS = frozenset("ts rust csharp msvc mypy pyright javac kotlin go-compile c-compile import-name link".split())
# Names of files that say nothing without their folder.
_COMMON_NAMES = re.compile(
    r"(?:index|main|mod|lib|app|config|settings|__init__|setup|readme|makefile|dockerfile|package|tsconfig|src|dist|bin|"
    r"build|test|tests|data|types|utils|conftest)(?:\.\w+)*$",
    re.IGNORECASE,
)
_ANSI = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[@-_]")
_PREFIX = re.compile(
    r"^(?:npm (?:ERR!|error) ?|remote: |E {2,}|[│║|╷╵╰╭─▶×┃❯]+ ?|\[?\d{4}[-/]\d\d[-/]\d\d[T ]\d\d:\d\d:\d\d[.,\dZ+:]*\]?:? ?|"
    r"ERROR: \(gcloud[\w.-]*\) |\[(?:ERROR|FATAL)\] +|Failed to execute goal \S+ \([\w-]+\) on project [\w.-]+:|"
    r"\[?\d\d:\d\d:\d\d(?:[.,]\d+)?\]? |#\d+ (?:\d+\.\d+ )?|[IWEF]\d{4} [\d:.]+ +\d+ )"
)
_QUOTES = str.maketrans(dict.fromkeys('"`“”„‟‘’‚‛«»‹›「」『』', "'"))
_WARNING = re.compile(r"^\s*(?:npm warn|\(node:\d+\)|\(Use `node|.*DeprecationWarning|warning: unused)", re.IGNORECASE)
_EXIT = re.compile(r"\A\s*Exit code (-?\d+)\s*?\n?")
_EXCEPTION = re.compile(
    r"^\s*(?:Uncaught |Unhandled |Caused by: |fatal: |Exception in thread '[^']*' |thread '[^']*' )?"
    r"((?:[A-Za-z_]\w*[.:]{1,2})*[A-Z]\w*(?:Error|Exception|Fault|Failure|Panic|Abort|Exit)|(?:[a-z_]\w*\.)+[A-Z]\w+(?=:))"
    r"(?: \[[\w]+\])?(?:: ?|\b)(.*)$",
    re.MULTILINE,
)
_LONG_MESSAGE = 5
_SHORTEST = 12
_PROGRAM = re.compile(
    r"^(?:(?:parsing|reading|loading|opening) <path>|\[[\w -]+\]|[\w.<>#/-]+|<[a-z]+>)(?:\[<n>\])?: +|^\[\w+\] +|^\W+ ",
    re.IGNORECASE,
)
_STRONG_LINE = re.compile(
    r"^\W*(?:error|fatal|failed|panic|exception)\b\W*[:\]] ?\S|\berror: |^err(?:or)?[! ]", re.IGNORECASE
)
_ERROR_LINE = re.compile(
    r"\b(?:error|fatal|fail(?:ed|ure|s)?|cannot|can't|could not|couldn't|unable|invalid|denied|refused|missing|exceed\w*|"
    r"exception|panic(?:ked)?|no such|unknown|abort\w*|must|required|blocked|not|unexpected|unsupported|rejected|"
    r"expired|fehler|erreur|errore|error|ошибка|błąd)\b|错误|失败|エラー|오류",
    re.IGNORECASE,
)
# Lines that only say that something failed.
_EMPTY_LINE = re.compile(
    r"^\W*(?:(?:validation |startup |build )?error|failed|failure|fatal|exit (?:status|code) \d+|build failed\b.*|command failed.*|make(?:\[\d+\])?: \*\*\*.*|"
    r"process (?:exited|completed) with.*|(?:npm )?(?:error )?(?:code|errno|path|command|syscall|cwd|a complete log).*|"
    r"\d+ (?:errors?|problems?|failed).*|found \d+ .*|error: could not compile.*|elifecycle.*|lifecycle script.*|"
    r"error command failed.*|at .*|.*exited with (?:code|status).*|caused by:|stack(?: ?trace)?:?|traceback.*|"
    r"your requirements could not be resolved.*|info visit .*|aborting\.?|husky .*|see .* for (?:more|usage).*|run .* for (?:more|usage).*)\W*$",
    re.IGNORECASE,
)
_TEST_RUN = re.compile(
    r"(?:\b\d+ (?:failed|passed|failing|passing)\b|^FAIL\b|^--- FAIL|test result: FAILED|\d+ examples?, \d+ failure|"
    r"Tests: +\d|Failures: +\d|Tests run: \d|short test summary|not ok \d|Test Files |BUILD FAILED.*test|"
    r"Assertions: \d|Executed \d+ tests?|\(\d+ tests? \| \d+ failed\))",
    re.IGNORECASE | re.MULTILINE,
)
# pytest's summary with a message that is no assertion.
_TEST_MESSAGE = re.compile(r"^FAILED \S+ - (?!assert)(?:Failed: )?\S+", re.IGNORECASE | re.MULTILINE)
_ASKS = re.compile(r"\s*(?:command -[vV]|which|type|hash|(?:docker|podman) \w+ inspect|dpkg -[sl])\s")
_TEST_TIMEOUT = re.compile(
    r"(?:exceeded timeout of|test timed out|timeout of \d+ ?ms|test timeout|panic: test timed)", re.I
)
_TEST_ID = re.compile(
    r"^(?:FAILED|ERROR) ([\w/.-]+::[\w:\[\]-]+)|^\s*● (.+)$|--- FAIL: (\w+)|^test ([\w:]+) \.\.\. FAILED|^\s*[✕×✗] (.+?)(?: \(?\d.*)?$|"
    r"^\s*\d+\) (.+)$|› (.+)$",
    re.MULTILINE,
)
_TIMED_OUT = re.compile(r"command timed out after|timed out after \d+ ?(?:ms|s|m|seconds|minutes)", re.IGNORECASE)
_STATUS = re.compile(
    r"(?:status(?: code)?|HTTP(?:/[\d.]+)?|returned error|code)[:= ]+\(?([45]\d\d)\b|\bHTTP ([45]\d\d)\b|\(HTTP ([45]\d\d)\)",
    re.I,
)
_HOST = re.compile(r"https?://(?:[^@/\s]+@)?([\w.-]+)")
# A cause does not begin within a word: `packageResolve` does not contain the code ERESOLVE.
_WORD_START = r"(?:(?<![a-z0-9])|(?![a-z0-9]))"
_PORT = re.compile(r"(?:[:= ]|\bport )(\d{4,5})\b")


class Fingerprint(NamedTuple):
    """The key that failures with one cause share, the kind of failure, and the cause in words.

    `noise`: nothing worth keeping, such as a search without a match.
    """

    key: str
    kind: str
    cause: str
    noise: bool


def describe_cause(cause: str) -> str:
    """Return a cause as people read it: `module missing: zod`."""
    kind, _, subject = cause.partition(" ")
    if kind == "other":
        return subject
    return f"{kind.replace('-', ' ')}: {subject}" if subject else kind.replace("-", " ")


class _Cause(NamedTuple):
    """One row of the table: kind of cause, its words (the text must contain one), and its pattern."""

    kind: str
    words: tuple[str, ...]
    pattern: str


class _Table(NamedTuple):
    """The parsed data file."""

    translations: list[tuple[str, str]]
    refused: list[str]
    assertions: list[str]
    causes: list[_Cause]


def fingerprint(tool: str, given: Mapping[str, Any], error: str) -> Fingerprint:
    """Return the fingerprint of a failed call: its tool, its input and its error text."""
    code, text = clean(error)
    command = shell.parse_command(given.get("command")) if tool == "Bash" else None
    if _is_stopped(code, text, error):
        return Fingerprint("", "tool", "", True)
    cause, subject = _find_cause(tool, given, text, command)
    if _is_noise(tool, command, code, text, cause):
        return Fingerprint("", "tool", "", True)
    if not cause:
        cause, subject = _describe(tool, given, text, command)
    name = f"{cause} {subject}".strip()
    return Fingerprint(digest("incident", name)[:16], _kind_of(tool, cause, command), name, False)


@lru_cache(maxsize=1)
def _table() -> _Table:
    """Parse the data file, once."""
    table = _Table([], [], [], [])
    section = ""
    for line in TABLE.read_text(encoding="utf-8").splitlines():
        line = line.strip()
        if not line or line.startswith("# ") or line == "#":
            continue
        if line.startswith("[") and line.endswith("]") and line[1:-1] in table._fields:
            section = line[1:-1]
        elif section == "translations":
            english, _, others = line.partition(" = ")
            table.translations.extend((other.strip().casefold(), english) for other in others.split(" | "))
        elif section == "causes":
            kind, words, pattern = (part.strip() for part in line.split("~", 2))
            table.causes.append(_Cause(kind, tuple(words.casefold().split("|")), f"(?:{pattern})"))
        else:
            getattr(table, section).append(line)
    return table


@lru_cache(maxsize=1024)
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE | re.MULTILINE)


def clean(error: str) -> tuple[int, str]:
    """Return the exit code (1 if there is none) and the text: no colours, one kind of quotes, English messages."""
    text = error if len(error) <= 2 * _READ else f"{error[:_READ]}\n{error[-_READ:]}"
    text = _ANSI.sub("", text).replace("\r", "\n").replace("<tool_use_error>", "").replace("</tool_use_error>", "")
    found = _EXIT.match(text)
    code = int(found[1]) if found else 1
    text = (text[found.end() :] if found else text).translate(_QUOTES).replace("\u00a0", " ")
    low = text.casefold()
    for other, english in _table().translations:
        if other in low:
            text = re.sub(re.escape(other), english, text, flags=re.IGNORECASE)
    lines = []
    for line in text.splitlines():
        line = line[:_WIDEST]  # some patterns take quadratic time on one line
        for _ in range(3):
            line = _PREFIX.sub("", line, count=1)
        if line.strip() and not _WARNING.match(line):
            lines.append(line.rstrip())
    return code, "\n".join(lines)


def _is_stopped(code: int, text: str, error: str) -> bool:
    """Return whether the call was refused, cancelled or interrupted."""
    low = error[:600].casefold()
    if any(mark in low for mark in _table().refused):
        return True
    is_ended = code == 143 and len(text) < 200 and not _TIMED_OUT.search(text)
    return code == 130 or is_ended or text.strip() in ("^C", "Interrupted", "Aborted")


def _is_noise(tool: str, command: shell.Command | None, code: int, text: str, cause: str) -> bool:
    """Return whether nobody could learn from this: a search without a match, a probe, a test of new code."""
    if tool in _SEARCHES:
        return not cause
    if command is None:
        return False
    if _ASKS.match(command.text) or command.tool in _PROBES or command.action in _QUESTIONS.get(command.tool, ()):
        return cause in _ANSWERS
    if not text.strip("0 \n"):
        return (
            code == 1  # the answer "no", or a failure about which nothing is known
            or command.is_read_only
            or command.hides_errors
            or command.tool in ("curl", "wget")
            or "/dev/null" in command.text
        )
    if cause and cause not in _TYPE_KINDS and cause != "lint":
        return False
    if _TEST_TIMEOUT.search(text) or not (command.purpose == "test" or _TEST_RUN.search(text)):
        return False
    names = {found[0].rpartition(".")[2].lower() for found in _EXCEPTION.findall(text)}
    if any("assert" not in name and "comparison" not in name for name in names) or _TEST_MESSAGE.search(text):
        return False
    is_assertion = any(_compiled(mark).search(text) for mark in _table().assertions)
    return is_assertion or (not cause and bool(_TEST_RUN.search(text)))


def _find_cause(tool: str, given: Mapping[str, Any], text: str, command: shell.Command | None) -> tuple[str, str]:
    """Return the kind and the subject of the first known cause; two empty texts if there is none."""
    low = text.casefold()
    if tool in _FILE_TOOLS and ("does not exist" in low or "enoent" in low or "no such file" in low):
        return "file-missing", short_path(
            str(given.get("file_path") or given.get("notebook_path") or given.get("path") or "")
        )
    if _TIMED_OUT.search(text[:400]) and len(text) < 2000 and (command is None or low.startswith("command timed out")):
        return "timeout", (command.purpose if command else "") or _call_of(tool, given, command)
    for kind, words, pattern in _table().causes:
        if not any(word in low for word in words):
            continue
        found = [_subject_of(kind, match) for match in _compiled(_WORD_START + pattern).finditer(text)]
        if found:
            counts = Counter(found)
            subject = min(counts, key=lambda one: (-counts[one], one))
            return kind, subject or _subject_in(kind, text, tool, given, command)
    return "", ""


def _subject_of(kind: str, match: re.Match[str]) -> str:
    """Return what the groups of a match name, each shortened as its name says.

    With a code, the quoted names say the rest: a compiler may print its message in another language or wording.
    """
    parts = []
    named = match.groupdict()
    if named.get("code") and named.get("message"):
        quoted = re.findall(r"'([^'\n]+)'", named["message"])
        return (
            " ".join([named["code"], *map(scrub, quoted[:3])])
            if quoted
            else f"{named['code']} {scrub(named['message'])}"
        )
    for name, value in match.groupdict().items():
        if not value:
            continue
        value = value.strip(" '.,;:()")
        if kind == "command-missing":
            value = value.rpartition("/")[2]
        shorten = _SHORTEN.get(name)
        parts.append(shorten(value) if shorten else value)
    return " ".join(part for part in parts if part)


def _subject_in(kind: str, text: str, tool: str, given: Mapping[str, Any], command: shell.Command | None) -> str:
    """Return what a message without a name is about, from the rest of the text or from the call."""
    if kind in ("port-in-use", "refused"):
        found = _PORT.search(text if kind == "refused" else "") or _PORT.search(command.text if command else "")
        return found[1] if found else ""
    if kind in ("dns", "net-timeout", "net-reset", "git-login", "token-expired"):
        hosts = _HOST.search(str(given.get("url") or "")) or _HOST.search(text)
        return hosts[1].lower() if hosts else _server_of(tool)
    if kind in ("permission", "read-only"):
        return short_path(str(given.get("file_path") or "")) or _call_of(tool, given, command)
    if kind in ("rate-limit", "quota"):
        said = f"{text} {given.get('url') or given.get('command') or ''}".casefold()
        if "pull rate limit" in said:  # only Docker Hub says so
            return "docker"
        brands = [name for name in _SERVICES if re.search(rf"\b{name}\b", said)]
        service = brands[0] if brands else _call_of(tool, given, command)
        return "github" if service == "gh" else service
    if kind in ("format", "syntax", "crash", "recursion", "memory", "command-missing", "option", "tool-input", "json"):
        return _call_of(tool, given, command)
    return ""


def _describe(tool: str, given: Mapping[str, Any], text: str, command: shell.Command | None) -> tuple[str, str]:
    """Return a fingerprint for an unknown cause: its most telling line, with the call if that says too little."""
    call = _call_of(tool, given, command)
    status = _STATUS.search(text)
    if status and (tool == "WebFetch" or (command is not None and command.tool in ("curl", "wget", "http", "gh"))):
        asked = _HOST.search(command.text) if command else None
        return f"http-{next(filter(None, status.groups()))}", asked[1].lower() if asked else call
    if tool.startswith("mcp__"):
        return "mcp", f"{_server_of(tool)} {_telling_line(text)}"
    if _TEST_TIMEOUT.search(text):
        found = _TEST_ID.search(text)
        return "test-timeout", scrub(next(filter(None, found.groups()))) if found else call
    line = _telling_line(text)
    words = [word for word in re.findall(r"[^\W\d_]{3,}", line) if word not in ("path", "hash", "error", "failed")]
    return ("other", line) if len(words) >= 3 else ("other", f"{call} {line}".strip())


def _telling_line(text: str) -> str:
    """Return the line that says most about a failure, normalised."""
    text = re.sub(r"^FAILED \S+ - (?:Failed: )?", "", text, flags=re.MULTILINE)
    text = text.rpartition("\nCaused by:\n")[2]  # cargo names the deepest cause last
    ruby = re.search(
        r"(?:in '[^']*': )?([^:\n]+(?:: [^:\n]+)*) \(((?:\w+::)*\w+(?:Error|Exception|NotFound|Invalid))\)", text
    )
    if ruby:
        exceptions = [(ruby[2].rpartition(":")[2], ruby[1])]
    else:
        exceptions = _EXCEPTION.findall(text)
    if exceptions:
        name, message = exceptions[-1] if "Traceback (most recent" in text else exceptions[0]
        said = _first_sentence(scrub(message))
        # A long message says enough; programs wrap it in exceptions of their own.
        return said if len(said.split()) >= _LONG_MESSAGE else f"{name.rpartition('.')[2]}: {said}".rstrip(": ")
    lines = [line.strip() for line in text.splitlines() if not _EMPTY_LINE.match(line)]
    for pattern in (_STRONG_LINE, _ERROR_LINE):
        found = next((line for line in lines if pattern.search(line)), "")
        if found:
            return _first_sentence(scrub(found))
    return _first_sentence(scrub(lines[-1] if lines else text.strip().partition("\n")[0]))


def _first_sentence(line: str) -> str:
    """Return a line without the names of programs before its message, up to the end of its first sentence."""
    while (found := _PROGRAM.match(line)) and len(line) - found.end() > _SHORTEST:
        line = line[found.end() :]
    head = re.split(r"(?<=\w{2}['>)])[.;] |(?<=\w{3})[.;] ", line, maxsplit=1)[0]
    return (head if len(head) > _SHORTEST else line)[:_LONGEST].strip(" .:,;")


def _call_of(tool: str, given: Mapping[str, Any], command: shell.Command | None) -> str:
    """Return what a call was for: program and action, host, or the end of a path."""
    if command is not None:  # `load.py` and `-m load` are one program
        return re.sub(r"\.(?:py|[cm]?[jt]s|sh|rb)$", "", command.family) or "Bash"
    if tool.startswith("mcp__"):
        return _server_of(tool)
    url = _HOST.search(str(given.get("url") or ""))
    if url:
        return url[1].lower()
    path = given.get("file_path") or given.get("path")
    return f"{tool} {short_path(str(path))}" if path else tool


def _server_of(tool: str) -> str:
    """Return the name of the MCP server that a tool belongs to; empty for other tools."""
    return tool.split("__")[1] if tool.startswith("mcp__") else ""


def _kind_of(tool: str, cause: str, command: shell.Command | None) -> str:
    if tool in _TASKS or cause == "agent-unknown":
        return "task"
    if tool == "loop":
        return "loop"
    if cause in _LINT_KINDS:
        return "lint"
    if cause in _TYPE_KINDS:
        return "types"
    if cause == "test-timeout":
        return "test"
    purpose = command.purpose if command else ""
    return purpose if purpose in KINDS else "tool"


_SCRUB = (
    (re.compile(r"\x1b\[[0-9;]*m"), ""),
    (re.compile(r"https?://(?:[^@/\s]+@)?([\w.-]+)\S*"), r"\1"),
    (re.compile(r"\b[\w.+-]+@[\w-]+\.[\w.-]+\b"), "<mail>"),
    (re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f-]{18,}\b", re.I), "<id>"),
    (re.compile(r"\b(?:linux|linuxmusl|darwin|macos|win32|windows|win)[-/](?:x64|ia32|arm64|arm|amd64|x86_64|aarch64)(?:-\w+)?\b", re.I), "<platform>"),
    (re.compile(r"\b\d{4}-\d\d-\d\d(?:[T ][\d:.,Z+-]+)?"), "<time>"),
    (re.compile(r"(?<!\w)(?:[A-Za-z]:)?(?:~|\.{1,2})?[/\\](?:[\w.@+-]+[/\\])*[\w.@+-]*(?::\d+)*"), "<path>"),
    (re.compile(r"\b[\w.@+-]+/[\w.@+-]+(?:/[\w.@+-]+)*\.\w{1,5}\b(?::\d+)*"), "<path>"),
    (re.compile(r"\b[\w-]+\.(?:py|js|ts|tsx|jsx|mjs|cjs|go|rs|java|kt|rb|php|c|cc|cpp|h|cs|swift|ex|vue|svelte)\b(?::\d+)*"), "<path>"),
    (re.compile(r"\bv?\d+\.\d+(?:\.\d+)*(?:[-+][\w.]+)?\b"), "<version>"),
    (re.compile(r"\b(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{7,64}\b", re.I), "<hash>"),
    (re.compile(r"\b0x[0-9a-f]+\b", re.I), "<hash>"),
    (re.compile(r"\b\d+(?:[.,]\d+)*(?:ms|s|m|h|kb|mb|gb|kib|mib|gib|%)?\b", re.I), "<n>"),
)  # fmt: skip


_OPTIONAL = re.compile(r"\b(?:typing\.)?Optional\[([\w.]+)\]")


def scrub(text: str) -> str:
    """Return a message without what differs from run to run: paths, numbers, hashes, times, versions, hosts' paths."""
    text = _OPTIONAL.sub(r"\1 | None", text)
    for pattern, replacement in _SCRUB:
        text = pattern.sub(replacement, text)
    text = re.sub(
        r"^(?:(?:error|fatal|failed|panic|err|warning|critical|\[?error\]?)\s*:\s*)+", "", text.strip(), flags=re.I
    )
    return " ".join(text.casefold().split()).strip(" .:!,;-")


def short_path(path: str) -> str:
    """Return the name of a file; with its folder if the name alone says nothing, such as `index.ts`."""
    parts = [
        part
        for part in re.sub(r"(?::\d+)+$", "", path.replace("\\", "/")).split("/")
        if part not in ("", ".", "..", "~")
    ]
    if not parts:
        return ""
    kept = parts[-2:] if _COMMON_NAMES.match(parts[-1]) else parts[-1:]
    return re.sub(r"(?<=[-_.])(?=\w*\d)[0-9a-zA-Z]{8,}(?=\.|$)|\d{4,}", "<n>", "/".join(kept))


def _shorten_owner(path: str) -> str:
    """Return what somebody must get access to: the folder of packages for each package in it, else the file."""
    found = re.search(r"[^/]+/(?:node_modules|site-packages|dist-packages|Cellar)(?=/)", path)
    return found[0] if found else short_path(path)


def _shorten_module(name: str) -> str:
    if name[:1] in "./\\" or ":\\" in name:
        return re.sub(r"\.(?:[cm]?[jt]sx?|py|rb|vue|svelte|json)$", "", short_path(name))
    parts = name.split("/")
    if len(parts) > 1 and "." in parts[0] and not name.startswith("@"):  # a Go import path
        return name
    return "/".join(parts[:2] if name.startswith("@") and "/" in name else parts[:1])


def _shorten_package(name: str) -> str:
    name = re.sub(r"%2f", "/", name, flags=re.IGNORECASE)
    return re.sub(r"(?<=.)@.*|[=<>~^!\[].*", "", name).lower().replace("_", "-")


def _shorten_image(name: str) -> str:
    return re.sub(r"^(?:docker\.io/)?(?:library/)?", "", name).lower()


def _shorten_table(name: str) -> str:
    return name.rpartition(".")[2].lower()


_SHORTEN = {
    "path": short_path,
    "owner": _shorten_owner,
    "module": _shorten_module,
    "pkg": _shorten_package,
    "package": _shorten_package,
    "image": _shorten_image,
    "table": _shorten_table,
    "column": _shorten_table,
    "host": str.lower,
    "message": scrub,
    "words": scrub,
}
