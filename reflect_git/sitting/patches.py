"""What commits changed in the mirrors of targets: as git shows it, so that the person's colours apply."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from reflect_git.adapters.git import LOCAL, SETTINGS
from reflect_git.sitting.mirror import FOLDER

if TYPE_CHECKING:
    from reflect_git.store.repository import Store

_MARK = "\x01"
_FLAGS = ("-p", "--root", "--no-ext-diff", "--no-textconv", "--no-renames", "--diff-merges=first-parent")


def patches(store: Store, commits: Sequence[str], color: bool) -> dict[str, str]:
    """Commit → its patch, without its last newline; nothing for one that changed no target.

    A mirror may come from another machine: if anything in it could act on a terminal, all is shown plain and spelled
    out, since nobody could tell its colours from git's.
    """
    plain = _asked(store, commits, LOCAL, "--no-color")
    if any(not _is_harmless(text) for text in plain.values()):
        return {commit: _spelled(text) for commit, text in plain.items()}
    return _asked(store, commits, SETTINGS, "--color=always") if color else plain


def _asked(store: Store, commits: Sequence[str], profile: str, colors: str) -> dict[str, str]:
    feed = "".join(f"{commit}\n" for commit in commits).encode()
    asked = ("diff-tree", "--stdin", f"--format={_MARK}%H", *_FLAGS, colors, "--", FOLDER)
    out = store.git.run(*asked, stdin=feed, profile=profile).out.decode("utf-8", "replace")
    found = {}
    for part in re.split(rf"^{_MARK}", out, flags=re.MULTILINE)[1:]:
        commit, _, text = part.partition("\n")
        found[commit] = text.strip("\n")
    return found


def _is_harmless(text: str) -> bool:
    return all(c.isprintable() or c in "\n\t" for c in text)


def _spelled(text: str) -> str:
    return "".join(c if c.isprintable() or c in "\n\t" else f"<U+{ord(c):04X}>" for c in text)
