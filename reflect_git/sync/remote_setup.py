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
    from reflect_git.sync.exchange import SyncOptions
    from reflect_git.sync.fetched import Incoming
    from reflect_git.sync.validate import Refusal
    from reflect_git.sync.vet_remote import Offer

EMPTY, STORE, PLAIN = "empty", "store", "plain"
_STORE_KINDS = (store_paths.RECORD, store_paths.SNAPSHOT, store_paths.MACHINE, store_paths.PURGE, store_paths.ASIDE)
_HOST_FILES = {*store_paths.HOST_FILES, store_paths.README_FILE, "README", "README.txt", "README.rst"}
_MAX_EXAMPLES = 3
_EXCERPT_LIMIT = 400


@dataclass(frozen=True)
class RemoteContents:
    """The contents of a remote. `files_to_send` maps files to their sizes; `examples` are some of them with text."""

    kind: str
    files_to_send: Mapping[str, int]
    examples: tuple[tuple[str, str], ...]
    receive_count: int
    refused: tuple[Refusal, ...]
    host_files: tuple[str, ...] = ()


def inspect_remote(store: Store, env: Mapping[str, str], url: str, options: SyncOptions) -> RemoteContents:
    """Inspect a remote; raise an error if it is used for something else."""
    remote = exchange.get_remote(store, url)
    with remotes.SyncLock(store, 10.0):
        try:
            with exchange.open_incoming(store, env, remote, options) as incoming:
                return _inspect_incoming(store, incoming, options)
        finally:
            remotes.discard_incoming(store)


def _inspect_incoming(store: Store, incoming: Incoming, options: SyncOptions) -> RemoteContents:
    options.show_step("asking the remote")
    heads = incoming.list_heads()
    if heads and MAIN not in heads:
        raise _build_foreign_error("it has other branches, and no 'main'")
    ours = incoming.load_own_main()
    before = {path: (mode, blob) for mode, path, blob in incoming.list_tree(ours)}
    theirs = incoming.fetch([MAIN])[MAIN] if heads else None
    offer = offers.check_offer(incoming, theirs, ours, before, store.machine)
    kind = get_remote_kind(offer, before)
    planned = landings.plan_merge(store, incoming, ours, before, offer)
    bad = offers.find_unshareable(incoming, ours, planned.tree, offer, store.machine)
    new = {path: blob for path, (_, blob) in merge.find_shareable(planned, offer.tree, bad).items()}
    sizes = incoming.get_sizes(new.values())
    return RemoteContents(
        kind,
        {path: sizes.get(blob, 0) for path, blob in new.items()},
        _load_examples(incoming, new),
        len(planned.received),
        offer.refused if kind == STORE else (),
        tuple(offer.tree) if kind == PLAIN else (),
    )


def get_remote_kind(offer: Offer, before: Mapping[str, tuple[str, str]]) -> str:
    """Return whether the remote is empty, a store, or a new repository with only a host's own files."""
    if offer.commit is None:
        return EMPTY
    same = before.get(store_paths.README_FILE) == offer.tree.get(store_paths.README_FILE)
    if same or any(store_paths.get_main_kind(path) in _STORE_KINDS for path in offer.accepted):
        return STORE
    strange = [path for path in offer.tree if path not in _HOST_FILES]
    if strange:
        raise _build_foreign_error(
            f"it has '{strange[0]}'" + (f" and {len(strange) - 1} more" if len(strange) > 1 else "")
        )
    return PLAIN


def _build_foreign_error(what: str) -> ReflectError:
    return ReflectError(
        f"the repository is the home of something else: {what}", "make an empty, private one for your learnings alone",
        code="remote-foreign",
    )  # fmt: skip


def _load_examples(incoming: Incoming, new: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """Return one file of each kind, learnings first, because people want to know what those say."""
    folders = ("learnings/", "decisions/", "targets/", "exposure/", "evaluations/", "tally/", "")
    chosen: list[str] = []
    for folder in folders:
        chosen += [path for path in new if path.startswith(folder) and path not in chosen][:1]
    wanted = chosen[:_MAX_EXAMPLES]
    blobs = incoming.read_blobs([new[path] for path in wanted])
    return tuple((path, data.decode("utf-8", "replace")[:_EXCERPT_LIMIT]) for path, data in zip(wanted, blobs))
