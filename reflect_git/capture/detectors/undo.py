"""An edit is taken back.

After a word of the user, the text an edit had replaced is put back, or git is told to restore a file that was edited.
Without such a word it is the assistant's own trial: a print put in and taken out, a test shown to fail.
"""

from __future__ import annotations

from reflect_git.adapters.redact import clip, fill
from reflect_git.capture.detectors.moment import Clock, facts_of, shorten, text_in
from reflect_git.capture.detectors.outcome import WRITERS
from reflect_git.capture.detectors.shell import parse
from reflect_git.capture.failure import EXCERPT_LIMIT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Optional

    from reflect_git.adapters.transcript import Turn
    from reflect_git.capture.facts import Facts

FAMILY = "undo"
_MOST = 12
_LONGEST = 4000


class _Edit:
    __slots__ = ("new", "old", "path", "texts", "turn", "words")

    def __init__(self, turn: Turn, texts: int, words: int) -> None:
        self.path = text_in(turn, "file_path")
        self.old = text_in(turn, "old_string")[:_LONGEST].strip()
        self.new = text_in(turn, "new_string")[:_LONGEST].strip()
        self.turn = turn
        self.texts = texts
        self.words = words


class Undo:
    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._edits: list[_Edit] = []
        self._words = 0
        self._said: Optional[Turn] = None

    def wants(self, kind: str, tool: str, is_error: bool) -> bool:
        return kind == "user" or ((tool == "Bash" or tool in WRITERS) and not is_error)

    def see(self, turn: Turn) -> Sequence[Facts]:
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
        self._edits = [*self._edits[1 - _MOST :], edit]
        return ()

    def _restore(self, turn: Turn) -> Sequence[Facts]:
        command = text_in(turn, "command")
        names = _restored(command) if "git restore" in command or "git checkout" in command else []
        for edit in reversed(self._edits):
            if any(edit.path == name or edit.path.endswith(f"/{name}") for name in names):
                return self._fire(turn, edit)
        return ()

    def _fire(self, turn: Turn, edit: _Edit) -> Sequence[Facts]:
        """All that is known of the file is forgotten: once is enough."""
        self._edits = [one for one in self._edits if one.path != edit.path]
        if edit.words == self._words or not self._clock.is_near(edit.texts):
            return ()
        # From the whole texts: those that are kept for comparing were cut.
        tried = shorten(text_in(edit.turn, "new_string")) or shorten(text_in(edit.turn, "old_string"))
        content = fill("an edit of `{}` was taken back: {}", shorten(edit.path), tried)
        said = clip(self._said.text, EXCERPT_LIMIT) if self._said else None
        return (
            facts_of(
                turn, FAMILY, "pattern", 1, content, context=said, category="convention", trust="assistant",
                file=edit.path, meta={"score": 0.45, "durable": False},
            ),
        )  # fmt: skip


def _restored(command: str) -> list[str]:
    """The files that `git restore` and `git checkout` put back."""
    names: list[str] = []
    for part in parse(command[:2000]):
        if part.words[:2] == ["git", "restore"] or (part.words[:2] == ["git", "checkout"] and "--" in part.words):
            names += [word[2:] if word.startswith("./") else word for word in part.words[2:] if word[:1] != "-"]
    return names
