"""The client gave a turn up: an error of the API, or as many turns as it was allowed."""

from __future__ import annotations

from reflect_git.capture.detectors.moment import clip, facts_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from reflect_git.adapters.transcript import Turn

FAMILY = "stop"


class Stop:
    def wants(self, kind: str, tool: str, is_error: bool) -> bool:
        return kind == "stop"

    def see(self, turn: Turn) -> Sequence[dict[str, Any]]:
        content = f"loop stopped: {clip(turn.text or turn.output)}"
        return (facts_of(turn, FAMILY, "failure", 1, content, context=turn.output, durable=False),)
