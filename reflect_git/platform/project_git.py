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
from reflect_git.platform.instruction_files import MAX_BYTES
from reflect_git.records.ids import utc
from reflect_git.records.named_tuple import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

_TIMEOUT = 2.0
KILLED = -9  # killed by us after that time
_MAX_REFLOG_BYTES = 1 << 16  # the end of the reflog of HEAD, about 400 entries
_OPEN_FLAGS = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC


class Checkout:
    """One work tree and the commit that its HEAD is on."""

    def __init__(self, program: str, top: str) -> None:
        self.top = top
        self._git = Git(program, top)
        self._has_timed_out = False

    def has_commit(self) -> bool:
        """Return whether HEAD points to a commit."""
        return bool(self._run_git("rev-parse", "--verify", "--quiet", "HEAD^{commit}"))

    def read_head_file(self, path: str) -> bytes | None:
        """Return the bytes of a file in HEAD, unfiltered; None if it is missing or too large."""
        name = f"HEAD:{os.path.relpath(path, self.top)}"
        size = self._run_git("cat-file", "-s", name)
        if not size or int(size) > MAX_BYTES or self._run_git("cat-file", "-t", name) != b"blob\n":
            return None
        return self._run_git("cat-file", "blob", name)

    def is_unmerged(self, path: str) -> bool:
        """Return whether a merge or rebase has left this file unresolved."""
        return bool(self._run_git("ls-files", "--unmerged", "-z", "--", f":(literal){os.path.relpath(path, self.top)}"))

    def is_tracked(self, path: str) -> bool:
        """Return whether the index has this file."""
        return bool(self._run_git("ls-files", "-z", "--", f":(literal){os.path.relpath(path, self.top)}"))

    def is_unchanged(self, path: str) -> bool:
        """Return whether the file equals HEAD byte for byte."""
        try:
            return files.read_small_file(path, MAX_BYTES) == self.read_head_file(path)
        except OSError:  # deleted, or not a file
            return False

    def is_ignored(self, path: str, excludes: str) -> bool:
        """Return whether the project's or the user's own patterns ignore this file."""
        asked = ("check-ignore", "--quiet", "--", os.path.relpath(path, self.top))
        return self._run_git(*asked, config=(f"core.excludesFile={excludes}",)) is not None

    def get_last_update_time(self) -> float | None:
        """Return when git last changed files in the work tree, or None if unknown. Commits do not change files."""
        log = self._read_reflog()
        if log is None:
            return None
        for line in reversed(log.splitlines()):
            head, _, what = line.partition(b"\t")
            moment = head.split()[-2:-1]
            if not what.startswith(b"commit") and moment and moment[0].isdigit():
                return float(moment[0])
        return 0.0

    def has_created_commit(self, commit: str) -> bool:
        """Return whether this commit was made in this work tree, not pulled or merged."""
        moves = ((line.partition(b"\t")) for line in (self._read_reflog() or b"").splitlines())
        return any(
            what.startswith(b"commit") and head.split()[1:2] == [commit.encode("ascii", "replace")]
            for head, _, what in moves
        )

    def _read_reflog(self) -> bytes | None:
        """Return the end of the reflog of HEAD."""
        named = self._run_git("rev-parse", "--git-path", "logs/HEAD")
        return _read_end(os.path.join(self.top, os.fsdecode((named or b"").strip()))) if named else None

    def _run_git(self, *arguments: str, config: Sequence[str] = ()) -> bytes | None:
        """Run git; return None if it fails. After one time-out ask nothing more.

        A FIFO in place of a file that git reads would block it every time.
        """
        if self._has_timed_out:
            return None
        result = self._git.run(*arguments, config=config, check=False, seconds=_TIMEOUT)
        self._has_timed_out = result.code == KILLED
        return None if result.code else result.out


def _read_end(path: str) -> bytes | None:
    try:
        descriptor = os.open(path, _OPEN_FLAGS)
    except OSError:
        return None
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            return None
        start = max(0, status.st_size - _MAX_REFLOG_BYTES)
        data = os.pread(descriptor, _MAX_REFLOG_BYTES, start)
    finally:
        os.close(descriptor)
    return data.partition(b"\n")[2] if start else data


_BLAME_TIMEOUT = 5.0
_BLAME_FLAGS = ("--porcelain", "--no-textconv", "--encoding=UTF-8")


@dataclass(frozen=True)
class BlameLine:
    """A line in HEAD and the commit that it comes from."""

    text: str
    commit: str
    author: str
    time: str
    subject: str


def blame(program: str, top: str, path: str) -> list[BlameLine]:
    """Return the lines of a file in HEAD with their commits; empty if HEAD lacks it or git takes too long."""
    asked = ("blame", *_BLAME_FLAGS, "HEAD", "--", os.path.relpath(path, top))
    result = Git(program, top).run(*asked, check=False, seconds=_BLAME_TIMEOUT)
    return list(_parse_blame(result.out.decode("utf-8", "replace"))) if result.code == 0 else []


def _parse_blame(output: str) -> Iterator[BlameLine]:
    """Parse `git blame --porcelain`.

    The format is `<commit> <line> <line> [<count>]`, facts about each commit once, and the line itself after a tab.
    """
    facts: dict[str, dict[str, str]] = {}
    commit, is_new = "", True
    for line in output.split("\n"):
        if line.startswith("\t"):
            known = facts[commit]
            seconds = known.get("author-time", "")
            moment = utc(int(seconds)) if seconds.isdigit() else ""
            yield BlameLine(line[1:], commit, known.get("author", ""), moment, known.get("summary", ""))
            is_new = True
        elif is_new and line:
            commit, is_new = line.partition(" ")[0], False
            facts.setdefault(commit, {})
        else:
            name, _, value = line.partition(" ")
            facts.get(commit, {})[name] = value


_FILE_MODE, _LINK_MODE = "100644", "120000"
_MAX_FILE_BYTES = 1 << 22
_BRANCH_PREFIX = "refs/heads/"
_IDENTITY_ERRORS = ("empty ident", "who you are", "no email was given", "no name was given", "auto-detect")


class TreeEntry(NamedTuple):
    """Mode and blob of a file in a commit."""

    mode: str
    blob: str


class ChangedFile(NamedTuple):
    """A file that differs between the branch and HEAD.

    `before` is the content in HEAD, `now` that in the work tree. `is_same`: the branch has the same as the work tree.
    """

    path: str
    blob: str
    before: bytes | None
    now: bytes | None
    is_same: bool


class ProposalBranch:
    """The branch for proposed rules. `tip` is its commit or None; `base` is the parent of the next commit."""

    def __init__(self, program: str, top: str, name: str, user: Mapping[str, str]) -> None:
        self._git = Git(program, top, user=user)
        self.name = name
        head = self._get_output("rev-parse", "--verify", "--quiet", "HEAD^{commit}")
        self._require_valid_name()
        if not head:
            raise _propose_error(f"'{top}' has no commit yet", "commit something there first")
        self._head = head
        self.tip = self._get_output("rev-parse", "--verify", "--quiet", f"{_BRANCH_PREFIX}{name}^{{commit}}") or None
        is_merged = self.tip is not None and self._is_ancestor(self.tip, head)
        self.base = head if self.tip is None or is_merged else self.tip

    def _require_valid_name(self) -> None:
        if self._run("check-ref-format", "--branch", self.name).code:
            raise _propose_error(f"'{self.name}' is no name of a branch", "give another one with --branch")
        there = self._get_output("for-each-ref", "--format=%(worktreepath)", "--", f"{_BRANCH_PREFIX}{self.name}")
        on_it = self._get_output("symbolic-ref", "--quiet", "HEAD") == f"{_BRANCH_PREFIX}{self.name}"
        if there or on_it:
            raise _propose_error(
                f"the branch '{self.name}' is checked out", "switch to another one, or give --branch NAME"
            )

    def _is_ancestor(self, old: str, new: str) -> bool:
        return self._run("merge-base", "--is-ancestor", old, new).code == 0

    def read(self, path: str) -> bytes | None:
        """Return the bytes of a file in the branch, unfiltered; None if it is missing."""
        found = self._get_entry(path)
        if found is None:
            return None
        if found.mode not in (_FILE_MODE, "100755"):
            what = "a symbolic link" if found.mode == _LINK_MODE else "no file"
            raise _propose_error(f"'{path}' is {what} in the repository", "propose it by hand")
        return self._run_checked("cat-file", "blob", found.blob).out

    def _get_entry(self, path: str) -> TreeEntry | None:
        out = self._run_checked("ls-tree", "-z", "--full-tree", self.base, "--", path).out
        if not out:
            return None
        mode, _, blob = os.fsdecode(out.partition(b"\t")[0]).split()
        return TreeEntry(mode, blob)

    def commit(self, path: str, data: bytes, message: str) -> str:
        """Commit one changed file. The branch itself does not move until `update_ref`."""
        blob = self._run_checked("hash-object", "-w", "--no-filters", "--stdin", stdin=data).out.decode().strip()
        known = self._get_entry(path)
        tree = self._write_tree(path, TreeEntry(known.mode if known else _FILE_MODE, blob))
        signed = ["--gpg-sign"] if self._get_output("config", "--type=bool", "commit.gpgSign") == "true" else []
        made = self._run("commit-tree", "-p", self.base, *signed, tree, stdin=message.encode())
        if made.code:
            raise _commit_error(made)
        self.base = made.out.decode().strip()
        return self.base

    def _write_tree(self, path: str, file: TreeEntry) -> str:
        """Write a tree with one file changed, using a temporary index: what the user staged stays unchanged."""
        with tempfile.TemporaryDirectory(prefix="reflect-git-") as folder:
            index = os.path.join(folder, "index")
            self._run_checked("read-tree", self.base, index=index)
            line = f"{file.mode} {file.blob}\t".encode() + os.fsencode(path) + b"\0"
            self._run_checked("update-index", "-z", "--index-info", stdin=line, index=index)
            return self._run_checked("write-tree", index=index).out.decode().strip()

    def update_ref(self) -> None:
        """Move the branch to the last commit; refuse if another process moved it meanwhile."""
        self._run_checked(
            "update-ref", "-m", "reflect-git propose", f"{_BRANCH_PREFIX}{self.name}", self.base, self.tip or "0" * 40
        )

    @property
    def is_merged(self) -> bool:
        """Return whether HEAD contains the whole branch."""
        return self._is_ancestor(self.base, self._head)

    def stage_new_files(self) -> list[str]:
        """Stage the branch's new files that the work tree has with the same bytes; return their paths.

        git refuses to merge a file over an untracked one, even if both are the same. Over a staged one it
        fast-forwards. If other changes are staged, the user is about to commit them: then nothing is added.
        """
        new = [one for one in self._list_changed_files() if one.before is None and one.is_same]
        staged = set(self._list_paths("diff-index", "--cached", "--name-only", "-z", "HEAD"))
        if not new or not self._is_ancestor(self._head, self.base) or not staged <= {one.path for one in new}:
            return []
        known = self._get_staged_blobs()
        added = [one for one in new if known.get(one.path) != one.blob]
        lines = b"".join(f"{_FILE_MODE} {one.blob}\t".encode() + os.fsencode(one.path) + b"\0" for one in added)
        if added and self._run("update-index", "--add", "-z", "--index-info", stdin=lines).code:
            return []  # another process holds the index
        return [one.path for one in added]

    def get_merge_commands(self) -> list[str]:
        """List the commands that merge the branch here. git refuses to merge over uncommitted changes."""
        staged, is_forward = self._get_staged_blobs(), self._is_ancestor(self._head, self.base)
        changed = [one for one in self._list_changed_files() if one.now not in (None, one.before)]
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

    def _list_changed_files(self) -> list[ChangedFile]:
        """List the files that differ between the branch and HEAD, with their content in the work tree."""
        found = []
        base = self._get_output("merge-base", self._head, self.base) or self._head
        for path in self._list_paths("diff-tree", "-r", "-z", "--name-only", "--no-renames", base, self.base):
            file = self._get_entry(path)
            before = self._run("cat-file", "blob", f"{self._head}:{path}")
            try:
                now = files.read_regular(os.path.join(self._git.root, *path.split("/")), _MAX_FILE_BYTES)
            except OSError:
                now = None
            if file is not None:
                after = self._run_checked("cat-file", "blob", file.blob).out
                if now == after and not self._run("check-ignore", "--quiet", "--", path).code:
                    continue  # git overwrites ignored files
                found.append(ChangedFile(path, file.blob, None if before.code else before.out, now, now == after))
        return found

    def _get_staged_blobs(self) -> dict[str, str]:
        """Return path → blob of the staged changes."""
        names = self._list_paths("diff-index", "--cached", "--name-only", "-z", "HEAD")
        found = {}
        for path in names:
            out = os.fsdecode(self._run("ls-files", "--stage", "-z", "--", f":(literal){path}").out)
            found[path] = out.split(" ")[1] if " " in out else ""
        return found

    def _list_paths(self, *arguments: str) -> list[str]:
        return [os.fsdecode(path) for path in self._run(*arguments).out.split(b"\0") if path]

    def get_remote_url(self, remote: str) -> str:
        """Return the URL of a remote."""
        return self._get_output("remote", "get-url", remote)

    def get_remote(self) -> str:
        """Return the remote that a push would use: the only one, or origin; empty if that is not clear."""
        names = self._get_output("remote").split()
        return names[0] if len(names) == 1 else "origin" if "origin" in names else ""

    def _get_output(self, *arguments: str) -> str:
        return self._run(*arguments).out.decode("utf-8", "replace").strip()

    def _run_checked(self, *arguments: str, stdin: bytes = b"", index: str = "") -> Result:
        return self._git.run(*arguments, stdin=stdin, index=index, profile=PROJECT)

    def _run(self, *arguments: str, stdin: bytes = b"") -> Result:
        return self._git.run(*arguments, stdin=stdin, profile=PROJECT, check=False)


def _commit_error(made: Result) -> ReflectError:
    said = made.err.decode("utf-8", "replace").lower()
    if any(words in said for words in _IDENTITY_ERRORS):
        return _propose_error("git does not know who you are", "git config --global user.email you@example.com")
    if "sign" in said:
        return _propose_error("git could not sign the commit", "see that 'git commit --gpg-sign' works there")
    return GitError(("commit-tree",), made)


def _propose_error(message: str, hint: str) -> ReflectError:
    return ReflectError(message, hint, code="propose")
