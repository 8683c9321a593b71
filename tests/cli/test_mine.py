"""`mine` shows which signals a transcript would give, and writes nothing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import RunCli

SESSION = "5f0c9a52-7d0e-4c7e-9a53-0d3a5c1f2b10"


def row(kind: str, content: Any, number: int, **more: Any) -> str:
    entry = {
        "type": kind, "message": {"role": kind, "content": content}, "uuid": f"entry-{number}", "sessionId": SESSION,
        "timestamp": f"2026-02-11T10:00:{number:02d}.000Z", "cwd": "/home/ada/shop", "version": "2.1.300",
        "isSidechain": False, "userType": "external", **more,
    }  # fmt: skip
    return json.dumps(entry) + "\n"


@pytest.fixture
def transcript(tmp_path: Path) -> Path:
    call = [{"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {"command": "npm install"}}]
    result = [{"type": "tool_result", "tool_use_id": "toolu_1", "content": "No, always use curl instead"}]
    path = tmp_path / f"{SESSION}.jsonl"
    path.write_text(
        row("user", "add a date picker to the checkout page", 1)
        + row("assistant", call, 2)
        + row("user", result, 3)
        + row("assistant", [{"type": "text", "text": "I installed it with npm."}], 4)
        + row("user", "no, never use npm in this project, always use pnpm instead", 5)
    )
    return path


def test_a_correction_is_found_in_the_user_s_words(run_cli: RunCli, transcript: Path, home: Path) -> None:
    found = run_cli("mine", str(transcript), "--json").json()["data"]
    assert [signal["source"]["entry"] for signal in found] == ["entry-5"]
    (signal,) = found
    assert "pnpm" in signal["content"] and signal["trust"] == "user_typed" and signal["confidence"] >= 2
    assert (signal["type"] in ("correction", "convention"), signal["meta"]["durable"]) == (True, True)
    assert (signal["transcript"], signal["session_id"]) == (str(transcript), SESSION)
    assert 0 < signal["meta"]["score"] <= 1
    assert not (home / ".claude").exists(), "it wrote something"


def test_the_same_transcript_gives_the_same_signals(run_cli: RunCli, transcript: Path) -> None:
    ids = [[s["id"] for s in run_cli("mine", str(transcript), "--json").json()["data"]] for _ in range(2)]
    assert ids[0] == ids[1] != []


def test_a_line_a_signal(run_cli: RunCli, transcript: Path) -> None:
    result = run_cli("mine", str(transcript))
    assert (result.code, result.out.count("\n"), "never use npm" in result.out) == (0, 1, True)
    assert "use --all to also list" in result.err


def test_all_of_it_shows_why_something_is_not_captured(run_cli: RunCli, transcript: Path) -> None:
    found = run_cli("mine", "--all", str(transcript), "--json").json()["data"]
    assert [signal["meta"].get("captured", True) for signal in found] == [False, True]
    assert found[0]["meta"]["score"] < found[1]["meta"]["score"]
    told = run_cli("mine", "--all", str(transcript))
    assert ("not captured" in told.out.splitlines()[0], told.err) == (True, "")


def test_nothing_to_learn_and_nothing_there(run_cli: RunCli, tmp_path: Path) -> None:
    empty = tmp_path / "empty.jsonl"
    empty.write_text("")
    assert run_cli("mine", str(empty)).out == "no signals found\n"
    missing = run_cli("mine", str(tmp_path / "missing.jsonl"))
    assert (missing.code, "no transcript at" in missing.err) == (1, True)
    assert run_cli("mine").code == 2


def test_your_own_phrases_count_as_they_do_in_hooks(run_cli: RunCli, tmp_path: Path) -> None:
    said = tmp_path / "said.jsonl"
    said.write_text(row("user", "hm, I see a violet teapot there, quoth the walrus", 1))
    assert run_cli("mine", str(said), "--json").json()["data"] == []
    phrases = tmp_path / "phrases.json"
    phrases.write_text('{"convention": ["quoth the walrus"]}')
    assert run_cli("init").code == 0
    assert run_cli("config", "phrases", str(phrases)).code == 0
    (signal,) = run_cli("mine", str(said), "--json").json()["data"]
    assert (signal["type"], "violet teapot" in signal["content"]) == ("convention", True)

    phrases.write_text("no json")
    told = run_cli("mine", str(said))
    assert (told.code, told.out) == (0, "no signals found\n")
    assert "warning: ignoring reflect.phrases: the phrases are no JSON" in told.err
    phrases.unlink()
    assert "warning: ignoring reflect.phrases" in run_cli("mine", str(said)).err
