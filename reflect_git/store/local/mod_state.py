"""Remember whether the mod of the plugin answered in the last sessions, so that `doctor` can say so.

A mod can be missing without a word: an older client, a policy of an organisation, an error when it is loaded. So each
session has empty files: one when it started, one at the last prompt, and one when the mod last called us.
"""

from __future__ import annotations

import os

from reflect_git.platform import files
from reflect_git.records.ids import digest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from reflect_git.store.repository import Store

STARTED, PROMPTED, SEEN, FAILED = "started", "prompted", "seen", "failed"
UNKNOWN, MISSING, STOPPED = "unknown", "missing", "stopped"  # besides FAILED
KEPT_PREFIX = "keep-"  # of the file of an answer given in /keep
_FOLDER = "mod"
_MAX_AGE = 30 * 86400.0
_MAX_FILES = 60
_PATIENCE = 15.0  # seconds that the mod may need to call us
_MAX_ERROR = 200


def has_kept_answers(private: str) -> bool:
    """Return whether an answer given in /keep waits. `private` is the store's private folder.

    Each prompt asks this, so it is here: the module of the answers loads `json`.
    """
    try:
        return any(name.startswith(KEPT_PREFIX) for name in os.listdir(os.path.join(private, "answers")))
    except OSError:
        return False


def mark(store: Store, session: str, event: str, text: str = "") -> None:
    """Note an event of a session now. Nothing depends on it but a line of `doctor`."""
    folder = store.private_path(_FOLDER)
    path = os.path.join(folder, f"{digest('mod', session)[:16]}.{event}")
    try:
        os.utime(path)
    except OSError:
        try:
            files.make_private_dirs(folder, below=store.private)
            if text:  # each prompt marks, almost always without a text
                from reflect_git.redact import redact

                text = redact(text)
            files.write_atomic(path, text[:_MAX_ERROR].encode("utf-8", "replace"), sync=False)
        except OSError:
            pass


def delete_old_marks(store: Store, now: float) -> None:
    """Delete the marks of sessions that are long over, or too many."""
    files.delete_old(store.private_path(_FOLDER), now, _MAX_AGE, _MAX_FILES)


def find_problem(store: Store, now: float) -> tuple[str, str]:
    """Return what is wrong with the mod in the last session that had the plugin.

    That is ("", "") if it works, else one of the words above, and for `FAILED` what the mod says.
    """
    found: dict[str, dict[str, float]] = {}
    for moment, path in files.list_by_age(store.private_path(_FOLDER)):
        name, _, event = os.path.basename(path).partition(".")
        found.setdefault(name, {})[event] = moment
    started = {name: times[STARTED] for name, times in found.items() if STARTED in times}
    if not started:
        return UNKNOWN, ""
    last = max(started, key=lambda name: started[name])
    times = found[last]
    if FAILED in times:
        path = os.path.join(store.private_path(_FOLDER), f"{last}.{FAILED}")
        return FAILED, (files.read_if_exists(path) or b"").decode("utf-8", "replace")
    if SEEN not in times:
        return (MISSING if now - times[STARTED] > _PATIENCE else UNKNOWN), ""
    prompted = times.get(PROMPTED, 0.0)
    return (STOPPED if prompted > times[SEEN] and now - prompted > _PATIENCE else ""), ""
