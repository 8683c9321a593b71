"""A terminal wraps prose between words, but not text to be copied; pipes and files get no wrapping."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import click
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reflect_git.cli.context import display_width
from reflect_git.cli.output.wrap import wrap_text
from tests.conftest import REPO, RunCli
from tests.rules.queues import capture_signal
from tests.store.store_checks import open_store
from tests.stories.terminal import Terminal

PROSE = "the store is on another branch than main, and what is decided meanwhile waits until it is back"


def test_lines_end_between_words() -> None:
    assert wrap_text(PROSE, 40).split("\n") == [
        "the store is on another branch than", "main, and what is decided meanwhile", "waits until it is back",
    ]  # fmt: skip
    assert wrap_text("short", 40) == "short"


def test_lines_below_are_indented_like_the_first_or_as_told() -> None:
    assert {line[:4] for line in wrap_text(f"    {PROSE}", 40).split("\n")} == {"    "}
    assert wrap_text("capture  none, for there are no hooks", 24, 9).split("\n") == [
        "capture  none, for there", "         are no hooks",
    ]  # fmt: skip


@pytest.mark.parametrize(
    "whole",
    [
        "'reflect-git config capture.unattended all'", "('git -C /a/long/way/to/somewhere status')",
        "`npm install --save-dev something-long`", "'a folder/with blanks in its/name',",
    ],
)  # fmt: skip
def test_what_stands_in_quotes_is_not_broken(whole: str) -> None:
    assert whole in wrap_text(f"it is told here to see {whole} and nothing else", 30).split("\n")


@pytest.mark.parametrize(
    "command",
    [
        "reflect-git approve SIG-20260211-7k3v9q2m --to project --supersedes LRN-20260211-4c8d2a1f",
        "git -C '/a/folder with/blanks' switch main", 'eval "$(reflect-git completion bash)"',
    ],
)  # fmt: skip
def test_a_command_behind_a_colon_is_not_broken(command: str) -> None:
    assert wrap_text(f"hint: to have it so:  {command}", 24).split("\n")[-1] == command
    then = wrap_text(f"hint: to have it so: {command}; and some more words behind it", 24).split("\n")
    assert f"{command};" in then and then[-1].endswith("behind it")


def test_a_command_in_a_column_of_its_own_is_not_broken() -> None:
    assert wrap_text("take it back  reflect-git revert LRN-20260211-4c8d2a1f", 30, 14).split("\n")[-1].strip() == (
        "reflect-git revert LRN-20260211-4c8d2a1f"
    )


def test_an_apostrophe_opens_nothing() -> None:
    assert all(
        len(line) <= 20 for line in wrap_text("it's Claude's own way, the users' one and 'tis fine", 20).split("\n")
    )


def test_colours_take_no_room() -> None:
    styled = click.style("error: ", fg="red", bold=True) + PROSE
    assert click.unstyle(wrap_text(styled, 40)) == wrap_text(f"error: {PROSE}", 40)


_PARTS = st.sampled_from(["a", "b", " ", "'", "`", ":", ";", "語", "\n", " git ", "rm ", "\x1b[33m", "\x1b[0m"])


@given(st.lists(_PARTS, max_size=60).map("".join), st.integers(4, 30), st.integers(0, 12))
def test_nothing_is_lost_and_nothing_is_broken_twice(text: str, room: int, hang: int) -> None:
    once = wrap_text(text, room, hang)
    assert once.split() == text.split()
    assert wrap_text(once, room) == once


@given(st.text(st.sampled_from("ab 語"), max_size=60), st.integers(4, 30))
def test_only_a_word_is_wider_than_the_terminal(text: str, room: int) -> None:
    assert all(display_width(line) <= room or len(line.split()) == 1 for line in wrap_text(text, room).split("\n"))


def test_a_terminal_gets_whole_words_and_a_pipe_whole_lines(run_cli: RunCli, home: Path) -> None:
    piped = run_cli("status", cwd=home, env={"COLUMNS": "40"})
    assert len(piped.err.splitlines()) == 1, "a hint is one line"
    with Terminal("status", cwd=home, env={"COLUMNS": "40"}) as terminal:
        seen = terminal.ends().replace("\r", "").splitlines()
    assert "'reflect-git enable' or install" in " ".join(seen)
    assert " ".join(" ".join(seen).split()) == " ".join((piped.out + piped.err).split())
    assert len(seen) > 3 and any("'reflect-git enable'" in line for line in seen)


def test_a_text_is_broken_at_a_terminal_alone(run_cli: RunCli, home: Path, store_home: Path) -> None:
    text = f"never say that {PROSE}, whatever-it-is-that-the-user-has-on-the-other-branch"
    shop = home / "shop"
    shop.mkdir()
    for verb in (("show", capture_signal(open_store(store_home), text)), ("candidates",)):
        assert f"    {text}\n".lower() in run_cli(*verb, cwd=shop, env={"COLUMNS": "40"}).out.lower()
        with Terminal(*verb, cwd=shop, env={"COLUMNS": "40"}) as terminal:
            seen = terminal.ends().replace("\r", "").lower()
        assert wrap_text(f"    {text}", 40).lower() in seen


def test_a_question_is_broken_between_words_and_a_no_is_no_error(run_cli: RunCli, home: Path) -> None:
    run_cli("init", cwd=home)
    with Terminal("config", "reflect.approval", "unattended", cwd=home, env={"COLUMNS": "40"}) as terminal:
        assert terminal.passes("set reflect.approval to unattended?\n[y/N]:")
        terminal.types("n")
        terminal.exits_with("nothing was changed", 1)


def test_what_is_shown_as_it_is_stays_so(run_cli: RunCli, home: Path) -> None:
    """A diff beside the answer, and messages while the answer is JSON."""
    words = ("enable", "--dry-run")
    diff = [line for line in run_cli(*words, cwd=home).err.splitlines() if line.startswith("+")]
    with Terminal(*words, cwd=home, env={"COLUMNS": "40"}) as terminal:
        assert set(diff) <= set(terminal.ends().replace("\r", "").splitlines())
    assert max(map(len, diff)) > 40


def test_a_line_that_fits_loads_nothing_for_it() -> None:
    program = "import os, sys\nfrom reflect_git.cli.context import CliContext\nCliContext(os.environ).print_note('x')\n"
    program += "print([name for name in ('reflect_git.cli.output.wrap', 'textwrap', 're') if name in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", f"import sys; sys.path.insert(0, {str(REPO)!r})\n{program}"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout == "[]\n"


@pytest.mark.parametrize(
    "told, whole",
    [
        ("hint: remove it: rm '/srv/some where/lamp'", "rm '/srv/some where/lamp'"),
        ("run 'reflect-git --store '/srv/my lamp' purge LRN-1' so", "'reflect-git --store '/srv/my lamp' purge LRN-1'"),
        ("undo with: reflect-git config k 'a; b c'", "reflect-git config k 'a; b c'"),
    ],
)  # fmt: skip
def test_what_can_be_copied_stays_whole(told: str, whole: str) -> None:
    assert whole in wrap_text(told, 12).split("\n")


def test_the_name_of_a_row_and_what_failed_are_no_commands() -> None:
    assert wrap_text("note  git  2.39 is old and known for it", 20, 11).split("\n")[0] == "note  git  2.39 is"
    assert wrap_text("error: git fetch failed for some reason", 20).split("\n")[0] == "error: git fetch"


@pytest.mark.parametrize("text", ["'word " * 16000, " " * 64000 + "x", "git " * 16000, "a: git `b " * 8000])
def test_a_text_from_elsewhere_takes_no_time(text: str) -> None:
    begun = time.process_time()
    wrap_text(text, 80)
    assert time.process_time() - begun < 2


@pytest.mark.parametrize("width", [30, 40, 80, 100, 200])
def test_the_list_of_settings_breaks_no_word(run_cli: RunCli, home: Path, store_home: Path, width: int) -> None:
    assert run_cli("init").code == 0
    piped = run_cli("config", cwd=home, env={"COLUMNS": str(width)}).out
    with Terminal("config", cwd=home, env={"COLUMNS": str(width)}) as terminal:
        seen = click.unstyle(terminal.ends().replace("\r", ""))
    assert seen.split() == piped.split()
    longest = max(map(display_width, seen.split()))
    assert all(display_width(line) <= max(width, longest) for line in seen.splitlines())
    assert all(line.startswith(("reflect.", "    ")) for line in seen.splitlines()[1:])
    assert (len(seen.splitlines()) == len(piped.splitlines())) == (width >= 130)
