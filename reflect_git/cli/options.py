"""Options that several verbs share, so that they mean the same everywhere."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import click

from reflect_git.cli.front import Front
from reflect_git.errors import EXIT_USAGE, ReflectError

TARGETS = "project, project-local, global, rules[:topic], global-rules, improvements, agents or dir:PATH"
LONGEST = 86400
F = TypeVar("F", bound=Callable[..., Any])


class Lettered(click.Command):
    """A verb with options of one letter.

    click looks for each among the long ones first, and loads `difflib` to say which of those is like it, before it
    looks where it is: 1.5 of the 10 ms that a look at the past may take beside git.
    """

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """`-3` as git has it, where there is `-n`."""
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
    """What a verb does, by a second word."""

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
    """`--json` after the verb: the same as before it, so it is no parameter of the verb but `front.json`."""
    return click.option(
        "--json",
        is_flag=True,
        is_eager=True,
        expose_value=False,
        callback=_speak_json,
        help="Answer with one JSON document.",
    )(command)


def _say_yes(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    if value:
        ctx.ensure_object(Front).yes = True


def yes_option(command: F) -> F:
    """`--yes` after a verb that asks: the same as before it."""
    return click.option(
        "--yes", is_flag=True, is_eager=True, expose_value=False, callback=_say_yes, help="Answer yes where asked."
    )(command)


def dry_run_option(command: F) -> F:
    """`--dry-run`: the parameter `dry_run` of a verb that writes."""
    return click.option("--dry-run", is_flag=True, help="Say what would be done, and do nothing.")(command)


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
    """`--timeout SECONDS`: the parameter `timeout` of a verb that talks to a remote, None if it was not given."""
    said = "Give up on a fetch or push after this many seconds (default: reflect.sync.timeout, 60)."
    return click.option("--timeout", metavar="SECONDS", callback=_seconds, help=said)(command)


def project_option(command: F) -> F:
    """`--project DIR`: the parameter `project` of a verb that works in a project."""
    folder = click.Path(exists=True, file_okay=False)
    return click.option("--project", metavar="DIR", type=folder, help="Another project.")(command)


def reason_option(command: F) -> F:
    """`--reason TEXT`: the parameter `reason` of a verb that decides."""
    return click.option("--reason", metavar="TEXT", default="", help="Why.")(command)


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
