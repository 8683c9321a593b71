"""Convert the lines of a transcript into turns, and record where to continue next time."""

from __future__ import annotations

import os

from reflect_git.capture.transcript.lines import Lines, open_transcript, parse
from reflect_git.capture.transcript.turn import (
    INTERRUPTION,
    InstructionFile,
    Origin,
    Turn,
    between,
    command,
    fields_of,
    is_from_a_person,
    is_instruction_file,
    is_wrapped,
    text_of,
    texts_of,
    typed,
)
from reflect_git.records import json_form

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any, Optional

    Fields = dict[str, Any]
    from typing import Any

    from reflect_git.capture.transcript.turn import Turn


OVERLAP = 20  # detectors look across several turns, and across the place where the last pass ended
_OPEN_BYTES = 32 << 20
_CALL_BYTES = 4096  # minimum size counted for a call, to limit the number of small ones
_SYNTHETIC = "<synthetic>"


def turns(path: str, start: int = 0, limit: Optional[int] = None) -> Iterator[Turn]:
    """Yield the turns of a transcript from a byte offset on, up to the line with turn number `limit`."""
    return iter(Reader(path, start, limit))


class Reader:
    """One pass over a transcript.

    During and after iteration, `consumed` is the offset up to which complete lines were used. `cursor` is the offset of
    the turn twenty user and assistant turns back, and `cursor_index` its number; the next pass takes them as `start`
    and `index`.

    `finished` is False while there is more to read, for example after `limit` or `deadline` (by time.monotonic). Both
    are checked between lines only, so that `consumed` is never within one. `ended` means that the session is over:
    queued words that were never delivered count too.
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
        """Return the offset of the line that yields the current turns; after the last one, where reading ended."""
        return self.consumed if self.finished else self._origin.offset

    @property
    def cursor(self) -> int:
        """Return the offset at which the next pass should start."""
        return self._recent[0][0] if len(self._recent) == OVERLAP else self._start

    @property
    def cursor_index(self) -> int:
        """Return the number of the turn at `cursor`."""
        return self._recent[0][1] if len(self._recent) == OVERLAP else self._first

    def __iter__(self) -> Iterator[Turn]:
        descriptor = open_transcript(self._path, self._projects)
        try:
            self._check_start(os.fstat(descriptor).st_size)
            yield from self._read(Lines(descriptor, self._start, self._deadline))
        finally:
            os.close(descriptor)

    def _check_start(self, size: int) -> None:
        """Start over if the file is shorter than the cursor: it was replaced."""
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
        """Return held words that the next pass would not see."""
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

    # The user, and other entries of the same type

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
        # A text that begins with a wrapper belongs to it with all its blocks; interruptions are separate.
        words = "" if is_wrapped(whole.lstrip()) and INTERRUPTION not in whole else _joined(texts)
        if is_new:
            yield from self._typed(words, "prompt")

    def _typed(self, words: str, via: str) -> Iterator[Turn]:
        """Yield the turn of what a person typed, if anything is left without the pasted text."""
        own = self._pastes.out_of(words, self._origin.session)
        if own:
            turn = Turn("user", own, self._origin, via)
            if own != words:
                turn.paste(words, self._pastes.texts)
            yield turn

    def _summary(self) -> Iterator[Turn]:
        """Yield a compaction for old clients, which wrote a summary without a boundary before it."""
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
        """Return a stop turn, identified by the prompt that was given up, as in the StopFailure hook."""
        turn = Turn("stop", reason, self._origin, via)
        turn.tool_use_id, turn.raw_output = self._prompt_id, output
        return turn

    def _remember(self, block: Fields, size: int) -> None:
        """Remember an open call; drop the oldest ones, so that calls without a result do not fill the memory."""
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
        fill(turn, entry, block)
        yield turn
        said = typed(feedback(turn, entry))
        if said and not turn.sidechain:
            answer = Turn("user", said, self._origin, "feedback")
            answer.tool, answer.tool_use_id = turn.tool, turn.tool_use_id
            yield answer

    # Attachments by Claude Code

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


_MOST = 100
_LONGEST = 65536


class Held:
    """Queued words that were not delivered yet."""

    __slots__ = ("entry", "offset", "taken", "text", "timestamp")

    def __init__(self, text: str, entry: Fields, offset: int) -> None:
        self.text = text
        self.offset = offset
        self.timestamp = text_of(entry.get("timestamp"))
        # The line has no uuid, so use an id that is the same in the next pass.
        self.entry = f"{text_of(entry.get('sessionId'))}@{self.timestamp}"
        self.taken = False


class Queue:
    """Words typed while the model worked, each counted once."""

    def __init__(self) -> None:
        self.held: list[Held] = []
        self._given: list[str] = []

    def note(self, entry: Fields, offset: int) -> None:
        """Record a queue operation."""
        operation = entry.get("operation")
        text = "\n".join(texts_of(entry.get("content"))).strip()
        if operation == "enqueue":
            self._hold(text, entry, offset)
        elif operation == "popAll":  # back in the input box
            self.held = [held for held in self.held if held.taken]
        elif operation in ("dequeue", "remove"):
            self._take(text, text_of(entry.get("reason")))

    def _hold(self, text: str, entry: Fields, offset: int) -> None:
        # Nothing says who queued it. A text that begins like a tag or a command is left to its delivery.
        if typed(text) == text and 0 < len(text) <= _LONGEST and text[0] != "<" and not _is_command(text):
            self.held = self.held[1 - _MOST :]
            self.held.append(Held(text, entry, offset))

    def _take(self, text: str, reason: str) -> None:
        waiting = [held for held in self.held if not held.taken and (not text or held.text == text)]
        if not waiting:
            return
        if reason and not reason.startswith("absorbed"):
            self.held.remove(waiting[0])
        waiting[0].taken = True

    def deliver(self, text: str) -> bool:
        """Record that a text was delivered; return False if it was counted before."""
        if not self.held and not self._given:
            return True
        text = text.strip()
        is_new = text not in self._given
        self._given = []
        same = [held for held in self.held if held.text == text]
        if same:
            self.held.remove(same[0])
        else:  # several at once arrive as the lines of one prompt
            lines = f"\n{text}\n"
            self.held = [held for held in self.held if f"\n{held.text}\n" not in lines]
        return is_new

    def undelivered(self) -> list[Held]:
        """Return words taken off the queue where the model continued without a recorded delivery."""
        return self._give([held for held in self.held if held.taken])

    def older_than(self, offset: int) -> list[Held]:
        """Return and remove held words from before an offset."""
        return self._give([held for held in self.held if held.offset < offset])

    def _give(self, found: list[Held]) -> list[Held]:
        for held in found:
            self.held.remove(held)
            self._given.append(held.text)
        return found


def _is_command(text: str) -> bool:
    """Return whether a text is a slash command: `/compact now`, not `/etc/hosts is wrong`."""
    return text.startswith("/") and "/" not in text[1:].partition(" ")[0]


_HISTORY = "history.jsonl"
_READ = 16 << 20
_SHORTEST = 12


class Pastes:
    """The pasted texts of a session, loaded when a prompt is long enough to contain one."""

    def __init__(self, transcript: str) -> None:
        self._transcript = transcript
        self.texts: list[str] = []
        self._is_read = False

    def out_of(self, text: str, session: str) -> str:
        """Return the text without what was pasted into it."""
        if len(text) < _SHORTEST or not session:
            return text
        if not self._is_read:
            self._is_read = True
            self.texts = sorted(_pasted(history_of(self._transcript), session), key=len, reverse=True)
        for pasted in self.texts:
            text = text.replace(pasted, "\n")
        return text.strip()


def history_of(transcript: str) -> str:
    """Return the prompt history next to the projects folder: <config>/projects/<slug>/<session>.jsonl."""
    projects = os.path.dirname(os.path.dirname(os.path.abspath(transcript)))
    return os.path.join(os.path.dirname(projects), _HISTORY) if os.path.basename(projects) == "projects" else ""


def _pasted(history: str, session: str) -> list[str]:
    """Return the texts that were pasted in a session."""
    found: list[str] = []
    mark = session.encode("utf-8", "replace")
    for line in _tail(history).split(b"\n"):
        if b'"pastedContents":{"' in line and mark in line:
            try:
                entry = fields_of(json_form.loads(line.decode("utf-8", "replace")))
            except (ValueError, RecursionError):
                continue
            if entry.get("sessionId") == session:
                contents = fields_of(entry.get("pastedContents")).values()
                found += [text_of(fields_of(each).get("content")).strip() for each in contents]
    return [text for text in found if len(text) >= _SHORTEST]


def _tail(path: str) -> bytes:
    """Return the newest entries; empty if it is not a regular file."""
    if not path or not os.path.isfile(path) or os.path.islink(path):
        return b""
    try:
        with open(path, "rb") as file:
            file.seek(max(0, os.path.getsize(path) - _READ))
            return file.read(_READ)
    except OSError:
        return b""


_REFUSED = (
    "The user doesn't want to proceed with this tool use",
    "The user doesn't want to take this action right now",
)
_REFUSED_BARE = "User rejected tool use"
_SAID = "the user said:\n"
# Added after the user's words if Claude Code keeps a memory of its own.
_NOTE = "\n\nNote: The user's next message may contain a correction or preference"
_NOT_GRANTED = ("Claude requested permissions to ", "Permission to use ")
_INVALID = ("<tool_use_error>", "InputValidationError")
_ABORTED = (INTERRUPTION, "<error>Command was aborted before completion")


def output_of(block: Fields) -> str:
    """Return the text of a tool result."""
    return "\n".join(texts_of(block.get("content")))


def fill(turn: Turn, entry: Fields, block: Fields) -> None:
    """Set the result fields of a tool turn."""
    turn.raw_output = output_of(block)
    turn.details = fields_of(entry.get("toolUseResult"))
    turn.is_error = block.get("is_error") is True
    turn.interrupted = turn.details.get("interrupted") is True or turn.raw_output.startswith(_ABORTED)
    turn.invalid = turn.is_error and turn.raw_output.startswith(_INVALID)
    turn.refused = _refused(turn, entry)


def _refused(turn: Turn, entry: Fields) -> str:
    """Return who refused a call: `user`, `config` or empty."""
    decision = fields_of(entry.get("permissionDecision"))
    if entry.get("toolDenialKind") or decision.get("decision") == "reject":
        # Without a person, Claude Code also says 'user-rejected'; only the source tells.
        by_person = entry.get("toolDenialKind") == "user-rejected" and decision.get("source") != "config"
        return "user" if by_person or decision.get("source") == "user_reject" else "config"
    if decision or not turn.is_error:
        return ""
    return _refused_by_text(turn, entry)


def _refused_by_text(turn: Turn, entry: Fields) -> str:
    """Return who refused a call, for clients without the fields.

    Errors of MCP tools are free text and may say anything.
    """
    if not turn.tool or turn.tool.startswith("mcp__"):
        return ""
    if turn.raw_output.startswith(_REFUSED) or entry.get("toolUseResult") == _REFUSED_BARE:
        return "user"
    if turn.raw_output.startswith(_NOT_GRANTED) and ("granted" in turn.raw_output or "denied" in turn.raw_output):
        return "config"
    return ""


def feedback(turn: Turn, entry: Fields) -> str:
    """Return what a person said when refusing or allowing the call."""
    if turn.refused == "config":
        return ""
    said = text_of(entry.get("userFeedback")).strip()
    if said or turn.refused != "user" or not turn.raw_output.startswith(_REFUSED):
        return said
    return turn.raw_output.partition(_SAID)[2].partition(_NOTE)[0].strip()
