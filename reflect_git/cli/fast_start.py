"""Queries to git or a remote that start before the command line is parsed.

click takes 40 ms to load; git answers a `log` in 5 ms, and a remote takes about as long as click. A command that turns
out to need something else ignores the early query.
"""

from __future__ import annotations

from reflect_git.capture import service
from reflect_git.cli.start import COMPLETE_VAR
from reflect_git.errors import ReflectError
from reflect_git.store import pending
from reflect_git.store.main import journal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from reflect_git.history.log_query import Asked
    from reflect_git.store.repository import Store
    from reflect_git.sync.exchange import Begun

# Options that make it another question.
_OTHERWISE = ("--since", "--until", "--type", "--captures", "-h", "--help")


class Plain:
    """The words of a `sync` that are understood at first sight."""

    __slots__ = ("dry_run", "json", "no_input", "store", "yes")

    def __init__(
        self, store: str = "", json: bool = False, no_input: bool = False, yes: bool = False, dry_run: bool = False
    ) -> None:
        self.store = store
        self.json = json
        self.no_input = no_input
        self.yes = yes
        self.dry_run = dry_run


class Ahead:
    """An open and swept store, and what is on the way: the newest of its log, or what its remote has."""

    def __init__(
        self, store: Store, asked: Asked | None = None, begun: Begun | None = None, plain: Plain | None = None
    ) -> None:  # fmt: skip
        self.store = store
        self.asked = asked
        self.begun = begun
        self.plain = plain

    def drop(self) -> None:
        """Drop a query that nobody used."""
        if self.begun is not None:
            self.begun.drop()


def ask(words: Sequence[str], env: Mapping[str, str]) -> Ahead | None:
    """Start the query of `log` with these arguments.

    Return None if there is no store, or if it has to be swept first.
    """
    if env.get(service.FAULT) or any(word.partition("=")[0] in _OTHERWISE for word in words):
        return None
    from reflect_git.history.log_query import Asked

    try:
        store = service.open_store(env, create=False)
        return None if is_unswept(store) else Ahead(store, Asked(store))
    except (ReflectError, OSError):  # the command meets it again, and says so
        return None


def is_unswept(store: Store) -> bool:
    """Return whether pending files or a journal could change the history. This reads no inbox."""
    return journal.is_standing(store) or bool(pending.pending(store))


def fetch(words: Sequence[str], env: Mapping[str, str]) -> Ahead | None:
    """Start the fetch of a plain `sync` if the store has a remote; sweep the store first."""
    plain = plainly(words)
    if plain is None or env.get(service.FAULT) or env.get(COMPLETE_VAR):
        return None
    from reflect_git.store import inbox, recover, remotes
    from reflect_git.store.repository import MAIN
    from reflect_git.sync import exchange

    try:
        store = service.open_store(env, plain.store, create=False)
        asked = MAIN, remotes.TRACKED, inbox.below(store)
        refs = store.git.refs(*asked)
        if recover.is_needed(store, refs):
            recover.sweep(store)
            refs = store.git.refs(*asked)
        begun = exchange.begin(store, env, refs)
    except (ReflectError, OSError):  # as above
        return None
    return Ahead(store, begun=begun, plain=plain) if begun else None


def plainly(words: Sequence[str]) -> Plain | None:
    """Parse a plain `sync`. Return None for every other command line, which click parses."""
    place, given, rest = "", [], list(words)
    while rest and rest[0] != "sync":
        word = rest.pop(0)
        if word == "--store" and rest:
            place = rest.pop(0)
        elif word.startswith("--store="):
            place = word.partition("=")[2]
        elif word in ("--json", "--no-input", "--yes"):
            given.append(word)
        else:
            return None
    if not rest or not {"--json", "--dry-run"}.issuperset(rest[1:]):
        return None
    given += rest[1:]
    return Plain(place, *(word in given for word in ("--json", "--no-input", "--yes", "--dry-run")))
