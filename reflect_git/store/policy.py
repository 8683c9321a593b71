"""Change settings in the store's config. Changing a policy is itself a decision on main.

Also the periods during which capture was off.
"""

from __future__ import annotations

import time

from reflect_git.platform import files
from reflect_git.records import json_form, yaml_form
from reflect_git.records.ids import digest, plural, utc
from reflect_git.store import api, config_file, recover
from reflect_git.store.main import journal, main_branch, signing
from reflect_git.store.repository import get_record_path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence
    from typing import Any, Optional

    from reflect_git.records.schema import Decision, DecisionAuthor
    from reflect_git.store.config_file import Value
    from reflect_git.store.repository import Store

# Read only from the store's own config: a project or a shared file must not be able to weaken them.
POLICY_KEYS = tuple(config_file.POLICIES)
PAUSED_KEY = "reflect.pausedUntil"
_URL_KEY = "remote.origin.url"


def is_policy(key: str) -> bool:
    """Return whether a key is a policy."""
    return key.lower() in {policy.lower() for policy in POLICY_KEYS}


def set_policies(
    store: Store, changes: Mapping[str, Value], by: DecisionAuthor, now: str, reason: str = "", *, kind: str = "policy",
    subject: str = "", unrecorded: Optional[Mapping[str, Value]] = None,
) -> str:  # fmt: skip
    """Set keys, and record one decision with the old and new values; return the commit.

    `kind` is the kind of decision, and `subject` the commit's subject unless it is about policies. `unrecorded` are
    keys that change too but are not named in the decision. One journal covers both, and the decision comes first. A
    kill in between leaves a decision that is not carried out yet, which is visible, and never an unrecorded change.
    Turning signing off is recorded unsigned if no signature can be made soon; an audit reports it.
    """
    if signing.is_on(changes.get(signing.SETTING)):
        signing.require_working(store, str(changes[signing.SETTING]))
    before = {key: get_recordable(key, get_effective(store, key)) for key in changes}
    after = {key: get_recordable(key, value) for key, value in changes.items()}
    meta = {"from": before, "to": after, "at": time.time_ns()}  # orders two changes within one second
    made = api.build_decision(store, kind, next(iter(changes)), by, now, reason=reason, meta=meta)
    yaml_form.check(made)
    listed = ", ".join(
        f"{key} back to its default" if value is None else f"{key}={_format_value(value)}"
        for key, value in after.items()
    )
    trailers = f"Decision: {made['id']}\nApproved-By: {by['road']}\nMachine: {store.machine}\n"
    facts = {
        "changes": {**(unrecorded or {}), **changes, **_update_spans(store, changes)},
        "decided": {key: value for key, value in changes.items() if config_file.is_allowed(key, value, by["road"])},
        "message": f"{subject or f'policy: {api.format_title(listed)}'}\n\n{trailers}",
        "files": {get_record_path(made["id"]): yaml_form.emit(made).decode("utf-8")},
        "unsigned": signing.SETTING in changes and not signing.is_on(changes[signing.SETTING])
        and signing.is_on(get_effective(store, signing.SETTING)) and not signing.is_working(store),
    }  # fmt: skip
    return _record_and_apply(store, facts)


def _update_spans(store: Store, changes: Mapping[str, Value]) -> dict[str, Value]:
    """Return the updated periods without capture, if capture is turned on or off."""
    if "reflect.capture" not in changes:
        return {}
    spans = end_spans(parse_spans(store.config.get(QUIET_KEY, [])), utc())
    return {QUIET_KEY: format_spans(start_span(spans, utc()) if changes["reflect.capture"] == "false" else spans)}


def set_pause(
    store: Store, until: Optional[str], by: DecisionAuthor, now: str, unrecorded: Optional[Mapping[str, Value]] = None
) -> str:
    """Pause capture until a time, or end a pause, and record the decision; return the commit."""
    subject = f"pause: capture until {until}" if until else "resume: capture"
    return set_policies(store, {PAUSED_KEY: until}, by, now, kind="capture", subject=subject, unrecorded=unrecorded)


def set_remote(store: Store, keys: Mapping[str, Value], host: str, by: DecisionAuthor, now: str) -> str:
    """Set or unset the keys of a remote, and record a decision that names its host; return the commit."""
    place = api.format_title(host) or "a folder of this machine"
    url = keys[_URL_KEY]
    subject = f"remote: set to {place}" if url else f"remote: removed {place}"
    return set_policies(store, {_URL_KEY: url}, by, now, kind="remote", subject=subject, unrecorded=keys)


def set_keys(store: Store, changes: Mapping[str, Value]) -> None:
    """Change the store's config without a decision, for settings of this machine that are not policies."""
    _record_and_apply(store, {"changes": dict(changes)})


def finish_change(store: Store, path: str, facts: Mapping[str, Any]) -> None:
    """Finish an interrupted change: repeat the missing steps. The caller holds the lock."""
    config_file.remove_own_lock(store)
    _apply_change(store, facts)
    journal.end(path)


def _record_and_apply(store: Store, facts: Mapping[str, Any]) -> str:
    """Record the decision, then change the config. The journal stays until a recorded decision is carried out."""
    with store.locked(api.LOCK_SECONDS):
        recover.finish_interrupted(store)
        config_file.require_unlocked(store)
        standing = journal.begin(store, "config", (), facts)
        try:
            commit = _apply_change(store, facts)
        except BaseException:
            if not main_branch.has_files(store, _get_files(facts)):
                journal.end(standing)
            raise
        journal.end(standing)
    return commit


def _get_files(facts: Mapping[str, Any]) -> dict[str, bytes]:
    return {path: text.encode("utf-8") for path, text in facts.get("files", {}).items()}


def _apply_change(store: Store, facts: Mapping[str, Any]) -> str:
    commit = ""
    if facts.get("files"):
        commit = main_branch.commit_files(store, _get_files(facts), facts["message"], bool(facts.get("unsigned")))
        _write_policies(
            store,
            {**config_file.load_policies(store.private_path(config_file.POLICY_FILE)), **facts.get("decided", {})},
        )
    store.change_config(facts.get("changes", {}))
    return commit


def _write_policies(store: Store, said: Mapping[str, Value]) -> None:
    kept = {key: value for key, value in said.items() if key in config_file.POLICIES and value is not None}
    kept[config_file.MACHINE_KEY] = store.machine
    files.write_atomic(store.private_path(config_file.POLICY_FILE), json_form.dumps(kept))


def rebuild_policy_file(store: Store) -> None:
    """Rebuild from main the file with the policies for hooks. The caller holds the lock.

    main has only hashes of ignored folders: those that the config still names are recognised.
    """
    from reflect_git.store.reading import reader  # usually once for each store

    said = get_decided(store, reader.scan(store).history.decisions)
    globs = said.get(config_file.IGNORE_KEY)
    if globs is not None:
        said[config_file.IGNORE_KEY] = [
            one for one in store.config.get(config_file.IGNORE_KEY, []) if _hash_glob(one) in globs
        ]
    _write_policies(store, said)
    store.reload()


def get_configured(store: Store, key: str) -> Value:
    """Return the value in the store's config; None if the key is not set."""
    return _as_value(key, store.config.get(key.lower(), []))


def get_effective(store: Store, key: str) -> Value:
    """Return the effective value; None for the default."""
    return _as_value(key, store.get_values(key))


def _as_value(key: str, values: Sequence[str]) -> Value:
    if not values:
        return None
    return list(values) if key.lower() == config_file.IGNORE_KEY else values[-1]


def get_decided(store: Store, decisions: Iterable[Decision]) -> dict[str, Value]:
    """Return the last decided value of each policy on this machine.

    A policy is never taken over from another machine. One that weakens a protection needs a person at a terminal.
    """
    mine = [made for made in decisions if made["kind"] == "policy" and made["machine"] == store.machine]
    said: dict[str, Value] = {}
    for made in sorted(mine, key=lambda made: (made["timestamp"], str(made["meta"].get("at", "")))):
        switched = made["meta"].get("to")
        for key, value in switched.items() if isinstance(switched, dict) else ():
            if config_file.is_allowed(key, value, made["by"]["road"]):
                said[key] = value
    return said


def find_undecided(store: Store, decisions: Iterable[Decision]) -> list[str]:
    """List the policies whose value in the config differs from the decided one."""
    said = get_decided(store, decisions)
    return [key for key in POLICY_KEYS if get_recordable(key, get_configured(store, key)) != said.get(key)]


def describe_undecided(store: Store, key: str) -> tuple[str, str]:
    """Return message and hint for a policy that `undecided` lists."""
    value, said = get_configured(store, key), get_effective(store, key)
    word = "unset" if value is None else value if isinstance(value, str) else " ".join(value)
    decide = f"reflect-git config {key} {word}" if value is not None else f"reflect-git config --unset {key}"
    counts = _format_value(said) if said else config_file.POLICIES[key][0]
    effect = f"{counts} counts" if said != value else "it counts, because it is stricter"
    back = f", or end it: reflect-git config --unset {key}" if value is not None else ""
    return f"{key} is {word}, and no decision of this machine says so: {effect}", f"keep it: {decide}{back}"


def get_recordable(key: str, value: Value) -> Value:
    """Return the value to record in a decision: only hashes of ignored folders and of a remote's address."""
    if value is None or key.lower() not in (config_file.IGNORE_KEY, _URL_KEY):
        return value
    if key.lower() == _URL_KEY:
        return digest("remote", str(value))[:16]
    return [_hash_glob(one) for one in ([value] if isinstance(value, str) else value)]


def _hash_glob(glob: str) -> str:
    return digest("ignore", glob)[:16]


def _format_value(value: Value) -> str:
    if isinstance(value, list):
        return plural(len(value), "value")
    return "unset" if value is None else value


QUIET_KEY = "reflect.quiet"
_MAX_SPANS = 200


def parse_spans(values: Sequence[str]) -> list[str]:
    """Parse the periods in reflect.quiet. They are one value: in time, one git call for each would take a second."""
    return " ".join(values).split()


def format_spans(spans: Sequence[str]) -> Optional[str]:
    """Return the value of reflect.quiet for these periods; None for an empty list."""
    return " ".join(spans) or None


def hash_folder(folder: str) -> str:
    """Return a hash of a folder for a period, because its name is private."""
    return digest("folder", folder)[:12]


def start_span(spans: Sequence[str], start: str, end: str = "", mark: str = "") -> list[str]:
    """Add a period `START/END`, or `START/END@MARK` for one folder; one without an end is still running."""
    if any(_split_span(span)[1:] == ("", mark) for span in spans):
        return list(spans)
    return [*spans, _format_span(start, end, mark)][-_MAX_SPANS:]


def end_spans(spans: Sequence[str], now: str, mark: str = "") -> list[str]:
    """End the running periods, globally or for one folder."""
    found = []
    for span in spans:
        start, end, about = _split_span(span)
        goes_on = about == mark and (not end or end > now)
        found.append(_format_span(start, now, about) if goes_on else span)
    return found


def is_paused_at(spans: Sequence[str], timestamp: str, marks: Collection[str] = ()) -> bool:
    """Return whether capture was off at a time, globally or in a folder. Times are UTC, milliseconds optional."""
    moment = timestamp[:19]
    for span in spans:
        start, end, mark = _split_span(span)
        if start[:19] <= moment and (not end or moment < end[:19]) and (not mark or mark in marks):
            return True
    return False


def hash_folders(folder: str) -> set[str]:
    """Return the hashes of a folder and of all its parents."""
    found = set()
    while folder and hash_folder(folder) not in found:
        found.add(hash_folder(folder))
        folder = folder.rpartition("/")[0]
    return found


def _split_span(span: str) -> tuple[str, str, str]:
    times, _, mark = span.partition("@")
    start, _, end = times.partition("/")
    return start, end, mark


def _format_span(start: str, end: str, mark: str) -> str:
    return f"{start}/{end}@{mark}" if mark else f"{start}/{end}"
