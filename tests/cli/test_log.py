"""`log`: what was decided, newest first."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from reflect_git.records import yaml_form
from reflect_git.records.ids import utc_precise
from reflect_git.rules import amend
from reflect_git.store import api
from reflect_git.store.main import journal
from reflect_git.store.reading import reader
from reflect_git.store.repository import Store, get_record_path
from tests.cli.old_store import approve, dismiss_signal, replace_varying_parts, reword
from tests.conftest import RunCli
from tests.faults import git
from tests.rules.project_edits import make_project, open_queue
from tests.rules.queues import BY
from tests.store.store_checks import open_store
from tests.stories.terminal import Terminal

Log = Callable[..., list[dict[str, Any]]]


@pytest.fixture
def project(home: Path) -> Path:
    return make_project(home / "shop")


@pytest.fixture
def store(store_home: Path, project: Path) -> Store:
    """Create two project rules, one reworded and one replaced, a global rule, and two dismissals."""
    store = open_store(store_home)
    rule = approve(store, project, "use pnpm, not npm")
    reword(store, project, rule, "Use pnpm for everything.", "npm is gone")
    approve(store, project, "answer in German", "global")
    dismiss_signal(store, project, "tests live beside the code")
    dismiss_signal(store, project, "never push on Fridays", never=True)
    old = approve(store, project, "use ruff, not black")
    approve(store, project, "use uv and ruff, not black", supersedes=(old,))
    return store


@pytest.fixture
def log(run_cli: RunCli, project: Path) -> Log:
    def ask(*options: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = run_cli("log", "--json", *options, cwd=project).json()["data"]
        return found

    return ask


TOLD = """\
commit-1  approved  Use uv and ruff, not black
            LRN-1 → CLAUDE.md v4 in shop
            replaces LRN-2
            WHEN, Ada at a terminal, MACHINE

commit-2  approved  Use ruff, not black
            LRN-2 → CLAUDE.md v3 in shop
            WHEN, Ada at a terminal, MACHINE

commit-3  said never  "never push on Fridays"
            SIG-1
            WHEN, Ada at a terminal, MACHINE

commit-4  dismissed  "tests live beside the code"
            SIG-2
            WHEN, Ada at a terminal, MACHINE

commit-5  approved  Answer in German
            LRN-3 → ~/.claude/CLAUDE.md v1 for all projects
            WHEN, Ada at a terminal, MACHINE

commit-6  amended  Use pnpm for everything.
            LRN-4 → CLAUDE.md v2 in shop
            reason: npm is gone
            WHEN, Ada at a terminal, MACHINE

commit-7  approved  Use pnpm, not npm
            LRN-4 → CLAUDE.md v1 in shop
            WHEN, Ada at a terminal, MACHINE
"""


def test_the_trail_in_words(run_cli: RunCli, store: Store, project: Path) -> None:
    assert replace_varying_parts(run_cli("log", cwd=project).out, store) == TOLD


def test_one_line_for_each(run_cli: RunCli, store: Store, project: Path) -> None:
    firsts = [line for line in TOLD.splitlines() if line.startswith("commit-")]
    assert replace_varying_parts(run_cli("log", "--oneline", cwd=project).out, store).splitlines() == firsts
    assert replace_varying_parts(run_cli("log", "--oneline", "-2", cwd=project).out, store).splitlines() == firsts[:2]


def test_a_pattern_that_cannot_be_read_is_a_mistake_of_usage(run_cli: RunCli, store: Store) -> None:
    done = run_cli("log", "--grep", "pnpm(")
    assert (done.code, done.out) == (2, "")
    assert "error: --grep is not a regular expression: missing ), unterminated subpattern" in done.err


def test_the_trail_as_data(log: Log, store: Store) -> None:
    found = log()
    assert [one["type"] for one in found] == [
        "approved", "approved", "dismissed", "dismissed", "approved", "amended", "approved",
    ]  # fmt: skip
    assert [one["commit"] for one in found] == git(Path(store.root), "log", "-7", "--format=%H", "main").split()
    newest = found[0]
    assert set(newest) >= {
        "commit",
        "time",
        "type",
        "subject",
        "learning",
        "signals",
        "target",
        "approved_by",
        "machine",
    }
    assert (newest["subject"], newest["target"], newest["version"]) == (
        "approve: Use uv and ruff, not black",
        "CLAUDE.md",
        4,
    )
    assert (newest["approved_by"], newest["by"], newest["machine"]) == ("terminal", "Ada", store.machine)
    assert len(newest["decisions"]) == 2


def test_filters(log: Log, store: Store, project: Path) -> None:
    everything = log()
    replaced, never = everything[1]["learning"], everything[2]
    project_record = everything[0]["project"]
    subjects = {
        ("-n", "2"): everything[:2],
        ("-2",): everything[:2],
        ("-p", "-1"): everything[:1],
        ("--type", "approve", "--type", "amended"): [one for one in everything if one["type"] != "dismissed"],
        ("--learning", replaced): everything[:2],
        ("--learning", replaced[-8:].upper()): everything[:2],
        ("--signal", never["signals"][0]): [never],
        ("--project", "shop"): [one for one in everything if one["project"]],
        ("--project", str(project)): [one for one in everything if one["project"] == project_record],
        ("--project", "garden"): [],
        ("--target", "CLAUDE.md", "-n", "1", "--type", "amended"): [everything[5]],
        ("--target", "AGENTS.md"): [],
        ("--grep", "pnpm"): everything[5:],
        ("--grep", "USE (uv|pnpm),?"): [everything[0], *everything[5:]],
        ("--grep", "german", "--grep", "fridays"): [never, everything[4]],
        ("--grep", "npm is gone"): [everything[5]],
        ("--grep", "gradle"): [],
        ("--author", "ada"): everything,
        ("--author", "^Ada <ada@"): everything,
        ("--author", "Bob"): [],
        ("--author", "Ada", "--grep", "german"): [everything[4]],
        ("--since", "1h"): everything,
        ("--until", "1 hour ago"): [],
        ("--since", "yesterday", "--until", "2999-01-01"): everything,
    }
    for options, expected in subjects.items():
        assert log(*options) == expected, options


def test_what_is_no_time_is_told_how_to_write_one(run_cli: RunCli, store: Store, project: Path) -> None:
    told = run_cli("log", "--since", "soon", cwd=project)
    assert (told.code, "3d, 1w for a time ago, or '2 weeks ago'\n" in told.err) == (2, True)


def test_what_happened_by_itself_is_told_with_captures(run_cli: RunCli, log: Log, store: Store, project: Path) -> None:
    assert {one["type"] for one in log("--captures")} == {"approved", "amended", "dismissed", "captured", "begun"}
    (first, *_) = log("--type", "captured")
    assert (first["subject"], first["machine"]) == ("capture: 1 signal from shop", store.machine)
    assert len(log("--type", "captured")) == 6
    assert "captured  1 signal from shop\n" in run_cli("log", "--captures", cwd=project).out


def test_a_patch_shows_what_changed_in_the_file(run_cli: RunCli, store: Store, project: Path) -> None:
    told = run_cli("log", "-p", "-n", "2", "--type", "amended", cwd=project).out
    assert "\n-- Use pnpm, not npm\n+- Use pnpm for everything.\n" in told
    assert "\x1b" not in told
    coloured = run_cli("--color", "always", "log", "-p", "--type", "amended", cwd=project).out
    assert "\x1b[32m+\x1b[m\x1b[32m- Use pnpm for everything.\x1b[m\n" in coloured


@pytest.mark.parametrize("color", ["never", "always"])
def test_a_patch_is_of_the_file_and_not_of_our_mirror(
    run_cli: RunCli, store: Store, project: Path, home: Path, color: str
) -> None:
    (home / ".gitconfig").write_text("[diff]\n\tnoprefix = true\n", encoding="utf-8")
    told = re.sub(r"\x1b\[[0-9;]*m", "", run_cli("--color", color, "log", "-p", cwd=project).out)
    lines = told.splitlines()
    for word in ("targets/", "version: ", "sha256: ", "index ", "/dev/null", "@@ -"):
        assert not any(word in line for line in lines), word
    assert lines.count("diff --git a/CLAUDE.md b/CLAUDE.md") == lines.count("--- a/CLAUDE.md") == 4
    assert lines.count("diff --git a/~/.claude/CLAUDE.md b/~/.claude/CLAUDE.md") == 1
    assert lines.count("--- a/~/.claude/CLAUDE.md") == lines.count("+++ b/~/.claude/CLAUDE.md") == 1
    amended = told.partition("amended")[2].partition("diff --git")[2].splitlines()
    rule = amended[4].removeprefix(" ")
    assert [line for line in amended[1:8] if line] == [
        "--- a/CLAUDE.md", "+++ b/CLAUDE.md", "@@ our part @@", f" {rule}", " ", "-- Use pnpm, not npm",
        "+- Use pnpm for everything.",
    ]  # fmt: skip


@pytest.mark.parametrize("color", ["never", "always"])
@pytest.mark.parametrize("folder", ["dök", "a b"])
def test_a_patch_names_a_folder_whatever_it_is_called(
    run_cli: RunCli, store_home: Path, home: Path, folder: str, color: str
) -> None:
    shop = make_project(home / "shop")
    (shop / folder).mkdir()
    approve(open_store(store_home), shop, "use pnpm, not npm", to=f"dir:{folder}")
    told = re.sub(r"\x1b\[[0-9;]*m", "", run_cli("--color", color, "log", "-p", cwd=shop).out)
    names = [line.rstrip("\t") for line in told.splitlines() if line.startswith(("diff --git", "--- ", "+++ "))]
    name = f"{folder}/CLAUDE.md"
    assert names == [f"diff --git a/{name} b/{name}", f"--- a/{name}", f"+++ b/{name}"]


def test_a_patch_has_the_colours_of_the_person(run_cli: RunCli, store: Store, project: Path, home: Path) -> None:
    (home / ".gitconfig").write_text(
        '[color "diff"]\n\tnew = magenta\n[diff]\n\texternal = /bin/false\n', encoding="utf-8"
    )
    coloured = run_cli("--color", "always", "log", "-p", "--type", "amended", cwd=project).out
    assert "\x1b[35m- Use pnpm for everything.\x1b[m\n" in coloured


@pytest.mark.dirty_store
def test_nothing_in_a_commit_acts_on_a_terminal(run_cli: RunCli, store: Store, project: Path) -> None:
    root = Path(store.root)
    (root / "targets" / "evil").mkdir(parents=True)
    (root / "targets" / "evil" / "x").write_bytes(b"red \x1b[8m hidden \x07\n")
    git(root, "add", "-A")
    person = ("-c", "user.name=Eve \x1b[31m", "-c", "user.email=eve@example.org")
    git(root, *person, "commit", "-q", "-m", "approve: pay \x1b]52;c;eA==\x07 me\n\nApproved-By: terminal")
    told = run_cli("--color", "always", "log", "-p", "-n", "1", cwd=project).out
    assert "your commit" in told
    assert "red <U+001B>[8m hidden <U+0007>" in told
    assert {c for c in told if not c.isprintable()} <= {"\n", "\x1b"}
    assert "\x1b]" not in told
    assert "\x1b[8m" not in told


def test_before_there_is_anything(run_cli: RunCli, project: Path, store_home: Path) -> None:
    assert run_cli("log", cwd=project).err.startswith("no store at ")
    assert run_cli("log", "--json", cwd=project).json()["data"] == []
    run_cli("init")
    assert run_cli("log", cwd=project).err == "no decisions yet\n"
    assert run_cli("log", "--type", "policy", cwd=project).err == "no matching decisions\n"
    wrong = run_cli("log", "--type", "aproved", cwd=project)
    assert (wrong.code, wrong.err.partition("\n")[0]) == (2, "error: 'aproved' is not a type of entry")


def test_it_takes_as_many_processes_for_many_commits_as_for_few(
    run_cli: RunCli, store: Store, project: Path, tmp_path: Path
) -> None:
    def spawned(name: str, *options: str) -> int:
        trace = tmp_path / name
        env = {"REFLECT_GIT_FAULT": "fail:9999", "REFLECT_GIT_FAULT_TRACE": str(trace)}
        assert run_cli("log", "--json", *options, cwd=project, env=env).code == 0
        return sum(line.startswith("spawn ") for line in trace.read_text(encoding="utf-8").splitlines())

    assert spawned("one", "-n", "1") == spawned("all", "--captures") == 2


def test_a_killed_decision_is_finished_before_it_is_told_of(log: Log, store: Store, project: Path) -> None:
    made = api.build_decision(store, "dismissed", "SIG-20260211-00000000", BY, "2026-02-11T12:00:00.000Z")
    files = {get_record_path(made["id"]): yaml_form.emit(made).decode()}
    journal.begin(store, "main", (), {"message": f"dismiss: x\n\nDecision: {made['id']}\n", "files": files})
    assert log("-n", "1")[0]["decisions"] == [made["id"]]


def test_a_terminal_gets_it_through_the_pager(store: Store, project: Path, home: Path, tmp_path: Path) -> None:
    pager = tmp_path / "pager"
    pager.write_text("#!/bin/sh\necho \"LESS=$LESS LV=$LV\"\nsed 's/^/> /'\n", encoding="utf-8")
    pager.chmod(0o755)
    (home / ".gitconfig").write_text(f"[core]\n\tpager = {pager} -x\n", encoding="utf-8")
    with Terminal("log", "-n", "1", "--type", "amended", cwd=project) as terminal:
        seen = terminal.ends().replace("\r\n", "\n")
    assert seen.startswith("LESS=FRX LV=-c\n> ")
    assert "> " + " " * 12 + "reason: npm is gone\n" in seen
    with Terminal("log", "-n", "1", cwd=project, env={"GIT_PAGER": "cat", "LESS": "S"}) as terminal:
        assert not terminal.ends().startswith(("LESS", "> "))


def test_whoever_quits_the_pager_wanted_no_more(store: Store, project: Path) -> None:
    with Terminal("log", "--captures", cwd=project, env={"GIT_PAGER": "head -n 1"}) as terminal:
        assert terminal.ends().count("\n") == 1


def test_a_pager_that_is_not_installed_swallows_nothing(store: Store, project: Path) -> None:
    with Terminal("log", "-n", "1", cwd=project, env={"GIT_PAGER": "no-such-pager -R"}) as terminal:
        assert terminal.ends().count("\n") > 1


def test_a_file_of_all_projects_is_asked_for_as_it_is_listed(log: Log, store: Store, home: Path) -> None:
    for listed in ("~/.claude/CLAUDE.md", str(home / ".claude" / "CLAUDE.md")):
        assert [entry["subject"] for entry in log("--target", listed)] == ["approve: Answer in German"]


def test_a_rule_that_went_to_another_file_is_said_to_have_moved(run_cli: RunCli, store: Store, project: Path) -> None:
    rule = reader.scan(store).history.get_rules_in_force()[0]["id"]
    queue = open_queue(store, project)
    moving = amend.plan_amendment(queue, amend.find_rule_to_amend(queue, rule), amend.AmendRequest(to="global"))
    amend.write_amendment(queue, moving, BY)
    told = replace_varying_parts(run_cli("log", "-n", "1", cwd=project).out, store)
    assert told.startswith("commit-1  moved  ") and "LRN-1 → ~/.claude/CLAUDE.md v2 for all projects\n" in told
    assert run_cli("log", "-n", "1", "--json", cwd=project).json()["data"][0]["type"] == "amended"


def test_a_patch_has_nothing_of_the_head_of_a_mirror(run_cli: RunCli, store: Store, project: Path) -> None:
    for colour in ("--no-color", "--color"):
        env = {"CLICOLOR_FORCE": "1"} if colour == "--color" else {}
        told = run_cli("log", "-p", cwd=project, env=env).out
        heads = [line for line in told.splitlines() if "@@ our part @@" in line]
        assert heads and not any("change:" in line or "learning:" in line for line in heads)


def test_what_a_patch_is_not_for_is_told(run_cli: RunCli) -> None:
    told = " ".join(run_cli("log", "--help").out.split())
    assert "not for 'git apply'. Use 'revert' to undo a change, or 'git show COMMIT' in the store for a patch" in told


def test_a_project_is_named_by_the_mirrors_of_any_machine(run_cli: RunCli, store: Store, project: Path) -> None:
    """A machine that only declined has written no file."""
    rule = reader.scan(store).history.get_rules_in_force()[0]
    assert rule["project"]
    trailers: dict[str, list[str]] = {
        "Learning-Id": [rule["id"]], "Target": ["CLAUDE.md"], "Project": [rule["project"]["key"]],
    }  # fmt: skip
    with pytest.MonkeyPatch.context() as elsewhere:
        elsewhere.setattr(Store, "machine", "sofa")
        made = api.build_decision(store, "applied", rule["id"], BY, utc_precise(), meta={"change": "declined"})
        api.commit_records(store, [made], "decline: it", trailers)
    told = run_cli("log", "-n", "1", cwd=project).out
    assert f"{rule['id']} → CLAUDE.md in shop\n" in told and "sofa" in told


@pytest.mark.parametrize(
    "subject, told",
    [
        ("Use pnpm", "reverted  Use pnpm"),
        ("the revert of Use pnpm", "restored  Use pnpm"),
        ("the removal of Use pnpm", "restored  Use pnpm"),
        ("the revert of the removal of Use pnpm", "removed  Use pnpm"),
        ("the change of Use pnpm", "reverted  the change of Use pnpm"),
        ("the revert of the change of Use pnpm", "restored  the change of Use pnpm"),
    ],
)
def test_a_removal_that_is_undone_is_told_by_what_came_of_it(
    run_cli: RunCli, store: Store, project: Path, subject: str, told: str
) -> None:
    rule = reader.scan(store).history.get_rules_in_force()[0]
    made = api.build_decision(store, "reverted", rule["id"], BY, utc_precise(), reopens=rule["decision"])
    api.commit_records(store, [made], f"revert: {subject}", {"Learning-Id": [rule["id"]]})
    assert run_cli("log", "-n", "1", cwd=project).out.splitlines()[0].partition("  ")[2] == told
    (entry,) = run_cli("log", "-n", "1", "--json", cwd=project).json()["data"]
    assert (entry["type"], entry["subject"]) == ("reverted", f"revert: {subject}"), "as programs know it"
