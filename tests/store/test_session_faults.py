"""kill -9, and a failing call, at every side effect of the end of a session: it is recorded once, completely."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from reflect_git.capture import service, sessions
from reflect_git.store.local import session_state
from tests.faults import FAIL, KILL, FaultRun, SavedStore, check_every_fault, git, run_operation
from tests.sessions import CORRECTION, Session, load_signals
from tests.store import operations
from tests.store.store_checks import inbox_ids, main_paths, open_store, require_promises

EVERY = [pytest.param(mode, 1, 1, marks=pytest.mark.slow) for mode in (KILL, FAIL)]


@pytest.fixture
def session(home: Path, store_home: Path) -> Session:
    open_store(store_home)
    session = Session(home)
    session.write_sample_work()
    session.say(CORRECTION)
    session.answer("Understood.")
    return session


def figures(root: Path) -> set[str]:
    refs = git(root, "for-each-ref", "--format=%(refname)", "refs/heads").split()
    return {path for ref in refs for path in git(root, "ls-tree", "-r", "--name-only", ref, "exposure").split()}


@pytest.mark.parametrize("mode, first, step", [(KILL, 1, 4), (FAIL, 2, 5), *EVERY])
def test_the_end_of_a_session(
    session: Session, store_home: Path, tmp_path: Path, mode: str, first: int, step: int
) -> None:
    def check(fault_run: FaultRun) -> None:
        """Check as the next session does: it concludes the interrupted one."""
        sessions.end_session(service.open_recovered_store(os.environ), os.environ, str(session.path), "SessionStart")
        require_promises(store_home)
        types = sorted(signal["type"] for signal in load_signals(store_home))
        assert len(types) == 2 and "summary" in types, types
        assert len(inbox_ids(store_home)) >= 2 and len(figures(store_home)) == 1

    check_every_fault(operations.end_session, SavedStore(store_home, tmp_path), mode, check, first, step)


@pytest.mark.parametrize("mode, first, step", [(KILL, 2, 4), (FAIL, 1, 5), *EVERY])
def test_figures_on_their_way_to_main(
    session: Session, store_home: Path, tmp_path: Path, mode: str, first: int, step: int
) -> None:
    assert run_operation(operations.end_session, store_home).returncode == 0
    (known,) = figures(store_home)

    def check(fault_run: FaultRun) -> None:
        store = require_promises(store_home)
        if session_state.has_waiting(store):
            with store.locked(5):
                session_state.move_to_main(store)
        assert known in main_paths(store_home) and figures(store_home) == {known}
        inbox = git(store_home, "for-each-ref", "--format=%(refname)", "refs/heads/inbox").strip()
        assert git(store_home, "ls-tree", "-r", "--name-only", inbox, "exposure") == ""
        require_promises(store_home)

    check_every_fault(operations.move_exposures, SavedStore(store_home, tmp_path), mode, check, first, step)
