"""In how many sessions the same thing was asked for; hashes only, so that nothing said is kept by it."""

from __future__ import annotations

import json

from reflect_git.adapters import files
from reflect_git.store.fold import session_hash

TYPE_CHECKING = False
if TYPE_CHECKING:
    from reflect_git.store.repository import Store

_KEYS = 4000
_SESSIONS = 8  # more do not make it clearer


class Requests:
    """What earlier sessions asked for, the least recent first."""

    def __init__(self, store: Store) -> None:
        self._path = store.private_path("requests.json")
        self._known = self._load()
        self._changed = False

    def sessions(self, key: str, session: str) -> int:
        """Note that this session asks for it; in how many it was asked for by now."""
        seen = self._known.pop(key, [])
        name = session_hash(session)
        if name not in seen:
            seen = [*seen, name][-_SESSIONS:]
            self._changed = True
        self._known[key] = seen
        return len(seen)

    def save(self) -> None:
        if self._changed:
            kept = dict(list(self._known.items())[-_KEYS:])
            files.write_whole(self._path, json.dumps(kept, separators=(",", ":")).encode(), sync=False)

    def _load(self) -> dict[str, list[str]]:
        try:
            known = json.loads(files.read_if_there(self._path) or b"{}")
        except (OSError, ValueError, RecursionError):
            return {}
        entries = known.items() if isinstance(known, dict) else ()
        return {key: list(map(str, seen)) for key, seen in entries if isinstance(seen, list)}
