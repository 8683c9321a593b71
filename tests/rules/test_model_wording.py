"""Claude words proposed rules: what is sent, what it costs, what is cached; and the matcher of a reworded text."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from reflect_git.capture import service
from reflect_git.errors import ReflectError
from reflect_git.guards.match import Call, find_match
from reflect_git.platform.claude_call import CallFailed
from reflect_git.records.ids import utc
from reflect_git.rules import amend, model_wording
from reflect_git.rules.approve import Request, plan_approval, write_approval
from reflect_git.rules.queue import Queue
from reflect_git.store import policy
from reflect_git.store.local import usage
from reflect_git.store.reading import reader
from reflect_git.store.repository import Store
from tests.rules.queues import BY, PNPM, capture_signal, open_queue
from tests.scripted_claude import ScriptedClaude, build_output

QUOTE = "no, why do you always run the specs without the seeds?"
WORDING = "Run the specs with the seeds."


@pytest.fixture
def store(home: Path, store_home: Path) -> Store:
    (home / "shop" / ".git").mkdir(parents=True)
    return service.open_store(os.environ)


@pytest.fixture
def claude(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ScriptedClaude:
    made = ScriptedClaude(tmp_path / "bin")
    monkeypatch.setenv("REFLECT_GIT_CLAUDE", str(made.path))
    made.set_rules({"n": 1, "rule": WORDING})
    return made


def sat_with(store: Store, *words: str, **more: Any) -> Queue:
    for said in words:
        capture_signal(store, said, **more)
    return open_queue(store, os.environ)


def test_the_words_go_out_redacted_and_the_usage_is_kept_without_them(store: Store, claude: ScriptedClaude) -> None:
    token = "ghp_" + "a1B2" * 9
    ctx = sat_with(store, f"no, never push to staging with {token}, why would you?")
    done = model_wording.word_rules(ctx, ctx.candidates.strong)
    assert token not in claude.calls[0]["stdin"] and "[REDACTED" in claude.calls[0]["stdin"]
    (line,) = usage.read(store)
    facts = {name: line[name] for name in ("task", "model", "state", "usd", "tokens", "rules", "answered_by")}
    assert facts == {
        "task": "word", "model": "haiku", "state": "done", "usd": 0.0042, "tokens": 2000, "rules": 1,
        "answered_by": "claude-haiku-5-5",
    }  # fmt: skip
    assert (done.tokens, done.usd, done.usd_today) == (2000, 0.0042, 0.0042)
    assert "staging" not in Path(store.private_path("usage.jsonl")).read_text()


def test_a_record_of_an_older_program_is_redacted_before_it_is_sent(
    store: Store, claude: ScriptedClaude, monkeypatch: pytest.MonkeyPatch
) -> None:
    token = "ghp_" + "a1B2" * 9
    capture_signal(store, "no, why do you not use the MARKER token?")
    queue = open_queue(store, os.environ)
    candidate, whole = queue.candidates.strong[0], type(queue.scan).get_signals

    def unredacted(scan: Any, rows: Any) -> list[Any]:
        return [{**one, "content": one["content"].replace("MARKER", token)} for one in whole(scan, rows)]

    monkeypatch.setattr(type(queue.scan), "get_signals", unredacted)
    model_wording.word_rules(queue, [candidate._replace(quote=candidate.quote.replace("MARKER", token))])
    assert token not in claude.calls[0]["stdin"] and claude.calls[0]["stdin"].count("[REDACTED") >= 1


def test_a_wording_is_paid_for_once(store: Store, claude: ScriptedClaude) -> None:
    ctx = sat_with(store, QUOTE)
    assert model_wording.load_cached_wordings(ctx, ctx.candidates.strong) == {}
    done = model_wording.word_rules(ctx, ctx.candidates.strong)
    again = open_queue(store, os.environ)
    assert model_wording.load_cached_wordings(again, again.candidates.strong) == done.wordings
    policy.set_policies(store, {"reflect.wording.model": "opus"}, BY, utc())
    assert model_wording.load_cached_wordings(open_queue(store, os.environ), again.candidates.strong) == {}


def test_a_dropped_text_is_not_kept(store: Store, claude: ScriptedClaude) -> None:
    claude.set_rules({"n": 1, "rule": "One. Two here. Three there."})
    ctx = sat_with(store, QUOTE)
    (worded,) = model_wording.word_rules(ctx, ctx.candidates.strong).wordings.values()
    assert worded.trouble == "Claude's text was dropped: it has 3 sentences" and not worded.text
    assert model_wording.load_cached_wordings(ctx, ctx.candidates.strong) == {}


def test_the_first_price_is_from_a_table_and_later_ones_from_own_calls(store: Store, claude: ScriptedClaude) -> None:
    ctx = sat_with(store, QUOTE)
    first = model_wording.estimate_price(ctx, ctx.candidates.strong)
    assert 800 < first.tokens < 4000 and 0 < first.usd < 0.01
    claude.set_rules({"n": 1, "rule": WORDING}, usd=0.05, tokens=(first.tokens, first.tokens))
    model_wording.word_rules(ctx, ctx.candidates.strong)
    learned = model_wording.estimate_price(ctx, ctx.candidates.strong)
    assert (learned.tokens, round(learned.usd, 4)) == (2 * first.tokens, 0.05)


def test_failed_calls_count_and_the_cap_stops_the_next_one(store: Store, claude: ScriptedClaude) -> None:
    claude.set_outputs({"out": build_output(usd=0.03)})
    policy.set_policies(store, {"reflect.maxUsdPerDay": "0.03"}, BY, utc())
    ctx = sat_with(store, QUOTE)
    with pytest.raises(CallFailed):
        model_wording.word_rules(ctx, ctx.candidates.strong)
    (line,) = usage.read(store)
    assert (line["state"], line["why"], line["usd"]) == ("failed", "wording", 0.03)
    with pytest.raises(ReflectError, match=r"the daily cap of \$0.03 is reached"):
        model_wording.word_rules(ctx, ctx.candidates.strong)
    assert len(claude.calls) == 1


def test_a_call_that_was_stopped_counts_as_expected(store: Store, claude: ScriptedClaude) -> None:
    claude.set_outputs({"out": "", "sleep": 30})
    store.change_config({"reflect.wording.timeout": "1"})
    ctx = sat_with(store, QUOTE)
    price = model_wording.estimate_price(ctx, ctx.candidates.strong)
    with pytest.raises(CallFailed, match="did not answer within 1 seconds"):
        model_wording.word_rules(ctx, ctx.candidates.strong)
    (line,) = usage.read(store)
    assert (line["state"], line["usd"]) == ("failed", round(price.usd, 6))


def test_no_client_costs_nothing(store: Store) -> None:
    ctx = sat_with(store, QUOTE)
    with pytest.raises(ReflectError, match="the program 'claude' was not found"):
        model_wording.word_rules(ctx, ctx.candidates.strong)
    assert usage.read(store) == []


def test_the_call_may_spend_no_more_than_is_left(store: Store, claude: ScriptedClaude) -> None:
    policy.set_policies(store, {"reflect.maxUsdPerDay": "0.10"}, BY, utc())
    ctx = sat_with(store, QUOTE)
    model_wording.word_rules(ctx, ctx.candidates.strong)
    assert claude.calls[0]["argv"][-2:] == ["--max-budget-usd", "0.1000"]


def test_the_decision_says_who_worded_it_and_what_that_took(store: Store, claude: ScriptedClaude) -> None:
    ctx = sat_with(store, QUOTE)
    (worded,) = model_wording.word_rules(ctx, ctx.candidates.strong).wordings.values()
    request = Request(ctx.candidates.strong[0], text=worded.text, wording=worded.spent)
    proposal = plan_approval(ctx, request)
    assert [found.code for found in proposal.findings if found.kind == "risk"] == []
    write_approval(ctx, proposal, BY)
    (decision,) = [made for made in reader.read(store).history.decisions if made["kind"] == "approved"]
    assert decision["meta"]["wording"] == {
        "by": "claude", "model": "claude-haiku-5-5", "tokens": 2000, "usd": 0.0042, "rules": 1
    }  # fmt: skip


def test_what_it_adds_is_a_risk_as_in_reflect(store: Store, claude: ScriptedClaude) -> None:
    claude.set_rules({"n": 1, "rule": "Run the specs with the seeds in Docker."})
    ctx = sat_with(store, QUOTE)
    (worded,) = model_wording.word_rules(ctx, ctx.candidates.strong).wordings.values()
    proposal = plan_approval(ctx, Request(ctx.candidates.strong[0], text=worded.text, wording=worded.spent))
    assert [found.message for found in proposal.findings if found.kind == "risk"] == ["'Docker' is not in your words"]


def test_twins_are_named_by_id_and_joined_by_nobody(store: Store, claude: ScriptedClaude) -> None:
    claude.set_rules({"n": 1, "rule": WORDING}, {"n": 2, "rule": WORDING, "same_as": 1})
    ctx = sat_with(store, QUOTE, "the database tests are broken again, did you seed?")
    first, second = ctx.candidates.strong
    found = model_wording.word_rules(ctx, [first, second]).wordings
    assert (found[first.id].same_as, found[second.id].same_as) == ("", first.id)
    assert len(open_queue(store, os.environ).candidates.strong) == 2


def test_kept_wordings_go_with_the_signals(store: Store, claude: ScriptedClaude) -> None:
    ctx = sat_with(store, QUOTE)
    model_wording.word_rules(ctx, ctx.candidates.strong)
    kept = Path(store.private_path("cache", "candidates-wordings"))
    assert WORDING in json.dumps(json.loads(kept.read_text()))
    assert kept.name.startswith("candidates-")  # removed by expiry and purge


@pytest.mark.parametrize(
    ("text", "calls"),
    [
        ("Use pnpm, not npm.", {"npm install"}),
        ("Never use yarn, use pnpm.", {"yarn add x"}),
        ("Never use npm. Keep the lockfile.", {"npm install"}),
        ("Never use npm. Never use yarn.", {"npm install", "yarn add x"}),
        ("Keep the lockfile.", set()),
        ("Use pnpm, not npm, in packages/web only if asked.", set()),
    ],
)
def test_the_matcher_is_that_of_the_stored_text(store: Store, text: str, calls: set[str]) -> None:
    ctx = sat_with(store, PNPM)
    approved = plan_approval(ctx, Request(ctx.candidates.strong[0], text=text, is_own=True)).learning
    assert _met_by(approved["matcher"]) == calls
    write_approval(ctx, plan_approval(ctx, Request(ctx.candidates.strong[0])), BY)
    later = open_queue(store, os.environ)
    rule = later.scan.history.get_rules_in_force()[0]
    assert _met_by(rule["matcher"]) == {"npm install"}
    assert _met_by(amend.plan_amendment(later, rule, amend.AmendRequest(text)).new["matcher"]) == calls


def _met_by(matcher: dict[str, Any] | None) -> set[str]:
    calls = ("npm install", "yarn add x", "pnpm add x")
    return {one for one in calls if matcher and find_match(matcher, Call("Bash", {"command": one}))}
