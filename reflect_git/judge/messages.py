"""Read the messages of a session for the judge and the baton: redacted, and only while capture was on."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from reflect_git import paths
from reflect_git.capture import detection, mine, sessions
from reflect_git.capture.summary import SessionSummary
from reflect_git.errors import ReflectError
from reflect_git.records.history import session_hash
from reflect_git.records.named_tuple import NamedTuple
from reflect_git.redact import Redacted, clip, flatten, format_redacted, join_redacted, redact, redact_ends

if TYPE_CHECKING:
    from reflect_git.capture.transcript import Turn
    from reflect_git.store.repository import Store

USER, ASSISTANT, TOOL = "user", "assistant", "tool"
_USER_LIMIT, _ASSISTANT_LIMIT, _TOOL_LIMIT = 3000, 4000, 240  # bytes of one message that the judge sees
_READ_LIMIT = 32 << 10
_LINE_LIMIT = 300
_INSTRUCTION_TYPES = ("correction", "convention", "command", "gotcha", "discovery")
_TYPED_TRUSTS = ("user_typed", "user_feedback")
# What a call is about, by the field of its input.
_CALL_FIELDS = ("command", "file_path", "notebook_path", "pattern", "url", "query", "description", "prompt")


class Message(NamedTuple):
    """A message of a session. `n` counts all of them, `typed` those of the user so far."""

    n: int
    role: str
    text: str
    typed: int


class Session(NamedTuple):
    """The messages of a session, and what else the baton needs. `name` is the hash that records have.

    `instructions`: what the user said should hold, oldest first, with the number of the message. `loaded`: path and
    text of the instruction files that the client reported.
    """

    path: str
    id: str
    cwd: str
    start: str
    end: str
    is_attended: bool
    messages: tuple[Message, ...]
    instructions: tuple[tuple[int, str], ...]
    goals: tuple[tuple[int, str], ...]
    todos: tuple[str, ...]
    failing: str
    loaded: tuple[tuple[str, str], ...]

    @property
    def name(self) -> str:
        return session_hash(self.id)

    @property
    def typed(self) -> int:
        """Return the number of messages that the user typed."""
        return self.messages[-1].typed if self.messages else 0

    def get_part(self, first: int, last: int) -> list[Message]:
        """Return the messages from one typed message to another, with the answers to the last one."""
        return [one for one in self.messages if first <= one.typed <= last]


def list_transcripts(env: Mapping[str, str], since: float = 0.0) -> list[str]:
    """List the transcripts of sessions that changed since a time, the oldest first. Those of agents are left out."""
    return sessions.list_transcripts(paths.projects_dir(env), since)


def find_transcript(env: Mapping[str, str], session: str) -> str:
    """Return the transcript of the session whose id begins like this; raise if there is none, or several."""
    if os.path.isfile(session) and session.endswith(".jsonl"):
        return os.path.abspath(session)
    wanted = session.lower()
    found = [path for path in list_transcripts(env) if os.path.basename(path).lower().startswith(wanted)]
    exact = [path for path in found if os.path.basename(path).lower() == f"{wanted}.jsonl"]
    if wanted and len(exact or found) == 1:
        return (exact or found)[0]
    hint = "ids are the names of files below ~/.claude/projects; 'reflect-git signals' shows them"
    if not wanted or not found:
        raise ReflectError(f"no transcript of a session '{session}'", hint, "no-session")
    raise ReflectError(f"'{session}' is the beginning of {len(found)} sessions", hint, "ambiguous-id")


def load_session(store: Store, env: Mapping[str, str], path: str) -> Session | None:
    """Read a session; None if nothing in it may be read, or nobody typed anything."""
    try:
        turns = list(mine.read_captured_turns(store, env, path))
    except (ReflectError, OSError):
        return None
    return build_session(path, turns)


def find_open_todos(store: Store, env: Mapping[str, str], path: str, size: int) -> list[str]:
    """Return the open todos at the end of a session, from the last bytes of its transcript."""
    ending = SessionSummary()
    for turn in mine.read_captured_turns(store, env, path, size):
        ending.add_turn(turn)
    return [_to_line(todo) for todo in ending.todos]


def build_session(path: str, turns: Sequence[Turn]) -> Session | None:
    """Build a session from its turns."""
    collected = _Collector()
    for turn in turns:
        collected.add_turn(turn)
    last = next((turn for turn in reversed(turns) if turn.entry), None)
    if last is None or not collected.messages:
        return None
    ending = SessionSummary()
    for turn in turns:
        ending.add_turn(turn)
    return Session(
        path, last.session, last.cwd, turns[0].timestamp, last.timestamp, last.is_attended, tuple(collected.messages),
        tuple(_find_instructions(turns, collected.numbers)), tuple(collected.goals),
        tuple(_to_line(todo) for todo in ending.todos), _to_line(ending.failing), tuple(collected.loaded.items()),
    )  # fmt: skip


def _to_line(text: str) -> Redacted:
    """Redact the whole text before it is shortened, so that no half of a secret remains."""
    return flatten(redact_ends(text, _READ_LIMIT), _LINE_LIMIT)


class _Collector:
    """Collects messages turn by turn. The answers between two tool calls are one message each."""

    def __init__(self) -> None:
        self.messages: list[Message] = []
        self.numbers: dict[int, int] = {}  # index of a turn → number of its message
        self.goals: list[tuple[int, str]] = []
        self.loaded: dict[str, str] = {}
        self._typed = 0

    def add_turn(self, turn: Turn) -> None:
        if turn.kind == "instructions":
            for file in turn.files:
                self.loaded[file.path] = redact_ends(file.content, _READ_LIMIT)
        if turn.sidechain:
            return
        if turn.kind == "user":
            self._typed += 1
            self._add(turn, USER, clip(turn.text, _USER_LIMIT))
            self.goals.append((len(self.messages), flatten(turn.text, _LINE_LIMIT)))
        elif turn.kind == "assistant" and self._typed:
            self._add(turn, ASSISTANT, clip(turn.text, _ASSISTANT_LIMIT))
        elif turn.kind == "tool" and turn.tool and self._typed:
            self._add(turn, TOOL, _describe_call(turn))

    def _add(self, turn: Turn, role: str, text: str) -> None:
        if text.strip():
            self.messages.append(Message(len(self.messages) + 1, role, text, self._typed))
            self.numbers[turn.index] = len(self.messages)


def _describe_call(turn: Turn) -> Redacted:
    """Return one line for a call: what ran, and whether it failed; never its output."""
    given = next((turn.input[name] for name in _CALL_FIELDS if isinstance(turn.input.get(name), str)), "")
    about = flatten(redact_ends(given, _READ_LIMIT), _TOOL_LIMIT)
    tool = flatten(redact(turn.tool), 40)
    ending = redact(" (refused)" if turn.refused else " (failed)" if turn.is_error else "")
    return join_redacted("", [format_redacted("{}: {}", tool, about) if about else tool, ending])


def _find_instructions(turns: Sequence[Turn], numbers: Mapping[int, int]) -> Iterator[tuple[int, str]]:
    """Yield what the user said should hold, as the miner finds it."""
    current: list[Turn] = []

    def watched() -> Iterator[Turn]:
        for turn in turns:
            current[:] = [turn]
            yield turn

    memory = detection.InMemoryRequestCounter()
    for facts in detection.find_signals(watched(), memory, on_error=detection.ignore_error):
        if facts.get("trust") in _TYPED_TRUSTS and facts.get("type") in _INSTRUCTION_TYPES:
            number = numbers.get(facts.get("source", {}).get("turn") or current[0].index)
            yield number or numbers.get(current[0].index, 0), flatten(facts["content"], _LINE_LIMIT)
