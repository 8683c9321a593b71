"""Find the signals of a transcript: messages that say something lasting, and patterns in the tool calls."""

from __future__ import annotations

from reflect_git.capture.detectors import edits, failed_searches, fix, repeated_failures, repeated_requests
from reflect_git.capture.detectors.common import Clock
from reflect_git.capture.detectors.messages import MessageDetector
from reflect_git.capture.detectors.outcome import OutcomeCache

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import Callable, Optional, Protocol

    from reflect_git.capture.new_signal import Facts
    from reflect_git.capture.transcript import Turn

    DetectFunction = Callable[[Turn], Sequence[Facts]]
    ErrorHandler = Callable[[Turn, Exception], object]

    class Detector(Protocol):
        """Looks at the turns it wants, and gives the facts of a signal at the turn that completes its evidence."""

        def accepts(self, kind: str, tool: str, is_error: bool) -> bool: ...

        def detect(self, turn: Turn) -> Sequence[Facts]: ...

    class RequestHistory(Protocol):
        """Requests of earlier sessions."""

        def count_sessions(self, key: str, session: str) -> int:
            """Record that this session made the request. Return the number of sessions that made it."""
            ...


# What counts without a person, too.
FAILURE_FAMILIES = frozenset(
    (repeated_failures.FAMILY, repeated_failures.LOOP_FAMILY, repeated_failures.STOP_FAMILY, fix.FAMILY)
)
_MAX_AGENTS = 16
_MAX_ROUTES = 256


class InMemoryRequestCounter:
    """Counts requests over the sessions of one run of the program."""

    def __init__(self) -> None:
        self._sessions_by_request: dict[str, set[str]] = {}

    def count_sessions(self, key: str, session: str) -> int:
        made = self._sessions_by_request.setdefault(key, set())
        made.add(session)
        return len(made)


def ignore_error(turn: Turn, error: Exception) -> None:
    """Ignore a detector's failure: one message must not prevent the others from being mined."""


def find_signals(
    turns: Iterable[Turn],
    past: Optional[RequestHistory] = None,
    everything: bool = False,
    on_error: Optional[ErrorHandler] = None,
) -> Iterator[Facts]:
    """Yield the fields of every signal, each at the turn that completes its evidence.

    Evidence is close together, so a pass that continues at a cursor finds the same signals in new turns as a full pass.
    For earlier turns, which the last pass has seen, it may find something else. A detector's failure at a turn is
    passed to `on_error` and mining continues; without `on_error` it is raised.
    """
    groups = _DetectorGroups(past, everything, on_error)
    for turn in turns:
        group = groups.get_agent_group(turn.agent) if turn.sidechain else groups.main
        if turn.kind == "assistant" or turn.kind == "user":
            group.clock.texts += 1
        yield from group.detect(turn)


class _DetectorGroup:
    """The detectors for one conversation, each called only for the turns it wants."""

    def __init__(self, detectors: list[Detector], clock: Clock, on_error: Optional[ErrorHandler]) -> None:
        self.clock = clock
        self._on_error = on_error
        self._detectors = detectors
        self._routes: dict[tuple[str, str, bool], list[DetectFunction]] = {}

    def detect(self, turn: Turn) -> Sequence[Facts]:
        watching = self._routes.get((turn.kind, turn.tool, turn.is_error))
        if watching is None:
            watching = self._add_route(turn.kind, turn.tool, turn.is_error)
        found: Sequence[Facts] = ()
        for see in watching:
            try:
                seen = see(turn)
            except Exception as error:
                if self._on_error is None:
                    raise
                self._on_error(turn, error)
                continue
            # One message is one signal at the most: who comes first has it.
            if seen and not (found and turn.kind == "user"):
                found = [*found, *seen]
        return found

    def _add_route(self, kind: str, tool: str, is_error: bool) -> list[DetectFunction]:
        if len(self._routes) >= _MAX_ROUTES:
            self._routes.clear()
        watching: list[DetectFunction] = [
            detector.detect for detector in self._detectors if detector.accepts(kind, tool, is_error)
        ]
        self._routes[kind, tool, is_error] = watching
        return watching


class _DetectorGroups:
    """The detectors for the main conversation and for each subagent.

    Failures of a subagent form no series with those of others, and nobody typed its prompts.
    """

    def __init__(self, past: Optional[RequestHistory], everything: bool, on_error: Optional[ErrorHandler]) -> None:
        self._agents: dict[str, _DetectorGroup] = {}
        self._on_error = on_error
        clock = Clock()
        said: list[Detector] = [
            MessageDetector(everything),
            repeated_requests.LastingAnswerDetector(),
            *([repeated_requests.RepeatedRequestDetector(past)] if past is not None else ()),
        ]
        shown: list[Detector] = [
            edits.RepeatedEditDetector(clock),
            edits.UndoneEditDetector(clock),
            failed_searches.FailedSearchDetector(clock),
        ]
        self.main = _DetectorGroup(
            [*said, *_build_failure_detectors(clock), repeated_failures.StopDetector(), *shown], clock, on_error
        )

    def get_agent_group(self, name: str) -> _DetectorGroup:
        group = self._agents.pop(name, None)
        if group is None:
            clock = Clock()
            group = _DetectorGroup(_build_failure_detectors(clock), clock, self._on_error)
        self._agents[name] = group
        if len(self._agents) > _MAX_AGENTS:
            del self._agents[next(iter(self._agents))]
        return group


def _build_failure_detectors(clock: Clock) -> list[Detector]:
    judge = OutcomeCache()
    return [
        repeated_failures.RepeatedFailureDetector(clock, judge),
        fix.FixDetector(clock, judge),
        repeated_failures.FailureLoopDetector(clock, judge),
    ]
