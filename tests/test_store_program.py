"""hooks/store.py: the store for scripts, with nothing but an interpreter and a checkout."""

from __future__ import annotations

import json
import os
import pty
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import REAL_GIT, REPO, RunCli
from tests.store.store_checks import allow_unattended

PROGRAM = REPO / "hooks" / "store.py"
SECRET = "ghp_x7Kq92LmZpR4vT8wYbN3cD6fGhJ1sA5eQuXo"


@dataclass(frozen=True)
class Answer:
    code: int
    out: str
    err: str

    @property
    def data(self) -> Any:
        assert (self.code, self.err) == (0, ""), self.out
        document = json.loads(self.out)
        assert set(document) == {"schema_version", "data"}
        return document["data"]

    @property
    def error(self) -> dict[str, Any]:
        document = json.loads(self.out)
        assert set(document) == {"schema_version", "error"}
        assert self.err == ""
        error: dict[str, Any] = document["error"]
        return error


def store(*words: str, stdin: bytes = b"", env: Mapping[str, str] | None = None, program: Path = PROGRAM) -> Answer:
    done = subprocess.run(
        [sys.executable, "-I", "-S", str(program), *words],
        input=stdin, env={**os.environ, **(env or {})}, cwd=os.environ["HOME"], capture_output=True, check=False,
        timeout=60,
    )  # fmt: skip
    return Answer(done.returncode, done.stdout.decode("utf-8"), done.stderr.decode("utf-8"))


def _append(**entry: Any) -> str:
    data = store("append", json.dumps({"type": "failure", "content": "make failed", **entry})).data
    assert set(data) == {"id", "commit"}
    assert data["commit"]
    identity: str = data["id"]
    return identity


def test_append_and_get(store_home: Path) -> None:
    identity = _append(
        content="Bash failed: make", tags=["Bash"], confidence=2, session_id="aaaa-1", meta={"score": 0.5}
    )
    record = store("get", identity).data
    told = {name: record[name] for name in ("content", "tags", "confidence", "session_id", "meta", "trust", "status")}
    assert told == {
        "content": "Bash failed: make", "tags": ["Bash"], "confidence": 2, "session_id": "aaaa-1",
        "meta": {"score": 0.5}, "trust": "assistant", "status": "captured",
    }  # fmt: skip


def test_append_reads_stdin(store_home: Path) -> None:
    data = store("append", "-", stdin='{"type": "gotcha", "content": "größe \\ud83d"}'.encode()).data
    assert store("get", data["id"]).data["content"] == "größe \ud83d"


@pytest.mark.parametrize(
    ("entry", "code", "message"),
    [
        ("", 2, "the entry is not a JSON object"),
        ("null", 2, "the entry is not an object"),
        ("[]", 2, "the entry is not an object"),
        ("{", 2, "the entry is not a JSON object"),
        ('{"content": "x", "content": "y"}', 2, "the entry has a key twice"),
        ('{"content": ""}', 2, "a signal needs a content"),
        ('{"content": "x", "type": "opinion"}', 2, "'opinion' is not a type"),
        ('{"content": "x", "type": ["failure"]}', 2, "'['failure']' is not a type"),
        ('{"content": "x", "category": "misc"}', 2, "'misc' is not a category"),
        ('{"content": "x", "confidence": 4}', 2, "'4' is not a confidence"),
        ('{"content": "x", "trust": "root"}', 2, "'root' is not a trust"),
        ('{"content": "x", "trust": "user_typed"}', 1, "trust 'user_typed' needs a person at a terminal"),
        ('{"content": "x", "trust": "user_feedback"}', 1, "trust 'user_feedback' needs a person at a terminal"),
        ('{"content": "x", "meta": ' + '{"a": ' * 20 + "1" + "}" * 21, 1, "record is nested deeper than 8 levels"),
        ('{"content": "x", "meta": {"a": "' + "x" * 70000 + '"}}', 1, "record is larger than 65536 bytes"),
    ],
)
def test_what_is_no_signal_is_refused(store_home: Path, entry: str, code: int, message: str) -> None:
    answer = store("append", entry)
    assert (answer.code, answer.error["message"]) == (code, message)
    assert store("stats").data["total"] == 0


@pytest.mark.parametrize("depth", [900, 5000, 100_000])
def test_deep_nesting_is_refused_without_a_traceback(store_home: Path, depth: int) -> None:
    answer = store("append", "-", stdin=b'{"content": "x", "meta": {"a": ' + b"[" * depth + b"]" * depth + b"}}")
    assert answer.code in (1, 2)
    assert "nested" in answer.error["message"]


def test_more_than_a_mebibyte_is_refused(store_home: Path) -> None:
    answer = store("append", "-", stdin=b'{"content": "' + b"x" * (1 << 20) + b'"}')
    assert (answer.code, answer.error["message"]) == (2, "the entry is larger than 1 MiB")


def test_bytes_that_are_no_utf8_do_no_harm(store_home: Path) -> None:
    data = store("append", "-", stdin=b'{"content": "caf\xe9"}').data
    assert store("get", data["id"]).data["content"].startswith("caf")


@pytest.mark.parametrize("trust", ["assistant", "tool_output", "remote", "imported"])
def test_trust_may_be_lowered(store_home: Path, trust: str) -> None:
    assert store("get", _append(trust=trust)).data["trust"] == trust


def _at_terminal(env: Mapping[str, str], *words: str) -> bytes:
    primary, secondary = pty.openpty()
    command = [sys.executable, "-I", "-S", str(PROGRAM), *words]
    done = subprocess.run(
        command,
        stdin=secondary,
        stdout=secondary,
        env={**os.environ, **env},
        start_new_session=True,
        check=False,
        timeout=60,
    )
    os.close(secondary)
    shown = os.read(primary, 65536)
    os.close(primary)
    return shown + b" exit %d" % done.returncode


def test_only_a_person_at_a_terminal_may_claim_the_users_words(store_home: Path) -> None:
    entry = '{"content": "lint first", "trust": "user_typed", "source": {"hook": "UserPromptSubmit", "entry": "u-1"}}'
    assert _at_terminal({"CLAUDECODE": "1"}, "append", entry).endswith(b"exit 1")
    assert store("stats").data["total"] == 0
    assert _at_terminal({}, "append", entry).endswith(b"exit 0")
    (stored,) = store("query").data
    assert (stored["trust"], stored["source"]["hook"], stored["source"]["entry"]) == ("user_typed", "manual", None)


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="processes above are read from /proc")
@pytest.mark.parametrize("mark", ["CLAUDECODE", "CLAUDE_CODE_SESSION_ID", "CLAUDE_PID"])
def test_a_terminal_below_the_client_is_nobody_s(store_home: Path, mark: str) -> None:
    """A command removed the client's environment variables and created its own terminal."""
    identity = _append(content="Use pnpm")
    claims = [["append", '{"content": "lint first", "trust": "user_typed"}'], ["promote", identity, "CLAUDE.md", "x"]]
    for words in claims:
        primary, secondary = pty.openpty()
        command = [sys.executable, "-I", "-S", str(PROGRAM), *words]
        bare = "{k: v for k, v in os.environ.items() if not k.startswith('CLAUDE')}"
        code = f"import os, subprocess, sys; sys.exit(subprocess.run({command!r}, env={bare}).returncode)"
        done = subprocess.run([sys.executable, "-c", code], stdin=secondary, stdout=secondary, check=False, timeout=60,
                              env={**os.environ, mark: "1"}, start_new_session=True)  # fmt: skip
        os.close(secondary)
        shown = os.read(primary, 65536).decode()
        os.close(primary)
        assert (done.returncode, "needs a person" in shown) == (1, True), shown
    assert [one["trust"] for one in store("query").data] == ["assistant"]


def test_computed_fields_are_not_taken_from_the_caller(store_home: Path) -> None:
    identity = _append(id="SIG-20200101-00000000", status="promoted", promoted_to="CLAUDE.md", machine="x", key="y")
    record = store("get", identity).data
    assert (record["status"], record["promoted_to"], identity == "SIG-20200101-00000000") == ("captured", None, False)
    assert (record["machine"] == "x", record["key"] == "y") == (False, False)


def test_a_secret_reaches_no_file(store_home: Path) -> None:
    identity = _append(content=f"token {SECRET}", context=SECRET, meta={SECRET: SECRET}, source={"file": SECRET})
    store("update", identity, json.dumps({"status": "dismissed", "reason": f"holds {SECRET}"}))
    held = [path for path in store_home.rglob("*") if path.is_file() and SECRET.encode() in path.read_bytes()]
    assert held == []


def test_query_filters(home: Path, store_home: Path) -> None:
    project = home / "shop"
    subprocess.run([REAL_GIT, "init", "-q", str(project)], check=True)
    old = _append(timestamp="2026-01-05T10:00:00Z", tags=["Bash", "make"], session_id="aaaa-1")
    new = _append(type="correction", project=str(project), tags=["Bash"], session_id="bbbb-2")
    for words, found in (
        ((), [old, new]),
        (("--type", "correction"), [new]),
        (("--type=failure",), [old]),
        (("--status", "captured", "--tag", "Bash"), [old, new]),
        (("--tag", "Bash", "--tag", "make"), [old]),
        (("--since", "1d"), [new]),
        (("--session", "aaaa"), [old]),
        (("--project", "shop"), [new]),
        (("--project", f"{project}/"), [new]),
    ):
        assert [signal["id"] for signal in store("query", *words).data] == found
    current = store("query", "--session", "current", env={"CLAUDE_CODE_SESSION_ID": "bbbb-2"})
    assert [signal["id"] for signal in current.data] == [new]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "a command is missing"),
        (("drop",), "'drop' is not a store command"),
        (("append",), "expected: store.py append '{…}' | -"),
        (("get",), "expected: store.py get ID"),
        (("get", "a", "b"), "expected: store.py get ID"),
        (("query", "--colour", "red"), "there is no option '--colour'"),
        (("query", "shop"), "there is no option 'shop'"),
        (("query", "--type"), "'--type' needs a value"),
        (("query", "--type", "opinion"), "'opinion' is not a type"),
        (("query", "--since", "soon"), "'soon' is not a time"),
        (("query", "--session", "current"), "there is no current session here"),
        (("archive", "soon"), "'soon' is not a time"),
        (("archive", "1d", "gone"), "'gone' is not a status"),
        (("stats", "--format", "xml"), "'xml' is not a format"),
        (("promote", "SIG", "", "text"), "'' is not a target"),
        (("promote", "SIG", "a\nb", "text"), "'a\\nb' is not a target"),
        (("promote", "SIG", "CLAUDE.md", " "), "an approval needs a text"),
        (("update", "SIG", '{"status": "dismissed", "related": "SIG"}'), "'related' is not a list of ids"),
    ],
)
def test_what_is_not_understood_ends_with_2(store_home: Path, words: tuple[str, ...], message: str) -> None:
    answer = store(*words)
    assert (answer.code, answer.error["code"], answer.error["message"]) == (2, "usage", message)


def test_update_is_a_decision(store_home: Path) -> None:
    identity = _append()
    decision = store("update", identity[13:], '{"status": "dismissed", "reason": "once only"}').data
    assert (decision["kind"], decision["subject"], decision["reason"]) == ("dismissed", identity, "once only")
    assert store("get", identity).data["status"] == "dismissed"
    assert store("update", identity, '{"status": "captured"}').data["kind"] == "reverted"
    assert store("get", identity).data["status"] == "captured"


@pytest.mark.parametrize("fields", ['{"status": "promoted"}', '{"confidence": 4}', '{"content": "other"}', "{}"])
def test_update_sets_nothing_that_is_computed(store_home: Path, fields: str) -> None:
    identity = _append()
    assert store("update", identity, fields).code == 2
    assert store("get", identity).data["status"] == "captured"


def test_update_is_for_signals(store_home: Path) -> None:
    decision = store("update", _append(), '{"status": "dismissed"}').data
    answer = store("update", decision["id"], '{"status": "dismissed"}')
    assert (answer.code, answer.error["message"]) == (2, f"'{decision['id']}' is not a signal")


def test_archive(store_home: Path) -> None:
    old, new = _append(timestamp="2026-01-05T10:00:00Z"), _append()
    assert [decision["kind"] for decision in store("archive", "2026-01-06").data] == ["archived"]
    assert [store("get", identity).data["status"] for identity in (old, new)] == ["archived", "captured"]
    assert store("archive", "2026-01-06", "captured").data == []


def test_signals_archived_together_by_their_age_are_not_related(store_home: Path, run_cli: RunCli) -> None:
    old = [_append(timestamp=f"2026-01-0{day}T10:00:00Z", content=f"Use tool {day}.") for day in (3, 4, 5)]
    (decision,) = store("archive", "2026-01-06").data
    assert sorted([decision["subject"], *decision["meta"]["signals"]]) == sorted(old)
    for identity in old:
        found = store("get", identity).data
        assert (found["status"], found["related"]) == ("archived", [])
    allow_unattended(store_home)
    assert run_cli("--yes", "revert", decision["id"]).code == 0
    for identity in old:
        found = store("get", identity).data
        assert (found["status"], found["related"]) == ("captured", [])


def test_signals_archived_as_related_stay_related(store_home: Path) -> None:
    first, second = (_append(content=f"Use tool {number}.") for number in (1, 2))
    store("update", first, json.dumps({"status": "archived", "related": [second]}))
    assert [store("get", identity).data["related"] for identity in (first, second)] == [[second], [first]]


def test_promote_needs_a_person(store_home: Path) -> None:
    identity = _append()
    for env in ({}, {"CLAUDECODE": "1"}):
        answer = store("promote", identity, "CLAUDE.md", "Use pnpm", env=env)
        assert (answer.code, answer.error["code"]) == (1, "approval")
    assert store("stats").data["learnings"] == 0


@pytest.mark.parametrize(
    ("place", "target"),
    [
        ("CLAUDE.md", {"kind": "project", "path": "CLAUDE.md"}),
        ("~/.claude/CLAUDE.md", {"kind": "global", "path": "~/.claude/CLAUDE.md"}),
        ("rules:testing.md", {"kind": "rules", "path": "testing.md"}),
        ("odd:name.md", {"kind": "project", "path": "odd:name.md"}),
    ],
)
def test_promote_records_and_writes_no_target(store_home: Path, home: Path, place: str, target: dict[str, str]) -> None:
    identity = _append(trust="tool_output")
    allow_unattended(store_home)
    learning = store("promote", identity, place, "Use pnpm, not npm").data
    assert (learning["target"], learning["trust"], learning["text"]) == (target, "tool_output", "Use pnpm, not npm")
    assert store("get", identity).data["status"] == "promoted"
    assert not (home / "CLAUDE.md").exists()
    refused = store("promote", identity, place, f"log in with {SECRET}")
    assert (refused.code, refused.error["code"]) == (1, "secret")


def test_stats(store_home: Path) -> None:
    assert store("stats", "--format", "statusline").out == "no signals waiting\n"
    _append()
    assert store("stats", "--format", "statusline").out == "1 signal waiting\n"
    _append(type="gotcha")
    assert store("stats", "--format=statusline").out == "2 signals waiting\n"
    _append(type="summary")
    assert store("stats", "--format=statusline").out == "2 signals waiting\n", "a summary waits for nobody"
    assert store("stats").data["type"] == {"failure": 1, "gotcha": 1}


def test_unknown_and_ambiguous_ids(store_home: Path) -> None:
    _append(), _append(content="other")
    assert (store("get", "nothing").code, store("get", "nothing").error["code"]) == (1, "unknown-id")
    assert (store("get", "SIG").code, store("get", "SIG").error["code"]) == (1, "ambiguous-id")


def test_help_is_text(store_home: Path) -> None:
    answer = store("--help")
    assert (answer.code, answer.err) == (0, "")
    assert [
        name for name in ("append", "query", "get", "update", "archive", "stats", "promote") if name not in answer.out
    ] == []
    assert not store_home.exists()


def test_a_file_in_place_of_a_folder_is_told(home: Path) -> None:
    (home / ".claude").write_text("not a folder")
    answer = store("append", '{"content": "x"}')
    assert (answer.code, answer.error["code"]) == (1, "system")


def test_it_says_the_same_as_the_command_line(run_cli: RunCli, store_home: Path) -> None:
    _append()
    assert json.loads(store("query").out) == run_cli("signals", "--json").json()
    assert json.loads(store("stats").out) == run_cli("stats", "--json").json()
    assert json.loads(store("get", "SIG-x").out) == run_cli("show", "SIG-x", "--json").json()


def test_it_runs_from_a_wheel(store_home: Path, tmp_path: Path) -> None:
    """There, hooks/ and templates/ are inside the package."""
    site = tmp_path / "site"
    shutil.copytree(REPO / "reflect_git", site / "reflect_git", ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("hooks", "templates"):
        shutil.copytree(REPO / name, site / "reflect_git" / "data" / name)
    data = store("append", '{"content": "x"}', program=site / "reflect_git" / "data" / "hooks" / "store.py").data
    assert data["commit"]


def test_append_loads_nothing_slow(store_home: Path) -> None:
    _append()  # creating the store happens once and may take longer
    command = [sys.executable, "-I", "-S", "-X", "importtime", str(PROGRAM), "append", '{"content": "x"}']
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    loaded = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    slow = {
        "argparse",
        "dataclasses",
        "json",
        "re",
        "datetime",
        "hashlib",
        "inspect",
        "pathlib",
        "subprocess",
        "typing",
    }
    assert loaded & slow == set()
    assert {"reflect_git.store.append", "reflect_git.store.api"} & loaded == {"reflect_git.store.append"}
