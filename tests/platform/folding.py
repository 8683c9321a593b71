"""A file system like most of a Mac: it ignores case and the form of accents, and keeps names as they were first given.

Simulated below one folder, in the functions of `os` that take a path. Programs such as git see the real files, so they
must be given names as the file system spells them.
"""

from __future__ import annotations

import builtins
import io
import os
import unicodedata
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from tests.platform.simulated_macos import SimulatedMacOS

ONE_PATH = (
    "open", "stat", "lstat", "listdir", "scandir", "unlink", "remove", "mkdir", "rmdir", "chmod", "utime", "access",
    "chdir", "readlink",
)  # fmt: skip
TWO_PATHS = ("rename", "replace", "link", "symlink")


def fold(name: str) -> str:
    return unicodedata.normalize("NFD", name).casefold()


class FoldingMac(SimulatedMacOS):
    """A simulated Mac with such a file system below `roots`."""

    def __init__(self, roots: Sequence[str], monkeypatch: pytest.MonkeyPatch) -> None:
        super().__init__()
        self.roots = [os.path.realpath(root) for root in roots]
        self._listdir, self._lstat = os.listdir, os.lstat
        for name in ONE_PATH:
            monkeypatch.setattr(os, name, self._wrap(getattr(os, name), 1))
        for name in TWO_PATHS:
            monkeypatch.setattr(os, name, self._wrap(getattr(os, name), 2))
        opened = self._wrap(builtins.open, 1)
        monkeypatch.setattr(builtins, "open", opened)
        monkeypatch.setattr(io, "open", opened)

    def spell(self, path: Any) -> Any:
        """Return a path with the names that the file system has; names of new files as given."""
        if isinstance(path, int) or path is None:
            return path
        text = os.fsdecode(path)
        whole = os.path.normpath(os.path.join(os.getcwd(), text))
        found = next((root for root in self.roots if f"{whole}/".startswith(f"{root}/")), "")
        if not found:
            return path
        for part in filter(None, whole[len(found) :].split("/")):
            found = self._spell_name(found, part)
        return os.fsencode(found) if isinstance(path, bytes) else found

    def _spell_name(self, folder: str, name: str) -> str:
        whole = f"{folder}/{name}"
        try:
            self._lstat(whole)
            return whole
        except OSError:
            pass
        try:
            names = self._listdir(folder)
        except OSError:
            return whole
        return f"{folder}/{next((one for one in names if fold(one) == fold(name)), name)}"

    def _wrap(self, function: Callable[..., Any], count: int) -> Callable[..., Any]:
        def call(*given: Any, **named: Any) -> Any:
            if any(name.endswith("dir_fd") and value is not None for name, value in named.items()):
                return function(*given, **named)
            return function(*[self.spell(one) for one in given[:count]], *given[count:], **named)

        return call

    def swap_names(self, one: str, other: str) -> bool:
        return super().swap_names(self.spell(one), self.spell(other))

    def get_path_of(self, descriptor: int) -> str:
        return os.readlink(f"/proc/self/fd/{descriptor}")
