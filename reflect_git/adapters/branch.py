"""A branch in a project's own repository, made beside the user's work: nothing of it is checked out or staged.

Commits are the user's: their name, their signature where they sign. No hook of the repository runs, nothing is pushed.
"""

from __future__ import annotations

import os
import shlex
import tempfile
from collections.abc import Mapping

from reflect_git.adapters import files
from reflect_git.adapters.child import Result
from reflect_git.adapters.git import PROJECT, Git, GitError
from reflect_git.errors import ReflectError
from reflect_git.model.tuples import NamedTuple

_FILE, _LINK = "100644", "120000"
_LIMIT = 1 << 22
_HEADS = "refs/heads/"
_NAMELESS = ("empty ident", "who you are", "no email was given", "no name was given", "auto-detect")


class File(NamedTuple):
    """A file of a commit."""

    mode: str
    blob: str


class Differing(NamedTuple):
    """A file of the branch; `before` is what HEAD has, `now` what the work tree has, `is_same` if the branch has it so,
    too."""

    path: str
    blob: str
    before: bytes | None
    now: bytes | None
    is_same: bool


class Branch:
    """`tip` is where it is, None where there is none yet; `base` is what the next commit comes upon."""

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
        """The bytes of a file as the repository has it, unfiltered; None where there is none."""
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
        """One file changed; the branch itself stays where it is until `move`."""
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
        """With an index of its own: what the user staged stays as it is."""
        with tempfile.TemporaryDirectory(prefix="reflect-git-") as folder:
            index = os.path.join(folder, "index")
            self._need("read-tree", self.base, index=index)
            line = f"{file.mode} {file.blob}\t".encode() + os.fsencode(path) + b"\0"
            self._need("update-index", "-z", "--index-info", stdin=line, index=index)
            return self._need("write-tree", index=index).out.decode().strip()

    def move(self) -> None:
        """To the last commit; refused if somebody moved it meanwhile."""
        self._need("update-ref", "-m", "reflect-git propose", f"{_HEADS}{self.name}", self.base, self.tip or "0" * 40)

    @property
    def is_merged(self) -> bool:
        """Tell whether HEAD has all of it."""
        return self._is_ancestor(self.base, self._head)

    def stage_new(self) -> list[str]:
        """Add the branch's new files to the index where the work tree has the same bytes; returns their paths.

        git refuses to merge a file over an untracked one, even if both are the same; over a staged one it does not, if
        it is a fast-forward. A person who has staged something else is about to commit it: then nothing is added.
        """
        new = [one for one in self._differing() if one.before is None and one.is_same]
        staged = set(self._paths("diff-index", "--cached", "--name-only", "-z", "HEAD"))
        if not new or not self._is_ancestor(self._head, self.base) or not staged <= {one.path for one in new}:
            return []
        known = self._staged_blobs()
        added = [one for one in new if known.get(one.path) != one.blob]
        lines = b"".join(f"{_FILE} {one.blob}\t".encode() + os.fsencode(one.path) + b"\0" for one in added)
        if added and self._run("update-index", "--add", "-z", "--index-info", stdin=lines).code:
            return []  # somebody else holds the index
        return [one.path for one in added]

    def commands_to_merge(self) -> list[str]:
        """Return what to type to merge it here, in order. git refuses to merge over changes that nobody committed."""
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
        if own:  # lines of the person's own: where both sides add the file, these are kept
            ours = "-X ours " if any(one.before is None for one in own) else ""
            return [f"git add {names}", f"git commit -m 'Update {own[0].path}' {names}", f"git merge {ours}{self.name}"]
        if is_forward:
            return [f"git add {names}", merge]
        new = [shlex.quote(one.path) for one in left if one.before is None]
        old = [shlex.quote(one.path) for one in left if one.before is not None]
        drop = [f"git rm -qf --ignore-unmatch {' '.join(new)}", f"rm -f {' '.join(new)}"] if new else []
        return [*drop, *([f"git restore --staged --worktree {' '.join(old)}"] if old else []), merge]

    def _differing(self) -> list[Differing]:
        """List the files that the branch has otherwise than HEAD, with what the work tree has of them."""
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
                    continue  # git overwrites what it ignores
                found.append(Differing(path, file.blob, None if before.code else before.out, now, now == after))
        return found

    def _staged_blobs(self) -> dict[str, str]:
        """Return path → blob of what is in the index and not in HEAD so."""
        names = self._paths("diff-index", "--cached", "--name-only", "-z", "HEAD")
        found = {}
        for path in names:
            out = os.fsdecode(self._run("ls-files", "--stage", "-z", "--", f":(literal){path}").out)
            found[path] = out.split(" ")[1] if " " in out else ""
        return found

    def _paths(self, *arguments: str) -> list[str]:
        return [os.fsdecode(path) for path in self._run(*arguments).out.split(b"\0") if path]

    def remote_url(self, remote: str) -> str:
        return self._asked("remote", "get-url", remote)

    def remote(self) -> str:
        """Where a push would go: the only remote, or origin; empty where that is not clear."""
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
