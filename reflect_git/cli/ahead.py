"""A look at the past, asked of git before the command line is understood.

click takes 40 ms to load, and git has its answer in five. What is asked ahead changes nothing, and a command that turns
out to want something else asks for that and leaves this alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from reflect_git import workflow
from reflect_git.errors import ReflectError
from reflect_git.sitting.asking import Asked
from reflect_git.store import journal, spool

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from reflect_git.store.repository import Store

# Options that make it another question.
_OTHERWISE = ("--since", "--until", "--type", "--captures", "-h", "--help")


class Ahead:
    """The store where it usually is, open and with nothing to sweep, and the newest of its log on the way."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.asked = Asked(store)


def ask(words: Sequence[str], env: Mapping[str, str]) -> Ahead | None:
    """For `log` with these words after it; None where there is no store, or where it has to be swept first."""
    if env.get(workflow.FAULT) or any(word.partition("=")[0] in _OTHERWISE for word in words):
        return None
    try:
        store = workflow.open_store(env, create=False)
        return None if is_unswept(store) else Ahead(store)
    except (ReflectError, OSError):  # the command meets it again, and says so
        return None


def is_unswept(store: Store) -> bool:
    """Whether something waits that could change the past; a look at it needs no inbox."""
    return journal.is_standing(store) or bool(spool.pending(store))
