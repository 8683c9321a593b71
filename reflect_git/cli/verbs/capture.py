"""One signal by hand."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

import click

from reflect_git import paths, workflow
from reflect_git.adapters.project import top_of
from reflect_git.cli.front import Front, printable
from reflect_git.cli.options import Word, dry_run_option, json_option
from reflect_git.errors import EXIT_USAGE, ReflectError
from reflect_git.model import schema

if TYPE_CHECKING:
    from reflect_git.model.schema import Signal
    from reflect_git.store.repository import Store

_WAIT = 5.0
_STDIN_LIMIT = 1 << 20
_SHORTEST_QUOTE = 8


@click.command()
@click.option(
    "--type",
    "kind",
    type=Word("type", schema.TYPES),
    metavar="TYPE",
    required=True,
    help=f"What kind of moment: {', '.join(schema.TYPES)}.",
)
@click.option("--content", metavar="TEXT", required=True, help="The sentence that carries it; '-' reads it from stdin.")
@click.option(
    "--category",
    type=Word("category", schema.CATEGORIES),
    metavar="WORD",
    help=f"What it is about: {', '.join(schema.CATEGORIES)}.",
)
@click.option("--tag", "tags", metavar="WORD", multiple=True, help="A word to find it by; may be repeated.")
@click.option("--context", metavar="TEXT", default="", help="What was done and said around it.")
@click.option("--quote", metavar="TEXT", default="", help="The user's own words, kept with the context.")
@click.option(
    "--project", metavar="DIR", type=click.Path(exists=True, file_okay=False), help="The project; default: here."
)
@click.option("--session", metavar="ID", help="The session; default: the one this runs in.")
@dry_run_option
@json_option
@click.pass_obj
def command(front: Front, /, dry_run: bool, project: str | None, **given: Any) -> None:
    """Store one signal by hand.

    Typed at a terminal it counts as the user's own words; from a script or from inside Claude Code it counts as the
    assistant's, unless --quote is what the user said in this session, word for word and at least 8 characters long.
    """
    facts = _facts(front, **given)
    if facts["trust"] == "assistant" and 0 < len(_on_one_line(given["quote"])) < _SHORTEST_QUOTE:
        least = f"give at least {_SHORTEST_QUOTE} characters"
        front.talk(f"the quote is too short to count as the user's own words: {least}")
    folder = project or _project_here()
    if dry_run:
        _preview(front, facts, folder)
        return
    store = front.store()
    _place(store, facts, folder)
    signal, commit = workflow.capture(store, facts, front.env, _WAIT)
    _say(front, signal, commit, facts["content"])


def _facts(
    front: Front, kind: str, content: str, category: str | None, tags: tuple[str, ...], context: str, quote: str,
    session: str | None,
) -> dict[str, Any]:  # fmt: skip
    typed = front.at_terminal
    trust = "user_typed" if typed else _trust_of(front, quote)
    is_own = trust != "assistant"
    # Words that the user is known to have said stand alone: what Claude says about them is kept apart.
    is_quoted = is_own and not typed
    said = f'the user said: "{quote}"' if quote else ""
    told = [quote] if is_quoted else [part for part in (context, said) if part]
    return {
        "type": kind,
        "content": _readable(_stdin() if content == "-" else os.fsencode(content)),
        "category": category,
        "tags": [_readable(os.fsencode(tag)) for tag in tags],
        "context": _readable(os.fsencode("\n".join(told))),
        "meta": {"note": _readable(os.fsencode(context))} if is_quoted and context else {},
        "session_id": session if session is not None else front.env.get("CLAUDE_CODE_SESSION_ID", ""),
        "trust": trust,
        # Who sits down to type a rule means it; what a script reports has to be seen again to count as much.
        "confidence": 2 if is_own else 1,
    }


def _trust_of(front: Front, quote: str) -> str:
    """How the user said this in the running session; `assistant` if they did not."""
    wanted = _on_one_line(quote)
    if len(wanted) < _SHORTEST_QUOTE:
        return "assistant"
    from reflect_git.adapters.transcript import Reader

    projects = paths.projects_dir(front.env)
    path = _transcript(projects, front.env.get("CLAUDE_CODE_SESSION_ID", ""))
    try:
        for turn in Reader(path, projects=projects) if path else ():
            if turn.kind == "user" and turn.attended and wanted in _on_one_line(turn.text):
                return "user_feedback" if turn.via == "feedback" else "user_typed"
    except ReflectError:  # not a file of the client's
        pass
    return "assistant"


def _on_one_line(text: str) -> str:
    return " ".join(text.split())


def _transcript(projects: str, session: str) -> str:
    """The file of a session; empty where there is none."""
    if not session or not session.replace("-", "").isalnum():
        return ""
    try:
        folders = [entry.path for entry in os.scandir(projects) if entry.is_dir()]
    except OSError:
        return ""
    found = (os.path.join(folder, f"{session}.jsonl") for folder in folders)
    return next(filter(os.path.isfile, found), "")


def _stdin() -> bytes:
    data = sys.stdin.buffer.read(_STDIN_LIMIT + 1)
    if len(data) > _STDIN_LIMIT:
        raise ReflectError("the content is larger than 1 MiB", "give the sentence that matters", "usage", EXIT_USAGE)
    return data


def _readable(data: bytes) -> str:
    """Bytes that are no UTF-8 are kept as their escapes: nothing is lost, and every reader can read the file."""
    return data.decode("utf-8", "backslashreplace")


def _project_here() -> str:
    """The repository around the current folder, or the folder itself."""
    try:
        folder = os.getcwd()
    except FileNotFoundError:  # deleted under our feet
        return ""
    return top_of(folder) or folder


def _place(store: Store, facts: dict[str, Any], folder: str) -> None:
    if folder and workflow.is_ignored(store, os.path.abspath(folder)):
        raise ReflectError(
            f"nothing is captured in '{folder}'",
            "its .reflectignore or the setting reflect.ignore says so",
            code="ignored",
        )
    facts["project"] = workflow.project_of(store, folder)


def _preview(front: Front, facts: dict[str, Any], folder: str) -> None:
    """The record as it would be stored."""
    from reflect_git.adapters import records
    from reflect_git.capture.draft import draft
    from reflect_git.model.ids import utc_precise

    store = front.store_if_any()
    if store is not None:
        _place(store, facts, folder)
    else:
        front.talk("there is no store yet: it would be made first, and name this machine")
    signal = draft(facts, store.machine if store else "", utc_precise(), paths.home_dir(front.env))
    records.check(signal)
    if front.json:
        front.data(signal)
    else:
        front.out(printable(records.emit(signal).decode("utf-8")).rstrip("\n"))


def _say(front: Front, signal: Signal, commit: str | None, given: str) -> None:
    if front.json:
        front.data({"id": signal["id"], "commit": commit})
        return
    if commit:
        front.out(f"stored {signal['id']} in commit {commit[:10]}")
    else:
        front.out(f"stored {signal['id']}")
        front.talk("it is safe, and not committed yet: a later reflect-git command does that")
    changed = {
        "the content was too long and was cut": signal["content"].endswith("…") and not given.endswith("…"),
        "what looked like a secret was replaced": signal["content"].count("[REDACTED:") > given.count("[REDACTED:"),
    }
    for said in (said for said, is_so in changed.items() if is_so):
        front.talk(f"{said}; '{front.command('show', signal['id'])}' prints what is left")
