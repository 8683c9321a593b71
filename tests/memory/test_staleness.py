"""Staleness: rules come up when their time is over or what they name is gone, and not otherwise."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

import pytest

from reflect_git.memory import staleness
from reflect_git.memory.staleness import ENDED, UNLOADED, Project
from reflect_git.records.ids import utc, utc_precise
from reflect_git.store import api, policy
from reflect_git.store.reading import reader
from reflect_git.store.repository import Store
from tests.conftest import RunCli
from tests.faults import git
from tests.rules.guard_calls import load
from tests.rules.queues import BY, approve, capture_signal, get_project_folder
from tests.store.store_checks import open_store
from tests.stories.terminal import Terminal

# A rule, and whether something that it names is gone from the project below.
RULES = [
    ("run `npm run lint` before every commit", False),
    ("run `npm run typecheck` before every commit", True),
    ("use `pnpm test` for the unit tests", False),
    ("use `yarn e2e` for the browser tests", True),
    ("never run `npm run deploy:old` on Fridays", True),
    ("use pnpm, not npm", False),
    ("run `npm install` after switching branches", False),
    ("use `make check` before you push", False),
    ("use `make proto` after you changed a message", True),
    ("make sure that every function has a test", False),
    ("put migrations into `db/migrations/`", False),
    ("put fixtures into `spec/fixtures/`", True),
    ("read docs/style.md before you write prose", False),
    ("read docs/handbook.md before you write prose", True),
    ("never edit `src/gen/` by hand", False),
    ("never edit `src/legacy/parser.py`", True),
    ("mock requests with the `nock` package", True),
    ("mock the clock with the `sinon` package", False),
    ("use the library `zod` instead of the library `joi`", False),
    ("run `poetry run alembic` for migrations", True),
    ("run `python -m pytest` with two workers", False),
    ("start the server with `python -m shop.server`", False),
    ("start the importer with `python -m shop.importer`", True),
    ("answer in short sentences and/or lists", False),
    ("the client/server protocol is documented in the wiki", False),
    ("see https://example.org/docs/setup.md for details", False),
    ("secrets are in `~/.config/shop/keys.json`", False),
    ("format Python files with ruff", False),
    ("tests live in `tests/*.spec.ts`", False),
    ("the schema is in schema.prisma and config.yaml", True),
]
NOW = 1790000000.0
DAY = 86400


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "shop"
    for name in ("db/migrations", "src/gen", "docs", "tests", "shop"):
        (folder / name).mkdir(parents=True)
    manifest = {"scripts": {"lint": "x", "test": "x"}, "dependencies": {"zod": "1"}, "devDependencies": {"sinon": "1"}}
    (folder / "package.json").write_text(json.dumps(manifest))
    (folder / "Makefile").write_text("VAR := 1\n.PHONY: check\ncheck test: lint\n\trun\nlint:\n\trun\n")
    (folder / "pyproject.toml").write_text(
        '[project]\ndependencies = ["pytest>=8", "httpx[http2]"]\n\n[tool.ruff]\nline-length = 100\n'
    )
    for name in ("docs/style.md", "tests/cart.spec.ts", "shop/server.py", "shop/__init__.py"):
        (folder / name).write_text("")
    return folder


def test_thirty_rules_on_a_changed_project(project: Path) -> None:
    assert len(RULES) == 30
    known = Project(str(project))
    told = {text: bool(staleness.find_missing_names(text, known)) for text, _ in RULES}
    right = sum(told[text] and is_stale for text, is_stale in RULES)
    wrong = {text for text, is_stale in RULES if told[text] != is_stale}
    assert right / max(1, sum(told.values())) >= 0.9, wrong
    assert right / sum(is_stale for _, is_stale in RULES) >= 0.8, wrong


def test_a_project_without_files_says_nothing_about_scripts(tmp_path: Path) -> None:
    known = Project(str(tmp_path))
    assert staleness.find_missing_names("run `npm run lint` and `make check`, use the `zod` package", known) == []


@pytest.mark.parametrize("name", ["package.json", "Makefile", "pyproject.toml"])
@pytest.mark.parametrize("text", ["[", "\0\xff", "{}", "[]", '"x"'])
def test_no_file_of_a_project_breaks_it(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text)
    staleness.find_missing_names("run `npm run lint`, `make check` and `poetry run x`", Project(str(tmp_path)))


class Past:
    """The history of rules of some age."""

    def __init__(self, *decisions: dict[str, Any]) -> None:
        self.decisions, self.void_decisions = decisions, {"DEC-void"}


def make_rule(age: float, category: str = "command", until: str = "") -> dict[str, Any]:
    meta = {"until": until} if until else {}
    return {"id": "LRN-1", "timestamp": utc(NOW - age * DAY), "category": category, "scope": "project",
            "text": "be brief", "meta": meta}  # fmt: skip


def find(store: Store, rule: dict[str, Any], *decisions: dict[str, Any], sessions: Any = ()) -> list[str]:
    past: Any = Past(*decisions)
    found = staleness.find_reasons(store, past, [rule], "/nowhere", sessions, NOW)  # type: ignore[list-item]
    return [reason.kind for reason in found.get("LRN-1", [])]


@pytest.fixture
def store(store_home: Path) -> Store:
    return open_store(store_home)


@pytest.mark.parametrize(
    "category, age, ends",
    [("command", 364, False), ("command", 366, True), ("configuration", 182, False), ("configuration", 184, True),
     ("preference", 9000, False)],
)  # fmt: skip
def test_each_category_has_its_lifetime(store: Store, category: str, age: float, ends: bool) -> None:
    assert find(store, make_rule(age, category)) == ([ENDED] if ends else [])


def test_a_lifetime_can_be_set_and_an_edit_confirms_a_rule(store: Store) -> None:
    edited = {"subject": "LRN-1", "kind": "amended", "id": "DEC-1", "timestamp": utc(NOW - 10 * DAY)}
    assert find(store, make_rule(400), edited) == []
    assert find(store, make_rule(400), {**edited, "id": "DEC-void"}) == [ENDED]
    policy.set_keys(store, {"reflect.ttl.command": "5"})
    again = open_store(Path(store.root))
    assert find(again, make_rule(400), edited) == [ENDED]
    policy.set_keys(store, {"reflect.ttl.command": "never"})
    assert find(open_store(Path(store.root)), make_rule(4000)) == []


def test_an_end_date_goes_before_the_lifetime(store: Store) -> None:
    assert find(store, make_rule(1, until=utc(NOW - DAY)[:10])) == [ENDED]
    assert find(store, make_rule(4000, until=utc(NOW + DAY)[:10])) == []


def test_a_rule_kept_after_its_end_date_holds_for_another_lifetime(store: Store) -> None:
    rule = make_rule(500, until=utc(NOW - 400 * DAY)[:10])
    kept = {"subject": "LRN-1", "kind": "kept", "id": "DEC-1", "timestamp": utc(NOW - 364 * DAY)}
    assert find(store, rule, kept) == []
    assert find(store, rule, {**kept, "timestamp": utc(NOW - 366 * DAY)}) == [ENDED]
    assert find(store, rule, {**kept, "timestamp": utc(NOW - 401 * DAY)}) == [ENDED], "before the end date"
    assert find(store, rule, {**kept, "id": "DEC-void"}) == [ENDED]


def test_a_rule_that_no_session_loads(store: Store) -> None:
    def session(days: float, *rules: str) -> dict[str, Any]:
        return {"start": utc(NOW - days * DAY), "rules": {"CLAUDE.md": list(rules)}}

    other = [session(day, "LRN-2") for day in range(1, 6)]
    assert find(store, make_rule(61), sessions=other) == [UNLOADED]
    assert find(store, make_rule(61), sessions=other[:4]) == [], "too few sessions"
    assert find(store, make_rule(61), sessions=[*other, session(59, "LRN-1")]) == []
    assert find(store, make_rule(59), sessions=other) == [], "too young"


def test_the_command_names_the_reason_and_changes_nothing(store: Store, run_cli: RunCli) -> None:
    folder = get_project_folder(os.environ)
    git(folder.parent, "init", "-q", str(folder))
    (folder / "package.json").write_text('{"scripts": {"lint": ""}}')
    capture_signal(store, "always run `npm run typecheck` before a commit")
    approve(store, os.environ)
    before = (folder / "CLAUDE.md").read_bytes()
    assert "package.json has no script 'typecheck'" in run_cli("rules", "--stale", cwd=folder).out
    (rule,) = json.loads(run_cli("rules", "--stale", "--json", cwd=folder).out)["data"]
    assert rule["stale"] == ["package.json has no script 'typecheck'"]
    (folder / "package.json").write_text('{"scripts": {"typecheck": ""}}')
    assert json.loads(run_cli("rules", "--stale", "--json", cwd=folder).out)["data"] == []
    assert (folder / "CLAUDE.md").read_bytes() == before


def add_old_rules(store: Store) -> None:
    """Approve three rules: one long ago, one whose end date has come, one that holds."""
    project = load(store).place.project
    records: list[Any] = []
    for number, (text, age, meta) in enumerate((
        ("Run the tests first.", 400, {}), ("Freeze the API.", 30, {"until": utc(time.time() - 5 * DAY)[:10]}),
        ("Keep answers short.", 30, {}),
    )):  # fmt: skip
        identity, made_at = f"LRN-20250101-0000000{number}", utc_precise(time.time() - age * DAY)
        target: Any = {"kind": "project", "path": "CLAUDE.md"}
        made = api.build_decision(store, "approved", identity, BY, made_at, text=text, key=text, target=target)
        records += [made, {
            "id": identity, "version": 1, "timestamp": made_at, "text": text, "title": text, "category": "convention",
            "scope": "project", "project": project, "target": target, "topic": None, "paths": [], "signals": [],
            "decision": made["id"], "supersedes": [], "reason": "", "trust": "user_typed", "matcher": None,
            "meta": meta,
        }]  # fmt: skip
    api.commit_records(store, records, "approve: three rules", {})


def list_ended(store: Store, now: float) -> list[str]:
    history = reader.scan(store).history
    return [rule["text"] for rule, _ in staleness.find_ended(store, history, history.get_rules_in_force(), now)]


def test_review_asks_whether_a_rule_is_still_true_and_remembers_a_yes(store: Store, run_cli: RunCli) -> None:
    folder, now = get_project_folder(os.environ), time.time()
    git(folder.parent, "init", "-q", str(folder))
    add_old_rules(store)
    data = run_cli("review", "--json", cwd=folder).json()
    assert [one["text"] for one in data["ended"]] == ["Run the tests first.", "Freeze the API."]
    question = "Keep it, edit it, retire it [y,e,x,s,q,?]?"
    with Terminal("review", cwd=folder) as terminal:
        seen = terminal.passes(f"(1/2) {question}")
        assert "Still true? 1 of 2 — nobody confirmed it since" in " ".join(seen.split())
        terminal.types("y")
        seen = terminal.passes(f"(2/2) {question}")
        assert "is still true; asked again in 365 days" in seen and "it was to end on" in seen
        terminal.types("y")
        assert "2 still true" in terminal.ends()
    assert list_ended(store, now) == []
    assert "ended" not in run_cli("review", "--json", cwd=folder).json()
    assert list_ended(store, now + 364 * DAY) == ["Keep answers short."]
    assert list_ended(store, now + 366 * DAY) == ["Run the tests first.", "Freeze the API.", "Keep answers short."]
    assert "kept" in run_cli("log", cwd=folder).out
    with Terminal("undo", cwd=folder) as terminal:
        assert "the keeping of 'Freeze the API.'" in " ".join(terminal.ends().split())
    assert list_ended(store, now) == ["Freeze the API."]
