"""Run `reflect-git help` and `completion`."""

from __future__ import annotations

import sys

import click
from click.shell_completion import ShellComplete, get_completion_class

from reflect_git import paths
from reflect_git.cli.app import PLUMBING, PROGRAM, Verbs, program, unknown_verb
from reflect_git.cli.context import Front
from reflect_git.cli.options import json_option
from reflect_git.cli.start import COMPLETE_VAR

_STABLE = 'Stable: with --json each answers with one document, {"schema_version": 1, "data": …}.'


@click.command()
@click.argument("topic", required=False)
@click.pass_context
def help_command(ctx: click.Context, topic: str | None) -> None:
    """Show help for a command. 'plumbing' lists commands for scripts, 'options' the global options."""
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


_PROGRAMS = (PROGRAM, "git-reflect")
_INSTALL = {
    "bash": "add to ~/.bashrc:  eval \"$(reflect-git completion bash)\"",
    "zsh": "add to ~/.zshrc, below compinit:  eval \"$(reflect-git completion zsh)\"",
    "fish": "reflect-git completion fish > ~/.config/fish/completions/reflect-git.fish",
}  # fmt: skip


@click.command()
@click.argument("shell", type=click.Choice(sorted(_INSTALL)))
@json_option
@click.pass_obj
def completion_command(front: Front, shell: str) -> None:
    """Print the completion script of a shell: bash, zsh or fish."""
    with open(paths.resource("templates", "completion", shell), encoding="utf-8") as file:
        script = "\n".join([*(_script(shell, name) for name in _PROGRAMS), file.read()])
    if front.json:
        front.data({"shell": shell, "script": script})
        return
    front.out(script)
    if sys.stdout.isatty():  # in a shell's start-up file nobody wants to read it
        front.talk(f"hint: {_INSTALL[shell]}")


def _script(shell: str, name: str) -> str:
    kind = get_completion_class(shell)
    assert kind is not None
    # Not kind.source: that of bash starts a bash to ask for its version.
    script = ShellComplete.source(kind(click.Command(name), {}, name, COMPLETE_VAR))
    return script.replace('string split ","', 'string split --max 1 ","')  # fish would cut a description at its comma
