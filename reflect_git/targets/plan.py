"""Plan a change of a target file, check it, show it as a unified diff, and compare files with approved learnings.

This is the only module that imports unidiff.
"""

from __future__ import annotations

import io
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from difflib import SequenceMatcher

from reflect_git.errors import EXIT_BUG, ReflectError
from reflect_git.records.ids import fingerprint
from reflect_git.records.named_tuple import NamedTuple
from reflect_git.targets import block, improvements, markdown, rules_file, target_page
from reflect_git.targets import target_page as pages
from reflect_git.targets.improvements import Improvement, Proposal
from reflect_git.targets.markdown import split_lines
from reflect_git.targets.rules_file import RulesFile
from reflect_git.targets.safe_text import is_same_text, normalize_text
from reflect_git.targets.target_files import AGENTS_IMPORT, Target, get_agent_name
from reflect_git.targets.target_page import BOM, CATEGORY_TITLES, UnfitFileError

CONTEXT_LINES = 3
_LINE_PATTERN = re.compile(r"[^\n]*\n|[^\n]+")
_NO_NEWLINE = "\\ No newline at end of file\n"
_PLAIN_NAME = re.compile(r"[!#-\[\]-~ ]+")


def format_diff(plan: Plan, path: str) -> str:
    """Return what the plan does to its file as a diff, with `path` as the name; empty if nothing changes.

    Lines end at LF, as in git: a CR stays in the line.
    """
    if plan.before == plan.after:
        return ""
    hunks = "".join(_build_hunks(_split_lines(plan.before), _split_lines(plan.after)))
    old, new = _format_name("a", path), _format_name("b", path)
    heads = [f"diff --git {old} {new}"]
    if plan.before is None:
        heads.append("new file mode 100644")
    if plan.after is None:
        heads.append("deleted file mode 100644")
    if hunks:
        # A name with a space ends with a tab, or patch programs would take the rest for a date.
        tab = "\t" if " " in path else ""
        heads.append("--- /dev/null" if plan.before is None else f"--- {old}{tab}")
        heads.append("+++ /dev/null" if plan.after is None else f"+++ {new}{tab}")
    return "".join(f"{head}\n" for head in heads) + hunks


def get_changed_lines(plan: Plan) -> tuple[list[str], list[str]]:
    """Return the added and the removed lines without their ends, as a reader of the diff counts them."""
    # Skip git's own first line: its two names are ambiguous if a folder is called 'a b'.
    _, start, text = format_diff(plan, plan.path).partition("\n--- ")
    if not start:
        return [], []
    from unidiff.errors import UnidiffParseError
    from unidiff.patch import PatchSet

    try:
        patches = PatchSet(io.StringIO(f"--- {text}", newline="\n"))
    except UnidiffParseError as error:
        raise _build_diff_error(plan, str(error)) from None
    if len(patches) != 1:
        raise _build_diff_error(plan, f"{len(patches)} files")
    lines = [line for hunk in patches[0] for line in hunk]
    added = [line.value.rstrip("\r\n") for line in lines if line.is_added]
    removed = [line.value.rstrip("\r\n") for line in lines if line.is_removed]
    return added, removed


def _split_lines(data: bytes | None) -> list[str]:
    return _LINE_PATTERN.findall((data or b"").decode())


def _build_diff_error(plan: Plan, why: str) -> ReflectError:
    return ReflectError(f"the diff of '{plan.path}' cannot be read back: {why}", code="bug", exit_code=EXIT_BUG)


def _format_name(side: str, path: str) -> str:
    name = f"{side}/{path.lstrip('/')}"
    if _PLAIN_NAME.fullmatch(name):
        return name
    quoted = "".join(_quote_byte(byte) for byte in name.encode("utf-8", "surrogateescape"))
    return f'"{quoted}"'


def _quote_byte(byte: int) -> str:
    if byte in b'"\\':
        return f"\\{chr(byte)}"
    return chr(byte) if 32 <= byte < 127 else f"\\{byte:03o}"


def _build_hunks(old: list[str], new: list[str]) -> Iterator[str]:
    """Yield the hunks. Only the part between the common beginning and end is compared, so large files are cheap."""
    first = _count_common_lines(old, new)
    last = _count_common_lines(old[first:][::-1], new[first:][::-1])
    start = max(0, first - CONTEXT_LINES)
    end = max(0, last - CONTEXT_LINES)
    a, b = old[start : len(old) - end], new[start : len(new) - end]
    for group in SequenceMatcher(None, a, b, autojunk=False).get_grouped_opcodes(CONTEXT_LINES):
        _, a1, _, b1, _ = group[0]
        _, _, a2, _, b2 = group[-1]
        yield f"@@ -{_format_range(a1 + start, a2 + start)} +{_format_range(b1 + start, b2 + start)} @@\n"
        for tag, i1, i2, j1, j2 in group:
            if tag == "equal":
                yield from (_format_line(" ", line) for line in a[i1:i2])
            else:
                yield from (_format_line("-", line) for line in a[i1:i2])
                yield from (_format_line("+", line) for line in b[j1:j2])


def _count_common_lines(old: list[str], new: list[str]) -> int:
    count = 0
    for one, other in zip(old, new, strict=False):
        if one != other:
            break
        count += 1
    return count


def _format_range(start: int, end: int) -> str:
    length = end - start
    if length == 1:
        return str(start + 1)
    return f"{start + 1 if length else start},{length}"


def _format_line(sign: str, line: str) -> str:
    return sign + line if line.endswith("\n") else f"{sign}{line}\n{_NO_NEWLINE}"


_HEADING_PATTERN = re.compile(r"#{3,6} \[[0-9-]+\] (.+)")
_FIELD_PATTERN = re.compile(r"\*\*([A-Za-z ]+)\*\*: ?(.*)")
_FIELD_NAMES = {"Impact": "impact", "Details": "details", "Suggested action": "action", "Confidence": "confidence"}


class Finding(NamedTuple):
    """A difference between a file and the approved learnings.

    Kinds: missing, different, foreign (an id that this store does not know), marker (broken markers, described in
    `live`). `approved` and `live` are the two texts. `line` counts from 1, 0 if there is none.
    """

    kind: str
    id: str
    approved: str = ""
    live: str = ""
    line: int = 0

    def is_same(self, other: Finding) -> bool:
        """Return whether both report the same about the same entry, ignoring what formatters change."""
        return (self.kind, self.id, normalize_text(self.live)) == (other.kind, other.id, normalize_text(other.live))


def find_text_line(data: bytes | None, found: Finding) -> int:
    """Return the line where the entry's words begin, below its id comment or front matter.

    If nothing is below, return `found.line`.
    """
    lines = list(pages.read_page(data).lines)
    start = max(found.line - 1, markdown.count_front_matter_lines(lines))
    below = enumerate(map(str.strip, lines[start:]), start + 1)
    above = (target_page.ID_PATTERN, rules_file.HEADING_PATTERN)
    return next((at for at, line in below if line and not any(one.match(line) for one in above)), found.line)


def compare_file(form: str, data: bytes | None, items: Sequence[Item]) -> list[Finding]:
    """Compare the bytes of a target of any form with the learnings that belong in it."""
    if form == "improvements":
        return compare_improvements(data, [item for item in items if isinstance(item, Improvement)])
    rules = [item for item in items if isinstance(item, Rule)]
    if form == "block":
        return compare_block(data, [(rule.id, rule.text) for rule in rules])
    if not rules:
        live = rules_file.parse(data or b"")
        return [Finding("foreign", live.id, live=live.text, line=1)] if live else []
    return [found for rule in rules for found in compare_rules_file(data, _build_rules_file(rule))]


def compare_block(data: bytes | None, expected: Sequence[tuple[str, str]]) -> list[Finding]:
    """Compare a CLAUDE.md with its learnings. Differences that a formatter makes do not count."""
    block = target_page.find_block(data)
    entries = block.entries if block else ()
    found = [Finding("marker", "", live=each.message, line=each.line + 1) for each in (block.problems if block else ())]
    for record_id, text in expected:
        live = [entry for entry in entries if entry.id == record_id and entry.text]
        if not live:
            found.append(Finding("missing", record_id, text))
        found += [
            Finding("different", record_id, text, entry.text, entry.start + 1)
            for entry in live
            if not is_same_text(entry.text, text)
        ]
    known = {identity for identity, _ in expected}
    found += [
        Finding("foreign", entry.id, live=entry.text, line=entry.start + 1)
        for entry in entries
        if entry.id not in known
    ]
    return found


def compare_rules_file(data: bytes | None, rule: RulesFile) -> list[Finding]:
    """Compare a rules file with its learning."""
    live = rules_file.parse(data) if data is not None else None
    if live is None:
        return [Finding("missing", rule.id, rule.text)]
    if live.id != rule.id:
        return [Finding("missing", rule.id, rule.text), Finding("foreign", live.id, live=live.text, line=1)]
    return (
        [] if rules_file.has_same_rule(data or b"", rule) else [Finding("different", rule.id, rule.text, live.text, 1)]
    )


def compare_improvements(data: bytes | None, expected: Sequence[Improvement]) -> list[Finding]:
    """Compare an improvements.md with its improvements."""
    live = {proposal.id: proposal for proposal in improvements.find_proposals(data)}
    found = []
    for item in expected:
        proposal = live.pop(item.id, None)
        if proposal is None:
            found.append(Finding("missing", item.id, improvements.get_text(item)))
        elif not improvements.has_same_text(proposal, item):
            approved = improvements.get_text(item)
            found.append(Finding("different", item.id, approved, proposal.text, proposal.start + 1))
    return found + [Finding("foreign", each.id, live=each.text, line=each.start + 1) for each in live.values()]


def parse_fields(proposal: Proposal) -> dict[str, str]:
    """Return the title and fields of an improvement as they are in a file."""
    found = {}
    for line in proposal.text.splitlines():
        if heading := _HEADING_PATTERN.fullmatch(line):
            found["title"] = heading[1]
        elif (field := _FIELD_PATTERN.fullmatch(line)) and field[1] in _FIELD_NAMES:
            found[_FIELD_NAMES[field[1]]] = field[2]
    return found


_BOM = BOM.encode()
_MARK_PATTERN = r"<!--\s*reflect-git:(?:begin[^>]*|end|new)\s*-->"
_HEADING_TITLES = "|".join([*CATEGORY_TITLES.values(), *improvements.SECTIONS])
_STRUCTURE_PATTERN = re.compile(
    rf"(?: {{0,3}}(?:{_MARK_PATTERN}|#{{1,6}}[ \t]+(?:{_HEADING_TITLES})[ \t]*#*)[ \t]*)?[\r\n]*", re.IGNORECASE
)


class Rule(NamedTuple):
    """A learning as it is written to a file. `heading`: of a file of its own."""

    id: str
    text: str
    category: str
    paths: tuple[str, ...] = ()
    heading: str = ""

    @property
    def words(self) -> str:
        """Return everything that Claude reads of the learning."""
        return _build_rules_file(self).words


Item = Rule | Improvement


class Plan(NamedTuple):
    """A planned change of a file; None means that there is no file. Kinds: add, remove, replace, move.

    `replaces` is the id of the entry that the learning replaces, if it had another one.
    """

    target: Target
    before: bytes | None
    after: bytes | None
    learning: str
    kind: str
    replaces: str = ""

    @property
    def path(self) -> str:
        return self.target.path

    @property
    def before_sha256(self) -> str | None:
        return _sha256(self.before)

    @property
    def after_sha256(self) -> str | None:
        return _sha256(self.after)


def add(target: Target, before: bytes | None, item: Item) -> Plan:
    """Plan to add a learning to a target."""
    with _add_path_to_errors(target):
        if isinstance(item, Improvement):
            after = improvements.add(before, item)
        elif target.form == "rules":
            after = _render_new_rules_file(target, before, item)
        else:
            _require_agent(target, before)
            after = block.add(before, item.id, item.text, item.category, target.opening)
    return _check_and_return(Plan(target, before, after, item.id, "add"))


def _require_agent(target: Target, before: bytes | None) -> None:
    """Raise if an agent's file does not exist: without its name and description, Claude Code ignores it."""
    name = get_agent_name(target)
    if name and (before is None or not re.match(rb"(?:\xef\xbb\xbf)?---[ \t]*\r?\n", before)):
        message = f"there is no agent '{name}'" if before is None else f"'{target.path}' is not an agent's file"
        hint = f"create it in Claude Code with /agents, then try again; its file is '{target.path}'"
        raise ReflectError(message, hint, code="no-agent")


def remove(target: Target, before: bytes | None, item: Item, force: bool = False) -> Plan:
    """Plan to remove a learning from a target."""
    after: bytes | None = None
    with _add_path_to_errors(target):
        if isinstance(item, Improvement):
            after = improvements.remove(before, item, force)
        elif target.form == "rules":
            rules_file.check_removal(before or b"", _build_rules_file(item), force)
        else:
            after = block.remove(before, item.id, item.text, force)
    return _check_and_return(Plan(target, before, after, item.id, "remove"))


def replace(target: Target, before: bytes, old: Item, new: Item, force: bool = False) -> Plan:
    """Plan to replace an entry with other words, another category or another learning."""
    with _add_path_to_errors(target):
        if isinstance(old, Improvement) and isinstance(new, Improvement):
            after = improvements.replace(before, old, new, force)
        elif isinstance(old, Improvement) or isinstance(new, Improvement):
            raise TypeError("a rule and an improvement do not replace each other")
        elif target.form == "rules":
            rules_file.check_removal(before, _build_rules_file(old), force)
            after = rules_file.render(_build_rules_file(new))
        else:
            successor = "" if new.id == old.id else new.id
            after = block.replace(before, old.id, old.text, new.text, new.category, successor, force)
    return _check_and_return(Plan(target, before, after, new.id, "replace", "" if new.id == old.id else old.id))


def move(target: Target, before: bytes, record_id: str, section: str) -> Plan:
    """Plan to move an improvement to Pending, Applied or Deferred."""
    with _add_path_to_errors(target):
        after = improvements.move(before, record_id, section)
    return _check_and_return(Plan(target, before, after, record_id, "move"))


def check_plan(plan: Plan) -> None:
    """Raise an error if a plan touches anything but the one learning and our marks around it.

    It does not rely on how the bytes were made.
    """
    if plan.target.form == "rules":
        strays = [each for each in map(_get_rules_id, (plan.before, plan.after)) if each and each not in _get_ids(plan)]
    else:
        strays = _find_foreign_changes(plan)
    if strays:
        raise ReflectError(
            f"the change of '{plan.path}' would touch '{strays[0]}', which is not ours", code="bug", exit_code=EXIT_BUG
        )


def _find_foreign_changes(plan: Plan) -> list[str]:
    """Return lines and entries that a plan changes although they are not ours."""
    ours = _get_own_lines(plan)
    old, new = (_drop_own_lines(_decode_text(data), ours) for data in (plan.before, plan.after))
    strays = [
        a or b for a, b in _pair_lines(old, new) if a != b and not _differ_only_in_end(a, b)
    ] + _find_changed_entries(plan)
    if plan.before and plan.before.startswith(_BOM) != (plan.after or b"").startswith(_BOM):
        strays.append("the byte order mark")
    shown = ("\n".join(lines).replace(BOM, "") for lines in get_changed_lines(plan))
    added, removed = (Counter(map(_strip_line_end, _drop_own_lines(text, ours))) for text in shown)
    return [*map(_strip_line_end, strays), *(added - removed), *(removed - added)]


def _drop_own_lines(text: str, ours: frozenset[str]) -> list[str]:
    """Return the lines that are not ours."""
    return [
        line
        for line in split_lines(text)
        if not _STRUCTURE_PATTERN.fullmatch(line) and _strip_line_end(line) not in ours
    ]


def _decode_text(data: bytes | None) -> str:
    return (data or b"").removeprefix(_BOM).decode()


def _strip_line_end(line: str) -> str:
    return line.rstrip("\r\n")


def _pair_lines(old: list[str], new: list[str]) -> list[tuple[str, str]]:
    length = max(len(old), len(new))
    return list(zip(old + [""] * (length - len(old)), new + [""] * (length - len(new)), strict=True))


def _differ_only_in_end(one: str, other: str) -> bool:
    """Return whether two lines differ only in a missing end, as the last line of a file may."""
    return _strip_line_end(one) == _strip_line_end(other) and not (
        one.endswith(("\n", "\r")) and other.endswith(("\n", "\r"))
    )


def _get_own_lines(plan: Plan) -> frozenset[str]:
    """Return the lines of a plan that belong to us."""
    found: list[bytes] = []
    for data in (plan.before, plan.after):
        entries = improvements.find_proposals(data) if plan.target.form == "improvements" else _get_entries(data)
        found += [entry.raw for entry in entries if entry.id in _get_ids(plan)]
    # Adding or removing the tenth rule changes the form of the block: id comments appear or disappear.
    found += [f"<!-- {identity} -->".encode() for identity in _get_other_entries(plan, plan.before)]
    if plan.before is None or plan.after is None:
        found += [AGENTS_IMPORT.encode(), improvements.SKELETON.encode()]
    return frozenset(_strip_line_end(line) for raw in found for line in split_lines(_decode_text(raw)))


def _find_changed_entries(plan: Plan) -> list[str]:
    """Return other learnings that were removed, added or reworded."""
    old, new = _get_other_entries(plan, plan.before), _get_other_entries(plan, plan.after)
    return [identity for identity in {**old, **new} if old.get(identity) != new.get(identity)]


def _get_other_entries(plan: Plan, data: bytes | None) -> dict[str, str]:
    if plan.target.form != "block":
        return {}
    return {entry.id: entry.text for entry in _get_entries(data) if entry.id not in _get_ids(plan)}


def _get_entries(data: bytes | None) -> tuple[target_page.Entry, ...]:
    found = target_page.find_block(data)
    return found.entries if found else ()


def _get_ids(plan: Plan) -> tuple[str, ...]:
    return (plan.learning, plan.replaces) if plan.replaces else (plan.learning,)


def _get_rules_id(data: bytes | None) -> str | None:
    if data is None:
        return None
    live = rules_file.parse(data)
    return live.id if live else "a file of somebody else"


def _render_new_rules_file(target: Target, before: bytes | None, item: Rule) -> bytes:
    if before is not None:
        raise ReflectError(f"'{target.path}' exists already", "choose another topic", code="duplicate")
    return rules_file.render(_build_rules_file(item))


def _build_rules_file(item: Rule) -> RulesFile:
    return RulesFile(item.id, item.text, item.paths, item.heading)


def _check_and_return(plan: Plan) -> Plan:
    check_plan(plan)
    return plan


def _sha256(data: bytes | None) -> str | None:
    return None if data is None else fingerprint(data)


@contextmanager
def _add_path_to_errors(target: Target) -> Iterator[None]:
    """Add the path to the error for a file that cannot be patched."""
    try:
        yield
    except UnfitFileError as error:
        raise UnfitFileError(f"'{target.path}' cannot be changed: {error.message}", error.hint or "") from None
