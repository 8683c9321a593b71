"""Guards of rules: what is in force after which decisions, what is compiled, and what a backtest finds."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

import pytest

from reflect_git.errors import ReflectError
from reflect_git.guards import form
from reflect_git.guards.match import Call, find_match
from reflect_git.guards.table import read_table
from reflect_git.records.history import session_hash
from reflect_git.records.ids import utc_precise
from reflect_git.rules import amend, revert
from reflect_git.rules.arrivals import list_arrivals
from reflect_git.rules.derived_files import refresh_guards
from reflect_git.rules.guarding import guard_backtest, guards
from reflect_git.store import api
from reflect_git.store.reading import reader
from reflect_git.store.repository import Store
from tests.rules.guard_calls import bash, guard, list_modes, load, write_calls
from tests.rules.queues import BY, approve, capture_signal


@pytest.fixture
def rule(store: Store, capfd: pytest.CaptureFixture[str]) -> str:
    """Approve "use pnpm, not npm" in the project."""
    capture_signal(store, "use pnpm, not npm")
    approve(store, os.environ)
    return capfd.readouterr().out.strip()


def take_back(store: Store, name: str) -> None:
    ctx = load(store)
    revert.write_revert(ctx, revert.plan_revert(ctx, revert.select_by_name(ctx, name)), BY)


def write_elsewhere(store: Store, kind: str, rule: str, **meta: Any) -> str:
    """Write a decision as another machine of the same person makes it; return its id."""
    made = api.build_decision(
        store, kind, rule, BY, utc_precise(), text=load(store).scan.history.learnings[rule]["text"], meta=meta
    )
    api.commit_records(store, [{**made, "machine": "laptop"}], f"guard: {rule}", {})
    return made["id"]


def get_table(store: Store) -> list[str]:
    refresh_guards(store, os.environ, reader.scan(store))
    return [one.learning for one in read_table(store.git_dir)]


NPM = {"any": [{"run": "npm"}]}


def test_a_guard_takes_its_matcher_from_the_text(store: Store, rule: str) -> None:
    assert get_table(store) == []  # no guard, nothing to read
    decision = guard(store, rule)
    (one,) = guards.list_guards(reader.scan(store).history, store.machine)
    assert (one.learning, one.mode, one.matcher, one.instead) == (rule, "hint", NPM, "pnpm")
    project = load(store).place.project
    assert project and one.project == project["key"]
    made = load(store).scan.other_records[decision]
    assert made["meta"]["backtest"] == {"sessions": 0, "hits": 0, "since": ""} and made["meta"]["derived"]
    assert get_table(store) == [rule]


def test_reverting_a_guard_restores_the_mode_before_it(store: Store, rule: str) -> None:
    guard(store, rule, "watch")
    stronger = guard(store, rule, "deny")
    assert list_modes(store) == {rule: "deny"}
    take_back(store, stronger)
    assert list_modes(store) == {rule: "watch"}
    ctx = load(store)
    guards.write_unguard(ctx, guards.plan_unguard(ctx, rule), BY)
    assert list_modes(store) == {} and get_table(store) == []
    last = load(store).scan.history.decisions[-1]
    take_back(store, last["id"])
    assert list_modes(store) == {rule: "watch"}


def test_reverting_the_rule_removes_its_guard(store: Store, rule: str, project: Path) -> None:
    guard(store, rule, "deny")
    before = (project / "CLAUDE.md").read_bytes()
    take_back(store, rule)
    assert list_modes(store) == {} and get_table(store) == []
    take_back(store, load(store).scan.history.decisions[-1]["id"])
    assert list_modes(store) == {rule: "deny"} and (project / "CLAUDE.md").read_bytes() == before


def test_reverting_a_guard_leaves_signals_and_files_alone(store: Store, rule: str, project: Path) -> None:
    before = (project / "CLAUDE.md").read_bytes()
    take_back(store, guard(store, rule))
    scan = reader.scan(store)
    assert scan.columns["status"] == ["promoted"] and not scan.history.rejections
    assert (project / "CLAUDE.md").read_bytes() == before and not list_arrivals(load(store))


def test_a_reworded_rule_does_not_keep_a_guard_that_says_something_else(store: Store, rule: str) -> None:
    guard(store, rule, "deny")
    ctx = load(store)
    change = amend.plan_amendment(ctx, guards.find_rule(ctx, rule), amend.AmendRequest("Use pnpm here. Never use npm."))
    amend.write_amendment(ctx, change, BY)
    assert list_modes(store) == {rule: "deny"}  # it still bans npm
    ctx = load(store)
    change = amend.plan_amendment(ctx, guards.find_rule(ctx, rule), amend.AmendRequest("Use yarn, not bun."))
    amend.write_amendment(ctx, change, BY)
    (state,) = guards.load_guard_states(reader.scan(store).history, store.machine)
    assert state.guard is None and state.problem == "the rule was reworded since"
    guard(store, rule, "deny")
    (one,) = guards.list_guards(reader.scan(store).history, store.machine)
    assert one.matcher == {"any": [{"run": "bun"}]} and one.text == "Use yarn, not bun."


def test_a_guard_from_another_machine_waits_for_a_yes(store: Store, rule: str) -> None:
    theirs = write_elsewhere(store, "guarded", rule, mode="deny", matcher=NPM, instead="", derived=True)
    (state,) = guards.load_guard_states(reader.scan(store).history, store.machine)
    assert state.guard is None and state.waiting and state.waiting["id"] == theirs and get_table(store) == []
    ctx = load(store)
    plan = guards.plan_acceptance(ctx, state.rule)
    guards.write_guard(ctx, plan, {}, BY)
    assert list_modes(store) == {rule: "deny"}
    # A third machine accepts it as well: that is not a new question here.
    write_elsewhere(store, "guarded", rule, mode="deny", matcher=NPM, instead="", derived=True, of=theirs)
    (state,) = guards.load_guard_states(reader.scan(store).history, store.machine)
    assert state.mode == "deny" and state.waiting is None


def test_an_acceptance_cannot_bring_in_another_matcher(store: Store, rule: str) -> None:
    own = guard(store, rule, "hint")
    write_elsewhere(store, "guarded", rule, mode="deny", matcher={"any": [{"run": "git"}]}, instead="", of=own)
    (state,) = guards.load_guard_states(reader.scan(store).history, store.machine)
    assert state.mode == "hint" and state.waiting  # the guard that was decided here stays until then


def test_another_machine_can_switch_a_guard_off(store: Store, rule: str) -> None:
    guard(store, rule, "deny")
    write_elsewhere(store, "unguarded", rule)
    assert list_modes(store) == {}


@pytest.mark.parametrize("matcher", [
    None, {}, {"any": []}, {"any": ["npm"]}, {"any": [{}]}, {"any": [{"run": ""}]}, {"any": [{"run": 7}]},
    {"any": [{"run": "npm", "flags": "-g"}]}, {"any": [{"run": "npm", "strange": "x"}]}, {"any": [{"content": "("}]},
    {"any": [{"content": "a*"}]}, {"any": [{"content": "x" * 501}]}, {"any": [{"paths": []}]},
    {"any": [{"run": "npm"}], "except": {}}, {"any": [{"run": "npm"}], "more": 1}, {"any": [{"run": "n" * 9000}]},
])  # fmt: skip
def test_an_invalid_matcher_is_never_used(store: Store, rule: str, matcher: Any) -> None:
    assert form.find_problem(matcher)
    own = api.build_decision(
        store, "guarded", rule, BY, utc_precise(), meta={"mode": "deny", "matcher": matcher, "instead": ""}
    )
    api.commit_records(store, [own], "guard: x", {})
    assert list_modes(store) == {}


def test_a_rule_about_style_cannot_become_a_guard(store: Store, capfd: pytest.CaptureFixture[str]) -> None:
    capture_signal(store, "always keep your answers short and friendly")
    approve(store, os.environ)
    name = capfd.readouterr().out.strip()
    with pytest.raises(ReflectError, match="it names no command, file or content"):
        guard(store, name)
    guard(store, name, matcher={"any": [{"paths": ["docs/**"], "access": "write"}]})
    assert list_modes(store) == {name: "hint"}


def test_a_guard_with_a_secret_is_refused(store: Store, rule: str) -> None:
    secret = "ghp_" + "a1B2c3D4e5F6" * 3
    for more in (
        {"instead": f"curl -H 'Authorization: Bearer {secret}'"},
        {"matcher": {"any": [{"run": f"x {secret}"}]}},
    ):
        with pytest.raises(ReflectError, match="looks like a secret"):
            guard(store, rule, **more)


def test_the_backtest_counts_calls_where_the_rule_applies(store: Store, rule: str, project: Path, home: Path) -> None:
    calls = [bash("npm i zod"), bash("npm i zod"), bash("cd web && npm test"), bash("echo npm"), bash("pnpm i")]
    write_calls(home, project, "s-1", calls, days_ago=9)
    write_calls(home, project / "web", "s-2", [bash("sudo npm i zod")], days_ago=1)
    write_calls(home, project, "s-3", [bash("git status")], days_ago=2)
    write_calls(home, home / "elsewhere", "s-4", [bash("npm i zod")])
    broken = home / ".claude" / "projects" / "x" / "s-5.jsonl"
    broken.parent.mkdir()
    broken.write_bytes(b'{"type":"assistant","message":{"content":[{"type":"tool_use"\n\xff\n')
    ctx = load(store)
    plan = guards.plan_guard(ctx, guards.find_rule(ctx, rule))
    found = guard_backtest.run_backtest(ctx, plan.rule, plan.matcher)
    assert [(one.text, one.times, one.sessions) for one in found.matches] == [("npm i zod", 3, 2), ("npm test", 1, 1)]
    assert (found.calls, found.sessions, found.hits, found.days) == (4, 3, 2, 9)
    decision = guard(store, rule, "deny")
    kept = load(store).scan.other_records[decision]["meta"]["backtest"]
    assert kept == {"sessions": 3, "hits": 2, "since": found.since[:10]}
    assert "zod" not in json.dumps(load(store).scan.other_records[decision])  # session text does not sync


@pytest.mark.parametrize(
    ("command", "other"),
    [
        ("npm publish", "npm publish --tag next pkg"),
        ("npm run a|b", "npm run c"),
        ("npm install --save-dev 'a*b'", "npm install --save-dev aXb"),
        ("npm exec -- 'x [y] ?'", "npm exec -- other"),
        ("npm i", "npm i zod"),
        ("cd a && npm test && npm test b", "npm test c"),
    ],
)
def test_a_match_marked_as_wrong_becomes_an_exception_for_it_alone(command: str, other: str) -> None:
    matcher = {"any": [{"run": "npm"}]}
    made = form.except_call(matcher, Call("Bash", {"command": command}))
    assert made and not form.find_problem(made)
    assert not find_match(made, Call("Bash", {"command": command}))
    assert find_match(made, Call("Bash", {"command": other}))


def test_a_file_marked_as_wrong_becomes_an_exception(tmp_path: Path) -> None:
    matcher = {"any": [{"paths": ["src/gen/**"], "access": "write"}]}
    root = str(tmp_path)

    def write(name: str) -> Call:
        return Call("Write", {"file_path": f"{root}/{name}", "content": "x"}, root, root)

    made = form.except_call(matcher, write("src/gen/a[1].ts"))
    assert made and not find_match(made, write("src/gen/a[1].ts")) and find_match(made, write("src/gen/a1.ts"))


def test_metacharacters_and_slow_patterns_are_inert(
    store: Store, rule: str, project: Path, home: Path, tmp_path: Path
) -> None:
    mark = tmp_path / "mark"
    evil = [f"$(touch {mark})", f"`touch {mark}`", f"; touch {mark} #", "${IFS}", "%s%n", "'\"\\", "\n\x1b[2J"]
    write_calls(home, project, "s-1", [bash(f"npm {text}") for text in evil])
    matcher = form.add_exceptions(form.build_matcher(match=["npm"]), ["npm $(touch x)", "npm `id`"])
    guard(store, rule, "deny", matcher=matcher, instead="$(touch x)")
    assert not mark.exists() and list_modes(store) == {rule: "deny"}
    slow = form.build_matcher(content=r"(a+)+$")
    write_calls(
        home, project, "s-2", [("Write", {"file_path": str(project / "a.py"), "content": "a" * 5000 + "!"})] * 3
    )
    started = time.monotonic()
    guard(store, rule, "deny", matcher=slow)
    assert time.monotonic() - started < 5
    take_back(store, rule)
    assert get_table(store) == []


def test_firings_are_counted_once(store: Store, rule: str) -> None:
    guard(store, rule, "deny")
    folder = Path(store.private_path("firings"))
    folder.mkdir()
    row = {"time": "2026-02-11T10:00:00Z", "learning": rule, "mode": "deny", "tool": "Bash", "outcome": "denied"}
    asked = {**row, "time": "2026-02-12T00:00:00Z", "mode": "hint", "outcome": "hinted"}
    (folder / "one.jsonl").write_text(json.dumps(row) + "\n" + json.dumps(row) + '\n{"half', encoding="utf-8")
    (folder / "two.jsonl").write_text(2 * (json.dumps(asked) + "\n"), encoding="utf-8")
    assert guards.load_firings(store, []) == {rule: guards.Firings(4, 3, 0, "2026-02-12T00:00:00Z")}
    # The first session ended after its first two lines; the figures count them better than the log alone.
    end = {"id": "EXP-20260211-00000001", "session": session_hash("one"), "end": "2026-02-11T10:00:00Z"}
    recorded: list[Any] = [{**end, "guards": {rule: [2, 0, 1]}}, {"id": "DEC-20260211-00000001"}]
    assert guards.load_firings(store, recorded) == {rule: guards.Firings(4, 1, 1, "2026-02-12T00:00:00Z")}
