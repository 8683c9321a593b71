"""The store itself: its objects, where main was, what cannot be read, its clock, its policies, its signatures."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from reflect_git.adapters import files
from reflect_git.model.counts import plural
from reflect_git.model.ids import day_of, seconds_of, utc
from reflect_git.sitting.audit.matter import DECIDE, ERROR, WARNING, Finding, Matter, said
from reflect_git.store import inforce, machines, policy, signing, stored
from reflect_git.store.care import guard
from reflect_git.store.care.case import Case
from reflect_git.store.care.health import uncommitted
from reflect_git.store.layout import PURGES, path_of
from reflect_git.store.repository import MAIN

if TYPE_CHECKING:
    from reflect_git.model.schema import Decision
    from reflect_git.store.chronicle import Commit

DAY = 86400
_DAMAGED = 5
_SHOWN, _SHOWN_BEFORE = ("LRN-", "DEC-"), 2  # days that a card may stand on a screen


def look_at_objects(matter: Matter) -> Iterator[Finding]:
    result = matter.store.git.fsck()
    if result.code == 0:
        return
    lines = (result.out + result.err).decode("utf-8", "replace").splitlines()
    case = Case(matter.store, matter.now, matter.read)  # type: ignore[arg-type]
    for oid in sorted(case.bad_objects)[:_DAMAGED] or [MAIN]:
        told = next((line for line in lines if oid in line), lines[0] if lines else "git fsck failed")
        hint = "see 'reflect-git doctor'; what it cannot mend comes from another machine or a backup of the folder"
        yield Finding("object-corrupted", ERROR, oid, f"git fsck: {told}", hint)


def look_at_refs(matter: Matter) -> Iterator[Finding]:
    """Where main was, as its log and the last commands saw it; a commit that it does not have any more was left."""
    store = matter.store
    now = store.git.resolve(MAIN)
    if now is None:
        hint = "reflect-git doctor --fix"
        yield Finding("ref-moved-back", ERROR, MAIN, "the branch 'main' is missing", f"put it back: {hint}")
        return
    log = files.read_if_there(os.path.join(store.git_dir, "logs", *MAIN.split("/")), 1 << 26) or b""
    places = [line.split()[1].decode("ascii", "replace") for line in log.splitlines() if line.count(b" ") > 1]
    known = [one for one in dict.fromkeys([*places, *guard.tips(store)]) if one.strip("0")]
    asked = "".join(f"{one}\n" for one in [*known, f"^{now}"]).encode("ascii")
    left = set(store.git.run("rev-list", "--ignore-missing", "--stdin", stdin=asked).out.decode("ascii").split())
    heads = [one for one in known if one in left]
    for one in _outermost(matter, heads):
        message = f"main was at {one[:10]} and does not have it any more"
        hint = f"bring back what was there: {matter.git('merge', one[:10])}"
        yield Finding("ref-moved-back", DECIDE, one, message, hint)


def _outermost(matter: Matter, heads: list[str]) -> list[str]:
    """Those that no other one leads to."""
    if len(heads) < 2:
        return heads
    return matter.store.git.run("merge-base", "--independent", *heads[-50:]).out.decode("ascii").split()


def look_at_files(matter: Matter) -> Iterator[Finding]:
    for path, reason in sorted(matter.scan.unreadable.items()):
        hint = "mend the file on main and commit it"
        yield Finding("record-unreadable", DECIDE, path, f"'{path}' cannot be read: {reason}", hint, path)
    for path in uncommitted(matter.store):
        if path.startswith(("learnings/", "decisions/", "tally/", "exposure/", "targets/", "machines/", f"{PURGES}/")):
            hint = f"take it back: {matter.git('checkout', '--', path)}"
            message = f"'{path}' differs from what main has"
            yield Finding("record-edited", DECIDE, path, message, hint, path)


def look_at_missing(matter: Matter) -> Iterator[Finding]:
    lost = stored.missing(matter.store, matter.now)
    if lost:
        message = f"{plural(len(lost), 'signal')} missing: stored, not expired, not purged, and in no inbox"
        yield Finding("signals-missing", DECIDE, "signals", message, "see what can be recovered: reflect-git doctor")


def look_at_clock(matter: Matter) -> Iterator[Finding]:
    """The day in an id is that of its record, or up to two before: where it was shown first and answered later. A
    decision is as old as its commit, and nothing is of tomorrow."""
    for identity, record in sorted(matter.scan.others.items()):
        moment = str(record.get("timestamp", ""))
        if identity.startswith("EXP-") or not moment:
            continue
        day = day_of(identity)
        late = (seconds_of(moment) - seconds_of(f"{day}T00:00:00Z")) // DAY
        if late < 0 or late > (_SHOWN_BEFORE if identity.startswith(_SHOWN) else 0):
            message = f"'{identity}' is of another day than its record, {moment[:10]}"
            yield Finding("id-odd", WARNING, identity, message, f"see 'reflect-git show {identity}'", path_of(identity))
        commit = matter.brought.get(path_of(identity))
        if commit and abs(commit.time - seconds_of(moment)) > DAY and not commit.subject.startswith("sync: "):
            message = f"'{identity}' is of {moment[:10]}, its commit of {utc(commit.time)[:10]}"
            yield Finding("clock-odd", WARNING, identity, message, "the clock jumped, or somebody wrote it later")
        elif seconds_of(moment) > matter.now + DAY:
            message = f"'{identity}' is of {moment[:10]}, which is to come"
            yield Finding("clock-odd", WARNING, identity, message, "check the clock of this machine")


def look_at_policies(matter: Matter) -> Iterator[Finding]:
    for key in policy.undecided(matter.store, matter.scan.history.decisions):
        is_approval = key == "reflect.approval" and policy.configured(matter.store, key) is not None
        severity = DECIDE if is_approval else WARNING
        yield Finding("policy-undecided", severity, key, *policy.describe_undecided(matter.store, key))
    named = matter.store.config.get(inforce.MACHINE, [""])[-1]
    if named != matter.store.machine:
        message = f"{inforce.MACHINE} is '{named}', and this store writes as '{matter.store.machine}': it has no effect"
        hint = f"put it back: {matter.git('config', inforce.MACHINE, matter.store.machine)}"
        yield Finding("machine-undecided", DECIDE, named, message, hint)
    for name in machines.unaccepted(matter.store, machines.decisions_in(matter.scan.decided)):
        yield Finding("machine-undecided", DECIDE, name, *machines.describe_unaccepted(matter.store, name))


def policies(matter: Matter) -> list[dict[str, Any]]:
    """Each policy with its value here, and every time it was switched anywhere."""
    found = []
    for key in policy.POLICIES:
        switched = [one for one in matter.scan.history.decisions if one["kind"] == "policy" and _switches(one, key)]
        found.append({
            "key": key, "value": policy.public(key, policy.in_force(matter.store, key)),
            "switched": [
                {"decision": one["id"], "time": one["timestamp"], "machine": one["machine"], "by": one["by"],
                 "from": (one["meta"].get("from") or {}).get(key), "to": one["meta"]["to"][key]}
                for one in switched
            ],
        })  # fmt: skip
    return found


def _switches(made: Decision, key: str) -> bool:
    switched = made["meta"].get("to")
    return isinstance(switched, dict) and key in switched


def look_at_signatures(matter: Matter) -> Iterator[Finding]:
    """Decisions of machines on which signing was switched on then; older ones need none."""
    checked = matter.signatures
    for commit in matter.commits:
        if checked.get(commit.id) == signing.BAD:
            hint = f"see: {matter.git('verify-commit', commit.id[:10])}"
            yield Finding("signature-bad", ERROR, commit.id, f"BAD signature: {said(commit)}", hint)
        elif checked.get(commit.id) == signing.UNKNOWN:
            hint = "name the keys you trust in gpg.ssh.allowedSignersFile, or import the gpg key"
            yield Finding("signature-unknown", WARNING, commit.id, f"unknown key: {said(commit)}", hint)
    for commit in unsigned(matter):
        hint = "find out who made it; sign it from now on with a key that works: git config user.signingKey"
        yield Finding(
            "unsigned", DECIDE, commit.id, f"not signed, though {signing.SETTING} was on: {said(commit)}", hint
        )


def unsigned(matter: Matter) -> list[Commit]:
    """A purge makes every commit before it anew, without its signature: that of the purge stands for them."""
    wanted: set[str] = set()
    is_on: dict[str, bool] = {}
    for made in matter.scan.history.decisions:
        commit = matter.brought.get(path_of(made["id"]))
        if commit is not None and is_on.get(made["machine"]):
            wanted.add(commit.id)
        if made["kind"] == "policy" and _switches(made, signing.SETTING):
            is_on[made["machine"]] = made["meta"]["to"][signing.SETTING] in ("ssh", "gpg")
    purged = [at for at, one in enumerate(matter.commits) if any(c.path.startswith(f"{PURGES}/") for c in one.changes)]
    recent = matter.commits[purged[-1] :] if purged else matter.commits
    return [one for one in recent if one.id in wanted and not one.is_signed]
