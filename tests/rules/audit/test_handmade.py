"""Commits made by hand that match ours in every byte, and backups that somebody removed."""

from __future__ import annotations

import os
import re
import time
from pathlib import Path

import pytest

from reflect_git import purge as purging
from reflect_git.store.inbox import STORED_FILE
from reflect_git.store.main import backups, receipts
from reflect_git.store.reading import reader
from reflect_git.store.repository import Store
from tests.faults import git
from tests.rules import queues
from tests.rules.audit.audited_store import (
    TABS,
    approve,
    create_audited_store,
    list_codes,
    list_records,
    read_claude_md,
    run_audit,
)
from tests.rules.queues import BY, PNPM
from tests.store.broken_store import run_check
from tests.store.store_checks import open_recovered_store

OURS = ("-c", "user.name=reflect-git", "-c", "user.email=reflect-git@localhost")
NEW = "no, always squash commits, never merge them"


@pytest.fixture
def store(store_home: Path, home: Path) -> Store:
    return create_audited_store(store_home, home, PNPM, TABS)


def forge(store: Store) -> str:
    """Make a rule from another one, with correct records, snapshot, entry and trailers."""
    root = Path(store.root)
    learning, decision = list_records(store, "learnings")[-1], list_records(store, "decisions")[-1]
    names = {path.stem: f"{path.stem[:-8]}zzzzzzz{number}" for number, path in enumerate((learning, decision))}

    def renamed(text: str) -> str:
        for old, new in names.items():
            text = text.replace(old, new)
        return text

    message = renamed(git(root, "log", "-1", "--format=%B", "main"))
    (mirror,) = root.glob("targets/**/CLAUDE.md")
    entry = re.search(rf"<!-- {learning.stem} -->\n\n- .*\n", mirror.read_text())
    assert entry
    for path in (learning, decision):
        path.with_name(f"{names[path.stem]}.yaml").write_text(renamed(path.read_text()))
    mirror.write_text(mirror.read_text().replace(entry[0], f"{entry[0]}\n{renamed(entry[0])}"))
    end = "<!-- reflect-git:end -->"
    read_claude_md().write_text(read_claude_md().read_text().replace(end, f"{renamed(entry[0])}\n{end}"))
    git(root, "add", "-A")
    git(root, *OURS, "commit", "-qm", message)
    return git(root, "rev-parse", "HEAD").strip()


def test_a_commit_made_by_hand_with_everything_that_ours_have(store: Store) -> None:
    made = forge(store)
    found = [one for one in run_audit(store).findings if one.code == "commit-by-hand"]
    assert [(one.subject, one.needs_decision) for one in found] == [(made, True)]
    assert f"revert {made[:10]}" in found[0].hint


def test_what_this_program_wrote_has_receipts(store: Store) -> None:
    approve(store, NEW)
    known = receipts.read_ids(store) or []
    assert sorted(known) == sorted(path.stem for path in list_records(store, "decisions")) and len(known) == 3
    assert list_codes(store) == []


def test_receipts_that_somebody_deleted(store: Store) -> None:
    forge(store)
    Path(store.private_path(receipts.FILE)).unlink()
    (found,) = [
        one for one in run_audit(open_recovered_store(Path(store.root))).findings if one.code == "receipts-lost"
    ]
    assert found.needs_decision


def forget_receipts(store: Store) -> None:
    """Leave the store as a version without receipts would."""
    for name in (receipts.FILE, STORED_FILE):
        Path(store.private_path(name)).unlink()


def test_a_store_from_before_starts_with_what_it_has(store: Store) -> None:
    forget_receipts(store)
    assert list_codes(open_recovered_store(Path(store.root))) == []
    assert len(receipts.read_ids(store) or []) == 2
    forge(store)
    assert "commit-by-hand" in list_codes(store)


def test_an_old_store_that_no_command_has_opened_yet(store: Store) -> None:
    forget_receipts(store)
    approve(store, NEW)
    assert list_codes(store) == []


def test_a_backup_that_somebody_removed(store: Store) -> None:
    ref = backups.list_refs(store)[0]
    git(Path(store.root), "update-ref", "-d", ref)
    found = [one for one in run_audit(store).findings if one.needs_decision]
    assert [one.code for one in found] == ["backup-missing"]
    assert ref.removeprefix("refs/heads/") in found[0].message


def test_a_backup_that_upkeep_removed(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backups, "KEEP_DAYS", -1)
    monkeypatch.setattr(backups, "KEEP_NEWEST", 0)
    backups.prune(store, time.time())
    assert backups.list_refs(store) == [] and list_codes(store) == []


def purge(store: Store, word: str) -> None:
    folder = str(queues.get_project_folder(os.environ))
    proposal = purging.plan_purge(store, os.environ, reader.read, purging.select_by_pattern(word), folder)
    purging.run_purge(store, os.environ, reader.read, proposal, BY, folder)


def missing_backups(store: Store) -> list[str]:
    """Return what audit reports; doctor must count the same."""
    found = [one for one in run_audit(store).findings if one.code == "backup-missing"]
    assert all(one.needs_decision for one in found)
    (said,) = run_check(store, "backups")
    assert said.message == (f"{len(found)} backup{'s' * (len(found) > 1)} missing" if found else said.message)
    assert bool(found) == ("missing" in said.message)
    return [name for one in found for name in re.findall("'(backup/[^']*)'", one.message)]


def delete_backup(store: Store, ref: str) -> str:
    git(Path(store.root), "update-ref", "-d", ref)
    return ref.removeprefix("refs/heads/")


def test_a_backup_that_somebody_removed_after_a_purge(store: Store) -> None:
    """The first backup does not contain the purged text, so the purge keeps it."""
    purge(store, "tabs")
    assert missing_backups(store) == [], "what the purge took is not missing"
    kept = backups.list_refs(store)
    assert kept
    lost = delete_backup(store, kept[-1])
    assert missing_backups(store) == [lost]


def test_a_backup_that_somebody_removed_before_a_purge(store: Store) -> None:
    lost = delete_backup(store, backups.list_refs(store)[-1])
    purge(store, "tabs")
    assert missing_backups(store) == [lost]


def test_a_second_purge_hides_no_missing_backup(store: Store) -> None:
    approve(store, NEW)
    purge(store, "tabs")
    lost = delete_backup(store, backups.list_refs(store)[-1])
    purge(store, "squash")
    assert lost in missing_backups(store)


def test_a_missing_backup_is_reported_for_90_days(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    delete_backup(store, backups.list_refs(store)[0])
    later = time.time() + 91 * 86400
    assert len(backups.find_missing(store, later - 2 * 86400)) == 1
    assert backups.find_missing(store, later) == []
    backups.prune(store, later)
    assert len(Path(store.private_path(backups.LIST_FILE)).read_text().split()) == len(backups.list_refs(store))


@pytest.mark.parametrize("text", [None, "", "backup/\nnonsense\n\0\n"])
def test_a_list_of_backups_that_somebody_deleted_or_spoiled(store: Store, text: str | None) -> None:
    """Commits since the last purge also name their backups; the next approval starts a new list."""
    path = Path(store.private_path(backups.LIST_FILE))
    path.unlink() if text is None else path.write_text(text)
    lost = delete_backup(store, backups.list_refs(store)[0])
    assert [one.code for one in run_audit(store).findings if lost in one.message] == ["backup-missing"]
    approve(store, NEW)
    purge(store, "tabs")
    kept = delete_backup(store, backups.list_refs(store)[0])
    assert kept in missing_backups(store)


def test_a_backup_of_a_killed_approval_is_missing_when_it_is_deleted(store: Store) -> None:
    """No commit names it."""
    backups.create(store, "LRN-20261118-aaaaaaaa", [("/nowhere", b"")], time.time())
    lost = delete_backup(store, backups.list_refs(store)[0])
    assert missing_backups(store) == [lost]
