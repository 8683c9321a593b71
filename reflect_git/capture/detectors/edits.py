"""Detect a file that resists edits, and edits that were undone.

Two edits in a row miss the text they want to replace, or the same lines are rewritten a third time while checks keep
failing. Many edits of one file are not a problem by themselves: a plan is being carried out.
"""

from __future__ import annotations

from reflect_git.capture.detectors.moment import Clock, completes, facts_of, shorten, text_in
from reflect_git.capture.detectors.outcome import WRITERS, is_failure, is_lost_edit
from reflect_git.capture.detectors.shell import parse
from reflect_git.capture.failure import EXCERPT_LIMIT
from reflect_git.redact import clip, fill

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Optional

    from reflect_git.capture.new_signal import Facts, Meta
    from reflect_git.capture.transcript import Turn
    from reflect_git.redact import Redacted


FAMILY = "edits"
_MOST = 8
_LONGEST = 4000
_MISSES = 2
_REWRITES = 3
_ROW = 16
_OUTPUT_LIMIT = 1024


class _File:
    """The recent edits of one file; `misses` and `rewrites` hold positions, counted in texts."""

    __slots__ = ("last", "misses", "red", "rewrites", "texts")

    def __init__(self) -> None:
        self.misses: list[int] = []
        self.rewrites: list[int] = []
        self.red = self.texts = 0
        self.last = ""


class Edits:
    """Detects edits that miss their text and lines that are rewritten repeatedly."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._files: dict[str, _File] = {}

    def wants(self, kind: str, tool: str, is_error: bool) -> bool:
        return kind == "user" or tool in ("Edit", "MultiEdit", "NotebookEdit") or (tool == "Bash" and is_error)

    def see(self, turn: Turn) -> Sequence[Facts]:
        """Count failures and user messages, and check each edit."""
        if turn.kind == "tool" and turn.tool != "Bash":
            return self._edit(turn)
        if self._files and (turn.kind == "user" or is_failure(turn)):
            for file in self._files.values():
                file.red += 1
        return ()

    def _edit(self, turn: Turn) -> Sequence[Facts]:
        path = text_in(turn, "file_path")
        file = self._file(path)
        if is_lost_edit(turn):
            file.misses = [*file.misses[-_ROW:], self._clock.texts]
            if completes(file.misses, _MISSES):
                told = fill("edits of `{}` miss their text: read the lines again before editing", shorten(path))
                return _facts(turn, path, told)
        elif not turn.is_error:
            file.misses = []
            self._follow(turn, file)
            if completes(file.rewrites, _REWRITES):
                return _facts(turn, path, fill("the same lines of `{}` were rewritten again and again", shorten(path)))
        return ()

    def _file(self, path: str) -> _File:
        """Return the recent edits of a file; start over if the last one was too long ago."""
        file = self._files.pop(path, None)
        if file is None or not self._clock.is_near(file.texts):
            file = _File()
        file.texts = self._clock.texts
        self._files[path] = file
        if len(self._files) > _MOST:
            del self._files[next(iter(self._files))]
        return file

    def _follow(self, turn: Turn, file: _File) -> None:
        """Count a rewrite: an edit of lines that the previous edit wrote, after a failure or a message of the user."""
        old, new = text_in(turn, "old_string")[:_LONGEST], text_in(turn, "new_string")[:_LONGEST]
        is_rewrite = bool(file.last) and file.red > 0 and _share_lines(old, file.last)
        file.rewrites = [*(file.rewrites[-_ROW:] if is_rewrite else ()), self._clock.texts]
        file.last, file.red = new, 0


def _facts(turn: Turn, path: str, content: Redacted) -> Sequence[Facts]:
    context = clip(turn.output, _OUTPUT_LIMIT)
    meta: Meta = {"score": 0.4, "durable": False}
    return (facts_of(turn, FAMILY, "pattern", 1, content, context=context, file=path, meta=meta),)


def _share_lines(old: str, new: str) -> bool:
    """Return whether more than half of the replaced lines were just written."""
    lines = [line.strip() for line in old.splitlines() if len(line.strip()) > 3]
    written = {line.strip() for line in new.splitlines()}
    return bool(lines) and 2 * sum(line in written for line in lines) > len(lines)


UNDO_FAMILY = "undo"
_UNDO_MOST = 12
_UNDO_LONGEST = 4000


class _Edit:
    """One edit: the replaced and the new text, and when it was made."""

    __slots__ = ("new", "old", "path", "texts", "turn", "words")

    def __init__(self, turn: Turn, texts: int, words: int) -> None:
        self.path = text_in(turn, "file_path")
        self.old = text_in(turn, "old_string")[:_UNDO_LONGEST].strip()
        self.new = text_in(turn, "new_string")[:_UNDO_LONGEST].strip()
        self.turn = turn
        self.texts = texts
        self.words = words


class Undo:
    """Detects edits that were undone after a message of the user."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._edits: list[_Edit] = []
        self._words = 0
        self._said: Optional[Turn] = None

    def wants(self, kind: str, tool: str, is_error: bool) -> bool:
        return kind == "user" or ((tool == "Bash" or tool in WRITERS) and not is_error)

    def see(self, turn: Turn) -> Sequence[Facts]:
        """Remember edits and user messages, and report an edit that is undone."""
        if turn.kind == "user":
            self._words += 1
            self._said = turn
        elif turn.tool != "Bash":
            return self._edit(turn)
        elif self._edits and "git " in text_in(turn, "command"):
            return self._restore(turn)
        return ()

    def _edit(self, turn: Turn) -> Sequence[Facts]:
        edit = _Edit(turn, self._clock.texts, self._words)
        undone = [one for one in self._edits if one.path == edit.path and one.old == edit.new and one.new == edit.old]
        if undone and edit.old != edit.new:
            return self._fire(turn, undone[-1])
        self._edits = [*self._edits[1 - _UNDO_MOST :], edit]
        return ()

    def _restore(self, turn: Turn) -> Sequence[Facts]:
        command = text_in(turn, "command")
        names = _restored(command) if "git restore" in command or "git checkout" in command else []
        for edit in reversed(self._edits):
            if any(edit.path == name or edit.path.endswith(f"/{name}") for name in names):
                return self._fire(turn, edit)
        return ()

    def _fire(self, turn: Turn, edit: _Edit) -> Sequence[Facts]:
        """Report an undone edit and forget the other edits of that file, because one report is enough."""
        self._edits = [one for one in self._edits if one.path != edit.path]
        if edit.words == self._words or not self._clock.is_near(edit.texts):
            return ()
        # Use the full texts here: those stored for comparison are truncated.
        tried = shorten(text_in(edit.turn, "new_string")) or shorten(text_in(edit.turn, "old_string"))
        content = fill("an edit of `{}` was taken back: {}", shorten(edit.path), tried)
        said = clip(self._said.text, EXCERPT_LIMIT) if self._said else None
        return (
            facts_of(
                turn, UNDO_FAMILY, "pattern", 1, content, context=said, category="convention", trust="assistant",
                file=edit.path, meta={"score": 0.45, "durable": False},
            ),
        )  # fmt: skip


def _restored(command: str) -> list[str]:
    """Return the files that `git restore` and `git checkout` put back."""
    names: list[str] = []
    for part in parse(command[:2000]):
        if part.words[:2] == ["git", "restore"] or (part.words[:2] == ["git", "checkout"] and "--" in part.words):
            names += [word[2:] if word.startswith("./") else word for word in part.words[2:] if word[:1] != "-"]
    return names
