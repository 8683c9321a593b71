"""Run `reflect-git log`: show what was decided."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from itertools import islice
from typing import TYPE_CHECKING

import click

from reflect_git.cli.context import Front, columns, one_line, printable
from reflect_git.cli.options import Lettered, json_option
from reflect_git.errors import EXIT_USAGE, ReflectError
from reflect_git.platform.git import SETTINGS
from reflect_git.records.history import OTHER, TYPES

if TYPE_CHECKING:
    from re import Pattern
    from subprocess import Popen

    from reflect_git.cli.context import Front
    from reflect_git.history.log_entries import Entry
    from reflect_git.history.log_query import Asked
    from reflect_git.store.repository import Store

_COLOURS = {
    "approved": "green", "amended": "cyan", "applied": "green", "restored": "green", "policy": "magenta",
    "paused": "magenta", "resumed": "magenta", "remote": "magenta", "other": "red",
}  # fmt: skip
_TAKEN = ("declined", "dismissed", "said never", "reverted", "removed", "purged")
_INDENT = 12
_NAMED = 3
_PATCHES_AT_ONCE = 50


@click.command(cls=Lettered)
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
    front: Front, limit: int | None, patch: bool, types: tuple[str, ...], target: str, project: str, learning: str,
    signal: str, since: str, until: str, texts: tuple[str, ...], authors: tuple[str, ...], oneline: bool,
    captures: bool,
) -> None:  # fmt: skip
    """Show decisions, newest first.

    Each entry has the commit and what happened; the rule, its file and the new version of that file; when, by whom, how
    and on which machine. 'show' and 'revert' accept the commits and ids.

    The output of -p is not for 'git apply'. Use 'revert' to undo a change, or 'git show COMMIT' in the store for a
    patch.
    """
    store = _open(front)
    if store is None:
        return
    chosen, place = _types(types), _project(front, store, project)
    span = _span(since, until) if since or until else ("", "")
    asked = _asked(front, store, span, captures or "captured" in chosen)
    from reflect_git.history.log_entries import Wanted, entries

    path, is_global = front.is_everywhere(target)
    wanted = Wanted(
        chosen, path, place, learning, signal, captures, is_global, _patterns("--grep", texts),
        _patterns("--author", authors),
    )  # fmt: skip
    found = entries(store, asked, wanted, limit)
    if front.json:
        front.data([entry.as_json() for entry in found])
        return

    with paged(front, store):
        if not _tell(front, store, found, patch, oneline):
            is_any = not any((*chosen, *span, target, place, learning, signal, captures, *texts, *authors))
            front.talk("no decisions yet" if is_any else "no matching decisions")


def _open(front: Front) -> Store | None:
    """Swept only if something waits for it: a look at the past needs no inbox."""
    if front.ahead is not None:
        return front.ahead.store
    store = front.store_if_any()
    if store is None:
        if front.json:
            front.data([])
        else:
            front.say_no_store()
        return None
    from reflect_git.cli.fast_start import is_unswept

    return front.store(create=False) if is_unswept(store) else store


def _asked(front: Front, store: Store, span: tuple[str, str], inboxes: bool) -> Asked:
    """Return the running query of the fast start if it fits, else start a new one.

    The module that parses the answer loads while git works.
    """
    if front.ahead is not None and front.ahead.asked is not None and not inboxes and not any(span):
        return front.ahead.asked
    from reflect_git.history.log_query import Asked

    return Asked(store, *span, inboxes=inboxes)


def _span(since: str, until: str) -> tuple[str, str]:
    from reflect_git.capture.service import parse_since
    from reflect_git.history.rules_at import ALSO, shortened, to_its_end

    moments = shortened(since), to_its_end(until)
    first, last = (parse_since(moment, more=ALSO) if moment else "" for moment in moments)
    return first, last


def _types(words: Iterable[str]) -> frozenset[str]:
    known = {**TYPES, **{word: word for word in (*TYPES.values(), OTHER)}}
    for word in words:
        if word not in known:
            hint = f"one of: {', '.join(dict.fromkeys(known.values()))}"
            raise ReflectError(f"'{word}' is not a type of entry", hint, "usage", EXIT_USAGE)
    return frozenset(known[word] for word in words)


def _patterns(option: str, given: Iterable[str]) -> list[Pattern[str]]:
    """Compile regular expressions; several of one option are alternatives, as with git."""
    import re

    try:
        return [re.compile(one, re.IGNORECASE) for one in given]
    except re.error as error:
        hint = f"to match {' '.join('.*+?()[')} literally, put a backslash before them"
        raise ReflectError(f"{option} is not a regular expression: {error.msg}", hint, "usage", EXIT_USAGE) from None


def _project(front: Front, store: Store, text: str) -> str:
    """Return the key of the project that a folder is in. A plain name such as `app` is returned unchanged."""
    if os.sep not in text and text not in (".", ".."):
        return text
    from reflect_git.rules.project_files import place

    found = place(store, front.env, os.path.abspath(os.path.expanduser(text))).project
    return found["key"] if found else text


def _tell(front: Front, store: Store, found: Iterator[Entry], patch: bool, oneline: bool) -> bool:
    """Print the entries; return whether there were any."""
    from reflect_git.cli.output.candidate_view import width

    room, is_first = width(), True
    for block in iter(lambda: list(islice(found, _PATCHES_AT_ONCE if patch else 1)), []):
        patches = _patches(front, store, block) if patch else {}
        for entry in block:
            if not is_first and not oneline:
                front.out()
            is_first = False
            for line in islice(_lines(entry, front.everywhere, room), 1 if oneline else None):
                front.out(line)
            if patches.get(entry.commit):
                front.out()
                front.out(patches[entry.commit])
    return not is_first


def _lines(entry: Entry, everywhere: Callable[[str], str], room: int) -> Iterator[str]:
    kind, what = entry.outcome
    kind = "said never" if any(made["kind"] == "never" for made in entry.made) else kind
    kind = "your commit" if kind == OTHER else "removed" if entry.removes else "moved" if entry.moves else kind
    text = f'"{entry.quote}"' if entry.quote else what
    shown = one_line(text, room - _INDENT - len(kind) - 2)
    colour = "yellow" if kind in _TAKEN else _COLOURS.get(kind) or _COLOURS.get(entry.type)
    yield f"{click.style(entry.commit[:10], fg='yellow')}  {click.style(kind, fg=colour)}  {shown}".rstrip()
    for facts in (*_where(entry, everywhere, room - _INDENT), *_why(entry), _who(entry)):
        for line in _wrapped(facts, room - _INDENT):
            yield " " * _INDENT + line


def _wrapped(text: str, room: int) -> list[str]:
    from reflect_git.cli.output.candidate_view import wrap

    return wrap(printable(text), room)


def _where(entry: Entry, everywhere: Callable[[str], str], room: int) -> Iterator[str]:
    """Yield the rule or signal, the file and its version; on one line if it fits."""
    target = entry.named("Target")
    identity = _learnings(entry) or (entry.what if entry.quote else "")
    version = f" v{entry.version}" if entry.version else ""
    place = entry.place or (entry.named("Project") or "").rpartition("/")[2]
    scope = f" in {place}" if place else " for all projects" if entry.is_global else ""
    others = len(entry.targets) - 1
    more = f" and {others} more" if others > 0 else ""
    into = f"→ {everywhere(target) if entry.is_global else target}{version}{scope}{more}" if target else ""
    together = f"{identity} {into}".strip()
    yield from [together] if columns(together) <= room else [identity, into]


def _learnings(entry: Entry) -> str:
    """Join the ids of all rules in a commit."""
    named = list(dict.fromkeys(entry.trailers.get("Learning-Id", ())))
    more = f" and {len(named) - _NAMED} more" if len(named) > _NAMED else ""
    return ", ".join(named[:_NAMED]) + more


def _why(entry: Entry) -> Iterator[str]:
    """Yield the replaced rules and the reason."""
    replaced = [made["subject"] for made in entry.made if made["kind"] == "superseded"]
    if replaced:
        yield f"replaces {', '.join(replaced)}"
    yield from dict.fromkeys(f"reason: {made['reason']}" for made in entry.made if made["reason"])


def _who(entry: Entry) -> str:
    from reflect_git.cli.output.history_view import ROADS, when

    road = ROADS.get(entry.road or "", "")
    person = " ".join(filter(None, (entry.by, road)))
    return ", ".join(filter(None, (when(entry.time), person, entry.named("Machine"))))


def _patches(front: Front, store: Store, block: list[Entry]) -> dict[str, str]:
    """Commit → what it changed in mirrors of targets, in the person's own colours; one process for all of them."""
    import sys

    from reflect_git.history.patches import patches

    return patches(store, [entry.commit for entry in block], front.uses_color(sys.stdout.isatty()))


# What git tells pagers that nobody has set up: quit if it fits, show colours, leave the screen.
_DEFAULTS = {"LESS": "FRX", "LV": "-c"}


@contextmanager
def paged(front: Front, store: Store) -> Iterator[None]:
    """Send the output of this block through the pager if stdout is a terminal."""
    program = _chosen(front.env, store) if sys.stdout.isatty() and not front.json else ""
    if program in ("", "cat") or not _is_there(front.env, program):
        yield
        return
    import shutil
    import subprocess

    color, size = front.color, shutil.get_terminal_size()
    front.color = "always" if front.uses_color(True) else "never"
    environment = {**_DEFAULTS, **front.env, "COLUMNS": str(size.columns)}
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
        _leave(terminal)
        _wait(child)
        front.color = color


def _chosen(env: Mapping[str, str], store: Store) -> str:
    """Find the pager as git does. GIT_PAGER is read here, because our git runs without the user's GIT_* variables."""
    chosen = env.get("GIT_PAGER")
    if chosen is not None:
        return chosen.strip()
    # Every git of ours is told to page nothing, and would answer `cat`; the later word counts.
    result = store.git.run("--paginate", "var", "GIT_PAGER", profile=SETTINGS, check=False)
    return result.out.decode("utf-8", "surrogateescape").strip()


def _is_there(env: Mapping[str, str], program: str) -> bool:
    """Return whether the pager is installed. A command that is more than a name is left to the shell."""
    import shutil

    name = program.split(maxsplit=1)[0]
    is_plain = all(c.isalnum() or c in "./-_+" for c in name)
    return not is_plain or shutil.which(name, path=env.get("PATH")) is not None


def _leave(terminal: int) -> None:
    """Close the pager's input. Ignore a broken pipe: the user quit early."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.stdout.flush()
    os.dup2(terminal, sys.stdout.fileno())
    os.close(terminal)


def _wait(child: Popen[bytes]) -> None:
    """Wait for the pager. A ^C belongs to the pager, which may be waiting for a key."""
    while True:
        try:
            child.wait()
            return
        except KeyboardInterrupt:
            continue
