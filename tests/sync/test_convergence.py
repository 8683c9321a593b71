"""Whatever happens in whatever order, everybody ends with the same tree, and nothing that was acknowledged is lost."""

from __future__ import annotations

import random
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.sync import histories
from tests.sync.clones import Clone, bare

PARTS, DEEP_PARTS = 8, 20


@pytest.mark.parametrize("part", range(PARTS))
def test_histories_converge(part: int) -> None:
    """The same ones in every run, so that a failure can be repeated."""
    assert histories.run(200 // PARTS, 8, chance=part)["histories"] >= 200 // PARTS


@pytest.mark.slow
@pytest.mark.parametrize("part", range(DEEP_PARTS))
def test_ten_thousand_histories_converge(part: int, capsys: pytest.CaptureFixture[str]) -> None:
    """Others in every run; `chance` is told, to repeat one."""
    chance = random.SystemRandom().getrandbits(32)
    with capsys.disabled():
        sys.stdout.write(f"\nhistories of chance {chance}\n")
    counts = histories.run(10_000 // DEEP_PARTS, 10, chance)
    with capsys.disabled():
        sys.stdout.write(f"\n{counts['histories']:,} histories converged: {dict(counts.most_common())}\n")
    assert counts["histories"] >= 10_000 // DEEP_PARTS


def test_disjoint_work_asks_nothing(tmp_path: Path) -> None:
    remote = bare(tmp_path / "remote.git")
    machines = [Clone(tmp_path / f"machine-{number}", str(remote)) for number in range(3)]
    reports: list[Any] = []
    for turn in range(3):
        for number, machine in enumerate(machines):
            machine.approve(10 * turn + number)
            reports.append(machine.sync())
    assert not any(report.purges or report.beside or report.refused for report in reports)
