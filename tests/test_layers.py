"""The hook path needs an interpreter and a checkout, nothing else, and loads no more than its budget allows."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

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

# What each costs a hook that has 36 ms in all: dataclasses (with inspect) 15, pathlib 10, typing 5, hashlib 3.
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
    """The module and, if it is a package, everything in it; empty while it is not written."""
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
    """What a listed module loads is listed too, or it would escape the check for Python 3.9."""
    loaded = {module for module in _loaded_by(*_written(name)) if module.startswith("reflect_git.")}
    listed = {module for module in loaded if any(f"{module}.".startswith(f"{entry}.") for entry in HOOK_PATH)}
    assert loaded - listed - {"reflect_git.adapters"} == set()


def test_hook_loads_nothing_slow() -> None:
    _written("reflect_git.hook")
    assert _loaded_by("reflect_git.hook") & TOO_SLOW == set()


def test_makefile_checks_the_same_hook_path() -> None:
    makefile = (REPO / "Makefile").read_text(encoding="utf-8").replace("\\\n", " ")
    match = re.search(r"^HOOK_PATH = (.*)$", makefile, re.MULTILINE)
    assert match
    assert sorted(f"reflect_git.{name}" for name in match[1].split()) == sorted(HOOK_PATH)
