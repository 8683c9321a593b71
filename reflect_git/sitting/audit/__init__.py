"""Does every learned line trace to an approval, and every approval to a person? Looking changes nothing.

matter       what is looked at, read once, and what a finding is
commits      records are never edited or deleted, and trailers say what the records say
approvals    rule → decision → answer → the client's transcript
lines        the live files, line by line, and the mirrors on main
evidence     what stands behind each rule in force
authors      who wrote what no approval stands behind
proofs       decisions near which a session of Claude's ran something that could have made them
sessions     what those sessions ran
commands     whether the text of a call could have decided something; `invocations` and `programs` are its tables
condition    objects, refs, clock, policies, signatures
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

from reflect_git import __version__
from reflect_git.adapters import ancestry
from reflect_git.errors import ReflectError
from reflect_git.model.counts import plural
from reflect_git.model.ids import utc, utc_precise
from reflect_git.sitting.audit import approvals, authors, commits, condition, evidence, lines, proofs
from reflect_git.sitting.audit.matter import ERROR, Finding, Matter
from reflect_git.store import memory
from reflect_git.store.care import guard
from reflect_git.store.repository import MAIN

if TYPE_CHECKING:
    from reflect_git.model.schema import By, Decision
    from reflect_git.store.reading import Scan
    from reflect_git.store.repository import Store

T = TypeVar("T")
Look = Callable[[Matter], Iterator[Finding]]

# What costs little, and what asks more of git, of the disk or of the client's transcripts.
QUICK: tuple[Look, ...] = (
    commits.look_at_records, commits.look_at_commits, approvals.look_at_learnings, approvals.look_at_roads,
    commits.look_at_receipts, commits.look_at_backups,
    lines.look_at_lines, condition.look_at_refs, condition.look_at_files, condition.look_at_clock,
    condition.look_at_policies, condition.look_at_missing,
)  # fmt: skip
THOROUGH: tuple[Look, ...] = (
    condition.look_at_objects, approvals.look_at_answers, approvals.look_at_names, condition.look_at_signatures,
    proofs.look_at_proofs, proofs.look_at_unchecked,
)  # fmt: skip
SUBJECT = "audit"


@dataclass(frozen=True)
class Report:
    """A document that stands for itself: when, where and by what it was made, what was found, and the evidence."""

    time: str
    store: str
    machine: str
    main: str
    findings: tuple[Finding, ...]
    rules: list[dict[str, Any]]
    authors: list[dict[str, Any]]
    policies: list[dict[str, Any]]
    counts: dict[str, int]

    @property
    def ok(self) -> bool:
        return not any(one.needs_decision for one in self.findings)

    def as_json(self) -> dict[str, Any]:
        return {
            "ok": self.ok, "time": self.time, "program": f"reflect-git {__version__}", "store": self.store,
            "machine": self.machine, "main": self.main, "findings": [_as_json(one) for one in self.findings],
            "rules": self.rules, "authors": self.authors, "policies": self.policies, "counts": self.counts,
        }  # fmt: skip


def audit(
    store: Store, env: Mapping[str, str], now: float, read: Callable[[Store], Scan], folder: str = ""
) -> Report:  # fmt: skip
    """Everything that no approval stands behind, and everything that says something else than it should."""
    matter = Matter(store, env, now, read, folder)
    sheets = _unless_broken(lambda: lines.sheets(matter)) or []
    whose = authors.whose(matter, sheets)
    looked = [finding for look in (*QUICK, *THOROUGH) for finding in _guarded(look, matter)]
    found = dict.fromkeys([*looked, *authors.by_claude(whose)])
    accepted = _unless_broken(lambda: _accepted(matter)) or {}
    judged = tuple(replace(one, accepted=accepted.get(one.key, "")) for one in found)
    needing = {
        "needing_decision": sum(one.needs_decision for one in judged),
        "unchecked": _unless_broken(lambda: _unchecked(matter)) or 0,
    }
    return Report(
        utc(now), store.root, store.machine, store.git.resolve(MAIN) or "", judged,
        (_unless_broken(lambda: evidence.of_rules(matter, sheets)) or []), authors.counted(whose),
        (_unless_broken(lambda: condition.policies(matter)) or []),
        {**(_unless_broken(lambda: _counts(matter)) or {}), **needing},
    )  # fmt: skip


def quick(store: Store, env: Mapping[str, str], now: float, read: Callable[[Store], Scan]) -> list[Finding]:
    """What needs a decision, without asking for objects, transcripts and signatures."""
    matter = Matter(store, env, now, read)
    found = dict.fromkeys(finding for look in QUICK for finding in _guarded(look, matter))
    accepted = _unless_broken(lambda: _accepted(matter)) or {}
    return [one for one in found if one.needs_decision and one.key not in accepted]


def _unless_broken(ask: Callable[[], T]) -> T | None:
    """Where main cannot be read, the checks say so; the rest of the document is what can be told."""
    try:
        return ask()
    except (ReflectError, OSError):
        return None


def _guarded(look: Look, matter: Matter) -> Iterator[Finding]:
    """A check that cannot be made is a finding, and the others go on."""
    try:
        yield from look(matter)
    except (ReflectError, OSError) as error:
        what = look.__name__.removeprefix("look_at_")
        yield Finding("unchecked", ERROR, what, f"the {what} cannot be checked: {error}", "see 'reflect-git doctor'")


def _accepted(matter: Matter) -> dict[str, str]:
    """Key of a finding → the decision in which a person accepted it, while that stands."""
    history = matter.scan.history
    made = [one for one in history.decisions if one["kind"] == "policy" and one["subject"] == SUBJECT]
    return {
        str(key): one["id"] for one in made if one["id"] not in history.void for key in one["meta"].get("accepted", ())
    }


def accept(store: Store, findings: Iterable[Finding], by: By, reason: str = "") -> Decision:
    """A person takes these as they are: one decision, one commit, and the next audit says who and when."""
    chosen = list(findings)
    told = [f"{one.code} {one.subject}" for one in chosen]
    made = memory.decision(
        store, "policy", SUBJECT, by, utc_precise(), reason=reason,
        meta={"accepted": [one.key for one in chosen], "findings": told},
    )  # fmt: skip
    memory.record(store, [made], f"policy: {plural(len(chosen), 'finding')} accepted", {"Approved-By": [by["road"]]})
    return made


def leave_removed(
    store: Store, env: Mapping[str, str], now: float, read: Callable[[Store], Scan], commit: str, by: By
) -> None:  # fmt: skip
    """What a commit took out of main, and was put back, stays so: neither a review nor an audit asks again."""
    matter = Matter(store, env, now, read)
    taken = [finding for one in matter.commits if one.id == commit for finding in commits.deleted(matter, one)]
    open_ones = [one for one in taken if one.needs_decision]
    if open_ones:
        accept(store, open_ones, by)
    guard.forget_removed(store, commit)


def _counts(matter: Matter) -> dict[str, int]:
    """How much was looked at."""
    scan, roads = matter.scan, [one["by"]["road"] for one in matter.scan.history.decisions]
    return {
        "commits": len(matter.commits), "signed": sum(one.is_signed for one in matter.commits),
        "learnings": len(scan.history.learnings), "in_force": len(matter.in_force), "decisions": len(roads),
        **{road: roads.count(road) for road in sorted(set(roads))},
    }  # fmt: skip


def _unchecked(matter: Matter) -> int:
    """Count the decisions whose proof cannot be looked at."""
    gone = {made["id"] for made in [*proofs.unchecked(matter), *approvals.without_transcript(matter)]}
    return len(gone) if ancestry.is_readable() else len(gone | {made["id"] for made in proofs.claims(matter)})


def _as_json(finding: Finding) -> dict[str, Any]:
    found = asdict(finding)
    return {**found, "file": finding.file or None, "line": finding.line or None, "hint": finding.hint or None,
            "accepted": finding.accepted or None, "path": finding.path or None, "key": finding.key}  # fmt: skip
