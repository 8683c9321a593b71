"""Run `reflect-git config`: list, print and change the `reflect.*` settings."""

from __future__ import annotations

import shlex
import sys
from typing import TYPE_CHECKING

import click

from reflect_git.capture import service
from reflect_git.cli import options, settings
from reflect_git.cli.capture_switch import CAPTURE, PAUSED
from reflect_git.cli.context import Front, one_line, printable, terminal_width
from reflect_git.cli.options import dry_run_option, json_option
from reflect_git.errors import EXIT_USAGE, ReflectError
from reflect_git.records.ids import utc_precise
from reflect_git.store import policy

if TYPE_CHECKING:
    from reflect_git.cli.settings import Current, Setting
    from reflect_git.store.config_file import Value
    from reflect_git.store.repository import Store

_VALUE_WIDTH = 24
_HANG = 4


@click.command()
@click.argument("key", required=False, shell_complete=options.settings)
@click.argument("values", metavar="[VALUE]...", nargs=-1)
@click.option("--unset", is_flag=True, help="Restore the default; with VALUE, remove it from a list.")
@click.option("--add", is_flag=True, help="Add VALUE to a key that holds a list.")
@dry_run_option
@json_option
@click.pass_obj
def config_command(
    front: Front, key: str | None, values: tuple[str, ...], unset: bool, add: bool, dry_run: bool
) -> None:
    """List all settings, print one, or change one.

    You can omit 'reflect.' from KEY. Changes go to the store's own config. Changing a policy makes a commit.
    """
    if key is None:
        if unset or add:
            raise ReflectError("missing setting", "list them with 'reflect-git config'", "usage", EXIT_USAGE)
        _list(front)
        return
    setting = settings.find(key)
    if unset or values:
        _change(front, setting, values, unset, add, dry_run)
    else:
        _print(front, settings.current(front.store_if_any(), front.env)[setting.name.lower()])


def _list(front: Front) -> None:
    listed = settings.current(front.store_if_any(), front.env).values()
    if front.json:
        front.data([_as_data(current) for current in listed])
        return
    rows = [("setting", "value", "default", "from", "")]
    rows += [
        (one.setting.name, one.text or "-", one.setting.default or "-", one.origin, one.setting.help) for one in listed
    ]
    shown = [tuple(one_line(cell, _VALUE_WIDTH if at == 1 else 80) for at, cell in enumerate(row)) for row in rows]
    widths = [max(len(row[at]) for row in shown) for at in range(4)]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row[:4], widths, strict=True)) for row in shown]
    is_wide = not sys.stdout.isatty() or max(len(f"{lines[0]}  {row[4]}") for row in shown) <= terminal_width()
    front.tell(click.style(lines[0].rstrip(), bold=True), hang=_HANG)
    for line, row in zip(lines[1:], shown[1:], strict=True):
        if is_wide:
            front.out(f"{line}  {row[4]}")
        else:  # a terminal would break the line in the middle of a word
            front.tell(line.rstrip(), hang=_HANG)
            front.tell(f"{' ' * _HANG}{row[4]}")


def _as_data(current: Current) -> dict[str, object]:
    setting = current.setting
    value: object = list(current.values) if setting.is_multiple else current.text or None
    return {
        "key": setting.name, "value": value, "default": setting.default or None, "origin": current.origin,
        "type": setting.kind, "scope": setting.scope, "policy": setting.is_policy, "read_only": bool(setting.read_only),
        "help": setting.help,
    }  # fmt: skip


def _print(front: Front, current: Current) -> None:
    if front.json:
        front.data(_as_data(current))
        return
    for value in current.values:
        front.out(printable(value))


def _change(front: Front, setting: Setting, values: tuple[str, ...], unset: bool, add: bool, dry_run: bool) -> None:
    _require_writable(setting)
    given = list(dict.fromkeys(settings.checked(setting, value) for value in values))
    if setting.is_policy or setting.name == PAUSED:
        _require_outside(front, setting, values, unset, add)
    store = front.store_if_any() if dry_run else front.store()
    old = _stored(store, setting)
    new = _wanted(setting, old, given, unset, add)
    told = _is_told(front, store, setting, new)
    for value in _effective(setting, new) - (_effective(setting, old) if told or new is None else set()):
        _require_person(front, setting, value, dry_run)
    is_written = store is None or (store.config.get(setting.name.lower()) or None) == new
    commit, changed = None, new != old or not told or not is_written
    if changed and not dry_run and store:
        commit = _write(front, store, setting, new)
    _say(front, setting, old, new, commit, dry_run, changed)


def _effective(setting: Setting, values: list[str] | None) -> set[str]:
    return set(values or [setting.default])


def _require_writable(setting: Setting) -> None:
    if setting.read_only:
        raise ReflectError(f"'{setting.name}' cannot be changed here", setting.read_only, code="read-only")


def _stored(store: Store | None, setting: Setting) -> list[str] | None:
    return (store.values(setting.name) if store else None) or None


def _wanted(setting: Setting, old: list[str] | None, given: list[str], unset: bool, add: bool) -> list[str] | None:
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


def _is_told(front: Front, store: Store | None, setting: Setting, new: list[str] | None) -> bool:
    """Return whether the recorded decisions already have this value.

    A value edited by hand in the config does not count.
    """
    if not setting.is_policy or store is None:
        return True
    said = policy.decided(store, front.snapshot(store).history.decisions)
    return said.get(setting.name) == _value(setting, new)


def _value(setting: Setting, values: list[str] | None) -> Value:
    if values is None:
        return None
    return values if setting.is_multiple else values[-1]


def _require_outside(front: Front, setting: Setting, values: tuple[str, ...], unset: bool, add: bool) -> None:
    """Refuse to change a policy from inside Claude Code.

    A policy says what may happen without a person, so no model may change one. Capture has commands of its own
    (/reflect-toggle), which also record when capture was off.
    """
    words = ["config", *(["--unset"] if unset else []), *(["--add"] if add else []), setting.name, *values]
    more = ", or type /reflect-toggle" if setting.name in (CAPTURE, PAUSED) else ""
    front.require_outside(f"cannot change '{setting.name}' from inside Claude Code", words, more)


def _require_person(front: Front, setting: Setting, value: str, dry_run: bool) -> None:
    """Require a person's yes before a setting gives programs more rights."""
    if not setting.is_guarded(value) or dry_run:
        return
    if front.no_input or not front.at_terminal:
        raise ReflectError(
            f"'{setting.name}={value}' needs your confirmation", "run it in a terminal; --yes is not enough",
            code="approval",
        )  # fmt: skip
    if setting.warning:
        from reflect_git.cli.review.wordings import price_of_one  # hardly ever

        front.talk(f"{setting.warning}: {price_of_one(front.store())}")
    if not front.is_yes(f"set {setting.name} to {value}?"):
        raise ReflectError("nothing was changed", code="declined")


def _write(front: Front, store: Store, setting: Setting, new: list[str] | None) -> str | None:
    changes = {setting.name: _value(setting, new)}
    by = service.author(store, service.road_of(front.env, front.at_terminal))
    if setting.name == PAUSED:
        return policy.switch_pause(store, new[-1] if new else None, by, utc_precise())
    if not setting.is_policy:
        policy.set_keys(store, changes)
        return None
    return policy.switch(store, changes, by, utc_precise())


def _say(
    front: Front, setting: Setting, old: list[str] | None, new: list[str] | None, commit: str | None, dry_run: bool,
    changed: bool,
) -> None:  # fmt: skip
    if front.json:
        before, after = _value(setting, old), _value(setting, new)
        front.data({"key": setting.name, "from": before, "to": after, "changed": changed, "commit": commit})
        return
    to = printable(" ".join(new)) if new else f"the default ({setting.default or 'nothing'})"
    if not changed:
        front.out(f"{setting.name} is already {to}")
        return
    front.out(f"{'would set' if dry_run else 'set'} {setting.name} to {to}")
    if not dry_run:
        undo = f"{setting.name} {printable(shlex.join(old))}" if old else f"--unset {setting.name}"
        front.talk(f"{f'commit {commit[:10]}, ' if commit else ''}undo with: reflect-git config {undo}")
