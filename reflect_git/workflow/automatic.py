"""Sync that nobody asked for, for those who switched it on: seldom, silent, and never with a question.

What fails is told by `status` and `doctor`. A policy counts only with the decision of the person who switched it, since
the config alone can be written by anybody.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from reflect_git.errors import ReflectError
from reflect_git.store import inbox, policy, reading, remotes
from reflect_git.store.repository import MAIN
from reflect_git.workflow import syncing
from reflect_git.workflow.syncing import Wishes

if TYPE_CHECKING:
    from collections.abc import Mapping

    from reflect_git.store.repository import Store

AUTO = "reflect.sync.auto"
EVERY = 30 * 60
_AFTER = 20.0
_BEFORE = 5.0  # a person waits for the review


def _briefly(seconds: float) -> None:
    time.sleep(min(seconds, 0.5))


def after_session(store: Store, env: Mapping[str, str], now: float) -> bool:
    """At the end of a session, if there is something to send. Whether it was tried."""
    return is_due(store, now) and has_news(store) and _try(store, env, _wishes(store, _AFTER), now)


def before_review(store: Store, env: Mapping[str, str], now: float) -> bool:
    """Before a person looks at what waits, which may wait elsewhere."""
    return is_due(store, now) and _try(store, env, _wishes(store, _BEFORE)._replace(pause=_briefly), now)


def _wishes(store: Store, most: float) -> Wishes:
    """Nobody watches it, so it gets less time than others: no more than `most`, nor than is configured."""
    limits = syncing.limits_of(store)
    return Wishes(unattended=True, limits=limits._replace(seconds=min(most, limits.seconds)))


def is_due(store: Store, now: float) -> bool:
    if not store.switched(AUTO, False) or not remotes.url_of(store):
        return False
    tried = remotes.state(store).get("tried")
    return not isinstance(tried, (int, float)) or not 0 <= now - tried < EVERY


def has_news(store: Store) -> bool:
    known = remotes.state(store)
    shared = remotes.shares_signals(store) and store.git.resolve(inbox.current(store)) != known.get("inbox")
    return shared or store.git.resolve(MAIN) != known.get("main")


def _try(store: Store, env: Mapping[str, str], wishes: Wishes, now: float) -> bool:
    if AUTO in policy.undecided(store, reading.scan(store).history.decisions):
        return False
    remotes.remember(store, tried=now)
    try:
        syncing.sync(store, env, wishes)
    except (ReflectError, OSError) as error:
        store.log(f"sync: {error}")
    return True
