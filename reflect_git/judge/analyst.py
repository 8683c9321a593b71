"""Have the judge look for the root cause of an incident: it sees the failures and the rules that apply."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from reflect_git import paths
from reflect_git.errors import ReflectError
from reflect_git.judge import calls
from reflect_git.judge.messages import Message
from reflect_git.judge.rubric import Extract
from reflect_git.memory.rootcause import CLASSES, Answers, find_rules
from reflect_git.redact import redact

if TYPE_CHECKING:
    from reflect_git.judge.calls import Judge
    from reflect_git.memory.incidents import Incident
    from reflect_git.store.reading.reader import Scan
    from reflect_git.store.repository import Store

TASK = "rootcause"
_FAILURES, _RULES, _MAX_LENGTH = 8, 60, 800
_TEXTS = ("what", "why", "change")
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {**{name: {"type": "string"} for name in _TEXTS}, "class": {"type": "string", "enum": list(CLASSES)}},
    "required": [*_TEXTS, "class"],
}


def load_prompt() -> str:
    """Return the system prompt for a root cause."""
    with open(paths.resource_path("templates", "judge", "rootcause.md"), encoding="utf-8") as file:
        return file.read()


def build_extract(scan: Scan, incident: Incident, scope: str) -> Extract:
    """Return what the judge gets: the rules that apply, figures, and the last failures; all redacted."""
    rules = [f"- {redact(rule['text'])}" for rule in find_rules(scan.history, incident, scope)[:_RULES]]
    rows = {identity: row for row, identity in enumerate(scan.columns["id"])}
    failures = scan.get_signals([rows[one] for one in incident.signals[-_FAILURES:] if one in rows])
    said = [redact(f"{one['content']}\n{one['context'] or ''}".strip())[:_MAX_LENGTH] for one in failures]
    figures = f"{incident.count} failures in {incident.sessions} sessions since {incident.first[:10]}"
    return Extract("\n".join(rules), (figures,), tuple(Message(n, "tool", text, n) for n, text in enumerate(said, 1)))


def find_root_cause(
    store: Store, env: Mapping[str, str], judge: Judge, extract: Extract, scope: str
) -> Answers:  # fmt: skip
    """Ask the judge; return its answers, which a person then confirms or not."""
    reply = calls.ask_judge(store, env, judge, load_prompt(), extract, task=TASK, schema=SCHEMA)
    given = reply.answer if isinstance(reply.answer, dict) else {}
    texts = [given.get(name) for name in _TEXTS]
    if not all(isinstance(text, str) for text in texts) or given.get("class") not in CLASSES:
        raise ReflectError("the judge did not answer in the form that was asked for", "run it again", "judge")
    what, why, change = map(str, texts)
    return Answers(what, why, change, str(given["class"]), scope)
