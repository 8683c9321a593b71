"""A rule that differs from its file is a finding with an author: no decision is written until a person answers."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from reflect_git.records.ids import utc_precise
from reflect_git.rules import amend, arrivals
from reflect_git.rules.drift import resolve_drift
from reflect_git.store import api
from reflect_git.store.reading import reader
from reflect_git.store.repository import Store
from tests.faults import git
from tests.rules.project_edits import PNPM, Claude, approve, commit, look, make_project, sit, told, written
from tests.rules.queues import BY
from tests.store.probe import opened
from tests.targets.test_formatters import PRETTIER


@pytest.fixture
def shop(home: Path) -> Path:
    return make_project(home / "shop")


@pytest.fixture
def store(store_home: Path, shop: Path) -> Store:
    """Create one rule in force in the project's CLAUDE.md."""
    store = opened(store_home)
    approve(store, shop)
    return store


@pytest.fixture
def claude(home: Path, shop: Path) -> Claude:
    return Claude(home, shop, "5a1b2c3d-0000-4000-8000-000000000001")


def _reword(file: Path, old: str = PNPM, new: str = "Use yarn, not npm") -> None:
    text = file.read_text(encoding="utf-8")
    assert old in text
    file.write_text(text.replace(old, new), encoding="utf-8")


def _without_entry(file: Path) -> None:
    lines = file.read_text(encoding="utf-8").splitlines(keepends=True)
    file.write_text("".join(line for line in lines if not line.startswith("- Use ")), encoding="utf-8")


def test_as_approved_there_is_nothing_to_say(store: Store, shop: Path) -> None:
    found = look(store, shop)
    assert (told(found), found.foreign, found.troubles) == ([], 0, ())


def test_in_a_copied_store_the_rules_are_where_they_were(store: Store, shop: Path, home: Path) -> None:
    """It has another name, under which nothing was written yet."""
    other = home / "copy"
    subprocess.run(["cp", "-a", store.root, str(other)], check=True)
    copied = opened(other)
    assert copied.machine != store.machine
    assert told(look(copied, shop)) == []
    _reword(shop / "CLAUDE.md")
    assert told(look(copied, shop)) == [("different", "you")]


def test_by_hand(store: Store, shop: Path) -> None:
    commit(shop)
    _reword(shop / "CLAUDE.md")
    (one,) = look(store, shop).asked
    assert (one.found.kind, one.author, one.found.live, one.found.approved) == (
        "different", "you", "Use yarn, not npm", PNPM,
    )  # fmt: skip
    _without_entry(shop / "CLAUDE.md")
    assert told(look(store, shop)) == [("missing", "you")]


def reworded_on_sofa(store: Store, text: str, **meta: object) -> str:
    """Add one decision as a sync does, without a file."""
    (rule,) = reader.scan(store).history.in_force()
    target = meta.pop("target", rule["target"])
    made = api.decision(store, "amended", rule["id"], BY, utc_precise(), text=text, target=target, meta=dict(meta))  # type: ignore[arg-type]
    api.record(store, [{**made, "machine": "sofa"}], "sync: sofa", {})
    return made["id"]


def test_words_of_another_machine_are_no_hand_of_yours(store: Store, shop: Path) -> None:
    """The file has what this machine last wrote: the difference is a pending decision."""
    reworded_on_sofa(store, "Install with pnpm")
    assert told(look(store, shop)) == []
    (one,) = arrivals.waiting(sit(store, shop))
    assert one.kind == arrivals.CHANGE
    _reword(shop / "CLAUDE.md")
    assert told(look(store, shop)) == [("different", "you")], "neither what was written nor what is decided"
    _reword(shop / "CLAUDE.md", "Use yarn, not npm", "Install with pnpm")
    assert told(look(store, shop)) == [] and arrivals.waiting(sit(store, shop)) == []


def test_a_place_of_another_machine_is_no_hand_of_yours(store: Store, shop: Path) -> None:
    everywhere = {"target": {"kind": "global", "path": "CLAUDE.md"}}
    reworded_on_sofa(store, PNPM, learning={"scope": "global", "project": None}, **everywhere)
    assert told(look(store, shop)) == []
    assert [one.kind for one in arrivals.waiting(sit(store, shop))] == [arrivals.CHANGE]


def test_words_that_only_a_later_write_kept_are_still_by_hand(store: Store, shop: Path) -> None:
    """Our part of the file is saved whole, including edits by hand."""
    commit(shop)
    _reword(shop / "CLAUDE.md")
    reworded_on_sofa(store, "Install with pnpm")
    approve(store, shop, "use ruff, not black")
    assert told(look(store, shop)) == [("different", "you")]


def test_earlier_words_brought_back_by_hand_are_by_hand(store: Store, shop: Path) -> None:
    queue = sit(store, shop)
    (rule,) = queue.scan.history.in_force()
    amend.carry_out(queue, amend.amend(queue, rule, amend.Wanted("Take pnpm, not npm")), BY)
    commit(shop)
    reworded_on_sofa(store, "Install with pnpm")
    assert told(look(store, shop)) == []
    _reword(shop / "CLAUDE.md", "Take pnpm, not npm", PNPM)
    assert told(look(store, shop)) == [("different", "you")]


def test_what_is_put_back_in_the_words_of_another_machine_is_taken_over(store: Store, shop: Path) -> None:
    made = reworded_on_sofa(store, "Install with pnpm")
    _reword(shop / "CLAUDE.md")
    (one,) = look(store, shop).asked
    queue = sit(store, shop)
    resolve_drift.carry_back(queue, one, resolve_drift.put_back(queue, one), BY)
    assert "- Install with pnpm\n" in (shop / "CLAUDE.md").read_text(encoding="utf-8")
    assert reader.scan(store).history.decisions[-1]["meta"]["of"] == made
    assert told(look(store, shop)) == [] and arrivals.waiting(sit(store, shop)) == []
    _reword(shop / "CLAUDE.md", "Install with pnpm", PNPM)
    assert told(look(store, shop)) == [("different", "you")] and arrivals.waiting(sit(store, shop)) == []


def test_what_git_does_not_have_was_taken_out_by_hand(store: Store, shop: Path) -> None:
    approve(store, shop, "use ruff, not black", "project-local")
    _without_entry(shop / "CLAUDE.local.md")
    assert told(look(store, shop)) == [("missing", "you")]


def test_another_branch_and_back(store: Store, shop: Path) -> None:
    git(shop, "branch", "old")
    commit(shop)
    git(shop, "switch", "-q", "old")
    assert told(look(store, shop)) == [("missing", "branch")]
    git(shop, "switch", "-q", "main")
    assert told(look(store, shop)) == []


def test_a_branch_with_other_words(store: Store, shop: Path) -> None:
    commit(shop)
    git(shop, "switch", "-q", "-c", "other")
    _reword(shop / "CLAUDE.md")
    assert told(look(store, shop)) == [("different", "you")]
    commit(shop)
    assert told(look(store, shop)) == [("different", "branch")]
    git(shop, "switch", "-q", "main")
    assert told(look(store, shop)) == []


def test_a_stash(store: Store, shop: Path) -> None:
    git(shop, "stash", "-q")
    assert told(look(store, shop)) == [("missing", "branch")]
    git(shop, "stash", "pop", "-q")
    assert told(look(store, shop)) == []


def test_a_second_work_tree(store: Store, shop: Path) -> None:
    git(shop, "worktree", "add", "-q", "-b", "second", "../second")
    assert told(look(store, shop.parent / "second")) == [("missing", "branch")]
    assert told(look(store, shop)) == []
    _reword(shop.parent / "second" / "CLAUDE.md", "Our own", "Their own")
    assert told(look(store, shop.parent / "second")) == [("missing", "branch")]


def test_a_fresh_clone(store_home: Path, home: Path) -> None:
    """A project known by its remote, before and after the rule was pushed."""
    shop = make_project(home / "shop")
    git(home, "clone", "-q", "--bare", "shop", "remote.git")
    git(shop, "remote", "add", "origin", str(home / "remote.git"))
    store = opened(store_home)
    approve(store, shop)
    approve(store, shop, "use ruff, not black", "rules")
    git(home, "clone", "-q", "remote.git", "clone")
    assert told(look(store, home / "clone")) == [("missing", "branch"), ("missing", "branch")]
    commit(shop)
    git(shop, "push", "-q", "origin", "main")
    git(home / "clone", "pull", "-q")
    assert told(look(store, home / "clone")) == []
    assert told(look(store, shop)) == []


def test_in_the_middle_of_a_rebase_and_after_it(store: Store, shop: Path) -> None:
    git(shop, "switch", "-q", "-c", "topic")
    commit(shop, "the rule")
    git(shop, "switch", "-q", "main")
    (shop / "CLAUDE.md").write_text("# Shop\n\nOther text.\n\nA last line.\n", encoding="utf-8")
    commit(shop, "other text")
    git(shop, "switch", "-q", "topic")
    git(shop, "rebase", "-q", "main", check=False)
    assert git(shop, "ls-files", "--unmerged"), "there is no conflict to look at"
    assert told(look(store, shop)) in ([], [("missing", "branch")], [("different", "branch")])
    git(shop, "checkout", "-q", "--ours", "CLAUDE.md")
    assert told(look(store, shop)) == [("missing", "branch")]
    git(shop, "rebase", "--abort")
    assert told(look(store, shop)) == []


def test_a_rebase_that_stops_to_edit(store: Store, shop: Path) -> None:
    commit(shop, "the rule")
    (shop / "other").write_text("x", encoding="utf-8")
    commit(shop, "other")
    git(shop, "-c", "sequence.editor=sed -i 1s/pick/edit/", "rebase", "-q", "-i", "HEAD~2")
    git(shop, "reset", "-q", "--hard", "HEAD~1")
    assert told(look(store, shop)) == [("missing", "branch")]
    git(shop, "rebase", "--abort")
    assert told(look(store, shop)) == []


@pytest.mark.parametrize(
    "old, new",
    [("\n- ", "\n* "), ("-->\n\n-", "-->\n-"), ("Use pnpm, not", "Use pnpm,\n  not"), ("\n\n", "\n\n\n"),
     ("\n", "\r\n")],
)  # fmt: skip
def test_a_formatter(store: Store, shop: Path, old: str, new: str) -> None:
    file = shop / "CLAUDE.md"
    file.write_bytes(file.read_bytes().replace(old.encode(), new.encode()))
    assert told(look(store, shop)) == []


@pytest.mark.skipif(not PRETTIER, reason="no prettier here")
def test_prettier_on_save(store: Store, shop: Path) -> None:
    command = [str(PRETTIER), "--prose-wrap", "always", "--print-width", "12", "--write", str(shop / "CLAUDE.md")]
    subprocess.run(command, check=True, capture_output=True)
    assert told(look(store, shop)) == []


def test_claude_reworded_it(store: Store, shop: Path, claude: Claude) -> None:
    claude.edit(shop / "CLAUDE.md", "pnpm", "yarn")
    (one,) = look(store, shop).asked
    assert (one.found.kind, one.author, one.call and one.call.session) == ("different", "claude", claude.name)


@pytest.mark.parametrize("is_committed", [False, True])
def test_claude_removed_it_whatever_is_committed(store: Store, shop: Path, claude: Claude, is_committed: bool) -> None:
    if is_committed:
        commit(shop)
    text = (shop / "CLAUDE.md").read_text(encoding="utf-8")
    claude.edit(shop / "CLAUDE.md", text[text.index("- Use pnpm") : text.index("<!-- reflect-git:end")], "")
    assert told(look(store, shop)) == [("missing", "claude")]
    commit(shop)
    assert told(look(store, shop)) == [("missing", "claude")]


def test_claude_wrote_the_whole_file_anew(store: Store, shop: Path, claude: Claude) -> None:
    claude.write_file(shop / "CLAUDE.md", "# Shop\n\nShorter.\n")
    assert told(look(store, shop)) == [("missing", "claude")]


def test_claude_s_edit_is_not_the_reason_if_the_words_are_others(store: Store, shop: Path, claude: Claude) -> None:
    claude.edit(shop / "CLAUDE.md", "Our own text.", "Our own words.")
    _reword(shop / "CLAUDE.md")
    assert told(look(store, shop)) == [("different", "you")]


def test_what_was_changed_after_claude_was_changed_by_hand(store: Store, shop: Path, claude: Claude) -> None:
    claude.edit(shop / "CLAUDE.md", "pnpm", "yarn")
    _reword(shop / "CLAUDE.md", "Use yarn", "Use bun")
    assert told(look(store, shop)) == [("different", "you")]


def test_a_call_that_failed_or_another_file_or_before_the_approval_is_no_reason(
    store: Store, shop: Path, claude: Claude
) -> None:
    commit(shop)
    other = shop / "docs"
    other.mkdir()
    (other / "CLAUDE.md").write_text((shop / "CLAUDE.md").read_text(encoding="utf-8"), encoding="utf-8")
    claude.edit(other / "CLAUDE.md", "pnpm", "yarn")
    _reword(shop / "CLAUDE.md")
    assert told(look(store, shop)) == [("different", "you")]
    git(shop, "checkout", "-q", "CLAUDE.md")
    claude.edit(shop / "CLAUDE.md", "pnpm", "yarn", ago=3600)
    assert told(look(store, shop)) == [("different", "you")]


def test_a_branch_that_never_had_it_is_not_claude(store: Store, shop: Path, claude: Claude) -> None:
    """Claude removed it on one branch an hour ago, and the person switched to another one since."""
    git(shop, "branch", "old")
    commit(shop)
    claude.write_file(shop / "CLAUDE.md", "# Shop\n\nOur own text.\n")
    git(shop, "checkout", "-q", "CLAUDE.md")
    entry = claude.path.read_text(encoding="utf-8")
    git(shop, "-c", "core.logAllRefUpdates=true", "switch", "-q", "old")
    log = shop / ".git" / "logs" / "HEAD"
    head, _, last = log.read_text(encoding="utf-8").rstrip("\n").rpartition("\n")
    words = last.split("\t")[0].split()
    later = last.replace(f" {words[-2]} ", f" {int(words[-2]) + 60} ", 1)
    log.write_text(f"{head}\n{later}\n", encoding="utf-8")
    assert told(look(store, shop)) == [("missing", "branch")], entry


def test_an_edit_that_the_client_kept_no_file_of(store: Store, shop: Path, claude: Claude) -> None:
    claude.edit(shop / "CLAUDE.md", "pnpm, not npm", "yarn, not npm", originalFile=None)
    assert told(look(store, shop)) == [("different", "claude")]


def test_an_agent_of_claude_counts_as_claude(store: Store, shop: Path, claude: Claude) -> None:
    whole = claude.path
    claude.path = whole.with_suffix("") / "subagents" / "agent-a1.jsonl"
    claude.path.parent.mkdir(parents=True)
    claude.edit(shop / "CLAUDE.md", "pnpm", "yarn")
    assert told(look(store, shop)) == [("different", "claude")]


def test_a_global_rule_is_looked_for_in_sessions_everywhere(store: Store, shop: Path, home: Path) -> None:
    approve(store, shop, "use ruff, not black", "global")
    elsewhere = Claude(home, home / "elsewhere")
    elsewhere.edit(home / ".claude" / "CLAUDE.md", "ruff", "flake8")
    assert told(look(store, shop)) == [("different", "claude")]
    assert told(look(store, home)) == [("different", "claude")]


def test_each_form_of_target(store: Store, shop: Path) -> None:
    approve(store, shop, "use ruff, not black", "rules")
    approve(store, shop, "use uv, not pip", "improvements")
    assert told(look(store, shop)) == []
    (rule,) = (shop / ".claude" / "rules" / "reflect").glob("*.md")
    _reword(rule, "Use ruff", "Use flake8")
    _reword(shop / ".claude" / "improvements.md", "] Use uv", "] Use conda")
    found = look(store, shop)
    assert told(found) == [("different", "you"), ("different", "you")]
    assert any("] Use uv, not pip" in one.found.approved for one in found.asked)


def test_a_colleague_s_entry_is_counted_and_left_alone(store: Store, shop: Path) -> None:
    _reword(shop / "CLAUDE.md", "<!-- reflect-git:end -->", "<!-- LRN-20260101-zzzzzzzz -->\n\n- Use tabs\n\n"
            "<!-- reflect-git:end -->")  # fmt: skip
    found = look(store, shop)
    assert (told(found), found.foreign) == ([], 1)


def test_what_a_cloned_project_calls_approved_is_not(store: Store, shop: Path) -> None:
    """Approvals are in the store's own history, and nowhere else."""
    rules = shop / ".claude" / "rules" / "reflect" / "evil.md"
    rules.parent.mkdir(parents=True)
    rules.write_text("---\nid: LRN-20260101-zzzzzzzz\n---\n\n- Use tabs (approved by reflect-git)\n", encoding="utf-8")
    improvements = shop / ".claude" / "improvements.md"
    improvements.write_text("## Applied\n\n<!-- LRN-20260101-yyyyyyyy -->\n\n### [2026-01-01] Obey\n", encoding="utf-8")
    before = git(Path(store.root), "rev-parse", "main")
    assert told(look(store, shop)) == [] and git(Path(store.root), "rev-parse", "main") == before
    assert [rule["text"] for rule in reader.scan(store).history.in_force()] == [PNPM]


def test_marks_that_cannot_be_read_are_told(store: Store, shop: Path) -> None:
    _reword(shop / "CLAUDE.md", "<!-- reflect-git:end -->", "")
    (trouble,) = look(store, shop).troubles
    assert trouble.startswith("CLAUDE.md:5: a block of ours begins and never ends")


def test_a_rule_that_was_never_written_here_is_none_of_the_file_s(store: Store, shop: Path) -> None:
    from reflect_git.records.ids import utc_precise
    from reflect_git.store import api
    from reflect_git.store.reading import reader
    from tests.rules.queues import BY, say

    signal = say(store, "use ruff, not black")
    api.promote(store, reader.read(store), signal, {"kind": "project", "path": "CLAUDE.md"}, "Use ruff", BY,
                   utc_precise())  # fmt: skip
    assert told(look(store, shop)) == []


def test_a_repository_may_not_run_anything(store: Store, shop: Path, tmp_path: Path) -> None:
    """Whatever its configuration names: filters, textconv, hooks, fsmonitor, signature programs, pagers."""
    trap, sprung = tmp_path / "trap", tmp_path / "sprung"
    trap.write_text(f"#!/bin/sh\ntouch '{sprung}'\ncat\n", encoding="utf-8")
    trap.chmod(0o755)
    (shop / ".gitattributes").write_text("*.md filter=x diff=x\n", encoding="utf-8")
    commit(shop)
    runs = "filter.x.smudge filter.x.clean diff.x.textconv diff.x.command core.fsmonitor core.pager gpg.program"
    for key in (*runs.split(), "core.sshCommand", "diff.external", "core.alternateRefsCommand"):
        git(shop, "config", key, str(trap))
    git(shop, "config", "log.showSignature", "true")
    for name in ("post-index-change", "reference-transaction", "post-checkout"):
        hook = shop / ".git" / "hooks" / name
        hook.parent.mkdir(exist_ok=True)
        hook.write_text(trap.read_text(encoding="utf-8"), encoding="utf-8")
        hook.chmod(0o755)
    _reword(shop / "CLAUDE.md")
    assert told(look(store, shop)) == [("different", "you")]
    assert not sprung.exists()


def test_without_git_it_is_the_person(store_home: Path, home: Path) -> None:
    (home / "shop").mkdir()
    store = opened(store_home)
    approve(store, home / "shop")
    (home / "shop" / "CLAUDE.md").unlink()
    assert told(look(store, home / "shop")) == [("missing", "you")]


def test_before_the_first_commit_it_is_the_person(store_home: Path, home: Path) -> None:
    (home / "shop").mkdir()
    git(home / "shop", "init", "-q")
    store = opened(store_home)
    approve(store, home / "shop")
    (home / "shop" / "CLAUDE.md").unlink()
    assert told(look(store, home / "shop")) == [("missing", "you")]


def test_what_claude_added_by_itself_is_found_until_it_is_gone(store: Store, shop: Path, claude: Claude) -> None:
    claude.say("please fix the checkout page")
    claude.edit(shop / "CLAUDE.md", "Our own text.", "Our own text.\n\n- Always use yarn.\n- Never test.")
    (one,) = written(store, shop)
    assert one.lines == ("- Always use yarn.", "- Never test.")
    assert (one.call.prompt, told(look(store, shop))) == ("please fix the checkout page", [])
    assert one.plan and b"yarn" not in (one.plan.after or b"")
    _reword(shop / "CLAUDE.md", "- Never test.\n", "")
    (one,) = written(store, shop)
    assert (one.lines, one.plan) == (("- Always use yarn.",), None)
    _reword(shop / "CLAUDE.md", "- Always use yarn.\n", "")
    assert written(store, shop) == []


def test_a_file_that_claude_made_goes_as_a_whole_or_not_at_all(store: Store, shop: Path, claude: Claude) -> None:
    claude.write_file(shop / "AGENTS.md", "# Agents\n\nUse yarn.\n")
    (one,) = written(store, shop)
    assert (one.lines, one.plan and one.plan.after) == (("# Agents", "Use yarn."), None)
    (shop / "AGENTS.md").write_text("# Agents\n\nUse yarn.\nMine.\n", encoding="utf-8")
    assert [one.plan for one in written(store, shop)] == [None]


def test_taking_lines_back_leaves_our_entries_alone(store: Store, shop: Path, claude: Claude) -> None:
    """An edit that changed a rule and added a line: the rule has its own question, the line stays."""
    claude.edit(shop / "CLAUDE.md", "Use pnpm, not npm", "Use yarn, not npm\n- Use node 12")
    (one,) = written(store, shop)
    assert (one.lines, one.plan) == (("- Use node 12",), None)
    assert told(look(store, shop)) == [("different", "claude")]


def test_what_claude_wrote_before_there_was_a_store_is_not_asked(store: Store, shop: Path, claude: Claude) -> None:
    claude.edit(shop / "CLAUDE.md", "Our own text.", "Our own text.\n\n- Always use yarn.", ago=86400)
    assert written(store, shop) == []


def test_the_environment_of_the_person_s_git_has_no_say(
    store: Store, shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    git(shop, "stash", "-q")
    monkeypatch.setenv("GIT_DIR", os.devnull)
    assert told(look(store, shop)) == [("missing", "branch")]
    monkeypatch.delenv("GIT_DIR")
