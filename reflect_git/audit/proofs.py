"""Check decisions that claim a person against what Claude's sessions ran at that time."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from reflect_git import paths
from reflect_git.audit import commands
from reflect_git.audit.context import DECIDE, NOTE, AuditContext, Finding
from reflect_git.audit.invocations import (
    CAPTURES,
    HOOK,
    KEYS,
    OPAQUE,
    PAGE,
    PANEL_VERB,
    RUNS,
    STORE,
    TRANSCRIPT,
    Suspicion,
)
from reflect_git.capture.transcript import open_transcript
from reflect_git.capture.transcript.calls import ToolCall, find_result, read_tool_calls
from reflect_git.errors import ReflectError
from reflect_git.platform import files, processes
from reflect_git.records import json_form
from reflect_git.records.ids import parse_utc, plural, utc
from reflect_git.records.schema import SETTING_KINDS
from reflect_git.redact import flatten, redact
from reflect_git.rules.approver import PANEL
from reflect_git.rules.drift.shell_writes import SessionWrites, command_of, record_edit
from reflect_git.rules.keep import CHANNEL as KEEP
from reflect_git.store.repository import get_record_path

if TYPE_CHECKING:
    from reflect_git.records.schema import Decision, Signal
    from reflect_git.store.repository import Store

TERMINAL, ASK_USER_QUESTION = "terminal", "ask-user-question"
# Kinds that change what is in force, or what the program may do without asking.
CHANGING_KINDS = frozenset((
    "approved", "amended", "reverted", "applied", "superseded", "guarded", "unguarded", "pinned", "policy", "capture",
    "remote",
))  # fmt: skip
_RULE_KINDS = CHANGING_KINDS.difference(SETTING_KINDS)
# The kinds that a verb can decide; a verb that is not listed can decide anything.
_KINDS_BY_VERB = {
    "approve": _RULE_KINDS,
    "promote": _RULE_KINDS,
    "edit": _RULE_KINDS,
    "review": _RULE_KINDS,
    "sync": _RULE_KINDS,
    "improvements": _RULE_KINDS,
    "guard": frozenset(("guarded",)),
    "unguard": frozenset(("unguarded",)),
    "pin": frozenset(("pinned",)),
    "unpin": frozenset(("reverted",)),
    "config": frozenset(("policy", "capture")),
    "audit": frozenset(("policy",)),
    "remote": frozenset(("policy", "remote")),
    "dismiss": frozenset(),
    **dict.fromkeys(("enable", "disable", "pause", "resume"), frozenset(("policy", "capture"))),
}
_ACCEPTANCE_SUBJECT = "audit"
_SUSPICIONS_BY_CHANNEL = {
    TERMINAL: (RUNS, OPAQUE, KEYS, STORE), PANEL: (PAGE, RUNS, OPAQUE, KEYS, STORE),
    ASK_USER_QUESTION: (HOOK, TRANSCRIPT, STORE), KEEP: (HOOK, RUNS, OPAQUE, KEYS, TRANSCRIPT, STORE),
}  # fmt: skip
_VERBS_WITH_A_CHANNEL = frozenset(
    (PANEL_VERB, KEEP)
)  # such a verb decides in the channel of its name, and no other does
_CHANNEL_NAMES = {TERMINAL: "a terminal", PANEL: "the panel"}
_OWN_WORDS = ("user_typed", "user_feedback")
_MANUAL_SOURCE = "manual"  # the source of a signal that no hook captured
_DESCRIPTIONS = {
    RUNS: "could have run it", CAPTURES: "could have captured it", KEYS: "sent keys to a terminal",
    OPAQUE: "ran a text that the transcript does not show",
    PAGE: "could have used the panel",
    HOOK: "called the hook by hand", TRANSCRIPT: "wrote into the client's transcripts", STORE: "wrote into the store",
}  # fmt: skip
_MAX_COMMAND_LENGTH = 160


def check_proofs(ctx: AuditContext) -> Iterator[Finding]:
    """Report each decision of this machine that a session could have made at that time."""
    decided = list_personal_decisions(ctx)
    moments = [parse_utc(made["timestamp"]) for made in decided]
    suspects = find_suspects(ctx.store, ctx.env, moments) if moments else []
    for made, moment in zip(decided, moments, strict=True):
        kinds = _SUSPICIONS_BY_CHANNEL[made["by"]["road"]]
        near = [
            (suspect, reason)
            for suspect, reason in _list_near(suspects, moment, kinds)
            if _can_decide(ctx, made, reason)
        ]
        if near:
            yield _build_finding(made, near[-1][0], near[-1][1], len({id(suspect) for suspect, _ in near}))


def check_captures(ctx: AuditContext) -> Iterator[Finding]:
    """Report each signal marked as typed at a terminal that a session could have captured at that time.

    Dismissed signals are harmless and skipped. A person saw the text of signals behind a rule, so there an opaque call
    is not enough.
    """
    typed = _list_manual_signals(ctx)
    moments = [parse_utc(signal["stored"]) for signal in typed]
    suspects = find_suspects(ctx.store, ctx.env, moments) if moments else []
    for signal, moment in zip(typed, moments, strict=True):
        near = _list_near(suspects, moment, (CAPTURES, OPAQUE) if signal["status"] == "captured" else (CAPTURES,))
        if near:
            suspect, reason = near[-1]
            described = _describe_suspect(suspect, reason, len(near))
            message = f"'{signal['id']}' claims to be typed at a terminal, and {described}"
            found = Finding("unproved", DECIDE, signal["id"], message, "", get_record_path(signal["id"]))
            no = f"reflect-git dismiss {signal['id']}"
            yield replace(found, hint=f"if you typed it: reflect-git audit --accept {found.key}; if not: {no}")


def _list_near(suspects: Sequence[Suspect], moment: float, kinds: Sequence[str]) -> list[tuple[Suspect, Suspicion]]:
    """List the calls that could have acted at a moment, each with every reason of these kinds."""
    return [
        (suspect, reason)
        for suspect in suspects
        for reason in suspect.reasons
        if reason.kind in kinds and suspect.is_near(reason, moment)
    ]


def _list_manual_signals(ctx: AuditContext) -> list[Signal]:
    """Return this machine's manual signals that count as the user's own words."""
    columns = ctx.scan.columns
    own = [
        row
        for row in ctx.scan.rows
        if columns["trust"][row] in _OWN_WORDS and columns["status"][row] not in ("dismissed", "archived")
    ]
    return [
        signal
        for signal in ctx.scan.get_signals(own)
        if signal["machine"] == ctx.store.machine and signal["source"]["hook"] == _MANUAL_SOURCE
    ]


def check_unchecked(ctx: AuditContext) -> Iterator[Finding]:
    """Note how many decisions cannot be compared with what sessions ran."""
    gone = list_unchecked(ctx)
    if gone:
        message = f"{plural(len(gone), 'decision')} cannot be checked: the transcripts of that time are gone"
        yield Finding("not-checked", NOTE, gone[-1]["id"], message, "the client keeps them for 'cleanupPeriodDays'")
    if not processes.can_list_parents():
        message = "this system does not show parent processes: only environment variables reveal Claude Code"
        yield Finding("not-checked", NOTE, "processes", message, "")


def list_personal_decisions(ctx: AuditContext) -> list[Decision]:
    """Return the decisions in force on this machine that claim to be a person's."""
    history = ctx.scan.history
    return [
        made
        for made in history.decisions
        if made["machine"] == ctx.store.machine and made["id"] not in history.void_decisions
        and made["kind"] in CHANGING_KINDS and made["by"]["road"] in _SUSPICIONS_BY_CHANNEL
    ]  # fmt: skip


def list_unchecked(ctx: AuditContext) -> list[Decision]:
    """Return the decisions older than the client's transcripts, unless one still covers their time."""
    oldest = get_transcripts_since(ctx.env, ctx.now)
    old = [made for made in list_personal_decisions(ctx) if parse_utc(made["timestamp"]) < oldest]
    spans = list(session_spans(paths.projects_dir(ctx.env))) if old else []
    return [
        made for made in old if not any(first <= parse_utc(made["timestamp"]) <= last for _, first, last in spans)
    ]  # fmt: skip


def _can_decide(ctx: AuditContext, made: Decision, reason: Suspicion) -> bool:
    """Tell whether a call with its verb and ids can have made this decision."""
    if reason.kind != RUNS:
        return True
    if reason.verb and _VERBS_WITH_A_CHANNEL & {reason.verb, made["by"]["road"]}:
        return reason.verb == made["by"]["road"]
    if made["kind"] not in _KINDS_BY_VERB.get(reason.verb, CHANGING_KINDS):
        return False
    if made["kind"] == "policy" and reason.verb in ("audit", "config"):
        return (made["subject"] == _ACCEPTANCE_SUBJECT) == (reason.verb == "audit")
    known = {made["id"], made["subject"], made["reopens"], *ctx.scan.history.get_signals(made)}
    return not reason.ids or bool(reason.ids & known)


def _build_finding(made: Decision, suspect: Suspect, reason: Suspicion, count: int) -> Finding:
    channel = _CHANNEL_NAMES.get(made["by"]["road"], "a person's answer")
    message = f"'{made['id']}' claims {channel}, and {_describe_suspect(suspect, reason, count)}"
    found = Finding("unproved", DECIDE, made["id"], message, "", get_record_path(made["id"]))
    is_rule = made["kind"] in ("approved", "amended", "applied")
    back = f"reflect-git revert {made['subject'] if is_rule else made['id']}"
    return replace(found, hint=f"if you decided it: reflect-git audit --accept {found.key}; if not: {back}")


def _describe_suspect(suspect: Suspect, reason: Suspicion, count: int) -> str:
    """Describe what a session did, and when; the command is redacted and has no control characters."""
    shown = flatten(redact(suspect.command), _MAX_COMMAND_LENGTH)
    command = "".join(one if one.isprintable() else f"<U+{ord(one):04X}>" for one in shown)
    more = f", and {count - 1} more" if count > 1 else ""
    who = suspect.call.session or suspect.call.path
    return f"session {who} {_DESCRIPTIONS[reason.kind]} at {utc(suspect.start)}{more}: {command}"


DAY = 86400
# The longest time that the client lets a Bash call run. A process left behind waits for nobody, so it decides soon.
MAX_CALL_SECONDS = 600
# A call that runs the program directly ends with it; the transcript's clock and ours may differ slightly.
END_MARGIN = 60
START_MARGIN = 2
_DEFAULT_CLEANUP_DAYS = 30  # the client deletes older transcripts, unless its settings differ
_HEAD_BYTES = 1 << 16
EDIT_TOOLS = frozenset(("Write", "Edit", "MultiEdit"))
_TIMESTAMP = re.compile(rb'"timestamp": ?"(\d{4}-[^"]{15,30})"')
_DELAYED_COMMAND = re.compile(r"reflect|\bat\b|batch|crontab|systemd-run|sleep")
_WRITE_COMMAND = re.compile(r">|\btee\b|\bcp\b|\bmv\b|\bln\b|\balias\b|\binstall\b")


@dataclass(frozen=True)
class Suspect:
    """A call that could have decided something."""

    call: ToolCall
    command: str
    start: float
    reasons: tuple[Suspicion, ...]
    projects: str

    @cached_property
    def result(self) -> tuple[float, bool]:
        """Return when the call ended and whether it failed. Without a result, assume the longest possible run."""
        try:
            found = find_result(self.call, self.projects)
        except (ReflectError, OSError):
            found = None
        return (parse_utc(found[0]), found[1]) if found else (self.start + MAX_CALL_SECONDS, False)

    def is_near(self, reason: Suspicion, moment: float) -> bool:
        """Tell whether what this call started can have decided something at a moment."""
        if moment < self.start - START_MARGIN:
            return False
        if reason.is_scheduled and reason.kind in (RUNS, CAPTURES):
            return moment <= self.start + DAY
        if moment > self.start + 2 * MAX_CALL_SECONDS + END_MARGIN:
            return False
        end, has_failed = self.result
        if reason.is_plain:
            return not has_failed and moment <= end + END_MARGIN
        return moment <= max(end, self.start) + MAX_CALL_SECONDS


def find_suspects(store: Store, env: Mapping[str, str], moments: Sequence[float]) -> list[Suspect]:
    """Return the calls near these moments that could have decided something, oldest first."""
    projects = paths.projects_dir(env)
    listed: list[ToolCall] = []
    for path in find_transcripts(projects, moments):
        try:
            listed += (call for call in read_tool_calls(path, projects) if call.timestamp)
        except (ReflectError, OSError):
            continue
    listed.sort(key=lambda call: call.timestamp)
    return list(_check_calls(store, projects, listed, sorted(moments)))


def _check_calls(
    store: Store, projects: str, listed: Sequence[ToolCall], moments: Sequence[float]
) -> Iterator[Suspect]:
    written, armed = SessionWrites(), False
    folders = (store.root, os.path.realpath(store.root), ".claude/reflections")
    for call in listed:
        record_edit(call, written)
        text = command_of(call)
        armed = armed or any(commands.decides_when_run(path, written.files[path]) for path in written.pop_new())
        start = parse_utc(call.timestamp)
        place = commands.WatchedPaths(folders, (projects, ".claude/projects"), call.cwd)
        used = tuple(commands.check_page_use(call.tool, text))
        if not text:
            if used:
                yield Suspect(call, call.tool, start, used, projects)
            path = call.input.get("file_path")
            if isinstance(path, str) and call.tool in EDIT_TOOLS:
                begun = commands.check_startup_file(path, written.files.get(path, ""))
                edited = (*commands.check_write(path, place), *begun)
                if edited:
                    yield Suspect(call, f"{call.tool} {path}", start, edited, projects)
            continue
        following = [moment for moment in moments if start - START_MARGIN <= moment <= start + DAY]
        is_soon = any(moment <= start + 2 * MAX_CALL_SECONDS + END_MARGIN for moment in following)
        if is_soon or (following and _DELAYED_COMMAND.search(text)):
            reasons = commands.find_suspicions(text, written, place)
            armed = armed or written.has_stored_command
            armed = armed or any(commands.decides_when_run(path, written.files[path]) for path in written.pop_new())
            if armed and is_soon and not reasons and commands.runs_programs(text, written.changes_git_programs):
                reasons = [Suspicion(RUNS)]
            if reasons or used:
                yield Suspect(call, text, start, (*reasons, *used), projects)
        elif _WRITE_COMMAND.search(text) or _DELAYED_COMMAND.search(text):
            commands.find_suspicions(text, written, place)  # only to record what it writes
        armed = armed or any(commands.decides_when_run(path, written.files[path]) for path in written.pop_new())


def find_transcripts(projects: str, moments: Sequence[float]) -> list[str]:
    """Return the transcripts that cover these moments, including those of agents."""
    return [
        path
        for path, first, last in session_spans(projects)
        if any(first - START_MARGIN <= one <= last + DAY for one in moments)
    ]


def session_spans(projects: str) -> Iterator[tuple[str, float, float]]:
    """Yield each transcript with the time of its first entry and of its last change.

    The inode's change time counts as well: `touch` can set the modification time back.
    """
    for folder, _, names in os.walk(projects):
        for name in names:
            path = os.path.join(folder, name)
            if not name.endswith(".jsonl"):
                continue
            try:
                descriptor = open_transcript(path, projects)
            except (ReflectError, OSError):
                continue
            try:
                status, first = os.fstat(descriptor), _TIMESTAMP.search(os.read(descriptor, _HEAD_BYTES))
            finally:
                os.close(descriptor)
            begun = parse_utc(first[1].decode("ascii", "replace")) if first else 0.0
            yield path, begun, max(status.st_mtime, status.st_ctime)


def get_transcripts_since(env: Mapping[str, str], now: float) -> float:
    """Return the time since which the client keeps every transcript, according to its settings."""
    try:
        data = files.read_if_exists(os.path.join(paths.config_dir(env), "settings.json"), 4 << 20)
        days = json_form.loads((data or b"{}").decode("utf-8", "replace")).get("cleanupPeriodDays")
    except (OSError, ValueError, RecursionError, AttributeError):
        days = None
    return now - DAY * (days if isinstance(days, int) and days > 0 else _DEFAULT_CLEANUP_DAYS)
