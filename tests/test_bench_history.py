"""The bench of history measures correct answers; with 300 commits, because the figures are not used here."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

from bench import generate, history
from bench.reading import BASELINE, PROGRAM
from bench.setting import Setting
from bench.timing import BenchError
from reflect_git.store.repository import MAIN


@pytest.fixture
def setting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Setting:
    """Generate stores in the folder of this test, not in the shared temporary folder."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(history, "ROUNDS", 3)
    monkeypatch.setattr(history, "SIZES", (300,))
    work = tmp_path / "work"
    work.mkdir()
    return Setting(work, generate.make_project(work / "shop"), quick=True)


def test_a_generated_past_is_sound(setting: Setting) -> None:
    store, rule = history.copy_store(300, setting.create_home("copy"))
    assert store.git.fsck().code == 0
    assert store.git.run("rev-list", "--count", MAIN).out.strip() == b"301"
    assert rule.encode() in Path(store.git_dir, history.FILE).read_bytes()


@pytest.mark.skipif(not PROGRAM.exists(), reason="the console program is not installed beside this Python")
def test_each_answer_is_measured_beside_its_git_command(setting: Setting, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(history, "CAPPED_SIZE", 300)
    (table,) = history.tables(setting)
    assert [row.name for row in table.rows] == [
        BASELINE, "git log for log -n 20 at 300", "log -n 20 at 300", "git log for why CLAUDE.md:3 at 300",
        "why CLAUDE.md:3 at 300",
    ]  # fmt: skip
    assert [row.ceiling for row in table.rows] == [None, None, history.CEILING, None, history.CEILING]


@pytest.mark.skipif(not PROGRAM.exists(), reason="the console program is not installed beside this Python")
def test_another_answer_is_not_measured(setting: Setting, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(history, "_find_line", lambda *_: 9)
    with pytest.raises(BenchError, match="something else than was asked for"):
        history.tables(setting)
