"""The same request in several sessions: a way of working that nobody has written down.

Prompts of some length only: `yes`, `go on` and `commit` are said everywhere and teach nothing.
"""

from __future__ import annotations

from reflect_git.adapters.redact import redact
from reflect_git.capture.detectors.moment import facts_of
from reflect_git.capture.features import TASK
from reflect_git.model.ids import digest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from reflect_git.adapters.transcript import Turn
    from reflect_git.capture.facts import Facts
    from reflect_git.capture.mining import Past

FAMILY = "again"
SESSIONS = 3
_SHORTEST, _LONGEST = 12, 240
_WORDS = 3
_SPACELESS = 8  # letters, where a script does without spaces
_MOST = 256
_FILLER = frozenset(
    """yes yeah yep no nope ok okay sure please go on ahead continue proceed resume keep going next do it that this the
    a and then now again try commit push pull merge its good great nice thanks thank you perfect done ready start stop
    fix all them everything where left off we you i let's lets with for me to is what's whats status update hi hello hey
    ja weiter bitte oui sí si continua continúa да дальше""".split()
)


_POLITE = frozenset("please pls can could would you now ok okay and then".split())
# Short forms lose their apostrophe: "don't" is "don" and "t".
_WHEN = frozenset(
    """before after when whenever while until unless first always never every each only without not no don instead
    once by with""".split()
)


class Again:
    def __init__(self, past: Past) -> None:
        self._past = past
        self._given: dict[str, None] = {}

    def wants(self, kind: str, tool: str, is_error: bool) -> bool:
        return kind == "user"

    def see(self, turn: Turn) -> Sequence[Facts]:
        if turn.kind != "user" or turn.via == "feedback" or not turn.session:
            return ()
        said = normal(turn.raw) and normal(turn.text)
        if not said or is_task(said):
            return ()
        key = digest("request", said)[:16]
        sessions = self._past.sessions(key, turn.session)
        if sessions < SESSIONS or key in self._given:
            return ()
        self._given[key] = None
        if len(self._given) > _MOST:
            del self._given[next(iter(self._given))]
        return (
            facts_of(
                turn, FAMILY, "convention", 1, turn.text, category="preference", trust="user_typed",
                context=redact(f"asked for in {sessions} sessions"), meta={"score": 0.4, "sessions": sessions},
            ),
        )  # fmt: skip


def normal(text: str) -> str:
    """The words of a request that can be a way of working; empty for one that cannot."""
    if not _SHORTEST <= len(text) <= _LONGEST and not (len(text) <= _LONGEST and _is_spaceless(text)):
        return ""
    words = "".join(char if char.isalnum() else " " for char in text.casefold()).split()
    if _is_spaceless(text):
        return " ".join(words)
    telling = [word for word in words if word not in _FILLER and not word.isdigit()]
    return " ".join(words) if len(words) > _WORDS and len(telling) >= 2 else ""


def is_task(said: str) -> bool:
    """Tell work that comes up again ("fix the failing tests") from a way of working ("run the tests before a push").

    A task begins with an order and says neither when it holds nor what is not wanted.
    """
    words = [word for word in said.split() if word not in _POLITE]
    return bool(words) and words[0] in TASK and _WHEN.isdisjoint(words)


def _is_spaceless(text: str) -> bool:
    return sum("぀" <= char <= "鿿" for char in text[:_LONGEST]) >= _SPACELESS
