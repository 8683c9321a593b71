"""v1, v2 … of a target: the commits that changed its mirror, and which entries each of them left in the file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from reflect_git.apply import finding, improvements, rulesfile
from reflect_git.apply.plan import Plan
from reflect_git.apply.targets import FORMS, Target
from reflect_git.errors import ReflectError
from reflect_git.model.ids import utc
from reflect_git.sitting import mirror
from reflect_git.store.repository import MAIN

if TYPE_CHECKING:
    from reflect_git.sitting.places import Place
    from reflect_git.store.repository import Store

_LINE = "\x01"


@dataclass(frozen=True)
class Version:
    """One commit that changed a target on this machine: `time` in UTC, `blob` the mirror it left."""

    number: int
    commit: str
    time: str
    subject: str
    blob: str


def mirror_of(store: Store, place: Place, target: Target) -> str:
    """Where the mirror of a target is kept."""
    return mirror.path_of(store, Plan(target, None, None, "", ""), place.project)


def versions(store: Store, path: str) -> list[Version]:
    """Of one mirror, newest first: one process for the commits, one for the numbers that the mirrors carry."""
    asked = ("log", "--raw", "--no-abbrev", "--no-renames", f"--format={_LINE}%H %ct %s", MAIN, "--")
    listed = store.git.run(*asked, f":(top,literal){path}").out.decode("utf-8", "replace").split("\n")
    found, head = [], ""
    for line in listed:
        if line.startswith(_LINE):
            head = line[1:]
        elif line.startswith(":") and line.split()[4] != "D":
            commit, _, rest = head.partition(" ")
            seconds, _, subject = rest.partition(" ")
            found.append((commit, int(seconds), subject, line.split()[3]))
    numbers = map(mirror.version_in, store.git.blobs([blob for *_, blob in found]))
    return [
        Version(number, commit, utc(seconds), subject, blob)
        for number, (commit, seconds, subject, blob) in zip(numbers, found, strict=True)
        if number
    ]


def version(listed: Sequence[Version], name: str) -> Version:
    """The one that `v7` names."""
    number = name.removeprefix("v")
    found = [one for one in listed if number.isdigit() and one.number == int(number)]
    if not found:
        known = _span(listed[0].number) if listed else "it has no versions yet"
        raise ReflectError(f"there is no version '{name}' of it", known, code="unknown-version")
    return found[0]


def _span(last: int) -> str:
    return "there is v1 alone" if last == 1 else f"there are v1 to v{last}"


def entries_at(store: Store, at: Version, kind: str) -> dict[str, str]:
    """Id → text of each entry that the file had then, others' entries included. `kind` is that of the target."""
    return entries_in(kind, next(store.git.blobs([at.blob])).partition(b"\n\n")[2])


def entries_in(kind: str, data: bytes | None) -> dict[str, str]:
    """Id → text of each entry in the bytes of a target of this kind."""
    form = FORMS.get(kind, "block")
    if form == "rules":
        rule = rulesfile.parse(data or b"")
        return {rule.id: rule.text} if rule else {}
    if form == "improvements":
        return {entry.id: entry.text for entry in improvements.find(data)}
    block = finding.find(data)
    return {entry.id: entry.text for entry in block.entries} if block else {}
