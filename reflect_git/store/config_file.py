"""Edit the store's config in one synced rename, under git's own lock; and the values of policies."""

from __future__ import annotations

import os

from reflect_git.errors import ReflectError
from reflect_git.platform import files
from reflect_git.records import json_form

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Union

    from reflect_git.store.repository import Store

    Value = Union[None, str, list[str]]  # not set; one value; or the values of a key that may occur more than once
    from typing import Any


_MAX_BYTES = 1 << 20
_ATTEMPTS = 5


class ConfigLocked(ReflectError):
    """Another git process holds the lock of the config."""

    def __init__(self) -> None:
        hint = "wait for it to end; 'reflect-git doctor' shows its age"
        super().__init__("another git process holds the store's config", hint, code="config-locked")


def write_changes(store: Store, changes: Mapping[str, Value]) -> None:
    """Set keys, or remove those with the value None. The caller holds the lock."""
    for _ in range(_ATTEMPTS):
        if _try_write_changes(store, changes):
            return
    raise ConfigLocked()


def require_unlocked(store: Store) -> None:
    """Raise an error if the config is locked, before recording a decision that could not be carried out."""
    if os.path.lexists(_get_path(store) + ".lock"):
        raise ConfigLocked()


def remove_own_lock(store: Store) -> None:
    """Remove a config.lock that is ours: it has the same inode as the draft of the process that died."""
    lock = f"{_get_path(store)}.lock"
    if files.is_same_file(lock, store.private_path("config")):
        files.remove(lock)


def _get_path(store: Store) -> str:
    return os.path.join(store.git_dir, "config")


def _try_write_changes(store: Store, changes: Mapping[str, Value]) -> bool:
    """Replace the config; return False if another process changed it meanwhile."""
    draft, live = store.private_path("config"), _get_path(store)
    files.discard(f"{draft}.lock")
    before = files.read_regular(live, _MAX_BYTES)
    files.write_atomic(draft, before, sync=False)
    for key, value in changes.items():
        _set_key(store, draft, key, value)
    files.write_atomic(draft, files.read_regular(draft, _MAX_BYTES))  # git does not sync it
    published = _replace_config(draft, live, before)
    files.remove(draft)
    return published


def _replace_config(draft: str, live: str, before: bytes) -> bool:
    lock = f"{live}.lock"
    try:
        files.link(draft, lock)
    except FileExistsError:
        raise ConfigLocked() from None
    try:
        unchanged = files.read_regular(live, _MAX_BYTES) == before
        if unchanged:
            files.rename(lock, live)
    finally:
        files.discard(lock)
    if unchanged:
        files.sync_directory(os.path.dirname(live))
    return unchanged


def _set_key(store: Store, file: str, key: str, value: Value) -> None:
    values = value if isinstance(value, list) else [] if value is None else [value]
    store.git.run("config", "--file", file, "--unset-all", key, check=False)
    for one in values:
        store.git.run("config", "--file", file, "--add", key, one)


POLICY_FILE = "policies.json"
MACHINE_KEY = "reflect.machine"  # not a policy, but changing it by hand would take over another machine's decisions
IGNORE_KEY = "reflect.ignore"
# Key → its default, and the values that protect most.
POLICIES = {
    "reflect.approval": ("ask", ("ask",)),
    "reflect.autopilot": ("off", ("off",)),
    "reflect.autorevert": ("propose", ("propose", "off")),
    "reflect.capture": ("true", ("false",)),
    "reflect.capture.unattended": ("failures", ("failures",)),
    IGNORE_KEY: ("", ()),
    "reflect.baton": ("off", ("off",)),
    "reflect.evaluate": ("off", ("off",)),
    "reflect.judge": ("off", ("off",)),
    "reflect.judge.command": ("", ()),
    "reflect.judge.maxUsd": ("0.25", ()),
    "reflect.judge.model": ("haiku", ("haiku",)),
    "reflect.judge.rubric": ("", ()),
    "reflect.judge.timeout": ("120", ()),
    "reflect.escalate": ("off", ("off",)),
    "reflect.maxUsdPerDay": ("2.00", ()),
    "reflect.sign": ("none", ("ssh", "gpg")),
    "reflect.sync.apply": ("ask", ("ask",)),
    "reflect.sync.auto": ("false", ("false",)),
    "reflect.sync.requireSigned": ("false", ("true",)),
    "reflect.sync.signals": ("false", ("false",)),
    "reflect.wording": ("off", ("off",)),
    "reflect.wording.model": ("haiku", ("haiku",)),
}
# /reflect-toggle may switch these with `enable` and `disable`; any other loosening needs a terminal.
_NO_TERMINAL_NEEDED = ("reflect.capture", "reflect.capture.unattended", IGNORE_KEY)
_BOOLEANS = {"yes": "true", "on": "true", "1": "true", "": "true", "no": "false", "off": "false", "0": "false"}


def get_overrides(config: Mapping[str, list[str]], decided: Mapping[str, Any]) -> dict[str, list[str]]:
    """Return lower-case key → effective values, for each policy whose values in the config do not count."""
    found = {}
    for key in POLICIES:
        configured, said = config.get(key.lower(), []), _as_list(decided.get(key))
        if key == IGNORE_KEY:
            counts = [*configured, *(glob for glob in said if glob not in configured)]
        else:
            counts = said if is_looser(key, configured, said) else configured
        if counts != configured:
            found[key.lower()] = counts
    named = _as_list(decided.get(MACHINE_KEY))
    if named and named != config.get(MACHINE_KEY):
        found[MACHINE_KEY] = named
    return found


def is_looser(key: str, configured: list[str], said: list[str]) -> bool:
    """Return whether the config protects less than the decision, or differently."""
    value = normalise_value(key, configured[-1] if configured else None)
    return value != normalise_value(key, said[-1] if said else None) and value not in POLICIES[key][1]


def normalise_value(key: str, value: str | None) -> str:
    """Return the value as `reflect-git config` writes it; None means the default."""
    default = POLICIES[key][0]
    if value is None:
        return default
    return _BOOLEANS.get(value.lower(), value.lower()) if default in ("true", "false") else value


def is_allowed(key: str, value: Value, channel: str) -> bool:
    """Return whether a decision made through this channel may set a policy to this value."""
    if key not in POLICIES or key in _NO_TERMINAL_NEEDED or channel == "terminal":
        return True
    return normalise_value(key, value if isinstance(value, str) else None) in POLICIES[key][1]


def load_policies(path: str) -> dict[str, Any]:
    """Return the decided policies from the file at `path`; empty if it is missing or damaged."""
    try:
        said = json_form.loads(files.read_regular(path, 1 << 20))
    except (OSError, ValueError, RecursionError):
        return {}
    return said if isinstance(said, dict) else {}


def _as_list(value: Any) -> list[str]:
    values = value if isinstance(value, list) else [value]
    return [one for one in values if isinstance(one, str)]
