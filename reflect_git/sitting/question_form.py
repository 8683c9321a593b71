"""Build the question that a person is asked inside Claude Code, and tell whether it was shown unchanged."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from reflect_git.errors import ReflectError
from reflect_git.model.ids import digest
from reflect_git.model.tuples import NamedTuple
from reflect_git.store import questions

if TYPE_CHECKING:
    from collections.abc import Mapping

    from reflect_git.store.repository import Store

BAR = "---"
CONFLICT = "Conflicts with: "
HEADER = "Learning"
# What a person may pick, and where it leads. The tool shows two to four options.
LABELS = {
    "Add to project CLAUDE.md": "project",
    "Add to global CLAUDE.md": "global",
    "Add to improvements.md": "improvements",
    "Skip": "skip",
}
# What a person may pick for a rule that was broken again. Guards can add theirs, up to four.
FOR_BROKEN = {
    "Use this wording": "sharpen",
    "Retire the rule": "retire",
    "Leave it as it is": "leave",
}
MEANINGS = {**LABELS, **FOR_BROKEN}
MEANS = {
    "project": "every session in this project reads it",
    "global": "every session of yours reads it, in all projects",
    "improvements": "a proposal for the project itself; Claude does not read it",
    "skip": "not now; it comes again",
    "sharpen": "the rule says this from now on",
    "retire": "the rule leaves its file",
    "leave": "asked again if it is broken in three more sessions",
}
_FIRST, _TEXT, _TAIL = "another first line than ours", "another text than ours", "other lines after the text than ours"
_UNPRINTED = "a question that was not printed, has expired or was used before"
_MORE = "more than the question"
# All that a call may have; the person does not see its metadata.
_FIELDS = ("questions", "metadata")


class Form(NamedTuple):
    """What a question says: about which record, the text, the lines after it, the option that comes first, and all
    options."""

    subject: str
    text: str
    tail: tuple[str, ...]
    to: str
    labels: tuple[str, ...] = tuple(LABELS)


def build(form: Form, number: str, place: tuple[int, int] = (1, 1)) -> dict[str, Any]:
    """Return a question as AskUserQuestion takes it. `number` tells one printing from another."""
    head = f"Learning {place[0]} of {place[1]} ({number}) [{form.subject}]"
    lines = [head, BAR, form.text, BAR, *form.tail]
    options = [{"label": label, "description": MEANS[MEANINGS[label]]} for label in form.labels]
    options.sort(key=lambda option: MEANINGS[option["label"]] != form.to)
    return {"question": "\n".join(lines), "header": HEADER, "options": options, "multiSelect": False}


def keep(store: Store, form: Form, place: tuple[int, int] = (1, 1)) -> dict[str, Any]:
    """Build a question and remember it, so that its answer can be checked."""
    number = questions.new_number(store)
    question = build(form, number, place)
    try:
        questions.keep(store, number, parts_of(question))
    except OSError as error:
        why = f"cannot keep the question: {(error.strerror or str(error)).lower()}"
        raise ReflectError(why, "let the person run 'reflect-git review' in a terminal", code="system") from error
    return question


def parts_of(question: Mapping[str, Any]) -> dict[str, str]:
    """Return everything that a person sees of a question, by what to call it if it was changed."""
    head, _, rest = str(question.get("question")).partition("\n")
    text, _, tail = f"{rest}\n".rpartition(f"\n{BAR}\n")
    more = {name: value for name, value in question.items() if name not in ("question", "header", "options")}
    return {
        _FIRST: head,
        _TEXT: text,
        _TAIL: tail,
        "another header than ours": _canonical(question.get("header")),
        "other options than ours": _canonical(question.get("options")),
        # The client adds what it takes for given.
        _MORE: _canonical({"multiSelect": False, **more}),
    }


def _canonical(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


def find_change(store: Store, asked: Mapping[str, Any], reported: Mapping[str, Any], question: str) -> str:
    """Say what a person was shown that was not printed, in the call that had this question; empty if nothing.

    `asked` is the input of the call, `reported` is what the client says was shown. Every question of the call counts: a
    question beside ours can make people read ours differently.
    """
    shown = [asked.get("questions"), reported.get("questions", asked.get("questions"))]
    listed = [one if isinstance(one, list) and all(isinstance(each, dict) for each in one) else [] for one in shown]
    if any(name not in _FIELDS for name in asked) or not listed[0]:
        return _MORE
    if list(map(parts_of, listed[0])) != list(map(parts_of, listed[1])):
        return "another question than the model asked"
    if questions.is_used(store, questions.number_in(question)):
        return _UNPRINTED
    # Ours first: what is wrong with it says more than that there is another one.
    for one in sorted(listed[0], key=lambda each: each.get("question") != question):
        change = _find_change_of(store, one)
        if change:
            return change if one.get("question") == question else "another question beside ours"
    return ""


def _find_change_of(store: Store, question: Mapping[str, Any]) -> str:
    number = questions.number_in(str(question.get("question")))
    if not number:
        return _FIRST
    kept = questions.load(store, number)
    if kept is None:
        return _UNPRINTED
    parts = parts_of(question)
    return next((name for name, value in parts.items() if kept.get(name) != digest(value)), "")


def find_news(question: Mapping[str, Any], form: Form) -> str:
    """Say what would be asked otherwise today: rules, files or the signals may have changed since the printing."""
    parts, today = parts_of(question), parts_of(build(form, ""))
    lines = parts[_TAIL].split("\n")[:-1]
    # A conflict that is settled by now takes nothing away from what the person said.
    still = tuple(line for line in lines if line in form.tail or not line.startswith(CONFLICT))
    missing = next((line for line in form.tail if line not in lines), "")
    if missing:
        return missing
    if still != form.tail:
        return next((line for line in still if line not in form.tail), _TAIL)
    changed = [name for name in today if name not in (_FIRST, _TAIL) and today[name] != parts[name]]
    return changed[0] if changed else ""
