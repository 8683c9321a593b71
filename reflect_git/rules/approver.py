"""Check who approved: a person at a terminal, a recorded answer of a person in Claude Code, or a policy.

Also builds the questions that Claude Code asks, and checks that the person saw them unchanged.
"""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any

from reflect_git import paths
from reflect_git.capture.service import get_author, require_approval
from reflect_git.errors import ReflectError
from reflect_git.platform import processes
from reflect_git.records.ids import digest
from reflect_git.records.named_tuple import NamedTuple
from reflect_git.rules import project_files
from reflect_git.store.local import asked_questions, refusals

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from reflect_git.capture.transcript.dialogs import Dialog
    from reflect_git.records.schema import Decision, DecisionAuthor
    from reflect_git.store.repository import Store


MAX_ANSWER_AGE = 15 * 60
_SESSION_VARIABLE = "CLAUDE_CODE_SESSION_ID"
NO_NAME_WARNING = "git does not know your name, so history says that 'somebody' decided"
NO_NAME_HINT = "tell it: git config --global user.name 'Your Name'"
ASK_HINT = "ask with AskUserQuestion exactly what 'reflect-git candidates --ask' prints, then run this again"
# Not among the options, which are limited to four, but a person can type them.
_TYPED_ANSWERS = {"no": "no", "never": "never", "improvements": "improvements"}
# The command to run instead, by answer.
_COMMAND_HINTS = {
    "project": "that is 'reflect-git approve {} --to project'",
    "global": "that is 'reflect-git approve {} --to global'",
    "improvements": "that is 'reflect-git approve {} --to improvements'",
    "skip": "that is 'reflect-git dismiss {} --later'",
    "no": "that is 'reflect-git dismiss {}'",
    "never": "that is 'reflect-git dismiss {} --never'",
    "sharpen": "that is 'reflect-git edit {} --text TEXT'",
    "guard": "that is 'reflect-git guard {} --mode hint'",
    "retire": "that is 'reflect-git revert {}'",
    "leave": "that is 'reflect-git dismiss {}'",
    "": "a free text is a new wording: show it with 'reflect-git candidates --ask --id {} --text TEXT'",
}
_MAX_LABEL_LENGTH = 60


class ApprovalRequest(NamedTuple):
    """An approval that a person's answer must support.

    `to`: a target; for a dismissal, `no` or `never`. `text`: empty accepts an answer to any wording. `shown`: lines the
    question must have had after the text, such as a risk. `projects`: keys of the project whose file changes; the
    person must have been asked there. `form`: the question as it would be asked now; without it, any printed question
    is accepted.
    """

    subject: str
    text: str
    to: str
    shown: tuple[str, ...] = ()
    projects: tuple[str, ...] = ()
    form: QuestionForm | None = None


def get_channel(
    store: Store, env: Mapping[str, str], at_terminal: bool, decisions: Iterable[Decision], request: ApprovalRequest
) -> tuple[str, str]:
    """Return the channel of an approval and the file of the answer behind it; raise if there is no approval.

    A wording that was refused three times can be approved only by a person at a terminal.
    """
    is_inside = is_inside_client(env)
    has_terminal = at_terminal and not is_inside
    if request.text and not has_terminal:
        refusals.require_not_refused_often(store, request.text, "")
    if not is_inside:
        return require_approval(store, env, at_terminal, decisions), ""
    return "ask-user-question", require_answer(store, env, request)


def is_inside_client(env: Mapping[str, str]) -> bool:
    """Tell whether a model may be running this: the environment says so, or a parent process is the client.

    Any client counts, whatever its HOME and store: a command can change both before it starts us.
    """
    return processes.is_client_environment(env) or processes.has_client_parent()


def can_see_all_parents() -> bool:
    """Tell whether every process above us was checked. If not, an approval asks for more than a key."""
    return processes.can_list_parents()


def find_session(env: Mapping[str, str]) -> tuple[str, str]:
    """Return the session that a command runs in, and the folder of its transcripts, as the client set them.

    A command can set another session or folder for the next one. The outermost process that names a session is the
    client's shell. A tmux server around the client does not count, whoever started it. A client with another home
    folder is ignored: tests run below such a client.
    """
    above = _find_client_shell(env)
    return (above or env).get(_SESSION_VARIABLE, ""), paths.projects_dir(above or env)


def is_in_tool_shell(env: Mapping[str, str]) -> bool:
    """Return whether a command that the model runs started us. The client gives its hooks the plugin's folder."""
    above = _find_client_shell(env)
    return above is not None and not above.get("CLAUDE_PLUGIN_ROOT")


def _find_client_shell(env: Mapping[str, str]) -> Mapping[str, str] | None:
    home = os.path.realpath(paths.home_dir(env))
    for above in reversed(list(processes.iter_client_environments())):
        if above.get(_SESSION_VARIABLE) and os.path.realpath(paths.home_dir(above)) == home:
            return above
    return None


def require_answer(store: Store, env: Mapping[str, str], request: ApprovalRequest) -> str:
    """Return the file of the answer that supports the request; raise if it is missing or cannot be trusted."""
    session, projects = find_session(env)
    given = dict(_find_unused_answers(store, session, request))
    if not given:
        raise _approval_error(
            "no person has answered for this text" if request.text else "no person has answered for this"
        )
    # The latest answer counts. Anybody can create an answer file, so the transcript decides.
    found = [
        one
        for path in {path for path, _ in given.values()}
        for one in _find_matching_dialogs(projects, session, path, request)
    ]
    if not found:
        raise _approval_error("the transcript of this session has no such answer")
    dialog, question, label = max(found, key=lambda one: _parse_timestamp(one[0].timestamp))
    if dialog.problem:
        raise _approval_error(f"the client did not write the last answer: it {dialog.problem}")
    if dialog.call not in given:
        raise _approval_error("the person's last answer is not one that waits to be used")
    if time.time() - _parse_timestamp(dialog.timestamp) > MAX_ANSWER_AGE:
        raise _approval_error("the person's answer is older than 15 minutes")
    _require_same_meaning(label, request)
    _require_unchanged_question(store, dialog, question, request)
    _require_same_project(store, env, dialog, request)
    return given[dialog.call][1]


def _find_unused_answers(store: Store, session: str, request: ApprovalRequest) -> Iterator[tuple[str, tuple[str, str]]]:
    """Yield (call, (transcript, file)) for each unused answer of this session to this text."""
    for path, kept in asked_questions.load_unused_answers(store):
        if session and kept.get("session") == session and any(_is_about(one, request) for one in kept["answers"]):
            yield str(kept.get("call")), (str(kept.get("transcript")), path)


def _is_about(answer: Mapping[str, Any], request: ApprovalRequest) -> bool:
    """Tell whether an answer is about the requested record and text."""
    is_text = not request.text or answer.get("sha256") == digest(request.text)
    return is_text and answer.get("subject") == request.subject


def meaning_of(label: str) -> str:
    """Return what an answer means, or "" if it is not one of ours."""
    return MEANINGS.get(label) or _TYPED_ANSWERS.get(label.strip().rstrip(".!").casefold(), "")


def _require_same_meaning(label: str, request: ApprovalRequest) -> None:
    """Raise if the person picked something else than what the command does."""
    meaning = meaning_of(label)
    if meaning != request.to:
        said = label if len(label) <= _MAX_LABEL_LENGTH else f"{label[:_MAX_LABEL_LENGTH]}…"
        raise ReflectError(
            f"the person answered '{said}'", _COMMAND_HINTS[meaning].format(request.subject), code="approval"
        )


def _find_matching_dialogs(
    projects: str, session: str, transcript: str, request: ApprovalRequest
) -> Iterator[tuple[Dialog, str, str]]:
    """Yield each call in the session's transcript that asked about this text, with the question and the answer."""
    if os.path.basename(transcript) != f"{session}.jsonl":
        return
    from reflect_git.capture.transcript.dialogs import find_dialogs  # only inside Claude Code

    try:
        dialogs = find_dialogs(transcript, projects)
    except ReflectError as error:
        hint = "let the person run 'reflect-git review' in a terminal"
        raise ReflectError(error.message, hint, code="approval") from error
    for dialog in dialogs:
        for question, label in dialog.result["answers"].items():
            answer = asked_questions.parse_answer(str(question), label)
            if answer and _is_about(answer, request):
                yield dialog, str(question), answer["label"]


def _require_unchanged_question(store: Store, dialog: Dialog, question: str, request: ApprovalRequest) -> None:
    """Refuse an answer unless its question is, byte for byte, what was printed and would be printed now."""
    lines = question.split("\n")
    for line in request.shown:
        if line not in lines:
            raise _approval_error(f"the person was not shown '{line}'")
    change = find_question_change(store, dialog.input, dialog.result, question)
    if change:
        raise _approval_error(f"the person was shown {change}")
    noted = dialog.result.get("annotations")
    if isinstance(noted, dict) and any(noted.values()):
        raise _approval_error("the person added a note to the answer")
    listed = (one for one in dialog.input["questions"] if one.get("question") == question)
    news = find_outdated_part(next(listed, {}), request.form) if request.form else ""
    if news:
        raise _approval_error(f"the question has changed since it was asked: '{news}'")


def _require_same_project(store: Store, env: Mapping[str, str], dialog: Dialog, request: ApprovalRequest) -> None:
    """Refuse an answer given in another project: `this project` means the session's, whatever folder is given."""
    if not request.projects:
        return
    if not set(project_files.find_place(store, env, dialog.cwd or os.sep).keys) & set(request.projects):
        hint = "let them run it in a terminal"
        raise ReflectError("the person was asked in another project", hint, code="approval")


def _parse_timestamp(timestamp: str) -> float:
    """Parse a timestamp. Unparsable timestamps count as expired."""
    try:
        return datetime.fromisoformat(timestamp.replace("Z", "+00:00")).timestamp()
    except ValueError:
        return 0.0


def _approval_error(message: str) -> ReflectError:
    """Return an approval error that says how to ask the person."""
    return ReflectError(message, ASK_HINT, code="approval")


SEPARATOR = "---"
CONFLICT_PREFIX = "Conflicts with: "
# Lines about the evidence, which changes from day to day. They bind nobody: who prints a question writes them anew.
EVIDENCE_PREFIXES = ("About: ", "Backtest: ")
# The options of a question and their meanings. The tool shows two to four of them.
CANDIDATE_LABELS = {
    "Add to project CLAUDE.md": "project",
    "Add to global CLAUDE.md": "global",
    "Add to improvements.md": "improvements",
    "Skip": "skip",
    "No": "no",
}
# Without a target that is seldom meant. The person can type it, as everything in _TYPED_ANSWERS.
_SELDOM_SHOWN = {"improvements": "Add to global CLAUDE.md"}
# The options for a rule that was broken again, up to four in total.
BROKEN_RULE_LABELS = {
    "Use this wording": "sharpen",
    "Remind Claude at each call": "guard",
    "Retire the rule": "retire",
    "Leave it as it is": "leave",
}
MEANINGS = {**CANDIDATE_LABELS, **BROKEN_RULE_LABELS}
MEANING_DESCRIPTIONS = {
    "project": "every session in this project reads it",
    "global": "every session of yours reads it, in all projects",
    "improvements": "a proposal for the project itself; Claude does not read it",
    "skip": "not now; ask again later",
    "no": "no rule; it may return after three more sessions",
    "sharpen": "the rule says this from now on",
    "guard": "a guard: the call runs, and Claude gets the rule in force",
    "retire": "the rule leaves its file",
    "leave": "asked again if it is broken in three more sessions",
}
_POSITION = re.compile(r"Learning ([0-9]{1,4}) of ([0-9]{1,4}) ")
_CHANGED_FIRST_LINE, _CHANGED_TEXT, _CHANGED_TAIL = (
    "another first line than ours",
    "another text than ours",
    "other lines after the text than ours",
)
_NOT_PRINTED = "a question that was not printed, has expired or was used before"
_EXTRA_CONTENT = "more than the question"
# The only fields a call may have. The person does not see its metadata.
_CALL_FIELDS = ("questions", "metadata")


class QuestionForm(NamedTuple):
    """The contents of a question: record id, text, lines after the text, the option to list first, and all options."""

    subject: str
    text: str
    tail: tuple[str, ...]
    to: str
    labels: tuple[str, ...] = ()


def _list_labels(form: QuestionForm) -> list[str]:
    """Return the options in order: the proposed target first, one other target, `Skip` and `No` side by side."""
    if form.labels:
        return sorted(form.labels, key=lambda label: MEANINGS[label] != form.to)
    left_out = _SELDOM_SHOWN.get(form.to, "Add to improvements.md")
    shown = [label for label in CANDIDATE_LABELS if label != left_out]
    return sorted(shown, key=lambda label: MEANINGS[label] != form.to)


def build_question(form: QuestionForm, number: str, place: tuple[int, int] = (1, 1)) -> dict[str, Any]:
    """Return a question in the format of AskUserQuestion. `number` identifies this printing."""
    head = f"Learning {place[0]} of {place[1]} ({number}) [{form.subject}]"
    lines = [head, SEPARATOR, form.text, SEPARATOR, *form.tail]
    options = [{"label": label, "description": MEANING_DESCRIPTIONS[MEANINGS[label]]} for label in _list_labels(form)]
    # The client shows the headers side by side, cut after twelve letters: each has to differ from the others.
    header = f"{'Broken' if form.labels else 'Rule'} {place[0]}/{place[1]}"
    return {"question": "\n".join(lines), "header": header, "options": options, "multiSelect": False}


def store_question(store: Store, form: QuestionForm, place: tuple[int, int] = (1, 1)) -> dict[str, Any]:
    """Build a question and store it, so that its answer can be checked."""
    number = asked_questions.new_number(store)
    question = build_question(form, number, place)
    try:
        asked_questions.save_question(store, number, split_question(question))
    except OSError as error:
        why = f"cannot keep the question: {(error.strerror or str(error)).lower()}"
        raise ReflectError(why, "let the person run 'reflect-git review' in a terminal", code="system") from error
    return question


def split_question(question: Mapping[str, Any]) -> dict[str, str]:
    """Return every part of a question that a person sees, keyed by what to report if it was changed."""
    head, _, rest = str(question.get("question")).partition("\n")
    text, _, tail = f"{rest}\n".rpartition(f"\n{SEPARATOR}\n")
    more = {name: value for name, value in question.items() if name not in ("question", "header", "options")}
    return {
        _CHANGED_FIRST_LINE: head,
        _CHANGED_TEXT: text,
        _CHANGED_TAIL: tail,
        "another header than ours": _to_json(question.get("header")),
        "other options than ours": _to_json(question.get("options")),
        # The client adds its default value.
        _EXTRA_CONTENT: _to_json({"multiSelect": False, **more}),
    }


def _to_json(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


def find_question_change(store: Store, asked: Mapping[str, Any], reported: Mapping[str, Any], question: str) -> str:
    """Return what a person was shown that was not printed, or "" if nothing.

    `asked` is the input of the call, `reported` is what the client says was shown. Every question of the call counts: a
    question beside ours can change how people read ours.
    """
    shown = [asked.get("questions"), reported.get("questions", asked.get("questions"))]
    listed = [one if isinstance(one, list) and all(isinstance(each, dict) for each in one) else [] for one in shown]
    if any(name not in _CALL_FIELDS for name in asked) or not listed[0]:
        return _EXTRA_CONTENT
    if list(map(split_question, listed[0])) != list(map(split_question, listed[1])):
        return "another question than the model asked"
    if asked_questions.is_used(store, asked_questions.parse_number(question)):
        return _NOT_PRINTED
    # Check ours first: a change in it is more useful to report than an extra question.
    for one in sorted(listed[0], key=lambda each: each.get("question") != question):
        change = _find_changed_part(store, one)
        if change:
            return change if one.get("question") == question else "another question beside ours"
    return ""


def _find_changed_part(store: Store, question: Mapping[str, Any]) -> str:
    """Return which part of a question differs from the printed one, or ""."""
    number = asked_questions.parse_number(str(question.get("question")))
    if not number:
        return _CHANGED_FIRST_LINE
    kept = asked_questions.load_question(store, number)
    if kept is None:
        return _NOT_PRINTED
    parts = split_question(question)
    return next((name for name, value in parts.items() if kept.get(name) != digest(value)), "")


def _drop_evidence(lines: Iterable[str]) -> list[str]:
    return [line for line in lines if not line.startswith(EVIDENCE_PREFIXES)]


def find_outdated_part(question: Mapping[str, Any], form: QuestionForm) -> str:
    """Return what would be asked differently now, or "": rules, files or signals may have changed since then."""
    parts = split_question(question)
    # Only the position in the list may differ. A forged record of the printing cannot introduce another first line.
    place = _POSITION.match(parts[_CHANGED_FIRST_LINE])
    number = asked_questions.parse_number(parts[_CHANGED_FIRST_LINE])
    today = split_question(build_question(form, number, (int(place[1]), int(place[2])) if place else (1, 1)))
    lines = _drop_evidence(parts[_CHANGED_TAIL].split("\n")[:-1])
    # A conflict resolved since then does not weaken the person's answer.
    still = tuple(line for line in lines if line in form.tail or not line.startswith(CONFLICT_PREFIX))
    wanted = _drop_evidence(form.tail)
    missing = next((line for line in wanted if line not in lines), "")
    if missing:
        return missing
    if list(still) != wanted:
        return next((line for line in still if line not in wanted), _CHANGED_TAIL)
    changed = [name for name in today if name != _CHANGED_TAIL and today[name] != parts[name]]
    return changed[0] if changed else ""


PANEL = "panel"


def require_panel_author(store: Store, env: Mapping[str, str]) -> DecisionAuthor:
    """Return the person who decides in the panel; raise inside Claude Code.

    The panel asks this for each change: its gatekeeper has checked the browser by then.
    """
    if is_inside_client(env):
        raise ReflectError("the panel cannot decide inside Claude Code", "run it in your own terminal", "approval")
    return get_author(store, PANEL)
