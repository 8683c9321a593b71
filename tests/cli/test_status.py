"""`status` shows the state in two columns, in every situation, and creates nothing."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path

import pytest

from reflect_git.capture import service, sessions
from reflect_git.cli.context import format_local_time
from reflect_git.records.ids import parse_utc, utc
from reflect_git.store import pending
from reflect_git.store.append import append
from reflect_git.store.reading import waiting_counts
from reflect_git.store.reading.waiting_counts import format_expiring
from reflect_git.store.repository import Store
from reflect_git.targets import improvements
from reflect_git.targets.target_files import IMPROVEMENTS_FILE
from tests.conftest import REPO, RunCli, SetZone
from tests.sessions import CORRECTION, Session

DAY = 86400


@pytest.fixture
def store(store_home: Path) -> Store:
    return service.open_store(os.environ)


def _git(store: Store, *args: str) -> str:
    done = subprocess.run(["git", "-C", store.root, *args], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def _signal(store: Store, content: str, days_ago: float = 0.0, **fields: object) -> str:
    from reflect_git.capture.new_signal import build_signal_from_input

    then = utc(time.time() - days_ago * DAY)
    record = {
        **build_signal_from_input({"content": content, "session_id": content}, store.machine, then),
        "stored": then,
        **fields,
    }
    append(store, record, 5.0)
    return str(record["id"])


def _rows(out: str) -> dict[str, str]:
    return {line[:14].strip(): line[14:].strip() for line in out.splitlines()}


def test_without_a_store_it_says_so_and_makes_none(run_cli: RunCli, store_home: Path) -> None:
    result = run_cli("status")
    assert (result.code, len(result.out.splitlines())) == (0, 1)
    assert "hint: no hooks installed; run 'reflect-git enable' or install the plugin" in result.err
    assert run_cli("status", "--json").json()["data"]["exists"] is False
    assert run_cli("status", "--format", "statusline").out == ""
    assert not store_home.exists()


def test_what_makes_a_store_is_told_truly(run_cli: RunCli, store_home: Path, tmp_path: Path) -> None:
    assert run_cli("status", cwd=tmp_path).out.endswith("yet; the first capture creates it\n")
    assert run_cli("capture", "--type", "correction", "--content", "use pnpm", cwd=tmp_path).code == 0
    assert store_home.exists()


@pytest.mark.parametrize("verb", [("review",), ("candidates",), ("candidates", "--for-skill")])
def test_who_looks_at_what_waits_makes_no_store(
    run_cli: RunCli, store_home: Path, tmp_path: Path, verb: tuple[str, ...]
) -> None:
    looked = run_cli(*verb, cwd=tmp_path)
    assert (looked.code, looked.out) == (0, "Nothing to reflect on.\n")
    assert ("no store at" in looked.err) == (len(verb) == 1)
    if len(verb) == 1:
        assert run_cli(*verb, "--json", cwd=tmp_path).json()["data"] == []
    assert run_cli("candidates", "--ask", cwd=tmp_path).json()["data"] == {
        "questions": [], "needs_wording": [], "broken": [],
    }  # fmt: skip
    assert not store_home.exists()


def test_improvements_of_colleagues_are_listed_without_a_store(
    run_cli: RunCli, store_home: Path, tmp_path: Path
) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / ".claude").mkdir()
    assert "no improvements proposed here" in run_cli("improvements", cwd=tmp_path).err
    (tmp_path / IMPROVEMENTS_FILE).write_bytes(improvements.add(None, improvements.Improvement(
        "LRN-20260101-aaaaaaaa", "2026-01-01", "Name the port", "Gap", "High", "Nobody says it", "Say it", "High",
    )))  # fmt: skip
    (one,) = run_cli("improvements", "--json", cwd=tmp_path).json()["data"]
    assert (one["id"], one["known"], one["purged"]) == ("LRN-20260101-aaaaaaaa", False, False)
    assert not store_home.exists()


@pytest.mark.parametrize(
    "verb",
    [
        "propose",
        "undo",
        "revert last",
        "edit LRN-1 --text x",
        "approve SIG-1",
        "dismiss SIG-1",
        "improvements apply LRN-1",
    ],
)
def test_what_needs_a_store_makes_none(run_cli: RunCli, store_home: Path, tmp_path: Path, verb: str) -> None:
    for options in (("--json", "--dry-run"), ("--json",)):
        refused = run_cli(*verb.split(), *options, cwd=tmp_path)
        assert (refused.code, refused.json()["error"]["code"]) == (1, "no-store")
    assert not store_home.exists()


@pytest.mark.parametrize(
    "verb",
    [
        "approve SIG-1",
        "undo",
        "edit LRN-1 --text x",
        "show SIG-1",
        "audit",
        "sync",
        "signals",
        "log",
        "candidates",
        "status",
    ],
)
def test_what_is_in_the_place_of_a_store_is_told(run_cli: RunCli, store_home: Path, tmp_path: Path, verb: str) -> None:
    store_home.mkdir(parents=True)
    (store_home / "letter.txt").write_text("mine")
    refused = run_cli(*verb.split(), cwd=tmp_path)
    assert (refused.code, refused.out) == (1, "")
    assert refused.err.startswith(f"error: '{store_home}' exists and is not a reflect-git store\nhint: move it away")
    store_home.rename(tmp_path / "mine")
    store_home.symlink_to(tmp_path / "mine")
    assert run_cli(*verb.split(), cwd=tmp_path).err.startswith(f"error: '{store_home}' is a symbolic link\n")
    store_home.unlink()


def test_without_a_store_and_with_hooks_it_can_be_made(run_cli: RunCli, home: Path, store_home: Path) -> None:
    run_cli("enable")
    other = str(home / "other")
    assert run_cli("--store", other, "status").err == f"hint: create it now with 'reflect-git --store {other} init'\n"


def test_a_store_that_is_none_is_an_error(run_cli: RunCli, store_home: Path) -> None:
    (store_home / ".git").mkdir(parents=True)
    assert run_cli("status").code == 1
    (store_home / ".git").rmdir()


def test_a_quiet_store_says_little_in_aligned_columns(run_cli: RunCli, store: Store) -> None:
    run_cli("enable")
    result = run_cli("status")
    assert list(_rows(result.out)) == ["capture", "store", "machine", "waiting", "last capture", "rules"]
    assert _rows(result.out) == {
        "capture": "on", "store": store.root, "machine": store.machine, "waiting": "no proposed rules",
        "last capture": "none yet", "rules": "none",
    }  # fmt: skip
    assert {line[13] for line in result.out.splitlines()} == {" "}
    assert run_cli().out == result.out


def test_without_hooks_capture_is_not_said_to_be_on(run_cli: RunCli, store: Store) -> None:
    add = "off (no hooks installed): reflect-git enable"
    rows = _rows(run_cli("status").out)
    assert (rows["capture"], "hooks" in rows) == (add, False)
    data = run_cli("status", "--json").json()["data"]
    assert (data["capture"], data["hooks"]) == ("on", None)
    rows = _rows(run_cli("status", env={"REFLECT_GIT_OFF": "1"}).out)
    assert (rows["capture"], rows["hooks"]) == ("off (REFLECT_GIT_OFF is set)", "none installed: reflect-git enable")


def test_waiting_strong_and_last_capture(run_cli: RunCli, store: Store) -> None:
    _signal(store, "one", 2)
    _signal(store, "two", 3, confidence=3)
    rows = _rows(run_cli("status").out)
    told = "1 proposed rule, 1 unlikely one: reflect-git review"
    assert (rows["waiting"], rows["last capture"]) == (told, "2 days ago")
    assert run_cli("status", "--format", "statusline").out == "✎ 1\n"


def test_strong_is_what_a_review_calls_so(run_cli: RunCli, store: Store, tmp_path: Path) -> None:
    """A wish about the current task is weak although certain; something said in two sessions is strong although not."""
    passing: dict[str, object] = {"trust": "user_typed", "confidence": 2, "meta": {"durable": False}}
    _signal(store, "move that box to the left", 1, **passing)
    for session in ("s-1", "s-2"):
        _signal(store, "use pnpm, not npm", 1, session_id=session, confidence=1, trust="user_typed")
    listed = {one["text"]: one["tier"] for one in run_cli("candidates", "--json", cwd=tmp_path).json()["data"]}
    assert sorted(listed.values()) == ["strong", "weak"]
    here = str(tmp_path)
    assert _rows(run_cli("status", cwd=tmp_path).out)["waiting"].startswith("1 proposed rule, 1 unlikely one: ")
    assert waiting_counts.get_own_words_count(store, here) == 1
    _signal(store, "and now the one below it", 1, **passing)
    sessions.update_waiting_count(store, os.environ, here, time.time())
    assert waiting_counts.get_own_words_count(store, here) == 1, "and so does who may not take the time to find out"
    data = run_cli("status", "--json", cwd=tmp_path).json()["data"]
    assert (data["questions"], data["strong"], data["waiting"], data["waiting_here"]) == (1, 2, 4, 4)


def test_what_no_review_asks_about_does_not_wait(run_cli: RunCli, store: Store, tmp_path: Path) -> None:
    """Nor on a status line that has no time to check."""

    def said(text: str = "use pnpm, not npm") -> str:
        return _signal(store, text, trust="user_typed", confidence=2)

    def guessed() -> str:
        sessions.update_waiting_count(store, os.environ, str(tmp_path), time.time())
        return waiting_counts.load_count(store, str(tmp_path))[7]

    run_cli("dismiss", said(), cwd=tmp_path)
    _signal(store, "use pnpm, not npm", session_id="later", trust="user_typed", confidence=2)
    assert guessed() == "✎ 1"
    assert _rows(run_cli("status", cwd=tmp_path).out)["waiting"] == "no proposed rules"
    assert run_cli("status", "--format", "statusline", cwd=tmp_path).out == guessed() == ""
    tabs = said("use tabs")
    assert guessed() == "✎ 1"
    run_cli("dismiss", tabs, cwd=tmp_path)
    assert guessed() == "" and _rows(run_cli("status", cwd=tmp_path).out)["waiting"] == "no proposed rules"


def _end_of_day(days: int) -> float:
    """Return the last second of a local day; today is 0."""
    today = time.localtime()
    return time.mktime((*today[:2], today[2] + 1 + days, 0, 0, 0, 0, 0, -1)) - 1


@pytest.mark.parametrize(
    ("zone", "now", "going"),
    [
        ("UTC", "2026-11-18T23:58:00Z", "1 expires tomorrow"),
        ("UTC", "2026-11-19T00:03:00Z", "1 expires today"),
        ("Pacific/Kiritimati", "2026-11-18T23:58:00Z", "1 expires today"),
        ("Etc/GMT+12", "2026-11-19T00:03:00Z", "1 expires today"),
        ("Etc/GMT+12", "2026-11-17T11:58:00Z", "1 expires in 2 days"),
    ],
)
def test_what_goes_today_goes_before_midnight_where_the_person_is(
    store: Store, set_zone: SetZone, zone: str, now: str, going: str
) -> None:
    """It expires on 2026-11-19 at 01:00 UTC."""
    set_zone(zone)
    store.change_config({"reflect.born": "2020-01-01T00:00:00Z"})
    signal = {
        "id": "SIG-20261105-7k3v9q2m",
        "stored": "2026-11-05T01:00:00Z",
        "status": "captured",
        "type": "correction",
        "trust": "tool_output",
        "confidence": 1,
    }
    assert format_expiring(waiting_counts._count_expiring(store, [[signal]], parse_utc(now))) == going


def test_what_goes_soon_is_said_by_day(run_cli: RunCli, store: Store) -> None:
    store.change_config({"reflect.born": "2020-01-01T00:00:00Z"})
    for content, days in (("ava", 0), ("bun", 0), ("deno", 2), ("vitest", 12)):
        left = _end_of_day(days) - time.time()
        _signal(store, f"use {content}", 14 - left / DAY, trust="tool_output", confidence=2)
    data = run_cli("status", "--json").json()["data"]
    assert data["going"] == [{"days": 0, "count": 2}, {"days": 2, "count": 1}]
    assert _rows(run_cli("status").out)["expiring"] == "2 expire today, 1 in 2 days"
    assert run_cli("status", "--format", "statusline").out == "✎ 4 · 2 expire today, 1 in 2 days\n"


@pytest.mark.parametrize(
    ("going", "said"),
    [
        ([{"days": 3, "count": 5}], "5 expire in 3 days"),
        ([{"days": 1, "count": 1}], "1 expires tomorrow"),
        ([{"days": 0, "count": 1}, {"days": 1, "count": 2}], "1 expires today, 2 tomorrow"),
    ],
)
def test_going_is_said_as_people_say_it(going: list[dict[str, int]], said: str) -> None:
    assert format_expiring(going) == said


def test_capture_off_paused_and_ignored(run_cli: RunCli, store: Store, tmp_path: Path) -> None:
    assert _rows(run_cli("status", env={"REFLECT_GIT_OFF": "1"}).out)["capture"] == "off (REFLECT_GIT_OFF is set)"
    run_cli("disable", "--for", "3h")
    assert format_local_time(run_cli("config", "pausedUntil").out.strip()) in _rows(run_cli("status").out)["capture"]
    assert run_cli("status", "--json").json()["data"]["paused_until"]
    run_cli("disable")
    assert _rows(run_cli("status").out)["capture"].startswith("off (")
    run_cli("enable")
    (tmp_path / ".reflectignore").touch()
    assert _rows(run_cli("status", cwd=tmp_path).out)["capture"].startswith("ignored (")
    assert _rows(run_cli("status").out)["capture"] == "on"


def test_learnings_in_force_are_counted(run_cli: RunCli, store: Store) -> None:
    golden = REPO / "tests" / "golden"
    learning = (golden / "LRN-20260212-4c8d2a1f.yaml").read_bytes()
    (Path(store.root) / "learnings").mkdir(mode=0o700)
    Path(store.path("learnings/LRN-20260212-4c8d2a1f.yaml")).write_bytes(learning)
    _git(store, "add", "learnings")
    _git(store, "-c", "user.name=x", "-c", "user.email=x@localhost", "commit", "-q", "-m", "by hand")
    assert _rows(run_cli("status").out)["rules"] == "none here, 1 in total"


def test_what_cannot_be_committed_is_pending(run_cli: RunCli, store: Store) -> None:
    from reflect_git.capture.new_signal import build_signal_from_input

    pending.write_record(store, build_signal_from_input({"content": "waits"}, store.machine, utc()))
    with store.locked(1.0):
        rows = _rows(run_cli("status").out)
    assert (rows["pending"].split()[0], rows["waiting"]) == ("1", "no proposed rules, 1 unlikely one")
    assert "pending" not in _rows(run_cli("status").out)


@pytest.mark.dirty_store
def test_head_elsewhere_and_changes_by_hand_are_said(run_cli: RunCli, store: Store) -> None:
    _git(store, "checkout", "-q", "-b", "mine")
    Path(store.path("README.md")).write_text("mine\n")
    Path(store.path("my notes.txt")).write_text("mine\n")
    rows = _rows(run_cli("status").out)
    assert rows["HEAD"].startswith("on 'mine'; switch back with: git -C ")
    assert rows["changed"].startswith("'README.md', 'my notes.txt'; ")
    _git(store, "checkout", "-q", "--detach")
    data = run_cli("status", "--json").json()["data"]
    assert (data["branch"], data["changes"]) == ("(detached)", ["README.md", "my notes.txt"])
    assert _rows(run_cli("status").out)["HEAD"].startswith("detached; ")


def test_files_that_cannot_be_read_are_counted(run_cli: RunCli, store: Store) -> None:
    Path(store.private_path("pending", "SIG-20260211-7k3v9q2m.yaml")).write_text("no record\n")
    rows = _rows(run_cli("status").out)
    assert rows["files"] == "1 quarantined; see 'reflect-git doctor'"


def test_a_remote_is_shown_without_its_password(run_cli: RunCli, store: Store, tmp_path: Path) -> None:
    assert "remote" not in _rows(run_cli("status").out)
    subprocess.run(["git", "init", "-q", "--bare", str(tmp_path / "far.git")], check=True)
    _git(store, "remote", "add", "origin", str(tmp_path / "far.git"))
    _git(store, "push", "-q", "-u", "origin", "main")
    run_cli("disable")
    data = run_cli("status", "--json").json()["data"]
    assert (data["ahead"], data["behind"]) == (1, 0)
    assert _rows(run_cli("status").out)["remote"].endswith(", 1 ahead, 0 behind; run 'reflect-git sync'")
    _git(store, "push", "-q")
    assert _rows(run_cli("status").out)["remote"].endswith(", 0 ahead, 0 behind")
    _git(store, "remote", "set-url", "origin", "https://ada:hunter2@example.org/me/reflections.git")
    shown = run_cli("status").out + run_cli("status", "--json").out
    assert ("example.org/me/reflections" in shown, "hunter2" in shown) == (True, False)


def test_a_rule_that_differs_from_its_file_is_counted(run_cli: RunCli, store: Store, home: Path) -> None:
    from tests.rules.project_edits import approve, commit, make_project

    shop = make_project(home / "shop")
    identity = approve(store, shop)
    commit(shop)
    assert "drift" not in _rows(run_cli("status", cwd=shop).out)
    file = shop / "CLAUDE.md"
    file.write_text(file.read_text(encoding="utf-8").replace("pnpm", "yarn"), encoding="utf-8")
    result = run_cli("status", cwd=shop)
    assert (result.code, _rows(result.out)["drift"]) == (0, "1 rule differs from its file: reflect-git review")
    data = run_cli("status", "--json", cwd=shop).json()["data"]
    assert data["drift"] == [
        {"learning": identity, "kind": "different", "author": "you", "target": "CLAUDE.md", "line": 7}
    ]
    commit(shop)
    result = run_cli("status", "--json", cwd=shop).json()["data"]
    assert [one["author"] for one in result["drift"]] == ["branch"]
    assert "drift" not in _rows(run_cli("status", cwd=shop).out)
    assert "drift" not in _rows(run_cli("status").out)


OFFER = "not read yet: reflect-git import transcripts --since 30d --dry-run\n"


def _past_session(home: Path, days_ago: float = 1.0) -> Session:
    session = Session(home)
    session.say(CORRECTION)
    session.answer("Understood.")
    os.utime(session.path, (time.time() - days_ago * DAY,) * 2)
    return session


def _count_offered(run_cli: RunCli) -> int:
    """Return the count in the JSON, after checking that the screen offers the same."""
    count = int(run_cli("status", "--json").json()["data"]["unread_sessions"])
    was = "1 session in the last 30 days was" if count == 1 else f"{count} sessions in the last 30 days were"
    shown = run_cli("status").err
    assert (f"hint: {was} {OFFER}" in shown) == (OFFER in shown) == (count > 0)
    return count


def test_past_sessions_are_offered_until_they_are_imported(run_cli: RunCli, home: Path, store: Store) -> None:
    assert _count_offered(run_cli) == 0
    _past_session(home)
    _past_session(home, days_ago=31)
    assert _count_offered(run_cli) == 1
    _past_session(home, days_ago=29)
    assert _count_offered(run_cli) == 2
    assert run_cli("import", "transcripts", "--since", "30d", "--dry-run").out.endswith("from 2 transcripts\n")
    assert _count_offered(run_cli) == 2, "a dry run imports nothing"
    run_cli("import", "transcripts", "--since", "30d")
    _past_session(home, days_ago=2)
    assert _count_offered(run_cli) == 0


def test_past_sessions_are_offered_before_a_store_exists(run_cli: RunCli, home: Path, store_home: Path) -> None:
    _past_session(home)
    assert _count_offered(run_cli) == 1
    run_cli("import", "transcripts", "--since", "30d", "--dry-run")
    subprocess.run(["git", "config", "--global", "reflect.hint.import", "false"], check=True)
    assert _count_offered(run_cli) == 0
    assert not store_home.exists()


def test_the_offer_can_be_dismissed_with_the_command_it_names(run_cli: RunCli, home: Path, store: Store) -> None:
    _past_session(home)
    silence = "git config --global reflect.hint.import false"
    assert f"hint: silence this with '{silence}'\n" in run_cli("status").err
    subprocess.run(silence.split(), check=True)
    assert _count_offered(run_cli) == 0


def test_sessions_that_were_read_are_not_offered(run_cli: RunCli, home: Path, store: Store) -> None:
    """Whether by a hook, or by an import of that file alone or one that was stopped."""
    first, second, _ = (_past_session(home) for _ in range(3))
    first.run_hook("SessionStart", source="startup")
    assert _count_offered(run_cli) == 2
    run_cli("import", "transcripts", str(second.path))
    assert _count_offered(run_cli) == 1


def test_nothing_is_offered_to_people_with_signals_or_without_capture(
    run_cli: RunCli, home: Path, store: Store
) -> None:
    _past_session(home)
    assert _count_offered(run_cli) == 1
    off = run_cli("status", "--json", env={"REFLECT_GIT_OFF": "1"})
    assert off.json()["data"]["unread_sessions"] == 0
    for number in range(10):
        assert _count_offered(run_cli) == 1
        _signal(store, f"use tool {number}")
    assert _count_offered(run_cli) == 0


def test_counting_past_sessions_does_not_read_them(home: Path, store: Store) -> None:
    """An unreadable file counts too; links and the transcripts of subagents do not."""
    session = _past_session(home)
    session.path.write_bytes(b"\0")
    session.path.chmod(0)
    session.path.with_name("link.jsonl").symlink_to(session.path)
    agents = session.path.with_suffix("") / "subagents"
    agents.mkdir(parents=True)
    (agents / "agent-1.jsonl").write_text("{}\n")
    assert sessions.count_unread_sessions(store, os.environ, 0.0) == 1


def test_a_fresh_store_says_what_comes_next(run_cli: RunCli, store: Store) -> None:
    assert run_cli("status").err == "", "the row of capture says it"
    run_cli("enable")
    assert run_cli("status").err.startswith("hint: when you correct Claude, a proposed rule waits here")
    assert run_cli("status", "--for-skill").err == ""
    _signal(store, "one")
    assert run_cli("status").err.startswith("hint: see what was noted: reflect-git review --all\n")
    _signal(store, "two", confidence=3)
    assert run_cli("status").err == "", "the row of what waits says it"
