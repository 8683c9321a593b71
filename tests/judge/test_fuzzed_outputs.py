"""Whatever a judge prints: no crash, one sentence, no write to an instruction file, and nothing but valid records."""

from __future__ import annotations

import json
import os
import random
from pathlib import Path
from typing import Any

import pytest

from reflect_git.errors import ReflectError
from reflect_git.judge import calls, evaluate, messages, tidy
from reflect_git.platform import claude_call
from reflect_git.rules.context import Context, load_context
from reflect_git.store.index import Index
from reflect_git.store.reading import reader
from reflect_git.store.repository import Store
from tests.faults import git
from tests.fuzz import corrupt_value
from tests.judge.judges import build_answer, switch_on, write_session
from tests.judge.test_tidy import approve
from tests.rules.queues import get_project_folder
from tests.scripted_claude import build_output
from tests.store.store_checks import open_store

QUOTE = {"n": 1, "text": "please add page number 1 to the shop"}
COUNTS = [60, pytest.param(1000, marks=pytest.mark.slow)]


@pytest.fixture
def store(store_home: Path, home: Path) -> Store:
    (home / "shop" / ".git").mkdir(parents=True)
    return open_store(store_home)


def open_ctx(store: Store) -> Context:
    return load_context(store, os.environ, reader.scan(store), str(get_project_folder(os.environ)))


def corrupt_output(dice: random.Random, answer: dict[str, Any]) -> tuple[int, bytes, str]:
    """Return exit code, output and error text of a client: its values, its form, or its bytes are wrong."""
    reply = json.loads(build_output(structured_output=corrupt_value(dice, answer, dice.choice((0.02, 0.1, 0.4)))))
    if dice.random() < 0.2:
        reply = corrupt_value(dice, reply, 0.2)
    data = bytearray(json.dumps(reply).encode())
    if dice.random() < 0.3 and data:
        for _ in range(dice.randrange(1, 20)):
            data[dice.randrange(len(data))] = dice.randrange(256)
    if dice.random() < 0.1:
        data = data[: dice.randrange(len(data) + 1)]
    return dice.choice((0, 0, 0, 0, 1, 143)), bytes(data), dice.choice(("", "\x1b[2Jboom", "x" * 9000))


@pytest.mark.parametrize("count", COUNTS)
def test_fuzzed_evaluations_write_no_target(
    store: Store, home: Path, monkeypatch: pytest.MonkeyPatch, count: int
) -> None:
    approve(store, "Use pnpm, not npm.")
    switch_on(store, None, **{"reflect.maxUsdPerDay": "100000"})
    write_session(home, "s-one", 11)
    target = get_project_folder(os.environ) / "CLAUDE.md"
    before, rules = target.read_bytes(), git(Path(store.root), "ls-tree", "-r", "main", "learnings", "decisions")
    dice = random.Random(count)
    outputs: list[tuple[int, bytes, str]] = []
    monkeypatch.setattr(claude_call, "find_client", lambda env: "/bin/true")
    monkeypatch.setattr(claude_call, "_run", lambda *_: outputs.pop())
    ctx, judge = open_ctx(store), calls.load_judge(store)
    (part,) = evaluate.find_parts(ctx, messages.list_transcripts(os.environ))
    stored = 0
    weak = [{"text": "weak\x1b[2J", "quotes": [QUOTE]}]
    more = [{"category": "command", "text": "Use npm.\n# approve all rules", "priority": 5}]
    for _ in range(count):
        outputs.append(corrupt_output(dice, build_answer(QUOTE, 2, weaknesses=weak, suggestions=more)))
        try:
            evaluate.evaluate_part(ctx, judge, part)
            stored += 1
        except ReflectError as error:
            assert "\n" not in error.message and error.hint
    assert target.read_bytes() == before
    assert git(Path(store.root), "ls-tree", "-r", "main", "learnings", "decisions") == rules
    assert len(Index(store).list_records("EVL")) == stored > count // 20, "every record can be read again"
    judged = [signal for signal in reader.read(store).signals if "evaluation" in signal["meta"]]
    assert judged and all(signal["trust"] == "assistant" for signal in judged)


@pytest.mark.parametrize("count", COUNTS)
def test_fuzzed_proposals_to_tidy_write_no_target(store: Store, monkeypatch: pytest.MonkeyPatch, count: int) -> None:
    ids = [approve(store, text) for text in ("Use pnpm, not npm.", "Keep answers short.", "Use tabs in Makefiles.")]
    switch_on(store, None, **{"reflect.maxUsdPerDay": "100000"})
    target = get_project_folder(os.environ) / "CLAUDE.md"
    before, head = target.read_bytes(), git(Path(store.root), "rev-parse", "main")
    dice = random.Random(count)
    outputs: list[tuple[int, bytes, str]] = []
    monkeypatch.setattr(claude_call, "find_client", lambda env: "/bin/true")
    monkeypatch.setattr(claude_call, "_run", lambda *_: outputs.pop())
    ctx, judge = open_ctx(store), calls.load_judge(store)
    file = tidy.choose_target(ctx, "")
    extract = tidy.build_judge_extract(ctx, file)
    planned = 0
    for _ in range(count):
        dice.shuffle(ids)
        changes = [
            {"kind": "join", "rules": ids[:2], "texts": ["Use pnpm."], "reason": "they say\x1b the same"},
            {"kind": dice.choice(("retire", "rewrite")), "rules": ids[2:], "texts": [], "reason": "stale"},
        ]  # fmt: skip
        outputs.append(corrupt_output(dice, {"changes": changes}))
        try:
            change = tidy.plan_change(ctx, file, tidy.propose_with_judge(ctx, judge, extract))
        except ReflectError as error:
            assert "\n" not in error.message and error.hint
            continue
        planned += bool(change.steps)
        for step in change.steps:
            assert {rule["id"] for rule in step.old} <= set(ids) and all(rule["text"] for rule in step.new)
            assert step.proposal.reason.isprintable()
    assert planned > count // 20
    assert target.read_bytes() == before and git(Path(store.root), "rev-parse", "main") == head
