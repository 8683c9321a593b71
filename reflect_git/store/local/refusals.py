"""Count how often a wording was refused, by the gate or by a person.

After three times only a person at a terminal can approve it: no panel, no answer in Claude Code, no policy.
Only digests of texts are kept.
"""

from __future__ import annotations

import json

from reflect_git.errors import ReflectError
from reflect_git.platform import files
from reflect_git.records.ids import digest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from reflect_git.store.repository import Store

FILE = "refusals.json"
LIMIT = 3
_TERMINAL = "terminal"
_MAX_BYTES, _MAX_TEXTS = 1 << 16, 500


def count_refusals(store: Store, text: str) -> int:
    """Return how often this wording was refused."""
    return _load(store).get(_get_key(text), 0)


def require_not_refused_often(store: Store, text: str, channel: str) -> None:
    """Raise if this wording was refused three times, unless a person approves it at a terminal."""
    if channel != _TERMINAL and count_refusals(store, text) >= LIMIT:
        hint = "a person can still approve it: run 'reflect-git review' in a terminal"
        raise ReflectError(f"this wording was refused {LIMIT} times", hint, "approval")


def add_refusal(store: Store, text: str) -> None:
    """Count one refusal of this wording."""
    key, kept = _get_key(text), _load(store)
    count = kept.pop(key, 0) + 1
    kept[key] = count  # the newest is last
    data = json.dumps(dict(list(kept.items())[-_MAX_TEXTS:])).encode("ascii")
    files.write_atomic(store.private_path(FILE), data, sync=False)


def _get_key(text: str) -> str:
    return digest("refused", " ".join(text.split()).casefold())[:16]


def _load(store: Store) -> dict[str, int]:
    try:
        kept = json.loads(files.read_regular(store.private_path(FILE), _MAX_BYTES))
    except (OSError, ValueError, RecursionError):
        return {}
    if not isinstance(kept, dict):
        return {}
    return {key: count for key, count in kept.items() if type(count) is int and count > 0}
