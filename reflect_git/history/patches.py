"""Patches of the files that commits changed, made from snapshots and coloured by git.

A snapshot is not the file: it has another path, a header of its own and only our part of the file. So its path and line
numbers are removed, and the patch shows our part only.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from reflect_git.platform.git import LOCAL, SETTINGS
from reflect_git.rules.snapshot import EVERYWHERE, FOLDER

if TYPE_CHECKING:
    from reflect_git.store.repository import Store

_MARK = "\x01"
_PLAIN = "\x1b[m"
_FLAGS = ("-p", "--root", "--no-ext-diff", "--no-textconv", "--no-renames", "--diff-merges=first-parent",
          "--src-prefix=a/", "--dst-prefix=b/")  # fmt: skip
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
_FILE = re.compile(r"^(?=(?:\x1b\[[0-9;]*m)*diff --git )", re.MULTILINE)
_PLACE = re.compile(rf"\b([ab])/{FOLDER}/[^/\s]+/([^/\s]+)/")
_OF_THE_MIRROR = ("index ", "new file mode ", "deleted file mode ")
_HEAD = re.compile(r"[ +-](?:version|sha256|learning|change|folders): ")
_NUMBERS = re.compile(r"@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@")


def patches(store: Store, commits: Sequence[str], color: bool) -> dict[str, str]:
    """Map commits to their patches, without the last newline; omit those that changed no target.

    A snapshot may come from another machine. If it contains control characters, all patches are shown plain and
    escaped, since nobody could tell its colours from git's.
    """
    plain = _asked(store, commits, LOCAL, "--no-color")
    if any(not _is_harmless(text) for text in plain.values()):
        return {commit: _spelled(text) for commit, text in plain.items()}
    return _asked(store, commits, SETTINGS, "--color=always") if color else plain


def _asked(store: Store, commits: Sequence[str], profile: str, colors: str) -> dict[str, str]:
    feed = "".join(f"{commit}\n" for commit in commits).encode()
    asked = ("diff-tree", "--stdin", f"--format={_MARK}%H", *_FLAGS, colors, "--", FOLDER)
    result = store.git.run(*asked, stdin=feed, config=("core.quotePath=false",), profile=profile)
    out = result.out.decode("utf-8", "replace")
    found = {}
    for part in re.split(rf"^{_MARK}", out, flags=re.MULTILINE)[1:]:
        commit, _, text = part.partition("\n")
        found[commit] = "\n".join(_of_the_file(one) for one in _FILE.split(text.strip("\n")) if one)
    return found


def _of_the_file(text: str) -> str:
    """Return the patch of a snapshot as one of our part of its file; other patches stay unchanged."""
    if not _PLACE.search(text.partition("\n")[0]):
        return text.rstrip("\n")
    names, *hunks = re.split(r"\n(?=(?:\x1b\[[0-9;]*m)*@@ )", text.rstrip("\n"))
    above = [line for line in names.split("\n") if not _COLOUR.sub("", line).startswith(_OF_THE_MIRROR)]
    shown = [hunk for hunk in map(_without_head, hunks) if hunk]
    told = [_PLACE.sub(_side, line) for line in above]
    both = _COLOUR.sub("", told[0]).removeprefix("diff --git ")  # one name twice, but for its first letter
    path = both[: len(both) // 2].strip('"').removeprefix("a/")
    return "\n".join([*(_named(line, path) for line in told), *shown])


def _side(found: re.Match[str]) -> str:
    return f"{found[1]}/~/.claude/" if found[2] == EVERYWHERE else f"{found[1]}/"


def _named(line: str, path: str) -> str:
    """Name the file instead of /dev/null: without a snapshot there may still have been a file."""
    return line.replace("--- /dev/null", f"--- a/{path}").replace("+++ /dev/null", f"+++ b/{path}")


def _without_head(hunk: str) -> str:
    """Return a hunk without the snapshot's header, or "" if only the header changed."""
    first, *lines = hunk.split("\n")
    found = _NUMBERS.search(first)
    if found and "1" in (found[1], found[2]):
        lines = lines[_length_of_head([_COLOUR.sub("", line) for line in lines]) :]
    if not any(_COLOUR.sub("", line).startswith(("+", "-")) for line in lines):
        return ""
    return "\n".join([_headed(first), *lines])


def _headed(first: str) -> str:
    """Return the hunk header without git's context line, which in a snapshot is part of its header."""
    before, _, _ = _NUMBERS.sub("\0", first).partition("\0")
    return f"{before}@@ our part @@{_PLAIN if before else ''}"


def _length_of_head(lines: Sequence[str]) -> int:
    """Return the length of the snapshot's header, including the blank line after it."""
    length = next((at for at, line in enumerate(lines) if not _HEAD.match(line)), len(lines))
    return length + (length < len(lines) and not lines[length][1:].strip())


def _is_harmless(text: str) -> bool:
    return all(c.isprintable() or c in "\n\t" for c in text)


def _spelled(text: str) -> str:
    return "".join(c if c.isprintable() or c in "\n\t" else f"<U+{ord(c):04X}>" for c in text)
