"""From the lines of a transcript to turns, and where to go on next time."""

from __future__ import annotations

import os

from reflect_git.adapters.transcript import results
from reflect_git.adapters.transcript.lines import Lines, parse
from reflect_git.adapters.transcript.opening import open_transcript
from reflect_git.adapters.transcript.pastes import Pastes
from reflect_git.adapters.transcript.queue import Queue
from reflect_git.adapters.transcript.turn import InstructionFile, Origin, Turn, fields_of, is_instruction_file, text_of
from reflect_git.adapters.transcript.words import (
    INTERRUPTION,
    between,
    command,
    is_from_a_person,
    is_wrapped,
    texts_of,
    typed,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any, Optional

    from reflect_git.adapters.transcript.queue import Held

    Fields = dict[str, Any]

OVERLAP = 20  # detectors look across several turns, also across the place where the last reading ended
_OPEN_BYTES = 32 << 20
_CALL_BYTES = 4096  # what a call takes at least, so that a million small ones are bounded, too
_SYNTHETIC = "<synthetic>"


def turns(path: str, start: int = 0, limit: Optional[int] = None) -> Iterator[Turn]:
    """The turns of a transcript from a byte offset on, up to the line with the `limit`th."""
    return iter(Reader(path, start, limit))


class Reader:
    """One pass over a transcript.

    While and after iterating, `consumed` is the offset up to which whole lines were used, `cursor` the offset of the
    turn twenty user and assistant turns back and `cursor_index` its number: what the next pass takes as `start` and
    `index`. `finished` is False while there is more to read, be it that `limit` or `deadline` (by time.monotonic) came
    first; both are looked at between lines only, so that `consumed` never stands within one.
    `ended` says that the session is over: words that were queued and never delivered count, too.
    """

    def __init__(
        self, path: str, start: int = 0, limit: Optional[int] = None, *,
        projects: str = "", deadline: Optional[float] = None, ended: bool = False, index: int = 0,
    ) -> None:  # fmt: skip
        self.consumed = self._start = start
        self.finished = False
        self._path = path
        self._projects = projects
        self._limit = limit
        self._deadline = deadline
        self._ended = ended
        self._first = self._index = index
        self._origin = Origin(os.path.basename(path).startswith("agent-"))
        self._queue = Queue()
        self._open_calls: dict[str, tuple[str, Fields, int]] = {}
        self._open_bytes = 0
        self._recent: list[tuple[int, int]] = []
        self._prompt_id = ""
        self._pastes = Pastes(path)
        self._boundary_seen = False

    @property
    def line(self) -> int:
        """Where the line begins that gives the turns of this moment; at the very end, where reading ended."""
        return self.consumed if self.finished else self._origin.offset

    @property
    def cursor(self) -> int:
        return self._recent[0][0] if len(self._recent) == OVERLAP else self._start

    @property
    def cursor_index(self) -> int:
        return self._recent[0][1] if len(self._recent) == OVERLAP else self._first

    def __iter__(self) -> Iterator[Turn]:
        descriptor = open_transcript(self._path, self._projects)
        try:
            self._check_start(os.fstat(descriptor).st_size)
            yield from self._read(Lines(descriptor, self._start, self._deadline))
        finally:
            os.close(descriptor)

    def _check_start(self, size: int) -> None:
        """A file shorter than the cursor is another file by now."""
        if not 0 <= self._start <= size:
            self.consumed = self._start = self._first = self._index = 0

    def _read(self, lines: Lines) -> Iterator[Turn]:
        for offset, end, line in lines:
            if self._limit is not None and self._index - self._first >= self._limit:
                return
            entry = parse(line) if line else None
            if entry is not None:
                for turn in self._turns_of(entry, offset, len(line)):
                    yield self._number(turn)
                for held in self._aged():
                    yield self._number(self._queued(held))
            self.consumed = end if end > offset or entry is None else offset + len(line)
        self.finished = lines.finished
        if self.finished and self._ended:
            for held in self._queue.older_than(self.consumed):
                yield self._number(self._queued(held))

    def _number(self, turn: Turn) -> Turn:
        turn.index = self._index
        self._index += 1
        if turn.kind in ("user", "assistant") and not turn.sidechain and turn.offset == self._origin.offset:
            self._recent.append((turn.offset, turn.index))
            del self._recent[:-OVERLAP]
        return turn

    def _aged(self) -> list[Held]:
        """Held words that the next pass would not see."""
        return self._queue.older_than(self._recent[0][0]) if self._queue.held and len(self._recent) == OVERLAP else []

    def _queued(self, held: Held) -> Turn:
        turn = Turn("user", held.text, self._origin, "queued")
        turn.offset, turn.entry, turn.timestamp = held.offset, held.entry, held.timestamp
        turn.sidechain, turn.agent = False, ""
        return turn

    def _turns_of(self, entry: Fields, offset: int, size: int) -> Iterable[Turn]:
        kind = entry.get("type")
        if kind not in ("user", "assistant", "attachment", "queue-operation", "system"):
            return ()
        self._origin.move(entry, offset)
        if kind == "user":
            return self._user(entry)
        if kind == "assistant":
            return self._assistant(entry, size)
        if kind == "attachment":
            return self._attachment(entry, fields_of(entry.get("attachment")))
        if kind == "queue-operation":
            self._queue.note(entry, offset)
            return ()
        return self._boundary(entry)

    def _boundary(self, entry: Fields) -> Iterator[Turn]:
        if entry.get("subtype") == "compact_boundary":
            self._boundary_seen = True
            yield Turn("compaction", "", self._origin, text_of(fields_of(entry.get("compactMetadata")).get("trigger")))

    # The person, and all that comes under the same name

    def _user(self, entry: Fields) -> Iterator[Turn]:
        content = fields_of(entry.get("message")).get("content")
        if not self._origin.sidechain:
            self._prompt_id = text_of(entry.get("promptId")) or self._prompt_id
        answers = _blocks(content, "tool_result")
        for block in answers:
            yield from self._result(entry, block)
        if entry.get("isCompactSummary"):
            yield from self._summary()
        elif not self._origin.sidechain:
            texts = texts_of(content)
            for text in texts:
                if text.startswith(INTERRUPTION):
                    yield Turn("interrupt", text, self._origin)
            if not answers:
                yield from self._prompt(entry, texts)

    def _prompt(self, entry: Fields, texts: list[str]) -> Iterator[Turn]:
        whole = "\n".join(texts)
        is_new = self._queue.deliver(between(whole, "bash-input") or whole)
        if not is_from_a_person(entry):
            return
        name, arguments = command(whole)
        if arguments:
            turn = Turn("user", arguments, self._origin, "command-args")
            turn.tool = name
            yield turn
            return
        # A text that begins with a wrapper is one with all its blocks; interruptions stand alone.
        words = "" if is_wrapped(whole.lstrip()) and INTERRUPTION not in whole else _joined(texts)
        if is_new:
            yield from self._typed(words, "prompt")

    def _typed(self, words: str, via: str) -> Iterator[Turn]:
        """Give the turn of what a person typed, if anything is left of it without what was pasted."""
        own = self._pastes.out_of(words, self._origin.session)
        if own:
            turn = Turn("user", own, self._origin, via)
            if own != words:
                turn.paste(words, self._pastes.texts)
            yield turn

    def _summary(self) -> Iterator[Turn]:
        """Old clients wrote a summary without the boundary before it."""
        if not self._boundary_seen:
            yield Turn("compaction", "", self._origin)
        self._boundary_seen = False

    # The model and its tools

    def _assistant(self, entry: Fields, size: int) -> Iterator[Turn]:
        message = fields_of(entry.get("message"))
        model = text_of(message.get("model"))
        if entry.get("isApiErrorMessage") or model == _SYNTHETIC:
            if entry.get("isApiErrorMessage") and not self._origin.sidechain:
                yield self._stop("error", text_of(entry.get("error")), "\n".join(texts_of(message.get("content"))))
            return
        if not self._origin.sidechain:
            for held in self._queue.undelivered() if self._queue.held else ():
                yield self._queued(held)
        text = "\n".join(texts_of(message.get("content"))).strip()
        if text:
            turn = Turn("assistant", text, self._origin)
            turn.model = model
            yield turn
        for block in _blocks(message.get("content"), "tool_use"):
            self._remember(block, size)

    def _stop(self, via: str, reason: str, output: str = "") -> Turn:
        """Named by the prompt that was given up, as the StopFailure hook names it."""
        turn = Turn("stop", reason, self._origin, via)
        turn.tool_use_id, turn.raw_output = self._prompt_id, output
        return turn

    def _remember(self, block: Fields, size: int) -> None:
        """Calls that never get a result must not fill the memory: the oldest go first."""
        call = text_of(block.get("id"))
        size += _CALL_BYTES
        self._forget(call)
        self._open_calls[call] = (text_of(block.get("name")), fields_of(block.get("input")), size)
        self._open_bytes += size
        while self._open_bytes > _OPEN_BYTES:
            self._forget(next(iter(self._open_calls)))

    def _forget(self, call: str) -> tuple[str, Fields]:
        name, given, size = self._open_calls.pop(call, ("", {}, 0))
        self._open_bytes -= size
        return name, given

    def _result(self, entry: Fields, block: Fields) -> Iterator[Turn]:
        turn = Turn("tool", "", self._origin)
        turn.tool_use_id = text_of(block.get("tool_use_id"))
        turn.tool, turn.input = self._forget(turn.tool_use_id)
        results.fill(turn, entry, block)
        yield turn
        said = typed(results.feedback(turn, entry))
        if said and not turn.sidechain:
            answer = Turn("user", said, self._origin, "feedback")
            answer.tool, answer.tool_use_id = turn.tool, turn.tool_use_id
            yield answer

    # What the client attached

    def _attachment(self, entry: Fields, attached: Fields) -> Iterator[Turn]:
        kind = attached.get("type")
        if kind == "queued_command":
            yield from self._absorbed(entry, attached)
            return
        if kind == "max_turns_reached" and not self._origin.sidechain:
            yield self._stop("max-turns", f"{attached.get('maxTurns')} turns used up")
            return
        files = _files(attached) if kind in ("instructions", "nested_memory", "edited_text_file") else []
        if files:
            is_change = kind == "edited_text_file" or attached.get("changed")
            turn = Turn("instructions", "", self._origin, "changed" if is_change else "loaded")
            turn.files = files
            yield turn

    def _absorbed(self, entry: Fields, attached: Fields) -> Iterator[Turn]:
        texts = texts_of(attached.get("prompt"))
        is_new = self._queue.deliver("\n".join(texts))
        if attached.get("commandMode", "prompt") != "prompt" or attached.get("humanTurn") is False:
            return
        if is_new and not self._origin.sidechain and is_from_a_person(entry) and is_from_a_person(attached):
            yield from self._typed(_joined(texts), "queued")


def _blocks(content: Any, kind: str) -> list[Fields]:
    if type(content) is not list:
        return []
    return [block for block in content if type(block) is dict and block.get("type") == kind]


def _joined(texts: list[str]) -> str:
    return "\n".join(filter(None, map(typed, texts)))


def _files(attached: Fields) -> list[InstructionFile]:
    if attached.get("type") == "instructions":
        listed = attached.get("files")
        found = [_file(fields_of(item)) for item in listed] if type(listed) is list else []
    elif attached.get("type") == "nested_memory":
        found = [_file({"path": attached.get("path"), **fields_of(attached.get("content"))})]
    else:
        path = text_of(attached.get("filename"))
        found = [InstructionFile(path, "", text_of(attached.get("snippet")))] if is_instruction_file(path) else []
    return [file for file in found if file.path]


def _file(item: Fields) -> InstructionFile:
    return InstructionFile(text_of(item.get("path")), text_of(item.get("type")), text_of(item.get("content")))
