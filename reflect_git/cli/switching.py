"""Whether hooks capture here and now, and how that is switched: for good, for a while, or for one project."""

from __future__ import annotations

import glob
import os
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from reflect_git import paths, workflow
from reflect_git.cli import wiring
from reflect_git.cli.front import Front, age, printable
from reflect_git.cli.wiring import Wiring
from reflect_git.errors import EXIT_USAGE, ReflectError
from reflect_git.model.ids import seconds_of, utc, utc_precise
from reflect_git.store import policy, quiet

if TYPE_CHECKING:
    from reflect_git.store.configfile import Value
    from reflect_git.store.repository import Store

CAPTURE, PAUSED, IGNORE = "reflect.capture", policy.PAUSED, "reflect.ignore"
_LONGEST_PAUSE = 366 * 86400


@dataclass(frozen=True)
class Capture:
    """Whether hooks capture in this folder now, and if not, why."""

    state: str
    until: str | None = None
    reason: str = ""

    def said(self) -> str:
        if self.state == "paused":
            left = seconds_of(self.until or "") - time.time() + 60  # two hours, said a second later, are two hours
            return f"paused until {self.until}, {age(left)} from now"
        return f"{self.state} ({self.reason})" if self.reason else self.state


def capture_here(store: Store, env: Mapping[str, str], folder: str, now: float) -> Capture:
    """The same questions that a hook asks, in the same order, with the answer in words."""
    if env.get("REFLECT_GIT_OFF") == "1":
        return Capture("off", reason="REFLECT_GIT_OFF is set")
    if not store.switched("reflect.capture", True):
        return Capture("off", reason="'reflect-git enable' switches it on")
    if store.setting(PAUSED) > utc(now):
        return Capture("paused", store.setting(PAUSED))
    above = project_folder(folder)
    if workflow.is_ignored(store, folder) or workflow.is_ignored(store, above):
        return Capture("ignored", reason=f"nothing is captured in '{printable(above)}'")
    return Capture("on")


def project_folder(folder: str) -> str:
    """The top of the work tree a folder is in, else the folder itself: what Claude Code calls the project."""
    current = os.path.abspath(folder)
    while not os.path.lexists(os.path.join(current, ".git")):
        current, below = os.path.dirname(current), current
        if current == below:
            return os.path.abspath(folder)
    return current


@dataclass(frozen=True)
class Change:
    """What a verb wants: policies and a pause become a commit, other settings do not; without any, nothing changes.

    `hooks` says whether Claude Code's settings are to have our entries; None leaves them as they are.
    """

    said: str
    undo: str
    state: str
    policies: Mapping[str, Value]
    settings: Mapping[str, Value]
    until: str | None = None
    project: str | None = None
    hooks: bool | None = None

    @property
    def changes_something(self) -> bool:
        return bool(self.policies or self.settings)


def store_for(front: Front, dry_run: bool) -> Store | None:
    """The store; a dry run makes none."""
    return front.store_if_any() if dry_run else front.store()


def stored(store: Store | None, key: str) -> list[str]:
    return list(store.values(key)) if store else []


def project_glob(folder: str) -> str:
    """What reflect.ignore says of a project; `*`, `?` and `[` in its path stand for themselves."""
    return glob.escape(project_folder(os.path.realpath(folder)))


def parse_span(span: str) -> int:
    """Return the seconds of a span such as 2h."""
    seconds = workflow.parse_duration(span)
    if seconds is None or not 0 < seconds <= _LONGEST_PAUSE:
        raise ReflectError(f"'{span}' is not a span of time", "write 30m, 2h, 3d or 1w", "usage", EXIT_USAGE)
    return seconds


def switch_off(store: Store | None, hooks: bool | None) -> Change:
    """Switch capture off everywhere until it is switched on; `hooks` as in Change."""
    off = store is not None and not store.switched(CAPTURE, True)
    policies: dict[str, Value] = {} if off else {CAPTURE: "false"}
    settings: dict[str, Value] = {PAUSED: None} if stored(store, PAUSED) else {}
    return Change(
        "off", f"reflect-git {'resume' if hooks is None else 'enable'}", "off", policies, settings, hooks=hooks
    )


def switch_on(store: Store | None, hooks: bool | None) -> Change:
    """Switch capture on everywhere and end a pause; `hooks` as in Change."""
    off = store is not None and not store.switched(CAPTURE, True)
    settings: dict[str, Value] = {PAUSED: None} if stored(store, PAUSED) else {}
    spans = quiet.spans_in(stored(store, quiet.QUIET))
    if spans != quiet.ended(spans, utc()):
        settings[quiet.QUIET] = quiet.written(quiet.ended(spans, utc()))
    policies: dict[str, Value] = {CAPTURE: "true"} if off else {}
    return Change("on", f"reflect-git {'pause' if hooks is None else 'disable'}", "on", policies, settings, hooks=hooks)


def pause(store: Store | None, until: str) -> Change:
    """Pause capture everywhere until a time."""
    if store is not None and not store.switched(CAPTURE, True):
        return Change("off, for good", "reflect-git enable", "off", {}, {})
    spans = quiet.begun(quiet.ended(quiet.spans_in(stored(store, quiet.QUIET)), utc()), utc(), until)
    settings: dict[str, Value] = {PAUSED: until, quiet.QUIET: quiet.written(spans)}
    return Change(f"paused until {until}", "reflect-git resume", "paused", {}, settings, until)


def carry_out(front: Front, store: Store | None, change: Change, dry_run: bool) -> None:
    """Do it, and say what was done and how to undo it."""
    if change.hooks and not dry_run:
        wiring.plan(front.env, store, True)  # a settings file that we cannot mend is said before anything is switched
    commit = None if dry_run or store is None else _switch(front, store, change)
    wired = _wire(front, store, change, dry_run)
    if front.json:
        front.data({
            "capture": change.state, "until": change.until, "project": change.project,
            "changed": change.changes_something or wired.changes, "commit": commit,
            "hooks": wired.state, "settings_file": wired.path,
        })  # fmt: skip
        return
    if change.changes_something or not wired.changes:
        verb = "is already" if not change.changes_something else "would be" if dry_run else "is"
        front.tell(printable(f"capture {verb} {change.said}"))
    if wired.changes:
        _tell_wiring(front, wired, dry_run)
    if change.changes_something and not dry_run:
        front.talk(printable(f"{f'commit {commit[:10]}, ' if commit else ''}undo with: {change.undo}"))


def _switch(front: Front, store: Store, change: Change) -> str | None:
    """Write the change; return the commit of its decision."""
    by = workflow.author(store, workflow.road_of(front.env, front.at_terminal))
    if change.policies:
        return policy.switch(store, change.policies, by, utc_precise(), unrecorded=change.settings)
    if change.until or (PAUSED in change.settings and store.setting(PAUSED) > utc()):  # one that is over needs no word
        return policy.switch_pause(store, change.until, by, utc_precise(), change.settings)
    if change.settings:
        policy.set_keys(store, change.settings)
    return None


def _wire(front: Front, store: Store | None, change: Change, dry_run: bool) -> Wiring:
    if change.hooks is None:
        return wiring.look(front.env)
    if dry_run or store is None:
        return wiring.plan(front.env, store, change.hooks)
    try:
        return wiring.carry_out(front.env, store, change.hooks)
    except (ReflectError, OSError) as error:
        said = error.message if isinstance(error, ReflectError) else f"{error.strerror}: '{error.filename}'"
        hint = error.hint if isinstance(error, ReflectError) else "see who may write there, then run it again"
        raise ReflectError(f"capture is {change.said}, but {said}", hint, getattr(error, "code", "system")) from None


def _tell_wiring(front: Front, wired: Wiring, dry_run: bool) -> None:
    where = f"'{_abbreviate(wired.path, front.env)}'"
    verb = "would be " if dry_run else ""
    if wired.state == wiring.SETTINGS:
        said = f"hooks {verb}added to {where}; sessions that start from now on capture"
    elif wired.state == wiring.PLUGIN:
        said = f"hooks {verb}removed from {where}; those of the plugin stay"
    else:
        said = f"hooks {verb}removed from {where}; 'reflect-git enable' puts them back"
    front.tell(printable(said))
    if dry_run:
        front.talk(printable(_diff(wired)), as_is=True)


def _diff(wired: Wiring) -> str:
    from difflib import unified_diff

    before, after = ((data or b"").decode("utf-8", "replace").splitlines() for data in (wired.before, wired.after))
    return "\n".join(unified_diff(before, after, wired.path, wired.path, lineterm=""))


def _abbreviate(path: str, env: Mapping[str, str]) -> str:
    home = paths.home_dir(env)
    return f"~{path[len(home) :]}" if path.startswith(home + os.sep) else path
