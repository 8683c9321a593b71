"""Dismiss, dismiss for good, or postpone proposed rules, and undo each of these."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from reflect_git.errors import ReflectError
from reflect_git.platform import files
from reflect_git.records.history import DECLINED, get_decision_name
from reflect_git.records.ids import utc_precise
from reflect_git.records.schema import GUARD_KINDS
from reflect_git.store import api, expiry
from reflect_git.store.local import refusals
from reflect_git.store.reading import reader

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from reflect_git.candidates.gather import Candidate
    from reflect_git.records.history import History
    from reflect_git.records.schema import Decision, DecisionAuthor
    from reflect_git.store.reading.reader import Scan
    from reflect_git.store.repository import Store

_MAX_SEEN = 5000
_WAITING = "captured"


class AnsweredElsewhere(ReflectError):
    """Another process answered the same question first."""

    def __init__(self, record_id: str) -> None:
        super().__init__(
            f"{record_id} was answered elsewhere in the meantime", "see it with: reflect-git log", "answered"
        )


def list_waiting(scan: Scan, signals: Collection[str]) -> list[str]:
    """List those of these signals that nobody has answered."""
    return [one for one, status in _list_statuses(scan, signals) if status == _WAITING]


def require_waiting(store: Store, signals: Collection[str]) -> None:
    """Raise if somebody answered one of these signals. The caller holds the lock, so nobody can do it afterwards."""
    for one, status in _list_statuses(reader.scan(store), signals):
        if status != _WAITING:
            raise AnsweredElsewhere(one)


def _list_statuses(scan: Scan, signals: Collection[str]) -> list[tuple[str, str]]:
    columns, wanted = scan.columns, set(signals)
    return [one for one in zip(columns["id"], columns["status"], strict=True) if one[0] in wanted]


def dismiss(
    store: Store, candidate: Candidate, by: DecisionAuthor, never: bool = False, reason: str = ""
) -> tuple[str, str]:
    """Dismiss one candidate, for good if `never`; return the ids of the decision and the commit."""
    decisions, commit = dismiss_all(store, [candidate], by, never, reason)
    return decisions[0], commit


def dismiss_all(
    store: Store, candidates: Sequence[Candidate], by: DecisionAuthor, never: bool = False, reason: str = ""
) -> tuple[list[str], str]:
    """Dismiss several candidates: one decision each, one commit.

    Without `never`, each may return after three more sessions.
    """
    made = [_build_decision(store, each, by, never, reason) for each in candidates]
    # The id, not the words: main is shared and permanent, and a text that nobody approved must not be in it.
    first, signals = candidates[0].signals[0], [signal for each in candidates for signal in each.signals]
    subject = f"dismiss: {first}" if len(made) == 1 else f"dismiss: {len(made)} proposed rules"
    commit = api.commit_records(
        store, made, subject, {"Signal-Id": signals[:20]}, check=lambda: require_waiting(store, signals)
    )
    for each in candidates:
        refusals.add_refusal(store, each.text)
    return [one["id"] for one in made], commit


def _build_decision(store: Store, candidate: Candidate, by: DecisionAuthor, never: bool, reason: str) -> Decision:
    """Make the decision for one candidate.

    It counts in the projects where the candidate was said. It counts everywhere only if the candidate was global or was
    also said outside any project, because then every project asks about it.
    """
    first, *others = candidate.signals
    where = list(candidate.projects) if candidate.scope != "global" and not candidate.outside else []
    return api.build_decision(
        store, "never" if never else "dismissed", first, by, utc_precise(), key=candidate.key, reason=reason,
        meta={"signals": others, "sessions": candidate.sessions, "projects": where or None},
    )  # fmt: skip


def mark_seen(store: Store, shown: Iterable[Candidate]) -> None:
    """Mark candidates as seen on this machine only; they come up again later."""
    known = _load_seen(store)
    seen = list(dict.fromkeys([*known, *(identity for each in shown for identity in each.signals)]))
    if seen != known:
        _write_seen(store, seen[-_MAX_SEEN:])


def reopen(store: Store, candidate: Candidate, decision: str, by: DecisionAuthor) -> str:
    """Return a dismissed candidate to review: one decision that reverts the other, one commit. Return the commit."""
    first, *others = candidate.signals
    made = api.build_decision(
        store, "reverted", first, by, utc_precise(), key=candidate.key, reopens=decision, meta={"signals": others}
    )
    return api.commit_records(
        store, [made], f"revert: {first}", {"Signal-Id": list(candidate.signals)[:20], "Reverts": [decision]}
    )


def list_unseen(store: Store, candidate: Candidate) -> tuple[str, ...]:
    """Return those of its signals that nobody has seen yet."""
    seen = expiry.load_shown_ids(store)
    return tuple(identity for identity in candidate.signals if identity not in seen)


def mark_unseen(store: Store, identities: Collection[str]) -> None:
    """Mark signals as unseen."""
    known = _load_seen(store)
    kept = [identity for identity in known if identity not in identities]
    if kept != known:
        _write_seen(store, kept)


def _load_seen(store: Store) -> list[str]:
    return (files.read_if_exists(store.private_path("shown"), 1 << 24) or b"").decode("ascii", "replace").split()


def _write_seen(store: Store, seen: list[str]) -> None:
    files.write_atomic(store.private_path("shown"), "".join(f"{identity}\n" for identity in seen).encode("ascii"))


CHANGING_KINDS = ("approved", "amended", "reverted", "superseded")
# A revert of one of these changes no rule.
_OTHER_ROOTS = ("applied", "pinned", "kept", *GUARD_KINDS)


def is_decline(made: Decision) -> bool:
    """Tell whether this is an `applied` decision that declines a rule here."""
    return get_decision_name(made) == DECLINED


def find_declines(history: History, machine: str) -> dict[str, Decision]:
    """Map each learning to the decline in force: not reverted, and about the latest decision."""
    declines = {
        made["subject"]: made
        for made in history.decisions
        if is_decline(made) and made["machine"] == machine and made["id"] not in history.void_decisions
    }
    if not declines:
        return {}
    by_id = {made["id"]: made for made in history.decisions}
    last = {
        made["subject"]: _find_effective_id(by_id, made)
        for made in history.decisions
        if made["subject"] in declines and is_rule_change(by_id, made)
    }
    return {
        identity: made
        for identity, made in declines.items()
        if (answered := by_id.get(str(made["meta"].get("of"))))
        and last.get(identity) == _find_effective_id(by_id, answered)
    }


def is_rule_change(by_id: Mapping[str, Decision], made: Decision) -> bool:
    """Tell whether a decision changes the text of a rule, or whether it is in force."""
    return made["kind"] in CHANGING_KINDS and find_root(by_id, made)[0]["kind"] not in _OTHER_ROOTS


def _find_effective_id(by_id: Mapping[str, Decision], made: Decision) -> str:
    """Return the id of the effective decision: a revert of a revert restores the original."""
    root, is_undone = find_root(by_id, made)
    return made["id"] if is_undone else root["id"]


def find_root(by_id: Mapping[str, Decision], made: Decision) -> tuple[Decision, bool]:
    """Return the decision that a chain of reverts is about, and whether the chain undoes it."""
    is_undone = False
    seen: set[str] = set()
    while made["kind"] == "reverted" and made["id"] not in seen:
        seen.add(made["id"])
        reopened = by_id.get(made["reopens"] or "")
        if reopened is None:
            break
        made, is_undone = reopened, not is_undone
    return made, is_undone
