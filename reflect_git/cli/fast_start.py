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
from reflect_git.store.repository import MAIN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from reflect_git.history.log_query import LogQuery
    from reflect_git.store.repository import Store
    from reflect_git.sync.exchange import StartedSync

# Options that make it another question.
_UNSUPPORTED_OPTIONS = ("--since", "--until", "--type", "--captures", "-h", "--help")


class PlainSyncOptions:
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


class Prefetch:
    """An open and swept store, and what is on the way: the newest of its log, or what its remote has."""

    def __init__(
        self,
        store: Store,
        asked: LogQuery | None = None,
        begun: StartedSync | None = None,
        plain: PlainSyncOptions | None = None,
    ) -> None:
        self.store = store
        self.log_query = asked
        self.started_fetch = begun
        self.sync_options = plain

    def cancel(self) -> None:
        """Drop a query that nobody used."""
        if self.started_fetch is not None:
            self.started_fetch.cancel()


def start_log_query(words: Sequence[str], env: Mapping[str, str]) -> Prefetch | None:
    """Start the query of `log` with these arguments.

    Return None if there is no store, or if it has to be swept first.
    """
    if env.get(service.FAULT_VARIABLE) or any(word.partition("=")[0] in _UNSUPPORTED_OPTIONS for word in words):
        return None
    from reflect_git.history.log_query import LogQuery

    try:
        store = service.open_store(env, create=False)
        return None if needs_recovery(store) else Prefetch(store, LogQuery(store))
    except (ReflectError, OSError):  # the command meets it again, and says so
        return None


def needs_recovery(store: Store) -> bool:
    """Return whether pending files or a journal could change the history. This reads no inbox."""
    return journal.has_entries(store) or bool(pending.list_pending(store))


def start_fetch(words: Sequence[str], env: Mapping[str, str]) -> Prefetch | None:
    """Start the fetch of a plain `sync` if the store has a remote; sweep the store first."""
    plain = parse_sync_options(words)
    if plain is None or env.get(service.FAULT_VARIABLE) or env.get(COMPLETE_VAR):
        return None
    from reflect_git.store import inbox, recover, remotes
    from reflect_git.sync import exchange

    try:
        store = service.open_store(env, plain.store, create=False)
        asked = MAIN, remotes.TRACKING_REF, inbox.get_ref_prefix(store)
        refs = store.git.refs(*asked)
        if recover.is_needed(store, refs):
            recover.recover_store(store)
            refs = store.git.refs(*asked)
        begun = exchange.start_sync(store, env, refs)
    except (ReflectError, OSError):  # as above
        return None
    return Prefetch(store, begun=begun, plain=plain) if begun else None


def parse_sync_options(words: Sequence[str]) -> PlainSyncOptions | None:
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
    return PlainSyncOptions(place, *(word in given for word in ("--json", "--no-input", "--yes", "--dry-run")))
