"""Background processes, detection of Claude Code among the processes above us, and machine identity."""

from __future__ import annotations

import os
from _signal import SIG_IGN, SIGHUP
from _signal import signal as on_signal  # `signal` makes enums of its numbers: 1.5 ms

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Optional

_MAX_DESCRIPTORS = 4096
_NICENESS = 10


def detach() -> bool:
    """Fork a background process. Return True in the new process, which must end with os._exit; False in the caller."""
    child = os.fork()
    if child:
        os.waitpid(child, 0)  # it ends at once: its own child does the work, and is nobody's zombie
        return False
    try:
        is_alone = start_session()
        if os.fork() == 0:
            lower_priority(is_alone)
            return True
    except BaseException:  # an interrupt, too: nothing of the caller may be run twice
        pass
    os._exit(0)  # not sys.exit: what the caller printed and has not flushed yet is the caller's to flush


def start_session() -> bool:
    """Start a new session and close all descriptors, so that no caller waits for us.

    Returns whether there is a new session: the leader of a process group cannot start one.
    """
    try:
        os.setsid()
        is_alone = True
    except PermissionError:
        is_alone = False
    on_signal(SIGHUP, SIG_IGN)
    null = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(null, descriptor)
    os.closerange(3, _MAX_DESCRIPTORS)
    return is_alone


def lower_priority(is_alone: bool) -> None:
    """Lower our priority. Linux weighs sessions before processes, so a session of our own is lowered as well."""
    try:
        os.nice(_NICENESS)
        if is_alone:
            with open("/proc/self/autogroup", "w", encoding="ascii") as group:
                group.write(str(_NICENESS))
    except OSError:  # not Linux, or without groups: the first one counts
        pass


# What the client gives to the shells it starts, and to nobody else; `env -u` removes one of them.
_CLIENT_VARIABLES = ("CLAUDECODE", "CLAUDE_CODE_SESSION_ID", "CLAUDE_CODE_CHILD_SESSION", "CLAUDE_PID")
_CLIENT = "claude"
# The native installer keeps the program as ~/.local/share/claude/versions/2.1.325 and links to it.
_NATIVE_INSTALL = "/claude/versions/"
_CLIENT_PACKAGES = ("/@anthropic-ai/claude-code/", "/@anthropic-ai/claude-agent-sdk/")
_RUNTIMES = frozenset(("node", "nodejs", "bun", "deno"))
# Servers that keep terminals open. They outlive whoever started them, and so do the marks in their environment.
_MULTIPLEXERS = ("tmux", "screen", "SCREEN", "zellij", "dtach", "abduco")
_OPTIONS_WITH_VALUE = frozenset(
    ("-r", "--require", "--import", "--loader", "--experimental-loader", "-C", "--conditions")
)


def is_client_environment(env: Mapping[str, str]) -> bool:
    """Return whether this environment belongs to a process started by the client, directly or indirectly."""
    return any(env.get(mark) for mark in _CLIENT_VARIABLES)


def is_client_variable(name: str) -> bool:
    """Return whether the client sets this environment variable for the processes it starts."""
    return name in _CLIENT_VARIABLES


def can_list_parents() -> bool:
    """Return whether this system shows parent processes. Without /proc, only our own environment is known."""
    return os.path.exists("/proc/self/stat")


def has_client_parent() -> bool:
    """Return whether any process above us is the client or was started by it.

    HOME and the store of that process do not matter: a command can change both for its children. /proc shows the
    environment that a process was started with, so it cannot be changed afterwards.
    """
    return any(
        is_client_environment(_get_environment(process)) or _is_client(process, name)
        for process, name in _iter_ancestors()
    )


def iter_client_environments() -> Iterator[dict[str, str]]:
    """Yield the start environment of each marked process above us, the nearest first.

    Skip a tmux server that an earlier session started, if a client runs below it: a client in one of its panes has its
    own session. Keep a server that has a marked process above it: then a process of the session uses that name.
    """
    above = [(name, _get_environment(process), _is_client(process, name)) for process, name in _iter_ancestors()]
    clients = [place for place, (_, _, is_client) in enumerate(above) if is_client]
    marked = [place for place, (_, env, is_client) in enumerate(above) if is_client or is_client_environment(env)]
    for place, (name, env, _) in enumerate(above):
        is_server = name.startswith(_MULTIPLEXERS) and place == marked[-1] if marked else False
        if is_client_environment(env) and not (is_server and clients and clients[0] < place):
            yield env


def _iter_ancestors() -> Iterator[tuple[int, str]]:
    """Yield (process, name) of every process above us. Stop at a loop: ids can be reused meanwhile."""
    process, seen = os.getppid(), {0}
    while process not in seen:
        seen.add(process)
        name, parent = _get_name_and_parent(process)
        if parent < 0:
            return
        yield process, name
        process = parent


def _is_client(process: int, name: str) -> bool:
    """Recognise the client by its name, its executable, or the script that a JavaScript runtime was started with.

    The client itself does not carry the variables that it sets for its shells. Arguments of other programs do not
    count: an editor may have a file open that is called `claude`.
    """
    program = _get_executable(process)
    if name == _CLIENT or os.path.basename(program) == _CLIENT or program.partition(_NATIVE_INSTALL)[2][:1].isdigit():
        return True
    words = _read_proc(process, "cmdline").split("\0")
    if os.path.basename(words[0]) == _CLIENT:
        return True
    if os.path.basename(program or words[0]) not in _RUNTIMES:
        return False
    script = _find_script(words)
    real = os.path.realpath(os.path.join(f"/proc/{process}/cwd", script))
    return os.path.basename(script) == _CLIENT or any(
        one in path for one in _CLIENT_PACKAGES for path in (script, real)
    )


def _find_script(words: Sequence[str]) -> str:
    """Return the first argument of a JavaScript runtime that is not one of its own options."""
    rest = iter(words[1:])
    for word in rest:
        if word in _OPTIONS_WITH_VALUE:
            next(rest, "")
        elif word != "run" and not word.startswith("-"):
            return word
    return ""


def _get_executable(process: int) -> str:
    """Return the path of the executable. An update may have deleted the file since."""
    try:
        return os.readlink(f"/proc/{process}/exe").removesuffix(" (deleted)")
    except OSError:  # another user's
        return ""


def _get_name_and_parent(process: int) -> tuple[str, int]:
    """Return name and parent. A name can contain any character, so search the fields after it from the end."""
    head, _, rest = _read_proc(process, "stat").rpartition(")")
    try:
        return head.partition("(")[2], int(rest.split()[1])
    except (ValueError, IndexError):
        return "", -1


def _get_environment(process: int) -> dict[str, str]:
    pairs = (pair.partition("=") for pair in _read_proc(process, "environ").split("\0"))
    return {name: value for name, _, value in pairs if name}


def _read_proc(process: int, name: str) -> str:
    """Return a file of /proc; empty if the process ended or belongs to another user."""
    try:
        with open(f"/proc/{process}/{name}", "rb") as file:
            return os.fsdecode(file.read())
    except OSError:
        return ""


_MACHINE_ID_FILES = ("/etc/machine-id", "/var/lib/dbus/machine-id")


def _read_first_line(path: str) -> str:
    try:
        with open(path, "rb") as file:  # as text it would load one more codec: 0.3 ms
            return file.readline().decode("utf-8", "replace").strip()
    except OSError:
        return ""


def get_machine_id() -> str:
    """Return the system's id of this installation; empty without such a file (macOS, many containers)."""
    for path in _MACHINE_ID_FILES:
        found = _read_first_line(path)
        if found:
            return found
    return ""


def get_host_name() -> str:
    """Return the host name as a ref component: lower-case letters, digits and dashes."""
    name = os.uname().nodename.split(".")[0].lower()
    cleaned = "".join(c if c.isascii() and c.isalnum() else "-" for c in name)
    return cleaned.strip("-")[:24].strip("-") or "machine"


def get_boot_time() -> Optional[float]:
    """Return when this system started, or None if unknown. An older lock file has no living owner."""
    try:
        with open("/proc/stat", encoding="ascii", errors="replace") as file:
            for line in file:
                if line.startswith("btime "):
                    return float(line.split()[1])
    except OSError:
        pass
    return None
