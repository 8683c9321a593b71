"""Every learned line of every instruction file on this machine, and the mirrors on main that say what we wrote."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from reflect_git import paths
from reflect_git.adapters import files, live
from reflect_git.adapters.outline import is_blank
from reflect_git.apply import finding, improvements, rulesfile, targets
from reflect_git.apply import page as pages
from reflect_git.apply.targets import Target
from reflect_git.apply.wording import same
from reflect_git.errors import ReflectError
from reflect_git.model.ids import digest
from reflect_git.sitting import mirror, places
from reflect_git.sitting.approve import item_of
from reflect_git.sitting.audit.authors import entry_author, with_authors
from reflect_git.sitting.audit.matter import DECIDE, NOTE, WARNING, Finding, Line, Matter, Sheet
from reflect_git.sitting.lines import COMMIT
from reflect_git.store import projects
from reflect_git.store.repository import MAIN

if TYPE_CHECKING:
    from reflect_git.sitting.places import Place

_GLOBAL = "global"


def look_at_lines(matter: Matter) -> Iterator[Finding]:
    mirrors = _mirrors(matter)
    seen: set[str] = set()
    for found in _sheets(matter, mirrors):
        if isinstance(found, Finding):
            yield found
            continue
        seen |= set(found.mirrors)
        told = [replace(one, path=found.path) for one in _findings(matter, found, mirrors)]
        yield from with_authors(matter, found, told)
    for path in sorted(set(mirrors) - seen):
        message = f"'{path}': the project is not here, or nobody worked in it lately"
        yield Finding("not-here", NOTE, path, message, "run 'reflect-git audit' in its folder")


def sheets(matter: Matter) -> list[Sheet]:
    """Every target on this machine that can be read."""
    return [one for one in _sheets(matter, _mirrors(matter)) if isinstance(one, Sheet)]


def _sheets(matter: Matter, mirrors: dict[str, dict[str, str]]) -> Iterator[Sheet | Finding]:
    """Every target on this machine, once; or why it cannot be read."""
    seen: set[str] = set()
    for place in _places(matter):
        for target, named in _targets(place, mirrors):
            try:
                sheet = _sheet(place, target, tuple(named))
            except (ReflectError, OSError) as error:
                hint = getattr(error, "hint", None) or f"look at '{target.path}'"
                yield Finding("unreadable", DECIDE, target.path, str(error), hint, target.path)
                continue
            if sheet.path not in seen:
                seen.add(sheet.path)
                yield sheet


def _findings(matter: Matter, sheet: Sheet, mirrors: dict[str, dict[str, str]]) -> Iterator[Finding]:
    yield from _markers(sheet)
    for line in sheet.lines:
        yield from _line(matter, sheet, line)
    yield from _strangers(sheet)
    live_ids = {line.id for line in sheet.lines}
    for path in sheet.mirrors:
        yield from _mirror(matter, sheet, path, mirrors[path])
        for identity in mirrors[path]:
            rule = matter.in_force.get(identity)
            if rule and identity not in live_ids and rule["target"]["path"] == sheet.target.path:
                message = f"'{identity}' was written here and is not here any more"
                hint = f"put it back or revert it for good: reflect-git review; its story: reflect-git show {identity}"
                yield Finding("entry-missing", DECIDE, identity, message, hint, sheet.label)


def _line(matter: Matter, sheet: Sheet, line: Line) -> Iterator[Finding]:
    known = matter.scan.history.learnings.get(line.id)
    if known is None and matter.purged.has(line.id):
        message = f"'{line.id}' was purged, and stands here still"
        hint = "delete the entry: its line with the id, and the text below"
        yield Finding("entry-purged", DECIDE, line.id, message, hint, sheet.label, line.number)
        return
    if known is None:
        yield _unknown(matter, sheet, line)
        return
    rule = matter.in_force.get(line.id)
    if rule is None:
        message = f"'{line.id}' was taken back or replaced, and stands here still"
        hint = "delete the entry, or see 'reflect-git review'"
        yield Finding("entry-not-in-force", DECIDE, line.id, message, hint, sheet.label, line.number)
        return
    code, message = _difference(matter, line, _words(matter, line.id))
    if code:
        hint = f"put it back or make it so for good: reflect-git review; its story: reflect-git show {line.id}"
        yield Finding(code, DECIDE, line.id, message, hint, sheet.label, line.number)
    elif (rule["scope"] == _GLOBAL, rule["target"]["path"]) != (sheet.target.is_global, sheet.target.path):
        message = f"'{line.id}' belongs into '{rule['target']['path']}'"
        hint = f"delete it here, or move the rule: reflect-git edit {line.id} --to TARGET"
        yield Finding("entry-elsewhere", WARNING, line.id, message, hint, sheet.label, line.number)


def _unknown(matter: Matter, sheet: Sheet, line: Line) -> Finding:
    """Judge an entry whose id this store does not know: a colleague's if the project's git has it as it stands here."""
    author = entry_author(matter, sheet, line.number)
    if author is not None and author.kind == COMMIT:
        message = f"'{line.id}' is not of this store: commit {author.commit[:10]} by {author.name} brought it"
        return Finding("foreign", NOTE, line.id, message, "", sheet.label, line.number)
    message = f"nobody approved '{line.id}': it is not in this store or in any commit of the project"
    if author is not None:
        did = "a Bash call of Claude's may have written it" if author.is_probable else "Claude wrote it"
        message += f"; {did} in session {author.session}"
    hint = "delete the entry; if it is a colleague's, commit the file as they sent it"
    return Finding("entry-unapproved", DECIDE, line.id, message, hint, sheet.label, line.number)


def _words(matter: Matter, identity: str) -> str:
    """What was approved, in the form in which such a file has it."""
    item = item_of(matter.in_force[identity])
    return improvements.text_of(item) if isinstance(item, improvements.Improvement) else item.text


def _difference(matter: Matter, line: Line, approved: str) -> tuple[str, str]:
    if not line.at_home or not line.text:
        where = "stands outside the block" if line.text else "has no text below it"
        return "id-moved", f"the comment of '{line.id}' {where}"
    if same(line.text, approved):
        return "", ""
    others = [one for one in matter.in_force if one != line.id and same(line.text, _words(matter, one))]
    if others:
        return "id-moved", f"the id '{line.id}' is on the text of '{others[0]}'"
    return "entry-changed", f"'{line.id}' reads '{line.text}', and '{approved}' was approved"


def _markers(sheet: Sheet) -> Iterator[Finding]:
    block = finding.find(sheet.data) if sheet.target.form == "block" else None
    for trouble in block.troubles if block else ():
        hint = "leave one line '<!-- reflect-git:begin -->', one '<!-- reflect-git:end -->', and each entry once"
        yield Finding("marker", DECIDE, sheet.target.path, trouble.words, hint, sheet.label, trouble.line + 1)


def _strangers(sheet: Sheet) -> Iterator[Finding]:
    """Lines between our two markers that are neither an entry nor a heading of ours."""
    block = finding.find(sheet.data) if sheet.target.form == "block" else None
    if block is None or block.pair is None:
        return
    page = pages.read(sheet.data)
    ours = {number for entry in block.entries for number in range(entry.start, entry.end)}
    for heading in finding.headings_of(page, block.pair):
        if finding.category_of(heading):
            ours |= set(range(heading.start, heading.end))
    for number in range(block.pair[0] + 1, block.pair[1]):
        if number not in ours and not is_blank(page.lines[number]):
            text = " ".join(page.lines[number].split())
            message = f"no approval stands behind '{text[:80]}'"
            hint = "move it out of the block if it is yours, else delete it"
            yield Finding("line-unapproved", DECIDE, sheet.target.path, message, hint, sheet.label, number + 1)


def _mirror(matter: Matter, sheet: Sheet, path: str, mirrored: dict[str, str]) -> Iterator[Finding]:
    """What main says we wrote, against what was approved and what is there. What a hand changed in the file, or a
    colleague wrote, is in the mirror as well after the next approval: that is the file's, and told as such."""
    said = {line.id: line.text for line in sheet.lines}
    for identity, text in mirrored.items():
        known = identity in matter.learnings
        meant = [said.get(identity, ""), *([_words(matter, identity)] if identity in matter.in_force else ())]
        if (identity in matter.in_force or not known) and not any(same(text, one) for one in meant):
            there = f"'{said[identity]}'" if identity in said else "nothing"
            message = f"the mirror '{path}' has '{identity}' as '{text}', the file has {there}"
            hint = f"the next approval into this file writes it anew; see: {matter.git('log', '-p', '--', path)}"
            yield Finding("mirror", DECIDE, identity, message, hint, sheet.label)


def _sheet(place: Place, target: Target, named: tuple[str, ...]) -> Sheet:
    path = place.path_of(target)
    data = live.read(path)
    return Sheet(place, target, path, data, tuple(_lines(target, data)), named)


def _lines(target: Target, data: bytes | None) -> Iterator[Line]:
    if target.form == "rules":
        rule = rulesfile.parse(data) if data is not None else None
        if rule:
            yield Line(rule.id, rule.text, 1)
    elif target.form == "improvements":
        yield from (Line(one.id, one.text, one.start + 1) for one in improvements.find(data))
    else:
        block = finding.find(data)
        for entry in block.entries if block else ():
            yield Line(entry.id, entry.text, entry.start + 1, entry.inside or block is None or block.pair is None)


def _mirrors(matter: Matter) -> dict[str, dict[str, str]]:
    """Path on main → the learnings in it, of this machine."""
    tree = matter.store.git.tree(MAIN, f"{mirror.FOLDER}/{matter.store.machine}")
    found = {}
    for path, data in zip(tree, matter.store.git.blobs(list(tree.values())), strict=True):
        body = data.partition(b"\n\n")[2]
        inside = path.split("/", 3)
        target = targets.of_file(inside[3], inside[2] == _GLOBAL) if len(inside) == 4 else Target("project", path)
        found[path] = {line.id: line.text for line in _lines(target, body)}
    return found


def _targets(place: Place, mirrors: dict[str, dict[str, str]]) -> Iterator[tuple[Target, list[str]]]:
    """The files of a place that we wrote, and the usual ones that may have entries all the same."""
    suffixes = tuple(f"-{digest('project', key)[:8]}" for key in place.keys)
    named: dict[tuple[bool, str], list[str]] = {}
    for path in mirrors:
        _, _, folder, file = [*path.split("/", 3), ""][:4]
        if folder == _GLOBAL or (place.root and folder.endswith(suffixes)):
            named.setdefault((folder == _GLOBAL, file), []).append(path)
    for file in _usual(place.config, ("CLAUDE.md",), "rules/reflect"):
        named.setdefault((True, file), [])
    if place.root:
        for file in _usual(place.root, targets.USUAL_FILES, ".claude/rules/reflect"):
            named.setdefault((False, file), [])
    for (is_global, file), listed in named.items():
        yield targets.of_file(file, is_global), listed


def _usual(base: str, names: tuple[str, ...], folder: str) -> Iterator[str]:
    yield from (name for name in names if os.path.lexists(os.path.join(base, *name.split("/"))))
    for path in files.files_below(os.path.join(base, *folder.split("/"))):
        yield os.path.relpath(path, base)


def _places(matter: Matter) -> Iterator[Place]:
    """The client's own folder, and every project that rules were written into, as far as it is found."""
    home = paths.home_dir(matter.env)
    known = [matter.folder, *projects.tops(matter.store), *places.named_by_path(matter.learnings.values(), home)]
    for root in dict.fromkeys(os.path.realpath(one) for one in known if one and os.path.isdir(one)):
        yield places.place(matter.store, matter.env, root)
    yield places.place(matter.store, matter.env, home)
