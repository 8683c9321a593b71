"""Count a session for its exposure record: messages, failures, rules and versions it had, guards, tokens and skills."""

from __future__ import annotations

from reflect_git.capture.new_signal import is_utc_time
from reflect_git.records.ids import digest
from reflect_git.records.schema import EXPOSURE_VERSION, LOADED, NOT_LOADED, TOKENS
from reflect_git.redact import clip, redact
from reflect_git.store.local import firings
from reflect_git.store.target_versions import normalize_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import Any, Optional

    from reflect_git.capture.transcript import Turn
    from reflect_git.records.schema import Exposure, Learning, Project
    from reflect_git.redact import Redacted
    from reflect_git.store.target_versions import LoadedTarget

    # Returns the target in a loaded file: path, content, time.
    FindLoaded = Callable[[str, str, str], Optional[LoadedTarget]]
    FindHits = Callable[[Turn], Iterable[str]]

_MAX_TOOLS = 40
_MAX_SKILLS = 40
_MAX_GUARDS = 300
_NAME_LIMIT = 80
_MAX_MESSAGES = 32  # ids of answers that are remembered; the entries of one answer are close to each other
_TOKEN_FIELDS = {
    "input": "input_tokens", "output": "output_tokens", "cache_read": "cache_read_input_tokens",
    "cache_write": "cache_creation_input_tokens",
}  # fmt: skip
_KEPT_FOR_NEXT = ("rules", "versions", "loaded")


class SessionStats:
    """Counts a session turn by turn; `to_dict` returns the state with which a later pass continues.

    `find_loaded` recognises the version of a loaded file. `find_hits` returns the rules that a call breaks. `skills`
    are the names that may be stored. `fired` are the calls that guards matched.
    """

    def __init__(
        self, kept: Mapping[str, Any], learnings: Iterable[Learning] = (), *,
        find_loaded: Optional[FindLoaded] = None, find_hits: Optional[FindHits] = None,
        skills: Iterable[str] = (), fired: Iterable[str] = (),
    ) -> None:  # fmt: skip
        self.turns = _get_count(kept, "turns")
        self.typed = _get_count(kept, "typed")
        self.corrections = _get_count(kept, "corrections")
        self.interruptions = _get_count(kept, "interruptions")
        self.start, self.end = str(kept.get("start", "")), str(kept.get("end", ""))
        self.model, self.client = str(kept.get("model", "")), str(kept.get("client", ""))
        self.attended = kept.get("attended", True) is True
        self.failures: dict[str, int] = dict(kept.get("failures", {}))
        self.rules: dict[str, list[str]] = dict(kept.get("rules", {}))
        self.hits: dict[str, int] = dict(kept.get("hits", {}))
        self.versions: dict[str, int] = dict(kept.get("versions", {}))
        self.loaded = str(kept.get("loaded", NOT_LOADED))
        self.tokens: dict[str, int] = {name: _get_count(kept.get("tokens", {}), name) for name in TOKENS}
        self.skills: dict[str, int] = dict(kept.get("skills", {}))
        self.messages: list[str] = list(kept.get("messages", []))
        self.used: list[str] = list(kept.get("used", []))  # skills that were counted in the present turn
        self.calls: dict[str, str] = dict(kept.get("calls", {}))
        self._texts = [(learning, normalize_text(learning["text"])) for learning in learnings]
        self._names: dict[str, Redacted] = {}
        self._find_loaded, self._find_hits = find_loaded, find_hits
        self._known_skills, self._fired = frozenset(skills), frozenset(fired)

    def to_dict(self) -> dict[str, Any]:
        """Return the counts for the cursor."""
        return {name: value for name, value in vars(self).items() if not name.startswith("_")}

    def get_loaded(self) -> dict[str, Any]:
        """Return what the session loaded: the next part has it too if it is resumed without loading anything."""
        return {name: getattr(self, name) for name in _KEPT_FOR_NEXT} if self.loaded == LOADED else {}

    def inherit_loaded(self, former: Mapping[str, Any]) -> None:
        """Take over what an earlier part of the session loaded, if this part loaded nothing."""
        if self.loaded == NOT_LOADED and former.get("loaded") == LOADED:
            self.rules, self.versions, self.loaded = dict(former["rules"]), dict(former["versions"]), LOADED

    def add_turn(self, turn: Turn) -> None:
        """Count one turn."""
        if is_utc_time(f"{turn.timestamp[:19]}Z"):
            self.start = self.start or _truncate_timestamp(turn.timestamp)
            self.end = _truncate_timestamp(turn.timestamp)
        self.client = self._redact_name(turn.version) or self.client
        self.attended = turn.is_attended
        if turn.kind == "tool":
            self._count_tool_call(turn)
        elif turn.kind == "answer":
            self._count_answer(turn)
        elif turn.kind == "instructions":
            self._record_loaded_rules(turn)
        elif not turn.sidechain:
            self._count_message(turn)

    def _redact_name(self, given: str) -> Redacted:
        """Return a name that may be stored; cached, because every turn has two of the few names of a session."""
        found = self._names.get(given)
        if found is None:
            found = self._names[given] = clip(redact(given), _NAME_LIMIT)
        return found

    def _count_message(self, turn: Turn) -> None:
        self.turns += turn.kind in ("user", "assistant")
        self.typed += turn.kind == "user"
        self.interruptions += turn.kind == "interrupt"
        self.model = self._redact_name(turn.model) or self.model
        if turn.kind == "user" and turn.via != "feedback":
            self.used = []

    def _count_answer(self, turn: Turn) -> None:
        """Count the tokens of one answer of the model, whose entries all repeat them, and the skill that it is from."""
        if turn.tool not in self.messages:
            self.messages = [*self.messages, turn.tool][-_MAX_MESSAGES:] if turn.tool else self.messages
            for name, field in _TOKEN_FIELDS.items():
                self.tokens[name] += _get_count(turn.details, field)
        self._count_skill(turn.via)

    def _count_skill(self, name: str) -> None:
        """Count a skill once for each message of the person."""
        if not name or name in self.used:
            return
        self.used = [*self.used, name][-_MAX_SKILLS:]
        stored = name if name in self._known_skills and redact(name) == name else hash_skill(name)
        if stored in self.skills or len(self.skills) < _MAX_SKILLS:
            self.skills[stored] = self.skills.get(stored, 0) + 1

    def _count_tool_call(self, turn: Turn) -> None:
        if turn.is_error and not turn.refused and not turn.interrupted:
            name = _get_tool_name(turn.tool)
            if name in self.failures or len(self.failures) < _MAX_TOOLS:
                self.failures[name] = self.failures.get(name, 0) + 1
        if turn.tool == "Skill":
            self._count_skill(str(turn.input.get("skill") or ""))
        is_stopped = False
        if turn.tool_use_id in self._fired:
            self.calls[turn.tool_use_id] = firings.REFUSED if turn.refused else firings.RAN
            is_stopped = bool(turn.refused)
        if self._find_hits and turn.tool and not is_stopped:
            for record_id in self._find_hits(turn):
                self.hits[record_id] = self.hits.get(record_id, 0) + 1

    def _record_loaded_rules(self, turn: Turn) -> None:
        """Record the rules in loaded files, and the version of each file as the session first loaded it.

        Claude Code removes comments before it reports what it loaded, so rules are found by text, not by id.
        """
        for file in turn.files:
            content = normalize_text(file.content) if self._texts else ""
            for learning, text in self._texts:
                if text in content:
                    self._add_rule(learning["target"]["path"], learning["id"])
            if turn.via == "changed" and not file.kind:  # only the lines around an edit
                continue
            self.loaded = LOADED
            found = self._find_loaded(file.path, file.content, turn.timestamp) if self._find_loaded else None
            if found:
                self.versions.setdefault(found.name, found.number)
                for record_id in found.rules:
                    self._add_rule(found.path, record_id)

    def _add_rule(self, path: str, record_id: str) -> None:
        listed = self.rules.setdefault(path, [])
        if record_id not in listed:
            listed.append(record_id)

    def build_exposure(
        self, record_id: str, session: str, project: Project | None, fired: Sequence[Mapping[str, Any]] = ()
    ) -> Exposure:
        """Return the exposure record of the session. `fired`: the log of its guards, as far as it is new."""
        start = _truncate_timestamp(self.start) or _truncate_timestamp(self.end)
        guards = firings.count_outcomes(fired, self.calls)
        return {
            "id": record_id, "version": EXPOSURE_VERSION, "session": session, "project": project, "start": start,
            "end": _truncate_timestamp(self.end) or start, "turns": self.turns, "typed": self.typed,
            "corrections": self.corrections, "failures": self.failures, "interruptions": self.interruptions,
            "model": self.model or None, "client": self.client or None, "attended": self.attended,
            "rules": self.rules, "hits": self.hits, "versions": self.versions,
            "guards": dict(list(guards.items())[:_MAX_GUARDS]), "tokens": self.tokens, "skills": self.skills,
            "loaded": self.loaded,
        }  # fmt: skip


def hash_skill(name: str) -> str:
    """Return the name under which a skill is stored that reflect-git did not deploy."""
    return f"sha256:{digest('skill', name)[:32]}"


def _get_tool_name(tool: str) -> str:
    """Return the name of a known tool, otherwise "mcp" or "other".

    A call can have any name, and figures are stored on main.
    """
    if tool.startswith("mcp__"):
        return "mcp"
    is_name = tool.isascii() and tool.isalpha() and tool[:1].isupper() and len(tool) <= 32
    return tool if is_name and redact(tool) == tool else "other"


def _get_count(kept: Mapping[str, Any], name: str) -> int:
    value = kept.get(name)
    return value if type(value) is int and value >= 0 else 0


def _truncate_timestamp(timestamp: str) -> str:
    return f"{timestamp[:19]}Z" if len(timestamp) >= 20 else ""
