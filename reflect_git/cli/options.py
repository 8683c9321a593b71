"""Define the options that several commands share, and shell completion."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import click

from reflect_git.cli.context import CliContext, one_line
from reflect_git.errors import EXIT_USAGE, ReflectError

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from reflect_git.store.reading.reader import Scan
    from reflect_git.store.repository import Store

    Found = Iterable[tuple[str, str]]
    Completes = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]

TARGETS = "project, project-local, global, rules[:topic], global-rules, improvements, agents, agent:NAME or dir:PATH"
MAX_TIMEOUT = 86400
F = TypeVar("F", bound=Callable[..., Any])


class ShortOptionCommand(click.Command):
    """A verb with options of one letter.

    click looks for each among the long ones first, and loads `difflib` to say which of those is like it, before it
    looks where it is: 1.5 of the 10 ms that a look at the past may take beside git.
    """

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Accept `-3` for `-n 3`, as git does, if the command has `-n`."""
        counts = any("-n" in parameter.opts for parameter in self.params)
        return super().parse_args(ctx, [f"-n{word[1:]}" if counts and _is_count(word) else word for word in args])

    def make_parser(self, ctx: click.Context) -> Any:
        parser: Any = super().make_parser(ctx)
        find_long: Any = getattr(parser, "_match_long_opt", None)

        def match(option: str, value: str | None, state: Any) -> None:
            if not option.startswith("--"):
                raise click.NoSuchOption(option, "", ctx=ctx)  # caught, and never seen
            find_long(option, value, state)

        if find_long is not None:
            parser._match_long_opt = match
        return parser


def _is_count(word: str) -> bool:
    return word[:1] == "-" and word[1:].isdecimal() and word.isascii()


class SubcommandGroup(click.Group):
    """A command with subcommands."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args[0] not in self.commands and not args[0].startswith("-") and not ctx.resilient_parsing:
            from difflib import get_close_matches

            close = get_close_matches(args[0], self.commands)
            hint = f"did you mean '{close[0]}'?" if close else f"one of: {', '.join(self.commands)}"
            raise ReflectError(f"'{args[0]}' is not a command of '{ctx.command_path}'", hint, "usage", EXIT_USAGE)
        return super().resolve_command(ctx, args)


def _set_json(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    if value:
        ctx.ensure_object(CliContext).json = True


def json_option(command: F) -> F:
    """Add `--json` after the command.

    It sets `front.json`, like `--json` before the command, and is not a parameter.
    """
    return click.option(
        "--json",
        is_flag=True,
        is_eager=True,
        expose_value=False,
        callback=_set_json,
        help="Print one JSON document.",
    )(command)


def _set_yes(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    if value:
        ctx.ensure_object(CliContext).yes = True


def yes_option(command: F) -> F:
    """Add `--yes` after the command, with the same effect as before it."""
    return click.option(
        "--yes", is_flag=True, is_eager=True, expose_value=False, callback=_set_yes, help="Answer yes to questions."
    )(command)


def _set_dry_run(ctx: click.Context, param: click.Parameter, value: bool) -> bool:
    if value:
        ctx.ensure_object(CliContext).is_dry_run = True
    return value


def dry_run_option(command: F) -> F:
    """Add `--dry-run`, passed as the parameter `dry_run`."""
    said = "Show what would happen; change nothing."
    return click.option("--dry-run", is_flag=True, callback=_set_dry_run, help=said)(command)


def _parse_timeout(ctx: click.Context, param: click.Parameter, value: str | None) -> float | None:
    if value is None:
        return None
    try:
        seconds = float(value)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds <= MAX_TIMEOUT:
        hint = f"give a number of seconds, up to {MAX_TIMEOUT}"
        raise ReflectError(f"'{value}' is not a time limit", hint, "usage", EXIT_USAGE)
    return seconds


def timeout_option(command: F) -> F:
    """Add `--timeout SECONDS`, passed as the parameter `timeout`; None if it was not given."""
    said = "Give up on a fetch or push after this many seconds (default: reflect.sync.timeout, 60)."
    return click.option("--timeout", metavar="SECONDS", callback=_parse_timeout, help=said)(command)


def project_option(command: F) -> F:
    """Add `--project DIR`, passed as the parameter `project`."""
    folder = click.Path(exists=True, file_okay=False)
    return click.option("--project", metavar="DIR", type=folder, help="Use another project.")(command)


def reason_option(command: F) -> F:
    """Add `--reason TEXT`, passed as the parameter `reason`."""
    return click.option("--reason", metavar="TEXT", default="", help="Why, for the log.")(command)


class WordChoice(click.Choice[str]):
    """One word of a vocabulary; refused in the sentence that every other front uses for it."""

    def __init__(self, noun: str, words: Sequence[str]) -> None:
        super().__init__(words)
        self.noun = noun

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        if value not in self.choices:
            hint = f"one of: {', '.join(self.choices)}"
            raise ReflectError(f"'{value}' is not a {self.noun}", hint, "usage", EXIT_USAGE)
        return str(value)


def resolve_numbers(ctx: click.Context, _param: click.Parameter, value: Any) -> Any:
    """Replace the number of a rule, such as PROJ-014, by its id; leave every other name as it is."""
    from reflect_git.records.rule_numbers import find_numbered_rule, normalise_number

    if isinstance(value, tuple):
        return tuple(resolve_numbers(ctx, _param, each) for each in value)
    number = normalise_number(value) if isinstance(value, str) else ""
    cli = ctx.find_object(CliContext) if number else None
    store = cli.find_store() if cli else None
    if cli is None or store is None:
        return value
    found = find_numbered_rule(cli.scan(store).history, number)
    if not found:
        raise ReflectError(f"no rule '{number}'", "list them with 'reflect-git rules --all'", code="unknown-id")
    return found


_MAX_COMPLETIONS = 200
_HELP_WIDTH = 60


def _build_completer(find: Callable[[CliContext, Store], Found]) -> Completes:
    """Return a completion function that offers the newest entries first and never shows an error in the shell."""

    def complete(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        from click.shell_completion import CompletionItem

        root = ctx.find_root()
        cli = root.obj if isinstance(root.obj, CliContext) else None
        if cli is None:
            return []
        cli.store_option = root.params.get("store_option") or cli.store_option
        given = ctx.params.get(param.name or "")
        wanted, typed = incomplete.casefold(), given if isinstance(given, tuple) else ()
        try:
            store = cli.find_store()
            found = [one for one in find(cli, store) if one[0].casefold().startswith(wanted)] if store else []
        except (ReflectError, OSError):
            return []
        left = [(name, words) for name, words in reversed(found) if name not in typed]
        return [CompletionItem(name, help=one_line(words, _HELP_WIDTH)) for name, words in left[:_MAX_COMPLETIONS]]

    return complete


def _list_rules(scan: Scan) -> Iterator[tuple[str, str]]:
    yield from ((rule["id"], rule["title"] or rule["text"]) for rule in scan.history.get_rules_in_force())


def _list_signals(scan: Scan, only_waiting: bool) -> Iterator[tuple[str, str]]:
    columns = scan.columns
    for record_id, status, content in zip(columns["id"], columns["status"], columns["content"], strict=True):
        if not only_waiting or status in ("captured", "analyzed"):
            yield record_id, content


def _list_records(cli: CliContext, store: Store) -> Iterator[tuple[str, str]]:
    scan = cli.scan(store)
    yield from _list_signals(scan, only_waiting=False)
    yield from _list_decisions(scan)
    yield from ((one["id"], one["title"] or one["text"]) for one in scan.history.learnings.values())


def _list_decisions(scan: Scan) -> Iterator[tuple[str, str]]:
    from reflect_git.records.history import get_decision_name

    for made in scan.history.decisions:
        learning = scan.history.learnings.get(made["subject"])
        yield (
            made["id"],
            f"{get_decision_name(made)}: {learning['title'] or learning['text'] if learning else made['subject']}",
        )


def _list_revertible(cli: CliContext, store: Store) -> Iterator[tuple[str, str]]:
    """Yield decisions that were not reverted, then the rules in force, which people need most."""
    scan = cli.scan(store)
    yield from (one for one in _list_decisions(scan) if one[0] not in scan.history.void_decisions)
    yield from _list_rules(scan)


def _list_backups(cli: CliContext, store: Store) -> Iterator[tuple[str, str]]:
    from reflect_git.store.main import backups

    yield from ((name.removeprefix("refs/heads/"), "") for name in reversed(backups.list_refs(store)))


def complete_settings(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    from click.shell_completion import CompletionItem

    from reflect_git.cli.settings import ALL_SETTINGS

    wanted = incomplete.lower()
    named = [one for one in ALL_SETTINGS if one.name.lower().startswith((wanted, f"reflect.{wanted}"))]
    short = not wanted.startswith("reflect")
    return [CompletionItem(one.name.removeprefix("reflect.") if short else one.name, help=one.help) for one in named]


complete_rules = _build_completer(lambda cli, store: _list_rules(cli.scan(store)))
complete_revertible = _build_completer(_list_revertible)
complete_waiting = _build_completer(lambda cli, store: _list_signals(cli.scan(store), only_waiting=True))
complete_records = _build_completer(_list_records)
complete_backups = _build_completer(_list_backups)
