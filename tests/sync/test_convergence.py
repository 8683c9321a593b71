"""Whatever happens in whatever order, all machines end with the same tree, and nothing acknowledged is lost."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from tests.sync import histories
from tests.sync.clones import Clone, create_bare_repository

PARTS, DEEP_PARTS = 8, 20
A_FEW = 10  # of each part; thousands have their own run


@pytest.mark.parametrize("part", range(PARTS))
def test_histories_converge(part: int) -> None:
    """The same ones in every run, so that a failure can be repeated."""
    assert histories.run_histories(A_FEW, 8, chance=part)["histories"] >= A_FEW


@pytest.mark.histories
@pytest.mark.parametrize("part", range(DEEP_PARTS))
def test_ten_thousand_histories_converge(part: int) -> None:
    """Different ones in every run; a failure prints `chance`, to repeat it."""
    chance, wanted = random.SystemRandom().getrandbits(32), 10_000 // DEEP_PARTS
    try:
        counts = histories.run_histories(wanted, 10, chance)
    except Exception as error:
        raise AssertionError(f"histories.run({wanted}, 10, chance={chance})") from error
    assert counts["histories"] >= wanted


def test_disjoint_work_asks_nothing(tmp_path: Path) -> None:
    remote = create_bare_repository(tmp_path / "remote.git")
    machines = [Clone(tmp_path / f"machine-{number}", str(remote)) for number in range(3)]
    reports: list[Any] = []
    for turn in range(3):
        for number, machine in enumerate(machines):
            machine.approve(10 * turn + number)
            reports.append(machine.sync())
    assert not any(report.purges or report.kept_beside or report.refused for report in reports)
