"""Ask in /keep, and apply the answers: the same questions as /reflect, without a request to the model.

A small program inside the client (`hooks/keep.js`) shows them. A hook stores each answer. It counts once the client has
written what the command printed: the number of the question and the label. A command that the model runs cannot make
the client write that.
"""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from reflect_git.capture import service
from reflect_git.capture.transcript.dialogs import CommandOutput, find_command_outputs, find_last_time
from reflect_git.errors import ReflectError
from reflect_git.records.ids import digest, parse_utc, plural
from reflect_git.records.named_tuple import NamedTuple
from reflect_git.rules import approver, dismiss, revert
from reflect_git.rules.approve import Request, plan_approval, write_approval
from reflect_git.rules.approver import QuestionForm, build_question, meaning_of
from reflect_git.rules.client_questions import (
    MANY,
    build_broken_rule_form,
    build_candidate_form,
    build_overview_question,
)
from reflect_git.rules.context import load_context
from reflect_git.rules.derived_files import refresh_derived_files
from reflect_git.rules.guarding import broken_rules
from reflect_git.rules.guarding.guard_backtest import run_backtest
from reflect_git.rules.guarding.guards import write_guard
from reflect_git.rules.queue import load_queue
from reflect_git.rules.write_change import check_links, require_not_refused
from reflect_git.store.local import asked_questions, refusals

if TYPE_CHECKING:
    from reflect_git.candidates.gather import Candidate
    from reflect_git.rules.queue import Queue
    from reflect_git.store.reading.reader import Scan
    from reflect_git.store.repository import Store

CHANNEL = "keep"
PLUGIN, COMMAND = "reflect-git", "keep"
_WRITTEN = frozenset(("project", "global", "improvements"))
_ASK_AGAIN = "ask again with /keep"
_POLL_SECONDS = 0.1


class KeptAnswer(NamedTuple):
    """An answer given in /keep that was not applied yet. `shown`: a digest of the question as the client showed it."""

    path: str
    session: str
    transcript: str
    call: str
    folder: str
    time: str
    number: str
    subject: str
    label: str
    shown: str


class Outcome(NamedTuple):
    """The result of an answer; `problem` is empty if it was applied."""

    subject: str
    message: str
    problem: str = ""
    commit: str = ""


def list_questions(queue: Queue) -> dict[str, Any]:
    """Print everything that /keep asks here: broken rules first, then proposed rules that have a wording."""
    broken = broken_rules.find_broken_rules(queue)
    strong = queue.candidates.strong
    worded = [each for each in strong if not each.needs_wording]
    forms = [build_broken_rule_form(one, one.rule["text"], ()) for one in broken]
    forms += [build_candidate_form(queue, each) for each in worded]
    count = len(strong) + len(queue.candidates.more)
    quotes = len(strong) - len(worded)
    notes = [f"{plural(quotes, 'quote')} without a wording: /reflect"] if quotes else []
    notes += [f"{len(queue.candidates.more)} more: /keep again"] if queue.candidates.more else []
    return {
        "overview": _format_plainly(build_overview_question(count)) if len(forms) >= MANY else None,
        "questions": [_store(queue, form, (at, len(forms))) for at, form in enumerate(forms, 1)],
        "note": "; ".join(notes),
    }


def build_worded_question(queue: Queue, record_id: str, text: str) -> dict[str, Any] | None:
    """Print the question about a wording that the person typed; None if that was an answer and no wording."""
    if meaning_of(text) or not record_id.startswith("SIG"):
        return None
    candidate = queue.find_candidate(record_id)
    discard_answers(queue.store, lambda one: one.subject == record_id and not meaning_of(one.label))
    require_not_refused(plan_approval(queue, Request(candidate, text=text)).findings)
    return _store(queue, build_candidate_form(queue, candidate, text), (1, 1), text)


def _store(queue: Queue, form: QuestionForm, place: tuple[int, int], text: str = "") -> dict[str, Any]:
    """Build a question and keep what has to be the same when the answer is applied."""
    number = asked_questions.new_number(queue.store)
    question = build_question(form, number, place)
    parts = {
        "shown": asked_questions.digest_shown([question])[number],
        "form": _describe_form(form),
        "project": _describe_project(queue),
    }
    asked_questions.save_question(queue.store, number, parts, text)
    return {"id": form.subject, "number": number, **_format_plainly(question)}


def _format_plainly(question: Mapping[str, Any]) -> dict[str, Any]:
    """Return a question for the client's dialog, which takes labels alone."""
    return {
        "question": question["question"],
        "header": question["header"],
        "labels": asked_questions.list_labels(question),
    }


def _describe_form(form: QuestionForm) -> str:
    """Return everything that an answer is about. Evidence such as the age may change until then."""
    lines = [line for line in form.tail if not line.startswith(approver.EVIDENCE_PREFIXES)]
    return json.dumps([form.subject, form.text, lines, form.to, list(form.labels)])


def _describe_project(queue: Queue) -> str:
    return json.dumps(sorted(queue.place.keys))


def list_waiting(store: Store) -> list[KeptAnswer]:
    """Return the answers given in /keep that wait to be applied, oldest first."""
    found = []
    for path, kept in asked_questions.load_unused_answers(store):
        if not asked_questions.is_kept_answer(path):
            continue
        given = kept.get("shown")
        shown = given if isinstance(given, dict) else {}
        for answer in kept["answers"]:
            number = str(answer.get("question", ""))
            found.append(
                KeptAnswer(
                    path, str(kept.get("session")), str(kept.get("transcript")), str(kept.get("call")),
                    str(kept.get("folder")), str(kept.get("time")), number, str(answer.get("subject")),
                    str(answer.get("label")), str(shown.get(number)),
                )
            )  # fmt: skip
    return sorted(found, key=lambda one: one.time)


def discard_answers(store: Store, is_unwanted: Callable[[KeptAnswer], bool]) -> None:
    """Use up waiting answers that /keep does not print: typed wordings, and those of a dialog that a tool disturbed."""
    for one in list_waiting(store):
        if is_unwanted(one):
            with contextlib.suppress(ReflectError, OSError):  # another process uses it
                asked_questions.mark_answer_used(one.path, one.subject)


def find_proof(answer: KeptAnswer, projects: str) -> CommandOutput | None:
    """Return what /keep printed with this number and this answer, or None if the client has not written it."""
    if os.path.basename(answer.transcript) != f"{answer.session}.jsonl":
        return None
    return find_output(answer.transcript, answer.number, meaning_of(answer.label), projects)


def find_output(transcript: str, number: str, meaning: str, projects: str) -> CommandOutput | None:
    """Return what /keep printed with this number and an answer of this meaning; prefer what the client wrote."""
    try:
        outputs = find_command_outputs(transcript, PLUGIN, COMMAND, projects)
    except (ReflectError, OSError):
        return None
    matching = [one for one in outputs if (number, meaning) in _parse_output(one.text)]
    return next((one for one in matching if not one.problem), matching[0] if matching else None)


def _parse_output(text: str) -> list[tuple[str, str]]:
    """Return the number and the meaning of each answer: `k3v9: Skip` on a line of its own, after the plugin's name."""
    inner = text.removeprefix("<local-command-stdout>").removesuffix("</local-command-stdout>")
    lines = inner.removeprefix(f"{PLUGIN}: ").split("\n")
    pairs = [line.strip().partition(": ") for line in lines]
    return [(number, meaning_of(label)) for number, _, label in pairs if asked_questions.is_number(number)]


def find_forgery(answer: KeptAnswer, projects: str) -> str:
    """Return why an answer that waits cannot be a person's, or "": the client may not have written it yet."""
    proof = find_proof(answer, projects)
    if proof is not None:
        return f"what its transcript has {proof.problem}" if proof.problem else ""
    try:
        last = find_last_time(answer.transcript, projects)
    except (ReflectError, OSError):
        last = ""
    if last and parse_utc(last) <= parse_utc(answer.time):
        return ""  # the dialog may still be open, or the client was killed
    return "the client's transcript has no such command"


def apply_answers(
    store: Store, env: Mapping[str, str], read: Callable[[], Scan], wait: float = 0.0
) -> list[Outcome]:  # fmt: skip
    """Apply each answer that the transcript proves; the others wait. `wait`: seconds that the client may take.

    A command of the model applies nothing: it could write into a transcript that nobody has continued yet. In a
    session, answers of other sessions wait, since it could write into theirs.
    """
    if approver.is_in_tool_shell(env):
        return []
    session, projects = approver.find_session(env)  # a command can set another home folder for the next one
    deadline = time.monotonic() + wait
    outcomes = []
    while True:
        waiting = [one for one in list_waiting(store) if meaning_of(one.label) and session in ("", one.session)]
        proved = [one for one in waiting if (proof := find_proof(one, projects)) and not proof.problem]
        outcomes += [_apply_or_report(store, env, read(), one) for one in proved]
        if len(proved) == len(waiting) or time.monotonic() >= deadline:
            return [one for one in outcomes if one.message or one.problem]
        time.sleep(_POLL_SECONDS)


def _apply_or_report(store: Store, env: Mapping[str, str], scan: Scan, answer: KeptAnswer) -> Outcome:
    """Apply one answer. It counts once, also if it turns out to be outdated."""
    kept = asked_questions.load_question(store, answer.number) or {}
    is_used = asked_questions.is_used(store, answer.number)
    try:
        basis = {**asked_questions.mark_answer_used(answer.path, answer.subject), "question": answer.number}
    except (ReflectError, OSError):
        return Outcome(answer.subject, "")  # another process applies it
    try:
        if is_used or not kept or kept.get("shown") != digest(answer.shown):
            raise ReflectError("the question was not printed, has expired or was used before", _ASK_AGAIN)
        return _apply(store, env, scan, answer, kept, basis)
    except (ReflectError, OSError) as error:
        store.log(f"/keep: '{answer.subject}' was not applied: {error}")  # a hook has no screen
        return Outcome(answer.subject, "", str(error))


def _apply(
    store: Store, env: Mapping[str, str], scan: Scan, answer: KeptAnswer, kept: Mapping[str, str], basis: dict[str, str]
) -> Outcome:
    if not os.path.isdir(answer.folder):
        raise ReflectError("the folder of the project is gone", _ASK_AGAIN)
    ctx = load_context(store, {**env, "CLAUDE_CODE_SESSION_ID": answer.session}, scan, answer.folder)
    queue = load_queue(ctx)
    if kept.get("project") != digest(_describe_project(queue)):
        raise ReflectError("the question was asked in another project", _ASK_AGAIN)
    if answer.subject.startswith("LRN"):
        return _apply_to_rule(queue, answer, kept, basis)
    candidate, meaning = queue.find_candidate(answer.subject), meaning_of(answer.label)
    if meaning == "skip":
        dismiss.mark_seen(store, [candidate])
        return Outcome(answer.subject, f"skipped: {candidate.text}")
    text = kept.get("text", "")
    _require_unchanged(kept, build_candidate_form(queue, candidate, text))
    if meaning in _WRITTEN:
        return _approve(queue, candidate, meaning, text, basis)
    by = service.get_author(store, CHANNEL)
    _, commit = dismiss.dismiss(store, candidate, by, meaning == "never")
    return Outcome(answer.subject, f"{meaning}: {candidate.text}", "", commit)


def _require_unchanged(kept: Mapping[str, str], form: QuestionForm) -> None:
    if kept.get("form") != digest(_describe_form(form)):
        raise ReflectError("the question would be another one now", _ASK_AGAIN)


def _approve(queue: Queue, candidate: Candidate, to: str, text: str, basis: dict[str, str]) -> Outcome:
    """Write the rule. It passes the same gate as at a terminal; the person saw every risk with the question."""
    proposal = plan_approval(queue, Request(candidate, to=to, text=text))
    words = proposal.learning["text"]
    if proposal.is_refused:
        refusals.add_refusal(queue.store, words)
    require_not_refused(proposal.findings)
    if refusals.count_refusals(queue.store, words) >= refusals.LIMIT:
        raise ReflectError(f"this wording was refused {refusals.LIMIT} times", "run 'reflect-git review' in a terminal")
    done = write_approval(queue, proposal, service.get_author(queue.store, CHANNEL), basis)
    return Outcome(candidate.id, f"added to {done.target}: {words}", "", done.commit)


def _apply_to_rule(queue: Queue, answer: KeptAnswer, kept: Mapping[str, str], basis: dict[str, str]) -> Outcome:
    """Guard or retire a rule that was broken again, or leave it as it is."""
    one = broken_rules.get_broken_rule(queue, answer.subject)
    _require_unchanged(kept, build_broken_rule_form(one, one.rule["text"], ()))
    by, meaning = service.get_author(queue.store, CHANNEL), meaning_of(answer.label)
    if meaning == "leave":
        _, commit = broken_rules.leave_unchanged(queue, one, by, basis)
        return Outcome(answer.subject, f"unchanged: {one.rule['text']}", "", commit)
    plan = broken_rules.plan_reminder(queue, one.rule) if meaning == "guard" else None
    if plan:
        _, commit = write_guard(queue, plan, run_backtest(queue, plan.rule, plan.matcher).figures, by, basis)
        return Outcome(answer.subject, f"guarded: {one.rule['text']}", "", commit)
    if meaning != "retire":
        raise ReflectError(f"'{answer.label}' does not answer a question about a rule", _ASK_AGAIN)
    reversal = revert.plan_revert(queue, revert.select_by_name(queue, answer.subject))
    linked = check_links(queue.store, queue.place, [step.plan for step in reversal.steps])
    done = revert.write_revert(queue, reversal, by, linked, basis)
    return Outcome(answer.subject, f"retired: {one.rule['text']}", "", done.commit)


def refresh_files(store: Store, env: Mapping[str, str], scan: Scan, outcomes: Sequence[Outcome]) -> None:
    """Render what follows from decisions, if one was made."""
    if any(one.commit for one in outcomes):
        refresh_derived_files(store, env, scan)
