"""Notice a correction when the user submits it: store it at once, and show the person one line.

The miner reads the same message later. Both compute its id from session, text and ordinal, so it stays one signal.
"""

from __future__ import annotations

import os
import re

from reflect_git.capture.transcript.lines import check_path, is_relevant, open_transcript, parse_line
from reflect_git.capture.transcript.reader import TranscriptReader
from reflect_git.capture.transcript.turn import (
    Origin,
    Turn,
    as_dict,
    as_text,
    get_texts,
    get_typed_text,
    is_from_person,
    parse_slash_command,
)
from reflect_git.errors import ReflectError
from reflect_git.records import json_form
from reflect_git.records.ids import digest, get_signal_id, parse_utc, utc
from reflect_git.redact import redact

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any, Optional

    from reflect_git.capture.new_signal import Facts

FAMILY = "message"
MAX_LINES, MAX_LENGTH = 3, 400  # pasted text cannot be told from typed text in any other way
MIN_CONFIDENCE = 2
TAIL_BYTES = 64 << 10
SHOWN_LENGTH = 80
COUNTED_BYTES = 16 << 20  # of a transcript; the client waits while they are searched
_NEEDLE_LENGTH = 60
_ASSISTANT_MARK = b'"type":"assistant"'
_DAY = 86400
_QUESTION = re.compile(r"[?？؟][^\w?]*$")
_DOUBT = re.compile(r"\W*(?:h+m+|i wonder|maybe|(?:it )?(?:looks|seems) like|(?:i'm )?not sure)\b", re.I)


def get_prompt(event: Mapping[str, Any]) -> str:
    """Return the typed text of a UserPromptSubmit event if it can be a correction; otherwise an empty text."""
    text = get_typed_text(as_text(event.get("prompt")))
    if len(text) > MAX_LENGTH or text.count("\n") >= MAX_LINES or _is_command(text):
        return ""
    return text if any(map(str.isalnum, text)) else ""


def _is_command(text: str) -> bool:
    """Return whether a text is a slash command or a shell command: `/compact now`, not `/etc/hosts is wrong`."""
    return text[:1] == "!" or (text[:1] == "/" and "/" not in text[1:].partition(" ")[0])


def build_facts(text: str, event: Mapping[str, Any], now: str, projects: str) -> Optional[Facts]:
    """Return the facts of a strong correction or convention; None for anything else."""
    from reflect_git.capture.detectors.messages import MessageDetector

    transcript = as_text(event.get("transcript_path"))
    origin = Origin(False, transcript)
    origin.session, origin.timestamp = as_text(event.get("session_id")), now
    detector = MessageDetector()
    for earlier in _read_last_turns(transcript, projects):
        detector.add_context(earlier)
    turn = Turn("user", text, origin, "prompt")
    turn.offset = _get_size(transcript)
    found = detector.detect(turn)
    if not found or found[0]["confidence"] < MIN_CONFIDENCE or found[0]["type"] == "pattern":
        return None
    facts = found[0]
    facts["source"] = {"hook": "UserPromptSubmit", "turn": None, "entry": ""}
    return facts


def _get_size(path: str) -> int:
    try:
        return os.stat(path).st_size
    except (OSError, ValueError):
        return 0


def _read_last_turns(transcript: str, projects: str) -> list[Turn]:
    """Return the turns at the end of a transcript; none if it does not exist yet."""
    size = _get_size(transcript)
    if not size:
        return []
    try:
        check_path(transcript, projects)
        return list(TranscriptReader(transcript, max(0, size - TAIL_BYTES), projects=projects))
    except (ReflectError, OSError):
        return []


def format_line(content: str, way: str) -> str:
    """Return the line for the person: the noted words, and how to keep them."""
    return f'✎ noted: "{shorten(content)}" · {way} to keep it'


def is_shown(text: str) -> bool:
    """Return whether to show a line about this message. A correction in a question or a doubt is stored silently."""
    return not _QUESTION.search(text) and not _DOUBT.match(text)


def shorten(content: str) -> str:
    """Return noted words on one line, without unprintable characters."""
    words = "".join(letter if letter.isprintable() else " " for letter in content)
    words = " ".join(words.split())
    return words if len(words) <= SHOWN_LENGTH else words[: SHOWN_LENGTH - 1].rstrip() + "…"


def set_moment(facts: Facts, turn: Turn) -> None:
    """Set what the id of a typed message is computed from."""
    if turn.via in ("prompt", "queued") and turn.session:
        facts["moment"] = _hash_moment(turn)
        facts["ordinal"] = count_earlier(turn.transcript, turn.whole, turn.offset)


def _hash_moment(turn: Turn) -> str:
    """Return a hash of session and text. The text is redacted, since a hash of a short secret can be guessed."""
    text = turn.text if turn.whole == turn.raw else redact(turn.whole)
    return digest("message", turn.session, " ".join(text.split()))


def list_other_ids(facts: Mapping[str, Any]) -> list[str]:
    """Return other ids that this message may be stored under.

    The hook runs before the client writes the message, maybe before midnight. Older versions used the entry's uuid.
    """
    from reflect_git.capture.new_signal import safe_entry

    if not facts.get("moment"):
        return []
    day_before = utc(parse_utc(facts["timestamp"]) - _DAY)
    found = [get_signal_id(day_before, facts["moment"], FAMILY, facts.get("ordinal", 0))]
    entry = safe_entry(as_text(facts["source"].get("entry")))
    return [*found, get_signal_id(facts["timestamp"], entry, FAMILY)] if entry else found


def list_ids(turn: Turn) -> list[str]:
    """Return the ids that the message of a turn may be stored under."""
    facts: Any = {"timestamp": turn.timestamp, "source": {"entry": turn.entry}}
    set_moment(facts, turn)
    own = get_signal_id(turn.timestamp, facts["moment"], FAMILY, facts["ordinal"]) if "moment" in facts else ""
    return [own, *list_other_ids(facts)] if own else []


def count_earlier(transcript: str, text: str, before: int) -> int:
    """Count how often the user sent the same text before an offset, in the part of the transcript close to it.

    A text that is sent again before the model answered counts once: Esc puts it back into the input box.
    """
    words = " ".join(text.split())
    longest = max(text.split("\n"), key=len).strip()[:_NEEDLE_LENGTH]
    if not transcript or before <= 0 or not longest:
        return 0
    needle = json_form.quote(longest)[1:-1].encode("utf-8", "replace")
    try:
        descriptor = open_transcript(transcript)
    except Exception:
        return 0
    try:
        import mmap

        with mmap.mmap(descriptor, 0, access=mmap.ACCESS_READ) as data:
            end = min(before, len(data))
            begin = max(0, end - COUNTED_BYTES)
            found = [at for at, line in _iter_lines(data, needle, begin, end) if _get_sent_words(line) == words]
            following = [*found[1:], end]
            return sum(data.find(_ASSISTANT_MARK, at, stop) >= 0 for at, stop in zip(found, following))
    except (OSError, ValueError):
        return 0
    finally:
        os.close(descriptor)


def _iter_lines(data: Any, needle: bytes, start: int, end: int) -> Iterator[tuple[int, bytes]]:
    """Yield the relevant lines between two offsets that contain a text, each with its offset."""
    at = data.find(needle, start, end)
    while at >= 0:
        begin, cut = data.rfind(b"\n", 0, at) + 1, data.find(b"\n", at)
        stop = cut if cut >= 0 else len(data)
        line = data[begin:stop]
        if is_relevant(line, 0, len(line)):
            yield begin, line
        at = data.find(needle, stop, end)


def _get_sent_words(line: bytes) -> str:
    """Return what the user sent with this line, with single spaces; empty for any other entry."""
    entry = parse_line(line) or {}
    if entry.get("type") == "user":
        texts = get_texts(as_dict(entry.get("message")).get("content"))
        is_sent = is_from_person(entry) and not parse_slash_command("\n".join(texts))[0]
    else:
        attached = as_dict(entry.get("attachment"))
        texts = get_texts(attached.get("prompt"))
        is_sent = attached.get("type") == "queued_command" and is_from_person(attached)
    return " ".join(" ".join(map(get_typed_text, texts)).split()) if is_sent else ""
