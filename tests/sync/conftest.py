"""A bare repository as the remote, and a machine that has synced with it once."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.sync.clones import Clone, create_bare_repository


@pytest.fixture
def remote(tmp_path: Path) -> Path:
    return create_bare_repository(tmp_path / "remote.git")


@pytest.fixture
def synced_clone(store_home: Path, remote: Path) -> Clone:
    clone = Clone(store_home, str(remote))
    clone.approve(1)
    clone.sync()
    return clone
