"""Numbers of rules: shown, accepted wherever an id is, and in the heading of a file of rules."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from reflect_git.store import api
from reflect_git.store.reading import reader
from tests.conftest import REAL_GIT, RunCli
from tests.rules.queues import BY
from tests.store.store_checks import open_recovered_store
from tests.stories.terminal import Terminal

Types = Callable[..., str]


@pytest.fixture
def project(tmp_path: Path, store_home: Path) -> Path:
    folder = tmp_path / "shop"
    folder.mkdir()
    subprocess.run([REAL_GIT, "init", "-q", str(folder)], check=True)
    return folder


@pytest.fixture
def types(project: Path) -> Types:
    """Run a command at a terminal; return its output."""

    def run(*arguments: str, code: int = 0) -> str:
        with Terminal(*arguments, cwd=project) as terminal:
            return terminal.ends(code).replace("\r\n", "\n")

    return run


@pytest.fixture
def approves(types: Types) -> Types:
    """Capture and approve a rule at a terminal; return its id."""

    def approve(text: str, *options: str) -> str:
        signal = types("capture", "--type", "correction", "--content", text).split()[1]
        said = types("approve", signal, *options)
        return said[said.index("approved LRN-") :].split()[1]

    return approve


def list_rules(run_cli: RunCli, project: Path) -> dict[str, str]:
    return {one["id"]: one["number"] for one in run_cli("rules", "--json", cwd=project).json()["data"]}


def get_files(project: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in (project / ".claude/rules/reflect").glob("*.md")}


def test_numbers_are_shown_and_accepted_wherever_an_id_is(
    approves: Types, types: Types, run_cli: RunCli, project: Path
) -> None:
    first = approves("use pnpm, not npm", "--to", "project")
    second = approves("use rg, not grep", "--to", "project")
    approves("write the changelog first", "--to", "improvements")
    assert list_rules(run_cli, project) == {first: "PROJ-001", second: "PROJ-002"} | {
        rule: "" for rule, number in list_rules(run_cli, project).items() if not number
    }
    assert f"PROJ-002  {second}" in run_cli("rules", cwd=project).out
    assert run_cli("rules", "--grep", "proj-002", "--json", cwd=project).json()["data"][0]["id"] == second
    assert run_cli("show", "PROJ-001", "--json", cwd=project).json()["data"]["record"]["id"] == first
    assert run_cli("effect", "proj-1", "--json", cwd=project).json()["data"]["learnings"][0]["learning"] == first
    assert run_cli("guard", "PROJ-1", "--test", "--json", cwd=project).json()["data"]["learning"] == first
    types("guard", "PROJ-001", "--mode", "deny")
    assert "PROJ-001" in run_cli("guards", cwd=project).out
    assert run_cli("guards", "--json", cwd=project).json()["data"][0]["number"] == "PROJ-001"
    types("unguard", "PROJ-001")
    assert "- Use ripgrep, not grep" in types("edit", "PROJ-002", "--text", "Use ripgrep, not grep")
    types("revert", "PROJ-001")
    assert list(list_rules(run_cli, project).values())[:1] == ["PROJ-002"]
    assert approves("use fd, not find", "--to", "project") in list_rules(run_cli, project)
    assert "PROJ-003" in list_rules(run_cli, project).values(), "the number of a reverted rule is not given again"
    refused = run_cli("show", "PROJ-099", cwd=project)
    assert (refused.code, refused.err.split("\n")[0]) == (1, "error: no rule 'PROJ-099'")
    approves("use ag, not ack", "--to", "project", "--supersedes", "PROJ-002")
    assert second not in list_rules(run_cli, project)
    assert run_cli("audit", "--json", cwd=project).json()["data"]["ok"]


def test_a_numbered_file_begins_with_the_number_and_the_title(
    approves: Types, types: Types, run_cli: RunCli, project: Path
) -> None:
    approves("use pnpm, not npm", "--to", "project")
    rule = approves("use rg, not grep", "--to", "rules:search", "--numbered")
    (name, data), *others = get_files(project).items()
    assert data.decode() == f"---\nid: {rule}\n---\n\n## PROJ-002: Use rg, not grep\n\n- Use rg, not grep\n"
    assert not others
    assert run_cli("audit", "--json", cwd=project).json()["data"]["ok"]
    types("edit", rule, "--text", "Use rg, and fd for names")
    assert (
        get_files(project)[name]
        .decode()
        .endswith("## PROJ-002: Use rg, and fd for names\n\n- Use rg, and fd for names\n")
    )
    types("undo")
    assert get_files(project) == {name: data}
    types("revert", "PROJ-002")
    assert not get_files(project) and not (project / ".claude").exists()
    types("undo")
    assert get_files(project) == {name: data}


def test_a_file_gets_its_number_later_and_loses_it_again(
    approves: Types, types: Types, run_cli: RunCli, project: Path
) -> None:
    rule = approves("use rg, not grep", "--to", "rules")
    before = get_files(project)
    assert "\n+## PROJ-001: Use rg, not grep\n" in types("edit", rule, "--numbered")
    assert run_cli("edit", rule, "--numbered", cwd=project).err.startswith(f"error: '{rule}' says that already")
    types("undo")
    assert get_files(project) == before
    refused = run_cli("edit", rule, "--numbered", "--to", "project", "--dry-run", cwd=project)
    assert (refused.code, "--numbered is for files of rules" in refused.err) == (2, True)


def test_a_heading_that_somebody_changed_is_a_difference(approves: Types, run_cli: RunCli, project: Path) -> None:
    approves("use rg, not grep", "--to", "rules", "--numbered")
    (path,) = (project / ".claude/rules/reflect").glob("*.md")
    path.write_text(path.read_text().replace("PROJ-001", "PROJ-007"))
    assert "entry-changed" in run_cli("audit", "--json", cwd=project).out
    path.write_text(path.read_text().replace("PROJ-007", "PROJ-001"))
    assert run_cli("audit", "--json", cwd=project).json()["data"]["ok"]


def test_after_a_conflict_the_file_keeps_its_heading_until_a_person_changes_it(
    approves: Types, types: Types, run_cli: RunCli, project: Path, store_home: Path
) -> None:
    """A rule with the same number and an earlier id arrives, as from another machine of the same person."""
    rule = approves("use rg, not grep", "--to", "rules", "--numbered")
    ((name, before),) = get_files(project).items()
    store = open_recovered_store(store_home)
    learning: Any = {**reader.read(store).history.learnings[rule], "text": "Use fd.", "title": "Use fd"}
    learning |= {"id": "LRN-20260211-00000001", "decision": "DEC-20260211-00000001", "scope": "global"}
    learning |= {"target": {"kind": "global", "path": "CLAUDE.md"}, "project": None, "meta": {}, "signals": []}
    now, numbers = "2026-02-11T10:00:00.000Z", {learning["id"]: "PROJ-001"}
    made = api.build_decision(
        store, "approved", learning["id"], BY, now, text="Use fd.", target=learning["target"], meta={"numbers": numbers}
    )
    api.commit_records(store, [learning, {**made, "id": learning["decision"]}], "approve: Use fd", {})
    assert list_rules(run_cli, project) == {learning["id"]: "PROJ-001", rule: "PROJ-001b"}
    assert get_files(project) == {name: before}
    assert f"its heading says PROJ-001; to change it: reflect-git edit {rule}" in run_cli("rules", cwd=project).out
    types("edit", "PROJ-001b", "--numbered")
    assert get_files(project) == {name: before.replace(b"PROJ-001", b"PROJ-001b")}
    assert "its heading says" not in run_cli("rules", cwd=project).out
