"""`guard`, `unguard` and `guards`: for a person at a terminal, for a script, and inside Claude Code."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from reflect_git.guards.table import read_table
from tests.conftest import REAL_GIT, RunCli
from tests.rules.guard_calls import bash, write_calls
from tests.sessions import Session
from tests.store.store_checks import allow_unattended
from tests.stories.terminal import Terminal

Types = Callable[..., str]
INSIDE = {"CLAUDECODE": "1"}
CALL = '{"tool_name": "Bash", "tool_input": {"command": "cd web && npm i"}}'
QUESTION = "numbers of wrong matches, Enter for none, q to cancel:"


@pytest.fixture
def project(tmp_path: Path, store_home: Path) -> Path:
    folder = tmp_path / "shop"
    folder.mkdir()
    subprocess.run([REAL_GIT, "init", "-q", str(folder)], check=True)
    return folder


@pytest.fixture
def types(project: Path) -> Types:
    """Run a command at a terminal; return its output."""

    def run(*arguments: str, code: int = 0) -> str:
        with Terminal(*arguments, cwd=project) as terminal:
            return terminal.ends(code).replace("\r\n", "\n")

    return run


@pytest.fixture
def rule(types: Types) -> str:
    signal = types("capture", "--type", "correction", "--content", "use pnpm, not npm").split()[1]
    said = types("approve", signal, "--to", "project")
    return said[said.index("approved LRN-") :].split()[1]


def get_guards(run_cli: RunCli, project: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = run_cli("guards", "--json", cwd=project).json()["data"]
    return found


def get_table(store_home: Path) -> list[str]:
    return [one.learning for one in read_table(str(store_home / ".git"))]


def test_a_person_sees_what_it_would_have_matched_and_marks_what_is_wrong(
    rule: str, project: Path, home: Path, store_home: Path, run_cli: RunCli, types: Types
) -> None:
    write_calls(home, project, "s-1", [bash("npm i zod"), bash("npm i zod"), bash("npm publish")], days_ago=0)
    with Terminal("guard", rule, "--mode", "deny", cwd=project) as terminal:
        seen = terminal.passes(QUESTION)
        assert "will sync     `npm`; instead: pnpm" in seen
        assert "3 calls in 1 day, in 1 of 1 session; last: `" in seen
        listed = {line.strip().split("  ")[1]: line.split()[0] for line in seen.split("\n") if "×, last today" in line}
        assert sorted(listed) == ["npm i zod", "npm publish"]
        terminal.types("7")
        terminal.passes(QUESTION)
        terminal.types(listed["npm publish"])
        assert "2 calls in 1 day" in terminal.passes(QUESTION)
        terminal.types("")
        assert f"guarded {rule} (deny), commit " in terminal.ends()
    (one,) = get_guards(run_cli, project)
    assert (one["learning"], one["mode"], one["state"], one["fired"]) == (rule, "deny", "in force", 0)
    assert one["matcher"]["except"] == [{"run": "npm publish", "bare": True}]
    assert one["backtest"]["hits"] == one["backtest"]["sessions"] == 1
    assert get_table(store_home) == [rule]
    log = run_cli("log", "-n", "1", cwd=project).out
    assert (
        "guarded  Use pnpm, not npm" in log
        and "deny: `npm`, except `npm publish` without arguments; instead: pnpm" in log
    )
    for command in (("show", rule), ("why", "CLAUDE.md")):
        assert run_cli(*command, cwd=project).code == 0
    assert "guard         deny: `npm`" in run_cli("show", rule, cwd=project).out
    (told,) = run_cli("rules", "--json", cwd=project).json()["data"]
    assert (told["enforcement"], told["verification"]["by"], told["decorative"]) == ("deny", "firings", None)
    assert run_cli("audit", "--json", cwd=project).json()["data"]["ok"]
    assert "reverted the guard of 'Use pnpm, not npm'" in types("undo")
    assert get_guards(run_cli, project) == [] and get_table(store_home) == []


def test_cancelling_writes_nothing(rule: str, project: Path, home: Path, run_cli: RunCli) -> None:
    write_calls(home, project, "s-1", [bash("npm i")])
    with Terminal("guard", rule, cwd=project) as terminal:
        terminal.passes(QUESTION)
        terminal.types("q")
        terminal.ends(1)
    assert get_guards(run_cli, project) == []


def test_only_a_person_guards_and_unguards(rule: str, project: Path, run_cli: RunCli, types: Types) -> None:
    for env in (INSIDE, {}):
        refused = run_cli("guard", rule, "--json", cwd=project, env=env)
        assert refused.code == 1 and refused.json()["error"]["code"] == "approval"
    types("guard", rule)
    for env in (INSIDE, {}):
        assert run_cli("unguard", rule, "--json", cwd=project, env=env).json()["error"]["code"] == "approval"
    assert [one["mode"] for one in get_guards(run_cli, project)] == ["hint"]
    assert f"removed the guard of {rule}" in types("unguard", rule)
    assert get_guards(run_cli, project) == []
    assert run_cli("unguard", rule, cwd=project).err.startswith(f"error: '{rule}' has no guard\n")


def test_looking_needs_no_person_and_writes_nothing(rule: str, project: Path, home: Path, run_cli: RunCli) -> None:
    write_calls(home, project, "s-1", [bash("npm i")])
    for options in (("--test",), ("--dry-run", "--mode", "deny")):
        told = run_cli("guard", rule, *options, "--json", cwd=project, env=INSIDE).json()["data"]
        assert told["backtest"]["matches"][0]["text"] == "npm i" and told["commit"] is None
        assert "1  npm i  1×" in run_cli("guard", rule, *options, cwd=project).out
    assert run_cli("guard", rule, "--call", CALL, cwd=project).out == "applies: npm i\n"
    other = CALL.replace("npm", "pnpm")
    assert run_cli("guard", rule, "--call", other, "--json", cwd=project).json()["data"]["applies"] is False
    assert run_cli("unguard", rule, "--dry-run", cwd=project).code == 1
    assert get_guards(run_cli, project) == []


@pytest.mark.parametrize(
    ("options", "matcher"),
    [
        (("--match", "npm", "--match", "yarn add"), {"any": [{"run": "npm"}, {"run": "yarn add"}]}),
        (("--path", "src/gen/**"), {"any": [{"paths": ["src/gen/**"], "access": "write"}]}),
        (("--tool", "Read", "--path", "*.pem"), {"any": [{"paths": ["*.pem"], "access": "read"}]}),
        (("--tool", "Read|Edit", "--path", ".env"), {"any": [{"paths": [".env"], "access": "any"}]}),
        (
            ("--path", "existing:db/migrate/**"),
            {"any": [{"paths": ["db/migrate/**"], "access": "write", "existing": True}]},
        ),
        (("--content", r"\bprint\("), {"any": [{"content": r"\bprint\("}]}),
        (("--content", "@nolint", "--in", "all"), {"any": [{"content": "@nolint", "look_in": "all"}]}),
        (("--content", "!SPDX", "--path", "*.go"), {"any": [{"paths": ["*.go"], "existing": False, "lacks": "SPDX"}]}),
        (("--tool", "mcp__git__*", "--match", "main"), {"any": [{"tool": "mcp__git__*", "text": "main"}]}),
        (("--except", "npm publish"), {"any": [{"run": "npm"}], "except": [{"run": "npm publish"}]}),
    ],
)  # fmt: skip
def test_options_describe_the_calls(
    rule: str, project: Path, run_cli: RunCli, options: tuple[str, ...], matcher: dict[str, Any]
) -> None:
    told = run_cli("guard", rule, *options, "--test", "--json", cwd=project).json()["data"]
    assert told["matcher"] == matcher


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--match", "--force"), "names no program"),
        (("--content", "("), "is not a regular expression"),
        (("--content", "x*"), "matches every text"),
        (("--match", "npm", "--path", "a"), "--path is for files"),
        (("--content", "!SPDX"), "needs --path"),
        (("--path", "a", "--in", "all"), "--in says where --content counts"),
        (("--tool", "Edit"), "needs a path"),
        (("--call", "{"), "--call is not a tool call"),
        (("--mode", "block"), "'block' is not a mode"),
        (("--accept", "--mode", "deny"), "--accept takes the guard as it is"),
    ],
)
def test_wrong_options(rule: str, project: Path, run_cli: RunCli, options: tuple[str, ...], said: str) -> None:
    result = run_cli("guard", rule, *options, cwd=project)
    assert result.code == 2 and said in result.err


def test_a_rule_that_names_no_call(types: Types, project: Path, run_cli: RunCli) -> None:
    signal = types("capture", "--type", "correction", "--content", "keep your answers short").split()[1]
    said = types("approve", signal, "--to", "project")
    name = said[said.index("approved LRN-") :].split()[1]
    result = run_cli("guard", name, "--test", cwd=project)
    assert result.code == 4
    assert "this rule cannot become a guard: it names no command, file or content" in result.err
    assert "hint: describe the calls: --match" in result.err


def test_a_script_may_guard_if_a_person_allowed_it(rule: str, project: Path, run_cli: RunCli, store_home: Path) -> None:
    allow_unattended(store_home)
    done = run_cli("guard", rule, "--mode", "watch", "--json", cwd=project)
    assert done.code == 0 and done.json()["data"]["backtest"]["matches"] == []
    assert [one["mode"] for one in get_guards(run_cli, project)] == ["watch"]


def test_decorative_rules(rule: str, project: Path, run_cli: RunCli, types: Types) -> None:
    (told,) = run_cli("rules", "--decorative", "--json", cwd=project).json()["data"]
    assert told["decorative"] == "it could be guarded, and is not" and told["trigger"]["text"] == "`npm`"
    assert "decorative: it could be guarded" in run_cli("rules", "--decorative", cwd=project).out
    types("guard", rule)
    assert run_cli("rules", "--decorative", "--json", cwd=project).json()["data"] == []


def test_purging_the_rule_removes_its_guard(rule: str, project: Path, store_home: Path, types: Types) -> None:
    types("guard", rule)
    assert get_table(store_home) == [rule]
    with Terminal("purge", rule, cwd=project) as terminal:
        seen = terminal.passes("to continue:")
        terminal.types(seen.rpartition("type '")[2].partition("'")[0])
        terminal.ends()
    assert get_table(store_home) == []


def test_a_guard_for_the_end_of_a_turn(rule: str, project: Path, home: Path, run_cli: RunCli, types: Types) -> None:
    session = Session(home, cwd=str(project))
    for name in ("cart.py", "tax.py", "notes.md"):
        session.say("change it")
        session.run_tool("Write", file_path=str(project / name), content="x")
        if name == "tax.py":
            session.run_tool("Bash", command="uv run ruff check .")
    stop = ("guard", rule, "--on", "stop", "--requires", "ruff check")
    said = types(*stop, "--path", "*.py", "--test")
    assert "deny: Claude is sent back once to run the command" in said
    assert "will sync     ending a turn without `ruff check` after writing *.py" in said
    assert "1 turn in 1 day, in 1 of 1 session; last: `cart.py`" in said and "notes.md" not in said
    for mode in ("hint", "ask"):
        assert f"this guard cannot {mode}: it is not about a call" in types(*stop, "--mode", mode, code=2)
    for wrong in (stop[:-2], (*stop[:2], *stop[-2:])):
        assert "--on stop and --requires go together" in types(*wrong, code=2)
    with Terminal(*stop, cwd=project) as terminal:
        seen = terminal.passes(QUESTION)
        assert "2 turns in 1 day" in seen
        terminal.types("2" if "2  notes.md" in seen else "1")
        assert "1 turn in 1 day" in terminal.passes(QUESTION)
        terminal.types("")
        assert f"guarded {rule} (deny), commit " in terminal.ends()
    (one,) = get_guards(run_cli, project)
    assert one["matcher"]["requires"] == [{"run": "ruff check"}] and one["matcher"]["except"]
    assert "guard         deny: ending a turn without `ruff check`" in run_cli("show", rule, cwd=project).out
    assert run_cli("audit", "--json", cwd=project).json()["data"]["ok"]
    assert "1 guard, tested with a call that must be refused" in run_cli("doctor").out
    types("unguard", rule)
    assert not (home / ".claude" / "settings.json").exists()
