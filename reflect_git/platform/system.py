"""Everything that depends on the operating system: one class for each. docs/platforms.md compares them."""

from __future__ import annotations

import errno
import fcntl
import os
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any, Optional

_PS = "/bin/ps"  # not from PATH: whoever starts us could put another one there
_LSOF = "/usr/sbin/lsof"
_PROGRAM_SECONDS = 2.0
_PROGRAM_ENVIRONMENT = {"PATH": "/usr/bin:/bin", "LC_ALL": "en_US.UTF-8"}  # in C, ps writes "\\M-C" for a letter
_LEFT_SECONDS = 0.05  # for one that has ended while we waited for another
_SIDE_BY_SIDE = 30
_AT_FDCWD = -100
_RENAME_EXCHANGE = 2
_RENAME_SWAP = 2
_UNSUPPORTED_ERRORS = (errno.ENOSYS, errno.EINVAL, errno.ENOTSUP)
_MAX_ANCESTORS = 4096


class Process:
    """A process above us: its name, executable, arguments, and the environment it was started with.

    `folder` is where it runs, as a path that can be read. Text that the system does not show is empty.
    """

    __slots__ = ("environment", "folder", "name", "program", "words")

    def __init__(
        self, name: str, program: str = "", words: Sequence[str] = (), environment: Optional[Mapping[str, str]] = None,
        folder: str = "",
    ) -> None:  # fmt: skip
        self.name = name
        self.program = program
        self.words = words
        self.environment = environment or {}
        self.folder = folder


class System:
    """Do with what every POSIX system has. The other classes replace what their system does better."""

    name = "other"

    def list_ancestors(self) -> tuple[list[Process], bool]:
        """Return the processes above us, the nearest first, and whether these are all of them."""
        return [], False

    def list_upwards(self, process: int) -> tuple[list[Process], bool]:
        """Return a process and those above it, the nearest first, and whether these are all of them."""
        return [], False

    def find_peer(self, client: tuple[str, int], server: tuple[str, int]) -> Optional[tuple[int, int]]:
        """Return user and process at the client's end of a connection on this computer, each -1 if it is unknown.

        None if there is no such connection.
        """
        return -1, -1

    def has_screen(self, env: Mapping[str, str]) -> bool:
        """Return whether a browser could open a window. Elsewhere a text browser would take over the terminal."""
        return bool(env.get("DISPLAY") or env.get("WAYLAND_DISPLAY"))

    def read_process_table(self) -> dict[int, tuple[int, str]]:
        """Read all processes: id → (parent's id, start time)."""
        told = run_programs([(_PS, "-A", "-o", "pid=,ppid=,lstart=")])[0]
        rows = (line.split(None, 2) for line in told.splitlines())
        return {
            int(row[0]): (int(row[1]), row[2].strip())
            for row in rows
            if len(row) == 3 and row[0].isdigit() and row[1].isdigit()
        }

    def is_running(self, process: int) -> bool:
        """Return whether a process has not ended."""
        try:
            os.kill(process, 0)
        except ProcessLookupError:
            return False
        except OSError:  # it belongs to another user
            pass
        return True

    def get_machine_id(self) -> Optional[str]:
        """Return the system's id of this installation, "" if it has none, None if it did not answer this time."""
        return ""

    def get_boot_time(self) -> Optional[float]:
        """Return when this system started, or None if unknown."""
        return None

    def count_cores(self) -> int:
        """Return how many cores this process may use."""
        return os.cpu_count() or 1

    def lower_session_priority(self, niceness: int) -> None:
        """Lower the priority of our own session, on a system that weighs sessions before processes."""

    def sync_data(self, descriptor: int) -> None:
        """Write the bytes of a file to the disk."""
        getattr(os, "fdatasync", os.fsync)(descriptor)

    def sync_all(self, descriptor: int) -> None:
        """Write the bytes of a file or folder, and everything about it, to the disk."""
        os.fsync(descriptor)

    def swap_names(self, one: str, other: str) -> bool:
        """Exchange two names in one step; return False if the system or file system cannot do it."""
        return False

    def is_open_elsewhere(self, path: str, descriptor: int) -> bool:
        """Return whether another process has this file open, besides our descriptor; False if unknown."""
        return False

    def find_program_behind(self, program: str) -> str:
        """Return the program to run for `program`; empty if it is a stub without one."""
        return program

    def find_true_path(self, path: str) -> str:
        """Return the real path of a file or folder, with its names as the file system has them."""
        return os.path.realpath(path)

    def fold_name(self, name: str) -> str:
        """Return the same text for all names of one file, however they are typed."""
        return name

    def find_network_type(self, path: str) -> str:
        """Return the kind of network file system that a folder is on, such as "nfs4"; empty if it is on none."""
        return ""


class Linux(System):
    """Linux: `/proc`, `renameat2`, file leases."""

    name = "linux"

    def list_ancestors(self) -> tuple[list[Process], bool]:
        return self.list_upwards(os.getppid())

    def list_upwards(self, process: int) -> tuple[list[Process], bool]:
        found: list[Process] = []
        seen = {0}
        while process not in seen:  # ids can be reused meanwhile
            seen.add(process)
            # A name can contain any character, so the fields after it are searched from the end.
            head, _, rest = _read_proc(process, "stat").rpartition(")")
            try:
                parent = int(rest.split()[1])
            except (ValueError, IndexError):
                return found, False
            try:
                program = os.readlink(f"/proc/{process}/exe").removesuffix(" (deleted)")  # by an update
            except OSError:  # another user's
                program = ""
            pairs = (pair.partition("=") for pair in _read_proc(process, "environ").split("\0"))
            environment = {name: value for name, _, value in pairs if name}
            words = _read_proc(process, "cmdline").split("\0")
            found.append(Process(head.partition("(")[2], program, words, environment, f"/proc/{process}/cwd"))
            process = parent
        return found, process == 0

    def find_peer(self, client: tuple[str, int], server: tuple[str, int]) -> Optional[tuple[int, int]]:
        wanted = [_format_address(*client), _format_address(*server)]
        try:
            with open(_CONNECTIONS, encoding="ascii") as table:
                rows = [line.split() for line in table]
        except OSError:
            return super().find_peer(client, server)
        for row in rows:
            if len(row) > _INODE and row[1:3] == wanted:
                return int(row[_USER]), _find_socket_owner(row[_INODE])
        return None

    def read_process_table(self) -> dict[int, tuple[int, str]]:
        if not os.path.isdir("/proc/self/fd"):
            return super().read_process_table()
        found = {}
        for name in os.listdir("/proc"):
            if name.isdigit():
                fields = _read_proc(int(name), "stat").rpartition(")")[2].split()
                if len(fields) > 19:  # else it ended meanwhile
                    found[int(name)] = int(fields[1]), fields[19]
        return found

    def is_running(self, process: int) -> bool:
        state = _read_proc(process, "stat").rpartition(")")[2].split()[:1]
        return state != ["Z"] and super().is_running(process)  # in many containers nobody reaps what was killed

    def get_machine_id(self) -> Optional[str]:
        for path in ("/etc/machine-id", "/var/lib/dbus/machine-id"):  # many containers have neither
            try:
                with open(path, "rb") as file:  # as text it would load one more codec: 0.3 ms
                    found = file.readline().decode("utf-8", "replace").strip()
            except OSError:
                continue
            if found:
                return found
        return ""

    def get_boot_time(self) -> Optional[float]:
        try:
            with open("/proc/stat", "rb") as file:
                for line in file:
                    if line.startswith(b"btime "):
                        return float(line.split()[1])
        except OSError:
            pass
        return None

    def count_cores(self) -> int:
        return len(os.sched_getaffinity(0))

    def lower_session_priority(self, niceness: int) -> None:
        try:
            with open("/proc/self/autogroup", "w", encoding="ascii") as group:
                group.write(str(niceness))
        except OSError:  # a kernel without groups
            pass

    def swap_names(self, one: str, other: str) -> bool:
        import ctypes  # not needed for reading

        library = ctypes.CDLL(None, use_errno=True)
        old, new = os.fsencode(one), os.fsencode(other)
        try:
            return _is_swapped(library.renameat2(_AT_FDCWD, old, _AT_FDCWD, new, _RENAME_EXCHANGE), other)
        except AttributeError:  # an old C library
            return False

    def find_network_type(self, path: str) -> str:
        try:
            with open(_MOUNTS, encoding="utf-8", errors="replace") as table:
                rows = [line.split() for line in table]
        except OSError:
            return ""
        # In a name of this table, a blank is \\040.
        return _find_network_mount(path, [(row[1].replace("\\040", " "), row[2]) for row in rows if len(row) > 2])

    def is_open_elsewhere(self, path: str, descriptor: int) -> bool:
        try:
            fcntl.fcntl(descriptor, fcntl.F_SETLEASE, fcntl.F_WRLCK)
        except BlockingIOError:
            return True
        except OSError:  # a file system without leases
            pass
        return False


_MOUNTS = "/proc/self/mounts"
# File systems that several computers can have mounted at the same time.
_NETWORK_TYPES = (
    "nfs", "nfs4", "cifs", "smb3", "smbfs", "afpfs", "afs", "ceph", "lustre", "gpfs", "beegfs", "glusterfs", "webdav",
    "fuse.sshfs", "fuse.glusterfs", "fuse.ceph",
)  # fmt: skip


def _find_network_mount(path: str, mounts: Sequence[tuple[str, str]]) -> str:
    """Return the type of the network file system that has a path, from (folder, type) of each mount."""
    whole = os.path.realpath(path) + "/"
    around = [(len(folder), at, kind) for at, (folder, kind) in enumerate(mounts)
              if whole.startswith(folder.rstrip("/") + "/")]  # fmt: skip
    kind = max(around)[2] if around else ""
    return kind if kind in _NETWORK_TYPES else ""


_CONNECTIONS = "/proc/net/tcp"
_USER, _INODE = 7, 9  # columns


def _format_address(host: str, port: int) -> str:
    """Return an IPv4 address as the kernel writes it: the bytes in reverse order, in hexadecimal."""
    return "".join("%02X" % int(part) for part in reversed(host.split("."))) + ":%04X" % port


def _find_socket_owner(inode: str) -> int:
    """Return the process that has a socket open; -1 if none of those that we may read has."""
    wanted = f"socket:[{inode}]"
    for process in sorted((int(name) for name in os.listdir("/proc") if name.isdigit()), reverse=True):
        folder = f"/proc/{process}/fd"
        try:
            if any(os.readlink(f"{folder}/{one}") == wanted for one in os.listdir(folder)):
                return process
        except OSError:  # another user's, or it has just ended
            continue
    return -1


def _read_proc(process: int, name: str) -> str:
    """Return a file of /proc; empty if the process ended or belongs to another user."""
    try:
        with open(f"/proc/{process}/{name}", "rb") as file:
            return os.fsdecode(file.read())
    except OSError:
        return ""


class MacOS(System):
    """macOS: `ps`, libproc, `ioreg`, `sysctl`, `renamex_np`, `F_FULLFSYNC`. Written from their documentation."""

    name = "macos"
    _FULL_SYNC = getattr(fcntl, "F_FULLFSYNC", 51)  # fsync alone leaves the bytes in the drive's cache
    _GET_PATH = getattr(fcntl, "F_GETPATH", 50)
    _USER_CACHE_FOLDER = 65538  # _CS_DARWIN_USER_CACHE_DIR: private to this user and machine, in no backup
    _MACHINE_ID_SECONDS = 24 * 3600
    _FOLDER_FACTS = 9  # PROC_PIDVNODEPATHINFO: two records of 152 bytes about a folder and 1,024 for its path
    _FOLDER_FACTS_SIZE, _FOLDER_PATH_AT = 2352, 152
    _ALL_PROCESSES = 1  # PROC_ALL_PIDS
    _OPENERS_SIZE = 4096
    # Where /usr/bin/git leads: the developer tools that were chosen, and the two usual places.
    _DEVELOPER_FOLDERS = (
        "/var/db/xcode_select_link",
        "/Library/Developer/CommandLineTools",
        "/Applications/Xcode.app/Contents/Developer",
    )

    def __init__(self) -> None:
        self._ancestors: Optional[tuple[int, tuple[list[Process], bool]]] = None

    def list_ancestors(self) -> tuple[list[Process], bool]:
        """Ask once in each process: nobody can put a process above us, and `ps` takes milliseconds."""
        if self._ancestors is None or self._ancestors[0] != os.getpid():
            self._ancestors = os.getpid(), self.list_upwards(self.get_parent())
        return self._ancestors[1]

    def has_screen(self, env: Mapping[str, str]) -> bool:
        return not env.get("SSH_CONNECTION")

    def find_peer(self, client: tuple[str, int], server: tuple[str, int]) -> Optional[tuple[int, int]]:
        """Ask `lsof`, which shows the processes of this user. Another user's is not seen, and neither is our cookie."""
        ends = ["%s:%d" % one for one in (client, server)]
        told = self.run([(_LSOF, "-nPw", "-iTCP@" + ends[0], "-Fpun")])[0]
        process = user = -1
        for line in told.splitlines():
            kind, value = line[:1], line[1:]
            if kind in ("p", "u"):
                number = int(value) if value.isdigit() else -1
                process, user = (number, -1) if kind == "p" else (process, number)
            elif kind == "n" and value.partition(" ")[0] == "->".join(ends):
                return user, process
        return super().find_peer(client, server)

    def list_upwards(self, process: int) -> tuple[list[Process], bool]:
        """Ask for numbers first, then for each process alone: an argument can contain lines that look like rows."""
        rows = [line.split() for line in self.run([(_PS, "-A", "-o", "pid=,ppid=")])[0].splitlines()]
        parents = {int(row[0]): int(row[1]) for row in rows if len(row) == 2 and row[0].isdigit() and row[1].isdigit()}
        numbers: list[int] = []
        while process in parents and process not in numbers and process > 0 and len(numbers) < _MAX_ANCESTORS:
            numbers.append(process)
            process = parents[process]
        forms = ("-o", "ucomm="), ("-o", "command="), ("-E", "-o", "command=")
        told = self.run([(_PS, "-ww", *form, "-p", str(number)) for number in numbers for form in forms])
        found: list[Process] = []
        is_complete = bool(numbers) and process == 0
        for at, number in enumerate(numbers):
            name, command, marked = (text.strip("\n ") for text in told[3 * at : 3 * at + 3])
            if not name and not command:
                return found, False
            is_complete = is_complete and bool(marked)
            environment = _parse_environment(marked[len(command) :]) if marked.startswith(command) else {}
            words = command.split(" ")
            found.append(Process(name, self.get_program(number), words, environment, self.get_folder(number)))
        return found, is_complete

    def run(self, commands: Sequence[Sequence[str]]) -> list[str]:
        """Run programs of the system side by side; return what each printed."""
        return run_programs(commands)

    def get_parent(self) -> int:
        """Return the id of the process that started us."""
        return os.getppid()

    def get_program(self, process: int) -> str:
        """Return the real path of a process's executable, whatever the process calls itself."""
        library, buffer = self._open_libproc(4096)
        size = library.proc_pidpath(process, buffer, 4096) if library is not None else 0
        return os.fsdecode(buffer.raw[:size]) if size > 0 else ""

    def get_folder(self, process: int) -> str:
        """Return the folder that a process runs in."""
        import ctypes

        library, buffer = self._open_libproc(self._FOLDER_FACTS_SIZE)
        asked = process, self._FOLDER_FACTS, ctypes.c_uint64(0), buffer, self._FOLDER_FACTS_SIZE
        if library is None or library.proc_pidinfo(*asked) != self._FOLDER_FACTS_SIZE:
            return ""
        size = self._FOLDER_FACTS_SIZE
        return os.fsdecode(buffer.raw[self._FOLDER_PATH_AT : size // 2].partition(b"\0")[0])

    @staticmethod
    def _open_libproc(size: int) -> tuple[Any, Any]:
        """Return the library that has libproc, or None, and an empty buffer for an answer."""
        import ctypes  # only an approval asks

        library = ctypes.CDLL(None)
        return (library if hasattr(library, "proc_pidpath") else None), ctypes.create_string_buffer(size)

    def get_machine_id(self) -> Optional[str]:
        """Ask `ioreg` once a day, because hooks need it too."""
        try:
            kept = os.path.join(os.confstr(self._USER_CACHE_FOLDER) or "", "reflect-git-machine")
        except (OSError, ValueError):
            kept = ""
        found = self._read_kept_id(kept)
        if not found:
            told = self.run([("/usr/sbin/ioreg", "-rd1", "-c", "IOPlatformExpertDevice")])[0]
            found = told.partition('"IOPlatformUUID" = "')[2].partition('"')[0]
            if found and os.path.isabs(kept):
                self._keep_id(kept, found)
        return found or None

    def _read_kept_id(self, path: str) -> str:
        try:
            if 0 <= time.time() - os.stat(path).st_mtime < self._MACHINE_ID_SECONDS:
                with open(path, "rb") as file:
                    return file.read(64).decode("ascii", "replace")
        except OSError:
            pass
        return ""

    def _keep_id(self, path: str, found: str) -> None:
        try:
            with open(f"{path}.{os.getpid()}", "wb") as file:
                file.write(found.encode("ascii", "replace"))
            os.replace(f"{path}.{os.getpid()}", path)
        except OSError:  # asked again next time
            pass

    def get_boot_time(self) -> Optional[float]:
        """Parse `{ sec = 1763510400, usec = 0 } Wed Nov 19 …`."""
        told = self.run([("/usr/sbin/sysctl", "-n", "kern.boottime")])[0]
        seconds = told.partition("sec = ")[2].partition(",")[0].strip()
        return float(seconds) if seconds.isascii() and seconds.isdigit() else None

    def sync_data(self, descriptor: int) -> None:
        try:
            fcntl.fcntl(descriptor, self._FULL_SYNC)
        except OSError:  # not every file system supports it
            os.fsync(descriptor)

    def sync_all(self, descriptor: int) -> None:
        self.sync_data(descriptor)

    def swap_names(self, one: str, other: str) -> bool:
        import ctypes  # not needed for reading

        library = ctypes.CDLL(None, use_errno=True)
        try:
            return _is_swapped(library.renamex_np(os.fsencode(one), os.fsencode(other), _RENAME_SWAP), other)
        except AttributeError:  # before macOS 10.12
            return False

    def find_true_path(self, path: str) -> str:
        """Ask for the names: most file systems of a Mac ignore case and the form of accents."""
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError:
            return os.path.realpath(path)
        try:
            return self.get_path_of(descriptor) or os.path.realpath(path)
        finally:
            os.close(descriptor)

    def get_path_of(self, descriptor: int) -> str:
        """Return the path of an open file; empty if the system does not tell."""
        try:
            return os.fsdecode(fcntl.fcntl(descriptor, self._GET_PATH, bytes(1024)).partition(b"\0")[0])
        except OSError:
            return ""

    def fold_name(self, name: str) -> str:
        from unicodedata import normalize  # for those who ignore folders

        return normalize("NFD", name).casefold()

    def find_network_type(self, path: str) -> str:
        """Parse `//ada@server/home on /Volumes/home (smbfs, nodev, nosuid)`."""
        rows = (line.rpartition(" (") for line in self.run([("/sbin/mount",)])[0].splitlines())
        mounts = [(row[0].partition(" on ")[2], row[2].partition(",")[0].rstrip(")")) for row in rows]
        return _find_network_mount(path, mounts)

    def is_open_elsewhere(self, path: str, descriptor: int) -> bool:
        import ctypes

        library, buffer = self._open_libproc(self._OPENERS_SIZE)
        asked = self._ALL_PROCESSES, 0, os.fsencode(path), 0, buffer, self._OPENERS_SIZE
        size = library.proc_listpidspath(*asked) if library is not None else 0
        numbers = ctypes.cast(buffer, ctypes.POINTER(ctypes.c_int))[: max(0, size) // 4]
        return any(number not in (0, os.getpid()) for number in numbers)

    def find_program_behind(self, program: str) -> str:
        """Follow /usr/bin/git and the like to the developer tools: without them it would open a dialogue.

        It also saves every call the time in which /usr/bin/git looks for the tools.
        """
        if os.path.dirname(program) != "/usr/bin":
            return program
        for folder in self._DEVELOPER_FOLDERS:
            real = os.path.join(folder, "usr/bin", os.path.basename(program))
            if os.access(real, os.X_OK):
                return real
        return ""


def _parse_environment(text: str) -> dict[str, str]:
    """Parse `A=1 B=two words C=3`. If a name comes twice, the first one counts."""
    found: dict[str, list[str]] = {}
    value: list[str] = []
    for word in text.split(" "):
        name, sign, rest = word.partition("=")
        if sign and name.isidentifier():
            value = [rest]
            found.setdefault(name, value)
        else:
            value.append(word)
    return {name: " ".join(words) for name, words in found.items()}


def _is_swapped(code: int, path: str) -> bool:
    """Return whether an exchange of names succeeded, False if it is not supported; raise for any other error."""
    import ctypes

    if code == 0:
        return True
    number = ctypes.get_errno()
    if number in _UNSUPPORTED_ERRORS:
        return False
    raise OSError(number, os.strerror(number), path)


def run_programs(commands: Sequence[Sequence[str]]) -> list[str]:
    """Run programs of the system side by side; return what each printed, "" if it failed or took too long."""
    import subprocess  # 6 ms

    deadline = time.monotonic() + _PROGRAM_SECONDS
    told: list[str] = []
    for first in range(0, len(commands), _SIDE_BY_SIDE):
        started: list[Optional[subprocess.Popen[bytes]]] = []
        for command in commands[first : first + _SIDE_BY_SIDE]:
            if time.monotonic() > deadline:
                started.append(None)
                continue
            try:
                started.append(
                    subprocess.Popen(
                        command,
                        stdin=subprocess.DEVNULL,
                        stdout=subprocess.PIPE,
                        stderr=subprocess.DEVNULL,
                        env=_PROGRAM_ENVIRONMENT,
                    )
                )
            except OSError:
                started.append(None)
        for process in started:
            data = b""
            if process is not None:
                try:
                    data = process.communicate(timeout=max(_LEFT_SECONDS, deadline - time.monotonic()))[0]
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.stdout.close()  # type: ignore[union-attr]  # a child of it may have it open for longer
                    process.wait(_PROGRAM_SECONDS)
            told.append(os.fsdecode(data) if process is not None and process.returncode == 0 else "")
    return told


def choose_system(platform: str) -> System:
    """Return the class for a value of `sys.platform`."""
    if platform == "darwin":
        return MacOS()
    return Linux() if platform.startswith("linux") else System()


current: System = choose_system(sys.platform)
