"""Rewording or moving a rule: files and one commit, whenever it is killed."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from reflect_git.errors import ReflectError
from reflect_git.rules import amend
from reflect_git.rules.approve import Request, plan_approval, write_approval
from reflect_git.store.reading import reader
from reflect_git.store.repository import Store
from tests.faults import FAIL, KILL, FaultRun, Operation, SavedStore, check_every_fault, git
from tests.rules import amendments
from tests.rules.queues import BY, capture_signal, get_project_folder, open_queue
from tests.store.store_checks import open_store, require_promises

BASE = b"# Shop\r\n\r\nOur own text.\r\n"
TEXT = "Use pnpm, not npm"


@pytest.fixture
def store(store_home: Path, home: Path) -> Store:
    """Create a store with one rule in force."""
    project = home / "shop"
    project.mkdir()
    git(project, "init", "-q", "-b", "main")
    (project / "CLAUDE.md").write_bytes(BASE)
    store = open_store(store_home)
    capture_signal(store, "use pnpm, not npm")
    queue = open_queue(store, os.environ)
    write_approval(queue, plan_approval(queue, Request(queue.candidates.strong[0], to="project")), BY)
    return store


class Files(SavedStore):
    """The saved store and both files."""

    def __init__(self, root: Path, store: Path, home: Path) -> None:
        super().__init__(root, store)
        self._local, self._global = get_project_folder(os.environ) / "CLAUDE.md", home / ".claude" / "CLAUDE.md"
        self._kept = store / "CLAUDE.md"
        shutil.copy(self._local, self._kept)

    def restore(self) -> None:
        super().restore()
        shutil.copy(self._kept, self._local)
        self._global.unlink(missing_ok=True)


def _text_in(path: Path) -> str:
    return path.read_bytes().decode() if path.exists() else ""


@pytest.mark.parametrize(
    "operation, mode, first, step",
    [
        (amendments.reword, KILL, 1, 7), (amendments.shorten, KILL, 3, 9), (amendments.widen, KILL, 2, 7),
        (amendments.widen, FAIL, 1, 11),
        *(
            pytest.param(operation, mode, 1, 1, marks=pytest.mark.slow)
            for operation in (amendments.reword, amendments.shorten, amendments.widen)
            for mode in (KILL, FAIL)
        ),
    ],
)  # fmt: skip
def test_whenever_it_is_struck_file_and_store_say_the_same(
    store: Store, home: Path, tmp_path: Path, operation: Operation, mode: str, first: int, step: int
) -> None:
    root = Path(store.root)

    def check(fault_run: FaultRun) -> None:
        require_promises(root)
        (rule,) = reader.scan(open_store(root)).history.get_rules_in_force()
        here, there = _text_in(get_project_folder(os.environ) / "CLAUDE.md"), _text_in(home / ".claude" / "CLAUDE.md")
        holder, other = (there, here) if rule["target"]["kind"] == "global" else (here, there)
        assert f"- {rule['text']}\r\n" in holder.replace("\r\n", "\n").replace("\n", "\r\n")
        assert rule["id"] not in other
        assert here.startswith("# Shop\r\n\r\nOur own text.\r\n")
        changed = rule["text"] != TEXT or rule["target"]["kind"] == "global"
        assert changed or not fault_run.output, "said to be done, and is not"

    check_every_fault(operation, Files(root, tmp_path, home), mode, check, first, step)


def test_an_amendment_in_a_form_that_no_learning_has_changes_nothing(store: Store) -> None:
    from reflect_git.records.ids import utc_precise
    from reflect_git.store import api

    (rule,) = reader.scan(store).history.get_rules_in_force()
    strange = api.build_decision(
        store, "amended", rule["id"], BY, utc_precise(), text="Use yarn", meta={"learning": {"paths": 7}}
    )
    api.commit_records(store, [strange], f"amend: {rule['id']}", {})
    assert reader.scan(store).history.get_rules_in_force()[0]["text"] == TEXT


def test_a_secret_in_a_field_of_an_improvement_is_refused(store: Store) -> None:
    capture_signal(store, "the readme should say which port the server uses")
    queue = open_queue(store, os.environ)
    wanted = next(each for each in (*queue.candidates.strong, *queue.candidates.weak) if "port" in each.text)
    done = write_approval(queue, plan_approval(queue, Request(wanted, to="improvements")), BY)
    queue = open_queue(store, os.environ)
    token = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" + "k1L2m3N4o5P6q7R8"
    changed = amend.plan_amendment(
        queue, amend.find_rule_to_amend(queue, done.learning), amend.AmendRequest(fields={"details": f"use {token}"})
    )
    assert [found.code for found in changed.findings if found.kind == "refused"] == ["secret"]
    with pytest.raises(ReflectError, match="known kind of secret"):
        amend.write_amendment(queue, changed, BY)


def test_the_topic_goes_with_the_file(store: Store) -> None:
    """And a rule in its own file is not a duplicate of itself."""

    def topic(to: str) -> str | None:
        queue = open_queue(store, os.environ)
        (rule,) = queue.scan.history.get_rules_in_force()
        amend.write_amendment(queue, amend.plan_amendment(queue, rule, amend.AmendRequest(to=to)), BY)
        return reader.scan(store).history.learnings[rule["id"]]["topic"]

    assert [topic(to) for to in ("rules:packages", "project", "rules")] == ["packages", None, None]


def test_a_rule_that_becomes_an_improvement_is_said_once(store: Store) -> None:
    queue = open_queue(store, os.environ)
    (rule,) = queue.scan.history.get_rules_in_force()
    amend.write_amendment(queue, amend.plan_amendment(queue, rule, amend.AmendRequest(to="improvements")), BY)
    entry = (get_project_folder(os.environ) / ".claude" / "improvements.md").read_text(encoding="utf-8")
    assert entry.count(TEXT) == 1
    assert reader.scan(store).history.learnings[rule["id"]]["text"] == TEXT


def test_no_rule_becomes_a_question(store: Store) -> None:
    queue = open_queue(store, os.environ)
    (rule,) = queue.scan.history.get_rules_in_force()
    changed = amend.plan_amendment(queue, rule, amend.AmendRequest(text="Should we use pnpm?"))
    assert [found.code for found in changed.findings if found.kind == "refused"] == ["question"]
