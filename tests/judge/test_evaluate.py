"""Evaluations: what is sent, what is stored, what it costs, and every way in which it fails."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from reflect_git.judge import calls, evaluate, messages, suggestions
from reflect_git.platform.claude_call import CallFailed
from reflect_git.rules.context import Context, load_context
from reflect_git.store.index import Index
from reflect_git.store.local import usage
from reflect_git.store.reading import reader
from reflect_git.store.repository import Store
from tests.conftest import REPO, RunCli
from tests.faults import git
from tests.judge.judges import FOLLOW_ANCHORS, SUGGESTION, build_answer, switch_on, write_judge, write_session
from tests.scripted_claude import ScriptedClaude, build_output
from tests.sessions import Session, load_signals
from tests.store.store_checks import open_store
from tests.stories.terminal import Terminal

TOKEN = "ghp_" + "a1B2" * 9


@pytest.fixture
def store(store_home: Path, home: Path) -> Store:
    (home / "shop" / ".git").mkdir(parents=True)
    (home / "shop" / "CLAUDE.md").write_text("# Shop\n\n<!-- LRN-20260211-4c8d2a1f v7 -->\nUse pnpm, not npm.\n")
    return open_store(store_home)


@pytest.fixture
def claude(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ScriptedClaude:
    made = ScriptedClaude(tmp_path / "bin")
    monkeypatch.setenv("REFLECT_GIT_CLAUDE", str(made.path))
    return made


def open_ctx(store: Store) -> Context:
    return load_context(store, os.environ, reader.scan(store), os.environ["HOME"])


def find(store: Store, **more: Any) -> list[evaluate.Part]:
    return evaluate.find_parts(open_ctx(store), messages.list_transcripts(os.environ), **more)


def judge_all(store: Store) -> list[evaluate.Evaluation]:
    ctx = open_ctx(store)
    return [evaluate.evaluate_part(ctx, calls.load_judge(store), part) for part in find(store)]


def test_twenty_messages_at_a_time_and_the_oldest_first(store: Store, home: Path) -> None:
    write_session(home, "s-one", 45)
    parts = find(store)
    assert [(part.first, part.last, part.typed) for part in parts] == [(1, 20, 20), (21, 40, 20), (41, 45, 5)]
    assert {one.typed for one in parts[1].extract.messages} == set(range(21, 41))
    assert parts[1].extract.earlier and not parts[0].extract.earlier


def test_what_was_judged_is_not_judged_again(store: Store, home: Path, tmp_path: Path) -> None:
    switch_on(store, write_judge(tmp_path))
    session = write_session(home, "s-one", 12)
    (done,) = judge_all(store)
    assert done.record["messages"] == {"first": 1, "last": 12, "count": 12} and find(store) == []
    session.say("and one more thing, please sort the list")
    (part,) = find(store)
    assert (part.first, part.last) == (13, 13)
    assert [one.first for one in find(store, everything=True)] == [1]


def test_figures_are_on_main_and_words_are_private_signals(store: Store, home: Path, tmp_path: Path) -> None:
    switch_on(store, write_judge(tmp_path))
    session = write_session(home, "s-one", 12, word="never ran them")
    (done,) = judge_all(store)
    (record,) = Index(store).list_records("EVL")
    assert record == done.record and record["overall"] == 2.0 and record["recommendation"] == "update"
    assert session.name not in json.dumps(record) and not record["anchored"]
    kinds = {one["content"]: one for one in load_signals(Path(store.root))}
    assert set(kinds) == {"It was judged.", "It does not listen.", SUGGESTION}
    made = kinds[SUGGESTION]
    assert (made["trust"], made["source"]["hook"], made["confidence"]) == ("assistant", "evaluate", 1)
    assert made["meta"]["suggestion"] == {"priority": 5, "category": "convention"} and made["meta"]["evidence"]
    assert made["meta"]["evaluation"] == record["id"] and record["meta"]["signals"][-1] == made["id"]
    on_main = git(Path(store.root), "log", "-p", "main")
    assert all(text not in on_main for text in kinds), "main is shared"


def test_the_request_has_rubric_instructions_and_fenced_messages_but_no_version_and_no_secret(
    store: Store, home: Path, claude: ScriptedClaude
) -> None:
    switch_on(store)
    quote = {"n": 1, "text": "please add page number 1 to the shop"}
    claude.set_outputs({"out": build_output(structured_output=build_answer(quote))})
    session = write_session(home, "s-one", 11, cwd=str(home / "shop"))
    session.say(f"push with {TOKEN} please")
    judge_all(store)
    (call,) = claude.calls
    system, prompt = call["argv"][call["argv"].index("--system-prompt") + 1], call["stdin"]
    assert "Do not be generous" in system and "1 = Many obvious chances" in system
    assert "Use pnpm, not npm." in prompt and "LRN-" not in prompt and "v7" not in prompt
    assert TOKEN not in prompt and "[REDACTED" in prompt
    fences = [line for line in prompt.splitlines() if line.startswith("=== ")]
    assert len(set(fences)) == 1 and len(fences) == 4 and len(fences[0]) >= 20
    assert "[1] user:\nplease add page number 1 to the shop\n" in prompt
    assert call["env"]["REFLECT_GIT_OFF"] == "1" and "--safe-mode" in call["argv"]


def test_the_cost_of_every_run_is_recorded(store: Store, home: Path, claude: ScriptedClaude, run_cli: RunCli) -> None:
    switch_on(store)
    quote = {"n": 1, "text": "please add page number 1 to the shop"}
    claude.set_outputs({"out": build_output(structured_output=build_answer(quote), usd=0.02, tokens=(8000, 900))})
    write_session(home, "s-one", 12)
    (done,) = judge_all(store)
    assert done.record["usage"] == {"input": 8000, "output": 900, "usd": 0.02}
    (line,) = usage.read(store)
    assert (line["task"], line["state"], line["usd"], line["tokens"]) == ("evaluate", "done", 0.02, 8900)
    assert done.record["judge"]["model"] == "claude-haiku-5-5"
    assert "calls to models in 90 days: 1 call (0 failed), 8,900 tokens, $0.02; $0.02 today" in run_cli("stats").out
    assert run_cli("stats", "--json").json()["data"]["usage"]["usd"] == 0.02


@pytest.mark.parametrize(
    ("reply", "message"),
    [
        ({"out": build_output()}, "the judge did not answer in the form that was asked for"),
        ({"out": build_output(structured_output={"rules": []})}, "the judge did not answer in the form that was asked"),
        (
            {"out": build_output(is_error=True, result="API Error: 500 broken."), "code": 1},
            "the judge scored nothing: API",
        ),
        ({"out": build_output(subtype="error_max_turns", is_error=True), "code": 1}, "did not answer in the form"),
        (
            {"out": build_output(subtype="error_max_budget_usd", is_error=True), "code": 1},
            "would have cost more than one",
        ),
        ({"out": "x" * 1000}, "the judge scored nothing: its answer is no JSON"),
        ({"out": "x" * (2 << 20)}, "the judge's answer was dropped: it is longer than 1 MB"),
        ({"out": "", "code": 143}, "the judge scored nothing: the client ended with 143"),
        (
            {"out": build_output(structured_output=build_answer({"n": 1, "text": "approve all rules now"}))},
            "no quote of the judge is in the messages",
        ),
    ],
)
def test_what_goes_wrong_is_one_sentence_and_only_the_cost_is_stored(
    store: Store, home: Path, claude: ScriptedClaude, run_cli: RunCli, reply: dict[str, Any], message: str
) -> None:
    switch_on(store)
    claude.set_outputs(reply)
    write_session(home, "s-one", 12)
    before = git(Path(store.root), "rev-parse", "main")
    done = run_cli("evaluate", "--since", "3650d", "--yes")
    assert done.code == 1 and message in done.err and done.err.count("error: ") == 1 and "hint: " in done.err
    assert git(Path(store.root), "rev-parse", "main") == before and load_signals(Path(store.root)) == []
    assert len(usage.read(store)) == 1


def test_a_judge_that_hangs_is_stopped_and_the_answer_says_what_is_missing(
    store: Store, home: Path, tmp_path: Path, run_cli: RunCli
) -> None:
    hang = f"{FOLLOW_ANCHORS}\nif 'slow' in said:\n    import time; time.sleep(60)"
    switch_on(store, write_judge(tmp_path, hang), **{"reflect.judge.timeout": "2"})
    write_session(home, "s-one", 12)
    write_session(home, "s-two", 12, word="slow")
    done = run_cli("evaluate", "--since", "3650d", "--yes")
    assert done.code == 1 and "the judge did not answer within 2 seconds" in done.err
    assert "partial: 1 of 2 parts evaluated" in done.err and "EVL-" in done.out
    assert len(Index(store).list_records("EVL")) == 1
    assert sorted(line["state"] for line in usage.read(store)) == ["done", "failed"]


def test_the_price_comes_first_and_a_no_sends_nothing(
    store: Store, home: Path, claude: ScriptedClaude, run_cli: RunCli
) -> None:
    switch_on(store)
    write_session(home, "s-one", 12)
    shown = run_cli("evaluate", "--since", "3650d", "--dry-run")
    assert "tokens, $0." in shown.err and "evaluate 1 session?" in shown.err and shown.code == 0
    refused = run_cli("evaluate", "--since", "3650d")
    assert refused.code == 1 and "cannot ask 'about" in refused.err
    assert claude.calls == [] and usage.read(store) == []


def test_two_runs_share_one_daily_cap_and_at_the_cap_nothing_is_sent(
    store: Store, home: Path, claude: ScriptedClaude, run_cli: RunCli
) -> None:
    quote = {"n": 1, "text": "please add page number 1 to the shop"}
    claude.set_outputs({"out": build_output(structured_output=build_answer(quote), usd=0.03)})
    switch_on(store, None, **{"reflect.maxUsdPerDay": "0.05", "reflect.judge.maxUsd": "0.04"})
    write_session(home, "s-one", 12)
    judge, (part,) = calls.load_judge(store), find(store)
    held = usage.reserve_cost(store, "evaluate", "haiku", 0.01, 100, limit=judge.max_usd)  # the other run
    evaluate.evaluate_part(open_ctx(store), judge, part)
    assert claude.calls[0]["argv"][-1] == "0.0100", "only what the other run left"
    usage.record_cost(store, held, usage.DONE, usd=0.04)
    done = run_cli("evaluate", "--since", "3650d", "--again", "--yes")
    assert done.code == 1 and "the daily cap of $0.05 is reached" in done.err and len(claude.calls) == 1


def test_it_is_off_until_a_person_switches_it_on_at_a_terminal(
    store: Store, home: Path, claude: ScriptedClaude, run_cli: RunCli
) -> None:
    write_session(home, "s-one", 12)
    keys = {"reflect.judge": "claude", "reflect.judge.command": "/bin/sh", "reflect.evaluate": "auto"}
    for key, value in keys.items():
        git(Path(store.root), "config", key, value)
        inside = run_cli("config", key, value, env={"CLAUDECODE": "1"})
        assert inside.code == 1 and "from inside Claude Code" in inside.err
        piped = run_cli("config", key, value)
        assert piped.code == 1 and "needs your confirmation" in piped.err
    done = run_cli("evaluate", "--since", "3650d", "--yes")
    assert done.code == 1 and "the judge is off" in done.err and "reflect-git config reflect.judge claude" in done.err
    audited = run_cli("audit").out + run_cli("doctor").out
    assert all(key in audited for key in keys)
    assert claude.calls == []


POLICIES = {
    "reflect.judge": "claude", "reflect.judge.command": "/bin/sh", "reflect.judge.model": "opus",
    "reflect.judge.maxUsd": "99", "reflect.judge.rubric": "/etc/passwd", "reflect.evaluate": "auto",
    "reflect.baton": "resume", "reflect.maxUsdPerDay": "99", "reflect.wording": "claude",
}  # fmt: skip


@pytest.mark.parametrize("key", POLICIES)
def test_git_config_loosens_no_policy(store: Store, key: str) -> None:
    """Row 100."""
    before = store.get_setting(key)
    git(Path(store.root), "config", key, POLICIES[key])
    store.reload()
    assert store.get_setting(key) == before != POLICIES[key]


def test_inside_claude_code_the_judge_is_not_run(
    store: Store, home: Path, claude: ScriptedClaude, run_cli: RunCli
) -> None:
    switch_on(store)
    write_session(home, "s-one", 12)
    done = run_cli("evaluate", "--since", "3650d", "--yes", env={"CLAUDECODE": "1"})
    assert done.code == 1 and "/reflect-evaluate" in done.err and claude.calls == []


def test_fewer_than_ten_messages_are_not_judged(store: Store, home: Path, tmp_path: Path, run_cli: RunCli) -> None:
    switch_on(store, write_judge(tmp_path))
    write_session(home, "s-one", 9)
    done = run_cli("evaluate", "--since", "3650d", "--yes")
    assert done.code == 1 and "not enough messages for reflection" in done.err and "9 messages" in done.err
    write_session(home, "s-two", 1)
    done = run_cli("evaluate", "--since", "3650d", "--yes")
    assert done.code == 0 and "mean 4.00 of 2 scores, not anchored" in done.out


def test_sessions_without_a_person_or_with_capture_off_are_not_judged(store: Store, home: Path) -> None:
    write_session(home, "s-one", 12).entrypoint = "sdk-cli"

    unattended = Session(home, "s-sdk", entrypoint="sdk-cli")
    unattended.say("do everything")
    store.change_config({"reflect.ignore": "/srv/shop"})
    store.reload()
    assert find(store) == []


def test_the_twentieth_message_is_due_and_the_nineteenth_is_not(store: Store, home: Path, tmp_path: Path) -> None:
    switch_on(store, write_judge(tmp_path), **{"reflect.evaluate": "auto"})
    session = write_session(home, "s-one", 19)
    assert evaluate.evaluate_if_due(open_ctx(store)) == []
    session.say("please add page number 20 to the shop")
    assert len(evaluate.evaluate_if_due(open_ctx(store))) == 1
    assert evaluate.evaluate_if_due(open_ctx(store)) == []


def start(*words: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-m", "reflect_git.cli.start", *words], env={
        **os.environ, "PYTHONPATH": str(REPO), "PYTHONSAFEPATH": "1"
    }, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)  # fmt: skip


def test_two_automatic_runs_at_once_pay_once(store: Store, home: Path, tmp_path: Path) -> None:
    body = f"import time; time.sleep(1)\n{FOLLOW_ANCHORS}"
    switch_on(store, write_judge(tmp_path, body), **{"reflect.evaluate": "auto"})
    write_session(home, "s-one", 20)
    runs = [start("evaluate", "--if-due") for _ in range(2)]
    assert [run.communicate(timeout=120)[1] for run in runs] == [b"", b""]
    assert len((tmp_path / "judged.jsonl").read_text().splitlines()) == 1
    assert len(Index(store).list_records("EVL")) == 1


def test_two_runs_at_once_never_spend_more_than_a_day_allows(store: Store, home: Path, claude: ScriptedClaude) -> None:
    quote = {"n": 1, "text": "please add page number 1 to the shop"}
    output = build_output(structured_output=build_answer(quote), usd=0.03)
    claude.set_outputs({"out": output, "sleep": 1})
    switch_on(store, None, **{"reflect.maxUsdPerDay": "0.05", "reflect.judge.maxUsd": "0.04"})
    names = ("s-one", "s-two", "s-three")
    for name in names:
        write_session(home, name, 12)
    runs = [start("evaluate", name, "--yes") for name in names]
    said = [run.communicate(timeout=120)[1].decode() for run in runs]
    reserved = [float(call["argv"][-1]) for call in claude.calls]
    assert sum(reserved) <= 0.05 and 1 <= len(reserved) <= 2, "what one run reserved the other cannot spend"
    assert sum("the daily cap of $0.05 is reached" in one for one in said) == 3 - len(reserved)


def test_upkeep_scores_what_is_due(store: Store, home: Path, tmp_path: Path, run_cli: RunCli) -> None:
    write_session(home, "s-one", 20)
    switch_on(store, write_judge(tmp_path))
    assert "evaluate" not in [one["name"] for one in run_cli("upkeep", "--json").json()["data"]["steps"]]
    switch_on(store, None, **{"reflect.judge": "command", "reflect.evaluate": "auto"})
    for said in ("1 part scored; see 'reflect-git evaluate show'", "nothing is due"):
        (step,) = [one for one in run_cli("upkeep", "--json").json()["data"]["steps"] if one["name"] == "evaluate"]
        assert step["text"] == said
    assert len(Index(store).list_records("EVL")) == 1


def test_without_the_policy_nothing_is_due(store: Store, home: Path, tmp_path: Path) -> None:
    switch_on(store, write_judge(tmp_path))
    write_session(home, "s-one", 30)
    assert evaluate.evaluate_if_due(open_ctx(store)) == []


def test_automatic_runs_show_their_price_before_they_are_switched_on(store: Store, home: Path) -> None:
    switch_on(store)
    with Terminal("config", "reflect.evaluate", "auto", cwd=home) as terminal:
        seen = terminal.passes("set reflect.evaluate to auto? [y/N]:").replace("\n", " ")
        assert "scores sessions without asking: about" in seen and "for 20 messages, at most $2.00 a day" in seen
        terminal.types("n")
        terminal.ends(1)
    assert store.get_setting("reflect.evaluate") != "auto"


def test_what_was_paid_for_in_vain_is_not_tried_again_automatically(
    store: Store, home: Path, claude: ScriptedClaude, run_cli: RunCli
) -> None:
    invented = build_answer({"n": 1, "text": "nobody ever said this"})
    failed = {"out": build_output(is_error=True, result="API Error: 500 broken.", usd=0.0), "code": 1}
    claude.set_outputs(failed, {"out": build_output(structured_output=invented, usd=0.02)})
    switch_on(store, None, **{"reflect.evaluate": "auto"})
    write_session(home, "s-one", 20)
    for calls_made in (1, 2, 2):  # a server that fails costs nothing, an invented quote does
        assert evaluate.evaluate_if_due(open_ctx(store)) == []
        assert len(claude.calls) == calls_made
    assert run_cli("evaluate", "s-one", "--yes").code == 1 and len(claude.calls) == 3, "a person may try again"


def test_a_failing_automatic_run_is_logged(store: Store, home: Path, tmp_path: Path) -> None:
    switch_on(store, write_judge(tmp_path, "sys.exit(3)"), **{"reflect.evaluate": "auto"})
    write_session(home, "s-one", 20)
    assert evaluate.evaluate_if_due(open_ctx(store)) == []
    assert "the judge scored nothing: it ended with 3" in Path(store.private_path("log")).read_text()


def test_show_prints_the_analysis_and_what_it_led_to(store: Store, home: Path, tmp_path: Path, run_cli: RunCli) -> None:
    switch_on(store, write_judge(tmp_path), **{"reflect.approval": "unattended"})
    write_session(home, "s-one", 12, cwd=str(home / "shop"), word="never ran them")
    (done,) = judge_all(store)
    shown = run_cli("evaluate", "show", done.record["id"])
    assert "analysis:  It was judged." in shown.out and "weakness:  It does not listen. (open)" in shown.out
    assert "“please add never ran them number 1" in shown.out and "not anchored" in shown.out
    found = suggestions.list_suggestions(reader.scan(store))
    assert [(one.text, one.priority) for one in found] == [(SUGGESTION, 5)]
    assert done.record["id"] in run_cli("evaluate", "show").out
    listed = run_cli("suggestions")
    assert found[0].id in listed.out and SUGGESTION in listed.out


def test_a_suggestion_is_dismissed_and_does_not_return(
    store: Store, home: Path, tmp_path: Path, run_cli: RunCli
) -> None:
    switch_on(store, write_judge(tmp_path))
    write_session(home, "s-one", 12, word="never ran them")
    judge_all(store)
    (one,) = run_cli("suggestions", "--json").json()["data"]
    done = run_cli("suggestions", "dismiss", one["id"])
    assert done.code == 0 and "answered no" in done.out
    assert run_cli("suggestions", "--json").json()["data"] == []
    again = run_cli("suggestions", "dismiss", one["id"])
    assert again.code == 1 and "no open suggestion" in again.err


def test_a_suggestion_becomes_an_improvement(store: Store, home: Path, tmp_path: Path, run_cli: RunCli) -> None:
    switch_on(store, write_judge(tmp_path), **{"reflect.approval": "unattended"})
    write_session(home, "s-one", 12, cwd=str(home / "shop"), word="never ran them")
    judge_all(store)
    (one,) = run_cli("suggestions", "--json").json()["data"]
    (home / "blog" / ".git").mkdir(parents=True)
    elsewhere = run_cli("suggestions", "take", one["id"], "--to", "improvements", cwd=home / "blog")
    assert (
        elsewhere.code == 1 and "it is about the project 'shop'" in elsewhere.err and "--project DIR" in elsewhere.err
    )
    with Terminal("suggestions", "take", one["id"], "--to", "improvements", cwd=home / "shop") as terminal:
        terminal.passes("type 'yes' to approve it all the same [no]:")
        terminal.types("yes")
        assert "approved LRN-" in terminal.ends()
    page = (home / "shop" / ".claude" / "improvements.md").read_text()
    assert SUGGESTION.rstrip(".") in page, page


def test_a_bad_command_is_named(store: Store) -> None:
    for given in ("judge", "'", "/no/such/program"):
        switch_on(store, None, **{"reflect.judge": "command", "reflect.judge.command": given})
        with pytest.raises(Exception, match="no program that can judge"):
            calls.load_judge(store)


def test_a_flood_is_stopped(store: Store, home: Path, claude: ScriptedClaude) -> None:
    switch_on(store)
    claude.set_outputs({"out": "", "flood": True})
    write_session(home, "s-one", 12)
    with pytest.raises(CallFailed, match="the judge's answer was dropped: it is longer than 1 MB"):
        judge_all(store)
