"""A branch in a project's own repository, made beside the user's work: nothing of it is checked out or staged.

Commits are the user's: their name, their signature where they sign. No hook of the repository runs, nothing is pushed.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping

from reflect_git.adapters.git import PROJECT, Git, GitError, Result
from reflect_git.errors import ReflectError
from reflect_git.model.tuples import NamedTuple

_FILE, _LINK = "100644", "120000"
_HEADS = "refs/heads/"
_NAMELESS = ("empty ident", "who you are", "no email was given", "no name was given", "auto-detect")


class File(NamedTuple):
    """A file of a commit."""

    mode: str
    blob: str


class Branch:
    """`tip` is where it is, None where there is none yet; `base` is what the next commit comes upon."""

    def __init__(self, program: str, top: str, name: str, user: Mapping[str, str]) -> None:
        self._git = Git(program, top, user=user)
        self.name = name
        head = self._asked("rev-parse", "--verify", "--quiet", "HEAD^{commit}")
        self._require_name()
        if not head:
            raise _refused(f"'{top}' has no commit yet", "commit something there first")
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
