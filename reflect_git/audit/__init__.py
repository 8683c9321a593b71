"""Check that every learned line traces to an approval, and every approval to a person. An audit changes nothing.

context      the audit's inputs, each read once, and the form of a finding
store_state  commits, records, trailers, receipts, backups, objects, refs, clock, policies, signatures
approvals    rule → decision → answer → the client's transcript; the evidence for each rule in force
lines        the live files, line by line, with authors, and the snapshots on main
proofs       decisions near which a session of Claude's ran something that could have made them
commands     whether the text of a call could have decided something
invocations  whether the arguments of our program decide something; tables of programs
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

from reflect_git import __version__
from reflect_git.audit import approvals, lines, proofs, store_state
from reflect_git.audit.context import ERROR, Finding, Matter
from reflect_git.errors import ReflectError
from reflect_git.platform import processes
from reflect_git.records.ids import plural, utc, utc_precise
from reflect_git.store import api
from reflect_git.store.main import user_git
from reflect_git.store.repository import MAIN

if TYPE_CHECKING:
    from reflect_git.records.schema import By, Decision
    from reflect_git.store.reading.reader import Scan
    from reflect_git.store.repository import Store

T = TypeVar("T")
Look = Callable[[Matter], Iterator[Finding]]

# QUICK checks cost little; THOROUGH ones need more of git, of the disk or of the client's transcripts.
QUICK: tuple[Look, ...] = (
    store_state.look_at_records, store_state.look_at_commits, approvals.look_at_learnings, approvals.look_at_roads,
    store_state.look_at_receipts, store_state.look_at_backups,
    lines.look_at_lines, store_state.look_at_refs, store_state.look_at_files, store_state.look_at_clock,
    store_state.look_at_policies, store_state.look_at_missing,
)  # fmt: skip
THOROUGH: tuple[Look, ...] = (
    store_state.look_at_objects, approvals.look_at_answers, approvals.look_at_names, store_state.look_at_signatures,
    proofs.look_at_proofs, proofs.look_at_captures, proofs.look_at_unchecked,
)  # fmt: skip
SUBJECT = "audit"


@dataclass(frozen=True)
class Report:
    """A self-contained report: when, where and by what it was made, the findings, and the evidence."""

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
    """Report everything without an approval, and every record that contradicts another."""
    matter = Matter(store, env, now, read, folder)
    sheets = _unless_broken(lambda: lines.sheets(matter)) or []
    whose = lines.whose(matter, sheets)
    looked = [finding for look in (*QUICK, *THOROUGH) for finding in _guarded(look, matter)]
    found = dict.fromkeys([*looked, *lines.by_claude(whose)])
    accepted = _unless_broken(lambda: _accepted(matter)) or {}
    judged = tuple(replace(one, accepted=accepted.get(one.key, "")) for one in found)
    needing = {
        "needing_decision": sum(one.needs_decision for one in judged),
        "unchecked": _unless_broken(lambda: _unchecked(matter)) or 0,
    }
    return Report(
        utc(now), store.root, store.machine, store.git.resolve(MAIN) or "", judged,
        (_unless_broken(lambda: approvals.of_rules(matter, sheets)) or []), lines.counted(whose),
        (_unless_broken(lambda: store_state.policies(matter)) or []),
        {**(_unless_broken(lambda: _counts(matter)) or {}), **needing},
    )  # fmt: skip


def quick(store: Store, env: Mapping[str, str], now: float, read: Callable[[Store], Scan]) -> list[Finding]:
    """List what needs a decision, without checking objects, transcripts and signatures."""
    matter = Matter(store, env, now, read)
    found = dict.fromkeys(finding for look in QUICK for finding in _guarded(look, matter))
    accepted = _unless_broken(lambda: _accepted(matter)) or {}
    return [one for one in found if one.needs_decision and one.key not in accepted]


def _unless_broken(ask: Callable[[], T]) -> T | None:
    """Return the result, or None if main cannot be read: the checks report that, and the rest still works."""
    try:
        return ask()
    except (ReflectError, OSError):
        return None


def _guarded(look: Look, matter: Matter) -> Iterator[Finding]:
    """Run a check; report a check that fails as a finding, so that the others still run."""
    try:
        yield from look(matter)
    except (ReflectError, OSError) as error:
        what = look.__name__.removeprefix("look_at_")
        yield Finding("unchecked", ERROR, what, f"the {what} cannot be checked: {error}", "see 'reflect-git doctor'")


def _accepted(matter: Matter) -> dict[str, str]:
    """Map keys of findings to the decisions by which a person accepted them, unless reverted."""
    history = matter.scan.history
    made = [one for one in history.decisions if one["kind"] == "policy" and one["subject"] == SUBJECT]
    return {
        str(key): one["id"] for one in made if one["id"] not in history.void for key in one["meta"].get("accepted", ())
    }


def accept(store: Store, findings: Iterable[Finding], by: By, reason: str = "") -> Decision:
    """Accept findings: one decision, one commit; the next audit shows who did it and when."""
    chosen = list(findings)
    told = [f"{one.code} {one.subject}" for one in chosen]
    made = api.decision(
        store, "policy", SUBJECT, by, utc_precise(), reason=reason,
        meta={"accepted": [one.key for one in chosen], "findings": told},
    )  # fmt: skip
    api.record(store, [made], f"policy: {plural(len(chosen), 'finding')} accepted", {"Approved-By": [by["road"]]})
    return made


def leave_removed(
    store: Store, env: Mapping[str, str], now: float, read: Callable[[Store], Scan], commit: str, by: By
) -> None:  # fmt: skip
    """Keep records that a commit removed from main and that were put back: no review or audit asks again."""
    matter = Matter(store, env, now, read)
    taken = [finding for one in matter.commits if one.id == commit for finding in store_state.deleted(matter, one)]
    open_ones = [one for one in taken if one.needs_decision]
    if open_ones:
        accept(store, open_ones, by)
    user_git.forget_removed(store, commit)


def _counts(matter: Matter) -> dict[str, int]:
    """Count what was examined."""
    scan, roads = matter.scan, [one["by"]["road"] for one in matter.scan.history.decisions]
    return {
        "commits": len(matter.commits), "signed": sum(one.is_signed for one in matter.commits),
        "learnings": len(scan.history.learnings), "in_force": len(matter.in_force), "decisions": len(roads),
        **{road: roads.count(road) for road in sorted(set(roads))},
    }  # fmt: skip


def _unchecked(matter: Matter) -> int:
    """Count the decisions whose proof cannot be checked."""
    gone = {made["id"] for made in [*proofs.unchecked(matter), *approvals.without_transcript(matter)]}
    return len(gone) if processes.is_readable() else len(gone | {made["id"] for made in proofs.claims(matter)})


def _as_json(finding: Finding) -> dict[str, Any]:
    found = asdict(finding)
    return {**found, "file": finding.file or None, "line": finding.line or None, "hint": finding.hint or None,
            "accepted": finding.accepted or None, "path": finding.path or None, "key": finding.key}  # fmt: skip
