"""Check that every rule traces to a decision, and every decision to a person: by terminal, answer or policy."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from reflect_git import paths
from reflect_git.audit.context import DECIDE, NOTE, WARNING, AuditContext, Finding
from reflect_git.capture.transcript.dialogs import find_dialogs
from reflect_git.errors import ReflectError
from reflect_git.records.ids import digest, plural
from reflect_git.records.schema import GUARD_KINDS, SETTING_KINDS
from reflect_git.rules import keep
from reflect_git.rules.approver import NO_NAME_HINT, meaning_of
from reflect_git.rules.gate import find_missing_stages
from reflect_git.store.local import asked_questions
from reflect_git.store.repository import get_record_path

if TYPE_CHECKING:
    from reflect_git.audit.context import AuditedFile
    from reflect_git.records.schema import Decision, Learning

APPROVING_KINDS = ("approved", "applied", "amended")
_ANSWER_CHANNELS = ("ask-user-question", keep.CHANNEL)
_BROKEN_RULE_ANSWERS = {"reverted": "retire", "guarded": "guard"}
_GATED_KINDS = ("approved", "amended")
_MAX_QUESTIONS = 4  # the most questions that one dialog of the client can have


def check_learnings(ctx: AuditContext) -> Iterator[Finding]:
    """Report rules without a matching approval, and decisions whose text does not match its hash."""
    for record_id, learning in ctx.learnings.items():
        problem = _find_mismatch(learning, ctx.decisions.get(learning["decision"]))
        if problem:
            severity = DECIDE if record_id in ctx.in_force else WARNING
            hint = f"take it out: reflect-git revert {record_id}; its story: reflect-git show {record_id}"
            message = f"no approval for '{record_id}': {problem}"
            yield Finding("learning-unapproved", severity, record_id, message, hint, get_record_path(record_id))
    for record_id, made in ctx.decisions.items():
        if made["text"] is not None and made["text_sha256"] != digest(made["text"]):
            message = f"the text of '{record_id}' is not the one that was decided: its hash is another"
            hint = f"see: {ctx.format_git_command('log', '-p', '--', get_record_path(record_id))}"
            yield Finding("record-edited", DECIDE, record_id, message, hint, get_record_path(record_id))


def _find_mismatch(learning: Learning, made: Decision | None) -> str:
    """Return why a decision does not approve a learning, or ""."""
    if made is None:
        return f"there is no decision '{learning['decision']}'"
    if made["kind"] not in APPROVING_KINDS or made["subject"] != learning["id"]:
        return f"'{made['id']}' decides something else"
    if made["text"] != learning["text"] or made["text_sha256"] != digest(learning["text"]):
        return f"'{made['id']}' approved another text"
    if made["target"] != learning["target"]:
        return f"'{made['id']}' approved it for another file"
    return ""


def check_gates(ctx: AuditContext) -> Iterator[Finding]:
    """Report approvals without the result of every stage of the gate.

    Older programs stored none. So an approval without any counts only after the machine's first one with some.
    """
    first: dict[str, str] = {}
    for made in ctx.scan.history.decisions:
        if made["kind"] not in _GATED_KINDS or made["meta"].get("left"):  # one of several approved wordings
            continue
        missing = find_missing_stages(made["meta"])
        if "gate" in made["meta"]:
            first.setdefault(made["machine"], made["timestamp"])
        elif made["machine"] not in first:
            continue
        if missing:
            listed = ", ".join(missing) if "gate" in made["meta"] else "any"
            message = f"'{made['id']}' was approved without a result of the gate: {listed}"
            hint = f"see what the gate says now: reflect-git gate {made['id']}; {_get_revert_hint(made)}"
            yield Finding("gate-incomplete", DECIDE, made["id"], message, hint, get_record_path(made["id"]))


def check_channels(ctx: AuditContext) -> Iterator[Finding]:
    """Report what was decided without a person and without a policy in force at that time on that machine."""
    guarded = [
        one for one in ctx.scan.history.decisions if one["kind"] in GUARD_KINDS and one["by"]["road"] == "unattended"
    ]
    for made in (*_list_approvals(ctx, "unattended"), *guarded):
        if _get_policy(ctx, "reflect.approval", made) != "unattended":
            message = f"'{made['id']}' was approved unattended, and no policy allowed that then"
            yield Finding(
                "unattended", DECIDE, made["id"], message, _get_revert_hint(made), get_record_path(made["id"])
            )
    for made in _list_approvals(ctx, "autopilot"):
        if _get_policy(ctx, "reflect.autopilot", made) != "own-words":
            message = f"'{made['id']}' was approved by autopilot, and no policy allowed that then"
            path = get_record_path(made["id"])
            yield Finding("unattended", DECIDE, made["id"], message, _get_revert_hint(made), path)
    for made in ctx.scan.history.decisions:
        if made["by"]["road"] == "autorevert" and _get_policy(ctx, "reflect.autorevert", made) != "apply":
            message = f"'{made['id']}' was taken back by auto-revert, and no policy allowed that then"
            hint = f"undo it: reflect-git revert {made['id']}"
            yield Finding("unattended", DECIDE, made["id"], message, hint, get_record_path(made["id"]))


def check_names(ctx: AuditContext) -> Iterator[Finding]:
    """Note decisions without a person's name."""
    history = ctx.scan.history
    decided = [
        one for one in history.decisions if one["kind"] not in SETTING_KINDS and one["id"] not in history.void_decisions
    ]
    nameless = [one["id"] for one in decided if not one["by"]["name"]]
    if nameless:
        message = f"{plural(len(nameless), 'decision')} without a name; the last is '{nameless[-1]}'"
        yield Finding("nameless", NOTE, nameless[-1], message, NO_NAME_HINT)


def _list_answered(ctx: AuditContext) -> list[Decision]:
    """Return what was decided inside Claude Code, which requires a person's answer.

    Rules are approved there, and reverted or guarded after an answer about a broken rule.
    """
    answered = (*APPROVING_KINDS, *_BROKEN_RULE_ANSWERS)
    return [
        one for one in ctx.scan.history.decisions if one["kind"] in answered and one["by"]["road"] in _ANSWER_CHANNELS
    ]


def _list_approvals(ctx: AuditContext, *channels: str) -> list[Decision]:
    return [
        one for one in ctx.scan.history.decisions if one["kind"] in APPROVING_KINDS and one["by"]["road"] in channels
    ]


def _get_policy(ctx: AuditContext, key: str, decision: Decision) -> object:
    """Return the decided value of a policy on the machine of a decision when it was made; None for the default."""
    value = None
    for made in ctx.scan.history.decisions:
        switched = made["meta"].get("to")
        is_before = made["timestamp"][:19] <= decision["timestamp"][:19] and made["machine"] == decision["machine"]
        if made["kind"] == "policy" and is_before and isinstance(switched, dict):
            value = switched.get(key, value)
    return value


def _get_revert_hint(made: Decision) -> str:
    return f"take it back: reflect-git revert {made['id' if made['kind'] in GUARD_KINDS else 'subject']}"


def check_answers(ctx: AuditContext) -> Iterator[Finding]:
    """Report answers that were used twice, or that the client's transcript does not have."""
    rested = _list_answered(ctx)
    used: dict[tuple[str, str], list[Decision]] = {}
    for made in rested:
        answer = answer_of(made)
        if answer is None:
            message = f"'{made['id']}' names no answer of a person"
            yield Finding(
                "answer-missing", DECIDE, made["id"], message, _get_revert_hint(made), get_record_path(made["id"])
            )
        else:
            used.setdefault(answer, []).append(made)
    for (session, call), decided in used.items():
        yield from _check_replayed(ctx, session, call, decided)
    for session in {session for session, _ in used}:
        yield from _check_transcript(ctx, session, {call: made for (of, call), made in used.items() if of == session})


def answer_of(made: Decision) -> tuple[str, str] | None:
    """Return (session, call) in which the person answered, or None."""
    answer = made["meta"].get("answer")
    if not isinstance(answer, dict) or not answer.get("session") or not answer.get("call"):
        return None
    return str(answer["session"]), str(answer["call"])


def _check_replayed(ctx: AuditContext, session: str, call: str, decided: list[Decision]) -> Iterator[Finding]:
    """Report approvals that share one answer: of the same text or signal, or more than a dialog has questions."""
    seen: set[str] = set()
    for number, made in enumerate(decided):
        marks = {f"text {made['text_sha256']}", *ctx.scan.history.get_signals(made)}
        if seen & marks or number >= _MAX_QUESTIONS:
            message = f"'{made['id']}' rests on an answer that was used before: call {call} of session {session}"
            yield Finding(
                "answer-replayed", DECIDE, made["id"], message, _get_revert_hint(made), get_record_path(made["id"])
            )
        seen |= marks


def _check_transcript(ctx: AuditContext, session: str, used: Mapping[str, list[Decision]]) -> Iterator[Finding]:
    """Report approvals that the session's transcript, if it still exists, does not confirm."""
    transcript = find_transcript(ctx, session)
    everything = [made for decided in used.values() for made in decided]
    if not transcript:
        message = (
            f"session {session}: its transcript is gone; only the recorded answers support "
            f"{plural(len(everything), 'approval')}"
        )
        yield Finding("transcript-gone", NOTE, session, message, "")
        return
    dialog = dict(_read_dialogs(ctx, transcript))
    for call, decided in used.items():
        for made in decided:
            is_kept = made["by"]["road"] == keep.CHANNEL
            problem = _check_kept(ctx, transcript, made) if is_kept else _find_contradiction(made, dialog.get(call))
            if problem:
                message = f"'{made['id']}' rests on call {call}, and {problem}"
                yield Finding("answer-unfounded", DECIDE, made["id"], message, _get_revert_hint(made), transcript)


def _check_kept(ctx: AuditContext, transcript: str, made: Decision) -> str:
    """Return how the transcript contradicts what was decided in /keep, or ""."""
    kind = made["target"]["kind"] if made["target"] else ""
    meaning = _BROKEN_RULE_ANSWERS.get(made["kind"], kind)
    number = str(made["meta"]["answer"].get("question"))
    printed = keep.find_output(transcript, number, meaning, paths.projects_dir(ctx.env))
    if printed is None:
        return "/keep did not print that answer there"
    return f"the client did not write that answer: it {printed.problem}" if printed.problem else ""


def check_kept_answers(ctx: AuditContext) -> Iterator[Finding]:
    """Report answers to /keep that wait and that no person gave: somebody called the hook, or wrote the file."""
    for one in keep.list_waiting(ctx.store):
        # /keep does not print a typed wording. It shows it again, and the answer to that counts.
        why = keep.find_forgery(one, paths.projects_dir(ctx.env)) if meaning_of(one.label) else ""
        if why:
            message = f"an answer to /keep, '{one.label[:60]}' for '{one.subject}', is not a person's: {why}"
            hint = f"nothing was changed; see what session {one.session} ran at {one.time}"
            yield Finding("answer-forged", DECIDE, f"{one.subject} {one.number}", message, hint, one.path)


def list_without_transcript(ctx: AuditContext) -> list[Decision]:
    """Return the approvals inside Claude Code whose session no longer has a transcript."""
    rested = [(made, answer_of(made)) for made in _list_approvals(ctx, *_ANSWER_CHANNELS)]
    return [made for made, answer in rested if answer and not find_transcript(ctx, answer[0])]


def find_transcript(ctx: AuditContext, session: str) -> str:
    """Return the transcript of a session, below the folder of the project it started in; "" if it is gone."""
    name = os.path.join(glob.escape(paths.projects_dir(ctx.env)), "*", f"{glob.escape(session)}.jsonl")
    return next(iter(sorted(glob.glob(name))), "")


def _read_dialogs(ctx: AuditContext, transcript: str) -> Iterator[tuple[str, tuple[str, dict[str, str]]]]:
    """Yield (call, (why the client did not write it, text hash or subject → label)) for each answered dialog."""
    try:
        for dialog in find_dialogs(transcript, paths.projects_dir(ctx.env)):
            yield dialog.call, (dialog.problem, dict(_parse_answers(dialog.result.get("answers"))))
    except ReflectError:
        return


def _parse_answers(given: Any) -> Iterator[tuple[str, str]]:
    for question, label in given.items() if isinstance(given, dict) else ():
        answer = asked_questions.parse_answer(str(question), label)
        if answer:
            yield answer["sha256"], answer["label"]
            yield answer["subject"], answer["label"]


def _find_contradiction(made: Decision, dialog: tuple[str, dict[str, str]] | None) -> str:
    """Return how the transcript contradicts a decision, or ""."""
    if dialog is None:
        return "the transcript of that session has no such call"
    problem, labels = dialog
    if problem:
        return f"the client did not write that answer: it {problem}"
    answer = _BROKEN_RULE_ANSWERS.get(made["kind"])
    label = labels.get(made["subject"] if answer else str(made["text_sha256"]))
    if label is None:
        return "the person was asked for another text there"
    meant, kind = meaning_of(label), made["target"]["kind"] if made["target"] else ""
    allowed = (answer,) if answer else (kind, "sharpen") if made["kind"] == "amended" else (kind,)
    if meant not in allowed:
        return f"the person answered '{label[:60]}' there"
    return ""


_UNSIGNED = "unsigned"


def list_rule_evidence(ctx: AuditContext, sheets: Iterable[AuditedFile]) -> list[dict[str, Any]]:
    """List the evidence for each rule in force, oldest first; a rule that is in no file here has no lines."""
    where: dict[str, list[dict[str, Any]]] = {}
    for audited in sheets:
        for line in audited.lines:
            where.setdefault(line.id, []).append({"file": audited.path, "line": line.number})
    listed = sorted(ctx.in_force.values(), key=lambda one: (one["timestamp"], one["id"]))
    return [_build_rule_evidence(ctx, one, where.get(one["id"], [])) for one in listed]


def _build_rule_evidence(ctx: AuditContext, learning: Learning, lines: list[dict[str, Any]]) -> dict[str, Any]:
    history = ctx.scan.history
    approval = ctx.decisions.get(learning["decision"])
    changes = [
        made
        for made in history.decisions
        if made["subject"] == learning["id"] and made["kind"] == "amended" and made["id"] not in history.void_decisions
    ]
    return {
        "id": learning["id"], "text": learning["text"], "scope": learning["scope"], "target": learning["target"],
        "project": learning["project"]["name"] if learning["project"] else None, "trust": learning["trust"],
        "lines": lines, "approved": _describe_decision(ctx, approval) if approval else None,
        "amended": [_describe_decision(ctx, made) for made in changes],
    }  # fmt: skip


def _describe_decision(ctx: AuditContext, made: Decision) -> dict[str, Any]:
    """Describe a decision: by whom and where; `answer` identifies the person's answer in the client's records."""
    commit, answer = ctx.added_by.get(get_record_path(made["id"])), answer_of(made)
    return {
        "decision": made["id"], "time": made["timestamp"], "machine": made["machine"], "by": made["by"],
        "text_sha256": made["text_sha256"],
        "answer": {"session": answer[0], "call": answer[1]} if answer else None,
        "commit": commit.id if commit else None,
        "signature": ctx.signatures.get(commit.id, _UNSIGNED) if commit else None,
    }  # fmt: skip
