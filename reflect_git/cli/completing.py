"""What a shell offers where an id, a backup or a setting is to be typed; with its words, where the shell shows them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

import click

from reflect_git.cli.front import Front, one_line
from reflect_git.errors import ReflectError

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from reflect_git.store.reading import Scan
    from reflect_git.store.repository import Store

    Found = Iterable[tuple[str, str]]
    Completes = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]

_MOST = 200
_WORDS = 60


def _offering(find: Callable[[Front, Store], Found]) -> Completes:
    """The newest first. A shell in which somebody types is told of no error."""

    def complete(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        from click.shell_completion import CompletionItem

        root = ctx.find_root()
        front = root.obj if isinstance(root.obj, Front) else None
        if front is None:
            return []
        front.store_option = root.params.get("store_option") or front.store_option
        given = ctx.params.get(param.name or "")
        wanted, typed = incomplete.casefold(), given if isinstance(given, tuple) else ()
        try:
            store = front.store_if_any()
            found = [one for one in find(front, store) if one[0].casefold().startswith(wanted)] if store else []
        except (ReflectError, OSError):
            return []
        left = [(name, words) for name, words in reversed(found) if name not in typed]
        return [CompletionItem(name, help=one_line(words, _WORDS)) for name, words in left[:_MOST]]

    return complete


def _in_force(scan: Scan) -> Iterator[tuple[str, str]]:
    yield from ((rule["id"], rule["title"] or rule["text"]) for rule in scan.history.in_force())


def _signals(scan: Scan, only_waiting: bool) -> Iterator[tuple[str, str]]:
    columns = scan.columns
    for identity, status, content in zip(columns["id"], columns["status"], columns["content"], strict=True):
        if not only_waiting or status in ("captured", "analyzed"):
            yield identity, content


def _records(front: Front, store: Store) -> Iterator[tuple[str, str]]:
    scan = front.scan(store)
    yield from _signals(scan, only_waiting=False)
    yield from _decisions(scan)
    yield from ((one["id"], one["title"] or one["text"]) for one in scan.history.learnings.values())


def _decisions(scan: Scan) -> Iterator[tuple[str, str]]:
    from reflect_git.history.words import called

    for made in scan.history.decisions:
        learning = scan.history.learnings.get(made["subject"])
        yield made["id"], f"{called(made)}: {learning['title'] or learning['text'] if learning else made['subject']}"


def _revertible(front: Front, store: Store) -> Iterator[tuple[str, str]]:
    """Decisions that stand, and what is in force, which is asked for most."""
    scan = front.scan(store)
    yield from (one for one in _decisions(scan) if one[0] not in scan.history.void)
    yield from _in_force(scan)


def _backups(front: Front, store: Store) -> Iterator[tuple[str, str]]:
    from reflect_git.store import backups

    yield from ((name.removeprefix("refs/heads/"), "") for name in reversed(backups.listing(store)))


def settings(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    from click.shell_completion import CompletionItem

    from reflect_git.cli.settings import TABLE

    wanted = incomplete.lower()
    named = [one for one in TABLE if one.name.lower().startswith((wanted, f"reflect.{wanted}"))]
    short = not wanted.startswith("reflect")
    return [CompletionItem(one.name.removeprefix("reflect.") if short else one.name, help=one.help) for one in named]


rules = _offering(lambda front, store: _in_force(front.scan(store)))
revertible = _offering(_revertible)
waiting = _offering(lambda front, store: _signals(front.scan(store), only_waiting=True))
records = _offering(_records)
backups = _offering(_backups)
