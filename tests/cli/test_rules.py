"""`rules`, `edit` and `improvements`: list rules, reword them, move them."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from reflect_git.records.ids import local_day, parse_utc
from tests.conftest import REAL_GIT, RunCli
from tests.store.store_checks import allow_unattended
from tests.stories.terminal import Terminal

Types = Callable[..., str]
Approve = Callable[..., str]


@pytest.fixture
def project(tmp_path: Path, store_home: Path) -> Path:
    return _project(tmp_path / "shop")


def _project(folder: Path) -> Path:
    folder.mkdir()
    subprocess.run([REAL_GIT, "init", "-q", str(folder)], check=True)
    return folder


@pytest.fixture
def types(project: Path) -> Types:
    """Run a command at a terminal; return its output."""

    def run(*arguments: str, cwd: Path = project) -> str:
        with Terminal(*arguments, cwd=cwd) as terminal:
            return terminal.ends().replace("\r\n", "\n")

    return run


@pytest.fixture
def approve(types: Types, project: Path) -> Approve:
    """Capture and approve something as a person; return the id of the learning."""

    def do(text: str, to: str = "project", cwd: Path = project) -> str:
        signal = types("capture", "--type", "correction", "--content", text, cwd=cwd).split()[1]
        said = types("approve", signal, "--to", to, cwd=cwd)
        return said[said.index("approved LRN-") :].split()[1]

    return do


def _rules(run_cli: RunCli, cwd: Path, *options: str) -> dict[str, dict[str, Any]]:
    return {rule["id"]: rule for rule in run_cli("rules", "--json", *options, cwd=cwd).json()["data"]}


def _log(store: Path, *options: str) -> str:
    command = [REAL_GIT, "-C", str(store), "log", "--format=%s", *options, "main"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def _decisions(run_cli: RunCli, identity: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = run_cli("show", identity, "--json").json()["data"]["decisions"]
    return found


def test_before_there_is_a_store(run_cli: RunCli, tmp_path: Path) -> None:
    assert run_cli("rules", "--json", cwd=tmp_path).json()["data"] == []
    assert run_cli("rules", cwd=tmp_path).err.startswith("no store at ")


def test_rules_are_listed_with_where_and_since_when(
    run_cli: RunCli, approve: Approve, project: Path, tmp_path: Path
) -> None:
    here, everywhere = approve("use pnpm, not npm"), approve("answer in German", to="global")
    elsewhere = approve("use ruff, not black", cwd=_project(tmp_path / "garden"))
    assert set(_rules(run_cli, project)) == {here, everywhere}
    assert set(_rules(run_cli, project, "--global")) == {everywhere}
    assert set(_rules(run_cli, project, "--project")) == {here}
    assert set(_rules(run_cli, project, "--all")) == {here, everywhere, elsewhere}
    assert set(_rules(run_cli, project, "--grep", "GERMAN")) == {everywhere}
    assert set(_rules(run_cli, project, "--target", "~/.claude/CLAUDE.md")) == {everywhere}, "as it is listed"
    rule = _rules(run_cli, project)[here]
    assert (rule["target"], rule["sessions"], rule["amended"]) == ({"kind": "project", "path": "CLAUDE.md"}, 1, None)
    day = local_day(parse_utc(rule["since"]))
    assert run_cli("rules", cwd=project).out == (
        f"global\nPROJ-002  {everywhere}  since {day}, 1 session\n    → ~/.claude/CLAUDE.md\n    Answer in German\n\n"
        f"project shop\nPROJ-001  {here}  since {day}, 1 session\n    → CLAUDE.md\n    Use pnpm, not npm\n"
    )


def _git(folder: Path, *words: str) -> None:
    named = ("-c", "user.name=Ann", "-c", "user.email=ann@example.com")
    subprocess.run([REAL_GIT, "-C", str(folder), *named, *words], check=True, capture_output=True)


def test_a_project_is_the_same_whatever_its_address(
    run_cli: RunCli, approve: Approve, types: Types, project: Path
) -> None:
    steps = (
        ("Use pnpm, not npm", ("commit", "--allow-empty", "-m", "first")),
        ("Run the linter first", ("remote", "add", "origin", "git@example.com:me/shop.git")),
        ("Never push to main", ("remote", "set-url", "origin", "https://example.com/acme/store")),
    )
    for text, change in steps:
        approve(text)
        _git(project, *change)
    found = run_cli("rules", "--json", cwd=project).json()["data"]
    assert {rule["text"] for rule in found} == {text for text, _ in steps}
    assert run_cli("status", cwd=project).out.endswith("rules         3\n")
    assert "reverted" in types("revert", found[0]["id"])
    assert len(run_cli("rules", "--json", cwd=project).json()["data"]) == 2


def test_a_linked_work_tree_knows_what_the_project_was_called(run_cli: RunCli, approve: Approve, project: Path) -> None:
    approve("Use pnpm, not npm")
    _git(project, "commit", "--allow-empty", "-m", "first")
    for text, url in (("Run the linter first", "me/shop"), ("Never push to main", "acme/store")):
        _git(project, "config", "remote.origin.url", f"https://example.com/{url}")
        approve(text)
    linked = project.parent / "shop-next"
    _git(project, "worktree", "add", str(linked))
    _git(linked, "checkout", "--orphan", "pages")
    _git(linked, "commit", "--allow-empty", "-m", "another first one")
    (project / ".git" / "config").touch()  # read again, from the linked work tree
    found = run_cli("rules", "--json", cwd=linked).json()["data"]
    assert {rule["text"] for rule in found} == {"Use pnpm, not npm", "Run the linter first", "Never push to main"}


def test_another_repository_in_the_same_folder_is_another_project(
    run_cli: RunCli, approve: Approve, project: Path
) -> None:
    _git(project, "commit", "--allow-empty", "-m", "first")
    _git(project, "remote", "add", "origin", "git@example.com:me/shop.git")
    approve("Use pnpm, not npm")
    shutil.rmtree(project / ".git")
    _git(project, "init", "-q")
    _git(project, "commit", "--allow-empty", "-m", "another")
    _git(project, "remote", "add", "origin", "git@example.com:me/other.git")
    assert run_cli("rules", "--json", cwd=project).json()["data"] == []


def test_rules_that_are_not_there(run_cli: RunCli, project: Path, types: Types) -> None:
    types("capture", "--type", "correction", "--content", "use pnpm, not npm")
    assert run_cli("rules", cwd=project).err == "no rules in force here\n"
    assert run_cli("rules", "--grep", "x", cwd=project).err == "no matching rules\n"
    both = run_cli("rules", "--global", "--all", cwd=project)
    assert (both.code, both.err) == (2, "error: --global and --all cannot be used together\nhint: use one of them\n")


def test_a_rule_is_reworded_in_its_place(
    run_cli: RunCli, approve: Approve, types: Types, project: Path, store_home: Path
) -> None:
    (project / "CLAUDE.md").write_text("# Shop\n\nOur own words.\n", encoding="utf-8")
    rule = approve("use pnpm, not npm")
    before = (project / "CLAUDE.md").read_text(encoding="utf-8")
    said = types("edit", rule, "--text", "Use pnpm for everything.", "--reason", "npm is gone")
    assert "\n-- Use pnpm, not npm\n+- Use pnpm for everything.\n" in said
    after = (project / "CLAUDE.md").read_text(encoding="utf-8")
    assert after == before.replace("- Use pnpm, not npm", "- Use pnpm for everything.").replace(":899c", ":dc5b")
    assert _log(store_home, "-1") == "amend: Use pnpm for everything.\n"
    approved, amended = _decisions(run_cli, rule)
    assert (approved["kind"], approved["text"]) == ("approved", "Use pnpm, not npm")
    assert (amended["kind"], amended["text"], amended["reason"]) == (
        "amended", "Use pnpm for everything.", "npm is gone",
    )  # fmt: skip
    assert amended["by"]["road"] == "terminal"
    now = _rules(run_cli, project)[rule]
    assert (now["text"], now["amended"]) == ("Use pnpm for everything.", amended["timestamp"])
    index = (store_home / "learnings" / "LEARNINGS.md").read_text(encoding="utf-8")
    assert f"- [{rule}] Use pnpm for everything. (confirmed)" in index


def test_a_rule_is_reworded_twice_within_a_second(
    run_cli: RunCli, approve: Approve, types: Types, project: Path
) -> None:
    rule = approve("use pnpm, not npm")
    for text in ("Use pnpm.", "Use pnpm, please.", "Use pnpm, always."):
        types("edit", rule, "--text", text)
    assert _rules(run_cli, project)[rule]["text"] == "Use pnpm, always."


@pytest.mark.parametrize(
    ("to", "path"),
    [
        ("project-local", "CLAUDE.local.md"),
        ("agents", "AGENTS.md"),
        ("dir:src", "src/CLAUDE.md"),
        ("improvements", ".claude/improvements.md"),
    ],
)
def test_a_rule_is_moved_and_back_again(
    run_cli: RunCli, approve: Approve, types: Types, project: Path, to: str, path: str
) -> None:
    (project / "CLAUDE.md").write_text("# Shop\n", encoding="utf-8")
    (project / "src").mkdir()
    rule = approve("use pnpm, not npm")
    with_rule = (project / "CLAUDE.md").read_bytes()
    types("edit", rule, "--to", to)
    assert (project / "CLAUDE.md").read_text(encoding="utf-8") == "# Shop\n"
    assert rule in (project / path).read_text(encoding="utf-8")
    assert _rules(run_cli, project)[rule]["target"]["path"] == path
    types("edit", rule, "--to", "project")
    assert ((project / "CLAUDE.md").read_bytes(), (project / path).exists()) == (with_rule, False)


def test_a_rule_is_widened_to_all_projects(
    run_cli: RunCli, approve: Approve, types: Types, project: Path, home: Path, tmp_path: Path
) -> None:
    rule = approve("use pnpm, not npm")
    types("edit", rule, "--to", "global", "--text", "Use pnpm everywhere.")
    assert "- Use pnpm everywhere.\n" in (home / ".claude" / "CLAUDE.md").read_text(encoding="utf-8")
    assert not (project / "CLAUDE.md").exists()
    found = _rules(run_cli, _project(tmp_path / "garden"))[rule]
    assert (found["scope"], found["project"], found["target"]["kind"]) == ("global", None, "global")


def test_a_preview_changes_nothing_and_is_what_is_written(
    run_cli: RunCli, approve: Approve, types: Types, project: Path, store_home: Path
) -> None:
    rule = approve("use pnpm, not npm")
    before, log = (project / "CLAUDE.md").read_bytes(), _log(store_home)
    data = run_cli("edit", rule, "--text", "Use pnpm.", "--dry-run", "--json", cwd=project).json()["data"]
    assert ((project / "CLAUDE.md").read_bytes(), _log(store_home)) == (before, log)
    assert (data["learning"], data["commit"], data["target"]) == (rule, None, "CLAUDE.md")
    assert data["diff"] in types("edit", rule, "--text", "Use pnpm.")


def test_a_preview_has_the_shape_of_what_is_written(
    run_cli: RunCli, approve: Approve, types: Types, project: Path, store_home: Path
) -> None:
    """Including the other files that change."""
    old = approve("use ruff, not black", "global")
    allow_unattended(store_home)
    signal = types("capture", "--type", "correction", "--content", "use black, not ruff").split()[1]
    wanted = ("approve", signal, "--to", "project", "--supersedes", old, "--json")
    tried = run_cli(*wanted, "--dry-run", cwd=project).json()["data"]
    done = run_cli(*wanted, cwd=project).json()["data"]
    assert list(tried) == list(done)
    assert (tried["target"], tried["others"]) == (done["target"], done["others"]) == (
        "CLAUDE.md", ["~/.claude/CLAUDE.md"],
    )  # fmt: skip
    assert (tried["learning"], tried["commit"], tried["backup"]) == (None, None, None)
    moved = ("edit", done["learning"], "--to", "global", "--json")
    tried, done = run_cli(*moved, "--dry-run", cwd=project).json()["data"], run_cli(*moved, cwd=project).json()["data"]
    assert list(tried) == list(done) and tried["others"] == done["others"] == ["CLAUDE.md"]


def test_the_gate_of_an_approval_stands_before_an_edit(run_cli: RunCli, approve: Approve, project: Path) -> None:
    rule, other = approve("use pnpm, not npm"), approve("use ruff, not black")
    for text, code in (
        ("Use ruff, not black", "refused-duplicate"), ("Use black, not ruff", "refused-contradiction"),
        ("Log in with ghp_x7Kq92LmZpR4vT8wYbN3cD6fGhJ1sA5eQuXo", "refused-secret"),
    ):  # fmt: skip
        result = run_cli("edit", rule, "--text", text, "--json", cwd=project)
        assert (result.code, result.json()["error"]["code"]) == (4, code)
    assert _rules(run_cli, project)[rule]["text"] == "Use pnpm, not npm"
    assert _rules(run_cli, project)[other]["text"] == "Use ruff, not black"


def test_an_edit_needs_a_person(run_cli: RunCli, approve: Approve, project: Path, store_home: Path) -> None:
    rule = approve("use pnpm, not npm")
    before, log = (project / "CLAUDE.md").read_bytes(), _log(store_home)
    for env in ({}, {"CLAUDECODE": "1", "CLAUDE_CODE_SESSION_ID": "s1"}):
        result = run_cli("edit", rule, "--text", "Use pnpm.", "--json", cwd=project, env=env)
        assert (result.code, result.json()["error"]["code"]) == (1, "approval")
    assert ((project / "CLAUDE.md").read_bytes(), _log(store_home)) == (before, log)


def test_a_risky_wording_takes_a_typed_yes(approve: Approve, project: Path, run_cli: RunCli) -> None:
    rule = approve("use pnpm, not npm")
    with Terminal("edit", rule, "--text", "Always commit with --no-verify.", cwd=project) as terminal:
        seen = terminal.passes("type 'yes' to approve it all the same [no]:")
        change, _, risk = seen.partition("risk: it switches a safeguard off\n")
        assert "-- Use pnpm, not npm\n+- Always commit with --no-verify.\n" in change and "+" not in risk
        terminal.types("y")
        terminal.exits_with("nothing was changed", code=1)
    assert _rules(run_cli, project)[rule]["text"] == "Use pnpm, not npm"
    with Terminal("edit", rule, "--text", "Always commit with --no-verify.", cwd=project) as terminal:
        terminal.passes("type 'yes' to approve it all the same [no]:")
        terminal.types("yes")
        told = terminal.ends()
    assert "amended LRN-" in told and "diff --git" not in told, "it was shown once"


def test_without_options_the_text_is_opened_in_the_editor(
    run_cli: RunCli, approve: Approve, types: Types, project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rule = approve("use pnpm, not npm")
    asked = run_cli("edit", rule, cwd=project)
    assert (asked.code, asked.err) == (
        2, "error: cannot open an editor without a terminal\nhint: use --text TEXT or --to TARGET\n",
    )  # fmt: skip
    monkeypatch.setenv("GIT_EDITOR", f"cp '{tmp_path}/new'")
    (tmp_path / "new").write_text("# advice\nUse pnpm,\nalways.\n", encoding="utf-8")
    types("edit", rule)
    assert _rules(run_cli, project)[rule]["text"] == "Use pnpm, always."
    (tmp_path / "new").write_text("# only advice\n", encoding="utf-8")
    with Terminal("edit", rule, cwd=project) as terminal:
        terminal.exits_with("nothing was changed", code=1)


def test_what_cannot_be_edited_is_said(
    run_cli: RunCli, approve: Approve, types: Types, project: Path, tmp_path: Path
) -> None:
    rule = approve("use pnpm, not npm")
    same = run_cli("edit", rule, "--text", "Use pnpm, not npm", cwd=project)
    assert same.err == f"error: '{rule}' says that already, and there\nhint: give --text or --to\n"
    unknown = run_cli("edit", "LRN-20200101-zzzzzzzz", "--text", "x", cwd=project)
    assert unknown.err.endswith("hint: see what is in force with 'reflect-git rules --all'\n")
    garden = _project(tmp_path / "garden")
    elsewhere = run_cli("edit", rule, "--text", "x", cwd=garden)
    assert elsewhere.err == (
        f"error: '{rule}' belongs to the project 'shop'\nhint: run it there, or with --project DIR\n"
    )
    assert "+- Use pnpm.\n" in types("edit", rule, "--text", "Use pnpm.", "--project", str(project), cwd=garden)
    (project / "CLAUDE.md").unlink()
    gone = run_cli("edit", rule, "--text", "x", cwd=project)
    assert gone.err == "error: there is no 'CLAUDE.md' here\nhint: is this the right branch?\n"


def test_words_that_a_person_changed_in_the_file_are_not_overwritten(
    run_cli: RunCli, approve: Approve, project: Path
) -> None:
    rule = approve("use pnpm, not npm")
    path = project / "CLAUDE.md"
    path.write_text(path.read_text(encoding="utf-8").replace("pnpm, not npm", "pnpm, never npm"), encoding="utf-8")
    before = path.read_bytes()
    result = run_cli("edit", rule, "--text", "Use yarn.", "--json", cwd=project)
    assert (result.code, result.json()["error"]["code"]) == (4, "reworded")
    assert path.read_bytes() == before


def test_an_improvement_is_deferred_and_applied(
    run_cli: RunCli, approve: Approve, types: Types, project: Path, store_home: Path
) -> None:
    proposal = approve("the build needs a cache", to="improvements")
    listed = run_cli("improvements", "--json", cwd=project).json()["data"]
    assert [(one["id"], one["section"], one["known"]) for one in listed] == [(proposal, "Pending", True)]
    for action, section in (("defer", "Deferred"), ("apply", "Applied")):
        types("improvements", action, proposal)
        assert run_cli("improvements", "--json", cwd=project).json()["data"][0]["section"] == section
        last = _decisions(run_cli, proposal)[-1]
        assert (last["kind"], last["meta"]["section"]) == ("amended", section)
    assert _log(store_home, "-2").splitlines() == ["amend: The build needs a cache"] * 2
    shown = run_cli("improvements", cwd=project).out
    assert shown.startswith(f"Applied\n  {proposal}\n      [")
    again = run_cli("improvements", "apply", proposal, cwd=project)
    assert again.err == f"error: '{proposal}' is applied already\n"


def test_a_colleagues_improvement_is_listed_and_left(run_cli: RunCli, approve: Approve, project: Path) -> None:
    rule = approve("the build needs a cache", to="improvements")
    path = project / ".claude" / "improvements.md"
    theirs = "LRN-20260101-abcdefgh"
    entry = f"## Pending\n\n<!-- {theirs} -->\n\n### [2026-01-01] Split the tests\n\n- **Impact**: High\n"
    path.write_text(path.read_text(encoding="utf-8").replace("## Pending\n", entry), encoding="utf-8")
    assert (
        f"  {theirs} (from a colleague)\n      [2026-01-01] Split the tests\n"
        in run_cli("improvements", cwd=project).out
    )
    assert run_cli("improvements", "apply", theirs, cwd=project).code == 1
    other = run_cli("improvements", "apply", cwd=project)
    assert (other.code, other.err) == (2, "error: 'ID' is missing\nhint: list them with 'reflect-git improvements'\n")
    assert run_cli("improvements", "apply", rule, "--dry-run", cwd=project).code == 0


def test_no_improvements(run_cli: RunCli, types: Types, approve: Approve, project: Path, home: Path) -> None:
    rule = approve("use pnpm, not npm")
    assert run_cli("improvements", cwd=project).err == "no improvements proposed here\n"
    assert run_cli("improvements", "apply", rule, cwd=project).err == (
        f"error: '{rule}' is a rule and no improvement\nhint: see 'reflect-git improvements'\n"
    )
    assert run_cli("improvements", cwd=home).err == (
        "error: this folder is not in a project\nhint: use --project DIR\n"
    )
