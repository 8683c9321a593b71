"""What a person has to do with a file of their project that was changed: we commit in the store alone."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from reflect_git.adapters.checkout import Checkout
from reflect_git.adapters.project import top_of
from reflect_git.apply.targets import LOCAL_FILE

if TYPE_CHECKING:
    from reflect_git.sitting.review import Sitting


def advice(sitting: Sitting, name: str, env: Mapping[str, str], stand: str) -> str:
    """One line about a file, as the project names it; nothing where git does not care for it.

    Who stands elsewhere is told which folder it is in: an undo may reach another project.
    """
    path = os.path.join(sitting.place.root, name)
    top = top_of(os.path.dirname(path))
    if top is None:
        return ""
    git = sitting.store.git
    checkout = Checkout(git.program, top)
    if checkout.is_tracked(path):
        return "" if checkout.is_as_committed(path) else commit([name], top, stand)
    if not os.path.lexists(path) or checkout.is_ignored(path, _excludes(git.user_settings(), env, sitting.place.home)):
        return ""
    return f"keep it out of git: add {name} to .gitignore" if name == LOCAL_FILE else commit([name], top, stand)


def left(program: str, changes: Iterable[tuple[str, bytes | None]], *, staged: bool) -> dict[str, list[str]]:
    """Of files and what is to be in them: repository → those that it has otherwise, as it names them; whether also
    those that are `staged` alone, which a commit would bring as they were."""
    found: dict[str, list[str]] = {}
    for path, after in changes:
        real = os.path.realpath(path)  # the file that is written
        top = top_of(os.path.dirname(real))
        checkout = Checkout(program, top) if top else None
        if top and checkout and _has_otherwise(checkout, real, after, staged):
            found.setdefault(top, []).append(os.path.relpath(real, top))
    return found


def _has_otherwise(checkout: Checkout, path: str, after: bytes | None, staged: bool) -> bool:
    committed = checkout.file(path)
    return committed != after if committed is not None else staged and checkout.is_tracked(path)


def commit(names: list[str], top: str, stand: str, changed: str = "changed") -> str:
    is_here = top_of(stand) == top
    them = "it" if len(names) == 1 else "them"
    where, when = ("your project", "with your work") if is_here else (f"'{top}'", "there")
    return f"{', '.join(names)} {changed} in {where}; commit {them} {when}"


def _excludes(settings: Mapping[str, list[str]], env: Mapping[str, str], home: str) -> str:
    """The person's own patterns of what no project of theirs commits."""
    named = settings.get("core.excludesfile", [""])[-1]
    if named.startswith("~/"):
        return os.path.join(home, named[2:])
    return named or os.path.join(env.get("XDG_CONFIG_HOME") or os.path.join(home, ".config"), "git", "ignore")
