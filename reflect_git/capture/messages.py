"""What the user said, worth keeping: each message of a transcript in the light of what stood before it."""

from __future__ import annotations

from reflect_git.adapters.redact import redact
from reflect_git.capture.score import score
from reflect_git.capture.sentence import split

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from reflect_git.adapters.redact import Redacted
    from reflect_git.adapters.transcript import Turn
    from reflect_git.capture.facts import Facts
    from reflect_git.capture.score import Verdict

_STEPS = 2
_SENTENCES, _SHORT = 3, 240
_FLEETING = 2  # "no thanks" helps no later session
_CATEGORIES = {"command": "command", "gotcha": "gotcha", "discovery": "project-structure"}


class Scene:
    """What a message answers to: the work since the last one."""

    def __init__(self) -> None:
        self.first = True
        self.forget()

    def forget(self) -> None:
        self.steps = 0
        self.assistant = ""
        self.interrupted = False
        self.failed = False

    def watch(self, turn: Turn) -> None:
        """A transcript may begin in the middle of a session: work that was done before makes a message a later one."""
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
    """Whether a message carries a signal. Praise counts after work of several steps only; a refusal was meant."""

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
        scene.first = False
        scene.forget()
        captured = verdict.is_signal and not is_praise
        return (_facts(turn, verdict, captured),) if captured or self._everything else ()


def _facts(turn: Turn, verdict: Verdict, captured: bool) -> Facts:
    content = _carrying(turn.text, verdict.sentence)
    durable = verdict.durable and len(content.split()) > _FLEETING
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


def _carrying(text: Redacted, best: str) -> Redacted:
    """The sentence that carries it; of a short message all: "no." and what to do instead belong together."""
    sentences = split(text)
    whole = " ".join(sentences)
    is_short = bool(best) and len(sentences) <= _SENTENCES and len(whole) <= _SHORT
    return redact(whole if is_short else best) if best else text
