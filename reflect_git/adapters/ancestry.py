"""The processes above us: whether Claude Code started us, also when what we were given does not say so."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_FARTHEST = 20
_CLIENT = "claude"
# What the client gives to the shells it starts, and to nobody else; `env -u` takes away one of them.
_MARKS = ("CLAUDECODE", "CLAUDE_CODE_SESSION_ID", "CLAUDE_CODE_CHILD_SESSION", "CLAUDE_PID")


def is_marked(env: Mapping[str, str]) -> bool:
    """Whether the client started the process that has this environment, or one before it."""
    return any(env.get(mark) for mark in _MARKS)


def clients_above() -> Iterator[dict[str, str]]:
    """The environment of each process above us that is the client or was started by it; none without /proc.

    What a process was started with is all that can be read, so it is not changed by what it does to itself. The client
    does not carry the mark that it gives to its shell, and `exec` replaces the shell: then its name tells.
    """
    process = os.getppid()
    for _ in range(_FARTHEST):
        name, parent = _status(process)
        if parent < 0:
            return
        env = _environment(process)
        if is_marked(env) or name == _CLIENT:
            yield env
        process = parent


def _status(process: int) -> tuple[str, int]:
    """Name and parent. A name may hold any character, so what follows it is looked for from the end."""
    try:
        with open(f"/proc/{process}/stat", encoding="utf-8", errors="replace") as file:
            head, _, rest = file.read().rpartition(")")
        return head.partition("(")[2], int(rest.split()[1])
    except (OSError, ValueError, IndexError):
        return "", -1


def _environment(process: int) -> dict[str, str]:
    try:
        with open(f"/proc/{process}/environ", "rb") as file:
            pairs = (pair.partition(b"=") for pair in file.read().split(b"\0"))
            return {os.fsdecode(name): os.fsdecode(value) for name, _, value in pairs if name}
    except OSError:  # another user's
        return {}
