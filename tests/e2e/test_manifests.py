"""The client's own validation of the plugin."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.conftest import REPO


@pytest.mark.parametrize("name", ["plugin.json", "marketplace.json"])
def test_the_client_finds_nothing_to_complain_of(binary: Path, tmp_path: Path, name: str) -> None:
    env = {"HOME": str(tmp_path), "PATH": "/usr/bin:/bin", "CLAUDE_CONFIG_DIR": str(tmp_path / "claude")}
    manifest = REPO / ".claude-plugin" / name
    done = subprocess.run(
        [binary, "plugin", "validate", "--strict", str(manifest)],
        env=env,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "passed" in done.stdout
