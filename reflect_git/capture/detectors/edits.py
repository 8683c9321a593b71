"""Detect a file that resists edits, and edits that were undone.

Two edits in a row miss the text they want to replace, or the same lines are rewritten a third time while checks keep
failing. Many edits of one file are not a problem by themselves: a plan is being carried out.
"""

from __future__ import annotations

from reflect_git.capture.detectors.common import Clock, build_facts, completes_series, get_input_text, shorten
from reflect_git.capture.detectors.outcome import EDIT_TOOLS, is_failure, is_missed_edit
from reflect_git.capture.detectors.shell import split_commands
from reflect_git.capture.failure import EXCERPT_LIMIT
from reflect_git.redact import clip, format_redacted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Optional

    from reflect_git.capture.new_signal import Facts, Meta
    from reflect_git.capture.transcript import Turn
    from reflect_git.redact import Redacted


FAMILY = "edits"
_MAX_FILES = 8
_TEXT_LIMIT = 4000
_MIN_MISSES = 2
_MIN_REWRITES = 3
_MAX_POSITIONS = 16
_OUTPUT_LIMIT = 1024


class _EditedFile:
    """The recent edits of one file; `misses` and `rewrites` hold positions, counted in texts."""

    __slots__ = ("failures", "last_text", "misses", "rewrites", "texts")

    def __init__(self) -> None:
        self.misses: list[int] = []
        self.rewrites: list[int] = []
        self.failures = self.texts = 0
        self.last_text = ""


class RepeatedEditDetector:
    """Detects edits that miss their text and lines that are rewritten repeatedly."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._files: dict[str, _EditedFile] = {}

    def accepts(self, kind: str, tool: str, is_error: bool) -> bool:
        return kind == "user" or tool in ("Edit", "MultiEdit", "NotebookEdit") or (tool == "Bash" and is_error)

    def detect(self, turn: Turn) -> Sequence[Facts]:
        """Count failures and user messages, and check each edit."""
        if turn.kind == "tool" and turn.tool != "Bash":
            return self._check_edit(turn)
        if self._files and (turn.kind == "user" or is_failure(turn)):
            for file in self._files.values():
                file.failures += 1
        return ()

    def _check_edit(self, turn: Turn) -> Sequence[Facts]:
        path = get_input_text(turn, "file_path")
        file = self._get_file(path)
        if is_missed_edit(turn):
            file.misses = [*file.misses[-_MAX_POSITIONS:], self._clock.texts]
            if completes_series(file.misses, _MIN_MISSES):
                told = format_redacted(
                    "edits of `{}` miss their text: read the lines again before editing", shorten(path)
                )
                return _build_facts(turn, path, told)
        elif not turn.is_error:
            file.misses = []
            self._count_rewrite(turn, file)
            if completes_series(file.rewrites, _MIN_REWRITES):
                return _build_facts(
                    turn, path, format_redacted("the same lines of `{}` were rewritten again and again", shorten(path))
                )
        return ()

    def _get_file(self, path: str) -> _EditedFile:
        """Return the recent edits of a file; start over if the last one was too long ago."""
        file = self._files.pop(path, None)
        if file is None or not self._clock.is_recent(file.texts):
            file = _EditedFile()
        file.texts = self._clock.texts
        self._files[path] = file
        if len(self._files) > _MAX_FILES:
            del self._files[next(iter(self._files))]
        return file

    def _count_rewrite(self, turn: Turn, file: _EditedFile) -> None:
        """Count a rewrite: an edit of lines that the previous edit wrote, after a failure or a message of the user."""
        old, new = get_input_text(turn, "old_string")[:_TEXT_LIMIT], get_input_text(turn, "new_string")[:_TEXT_LIMIT]
        is_rewrite = bool(file.last_text) and file.failures > 0 and _share_lines(old, file.last_text)
        file.rewrites = [*(file.rewrites[-_MAX_POSITIONS:] if is_rewrite else ()), self._clock.texts]
        file.last_text, file.failures = new, 0


def _build_facts(turn: Turn, path: str, content: Redacted) -> Sequence[Facts]:
    context = clip(turn.output, _OUTPUT_LIMIT)
    meta: Meta = {"score": 0.4, "durable": False}
    return (build_facts(turn, FAMILY, "pattern", 1, content, context=context, file=path, meta=meta),)


def _share_lines(old: str, new: str) -> bool:
    """Return whether more than half of the replaced lines were just written."""
    lines = [line.strip() for line in old.splitlines() if len(line.strip()) > 3]
    written = {line.strip() for line in new.splitlines()}
    return bool(lines) and 2 * sum(line in written for line in lines) > len(lines)


UNDO_FAMILY = "undo"
_MAX_UNDO_EDITS = 12
_UNDO_TEXT_LIMIT = 4000


class _Edit:
    """One edit: the replaced and the new text, and when it was made."""

    __slots__ = ("message_count", "new", "old", "path", "texts", "turn")

    def __init__(self, turn: Turn, texts: int, words: int) -> None:
        self.path = get_input_text(turn, "file_path")
        self.old = get_input_text(turn, "old_string")[:_UNDO_TEXT_LIMIT].strip()
        self.new = get_input_text(turn, "new_string")[:_UNDO_TEXT_LIMIT].strip()
        self.turn = turn
        self.texts = texts
        self.message_count = words


class UndoneEditDetector:
    """Detects edits that were undone after a message of the user."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._edits: list[_Edit] = []
        self._message_count = 0
        self._last_message: Optional[Turn] = None

    def accepts(self, kind: str, tool: str, is_error: bool) -> bool:
        return kind == "user" or ((tool == "Bash" or tool in EDIT_TOOLS) and not is_error)

    def detect(self, turn: Turn) -> Sequence[Facts]:
        """Remember edits and user messages, and report an edit that is undone."""
        if turn.kind == "user":
            self._message_count += 1
            self._last_message = turn
        elif turn.tool != "Bash":
            return self._check_edit(turn)
        elif self._edits and "git " in get_input_text(turn, "command"):
            return self._check_restore(turn)
        return ()

    def _check_edit(self, turn: Turn) -> Sequence[Facts]:
        edit = _Edit(turn, self._clock.texts, self._message_count)
        undone = [one for one in self._edits if one.path == edit.path and one.old == edit.new and one.new == edit.old]
        if undone and edit.old != edit.new:
            return self._report_undo(turn, undone[-1])
        self._edits = [*self._edits[1 - _MAX_UNDO_EDITS :], edit]
        return ()

    def _check_restore(self, turn: Turn) -> Sequence[Facts]:
        command = get_input_text(turn, "command")
        names = _find_restored_files(command) if "git restore" in command or "git checkout" in command else []
        for edit in reversed(self._edits):
            if any(edit.path == name or edit.path.endswith(f"/{name}") for name in names):
                return self._report_undo(turn, edit)
        return ()

    def _report_undo(self, turn: Turn, edit: _Edit) -> Sequence[Facts]:
        """Report an undone edit and forget the other edits of that file, because one report is enough."""
        self._edits = [one for one in self._edits if one.path != edit.path]
        if edit.message_count == self._message_count or not self._clock.is_recent(edit.texts):
            return ()
        # Use the full texts here: those stored for comparison are truncated.
        tried = shorten(get_input_text(edit.turn, "new_string")) or shorten(get_input_text(edit.turn, "old_string"))
        content = format_redacted("an edit of `{}` was taken back: {}", shorten(edit.path), tried)
        said = clip(self._last_message.text, EXCERPT_LIMIT) if self._last_message else None
        return (
            build_facts(
                turn, UNDO_FAMILY, "pattern", 1, content, context=said, category="convention", trust="assistant",
                file=edit.path, meta={"score": 0.45, "durable": False},
            ),
        )  # fmt: skip


def _find_restored_files(command: str) -> list[str]:
    """Return the files that `git restore` and `git checkout` put back."""
    names: list[str] = []
    for part in split_commands(command[:2000]):
        if part.words[:2] == ["git", "restore"] or (part.words[:2] == ["git", "checkout"] and "--" in part.words):
            names += [word[2:] if word.startswith("./") else word for word in part.words[2:] if word[:1] != "-"]
    return names
