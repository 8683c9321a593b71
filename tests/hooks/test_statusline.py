"""The status line: one line or nothing, at once, and right again at the next turn."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import REPO, RunCli, wait_for_background
from tests.sessions import wait_for
from tests.store.probe import capture, opened

LINE = [sys.executable, "-I", "-S", str(REPO / "hooks" / "statusline.py")]


def shown(**env: str) -> str:
    done = subprocess.run(
        LINE, input=b"{}", env={**os.environ, **env}, capture_output=True, check=False, timeout=60
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, b"")
    return done.stdout.decode()


def test_without_a_store_nothing_is_shown_and_none_is_made(store_home: Path) -> None:
    assert shown() == ""
    assert not store_home.exists()


def test_it_shows_what_status_counts(store_home: Path, home: Path, run_cli: RunCli) -> None:
    store = opened(store_home)
    capture(store, "use pnpm")
    assert shown() == ""  # nobody has counted yet; it has it done in the background
    wait_for(lambda: shown() == "✎ 1\n", "the first count")
    capture(store, "use tabs")
    wait_for(lambda: shown() == "✎ 2\n", "a capture makes the old count old")
    assert run_cli("status", "--format", "statusline").out == "✎ 2\n"
    wait_for_background(home)


def test_a_new_day_makes_the_old_line_old(store_home: Path, home: Path) -> None:
    capture(opened(store_home), "use pnpm")
    shown()
    wait_for_background(home)
    kept = store_home / ".git/reflect/cache/glance"
    lines = kept.read_text().split("\n")
    kept.write_text("\n".join([*lines[:2], "2020-01-01", lines[3], "old"]))
    assert shown() == "old\n"
    wait_for(lambda: shown() == "✎ 1\n", "the line of today")


@pytest.mark.parametrize("text", ["", "\n", "x\ny\n", "../../../etc\nz\n\n\n\n", "\0\n\0\n\0\n\0\n"])
def test_a_spoilt_file_is_made_anew(store_home: Path, text: str) -> None:
    capture(opened(store_home), "use pnpm")
    kept = store_home / ".git/reflect/cache/glance"
    kept.write_text(text)
    wait_for(lambda: shown() == "✎ 1\n", "a right line")


def test_a_store_elsewhere(home: Path, tmp_path: Path) -> None:
    for place, env in ((tmp_path / "a", {"REFLECT_GIT_HOME": str(tmp_path / "a")}), (home / "b", {})):
        capture(opened(place), "use pnpm")
        (home / ".gitconfig").write_text("[reflect]\n\thome = ~/b\n")
        wait_for(lambda env=env: shown(**env) == "✎ 1\n", f"the line of '{place}'")  # type: ignore[misc]


def test_the_setup_line_is_what_the_client_reads(run_cli: RunCli) -> None:
    setting = json.loads("{" + run_cli("status", "--format", "statusline-setup").out + "}")
    assert setting["statusLine"]["type"] == "command"
    done = subprocess.run(["sh", "-c", setting["statusLine"]["command"]], capture_output=True, check=False, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_what_is_captured_while_somebody_counts_makes_the_count_old(
    store_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from reflect_git.store import glance

    store = opened(store_home)
    capture(store, "use pnpm")
    count = glance.count

    def slowly(*given: Any) -> glance.Glance:
        found = count(*given)
        capture(opened(store_home), "use tabs")
        return found

    monkeypatch.setattr(glance, "count", slowly)
    glance.refresh(store, time.time())
    assert shown() == "✎ 1\n"
    wait_for(lambda: shown() == "✎ 2\n", "a count of both")
