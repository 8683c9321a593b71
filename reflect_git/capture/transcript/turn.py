"""The data that detectors see: turns of a conversation, their origin, and the instruction files that were loaded."""

from __future__ import annotations

from reflect_git.records import ids
from reflect_git.redact import redact, redact_ends

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, Optional

    from reflect_git.redact import Redacted

    Fields = dict[str, Any]


_INSTRUCTION_FILES = ("CLAUDE.md", "CLAUDE.local.md", "AGENTS.md")
_EDIT_TOOLS = ("Edit", "Write", "MultiEdit")
_OUTPUT_LIMIT = 128 << 10  # Claude Code truncates outputs at 150,000 characters at most


def is_instruction_file(path: str) -> bool:
    """Return whether a path is a CLAUDE.md, an AGENTS.md or a rules file."""
    name = path.rpartition("/")[2]
    return name in _INSTRUCTION_FILES or ("/.claude/rules/" in f"/{path}" and name.endswith(".md"))


class InstructionFile:
    """An instruction file as the model received it."""

    __slots__ = ("content", "kind", "path")

    def __init__(self, path: str, kind: str, content: str) -> None:
        self.path = path
        self.kind = kind
        self.content = content

    @property
    def digest(self) -> str:
        """Return the hash of the content."""
        return ids.digest(self.content)


class Turn:
    """One event in a conversation.

    Kinds, with the values of `via`:
    user          typed words: `prompt`, `queued`, `feedback` (when refusing a tool) or `command-args`, where `tool` is
                  the command, such as `/compact`
    assistant     a text of the model
    answer        an entry of the model, if asked for: `tool` is the id of the whole answer, `details` its tokens, `via`
                  the skill that it is from
    tool          a call with its result; `tool` is empty if the call is before the start of reading
    interrupt     the user stopped the model
    compaction    `manual`, `auto` or empty
    stop          Claude Code gave up the turn: `error` or `max-turns`
    instructions  `loaded` or `changed`; `files` are those in force, or those changed

    `refused` is `user`, `config` (no person was asked) or empty. `invalid` marks a call that was not run. `details` is
    the stored result, such as the `answers` of AskUserQuestion. `entry` is the uuid of the line, `offset` its byte
    offset, `index` the number of the turn.

    `text` and `output` are redacted as a whole on first use, because most turns are only looked at. `raw` and
    `raw_output` are as in the transcript. Use these to recognise things, and take the words of a signal from the
    redacted ones.
    """

    __slots__ = (
        "_output", "_pasted", "_text", "_whole", "agent", "cwd", "details", "entry", "entrypoint", "files", "index",
        "input", "interrupted", "invalid", "is_error", "kind", "model", "offset", "raw", "raw_output", "refused",
        "session", "sidechain", "timestamp", "tool", "tool_use_id", "transcript", "version", "via",
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
        self.transcript: str = origin.transcript
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
        """Return the words without secrets and without pasted text."""
        if self._text is None:
            self._text = redact(self._whole, left_out=self._pasted)
        return self._text

    @property
    def output(self) -> Redacted:
        """Return the result of a call without secrets; both ends of a very long one."""
        if self._output is None:
            self._output = redact_ends(self.raw_output, _OUTPUT_LIMIT)
        return self._output

    @property
    def whole(self) -> str:
        """Return the whole prompt as sent, with pasted text and with secrets."""
        return self._whole

    def set_pasted(self, whole: str, pasted: Sequence[str]) -> None:
        """Store the whole prompt as sent: a secret may begin in pasted text and end in typed text."""
        self._whole, self._pasted = whole, pasted

    @property
    def is_attended(self) -> bool:
        """Return whether a person was present; old clients that do not name their entry point had a terminal."""
        return not self.entrypoint.startswith("sdk")

    @property
    def edited_instructions(self) -> str:
        """Return the instruction file that this call changed; empty if none."""
        path = as_text(self.input.get("file_path"))
        done = self.kind == "tool" and self.tool in _EDIT_TOOLS and not self.is_error
        return path if done and is_instruction_file(path) else ""

    def __repr__(self) -> str:
        return f"<Turn {self.index} {self.kind} {self.via or self.tool} at {self.offset}: {self.raw[:60]!r}>"


class Origin:
    """The origin of a turn: fields that entries of a session share, remembered for entries that lack them."""

    __slots__ = (
        "_session_fields",
        "agent",
        "cwd",
        "entry",
        "entrypoint",
        "in_agent_file",
        "offset",
        "session",
        "sidechain",
        "timestamp",
        "transcript",
        "version",
    )

    def __init__(self, in_agent_file: bool, transcript: str = "") -> None:
        self.transcript = transcript
        self.entry = self.timestamp = self.session = self.cwd = self.version = self.entrypoint = self.agent = ""
        self.in_agent_file = self.sidechain = in_agent_file
        self._session_fields: tuple[Any, ...] = ()
        self.offset = 0

    def update(self, entry: Fields, offset: int) -> None:
        """Move to an entry."""
        get = entry.get
        self.offset = offset
        self.entry = as_text(get("uuid"))
        self.timestamp = as_text(get("timestamp"))
        self.agent = as_text(get("agentId"))
        self.sidechain = self.in_agent_file or bool(get("isSidechain"))
        place = (get("sessionId"), get("cwd"), get("version"), get("entrypoint"))
        if place != self._session_fields:
            self._session_fields = place
            self._update_session(*map(as_text, place))

    def _update_session(self, session: str, cwd: str, version: str, entrypoint: str) -> None:
        self.session = session or self.session
        self.cwd = cwd or self.cwd
        self.version = version or self.version
        self.entrypoint = entrypoint or self.entrypoint


def as_text(value: Any) -> str:
    """Return a value if it is a text, otherwise an empty one."""
    return value if type(value) is str else ""


def as_dict(value: Any) -> Fields:
    """Return a value if it is an object, otherwise an empty one."""
    return value if type(value) is dict else {}


INTERRUPTION_PREFIX = "[Request interrupted by user"
OWN_TAG = "reflect-git"  # text that we add to a session is between <reflect-git> and </reflect-git>

# Added to a prompt by Claude Code, an editor, a hook or us.
_ADDED_TAGS = (
    "system-reminder",
    OWN_TAG,
    "user-prompt-submit-hook",
    "ide_opened_file",
    "ide_selection",
    "ide_diagnostics",
)
# A text that begins with one of these was not typed as a prompt.
_WRAPPER_TAGS = frozenset((
    "command-name", "command-message", "command-args", "command-contents", "local-command-caveat",
    "local-command-stdout", "local-command-stderr", "bash-input", "bash-stdout", "bash-stderr", "task-notification",
    "agent-notification", "teammate-message", "cross-session-message", "user-memory-input", "session-start-hook",
    "post-tool-use-hook", "local-command-output",
))  # fmt: skip
_WRAPPER_OPENINGS = (
    "<channel source=",
    "Base directory for this skill:",
    "Caveat: The messages below were generated by the user while running local commands",
    "Implement the following plan:",
    "This session is being continued from a previous conversation",
)
_NOT_TYPED_FIELDS = (
    "isMeta",
    "isCompactSummary",
    "isVisibleInTranscriptOnly",
    "isSidechain",
    "isSynthetic",
    "planContent",
)
_TYPED_SOURCES = (None, "typed", "sdk")


def is_from_person(entry: Fields) -> bool:
    """Return whether the fields of an entry allow that a person typed it; older clients lack some fields."""
    for name in _NOT_TYPED_FIELDS:
        if entry.get(name):
            return False
    origin = as_dict(entry.get("origin")).get("kind")
    source = entry.get("promptSource")
    if origin == "human":
        return source != "system"
    return origin is None and source in _TYPED_SOURCES


def get_texts(content: Any) -> list[str]:
    """Return the texts of a message, one per block."""
    if type(content) is str:
        return [content]
    if type(content) is not list:
        return []
    return [as_text(block.get("text")) for block in content if type(block) is dict and block.get("type") == "text"]


def get_typed_text(text: str) -> str:
    """Return a text without what was added to it; empty if nobody typed it."""
    if "<" in text:
        for tag in _ADDED_TAGS:
            text = remove_tag(text, tag)
    text = text.strip()
    return "" if is_wrapped(text) else text


def is_wrapped(text: str) -> bool:
    """Return whether a text was not typed as a prompt, judging by how it begins."""
    if text.startswith("<") and _get_tag(text) in _WRAPPER_TAGS:
        return True
    return text.startswith(_WRAPPER_OPENINGS) or text.startswith(INTERRUPTION_PREFIX)


def _get_tag(text: str) -> str:
    return text[1:40].partition(">")[0].partition(" ")[0]


def remove_tag(text: str, tag: str) -> str:
    """Remove everything between <tag> and </tag>, or to the end of the text if </tag> is missing."""
    kept, at, closing = [], 0, f"</{tag}>"
    while at < len(text):
        begin = _find_tag(text, tag, at)
        kept.append(text[at:begin])
        end = text.find(closing, begin)
        at = end + len(closing) if end >= 0 else len(text)
    return "".join(kept)


def _find_tag(text: str, tag: str, at: int) -> int:
    opening = f"<{tag}"
    begin = text.find(opening, at)
    while begin >= 0 and text[begin + len(opening) : begin + len(opening) + 1] not in (">", " "):
        begin = text.find(opening, begin + 1)
    return begin if begin >= 0 else len(text)


def parse_slash_command(text: str) -> tuple[str, str]:
    """Return the name and the typed arguments of a slash command; two empty texts if it is not one."""
    if not text.lstrip().startswith("<command-"):
        return "", ""
    return get_tag_text(text, "command-name"), get_tag_text(text, "command-args")


def get_tag_text(text: str, tag: str) -> str:
    """Return the text between <tag> and </tag>; empty if they are missing."""
    begin = text.find(f"<{tag}>")
    end = text.rfind(f"</{tag}>")
    return text[begin + len(tag) + 2 : end].strip() if 0 <= begin < end else ""
