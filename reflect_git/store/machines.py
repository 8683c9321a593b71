"""The machines of this person. Each was accepted once, here, at a terminal.

Records from a remote name their machine, and anybody who can write there can claim any name. So a machine is own in two
cases: this store decided something under that name, or a decision says that a person accepted it at a terminal.
`reflect.own` in the store's config lists the names for people and for older programs. `.git/reflect/names` has the
names that this store used before. A name that is only there has no effect, and an accepted one that was removed from
the config no longer counts.
"""

from __future__ import annotations

import os
import time

from reflect_git.errors import ReflectError
from reflect_git.platform import files
from reflect_git.records import yaml_form
from reflect_git.records.ids import utc
from reflect_git.store import remotes
from reflect_git.store.repository import MAIN
from reflect_git.store.repository import get_record_path as path_of_record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any, Optional

    from reflect_git.records.schema import Decision, DecisionAuthor, Learning, Tally
    from reflect_git.store.repository import Store

OWN_KEY = "reflect.own"
CONNECTED_KEY = "reflect.connected"  # since when this store has had a remote
NAMES_FILE = "names"  # names that this store used, or accepted before acceptance was a decision
_LOCK_SECONDS = 10.0


def get_own_machines(store: Store, decisions: Iterable[Decision]) -> Optional[frozenset[str]]:
    """Return the names that count; None for a store that never had a remote: everything in it is its own."""
    decisions = list(decisions)
    ours = {store.machine, *_get_trusted_names(store, decisions)}
    said = get_accepted_names(decisions, ours)
    if not said and not is_connected(store):
        return None
    return frozenset({*ours, *said.intersection(get_configured_names(store))})


def get_cache_key(store: Store) -> list[str]:
    """Return everything besides main that `own` depends on, to invalidate caches."""
    return [
        store.machine,
        str(is_connected(store)),
        *sorted(get_configured_names(store)),
        "",
        *sorted(read_names(store)),
    ]


def is_connected(store: Store) -> bool:
    """Return whether this store has or had a remote. Checks several traces, in case one is removed by hand."""
    return bool(
        any(store.get_setting(key) for key in (remotes.URL_KEY, OWN_KEY, CONNECTED_KEY))
        or os.path.exists(store.private_path(NAMES_FILE))
        or remotes.load_state(store).get("tip")
    )


def get_configured_names(store: Store) -> set[str]:
    """Return the names in the config, from one or more lines."""
    return {name for value in store.config.get(OWN_KEY, []) for name in value.split()}


def get_accepted_names(decisions: Iterable[Decision], ours: Iterable[str]) -> set[str]:
    """Return the machines that a person accepted at a terminal of this store; `ours` are its own names."""
    names: set[str] = set()
    for made in decisions:
        is_ours = made["kind"] == "policy" and made["subject"] == OWN_KEY and made["machine"] in ours
        switched = made["meta"].get("to") if is_ours and made["by"]["road"] == "terminal" else None
        if isinstance(switched, dict):
            names.update(str(switched.get(OWN_KEY, "")).split())
    return names


def find_unaccepted(store: Store, decisions: Iterable[Decision]) -> list[str]:
    """List other machines whose names were written by hand into the config or into `names`."""
    decisions = list(decisions)
    known = get_own_machines(store, decisions) or {store.machine, *_get_trusted_names(store, decisions)}
    decided = {made["machine"] for made in decisions}
    return sorted((get_configured_names(store) | (set(read_names(store)) & decided)) - known)


def describe_unaccepted(store: Store, name: str) -> tuple[str, str]:
    """Return message and hint for a name that nobody accepted."""
    where = OWN_KEY if name in get_configured_names(store) else store.private_path(NAMES_FILE)
    said = f"{where} names '{name}', but nobody accepted that machine at a terminal: it has no effect"
    back = f"git -C '{store.root}' config --unset-all {OWN_KEY} '(^| ){name}( |$)'"
    if where != OWN_KEY:
        back = f"sed -i '/^{name}$/d' '{where}'"
    return said, f"if it is yours: reflect-git sync, in a terminal; else take it out: {back}"


def get_machine_path(name: str) -> str:
    """Return the path of a machine's file on main."""
    return f"machines/{name}.yaml"


def build_machine_file(name: str) -> bytes:
    """Return the bytes of a machine's file: the same for everyone, so that two acceptances do not conflict."""
    return yaml_form.emit({"version": 1, "name": name})


def get_first_seen(decided: Mapping[str, Any]) -> dict[str, str]:
    """Return machine → time of its first record on main; acceptances of other machines do not count."""
    found: dict[str, str] = {}
    for record_id, record in decided.items():
        if record_id.startswith(("DEC-", "TLY-")) and record.get("subject") != OWN_KEY:
            when = str(record.get("timestamp") or record.get("day"))
            name = record["machine"]
            found[name] = min(when, found.get(name, when))
    return found


def find_unknown_machines(store: Store, decided: Mapping[str, Any]) -> dict[str, str]:
    """Return the machines that nobody accepted here, with the time of their first record."""
    known = get_own_machines(store, filter_decisions(decided))
    return (
        {}
        if known is None
        else {name: when for name, when in sorted(get_first_seen(decided).items()) if name not in known}
    )


def filter_decisions(decided: Mapping[str, Any]) -> list[Decision]:
    """List the decisions among these records."""
    return [record for identity, record in decided.items() if identity.startswith("DEC-")]


def prepare_connection(store: Store) -> None:
    """Prepare the first contact with a remote: everything written here so far is this person's."""
    if not (os.path.exists(store.private_path(NAMES_FILE)) and store.get_setting(CONNECTED_KEY)):
        with store.locked(_LOCK_SECONDS):
            record_names(store)


def lacks_names(store: Store) -> bool:
    """Return whether this store is connected but has not recorded the names that it used."""
    return not (os.path.exists(store.private_path(NAMES_FILE)) and store.get_setting(CONNECTED_KEY)) and is_connected(
        store
    )


def record_names(store: Store) -> None:
    """Record the names that this store used, and that it is connected. The caller holds the lock."""
    if not os.path.exists(store.private_path(NAMES_FILE)):
        _write_names(store, {store.machine, *_get_used_names(store)})
    if not store.get_setting(CONNECTED_KEY):
        names = " ".join(sorted({store.machine, *_get_used_names(store), *get_configured_names(store)}))
        store.change_config({CONNECTED_KEY: utc(time.time()), OWN_KEY: names})


def record_rename(store: Store, old: str) -> None:
    """Record that this store was called `old` until now. The caller holds the lock."""
    _write_names(store, {old, *_get_used_names(store)})


def _write_names(store: Store, names: Iterable[str]) -> None:
    files.write_atomic(store.private_path(NAMES_FILE), "".join(f"{name}\n" for name in sorted(set(names))).encode())


def read_names(store: Store) -> list[str]:
    """Return the names in the file of names. Anybody may have written them there."""
    try:
        return files.read_regular(store.private_path(NAMES_FILE), 1 << 20).decode("utf-8", "replace").split()
    except OSError:
        return []


def _get_used_names(store: Store) -> list[str]:
    """Return the names that this store used; taken from main's history if the file is missing."""
    return read_names(store) if os.path.exists(store.private_path(NAMES_FILE)) else _find_names_in_history(store)


def _get_trusted_names(store: Store, decisions: Sequence[Decision]) -> set[str]:
    """Return the names that count without acceptance: those under which this store decided something.

    A line in the file of names is not enough. Decisions that a sync brought do not count: anybody can send those.
    """
    names = set(_get_used_names(store)) - {store.machine}
    if not names:
        return set()
    from reflect_git.store.main import receipts

    came = receipts.get_fetched_ids(store)
    made_here = {made["machine"] for made in decisions if made["id"] not in came}
    return names if names <= made_here else names & (made_here | set(_find_names_in_history(store)))


def _find_names_in_history(store: Store) -> list[str]:
    """Return the names that wrote to main before its first sync, and those that an older program accepted.

    An older program listed both in the config. A store that this program connected keeps its names in a file. If that
    is gone, only acceptances count, since commits of others may have come in.
    """
    form = "--format=%x01%s%x00%(trailers:key=Machine,valueonly,separator=%x20)%x00"
    asked = ("log", "--first-parent", "--reverse", "--diff-filter=A", "--name-only", form, MAIN, "--")
    told = store.git.run(*asked, check=False).out.decode("utf-8", "replace")
    wrote: set[str] = set()
    agreed: set[str] = set()
    is_before = not store.get_setting(CONNECTED_KEY)
    for entry in told.split("\x01")[1:]:
        subject, machine, paths = entry.split("\0", 2)
        is_before = is_before and not subject.startswith("sync: ")
        if is_before:
            wrote.update(machine.split()[:1])
        if subject.startswith("accept: ") and machine.strip() in {store.machine, *wrote}:
            agreed.update(path[9:-5] for path in paths.split() if path.startswith("machines/"))
    was_synced = bool(remotes.load_state(store).get("tip"))  # by an older program, perhaps without a merge
    return sorted(
        (wrote | agreed) & get_configured_names(store) if was_synced else wrote | agreed & get_configured_names(store)
    )


def accept_machines(store: Store, names: Sequence[str], by: DecisionAuthor, now: str) -> None:
    """Accept machines: record one decision on main, then change the config. After a kill in between, ask again."""
    from reflect_git.store import api, recover
    from reflect_git.store.main import main_branch
    from reflect_git.store.reading import reader  # not needed for queries

    if by["road"] != "terminal":
        raise ReflectError("machines can be accepted only at a terminal", "run 'reflect-git sync' in one", "approval")
    with store.locked(_LOCK_SECONDS):
        recover.finish_interrupted(store)
        record_names(store)
        before = get_own_machines(store, filter_decisions(reader.scan(store).main_records)) or frozenset()
        meta = {"from": {OWN_KEY: " ".join(sorted(before))}, "to": {OWN_KEY: " ".join(sorted(before.union(names)))}}
        made = api.build_decision(store, "policy", OWN_KEY, by, now, meta={**meta, "at": time.time_ns()})
        yaml_form.check(made)
        new = {get_machine_path(name): build_machine_file(name) for name in names}
        new[path_of_record(made["id"])] = yaml_form.emit(made)
        what = f"machine '{names[0]}'" if len(names) == 1 else f"{len(names)} machines"
        trailers = f"Decision: {made['id']}\nApproved-By: {by['road']}\nMachine: {store.machine}\n"
        main_branch.commit_files(store, new, f"accept: {what}\n\n{trailers}")
        store.change_config({OWN_KEY: " ".join(sorted(get_configured_names(store).union(names)))})


def filter_own_records(
    known: Optional[frozenset[str]], learnings: list[Learning], decisions: list[Decision], tallies: list[Tally]
) -> tuple[list[Learning], list[Decision], list[Tally]]:
    """Return the records of own machines only. Others stay in the store but have no effect."""
    if known is None:
        return learnings, decisions, tallies
    said = [made for made in decisions if made["machine"] in known]
    made = {one["id"] for one in said}
    return (
        [learning for learning in learnings if learning["decision"] in made], said,
        [tally for tally in tallies if tally["machine"] in known],
    )  # fmt: skip
