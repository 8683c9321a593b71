"""What the run of many kills does in processes of its own; one function, one operation, no test library."""

from __future__ import annotations

import re

from reflect_git.store import reading, sweep
from reflect_git.store.repository import Store
from tests.sitting import desk
from tests.sitting.desk import BY
from tests.store.operations import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

WORD, CHOICE = "KILLS_WORD", "KILLS_CHOICE"


def capture(store: Store, env: Mapping[str, str]) -> None:
    from tests.store.operations import tell_acknowledged

    tell_acknowledged()
    desk.say(store, f"no, never use {env[WORD]} in this project", session_id=env[WORD])


def approve(store: Store, env: Mapping[str, str]) -> None:
    from reflect_git.sitting.approve import Request, carry_out, propose

    sweep.sweep(store)
    sitting = desk.sit(store, env)
    waiting = sitting.gathered.strong
    if waiting:
        chosen = waiting[int(env[CHOICE]) % len(waiting)]
        proposal = propose(sitting, Request(chosen, to="project"))
        (word,) = re.findall("zq[0-9a-f]+x[0-9]+", chosen.text)
        say(f"{carry_out(sitting, proposal, BY).learning}:{word}")


def revert(store: Store, env: Mapping[str, str]) -> None:
    from reflect_git.sitting import revert as reverting

    sweep.sweep(store)
    rules = own_rules(store)
    if rules:
        sitting = desk.sit(store, env)
        found = reverting.find(sitting, rules[int(env[CHOICE]) % len(rules)])
        reverting.carry_out(sitting, reverting.propose(sitting, found), BY)
        say(f"reverted:{rules[int(env[CHOICE]) % len(rules)]}")


def sync(store: Store, env: Mapping[str, str]) -> None:
    from reflect_git.workflow import syncing
    from reflect_git.workflow.syncing import Wishes

    sweep.sweep(store)
    syncing.sync(store, env, Wishes(pause=lambda seconds: None))
    say("synced")


def purge(store: Store, env: Mapping[str, str]) -> None:
    from reflect_git.sitting import purge as purging

    sweep.sweep(store)
    folder = str(desk.project_of(env))
    proposal = purging.propose(store, env, reading.read, purging.by_pattern(env[WORD]), folder)
    purging.carry_out(store, env, reading.read, proposal, BY, folder)
    say(f"purged:{env[WORD]}")


def own_rules(store: Store) -> list[str]:
    """Ids of what is in force in the project here, in order; the other machine approves for one that is not here."""
    found = reading.scan(store).history.in_force()
    return sorted(one["id"] for one in found if one["project"] and one["project"]["name"] == "shop")
