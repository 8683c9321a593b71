"""Whenever an answer to drift fails, file and store agree: it was given, or it was not."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from reflect_git.store.reading import reader
from reflect_git.store.repository import Store
from tests.faults import FAIL, KILL, FaultRun, Operation, SavedStore, check_every_fault
from tests.rules import drift_answers
from tests.rules.project_edits import PNPM, create_store_with_rule, find_drift, list_kinds, make_project
from tests.store.store_checks import open_store, require_promises

YARN = "Use yarn, not npm"
GONE = b"# Shop\n\nOur own text.\n"


@pytest.fixture
def project(home: Path) -> Path:
    return make_project(home / "shop")


@pytest.fixture
def store(store_home: Path, project: Path) -> Store:
    return create_store_with_rule(store_home, project)


class Files(SavedStore):
    """The saved store and file."""

    def __init__(self, root: Path, store: Path, file: Path) -> None:
        super().__init__(root, store)
        self._file, self._kept = file, store / "CLAUDE.md"
        shutil.copy(file, self._kept)

    def restore(self) -> None:
        super().restore()
        shutil.copy(self._kept, self._file)


@pytest.mark.parametrize(
    "operation, kind, mode, first, step",
    [
        (drift_answers.restore_rule, "different", KILL, 1, 6),
        (drift_answers.restore_rule, "missing", FAIL, 3, 9),
        (drift_answers.adopt_file_wording, "different", KILL, 2, 7),
        (drift_answers.adopt_file_wording, "missing", KILL, 1, 9),
        *(
            pytest.param(operation, kind, mode, 1, 1, marks=pytest.mark.slow)
            for operation in (drift_answers.restore_rule, drift_answers.adopt_file_wording)
            for kind in ("different", "missing")
            for mode in (KILL, FAIL)
        ),
    ],
)
def test_it_was_answered_or_it_was_not(
    store: Store, project: Path, tmp_path: Path, operation: Operation, kind: str, mode: str, first: int, step: int
) -> None:
    root, file = Path(store.root), project / "CLAUDE.md"
    approved = file.read_bytes()
    before = approved.replace(PNPM.encode(), YARN.encode()) if kind == "different" else GONE
    file.write_bytes(before)

    def check(fault_run: FaultRun) -> None:
        require_promises(root)
        fresh = open_store(root)
        history = reader.scan(fresh).history
        answers = {made["kind"] for made in history.decisions} - {"approved"}
        rules = [rule["text"] for rule in history.get_rules_in_force()]
        answered = bool(answers)
        assert answered or not fault_run.output, "said to be done, and is not"
        if operation is drift_answers.restore_rule:
            assert answers <= {"applied"} and rules == [PNPM]
            assert file.read_bytes() == (approved if answered else before)
        else:
            assert file.read_bytes() == before
            assert rules == ([PNPM] if not answered else [YARN] if kind == "different" else [])
        assert list_kinds(find_drift(fresh, project)) == ([] if answered else [(kind, "you")])

    check_every_fault(operation, Files(root, tmp_path, file), mode, check, first, step)
