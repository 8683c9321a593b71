"""What a person types: a key, a line, or a text in the editor of their choice."""

from __future__ import annotations

import os
import select
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from reflect_git.adapters.git import SETTINGS
from reflect_git.errors import ReflectError

if TYPE_CHECKING:
    from reflect_git.cli.front import Front
    from reflect_git.store.repository import Store

_END = b"\x04"
_ESCAPE = b"\x1b"
_LOOK_UP = 0.2
_REST_OF_KEY = 0.02  # an arrow key comes as several bytes at once


class Ended(Exception):
    """No more answers: ^D, or the terminal is gone."""


class Console:
    """Line prompts, as `git add -p` has them; one key without Enter where `interactive.singleKey` says so."""

    def __init__(self, front: Front, settings: Mapping[str, Sequence[str]]) -> None:
        self._front = front
        self._settings = settings
        self.single_key = self.setting("interactive.singlekey", "false").lower() in ("true", "yes", "on", "1", "")

    def setting(self, key: str, default: str = "") -> str:
        return self._settings.get(key, [default])[-1]

    def key(self, question: str) -> str:
        """What was typed: a letter; or `/words`, where lines are typed."""
        if not self.single_key:
            return self.line(question)
        with _unbuffered():
            self._ask(question)
            typed = _one_key()
        self._front.out(typed if typed.isprintable() else "")
        return typed

    def line(self, question: str) -> str:
        _forget_typed_ahead()
        self._ask(question)
        _wait_for_typing()
        typed = sys.stdin.readline()
        if not typed:
            self._front.out()
            raise Ended
        return typed.strip()

    def _ask(self, question: str) -> None:
        colored = click.style(self._front.folded(question, sys.stdout), fg="blue", bold=True)
        click.echo(colored, nl=False, color=self._front.uses_color(sys.stdout.isatty()))

    def edit(self, store: Store, text: str, advice: Sequence[str]) -> str:
        """The text as it was saved, without comment lines; empty if there is none."""
        sign = self.setting("core.commentchar", "#")
        sign = sign if len(sign) == 1 else "#"
        notes = "".join(f"{sign} {line}".rstrip() + "\n" for line in advice)
        saved = _edited(_editor(self._front.env, store), store.private_path(""), f"{text}\n\n{notes}")
        return "\n".join(line for line in saved.splitlines() if not line.startswith(sign)).strip()


def _forget_typed_ahead() -> None:
    """What was typed before the question was seen answers nothing: an approval is an answer to this very text."""
    import termios

    termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)


@contextmanager
def _unbuffered() -> Iterator[None]:
    """Keys come at once and unechoed; those typed ahead are forgotten here, too."""
    import termios
    import tty

    descriptor = sys.stdin.fileno()
    before = termios.tcgetattr(descriptor)
    tty.setcbreak(descriptor, termios.TCSAFLUSH)
    try:
        yield
    finally:
        termios.tcsetattr(descriptor, termios.TCSADRAIN, before)


def _wait_for_typing() -> None:
    """Looking up now and then: a ^C that comes right before a blocking read is seen only after it."""
    while not select.select([sys.stdin.fileno()], [], [], _LOOK_UP)[0]:
        pass


def _one_key() -> str:
    descriptor = sys.stdin.fileno()
    _wait_for_typing()
    typed = os.read(descriptor, 1)
    if typed in (b"", _END):
        raise Ended
    if typed == _ESCAPE or typed >= b"\x80":
        while select.select([descriptor], [], [], _REST_OF_KEY)[0]:
            typed += os.read(descriptor, 1)
    return typed.decode("utf-8", "replace").strip()


def _editor(env: Mapping[str, str], store: Store) -> str:
    """As git finds it. Our git takes no GIT_* variable of the person's along, so the first place is looked up here."""
    chosen = env.get("GIT_EDITOR")
    if chosen:
        return chosen
    result = store.git.run("var", "GIT_EDITOR", profile=SETTINGS, check=False)
    found = result.out.decode("utf-8", "surrogateescape").strip()
    if result.code or not found:
        raise ReflectError("there is no editor", "set one: git config --global core.editor NAME", code="editor")
    return found


def _edited(editor: str, folder: str, text: str) -> str:
    """The name ends as a Markdown file does, so that an editor knows what it is."""
    import subprocess
    import tempfile  # with all that it can unpack 10 ms, and most answers are a key

    descriptor, path = tempfile.mkstemp(prefix="edit-", suffix=".md", dir=folder)
    try:
        with open(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
        sys.stdout.flush()
        # Through the shell, as git runs it: `code --wait` is a program and its argument.
        code = subprocess.run(["/bin/sh", "-c", f'{editor} "$@"', editor, path], check=False).returncode
        if code:
            raise ReflectError(f"the editor '{editor}' ended with {code}", "nothing was changed", code="editor")
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    finally:
        os.unlink(path)
