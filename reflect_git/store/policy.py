"""Settings of the store's own config. Switching a policy is itself a decision on main, so that history tells it."""

from __future__ import annotations

import os
import time

from reflect_git.adapters import files, records
from reflect_git.errors import ReflectError
from reflect_git.store import journal, mainline, memory, sweep
from reflect_git.store.layout import path_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any, Optional, Union

    from reflect_git.model.schema import By, Decision
    from reflect_git.store.repository import Store

    Value = Union[None, str, list[str]]  # not set; one value; the values of a key that may be given more than once

# Read from the store's own config only: a project or a shared file must not be able to weaken them.
POLICIES = ("reflect.approval", "reflect.capture", "reflect.ignore")
_SHOWN_VALUES = 2
_ATTEMPTS = 5
_LIMIT = 1 << 20


def is_policy(key: str) -> bool:
    return key.lower() in {policy.lower() for policy in POLICIES}


def switch(store: Store, changes: Mapping[str, Value], by: By, now: str, reason: str = "") -> str:
    """Set keys, and write one policy decision that says from what to what. Returns the commit.

    One journal covers both, and the decision comes first: a kill in between leaves a decision that is not followed yet,
    which is visible, never a change that history does not know.
    """
    before = {key: in_force(store, key) for key in changes}
    meta = {"from": before, "to": dict(changes), "at": time.time_ns()}  # two switches of one second have an order
    made = memory.decision(store, "policy", next(iter(changes)), by, now, reason=reason, meta=meta)
    records.check(made)
    listed = ", ".join(f"{key}={_said(value)}" for key, value in changes.items())
    trailers = f"Decision: {made['id']}\nApproved-By: {by['road']}\nMachine: {store.machine}\n"
    facts = {
        "changes": dict(changes),
        "message": f"policy: {memory.title(listed)}\n\n{trailers}",
        "files": {path_of(made["id"]): records.emit(made).decode("utf-8")},
    }
    return _carry_out(store, facts)


def set_keys(store: Store, changes: Mapping[str, Value]) -> None:
    """Change the store's config without a decision: what is a setting of this machine, not a policy."""
    _carry_out(store, {"changes": dict(changes)})


def finish(store: Store, path: str, facts: Mapping[str, Any]) -> None:
    """A process died while switching: do again what is not done yet. The caller holds the lock."""
    journal.bury_locks(store, facts)
    _apply(store, facts)
    journal.end(path)


def _carry_out(store: Store, facts: Mapping[str, Any]) -> str:
    with store.locked(memory.WAIT):
        sweep.finish_interrupted(store)
        _require_free_config(store)
        standing = journal.begin(store, "config", ("config.lock",), facts)
        try:
            commit = _apply(store, facts)
        except BaseException:
            journal.end(standing)
            raise
        journal.end(standing)
    return commit


def _require_free_config(store: Store) -> None:
    """Before the decision, so that none is recorded which cannot be followed now."""
    if os.path.lexists(_config(store) + ".lock"):
        raise _config_locked()


def _config_locked() -> ReflectError:
    hint = "wait for it to end; 'reflect-git doctor' shows its age"
    return ReflectError("another git process holds the store's config", hint, code="config-locked")


def _apply(store: Store, facts: Mapping[str, Any]) -> str:
    commit = ""
    if facts.get("files"):
        new = {path: text.encode("utf-8") for path, text in facts["files"].items()}
        commit = mainline.record(store, new, facts["message"])
    for _ in range(_ATTEMPTS):
        if _replace_config(store, facts.get("changes", {})):
            store.reload()
            return commit
    raise _config_locked()


def _replace_config(store: Store, changes: Mapping[str, Value]) -> bool:
    """All changes in one rename, under git's own lock of the file; False when somebody else changed it meanwhile."""
    draft, live = store.private_path("config"), _config(store)
    files.discard(f"{draft}.lock")
    before = files.read_regular(live, _LIMIT)
    files.write_whole(draft, before, sync=False)
    for key, value in changes.items():
        _set(store, draft, key, value)
    files.write_whole(draft, files.read_regular(draft, _LIMIT))  # git does not sync it
    try:
        files.link(draft, f"{live}.lock")
    except FileExistsError:
        raise _config_locked() from None
    unchanged = files.read_regular(live, _LIMIT) == before
    if unchanged:
        files.rename(f"{live}.lock", live)
        files.sync_directory(store.git_dir)
    else:
        files.remove(f"{live}.lock")
    files.remove(draft)
    return unchanged


def _set(store: Store, file: str, key: str, value: Value) -> None:
    values = value if isinstance(value, list) else [] if value is None else [value]
    store.git.run("config", "--file", file, "--unset-all", key, check=False)
    for one in values:
        store.git.run("config", "--file", file, "--add", key, one)


def _config(store: Store) -> str:
    return os.path.join(store.git_dir, "config")


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
    for made in sorted(mine, key=lambda made: (made["timestamp"], made["meta"].get("at", 0))):
        said.update(made["meta"].get("to", {}))
    return said


def undecided(store: Store, decisions: Iterable[Decision]) -> list[str]:
    """Policies whose value in the config is not the one that was decided."""
    said = decided(store, decisions)
    return [key for key in POLICIES if in_force(store, key) != said.get(key)]


def _said(value: Optional[Value]) -> str:
    if isinstance(value, list):
        more = len(value) - _SHOWN_VALUES
        return " ".join(value[:_SHOWN_VALUES]) + (f" and {more} more" if more > 0 else "")
    return "unset" if value is None else value
