"""Let a subagent of an open session judge it: print the prompt with a nonce, and store the answer to exactly that.

The worker could write such scores itself. So they are marked, never anchored, and never count.
"""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

from reflect_git.errors import ReflectError
from reflect_git.judge import evaluate, messages, rubric
from reflect_git.judge.answers import parse_answer
from reflect_git.platform.claude_call import Usage
from reflect_git.records.ids import digest
from reflect_git.rules.approver import find_session
from reflect_git.store.local import asked_questions

if TYPE_CHECKING:
    from collections.abc import Mapping

    from reflect_git.judge.evaluate import Evaluation, Part
    from reflect_git.rules.context import Context

CURRENT = "current"
_PART, _TRANSCRIPT = "evaluation", "transcript"
_MAX_MESSAGES = 200  # as `evaluate --limit` allows
_INTRODUCTION = """\
Judge the conversation below. You are its judge, not its assistant. Use no other tool than the command at the end.

{system}

{prompt}
Answer with one JSON object of this schema, plus the field "nonce" with the value "{nonce}":

{schema}

Give it to this command on its standard input, between the two lines with the word:

    reflect-git evaluate --record - <<'{nonce}'
    {{"nonce": "{nonce}", "scores": …}}
    {nonce}
"""


def build_prompt(ctx: Context, session: str, limit: int) -> str:
    """Return the prompt for a subagent about the newest messages of a session, and remember its nonce."""
    wanted = find_session(ctx.env)[0] if session == CURRENT else session
    found = messages.load_session(ctx.store, ctx.env, messages.find_transcript(ctx.env, wanted))
    if found is None:
        raise ReflectError("nothing to judge in this session", "capture is off, or nobody typed", "no-session")
    part = _build_part(ctx, found, max(1, found.typed - limit + 1), found.typed)
    nonce = asked_questions.new_number(ctx.store)
    names = {_PART: _describe(found, part.first, part.last), _TRANSCRIPT: os.path.basename(found.path)}
    asked_questions.save_question(ctx.store, nonce, names)
    loaded, fence = rubric.load_rubric(ctx.store), digest(nonce, found.id)[:16]
    return _INTRODUCTION.format(
        system=rubric.build_system_prompt(loaded), prompt=rubric.build_prompt(part.extract, fence),
        nonce=nonce, schema=json.dumps(rubric.ANSWER_SCHEMA),
    )  # fmt: skip


def _build_part(ctx: Context, session: messages.Session, first: int, last: int) -> Part:
    return evaluate.Part(session, first, last, evaluate.build_extract(ctx, session, first, last))


def _describe(session: messages.Session, first: int, last: int) -> str:
    return f"{session.id} {first} {last}"


def record_answer(ctx: Context, answer: Mapping[str, Any]) -> Evaluation:
    """Store the answer of a subagent; raise unless it answers a prompt that was printed and not used yet."""
    nonce = str(answer.get("nonce") or "")
    kept = asked_questions.load_question(ctx.store, nonce)
    if kept is None or _PART not in kept or asked_questions.is_used(ctx.store, nonce):
        hint = "print a prompt first: reflect-git evaluate --prompt SESSION; it is good for one answer"
        raise ReflectError("no prompt was printed for this answer", hint, "nonce")
    part = _find_part(ctx, kept)
    verdict = parse_answer(dict(answer), part.extract.messages)
    asked_questions.mark_question_used(ctx.store.private, nonce)
    judge = {
        "kind": evaluate.IN_SESSION, "model": "", "rubric_sha": rubric.load_rubric(ctx.store).sha,
        "prompt_sha": rubric.get_prompt_sha(),
    }  # fmt: skip
    return evaluate.store_evaluation(ctx, part, verdict, judge, Usage(), False)


def _find_part(ctx: Context, kept: Mapping[str, str]) -> Part:
    """Return the part that a prompt was about: only digests were kept. The session may have gone on since."""
    for path in messages.list_transcripts(ctx.env):
        if digest(os.path.basename(path)) != kept.get(_TRANSCRIPT):
            continue
        session = messages.load_session(ctx.store, ctx.env, path)
        for last in range(session.typed, 0, -1) if session else ():
            for first in range(max(1, last - _MAX_MESSAGES + 1), last + 1):
                if session and digest(_describe(session, first, last)) == kept[_PART]:
                    return _build_part(ctx, session, first, last)
    raise ReflectError("the session of this prompt is gone", "print the prompt again", "no-session")
