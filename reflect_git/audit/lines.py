"""Check every rule's lines in the instruction files on this machine, and the snapshots on main."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from reflect_git import paths
from reflect_git.audit.context import DECIDE, NOTE, WARNING, AuditContext, AuditedFile, EntryLine, Finding
from reflect_git.errors import ReflectError
from reflect_git.platform import files, instruction_files
from reflect_git.records.ids import digest, plural
from reflect_git.rules import project_files
from reflect_git.rules.approve import item_of
from reflect_git.rules.drift import drift, line_owner
from reflect_git.rules.drift.change_author import BRANCH, CLAUDE
from reflect_git.rules.drift.line_owner import COMMIT
from reflect_git.store import target_versions
from reflect_git.store.local import projects
from reflect_git.store.repository import MAIN
from reflect_git.targets import improvements, rules_file, target_files, target_page
from reflect_git.targets import target_page as pages
from reflect_git.targets.markdown import is_blank
from reflect_git.targets.safe_text import is_same_text
from reflect_git.targets.target_files import Target

if TYPE_CHECKING:
    from reflect_git.rules.drift.drift import Difference
    from reflect_git.rules.drift.line_owner import Author
    from reflect_git.rules.project_files import Place

    AuthoredFile = tuple[AuditedFile, dict[int, Author]]

_GLOBAL = "global"


def check_lines(ctx: AuditContext) -> Iterator[Finding]:
    """Report entries that differ from what was approved, and snapshots whose project is not here."""
    mirrors = _load_snapshots(ctx)
    seen: set[str] = set()
    for found in _load_files(ctx, mirrors):
        if isinstance(found, Finding):
            yield found
            continue
        seen |= set(found.snapshots)
        findings = [replace(one, path=found.path) for one in _check_file(ctx, found, mirrors)]
        yield from with_authors(ctx, found, findings)
    for path in sorted(set(mirrors) - seen):
        message = f"'{path}': the project is not here, or nobody worked in it lately"
        yield Finding("not-here", NOTE, path, message, "run 'reflect-git audit' in its folder")


def list_files(ctx: AuditContext) -> list[AuditedFile]:
    """Return every target on this machine that can be read."""
    return [one for one in _load_files(ctx, _load_snapshots(ctx)) if isinstance(one, AuditedFile)]


def _load_files(ctx: AuditContext, mirrors: dict[str, dict[str, str]]) -> Iterator[AuditedFile | Finding]:
    """Yield every target on this machine once, or a finding if it cannot be read."""
    seen: set[str] = set()
    for place in _list_places(ctx):
        for target, named in _list_targets(place, mirrors):
            try:
                audited = _load_file(place, target, tuple(named))
            except (ReflectError, OSError) as error:
                hint = getattr(error, "hint", None) or f"look at '{target.path}'"
                yield Finding("unreadable", DECIDE, target.path, str(error), hint, target.path)
                continue
            if audited.path not in seen:
                seen.add(audited.path)
                yield audited


def _check_file(ctx: AuditContext, audited: AuditedFile, mirrors: dict[str, dict[str, str]]) -> Iterator[Finding]:
    """Report all differences in one file."""
    yield from _check_markers(audited)
    for line in audited.lines:
        yield from _check_entry(ctx, audited, line)
    yield from _check_unapproved_lines(audited)
    live_ids = {line.id for line in audited.lines}
    for path in audited.snapshots:
        yield from _check_snapshot(ctx, audited, path, mirrors[path])
        for record_id in mirrors[path]:
            rule = ctx.in_force.get(record_id)
            if rule and record_id not in live_ids and rule["target"]["path"] == audited.target.path:
                message = f"'{record_id}' was written here and is not here any more"
                hint = f"put it back or revert it for good: reflect-git review; its story: reflect-git show {record_id}"
                yield Finding("entry-missing", DECIDE, record_id, message, hint, audited.label)


def _check_entry(ctx: AuditContext, audited: AuditedFile, line: EntryLine) -> Iterator[Finding]:
    """Report an entry that is purged, unknown, not in force, changed or in the wrong file."""
    known = ctx.scan.history.learnings.get(line.id)
    if known is None and ctx.purged.is_purged(line.id):
        message = f"'{line.id}' was purged, but is still here"
        hint = "delete the entry: its line with the id, and the text below"
        yield Finding("entry-purged", DECIDE, line.id, message, hint, audited.label, line.number)
        return
    if known is None:
        yield _report_unknown(ctx, audited, line)
        return
    rule = ctx.in_force.get(line.id)
    if rule is None:
        message = f"'{line.id}' was reverted or replaced, but is still here"
        hint = "delete the entry, or see 'reflect-git review'"
        yield Finding("entry-not-in-force", DECIDE, line.id, message, hint, audited.label, line.number)
        return
    code, message = _find_difference(ctx, line, _get_approved_text(ctx, line.id))
    if code:
        hint = f"put it back or adopt it: reflect-git review; its history: reflect-git show {line.id}"
        yield Finding(code, DECIDE, line.id, message, hint, audited.label, line.number)
    elif (rule["scope"] == _GLOBAL, rule["target"]["path"]) != (audited.target.is_global, audited.target.path):
        message = f"'{line.id}' belongs into '{rule['target']['path']}'"
        hint = f"delete it here, or move the rule: reflect-git edit {line.id} --to TARGET"
        yield Finding("entry-elsewhere", WARNING, line.id, message, hint, audited.label, line.number)


def _report_unknown(ctx: AuditContext, audited: AuditedFile, line: EntryLine) -> Finding:
    """Report an entry unknown to this store: it is a colleague's if the project's git has it unchanged."""
    author = find_entry_author(ctx, audited, line.number)
    if author is not None and author.kind == COMMIT:
        message = f"'{line.id}' is not of this store: commit {author.commit[:10]} by {author.name} brought it"
        return Finding("foreign", NOTE, line.id, message, "", audited.label, line.number)
    is_committed = author is not None and bool(author.commit)
    where = "" if is_committed else " or in any commit of the project"
    message = f"nobody approved '{line.id}': it is not in this store{where}"
    if author is not None:
        did = "a Bash call of Claude's may have written it" if author.is_probable else "Claude wrote it"
        message += f"; {did} in session {author.session}"
        message += f", and commit {author.commit[:10]} has it" if is_committed else ""
    hint = "delete the entry; if it is a colleague's, commit the file as they sent it"
    return Finding("entry-unapproved", DECIDE, line.id, message, hint, audited.label, line.number)


def _get_approved_text(ctx: AuditContext, record_id: str) -> str:
    """Return the approved text in the form of its file."""
    item = item_of(ctx.in_force[record_id])
    return improvements.get_text(item) if isinstance(item, improvements.Improvement) else item.words


def _find_difference(ctx: AuditContext, line: EntryLine, approved: str) -> tuple[str, str]:
    """Return (code, message) if an entry differs from what was approved, else ("", "")."""
    if not line.is_in_place or not line.text:
        where = "is outside the block" if line.text else "has no text below it"
        return "id-moved", f"the comment of '{line.id}' {where}"
    if is_same_text(line.text, approved):
        return "", ""
    others = [one for one in ctx.in_force if one != line.id and is_same_text(line.text, _get_approved_text(ctx, one))]
    if others:
        return "id-moved", f"the id '{line.id}' is on the text of '{others[0]}'"
    return "entry-changed", f"'{line.id}' reads '{line.text}', and '{approved}' was approved"


def _check_markers(audited: AuditedFile) -> Iterator[Finding]:
    """Report broken markers of our block."""
    block = target_page.find_block(audited.data) if audited.target.form == "block" else None
    for problem in block.problems if block else ():
        hint = "leave one line '<!-- reflect-git:begin -->', one '<!-- reflect-git:end -->', and each entry once"
        yield Finding("marker", DECIDE, audited.target.path, problem.message, hint, audited.label, problem.line + 1)


def _check_unapproved_lines(audited: AuditedFile) -> Iterator[Finding]:
    """Report lines between our markers that are neither an entry nor a heading of ours."""
    block = target_page.find_block(audited.data) if audited.target.form == "block" else None
    if block is None or block.pair is None:
        return
    page = pages.read_page(audited.data)
    ours = {number for entry in block.entries for number in range(entry.start, entry.end)}
    for heading in target_page.get_headings(page, block.pair):
        if target_page.get_category(heading):
            ours |= set(range(heading.start, heading.end))
    for number in range(block.pair[0] + 1, block.pair[1]):
        if number not in ours and not is_blank(page.lines[number]):
            text = " ".join(page.lines[number].split())
            message = f"no approval for '{text[:80]}'"
            hint = "move it out of the block if it is yours, else delete it"
            yield Finding("line-unapproved", DECIDE, audited.target.path, message, hint, audited.label, number + 1)


def _check_snapshot(ctx: AuditContext, audited: AuditedFile, path: str, mirrored: dict[str, str]) -> Iterator[Finding]:
    """Compare a snapshot with what was approved and with the file.

    Edits by hand and entries of colleagues are in the snapshot after the next approval. They are reported for the file
    only.
    """
    said = {line.id: line.text for line in audited.lines}
    for record_id, text in mirrored.items():
        known = record_id in ctx.learnings
        meant = [
            said.get(record_id, ""),
            *([_get_approved_text(ctx, record_id)] if record_id in ctx.in_force else ()),
        ]
        if (record_id in ctx.in_force or not known) and not any(is_same_text(text, one) for one in meant):
            there = f"'{said[record_id]}'" if record_id in said else "nothing"
            message = f"the mirror '{path}' has '{record_id}' as '{text}', the file has {there}"
            command = ctx.format_git_command("log", "-p", "--", path)
            hint = f"the next approval for this file rewrites it; see: {command}"
            yield Finding("mirror", DECIDE, record_id, message, hint, audited.label)


def _load_file(place: Place, target: Target, named: tuple[str, ...]) -> AuditedFile:
    path = place.path_of(target)
    data = instruction_files.read(path)
    return AuditedFile(place, target, path, data, tuple(_parse_entries(target, data)), named)


def _parse_entries(target: Target, data: bytes | None) -> Iterator[EntryLine]:
    if target.form == "rules":
        rule = rules_file.parse(data) if data is not None else None
        if rule:
            yield EntryLine(rule.id, rule.words, 1)
    elif target.form == "improvements":
        yield from (EntryLine(one.id, one.text, one.start + 1) for one in improvements.find_proposals(data))
    else:
        block = target_page.find_block(data)
        for entry in block.entries if block else ():
            yield EntryLine(entry.id, entry.text, entry.start + 1, entry.inside or block is None or block.pair is None)


def _load_snapshots(ctx: AuditContext) -> dict[str, dict[str, str]]:
    """Map the snapshots of this machine on main to the learnings in them."""
    tree = ctx.store.git.tree(MAIN, f"{target_versions.FOLDER}/{ctx.store.machine}")
    found = {}
    for path, data in zip(tree, ctx.store.git.blobs(list(tree.values())), strict=True):
        body = data.partition(b"\n\n")[2]
        inside = path.split("/", 3)
        target = (
            target_files.get_target_for_file(inside[3], inside[2] == _GLOBAL)
            if len(inside) == 4
            else Target("project", path)
        )
        found[path] = {line.id: line.text for line in _parse_entries(target, body)}
    return found


def _list_targets(place: Place, mirrors: dict[str, dict[str, str]]) -> Iterator[tuple[Target, list[str]]]:
    """Yield the files of a place that we wrote, and the usual files that may have entries anyway."""
    suffixes = tuple(f"-{digest('project', key)[:8]}" for key in place.keys)
    named: dict[tuple[bool, str], list[str]] = {}
    for path in mirrors:
        _, _, folder, file = [*path.split("/", 3), ""][:4]
        if folder == _GLOBAL or (place.root and folder.endswith(suffixes)):
            named.setdefault((folder == _GLOBAL, file), []).append(path)
    for file in _list_usual_files(place.config, ("CLAUDE.md",), "rules/reflect"):
        named.setdefault((True, file), [])
    if place.root:
        for folder in (".claude/rules/reflect", target_files.AGENT_FOLDER):
            for file in _list_usual_files(place.root, target_files.USUAL_FILES, folder):
                named.setdefault((False, file), [])
    for (is_global, file), listed in named.items():
        yield target_files.get_target_for_file(file, is_global), listed


def _list_usual_files(base: str, names: tuple[str, ...], folder: str) -> Iterator[str]:
    yield from (name for name in names if os.path.lexists(os.path.join(base, *name.split("/"))))
    for path in files.list_files(os.path.join(base, *folder.split("/"))):
        yield os.path.relpath(path, base)


def _list_places(ctx: AuditContext) -> Iterator[Place]:
    """Yield the client's folder, and every known project that rules were written into."""
    home = paths.home_dir(ctx.env)
    known = [
        ctx.folder,
        *projects.list_folders(ctx.store),
        *project_files.find_path_projects(ctx.learnings.values(), home),
    ]
    for root in dict.fromkeys(os.path.realpath(one) for one in known if one and os.path.isdir(one)):
        yield project_files.find_place(ctx.store, ctx.env, root)
    yield project_files.find_place(ctx.store, ctx.env, home)


_ABSENCE_CODES = ("entry-missing", "entry-not-in-force")
_ENTRY_CODES = ("entry-changed", "id-moved", *_ABSENCE_CODES)


def with_authors(ctx: AuditContext, audited: AuditedFile, found: list[Finding]) -> Iterator[Finding]:
    """Add authors to findings: a difference that a branch has needs no decision, one that was ignored does."""
    if not any(one.code in _ENTRY_CODES for one in found):
        yield from found
        return
    seen = drift.find_drift(ctx.store, ctx.env, audited.place, ctx.scan.history)
    known = {(one.learning["id"], one.file.path): one for one in (*seen.open_differences, *seen.branch_differences)}
    for one in found:
        made = known.get((one.subject, audited.path))
        yield _with_author(one, made) if one.code in _ENTRY_CODES else one


def _with_author(found: Finding, made: Difference | None) -> Finding:
    if made is None:
        return found
    if made.author == BRANCH:
        message = f"{found.message}; so it is in the project's HEAD"
        if found.code in _ABSENCE_CODES:
            hint = "nothing to do: it depends on the branch"
            return replace(found, severity=NOTE, message=message, hint=hint)
        return replace(found, message=message)
    if made.author == CLAUDE and made.call is not None:
        did = "a Bash call of Claude's may have done it" if made.call.texts else "Claude did it"
        return replace(found, message=f"{found.message}; {did} in session {made.call.session}")
    return found


def find_entry_author(ctx: AuditContext, audited: AuditedFile, number: int) -> Author | None:
    """Return who added the entry at a line that this store does not know, if it can be determined."""
    try:
        page = _load_instruction_file(ctx, audited)
        entry_lines = page.entry_at(number)
        return line_owner.find_entry_author(ctx.store, ctx.env, page, entry_lines) if entry_lines else None
    except (ReflectError, OSError):
        return None


def _load_instruction_file(ctx: AuditContext, audited: AuditedFile) -> line_owner.InstructionFile:
    return line_owner.load_file(ctx.store, ctx.env, audited.path, audited.place.root or os.path.dirname(audited.path))


def find_line_authors(ctx: AuditContext, sheets: Iterable[AuditedFile]) -> list[AuthoredFile]:
    """Return each file with the author of every line that is neither blank nor in an entry."""
    return [(sheet, _find_authors(ctx, sheet)) for sheet in sheets if sheet.data]


def _find_authors(ctx: AuditContext, audited: AuditedFile) -> dict[int, Author]:
    try:
        return line_owner.find_authors(ctx.store, ctx.env, _load_instruction_file(ctx, audited))
    except (ReflectError, OSError):
        return {}


def report_claude_lines(found: Iterable[AuthoredFile]) -> Iterator[Finding]:
    """Report lines that Claude wrote by itself, without asking a person."""
    for audited, authors in found:
        claimed = {number: author for number, author in authors.items() if author.kind == line_owner.CLAUDE}
        for number in list(claimed)[:1]:
            count, session = plural(len(claimed), "line"), claimed[number].session
            message = f"Claude wrote {count} here by itself, in session {session}"
            if all(author.is_probable for author in claimed.values()):
                message = f"a Bash call of Claude's in session {session} may have written {count} here"
            hint = f"see 'reflect-git why {audited.label}:{number}'"
            yield Finding(
                "claude-wrote", WARNING, audited.target.path, message, hint, audited.label, number, path=audited.path
            )


def count_lines(found: Iterable[AuthoredFile]) -> list[dict[str, Any]]:
    """Count each file's entries, and its other lines by author."""
    return [
        {
            "file": sheet.label, "path": sheet.path, "learnings": len(sheet.lines),
            "lines": dict(sorted(Counter(author.kind for author in authors.values()).items())),
        }
        for sheet, authors in found
    ]  # fmt: skip
