"""A Plan: one file, its bytes before and after. Preview, write and revert all run the same one."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from reflect_git.adapters.outline import split
from reflect_git.apply import block, finding, improvements, rulesfile
from reflect_git.apply.diff import touched
from reflect_git.apply.improvements import Improvement
from reflect_git.apply.listing import TITLES
from reflect_git.apply.page import BOM, Unfit
from reflect_git.apply.rulesfile import RulesFile
from reflect_git.apply.targets import AGENTS_IMPORT, Target
from reflect_git.errors import EXIT_BUG, ReflectError
from reflect_git.model.ids import fingerprint
from reflect_git.model.tuples import NamedTuple

_BOM = BOM.encode()
_MARK = r"<!--\s*reflect-git:(?:begin[^>]*|end|new)\s*-->"
_HEADING = "|".join([*TITLES.values(), *improvements.SECTIONS])
_STRUCTURE = re.compile(rf"(?: {{0,3}}(?:{_MARK}|#{{1,6}}[ \t]+(?:{_HEADING})[ \t]*#*)[ \t]*)?[\r\n]*", re.IGNORECASE)


class Rule(NamedTuple):
    """A learning as a file takes it up."""

    id: str
    text: str
    category: str
    paths: tuple[str, ...] = ()


Item = Rule | Improvement


class Plan(NamedTuple):
    """What becomes of a file; None stands for no file. Kinds: add, remove, replace, move.

    `replaces` is the id of the entry whose place the learning takes, if it had another one.
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
    with _named(target):
        if isinstance(item, Improvement):
            after = improvements.add(before, item)
        elif target.form == "rules":
            after = _new_rules_file(target, before, item)
        else:
            after = block.add(before, item.id, item.text, item.category, target.opening)
    return _checked(Plan(target, before, after, item.id, "add"))


def remove(target: Target, before: bytes | None, item: Item, force: bool = False) -> Plan:
    after: bytes | None = None
    with _named(target):
        if isinstance(item, Improvement):
            after = improvements.remove(before, item, force)
        elif target.form == "rules":
            rulesfile.check_removal(before or b"", _rules_file(item), force)
        else:
            after = block.remove(before, item.id, item.text, force)
    return _checked(Plan(target, before, after, item.id, "remove"))


def replace(target: Target, before: bytes, old: Item, new: Item, force: bool = False) -> Plan:
    """Other words, another category, or another learning in the place of the old one."""
    with _named(target):
        if isinstance(old, Improvement) and isinstance(new, Improvement):
            after = improvements.replace(before, old, new, force)
        elif isinstance(old, Improvement) or isinstance(new, Improvement):
            raise TypeError("a rule and an improvement do not replace each other")
        elif target.form == "rules":
            rulesfile.check_removal(before, _rules_file(old), force)
            after = rulesfile.render(_rules_file(new))
        else:
            successor = "" if new.id == old.id else new.id
            after = block.replace(before, old.id, old.text, new.text, new.category, successor, force)
    return _checked(Plan(target, before, after, new.id, "replace", "" if new.id == old.id else old.id))


def move(target: Target, before: bytes, identity: str, section: str) -> Plan:
    """An improvement into Pending, Applied or Deferred."""
    with _named(target):
        after = improvements.move(before, identity, section)
    return _checked(Plan(target, before, after, identity, "move"))


def check(plan: Plan) -> None:
    """Is nothing touched but the one learning and our marks around it? Knows nothing of how the bytes were made."""
    if plan.target.form == "rules":
        strays = [each for each in map(_rules_id, (plan.before, plan.after)) if each and each not in _ids(plan)]
    else:
        strays = _strays(plan)
    if strays:
        raise ReflectError(
            f"the change of '{plan.path}' would touch '{strays[0]}', which is not ours", code="bug", exit_code=EXIT_BUG
        )


def _strays(plan: Plan) -> list[str]:
    ours = _our_lines(plan)
    old, new = (_others(_text(data), ours) for data in (plan.before, plan.after))
    strays = [a or b for a, b in _pairs(old, new) if a != b and not _is_last(a, b)] + _changed_entries(plan)
    if plan.before and plan.before.startswith(_BOM) != (plan.after or b"").startswith(_BOM):
        strays.append("the byte order mark")
    shown = ("\n".join(lines).replace(BOM, "") for lines in touched(plan))
    added, removed = (Counter(map(_bare, _others(text, ours))) for text in shown)
    return [*map(_bare, strays), *(added - removed), *(removed - added)]


def _others(text: str, ours: frozenset[str]) -> list[str]:
    """The lines that are not ours."""
    return [line for line in split(text) if not _STRUCTURE.fullmatch(line) and _bare(line) not in ours]


def _text(data: bytes | None) -> str:
    return (data or b"").removeprefix(_BOM).decode()


def _bare(line: str) -> str:
    return line.rstrip("\r\n")


def _pairs(old: list[str], new: list[str]) -> list[tuple[str, str]]:
    length = max(len(old), len(new))
    return list(zip(old + [""] * (length - len(old)), new + [""] * (length - len(new)), strict=True))


def _is_last(one: str, other: str) -> bool:
    """The one line that had no end before us, or has none after us."""
    return _bare(one) == _bare(other) and not (one.endswith(("\n", "\r")) and other.endswith(("\n", "\r")))


def _our_lines(plan: Plan) -> frozenset[str]:
    found: list[bytes] = []
    for data in (plan.before, plan.after):
        entries = improvements.find(data) if plan.target.form == "improvements" else _entries(data)
        found += [entry.raw for entry in entries if entry.id in _ids(plan)]
    # The tenth rule, and its removal, change the form of the block: comments with ids come and go.
    found += [f"<!-- {identity} -->".encode() for identity in _other_entries(plan, plan.before)]
    if plan.before is None or plan.after is None:
        found += [AGENTS_IMPORT.encode(), improvements.SKELETON.encode()]
    return frozenset(_bare(line) for raw in found for line in split(_text(raw)))


def _changed_entries(plan: Plan) -> list[str]:
    """Other learnings that are gone, new or reworded."""
    old, new = _other_entries(plan, plan.before), _other_entries(plan, plan.after)
    return [identity for identity in {**old, **new} if old.get(identity) != new.get(identity)]


def _other_entries(plan: Plan, data: bytes | None) -> dict[str, str]:
    if plan.target.form != "block":
        return {}
    return {entry.id: entry.text for entry in _entries(data) if entry.id not in _ids(plan)}


def _entries(data: bytes | None) -> tuple[finding.Entry, ...]:
    found = finding.find(data)
    return found.entries if found else ()


def _ids(plan: Plan) -> tuple[str, ...]:
    return (plan.learning, plan.replaces) if plan.replaces else (plan.learning,)


def _rules_id(data: bytes | None) -> str | None:
    if data is None:
        return None
    live = rulesfile.parse(data)
    return live.id if live else "a file of somebody else"


def _new_rules_file(target: Target, before: bytes | None, item: Rule) -> bytes:
    if before is not None:
        raise ReflectError(f"'{target.path}' exists already", "choose another topic", code="duplicate")
    return rulesfile.render(_rules_file(item))


def _rules_file(item: Rule) -> RulesFile:
    return RulesFile(item.id, item.text, item.paths)


def _checked(plan: Plan) -> Plan:
    check(plan)
    return plan


def _sha256(data: bytes | None) -> str | None:
    return None if data is None else fingerprint(data)


@contextmanager
def _named(target: Target) -> Iterator[None]:
    """A file that cannot be patched is named."""
    try:
        yield
    except Unfit as error:
        raise Unfit(f"'{target.path}' cannot be changed: {error.message}", error.hint or "") from None
