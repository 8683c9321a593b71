"""Each operating system has one class. macOS is simulated: its answers are written by hand from documentation."""

from __future__ import annotations

import ast
import ctypes
import fcntl
import os
import re
import socket
import struct
import sys
import time
from collections.abc import Mapping
from pathlib import Path

import pytest

from reflect_git.errors import ReflectError
from reflect_git.platform import instruction_files, processes, system
from reflect_git.platform.git import GitMissing, find_git
from reflect_git.store import opening
from reflect_git.store.reading import reader
from tests.conftest import REPO
from tests.platform.simulated_macos import Row, SimulatedMacOS
from tests.rules.queues import capture_signal
from tests.sessions import load_signals

LAUNCHD = Row(0, ["/sbin/launchd"], None, "/sbin/launchd")
TERMINAL = Row(
    1, ["/System/Applications/Utilities/Terminal.app/Contents/MacOS/Terminal"], None,
    "/System/Applications/Utilities/Terminal.app/Contents/MacOS/Terminal",
)  # fmt: skip
LOGIN = Row(300, ["login", "-pf", "pavel"], None, "/usr/bin/login")
NATIVE = "/Users/pavel/.local/share/claude/versions/2.1.325"
CLI = "/opt/homebrew/lib/node_modules/@anthropic-ai/claude-code/cli.js"
NODE = "/opt/homebrew/Cellar/node/24.1.0/bin/node"
PYTHON = "/opt/homebrew/Cellar/python@3.13/3.13.1/Frameworks/Python.framework/Versions/3.13/bin/python3.13"
HOME = {"HOME": "/Users/pavel doe", "PATH": "/usr/bin:/bin", "SHELL": "/bin/zsh"}


def zsh(parent: int, *words: str) -> Row:
    """Return a shell of the system, whose environment is hidden."""
    return Row(parent, list(words) or ["-zsh"], None, "/bin/zsh", "/Users/pavel/work")


def chain(*above: Row) -> dict[int, Row]:
    """Put processes between a login shell and us, the nearest first."""
    above = above or (zsh(0),)
    numbers = [900 - at for at in range(len(above))]
    rows = {
        number: row._replace(parent=numbers[at + 1] if at + 1 < len(above) else 500)
        for at, (number, row) in enumerate(zip(numbers, above))
    }
    return {**rows, 500: zsh(400), 400: LOGIN, 300: TERMINAL, 1: LAUNCHD}


def program(path: str, *words: str, **env: str) -> Row:
    return Row(0, [path, *words], {**HOME, **env}, path, "/Users/pavel/work")


def node(*words: str, **env: str) -> Row:
    return Row(0, ["node", *words], {**HOME, **env}, NODE, "/Users/pavel/work")


CLIENT = program(NATIVE)._replace(words=["claude"], name="claude")
SHELL = zsh(0, "/bin/zsh", "-c", "reflect-git approve")

# name → (processes above us, whether one of them is the client, whether all are seen)
TREES: dict[str, tuple[dict[int, Row], bool]] = {
    "a terminal": (chain(), False),
    "a script in a terminal": (chain(program("/bin/bash", "./run.sh")), False),
    "the terminal of an editor": (chain(program("/Applications/Zed.app/Contents/MacOS/zed")), False),
    "ssh": ({900: zsh(80), 80: Row(70, ["sshd: pavel@ttys001"], None, "/usr/sbin/sshd"),
             70: Row(1, ["sshd: pavel [priv]"], None, "/usr/sbin/sshd"), 1: LAUNCHD}, False),
    "root's shell through sudo": (chain(zsh(0), Row(0, ["sudo", "-s"], None, "/usr/bin/sudo")), False),
    "the chat program": (chain(program("/Applications/Claude.app/Contents/MacOS/Claude")), False),
    "an editor with a file called claude": (chain(program("/usr/bin/vim", "claude", CLI, NATIVE)), False),
    "a node that builds the client": (chain(node("build.js", CLI, "claude")), False),
    "a variable without a value": (chain(program(PYTHON, "x.py", CLAUDECODE="")), False),
    "an argument that looks like a variable": (chain(program("/usr/bin/make", "CLAUDECODE=1", "test")), False),
    "a folder called claude/versions": (chain(program("/srv/claude/versions/latest/bin/tool")), False),
    "spaces in names": (chain(program("/Applications/My Tool.app/Contents/MacOS/My Tool", "-a b")), False),
    "the native client": (chain(SHELL, CLIENT), True),
    "npm's client": (chain(SHELL, node("/opt/homebrew/bin/claude")), True),
    "npm's client with options": (chain(SHELL, node("--no-warnings", "-r", "./a.js", CLI, "--continue")), True),
    "bun's client": (chain(SHELL, program("/opt/homebrew/bin/bun", "run", CLI)), True),
    "the agent kit": (chain(node("/srv/node_modules/@anthropic-ai/claude-agent-sdk/cli.js")), True),
    "a node that calls itself claude": (chain(SHELL, node()._replace(words=["claude"])), True),
    "a client that was started under another name": (chain(program(NATIVE)._replace(words=["vim"], name="vim")), True),
    "a client started through a link": (chain(program(NATIVE)._replace(words=["assistant"], name="assistant")), True),
    "a client whose file an update deleted": (chain(CLIENT._replace(program="")), True),
    "a client with no arguments to see": (chain(CLIENT._replace(words=[""])), True),
    "a client with its environment hidden": (chain(SHELL, CLIENT._replace(env=None)), True),
    "CLAUDECODE": (chain(program(PYTHON, "x.py", CLAUDECODE="1")), True),
    "CLAUDE_CODE_SESSION_ID": (chain(program(PYTHON, "x.py", CLAUDE_CODE_SESSION_ID="a b")), True),
    "CLAUDE_CODE_CHILD_SESSION": (chain(program(PYTHON, "x.py", CLAUDE_CODE_CHILD_SESSION="1")), True),
    "CLAUDE_PID": (chain(program("/opt/homebrew/bin/tmux", CLAUDE_PID="77")), True),
    "another home and store": (chain(zsh(0), program(PYTHON, "x.py", HOME="/tmp/x", CLAUDECODE="1")), True),
    "a mark behind a value that hides it": (chain(program(PYTHON, "x.py", A="\n1 0\n", CLAUDECODE="1")), True),
    "an argument with lines that look like rows": (
        chain(program("/bin/bash", "-c", "\n  900     0\n    1     0\nlaunchd"), CLIENT), True,
    ),
    "a name with lines that look like rows": (chain(program("/tmp/x")._replace(name="a\n900 0"), CLIENT), True),
    "a shell that pretends to be launchd": (chain(program("/tmp/launchd")._replace(name="launchd"), CLIENT), True),
    "forty processes in between": (chain(*[SHELL] * 40, CLIENT), True),
    "a script that took the environment away": (chain(Row(0, ["sh", "x"], {}, "/bin/sh"), CLIENT), True),
    "script(1) gives a terminal": (chain(zsh(0), program("/usr/bin/script", "-q", "/dev/null"), CLIENT), True),
    "a tmux that a session started": (
        {900: zsh(80), 80: Row(1, ["tmux", "new", "-d"], {**HOME, "CLAUDECODE": "1"}, "/opt/homebrew/bin/tmux"),
         1: LAUNCHD}, True,
    ),
}  # fmt: skip

UNSEEN = {
    "a parent that is gone": (SimulatedMacOS({900: zsh(80), 1: LAUNCHD}, 900), False),
    "no process at all": (SimulatedMacOS({}, 900), False),
    "ps cannot be run": (SimulatedMacOS(chain(CLIENT), 900, ["/bin/ps"]), False),
    "ps fails for the table": (SimulatedMacOS(chain(CLIENT), 900, ["-A"]), False),
    "ps prints an error": (SimulatedMacOS(chain(CLIENT), 900, table="ps: illegal option -- A\nusage: ps 1 2\n"), False),
    "ps prints half a row": (SimulatedMacOS(chain(CLIENT), 900, table="  900   500\n  500\n"), True),
    "ps prints negative numbers": (SimulatedMacOS(chain(CLIENT), 900, table="  900   -1\n   -1   0\n"), False),
    "one process does not answer": (SimulatedMacOS(chain(SHELL, SHELL), 900, ["-p 899"]), False),
    "one does not answer above the client": (SimulatedMacOS(chain(CLIENT, SHELL), 900, ["-p 899"]), True),
    "no environment is shown": (SimulatedMacOS(chain(program(PYTHON, "x.py", CLAUDECODE="1")), 900, ["-E"]), False),
    "names are shown and no environment": (SimulatedMacOS(chain(SHELL, CLIENT), 900, ["-E"]), True),
    "a loop": (SimulatedMacOS({900: zsh(80), 80: zsh(900), 1: LAUNCHD}, 900), False),
    "more processes than there can be": (
        SimulatedMacOS({number: SHELL._replace(parent=number - 1) for number in range(1, 9000)}, 8999), False
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", TREES)
def test_on_macos_a_client_above_is_found_and_nothing_else(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    rows, expected = TREES[name]
    monkeypatch.setattr(system, "current", SimulatedMacOS(rows, 900))
    assert (processes.has_client_parent(), processes.can_list_parents()) == (expected, True)


@pytest.mark.parametrize("name", UNSEEN)
def test_on_macos_what_is_not_seen_counts_as_not_checked(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    simulated, expected = UNSEEN[name]
    monkeypatch.setattr(system, "current", simulated)
    assert (processes.has_client_parent(), processes.can_list_parents()) == (expected, False)


OWN_END = "p700\nu501\nf9\nn127.0.0.1:8700->127.0.0.1:51234\n"
THEIR_END = "p900\nu501\nf23\nn127.0.0.1:51234->127.0.0.1:8700 (ESTABLISHED)\n"
ENDS = ("127.0.0.1", 51234), ("127.0.0.1", 8700)


@pytest.mark.parametrize("name", TREES)
def test_on_macos_the_sender_of_a_form_is_asked_as_well(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """The same trees, with the process at the other end of a connection to the panel."""
    rows, expected = TREES[name]
    monkeypatch.setattr(system, "current", SimulatedMacOS(rows, 900, sockets=OWN_END + THEIR_END))
    found = system.current.find_peer(*ENDS)
    assert found == (501, 900) and processes.is_started_by_client(found[1]) is expected


@pytest.mark.parametrize(
    "told",
    ["", OWN_END, THEIR_END.replace("51234", "51235"), "n127.0.0.1:8700\n", "px\nu\nn127.0.0.1:51234->127.0.0.1:8700\n",
     "lsof: illegal option\nusage\n"],
)  # fmt: skip
def test_on_macos_a_sender_that_lsof_does_not_show_is_unknown(told: str) -> None:
    assert SimulatedMacOS(chain(CLIENT), 900, sockets=told or "\n").find_peer(*ENDS) == (-1, -1)


@pytest.mark.skipif(not os.path.exists("/proc/net/tcp"), reason="compares with /proc")
def test_a_simulated_mac_and_linux_see_the_same_sender() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener, socket.create_connection(listener.getsockname()) as one:
        ends = one.getsockname(), one.getpeername()
        assert SimulatedMacOS().find_peer(*ends) == system.Linux().find_peer(*ends) == (os.getuid(), os.getpid())


def test_there_are_at_least_thirty_trees() -> None:
    assert len(TREES) + len(UNSEEN) >= 30


def test_a_node_that_runs_a_link_to_the_client_in_its_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    script = tmp_path / "lib/node_modules/@anthropic-ai/claude-code/cli.js"
    script.parent.mkdir(parents=True)
    script.touch()
    (tmp_path / "assistant").symlink_to(script)
    for folder, expected in ((str(tmp_path), True), ("/", False), ("", False)):
        rows = chain(node("assistant")._replace(folder=folder))
        monkeypatch.setattr(system, "current", SimulatedMacOS(rows, 900))
        assert processes.has_client_parent() is expected


def test_the_session_and_home_of_a_client_are_read_with_their_spaces(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = chain(program(PYTHON, "x.py", CLAUDE_CODE_SESSION_ID="first", NOTE="a  b = c"), CLIENT)
    monkeypatch.setattr(system, "current", SimulatedMacOS(rows, 900))
    (found,) = processes.iter_client_environments()
    assert dict(found) == {**HOME, "CLAUDE_CODE_SESSION_ID": "first", "NOTE": "a  b = c"}


def test_processes_are_asked_for_once(monkeypatch: pytest.MonkeyPatch) -> None:
    simulated = SimulatedMacOS(chain(), 900)
    first = simulated.list_ancestors()
    monkeypatch.setattr(simulated, "run", None)
    assert simulated.list_ancestors() is first


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="compares with /proc")
def test_a_simulated_mac_and_linux_see_the_same_processes() -> None:
    linux, macos = system.Linux().list_ancestors(), SimulatedMacOS().list_ancestors()
    assert [one.program for one in linux[0]] == [one.program for one in macos[0]]
    assert [processes.is_client(one) for one in linux[0]] == [processes.is_client(one) for one in macos[0]]
    assert linux[1] == macos[1]


def test_a_program_that_hangs_fails_or_is_missing_prints_nothing() -> None:
    began = time.monotonic()
    commands = [["/bin/sh", "-c", "echo no; exec sleep 60"], ["/bin/sh", "-c", "echo no; exit 1"], ["/nonexistent"]]
    assert system.run_programs([*commands, ["/bin/sh", "-c", "echo yes"]]) == ["", "", "", "yes\n"]
    assert time.monotonic() - began < 10


def test_a_program_that_hangs_leaves_its_children_and_is_not_waited_for() -> None:
    began = time.monotonic()
    assert system.run_programs([["/bin/sh", "-c", "sleep 20; echo no"]]) == [""]
    assert time.monotonic() - began < 10


@pytest.mark.parametrize(
    ("platform", "expected"),
    [("linux", system.Linux), ("darwin", system.MacOS), ("freebsd14", system.System), ("cygwin", system.System)],
)
def test_the_class_follows_the_system(platform: str, expected: type[system.System]) -> None:
    assert type(system.choose_system(platform)) is expected


def test_no_variable_chooses_the_class() -> None:
    """Else a command could choose the one that sees less."""
    source = (REPO / "reflect_git/platform/system.py").read_text(encoding="utf-8")
    assert "environ" not in re.sub(r"[\w.]*environment|/environ|\"environ\"", "", source)


# Machine, time and files


def test_the_machine_id_and_the_time_of_the_start() -> None:
    simulated = SimulatedMacOS()
    assert simulated.get_machine_id() == system.Linux().get_machine_id() or len(simulated.get_machine_id() or "") == 36
    assert simulated.get_boot_time() == system.Linux().get_boot_time()
    broken = SimulatedMacOS(broken=["ioreg", "sysctl"])
    assert (broken.get_machine_id(), broken.get_boot_time()) == (None, None)


def test_the_machine_id_is_asked_for_once_a_day(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "confstr", lambda _: str(tmp_path))
    found = SimulatedMacOS().get_machine_id()
    assert found and SimulatedMacOS(broken=["ioreg"]).get_machine_id() == found
    os.utime(tmp_path / "reflect-git-machine", (time.time() - 90_000, time.time() - 90_000))
    assert SimulatedMacOS(broken=["ioreg"]).get_machine_id() is None
    assert [path.name for path in tmp_path.iterdir()] == ["reflect-git-machine"]
    (tmp_path / "reflect-git-machine").unlink()
    (tmp_path / "reflect-git-machine").mkdir()
    assert SimulatedMacOS().get_machine_id() == found


def test_a_copied_store_takes_a_new_name_and_keeps_it_while_the_id_is_unknown(
    store_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(system, "current", SimulatedMacOS())
    name = opening.open_or_create(str(store_home), os.environ).machine
    monkeypatch.setattr(system, "current", SimulatedMacOS(broken=["ioreg"]))
    assert opening.open_or_create(str(store_home), os.environ).machine == name
    other = SimulatedMacOS()
    monkeypatch.setattr(other, "get_machine_id", lambda: "8F000000-0000-1111-2222-333344445555")
    monkeypatch.setattr(system, "current", other)
    renamed = opening.open_or_create(str(store_home), os.environ).machine
    assert renamed != name
    assert opening.open_or_create(str(store_home), os.environ).machine == renamed


def test_two_machines_with_one_home_lose_nothing(store_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a network file system: whoever comes next takes a new name, and what the other captured stays."""
    names, signals = [], []
    for turn in range(6):
        machine = SimulatedMacOS()
        monkeypatch.setattr(machine, "get_machine_id", lambda at=turn % 2: f"machine {at}")
        monkeypatch.setattr(system, "current", machine)
        store = opening.open_or_create(str(store_home), os.environ)
        names.append(store.machine)
        signals.append(capture_signal(store, f"use tool{turn}, not other{turn}"))
    assert len(set(names)) == 6
    assert {one["id"] for one in load_signals(store_home)} == set(signals)
    assert {one["id"] for one in reader.read(store).signals} == set(signals)


LINUX_MOUNTS = """\
/dev/sda1 / ext4 rw,relatime 0 0
tmpfs /run/user/1000 tmpfs rw 0 0
server:/export/home /home nfs4 rw,vers=4.2 0 0
//server/more /home/ada\\040b/share cifs rw 0 0
/dev/sdb1 /home/ada/disk ext4 rw 0 0
"""
MAC_MOUNTS = """\
/dev/disk3s1s1 on / (apfs, sealed, local, read-only, journaled)
/dev/disk3s5 on /System/Volumes/Data (apfs, local, journaled, nobrowse)
map auto_home on /System/Volumes/Data/home (autofs, automounted, nobrowse)
//ada@server/home on /Volumes/home (smbfs, nodev, nosuid, mounted by ada)
server:/export on /net/my export (nfs)
"""


def test_which_folders_are_on_a_network(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mounts").write_text(LINUX_MOUNTS)
    monkeypatch.setattr(system, "_MOUNTS", str(tmp_path / "mounts"))
    monkeypatch.setattr(os.path, "realpath", lambda path: path)
    linux, macos = system.Linux(), SimulatedMacOS()
    for path, expected in (
        ("/home/ada", "nfs4"),
        ("/home/ada b/share/x", "cifs"),
        ("/home/ada/disk/x", ""),
        ("/srv", ""),
    ):
        assert linux.find_network_type(path) == expected, path
    monkeypatch.setattr(macos, "run", lambda commands: [MAC_MOUNTS])
    for path, expected in (("/Users/ada", ""), ("/Volumes/home/ada", "smbfs"), ("/net/my export/ada", "nfs")):
        assert macos.find_network_type(path) == expected, path
    monkeypatch.setattr(macos, "run", lambda commands: ["mount: no such thing (\non\n"])
    monkeypatch.setattr(system, "_MOUNTS", "/nonexistent")
    assert (macos.find_network_type("/x"), linux.find_network_type("/x"), system.System().find_network_type("/x")) == (
        "", "", "",
    )  # fmt: skip


def test_a_store_on_a_network_that_another_machine_uses_is_refused(
    store_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two machines with one home: the second gets a sentence, and may take over once the first one is quiet."""

    def open_on(host: str, kind: str = "nfs4") -> str:
        machine = SimulatedMacOS()
        monkeypatch.setattr(machine, "get_machine_id", lambda: f"id of {host}")
        monkeypatch.setattr(machine, "find_network_type", lambda path: kind)
        monkeypatch.setattr(processes, "get_host_name", lambda: host)
        monkeypatch.setattr(system, "current", machine)
        return opening.open_or_create(str(store_home), os.environ).machine

    name = open_on("desktop")
    for _ in range(2):
        with pytest.raises(ReflectError) as refused:
            open_on("laptop")
        assert refused.value.message == "this store is on a network file system (nfs4) and in use on 'desktop'"
        assert "REFLECT_GIT_HOME" in str(refused.value.hint)
        assert open_on("desktop") == name
    for folder in ("", "pending"):
        os.utime(store_home / ".git/reflect" / folder, (time.time() - 7200, time.time() - 7200))
    assert open_on("laptop").startswith("laptop-")
    assert open_on("desktop", "").startswith("desktop-"), "on a disk, it was copied"


@pytest.mark.parametrize("answer", ["{ sec = , usec = 1 }", "", "sec", "{ sec = x, usec = 0 }"])
def test_a_strange_answer_gives_no_time(monkeypatch: pytest.MonkeyPatch, answer: str) -> None:
    simulated = SimulatedMacOS()
    monkeypatch.setattr(simulated, "run", lambda _: [answer])
    assert simulated.get_boot_time() is None


@pytest.mark.parametrize("current", [system.System(), system.MacOS(), system.current])
def test_a_file_is_replaced_on_every_system(
    current: system.System, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Here, `renamex_np` does not exist: then the file is compared right before the rename."""
    monkeypatch.setattr(system, "current", current)
    target = tmp_path / "CLAUDE.md"
    target.write_bytes(b"theirs")
    instruction_files.replace(str(target), b"theirs", b"ours")
    with pytest.raises(instruction_files.FileChanged):
        instruction_files.replace(str(target), b"theirs", b"again")
    assert (target.read_bytes(), os.listdir(tmp_path)) == (b"ours", ["CLAUDE.md"])


class _Library:
    """The C library of macOS: libproc and `renamex_np` with the answers of their headers."""

    def __init__(self, code: int = 0) -> None:
        self.code = code
        self.calls: list[tuple[object, ...]] = []

    def renamex_np(self, *words: object) -> int:
        self.calls.append(words)
        return self.code

    def proc_listpidspath(
        self, kind: int, _: int, path: bytes, flags: int, buffer: ctypes.Array[ctypes.c_char], size: int
    ) -> int:
        numbers = {b"/a": [os.getpid(), 0], b"/b": [os.getpid(), 7], b"/c": []}[path] if (kind, flags) == (1, 0) else []
        ctypes.memmove(buffer, struct.pack(f"{len(numbers)}i", *numbers), 4 * len(numbers))
        return 4 * len(numbers) if numbers and size == 4096 else -1

    def proc_pidpath(self, process: int, buffer: ctypes.Array[ctypes.c_char], size: int) -> int:
        ctypes.memmove(buffer, NATIVE.encode(), len(NATIVE))
        return len(NATIVE) if process == 7 and size == 4096 else 0

    def proc_pidinfo(
        self, process: int, flavour: int, _: object, buffer: ctypes.Array[ctypes.c_char], size: int
    ) -> int:
        """A `struct proc_vnodepathinfo`: twice 152 bytes of facts and 1,024 bytes with a path."""
        data = b"".join(b"\1" * 152 + path.encode().ljust(1024, b"\0") for path in ("/Users/pavel/é", "/"))
        ctypes.memmove(buffer, data, size)
        return size if (process, flavour, size) == (7, 9, 2352) else 0


def test_libproc_tells_the_executable_and_the_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    macos = system.MacOS()
    assert (macos.get_program(7), macos.get_folder(7)) == ("", "") or sys.platform == "darwin"
    monkeypatch.setattr(ctypes, "CDLL", lambda *_, **__: _Library())
    assert (macos.get_program(7), macos.get_folder(7)) == (NATIVE, "/Users/pavel/é")
    assert (macos.get_program(8), macos.get_folder(8)) == ("", "")
    assert [macos.is_open_elsewhere(path, 0) for path in ("/a", "/b", "/c")] == [False, True, False]


@pytest.mark.parametrize(("number", "expected"), [(0, True), (45, OSError), (22, False), (95, False), (13, OSError)])
def test_renamex_np_exchanges_two_names(monkeypatch: pytest.MonkeyPatch, number: int, expected: object) -> None:
    """22: EINVAL. 95: ENOTSUP here."""
    library = _Library(-1 if number else 0)
    monkeypatch.setattr(ctypes, "CDLL", lambda *_, **__: library)
    monkeypatch.setattr(ctypes, "get_errno", lambda: number)
    if expected is OSError:
        with pytest.raises(OSError, match="/b"):
            system.MacOS().swap_names("/a", "/b")
    else:
        assert system.MacOS().swap_names("/a", "/b") is expected
    assert library.calls == [(b"/a", b"/b", 2)]


@pytest.mark.parametrize("supported", [True, False])
def test_files_are_synced_through_the_drive_s_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, supported: bool
) -> None:
    calls: list[object] = []

    def control(_: int, number: int) -> int:
        calls.append(number)
        if not supported:
            raise OSError(25, "not a file system that can")
        return 0

    monkeypatch.setattr(fcntl, "fcntl", control)
    monkeypatch.setattr(os, "fsync", lambda _: calls.append("fsync"))
    monkeypatch.setattr(system, "current", system.MacOS())
    target = tmp_path / "CLAUDE.md"
    target.write_bytes(b"theirs")
    instruction_files.replace(str(target), b"theirs", b"ours")
    number = getattr(fcntl, "F_FULLFSYNC", 51)
    once = [number] if supported else [number, "fsync"]
    assert calls == once * 2, "the file, then its folder"


@pytest.mark.parametrize("name", ["git", "python3"])
def test_the_stubs_of_macos_are_not_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """/usr/bin/git opens a dialogue if the developer tools are missing."""
    macos, tools = system.MacOS(), tmp_path / "tools"
    monkeypatch.setattr(macos, "_DEVELOPER_FOLDERS", (str(tmp_path / "none"), str(tools)))
    assert macos.find_program_behind(f"/usr/bin/{name}") == ""
    assert macos.find_program_behind(f"/opt/homebrew/bin/{name}") == f"/opt/homebrew/bin/{name}"
    (tools / "usr/bin").mkdir(parents=True)
    (tools / "usr/bin" / name).touch(0o755)
    assert macos.find_program_behind(f"/usr/bin/{name}") == str(tools / "usr/bin" / name)


def test_without_the_developer_tools_git_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    macos = system.MacOS()
    monkeypatch.setattr(system, "current", macos)
    monkeypatch.setattr(macos, "_DEVELOPER_FOLDERS", ())
    monkeypatch.setattr("reflect_git.platform.git._DEFAULT_FOLDERS", ("/usr/bin",))
    with pytest.raises(GitMissing):
        find_git("/usr/bin")
    (tmp_path / "git").touch(0o755)
    assert find_git(f"/usr/bin:{tmp_path}") == str(tmp_path / "git")


# Only one module

NAMES = re.compile(
    r"darwin|linux|mac_?os|/proc\b|renameat2|renamex|FULLFSYNC|SETLEASE|autogroup|sched_getaffinity|ioreg|sysctl|libproc"
    r"|sys\.platform|platform\.system|machine-id|/bin/ps\b",
    re.I,
)
# Words of commands, errors and rules that the product reads, not of the system that it runs on.
DATA = {
    "audit/commands.py": {"/proc/self/fd/0"},
    "guards/derivation/prose.py": {"macOS"},
    "memory/fingerprint.py": {"linux", "darwin", "macos"},
}


def _list_system_names(path: Path) -> list[str]:
    """List the names of systems in code and strings, docstrings and comments aside."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    docs = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef))
        and node.body and isinstance(node.body[0], ast.Expr)
    }  # fmt: skip
    found = []
    for node in ast.walk(tree):
        text = (
            node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docs
            else ast.unparse(node) if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
        )  # fmt: skip
        found += [text] if NAMES.search(text) else []
    return found


def test_no_other_module_names_a_system() -> None:
    found: Mapping[str, list[str]] = {
        str(path.relative_to(REPO / "reflect_git")): names
        for folder in ("reflect_git", "hooks")
        for path in sorted((REPO / folder).rglob("*.py"))
        if path.name != "system.py" and (names := _list_system_names(path))
    }
    assert {name: texts for name, texts in found.items() if name not in DATA} == {}
    for name, words in DATA.items():
        assert all(any(word in text for word in words) for text in found[name]), found[name]


def test_the_table_of_the_docs_names_every_method() -> None:
    text = (REPO / "docs/platforms.md").read_text(encoding="utf-8")
    methods = [name for name in vars(system.System) if not name.startswith("_") and name != "name"]
    assert [name for name in methods if f"`{name}`" not in text] == []
