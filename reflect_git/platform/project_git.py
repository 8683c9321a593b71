"""Read a project's git repository, and commit to a branch for proposed rules.

A project's repository is not trusted. Reading uses only objects, the index and the reflog of HEAD. No hook, filter,
textconv, fsmonitor or signature program of its configuration runs, and nothing is fetched.
"""

from __future__ import annotations

import os
import shlex
import stat
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from reflect_git.errors import ReflectError
from reflect_git.platform import files
from reflect_git.platform.git import PROJECT, Git, GitError, Result
from reflect_git.platform.instruction_files import LIMIT
from reflect_git.records.ids import utc
from reflect_git.records.named_tuple import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

_SECONDS = 2.0
KILLED = -9  # killed by us after that time
_LOG = 1 << 16  # the end of the reflog of HEAD, about 400 entries
_FLAGS = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC


class Checkout:
    """One work tree and the commit that its HEAD is on."""

    def __init__(self, program: str, top: str) -> None:
        self.top = top
        self._git = Git(program, top)
        self._is_stuck = False

    def has_commit(self) -> bool:
        """Return whether HEAD points to a commit."""
        return bool(self._ask("rev-parse", "--verify", "--quiet", "HEAD^{commit}"))

    def file(self, path: str) -> bytes | None:
        """Return the bytes of a file in HEAD, unfiltered; None if it is missing or too large."""
        name = f"HEAD:{os.path.relpath(path, self.top)}"
        size = self._ask("cat-file", "-s", name)
        if not size or int(size) > LIMIT or self._ask("cat-file", "-t", name) != b"blob\n":
            return None
        return self._ask("cat-file", "blob", name)

    def is_unmerged(self, path: str) -> bool:
        """Return whether a merge or rebase has left this file unresolved."""
        return bool(self._ask("ls-files", "--unmerged", "-z", "--", f":(literal){os.path.relpath(path, self.top)}"))

    def is_tracked(self, path: str) -> bool:
        """Return whether the index has this file."""
        return bool(self._ask("ls-files", "-z", "--", f":(literal){os.path.relpath(path, self.top)}"))

    def is_as_committed(self, path: str) -> bool:
        """Return whether the file equals HEAD byte for byte."""
        try:
            return files.read_followed(path, LIMIT) == self.file(path)
        except OSError:  # deleted, or not a file
            return False

    def is_ignored(self, path: str, excludes: str) -> bool:
        """Return whether the project's or the user's own patterns ignore this file."""
        asked = ("check-ignore", "--quiet", "--", os.path.relpath(path, self.top))
        return self._ask(*asked, config=(f"core.excludesFile={excludes}",)) is not None

    def moved(self) -> float | None:
        """Return when git last changed files in the work tree, or None if unknown. Commits do not change files."""
        log = self._log()
        if log is None:
            return None
        for line in reversed(log.splitlines()):
            head, _, what = line.partition(b"\t")
            moment = head.split()[-2:-1]
            if not what.startswith(b"commit") and moment and moment[0].isdigit():
                return float(moment[0])
        return 0.0

    def has_made(self, commit: str) -> bool:
        """Return whether this commit was made in this work tree, not pulled or merged."""
        moves = ((line.partition(b"\t")) for line in (self._log() or b"").splitlines())
        return any(
            what.startswith(b"commit") and head.split()[1:2] == [commit.encode("ascii", "replace")]
            for head, _, what in moves
        )

    def _log(self) -> bytes | None:
        """Return the end of the reflog of HEAD."""
        named = self._ask("rev-parse", "--git-path", "logs/HEAD")
        return _end_of(os.path.join(self.top, os.fsdecode((named or b"").strip()))) if named else None

    def _ask(self, *arguments: str, config: Sequence[str] = ()) -> bytes | None:
        """Run git; return None if it fails. After one time-out ask nothing more.

        A FIFO in place of a file that git reads would block it every time.
        """
        if self._is_stuck:
            return None
        result = self._git.run(*arguments, config=config, check=False, seconds=_SECONDS)
        self._is_stuck = result.code == KILLED
        return None if result.code else result.out


def _end_of(path: str) -> bytes | None:
    try:
        descriptor = os.open(path, _FLAGS)
    except OSError:
        return None
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            return None
        start = max(0, status.st_size - _LOG)
        data = os.pread(descriptor, _LOG, start)
    finally:
        os.close(descriptor)
    return data.partition(b"\n")[2] if start else data


_BLAME_SECONDS = 5.0
_BLAME_FLAGS = ("--porcelain", "--no-textconv", "--encoding=UTF-8")


@dataclass(frozen=True)
class Blamed:
    """A line in HEAD and the commit that it comes from."""

    text: str
    commit: str
    author: str
    time: str
    subject: str


def blame(program: str, top: str, path: str) -> list[Blamed]:
    """Return the lines of a file in HEAD with their commits; empty if HEAD lacks it or git takes too long."""
    asked = ("blame", *_BLAME_FLAGS, "HEAD", "--", os.path.relpath(path, top))
    result = Git(program, top).run(*asked, check=False, seconds=_BLAME_SECONDS)
    return list(_lines(result.out.decode("utf-8", "replace"))) if result.code == 0 else []


def _lines(told: str) -> Iterator[Blamed]:
    """Parse `git blame --porcelain`.

    The format is `<commit> <line> <line> [<count>]`, facts about each commit once, and the line itself after a tab.
    """
    facts: dict[str, dict[str, str]] = {}
    commit, is_new = "", True
    for line in told.split("\n"):
        if line.startswith("\t"):
            known = facts[commit]
            seconds = known.get("author-time", "")
            moment = utc(int(seconds)) if seconds.isdigit() else ""
            yield Blamed(line[1:], commit, known.get("author", ""), moment, known.get("summary", ""))
            is_new = True
        elif is_new and line:
            commit, is_new = line.partition(" ")[0], False
            facts.setdefault(commit, {})
        else:
            name, _, value = line.partition(" ")
            facts.get(commit, {})[name] = value


_FILE, _LINK = "100644", "120000"
_LIMIT = 1 << 22
_HEADS = "refs/heads/"
_NAMELESS = ("empty ident", "who you are", "no email was given", "no name was given", "auto-detect")


class File(NamedTuple):
    """Mode and blob of a file in a commit."""

    mode: str
    blob: str


class Differing(NamedTuple):
    """A file that differs between the branch and HEAD.

    `before` is the content in HEAD, `now` that in the work tree. `is_same`: the branch has the same as the work tree.
    """

    path: str
    blob: str
    before: bytes | None
    now: bytes | None
    is_same: bool


class Branch:
    """The branch for proposed rules. `tip` is its commit or None; `base` is the parent of the next commit."""

    def __init__(self, program: str, top: str, name: str, user: Mapping[str, str]) -> None:
        self._git = Git(program, top, user=user)
        self.name = name
        head = self._asked("rev-parse", "--verify", "--quiet", "HEAD^{commit}")
        self._require_name()
        if not head:
            raise _refused(f"'{top}' has no commit yet", "commit something there first")
        self._head = head
        self.tip = self._asked("rev-parse", "--verify", "--quiet", f"{_HEADS}{name}^{{commit}}") or None
        is_merged = self.tip is not None and self._is_ancestor(self.tip, head)
        self.base = head if self.tip is None or is_merged else self.tip

    def _require_name(self) -> None:
        if self._run("check-ref-format", "--branch", self.name).code:
            raise _refused(f"'{self.name}' is no name of a branch", "give another one with --branch")
        there = self._asked("for-each-ref", "--format=%(worktreepath)", "--", f"{_HEADS}{self.name}")
        on_it = self._asked("symbolic-ref", "--quiet", "HEAD") == f"{_HEADS}{self.name}"
        if there or on_it:
            raise _refused(f"the branch '{self.name}' is checked out", "switch to another one, or give --branch NAME")

    def _is_ancestor(self, old: str, new: str) -> bool:
        return self._run("merge-base", "--is-ancestor", old, new).code == 0

    def read(self, path: str) -> bytes | None:
        """Return the bytes of a file in the branch, unfiltered; None if it is missing."""
        found = self._file(path)
        if found is None:
            return None
        if found.mode not in (_FILE, "100755"):
            what = "a symbolic link" if found.mode == _LINK else "no file"
            raise _refused(f"'{path}' is {what} in the repository", "propose it by hand")
        return self._need("cat-file", "blob", found.blob).out

    def _file(self, path: str) -> File | None:
        out = self._need("ls-tree", "-z", "--full-tree", self.base, "--", path).out
        if not out:
            return None
        mode, _, blob = os.fsdecode(out.partition(b"\t")[0]).split()
        return File(mode, blob)

    def commit(self, path: str, data: bytes, message: str) -> str:
        """Commit one changed file. The branch itself does not move until `move`."""
        blob = self._need("hash-object", "-w", "--no-filters", "--stdin", stdin=data).out.decode().strip()
        known = self._file(path)
        tree = self._tree(path, File(known.mode if known else _FILE, blob))
        signed = ["--gpg-sign"] if self._asked("config", "--type=bool", "commit.gpgSign") == "true" else []
        made = self._run("commit-tree", "-p", self.base, *signed, tree, stdin=message.encode())
        if made.code:
            raise _uncommitted(made)
        self.base = made.out.decode().strip()
        return self.base

    def _tree(self, path: str, file: File) -> str:
        """Write a tree with one file changed, using a temporary index: what the user staged stays unchanged."""
        with tempfile.TemporaryDirectory(prefix="reflect-git-") as folder:
            index = os.path.join(folder, "index")
            self._need("read-tree", self.base, index=index)
            line = f"{file.mode} {file.blob}\t".encode() + os.fsencode(path) + b"\0"
            self._need("update-index", "-z", "--index-info", stdin=line, index=index)
            return self._need("write-tree", index=index).out.decode().strip()

    def move(self) -> None:
        """Move the branch to the last commit; refuse if another process moved it meanwhile."""
        self._need("update-ref", "-m", "reflect-git propose", f"{_HEADS}{self.name}", self.base, self.tip or "0" * 40)

    @property
    def is_merged(self) -> bool:
        """Return whether HEAD contains the whole branch."""
        return self._is_ancestor(self.base, self._head)

    def stage_new(self) -> list[str]:
        """Stage the branch's new files that the work tree has with the same bytes; return their paths.

        git refuses to merge a file over an untracked one, even if both are the same. Over a staged one it
        fast-forwards. If other changes are staged, the user is about to commit them: then nothing is added.
        """
        new = [one for one in self._differing() if one.before is None and one.is_same]
        staged = set(self._paths("diff-index", "--cached", "--name-only", "-z", "HEAD"))
        if not new or not self._is_ancestor(self._head, self.base) or not staged <= {one.path for one in new}:
            return []
        known = self._staged_blobs()
        added = [one for one in new if known.get(one.path) != one.blob]
        lines = b"".join(f"{_FILE} {one.blob}\t".encode() + os.fsencode(one.path) + b"\0" for one in added)
        if added and self._run("update-index", "--add", "-z", "--index-info", stdin=lines).code:
            return []  # another process holds the index
        return [one.path for one in added]

    def commands_to_merge(self) -> list[str]:
        """List the commands that merge the branch here. git refuses to merge over uncommitted changes."""
        staged, is_forward = self._staged_blobs(), self._is_ancestor(self._head, self.base)
        changed = [one for one in self._differing() if one.now not in (None, one.before)]
        left = [
            one for one in changed if not (one.is_same and is_forward and staged.get(one.path) == one.blob)
        ]  # fmt: skip
        names = " ".join(shlex.quote(one.path) for one in left)
        merge = f"git merge {shlex.quote(self.name)}"
        if not left:
            return [merge]
        own = [one for one in left if not one.is_same]
        if own:  # the user's own lines: if both sides add the file, keep these
            ours = "-X ours " if any(one.before is None for one in own) else ""
            return [f"git add {names}", f"git commit -m 'Update {own[0].path}' {names}", f"git merge {ours}{self.name}"]
        if is_forward:
            return [f"git add {names}", merge]
        new = [shlex.quote(one.path) for one in left if one.before is None]
        old = [shlex.quote(one.path) for one in left if one.before is not None]
        drop = [f"git rm -qf --ignore-unmatch {' '.join(new)}", f"rm -f {' '.join(new)}"] if new else []
        return [*drop, *([f"git restore --staged --worktree {' '.join(old)}"] if old else []), merge]

    def _differing(self) -> list[Differing]:
        """List the files that differ between the branch and HEAD, with their content in the work tree."""
        found = []
        base = self._asked("merge-base", self._head, self.base) or self._head
        for path in self._paths("diff-tree", "-r", "-z", "--name-only", "--no-renames", base, self.base):
            file = self._file(path)
            before = self._run("cat-file", "blob", f"{self._head}:{path}")
            try:
                now = files.read_regular(os.path.join(self._git.root, *path.split("/")), _LIMIT)
            except OSError:
                now = None
            if file is not None:
                after = self._need("cat-file", "blob", file.blob).out
                if now == after and not self._run("check-ignore", "--quiet", "--", path).code:
                    continue  # git overwrites ignored files
                found.append(Differing(path, file.blob, None if before.code else before.out, now, now == after))
        return found

    def _staged_blobs(self) -> dict[str, str]:
        """Return path → blob of the staged changes."""
        names = self._paths("diff-index", "--cached", "--name-only", "-z", "HEAD")
        found = {}
        for path in names:
            out = os.fsdecode(self._run("ls-files", "--stage", "-z", "--", f":(literal){path}").out)
            found[path] = out.split(" ")[1] if " " in out else ""
        return found

    def _paths(self, *arguments: str) -> list[str]:
        return [os.fsdecode(path) for path in self._run(*arguments).out.split(b"\0") if path]

    def remote_url(self, remote: str) -> str:
        """Return the URL of a remote."""
        return self._asked("remote", "get-url", remote)

    def remote(self) -> str:
        """Return the remote that a push would use: the only one, or origin; empty if that is not clear."""
        names = self._asked("remote").split()
        return names[0] if len(names) == 1 else "origin" if "origin" in names else ""

    def _asked(self, *arguments: str) -> str:
        return self._run(*arguments).out.decode("utf-8", "replace").strip()

    def _need(self, *arguments: str, stdin: bytes = b"", index: str = "") -> Result:
        return self._git.run(*arguments, stdin=stdin, index=index, profile=PROJECT)

    def _run(self, *arguments: str, stdin: bytes = b"") -> Result:
        return self._git.run(*arguments, stdin=stdin, profile=PROJECT, check=False)


def _uncommitted(made: Result) -> ReflectError:
    said = made.err.decode("utf-8", "replace").lower()
    if any(words in said for words in _NAMELESS):
        return _refused("git does not know who you are", "git config --global user.email you@example.com")
    if "sign" in said:
        return _refused("git could not sign the commit", "see that 'git commit --gpg-sign' works there")
    return GitError(("commit-tree",), made)


def _refused(message: str, hint: str) -> ReflectError:
    return ReflectError(message, hint, code="propose")
