"""The commits of main: records are created and never edited, and every trailer says what its records say."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from reflect_git.model.counts import plural
from reflect_git.sitting import mirror, removals
from reflect_git.sitting.audit.matter import DECIDE, NOTE, WARNING, Finding, Matter, said
from reflect_git.store import backups, receipts
from reflect_git.store.chronicle import ADDED, CHANGED, DELETED
from reflect_git.store.expiry import DAY
from reflect_git.store.layout import PURGES, id_in, path_of

if TYPE_CHECKING:
    from reflect_git.model.schema import Decision
    from reflect_git.store.chronicle import Change, Commit

_APPROVING = ("approved", "amended")
_TAKEN_OVER = "sync: "


def look_at_records(matter: Matter) -> Iterator[Finding]:
    """Edited, deleted, or gone in a merge."""
    missing = set(matter.brought) - set(matter.there)
    for commit in matter.commits:
        missing -= {one.path for one in commit.changes if one.kind == DELETED}
        yield from deleted(matter, commit)
        for change in commit.changes:
            if change.record and (change.kind == CHANGED or _is_other(matter, commit, change)):
                first = matter.brought.get(change.path, commit)
                message = f"'{change.record}' was edited by {said(commit)}"
                hint = f"as it was, then commit it: {matter.git('checkout', first.id[:10], '--', change.path)}"
                yield Finding("record-edited", DECIDE, change.record, message, hint, change.path)
    for path in sorted(one for one in missing if id_in(one)):
        commit = matter.brought[path]
        message = f"'{id_in(path)}' came with {said(commit)} and went in a merge"
        hint = f"bring it back: {matter.git('checkout', commit.id[:10], '--', path)}"
        yield Finding("record-deleted", DECIDE, id_in(path), message, hint, path)


def deleted(matter: Matter, commit: Commit) -> Iterator[Finding]:
    """Somebody took records out of main. They were put back, and hold until a person says otherwise."""
    gone = {change.record: change.path for change in commit.changes if change.record and change.kind == DELETED}
    back = {record: path for record, path in gone.items() if path in matter.there}
    for record in gone.keys() - back.keys():
        message = f"'{record}' was removed by {said(commit)}"
        hint = f"bring it back: {matter.git('revert', commit.id[:10])}"
        yield Finding("record-deleted", DECIDE, record, message, hint, gone[record])
    standing = removals.standing(matter.scan.history, back)
    for name in dict.fromkeys(map(removals.name_of, standing)):
        message = f"'{name}' was removed by {said(commit)}, and put back: revert it for good?"
        hint = f"if so: reflect-git revert {name}; 'reflect-git review' asks, too"
        yield Finding("record-deleted", DECIDE, name, message, hint, path_of(name))
    if back and not standing:
        message = f"{said(commit)} removed {plural(len(back), 'record')}, which came back"
        yield Finding("record-deleted", WARNING, commit.id, message, "")


def _is_other(matter: Matter, commit: Commit, change: Change) -> bool:
    """Deleted, and added again with other bytes."""
    first = matter.brought.get(change.path)
    if change.kind != ADDED or first is None or first.id == commit.id:
        return False
    return change.new not in {one.new for one in first.changes if one.path == change.path}


def look_at_commits(matter: Matter) -> Iterator[Finding]:
    """What brings a rule brings the decision behind it, and trailers that agree with it."""
    replaced: set[tuple[str, str]] = set()  # path and blob of all that earlier commits changed or took out
    for commit in matter.commits:
        if len(commit.parents) < 2 and not matter.is_purged(commit):
            yield from _look_at(matter, commit, replaced)
        replaced |= {(change.path, change.old) for change in commit.changes}


def _look_at(matter: Matter, commit: Commit, replaced: set[tuple[str, str]]) -> Iterator[Finding]:
    new = [change for change in commit.changes if matter.brought.get(change.path) is commit]
    brought = [change.record for change in new if change.record]
    if not _is_restored(commit, replaced):
        yield from _undecided(matter, commit, brought)
    if commit.is_ours:
        yield from _trailers(matter, commit, brought)
    elif any(one.startswith(("LRN-", "DEC-")) for one in brought):
        message = f"{said(commit)} brings records that no reflect-git command wrote: {', '.join(brought[:3])}"
        hint = f"if it is not yours, take it back: {matter.git('revert', commit.id[:10])}"
        yield Finding("commit-by-hand", DECIDE, commit.id, message, hint)


def look_at_receipts(matter: Matter) -> Iterator[Finding]:
    """Report commits that look like ours and bring decisions which no command wrote here, nor a sync brought."""
    known = receipts.read(matter.store)
    if known is None:
        return
    lost = receipts.lost_at(matter.store)
    if lost:
        message = f"receipts of decisions were deleted before {lost}: older commits made by hand cannot be found"
        hint = "look through 'reflect-git log' and take back what is not yours; then accept this finding"
        yield Finding("receipts-lost", DECIDE, "receipts", message, hint)
    known_ids = set(known)
    by_hand: dict[str, list[str]] = {}
    for identity in matter.decisions:
        commit = matter.brought.get(path_of(identity))
        if identity not in known_ids and commit is not None and commit.is_ours:
            by_hand.setdefault(commit.id, []).append(identity)
    for commit in matter.commits:
        if commit.id in by_hand:
            listed = ", ".join(by_hand[commit.id][:3])
            message = f"{said(commit)} adds {listed}, but no reflect-git command on this machine wrote it"
            hint = f"if it is not yours, take it back: {matter.git('revert', commit.id[:10])}"
            yield Finding("commit-by-hand", DECIDE, commit.id, message, hint)


def look_at_backups(matter: Matter) -> Iterator[Finding]:
    """Report backups of the last 90 days that were made here and are gone, though neither upkeep nor a purge took them.

    The store lists its backups. A list that was deleted, or is younger than a backup, lacks some; so backups that a
    commit of this machine names count, too. A purge removes some of those, hence only commits after the last purge.
    """
    commits = {name: commit for commit in matter.commits for name in commit.trailers.get("Backup", ())}
    lost = {ref.removeprefix("refs/heads/") for ref in backups.missing(matter.store, matter.now)}
    for name in sorted(lost | _named_backups(matter)):
        commit = commits.get(name)
        if commit is None:
            message = f"the backup '{name}' was made here, but that branch does not exist"
            yield Finding("backup-missing", DECIDE, name, message, "if you deleted it yourself, accept this finding")
        else:
            message = f"{said(commit)} names the backup '{name}', but that branch does not exist"
            hint = f"what it changed: {matter.git('show', commit.id[:10])}"
            yield Finding("backup-missing", DECIDE, commit.id, message, hint)


def _named_backups(matter: Matter) -> set[str]:
    """Return the backups that commits of this machine since the last purge name and that do not exist."""
    oldest = matter.now - backups.KEPT_DAYS * DAY
    there = {ref.removeprefix("refs/heads/") for ref in backups.listing(matter.store)}
    purges = [at for at, one in enumerate(matter.commits) if any(c.path.startswith(f"{PURGES}/") for c in one.changes)]
    named: set[str] = set()
    for commit in matter.commits[purges[-1] + 1 if purges else 0 :]:
        if matter.store.machine in commit.trailers.get("Machine", ()) and commit.time > oldest:
            named.update(commit.trailers.get("Backup", ()))
    return named - there - {""}


def _is_restored(commit: Commit, replaced: set[tuple[str, str]]) -> bool:
    """Whether it brings nothing but what was there before."""
    return commit.is_ours and all((change.path, change.new) in replaced for change in commit.changes)


def _undecided(matter: Matter, commit: Commit, brought: list[str]) -> Iterator[Finding]:
    rules = [one for one in brought if one.startswith("LRN-")]
    mirrors = [one for one in commit.changes if one.path.startswith(f"{mirror.FOLDER}/") and one.kind != DELETED]
    what = [*rules, *(one.path for one in mirrors)]
    if what and not commit.records(ADDED, "DEC-"):
        stands = bool(rules) or any(matter.there.get(one.path) == one.new for one in mirrors)
        # The decision behind a mirror may be among what was purged; the mirror came without the history of both.
        is_purged = not rules and commit.is_ours and bool(matter.purge_before(commit))
        yield Finding(
            "commit-without-decision", NOTE if is_purged else DECIDE if stands else WARNING, commit.id,
            f"{said(commit)} changes '{what[0]}' and brings no decision",
            f"if nobody can say why, take it back: {matter.git('revert', commit.id[:10])}", what[0],
        )  # fmt: skip


def _trailers(matter: Matter, commit: Commit, brought: list[str]) -> Iterator[Finding]:
    made = [matter.decisions[one] for one in brought if one in matter.decisions]
    told = commit.trailers
    if commit.subject.startswith(_TAKEN_OVER) and made and "Decision" not in told:
        message = f"{said(commit)} took over {plural(len(made), 'decision')} without the commits that made them"
        if matter.purge_before(commit):
            message += f": their history had what '{matter.purge_before(commit)}' tells of"
            yield Finding("taken-over", NOTE, commit.id, message, "")
        else:
            yield Finding("taken-over", WARNING, commit.id, message, "the store they come from has those commits")
        return
    for name, value, wanted in _disagreements(matter, told, made, brought):
        message = f"{said(commit)} says '{name}: {value}', and its records say {wanted or 'nothing of the kind'}"
        hint = f"the records are what counts; see: {matter.git('show', commit.id[:10])}"
        yield Finding("trailer-forged", DECIDE, commit.id, message, hint)


def _disagreements(
    matter: Matter, told: dict[str, list[str]], made: list[Decision], brought: list[str]
) -> Iterator[tuple[str, str, str]]:
    """(trailer, what it says, what it should say)."""
    approving = [one for one in made if one["kind"] in _APPROVING]
    learned = {one["subject"] for one in made} | {one for one in brought if one.startswith("LRN-")}
    signals = {one for each in made for one in matter.scan.history.signals_of(each)} | {one["subject"] for one in made}
    targets = {one["target"]["path"] for one in approving if one["target"]}
    resting = [one for one in made if one["kind"] in (*_APPROVING, "reverted") and _has_answer(one)]
    answered = {str(one["meta"]["answer"].get("session", "")) for one in resting}
    # A decision about what Claude wrote names the session that wrote it.
    edited = {str(one["meta"]["session"]) for one in made if one["meta"].get("session")}
    checks: list[tuple[str, set[str], bool]] = [
        ("Decision", {one["id"] for one in made}, True),
        ("Machine", {one["machine"] for one in made}, bool(made)),
        ("Approved-By", {one["by"]["road"] for one in made}, bool(approving)),
        ("Learning-Id", learned, bool(approving)),
        ("Session", answered or edited, bool(answered)),
        ("Target", targets, bool(targets)),
        ("Signal-Id", signals, False),
    ]
    for name, right, is_needed in checks:
        values = told.get(name, [])
        if name == "Machine" and not made:
            continue
        for value in values:
            if value not in right and not (name in ("Signal-Id", "Target") and not approving):
                yield name, value, ", ".join(sorted(right)[:3])
        lacking = sorted(right - set(values)) if name == "Decision" else sorted(right) if not values else []
        if is_needed and lacking:
            yield name, "", lacking[0]


def _has_answer(made: Decision) -> bool:
    return isinstance(made["meta"].get("answer"), dict)
