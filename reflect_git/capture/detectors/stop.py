"""The client gave a turn up: an error of the API, or as many turns as it was allowed."""

from __future__ import annotations

from reflect_git.adapters.redact import fill, flatten
from reflect_git.capture.detectors.moment import facts_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from reflect_git.adapters.transcript import Turn
    from reflect_git.capture.facts import Facts

FAMILY = "stop"
_LIMIT = 160


class Stop:
    def wants(self, kind: str, tool: str, is_error: bool) -> bool:
        return kind == "stop"

    def see(self, turn: Turn) -> Sequence[Facts]:
        content = fill("loop stopped: {}", flatten(turn.text or turn.output, _LIMIT))
        return (facts_of(turn, FAMILY, "failure", 1, content, context=turn.output, meta={"durable": False}),)
