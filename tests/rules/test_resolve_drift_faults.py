"""Whenever an answer to drift fails, file and store agree: it was given, or it was not."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from reflect_git.store.reading import reader
from reflect_git.store.repository import Store
from tests.faults import FAIL, KILL, Operation, Prepared, Strike, strike_everywhere
from tests.rules import drift_answers
from tests.rules.project_edits import PNPM, look, make_project, told, with_a_rule
from tests.store.probe import opened, require_promises

YARN = "Use yarn, not npm"
GONE = b"# Shop\n\nOur own text.\n"


@pytest.fixture
def shop(home: Path) -> Path:
    return make_project(home / "shop")


@pytest.fixture
def store(store_home: Path, shop: Path) -> Store:
    return with_a_rule(store_home, shop)


class Files(Prepared):
    """The saved store and file."""

    def __init__(self, root: Path, shelf: Path, file: Path) -> None:
        super().__init__(root, shelf)
        self._file, self._kept = file, shelf / "CLAUDE.md"
        shutil.copy(file, self._kept)

    def restore(self) -> None:
        super().restore()
        shutil.copy(self._kept, self._file)


@pytest.mark.parametrize(
    "operation, kind, mode, first, step",
    [
        (drift_answers.put_back, "different", KILL, 1, 6), (drift_answers.put_back, "missing", FAIL, 3, 9),
        (drift_answers.for_good, "different", KILL, 2, 7), (drift_answers.for_good, "missing", KILL, 1, 9),
        *(
            pytest.param(operation, kind, mode, 1, 1, marks=pytest.mark.slow)
            for operation in (drift_answers.put_back, drift_answers.for_good)
            for kind in ("different", "missing")
            for mode in (KILL, FAIL)
        ),
    ],
)  # fmt: skip
def test_it_was_answered_or_it_was_not(
    store: Store, shop: Path, tmp_path: Path, operation: Operation, kind: str, mode: str, first: int, step: int
) -> None:
    root, file = Path(store.root), shop / "CLAUDE.md"
    approved = file.read_bytes()
    before = approved.replace(PNPM.encode(), YARN.encode()) if kind == "different" else GONE
    file.write_bytes(before)

    def check(strike: Strike) -> None:
        require_promises(root)
        fresh = opened(root)
        history = reader.scan(fresh).history
        answers = {made["kind"] for made in history.decisions} - {"approved"}
        rules = [rule["text"] for rule in history.in_force()]
        answered = bool(answers)
        assert answered or not strike.said, "said to be done, and is not"
        if operation is drift_answers.put_back:
            assert answers <= {"applied"} and rules == [PNPM]
            assert file.read_bytes() == (approved if answered else before)
        else:
            assert file.read_bytes() == before
            assert rules == ([PNPM] if not answered else [YARN] if kind == "different" else [])
        assert told(look(fresh, shop)) == ([] if answered else [(kind, "you")])

    strike_everywhere(operation, Files(root, tmp_path, file), mode, check, first, step)
