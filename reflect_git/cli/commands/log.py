"""Run `reflect-git log`: show what was decided."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from itertools import islice
from typing import TYPE_CHECKING

import click

from reflect_git.cli.context import CliContext, display_width, one_line, printable
from reflect_git.cli.options import ShortOptionCommand, json_option
from reflect_git.errors import EXIT_USAGE, ReflectError
from reflect_git.platform.git import SETTINGS
from reflect_git.records.history import EVENT_TYPES, OTHER_EVENT

if TYPE_CHECKING:
    from re import Pattern
    from subprocess import Popen

    from reflect_git.history.log_entries import Entry
    from reflect_git.history.log_query import LogQuery
    from reflect_git.records.schema import Decision
    from reflect_git.store.repository import Store

_COLOURS = {
    "approved": "green", "amended": "cyan", "applied": "green", "restored": "green", "policy": "magenta",
    "guarded": "cyan", "unguarded": "yellow", "pinned": "cyan", "unpinned": "yellow", "kept": "cyan",
    "paused": "magenta", "resumed": "magenta", "remote": "magenta",
    "other": "red",
}  # fmt: skip
_NEGATIVE_KINDS = ("declined", "dismissed", "said never", "reverted", "removed", "purged")
_INDENT = 12
_MAX_IDS = 3
_PATCH_BATCH = 50


@click.command(cls=ShortOptionCommand)
@click.option("-n", "--limit", metavar="N", type=click.IntRange(min=1), help="Only the newest N.")
@click.option("-p", "--patch", is_flag=True, help="Show what changed in the file.")
@click.option(
    "--type", "types", metavar="WORD", multiple=True, help="approved, dismissed, reverted, amended, policy, …"
)
@click.option("--target", metavar="FILE", default="", help="Only this instruction file, as listed.")
@click.option("--project", metavar="NAME|KEY|DIR", default="", help="Only this project.")
@click.option("--learning", metavar="LRN", default="", help="Only this rule.")
@click.option("--signal", metavar="SIG", default="", help="Only this signal.")
@click.option("--since", metavar="TIME", default="", help="2026-02-11, 3d, or '3 days ago'.")
@click.option("--until", metavar="TIME", default="", help="Same format as --since.")
@click.option("--grep", "texts", metavar="PATTERN", multiple=True, help="Only matching texts; ignores case.")
@click.option(
    "--author", "authors", metavar="PATTERN", multiple=True, help="Only decisions by a matching name or e-mail."
)
@click.option("--oneline", is_flag=True, help="One line each.")
@click.option("--captures", is_flag=True, help="Also show captures, counts and expiry.")
@json_option
@click.pass_obj
def log_command(
    cli: CliContext, limit: int | None, patch: bool, types: tuple[str, ...], target: str, project: str, learning: str,
    signal: str, since: str, until: str, texts: tuple[str, ...], authors: tuple[str, ...], oneline: bool,
    captures: bool,
) -> None:  # fmt: skip
    """Show decisions, newest first.

    Each entry shows the commit, what happened, the rule, its file and the file's new version. The last line says when,
    who, how and on which machine. 'show' and 'revert' accept the commits and ids.

    The output of -p is not for 'git apply'. Use 'revert' to undo a change, or 'git show COMMIT' in the store for a
    patch.
    """
    store = _open_store(cli)
    if store is None:
        return
    chosen, place = _parse_types(types), _find_project_key(cli, store, project)
    span = _parse_span(since, until) if since or until else ("", "")
    asked = _get_query(cli, store, span, captures or "captured" in chosen)
    from reflect_git.history.log_entries import LogFilter, list_entries

    path, is_global = cli.parse_listed_path(target)
    wanted = LogFilter(
        chosen, path, place, learning, signal, captures, is_global, _compile_patterns("--grep", texts),
        _compile_patterns("--author", authors),
    )  # fmt: skip
    found = list_entries(store, asked, wanted, limit)
    if cli.json:
        cli.print_json([entry.as_json() for entry in found])
        return

    with page_output(cli, store):
        if not _print_entries(cli, store, found, patch, oneline):
            is_any = not any((*chosen, *span, target, place, learning, signal, captures, *texts, *authors))
            cli.print_note("no decisions yet" if is_any else "no matching decisions")


def _open_store(cli: CliContext) -> Store | None:
    """Swept only if something waits for it: a look at the past needs no inbox."""
    if cli.prefetch is not None:
        return cli.prefetch.store
    store = cli.find_store()
    if store is None:
        if cli.json:
            cli.print_json([])
        else:
            cli.print_no_store()
        return None
    from reflect_git.cli.fast_start import needs_recovery

    return cli.open_store(create=False) if needs_recovery(store) else store


def _get_query(cli: CliContext, store: Store, span: tuple[str, str], inboxes: bool) -> LogQuery:
    """Return the running query of the fast start if it fits, else start a new one.

    The module that parses the answer loads while git works.
    """
    if cli.prefetch is not None and cli.prefetch.log_query is not None and not inboxes and not any(span):
        return cli.prefetch.log_query
    from reflect_git.history.log_query import LogQuery

    return LogQuery(store, *span, inboxes=inboxes)


def _parse_span(since: str, until: str) -> tuple[str, str]:
    from reflect_git.capture.service import parse_since
    from reflect_git.history.rules_at import AGE_HINT, get_day_end, normalise_age

    moments = normalise_age(since), get_day_end(until)
    first, last = (parse_since(moment, more=AGE_HINT) if moment else "" for moment in moments)
    return first, last


def _parse_types(words: Iterable[str]) -> frozenset[str]:
    known = {**EVENT_TYPES, **{word: word for word in (*EVENT_TYPES.values(), OTHER_EVENT)}}
    for word in words:
        if word not in known:
            hint = f"one of: {', '.join(dict.fromkeys(known.values()))}"
            raise ReflectError(f"'{word}' is not a type of entry", hint, "usage", EXIT_USAGE)
    return frozenset(known[word] for word in words)


def _compile_patterns(option: str, given: Iterable[str]) -> list[Pattern[str]]:
    """Compile regular expressions; several of one option are alternatives, as with git."""
    import re

    try:
        return [re.compile(one, re.IGNORECASE) for one in given]
    except re.error as error:
        hint = f"to match {' '.join('.*+?()[')} literally, put a backslash before them"
        raise ReflectError(f"{option} is not a regular expression: {error.msg}", hint, "usage", EXIT_USAGE) from None


def _find_project_key(cli: CliContext, store: Store, text: str) -> str:
    """Return the key of the project that a folder is in. A plain name such as `app` is returned unchanged."""
    if os.sep not in text and text not in (".", ".."):
        return text
    from reflect_git.rules.project_files import find_place

    found = find_place(store, cli.env, os.path.abspath(os.path.expanduser(text))).project
    return found["key"] if found else text


def _print_entries(cli: CliContext, store: Store, found: Iterator[Entry], patch: bool, oneline: bool) -> bool:
    """Print the entries; return whether there were any."""
    from reflect_git.cli.output.candidate_view import text_width

    room, is_first = text_width(), True
    for block in iter(lambda: list(islice(found, _PATCH_BATCH if patch else 1)), []):
        patches = _load_patches(cli, store, block) if patch else {}
        for entry in block:
            if not is_first and not oneline:
                cli.print_line()
            is_first = False
            for line in islice(_format_entry(entry, cli.format_global_path, room), 1 if oneline else None):
                cli.print_line(line)
            if patches.get(entry.commit):
                cli.print_line()
                cli.print_line(patches[entry.commit])
    return not is_first


def _format_entry(entry: Entry, everywhere: Callable[[str], str], room: int) -> Iterator[str]:
    kind, what = entry.outcome
    kind = "said never" if any(made["kind"] == "never" for made in entry.decision_records) else kind
    kind = (
        "your commit" if kind == OTHER_EVENT else "removed" if entry.is_removal else "moved" if entry.is_move else kind
    )
    text = f'"{entry.quote}"' if entry.quote else what
    shown = one_line(text, room - _INDENT - len(kind) - 2)
    colour = "yellow" if kind in _NEGATIVE_KINDS else _COLOURS.get(kind) or _COLOURS.get(entry.type)
    yield f"{click.style(entry.commit[:10], fg='yellow')}  {click.style(kind, fg=colour)}  {shown}".rstrip()
    for facts in (*_format_target(entry, everywhere, room - _INDENT), *_format_reasons(entry), _format_author(entry)):
        for line in _wrap_text(facts, room - _INDENT):
            yield " " * _INDENT + line


def _wrap_text(text: str, room: int) -> list[str]:
    from reflect_git.cli.output.candidate_view import wrap

    return wrap(printable(text), room)


def _format_target(entry: Entry, everywhere: Callable[[str], str], room: int) -> Iterator[str]:
    """Yield the rule or signal, the file and its version; on one line if it fits."""
    target = entry.get_trailer("Target")
    record_id = _format_rule_ids(entry) or (entry.short_subject if entry.quote else "")
    version = f" v{entry.version}" if entry.version else ""
    place = entry.project_name or (entry.get_trailer("Project") or "").rpartition("/")[2]
    scope = f" in {place}" if place else " for all projects" if entry.is_global else ""
    others = len(entry.targets) - 1
    more = f" and {others} more" if others > 0 else ""
    into = f"→ {everywhere(target) if entry.is_global else target}{version}{scope}{more}" if target else ""
    together = f"{record_id} {into}".strip()
    yield from [together] if display_width(together) <= room else [record_id, into]


def _format_rule_ids(entry: Entry) -> str:
    """Join the ids of all rules in a commit."""
    named = list(dict.fromkeys(entry.trailers.get("Learning-Id", ())))
    more = f" and {len(named) - _MAX_IDS} more" if len(named) > _MAX_IDS else ""
    return ", ".join(named[:_MAX_IDS]) + more


def _format_reasons(entry: Entry) -> Iterator[str]:
    """Yield the replaced rules and the reason."""
    replaced = [made["subject"] for made in entry.decision_records if made["kind"] == "superseded"]
    if replaced:
        yield f"replaces {', '.join(replaced)}"
    for made in entry.decision_records:
        if made["kind"] == "guarded":
            yield _format_guard(made)
    yield from dict.fromkeys(f"reason: {made['reason']}" for made in entry.decision_records if made["reason"])


def _format_guard(made: Decision) -> str:
    """Format a guard in words. It may come from another machine, and a newer one."""
    from reflect_git.guards.form import find_problem
    from reflect_git.rules.guarding.guards import describe_guard

    meta = made["meta"]
    what = (
        "an unknown matcher"
        if find_problem(meta.get("matcher"))
        else describe_guard(meta["matcher"], str(meta.get("instead", "")))
    )
    return f"{meta.get('mode')}: {what}"


def _format_author(entry: Entry) -> str:
    from reflect_git.cli.output.history_view import format_when
    from reflect_git.history.rule_history import CHANNEL_WORDS

    channel = CHANNEL_WORDS.get(entry.channel or "", "")
    person = " ".join(filter(None, (entry.person, channel)))
    return ", ".join(filter(None, (format_when(entry.time), person, entry.get_trailer("Machine"))))


def _load_patches(cli: CliContext, store: Store, block: list[Entry]) -> dict[str, str]:
    """Commit → what it changed in mirrors of targets, in the person's own colours; one process for all of them."""
    import sys

    from reflect_git.history.patches import build_patches

    return build_patches(store, [entry.commit for entry in block], cli.uses_color(sys.stdout.isatty()))


# What git tells pagers that nobody has set up: quit if it fits, show colours, leave the screen.
_PAGER_DEFAULTS = {"LESS": "FRX", "LV": "-c"}


@contextmanager
def page_output(cli: CliContext, store: Store) -> Iterator[None]:
    """Send the output of this block through the pager if stdout is a terminal."""
    program = _find_pager(cli.env, store) if sys.stdout.isatty() and not cli.json else ""
    # On a dumb terminal, as in an editor, less complains and waits for a key.
    is_dumb = cli.env.get("TERM", "dumb") == "dumb" and program.split()[:1] in (["less"], ["pager"])
    if program in ("", "cat") or is_dumb or not _is_installed(cli.env, program):
        yield
        return
    import shutil
    import subprocess

    color, size = cli.color, shutil.get_terminal_size()
    cli.color = "always" if cli.uses_color(True) else "never"
    environment = {**_PAGER_DEFAULTS, **cli.env, "COLUMNS": str(size.columns)}
    # Through the shell, as git runs it: `less -S` is a program and its argument.
    child = subprocess.Popen(["/bin/sh", "-c", program], stdin=subprocess.PIPE, env=environment)
    assert child.stdin is not None
    sys.stdout.flush()
    terminal = os.dup(sys.stdout.fileno())
    os.dup2(child.stdin.fileno(), sys.stdout.fileno())
    child.stdin.close()
    os.environ["COLUMNS"] = str(size.columns)  # for those who ask how wide a line may be: a pipe does not know
    try:
        yield
    finally:
        _restore_stdout(terminal)
        _wait_for_pager(child)
        cli.color = color


def _find_pager(env: Mapping[str, str], store: Store) -> str:
    """Find the pager as git does. GIT_PAGER is read here, because our git runs without the user's GIT_* variables."""
    chosen = env.get("GIT_PAGER")
    if chosen is not None:
        return chosen.strip()
    # Every git of ours is told to page nothing, and would answer `cat`; the later word counts.
    result = store.git.run("--paginate", "var", "GIT_PAGER", profile=SETTINGS, check=False)
    return result.out.decode("utf-8", "surrogateescape").strip()


def _is_installed(env: Mapping[str, str], program: str) -> bool:
    """Return whether the pager is installed. A command that is more than a name is left to the shell."""
    import shutil

    name = program.split(maxsplit=1)[0]
    is_plain = all(c.isalnum() or c in "./-_+" for c in name)
    return not is_plain or shutil.which(name, path=env.get("PATH")) is not None


def _restore_stdout(terminal: int) -> None:
    """Close the pager's input. Ignore a broken pipe: the user quit early."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.stdout.flush()
    os.dup2(terminal, sys.stdout.fileno())
    os.close(terminal)


def _wait_for_pager(child: Popen[bytes]) -> None:
    """Wait for the pager. A ^C belongs to the pager, which may be waiting for a key."""
    while True:
        try:
            child.wait()
            return
        except KeyboardInterrupt:
            continue
