"""Patches of the files that commits changed, made from snapshots and coloured by git.

A snapshot is not the file: it has another path, a header of its own and only our part of the file. So its path and line
numbers are removed, and the patch shows our part only.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from reflect_git.platform.git import LOCAL, SETTINGS
from reflect_git.store.target_versions import FOLDER, GLOBAL_FOLDER

if TYPE_CHECKING:
    from reflect_git.store.repository import Store

_COMMIT_PREFIX = "\x01"
_RESET = "\x1b[m"
_DIFF_OPTIONS = ("-p", "--root", "--no-ext-diff", "--no-textconv", "--no-renames", "--diff-merges=first-parent",
          "--src-prefix=a/", "--dst-prefix=b/")  # fmt: skip
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
_FILE_START = re.compile(r"^(?=(?:\x1b\[[0-9;]*m)*diff --git )", re.MULTILINE)
_SNAPSHOT_PATH = re.compile(rf"\b([ab])/{FOLDER}/[^/\s]+/([^/\s]+)/")
_SNAPSHOT_LINES = ("index ", "new file mode ", "deleted file mode ")
_HEADER_LINE = re.compile(r"[ +-](?:version|sha256|learning|change|folders): ")
_HUNK_HEADER = re.compile(r"@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@")


def build_patches(store: Store, commits: Sequence[str], color: bool) -> dict[str, str]:
    """Map commits to their patches, without the last newline; omit those that changed no target.

    A snapshot may come from another machine. If it contains control characters, all patches are shown plain and
    escaped, since nobody could tell its colours from git's.
    """
    plain = _run_diff(store, commits, LOCAL, "--no-color")
    if any(not _is_printable(text) for text in plain.values()):
        return {commit: _escape(text) for commit, text in plain.items()}
    return _run_diff(store, commits, SETTINGS, "--color=always") if color else plain


def _run_diff(store: Store, commits: Sequence[str], profile: str, colors: str) -> dict[str, str]:
    feed = "".join(f"{commit}\n" for commit in commits).encode()
    asked = ("diff-tree", "--stdin", f"--format={_COMMIT_PREFIX}%H", *_DIFF_OPTIONS, colors, "--", FOLDER)
    result = store.git.run(*asked, stdin=feed, config=("core.quotePath=false",), profile=profile)
    out = result.out.decode("utf-8", "replace")
    found = {}
    for part in re.split(rf"^{_COMMIT_PREFIX}", out, flags=re.MULTILINE)[1:]:
        commit, _, text = part.partition("\n")
        found[commit] = "\n".join(_to_file_patch(one) for one in _FILE_START.split(text.strip("\n")) if one)
    return found


def _to_file_patch(text: str) -> str:
    """Return the patch of a snapshot as one of our part of its file; other patches stay unchanged."""
    if not _SNAPSHOT_PATH.search(text.partition("\n")[0]):
        return text.rstrip("\n")
    names, *hunks = re.split(r"\n(?=(?:\x1b\[[0-9;]*m)*@@ )", text.rstrip("\n"))
    above = [line for line in names.split("\n") if not _COLOUR.sub("", line).startswith(_SNAPSHOT_LINES)]
    shown = [hunk for hunk in map(_without_header, hunks) if hunk]
    labelled = [_SNAPSHOT_PATH.sub(_format_side, line) for line in above]
    both = _COLOUR.sub("", labelled[0]).removeprefix("diff --git ")  # one name twice, but for its first letter
    path = both[: len(both) // 2].strip('"').removeprefix("a/")
    return "\n".join([*(_name_file(line, path) for line in labelled), *shown])


def _format_side(found: re.Match[str]) -> str:
    return f"{found[1]}/~/.claude/" if found[2] == GLOBAL_FOLDER else f"{found[1]}/"


def _name_file(line: str, path: str) -> str:
    """Name the file instead of /dev/null: without a snapshot there may still have been a file."""
    return line.replace("--- /dev/null", f"--- a/{path}").replace("+++ /dev/null", f"+++ b/{path}")


def _without_header(hunk: str) -> str:
    """Return a hunk without the snapshot's header, or "" if only the header changed."""
    first, *lines = hunk.split("\n")
    found = _HUNK_HEADER.search(first)
    if found and "1" in (found[1], found[2]):
        lines = lines[_get_header_length([_COLOUR.sub("", line) for line in lines]) :]
    if not any(_COLOUR.sub("", line).startswith(("+", "-")) for line in lines):
        return ""
    return "\n".join([_format_hunk_header(first), *lines])


def _format_hunk_header(first: str) -> str:
    """Return the hunk header without git's context line, which in a snapshot is part of its header."""
    before, _, _ = _HUNK_HEADER.sub("\0", first).partition("\0")
    return f"{before}@@ our part @@{_RESET if before else ''}"


def _get_header_length(lines: Sequence[str]) -> int:
    """Return the length of the snapshot's header, including the blank line after it."""
    length = next((at for at, line in enumerate(lines) if not _HEADER_LINE.match(line)), len(lines))
    return length + (length < len(lines) and not lines[length][1:].strip())


def _is_printable(text: str) -> bool:
    return all(c.isprintable() or c in "\n\t" for c in text)


def _escape(text: str) -> str:
    return "".join(c if c.isprintable() or c in "\n\t" else f"<U+{ord(c):04X}>" for c in text)
