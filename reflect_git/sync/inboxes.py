"""Exchange signals between a person's own machines, if that was turned on.

An inbox has one writer, so it never conflicts: it goes forward, or its next generation begins. What is not wholly as a
store writes it does not come in. An inbox whose machine said nothing for 90 days is folded into a tally.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from reflect_git.errors import ReflectError
from reflect_git.platform import remote_git
from reflect_git.records import yaml_form
from reflect_git.records.ids import plural
from reflect_git.store import expiry, inbox, machines, policy, recover, remotes
from reflect_git.store.main import main_branch, ref_updates
from reflect_git.store.reading import reader
from reflect_git.store.repository import INBOX, get_record_id, get_record_path
from reflect_git.sync import store_paths
from reflect_git.sync import vet_remote as offers
from reflect_git.sync.validate import Refusal

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    from reflect_git.store.repository import Store
    from reflect_git.sync.fetched import Incoming

MAX_SILENT_SECONDS = 90 * expiry.DAY
_LOCK_SECONDS = 10.0


def exchange_inboxes(store: Store, incoming: Incoming, heads: Mapping[str, str], now: float) -> list[Refusal]:
    """Exchange inboxes in both directions; return what was refused. `heads` are the remote's branches."""
    decisions = machines.filter_decisions(reader.scan(store).main_records)
    if remotes.SIGNALS_KEY in policy.find_undecided(store, decisions):
        return []  # the config alone can be written by anybody
    others = (machines.get_own_machines(store, decisions) or frozenset()) - {store.machine}
    offered = {ref: tip for ref, tip in heads.items() if store_paths.get_inbox_machine(ref) in others}
    refused = _receive(store, incoming, offered, now)
    _send(store, incoming, heads)
    return refused


def _receive(store: Store, incoming: Incoming, offered: Mapping[str, str], now: float) -> list[Refusal]:
    here = {
        ref: tip for ref, tip in store.git.refs(INBOX).items() if store_paths.get_inbox_machine(ref) != store.machine
    }
    news = {ref: tip for ref, tip in offered.items() if here.get(ref) != tip}
    refused: list[Refusal] = []
    for ref, tip in incoming.fetch(news).items():
        bad = _find_refused(incoming, tip, here.get(ref))
        refused += [Refusal(f"{ref.removeprefix('refs/heads/')}:{path}", reason) for path, reason in bad.items()]
        if not bad:
            _accept_inbox(store, incoming, ref, tip, here.get(ref), now)
    _delete_expired(store, {ref: tip for ref, tip in here.items() if ref not in offered})
    return refused


def _find_refused(incoming: Incoming, tip: str, known: str | None) -> dict[str, str]:
    incoming.require_sound(tip, [known] if known else [])
    brought = incoming.get_history(tip, [known] if known else []).files
    found = offers.find_refused(
        incoming, dict.fromkeys([*incoming.list_tree(tip), *brought]), store_paths.get_inbox_kind
    )
    return {path: reason for (_, path, _), reason in found.items()}


def _accept_inbox(store: Store, incoming: Incoming, ref: str, tip: str, known: str | None, now: float) -> None:
    written = incoming.git.run("log", "-1", "--format=%ct", "--end-of-options", tip).out.decode("ascii", "replace")
    with store.locked(_LOCK_SECONDS):
        recover.finish_interrupted(store)
        if written.strip().isdigit() and now - int(written) > MAX_SILENT_SECONDS:
            _replace_with_tally(store, incoming, ref, tip, known, now)
            return
        incoming.move_to_store(tip, [known] if known else [])
        ref_updates.update(store, f"update {ref} {tip}{f' {known}' if known else ''}\n")
        ref_updates.remove_keep_marks(store)


def _replace_with_tally(store: Store, incoming: Incoming, ref: str, tip: str, known: str | None, now: float) -> None:
    """Replace the inbox of a silent machine with a tally here, and delete it on the remote.

    A machine that comes back sends its inbox again.
    """
    blobs = incoming.read_blobs(
        [blob for _, path, blob in incoming.list_tree(tip) if get_record_id(path).startswith("SIG-")]
    )
    signals: list[Any] = [record for record in yaml_form.parse_many(blobs) if not isinstance(record, ReflectError)]
    made = expiry.build_tallies(store, signals, now)
    if made:
        new = {get_record_path(tally["id"]): yaml_form.emit(tally) for tally in made}
        main_branch.commit_files(
            store, new, f"roll: {plural(len(signals), 'signal')} of a silent machine\n\nMachine: {store.machine}\n"
        )
    if known:
        ref_updates.update(store, f"delete {ref} {known}\n")
    _delete_remote_branches(incoming, [ref])


def _delete_expired(store: Store, gone: Mapping[str, str]) -> None:
    """Delete inbox generations that their machine no longer has: they are expired."""
    if gone:
        with store.locked(_LOCK_SECONDS):
            ref_updates.update(store, "".join(f"delete {ref} {tip}\n" for ref, tip in gone.items()))


def _send(store: Store, incoming: Incoming, heads: Mapping[str, str]) -> None:
    mine = {ref: str(store.git.resolve(ref)) for ref in inbox.list_generations(store)}
    new = {ref: tip for ref, tip in mine.items() if heads.get(ref) != tip}
    if new and incoming.push(new) != remote_git.OK:
        raise ReflectError(
            f"another machine writes to 'inbox/{store.machine}'", "was this store copied? see 'reflect-git doctor'",
            code="inbox",
        )  # fmt: skip
    _delete_remote_branches(
        incoming, [ref for ref in heads if store_paths.get_inbox_machine(ref) == store.machine and ref not in mine]
    )


def _delete_remote_branches(incoming: Incoming, refs: Iterable[str]) -> None:
    """Delete branches on the remote.

    A host may not allow it; then they stay there unused until somebody removes them.
    """
    for ref in refs:
        try:
            incoming.push({ref: ""})
        except ReflectError:
            return
