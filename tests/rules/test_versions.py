"""Versions v1, v2 … of a target, and reverting to one of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from reflect_git.errors import ReflectError
from reflect_git.rules import restore, revert, snapshot
from reflect_git.store.repository import Store
from reflect_git.targets.targets import Target
from tests.faults import git
from tests.rules import reverts
from tests.rules.queues import BY
from tests.rules.reverts import BASE, amend, approve, claude_md, in_force, sit, write

CLAUDE = Target("project", "CLAUDE.md")


def listed(store: Store, target: Target = CLAUDE) -> list[snapshot.Version]:
    return snapshot.versions(store, snapshot.mirror_of(store, sit(store).place, target))


def back_to(store: Store, name: str, to: str = "") -> revert.Reversal:
    queue = sit(store)
    reversal = revert.propose(queue, restore.version(queue, to, name))
    revert.carry_out(queue, reversal, BY)
    return reversal


def test_every_change_of_a_file_is_a_version(shelf: Store) -> None:
    one = approve(shelf, "use pnpm, not npm")
    two = approve(shelf, "use ruff, not black")
    approve(shelf, "use uv, not pip", "global")
    three = amend(shelf, one.learning, "Install with pnpm.")
    four = reverts.revert(shelf, two.learning)
    found = listed(shelf)
    assert [(at.number, at.commit, at.subject) for at in found] == [
        (4, four.commit, "revert: Use ruff, not black"), (3, three.commit, "amend: Install with pnpm."),
        (2, two.commit, "approve: Use ruff, not black"), (1, one.commit, "approve: Use pnpm, not npm"),
    ]  # fmt: skip
    form = ("--format=%cd", "--date=format:%Y-%m-%dT%H:%M:%SZ")
    assert git(Path(shelf.root), "show", "-s", *form, four.commit).strip() == found[0].time
    texts = [sorted(snapshot.entries_at(shelf, at, "project").values()) for at in reversed(found)]
    assert texts == [
        ["Use pnpm, not npm"], ["Use pnpm, not npm", "Use ruff, not black"],
        ["Install with pnpm.", "Use ruff, not black"], ["Install with pnpm."],
    ]  # fmt: skip
    assert snapshot.version(found, "v2").commit == snapshot.version(found, "2").commit == two.commit
    for name in ("v5", "v0", "seven", "", "v"):
        with pytest.raises(ReflectError, match="there is no version"):
            snapshot.version(found, name)


def test_a_name_that_git_would_take_for_a_pattern(shelf: Store) -> None:
    for folder in ("a*", "ab"):
        approve(shelf, f"use tool-{folder}, not others", f"dir:{folder}")
    assert len(listed(shelf, Target("dir", "a*/CLAUDE.md"))) == 1
    assert listed(shelf, Target("dir", "nowhere/CLAUDE.md")) == []


@pytest.mark.parametrize("to, path", [("improvements", ".claude/improvements.md"), ("rules:x", "")])
def test_entries_of_other_forms(shelf: Store, to: str, path: str) -> None:
    done = approve(shelf, "use pnpm, not npm", to)
    kind = to.partition(":")[0]
    (at,) = listed(shelf, Target(kind, path or done.target))
    assert list(snapshot.entries_at(shelf, at, kind)) == [done.learning]


def test_back_to_a_version_in_one_commit(shelf: Store) -> None:
    one = approve(shelf, "use pnpm, not npm").learning
    two = approve(shelf, "use ruff, not black").learning
    then = claude_md()  # v2
    amend(shelf, one, "Install with pnpm.")
    reverts.revert(shelf, two)
    three = approve(shelf, "use uv, not pip").learning
    write(b"My own start.\r\n\r\n" + claude_md())
    count = int(git(Path(shelf.root), "rev-list", "--count", "main"))
    back_to(shelf, "v2")
    assert claude_md() == b"My own start.\r\n\r\n" + then
    assert in_force(shelf) == [one, two] and three not in in_force(shelf)
    assert int(git(Path(shelf.root), "rev-list", "--count", "main")) == count + 1
    assert git(Path(shelf.root), "log", "-1", "--format=%s", "main") == "revert: CLAUDE.md to v2\n"
    assert listed(shelf)[0].number == 6
    with pytest.raises(ReflectError, match=r"'CLAUDE\.md' has the entries of v2 already"):
        back_to(shelf, "v2")
    reverts.undo(shelf)
    assert b"Install with pnpm." in claude_md() and in_force(shelf) == [one, three]


def test_what_was_replaced_and_what_moved(shelf: Store, home: Path) -> None:
    old = approve(shelf, "use pnpm, not npm").learning
    moved = approve(shelf, "use ruff, not black").learning
    then = claude_md()
    incoming = approve(shelf, "use uv, not pip", "global").learning
    new = approve(shelf, "no, always use npm in this project, never pnpm", supersedes=(old,)).learning
    amend(shelf, moved, to="global")
    amend(shelf, incoming, to="project")
    back_to(shelf, "v2")
    assert claude_md() == then
    assert new not in in_force(shelf) and {old, moved} <= set(in_force(shelf))
    assert incoming not in in_force(shelf), "it was approved after v2"


def test_which_file_is_meant(shelf: Store, home: Path) -> None:
    with pytest.raises(ReflectError, match="nothing was ever written there"):
        back_to(shelf, "v1")
    one = approve(shelf, "use pnpm, not npm", "global").learning
    approve(shelf, "use ruff, not black", "global")
    back_to(shelf, "v1")
    assert in_force(shelf) == [one]
    approve(shelf, "use uv, not pip")
    approve(shelf, "use bun, not deno")
    back_to(shelf, "v1")
    assert claude_md() != BASE and len(in_force(shelf)) == 2
    back_to(shelf, "v2", "global")
    assert len(in_force(shelf)) == 3
    with pytest.raises(ReflectError, match="a rules file holds one learning"):
        back_to(shelf, "v1", "rules:x")
