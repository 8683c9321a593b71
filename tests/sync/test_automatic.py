"""Automatic sync: rare, only with something new, never with a question; failures are shown where people look."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from reflect_git.platform import remote_git
from reflect_git.records.ids import utc_precise
from reflect_git.store import policy, remotes
from reflect_git.sync import exchange
from tests.conftest import RunCli, wait_for_background
from tests.faults import git
from tests.sessions import Session
from tests.store.operations import BY
from tests.store.store_checks import capture
from tests.sync.clones import Clone

NOW = time.time()


@pytest.fixture
def laptop(store_home: Path, remote: Path) -> Clone:
    clone = Clone(store_home, str(remote))
    policy.set_policies(clone.store, {exchange.AUTO_KEY: "true"}, BY, utc_precise())
    return clone


def test_it_is_off_until_it_is_switched_on(store_home: Path, remote: Path) -> None:
    clone = Clone(store_home, str(remote))
    assert not exchange.sync_after_session(clone.store, clone.env, NOW)
    policy.set_keys(clone.store, {exchange.AUTO_KEY: "true"})
    assert not exchange.sync_after_session(clone.store, clone.env, NOW), "the config alone can be written by anybody"
    assert git(remote, "for-each-ref") == ""


def test_it_sends_what_is_new_at_most_every_half_hour(laptop: Clone, remote: Path) -> None:
    assert exchange.sync_after_session(laptop.store, laptop.env, NOW)
    assert git(remote, "rev-parse", "main").strip() == laptop.tip
    laptop.approve(1)
    assert not exchange.sync_after_session(laptop.store, laptop.env, NOW + 29 * 60)
    assert exchange.sync_after_session(laptop.store, laptop.env, NOW + 31 * 60)
    assert git(remote, "rev-parse", "main").strip() == laptop.tip
    assert not exchange.sync_after_session(laptop.store, laptop.env, NOW + 62 * 60), "nothing new"
    assert exchange.sync_before_review(laptop.store, laptop.env, NOW + 62 * 60), "but others may have something"
    assert exchange.is_due(laptop.store, NOW - 86400), "a clock that was put back does not stop it"


def test_signals_are_news_only_where_they_are_shared(laptop: Clone) -> None:
    exchange.sync_after_session(laptop.store, laptop.env, NOW)
    capture(laptop.store, "a signal")
    assert not exchange.has_unsent_changes(laptop.store)
    policy.set_policies(laptop.store, {"reflect.sync.signals": "true"}, BY, utc_precise())
    laptop.sync()
    assert not exchange.has_unsent_changes(laptop.store)
    capture(laptop.store, "another one")
    assert exchange.has_unsent_changes(laptop.store)


def test_the_end_of_a_session_does_it_in_the_background(laptop: Clone, remote: Path, home: Path) -> None:
    session = Session(home)
    session.say("no, never use npm in this project, always use pnpm instead")
    session.run_hook("SessionEnd")
    wait_for_background(home)
    assert git(remote, "rev-parse", "main").strip() == laptop.tip


def test_what_fails_is_told_by_status_and_doctor_alone(
    laptop: Clone, remote: Path, home: Path, run_cli: RunCli
) -> None:
    remote.rename(remote.with_name("away.git"))
    session = Session(home)
    session.say("no, never use npm in this project, always use pnpm instead")
    said = session.run_hook("SessionEnd")
    wait_for_background(home)
    assert said == ""
    assert "last sync" in run_cli("status").out and "failed" in run_cli("status").out
    assert "the last one failed" in run_cli("doctor").out
    assert remotes.load_state(laptop.store)["tried"]


def test_nobody_is_asked() -> None:
    """Row 63."""
    user = {"PATH": os.environ["PATH"], "GIT_ASKPASS": "/bin/ask", "SSH_ASKPASS": "/bin/ask", "DISPLAY": ":0"}
    quiet = remote_git.build_unattended_env(user)
    assert quiet["GIT_SSH_COMMAND"] == "ssh -oBatchMode=yes" and quiet["SSH_ASKPASS_REQUIRE"] == "never"
    assert not {"GIT_ASKPASS", "SSH_ASKPASS", "DISPLAY"} & set(quiet)
    assert (
        remote_git.build_unattended_env({"GIT_SSH_COMMAND": "ssh -i key"})["GIT_SSH_COMMAND"]
        == "ssh -i key -oBatchMode=yes"
    )
    assert "GIT_SSH_COMMAND" not in remote_git.build_unattended_env({"GIT_SSH": "/opt/plink"})
    assert remote_git.build_unattended_env({"GIT_SSH_COMMAND": "plink -batch"})["GIT_SSH_COMMAND"] == "plink -batch"
