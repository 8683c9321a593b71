"""The completion script of a shell, for `reflect-git`, `git-reflect` and `git reflect`."""

from __future__ import annotations

import sys

import click
from click.shell_completion import ShellComplete, get_completion_class

from reflect_git import paths
from reflect_git.cli.app import PROGRAM
from reflect_git.cli.front import Front
from reflect_git.cli.options import json_option
from reflect_git.cli.start import COMPLETE_VAR

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
def command(front: Front, shell: str) -> None:
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
