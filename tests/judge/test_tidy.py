"""Tidy: one change, in which no rule vanishes, and one revert gives back the bytes."""

from __future__ import annotations

import os
import random
import sys
from pathlib import Path
from typing import Any

import pytest

from reflect_git.capture import service
from reflect_git.capture.new_signal import build_signal_from_input
from reflect_git.errors import ReflectError
from reflect_git.judge import calls, tidy
from reflect_git.judge.tidy import JOIN, RETIRE, SPLIT, TidyProposal
from reflect_git.records.ids import random_id, utc_precise
from reflect_git.rules.approve import Request, plan_approval, write_approval
from reflect_git.rules.context import Context, load_context
from reflect_git.store import api, append, policy
from reflect_git.store.local import usage
from reflect_git.store.reading import reader
from reflect_git.store.repository import Store
from tests.conftest import RunCli
from tests.judge.judges import switch_on
from tests.judge.test_records import build_evaluation
from tests.rules.audit.audited_store import run_audit
from tests.rules.queues import BY, capture_signal, get_project_folder, open_queue

TOOLS = "npm pnpm yarn uv pip ruff eslint vite webpack jest pytest make cargo gradle bazel docker podman helm".split()
LONG = "Run the linter before a commit. Write tests for new code. Keep functions short. Name files in lower case."


@pytest.fixture
def store(home: Path, store_home: Path) -> Store:
    (home / "shop" / ".git").mkdir(parents=True)
    return service.open_store(os.environ)


def open_ctx(store: Store) -> Context:
    return load_context(store, os.environ, reader.scan(store), str(get_project_folder(os.environ)))


def approve(store: Store, text: str, **more: Any) -> str:
    capture_signal(store, f"no, {text}", session_id=text)
    queue = open_queue(store, os.environ)
    wanted = queue.candidates.strong[0]
    return write_approval(
        queue, plan_approval(queue, Request(wanted, to="project", text=text, is_own=True, **more)), BY
    ).learning


def read_file() -> bytes:
    return (get_project_folder(os.environ) / "CLAUDE.md").read_bytes()


def in_force(store: Store) -> dict[str, str]:
    return {one["id"]: one["text"] for one in reader.scan(store).history.get_rules_in_force()}


def write(store: Store, *proposals: TidyProposal) -> tidy.TidyChange:
    ctx = open_ctx(store)
    change = tidy.plan_change(ctx, tidy.choose_target(ctx, ""), proposals)
    tidy.write(ctx, change, BY)
    return change


def test_a_join_a_split_and_a_retirement_are_one_commit_that_one_revert_undoes(store: Store, run_cli: RunCli) -> None:
    one, two = approve(store, "Use pnpm, not npm."), approve(store, "Keep answers short.")
    long, gone = approve(store, LONG), approve(store, "Use tabs in Makefiles.")
    before, known = read_file(), in_force(store)
    sentences = tuple(f"{text}." for text in LONG[:-1].split(". "))
    change = write(
        store, TidyProposal(JOIN, (one, two), ("Use pnpm, not npm.",), "same"),
        TidyProposal(SPLIT, (long,), sentences, "long"), TidyProposal(RETIRE, (gone,), (), "stale"),
    )  # fmt: skip
    assert not change.dropped and [step.proposal.kind for step in change.steps] == [JOIN, SPLIT, RETIRE]
    assert all(step.diff.count("\n+- ") + step.diff.count("\n-- ") for step in change.steps), "a diff for each"
    after = in_force(store)
    assert sorted(after.values()) == sorted(["Use pnpm, not npm.", *sentences])
    assert "Use tabs" not in read_file().decode() and run_audit(store).ok
    history = reader.scan(store).history
    for name in (one, two, long):
        assert [made["kind"] for made in history.get_decisions_against(name)] == ["superseded"]
    assert [made["kind"] for made in history.get_decisions_against(gone)] == ["reverted"]
    commit = store.git.resolve("refs/heads/main")
    policy.set_policies(store, {"reflect.approval": "unattended"}, BY, utc_precise())
    undone = run_cli("revert", str(commit), "--yes", cwd=get_project_folder(os.environ))
    assert undone.code == 0, undone.err
    assert read_file() == before and in_force(store) == known


@pytest.mark.parametrize("number", range(30))
def test_over_generated_files_no_rule_vanishes_and_a_revert_gives_back_the_bytes(
    store: Store, run_cli: RunCli, number: int
) -> None:
    dice = random.Random(number)
    file = get_project_folder(os.environ) / "CLAUDE.md"
    if number % 3:
        file.write_text(
            dice.choice(["# Shop\n\nWords of a person.\n", "no end", "# A\n\n- own rule\n\n## B\n\ntext\n"])
        )
    tools = dice.sample(TOOLS, 12)
    texts = [f"Use {tools[at]}, not {tools[at + 1]}." for at in range(0, dice.choice((4, 6, 12)), 2)]
    rules = [approve(store, text) for text in (*texts, LONG)[: dice.choice((3, 4, 7))]]
    before, known = read_file(), in_force(store)
    proposals = [TidyProposal(RETIRE, (rules[0],), (), "stale")]
    if len(rules) > 2:
        text = dice.choice([known[rules[1]], f"{known[rules[1]]} {known[rules[2]]}"])
        proposals.append(TidyProposal(JOIN, (rules[1], rules[2]), (text,), "same"))
    if LONG in known.values():
        long = next(name for name, text in known.items() if text == LONG)
        if long not in proposals[-1].rules:
            halves = LONG.split(". ", 2)
            proposals.append(TidyProposal(SPLIT, (long,), (f"{halves[0]}.", halves[2]), "long"))
    change = write(store, *proposals)
    scan = reader.scan(store)
    now = in_force(store)
    for name, text in known.items():
        ended = [made["kind"] for made in scan.history.get_decisions_against(name)]
        assert (name in now and now[name] == text) != bool(ended), "kept, or a decision ended it"
    assert not [one for one in change.dropped if "bug" in one[1]]
    live = read_file().decode()
    assert all(text in live for text in now.values())
    commit = store.git.resolve("refs/heads/main")
    policy.set_policies(store, {"reflect.approval": "unattended"}, BY, utc_precise())
    undone = run_cli("revert", str(commit), "--yes", cwd=get_project_folder(os.environ))
    assert undone.code == 0, undone.err
    assert read_file() == before and in_force(store) == known


def test_duplicates_and_long_rules_are_found_without_a_model(store: Store) -> None:
    one, two = approve(store, "Use pnpm, not npm."), approve(store, LONG)
    ctx = open_ctx(store)
    rules = tidy.list_rules(ctx, tidy.choose_target(ctx, ""))
    twin = {**rules[0], "id": "LRN-20260211-00000001", "text": "Use pnpm instead of npm."}
    opposite = {**rules[0], "id": "LRN-20260211-00000002", "text": "Use npm, not pnpm."}
    (join,) = tidy.find_duplicates(ctx, [rules[0], twin, opposite])  # type: ignore[list-item]
    assert join.rules == (one, twin["id"]) and join.texts == ("Use pnpm instead of npm.",)
    (split,) = tidy.find_long_rules(ctx, rules)
    assert split.rules == (two,) and len(split.texts) == 4 and split in tidy.propose(ctx, tidy.choose_target(ctx, ""))


def test_rules_that_name_what_is_gone_are_found(store: Store, run_cli: RunCli) -> None:
    cwd = get_project_folder(os.environ)
    (cwd / "package.json").write_text('{"scripts": {"lint": "eslint ."}}')
    stale = approve(store, "Run `npm run typecheck` before a commit.")
    approve(store, "Run `npm run lint` before a push.")
    (one,) = run_cli("tidy", "--dry-run", "--json", cwd=cwd).json()["data"]["steps"]
    assert (one["kind"], one["rules"]) == (RETIRE, [stale]) and "typecheck" in one["reason"]


def test_a_file_with_too_many_rules_loses_those_that_were_needed_least(
    store: Store, run_cli: RunCli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tidy, "MANY_ENTRIES", 4)
    first = approve(store, "Use pnpm, not npm.")
    others = [
        approve(store, text) for text in ("Keep answers short.", "Use tabs in Makefiles.", "Name files in lower case.")
    ]
    policy.set_policies(store, {"reflect.approval": "unattended"}, BY, utc_precise())
    ctx = open_ctx(store)
    target = tidy.choose_target(ctx, "")
    (one,) = tidy.propose(ctx, target)
    assert (one.kind, one.rules) == (RETIRE, (first,)) and "the file has 4 rules, and fewer than 4" in one.reason
    assert run_cli("pin", first, cwd=get_project_folder(os.environ)).code == 0
    (one,) = tidy.propose(open_ctx(store), target)
    assert one.rules == (others[0],), "a pinned rule stays, and counts"


def test_a_file_that_is_long_by_other_words_is_named(store: Store, run_cli: RunCli) -> None:
    approve(store, "Use pnpm, not npm.")
    file = get_project_folder(os.environ) / "CLAUDE.md"
    file.write_text(file.read_text() + "Words of a person.\n" * 200)
    shown = run_cli("tidy", "--dry-run", cwd=get_project_folder(os.environ))
    assert "nothing to tidy" in shown.out and "lines; Claude follows short files best" in shown.err


def add_evaluation(store: Store, key: str, advice: str, name: str = "") -> None:
    """Add an evaluation of a session in a project, with one weakness."""
    project = {"key": key, "name": name or "shop"}
    now = utc_precise()
    given = {
        "type": "project_friction", "content": f"It does not listen in {project['name']}.", "confidence": 1,
        "trust": "assistant", "session_id": "s", "timestamp": now, "project": project, "source": {"hook": "evaluate"},
        "context": "", "meta": {"weakness": True, "evidence": ["you did not listen"], "durable": True},
    }  # fmt: skip
    signal = build_signal_from_input(given, store.machine, now, os.environ["HOME"])
    append.append_new(store, [signal], 5.0)
    record = build_evaluation(
        id=random_id("EVL", now), timestamp=now, machine=store.machine, project=project, recommendation=advice,
        overall=2.0, versions={"CLAUDE.md": 1}, meta={"signals": [signal["id"]], "dropped": []},
    )  # fmt: skip
    api.commit_records(store, [record], "evaluate: 1 session", {})


def test_advice_to_update_a_file_is_part_of_the_reason(store: Store, run_cli: RunCli) -> None:
    rule = approve(store, LONG)
    key = reader.scan(store).history.learnings[rule]["project"]["key"]  # type: ignore[index]
    for given in ((key, "update"), (key, "keep"), ("path:~/blog", "update", "blog")):
        add_evaluation(store, *given)
    policy.set_policies(store, {"reflect.approval": "unattended"}, BY, utc_precise())
    reason, weakness = "it has 4 sentences; scored 2.00 in 1 evaluation", "It does not listen in shop."
    (planned,) = run_cli("tidy", "--dry-run", "--json", cwd=get_project_folder(os.environ)).json()["data"]["steps"]
    assert planned["reason"] == f"{reason}: {weakness}"
    done = run_cli("tidy", cwd=get_project_folder(os.environ))
    assert done.code == 0, done.err
    assert " ".join(f"{reason}: {weakness}".split()[:8]) in done.out
    history = reader.scan(store).history
    decided = [made for made in history.decisions if "scored" in made["reason"]]
    assert {made["kind"] for made in decided} == {"approved", "superseded"}
    assert {one["reason"] for one in (*decided, *(history.learnings[name] for name in in_force(store)))} == {reason}
    assert weakness not in store.git.run("log", "-p", "main").out.decode(), "it is private, and main syncs"


def test_the_judge_gets_the_weaknesses_of_this_project_alone(store: Store) -> None:
    rule = approve(store, "Use pnpm, not npm.")
    key = reader.scan(store).history.learnings[rule]["project"]["key"]  # type: ignore[index]
    add_evaluation(store, key, "update")
    add_evaluation(store, "path:~/blog", "update", "blog")
    ctx = open_ctx(store)
    extract = tidy.build_judge_extract(ctx, tidy.choose_target(ctx, ""))
    assert extract.earlier == ("known weakness: It does not listen in shop.",)
    assert len(tidy.build_judge_extract(ctx, tidy.choose_target(ctx, "global")).earlier) == 2


def test_another_finder_joins_in_and_a_pinned_rule_stays(store: Store, run_cli: RunCli) -> None:
    one, two = approve(store, "Use pnpm, not npm."), approve(store, "Keep answers short.")
    policy.set_policies(store, {"reflect.approval": "unattended"}, BY, utc_precise())
    assert run_cli("pin", two, cwd=get_project_folder(os.environ)).code == 0

    def find_stale(_: Context, rules: Any) -> Any:
        yield from (TidyProposal(RETIRE, (rule["id"],), (), "stale") for rule in rules)

    ctx = open_ctx(store)
    found = tidy.propose(ctx, tidy.choose_target(ctx, ""), [find_stale])
    names = {name for each in found for name in each.rules}
    assert names == {one}


@pytest.mark.parametrize(
    "proposal",
    [
        TidyProposal("rewrite", ("LRN-20260211-00000009",), ("All new.",), ""),
        TidyProposal(JOIN, ("LRN-20260211-00000009", "LRN-20260211-00000008"), ("x",), ""),
        TidyProposal(RETIRE, (), (), ""), TidyProposal(JOIN, ("{0}",), ("Alone.",), ""),
        TidyProposal(SPLIT, ("{0}",), ("One text.",), ""), TidyProposal(JOIN, ("{0}", "{1}"), ("",), ""),
        TidyProposal(JOIN, ("{0}", "{0}"), ("Twice.",), ""), TidyProposal(RETIRE, ("{0}",), ("Text.",), ""),
        TidyProposal(JOIN, ("{0}", "{1}"), ("The token is ghp_" + "a1B2" * 9,), ""),
        TidyProposal(JOIN, ("{0}", "{1}"), ("Should we use pnpm?",), ""),
    ],
)  # fmt: skip
def test_what_is_no_proposal_for_this_file_is_left_out(store: Store, proposal: TidyProposal) -> None:
    rules = [approve(store, "Use pnpm, not npm."), approve(store, "Keep answers short.")]
    named = proposal._replace(rules=tuple(name.format(*rules) for name in proposal.rules))
    ctx = open_ctx(store)
    change = tidy.plan_change(ctx, tidy.choose_target(ctx, ""), [named])
    assert change.steps == () and len(change.dropped) == 1 and change.diff == ""


def test_the_command_shows_a_diff_for_each_and_writes_only_for_a_person(store: Store, run_cli: RunCli) -> None:
    approve(store, LONG)
    before, cwd = read_file(), get_project_folder(os.environ)
    shown = run_cli("tidy", "--dry-run", cwd=cwd)
    assert (
        shown.code == 0
        and "1. split 1 rule: it has 4 sentences" in shown.out
        and "+- Keep functions short." in shown.out
    )
    assert run_cli("tidy", cwd=cwd).code != 0 and read_file() == before
    inside = run_cli("tidy", cwd=cwd, env={"CLAUDECODE": "1"})
    assert inside.code == 1 and "a person's decision" in inside.err
    policy.set_policies(store, {"reflect.approval": "unattended"}, BY, utc_precise())
    skipped = run_cli("tidy", "--skip", "1", cwd=cwd)
    assert "nothing to tidy" in skipped.out and read_file() == before
    done = run_cli("tidy", cwd=cwd)
    assert done.code == 0 and "split 1 in CLAUDE.md, commit" in done.out and len(in_force(store)) == 4
    assert "nothing to tidy" in run_cli("tidy", cwd=cwd).out


def ask_judge(store: Store, tmp_path: Path, changes: str) -> tuple[list[TidyProposal], tidy.TidyChange]:
    program = tmp_path / "tidier"
    program.write_text(
        f"#!{sys.executable} -IS\nimport json, sys\ngiven = json.load(sys.stdin)\n"
        "ids = [one['text'].split(': ')[0] for one in given['messages']]\n"
        f"assert given['task'] == 'tidy'\nprint(json.dumps({{'changes': {changes}}}))\n"
    )
    program.chmod(0o755)
    switch_on(store, program)
    ctx = open_ctx(store)
    target = tidy.choose_target(ctx, "")
    found = tidy.propose_with_judge(ctx, calls.load_judge(store), tidy.build_judge_extract(ctx, target))
    return found, tidy.plan_change(ctx, target, found)


def test_the_judge_proposes_and_what_it_adds_is_a_risk(store: Store, tmp_path: Path) -> None:
    one, two = approve(store, "Use pnpm, not npm."), approve(store, "Keep answers short.")
    join = "[{'kind': 'join', 'rules': ids, 'texts': ['Use pnpm in Docker, and keep answers short.'], 'reason': 'r'}]"
    found, change = ask_judge(store, tmp_path, join)
    assert found[0].rules == (one, two) and len(change.steps) == 1
    assert (found[0].reason, found[0].shown) == ("the judge proposes it", "r"), "its words are not stored"
    assert any(each.kind == "risk" and "Docker" in each.message for each in change.findings)
    (line,) = usage.read(store)
    assert (line["task"], line["state"]) == ("tidy", "done")


@pytest.mark.parametrize(
    "changes",
    [
        "[{'kind': 'rewrite', 'rules': ids, 'texts': ['x'], 'reason': ''}]", "[5, None, 'x', {}]",
        "[{'kind': 'retire', 'rules': ['LRN-20200101-00000000'], 'texts': [], 'reason': ''}]",
        "[{'kind': 'join', 'rules': ids, 'texts': [5], 'reason': ''}]",
        "[{'kind': 'join', 'rules': 'all', 'texts': ['x'], 'reason': ''}]",
    ],
)  # fmt: skip
def test_what_a_judge_makes_up_changes_nothing(store: Store, tmp_path: Path, changes: str) -> None:
    approve(store, "Use pnpm, not npm.")
    before = read_file()
    _, change = ask_judge(store, tmp_path, changes)
    assert change.steps == () and read_file() == before


def test_a_judge_of_another_form_is_one_sentence(store: Store, tmp_path: Path) -> None:
    approve(store, "Use pnpm, not npm.")
    with pytest.raises(ReflectError, match="did not answer in the form"):
        ask_judge(store, tmp_path, "5")
