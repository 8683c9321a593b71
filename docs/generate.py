"""What documents say of the commands, from the commands themselves: `make docs` writes, a test compares.

docs/commands.md and docs/man/reflect-git.1 list every verb, argument and option.
"""

from __future__ import annotations

import inspect
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import click

from reflect_git import errors
from reflect_git.cli.app import GROUPS, NAMED_GROUPS, PLUMBING, list_group, root_command
from reflect_git.cli.context import CliContext

HERE = Path(__file__).parent
_INTRO = "Every command and option, as `reflect-git help COMMAND` prints them. `make docs` generates this page."
_CODES = {
    errors.EXIT_OK: "success",
    errors.EXIT_REFUSED: "refused or failed, and the message says why; or you answered no",
    errors.EXIT_USAGE: "wrong command line",
    errors.EXIT_BUG: "a bug in reflect-git; the path of a report is printed",
    errors.EXIT_DECISION: "something needs your decision, and nothing failed",
    errors.EXIT_INTERRUPTED: "interrupted with Ctrl-C; answers so far are saved",
}


def list_commands() -> Iterator[tuple[str, str, click.Command, click.Context]]:
    """(group, whole name, command, context) of every verb and of what stands below it."""
    above = click.Context(root_command, info_name="reflect-git", obj=CliContext({}))
    for group in (*GROUPS, *NAMED_GROUPS, PLUMBING):
        for verb in list_group(group):
            command = root_command.get_command(above, verb)
            assert command is not None
            context = click.Context(command, info_name=verb, parent=above)
            yield group, verb, command, context
            for name, below in (command.commands if isinstance(command, click.Group) else {}).items():
                yield group, f"{verb} {name}", below, click.Context(below, info_name=name, parent=context)


def _format_usage(command: click.Command, context: click.Context) -> str:
    return " ".join([context.command_path, *command.collect_usage_pieces(context)])


def _format_help(command: click.Command, code: tuple[str, str]) -> list[str]:
    """Return the paragraphs of the help text, each on one line. Examples keep their lines, between `code`."""
    found: list[str] = []
    for part in inspect.cleandoc(command.help or "").split("\n\n"):
        first, _, rest = part.partition("\n")
        if first.strip() != "\b":
            found.append(" ".join(part.split()))
            continue
        title, _, below = rest.partition("\n")
        if title.rstrip().endswith(":"):
            found.append(title.strip())
            rest = below
        found.append("\n".join([code[0], *textwrap.dedent(rest).rstrip().splitlines(), code[1]]))
    return [part for part in found if part]


def _list_options(command: click.Command, context: click.Context) -> list[tuple[str, str]]:
    listed = [one for one in command.get_params(context) if isinstance(one, click.Option)]
    found = [option.get_help_record(context) for option in listed]
    return [record for record in found if record is not None]


def as_markdown() -> str:
    lines = [
        "# Commands",
        "",
        _INTRO,
        "",
    ]
    lines += ["Every command takes these options before its name:", ""]
    lines += _format_table(_list_options(root_command, click.Context(root_command, info_name="reflect-git")))
    current = ""
    for group, name, command, context in list_commands():
        if group != current:
            current = group
            lines += ["", f"## {group}"]
        lines += [
            "",
            f"### {name}",
            "",
            f"    {_format_usage(command, context)}",
            "",
            "\n\n".join(_format_help(command, ("```", "```"))),
            "",
        ]
        lines += _format_table(_list_options(command, context))
    lines += ["", "## Exit codes", "", "| code | means |", "|---|---|"]
    lines += [f"| {code} | {text} |" for code, text in _CODES.items()]
    return "\n".join([*lines, "", "Hooks always exit with 0.", ""])


def _format_table(options: list[tuple[str, str]]) -> list[str]:
    named = [(name.replace("[auto|always|never]", "WHEN"), text) for name, text in options]
    rows = [f"| `{_escape_cell(name)}` | {_escape_cell(text)} |" for name, text in named]
    return ["| option | |", "|---|---|", *(row.replace("\n", " ") for row in rows)] if rows else []


def _escape_cell(text: str) -> str:
    """Escape what would end a cell of a table, also within backticks."""
    return text.replace("|", "\\|")


def as_man_page() -> str:
    head = [
        '.TH REFLECT\\-GIT 1 "" "reflect-git" "User Commands"',
        ".SH NAME",
        r"reflect\-git, git\-reflect \- a git-native learnings manager for Claude Code",
        ".SH SYNOPSIS",
        _escape_roff("reflect-git [OPTIONS] COMMAND [ARGS]..."),
        ".SH DESCRIPTION",
        *_format_roff_help(root_command),
        ".SH OPTIONS",
        *_format_list(_list_options(root_command, click.Context(root_command))),
    ]
    body: list[str] = []
    current = ""
    for group, name, command, context in list_commands():
        if group != current:
            current = group
            body.append(f'.SH "{group.upper()} COMMANDS"')
        body += [f'.SS "{name}"', _escape_roff(_format_usage(command, context)), ".PP"]
        body.append("\n.PP\n".join(_format_roff_help(command)))
        body += _format_list(_list_options(command, context))
    codes = [line for code, text in _CODES.items() for line in (".TP", str(code), _escape_roff(text))]
    return "\n".join([*head, *body, '.SH "EXIT STATUS"', *codes, ""])


def _format_list(options: list[tuple[str, str]]) -> list[str]:
    return [line for name, text in options for line in (".TP", f"\\fB{_escape_roff(name)}\\fR", _escape_roff(text))]


def _format_roff_help(command: click.Command) -> list[str]:
    return [
        "\n".join([".nf", *(_escape_roff_line(line) for line in part.splitlines()[1:-1]), ".fi"])
        if part.startswith(".nf\n")
        else _escape_roff(part)
        for part in _format_help(command, (".nf", ".fi"))
    ]


def _escape_roff_line(line: str) -> str:
    """Return a line of an example with its spaces."""
    return "\\&" + line.replace("\\", "\\e").replace("-", "\\-")


def _escape_roff(text: str) -> str:
    """As roff reads it: a dot or a quote at the beginning of a line would be a command."""
    flat = " ".join(text.replace("\\", "\\e").replace("-", "\\-").split())
    return f"\\&{flat}" if flat.startswith((".", "'")) else flat


def build_pages() -> dict[Path, str]:
    return {
        HERE / "commands.md": as_markdown(),
        HERE / "man" / "reflect-git.1": as_man_page(),
        HERE / "man" / "git-reflect.1": ".so man1/reflect-git.1\n",
    }


def main() -> int:
    for path, text in build_pages().items():
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
