"""Detect repeated empty searches that end in a hit: something is hard to find.

Three or more empty searches in a row count. They end with a search that finds something, with a subagent that searches,
or with the user stepping in. Searches that are meant to be empty do not count: for something just removed, before a
file is created, or when the assistant then says that nothing is there.
"""

from __future__ import annotations

from reflect_git.capture.detectors.common import Clock, build_facts, format_code, get_input_text, shorten
from reflect_git.capture.detectors.outcome import EDIT_TOOLS
from reflect_git.capture.detectors.shell import parse_command
from reflect_git.redact import format_redacted, join_redacted, redact

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from reflect_git.capture.new_signal import Facts
    from reflect_git.capture.transcript import Turn
    from reflect_git.redact import Redacted

FAMILY = "thrash"
_MIN_SEARCHES = 3
_MAX_REMOVED = 12
_REMOVED_TEXT_LIMIT = 2000
_SHORT_LIMIT = 200
_MAX_EMPTY_SEARCHES = 50
_SEPARATOR = "\t"
_SEARCH_TOOLS = frozenset(("Glob", "Grep"))
_SEARCH_PROGRAMS = frozenset("find grep egrep rg fd fdfind ag ack git".split())
_SEARCH_PREFIXES = ("find ", "grep ", "rg ", "fd ", "ag ", "ack ", "git grep ", "cd ", "egrep ")
_LISTING_PREFIXES = ("ls ", "tree", "git ls-files", "find ")
_EMPTY_OUTPUTS = ("No files found", "No matches found", "Found 0 ", "No content", "(Bash completed with no output)")
_UNWANTED_WORDS = (
    "todo", "fixme", "console.log", "debugger", "eslint-disable", "ts-ignore", "\\bany\\b", ": any", "as any", "xxx",
    "password", "secret", "api_key", "apikey", "type: ignore", "noqa", "<<<<<<<", "breakpoint()", ".only(",
    "private_key",
)  # fmt: skip
_AGENT_TOOLS = frozenset(("Task", "Agent"))
_ABSENT_PHRASES = (
    "gone", "no reference", "no remaining", "no occurrence", "none remain", "already", "no longer", "doesn't exist",
    "does not exist", "don't exist", "removed", "no more ", "zero ", "confirm", "all clear", "no trace", "no leftover",
    "nothing left", "clean", "no other ", "no usage", "no existing", "isn't used", "not used", "unused", "i'll create",
    "let me create", "will create", "safe to", "no match", "not present", "no test", "there are no", "there is no",
    "there's no", "doesn't have", "does not have", "any more", "anymore", "nothing refers", "nothing uses", "no caller",
    "not referenced", "nobody uses",
)  # fmt: skip
_SEARCHING_PHRASES = (
    "search",
    "try ",
    "look for",
    "look in",
    "look at",
    "elsewhere",
    "find ",
    "another",
    "different",
    "broader",
)


class FailedSearchDetector:
    """Detects repeated empty searches."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._empty_searches: dict[str, tuple[int, Turn]] = {}
        self._has_listed = False
        self._removed: list[str] = []

    def accepts(self, kind: str, tool: str, is_error: bool) -> bool:
        watched = tool in _SEARCH_TOOLS or tool in _AGENT_TOOLS or tool in EDIT_TOOLS or tool in ("Bash", "Read")
        return watched or kind in ("assistant", "user", "interrupt")

    def detect(self, turn: Turn) -> Sequence[Facts]:
        """Follow searches, and report a series of empty ones when it ends."""
        if turn.kind == "tool":
            return self._check_call(turn)
        if turn.kind == "assistant":
            if self._empty_searches and _says_absent(turn.raw):
                self._empty_searches = {}
        elif turn.kind in ("user", "interrupt"):
            return self._end_series(turn)
        return ()

    def _check_call(self, turn: Turn) -> Sequence[Facts]:
        if turn.tool == "Read":
            return self._check_read(turn) if self._has_listed else ()
        is_asked = self._empty_searches or _is_empty(turn.raw_output)
        pattern = _get_search_pattern(turn) if is_asked else ""
        if pattern:
            return self._check_search(turn, pattern)
        if turn.tool in _AGENT_TOOLS:
            return self._report_series(turn, "")
        if not turn.is_error:
            self._record_removal(turn)
            self._has_listed = (
                bool(self._empty_searches)
                and turn.tool == "Bash"
                and get_input_text(turn, "command").startswith(_LISTING_PREFIXES)
            )
        return ()

    def _check_read(self, turn: Turn) -> Sequence[Facts]:
        """Report a hit if a file is read right after a folder was listed."""
        found = self._report_series(turn, "file") if not turn.is_error else ()
        self._has_listed = False
        return found

    def _record_removal(self, turn: Turn) -> None:
        """Remember what an edit or a command removes: later searches for it are meant to be empty."""
        removed = ""
        if turn.tool == "Bash":
            text = get_input_text(turn, "command")
            if "rm " in text or "mv " in text or "sed -i" in text or "perl -pi" in text:
                removed = text
        elif turn.tool in EDIT_TOOLS:
            removed = get_input_text(turn, "old_string") or "a new file"
        if removed:
            self._empty_searches = {}
            self._removed.append(removed[:_REMOVED_TEXT_LIMIT])
            del self._removed[:-_MAX_REMOVED]

    def _check_search(self, turn: Turn, pattern: str) -> Sequence[Facts]:
        if _is_empty(turn.raw_output):
            if len(self._empty_searches) < _MAX_EMPTY_SEARCHES:
                self._empty_searches.setdefault(pattern, (self._clock.texts, turn))
            return ()
        return () if turn.is_error else self._report_series(turn, "output")

    def _end_series(self, turn: Turn) -> Sequence[Facts]:
        found = self._report_series(turn, "") if turn.kind == "interrupt" else ()
        self._empty_searches = {}
        return found

    def _report_series(self, turn: Turn, found_in: str) -> Sequence[Facts]:
        empty, self._empty_searches = self._empty_searches, {}
        if len(empty) < _MIN_SEARCHES:
            return ()
        near = [(pattern, search) for pattern, (texts, search) in empty.items() if self._clock.is_recent(texts)]
        tried = [search for pattern, search in near if not self._is_unwanted(pattern)]
        return (_build_facts(turn, tried, found_in),) if len(tried) >= _MIN_SEARCHES else ()

    def _is_unwanted(self, pattern: str) -> bool:
        """Return whether a search is meant to be empty: for something just removed, or that should not exist."""
        if any(word in pattern.lower() for word in _UNWANTED_WORDS):
            return True
        name = _longest_word(pattern.partition(_SEPARATOR)[0])
        return len(name) > 3 and any(name in removed for removed in self._removed)


def _build_facts(turn: Turn, empty: list[Turn], found_in: str) -> Facts:
    tried = join_redacted(", ", (format_code(_get_search_text(search), 60) for search in empty[:4]))
    content = format_redacted("{} searches in vain ({})", redact(str(len(empty))), tried)
    if found_in:
        found = (
            shorten(get_input_text(turn, "file_path")) if found_in == "file" else redact(_find_first_hit(turn.output))
        )
        content = format_redacted("{} before {} was found", content, format_code(found))
    return build_facts(turn, FAMILY, "project_friction", 1, content, category="project-structure")


def _get_search_text(turn: Turn) -> Redacted:
    """Return what a search was for, from the redacted call."""
    if turn.tool in _SEARCH_TOOLS:
        return join_redacted(" ", [redact(get_input_text(turn, "pattern")), redact(get_input_text(turn, "glob"))])
    return redact(parse_command(get_input_text(turn, "command")).get_redacted().main)


def _get_search_pattern(turn: Turn) -> str:
    """Return what a search was for, to compare searches; empty if the call is not a search."""
    if turn.tool in _SEARCH_TOOLS:
        return (
            f"{get_input_text(turn, 'pattern')[:_SHORT_LIMIT]}{_SEPARATOR}{get_input_text(turn, 'glob')[:_SHORT_LIMIT]}"
        )
    if turn.tool != "Bash":
        return ""
    text = get_input_text(turn, "command")
    if not text.startswith(_SEARCH_PREFIXES) or (text.startswith("cd ") and "grep" not in text and "find" not in text):
        return ""
    command = parse_command(text)
    is_search = command.tool in _SEARCH_PROGRAMS and (command.tool != "git" or command.action == "grep")
    return command.main if is_search else ""


def _is_empty(output: str) -> bool:
    if len(output) > _SHORT_LIMIT:
        return False
    rest = output.partition("\n")[2] if output.startswith("Exit code 1") else output
    return not rest.strip() or rest.startswith(_EMPTY_OUTPUTS)


def _says_absent(text: str) -> bool:
    """Return whether the assistant says that nothing is there and does not go on searching."""
    low = text[:400].lower().replace("’", "'")
    return any(word in low for word in _ABSENT_PHRASES) and not any(word in low for word in _SEARCHING_PHRASES)


def _longest_word(pattern: str) -> str:
    plain = "".join(char if char.isalnum() or char == "_" else " " for char in pattern)
    return max(plain.split(), key=len, default="")


def _find_first_hit(output: str) -> str:
    """Return where something was found: the first line that is not a count."""
    for line in output[:4000].splitlines():
        line = line.strip()
        if line and not line.startswith("Found "):
            return line.partition(":")[0] if "/" in line.partition(":")[0] else line
    return "it"
