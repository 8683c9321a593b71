"""The same thing fails again.

Two calls of one tool, or of one server's tools, fail without a success in between: on the same program and action, or
for the same reason, whatever file or argument it names. Red tests, calls the client did not run, refusals, cancelled
siblings and looks around do not count; nor does a failure without a telling reason that an edit stands before, which is
work going on.
"""

from __future__ import annotations

from reflect_git.adapters.redact import fill
from reflect_git.capture.detectors.moment import Clock, completes, facts_of, name_of, quote
from reflect_git.capture.detectors.outcome import REAL, WRITERS, Judge, Outcome, family_of, gist, is_meant

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from reflect_git.adapters.transcript import Turn
    from reflect_git.capture.facts import Facts

FAMILY = "repeated-failure"
_MOST = 64


class _Failure:
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
        """What a server says depends on the page, what a program says on what is wrong."""
        if self.tool != other.tool:
            return bool(self.server) and self.server == other.server and self.cause == other.cause
        is_same_thing = bool(self.family) and self.family == other.family
        return is_same_thing or (self.cause == other.cause and self.tool != "WebFetch")


class Repeated:
    def __init__(self, clock: Clock, judge: Judge) -> None:
        self._clock = clock
        self._judge = judge
        self._failures: list[_Failure] = []
        self._edits = 0

    def wants(self, kind: str, tool: str, is_error: bool) -> bool:
        watched = is_error or tool in ("Bash", "WebFetch") or tool in WRITERS or tool[:5] == "mcp__"
        return kind == "assistant" or (kind == "tool" and watched)

    def see(self, turn: Turn) -> Sequence[Facts]:
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
