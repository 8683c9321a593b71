"""A project with one approved rule and two proposed ones, and a panel for it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from reflect_git.store.repository import Store
from tests.rules.audit.audited_store import create_audited_store
from tests.rules.queues import PNPM, capture_signal
from tests.store.store_checks import open_recovered_store
from tests.web.panel_client import Browser, RunningPanel

LINT = "always run the linter before you commit"
TABS = "no, always use tabs in makefiles, never spaces"


@pytest.fixture
def store(store_home: Path, home: Path) -> Store:
    (home / ".gitconfig").write_text("[user]\n\tname = Ada\n\temail = ada@example.com\n", encoding="utf-8")
    store = create_audited_store(store_home, home, PNPM)
    capture_signal(store, LINT, session_id="s-7")
    capture_signal(store, TABS, session_id="s-8")
    return open_recovered_store(Path(store.root))


@pytest.fixture
def project(store: Store, home: Path) -> Path:
    return home / "shop"


@pytest.fixture
def panel(project: Path) -> Iterator[RunningPanel]:
    with RunningPanel(project) as running:
        yield running


@pytest.fixture
def browser(panel: RunningPanel) -> Browser:
    return panel.open()
