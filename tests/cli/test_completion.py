"""`completion` prints what a shell evaluates, and what it evaluates completes."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import REPO, RunCli


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_knows_both_names_of_the_program(run_cli: RunCli, shell: str) -> None:
    result = run_cli("completion", shell)
    assert result.code == 0
    assert "reflect-git" in result.out
    assert "git-reflect" in result.out
    assert result.err == "", "a shell's start-up file would print it each time"
    assert run_cli("completion", shell, "--json").json()["data"]["script"] in result.out


def test_an_unknown_shell_is_refused(run_cli: RunCli) -> None:
    assert run_cli("completion", "tcsh").code == 2


def _shell(name: str) -> str:
    found = shutil.which(name)
    if found is None:
        pytest.skip(f"there is no {name}")
    return found


def _programs(folder: Path) -> None:
    for name in ("reflect-git", "git-reflect"):
        program = folder / name
        program.write_text(
            f'#!/bin/sh\nPYTHONPATH="{REPO}" PYTHONSAFEPATH=1 exec "{sys.executable}" -m reflect_git.cli.app "$@"\n'
        )
        program.chmod(0o755)


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("reflect-git si", ["signals"]),
        ("reflect-git signals --sta", ["--status"]),
        ("reflect-git signals --status prom", ["promoted"]),
        ("git-reflect compl", ["completion"]),
        ("reflect-git nonsense --vers", ["--version"]),
    ],
)
def test_bash_completes(run_cli: RunCli, home: Path, tmp_path: Path, words: str, found: list[str]) -> None:
    bash = _shell("bash")
    _programs(tmp_path)
    script = run_cli("completion", "bash").out
    name = words.partition(" ")[0]
    ask = f"""
COMP_WORDS=({words}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1))
_{name.replace("-", "_")}_completion {name}
printf '%s\\n' "${{COMPREPLY[@]}}"
"""
    done = subprocess.run(
        [bash, "-c", script + ask],
        env={"PATH": f"{tmp_path}:/usr/bin:/bin", "HOME": str(home)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.split() == found
    assert done.stderr == ""


def test_fish_completes(run_cli: RunCli, home: Path, tmp_path: Path) -> None:
    fish = _shell("fish")
    _programs(tmp_path)
    asked = 'complete -C "reflect-git si"\ncomplete -C "git-reflect signals --status prom"\n'
    env = {"PATH": f"{tmp_path}:/usr/bin:/bin", "HOME": str(home)}
    done = subprocess.run(
        [fish, "--no-config", "-c", run_cli("completion", "fish").out + asked],
        env=env, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert [line.split("\t")[0] for line in done.stdout.splitlines()] == ["signals", "promoted"]


def test_zsh_takes_the_script(run_cli: RunCli, home: Path, tmp_path: Path) -> None:
    zsh = _shell("zsh")
    ask = "\nprint -r -- $_comps[reflect-git] $_comps[git-reflect]"
    begin = "autoload -Uz compinit && compinit -u -D\n"
    done = subprocess.run(
        [zsh, "-f", "-c", begin + run_cli("completion", "zsh").out + ask],
        env={"PATH": "/usr/bin:/bin", "HOME": str(home)}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.stdout.split() == ["_reflect_git_completion", "_git_reflect_completion"]
    assert done.stderr == ""
