"""Turn a learning's text into one safe line: nothing in it can open a block, import a file or hide from a reader.

The text is fixed before a person is asked, and each fix is reported. Fixing it again changes nothing. Also compares
texts, ignoring what formatters change.
"""

from __future__ import annotations

import re
import unicodedata

from reflect_git.errors import EXIT_DECISION, ReflectError
from reflect_git.targets.markdown import is_plain_item, parse_spans

_FENCE_PATTERN = re.compile(r"^[ \t]*(`{3,}|~{3,})[ \t]*[\w+#.-]*[ \t]*\n(.*?)\n?^[ \t]*\1[`~]*[ \t]*$", re.M | re.S)
_BACKTICK_PATTERN = re.compile(r"\\[!-/:-@\[-`{-~]|`+")
_WORD_PATTERN = re.compile(r"(?<!\\)\b\w+\Z")
# Claude Code imports `@path` after a space or at the beginning, other programs elsewhere too. An address or URL is not
# an import. A path ends at the next space; a backslash or double quotes make a space part of it.
_IMPORT_PATTERN = re.compile(r"(?<![\w./%+@\\-])@(?:\"[^\s\"`\\][^\"`\\]*\"|(?:\\.|[^\s`\\])+\\?)")
_CLOSING_BRACKETS = {")": "(", "]": "[", "}": "{"}
_TRAILING_SIGNS = ".,;:!?'\">*”’»"
_REMINDER_PATTERN = re.compile(r"<(?=\s*/?\s*system-reminder)", re.I)
_OWN_COMMENT_PATTERN = re.compile(r"<!--(?=\s*(?:reflect-git|LRN-))", re.I)
_BULLET_SIGN_PATTERN = re.compile(r"[-*+]\s+(?=\S)")
_NUMBER_PATTERN = re.compile(r"(\d{1,9})([.)])")
_JOINER_CHARACTERS = "\u200c\u200d"
_EMOJI_SELECTORS = "\ufe0e\ufe0f"
# Characters that draw nothing although Unicode calls them letters or marks.
_FILLER_CHARACTERS = "\u115f\u1160\u17b4\u17b5\u3164\uffa0\u034f"
_MAX_PASSES = 12


def make_safe(text: str) -> tuple[str, list[str]]:
    """Return the text as it will be written, and a list of what was changed."""
    mended: list[str] = []
    line = _join_lines(_inline_code_blocks(_drop_invisible(text, mended), mended), mended)
    for _ in range(_MAX_PASSES):
        before = line
        line = _fix_start(" ".join(_fix_spans(line, mended).split()), mended)
        if line == before:
            break
    return line, list(dict.fromkeys(mended))


def format_code(text: str) -> str:
    """Return a code span with as few backticks as its text allows."""
    text = " ".join(text.split())
    lengths = {len(run) for run in re.findall("`+", text)}
    fence = "`" * next(number for number in range(1, len(lengths) + 2) if number not in lengths)
    padding = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{fence}{padding}{text}{padding}{fence}" if text else ""


def _drop_invisible(text: str, mended: list[str]) -> str:
    """Remove or replace characters that nobody can see."""
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
    if character in _JOINER_CHARACTERS:
        return not _may_join(before)
    if character in _EMOJI_SELECTORS:
        return not before or not (_is_symbol(before) or before in "#*0123456789")
    if 0xFE00 <= ord(character) <= 0xFE0F or 0xE0000 <= ord(character) <= 0xE0FFF:
        return True
    # Keep unassigned characters: this Python may be older than the newest emoji.
    return character in _FILLER_CHARACTERS or unicodedata.category(character) in ("Cc", "Cf", "Co")


def _may_join(before: str) -> bool:
    """Return whether a joiner is legal here: in emoji and in scripts that use it. Elsewhere it only hides something."""
    if not before:
        return False
    return _is_symbol(before) or before in _EMOJI_SELECTORS or 0x0600 <= ord(before) < 0x1000


def _is_symbol(character: str) -> bool:
    is_sign = unicodedata.category(character) in ("So", "Sk", "Sm", "Po") and not character.isascii()
    return is_sign or "\U0001f000" <= character <= "\U0001faff"


def _inline_code_blocks(text: str, mended: list[str]) -> str:
    """Turn code blocks into inline code."""

    def put(match: re.Match[str]) -> str:
        mended.append("wrote a code block as code in the line")
        return f" {format_code(match[2])} "

    return _FENCE_PATTERN.sub(put, text.replace("\r\n", "\n"))


def _join_lines(text: str, mended: list[str]) -> str:
    """Fold several lines into one."""
    lines = sum(bool(part.strip()) for part in text.splitlines())
    if lines > 1:
        mended.append(f"folded {lines} lines into one")
    elif re.search(r"\s{3}", text.strip()):
        mended.append("folded a gap into one space")
    return " ".join(text.split())


def _fix_spans(line: str, mended: list[str]) -> str:
    line = _remove_comments(line, mended)
    if _REMINDER_PATTERN.search(line):
        mended.append("made a 'system-reminder' tag plain text")
        line = _REMINDER_PATTERN.sub("&lt;", line)
    written = ""
    for span in parse_spans(line):
        if span.kind == "code":
            written = _append_text(written, format_code(_fix_code(span.text, mended)))
        elif span.kind == "tag":
            written = _fix_tag(written, span.text, mended)
        elif span.kind == "link":
            written += span.text if "`" not in span.text else f"&lt;{span.text[1:]}"
        else:
            written = _fix_text(written, span.text, mended)
    return written


def _append_text(written: str, rest: str) -> str:
    """Append text, with a space where backticks would merge into one run or a backslash would escape one."""
    apart = rest.startswith("`") and written.endswith(("`", "\\"))
    return f"{written} {rest}" if apart else written + rest


def _remove_comments(line: str, mended: list[str]) -> str:
    while (start := _find_comment(line)) is not None:
        end = line.find("-->", start + 2)
        if end < 0:
            mended.append("made an open HTML comment plain text")
            return line[:start] + line[start:].replace("<!--", "&lt;!--")
        mended.append(f"removed the HTML comment '{line[start : end + 3]}'")
        line = f"{line[:start]} {line[end + 3 :]}"
    return line


def _find_comment(line: str) -> int | None:
    if "<!--" not in line:
        return None
    prose = (span for span in parse_spans(line) if span.kind != "code" and "<!--" in span.text)
    return next((span.start + span.text.index("<!--") for span in prose), None)


def _fix_code(text: str, mended: list[str]) -> str:
    is_open = text.rfind("<!--") > text.rfind("-->")
    if is_open or _OWN_COMMENT_PATTERN.search(text):
        mended.append("made an HTML comment in code plain text")
        return text.replace("<!--", "&lt;!--")
    return text


def _fix_tag(written: str, tag: str, mended: list[str]) -> str:
    if "`" in tag:
        mended.append("made a '<' plain text")
        return f"{written}&lt;{tag[1:]}"
    word = None if tag.startswith("</") else _WORD_PATTERN.search(written)
    whole = (word[0] if word else "") + tag
    mended.append(f"quoted '{whole}' so that Claude does not read it as a tag")
    return _append_text(written[: len(written) - len(whole) + len(tag)], format_code(whole))


def _fix_text(written: str, text: str, mended: list[str]) -> str:
    text = _escape_backticks(text, mended)
    place = 0
    for match in _IMPORT_PATTERN.finditer(text):
        path = _strip_punctuation(match[0], is_emphasised="*" in text[: match.start()])
        if len(path) == 1:
            continue
        path, end = path.replace("\\`", "`"), match.start() + len(path)  # in code a backslash escapes nothing
        mended.append(f"quoted '{path}' so that Claude does not import it")
        written = _append_text(written + text[place : match.start()], format_code(path))
        place = end
    return written + text[place:]


def _strip_punctuation(path: str, is_emphasised: bool) -> str:
    """Strip what belongs to the sentence: a full stop, a bracket opened before, the end of an emphasis."""
    if path.startswith('@"') and path.endswith('"') and len(path) > 3:
        return path
    while len(path) > 1 and path[-2] != "\\":
        last = path[-1]
        is_own = (
            path.count(_CLOSING_BRACKETS[last]) >= path.count(last)
            if last in _CLOSING_BRACKETS
            else last not in _TRAILING_SIGNS
        )
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

    return _BACKTICK_PATTERN.sub(put, text)


def _fix_start(line: str, mended: list[str]) -> str:
    """Remove or escape leading characters that would make the line a heading, a list or a quotation."""
    while sign := _BULLET_SIGN_PATTERN.match(line):
        mended.append(f"took '{sign[0].strip()}' off the beginning")
        line = line[sign.end() :]
    if not line or is_plain_item(line):
        return line
    mended.append(f"escaped '{line[0]}' at the beginning")
    number = _NUMBER_PATTERN.match(line)
    return f"{number[1]}\\{line[number.end(1) :]}" if number else f"\\{line}"


_ESCAPE_PATTERN = re.compile(r"\\([!-/:-@\[-`{-~])")
_BULLET_PATTERN = re.compile(r"\s*(?:[-*+]|\d{1,9}[.)])\s+")


class RewordedError(ReflectError):
    """Raised when an entry in a file no longer has the approved text."""

    def __init__(self, record_id: str, approved: str, live: str) -> None:
        super().__init__(
            f"the entry of '{record_id}' was reworded since: '{approved}' now reads '{live}'",
            "use --force to take it all the same",
            code="reworded",
            exit_code=EXIT_DECISION,
        )
        self.identity = record_id
        self.approved = approved
        self.live = live


def is_same_text(entry_text: str, text: str) -> bool:
    """Return whether texts are equal apart from blank lines, bullets, wrapping, emphasis marks and escapes."""
    return entry_text == text or normalize_text(entry_text) == normalize_text(make_safe(text)[0])


def normalize_text(text: str) -> str:
    """Return the form in which texts are compared; not for people."""
    parts = []
    for span in parse_spans(" ".join(text.split())):
        if span.kind == "code":
            parts.append(format_code(span.text))
        elif span.kind == "link":
            parts.append(span.text[1:-1])  # linters put bare addresses into <>
        else:
            # Linters also move the spaces next to what looks like emphasis.
            parts.append(re.sub(r"\s*[*_]\s*", "_", _ESCAPE_PATTERN.sub(r"\1", span.text)))
    return _drop_wide_spaces("".join(parts).strip())


def strip_bullet(lines: list[str]) -> str:
    """Return the text of a list item or paragraph in one line."""
    first = _BULLET_PATTERN.sub("", lines[0], count=1) if lines else ""
    return " ".join(" ".join([first, *lines[1:]]).split())


def _drop_wide_spaces(text: str) -> str:
    """Drop spaces next to wide characters: a line of Chinese or Japanese may be broken anywhere."""
    words = text.split(" ")
    joined = words[0]
    for word in words[1:]:
        wide = joined and word and (_is_wide(joined[-1]) or _is_wide(word[0]))
        joined += word if wide else f" {word}"
    return joined


def _is_wide(character: str) -> bool:
    return unicodedata.east_asian_width(character) in "WF"
