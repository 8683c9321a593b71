"""The fault machinery: fails where requested, only where allowed, and otherwise does nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from reflect_git.platform import faults, files


@pytest.fixture(autouse=True)
def disarm(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("_mode", None), ("_countdown", 0), ("_trace", "")):
        monkeypatch.setattr(faults, name, value)


def test_nothing_happens_unless_armed(tmp_path: Path) -> None:
    for _ in range(100):
        faults.point("write", str(tmp_path))


def test_the_nth_effect_fails_and_only_it(tmp_path: Path) -> None:
    faults.arm("fail:3", str(tmp_path / "store"), str(tmp_path))
    faults.point("write", "a")
    faults.point("write", "b")
    with pytest.raises(OSError, match="fault injected at rename"):
        faults.point("rename", "c")
    faults.point("write", "d")


def test_passed_effects_are_listed(tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    faults.arm("fail:99", str(tmp_path / "store"), str(tmp_path), str(trace))
    files.write_atomic(str(tmp_path / "file"), b"x")
    assert trace.read_text().splitlines() == ["write file", "sync file", "rename file", f"sync {tmp_path.name}"]


def test_syncing_what_somebody_else_wrote_is_an_effect(tmp_path: Path) -> None:
    (tmp_path / "pack").write_bytes(b"x")
    faults.arm("fail:1", str(tmp_path / "store"), str(tmp_path))
    with pytest.raises(OSError, match="fault injected at sync"):
        files.sync_file(str(tmp_path / "pack"))


@pytest.mark.parametrize("spec", ["", "fail", "fail:", "fail:x", "fail:-1", "maim:1", "kill:1e3", ":1"])
def test_a_spec_that_is_none_arms_nothing(tmp_path: Path, spec: str) -> None:
    faults.arm(spec, str(tmp_path / "store"), str(tmp_path))
    faults.point("write", "a")


@pytest.mark.parametrize(
    "root", ["/home/ada/.claude/reflections", "{tmp}-beside/store", "{tmp}", "{tmp}/../x", "{tmp}/link/x"]
)
def test_a_store_outside_the_temporary_folder_is_never_struck(tmp_path: Path, root: str) -> None:
    (tmp_path / "link").symlink_to("/usr")
    faults.arm("fail:1", root.format(tmp=tmp_path), str(tmp_path))
    faults.point("write", "a")
