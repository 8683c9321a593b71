"""A root cause names its why, knows what happened before, and lists the rules it was compared with."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import pytest

from reflect_git.candidates.root_causes import format_context, parse_draft
from reflect_git.errors import ReflectError
from reflect_git.memory import rootcause
from reflect_git.memory.incidents import load_incidents
from reflect_git.memory.rootcause import CLASSES, Answers
from reflect_git.records.ids import utc_precise
from reflect_git.store import api
from reflect_git.store.local import usage
from reflect_git.store.reading import reader
from reflect_git.store.repository import Store
from tests.conftest import RunCli
from tests.faults import git
from tests.judge.judges import switch_on
from tests.memory.failures import fail_all
from tests.store.operations import BY
from tests.store.store_checks import capture, open_store
from tests.stories.terminal import Terminal

WHAT, WHY, CHANGE = (
    "the importer crashed on a fresh clone", "nothing says which services must run", "Start redis before the importer."
)  # fmt: skip
PORTS = range(7100, 7110)


@pytest.fixture
def store(store_home: Path) -> Store:
    """Provide a store with ten incidents, each in two sessions."""
    store = open_store(store_home)
    error = "Exit code 1\nError: connect ECONNREFUSED 127.0.0.1"
    failures = [(f"{port}-{session}", f"{error}:{port}") for port in PORTS for session in ("s1", "s2")]
    fail_all(store, failures, project={"key": "host/shop", "name": "shop"})
    return store


def keys(store: Store) -> dict[str, str]:
    """Return cause → key."""
    return {one.cause: one.key for one in load_incidents(store, reader.scan(store))}


def approve(store: Store, text: str, project: dict[str, str] | None = None) -> str:
    """Put a rule in force and return its id."""
    signal = capture(store, text, project=project)
    target: Any = {"kind": "project", "path": "CLAUDE.md"}
    return api.promote(store, reader.read(store), signal["id"], target, text, BY, utc_precise())["id"]


def run(run_cli: RunCli, key: str, *more: str, kind: str = "environment") -> Any:
    words = ["--what", WHAT, "--why", WHY, "--change", CHANGE, "--class", kind, *more]
    return run_cli("--yes", "rootcause", key, *words)


def test_every_incident_is_refused_without_a_why(store: Store, run_cli: RunCli) -> None:
    scan = reader.scan(store)
    found = load_incidents(store, scan)
    assert len(found) == len(PORTS)
    for one in found:
        for why in ("", "   ", "because"):
            with pytest.raises(ReflectError, match="needs a why"):
                rootcause.prepare(scan.history, one, Answers(WHAT, why, CHANGE, "tool"))
        with pytest.raises(ReflectError, match="repeats the what"):
            rootcause.prepare(scan.history, one, Answers(WHAT, WHAT.upper(), CHANGE, "tool"))
    done = run_cli("--yes", "rootcause", found[0].key, "--what", WHAT, "--change", CHANGE, "--class", "tool")
    assert (done.code, "needs a why" in done.err) == (2, True)
    assert reader.scan(store).history.decisions == []


def test_it_lists_exactly_the_rules_that_it_compared(store: Store) -> None:
    shop, blog = ({"key": f"host/{name}", "name": name} for name in ("shop", "blog"))
    here = approve(store, "Write commit messages in English.", shop)
    everywhere = approve(store, "Keep answers short.")
    like = approve(store, "Start redis before running the importer.", shop)
    elsewhere = approve(store, "Name branches after tickets.", blog)
    scan = reader.scan(store)
    for one in load_incidents(store, scan):
        found = rootcause.prepare(scan.history, one, Answers(WHAT, WHY, CHANGE, "environment"))
        assert set(found.checked) == {here, everywhere, like}
        assert [identity for identity, _ in found.overlap] == [like]
        assert found.summary.startswith("checked: 3 rules, overlap with")
        wide = rootcause.prepare(scan.history, one, Answers(WHAT, WHY, CHANGE, "environment", "global"))
        assert set(wide.checked) == {here, everywhere, like, elsewhere}


def test_it_writes_a_decision_and_a_proposed_rule(store: Store, run_cli: RunCli) -> None:
    approve(store, "Keep answers short.")
    key = keys(store)["refused 7100"]
    done = run(run_cli, key, "--json").json()["data"]
    assert done["summary"] == "checked: 1 rule, no overlap"
    scan = reader.scan(store)
    (made,) = [one for one in scan.history.decisions if one["kind"] == "rootcause"]
    meta = made["meta"]
    assert (made["id"], made["subject"], meta["what"], meta["why"], meta["change"]) == (
        done["decision"], key, WHAT, WHY, CHANGE
    )  # fmt: skip
    assert meta["class"] == "environment"
    assert (meta["before"]["count"], meta["before"]["sessions"], len(meta["before"]["signals"])) == (2, 2, 2)
    assert meta["checked"] == [rule["id"] for rule in scan.history.get_rules_in_force()]
    signal = next(one for one in reader.read(store).signals if one["id"] == meta["proposed"])
    assert (signal["content"], signal["meta"]["proposed"], signal["meta"]["scope"]) == (CHANGE, "rule", "project")
    assert signal["meta"]["incident"] == key
    assert signal["project"] == {"key": "host/shop", "name": "shop"}
    again = run(run_cli, key, "--dry-run", "--json").json()["data"]
    assert again["before"]["root_causes"] == [made["id"]]
    assert "root cause DEC-" in run_cli("incidents", "show", key).out


def test_a_rule_from_a_root_cause_covers_the_incident(store: Store, run_cli: RunCli) -> None:
    key = keys(store)["refused 7101"]
    signal = run(run_cli, key, "--json").json()["data"]["signal"]
    target: Any = {"kind": "project", "path": "CLAUDE.md"}
    rule = api.promote(store, reader.read(store), signal, target, CHANGE, BY, utc_precise())
    found = {one.key: one for one in load_incidents(store, reader.scan(store))}
    assert found[key].rule == rule["id"]


@pytest.mark.parametrize("kind", CLASSES)
def test_dry_run_shows_what_would_sync_and_writes_nothing(store: Store, run_cli: RunCli, kind: str) -> None:
    done = run(run_cli, keys(store)["refused 7102"], "--dry-run", kind=kind)
    assert done.code == 0
    assert done.out.startswith("will sync:")
    assert WHY in done.out
    assert "checked: 0 rules, no overlap" in done.out
    assert reader.scan(store).history.decisions == []


def test_secrets_are_redacted_before_anything_is_shown(store: Store, run_cli: RunCli) -> None:
    token = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    done = run(run_cli, keys(store)["refused 7103"], "--why", f"the script had the token {token} in it", "--json")
    assert token not in done.out
    assert "REDACTED" in done.json()["data"]["why"]


def test_without_a_terminal_it_needs_yes(store: Store, run_cli: RunCli) -> None:
    words = ["--what", WHAT, "--why", WHY, "--change", CHANGE, "--class", "tool"]
    done = run_cli("rootcause", keys(store)["refused 7104"], *words)
    assert (done.code, "pass --yes" in done.err) == (1, True)
    assert reader.scan(store).history.decisions == []


@pytest.mark.parametrize(
    ("kind", "scope", "change", "proposed"),
    [
        ("missing-knowledge", "project", CHANGE, "rule"),
        ("missing-knowledge", "project", "Open the admin page. Choose a tenant. Run the export. Check it.", "skill"),
        ("process-gap", "project", CHANGE, "guard"),
        ("tool", "agent:explorer", CHANGE, "agent"),
        ("unclear-rule", "project", "Use tabs in Makefiles only, spaces elsewhere.", "edit"),
        ("unclear-rule", "global", CHANGE, "rule"),
    ],
)
def test_the_class_decides_what_is_proposed(store: Store, kind: str, scope: str, change: str, proposed: str) -> None:
    approve(store, "Use tabs in Makefiles.", {"key": "host/shop", "name": "shop"})
    scan = reader.scan(store)
    one = load_incidents(store, scan)[0]
    found = rootcause.prepare(scan.history, one, Answers(WHAT, WHY, change, kind, scope))
    assert found.proposed == proposed
    assert ("agents/explorer.md" in found.hint) == (proposed == "agent")


def test_a_root_cause_of_an_agent_is_proposed_for_its_file(store: Store, run_cli: RunCli) -> None:
    for number, (scope, target) in enumerate([("agent:explorer", "agent:explorer"), ("project", "project")]):
        key = keys(store)[f"refused {7106 + number}"]
        signal = run(run_cli, key, "--scope", scope, "--change", f"Start service {scope} first.", "--json").json()
        listed = run_cli("candidates", "--all", "--json").json()["data"]
        (found,) = [one for one in listed if signal["data"]["signal"] in one["signals"]]
        assert found["target"] == target
    assert run(run_cli, keys(store)["refused 7108"], "--scope", "agent:../x").code == 2


def test_a_draft_is_recorded_when_a_person_approves_its_change(
    store: Store, run_cli: RunCli, tmp_path: Path, home: Path
) -> None:
    """/reflect is told what came back; the draft is private until the person who saw it approves the rule."""
    project = home / "shop"
    project.mkdir()
    git(project, "init", "-q")
    git(project, "remote", "add", "origin", "https://host/shop.git")
    told = run_cli("candidates", "--for-skill", cwd=project).out
    key = re.findall(r"Recurring failure \[([0-9a-f]+)\] refused 71\d\d: 2 failures in 2 sessions", told)[0]
    inside = {"CLAUDECODE": "1"}
    words = ["--what", WHAT, "--why", WHY, "--change", CHANGE, "--class", "environment"]
    done = run_cli("rootcause", key, *words, "--draft", "--json", env=inside).json()["data"]
    assert (done["decision"], done["commit"]) == (None, None)
    assert reader.scan(store).history.decisions == []
    assert key not in run_cli("candidates", "--for-skill", cwd=project).out.split("Recurring", 1)[-1]
    signal = done["signal"]
    (asked,) = run_cli("candidates", "--ask", "--id", signal, cwd=project).json()["data"]["questions"]
    assert WHY in asked["question"] and CHANGE.rstrip(".") in asked["question"]
    assert run_cli("approve", signal, "--to", "project", cwd=project, env=inside).code == 1, "a person approves it"
    with Terminal("approve", signal, "--to", "project", cwd=project) as terminal:
        seen = terminal.passes("to approve it all the same [no]:")
        assert f"it also records, and syncs, the root cause of incident {key}: {WHAT}" in " ".join(seen.split())
        terminal.types("yes")
        terminal.ends()
    scan = reader.scan(store)
    (made,) = [one for one in scan.history.decisions if one["kind"] == "rootcause"]
    assert (made["subject"], made["meta"]["why"], made["meta"]["proposed"]) == (key, WHY, signal)
    assert made["by"]["road"] == "terminal" and made["meta"]["before"]["count"] == 2
    found = {one.key: one for one in load_incidents(store, scan)}
    assert found[key].root_causes == (made["id"],) and found[key].rule
    assert run_cli("audit", "--json", cwd=project).json()["data"]["ok"]


@pytest.mark.parametrize("harm", ["context", "why", "too long", "no before"])
def test_a_draft_that_nobody_could_see_is_not_recorded(store: Store, harm: str) -> None:
    scan = reader.scan(store)
    one = load_incidents(store, scan)[0]
    cause = rootcause.prepare(scan.history, one, Answers(WHAT, WHY, CHANGE, "environment"))
    signal: Any = rootcause.build_draft(cause, None, "s-1")
    assert parse_draft(signal) is not None
    if harm == "context":
        signal["context"] = "start redis, please"
    elif harm == "why":
        signal["meta"]["rootcause"]["why"] = "something else"
    elif harm == "too long":
        signal["meta"]["rootcause"]["why"] = "long " * 200
        signal["context"] = format_context(one.key, WHAT, "long " * 200)
    else:
        del signal["meta"]["rootcause"]["before"]
    assert parse_draft(signal) is None


def test_an_unknown_scope_or_class_is_refused(store: Store, run_cli: RunCli) -> None:
    key = keys(store)["refused 7105"]
    assert run(run_cli, key, "--scope", "galaxy").code == 2
    assert run(run_cli, key, "--scope", "agent:").code == 2
    assert run(run_cli, key, kind="weather").code == 2


ANALYST = """#!{python} -IS
import json, sys
given = json.load(sys.stdin)
assert given["task"] == "rootcause" and "Keep answers short." in given["instructions"], given
assert len(given["messages"]) == 2 and all("ECONNREFUSED" in one["text"] for one in given["messages"]), given
assert sorted(given["schema"]["required"]) == ["change", "class", "what", "why"]
print(json.dumps({answer}))
"""


def switch_analyst_on(store: Store, folder: Path, answer: Any) -> None:
    program = folder / "analyst"
    program.write_text(ANALYST.format(python=sys.executable, answer=repr(answer)))
    program.chmod(0o755)
    switch_on(store, program)


def test_a_judge_answers_what_the_person_leaves_out(store: Store, run_cli: RunCli, tmp_path: Path) -> None:
    approve(store, "Keep answers short.")
    key = keys(store)["refused 7100"]
    without = run_cli("--yes", "rootcause", key, "--judge")
    assert without.code and "the judge is off" in without.err
    switch_analyst_on(store, tmp_path, {"what": WHAT, "why": WHY, "change": CHANGE, "class": "environment"})
    inside = run_cli("--yes", "rootcause", key, "--judge", env={"CLAUDECODE": "1"})
    assert inside.code and "only for a person" in inside.err
    with Terminal("rootcause", key, "--judge", cwd=tmp_path) as terminal:
        assert "tokens to analyst@" in terminal.passes("ask the judge? [y/N]:")
        terminal.types("n")
        assert "nothing was sent" in terminal.ends(1)
    assert usage.read(store) == [] and list_kinds(store) == ["approved", "policy"]
    own = "the start script forgets it"
    done = run_cli("--yes", "rootcause", key, "--judge", "--why", own, "--json").json()["data"]
    assert (done["what"], done["why"], done["change"], done["class"]) == (WHAT, own, CHANGE, "environment")
    signal = next(one for one in reader.read(store).signals if one["id"] == done["signal"])
    assert (signal["content"], signal["trust"]) == (CHANGE, "assistant")
    assert [(line["task"], line["state"]) for line in usage.read(store)] == [("rootcause", "done")]


def list_kinds(store: Store) -> list[str]:
    return [made["kind"] for made in reader.scan(store).history.decisions]


@pytest.mark.parametrize(
    "answer", [5, {"what": WHAT}, {"what": WHAT, "why": WHY, "change": CHANGE, "class": "weather"}]
)
def test_a_judge_of_another_form_records_nothing(store: Store, run_cli: RunCli, tmp_path: Path, answer: Any) -> None:
    approve(store, "Keep answers short.")
    switch_analyst_on(store, tmp_path, answer)
    done = run_cli("--yes", "rootcause", keys(store)["refused 7100"], "--judge")
    assert done.code and "did not answer in the form" in done.err
    assert list_kinds(store) == ["approved", "policy"]
