"""Features of every command: help, global options, one-line errors, colours, exit codes."""

from __future__ import annotations

import errno
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from reflect_git.cli.app import COMMANDS, handle_error
from reflect_git.cli.context import CliContext, display_width, format_duration, one_line, printable
from reflect_git.platform.git import GitMissing, find_git
from tests.conftest import REPO, RunCli

FOREIGN = ("git", "gitdb", "ruamel")
LOADED = """
import json, sys
from reflect_git.cli.app import main
try:
    main(sys.argv[1:])
finally:
    print(json.dumps(sorted(sys.modules)), file=sys.stderr)
"""


def _modules_after(*args: str, env: dict[str, str] | None = None) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-c", LOADED, *args],
        env={**os.environ, "PYTHONPATH": str(REPO), **(env or {})},
        capture_output=True,
        text=True,
        check=False,
    )
    return set(json.loads(done.stderr.splitlines()[-1]))


@pytest.mark.parametrize("args", [("--help",), ("--version",), ("-h",)])
def test_help_and_version_load_no_verb_and_no_library(args: tuple[str, ...]) -> None:
    loaded = _modules_after(*args)
    verbs = {name for name in loaded if name.startswith("reflect_git.cli.commands.")}
    assert (verbs, loaded & set(FOREIGN), "reflect_git.store" in loaded) == (set(), set(), False)


def test_completing_a_verb_loads_no_verb() -> None:
    words = {"_REFLECT_GIT_COMPLETE": "bash_complete", "COMP_WORDS": "reflect-git sig", "COMP_CWORD": "1"}
    loaded = _modules_after(env=words)
    assert {name for name in loaded if name.startswith("reflect_git.cli.commands.")} == set()


def test_completing_an_option_loads_no_library() -> None:
    words = {"_REFLECT_GIT_COMPLETE": "bash_complete", "COMP_WORDS": "reflect-git show --", "COMP_CWORD": "2"}
    loaded = _modules_after(env=words)
    assert loaded & set(FOREIGN) == set()
    assert "reflect_git.cli.commands.show" in loaded


def test_help_fits_one_screen_and_names_every_verb(run_cli: RunCli) -> None:
    result = run_cli("--help")
    lines = result.out.splitlines()
    assert result.code == 0
    assert len(lines) <= 45
    assert max(map(len, lines)) <= 80
    verbs = {verb for verb, (group, _) in COMMANDS.items() if group != "Plumbing"}
    assert verbs <= set(re.findall(r"[a-z-]+", result.out))
    explained = {topic: run_cli("help", topic).out for topic in ("all", "plumbing")}
    assert {verb for verb in COMMANDS if f"\n  {verb} " in explained["all"]} == verbs
    assert {verb for verb in COMMANDS if f"\n  {verb} " in explained["plumbing"]} == set(COMMANDS) - verbs


def test_help_answers_as_its_option_does(run_cli: RunCli) -> None:
    assert run_cli("help").out == run_cli("--help").out
    assert run_cli("help", "stats").out == run_cli("stats", "--help").out
    assert "--color [auto|always|never]" in run_cli("help", "options").out
    unknown = run_cli("help", "singals")
    assert (unknown.code, "did you mean 'signals'?" in unknown.err) == (2, True)


@pytest.mark.parametrize("verb", ["init", "capture", "signals", "show", "stats", "completion"])
def test_every_verb_has_help_that_fits_one_screen(run_cli: RunCli, verb: str) -> None:
    result = run_cli(verb, "--help")
    assert (result.code, result.err) == (0, "")
    assert len(result.out.splitlines()) <= 40


def test_the_help_of_all_fits_one_screen_of_80_by_42(run_cli: RunCli) -> None:
    lines = run_cli("--help", env={"COLUMNS": "80"}).out.splitlines()
    assert len(lines) <= 42
    assert max(map(len, lines)) <= 80
    assert lines[4:6] == ["Examples:", "  reflect-git review            review proposed rules"]


@pytest.mark.parametrize(
    ("args", "message", "hint"),
    [
        (("singals",), "'singals' is not a reflect-git command", "did you mean 'signals'?"),
        (("stauts",), "'stauts' is not a reflect-git command", "did you mean 'status'?"),
        (("redo",), "'redo' is not a reflect-git command", "run 'reflect-git undo' again to redo"),
        (("remote", "sett"), "'sett' is not a command of 'reflect-git remote'", "did you mean 'set'?"),
        (("remote", "add"), "'add' is not a command of 'reflect-git remote'", "one of: set, remove"),
        (("import", "automemory"), "'automemory' is not a command of 'reflect-git import'", "did you mean 'auto-mem"),
        (("xyzzy",), "'xyzzy' is not a reflect-git command", "see 'reflect-git --help'"),
        (("signals", "--jsno"), "there is no option '--jsno'", "did you mean '--json'?"),
        (("stats", "--zebra"), "there is no option '--zebra'", "see 'reflect-git stats --help'"),
        (("signals", "--status", "done"), "'done' is not a status", "one of: captured, analyzed, promoted"),
        (("signals", "-n", "0"), "invalid value for '-n' / '--limit': 0 is not in the range x>=1", "see 'reflect-git"),
        (("signals", "--since", "soon"), "'soon' is not a time", "write 2026-02-11"),
        (("show",), "'ID|COMMIT' is missing", "see 'reflect-git show --help'"),
        (("capture", "--content", "x"), "'--type' is missing", "see 'reflect-git capture --help'"),
        (("stats", "more"), "got unexpected extra argument", "see 'reflect-git stats --help'"),
        (("--color", "pink", "stats"), "invalid value for '--color'", "see 'reflect-git --help'"),
    ],
)
def test_what_was_not_understood_is_one_sentence_and_a_hint(
    run_cli: RunCli, store_home: Path, args: tuple[str, ...], message: str, hint: str
) -> None:
    spoken, written = run_cli(*args), run_cli(*args, "--json")
    first, second, *rest = spoken.err.splitlines()
    assert (spoken.code, spoken.out, rest) == (2, "", [])
    assert first.startswith(f"error: {message}")
    assert second.startswith(f"hint: {hint}")
    error = written.json()["error"]
    assert (written.code, written.err, error["code"]) == (2, "", "usage")
    assert error["message"].startswith(message)
    assert error["hint"].startswith(hint)


def test_json_goes_before_and_after_the_verb(run_cli: RunCli, store_home: Path) -> None:
    before, after = run_cli("--json", "stats"), run_cli("stats", "--json")
    assert before.out == after.out
    assert before.json() == {
        "schema_version": 1,
        "data": {"total": 0, "summaries": 0, "status": {}, "type": {}, "category": {}, "learnings": 0},
    }


def test_json_as_the_value_of_an_option_is_a_value(run_cli: RunCli, store_home: Path) -> None:
    result = run_cli("capture", "--type", "command", "--content", "--json")
    assert (result.code, result.out.startswith("stored SIG-")) == (0, True)


def test_store_option_chooses_the_store(run_cli: RunCli, home: Path, store_home: Path) -> None:
    other = home / "elsewhere"
    assert run_cli("--store", str(other), "init").code == 0
    assert (other / ".git").is_dir()
    assert not store_home.exists()


def test_a_file_in_place_of_a_folder_is_told_without_a_traceback(run_cli: RunCli, home: Path) -> None:
    (home / ".claude").write_text("not a folder")
    for args in (("init",), ("capture", "--type", "gotcha", "--content", "x")):
        result = run_cli(*args)
        assert (result.code, result.out) == (1, "")
        assert result.err.startswith(f"error: not a directory '{home}/.claude")
        assert "Traceback" not in result.err


def test_a_foreign_folder_is_refused(run_cli: RunCli, home: Path) -> None:
    (home / "full").mkdir()
    (home / "full" / "letter.txt").write_text("mine")
    result = run_cli("--store", str(home / "full"), "--json", "init")
    assert (result.code, result.json()["error"]["code"]) == (1, "store-foreign")
    assert os.listdir(home / "full") == ["letter.txt"]


def test_a_bug_is_a_sentence_with_a_report(run_cli: RunCli, home: Path, tmp_path: Path) -> None:
    site = tmp_path / "sitecustomize.py"
    site.write_text(
        "import reflect_git.capture.service\nreflect_git.capture.service.open_recovered_store = lambda *a, **k: 1 / 0\n"
    )
    result = run_cli("stats", env={"PYTHONPATH": f"{tmp_path}{os.pathsep}{REPO}", "TMPDIR": str(tmp_path)})
    report = next(tmp_path.glob("reflect-git-bug-*.log"))
    assert result.code == 3
    assert result.err.splitlines()[0] == "error: bug: ZeroDivisionError: division by zero"
    assert str(report) in result.err
    assert "Traceback" in report.read_text()
    assert "Traceback" not in result.err


@pytest.mark.parametrize(
    ("place", "helps"), [("", True), ("/.git/index", True), ("/..", True), ("/../../shop/CLAUDE.md", False)]
)
@pytest.mark.parametrize("number", [errno.EPERM, errno.EROFS])
def test_another_store_is_advised_for_what_is_of_the_store(
    store_home: Path, capsys: pytest.CaptureFixture[str], place: str, helps: bool, number: int
) -> None:
    refused = OSError(number, os.strerror(number), os.path.normpath(f"{store_home}{place}"))
    assert handle_error(CliContext(os.environ), refused, []) == 1
    assert ("or choose another --store" in capsys.readouterr().err) is helps


def test_an_interruption_ends_with_130(run_cli: RunCli, home: Path, tmp_path: Path) -> None:
    site = tmp_path / "sitecustomize.py"
    site.write_text(
        "import reflect_git.capture.service\ndef stop(*a, **k): raise KeyboardInterrupt\n"
        "reflect_git.capture.service.open_recovered_store = stop\n"
    )
    env = {"PYTHONPATH": f"{tmp_path}{os.pathsep}{REPO}"}
    stopped = run_cli("stats", env=env)
    assert (stopped.code, stopped.out, stopped.err) == (130, "", "\ninterrupted\n"), "a person's wish is no error"
    written = run_cli("stats", "--json", env=env)
    assert (written.code, written.json()["error"]["code"]) == (130, "interrupted")


def test_a_reader_that_leaves_early_is_no_failure(run_cli: RunCli, store_home: Path) -> None:
    run_cli("capture", "--type", "command", "--content", "x")
    command = [sys.executable, "-m", "reflect_git.cli.start", "signals", "--json"]
    env = {**os.environ, "PYTHONPATH": str(REPO), "PYTHONSAFEPATH": "1"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env) as child:
        assert child.stdout and child.stderr
        child.stdout.close()
        assert child.stderr.read() == b""
    assert child.returncode == 0


@pytest.mark.parametrize(
    ("args", "env", "colored"),
    [
        ((), {}, False),
        (("--color", "always"), {}, True),
        (("--color", "always"), {"NO_COLOR": "1"}, True),
        ((), {"CLICOLOR_FORCE": "1"}, True),
        ((), {"CLICOLOR_FORCE": "0"}, False),
        ((), {"CLICOLOR_FORCE": "1", "NO_COLOR": "1"}, False),
        (("--color", "never"), {"CLICOLOR_FORCE": "1"}, False),
    ],
)
def test_colour_is_asked_for(
    run_cli: RunCli, store_home: Path, args: tuple[str, ...], env: dict[str, str], colored: bool
) -> None:
    run_cli("capture", "--type", "command", "--content", "x")
    listed, failed = run_cli(*args, "signals", env=env), run_cli(*args, "show", "nothing", env=env)
    assert ("\x1b[" in listed.out, "\x1b[" in failed.err) == (colored, colored)


def test_a_terminal_of_another_alphabet_gets_escapes(run_cli: RunCli, store_home: Path) -> None:
    run_cli("capture", "--type", "command", "--content", "größe 日本 " * 40)
    env = {"PYTHONUTF8": "0", "PYTHONIOENCODING": "latin-1"}
    spoken, written = run_cli("signals", env=env), run_cli("signals", "--json", env=env)
    assert (spoken.code, "\\u65e5\\u672c" in spoken.out) == (0, True)
    assert written.json()["data"][0]["content"].startswith("größe 日本")


def test_git_is_looked_for_in_absolute_folders_outside_the_project(tmp_path: Path) -> None:
    project, tools = tmp_path / "project", tmp_path / "tools"
    for folder in (project / "bin", tools):
        folder.mkdir(parents=True)
        (folder / "git").write_text("#!/bin/sh\n")
        (folder / "git").chmod(0o755)
    path = os.pathsep.join((".", "bin", str(project / "bin"), str(tools)))
    assert find_git(path, str(project)) == str(tools / "git")


def test_no_git_anywhere_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("reflect_git.platform.git._DEFAULT_FOLDERS", ())
    with pytest.raises(GitMissing) as caught:
        find_git(str(tmp_path))
    assert (caught.value.code, caught.value.exit_code) == ("git-missing", 1)
    assert caught.value.hint


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b]52;c;aGk=\x07", "<U+001B>]52;c;aGk=<U+0007>"),
        ("a\rb", "a<U+000D>b"),
        ("a\tb", "a    b"),
        ("\u202eevil", "<U+202E>evil"),
        ("\U000e0041", "<U+E0041>"),
        ("\udcff", "<U+DCFF>"),
        ("naïve 日本 🧭", "naïve 日本 🧭"),
    ],
)
def test_what_acts_on_a_terminal_is_spelled_out(text: str, shown: str) -> None:
    assert printable(text) == shown


@pytest.mark.parametrize(
    ("text", "width", "line"),
    [
        ("one two", 10, "one two"),
        ("one\n two", 10, "one two"),
        ("one two three", 8, "one two…"),
        ("日本語日本語", 7, "日本語…"),
    ],
)
def test_a_line_is_cut_to_the_columns_it_takes(
    monkeypatch: pytest.MonkeyPatch, text: str, width: int, line: str
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert one_line(text, width) == line
    assert display_width(line) <= width


@pytest.mark.parametrize(("columns", "is_cut"), [({}, False), ({"COLUMNS": "80"}, True)])
def test_what_goes_to_a_pipe_is_cut_nowhere(
    run_cli: RunCli, store_home: Path, columns: dict[str, str], is_cut: bool
) -> None:
    words = " ".join(f"word{number}" for number in range(40))
    run_cli("capture", "--type", "command", "--content", words)
    told = run_cli("signals", env=columns).out
    assert ("…" in told, words in told) == (is_cut, not is_cut)


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (3, "a moment"),
        (61, "1 minute"),
        (7300, "2 hours"),
        (90000, "1 day"),
        (10 * 86400, "10 days"),
        (1209600, "2 weeks"),
    ],
)
def test_ages_are_as_people_say_them(seconds: float, words: str) -> None:
    assert format_duration(seconds) == words


def test_envelope_of_errors_has_three_words(run_cli: RunCli, store_home: Path) -> None:
    document: dict[str, Any] = run_cli("show", "SIG-20200101-00000000", "--json").json()
    assert set(document) == {"schema_version", "error"}
    assert set(document["error"]) == {"code", "message", "hint"}


@pytest.mark.parametrize(("given", "expected"), [("133", 133), ("0", 80), ("wide", 80), (None, 80)])
def test_how_wide_the_terminal_is(monkeypatch: pytest.MonkeyPatch, given: str | None, expected: int) -> None:
    import shutil

    from reflect_git.cli.context import terminal_width

    monkeypatch.setenv("COLUMNS", given) if given else monkeypatch.delenv("COLUMNS", raising=False)
    monkeypatch.setattr("sys.__stdout__", None)
    assert terminal_width() == expected == shutil.get_terminal_size().columns
