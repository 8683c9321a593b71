"""Settings of the store's own config. Switching a policy is itself a decision on main, so that history tells it."""

from __future__ import annotations

import time

from reflect_git.adapters import files, jsontext, records
from reflect_git.model.counts import plural
from reflect_git.model.ids import digest, utc
from reflect_git.store import configfile, inforce, journal, mainline, memory, quiet, signing, sweep
from reflect_git.store.layout import path_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any, Optional

    from reflect_git.model.schema import By, Decision
    from reflect_git.store.configfile import Value
    from reflect_git.store.repository import Store

# Read from the store's own config only: a project or a shared file must not be able to weaken them.
POLICIES = tuple(inforce.POLICIES)
PAUSED = "reflect.pausedUntil"
_URL = "remote.origin.url"


def is_policy(key: str) -> bool:
    return key.lower() in {policy.lower() for policy in POLICIES}


def switch(
    store: Store, changes: Mapping[str, Value], by: By, now: str, reason: str = "", *, kind: str = "policy",
    subject: str = "", unrecorded: Optional[Mapping[str, Value]] = None,
) -> str:  # fmt: skip
    """Set keys, and write one decision that says from what to what. Returns the commit.

    `kind` is that of the decision, and `subject` that of the commit unless it is about policies; `unrecorded` are keys
    that change with the others and that the decision does not name.

    One journal covers both, and the decision comes first: a kill in between leaves a decision that is not followed yet,
    which is visible, never a change that history does not know. That nothing is signed any more is decided without a
    signature where none can be made soon: an audit tells of it.
    """
    if signing.is_on(changes.get(signing.SETTING)):
        signing.require_able(store, str(changes[signing.SETTING]))
    before = {key: public(key, in_force(store, key)) for key in changes}
    after = {key: public(key, value) for key, value in changes.items()}
    meta = {"from": before, "to": after, "at": time.time_ns()}  # two switches of one second have an order
    made = memory.decision(store, kind, next(iter(changes)), by, now, reason=reason, meta=meta)
    records.check(made)
    listed = ", ".join(
        f"{key} back to its default" if value is None else f"{key}={_said(value)}" for key, value in after.items()
    )
    trailers = f"Decision: {made['id']}\nApproved-By: {by['road']}\nMachine: {store.machine}\n"
    facts = {
        "changes": {**(unrecorded or {}), **changes, **_spans(store, changes)},
        "decided": {key: value for key, value in changes.items() if inforce.counts(key, value, by["road"])},
        "message": f"{subject or f'policy: {memory.title(listed)}'}\n\n{trailers}",
        "files": {path_of(made["id"]): records.emit(made).decode("utf-8")},
        "unsigned": signing.SETTING in changes and not signing.is_on(changes[signing.SETTING])
        and signing.is_on(in_force(store, signing.SETTING)) and not signing.is_able(store),
    }  # fmt: skip
    return _carry_out(store, facts)


def _spans(store: Store, changes: Mapping[str, Value]) -> dict[str, Value]:
    """Whoever switches capture, and by which verb: the time when it was off is remembered, and ends with it."""
    if "reflect.capture" not in changes:
        return {}
    spans = quiet.ended(quiet.spans_in(store.config.get(quiet.QUIET, [])), utc())
    return {quiet.QUIET: quiet.written(quiet.begun(spans, utc()) if changes["reflect.capture"] == "false" else spans)}


def switch_pause(
    store: Store, until: Optional[str], by: By, now: str, unrecorded: Optional[Mapping[str, Value]] = None
) -> str:
    """Pause capture until a time, or end a pause, with a decision. Returns the commit."""
    subject = f"pause: capture until {until}" if until else "resume: capture"
    return switch(store, {PAUSED: until}, by, now, kind="capture", subject=subject, unrecorded=unrecorded)


def switch_remote(store: Store, keys: Mapping[str, Value], host: str, by: By, now: str) -> str:
    """Set the keys of a remote, or unset them, with a decision that names its host. Returns the commit."""
    place = memory.title(host) or "a folder of this machine"
    url = keys[_URL]
    subject = f"remote: set to {place}" if url else f"remote: removed {place}"
    return switch(store, {_URL: url}, by, now, kind="remote", subject=subject, unrecorded=keys)


def set_keys(store: Store, changes: Mapping[str, Value]) -> None:
    """Change the store's config without a decision: what is a setting of this machine, not a policy."""
    _carry_out(store, {"changes": dict(changes)})


def finish(store: Store, path: str, facts: Mapping[str, Any]) -> None:
    """A process died while switching: do again what is not done yet. The caller holds the lock."""
    configfile.release(store)
    _apply(store, facts)
    journal.end(path)


def _carry_out(store: Store, facts: Mapping[str, Any]) -> str:
    """A decision that was recorded is followed in the end: its journal goes only with it, or if there is none."""
    with store.locked(memory.WAIT):
        sweep.finish_interrupted(store)
        configfile.require_free(store)
        standing = journal.begin(store, "config", (), facts)
        try:
            commit = _apply(store, facts)
        except BaseException:
            if not mainline.has(store, _files(facts)):
                journal.end(standing)
            raise
        journal.end(standing)
    return commit


def _files(facts: Mapping[str, Any]) -> dict[str, bytes]:
    return {path: text.encode("utf-8") for path, text in facts.get("files", {}).items()}


def _apply(store: Store, facts: Mapping[str, Any]) -> str:
    commit = ""
    if facts.get("files"):
        commit = mainline.record(store, _files(facts), facts["message"], bool(facts.get("unsigned")))
        _keep_decided(store, {**inforce.load(store.private_path(inforce.FILE)), **facts.get("decided", {})})
    store.change_config(facts.get("changes", {}))
    return commit


def _keep_decided(store: Store, said: Mapping[str, Value]) -> None:
    kept = {key: value for key, value in said.items() if key in inforce.POLICIES and value is not None}
    kept[inforce.MACHINE] = store.machine
    files.write_whole(store.private_path(inforce.FILE), jsontext.dumps(kept))


def recall(store: Store) -> None:
    """Rebuild from main what hooks need to know of decisions. The caller holds the lock.

    Of ignored folders main has hashes only: those that the config still names are recognised.
    """
    from reflect_git.store import reading  # once in a store's life, as a rule

    said = decided(store, reading.scan(store).history.decisions)
    globs = said.get(inforce.IGNORE)
    if globs is not None:
        said[inforce.IGNORE] = [one for one in store.config.get(inforce.IGNORE, []) if _hashed(one) in globs]
    _keep_decided(store, said)
    store.reload()


def configured(store: Store, key: str) -> Value:
    """Return what the store's config says; None if it does not name the key."""
    return _value(key, store.config.get(key.lower(), []))


def in_force(store: Store, key: str) -> Value:
    """Return the value that counts; None where the default holds."""
    return _value(key, store.values(key))


def _value(key: str, values: Sequence[str]) -> Value:
    if not values:
        return None
    return list(values) if key.lower() == inforce.IGNORE else values[-1]


def decided(store: Store, decisions: Iterable[Decision]) -> dict[str, Value]:
    """Return what this machine's policy decisions say, the last one of each key.

    A policy is never taken over from another machine, and one that weakens a protection needs a person at a terminal.
    """
    mine = [made for made in decisions if made["kind"] == "policy" and made["machine"] == store.machine]
    said: dict[str, Value] = {}
    for made in sorted(mine, key=lambda made: (made["timestamp"], str(made["meta"].get("at", "")))):
        switched = made["meta"].get("to")
        for key, value in switched.items() if isinstance(switched, dict) else ():
            if inforce.counts(key, value, made["by"]["road"]):
                said[key] = value
    return said


def undecided(store: Store, decisions: Iterable[Decision]) -> list[str]:
    """Return the policies whose value in the config is not the one that was decided."""
    said = decided(store, decisions)
    return [key for key in POLICIES if public(key, configured(store, key)) != said.get(key)]


def describe_undecided(store: Store, key: str) -> tuple[str, str]:
    """Return what is wrong with a policy that `undecided` names, and what to do about it."""
    value, said = configured(store, key), in_force(store, key)
    word = "unset" if value is None else value if isinstance(value, str) else " ".join(value)
    decide = f"reflect-git config {key} {word}" if value is not None else f"reflect-git config --unset {key}"
    counts = _said(said) if said else inforce.POLICIES[key][0]
    effect = f"{counts} counts" if said != value else "it counts, because it is stricter"
    back = f", or end it: reflect-git config --unset {key}" if value is not None else ""
    return f"{key} is {word}, and no decision of this machine says so: {effect}", f"keep it: {decide}{back}"


def public(key: str, value: Value) -> Value:
    """Return what a decision may say of a value: of ignored folders and of a remote's address, only a hash."""
    if value is None or key.lower() not in (inforce.IGNORE, _URL):
        return value
    if key.lower() == _URL:
        return digest("remote", str(value))[:16]
    return [_hashed(one) for one in ([value] if isinstance(value, str) else value)]


def _hashed(glob: str) -> str:
    return digest("ignore", glob)[:16]


def _said(value: Value) -> str:
    if isinstance(value, list):
        return plural(len(value), "value")
    return "unset" if value is None else value
