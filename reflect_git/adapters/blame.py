"""Which commit of a project each line of a file comes from, as HEAD has it.

A project's repository is not trusted: no textconv, hook or filter of its configuration runs, and its work tree is not
looked at. Commits that it wants to be passed over (`blame.ignoreRevsFile`) are.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass

from reflect_git.adapters.git import Git
from reflect_git.model.ids import utc

_SECONDS = 5.0
_FLAGS = ("--porcelain", "--no-textconv", "--encoding=UTF-8")


@dataclass(frozen=True)
class Blamed:
    """A line of HEAD and the commit that it comes from."""

    text: str
    commit: str
    author: str
    time: str
    subject: str


def blame(program: str, top: str, path: str) -> list[Blamed]:
    """Line by line; nothing for a file that HEAD does not have, or that takes too long."""
    asked = ("blame", *_FLAGS, "HEAD", "--", os.path.relpath(path, top))
    result = Git(program, top).run(*asked, check=False, seconds=_SECONDS)
    return list(_lines(result.out.decode("utf-8", "replace"))) if result.code == 0 else []


def _lines(told: str) -> Iterator[Blamed]:
    """`<commit> <line> <line> [<count>]`, what is told of a commit once, and behind a tab the line itself."""
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
