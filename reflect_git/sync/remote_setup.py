"""Inspect a remote before it is set: what it contains, and what would be sent. Nothing is sent or fetched for good."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from reflect_git.errors import ReflectError
from reflect_git.store import remotes
from reflect_git.store.repository import MAIN
from reflect_git.sync import exchange, merge, store_paths
from reflect_git.sync import merge as landings
from reflect_git.sync import vet_remote as offers

if TYPE_CHECKING:
    from reflect_git.store.repository import Store
    from reflect_git.sync.exchange import Wishes
    from reflect_git.sync.fetched import Incoming
    from reflect_git.sync.validate import Refusal
    from reflect_git.sync.vet_remote import Offer

EMPTY, STORE, PLAIN = "empty", "store", "plain"
_OURS = (store_paths.RECORD, store_paths.MIRROR, store_paths.MACHINE, store_paths.PURGE, store_paths.ASIDE)
_HOSTED = {*store_paths.HOSTED, store_paths.SHOWN_AS, "README", "README.txt", "README.rst"}
_EXAMPLES = 3
_EXCERPT = 400


@dataclass(frozen=True)
class Contact:
    """The contents of a remote. `sends` maps files that would be sent to their sizes; `examples` are some with text."""

    kind: str
    sends: Mapping[str, int]
    examples: tuple[tuple[str, str], ...]
    brings: int
    refused: tuple[Refusal, ...]
    hosted: tuple[str, ...] = ()


def look(store: Store, env: Mapping[str, str], url: str, wishes: Wishes) -> Contact:
    """Inspect a remote; raise an error if it is used for something else."""
    remote = exchange.remote_of(store, url)
    with remotes.Alone(store, 10.0):
        try:
            with exchange.converse(store, env, remote, wishes) as incoming:
                return _look(store, incoming, wishes)
        finally:
            remotes.discard_incoming(store)


def _look(store: Store, incoming: Incoming, wishes: Wishes) -> Contact:
    wishes.say("asking the remote")
    heads = incoming.heads()
    if heads and MAIN not in heads:
        raise _foreign("it has other branches, and no 'main'")
    ours = incoming.main_here()
    before = {path: (mode, blob) for mode, path, blob in incoming.tree(ours)}
    theirs = incoming.fetch([MAIN])[MAIN] if heads else None
    offer = offers.look(incoming, theirs, ours, before, store.machine)
    kind = kind_of(offer, before)
    planned = landings.plan(store, incoming, ours, before, offer)
    bad = offers.own(incoming, ours, planned.tree, offer, store.machine)
    new = {path: blob for path, (_, blob) in merge.shared(planned, offer.tree, bad).items()}
    sizes = incoming.sizes(new.values())
    return Contact(
        kind, {path: sizes.get(blob, 0) for path, blob in new.items()}, _examples(incoming, new), len(planned.arrived),
        offer.refused if kind == STORE else (), tuple(offer.tree) if kind == PLAIN else (),
    )  # fmt: skip


def kind_of(offer: Offer, before: Mapping[str, tuple[str, str]]) -> str:
    """Return whether the remote is empty, a store, or a new repository with only a host's own files."""
    if offer.commit is None:
        return EMPTY
    same = before.get(store_paths.SHOWN_AS) == offer.tree.get(store_paths.SHOWN_AS)
    if same or any(store_paths.kind_on_main(path) in _OURS for path in offer.accepted):
        return STORE
    strange = [path for path in offer.tree if path not in _HOSTED]
    if strange:
        raise _foreign(f"it has '{strange[0]}'" + (f" and {len(strange) - 1} more" if len(strange) > 1 else ""))
    return PLAIN


def _foreign(what: str) -> ReflectError:
    return ReflectError(
        f"the repository is the home of something else: {what}", "make an empty, private one for your learnings alone",
        code="remote-foreign",
    )  # fmt: skip


def _examples(incoming: Incoming, new: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """Return one file of each kind, learnings first, because people want to know what those say."""
    folders = ("learnings/", "decisions/", "targets/", "exposure/", "tally/", "")
    chosen: list[str] = []
    for folder in folders:
        chosen += [path for path in new if path.startswith(folder) and path not in chosen][:1]
    wanted = chosen[:_EXAMPLES]
    blobs = incoming.blobs([new[path] for path in wanted])
    return tuple((path, data.decode("utf-8", "replace")[:_EXCERPT]) for path, data in zip(wanted, blobs))
