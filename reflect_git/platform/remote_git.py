"""Fetch from and push to remotes, within limits. No other module passes a remote to git.

Nothing here may prompt a person, run a hook, or use more than the limits allow. A remote is somebody else's machine,
and a repository on a USB stick is somebody else's folder.
"""

from __future__ import annotations

import os
import resource
import time

from reflect_git.errors import ReflectError
from reflect_git.platform import system
from reflect_git.platform.git import NETWORK, GitError, GitProcess, Result
from reflect_git.records.named_tuple import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from reflect_git.platform.git import Git

OK, BEHIND, REFUSED = "ok", "behind", "refused"
# Each fetch writes one pack, so the system can limit its size; nothing unrequested is fetched. The repository is
# temporary, so do not wait for the disk.
_FETCH_CONFIG = (
    "core.fsync=none",
    "fetch.unpackLimit=1", "transfer.unpackLimit=1", "fetch.fsckObjects=true", "fetch.writeCommitGraph=false",
    "transfer.bundleURI=false", "fetch.negotiationAlgorithm=default",
)  # fmt: skip
# The user's own git may be configured to accept these faults in old repositories; ours is not.
_FSCK_ERRORS = (
    "badDate", "badDateOverflow", "badEmail", "badFilemode", "badName", "badObjectSha1", "badParentSha1", "badTimezone",
    "badTree", "badTreeSha1", "badType", "duplicateEntries", "emptyName", "fullPathname", "hasDot", "hasDotdot",
    "hasDotgit", "missingAuthor", "missingCommitter", "missingEmail", "missingNameBeforeEmail",
    "missingSpaceBeforeDate", "missingSpaceBeforeEmail", "missingTree", "multipleAuthors", "nullSha1", "treeNotSorted",
    "unknownType", "zeroPaddedDate", "zeroPaddedFilemode",
)  # fmt: skip
# For a repository in a local folder the other end runs on this machine too. Do not run its hooks and programs.
_LOCAL_GIT = (
    "git -c core.hooksPath=/dev/null -c core.fsmonitor=false -c core.alternateRefsCommand=true "
    "-c receive.autogc=false -c gc.auto=0 -c maintenance.auto=false "
)
_TIMEOUT_CODES = (-9, -24)  # killed by us, or by the system for its CPU limit
_NETWORK_ERRORS = (
    "timed out", "could not resolve", "connection refused", "connection reset", "network is unreachable",
    "no route to host", "couldn't connect to server",
)  # fmt: skip
_SIGPIPE_CODE = -13  # git writes to a remote that has disconnected, and prints nothing about it
_DISCONNECT_ERRORS = ("hung up unexpectedly", "early eof", "broken pipe", "unexpected disconnect")
# reasons other than a lost connection
_OTHER_ERRORS = ("no space left", "quota", "rpc failed; http", "unpack failed", "exceeds maximum")
_MISSING_REMOTE_ERRORS = (
    "does not appear to be a git repository",
    "repository not found",
    "not found: did you run",
    "does not exist",
)
_LOCAL_ERRORS = ("unable to read", "bad tree object", "pack-objects died")  # unreadable objects on our side
_RACE_ERRORS = (
    "fetch first",
    "non-fast-forward",
    "stale info",
    "failed to update ref",
    "cannot lock ref",
    "incorrect old value",
)


DEFAULT_TIMEOUT = 60.0  # time limit of a fetch or push, whether or not data arrives
_CPU_SECONDS = 300.0  # CPU seconds for checking the fetched objects


class Limits(NamedTuple):
    """Limits of one connection: bytes on disk and in memory, files of a tree, commits, seconds, bytes of listings.

    `seconds` is the total time: a remote that sends one byte a second is cut off as well. `own_group`: no person can
    type a pass phrase, so ssh and helpers run in a process group with git and end with it.
    """

    size: int = 256 << 20
    memory: int = 4 << 30
    entries: int = 500_000
    commits: int = 200_000
    seconds: float = DEFAULT_TIMEOUT
    listing: int = 288 << 20  # enough for the allowed commits: the commit of an approval takes 1,344 bytes
    own_group: bool = False


class Remote(NamedTuple):
    """A remote's URL. `protocols` are allowed for it only; `is_local`: it is a local folder."""

    url: str
    protocols: tuple[str, ...] = ()
    is_local: bool = False

    @property
    def name(self) -> str:
        """Return the host or folder, for messages."""
        if self.is_local:
            return f"'{self.url.removeprefix('file://')}'"
        place = self.url.partition("://")[2].partition("/")[0] or self.url.partition(":")[0]
        return f"'{place.rpartition('@')[2]}'"


class Unreachable(ReflectError):
    """The remote did not answer; unsent changes stay here until it does."""

    def __init__(self, said: str) -> None:
        super().__init__(f"the remote cannot be reached: {said}", "try again when you are online", code="unreachable")


class RemoteTimeout(Unreachable):
    """The remote did not finish within the time limit."""

    def __init__(self, remote: Remote, seconds: float) -> None:
        self.suggested_seconds = more = max(300, round(seconds * 5))
        ReflectError.__init__(
            self, f"gave up waiting for {remote.name} after {seconds:g} seconds",
            f"allow more time: reflect-git sync --timeout {more}", code="unreachable",
        )  # fmt: skip


class NoBranch(ReflectError):
    """The remote has no branch of that name."""

    def __init__(self) -> None:
        super().__init__("the remote has no such branch", code="no-branch")


class LimitExceeded(ReflectError):
    """The remote offers more than the limits allow."""

    def __init__(self, what: str) -> None:
        hint = "is it the right repository? 'reflect-git remote' shows it"
        super().__init__(f"the remote offers too much: {what}", hint, code="too-much")


def build_unattended_env(user: Mapping[str, str]) -> dict[str, str]:
    """Return the user's environment for an unattended sync: without prompts of ssh or a key agent."""
    kept = {name: value for name, value in user.items() if name not in ("GIT_ASKPASS", "SSH_ASKPASS", "DISPLAY")}
    ssh = user.get("GIT_SSH_COMMAND") or "ssh"
    if ssh.split()[0].endswith("ssh") and not (user.get("GIT_SSH") and "GIT_SSH_COMMAND" not in user):
        kept["GIT_SSH_COMMAND"] = f"{ssh} -oBatchMode=yes"
    return {**kept, "SSH_ASKPASS_REQUIRE": "never"}


def list_heads(git: Git, remote: Remote, limits: Limits) -> dict[str, str]:
    """Return full name → commit of every branch on the remote."""
    asked = (
        "ls-remote",
        "--heads",
        "--quiet",
        *_get_program_option(remote, "upload-pack"),
        "--end-of-options",
        remote.url,
    )
    result = RemoteCommand(git, remote, limits, *asked).wait()
    lines = result.out.decode("utf-8", "surrogateescape").split("\n")[:-1]
    if len(lines) > limits.entries:
        raise LimitExceeded(f"{len(lines)} branches")
    return {name: oid for oid, _, name in (line.partition("\t") for line in lines) if len(oid) == 40}


def start_fetch(
    git: Git, remote: Remote, refs: Mapping[str, str], limits: Limits, knows_ours: bool = False
) -> RemoteCommand:
    """Start a fetch of full remote name → full local name. No tags, submodules or FETCH_HEAD.

    `knows_ours`: a ref in this repository represents the objects it borrows from the store.
    """
    wanted = [f"{there}:{here}" for there, here in refs.items()]
    borrowed = "core.alternateRefsCommand=true" if knows_ours else "core.alternateRefsPrefixes=refs/heads/main"
    return RemoteCommand(
        git, remote, limits, "fetch", "--quiet", "--no-tags", "--no-recurse-submodules", "--no-write-fetch-head",
        "--no-auto-maintenance", *_get_program_option(remote, "upload-pack"), "--end-of-options", remote.url, *wanted,
        config=(*_FETCH_CONFIG, borrowed, *(f"fetch.fsck.{name}=error" for name in _FSCK_ERRORS)), fills=git.git_dir,
    )  # fmt: skip


def start_push(git: Git, remote: Remote, refs: Mapping[str, str], limits: Limits, lease: str = "") -> RemoteCommand:
    """Start a push of full remote name → commit; an empty commit deletes the branch. `sent` returns the outcome.

    All refs, fast-forward only. `lease` is the exception: after a purge it replaces main, if main is exactly this
    commit.
    """
    leases = [f"--force-with-lease={name}:{lease}" for name in refs] if lease else []
    return RemoteCommand(
        git,
        remote,
        limits,
        "push",
        "--porcelain",
        "--quiet",
        "--no-verify",
        "--no-follow-tags",
        "--no-signed",
        "--recurse-submodules=no",
        *leases,
        *_get_program_option(remote, "receive-pack"),
        "--end-of-options",
        remote.url,
        *(f"{commit}:{name}" for name, commit in refs.items()),
    )


def wait_for_push(under: RemoteCommand, lease: str = "") -> str:
    """Wait for a push and return its outcome."""
    result = under.wait(check=False)
    if result.code == 0:
        return OK
    said = (result.out + result.err).decode("utf-8", "replace").lower()
    if _is_local_error(said):
        raise GitError(("push",), result)
    if lease and "[remote rejected]" in said:
        raise ReflectError(
            "the remote does not allow history to be replaced, so it keeps the purged text",
            "make a new, empty repository, 'reflect-git remote set' it, and delete the old one", code=REFUSED,
        )  # fmt: skip
    if any(word in said for word in _RACE_ERRORS):
        return BEHIND
    if "[remote rejected]" in said:
        raise ReflectError(
            f"the remote refused: {_get_reject_reason(result)}",
            "look at its settings, or at your rights there",
            code=REFUSED,
        )
    raise _build_error(("push",), result)


def _is_local_error(said: str) -> bool:
    """Return whether objects on our side cannot be read. Lines that the remote said occur again after `remote:`."""
    lines = [line.strip() for line in said.splitlines()]
    here = [line for line in lines if not line.startswith("remote:") and f"remote: {line}" not in lines]
    return any(word in line for line in here for word in _LOCAL_ERRORS)


def _get_reject_reason(result: Result) -> str:
    for line in result.out.decode("utf-8", "replace").splitlines():
        if "[remote rejected]" in line:
            return line.partition("[remote rejected]")[2].strip().strip("()")
    return "it gave no reason"


def _get_program_option(remote: Remote, program: str) -> tuple[str, ...]:
    return (f"--{program}={_LOCAL_GIT}{program}",) if remote.is_local else ()


class RemoteCommand:
    """A running git command that talks to the remote; the caller can do other work meanwhile.

    `fills` is the repository that it fetches into, whose size is limited. The system limits a single file; the sum of
    all files is checked here.
    """

    def __init__(
        self, git: Git, remote: Remote, limits: Limits, *arguments: str, config: Sequence[str] = (), fills: str = ""
    ) -> None:  # fmt: skip
        allowed = [f"protocol.{name}.allow=always" for name in remote.protocols]
        # For a git that outlives us because we were killed: it gives up by itself.
        given_up = ("http.lowSpeedLimit=1", f"http.lowSpeedTime={int(limits.seconds) + 5}")
        self._remote, self._limits, self._arguments, self._target = remote, limits, arguments, fills
        self._deadline = time.monotonic() + limits.seconds
        apart = limits.own_group or not has_terminal()

        def make(argv: Sequence[str], env: Mapping[str, str], keep: int) -> GitProcess:
            return NetworkProcess(argv, env, keep, apart=apart, check=self._require_size_limit)

        self._child: GitProcess | None = git.start(
            *arguments, config=(*config, *allowed, *given_up), profile=NETWORK,
            through=get_ulimit_prefix(limits, limits.seconds), make=make,
        )  # fmt: skip

    def _require_size_limit(self) -> None:
        if self._target and get_disk_usage(self._target) > self._limits.size:
            raise LimitExceeded("its objects are larger than allowed")

    def wait(self, check: bool = True) -> Result:
        """Wait for the command, at most as long as allowed."""
        assert self._child is not None, "it ends once"
        child, self._child = self._child, None
        result = wait_limited(child, self._limits, max(0.0, self._deadline - time.monotonic()))
        if result.code in _TIMEOUT_CODES:
            raise RemoteTimeout(self._remote, self._limits.seconds)
        if check and result.code:
            raise _build_error(self._arguments, result)
        return result

    def drop(self) -> None:
        """Stop the command; its result is no longer needed."""
        if self._child is not None:
            self._child.drop()
            self._child = None


def run_limited(git: Git, limits: Limits, *arguments: str, streams: bool = False) -> Result:
    """Run git on objects from outside, within the limits.

    A few objects can form a tree of billions of files. git keeps all changes of a commit in memory before printing
    them, unless it `streams`.
    """
    return read_limited(start_limited(git, limits, *arguments, streams=streams), limits, *arguments)


def start_limited(git: Git, limits: Limits, *arguments: str, streams: bool = False) -> GitProcess:
    """Start git on objects from outside; the caller can do other work until `answer`."""
    return git.start(*arguments, through=() if streams else get_ulimit_prefix(limits))


def read_limited(child: GitProcess, limits: Limits, *arguments: str) -> Result:
    """Read the output of a started git, within the limits."""
    return check_result(child.communicate(most=limits.listing), limits, *arguments)


def check_result(result: Result, limits: Limits, *arguments: str) -> Result:
    """Return a result if it is a success within the limits; raise an error otherwise."""
    _require_output_limit(result, limits)
    if result.code:
        raise _build_error(arguments, result)
    return result


def require_valid_objects(git: Git, limits: Limits, ids: Iterable[str], place: str) -> None:
    """Check objects that were already here, unchecked, with the same rules as a fetch."""
    listed = "".join(f"{oid}\n" for oid in ids).encode()
    packed = git.start("pack-objects", "-q", "--window=0", place, through=get_ulimit_prefix(limits)).communicate(listed)
    if packed.code:
        raise _build_error(("pack-objects",), packed)
    faults = ",".join(f"{name}=error" for name in _FSCK_ERRORS)
    pack = f"{place}-{packed.out.decode('ascii').strip()}.pack"
    run_limited(git, limits, "index-pack", f"--strict={faults}", "-o", f"{place}.idx", pack)


def wait_limited(child: GitProcess, limits: Limits, seconds: float | None = None) -> Result:
    """Wait for git and return its result; raise an error if the output exceeds the limits."""
    result = child.communicate(b"", seconds, limits.listing)
    _require_output_limit(result, limits)
    return result


def _require_output_limit(result: Result, limits: Limits) -> None:
    if len(result.out) > limits.listing:
        raise LimitExceeded("a list of its files or branches is longer than allowed")


def _build_error(arguments: Sequence[str], result: Result) -> ReflectError:
    """Translate a failed git command into an error with a hint."""
    said = result.err.decode("utf-8", "replace")
    lowered = said.lower()
    if "couldn't find remote ref" in lowered:
        return NoBranch()
    if "file size limit" in lowered or "file too large" in lowered or result.code == -25:
        return LimitExceeded("its objects are larger than allowed")
    if "out of memory" in lowered or result.code in _TIMEOUT_CODES:
        return LimitExceeded("looking at it takes more memory or time than allowed")
    if any(word in lowered for word in _NETWORK_ERRORS):
        return Unreachable(_get_error_line(said))
    if any(
        word in lowered for word in ("authentication", "permission denied", "could not read username", "error: 403")
    ):
        hint = "see that git can log in there: 'git ls-remote URL' in a terminal"
        return ReflectError(f"the remote does not let us in: {_get_error_line(said)}", hint, code="credentials")
    if any(word in lowered for word in ("fsck", "bad object", "non-commit object")):
        hint = "somebody made them by hand; nothing was taken"
        return ReflectError(
            f"the remote offers objects that git refuses: {_get_error_line(said)}", hint, code="hostile"
        )
    if any(word in lowered for word in _MISSING_REMOTE_ERRORS):
        hint = "see that it is there: 'git ls-remote URL'; another one: reflect-git remote set URL"
        return ReflectError(f"the remote is not there: {_get_error_line(said)}", hint, code="remote-absent")
    is_cut = any(word in lowered for word in _DISCONNECT_ERRORS) and not any(word in lowered for word in _OTHER_ERRORS)
    if result.code == _SIGPIPE_CODE or is_cut:
        return Unreachable(_get_error_line(said) if said.strip() else "it ended the conversation")
    return GitError(arguments, result, "try it with git alone: 'git ls-remote URL' in a terminal")


def _get_error_line(text: str) -> str:
    lines = [line for line in text.splitlines() if line.startswith(("fatal:", "error:", "ssh:"))] or text.splitlines()
    line = lines[0] if lines else "it gave no reason"
    return "".join(c if c.isprintable() else " " for c in line.removeprefix("fatal: ").removeprefix("error: "))[:200]


def get_ulimit_prefix(limits: Limits, seconds: float = _CPU_SECONDS) -> tuple[str, ...]:
    """Return a shell prefix that sets limits for git and all its children, and then becomes git.

    Setting the limits here for the moment of the start applied them to us too: a process that had already used more CPU
    time was killed.
    """
    wanted = (
        ("f", resource.RLIMIT_FSIZE, limits.size, 512), ("v", resource.RLIMIT_AS, limits.memory, 1024),
        ("t", resource.RLIMIT_CPU, int(seconds) + 1, 1),
    )  # fmt: skip
    # Not every system can limit memory.
    steps = [
        f"ulimit -{letter} {_get_lowest_limit(kind, most) // unit} 2>/dev/null" for letter, kind, most, unit in wanted
    ]
    return ("/bin/sh", "-c", "; ".join([*steps, 'exec "$@"']), "sh")


def _get_lowest_limit(kind: int, wanted: int) -> int:
    return min([wanted, *(value for value in resource.getrlimit(kind) if value != resource.RLIM_INFINITY)])


_CHECK_SECONDS = 0.1
_SCAN_SECONDS = 1.0  # reading the process table takes 5 ms
_KILL = 9


class NetworkProcess(GitProcess):
    """A git process whose children are killed with it.

    `check` is called ten times a second and may raise an error. `own_group`: git leads a process group of its own.
    """

    def __init__(
        self, argv: Sequence[str], env: Mapping[str, str], keep: int = -1, *, apart: bool, check: Callable[[], None]
    ) -> None:
        super().__init__(argv, env, keep, apart)
        self._check = check
        self._children: dict[int, str] = {}
        self._last_check = self._last_scan = time.monotonic()

    def _get_poll_timeout(self, deadline: float | None) -> float | None:
        left = super()._get_poll_timeout(deadline)
        return _CHECK_SECONDS * 1000 if left is None else min(left, _CHECK_SECONDS * 1000)

    def on_poll(self) -> None:
        """Call `check`, and remember git's child processes."""
        now = time.monotonic()
        if now - self._last_check < _CHECK_SECONDS:
            return
        self._last_check = now
        self._check()
        if not self._own_group and (not self._children or now - self._last_scan >= _SCAN_SECONDS):
            # Remember them: Ctrl-C ends git at once, and afterwards its children can no longer be found.
            self._last_scan, self._children = now, {**self._children, **find_children(self.pid)}

    def kill(self) -> None:
        """Kill git and the processes that it started."""
        others = {} if self._own_group else {**self._children, **find_children(self.pid)}
        super().kill()
        kill_processes(others)


def find_children(process: int) -> dict[int, str]:
    """Find the processes below a process, each with its start time, because process ids are reused."""
    table = system.current.read_process_table()
    found: dict[int, str] = {}
    unseen = [process]
    while unseen:
        above = unseen.pop()
        below = [number for number, (parent, _) in table.items() if parent == above and number not in found]
        found.update({number: table[number][1] for number in below})
        unseen += below
    return found


def kill_processes(processes: Mapping[int, str]) -> None:
    """Kill these processes if they are still the same ones."""
    table = system.current.read_process_table() if processes else {}
    for number, start in processes.items():
        if number in table and table[number][1] == start:
            try:
                os.kill(number, _KILL)
            except (ProcessLookupError, PermissionError):
                pass


def has_terminal() -> bool:
    """Return whether there is a terminal on which ssh could ask for a pass phrase."""
    try:
        os.close(os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY | os.O_CLOEXEC))
    except OSError:
        return False
    return True


def get_disk_usage(folder: str) -> int:
    """Return the disk usage of the files below a folder."""
    total = 0
    for base, _, names in os.walk(folder):
        for name in names:
            try:
                total += os.lstat(os.path.join(base, name)).st_blocks * 512
            except OSError:  # renamed meanwhile
                continue
    return total
