"""Words typed while the model worked.

The client notes that they were queued, and later delivers them as a prompt or an attachment; some versions never wrote
down the delivery. So they are held until they arrive, and count by themselves if they were taken off and did not.
"""

from __future__ import annotations

from reflect_git.adapters.transcript.turn import text_of
from reflect_git.adapters.transcript.words import texts_of, typed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Fields = dict[str, Any]

_MOST = 100
_LONGEST = 65536


class Held:
    __slots__ = ("entry", "offset", "taken", "text", "timestamp")

    def __init__(self, text: str, entry: Fields, offset: int) -> None:
        self.text = text
        self.offset = offset
        self.timestamp = text_of(entry.get("timestamp"))
        # The line has no uuid; a name that is the same at the next reading.
        self.entry = f"{text_of(entry.get('sessionId'))}@{self.timestamp}"
        self.taken = False


class Queue:
    def __init__(self) -> None:
        self.held: list[Held] = []
        self._given: list[str] = []

    def note(self, entry: Fields, offset: int) -> None:
        """A queue-operation."""
        operation = entry.get("operation")
        text = "\n".join(texts_of(entry.get("content"))).strip()
        if operation == "enqueue":
            self._hold(text, entry, offset)
        elif operation == "popAll":  # back into the input box
            self.held = [held for held in self.held if held.taken]
        elif operation in ("dequeue", "remove"):
            self._take(text, text_of(entry.get("reason")))

    def _hold(self, text: str, entry: Fields, offset: int) -> None:
        # Nothing says who queued it, so a text that begins like a tag is left to its delivery, as a command is.
        if typed(text) == text and 0 < len(text) <= _LONGEST and text[0] != "<" and not _is_command(text):
            self.held = self.held[1 - _MOST :]
            self.held.append(Held(text, entry, offset))

    def _take(self, text: str, reason: str) -> None:
        waiting = [held for held in self.held if not held.taken and (not text or held.text == text)]
        if not waiting:
            return
        if reason and not reason.startswith("absorbed"):
            self.held.remove(waiting[0])
        waiting[0].taken = True

    def deliver(self, text: str) -> bool:
        """A text arrived: it is no longer held. False if it already counted."""
        if not self.held and not self._given:
            return True
        text = text.strip()
        is_new = text not in self._given
        self._given = []
        same = [held for held in self.held if held.text == text]
        if same:
            self.held.remove(same[0])
        else:  # several at once arrive as the lines of one prompt
            lines = f"\n{text}\n"
            self.held = [held for held in self.held if f"\n{held.text}\n" not in lines]
        return is_new

    def undelivered(self) -> list[Held]:
        """Taken off, and the model goes on without a delivery on record."""
        return self._give([held for held in self.held if held.taken])

    def older_than(self, offset: int) -> list[Held]:
        return self._give([held for held in self.held if held.offset < offset])

    def _give(self, found: list[Held]) -> list[Held]:
        for held in found:
            self.held.remove(held)
            self._given.append(held.text)
        return found


def _is_command(text: str) -> bool:
    """`/compact now`, not `/etc/hosts is wrong`."""
    return text.startswith("/") and "/" not in text[1:].partition(" ")[0]
