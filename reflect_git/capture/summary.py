"""What a session leaves behind: its last goal, how it ended, what is still open. Empty rather than invented."""

from __future__ import annotations

from reflect_git.adapters.redact import fill, flatten, join, redact, redact_ends
from reflect_git.capture import features, sentence

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any, Optional

    from reflect_git.adapters.redact import Redacted
    from reflect_git.adapters.transcript import Turn
    from reflect_git.capture.facts import Facts

_GOAL = 300
_READ = 32 << 10  # at either end of a longer text
_SENTENCE = 300
_LISTED = 10
_FILES = 20
_WORDS_OF_A_GOAL = 3
_POLITE = frozenset("please now ok okay then next and also can could would you we let's lets us i want to need".split())
_EDITORS = ("Edit", "Write", "MultiEdit", "NotebookEdit")


class Ending:
    """The last turns of a session, looked at in order."""

    def __init__(self) -> None:
        self.last: Optional[Turn] = None
        self.goal = redact("")
        self.said: Optional[Turn] = None
        self.failing = ""
        self.asked = 0
        self.todos: list[str] = []
        self.files: dict[str, None] = {}
        self.tools: dict[str, int] = {}

    def see(self, turn: Turn) -> None:
        if turn.sidechain:
            return
        if turn.entry:
            self.last = turn
        if turn.kind == "user":
            self._asked(turn)
        elif turn.kind == "assistant":
            self.said = turn
        elif turn.kind == "tool" and turn.tool:
            self._did(turn)

    def _asked(self, turn: Turn) -> None:
        """A correction, a question, praise and `yes, go on` are no goals; the one before them still is."""
        self.asked += 1
        if not self.goal or (turn.via == "prompt" and _is_task(_asked_in(turn.raw))):
            # From the redacted message: a line that is dropped may be what makes the next one a secret.
            self.goal = flatten(redact(_asked_in(turn.text)), _GOAL, "") or self.goal

    def _did(self, turn: Turn) -> None:
        self.tools[turn.tool] = self.tools.get(turn.tool, 0) + 1
        if turn.tool == "TodoWrite":
            self.todos = _open_todos(turn.input.get("todos"))
        if turn.tool in _EDITORS and not turn.is_error:
            path = turn.input.get("file_path")
            if isinstance(path, str):
                self.files.pop(path, None)
                self.files[path] = None
        if turn.tool == "Bash" and not turn.refused:
            command = turn.input.get("command")
            self.failing = command if turn.is_error and isinstance(command, str) else ""


def _asked_in(text: str) -> str:
    return " ".join(sentence.own_lines(text))


def _is_task(asked: str) -> bool:
    words = features.flatten(asked).split()
    begins = [word for word in words[:4] if word not in _POLITE]
    return len(words) >= _WORDS_OF_A_GOAL and bool(begins) and begins[0] in features.TASK


def _open_todos(given: Any) -> list[str]:
    listed = given if isinstance(given, list) else []
    texts = [item.get("content") for item in listed if isinstance(item, dict) and item.get("status") != "completed"]
    return [text for text in texts[:_LISTED] if isinstance(text, str)]


def facts_of(turns: Iterable[Turn], decisions: Sequence[Redacted]) -> Optional[Facts]:
    """The facts of the summary signal, or None for a session in which hardly anything was asked or done."""
    ending = Ending()
    for turn in turns:
        ending.see(turn)
    if ending.last is None or not ending.goal or not (ending.tools or (ending.said and ending.asked > 1)):
        return None
    said = _first_sentence(ending.said.text) if ending.said else redact("")
    todos, failing = [_cut(todo) for todo in ending.todos], _cut(ending.failing)
    decided = list(decisions)[-_LISTED:]
    return {
        "type": "summary",
        "family": "summary",
        "confidence": 1,
        "category": "project-structure",
        "timestamp": ending.last.timestamp,
        "session_id": ending.last.session,
        "source": {"turn": ending.last.index, "entry": ending.last.entry},
        "content": ending.goal,
        "context": _context(said, todos, failing, decided),
        "trust": "assistant",  # the lowest of what it is made of
        "meta": {
            "score": 0.0, "durable": False, "goal": ending.goal, "outcome": said, "todos": todos, "failing": failing,
            "decisions": decided, "files": [redact(file) for file in list(ending.files)[-_FILES:]],
            "tools": {redact(tool): count for tool, count in ending.tools.items()},
        },
    }  # fmt: skip


def _first_sentence(text: Redacted) -> Redacted:
    """What the assistant said of its work comes first in its last words; a question to the user comes last."""
    sentences = sentence.split(text)
    return flatten(redact(sentences[0]), _SENTENCE, "") if sentences else redact("")


def _cut(text: str) -> Redacted:
    """Redact the whole text, then put it on one line and cut it: no half of a secret stays."""
    return flatten(redact_ends(text, _READ), _GOAL, "")


def _context(said: Redacted, todos: list[Redacted], failing: Redacted, decided: list[Redacted]) -> Redacted:
    lines = [fill("outcome: {}", said)] if said else []
    lines += [fill("open: {}", todo) for todo in todos]
    lines += [fill("failing at the end: {}", failing)] if failing else []
    lines += [fill("the user said: {}", decision) for decision in decided]
    return join("\n", lines)
