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
from reflect_git.store import answers
from reflect_git.workflow import locate_store, require_approval

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from reflect_git.adapters.transcript import Turn
    from reflect_git.model.schema import Decision
    from reflect_git.store.repository import Store

FRESH = 15 * 60
NAMELESS = "git does not know your name, so history says that 'somebody' decided"
GIVE_A_NAME = "tell it: git config --global user.name 'Your Name'"
ASK = "ask with AskUserQuestion exactly what 'reflect-git candidates --ask' prints, then run this again"
# What a person may pick, and where it leads. The tool shows two to four options.
LABELS = {
    "Add to project CLAUDE.md": "project",
    "Add to global CLAUDE.md": "global",
    "Add to improvements.md": "improvements",
    "Skip": "skip",
}
MEANS = {
    "project": "every session in this project reads it",
    "global": "every session of yours reads it, in all projects",
    "improvements": "a proposal for the project itself; Claude does not read it",
    "skip": "not now; it comes again",
}
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
    "": "a free text is a new wording: show it with 'reflect-git candidates --ask --id {} --text TEXT'",
}
_LONGEST = 60


class Wish(NamedTuple):
    """What a person is said to want: `to` is a target or, of a dismissal, `no` or `never`. Without a text the answer
    may be to any wording. `shown` are lines that the question must have had after the text, such as a risk; `projects`
    are the keys of the project whose file it goes into, which must be the one that the person was asked in."""

    subject: str
    text: str
    to: str
    shown: tuple[str, ...] = ()
    projects: tuple[str, ...] = ()


def road_for(
    store: Store, env: Mapping[str, str], at_terminal: bool, decisions: Iterable[Decision], wish: Wish
) -> tuple[str, str]:
    """The road of an approval, and the file of the answer it rests on; or a refusal that says what to do."""
    if not is_inside_client(store.root, env):
        return require_approval(store, env, at_terminal, decisions), ""
    return "ask-user-question", answered(store, env, wish)


def is_inside_client(root: str, env: Mapping[str, str]) -> bool:
    """Whether a model may be the one who runs this: the environment says so, or that of a process above us does.

    A client above us counts if it is at home where we are, or works with this store: a model can name another store for
    us to work with, and the instruction files are still the person's.
    """
    if ancestry.is_marked(env):
        return True
    own, home = os.path.realpath(root), os.path.realpath(paths.home_dir(env))
    return any(
        os.path.realpath(paths.home_dir(above)) == home or os.path.realpath(locate_store(above)) == own
        for above in ancestry.clients_above()
    )


def answered(store: Store, env: Mapping[str, str], wish: Wish) -> str:
    """The file of the person's answer that grants the wish; refused if there is none, or if it is not what it seems."""
    session = env.get("CLAUDE_CODE_SESSION_ID", "")
    given = dict(_given(store, session, wish))
    if not given:
        raise _refusal("no person has answered for this text" if wish.text else "no person has answered for this")
    # Who is asked twice means what was said last. A file alone can be made by anybody, so the transcript tells.
    found = [one for path in {path for path, _ in given.values()} for one in _asked(env, session, path, wish)]
    if not found:
        raise _refusal("the transcript of this session has no such answer")
    turn, question, label = max(found, key=lambda one: _seconds(one[0].timestamp))
    if turn.tool_use_id not in given:
        raise _refusal("the person's last answer is not one that waits to be used")
    if time.time() - _seconds(turn.timestamp) > FRESH:
        raise _refusal("the person's answer is older than 15 minutes")
    _require_meant(label, wish)
    _require_ours(turn, question, wish)
    _require_here(store, env, turn, wish)
    return given[turn.tool_use_id][1]


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
    return LABELS.get(label) or _TYPED.get(label.strip().rstrip(".!").casefold(), "")


def _require_meant(label: str, wish: Wish) -> None:
    meaning = meaning_of(label)
    if meaning != wish.to:
        said = label if len(label) <= _LONGEST else f"{label[:_LONGEST]}…"
        raise ReflectError(f"the person answered '{said}'", _FOLLOW[meaning].format(wish.subject), code="approval")


def _asked(env: Mapping[str, str], session: str, transcript: str, wish: Wish) -> Iterator[tuple[Turn, str, str]]:
    """Each call in the client's own record of this session that asked for this text, the question and the answer."""
    if os.path.basename(transcript) != f"{session}.jsonl":
        return
    from reflect_git.adapters.transcript import Reader  # only inside Claude Code

    try:
        for turn in Reader(transcript, projects=paths.projects_dir(env)):
            if turn.kind == "tool" and turn.tool == "AskUserQuestion" and not turn.is_error:
                answered = turn.details.get("answers")
                for question, label in answered.items() if isinstance(answered, dict) else ():
                    told = answers.answer_to(str(question), label)
                    if told and _speaks_of(told, wish):
                        yield turn, str(question), told["label"]
    except ReflectError as error:
        hint = "let the person run 'reflect-git review' in a terminal"
        raise ReflectError(error.message, hint, code="approval") from error


def _require_ours(turn: Turn, question: str, wish: Wish) -> None:
    """What the person saw beside the text is what we print: the options with what they mean, and every warning."""
    listed = turn.details.get("questions") or turn.input.get("questions")
    asked = [one for one in listed if isinstance(one, dict)] if isinstance(listed, list) else []
    options = next((one.get("options") for one in asked if one.get("question") == question), None)
    seen = {(one.get("label"), one.get("description")) for one in options or () if isinstance(one, dict)}
    if seen != {(label, MEANS[to]) for label, to in LABELS.items()}:
        raise _refusal("the person was shown other options than ours")
    lines = question.split("\n")
    for line in wish.shown:
        if line not in lines:
            raise _refusal(f"the person was not shown '{line}'")


def _require_here(store: Store, env: Mapping[str, str], turn: Turn, wish: Wish) -> None:
    """`this project` is the one of the session, whatever folder a command is given."""
    if not wish.projects:
        return
    if not set(places.place(store, env, turn.cwd or os.sep).keys) & set(wish.projects):
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
