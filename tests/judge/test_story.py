"""The loop as one story: bad sessions are scored, a suggestion becomes a rule, and later sessions score better."""

from __future__ import annotations

from pathlib import Path

import pytest

from reflect_git.store.reading import reader
from reflect_git.store.repository import Store
from tests.cli.old_store import approve
from tests.conftest import RunCli, wait_for_background
from tests.hooks.test_session_figures import load, wait_for_next_second
from tests.judge.judges import SUGGESTION, switch_on, write_judge
from tests.rules.project_edits import make_project
from tests.sessions import Session
from tests.store.store_checks import open_store
from tests.stories.terminal import Terminal


@pytest.fixture
def project(home: Path) -> Path:
    return make_project(home / "shop")


@pytest.fixture
def store(store_home: Path, project: Path) -> Store:
    return open_store(store_home)


def run_session(home: Path, project: Path, complaint: str) -> None:
    session = Session(home, cwd=str(project))
    load(session, project / "CLAUDE.md")
    for number in range(1, 11):
        session.say(f"please add page number {number} to the shop")
        session.run_tool("Edit", file_path=f"{project}/page{number}.tsx")
        session.answer(f"I added page number {number}.")
    if complaint:
        session.say(complaint)
    session.run_hook("SessionEnd", reason="other")
    wait_for_background(home)


def test_a_suggestion_becomes_a_rule_and_both_versions_have_their_mean(
    store: Store, home: Path, project: Path, run_cli: RunCli, tmp_path: Path
) -> None:
    switch_on(store, write_judge(tmp_path))
    assert run_cli("evaluate", "--calibrate", "--yes").code == 0
    approve(store, project, "use pnpm, not npm")
    # Two bad sessions under the first version.
    for complaint in ("you did not listen, the linter fails", "again you did not listen to me"):
        run_session(home, project, complaint)
    scored = run_cli("evaluate", "--since", "3650d", "--yes", cwd=project)
    assert scored.code == 0 and "mean 2.00 of 2 scores, anchored" in scored.out
    assert scored.out.count("  2.00  update  ") == 2
    (suggested, _) = run_cli("suggestions", "--json", cwd=project).json()["data"]
    assert suggested["text"] == SUGGESTION and suggested["priority"] == 5
    # The person takes the suggestion: it is not in their words, so they type yes.
    wait_for_next_second()
    with Terminal("suggestions", "take", suggested["id"], "--to", "project", cwd=project) as terminal:
        seen = terminal.passes("type 'yes' to approve it all the same [no]:")
        assert f"+- {SUGGESTION}" in seen and "risk: it rests on words that are not your own" in seen
        terminal.types("yes")
        assert "approved LRN-" in terminal.ends()
    assert f"- {SUGGESTION}\n" in (project / "CLAUDE.md").read_text()
    led = run_cli("evaluate", "show", suggested["evaluation"], cwd=project)
    assert "led to:" in led.out and "(taken)" in led.out
    approved = reader.scan(store).history.decisions[-1]
    assert approved["reason"] == "scored 2.00 in 1 evaluation: It does not listen."
    assert approved["meta"]["gate"]["judge"] == "suggested at 2.00"
    # A good session under the second version.
    run_session(home, project, "")
    again = run_cli("evaluate", "--since", "3650d", "--yes", cwd=project)
    assert again.code == 0 and "mean 4.00 of 1 score, anchored" in again.out
    found = {one["version"]: one for one in run_cli("versions", "--json", cwd=project).json()["data"]["versions"]}
    assert {number: (one["scored"], one["score"]) for number, one in found.items()} == {1: (2, 2.0), 2: (1, 4.0)}
    kinds = [one["versions"] for one in reader.scan(store).other_records.values() if one["id"].startswith("EVL-")]
    assert sorted(map(str, kinds)) == sorted(map(str, [{"CLAUDE.md": 1}, {"CLAUDE.md": 1}, {"CLAUDE.md": 2}]))
    shown = run_cli("versions", cwd=project)
    assert "score 4.0 (anchored)" in shown.out and "score 2.0 (anchored)" in shown.out
    assert "scores: anchored" in run_cli("trend", cwd=project).err
