"""`reflect-git mine`: what a transcript would give. Nothing is written."""

from __future__ import annotations

import os
from typing import Any

import click

from reflect_git import paths, workflow
from reflect_git.cli.front import Front, one_line, printable, terminal_width
from reflect_git.cli.options import json_option
from reflect_git.cli.telling import day
from reflect_git.errors import ReflectError


@click.command()
@click.argument("transcripts", metavar="TRANSCRIPT...", nargs=-1, required=True)
@click.option(
    "--all", "everything", is_flag=True, help="Also the messages that would not be captured, with their score."
)
@json_option
@click.pass_obj
def command(front: Front, transcripts: tuple[str, ...], everything: bool) -> None:
    """Show what one or more transcripts would give; nothing is written."""
    for path in transcripts:
        _require(path)
    _load_phrases(front)
    mined = workflow.mine(transcripts, paths.home_dir(front.env), everything)
    found: list[dict[str, Any]] = [{**signal, "transcript": path} for path, signal in mined]
    if front.json:
        front.data(found)
        return
    if not found:
        front.tell("nothing to learn from there")
    for signal in found:
        lasts = "lasting" if signal["meta"].get("durable") else "for now"
        if signal["meta"].get("captured") is False:
            head = f"{day(signal['timestamp'])}  {'not captured':<13}  {signal['meta']['score']:<8.2f}"
        else:
            head = f"{day(signal['timestamp'])}  {signal['type']:<11} {signal['confidence']}  {lasts:<8}"
        front.out(f"{head}  {one_line(signal['content'], max(20, terminal_width() - len(head) - 2))}")
    if not everything:
        front.talk("'--all' also lists the messages that would not be captured, each with its score")


def _require(path: str) -> None:
    if not os.path.exists(path):
        hint = "they are below ~/.claude/projects"
        raise ReflectError(f"there is no transcript '{path}'", hint, code="no-transcript")


def _load_phrases(front: Front) -> None:
    """Score with the user's own phrases, as hooks do; name a file that cannot be read, and go on without it."""
    store = front.store_if_any()
    try:
        if store is not None:
            workflow.load_phrases(store)
    except (ReflectError, OSError) as error:
        front.talk(printable(f"warning: reflect.phrases is not used: {error}"))
