"""Background processes, detection of Claude Code among the processes above us, and the host name."""

from __future__ import annotations

import os
from _signal import SIG_IGN, SIGHUP
from _signal import signal as on_signal  # `signal` makes enums of its numbers: 1.5 ms

from reflect_git.platform import system

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

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
    """Lower our priority, and that of a session of our own."""
    try:
        os.nice(_NICENESS)
    except OSError:
        return
    if is_alone:
        system.current.lower_session_priority(_NICENESS)


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
    """Return whether the system shows all processes above us. Else a client among the others is not recognised."""
    return system.current.list_ancestors()[1]


def has_client_parent() -> bool:
    """Return whether any process above us is the client or was started by it.

    HOME and the store of that process do not matter: a command can change both for its children. The system shows the
    environment that a process was started with, so it cannot be changed afterwards.
    """
    return any(is_client_environment(one.environment) or is_client(one) for one in system.current.list_ancestors()[0])


def is_started_by_client(process: int) -> bool:
    """Return whether a process is the client, or was started by it directly or indirectly."""
    listed = system.current.list_upwards(process)[0]
    return any(is_client_environment(one.environment) or is_client(one) for one in listed)


def iter_client_environments() -> Iterator[Mapping[str, str]]:
    """Yield the start environment of each marked process above us, the nearest first.

    Skip a tmux server that an earlier session started, if a client runs below it: a client in one of its panes has its
    own session. Keep a server that has a marked process above it: then a process of the session uses that name.
    """
    above = [(one, is_client(one)) for one in system.current.list_ancestors()[0]]
    clients = [place for place, (_, found) in enumerate(above) if found]
    marked = [place for place, (one, found) in enumerate(above) if found or is_client_environment(one.environment)]
    for place, (one, _) in enumerate(above):
        is_server = one.name.startswith(_MULTIPLEXERS) and place == marked[-1] if marked else False
        if is_client_environment(one.environment) and not (is_server and clients and clients[0] < place):
            yield one.environment


def is_client(process: system.Process) -> bool:
    """Recognise the client by its name, its executable, or the script that a JavaScript runtime was started with.

    The client itself does not carry the variables that it sets for its shells. Arguments of other programs do not
    count: an editor may have a file open that is called `claude`.
    """
    program, words = process.program, process.words
    first = words[0] if words else ""
    if _CLIENT in (process.name, os.path.basename(program), os.path.basename(first)):
        return True
    if program.partition(_NATIVE_INSTALL)[2][:1].isdigit():
        return True
    if os.path.basename(program or first) not in _RUNTIMES:
        return False
    script = _find_script(words)
    real = os.path.realpath(os.path.join(process.folder, script))
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


def get_host_name() -> str:
    """Return the host name as a ref component: lower-case letters, digits and dashes."""
    name = os.uname().nodename.split(".")[0].lower()
    cleaned = "".join(c if c.isascii() and c.isalnum() else "-" for c in name)
    return cleaned.strip("-")[:24].strip("-") or "machine"
