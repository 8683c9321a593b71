"""Incidents are computed from signals and tallies; muting one is a decision that can be undone."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from reflect_git.errors import ReflectError
from reflect_git.memory import incidents
from reflect_git.memory.incidents import Incident, load_incidents
from reflect_git.records.ids import utc_precise
from reflect_git.store import api, maintenance, recover
from reflect_git.store.reading import reader
from reflect_git.store.repository import Store
from tests import disk_search
from tests.conftest import RunCli
from tests.memory.failures import fail, fail_all
from tests.store.operations import BY, DAY
from tests.store.store_checks import allow_unattended, open_store

MODULES = ("zod", "pino", "knex", "ws", "ajv", "nanoid", "undici", "dotenv", "luxon", "sharp", "jose")


@pytest.fixture
def store(store_home: Path) -> Store:
    return open_store(store_home)


def load(store: Store) -> dict[str, Incident]:
    """Return the incidents of a store by the last word of their cause."""
    found = load_incidents(store, reader.scan(store))
    return {one.cause.rpartition(" ")[2] or one.key: one for one in found}


def lacks(name: str) -> str:
    return f"Exit code 1\nError: Cannot find module '{name}'"


def expire_all(store: Store) -> int:
    """Run maintenance a month later, with the fingerprints of what expires."""
    recover.recover_store(store)
    gone = 0
    for days in (20, 30):
        with store.locked(5):
            now = time.time() + days * DAY
            gone += maintenance.run_maintenance(store, reader.read(store), now, incidents.get_incident)
    return gone


def test_failures_are_grouped_and_counted(store: Store) -> None:
    project = {"key": "host/shop", "name": "shop"}
    fail(store, "s1", lacks("zod"), timestamp="2026-02-01T10:00:00Z", project=project)
    fail(store, "s1", lacks("zod"), timestamp="2026-02-01T10:05:00Z", meta={"agent": "explorer"})
    fail(store, "s2", lacks("zod"), "npx vitest", timestamp="2026-02-03T09:00:00Z")
    fail(store, "s3", lacks("pino"))
    fail(store, "s4", "Exit code 1", "grep -r legacy src")
    found = load(store)
    assert set(found) == {"zod", "pino"}
    zod = found["zod"]
    assert (zod.count, zod.sessions, zod.first, zod.last) == (3, 2, "2026-02-01T10:00:00Z", "2026-02-03T09:00:00Z")
    assert (zod.agents, zod.projects, zod.machines) == (("explorer",), ("shop",), (store.machine,))
    assert zod.weight > found["pino"].weight, "a failure in one session weighs less"


def test_counts_outlive_the_signals_and_no_text_does(store: Store, store_home: Path) -> None:
    for session in ("s1", "s2", "s3"):
        fail(store, session, lacks("zebra-kit"))
    key = load(store)["zebra-kit"].key
    assert expire_all(store) == 3
    (one,) = load_incidents(store, reader.scan(store))
    assert (one.key, one.count, one.sessions, one.cause, one.signals) == (key, 3, 3, "", ())
    assert one.machines == (store.machine,)
    assert disk_search.find_texts(store_home, "zebra") == []
    fail(store, "s4", lacks("zebra-kit"))
    again = load(store)["zebra-kit"]
    assert (again.key, again.sessions) == (key, 4)


def test_tally_lines_keep_six_texts(store: Store) -> None:
    fail(store, "s1", lacks("zod"))
    fail(store, "s2", "Exit code 1", "grep -r legacy src")
    expire_all(store)
    (tally,) = reader.scan(store).history.tallies
    assert [len(line) for line in tally["lines"]] == [6, 6, 6]
    assert sorted(line[1] for line in tally["lines"]) == ["failure", "failure", "incident/tool"]


def test_a_rule_covers_an_incident_and_later_sessions_count_as_recurrences(store: Store) -> None:
    old = "2026-02-01T10:00:00Z"
    first = fail(store, "s1", lacks("zod"), timestamp=old)
    fail(store, "s2", lacks("zod"), timestamp=old)
    snapshot = reader.read(store)
    target = {"kind": "project", "path": "CLAUDE.md"}
    rule = api.promote(store, snapshot, first["id"], target, "Run npm ci after a pull.", BY, utc_precise())  # type: ignore[arg-type]
    covered = load(store)["zod"]
    assert (covered.rule, covered.rule_since, covered.recurrences) == (rule["id"], rule["timestamp"], 0)
    fail(store, "s3", lacks("zod"), timestamp="2099-01-01T00:00:00Z")
    assert load(store)["zod"].recurrences == 1


def test_new_incidents_are_reported_once_at_the_second_session(store: Store, run_cli: RunCli) -> None:
    fail(store, "s1", lacks("zod"))
    assert run_cli("incidents", "--new", "--json").json()["data"] == []
    fail(store, "s2", lacks("zod"))
    assert len(run_cli("incidents", "--new", "--dry-run", "--json").json()["data"]) == 1
    assert [one["cause"] for one in run_cli("incidents", "--new", "--json").json()["data"]] == ["module-missing zod"]
    fail(store, "s3", lacks("zod"))
    assert run_cli("incidents", "--new", "--json").json()["data"] == []
    assert run_cli("incidents", "--json").json()["data"][0]["sessions"] == 3


def test_filters(store: Store, run_cli: RunCli) -> None:
    shop, blog = ({"key": f"host/{name}", "name": name} for name in ("shop", "blog"))
    for session in ("s1", "s2"):
        fail(store, session, lacks("zod"), project=shop, timestamp="2026-01-02T10:00:00Z")
        fail(store, session, "Exit code 1\n  1:1  error  Unexpected var  no-var", "npx eslint .", project=blog)

    def causes(*args: str) -> list[str]:
        return sorted(one["cause"] for one in run_cli("incidents", "--json", *args).json()["data"])

    assert causes() == ["lint no-var", "module-missing zod"]
    assert causes("--kind", "lint") == causes("--project", "blog") == causes("--since", "30d") == ["lint no-var"]
    assert causes("--project", "host/shop") == ["module-missing zod"]
    assert run_cli("incidents", "--kind", "weather").code == 2
    assert "lint: no-var" in run_cli("incidents").out


def test_muted_incidents_weigh_less_and_can_be_unmuted(store: Store) -> None:
    fail_all(store, [(f"{name}-{number}", lacks(name)) for name in MODULES for number in range(3)])
    before = load(store)
    decisions, _ = incidents.mute(store, [before[name] for name in MODULES[:10]], BY)
    after = load(store)
    assert [after[name].muted for name in MODULES[:10]] == decisions
    assert all(after[name].weight < before[name].weight / 5 for name in MODULES[:10])
    assert before["jose"].weight > after["jose"].weight > after["zod"].weight, "one like muted ones weighs less, too"
    listed = [one.cause for one in load_incidents(store, reader.scan(store))]
    assert listed[0] == "module-missing jose"
    assert after["zod"].sessions == before["zod"].sessions, "it is still counted"
    incidents.unmute(store, [after["zod"]], BY)
    assert (load(store)["zod"].muted, load(store)["pino"].muted) == ("", decisions[1])
    incidents.unmute(store, [after[name] for name in MODULES[1:10]], BY)
    assert load(store) == before
    with pytest.raises(ReflectError, match="is not muted"):
        incidents.unmute(store, [before["zod"]], BY)


def test_mute_and_unmute_from_the_command_line(store: Store, store_home: Path, run_cli: RunCli) -> None:
    for session in ("s1", "s2"):
        fail(store, session, lacks("zod"))
    key = load(store)["zod"].key
    assert run_cli("incidents", "mute", key, "--dry-run").code == 0
    assert load(store)["zod"].muted == ""
    done = run_cli("incidents", "mute", key[:6], "--reason", "only offline", "--json").json()["data"]
    (decision,) = done["decisions"]
    assert load(store)["zod"].muted == decision
    assert run_cli("incidents", "mute", key).code == 2
    assert run_cli("incidents", "--json").json()["data"] == []
    assert run_cli("incidents", "--all", "--json").json()["data"][0]["muted"] == decision
    assert "only offline" in run_cli("log").out
    allow_unattended(store_home)
    assert run_cli("--yes", "revert", decision).code == 0
    assert load(store)["zod"].muted == ""


def test_muting_is_refused_inside_claude_code(store: Store, run_cli: RunCli) -> None:
    fail(store, "s1", lacks("zod"))
    done = run_cli("incidents", "mute", load(store)["zod"].key, env={"CLAUDECODE": "1"})
    assert done.code == 1
    assert "your own terminal" in done.err


def test_show_prints_figures_and_the_last_errors(store: Store, run_cli: RunCli) -> None:
    for session in ("s1", "s2"):
        fail(store, session, lacks("zod"))
    shown = run_cli("incidents", "show", load(store)["zod"].key[:8]).out
    assert "module missing: zod" in shown
    assert "2 failures in 2 sessions" in shown
    assert "Cannot find module 'zod'" in shown
    assert run_cli("incidents", "show", "ffff0000").code == 1


def test_without_a_store_there_is_nothing(run_cli: RunCli) -> None:
    assert run_cli("incidents", "--json").json()["data"] == []
