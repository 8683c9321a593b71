"""Who approved: a person at a terminal, a person's recorded answer inside Claude Code, or a policy. Nobody else."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any

from reflect_git import paths
from reflect_git.adapters import ancestry
from reflect_git.errors import ReflectError
from reflect_git.model.ids import digest
from reflect_git.model.tuples import NamedTuple
from reflect_git.sitting import places
from reflect_git.sitting.question_form import MEANINGS, find_change, find_news
from reflect_git.store import answers
from reflect_git.workflow import require_approval

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from reflect_git.adapters.transcript.dialogs import Dialog
    from reflect_git.model.schema import Decision
    from reflect_git.sitting.question_form import Form
    from reflect_git.store.repository import Store

FRESH = 15 * 60
_SESSION = "CLAUDE_CODE_SESSION_ID"
NAMELESS = "git does not know your name, so history says that 'somebody' decided"
GIVE_A_NAME = "tell it: git config --global user.name 'Your Name'"
ASK = "ask with AskUserQuestion exactly what 'reflect-git candidates --ask' prints, then run this again"
# There is no room for them among the options, but a person can type them.
_TYPED = {"no": "no", "never": "never"}
# What to run instead, by what was answered.
_FOLLOW = {
    "project": "that is 'reflect-git approve {} --to project'",
    "global": "that is 'reflect-git approve {} --to global'",
    "improvements": "that is 'reflect-git approve {} --to improvements'",
    "skip": "that is 'reflect-git dismiss {} --later'",
    "no": "that is 'reflect-git dismiss {}'",
    "never": "that is 'reflect-git dismiss {} --never'",
    "sharpen": "that is 'reflect-git edit {} --text TEXT'",
    "retire": "that is 'reflect-git revert {}'",
    "leave": "that is 'reflect-git dismiss {}'",
    "": "a free text is a new wording: show it with 'reflect-git candidates --ask --id {} --text TEXT'",
}
_LONGEST = 60


class Wish(NamedTuple):
    """What a person is said to want: `to` is a target or, of a dismissal, `no` or `never`. Without a text the answer
    may be to any wording. `shown` are lines that the question must have had after the text, such as a risk; `projects`
    are the keys of the project whose file it goes into, which must be the one that the person was asked in. `form` is
    what would be asked today; without it the question only has to be one that was printed."""

    subject: str
    text: str
    to: str
    shown: tuple[str, ...] = ()
    projects: tuple[str, ...] = ()
    form: Form | None = None


def road_for(
    store: Store, env: Mapping[str, str], at_terminal: bool, decisions: Iterable[Decision], wish: Wish
) -> tuple[str, str]:
    """The road of an approval, and the file of the answer it rests on; or a refusal that says what to do."""
    if not is_inside_client(env):
        return require_approval(store, env, at_terminal, decisions), ""
    return "ask-user-question", answered(store, env, wish)


def is_inside_client(env: Mapping[str, str]) -> bool:
    """Tell whether a model may be running this: our environment says so, or a process above us is the client.

    Any client counts, whatever HOME and store it works with: a command can change both before it starts us.
    """
    return ancestry.is_marked(env) or ancestry.is_client_above()


def find_session(env: Mapping[str, str]) -> tuple[str, str]:
    """Return the session that a command runs in, and the folder of its transcripts, as the client told its shell.

    A command can name another session, or another folder, for the next one. The process farthest above us that names
    a session is the client's shell; a tmux server around the client does not count, whoever started it. A client with
    another home folder is not ours: tests run below such a one.
    """
    home = os.path.realpath(paths.home_dir(env))
    for above in reversed(list(ancestry.environments_above())):
        if above.get(_SESSION) and os.path.realpath(paths.home_dir(above)) == home:
            return above[_SESSION], paths.projects_dir(above)
    return env.get(_SESSION, ""), paths.projects_dir(env)


def answered(store: Store, env: Mapping[str, str], wish: Wish) -> str:
    """The file of the person's answer that grants the wish; refused if there is none, or if it is not what it seems."""
    session, projects = find_session(env)
    given = dict(_given(store, session, wish))
    if not given:
        raise _refusal("no person has answered for this text" if wish.text else "no person has answered for this")
    # Who is asked twice means what was said last. A file alone can be made by anybody, so the transcript tells.
    found = [one for path in {path for path, _ in given.values()} for one in _asked(projects, session, path, wish)]
    if not found:
        raise _refusal("the transcript of this session has no such answer")
    dialog, question, label = max(found, key=lambda one: _seconds(one[0].timestamp))
    if dialog.trouble:
        raise _refusal(f"the client did not write the last answer: it {dialog.trouble}")
    if dialog.call not in given:
        raise _refusal("the person's last answer is not one that waits to be used")
    if time.time() - _seconds(dialog.timestamp) > FRESH:
        raise _refusal("the person's answer is older than 15 minutes")
    _require_meant(label, wish)
    _require_ours(store, dialog, question, wish)
    _require_here(store, env, dialog, wish)
    return given[dialog.call][1]


def _given(store: Store, session: str, wish: Wish) -> Iterator[tuple[str, tuple[str, str]]]:
    """(call, (transcript, file)) of each answer of this session to this text that was not used yet."""
    for path, kept in answers.standing(store):
        if session and kept.get("session") == session and any(_speaks_of(one, wish) for one in kept["answers"]):
            yield str(kept.get("call")), (str(kept.get("transcript")), path)


def _speaks_of(answer: Mapping[str, Any], wish: Wish) -> bool:
    is_text = not wish.text or answer.get("sha256") == digest(wish.text)
    return is_text and answer.get("subject") == wish.subject


def meaning_of(label: str) -> str:
    """Where an answer leads; empty for words that are none of ours."""
    return MEANINGS.get(label) or _TYPED.get(label.strip().rstrip(".!").casefold(), "")


def _require_meant(label: str, wish: Wish) -> None:
    meaning = meaning_of(label)
    if meaning != wish.to:
        said = label if len(label) <= _LONGEST else f"{label[:_LONGEST]}…"
        raise ReflectError(f"the person answered '{said}'", _FOLLOW[meaning].format(wish.subject), code="approval")


def _asked(projects: str, session: str, transcript: str, wish: Wish) -> Iterator[tuple[Dialog, str, str]]:
    """Each call in the client's own record of this session that asked for this text, the question and the answer."""
    if os.path.basename(transcript) != f"{session}.jsonl":
        return
    from reflect_git.adapters.transcript.dialogs import find_dialogs  # only inside Claude Code

    try:
        dialogs = find_dialogs(transcript, projects)
    except ReflectError as error:
        hint = "let the person run 'reflect-git review' in a terminal"
        raise ReflectError(error.message, hint, code="approval") from error
    for dialog in dialogs:
        for question, label in dialog.result["answers"].items():
            told = answers.answer_to(str(question), label)
            if told and _speaks_of(told, wish):
                yield dialog, str(question), told["label"]


def _require_ours(store: Store, dialog: Dialog, question: str, wish: Wish) -> None:
    """Refuse an answer to a question that is not, byte for byte, what was printed and what would be printed now."""
    lines = question.split("\n")
    for line in wish.shown:
        if line not in lines:
            raise _refusal(f"the person was not shown '{line}'")
    change = find_change(store, dialog.input, dialog.result, question)
    if change:
        raise _refusal(f"the person was shown {change}")
    noted = dialog.result.get("annotations")
    if isinstance(noted, dict) and any(noted.values()):
        raise _refusal("the person added a note to the answer")
    listed = (one for one in dialog.input["questions"] if one.get("question") == question)
    news = find_news(next(listed, {}), wish.form) if wish.form else ""
    if news:
        raise _refusal(f"the question has changed since it was asked: '{news}'")


def _require_here(store: Store, env: Mapping[str, str], dialog: Dialog, wish: Wish) -> None:
    """`this project` is the one of the session, whatever folder a command is given."""
    if not wish.projects:
        return
    if not set(places.place(store, env, dialog.cwd or os.sep).keys) & set(wish.projects):
        hint = "let them run it in a terminal"
        raise ReflectError("the person was asked in another project", hint, code="approval")


def _seconds(timestamp: str) -> float:
    """What is no time is long ago."""
    try:
        return datetime.fromisoformat(timestamp.replace("Z", "+00:00")).timestamp()
    except ValueError:
        return 0.0


def _refusal(message: str) -> ReflectError:
    return ReflectError(message, ASK, code="approval")
