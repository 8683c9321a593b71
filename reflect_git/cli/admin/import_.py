"""Run `reflect-git import` and `mine`."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import click

from reflect_git import paths
from reflect_git.candidates import import_sources
from reflect_git.capture import service, sessions
from reflect_git.capture.mine import get_size
from reflect_git.cli.context import CliContext, get_cwd, one_line, printable, terminal_width
from reflect_git.cli.options import SubcommandGroup, dry_run_option, json_option, yes_option
from reflect_git.cli.output import candidate_view
from reflect_git.cli.output.history_view import format_day
from reflect_git.errors import EXIT_USAGE, ReflectError
from reflect_git.records.ids import parse_utc, plural

if TYPE_CHECKING:
    from reflect_git.records.schema import Signal
    from reflect_git.store.repository import Store

_PROGRESS_DELAY = 1.0
_MAX_EXAMPLES = 10


@click.group(cls=SubcommandGroup, invoke_without_command=True)
@click.pass_context
def import_command(ctx: click.Context) -> None:
    """Import signals from past sessions or other tools."""
    if ctx.invoked_subcommand is None:
        raise ReflectError(
            "missing source", f"one of: transcripts, {', '.join(import_sources.KINDS)}", "usage", EXIT_USAGE
        )


@import_command.command()
@click.argument("path", metavar="[PATH]", required=False)
@click.option("--since", metavar="TIME", help="Only transcripts that changed since: 2026-02-11, 30d, 8w.")
@dry_run_option
@json_option
@click.pass_obj
def transcripts(cli: CliContext, path: str | None, since: str | None, dry_run: bool) -> None:
    """Import signals from past sessions of Claude Code: all of them, or one folder or file.

    You can stop it and run it again; nothing is captured twice. The lifetime of the signals starts today.
    """
    root = paths.projects_dir(cli.env)
    found = sessions.list_transcripts(path or root, parse_utc(service.parse_since(since)) if since else 0.0)
    if not found:
        when, hint = (f" that changed since {since}", "try an earlier --since") if since else ("", f"see '{root}'")
        raise ReflectError(f"no transcripts in '{path or root}'{when}", hint, "no-transcript")
    done = _ImportCounts()
    store = cli.find_store() if dry_run else cli.open_store()
    recorded = _list_recorded(cli, store) if store and not dry_run else frozenset()
    for transcript in _with_progress(found):
        try:
            _mine_transcript(cli, store, os.path.abspath(transcript), done, dry_run, recorded)
        except (ReflectError, OSError) as error:  # warn about an unreadable one and continue
            cli.print_note(click.style(printable(f"warning: {error}"), fg="yellow"))
    if store and not dry_run and path is None:
        sessions.record_import(store)
    if cli.json:
        cli.print_json({"transcripts": len(found), **asdict(done)})
        return
    _print_result(cli, len(found), done, dry_run)


def _import_signals(cli: CliContext, kind: str, path: str | None, dry_run: bool) -> None:
    store = cli.find_store() if dry_run else cli.open_store()
    got = import_sources.read_source(kind, cli.env, path or "", store, get_cwd())
    for why in got.left_out:
        cli.print_note(click.style(printable(f"warning: {why}"), fg="yellow"))
    made = import_sources.build_signals(kind, got.texts, store, cli.scan(store) if store else None, cli.env)
    if not dry_run and made and not cli.json:
        _print_signals(cli, made)
        if not cli.confirm(f"import {plural(len(made), 'signal')} for review?"):
            raise ReflectError("nothing was imported", code="declined")
    taken = import_sources.store_signals(store, made) if store and not dry_run else []
    if cli.json:
        cli.print_json({"found": len(got.texts), "new": len(made), "signals": taken, "left_out": got.left_out})
    elif dry_run and made:
        _print_signals(cli, made)
        cli.print_text(f"would import {plural(len(made), 'signal')}")
    elif taken:
        wait = "review it" if len(taken) == 1 else "review them"
        cli.print_text(f"imported {plural(len(taken), 'signal')}; {wait} with 'reflect-git review --all'")
    else:
        cli.print_text("nothing new to import")


def _print_signals(cli: CliContext, made: list[Signal]) -> None:
    for signal in made[:_MAX_EXAMPLES]:
        where = f"{signal['project']['name']}: " if signal["project"] else ""
        cli.print_line(f"  {one_line(where + signal['content'], candidate_view.text_width() - 2)}")
    if len(made) > _MAX_EXAMPLES:
        cli.print_text(f"  and {len(made) - _MAX_EXAMPLES} more")


def _register_source(kind: str, text: str) -> None:
    @import_command.command(kind, help=f"{text} The source is never changed.")
    @click.argument("path", metavar="[PATH]", required=False)
    @yes_option
    @dry_run_option
    @json_option
    @click.pass_obj
    def take_over(cli: CliContext, path: str | None, dry_run: bool) -> None:
        _import_signals(cli, kind, path, dry_run)


_register_source(import_sources.CLAUDE_REFLECT, "Import the queue of claude-reflect.")
_register_source(
    import_sources.CLAUDE_MEM,
    "Import what claude-mem observed in sessions, and its summaries, from its database.",
)
_register_source(
    import_sources.ECC,
    "Import what the continuous-learning skills of ECC learned: instincts and learned skills.",
)
_register_source(
    import_sources.AUTO_MEMORY,
    "Import the notes that Claude Code wrote by itself, for every project or from one folder.",
)
_register_source(import_sources.LEARNINGS_MD, "Import a LEARNINGS.md, or all Markdown files in a folder.")


@dataclass
class _ImportCounts:
    """`left_out` are those of sessions without a person."""

    new: int = 0
    signals: int = 0
    left_out: int = 0


def _list_recorded(cli: CliContext, store: Store) -> frozenset[str]:
    """Return the hashes of the sessions whose figures are stored."""
    records = cli.scan(store).other_records.values()
    return frozenset(one["session"] for one in records if one["id"].startswith("EXP-"))


def _mine_transcript(
    cli: CliContext, store: Store | None, path: str, done: _ImportCounts, dry_run: bool, recorded: frozenset[str]
) -> None:  # fmt: skip
    if dry_run:
        found, left_out = sessions.count_past_signals(store, cli.env, path)
    else:
        assert store is not None
        found, left_out = sessions.mine_past_transcript(store, cli.env, path, time.time(), recorded)
    done.signals += found
    done.left_out += left_out
    done.new += found > 0


def _with_progress(found: list[str]) -> Iterator[str]:
    """Yield each file and show a progress bar on a terminal after one second.

    The bar counts bytes, since sessions differ in size by a factor of 1,000.
    """
    if not sys.stderr.isatty():
        yield from found
        return
    began = time.monotonic()
    sizes = [get_size(path) for path in found]
    with click.progressbar(length=sum(sizes), label="mining", file=sys.stderr, width=30) as bar:
        for path, size in zip(found, sizes, strict=True):
            yield path
            if time.monotonic() - began > _PROGRESS_DELAY:
                bar.update(size)
            else:
                bar.pos += size


def _print_result(cli: CliContext, transcripts: int, done: _ImportCounts, dry_run: bool) -> None:
    files, signals = plural(transcripts, "transcript"), plural(done.signals, "signal")
    if dry_run:
        cli.print_text(f"would import {signals} from {files}")
    elif done.signals:
        cli.print_text(f"imported {signals} from {done.new} of {files}; list them with 'reflect-git signals'")
    else:
        cli.print_text(f"nothing new in {files}")
    if done.left_out:
        left = f"skipped {plural(done.left_out, 'signal')} of unattended sessions"
        cli.print_note(f"{left}; include them with 'reflect-git config capture.unattended all'")


@click.command()
@click.argument("transcripts", metavar="TRANSCRIPT...", nargs=-1, required=True)
@click.option("--all", "everything", is_flag=True, help="Also list messages that would not be captured, with scores.")
@json_option
@click.pass_obj
def mine_command(cli: CliContext, transcripts: tuple[str, ...], everything: bool) -> None:
    """Show the signals in transcripts; change nothing."""
    for path in transcripts:
        _require_transcript(path)
    _load_phrases(cli)
    mined = service.mine_transcripts(transcripts, paths.home_dir(cli.env), everything)
    found: list[dict[str, Any]] = [{**signal, "transcript": path} for path, signal in mined]
    if cli.json:
        cli.print_json(found)
        return
    if not found:
        cli.print_text("no signals found")
    for signal in found:
        lasts = "lasting" if signal["meta"].get("durable") else "for now"
        if signal["meta"].get("captured") is False:
            head = f"{format_day(signal['timestamp'])}  {'not captured':<13}  {signal['meta']['score']:<8.2f}"
        else:
            head = f"{format_day(signal['timestamp'])}  {signal['type']:<11} {signal['confidence']}  {lasts:<8}"
        cli.print_line(f"{head}  {one_line(signal['content'], max(20, terminal_width() - len(head) - 2))}")
    if not everything:
        cli.print_note("use --all to also list messages that would not be captured, with scores")


def _require_transcript(path: str) -> None:
    if not os.path.exists(path):
        hint = "transcripts are in ~/.claude/projects"
        raise ReflectError(f"no transcript at '{path}'", hint, code="no-transcript")


def _load_phrases(cli: CliContext) -> None:
    """Score with the user's own phrases, as hooks do; name a file that cannot be read, and go on without it."""
    store = cli.find_store()
    try:
        if store is not None:
            service.load_phrases(store)
    except (ReflectError, OSError) as error:
        cli.print_note(printable(f"warning: ignoring reflect.phrases: {error}"))
