"""Session state: how far each transcript was mined, statistics, and repeated requests.

Disposable: mining a transcript twice is harmless, because the ids are the same.
"""

from __future__ import annotations

import json
import os
import time

from reflect_git.platform import files
from reflect_git.platform.git import COMMITTER
from reflect_git.records import json_form
from reflect_git.records.history import session_hash
from reflect_git.records.ids import digest, plural
from reflect_git.store import inbox
from reflect_git.store.main import main_branch, ref_updates
from reflect_git.store.repository import MAIN, get_record_id

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from reflect_git.store.repository import Store

_MAX_CORRECTIONS = 100  # remember at most this many corrections of a session, the newest
_MAX_AGE = 60 * 86400.0
_MAX_LISTED = 300


class Cursor:
    """The state of one transcript. `offset` and `index` are twenty turns back, `consumed` is where reading ended.

    `counted` is the number of the first turn that is not in `figures` yet. `said` are the ids of what the user typed.
    `fired` is how much of the log of guards is in stored figures, `former` what the last stored part had loaded.
    """

    __slots__ = (
        "begun", "consumed", "counted", "figures", "fired", "folder", "former", "index", "offset", "pid", "said",
        "transcript",
    )  # fmt: skip

    def __init__(self, transcript: str) -> None:
        self.transcript = transcript
        self.offset = self.index = self.consumed = self.counted = 0
        self.pid = self.begun = self.fired = 0
        self.folder = ""
        self.figures: dict[str, Any] = {}
        self.former: dict[str, Any] = {}
        self.said: list[str] = []

    def restore(self, fields: dict[str, Any]) -> None:
        """Set the fields from a saved state; ignore values of the wrong type."""
        for name in self.__slots__:
            value = fields.get(name)
            if type(value) is type(getattr(self, name)) and name != "transcript":
                setattr(self, name, value)

    def fields(self) -> dict[str, Any]:
        """Return the fields to save."""
        self.said = self.said[-_MAX_CORRECTIONS:]
        return {name: getattr(self, name) for name in self.__slots__}


def get_consumed(git_dir: str, transcript: str) -> int:
    """Return where reading ended, without opening the store; -1 if unknown."""
    for state in ("open", "done"):
        fields = _read_fields(
            os.path.join(git_dir, "reflect", "cursors", state, f"{_hash_transcript(transcript)}.json")
        )
        if type(fields.get("consumed")) is int:
            return int(fields["consumed"])
    return -1


def load_cursor(store: Store, transcript: str) -> Cursor:
    """Return the state of a transcript; at the beginning if nothing usable is saved."""
    cursor = Cursor(transcript)
    for state in ("open", "done"):
        fields = _read_fields(_get_path(store, state, transcript))
        if fields:
            cursor.restore(fields)
            break
    return cursor


def has_cursor(store: Store, transcript: str) -> bool:
    """Return whether the transcript was read at least once, or its session is known."""
    return any(os.path.lexists(_get_path(store, state, transcript)) for state in ("open", "done"))


def save_cursor(store: Store, cursor: Cursor, ended: bool = False) -> None:
    """Save the state. Signals are written before: after a kill in between they are mined again, with the same ids."""
    import json  # takes 10 ms, which a hook that finds nothing new saves

    state, other = ("done", "open") if ended else ("open", "done")
    files.make_private_dirs(store.private_path("cursors", state), below=store.private)
    data = json.dumps(_clear_secret_paths(cursor.fields())).encode()
    files.write_atomic(_get_path(store, state, cursor.transcript), data, sync=False)
    files.discard(_get_path(store, other, cursor.transcript))


def _clear_secret_paths(fields: dict[str, Any]) -> dict[str, Any]:
    """Clear paths that contain a secret.

    Hooks name the transcript themselves. Only a session whose client died is then not found by the next one.
    """
    from reflect_git.redact import redact

    paths = {name: fields[name] for name in ("transcript", "folder")}
    return {**fields, **{name: "" for name, path in paths.items() if redact(path) != path}}


def delete_cursor(store: Store, cursor: Cursor) -> None:
    """Delete the state of a transcript that is missing or not the client's."""
    files.discard(_get_path(store, "open", cursor.transcript))


def has_sessions(store: Store) -> bool:
    """Return whether hooks have seen any session."""
    return any(files.list_names(store.private_path("cursors", state)) for state in ("open", "done"))


def list_cursors(store: Store, ended: bool = False) -> list[Cursor]:
    """List the transcripts of sessions not known to have ended; with `ended`, also those that grew since."""
    found = []
    for state in ("open", "done") if ended else ("open",):
        folder = store.private_path("cursors", state)
        for name in _list_newest(folder):
            fields = _read_fields(os.path.join(folder, name))
            transcript = fields.get("transcript")
            if isinstance(transcript, str) and transcript and (state == "open" or _has_grown(fields)):
                cursor = Cursor(transcript)
                cursor.restore(fields)
                found.append(cursor)
    return found


def _list_newest(folder: str) -> list[str]:
    """List the newest files. Scripts may leave thousands of ended sessions; `import` finds the others."""
    names = files.list_names(folder)
    if len(names) <= _MAX_LISTED:
        return names
    return sorted(names, key=lambda name: -_get_mtime(os.path.join(folder, name)))[:_MAX_LISTED]


def _get_mtime(path: str) -> float:
    try:
        return os.stat(path).st_mtime
    except OSError:
        return 0.0


def _has_grown(fields: dict[str, Any]) -> bool:
    """Return whether an ended session was continued without our noticing its start."""
    try:
        return os.stat(fields["transcript"], follow_symlinks=False).st_size > int(fields.get("consumed", 0))
    except (OSError, ValueError, TypeError):
        return False


def get_lock(store: Store, transcript: str) -> files.Lock:
    """Return the lock of a transcript: one miner at a time, so that statistics are counted once."""
    files.make_private_dirs(store.private_path("cursors"), below=store.private)
    return files.Lock(store.private_path("cursors", f"{_hash_transcript(transcript)}.busy"))


def delete_old_cursors(store: Store, now: float) -> None:
    """Delete the state of sessions not resumed for two months; such a session starts again from the beginning."""
    for folder in (store.private_path("cursors", "done"), store.private_path("cursors")):
        for name in files.list_names(folder):
            path = os.path.join(folder, name)
            if name.endswith((".json", ".busy")) and now - _get_mtime(path) > _MAX_AGE:
                files.discard(path)


def _hash_transcript(transcript: str) -> str:
    return digest("transcript", transcript)[:20]


def _get_path(store: Store, state: str, transcript: str) -> str:
    return store.private_path("cursors", state, f"{_hash_transcript(transcript)}.json")


def _read_fields(path: str) -> dict[str, Any]:
    try:
        fields = json_form.loads((files.read_if_exists(path) or b"{}").decode("utf-8", "replace"))
    except (OSError, ValueError, RecursionError):
        return {}
    return fields if isinstance(fields, dict) else {}


_MAX_REQUESTS = 4000
_MAX_SESSIONS = 8  # more do not make it clearer


class RequestCounter:
    """The requests of earlier sessions, the least recent first."""

    def __init__(self, store: Store) -> None:
        self._path = store.private_path("requests.json")
        self._known = self._load()
        self._changed = False

    def count_sessions(self, key: str, session: str) -> int:
        """Note that this session made the request; return in how many sessions it was made."""
        seen = self._known.pop(key, [])
        name = session_hash(session)
        if name not in seen:
            seen = [*seen, name][-_MAX_SESSIONS:]
            self._changed = True
        self._known[key] = seen
        return len(seen)

    def save(self) -> None:
        """Write the requests if they changed."""
        if self._changed:
            kept = dict(list(self._known.items())[-_MAX_REQUESTS:])
            files.write_atomic(self._path, json.dumps(kept, separators=(",", ":")).encode(), sync=False)

    def _load(self) -> dict[str, list[str]]:
        try:
            known = json.loads(files.read_if_exists(self._path) or b"{}")
        except (OSError, ValueError, RecursionError):
            return {}
        entries = known.items() if isinstance(known, dict) else ()
        return {key: list(map(str, seen)) for key, seen in entries if isinstance(seen, list)}


_WAITING_FILE = "exposures"
_BATCH_SIZE = 500


def mark_waiting(store: Store) -> None:
    """Mark that session statistics are waiting, so that the next command need not search for them."""
    files.write_atomic(store.private_path(_WAITING_FILE), b"", sync=False)


def has_waiting(store: Store) -> bool:
    """Return whether session statistics are waiting to be moved."""
    return files.read_if_exists(store.private_path(_WAITING_FILE)) is not None


def move_to_main(store: Store) -> int:
    """Move session statistics from the inbox to main; return how many. The caller holds the lock.

    A killed move continues where it stopped.
    """
    ref = inbox.get_current_ref(store)
    tip = store.git.resolve(ref)
    waiting = {
        path: oid for path, oid in (store.git.tree(tip, "exposure") if tip else {}).items() if get_record_id(path)
    }
    paths = list(waiting)[:_BATCH_SIZE]
    if paths and not inbox.is_checked_out(store, ref):
        known = store.git.tree(MAIN, "exposure")
        new = [path for path in paths if path not in known]
        if new:
            data = dict(zip(new, store.git.blobs([waiting[path] for path in new])))
            main_branch.commit_files(
                store, data, f"record: {plural(len(new), 'session')}\n{_format_machine_trailer(store)}"
            )
        _remove_from_inbox(store, ref, paths)
    if len(waiting) == len(paths):
        files.discard(store.private_path(_WAITING_FILE))
    return len(paths)


def _remove_from_inbox(store: Store, ref: str, paths: list[str]) -> None:
    message = f"record: {len(paths)} moved to main\n{_format_machine_trailer(store)}".encode()
    stream = [
        f"commit {ref}\ncommitter {COMMITTER} {max(0, int(time.time()))} +0000\ndata {len(message)}\n".encode(),
        message,
        f"\nfrom {ref}^0\n".encode(),
        *(f"D {path}\n".encode() for path in paths),
        b"\ndone\n",
    ]
    ref_updates.fast_import(store, ref, stream)


def _format_machine_trailer(store: Store) -> str:
    return f"\nMachine: {store.machine}\n"
