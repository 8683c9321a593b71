"""Decisions are signed with the person's own key, and git verifies the signatures."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from reflect_git.errors import ReflectError
from reflect_git.store.main import commit_log, signing
from reflect_git.store.repository import Store
from tests.faults import git
from tests.store.store_checks import open_store


@pytest.fixture
def store(store_home: Path) -> Store:
    return open_store(store_home)


def make_ssh_key(home: Path) -> Path:
    key = home / "key"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)], check=True)
    git(home, "config", "--global", "user.signingKey", str(key))
    return key


def sign(store: Store, kind: str = "ssh") -> commit_log.Commit:
    store.change_config({signing.SETTING: kind})
    made = signing.sign_commit(store, git(Path(store.root), "rev-parse", "main").strip())
    return commit_log.read(store, made)[0]


def test_a_commit_is_the_same_but_for_its_signature(store: Store, home: Path) -> None:
    make_ssh_key(home)
    git(home, "config", "--global", "i18n.commitEncoding", "latin1")
    before, after = commit_log.read(store)[0], sign(store)
    assert after.is_signed and not before.is_signed
    assert (after.message, after.parents, after.is_ours) == (before.message, before.parents, True)
    assert after.changes == before.changes
    assert signing.verify_commits(store, [after.id]) == {after.id: signing.GOOD}


@pytest.mark.parametrize("form", ["~/key", "key::{}", "{}"])
def test_a_key_may_be_named_in_every_way_that_git_knows(store: Store, home: Path, form: str) -> None:
    key = make_ssh_key(home)
    made = sign(store)
    public = key.with_suffix(".pub").read_text().strip()
    git(home, "config", "--global", "user.signingKey", form.format(public))
    assert signing.verify_commits(store, [made.id]) == {made.id: signing.GOOD}


def test_a_commit_that_was_changed_after_it_was_signed_is_bad(store: Store, home: Path) -> None:
    make_ssh_key(home)
    made = sign(store)
    data = git(Path(store.root), "cat-file", "commit", made.id).replace("a place", "another place")
    forged = git(Path(store.root), "hash-object", "-t", "commit", "-w", "--stdin", stdin=data).strip()
    assert signing.verify_commits(store, [made.id, forged]) == {made.id: signing.GOOD, forged: signing.BAD}


def test_a_key_that_nobody_knows_is_not_good(store: Store, home: Path) -> None:
    make_ssh_key(home)
    made = sign(store)
    for name in ("key", "key.pub"):
        os.unlink(home / name)
    make_ssh_key(home)
    assert signing.verify_commits(store, [made.id])[made.id] == signing.UNKNOWN
    git(home, "config", "--global", "--unset", "user.signingKey")
    assert signing.verify_commits(store, [made.id])[made.id] == signing.UNKNOWN


def test_without_a_key_it_is_said_what_to_do(store: Store, home: Path) -> None:
    store.change_config({signing.SETTING: "ssh"})
    with pytest.raises(ReflectError) as caught:
        signing.sign_commit(store, git(Path(store.root), "rev-parse", "main").strip())
    assert caught.value.code == "sign" and "user.signingKey" in str(caught.value.hint)


def test_only_decisions_are_signed_and_only_where_it_is_on(store: Store) -> None:
    paths = ["decisions/2026/02/DEC-20260211-7k3v9q2m.yaml"]
    assert not signing.is_required(store, paths)
    store.change_config({signing.SETTING: "gpg"})
    assert signing.is_required(store, paths)
    assert not signing.is_required(store, ["tally/2026/02/TLY-20260211-7k3v9q2m.yaml"])
    store.change_config({signing.SETTING: "none"})
    assert not signing.is_required(store, paths)


@pytest.mark.skipif(shutil.which("gpg") is None, reason="there is no gpg here")
def test_gpg_signs_with_the_key_of_the_person(
    store_home: Path, tmp_path_factory: pytest.TempPathFactory, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path_factory.mktemp("g")  # the path of its agent's socket must be short
    folder.chmod(0o700)
    monkeypatch.setenv("GNUPGHOME", str(folder))
    made = ["--batch", "--passphrase", "", "--quick-gen-key", "Ada <ada@example.com>", "ed25519", "sign", "never"]
    try:
        subprocess.run(["gpg", "--quiet", *made], check=True, capture_output=True)
        git(home, "config", "--global", "user.email", "ada@example.com")
        store = open_store(store_home)
        commit = sign(store, "gpg")
        assert signing.verify_commits(store, [commit.id]) == {commit.id: signing.GOOD}
    finally:
        subprocess.run(["gpgconf", "--kill", "gpg-agent"], check=False, capture_output=True)
