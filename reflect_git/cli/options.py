"""Define the options that several commands share, and shell completion."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import click

from reflect_git.cli.context import Front, one_line
from reflect_git.errors import EXIT_USAGE, ReflectError

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from reflect_git.store.reading.reader import Scan
    from reflect_git.store.repository import Store

    Found = Iterable[tuple[str, str]]
    Completes = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]

TARGETS = "project, project-local, global, rules[:topic], global-rules, improvements, agents or dir:PATH"
LONGEST = 86400
F = TypeVar("F", bound=Callable[..., Any])


class Lettered(click.Command):
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


class Subverbs(click.Group):
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


def _speak_json(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    if value:
        ctx.ensure_object(Front).json = True


def json_option(command: F) -> F:
    """Add `--json` after the command.

    It sets `front.json`, like `--json` before the command, and is not a parameter.
    """
    return click.option(
        "--json",
        is_flag=True,
        is_eager=True,
        expose_value=False,
        callback=_speak_json,
        help="Print one JSON document.",
    )(command)


def _say_yes(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    if value:
        ctx.ensure_object(Front).yes = True


def yes_option(command: F) -> F:
    """Add `--yes` after the command, with the same effect as before it."""
    return click.option(
        "--yes", is_flag=True, is_eager=True, expose_value=False, callback=_say_yes, help="Answer yes to questions."
    )(command)


def dry_run_option(command: F) -> F:
    """Add `--dry-run`, passed as the parameter `dry_run`."""
    return click.option("--dry-run", is_flag=True, help="Show what would happen; change nothing.")(command)


def _seconds(ctx: click.Context, param: click.Parameter, value: str | None) -> float | None:
    if value is None:
        return None
    try:
        seconds = float(value)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds <= LONGEST:
        hint = f"give a number of seconds, up to {LONGEST}"
        raise ReflectError(f"'{value}' is not a time limit", hint, "usage", EXIT_USAGE)
    return seconds


def timeout_option(command: F) -> F:
    """Add `--timeout SECONDS`, passed as the parameter `timeout`; None if it was not given."""
    said = "Give up on a fetch or push after this many seconds (default: reflect.sync.timeout, 60)."
    return click.option("--timeout", metavar="SECONDS", callback=_seconds, help=said)(command)


def project_option(command: F) -> F:
    """Add `--project DIR`, passed as the parameter `project`."""
    folder = click.Path(exists=True, file_okay=False)
    return click.option("--project", metavar="DIR", type=folder, help="Use another project.")(command)


def reason_option(command: F) -> F:
    """Add `--reason TEXT`, passed as the parameter `reason`."""
    return click.option("--reason", metavar="TEXT", default="", help="Why, for the log.")(command)


class Word(click.Choice[str]):
    """One word of a vocabulary; refused in the sentence that every other front uses for it."""

    def __init__(self, noun: str, words: Sequence[str]) -> None:
        super().__init__(words)
        self.noun = noun

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        if value not in self.choices:
            hint = f"one of: {', '.join(self.choices)}"
            raise ReflectError(f"'{value}' is not a {self.noun}", hint, "usage", EXIT_USAGE)
        return str(value)


_MOST = 200
_WORDS = 60


def _offering(find: Callable[[Front, Store], Found]) -> Completes:
    """Return a completion function that offers the newest entries first and never shows an error in the shell."""

    def complete(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        from click.shell_completion import CompletionItem

        root = ctx.find_root()
        front = root.obj if isinstance(root.obj, Front) else None
        if front is None:
            return []
        front.store_option = root.params.get("store_option") or front.store_option
        given = ctx.params.get(param.name or "")
        wanted, typed = incomplete.casefold(), given if isinstance(given, tuple) else ()
        try:
            store = front.store_if_any()
            found = [one for one in find(front, store) if one[0].casefold().startswith(wanted)] if store else []
        except (ReflectError, OSError):
            return []
        left = [(name, words) for name, words in reversed(found) if name not in typed]
        return [CompletionItem(name, help=one_line(words, _WORDS)) for name, words in left[:_MOST]]

    return complete


def _in_force(scan: Scan) -> Iterator[tuple[str, str]]:
    yield from ((rule["id"], rule["title"] or rule["text"]) for rule in scan.history.in_force())


def _signals(scan: Scan, only_waiting: bool) -> Iterator[tuple[str, str]]:
    columns = scan.columns
    for identity, status, content in zip(columns["id"], columns["status"], columns["content"], strict=True):
        if not only_waiting or status in ("captured", "analyzed"):
            yield identity, content


def _records(front: Front, store: Store) -> Iterator[tuple[str, str]]:
    scan = front.scan(store)
    yield from _signals(scan, only_waiting=False)
    yield from _decisions(scan)
    yield from ((one["id"], one["title"] or one["text"]) for one in scan.history.learnings.values())


def _decisions(scan: Scan) -> Iterator[tuple[str, str]]:
    from reflect_git.records.history import called

    for made in scan.history.decisions:
        learning = scan.history.learnings.get(made["subject"])
        yield made["id"], f"{called(made)}: {learning['title'] or learning['text'] if learning else made['subject']}"


def _revertible(front: Front, store: Store) -> Iterator[tuple[str, str]]:
    """Yield decisions that were not reverted, then the rules in force, which people need most."""
    scan = front.scan(store)
    yield from (one for one in _decisions(scan) if one[0] not in scan.history.void)
    yield from _in_force(scan)


def _backups(front: Front, store: Store) -> Iterator[tuple[str, str]]:
    from reflect_git.store.main import backups

    yield from ((name.removeprefix("refs/heads/"), "") for name in reversed(backups.listing(store)))


def settings(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    from click.shell_completion import CompletionItem

    from reflect_git.cli.settings import TABLE

    wanted = incomplete.lower()
    named = [one for one in TABLE if one.name.lower().startswith((wanted, f"reflect.{wanted}"))]
    short = not wanted.startswith("reflect")
    return [CompletionItem(one.name.removeprefix("reflect.") if short else one.name, help=one.help) for one in named]


rules = _offering(lambda front, store: _in_force(front.scan(store)))
revertible = _offering(_revertible)
waiting = _offering(lambda front, store: _signals(front.scan(store), only_waiting=True))
records = _offering(_records)
backups = _offering(_backups)
