"""A person's answer to drift: put back, adopt, ignore; and removing what Claude wrote."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from reflect_git.errors import ReflectError
from reflect_git.platform.instruction_files import Changed
from reflect_git.rules.amend import Wanted, amend
from reflect_git.rules.amend import carry_out as carry_amendment
from reflect_git.rules.drift import drift, resolve_drift
from reflect_git.rules.drift.drift import RETURNED, Difference
from reflect_git.store.reading import reader
from reflect_git.store.repository import Store
from tests.faults import git
from tests.rules.project_edits import PNPM, Claude, approve, commit, look, make_project, sit, told, with_a_rule, written
from tests.rules.queues import BY

YARN = "Use yarn, not npm"


@pytest.fixture
def shop(home: Path) -> Path:
    return make_project(home / "shop")


@pytest.fixture
def store(store_home: Path, shop: Path) -> Store:
    return with_a_rule(store_home, shop)


@pytest.fixture
def claude(home: Path, shop: Path) -> Claude:
    return Claude(home, shop, "5a1b2c3d-0000-4000-8000-000000000001")


def _reword(file: Path, old: str, new: str) -> None:
    text = file.read_bytes().decode()
    assert old in text
    file.write_bytes(text.replace(old, new).encode())


def _one(store: Store, shop: Path) -> Difference:
    (one,) = look(store, shop).asked
    return one


def _put_back(store: Store, shop: Path) -> None:
    sitting, one = sit(store, shop), _one(store, shop)
    resolve_drift.carry_back(sitting, one, resolve_drift.put_back(sitting, one), BY)


def _rule(store: Store) -> str:
    (rule,) = reader.scan(store).history.in_force()
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
    store: Store, shop: Path, change: Callable[[bytes], bytes]
) -> None:
    file = shop / "CLAUDE.md"
    before = file.read_bytes()
    file.write_bytes(change(before))
    newline = b"\r\n" if b"\r\n" in file.read_bytes() else b"\n"
    _put_back(store, shop)
    # Deleting a bullet leaves the blank lines above and below it: those are not ours.
    assert file.read_bytes().replace(b"\n\n\n", b"\n\n") == before.replace(b"\n", newline)
    assert (told(look(store, shop)), _rule(store), _last(store)) == ([], PNPM, f"apply: {PNPM}")
    body = _last(store, "%b")
    assert ("Approved-By: terminal" in body, "Backup: backup/" in body) == (True, True)


def test_put_back_where_the_whole_file_is_gone(store: Store, shop: Path) -> None:
    (shop / "AGENTS.md").write_text("# Agents\n", encoding="utf-8")
    (shop / "CLAUDE.md").unlink()
    _put_back(store, shop)
    text = (shop / "CLAUDE.md").read_text(encoding="utf-8")
    assert (text.startswith("@AGENTS.md\n"), f"- {PNPM}\n" in text) == (True, True)


def test_put_back_what_stands_there_twice(store: Store, shop: Path) -> None:
    file = shop / "CLAUDE.md"
    text = file.read_text(encoding="utf-8")
    (identity,) = re.findall(r"LRN-[0-9]+-[0-9a-z]+", text)
    _reword(file, "<!-- reflect-git:end", f"<!-- {identity} -->\n\n- {YARN}\n\n<!-- reflect-git:end")
    _put_back(store, shop)
    assert file.read_text(encoding="utf-8") == text


def test_put_back_other_forms(store: Store, shop: Path) -> None:
    approve(store, shop, "use ruff, not black", "rules")
    approve(store, shop, "use uv, not pip", "improvements")
    commit(shop)
    files = [next((shop / ".claude" / "rules" / "reflect").glob("*.md")), shop / ".claude" / "improvements.md"]
    before = [file.read_bytes() for file in files]
    for gone in (False, True):
        for file, word in zip(files, ("ruff", "uv"), strict=True):
            if gone:
                file.unlink()
            else:
                _reword(file, f"Use {word}", "Use nothing")
        for one in look(store, shop).asked:
            queue = sit(store, shop)
            resolve_drift.carry_back(queue, one, resolve_drift.put_back(queue, one), BY)
        assert [file.read_bytes() for file in files] == before
    assert told(look(store, shop)) == []


def test_an_improvement_comes_back_into_its_section(store: Store, shop: Path) -> None:
    from reflect_git.rules.amend import move

    identity = approve(store, shop, "use uv, not pip", "improvements")
    file = shop / ".claude" / "improvements.md"
    queue = sit(store, shop)
    rule = next(one for one in queue.scan.history.in_force() if one["id"] == identity)
    carry_amendment(queue, move(queue, rule, "Applied"), BY)
    commit(shop)
    before = file.read_bytes()
    text = before.decode()
    file.write_text(text[: text.index("<!-- LRN-")] + text[text.index("\n## Deferred") + 1 :], encoding="utf-8")
    _put_back(store, shop)
    assert file.read_bytes() == before


def test_what_is_shown_is_what_is_written_or_it_is_refused(store: Store, shop: Path) -> None:
    _reword(shop / "CLAUDE.md", PNPM, YARN)
    sitting, one = sit(store, shop), _one(store, shop)
    plan = resolve_drift.put_back(sitting, one)
    _reword(shop / "CLAUDE.md", "Our own text.", "Another text.")
    now = (shop / "CLAUDE.md").read_bytes()
    with pytest.raises(Changed):
        resolve_drift.carry_back(sitting, one, plan, BY)
    with pytest.raises(Changed):
        resolve_drift.carry_on(sitting, one, resolve_drift.for_good(sitting, one), BY)
    assert ((shop / "CLAUDE.md").read_bytes(), _last(store)) == (now, f"approve: {PNPM}")


def test_who_answered_elsewhere_meanwhile_is_heard(store: Store, shop: Path) -> None:
    _reword(shop / "CLAUDE.md", PNPM, YARN)
    sitting, one = sit(store, shop), _one(store, shop)
    resolve_drift.carry_on(sitting, one, resolve_drift.for_good(sitting, one), BY)
    with pytest.raises(ReflectError, match="was changed elsewhere meanwhile"):
        resolve_drift.carry_back(sit(store, shop), one, resolve_drift.put_back(sitting, one), BY)


def test_for_good_is_an_amendment_and_touches_no_file(store: Store, shop: Path) -> None:
    _reword(shop / "CLAUDE.md", PNPM, YARN)
    status = os.stat(shop / "CLAUDE.md")
    sitting, one = sit(store, shop), _one(store, shop)
    done = resolve_drift.carry_on(sitting, one, resolve_drift.for_good(sitting, one), BY)
    assert (_rule(store), told(look(store, shop)), done.backup) == (YARN, [], "")
    assert os.stat(shop / "CLAUDE.md").st_ino == status.st_ino
    assert (_last(store), "Backup" in _last(store, "%b")) == (f"amend: {YARN}", False)
    mirrors = git(Path(store.root), "grep", "-h", "-e", "^- Use", "main", "--", "targets").strip()
    assert mirrors == f"- {YARN}"


def test_for_good_of_a_rules_file_takes_its_paths_along(store: Store, shop: Path) -> None:
    identity = approve(store, shop, "use ruff, not black", "rules")
    (file,) = (shop / ".claude" / "rules" / "reflect").glob("*.md")
    _reword(file, "---\n\n- Use ruff, not black", 'paths:\n  - "src/**"\n---\n\n- Use ruff, not flake8')
    sitting, one = sit(store, shop), _one(store, shop)
    resolve_drift.carry_on(sitting, one, resolve_drift.for_good(sitting, one), BY)
    (rule,) = [one for one in reader.scan(store).history.in_force() if one["id"] == identity]
    assert (rule["text"], rule["paths"], told(look(store, shop))) == ("Use ruff, not flake8", ["src/**"], [])


def test_for_good_of_an_improvement(store: Store, shop: Path) -> None:
    approve(store, shop, "use uv, not pip", "improvements")
    file = shop / ".claude" / "improvements.md"
    _reword(file, "- **Confidence**", "- **Suggested action**: Ask Ada first\n- **Confidence**")
    sitting, one = sit(store, shop), _one(store, shop)
    resolve_drift.carry_on(sitting, one, resolve_drift.for_good(sitting, one), BY)
    assert told(look(store, shop)) == []
    _reword(file, "**Category**", "**Owner**: Ada\n- **Category**")
    with pytest.raises(ReflectError, match="other fields"):
        resolve_drift.for_good(sit(store, shop), _one(store, shop))


def test_a_secret_is_not_made_a_rule(store: Store, shop: Path) -> None:
    _reword(shop / "CLAUDE.md", PNPM, "Log in with ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8")
    amendment = resolve_drift.for_good(sit(store, shop), _one(store, shop))
    assert "secret" in {found.code for found in amendment.findings if found.kind == "refused"}
    with pytest.raises(ReflectError, match="known kind of secret"):
        resolve_drift.carry_on(sit(store, shop), _one(store, shop), amendment, BY)
    assert _rule(store) == PNPM


def test_claude_s_words_are_a_risk(store: Store, shop: Path, claude: Claude) -> None:
    claude.edit(shop / "CLAUDE.md", "pnpm", "yarn")
    amendment = resolve_drift.for_good(sit(store, shop), _one(store, shop))
    assert "risk" in {found.kind for found in amendment.findings}


def test_what_would_act_in_the_file_is_mended_and_the_change_is_shown(store: Store, shop: Path) -> None:
    _reword(shop / "CLAUDE.md", PNPM, "Read @notes.md and use yarn")
    sitting, one = sit(store, shop), _one(store, shop)
    amendment = resolve_drift.for_good(sitting, one)
    assert "+- Read `@notes.md` and use yarn" in amendment.diff
    resolve_drift.carry_on(sitting, one, amendment, BY)
    assert (told(look(store, shop)), "`@notes.md`" in (shop / "CLAUDE.md").read_text(encoding="utf-8")) == ([], True)


def test_what_is_gone_for_good_is_taken_back_and_not_asked_again(store: Store, shop: Path) -> None:
    (shop / "CLAUDE.md").write_text("# Shop\n", encoding="utf-8")
    sitting, one = sit(store, shop), _one(store, shop)
    resolve_drift.withdraw(sitting, one, BY)
    assert reader.scan(store).history.in_force() == []
    assert (told(look(store, shop)), (shop / "CLAUDE.md").read_text(encoding="utf-8")) == ([], "# Shop\n")
    assert _last(store) == f"revert: {PNPM}"
    assert list(sit(store, shop).gathered.strong) == []


def test_what_comes_back_from_another_branch_is_not_a_colleague_s(store: Store, shop: Path) -> None:
    git(shop, "branch", "old")
    file = shop / "CLAUDE.md"
    file.write_text("# Shop\n", encoding="utf-8")
    sitting, one = sit(store, shop), _one(store, shop)
    resolve_drift.withdraw(sitting, one, BY)
    commit(shop)
    git(shop, "switch", "-q", "old")
    found = look(store, shop)
    assert (told(found), found.foreign) == ([(RETURNED, "branch")], 0)
    text = file.read_text(encoding="utf-8")
    git(shop, "switch", "-q", "main")
    file.write_text(text, encoding="utf-8")
    assert told(look(store, shop)) == [(RETURNED, "you")]
    assert not resolve_drift.may_be_for_good(_one(store, shop))
    _put_back(store, shop)
    assert (told(look(store, shop)), "pnpm" in file.read_text(encoding="utf-8")) == ([], False)
    assert reader.scan(store).history.in_force() == []


def test_what_was_written_into_the_file_of_another_project_was_not_written_here(
    store: Store, shop: Path, home: Path
) -> None:
    mill = make_project(home / "mill")
    git(mill, "commit", "-q", "--amend", "--allow-empty", "-m", "mill")  # the same first commit would make it the shop
    (mill / "CLAUDE.md").write_bytes((shop / "CLAUDE.md").read_bytes())
    assert told(look(store, mill)) == [(RETURNED, "you")]


def test_what_was_moved_away_and_is_back_is_taken_out_and_stays_in_force(store: Store, shop: Path, home: Path) -> None:
    file = shop / "CLAUDE.md"
    text = file.read_text(encoding="utf-8")
    queue = sit(store, shop)
    (rule,) = queue.scan.history.in_force()
    carry_amendment(queue, amend(queue, rule, Wanted(to="global")), BY)
    commit(shop)
    file.write_text(text, encoding="utf-8")
    assert told(look(store, shop)) == [(RETURNED, "you")]
    _put_back(store, shop)
    assert (told(look(store, shop)), _rule(store)) == ([], PNPM)
    assert PNPM in (home / ".claude" / "CLAUDE.md").read_text(encoding="utf-8")


def test_left_is_remembered_for_this_text_in_this_work_tree(store: Store, shop: Path) -> None:
    git(shop, "worktree", "add", "-q", "-b", "second", "../second")
    for folder in (shop, shop.parent / "second"):
        _reword(folder / "CLAUDE.md", PNPM, YARN)
    before = _last(store, "%H")
    drift.leave(store, _one(store, shop).mark)
    assert (told(look(store, shop)), _last(store, "%H")) == ([], before)
    assert told(look(store, shop.parent / "second")) == [("different", "you")]
    _reword(shop / "CLAUDE.md", YARN, "Use bun")
    assert told(look(store, shop)) == [("different", "you")]


def test_what_claude_wrote_goes_out_again_to_the_byte(store: Store, shop: Path, claude: Claude) -> None:
    file = shop / "CLAUDE.md"
    before = file.read_bytes()
    claude.edit(file, "Our own text.", "Our own text.\n\n- Always use yarn.")
    (passage,) = written(store, shop)
    resolve_drift.take_back(sit(store, shop), passage, BY)
    assert (file.read_bytes(), written(store, shop), told(look(store, shop))) == (before, [], [])
    assert _last(store) == "revert: what Claude wrote into CLAUDE.md"
    assert f"Session: {claude.name}" in _last(store, "%b")
    backup = next(line for line in _last(store, "%b").splitlines() if line.startswith("Backup: ")).split()[1]
    assert "Always use yarn" in git(Path(store.root), "show", f"{backup}:backup/1")


def test_a_file_that_claude_made_is_deleted(store: Store, shop: Path, claude: Claude) -> None:
    claude.write_file(shop / "AGENTS.md", "# Agents\n\nUse yarn.\n")
    (passage,) = written(store, shop)
    resolve_drift.take_back(sit(store, shop), passage, BY)
    assert (shop / "AGENTS.md").exists() is False


def test_what_claude_wrote_is_kept_until_it_changes(store: Store, shop: Path, claude: Claude) -> None:
    claude.edit(shop / "CLAUDE.md", "Our own text.", "Our own text.\n\n- Always use yarn.")
    (passage,) = written(store, shop)
    drift.leave(store, passage.mark)
    assert written(store, shop) == []
    claude.edit(shop / "CLAUDE.md", "- Always use yarn.", "- Always use bun.")
    assert [one.lines for one in written(store, shop)] == [("- Always use bun.",)]


def test_lines_that_were_changed_since_are_not_taken_out(store: Store, shop: Path, claude: Claude) -> None:
    claude.edit(shop / "CLAUDE.md", "Our own text.", "Our own text.\n\n- Always use yarn.\n- Never test.")
    (passage,) = written(store, shop)
    _reword(shop / "CLAUDE.md", "- Never test.\n", "")
    with pytest.raises(Changed):
        resolve_drift.take_back(sit(store, shop), passage, BY)
    (passage,) = written(store, shop)
    with pytest.raises(ReflectError, match="was changed since"):
        resolve_drift.take_back(sit(store, shop), passage, BY)
