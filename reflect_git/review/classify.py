"""Where a learning belongs: whose it is, which side it changes, its category, its target, its title."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache

from reflect_git.model.scopes import is_of_all, is_of_mine
from reflect_git.model.tables import table
from reflect_git.model.tuples import NamedTuple

AGENT, PROJECT_SIDE = "agent", "project"
_TITLE = 60

_OPEN = ("convention", "gotcha")
_PATHS = re.compile(r"(?<![\w/])`?((?:[\w.@-]+/)*\*{1,2}(?:/[\w.*{},-]+)*(?:\.\w+)?)`?(?![\w*])")


@cache
def _any(name: str) -> re.Pattern[str]:
    """Compile the patterns of one list of `knowledge/classes.json`."""
    return re.compile("|".join(f"(?:{pattern})" for pattern in table("classes")[name]), re.IGNORECASE)


@cache
def _categories() -> list[tuple[str, re.Pattern[str]]]:
    """The first that is found decides; more telling ones come first."""
    return [(name, re.compile(pattern, re.IGNORECASE)) for name, pattern in table("classes")["categories"]]


class Place(NamedTuple):
    scope: str
    side: str
    category: str
    target: str
    title: str
    paths: tuple[str, ...]


def place(
    text: str, kind: str, category: str, projects: int = 1, words: str = "",
    is_path: Callable[[str], bool] | None = None,
) -> Place:  # fmt: skip
    """`words` are the user's own, where the proposed text has lost what they said of its scope. `is_path` tells which
    globs name files of the project: `release/*` may be a branch."""
    scope = scope_of(text, projects, words)
    side = side_of(kind, text)
    paths = tuple(path for path in paths_in(text) if is_path is None or is_path(path))
    found = category_of(text, kind, category)
    return Place(scope, side, found, target_of(scope, side, paths), title_of(text), paths)


def scope_of(text: str, projects: int = 1, words: str = "") -> str:
    """The project's, unless the words say otherwise or it was said in several: a rule in the wrong project does more
    harm than one that is missing in another."""
    said = f"{text}\n{words}"
    if projects > 1 or is_of_mine(_words(text)):
        return "global"
    if _any("local").search(said):
        return "project"
    is_wide = is_of_all(_words(said)) or is_of_mine(_words(said)) or _any("personal").search(text)
    return "global" if is_wide else "project"


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())


def side_of(kind: str, text: str = "") -> str:
    """What the project itself does badly is an improvement of the project; all else is for the agent."""
    is_flaw = kind == "project_friction" or (kind == "gotcha" and _any("flaw").search(text))
    return PROJECT_SIDE if is_flaw else AGENT


def category_of(text: str, kind: str, given: str) -> str:
    """A detector's own word stands, except where it is the one it uses for anything."""
    if given not in _OPEN or kind == "gotcha":
        return given
    return next((category for category, pattern in _categories() if pattern.search(text)), given)


def target_of(scope: str, side: str, paths: tuple[str, ...]) -> str:
    if side == PROJECT_SIDE:
        return "improvements"
    if scope == "global":
        return "global"
    return "rules" if paths else "project"


def paths_in(text: str) -> tuple[str, ...]:
    """Globs that say for which files it holds: `src/api/**/*.ts`."""
    found = [path for path in _PATHS.findall(text) if "/" in path or path.startswith("*.")]
    return tuple(dict.fromkeys(found))


def title_of(text: str) -> str:
    """The first clause, at a length for the subject of a commit."""
    first = re.split(r"(?<=[^\s.]{2})[.!?;](?:\s|$)|\n", text.strip(), maxsplit=1)[0].strip().rstrip(".:,;!")
    if len(first) <= _TITLE:
        return first
    cut = first[: _TITLE - 1].rsplit(" ", 1)[0].rstrip(" ,;:")
    return f"{cut}…"
