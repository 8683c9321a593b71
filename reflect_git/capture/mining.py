"""The signals of a transcript: what the user said, and what shows without a word."""

from __future__ import annotations

from reflect_git.capture.detectors import edits, failed_searches, fix, repeated_failures, repeated_requests
from reflect_git.capture.detectors.moment import Clock
from reflect_git.capture.detectors.outcome import Judge
from reflect_git.capture.score import score
from reflect_git.capture.score_features import split
from reflect_git.records.ids import count_words
from reflect_git.redact import redact

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import Callable, Optional, Protocol

    from reflect_git.capture.new_signal import Facts
    from reflect_git.capture.transcript import Turn

    See = Callable[[Turn], Sequence[Facts]]
    Stumble = Callable[[Turn, Exception], object]

    class Detector(Protocol):
        """Looks at the turns it wants, and gives the facts of a signal at the turn that completes its evidence."""

        def wants(self, kind: str, tool: str, is_error: bool) -> bool: ...

        def see(self, turn: Turn) -> Sequence[Facts]: ...

    class Past(Protocol):
        """Requests of earlier sessions."""

        def sessions(self, key: str, session: str) -> int:
            """Record that this session made the request. Return the number of sessions that made it."""
            ...

    from collections.abc import Sequence
    from typing import Any

    from reflect_git.capture.new_signal import Facts
    from reflect_git.capture.score import Verdict
    from reflect_git.capture.transcript import Turn
    from reflect_git.redact import Redacted

# What counts without a person, too.
FAILURES = frozenset(
    (repeated_failures.FAMILY, repeated_failures.LOOP_FAMILY, repeated_failures.STOP_FAMILY, fix.FAMILY)
)
_AGENTS = 16
_ROUTES = 256


class Memory:
    """Counts requests over the sessions of one run of the program."""

    def __init__(self) -> None:
        self._made: dict[str, set[str]] = {}

    def sessions(self, key: str, session: str) -> int:
        made = self._made.setdefault(key, set())
        made.add(session)
        return len(made)


def go_on(turn: Turn, error: Exception) -> None:
    """Ignore a detector's failure: one message must not prevent the others from being mined."""


def signals_in(
    turns: Iterable[Turn], past: Optional[Past] = None, everything: bool = False, stumble: Optional[Stumble] = None
) -> Iterator[Facts]:
    """Yield the fields of every signal, each at the turn that completes its evidence.

    Evidence is close together, so a pass that continues at a cursor finds the same signals in new turns as a full pass.
    For earlier turns, which the last pass has seen, it may find something else. A detector's failure at a turn is
    passed to `stumble` and mining continues; without `stumble` it is raised.
    """
    crews = _Crews(past, everything, stumble)
    for turn in turns:
        crew = crews.agent(turn.agent) if turn.sidechain else crews.main
        if turn.kind == "assistant" or turn.kind == "user":
            crew.clock.texts += 1
        yield from crew.see(turn)


class _Crew:
    """The detectors for one conversation, each called only for the turns it wants."""

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
    """The detectors for the main conversation and for each subagent.

    Failures of a subagent form no series with those of others, and nobody typed its prompts.
    """

    def __init__(self, past: Optional[Past], everything: bool, stumble: Optional[Stumble]) -> None:
        self._agents: dict[str, _Crew] = {}
        self._stumble = stumble
        clock = Clock()
        said: list[Detector] = [
            Messages(everything),
            repeated_requests.Asked(),
            *([repeated_requests.Again(past)] if past is not None else ()),
        ]
        shown: list[Detector] = [edits.Edits(clock), edits.Undo(clock), failed_searches.Thrash(clock)]
        self.main = _Crew([*said, *_failures(clock), repeated_failures.Stop(), *shown], clock, stumble)

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
    return [repeated_failures.Repeated(clock, judge), fix.Fix(clock, judge), repeated_failures.Loop(clock, judge)]


_STEPS = 2
_SENTENCES, _SHORT = 3, 240
_FLEETING = 2  # "no thanks" helps no later session
_TOLD = 4  # words: "All done." is no report
_CATEGORIES = {"command": "command", "gotcha": "gotcha", "discovery": "project-structure"}


class Scene:
    """The context of a message: the work since the last one."""

    def __init__(self) -> None:
        self.first = True
        self.forget()

    def forget(self) -> None:
        self.steps = 0
        self.assistant = ""
        self.interrupted = False
        self.failed = False

    def watch(self, turn: Turn) -> None:
        """Record a turn.

        A transcript may begin in the middle of a session, so earlier work means that a message is not the first.
        """
        self.first = self.first and turn.kind not in ("assistant", "tool", "interrupt", "compaction")
        if turn.kind == "assistant":
            self.assistant = turn.raw
        elif turn.kind == "interrupt":
            self.interrupted = True
        elif turn.kind == "tool" and turn.tool:
            self.steps += 1
            self.failed = turn.is_error and not turn.refused

    def facts(self) -> dict[str, Any]:
        return {
            "first": self.first, "steps": self.steps, "assistant": self.assistant,
            "asked": self.assistant.rstrip().endswith("?"), "after_interrupt": self.interrupted,
            "after_failure": self.failed,
        }  # fmt: skip


class Messages:
    """Decides whether a message is a signal.

    Praise counts only after several steps of work. A refusal is always deliberate.
    """

    def __init__(self, everything: bool = False) -> None:
        self._scene = Scene()
        self._everything = everything  # for people who wonder why a message was not captured

    def wants(self, kind: str, tool: str, is_error: bool) -> bool:
        return kind != "instructions"

    def see(self, turn: Turn) -> Sequence[Facts]:
        if turn.kind != "user":
            self._scene.watch(turn)
            return ()
        scene = self._scene
        verdict = score(turn.raw, turn.via, scene.facts())
        # A sentence by itself has lost the tag, or the word, that made it a secret: choose it from the redacted text.
        if (verdict.is_signal or self._everything) and turn.text != turn.raw:
            verdict = score(turn.text, turn.via, scene.facts())
        is_praise = verdict.type == "pattern" and scene.steps < _STEPS
        captured = verdict.is_signal and not is_praise
        facts = [_facts(turn, verdict, captured)] if captured or self._everything else []
        if captured and verdict.type == "pattern" and not verdict.durable:
            _name_praised(facts[0], scene.assistant)
        scene.first = False
        scene.forget()
        return facts


def _facts(turn: Turn, verdict: Verdict, captured: bool) -> Facts:
    content = _carrying(turn.text, verdict.sentence)
    durable = verdict.durable and count_words(content) > _FLEETING
    facts: Facts = {
        "type": verdict.type if captured else "discovery",
        "family": "message",
        "confidence": max(verdict.confidence, 2) if turn.via == "feedback" else verdict.confidence,
        "category": _CATEGORIES.get(verdict.type, "convention"),
        "timestamp": turn.timestamp,
        "session_id": turn.session,
        "source": {"hook": "transcript", "turn": turn.index, "entry": turn.entry},
        "content": content,
        "context": turn.text,
        "trust": "user_feedback" if turn.via == "feedback" else "user_typed",
        "meta": {"score": round(verdict.score, 4), "durable": durable, "via": turn.via},
    }
    if not captured:
        facts["meta"]["captured"] = False
    return facts


def _name_praised(facts: Facts, assistant: str) -> None:
    """Use the assistant's own report as the content: "perfect" means nothing alone and would merge all praise."""
    told = [part for part in split(redact(assistant)) if count_words(part) >= _TOLD and part[-1] not in "?？:"]
    if told:
        facts["content"] = redact(told[0])
        facts["trust"] = "assistant"


def _carrying(text: Redacted, best: str) -> Redacted:
    """Return the sentence that carries the signal; for a short message, all of it.

    "No." and what to do instead belong together.
    """
    sentences = split(text)
    whole = " ".join(sentences)
    is_short = bool(best) and len(sentences) <= _SENTENCES and len(whole) <= _SHORT
    return redact(whole if is_short else best) if best else text
