"""One session's figures: how long, how often it went wrong, which rules it had read. Numbers and names, no text."""

from __future__ import annotations

from reflect_git.adapters.redact import clip, redact
from reflect_git.capture.draft import is_utc
from reflect_git.model.schema import VERSION

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    from reflect_git.adapters.redact import Redacted
    from reflect_git.adapters.transcript import Turn
    from reflect_git.model.schema import Exposure, Learning, Project

_TOOLS = 40
_NAME = 80


class Figures:
    """Counts turn by turn; `kept` is what a later pass over the rest of the session goes on with."""

    def __init__(self, kept: Mapping[str, Any], learnings: Iterable[Learning] = ()) -> None:
        self.turns = _count(kept, "turns")
        self.typed = _count(kept, "typed")
        self.corrections = _count(kept, "corrections")
        self.interruptions = _count(kept, "interruptions")
        self.start, self.end = str(kept.get("start", "")), str(kept.get("end", ""))
        self.model, self.client = str(kept.get("model", "")), str(kept.get("client", ""))
        self.attended = kept.get("attended", True) is True
        self.failures: dict[str, int] = dict(kept.get("failures", {}))
        self.rules: dict[str, list[str]] = dict(kept.get("rules", {}))
        self.hits: dict[str, int] = dict(kept.get("hits", {}))
        self._texts = [(learning, flat(learning["text"])) for learning in learnings]
        self._names: dict[str, Redacted] = {}
        self._matchers = list(filter(None, map(_matcher, learnings)))

    def kept(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if not name.startswith("_")}

    def see(self, turn: Turn) -> None:
        if is_utc(f"{turn.timestamp[:19]}Z"):
            self.start = self.start or _seconds(turn.timestamp)
            self.end = _seconds(turn.timestamp)
        self.client = self._name(turn.version) or self.client
        self.attended = turn.attended
        if turn.kind == "tool":
            self._tool(turn)
        elif turn.kind == "instructions":
            self._loaded(turn)
        elif not turn.sidechain:
            self._said(turn)

    def _name(self, given: str) -> Redacted:
        """Return a name as it may be stored. A session has few of them, and every turn names two."""
        found = self._names.get(given)
        if found is None:
            found = self._names[given] = clip(redact(given), _NAME)
        return found

    def _said(self, turn: Turn) -> None:
        self.turns += turn.kind in ("user", "assistant")
        self.typed += turn.kind == "user"
        self.interruptions += turn.kind == "interrupt"
        self.model = self._name(turn.model) or self.model

    def _tool(self, turn: Turn) -> None:
        if turn.is_error and not turn.refused and not turn.interrupted:
            name = _tool_name(turn.tool)
            if name in self.failures or len(self.failures) < _TOOLS:
                self.failures[name] = self.failures.get(name, 0) + 1
        for identity, tool, field, is_hit in self._matchers:
            given = turn.input.get(field)
            if turn.tool == tool and isinstance(given, str) and is_hit(given):
                self.hits[identity] = self.hits.get(identity, 0) + 1

    def _loaded(self, turn: Turn) -> None:
        """The client takes comments out before it tells what it loaded: a rule is known by its text, not by its id."""
        for file in turn.files:
            content = flat(file.content) if self._texts else ""
            for learning, text in self._texts:
                if text in content:
                    listed = self.rules.setdefault(learning["target"]["path"], [])
                    if learning["id"] not in listed:
                        listed.append(learning["id"])

    def record(self, identity: str, session: str, project: Project | None) -> Exposure:
        start = _seconds(self.start) or _seconds(self.end)
        return {
            "id": identity, "version": VERSION, "session": session, "project": project, "start": start,
            "end": _seconds(self.end) or start, "turns": self.turns, "typed": self.typed,
            "corrections": self.corrections, "failures": self.failures, "interruptions": self.interruptions,
            "model": self.model or None, "client": self.client or None, "attended": self.attended,
            "rules": self.rules, "hits": self.hits,
        }  # fmt: skip


def _tool_name(tool: str) -> str:
    """A call can bear any name, real or not: figures go to main, and say nothing but the name of a known tool."""
    if tool.startswith("mcp__"):
        return "mcp"
    is_name = tool.isascii() and tool.isalpha() and tool[:1].isupper() and len(tool) <= 32
    return tool if is_name and redact(tool) == tool else "other"


def flat(text: str) -> str:
    """For comparing: wrapping and emphasis are a formatter's, not the rule's."""
    return " ".join(text.replace("`", "").replace("*", "").split()).casefold()


def _count(kept: Mapping[str, Any], name: str) -> int:
    value = kept.get(name)
    return value if type(value) is int and value >= 0 else 0


def _seconds(timestamp: str) -> str:
    return f"{timestamp[:19]}Z" if len(timestamp) >= 20 else ""


def _matcher(learning: Learning) -> tuple[str, str, str, Any] | None:
    given = learning["matcher"]
    if not given:
        return None
    import re  # only for those who have such a learning

    try:
        pattern = re.compile(str(given.get("pattern", "")))
    except re.error:
        return None
    return learning["id"], str(given.get("tool", "")), str(given.get("field", "")), pattern.search
