"""No, never, and not now."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reflect_git.adapters import files
from reflect_git.model.ids import utc_precise
from reflect_git.store import memory

if TYPE_CHECKING:
    from collections.abc import Iterable

    from reflect_git.model.schema import By
    from reflect_git.review.candidates import Candidate
    from reflect_git.store.repository import Store

_KEPT = 5000


def dismiss(store: Store, candidate: Candidate, by: By, never: bool = False, reason: str = "") -> tuple[str, str]:
    """No, on every machine: one decision, one commit. Returns both ids. It is asked again after three more sessions."""
    kind = "never" if never else "dismissed"
    first, *others = candidate.signals
    made = memory.decision(
        store, kind, first, by, utc_precise(), key=candidate.key, reason=reason,
        meta={"signals": others, "sessions": candidate.sessions},
    )  # fmt: skip
    # The id, not the words: main is shared and kept, a text that nobody approved is neither.
    commit = memory.record(store, [made], f"dismiss: {first}", {"Signal-Id": list(candidate.signals)[:20]})
    return made["id"], commit


def not_now(store: Store, shown: Iterable[Candidate]) -> None:
    """It comes again; that it was seen is kept on this machine only."""
    path = store.private_path("shown")
    known = (files.read_if_there(path, 1 << 24) or b"").decode("ascii", "replace").split()
    seen = list(dict.fromkeys([*known, *(identity for each in shown for identity in each.signals)]))
    if seen != known:
        files.write_whole(path, ("\n".join(seen[-_KEPT:]) + "\n").encode("ascii"))
