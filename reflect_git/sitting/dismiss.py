"""No, never, and not now; and each of them taken back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reflect_git.adapters import files
from reflect_git.model.ids import utc_precise
from reflect_git.store import expiry, memory

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from reflect_git.model.schema import By
    from reflect_git.review.candidates import Candidate
    from reflect_git.store.repository import Store

_KEPT = 5000


def dismiss(store: Store, candidate: Candidate, by: By, never: bool = False, reason: str = "") -> tuple[str, str]:
    """No, on every machine: one decision, one commit. Returns both ids. It is asked again after three more sessions.

    In the projects in which it was said; everywhere only if it was for everywhere, or was also said where no project
    is: that is asked in every project.
    """
    kind = "never" if never else "dismissed"
    first, *others = candidate.signals
    where = list(candidate.projects) if candidate.scope != "global" and not candidate.outside else []
    made = memory.decision(
        store, kind, first, by, utc_precise(), key=candidate.key, reason=reason,
        meta={"signals": others, "sessions": candidate.sessions, "projects": where or None},
    )  # fmt: skip
    # The id, not the words: main is shared and kept, a text that nobody approved is neither.
    commit = memory.record(store, [made], f"dismiss: {first}", {"Signal-Id": list(candidate.signals)[:20]})
    return made["id"], commit


def not_now(store: Store, shown: Iterable[Candidate]) -> None:
    """It comes again; that it was seen is kept on this machine only."""
    known = _seen(store)
    seen = list(dict.fromkeys([*known, *(identity for each in shown for identity in each.signals)]))
    if seen != known:
        _keep(store, seen[-_KEPT:])


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
    known = _seen(store)
    kept = [identity for identity in known if identity not in identities]
    if kept != known:
        _keep(store, kept)


def _seen(store: Store) -> list[str]:
    return (files.read_if_there(store.private_path("shown"), 1 << 24) or b"").decode("ascii", "replace").split()


def _keep(store: Store, seen: list[str]) -> None:
    files.write_whole(store.private_path("shown"), "".join(f"{identity}\n" for identity in seen).encode("ascii"))
