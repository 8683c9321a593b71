"""One file fights back.

Two edits in a row miss the text they want to replace, or the same lines are rewritten a third time while checks keep
failing. Many edits of one file by themselves are a plan being carried out.
"""

from __future__ import annotations

from reflect_git.adapters.redact import clip, fill
from reflect_git.capture.detectors.moment import Clock, completes, facts_of, shorten, text_in
from reflect_git.capture.detectors.outcome import is_failure, is_lost_edit

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from reflect_git.adapters.redact import Redacted
    from reflect_git.adapters.transcript import Turn
    from reflect_git.capture.facts import Facts, Meta

FAMILY = "edits"
_MOST = 8
_LONGEST = 4000
_MISSES = 2
_REWRITES = 3
_ROW = 16
_OUTPUT_LIMIT = 1024


class _File:
    """`misses` and `rewrites` are rows of moments, in texts."""

    __slots__ = ("last", "misses", "red", "rewrites", "texts")

    def __init__(self) -> None:
        self.misses: list[int] = []
        self.rewrites: list[int] = []
        self.red = self.texts = 0
        self.last = ""


class Edits:
    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._files: dict[str, _File] = {}

    def wants(self, kind: str, tool: str, is_error: bool) -> bool:
        return kind == "user" or tool in ("Edit", "MultiEdit", "NotebookEdit") or (tool == "Bash" and is_error)

    def see(self, turn: Turn) -> Sequence[Facts]:
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
        file = self._files.pop(path, None)
        if file is None or not self._clock.is_near(file.texts):
            file = _File()
        file.texts = self._clock.texts
        self._files[path] = file
        if len(self._files) > _MOST:
            del self._files[next(iter(self._files))]
        return file

    def _follow(self, turn: Turn, file: _File) -> None:
        """A rewrite takes up what the edit before it wrote, after a failure or a word of the user."""
        old, new = text_in(turn, "old_string")[:_LONGEST], text_in(turn, "new_string")[:_LONGEST]
        is_rewrite = bool(file.last) and file.red > 0 and _share_lines(old, file.last)
        file.rewrites = [*(file.rewrites[-_ROW:] if is_rewrite else ()), self._clock.texts]
        file.last, file.red = new, 0


def _facts(turn: Turn, path: str, content: Redacted) -> Sequence[Facts]:
    context = clip(turn.output, _OUTPUT_LIMIT)
    meta: Meta = {"score": 0.4, "durable": False}
    return (facts_of(turn, FAMILY, "pattern", 1, content, context=context, file=path, meta=meta),)


def _share_lines(old: str, new: str) -> bool:
    """More than half of what is replaced was just written."""
    lines = [line.strip() for line in old.splitlines() if len(line.strip()) > 3]
    written = {line.strip() for line in new.splitlines()}
    return bool(lines) and 2 * sum(line in written for line in lines) > len(lines)
