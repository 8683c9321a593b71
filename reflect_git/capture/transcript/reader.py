"""Convert the lines of a transcript into turns, and record where to continue next time."""

from __future__ import annotations

import os

from reflect_git.capture.transcript.lines import LineReader, open_transcript, parse_line
from reflect_git.capture.transcript.turn import (
    INTERRUPTION_PREFIX,
    InstructionFile,
    Origin,
    Turn,
    as_dict,
    as_text,
    get_tag_text,
    get_texts,
    get_typed_text,
    is_from_person,
    is_instruction_file,
    is_wrapped,
    parse_slash_command,
)
from reflect_git.records import json_form

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any, Optional

    Fields = dict[str, Any]


OVERLAP_TURNS = 20  # detectors look across several turns, and across the place where the last pass ended
_MAX_OPEN_BYTES = 32 << 20
_MIN_CALL_BYTES = 4096  # minimum size counted for a call, to limit the number of small ones
_SYNTHETIC_MODEL = "<synthetic>"


def read_turns(path: str, start: int = 0, limit: Optional[int] = None) -> Iterator[Turn]:
    """Yield the turns of a transcript from a byte offset on, up to the line with turn number `limit`."""
    return iter(TranscriptReader(path, start, limit))


class TranscriptReader:
    """One pass over a transcript.

    During and after iteration, `consumed` is the offset up to which complete lines were used. `cursor` is the offset of
    the turn twenty user and assistant turns back, and `cursor_index` its number; the next pass takes them as `start`
    and `index`.

    `finished` is False while there is more to read, for example after `limit` or `deadline` (by time.monotonic). Both
    are checked between lines only, so that `consumed` is never within one. `ended` means that the session is over:
    queued words that were never delivered count too. `answers` asks for turns of the kind `answer`, without a number.
    """

    def __init__(
        self, path: str, start: int = 0, limit: Optional[int] = None, *,
        projects: str = "", deadline: Optional[float] = None, ended: bool = False, index: int = 0,
        answers: bool = False,
    ) -> None:  # fmt: skip
        self.consumed = self._start = start
        self.finished = False
        self._path = path
        self._projects = projects
        self._limit = limit
        self._deadline = deadline
        self._ended = ended
        self._answers = answers
        self._start_index = self._index = index
        self._origin = Origin(os.path.basename(path).startswith("agent-"), path)
        self._queue = PromptQueue()
        self._open_calls: dict[str, tuple[str, Fields, int]] = {}
        self._open_bytes = 0
        self._recent: list[tuple[int, int]] = []
        self._prompt_id = ""
        self._pastes = PastedTexts(path)
        self._boundary_seen = False

    @property
    def line_offset(self) -> int:
        """Return the offset of the line that yields the current turns; after the last one, where reading ended."""
        return self.consumed if self.finished else self._origin.offset

    @property
    def cursor(self) -> int:
        """Return the offset at which the next pass should start."""
        return self._recent[0][0] if len(self._recent) == OVERLAP_TURNS else self._start

    @property
    def cursor_index(self) -> int:
        """Return the number of the turn at `cursor`."""
        return self._recent[0][1] if len(self._recent) == OVERLAP_TURNS else self._start_index

    def __iter__(self) -> Iterator[Turn]:
        descriptor = open_transcript(self._path, self._projects)
        try:
            self._check_start(os.fstat(descriptor).st_size)
            yield from self._read_turns(LineReader(descriptor, self._start, self._deadline))
        finally:
            os.close(descriptor)

    def _check_start(self, size: int) -> None:
        """Start over if the file is shorter than the cursor: it was replaced."""
        if not 0 <= self._start <= size:
            self.consumed = self._start = self._start_index = self._index = 0

    def _read_turns(self, lines: LineReader) -> Iterator[Turn]:
        for offset, end, line in lines:
            if self._limit is not None and self._index - self._start_index >= self._limit:
                return
            entry = parse_line(line) if line else None
            if entry is not None:
                for turn in self._build_turns(entry, offset, len(line)):
                    yield self._number_turn(turn)
                for held in self._pop_aged_texts():
                    yield self._number_turn(self._build_queued_turn(held))
            self.consumed = end if end > offset or entry is None else offset + len(line)
        self.finished = lines.finished
        if self.finished and self._ended:
            for held in self._queue.pop_older_than(self.consumed):
                yield self._number_turn(self._build_queued_turn(held))

    def _number_turn(self, turn: Turn) -> Turn:
        turn.index = self._index
        if turn.kind == "answer":
            return turn
        self._index += 1
        if turn.kind in ("user", "assistant") and not turn.sidechain and turn.offset == self._origin.offset:
            self._recent.append((turn.offset, turn.index))
            del self._recent[:-OVERLAP_TURNS]
        return turn

    def _pop_aged_texts(self) -> list[QueuedText]:
        """Return held words that the next pass would not see."""
        return (
            self._queue.pop_older_than(self._recent[0][0])
            if self._queue.texts and len(self._recent) == OVERLAP_TURNS
            else []
        )

    def _build_queued_turn(self, held: QueuedText) -> Turn:
        turn = Turn("user", held.text, self._origin, "queued")
        turn.offset, turn.entry, turn.timestamp = held.offset, held.entry, held.timestamp
        turn.sidechain, turn.agent = False, ""
        return turn

    def _build_turns(self, entry: Fields, offset: int, size: int) -> Iterable[Turn]:
        kind = entry.get("type")
        if kind not in ("user", "assistant", "attachment", "queue-operation", "system"):
            return ()
        self._origin.update(entry, offset)
        if kind == "user":
            return self._handle_user(entry)
        if kind == "assistant":
            return self._handle_assistant(entry, size)
        if kind == "attachment":
            return self._handle_attachment(entry, as_dict(entry.get("attachment")))
        if kind == "queue-operation":
            self._queue.record_operation(entry, offset)
            return ()
        return self._handle_boundary(entry)

    def _handle_boundary(self, entry: Fields) -> Iterator[Turn]:
        if entry.get("subtype") == "compact_boundary":
            self._boundary_seen = True
            yield Turn("compaction", "", self._origin, as_text(as_dict(entry.get("compactMetadata")).get("trigger")))

    # The user, and other entries of the same type

    def _handle_user(self, entry: Fields) -> Iterator[Turn]:
        content = as_dict(entry.get("message")).get("content")
        if not self._origin.sidechain:
            self._prompt_id = as_text(entry.get("promptId")) or self._prompt_id
        answers = _get_blocks(content, "tool_result")
        for block in answers:
            yield from self._handle_result(entry, block)
        if entry.get("isCompactSummary"):
            yield from self._handle_summary()
        elif not self._origin.sidechain:
            texts = get_texts(content)
            for text in texts:
                if text.startswith(INTERRUPTION_PREFIX):
                    yield Turn("interrupt", text, self._origin)
            if not answers:
                yield from self._handle_prompt(entry, texts)

    def _handle_prompt(self, entry: Fields, texts: list[str]) -> Iterator[Turn]:
        whole = "\n".join(texts)
        is_new = self._queue.mark_delivered(get_tag_text(whole, "bash-input") or whole)
        if not is_from_person(entry):
            return
        name, arguments = parse_slash_command(whole)
        if arguments:
            turn = Turn("user", arguments, self._origin, "command-args")
            turn.tool = name
            yield turn
            return
        # A text that begins with a wrapper belongs to it with all its blocks; interruptions are separate.
        words = "" if is_wrapped(whole.lstrip()) and INTERRUPTION_PREFIX not in whole else _join_typed(texts)
        if is_new:
            yield from self._build_typed_turn(words, "prompt")

    def _build_typed_turn(self, words: str, via: str) -> Iterator[Turn]:
        """Yield the turn of what a person typed, if anything is left without the pasted text."""
        own = self._pastes.remove_from(words, self._origin.session)
        if own:
            turn = Turn("user", own, self._origin, via)
            if own != words:
                turn.set_pasted(words, self._pastes.texts)
            yield turn

    def _handle_summary(self) -> Iterator[Turn]:
        """Yield a compaction for old clients, which wrote a summary without a boundary before it."""
        if not self._boundary_seen:
            yield Turn("compaction", "", self._origin)
        self._boundary_seen = False

    # The model and its tools

    def _handle_assistant(self, entry: Fields, size: int) -> Iterator[Turn]:
        message = as_dict(entry.get("message"))
        model = as_text(message.get("model"))
        if entry.get("isApiErrorMessage") or model == _SYNTHETIC_MODEL:
            if entry.get("isApiErrorMessage") and not self._origin.sidechain:
                yield self._build_stop_turn(
                    "error", as_text(entry.get("error")), "\n".join(get_texts(message.get("content")))
                )
            return
        if not self._origin.sidechain:
            for held in self._queue.pop_undelivered() if self._queue.texts else ():
                yield self._build_queued_turn(held)
        if self._answers:
            turn = Turn("answer", "", self._origin, as_text(entry.get("attributionSkill")))
            turn.tool, turn.details = as_text(message.get("id")), as_dict(message.get("usage"))
            yield turn
        text = "\n".join(get_texts(message.get("content"))).strip()
        if text:
            turn = Turn("assistant", text, self._origin)
            turn.model = model
            yield turn
        for block in _get_blocks(message.get("content"), "tool_use"):
            self._add_open_call(block, size)

    def _build_stop_turn(self, via: str, reason: str, output: str = "") -> Turn:
        """Return a stop turn, identified by the prompt that was given up, as in the StopFailure hook."""
        turn = Turn("stop", reason, self._origin, via)
        turn.tool_use_id, turn.raw_output = self._prompt_id, output
        return turn

    def _add_open_call(self, block: Fields, size: int) -> None:
        """Remember an open call; drop the oldest ones, so that calls without a result do not fill the memory."""
        call = as_text(block.get("id"))
        size += _MIN_CALL_BYTES
        self._pop_open_call(call)
        self._open_calls[call] = (as_text(block.get("name")), as_dict(block.get("input")), size)
        self._open_bytes += size
        while self._open_bytes > _MAX_OPEN_BYTES:
            self._pop_open_call(next(iter(self._open_calls)))

    def _pop_open_call(self, call: str) -> tuple[str, Fields]:
        name, given, size = self._open_calls.pop(call, ("", {}, 0))
        self._open_bytes -= size
        return name, given

    def _handle_result(self, entry: Fields, block: Fields) -> Iterator[Turn]:
        turn = Turn("tool", "", self._origin)
        turn.tool_use_id = as_text(block.get("tool_use_id"))
        turn.tool, turn.input = self._pop_open_call(turn.tool_use_id)
        set_result(turn, entry, block)
        yield turn
        said = get_typed_text(get_feedback(turn, entry))
        if said and not turn.sidechain:
            answer = Turn("user", said, self._origin, "feedback")
            answer.tool, answer.tool_use_id = turn.tool, turn.tool_use_id
            yield answer

    # Attachments by Claude Code

    def _handle_attachment(self, entry: Fields, attached: Fields) -> Iterator[Turn]:
        kind = attached.get("type")
        if kind == "queued_command":
            yield from self._handle_queued(entry, attached)
            return
        if kind == "max_turns_reached" and not self._origin.sidechain:
            yield self._build_stop_turn("max-turns", f"{attached.get('maxTurns')} turns used up")
            return
        files = _get_files(attached) if kind in ("instructions", "nested_memory", "edited_text_file") else []
        if files:
            is_change = kind == "edited_text_file" or attached.get("changed")
            turn = Turn("instructions", "", self._origin, "changed" if is_change else "loaded")
            turn.files = files
            yield turn

    def _handle_queued(self, entry: Fields, attached: Fields) -> Iterator[Turn]:
        texts = get_texts(attached.get("prompt"))
        is_new = self._queue.mark_delivered("\n".join(texts))
        if attached.get("commandMode", "prompt") != "prompt" or attached.get("humanTurn") is False:
            return
        if is_new and not self._origin.sidechain and is_from_person(entry) and is_from_person(attached):
            yield from self._build_typed_turn(_join_typed(texts), "queued")


def _get_blocks(content: Any, kind: str) -> list[Fields]:
    if type(content) is not list:
        return []
    return [block for block in content if type(block) is dict and block.get("type") == kind]


def _join_typed(texts: list[str]) -> str:
    return "\n".join(filter(None, map(get_typed_text, texts)))


def _get_files(attached: Fields) -> list[InstructionFile]:
    if attached.get("type") == "instructions":
        listed = attached.get("files")
        found = [_build_file(as_dict(item)) for item in listed] if type(listed) is list else []
    elif attached.get("type") == "nested_memory":
        found = [_build_file({"path": attached.get("path"), **as_dict(attached.get("content"))})]
    else:
        path = as_text(attached.get("filename"))
        found = [InstructionFile(path, "", as_text(attached.get("snippet")))] if is_instruction_file(path) else []
    return [file for file in found if file.path]


def _build_file(item: Fields) -> InstructionFile:
    return InstructionFile(as_text(item.get("path")), as_text(item.get("type")), as_text(item.get("content")))


_MAX_QUEUED = 100
_MAX_QUEUED_LENGTH = 65536


class QueuedText:
    """Queued words that were not delivered yet."""

    __slots__ = ("entry", "is_dequeued", "offset", "text", "timestamp")

    def __init__(self, text: str, entry: Fields, offset: int) -> None:
        self.text = text
        self.offset = offset
        self.timestamp = as_text(entry.get("timestamp"))
        # The line has no uuid, so use an id that is the same in the next pass.
        self.entry = f"{as_text(entry.get('sessionId'))}@{self.timestamp}"
        self.is_dequeued = False


class PromptQueue:
    """Words typed while the model worked, each counted once."""

    def __init__(self) -> None:
        self.texts: list[QueuedText] = []
        self._delivered: list[str] = []

    def record_operation(self, entry: Fields, offset: int) -> None:
        """Record a queue operation."""
        operation = entry.get("operation")
        text = "\n".join(get_texts(entry.get("content"))).strip()
        if operation == "enqueue":
            self._enqueue(text, entry, offset)
        elif operation == "popAll":  # back in the input box
            self.texts = [held for held in self.texts if held.is_dequeued]
        elif operation in ("dequeue", "remove"):
            self._dequeue(text, as_text(entry.get("reason")))

    def _enqueue(self, text: str, entry: Fields, offset: int) -> None:
        # Nothing says who queued it. A text that begins like a tag or a command is left to its delivery.
        if (
            get_typed_text(text) == text
            and 0 < len(text) <= _MAX_QUEUED_LENGTH
            and text[0] != "<"
            and not _is_slash_command(text)
        ):
            self.texts = self.texts[1 - _MAX_QUEUED :]
            self.texts.append(QueuedText(text, entry, offset))

    def _dequeue(self, text: str, reason: str) -> None:
        waiting = [held for held in self.texts if not held.is_dequeued and (not text or held.text == text)]
        if not waiting:
            return
        if reason and not reason.startswith("absorbed"):
            self.texts.remove(waiting[0])
        waiting[0].is_dequeued = True

    def mark_delivered(self, text: str) -> bool:
        """Record that a text was delivered; return False if it was counted before."""
        if not self.texts and not self._delivered:
            return True
        text = text.strip()
        is_new = text not in self._delivered
        self._delivered = []
        same = [held for held in self.texts if held.text == text]
        if same:
            self.texts.remove(same[0])
        else:  # several at once arrive as the lines of one prompt
            lines = f"\n{text}\n"
            self.texts = [held for held in self.texts if f"\n{held.text}\n" not in lines]
        return is_new

    def pop_undelivered(self) -> list[QueuedText]:
        """Return words taken off the queue where the model continued without a recorded delivery."""
        return self._pop_texts([held for held in self.texts if held.is_dequeued])

    def pop_older_than(self, offset: int) -> list[QueuedText]:
        """Return and remove held words from before an offset."""
        return self._pop_texts([held for held in self.texts if held.offset < offset])

    def _pop_texts(self, found: list[QueuedText]) -> list[QueuedText]:
        for held in found:
            self.texts.remove(held)
            self._delivered.append(held.text)
        return found


def _is_slash_command(text: str) -> bool:
    """Return whether a text is a slash command: `/compact now`, not `/etc/hosts is wrong`."""
    return text.startswith("/") and "/" not in text[1:].partition(" ")[0]


_HISTORY_FILE = "history.jsonl"
_READ_LIMIT = 16 << 20
_MIN_PASTE_LENGTH = 12


class PastedTexts:
    """The pasted texts of a session, loaded when a prompt is long enough to contain one."""

    def __init__(self, transcript: str) -> None:
        self._transcript = transcript
        self.texts: list[str] = []
        self._is_loaded = False

    def remove_from(self, text: str, session: str) -> str:
        """Return the text without what was pasted into it."""
        if len(text) < _MIN_PASTE_LENGTH or not session:
            return text
        if not self._is_loaded:
            self._is_loaded = True
            self.texts = sorted(_load_pasted_texts(find_history(self._transcript), session), key=len, reverse=True)
        for pasted in self.texts:
            text = text.replace(pasted, "\n")
        return text.strip()


def find_history(transcript: str) -> str:
    """Return the prompt history next to the projects folder: <config>/projects/<slug>/<session>.jsonl."""
    projects = os.path.dirname(os.path.dirname(os.path.abspath(transcript)))
    return os.path.join(os.path.dirname(projects), _HISTORY_FILE) if os.path.basename(projects) == "projects" else ""


def _load_pasted_texts(history: str, session: str) -> list[str]:
    """Return the texts that were pasted in a session."""
    found: list[str] = []
    mark = session.encode("utf-8", "replace")
    for line in _read_tail(history).split(b"\n"):
        if b'"pastedContents":{"' in line and mark in line:
            try:
                entry = as_dict(json_form.loads(line.decode("utf-8", "replace")))
            except (ValueError, RecursionError):
                continue
            if entry.get("sessionId") == session:
                contents = as_dict(entry.get("pastedContents")).values()
                found += [as_text(as_dict(each).get("content")).strip() for each in contents]
    return [text for text in found if len(text) >= _MIN_PASTE_LENGTH]


def _read_tail(path: str) -> bytes:
    """Return the newest entries; empty if it is not a regular file."""
    if not path or not os.path.isfile(path) or os.path.islink(path):
        return b""
    try:
        with open(path, "rb") as file:
            file.seek(max(0, os.path.getsize(path) - _READ_LIMIT))
            return file.read(_READ_LIMIT)
    except OSError:
        return b""


_REFUSED_PREFIXES = (
    "The user doesn't want to proceed with this tool use",
    "The user doesn't want to take this action right now",
)
_REFUSED_RESULT = "User rejected tool use"
_FEEDBACK_MARK = "the user said:\n"
# Added after the user's words if Claude Code keeps a memory of its own.
_FEEDBACK_END = "\n\nNote: The user's next message may contain a correction or preference"
_DENIED_PREFIXES = ("Claude requested permissions to ", "Permission to use ")
_INVALID_PREFIXES = ("<tool_use_error>", "InputValidationError")
_ABORTED_PREFIXES = (INTERRUPTION_PREFIX, "<error>Command was aborted before completion")


def get_output(block: Fields) -> str:
    """Return the text of a tool result."""
    return "\n".join(get_texts(block.get("content")))


def set_result(turn: Turn, entry: Fields, block: Fields) -> None:
    """Set the result fields of a tool turn."""
    turn.raw_output = get_output(block)
    turn.details = as_dict(entry.get("toolUseResult"))
    turn.is_error = block.get("is_error") is True
    turn.interrupted = turn.details.get("interrupted") is True or turn.raw_output.startswith(_ABORTED_PREFIXES)
    turn.invalid = turn.is_error and turn.raw_output.startswith(_INVALID_PREFIXES)
    turn.refused = _find_refuser(turn, entry)


def _find_refuser(turn: Turn, entry: Fields) -> str:
    """Return who refused a call: `user`, `config` or empty."""
    decision = as_dict(entry.get("permissionDecision"))
    if entry.get("toolDenialKind") or decision.get("decision") == "reject":
        # A guard or a rule of the settings; for the latter the source may say 'user_reject'.
        if entry.get("toolDenialKind") == "permission-rule" or decision.get("source") == "hook":
            return "config"
        # Without a person, Claude Code also says 'user-rejected'; only the source tells.
        by_person = entry.get("toolDenialKind") == "user-rejected" and decision.get("source") != "config"
        return "user" if by_person or decision.get("source") == "user_reject" else "config"
    if decision or not turn.is_error:
        return ""
    return _find_refuser_by_text(turn, entry)


def _find_refuser_by_text(turn: Turn, entry: Fields) -> str:
    """Return who refused a call, for clients without the fields.

    Errors of MCP tools are free text and may say anything.
    """
    if turn.tool and turn.raw_output.startswith(f"PreToolUse:{turn.tool} hook error"):
        return "config"
    if not turn.tool or turn.tool.startswith("mcp__"):
        return ""
    if turn.raw_output.startswith(_REFUSED_PREFIXES) or entry.get("toolUseResult") == _REFUSED_RESULT:
        return "user"
    if turn.raw_output.startswith(_DENIED_PREFIXES) and ("granted" in turn.raw_output or "denied" in turn.raw_output):
        return "config"
    return ""


def get_feedback(turn: Turn, entry: Fields) -> str:
    """Return what a person said when refusing or allowing the call."""
    if turn.refused == "config":
        return ""
    said = as_text(entry.get("userFeedback")).strip()
    if said or turn.refused != "user" or not turn.raw_output.startswith(_REFUSED_PREFIXES):
        return said
    return turn.raw_output.partition(_FEEDBACK_MARK)[2].partition(_FEEDBACK_END)[0].strip()
