"""The launcher finds a safe interpreter, once, and never disturbs the session."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.conftest import REPO
from tests.shells import list_shells, make_busybox_tools

PYTHON_FOLDER = str(Path(sys.executable).parent)

RECORDER = """\
import os, sys, time
seen = repr((sys.argv[1:], sys.stdin.read(), sys.flags.isolated, sys.flags.no_site, sys.pycache_prefix))
time.sleep(float(os.environ.get("SLOWLY", "0")))
with open(os.environ["SEEN"], "a", encoding="utf-8") as file:
    file.write(seen + "\\n")
os._exit(0)
"""


@dataclass
class Launcher:
    """A plugin's hooks folder with a hook.py that records how it was run."""

    folder: Path
    data: Path
    shell: list[str]
    env: dict[str, str] = field(default_factory=dict)

    def run(self, event: str, stdin: str = "{}", cwd: Path | None = None, **more: str | None) -> str:
        """Return what the launcher printed; it must exit with 0 and print no errors."""
        given = {
            "PATH": f"{PYTHON_FOLDER}:/usr/bin:/bin", "HOME": str(self.folder.parent),
            "CLAUDE_PLUGIN_DATA": str(self.data), "SEEN": str(self.folder / "seen"), **self.env, **more,
        }  # fmt: skip
        env = {name: value for name, value in given.items() if value is not None}
        done = subprocess.run(
            [*self.shell, str(self.folder / "launch.sh"), event], input=stdin.encode(), cwd=cwd or self.folder,
            env=env, capture_output=True, timeout=60, check=False,
        )  # fmt: skip
        assert (done.returncode, done.stderr) == (0, b"")
        return done.stdout.decode()

    def seen(self) -> list[str]:
        path = self.folder / "seen"
        lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
        path.unlink(missing_ok=True)
        return lines

    def kept(self) -> str:
        return (self.data / "python").read_text(encoding="utf-8").strip()


@pytest.fixture(params=list_shells())
def launcher(request: pytest.FixtureRequest, tmp_path: Path) -> Launcher:
    folder = tmp_path / 'it\'s a "plugin" $HOME' / "hooks"
    folder.mkdir(parents=True)
    for name in ("launch.sh", "python.sh"):
        shutil.copy(REPO / "hooks" / name, folder / name)
    (folder / "hook.py").write_text(RECORDER)
    return Launcher(folder, tmp_path / "data of it's", request.param)


def _program(path: Path, body: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return path


def _trap(path: Path, sprung: Path) -> Path:
    return _program(path, f": >'{sprung}'; exec '{sys.executable}' \"$@\"")


def test_it_is_short() -> None:
    assert len((REPO / "hooks" / "launch.sh").read_text(encoding="utf-8").splitlines()) <= 20


def test_it_becomes_the_hook_with_its_event_and_its_input(launcher: Launcher) -> None:
    assert launcher.run("PreCompact", '{"a": 1}') == ""
    prefix = str(launcher.data / "pycache")
    assert launcher.seen() == [repr((["PreCompact"], '{"a": 1}', 1, 1, prefix))]
    kept = Path(launcher.kept())
    assert kept.is_absolute() and os.access(kept, os.X_OK)
    assert (launcher.data.stat().st_mode & 0o777, (launcher.data / "python").stat().st_mode & 0o777) == (0o700, 0o600)
    assert sorted(path.name for path in launcher.data.glob("python*")) == ["python"]


def test_the_interpreter_is_looked_for_once(launcher: Launcher, tmp_path: Path) -> None:
    launcher.run("PreCompact")
    sprung = tmp_path / "sprung"
    _trap(tmp_path / "first" / "python3", sprung)
    launcher.run("PreCompact", PATH=f"{tmp_path / 'first'}:/usr/bin:/bin")
    assert (len(launcher.seen()), sprung.exists()) == (2, False)


def test_the_real_interpreter_behind_a_shim_is_kept(launcher: Launcher, tmp_path: Path) -> None:
    _program(tmp_path / "shims" / "python3", f"exec '{sys.executable}' \"$@\"")
    launcher.run("PreCompact", PATH=f"{tmp_path / 'shims'}:/usr/bin:/bin")
    assert os.path.realpath(launcher.kept()) == os.path.realpath(sys.executable)


def test_an_older_python_and_a_broken_one_are_passed_over(launcher: Launcher, tmp_path: Path) -> None:
    _program(tmp_path / "old" / "python3", "echo")  # what Python 3.8 answers
    _program(tmp_path / "broken" / "python3", "exit 127")
    _program(tmp_path / "odd" / "python3", "echo relative/python3")
    folders = [str(tmp_path / name) for name in ("old", "broken", "odd")]
    launcher.run("PreCompact", PATH=":".join([*folders, PYTHON_FOLDER]))
    assert len(launcher.seen()) == 1
    assert os.path.realpath(launcher.kept()) == os.path.realpath(sys.executable)


@pytest.mark.parametrize("lost", ["gone", "not a program", "a folder", "empty"])
def test_a_kept_path_that_leads_nowhere_is_looked_for_again(launcher: Launcher, tmp_path: Path, lost: str) -> None:
    launcher.data.mkdir()
    (tmp_path / "file").touch()
    kept = {"gone": tmp_path / "gone", "not a program": tmp_path / "file", "a folder": tmp_path, "empty": ""}[lost]
    (launcher.data / "python").write_text(f"{kept}\n")
    launcher.run("PreCompact")
    assert len(launcher.seen()) == 1
    assert os.path.realpath(launcher.kept()) == os.path.realpath(sys.executable)


def test_a_kept_interpreter_that_no_longer_starts_is_dropped_at_the_next_session(
    launcher: Launcher, tmp_path: Path
) -> None:
    launcher.data.mkdir()
    (launcher.data / "python").write_text(f"{_program(tmp_path / 'python3', 'echo oops >&2; exit 127')}\n")
    assert launcher.run("SessionStart") == ""
    assert not (launcher.data / "python").exists()
    launcher.run("PreCompact")
    assert len(launcher.seen()) == 1


@pytest.mark.parametrize("event", ["PreCompact", "SessionStart", "SessionEnd"])
def test_what_cannot_be_executed_at_all_ends_well(launcher: Launcher, tmp_path: Path, event: str) -> None:
    """busybox and zsh end a script whose `exec` fails, without its trap: the entry of the hook covers that."""
    launcher.data.mkdir()
    (tmp_path / "python3").write_bytes(b"\x7fELF and nothing more")
    (tmp_path / "python3").chmod(0o755)
    (launcher.data / "python").write_text(f"{tmp_path / 'python3'}\n")
    if event == "PreCompact":
        (group,) = json.loads((REPO / "hooks" / "hooks.json").read_bytes())["hooks"][event]
        command = group["hooks"][0]["command"].replace("/bin/sh", shlex.join(launcher.shell))
        env = {"CLAUDE_PLUGIN_ROOT": str(launcher.folder.parent), "CLAUDE_PLUGIN_DATA": str(launcher.data)}
        done = subprocess.run(
            [*launcher.shell, "-c", command], input=b"{}", env=env, capture_output=True, timeout=60, check=False
        )
        assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
        return
    assert launcher.run(event) == ""


def _without_any_python(launcher: Launcher, tmp_path: Path) -> None:
    """Search only the PATH: the usual locations belong to the machine."""
    script = launcher.folder / "python.sh"
    text = script.read_text(encoding="utf-8")
    usual = " /usr/local/bin /opt/homebrew/bin /usr/bin /bin;"
    assert usual in text
    script.write_text(text.replace(usual, ";"), encoding="utf-8")
    launcher.env["PATH"] = str(tmp_path / "nothing")


def test_without_python_a_session_is_told_once_and_all_else_is_silent(launcher: Launcher, tmp_path: Path) -> None:
    _without_any_python(launcher, tmp_path)
    said = json.loads(launcher.run("SessionStart"))
    assert list(said) == ["systemMessage"] and "python3" in said["systemMessage"]
    for event in ("compact", "PreCompact", "PostToolUseFailure", "SessionEnd", "StopFailure", "PostToolUse", ""):
        assert launcher.run(event) == ""
    assert not (launcher.data / "python").exists()


def test_the_stub_of_macos_is_asked_for_first(launcher: Launcher, tmp_path: Path) -> None:
    _without_any_python(launcher, tmp_path)
    sprung, folder = tmp_path / "sprung", tmp_path / "macos"
    _trap(folder / "python3", sprung)
    launcher.env["PATH"] = str(folder)
    _program(folder / "xcode-select", "exit 2")
    assert "systemMessage" in launcher.run("SessionStart")
    assert not sprung.exists()
    _program(folder / "xcode-select", '[ "$1" = -p ] && echo /Library/Developer')
    assert launcher.run("SessionStart") == ""
    assert sprung.exists()


def test_the_tools_of_another_system_do(launcher: Launcher, tmp_path: Path) -> None:
    """As on macOS, whose tools have no option of GNU's. There is no other tool in PATH."""
    tools = make_busybox_tools(tmp_path / "tools")
    for name in ("launch.sh", "python.sh"):
        script = launcher.folder / name
        text = script.read_text(encoding="utf-8")
        text = text.replace("PATH=/usr/bin:/bin\n", f"PATH={tools}\n").replace("/bin/rm ", f"{tools}/rm ")
        script.write_text(text.replace("/usr/local/bin /opt/homebrew/bin /usr/bin /bin;", f"{tools};"))
    for _ in range(2):
        launcher.run("SessionStart", PATH=f"{PYTHON_FOLDER}:{tools}")
    assert len(launcher.seen()) == 2 and os.access(launcher.kept(), os.X_OK)
    (launcher.data / "python").write_text(f"{_program(tmp_path / 'python3', 'exit 127')}\n")
    launcher.run("SessionStart", PATH=f"{PYTHON_FOLDER}:{tools}")
    assert not (launcher.data / "python").exists(), "rm was found"


@pytest.mark.parametrize("entry", [".", "", "bin", "./bin", "{project}", "{project}/bin", "{link}"])
def test_nothing_that_the_project_put_into_path_is_run(launcher: Launcher, tmp_path: Path, entry: str) -> None:
    project, sprung = tmp_path / "project", tmp_path / "sprung"
    for folder in (project, project / "bin"):
        for name in ("python3", "ls", "mkdir", "mv", "rm", "sh", "printf", "shopt"):
            _trap(folder / name, sprung)
    (tmp_path / "link").symlink_to(project / "bin")
    hostile = entry.format(project=project, link=tmp_path / "link")
    launcher.run(
        "SessionStart", cwd=project, PATH=f"{hostile}:{PYTHON_FOLDER}:/usr/bin:/bin", CLAUDE_PROJECT_DIR=str(project)
    )
    assert (len(launcher.seen()), sprung.exists()) == (1, False)


@pytest.mark.parametrize("entry", [".", "", "bin"])
def test_nor_what_lies_where_the_session_went_to(launcher: Launcher, tmp_path: Path, entry: str) -> None:
    sprung = tmp_path / "sprung"
    for name in ("python3", "bin/python3"):
        _trap(tmp_path / "elsewhere" / name, sprung)
    path, project = f"{entry}:{PYTHON_FOLDER}:/usr/bin:/bin", str(launcher.folder)
    launcher.run("SessionStart", cwd=tmp_path / "elsewhere", PATH=path, CLAUDE_PROJECT_DIR=project)
    assert (len(launcher.seen()), sprung.exists()) == (1, False)


def test_a_folder_that_anybody_can_write_to_is_passed_over(launcher: Launcher, tmp_path: Path) -> None:
    sprung = tmp_path / "sprung"
    _trap(tmp_path / "shared" / "python3", sprung)
    (tmp_path / "shared").chmod(0o777)
    launcher.run("PreCompact", PATH=f"{tmp_path / 'shared'}:{PYTHON_FOLDER}:/usr/bin:/bin")
    assert (len(launcher.seen()), sprung.exists()) == (1, False)


@pytest.mark.parametrize("name", ["CLAUDE_PLUGIN_DATA", "XDG_CACHE_HOME", "HOME"])
def test_a_relative_place_is_not_where_an_interpreter_is_kept(launcher: Launcher, tmp_path: Path, name: str) -> None:
    project, sprung = tmp_path / "project", tmp_path / "sprung"
    trap = _trap(project / "trap", sprung)
    for place in ("here", "here/reflect-git", "here/.cache/reflect-git"):
        (project / place).mkdir(parents=True, exist_ok=True)
        (project / place / "python").write_text(f"{trap}\n")
    places: dict[str, str | None] = {**dict.fromkeys(("CLAUDE_PLUGIN_DATA", "XDG_CACHE_HOME", "HOME")), name: "here"}
    launcher.run("PreCompact", "{}", project, CLAUDE_PROJECT_DIR=str(project), **places)
    assert (len(launcher.seen()), sprung.exists()) == (1, False)


def test_without_a_plugin_the_cache_of_the_user_keeps_it(launcher: Launcher) -> None:
    home = launcher.folder.parent
    launcher.run("PreCompact", CLAUDE_PLUGIN_DATA=None)
    assert (home / ".cache" / "reflect-git" / "python").is_file()
    launcher.run("PreCompact", CLAUDE_PLUGIN_DATA=None, XDG_CACHE_HOME=str(home / "xdg"))
    assert (home / "xdg" / "reflect-git" / "python").is_file()
    assert len(launcher.seen()) == 2


def test_no_home_at_all_still_runs_the_hook(launcher: Launcher) -> None:
    launcher.run("PreCompact", CLAUDE_PLUGIN_DATA=None, HOME=None)
    assert len(launcher.seen()) == 1


def test_a_place_that_cannot_be_written_to_costs_a_search_and_nothing_else(launcher: Launcher, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for _ in range(2):  # below a file, where even root cannot write
        launcher.run("PreCompact", CLAUDE_PLUGIN_DATA=str(tmp_path / "file" / "data"))
    assert len(launcher.seen()) == 2


def test_the_end_of_a_session_is_not_waited_for_and_keeps_its_input(launcher: Launcher) -> None:
    launcher.run("PreCompact")
    launcher.seen()
    # Its output is read to the end: if the hook had kept a pipe of ours, this would wait for it.
    launcher.run("SessionEnd", '{"reason": "other"}', SLOWLY="2")
    assert launcher.seen() == []
    deadline = time.monotonic() + 30
    while not (launcher.folder / "seen").exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    time.sleep(0.05)
    assert launcher.seen() == [repr((["SessionEnd"], '{"reason": "other"}', 1, 1, str(launcher.data / "pycache")))]


@pytest.mark.parametrize("missing", ["launch.sh", "python.sh", "hook.py"])
def test_a_plugin_that_is_half_there_is_silent(launcher: Launcher, missing: str) -> None:
    (launcher.folder / missing).unlink()
    for groups in json.loads((REPO / "hooks" / "hooks.json").read_bytes())["hooks"].values():
        for group in groups:
            env = {
                "PATH": f"{PYTHON_FOLDER}:/usr/bin:/bin", "CLAUDE_PLUGIN_ROOT": str(launcher.folder.parent),
                "CLAUDE_PLUGIN_DATA": str(launcher.data), "HOME": str(launcher.folder),
            }  # fmt: skip
            command = [*launcher.shell, "-c", group["hooks"][0]["command"]]
            done = subprocess.run(command, input=b"{}", env=env, capture_output=True, timeout=60, check=False)
            assert (done.returncode, done.stderr) == (0, b"")
            assert done.stdout == b"" or (missing == "python.sh" and b"systemMessage" in done.stdout)
