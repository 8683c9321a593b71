"""A file with hard links is never replaced, since its other names would keep the old text. The preview refuses it."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from reflect_git.errors import ReflectError
from reflect_git.platform import instruction_files
from reflect_git.rules import amend, arrivals, restore
from reflect_git.rules.drift import drift, resolve_drift
from reflect_git.store import recover
from reflect_git.store.main import backups, journal
from reflect_git.store.main.approval import FileChange, apply_changes
from reflect_git.store.reading import reader
from reflect_git.store.repository import Store
from tests.conftest import RunCli
from tests.faults import git
from tests.rules import reverts
from tests.rules.queues import BY, capture_signal, get_project_folder
from tests.rules.reverts import approve, open_queue, read_claude_md, write_project_file
from tests.rules.test_arrivals import approved_elsewhere

SAID = "has 2 hard links; replacing it would separate them"


@pytest.fixture
def rule(store: Store) -> str:
    return approve(store, "use pnpm, not npm").learning


def hard_link(path: Path) -> Path:
    other = path.parent / "other-name"
    os.link(path, other)
    return other


def require_refused(store: Store, act: Callable[[], object]) -> None:
    """Check that it is refused with a hint; both names keep one text, and the store is unchanged."""
    path = get_project_folder(os.environ) / "CLAUDE.md"
    other, before, main = hard_link(path), path.read_bytes(), git(Path(store.root), "rev-parse", "main")
    with pytest.raises(ReflectError) as caught:
        act()
    assert SAID in caught.value.message and f"cp -p {path} {path}.copy && mv" in (caught.value.hint or "")
    assert os.path.samefile(path, other) and path.read_bytes() == before
    assert git(Path(store.root), "rev-parse", "main") == main and not journal.has_entries(store)


def test_an_approval(store: Store, rule: str) -> None:
    require_refused(store, lambda: approve(store, "use ruff, not black"))


def test_an_edit(store: Store, rule: str) -> None:
    queue = open_queue(store)
    wanted = amend.AmendRequest("Use pnpm 9, not npm")
    require_refused(store, lambda: amend.plan_amendment(queue, amend.find_rule_to_amend(queue, rule), wanted))


def test_a_revert(store: Store, rule: str) -> None:
    require_refused(store, lambda: reverts.propose(store, rule))


def test_a_restore(store: Store, rule: str) -> None:
    backup = backups.list_backups(store)[0]
    require_refused(store, lambda: restore.plan_restore(open_queue(store), backup))


def test_what_was_changed_by_hand_is_not_put_back(store: Store, rule: str) -> None:
    write_project_file(read_claude_md().replace(b"pnpm, not npm", b"yarn, not npm"))
    queue = open_queue(store)
    (one,) = drift.find_drift(store, os.environ, queue.place, queue.scan.history).open_differences
    require_refused(store, lambda: resolve_drift.plan_rule_restore(queue, one))


def test_an_arrival_is_shown_as_refused(store: Store) -> None:
    approved_elsewhere(store, "Use ruff, not black")

    def take() -> None:
        (one,) = arrivals.list_arrivals(open_queue(store))
        assert one.trouble is not None and SAID in one.trouble.message
        arrivals.apply_arrivals(open_queue(store), [one], BY)

    require_refused(store, take)


def test_a_change_that_was_shown_before_the_link_was_made(store: Store, rule: str) -> None:
    """The last check is right before the file is replaced; everything done so far is undone."""
    path, before = get_project_folder(os.environ) / "CLAUDE.md", read_claude_md()
    change = FileChange(str(path), before, before + b"more\n")
    require_refused(store, lambda: apply_changes(store, rule, [change], {}, "approve: more\n", 0.0))
    recover.recover_store(store)
    assert path.read_bytes() == before


def test_a_killed_change_is_finished_once(store: Store, rule: str) -> None:
    """A journal that finds its file hard-linked ends, whatever became of the change."""
    path, other = get_project_folder(os.environ) / "CLAUDE.md", get_project_folder(os.environ) / "AGENTS.md"
    other.write_bytes(b"# Agents\n")
    before = read_claude_md()
    facts = {
        "changes": [
            {"path": str(path), "before": _packed(b"older"), "after": _packed(before), "present": [], "absent": []},
            {"path": str(other), "before": _packed(b"# Agents\n"), "after": _packed(b"new\n"), "present": [],
             "absent": []},
        ],
        "message": "approve: something\n", "files": {},
    }  # fmt: skip
    hard_link(other)
    journal.begin(store, "apply", (), facts)
    recover.recover_store(store)
    assert not journal.has_entries(store)
    assert other.stat().st_nlink == 2 and other.read_bytes() == b"# Agents\n"


def _packed(data: bytes) -> str:
    import base64

    return base64.b64encode(data).decode("ascii")


def test_a_file_that_is_gone_is_made_though_others_are_linked(store: Store, rule: str, tmp_path: Path) -> None:
    path = tmp_path / "new.md"
    instruction_files.replace(str(path), None, b"text\n")
    assert path.stat().st_nlink == 1
    instruction_files.replace(str(path), b"text\n", b"more\n")
    os.link(path, tmp_path / "two")
    for after in (b"other\n", None):
        with pytest.raises(ReflectError, match=SAID):
            instruction_files.replace(str(path), b"more\n", after)
    assert sorted(os.listdir(tmp_path)) == ["new.md", "two"], "no temporary file is left"


@pytest.mark.parametrize("verb", [("uninstall", "--unmark"), ("uninstall", "--erase")])
def test_uninstall_names_it_before_it_asks(store: Store, rule: str, run_cli: RunCli, verb: tuple[str, ...]) -> None:
    path = get_project_folder(os.environ) / "CLAUDE.md"
    other, before = hard_link(path), path.read_bytes()
    for more in (["--dry-run"], ["--yes"]):
        done = run_cli(*verb[:1], *verb[1:], *more, cwd=path.parent)
        assert (done.code, SAID in done.err) == (1, True)
    assert os.path.samefile(path, other) and path.read_bytes() == before
    assert reader.scan(store).history.get_rules_in_force(), "the store is still there"


def test_approve_previews_the_refusal(store: Store, rule: str, run_cli: RunCli) -> None:
    path = get_project_folder(os.environ) / "CLAUDE.md"
    hard_link(path)
    signal = capture_signal(store, "use ruff, not black", session_id="two")
    done = run_cli("approve", signal, "--dry-run", cwd=path.parent)
    assert done.code != 0 and SAID in done.err and "hint: make the others symbolic links" in done.err


@pytest.mark.parametrize("verb", [["enable"], ["enable", "--dry-run"]])
def test_settings(run_cli: RunCli, home: Path, store_home: Path, verb: list[str]) -> None:
    path = home / ".claude/settings.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text("{}\n")
    other = hard_link(path)
    done = run_cli(*verb)
    assert (done.code, SAID in done.err) == (1, True)
    assert os.path.samefile(path, other) and path.read_text() == "{}\n"


@pytest.mark.parametrize("name", ["CLAUDE.md", ".claude/improvements.md", ".claude/rules/reflect/x.md"])
@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir, lambda path: os.symlink("/dev/zero", path)])
@pytest.mark.parametrize("verb", [["review", "--no-input"], ["rules"], ["audit"], ["improvements"], ["candidates"]])
def test_commands_do_not_wait_for_an_odd_instruction_file(
    store: Store, run_cli: RunCli, name: str, make: Callable[[str], None], verb: list[str]
) -> None:
    path = get_project_folder(os.environ) / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    make(str(path))
    done = run_cli(*verb, cwd=get_project_folder(os.environ), timeout=20)
    assert "Traceback" not in done.err and "bug:" not in done.err


@pytest.mark.parametrize("to", ["project", "improvements"])
def test_an_approval_into_a_fifo_says_so(store: Store, run_cli: RunCli, to: str) -> None:
    path = get_project_folder(os.environ) / ("CLAUDE.md" if to == "project" else ".claude/improvements.md")
    path.parent.mkdir(exist_ok=True)
    path.unlink(missing_ok=True)
    os.mkfifo(path)
    signal = capture_signal(store, "use ruff, not black", session_id="two")
    done = run_cli("approve", signal, "--to", to, "--dry-run", cwd=get_project_folder(os.environ), timeout=20)
    assert done.code != 0 and f"'{path}' is not a file" in done.err


@pytest.mark.parametrize("verb", [["enable"], ["disable"], ["status"], ["doctor"], ["uninstall"]])
def test_settings_that_are_a_fifo(run_cli: RunCli, home: Path, store_home: Path, verb: list[str]) -> None:
    (home / ".claude").mkdir(exist_ok=True)
    os.mkfifo(home / ".claude/settings.json")
    done = run_cli(*verb, timeout=20)
    assert "Traceback" not in done.err and "bug:" not in done.err
    if done.code:
        assert "settings.json" in done.err + done.out and "file" in done.err + done.out
