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
from reflect_git.store import remotes
from reflect_git.store.repository import MAIN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any, Optional

    from reflect_git.records.schema import By, Decision, Learning, Tally
    from reflect_git.store.repository import Store

OWN = "reflect.own"
CONNECTED = "reflect.connected"  # since when this store has had a remote
NAMES = "names"  # names that this store used, or accepted before acceptance was a decision
_WAIT = 10.0


def own(store: Store, decisions: Iterable[Decision]) -> Optional[frozenset[str]]:
    """Return the names that count; None for a store that never had a remote: everything in it is its own."""
    decisions = list(decisions)
    ours = {store.machine, *_used(store, decisions)}
    said = accepted(decisions, ours)
    if not said and not is_connected(store):
        return None
    return frozenset({*ours, *said.intersection(listed(store))})


def marks(store: Store) -> list[str]:
    """Return everything besides main that `own` depends on, to invalidate caches."""
    return [store.machine, str(is_connected(store)), *sorted(listed(store)), "", *sorted(noted(store))]


def is_connected(store: Store) -> bool:
    """Return whether this store has or had a remote. Checks several traces, in case one is removed by hand."""
    return bool(
        any(store.setting(key) for key in (remotes.URL, OWN, CONNECTED))
        or os.path.exists(store.private_path(NAMES))
        or remotes.state(store).get("tip")
    )


def listed(store: Store) -> set[str]:
    """Return the names in the config, from one or more lines."""
    return {name for value in store.config.get(OWN, []) for name in value.split()}


def accepted(decisions: Iterable[Decision], ours: Iterable[str]) -> set[str]:
    """Return the machines that a person accepted at a terminal of this store; `ours` are its own names."""
    names: set[str] = set()
    for made in decisions:
        is_ours = made["kind"] == "policy" and made["subject"] == OWN and made["machine"] in ours
        switched = made["meta"].get("to") if is_ours and made["by"]["road"] == "terminal" else None
        if isinstance(switched, dict):
            names.update(str(switched.get(OWN, "")).split())
    return names


def unaccepted(store: Store, decisions: Iterable[Decision]) -> list[str]:
    """List other machines whose names were written by hand into the config or into `names`."""
    decisions = list(decisions)
    known = own(store, decisions) or {store.machine, *_used(store, decisions)}
    decided = {made["machine"] for made in decisions}
    return sorted((listed(store) | (set(noted(store)) & decided)) - known)


def describe_unaccepted(store: Store, name: str) -> tuple[str, str]:
    """Return message and hint for a name that nobody accepted."""
    where = OWN if name in listed(store) else store.private_path(NAMES)
    said = f"{where} names '{name}', but nobody accepted that machine at a terminal: it has no effect"
    back = f"git -C '{store.root}' config --unset-all {OWN} '(^| ){name}( |$)'"
    if where != OWN:
        back = f"sed -i '/^{name}$/d' '{where}'"
    return said, f"if it is yours: reflect-git sync, in a terminal; else take it out: {back}"


def path_of(name: str) -> str:
    """Return the path of a machine's file on main."""
    return f"machines/{name}.yaml"


def file_of(name: str) -> bytes:
    """Return the bytes of a machine's file: the same for everyone, so that two acceptances do not conflict."""
    return yaml_form.emit({"version": 1, "name": name})


def seen(decided: Mapping[str, Any]) -> dict[str, str]:
    """Return machine → time of its first record on main; acceptances of other machines do not count."""
    found: dict[str, str] = {}
    for identity, record in decided.items():
        if identity.startswith(("DEC-", "TLY-")) and record.get("subject") != OWN:
            when = str(record.get("timestamp") or record.get("day"))
            name = record["machine"]
            found[name] = min(when, found.get(name, when))
    return found


def strangers(store: Store, decided: Mapping[str, Any]) -> dict[str, str]:
    """Return the machines that nobody accepted here, with the time of their first record."""
    known = own(store, decisions_in(decided))
    return {} if known is None else {name: when for name, when in sorted(seen(decided).items()) if name not in known}


def decisions_in(decided: Mapping[str, Any]) -> list[Decision]:
    """List the decisions among these records."""
    return [record for identity, record in decided.items() if identity.startswith("DEC-")]


def begin(store: Store) -> None:
    """Prepare the first contact with a remote: everything written here so far is this person's."""
    if not (os.path.exists(store.private_path(NAMES)) and store.setting(CONNECTED)):
        with store.locked(_WAIT):
            note(store)


def is_unnoted(store: Store) -> bool:
    """Return whether this store is connected but has not recorded the names that it used."""
    return not (os.path.exists(store.private_path(NAMES)) and store.setting(CONNECTED)) and is_connected(store)


def note(store: Store) -> None:
    """Record the names that this store used, and that it is connected. The caller holds the lock."""
    if not os.path.exists(store.private_path(NAMES)):
        _keep_names(store, {store.machine, *_names(store)})
    if not store.setting(CONNECTED):
        from reflect_git.records.ids import utc

        names = " ".join(sorted({store.machine, *_names(store), *listed(store)}))
        store.change_config({CONNECTED: utc(time.time()), OWN: names})


def renamed(store: Store, old: str) -> None:
    """Record that this store was called `old` until now. The caller holds the lock."""
    _keep_names(store, {old, *_names(store)})


def _keep_names(store: Store, names: Iterable[str]) -> None:
    files.write_whole(store.private_path(NAMES), "".join(f"{name}\n" for name in sorted(set(names))).encode())


def noted(store: Store) -> list[str]:
    """Return the names in the file of names. Anybody may have written them there."""
    try:
        return files.read_regular(store.private_path(NAMES), 1 << 20).decode("utf-8", "replace").split()
    except OSError:
        return []


def _names(store: Store) -> list[str]:
    """Return the names that this store used; taken from main's history if the file is missing."""
    return noted(store) if os.path.exists(store.private_path(NAMES)) else _names_in_history(store)


def _used(store: Store, decisions: Sequence[Decision]) -> set[str]:
    """Return the names that count without acceptance: those under which this store decided something.

    A line in the file of names is not enough. Decisions that a sync brought do not count: anybody can send those.
    """
    names = set(_names(store)) - {store.machine}
    if not names:
        return set()
    from reflect_git.store.main import receipts

    came = receipts.came(store)
    made_here = {made["machine"] for made in decisions if made["id"] not in came}
    return names if names <= made_here else names & (made_here | set(_names_in_history(store)))


def _names_in_history(store: Store) -> list[str]:
    """Return the names that wrote to main before its first sync, and those that an older program accepted.

    An older program listed both in the config. A store that this program connected keeps its names in a file. If that
    is gone, only acceptances count, since commits of others may have come in.
    """
    form = "--format=%x01%s%x00%(trailers:key=Machine,valueonly,separator=%x20)%x00"
    asked = ("log", "--first-parent", "--reverse", "--diff-filter=A", "--name-only", form, MAIN, "--")
    told = store.git.run(*asked, check=False).out.decode("utf-8", "replace")
    wrote: set[str] = set()
    agreed: set[str] = set()
    is_before = not store.setting(CONNECTED)
    for entry in told.split("\x01")[1:]:
        subject, machine, paths = entry.split("\0", 2)
        is_before = is_before and not subject.startswith("sync: ")
        if is_before:
            wrote.update(machine.split()[:1])
        if subject.startswith("accept: ") and machine.strip() in {store.machine, *wrote}:
            agreed.update(path[9:-5] for path in paths.split() if path.startswith("machines/"))
    was_synced = bool(remotes.state(store).get("tip"))  # by an older program, perhaps without a merge
    return sorted((wrote | agreed) & listed(store) if was_synced else wrote | agreed & listed(store))


def accept(store: Store, names: Sequence[str], by: By, now: str) -> None:
    """Accept machines: record one decision on main, then change the config. After a kill in between, ask again."""
    from reflect_git.store import api, recover
    from reflect_git.store.main import main_branch
    from reflect_git.store.reading import reader  # not needed for queries
    from reflect_git.store.repository import path_of as path_of_record

    if by["road"] != "terminal":
        raise ReflectError("machines can be accepted only at a terminal", "run 'reflect-git sync' in one", "approval")
    with store.locked(_WAIT):
        recover.finish_interrupted(store)
        note(store)
        before = own(store, decisions_in(reader.scan(store).decided)) or frozenset()
        meta = {"from": {OWN: " ".join(sorted(before))}, "to": {OWN: " ".join(sorted(before.union(names)))}}
        made = api.decision(store, "policy", OWN, by, now, meta={**meta, "at": time.time_ns()})
        yaml_form.check(made)
        new = {path_of(name): file_of(name) for name in names}
        new[path_of_record(made["id"])] = yaml_form.emit(made)
        what = f"machine '{names[0]}'" if len(names) == 1 else f"{len(names)} machines"
        trailers = f"Decision: {made['id']}\nApproved-By: {by['road']}\nMachine: {store.machine}\n"
        main_branch.record(store, new, f"accept: {what}\n\n{trailers}")
        store.change_config({OWN: " ".join(sorted(listed(store).union(names)))})


def counted(
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
