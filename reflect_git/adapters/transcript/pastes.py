"""What was pasted into a prompt. The transcript has it as if it had been typed; the client's history tells it apart."""

from __future__ import annotations

import os

from reflect_git.adapters import jsontext
from reflect_git.adapters.transcript.turn import fields_of, text_of

_HISTORY = "history.jsonl"
_READ = 16 << 20
_SHORTEST = 12


class Pastes:
    """The pasted texts of one session, read when a prompt is long enough to have one."""

    def __init__(self, transcript: str) -> None:
        self._transcript = transcript
        self.texts: list[str] = []
        self._is_read = False

    def out_of(self, text: str, session: str) -> str:
        """The text without what was pasted into it."""
        if len(text) < _SHORTEST or not session:
            return text
        if not self._is_read:
            self._is_read = True
            self.texts = sorted(_pasted(history_of(self._transcript), session), key=len, reverse=True)
        for pasted in self.texts:
            text = text.replace(pasted, "\n")
        return text.strip()


def history_of(transcript: str) -> str:
    """Beside the projects folder: <config>/projects/<slug>/<session>.jsonl."""
    projects = os.path.dirname(os.path.dirname(os.path.abspath(transcript)))
    return os.path.join(os.path.dirname(projects), _HISTORY) if os.path.basename(projects) == "projects" else ""


def _pasted(history: str, session: str) -> list[str]:
    found: list[str] = []
    mark = session.encode("utf-8", "replace")
    for line in _tail(history).split(b"\n"):
        if b'"pastedContents":{"' in line and mark in line:
            try:
                entry = fields_of(jsontext.loads(line.decode("utf-8", "replace")))
            except (ValueError, RecursionError):
                continue
            if entry.get("sessionId") == session:
                contents = fields_of(entry.get("pastedContents")).values()
                found += [text_of(fields_of(each).get("content")).strip() for each in contents]
    return [text for text in found if len(text) >= _SHORTEST]


def _tail(path: str) -> bytes:
    """The newest entries; nothing if it is no plain file."""
    if not path or not os.path.isfile(path) or os.path.islink(path):
        return b""
    try:
        with open(path, "rb") as file:
            file.seek(max(0, os.path.getsize(path) - _READ))
            return file.read(_READ)
    except OSError:
        return b""
