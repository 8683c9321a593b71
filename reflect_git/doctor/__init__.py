"""Check a store for problems, one function per check; `repairs` has the repairs.

Checks change nothing, and each returns at least one finding.
"""

from __future__ import annotations

import os
import re
import stat
import time

from reflect_git.doctor import repairs
from reflect_git.platform import files
from reflect_git.records.ids import format_signal_count, parse_utc, plural
from reflect_git.store import api, copies, inbox, lost_signals, machines, maintenance, opening, pending, policy, remotes
from reflect_git.store.creation import read_template
from reflect_git.store.local import mod_state
from reflect_git.store.lost_signals import (  # fmt: skip
    DAY,
    DECIDE,
    ERROR,
    MINUTE,
    NOTE,
    OK,
    WARNING,
    Check,
    CheckContext,
    Finding,
    format_age,
    format_names,
    list_branches,
)
from reflect_git.store.main import backups
from reflect_git.store.repository import INBOX, MAIN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from reflect_git.store.repository import Store

_MAX_LOCK_AGE = 10 * MINUTE
_LOW_SPACE, _NO_SPACE = 200 << 20, 20 << 20  # bytes of free disk
_MAX_MAINTENANCE_AGE = 3 * DAY
_MAX_LOG_AGE = 7 * DAY
_MAX_LOG_LINES = 5


def check_owner(ctx: CheckContext) -> list[Finding]:
    """Report files that belong to another user."""
    foreign = [path for path, status in repairs.list_all_files(ctx.store) if status.st_uid != os.geteuid()]
    if not foreign:
        return [Finding(OK, f"'{ctx.store.root}', machine '{ctx.store.machine}'")]
    return [
        Finding(
            ERROR, f"{plural(len(foreign), 'file')} of another user, such as '{foreign[0]}'",
            f"give them to yourself: sudo chown -R $(id -u) '{ctx.store.root}'",
        )
    ]  # fmt: skip


def check_modes(ctx: CheckContext) -> list[Finding]:
    """Report files that other users can read, and symbolic links."""
    findings = []
    opened = list(repairs.find_open_to_others(ctx.store))
    if opened and opened[0] == ctx.store.root:
        findings.append(Finding(ERROR, f"'{ctx.store.root}' can be read by other users", fixable=True))
    elif opened:  # the user's own git created them; the folder itself is private
        said = f"less private than the folder: {plural(len(opened), 'file')} inside"
        findings.append(Finding(NOTE, said, fixable=True))
    links = [path for path, status in repairs.list_all_files(ctx.store) if stat.S_ISLNK(status.st_mode)]
    if links:
        said = f"symbolic links in the store: {format_names(links)}"
        findings.append(Finding(DECIDE, said, "replace them by what they point to"))
    return findings or [Finding(OK, "no other user can read it")]


def check_files(ctx: CheckContext) -> list[Finding]:
    """Report missing or changed files that a new store has."""
    missing = repairs.find_missing_files(ctx.store)
    if missing:
        level = NOTE if missing == ["hooks/pre-push"] else WARNING
        return [Finding(level, f"missing or incomplete in '.git': {format_names(missing)}", fixable=True)]
    live = files.read_if_exists(os.path.join(ctx.store.git_dir, "hooks", "pre-push"))
    if live != read_template("store", "pre-push"):
        return [Finding(NOTE, "the pre-push hook was changed by hand", "it is yours now; delete it to get ours back")]
    return [Finding(OK, "as written at init")]


def check_config(ctx: CheckContext) -> list[Finding]:
    """Report changed git settings that the store relies on."""
    wrong = repairs.find_wrong_config(ctx.store)
    if wrong:
        said = ", ".join(f"{key}={ctx.store.get_setting(key) or 'unset'}" for key in wrong)
        return [Finding(WARNING, f"settings that keep the store whole were changed: {said}", fixable=True)]
    return [Finding(OK, "the store's own git settings are as needed")]


def check_policies(ctx: CheckContext) -> list[Finding]:
    """Report settings that do not match a recorded decision."""
    findings = []
    for key in policy.find_undecided(ctx.store, ctx.snapshot().history.decisions):
        is_approval = key == "reflect.approval" and policy.get_configured(ctx.store, key) is not None
        findings.append(Finding(DECIDE if is_approval else WARNING, *policy.describe_undecided(ctx.store, key)))
    return findings or [Finding(OK, "unchanged")]


def check_machines(ctx: CheckContext) -> list[Finding]:
    """Report machines that nobody has accepted yet."""
    decisions = machines.filter_decisions(ctx.snapshot().main_records)
    findings = [
        Finding(DECIDE, *machines.describe_unaccepted(ctx.store, name))
        for name in machines.find_unaccepted(ctx.store, decisions)
    ]
    known = machines.get_own_machines(ctx.store, decisions)
    said = "no remote yet" if known is None else plural(len(known), "machine") + " of yours"
    return findings or [Finding(OK, said)]


def check_sync(ctx: CheckContext) -> list[Finding]:
    """Report a failed sync and records refused from the remote."""
    url, state = remotes.get_url(ctx.store), remotes.load_state(ctx.store)
    if not url:
        return [Finding(OK, "no remote")]
    if state.get("error"):
        hint = str(state.get("hint") or "try again: reflect-git sync")
        return [Finding(WARNING, f"the last one failed: {state['error']}", hint)]
    refused = [one for one in state.get("refused", []) if one.get("side") == "remote"]
    if refused:
        hint = "'reflect-git remote --json' lists them with the reasons"
        return [Finding(WARNING, f"refused from the remote: {format_names([one['path'] for one in refused])}", hint)]
    when = state.get("time")
    return [Finding(OK, f"last at {when}" if when else "not yet")]


def check_lock(ctx: CheckContext) -> list[Finding]:
    """Report a process that holds the store's lock for too long."""
    held = repairs.get_lock_holder(ctx.store)
    if held is None:
        return [Finding(OK, "free")]
    pid, since = held
    said = f"held by process {pid} for {format_age(ctx.now - since)}"
    if ctx.now - since < _MAX_LOCK_AGE:
        return [Finding(NOTE, said, "nothing to do: captures wait for it and are not lost")]
    return [Finding(DECIDE, said, f"look it up with 'ps -fp {pid}'; the lock ends with it")]


def check_lock_files(ctx: CheckContext) -> list[Finding]:
    """Report lock files of git, and whether their owner is alive."""
    findings = [_build_lock_finding(ctx, lock) for lock in repairs.list_lock_files(ctx.store, ctx.now)]
    return findings or [Finding(OK, "none")]


def _build_lock_finding(ctx: CheckContext, lock: repairs.LockFile) -> Finding:
    said = f"'.git/{lock.name}', {format_age(lock.age)} old"
    if lock.owner == repairs.DEAD:
        return Finding(WARNING, f"{said}, left by a process that is gone", fixable=True)
    if lock.owner == repairs.BUSY:
        return Finding(NOTE, f"{said}, of a reflect-git process at work", "nothing to do: it ends with the process")
    path = os.path.join(ctx.store.git_dir, lock.name)
    hint = f"end the git, editor or terminal that works in the store; if there is none: rm '{path}'"
    return Finding(DECIDE if lock.age > MINUTE else NOTE, f"{said}, of another git process", hint)


def check_journals(ctx: CheckContext) -> list[Finding]:
    """Report interrupted steps."""
    folder = ctx.store.private_path("journal")
    if files.list_names(folder) and repairs.get_lock_holder(ctx.store):
        return [Finding(NOTE, "a reflect-git process is at a step", "nothing to do: it is finished with the process")]
    names = files.list_names(folder)  # read again: the process may have finished by now
    if not names:
        return [Finding(OK, "nothing was interrupted")]
    oldest = _get_oldest_age(ctx, "journal", names)
    return [
        Finding(WARNING, f"{plural(len(names), 'step')} interrupted, the oldest {format_age(oldest)} ago", fixable=True)
    ]


def check_pending(ctx: CheckContext) -> list[Finding]:
    """Report captures that are not committed yet."""
    names = pending.list_pending(ctx.store)
    if names:
        oldest = _get_oldest_age(ctx, "pending", names)
        said = f"{plural(len(names), 'capture')} not committed yet, the oldest {format_age(oldest)} old"
        return [Finding(WARNING if oldest > MINUTE else NOTE, said, fixable=True)]
    if os.path.exists(ctx.store.private_path(inbox.RESCUE_FILE)):
        return [Finding(NOTE, "the inbox is new, and copies may not be in it yet", fixable=True)]
    if not copies.has_copies(ctx.store):
        return [Finding(NOTE, "the plain copies in 'signals' are missing", fixable=True)]
    return [Finding(OK, "every capture is committed")]


def _get_oldest_age(ctx: CheckContext, folder: str, names: Sequence[str]) -> float:
    times = [ctx.now]
    for name in names:
        try:
            times.append(os.lstat(ctx.store.private_path(folder, name)).st_mtime)
        except FileNotFoundError:
            continue
    return ctx.now - min(times)


def check_name(ctx: CheckContext) -> list[Finding]:
    """Report a store that was copied or moved and still uses the old machine name."""
    if opening.is_copied(ctx.store):
        said = f"this store was copied or moved, and still writes as '{ctx.store.machine}'"
        return [Finding(WARNING, said, fixable=True)]
    return [Finding(OK, f"'{ctx.store.machine}' is bound to this machine and folder")]


def check_branches(ctx: CheckContext) -> list[Finding]:
    """Report missing branches."""
    store, findings = ctx.store, []
    names = list_branches(store)
    if MAIN not in names:
        found = bool(repairs.list_main_commits(store))
        hint = "" if found else "put the folder back from a backup or another machine"
        findings.append(Finding(ERROR, "the branch 'main' is missing", hint, fixable=found))
    if not any(name.startswith(f"{INBOX}{store.machine}/") for name in names):
        findings.append(Finding(ERROR, f"the inbox of '{store.machine}' is missing", fixable=True))
    return findings or [Finding(OK, f"main, {inbox.get_current_ref(store).removeprefix('refs/heads/')}")]


def check_head(ctx: CheckContext) -> list[Finding]:
    """Report a checkout that is not on main."""
    branch = ctx.store.git.get_head_branch()
    if branch == MAIN:
        return [Finding(OK, "on main")]
    where = f"on '{branch.removeprefix('refs/heads/')}'" if branch else "detached"
    return [Finding(WARNING, f"{where}, not on main", f"go back with: git -C '{ctx.store.root}' switch main")]


def check_objects(ctx: CheckContext) -> list[Finding]:
    """Report damaged git objects, by branch."""
    fsck = ctx.fsck()
    if fsck.code == 0:
        return [Finding(OK, "git fsck is clean")]
    lines = (fsck.out + fsck.err).decode("utf-8", "replace").splitlines()
    own = f"{INBOX}{ctx.store.machine}/"
    findings = []
    for ref in list_branches(ctx.store):
        if ctx.is_broken(ref):
            findings.append(_build_damage_finding(ctx, ref, ref.startswith(own), lines))
    return findings or [Finding(ERROR, "damaged objects that no branch holds", "", True, lines)]


def _build_damage_finding(ctx: CheckContext, ref: str, ours: bool, lines: Sequence[str]) -> Finding:
    name = ref.removeprefix("refs/heads/")
    if ours:
        return Finding(ERROR, f"the inbox '{name}' is damaged", "", True, lines)
    if ref == MAIN:
        hint = f"fetch it from another machine or put a backup of '{ctx.store.root}' in its place"
    else:
        hint = f"if you can do without it: git -C '{ctx.store.root}' update-ref -d {ref}"
    return Finding(ERROR, f"the branch '{name}' is damaged", hint, False, lines)


def check_work_tree(ctx: CheckContext) -> list[Finding]:
    """Report uncommitted changes in the store."""
    changed = list_uncommitted(ctx.store)
    if not changed:
        return [Finding(OK, "git status is clean")]
    said = f"{plural(len(changed), 'uncommitted change')}: {format_names(changed)}"
    hint = f"see 'git -C {ctx.store.root} status'; commit them or take them back"
    return [Finding(DECIDE, said, hint)]


def list_uncommitted(store: Store) -> list[str]:
    """Return the paths that a person changed in the store and did not commit."""
    out = store.git.run("status", "--porcelain", "-z", "--no-renames").out
    return [os.fsdecode(entry[3:]) for entry in out.split(b"\0") if entry]


def check_quarantine(ctx: CheckContext) -> list[Finding]:
    """Report files in quarantine, with reasons."""
    reasons = load_quarantine(ctx.store)
    if not reasons:
        return [Finding(OK, "empty")]
    folder = ctx.store.private_path("quarantine")
    lines = [f"{name}: {reason}" for name, reason in reasons.items()]
    hint = f"read them in '{folder}'; correct and move them to '../pending', or delete them"
    return [Finding(DECIDE, f"{plural(len(lines), 'file')} set aside", hint, False, lines)]


def load_quarantine(store: Store) -> dict[str, str]:
    """Map the files in quarantine to the reasons in the log."""
    names = files.list_names(store.private_path("quarantine"))
    if not names:
        return {}
    log = (files.read_if_exists(store.private_path("log"), 1 << 26) or b"").decode("utf-8", "replace")
    reasons = dict(re.findall(r"quarantined '([^']*)': (.*)", log))
    return {name: reasons.get(name, "the reason is not in the log any more") for name in names}


def check_records(ctx: CheckContext) -> list[Finding]:
    """Report records that cannot be parsed or come from a newer version."""
    snapshot = ctx.snapshot()
    findings = []
    if snapshot.unreadable:
        lines = [f"{path}: {reason}" for path, reason in sorted(snapshot.unreadable.items())]
        hint = "correct the file in 'main' and commit it; 'doctor --fix' rebuilds a damaged inbox"
        findings.append(Finding(DECIDE, f"{plural(len(lines), 'record')} cannot be read", hint, False, lines))
    if snapshot.newer:
        said = f"{plural(len(snapshot.newer), 'record')} written by a newer reflect-git"
        findings.append(Finding(NOTE, said, "upgrade reflect-git to read them", False, snapshot.newer))
    counts = api.stats(snapshot)
    total = format_signal_count(counts["total"], counts["summaries"])
    return findings or [Finding(OK, f"{total}, {plural(counts['learnings'], 'approved rule')}")]


def check_missing(ctx: CheckContext) -> list[Finding]:
    """Report signals that were stored and cannot be found: somebody deleted a branch and the copies."""
    lost = lost_signals.find_missing(ctx.store, ctx.now)
    if not lost:
        return [Finding(OK, "every signal that was stored is there, has expired or was purged")]
    found = lost_signals.find_recoverable(ctx.store, lost)
    said = f"{plural(len(lost), 'signal')} missing, {len(found)} can be recovered"
    hint = "" if found else "restore the folder from a backup, if you have one; this warning ends when they expire"
    return [Finding(DECIDE, said, hint, bool(found), lost)]


def check_backups(ctx: CheckContext) -> list[Finding]:
    """Report backups that were made here and that somebody deleted."""
    lost = [ref.removeprefix("refs/heads/") for ref in backups.find_missing(ctx.store, ctx.now)]
    if not lost:
        return [Finding(OK, "every backup of the last 90 days is there, or was purged")]
    hint = "'reflect-git audit' lists the changes they were made before; this warning ends 90 days after each backup"
    return [Finding(DECIDE, f"{plural(len(lost), 'backup')} missing", hint, False, lost)]


def check_log(ctx: CheckContext) -> list[Finding]:
    """Report recent lines of both logs: the store's, and the one beside it from before there was a store."""
    since = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(ctx.now - _MAX_LOG_AGE))
    lines: list[str] = []
    for path in (ctx.store.private_path("log"), f"{ctx.store.root}.log"):
        text = (files.read_if_exists(path, 1 << 26) or b"").decode("utf-8", "replace")
        lines += [line for line in text.splitlines() if line[:20] >= since]
    if not lines:
        return [Finding(OK, "nothing in the last 7 days")]
    said = f"{plural(len(lines), 'line')} in the last 7 days"
    return [
        Finding(NOTE, said, f"read it in '{ctx.store.private_path('log')}'", False, sorted(lines)[-_MAX_LOG_LINES:])
    ]


def check_disk(ctx: CheckContext) -> list[Finding]:
    """Report a full or read-only disk."""
    disk = os.statvfs(ctx.store.root)
    if disk.f_flag & os.ST_RDONLY:
        return [Finding(ERROR, "the file system is read-only", "mount it for writing, or choose another reflect.home")]
    free = disk.f_bavail * disk.f_frsize
    said = f"{free >> 20:,} MiB free".replace(",", " ")
    has_names = not disk.f_files or disk.f_favail
    if free < _NO_SPACE or not has_names:
        why = said if has_names else f"not one more file can be made, with {said}"
        return [Finding(ERROR, f"no room: {why}", "make room; captures cannot be acknowledged without")]
    if free < _LOW_SPACE:
        return [Finding(WARNING, said, "make room before captures cannot be acknowledged")]
    return [Finding(OK, said)]


def check_clock(ctx: CheckContext) -> list[Finding]:
    """Report timestamps in the future."""
    newest = ctx.store.git.run("log", "-1", "--branches", "--format=%ct", check=False).out.strip()
    future = [s["id"] for s in ctx.snapshot().signals if parse_utc(s["stored"]) > ctx.now + DAY]
    findings = []
    if newest.isdigit() and int(newest) > ctx.now + MINUTE:
        said = f"the newest commit is {format_age(int(newest) - ctx.now)} in the future"
        findings.append(Finding(WARNING, said, "check the clock of this machine"))
    if future:
        said = f"{plural(len(future), 'signal')} stored in the future: {format_names(future)}"
        findings.append(Finding(NOTE, said, "check the clock; nothing is lost"))
    if maintenance.get_last_run(ctx.store) > ctx.now:
        findings.append(Finding(NOTE, "the last upkeep was in the future", "check the clock; it runs again"))
    return findings or [Finding(OK, "agrees with the store")]


def check_maintenance(ctx: CheckContext) -> list[Finding]:
    """Report overdue maintenance."""
    last = maintenance.get_last_run(ctx.store)
    since = ctx.now - (last or parse_utc(ctx.store.get_setting("reflect.born")))
    if since > _MAX_MAINTENANCE_AGE:
        return [Finding(NOTE, f"not run for {format_age(since)}", fixable=True)]
    return [Finding(OK, f"ran {format_age(since)} ago" if last else "not due yet")]


def check_mod(ctx: CheckContext) -> list[Finding]:
    """Report whether the mod of the plugin, with /keep and the band, worked in the last session."""
    if ctx.store.get_setting("reflect.mod") == "off":
        return [Finding(OK, "switched off (reflect.mod)")]
    state, said = mod_state.find_problem(ctx.store, ctx.now)
    if not state:
        return [Finding(OK, "answered in the last session with the plugin")]
    if state == mod_state.UNKNOWN:
        return [Finding(OK, "no session with the plugin to judge by yet")]
    as_before = "everything else works; answer with /reflect or 'reflect-git review'"
    if state == mod_state.FAILED:
        return [Finding(WARNING, f"failed in the last session, so /keep and the band may be gone: {said}", as_before)]
    if state == mod_state.STOPPED:
        message = "stopped in the last session: Claude Code ended it, or it answers too slowly"
        return [Finding(WARNING, message, as_before)]
    message = "not loaded in the last session, so there is no /keep and no band"
    hint = f"Claude Code is older than 2.1.287, a policy forbids mods, or it failed to load; {as_before}"
    return [Finding(NOTE, message, hint)]


CHECKS = (
    Check("store", check_owner),
    Check("disk", check_disk),
    Check("rights", check_modes, repairs.make_private),
    Check("files", check_files, repairs.restore_shipped_files),
    Check("lock", check_lock),
    Check("lock files", check_lock_files, repairs.move_stale_locks),
    Check("settings", check_config, repairs.set_config),
    Check("name", check_name, repairs.rename_machine),
    Check("objects", check_objects, repairs.remove_damaged_objects),
    Check("branches", check_branches, repairs.restore_refs),
    Check("interrupted", check_journals, repairs.finish_interrupted),
    Check("pending", check_pending, repairs.finish_interrupted),
    Check("signals", check_missing, repairs.recover_signals),
    Check("backups", check_backups),
    Check("head", check_head),
    Check("work tree", check_work_tree),
    Check("quarantine", check_quarantine),
    Check("records", check_records),
    Check("policies", check_policies),
    Check("machines", check_machines),
    Check("sync", check_sync),
    Check("clock", check_clock),
    Check("upkeep", check_maintenance, repairs.run_maintenance),
    Check("mod", check_mod),
    Check("log", check_log),
)
