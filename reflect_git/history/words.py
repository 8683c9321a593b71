"""The words of the audit trail: what git is asked to print of a commit, and what its subject says happened.

Apart from what reads the answer: a command asks first, and loads the rest while git is at work.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

# One line for each commit: id, seconds, who made it, subject, trailers. NUL is in no message that git shows.
FORMAT = "%H%x00%ct%x00%cn%x00%s%x00%(trailers:only,unfold,separator=%x01)"

# The word a subject begins with → what happened, in the words of records.
TYPES = {
    "approve": "approved",
    "dismiss": "dismissed",
    "revert": "reverted",
    "amend": "amended",
    "apply": "applied",
    "decline": "declined",
    "policy": "policy",
    "pause": "paused",
    "resume": "resumed",
    "remote": "remote",
    "accept": "accepted",
    "sync": "synced",
    "join": "joined",
    "archive": "archived",
    "restore": "restored",
    "purge": "purged",
    "init": "begun",
    "capture": "captured",
    "record": "recorded",
    "roll": "expired",
}
DECLINED = "declined"
OTHER = "other"  # a commit that the person made with their own git
# What the program does by itself; told of when somebody asks for captures.
BY_ITSELF = frozenset({"captured", "recorded", "expired", "begun"})


def called(made: Mapping[str, Any]) -> str:
    """What a decision is called: by its kind, but for a no, which is an `applied` one that did nothing."""
    is_no = made["kind"] == "applied" and made["meta"].get("change") == DECLINED
    return DECLINED if is_no else str(made["kind"])
