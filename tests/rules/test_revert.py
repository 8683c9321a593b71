"""Reverting by id, whatever came later, down to the bytes."""

from __future__ import annotations

import os
import random
import shutil
from pathlib import Path

import pytest

from reflect_git.errors import ReflectError
from reflect_git.rules import dismiss
from reflect_git.rules.revert import RevertOptions, revert_approval
from reflect_git.store import api
from reflect_git.store.reading import reader
from reflect_git.store.repository import Store
from reflect_git.targets.safe_text import RewordedError
from tests import counters
from tests.faults import FAIL, KILL, FaultRun, Operation, SavedStore, check_every_fault, git
from tests.rules import reverts
from tests.rules.queues import BY, capture_signal
from tests.rules.reverts import (
    BASE,
    amend,
    approve,
    list_rules_in_force,
    open_queue,
    propose,
    read_claude_md,
    revert,
    write_project_file,
)
from tests.store.store_checks import main_paths, require_promises

WORDS = [f"use tool{number}, not other{number}" for number in range(20)]


def test_the_same_bytes_and_one_commit_that_says_so(store: Store) -> None:
    root = Path(store.root)
    rule = approve(store, "use pnpm, not npm")
    (approval,) = reader.scan(store).history.decisions
    count = int(git(root, "rev-list", "--count", "main"))
    shown = propose(store, rule.learning)
    done = revert(store, rule.learning)
    assert (read_claude_md(), list_rules_in_force(store), done.diff) == (BASE, [], shown.diff)
    assert int(git(root, "rev-list", "--count", "main")) == count + 1
    said = git(root, "log", "-1", "--format=%B", "main")
    assert said.startswith("revert: Use pnpm, not npm\n\n")
    for trailer in (f"Learning-Id: {rule.learning}", f"Reverts: {approval['id']}", "Decision: DEC-",
                    "Target: CLAUDE.md", "Approved-By: terminal", f"Backup: {done.backup}"):  # fmt: skip
        assert trailer in said
    assert reader.scan(store).history.status(approval["meta"]["signals"][0]) == "dismissed"


def test_eight_of_one_section_in_random_orders(store: Store) -> None:
    """git's own revert of the first one fails: its lines have moved."""
    rules = [approve(store, words).learning for words in WORDS[:8]]
    chance = random.Random(7)
    for _ in range(2):
        chance.shuffle(rules)
        for rule in rules:
            revert(store, rule)
        assert read_claude_md() == BASE and list_rules_in_force(store) == []
        for made in reversed(reader.scan(store).history.decisions):
            if made["kind"] == "reverted" and made["id"] not in reader.scan(store).history.void_decisions:
                revert(store, made["id"])
                if len(list_rules_in_force(store)) == len(rules):
                    break


@pytest.mark.slow
def test_twenty_of_one_section_in_a_hundred_orders(store: Store, tmp_path: Path) -> None:
    rules = [approve(store, words).learning for words in WORDS]
    full, kept = read_claude_md(), tmp_path / "kept"
    shutil.copytree(store.root, kept, symlinks=True)
    for seed in range(100):
        random.Random(seed).shuffle(rules)
        for rule in rules:
            revert(store, rule)
        assert read_claude_md() == BASE and list_rules_in_force(store) == []
        counters.count("reverts in random orders", len(rules))
        shutil.rmtree(store.root)
        shutil.copytree(kept, store.root, symlinks=True)
        write_project_file(full)


def test_what_came_in_its_place_goes_and_it_comes_back_byte_for_byte(store: Store) -> None:
    write_project_file(BASE + b"\r\n")
    others = approve(store, "use ruff, not black").learning
    old = approve(store, "use pnpm, not npm").learning
    before = read_claude_md()
    new = approve(store, "no, always use npm in this project, never pnpm", supersedes=(old,)).learning
    assert list_rules_in_force(store) == [others, new]
    revert(store, new)
    assert read_claude_md() == before and list_rules_in_force(store) == [others, old]
    revert(store, old)
    revert(store, others)
    assert read_claude_md() == BASE + b"\r\n"


def test_what_was_replaced_waits_for_what_replaced_it(store: Store) -> None:
    old = approve(store, "use pnpm, not npm").learning
    new = approve(store, "no, always use npm in this project, never pnpm", supersedes=(old,)).learning
    with pytest.raises(ReflectError, match=f"was replaced by '{new}'") as caught:
        propose(store, old)
    assert caught.value.hint == f"first: reflect-git revert {new}"


def test_neighbours_may_be_reworded_and_the_entry_may_move(store: Store) -> None:
    rules = [approve(store, words).learning for words in WORDS[:3]]
    middle = rules[1].encode()
    lines = read_claude_md().decode().split("\r\n")
    at = next(number for number, line in enumerate(lines) if rules[1] in line)
    entry = lines[at : at + 4]
    moved = ["My own start.", "", *entry, *lines[:at], *lines[at + 4 :]]
    write_project_file("\r\n".join(moved).replace("tool0, not", "tool0 and not").encode())
    revert(store, rules[1])
    left = read_claude_md()
    assert middle not in left and b"tool1" not in left
    assert left.startswith(b"My own start.\r\n\r\n") and b"tool0 and not" in left and b"Use tool2" in left


def test_a_formatter_in_between(store: Store) -> None:
    rules = [approve(store, words).learning for words in WORDS[:2]]
    write_project_file(read_claude_md().replace(b"\r\n", b"\n").replace(b"- Use tool1,", b"*   Use tool1,\n    "))
    revert(store, rules[1])
    assert rules[0].encode() in read_claude_md() and b"tool1" not in read_claude_md()


def test_an_entry_deleted_by_hand_is_only_recorded(store: Store) -> None:
    rule = approve(store, "use pnpm, not npm").learning
    write_project_file(b"all mine\n")
    done = revert(store, rule)
    assert read_claude_md() == b"all mine\n" and list_rules_in_force(store) == []
    assert done.warnings == [f"'CLAUDE.md' has no entry of '{rule}': it is left as it is"]
    assert (done.backup, done.diff) == ("", "")
    (reverts.get_current_project() / "CLAUDE.md").unlink()
    other = approve(store, "use ruff, not black").learning
    (reverts.get_current_project() / "CLAUDE.md").unlink()
    assert revert(store, other).diff == "" and list_rules_in_force(store) == []


def test_an_entry_that_was_reworded_is_shown_and_kept(store: Store) -> None:
    rule = approve(store, "use pnpm, not npm").learning
    edited = read_claude_md().replace(b"Use pnpm, not npm", b"Use pnpm, except on Fridays")
    write_project_file(edited)
    with pytest.raises(RewordedError, match="'Use pnpm, not npm' now reads 'Use pnpm, except on Fridays'") as caught:
        propose(store, rule)
    assert caught.value.exit_code == 4 and read_claude_md() == edited and list_rules_in_force(store) == [rule]
    revert(store, rule, RevertOptions(force=True))
    assert read_claude_md() == BASE
    reverts.undo(store)
    assert read_claude_md() == edited, "what was taken with force comes back as it was"


@pytest.mark.parametrize("mode", [0o600, 0o644, 0o755])
def test_the_mode_and_a_link_stay(store: Store, project: Path, mode: int) -> None:
    (project / "docs").mkdir()
    (project / "CLAUDE.md").rename(project / "docs/instructions.md")
    (project / "docs/instructions.md").chmod(mode)
    (project / "CLAUDE.md").symlink_to("docs/instructions.md")
    revert(store, approve(store, "use pnpm, not npm").learning)
    assert (project / "CLAUDE.md").is_symlink() and read_claude_md() == BASE
    assert (project / "docs/instructions.md").stat().st_mode & 0o777 == mode


@pytest.mark.parametrize("to", ["rules:packages", "improvements", "dir:web/src", "agents", "project-local", "global"])
@pytest.mark.parametrize("order", [1, -1])
def test_every_target_is_as_it_was_with_its_folders(store: Store, home: Path, to: str, order: int) -> None:
    before = _listing(home)
    rules = [approve(store, words, to).learning for words in WORDS[:2]]
    assert _listing(home) != before
    for rule in rules[::order]:
        revert(store, rule)
    assert _listing(home) == before


def test_folders_that_are_in_use_stay(store: Store, project: Path) -> None:
    rule = approve(store, "use pnpm, not npm", "rules").learning
    (project / ".claude/rules/mine.md").write_text("mine\n")
    revert(store, rule)
    assert _listing(project) == {
        "CLAUDE.md": BASE,
        ".claude/rules/mine.md": b"mine\n",
        ".claude": None,
        ".claude/rules": None,
    }


def test_a_folder_of_the_user_stays(store: Store, project: Path) -> None:
    (project / ".claude").mkdir()
    revert(store, approve(store, "use pnpm, not npm", "rules").learning)
    assert _listing(project) == {"CLAUDE.md": BASE, ".claude": None}


def _listing(root: Path) -> dict[str, bytes | None]:
    """Return every file of the user and every folder of a project, with their bytes."""
    found: dict[str, bytes | None] = {}
    for path in root.rglob("*"):
        name = str(path.relative_to(root))
        if ".git" not in path.parts and "reflections" not in path.parts and name != ".gitconfig":
            found[name] = path.read_bytes() if path.is_file() else None
    return found


def test_an_improvement_that_was_applied_goes_and_comes_back_as_such(store: Store, project: Path) -> None:
    from reflect_git.rules import amend as amending

    rule = approve(store, "use pnpm, not npm", "improvements").learning
    queue = open_queue(store)
    amending.write_amendment(
        queue, amending.plan_section_move(queue, amending.find_rule_to_amend(queue, rule), "Applied"), BY
    )
    applied = (project / ".claude/improvements.md").read_bytes()
    revert(store, rule)
    assert not (project / ".claude").exists()
    reverts.undo(store)
    assert (project / ".claude/improvements.md").read_bytes() == applied
    moved = reader.scan(store).history.decisions[1]
    revert(store, moved["id"])
    text = (project / ".claude/improvements.md").read_text()
    assert text.index("## Pending") < text.index(rule) < text.index("## Applied")


def test_an_amendment_brings_the_earlier_words_and_the_earlier_place_back(store: Store, home: Path) -> None:
    rule = approve(store, "use pnpm, not npm").learning
    first = read_claude_md()
    amend(store, rule, "Install with pnpm.")
    second = read_claude_md()
    amend(store, rule, to="global")
    reworded, moved = [made["id"] for made in reader.scan(store).history.decisions if made["kind"] == "amended"]
    revert(store, moved)
    assert read_claude_md() == second and not (home / ".claude/CLAUDE.md").exists()
    revert(store, reworded)
    assert read_claude_md() == first and list_rules_in_force(store) == [rule]


def test_an_amendment_below_another_is_only_recorded(store: Store) -> None:
    rule = approve(store, "use pnpm, not npm").learning
    amend(store, rule, "Install with pnpm.")
    amend(store, rule, "Install with pnpm 10.")
    full = reader.scan(store).history.learnings[rule]
    first, second = [made["id"] for made in reader.scan(store).history.decisions if made["kind"] == "amended"]
    now = read_claude_md()
    revert(store, first)
    assert read_claude_md() == now and reader.scan(store).history.learnings[rule] == full
    revert(store, second)
    assert b"- Use pnpm, not npm" in read_claude_md()


def test_a_no_a_never_and_what_was_joined_open_again(store: Store) -> None:
    for never in (False, True):
        signal = capture_signal(store, "use yarn, not npm" if never else "use pnpm, not npm")
        decision, commit = dismiss.dismiss(store, open_queue(store).find_candidate(signal), BY, never)
        assert reader.scan(store).history.status(signal) == "dismissed"
        revert(store, commit[:9] if never else decision)
        assert reader.scan(store).history.status(signal) == "captured"
        said = git(Path(store.root), "log", "-1", "--format=%B", "main")
        assert said.startswith(f"revert: {signal}\n") and "npm" not in said and f"Reverts: {decision}" in said
    joined = api.update(store, reader.read(store), signal, {"status": "analyzed"}, BY, "2026-11-11T00:00:00.000Z")
    revert(store, joined["id"])
    assert reader.scan(store).history.status(signal) == "captured"


def test_the_signals_wait_again_on_request(store: Store) -> None:
    rule = approve(store, "use pnpm, not npm").learning
    revert(store, rule, RevertOptions(reopen=True))
    assert [one.text for one in open_queue(store).candidates.strong] == ["Use pnpm, not npm"]


def test_a_commit_names_what_was_decided_in_it(store: Store) -> None:
    done = approve(store, "use pnpm, not npm")
    revert(store, done.commit[:10])
    assert read_claude_md() == BASE
    with pytest.raises(ReflectError, match="was taken back already"):
        propose(store, done.commit)
    with pytest.raises(ReflectError, match="nothing was decided in"):
        propose(store, git(Path(store.root), "rev-list", "--max-parents=0", "main").strip())


def test_what_cannot_be_taken_back_says_why(store: Store) -> None:
    rule = approve(store, "use pnpm, not npm").learning
    signal = reader.scan(store).columns["id"][0]
    (approval,) = reader.scan(store).history.decisions
    for name, words, hint in [
        (signal, "is a signal, not a decision", f"take that back with 'reflect-git revert {approval['id']}'"),
        ("nonsense", "no record 'nonsense'", "see what is in force with 'reflect-git rules --all'"),
        ("LRN-19990101", "no record", "see what is in force with 'reflect-git rules --all'"),
    ]:
        with pytest.raises(ReflectError, match=words) as caught:
            propose(store, name)
        assert caught.value.hint == hint
    revert(store, rule)
    taken = reader.scan(store).history.decisions[-1]["id"]
    with pytest.raises(ReflectError, match="was taken back already") as caught:
        propose(store, rule)
    assert caught.value.hint == f"to take that back, too: reflect-git revert {taken}"


def test_two_machines_that_took_it_back_both_have_to_give_it_back(store: Store) -> None:
    rule = approve(store, "use pnpm, not npm").learning
    approval = reader.scan(store).history.decisions[0]
    revert(store, rule)
    mine = reader.scan(store).history.decisions[-1]["id"]
    theirs = {**api.build_decision(store, "reverted", rule, BY, "2030-01-01T00:00:00.000Z", reopens=approval["id"]),
              "machine": "sofa"}  # fmt: skip
    api.commit_records(store, [theirs], "revert: elsewhere", {})
    done = revert(store, mine)
    assert list_rules_in_force(store) == [] and read_claude_md() == BASE
    assert done.warnings == [f"'{rule}' is still not in force, because of '{theirs['id']}' of sofa"]


def test_at_once_for_who_has_just_approved_it(store: Store) -> None:
    done = approve(store, "use pnpm, not npm")
    revert_approval(open_queue(store), done.learning, BY)
    assert read_claude_md() == BASE and list_rules_in_force(store) == []
    assert [one.text for one in open_queue(store).candidates.strong] == ["Use pnpm, not npm"], (
        "the question is open again"
    )


def test_a_file_that_changes_meanwhile_is_not_overwritten(store: Store) -> None:
    from reflect_git.platform import instruction_files
    from reflect_git.rules import revert as reverts

    rule = approve(store, "use pnpm, not npm").learning
    queue = open_queue(store)
    reversal = reverts.plan_revert(queue, reverts.select_by_name(queue, rule))
    write_project_file(read_claude_md() + b"an edit\n")
    with pytest.raises(instruction_files.FileChanged):
        reverts.write_revert(queue, reversal, BY)
    assert read_claude_md().endswith(b"an edit\n") and list_rules_in_force(store) == [rule]


def test_two_approvals_of_one_moment_are_two(store: Store) -> None:
    """Other programs use their own times, possibly in seconds."""
    signals = [capture_signal(store, words, session_id=words) for words in WORDS[:2]]
    target, now = {"kind": "project", "path": "CLAUDE.md"}, "2026-11-11T10:00:00Z"
    rules = [
        api.promote(store, reader.read(store), signal, target, f"Rule of {signal}", BY, now)["id"]  # type: ignore[arg-type]
        for signal in signals
    ]
    revert(store, rules[0])
    assert list_rules_in_force(store) == [rules[1]]


# Killed


class Desk(SavedStore):
    """The saved store and project."""

    def __init__(self, root: Path, store: Path) -> None:
        super().__init__(root, store)
        self._project = store / "project"
        shutil.copytree(reverts.get_current_project(), self._project, symlinks=True)

    def restore(self) -> None:
        super().restore()
        shutil.rmtree(reverts.get_current_project())
        shutil.copytree(self._project, reverts.get_current_project(), symlinks=True)


def struck(store: Store, tmp_path: Path, operation: Operation, mode: str, first: int, step: int) -> None:
    """Check that files have exactly the rules in force, and that acknowledged changes are complete."""
    root = Path(store.root)
    before = git(root, "rev-parse", "main").strip()

    def check(fault_run: FaultRun) -> None:
        require_promises(root)
        rules = list_rules_in_force(store)
        files = [path for path in reverts.get_current_project().rglob("*.md") if ".git" not in path.parts]
        text = b"".join(path.read_bytes() for path in files)
        known = [path[10:-5] for path in main_paths(root) if path.startswith("learnings/LRN")]
        assert {rule: text.count(rule.encode()) for rule in known} == {rule: int(rule in rules) for rule in known}
        assert all(word in git(root, "rev-list", "main") for word in fault_run.output), "said to be done, and is not"
        changed = git(root, "rev-parse", "main").strip() != before
        assert changed or not fault_run.output
        assert list(reverts.get_current_project().rglob(".*.tmp")) == [], "a temporary file is left in the project"
        folders = [
            path for path in reverts.get_current_project().rglob("*") if path.is_dir() and ".git" not in path.parts
        ]
        assert [path for path in folders if not os.listdir(path)] == [], "an empty folder is left"

    check_every_fault(operation, Desk(root, tmp_path), mode, check, first, step)


@pytest.mark.parametrize(
    "to, mode, first, step",
    [
        ("project", KILL, 1, 5), ("rules", KILL, 2, 5), ("project", FAIL, 3, 9),
        *(pytest.param(to, mode, 1, 1, marks=pytest.mark.slow) for to in ("project", "rules") for mode in (KILL, FAIL)),
    ],
)  # fmt: skip
def test_whenever_it_is_struck_file_and_store_say_the_same(
    store: Store, tmp_path: Path, to: str, mode: str, first: int, step: int
) -> None:
    approve(store, "use pnpm, not npm", to)
    approve(store, "use ruff, not black")
    struck(store, tmp_path, reverts.revert_first, mode, first, step)


def test_a_folder_that_was_made_for_the_file_goes_with_it(
    store: Store, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Including the first one, which a relative path does not name: the search above it once never ended."""
    folder = home / "other" / "claude"
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(folder))
    rule = approve(store, "use pnpm, not npm", to="global")
    assert (folder / "CLAUDE.md").exists()
    revert(store, rule.learning)
    assert not (home / "other").exists()
