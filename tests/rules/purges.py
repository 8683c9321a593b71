"""Operations that the fault tests of `purge` run in separate processes."""

from __future__ import annotations

import os

from reflect_git.store.repository import Store
from tests.rules import queues
from tests.rules.queues import BY

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

# A word that is used nowhere else.
WORD = "Xanadu"


def purge(store: Store, env: Mapping[str, str]) -> None:
    from reflect_git import purge as purging
    from reflect_git.store import recover
    from reflect_git.store.reading import reader

    recover.recover_store(store)
    folder = str(queues.get_project_folder(env))
    proposal = purging.plan_purge(store, env, reader.read, purging.select_by_pattern(WORD), folder)
    done = purging.run_purge(store, env, reader.read, proposal, BY, folder)
    os.write(1, f"{done.commit}\n".encode())
