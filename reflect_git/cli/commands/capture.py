"""Run `reflect-git capture`: store one signal by hand."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

import click

from reflect_git import paths
from reflect_git.capture import service
from reflect_git.cli.context import CliContext, printable
from reflect_git.cli.options import WordChoice, dry_run_option, json_option
from reflect_git.errors import EXIT_USAGE, ReflectError
from reflect_git.platform.project import top_of
from reflect_git.records import schema, yaml_form
from reflect_git.records.ids import utc_precise

if TYPE_CHECKING:
    from reflect_git.records.schema import Signal
    from reflect_git.store.repository import Store

_LOCK_SECONDS = 5.0
_STDIN_LIMIT = 1 << 20


@click.command()
@click.option(
    "--type",
    "kind",
    type=WordChoice("type", schema.TYPES),
    metavar="TYPE",
    required=True,
    help=f"The type: {', '.join(schema.TYPES)}.",
)
@click.option("--content", metavar="TEXT", required=True, help="The sentence to store; '-' reads stdin.")
@click.option(
    "--category",
    type=WordChoice("category", schema.CATEGORIES),
    metavar="WORD",
    help=f"The topic: {', '.join(schema.CATEGORIES)}.",
)
@click.option("--tag", "tags", metavar="WORD", multiple=True, help="A tag; may be repeated.")
@click.option("--context", metavar="TEXT", default="", help="The situation in which it was said.")
@click.option("--quote", metavar="TEXT", default="", help="The user's exact words: a sentence or clause.")
@click.option(
    "--project", metavar="DIR", type=click.Path(exists=True, file_okay=False), help="The project; default: here."
)
@click.option("--session", metavar="ID", help="The session; default: the one this runs in.")
@dry_run_option
@json_option
@click.pass_obj
def capture_command(cli: CliContext, /, dry_run: bool, project: str | None, **given: Any) -> None:
    """Store one signal by hand.

    At a terminal, it counts as the user's own words. From a script or inside Claude Code, it counts as Claude's words.
    With --quote it counts as the user's, if the user typed that sentence in this session and the content adds nothing.
    """
    facts, doubt = _build_facts(cli, **given)
    if doubt:
        cli.print_note(printable(f"the quote does not count as the user's own words: {doubt}"))
    folder = project or _find_project()
    if dry_run:
        _print_preview(cli, facts, folder)
        return
    store = cli.open_store()
    _set_project(store, facts, folder)
    signal, commit = service.capture_signal(store, facts, cli.env, _LOCK_SECONDS)
    _print_stored(cli, signal, commit, facts["content"])


def _build_facts(
    cli: CliContext, kind: str, content: str, category: str | None, tags: tuple[str, ...], context: str, quote: str,
    session: str | None,
) -> tuple[dict[str, Any], str]:  # fmt: skip
    """Return what is to be stored, and why the quote does not count if it does not."""
    typed = cli.is_at_terminal
    text = _decode_text(_read_stdin() if content == "-" else os.fsencode(content))
    trust, doubt = ("user_typed", "") if typed else _find_trust(cli, quote, text)
    is_own = trust != "assistant"
    # Words that the user is known to have said stand alone: what Claude says about them is kept apart.
    is_quoted = is_own and not typed
    said = f'the user said: "{quote}"' if quote else ""
    quotes = [quote] if is_quoted else [part for part in (context, said) if part]
    facts = {
        "type": kind,
        "content": text,
        "category": category,
        "tags": [_decode_text(os.fsencode(tag)) for tag in tags],
        "context": _decode_text(os.fsencode("\n".join(quotes))),
        "meta": {"note": _decode_text(os.fsencode(context))} if is_quoted and context else {},
        "session_id": session if session is not None else cli.env.get("CLAUDE_CODE_SESSION_ID", ""),
        "trust": trust,
        # Who sits down to type a rule means it; what a script reports has to be seen again to count as much.
        "confidence": 2 if is_own else 1,
    }
    return facts, doubt


def _find_trust(cli: CliContext, quote: str, content: str) -> tuple[str, str]:
    """Return how the user said this in the running session, or `assistant` and why the quote does not count."""
    if not quote.strip():
        return "assistant", ""
    from reflect_git.candidates import quotes

    place, message, via = _find_best_place(cli, quote)
    doubt = quotes.find_quote_problem(quote, place, message) or quotes.find_difference(quote, content)
    return ("assistant", doubt) if doubt else ("user_feedback" if via == "feedback" else "user_typed", "")


def _find_best_place(cli: CliContext, quote: str) -> tuple[str, str, str]:
    """Return what the quote is in the message where it fits best, that message, and how the user sent it."""
    from reflect_git.candidates import quotes
    from reflect_git.capture.transcript import TranscriptReader
    from reflect_git.rules.approver import find_session

    session, projects = find_session(cli.env)
    path = _find_transcript(projects, session)
    best, message, via = "", "", ""
    try:
        for turn in TranscriptReader(path, projects=projects) if path else ():
            if turn.kind == "user" and turn.is_attended:
                place = quotes.find_quote_kind(quote, turn.raw)
                if quotes.QUOTE_KINDS.index(place) > quotes.QUOTE_KINDS.index(best):
                    best, message, via = place, turn.raw, turn.via
    except ReflectError:  # not a file of the client's
        pass
    return best, message, via


def _find_transcript(projects: str, session: str) -> str:
    """Find the transcript of a session; empty if there is none."""
    if not session or not session.replace("-", "").isalnum():
        return ""
    try:
        folders = [entry.path for entry in os.scandir(projects) if entry.is_dir()]
    except OSError:
        return ""
    found = (os.path.join(folder, f"{session}.jsonl") for folder in folders)
    return next(filter(os.path.isfile, found), "")


def _read_stdin() -> bytes:
    data = sys.stdin.buffer.read(_STDIN_LIMIT + 1)
    if len(data) > _STDIN_LIMIT:
        raise ReflectError(
            "the content is larger than 1 MiB", "shorten it to the sentence that matters", "usage", EXIT_USAGE
        )
    return data


def _decode_text(data: bytes) -> str:
    """Decode UTF-8. Invalid bytes become escapes, so that nothing is lost and the file stays readable."""
    return data.decode("utf-8", "backslashreplace")


def _find_project() -> str:
    """Return the repository around the current folder, or the folder itself."""
    try:
        folder = os.getcwd()
    except FileNotFoundError:  # deleted under our feet
        return ""
    return top_of(folder) or folder


def _set_project(store: Store, facts: dict[str, Any], folder: str) -> None:
    if folder and service.is_ignored(store, os.path.abspath(folder)):
        raise ReflectError(
            f"capture is off in '{folder}'",
            "see its .reflectignore, or run: reflect-git config ignore",
            code="ignored",
        )
    facts["project"] = service.get_project(store, folder)


def _print_preview(cli: CliContext, facts: dict[str, Any], folder: str) -> None:
    """Print the record as it would be stored."""
    from reflect_git.capture.new_signal import build_signal_from_input

    store = cli.find_store()
    if store is not None:
        _set_project(store, facts, folder)
    else:
        cli.print_note("no store yet; it would be created first")
    signal = build_signal_from_input(facts, store.machine if store else "", utc_precise(), paths.home_dir(cli.env))
    yaml_form.check(signal)
    if cli.json:
        cli.print_json(signal)
    else:
        cli.print_line(printable(yaml_form.emit(signal).decode("utf-8")).rstrip("\n"))


def _print_stored(cli: CliContext, signal: Signal, commit: str | None, given: str) -> None:
    if cli.json:
        cli.print_json({"id": signal["id"], "commit": commit})
        return
    if commit:
        cli.print_line(f"stored {signal['id']} in commit {commit[:10]}")
    else:
        cli.print_line(f"stored {signal['id']}")
        cli.print_note("not committed yet; the next reflect-git command commits it")
    changed = {
        "the content was too long and was cut": signal["content"].endswith("…") and not given.endswith("…"),
        "a possible secret was redacted": signal["content"].count("[REDACTED:") > given.count("[REDACTED:"),
    }
    for said in (said for said, is_so in changed.items() if is_so):
        cli.print_note(f"{said}; see '{cli.format_command('show', signal['id'])}'")
