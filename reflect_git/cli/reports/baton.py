"""Run `reflect-git baton`: a session in at most 200 words and its last ten messages."""

from __future__ import annotations

import click

from reflect_git.cli.context import CliContext, printable
from reflect_git.cli.options import json_option
from reflect_git.errors import ReflectError
from reflect_git.judge import baton, messages
from reflect_git.records.ids import plural


@click.command()
@click.argument("session")
@json_option
@click.pass_obj
def baton_command(cli: CliContext, session: str) -> None:
    """Print what somebody needs to continue a session.

    That is: the last ten messages word for word, and at most 200 words about the rest: what the user said, what is
    open, what fails. No model is called. A session of fewer than 30 messages is printed as it is.

    \b
    Example:
      reflect-git baton 3f9a1c20
    """
    store = cli.open_store(create=False)
    found = messages.load_session(store, cli.env, messages.find_transcript(cli.env, session))
    if found is None:
        raise ReflectError(
            f"nothing to read in the session '{session}'", "capture was off, or nobody typed", "no-session"
        )
    made = baton.build_baton(found)
    if cli.json:
        cli.print_json(baton.as_json(found, made))
        return
    for line in baton.format_baton(made).splitlines():
        cli.print_line(printable(line))
    if made.summarised:
        cli.print_note(f"{plural(made.summarised, 'message')} summarised in {plural(made.words, 'word')}")
    else:
        cli.print_note("nothing summarised: fewer than 30 messages")
