"""What Claude wrote into an instruction file by itself, and how it is taken out again: exactly, or not at all."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from reflect_git.adapters.outline import is_blank
from reflect_git.apply import finding
from reflect_git.apply.plan import Plan
from reflect_git.errors import ReflectError
from reflect_git.model.ids import digest
from reflect_git.model.tuples import NamedTuple
from reflect_git.sitting.bash_writes import CERTAIN
from reflect_git.sitting.calls import calls

if TYPE_CHECKING:
    from reflect_git.sitting.calls import Call
    from reflect_git.sitting.drift import Page
    from reflect_git.sitting.places import Place
    from reflect_git.store.repository import Store


class Passage(NamedTuple):
    """Lines of Claude's that are still in a file; `plan` takes them out, where what it wrote is still there once."""

    page: Page
    call: Call
    lines: tuple[str, ...]
    plan: Plan | None

    @property
    def mark(self) -> str:
        """What is remembered of it if it is kept."""
        return digest(self.page.path, *self.lines)


def look(
    store: Store, env: Mapping[str, str], place: Place, pages: Sequence[Page], told: Iterable[str], seconds: float
) -> list[Passage]:
    """Of the sessions in this project since there is a store, oldest first."""
    read = {page.path: page for page in pages if page.data and page.target.form != "improvements"}
    since = store.setting("reflect.born")
    if not read or not place.root:
        return []
    known = set(told)
    found = list(_passages(read, calls(store, env, place, read, since, seconds)))
    return [one for one in reversed(found) if one.mark not in known]


def _passages(read: Mapping[str, Page], made: Iterable[Call]) -> Iterator[Passage]:
    """Newest call first: a line that was written twice is told of once."""
    left: dict[str, Counter[str]] = {}
    for call in made:
        page = read[call.path]
        if call.path not in left:  # a file that Claude did not touch is not taken apart
            left[call.path] = _lines(_text(page.data)) - _ours(page)
        standing = left[call.path]
        lines = tuple(_taken(standing, call))
        if lines:
            yield Passage(page, call, lines, _plan(page, call))


def _taken(standing: Counter[str], call: Call) -> Iterator[str]:
    """The lines that the call added and that still stand there."""
    if call.texts:
        for line in [line for line in standing if standing[line] > 0 and call.shows(line) == CERTAIN]:
            standing[line] -= 1
            yield line
    for old, new in call.pieces:
        added = _lines(new) - _lines(old)
        for line in new.splitlines():
            line = line.rstrip()
            if added[line] > 0 and standing[line] > 0:
                added[line] -= 1
                standing[line] -= 1
                yield line


def _lines(text: str) -> Counter[str]:
    return Counter(line.rstrip() for line in text.splitlines() if not is_blank(line))


def _ours(page: Page) -> Counter[str]:
    """The lines of entries and marks: what became of those is told with the rules."""
    text = _text(page.data)
    if page.target.form == "rules":
        return _lines(text) if page.rules else Counter()
    try:
        block = finding.find(page.data)
    except ReflectError:
        return Counter()
    ids = {rule["id"] for rule in page.rules}
    entries = [entry for entry in block.entries if entry.id in ids] if block else []
    marks = [line for line in text.splitlines() if "<!-- reflect-git:" in line]
    return _lines("\n".join([*marks, *(entry.raw.decode() for entry in entries)]))


def _plan(page: Page, call: Call) -> Plan | None:
    """Back to what stood there, if what was written is still there, once; our entries stay as they are."""
    data = page.data or b""
    if call.texts:  # what stood there before is not known
        return None
    if call.after is not None and data == _bytes(call.after) and (call.is_new or call.before is not None):
        after = None if call.is_new else _bytes(call.before or "")
    else:
        old, new = map(_bytes, call.pieces[0])
        if len(call.pieces) > 1 or not new or call.is_new or data.count(new) != 1:
            return None
        after = data.replace(new, old)
    is_ours_untouched = _entries(after) == _entries(data)
    return Plan(page.target, page.data, after, "", "take back") if is_ours_untouched else None


def _entries(data: bytes | None) -> list[tuple[str, str]] | None:
    try:
        block = finding.find(data)
    except ReflectError:
        return None
    return [(entry.id, entry.text) for entry in block.entries] if block else []


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _text(data: bytes | None) -> str:
    return (data or b"").decode("utf-8", "replace")
