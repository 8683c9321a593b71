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
from reflect_git.audit.context import ERROR, AuditContext, Finding
from reflect_git.errors import ReflectError
from reflect_git.platform import processes
from reflect_git.records.ids import plural, utc, utc_precise
from reflect_git.store import api
from reflect_git.store.main import user_git
from reflect_git.store.repository import MAIN

if TYPE_CHECKING:
    from reflect_git.records.schema import Decision, DecisionAuthor
    from reflect_git.store.reading.reader import Scan
    from reflect_git.store.repository import Store

T = TypeVar("T")
Check = Callable[[AuditContext], Iterator[Finding]]

# QUICK checks cost little; THOROUGH ones need more of git, of the disk or of the client's transcripts.
QUICK_CHECKS: tuple[Check, ...] = (
    store_state.check_records, store_state.check_commits, approvals.check_learnings, approvals.check_gates,
    approvals.check_channels,
    store_state.check_receipts, store_state.check_backups,
    lines.check_lines, store_state.check_refs, store_state.check_files, store_state.check_clock,
    store_state.check_policies, store_state.check_missing, store_state.check_guards,
)  # fmt: skip
THOROUGH_CHECKS: tuple[Check, ...] = (
    store_state.check_objects, approvals.check_answers, approvals.check_kept_answers, approvals.check_names,
    store_state.check_signatures, store_state.check_decorative, proofs.check_proofs, proofs.check_captures,
    proofs.check_unchecked,
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
            "machine": self.machine, "main": self.main, "findings": [_finding_as_json(one) for one in self.findings],
            "rules": self.rules, "authors": self.authors, "policies": self.policies, "counts": self.counts,
        }  # fmt: skip


def run_audit(
    store: Store, env: Mapping[str, str], now: float, read: Callable[[Store], Scan], folder: str = ""
) -> Report:  # fmt: skip
    """Report everything without an approval, and every record that contradicts another."""
    ctx = AuditContext(store, env, now, read, folder)
    sheets = _get_or_none(lambda: lines.list_files(ctx)) or []
    whose = lines.find_line_authors(ctx, sheets)
    looked = [finding for look in (*QUICK_CHECKS, *THOROUGH_CHECKS) for finding in _run_check(look, ctx)]
    found = dict.fromkeys([*looked, *lines.report_claude_lines(whose)])
    accepted = _get_or_none(lambda: _map_accepted(ctx)) or {}
    judged = tuple(replace(one, accepted=accepted.get(one.key, "")) for one in found)
    needing = {
        "needing_decision": sum(one.needs_decision for one in judged),
        "unchecked": _get_or_none(lambda: _count_unchecked(ctx)) or 0,
    }
    return Report(
        utc(now), store.root, store.machine, store.git.resolve(MAIN) or "", judged,
        (_get_or_none(lambda: approvals.list_rule_evidence(ctx, sheets)) or []), lines.count_lines(whose),
        (_get_or_none(lambda: store_state.list_policies(ctx)) or []),
        {**(_get_or_none(lambda: _count_examined(ctx)) or {}), **needing},
    )  # fmt: skip


def run_quick_audit(store: Store, env: Mapping[str, str], now: float, read: Callable[[Store], Scan]) -> list[Finding]:
    """List what needs a decision, without checking objects, transcripts and signatures."""
    ctx = AuditContext(store, env, now, read)
    found = dict.fromkeys(finding for look in QUICK_CHECKS for finding in _run_check(look, ctx))
    accepted = _get_or_none(lambda: _map_accepted(ctx)) or {}
    return [one for one in found if one.needs_decision and one.key not in accepted]


def _get_or_none(ask: Callable[[], T]) -> T | None:
    """Return the result, or None if main cannot be read: the checks report that, and the rest still works."""
    try:
        return ask()
    except (ReflectError, OSError):
        return None


def _run_check(check: Check, ctx: AuditContext) -> Iterator[Finding]:
    """Run a check; report a check that fails as a finding, so that the others still run."""
    try:
        yield from check(ctx)
    except (ReflectError, OSError) as error:
        what = check.__name__.removeprefix("check_")
        yield Finding("unchecked", ERROR, what, f"the {what} cannot be checked: {error}", "see 'reflect-git doctor'")


def _map_accepted(ctx: AuditContext) -> dict[str, str]:
    """Map keys of findings to the decisions by which a person accepted them, unless reverted."""
    history = ctx.scan.history
    made = [one for one in history.decisions if one["kind"] == "policy" and one["subject"] == SUBJECT]
    return {
        str(key): one["id"]
        for one in made
        if one["id"] not in history.void_decisions
        for key in one["meta"].get("accepted", ())
    }


def accept_findings(store: Store, findings: Iterable[Finding], by: DecisionAuthor, reason: str = "") -> Decision:
    """Accept findings: one decision, one commit; the next audit shows who did it and when."""
    chosen = list(findings)
    labels = [f"{one.code} {one.subject}" for one in chosen]
    made = api.build_decision(
        store, "policy", SUBJECT, by, utc_precise(), reason=reason,
        meta={"accepted": [one.key for one in chosen], "findings": labels},
    )  # fmt: skip
    api.commit_records(
        store, [made], f"policy: {plural(len(chosen), 'finding')} accepted", {"Approved-By": [by["road"]]}
    )
    return made


def accept_removed(
    store: Store, env: Mapping[str, str], now: float, read: Callable[[Store], Scan], commit: str, by: DecisionAuthor
) -> None:  # fmt: skip
    """Keep records that a commit removed from main and that were put back: no review or audit asks again."""
    ctx = AuditContext(store, env, now, read)
    taken = [finding for one in ctx.commits if one.id == commit for finding in store_state.check_deleted(ctx, one)]
    open_ones = [one for one in taken if one.needs_decision]
    if open_ones:
        accept_findings(store, open_ones, by)
    user_git.delete_removed(store, commit)


def _count_examined(ctx: AuditContext) -> dict[str, int]:
    """Count what was examined."""
    scan, roads = ctx.scan, [one["by"]["road"] for one in ctx.scan.history.decisions]
    return {
        "commits": len(ctx.commits), "signed": sum(one.is_signed for one in ctx.commits),
        "learnings": len(scan.history.learnings), "in_force": len(ctx.in_force), "decisions": len(roads),
        **{road: roads.count(road) for road in sorted(set(roads))},
    }  # fmt: skip


def _count_unchecked(ctx: AuditContext) -> int:
    """Count the decisions whose proof cannot be checked."""
    gone = {made["id"] for made in [*proofs.list_unchecked(ctx), *approvals.list_without_transcript(ctx)]}
    return (
        len(gone)
        if processes.can_list_parents()
        else len(gone | {made["id"] for made in proofs.list_personal_decisions(ctx)})
    )


def _finding_as_json(finding: Finding) -> dict[str, Any]:
    found = asdict(finding)
    return {**found, "file": finding.file or None, "line": finding.line or None, "hint": finding.hint or None,
            "accepted": finding.accepted or None, "path": finding.path or None, "key": finding.key}  # fmt: skip
