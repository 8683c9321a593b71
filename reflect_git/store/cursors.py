"""How far each transcript was mined, and its session's figures so far. Disposable: ids make mining twice harmless."""

from __future__ import annotations

import os

from reflect_git.adapters import files, jsontext
from reflect_git.model.ids import digest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from reflect_git.store.repository import Store

_SAID = 100  # of more corrections in one session than this, the newest are remembered
_FORGOTTEN = 60 * 86400.0
_LOOKED_AT = 300


class Cursor:
    """One transcript. `offset` and `index` stand twenty turns back, `consumed` is where reading ended.

    `counted` is the number of the first turn that is not in `figures` yet. `said` are the ids of what the user typed.
    """

    __slots__ = ("begun", "consumed", "counted", "figures", "folder", "index", "offset", "pid", "said", "transcript")

    def __init__(self, transcript: str) -> None:
        self.transcript = transcript
        self.offset = self.index = self.consumed = self.counted = 0
        self.pid = self.begun = 0
        self.folder = ""
        self.figures: dict[str, Any] = {}
        self.said: list[str] = []

    def restore(self, fields: dict[str, Any]) -> None:
        for name in self.__slots__:
            value = fields.get(name)
            if type(value) is type(getattr(self, name)) and name != "transcript":
                setattr(self, name, value)

    def fields(self) -> dict[str, Any]:
        self.said = self.said[-_SAID:]
        return {name: getattr(self, name) for name in self.__slots__}


def consumed(git_dir: str, transcript: str) -> int:
    """Where reading ended, for those who have no store open; -1 where nothing is known."""
    for state in ("open", "done"):
        fields = _read(os.path.join(git_dir, "reflect", "cursors", state, f"{_name(transcript)}.json"))
        if type(fields.get("consumed")) is int:
            return int(fields["consumed"])
    return -1


def load(store: Store, transcript: str) -> Cursor:
    """Where to go on; at the beginning if nothing is known, or what is known cannot be read."""
    cursor = Cursor(transcript)
    for state in ("open", "done"):
        fields = _read(_path(store, state, transcript))
        if fields:
            cursor.restore(fields)
            break
    return cursor


def save(store: Store, cursor: Cursor, ended: bool = False) -> None:
    """Signals are acknowledged before this: whoever dies in between mines them again, under the same ids."""
    import json  # which a hook that finds nothing new can do without: 10 ms

    state, other = ("done", "open") if ended else ("open", "done")
    files.make_private_dirs(store.private_path("cursors", state), below=store.private)
    data = json.dumps(_without_secrets(cursor.fields())).encode()
    files.write_whole(_path(store, state, cursor.transcript), data, sync=False)
    files.discard(_path(store, other, cursor.transcript))


def _without_secrets(fields: dict[str, Any]) -> dict[str, Any]:
    """Leave out a path that has a secret in it. Hooks name the transcript themselves; only a session whose client died
    is then not found by the next one."""
    from reflect_git.adapters.redact import redact

    paths = {name: fields[name] for name in ("transcript", "folder")}
    return {**fields, **{name: "" for name, path in paths.items() if redact(path) != path}}


def drop(store: Store, cursor: Cursor) -> None:
    """The transcript is not there, or is none of the client's."""
    files.discard(_path(store, "open", cursor.transcript))


def standing(store: Store, ended: bool = False) -> list[Cursor]:
    """The transcripts whose sessions have not ended, as far as anybody told; with `ended`, those that went on since."""
    found = []
    for state in ("open", "done") if ended else ("open",):
        folder = store.private_path("cursors", state)
        for name in _newest(folder):
            fields = _read(os.path.join(folder, name))
            transcript = fields.get("transcript")
            if isinstance(transcript, str) and transcript and (state == "open" or _has_grown(fields)):
                cursor = Cursor(transcript)
                cursor.restore(fields)
                found.append(cursor)
    return found


def _newest(folder: str) -> list[str]:
    """Scripts may leave thousands of ended ones; who goes on after so many others is found by `import`."""
    names = files.names_in(folder)
    if len(names) <= _LOOKED_AT:
        return names
    return sorted(names, key=lambda name: -_changed(os.path.join(folder, name)))[:_LOOKED_AT]


def _changed(path: str) -> float:
    try:
        return os.stat(path).st_mtime
    except OSError:
        return 0.0


def _has_grown(fields: dict[str, Any]) -> bool:
    """Somebody went on in a session that had ended, and its beginning was not told, or not to us."""
    try:
        return os.stat(fields["transcript"], follow_symlinks=False).st_size > int(fields.get("consumed", 0))
    except (OSError, ValueError, TypeError):
        return False


def lock(store: Store, transcript: str) -> files.Lock:
    """One miner per transcript, so that figures are counted once."""
    files.make_private_dirs(store.private_path("cursors"), below=store.private)
    return files.Lock(store.private_path("cursors", f"{_name(transcript)}.busy"))


def forget_old(store: Store, now: float) -> None:
    """A session that nobody resumed for two months starts anew if somebody does."""
    for folder in (store.private_path("cursors", "done"), store.private_path("cursors")):
        for name in files.names_in(folder):
            path = os.path.join(folder, name)
            if name.endswith((".json", ".busy")) and now - _changed(path) > _FORGOTTEN:
                files.discard(path)


def _name(transcript: str) -> str:
    return digest("transcript", transcript)[:20]


def _path(store: Store, state: str, transcript: str) -> str:
    return store.private_path("cursors", state, f"{_name(transcript)}.json")


def _read(path: str) -> dict[str, Any]:
    try:
        fields = jsontext.loads((files.read_if_there(path) or b"{}").decode("utf-8", "replace"))
    except (OSError, ValueError, RecursionError):
        return {}
    return fields if isinstance(fields, dict) else {}
