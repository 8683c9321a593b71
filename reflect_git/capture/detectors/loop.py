"""One tool fails five times in a row, whatever it was called with: somebody had to stop it.

What counts is what counts for a repeated failure, and edits of a text that is not there. A prompt ends the row.
"""

from __future__ import annotations

from reflect_git.adapters.redact import fill, redact
from reflect_git.capture.detectors.moment import Clock, completes, facts_of, name_of
from reflect_git.capture.detectors.outcome import Judge, clean, is_lost_edit

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from reflect_git.adapters.redact import Redacted
    from reflect_git.adapters.transcript import Turn
    from reflect_git.capture.facts import Facts, Meta

FAMILY = "loop"
LENGTH = 5
_MOST = 32
_LONGEST = 64


class Loop:
    def __init__(self, clock: Clock, judge: Judge) -> None:
        self._clock = clock
        self._judge = judge
        self._rows: dict[str, list[int]] = {}

    def wants(self, kind: str, tool: str, is_error: bool) -> bool:
        return kind == "user" or (kind == "tool" and bool(tool))

    def see(self, turn: Turn) -> Sequence[Facts]:
        if turn.is_error:
            return self._fail(turn)
        if self._rows:
            if turn.kind == "user":
                self._rows.clear()
            else:
                self._rows.pop(turn.tool, None)
        return ()

    def _fail(self, turn: Turn) -> Sequence[Facts]:
        if not self._is_counted(turn):
            return ()
        if len(self._rows) > _MOST:
            self._rows.clear()
        row = [texts for texts in self._rows.get(turn.tool, ()) if self._clock.is_near(texts)][-_LONGEST:]
        self._rows[turn.tool] = row = [*row, self._clock.texts]
        if not completes(row, LENGTH):
            return ()
        content = fill(
            "loop stopped: {} failed {} times in a row, last with: {}",
            name_of(turn.tool), redact(str(LENGTH)), self._cause(turn),
        )  # fmt: skip
        meta: Meta = {"score": 0.6, "durable": False}
        return (facts_of(turn, FAMILY, "failure", 2, content, context=turn.output, meta=meta),)

    def _is_counted(self, turn: Turn) -> bool:
        outcome = None if is_lost_edit(turn) else self._judge.of(turn)
        return is_lost_edit(turn) or (outcome is not None and outcome.is_counted)

    def _cause(self, turn: Turn) -> Redacted:
        outcome = None if is_lost_edit(turn) else self._judge.of(turn)
        if outcome:
            return outcome.redacted().cause
        return redact(clean(turn.output.replace("<tool_use_error>", "").partition("\n")[0]))
