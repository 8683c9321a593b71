"""Whatever input a hook gets, it exits with 0 and prints only the one document of its event."""

from __future__ import annotations

import json
import os
import random
import subprocess
from pathlib import Path
from typing import Any

import pytest

from reflect_git import hook
from reflect_git.capture import service
from reflect_git.capture.detection import InMemoryRequestCounter, find_signals
from reflect_git.capture.new_signal import build_signal
from reflect_git.capture.transcript import TranscriptReader
from reflect_git.errors import ReflectError
from reflect_git.platform import processes
from reflect_git.records import yaml_form
from tests import fuzz
from tests.counters import count
from tests.sessions import HOOK
from tests.store.store_checks import open_store, require_promises

EXPECTED = (ReflectError, OSError, ValueError, RecursionError, MemoryError)


def check_answer(name: object, printed: str) -> None:
    if not printed:
        return
    assert name in ("SessionStart", "UserPromptSubmit"), f"{name} printed {printed!r}"
    document = json.loads(printed)
    assert len(document) == 1 and set(document) <= {"systemMessage", "hookSpecificOutput"}


def feed_in_process(monkeypatch: pytest.MonkeyPatch, home: Path, rounds: int, seed: int) -> int:
    """Feed inputs to `hook.handle_event`, each with its own transcript; return how many were understood."""
    dice, understood = random.Random(seed), 0
    count("fuzzed hook inputs", rounds)
    printed: list[str] = []
    monkeypatch.setattr(processes, "detach", lambda: False)
    monkeypatch.setattr(processes, "start_session", lambda: None)
    # Otherwise this process stays at nice 19, and every hook of a later test commits later.
    monkeypatch.setattr(processes, "lower_priority", lambda _: None)
    monkeypatch.setattr(hook, "alarm", lambda _: 0)
    monkeypatch.setattr(hook, "_print", printed.append)
    path = home / ".claude/projects/-srv-shop/s-1.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    for _ in range(rounds):
        path.write_bytes(fuzz.draw_transcript(dice))
        given = fuzz.corrupt_value(dice, fuzz.draw_event(dice, str(path)))
        printed.clear()
        try:
            hook.handle_event(os.environ, fuzz.encode_corrupted(dice, given))
            understood += 1
        except EXPECTED:
            pass
        assert len(printed) <= 1
        check_answer(given.get("hook_event_name") if isinstance(given, dict) else None, "".join(printed))
    return understood


def mine(home: Path, rounds: int, seed: int) -> int:
    """Mine transcripts and store the results; return the number of signals."""
    dice, found = random.Random(seed), 0
    count("fuzzed transcripts", rounds)
    path = home / "spoilt.jsonl"
    memory = InMemoryRequestCounter()
    for _ in range(rounds):
        path.write_bytes(fuzz.draw_transcript(dice))
        for facts in find_signals(TranscriptReader(str(path), ended=True), memory):
            signal: Any = build_signal(facts, "box-ab12", "2026-02-11T10:00:00.000Z", str(home))
            yaml_form.check(yaml_form.parse(yaml_form.emit(signal)))
            found += 1
    return found


def run_processes(home: Path, rounds: int, seed: int) -> None:
    dice = random.Random(seed)
    count("fuzzed hook processes", rounds)
    path = home / ".claude/projects/-srv-shop/s-1.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    for _ in range(rounds):
        path.write_bytes(fuzz.draw_transcript(dice))
        given = fuzz.corrupt_value(dice, fuzz.draw_event(dice, str(path)))
        data = fuzz.encode_corrupted(dice, given)
        done = subprocess.run(HOOK, input=data, capture_output=True, check=False, timeout=60, env={**os.environ})
        assert (done.returncode, done.stderr) == (0, b""), data
        check_answer(given.get("hook_event_name") if isinstance(given, dict) else None, done.stdout.decode())


def require_no_bugs(store: Path) -> None:
    log = store / ".git/reflect/log"
    assert "bug:" not in (log.read_text() if log.exists() else "")


def test_inputs_in_process(monkeypatch: pytest.MonkeyPatch, home: Path, store_home: Path) -> None:
    open_store(store_home)
    assert feed_in_process(monkeypatch, home, 250, seed=1) > 100
    require_promises(store_home)


def test_transcripts_in_process(home: Path) -> None:
    assert mine(home, 1500, seed=2) > 300


def test_fresh_processes(home: Path, store_home: Path) -> None:
    open_store(store_home)
    run_processes(home, 25, seed=3)
    require_no_bugs(store_home)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10, 15))
def test_ten_thousand_inputs_and_transcripts(
    monkeypatch: pytest.MonkeyPatch, home: Path, store_home: Path, seed: int
) -> None:
    service.open_store(os.environ)
    assert feed_in_process(monkeypatch, home, 2000, seed) > 800
    assert mine(home, 8000, seed) > 1500
    require_promises(store_home)


@pytest.mark.slow
def test_five_hundred_processes(home: Path, store_home: Path) -> None:
    open_store(store_home)
    run_processes(home, 500, seed=4)
    require_no_bugs(store_home)
    require_promises(store_home)
