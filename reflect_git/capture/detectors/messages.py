"""Detect messages that correct Claude, or say something lasting about the project."""

from __future__ import annotations

from reflect_git.capture import notice
from reflect_git.capture.score import score_message
from reflect_git.capture.score_features import split_sentences
from reflect_git.records.ids import count_words
from reflect_git.redact import redact

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from reflect_git.capture.new_signal import Facts
    from reflect_git.capture.score import ScoreResult
    from reflect_git.capture.transcript import Turn
    from reflect_git.redact import Redacted

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
    if captured and durable and verdict.is_standing:
        facts["meta"]["standing"] = True
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
