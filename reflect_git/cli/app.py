"""Run the command line: find the command, run it, and turn errors into one message and an exit code."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NoReturn

import click

from reflect_git import __version__
from reflect_git.cli.context import CliContext, finish_run, prepare_streams, printable, report_error
from reflect_git.cli.start import COMPLETE_VAR
from reflect_git.errors import EXIT_BUG, EXIT_INTERRUPTED, EXIT_USAGE, ReflectError

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from reflect_git.cli.fast_start import Prefetch

PROGRAM = "reflect-git"

# Verb → group and one line; --help reads this table and imports no verb.
COMMANDS = {
    "review": ("Daily", "review proposed rules one by one"),
    "rules": ("Daily", "list the rules"),
    "why": ("Daily", "explain where a line of CLAUDE.md comes from"),
    "edit": ("Daily", "reword or move a rule"),
    "guard": ("Daily", "enforce a rule: remind, ask or stop"),
    "guards": ("Plumbing", "list the guards and what they did"),
    "unguard": ("Plumbing", "remove the guard of a rule"),
    "status": ("Daily", "show capture, proposed rules and what needs attention"),
    "candidates": ("Plumbing", "list proposed rules"),
    "keep": ("Plumbing", "apply what you answered to /keep in Claude Code"),
    "approve": ("Plumbing", "approve a proposed rule"),
    "dismiss": ("Plumbing", "dismiss or skip a proposed rule"),
    "show": ("Daily", "show a signal, rule, decision or commit"),
    "panel": ("Daily", "look, decide and revert in a browser"),
    "undo": ("Daily", "undo the last decision; run again to redo it"),
    "log": ("History", "show decisions: what, when and by whom"),
    "effect": ("History", "show whether the rules help"),
    "versions": ("Effect", "list the versions of a file, and the sessions under each"),
    "trend": ("Effect", "show corrections per week, with approvals"),
    "pin": ("Effect", "keep a rule from being reverted automatically"),
    "unpin": ("Plumbing", "end the pin of a rule"),
    "bisect": ("Effect", "find the approval after which sessions became worse"),
    "revert": ("History", "revert a rule or a decision"),
    "restore": ("History", "list backups, or restore one byte for byte"),
    "incidents": ("Failures", "list failures that share a cause; show or mute one"),
    "evaluate": ("Judge", "have a judge score your sessions"),
    "suggestions": ("Judge", "list what the judge suggested; take or dismiss it"),
    "gate": ("Judge", "show what each stage of the gate says about a rule"),
    "tidy": ("Judge", "join, split and retire the rules of one file"),
    "baton": ("Judge", "print a session in 200 words and its last messages"),
    "rootcause": ("Failures", "record why an incident happens, and propose a change"),
    "digest": ("Memory", "show what a day, week or month was about"),
    "upkeep": ("Memory", "keep the store small: digests, expiry, index"),
    "schedule": ("Memory", "run upkeep at a fixed time"),
    "search": ("Memory", "search rules, signals, digests and incidents"),
    "skills": ("Memory", "turn repeated work into a skill"),
    "audit": ("History", "check that every rule traces to an approval"),
    "purge": ("History", "delete a text from the whole history"),
    "remote": ("Sync", "show, set or remove the remote"),
    "sync": ("Sync", "exchange rules with your other machines"),
    "propose": ("Sync", "offer a project's rules to its team, as a branch"),
    "init": ("Plumbing", "create the store (hooks also do it when needed)"),
    "enable": ("Set-up", "switch capture on"),
    "disable": ("Set-up", "switch capture off, everywhere or in a project"),
    "pause": ("Set-up", "pause capture for a while, or until 'resume'"),
    "resume": ("Plumbing", "resume capture"),
    "doctor": ("Set-up", "check the installation, repair with --fix"),
    "config": ("Set-up", "list, read or change settings"),
    "import": ("Set-up", "import signals from past sessions or other tools"),
    "improvements": ("Plumbing", "list proposed improvements of the project"),
    "uninstall": ("Set-up", "remove the hooks; rules and store stay"),
    "demo": ("Set-up", "show everything in a minute, in a temporary home"),
    "completion": ("Plumbing", "print the completion script for a shell"),
    "help": ("Plumbing", "show help for a command, 'plumbing' or 'options'"),
    "capture": ("Plumbing", "store one signal by hand"),
    "mine": ("Plumbing", "show the signals of a transcript"),
    "signals": ("Plumbing", "list and filter signals"),
    "stats": ("Plumbing", "count signals"),
}
# Where a command is that is not in commands/<its name>.py.
COMMAND_MODULES = {
    "dismiss": "commands.approve",
    "guards": "commands.guard",
    "unguard": "commands.guard",
    "stats": "commands.signals",
    "unpin": "commands.pin",
    "bisect": "reports.trend",
    "effect": "reports.effect",
    "trend": "reports.trend",
    "versions": "reports.versions",
    "baton": "reports.baton",
    "evaluate": "reports.evaluate",
    "gate": "reports.gate",
    "suggestions": "reports.suggestions",
    "tidy": "reports.tidy",
    "incidents": "reports.incidents",
    "rootcause": "reports.rootcause",
    "digest": "reports.digest",
    "skills": "reports.skills",
    "search": "reports.search",
    "schedule": "admin.upkeep",
    "upkeep": "admin.upkeep",
    "undo": "commands.revert",
    "restore": "commands.revert",
    "improvements": "commands.edit",
    "audit": "admin.audit",
    "purge": "admin.purge",
    "remote": "admin.remote",
    "sync": "admin.remote",
    "enable": "admin.switch",
    "disable": "admin.switch",
    "pause": "admin.switch",
    "resume": "admin.switch",
    "config": "admin.config",
    "import": "admin.import_",
    "mine": "admin.import_",
    "doctor": "admin.doctor",
    "init": "admin.install",
    "uninstall": "admin.install",
    "demo": "admin.demo",
    "help": "admin.help",
    "completion": "admin.help",
}
# Groups whose commands `--help` explains; of the others it prints the names, so that it fits one screen.
GROUPS = ("Daily", "History")
NAMED_GROUPS = ("Effect", "Judge", "Failures", "Memory", "Sync", "Set-up")
PLUMBING = "Plumbing"
# Words of other programs for what is done here with one of these.
_UNKNOWN_HINTS = {"redo": "run 'reflect-git undo' again to redo"}
_EXAMPLES = (
    ("reflect-git review", "review proposed rules"),
    ("reflect-git why CLAUDE.md:12", "who said this, and who approved it"),
)


class CommandGroup(click.Group):
    """Import a command only when it is called: `--help` and `--version` load none."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        from importlib import import_module

        module = import_module(f"reflect_git.cli.{COMMAND_MODULES.get(cmd_name, f'commands.{cmd_name}')}")
        command: click.Command = getattr(module, f"{cmd_name}_command")
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args[0] not in COMMANDS and not args[0].startswith("-") and not ctx.resilient_parsing:
            raise unknown_command_error(args[0])
        return super().resolve_command(ctx, args)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Complete from the table: click would import every command to get its help text."""
        from click.shell_completion import CompletionItem

        verbs = [CompletionItem(name, help=text) for name, (_, text) in COMMANDS.items() if name.startswith(incomplete)]
        return [*verbs, *click.Command.shell_complete(self, ctx, incomplete)]

    def format_help_text(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Print the description, then examples."""
        super().format_help_text(ctx, formatter)
        with formatter.section("Examples"):
            formatter.write_dl(_EXAMPLES)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Print only the commands: most people never need the global options."""
        self.format_commands(ctx, formatter)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for group in GROUPS:
            self.format_group(formatter, group)
        with formatter.section("More"):
            formatter.write_dl([(group, ", ".join(list_group(group))) for group in NAMED_GROUPS])

    def format_group(self, formatter: click.HelpFormatter, group: str) -> None:
        rows = [(name, text) for name, (of, text) in COMMANDS.items() if of == group]
        if rows:
            with formatter.section(group):
                formatter.write_dl(rows)

    def format_all_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        click.Command.format_options(self, ctx, formatter)


def list_group(group: str) -> list[str]:
    """List the commands of a group."""
    return [name for name, (of, _) in COMMANDS.items() if of == group]


def unknown_command_error(name: str) -> ReflectError:
    from difflib import get_close_matches

    close = sorted(
        get_close_matches(name, COMMANDS), key=lambda verb: sorted(verb) != sorted(name)
    )  # swapped ones first
    hint = _UNKNOWN_HINTS.get(name) or (f"did you mean '{close[0]}'?" if close else "see 'reflect-git --help'")
    return ReflectError(f"'{name}' is not a reflect-git command", hint, "usage", EXIT_USAGE)


@click.group(
    cls=CommandGroup,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Help: 'reflect-git help COMMAND', 'help all', 'help options', 'help plumbing'.",
)
@click.version_option(__version__, "-V", "--version", prog_name="reflect-git", message="%(prog)s %(version)s")
@click.option(
    "--store", "store_option", metavar="DIR", default="", help="Use this store instead of the configured one."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
@click.option("--color", type=click.Choice(["auto", "always", "never"]), default="auto", help="When to use colour.")
@click.option("--no-input", is_flag=True, help="Never ask; fail instead.")
@click.option("--yes", is_flag=True, help="Answer yes to questions, except approvals.")
@click.pass_context
def root_command(ctx: click.Context, store_option: str, as_json: bool, color: str, no_input: bool, yes: bool) -> None:
    """Turn your corrections of Claude Code into rules that you approve, in git."""
    cli: CliContext = ctx.obj
    cli.store_option, cli.color = store_option, color
    cli.json, cli.no_input, cli.yes = as_json, no_input, yes
    if ctx.invoked_subcommand is None:
        command = root_command.get_command(ctx, "status")
        assert command is not None
        ctx.invoke(command)


def main(arguments: Sequence[str] | None = None, prefetch: Prefetch | None = None) -> NoReturn:
    """Run one command and exit; `ahead` holds a git query that was started early."""
    prepare_streams()
    cli = CliContext(os.environ, prefetch)
    finish_run(cli, run_command(cli, list(sys.argv[1:] if arguments is None else arguments)))


def run_command(cli: CliContext, words: list[str]) -> int:
    try:
        result: Any = root_command.main(
            words, prog_name=PROGRAM, complete_var=COMPLETE_VAR, standalone_mode=False, obj=cli
        )
        return result if isinstance(result, int) else 0
    except (Exception, KeyboardInterrupt) as error:
        return handle_error(cli, error, words)


def handle_error(cli: CliContext, failed: BaseException, words: list[str]) -> int:
    """Report any exception and return the exit code: the whole error policy."""
    try:
        raise failed
    except ReflectError as error:
        if error.exit_code == EXIT_USAGE:
            cli.json = cli.json or "--json" in words
        return report_error(cli, error)
    except click.UsageError as error:
        cli.json = cli.json or "--json" in words  # the command line was not understood: take the word for the wish
        return report_error(cli, _usage_error(error))
    except click.ClickException as error:
        return report_error(cli, ReflectError(_normalise_message(error.format_message())))
    except (click.Abort, KeyboardInterrupt):
        said = "interrupted"
        return report_error(cli, ReflectError(said, code="interrupted", exit_code=EXIT_INTERRUPTED))
    except OSError as error:
        return report_error(cli, _system_error(cli, error))
    except Exception as error:
        return write_bug_report(cli, error, words)


def _usage_error(error: click.UsageError) -> ReflectError:
    hint = f"see '{error.ctx.command_path if error.ctx else PROGRAM} --help'"
    if isinstance(error, click.NoSuchOption):
        close = f"did you mean '{error.possibilities[0]}'?" if error.possibilities else hint
        return ReflectError(f"there is no option '{error.option_name}'", close, "usage", EXIT_USAGE)
    if isinstance(error, click.MissingParameter) and error.param is not None:
        return ReflectError(f"{error.param.get_error_hint(error.ctx)} is missing", hint, "usage", EXIT_USAGE)
    return ReflectError(_normalise_message(error.format_message()), hint, "usage", EXIT_USAGE)


def _normalise_message(message: str) -> str:
    """Rewrite a message of click in git's style: lower case, no full stop, no tabs."""
    flat = " ".join(message.split())
    return flat[:1].lower() + flat[1:].rstrip(".")


def _system_error(cli: CliContext, error: OSError) -> ReflectError:
    """Describe an OSError: a full disk, a read-only file system, missing permissions."""
    where = f" '{error.filename}'" if isinstance(error.filename, str) else ""
    other = ", or choose another --store" if not where or _is_in_store(cli, error.filename) else ""
    hints = {
        errno.ENOSPC: "make room and run it again", errno.EDQUOT: "make room and run it again",
        errno.EROFS: f"mount it for writing{other}",
    }  # fmt: skip
    hint = hints.get(error.errno or 0, f"see who owns that path and what it is{other}")
    said = (error.strerror or str(error)).lower()
    return ReflectError(f"{said}{where}", f"{hint}; nothing that was acknowledged is lost", "system")


def _is_in_store(cli: CliContext, path: str) -> bool:
    """Tell whether a path is in the store, or a folder above it."""
    from reflect_git.capture import service

    try:
        root = os.path.realpath(service.locate_store(cli.env, cli.store_option))
    except (ReflectError, OSError):
        return False
    real = os.path.realpath(path)
    return os.path.commonpath([root, real]) in (root, real)


def write_bug_report(cli: CliContext, error: Exception, words: list[str]) -> int:
    """Write a bug report to a file that can be pasted, and print one line."""
    import platform
    import tempfile
    import traceback

    trace = "".join(traceback.format_exception(type(error), error, error.__traceback__))
    facts = f"reflect-git {__version__}\nPython {platform.python_version()}, {platform.platform()}\n"
    facts += f"command: {printable(' '.join(words[:1]))}\n\n"
    with tempfile.NamedTemporaryFile("w", prefix="reflect-git-bug-", suffix=".log", delete=False) as file:
        file.write(facts + trace)
    said = f"{type(error).__name__}: {error}".partition("\n")[0]
    return report_error(cli, ReflectError(f"bug: {said}", f"please report it with '{file.name}'", "bug", EXIT_BUG))
