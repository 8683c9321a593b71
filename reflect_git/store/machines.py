"""Which machines are this person's own: each was accepted once, here, by a person at a terminal.

What comes from a remote says itself which machine it is of, and anybody who can write there can say anything. So a
machine is own if this store decided something under that name, or if a decision says that a person accepted it at a
terminal. `reflect.own` of the store's config lists the names for people and for older programs, and
`.git/reflect/names` has those that this store used before. A name that is only there has no effect, and an accepted one
that was taken out of the config does not count any more.
"""

from __future__ import annotations

import os
import time

from reflect_git.adapters import files, records
from reflect_git.errors import ReflectError
from reflect_git.store import remotes
from reflect_git.store.repository import MAIN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any, Optional

    from reflect_git.model.schema import By, Decision, Learning, Tally
    from reflect_git.store.repository import Store

OWN = "reflect.own"
CONNECTED = "reflect.connected"  # since when this store has had a remote
NAMES = "names"  # names that this store wrote under, or accepted before that was a decision
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
    """Return what `own` depends on beside main: another answer means that caches are out of date."""
    return [store.machine, str(is_connected(store)), *sorted(listed(store)), "", *sorted(noted(store))]


def is_connected(store: Store) -> bool:
    """Whether this store has, or had, a remote, whoever set it. Whoever removes one trace by hand leaves the others."""
    return bool(
        any(store.setting(key) for key in (remotes.URL, OWN, CONNECTED))
        or os.path.exists(store.private_path(NAMES))
        or remotes.state(store).get("tip")
    )


def listed(store: Store) -> set[str]:
    """Return the names in the config, in however many lines."""
    return {name for value in store.config.get(OWN, []) for name in value.split()}


def accepted(decisions: Iterable[Decision], ours: Iterable[str]) -> set[str]:
    """Return the machines that a person accepted at a terminal of this store; `ours` are the names of this store."""
    names: set[str] = set()
    for made in decisions:
        is_ours = made["kind"] == "policy" and made["subject"] == OWN and made["machine"] in ours
        switched = made["meta"].get("to") if is_ours and made["by"]["road"] == "terminal" else None
        if isinstance(switched, dict):
            names.update(str(switched.get(OWN, "")).split())
    return names


def unaccepted(store: Store, decisions: Iterable[Decision]) -> list[str]:
    """Return the names of other machines that somebody wrote into the config, or into `names`, by hand."""
    decisions = list(decisions)
    known = own(store, decisions) or {store.machine, *_used(store, decisions)}
    decided = {made["machine"] for made in decisions}
    return sorted((listed(store) | (set(noted(store)) & decided)) - known)


def describe_unaccepted(store: Store, name: str) -> tuple[str, str]:
    """Return what is wrong with a name that only the config has, and what to do about it."""
    where = OWN if name in listed(store) else store.private_path(NAMES)
    said = f"{where} names '{name}', but nobody accepted that machine at a terminal: it has no effect"
    back = f"git -C '{store.root}' config --unset-all {OWN} '(^| ){name}( |$)'"
    if where != OWN:
        back = f"sed -i '/^{name}$/d' '{where}'"
    return said, f"if it is yours: reflect-git sync, in a terminal; else take it out: {back}"


def path_of(name: str) -> str:
    return f"machines/{name}.yaml"


def file_of(name: str) -> bytes:
    """The same bytes whoever accepts the machine: two who do it at once agree."""
    return records.emit({"version": 1, "name": name})


def seen(decided: Mapping[str, Any]) -> dict[str, str]:
    """Return machine → when it first said something; from the records of main.

    That it accepted another machine says nothing here.
    """
    found: dict[str, str] = {}
    for identity, record in decided.items():
        if identity.startswith(("DEC-", "TLY-")) and record.get("subject") != OWN:
            when = str(record.get("timestamp") or record.get("day"))
            name = record["machine"]
            found[name] = min(when, found.get(name, when))
    return found


def strangers(store: Store, decided: Mapping[str, Any]) -> dict[str, str]:
    """Those that nobody accepted here, with when they first said something."""
    known = own(store, decisions_in(decided))
    return {} if known is None else {name: when for name, when in sorted(seen(decided).items()) if name not in known}


def decisions_in(decided: Mapping[str, Any]) -> list[Decision]:
    return [record for identity, record in decided.items() if identity.startswith("DEC-")]


def begin(store: Store) -> None:
    """Before the first contact with a remote: whoever wrote here up to now is this person."""
    if not (os.path.exists(store.private_path(NAMES)) and store.setting(CONNECTED)):
        with store.locked(_WAIT):
            note(store)


def is_unnoted(store: Store) -> bool:
    """Whether this store is connected, and does not have it written down under which names it wrote."""
    return not (os.path.exists(store.private_path(NAMES)) and store.setting(CONNECTED)) and is_connected(store)


def note(store: Store) -> None:
    """Keep the names that this store wrote under, and that it is connected. The caller holds the lock."""
    if not os.path.exists(store.private_path(NAMES)):
        _keep_names(store, {store.machine, *_names(store)})
    if not store.setting(CONNECTED):
        from reflect_git.model.ids import utc

        names = " ".join(sorted({store.machine, *_names(store), *listed(store)}))
        store.change_config({CONNECTED: utc(time.time()), OWN: names})


def renamed(store: Store, old: str) -> None:
    """This store wrote as `old` until now. The caller holds the lock."""
    _keep_names(store, {old, *_names(store)})


def _keep_names(store: Store, names: Iterable[str]) -> None:
    files.write_whole(store.private_path(NAMES), "".join(f"{name}\n" for name in sorted(set(names))).encode())


def noted(store: Store) -> list[str]:
    """Return the names in the file of names that this store used, whoever wrote them there."""
    try:
        return files.read_regular(store.private_path(NAMES), 1 << 20).decode("utf-8", "replace").split()
    except OSError:
        return []


def _names(store: Store) -> list[str]:
    """Return the names that this store used; found in main's history where the file is missing."""
    return noted(store) if os.path.exists(store.private_path(NAMES)) else _names_in_history(store)


def _used(store: Store, decisions: Sequence[Decision]) -> set[str]:
    """Return the names that count without an acceptance: those that this store decided something under.

    A line in the file of names is not enough. Decisions that a sync brought do not count: anybody can send those.
    """
    names = set(_names(store)) - {store.machine}
    if not names:
        return set()
    from reflect_git.store import receipts

    came = receipts.came(store)
    made_here = {made["machine"] for made in decisions if made["id"] not in came}
    return names if names <= made_here else names & (made_here | set(_names_in_history(store)))


def _names_in_history(store: Store) -> list[str]:
    """Return the names that wrote to main before it met another machine, and those that an older program accepted.

    An older program listed both in the config. A store that this program connected kept its names in a file: if that is
    gone, only acceptances count, since commits of others may have come in.
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
    """These are own from now on: one decision on main, then the config. A kill in between asks again."""
    from reflect_git.store import mainline, memory, reading, sweep  # questions do without
    from reflect_git.store.layout import path_of as path_of_record

    if by["road"] != "terminal":
        raise ReflectError("machines can be accepted only at a terminal", "run 'reflect-git sync' in one", "approval")
    with store.locked(_WAIT):
        sweep.finish_interrupted(store)
        note(store)
        before = own(store, decisions_in(reading.scan(store).decided)) or frozenset()
        meta = {"from": {OWN: " ".join(sorted(before))}, "to": {OWN: " ".join(sorted(before.union(names)))}}
        made = memory.decision(store, "policy", OWN, by, now, meta={**meta, "at": time.time_ns()})
        records.check(made)
        new = {path_of(name): file_of(name) for name in names}
        new[path_of_record(made["id"])] = records.emit(made)
        what = f"machine '{names[0]}'" if len(names) == 1 else f"{len(names)} machines"
        trailers = f"Decision: {made['id']}\nApproved-By: {by['road']}\nMachine: {store.machine}\n"
        mainline.record(store, new, f"accept: {what}\n\n{trailers}")
        store.change_config({OWN: " ".join(sorted(listed(store).union(names)))})


def counted(
    known: Optional[frozenset[str]], learnings: list[Learning], decisions: list[Decision], tallies: list[Tally]
) -> tuple[list[Learning], list[Decision], list[Tally]]:
    """What own machines said. The rest stays in the store, and nothing rests on it."""
    if known is None:
        return learnings, decisions, tallies
    said = [made for made in decisions if made["machine"] in known]
    made = {one["id"] for one in said}
    return (
        [learning for learning in learnings if learning["decision"] in made], said,
        [tally for tally in tallies if tally["machine"] in known],
    )  # fmt: skip
