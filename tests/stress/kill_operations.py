"""Operations for the run of many kills, in separate processes: one function each, no test library."""

from __future__ import annotations

import re

from reflect_git.store import recover
from reflect_git.store.reading import reader
from reflect_git.store.repository import Store
from tests.rules import queues
from tests.rules.queues import BY
from tests.store.operations import print_now

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

WORD_VARIABLE, CHOICE_VARIABLE = "KILLS_WORD", "KILLS_CHOICE"


def capture(store: Store, env: Mapping[str, str]) -> None:
    from tests.store.operations import print_acknowledged

    print_acknowledged()
    queues.capture_signal(store, f"no, never use {env[WORD_VARIABLE]} in this project", session_id=env[WORD_VARIABLE])


def approve(store: Store, env: Mapping[str, str]) -> None:
    from reflect_git.rules.approve import Request, plan_approval, write_approval

    recover.recover_store(store)
    queue = queues.open_queue(store, env)
    waiting = queue.candidates.strong
    if waiting:
        chosen = waiting[int(env[CHOICE_VARIABLE]) % len(waiting)]
        proposal = plan_approval(queue, Request(chosen, to="project"))
        (word,) = re.findall("zq[0-9a-f]+x[0-9]+", chosen.text)
        print_now(f"{write_approval(queue, proposal, BY).learning}:{word}")


def revert(store: Store, env: Mapping[str, str]) -> None:
    from reflect_git.rules import revert as reverting

    recover.recover_store(store)
    rules = list_own_rules(store)
    if rules:
        queue = queues.open_queue(store, env)
        found = reverting.select_by_name(queue, rules[int(env[CHOICE_VARIABLE]) % len(rules)])
        reverting.write_revert(queue, reverting.plan_revert(queue, found), BY)
        print_now(f"reverted:{rules[int(env[CHOICE_VARIABLE]) % len(rules)]}")


def sync(store: Store, env: Mapping[str, str]) -> None:
    from reflect_git.sync import exchange
    from reflect_git.sync.exchange import SyncOptions

    recover.recover_store(store)
    exchange.sync(store, env, SyncOptions(pause=lambda seconds: None))
    print_now("synced")


def purge(store: Store, env: Mapping[str, str]) -> None:
    from reflect_git import purge as purging

    recover.recover_store(store)
    folder = str(queues.get_project_folder(env))
    proposal = purging.plan_purge(store, env, reader.read, purging.select_by_pattern(env[WORD_VARIABLE]), folder)
    purging.run_purge(store, env, reader.read, proposal, BY, folder)
    print_now(f"purged:{env[WORD_VARIABLE]}")


def list_own_rules(store: Store) -> list[str]:
    """Return the ids of the rules in force in this project, in order; the other machine has another project."""
    found = reader.scan(store).history.get_rules_in_force()
    return sorted(one["id"] for one in found if one["project"] and one["project"]["name"] == "shop")
