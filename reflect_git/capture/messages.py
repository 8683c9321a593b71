"""What the user said, worth keeping: each message of a transcript in the light of what stood before it."""

from __future__ import annotations

from reflect_git.capture.score import score

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

    from reflect_git.adapters.transcript import Turn
    from reflect_git.capture.score import Verdict

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
            self.assistant = turn.text
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


def signals_in(turns: Iterable[Turn]) -> Iterator[dict[str, Any]]:
    """The facts of a signal for each message that carries one, in order."""
    scene = Scene()
    for turn in turns:
        if turn.sidechain:
            continue
        if turn.kind != "user":
            scene.watch(turn)
            continue
        verdict = score(turn.text, turn.via, scene.facts())
        if verdict.is_signal:
            yield _facts(turn, verdict)
        scene.first = False
        scene.forget()


def _facts(turn: Turn, verdict: Verdict) -> dict[str, Any]:
    return {
        "type": verdict.type,
        "family": "message",
        "confidence": verdict.confidence,
        "category": _CATEGORIES.get(verdict.type, "convention"),
        "timestamp": turn.timestamp,
        "session_id": turn.session,
        "source": {"hook": "transcript", "turn": turn.index, "entry": turn.entry},
        "content": verdict.sentence or turn.text,
        "context": turn.text,
        "trust": "user_feedback" if turn.via == "feedback" else "user_typed",
        "meta": {"score": round(verdict.score, 4), "durable": verdict.durable, "via": turn.via},
    }
