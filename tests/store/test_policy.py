"""Switching a policy is a decision on main; changes made directly in the config are noticed."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from reflect_git.capture import service
from reflect_git.errors import ReflectError
from reflect_git.platform import faults, files
from reflect_git.records import yaml_form
from reflect_git.store import config_file, policy, recover
from reflect_git.store.main import journal
from reflect_git.store.reading import reader
from reflect_git.store.repository import Store

ME: Any = {"road": "terminal", "name": "Ada", "email": "ada@localhost"}
NOW = "2026-02-11T09:00:00Z"


@pytest.fixture
def store(store_home: Path) -> Store:
    return service.open_store(os.environ)


def decisions(store: Store) -> list[Any]:
    return reader.read(store).history.decisions


def test_a_switch_is_one_commit_that_says_from_what_to_what(store: Store) -> None:
    before = store.git.resolve("main")
    commit = policy.set_policies(store, {"reflect.capture": "false"}, ME, NOW, reason="holidays")
    assert store.git.resolve("main") == commit
    assert store.git.resolve(f"{commit}^") == before
    message = store.git.run("log", "-1", "--format=%B", "main").out.decode()
    (made,) = decisions(store)
    assert message.splitlines() == [
        "policy: reflect.capture=false",
        "",
        f"Decision: {made['id']}",
        "Approved-By: terminal",
        f"Machine: {store.machine}",
        "",
    ]
    assert (made["kind"], made["subject"], made["reason"], made["by"]) == ("policy", "reflect.capture", "holidays", ME)
    assert made["meta"].pop("at") > 1_700_000_000_000_000_000
    assert made["meta"] == {"from": {"reflect.capture": None}, "to": {"reflect.capture": "false"}}
    assert store.get_setting("reflect.capture") == "false"
    path = f"decisions/2026/02/{made['id']}.yaml"
    assert yaml_form.parse(Path(store.path(path)).read_bytes())["by"] == ME


def test_a_list_keeps_its_order_and_loses_what_is_taken_out(store: Store) -> None:
    policy.set_policies(store, {"reflect.ignore": ["/a", "/b", "/c"]}, ME, NOW)
    assert store.config["reflect.ignore"] == ["/a", "/b", "/c"]
    policy.set_policies(store, {"reflect.ignore": ["/c"]}, ME, NOW)
    assert Store(store.root).config["reflect.ignore"] == ["/c"]
    policy.set_policies(store, {"reflect.ignore": None}, ME, NOW)
    assert "reflect.ignore" not in Store(store.root).config
    assert policy.find_undecided(store, decisions(store)) == []


def test_a_setting_of_this_machine_is_no_decision(store: Store) -> None:
    before = store.git.resolve("main")
    policy.set_keys(store, {"reflect.pausedUntil": NOW})
    assert (store.get_setting("reflect.pausedUntil"), store.git.resolve("main")) == (NOW, before)


def test_decisions_of_one_second_are_read_in_the_order_they_were_made(store: Store) -> None:
    for value in ("false", "true", "false", "true", None, "false"):
        policy.set_policies(store, {"reflect.capture": value}, ME, NOW)
        assert policy.get_decided(store, decisions(store)) == {"reflect.capture": value}


def test_what_was_set_without_a_decision_is_seen(store: Store) -> None:
    policy.set_policies(store, {"reflect.capture": "false"}, ME, NOW)
    store.change_config({"reflect.capture": "true", "reflect.approval": "unattended"})
    assert policy.find_undecided(store, decisions(store)) == ["reflect.approval", "reflect.capture"]


def test_a_decision_of_another_machine_does_not_count_here(store: Store) -> None:
    policy.set_policies(store, {"reflect.approval": "unattended"}, ME, NOW)
    (made,) = decisions(store)
    made["machine"] = "elsewhere-1234"
    assert policy.get_decided(store, [made]) == {}


def test_a_config_that_somebody_holds_leaves_no_decision(store: Store) -> None:
    lock = Path(store.git_dir, "config.lock")
    lock.touch()
    with pytest.raises(ReflectError) as error:
        policy.set_policies(store, {"reflect.capture": "false"}, ME, NOW)
    assert error.value.code == "config-locked"
    assert (decisions(store), lock.exists(), journal.has_entries(store)) == ([], True, False)


def test_what_another_git_writes_meanwhile_stays(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    real = files.link
    seen: list[str] = []

    def meddle(old: str, new: str) -> None:
        if not seen:
            store.git.run("config", "--local", "user.name", "Ada")
        seen.append(new)
        real(old, new)

    monkeypatch.setattr(files, "link", meddle)
    policy.set_keys(store, {"reflect.ttl": "20"})
    opened = Store(store.root)
    assert (opened.get_setting("user.name"), opened.get_setting("reflect.ttl"), len(seen)) == ("Ada", "20", 2)


@pytest.mark.parametrize("key", ["reflect.capture", "REFLECT.APPROVAL"])
def test_policies_are_known_whatever_their_case(key: str) -> None:
    assert policy.is_policy(key)
    assert not policy.is_policy("reflect.ttl")


def _time(minutes: int) -> str:
    return f"2026-02-11T{minutes // 60:02d}:{minutes % 60:02d}:00Z"


def _killed_at(store: Store, number: int) -> bool:
    child = os.fork()
    if child == 0:
        faults.arm(f"kill:{number}", store.root, os.path.dirname(store.root))
        policy.set_policies(store, {"reflect.capture": "false", "reflect.ignore": ["/a", "/b"]}, ME, _time(2 * number))
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -9


@pytest.mark.parametrize("step", [5, pytest.param(1, marks=pytest.mark.slow)])
def test_a_switch_that_is_killed_never_changes_what_history_does_not_know(store: Store, step: int) -> None:
    number = 1
    while _killed_at(store, number):
        recover.recover_store(store)
        opened = Store(store.root)
        said = policy.get_decided(opened, decisions(opened))
        assert policy.find_undecided(opened, decisions(opened)) == [], (number, said)
        assert (journal.has_entries(opened), os.path.exists(Path(store.git_dir, "config.lock"))) == (False, False)
        policy.set_policies(opened, {"reflect.capture": None, "reflect.ignore": None}, ME, _time(2 * number + 1))
        store.reload()
        number += step
    assert number > 10
    assert Store(store.root).config["reflect.ignore"] == ["/a", "/b"]


def test_an_interrupted_switch_can_be_finished(store: Store) -> None:
    facts = {"changes": {"reflect.capture": "false"}}
    standing = journal.begin(store, "config", ("config.lock",), facts)
    with store.locked(1.0):
        policy.finish_change(store, standing, facts)
    assert (Store(store.root).get_setting("reflect.capture"), journal.has_entries(store)) == ("false", False)


LOOSER = [
    ("reflect.approval", "unattended", None), ("reflect.capture.unattended", "all", None),
    ("reflect.sync.apply", "auto", None), ("reflect.sync.auto", "yes", None), ("reflect.sync.signals", "true", None),
    ("reflect.sync.requireSigned", "false", "true"), ("reflect.sync.requireSigned", None, "true"),
    ("reflect.capture", "true", "false"), ("reflect.capture", None, "false"),
]  # fmt: skip
STRICTER = [
    ("reflect.approval", "ask", "unattended"), ("reflect.capture", "off", None), ("reflect.sign", "ssh", None),
    ("reflect.capture.unattended", None, "all"), ("reflect.sync.apply", None, "auto"),
    ("reflect.sync.auto", "false", "true"), ("reflect.sync.requireSigned", "true", None),
]  # fmt: skip


def _by_hand(store: Store, key: str, value: str | None) -> Store:
    """Change the config with a person's own git, and open it as the next hook does."""
    words = ("config", key, value) if value is not None else ("config", "--unset-all", key)
    store.git.run(*words)
    return Store(store.root)


@pytest.mark.parametrize(("key", "value", "before"), LOOSER)
def test_a_config_by_hand_makes_no_policy_looser(store: Store, key: str, value: str | None, before: Any) -> None:
    if before is not None:
        policy.set_policies(store, {key: before}, ME, NOW)
    opened = _by_hand(store, key, value)
    assert (policy.get_configured(opened, key), policy.get_effective(opened, key)) == (value, before)
    assert opened.get_setting(key) == (before or "")
    assert policy.find_undecided(opened, decisions(opened)) == [key]
    said, hint = policy.describe_undecided(opened, key)
    counts = before or config_file.POLICIES[key][0]
    assert said == f"{key} is {value or 'unset'}, and no decision of this machine says so: {counts} counts"
    assert f"reflect-git config {f'{key} {value}' if value else f'--unset {key}'}" in hint


@pytest.mark.parametrize(("key", "value", "before"), STRICTER)
def test_a_config_by_hand_makes_a_policy_stricter(store: Store, key: str, value: str | None, before: Any) -> None:
    if before is not None:
        policy.set_policies(store, {key: before}, ME, NOW)
    opened = _by_hand(store, key, value)
    assert policy.get_effective(opened, key) == value
    assert "stricter" in policy.describe_undecided(opened, key)[0]


def test_an_ignored_folder_that_is_taken_out_by_hand_stays_ignored(store: Store) -> None:
    policy.set_policies(store, {"reflect.ignore": ["/a", "/b"]}, ME, NOW)
    opened = _by_hand(store, "reflect.ignore", None)
    assert opened.get_values("reflect.ignore") == ["/a", "/b"] and service.is_ignored(opened, "/a")
    opened = _by_hand(store, "reflect.ignore", "/c")
    assert opened.get_values("reflect.ignore") == ["/c", "/a", "/b"]


@pytest.mark.parametrize("key", ["reflect.approval", "reflect.sync.signals", "reflect.sync.apply"])
def test_a_decision_that_was_not_made_at_a_terminal_loosens_nothing(store: Store, key: str) -> None:
    alone: Any = {**ME, "road": "unattended"}
    value = {"reflect.approval": "unattended", "reflect.sync.signals": "true", "reflect.sync.apply": "auto"}[key]
    policy.set_policies(store, {key: value}, alone, NOW)
    assert store.get_setting(key) == "" and policy.find_undecided(store, decisions(store)) == [key]
    policy.set_policies(store, {key: value}, ME, "2026-02-11T09:00:01Z")
    assert store.get_setting(key) == value and policy.find_undecided(store, decisions(store)) == []


def test_what_was_decided_is_found_on_main_where_the_private_folder_is_gone(store: Store) -> None:
    changes: Any = {
        "reflect.sync.signals": "true",
        "reflect.ignore": ["/a", "/b"],
        "reflect.sync.requireSigned": "true",
    }
    policy.set_policies(store, changes, ME, NOW)
    shutil.rmtree(store.private)
    for key in ("reflect.sync.requireSigned", "reflect.approval"):
        store.git.run("config", key, {"reflect.approval": "unattended"}.get(key, "false"))
    opened = service.open_recovered_store(os.environ)
    assert [opened.get_setting(key) for key in changes] == ["true", "/b", "true"]
    assert opened.get_setting("reflect.approval") == ""


def test_a_hook_captures_by_what_was_decided(store: Store, home: Path) -> None:
    policy.set_policies(store, {"reflect.capture": "false"}, ME, NOW)
    opened = _by_hand(store, "reflect.capture", "true")
    assert not service.is_capturing(opened, os.environ, str(home), 0.0)
    assert not service.is_capturing(Store(store.root), os.environ, str(home), 0.0), "from the cache, too"
