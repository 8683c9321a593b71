"""CliContext: the environment, the store and the output of every command."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from io import TextIOWrapper

from reflect_git import paths
from reflect_git.errors import ReflectError
from reflect_git.records.ids import escape_controls, local_day, parse_utc, plural
from reflect_git.records.json_form import dumps

# The store's modules take 15 ms to import: --help, --version and completion do without. A plain `sync` does without
# click, which takes twice that.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn, TextIO

    from reflect_git.cli.fast_start import Prefetch
    from reflect_git.store.reading.lookup import RecordLookup
    from reflect_git.store.reading.reader import PreloadedMain, Scan, Snapshot
    from reflect_git.store.repository import Store

SCHEMA_VERSION = 1
_MINING_SECONDS = 0.5
_TIME_UNITS = ((604800, "week"), (86400, "day"), (3600, "hour"), (60, "minute"))
_WIDE_CLASSES = "WF"
_PERSON_ERRORS = ("approval", "no-input")  # errors that do not occur at a terminal
_CANCEL_ERRORS = ("declined", "interrupted")  # a person's no to what was asked, and ^C: no error
PIPED_HINT = "the output is not a terminal; run it without a pipe or file to answer"


class CliContext:
    """One run of the program. stdout is data, stderr is talk."""

    def __init__(self, env: Mapping[str, str], prefetch: Prefetch | None = None) -> None:
        self.env = env
        self.prefetch = prefetch
        self.store_option = ""
        self.json = False
        self.color = "auto"
        self.no_input = False
        self.yes = False
        self.is_dry_run = False
        self.opened_store: Store | None = None
        self.deferred_task: Callable[[], object] | None = None  # what is done when the answer is out

    def open_store(self, create: bool = True, upgrades: bool = True) -> Store:
        """Open the store, commit pending signals and, if `upgrades`, update what an older version installed."""
        from reflect_git.capture import service

        try:
            self.opened_store = service.open_recovered_store(self.env, self.store_option, create)
        except ReflectError as error:
            if error.code == "no-store":
                self._require_free_path()
            raise
        self.opened_store.on_wait = self.print_note if sys.stderr.isatty() else None
        if upgrades:
            self._upgrade(self.opened_store)
        return self.opened_store

    def _upgrade(self, store: Store) -> None:
        """Bring up to date what an older version installed; a person's first command does it, without a question.

        A dry run changes nothing.
        """
        before = store.find_older_version()
        if before and not self.is_inside_client and not self.is_dry_run:
            from reflect_git.cli import capture_switch

            capture_switch.upgrade_installation(self, store, before)

    def _require_free_path(self) -> None:
        """Raise an error if something else is in the place of the store, before saying that one would be created."""
        from reflect_git.capture import service
        from reflect_git.store import creation

        creation.require_usable_folder(service.locate_store(self.env, self.store_option))

    def open_mined_store(self) -> Store | None:
        """Return the swept store after reading the latest messages, or None if no store exists. Never create one."""
        try:
            return self.mine_live_sessions(self.open_store(create=False))
        except ReflectError as error:
            if error.code != "no-store":
                raise
            return None

    def mine_live_sessions(self, store: Store, patience: float = _MINING_SECONDS) -> Store:
        """Mine running sessions for at most half a second; the rest is mined after the answer.

        `patience` is how long to wait for another process that is mining.
        """
        from reflect_git.capture import sessions

        if self.env.get("REFLECT_GIT_OFF") == "1":
            return store
        if not sessions.mine_running_sessions(store, self.env, _MINING_SECONDS, patience):
            self.deferred_task = lambda: sessions.mine_running_sessions(store, self.env)
        return store

    @property
    def unread_note(self) -> str:
        """Return a note if the answer may miss the latest messages, else an empty text."""
        return "still reading the last messages; try again in a moment" if self.deferred_task else ""

    def print_no_store(self) -> None:
        from reflect_git.capture import service

        self._require_free_path()
        root = service.locate_store(self.env, self.store_option)
        self.print_note(f"no store at '{printable(root)}' yet; the first capture creates it")

    def find_store(self) -> Store | None:
        """Return the store without creating or sweeping it, or None if there is none."""
        from reflect_git.capture import service

        try:
            return service.open_store(self.env, self.store_option, create=False)
        except ReflectError as error:
            if error.code != "no-store":
                raise
            return None

    def read_snapshot(self, store: Store) -> Snapshot:
        from reflect_git.store.reading import reader

        return reader.read(store, _read_loose_yaml)

    @property
    def is_at_terminal(self) -> bool:
        """True if a person is at the terminal. Inside Claude Code, a model may have created the terminal."""
        return sys.stdin.isatty() and sys.stdout.isatty() and not self.is_inside_client

    @property
    def is_piped(self) -> bool:
        """True if a person is at the keyboard, but does not see the output."""
        return sys.stdin.isatty() and not sys.stdout.isatty() and not self.is_inside_client

    @property
    def is_inside_client(self) -> bool:
        from reflect_git.rules.approver import is_inside_client

        return is_inside_client(self.env)

    def require_outside_client(self, why: str, words: Sequence[str], more: str = "") -> None:
        """Refuse what no model may do for a person; `words` are the command that the person runs instead."""
        if self.is_inside_client:
            said = self.format_command(*words)
            raise ReflectError(why, f"run '{said}' in your own terminal{more}", code="approval")

    def format_command(self, *words: str) -> str:
        """Return a command line for the same store that a person can copy."""
        import shlex  # hardly ever needed, and a sync counts milliseconds

        store = ["--store", self.store_option] if self.store_option else []
        return printable(shlex.join(["reflect-git", *store, *words]))

    def scan(self, store: Store, foreseen: PreloadedMain | None = None) -> Scan:
        """Read the columns of the store that lists and counts need."""
        from reflect_git.store.reading import reader

        return reader.scan(store, _read_loose_yaml, foreseen)

    def read_upcoming(self, store: Store, commit: str) -> PreloadedMain:
        """Read the decisions of a commit that main is about to point to."""
        from reflect_git.store.reading import reader

        return reader.PreloadedMain(store, commit, _read_loose_yaml)

    def open_lookup(self, store: Store) -> RecordLookup:
        """Open the store for questions about a few ids."""
        from reflect_git.store.reading.lookup import RecordLookup

        return RecordLookup(store, _read_loose_yaml)

    def print_json(self, data: Any, **beside: Any) -> None:
        """Write the one JSON document of this run. `beside` adds members next to `print_json`."""
        more = [b',"%s":%s' % (name.encode("ascii"), dumps(value)) for name, value in beside.items()]
        _write_document("data", [dumps(data), *more])

    def print_json_parts(self, parts: list[bytes]) -> None:
        """Write the one JSON document of this run from JSON parts."""
        _write_document("data", parts)

    def print_line(self, text: str = "") -> None:
        """Print one line of the answer."""
        try:
            _echo(text, sys.stdout, self.uses_color(sys.stdout.isatty()))
        except BrokenPipeError:
            exit_flushed(0)

    def print_text(self, text: str, hang: int = 0) -> None:
        """Print one line of prose, wrapped at a terminal but never inside a name or command.

        `hang` is the indent of the following lines, if it differs from that of the first.
        """
        self.print_line(self.wrap_for_stream(text, sys.stdout, hang))

    def print_note(self, text: str, as_is: bool = False) -> None:
        """Print one line to stderr, wrapped unless `as_is`."""
        shown = text if as_is else self.wrap_for_stream(text, sys.stderr)
        _echo(shown, sys.stderr, self.uses_color(sys.stderr.isatty()))

    def wrap_for_stream(self, text: str, stream: TextIO, hang: int = 0) -> str:
        """Wrap a text for a terminal. Text for files and other programs is never wrapped."""
        if self.json or not stream.isatty() or display_width(text) <= (room := terminal_width(stream)):
            return text
        from reflect_git.cli.output.wrap import wrap_text

        return wrap_text(text, room, hang)

    def print_hint(self, name: str, text: str) -> None:
        """Advice that a person can silence with `git config --global reflect.hint.<name> false`."""
        if not self.json and self.is_hint_enabled(name):
            import click

            self.print_note(click.style(f"hint: {text}", fg="yellow"))
            self.print_note(
                click.style(f"hint: silence this with 'git config --global reflect.hint.{name} false'", dim=True)
            )

    def is_hint_enabled(self, name: str) -> bool:
        """Return whether the person has not silenced this advice; without a store, only their global config counts."""
        from reflect_git.store import opening

        key = f"reflect.hint.{name.lower()}"
        try:
            store = self.find_store()
            if store is None:
                value = opening.get_global_setting(self.env, key) or ""
            else:
                value = store.git.get_user_config().get(key, [""])[-1]
        except ReflectError:
            return True
        return value.lower() not in ("false", "no", "off", "0")

    def uses_color(self, tty: bool) -> bool:
        """Decide on colour: --color, then NO_COLOR, then CLICOLOR_FORCE, then whether it is a terminal."""
        if self.color != "auto":
            return self.color == "always"
        if self.env.get("NO_COLOR"):
            return False
        if self.env.get("CLICOLOR_FORCE", "0") not in ("", "0"):
            return True
        return tty and self.env.get("TERM") != "dumb"

    def format_global_path(self, path: str) -> str:
        """Return the display path of a file for all projects, since a project's file may have the same name."""
        return paths.format_path(os.path.join(paths.config_dir(self.env), path), self.env)

    def parse_listed_path(self, listed: str) -> tuple[str, bool]:
        """Parse a path as it is listed. Return it with whether it is a file for all projects."""
        base, path = paths.config_dir(self.env) + os.sep, listed
        if listed.startswith("~/"):
            path = os.path.join(paths.home_dir(self.env), listed[2:])
        return (path[len(base) :], True) if path.startswith(base) else (listed, False)

    def confirm(self, question: str) -> bool:
        """Ask, unless --yes answers; without a person to ask, refuse and name the flag."""
        if self.yes:
            return True
        if self.no_input or not self.is_at_terminal:
            raise ReflectError(f"cannot ask '{question}' without a terminal", "pass --yes", code="no-input")
        return self.ask_yes_no(question)

    def ask_yes_no(self, question: str) -> bool:
        """Ask a person at a terminal; ask again until the answer is y, yes, n, no or empty."""
        import click

        while True:
            asked = self.wrap_for_stream(f"{question} [y/N]: ", sys.stderr)
            typed: str = click.prompt(asked, "", show_default=False, prompt_suffix="", err=True)
            answer = typed.strip().lower()
            if answer in ("", "n", "no", "y", "yes"):
                return answer.startswith("y")
            report_error(self, ReflectError(f"'{answer}' is not an answer", "type y or n"))


def _echo(text: str, stream: TextIO, color: bool) -> None:
    """Print one line. click removes the colours if the output is a file."""
    if "\x1b" in text:
        import click

        click.echo(text, stream, color=color)
        return
    stream.write(f"{text}\n")
    stream.flush()


def _read_loose_yaml(data: bytes) -> dict[str, Any]:
    """Parse a record that a person edited. The first call loads ruamel.yaml, which takes 30 ms."""
    from reflect_git.platform import yaml_loose

    return yaml_loose.parse_edited(data)


def get_cwd() -> str:
    """Return the current folder; the root if it was deleted."""
    try:
        return os.getcwd()
    except FileNotFoundError:
        return os.sep


def terminal_width(stream: TextIO | None = None) -> int:
    """Return the width of the terminal; 80 without one. Like `shutil`, whose imports take 7 ms."""
    given = _get_columns_variable()
    try:
        return given if given > 0 else os.get_terminal_size((stream or sys.__stdout__).fileno()).columns or 80  # type: ignore[union-attr]
    except (AttributeError, ValueError, OSError):  # closed, or no terminal
        return 80


def _get_columns_variable() -> int:
    """Return COLUMNS, which is also passed to a pager; 0 if it is not set."""
    try:
        return int(os.environ["COLUMNS"])
    except (KeyError, ValueError):
        return 0


def _is_width_limited() -> bool:
    """Return whether lines have a maximum width. Output to files and other programs is never cut."""
    return _get_columns_variable() > 0 or (sys.stdout is not None and sys.stdout.isatty())


def printable(text: str) -> str:
    """Text from a record as a terminal may show it: what acts on a terminal, or hides in it, is spelled out."""
    return escape_controls(text)


def one_line(text: str, width: int) -> str:
    """Return the text on one line, cut with a mark if it is wider than `width` columns of a terminal."""
    flat = " ".join(printable(text).split())
    if display_width(flat) <= width or not _is_width_limited():
        return flat
    kept = flat[: max(0, width - 1)]
    while kept and display_width(kept) > width - 1:
        kept = kept[:-1]
    return kept.rstrip() + "…"


def display_width(text: str) -> int:
    """Count the terminal cells of a text: Chinese, Japanese, Korean letters and emoji take two, accents none."""
    if text.isascii():
        return len(text)
    from unicodedata import combining, east_asian_width

    return sum(0 if combining(c) else 2 if east_asian_width(c) in _WIDE_CLASSES else 1 for c in text)


def format_duration(seconds: float) -> str:
    """Format a number of seconds for people: `3 days`."""
    for unit, name in _TIME_UNITS:
        count = int(seconds // unit)
        if count >= (2 if name == "week" else 1):  # ten days are ten days, not one week
            return plural(count, name)
    return "a moment"


def format_local_time(timestamp: str) -> str:
    """Format a UTC time of a record as local time: `2026-02-11 10:30`, or `10:30` if that is today."""
    moment = parse_utc(timestamp)
    is_today = local_day(moment) == local_day(time.time())
    return time.strftime("%H:%M" if is_today else "%Y-%m-%d %H:%M", time.localtime(moment))


def format_age(timestamp: str) -> str:
    """Format how long ago a record's UTC time was."""
    return format_duration(max(0.0, time.time() - parse_utc(timestamp)))


def _write_document(kind: str, parts: list[bytes]) -> None:
    try:
        sys.stdout.flush()
        head = b'{"schema_version":%d,"%s":' % (SCHEMA_VERSION, kind.encode("ascii"))
        sys.stdout.buffer.write(b"".join((head, *parts, b"}\n")))
    except BrokenPipeError:
        exit_flushed(0)


def report_error(cli: CliContext, error: ReflectError) -> int:
    """Say what failed and what to do, in the form this run speaks."""
    if cli.json:
        failure = {"code": error.code, "message": error.message, "hint": error.hint}
        _write_document("error", [dumps(failure)])
        return error.exit_code
    if error.code in _CANCEL_ERRORS:
        cli.print_note(error.message)
        return error.exit_code
    import click

    cli.print_note(click.style("error: ", fg="red", bold=True) + printable(error.message))
    hint = PIPED_HINT if error.code in _PERSON_ERRORS and not cli.no_input and cli.is_piped else error.hint
    if hint:
        cli.print_note(click.style(f"hint: {printable(hint)}", fg="yellow"))
    return error.exit_code


def prepare_streams() -> None:
    """Prepare stdout and stderr at the start of a run."""
    if sys.stdout is None or sys.stderr is None:  # closed by the caller: what is said goes nowhere
        nowhere = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 - for the rest of the run
        sys.stdout, sys.stderr = sys.stdout or nowhere, sys.stderr or nowhere
    for stream in (sys.stdout, sys.stderr):  # a terminal that knows no "…" gets its escape, not a traceback
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def finish_run(cli: CliContext, code: int) -> NoReturn:
    """End the run: start background work, then exit."""
    if cli.opened_store is not None:
        from reflect_git.cli.background import start_background_work

        start_background_work(cli.opened_store, cli.deferred_task)
    exit_flushed(code)


def exit_flushed(code: int) -> NoReturn:
    """Flush the output and exit. A reader that left early is not an error."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(code)
