"""Numbers in a snapshot are untrusted: anybody with the store or its remote can change them."""

from __future__ import annotations

from pathlib import Path

import pytest

from reflect_git.rules import snapshot
from reflect_git.store import target_versions
from reflect_git.store.main import main_branch
from reflect_git.store.repository import Store
from tests.rules.reverts import approve, revert

ODD = ["[]", "{}", "null", '"7"', "true", "-1", "1.5", "1e400", "9" * 40, "1" + "0" * 9, "[" * 100_000]


@pytest.mark.parametrize("text", ODD, ids=lambda text: text[:12])
def test_a_version_that_is_none_is_as_if_there_were_no_mirror(text: str) -> None:
    assert target_versions.parse_version(f"version: {text}\n\n".encode()) == 0


@pytest.mark.parametrize("text", ["[]", "100000000000"])
def test_odd_folders_stop_no_approval_and_no_removal(store: Store, project: Path, text: str) -> None:
    first = approve(store, "use pnpm, not npm", "agents").learning
    _make_odd(store, text)
    second = approve(store, "use tabs, not spaces", "agents").learning
    for rule in (second, first):
        _make_odd(store, text)
        revert(store, rule)
    assert not (project / "AGENTS.md").exists()


def _make_odd(store: Store, text: str) -> None:
    [path] = [one for one in store.git.tree("main", "targets") if one.endswith("AGENTS.md")]
    data = snapshot.read(store, path)
    assert b"folders" not in data
    with store.locked(5):
        odd = data.replace(b"\n\n", f"\nfolders: {text}\n\n".encode(), 1)
        main_branch.commit_files(store, {path: odd}, "edit: by hand\n")
