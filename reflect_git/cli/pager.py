"""Long answers through the person's own pager, chosen and set up as git does it."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

from reflect_git.adapters.git import SETTINGS

if TYPE_CHECKING:
    from subprocess import Popen

    from reflect_git.cli.front import Front
    from reflect_git.store.repository import Store

# What git tells pagers that nobody has set up: quit if it fits, show colours, leave the screen.
_DEFAULTS = {"LESS": "FRX", "LV": "-c"}


@contextmanager
def paged(front: Front, store: Store) -> Iterator[None]:
    """What is printed meanwhile goes to a terminal through the pager, and elsewhere as it is."""
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
    """As git finds it. Our git takes no GIT_* variable of the person's along, so the first place is looked up here."""
    chosen = env.get("GIT_PAGER")
    if chosen is not None:
        return chosen.strip()
    # Every git of ours is told to page nothing, and would answer `cat`; the later word counts.
    result = store.git.run("--paginate", "var", "GIT_PAGER", profile=SETTINGS, check=False)
    return result.out.decode("utf-8", "surrogateescape").strip()


def _is_there(env: Mapping[str, str], program: str) -> bool:
    """A pager that is not installed must not swallow the answer; what is more than a name is the shell's to judge."""
    import shutil

    name = program.split(maxsplit=1)[0]
    is_plain = all(c.isalnum() or c in "./-_+" for c in name)
    return not is_plain or shutil.which(name, path=env.get("PATH")) is not None


def _leave(terminal: int) -> None:
    """The pager gets the end of its input; whoever quit it early wanted no more."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.stdout.flush()
    os.dup2(terminal, sys.stdout.fileno())
    os.close(terminal)


def _wait(child: Popen[bytes]) -> None:
    """A ^C is for the pager, which may be waiting for a key."""
    while True:
        try:
            child.wait()
            return
        except KeyboardInterrupt:
            continue
