"""Define every `reflect.*` setting: name, allowed values, and where it is read from."""

from __future__ import annotations

import os
import re
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from reflect_git.capture.service import parse_duration
from reflect_git.errors import EXIT_USAGE, ReflectError
from reflect_git.memory.staleness import LIFETIMES, NEVER
from reflect_git.platform import files
from reflect_git.platform.git import SETTINGS, Git, find_git
from reflect_git.platform.project import normalise_url
from reflect_git.store import policy

if TYPE_CHECKING:
    from collections.abc import Mapping

    from reflect_git.store.repository import Store

STORE, GLOBAL, ALL = "store", "global", "all"
ANY_VALUE = ("*",)
_TRUE, _FALSE = ("true", "yes", "on", "1"), ("false", "no", "off", "0")
_MAX_PHRASES_BYTES = 256 << 10  # as many as hooks read
_MAX_DURATION = 30 * 86400
_TIME = "%Y-%m-%dT%H:%M:%SZ"


@dataclass(frozen=True)
class Setting:
    """`scope` says whose git config is read: the store's own, the user's global one, or all of them.

    `guarded` values widen what may happen without a person: they are switched on by a person at a terminal only, also
    where the value is the default, and something else was set. `ANY_VALUE` guards every value.
    """

    name: str
    kind: str
    default: str
    help: str
    scope: str = STORE
    words: tuple[str, ...] = ()
    guarded: tuple[str, ...] = ()
    read_only: str = ""
    warning: str = ""  # what a person has to know before a guarded value is set; {price} is that of one call

    @property
    def is_policy(self) -> bool:
        return policy.is_policy(self.name)

    @property
    def is_multiple(self) -> bool:
        return self.kind == "globs"

    def is_guarded(self, value: str) -> bool:
        return value in self.guarded or self.guarded == ANY_VALUE


ALL_SETTINGS = (
    Setting("reflect.capture", "boolean", "true", "hooks capture signals"),
    Setting("reflect.pausedUntil", "time", "", "no capture before this time; 'pause 2h' sets it"),
    Setting(
        "reflect.capture.unattended",
        "word",
        "failures",
        "what to capture from sessions without a person",
        words=("failures", "all"),
    ),
    Setting("reflect.ignore", "globs", "", "folders and repositories without capture"),
    Setting("reflect.phrases", "file", "", "a JSON file of your own phrases"),
    Setting("reflect.compact.keep", "boolean", "false", "keep your corrections when Claude Code compacts"),
    Setting(
        "reflect.notice",
        "word",
        "strong",
        "note corrections when you send them",
        words=("strong", "off"),
    ),
    Setting(
        "reflect.mod",
        "word",
        "on",
        "/keep and the band above the prompt in Claude Code",
        words=("on", "off"),
    ),
    Setting("reflect.remind", "boolean", "true", "remind once a day of proposed rules"),
    Setting("reflect.quiet", "text", "", "when capture was off", read_only="set by 'pause' and 'resume'"),
    Setting("reflect.ttl", "days", "14", "days a signal lives"),
    *(
        Setting(f"reflect.ttl.{category}", "lifetime", default, f"days a rule on {category} holds")
        for category, default in LIFETIMES.items()
    ),
    Setting("reflect.digests", "boolean", "true", "keep a digest of each week and month"),
    Setting("reflect.upkeep", "boolean", "true", "run daily maintenance in the background"),
    Setting(
        "reflect.approval",
        "word",
        "ask",
        "who can approve: only a person, or scripts too",
        words=("ask", "unattended"),
        guarded=("unattended",),
    ),
    Setting(
        "reflect.sign",
        "word",
        "none",
        "sign decisions with the key of your git configuration",
        words=("none", "ssh", "gpg"),
        guarded=("none",),
    ),
    Setting(
        "reflect.sync.auto",
        "boolean",
        "false",
        "sync automatically after sessions and before a review",
        guarded=("true",),
    ),
    Setting(
        "reflect.sync.signals",
        "boolean",
        "false",
        "send signals, your own words, to your other machines",
        guarded=("true",),
    ),
    Setting(
        "reflect.sync.apply",
        "word",
        "ask",
        "apply decisions of your other machines: ask first, or not",
        words=("ask", "auto"),
        guarded=("auto",),
    ),
    Setting(
        "reflect.sync.requireSigned",
        "boolean",
        "false",
        "apply only signed decisions without asking",
        guarded=("false",),
    ),
    Setting("reflect.sync.timeout", "seconds", "60", "seconds that a fetch or a push may take"),
    Setting(
        "reflect.wording",
        "word",
        "off",
        "review has Claude word proposed rules, which costs tokens",
        words=("off", "claude"),
        guarded=("claude",),
        warning="review then sends the redacted words of proposed rules to Claude: {price}",
    ),
    Setting(
        "reflect.escalate",
        "word",
        "off",
        "after three failed attempts, tell Claude to ask",
        words=("off", "hint"),
        guarded=("hint",),
    ),
    Setting("reflect.wording.model", "text", "haiku", "the model that words rules", guarded=ANY_VALUE),
    Setting("reflect.wording.timeout", "seconds", "60", "seconds that Claude may take to word rules"),
    Setting(
        "reflect.judge",
        "word",
        "off",
        "who scores sessions: nobody, Claude, or a program of yours",
        words=("off", "claude", "command"),
        guarded=("claude", "command"),
        warning="'evaluate' then sends the redacted text of sessions to the judge",
    ),
    Setting("reflect.judge.command", "text", "", "the program that scores sessions", guarded=ANY_VALUE),
    Setting("reflect.judge.model", "text", "haiku", "the model that scores sessions", guarded=ANY_VALUE),
    Setting("reflect.judge.maxUsd", "dollars", "0.25", "dollars that one evaluation may cost", guarded=ANY_VALUE),
    Setting("reflect.judge.rubric", "text", "", "a rubric of your own instead of ours", guarded=ANY_VALUE),
    Setting("reflect.judge.timeout", "seconds", "120", "seconds that the judge may take for one session"),
    Setting(
        "reflect.evaluate",
        "word",
        "off",
        "score sessions automatically, after every 20 messages",
        words=("off", "auto"),
        guarded=("auto",),
        warning="the judge then scores sessions without asking: {price}",
    ),
    Setting("reflect.evaluate.every", "count", "20", "messages after which sessions are scored automatically"),
    Setting(
        "reflect.baton",
        "word",
        "off",
        "give Claude the baton after a resume or a compaction",
        words=("off", "resume"),
        guarded=("resume",),
    ),
    Setting(
        "reflect.maxUsdPerDay", "dollars", "2.00", "dollars that calls to Claude may cost a day", guarded=ANY_VALUE
    ),
    Setting("reflect.cooldown", "duration", "30m", "how long no automatic change touches a changed file"),
    Setting(
        "reflect.autopilot",
        "word",
        "off",
        "apply rules in your own words without a question",
        words=("off", "own-words"),
        guarded=("own-words",),
        warning="'upkeep' then writes rules to instruction files without asking; the next review lists each one first",
    ),
    Setting(
        "reflect.autorevert",
        "word",
        "propose",
        "go back after worse sessions: ask, do it, or never",
        words=("propose", "apply", "off"),
        guarded=("apply",),
        warning="it then reverts rules without asking, from 'upkeep', if the scores of sessions fell clearly",
    ),
    Setting("reflect.own", "text", "", "machines that you accepted as yours", read_only="'sync' asks for each new one"),
    Setting("reflect.hint.init", "boolean", "true", "advice after 'init'", ALL),
    Setting("reflect.hint.import", "boolean", "true", "offer in 'status' to import past sessions", ALL),
    Setting(
        "reflect.home",
        "path",
        "",
        "the folder of the store",
        GLOBAL,
        read_only="set it with 'git config --global reflect.home DIR'",
    ),
    Setting("reflect.connected", "text", "", "when this store first got a remote", read_only="it is set once"),
    Setting("reflect.machine", "text", "", "the name of this machine in the store", read_only="it is set once"),
    Setting("reflect.binding", "text", "", "the machine and folder this store belongs to", read_only="it is set once"),
    Setting("reflect.born", "time", "", "when this store was created", read_only="it is set once"),
)
BY_NAME = {setting.name.lower(): setting for setting in ALL_SETTINGS}


@dataclass(frozen=True)
class CurrentValue:
    """The current values of a setting, and where they were set."""

    setting: Setting
    values: tuple[str, ...]
    origin: str

    @property
    def text(self) -> str:
        return " ".join(self.values)


def find_setting(name: str) -> Setting:
    """Find a setting by name. `reflect.` is optional, and case does not matter."""
    wanted = name.lower()
    for candidate in (wanted, f"reflect.{wanted}"):
        if candidate in BY_NAME:
            return BY_NAME[candidate]
    if wanted.startswith("reflect.hint.") and wanted.count(".") == 2:
        return Setting(wanted, "boolean", "true", "advice that can be silenced", ALL)
    raise unknown_setting_error(name)


def unknown_setting_error(name: str) -> ReflectError:
    from difflib import get_close_matches

    short = {key.removeprefix("reflect."): setting.name for key, setting in BY_NAME.items()}
    close = get_close_matches(name.lower().removeprefix("reflect."), short, n=1)
    hint = f"did you mean '{short[close[0]]}'?" if close else "list them with 'reflect-git config'"
    return ReflectError(f"unknown setting '{name}'", hint, "usage", EXIT_USAGE)


def parse_value(setting: Setting, value: str) -> str:
    """Validate a value and return its stored form. Raise an error that lists the allowed values."""
    kind = setting.kind
    if kind == "boolean" and value.lower() in (*_TRUE, *_FALSE):
        return "true" if value.lower() in _TRUE else "false"
    if kind == "days" and value.isascii() and value.isdigit() and 1 <= int(value) <= 3650:
        return str(int(value))
    if kind == "lifetime" and (value == NEVER or (value.isascii() and value.isdigit() and 1 <= int(value) <= 36500)):
        return value
    if kind == "count" and value.isascii() and value.isdigit() and 1 <= int(value) <= 1000:
        return str(int(value))
    if kind == "seconds" and value.isascii() and value.isdigit() and 1 <= int(value) <= 86400:
        return str(int(value))
    if kind == "duration" and (value == "0" or 0 < (parse_duration(value) or 0) <= _MAX_DURATION):
        return value
    if kind == "dollars" and re.fullmatch(r"\d{1,4}(\.\d{1,2})?", value, re.ASCII):
        return f"{float(value):.2f}"
    if kind == "time" and _is_time(value):
        return value
    if kind == "globs" and value and value.isprintable():
        return _parse_glob(setting, value)
    if kind == "file":
        return _check_phrases_file(os.path.abspath(os.path.expanduser(value)))
    if (kind == "word" and value in setting.words) or (kind == "text" and value and value.isprintable()):
        return value
    raise ReflectError(f"invalid value '{value}' for {setting.name}", _format_expected(setting), "usage", EXIT_USAGE)


def _parse_glob(setting: Setting, value: str) -> str:
    """Normalise a glob: an absolute folder, or a repository as host/path from any form of its URL."""
    folder = os.path.expanduser(value)
    if os.path.isabs(folder):
        return folder.rstrip("/") or "/"
    address = normalise_url(value if "://" in value or ":" in value else f"https://{value}")
    if "/" not in address or address.startswith("file:") or "." not in address.partition("/")[0]:
        raise ReflectError(
            f"invalid value '{value}' for {setting.name}", _format_expected(setting), "usage", EXIT_USAGE
        )
    return address


def _check_phrases_file(path: str) -> str:
    """Check that a file of phrases can be parsed, and return its path."""
    from reflect_git.capture import score

    try:
        score.parse_user_phrases(files.read_small_file(path, _MAX_PHRASES_BYTES))
    except OSError as error:
        raise ReflectError(f"cannot read '{path}': {error.strerror}", "name a JSON file", "usage", EXIT_USAGE) from None
    return path


def _format_expected(setting: Setting) -> str:
    return {
        "boolean": "true or false",
        "days": "a number of days from 1 to 3650",
        "lifetime": "a number of days, or never",
        "count": "a number from 1 to 1000",
        "seconds": "a number of seconds from 1 to 86400",
        "duration": "a duration such as 30m, 4h or 1d, of at most 30 days; or 0",
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


def load_values(store: Store | None, env: Mapping[str, str]) -> dict[str, CurrentValue]:
    """Return every known setting and every `reflect.hint.*` that is set, by lower-case name."""
    found = _read_all_scopes(store, env)
    listed = dict(BY_NAME)
    listed.update(
        {key: find_setting(key) for key, _ in found if key.startswith("reflect.hint.") and key.count(".") == 2}
    )
    counted = store.overrides if store else {}
    return {key: _get_decided_value(setting, counted[key]) if key in counted else _get_config_value(setting, found)
            for key, setting in listed.items()}  # fmt: skip


def _get_decided_value(setting: Setting, values: list[str]) -> CurrentValue:
    """Return the recorded value, which overrides a value edited by hand in the config."""
    return CurrentValue(setting, tuple(values) or ((setting.default,) if setting.default else ()), "decision")


def _get_config_value(setting: Setting, found: list[tuple[str, tuple[str, str]]]) -> CurrentValue:
    wanted = {STORE: ("store",), GLOBAL: ("global",), ALL: ("system", "global", "store")}[setting.scope]
    set_here = [entry for key, entry in found if key == setting.name.lower() and entry[0] in wanted]
    if not set_here:
        return CurrentValue(setting, (setting.default,) if setting.default else (), "default")
    values = tuple(value for _, value in set_here)
    return CurrentValue(setting, values if setting.is_multiple else values[-1:], set_here[-1][0])


def _read_all_scopes(store: Store | None, env: Mapping[str, str]) -> list[tuple[str, tuple[str, str]]]:
    """Return (key, (scope, value)) for every `reflect.*` key, in the order in which git reads them."""
    git = store.git if store else Git(find_git(env.get("PATH", "")), "/", git_dir=os.devnull, user=env)
    result = git.run("config", "--list", "--show-scope", "-z", profile=SETTINGS, check=False)
    fields = result.out.decode("utf-8", "replace").split("\0")
    found = []
    for scope, entry in zip(fields[0::2], fields[1::2], strict=False):
        key, _, value = entry.partition("\n")
        if key.startswith("reflect."):
            found.append((key, ("store" if scope == "local" else scope, value)))
    return found
