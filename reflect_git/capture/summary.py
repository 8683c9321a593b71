"""Summarise a session: last goal, outcome, open work. A field is left empty rather than guessed."""

from __future__ import annotations

from reflect_git.capture import score_features
from reflect_git.language.words import load_table
from reflect_git.redact import flatten, format_redacted, join_redacted, redact, redact_ends

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence
    from typing import Any, Optional

    from reflect_git.capture.new_signal import Facts
    from reflect_git.capture.transcript import Turn
    from reflect_git.redact import Redacted

_GOAL_LIMIT = 300
_READ_LIMIT = 32 << 10  # at either end of a longer text
_SENTENCE_LIMIT = 300
_MAX_LISTED = 10
_MAX_FILES = 20
_MAX_LESSONS = 12
# All lessons of a session together are a hundredth of what was said, so that a month of them fits on a page.
_LESSON_SHARE = 100
_MIN_LESSON_CHARS = 200
_MIN_LESSON_WORDS = 5
_MIN_GOAL_WORDS = 3
_POLITE_WORDS = frozenset(
    "please now ok okay then next and also can could would you we let's lets us i want to need".split()
)
# "Run the tests again" does not change what a session is about.
_FOLLOW_UP_WORDS = frozenset(
    "run show explain commit push print open read list tell try continue proceed start".split()
)
_EDIT_TOOLS = ("Edit", "Write", "MultiEdit", "NotebookEdit")


class SessionSummary:
    """Collects the last goal, the open work and the tools from the turns of a session, in order."""

    def __init__(self) -> None:
        self.last: Optional[Turn] = None
        self.goal = redact("")
        self.last_message: Optional[Turn] = None
        self.failing = ""
        self.prompt_count = 0
        self.todos: list[str] = []
        self.files: dict[str, None] = {}
        self.tools: dict[str, int] = {}
        self.lessons: dict[str, tuple[int, Redacted]] = {}  # with how telling each is
        self.chars = 0

    def add_turn(self, turn: Turn) -> None:
        """Record one turn."""
        if turn.sidechain:
            return
        if turn.entry:
            self.last = turn
        if turn.kind in ("user", "assistant"):
            self.chars += len(turn.text)
            self._add_lessons(turn.text, turn.kind == "user")
        if turn.kind == "user":
            self._add_prompt(turn)
        elif turn.kind == "assistant":
            self.last_message = turn
        elif turn.kind == "tool" and turn.tool:
            self._add_tool_call(turn)

    def _add_prompt(self, turn: Turn) -> None:
        """Record a goal.

        A correction, a question, praise and "yes, go on" are not goals; the previous goal stays.
        """
        self.prompt_count += 1
        if not self.goal or (turn.via == "prompt" and _is_task(_get_own_text(turn.raw))):
            # From the redacted message: a dropped line may be what marks the next one as a secret.
            self.goal = flatten(redact(_get_own_text(turn.text)), _GOAL_LIMIT, "") or self.goal

    def _add_lessons(self, text: Redacted, is_typed: bool) -> None:
        """Collect the sentences that state a fact, a cause or a decision."""
        if len(text) > _READ_LIMIT:
            return
        lower = text.casefold()
        if not any(cue in lower for cue in _get_cues("cues")):
            return
        for sentence in score_features.split_sentences(text):
            plain = sentence.casefold()
            is_lesson = any(cue in plain for cue in _get_cues("cues")) and not plain.rstrip().endswith("?")
            if is_lesson and len(plain.split()) >= _MIN_LESSON_WORDS and not plain.startswith(_get_cues("empty")):
                self.lessons.pop(plain, None)
                self.lessons[plain] = _rate_lesson(sentence) + is_typed, flatten(redact(sentence), _SENTENCE_LIMIT)

    def choose_lessons(self, known: Collection[str]) -> list[Redacted]:
        """Return the most telling lessons, the later one of two, in order; without `known` texts."""
        new = {plain: found for plain, found in self.lessons.items() if " ".join(plain.split()) not in known}
        ranked = sorted(enumerate(new.items()), key=lambda one: (-one[1][1][0], -one[0]))
        room, chosen = max(_MIN_LESSON_CHARS, self.chars // _LESSON_SHARE), set[str]()
        for _, (plain, _) in ranked[:_MAX_LESSONS]:
            room -= len(plain)
            if room < 0 and chosen:
                break
            chosen.add(plain)
        return [text for plain, (_, text) in new.items() if plain in chosen]

    def _add_tool_call(self, turn: Turn) -> None:
        self.tools[turn.tool] = self.tools.get(turn.tool, 0) + 1
        if turn.tool == "TodoWrite":
            self.todos = _get_open_todos(turn.input.get("todos"))
        if turn.tool in _EDIT_TOOLS and not turn.is_error:
            path = turn.input.get("file_path")
            if isinstance(path, str):
                self.files.pop(path, None)
                self.files[path] = None
        if turn.tool == "Bash" and not turn.refused:
            command = turn.input.get("command")
            self.failing = command if turn.is_error and isinstance(command, str) else ""


def _rate_lesson(sentence: str) -> int:
    """Return how telling a lesson is: it states a cause or an agreement, and it names a number, a name or code."""
    plain = sentence.casefold()
    has_code = any(char.isdigit() or char in "`/_" for char in sentence)
    has_name = any(word[:1].isupper() for word in sentence.split()[1:])
    return 2 * any(cue in plain for cue in _get_cues("strong")) + (has_code or has_name)


def _get_cues(name: str) -> tuple[str, ...]:
    return tuple(load_table("lessons")[name])


def _get_own_text(text: str) -> str:
    return " ".join(score_features.get_own_lines(text))


def _is_task(asked: str) -> bool:
    words = score_features.normalize_text(asked).split()
    begins = [word for word in words[:4] if word not in _POLITE_WORDS]
    is_task = bool(begins) and begins[0] in score_features.TASK_WORDS - _FOLLOW_UP_WORDS
    return is_task and len(words) >= _MIN_GOAL_WORDS and not asked.rstrip().endswith("?")


def _get_open_todos(given: Any) -> list[str]:
    listed = given if isinstance(given, list) else []
    texts = [item.get("content") for item in listed if isinstance(item, dict) and item.get("status") != "completed"]
    return [text for text in texts[:_MAX_LISTED] if isinstance(text, str)]


def build_facts(turns: Iterable[Turn], decisions: Sequence[Redacted]) -> Optional[Facts]:
    """Return the fields of the summary signal, or None if hardly anything was asked or done."""
    ending = SessionSummary()
    for turn in turns:
        ending.add_turn(turn)
    if (
        ending.last is None
        or not ending.goal
        or not (ending.tools or (ending.last_message and ending.prompt_count > 1))
    ):
        return None
    said = _first_sentence(ending.last_message.text) if ending.last_message else redact("")
    todos, failing = [_redact_line(todo) for todo in ending.todos], _redact_line(ending.failing)
    decided = list(decisions)[-_MAX_LISTED:]
    known = {" ".join(one.casefold().split()) for one in decided}
    lessons = ending.choose_lessons(known)
    return {
        "type": "summary",
        "family": "summary",
        "confidence": 1,
        "category": "project-structure",
        "timestamp": ending.last.timestamp,
        "session_id": ending.last.session,
        "source": {"turn": ending.last.index, "entry": ending.last.entry},
        "content": ending.goal,
        "context": _build_context(said, todos, failing, decided, lessons),
        "trust": "assistant",  # the lowest trust of its parts
        "meta": {
            "score": 0.0, "durable": False, "goal": ending.goal, "outcome": said, "todos": todos, "failing": failing,
            "decisions": decided, "lessons": lessons, "chars": ending.chars,
            "files": [redact(file) for file in list(ending.files)[-_MAX_FILES:]],
            "tools": {redact(tool): count for tool, count in ending.tools.items()},
        },
    }  # fmt: skip


def _first_sentence(text: Redacted) -> Redacted:
    """Return the first sentence, where the assistant describes its work; a question to the user comes last."""
    sentences = score_features.split_sentences(text)
    return flatten(redact(sentences[0]), _SENTENCE_LIMIT, "") if sentences else redact("")


def _redact_line(text: str) -> Redacted:
    """Redact the whole text, then put it on one line and truncate it: no half of a secret remains."""
    return flatten(redact_ends(text, _READ_LIMIT), _GOAL_LIMIT, "")


def _build_context(
    said: Redacted, todos: list[Redacted], failing: Redacted, decided: list[Redacted], lessons: list[Redacted]
) -> Redacted:  # fmt: skip
    lines = [format_redacted("outcome: {}", said)] if said else []
    lines += [format_redacted("open: {}", todo) for todo in todos]
    lines += [format_redacted("failing at the end: {}", failing)] if failing else []
    lines += [format_redacted("the user said: {}", decision) for decision in decided]
    lines += [format_redacted("noted: {}", lesson) for lesson in lessons]
    return join_redacted("\n", lines)
