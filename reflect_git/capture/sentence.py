"""A message cut into sentences, without what its author only pasted: code, logs, quotes, text of the client."""

from __future__ import annotations

READ_HEAD, READ_TAIL = 1000, 600
SENTENCE_LIMIT = 400
_INDENT = 2000
SENTENCES = 10
_ENDS = ".?!…"
_WIDE_ENDS = "。！？"
_CLOSERS = "\"'”’»)]"
_TRAILING = _ENDS + _WIDE_ENDS + _CLOSERS
_ASCII_MARKS = "`.?!"
_MARKS = _ASCII_MARKS + "…" + _WIDE_ENDS
_WORDY = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ "
_FENCES = ("```", "~~~")
_LOG_STARTS = (
    "at ", "traceback", "file \"", "error:", "err:", "warning:", "warn:", "info:", "debug:", "npm err", "fatal:",
    "exception", "caused by", "e   ", "+++ ", "--- ", "@@ ", "diff --git", "$ ", "% ", "⎿", "⏺", "❯ ", "│", "├",
    "└", "┌", "╭", "╰", "✓ ", "✗ ", "⨯", "•",
)  # fmt: skip
# In capitals: "failed again" is what a person says.
_REPORT_STARTS = ("FAILED ", "PASSED ", "ERROR ", "WARN ", "INFO ", "DEBUG ", "FATAL ", "=====", "-----", "E  ")
_CLIENT_STARTS = (
    "implement the following plan", "this session is being continued", "[request interrupted", "<command-name>",
    "<local-command", "caveat: the messages below", "the user wants to clarify these questions", "<system-reminder>",
    "<task-notification>", "base directory for this skill", "stop hook feedback",
)  # fmt: skip
# A dot after one of these ends no sentence.
_SHORTENED = frozenset("e.g i.e etc vs cf approx no nr z.b d.h bzw ca p.ej т.е т.д".split())


def is_client_text(text: str) -> bool:
    """Written by the client in the user's name: plan hand-offs, summaries, reminders."""
    return text[:_INDENT].lstrip()[:80].lower().startswith(_CLIENT_STARTS)


def own_lines(text: str) -> list[str]:
    """The lines that the author wrote; people say what they mean before or after what they paste."""
    if len(text) <= READ_HEAD + READ_TAIL:
        return _unpasted(text, False)
    start = text.find("\n", len(text) - READ_TAIL, len(text) - READ_TAIL // 2) + 1 or len(text) - READ_TAIL
    is_fenced = sum([text.count(fence, 0, start) for fence in _FENCES]) % 2 == 1
    return _unpasted(text[:READ_HEAD], False) + _unpasted(text[start:], is_fenced)


def _unpasted(text: str, fenced: bool) -> list[str]:
    lines: list[str] = []
    for line in text.splitlines():
        bare = line.strip()
        if bare.startswith(_FENCES):
            fenced = not fenced and not (len(bare) > 6 and bare.endswith(_FENCES))
        elif bare and not fenced and not _is_pasted(line, bare):
            lines.append(bare)
    return lines


def _is_pasted(line: str, bare: str) -> bool:
    if bare[0] in ">|" or bare.lower().startswith(_LOG_STARTS) or bare.startswith(_REPORT_STARTS):
        return True
    if bare.partition(" ")[0].endswith(("Error:", "Exception:", "Warning:")):
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
    return len(bare) > 24 and "`" not in bare and _count_wordy(bare) < 0.62 * len(bare)


def _count_wordy(text: str) -> int:
    """Letters and spaces; only in a line that is not all ASCII does each sign need a look."""
    if text.isascii():
        return len(text) - len(text.encode("ascii").translate(None, _WORDY))
    return sum(map(str.isalpha, text)) + text.count(" ")


def split(text: str) -> list[str]:
    """The sentences of the author, in order; a line is never joined with the next one."""
    return split_lines(own_lines(text))


def split_lines(lines: list[str]) -> list[str]:
    found: list[str] = []
    for line in lines:
        _split_line(line, found)
    return found


def _split_line(line: str, found: list[str]) -> None:
    start = 0
    ticked = False
    for at in _find_marks(line):
        sign = line[at]
        if sign == "`":
            ticked = not ticked
        elif at >= start and not ticked and (sign in _WIDE_ENDS or _ends_here(line, start, at)):
            end = at + 1
            while end < len(line) and line[end] in _TRAILING:
                end += 1
            _add(line[start:end], found)
            start = end
    _add(line[start:], found)


def _find_marks(line: str) -> list[int]:
    found = []
    for mark in _ASCII_MARKS if line.isascii() else _MARKS:
        at = line.find(mark)
        while at >= 0:
            found.append(at)
            at = line.find(mark, at + 1)
    return sorted(found)


def _ends_here(line: str, start: int, at: int) -> bool:
    after = line[at + 1 : at + 2]
    if after and not after.isspace() and after not in _TRAILING:
        return False
    if line[at] != ".":
        return True
    word = line[start:at].rsplit(None, 1)[-1:]
    return not word or not (word[0].lower().lstrip("(") in _SHORTENED or (word[0].isdigit() and at - start <= 3))


def _add(piece: str, found: list[str]) -> None:
    piece = piece.strip().lstrip("-*• ").strip()
    if any(map(str.isalnum, piece)):
        found.append(piece)


def choose(sentences: list[str]) -> list[str]:
    """As many as can be weighed in time: the first ones and, of a long message, the last ones."""
    return sentences if len(sentences) <= SENTENCES else sentences[: SENTENCES - 4] + sentences[-4:]


def clip(text: str) -> str:
    """Cut to a length one can read."""
    return text if len(text) <= SENTENCE_LIMIT else text[: SENTENCE_LIMIT - 1].rstrip() + "…"
