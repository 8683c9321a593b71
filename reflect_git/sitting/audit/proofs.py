"""Decisions that claim a person, near which a session of Claude's ran something that could have made them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from reflect_git import paths
from reflect_git.adapters import ancestry
from reflect_git.adapters.redact import flatten, redact
from reflect_git.model.counts import plural
from reflect_git.model.ids import seconds_of, utc
from reflect_git.model.schema import SWITCHING_KINDS
from reflect_git.sitting.audit import sessions
from reflect_git.sitting.audit.invocations import HOOK, KEYS, OPAQUE, RUNS, STORE, TRANSCRIPT, Suspicion
from reflect_git.sitting.audit.matter import DECIDE, NOTE, Finding, Matter
from reflect_git.store.layout import path_of

if TYPE_CHECKING:
    from reflect_git.model.schema import Decision
    from reflect_git.sitting.audit.sessions import Suspect

TERMINAL, ASKED = "terminal", "ask-user-question"
# Kinds that change what is in force, or what the program may do without asking.
CHANGING = frozenset(("approved", "amended", "reverted", "applied", "superseded", "policy", "capture", "remote"))
_RULES = CHANGING.difference(SWITCHING_KINDS)
# What a verb can decide; a verb that is not listed can decide anything.
_CAN = {
    "approve": _RULES, "edit": _RULES, "review": _RULES, "sync": _RULES, "improvements": _RULES,
    "config": frozenset(("policy", "capture")), "audit": frozenset(("policy",)),
    "remote": frozenset(("policy", "remote")), "dismiss": frozenset(),
    **dict.fromkeys(("enable", "disable", "pause", "resume"), frozenset(("policy", "capture"))),
}  # fmt: skip
_ACCEPTED = "audit"
_ROADS = {TERMINAL: (RUNS, OPAQUE, KEYS, STORE), ASKED: (HOOK, TRANSCRIPT, STORE)}
_SAYS = {
    RUNS: "could have run it", OPAQUE: "ran a text that the transcript does not show", KEYS: "sent keys to a terminal",
    HOOK: "called the hook by hand", TRANSCRIPT: "wrote into the client's transcripts", STORE: "wrote into the store",
}  # fmt: skip
_LONGEST = 160


def look_at_proofs(matter: Matter) -> Iterator[Finding]:
    """Report each decision of this machine near which a session ran something that could have made it."""
    decided = claims(matter)
    moments = [seconds_of(made["timestamp"]) for made in decided]
    suspects = sessions.find_suspects(matter.store, matter.env, moments) if moments else []
    for made, moment in zip(decided, moments, strict=True):
        near = [
            (suspect, reason)
            for suspect in suspects
            for reason in suspect.reasons
            if reason.kind in _ROADS[made["by"]["road"]]
            and _fits(matter, made, reason)
            and suspect.is_near(reason, moment)
        ]
        if near:
            yield _finding(made, near[-1][0], near[-1][1], len({id(suspect) for suspect, _ in near}))


def look_at_unchecked(matter: Matter) -> Iterator[Finding]:
    """Say how many decisions cannot be compared with what sessions ran then."""
    gone = unchecked(matter)
    if gone:
        message = f"{plural(len(gone), 'decision')} cannot be checked: the transcripts of that time are gone"
        yield Finding("not-checked", NOTE, gone[-1]["id"], message, "the client keeps them for 'cleanupPeriodDays'")
    if not ancestry.is_readable():
        message = "this system does not show parent processes: only environment variables reveal Claude Code"
        yield Finding("not-checked", NOTE, "processes", message, "")


def claims(matter: Matter) -> list[Decision]:
    """Return what was decided on this machine by a person, as it says, and holds."""
    history = matter.scan.history
    return [
        made
        for made in history.decisions
        if made["machine"] == matter.store.machine and made["id"] not in history.void
        and made["kind"] in CHANGING and made["by"]["road"] in _ROADS
    ]  # fmt: skip


def unchecked(matter: Matter) -> list[Decision]:
    """Return the decisions that are older than the transcripts the client keeps, unless one still tells of them."""
    oldest = sessions.kept_since(matter.env, matter.now)
    old = [made for made in claims(matter) if seconds_of(made["timestamp"]) < oldest]
    spans = list(sessions.spans(paths.projects_dir(matter.env))) if old else []
    return [
        made for made in old if not any(first <= seconds_of(made["timestamp"]) <= last for _, first, last in spans)
    ]  # fmt: skip


def _fits(matter: Matter, made: Decision, reason: Suspicion) -> bool:
    """Tell whether a call that names a verb and ids can have made this decision."""
    if reason.kind != RUNS:
        return True
    if made["kind"] not in _CAN.get(reason.verb, CHANGING):
        return False
    if made["kind"] == "policy" and reason.verb in ("audit", "config"):
        return (made["subject"] == _ACCEPTED) == (reason.verb == "audit")
    known = {made["id"], made["subject"], made["reopens"], *matter.scan.history.signals_of(made)}
    return not reason.ids or bool(reason.ids & known)


def _finding(made: Decision, suspect: Suspect, reason: Suspicion, count: int) -> Finding:
    road = "a terminal" if made["by"]["road"] == TERMINAL else "a person's answer"
    shown = flatten(redact(suspect.command), _LONGEST)
    command = "".join(one if one.isprintable() else f"<U+{ord(one):04X}>" for one in shown)
    more = f", and {count - 1} more" if count > 1 else ""
    message = (
        f"'{made['id']}' claims {road}, and session {suspect.call.session or suspect.call.path} {_SAYS[reason.kind]} "
        f"at {utc(suspect.start)}{more}: {command}"
    )
    found = Finding("unproved", DECIDE, made["id"], message, "", path_of(made["id"]))
    is_rule = made["kind"] in ("approved", "amended", "applied")
    back = f"reflect-git revert {made['subject'] if is_rule else made['id']}"
    return replace(found, hint=f"if you decided it: reflect-git audit --accept {found.key}; if not: {back}")
