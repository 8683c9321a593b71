"""Words that everything which tells of the past shares: when, by whom, by which road."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from reflect_git.cli.front import age
from reflect_git.model.ids import local_day, seconds_of

ROADS = {
    "terminal": "at a terminal", "ask-user-question": "in Claude Code", "own-machine": "on another own machine",
    "unattended": "by a script",
}  # fmt: skip


def when(timestamp: str) -> str:
    """How long ago, and the day and the hour here."""
    moment = seconds_of(timestamp)
    local = time.strftime("%Y-%m-%d %H:%M", time.localtime(moment))
    return f"{age(max(0.0, time.time() - moment))} ago ({local})"


def day(timestamp: str) -> str:
    """Return the date of a record's time where the person is."""
    return local_day(seconds_of(timestamp))


def who(by: Mapping[str, Any]) -> str:
    """A person and their road, of a decision."""
    return f"{by['name'] or 'somebody'} {ROADS.get(by['road'], 'in an unknown way')}"
