"""A message cut into sentences, without what its author only pasted: code, logs, quotes, text of the client."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

READ_HEAD, READ_TAIL = 3000, 1000
SENTENCE_LIMIT = 400
_WEIGHED = 10
_ENDS = ".?!…"
_WIDE_ENDS = "。！？"
_CLOSERS = "\"'”’»)]"
_FENCES = ("```", "~~~")
_LOG_STARTS = (
    "at ", "traceback", "file \"", "error:", "err:", "warning:", "warn:", "info:", "debug:", "npm err", "fatal:",
    "exception", "caused by", "e   ", "+++ ", "--- ", "@@ ", "diff --git", "$ ", "% ", "⎿", "⏺", "❯ ", "│", "├",
    "└", "┌", "╭", "╰", "✓ ", "✗ ", "⨯", "•",
)  # fmt: skip
_CLIENT_STARTS = (
    "implement the following plan", "this session is being continued", "[request interrupted", "<command-name>",
    "<local-command", "caveat: the messages below", "the user wants to clarify these questions", "<system-reminder>",
    "<task-notification>", "base directory for this skill", "stop hook feedback",
)  # fmt: skip
# A dot after one of these ends no sentence.
_SHORTENED = frozenset("e.g i.e etc vs cf approx no nr z.b d.h bzw ca p.ej т.е т.д".split())


def is_client_text(text: str) -> bool:
    """Written by the client in the user's name: plan hand-offs, summaries, reminders."""
    return text.lstrip()[:80].lower().startswith(_CLIENT_STARTS)


def own_lines(text: str) -> list[str]:
    """The lines that the author wrote."""
    lines: list[str] = []
    fenced = False
    for line in _brief(text).splitlines():
        bare = line.strip()
        if bare.startswith(_FENCES):
            fenced = not fenced and not (len(bare) > 6 and bare.endswith(_FENCES))
        elif bare and not fenced and not _is_pasted(line, bare):
            lines.append(bare)
    return lines


def _brief(text: str) -> str:
    """People say what they mean before or after what they paste."""
    return text if len(text) <= READ_HEAD + READ_TAIL else f"{text[:READ_HEAD]}\n{text[-READ_TAIL:]}"


def _is_pasted(line: str, bare: str) -> bool:
    if bare[0] in ">|" or bare.lower().startswith(_LOG_STARTS):
        return True
    if line.startswith(("    ", "\t")) and bare[0] not in "-*•0123456789":
        return True
    return _is_stamped(bare) or _is_code(bare)


def _is_stamped(bare: str) -> bool:
    """A log line: it begins with a time or a date."""
    head = bare[:12].lstrip("[(")
    timed = head[:2].isdigit() and head[2:3] == ":" and head[3:5].isdigit()
    return timed or (head[:4].isdigit() and head[4:5] == "-" and head[5:7].isdigit())


def _is_code(bare: str) -> bool:
    """More signs than a sentence has, or the end of a statement."""
    if len(bare) < 4:
        return False
    if bare[-1] in "{};" and ("(" in bare or "=" in bare or len(bare) < 40):
        return True
    plain = sum(map(str.isalpha, bare)) + bare.count(" ")
    return len(bare) > 24 and plain < 0.62 * len(bare) and "`" not in bare


def split(text: str) -> list[str]:
    """The sentences of the author, in order; a line is never joined with the next one."""
    return split_lines(own_lines(text))


def split_lines(lines: list[str]) -> list[str]:
    found: list[str] = []
    for line in lines:
        _split_line(line, found)
    return found


def _split_line(line: str, found: list[str]) -> None:
    start = at = 0
    ticked = False
    while at < len(line):
        sign = line[at]
        if sign == "`":
            ticked = not ticked
        elif not ticked and (sign in _WIDE_ENDS or (sign in _ENDS and _ends_here(line, start, at))):
            while at + 1 < len(line) and line[at + 1] in _ENDS + _WIDE_ENDS + _CLOSERS:
                at += 1
            _add(line[start : at + 1], found)
            start = at + 1
        at += 1
    _add(line[start:], found)


def _ends_here(line: str, start: int, at: int) -> bool:
    after = line[at + 1 : at + 2]
    if after and not after.isspace() and after not in _ENDS + _WIDE_ENDS + _CLOSERS:
        return False
    if line[at] != ".":
        return True
    word = line[start:at].rsplit(None, 1)[-1:]
    return not word or not (word[0].lower().lstrip("(") in _SHORTENED or (word[0].isdigit() and at - start <= 3))


def _add(piece: str, found: list[str]) -> None:
    piece = piece.strip().lstrip("-*• ").strip()
    if any(map(str.isalnum, piece)):
        found.append(piece)


def carrying(sentences: list[str], weigh: Callable[[str], float]) -> str:
    """The sentence that weighs most, the earlier of two equals, cut to a length one can read."""
    if not sentences:
        return ""
    weighed = sentences if len(sentences) <= _WEIGHED else sentences[: _WEIGHED - 4] + sentences[-4:]
    best = weighed[0] if len(weighed) == 1 else max(weighed, key=weigh)
    return best if len(best) <= SENTENCE_LIMIT else best[: SENTENCE_LIMIT - 1].rstrip() + "…"
