"""A correction is stored when it is submitted, shown once to the person, and mined as the same signal."""

from __future__ import annotations

import json
import os
import time
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

from reflect_git.capture import notice, service, sessions
from reflect_git.capture.transcript.turn import Origin, Turn
from reflect_git.records.ids import utc_precise
from tests.conftest import RunCli, wait_for_background
from tests.sessions import Session, load_signals, wait_until
from tests.stories.terminal import Terminal

STRONG = "no, use pnpm here, not npm"
PLUGIN = {"CLAUDE_PLUGIN_ROOT": "/opt/plugin", "CLAUDE_CODE_SESSION_ATTENDED": "1"}
WEAK = (
    "thanks, that works", "great job!", "ok", "yes please", "why does the build take so long?", "add a date picker",
    "/compact keep the pnpm rule, never npm", "!npm install", "what does `never` do in TypeScript?",
    "<task-notification>no, always use pnpm</task-notification>",
)  # fmt: skip


class LiveSession(Session):
    """A session that happens now, as the hook sees it."""

    shift = timedelta()

    def write(self, kind: str, **fields: Any) -> str:
        now = datetime.now(timezone.utc) + self.shift
        return super().write(kind, **{"timestamp": f"{now:%Y-%m-%dT%H:%M:%S}.{now.microsecond // 1000:03d}Z", **fields})

    def submit(self, text: str, **env: str) -> str:
        """Run the hook as the client does, before it writes the message; return what the person sees."""
        printed = self.run_hook("UserPromptSubmit", {**PLUGIN, **env}, prompt=text)
        document = json.loads(printed) if printed else {"systemMessage": ""}
        assert list(document) == ["systemMessage"], "anything else would reach the model"
        return str(document["systemMessage"])


@pytest.fixture
def session(home: Path) -> LiveSession:
    session = LiveSession(home)
    session.write_sample_work()
    return session


def load_messages(store: Path) -> list[dict[str, Any]]:
    return [one for one in load_signals(store) if one["type"] not in ("summary", "failure")]


def mine(session: Session, home: Path) -> None:
    session.run_hook("SessionEnd", reason="other")
    wait_for_background(home)


def test_a_correction_is_stored_at_once_and_shown_once(session: LiveSession, store_home: Path, home: Path) -> None:
    assert session.submit(STRONG) == f'✎ noted: "{STRONG}" · /reflect to keep it'
    wait_for_background(home)
    (found,) = load_messages(store_home)
    assert (found["content"], found["trust"], found["confidence"] >= 2) == (STRONG, "user_typed", True)
    assert found["source"] == {"hook": "UserPromptSubmit", "turn": None, "file": None, "entry": None}
    assert session.submit(STRONG) == "", "the plugin and entries in the settings both run it"
    assert session.submit("no, use ruff here, not flake8", CLAUDE_PLUGIN_ROOT="").endswith(
        "· 'reflect-git review' in a terminal to keep it"
    )


def test_it_is_safe_before_the_hook_ends(
    session: LiveSession, store_home: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing but the written file counts: the client and every process of ours may be killed right afterwards."""
    store = service.open_store(os.environ)
    event = session.build_event("UserPromptSubmit", prompt=STRONG)
    facts = notice.build_facts(STRONG, event, utc_precise(), str(home / ".claude/projects"))
    assert facts is not None
    stored = service.store_signal(store, facts, os.environ)
    assert stored is not None
    assert (store_home / ".git/reflect/pending" / f"{stored['id']}.yaml").exists()


@pytest.mark.parametrize("text", WEAK)
def test_nothing_else_is_shown(session: LiveSession, store_home: Path, text: str) -> None:
    assert session.submit(text) == ""


@pytest.mark.parametrize("text", [f"{STRONG}, right?", f"{STRONG}. Did you see that? 😅", f"hmm, {STRONG}"])
def test_a_question_or_a_doubt_is_stored_and_not_shown(session: LiveSession, store_home: Path, text: str) -> None:
    assert session.submit(text) == ""
    wait_until(lambda: load_messages(store_home), "it is stored")


def test_long_and_pasted_texts_are_not_shown(session: LiveSession, store_home: Path) -> None:
    for text in (f"{STRONG}\n1\n2\n3", f"{STRONG}. {'and so on ' * 50}"):
        assert session.submit(text) == ""
    assert session.submit(f"{STRONG}\nplease") != ""


def test_it_can_be_switched_off(session: LiveSession, store_home: Path, run_cli: RunCli) -> None:
    assert session.submit(STRONG, CLAUDE_CODE_SESSION_ATTENDED="0") == "", "nobody is there"
    assert session.submit(STRONG, REFLECT_GIT_OFF="1") == ""
    assert run_cli("init").code == 0 and run_cli("config", "reflect.notice", "off").code == 0
    assert session.submit(STRONG) == ""
    assert not load_messages(store_home)


def test_a_pause_holds(session: LiveSession, store_home: Path, run_cli: RunCli, home: Path) -> None:
    assert run_cli("init").code == 0 and run_cli("pause", "2h").code == 0
    assert session.submit(STRONG) == ""
    session.say(STRONG)
    mine(session, home)
    assert not load_messages(store_home)


@pytest.mark.parametrize("seen_by", ["notice", "miner", "both"])
@pytest.mark.parametrize("queued", [False, True])
def test_one_correction_is_one_signal(
    session: LiveSession, store_home: Path, home: Path, seen_by: str, queued: bool
) -> None:
    if seen_by != "miner":
        assert session.submit(STRONG)
    if queued:
        session.queue(STRONG)
        session.run_tool("Bash", command="make")
        attached = {"type": "queued_command", "prompt": STRONG, "commandMode": "prompt", "humanTurn": True}
        session.write("attachment", attachment={**attached, "origin": {"kind": "human"}})
    elif seen_by != "notice":
        session.say(STRONG)
    session.answer("Then pnpm.")
    if seen_by != "notice":
        session.run_hook("PreCompact", trigger="auto")
        session.answer("More.")
        mine(session, home)
    wait_for_background(home)
    assert [one["content"] for one in load_messages(store_home)] == [STRONG]


def test_the_id_is_the_same_from_either_side(session: LiveSession, store_home: Path, home: Path) -> None:
    session.submit(STRONG)
    wait_for_background(home)
    noticed = {one["id"] for one in load_messages(store_home)}
    session.say(STRONG)
    session.answer("Then pnpm.")
    found = [one for _, one in service.mine_transcripts([str(session.path)], str(home)) if one["content"] == STRONG]
    assert {one["id"] for one in found} == noticed


def test_the_same_words_later_are_another_signal(session: LiveSession, store_home: Path, home: Path) -> None:
    for number in range(3):
        assert session.submit(STRONG), number
        session.say(STRONG)
        session.answer(f"Then pnpm, as said {number} times.")
    mine(session, home)
    assert [one["content"] for one in load_messages(store_home)] == [STRONG] * 3


def test_a_message_taken_back_and_sent_again_is_one_signal(session: LiveSession, store_home: Path, home: Path) -> None:
    """Esc before the model answers leaves the entry, and puts the text back into the input box."""
    for _ in range(2):
        session.submit(STRONG)
        session.say(STRONG)
    session.answer("Then pnpm.")
    mine(session, home)
    assert [one["content"] for one in load_messages(store_home)] == [STRONG]


def test_midnight_between_hook_and_entry(session: LiveSession, store_home: Path, home: Path) -> None:
    session.submit(STRONG)
    session.shift = timedelta(days=1)
    session.say(STRONG)
    session.answer("Then pnpm.")
    mine(session, home)
    assert len(load_messages(store_home)) == 1


def test_a_message_mined_by_an_older_version_stays_one_signal(
    session: LiveSession, store_home: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    session.say(STRONG)
    session.answer("Then pnpm.")
    with monkeypatch.context() as older:
        older.setattr(notice, "set_moment", lambda facts, turn: None)
        store = service.open_store(os.environ)
        sessions.mine_session(store, os.environ, str(session.path), "PreCompact")
    (before,) = load_messages(store_home)
    for cursor in (store_home / ".git/reflect/cursors").rglob("*.json"):
        cursor.unlink()
    mine(session, home)
    assert [one["id"] for one in load_messages(store_home)] == [before["id"]]


def test_a_purged_notice_is_not_mined_again(session: LiveSession, store_home: Path, home: Path) -> None:
    session.submit(STRONG)
    wait_for_background(home)
    (found,) = load_messages(store_home)
    with Terminal("purge", found["id"], cwd=home) as terminal:
        terminal.passes("to continue:")
        terminal.types("purge 1 record")
        terminal.ends()
    session.say(STRONG)
    session.answer("Then pnpm.")
    mine(session, home)
    assert not load_messages(store_home)


def test_secrets_are_in_neither_line_nor_store(session: LiveSession, store_home: Path, home: Path) -> None:
    secret = "ghp_" + "a1B2c3D4e5" * 4
    said = session.submit(f"no, use the token {secret} here, not the password, always")
    wait_for_background(home)
    assert secret not in said
    assert all(secret not in json.dumps(one) for one in load_signals(store_home))


def test_control_characters_do_not_reach_the_terminal(session: LiveSession, store_home: Path) -> None:
    said = session.submit("no, use \x1b[31mpnpm\x07 here, not npm\u202e")
    assert said and all(letter.isprintable() for letter in said)


def test_context_comes_from_the_end_of_a_large_transcript(session: LiveSession, store_home: Path, home: Path) -> None:
    with session.path.open("a", encoding="utf-8") as file:
        file.write(json.dumps({"type": "api-request-blob", "body": "x" * (40 << 20)}) + "\n")
    session.answer("I ran npm install.")
    started = time.monotonic()
    assert session.submit(STRONG)
    assert time.monotonic() - started < 5


def test_equal_texts_are_counted_by_what_was_sent(home: Path, session: LiveSession) -> None:
    text = 'no, say "tab"\nnot spaces — naïve'
    origin = Origin(False, str(session.path))
    origin.session = session.name
    assert notice.count_earlier(str(session.path), text, 1 << 40) == 0
    session.say(text)
    assert notice.count_earlier(str(session.path), text, 1 << 40) == 0, "the model has not answered"
    session.run_tool("Bash", output=text, command=text)
    session.say(f"{text} indeed")
    session.answer("So be it.")
    assert notice.count_earlier(str(session.path), text, 1 << 40) == 1
    assert notice.count_earlier(str(session.path), text, 0) == 0
    assert notice.count_earlier(str(session.path) + "x", text, 1 << 40) == 0
    assert Turn("user", text, origin, "prompt").transcript == str(session.path)
