"""Remember which questions were printed, so that an answer counts only for a question that was shown unchanged.

Digests are kept, not texts: a purge has nothing to look for here.
"""

from __future__ import annotations

import json
import os
import time

from reflect_git.adapters import files
from reflect_git.model.ids import digest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Optional

    from reflect_git.store.repository import Store

_FOLDER = "questions"
_LETTERS = "23456789abcdefghjkmnpqrstvwxyz"  # none that looks like another one
_LENGTH = 4
_KEPT = 86400.0
_MOST = 200  # files; a printing has ten questions at most


def new_number(store: Store) -> str:
    """Return a short name that no kept question has."""
    while True:
        name = "".join(_LETTERS[byte % len(_LETTERS)] for byte in os.urandom(_LENGTH))
        if not os.path.lexists(_path(store, name)) and not is_used(store, name):
            return name


def keep(store: Store, number: str, parts: Mapping[str, str]) -> None:
    """Remember the parts of a question that is about to be printed."""
    files.make_private_dirs(store.private_path(_FOLDER), below=store.private)
    kept = {name: digest(value) for name, value in parts.items()}
    files.write_whole(_path(store, number), json.dumps(kept).encode("ascii"), sync=False)
    if len(files.names_in(store.private_path(_FOLDER))) > _MOST:
        forget_old(store, time.time())


def load(store: Store, number: str) -> Optional[dict[str, str]]:
    """Return the digest of each part of a printed question; None if there is none with this number, or it expired."""
    if not is_number(number):
        return None
    try:
        if time.time() - os.stat(_path(store, number)).st_mtime > _KEPT:
            return None
        kept = json.loads(files.read_regular(_path(store, number), 1 << 16))
    except (OSError, ValueError, RecursionError):
        return None
    return kept if isinstance(kept, dict) else None


def use(private: str, number: str) -> None:
    """Remember that an answer to this question was used. The question stays: others were asked in the same call.

    `private` is the store's private folder.
    """
    folder = os.path.join(private, _FOLDER)
    if is_number(number) and os.path.isdir(folder):
        files.claim(os.path.join(folder, f"{number}.used"))


def is_used(store: Store, number: str) -> bool:
    return os.path.lexists(store.private_path(_FOLDER, f"{number}.used"))


def forget_old(store: Store, now: float) -> None:
    """Drop questions that nobody will answer any more: older than a day, or too many."""
    folder = store.private_path(_FOLDER)
    found = []
    for name in files.names_in(folder):
        path = os.path.join(folder, name)
        try:
            found.append((os.stat(path).st_mtime, path))
        except OSError:
            continue
    found.sort(reverse=True)
    for at, (moment, path) in enumerate(found):
        if at >= _MOST or now - moment > _KEPT:
            files.discard(path)


def number_in(question: str) -> str:
    """Return the number in a question's first line, `Learning 2 of 7 (k3v9) [SIG-…]`; empty if it has none."""
    before = question.partition("\n")[0].rpartition(" [")[0]
    number = before[:-1].rpartition("(")[2] if before.endswith(")") else ""
    return number if is_number(number) else ""


def is_number(text: str) -> bool:
    return len(text) == _LENGTH and all(letter in _LETTERS for letter in text)


def _path(store: Store, number: str) -> str:
    return store.private_path(_FOLDER, f"{number}.json")
