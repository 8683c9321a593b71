"""git, reached through one door.

Every question is a short method of `Git`; every call goes through `Git.start`. The environment is built anew for each
call: an inherited GIT_DIR once put a commit into another repository, and global hooksPath, gpgsign, excludesFile,
templateDir or a missing e-mail each broke a commit. `subprocess` alone would cost a hook 6 of its 36 ms, so children
are started with `posix_spawn`.
"""

from __future__ import annotations

import os

from reflect_git.adapters.child import Child, GitMissing, Result
from reflect_git.errors import ReflectError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import Optional

    Listed = tuple[str, str]  # mode and object id of a file in a tree

OLDEST = (2, 34)
NOBODY = "reflect-git <reflect-git@localhost>"
# git before 2.36 does not know core.fsync; what it knows is the older key, for objects alone.
SYNCED = ("core.fsync=all", "core.fsyncObjectFiles=true")
_USUAL = ("/usr/bin", "/bin", "/usr/local/bin", "/opt/homebrew/bin")

# The three profiles. *local*: the store's own config is the only one read, and even there nothing may run a program,
# change bytes, or start work in the background. *settings*: the user's configuration as git sees it outside any
# project. *network*: the user's ssh, askpass, proxies and credential helpers stay, what could run or write does not.
# *project*: the repository that a folder is in, as the user's own git finds it, with their name and signature.
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
# The last one: a log comes by the page, not by the line, so that who reads it is not woken up a hundred times for one.
_LOCAL_ENVIRONMENT = {
    "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull, "GIT_ATTR_NOSYSTEM": "1", "GIT_OPTIONAL_LOCKS": "0",
    "GIT_NO_LAZY_FETCH": "1", "GIT_FLUSH": "0",
}  # fmt: skip
_KEPT_GIT = ("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM")
_KEPT_PROJECT = (*_KEPT_GIT, "GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL")
_KEPT_NETWORK = (*_KEPT_GIT, "GIT_SSH", "GIT_SSH_COMMAND", "GIT_SSH_VARIANT", "GIT_ASKPASS", "GIT_PROXY_COMMAND")


class GitError(ReflectError):
    """git said no; the message is the whole report."""

    def __init__(self, arguments: Sequence[str], result: Result, hint: str = "run 'reflect-git doctor'") -> None:
        said = result.err.decode("utf-8", "replace").strip() or f"exit code {result.code}"
        super().__init__(f"git {arguments[0]} failed: {said}", hint, code="git")
        self.result = result


def find_program(path: str, avoid: str = "") -> str:
    """The absolute path of git. Relative entries of PATH and those below `avoid` (a project) are not looked at."""
    folders = [entry for entry in path.split(os.pathsep) if os.path.isabs(entry)]
    for folder in (*folders, *_USUAL):
        program = os.path.join(folder, "git")
        below = avoid and (os.path.realpath(folder) + os.sep).startswith(os.path.realpath(avoid) + os.sep)
        if (below and folder not in _USUAL) or _is_open_to_all(folder):
            continue
        if os.path.isfile(program) and os.access(program, os.X_OK):
            return program
    raise GitMissing("git was not found")


def _is_open_to_all(folder: str) -> bool:
    """Anybody could have put a program there."""
    try:
        return bool(os.stat(folder).st_mode & 0o002)
    except OSError:
        return False


class Git:
    """One repository. `keep` is the descriptor of the store's lock, inherited by every child while it is held.

    `user` is the environment of the person, for the two profiles that may see it.
    """

    def __init__(self, program: str, root: str, git_dir: str = "", user: Optional[Mapping[str, str]] = None) -> None:
        self.program = program
        self.root = root
        self.git_dir = git_dir or os.path.join(root, ".git")
        self.user = user or {}
        self.keep = -1

    def start(
        self, *arguments: str, config: Sequence[str] = (), index: str = "", profile: str = LOCAL,
        through: Sequence[str] = (), make: Callable[[Sequence[str], Mapping[str, str], int], Child] = Child,
    ) -> Child:  # fmt: skip
        """Start a git; `through` is a program that becomes it, `make` another way to wait for it and to end it."""
        argv = [*through, self.program, "-C", self.root, "--no-pager", "--no-replace-objects"]
        for setting in (*_OVERRIDES[profile], *config):
            argv += ("-c", setting)
        environment = self._environment(profile)
        if index:
            environment["GIT_INDEX_FILE"] = index
        return make([*argv, *arguments], environment, self.keep)

    def _environment(self, profile: str) -> dict[str, str]:
        fixed = {"GIT_DIR": self.git_dir, "GIT_WORK_TREE": self.root, "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"}
        if profile == LOCAL:
            folders = (os.path.dirname(self.program), "/usr/bin", "/bin")
            return {**fixed, **_LOCAL_ENVIRONMENT, "PATH": os.pathsep.join(folders)}
        kept = {NETWORK: _KEPT_NETWORK, PROJECT: _KEPT_PROJECT}.get(profile, _KEPT_GIT)
        own = {name: value for name, value in self.user.items() if not name.startswith("GIT_") or name in kept}
        if profile == PROJECT:  # found by git itself, which refuses a repository that somebody else owns
            del fixed["GIT_DIR"], fixed["GIT_WORK_TREE"]
        return {**own, **fixed}

    def run(
        self, *arguments: str, stdin: bytes = b"", config: Sequence[str] = (), index: str = "",
        profile: str = LOCAL, check: bool = True, seconds: Optional[float] = None,
    ) -> Result:  # fmt: skip
        result = self.start(*arguments, config=config, index=index, profile=profile).finish(stdin, seconds)
        if check and result.code:
            raise GitError(arguments, result)
        return result

    def version(self) -> tuple[int, ...]:
        words = self.run("version").out.decode("ascii", "replace").split()
        if words[:2] != ["git", "version"] or len(words) < 3:
            raise GitMissing(f"'{self.program}' is not git")
        return tuple(int(part) for part in words[2].split(".")[:3] if part.isdigit())

    def resolve(self, name: str) -> Optional[str]:
        """The object id of a name, or None."""
        result = self.run("rev-parse", "--verify", "--quiet", "--end-of-options", name, check=False)
        return result.out.decode("ascii").strip() or None

    def checked_out(self) -> Optional[str]:
        """The full name of the branch HEAD is on; None when it is detached."""
        result = self.run("symbolic-ref", "--quiet", "HEAD", check=False)
        return result.out.decode("utf-8", "replace").strip() or None

    def refs(self, *prefixes: str) -> dict[str, str]:
        """Full ref name → object id."""
        result = self.run("for-each-ref", "--format=%(objectname) %(refname)", "--end-of-options", *prefixes)
        lines = result.out.decode("utf-8", "surrogateescape").splitlines()
        return {name: oid for oid, _, name in (line.partition(" ") for line in lines)}

    def tree(self, commit: str, *below: str) -> dict[str, str]:
        """Path → blob id of every file in a commit, or below some of its folders."""
        result = self.run("ls-tree", "-r", "-z", "--full-tree", "--end-of-options", commit, *below)
        found = {}
        for entry in result.out.split(b"\0"):
            if entry:
                meta, _, path = entry.partition(b"\t")
                found[os.fsdecode(path)] = meta.split()[2].decode("ascii")
        return found

    def changes(self, old: str, new: str, *below: str) -> tuple[dict[str, str], list[str]]:
        """From `old` to `new`: path → blob id of what was added or changed, and the paths that are gone."""
        found = self.differences(old, new, *below)
        return (
            {path: after[1] for path, (_, after) in found.items() if after},
            [path for path, (_, after) in found.items() if not after],
        )

    def differences(self, old: str, new: str, *below: str) -> dict[str, tuple[Optional[Listed], Optional[Listed]]]:
        """Path → (mode, blob) in `old` and in `new`, of every file that is not the same; None where it is not."""
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
        """The bytes of each object, in order; nothing at all if they are more than `most`, or than `through` allows."""
        asked = "".join(f"{oid}\n" for oid in ids).encode()
        options = ("cat-file", "--batch", "--buffer")
        result = self.start(*options, through=through).finish(asked, most=most) if ids else None
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
        """One transaction in the language of `git update-ref --stdin`: all of it or nothing."""
        self.run("update-ref", "--stdin", stdin=commands.encode(), config=SYNCED)

    def settings(self) -> dict[str, list[str]]:
        """Every key of this repository's own config, with its values in order."""
        return _parse_config(self.run("config", "--local", "--list", "-z").out)

    def parse_settings(self, text: bytes) -> dict[str, list[str]]:
        """Every key of a config file's text, without what it includes."""
        return _parse_config(self.run("config", "--file", "-", "--no-includes", "--list", "-z", stdin=text).out)

    def user_settings(self) -> dict[str, list[str]]:
        """The person's keys: system, global and this repository's, never a project's."""
        return _parse_config(self.run("config", "--list", "-z", profile=SETTINGS).out)

    def global_setting(self, key: str) -> Optional[str]:
        """A key of the person's global config alone."""
        result = self.run("config", "--global", "--get", key, profile=SETTINGS, check=False)
        return result.out.decode("utf-8", "replace").rstrip("\n") or None

    def fsck(self) -> Result:
        return self.run("fsck", "--strict", "--no-dangling", "--no-progress", check=False)


def _parse_config(listing: bytes) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for entry in listing.decode("utf-8", "replace").split("\0"):
        if entry:
            key, _, value = entry.partition("\n")
            found.setdefault(key, []).append(value)
    return found
