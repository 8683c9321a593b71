"""Whose a line of an instruction file is: a learning's, a mark of ours, a colleague's, Claude's, a commit's, yours."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from reflect_git.adapters import live
from reflect_git.adapters.outline import is_blank
from reflect_git.adapters.project import top_of
from reflect_git.apply import finding, improvements, rulesfile, targets
from reflect_git.apply import page as pages
from reflect_git.errors import ReflectError
from reflect_git.sitting import places

if TYPE_CHECKING:
    from reflect_git.adapters.blame import Blamed
    from reflect_git.apply.page import Page
    from reflect_git.sitting.places import Place
    from reflect_git.store.repository import Store

LEARNING, MARK, COMMIT, CLAUDE, YOU = "learning", "mark", "commit", "claude", "you"
_RULES = (".claude/rules/", "rules/")
_CLAUDE_SECONDS = 1.0
_EVER = "1970-01-01T00:00:00Z"


@dataclass(frozen=True)
class Spot:
    """An entry with an id of ours: lines `start` up to but not including `end`, counted from 0."""

    id: str
    text: str
    start: int
    end: int


@dataclass(frozen=True)
class Author:
    """`kind` is one of the words above; the rest as far as it is known.

    `subject` is that of the commit, or what the person had typed before Claude wrote in its `session`. `is_probable`: a
    Bash call may have written it, and its text does not show all of it.
    """

    kind: str
    name: str = ""
    time: str = ""
    commit: str = ""
    subject: str = ""
    session: str = ""
    tool: str = ""
    is_probable: bool = False

    def as_json(self) -> dict[str, Any]:
        return {name: value for name, value in asdict(self).items() if value}


@dataclass(frozen=True)
class Sheet:
    """An instruction file as it is now."""

    place: Place
    path: str
    label: str
    lines: tuple[str, ...]
    spots: tuple[Spot, ...]
    marks: frozenset[int]

    def spot_at(self, number: int) -> Spot | None:
        """The entry that a line, counted from 1, belongs to."""
        return next((spot for spot in self.spots if spot.start < number <= spot.end), None)


def sheet(store: Store, env: Mapping[str, str], path: str, folder: str) -> Sheet:
    """The file, and what of it is ours; `folder` is where the person stands, whose project it may be."""
    real = os.path.realpath(path)
    place = places.place(store, env, folder)
    if not place.root or not real.startswith(place.root + os.sep):
        place = places.place(store, env, os.path.dirname(real))
    data = live.read(real)
    if data is None:
        raise ReflectError(f"there is no file '{path}'", "give the path of an instruction file", code="missing")
    page, name = pages.read(data), _inside(place, real)
    try:
        spots = tuple(_spots(name, data))
    except ReflectError:  # marks that cannot be read in one way only
        spots = ()
    marks = improvements.marks(page) if name == targets.IMPROVEMENTS_FILE else frozenset(_marks(page))
    return Sheet(place, real, place.label(real), page.lines, spots, marks)


def _inside(place: Place, path: str) -> str:
    """Relative to the client's own folder, or to the project."""
    for base in (os.path.realpath(place.config), place.root):
        if base and path.startswith(base + os.sep):
            return os.path.relpath(path, base)
    return os.path.basename(path)


def _spots(name: str, data: bytes) -> Iterator[Spot]:
    if name == targets.IMPROVEMENTS_FILE:
        yield from (Spot(one.id, one.text, one.start, one.end) for one in improvements.find(data))
        return
    rule = rulesfile.parse(data) if name.startswith(_RULES) else None
    if rule:
        yield Spot(rule.id, rule.text, 0, len(pages.read(data).lines))
        return
    block = finding.find(data)
    yield from (Spot(one.id, one.text, one.start, one.end) for one in (block.entries if block else ()))


def _marks(page: Page) -> Iterator[int]:
    """The lines that we wrote around entries: markers, headings of ours between them, and what a file that we made
    begins with."""
    block = finding.locate(page)
    pair = block.pair if block else None
    if block and pair:
        yield from pair
        if "new" in block.notes and page.lines[0] == targets.AGENTS_IMPORT:
            yield 0
        for heading in finding.headings_of(page, pair):
            if finding.category_of(heading):
                yield from range(heading.start, heading.end)


def authors_of(store: Store, env: Mapping[str, str], page: Sheet) -> dict[int, Author]:
    """Line, counted from 1 → author, of every line that is neither blank nor an entry."""
    own = {number for spot in page.spots for number in range(spot.start, spot.end)}
    rest = [number for number, line in enumerate(page.lines) if number not in own and not is_blank(line)]
    blamed = blamed_lines(store, page)
    found: dict[int, Author] = {}
    for number in rest:
        if number in page.marks:
            found[number + 1] = Author(MARK)
        elif number in blamed:
            found[number + 1] = of_commit(blamed[number])
    loose = [number for number in rest if number + 1 not in found]
    written = by_claude(store, env, page, loose) if loose else {}
    return dict(sorted({**found, **{number + 1: written.get(number, Author(YOU)) for number in loose}}.items()))


def of_commit(line: Blamed) -> Author:
    return Author(COMMIT, line.author, line.time, line.commit, line.subject)


def blamed_lines(store: Store, page: Sheet) -> dict[int, Blamed]:
    """Line, counted from 0 → where HEAD has it from: lines that were only moved by others around them are the same."""
    from difflib import SequenceMatcher  # a line of ours is told without

    from reflect_git.adapters.blame import blame

    top = top_of(os.path.dirname(page.path))
    told = blame(store.git.program, top, page.path) if top else []
    old, new = [line.text.rstrip() for line in told], [line.rstrip() for line in page.lines]
    pairs = SequenceMatcher(None, old, new, autojunk=False).get_matching_blocks() if told else ()
    return {pair.b + step: told[pair.a + step] for pair in pairs for step in range(pair.size)}


def by_claude(store: Store, env: Mapping[str, str], page: Sheet, loose: list[int]) -> dict[int, Author]:
    """Return the author of each of these lines, counted from 0, that Claude added by a call; the newest call counts."""
    from reflect_git.sitting.bash_writes import PROBABLE
    from reflect_git.sitting.calls import calls  # transcripts: not for a line of ours

    is_global = page.path.startswith(os.path.realpath(page.place.config) + os.sep)
    made = calls(store, env, page.place, {page.path}, _EVER, _CLAUDE_SECONDS, everywhere=is_global)
    left = dict.fromkeys(loose)
    found: dict[int, Author] = {}
    for call in made:
        if call.texts:
            for number in list(left):
                shown = call.shows(page.lines[number])
                if shown:
                    probable = shown == PROBABLE
                    found[number] = Author(
                        CLAUDE, time=call.timestamp, session=call.session, tool="Bash", is_probable=probable
                    )
                    del left[number]
            continue
        added: Counter[str] = Counter()
        for old, new in call.pieces:
            added += _counted(new) - _counted(old)
        for number in list(left):
            text = page.lines[number].rstrip()
            if added[text] > 0:
                added[text] -= 1
                found[number] = Author(CLAUDE, time=call.timestamp, session=call.session, subject=call.prompt)
                del left[number]
    return found


def entry_author(store: Store, env: Mapping[str, str], page: Sheet, spot: Spot) -> Author | None:
    """Return who brought an entry that this store does not know: a commit of the project that has all of it, or Claude.

    None if neither did.
    """
    own = [number for number in range(spot.start, spot.end) if not is_blank(page.lines[number])]
    blamed = blamed_lines(store, page)
    if own and all(number in blamed for number in own):
        return of_commit(blamed[own[-1]])
    found = by_claude(store, env, page, own).values()
    return next((one for one in found if not one.is_probable), next(iter(found), None))


def _counted(text: str) -> Counter[str]:
    return Counter(line.rstrip() for line in text.splitlines())
