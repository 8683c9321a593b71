"""The modules of a failure hook in one file: used while it holds, never in the way."""

from __future__ import annotations

import ast
import json
import marshal
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import REPO, wait_for_background
from tests.hooks.test_hook_input import captured, event, log_lines
from tests.sessions import wait_for

# Whether what follows comes from the bundle, and what the failure hook then is.
ASK = """\
import sys
sys.path.append({root!r})
from reflect_git import bundle
print(bundle.use())
from reflect_git import hook
print(type(hook.__loader__).__name__, hook.__file__, hook.INPUT_LIMIT)
from reflect_git.workflow import sessions
print(sessions.__file__)
"""


@dataclass
class Plugin:
    """A checkout of its own and the folder where its byte code is kept."""

    root: Path
    cache: Path

    def hook(self, name: str = "PostToolUseFailure", **more: Any) -> None:
        self.python(str(self.root / "hooks" / "hook.py"), name, stdin=json.dumps(event(hook_event_name=name, **more)))

    def python(self, *words: str, stdin: str = "") -> str:
        command = [sys.executable, "-I", "-S", "-X", f"pycache_prefix={self.cache}", *words]
        done = subprocess.run(command, input=stdin, capture_output=True, text=True, check=False, timeout=60)
        assert (done.returncode, done.stderr) == (0, "")
        return done.stdout

    def ask(self) -> list[str]:
        return self.python("-c", ASK.format(root=str(self.root))).splitlines()

    @property
    def bundle(self) -> Path:
        package = self.root / "reflect_git"
        return self.cache / package.relative_to("/") / f"failure-hook.{sys.implementation.cache_tag}"

    def beside(self) -> list[str]:
        """Names of what lies in its folder and is no byte code."""
        return sorted(path.name for path in self.bundle.parent.iterdir() if path.is_file() and path.suffix != ".pyc")


@pytest.fixture
def plugin(tmp_path: Path) -> Plugin:
    root = tmp_path / "plugin"
    for name in ("reflect_git", "hooks", "templates"):
        shutil.copytree(REPO / name, root / name, ignore=shutil.ignore_patterns("__pycache__"))
    return Plugin(root, tmp_path / "pycache")


def test_the_first_failure_writes_it_and_the_second_uses_it(plugin: Plugin, store_home: Path) -> None:
    plugin.hook(tool_use_id="toolu_1")
    assert plugin.bundle.stat().st_mode & 0o777 == 0o600
    before = plugin.bundle.read_bytes()
    plugin.hook(tool_use_id="toolu_2")
    assert plugin.bundle.read_bytes() == before
    assert plugin.beside() == [plugin.bundle.name]
    assert (len(captured(store_home)), log_lines(store_home)) == (2, [])


def test_it_holds_what_a_failure_needs_and_the_rest_is_found_as_ever(plugin: Plugin, store_home: Path) -> None:
    plugin.hook()
    used, hook, sessions = plugin.ask()
    package = plugin.root / "reflect_git"
    assert (used, hook) == ("True", f"Bundle {package / 'hook.py'} {1 << 20}")
    assert sessions == str(package / "workflow" / "sessions.py")
    _, modules = marshal.loads(plugin.bundle.read_bytes())
    assert {"reflect_git.hook", "reflect_git.store.inbox", "reflect_git.capture.draft"} <= set(modules)
    assert {"reflect_git", "reflect_git.bundle", "reflect_git.workflow.sessions"} & set(modules) == set()


def start_session(plugin: Plugin, tmp_path: Path) -> None:
    transcript = tmp_path / "t.jsonl"
    transcript.write_text("", encoding="utf-8")
    plugin.hook("SessionStart", transcript_path=str(transcript), cwd=str(tmp_path))


def test_a_session_that_starts_writes_it_when_the_client_has_gone_on(
    plugin: Plugin, home: Path, store_home: Path, tmp_path: Path
) -> None:
    start_session(plugin, tmp_path)
    wait_for(plugin.bundle.exists, "the bundle")
    wait_for_background(home)  # while it has the lock, captures are pending
    before = plugin.bundle.read_bytes()
    plugin.hook()
    plugin.bundle.unlink()
    plugin.hook(tool_use_id="toolu_2")
    assert marshal.loads(plugin.bundle.read_bytes()) == marshal.loads(before)
    assert (len(captured(store_home)), log_lines(store_home)) == (2, [])


def test_one_that_holds_is_left_alone(plugin: Plugin, store_home: Path, tmp_path: Path) -> None:
    plugin.hook()
    before = plugin.bundle.stat()
    start_session(plugin, tmp_path)
    plugin.hook("PreCompact", transcript_path=str(tmp_path / "t.jsonl"), cwd=str(tmp_path))
    assert (plugin.bundle.stat().st_ino, log_lines(store_home)) == (before.st_ino, [])


def test_half_an_update_has_none_and_the_session_starts_as_ever(
    plugin: Plugin, store_home: Path, tmp_path: Path
) -> None:
    (plugin.root / "reflect_git" / "capture" / "failure.py").unlink()
    start_session(plugin, tmp_path)
    wait_for(lambda: list((store_home / ".git/reflect/cache").glob("glance-*")), "what a session's start leaves")
    assert (plugin.bundle.exists(), log_lines(store_home)) == (False, [])


def test_what_a_kill_left_is_swept(plugin: Plugin, store_home: Path) -> None:
    plugin.bundle.parent.mkdir(parents=True)
    (plugin.bundle.parent / f"{plugin.bundle.name}.4711").write_bytes(b"half")
    plugin.hook()
    assert plugin.beside() == [plugin.bundle.name]


def test_it_holds_all_that_a_failure_loads(plugin: Plugin, store_home: Path) -> None:
    plugin.hook(tool_use_id="toolu_1")
    program = plugin.root / "hooks" / "hook.py"
    asking = "[name for name in sys.modules if name.startswith('reflect_git.')]"
    end = "os._exit(0)  # nothing"
    program.write_text(
        program.read_text(encoding="utf-8").replace(end, f"print({asking}, flush=True)\n{end}"), encoding="utf-8"
    )
    said = plugin.python(str(program), "PostToolUseFailure", stdin=json.dumps(event(tool_use_id="toolu_2")))
    _, modules = marshal.loads(plugin.bundle.read_bytes())
    assert set(ast.literal_eval(said)) - {"reflect_git.bundle"} == set(modules)
    assert len(captured(store_home)) == 2


def test_a_changed_source_is_seen_at_once(plugin: Plugin, store_home: Path) -> None:
    plugin.hook(tool_use_id="toolu_1")
    source = plugin.root / "reflect_git" / "hook.py"
    text = source.read_text(encoding="utf-8")
    source.write_text(text.replace("INPUT_LIMIT = 1 << 20", "INPUT_LIMIT = 1 << 19"), encoding="utf-8")
    assert plugin.ask()[:2] == ["False", f"SourceFileLoader {source} {1 << 19}"]
    plugin.hook(tool_use_id="toolu_2")
    assert plugin.ask()[:2] == ["True", f"Bundle {source} {1 << 19}"]
    assert len(captured(store_home)) == 2


def test_byte_code_of_another_source_is_not_bundled(plugin: Plugin, store_home: Path) -> None:
    """A file that was written anew while the hook ran: what Python has compiled is not what stands there."""
    plugin.hook()
    plugin.bundle.unlink()
    late = f"import os, sys; sys.path.append({str(plugin.root)!r}); from reflect_git import bundle, hook; "
    plugin.python("-c", late + "os.utime(hook.__file__, (1, 1)); bundle.write()")
    assert not plugin.bundle.exists()


def test_another_version_that_shares_the_cache_has_its_own(plugin: Plugin, store_home: Path, tmp_path: Path) -> None:
    plugin.hook(tool_use_id="toolu_1")
    other = Plugin(tmp_path / "next", plugin.cache)
    shutil.copytree(plugin.root, other.root)
    assert other.ask()[:2] == ["False", f"SourceFileLoader {other.root / 'reflect_git' / 'hook.py'} {1 << 20}"]
    other.hook(tool_use_id="toolu_2")
    assert (other.ask()[0], plugin.ask()[0], len(captured(store_home))) == ("True", "True", 2)


def _of_another_python(data: bytes) -> bytes:
    magic, modules = marshal.loads(data)
    return marshal.dumps((bytes(reversed(magic)), modules))


def _damaged(data: bytes) -> bytes:
    """One module's byte code is not what it was; all the rest holds."""
    magic, modules = marshal.loads(data)
    source, stamp, code = modules["reflect_git.store.inbox"]
    return marshal.dumps((magic, {**modules, "reflect_git.store.inbox": (source, stamp, bytes(len(code)))}))


BROKEN = {
    "empty": lambda data: b"",
    "cut": lambda data: data[: len(data) // 2],
    "zeros": lambda data: bytes(len(data)),
    "text": lambda data: b"hello",
    "another shape": lambda data: marshal.dumps([1, 2, 3]),
    "a list": lambda data: marshal.dumps((marshal.loads(data)[0], [1, 2])),
    "no modules": lambda data: marshal.dumps((marshal.loads(data)[0], {"a": 1})),
    "damaged": _damaged,
    "another Python": _of_another_python,
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_one_is_written_again(plugin: Plugin, store_home: Path, name: str) -> None:
    plugin.hook(tool_use_id="toolu_1")
    whole = plugin.bundle.read_bytes()
    plugin.bundle.write_bytes(BROKEN[name](whole))
    plugin.hook(tool_use_id="toolu_2")
    assert (len(captured(store_home)), log_lines(store_home)) == (2, [])
    plugin.hook(tool_use_id="toolu_3")
    assert (plugin.ask()[0], len(captured(store_home)), log_lines(store_home)) == ("True", 3, [])


def test_who_stored_nothing_writes_none(plugin: Plugin, store_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REFLECT_GIT_OFF", "1")
    plugin.hook()
    assert not plugin.bundle.exists()
    monkeypatch.delenv("REFLECT_GIT_OFF")
    plugin.hook()
    assert plugin.ask()[0] == "True"


def test_a_full_disk_leaves_no_scrap(plugin: Plugin, store_home: Path) -> None:
    plugin.hook(tool_use_id="toolu_1")
    plugin.bundle.unlink()
    words = [sys.executable, "-I", "-S", "-X", f"pycache_prefix={plugin.cache}", str(plugin.root / "hooks" / "hook.py")]
    limited = ["/bin/sh", "-c", 'ulimit -f 40; exec "$@"', "sh", *words, "PostToolUseFailure"]
    subprocess.run(limited, input=json.dumps(event(tool_use_id="toolu_2")).encode(), check=True, timeout=60)
    assert (plugin.beside(), len(captured(store_home))) == ([], 2)


def test_without_a_cache_there_is_none(plugin: Plugin, store_home: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-I", "-S", str(plugin.root / "hooks" / "hook.py"), "PostToolUseFailure"]
    before = {path for path in tmp_path.rglob("*") if "__pycache__" not in path.parts and path.is_file()}
    subprocess.run(command, input=json.dumps(event()).encode(), check=True, timeout=60)
    after = {path for path in plugin.root.rglob("*") if "__pycache__" not in path.parts and path.is_file()}
    assert after <= before and len(captured(store_home)) == 1


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_cache_that_cannot_be_written_is_done_without(plugin: Plugin, store_home: Path) -> None:
    plugin.cache.mkdir(mode=0o500)
    plugin.hook()
    assert len(captured(store_home)) == 1
