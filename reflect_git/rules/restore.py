"""Restore a backup byte for byte, revert to a version, or undo the last decision; rules in force follow the file."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from reflect_git.errors import EXIT_USAGE, ReflectError
from reflect_git.platform import instruction_files
from reflect_git.records.ids import utc_precise
from reflect_git.records.named_tuple import NamedTuple
from reflect_git.records.schema import SETTING_KINDS
from reflect_git.rules import file_changes, project_files, revert, snapshot, write_change
from reflect_git.rules.approve import matches_text, target_of
from reflect_git.rules.revert import RevertPlan, Selection, is_switch, without_decisions
from reflect_git.rules.snapshot import parse_entries, read_entries_at
from reflect_git.rules.write_change import Step, WriteResult
from reflect_git.store import api, target_versions
from reflect_git.store.main import backups, user_git
from reflect_git.store.repository import MAIN, PURGES_FOLDER, get_record_id
from reflect_git.targets import target_files
from reflect_git.targets.plan import Plan
from reflect_git.targets.target_files import Target
from reflect_git.targets.target_page import UnfitFileError

if TYPE_CHECKING:
    from reflect_git.candidates.gate import Finding
    from reflect_git.records.history import History
    from reflect_git.records.schema import Decision, DecisionAuthor, Learning
    from reflect_git.rules.context import Context
    from reflect_git.store.main.backups import Backup
    from reflect_git.store.repository import Store

_PREFIX = "backup/"


@dataclass(frozen=True)
class RestorePlan:
    """A planned restore. `removed`: approved since, now removed. `reinstated`: reverted since, now in force again."""

    backup: str
    revert_plan: RevertPlan
    removed: tuple[Learning, ...]
    reinstated: tuple[Learning, ...]

    @property
    def diff(self) -> str:
        return self.revert_plan.diff


def find_backup(store: Store, name: str) -> Backup:
    """Find the one backup whose name contains this text, with or without `backup/`."""
    listed = backups.list_backups(store)
    part = name.strip().removeprefix(_PREFIX).lower()
    exact = [one for one in listed if one.name.lower() == f"{_PREFIX}{part}"]
    found = exact or [one for one in listed if part and part in one.name.lower()]
    if len(found) == 1:
        return found[0]
    if not found:
        raise ReflectError(f"no backup '{name}'", "list them with 'reflect-git restore'", code="unknown-backup")
    some = ", ".join(one.name for one in found[:5]) + (", …" if len(found) > 5 else "")
    raise ReflectError(f"'{name}' is part of {len(found)} names", f"one of: {some}", code="ambiguous-backup")


def plan_restore(ctx: Context, backup: Backup) -> RestorePlan:
    """Plan the exact change, with the learnings it removes or brings back; write nothing."""
    plans = [_build_plan(ctx, path, data) for path, data in backups.read_contents(ctx.store, backup.name)]
    plans = [plan for plan in plans if plan.before != plan.after]
    if not plans:
        raise ReflectError("the files are as they were then", code="unchanged")
    write_change.require_single_names(ctx.place, plans)
    taken = [made for plan in plans for made in _find_decisions(ctx, plan)]
    now = utc_precise()
    followed = revert.build_reverts(ctx, taken, now)
    shifted = file_changes.diff_histories(ctx.scan.history, revert.with_decisions(ctx, followed))
    made = (*(_build_decision(ctx, plan, backup.name, now) for plan in plans), *followed)
    steps = tuple(_build_step(plan, followed) for plan in plans)
    names = ", ".join(plan.path for plan in plans)
    return RestorePlan(
        backup.name,
        RevertPlan(ctx.place, f"{names} as of {backup.time[:16].replace('T', ' ')}", made, steps),
        tuple(one.old.learning for one in shifted if one.old and not one.new),
        tuple(one.new.learning for one in shifted if one.new and not one.old),
    )  # fmt: skip


def _build_plan(ctx: Context, path: str, data: bytes | None) -> Plan:
    return Plan(_find_target(ctx, path), instruction_files.read(path), data, "", "restore")


def _find_target(ctx: Context, path: str) -> Target:
    """Return the target of a file: from the learnings in it, else from its name."""
    place = ctx.place
    known = [target_of(one) for one in ctx.scan.history.learnings.values() if place.is_in_scope(one)]
    for target in dict.fromkeys(known):
        try:
            if place.path_of(target) == path:
                return target
        except ReflectError:
            continue
    for base, is_global in ((place.config, True), (place.root, False)):
        if base and path.startswith(base.rstrip("/") + "/"):
            return target_files.get_target_for_file(path[len(base.rstrip("/")) + 1 :], is_global)
    raise ReflectError(
        f"'{path}' is in no project that is here", "see it with 'git show BACKUP:backup/1' in the store", code="target"
    )


def _find_decisions(ctx: Context, plan: Plan) -> list[Decision]:
    """Return the decisions to revert so that the store matches the restored file."""
    present, wanted = _read_entries(plan, plan.before), _read_entries(plan, plan.after)
    return find_decisions_to_revert(ctx, plan.target, wanted, present)


def _read_entries(plan: Plan, data: bytes | None) -> dict[str, str]:
    try:
        return parse_entries(plan.target.kind, data)
    except UnfitFileError:  # restored anyway; no entries of ours can be read from it
        return {}


def _build_decision(ctx: Context, plan: Plan, backup: str, now: str) -> Decision:
    """Make a decision about the file, so that a restore that changes no rule is recorded."""
    target = plan.target
    return api.build_decision(
        ctx.store, "reverted", target.path, revert.PLACEHOLDER_BY, now,
        target={"kind": target.kind, "path": target.path}, meta={"restored": backup},
    )  # fmt: skip


def _build_step(plan: Plan, followed: Sequence[Decision]) -> Step:
    present, wanted = _read_entries(plan, plan.before), _read_entries(plan, plan.after)
    about = {made["subject"] for made in followed}
    come = tuple(identity for identity in wanted if identity in about and identity not in present)
    go = tuple(identity for identity in present if identity in about and identity not in wanted)
    return Step(plan, come, go)


def write_restore(
    ctx: Context, restoring: RestorePlan, by: DecisionAuthor, asked: Iterable[Finding] = ()
) -> WriteResult:
    """Back up, write the bytes, commit once, then read the files again to verify."""
    done = revert.write_revert(ctx, restoring.revert_plan, by, asked)
    for step in restoring.revert_plan.steps:
        path = ctx.place.path_of(step.plan.target)
        if instruction_files.read(path) != step.plan.after:
            raise instruction_files.FileChanged(path)
    return done


def select_after_version(ctx: Context, to: str, name: str) -> Selection:
    """Choose every decision made after version `name` of a target."""
    if to.partition(":")[0] in ("rules", "global-rules"):
        raise ReflectError("a rules file holds one learning", "revert it by its id", "usage", EXIT_USAGE)
    target, listed = find_versions(ctx, to)
    at = snapshot.find_version(listed, name)
    wanted = read_entries_at(ctx.store, at, target.kind)
    history = ctx.scan.history
    in_force = {one["id"] for one in history.get_rules_in_force() if _is_in_file(ctx, one, target)}
    known = {get_record_id(path) for path in ctx.store.git.tree(at.commit, "learnings")}
    decisions = find_decisions_to_revert(ctx, target, wanted, in_force, known)
    if not decisions:
        raise ReflectError(f"'{target.path}' has the entries of {name} already", code="unchanged")
    return Selection(tuple(decisions), title=f"{target.path} to v{at.number}")


def find_versions(ctx: Context, to: str) -> tuple[Target, list[target_versions.Version]]:
    """Return the target and its versions; by default the project's file if it has any, else the global one."""
    around = project_files.load_surroundings(ctx.place)
    names = [to] if to else [*(["project"] if ctx.place.root else []), "global"]
    for name in names:
        target = target_files.resolve_target(name, around, "")
        listed = target_versions.list_versions(ctx.store, snapshot.get_snapshot_path(ctx.store, ctx.place, target))
        if listed:
            return target, listed
    raise ReflectError(
        "nothing was ever written there", "choose a file with --to-target, see 'reflect-git approve --help'",
        code="unknown-version",
    )  # fmt: skip


def _is_in_file(ctx: Context, learning: Learning, target: Target) -> bool:
    return ctx.place.is_in_scope(learning) and _is_same_file(target_of(learning), target)


def _is_same_file(one: Target, other: Target) -> bool:
    return (one.is_global, one.path) == (other.is_global, other.path)


def find_decisions_to_revert(
    ctx: Context, target: Target, wanted: Mapping[str, str], present: Collection[str], known: Collection[str] = ()
) -> list[Decision]:
    """Return the decisions to revert so that the entries in force in a file are `wanted` (id → text).

    `present` are the ids in it now. A learning that was `known` then and moved in later moves out again; any other is
    reverted.
    """
    history = ctx.scan.history
    in_force = {one["id"]: one for one in history.get_rules_in_force()}
    found: dict[str, Decision] = {}
    for record_id in dict.fromkeys((*present, *wanted)):
        learning = history.learnings.get(record_id)
        if learning is None or not ctx.place.is_in_scope(learning):
            continue
        if record_id in wanted:
            listed = [
                *history.get_decisions_against(record_id),
                *_find_rewordings(ctx, learning, wanted[record_id], target),
            ]
        elif record_id in in_force:
            listed = _find_decisions_to_remove(ctx, learning, target, record_id in known)
        else:
            listed = []
        found.update({made["id"]: made for made in listed})
    return list(found.values())


def _find_rewordings(ctx: Context, learning: Learning, text: str, target: Target) -> list[Decision]:
    """Return the last amendments to revert until the learning has this text in this file; empty if it never had."""
    if matches_text(learning, text) and _is_same_file(target_of(learning), target):
        return []
    for last in _list_last_amendments(ctx, learning["id"]):
        was = without_decisions(ctx, last).learnings[learning["id"]]
        if matches_text(was, text) and _is_same_file(target_of(was), target):
            return last
    return []


def _find_decisions_to_remove(ctx: Context, learning: Learning, target: Target, is_known: bool) -> list[Decision]:
    """Return the decisions to revert so that a learning leaves the file: to its earlier file, or out of force."""
    if is_known:
        for last in _list_last_amendments(ctx, learning["id"]):
            if not _is_same_file(target_of(without_decisions(ctx, last).learnings[learning["id"]]), target):
                return last
    return [made for made in ctx.scan.history.decisions if made["id"] == learning["decision"]]


def _list_last_amendments(ctx: Context, record_id: str) -> Iterator[list[Decision]]:
    """Yield the last amendment in force, the last two, and so on."""
    history = ctx.scan.history
    standing = [
        made
        for made in history.decisions
        if made["kind"] == "amended" and made["subject"] == record_id and made["id"] not in history.void_decisions
    ]
    for count in range(1, len(standing) + 1):
        yield standing[-count:]


_BATCH_SIZE = 50
_PERSON_CHANNELS = ("terminal", "ask-user-question", "keep", "panel")


def select_last(ctx: Context, only_persons: bool = True) -> Selection:
    """Choose the decisions of this machine's newest commit, or of the newest one in which a person decided.

    Skipped: policy changes, which have their own command, and decisions about purged learnings. A purge since then
    raises an error instead of being skipped. Commit order counts, so a clock that was wrong once does not make a
    decision the last one forever.
    """
    learnings = ctx.scan.history.learnings
    known = {made["id"]: made for made in ctx.scan.history.decisions}
    for commit, named in _list_commits(ctx.store):
        decisions = tuple(known[one] for one in named if one in known)
        there = [made for made in decisions if not made["subject"].startswith("LRN-") or made["subject"] in learnings]
        mine = [made for made in there if made["machine"] == ctx.store.machine and not _is_skipped(made)]
        if mine and (not only_persons or any(made["by"]["road"] in _PERSON_CHANNELS for made in mine)):
            _require_no_purge(ctx.store, commit, mine)
            return Selection(decisions, commit)
    # After taking over a purge, a clone has the earlier decisions without the commits that made them.
    is_after = bool(ctx.store.git.tree(MAIN, PURGES_FOLDER))
    raise ReflectError(
        "no decision since the last purge, and the order of earlier ones is unknown"
        if is_after
        else "no decisions about rules or signals on this machine yet",
        "revert a rule with 'reflect-git revert LRN-…'; change policies with 'reflect-git config'",
        code="nothing",
    )  # fmt: skip


def _require_no_purge(store: Store, commit: str, before: list[Decision]) -> None:
    """Raise if a purge was the last action here: "undo" would mean the purge, which cannot be undone."""
    form = "--format=%cs %(trailers:key=Machine,valueonly,unfold,separator=%x20)"
    asked = ("log", "--no-show-signature", "--diff-filter=A", form, f"{commit}..{MAIN}", "--", PURGES_FOLDER)
    rows = [line.split() for line in store.git.run(*asked).out.decode("utf-8", "replace").splitlines()]
    here = [day for day, *machines in rows if store.machine in machines]
    if here:
        made = before[0]
        name = made["id"] if len(before) == 1 else commit[:10]
        raise ReflectError(
            f"the last thing done here was a purge, on {here[0]}, which cannot be undone",
            f"what was decided before it ({made['kind']}: {made['subject']}) is taken back with "
            f"'reflect-git revert {name}'", code="purged",
        )  # fmt: skip


def _is_skipped(made: Decision) -> bool:
    """Tell whether a decision only carried out an earlier one, or switched a policy."""
    return (made["kind"] == "applied" and bool(made["meta"].get("settled"))) or is_switch(made)


def _list_commits(store: Store) -> Iterator[tuple[str, list[str]]]:
    """Yield (commit, the decisions it both names and adds), newest first.

    Anybody who can write to the remote can name any decision in a commit, but cannot add one that already exists.
    """
    form = "--format=%x00%H %(trailers:key=Decision,valueonly,unfold,separator=%x20)"
    skip = 0
    while True:
        asked = (
            "log",
            "--no-show-signature",
            f"--skip={skip}",
            f"--max-count={_BATCH_SIZE}",
            "--name-only",
            "--diff-filter=A",
            form,
            MAIN,
            "--",
            "decisions",
        )
        rows = store.git.run(*asked).out.decode("utf-8", "replace").split("\0")[1:]
        for one in rows:
            head, *paths = one.split("\n")
            commit, *named = head.split()
            new_ids = {get_record_id(path) for path in paths}
            yield commit, [name for name in named if name in new_ids]
        if len(rows) < _BATCH_SIZE:
            return
        skip += len(rows)


class Removal(NamedTuple):
    """One commit of the person's own git that removed records, and the decisions still in force among them."""

    commit: str
    decisions: tuple[Decision, ...]

    @property
    def key(self) -> str:
        return f"removed {self.commit}"

    @property
    def selection(self) -> Selection:
        """Return all of these decisions, to be reverted."""
        return Selection(self.decisions)


def list_removals(store: Store, history: History) -> list[Removal]:
    """List the removals that still need an answer, oldest first."""
    listed: dict[str, list[str]] = {}
    for record, commit in user_git.load_removed(store).items():
        listed.setdefault(commit, []).append(record)
    found = [Removal(commit, tuple(filter_revertible(history, records))) for commit, records in listed.items()]
    return [one for one in found if one.decisions]


def filter_revertible(history: History, records: Iterable[str]) -> list[Decision]:
    """Return the decisions behind these records that are in force and can be reverted."""
    known = history.learnings
    named = {known[one]["decision"] if one in known else one for one in records}
    in_force = {one["id"] for one in history.get_rules_in_force()}
    return [
        made
        for made in history.decisions
        if made["id"] in named and made["id"] not in history.void_decisions and made["kind"] not in SETTING_KINDS
        and (made["kind"] != "approved" or made["subject"] in in_force)
    ]  # fmt: skip


def get_revert_name(made: Decision) -> str:
    """Return the name for `revert`: a rule's id, which includes what it replaced, else the decision's id."""
    if made["kind"] == "approved":
        return made["subject"]
    return str(made["meta"].get("by") or made["id"]) if made["kind"] == "superseded" else made["id"]
