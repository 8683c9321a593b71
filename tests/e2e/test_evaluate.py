"""The judge with the real client and a scripted model: `evaluate` in print mode, and /reflect-evaluate in a session."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from reflect_git.store.index import Index
from reflect_git.store.local import usage
from tests.conftest import RunCli
from tests.e2e.conftest import wait_until_idle
from tests.e2e.model import Call, Model, Turn, bash_call
from tests.e2e.session import PATH, Client
from tests.e2e.test_around_a_session import INSTALLED
from tests.e2e.test_reflect import do, play, result_in
from tests.judge.judges import build_answer, switch_on, write_session
from tests.sessions import load_signals
from tests.store.store_checks import open_store
from tests.stories.terminal import Terminal

MARKER = "Speak like a pirate."
RULE = "Always run the linter before a commit."
QUOTE = {"n": 1, "text": "please add page number 1 to the shop"}


def answers(**more: Any) -> Turn:
    return Turn("", [Call("StructuredOutput", build_answer(QUOTE, 3.0, **more))])


@pytest.fixture
def env(plain_client: Client, home: Path, tmp_path: Path, store_home: Path) -> dict[str, str]:
    """Provide a logged-in person with hooks, a global CLAUDE.md, a project with a rule, and a session to judge."""
    hook = {"hooks": [{"type": "command", "command": f"touch {home}/hook-ran"}]}
    events = {event: [hook] for event in ("SessionStart", "UserPromptSubmit", "Stop", "SessionEnd")}
    (home / ".claude").mkdir(exist_ok=True)
    (home / ".claude/settings.json").write_text(json.dumps({"hooks": events}), encoding="utf-8")
    folder = plain_client.project
    (folder / "CLAUDE.md").write_text(f"{RULE}\n\n<!-- LRN-20260211-4c8d2a1f v7 -->\n", encoding="utf-8")
    program = tmp_path / "claude"
    command = shlex.join([*plain_client.model.door.prefix, str(plain_client.binary)])
    said = shlex.quote(str(tmp_path / "said.json"))  # what the client prints, for the tests
    program.write_text(f'#!/bin/sh\n{command} "$@" > {said}\ncode=$?\ncat {said}\nexit $code\n', encoding="utf-8")
    program.chmod(0o755)
    write_session(home, "s-judged", 12, cwd=str(folder))
    switch_on(open_store(store_home))
    return {**plain_client.build_env(), "REFLECT_GIT_CLAUDE": str(program), "TERM": "dumb"}


def evaluate(plain_client: Client, env: dict[str, str], code: int = 0) -> str:
    with Terminal("evaluate", "--since", "3650d", cwd=plain_client.project, env=env) as terminal:
        terminal.passes("evaluate 1 session? [y/N]:")
        terminal.types("y")
        return terminal.ends(code)


def test_the_real_client_gets_the_rubric_and_nothing_else_of_the_person(
    plain_client: Client, model: Model, env: dict[str, str], home: Path, store_home: Path
) -> None:
    (home / ".claude/CLAUDE.md").write_text(f"{MARKER}\n", encoding="utf-8")
    model.turns = [answers()]
    seen = evaluate(plain_client, env)
    assert "mean 3.00 of 1 score, not anchored" in seen
    (request,) = model.requests
    told = request.text()
    for part in (
        "completeness: Does the answer",
        "5 = Every chance that the conversation offered",
        RULE,
        QUOTE["text"],
    ):
        assert str(part) in told
    fences = re.findall(r"^=== ([0-9a-f]{16})$", told, re.MULTILINE)
    assert len(fences) == 4 and len(set(fences)) == 1
    assert "LRN-" not in told and "v7" not in told, "the judge does not see which version it judges"
    assert told.count(MARKER) == 1, "the client did not load it, the judge reads it as data"
    assert "Bash" not in {tool["name"] for tool in request.body["tools"]}
    assert not (home / "hook-ran").exists() and plain_client.transcripts() == [
        home / ".claude/projects/-srv-shop/s-judged.jsonl"
    ]
    (made,) = Index(open_store(store_home)).list_records("EVL")
    assert made["usage"]["usd"] > 0 and made["judge"]["model"].startswith("claude-haiku")


WRONG_FORM = "error: the judge did not answer in the form that was asked for"
WRONG_SHAPE = Turn("", [Call("StructuredOutput", {"scores": 5})])


@pytest.mark.parametrize(
    ("turns", "max_usd", "subtype", "is_error", "sentence"),
    [
        ([Turn("I would rather talk.")] * 6, "", "success", False, WRONG_FORM),
        ([Turn(error=500)], "", "success", True, "error: the judge scored nothing: API Error: 500"),
        ([WRONG_SHAPE] * 6, "", "error_max_turns", True, WRONG_FORM),  # three turns are fewer than the client's retries
        ([Turn("", [Call("Think", {})])] * 6, "", "error_max_turns", True, WRONG_FORM),
        ([WRONG_SHAPE] * 6, "0.0001", "error_max_budget_usd", True, "error: the answer would have cost more than one"),
    ],
    ids=["text-only", "api-error", "wrong-shape", "too-many-turns", "over-budget"],
)
def test_what_goes_wrong_is_one_sentence_and_only_the_cost_is_stored(
    plain_client: Client, model: Model, env: dict[str, str], store_home: Path, tmp_path: Path, turns: list[Turn],
    max_usd: str, subtype: str, is_error: bool, sentence: str,
) -> None:  # fmt: skip
    if max_usd:
        switch_on(open_store(store_home), None, **{"reflect.judge.maxUsd": max_usd})
    model.turns = list(turns)
    seen = evaluate(plain_client, env, 1)
    said = json.loads((tmp_path / "said.json").read_text())
    assert (said["subtype"], said["is_error"]) == (subtype, is_error), "the client fails in the way that is tested"
    assert sentence in seen and seen.count("error: ") == 1 and "hint: " in seen
    store = open_store(store_home)
    assert Index(store).list_records("EVL") == [] and load_signals(store_home) == []
    assert [line["state"] for line in usage.read(store)] == ["failed"]


def test_a_no_to_the_price_sends_nothing(plain_client: Client, model: Model, env: dict[str, str]) -> None:
    with Terminal("evaluate", "--since", "3650d", cwd=plain_client.project, env=env) as terminal:
        terminal.passes("evaluate 1 session? [y/N]:")
        terminal.types("n")
        assert "nothing was sent" in terminal.ends(1)
    assert model.requests == []


def test_a_subagent_judges_the_open_session(client: Client, model: Model, run_cli: RunCli, store_home: Path) -> None:
    """Row 99."""
    client.env["PATH"] = f"{INSTALLED}:{PATH}"
    model.turns = [Turn("I added the picker. ONE"), Turn("I sorted it. TWO")]
    with client.open_screen() as screen:
        screen.say("please add a date picker to the checkout", "ONE")
        screen.say("and sort the list of orders by date", "TWO")
        quote = {"n": 1, "text": "please add a date picker"}

        def judge(request: Any) -> list[Call]:
            said = request.text()
            assert "Do not be generous." in said and "[1] user:\nplease add a date picker" in said
            nonce = re.findall(r'"nonce": "(\w+)"', said)[0]
            answer = json.dumps({**build_answer(quote, 4.0), "nonce": nonce})
            return [bash_call(f"reflect-git evaluate --record - <<'{nonce}'\n{answer}\n{nonce}")]

        told = play(model, lambda: screen.say("/reflect-evaluate"), judge, do())
        assert "EVL-" in result_in(told[1]) and "in-session" in result_in(told[1])
        screen.exit_client()
    wait_until_idle(client.home)
    (made,) = Index(open_store(store_home)).list_records("EVL")
    assert made["judge"]["kind"] == "in-session" and made["anchored"] is False and made["overall"] == 4.0


def test_the_end_of_a_session_has_it_scored_if_a_person_switched_that_on(
    client: Client, model: Model, store_home: Path
) -> None:
    """The judge runs in the background of a hook, below the client that ends; two messages stand for twenty."""
    store = open_store(store_home)
    switch_on(store, None, **{"reflect.evaluate": "auto"})
    store.change_config({"reflect.evaluate.every": "2"})
    client.env["REFLECT_GIT_CLAUDE"] = str(client.binary)
    quote = {"n": 1, "text": "please add a date picker"}
    judged = "The instructions that the assistant had:"
    model.turns = [
        Turn("I added the picker. ONE"), Turn("I sorted it. TWO"),
        Turn("", [Call("StructuredOutput", build_answer(quote, 3.0))], to=judged),
    ]  # fmt: skip
    with client.open_screen() as screen:
        screen.say("please add a date picker to the checkout", "ONE")
        screen.say("and sort the list of orders by date", "TWO")
        assert not Index(store).list_records("EVL") and judged not in str(model.requests)
        screen.exit_client()
    wait_until_idle(client.home)
    (made,) = Index(open_store(store_home)).list_records("EVL")
    assert (made["judge"]["kind"], made["overall"], made["messages"]["count"]) == ("claude", 3.0, 2)
    assert [line["state"] for line in usage.read(store)] == ["done"]
