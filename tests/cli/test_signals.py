"""`signals` lists signals, oldest first, and never lets a captured text control the terminal."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from reflect_git.cli.context import display_width
from tests.conftest import REAL_GIT, REPO, RunCli

HOSTILE = {
    "clipboard": "\x1b]52;c;ZXZpbA==\x07",
    "link": "\x1b]8;;https://evil.example\x1b\\click\x1b]8;;\x1b\\",
    "colour": "\x1b[2J\x1b[31mall clear",
    "overwrite": "rm -rf /\rls     ",
    "c1": "\x9b31m\x9d52;c;eA==\x9c",
    "bidi": "\u202etxt.exe",
    "backspace": "evil\x08\x08\x08\x08good",
}


def _store_py(run: str, home: Path) -> None:
    command = ["python3", "-I", "-S", str(REPO / "hooks" / "store.py"), "append", run]
    subprocess.run(command, env=dict(os.environ), cwd=home, check=True, capture_output=True)


@pytest.fixture
def three(run_cli: RunCli, home: Path, store_home: Path) -> list[str]:
    """Create an old failure, a later correction and a convention of today; return their ids, oldest first."""
    project = home / "shop"
    project.mkdir()
    subprocess.run([REAL_GIT, "init", "-q", str(project)], check=True)
    _store_py(
        '{"type": "failure", "content": "Bash failed: make", "trust": "tool_output", "session_id": "aaaa-1",'
        ' "tags": ["Bash", "make"], "timestamp": "2026-01-05T10:00:00Z"}',
        home,
    )
    _store_py(
        '{"type": "correction", "content": "not npm", "timestamp": "2026-01-06T10:00:00Z", "session_id": "bbbb-2",'
        f' "tags": ["Bash"], "project": "{project}"}}',
        home,
    )
    run_cli("capture", "--type", "convention", "--content", "lint first", "--session", "cccc-3")
    return [signal["id"] for signal in run_cli("signals", "--json").json()["data"]]


def _contents(run_cli: RunCli, *args: str, **more: Any) -> list[str]:
    return [signal["content"] for signal in run_cli("signals", "--json", *args, **more).json()["data"]]


@pytest.mark.parametrize(
    ("args", "contents"),
    [
        ((), ["Bash failed: make", "not npm", "lint first"]),
        (("--type", "correction"), ["not npm"]),
        (("--status", "captured"), ["Bash failed: make", "not npm", "lint first"]),
        (("--status", "promoted"), []),
        (("--since", "2026-01-06T00:00:00Z"), ["not npm", "lint first"]),
        (("--since", "1h"), ["lint first"]),
        (("--tag", "Bash"), ["Bash failed: make", "not npm"]),
        (("--tag", "Bash", "--tag", "make"), ["Bash failed: make"]),
        (("--session", "bbbb"), ["not npm"]),
        (("--project", "shop"), ["not npm"]),
        (("--project", "./shop"), ["not npm"]),
        (("-n", "2"), ["not npm", "lint first"]),
        (("--limit", "1", "--tag", "Bash"), ["not npm"]),
    ],
)
def test_filters(run_cli: RunCli, three: list[str], args: tuple[str, ...], contents: list[str]) -> None:
    assert _contents(run_cli, *args) == contents


def test_the_current_session(run_cli: RunCli, three: list[str]) -> None:
    found = _contents(run_cli, "--session", "current", env={"CLAUDE_CODE_SESSION_ID": "aaaa-1"})
    assert found == ["Bash failed: make"]
    assert run_cli("signals", "--session", "current").code == 2


def test_a_line_tells_what_is_not_as_usual(run_cli: RunCli, three: list[str]) -> None:
    lines = run_cli("signals", env={"COLUMNS": "120"}).out.splitlines()
    assert [line.split()[0] for line in lines] == three
    assert lines[0].endswith("failure     1  [tool] Bash failed: make")
    assert lines[2].split("  ")[1].strip() == "a moment"


def test_a_summary_of_a_session_is_not_said_to_be_claude_s_alone(run_cli: RunCli, home: Path, store_home: Path) -> None:
    goal = "add a date picker"
    _store_py(json.dumps({"type": "summary", "content": goal, "trust": "assistant", "meta": {"goal": goal}}), home)
    run_cli("capture", "--type", "summary", "--content", "all went well")
    mined, by_hand = run_cli("signals", env={"COLUMNS": "120"}).out.splitlines()
    assert mined.endswith("summary  1  [user and Claude] add a date picker")
    assert by_hand.endswith("summary  1  [Claude] all went well")
    words = [line for line in run_cli("show", mined.split()[0]).out.splitlines() if "words of" in line]
    assert [line.split("words of")[1].strip() for line in words] == ["user and Claude"]


def test_lines_fit_the_terminal(run_cli: RunCli, store_home: Path) -> None:
    run_cli("capture", "--type", "convention", "--content", "always use 日本語 " * 20)
    assert run_cli("signals", env={"COLUMNS": "80"}).out.split()[0] in run_cli("signals", "--json").out
    for width in ("80", "100", "200"):
        (line,) = run_cli("signals", env={"COLUMNS": width}).out.splitlines()
        assert display_width(line) <= int(width)
        assert line.endswith("…")


def test_nothing_is_one_sentence(run_cli: RunCli, store_home: Path) -> None:
    assert "no store at" in run_cli("signals").err
    assert run_cli("signals", "--json").out == '{"schema_version":1,"data":[]}\n'
    assert not store_home.exists(), "a command that reads made a store"
    run_cli("init")
    empty, filtered = run_cli("signals"), run_cli("signals", "--type", "summary")
    assert (empty.out, empty.err) == ("", "no signals yet\n")
    assert (filtered.out, filtered.err) == ("", "no matching signals\n")
    assert run_cli("signals", "--json").out == '{"schema_version":1,"data":[]}\n'


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_text_never_acts_on_a_terminal(run_cli: RunCli, store_home: Path, name: str) -> None:
    text = f"x {HOSTILE[name]} y"
    run_cli("capture", "--type", "failure", "--content", "-", "--context", "y", "--tag", text, stdin=text)
    (signal,) = run_cli("signals", "--json").json()["data"]
    assert signal["content"] == text
    shown = run_cli("signals", env={"COLUMNS": "400"}).out + run_cli("show", signal["id"]).out
    assert [char for char in shown if not char.isprintable() and char != "\n"] == []
    assert "<U+" in shown


def test_half_a_surrogate_pair_is_still_json(run_cli: RunCli, home: Path, store_home: Path) -> None:
    _store_py(r'{"type": "failure", "content": "odd \ud83d end"}', home)
    assert _contents(run_cli) == ["odd \ud83d end"]
    assert "<U+D83D>" in run_cli("signals").out


def test_a_file_that_a_person_edited_is_read_and_nothing_else_loads_its_reader(
    run_cli: RunCli, store_home: Path
) -> None:
    run_cli("capture", "--type", "convention", "--content", "lint first")
    assert "ruamel" not in run_cli("signals", env={"PYTHONPROFILEIMPORTTIME": "1"}).err
    (record,) = run_cli("signals", "--json").json()["data"]
    path = store_home / "learnings" / "LRN-20260105-00000001.yaml"
    path.parent.mkdir()
    fields = {"id": path.stem, "version": 1, "timestamp": "2026-01-05T10:00:00Z", "text": "lint", "title": "lint"}
    fields |= {"category": "command", "scope": "global", "project": None, "target": {"kind": "global", "path": "x"}}
    fields |= {"topic": None, "paths": [], "signals": [record["id"]], "decision": "", "supersedes": [], "reason": ""}
    fields |= {"trust": "assistant", "matcher": None, "meta": {}}
    path.write_text("# by hand\n" + "".join(f"{name}:   {json.dumps(value)}\n" for name, value in fields.items()))
    git = [REAL_GIT, "-C", str(store_home), "-c", "user.name=x", "-c", "user.email=x@example.org"]
    subprocess.run([*git, "add", "learnings"], check=True)
    subprocess.run([*git, "commit", "-q", "-m", "by hand"], check=True)
    assert run_cli("show", path.stem, "--json").json()["data"]["record"]["text"] == "lint"
