"""Who wrote what no approval stands behind: the project's git, Claude, or a person."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from reflect_git.errors import ReflectError
from reflect_git.model.counts import plural
from reflect_git.sitting import drift, lines
from reflect_git.sitting.audit.matter import NOTE, WARNING, Finding, Matter
from reflect_git.sitting.authors import BRANCH, CLAUDE

if TYPE_CHECKING:
    from reflect_git.sitting.audit.matter import Sheet
    from reflect_git.sitting.drift import Difference
    from reflect_git.sitting.lines import Author

    Authored = tuple[Sheet, dict[int, Author]]

_ABSENCES = ("entry-missing", "entry-not-in-force")
_ENTRIES = ("entry-changed", "id-moved", *_ABSENCES)


def with_authors(matter: Matter, sheet: Sheet, found: list[Finding]) -> Iterator[Finding]:
    """What a branch of the project has so is no question; what a person left so was one."""
    if not any(one.code in _ENTRIES for one in found):
        yield from found
        return
    seen = drift.look(matter.store, matter.env, sheet.place, matter.scan.history)
    known = {(one.learning["id"], one.page.path): one for one in (*seen.asked, *seen.elsewhere)}
    for one in found:
        made = known.get((one.subject, sheet.path))
        yield _judged(one, made) if one.code in _ENTRIES else one


def _judged(found: Finding, made: Difference | None) -> Finding:
    if made is None:
        return found
    if made.author == BRANCH:
        message = f"{found.message}; so it is in the project's HEAD"
        if found.code in _ABSENCES:
            hint = "nothing to do: it comes and goes with the branch"
            return replace(found, severity=NOTE, message=message, hint=hint)
        return replace(found, message=message)
    if made.author == CLAUDE and made.call is not None:
        did = "a Bash call of Claude's may have done it" if made.call.texts else "Claude did it"
        return replace(found, message=f"{found.message}; {did} in session {made.call.session}")
    return found


def entry_author(matter: Matter, sheet: Sheet, number: int) -> Author | None:
    """Return who brought the entry at a line that this store does not know, as far as it can be told."""
    try:
        page = _page(matter, sheet)
        spot = page.spot_at(number)
        return lines.entry_author(matter.store, matter.env, page, spot) if spot else None
    except (ReflectError, OSError):
        return None


def _page(matter: Matter, sheet: Sheet) -> lines.Sheet:
    return lines.sheet(matter.store, matter.env, sheet.path, sheet.place.root or os.path.dirname(sheet.path))


def whose(matter: Matter, sheets: Iterable[Sheet]) -> list[Authored]:
    """Each file with the author of every line that is neither blank nor an entry."""
    return [(sheet, _authors(matter, sheet)) for sheet in sheets if sheet.data]


def _authors(matter: Matter, sheet: Sheet) -> dict[int, Author]:
    try:
        return lines.authors_of(matter.store, matter.env, _page(matter, sheet))
    except (ReflectError, OSError):
        return {}


def by_claude(found: Iterable[Authored]) -> Iterator[Finding]:
    """Lines that Claude wrote by itself: no person was asked for them."""
    for sheet, authors in found:
        claimed = {number: author for number, author in authors.items() if author.kind == lines.CLAUDE}
        for number in list(claimed)[:1]:
            count, session = plural(len(claimed), "line"), claimed[number].session
            message = f"Claude wrote {count} here by itself, in session {session}"
            if all(author.is_probable for author in claimed.values()):
                message = f"a Bash call of Claude's in session {session} may have written {count} here"
            hint = f"see 'reflect-git why {sheet.label}:{number}'"
            yield Finding(
                "claude-wrote", WARNING, sheet.target.path, message, hint, sheet.label, number, path=sheet.path
            )


def counted(found: Iterable[Authored]) -> list[dict[str, Any]]:
    """Of each file, how many entries it has and how many of its other lines are whose."""
    return [
        {
            "file": sheet.label, "path": sheet.path, "learnings": len(sheet.lines),
            "lines": dict(sorted(Counter(author.kind for author in authors.values()).items())),
        }
        for sheet, authors in found
    ]  # fmt: skip
