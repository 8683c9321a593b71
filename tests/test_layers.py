"""The hook path needs only an interpreter and a checkout, and loads no more than its budget allows."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import RunCli

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

REPO = Path(__file__).resolve().parent.parent


def _hook_path() -> list[str]:
    config: dict[str, Any] = tomllib.loads((REPO / "pyproject.toml").read_text(encoding="utf-8"))
    contracts = {contract["id"]: contract for contract in config["tool"]["importlinter"]["contracts"]}
    return list(contracts["hook-path"]["source_modules"])


HOOK_PATH = _hook_path()

# The cost of each for a hook with a budget of 36 ms: dataclasses (with inspect) 15, pathlib 10, typing 5, hashlib 3.
TOO_SLOW = {"dataclasses", "datetime", "hashlib", "inspect", "pathlib", "subprocess", "typing"}

LOAD = """
import sys
sys.path.insert(0, sys.argv[1])
before = set(sys.modules)
for name in sys.argv[2:]:
    __import__(name)
import json
print(json.dumps(sorted(set(sys.modules) - before)))
"""


def _modules_of(name: str) -> list[str]:
    """Return the module and, if it is a package, everything in it; empty if it does not exist."""
    base = REPO.joinpath(*name.split("."))
    if base.with_suffix(".py").is_file():
        return [name]
    files = [file.relative_to(REPO).with_suffix("") for file in sorted(base.rglob("*.py"))]
    return [".".join(part for part in file.parts if part != "__init__") for file in files]


def _loaded_by(*names: str) -> set[str]:
    command = [sys.executable, "-I", "-S", "-c", LOAD, str(REPO), *names]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return set(json.loads(done.stdout))


def _written(name: str) -> list[str]:
    modules = _modules_of(name)
    if not modules:
        pytest.skip(f"{name} is not written yet")
    return modules


@pytest.mark.parametrize("name", HOOK_PATH)
def test_hook_path_loads_the_standard_library_only(name: str) -> None:
    loaded = _loaded_by(*_written(name))
    foreign = {module for module in loaded if module.split(".")[0] not in {"reflect_git", *sys.stdlib_module_names}}
    assert foreign == set()


@pytest.mark.parametrize("name", HOOK_PATH)
def test_hook_path_is_listed_completely(name: str) -> None:
    """Whatever a listed module loads must be listed as well, or the check for Python 3.9 would miss it."""
    loaded = {module for module in _loaded_by(*_written(name)) if module.startswith("reflect_git.")}
    listed = {module for module in loaded if any(f"{module}.".startswith(f"{entry}.") for entry in HOOK_PATH)}
    assert loaded - listed - {"reflect_git.platform", "reflect_git.language", "reflect_git.guards"} == set()


def test_hook_loads_nothing_slow() -> None:
    _written("reflect_git.hook")
    assert _loaded_by("reflect_git.hook") & TOO_SLOW == set()


def test_a_captured_failure_loads_nothing_slow(home: Path) -> None:
    """What `hook` imports late counts as well: it runs while the client waits."""
    event = {
        "hook_event_name": "PostToolUseFailure", "session_id": "s", "cwd": "/tmp", "tool_name": "Bash",
        "tool_input": {"command": "npm run build"}, "tool_use_id": "t", "error": "Exit code 1", "is_interrupt": False,
    }  # fmt: skip
    command = [sys.executable, "-I", "-S", "-X", "importtime", str(REPO / "hooks/hook.py"), "PostToolUseFailure"]
    env = {"HOME": str(home), "PATH": os.environ["PATH"]}
    for _ in ("creates the store", "captures"):
        done = subprocess.run(command, input=json.dumps(event), capture_output=True, text=True, check=True, env=env)
    loaded = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert "reflect_git.store.append" in loaded
    assert loaded & (TOO_SLOW | {"re", "enum", "contextlib"}) == set()


PANEL_LIBRARIES = {"starlette", "uvicorn", "jinja2", "markupsafe", "h11", "anyio"}


def test_only_the_panel_loads_its_libraries() -> None:
    """Every command's module, its help included; the panel's own loads them when it starts."""
    from reflect_git.cli.app import COMMAND_MODULES, COMMANDS

    modules = {f"reflect_git.cli.{COMMAND_MODULES.get(name, f'commands.{name}')}" for name in COMMANDS}
    loaded = []
    for names in (["reflect_git.cli.start", *sorted(modules)], ["reflect_git.web.server"]):
        done = subprocess.run([sys.executable, "-c", LOAD, str(REPO), *names], capture_output=True, check=True)
        loaded.append({name.partition(".")[0] for name in json.loads(done.stdout)})
    assert loaded[0] & PANEL_LIBRARIES == set()
    assert {"starlette", "uvicorn"} <= loaded[1]


@pytest.mark.parametrize("event", ["PostToolUseFailure", "PreCompact", "SessionEnd", "SessionStart"])
def test_no_hook_opens_the_index(home: Path, event: str) -> None:
    """Importing sqlite3 takes 7 ms. Detached processes may open it: nobody waits for them."""
    given = {
        "hook_event_name": event, "session_id": "s", "cwd": str(home), "tool_name": "Bash", "source": "startup",
        "tool_input": {"command": "npm run build"}, "tool_use_id": "t", "error": "Exit code 1", "is_interrupt": False,
        "transcript_path": str(home / "none.jsonl"), "reason": "exit", "trigger": "auto",
    }  # fmt: skip
    command = [sys.executable, "-I", "-S", "-X", "importtime", str(REPO / "hooks/hook.py"), event]
    env = {"HOME": str(home), "PATH": os.environ["PATH"]}
    for _ in ("creates the store", "runs"):
        done = subprocess.run(command, input=json.dumps(given), capture_output=True, text=True, check=True, env=env)
    loaded = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert "reflect_git.hook" in loaded
    assert not any(name.startswith(("sqlite3", "_sqlite3")) for name in loaded)


LIST = """
import json, os, sys
from reflect_git.cli import app, context
code = app.run_command(context.CliContext(os.environ), ["candidates"])
print(code, json.dumps(sorted({name.partition(".")[0] for name in sys.modules})), file=sys.stderr)
"""


def test_a_list_of_candidates_loads_no_parser(run_cli: RunCli, tmp_path: Path) -> None:
    """ruamel.yaml, markdown-it and GitPython take longer to load than a whole list may take."""
    (tmp_path / "CLAUDE.md").write_text("- Keep modules small.\n", encoding="utf-8")
    for words in ("use pnpm here, not npm", "never squash the release branch"):
        assert run_cli("capture", "--type", "correction", "--content", words, cwd=tmp_path).code == 0
    for _ in ("gathered", "kept"):
        done = subprocess.run([sys.executable, "-c", LIST], cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        code, _, loaded = done.stderr.strip().splitlines()[-1].partition(" ")
        assert (code, "2 unlikely ones" in done.stdout) == ("0", True)
        assert {"ruamel", "markdown_it", "git", "unidiff"} & set(json.loads(loaded)) == set()


def test_a_list_that_was_kept_loads_nothing_that_words_it(run_cli: RunCli, tmp_path: Path) -> None:
    assert run_cli("capture", "--type", "correction", "--content", "use pnpm, not npm", cwd=tmp_path).code == 0
    program = LIST.replace('.partition(".")[0]', "")
    found = []
    for _ in ("gathered", "kept"):
        done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=True)
        found.append(set(json.loads(done.stderr.strip().splitlines()[-1].partition(" ")[2])))
    assert [("reflect_git.language.wording" in loaded) for loaded in found] == [True, False]


RUN = LIST.replace('["candidates"]', "sys.argv[1:]").replace('.partition(".")[0]', "")


def _loaded_by_verb(*words: str, cwd: Path) -> set[str]:
    done = subprocess.run([sys.executable, "-c", RUN, *words], cwd=cwd, capture_output=True, text=True, check=True)
    code, _, loaded = done.stderr.strip().splitlines()[-1].partition(" ")
    assert code == "0"
    return set(json.loads(loaded))


# Modules that each command once loaded without need, and those that build classes or patterns on import.
NOT_FOR_THE_TRAIL = {
    "dataclasses", "difflib", "subprocess", "reflect_git.redact", "reflect_git.platform.project",
    "reflect_git.history.rules_at", "reflect_git.store.config_file", "reflect_git.store.machines",
    "reflect_git.store.expiry", "reflect_git.store.reading.reader", "reflect_git.cli.output.candidate_view",
}  # fmt: skip
NOT_FOR_A_LIST = {
    "dataclasses", "subprocess", "reflect_git.targets.markdown", "reflect_git.targets.block",
    "reflect_git.language.parse", "reflect_git.store.maintenance",
}  # fmt: skip
NOT_FOR_A_SYNC = {
    "dataclasses", "subprocess", "reflect_git.store.main.backups", "reflect_git.rules",
    "reflect_git.sync.inboxes",
}  # fmt: skip


@pytest.mark.parametrize(
    ("words", "spared"), [(("log", "-n", "20", "--json"), NOT_FOR_THE_TRAIL), (("candidates",), NOT_FOR_A_LIST)]
)
def test_a_look_loads_what_it_needs(run_cli: RunCli, tmp_path: Path, words: tuple[str, ...], spared: set[str]) -> None:
    """The budgets leave room for few imports: 100 modules take as long as 20 git processes."""
    for said in ("use pnpm, not npm", "never squash the release branch"):
        assert run_cli("capture", "--type", "correction", "--content", said, cwd=tmp_path).code == 0
    _loaded_by_verb(*words, cwd=tmp_path)
    assert _loaded_by_verb(*words, cwd=tmp_path) & spared == set()


def test_a_sync_loads_what_it_needs(run_cli: RunCli, tmp_path: Path) -> None:
    remote = tmp_path / "remote.git"
    subprocess.run(["git", "init", "-q", "--bare", "-b", "main", str(remote)], check=True)
    assert run_cli("--yes", "remote", "set", str(remote), cwd=tmp_path).code == 0
    assert run_cli("sync", cwd=tmp_path).code == 0  # the first command after a decision checks what main has
    assert _loaded_by_verb("sync", cwd=tmp_path) & NOT_FOR_A_SYNC == set()


def test_makefile_checks_the_same_hook_path() -> None:
    makefile = (REPO / "Makefile").read_text(encoding="utf-8").replace("\\\n", " ")
    match = re.search(r"^HOOK_PATH = (.*)$", makefile, re.MULTILINE)
    assert match
    assert sorted(f"reflect_git.{name}" for name in match[1].split()) == sorted(HOOK_PATH)
