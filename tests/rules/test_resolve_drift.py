"""A person's answer to drift: put back, adopt, ignore; and removing what Claude wrote."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from reflect_git.errors import ReflectError
from reflect_git.platform.instruction_files import FileChanged
from reflect_git.rules.amend import AmendRequest, plan_amendment
from reflect_git.rules.amend import write_amendment as carry_amendment
from reflect_git.rules.drift import drift, resolve_drift
from reflect_git.rules.drift.drift import RETURNED, Difference
from reflect_git.store.reading import reader
from reflect_git.store.repository import Store
from tests.faults import git
from tests.rules.project_edits import (
    PNPM,
    ClaudeEditor,
    approve,
    commit,
    create_store_with_rule,
    find_claude_lines,
    find_drift,
    list_kinds,
    make_project,
    open_queue,
)
from tests.rules.queues import BY

YARN = "Use yarn, not npm"


@pytest.fixture
def project(home: Path) -> Path:
    return make_project(home / "shop")


@pytest.fixture
def store(store_home: Path, project: Path) -> Store:
    return create_store_with_rule(store_home, project)


@pytest.fixture
def claude(home: Path, project: Path) -> ClaudeEditor:
    return ClaudeEditor(home, project, "5a1b2c3d-0000-4000-8000-000000000001")


def _reword(file: Path, old: str, new: str) -> None:
    text = file.read_bytes().decode()
    assert old in text
    file.write_bytes(text.replace(old, new).encode())


def _one(store: Store, project: Path) -> Difference:
    (one,) = find_drift(store, project).open_differences
    return one


def _put_back(store: Store, project: Path) -> None:
    ctx, one = open_queue(store, project), _one(store, project)
    resolve_drift.write_rule_restore(ctx, one, resolve_drift.plan_rule_restore(ctx, one), BY)


def _rule(store: Store) -> str:
    (rule,) = reader.scan(store).history.get_rules_in_force()
    return rule["text"]


def _last(store: Store, form: str = "%s") -> str:
    return git(Path(store.root), "log", "-1", f"--format={form}", "main").strip()


@pytest.mark.parametrize(
    "change",
    [
        lambda data: data.replace(PNPM.encode(), YARN.encode()),
        lambda data: data.replace(f"- {PNPM}\n".encode(), b""),
        lambda data: data.replace(f"- {PNPM}\n".encode(), f"- {YARN}\n".encode()),
        lambda data: data.replace(b"\n", b"\r\n").replace(PNPM.encode(), YARN.encode()),
    ],
)  # fmt: skip
def test_put_back_gives_the_approved_words_and_nothing_else(
    store: Store, project: Path, change: Callable[[bytes], bytes]
) -> None:
    file = project / "CLAUDE.md"
    before = file.read_bytes()
    file.write_bytes(change(before))
    newline = b"\r\n" if b"\r\n" in file.read_bytes() else b"\n"
    _put_back(store, project)
    # Deleting a bullet leaves the blank lines above and below it: those are not ours.
    assert file.read_bytes().replace(b"\n\n\n", b"\n\n") == before.replace(b"\n", newline)
    assert (list_kinds(find_drift(store, project)), _rule(store), _last(store)) == ([], PNPM, f"apply: {PNPM}")
    body = _last(store, "%b")
    assert ("Approved-By: terminal" in body, "Backup: backup/" in body) == (True, True)


def test_put_back_where_the_whole_file_is_gone(store: Store, project: Path) -> None:
    (project / "AGENTS.md").write_text("# Agents\n", encoding="utf-8")
    (project / "CLAUDE.md").unlink()
    _put_back(store, project)
    text = (project / "CLAUDE.md").read_text(encoding="utf-8")
    assert (text.startswith("@AGENTS.md\n"), f"- {PNPM}\n" in text) == (True, True)


def test_put_back_what_stands_there_twice(store: Store, project: Path) -> None:
    file = project / "CLAUDE.md"
    text = file.read_text(encoding="utf-8")
    (identity,) = re.findall(r"LRN-[0-9]+-[0-9a-z]+", text)
    _reword(file, "<!-- reflect-git:end", f"<!-- {identity} -->\n\n- {YARN}\n\n<!-- reflect-git:end")
    _put_back(store, project)
    assert file.read_text(encoding="utf-8") == text


def test_put_back_other_forms(store: Store, project: Path) -> None:
    approve(store, project, "use ruff, not black", "rules")
    approve(store, project, "use uv, not pip", "improvements")
    commit(project)
    files = [next((project / ".claude" / "rules" / "reflect").glob("*.md")), project / ".claude" / "improvements.md"]
    before = [file.read_bytes() for file in files]
    for gone in (False, True):
        for file, word in zip(files, ("ruff", "uv"), strict=True):
            if gone:
                file.unlink()
            else:
                _reword(file, f"Use {word}", "Use nothing")
        for one in find_drift(store, project).open_differences:
            queue = open_queue(store, project)
            resolve_drift.write_rule_restore(queue, one, resolve_drift.plan_rule_restore(queue, one), BY)
        assert [file.read_bytes() for file in files] == before
    assert list_kinds(find_drift(store, project)) == []


def test_an_improvement_comes_back_into_its_section(store: Store, project: Path) -> None:
    from reflect_git.rules.amend import plan_section_move

    identity = approve(store, project, "use uv, not pip", "improvements")
    file = project / ".claude" / "improvements.md"
    queue = open_queue(store, project)
    rule = next(one for one in queue.scan.history.get_rules_in_force() if one["id"] == identity)
    carry_amendment(queue, plan_section_move(queue, rule, "Applied"), BY)
    commit(project)
    before = file.read_bytes()
    text = before.decode()
    file.write_text(text[: text.index("<!-- LRN-")] + text[text.index("\n## Deferred") + 1 :], encoding="utf-8")
    _put_back(store, project)
    assert file.read_bytes() == before


def test_what_is_shown_is_what_is_written_or_it_is_refused(store: Store, project: Path) -> None:
    _reword(project / "CLAUDE.md", PNPM, YARN)
    ctx, one = open_queue(store, project), _one(store, project)
    plan = resolve_drift.plan_rule_restore(ctx, one)
    _reword(project / "CLAUDE.md", "Our own text.", "Another text.")
    now = (project / "CLAUDE.md").read_bytes()
    with pytest.raises(FileChanged):
        resolve_drift.write_rule_restore(ctx, one, plan, BY)
    with pytest.raises(FileChanged):
        resolve_drift.write_adoption(ctx, one, resolve_drift.plan_adoption(ctx, one), BY)
    assert ((project / "CLAUDE.md").read_bytes(), _last(store)) == (now, f"approve: {PNPM}")


def test_who_answered_elsewhere_meanwhile_is_heard(store: Store, project: Path) -> None:
    _reword(project / "CLAUDE.md", PNPM, YARN)
    ctx, one = open_queue(store, project), _one(store, project)
    resolve_drift.write_adoption(ctx, one, resolve_drift.plan_adoption(ctx, one), BY)
    with pytest.raises(ReflectError, match="was changed elsewhere meanwhile"):
        resolve_drift.write_rule_restore(open_queue(store, project), one, resolve_drift.plan_rule_restore(ctx, one), BY)


def test_for_good_is_an_amendment_and_touches_no_file(store: Store, project: Path) -> None:
    _reword(project / "CLAUDE.md", PNPM, YARN)
    status = os.stat(project / "CLAUDE.md")
    ctx, one = open_queue(store, project), _one(store, project)
    done = resolve_drift.write_adoption(ctx, one, resolve_drift.plan_adoption(ctx, one), BY)
    assert (_rule(store), list_kinds(find_drift(store, project)), done.backup) == (YARN, [], "")
    assert os.stat(project / "CLAUDE.md").st_ino == status.st_ino
    assert (_last(store), "Backup" in _last(store, "%b")) == (f"amend: {YARN}", False)
    mirrors = git(Path(store.root), "grep", "-h", "-e", "^- Use", "main", "--", "targets").strip()
    assert mirrors == f"- {YARN}"


def test_for_good_of_a_rules_file_takes_its_paths_along(store: Store, project: Path) -> None:
    identity = approve(store, project, "use ruff, not black", "rules")
    (file,) = (project / ".claude" / "rules" / "reflect").glob("*.md")
    _reword(file, "---\n\n- Use ruff, not black", 'paths:\n  - "src/**"\n---\n\n- Use ruff, not flake8')
    ctx, one = open_queue(store, project), _one(store, project)
    resolve_drift.write_adoption(ctx, one, resolve_drift.plan_adoption(ctx, one), BY)
    (rule,) = [one for one in reader.scan(store).history.get_rules_in_force() if one["id"] == identity]
    assert (rule["text"], rule["paths"], list_kinds(find_drift(store, project))) == (
        "Use ruff, not flake8",
        ["src/**"],
        [],
    )


def test_for_good_of_an_improvement(store: Store, project: Path) -> None:
    approve(store, project, "use uv, not pip", "improvements")
    file = project / ".claude" / "improvements.md"
    _reword(file, "- **Confidence**", "- **Suggested action**: Ask Ada first\n- **Confidence**")
    ctx, one = open_queue(store, project), _one(store, project)
    resolve_drift.write_adoption(ctx, one, resolve_drift.plan_adoption(ctx, one), BY)
    assert list_kinds(find_drift(store, project)) == []
    _reword(file, "**Category**", "**Owner**: Ada\n- **Category**")
    with pytest.raises(ReflectError, match="other fields"):
        resolve_drift.plan_adoption(open_queue(store, project), _one(store, project))


def test_a_secret_is_not_made_a_rule(store: Store, project: Path) -> None:
    _reword(project / "CLAUDE.md", PNPM, "Log in with ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8")
    amendment = resolve_drift.plan_adoption(open_queue(store, project), _one(store, project))
    assert "secret" in {found.code for found in amendment.findings if found.kind == "refused"}
    with pytest.raises(ReflectError, match="known kind of secret"):
        resolve_drift.write_adoption(open_queue(store, project), _one(store, project), amendment, BY)
    assert _rule(store) == PNPM


def test_claude_s_words_are_a_risk(store: Store, project: Path, claude: ClaudeEditor) -> None:
    claude.edit(project / "CLAUDE.md", "pnpm", "yarn")
    amendment = resolve_drift.plan_adoption(open_queue(store, project), _one(store, project))
    assert "risk" in {found.kind for found in amendment.findings}


def test_what_would_act_in_the_file_is_mended_and_the_change_is_shown(store: Store, project: Path) -> None:
    _reword(project / "CLAUDE.md", PNPM, "Read @notes.md and use yarn")
    ctx, one = open_queue(store, project), _one(store, project)
    amendment = resolve_drift.plan_adoption(ctx, one)
    assert "+- Read `@notes.md` and use yarn" in amendment.diff
    resolve_drift.write_adoption(ctx, one, amendment, BY)
    assert (
        list_kinds(find_drift(store, project)),
        "`@notes.md`" in (project / "CLAUDE.md").read_text(encoding="utf-8"),
    ) == ([], True)


def test_what_is_gone_for_good_is_taken_back_and_not_asked_again(store: Store, project: Path) -> None:
    (project / "CLAUDE.md").write_text("# Shop\n", encoding="utf-8")
    ctx, one = open_queue(store, project), _one(store, project)
    resolve_drift.withdraw_rule(ctx, one, BY)
    assert reader.scan(store).history.get_rules_in_force() == []
    assert (list_kinds(find_drift(store, project)), (project / "CLAUDE.md").read_text(encoding="utf-8")) == (
        [],
        "# Shop\n",
    )
    assert _last(store) == f"revert: {PNPM}"
    assert list(open_queue(store, project).candidates.strong) == []


def test_what_comes_back_from_another_branch_is_not_a_colleague_s(store: Store, project: Path) -> None:
    git(project, "branch", "old")
    file = project / "CLAUDE.md"
    file.write_text("# Shop\n", encoding="utf-8")
    ctx, one = open_queue(store, project), _one(store, project)
    resolve_drift.withdraw_rule(ctx, one, BY)
    commit(project)
    git(project, "switch", "-q", "old")
    found = find_drift(store, project)
    assert (list_kinds(found), found.foreign_count) == ([(RETURNED, "branch")], 0)
    text = file.read_text(encoding="utf-8")
    git(project, "switch", "-q", "main")
    file.write_text(text, encoding="utf-8")
    assert list_kinds(find_drift(store, project)) == [(RETURNED, "you")]
    assert not resolve_drift.can_adopt(_one(store, project))
    _put_back(store, project)
    assert (list_kinds(find_drift(store, project)), "pnpm" in file.read_text(encoding="utf-8")) == ([], False)
    assert reader.scan(store).history.get_rules_in_force() == []


def test_what_was_written_into_the_file_of_another_project_was_not_written_here(
    store: Store, project: Path, home: Path
) -> None:
    mill = make_project(home / "mill")
    git(mill, "commit", "-q", "--amend", "--allow-empty", "-m", "mill")  # the same first commit would make it the shop
    (mill / "CLAUDE.md").write_bytes((project / "CLAUDE.md").read_bytes())
    assert list_kinds(find_drift(store, mill)) == [(RETURNED, "you")]


def test_what_was_moved_away_and_is_back_is_taken_out_and_stays_in_force(
    store: Store, project: Path, home: Path
) -> None:
    file = project / "CLAUDE.md"
    text = file.read_text(encoding="utf-8")
    queue = open_queue(store, project)
    (rule,) = queue.scan.history.get_rules_in_force()
    carry_amendment(queue, plan_amendment(queue, rule, AmendRequest(to="global")), BY)
    commit(project)
    file.write_text(text, encoding="utf-8")
    assert list_kinds(find_drift(store, project)) == [(RETURNED, "you")]
    _put_back(store, project)
    assert (list_kinds(find_drift(store, project)), _rule(store)) == ([], PNPM)
    assert PNPM in (home / ".claude" / "CLAUDE.md").read_text(encoding="utf-8")


def test_left_is_remembered_for_this_text_in_this_work_tree(store: Store, project: Path) -> None:
    git(project, "worktree", "add", "-q", "-b", "second", "../second")
    for folder in (project, project.parent / "second"):
        _reword(folder / "CLAUDE.md", PNPM, YARN)
    before = _last(store, "%H")
    drift.ignore_difference(store, _one(store, project).key)
    assert (list_kinds(find_drift(store, project)), _last(store, "%H")) == ([], before)
    assert list_kinds(find_drift(store, project.parent / "second")) == [("different", "you")]
    _reword(project / "CLAUDE.md", YARN, "Use bun")
    assert list_kinds(find_drift(store, project)) == [("different", "you")]


def test_what_claude_wrote_goes_out_again_to_the_byte(store: Store, project: Path, claude: ClaudeEditor) -> None:
    file = project / "CLAUDE.md"
    before = file.read_bytes()
    claude.edit(file, "Our own text.", "Our own text.\n\n- Always use yarn.")
    (passage,) = find_claude_lines(store, project)
    resolve_drift.remove_passage(open_queue(store, project), passage, BY)
    assert (file.read_bytes(), find_claude_lines(store, project), list_kinds(find_drift(store, project))) == (
        before,
        [],
        [],
    )
    assert _last(store) == "revert: what Claude wrote into CLAUDE.md"
    assert f"Session: {claude.name}" in _last(store, "%b")
    backup = next(line for line in _last(store, "%b").splitlines() if line.startswith("Backup: ")).split()[1]
    assert "Always use yarn" in git(Path(store.root), "show", f"{backup}:backup/1")


def test_a_file_that_claude_made_is_deleted(store: Store, project: Path, claude: ClaudeEditor) -> None:
    claude.write_file(project / "AGENTS.md", "# Agents\n\nUse yarn.\n")
    (passage,) = find_claude_lines(store, project)
    resolve_drift.remove_passage(open_queue(store, project), passage, BY)
    assert (project / "AGENTS.md").exists() is False


def test_what_claude_wrote_is_kept_until_it_changes(store: Store, project: Path, claude: ClaudeEditor) -> None:
    claude.edit(project / "CLAUDE.md", "Our own text.", "Our own text.\n\n- Always use yarn.")
    (passage,) = find_claude_lines(store, project)
    drift.ignore_difference(store, passage.key)
    assert find_claude_lines(store, project) == []
    claude.edit(project / "CLAUDE.md", "- Always use yarn.", "- Always use bun.")
    assert [one.lines for one in find_claude_lines(store, project)] == [("- Always use bun.",)]


def test_lines_that_were_changed_since_are_not_taken_out(store: Store, project: Path, claude: ClaudeEditor) -> None:
    claude.edit(project / "CLAUDE.md", "Our own text.", "Our own text.\n\n- Always use yarn.\n- Never test.")
    (passage,) = find_claude_lines(store, project)
    _reword(project / "CLAUDE.md", "- Never test.\n", "")
    with pytest.raises(FileChanged):
        resolve_drift.remove_passage(open_queue(store, project), passage, BY)
    (passage,) = find_claude_lines(store, project)
    with pytest.raises(ReflectError, match="was changed since"):
        resolve_drift.remove_passage(open_queue(store, project), passage, BY)
