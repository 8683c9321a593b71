"""Decisions of a machine that signs are signed, and a wrong signature is reported."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from reflect_git.errors import ReflectError
from reflect_git.records.ids import utc_precise
from reflect_git.store import policy
from reflect_git.store.main import signing
from reflect_git.store.repository import Store
from tests.faults import git
from tests.rules.audit.audited_store import TABS, approve, create_audited_store, list_codes, run_audit
from tests.rules.queues import BY, PNPM
from tests.store.test_signing import make_ssh_key


@pytest.fixture
def store(store_home: Path, home: Path) -> Store:
    store = create_audited_store(store_home, home, PNPM)
    make_ssh_key(home)
    policy.set_policies(store, {signing.SETTING: "ssh"}, BY, utc_precise())
    return store


def test_what_was_decided_before_needs_no_signature(store: Store) -> None:
    assert run_audit(store).ok
    told = {one["key"]: one for one in run_audit(store).policies}
    assert told[signing.SETTING]["value"] == "ssh"
    assert [one["by"]["name"] for one in told[signing.SETTING]["switched"]] == ["Ada"]


def test_a_decision_that_is_not_signed_though_it_should_be(
    store: Store, store_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(signing, "is_required", lambda *_: False)
        approve(store, TABS)
    tip = git(store_home, "rev-parse", "main").strip()
    assert [(one.code, one.subject) for one in run_audit(store).findings] == [("unsigned", tip)]
    policy.set_policies(store, {signing.SETTING: "none"}, BY, utc_precise())
    assert list_codes(store) == ["unsigned"], "switching it off takes nothing back"


def test_a_signature_that_does_not_fit_is_bad(store: Store, store_home: Path) -> None:
    approve(store, TABS)
    tip = signing.sign_commit(store, git(store_home, "rev-parse", "main").strip())
    data = git(store_home, "cat-file", "commit", tip).replace("approve: ", "approve: not ")
    forged = git(store_home, "hash-object", "-t", "commit", "-w", "--stdin", stdin=data).strip()
    git(store_home, "update-ref", "refs/heads/main", forged)
    found = {one.code: one.subject for one in run_audit(store).findings if one.needs_decision}
    assert found["signature-bad"] == forged
    git(store_home, "update-ref", "refs/heads/main", tip)
    assert {one.code for one in run_audit(store).findings} == {"ref-moved-back"}, "signed, and good"


def test_a_key_that_cannot_be_checked_is_said(store: Store, store_home: Path, home: Path) -> None:
    approve(store, TABS)
    tip = signing.sign_commit(store, git(store_home, "rev-parse", "main").strip())
    git(store_home, "update-ref", "refs/heads/main", tip)
    git(home, "config", "--global", "--unset", "user.signingKey")
    assert "signature-unknown" in {one.code for one in run_audit(store).findings}


def test_every_decision_is_signed_from_then_on(store: Store, store_home: Path) -> None:
    approve(store, TABS)
    assert git(store_home, "log", "-1", "--format=%s", "main").startswith("approve: ")
    found = run_audit(store)
    assert (found.ok, found.findings, found.counts["signed"]) == (True, (), 1)
    policy.set_policies(store, {signing.SETTING: None}, BY, utc_precise())
    assert run_audit(store).counts["signed"] == 2, "that it is off from now on is signed, too"


def test_what_cannot_be_signed_is_not_decided(store: Store, store_home: Path, home: Path) -> None:
    (home / "key").unlink()
    before = git(store_home, "rev-parse", "main")
    with pytest.raises(ReflectError, match="could not be signed"):
        approve(store, TABS)
    assert git(store_home, "rev-parse", "main") == before
    assert git(store_home, "status", "--porcelain") == ""


def test_an_agent_that_never_answers_keeps_nobody_from_switching_it_off(
    store: Store, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = home / "agent"
    program.write_text("#!/bin/sh\nexec sleep 6\n", encoding="utf-8")
    program.chmod(0o755)
    git(home, "config", "--global", "gpg.ssh.program", str(program))
    monkeypatch.setattr(signing, "_TRIAL_SECONDS", 0.3)
    before = time.monotonic()
    policy.set_policies(store, {signing.SETTING: None}, BY, utc_precise())
    assert time.monotonic() - before < 5
    git(home, "config", "--global", "--unset", "gpg.ssh.program")
    assert list_codes(store) == ["unsigned"]


def test_who_cannot_sign_any_more_can_switch_it_off_and_an_audit_tells_of_it(
    store: Store, store_home: Path, home: Path
) -> None:
    (home / "key").unlink()
    policy.set_policies(store, {signing.SETTING: None}, BY, utc_precise())
    tip = git(store_home, "rev-parse", "main").strip()
    assert [(one.code, one.subject) for one in run_audit(store).findings] == [("unsigned", tip)]
    approve(store, TABS)
    assert list_codes(store) == ["unsigned"], "and then goes on without"


def test_it_is_switched_on_by_who_can_sign(store_home: Path, home: Path) -> None:
    """Otherwise nothing could be decided any more, not even to switch it off."""
    store = create_audited_store(store_home, home, PNPM)
    before = git(store_home, "rev-parse", "main")
    with pytest.raises(ReflectError, match="nothing can be signed") as refused:
        policy.set_policies(store, {signing.SETTING: "ssh"}, BY, utc_precise())
    assert "user.signingKey" in str(refused.value.hint)
    assert (git(store_home, "rev-parse", "main"), store.get_setting(signing.SETTING)) == (before, "")
