"""A project and a store for tests of reverts and related commands."""

from __future__ import annotations

from pathlib import Path

import pytest

from reflect_git.store.repository import Store
from tests.faults import git
from tests.rules.reverts import BASE
from tests.store.store_checks import open_store


@pytest.fixture
def project(home: Path) -> Path:
    project = home / "shop"
    project.mkdir()
    git(project, "init", "-q", "-b", "main")
    (project / "CLAUDE.md").write_bytes(BASE)
    return project


@pytest.fixture
def store(store_home: Path, project: Path) -> Store:
    """Provide a store, and a project that is reviewed with it."""
    return open_store(store_home)
