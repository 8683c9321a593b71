"""Run `reflect-git config`: list, print and change the `reflect.*` settings."""

from __future__ import annotations

import shlex
import sys
from typing import TYPE_CHECKING

import click

from reflect_git.capture import service
from reflect_git.cli import options, settings
from reflect_git.cli.capture_switch import CAPTURE, PAUSED
from reflect_git.cli.context import CliContext, one_line, printable, terminal_width
from reflect_git.cli.options import dry_run_option, json_option
from reflect_git.errors import EXIT_USAGE, ReflectError
from reflect_git.records.ids import utc_precise
from reflect_git.store import policy

if TYPE_CHECKING:
    from reflect_git.cli.settings import CurrentValue, Setting
    from reflect_git.store.config_file import Value
    from reflect_git.store.repository import Store

_VALUE_WIDTH = 24
_INDENT = 4


@click.command()
@click.argument("key", required=False, shell_complete=options.complete_settings)
@click.argument("values", metavar="[VALUE]...", nargs=-1)
@click.option("--unset", is_flag=True, help="Restore the default; with VALUE, remove it from a list.")
@click.option("--add", is_flag=True, help="Add VALUE to a key that holds a list.")
@dry_run_option
@json_option
@click.pass_obj
def config_command(
    cli: CliContext, key: str | None, values: tuple[str, ...], unset: bool, add: bool, dry_run: bool
) -> None:
    """List all settings, print one, or change one.

    You can omit 'reflect.' from KEY. Changes go to the store's own config. Changing a policy makes a commit.
    """
    if key is None:
        if unset or add:
            raise ReflectError("missing setting", "list them with 'reflect-git config'", "usage", EXIT_USAGE)
        _print_all(cli)
        return
    setting = settings.find_setting(key)
    if unset or values:
        _change_setting(cli, setting, values, unset, add, dry_run)
    else:
        _print_values(cli, settings.load_values(cli.find_store(), cli.env)[setting.name.lower()])


def _print_all(cli: CliContext) -> None:
    listed = settings.load_values(cli.find_store(), cli.env).values()
    if cli.json:
        cli.print_json([_build_json(current) for current in listed])
        return
    rows = [("setting", "value", "default", "from", "")]
    rows += [
        (one.setting.name, one.text or "-", one.setting.default or "-", one.origin, one.setting.help) for one in listed
    ]
    shown = [tuple(one_line(cell, _VALUE_WIDTH if at == 1 else 80) for at, cell in enumerate(row)) for row in rows]
    widths = [max(len(row[at]) for row in shown) for at in range(4)]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row[:4], widths, strict=True)) for row in shown]
    is_wide = not sys.stdout.isatty() or max(len(f"{lines[0]}  {row[4]}") for row in shown) <= terminal_width()
    cli.print_text(click.style(lines[0].rstrip(), bold=True), hang=_INDENT)
    for line, row in zip(lines[1:], shown[1:], strict=True):
        if is_wide:
            cli.print_line(f"{line}  {row[4]}")
        else:  # a terminal would break the line in the middle of a word
            cli.print_text(line.rstrip(), hang=_INDENT)
            cli.print_text(f"{' ' * _INDENT}{row[4]}")


def _build_json(current: CurrentValue) -> dict[str, object]:
    setting = current.setting
    value: object = list(current.values) if setting.is_multiple else current.text or None
    return {
        "key": setting.name, "value": value, "default": setting.default or None, "origin": current.origin,
        "type": setting.kind, "scope": setting.scope, "policy": setting.is_policy, "read_only": bool(setting.read_only),
        "help": setting.help,
    }  # fmt: skip


def _print_values(cli: CliContext, current: CurrentValue) -> None:
    if cli.json:
        cli.print_json(_build_json(current))
        return
    for value in current.values:
        cli.print_line(printable(value))


def _change_setting(
    cli: CliContext, setting: Setting, values: tuple[str, ...], unset: bool, add: bool, dry_run: bool
) -> None:
    _require_writable(setting)
    given = list(dict.fromkeys(settings.parse_value(setting, value) for value in values))
    if setting.is_policy or setting.name == PAUSED:
        _require_outside_client(cli, setting, values, unset, add)
    store = cli.find_store() if dry_run else cli.open_store()
    old = _get_stored_values(store, setting)
    new = _compute_new_values(setting, old, given, unset, add)
    is_recorded = _is_recorded(cli, store, setting, new)
    for value in _get_effective_values(setting, new) - (
        _get_effective_values(setting, old) if is_recorded or new is None else set()
    ):
        _require_person(cli, setting, value, dry_run)
    is_written = store is None or (store.config.get(setting.name.lower()) or None) == new
    commit, changed = None, new != old or not is_recorded or not is_written
    if changed and not dry_run and store:
        commit = _write_setting(cli, store, setting, new)
    _print_change(cli, setting, old, new, commit, dry_run, changed)


def _get_effective_values(setting: Setting, values: list[str] | None) -> set[str]:
    return set(values or [setting.default])


def _require_writable(setting: Setting) -> None:
    if setting.read_only:
        raise ReflectError(f"'{setting.name}' cannot be changed here", setting.read_only, code="read-only")


def _get_stored_values(store: Store | None, setting: Setting) -> list[str] | None:
    return (store.get_values(setting.name) if store else None) or None


def _compute_new_values(
    setting: Setting, old: list[str] | None, given: list[str], unset: bool, add: bool
) -> list[str] | None:
    """Return the new values of a setting; None for the default."""
    if not setting.is_multiple and (add or len(given) > 1 or (unset and given)):
        raise ReflectError(
            f"'{setting.name}' takes one value",
            f"use '{setting.name} VALUE' or '--unset {setting.name}'",
            "usage",
            EXIT_USAGE,
        )
    if unset:
        return [value for value in old or [] if given and value not in given] or None
    return list(dict.fromkeys([*(old or []), *given])) if add else given


def _is_recorded(cli: CliContext, store: Store | None, setting: Setting, new: list[str] | None) -> bool:
    """Return whether the recorded decisions already have this value.

    A value edited by hand in the config does not count.
    """
    if not setting.is_policy or store is None:
        return True
    said = policy.get_decided(store, cli.read_snapshot(store).history.decisions)
    return said.get(setting.name) == _get_config_value(setting, new)


def _get_config_value(setting: Setting, values: list[str] | None) -> Value:
    if values is None:
        return None
    return values if setting.is_multiple else values[-1]


def _require_outside_client(cli: CliContext, setting: Setting, values: tuple[str, ...], unset: bool, add: bool) -> None:
    """Refuse to change a policy from inside Claude Code.

    A policy says what may happen without a person, so no model may change one. Capture has commands of its own
    (/reflect-toggle), which also record when capture was off.
    """
    words = ["config", *(["--unset"] if unset else []), *(["--add"] if add else []), setting.name, *values]
    more = ", or type /reflect-toggle" if setting.name in (CAPTURE, PAUSED) else ""
    cli.require_outside_client(f"cannot change '{setting.name}' from inside Claude Code", words, more)


def _require_person(cli: CliContext, setting: Setting, value: str, dry_run: bool) -> None:
    """Require a person's yes before a setting gives programs more rights."""
    if not setting.is_guarded(value) or dry_run:
        return
    if cli.no_input or not cli.is_at_terminal:
        raise ReflectError(
            f"'{setting.name}={value}' needs your confirmation", "run it in a terminal; --yes is not enough",
            code="approval",
        )  # fmt: skip
    if setting.warning:
        price = ""
        if "{price}" in setting.warning:
            from reflect_git.cli.review.wordings import format_price_of_one  # hardly ever

            price = format_price_of_one(cli.open_store(), setting.name)
        cli.print_note(setting.warning.format(price=price))
    if not cli.ask_yes_no(f"set {setting.name} to {value}?"):
        raise ReflectError("nothing was changed", code="declined")


def _write_setting(cli: CliContext, store: Store, setting: Setting, new: list[str] | None) -> str | None:
    changes = {setting.name: _get_config_value(setting, new)}
    by = service.get_author(store, service.get_channel(cli.env, cli.is_at_terminal))
    if setting.name == PAUSED:
        return policy.set_pause(store, new[-1] if new else None, by, utc_precise())
    if not setting.is_policy:
        policy.set_keys(store, changes)
        return None
    return policy.set_policies(store, changes, by, utc_precise())


def _print_change(
    cli: CliContext, setting: Setting, old: list[str] | None, new: list[str] | None, commit: str | None, dry_run: bool,
    changed: bool,
) -> None:  # fmt: skip
    if cli.json:
        before, after = _get_config_value(setting, old), _get_config_value(setting, new)
        cli.print_json({"key": setting.name, "from": before, "to": after, "changed": changed, "commit": commit})
        return
    to = printable(" ".join(new)) if new else f"the default ({setting.default or 'nothing'})"
    if not changed:
        cli.print_line(f"{setting.name} is already {to}")
        return
    cli.print_line(f"{'would set' if dry_run else 'set'} {setting.name} to {to}")
    if not dry_run:
        undo = f"{setting.name} {printable(shlex.join(old))}" if old else f"--unset {setting.name}"
        cli.print_note(f"{f'commit {commit[:10]}, ' if commit else ''}undo with: reflect-git config {undo}")
