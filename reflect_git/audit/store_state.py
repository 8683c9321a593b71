"""Check main and the store: edited records, wrong trailers, receipts, refs, objects, clock, policies, signatures."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from reflect_git.audit.context import DECIDE, ERROR, NOTE, WARNING, AuditContext, Finding, format_commit
from reflect_git.doctor import list_uncommitted
from reflect_git.guards import entry, table
from reflect_git.platform import files
from reflect_git.records.ids import get_id_day, parse_utc, plural, utc
from reflect_git.rules import restore
from reflect_git.rules.guarding import guards
from reflect_git.store import config_file, lost_signals, machines, policy, target_versions
from reflect_git.store.expiry import DAY
from reflect_git.store.lost_signals import CheckContext
from reflect_git.store.main import backups, receipts, signing, user_git
from reflect_git.store.main.commit_log import ADDED, CHANGED, DELETED
from reflect_git.store.repository import MAIN, PURGES_FOLDER, get_record_id, get_record_path

if TYPE_CHECKING:
    from reflect_git.records.schema import Decision
    from reflect_git.store.main.commit_log import Change, Commit

_APPROVING_KINDS = ("approved", "amended")
_SYNC_PREFIX = "sync: "


def check_records(ctx: AuditContext) -> Iterator[Finding]:
    """Report records that were edited, deleted, or lost in a merge."""
    missing = set(ctx.added_by) - set(ctx.main_tree)
    for commit in ctx.commits:
        missing -= {one.path for one in commit.changes if one.kind == DELETED}
        yield from check_deleted(ctx, commit)
        for change in commit.changes:
            if change.record_id and (change.kind == CHANGED or _has_other_bytes(ctx, commit, change)):
                first = ctx.added_by.get(change.path, commit)
                message = f"'{change.record_id}' was edited by {format_commit(commit)}"
                command = ctx.format_git_command("checkout", first.id[:10], "--", change.path)
                hint = f"as it was, then commit it: {command}"
                yield Finding("record-edited", DECIDE, change.record_id, message, hint, change.path)
    for path in sorted(one for one in missing if get_record_id(one)):
        commit = ctx.added_by[path]
        message = f"'{get_record_id(path)}' came with {format_commit(commit)} and went in a merge"
        hint = f"bring it back: {ctx.format_git_command('checkout', commit.id[:10], '--', path)}"
        yield Finding("record-deleted", DECIDE, get_record_id(path), message, hint, path)


def check_deleted(ctx: AuditContext, commit: Commit) -> Iterator[Finding]:
    """Report records that a commit removed from main; those put back stay in force until a person decides."""
    gone = {change.record_id: change.path for change in commit.changes if change.record_id and change.kind == DELETED}
    back = {record: path for record, path in gone.items() if path in ctx.main_tree}
    for record in gone.keys() - back.keys():
        message = f"'{record}' was removed by {format_commit(commit)}"
        hint = f"bring it back: {ctx.format_git_command('revert', commit.id[:10])}"
        yield Finding("record-deleted", DECIDE, record, message, hint, gone[record])
    standing = restore.filter_revertible(ctx.scan.history, back)
    for name in dict.fromkeys(map(restore.get_revert_name, standing)):
        message = f"'{name}' was removed by {format_commit(commit)}, and put back: revert it for good?"
        hint = f"if so: reflect-git revert {name}; 'reflect-git review' asks, too"
        yield Finding("record-deleted", DECIDE, name, message, hint, get_record_path(name))
    if back and not standing:
        message = f"{format_commit(commit)} removed {plural(len(back), 'record')}, which came back"
        yield Finding("record-deleted", WARNING, commit.id, message, "")


def _has_other_bytes(ctx: AuditContext, commit: Commit, change: Change) -> bool:
    """Tell whether a record was deleted and then added again with other bytes."""
    first = ctx.added_by.get(change.path)
    if change.kind != ADDED or first is None or first.id == commit.id:
        return False
    return change.new not in {one.new for one in first.changes if one.path == change.path}


def check_commits(ctx: AuditContext) -> Iterator[Finding]:
    """Report commits that add a rule without its decision, or whose trailers contradict their records."""
    replaced: set[tuple[str, str]] = set()  # path and blob of everything that earlier commits changed or removed
    for commit in ctx.commits:
        if len(commit.parents) < 2 and not ctx.is_purged(commit):
            yield from _check_commit(ctx, commit, replaced)
        replaced |= {(change.path, change.old) for change in commit.changes}


def _check_commit(ctx: AuditContext, commit: Commit, replaced: set[tuple[str, str]]) -> Iterator[Finding]:
    """Check one commit."""
    new = [change for change in commit.changes if ctx.added_by.get(change.path) is commit]
    new_ids = [change.record_id for change in new if change.record_id]
    if not _is_restored(commit, replaced):
        yield from _check_undecided(ctx, commit, new_ids)
    if commit.is_ours:
        yield from _check_trailers(ctx, commit, new_ids)
    elif any(one.startswith(("LRN-", "DEC-")) for one in new_ids):
        message = f"{format_commit(commit)} brings records that no reflect-git command wrote: {', '.join(new_ids[:3])}"
        hint = f"if it is not yours, take it back: {ctx.format_git_command('revert', commit.id[:10])}"
        yield Finding("commit-by-hand", DECIDE, commit.id, message, hint)


def check_guards(ctx: AuditContext) -> Iterator[Finding]:
    """Report guards that Claude Code does not run: somebody removed or changed their entry, or damaged their table."""
    git_dir = ctx.store.git_dir
    problem, count = table.find_problem(git_dir), len(table.read_table(git_dir))
    if ctx.store.is_enabled("reflect.capture", True):  # 'disable' removes them all
        count = max(count, len(guards.list_guards(ctx.scan.history, ctx.store.machine)))
    if problem:
        yield Finding("guards-damaged", DECIDE, "guards", f"guards do not work: {problem}", "reflect-git doctor --fix")
    state = entry.entry_state(ctx.env, ctx.store.root) if count else entry.PRESENT
    if state != entry.PRESENT:
        message = f"{plural(count, 'guard')} in force, but the entry in Claude Code's settings.json is {state}"
        yield Finding("guard-entry", DECIDE, "guards", message, "add it again: reflect-git enable")


def check_decorative(ctx: AuditContext) -> Iterator[Finding]:
    """Report older rules that nothing enforces or counts, unless a person keeps them as advice."""
    in_force = ctx.scan.history.get_rules_in_force()
    for rule, why in guards.find_decorative_rules(ctx.store, ctx.scan, in_force, ctx.now):
        hint = f"guard it: reflect-git guard {rule['id']}; or keep it as advice: reflect-git review"
        yield Finding("rule-decorative", NOTE, rule["id"], f"'{rule['id']}' is decorative: {why}", hint)


def check_receipts(ctx: AuditContext) -> Iterator[Finding]:
    """Report commits that look like ours but add decisions that no command wrote and no sync brought."""
    known = receipts.read_ids(ctx.store)
    if known is None:
        return
    lost = receipts.get_loss_time(ctx.store)
    if lost:
        message = f"receipts of decisions were deleted before {lost}: older commits made by hand cannot be found"
        hint = "look through 'reflect-git log' and take back what is not yours; then accept this finding"
        yield Finding("receipts-lost", DECIDE, "receipts", message, hint)
    known_ids = set(known)
    by_hand: dict[str, list[str]] = {}
    for record_id in ctx.decisions:
        commit = ctx.added_by.get(get_record_path(record_id))
        if record_id not in known_ids and commit is not None and commit.is_ours:
            by_hand.setdefault(commit.id, []).append(record_id)
    for commit in ctx.commits:
        if commit.id in by_hand:
            listed = ", ".join(by_hand[commit.id][:3])
            message = f"{format_commit(commit)} adds {listed}, but no reflect-git command on this machine wrote it"
            hint = f"if it is not yours, take it back: {ctx.format_git_command('revert', commit.id[:10])}"
            yield Finding("commit-by-hand", DECIDE, commit.id, message, hint)


def check_backups(ctx: AuditContext) -> Iterator[Finding]:
    """Report backups of the last 90 days that are gone although neither maintenance nor a purge removed them.

    The store lists its backups. A list that was deleted, or is younger than a backup, is incomplete. So backups named
    by a commit of this machine also count. A purge removes some of those, hence only commits after the last purge.
    """
    commits = {name: commit for commit in ctx.commits for name in commit.trailers.get("Backup", ())}
    lost = {ref.removeprefix("refs/heads/") for ref in backups.find_missing(ctx.store, ctx.now)}
    for name in sorted(lost | _find_missing_backups(ctx)):
        commit = commits.get(name)
        if commit is None:
            message = f"the backup '{name}' was made here, but that branch does not exist"
            yield Finding("backup-missing", DECIDE, name, message, "if you deleted it yourself, accept this finding")
        else:
            message = f"{format_commit(commit)} names the backup '{name}', but that branch does not exist"
            hint = f"what it changed: {ctx.format_git_command('show', commit.id[:10])}"
            yield Finding("backup-missing", DECIDE, commit.id, message, hint)


def _find_missing_backups(ctx: AuditContext) -> set[str]:
    """Return the missing backups that commits of this machine since the last purge name."""
    oldest = ctx.now - backups.KEEP_DAYS * DAY
    there = {ref.removeprefix("refs/heads/") for ref in backups.list_refs(ctx.store)}
    purges = [
        at for at, one in enumerate(ctx.commits) if any(c.path.startswith(f"{PURGES_FOLDER}/") for c in one.changes)
    ]
    named: set[str] = set()
    for commit in ctx.commits[purges[-1] + 1 if purges else 0 :]:
        if ctx.store.machine in commit.trailers.get("Machine", ()) and commit.time > oldest:
            named.update(commit.trailers.get("Backup", ()))
    return named - there - {""}


def _is_restored(commit: Commit, replaced: set[tuple[str, str]]) -> bool:
    """Tell whether a commit only restores what was there before."""
    return commit.is_ours and all((change.path, change.new) in replaced for change in commit.changes)


def _check_undecided(ctx: AuditContext, commit: Commit, new_ids: list[str]) -> Iterator[Finding]:
    """Report a commit that changes rules or snapshots without adding a decision."""
    rules = [one for one in new_ids if one.startswith("LRN-")]
    mirrors = [
        one for one in commit.changes if one.path.startswith(f"{target_versions.FOLDER}/") and one.kind != DELETED
    ]
    what = [*rules, *(one.path for one in mirrors)]
    if what and not commit.list_records(ADDED, "DEC-"):
        stands = bool(rules) or any(ctx.main_tree.get(one.path) == one.new for one in mirrors)
        # The decision behind a snapshot may have been purged; the snapshot was kept without the history of both.
        is_purged = not rules and commit.is_ours and bool(ctx.find_purge_before(commit))
        yield Finding(
            "commit-without-decision", NOTE if is_purged else DECIDE if stands else WARNING, commit.id,
            f"{format_commit(commit)} changes '{what[0]}' and brings no decision",
            f"if nobody can say why, take it back: {ctx.format_git_command('revert', commit.id[:10])}", what[0],
        )  # fmt: skip


def _check_trailers(ctx: AuditContext, commit: Commit, new_ids: list[str]) -> Iterator[Finding]:
    """Report trailers that contradict the records of a commit."""
    made = [ctx.decisions[one] for one in new_ids if one in ctx.decisions]
    trailers = commit.trailers
    if commit.subject.startswith(_SYNC_PREFIX) and made and "Decision" not in trailers:
        message = (
            f"{format_commit(commit)} took over {plural(len(made), 'decision')} without the commits that made them"
        )
        if ctx.find_purge_before(commit):
            message += f": '{ctx.find_purge_before(commit)}' purged their history"
            yield Finding("taken-over", NOTE, commit.id, message, "")
        else:
            yield Finding("taken-over", WARNING, commit.id, message, "the store they come from has those commits")
        return
    for name, value, wanted in _find_trailer_errors(ctx, trailers, made, new_ids):
        message = (
            f"{format_commit(commit)} says '{name}: {value}', and its records say {wanted or 'nothing of the kind'}"
        )
        hint = f"the records are what counts; see: {ctx.format_git_command('show', commit.id[:10])}"
        yield Finding("trailer-forged", DECIDE, commit.id, message, hint)


def _find_trailer_errors(
    ctx: AuditContext, trailers: dict[str, list[str]], made: list[Decision], new_ids: list[str]
) -> Iterator[tuple[str, str, str]]:
    """Yield (trailer, what it says, what it should say)."""
    approving = [one for one in made if one["kind"] in _APPROVING_KINDS]
    learned = {one["subject"] for one in made} | {one for one in new_ids if one.startswith("LRN-")}
    signals = {one for each in made for one in ctx.scan.history.get_signals(each)} | {one["subject"] for one in made}
    targets = {one["target"]["path"] for one in approving if one["target"]}
    resting = [one for one in made if one["kind"] in (*_APPROVING_KINDS, "reverted") and _has_answer(one)]
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
        values = trailers.get(name, [])
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


DAY_SECONDS = 86400
_MAX_DAMAGED = 5
_SHOWN_PREFIXES, _MAX_DAYS_SHOWN = ("LRN-", "DEC-"), 2  # days between showing a proposed rule and its answer


def check_objects(ctx: AuditContext) -> Iterator[Finding]:
    """Report damaged git objects."""
    result = ctx.store.git.fsck()
    if result.code == 0:
        return
    lines = (result.out + result.err).decode("utf-8", "replace").splitlines()
    case = CheckContext(ctx.store, ctx.now, ctx.read)  # type: ignore[arg-type]
    for oid in sorted(case.bad_objects)[:_MAX_DAMAGED] or [MAIN]:
        trailers = next((line for line in lines if oid in line), lines[0] if lines else "git fsck failed")
        hint = "run 'reflect-git doctor'; restore the rest from another machine or a backup of the folder"
        yield Finding("object-corrupted", ERROR, oid, f"git fsck: {trailers}", hint)


def check_refs(ctx: AuditContext) -> Iterator[Finding]:
    """Report commits that main once had, by its reflog and the last commands, and no longer has."""
    store = ctx.store
    now = store.git.resolve(MAIN)
    if now is None:
        hint = "reflect-git doctor --fix"
        yield Finding("ref-moved-back", ERROR, MAIN, "the branch 'main' is missing", f"put it back: {hint}")
        return
    log = files.read_if_exists(os.path.join(store.git_dir, "logs", *MAIN.split("/")), 1 << 26) or b""
    places = [line.split()[1].decode("ascii", "replace") for line in log.splitlines() if line.count(b" ") > 1]
    known = [one for one in dict.fromkeys([*places, *user_git.load_tips(store)]) if one.strip("0")]
    asked = "".join(f"{one}\n" for one in [*known, f"^{now}"]).encode("ascii")
    left = set(store.git.run("rev-list", "--ignore-missing", "--stdin", stdin=asked).out.decode("ascii").split())
    heads = [one for one in known if one in left]
    for one in _filter_independent(ctx, heads):
        message = f"main was at {one[:10]} and does not have it any more"
        hint = f"bring back what was there: {ctx.format_git_command('merge', one[:10])}"
        yield Finding("ref-moved-back", DECIDE, one, message, hint)


def _filter_independent(ctx: AuditContext, heads: list[str]) -> list[str]:
    """Return the heads that are not ancestors of another one."""
    if len(heads) < 2:
        return heads
    return ctx.store.git.run("merge-base", "--independent", *heads[-50:]).out.decode("ascii").split()


def check_files(ctx: AuditContext) -> Iterator[Finding]:
    """Report records that cannot be parsed, and uncommitted changes to records."""
    for path, reason in sorted(ctx.scan.unreadable.items()):
        hint = "correct the file on main and commit it"
        yield Finding("record-unreadable", DECIDE, path, f"'{path}' cannot be read: {reason}", hint, path)
    for path in list_uncommitted(ctx.store):
        if path.startswith(
            ("learnings/", "decisions/", "tally/", "exposure/", "evaluations/", "targets/", "machines/", PURGES_FOLDER)
        ):
            hint = f"take it back: {ctx.format_git_command('checkout', '--', path)}"
            message = f"'{path}' differs from what main has"
            yield Finding("record-edited", DECIDE, path, message, hint, path)


def check_missing(ctx: AuditContext) -> Iterator[Finding]:
    """Report signals that were stored and cannot be found."""
    lost = lost_signals.find_missing(ctx.store, ctx.now)
    if lost:
        message = f"{plural(len(lost), 'signal')} missing: stored, not expired, not purged, and in no inbox"
        yield Finding("signals-missing", DECIDE, "signals", message, "see what can be recovered: reflect-git doctor")


def check_clock(ctx: AuditContext) -> Iterator[Finding]:
    """Report ids, decisions and commits whose dates disagree, and dates in the future.

    The date in an id is that of its record, or up to two days earlier if it was shown first and answered later. A
    decision is as old as its commit.
    """
    for record_id, record in sorted(ctx.scan.other_records.items()):
        moment = str(record.get("timestamp", ""))
        if record_id.startswith("EXP-") or not moment:
            continue
        day = get_id_day(record_id)
        late = (parse_utc(moment) - parse_utc(f"{day}T00:00:00Z")) // DAY_SECONDS
        if late < 0 or late > (_MAX_DAYS_SHOWN if record_id.startswith(_SHOWN_PREFIXES) else 0):
            message = f"'{record_id}' is of another day than its record, {moment[:10]}"
            yield Finding(
                "id-odd", WARNING, record_id, message, f"see 'reflect-git show {record_id}'", get_record_path(record_id)
            )
        commit = ctx.added_by.get(get_record_path(record_id))
        if commit and abs(commit.time - parse_utc(moment)) > DAY_SECONDS and not commit.subject.startswith("sync: "):
            message = f"'{record_id}' is of {moment[:10]}, its commit of {utc(commit.time)[:10]}"
            yield Finding("clock-odd", WARNING, record_id, message, "the clock jumped, or somebody wrote it later")
        elif parse_utc(moment) > ctx.now + DAY_SECONDS:
            message = f"'{record_id}' is of {moment[:10]}, which is to come"
            yield Finding("clock-odd", WARNING, record_id, message, "check the clock of this machine")


def check_policies(ctx: AuditContext) -> Iterator[Finding]:
    """Report settings, machine names and machines that nobody decided on."""
    for key in policy.find_undecided(ctx.store, ctx.scan.history.decisions):
        is_approval = key == "reflect.approval" and policy.get_configured(ctx.store, key) is not None
        severity = DECIDE if is_approval else WARNING
        yield Finding("policy-undecided", severity, key, *policy.describe_undecided(ctx.store, key))
    named = ctx.store.config.get(config_file.MACHINE_KEY, [""])[-1]
    if named != ctx.store.machine:
        writes_as = ctx.store.machine
        message = f"{config_file.MACHINE_KEY} is '{named}' and has no effect: this store writes as '{writes_as}'"
        hint = f"put it back: {ctx.format_git_command('config', config_file.MACHINE_KEY, ctx.store.machine)}"
        yield Finding("machine-undecided", DECIDE, named, message, hint)
    for name in machines.find_unaccepted(ctx.store, machines.filter_decisions(ctx.scan.main_records)):
        yield Finding("machine-undecided", DECIDE, name, *machines.describe_unaccepted(ctx.store, name))


def list_policies(ctx: AuditContext) -> list[dict[str, Any]]:
    """List each policy with its value here, and every change of it on any machine."""
    found = []
    for key in policy.POLICY_KEYS:
        switched = [one for one in ctx.scan.history.decisions if one["kind"] == "policy" and _is_switch(one, key)]
        found.append({
            "key": key, "value": policy.get_recordable(key, policy.get_effective(ctx.store, key)),
            "switched": [
                {"decision": one["id"], "time": one["timestamp"], "machine": one["machine"], "by": one["by"],
                 "from": (one["meta"].get("from") or {}).get(key), "to": one["meta"]["to"][key]}
                for one in switched
            ],
        })  # fmt: skip
    return found


def _is_switch(made: Decision, key: str) -> bool:
    switched = made["meta"].get("to")
    return isinstance(switched, dict) and key in switched


def check_signatures(ctx: AuditContext) -> Iterator[Finding]:
    """Report bad, unknown and missing signatures; decisions made before signing was switched on need none."""
    checked = ctx.signatures
    for commit in ctx.commits:
        if checked.get(commit.id) == signing.BAD:
            hint = f"see: {ctx.format_git_command('verify-commit', commit.id[:10])}"
            yield Finding("signature-bad", ERROR, commit.id, f"BAD signature: {format_commit(commit)}", hint)
        elif checked.get(commit.id) == signing.UNKNOWN:
            hint = "name the keys you trust in gpg.ssh.allowedSignersFile, or import the gpg key"
            yield Finding("signature-unknown", WARNING, commit.id, f"unknown key: {format_commit(commit)}", hint)
    for commit in list_unsigned(ctx):
        hint = "find out who made it; sign it from now on with a key that works: git config user.signingKey"
        yield Finding(
            "unsigned", DECIDE, commit.id, f"not signed, though {signing.SETTING} was on: {format_commit(commit)}", hint
        )


def list_unsigned(ctx: AuditContext) -> list[Commit]:
    """Return the commits that lack a required signature.

    A purge rewrites every commit before it without its signature; the signature of the purge covers them.
    """
    wanted: set[str] = set()
    is_on: dict[str, bool] = {}
    for made in ctx.scan.history.decisions:
        commit = ctx.added_by.get(get_record_path(made["id"]))
        if commit is not None and is_on.get(made["machine"]):
            wanted.add(commit.id)
        if made["kind"] == "policy" and _is_switch(made, signing.SETTING):
            is_on[made["machine"]] = made["meta"]["to"][signing.SETTING] in ("ssh", "gpg")
    purged = [
        at for at, one in enumerate(ctx.commits) if any(c.path.startswith(f"{PURGES_FOLDER}/") for c in one.changes)
    ]
    recent = ctx.commits[purged[-1] :] if purged else ctx.commits
    return [one for one in recent if one.id in wanted and not one.is_signed]
