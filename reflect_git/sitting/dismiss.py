"""No, never, and not now; and each of them taken back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reflect_git.adapters import files
from reflect_git.model.ids import utc_precise
from reflect_git.store import expiry, memory

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from reflect_git.model.schema import By, Decision
    from reflect_git.review.candidates import Candidate
    from reflect_git.store.repository import Store

_KEPT = 5000


def dismiss(store: Store, candidate: Candidate, by: By, never: bool = False, reason: str = "") -> tuple[str, str]:
    """Say no, or never, to one candidate. Returns the ids of the decision and of the commit."""
    decisions, commit = dismiss_all(store, [candidate], by, never, reason)
    return decisions[0], commit


def dismiss_all(
    store: Store, candidates: Sequence[Candidate], by: By, never: bool = False, reason: str = ""
) -> tuple[list[str], str]:
    """Say no, or never, to several: a decision each, one commit. A no is asked again after three more sessions."""
    made = [_decision(store, each, by, never, reason) for each in candidates]
    # The id, not the words: main is shared and kept, a text that nobody approved is neither.
    first, signals = candidates[0].signals[0], [signal for each in candidates for signal in each.signals]
    subject = f"dismiss: {first}" if len(made) == 1 else f"dismiss: {len(made)} proposed rules"
    return [one["id"] for one in made], memory.record(store, made, subject, {"Signal-Id": signals[:20]})


def _decision(store: Store, candidate: Candidate, by: By, never: bool, reason: str) -> Decision:
    """Make the decision. It counts in the projects in which the candidate was said, and everywhere only if it was for
    everywhere, or was also said outside of any project: that is asked in every project."""
    first, *others = candidate.signals
    where = list(candidate.projects) if candidate.scope != "global" and not candidate.outside else []
    return memory.decision(
        store, "never" if never else "dismissed", first, by, utc_precise(), key=candidate.key, reason=reason,
        meta={"signals": others, "sessions": candidate.sessions, "projects": where or None},
    )  # fmt: skip


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
