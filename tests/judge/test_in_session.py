"""A subagent judges its own session: only with a nonce, marked, never anchored, and without any effect."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest

from reflect_git.effect.scores import load_scores
from reflect_git.judge import evaluate, messages
from reflect_git.rules.context import load_context
from reflect_git.store.index import Index
from reflect_git.store.reading import reader
from reflect_git.store.repository import Store
from tests.conftest import RunCli
from tests.judge.judges import build_answer, write_session
from tests.store.store_checks import open_store

QUOTE = {"n": 1, "text": "please add page number 1 to the shop"}


@pytest.fixture
def store(store_home: Path, home: Path) -> Store:
    write_session(home, "s-worker", 12)
    return open_store(store_home)


def print_prompt(run_cli: RunCli) -> tuple[str, str]:
    done = run_cli("evaluate", "--prompt", "s-worker", env={"CLAUDECODE": "1"})
    assert done.code == 0, done.err
    return done.out, re.findall(r'"nonce": "(\w+)"', done.out)[0]


def record(run_cli: RunCli, answer: Any) -> Any:
    return run_cli("evaluate", "--record", "-", stdin=json.dumps(answer), env={"CLAUDECODE": "1"})


def test_the_scores_are_marked_and_count_for_nothing(store: Store, run_cli: RunCli) -> None:
    prompt, nonce = print_prompt(run_cli)
    assert "Do not be generous." in prompt and "[1] user:\nplease add page number 1 to the shop" in prompt
    done = record(run_cli, {**build_answer(QUOTE, 5), "nonce": nonce})
    assert done.code == 0 and "in-session" in done.err
    (made,) = Index(store).list_records("EVL")
    assert made["judge"]["kind"] == "in-session" and made["anchored"] is False and made["overall"] == 5.0
    assert load_scores([made]) == {}, "the worker could have written it"
    assert evaluate.compute_means([made]) == []
    listed = run_cli("evaluate", "show").out
    assert "in-session, not anchored" in listed and "mean" not in listed
    ctx = load_context(store, os.environ, reader.scan(store), os.environ["HOME"])
    assert evaluate.find_parts(ctx, messages.list_transcripts(os.environ)), "it does not count as judged"


def test_without_the_nonce_or_with_a_used_one_nothing_is_stored(store: Store, run_cli: RunCli) -> None:
    """Row 99."""
    _, nonce = print_prompt(run_cli)
    for forged in ({}, {"nonce": "zzzz"}, {"nonce": "../../x"}, {"nonce": None}, {"nonce": nonce.upper() + "x"}):
        done = record(run_cli, {**build_answer(QUOTE, 5), **forged})
        assert done.code == 1 and "no prompt was printed for this answer" in done.err
    assert Index(store).list_records("EVL") == []
    assert record(run_cli, {**build_answer(QUOTE, 5), "nonce": nonce}).code == 0
    assert record(run_cli, {**build_answer(QUOTE, 1), "nonce": nonce}).code == 1
    assert len(Index(store).list_records("EVL")) == 1


@pytest.mark.parametrize("text", ["", "[]", "{", "x" * (2 << 20), '"5"'])
def test_what_is_no_object_is_refused(store: Store, run_cli: RunCli, text: str) -> None:
    done = run_cli("evaluate", "--record", "-", stdin=text, env={"CLAUDECODE": "1"})
    assert done.code == 1 and "the answer is not a JSON object" in done.err
    assert Index(store).list_records("EVL") == []


def test_invented_quotes_are_refused_and_the_nonce_stays_good(store: Store, run_cli: RunCli) -> None:
    _, nonce = print_prompt(run_cli)
    invented = build_answer({"n": 1, "text": "everything was perfect"}, 5)
    done = record(run_cli, {**invented, "nonce": nonce})
    assert done.code == 1 and "no quote of the judge is in the messages" in done.err
    assert record(run_cli, {**build_answer(QUOTE, 4), "nonce": nonce}).code == 0


def test_the_skill_prints_an_error_as_text(store: Store, run_cli: RunCli) -> None:
    done = run_cli("evaluate", "--prompt", "current", "--for-skill", env={"CLAUDECODE": "1"})
    assert done.code == 0 and done.out.startswith("error: no transcript of a session")
