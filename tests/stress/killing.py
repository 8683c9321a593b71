"""Operations for the run of many kills, in separate processes: one function each, no test library."""

from __future__ import annotations

import re

from reflect_git.store import recover
from reflect_git.store.reading import reader
from reflect_git.store.repository import Store
from tests.rules import queues
from tests.rules.queues import BY
from tests.store.operations import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

WORD, CHOICE = "KILLS_WORD", "KILLS_CHOICE"


def capture(store: Store, env: Mapping[str, str]) -> None:
    from tests.store.operations import tell_acknowledged

    tell_acknowledged()
    queues.say(store, f"no, never use {env[WORD]} in this project", session_id=env[WORD])


def approve(store: Store, env: Mapping[str, str]) -> None:
    from reflect_git.rules.approve import Request, carry_out, propose

    recover.sweep(store)
    queue = queues.sit(store, env)
    waiting = queue.gathered.strong
    if waiting:
        chosen = waiting[int(env[CHOICE]) % len(waiting)]
        proposal = propose(queue, Request(chosen, to="project"))
        (word,) = re.findall("zq[0-9a-f]+x[0-9]+", chosen.text)
        say(f"{carry_out(queue, proposal, BY).learning}:{word}")


def revert(store: Store, env: Mapping[str, str]) -> None:
    from reflect_git.rules import revert as reverting

    recover.sweep(store)
    rules = own_rules(store)
    if rules:
        queue = queues.sit(store, env)
        found = reverting.find(queue, rules[int(env[CHOICE]) % len(rules)])
        reverting.carry_out(queue, reverting.propose(queue, found), BY)
        say(f"reverted:{rules[int(env[CHOICE]) % len(rules)]}")


def sync(store: Store, env: Mapping[str, str]) -> None:
    from reflect_git.sync import exchange
    from reflect_git.sync.exchange import Wishes

    recover.sweep(store)
    exchange.sync(store, env, Wishes(pause=lambda seconds: None))
    say("synced")


def purge(store: Store, env: Mapping[str, str]) -> None:
    from reflect_git import purge as purging

    recover.sweep(store)
    folder = str(queues.project_of(env))
    proposal = purging.propose(store, env, reader.read, purging.by_pattern(env[WORD]), folder)
    purging.carry_out(store, env, reader.read, proposal, BY, folder)
    say(f"purged:{env[WORD]}")


def own_rules(store: Store) -> list[str]:
    """Return the ids of the rules in force in this project, in order; the other machine has another project."""
    found = reader.scan(store).history.in_force()
    return sorted(one["id"] for one in found if one["project"] and one["project"]["name"] == "shop")
