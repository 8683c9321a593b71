"""Settings of the store's own config. Switching a policy is itself a decision on main, so that history tells it."""

from __future__ import annotations

import time

from reflect_git.adapters import records
from reflect_git.model.counts import plural
from reflect_git.model.ids import digest, utc
from reflect_git.store import configfile, journal, mainline, memory, quiet, signing, sweep
from reflect_git.store.layout import path_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    from reflect_git.model.schema import By, Decision
    from reflect_git.store.configfile import Value
    from reflect_git.store.repository import Store

# Read from the store's own config only: a project or a shared file must not be able to weaken them.
POLICIES = (
    "reflect.approval", "reflect.capture", "reflect.capture.unattended", "reflect.ignore", "reflect.sign",
    "reflect.sync.apply", "reflect.sync.auto", "reflect.sync.requireSigned", "reflect.sync.signals",
)  # fmt: skip


def is_policy(key: str) -> bool:
    return key.lower() in {policy.lower() for policy in POLICIES}


def switch(store: Store, changes: Mapping[str, Value], by: By, now: str, reason: str = "") -> str:
    """Set keys, and write one policy decision that says from what to what. Returns the commit.

    One journal covers both, and the decision comes first: a kill in between leaves a decision that is not followed yet,
    which is visible, never a change that history does not know. That nothing is signed any more is decided without a
    signature where none can be made soon: an audit tells of it.
    """
    if signing.is_on(changes.get(signing.SETTING)):
        signing.require_able(store, str(changes[signing.SETTING]))
    before = {key: public(key, in_force(store, key)) for key in changes}
    after = {key: public(key, value) for key, value in changes.items()}
    meta = {"from": before, "to": after, "at": time.time_ns()}  # two switches of one second have an order
    made = memory.decision(store, "policy", next(iter(changes)), by, now, reason=reason, meta=meta)
    records.check(made)
    listed = ", ".join(f"{key}={_said(value)}" for key, value in after.items())
    trailers = f"Decision: {made['id']}\nApproved-By: {by['road']}\nMachine: {store.machine}\n"
    facts = {
        "changes": {**changes, **_spans(store, changes)},
        "message": f"policy: {memory.title(listed)}\n\n{trailers}",
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
    store.change_config(facts.get("changes", {}))
    return commit


def in_force(store: Store, key: str) -> Value:
    """What the store's config says: None where the default holds."""
    values = store.config.get(key.lower())
    if not values:
        return None
    return list(values) if key.lower() == "reflect.ignore" else values[-1]


def decided(store: Store, decisions: Iterable[Decision]) -> dict[str, Value]:
    """What this machine's policy decisions say, the last one of each key; a policy is never taken over from another."""
    mine = [made for made in decisions if made["kind"] == "policy" and made["machine"] == store.machine]
    said: dict[str, Value] = {}
    for made in sorted(mine, key=lambda made: (made["timestamp"], str(made["meta"].get("at", "")))):
        switched = made["meta"].get("to")
        said.update(switched if isinstance(switched, dict) else {})
    return said


def undecided(store: Store, decisions: Iterable[Decision]) -> list[str]:
    """Policies whose value in the config is not the one that was decided."""
    said = decided(store, decisions)
    return [key for key in POLICIES if public(key, in_force(store, key)) != said.get(key)]


def public(key: str, value: Value) -> Value:
    """What a decision may say of a value: a folder that the user keeps out is not named on main, only recognised."""
    if key.lower() != "reflect.ignore" or value is None:
        return value
    return [digest("ignore", one)[:16] for one in ([value] if isinstance(value, str) else value)]


def _said(value: Value) -> str:
    if isinstance(value, list):
        return plural(len(value), "value")
    return "unset" if value is None else value
