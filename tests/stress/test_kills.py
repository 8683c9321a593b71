"""A person commits and runs gc in the store while approve, revert, sync and purge are killed: nothing breaks."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest

from tests.stress import kill_run

PARTS, EACH = 100, 100


@pytest.mark.parametrize("seed", [1, 2])
def test_a_few_kills_while_a_user_works(home: Path, store_home: Path, tmp_path: Path, seed: int) -> None:
    killed = kill_run.create_kill_run(home, store_home, tmp_path, seed)
    killed.run(15, every=5)
    assert killed.kills.total() >= 15


@pytest.mark.kills
@pytest.mark.parametrize("part", range(PARTS))
def test_ten_thousand_kills_while_a_user_works(home: Path, store_home: Path, tmp_path: Path, part: int) -> None:
    """Each part has a new seed, which a failure prints: `KILLS_SEED=N make kills` repeats it in every part."""
    seed = int(os.environ.get("KILLS_SEED", "0")) or random.SystemRandom().getrandbits(24)
    killed = kill_run.create_kill_run(home, store_home, tmp_path, seed)
    killed.run(EACH)
    assert killed.kills.total() >= EACH
