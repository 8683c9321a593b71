"""Detect things that fail again: a repeated failure, a loop of five, or a turn that Claude Code gave up.

A repeated failure is two failures of one tool, or of one server's tools, without a success in between. They concern the
same program and action, or have the same cause, whatever file or argument it names.

These do not count: failing tests, calls that did not run, refusals, cancelled parallel calls and commands that only
look around. A failure without a clear cause right after an edit is work in progress and does not count either.
"""

from __future__ import annotations

from reflect_git.capture.detectors.moment import Clock, completes, facts_of, name_of, quote
from reflect_git.capture.detectors.outcome import (
    REAL,
    WRITERS,
    Judge,
    Outcome,
    clean,
    family_of,
    gist,
    is_lost_edit,
    is_meant,
)
from reflect_git.redact import fill, flatten, redact

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from reflect_git.capture.new_signal import Facts, Meta
    from reflect_git.capture.transcript import Turn
    from reflect_git.redact import Redacted

FAMILY = "repeated-failure"
_MOST = 64


class _Failure:
    """One failure, with what is needed to recognise it again."""

    __slots__ = ("call", "cause", "edits", "family", "server", "texts", "tool")

    def __init__(self, turn: Turn, outcome: Outcome, texts: int, edits: int) -> None:
        self.tool = turn.tool
        self.server = turn.tool.rpartition("__")[0]
        self.call = turn.tool_use_id
        self.family = outcome.family
        self.cause = outcome.cause if turn.tool == "Bash" else gist(outcome.cause)
        self.texts = texts
        self.edits = edits

    def is_like(self, other: _Failure) -> bool:
        """Return whether two failures are the same.

        The message of a server depends on the page, that of a program on what is wrong.
        """
        if self.tool != other.tool:
            return bool(self.server) and self.server == other.server and self.cause == other.cause
        is_same_thing = bool(self.family) and self.family == other.family
        return is_same_thing or (self.cause == other.cause and self.tool != "WebFetch")


class Repeated:
    """Detects the same failure twice."""

    def __init__(self, clock: Clock, judge: Judge) -> None:
        self._clock = clock
        self._judge = judge
        self._failures: list[_Failure] = []
        self._edits = 0

    def wants(self, kind: str, tool: str, is_error: bool) -> bool:
        watched = is_error or tool in ("Bash", "WebFetch") or tool in WRITERS or tool[:5] == "mcp__"
        return kind == "assistant" or (kind == "tool" and watched)

    def see(self, turn: Turn) -> Sequence[Facts]:
        """Remember failures, and report the second of the same."""
        if turn.kind == "assistant":
            if self._failures and is_meant(turn.raw):
                self._failures.pop()
        elif turn.is_error:
            return self._fail(turn)
        elif turn.tool in WRITERS:
            self._edits += 1
        elif self._failures:
            self._succeed(turn)
        return ()

    def _succeed(self, turn: Turn) -> None:
        if any(failure.tool == turn.tool for failure in self._failures):
            family = family_of(turn)
            self._failures = [one for one in self._failures if one.tool != turn.tool or one.family != family]

    def _fail(self, turn: Turn) -> Sequence[Facts]:
        outcome = self._judge.of(turn)
        if outcome is None or not outcome.is_counted or outcome.kind == "server":
            return ()
        failure = _Failure(turn, outcome, self._clock.texts, self._edits)
        is_real = outcome.kind in REAL
        self._failures = [one for one in self._failures if self._clock.is_near(one.texts)][-_MOST:]
        row = [one for one in self._failures if one.is_like(failure) and (is_real or one.edits == self._edits)]
        self._failures.append(failure)
        if not completes([*(one.texts for one in row), failure.texts], 2):
            return ()
        return (_facts(turn, outcome, row[-1].call),)


def _facts(turn: Turn, outcome: Outcome, streak: str) -> Facts:
    found = outcome.redacted()
    return facts_of(
        turn, FAMILY, "failure", 2, fill("{} failed twice: {}", quote(found.tried or name_of(turn.tool)), found.cause),
        context=turn.output, category="command" if outcome.command else "gotcha",
        meta={"score": 0.6, "durable": outcome.kind in REAL, "streak": name_of(streak)},
    )  # fmt: skip


LOOP_FAMILY = "loop"
LENGTH = 5
_LOOP_MOST = 32
_LONGEST = 64


class Loop:
    """Detects one tool that fails five times in a row."""

    def __init__(self, clock: Clock, judge: Judge) -> None:
        self._clock = clock
        self._judge = judge
        self._rows: dict[str, list[int]] = {}

    def wants(self, kind: str, tool: str, is_error: bool) -> bool:
        return kind == "user" or (kind == "tool" and bool(tool))

    def see(self, turn: Turn) -> Sequence[Facts]:
        """Count failures of each tool in a row, and report the fifth."""
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
        if len(self._rows) > _LOOP_MOST:
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
        return (facts_of(turn, LOOP_FAMILY, "failure", 2, content, context=turn.output, meta=meta),)

    def _is_counted(self, turn: Turn) -> bool:
        outcome = None if is_lost_edit(turn) else self._judge.of(turn)
        return is_lost_edit(turn) or (outcome is not None and outcome.is_counted)

    def _cause(self, turn: Turn) -> Redacted:
        outcome = None if is_lost_edit(turn) else self._judge.of(turn)
        if outcome:
            return outcome.redacted().cause
        return redact(clean(turn.output.replace("<tool_use_error>", "").partition("\n")[0]))


STOP_FAMILY = "stop"
_LIMIT = 160


class Stop:
    """Detects a turn that Claude Code gave up."""

    def wants(self, kind: str, tool: str, is_error: bool) -> bool:
        return kind == "stop"

    def see(self, turn: Turn) -> Sequence[Facts]:
        """Report the turn."""
        content = fill("loop stopped: {}", flatten(turn.text or turn.output, _LIMIT))
        return (facts_of(turn, STOP_FAMILY, "failure", 1, content, context=turn.output, meta={"durable": False}),)
