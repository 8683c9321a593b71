"""Detect repeated empty searches that end in a hit: something is hard to find.

Three or more empty searches in a row count. They end with a search that finds something, with a subagent that searches,
or with the user stepping in. Searches that are meant to be empty do not count: for something just removed, before a
file is created, or when the assistant then says that nothing is there.
"""

from __future__ import annotations

from reflect_git.capture.detectors.moment import Clock, facts_of, quote, shorten, text_in
from reflect_git.capture.detectors.outcome import WRITERS
from reflect_git.capture.detectors.shell import command_of
from reflect_git.redact import fill, join, redact

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from reflect_git.capture.new_signal import Facts
    from reflect_git.capture.transcript import Turn
    from reflect_git.redact import Redacted

FAMILY = "thrash"
_ENOUGH = 3
_REMOVED = 12
_LONGEST = 2000
_SHORT = 200
_MOST = 50
_AND = "\t"
_SEARCHES = frozenset(("Glob", "Grep"))
_PROGRAMS = frozenset("find grep egrep rg fd fdfind ag ack git".split())
_STARTS = ("find ", "grep ", "rg ", "fd ", "ag ", "ack ", "git grep ", "cd ", "egrep ")
_LISTS = ("ls ", "tree", "git ls-files", "find ")
_EMPTY = ("No files found", "No matches found", "Found 0 ", "No content", "(Bash completed with no output)")
_UNWANTED = (
    "todo", "fixme", "console.log", "debugger", "eslint-disable", "ts-ignore", "\\bany\\b", ": any", "as any", "xxx",
    "password", "secret", "api_key", "apikey", "type: ignore", "noqa", "<<<<<<<", "breakpoint()", ".only(",
    "private_key",
)  # fmt: skip
_AGENTS = frozenset(("Task", "Agent"))
_ABSENT = (
    "gone", "no reference", "no remaining", "no occurrence", "none remain", "already", "no longer", "doesn't exist",
    "does not exist", "don't exist", "removed", "no more ", "zero ", "confirm", "all clear", "no trace", "no leftover",
    "nothing left", "clean", "no other ", "no usage", "no existing", "isn't used", "not used", "unused", "i'll create",
    "let me create", "will create", "safe to", "no match", "not present", "no test", "there are no", "there is no",
    "there's no", "doesn't have", "does not have", "any more", "anymore", "nothing refers", "nothing uses", "no caller",
    "not referenced", "nobody uses",
)  # fmt: skip
_GOES_ON = ("search", "try ", "look for", "look in", "look at", "elsewhere", "find ", "another", "different", "broader")


class Thrash:
    """Detects repeated empty searches."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._empty: dict[str, tuple[int, Turn]] = {}
        self._listed = False
        self._removed: list[str] = []

    def wants(self, kind: str, tool: str, is_error: bool) -> bool:
        watched = tool in _SEARCHES or tool in _AGENTS or tool in WRITERS or tool in ("Bash", "Read")
        return watched or kind in ("assistant", "user", "interrupt")

    def see(self, turn: Turn) -> Sequence[Facts]:
        """Follow searches, and report a series of empty ones when it ends."""
        if turn.kind == "tool":
            return self._call(turn)
        if turn.kind == "assistant":
            if self._empty and _says_absent(turn.raw):
                self._empty = {}
        elif turn.kind in ("user", "interrupt"):
            return self._step_in(turn)
        return ()

    def _call(self, turn: Turn) -> Sequence[Facts]:
        if turn.tool == "Read":
            return self._read(turn) if self._listed else ()
        is_asked = self._empty or _is_empty(turn.raw_output)
        pattern = _pattern(turn) if is_asked else ""
        if pattern:
            return self._search(turn, pattern)
        if turn.tool in _AGENTS:
            return self._fire(turn, "")
        if not turn.is_error:
            self._change(turn)
            self._listed = bool(self._empty) and turn.tool == "Bash" and text_in(turn, "command").startswith(_LISTS)
        return ()

    def _read(self, turn: Turn) -> Sequence[Facts]:
        """Report a hit if a file is read right after a folder was listed."""
        found = self._fire(turn, "file") if not turn.is_error else ()
        self._listed = False
        return found

    def _change(self, turn: Turn) -> None:
        """Remember what an edit or a command removes: later searches for it are meant to be empty."""
        removed = ""
        if turn.tool == "Bash":
            text = text_in(turn, "command")
            if "rm " in text or "mv " in text or "sed -i" in text or "perl -pi" in text:
                removed = text
        elif turn.tool in WRITERS:
            removed = text_in(turn, "old_string") or "a new file"
        if removed:
            self._empty = {}
            self._removed.append(removed[:_LONGEST])
            del self._removed[:-_REMOVED]

    def _search(self, turn: Turn, pattern: str) -> Sequence[Facts]:
        if _is_empty(turn.raw_output):
            if len(self._empty) < _MOST:
                self._empty.setdefault(pattern, (self._clock.texts, turn))
            return ()
        return () if turn.is_error else self._fire(turn, "output")

    def _step_in(self, turn: Turn) -> Sequence[Facts]:
        found = self._fire(turn, "") if turn.kind == "interrupt" else ()
        self._empty = {}
        return found

    def _fire(self, turn: Turn, found_in: str) -> Sequence[Facts]:
        empty, self._empty = self._empty, {}
        if len(empty) < _ENOUGH:
            return ()
        near = [(pattern, search) for pattern, (texts, search) in empty.items() if self._clock.is_near(texts)]
        tried = [search for pattern, search in near if not self._is_unwanted(pattern)]
        return (_facts(turn, tried, found_in),) if len(tried) >= _ENOUGH else ()

    def _is_unwanted(self, pattern: str) -> bool:
        """Return whether a search is meant to be empty: for something just removed, or that should not exist."""
        if any(word in pattern.lower() for word in _UNWANTED):
            return True
        name = _longest_word(pattern.partition(_AND)[0])
        return len(name) > 3 and any(name in removed for removed in self._removed)


def _facts(turn: Turn, empty: list[Turn], found_in: str) -> Facts:
    tried = join(", ", (quote(_searched(search), 60) for search in empty[:4]))
    content = fill("{} searches in vain ({})", redact(str(len(empty))), tried)
    if found_in:
        found = shorten(text_in(turn, "file_path")) if found_in == "file" else redact(_first_line(turn.output))
        content = fill("{} before {} was found", content, quote(found))
    return facts_of(turn, FAMILY, "project_friction", 1, content, category="project-structure")


def _searched(turn: Turn) -> Redacted:
    """Return what a search was for, from the redacted call."""
    if turn.tool in _SEARCHES:
        return join(" ", [redact(text_in(turn, "pattern")), redact(text_in(turn, "glob"))])
    return redact(command_of(text_in(turn, "command")).redacted().main)


def _pattern(turn: Turn) -> str:
    """Return what a search was for, to compare searches; empty if the call is not a search."""
    if turn.tool in _SEARCHES:
        return f"{text_in(turn, 'pattern')[:_SHORT]}{_AND}{text_in(turn, 'glob')[:_SHORT]}"
    if turn.tool != "Bash":
        return ""
    text = text_in(turn, "command")
    if not text.startswith(_STARTS) or (text.startswith("cd ") and "grep" not in text and "find" not in text):
        return ""
    command = command_of(text)
    is_search = command.tool in _PROGRAMS and (command.tool != "git" or command.action == "grep")
    return command.main if is_search else ""


def _is_empty(output: str) -> bool:
    if len(output) > _SHORT:
        return False
    rest = output.partition("\n")[2] if output.startswith("Exit code 1") else output
    return not rest.strip() or rest.startswith(_EMPTY)


def _says_absent(text: str) -> bool:
    """Return whether the assistant says that nothing is there and does not go on searching."""
    low = text[:400].lower().replace("’", "'")
    return any(word in low for word in _ABSENT) and not any(word in low for word in _GOES_ON)


def _longest_word(pattern: str) -> str:
    plain = "".join(char if char.isalnum() or char == "_" else " " for char in pattern)
    return max(plain.split(), key=len, default="")


def _first_line(output: str) -> str:
    """Return where something was found: the first line that is not a count."""
    for line in output[:4000].splitlines():
        line = line.strip()
        if line and not line.startswith("Found "):
            return line.partition(":")[0] if "/" in line.partition(":")[0] else line
    return "it"
