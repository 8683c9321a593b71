"""An edit is taken back.

After a word of the user, the text an edit had replaced is put back, or git is told to restore a file that was edited.
Without such a word it is the assistant's own trial: a print put in and taken out, a test shown to fail.
"""

from __future__ import annotations

from reflect_git.capture.detectors.moment import Clock, clip, facts_of, text_in
from reflect_git.capture.detectors.outcome import WRITERS
from reflect_git.capture.detectors.shell import parse

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from reflect_git.adapters.transcript import Turn

FAMILY = "undo"
_MOST = 12
_LONGEST = 4000


class _Edit:
    __slots__ = ("new", "old", "path", "texts", "words")

    def __init__(self, turn: Turn, texts: int, words: int) -> None:
        self.path = text_in(turn, "file_path")
        self.old = text_in(turn, "old_string")[:_LONGEST].strip()
        self.new = text_in(turn, "new_string")[:_LONGEST].strip()
        self.texts = texts
        self.words = words


class Undo:
    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._edits: list[_Edit] = []
        self._words = 0
        self._said = ""

    def wants(self, kind: str, tool: str, is_error: bool) -> bool:
        return kind == "user" or ((tool == "Bash" or tool in WRITERS) and not is_error)

    def see(self, turn: Turn) -> Sequence[dict[str, Any]]:
        if turn.kind == "user":
            self._words += 1
            self._said = turn.text[:2048]
        elif turn.tool != "Bash":
            return self._edit(turn)
        elif self._edits and "git " in text_in(turn, "command"):
            return self._restore(turn)
        return ()

    def _edit(self, turn: Turn) -> Sequence[dict[str, Any]]:
        edit = _Edit(turn, self._clock.texts, self._words)
        undone = [one for one in self._edits if one.path == edit.path and one.old == edit.new and one.new == edit.old]
        if undone and edit.old != edit.new:
            return self._fire(turn, undone[-1])
        self._edits = [*self._edits[1 - _MOST :], edit]
        return ()

    def _restore(self, turn: Turn) -> Sequence[dict[str, Any]]:
        command = text_in(turn, "command")
        names = _restored(command) if "git restore" in command or "git checkout" in command else []
        for edit in reversed(self._edits):
            if any(edit.path == name or edit.path.endswith(f"/{name}") for name in names):
                return self._fire(turn, edit)
        return ()

    def _fire(self, turn: Turn, edit: _Edit) -> Sequence[dict[str, Any]]:
        """All that is known of the file is forgotten: once is enough."""
        self._edits = [one for one in self._edits if one.path != edit.path]
        if edit.words == self._words or not self._clock.is_near(edit.texts):
            return ()
        tried = clip(edit.new) or clip(edit.old)
        content = f"an edit of `{clip(edit.path)}` was taken back: {tried}"
        return (
            facts_of(
                turn, FAMILY, "pattern", 1, content, context=self._said, category="convention", trust="assistant",
                file=edit.path, score=0.45, durable=False,
            ),
        )  # fmt: skip


def _restored(command: str) -> list[str]:
    """The files that `git restore` and `git checkout` put back."""
    names: list[str] = []
    for part in parse(command[:2000]):
        if part.words[:2] == ["git", "restore"] or (part.words[:2] == ["git", "checkout"] and "--" in part.words):
            names += [word[2:] if word.startswith("./") else word for word in part.words[2:] if word[:1] != "-"]
    return names
