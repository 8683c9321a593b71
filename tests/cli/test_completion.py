"""`completion` prints a script that makes each shell complete our commands."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from reflect_git.records.schema import CATEGORIES
from tests.conftest import REPO, RunCli
from tests.stories.terminal import Terminal


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
            f'#!/bin/sh\nPYTHONPATH="{REPO}" PYTHONSAFEPATH=1 exec "{sys.executable}" -m reflect_git.cli.start "$@"\n'
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
    assert _offered(run_cli, home, tmp_path, words) == found


def test_ids_backups_and_settings_are_offered(run_cli: RunCli, home: Path, tmp_path: Path, store_home: Path) -> None:
    shop = tmp_path / "shop"
    shop.mkdir()
    nothing = ("approve S", "edit L", "restore b", "show S")
    assert [_offered(run_cli, home, tmp_path, f"reflect-git {words}") for words in nothing] == [[]] * 4
    assert not store_home.exists(), "who presses a key makes no store"
    first, second = (
        _typed("capture", "--type", "correction", "--content", one, cwd=shop).split()[1]
        for one in ("use pnpm, not npm", "use uv, not pip")
    )
    _typed("approve", first, "--to", "project", cwd=shop)
    (rule,) = [one["id"] for one in run_cli("rules", "--all", "--json").json()["data"]]
    (backup,) = [one["name"] for one in run_cli("restore", "--json").json()["data"]]
    for words, found in (
        ("approve SIG", [second]), ("approve sig", [second]), (f"dismiss {second[:-2]}", [second]),
        ("edit LRN", [rule]), ("revert LRN", [rule]), (f"propose {rule} LRN", []), ("purge LRN", [rule]),
        ("restore backup", [backup]),
        ("config compact", ["compact.keep"]), (f"--store {tmp_path}/none edit L", []),
    ):  # fmt: skip
        assert _offered(run_cli, home, tmp_path, f"reflect-git {words}") == found, words
    lifetimes = ["ttl", *(f"ttl.{category}" for category in CATEGORIES)]
    assert _offered(run_cli, home, tmp_path, "reflect-git config ttl") == lifetimes
    with_prefix = [f"reflect.{name}" for name in lifetimes]
    assert _offered(run_cli, home, tmp_path, "reflect-git config reflect.tt") == with_prefix
    assert sorted(_offered(run_cli, home, tmp_path, "reflect-git show SIG")) == sorted([first, second])
    made = run_cli("show", rule, "--json").json()["data"]["decisions"][0]["id"]
    for verb in ("show", "revert"):
        assert made in _offered(run_cli, home, tmp_path, f"reflect-git {verb} DEC")


def _typed(*words: str, cwd: Path) -> str:
    with Terminal(*words, cwd=cwd) as terminal:
        return terminal.ends()


def _offered(run_cli: RunCli, home: Path, tmp_path: Path, words: str) -> list[str]:
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
    assert done.stderr == ""
    return done.stdout.split()


def test_fish_completes(run_cli: RunCli, home: Path, tmp_path: Path) -> None:
    fish = _shell("fish")
    _programs(tmp_path)
    lines = ("reflect-git log", "git-reflect signals --status prom", "git reflect si", "git -C / reflect signals --sta")
    asked = "".join(f'complete -C "{line}"\n' for line in lines)
    env = {"PATH": f"{tmp_path}:/usr/bin:/bin", "HOME": str(home)}
    done = subprocess.run(
        [fish, "--no-config", "-c", run_cli("completion", "fish").out + asked],
        env=env, capture_output=True, text=True, check=False,
    )  # fmt: skip
    found = [line.split("\t") for line in done.stdout.splitlines()]
    assert [words[0] for words in found] == ["log", "promoted", "signals", "--status"]
    assert found[0][1] == "show decisions: what, when and by whom"


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


_OF_GIT = Path("/usr/share/bash-completion/completions/git")


@pytest.mark.skipif(not _OF_GIT.exists(), reason="git's own completion for bash is not here")
@pytest.mark.parametrize(
    ("words", "found"),
    [
        (["git", "refle"], ["reflect"]),
        (["git", "reflect", "si"], ["signals"]),
        (["git", "-C", "/", "reflect", "signals", "--status", "prom"], ["promoted"]),
    ],
)
def test_bash_completes_git_reflect(
    run_cli: RunCli, home: Path, tmp_path: Path, words: list[str], found: list[str]
) -> None:
    bash = _shell("bash")
    _programs(tmp_path)
    ask = f"""
. {_OF_GIT}
COMP_WORDS=({" ".join(words)}); COMP_CWORD={len(words) - 1}
COMP_LINE="{" ".join(words)}"; COMP_POINT=${{#COMP_LINE}}
__git_wrap__git_main
printf '%s\\n' "${{COMPREPLY[@]}}"
"""
    done = subprocess.run(
        [bash, "-c", run_cli("completion", "bash").out + ask],
        env={"PATH": f"{tmp_path}:/usr/bin:/bin", "HOME": str(home)}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.stdout.split() == found


def test_zsh_completes_git_reflect(run_cli: RunCli, home: Path, tmp_path: Path) -> None:
    """Keys are typed into a separate shell: zsh completes nowhere else."""
    zsh = _shell("zsh")
    _programs(tmp_path)
    (tmp_path / "script").write_text(run_cli("completion", "zsh").out)
    type_keys = f"""
zmodload zsh/zpty zsh/zselect
zpty inner {zsh} -f -i
zpty -w inner 'PS1=; autoload -Uz compinit && compinit -u -D; source {tmp_path}/script; print READY-NOW'
wait_for() {{
    for (( tries = 0; tries < 600; tries++ )); do
        while zpty -r -t inner chunk; do seen+=$chunk; done
        [[ $seen == *$1* ]] && return
        zselect -t 5
    done
    print -r -- "not seen: $1 in ${{(V)seen}}"; exit 1
}}
wait_for $'\nREADY-NOW'
zpty -w -n inner $'git refle\t'; wait_for 'reflect '
zpty -w -n inner $'si\t'; wait_for signals
zpty -w -n inner $'--status prom\t'; wait_for promoted
"""
    env = {"PATH": f"{tmp_path}:/usr/bin:/bin", "HOME": str(home), "TERM": "dumb"}
    done = subprocess.run([zsh, "-f", "-c", type_keys], env=env, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "")
