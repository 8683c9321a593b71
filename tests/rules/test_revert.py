"""Reverting by id, whatever came later, down to the bytes."""

from __future__ import annotations

import os
import random
import shutil
from pathlib import Path

import pytest

from reflect_git.errors import ReflectError
from reflect_git.rules import dismiss
from reflect_git.rules.revert import Wanted, take_back
from reflect_git.store import api
from reflect_git.store.reading import reader
from reflect_git.store.repository import Store
from reflect_git.targets.inert import Reworded
from tests import counters
from tests.faults import FAIL, KILL, Operation, Prepared, Strike, git, strike_everywhere
from tests.rules import reverts
from tests.rules.queues import BY, say
from tests.rules.reverts import BASE, amend, approve, claude_md, in_force, propose, revert, sit, write
from tests.store.probe import main_paths, require_promises

WORDS = [f"use tool{number}, not other{number}" for number in range(20)]


def test_the_same_bytes_and_one_commit_that_says_so(shelf: Store) -> None:
    root = Path(shelf.root)
    rule = approve(shelf, "use pnpm, not npm")
    (approval,) = reader.scan(shelf).history.decisions
    count = int(git(root, "rev-list", "--count", "main"))
    shown = propose(shelf, rule.learning)
    done = revert(shelf, rule.learning)
    assert (claude_md(), in_force(shelf), done.diff) == (BASE, [], shown.diff)
    assert int(git(root, "rev-list", "--count", "main")) == count + 1
    said = git(root, "log", "-1", "--format=%B", "main")
    assert said.startswith("revert: Use pnpm, not npm\n\n")
    for trailer in (f"Learning-Id: {rule.learning}", f"Reverts: {approval['id']}", "Decision: DEC-",
                    "Target: CLAUDE.md", "Approved-By: terminal", f"Backup: {done.backup}"):  # fmt: skip
        assert trailer in said
    assert reader.scan(shelf).history.status(approval["meta"]["signals"][0]) == "dismissed"


def test_eight_of_one_section_in_random_orders(shelf: Store) -> None:
    """git's own revert of the first one fails: its lines have moved."""
    rules = [approve(shelf, words).learning for words in WORDS[:8]]
    chance = random.Random(7)
    for _ in range(2):
        chance.shuffle(rules)
        for rule in rules:
            revert(shelf, rule)
        assert claude_md() == BASE and in_force(shelf) == []
        for made in reversed(reader.scan(shelf).history.decisions):
            if made["kind"] == "reverted" and made["id"] not in reader.scan(shelf).history.void:
                revert(shelf, made["id"])
                if len(in_force(shelf)) == len(rules):
                    break


@pytest.mark.slow
def test_twenty_of_one_section_in_a_hundred_orders(shelf: Store, tmp_path: Path) -> None:
    rules = [approve(shelf, words).learning for words in WORDS]
    full, kept = claude_md(), tmp_path / "kept"
    shutil.copytree(shelf.root, kept, symlinks=True)
    for seed in range(100):
        random.Random(seed).shuffle(rules)
        for rule in rules:
            revert(shelf, rule)
        assert claude_md() == BASE and in_force(shelf) == []
        counters.count("reverts in random orders", len(rules))
        shutil.rmtree(shelf.root)
        shutil.copytree(kept, shelf.root, symlinks=True)
        write(full)


def test_what_came_in_its_place_goes_and_it_comes_back_byte_for_byte(shelf: Store) -> None:
    write(BASE + b"\r\n")
    others = approve(shelf, "use ruff, not black").learning
    old = approve(shelf, "use pnpm, not npm").learning
    before = claude_md()
    new = approve(shelf, "no, always use npm in this project, never pnpm", supersedes=(old,)).learning
    assert in_force(shelf) == [others, new]
    revert(shelf, new)
    assert claude_md() == before and in_force(shelf) == [others, old]
    revert(shelf, old)
    revert(shelf, others)
    assert claude_md() == BASE + b"\r\n"


def test_what_was_replaced_waits_for_what_replaced_it(shelf: Store) -> None:
    old = approve(shelf, "use pnpm, not npm").learning
    new = approve(shelf, "no, always use npm in this project, never pnpm", supersedes=(old,)).learning
    with pytest.raises(ReflectError, match=f"was replaced by '{new}'") as caught:
        propose(shelf, old)
    assert caught.value.hint == f"first: reflect-git revert {new}"


def test_neighbours_may_be_reworded_and_the_entry_may_move(shelf: Store) -> None:
    rules = [approve(shelf, words).learning for words in WORDS[:3]]
    middle = rules[1].encode()
    lines = claude_md().decode().split("\r\n")
    at = next(number for number, line in enumerate(lines) if rules[1] in line)
    entry = lines[at : at + 4]
    moved = ["My own start.", "", *entry, *lines[:at], *lines[at + 4 :]]
    write("\r\n".join(moved).replace("tool0, not", "tool0 and not").encode())
    revert(shelf, rules[1])
    left = claude_md()
    assert middle not in left and b"tool1" not in left
    assert left.startswith(b"My own start.\r\n\r\n") and b"tool0 and not" in left and b"Use tool2" in left


def test_a_formatter_in_between(shelf: Store) -> None:
    rules = [approve(shelf, words).learning for words in WORDS[:2]]
    write(claude_md().replace(b"\r\n", b"\n").replace(b"- Use tool1,", b"*   Use tool1,\n    "))
    revert(shelf, rules[1])
    assert rules[0].encode() in claude_md() and b"tool1" not in claude_md()


def test_an_entry_deleted_by_hand_is_only_recorded(shelf: Store) -> None:
    rule = approve(shelf, "use pnpm, not npm").learning
    write(b"all mine\n")
    done = revert(shelf, rule)
    assert claude_md() == b"all mine\n" and in_force(shelf) == []
    assert done.warnings == [f"'CLAUDE.md' has no entry of '{rule}': it is left as it is"]
    assert (done.backup, done.diff) == ("", "")
    (reverts.project() / "CLAUDE.md").unlink()
    other = approve(shelf, "use ruff, not black").learning
    (reverts.project() / "CLAUDE.md").unlink()
    assert revert(shelf, other).diff == "" and in_force(shelf) == []


def test_an_entry_that_was_reworded_is_shown_and_kept(shelf: Store) -> None:
    rule = approve(shelf, "use pnpm, not npm").learning
    edited = claude_md().replace(b"Use pnpm, not npm", b"Use pnpm, except on Fridays")
    write(edited)
    with pytest.raises(Reworded, match="'Use pnpm, not npm' now reads 'Use pnpm, except on Fridays'") as caught:
        propose(shelf, rule)
    assert caught.value.exit_code == 4 and claude_md() == edited and in_force(shelf) == [rule]
    revert(shelf, rule, Wanted(force=True))
    assert claude_md() == BASE
    reverts.undo(shelf)
    assert claude_md() == edited, "what was taken with force comes back as it was"


@pytest.mark.parametrize("mode", [0o600, 0o644, 0o755])
def test_the_mode_and_a_link_stay(shelf: Store, shop: Path, mode: int) -> None:
    (shop / "docs").mkdir()
    (shop / "CLAUDE.md").rename(shop / "docs/instructions.md")
    (shop / "docs/instructions.md").chmod(mode)
    (shop / "CLAUDE.md").symlink_to("docs/instructions.md")
    revert(shelf, approve(shelf, "use pnpm, not npm").learning)
    assert (shop / "CLAUDE.md").is_symlink() and claude_md() == BASE
    assert (shop / "docs/instructions.md").stat().st_mode & 0o777 == mode


@pytest.mark.parametrize("to", ["rules:packages", "improvements", "dir:web/src", "agents", "project-local", "global"])
@pytest.mark.parametrize("order", [1, -1])
def test_every_target_is_as_it_was_with_its_folders(shelf: Store, home: Path, to: str, order: int) -> None:
    before = _listing(home)
    rules = [approve(shelf, words, to).learning for words in WORDS[:2]]
    assert _listing(home) != before
    for rule in rules[::order]:
        revert(shelf, rule)
    assert _listing(home) == before


def test_folders_that_are_in_use_stay(shelf: Store, shop: Path) -> None:
    rule = approve(shelf, "use pnpm, not npm", "rules").learning
    (shop / ".claude/rules/mine.md").write_text("mine\n")
    revert(shelf, rule)
    assert _listing(shop) == {
        "CLAUDE.md": BASE,
        ".claude/rules/mine.md": b"mine\n",
        ".claude": None,
        ".claude/rules": None,
    }


def test_a_folder_of_the_user_stays(shelf: Store, shop: Path) -> None:
    (shop / ".claude").mkdir()
    revert(shelf, approve(shelf, "use pnpm, not npm", "rules").learning)
    assert _listing(shop) == {"CLAUDE.md": BASE, ".claude": None}


def _listing(root: Path) -> dict[str, bytes | None]:
    """Return every file of the user and every folder of a project, with their bytes."""
    found: dict[str, bytes | None] = {}
    for path in root.rglob("*"):
        name = str(path.relative_to(root))
        if ".git" not in path.parts and "reflections" not in path.parts and name != ".gitconfig":
            found[name] = path.read_bytes() if path.is_file() else None
    return found


def test_an_improvement_that_was_applied_goes_and_comes_back_as_such(shelf: Store, shop: Path) -> None:
    from reflect_git.rules import amend as amending

    rule = approve(shelf, "use pnpm, not npm", "improvements").learning
    queue = sit(shelf)
    amending.carry_out(queue, amending.move(queue, amending.find(queue, rule), "Applied"), BY)
    applied = (shop / ".claude/improvements.md").read_bytes()
    revert(shelf, rule)
    assert not (shop / ".claude").exists()
    reverts.undo(shelf)
    assert (shop / ".claude/improvements.md").read_bytes() == applied
    moved = reader.scan(shelf).history.decisions[1]
    revert(shelf, moved["id"])
    text = (shop / ".claude/improvements.md").read_text()
    assert text.index("## Pending") < text.index(rule) < text.index("## Applied")


def test_an_amendment_brings_the_earlier_words_and_the_earlier_place_back(shelf: Store, home: Path) -> None:
    rule = approve(shelf, "use pnpm, not npm").learning
    first = claude_md()
    amend(shelf, rule, "Install with pnpm.")
    second = claude_md()
    amend(shelf, rule, to="global")
    reworded, moved = [made["id"] for made in reader.scan(shelf).history.decisions if made["kind"] == "amended"]
    revert(shelf, moved)
    assert claude_md() == second and not (home / ".claude/CLAUDE.md").exists()
    revert(shelf, reworded)
    assert claude_md() == first and in_force(shelf) == [rule]


def test_an_amendment_below_another_is_only_recorded(shelf: Store) -> None:
    rule = approve(shelf, "use pnpm, not npm").learning
    amend(shelf, rule, "Install with pnpm.")
    amend(shelf, rule, "Install with pnpm 10.")
    full = reader.scan(shelf).history.learnings[rule]
    first, second = [made["id"] for made in reader.scan(shelf).history.decisions if made["kind"] == "amended"]
    now = claude_md()
    revert(shelf, first)
    assert claude_md() == now and reader.scan(shelf).history.learnings[rule] == full
    revert(shelf, second)
    assert b"- Use pnpm, not npm" in claude_md()


def test_a_no_a_never_and_what_was_joined_open_again(shelf: Store) -> None:
    for never in (False, True):
        signal = say(shelf, "use yarn, not npm" if never else "use pnpm, not npm")
        decision, commit = dismiss.dismiss(shelf, sit(shelf).find(signal), BY, never)
        assert reader.scan(shelf).history.status(signal) == "dismissed"
        revert(shelf, commit[:9] if never else decision)
        assert reader.scan(shelf).history.status(signal) == "captured"
        said = git(Path(shelf.root), "log", "-1", "--format=%B", "main")
        assert said.startswith(f"revert: {signal}\n") and "npm" not in said and f"Reverts: {decision}" in said
    joined = api.update(shelf, reader.read(shelf), signal, {"status": "analyzed"}, BY, "2026-11-11T00:00:00.000Z")
    revert(shelf, joined["id"])
    assert reader.scan(shelf).history.status(signal) == "captured"


def test_the_signals_wait_again_on_request(shelf: Store) -> None:
    rule = approve(shelf, "use pnpm, not npm").learning
    revert(shelf, rule, Wanted(reopen=True))
    assert [one.text for one in sit(shelf).gathered.strong] == ["Use pnpm, not npm"]


def test_a_commit_names_what_was_decided_in_it(shelf: Store) -> None:
    done = approve(shelf, "use pnpm, not npm")
    revert(shelf, done.commit[:10])
    assert claude_md() == BASE
    with pytest.raises(ReflectError, match="was taken back already"):
        propose(shelf, done.commit)
    with pytest.raises(ReflectError, match="nothing was decided in"):
        propose(shelf, git(Path(shelf.root), "rev-list", "--max-parents=0", "main").strip())


def test_what_cannot_be_taken_back_says_why(shelf: Store) -> None:
    rule = approve(shelf, "use pnpm, not npm").learning
    signal = reader.scan(shelf).columns["id"][0]
    (approval,) = reader.scan(shelf).history.decisions
    for name, words, hint in [
        (signal, "is a signal, not a decision", f"take that back with 'reflect-git revert {approval['id']}'"),
        ("nonsense", "no record 'nonsense'", "see what is in force with 'reflect-git rules --all'"),
        ("LRN-19990101", "no record", "see what is in force with 'reflect-git rules --all'"),
    ]:
        with pytest.raises(ReflectError, match=words) as caught:
            propose(shelf, name)
        assert caught.value.hint == hint
    revert(shelf, rule)
    taken = reader.scan(shelf).history.decisions[-1]["id"]
    with pytest.raises(ReflectError, match="was taken back already") as caught:
        propose(shelf, rule)
    assert caught.value.hint == f"to take that back, too: reflect-git revert {taken}"


def test_two_machines_that_took_it_back_both_have_to_give_it_back(shelf: Store) -> None:
    rule = approve(shelf, "use pnpm, not npm").learning
    approval = reader.scan(shelf).history.decisions[0]
    revert(shelf, rule)
    mine = reader.scan(shelf).history.decisions[-1]["id"]
    theirs = {**api.decision(shelf, "reverted", rule, BY, "2030-01-01T00:00:00.000Z", reopens=approval["id"]),
              "machine": "sofa"}  # fmt: skip
    api.record(shelf, [theirs], "revert: elsewhere", {})
    done = revert(shelf, mine)
    assert in_force(shelf) == [] and claude_md() == BASE
    assert done.warnings == [f"'{rule}' is still not in force, because of '{theirs['id']}' of sofa"]


def test_at_once_for_who_has_just_approved_it(shelf: Store) -> None:
    done = approve(shelf, "use pnpm, not npm")
    take_back(sit(shelf), done.learning, BY)
    assert claude_md() == BASE and in_force(shelf) == []
    assert [one.text for one in sit(shelf).gathered.strong] == ["Use pnpm, not npm"], "the question is open again"


def test_a_file_that_changes_meanwhile_is_not_overwritten(shelf: Store) -> None:
    from reflect_git.platform import instruction_files
    from reflect_git.rules import revert as reverts

    rule = approve(shelf, "use pnpm, not npm").learning
    queue = sit(shelf)
    reversal = reverts.propose(queue, reverts.find(queue, rule))
    write(claude_md() + b"an edit\n")
    with pytest.raises(instruction_files.Changed):
        reverts.carry_out(queue, reversal, BY)
    assert claude_md().endswith(b"an edit\n") and in_force(shelf) == [rule]


def test_two_approvals_of_one_moment_are_two(shelf: Store) -> None:
    """Other programs use their own times, possibly in seconds."""
    signals = [say(shelf, words, session_id=words) for words in WORDS[:2]]
    target, now = {"kind": "project", "path": "CLAUDE.md"}, "2026-11-11T10:00:00Z"
    rules = [
        api.promote(shelf, reader.read(shelf), signal, target, f"Rule of {signal}", BY, now)["id"]  # type: ignore[arg-type]
        for signal in signals
    ]
    revert(shelf, rules[0])
    assert in_force(shelf) == [rules[1]]


# Killed


class Desk(Prepared):
    """The saved store and project."""

    def __init__(self, root: Path, shelf: Path) -> None:
        super().__init__(root, shelf)
        self._project = shelf / "project"
        shutil.copytree(reverts.project(), self._project, symlinks=True)

    def restore(self) -> None:
        super().restore()
        shutil.rmtree(reverts.project())
        shutil.copytree(self._project, reverts.project(), symlinks=True)


def struck(store: Store, tmp_path: Path, operation: Operation, mode: str, first: int, step: int) -> None:
    """Check that files have exactly the rules in force, and that acknowledged changes are complete."""
    root = Path(store.root)
    before = git(root, "rev-parse", "main").strip()

    def check(strike: Strike) -> None:
        require_promises(root)
        rules = in_force(store)
        files = [path for path in reverts.project().rglob("*.md") if ".git" not in path.parts]
        text = b"".join(path.read_bytes() for path in files)
        known = [path[10:-5] for path in main_paths(root) if path.startswith("learnings/LRN")]
        assert {rule: text.count(rule.encode()) for rule in known} == {rule: int(rule in rules) for rule in known}
        assert all(word in git(root, "rev-list", "main") for word in strike.said), "said to be done, and is not"
        changed = git(root, "rev-parse", "main").strip() != before
        assert changed or not strike.said
        assert list(reverts.project().rglob(".*.tmp")) == [], "a temporary file is left in the project"
        folders = [path for path in reverts.project().rglob("*") if path.is_dir() and ".git" not in path.parts]
        assert [path for path in folders if not os.listdir(path)] == [], "an empty folder is left"

    strike_everywhere(operation, Desk(root, tmp_path), mode, check, first, step)


@pytest.mark.parametrize(
    "to, mode, first, step",
    [
        ("project", KILL, 1, 5), ("rules", KILL, 2, 5), ("project", FAIL, 3, 9),
        *(pytest.param(to, mode, 1, 1, marks=pytest.mark.slow) for to in ("project", "rules") for mode in (KILL, FAIL)),
    ],
)  # fmt: skip
def test_whenever_it_is_struck_file_and_store_say_the_same(
    shelf: Store, tmp_path: Path, to: str, mode: str, first: int, step: int
) -> None:
    approve(shelf, "use pnpm, not npm", to)
    approve(shelf, "use ruff, not black")
    struck(shelf, tmp_path, reverts.revert_first, mode, first, step)


def test_a_folder_that_was_made_for_the_file_goes_with_it(
    shelf: Store, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Including the first one, which a relative path does not name: the search above it once never ended."""
    folder = home / "other" / "claude"
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(folder))
    rule = approve(shelf, "use pnpm, not npm", to="global")
    assert (folder / "CLAUDE.md").exists()
    revert(shelf, rule.learning)
    assert not (home / "other").exists()
