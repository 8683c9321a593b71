"""bin/reflect-git: a user with only the plugin gets the whole program, installed once and completely."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from reflect_git.cli import environment
from tests.conftest import REPO
from tests.shells import list_shells

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

SKILL = (REPO / "skills" / "reflect" / "SKILL.md").read_text(encoding="utf-8")
TOGGLE = (REPO / "skills" / "reflect-toggle" / "SKILL.md").read_text(encoding="utf-8")
VERSION = "7.8.9"
PROGRAM = """\
import json, os, sys
import widgetry
def main():
    seen = {"args": sys.argv[1:], "widgetry": widgetry.NAME, "root": os.environ["REFLECT_GIT_PLUGIN_ROOT"]}
    print(json.dumps({**seen, "isolated": sys.flags.isolated, "pycache": sys.pycache_prefix}))
    sys.exit(4)
"""


def _wheel(folder: Path) -> None:
    """Build a package to depend on, so that no test needs an index."""
    folder.mkdir()
    info = "widgetry-1.0.dist-info"
    with zipfile.ZipFile(folder / "widgetry-1.0-py3-none-any.whl", "w") as wheel:
        wheel.writestr("widgetry.py", "NAME = 'a widget'\n")
        wheel.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: widgetry\nVersion: 1.0\n")
        wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nGenerator: x\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(f"{info}/RECORD", f"widgetry.py,,\n{info}/METADATA,,\n{info}/WHEEL,,\n{info}/RECORD,,\n")


class Plugin:
    """A plugin folder with a program of ours, and a way to call it as the Bash tool does."""

    def __init__(self, folder: Path, home: Path) -> None:
        self.root = folder / "it's a plugin"
        self.home = home
        self.data = home / ".claude" / "plugins" / "data" / "reflect-git-market"
        for name in ("bin/reflect-git", "hooks/python.sh", "reflect_git/cli/environment.py"):
            (self.root / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(REPO / name, self.root / name)
        (self.root / "reflect_git" / "__init__.py").write_text(f'"""It."""\n\n__version__ = "{VERSION}"\n')
        (self.root / "reflect_git" / "cli" / "start.py").write_text(PROGRAM)
        (self.root / "pyproject.toml").write_text('dependencies = [\n    "widgetry>=1",\n]\n')
        _wheel(folder / "wheels")
        self.env = {
            "PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin", "HOME": str(home), "PIP_NO_INDEX": "1",
            "PIP_CONFIG_FILE": os.devnull, "PIP_FIND_LINKS": str(folder / "wheels"), "CLAUDECODE": "1",
        }  # fmt: skip

    @property
    def program(self) -> Path:
        return self.root / "bin" / "reflect-git"

    def start(self, *args: str, **more: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [self.program, *args], env={**self.env, **more}, cwd=self.home, text=True, start_new_session=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip

    def run(self, *args: str, **more: str) -> tuple[int, str, str]:
        with self.start(*args, **more) as process:
            out, err = process.communicate(timeout=120)
        return process.returncode, out, err

    def environments(self) -> list[str]:
        return sorted(path.name for path in self.data.glob("venv-*"))


@pytest.fixture
def plugin(tmp_path: Path, home: Path) -> Iterator[Plugin]:
    made = Plugin(tmp_path, home)
    made.data.mkdir(parents=True)
    yield made


def _installed(folder: Path, version: str, said: str = "installed") -> Path:
    folder.mkdir()
    program = folder / "reflect-git"
    program.write_text(
        f'#!/bin/sh\n[ "$1" = --version ] && echo "reflect-git {version}" && exit\necho "{said} $*"; exit 4\n'
    )
    program.chmod(0o755)
    return folder


def _pretend_made(plugin: Plugin, version: str = VERSION) -> None:
    (plugin.data / "venv" / "bin").mkdir(parents=True)
    (plugin.data / "venv" / "bin" / "python").symlink_to(sys.executable)
    (plugin.data / "venv" / "reflect-git").write_text(f"{version}\n")


def test_the_dependencies_are_those_of_the_package() -> None:
    listed = tomllib.loads((REPO / "pyproject.toml").read_text(encoding="utf-8"))["project"]["dependencies"]
    assert list(environment.read_dependencies(REPO)) == listed


def test_it_is_made_once_by_whoever_is_first_and_after_a_kill_again(plugin: Plugin) -> None:
    killed = plugin.start("status")
    while not plugin.environments():
        assert killed.poll() is None
        time.sleep(0.02)
    os.killpg(killed.pid, signal.SIGKILL)
    killed.communicate()
    (left,) = plugin.environments()

    both = [plugin.start("signals", "--json", "it's $1") for _ in range(2)]
    answers = [process.communicate(timeout=120) for process in both]
    assert [process.returncode for process in both] == [4, 4]
    for out, _ in answers:
        assert json.loads(out) == {
            "args": ["signals", "--json", "it's $1"], "widgetry": "a widget", "root": str(plugin.root), "isolated": 1,
            "pycache": str(plugin.data / "pycache"),
        }  # fmt: skip
    told = sorted(err for _, err in answers)
    assert [one.count("\n") for one in told] == [1, 1], "each says why it takes long, in one line"
    assert told[0].startswith("reflect-git: fetching its packages") and told[1].startswith("reflect-git: waiting for")
    assert len(plugin.environments()) == 1 and left not in plugin.environments()

    code, _, err = plugin.run("status")
    assert (code, err) == (4, "")
    moved = plugin.root.rename(plugin.root.with_name("updated"))
    plugin.root = moved
    assert json.loads(plugin.run("status")[1])["root"] == str(moved)


@pytest.mark.parametrize("shell", list_shells())
@pytest.mark.parametrize("linked", [False, True])
def test_every_shell_finds_what_is_installed_or_says_what_to_do(
    plugin: Plugin, tmp_path: Path, shell: list[str], linked: bool
) -> None:
    """Through a relative link to another link as well."""
    program = plugin.program
    if linked:
        program = tmp_path / "a link"
        (tmp_path / "deep er").mkdir()
        (tmp_path / "deep er" / "another").symlink_to(plugin.program)
        program.symlink_to("deep er/another")
    folders = [_installed(tmp_path / "older", "7.8.8", "older"), _installed(tmp_path / "same one", VERSION)]
    path = os.pathsep.join(["", ".", *map(str, folders), "/usr/bin:/bin"])

    def run(*words: str, **more: str) -> tuple[int, str, str]:
        command, env = [*shell, str(program), *words], {**plugin.env, **more}
        done = subprocess.run(
            command, env=env, cwd=plugin.home, capture_output=True, text=True, timeout=60, check=False
        )
        return done.returncode, done.stdout, done.stderr

    assert run("status", "it's $1", "", PATH=path) == (4, "installed status it's $1 \n", "")
    assert run("status", PATH=path, HOME="", CLAUDE_CONFIG_DIR="") == (
        1, "", "error: HOME is not set\nhint: set it to your home folder\n",
    )  # fmt: skip
    code, out, err = run("list", "--for-skill", PATH="/usr/bin:/bin", CLAUDE_PROJECT_DIR="/")
    assert (code, err) == (1, "") and out.startswith("error: reflect-git has no environment yet")
    _pretend_made(plugin)
    code, out, err = run("status", PATH=path)
    assert "No module named 'widgetry'" in err, "the plugin's own program was started"


def test_offline_it_says_what_to_run_and_leaves_nothing_half_made(plugin: Plugin, tmp_path: Path) -> None:
    code, out, err = plugin.run("status", "--json", PIP_FIND_LINKS=str(tmp_path))
    assert (code, out) == (1, "")
    _, error, hint = err.splitlines()
    assert error.startswith("error: the packages of reflect-git could not be fetched")
    assert hint.endswith(f"'{plugin.program}' status")
    assert (plugin.environments(), (plugin.data / "venv").exists()) == ([], False)


def _skill_runs(plugin: Plugin, skill: str = SKILL, more_words: str = "", **more: str) -> str:
    (command,) = [line[2:-1] for line in skill.splitlines() if line.startswith("!`")]
    command = command.replace(" --for-skill", f" --for-skill{more_words}", 1)
    env = {**plugin.env, "PATH": f"{plugin.program.parent}:{plugin.env['PATH']}", **more}
    done = subprocess.run(["/bin/sh", "-c", command], env=env, cwd=plugin.home, capture_output=True, check=True)
    return done.stdout.decode()


@pytest.mark.parametrize("skill", [SKILL, TOGGLE], ids=["reflect", "reflect-toggle"])
def test_a_skill_says_that_packages_have_to_be_fetched_before_it_fetches_them(plugin: Plugin, skill: str) -> None:
    """The client shows a command's output only after it has ended, so it ends before the download begins."""
    (notice,) = re.findall(r'If it says "(.*)", tell the user that line before you', skill)
    assert _skill_runs(plugin, skill).splitlines() == [notice]
    assert os.listdir(plugin.data) == ["python"], "nothing was fetched, and nothing begun"


def test_the_command_that_a_skill_names_fetches_the_packages(plugin: Plugin) -> None:
    (command,) = [line.strip() for line in SKILL.splitlines() if line.endswith(" --fetch")]
    code, out, err = plugin.run(*command.split()[1:])
    notice, answer = out.splitlines()
    assert notice == f"reflect-git: fetching its packages into '{plugin.data}', once; this can take a minute"
    assert (code, json.loads(answer)["args"], err) == (4, ["candidates", "--for-skill"], "")
    assert plugin.run(*command.split()[1:])[1].splitlines() == [answer], "and says nothing of it the next time"
    assert _skill_runs(plugin).splitlines()[0] == answer


def test_the_fetch_is_announced_while_it_is_waited_for(plugin: Plugin) -> None:
    process = plugin.start("status")
    assert process.stderr
    assert process.stderr.readline().startswith("reflect-git: fetching its packages")
    assert not (plugin.data / "venv").exists(), "it is said before, not afterwards"
    process.communicate(timeout=120)


def test_words_that_a_person_gives_stay_as_they_are(plugin: Plugin) -> None:
    _pretend_made(plugin)
    (plugin.root / "reflect_git" / "cli" / "start.py").write_text(
        PROGRAM.replace("widgetry", "json", 1).replace("widgetry.NAME", "1")
    )
    assert json.loads(plugin.run("capture", "it's", "--fetch", "")[1])["args"] == ["capture", "it's", "--fetch", ""]
    words = ("candidates", "a  b", "--for-skill", "", "$x")
    assert json.loads(plugin.run(*words, "--fetch")[1])["args"] == list(words)


def test_a_skill_is_told_of_it_with_the_command_that_mends_it(plugin: Plugin, tmp_path: Path) -> None:
    told = _skill_runs(plugin, more_words=" --fetch", PIP_FIND_LINKS=str(tmp_path))
    assert "error: the packages of reflect-git could not be fetched" in told
    assert f"hint: run, with a network: '{plugin.program}' status\n" in told
    assert "does not run here" in told and "doctor" not in told


def test_a_python_without_venv_is_named(plugin: Plugin, tmp_path: Path) -> None:
    folder = tmp_path / "debian"
    folder.mkdir()
    bare = folder / "python3"
    bare.write_text(
        f'#!/bin/sh\ncase "$*" in *"-m venv"*) exit 1 ;; *sys.executable*) echo "{bare}" ;;'
        f" *) exec '{sys.executable}' \"$@\" ;; esac\n"
    )
    bare.chmod(0o755)
    script = (plugin.root / "reflect_git" / "cli" / "environment.py").read_text(encoding="utf-8")
    # `exec` starts the real interpreter, which has venv; the script must see the name of the wrapper.
    script = script.replace("import sys\n", f"import sys\nsys.executable = '{bare}'\n", 1)
    (plugin.root / "reflect_git" / "cli" / "environment.py").write_text(script, encoding="utf-8")
    code, out, err = plugin.run("status", PATH=f"{folder}:/usr/bin:/bin")
    assert (code, out) == (1, "")
    assert f"error: '{bare}' cannot make environments" in err and "python3-venv" in err


def test_no_hook_makes_it(plugin: Plugin) -> None:
    code, out, err = plugin.run("status", CLAUDE_PROJECT_DIR=str(plugin.home))
    assert (code, out) == (1, "")
    assert "a hook does not make one" in err
    assert os.listdir(plugin.data) == []
    _pretend_made(plugin)
    assert "No module named 'widgetry'" in plugin.run("status", CLAUDE_PROJECT_DIR=str(plugin.home))[2]


def test_an_installed_one_of_this_version_is_used(plugin: Plugin, tmp_path: Path) -> None:
    old, new = _installed(tmp_path / "old", "0.0.1"), _installed(tmp_path / "new", VERSION)
    path = f"{plugin.root / 'bin'}:{old}:{new}:/usr/bin:/bin"
    assert plugin.run("status", "--json", PATH=path) == (4, "installed status --json\n", "")
    assert plugin.environments() == []


def test_two_plugins_do_not_look_for_each_other_for_ever(plugin: Plugin, tmp_path: Path, home: Path) -> None:
    (tmp_path / "second").mkdir()
    other = Plugin(tmp_path / "second", home)
    path = f"{other.program.parent}:{plugin.program.parent}:/usr/bin:/bin"
    code, _, err = plugin.run("status", PATH=path, CLAUDE_PROJECT_DIR="/hook")
    assert (code, err.count("error:")) == (1, 1)


@pytest.mark.parametrize("entry", [".", "bin", "{home}/bin"])
def test_what_lies_in_the_folder_one_works_in_is_not_it(plugin: Plugin, entry: str) -> None:
    _installed(plugin.home / "bin", VERSION, "trapped")
    shutil.copy(plugin.home / "bin" / "reflect-git", plugin.home / "reflect-git")
    path = f"{entry.format(home=plugin.home)}:/usr/bin:/bin"
    assert "trapped" not in plugin.run("status", PATH=path, CLAUDE_PROJECT_DIR="/hook")[1]


def test_the_data_of_another_version_is_made_anew_and_that_with_an_environment_goes_first(plugin: Plugin) -> None:
    _pretend_made(plugin, "0.0.1")
    hook = {"CLAUDE_PROJECT_DIR": "/hook"}
    assert "no environment yet" in plugin.run("status", **hook)[2]
    (plugin.data / "venv" / "reflect-git").write_text(f"{VERSION}\n")
    (plugin.data.parent / "reflect-git-inline").mkdir()
    assert "widgetry" in plugin.run("status", **hook)[2]
    assert "no environment yet" in plugin.run("status", CLAUDE_PLUGIN_DATA=str(plugin.home / "other"), **hook)[2]


def test_called_through_a_link_it_finds_its_plugin(plugin: Plugin, tmp_path: Path) -> None:
    _pretend_made(plugin)
    link = tmp_path / "linked"
    link.symlink_to(plugin.program)
    done = subprocess.run([link, "status"], env=plugin.env, capture_output=True, text=True, check=False)
    assert "widgetry" in done.stderr


def test_without_a_home_it_says_so(plugin: Plugin) -> None:
    code, out, err = plugin.run("status", HOME="")
    assert (code, out, err.splitlines()[0]) == (1, "", "error: HOME is not set")
