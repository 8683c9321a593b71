"""The Context that commands work on: store, environment, project and a scan of the store."""

from __future__ import annotations

from copy import copy
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

from reflect_git.rules import project_files

if TYPE_CHECKING:
    from collections.abc import Mapping

    from reflect_git.rules.project_files import FileStatements, Place
    from reflect_git.store.reading.reader import Scan
    from reflect_git.store.repository import Store

    ContextT = TypeVar("ContextT", bound="Context")


class Context:
    """The store, the environment, the project and a scan of the store; never transcripts or proposed rules."""

    def __init__(
        self, store: Store, env: Mapping[str, str], place: Place, scan: Scan, said: FileStatements | None = None
    ) -> None:  # fmt: skip
        self.store = store
        self.env = env
        self.place = place
        self.scan = scan
        if said is not None:
            self.statements = said

    @cached_property
    def statements(self) -> FileStatements:
        """Return the statements already in the project's instruction files."""
        return project_files.load_statements(self.place)

    def replace(self: ContextT, **changes: Any) -> ContextT:
        """Return a copy with some attributes changed."""
        changed = copy(self)
        vars(changed).update(changes)
        return changed


def load_context(store: Store, env: Mapping[str, str], scan: Scan, folder: str) -> Context:
    """Load the context for the project that a folder belongs to."""
    return Context(store, env, project_files.find_place(store, env, folder), scan)
