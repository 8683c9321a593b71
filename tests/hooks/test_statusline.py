"""The status line: one line or nothing, at once, and correct again at the next turn."""

from __future__ import annotations

import json
import os
import random
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from reflect_git.capture import service, sessions
from reflect_git.guards.check import get_log_path
from reflect_git.records.ids import utc
from reflect_git.store.repository import Store
from tests.conftest import REAL_GIT, REPO, RunCli, wait_for_background
from tests.sessions import wait_until
from tests.store.store_checks import capture as capture_weak
from tests.store.store_checks import open_store

LINE = [sys.executable, "-I", "-S", str(REPO / "hooks" / "statusline.py")]


def capture(store: Store, content: str, **fields: Any) -> None:
    """Capture something that a review asks about."""
    project = service.get_project(store, str(fields.pop("cwd", os.environ["HOME"])))
    capture_weak(store, content, **{"confidence": 2, "trust": "user_typed", "project": project, **fields})


def shown(cwd: Path | None = None, told: bytes = b"{}", **env: str) -> str:
    done = subprocess.run(
        LINE, input=told, env={**os.environ, **env}, cwd=cwd or os.environ["HOME"], capture_output=True, check=False,
        timeout=60,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, b"")
    return done.stdout.decode()


def kept_in(store_home: Path) -> Path:
    (found,) = (store_home / ".git/reflect/cache").glob("glance-*")
    return found


def test_without_a_store_nothing_is_shown_and_none_is_made(store_home: Path) -> None:
    assert shown() == ""
    assert not store_home.exists()


def test_it_shows_what_status_counts(store_home: Path, home: Path, run_cli: RunCli) -> None:
    store = open_store(store_home)
    capture(store, "use pnpm")
    assert shown() == ""  # nothing is counted yet; it starts a count in the background
    wait_until(lambda: shown() == "✎ 1\n", "the first count")
    capture(store, "use tabs")
    wait_until(lambda: shown() == "✎ 2\n", "a capture makes the old count old")
    assert run_cli("status", "--format", "statusline").out == "✎ 2\n"
    wait_for_background(home)


def test_a_new_day_makes_the_old_line_old(store_home: Path, home: Path) -> None:
    capture(open_store(store_home), "use pnpm")
    shown()
    wait_for_background(home)
    kept = kept_in(store_home)
    lines = kept.read_text().split("\n")
    kept.write_text("\n".join([*lines[:4], "2020-01-01", *lines[5:7], "old", ""]))
    assert shown() == "old\n"
    wait_until(lambda: shown() == "✎ 1\n", "the line of today")


@pytest.mark.parametrize("text", ["", "\n", "x\ny\n", "../../../etc\nz\n\n\n\n", "\0\n\0\n\0\n\0\n"])
def test_a_spoilt_file_is_made_anew(store_home: Path, text: str) -> None:
    capture(open_store(store_home), "use pnpm")
    shown()
    wait_for_background(Path(os.environ["HOME"]))
    kept_in(store_home).write_text(text)
    wait_until(lambda: shown() == "✎ 1\n", "a right line")


def test_a_store_elsewhere(home: Path, tmp_path: Path) -> None:
    for place, env in ((tmp_path / "a", {"REFLECT_GIT_HOME": str(tmp_path / "a")}), (home / "b", {})):
        capture(open_store(place), "use pnpm")
        (home / ".gitconfig").write_text("[reflect]\n\thome = ~/b\n")
        wait_until(lambda env=env: shown(**env) == "✎ 1\n", f"the line of '{place}'")  # type: ignore[misc]


def test_the_setup_line_is_what_the_client_reads(run_cli: RunCli) -> None:
    setting = json.loads("{" + run_cli("status", "--format", "statusline-setup").out + "}")
    assert setting["statusLine"]["type"] == "command"
    done = subprocess.run(["sh", "-c", setting["statusLine"]["command"]], capture_output=True, check=False, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_what_is_captured_while_somebody_counts_makes_the_count_old(
    store_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from reflect_git.rules import queue
    from reflect_git.store.reading import waiting_counts

    store = open_store(store_home)
    capture(store, "use pnpm")
    count = waiting_counts.count_waiting

    def slowly(*given: Any) -> waiting_counts.WaitingCounts:
        found = count(*given)
        capture(open_store(store_home), "use tabs")
        return found

    monkeypatch.setattr(waiting_counts, "count_waiting", slowly)
    queue.refresh_counts(os.environ, os.environ["HOME"])
    assert shown() == "✎ 1\n"
    wait_until(lambda: shown() == "✎ 2\n", "a count of both")


def make_project(folder: Path) -> Path:
    folder.mkdir()
    subprocess.run([REAL_GIT, "init", "-q", str(folder)], check=True)
    return folder


def test_it_counts_the_questions_of_a_review_here_and_reaches_zero(
    store_home: Path, home: Path, tmp_path: Path, run_cli: RunCli
) -> None:
    shop, garden = make_project(tmp_path / "shop"), make_project(tmp_path / "garden")
    store = open_store(store_home)
    capture(store, "use pnpm, not npm", cwd=shop, session_id="s-1")
    capture(store, "please use pnpm, not npm", cwd=shop, session_id="s-2")  # the same question
    capture(store, "use tabs", cwd=shop)
    capture(store, "move it to the left", cwd=shop, confidence=1)
    capture(store, "water the roses", cwd=garden)
    asked = [one["id"] for one in run_cli("review", "--json", cwd=shop).json()["data"] if one["tier"] == "strong"]
    assert len(asked) == 2
    for place, count in ((shop, 2), (garden, 1)):
        wait_until(lambda place=place, count=count: shown(place) == f"✎ {count}\n", "a count here")  # type: ignore[misc]
        data = run_cli("status", "--json", cwd=place).json()["data"]
        assert (data["questions"], data["questions_elsewhere"]) == (count, 3 - count)
        assert run_cli("status", "--format", "statusline", cwd=place).out == f"✎ {count}\n" == shown(place)
    assert (
        "2 proposed rules, 1 in other projects, 1 unlikely one: reflect-git review" in run_cli("status", cwd=shop).out
    )
    assert run_cli("dismiss", asked[0], cwd=shop).code == 0
    wait_for_background(home)
    assert shown(shop) == "✎ 1\n", "the command counted again, before the next turn"
    assert run_cli("dismiss", "--never", asked[1], cwd=shop).code == 0
    wait_for_background(home)
    assert shown(shop) == ""
    told = "no proposed rules, 1 in other projects, 1 unlikely one: reflect-git review --all"
    assert told in run_cli("status", cwd=shop).out
    assert shown(garden) == "✎ 1\n"


@pytest.mark.parametrize("way", ["environment", "stdin", "cwd", "below"])
def test_it_knows_the_project_as_the_client_names_it(store_home: Path, tmp_path: Path, way: str) -> None:
    shop = make_project(tmp_path / "shop")
    (shop / "src").mkdir()
    capture(open_store(store_home), "use pnpm", cwd=shop)
    capture(open_store(store_home), "use tabs", cwd=make_project(tmp_path / "garden"))
    told = json.dumps({"cwd": "/", "workspace": {"project_dir": str(shop)}}).encode()
    ways: dict[str, dict[str, Any]] = {
        "environment": {"CLAUDE_PROJECT_DIR": str(shop)}, "stdin": {"told": told}, "cwd": {"cwd": shop},
        "below": {"cwd": shop / "src"},
    }  # fmt: skip
    wait_until(lambda: shown(**ways[way]) == "✎ 1\n", "the line of the shop")


def test_what_a_hook_guessed_is_counted_by_a_review_at_the_next_turn(store_home: Path, home: Path) -> None:
    store = open_store(store_home)
    for text in ("use bun not deno", "please no deno"):
        capture(store, text)
    sessions.update_waiting_count(store, os.environ, str(home), time.time())
    assert shown() == "✎ 2\n"
    wait_until(lambda: shown() == "✎ 1\n", "one question")


OLD = "import runpy, sys; sys.version_info = (3, 9, 18); runpy.run_path(sys.argv[1])"


def test_an_old_python_shows_what_it_can_tell(store_home: Path, home: Path) -> None:
    """The review code cannot be loaded there: the count of a hook is shown, and not repeated at each turn."""
    capture(open_store(store_home), "use pnpm")
    line = [sys.executable, "-I", "-S", "-c", OLD, str(REPO / "hooks" / "statusline.py")]
    changed = []
    for expected in (b"", "✎ 1\n".encode(), "✎ 1\n".encode()):
        done = subprocess.run(line, input=b"{}", cwd=home, capture_output=True, check=True, timeout=60)
        wait_for_background(home)
        assert done.stdout == expected
        changed.append(kept_in(store_home).stat().st_mtime_ns)
    assert changed[0] == changed[1] == changed[2]


def read_numbers(line: str) -> tuple[int, dict[str, int], int]:
    """Return what a status line says: questions, questions by word of their day, and firings."""
    questions = int(found[1]) if (found := re.match(r"✎ (\d+)", line)) else 0
    expiring = line.partition("guards fired")[0]
    days = re.findall(r"(\d+) (?:expires? )?(today|tomorrow|in \d+ days)", expiring)
    going = {day: int(number) for number, day in days}
    fired = int(found[1]) if (found := re.search(r"guards fired (\d+) today", line)) else 0
    return questions, going, fired


def write_firings(store: Store, dice: random.Random) -> None:
    now = time.time()
    for _ in range(dice.randrange(4)):
        event = {"session_id": f"s{dice.randrange(3)}"}
        at = utc(dice.choice((now, now, now - 3 * 86400)))
        row = {
            "time": at,
            "learning": "LRN-20260211-7k3v9q2m",
            "outcome": dice.choice(("denied", "watched", "ignored")),
        }
        path = Path(get_log_path(store.git_dir, event))
        path.parent.mkdir(exist_ok=True)
        with path.open("a") as file:
            file.write(json.dumps(row, separators=(",", ":")) + "\n")


@pytest.mark.parametrize("seed", range(10))
def test_the_line_and_status_give_the_same_numbers(
    store_home: Path, home: Path, run_cli: RunCli, tmp_path: Path, seed: int
) -> None:
    """Five states of each of ten random stores; then everything is answered, and nothing is left to show."""
    dice, store = random.Random(seed), open_store(store_home)
    project = tmp_path / "shop"
    subprocess.run([REAL_GIT, "init", "-q", str(project)], check=True)
    days = {0: "today", 1: "tomorrow"}
    for state in range(5):
        for number in range(dice.randrange(1, 6)):
            capture(
                store, f"use tool{dice.randrange(9)}, not other{state}{number}", confidence=dice.choice((1, 2, 3)),
                trust=dice.choice(("user_typed", "assistant", "tool_output")), cwd=dice.choice((project, home)),
                type=dice.choice(("correction", "convention", "failure", "gotcha")),
            )  # fmt: skip
        write_firings(store, dice)
        told = run_cli("status", "--json", cwd=project).json()["data"]
        going = {days.get(one["days"]) or f"in {one['days']} days": one["count"] for one in told["going"]}
        wanted = (told["questions"], going, told["guards_fired_today"])
        wait_until(lambda wanted=wanted: read_numbers(shown(project)) == wanted, f"{wanted}")  # type: ignore[misc]
        assert read_numbers(run_cli("status", "--format", "statusline", cwd=project).out) == wanted
    while waiting := run_cli("candidates", "--json", cwd=project).json()["data"]:
        strong = [one["id"] for one in waiting if one["tier"] == "strong"]
        if not strong:
            break
        assert run_cli("dismiss", strong[0], "--never", cwd=project).code == 0
    told = run_cli("status", "--json", cwd=project).json()["data"]
    assert (told["questions"], told["going"]) == (0, [])
    nothing: tuple[int, dict[str, int], int] = (
        0,
        {},
        told["guards_fired_today"],
    )  # a count that began earlier may still be written once
    wait_until(lambda: read_numbers(shown(project)) == nothing, f"{nothing}")
    wait_for_background(home)
