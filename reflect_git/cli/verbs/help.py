"""Help on a command, in the words that git users look for it with."""

from __future__ import annotations

import click

from reflect_git.cli.app import PLUMBING, Verbs, program, unknown_verb
from reflect_git.cli.front import Front

_STABLE = 'Stable: with --json each answers with one document, {"schema_version": 1, "data": …}.'


@click.command()
@click.argument("topic", required=False)
@click.pass_context
def command(ctx: click.Context, topic: str | None) -> None:
    """Show the help of a command; 'plumbing' lists those for scripts, 'options' what every command takes."""
    front: Front = ctx.obj
    above = ctx.parent or ctx
    front.out(above.get_help() if topic is None else _help_on(above, topic))


def _help_on(above: click.Context, topic: str) -> str:
    assert isinstance(program, Verbs)
    formatter = above.make_formatter()
    if topic == PLUMBING.lower():
        program.format_group(formatter, PLUMBING)
        formatter.write_paragraph()
        formatter.write_text(_STABLE)
        return formatter.getvalue().rstrip("\n")
    if topic == "options":
        program.format_all_options(above, formatter)
        return formatter.getvalue().rstrip("\n")
    found = program.get_command(above, topic)
    if found is None:
        raise unknown_verb(topic)
    with click.Context(found, info_name=topic, parent=above) as below:
        return found.get_help(below)
