"""Detect things that fail again: a repeated failure, a loop of five, or a turn that Claude Code gave up.

A repeated failure is two failures of one tool, or of one server's tools, without a success in between. They concern the
same program and action, or have the same cause, whatever file or argument it names.

These do not count: failing tests, calls that did not run, refusals, cancelled parallel calls and commands that only
look around. A failure without a clear cause right after an edit is work in progress and does not count either.
"""

from __future__ import annotations

from reflect_git.capture.detectors.common import Clock, build_facts, completes_series, format_code, redact_name
from reflect_git.capture.detectors.outcome import (
    EDIT_TOOLS,
    OBSTACLE_KINDS,
    Outcome,
    OutcomeCache,
    clean_line,
    get_family,
    is_missed_edit,
    normalize_cause,
    says_expected,
)
from reflect_git.redact import flatten, format_redacted, redact

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from reflect_git.capture.new_signal import Facts, Meta
    from reflect_git.capture.transcript import Turn
    from reflect_git.redact import Redacted

FAMILY = "repeated-failure"
_MAX_FAILURES = 64


class _Failure:
    """One failure, with what is needed to recognise it again."""

    __slots__ = ("call", "cause", "edits", "family", "server", "texts", "tool")

    def __init__(self, turn: Turn, outcome: Outcome, texts: int, edits: int) -> None:
        self.tool = turn.tool
        self.server = turn.tool.rpartition("__")[0]
        self.call = turn.tool_use_id
        self.family = outcome.family
        self.cause = outcome.cause if turn.tool == "Bash" else normalize_cause(outcome.cause)
        self.texts = texts
        self.edits = edits

    def is_same(self, other: _Failure) -> bool:
        """Return whether two failures are the same.

        The message of a server depends on the page, that of a program on what is wrong.
        """
        if self.tool != other.tool:
            return bool(self.server) and self.server == other.server and self.cause == other.cause
        is_same_thing = bool(self.family) and self.family == other.family
        return is_same_thing or (self.cause == other.cause and self.tool != "WebFetch")


class RepeatedFailureDetector:
    """Detects the same failure twice."""

    def __init__(self, clock: Clock, judge: OutcomeCache) -> None:
        self._clock = clock
        self._outcomes = judge
        self._failures: list[_Failure] = []
        self._edits = 0

    def accepts(self, kind: str, tool: str, is_error: bool) -> bool:
        watched = is_error or tool in ("Bash", "WebFetch") or tool in EDIT_TOOLS or tool[:5] == "mcp__"
        return kind == "assistant" or (kind == "tool" and watched)

    def detect(self, turn: Turn) -> Sequence[Facts]:
        """Remember failures, and report the second of the same."""
        if turn.kind == "assistant":
            if self._failures and says_expected(turn.raw):
                self._failures.pop()
        elif turn.is_error:
            return self._check_failure(turn)
        elif turn.tool in EDIT_TOOLS:
            self._edits += 1
        elif self._failures:
            self._drop_solved(turn)
        return ()

    def _drop_solved(self, turn: Turn) -> None:
        if any(failure.tool == turn.tool for failure in self._failures):
            family = get_family(turn)
            self._failures = [one for one in self._failures if one.tool != turn.tool or one.family != family]

    def _check_failure(self, turn: Turn) -> Sequence[Facts]:
        outcome = self._outcomes.get(turn)
        if outcome is None or not outcome.is_counted or outcome.kind == "server":
            return ()
        failure = _Failure(turn, outcome, self._clock.texts, self._edits)
        is_real = outcome.kind in OBSTACLE_KINDS
        self._failures = [one for one in self._failures if self._clock.is_recent(one.texts)][-_MAX_FAILURES:]
        row = [one for one in self._failures if one.is_same(failure) and (is_real or one.edits == self._edits)]
        self._failures.append(failure)
        if not completes_series([*(one.texts for one in row), failure.texts], 2):
            return ()
        return (_build_facts(turn, outcome, row[-1].call),)


def _build_facts(turn: Turn, outcome: Outcome, streak: str) -> Facts:
    found = outcome.get_redacted()
    return build_facts(
        turn,
        FAMILY,
        "failure",
        2,
        format_redacted("{} failed twice: {}", format_code(found.attempt or redact_name(turn.tool)), found.cause),
        context=turn.output,
        category="command" if outcome.command else "gotcha",
        meta={"score": 0.6, "durable": outcome.kind in OBSTACLE_KINDS, "streak": redact_name(streak)},
    )


LOOP_FAMILY = "loop"
LOOP_LENGTH = 5
_MAX_TOOLS = 32
_MAX_POSITIONS = 64


class FailureLoopDetector:
    """Detects one tool that fails five times in a row."""

    def __init__(self, clock: Clock, judge: OutcomeCache) -> None:
        self._clock = clock
        self._outcomes = judge
        self._positions: dict[str, list[int]] = {}

    def accepts(self, kind: str, tool: str, is_error: bool) -> bool:
        return kind == "user" or (kind == "tool" and bool(tool))

    def detect(self, turn: Turn) -> Sequence[Facts]:
        """Count failures of each tool in a row, and report the fifth."""
        if turn.is_error:
            return self._check_failure(turn)
        if self._positions:
            if turn.kind == "user":
                self._positions.clear()
            else:
                self._positions.pop(turn.tool, None)
        return ()

    def _check_failure(self, turn: Turn) -> Sequence[Facts]:
        if not self._is_counted(turn):
            return ()
        if len(self._positions) > _MAX_TOOLS:
            self._positions.clear()
        row = [texts for texts in self._positions.get(turn.tool, ()) if self._clock.is_recent(texts)][-_MAX_POSITIONS:]
        self._positions[turn.tool] = row = [*row, self._clock.texts]
        if not completes_series(row, LOOP_LENGTH):
            return ()
        content = format_redacted(
            "loop stopped: {} failed {} times in a row, last with: {}",
            redact_name(turn.tool), redact(str(LOOP_LENGTH)), self._get_cause(turn),
        )  # fmt: skip
        meta: Meta = {"score": 0.6, "durable": False}
        return (build_facts(turn, LOOP_FAMILY, "failure", 2, content, context=turn.output, meta=meta),)

    def _is_counted(self, turn: Turn) -> bool:
        outcome = None if is_missed_edit(turn) else self._outcomes.get(turn)
        return is_missed_edit(turn) or (outcome is not None and outcome.is_counted)

    def _get_cause(self, turn: Turn) -> Redacted:
        outcome = None if is_missed_edit(turn) else self._outcomes.get(turn)
        if outcome:
            return outcome.get_redacted().cause
        return redact(clean_line(turn.output.replace("<tool_use_error>", "").partition("\n")[0]))


STOP_FAMILY = "stop"
_REASON_LIMIT = 160


class StopDetector:
    """Detects a turn that Claude Code gave up."""

    def accepts(self, kind: str, tool: str, is_error: bool) -> bool:
        return kind == "stop"

    def detect(self, turn: Turn) -> Sequence[Facts]:
        """Report the turn."""
        content = format_redacted("loop stopped: {}", flatten(turn.text or turn.output, _REASON_LIMIT))
        return (build_facts(turn, STOP_FAMILY, "failure", 1, content, context=turn.output, meta={"durable": False}),)
