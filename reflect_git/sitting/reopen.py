"""Taking an answer back: a no, a never, a not now."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reflect_git.adapters import files
from reflect_git.model.ids import utc_precise
from reflect_git.store import expiry, memory

if TYPE_CHECKING:
    from collections.abc import Collection

    from reflect_git.model.schema import By
    from reflect_git.review.candidates import Candidate
    from reflect_git.store.repository import Store


def reopen(store: Store, candidate: Candidate, decision: str, by: By) -> str:
    """It waits again: one decision that takes the other back, one commit. Returns the commit."""
    first, *others = candidate.signals
    made = memory.decision(
        store, "reverted", first, by, utc_precise(), key=candidate.key, reopens=decision, meta={"signals": others}
    )
    return memory.record(
        store, [made], f"revert: {first}", {"Signal-Id": list(candidate.signals)[:20], "Reverts": [decision]}
    )


def unseen(store: Store, candidate: Candidate) -> tuple[str, ...]:
    """Which of its signals nobody saw yet."""
    seen = expiry.shown(store)
    return tuple(identity for identity in candidate.signals if identity not in seen)


def forget_seen(store: Store, identities: Collection[str]) -> None:
    """As if a person had never seen them."""
    path = store.private_path("shown")
    known = (files.read_if_there(path, 1 << 24) or b"").decode("ascii", "replace").split()
    kept = [identity for identity in known if identity not in identities]
    if kept != known:
        files.write_whole(path, "".join(f"{identity}\n" for identity in kept).encode("ascii"))
