"""A stand-in for macOS. No Mac was at hand: its answers are written by hand, from the manual pages and headers.

- ps(1): `ucomm` is the name of the executed file, cut after 16 bytes. `command` is the arguments, joined by spaces.
  `-E` appends the environment that a process was started with. System Integrity Protection hides it for programs of the
  system, such as /bin/zsh. Numbers are padded on the left. An unknown process prints nothing, exit code 1.
- lsof(8): with `-F`, a line for each fact: the process, its user, and the name of each socket, `from->to`. Without
  privileges it shows the processes of the same user.
- ioreg(8), sysctl(8): one line of each, in the form that the manuals show.
- rename(2): APFS exchanges two names with `renamex_np`, as this kernel does with `renameat2`.
- libproc.h: `proc_pidpath` returns the path of the executable file, `proc_pidinfo` the working folder.

Without rows it answers from /proc, so that the whole suite can run on the class for macOS: `make macos`.
"""

from __future__ import annotations

import fcntl
import os

from reflect_git.platform.system import Linux, MacOS
from reflect_git.records.named_tuple import NamedTuple  # `typing` is too slow for a hook, in tests as well

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Optional


class Row(NamedTuple):
    """A process. `env` is None where the system hides it; `program` and `folder` are what libproc answers."""

    parent: int
    words: Sequence[str]
    env: Optional[Mapping[str, str]] = None
    program: str = ""
    folder: str = "/"
    name: str = ""

    @property
    def ucomm(self) -> str:
        return (self.name or os.path.basename(self.program or self.words[0]))[:16]

    @property
    def command(self) -> str:
        return " ".join(self.words)

    @property
    def marked(self) -> str:
        return " ".join([self.command, *(f"{name}={value}" for name, value in (self.env or {}).items())])


class SimulatedMacOS(MacOS):
    """The class for macOS with the answers of a simulated one. `broken`: commands that fail, by a part of them."""

    _FULL_SYNC = fcntl.F_GETFD  # a number that this kernel accepts: the call succeeds, as F_FULLFSYNC does
    _USER_CACHE_FOLDER = -1

    def __init__(
        self, rows: Optional[Mapping[int, Row]] = None, parent: int = 0, broken: Sequence[str] = (), table: str = "",
        sockets: str = "",
    ) -> None:  # fmt: skip
        super().__init__()
        self.rows, self.parent, self.broken, self.table, self.sockets = rows, parent, broken, table, sockets

    def get_parent(self) -> int:
        return self.parent if self.rows is not None else os.getppid()

    def get_program(self, process: int) -> str:
        row = self._get_row(process)
        return row.program if row else ""

    def get_folder(self, process: int) -> str:
        row = self._get_row(process)
        return row.folder if row else ""

    def swap_names(self, one: str, other: str) -> bool:
        return Linux().swap_names(one, other)

    def is_open_elsewhere(self, path: str, descriptor: int) -> bool:
        return Linux().is_open_elsewhere(path, descriptor)

    def run(self, commands: Sequence[Sequence[str]]) -> list[str]:
        return [self._answer(" ".join(command)) for command in commands]

    def _answer(self, command: str) -> str:
        if any(part in command for part in self.broken):
            return ""
        if "IOPlatformExpertDevice" in command:
            return '+-o Mac14,2  <class IOPlatformExpertDevice, id 0x10000020f>\n    {\n      "IOPlatformUUID" = ' + (
                f'"{_read("/etc/machine-id").strip() or "4B1D3A52-0000-5C6E-9E6B-F00000000001"}"\n' + "    }\n"
            )
        if command.endswith("kern.boottime"):
            since = _read("/proc/stat").partition("btime ")[2].split("\n")[0]
            return f"{{ sec = {since}, usec = 137022 }} Wed Nov 19 04:10:11 2026\n"
        if "lsof" in command:
            return self.sockets or _list_sockets(command.partition("@127.0.0.1:")[2].partition(" ")[0])
        if "-A" in command:
            return self.table or "".join(f"{number:5} {row.parent:5}\n" for number, row in self._list_rows().items())
        row = self._get_row(int(command.rpartition(" ")[2]))
        if row is None:
            return ""
        return (row.ucomm if "ucomm" in command else row.marked if "-E" in command else row.command) + "\n"

    def _list_rows(self) -> Mapping[int, Row]:
        if self.rows is not None:
            return self.rows
        found = {int(name): self._get_row(int(name)) for name in os.listdir("/proc") if name.isdigit()}
        return {number: row for number, row in found.items() if row}

    def _get_row(self, process: int) -> Optional[Row]:
        if self.rows is not None:
            return self.rows.get(process)
        head, _, rest = _read(f"/proc/{process}/stat").rpartition(")")
        if not rest:
            return None
        words = _read(f"/proc/{process}/cmdline").split("\0")[:-1]
        pairs = [pair.partition("=") for pair in _read(f"/proc/{process}/environ").split("\0") if "=" in pair]
        try:
            program = os.readlink(f"/proc/{process}/exe").removesuffix(" (deleted)")
        except OSError:
            program = ""
        name = head.partition("(")[2]
        env = {name: value for name, _, value in pairs}
        return Row(int(rest.split()[1]), words or [name], env, program, f"/proc/{process}/cwd", name)


def _list_sockets(port: str) -> str:
    """Return both ends of the connections from or to a port on this computer."""
    rows = [line.split() for line in _read("/proc/net/tcp").splitlines()[1:]]
    found = ""
    for row in rows:
        ends = [int(end.partition(":")[2], 16) for end in row[1:3]]
        if int(port) in ends and row[3] == "01":
            addresses = [("127.0.0.1", end) for end in ends]
            user, process = Linux().find_peer(addresses[0], addresses[1]) or (-1, -1)
            found += f"p{process}\nu{user}\nf5\nn127.0.0.1:{ends[0]}->127.0.0.1:{ends[1]}\n" if process > 0 else ""
    return found


def _read(path: str) -> str:
    try:
        with open(path, "rb") as file:
            return os.fsdecode(file.read())
    except OSError:
        return ""
