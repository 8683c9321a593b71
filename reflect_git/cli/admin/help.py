"""Run `reflect-git help` and `completion`."""

from __future__ import annotations

import sys

import click
from click.shell_completion import ShellComplete, get_completion_class

from reflect_git import paths
from reflect_git.cli.app import (
    GROUPS,
    NAMED_GROUPS,
    PLUMBING,
    PROGRAM,
    CommandGroup,
    root_command,
    unknown_command_error,
)
from reflect_git.cli.context import CliContext
from reflect_git.cli.options import json_option
from reflect_git.cli.start import COMPLETE_VAR

_JSON_NOTE = 'These are stable for scripts. With --json, each prints one document: {"schema_version": 1, "data": …}.'


@click.command()
@click.argument("topic", required=False)
@click.pass_context
def help_command(ctx: click.Context, topic: str | None) -> None:
    """Show help for a command. 'all' lists all commands, 'plumbing' those for scripts, 'options' the global options."""
    cli: CliContext = ctx.obj
    above = ctx.parent or ctx
    cli.print_line(above.get_help() if topic is None else _format_help(above, topic))


def _format_help(above: click.Context, topic: str) -> str:
    assert isinstance(root_command, CommandGroup)
    formatter = above.make_formatter()
    if topic == PLUMBING.lower():
        root_command.format_group(formatter, PLUMBING)
        formatter.write_paragraph()
        formatter.write_text(_JSON_NOTE)
        return formatter.getvalue().rstrip("\n")
    if topic == "all":
        for group in (*GROUPS, *NAMED_GROUPS):
            root_command.format_group(formatter, group)
        return formatter.getvalue().strip("\n")
    if topic == "options":
        root_command.format_all_options(above, formatter)
        return formatter.getvalue().rstrip("\n")
    found = root_command.get_command(above, topic)
    if found is None:
        raise unknown_command_error(topic)
    with click.Context(found, info_name=topic, parent=above) as below:
        return found.get_help(below)


_PROGRAM_NAMES = (PROGRAM, "git-reflect")
_INSTALL_HINTS = {
    "bash": "add to ~/.bashrc:  eval \"$(reflect-git completion bash)\"",
    "zsh": "add to ~/.zshrc, below compinit:  eval \"$(reflect-git completion zsh)\"",
    "fish": "reflect-git completion fish > ~/.config/fish/completions/reflect-git.fish",
}  # fmt: skip


@click.command()
@click.argument("shell", type=click.Choice(sorted(_INSTALL_HINTS)))
@json_option
@click.pass_obj
def completion_command(cli: CliContext, shell: str) -> None:
    """Print the completion script for a shell: bash, zsh or fish."""
    with open(paths.resource_path("templates", "completion", shell), encoding="utf-8") as file:
        script = "\n".join([*(_build_script(shell, name) for name in _PROGRAM_NAMES), file.read()])
    if cli.json:
        cli.print_json({"shell": shell, "script": script})
        return
    cli.print_line(script)
    if sys.stdout.isatty():  # in a shell's start-up file nobody wants to read it
        cli.print_note(f"hint: {_INSTALL_HINTS[shell]}")


def _build_script(shell: str, name: str) -> str:
    kind = get_completion_class(shell)
    assert kind is not None
    # Not kind.source: that of bash starts a bash to ask for its version.
    script = ShellComplete.source(kind(click.Command(name), {}, name, COMPLETE_VAR))
    return script.replace('string split ","', 'string split --max 1 ","')  # fish would cut a description at its comma
