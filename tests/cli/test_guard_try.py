"""`reflect-git guard --try` decides about many calls in one run, without a store."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.conftest import RunCli


def _rows(*rows: Any) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


def test_try_derives_or_takes_a_matcher(run_cli: RunCli, tmp_path: Path) -> None:
    call = {"tool_name": "Bash", "tool_input": {"command": "sudo wget x"}}
    file = tmp_path / "cases.jsonl"
    rows = [
        {"id": 1, "rule": "Don't use wget; use curl.", "call": call},
        {"id": 2, "rule": "Be kind.", "call": call},
        {"id": 3, "rule": "Be kind.", "call": call, "matcher": {"run": "sudo"}},
    ]
    file.write_text(_rows(*rows), encoding="utf-8")
    result = run_cli("guard", "--try", str(file))
    answers = [json.loads(line) for line in result.out.splitlines()]
    assert [(each["id"], each["guardable"], each["applies"]) for each in answers] == [
        (1, True, True), (2, False, False), (3, True, True),
    ]  # fmt: skip
    assert answers[0]["matcher"] == {"any": [{"run": "wget"}], "instead": "curl"}
    assert answers[0]["why"] == "matches: wget x"


def test_try_names_the_line_that_is_wrong(run_cli: RunCli, tmp_path: Path) -> None:
    file = tmp_path / "cases.jsonl"
    file.write_text(_rows({"id": 1, "rule": "x"}), encoding="utf-8")
    result = run_cli("guard", "--try", str(file))
    assert (result.code, "line 1 has no call" in result.err) == (2, True)
