"""Define every `reflect.*` setting: name, allowed values, and where it is read from."""

from __future__ import annotations

import os
import re
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from reflect_git.errors import EXIT_USAGE, ReflectError
from reflect_git.platform import files
from reflect_git.platform.git import SETTINGS, Git, find_program
from reflect_git.platform.project import normalise_url
from reflect_git.store import policy

if TYPE_CHECKING:
    from collections.abc import Mapping

    from reflect_git.store.repository import Store

STORE, GLOBAL, ALL = "store", "global", "all"
ANY = ("*",)
_TRUE, _FALSE = ("true", "yes", "on", "1"), ("false", "no", "off", "0")
_MOST_PHRASES = 256 << 10  # as many as hooks read
_TIME = "%Y-%m-%dT%H:%M:%SZ"


@dataclass(frozen=True)
class Setting:
    """`scope` says whose git config is read: the store's own, the user's global one, or all of them.

    `guarded` values widen what may happen without a person: they are switched on by a person at a terminal only, also
    where the value is the default, and something else was set. `ANY` guards every value.
    """

    name: str
    kind: str
    default: str
    help: str
    scope: str = STORE
    words: tuple[str, ...] = ()
    guarded: tuple[str, ...] = ()
    read_only: str = ""
    warning: str = ""  # what a person has to know before a guarded value is set

    @property
    def is_policy(self) -> bool:
        return policy.is_policy(self.name)

    @property
    def is_multiple(self) -> bool:
        return self.kind == "globs"

    def is_guarded(self, value: str) -> bool:
        return value in self.guarded or self.guarded == ANY


TABLE = (
    Setting("reflect.capture", "boolean", "true", "hooks capture signals"),
    Setting("reflect.pausedUntil", "time", "", "no capture before this time; 'pause 2h' sets it"),
    Setting(
        "reflect.capture.unattended", "word", "failures", "what to capture from sessions without a person",
        words=("failures", "all"),
    ),
    Setting("reflect.ignore", "globs", "", "folders and repositories without capture"),
    Setting("reflect.phrases", "file", "", "a JSON file of your own phrases"),
    Setting("reflect.compact.keep", "boolean", "false", "keep your corrections when Claude Code compacts"),
    Setting("reflect.remind", "boolean", "true", "remind once a day of proposed rules"),
    Setting("reflect.quiet", "text", "", "when capture was off", read_only="set by 'pause' and 'resume'"),
    Setting("reflect.ttl", "days", "14", "days a signal lives"),
    Setting("reflect.upkeep", "boolean", "true", "run daily maintenance in the background"),
    Setting(
        "reflect.approval", "word", "ask", "who can approve: only a person, or scripts too",
        words=("ask", "unattended"), guarded=("unattended",),
    ),
    Setting(
        "reflect.sign", "word", "none", "sign decisions with the key of your git configuration",
        words=("none", "ssh", "gpg"), guarded=("none",),
    ),
    Setting(
        "reflect.sync.auto", "boolean", "false", "sync automatically after sessions and before a review",
        guarded=("true",),
    ),
    Setting(
        "reflect.sync.signals", "boolean", "false", "send signals, your own words, to your other machines",
        guarded=("true",),
    ),
    Setting(
        "reflect.sync.apply", "word", "ask", "apply decisions of your other machines: ask first, or not",
        words=("ask", "auto"), guarded=("auto",),
    ),
    Setting(
        "reflect.sync.requireSigned", "boolean", "false", "apply only signed decisions without asking",
        guarded=("false",),
    ),
    Setting("reflect.sync.timeout", "seconds", "60", "seconds that a fetch or a push may take"),
    Setting(
        "reflect.wording", "word", "off", "review has Claude word proposed rules, which costs tokens",
        words=("off", "claude"), guarded=("claude",),
        warning="review then sends the redacted words of proposed rules to Claude",
    ),
    Setting("reflect.wording.model", "text", "haiku", "the model that words rules", guarded=ANY),
    Setting("reflect.wording.timeout", "seconds", "60", "seconds that Claude may take to word rules"),
    Setting("reflect.maxUsdPerDay", "dollars", "2.00", "dollars that calls to Claude may cost a day", guarded=ANY),
    Setting(
        "reflect.own", "text", "", "machines that you accepted as yours", read_only="'sync' asks for each new one"
    ),
    Setting("reflect.hint.init", "boolean", "true", "advice after 'init'", ALL),
    Setting(
        "reflect.home", "path", "", "the folder of the store", GLOBAL,
        read_only="set it with 'git config --global reflect.home DIR'",
    ),
    Setting("reflect.connected", "text", "", "when this store first got a remote", read_only="it is set once"),
    Setting("reflect.machine", "text", "", "the name of this machine in the store", read_only="it is set once"),
    Setting("reflect.binding", "text", "", "the machine and folder this store belongs to", read_only="it is set once"),
    Setting("reflect.born", "time", "", "when this store was created", read_only="it is set once"),
)  # fmt: skip
BY_NAME = {setting.name.lower(): setting for setting in TABLE}


@dataclass(frozen=True)
class Current:
    """The current values of a setting, and where they were set."""

    setting: Setting
    values: tuple[str, ...]
    origin: str

    @property
    def text(self) -> str:
        return " ".join(self.values)


def find(name: str) -> Setting:
    """Find a setting by name. `reflect.` is optional, and case does not matter."""
    wanted = name.lower()
    for candidate in (wanted, f"reflect.{wanted}"):
        if candidate in BY_NAME:
            return BY_NAME[candidate]
    if wanted.startswith("reflect.hint.") and wanted.count(".") == 2:
        return Setting(wanted, "boolean", "true", "advice that can be silenced", ALL)
    raise unknown(name)


def unknown(name: str) -> ReflectError:
    from difflib import get_close_matches

    short = {key.removeprefix("reflect."): setting.name for key, setting in BY_NAME.items()}
    close = get_close_matches(name.lower().removeprefix("reflect."), short, n=1)
    hint = f"did you mean '{short[close[0]]}'?" if close else "list them with 'reflect-git config'"
    return ReflectError(f"unknown setting '{name}'", hint, "usage", EXIT_USAGE)


def checked(setting: Setting, value: str) -> str:
    """Validate a value and return its stored form. Raise an error that lists the allowed values."""
    kind = setting.kind
    if kind == "boolean" and value.lower() in (*_TRUE, *_FALSE):
        return "true" if value.lower() in _TRUE else "false"
    if kind == "days" and value.isascii() and value.isdigit() and 1 <= int(value) <= 3650:
        return str(int(value))
    if kind == "seconds" and value.isascii() and value.isdigit() and 1 <= int(value) <= 86400:
        return str(int(value))
    if kind == "dollars" and re.fullmatch(r"\d{1,4}(\.\d{1,2})?", value, re.ASCII):
        return f"{float(value):.2f}"
    if kind == "time" and _is_time(value):
        return value
    if kind == "globs" and value and value.isprintable():
        return _glob(setting, value)
    if kind == "file":
        return _phrases(os.path.abspath(os.path.expanduser(value)))
    if (kind == "word" and value in setting.words) or (kind == "text" and value and value.isprintable()):
        return value
    raise ReflectError(f"invalid value '{value}' for {setting.name}", _expected(setting), "usage", EXIT_USAGE)


def _glob(setting: Setting, value: str) -> str:
    """Normalise a glob: an absolute folder, or a repository as host/path from any form of its URL."""
    folder = os.path.expanduser(value)
    if os.path.isabs(folder):
        return folder.rstrip("/") or "/"
    address = normalise_url(value if "://" in value or ":" in value else f"https://{value}")
    if "/" not in address or address.startswith("file:") or "." not in address.partition("/")[0]:
        raise ReflectError(f"invalid value '{value}' for {setting.name}", _expected(setting), "usage", EXIT_USAGE)
    return address


def _phrases(path: str) -> str:
    """Check that a file of phrases can be parsed, and return its path."""
    from reflect_git.capture import score

    try:
        score.read(files.read_followed(path, _MOST_PHRASES))
    except OSError as error:
        raise ReflectError(f"cannot read '{path}': {error.strerror}", "name a JSON file", "usage", EXIT_USAGE) from None
    return path


def _expected(setting: Setting) -> str:
    return {
        "boolean": "true or false",
        "days": "a number of days from 1 to 3650",
        "seconds": "a number of seconds from 1 to 86400",
        "dollars": "an amount in dollars such as 2.00; 0 allows no calls",
        "time": "a UTC time such as 2026-02-11T09:30:00Z",
        "globs": "the absolute path of a folder, or the URL of a repository; * and ? are wildcards",
        "word": f"one of: {', '.join(setting.words)}",
    }.get(setting.kind, "a text on one line")


def _is_time(value: str) -> bool:
    try:
        time.strptime(value, _TIME)
    except ValueError:
        return False
    return True


def current(store: Store | None, env: Mapping[str, str]) -> dict[str, Current]:
    """Return every known setting and every `reflect.hint.*` that is set, by lower-case name."""
    found = _all_scopes(store, env)
    listed = dict(BY_NAME)
    listed.update({key: find(key) for key, _ in found if key.startswith("reflect.hint.") and key.count(".") == 2})
    counted = store.overrides if store else {}
    return {key: _decided(setting, counted[key]) if key in counted else _current(setting, found)
            for key, setting in listed.items()}  # fmt: skip


def _decided(setting: Setting, values: list[str]) -> Current:
    """Return the recorded value, which overrides a value edited by hand in the config."""
    return Current(setting, tuple(values) or ((setting.default,) if setting.default else ()), "decision")


def _current(setting: Setting, found: list[tuple[str, tuple[str, str]]]) -> Current:
    wanted = {STORE: ("store",), GLOBAL: ("global",), ALL: ("system", "global", "store")}[setting.scope]
    set_here = [entry for key, entry in found if key == setting.name.lower() and entry[0] in wanted]
    if not set_here:
        return Current(setting, (setting.default,) if setting.default else (), "default")
    values = tuple(value for _, value in set_here)
    return Current(setting, values if setting.is_multiple else values[-1:], set_here[-1][0])


def _all_scopes(store: Store | None, env: Mapping[str, str]) -> list[tuple[str, tuple[str, str]]]:
    """Return (key, (scope, value)) for every `reflect.*` key, in the order in which git reads them."""
    git = store.git if store else Git(find_program(env.get("PATH", "")), "/", git_dir=os.devnull, user=env)
    result = git.run("config", "--list", "--show-scope", "-z", profile=SETTINGS, check=False)
    fields = result.out.decode("utf-8", "replace").split("\0")
    found = []
    for scope, entry in zip(fields[0::2], fields[1::2], strict=False):
        key, _, value = entry.partition("\n")
        if key.startswith("reflect."):
            found.append((key, ("store" if scope == "local" else scope, value)))
    return found
