"""Everything said in a session is captured exactly once, however it ended and whatever its files look like."""

from __future__ import annotations

import errno
import os
import time
from pathlib import Path

import pytest

from reflect_git.capture import sessions
from reflect_git.platform import files
from reflect_git.store.local import session_state
from reflect_git.store.local.session_state import Cursor
from reflect_git.store.repository import Store
from tests.conftest import RunCli, wait_for_background
from tests.hooks.test_session_hooks import exposures, learned
from tests.sessions import CORRECTION, Session, list_lessons, load_signals
from tests.store.store_checks import open_store

TABS = "no, always use tabs in this project, never spaces"
DAY = 86400.0
NOBODY = "999999999"  # larger than any process id
OURSELVES = str(os.getpid())
MIB = 1 << 20


@pytest.fixture
def store(store_home: Path) -> Store:
    return open_store(store_home)


@pytest.fixture
def session(home: Path, store: Store) -> Session:
    return Session(home)


def begin(store: Store, session: Session, pid: str = NOBODY) -> None:
    sessions.record_start(store, str(session.path), "", pid)


def end_dead(store: Store, now: float = 0.0) -> None:
    sessions.end_dead_sessions(store, os.environ, now or time.time())


def test_words_after_a_queue_that_was_never_delivered(session: Session, store_home: Path) -> None:
    session.write_sample_work()
    session.queue("also look at the footer please")
    session.run_hook("SessionEnd", reason="other")
    session.say(TABS)
    session.run_hook("SessionEnd", reason="other")
    assert TABS in list_lessons(store_home)


def test_words_after_a_queue_that_grew_old(session: Session, store_home: Path) -> None:
    """The overlap of the next pass begins after the words that were held."""
    session.write_sample_work()
    session.queue("also look at the footer please")
    for number in range(25):
        session.answer(f"Step {number} is done.")
    session.run_hook("PreCompact", trigger="auto")
    session.say(TABS)
    session.run_hook("PreCompact", trigger="auto")
    assert TABS in list_lessons(store_home)


def test_a_refusal_where_the_overlap_begins_counts_once(session: Session, store_home: Path) -> None:
    """Its line gives two turns, and the cursor is at the second."""
    session.say("please clean the folder")
    session.reject_tool("use make clean instead, never rm", command="rm -r build")
    for number in range(19):
        session.answer(f"Step {number} is done.")
    session.run_hook("PreCompact", trigger="auto")
    session.write("system", subtype="note")
    session.run_hook("PreCompact", trigger="auto")
    session.run_hook("SessionEnd", reason="other")
    assert [figures["turns"] for figures in exposures(store_home)] == [21]


def test_a_transcript_that_was_replaced_by_a_shorter_one(session: Session, store_home: Path) -> None:
    for number in range(30):
        session.say(f"please look at page {number} of the manual")
        session.answer("It reads well.")
    session.run_hook("PreCompact", trigger="auto")
    session.path.unlink()
    session.write_sample_work()
    session.say(TABS)
    session.run_hook("SessionEnd", reason="other")
    assert TABS in list_lessons(store_home)
    assert [figures["typed"] for figures in exposures(store_home)] == [2]


def test_a_time_that_is_none_costs_no_summary(session: Session, store_home: Path) -> None:
    session.say("please add a date picker to the checkout page")
    session.run_tool("Edit", file_path="/srv/shop/checkout.tsx")
    content = [{"type": "text", "text": "It is in place."}]
    session.write("assistant", message={"role": "assistant", "content": content}, timestamp="a quarter past nine or so")
    session.run_hook("SessionEnd", reason="other")
    (summary,) = load_signals(store_home)
    assert summary["meta"]["outcome"] == "It is in place."
    assert [figures["end"] for figures in exposures(store_home)] == ["2026-02-11T10:00:03Z"]


def test_a_full_disk_delays_the_end_of_a_dead_session(
    session: Session, store: Store, store_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    begin(store, session)
    session.write_sample_work()
    session.say(CORRECTION)
    with monkeypatch.context() as full:
        full.setattr(files, "write_many", refuse)
        end_dead(store)
    assert load_signals(store_home) == []
    end_dead(store)
    assert CORRECTION in list_lessons(store_home)


def test_another_config_folder_leaves_a_dead_session_to_its_own(
    session: Session, store: Store, store_home: Path, tmp_path: Path
) -> None:
    """One store for two CLAUDE_CONFIG_DIRs: transcripts of the other folder must not be read here."""
    session.path = tmp_path / "projects/-srv-shop/talk.jsonl"
    session.path.parent.mkdir(parents=True)
    begin(store, session)
    session.write_sample_work()
    session.say(CORRECTION)
    end_dead(store)
    assert load_signals(store_home) == []
    sessions.end_dead_sessions(store, {**os.environ, "CLAUDE_CONFIG_DIR": str(tmp_path)}, time.time())
    assert CORRECTION in list_lessons(store_home)


def test_one_bad_cursor_stands_in_nobody_s_way(home: Path, store: Store, store_home: Path) -> None:
    dead = {str(one.path): one for one in (Session(home), Session(home), Session(home))}
    for one in dead.values():
        begin(store, one)
        one.write_sample_work()
        one.say(CORRECTION)
    first = session_state.list_cursors(store)[0]
    first.figures = {"failures": 5}
    session_state.save_cursor(store, first)
    sessions.run_background_work(store, os.environ)
    others = {one.name for path, one in dead.items() if path != first.transcript}
    assert {signal["session_id"] for signal in learned(store_home)} >= others


def test_an_idle_session_that_was_ended_and_goes_on(session: Session, store: Store, store_home: Path) -> None:
    monday = time.time() + 2 * DAY
    begin(store, session, OURSELVES)
    session.write_sample_work()
    end_dead(store, monday)
    assert len(exposures(store_home)) == 1, "it was not ended"
    session.say(CORRECTION)
    end_dead(store, monday)
    assert CORRECTION in list_lessons(store_home)


def test_the_end_of_one_run_comes_after_the_beginning_of_the_next(
    session: Session, store: Store, store_home: Path
) -> None:
    session.write_sample_work()
    begin(store, session)
    sessions.end_session(store, os.environ, str(session.path), "SessionEnd")
    session.say(CORRECTION)
    end_dead(store)
    assert CORRECTION in list_lessons(store_home)


def test_the_end_of_one_run_comes_while_the_next_begins(
    session: Session, store: Store, store_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A start hook that read its cursor before, and wrote it after, would count the same turns again."""
    real = session_state.save_cursor

    def end() -> None:
        sessions.end_session(store, os.environ, str(session.path), "SessionEnd", wait=0.0)

    def save_late(store: Store, cursor: Cursor, ended: bool = False) -> None:
        monkeypatch.setattr(session_state, "save_cursor", real)
        end()
        real(store, cursor, ended)

    begin(store, session, OURSELVES)
    session.write_sample_work()
    sessions.mine_session(store, os.environ, str(session.path), "PreCompact")
    monkeypatch.setattr(session_state, "save_cursor", save_late)
    begin(store, session, OURSELVES)
    session.say("please go on with the footer")
    end()
    assert sum(figures["typed"] for figures in exposures(store_home)) == 2


def test_a_row_of_failures_in_a_long_transcript_is_one_signal(session: Session, home: Path, store_home: Path) -> None:
    """The newest part is mined first, without knowing how many failures came before."""
    session.say("please build it now")
    for _ in range(8):
        session.run_tool("Bash", "Exit code 1\nerror: no such target 'all'", True, command="make all")
        session.write("assistant", message={"content": [{"type": "thinking", "thinking": "x" * (2 * MIB)}]})
    session.run_hook("PreCompact", trigger="auto")
    wait_for_background(home)
    assert sum("failed twice" in content for content in list_lessons(store_home)) == 1


def test_a_hook_with_nothing_to_keep_leaves_the_word_to_the_other(
    session: Session, home: Path, store: Store, run_cli: RunCli
) -> None:
    """The plugin and entries in settings.json, both active: one mines, the other finds nothing yet."""
    run_cli("config", "compact.keep", "true")
    session.write_sample_work()
    session.say(CORRECTION)
    busy = session_state.get_lock(store, str(session.path))
    assert busy.try_acquire()
    assert session.run_hook("PreCompact", trigger="manual") == ""
    wait_for_background(home)
    busy.release()
    assert session.run_hook("PreCompact", trigger="manual") == f"{CORRECTION}\n"
    assert session.run_hook("PreCompact", trigger="manual") == ""


def test_two_sessions_that_start_at_once_remind_once(
    session: Session, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    session.write_sample_work()
    session.say(CORRECTION)
    session.run_hook("SessionEnd", reason="other")
    real, told = files.read_if_exists, []

    def read_late(path: str, *limit: int) -> bytes | None:
        found = real(path, *limit)
        if path == store.private_path("reminded"):
            monkeypatch.setattr(files, "read_if_exists", real)
            told.append(sessions.build_reminder(store, time.time(), "/reflect", session.cwd))
        return found

    monkeypatch.setattr(files, "read_if_exists", read_late)
    told.append(sessions.build_reminder(store, time.time(), "/reflect", session.cwd))
    assert [bool(text) for text in told] == [True, False]


def test_nobody_is_reminded_of_what_they_did_not_say(session: Session, home: Path, store_home: Path) -> None:
    session.say("please build it now")
    for _ in range(6):
        session.run_tool("Bash", "Exit code 1\nerror: no such target 'all'", True, command="make all")
    session.answer("It does not build.")
    session.run_hook("SessionEnd", reason="other")
    assert any(signal["confidence"] >= 2 for signal in learned(store_home))
    assert session.run_hook("SessionStart", source="startup") == ""
