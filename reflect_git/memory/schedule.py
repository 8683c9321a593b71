"""Run upkeep at a fixed time: a systemd timer, a launchd agent, or a line of the crontab.

What was written is recorded in the store, so that exactly that is removed.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from xml.sax.saxutils import escape

from reflect_git import paths
from reflect_git.errors import EXIT_USAGE, ReflectError
from reflect_git.platform import files, schedulers
from reflect_git.platform.schedulers import CRON, LAUNCHD, SYSTEMD
from reflect_git.records import json_form
from reflect_git.records.ids import folder_digest
from reflect_git.store.creation import read_template

if TYPE_CHECKING:
    from reflect_git.store.repository import Store

FILE = "schedule.json"
_MAX_BYTES = 1 << 20
_NAME = "reflect-git-upkeep"
_TIME = re.compile(r"([01]\d|2[0-3]):([0-5]\d)")


@dataclass(frozen=True)
class Schedule:
    """The files that an installation writes, by path, or the line of the crontab."""

    kind: str
    name: str
    when: str
    files: Mapping[str, str] = field(default_factory=dict)
    line: str = ""


def plan(store: Store, env: Mapping[str, str], command: Sequence[str], when: str, kind: str = "") -> Schedule:
    """Return what would be written. `when`: `hourly`, or a time of day such as 03:00."""
    kind = kind or schedulers.find_kind(env)
    if not kind:
        raise ReflectError("no scheduler was found", "upkeep runs once a day after a command anyway", "scheduler")
    if when != "hourly" and not _TIME.fullmatch(when):
        raise ReflectError(f"'{when}' is not a time of day", "write --at 03:00", "usage", EXIT_USAGE)
    if any("\n" in word or "\0" in word for word in command):
        raise ReflectError("a path with a line break cannot be scheduled", "move the store", "scheduler")
    name = f"{_NAME}-{folder_digest(os.path.realpath(store.root))[:8]}"
    if kind == CRON:
        return Schedule(kind, name, when, line=_build_cron_line(command, when, name))
    home = paths.home_dir(env)
    if kind == SYSTEMD:
        base = os.path.join(env.get("XDG_CONFIG_HOME") or os.path.join(home, ".config"), "systemd", "user")
        made = {
            f"{base}/{name}.service": _fill("systemd.service", COMMAND=" ".join(map(_quote_systemd, command))),
            f"{base}/{name}.timer": _fill("systemd.timer", WHEN=_describe(when), CALENDAR=_get_calendar(when)),
        }
    else:
        base = os.path.join(home, "Library", "LaunchAgents")
        label = f"io.reflect-git.{name}"
        made = {f"{base}/{label}.plist": _build_plist(command, when, label)}
        name = label
    return Schedule(kind, name, when, made)


def _fill(template: str, **values: str) -> str:
    text = read_template("schedule", template).decode("utf-8")
    for name, value in values.items():
        text = text.replace(f"@{name}@", value)
    return text


def _describe(when: str) -> str:
    return "every hour" if when == "hourly" else f"every day at {when}"


def _get_calendar(when: str) -> str:
    return "hourly" if when == "hourly" else f"*-*-* {when}:00"


def _quote_systemd(word: str) -> str:
    """Quote a word of ExecStart: % and $ stand for values there, and a backslash begins an escape."""
    text = word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%").replace("$", "$$").replace("\t", "\\t")
    return f'"{text}"'


def _build_cron_line(command: Sequence[str], when: str, name: str) -> str:
    """Return the line of the crontab. An unescaped % would end the command."""
    at = "0 * * * *" if when == "hourly" else f"{int(when[3:])} {int(when[:2])} * * *"
    return _fill("crontab", CALENDAR=at, COMMAND=shlex.join(command).replace("%", "\\%"), LABEL=name)


def _build_plist(command: Sequence[str], when: str, label: str) -> str:
    words = "\n".join(f"\t\t<string>{escape(word)}</string>" for word in command)
    if when == "hourly":
        calendar = "\t<key>StartInterval</key>\n\t<integer>3600</integer>"
    else:
        parts = (("Hour", int(when[:2])), ("Minute", int(when[3:])))
        inside = "".join(f"\t\t<key>{key}</key>\n\t\t<integer>{value}</integer>\n" for key, value in parts)
        calendar = f"\t<key>StartCalendarInterval</key>\n\t<dict>\n{inside}\t</dict>"
    return _fill("launchd.plist", CALENDAR=calendar, LABEL=escape(label), ARGUMENTS=words)


def _find_missing_folders(path: str) -> list[str]:
    missing: list[str] = []
    while not os.path.lexists(path):
        missing.insert(0, path)
        path = os.path.dirname(path)
    return missing


def _find_missing_links(made: Schedule) -> list[str]:
    """Return the folder in which systemd will put a link to the timer, if it does not exist yet."""
    folder = os.path.join(os.path.dirname(next(iter(made.files), "")), "timers.target.wants")
    return [folder] if made.kind == SYSTEMD and not os.path.lexists(folder) else []


def load(store: Store) -> dict[str, Any] | None:
    """Return what an installation recorded; None without one."""
    try:
        found = json_form.loads(files.read_if_exists(store.private_path(FILE), _MAX_BYTES) or b"null")
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) and found.get("kind") in (SYSTEMD, LAUNCHD, CRON) else None


def install(store: Store, env: Mapping[str, str], made: Schedule) -> None:
    """Write it, after what was installed before is removed. It is recorded first, so a killed one can be removed."""
    remove(store, env)
    for path in made.files:
        if os.path.lexists(path):
            raise ReflectError(f"'{path}' exists already", "move it away; it is not ours", "exists")
    before = schedulers.read_crontab(env) if made.kind == CRON else None
    joint = "\n" if before and not before.endswith(b"\n") else ""
    facts: dict[str, Any] = {
        "kind": made.kind, "name": made.name, "when": made.when, "files": dict(made.files), "line": made.line,
        "made": _find_missing_folders(os.path.dirname(next(iter(made.files), "/"))),
        "wants": _find_missing_links(made), "joint": joint, "was_missing": before is None,
    }  # fmt: skip
    files.write_atomic(store.private_path(FILE), json_form.dumps(facts))
    try:
        if made.kind == CRON:
            schedulers.write_crontab((before or b"") + f"{joint}{made.line}".encode(), env)
            return
        for folder in facts["made"]:
            os.mkdir(folder, 0o755)
        for path, text in made.files.items():
            with open(path, "x", encoding="utf-8") as file:
                file.write(text)
        schedulers.start(made.kind, made.name, next(iter(made.files)), env)
    except (ReflectError, OSError):
        remove(store, env)
        raise


def remove(store: Store, env: Mapping[str, str]) -> dict[str, Any] | None:
    """Remove what was installed, byte for byte; return what it was. A file that a person changed stays."""
    facts = load(store)
    if facts is None:
        return None
    if facts["kind"] == CRON:
        _remove_line(facts, env)
    else:
        schedulers.stop(facts["kind"], facts["name"], env)
        for path, text in facts["files"].items():
            if files.read_if_exists(path, _MAX_BYTES) == text.encode("utf-8"):
                os.unlink(path)
        for folder in [*facts.get("wants", []), *reversed(facts["made"])]:
            try:
                os.rmdir(folder)
            except OSError:  # not empty, or gone
                continue
        schedulers.reload(facts["kind"], env)
    files.remove(store.private_path(FILE))
    return facts


def _remove_line(facts: Mapping[str, Any], env: Mapping[str, str]) -> None:
    current = schedulers.read_crontab(env)
    line = str(facts["line"]).encode()
    if current is None or line not in current:
        return
    with_joint = f"{facts['joint']}".encode() + line
    left = current.replace(with_joint if current.endswith(with_joint) else line, b"", 1)
    schedulers.write_crontab(None if facts["was_missing"] and not left.strip() else left, env)


def find_faults(facts: Mapping[str, Any], env: Mapping[str, str]) -> list[str]:
    """Return what is no longer as it was installed."""
    if facts["kind"] == CRON:
        current = schedulers.read_crontab(env) or b""
        return [] if str(facts["line"]).encode() in current else ["its line is no longer in the crontab"]
    found = {path: files.read_if_exists(path, _MAX_BYTES) for path in facts["files"]}
    return [
        f"'{path}' is missing" if data is None else f"'{path}' was changed"
        for path, data in found.items() if data != facts["files"][path].encode("utf-8")
    ]  # fmt: skip
