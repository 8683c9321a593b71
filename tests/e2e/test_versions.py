"""Sessions of the real client before and after an approval, as `versions`, `guards` and the figures show them."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

from reflect_git.capture import service
from reflect_git.guards import entry
from reflect_git.rules.approve import Request, plan_approval, write_approval
from reflect_git.store.reading import reader
from reflect_git.store.repository import Store
from tests.conftest import RunCli
from tests.e2e.conftest import wait_until_idle
from tests.e2e.model import Model, Turn, bash_call
from tests.e2e.session import Client
from tests.guards.guarded_store import make_guard, write_guards
from tests.rules.project_edits import open_queue
from tests.rules.queues import BY, capture_signal


def approve(store: Store, project: Path, words: str) -> str:
    signal = capture_signal(store, words, project=service.get_project(store, str(project)))
    queue = open_queue(store, project)
    return write_approval(queue, plan_approval(queue, Request(queue.find_candidate(signal), to="project")), BY).learning


def wait_for_next_second() -> None:
    """Commits have whole seconds."""
    time.sleep(1.05 - time.time() % 1)


def list_figures(store: Store) -> list[dict[str, Any]]:
    found = [one for one in reader.scan(store).other_records.values() if one["id"].startswith("EXP-")]
    return sorted(found, key=lambda one: one["start"])


def test_sessions_before_and_after_an_approval(
    client: Client, model: Model, home: Path, project: Path, run_cli: RunCli
) -> None:
    store = service.open_store(os.environ)
    pnpm = approve(store, project, "use pnpm, not npm")
    wait_for_next_second()
    rules = project / "CLAUDE.md"
    model.turns = [Turn(f"Hello. {name}") for name in ("ONE", "TWO", "THREE")]
    ruff = ""
    for name in ("ONE", "TWO", "THREE"):
        if name == "TWO":
            ruff = approve(store, project, "use ruff, not black")
            wait_for_next_second()
        if name == "THREE":
            rules.rename(project / "elsewhere.md")  # this session does not load the file
        with client.open_screen() as screen:
            screen.say("hello", name)
            screen.exit_client()
        wait_until_idle(home)
    (project / "elsewhere.md").rename(rules)
    found = list_figures(store)
    assert [one["versions"] for one in found] == [{"CLAUDE.md": 1}, {"CLAUDE.md": 2}, {}]
    assert [one["rules"] for one in found] == [{"CLAUDE.md": [pnpm]}, {"CLAUDE.md": [pnpm, ruff]}, {}]
    assert all(one["tokens"]["input"] > 0 and one["tokens"]["output"] > 0 for one in found)
    listed = run_cli("versions", "--json", cwd=project).json()["data"]["versions"]
    told = [(one["version"], one["sessions"], one["typed"], one["rules"]) for one in listed]
    assert told == [(2, 1, 1, [pnpm, ruff]), (1, 1, 1, [pnpm])]


def test_what_a_guard_did_is_in_the_figures(client: Client, model: Model, home: Path, project: Path) -> None:
    store = service.open_store(os.environ)
    pnpm = approve(store, project, "use pnpm, not npm")
    write_guards(store, [make_guard(learning=pnpm)])
    entry.install_entry(os.environ)
    model.turns = [
        Turn("", [bash_call("npm i zod")]), Turn("", [bash_call("cd web; npm i zod")]), Turn("I stop here. ONE"),
    ]  # fmt: skip
    with client.open_screen() as screen:
        screen.say("add zod", "ONE")
        screen.exit_client()
    wait_until_idle(home)
    (figures,) = list_figures(store)
    assert (figures["guards"], figures["failures"], figures["hits"]) == ({pnpm: [2, 2, 0]}, {}, {})
