"""Run the system's schedulers: systemctl of the user, launchctl, crontab. Nothing else starts them."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence

from reflect_git.errors import ReflectError

SYSTEMD, LAUNCHD, CRON = "systemd", "launchd", "cron"
_SECONDS = 20.0
_PROGRAMS = {SYSTEMD: "systemctl", LAUNCHD: "launchctl", CRON: "crontab"}


def find_kind(env: Mapping[str, str]) -> str:
    """Return the scheduler of this system: systemd if it manages the user's services, launchd, or cron; else empty."""
    for kind in (LAUNCHD, SYSTEMD, CRON):
        if not _find_program(kind, env):
            continue
        if kind != SYSTEMD or _run(kind, ("--user", "show-environment"), env).returncode == 0:
            return kind
    return ""


def _find_program(kind: str, env: Mapping[str, str]) -> str:
    """Return an absolute path: a relative PATH entry could be a folder of the project."""
    listed = [folder for folder in env.get("PATH", os.defpath).split(os.pathsep) if os.path.isabs(folder)]
    return shutil.which(_PROGRAMS[kind], path=os.pathsep.join(listed)) or ""


def _run(
    kind: str, words: Sequence[str], env: Mapping[str, str], data: bytes = b""
) -> subprocess.CompletedProcess[bytes]:  # fmt: skip
    program = _find_program(kind, env)
    if not program:
        hint = "choose another one with --with systemd, launchd or cron"
        raise ReflectError(f"'{_PROGRAMS[kind]}' was not found", hint, "scheduler")
    given = {name: value for name, value in env.items() if not name.startswith(("PYTHON", "GIT_", "LD_"))}
    try:
        return subprocess.run(
            [program, *words],
            input=data,
            capture_output=True,
            env={**given, "LC_ALL": "C"},
            timeout=_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ReflectError(f"'{_PROGRAMS[kind]}' failed: {error}", "try again", "scheduler") from error


def _require(done: subprocess.CompletedProcess[bytes], what: str) -> None:
    if done.returncode:
        why = done.stderr.decode("utf-8", "replace").strip().splitlines()
        raise ReflectError(f"cannot {what}: {why[-1] if why else f'exit code {done.returncode}'}", "", "scheduler")


def start(kind: str, name: str, path: str, env: Mapping[str, str]) -> None:
    """Load a unit or agent that was just written."""
    if kind == SYSTEMD:
        _require(_run(kind, ("--user", "daemon-reload"), env), "reload systemd")
        _require(_run(kind, ("--user", "enable", "--now", f"{name}.timer"), env), "start the timer")
    elif kind == LAUNCHD:
        _require(_run(kind, ("bootstrap", f"gui/{os.getuid()}", path), env), "load the agent")


def stop(kind: str, name: str, env: Mapping[str, str]) -> None:
    """Unload a unit or agent before its files are deleted. Ignore one that is gone."""
    if kind == SYSTEMD:
        _run(kind, ("--user", "disable", "--now", f"{name}.timer"), env)
    elif kind == LAUNCHD:
        _run(kind, ("bootout", f"gui/{os.getuid()}/{name}"), env)


def reload(kind: str, env: Mapping[str, str]) -> None:
    """Tell systemd that files are gone."""
    if kind == SYSTEMD:
        _run(kind, ("--user", "daemon-reload"), env)


def read_crontab(env: Mapping[str, str]) -> bytes | None:
    """Return the person's crontab; None if there is none."""
    done = _run(CRON, ("-l",), env)
    if done.returncode:
        if b"no crontab" in done.stderr.lower():
            return None
        _require(done, "read the crontab")
    return done.stdout


def write_crontab(data: bytes | None, env: Mapping[str, str]) -> None:
    """Replace the person's crontab; None deletes it."""
    words = ("-r",) if data is None else ("-",)
    _require(_run(CRON, words, env, data or b""), "write the crontab")
