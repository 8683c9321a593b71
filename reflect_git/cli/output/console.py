"""Input from a person: a key, a line, or a text from their editor."""

from __future__ import annotations

import os
import select
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from reflect_git.cli.context import printable
from reflect_git.errors import ReflectError
from reflect_git.platform.git import SETTINGS

if TYPE_CHECKING:
    from reflect_git.cli.context import CliContext
    from reflect_git.records.schema import Learning
    from reflect_git.rules.approve import Request
    from reflect_git.store.repository import Store

_CTRL_D = b"\x04"
_ESCAPE = b"\x1b"
_POLL_SECONDS = 0.2
_KEY_SECONDS = 0.02  # an arrow key comes as several bytes at once
_QUIET_SECONDS = (
    0.15  # "yes" and Enter at a single-key prompt is one answer: swallow the rest until nothing comes for so long
)
_ANSWER_WORDS = {"y": "yes", "n": "no"}
_WORD_LENGTH = 12
_WORD_SECONDS = 1.5  # seconds after a key in which a slow typist may still be finishing the word


class InputEnded(Exception):
    """No more answers: ^D, or the terminal is gone."""


class Console:
    """Read single keys without Enter, or lines where git's `interactive.singleKey` is set to false."""

    def __init__(self, cli: CliContext, settings: Mapping[str, Sequence[str]]) -> None:
        self._cli = cli
        self._settings = settings
        self.single_key = self.get_setting("interactive.singlekey", "true").lower() in ("true", "yes", "on", "1", "")
        self._rest_of_word, self._rest_deadline = (
            "",
            0.0,
        )  # letters that would only finish the word of the last answer, and until when

    def get_setting(self, key: str, default: str = "") -> str:
        return self._settings.get(key, [default])[-1]

    def read_key(self, question: str) -> str:
        """Read one key. Where lines are typed: a letter, 'yes', 'no', or `/words`."""
        if not self.single_key:
            typed = self.read_line(question)
            return next((key for key, word in _ANSWER_WORDS.items() if typed.lower() == word), typed)
        with _single_key_mode():
            self._print_question(question)
            typed = _read_one_key()
            while self._is_end_of_word(typed):
                typed = _read_one_key()
            self._rest_of_word, self._rest_deadline = _ANSWER_WORDS.get(typed, "")[1:], time.monotonic() + _WORD_SECONDS
            self._drop_typed_ahead()
        self._cli.print_line(typed if typed.isprintable() else "")
        return typed

    def expect_new_word(self) -> None:
        """Take the next key for an answer of its own: a `y` that was refused is often followed by `e`."""
        self._rest_of_word, self._rest_deadline = "", 0.0

    def _is_end_of_word(self, typed: str) -> bool:
        """Tell whether this key belongs to the "yes" or "no" that the last question was answered with."""
        if time.monotonic() > self._rest_deadline:
            return False
        if typed == "":  # Enter
            self._rest_deadline = 0.0
            return True
        if self._rest_of_word and typed == self._rest_of_word[0]:
            self._rest_of_word, self._rest_deadline = self._rest_of_word[1:], time.monotonic() + _WORD_SECONDS
            return True
        return False

    def _is_rest_of_word(self, typed: str) -> bool:
        """Tell whether a line only finishes the "yes" or "no" of the key before it, or is the Enter after that key."""
        is_rest = typed == self._rest_of_word if typed else time.monotonic() < self._rest_deadline
        self._rest_of_word, self._rest_deadline = "", 0.0
        return is_rest

    def _drop_typed_ahead(self) -> None:
        """Drop what follows a key at once, so that it does not answer the next question."""
        while select.select([sys.stdin.fileno()], [], [], _QUIET_SECONDS)[0]:
            dropped = os.read(sys.stdin.fileno(), 1)
            if not dropped:
                return
            if dropped.decode("utf-8", "replace") == self._rest_of_word[:1]:
                self._rest_of_word = self._rest_of_word[1:]

    def confirm(self, question: str) -> bool:
        """Ask a question that only `y` or `yes` answers with yes."""
        return self.read_key(f"{question} [y,n]? ") == "y"

    def confirm_first_word(self, text: str, deed: str) -> bool:
        """Have a person type the first word of a risky text: a key alone is pressed too easily."""
        word = get_first_word(text)
        return is_same_word(self.read_line(f"type the rule's first word, '{word}', to {deed}: "), word)

    def read_line(self, question: str) -> str:
        """Read a line. Ask again after a line that only finished the answer before it."""
        while True:
            _flush_input()
            self._print_question(question)
            _wait_for_input()
            typed = sys.stdin.readline()
            if not typed:
                self._cli.print_line()
                raise InputEnded
            if not self._is_rest_of_word(typed.strip()):
                return typed.strip()

    def _print_question(self, question: str) -> None:
        colored = click.style(self._cli.wrap_for_stream(question, sys.stdout), fg="blue", bold=True)
        click.echo(colored, nl=False, color=self._cli.uses_color(sys.stdout.isatty()))

    def edit_text(self, store: Store, text: str, advice: Sequence[str]) -> str:
        """Open the editor. Return the saved text without comment lines, or an empty text."""
        sign = self.get_setting("core.commentchar", "#")
        sign = sign if len(sign) == 1 else "#"
        advice = [line.replace("'#'", f"'{sign}'") if line in EDIT_ADVICE else line for line in advice]
        notes = "".join(f"{sign} {line}".rstrip() + "\n" for line in advice)
        saved = _run_editor(_find_editor(self._cli.env, store), store.private_path(""), f"{text}\n\n{notes}")
        return "\n".join(line for line in saved.splitlines() if not line.startswith(sign)).strip()


def is_same_word(typed: str, word: str) -> bool:
    """Return whether a person typed this word, whatever the case and the form of its accents."""
    import unicodedata  # few rules are risky

    return unicodedata.normalize("NFC", typed.strip()).casefold() == unicodedata.normalize("NFC", word).casefold()


def get_first_word(text: str) -> str:
    """Return the first word of a rule as a person would type it: without bullets, quotes and punctuation around it.

    Cut after 12 characters, since some languages put no spaces between words.
    """
    for word in text.split():
        said = [at for at, char in enumerate(word) if char.isalnum()]
        if said:
            return printable(word[said[0] : said[-1] + 1][:_WORD_LENGTH])
    return "yes"


def _flush_input() -> None:
    """Drop keys typed before the question appeared: an approval must answer the text on the screen."""
    import termios

    termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)


@contextmanager
def _single_key_mode() -> Iterator[None]:
    """Read keys at once and without echo; drop those typed ahead."""
    import termios
    import tty

    descriptor = sys.stdin.fileno()
    before = termios.tcgetattr(descriptor)
    tty.setcbreak(descriptor, termios.TCSAFLUSH)
    try:
        yield
    finally:
        termios.tcsetattr(descriptor, termios.TCSADRAIN, before)


def _wait_for_input() -> None:
    """Wait for input in short steps: a ^C right before a blocking read would be noticed only after it."""
    while not select.select([sys.stdin.fileno()], [], [], _POLL_SECONDS)[0]:
        pass


def _read_one_key() -> str:
    descriptor = sys.stdin.fileno()
    _wait_for_input()
    typed = os.read(descriptor, 1)
    if typed in (b"", _CTRL_D):
        raise InputEnded
    if typed == _ESCAPE or typed >= b"\x80":
        while select.select([descriptor], [], [], _KEY_SECONDS)[0]:
            typed += os.read(descriptor, 1)
    return typed.decode("utf-8", "replace").strip()


def _find_editor(env: Mapping[str, str], store: Store) -> str:
    """Find the editor as git does. GIT_EDITOR is read here, because our git runs without the user's GIT_* variables."""
    chosen = env.get("GIT_EDITOR")
    if chosen:
        return chosen
    result = store.git.run("var", "GIT_EDITOR", profile=SETTINGS, check=False)
    found = result.out.decode("utf-8", "surrogateescape").strip()
    if result.code or not found:
        raise ReflectError("no editor found", "set one: git config --global core.editor NAME", code="editor")
    return found


def edit_file(env: Mapping[str, str], store: Store, path: str) -> None:
    """Open a file in the editor of the person."""
    _open_editor(_find_editor(env, store), path)


def _run_editor(editor: str, folder: str, text: str) -> str:
    """Open a temporary file in the editor and return its text. The suffix `.md` tells the editor the format."""
    import tempfile  # with all that it can unpack 10 ms, and most answers are a key

    descriptor, path = tempfile.mkstemp(prefix="edit-", suffix=".md", dir=folder)
    try:
        with open(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
        _open_editor(editor, path)
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    finally:
        os.unlink(path)


def _open_editor(editor: str, path: str) -> None:
    """Open a file in an editor and wait until it is closed."""
    import subprocess

    sys.stdout.flush()
    # Through the shell, as git runs it: `code --wait` is a program and its argument.
    code = subprocess.run(["/bin/sh", "-c", f'{editor} "$@"', editor, path], check=False).returncode
    if code:
        raise ReflectError(f"the editor '{editor}' exited with {code}", "nothing was changed", code="editor")


EDIT_ADVICE = (
    "Lines starting with '#' are ignored. Leave it empty to change nothing.",
    "Claude follows one to three short sentences best.",
)
_FIELD_NAMES = {"Title": "title", "Impact": "impact", "Details": "details", "Suggested action": "action"}


def get_improvement_fields(learning: Learning) -> dict[str, str]:
    """Return the fields of an improvement; empty for a rule."""
    kept = learning["meta"].get("improvement")
    if not isinstance(kept, dict):
        return {}
    return {"title": learning["title"], **{name: str(kept.get(name, "")) for name in ("impact", "details", "action")}}


def format_fields(fields: Mapping[str, str]) -> str:
    return "\n".join(f"{name}: {' '.join(fields[field].split())}" for name, field in _FIELD_NAMES.items())


def parse_fields(text: str) -> dict[str, str]:
    """Parse the edited fields. A line without a name continues the field above; a deleted field is empty."""
    found = dict.fromkeys(_FIELD_NAMES.values(), "")
    field = "title"
    for line in text.splitlines():
        name, colon, rest = line.partition(":")
        if colon and name.strip() in _FIELD_NAMES:
            field, line = _FIELD_NAMES[name.strip()], rest
        found[field] = f"{found[field]} {line.strip()}".strip()
    return found


def apply_fields(request: Request, text: str) -> Request:
    """Return the request with the edited fields."""
    found = parse_fields(text)
    return request._replace(
        title=found["title"], impact=found["impact"], details=found["details"], action=found["action"]
    )
