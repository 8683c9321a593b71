"""Run git: one class for a repository, one method for each query.

Every call uses `Git.start`, which builds a new environment each time. An inherited GIT_DIR once put a commit into
another repository. Global hooksPath, gpgsign, excludesFile, templateDir or a missing e-mail each broke a commit.
Children are started with `posix_spawn`, because importing `subprocess` would cost a hook 6 of its 36 ms.
"""

from __future__ import annotations

import os
import time

from reflect_git.errors import ReflectError
from reflect_git.platform import faults, system

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import Any, Optional

    TreeEntry = tuple[str, str]  # mode and object id of a file in a tree

_KILL = 9
_KILL_GRACE_SECONDS = 2.0
_MAX_STDERR = 1 << 20  # limit for stderr: a remote can make git print without end


class Result:
    """Exit code, stdout and stderr of a git process."""

    __slots__ = ("code", "err", "out")

    def __init__(self, code: int, out: bytes, err: bytes) -> None:
        self.code = code
        self.out = out
        self.err = err


class GitMissing(ReflectError):
    """git is not installed, not usable, or too old."""

    def __init__(self, message: str) -> None:
        super().__init__(message, "install git 2.34 or later, or put it on PATH", code="git-missing")


def _spawn(
    argv: Sequence[str], env: Mapping[str, str], actions: Sequence[tuple[int, int, int]], apart: bool
) -> int:  # fmt: skip
    group: dict[str, Any] = {"setpgroup": 0} if apart else {}
    try:
        return os.posix_spawn(argv[0], list(argv), env, file_actions=actions, **group)
    except UnicodeEncodeError:  # a locale that cannot write a word of a rule: git expects UTF-8 anyway
        words = [word.encode("utf-8", "surrogateescape") for word in argv]
        pairs = ((name.encode("utf-8", "surrogateescape"), value.encode("utf-8", "surrogateescape"))
                 for name, value in env.items())  # fmt: skip
        return os.posix_spawn(words[0], words, dict(pairs), file_actions=actions, **group)


class GitProcess:
    """A running git process: written to with `send`, read line by line or to the end."""

    def __init__(self, argv: Sequence[str], env: Mapping[str, str], keep: int = -1, apart: bool = False) -> None:
        faults.point("spawn", argv[0])
        self._own_group = apart
        feed, self._stdin = os.pipe()
        self._stdout, out = os.pipe()
        self._stderr, err = os.pipe()
        actions: list[tuple[int, int, int]] = [
            (os.POSIX_SPAWN_DUP2, feed, 0), (os.POSIX_SPAWN_DUP2, out, 1), (os.POSIX_SPAWN_DUP2, err, 2)
        ]  # fmt: skip
        if keep >= 0:  # needs another number than its own, otherwise the close-on-exec flag stays set
            actions.append((os.POSIX_SPAWN_DUP2, keep, 17 if keep != 17 else 18))
        umask = os.umask(0o077)
        try:
            self.pid = _spawn(argv, env, actions, apart)
        except OSError as error:
            self._close(self._stdin, self._stdout, self._stderr)
            raise GitMissing(f"cannot run '{argv[0]}': {error.strerror}") from error
        finally:
            os.umask(umask)
            self._close(feed, out, err)
        self._buffer, self._position = b"", 0

    @staticmethod
    def _close(*descriptors: int) -> None:
        for descriptor in descriptors:
            os.close(descriptor)

    def send(self, data: bytes) -> None:
        """Write to git. If git has exited, `communicate` reports why."""
        view = memoryview(data)
        try:
            while view:
                view = view[os.write(self._stdin, view) :]
        except BrokenPipeError:
            pass

    def read_line(self) -> bytes:
        """Return the next line of output without its line end; empty if git has exited."""
        while (end := self._buffer.find(b"\n", self._position)) < 0:
            chunk = os.read(self._stdout, 65536)
            self._buffer, self._position = self._buffer[self._position :] + (chunk or b"\n"), 0
        found, self._position = self._buffer[self._position : end], end + 1
        return found

    def read_bytes(self, count: int) -> bytes:
        """Return the next `count` bytes of output; fewer if git has exited."""
        while len(self._buffer) < self._position + count and (chunk := os.read(self._stdout, 65536)):
            self._buffer += chunk
        start, self._position = self._position, min(self._position + count, len(self._buffer))
        return self._buffer[start : self._position]

    def communicate(self, data: bytes = b"", seconds: Optional[float] = None, most: float = float("inf")) -> Result:
        """Send the rest, read everything and wait. Kill git after `seconds` or `most` bytes of output: code -9."""
        deadline = None if seconds is None else time.monotonic() + seconds
        try:
            out, err = self._transfer(memoryview(data), deadline, most)
        except BaseException:
            self.kill()
            os.waitpid(self.pid, 0)  # afterwards the files it wrote can be removed
            raise
        _, status = os.waitpid(self.pid, 0)
        return Result(os.waitstatus_to_exitcode(status), self._buffer[self._position :] + out, err)

    def kill(self) -> None:
        """Kill git, and its process group if it has its own."""
        try:
            (os.killpg if self._own_group else os.kill)(self.pid, _KILL)
        except ProcessLookupError:
            pass

    def drop(self) -> None:
        """Kill git without waiting; enough was read. Do not use it while holding the lock.

        The process is gone about 2 ms later, or with this process.
        """
        self.kill()
        self._close(self._stdin, self._stdout, self._stderr)

    def on_poll(self) -> None:
        """Hook for subclasses: called repeatedly while waiting for git; raising an error ends git."""

    def _get_poll_timeout(self, deadline: Optional[float]) -> Optional[float]:
        """Return how many milliseconds to poll before checking the clock again; None for no limit."""
        return None if deadline is None else max(0.0, deadline - time.monotonic()) * 1000

    def _transfer(self, view: memoryview, deadline: Optional[float], most: float) -> tuple[bytes, bytes]:
        """Feed git and read its output until it closes both streams, the deadline passes, or it prints too much."""
        import select  # not needed for reading line by line

        chunks: dict[int, list[bytes]] = {self._stdout: [], self._stderr: []}
        room: dict[int, float] = {self._stdout: most, self._stderr: _MAX_STDERR}
        poll = select.poll()
        for descriptor in chunks:
            poll.register(descriptor, select.POLLIN)
        if view:
            os.set_blocking(self._stdin, False)
            poll.register(self._stdin, select.POLLOUT)
        else:
            os.close(self._stdin)
        left, was_killed = set(chunks), False
        while left:
            if deadline is not None and time.monotonic() >= deadline:  # also while git prints without end
                if was_killed:  # ssh or a helper is still alive and holds its end of the pipe: do not wait for it
                    for descriptor in left:
                        os.close(descriptor)
                    break
                self.kill()
                was_killed, deadline = True, time.monotonic() + _KILL_GRACE_SECONDS
            events = poll.poll(self._get_poll_timeout(deadline))
            self.on_poll()
            for descriptor, _ in events:
                if descriptor == self._stdin:
                    view = self._write_chunk(view)
                    if not view:
                        poll.unregister(descriptor)
                        os.close(descriptor)
                    continue
                if not self._read_chunk(descriptor, chunks, room):
                    poll.unregister(descriptor)
                    os.close(descriptor)
                    left.discard(descriptor)
        if view:
            os.close(self._stdin)
        return b"".join(chunks[self._stdout]), b"".join(chunks[self._stderr])

    def _read_chunk(self, descriptor: int, chunks: dict[int, list[bytes]], room: dict[int, float]) -> bytes:
        """Read a chunk of output; drop it above the limit, and kill git if stdout exceeds its limit."""
        chunk = os.read(descriptor, 1 << 20)
        if room[descriptor] >= 0:
            chunks[descriptor].append(chunk)
            room[descriptor] -= len(chunk)
            if room[self._stdout] < 0:
                self.kill()
        return chunk

    def _write_chunk(self, view: memoryview) -> memoryview:
        try:
            return view[os.write(self._stdin, view[:65536]) :]
        except BlockingIOError:
            return view
        except BrokenPipeError:
            return view[len(view) :]


MIN_VERSION = (2, 34)
COMMITTER = "reflect-git <reflect-git@localhost>"
# git before 2.36 does not know core.fsync, only the older key, which covers objects.
SYNC_CONFIG = ("core.fsync=all", "core.fsyncObjectFiles=true")
_DEFAULT_FOLDERS = ("/usr/bin", "/bin", "/usr/local/bin", "/opt/homebrew/bin")

# The four profiles. *local*: only the store's own config is read, and nothing in it may run a program, change bytes, or
# start background work. *settings*: the user's configuration as git sees it outside any project. *network*: keeps the
# user's ssh, askpass, proxies and credential helpers, but nothing that could run or write something else. *project*:
# the repository of a folder, as the user's own git finds it, with their name and signature.
LOCAL, SETTINGS, NETWORK, PROJECT = "local", "settings", "network", "project"
_OVERRIDES = {
    LOCAL: (
        "core.hooksPath=/dev/null", "core.fsmonitor=false", "core.autocrlf=false", "core.attributesFile=/dev/null",
        "core.excludesFile=/dev/null", "core.quotePath=false", "gc.auto=0", "maintenance.auto=false",
        "pack.compression=1", "protocol.allow=never",
        *(f"protocol.{name}.allow=never" for name in ("ext", "fd", "file", "git", "http", "https", "ssh")),
    ),
    SETTINGS: (),
    NETWORK: (
        "core.hooksPath=/dev/null", "core.fsmonitor=false", "core.symlinks=false", "core.protectHFS=true",
        "core.protectNTFS=true", "transfer.fsckObjects=true", "fetch.recurseSubmodules=false", "gc.auto=0",
        "maintenance.auto=false", "protocol.allow=never", "protocol.https.allow=always", "protocol.ssh.allow=always",
        "protocol.file.allow=always",
    ),
    PROJECT: (
        "core.hooksPath=/dev/null", "core.fsmonitor=false", "i18n.commitEncoding=UTF-8", "gc.auto=0",
        "maintenance.auto=false", "protocol.allow=never",
    ),
}  # fmt: skip
# GIT_FLUSH: output comes by the page, not by the line. Otherwise the reader wakes up a hundred times for one page.
_LOCAL_ENVIRONMENT = {
    "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull, "GIT_ATTR_NOSYSTEM": "1", "GIT_OPTIONAL_LOCKS": "0",
    "GIT_NO_LAZY_FETCH": "1", "GIT_FLUSH": "0",
}  # fmt: skip
_ALLOWED_GIT_VARIABLES = ("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM")
_ALLOWED_PROJECT_VARIABLES = (
    *_ALLOWED_GIT_VARIABLES,
    "GIT_AUTHOR_NAME",
    "GIT_AUTHOR_EMAIL",
    "GIT_COMMITTER_NAME",
    "GIT_COMMITTER_EMAIL",
)
_ALLOWED_NETWORK_VARIABLES = (
    *_ALLOWED_GIT_VARIABLES,
    "GIT_SSH",
    "GIT_SSH_COMMAND",
    "GIT_SSH_VARIANT",
    "GIT_ASKPASS",
    "GIT_PROXY_COMMAND",
)

# A gc deletes packs that another git has listed but not yet opened. git then dies, or takes the objects for missing.
# The next git finds the new packs. Only queries and repacks are repeated: doing them twice changes nothing more.
_READ_ATTEMPTS = 3
_REPEATABLE = (
    "cat-file", "diff-tree", "for-each-ref", "fsck", "grep", "log", "ls-tree", "merge-base", "repack", "rev-list",
    "rev-parse", "show", "verify-pack",
)  # fmt: skip
_LOST_OBJECT = (
    b"cannot be accessed", b"cannot be mapped", b"index not opened", b"index unavailable", b"nable to read",
    b"ould not read", b"bad object", b"bad tree object", b"missing ", b"invalid reflog entry",
    b"renaming pack",
)  # fmt: skip


class GitError(ReflectError):
    """git failed; the message contains its stderr."""

    def __init__(self, arguments: Sequence[str], result: Result, hint: str = "run 'reflect-git doctor'") -> None:
        said = result.err.decode("utf-8", "replace").strip() or f"exit code {result.code}"
        super().__init__(f"git {arguments[0]} failed: {said}", hint, code="git")
        self.result = result


def find_git(path: str, avoid: str = "") -> str:
    """Return the absolute path of git. Skip relative entries of PATH and those below `avoid` (a project)."""
    folders = [entry for entry in path.split(os.pathsep) if os.path.isabs(entry)]
    for folder in (*folders, *_DEFAULT_FOLDERS):
        program = os.path.join(folder, "git")
        below = avoid and (os.path.realpath(folder) + os.sep).startswith(os.path.realpath(avoid) + os.sep)
        if (below and folder not in _DEFAULT_FOLDERS) or _is_world_writable(folder):
            continue
        if os.path.isfile(program) and os.access(program, os.X_OK):
            program = system.current.find_program_behind(program)
            if program:
                return program
    raise GitMissing("git was not found")


def _is_world_writable(folder: str) -> bool:
    """Return whether anybody could put a program into this folder."""
    try:
        return bool(os.stat(folder).st_mode & 0o002)
    except OSError:
        return False


class Git:
    """One repository.

    `lock_fd` is the descriptor of the store's lock; every child inherits it while it is held. `user` is the user's
    environment, for the profiles that may see it.
    """

    def __init__(self, program: str, root: str, git_dir: str = "", user: Optional[Mapping[str, str]] = None) -> None:
        self.program = program
        self.root = root
        self.git_dir = git_dir or os.path.join(root, ".git")
        self.user = user or {}
        self.lock_fd = -1

    def start(
        self, *arguments: str, config: Sequence[str] = (), index: str = "", profile: str = LOCAL,
        through: Sequence[str] = (), make: Callable[[Sequence[str], Mapping[str, str], int], GitProcess] = GitProcess,
    ) -> GitProcess:  # fmt: skip
        """Start git.

        `through` is a program that execs it; `make` creates the child, for other ways to wait and kill.
        """
        argv = [*through, self.program, "-C", self.root, "--no-pager", "--no-replace-objects"]
        for setting in (*_OVERRIDES[profile], *config):
            argv += ("-c", setting)
        environment = self._build_environment(profile)
        if index:
            environment["GIT_INDEX_FILE"] = index
        return make([*argv, *arguments], environment, self.lock_fd)

    def _build_environment(self, profile: str) -> dict[str, str]:
        fixed = {"GIT_DIR": self.git_dir, "GIT_WORK_TREE": self.root, "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"}
        if profile == LOCAL:
            folders = (os.path.dirname(self.program), "/usr/bin", "/bin")
            return {**fixed, **_LOCAL_ENVIRONMENT, "PATH": os.pathsep.join(folders)}
        kept = {NETWORK: _ALLOWED_NETWORK_VARIABLES, PROJECT: _ALLOWED_PROJECT_VARIABLES}.get(
            profile, _ALLOWED_GIT_VARIABLES
        )
        own = {name: value for name, value in self.user.items() if not name.startswith("GIT_") or name in kept}
        if profile == PROJECT:  # git finds the repository itself, and refuses one of another user
            del fixed["GIT_DIR"], fixed["GIT_WORK_TREE"]
        return {**own, **fixed}

    def run(
        self, *arguments: str, stdin: bytes = b"", config: Sequence[str] = (), index: str = "",
        profile: str = LOCAL, check: bool = True, seconds: Optional[float] = None, most: float = float("inf"),
        through: Sequence[str] = (),
    ) -> Result:  # fmt: skip
        """Run git to its end; raise GitError if it fails, unless `check` is False.

        A query or a repack that failed because a gc of the user replaced packs under it is run again.
        """
        for _ in range(_READ_ATTEMPTS):
            child = self.start(*arguments, config=config, index=index, profile=profile, through=through)
            result = child.communicate(stdin, seconds, most)
            if (
                not result.code
                or arguments[0] not in _REPEATABLE
                or not any(map(result.err.__contains__, _LOST_OBJECT))
            ):
                break
        if check and result.code:
            raise GitError(arguments, result)
        return result

    def get_version(self) -> tuple[int, ...]:
        """Return the version of git as a tuple of numbers."""
        words = self.run("version").out.decode("ascii", "replace").split()
        if words[:2] != ["git", "version"] or len(words) < 3:
            raise GitMissing(f"'{self.program}' is not git")
        return tuple(int(part) for part in words[2].split(".")[:3] if part.isdigit())

    def resolve(self, name: str) -> Optional[str]:
        """Return the object id of a name, or None."""
        result = self.run("rev-parse", "--verify", "--quiet", "--end-of-options", name, check=False)
        return result.out.decode("ascii").strip() or None

    def get_head_branch(self) -> Optional[str]:
        """Return the full name of the branch that HEAD is on; None if it is detached."""
        result = self.run("symbolic-ref", "--quiet", "HEAD", check=False)
        return result.out.decode("utf-8", "replace").strip() or None

    def refs(self, *prefixes: str) -> dict[str, str]:
        """Return full ref name → object id."""
        result = self.run("for-each-ref", "--format=%(objectname) %(refname)", "--end-of-options", *prefixes)
        lines = result.out.decode("utf-8", "surrogateescape").splitlines()
        return {name: oid for oid, _, name in (line.partition(" ") for line in lines)}

    def tree(self, commit: str, *below: str) -> dict[str, str]:
        """Return path → blob id of every file in a commit, or below some of its folders."""
        result = self.run("ls-tree", "-r", "-z", "--full-tree", "--end-of-options", commit, *below)
        found = {}
        for entry in result.out.split(b"\0"):
            if entry:
                meta, _, path = entry.partition(b"\t")
                found[os.fsdecode(path)] = meta.split()[2].decode("ascii")
        return found

    def diff_blobs(self, old: str, new: str, *below: str) -> tuple[dict[str, str], list[str]]:
        """Return path → blob id of added or changed files from `old` to `new`, and the paths of deleted ones."""
        found = self.diff_entries(old, new, *below)
        return (
            {path: after[1] for path, (_, after) in found.items() if after},
            [path for path, (_, after) in found.items() if not after],
        )

    def diff_entries(
        self, old: str, new: str, *below: str
    ) -> dict[str, tuple[Optional[TreeEntry], Optional[TreeEntry]]]:
        """Return path → (mode, blob) in `old` and in `new` for every changed file; None on the side that lacks it."""
        out = self.run("diff-tree", "-r", "-z", "--no-renames", "--end-of-options", old, new, "--", *below).out
        fields = out.split(b"\0")
        found = {}
        for meta, path in zip(fields[0::2], fields[1::2]):
            before, after, old_blob, new_blob, kind = meta[1:].decode("ascii").split()
            found[os.fsdecode(path)] = (
                None if kind == "A" else (before, old_blob), None if kind == "D" else (after, new_blob)
            )  # fmt: skip
        return found

    def blobs(self, ids: Sequence[str], most: float = float("inf"), through: Sequence[str] = ()) -> Iterator[bytes]:
        """Yield the bytes of each object, in order; nothing at all above `most` bytes or the limits of `through`."""
        asked = "".join(f"{oid}\n" for oid in ids).encode()
        options = ("cat-file", "--batch", "--buffer")
        result = self.run(*options, stdin=asked, check=False, most=most, through=through) if ids else None
        if result is None or len(result.out) > most or (result.code and through):
            return
        if result.code:
            raise GitError(("cat-file",), result)
        out, at = result.out, 0
        for _ in ids:
            end = out.index(b"\n", at)
            header = out[at:end].split()
            if header[-1] == b"missing":
                yield b""
                at = end + 1
                continue
            size = int(header[2])
            yield out[end + 1 : end + 1 + size]
            at = end + size + 2

    def update_refs(self, commands: str) -> None:
        """Run one `git update-ref --stdin` transaction: all of it or nothing."""
        self.run("update-ref", "--stdin", stdin=commands.encode(), config=SYNC_CONFIG)

    def get_local_config(self) -> dict[str, list[str]]:
        """Return every key of this repository's own config, with its values in order."""
        return _parse_config(self.run("config", "--local", "--list", "-z").out)

    def parse_config(self, text: bytes) -> dict[str, list[str]]:
        """Return every key in the text of a config file, without its includes."""
        return _parse_config(self.run("config", "--file", "-", "--no-includes", "--list", "-z", stdin=text).out)

    def get_user_config(self) -> dict[str, list[str]]:
        """Return the user's keys: system, global and this repository's, never a project's."""
        return _parse_config(self.run("config", "--list", "-z", profile=SETTINGS).out)

    def get_global_setting(self, key: str) -> Optional[str]:
        """Return a key of the user's global config only, or None."""
        result = self.run("config", "--global", "--get", key, profile=SETTINGS, check=False)
        return result.out.decode("utf-8", "replace").rstrip("\n") or None

    def fsck(self) -> Result:
        """Check all objects; return the result of `git fsck`."""
        return self.run("fsck", "--strict", "--no-dangling", "--no-progress", check=False)


def _parse_config(listing: bytes) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for entry in listing.decode("utf-8", "replace").split("\0"):
        if entry:
            key, _, value = entry.partition("\n")
            found.setdefault(key, []).append(value)
    return found
