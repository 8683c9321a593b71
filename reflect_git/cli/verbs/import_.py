"""`reflect-git import`: what was said before reflect-git was there."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from reflect_git import paths, workflow
from reflect_git.cli import portrait
from reflect_git.cli.front import Front, one_line, printable
from reflect_git.cli.options import Subverbs, dry_run_option, json_option, yes_option
from reflect_git.errors import EXIT_USAGE, ReflectError
from reflect_git.model.counts import plural
from reflect_git.model.ids import seconds_of
from reflect_git.sitting import importing
from reflect_git.workflow import sessions

if TYPE_CHECKING:
    from reflect_git.model.schema import Signal
    from reflect_git.store.repository import Store

_PATIENCE = 1.0
_EXAMPLES = 10


@click.group(cls=Subverbs, invoke_without_command=True)
@click.pass_context
def command(ctx: click.Context) -> None:
    """Bootstrap from what is already there."""
    if ctx.invoked_subcommand is None:
        raise ReflectError(
            "what is to be imported?", f"one of: transcripts, {', '.join(importing.KINDS)}", "usage", EXIT_USAGE
        )


@command.command()
@click.argument("path", metavar="[PATH]", required=False)
@click.option("--since", metavar="TIME", help="Only transcripts that changed since: 2026-02-11, 30d, 8w.")
@dry_run_option
@json_option
@click.pass_obj
def transcripts(front: Front, path: str | None, since: str | None, dry_run: bool) -> None:
    """Mine past transcripts of Claude Code: all of them, or a folder or file below its projects folder.

    May be stopped and run again: it goes on where it was, and nothing is captured twice. Signals live from today on.
    """
    root = paths.projects_dir(front.env)
    found = _transcripts(path or root, workflow.parse_since(since) if since else "")
    if not found:
        when, hint = (f" that changed since {since}", "take an earlier --since") if since else ("", f"see '{root}'")
        raise ReflectError(f"there is no transcript in '{path or root}'{when}", hint, "no-transcript")
    done = _Done()
    store = front.store_if_any() if dry_run else front.store()
    for transcript in _shown(found):
        try:
            _mine(front, store, os.path.abspath(transcript), done, dry_run)
        except (ReflectError, OSError) as error:  # one that cannot be read is told of and left out
            front.talk(click.style(printable(f"warning: {error}"), fg="yellow"))
    if front.json:
        front.data({"transcripts": len(found), **asdict(done)})
        return
    _say(front, len(found), done, dry_run)


def _take_over(front: Front, kind: str, path: str | None, dry_run: bool) -> None:
    store = front.store_if_any() if dry_run else front.store()
    got = importing.found(kind, front.env, path or "")
    for why in got.left_out:
        front.talk(click.style(printable(f"warning: {why}"), fg="yellow"))
    made = importing.signals(kind, got.kept, store, front.scan(store) if store else None, front.env)
    if not dry_run and made and not front.json:
        _list(front, made)
        if not front.confirm(f"import {plural(len(made), 'signal')}? nothing is approved by it"):
            raise ReflectError("nothing was imported", code="declined")
    taken = importing.take(store, made) if store and not dry_run else []
    if front.json:
        front.data({"found": len(got.kept), "new": len(made), "signals": taken, "left_out": got.left_out})
    elif dry_run and made:
        _list(front, made)
        front.tell(f"would import {plural(len(made), 'signal')}")
    elif taken:
        wait = "it waits" if len(taken) == 1 else "they wait"
        front.tell(f"{plural(len(taken), 'signal')} imported; {wait} in 'reflect-git review --all'")
    else:
        front.tell("nothing new there")


def _list(front: Front, made: list[Signal]) -> None:
    for signal in made[:_EXAMPLES]:
        where = f"{signal['project']['name']}: " if signal["project"] else ""
        front.out(f"  {one_line(where + signal['content'], portrait.width() - 2)}")
    if len(made) > _EXAMPLES:
        front.tell(f"  and {len(made) - _EXAMPLES} more")


def _register(kind: str, text: str) -> None:
    @command.command(kind, help=f"{text} The source is read and never written.")
    @click.argument("path", metavar="[PATH]", required=False)
    @yes_option
    @dry_run_option
    @json_option
    @click.pass_obj
    def take_over(front: Front, path: str | None, dry_run: bool) -> None:
        _take_over(front, kind, path, dry_run)


_register(importing.CLAUDE_REFLECT, "Take over the queue of claude-reflect.")
_register(importing.AUTO_MEMORY, "Take over what Claude Code noted by itself, of every project or of a folder.")
_register(importing.LEARNINGS_MD, "Take over a LEARNINGS.md, or all Markdown below a folder.")


def _transcripts(place: str, since: str) -> list[Path]:
    """Sessions, oldest first; what subagents wrote lies deeper and is no session of a person."""
    folder = Path(place)
    listed = [folder] if folder.is_file() else [*folder.glob("*.jsonl"), *folder.glob("*/*.jsonl")]
    dated = [(path.stat().st_mtime, path) for path in listed if path.is_file() and not path.is_symlink()]
    return [path for when, path in sorted(dated) if not since or when >= seconds_of(since)]


@dataclass
class _Done:
    """`left_out` are those of sessions without a person."""

    new: int = 0
    signals: int = 0
    left_out: int = 0


def _mine(front: Front, store: Store | None, path: str, done: _Done, dry_run: bool) -> None:
    if dry_run:
        found, left_out = sessions.preview(store, front.env, path)
    else:
        assert store is not None
        found, left_out = sessions.bootstrap(store, front.env, path, time.time())
    done.signals += found
    done.left_out += left_out
    done.new += found > 0


def _shown(found: list[Path]) -> Iterator[Path]:
    """With a bar on a terminal, from the second second on; measured in bytes, since sessions differ a thousandfold."""
    if not sys.stderr.isatty():
        yield from found
        return
    began = time.monotonic()
    sizes = [path.stat().st_size for path in found]
    with click.progressbar(length=sum(sizes), label="mining", file=sys.stderr, width=30) as bar:
        for path, size in zip(found, sizes, strict=True):
            yield path
            if time.monotonic() - began > _PATIENCE:
                bar.update(size)
            else:
                bar.pos += size


def _say(front: Front, transcripts: int, done: _Done, dry_run: bool) -> None:
    files, signals = plural(transcripts, "transcript"), plural(done.signals, "signal")
    if dry_run:
        front.tell(f"would mine {files}: {signals}")
    elif done.signals:
        front.tell(f"{signals} from {done.new} of {files}; see 'reflect-git signals'")
    else:
        front.tell(f"nothing new in {files}")
    if done.left_out:
        left = f"{plural(done.left_out, 'signal')} of sessions without a person left out"
        front.talk(f"{left}; after 'reflect-git config capture.unattended all' they are taken")
