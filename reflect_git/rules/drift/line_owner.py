"""Find who wrote each line of an instruction file, and remove what Claude added by itself: exactly, or not at all."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from reflect_git.errors import ReflectError
from reflect_git.platform import instruction_files
from reflect_git.platform.project import top_of
from reflect_git.platform.project_git import Checkout, blame
from reflect_git.records.ids import digest, parse_utc
from reflect_git.records.named_tuple import NamedTuple
from reflect_git.rules import project_files
from reflect_git.rules.drift.change_author import find_edit_calls
from reflect_git.rules.drift.shell_writes import CERTAIN, PROBABLE
from reflect_git.targets import improvements, rules_file, target_files, target_page
from reflect_git.targets import target_page as pages
from reflect_git.targets.markdown import is_blank
from reflect_git.targets.plan import Plan

if TYPE_CHECKING:
    from reflect_git.platform.project_git import BlameLine
    from reflect_git.rules.drift.change_author import EditCall
    from reflect_git.rules.drift.drift import TargetFile
    from reflect_git.rules.project_files import Place
    from reflect_git.store.repository import Store
    from reflect_git.targets.target_page import Page


class Passage(NamedTuple):
    """Lines that Claude added and that are still in a file.

    `plan` removes them; it is None unless the written text is still there exactly once.
    """

    file: TargetFile
    call: EditCall
    lines: tuple[str, ...]
    plan: Plan | None

    @property
    def key(self) -> str:
        """Return the key to remember if a person keeps the lines."""
        return digest(self.file.path, *self.lines)


def find_passages(
    store: Store,
    env: Mapping[str, str],
    place: Place,
    pages: Sequence[TargetFile],
    known_texts: Iterable[str],
    seconds: float,
) -> list[Passage]:
    """Find what Claude wrote in this project since the store exists, oldest first."""
    read = {page.path: page for page in pages if page.data and page.target.form != "improvements"}
    since = store.get_setting("reflect.born")
    if not read or not place.root:
        return []
    known = set(known_texts)
    found = list(_build_passages(read, find_edit_calls(store, env, place, read, since, seconds)))
    return [one for one in reversed(found) if one.key not in known]


def _build_passages(read: Mapping[str, TargetFile], made: Iterable[EditCall]) -> Iterator[Passage]:
    """Yield passages, newest call first: a line written twice is reported once."""
    left: dict[str, Counter[str]] = {}
    for call in made:
        page = read[call.path]
        if call.path not in left:  # files that Claude did not touch are not parsed
            left[call.path] = _count_lines(_decode(page.data)) - _count_our_lines(page)
        standing = left[call.path]
        lines = tuple(_take_added_lines(standing, call))
        if lines:
            yield Passage(page, call, lines, _plan_removal(page, call))


def _take_added_lines(standing: Counter[str], call: EditCall) -> Iterator[str]:
    """Yield the lines that the call added and that are still there."""
    if call.texts:
        for line in [line for line in standing if standing[line] > 0 and call.match_line(line) == CERTAIN]:
            standing[line] -= 1
            yield line
    for old, new in call.pieces:
        added = _count_lines(new) - _count_lines(old)
        for line in new.splitlines():
            line = line.rstrip()
            if added[line] > 0 and standing[line] > 0:
                added[line] -= 1
                standing[line] -= 1
                yield line


def _count_lines(text: str) -> Counter[str]:
    return Counter(line.rstrip() for line in text.splitlines() if not is_blank(line))


def _count_our_lines(page: TargetFile) -> Counter[str]:
    """Return the lines of our entries and markers: changes to them are reported with the rules."""
    text = _decode(page.data)
    if page.target.form == "rules":
        return _count_lines(text) if page.rules else Counter()
    try:
        block = target_page.find_block(page.data)
    except ReflectError:
        return Counter()
    ids = {rule["id"] for rule in page.rules}
    entries = [entry for entry in block.entries if entry.id in ids] if block else []
    marks = [line for line in text.splitlines() if "<!-- reflect-git:" in line]
    return _count_lines("\n".join([*marks, *(entry.raw.decode() for entry in entries)]))


def _plan_removal(page: TargetFile, call: EditCall) -> Plan | None:
    """Plan to restore the text before the call; None unless what it wrote is there exactly once.

    Our entries must stay unchanged.
    """
    data = page.data or b""
    if call.texts:  # the earlier text is unknown
        return None
    if call.after is not None and data == _encode(call.after) and (call.is_new or call.before is not None):
        after = None if call.is_new else _encode(call.before or "")
    else:
        old, new = map(_encode, call.pieces[0])
        if len(call.pieces) > 1 or not new or call.is_new or data.count(new) != 1:
            return None
        after = data.replace(new, old)
    is_ours_untouched = _parse_entries(after) == _parse_entries(data)
    return Plan(page.target, page.data, after, "", "take back") if is_ours_untouched else None


def _parse_entries(data: bytes | None) -> list[tuple[str, str]] | None:
    try:
        block = target_page.find_block(data)
    except ReflectError:
        return None
    return [(entry.id, entry.text) for entry in block.entries] if block else []


def _encode(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _decode(data: bytes | None) -> str:
    return (data or b"").decode("utf-8", "replace")


LEARNING, MARK, COMMIT, CLAUDE, YOU = "learning", "mark", "commit", "claude", "you"
_RULE_FOLDERS = (".claude/rules/", "rules/")
_CLAUDE_SECONDS = 1.0
_EPOCH = "1970-01-01T00:00:00Z"


@dataclass(frozen=True)
class EntryLines:
    """An entry with an id of ours: lines `start` up to but not including `end`, from 0."""

    id: str
    text: str
    start: int
    end: int


@dataclass(frozen=True)
class Author:
    """The author of a line; `kind` is one of the constants above, the rest as far as it is known.

    `subject`: the commit's subject, or what the person had typed before Claude wrote in its `session`. `is_probable`: a
    Bash call may have written the line, but its text does not show all of it.
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
class InstructionFile:
    """An instruction file as it is now."""

    place: Place
    path: str
    label: str
    lines: tuple[str, ...]
    entries: tuple[EntryLines, ...]
    marker_lines: frozenset[int]

    def entry_at(self, number: int) -> EntryLines | None:
        """Return the entry that a line, counted from 1, belongs to."""
        return next((spot for spot in self.entries if spot.start < number <= spot.end), None)


def load_file(store: Store, env: Mapping[str, str], path: str, folder: str) -> InstructionFile:
    """Load a file and its entries; `folder` is the current folder, whose project it may belong to."""
    real = os.path.realpath(path)
    place = project_files.find_place(store, env, folder)
    if not place.root or not real.startswith(place.root + os.sep):
        place = project_files.find_place(store, env, os.path.dirname(real))
    data = instruction_files.read(real)
    if data is None:
        raise ReflectError(f"there is no file '{path}'", "give the path of an instruction file", code="missing")
    page, name = pages.read_page(data), _get_relative_path(place, real)
    try:
        spots = tuple(_find_entries(name, data))
    except ReflectError:  # markers that are ambiguous
        spots = ()
    marks = (
        improvements.find_own_lines(page)
        if name == target_files.IMPROVEMENTS_FILE
        else frozenset(_find_marker_lines(page))
    )
    return InstructionFile(place, real, place.label(real), page.lines, spots, marks)


def _get_relative_path(place: Place, path: str) -> str:
    """Return a path relative to the client's folder or to the project."""
    for base in (os.path.realpath(place.config), place.root):
        if base and path.startswith(base + os.sep):
            return os.path.relpath(path, base)
    return os.path.basename(path)


def _find_entries(name: str, data: bytes) -> Iterator[EntryLines]:
    """Yield our entries in a file."""
    if name == target_files.IMPROVEMENTS_FILE:
        yield from (EntryLines(one.id, one.text, one.start, one.end) for one in improvements.find_proposals(data))
        return
    rule = rules_file.parse(data) if name.startswith(_RULE_FOLDERS) else None
    if rule:
        yield EntryLines(rule.id, rule.text, 0, len(pages.read_page(data).lines))
        return
    block = target_page.find_block(data)
    yield from (EntryLines(one.id, one.text, one.start, one.end) for one in (block.entries if block else ()))


def _find_marker_lines(page: Page) -> Iterator[int]:
    """Yield the lines we wrote around entries: markers, our headings, and the first line of a file we created."""
    block = target_page.locate_block(page)
    pair = block.pair if block else None
    if block and pair:
        yield from pair
        if "new" in block.notes and page.lines[0] == target_files.AGENTS_IMPORT:
            yield 0
        for heading in target_page.get_headings(page, pair):
            if target_page.get_category(heading):
                yield from range(heading.start, heading.end)


def find_authors(store: Store, env: Mapping[str, str], page: InstructionFile) -> dict[int, Author]:
    """Map each line, from 1, that is neither blank nor in an entry to its author."""
    own = {number for spot in page.entries for number in range(spot.start, spot.end)}
    rest = [number for number, line in enumerate(page.lines) if number not in own and not is_blank(line)]
    blamed = blame_lines(store, page)
    found: dict[int, Author] = {}
    for number in rest:
        if number in page.marker_lines:
            found[number + 1] = Author(MARK)
        elif number in blamed:
            found[number + 1] = build_commit_author(blamed[number])
    loose = [number for number in rest if number + 1 not in found]
    written = find_claude_lines(store, env, page, loose) if loose else {}
    return dict(sorted({**found, **{number + 1: written.get(number, Author(YOU)) for number in loose}}.items()))


def build_commit_author(line: BlameLine) -> Author:
    return Author(COMMIT, line.author, line.time, line.commit, line.subject)


def blame_lines(store: Store, page: InstructionFile) -> dict[int, BlameLine]:
    """Map lines, from 0, to the commits HEAD has them from; lines that only moved keep theirs."""
    from difflib import SequenceMatcher  # imported late: our own lines do not need it

    top = top_of(os.path.dirname(page.path))
    known_texts = blame(store.git.program, top, page.path) if top else []
    old, new = [line.text.rstrip() for line in known_texts], [line.rstrip() for line in page.lines]
    pairs = SequenceMatcher(None, old, new, autojunk=False).get_matching_blocks() if known_texts else ()
    return {pair.b + step: known_texts[pair.a + step] for pair in pairs for step in range(pair.size)}


def find_claude_lines(
    store: Store, env: Mapping[str, str], page: InstructionFile, loose: list[int]
) -> dict[int, Author]:
    """Map those of these lines, from 0, that Claude added to their author; the newest call counts."""
    is_global = page.path.startswith(os.path.realpath(page.place.config) + os.sep)
    made = find_edit_calls(store, env, page.place, {page.path}, _EPOCH, _CLAUDE_SECONDS, everywhere=is_global)
    left = dict.fromkeys(loose)
    found: dict[int, Author] = {}
    for call in made:
        if call.texts:
            for number in list(left):
                shown = call.match_line(page.lines[number])
                if shown:
                    probable = shown == PROBABLE
                    found[number] = Author(
                        CLAUDE, time=call.timestamp, session=call.session, tool="Bash", is_probable=probable
                    )
                    del left[number]
            continue
        added: Counter[str] = Counter()
        for old, new in call.pieces:
            added += _count_all_lines(new) - _count_all_lines(old)
        for number in list(left):
            text = page.lines[number].rstrip()
            if added[text] > 0:
                added[text] -= 1
                found[number] = Author(CLAUDE, time=call.timestamp, session=call.session, subject=call.prompt)
                del left[number]
    return found


def find_entry_author(store: Store, env: Mapping[str, str], page: InstructionFile, entry: EntryLines) -> Author | None:
    """Return who added an entry that this store does not know: a project commit that has all of it, or Claude.

    Claude stays the author if its text was committed later, or in this work tree. Return None if neither did.
    """
    own = [number for number in range(entry.start, entry.end) if not is_blank(page.lines[number])]
    blamed = blame_lines(store, page)
    found = find_claude_lines(store, env, page, own).values()
    written = next((one for one in found if not one.is_probable), next(iter(found), None))
    if not own or not all(number in blamed for number in own):
        return written
    commit = blamed[own[-1]]
    if written is None or written.is_probable or not _is_committed_after(store, page, commit, written):
        return build_commit_author(commit)
    return replace(written, commit=commit.commit)


def _is_committed_after(store: Store, page: InstructionFile, commit: BlameLine, written: Author) -> bool:
    """Tell whether a commit came after Claude's call.

    A commit's date can be forged, so a commit made in this work tree also counts.
    """
    top = top_of(os.path.dirname(page.path)) or os.path.dirname(page.path)
    is_later = parse_utc(written.time) <= parse_utc(commit.time) + 1
    return is_later or Checkout(store.git.program, top).has_created_commit(commit.commit)


def _count_all_lines(text: str) -> Counter[str]:
    return Counter(line.rstrip() for line in text.splitlines())
