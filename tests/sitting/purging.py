"""What the fault tests of `purge` run in processes of their own."""

from __future__ import annotations

import os

from reflect_git.store.repository import Store
from tests.sitting import desk
from tests.sitting.desk import BY

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

# One word that is said nowhere else.
WORD = "Xanadu"


def purge(store: Store, env: Mapping[str, str]) -> None:
    from reflect_git.sitting import purge as purging
    from reflect_git.store import reading, sweep

    sweep.sweep(store)
    folder = str(desk.project_of(env))
    proposal = purging.propose(store, env, reading.read, purging.by_pattern(WORD), folder)
    done = purging.carry_out(store, env, reading.read, proposal, BY, folder)
    os.write(1, f"{done.commit}\n".encode())
