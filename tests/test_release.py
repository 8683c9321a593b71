"""Wheel and sdist contain what they should and nothing else, and work in an empty environment.

`make release` also installs the wheel on every available Python and checks its dependencies for known vulnerabilities.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from reflect_git import __version__
from tests.conftest import REAL_HOME, REPO

PYTHONS = ("3.10", "3.11", "3.12", "3.13")
NAME = f"reflect_git-{__version__}"
# Parts of a checkout that are not for people who install or build from an archive.
ONLY_HERE = (".ci/", ".github/")


def _run(*command: str, **more: Any) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False, **more)
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout}{done.stderr}"
    return str(done.stdout)


@pytest.fixture(scope="module")
def kept() -> list[str]:
    """Return the files that git tracks; untracked files must not be shipped."""
    if not (REPO / ".git").exists():
        pytest.skip("NOT CHECKED: this is no checkout")
    return sorted(_run("git", "-C", str(REPO), "ls-files").split("\n"))[1:]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory, kept: list[str]) -> Path:
    """Build from a copy that also has an untracked file, which must not be shipped."""
    source, out = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("dist")
    for name in (*kept, "reflect_git/__pycache__/left.pyc", "tests/.DS_Store", ".venv/left"):
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        (source / name).write_bytes((REPO / name).read_bytes() if name in kept else b"left")
    _run(sys.executable, "-m", "hatchling", "build", "-d", str(out), cwd=source)
    return out


def test_the_wheel_holds_the_program_and_what_it_reads(built: Path, kept: list[str]) -> None:
    (wheel,) = built.glob("*.whl")
    listed = zipfile.ZipFile(wheel).namelist()
    facts = {name for name in listed if name.startswith(f"{NAME}.dist-info/")}
    assert {name.partition("/")[2] for name in facts} == {
        "METADATA", "WHEEL", "entry_points.txt", "licenses/LICENSE", "RECORD",
    }  # fmt: skip
    places = {"reflect_git/": "", "hooks/": "reflect_git/data/", "templates/": "reflect_git/data/"}
    wanted = {f"{place}{name}" for name in kept for folder, place in places.items() if name.startswith(folder)}
    wanted |= {f"{NAME}.data/data/share/man/man1/{name[9:]}" for name in kept if name.startswith("docs/man/")}
    assert set(listed) - facts == wanted


def test_the_sdist_is_the_checkout(built: Path, kept: list[str]) -> None:
    (archive,) = built.glob("*.tar.gz")
    with tarfile.open(archive) as opened:
        listed = {name.partition("/")[2] for name in opened.getnames()}
    assert listed == {"PKG-INFO", *(name for name in kept if not name.startswith(ONLY_HERE))}


def test_the_version_stands_in_one_place(kept: list[str]) -> None:
    """Apart from the plugin's manifest, which tests/test_plugin.py compares."""
    texts = {name: (REPO / name).read_bytes() for name in kept if name.endswith((".py", ".toml", ".sh", ".cfg"))}
    pattern = rb"(?<![\d.])" + re.escape(__version__).encode() + rb"(?![\d.])"
    assert [name for name, text in texts.items() if re.search(pattern, text)] == ["reflect_git/__init__.py"]


def test_the_changelog_has_an_entry_for_what_is_next() -> None:
    text = (REPO / "CHANGELOG.md").read_text(encoding="utf-8")
    assert re.search(rf"^## \[(Unreleased|{re.escape(__version__)})\]", text, re.MULTILINE)


def _outside() -> dict[str, str]:
    """Return an environment with this user's pip settings; nothing else in the real home is written."""
    return {**os.environ, "HOME": REAL_HOME}


def _interpreter(version: str) -> str:
    """Find an interpreter that starts: a pyenv shim works only for enabled versions."""
    name = f"python{version}"
    others = sorted(Path(REAL_HOME, ".pyenv", "versions").glob(f"{version}.*/bin/{name}"))
    for path in filter(None, (shutil.which(name), *map(str, others))):
        done = subprocess.run([path, "-c", "import venv"], capture_output=True, check=False, env=_outside())
        if done.returncode == 0:
            return path
    pytest.skip(f"NOT CHECKED: there is no {name} here")


@pytest.fixture
def empty(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Path]:
    """Provide an environment with nothing but pip, for the Python that the test asks for."""
    folder = tmp_path / "venv"
    _run(_interpreter(request.param), "-m", "venv", str(folder))
    yield folder / "bin"
    shutil.rmtree(folder)


def _install(programs: Path, what: Path) -> None:
    quietly = ("-qq", "--disable-pip-version-check", "--no-cache-dir")
    _run(str(programs / "python"), "-m", "pip", "install", *quietly, str(what), env=_outside())


@pytest.mark.slow
@pytest.mark.parametrize("empty", PYTHONS, indirect=True)
@pytest.mark.parametrize("shape", ["*.whl", "*.tar.gz"])
def test_it_works_from_an_empty_environment(built: Path, empty: Path, shape: str, home: Path, tmp_path: Path) -> None:
    (archive,) = built.glob(shape)
    _install(empty, archive)
    env = {"HOME": str(home), "PATH": f"{empty}:{os.environ['PATH']}", "LC_ALL": "C.UTF-8", "TMPDIR": str(tmp_path)}
    assert _run("reflect-git", "--version", env=env) == f"reflect-git {__version__}\n"
    assert "1 rule to review: reflect-git review" in _run("reflect-git", "demo", env=env, cwd=tmp_path)
    _run("reflect-git", "enable", env=env)
    assert "reflect_git/data/hooks/launch.sh" in (home / ".claude" / "settings.json").read_text()
    said = ("capture", "--type", "gotcha", "--content", "the cache is stale after a rename", "--json")
    identity = json.loads(_run("git-reflect", *said, env=env))["data"]["id"]
    assert identity[-8:] in _run("git", "reflect", "signals", env=env)
    assert (empty.parent / "share" / "man" / "man1" / "reflect-git.1").is_file()
    _run(str(empty / "python"), "-m", "pip", "check", env=env)


@pytest.mark.slow
@pytest.mark.parametrize("empty", [f"{sys.version_info[0]}.{sys.version_info[1]}"], indirect=True)
def test_no_known_weakness_in_what_it_needs(built: Path, empty: Path, tmp_path: Path) -> None:
    (wheel,) = built.glob("*.whl")
    _install(empty, wheel)
    (installed,) = empty.parent.glob("lib/python*/site-packages")
    auditor = tmp_path / "auditor"
    _run(sys.executable, "-m", "venv", str(auditor))
    quietly = ("-qq", "--disable-pip-version-check", "--no-cache-dir")
    _run(str(auditor / "bin" / "python"), "-m", "pip", "install", *quietly, "pip-audit", env=_outside())
    done = subprocess.run(
        [auditor / "bin" / "pip-audit", "--path", installed, "--format", "json", "--progress-spinner", "off"],
        capture_output=True, text=True, check=False, env=_outside(),
    )  # fmt: skip
    listed = [one for one in _audited(done.stdout) if one["name"] not in ("pip", "reflect-git")]
    asked = [one for one in listed if "skip_reason" not in one]
    if not asked:
        pytest.skip(f"NOT CHECKED: known weaknesses; pip-audit says: {_why(listed, done.stderr)}")
    assert {one["name"]: one["vulns"] for one in asked if one["vulns"]} == {}
    assert asked == listed, "some packages were not looked up"


def _why(listed: list[dict[str, Any]], said: str) -> str:
    reasons = [one["skip_reason"] for one in listed] or said.strip().splitlines() or ["nothing"]
    return str(reasons[-1])[:200]


def _audited(printed: str) -> list[dict[str, Any]]:
    try:
        return list(json.loads(printed)["dependencies"])
    except ValueError:
        return []
