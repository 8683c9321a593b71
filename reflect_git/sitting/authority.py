"""Who approved: a person at a terminal, a person's recorded answer inside Claude Code, or a policy. Nobody else."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from reflect_git.adapters.transcript import Reader
from reflect_git.errors import ReflectError
from reflect_git.model.ids import digest
from reflect_git.store import answers
from reflect_git.store.expiry import seconds_of
from reflect_git.workflow import require_approval, sessions

if TYPE_CHECKING:
    from collections.abc import Iterable

    from reflect_git.model.schema import Decision
    from reflect_git.store.repository import Store

FRESH = 15 * 60
ASK = "ask with AskUserQuestion exactly what 'reflect-git candidates --ask' prints, then run this again"
# What a person may pick, and where it leads. The tool shows two to four options.
LABELS = {
    "Add to project CLAUDE.md": "project",
    "Add to global CLAUDE.md": "global",
    "Add to improvements.md": "improvements",
    "Skip": "skip",
}


@dataclass(frozen=True)
class Wish:
    """What is to be approved: this text, for this target."""

    subject: str
    text: str
    to: str


def road_for(
    store: Store, env: Mapping[str, str], at_terminal: bool, decisions: Iterable[Decision], wish: Wish
) -> tuple[str, str]:
    """The road of an approval, and the file of the answer it rests on; or a refusal that says what to do."""
    if not env.get("CLAUDECODE"):
        return require_approval(store, env, at_terminal, decisions), ""
    path, kept = _answer(store, env.get("CLAUDE_CODE_SESSION_ID", ""), wish)
    _require_asked(env, kept, wish)
    return "ask-user-question", path


def _answer(store: Store, session: str, wish: Wish) -> tuple[str, dict[str, Any]]:
    """The person's answer to this very text, from this session, not used yet."""
    wanted = digest(wish.text)
    seen = ""
    for path, kept in answers.standing(store):
        if not session or kept.get("session") != session:
            continue
        for answer in kept["answers"]:
            if answer.get("sha256") != wanted or answer.get("subject") != wish.subject:
                continue
            if time.time() - seconds_of(str(kept.get("time", ""))) > FRESH:
                seen = "the person's answer is older than 15 minutes"
            elif LABELS.get(str(answer.get("label"))) != wish.to:
                seen = f"the person answered '{answer.get('label')}'"
            else:
                return path, {**kept, "answer": answer}
    raise ReflectError(seen or "no person has answered for this text", ASK, code="approval")


def _require_asked(env: Mapping[str, str], kept: Mapping[str, Any], wish: Wish) -> None:
    """Question and answer stand in the transcript that the client wrote; a file alone can be made by anybody."""
    reader = Reader(str(kept.get("transcript", "")), projects=sessions.projects_dir(env))
    for turn in reader:
        if turn.kind == "tool" and turn.tool == "AskUserQuestion" and turn.tool_use_id == kept.get("call"):
            given = turn.details.get("answers")
            for question, label in given.items() if isinstance(given, dict) else ():
                told = answers.answer_to(str(question), label)
                if told and told["sha256"] == digest(wish.text) and LABELS.get(told["label"]) == wish.to:
                    return
    raise ReflectError("the transcript of this session has no such answer", ASK, code="approval")
