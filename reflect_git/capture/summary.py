"""Summarise a session: last goal, outcome, open work, and figures. A field is left empty rather than guessed."""

from __future__ import annotations

from reflect_git.capture import score_features
from reflect_git.capture.new_signal import is_utc
from reflect_git.records.schema import VERSION
from reflect_git.redact import clip, fill, flatten, join, redact, redact_ends

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any, Optional

    from reflect_git.capture.new_signal import Facts
    from reflect_git.capture.transcript import Turn
    from reflect_git.records.schema import Exposure, Learning, Project
    from reflect_git.redact import Redacted

_GOAL = 300
_READ = 32 << 10  # at either end of a longer text
_SENTENCE = 300
_LISTED = 10
_FILES = 20
_WORDS_OF_A_GOAL = 3
_POLITE = frozenset("please now ok okay then next and also can could would you we let's lets us i want to need".split())
_EDITORS = ("Edit", "Write", "MultiEdit", "NotebookEdit")


class Ending:
    """Collects the last goal, the open work and the tools from the turns of a session, in order."""

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
        """Record one turn."""
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
        """Record a goal.

        A correction, a question, praise and "yes, go on" are not goals; the previous goal stays.
        """
        self.asked += 1
        if not self.goal or (turn.via == "prompt" and _is_task(_asked_in(turn.raw))):
            # From the redacted message: a dropped line may be what marks the next one as a secret.
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
    return " ".join(score_features.own_lines(text))


def _is_task(asked: str) -> bool:
    words = score_features.flatten(asked).split()
    begins = [word for word in words[:4] if word not in _POLITE]
    return len(words) >= _WORDS_OF_A_GOAL and bool(begins) and begins[0] in score_features.TASK


def _open_todos(given: Any) -> list[str]:
    listed = given if isinstance(given, list) else []
    texts = [item.get("content") for item in listed if isinstance(item, dict) and item.get("status") != "completed"]
    return [text for text in texts[:_LISTED] if isinstance(text, str)]


def facts_of(turns: Iterable[Turn], decisions: Sequence[Redacted]) -> Optional[Facts]:
    """Return the fields of the summary signal, or None if hardly anything was asked or done."""
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
        "trust": "assistant",  # the lowest trust of its parts
        "meta": {
            "score": 0.0, "durable": False, "goal": ending.goal, "outcome": said, "todos": todos, "failing": failing,
            "decisions": decided, "files": [redact(file) for file in list(ending.files)[-_FILES:]],
            "tools": {redact(tool): count for tool, count in ending.tools.items()},
        },
    }  # fmt: skip


def _first_sentence(text: Redacted) -> Redacted:
    """Return the first sentence, where the assistant describes its work; a question to the user comes last."""
    sentences = score_features.split(text)
    return flatten(redact(sentences[0]), _SENTENCE, "") if sentences else redact("")


def _cut(text: str) -> Redacted:
    """Redact the whole text, then put it on one line and truncate it: no half of a secret remains."""
    return flatten(redact_ends(text, _READ), _GOAL, "")


def _context(said: Redacted, todos: list[Redacted], failing: Redacted, decided: list[Redacted]) -> Redacted:
    lines = [fill("outcome: {}", said)] if said else []
    lines += [fill("open: {}", todo) for todo in todos]
    lines += [fill("failing at the end: {}", failing)] if failing else []
    lines += [fill("the user said: {}", decision) for decision in decided]
    return join("\n", lines)


_TOOLS = 40
_NAME = 80


class Figures:
    """Counts a session turn by turn; `kept` returns the state with which a later pass continues."""

    def __init__(self, kept: Mapping[str, Any], learnings: Iterable[Learning] = ()) -> None:
        self.turns = _count(kept, "turns")
        self.typed = _count(kept, "typed")
        self.corrections = _count(kept, "corrections")
        self.interruptions = _count(kept, "interruptions")
        self.start, self.end = str(kept.get("start", "")), str(kept.get("end", ""))
        self.model, self.client = str(kept.get("model", "")), str(kept.get("client", ""))
        self.attended = kept.get("attended", True) is True
        self.failures: dict[str, int] = dict(kept.get("failures", {}))
        self.rules: dict[str, list[str]] = dict(kept.get("rules", {}))
        self.hits: dict[str, int] = dict(kept.get("hits", {}))
        self._texts = [(learning, flat(learning["text"])) for learning in learnings]
        self._names: dict[str, Redacted] = {}
        self._matchers = list(filter(None, map(_matcher, learnings)))

    def kept(self) -> dict[str, Any]:
        """Return the counts for the cursor."""
        return {name: value for name, value in vars(self).items() if not name.startswith("_")}

    def see(self, turn: Turn) -> None:
        """Count one turn."""
        if is_utc(f"{turn.timestamp[:19]}Z"):
            self.start = self.start or _seconds(turn.timestamp)
            self.end = _seconds(turn.timestamp)
        self.client = self._name(turn.version) or self.client
        self.attended = turn.attended
        if turn.kind == "tool":
            self._tool(turn)
        elif turn.kind == "instructions":
            self._loaded(turn)
        elif not turn.sidechain:
            self._said(turn)

    def _name(self, given: str) -> Redacted:
        """Return a name that may be stored; cached, because every turn has two of the few names of a session."""
        found = self._names.get(given)
        if found is None:
            found = self._names[given] = clip(redact(given), _NAME)
        return found

    def _said(self, turn: Turn) -> None:
        self.turns += turn.kind in ("user", "assistant")
        self.typed += turn.kind == "user"
        self.interruptions += turn.kind == "interrupt"
        self.model = self._name(turn.model) or self.model

    def _tool(self, turn: Turn) -> None:
        if turn.is_error and not turn.refused and not turn.interrupted:
            name = _tool_name(turn.tool)
            if name in self.failures or len(self.failures) < _TOOLS:
                self.failures[name] = self.failures.get(name, 0) + 1
        for identity, tool, field, is_hit in self._matchers:
            given = turn.input.get(field)
            if turn.tool == tool and isinstance(given, str) and is_hit(given):
                self.hits[identity] = self.hits.get(identity, 0) + 1

    def _loaded(self, turn: Turn) -> None:
        """Record the rules in loaded files.

        Claude Code removes comments before it reports what it loaded, so rules are found by text, not by id.
        """
        for file in turn.files:
            content = flat(file.content) if self._texts else ""
            for learning, text in self._texts:
                if text in content:
                    listed = self.rules.setdefault(learning["target"]["path"], [])
                    if learning["id"] not in listed:
                        listed.append(learning["id"])

    def record(self, identity: str, session: str, project: Project | None) -> Exposure:
        """Return the exposure record of the session."""
        start = _seconds(self.start) or _seconds(self.end)
        return {
            "id": identity, "version": VERSION, "session": session, "project": project, "start": start,
            "end": _seconds(self.end) or start, "turns": self.turns, "typed": self.typed,
            "corrections": self.corrections, "failures": self.failures, "interruptions": self.interruptions,
            "model": self.model or None, "client": self.client or None, "attended": self.attended,
            "rules": self.rules, "hits": self.hits,
        }  # fmt: skip


def _tool_name(tool: str) -> str:
    """Return the name of a known tool, otherwise "mcp" or "other".

    A call can have any name, and figures are stored on main.
    """
    if tool.startswith("mcp__"):
        return "mcp"
    is_name = tool.isascii() and tool.isalpha() and tool[:1].isupper() and len(tool) <= 32
    return tool if is_name and redact(tool) == tool else "other"


def flat(text: str) -> str:
    """Normalize a text for comparison: formatters may wrap it and change its emphasis."""
    return " ".join(text.replace("`", "").replace("*", "").split()).casefold()


def _count(kept: Mapping[str, Any], name: str) -> int:
    value = kept.get(name)
    return value if type(value) is int and value >= 0 else 0


def _seconds(timestamp: str) -> str:
    return f"{timestamp[:19]}Z" if len(timestamp) >= 20 else ""


def _matcher(learning: Learning) -> tuple[str, str, str, Any] | None:
    given = learning["matcher"]
    if not given:
        return None
    import re  # only needed with such a learning

    try:
        pattern = re.compile(str(given.get("pattern", "")))
    except re.error:
        return None
    return learning["id"], str(given.get("tool", "")), str(given.get("field", "")), pattern.search
