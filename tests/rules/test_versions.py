"""Versions v1, v2 … of a target, and reverting to one of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from reflect_git.errors import ReflectError
from reflect_git.rules import restore, revert, snapshot
from reflect_git.store import target_versions
from reflect_git.store.repository import Store
from reflect_git.targets.target_files import Target
from tests.faults import git
from tests.rules import reverts
from tests.rules.queues import BY
from tests.rules.reverts import (
    BASE,
    amend,
    approve,
    list_rules_in_force,
    open_queue,
    read_claude_md,
    write_project_file,
)

CLAUDE = Target("project", "CLAUDE.md")


def listed(store: Store, target: Target = CLAUDE) -> list[target_versions.Version]:
    return target_versions.list_versions(store, snapshot.get_snapshot_path(store, open_queue(store).place, target))


def back_to(store: Store, name: str, to: str = "") -> revert.RevertPlan:
    queue = open_queue(store)
    reversal = revert.plan_revert(queue, restore.select_after_version(queue, to, name))
    revert.write_revert(queue, reversal, BY)
    return reversal


def test_every_change_of_a_file_is_a_version(store: Store) -> None:
    one = approve(store, "use pnpm, not npm")
    two = approve(store, "use ruff, not black")
    approve(store, "use uv, not pip", "global")
    three = amend(store, one.learning, "Install with pnpm.")
    four = reverts.revert(store, two.learning)
    found = listed(store)
    assert [(at.number, at.commit, at.subject) for at in found] == [
        (4, four.commit, "revert: Use ruff, not black"), (3, three.commit, "amend: Install with pnpm."),
        (2, two.commit, "approve: Use ruff, not black"), (1, one.commit, "approve: Use pnpm, not npm"),
    ]  # fmt: skip
    form = ("--format=%cd", "--date=format:%Y-%m-%dT%H:%M:%SZ")
    assert git(Path(store.root), "show", "-s", *form, four.commit).strip() == found[0].time
    texts = [sorted(snapshot.read_entries_at(store, at, "project").values()) for at in reversed(found)]
    assert texts == [
        ["Use pnpm, not npm"], ["Use pnpm, not npm", "Use ruff, not black"],
        ["Install with pnpm.", "Use ruff, not black"], ["Install with pnpm."],
    ]  # fmt: skip
    assert snapshot.find_version(found, "v2").commit == snapshot.find_version(found, "2").commit == two.commit
    for name in ("v5", "v0", "seven", "", "v"):
        with pytest.raises(ReflectError, match="there is no version"):
            snapshot.find_version(found, name)


def test_a_name_that_git_would_take_for_a_pattern(store: Store) -> None:
    for folder in ("a*", "ab"):
        approve(store, f"use tool-{folder}, not others", f"dir:{folder}")
    assert len(listed(store, Target("dir", "a*/CLAUDE.md"))) == 1
    assert listed(store, Target("dir", "nowhere/CLAUDE.md")) == []


@pytest.mark.parametrize("to, path", [("improvements", ".claude/improvements.md"), ("rules:x", "")])
def test_entries_of_other_forms(store: Store, to: str, path: str) -> None:
    done = approve(store, "use pnpm, not npm", to)
    kind = to.partition(":")[0]
    (at,) = listed(store, Target(kind, path or done.target))
    assert list(snapshot.read_entries_at(store, at, kind)) == [done.learning]


def test_back_to_a_version_in_one_commit(store: Store) -> None:
    one = approve(store, "use pnpm, not npm").learning
    two = approve(store, "use ruff, not black").learning
    then = read_claude_md()  # v2
    amend(store, one, "Install with pnpm.")
    reverts.revert(store, two)
    three = approve(store, "use uv, not pip").learning
    write_project_file(b"My own start.\r\n\r\n" + read_claude_md())
    count = int(git(Path(store.root), "rev-list", "--count", "main"))
    back_to(store, "v2")
    assert read_claude_md() == b"My own start.\r\n\r\n" + then
    assert list_rules_in_force(store) == [one, two] and three not in list_rules_in_force(store)
    assert int(git(Path(store.root), "rev-list", "--count", "main")) == count + 1
    assert git(Path(store.root), "log", "-1", "--format=%s", "main") == "revert: CLAUDE.md to v2\n"
    assert listed(store)[0].number == 6
    with pytest.raises(ReflectError, match=r"'CLAUDE\.md' has the entries of v2 already"):
        back_to(store, "v2")
    reverts.undo(store)
    assert b"Install with pnpm." in read_claude_md() and list_rules_in_force(store) == [one, three]


def test_what_was_replaced_and_what_moved(store: Store, home: Path) -> None:
    old = approve(store, "use pnpm, not npm").learning
    moved = approve(store, "use ruff, not black").learning
    then = read_claude_md()
    incoming = approve(store, "use uv, not pip", "global").learning
    new = approve(store, "no, always use npm in this project, never pnpm", supersedes=(old,)).learning
    amend(store, moved, to="global")
    amend(store, incoming, to="project")
    back_to(store, "v2")
    assert read_claude_md() == then
    assert new not in list_rules_in_force(store) and {old, moved} <= set(list_rules_in_force(store))
    assert incoming not in list_rules_in_force(store), "it was approved after v2"


def test_which_file_is_meant(store: Store, home: Path) -> None:
    with pytest.raises(ReflectError, match="nothing was ever written there"):
        back_to(store, "v1")
    one = approve(store, "use pnpm, not npm", "global").learning
    approve(store, "use ruff, not black", "global")
    back_to(store, "v1")
    assert list_rules_in_force(store) == [one]
    approve(store, "use uv, not pip")
    approve(store, "use bun, not deno")
    back_to(store, "v1")
    assert read_claude_md() != BASE and len(list_rules_in_force(store)) == 2
    back_to(store, "v2", "global")
    assert len(list_rules_in_force(store)) == 3
    with pytest.raises(ReflectError, match="a rules file holds one learning"):
        back_to(store, "v1", "rules:x")
