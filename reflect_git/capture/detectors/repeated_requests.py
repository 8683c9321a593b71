"""Detect questions whose answer will last, and requests that come back in several sessions.

An answer counts in two cases. The assistant asked, and a short answer names a path, a command, an address or a version.
Or AskUserQuestion was answered in the person's own words, or about how things are in this project. Names that a loaded
instruction file contains were not missing.
"""

from __future__ import annotations

from reflect_git.capture.detectors.common import build_facts
from reflect_git.capture.score import is_way_of_working
from reflect_git.records.ids import digest
from reflect_git.redact import flatten, format_redacted, redact

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Optional

    from reflect_git.capture.detection import RequestHistory
    from reflect_git.capture.new_signal import Facts
    from reflect_git.capture.transcript import Turn

ANSWER_FAMILY = "asked"
_MAX_ANSWER_WORDS = 30
_TAIL_LIMIT = 400
_MAX_LOADED_FILES = 64
_FILE_LIMIT = 65536
_OWN_QUESTION_PREFIXES = ("[SIG-", "Learning ", "reflect-git: ")
_LASTING_QUESTION_PHRASES = (
    "where ", "which command", "what command", "which branch", "what branch", "package manager", "which database",
    "which port", "what port", "which version", "what version", "convention", "which directory", "which folder",
    "which framework", "test runner", "which environment", "what url", "which url", "how do you run",
    "how do you deploy",
    "naming", "which tool", "do you usually", "in this project", "in this repo", "which host", "which server",
    "which service", "how is ", "how are ", "what is the name", "which registry", "which style",
)  # fmt: skip
_TASK_WORDS = frozenset(
    """add fix run do make check change update remove delete create write implement use try go let please can could
    test look see show move put keep start continue commit push merge rename yes no ok both all option a b c""".split()
)


class LastingAnswerDetector:
    """Detects answers that will still be valid tomorrow."""

    def __init__(self) -> None:
        self._last_question: Optional[Turn] = None
        self._loaded_files: dict[str, str] = {}

    def accepts(self, kind: str, tool: str, is_error: bool) -> bool:
        return kind in ("assistant", "user", "instructions") or tool == "AskUserQuestion"

    def detect(self, turn: Turn) -> Sequence[Facts]:
        """Remember the last question, and report a lasting answer."""
        if turn.kind == "assistant":
            self._last_question = turn if _find_question(turn.raw) else None
        elif turn.kind == "user":
            asking, self._last_question = self._last_question, None
            return self._check_answer(turn, asking) if asking and turn.via == "prompt" else ()
        elif turn.kind == "instructions":
            self._add_loaded_files(turn)
        elif turn.tool == "AskUserQuestion" and not turn.is_error:
            return self._check_choices(turn)
        return ()

    def _add_loaded_files(self, turn: Turn) -> None:
        for file in turn.files:
            if file.path in self._loaded_files or len(self._loaded_files) < _MAX_LOADED_FILES:
                self._loaded_files[file.path] = file.content[:_FILE_LIMIT].casefold()

    def _is_known(self, things: list[str]) -> bool:
        return any(all(thing in text for thing in things) for text in self._loaded_files.values())

    def _check_answer(self, turn: Turn, asking: Turn) -> Sequence[Facts]:
        if not _is_statement(turn.raw) or not _is_about_lasting_fact(_find_question(asking.raw)):
            return ()
        things = find_names(turn.text)
        if not things or not _is_statement(turn.text) or self._is_known(things):
            return ()
        context = format_redacted("asked: {}\nanswered: {}", redact(_find_question(asking.text)), turn.text)
        return (
            build_facts(
                turn, ANSWER_FAMILY, "discovery", 2, turn.text, context=context, category="project-structure",
                trust="user_typed", meta={"score": 0.55},
            ),
        )  # fmt: skip

    def _check_choices(self, turn: Turn) -> Sequence[Facts]:
        answers = turn.details.get("answers")
        found = []
        for ordinal, (question, answer) in enumerate(answers.items() if type(answers) is dict else ()):
            said = answer if type(answer) is str else ""
            if (
                not said
                or type(question) is not str
                or any(question.startswith(sign) for sign in _OWN_QUESTION_PREFIXES)
            ):
                continue
            own = not _has_only_labels(said, _get_labels(turn))
            if "[SIG-" in question or not (_is_about_lasting_fact(question) or (own and find_names(said))):
                continue
            if not self._is_known([said.casefold()]):
                found.append(self._build_choice_facts(turn, question, said, own, ordinal))
        return found

    def _build_choice_facts(self, turn: Turn, question: str, said: str, own: bool, ordinal: int) -> Facts:
        """Return the fields of a signal for an answer.

        The assistant wrote the label of an option, whoever chose it.
        """
        asked, answer = redact(question), redact(said)
        facts = build_facts(
            turn,
            ANSWER_FAMILY,
            "discovery",
            2,
            answer if own else format_redacted("{} {}", flatten(asked, 300), answer),
            category="project-structure",
            context=format_redacted("asked: {}\nanswered: {}", asked, answer),
            trust="user_typed" if own else "assistant",
            meta={"score": 0.6 if own else 0.5},
        )
        facts["ordinal"] = ordinal
        return facts


def _find_question(text: str) -> str:
    """Return the last question of a text that ends with one, or nearly so."""
    tail = text[-_TAIL_LIMIT:]
    if "?" not in tail[-120:]:
        return ""
    return tail[: tail.rindex("?") + 1].splitlines()[-1].strip()


def _is_about_lasting_fact(question: str) -> bool:
    """Return whether a question is about a lasting fact, such as a convention or a version."""
    low = question.casefold()
    return any(sign in low for sign in _LASTING_QUESTION_PHRASES)


def _is_statement(text: str) -> bool:
    """Return whether a text is one short line that neither asks nor starts a task."""
    words = text.split()
    if not 1 <= len(words) <= _MAX_ANSWER_WORDS or "?" in text or "\n" in text.strip():
        return False
    return words[0].strip(".,:!").casefold() not in _TASK_WORDS


def find_names(text: str) -> list[str]:
    """Return the names in an answer: `db/changes`, `make lint`, `staging.example.org`, `14.2`, `DATABASE_URL`."""
    if "`" in text and text.count("`") >= 2:
        return [part.casefold() for part in text.split("`")[1::2] if part]
    words = [word.strip(".,;:!()'\"") for word in text.split()]
    return [word.casefold() for word in words if _is_name(word)]


def _is_name(word: str) -> bool:
    if len(word) < 3:
        return False
    if "/" in word.strip("/") or "_" in word.strip("_") or word.startswith(("./", "--", "~/")):
        return True
    before, dot, after = word.partition(".")
    return bool(dot and before and after[:1].isalnum()) or (word.isupper() and len(word) > 3)


def _has_only_labels(said: str, labels: set[str]) -> bool:
    """Return whether an answer consists of option labels only; Claude Code joins several labels."""
    for label in sorted(labels, key=len, reverse=True):
        said = said.replace(label, "")
    return not said.strip(", ")


def _get_labels(turn: Turn) -> set[str]:
    asked = turn.input.get("questions") or turn.details.get("questions")
    questions = [one for one in asked if type(one) is dict] if type(asked) is list else []
    options = [option for one in questions for option in one.get("options") or () if type(option) is dict]
    return {str(option.get("label")) for option in options}


REQUEST_FAMILY = "again"
MIN_SESSIONS = 3
_MIN_LENGTH, _MAX_LENGTH = 12, 240
_MIN_WORDS = 3
_MIN_SPACELESS_LETTERS = 8  # characters, for scripts without spaces
_MAX_REPORTED = 256
_FILLER_WORDS = frozenset(
    """yes yeah yep no nope ok okay sure please go on ahead continue proceed resume keep going next do it that this the
    a and then now again try commit push pull merge its good great nice thanks thank you perfect done ready start stop
    fix all them everything where left off we you i let's lets with for me to is what's whats status update hi hello hey
    ja weiter bitte oui sí si continua continúa да дальше""".split()
)


class RepeatedRequestDetector:
    """Detects a request that was made in several sessions."""

    def __init__(self, past: RequestHistory) -> None:
        self._history = past
        self._reported: dict[str, None] = {}

    def accepts(self, kind: str, tool: str, is_error: bool) -> bool:
        return kind == "user"

    def detect(self, turn: Turn) -> Sequence[Facts]:
        """Count a request, and report it in its third session."""
        if turn.kind != "user" or turn.via == "feedback" or not turn.session:
            return ()
        said = normalize_request(turn.raw) and normalize_request(turn.text)
        if not said or not is_way_of_working(said):
            return ()
        key = digest("request", said)[:16]
        sessions = self._history.count_sessions(key, turn.session)
        if sessions < MIN_SESSIONS or key in self._reported:
            return ()
        self._reported[key] = None
        if len(self._reported) > _MAX_REPORTED:
            del self._reported[next(iter(self._reported))]
        return (
            build_facts(
                turn, REQUEST_FAMILY, "convention", 1, turn.text, category="preference", trust="user_typed",
                context=redact(f"asked for in {sessions} sessions"), meta={"score": 0.4, "sessions": sessions},
            ),
        )  # fmt: skip


def normalize_request(text: str) -> str:
    """Normalize a request that may describe a way of working; empty for one that cannot."""
    if not _MIN_LENGTH <= len(text) <= _MAX_LENGTH and not (len(text) <= _MAX_LENGTH and _is_spaceless(text)):
        return ""
    words = "".join(char if char.isalnum() else " " for char in text.casefold()).split()
    if _is_spaceless(text):
        return " ".join(words)
    telling = [word for word in words if word not in _FILLER_WORDS and not word.isdigit()]
    return " ".join(words) if len(words) > _MIN_WORDS and len(telling) >= 2 else ""


def _is_spaceless(text: str) -> bool:
    return sum("぀" <= char <= "鿿" for char in text[:_MAX_LENGTH]) >= _MIN_SPACELESS_LETTERS
