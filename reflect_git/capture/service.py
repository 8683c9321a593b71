"""Entry points for commands and hooks: open the store, check whether to capture, capture and mine, name projects.

Callers pass in the environment and the time; other modules do the work.
"""

from __future__ import annotations

import os
import stat
import time

from reflect_git import paths
from reflect_git.errors import ReflectError
from reflect_git.platform import faults, files
from reflect_git.records.ids import utc, utc_precise
from reflect_git.store import opening
from reflect_git.store.opening import open_or_create
from reflect_git.store.repository import Store, no_store_error

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from typing import Any, Optional

    from reflect_git.records.schema import Decision, DecisionAuthor, Project, Signal

_PHRASES_FILE_LIMIT = 256 << 10
_MAX_SECONDS_AGO = 50 * 366 * 86400
FAULT_VARIABLE, FAULT_TRACE_VARIABLE = "REFLECT_GIT_FAULT", "REFLECT_GIT_FAULT_TRACE"


def locate_store(env: Mapping[str, str], override: str = "") -> str:
    """Return where the store is or will be."""
    return opening.locate_store(env, override)


def open_store(env: Mapping[str, str], override: str = "", create: bool = True) -> Store:
    """Open the store; create it if it is missing and `create` is set."""
    root = locate_store(env, override)
    if env.get(FAULT_VARIABLE):
        faults.arm(env[FAULT_VARIABLE], root, _get_temp_dir(env), env.get(FAULT_TRACE_VARIABLE, ""))
    if not create and not os.path.lexists(os.path.join(root, ".git")):
        raise no_store_error(root)
    return open_or_create(root, env)


def _get_temp_dir(env: Mapping[str, str]) -> str:
    return env.get("TMPDIR") or "/tmp"


def open_recovered_store(env: Mapping[str, str], override: str = "", create: bool = True) -> Store:
    """Open the store and recover interrupted and pending work, as every command except hooks does."""
    from reflect_git.store import recover  # no hook sweeps

    store = open_store(env, override, create)
    recover.recover_store(store)
    return store


def is_capturing(store: Store, env: Mapping[str, str], folder: str, now: float) -> bool:
    """Return whether hooks may capture here and now."""
    if env.get("REFLECT_GIT_OFF") == "1" or not store.is_enabled("reflect.capture", True):
        return False
    paused = store.get_setting("reflect.pausedUntil")
    return not (paused and paused > utc(now)) and not is_ignored(store, folder)


def is_ignored(store: Store, folder: str) -> bool:
    """Return whether a folder is excluded by `reflect.ignore` (globs of folders and repositories) or a marker file."""
    if not folder:
        return False
    from reflect_git.platform.project import top_of

    try:
        names = {folder, os.path.realpath(folder), top_of(folder) or folder}
    except ValueError:  # a name that no folder can have
        return False
    globs = store.get_values("reflect.ignore")
    if any(matches_glob(name, glob) for glob in globs for name in names):
        return True
    if any(not glob.startswith("/") for glob in globs):
        project = _get_repository(store, folder)
        if project and any(matches_glob(project["key"], glob) for glob in globs):
            return True
    return any(_is_marker(os.path.join(name, ".reflectignore")) for name in names)


def _is_marker(path: str) -> bool:
    """Return whether a `.reflectignore` exists.

    A FIFO, socket or device does not count: a sandbox may have put one over the file.
    """
    try:
        mode = os.lstat(path).st_mode
    except OSError:
        return False
    return stat.S_ISREG(mode) or stat.S_ISDIR(mode) or stat.S_ISLNK(mode)


def matches_glob(name: str, glob: str) -> bool:
    """Return whether a value of reflect.ignore matches a folder or a repository."""
    from fnmatch import fnmatchcase  # only for those who have such a setting

    from reflect_git.platform import system

    name, wanted = system.current.fold_name(name), system.current.fold_name(glob.rstrip("/"))
    return fnmatchcase(name, wanted) or fnmatchcase(name, f"{wanted}/*")


def capture_signal(
    store: Store, facts: Mapping[str, Any], env: Mapping[str, str], wait: float = 0.0
) -> tuple[Signal, Optional[str]]:
    """Store one signal and return it with its commit, or None while another process commits.

    Values are redacted as given: callers that truncate or join texts must redact them first.
    """
    from reflect_git.capture.new_signal import build_signal_from_input  # commands that only read do without its 12 ms
    from reflect_git.store.append import append

    signal = build_signal_from_input(facts, store.machine, utc_precise(), paths.home_dir(env))
    return signal, append(store, signal, wait)


def store_signal(store: Store, facts: Mapping[str, Any], env: Mapping[str, str]) -> Optional[Signal]:
    """Write one signal to pending and return it; None if it is known already. Another process commits it."""
    from reflect_git.capture.new_signal import build_signal_from_input
    from reflect_git.store.append import write_new

    signal = build_signal_from_input(facts, store.machine, utc_precise(), paths.home_dir(env))
    return signal if write_new(store, [signal]) else None


def mine_transcripts(transcripts: Iterable[str], home: str, everything: bool = False) -> Iterator[tuple[str, Signal]]:
    """Yield each transcript's signals as they would be stored, without storing them.

    With `everything`, also those that would not be stored.
    """
    from reflect_git.capture.detection import InMemoryRequestCounter, find_signals, ignore_error
    from reflect_git.capture.new_signal import build_signal
    from reflect_git.capture.transcript import TranscriptReader  # few commands and no failure hook read one

    memory = InMemoryRequestCounter()
    for path in transcripts:
        for facts in find_signals(TranscriptReader(path, ended=True), memory, everything, ignore_error):
            yield path, build_signal(facts, "", utc_precise(), home)


def try_load_phrases(store: Store) -> None:
    """Add the user's own phrases to the scorer; log an error if their file cannot be read."""
    try:
        load_phrases(store)
    except (ReflectError, OSError) as error:
        store.log(f"reflect.phrases: {error}")


def load_phrases(store: Store) -> None:
    """Add the phrases in the file that `reflect.phrases` names to those of the scorer."""
    path = store.get_setting("reflect.phrases")
    if not path:
        return
    from reflect_git.capture import score

    score.add_phrases(score.parse_user_phrases(files.read_regular(os.path.expanduser(path), _PHRASES_FILE_LIMIT)))


def get_project(store: Store, folder: str) -> Optional[Project]:
    """Return the project of a folder, even if the folder is gone; None for the home folder itself.

    Words said in a deleted folder must not count for every project. Words said in the home folder belong to no project,
    even if it is a repository.
    """
    found = _get_repository(store, folder)
    if found is None:
        return None
    from reflect_git.platform.project import top_of

    return found if paths.is_project(store.env, top_of(folder) or folder) else None


def _get_repository(store: Store, folder: str) -> Optional[Project]:
    from reflect_git.store.local import projects  # who looks at the past asks for no project

    try:
        return projects.get_project(store, folder) if os.path.isabs(folder) or os.path.isdir(folder) else None
    except ValueError:  # a name that no file can have
        return None


def get_author(store: Store, road: str) -> DecisionAuthor:
    """Return who decides, from the person's own git settings."""
    settings = store.git.get_user_config()
    return {
        "road": road,
        "name": (settings.get("user.name") or [""])[-1],
        "email": (settings.get("user.email") or [""])[-1],
    }


def get_channel(env: Mapping[str, str], at_terminal: bool) -> str:
    """Return the channel of a decision.

    Inside Claude Code a terminal proves nothing, because a model can have one.
    """
    return "terminal" if at_terminal and not env.get("CLAUDECODE") else "unattended"


def require_approval(
    store: Store, env: Mapping[str, str], at_terminal: bool, decisions: Iterable[Decision], what: str = "an approval"
) -> str:
    """Return the channel of an approval that needs no dialogue, or raise an error that names `what`.

    A policy counts only together with the decision of the person who set it: anybody can write the config.
    """
    from reflect_git.store import policy  # no hook approves

    if env.get("CLAUDECODE"):
        raise ReflectError(
            f"{what} needs a person's answer",
            "ask with the plugin's /reflect, or run 'reflect-git review' in a terminal",
            code="approval",
        )
    road = get_channel(env, at_terminal)
    switched = store.get_setting("reflect.approval") == "unattended"
    if road == "unattended" and (not switched or "reflect.approval" in policy.find_undecided(store, decisions)):
        raise ReflectError(
            f"{what} needs a person at a terminal",
            "scripts may do it after 'reflect-git config reflect.approval unattended'", code="approval",
        )  # fmt: skip
    return road


def parse_duration(text: str) -> Optional[int]:
    """Parse `90s`, `30m`, `2h`, `3d` or `1w` into seconds; None for anything else."""
    units = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}
    number, unit = text[:-1], text[-1:]
    return int(number) * units[unit] if number.isascii() and number.isdigit() and unit in units else None


def parse_since(text: str, more: str = "") -> str:
    """Return the UTC time of `2026-02-11`, a full timestamp, or a duration ago.

    `more` names other accepted values for the error. A day begins in the person's time zone, as in git.
    """
    seconds = parse_duration(text)
    if seconds is not None and seconds <= _MAX_SECONDS_AGO:
        return utc(time.time() - seconds)
    for form in ("%Y-%m-%d", "%Y-%m-%dT%H:%M:%SZ"):
        try:
            given = time.strptime(text, form)
            return text if text.endswith("Z") else utc(time.mktime(given))
        except (ValueError, OverflowError):
            continue
    hint = f"write 2026-02-11, or 2h, 3d, 1w for a time ago{more}"
    raise ReflectError(f"'{text}' is not a time", hint, "usage", 2)
