"""What a person answered to a question of ours inside Claude Code, as the client reported it."""

from __future__ import annotations

import json
import os

from reflect_git.adapters import files
from reflect_git.adapters.redact import redact
from reflect_git.errors import ReflectError
from reflect_git.model.ids import digest, utc_precise
from reflect_git.store import questions
from reflect_git.store.layout import is_id

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, Optional

    from reflect_git.store.repository import Store

    Answer = dict[str, str]

_BAR = "---"
_OURS = "Learning "
_FREE_TEXT = 2000
_KEPT = 86400.0


def keep(store: Store, event: Mapping[str, Any]) -> int:
    """Keep the answers to our questions of one AskUserQuestion call; returns how many. Other questions are not ours."""
    response = event.get("tool_response")
    given = response.get("answers") if isinstance(response, dict) else None
    found = [answer_to(question, label) for question, label in given.items()] if isinstance(given, dict) else []
    answers = [answer for answer in found if answer]
    if answers:
        call = redact(str(event.get("tool_use_id", "")))
        kept = {
            "session": redact(str(event.get("session_id", ""))), "call": call,
            "transcript": redact(str(event.get("transcript_path"))), "time": utc_precise(), "answers": answers,
        }  # fmt: skip
        files.make_private_dirs(store.private_path("answers"), below=store.private)
        data = json.dumps(kept, ensure_ascii=True).encode()
        files.write_whole(store.private_path("answers", f"{digest('answer', call)[:20]}.json"), data)
    return len(answers)


def answer_to(question: str, label: Any) -> Optional[Answer]:
    """Line 1 `Learning 2 of 7 (k3v9) [SIG-…]`, then the text between two `---` lines; no answer is no answer."""
    head, _, rest = question.partition("\n")
    before, bracket, identity = head.rpartition("[")
    if not (head.startswith(_OURS) and bracket and isinstance(label, str) and label.strip()):
        return None
    parts = f"\n{rest}\n".split(f"\n{_BAR}\n")
    # Nothing stands before the text: what a person is to answer begins with it.
    if len(parts) != 3 or parts[0] or not before or not identity.endswith("]") or not is_id(identity[:-1]):
        return None
    number = questions.number_in(question)
    kept = {"subject": identity[:-1], "sha256": digest(parts[1]), "label": redact(label)[:_FREE_TEXT]}
    return {**kept, "question": number} if number else kept


def standing(store: Store) -> list[tuple[str, dict[str, Any]]]:
    """(path, what was kept) of every answer that no approval has used."""
    found = []
    for name in files.names_in(store.private_path("answers")):
        path = store.private_path("answers", name)
        if not name.endswith(".json"):
            continue
        try:
            kept = json.loads(files.read_regular(path, 1 << 20))
        except (OSError, ValueError, RecursionError):
            continue
        if isinstance(kept, dict) and isinstance(kept.get("answers"), list):
            kept["answers"] = [answer for answer in kept["answers"] if isinstance(answer, dict)]
            found.append((path, kept))
    return found


def forget_old(store: Store, now: float) -> None:
    """An answer counts for a quarter of an hour; after a day nobody wants to know why it did not."""
    folder = store.private_path("answers")
    for name in files.names_in(folder):
        path = os.path.join(folder, name)
        try:
            if now - os.stat(path).st_mtime > _KEPT:
                files.discard(path)
        except OSError:
            continue


def use(path: str, subject: str) -> Answer:
    """An answer counts once; what else the person answered in that call still stands. Returns where it was given.

    That it was used is remembered for itself: two may come at once, and the file could be written anew.
    """
    kept = json.loads(files.read_regular(path, 1 << 20))
    mark = digest("answer", str(kept.get("call", "")), subject)[:20]
    if not files.claim(os.path.join(os.path.dirname(path), f"{mark}.used")):
        raise ReflectError("the person's answer was used before", "ask again", code="approval")
    for answer in kept["answers"]:
        if answer.get("subject") == subject:  # a question, too, is answered once
            questions.use(os.path.dirname(os.path.dirname(path)), str(answer.get("question", "")))
    kept["answers"] = [answer for answer in kept["answers"] if answer.get("subject") != subject]
    if kept["answers"]:
        files.write_whole(path, json.dumps(kept, ensure_ascii=True).encode())
    else:
        files.remove(path)
    return {"session": str(kept.get("session", "")), "call": str(kept.get("call", ""))}
