"""Which machines are this person's own: each was accepted once, here, by a person at a terminal.

What comes from a remote says itself which machine it is of, and anybody who can write there can say anything. So the
names that count stand in this store's own config; `machines/<machine>.yaml` on main tells people that it was done.
"""

from __future__ import annotations

from reflect_git.adapters import records

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any, Optional

    from reflect_git.model.schema import Decision, Learning, Tally
    from reflect_git.store.repository import Store

OWN = "reflect.own"
_WAIT = 10.0


def own(store: Store) -> Optional[frozenset[str]]:
    """The names that count; None for a store that never had a remote: everything in it is its own."""
    listed = store.setting(OWN).split()
    return frozenset([store.machine, *listed]) if listed else None


def path_of(name: str) -> str:
    return f"machines/{name}.yaml"


def file_of(name: str) -> bytes:
    """The same bytes whoever accepts the machine: two who do it at once agree."""
    return records.emit({"version": 1, "name": name})


def seen(decided: Mapping[str, Any]) -> dict[str, str]:
    """Machine → when it first said something; from the records of main."""
    found: dict[str, str] = {}
    for identity, record in decided.items():
        if identity.startswith(("DEC-", "TLY-")):
            when = str(record.get("timestamp") or record.get("day"))
            name = record["machine"]
            found[name] = min(when, found.get(name, when))
    return found


def strangers(store: Store, decided: Mapping[str, Any]) -> dict[str, str]:
    """Those that nobody accepted here, with when they first said something."""
    known = own(store)
    return {} if known is None else {name: when for name, when in sorted(seen(decided).items()) if name not in known}


def begin(store: Store, decided: Mapping[str, Any]) -> None:
    """Before the first contact: whoever wrote here up to now is this person."""
    if own(store) is None:
        _keep(store, [store.machine, *seen(decided)])


def accept(store: Store, names: Sequence[str]) -> None:
    """These are own from now on: one commit, then the config. A kill in between asks again."""
    from reflect_git.store import mainline, sweep  # questions do without

    with store.locked(_WAIT):
        sweep.finish_interrupted(store)
        new = {path_of(name): file_of(name) for name in names}
        what = f"machine '{names[0]}'" if len(names) == 1 else f"{len(names)} machines"
        mainline.record(store, new, f"accept: {what}\n\nMachine: {store.machine}\n")
    _keep(store, [*store.setting(OWN).split(), *names])


def _keep(store: Store, names: Iterable[str]) -> None:
    with store.locked(_WAIT):
        store.change_config({OWN: " ".join(sorted(set(names)))})


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
