"""A learning's text as one inert line: nothing in it can open a block, import a file or hide from a reader.

The mending is done before a person is asked, and told in words; writing the mended text changes nothing any more.
"""

from __future__ import annotations

import re
import unicodedata

from reflect_git.adapters.markdown import is_plain, spans

_FENCE = re.compile(r"^[ \t]*(`{3,}|~{3,})[ \t]*[\w+#.-]*[ \t]*\n(.*?)\n?^[ \t]*\1[`~]*[ \t]*$", re.M | re.S)
_BACKTICKS = re.compile(r"\\[!-/:-@\[-`{-~]|`+")
_WORD = re.compile(r"(?<!\\)\b\w+\Z")
# The client imports `@path` after a space or at the beginning, other programs elsewhere too. Not in an address or URL.
# A path goes on to the next space; a backslash makes a space part of it, and so do double quotes.
_IMPORT = re.compile(r"(?<![\w./%+@\\-])@(?:\"[^\s\"`\\][^\"`\\]*\"|(?:\\.|[^\s`\\])+\\?)")
_CLOSING = {")": "(", "]": "[", "}": "{"}
_AFTER_A_WORD = ".,;:!?'\">*”’»"
_REMINDER = re.compile(r"<(?=\s*/?\s*system-reminder)", re.I)
_OURS = re.compile(r"<!--(?=\s*(?:reflect-git|LRN-))", re.I)
_SIGN = re.compile(r"[-*+]\s+(?=\S)")
_NUMBER = re.compile(r"(\d{1,9})([.)])")
_JOINERS = "\u200c\u200d"
_EMOJI_SELECTORS = "\ufe0e\ufe0f"
# Characters that draw nothing though Unicode calls them letters or marks.
_FILLERS = "\u115f\u1160\u17b4\u17b5\u3164\uffa0\u034f"
_PASSES = 12


def inert(text: str) -> tuple[str, list[str]]:
    """The text as it will be written, and what was mended, in words."""
    mended: list[str] = []
    line = _fold(_unfence(_visible(text, mended), mended), mended)
    for _ in range(_PASSES):
        before = line
        line = _start(" ".join(_mend(line, mended).split()), mended)
        if line == before:
            break
    return line, list(dict.fromkeys(mended))


def code(text: str) -> str:
    """A code span with as few backticks as its text allows."""
    text = " ".join(text.split())
    lengths = {len(run) for run in re.findall("`+", text)}
    fence = "`" * next(number for number in range(1, len(lengths) + 2) if number not in lengths)
    padding = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{fence}{padding}{text}{padding}{fence}" if text else ""


def _visible(text: str, mended: list[str]) -> str:
    kept = []
    for place, character in enumerate(text):
        if "\ud800" <= character <= "\udfff":
            kept.append("\ufffd")
            mended.append(f"replaced <U+{ord(character):04X}>, half a character")
        elif _is_hidden(text, place):
            mended.append(f"removed <U+{ord(character):04X}>, which nobody can see")
        else:
            kept.append(character)
    return "".join(kept)


def _is_hidden(text: str, place: int) -> bool:
    character = text[place]
    if character.isspace() or (character.isascii() and character.isprintable()):
        return False
    before = text[place - 1] if place else ""
    if character in _JOINERS:
        return not _joins(before)
    if character in _EMOJI_SELECTORS:
        return not before or not (_is_symbol(before) or before in "#*0123456789")
    if 0xFE00 <= ord(character) <= 0xFE0F or 0xE0000 <= ord(character) <= 0xE0FFF:
        return True
    # Unassigned ones stay: this Python may be older than the newest emoji.
    return character in _FILLERS or unicodedata.category(character) in ("Cc", "Cf", "Co")


def _joins(before: str) -> bool:
    """A joiner is legal in emoji and in scripts that write with it; after a Latin letter it only hides."""
    if not before:
        return False
    return _is_symbol(before) or before in _EMOJI_SELECTORS or 0x0600 <= ord(before) < 0x1000


def _is_symbol(character: str) -> bool:
    is_sign = unicodedata.category(character) in ("So", "Sk", "Sm", "Po") and not character.isascii()
    return is_sign or "\U0001f000" <= character <= "\U0001faff"


def _unfence(text: str, mended: list[str]) -> str:
    def put(match: re.Match[str]) -> str:
        mended.append("wrote a code block as code in the line")
        return f" {code(match[2])} "

    return _FENCE.sub(put, text.replace("\r\n", "\n"))


def _fold(text: str, mended: list[str]) -> str:
    lines = sum(bool(part.strip()) for part in text.splitlines())
    if lines > 1:
        mended.append(f"folded {lines} lines into one")
    elif re.search(r"\s{3}", text.strip()):
        mended.append("folded a gap into one space")
    return " ".join(text.split())


def _mend(line: str, mended: list[str]) -> str:
    line = _without_comments(line, mended)
    if _REMINDER.search(line):
        mended.append("made a 'system-reminder' tag plain text")
        line = _REMINDER.sub("&lt;", line)
    written = ""
    for span in spans(line):
        if span.kind == "code":
            written = _join(written, code(_mend_code(span.text, mended)))
        elif span.kind == "tag":
            written = _mend_tag(written, span.text, mended)
        elif span.kind == "link":
            written += span.text if "`" not in span.text else f"&lt;{span.text[1:]}"
        else:
            written = _mend_text(written, span.text, mended)
    return written


def _join(written: str, rest: str) -> str:
    """Backticks that meet would make one run, and a backslash would take one away."""
    apart = rest.startswith("`") and written.endswith(("`", "\\"))
    return f"{written} {rest}" if apart else written + rest


def _without_comments(line: str, mended: list[str]) -> str:
    while (start := _comment(line)) is not None:
        end = line.find("-->", start + 2)
        if end < 0:
            mended.append("made an open HTML comment plain text")
            return line[:start] + line[start:].replace("<!--", "&lt;!--")
        mended.append(f"removed the HTML comment '{line[start : end + 3]}'")
        line = f"{line[:start]} {line[end + 3 :]}"
    return line


def _comment(line: str) -> int | None:
    if "<!--" not in line:
        return None
    prose = (span for span in spans(line) if span.kind != "code" and "<!--" in span.text)
    return next((span.start + span.text.index("<!--") for span in prose), None)


def _mend_code(text: str, mended: list[str]) -> str:
    is_open = text.rfind("<!--") > text.rfind("-->")
    if is_open or _OURS.search(text):
        mended.append("made an HTML comment in code plain text")
        return text.replace("<!--", "&lt;!--")
    return text


def _mend_tag(written: str, tag: str, mended: list[str]) -> str:
    if "`" in tag:
        mended.append("made a '<' plain text")
        return f"{written}&lt;{tag[1:]}"
    word = None if tag.startswith("</") else _WORD.search(written)
    whole = (word[0] if word else "") + tag
    mended.append(f"put '{whole}' into backticks")
    return _join(written[: len(written) - len(whole) + len(tag)], code(whole))


def _mend_text(written: str, text: str, mended: list[str]) -> str:
    text = _escape_backticks(text, mended)
    place = 0
    for match in _IMPORT.finditer(text):
        path = _without_punctuation(match[0], is_emphasised="*" in text[: match.start()])
        if len(path) == 1:
            continue
        path, end = path.replace("\\`", "`"), match.start() + len(path)  # in code a backslash escapes nothing
        mended.append(f"put '{path}' into backticks")
        written = _join(written + text[place : match.start()], code(path))
        place = end
    return written + text[place:]


def _without_punctuation(path: str, is_emphasised: bool) -> str:
    """Cut off what belongs to the sentence: a full stop, a bracket that was opened before, the end of an emphasis."""
    if path.startswith('@"') and path.endswith('"') and len(path) > 3:
        return path
    while len(path) > 1 and path[-2] != "\\":
        last = path[-1]
        is_own = path.count(_CLOSING[last]) >= path.count(last) if last in _CLOSING else last not in _AFTER_A_WORD
        if is_own or (last == "*" and not is_emphasised):
            break
        path = path[:-1]
    return path


def _escape_backticks(text: str, mended: list[str]) -> str:
    def put(match: re.Match[str]) -> str:
        if match[0].startswith("\\"):
            return match[0]
        mended.append("escaped a backtick without a partner")
        return "\\`" * len(match[0])

    return _BACKTICKS.sub(put, text)


def _start(line: str, mended: list[str]) -> str:
    """Without a sign at its beginning that would make it a heading, a list, a quotation or anything but a sentence."""
    while sign := _SIGN.match(line):
        mended.append(f"took '{sign[0].strip()}' off the beginning")
        line = line[sign.end() :]
    if not line or is_plain(line):
        return line
    mended.append(f"escaped '{line[0]}' at the beginning")
    number = _NUMBER.match(line)
    return f"{number[1]}\\{line[number.end(1) :]}" if number else f"\\{line}"
