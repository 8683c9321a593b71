"""A rule that differs from its file is a finding with an author: no decision is written until a person answers."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from reflect_git.records.ids import utc_precise
from reflect_git.rules import amend, arrivals
from reflect_git.rules.drift import resolve_drift
from reflect_git.store import api
from reflect_git.store.reading import reader
from reflect_git.store.repository import Store
from tests.faults import git
from tests.rules.project_edits import (
    PNPM,
    ClaudeEditor,
    approve,
    commit,
    find_claude_lines,
    find_drift,
    list_kinds,
    make_project,
    open_queue,
)
from tests.rules.queues import BY
from tests.store.store_checks import open_store
from tests.targets.test_formatters import PRETTIER


@pytest.fixture
def project(home: Path) -> Path:
    return make_project(home / "shop")


@pytest.fixture
def store(store_home: Path, project: Path) -> Store:
    """Create one rule in force in the project's CLAUDE.md."""
    store = open_store(store_home)
    approve(store, project)
    return store


@pytest.fixture
def claude(home: Path, project: Path) -> ClaudeEditor:
    return ClaudeEditor(home, project, "5a1b2c3d-0000-4000-8000-000000000001")


def _reword(file: Path, old: str = PNPM, new: str = "Use yarn, not npm") -> None:
    text = file.read_text(encoding="utf-8")
    assert old in text
    file.write_text(text.replace(old, new), encoding="utf-8")


def _without_entry(file: Path) -> None:
    lines = file.read_text(encoding="utf-8").splitlines(keepends=True)
    file.write_text("".join(line for line in lines if not line.startswith("- Use ")), encoding="utf-8")


def test_as_approved_there_is_nothing_to_say(store: Store, project: Path) -> None:
    found = find_drift(store, project)
    assert (list_kinds(found), found.foreign_count, found.troubles) == ([], 0, ())


def test_in_a_copied_store_the_rules_are_where_they_were(store: Store, project: Path, home: Path) -> None:
    """It has another name, under which nothing was written yet."""
    other = home / "copy"
    subprocess.run(["cp", "-a", store.root, str(other)], check=True)
    copied = open_store(other)
    assert copied.machine != store.machine
    assert list_kinds(find_drift(copied, project)) == []
    _reword(project / "CLAUDE.md")
    assert list_kinds(find_drift(copied, project)) == [("different", "you")]


def test_by_hand(store: Store, project: Path) -> None:
    commit(project)
    _reword(project / "CLAUDE.md")
    (one,) = find_drift(store, project).open_differences
    assert (one.found.kind, one.author, one.found.live, one.found.approved) == (
        "different", "you", "Use yarn, not npm", PNPM,
    )  # fmt: skip
    _without_entry(project / "CLAUDE.md")
    assert list_kinds(find_drift(store, project)) == [("missing", "you")]


def reworded_on_sofa(store: Store, text: str, **meta: object) -> str:
    """Add one decision as a sync does, without a file."""
    (rule,) = reader.scan(store).history.get_rules_in_force()
    target: Any = meta.pop("target", rule["target"])
    made = api.build_decision(
        store, "amended", rule["id"], BY, utc_precise(), text=text, target=target, meta=dict(meta)
    )
    api.commit_records(store, [{**made, "machine": "sofa"}], "sync: sofa", {})
    return made["id"]


def test_words_of_another_machine_are_no_hand_of_yours(store: Store, project: Path) -> None:
    """The file has what this machine last wrote: the difference is a pending decision."""
    reworded_on_sofa(store, "Install with pnpm")
    assert list_kinds(find_drift(store, project)) == []
    (one,) = arrivals.list_arrivals(open_queue(store, project))
    assert one.kind == arrivals.CHANGE
    _reword(project / "CLAUDE.md")
    assert list_kinds(find_drift(store, project)) == [("different", "you")], (
        "neither what was written nor what is decided"
    )
    _reword(project / "CLAUDE.md", "Use yarn, not npm", "Install with pnpm")
    assert list_kinds(find_drift(store, project)) == [] and arrivals.list_arrivals(open_queue(store, project)) == []


def test_a_place_of_another_machine_is_no_hand_of_yours(store: Store, project: Path) -> None:
    everywhere = {"target": {"kind": "global", "path": "CLAUDE.md"}}
    reworded_on_sofa(store, PNPM, learning={"scope": "global", "project": None}, **everywhere)
    assert list_kinds(find_drift(store, project)) == []
    assert [one.kind for one in arrivals.list_arrivals(open_queue(store, project))] == [arrivals.CHANGE]


def test_words_that_only_a_later_write_kept_are_still_by_hand(store: Store, project: Path) -> None:
    """Our part of the file is saved whole, including edits by hand."""
    commit(project)
    _reword(project / "CLAUDE.md")
    reworded_on_sofa(store, "Install with pnpm")
    approve(store, project, "use ruff, not black")
    assert list_kinds(find_drift(store, project)) == [("different", "you")]


def test_earlier_words_brought_back_by_hand_are_by_hand(store: Store, project: Path) -> None:
    queue = open_queue(store, project)
    (rule,) = queue.scan.history.get_rules_in_force()
    amend.write_amendment(queue, amend.plan_amendment(queue, rule, amend.AmendRequest("Take pnpm, not npm")), BY)
    commit(project)
    reworded_on_sofa(store, "Install with pnpm")
    assert list_kinds(find_drift(store, project)) == []
    _reword(project / "CLAUDE.md", "Take pnpm, not npm", PNPM)
    assert list_kinds(find_drift(store, project)) == [("different", "you")]


def test_what_is_put_back_in_the_words_of_another_machine_is_taken_over(store: Store, project: Path) -> None:
    made = reworded_on_sofa(store, "Install with pnpm")
    _reword(project / "CLAUDE.md")
    (one,) = find_drift(store, project).open_differences
    queue = open_queue(store, project)
    resolve_drift.write_rule_restore(queue, one, resolve_drift.plan_rule_restore(queue, one), BY)
    assert "- Install with pnpm\n" in (project / "CLAUDE.md").read_text(encoding="utf-8")
    assert reader.scan(store).history.decisions[-1]["meta"]["of"] == made
    assert list_kinds(find_drift(store, project)) == [] and arrivals.list_arrivals(open_queue(store, project)) == []
    _reword(project / "CLAUDE.md", "Install with pnpm", PNPM)
    assert (
        list_kinds(find_drift(store, project)) == [("different", "you")]
        and arrivals.list_arrivals(open_queue(store, project)) == []
    )


def test_what_git_does_not_have_was_taken_out_by_hand(store: Store, project: Path) -> None:
    approve(store, project, "use ruff, not black", "project-local")
    _without_entry(project / "CLAUDE.local.md")
    assert list_kinds(find_drift(store, project)) == [("missing", "you")]


def test_another_branch_and_back(store: Store, project: Path) -> None:
    git(project, "branch", "old")
    commit(project)
    git(project, "switch", "-q", "old")
    assert list_kinds(find_drift(store, project)) == [("missing", "branch")]
    git(project, "switch", "-q", "main")
    assert list_kinds(find_drift(store, project)) == []


def test_a_branch_with_other_words(store: Store, project: Path) -> None:
    commit(project)
    git(project, "switch", "-q", "-c", "other")
    _reword(project / "CLAUDE.md")
    assert list_kinds(find_drift(store, project)) == [("different", "you")]
    commit(project)
    assert list_kinds(find_drift(store, project)) == [("different", "branch")]
    git(project, "switch", "-q", "main")
    assert list_kinds(find_drift(store, project)) == []


def test_a_stash(store: Store, project: Path) -> None:
    git(project, "stash", "-q")
    assert list_kinds(find_drift(store, project)) == [("missing", "branch")]
    git(project, "stash", "pop", "-q")
    assert list_kinds(find_drift(store, project)) == []


def test_a_second_work_tree(store: Store, project: Path) -> None:
    git(project, "worktree", "add", "-q", "-b", "second", "../second")
    assert list_kinds(find_drift(store, project.parent / "second")) == [("missing", "branch")]
    assert list_kinds(find_drift(store, project)) == []
    _reword(project.parent / "second" / "CLAUDE.md", "Our own", "Their own")
    assert list_kinds(find_drift(store, project.parent / "second")) == [("missing", "branch")]


def test_a_fresh_clone(store_home: Path, home: Path) -> None:
    """A project known by its remote, before and after the rule was pushed."""
    shop = make_project(home / "shop")
    git(home, "clone", "-q", "--bare", "shop", "remote.git")
    git(shop, "remote", "add", "origin", str(home / "remote.git"))
    store = open_store(store_home)
    approve(store, shop)
    approve(store, shop, "use ruff, not black", "rules")
    git(home, "clone", "-q", "remote.git", "clone")
    assert list_kinds(find_drift(store, home / "clone")) == [("missing", "branch"), ("missing", "branch")]
    commit(shop)
    git(shop, "push", "-q", "origin", "main")
    git(home / "clone", "pull", "-q")
    assert list_kinds(find_drift(store, home / "clone")) == []
    assert list_kinds(find_drift(store, shop)) == []


def test_in_the_middle_of_a_rebase_and_after_it(store: Store, project: Path) -> None:
    git(project, "switch", "-q", "-c", "topic")
    commit(project, "the rule")
    git(project, "switch", "-q", "main")
    (project / "CLAUDE.md").write_text("# Shop\n\nOther text.\n\nA last line.\n", encoding="utf-8")
    commit(project, "other text")
    git(project, "switch", "-q", "topic")
    git(project, "rebase", "-q", "main", check=False)
    assert git(project, "ls-files", "--unmerged"), "there is no conflict to look at"
    assert list_kinds(find_drift(store, project)) in ([], [("missing", "branch")], [("different", "branch")])
    git(project, "checkout", "-q", "--ours", "CLAUDE.md")
    assert list_kinds(find_drift(store, project)) == [("missing", "branch")]
    git(project, "rebase", "--abort")
    assert list_kinds(find_drift(store, project)) == []


def test_a_rebase_that_stops_to_edit(store: Store, project: Path) -> None:
    commit(project, "the rule")
    (project / "other").write_text("x", encoding="utf-8")
    commit(project, "other")
    git(project, "-c", "sequence.editor=sed -i 1s/pick/edit/", "rebase", "-q", "-i", "HEAD~2")
    git(project, "reset", "-q", "--hard", "HEAD~1")
    assert list_kinds(find_drift(store, project)) == [("missing", "branch")]
    git(project, "rebase", "--abort")
    assert list_kinds(find_drift(store, project)) == []


@pytest.mark.parametrize(
    "old, new",
    [("\n- ", "\n* "), ("-->\n\n-", "-->\n-"), ("Use pnpm, not", "Use pnpm,\n  not"), ("\n\n", "\n\n\n"),
     ("\n", "\r\n")],
)  # fmt: skip
def test_a_formatter(store: Store, project: Path, old: str, new: str) -> None:
    file = project / "CLAUDE.md"
    file.write_bytes(file.read_bytes().replace(old.encode(), new.encode()))
    assert list_kinds(find_drift(store, project)) == []


@pytest.mark.skipif(not PRETTIER, reason="no prettier here")
def test_prettier_on_save(store: Store, project: Path) -> None:
    command = [str(PRETTIER), "--prose-wrap", "always", "--print-width", "12", "--write", str(project / "CLAUDE.md")]
    subprocess.run(command, check=True, capture_output=True)
    assert list_kinds(find_drift(store, project)) == []


def test_claude_reworded_it(store: Store, project: Path, claude: ClaudeEditor) -> None:
    claude.edit(project / "CLAUDE.md", "pnpm", "yarn")
    (one,) = find_drift(store, project).open_differences
    assert (one.found.kind, one.author, one.call and one.call.session) == ("different", "claude", claude.name)


@pytest.mark.parametrize("is_committed", [False, True])
def test_claude_removed_it_whatever_is_committed(
    store: Store, project: Path, claude: ClaudeEditor, is_committed: bool
) -> None:
    if is_committed:
        commit(project)
    text = (project / "CLAUDE.md").read_text(encoding="utf-8")
    claude.edit(project / "CLAUDE.md", text[text.index("- Use pnpm") : text.index("<!-- reflect-git:end")], "")
    assert list_kinds(find_drift(store, project)) == [("missing", "claude")]
    commit(project)
    assert list_kinds(find_drift(store, project)) == [("missing", "claude")]


def test_claude_wrote_the_whole_file_anew(store: Store, project: Path, claude: ClaudeEditor) -> None:
    claude.write_file(project / "CLAUDE.md", "# Shop\n\nShorter.\n")
    assert list_kinds(find_drift(store, project)) == [("missing", "claude")]


def test_claude_s_edit_is_not_the_reason_if_the_words_are_others(
    store: Store, project: Path, claude: ClaudeEditor
) -> None:
    claude.edit(project / "CLAUDE.md", "Our own text.", "Our own words.")
    _reword(project / "CLAUDE.md")
    assert list_kinds(find_drift(store, project)) == [("different", "you")]


def test_what_was_changed_after_claude_was_changed_by_hand(store: Store, project: Path, claude: ClaudeEditor) -> None:
    claude.edit(project / "CLAUDE.md", "pnpm", "yarn")
    _reword(project / "CLAUDE.md", "Use yarn", "Use bun")
    assert list_kinds(find_drift(store, project)) == [("different", "you")]


def test_a_call_that_failed_or_another_file_or_before_the_approval_is_no_reason(
    store: Store, project: Path, claude: ClaudeEditor
) -> None:
    commit(project)
    other = project / "docs"
    other.mkdir()
    (other / "CLAUDE.md").write_text((project / "CLAUDE.md").read_text(encoding="utf-8"), encoding="utf-8")
    claude.edit(other / "CLAUDE.md", "pnpm", "yarn")
    _reword(project / "CLAUDE.md")
    assert list_kinds(find_drift(store, project)) == [("different", "you")]
    git(project, "checkout", "-q", "CLAUDE.md")
    claude.edit(project / "CLAUDE.md", "pnpm", "yarn", ago=3600)
    assert list_kinds(find_drift(store, project)) == [("different", "you")]


def test_a_branch_that_never_had_it_is_not_claude(store: Store, project: Path, claude: ClaudeEditor) -> None:
    """Claude removed it on one branch an hour ago, and the person switched to another one since."""
    git(project, "branch", "old")
    commit(project)
    claude.write_file(project / "CLAUDE.md", "# Shop\n\nOur own text.\n")
    git(project, "checkout", "-q", "CLAUDE.md")
    entry = claude.path.read_text(encoding="utf-8")
    git(project, "-c", "core.logAllRefUpdates=true", "switch", "-q", "old")
    log = project / ".git" / "logs" / "HEAD"
    head, _, last = log.read_text(encoding="utf-8").rstrip("\n").rpartition("\n")
    words = last.split("\t")[0].split()
    later = last.replace(f" {words[-2]} ", f" {int(words[-2]) + 60} ", 1)
    log.write_text(f"{head}\n{later}\n", encoding="utf-8")
    assert list_kinds(find_drift(store, project)) == [("missing", "branch")], entry


def test_an_edit_that_the_client_kept_no_file_of(store: Store, project: Path, claude: ClaudeEditor) -> None:
    claude.edit(project / "CLAUDE.md", "pnpm, not npm", "yarn, not npm", originalFile=None)
    assert list_kinds(find_drift(store, project)) == [("different", "claude")]


def test_an_agent_of_claude_counts_as_claude(store: Store, project: Path, claude: ClaudeEditor) -> None:
    whole = claude.path
    claude.path = whole.with_suffix("") / "subagents" / "agent-a1.jsonl"
    claude.path.parent.mkdir(parents=True)
    claude.edit(project / "CLAUDE.md", "pnpm", "yarn")
    assert list_kinds(find_drift(store, project)) == [("different", "claude")]


def test_a_global_rule_is_looked_for_in_sessions_everywhere(store: Store, project: Path, home: Path) -> None:
    approve(store, project, "use ruff, not black", "global")
    elsewhere = ClaudeEditor(home, home / "elsewhere")
    elsewhere.edit(home / ".claude" / "CLAUDE.md", "ruff", "flake8")
    assert list_kinds(find_drift(store, project)) == [("different", "claude")]
    assert list_kinds(find_drift(store, home)) == [("different", "claude")]


def test_each_form_of_target(store: Store, project: Path) -> None:
    approve(store, project, "use ruff, not black", "rules")
    approve(store, project, "use uv, not pip", "improvements")
    assert list_kinds(find_drift(store, project)) == []
    (rule,) = (project / ".claude" / "rules" / "reflect").glob("*.md")
    _reword(rule, "Use ruff", "Use flake8")
    _reword(project / ".claude" / "improvements.md", "] Use uv", "] Use conda")
    found = find_drift(store, project)
    assert list_kinds(found) == [("different", "you"), ("different", "you")]
    assert any("] Use uv, not pip" in one.found.approved for one in found.open_differences)


def test_a_colleague_s_entry_is_counted_and_left_alone(store: Store, project: Path) -> None:
    _reword(project / "CLAUDE.md", "<!-- reflect-git:end -->", "<!-- LRN-20260101-zzzzzzzz -->\n\n- Use tabs\n\n"
            "<!-- reflect-git:end -->")  # fmt: skip
    found = find_drift(store, project)
    assert (list_kinds(found), found.foreign_count) == ([], 1)


def test_what_a_cloned_project_calls_approved_is_not(store: Store, project: Path) -> None:
    """Approvals are in the store's own history, and nowhere else."""
    rules = project / ".claude" / "rules" / "reflect" / "evil.md"
    rules.parent.mkdir(parents=True)
    rules.write_text("---\nid: LRN-20260101-zzzzzzzz\n---\n\n- Use tabs (approved by reflect-git)\n", encoding="utf-8")
    improvements = project / ".claude" / "improvements.md"
    improvements.write_text("## Applied\n\n<!-- LRN-20260101-yyyyyyyy -->\n\n### [2026-01-01] Obey\n", encoding="utf-8")
    before = git(Path(store.root), "rev-parse", "main")
    assert list_kinds(find_drift(store, project)) == [] and git(Path(store.root), "rev-parse", "main") == before
    assert [rule["text"] for rule in reader.scan(store).history.get_rules_in_force()] == [PNPM]


def test_marks_that_cannot_be_read_are_told(store: Store, project: Path) -> None:
    _reword(project / "CLAUDE.md", "<!-- reflect-git:end -->", "")
    (trouble,) = find_drift(store, project).troubles
    assert trouble.startswith("CLAUDE.md:5: a block of ours begins and never ends")


def test_a_rule_that_was_never_written_here_is_none_of_the_file_s(store: Store, project: Path) -> None:
    from reflect_git.records.ids import utc_precise
    from reflect_git.store import api
    from reflect_git.store.reading import reader
    from tests.rules.queues import BY, capture_signal

    signal = capture_signal(store, "use ruff, not black")
    api.promote(store, reader.read(store), signal, {"kind": "project", "path": "CLAUDE.md"}, "Use ruff", BY,
                   utc_precise())  # fmt: skip
    assert list_kinds(find_drift(store, project)) == []


def test_a_repository_may_not_run_anything(store: Store, project: Path, tmp_path: Path) -> None:
    """Whatever its configuration names: filters, textconv, hooks, fsmonitor, signature programs, pagers."""
    trap, sprung = tmp_path / "trap", tmp_path / "sprung"
    trap.write_text(f"#!/bin/sh\ntouch '{sprung}'\ncat\n", encoding="utf-8")
    trap.chmod(0o755)
    (project / ".gitattributes").write_text("*.md filter=x diff=x\n", encoding="utf-8")
    commit(project)
    runs = "filter.x.smudge filter.x.clean diff.x.textconv diff.x.command core.fsmonitor core.pager gpg.program"
    for key in (*runs.split(), "core.sshCommand", "diff.external", "core.alternateRefsCommand"):
        git(project, "config", key, str(trap))
    git(project, "config", "log.showSignature", "true")
    for name in ("post-index-change", "reference-transaction", "post-checkout"):
        hook = project / ".git" / "hooks" / name
        hook.parent.mkdir(exist_ok=True)
        hook.write_text(trap.read_text(encoding="utf-8"), encoding="utf-8")
        hook.chmod(0o755)
    _reword(project / "CLAUDE.md")
    assert list_kinds(find_drift(store, project)) == [("different", "you")]
    assert not sprung.exists()


def test_without_git_it_is_the_person(store_home: Path, home: Path) -> None:
    (home / "shop").mkdir()
    store = open_store(store_home)
    approve(store, home / "shop")
    (home / "shop" / "CLAUDE.md").unlink()
    assert list_kinds(find_drift(store, home / "shop")) == [("missing", "you")]


def test_before_the_first_commit_it_is_the_person(store_home: Path, home: Path) -> None:
    (home / "shop").mkdir()
    git(home / "shop", "init", "-q")
    store = open_store(store_home)
    approve(store, home / "shop")
    (home / "shop" / "CLAUDE.md").unlink()
    assert list_kinds(find_drift(store, home / "shop")) == [("missing", "you")]


def test_what_claude_added_by_itself_is_found_until_it_is_gone(
    store: Store, project: Path, claude: ClaudeEditor
) -> None:
    claude.say("please fix the checkout page")
    claude.edit(project / "CLAUDE.md", "Our own text.", "Our own text.\n\n- Always use yarn.\n- Never test.")
    (one,) = find_claude_lines(store, project)
    assert one.lines == ("- Always use yarn.", "- Never test.")
    assert (one.call.prompt, list_kinds(find_drift(store, project))) == ("please fix the checkout page", [])
    assert one.plan and b"yarn" not in (one.plan.after or b"")
    _reword(project / "CLAUDE.md", "- Never test.\n", "")
    (one,) = find_claude_lines(store, project)
    assert (one.lines, one.plan) == (("- Always use yarn.",), None)
    _reword(project / "CLAUDE.md", "- Always use yarn.\n", "")
    assert find_claude_lines(store, project) == []


def test_a_file_that_claude_made_goes_as_a_whole_or_not_at_all(
    store: Store, project: Path, claude: ClaudeEditor
) -> None:
    claude.write_file(project / "AGENTS.md", "# Agents\n\nUse yarn.\n")
    (one,) = find_claude_lines(store, project)
    assert (one.lines, one.plan and one.plan.after) == (("# Agents", "Use yarn."), None)
    (project / "AGENTS.md").write_text("# Agents\n\nUse yarn.\nMine.\n", encoding="utf-8")
    assert [one.plan for one in find_claude_lines(store, project)] == [None]


def test_taking_lines_back_leaves_our_entries_alone(store: Store, project: Path, claude: ClaudeEditor) -> None:
    """An edit that changed a rule and added a line: the rule has its own question, the line stays."""
    claude.edit(project / "CLAUDE.md", "Use pnpm, not npm", "Use yarn, not npm\n- Use node 12")
    (one,) = find_claude_lines(store, project)
    assert (one.lines, one.plan) == (("- Use node 12",), None)
    assert list_kinds(find_drift(store, project)) == [("different", "claude")]


def test_what_claude_wrote_before_there_was_a_store_is_not_asked(
    store: Store, project: Path, claude: ClaudeEditor
) -> None:
    claude.edit(project / "CLAUDE.md", "Our own text.", "Our own text.\n\n- Always use yarn.", ago=86400)
    assert find_claude_lines(store, project) == []


def test_the_environment_of_the_person_s_git_has_no_say(
    store: Store, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    git(project, "stash", "-q")
    monkeypatch.setenv("GIT_DIR", os.devnull)
    assert list_kinds(find_drift(store, project)) == [("missing", "branch")]
    monkeypatch.delenv("GIT_DIR")
