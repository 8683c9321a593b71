"""The processes above us: whether one of them is Claude Code, whatever our own environment says."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

# What the client gives to the shells it starts, and to nobody else; `env -u` removes one of them.
_MARKS = ("CLAUDECODE", "CLAUDE_CODE_SESSION_ID", "CLAUDE_CODE_CHILD_SESSION", "CLAUDE_PID")
_CLIENT = "claude"
# The native installer keeps the program as ~/.local/share/claude/versions/2.1.325 and links to it.
_NATIVE = "/claude/versions/"
_PACKAGES = ("/@anthropic-ai/claude-code/", "/@anthropic-ai/claude-agent-sdk/")
_RUNTIMES = frozenset(("node", "nodejs", "bun", "deno"))
# Servers that keep terminals open. They outlive whoever started them, and so do the marks in their environment.
_MULTIPLEXERS = ("tmux", "screen", "SCREEN", "zellij", "dtach", "abduco")
_TAKES_A_VALUE = frozenset(("-r", "--require", "--import", "--loader", "--experimental-loader", "-C", "--conditions"))


def is_marked(env: Mapping[str, str]) -> bool:
    """Tell whether the client started the process that has this environment, or one above it."""
    return any(env.get(mark) for mark in _MARKS)


def is_mark(name: str) -> bool:
    """Tell whether an environment variable is one that the client gives to what it starts."""
    return name in _MARKS


def is_readable() -> bool:
    """Tell whether this system shows the processes above us; without /proc only our own environment is known."""
    return os.path.exists("/proc/self/stat")


def is_client_above() -> bool:
    """Tell whether any process above us is the client or was started by it.

    HOME and the store of that process do not matter: a command can change both for its children. /proc shows the
    environment that a process was started with, so it cannot be changed afterwards.
    """
    return any(is_marked(_environment(process)) or _is_client(process, name) for process, name in _ancestors())


def environments_above() -> Iterator[dict[str, str]]:
    """Yield the environment that each marked process above us was started with, the nearest first.

    Leave out a tmux server that an earlier session started, if a client runs below it: whoever opened a client in one
    of its panes works in that client's session. A server that still has a marked process above it is left in: somebody
    gave that name to a process of the session.
    """
    above = [(name, _environment(process), _is_client(process, name)) for process, name in _ancestors()]
    clients = [place for place, (_, _, is_client) in enumerate(above) if is_client]
    marked = [place for place, (_, env, is_client) in enumerate(above) if is_client or is_marked(env)]
    for place, (name, env, _) in enumerate(above):
        is_server = name.startswith(_MULTIPLEXERS) and place == marked[-1] if marked else False
        if is_marked(env) and not (is_server and clients and clients[0] < place):
            yield env


def _ancestors() -> Iterator[tuple[int, str]]:
    """Yield (process, name) of every process above us. A process id can be reused while we look: stop at a loop."""
    process, seen = os.getppid(), {0}
    while process not in seen:
        seen.add(process)
        name, parent = _status(process)
        if parent < 0:
            return
        yield process, name
        process = parent


def _is_client(process: int, name: str) -> bool:
    """Recognise the client by its name, its executable, or the script that a JavaScript runtime was started with.

    The client itself does not carry the marks that it gives to its shells. Arguments of other programs do not count:
    an editor may have a file open that is called `claude`.
    """
    program = _program(process)
    if name == _CLIENT or os.path.basename(program) == _CLIENT or program.partition(_NATIVE)[2][:1].isdigit():
        return True
    words = _read(process, "cmdline").split("\0")
    if os.path.basename(words[0]) == _CLIENT:
        return True
    if os.path.basename(program or words[0]) not in _RUNTIMES:
        return False
    script = _script(words)
    real = os.path.realpath(os.path.join(f"/proc/{process}/cwd", script))
    return os.path.basename(script) == _CLIENT or any(one in path for one in _PACKAGES for path in (script, real))


def _script(words: Sequence[str]) -> str:
    """Return the first argument of a JavaScript runtime that is no option of its own."""
    rest = iter(words[1:])
    for word in rest:
        if word in _TAKES_A_VALUE:
            next(rest, "")
        elif word != "run" and not word.startswith("-"):
            return word
    return ""


def _program(process: int) -> str:
    """Return the path of the executable; an update may have deleted the file since."""
    try:
        return os.readlink(f"/proc/{process}/exe").removesuffix(" (deleted)")
    except OSError:  # another user's
        return ""


def _status(process: int) -> tuple[str, int]:
    """Return name and parent. A name may hold any character, so look for the fields after it from the end."""
    head, _, rest = _read(process, "stat").rpartition(")")
    try:
        return head.partition("(")[2], int(rest.split()[1])
    except (ValueError, IndexError):
        return "", -1


def _environment(process: int) -> dict[str, str]:
    pairs = (pair.partition("=") for pair in _read(process, "environ").split("\0"))
    return {name: value for name, _, value in pairs if name}


def _read(process: int, name: str) -> str:
    """Return a file of /proc; an empty text if the process ended or is another user's."""
    try:
        with open(f"/proc/{process}/{name}", "rb") as file:
            return os.fsdecode(file.read())
    except OSError:
        return ""
