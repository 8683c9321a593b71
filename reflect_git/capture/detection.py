"""Find the signals of a transcript: messages that say something lasting, and patterns in the tool calls."""

from __future__ import annotations

from reflect_git.capture import notice
from reflect_git.capture.detectors import edits, failed_searches, fix, repeated_failures, repeated_requests
from reflect_git.capture.detectors.common import Clock
from reflect_git.capture.detectors.outcome import OutcomeCache
from reflect_git.capture.score import score_message
from reflect_git.capture.score_features import split_sentences
from reflect_git.records.ids import count_words
from reflect_git.redact import redact

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

    from collections.abc import Sequence
    from typing import Any

    from reflect_git.capture.new_signal import Facts
    from reflect_git.capture.score import ScoreResult
    from reflect_git.capture.transcript import Turn
    from reflect_git.redact import Redacted

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
    passed to `stumble` and mining continues; without `stumble` it is raised.
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


_MIN_PRAISED_STEPS = 2
_MAX_SENTENCES, _SHORT_LIMIT = 3, 240
_MAX_MOMENTARY_WORDS = 2  # "no thanks" helps no later session
_MIN_REPORT_WORDS = 4  # words: "All done." is no report
_CATEGORIES = {"command": "command", "gotcha": "gotcha", "discovery": "project-structure"}


class MessageContext:
    """The context of a message: the work since the last one."""

    def __init__(self) -> None:
        self.first = True
        self.reset()

    def reset(self) -> None:
        self.steps = 0
        self.assistant = ""
        self.interrupted = False
        self.failed = False

    def add_turn(self, turn: Turn) -> None:
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

    def to_dict(self) -> dict[str, Any]:
        return {
            "first": self.first, "steps": self.steps, "assistant": self.assistant,
            "asked": self.assistant.rstrip().endswith("?"), "after_interrupt": self.interrupted,
            "after_failure": self.failed,
        }  # fmt: skip


class MessageDetector:
    """Decides whether a message is a signal.

    Praise counts only after several steps of work. A refusal is always deliberate.
    """

    def __init__(self, everything: bool = False) -> None:
        self._context = MessageContext()
        self._everything = everything  # for people who wonder why a message was not captured

    def accepts(self, kind: str, tool: str, is_error: bool) -> bool:
        return kind != "instructions"

    def add_context(self, turn: Turn) -> None:
        """Record an earlier turn, which is not scored."""
        if turn.kind == "user":
            self._context.first = False
            self._context.reset()
        elif turn.kind != "instructions":
            self._context.add_turn(turn)

    def detect(self, turn: Turn) -> Sequence[Facts]:
        if turn.kind != "user":
            self._context.add_turn(turn)
            return ()
        scene = self._context
        verdict = score_message(turn.raw, turn.via, scene.to_dict())
        # A sentence by itself has lost the tag, or the word, that made it a secret: choose it from the redacted text.
        if (verdict.is_signal or self._everything) and turn.text != turn.raw:
            verdict = score_message(turn.text, turn.via, scene.to_dict())
        is_praise = verdict.type == "pattern" and scene.steps < _MIN_PRAISED_STEPS
        captured = verdict.is_signal and not is_praise
        facts = [_build_facts(turn, verdict, captured)] if captured or self._everything else []
        if captured and verdict.type == "pattern" and not verdict.durable:
            _use_assistant_report(facts[0], scene.assistant)
        scene.first = False
        scene.reset()
        return facts


def _build_facts(turn: Turn, verdict: ScoreResult, captured: bool) -> Facts:
    content = _choose_content(turn.text, verdict.sentence)
    durable = verdict.durable and count_words(content) > _MAX_MOMENTARY_WORDS
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
    notice.set_moment(facts, turn)
    return facts


def _use_assistant_report(facts: Facts, assistant: str) -> None:
    """Use the assistant's own report as the content: "perfect" means nothing alone and would merge all praise."""
    told = [
        part
        for part in split_sentences(redact(assistant))
        if count_words(part) >= _MIN_REPORT_WORDS and part[-1] not in "?？:"
    ]
    if told:
        facts["content"] = redact(told[0])
        facts["trust"] = "assistant"


def _choose_content(text: Redacted, best: str) -> Redacted:
    """Return the sentence that carries the signal; for a short message, all of it.

    "No." and what to do instead belong together.
    """
    sentences = split_sentences(text)
    whole = " ".join(sentences)
    is_short = bool(best) and len(sentences) <= _MAX_SENTENCES and len(whole) <= _SHORT_LIMIT
    return redact(whole if is_short else best) if best else text
