"""`revert`, `undo` and `restore` for a person at a terminal."""

from __future__ import annotations

import random
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import REAL_GIT, RunCli
from tests.counters import count
from tests.store.store_checks import allow_unattended
from tests.stories.terminal import Terminal
from tests.targets import samples

BASE = b"# Shop\r\n\r\nOur own words"
Types = Callable[..., str]
Approve = Callable[..., str]


@pytest.fixture
def project(tmp_path: Path, store_home: Path) -> Path:
    folder = tmp_path / "shop"
    folder.mkdir()
    subprocess.run([REAL_GIT, "init", "-q", str(folder)], check=True)
    (folder / "CLAUDE.md").write_bytes(BASE)
    return folder


@pytest.fixture
def types(project: Path) -> Types:
    """Run a command at a terminal; return its output."""

    def run(*arguments: str, cwd: Path = project, code: int = 0) -> str:
        with Terminal(*arguments, cwd=cwd) as terminal:
            return terminal.ends(code).replace("\r\n", "\n")

    return run


@pytest.fixture
def approve(types: Types, project: Path) -> Approve:
    """Capture and approve something as a person; return the id of the learning."""

    def do(text: str, to: str = "project", cwd: Path = project) -> str:
        signal = types("capture", "--type", "correction", "--content", text, cwd=cwd).split()[1]
        said = types("approve", signal, "--to", to, cwd=cwd)
        assert said.endswith("to take it back: reflect-git undo\n")
        return said[said.index("approved LRN-") :].split()[1]

    return do


def _rules(run_cli: RunCli, cwd: Path) -> list[str]:
    return [rule["id"] for rule in run_cli("rules", "--json", cwd=cwd).json()["data"]]


def test_a_learning_is_taken_back_and_told(run_cli: RunCli, approve: Approve, types: Types, project: Path) -> None:
    rule = approve("use pnpm, not npm")
    approved = (project / "CLAUDE.md").read_bytes()
    tried = types("revert", rule, "--dry-run")
    assert "-- Use pnpm, not npm\n" in tried and (project / "CLAUDE.md").read_bytes() == approved
    said = types("revert", rule, "--reason", "we moved to bun")
    assert "-- Use pnpm, not npm\n" in said
    assert "reverted 'Use pnpm, not npm' in 'CLAUDE.md' of shop, commit " in said
    assert said.endswith("to take it back: reflect-git undo\n")
    assert (project / "CLAUDE.md").read_bytes() == BASE and _rules(run_cli, project) == []
    (decision,) = [made for made in _decisions(run_cli, rule) if made["kind"] == "reverted"]
    assert (decision["reason"], decision["by"]["road"]) == ("we moved to bun", "terminal")
    index = Path(run_cli("status", "--json", cwd=project).json()["data"]["store"]) / "learnings" / "LEARNINGS.md"
    assert rule not in index.read_text(encoding="utf-8")


def _decisions(run_cli: RunCli, identity: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = run_cli("show", identity, "--json").json()["data"]["decisions"]
    return found


def test_an_id_of_another_kind_is_told(run_cli: RunCli, approve: Approve, types: Types, project: Path) -> None:
    rule = approve("use pnpm, not npm")
    signal = types("capture", "--type", "correction", "--content", "use ruff, not black").split()[1]
    assert run_cli("dismiss", rule, cwd=project).err == (
        f"error: nothing is asked about '{rule}'\n"
        f"hint: to reword it: reflect-git edit {rule}; to take it back: reflect-git revert {rule}\n"
    )
    said = run_cli("edit", signal, "--text", "x", cwd=project).err
    assert said.startswith(f"error: '{signal}' is a signal, not a rule in force\nhint: see what is in force with ")
    types("revert", rule)
    assert f"'{rule}' is a learning, not a rule in force" in run_cli("edit", rule, "--text", "x", cwd=project).err
    assert "no record 'LRN-1'" in run_cli("edit", "LRN-1", "--text", "x", cwd=project).err


def test_undoing_a_no_says_so(types: Types, run_cli: RunCli, project: Path) -> None:
    signal = types("capture", "--type", "correction", "--content", "use pnpm, not npm").split()[1]
    types("dismiss", signal)
    assert f"reverted the no to {signal}, commit " in types("undo")
    assert f"restored the no to {signal}, commit " in types("undo")


def test_the_log_tells_what_an_undo_put_back(run_cli: RunCli, approve: Approve, types: Types, project: Path) -> None:
    approve("use pnpm, not npm")
    for word in ("reverted", "restored", "reverted"):
        types("undo")
        assert f"  {word}  Use pnpm, not npm\n" in run_cli("log", "-n", "1", cwd=project).out


def test_the_story_of_a_rule_that_was_taken_back_and_put_back(
    run_cli: RunCli, approve: Approve, types: Types, project: Path
) -> None:
    rule = approve("use pnpm, not npm")
    types("revert", rule, "--reason", "we moved to bun")
    types("revert", "last")
    line = (project / "CLAUDE.md").read_text(encoding="utf-8").splitlines().index("- Use pnpm, not npm") + 1
    turns = ["approved", "reverted", "restored"]
    for told in (run_cli("why", f"CLAUDE.md:{line}", cwd=project).out, run_cli("show", rule).out):
        assert re.findall("^ *(approved|restored|reverted)  ", told, re.M) == turns
        assert "reason  we moved to bun" in re.sub("  +", "  ", told)
    heads = [head for head in run_cli("show", rule).out.splitlines() if head.startswith("DEC-")]
    assert [" in force again," in head for head in heads] == [False, False, True]
    types("undo")
    told = run_cli("show", rule).out
    assert re.findall("^ *(approved|restored|reverted)  ", told, re.M) == [*turns, "reverted"]


def test_undo_and_redo_from_any_folder(
    run_cli: RunCli, approve: Approve, types: Types, project: Path, home: Path
) -> None:
    rule = approve("use pnpm, not npm")
    approved = (project / "CLAUDE.md").read_bytes()
    said = types("undo", "--yes", cwd=home)
    assert (
        "reverted 'Use pnpm, not npm' in 'CLAUDE.md' of shop" in said and (project / "CLAUDE.md").read_bytes() == BASE
    )
    assert f"CLAUDE.md changed in '{project}'; commit it there" in " ".join(said.split())
    assert run_cli("signals", "--json", cwd=project).json()["data"][0]["status"] == "captured"
    said = types("undo")
    assert "restored 'Use pnpm, not npm'" in said
    assert (project / "CLAUDE.md").read_bytes() == approved and _rules(run_cli, project) == [rule]


def test_an_undo_in_another_project_shows_what_it_is_about_and_asks(
    run_cli: RunCli, approve: Approve, types: Types, project: Path, home: Path
) -> None:
    rule = approve("use pnpm, not npm")
    approved = (project / "CLAUDE.md").read_bytes()
    garden = home / "garden"
    garden.mkdir()
    subprocess.run([REAL_GIT, "init", "-q", str(garden)], check=True)
    asked = f"revert 'Use pnpm, not npm' in 'CLAUDE.md' of another project, {project}? [y/N]:"
    wide = {"COLUMNS": "300"}
    for words in (["undo"], ["revert", "last"]):
        with Terminal(*words, cwd=garden, env=wide) as terminal:
            assert "-- Use pnpm, not npm\n" in terminal.passes(asked)
            terminal.types("n")
            assert "nothing was changed" in terminal.ends(1)
    assert (project / "CLAUDE.md").read_bytes() == approved and _rules(run_cli, project) == [rule]
    with Terminal("undo", cwd=garden, env=wide) as terminal:
        terminal.passes(asked)
        terminal.types("y")
        said = terminal.ends()
    assert "reverted 'Use pnpm, not npm' in 'CLAUDE.md' of shop" in said and "-- Use pnpm" not in said, "shown once"
    assert (project / "CLAUDE.md").read_bytes() == BASE
    assert "another project" not in types("undo"), "who stands there knows"


def test_what_a_script_decided_is_taken_back_by_its_commit(
    run_cli: RunCli, types: Types, project: Path, store_home: Path
) -> None:
    """`undo` at a terminal reverts what a person decided last, which is something else."""
    identity = types("capture", "--type", "convention", "--content", "always use tabs").split()[1]
    allow_unattended(store_home)
    for words in (("dismiss", identity), ("approve", identity, "--to", "project")):
        said = run_cli(*words, cwd=project).err.splitlines()[-1]
        commit = run_cli("log", "-n", "1", "--json").json()["data"][0]["commit"]
        assert said == f"to take it back: reflect-git revert {commit[:10]}"
        said = run_cli(*said.partition("reflect-git ")[2].split(), cwd=project).err.splitlines()[-1]
        assert said.startswith("to take it back: reflect-git revert ")
        assert run_cli("show", identity, "--json").json()["data"]["record"]["status"] != "promoted"


def test_a_dismissal_says_how_to_undo_it(run_cli: RunCli, types: Types, project: Path) -> None:
    signal = types("capture", "--type", "correction", "--content", "use pnpm, not npm").split()[1]
    assert types("dismiss", signal).endswith("to take it back: reflect-git undo\n")
    types("undo")
    assert run_cli("signals", "--json", cwd=project).json()["data"][0]["status"] == "captured"


def test_as_a_document(run_cli: RunCli, approve: Approve, project: Path, store_home: Path) -> None:
    rule = approve("use pnpm, not npm")
    allow_unattended(store_home)
    tried = run_cli("revert", rule, "--dry-run", "--json", cwd=project).json()["data"]
    assert (tried["commit"], tried["target"], tried["decisions"]) == (None, "CLAUDE.md", [])
    done = run_cli("revert", rule, "--json", cwd=project).json()["data"]
    assert done["diff"] == tried["diff"] and done["target"] == "CLAUDE.md" and len(done["commit"]) == 40
    assert (done["learnings"], done["notes"]) == ([rule], [])
    last = run_cli("revert", "last", "--json", cwd=project).json()["data"]
    assert last["reverts"] == done["decisions"] and _rules(run_cli, project) == [rule]
    again = run_cli("undo", "--json", cwd=project).json()["data"]
    assert again["reverts"] == last["decisions"], "a script takes back its own decisions"


def test_who_may_not(run_cli: RunCli, approve: Approve, project: Path) -> None:
    rule = approve("use pnpm, not npm")
    approved = (project / "CLAUDE.md").read_bytes()
    for words in (["revert", rule], ["undo"], ["restore", rule]):
        alone = run_cli(*words, cwd=project)
        assert (alone.code, alone.err.splitlines()[-2]) == (
            1,
            "error: taking something back needs a person at a terminal",
        )
        inside = run_cli(*words, cwd=project, env={"CLAUDECODE": "1"})
        assert inside.code == 1
        assert inside.err.splitlines()[-2:] == [
            "error: cannot revert from inside Claude Code",
            "hint: run it in a terminal",
        ]
    assert (project / "CLAUDE.md").read_bytes() == approved


@pytest.mark.parametrize("words", [[], ["last", "--to", "v1"], ["last", "--to-target", "global"]])
def test_what_makes_no_sense(run_cli: RunCli, project: Path, words: list[str]) -> None:
    found = run_cli("revert", *words, cwd=project)
    assert (found.code, found.err.splitlines()[0]) == (2, "error: what is to be taken back?")


def test_a_reworded_entry_is_shown_and_taken_with_force(approve: Approve, types: Types, project: Path) -> None:
    rule = approve("use pnpm, not npm")
    path = project / "CLAUDE.md"
    path.write_bytes(path.read_bytes().replace(b"not npm", b"never npm"))
    said = " ".join(types("revert", rule, code=4).split())
    assert f"the entry of '{rule}' was reworded since: 'Use pnpm, not npm' now reads 'Use pnpm, never npm'" in said
    assert "hint: use --force to take it all the same" in said
    types("revert", rule, "--force")
    assert path.read_bytes() == BASE


def test_back_to_a_version(run_cli: RunCli, approve: Approve, types: Types, project: Path) -> None:
    first = approve("use pnpm, not npm")
    then = (project / "CLAUDE.md").read_bytes()
    approve("use ruff, not black")
    types("edit", first, "--text", "Install with pnpm.")
    said = types("revert", "--to", "v1")
    assert "reverted CLAUDE.md to v1" in said
    assert (project / "CLAUDE.md").read_bytes() == then and _rules(run_cli, project) == [first]
    assert "there is no version 'v9' of it" in types("revert", "--to", "v9", code=1)


def test_what_was_decided_before_is_carried_out_first(
    run_cli: RunCli, approve: Approve, types: Types, project: Path, tmp_path: Path
) -> None:
    rule = approve("use pnpm, not npm")
    moved = tmp_path / "elsewhere"
    project.rename(moved)
    said = types("revert", rule, cwd=project.parent)
    assert "belongs to the project 'shop': recorded, its file is changed when you next review" in " ".join(said.split())
    moved.rename(project)
    tried = run_cli("revert", "last", "--dry-run", cwd=project)
    assert rule.encode() in (project / "CLAUDE.md").read_bytes(), tried.err
    other = types("capture", "--type", "correction", "--content", "use ruff, not black").split()[1]
    said = types("approve", other, "--to", "project")
    assert "carried out what was decided before: 'CLAUDE.md', commit " in said
    assert (
        rule.encode() not in (project / "CLAUDE.md").read_bytes()
        and b"Use ruff" in (project / "CLAUDE.md").read_bytes()
    )


def test_backups_are_listed_and_put_back_after_a_question(
    run_cli: RunCli, approve: Approve, types: Types, project: Path
) -> None:
    assert run_cli("restore", cwd=project).err == (
        "there are no backups yet: the first change of an instruction file makes one\n"
    )
    rule = approve("use pnpm, not npm")
    later = approve("use ruff, not black")
    listed = run_cli("restore", "--json", cwd=project).json()["data"]
    assert [(one["learning"], one["files"][0]["path"]) for one in listed] == [
        (later, str(project / "CLAUDE.md")), (rule, str(project / "CLAUDE.md")),
    ]  # fmt: skip
    assert f"    {project}/CLAUDE.md, {len(BASE)} bytes" in run_cli("restore", cwd=project).out
    before = (project / "CLAUDE.md").read_bytes()
    with Terminal("restore", listed[1]["name"], "--dry-run", cwd=project) as terminal:
        said = " ".join(terminal.ends().split())
        assert f"approved since, would be reverted: {later} Use ruff, not black" in said
    with Terminal("--yes", "restore", listed[1]["name"], cwd=project) as terminal:
        terminal.passes("type 'yes' to write these bytes [no]:")
        terminal.types("y")
        terminal.ends(1)
    assert (project / "CLAUDE.md").read_bytes() == before
    with Terminal("restore", rule, cwd=project) as terminal:
        shown = terminal.passes("type 'yes' to write these bytes [no]:")
        assert "approved since, will be reverted: LRN-" in shown and "Use ruff, not black" in shown
        terminal.types("yes")
        told = terminal.ends()
        assert "restored CLAUDE.md as of " in told
        assert "CLAUDE.md changed in your project; commit it with your work" in told
    assert (project / "CLAUDE.md").read_bytes() == BASE and _rules(run_cli, project) == []
    assert "reverted the restore of CLAUDE.md in 'CLAUDE.md' of shop" in types("undo")
    assert (project / "CLAUDE.md").read_bytes() == before and sorted(_rules(run_cli, project)) == sorted([rule, later])


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(30))
def test_files_of_all_kinds_through_the_program(
    approve: Approve, types: Types, project: Path, home: Path, seed: int
) -> None:
    chance = random.Random(seed)
    lines = ["# Title", "", "words", "- item", "```", "make", "```", "  ", "umlaut äöü", "<!-- note -->", "## Commands"]
    text = chance.choice(["\n", "\r\n"]).join(chance.choices(lines, k=chance.randrange(12)))
    base = (chance.choice(["", "\ufeff"]) + text + chance.choice(["", "\n"])).encode() if seed % 7 else b""
    path = project / "CLAUDE.md"
    path.unlink()
    if seed % 5 == 1:
        path.symlink_to("instructions.md")
    if seed % 5:
        path.write_bytes(base)
        path.chmod(0o600 if seed % 2 else 0o644)
    before = _state(path)
    rules = [approve(f"use tool{number}, not other{number}") for number in range(3)]
    samples.require_untouched(base if seed % 5 else b"", path.read_bytes(), rules[0])
    chance.shuffle(rules)
    for rule in rules:
        types("revert", rule)
    assert _state(path) == before
    count("files approved into and reverted")


def _state(path: Path) -> tuple[object, ...] | None:
    return (path.is_symlink(), path.stat().st_mode, path.read_bytes()) if path.exists() else None


def test_a_file_is_called_before_as_it_is_called_afterwards(
    run_cli: RunCli, types: Types, project: Path, store_home: Path
) -> None:
    """The global CLAUDE.md is not the project's."""
    signal = types("capture", "--type", "correction", "--content", "use pnpm, not npm").split()[1]
    allow_unattended(store_home)

    def told(*words: str) -> dict[str, Any]:
        tried, done = (run_cli(*words, *last, "--json", cwd=project).json()["data"] for last in (["--dry-run"], []))
        assert tried["target"] == done["target"] and done["target"].endswith("/CLAUDE.md"), words
        return dict(done)

    rule = told("approve", signal, "--to", "global")["learning"]
    backup = told("edit", rule, "--text", "Use pnpm.")["backup"]
    told("revert", rule)
    told("undo")
    told("restore", backup)
