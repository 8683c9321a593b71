"""No secret that capture knows reaches a judge: not from messages, calls, todos, instructions or the terminal."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from reflect_git.judge import evaluate, in_session, messages, rubric
from reflect_git.redact import redact
from reflect_git.rules.context import load_context
from reflect_git.store.reading import reader
from reflect_git.store.repository import Store
from tests.planted_secrets import fill_template, read_templates
from tests.sessions import Session
from tests.store.store_checks import open_store

TEMPLATES = [
    text for name in ("prose", "files", "commands", "code", "encoded")
    for text in read_templates(Path(__file__).parents[1] / "redact" / f"planted_{name}.txt")
]  # fmt: skip
# All of them take minutes.
PARTS = [pytest.param(24, at, marks=() if at == 5 else pytest.mark.slow) for at in range(24)]


@pytest.fixture
def store(store_home: Path, home: Path) -> Store:
    (home / "shop" / ".git").mkdir(parents=True)
    return open_store(store_home)


@pytest.mark.parametrize(("parts", "part"), PARTS)
def test_no_known_secret_is_in_a_request(store: Store, home: Path, parts: int, part: int) -> None:
    """The same texts as user, assistant and tool, in an instruction file, and cut where the limits cut."""
    session = Session(home, f"secret-{part}", cwd=str(home / "shop"))
    secrets: set[str] = set()
    rules = []
    for seed, template in enumerate(TEMPLATES[part::parts]):
        text, planted = fill_template(template, seed)
        long = "so " * (1200 + seed) + "\n" + text
        known = redact(text) + redact(long)  # what capture removes must not come back because something was cut
        secrets.update(one for one in planted if one not in known)
        session.say(text)
        session.run_tool("Bash", command=text, output=text, error=True)
        session.run_tool("TodoWrite", todos=[{"content": text, "status": "pending"}])
        session.answer(long)
        rules.append(text)
    (home / "shop" / "CLAUDE.md").write_text("\n\n".join(rules), encoding="utf-8")
    assert len(secrets) > 10
    ctx = load_context(store, os.environ, reader.scan(store), str(home / "shop"))
    found = evaluate.find_parts(ctx, messages.list_transcripts(os.environ))
    assert found and found[0].extract.instructions
    requests = [rubric.build_prompt(one.extract, "fence") for one in found]
    requests += [rubric.build_command_input("evaluate", "", one.extract, {}) for one in found]
    requests.append(in_session.build_prompt(ctx, session.name, 200))
    sent = "\n".join(requests)
    assert sent.count("[REDACTED") > 50
    assert [one for one in secrets if one in sent] == []
