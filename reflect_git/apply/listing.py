"""Our block as a plain list, the form for fewer than ten rules.

    <!-- reflect-git:begin command LRN-20260211-4c8d2a1f:3fa2 gotcha LRN-20260212-9b1c77d0:e01b -->

    - Use pnpm, not npm.
    - The tests need a database.

    <!-- reflect-git:end -->

The first marker names the rules in the order of the list, by category. The four digits are a checksum of the rule's
words: they tell which bullet is whose after somebody moved, deleted or added one. An id per bullet would need two more
lines each: prettier puts a blank line between a comment and a list, and the client only leaves out comments that stand
on a line of their own outside of lists.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Sequence

from reflect_git.apply.wording import normal
from reflect_git.model.tuples import NamedTuple

TITLES = {
    "command": "Commands",
    "convention": "Conventions",
    "gotcha": "Gotchas",
    "preference": "Preferences",
    "project-structure": "Project structure",
    "documentation": "Documentation",
    "naming": "Naming",
    "test-structure": "Test structure",
    "configuration": "Configuration",
}
HEADINGS_FROM = 10  # rules in a block
WAS_LIST = "list"  # the note in a marker: with fewer rules the block becomes a list again
_ORDER = list(TITLES)
_RULE = re.compile(r"(LRN-[0-9]{8}-[0-9a-z]+)(?::([0-9a-f]{4}))?")
BEGIN = re.compile(rf"<!--\s*reflect-git:begin((?:\s+(?:[a-z-]+(?:=[0-9a-f]+)?|{_RULE.pattern}))*)\s*-->")


class Listed(NamedTuple):
    """A rule as the first marker names it."""

    id: str
    category: str
    checksum: str

    @property
    def rank(self) -> tuple[int, str]:
        return (_ORDER.index(self.category) if self.category in TITLES else len(_ORDER), self.id)


class Bullet(NamedTuple):
    """A list item between the markers: lines `start` up to but not including `end`."""

    start: int
    end: int
    text: str


def checksum(text: str) -> str:
    """Four digits that stay the same when a formatter wraps or escapes the text."""
    return f"{zlib.crc32(normal(text).encode('utf-8', 'surrogatepass')) & 0xFFFF:04x}"


def listed(identity: str, category: str, text: str) -> Listed:
    return Listed(identity, category, checksum(text))


def parse(markers: Sequence[str]) -> tuple[dict[str, str], tuple[Listed, ...]]:
    """The notes and the rules in first markers; those of several markers are joined, each rule once."""
    notes: dict[str, str] = {}
    rules: dict[str, Listed] = {}
    for marker in markers:
        category = ""
        match = BEGIN.fullmatch(marker.strip())
        for word in match[1].split() if match else ():
            if rule := _RULE.fullmatch(word):
                rules.setdefault(rule[1], Listed(rule[1], category, rule[2] or ""))
            elif word in TITLES:
                category = word
            else:
                name, _, value = word.partition("=")
                notes[name] = value
    found = tuple(rules.values())
    return notes, found if len(markers) < 2 else tuple(sorted(found, key=lambda rule: rule.rank))


def render(notes: dict[str, str], rules: Sequence[Listed]) -> str:
    """The first marker."""
    words = [f"{name}={value}" if value else name for name, value in notes.items()]
    category = ""
    for rule in rules:
        if rule.category != category:
            category = rule.category
            words.append(category)
        words.append(f"{rule.id}:{rule.checksum}" if rule.checksum else rule.id)
    return " ".join(["<!-- reflect-git:begin", *words, "-->"])


def inserted(rules: Sequence[Listed], new: Listed) -> tuple[list[Listed], int]:
    """The rules with one more, in the order of categories and ids, and its place among them."""
    place = next((number for number, one in enumerate(rules) if one.rank > new.rank), len(rules))
    return [*rules[:place], new, *rules[place:]], place


def assign(rules: Sequence[Listed], bullets: Sequence[Bullet], guess: bool) -> dict[str, Bullet]:
    """Id → its bullet: the one with its checksum, else (`guess`) the first free one between its neighbours'.

    A rule whose bullet was deleted has none.
    """
    found: dict[str, int] = {}
    sums = [checksum(bullet.text) for bullet in bullets]
    free = set(range(len(bullets)))
    for rule in rules:
        place = next((at for at in sorted(free) if sums[at] == rule.checksum), None)
        if place is not None:
            found[rule.id] = place
            free.discard(place)
    for number, rule in enumerate(rules if guess else ()):
        if rule.id in found:
            continue
        low = max((found[one.id] for one in rules[:number] if one.id in found), default=-1)
        later = [found[one.id] for one in rules[number:] if found.get(one.id, -1) > low]
        place = next((at for at in sorted(free) if low < at < min(later, default=len(bullets))), None)
        if place is not None:
            found[rule.id] = place
            free.discard(place)
    return {identity: bullets[at] for identity, at in found.items()}
