"""Judges for tests: programs that answer as the contract says, and sessions for them to judge."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from reflect_git.records.ids import utc_precise
from reflect_git.store import policy
from reflect_git.store.repository import Store
from tests.sessions import Session
from tests.store.operations import BY

CRITERIA = ("completeness", "depth", "tone", "scope", "missed_opportunities")
# What is bad about each planted sample, as the assistant or the user said it.
ANCHORS = ("never ran them", "again npm", "looked it up", "i asked how many", "why i asked", "es ist ernst",
           "why guess", "nothing was split", "you did not listen")  # fmt: skip
_PROGRAM = """#!{python} -IS
import json, sys
given = json.load(sys.stdin)
messages = given["messages"]
quote = next(({{"n": one["n"], "text": one["text"][:60]}} for one in messages if len(one["text"]) >= 12), None)
said = " ".join(one["text"].lower() for one in messages)
{body}
scores = {{name: {{"score": score, "quotes": [quote]}} for name in {criteria!r}}}
answer = {{
    "scores": scores, "analysis": "It was judged.", "recommendation": "update" if score < 3.5 else "keep",
    "weaknesses": [{{"text": "It does not listen.", "quotes": [quote]}}],
    "suggestions": [{{"category": "convention", "text": suggestion, "priority": 5}}],
}}
with open({log!r}, "a") as file:
    file.write(json.dumps(given) + "\\n")
json.dump(answer, sys.stdout)
"""
FOLLOW_ANCHORS = f"score = 2 if any(mark in said for mark in {ANCHORS!r}) else 4"
SUGGESTION = "Run the linter before you report that the work is done."


def write_judge(folder: Path, body: str = FOLLOW_ANCHORS) -> Path:
    """Write a judge; `body` sets `score`, and may set `quote`."""
    path = folder / "judge"
    log = str(folder / "judged.jsonl")
    body = f"suggestion = {SUGGESTION!r}\n{body}"
    path.write_text(_PROGRAM.format(python=sys.executable, body=body, criteria=CRITERIA, log=log), encoding="utf-8")
    path.chmod(0o755)
    return path


def switch_on(store: Store, program: Path | None = None, **more: str) -> None:
    """Switch the judge on, as a person at a terminal does."""
    given = (
        {"reflect.judge": "command", "reflect.judge.command": str(program)} if program else {"reflect.judge": "claude"}
    )
    policy.set_policies(store, {**given, **more}, BY, utc_precise())


def build_answer(quote: dict[str, Any], score: float = 3.0, **more: Any) -> dict[str, Any]:
    scores = {name: {"score": score, "quotes": [quote]} for name in CRITERIA}
    given = {"analysis": "Fine.", "weaknesses": [], "recommendation": "keep", "suggestions": []}
    return {"scores": scores, **given, **more}


def write_session(home: Path, name: str, count: int, cwd: str = "/srv/shop", word: str = "page") -> Session:
    """Write a session with so many typed messages."""
    session = Session(home, name, cwd=cwd)
    for number in range(1, count + 1):
        session.say(f"please add {word} number {number} to the shop")
        session.run_tool("Edit", file_path=f"{cwd}/{word}{number}.tsx")
        session.answer(f"I added {word} number {number} and linked it.")
    return session
