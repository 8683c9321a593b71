"""What detectors see of a transcript."""

from __future__ import annotations

from reflect_git.adapters.redact import redact, redact_ends
from reflect_git.model import ids

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, Optional

    from reflect_git.adapters.redact import Redacted

    Fields = dict[str, Any]

_INSTRUCTION_FILES = ("CLAUDE.md", "CLAUDE.local.md", "AGENTS.md")
_EDITORS = ("Edit", "Write", "MultiEdit")
_OUTPUT_END = 128 << 10  # the client itself cuts an output at 150,000 characters at the latest


def is_instruction_file(path: str) -> bool:
    name = path.rpartition("/")[2]
    return name in _INSTRUCTION_FILES or ("/.claude/rules/" in f"/{path}" and name.endswith(".md"))


class InstructionFile:
    """An instruction file as the model got it."""

    __slots__ = ("content", "kind", "path")

    def __init__(self, path: str, kind: str, content: str) -> None:
        self.path = path
        self.kind = kind
        self.content = content

    @property
    def digest(self) -> str:
        return ids.digest(self.content)


class Turn:
    """One thing that happened.

    kind `user`: words a person typed, via `prompt`, `queued`, `feedback` (said when refusing a tool) or `command-args`
    (then `tool` is the command, such as `/compact`). `assistant`: a text of the model. `tool`: a call with its result;
    `tool` is empty if the call stands before the place where reading began. `interrupt`. `compaction`, via `manual`,
    `auto` or nothing. `stop`: the client gave the turn up, via `error` or `max-turns`. `instructions`, via `loaded` or
    `changed`: `files` are those in force, or what changed.

    `refused` is `user`, `config` (no person was asked) or nothing; `invalid` is a call the client did not run;
    `details` is what the client keeps of a result, such as the `answers` of AskUserQuestion. `entry` is the uuid of the
    line, `offset` the byte where the line begins, `index` the number of the turn.

    `text` and `output` are redacted as a whole, when first asked for: most turns are only looked at. `raw` and
    `raw_output` are what the transcript has. Recognise with these; take words for a signal from the redacted ones.
    """

    __slots__ = (
        "_output", "_pasted", "_text", "_whole", "agent", "cwd", "details", "entry", "entrypoint", "files", "index",
        "input", "interrupted", "invalid", "is_error", "kind", "model", "offset", "raw", "raw_output", "refused",
        "session", "sidechain", "timestamp", "tool", "tool_use_id", "version", "via",
    )  # fmt: skip

    def __init__(self, kind: str, text: str, origin: Origin, via: str = "") -> None:
        self.kind = kind
        self.via = via
        self.raw = self._whole = text
        self._pasted: Sequence[str] = ()
        self._text: Optional[Redacted] = None
        self._output: Optional[Redacted] = None
        self.index = 0
        self.entry: str = origin.entry
        self.timestamp: str = origin.timestamp
        self.offset: int = origin.offset
        self.session: str = origin.session
        self.cwd: str = origin.cwd
        self.version: str = origin.version
        self.entrypoint: str = origin.entrypoint
        self.sidechain: bool = origin.sidechain
        self.agent: str = origin.agent
        self.model = ""
        self.tool = ""
        self.tool_use_id = ""
        self.input: Fields = {}
        self.raw_output = ""
        self.details: Fields = {}
        self.is_error = self.interrupted = self.invalid = False
        self.refused = ""
        self.files: list[InstructionFile] = []

    @property
    def text(self) -> Redacted:
        """The words without secrets, and without what was pasted."""
        if self._text is None:
            self._text = redact(self._whole, left_out=self._pasted)
        return self._text

    @property
    def output(self) -> Redacted:
        """What a call gave, without secrets; of a very long one, both ends."""
        if self._output is None:
            self._output = redact_ends(self.raw_output, _OUTPUT_END)
        return self._output

    def paste(self, whole: str, pasted: Sequence[str]) -> None:
        """Note the prompt as it was sent: a secret may begin in what was pasted and end in what was typed."""
        self._whole, self._pasted = whole, pasted

    @property
    def attended(self) -> bool:
        """A person sat there; clients that did not say where they were started from had a terminal."""
        return not self.entrypoint.startswith("sdk")

    @property
    def edited_instructions(self) -> str:
        """The instruction file that this call changed."""
        path = text_of(self.input.get("file_path"))
        done = self.kind == "tool" and self.tool in _EDITORS and not self.is_error
        return path if done and is_instruction_file(path) else ""

    def __repr__(self) -> str:
        return f"<Turn {self.index} {self.kind} {self.via or self.tool} at {self.offset}: {self.raw[:60]!r}>"


class Origin:
    """Where a turn comes from: what the entries of a session have in common, remembered for those that lack it."""

    __slots__ = (
        "_place", "agent", "cwd", "entry", "entrypoint", "in_agent_file", "offset", "session", "sidechain", "timestamp",
        "version",
    )  # fmt: skip

    def __init__(self, in_agent_file: bool) -> None:
        self.entry = self.timestamp = self.session = self.cwd = self.version = self.entrypoint = self.agent = ""
        self.in_agent_file = self.sidechain = in_agent_file
        self._place: tuple[Any, ...] = ()
        self.offset = 0

    def move(self, entry: Fields, offset: int) -> None:
        get = entry.get
        self.offset = offset
        self.entry = text_of(get("uuid"))
        self.timestamp = text_of(get("timestamp"))
        self.agent = text_of(get("agentId"))
        self.sidechain = self.in_agent_file or bool(get("isSidechain"))
        place = (get("sessionId"), get("cwd"), get("version"), get("entrypoint"))
        if place != self._place:
            self._place = place
            self._settle(*map(text_of, place))

    def _settle(self, session: str, cwd: str, version: str, entrypoint: str) -> None:
        self.session = session or self.session
        self.cwd = cwd or self.cwd
        self.version = version or self.version
        self.entrypoint = entrypoint or self.entrypoint


def text_of(value: Any) -> str:
    return value if type(value) is str else ""


def fields_of(value: Any) -> Fields:
    return value if type(value) is dict else {}
