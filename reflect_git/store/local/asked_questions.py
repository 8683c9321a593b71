"""Remember printed questions and the answers to them. An answer counts only for a question that was shown unchanged.

Only digests are kept, no texts; except a wording that the person typed in /keep. A purge searches these files too.
"""

from __future__ import annotations

import json
import os
import time

from reflect_git.errors import ReflectError
from reflect_git.platform import files
from reflect_git.records.ids import digest, utc_precise
from reflect_git.redact import redact
from reflect_git.store.local.mod_state import KEPT_PREFIX
from reflect_git.store.repository import is_id

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, Optional

    from reflect_git.store.repository import Store

    Answer = dict[str, str]

_FOLDER = "questions"
_LETTERS = "23456789abcdefghjkmnpqrstvwxyz"  # without letters that look alike
_LENGTH = 4
_MAX_AGE = 86400.0
_MAX_FILES = 200  # files; at most ten questions are printed at once


def new_number(store: Store) -> str:
    """Return a short name that no stored question has."""
    while True:
        name = "".join(_LETTERS[byte % len(_LETTERS)] for byte in os.urandom(_LENGTH))
        if not os.path.lexists(_get_path(store, name)) and not is_used(store, name):
            return name


def save_question(store: Store, number: str, parts: Mapping[str, str], text: str = "") -> None:
    """Store the digests of a question that is about to be printed, and the wording that the person typed."""
    files.make_private_dirs(store.private_path(_FOLDER), below=store.private)
    kept = {name: digest(value) for name, value in parts.items()}
    if text:
        kept["text"] = text
    files.write_atomic(_get_path(store, number), json.dumps(kept, ensure_ascii=False).encode("utf-8"), sync=False)
    if len(files.list_names(store.private_path(_FOLDER))) > _MAX_FILES:
        delete_old_questions(store, time.time())


def load_question(store: Store, number: str) -> Optional[dict[str, str]]:
    """Return the digest of each part of a printed question; None if the number is unknown or expired."""
    if not is_number(number):
        return None
    try:
        if time.time() - os.stat(_get_path(store, number)).st_mtime > _MAX_AGE:
            return None
        kept = json.loads(files.read_regular(_get_path(store, number), 1 << 16))
    except (OSError, ValueError, RecursionError):
        return None
    return kept if isinstance(kept, dict) else None


def mark_question_used(private: str, number: str) -> None:
    """Mark a question as answered. Its file stays: the same call may have asked others.

    `private` is the store's private folder.
    """
    folder = os.path.join(private, _FOLDER)
    if is_number(number) and os.path.isdir(folder):
        files.create_exclusive(os.path.join(folder, f"{number}.used"))


def is_used(store: Store, number: str) -> bool:
    """Return whether an answer to this question was used."""
    return os.path.lexists(store.private_path(_FOLDER, f"{number}.used"))


def delete_old_questions(store: Store, now: float) -> None:
    """Delete questions that are older than a day, or too many."""
    files.delete_old(store.private_path(_FOLDER), now, _MAX_AGE, _MAX_FILES)


def parse_number(question: str) -> str:
    """Return the number in a question's first line, `Learning 2 of 7 (k3v9) [SIG-…]`; empty if it has none."""
    before = question.partition("\n")[0].rpartition(" [")[0]
    number = before[:-1].rpartition("(")[2] if before.endswith(")") else ""
    return number if is_number(number) else ""


def is_number(text: str) -> bool:
    """Return whether a text has the form of a question's number."""
    return len(text) == _LENGTH and all(letter in _LETTERS for letter in text)


def _get_path(store: Store, number: str) -> str:
    return store.private_path(_FOLDER, f"{number}.json")


_SEPARATOR = "---"
_QUESTION_PREFIX = "Learning "
_MAX_LABEL = 2000
_MAX_ANSWER_AGE = 86400.0
_MOD_CALL = "toolu_plugin_"  # how the ids of calls begin that a mod makes, not the model


def save_answers(store: Store, event: Mapping[str, Any], folder: str = "") -> int:
    """Store the answers to our questions in one AskUserQuestion call; return how many. Ignore other questions.

    An answer in /keep has a file of its own kind: it waits for the row that the client writes after the command.
    """
    response = event.get("tool_response")
    given = response.get("answers") if isinstance(response, dict) else None
    found = [parse_answer(question, label) for question, label in given.items()] if isinstance(given, dict) else []
    answers = [answer for answer in found if answer]
    if answers and isinstance(response, dict):
        call = redact(str(event.get("tool_use_id", "")))
        is_keep = call.startswith(_MOD_CALL)
        kept = {
            "session": redact(str(event.get("session_id", ""))), "call": call,
            "transcript": redact(str(event.get("transcript_path"))), "time": utc_precise(), "answers": answers,
            **({"folder": folder, "shown": digest_shown(response.get("questions"))} if is_keep else {}),
        }  # fmt: skip
        files.make_private_dirs(store.private_path("answers"), below=store.private)
        data = json.dumps(kept, ensure_ascii=True).encode()
        name = f"{KEPT_PREFIX if is_keep else ''}{digest('answer', call)[:20]}.json"
        files.write_atomic(store.private_path("answers", name), data)
    return len(answers)


def digest_shown(questions: Any) -> dict[str, str]:
    """Return a digest of what a person saw of each question, by its number. A mod can give no descriptions."""
    listed = [one for one in questions if isinstance(one, dict)] if isinstance(questions, list) else []
    return {
        parse_number(str(one.get("question"))): digest(
            "shown", str(one.get("question")), str(one.get("header")), json.dumps(list_labels(one)),
            str(one.get("multiSelect") is True),
        )
        for one in listed
    }  # fmt: skip


def list_labels(question: Mapping[str, Any]) -> list[str]:
    """Return the labels of a question's options."""
    options = question.get("options")
    return [str(one.get("label")) for one in options if isinstance(one, dict)] if isinstance(options, list) else []


def is_kept_answer(path: str) -> bool:
    """Return whether the file of an answer is of one given in /keep."""
    return os.path.basename(path).startswith(KEPT_PREFIX)


def parse_answer(question: str, label: Any) -> Optional[Answer]:
    """Parse an answered question; return None if it is not ours or has no answer.

    Line 1 is `Learning 2 of 7 (k3v9) [SIG-…]`, followed by the text between two `---` lines.
    """
    head, _, rest = question.partition("\n")
    before, bracket, record_id = head.rpartition("[")
    if not (head.startswith(_QUESTION_PREFIX) and bracket and isinstance(label, str) and label.strip()):
        return None
    parts = f"\n{rest}\n".split(f"\n{_SEPARATOR}\n")
    # Nothing may precede the text: the person must see the text first.
    if len(parts) != 3 or parts[0] or not before or not record_id.endswith("]") or not is_id(record_id[:-1]):
        return None
    number = parse_number(question)
    kept = {"subject": record_id[:-1], "sha256": digest(parts[1]), "label": redact(label)[:_MAX_LABEL]}
    return {**kept, "question": number} if number else kept


def load_unused_answers(store: Store) -> list[tuple[str, dict[str, Any]]]:
    """Return (path, content) of every answer that no approval has used."""
    found = []
    for name in files.list_names(store.private_path("answers")):
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


def delete_old_answers(store: Store, now: float) -> None:
    """Delete answers after a day. They count for 15 minutes; until then they explain why one was refused."""
    folder = store.private_path("answers")
    for name in files.list_names(folder):
        path = os.path.join(folder, name)
        try:
            if now - os.stat(path).st_mtime > _MAX_ANSWER_AGE:
                files.discard(path)
        except OSError:
            continue


def mark_answer_used(path: str, subject: str) -> Answer:
    """Mark an answer as used, since it counts once; return session and call in which it was given.

    Other answers of the same call stay valid. The mark is a file of its own: two processes may come at once, and the
    answers could be written again.
    """
    kept = json.loads(files.read_regular(path, 1 << 20))
    mark = digest("answer", str(kept.get("call", "")), subject)[:20]
    if not files.create_exclusive(os.path.join(os.path.dirname(path), f"{mark}.used")):
        raise ReflectError("the person's answer was used before", "ask again", code="approval")
    for answer in kept["answers"]:
        if answer.get("subject") == subject:  # a question can be answered only once as well
            mark_question_used(os.path.dirname(os.path.dirname(path)), str(answer.get("question", "")))
    kept["answers"] = [answer for answer in kept["answers"] if answer.get("subject") != subject]
    if kept["answers"]:
        files.write_atomic(path, json.dumps(kept, ensure_ascii=True).encode())
    else:
        files.remove(path)
    return {"session": str(kept.get("session", "")), "call": str(kept.get("call", ""))}
