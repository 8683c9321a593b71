"""Where a word counts: a review of one project is one spot, in a review of all each project is one, and no project is
another."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from reflect_git.model.schema import Project

HERE = ""  # the one spot of a review of one project; in a review of all, where no project is


class Spots:
    def __init__(
        self, project: Collection[str], projects: Sequence[Project | None], aliases: Mapping[str, str]
    ) -> None:
        """`project`: the keys of the one that is reviewed, none for all; `projects`: that of each row."""
        self._here = project
        self._projects = projects
        self._aliases = aliases

    def of(self, row: int) -> str:
        project = self._projects[row]
        return HERE if self._here or project is None else self.named(project["key"])

    def named(self, key: str) -> str:
        """The spot of a project, by any of its keys."""
        return self._aliases.get(key, key)

    def has(self, spot: str, key: str) -> bool:
        return key in self._here if self._here else self.named(key) == spot
