"""git over a network: what is asked of a remote, and within which limits. No other file names a remote to git.

Nothing here may ask a person, run a hook, or take more than it was allowed: a remote is somebody else's machine, and a
repository on a stick somebody else's folder.
"""

from __future__ import annotations

import resource
import time

from reflect_git.adapters import network
from reflect_git.adapters.child import Result
from reflect_git.adapters.git import NETWORK, GitError
from reflect_git.errors import ReflectError
from reflect_git.model.tuples import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from reflect_git.adapters.child import Child
    from reflect_git.adapters.git import Git

OK, BEHIND, REFUSED = "ok", "behind", "refused"
# One pack is one file, which the system holds to its size; and nothing beside what was asked for. It is thrown away
# again, so nobody waits for the disk.
_FETCH = (
    "core.fsync=none",
    "fetch.unpackLimit=1", "transfer.unpackLimit=1", "fetch.fsckObjects=true", "fetch.writeCommitGraph=false",
    "transfer.bundleURI=false", "fetch.negotiationAlgorithm=default",
)  # fmt: skip
# What a person's own git may have been told to overlook in old repositories, ours does not.
_FAULTS = (
    "badDate", "badDateOverflow", "badEmail", "badFilemode", "badName", "badObjectSha1", "badParentSha1", "badTimezone",
    "badTree", "badTreeSha1", "badType", "duplicateEntries", "emptyName", "fullPathname", "hasDot", "hasDotdot",
    "hasDotgit", "missingAuthor", "missingCommitter", "missingEmail", "missingNameBeforeEmail",
    "missingSpaceBeforeDate", "missingSpaceBeforeEmail", "missingTree", "multipleAuthors", "nullSha1", "treeNotSorted",
    "unknownType", "zeroPaddedDate", "zeroPaddedFilemode",
)  # fmt: skip
# Of a repository that is a folder here the other end runs on this machine, too: its hooks and programs do not.
_HERE = (
    "git -c core.hooksPath=/dev/null -c core.fsmonitor=false -c core.alternateRefsCommand=true "
    "-c receive.autogc=false -c gc.auto=0 -c maintenance.auto=false "
)
_OUT_OF_TIME = (-9, -24)  # killed by us; by the system, for its share of the processor
_SLOW = (
    "timed out", "could not resolve", "connection refused", "connection reset", "network is unreachable",
    "no route to host", "couldn't connect to server",
)  # fmt: skip
_HUNG_UP = -13  # git writes to a remote that is gone, and says nothing of it
_CUT = ("hung up unexpectedly", "early eof", "broken pipe", "unexpected disconnect")
_OTHERWISE = ("no space left", "quota", "rpc failed; http", "unpack failed", "exceeds maximum")  # why it was cut
_ABSENT = ("does not appear to be a git repository", "repository not found", "not found: did you run", "does not exist")
_OURS = ("unable to read", "bad tree object", "pack-objects died")  # of what is sent
_RACES = (
    "fetch first",
    "non-fast-forward",
    "stale info",
    "failed to update ref",
    "cannot lock ref",
    "incorrect old value",
)


SECONDS = 60.0  # a fetch, or a push, whether or not something comes
_LOOKING = 300.0  # of the processor, for looking at what came


class Limits(NamedTuple):
    """Of one conversation: bytes on disk and of memory, files of a tree, commits, seconds, bytes of what git lists.

    `seconds` count from its beginning to its end: a remote that sends a byte a second is not waited for, either.

    `apart`: nobody is there to type a pass phrase, so ssh and helpers are a group with git, and end with it.
    """

    size: int = 256 << 20
    memory: int = 4 << 30
    entries: int = 500_000
    commits: int = 200_000
    seconds: float = SECONDS
    listing: int = 288 << 20  # as many commits as are allowed: the commit of an approval takes 1,344 bytes
    apart: bool = False


class Remote(NamedTuple):
    """Where it is; `protocols` are allowed for it alone; `is_here`: a folder of this machine."""

    url: str
    protocols: tuple[str, ...] = ()
    is_here: bool = False

    @property
    def name(self) -> str:
        """The host, or the folder: what one waits for."""
        if self.is_here:
            return f"'{self.url.removeprefix('file://')}'"
        place = self.url.partition("://")[2].partition("/")[0] or self.url.partition(":")[0]
        return f"'{place.rpartition('@')[2]}'"


class Unreachable(ReflectError):
    """Nobody answered: what is to be sent stays here until somebody does."""

    def __init__(self, said: str) -> None:
        super().__init__(f"the remote cannot be reached: {said}", "try again when you are online", code="unreachable")


class OutOfTime(Unreachable):
    """The remote was not done when its time was up."""

    def __init__(self, remote: Remote, seconds: float) -> None:
        self.more = more = max(300, round(seconds * 5))
        ReflectError.__init__(
            self, f"gave up waiting for {remote.name} after {seconds:g} seconds",
            f"give it more time: reflect-git sync --timeout {more}", code="unreachable",
        )  # fmt: skip


class NoBranch(ReflectError):
    """The remote has no branch of that name."""

    def __init__(self) -> None:
        super().__init__("the remote has no such branch", code="no-branch")


class TooMuch(ReflectError):
    def __init__(self, what: str) -> None:
        hint = "is it the right repository? 'reflect-git remote' shows it"
        super().__init__(f"the remote offers too much: {what}", hint, code="too-much")


def quiet(user: Mapping[str, str]) -> dict[str, str]:
    """The person's environment for a sync that nobody watches: no dialogue of ssh, none of a key agent's program."""
    kept = {name: value for name, value in user.items() if name not in ("GIT_ASKPASS", "SSH_ASKPASS", "DISPLAY")}
    ssh = user.get("GIT_SSH_COMMAND") or "ssh"
    if ssh.split()[0].endswith("ssh") and not (user.get("GIT_SSH") and "GIT_SSH_COMMAND" not in user):
        kept["GIT_SSH_COMMAND"] = f"{ssh} -oBatchMode=yes"
    return {**kept, "SSH_ASKPASS_REQUIRE": "never"}


def heads(git: Git, remote: Remote, limits: Limits) -> dict[str, str]:
    """Full name → commit of every branch there."""
    asked = ("ls-remote", "--heads", "--quiet", *_other_end(remote, "upload-pack"), "--end-of-options", remote.url)
    result = Under(git, remote, limits, *asked).end()
    lines = result.out.decode("utf-8", "surrogateescape").split("\n")[:-1]
    if len(lines) > limits.entries:
        raise TooMuch(f"{len(lines)} branches")
    return {name: oid for oid, _, name in (line.partition("\t") for line in lines) if len(oid) == 40}


def fetch(git: Git, remote: Remote, refs: Mapping[str, str], limits: Limits, knows_ours: bool = False) -> Under:
    """Full name there → full name here. Nothing else comes along: no tags, no submodules, no FETCH_HEAD.

    `knows_ours`: a ref of the repository tells what the one has whose objects it borrows.
    """
    wanted = [f"{there}:{here}" for there, here in refs.items()]
    borrowed = "core.alternateRefsCommand=true" if knows_ours else "core.alternateRefsPrefixes=refs/heads/main"
    return Under(
        git, remote, limits, "fetch", "--quiet", "--no-tags", "--no-recurse-submodules", "--no-write-fetch-head",
        "--no-auto-maintenance", *_other_end(remote, "upload-pack"), "--end-of-options", remote.url, *wanted,
        config=(*_FETCH, borrowed, *(f"fetch.fsck.{name}=error" for name in _FAULTS)), fills=git.git_dir,
    )  # fmt: skip


def push(git: Git, remote: Remote, refs: Mapping[str, str], limits: Limits, lease: str = "") -> Under:
    """Full name there → commit, or nothing to delete it. All of them, by fast-forward alone; `sent` tells the end.

    `lease` is the one exception: main there is exactly this commit and is replaced, because of a purge.
    """
    leases = [f"--force-with-lease={name}:{lease}" for name in refs] if lease else []
    return Under(
        git, remote, limits, "push", "--porcelain", "--quiet", "--no-verify", "--no-follow-tags", "--no-signed",
        "--recurse-submodules=no", *leases, *_other_end(remote, "receive-pack"), "--end-of-options", remote.url,
        *(f"{commit}:{name}" for name, commit in refs.items()),
    )  # fmt: skip


def sent(under: Under, lease: str = "") -> str:
    """How a push ended."""
    result = under.end(check=False)
    if result.code == 0:
        return OK
    said = (result.out + result.err).decode("utf-8", "replace").lower()
    if _is_ours(said):
        raise GitError(("push",), result)
    if lease and "[remote rejected]" in said:
        raise ReflectError(
            "the remote keeps all history: what was purged stays there",
            "make a new, empty repository, 'reflect-git remote set' it, and delete the old one", code=REFUSED,
        )  # fmt: skip
    if any(word in said for word in _RACES):
        return BEHIND
    if "[remote rejected]" in said:
        raise ReflectError(
            f"the remote refused: {_reason(result)}", "look at its settings, or at your rights there", code=REFUSED
        )
    raise _failure(("push",), result)


def _is_ours(said: str) -> bool:
    """Whether what was to be sent cannot be read here. What the other end says comes once more with its name before."""
    lines = [line.strip() for line in said.splitlines()]
    here = [line for line in lines if not line.startswith("remote:") and f"remote: {line}" not in lines]
    return any(word in line for line in here for word in _OURS)


def _reason(result: Result) -> str:
    for line in result.out.decode("utf-8", "replace").splitlines():
        if "[remote rejected]" in line:
            return line.partition("[remote rejected]")[2].strip().strip("()")
    return "it gave no reason"


def _other_end(remote: Remote, program: str) -> tuple[str, ...]:
    return (f"--{program}={_HERE}{program}",) if remote.is_here else ()


class Under:
    """A git that speaks with the remote; its caller may do something else until they are done with each other.

    `fills` is the repository that it fetches into, which may not take more of the disk than is allowed: the system
    holds one file to that, many of them are added up here.
    """

    def __init__(
        self, git: Git, remote: Remote, limits: Limits, *arguments: str, config: Sequence[str] = (), fills: str = ""
    ) -> None:  # fmt: skip
        allowed = [f"protocol.{name}.allow=always" for name in remote.protocols]
        # For a git that outlives us, because we were killed: it gives up by itself.
        given_up = ("http.lowSpeedLimit=1", f"http.lowSpeedTime={int(limits.seconds) + 5}")
        self._remote, self._limits, self._arguments, self._fills = remote, limits, arguments, fills
        self._until = time.monotonic() + limits.seconds
        apart = limits.apart or not network.has_terminal()

        def make(argv: Sequence[str], env: Mapping[str, str], keep: int) -> Child:
            return network.Conversation(argv, env, keep, apart=apart, check=self._require_room)

        self._child: Child | None = git.start(
            *arguments, config=(*config, *allowed, *given_up), profile=NETWORK,
            through=held(limits, limits.seconds), make=make,
        )  # fmt: skip

    def _require_room(self) -> None:
        if self._fills and network.size_below(self._fills) > self._limits.size:
            raise TooMuch("its objects are larger than allowed")

    def end(self, check: bool = True) -> Result:
        """Wait for it, no longer than is allowed."""
        assert self._child is not None, "it ends once"
        child, self._child = self._child, None
        result = finished(child, self._limits, max(0.0, self._until - time.monotonic()))
        if result.code in _OUT_OF_TIME:
            raise OutOfTime(self._remote, self._limits.seconds)
        if check and result.code:
            raise _failure(self._arguments, result)
        return result

    def drop(self) -> None:
        """Nobody waits for it any more."""
        if self._child is not None:
            self._child.drop()
            self._child = None


def told(git: Git, limits: Limits, *arguments: str, streams: bool = False) -> Result:
    """What git says of objects that came from outside: a few of them can make a tree of billions of files, and git
    holds all that one commit changes in memory before it prints any of it, unless it `streams`."""
    return answer(asked(git, limits, *arguments, streams=streams), limits, *arguments)


def asked(git: Git, limits: Limits, *arguments: str, streams: bool = False) -> Child:
    """The question alone, for who has something else to do until it is answered."""
    return git.start(*arguments, through=() if streams else held(limits))


def answer(child: Child, limits: Limits, *arguments: str) -> Result:
    return within(child.finish(most=limits.listing), limits, *arguments)


def within(result: Result, limits: Limits, *arguments: str) -> Result:
    """An answer that was held to its limit while it was read, if it is one."""
    _require_short(result, limits)
    if result.code:
        raise _failure(arguments, result)
    return result


def require_sound(git: Git, limits: Limits, ids: Iterable[str], place: str) -> None:
    """Refuse objects that a fetch refuses, which are here already: nobody checked them on their way."""
    listed = "".join(f"{oid}\n" for oid in ids).encode()
    packed = git.start("pack-objects", "-q", "--window=0", place, through=held(limits)).finish(listed)
    if packed.code:
        raise _failure(("pack-objects",), packed)
    faults = ",".join(f"{name}=error" for name in _FAULTS)
    pack = f"{place}-{packed.out.decode('ascii').strip()}.pack"
    told(git, limits, "index-pack", f"--strict={faults}", "-o", f"{place}.idx", pack)


def finished(child: Child, limits: Limits, seconds: float | None = None) -> Result:
    """What git answers, held to its limit while it is read."""
    result = child.finish(b"", seconds, limits.listing)
    _require_short(result, limits)
    return result


def _require_short(result: Result, limits: Limits) -> None:
    if len(result.out) > limits.listing:
        raise TooMuch("a list of its files or branches is longer than allowed")


def _failure(arguments: Sequence[str], result: Result) -> ReflectError:
    said = result.err.decode("utf-8", "replace")
    lowered = said.lower()
    if "couldn't find remote ref" in lowered:
        return NoBranch()
    if "file size limit" in lowered or "file too large" in lowered or result.code == -25:
        return TooMuch("its objects are larger than allowed")
    if "out of memory" in lowered or result.code in _OUT_OF_TIME:
        return TooMuch("looking at it takes more memory or time than allowed")
    if any(word in lowered for word in _SLOW):
        return Unreachable(_last_line(said))
    if any(word in lowered for word in ("authentication", "permission denied", "could not read username", "403")):
        hint = "see that git can log in there: 'git ls-remote URL' in a terminal"
        return ReflectError(f"the remote does not let us in: {_last_line(said)}", hint, code="credentials")
    if any(word in lowered for word in ("fsck", "bad object", "non-commit object")):
        hint = "somebody made them by hand; nothing was taken"
        return ReflectError(f"the remote offers objects that git refuses: {_last_line(said)}", hint, code="hostile")
    if any(word in lowered for word in _ABSENT):
        hint = "see that it is there: 'git ls-remote URL'; another one: reflect-git remote set URL"
        return ReflectError(f"the remote is not there: {_last_line(said)}", hint, code="remote-absent")
    is_cut = any(word in lowered for word in _CUT) and not any(word in lowered for word in _OTHERWISE)
    if result.code == _HUNG_UP or is_cut:
        return Unreachable(_last_line(said) if said.strip() else "it ended the conversation")
    return GitError(arguments, result, "try it with git alone: 'git ls-remote URL' in a terminal")


def _last_line(text: str) -> str:
    lines = [line for line in text.splitlines() if line.startswith(("fatal:", "error:", "ssh:"))] or text.splitlines()
    line = lines[0] if lines else "it gave no reason"
    return "".join(c if c.isprintable() else " " for c in line.removeprefix("fatal: ").removeprefix("error: "))[:200]


def held(limits: Limits, seconds: float = _LOOKING) -> tuple[str, ...]:
    """Limits that git and whatever it starts cannot leave. A shell takes them on and becomes git: taken on here for the
    moment of the start, they held for us, too, and who had used more of the processor than that was killed."""
    wanted = (
        ("f", resource.RLIMIT_FSIZE, limits.size, 512), ("v", resource.RLIMIT_AS, limits.memory, 1024),
        ("t", resource.RLIMIT_CPU, int(seconds) + 1, 1),
    )  # fmt: skip
    # Not every system limits memory.
    steps = [f"ulimit -{letter} {_narrowest(kind, most) // unit} 2>/dev/null" for letter, kind, most, unit in wanted]
    return ("/bin/sh", "-c", "; ".join([*steps, 'exec "$@"']), "sh")


def _narrowest(kind: int, wanted: int) -> int:
    return min([wanted, *(value for value in resource.getrlimit(kind) if value != resource.RLIM_INFINITY)])
