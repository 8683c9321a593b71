"""Find the rules that a tool call breaks: by the matcher of their guard, or the one stored with the rule."""

from __future__ import annotations

from reflect_git import paths

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import Any, Optional

    from reflect_git.capture.transcript import Turn
    from reflect_git.records.schema import Learning

    MayMatch = Callable[[str, Mapping[str, Any]], bool]
    Form = tuple[str, Mapping[str, Any], MayMatch]


class RuleHits:
    """Finds broken rules. `guarded`: rule → matcher of its guard here, which replaces the one stored with the rule."""

    def __init__(self, learnings: Iterable[Learning], guarded: Mapping[str, Mapping[str, Any]]) -> None:
        self._matchers: list[Form] = []
        self._patterns: list[tuple[str, str, str, Any]] = []
        self._tops: dict[str, str] = {}
        for learning in learnings:
            matcher = guarded.get(learning["id"]) or learning["matcher"] or {}
            if "requires" in matcher:  # about the end of a turn, not about a call
                continue
            if "any" in matcher:
                from reflect_git.guards.form import build_prefilter

                self._matchers.append((learning["id"], matcher, build_prefilter(matcher)))
            else:
                self._patterns += filter(None, [_compile_pattern(learning)])

    def __bool__(self) -> bool:
        """Return whether any rule has a matcher."""
        return bool(self._matchers or self._patterns)

    def find(self, turn: Turn) -> list[str]:
        """Return the ids of the rules that a call breaks."""
        found = []
        for record_id, tool, field, is_hit in self._patterns:
            given = turn.input.get(field)
            if turn.tool == tool and isinstance(given, str) and is_hit(given):
                found.append(record_id)
        likely = [form for form in self._matchers if form[2](turn.tool, turn.input)]
        if likely:
            from reflect_git.guards.match import Call, find_match

            call = Call(turn.tool, turn.input, turn.cwd, self._get_top(turn.cwd))
            for record_id, matcher, _ in likely:
                try:
                    if find_match(matcher, call):
                        found.append(record_id)
                except Exception:  # a damaged or hostile matcher matches nothing, and does not stop the others
                    continue
        return found

    def _get_top(self, folder: str) -> str:
        if folder not in self._tops:
            self._tops[folder] = (paths.find_top(folder) or folder) if folder else ""
        return self._tops[folder]


def _compile_pattern(learning: Learning) -> Optional[tuple[str, str, str, Any]]:
    """Return the pattern of a rule that an older program approved."""
    given = learning["matcher"]
    if not given:
        return None
    import re  # only needed with such a learning

    try:
        pattern = re.compile(str(given.get("pattern", "")))
    except re.error:
        return None
    return learning["id"], str(given.get("tool", "")), str(given.get("field", "")), pattern.search
