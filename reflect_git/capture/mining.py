"""The signals of a transcript: what the user said, and what shows without a word."""

from __future__ import annotations

from reflect_git.capture.detectors import again, asked, edits, fix, loop, repeated, stop, thrash, undo
from reflect_git.capture.detectors.moment import Clock
from reflect_git.capture.detectors.outcome import Judge
from reflect_git.capture.messages import Messages

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import Callable, Optional, Protocol

    from reflect_git.adapters.transcript import Turn
    from reflect_git.capture.facts import Facts

    See = Callable[[Turn], Sequence[Facts]]
    Stumble = Callable[[Turn, Exception], object]

    class Detector(Protocol):
        """Looks at the turns it wants, and gives the facts of a signal at the turn that completes its evidence."""

        def wants(self, kind: str, tool: str, is_error: bool) -> bool: ...

        def see(self, turn: Turn) -> Sequence[Facts]: ...

    class Past(Protocol):
        """What is known of earlier sessions."""

        def sessions(self, key: str, session: str) -> int:
            """Notes that this session made the request, and says in how many sessions it was made."""
            ...


# What counts without a person, too.
FAILURES = frozenset((repeated.FAMILY, loop.FAMILY, stop.FAMILY, fix.FAMILY))
_AGENTS = 16
_ROUTES = 256


class Memory:
    """The sessions of one run of the program."""

    def __init__(self) -> None:
        self._made: dict[str, set[str]] = {}

    def sessions(self, key: str, session: str) -> int:
        made = self._made.setdefault(key, set())
        made.add(session)
        return len(made)


def go_on(turn: Turn, error: Exception) -> None:
    """What one message does to a detector must not cost what the others say."""


def signals_in(
    turns: Iterable[Turn], past: Optional[Past] = None, everything: bool = False, stumble: Optional[Stumble] = None
) -> Iterator[Facts]:
    """The facts of every signal, each at the turn that completes its evidence.

    Evidence stands close together, so that a reading which goes on at a cursor gives for new turns what one reading of
    the whole gives. For the turns before them, which the last reading has seen, it may say something else. A detector
    that fails at a turn is told to `stumble`, and the reading goes on; where nobody listens, it fails.
    """
    crews = _Crews(past, everything, stumble)
    for turn in turns:
        crew = crews.agent(turn.agent) if turn.sidechain else crews.main
        if turn.kind == "assistant" or turn.kind == "user":
            crew.clock.texts += 1
        yield from crew.see(turn)


class _Crew:
    """Detectors that look at one conversation, each only at what it wants to see."""

    def __init__(self, detectors: list[Detector], clock: Clock, stumble: Optional[Stumble]) -> None:
        self.clock = clock
        self._stumble = stumble
        self._detectors = detectors
        self._watching: dict[tuple[str, str, bool], list[See]] = {}

    def see(self, turn: Turn) -> Sequence[Facts]:
        watching = self._watching.get((turn.kind, turn.tool, turn.is_error))
        if watching is None:
            watching = self._route(turn.kind, turn.tool, turn.is_error)
        found: Sequence[Facts] = ()
        for see in watching:
            try:
                seen = see(turn)
            except Exception as error:
                if self._stumble is None:
                    raise
                self._stumble(turn, error)
                continue
            # One message is one signal at the most: who comes first has it.
            if seen and not (found and turn.kind == "user"):
                found = [*found, *seen]
        return found

    def _route(self, kind: str, tool: str, is_error: bool) -> list[See]:
        if len(self._watching) >= _ROUTES:
            self._watching.clear()
        watching: list[See] = [detector.see for detector in self._detectors if detector.wants(kind, tool, is_error)]
        self._watching[kind, tool, is_error] = watching
        return watching


class _Crews:
    """A subagent's failures are its own: they make no streak with those of others. Its prompts are nobody's words."""

    def __init__(self, past: Optional[Past], everything: bool, stumble: Optional[Stumble]) -> None:
        self._agents: dict[str, _Crew] = {}
        self._stumble = stumble
        clock = Clock()
        said: list[Detector] = [Messages(everything), asked.Asked(), *([again.Again(past)] if past is not None else ())]
        shown: list[Detector] = [edits.Edits(clock), undo.Undo(clock), thrash.Thrash(clock)]
        self.main = _Crew([*said, *_failures(clock), stop.Stop(), *shown], clock, stumble)

    def agent(self, name: str) -> _Crew:
        crew = self._agents.pop(name, None)
        if crew is None:
            clock = Clock()
            crew = _Crew(_failures(clock), clock, self._stumble)
        self._agents[name] = crew
        if len(self._agents) > _AGENTS:
            del self._agents[next(iter(self._agents))]
        return crew


def _failures(clock: Clock) -> list[Detector]:
    judge = Judge()
    return [repeated.Repeated(clock, judge), fix.Fix(clock, judge), loop.Loop(clock, judge)]
