"""A machine with 0.1.0 gets this version: nothing is asked, nothing is lost, and other machines may keep theirs."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from reflect_git import __version__
from tests.conftest import REAL_GIT, Result, RunCli, find_store_problems, wait_for_background
from tests.old_program import OldProgram, old_tree
from tests.stories.terminal import Terminal

__all__ = ["old_tree"]
THINGS = "cart parser header checkout report footer gateway importer widget ledger".split()
pytestmark = pytest.mark.filterwarnings("ignore:This process")  # pty.fork


def list_rules(count: int) -> list[str]:
    return [
        f"no, never use {THINGS[n % 10]}-{n} in this project, always use {THINGS[n % 10]}-{n + 1000} instead"
        for n in range(count)
    ]


def list_files(home: Path) -> dict[str, bytes]:
    """Return every file outside the store and the transcripts, with its bytes."""
    return {
        str(path.relative_to(home)): path.read_bytes()
        for path in sorted(home.rglob("*"))
        if path.is_file() and not {"reflections", ".git", "projects", ".cache"} & set(path.parts)
    }


def list_decisions(repository: Path) -> set[str]:
    """Return the decisions on main."""
    words = (REAL_GIT, "-C", repository, "ls-tree", "-r", "--name-only", "main", "decisions/")
    return set(subprocess.run(words, capture_output=True, text=True, check=True).stdout.split())


def list_strong(machine: OldProgram) -> list[str]:
    return [one["id"] for one in machine.read_json("candidates", "--all") if one["tier"] == "strong"]


def build_machine(machine: OldProgram, signals: int, rules: int) -> None:
    """Leave a store with signals, approved rules and an approval that was killed halfway."""
    machine.run("init")
    machine.run("enable")
    machine.answer("config", "reflect.approval", "unattended")
    said = list_rules(rules + 10)
    for at in range(0, len(said), 50):
        machine.say(said[at : at + 50], f"{at:08x}-0000-4000-8000-000000000001")
    queue = [
        {"type": "explicit", "message": f"the {THINGS[n % 10]} number {n} is read by the night job", "project": "",
         "timestamp": "2026-11-10T10:00:00+00:00"} for n in range(signals - rules - 10)
    ]  # fmt: skip
    source = machine.home / ".claude" / "learnings-queue.json"
    source.write_text(json.dumps(queue))
    machine.run("import", "claude-reflect", "--yes")
    source.unlink()
    found, left = list_strong(machine), rules
    while left:  # it lists fifty at a time
        # A file takes 150 rules; those of .claude/rules have one each.
        machine.run_all([["approve", one, "--to", ("project", "rules")[at % 2]] for at, one in enumerate(found[:left])])
        left -= len(found[:left])
        found = list_strong(machine)
    for number in range(10, 40):
        machine.kill(number, "approve", found[0], "--to", "project")
        if machine.list_journal():
            break
    assert machine.list_journal()


@pytest.mark.parametrize(
    "signals, rules", [pytest.param(40, 3, id="small"), pytest.param(2000, 200, id="large", marks=pytest.mark.slow)]
)
def test_a_store_of_0_1_0_is_read_mended_and_synced(
    old_tree: Path, home: Path, run_cli: RunCli, tmp_path: Path, signals: int, rules: int
) -> None:
    old = OldProgram(old_tree, home)
    old.create_home()
    before = list_files(home)
    build_machine(old, signals, rules)
    hub = tmp_path / "hub.git"
    subprocess.run([REAL_GIT, "init", "-q", "--bare", hub], check=True)
    other = OldProgram(old_tree, tmp_path / "other")
    other.create_home()
    other.run("init")
    settings = json.loads((home / ".claude" / "settings.json").read_text())["hooks"]

    def run(*words: str) -> Result:
        done = run_cli(*words, cwd=old.folder)
        assert done.code == 0, done.err
        return done

    run("upkeep", "--if-due")  # a timer's run, and one that only shows, leave the upgrade to a person's command
    run("tidy", "--dry-run")
    assert json.loads((home / ".claude" / "settings.json").read_text())["hooks"] == settings

    first = run("rules")  # a first command that asks nothing and mends what was killed
    assert f"upgraded from 0.1 to {__version__}; updated the hooks in '~/.claude/settings.json'" in first.err
    assert "upgraded" not in run("status").err
    assert old.list_journal() == [] and find_store_problems(old.store) == []
    now = json.loads((home / ".claude" / "settings.json").read_text())["hooks"]
    assert set(now) - set(settings) == {"UserPromptSubmit"}
    listed = run("rules", "--json").json()["data"]
    assert len(listed) in (rules, rules + 1), "the killed approval is complete, or gone"
    text = "\n".join(path.read_text() for path in old.folder.rglob("*.md"))
    assert [rule["text"] for rule in listed if text.count(f"{rule['text']}\n") != 1] == []
    assert len({rule["number"] for rule in listed}) == len(listed)
    assert len(run("signals", "--json").json()["data"]) == signals
    assert run("audit", "--json").json()["data"]["ok"]
    found = run("doctor", "--json").json()["data"]["findings"]
    faults = {one["check"]: one for one in found if one["level"] in ("error", "warning")}
    assert set(faults) <= {"hooks", "instructions"}, faults  # a checkout is no installation; 200 rules are many
    assert [one["level"] for one in found if one["check"] == "files"] == ["ok"]
    assert run("search", "night", "job").out and run("upkeep").out

    # 0.1.0 refuses decisions of kinds that it does not know, and takes everything else; nothing is lost.
    with Terminal("guard", listed[0]["id"], "--mode", "watch", "--match", "cart-0", cwd=old.folder) as terminal:
        assert "guarded" in terminal.ends()
    run("pin", listed[1]["id"])
    run("--yes", "remote", "set", str(hub))
    other.run("--yes", "remote", "set", str(hub))
    assert all(rule["text"] in other.run("show", rule["id"]) for rule in listed[:5])
    other.answer("config", "reflect.approval", "unattended")
    other.say(["no, never use tabs in templates, always use spaces"], "bbbbbbbb-0000-4000-8000-000000000001")
    (said,) = (one for one in other.read_json("candidates", "--all") if "tabs" in one["text"])
    other.run("approve", said["id"], "--to", "project")
    (theirs,) = (one for one in other.read_json("rules") if "tabs" in one["text"])
    report = json.loads(other.run("sync", "--json"))["data"]
    assert len(report["refused"]) == 2 and all("kind" in one["reason"] for one in report["refused"])
    run("sync")
    run("sync")
    assert list_decisions(hub) == list_decisions(old.store) > list_decisions(other.store)
    assert run("guards", "--json").json()["data"] and run("rules", "--json").json()["data"][1]["pinned"]
    assert "tabs" in run("show", theirs["id"]).out and find_store_problems(other.store) == []
    assert len(run("rules", "--json").json()["data"]) == len(listed), "theirs waits for a yes"

    wait_for_background(home)
    assert run("uninstall", "--erase", "--yes").code == 0
    assert list_files(home) == before and not old.store.exists()
    assert os.listdir(hub / "refs" / "heads") or (hub / "packed-refs").exists()
