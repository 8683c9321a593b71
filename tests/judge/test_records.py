"""Evaluation records: stored on main, indexed, shared between machines, and purged."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from reflect_git import purge
from reflect_git.records import yaml_form
from reflect_git.store import api
from reflect_git.store.index import Index
from reflect_git.store.reading import reader
from reflect_git.store.repository import Store, get_record_path
from reflect_git.sync import store_paths, validate
from tests import disk_search
from tests.conftest import RunCli
from tests.store.operations import BY
from tests.store.store_checks import open_store

GOLDEN = Path(__file__).parents[1] / "golden" / "EVL-20260214-3f6h8k1m.yaml"


def build_evaluation(**fields: Any) -> dict[str, Any]:
    return {**yaml_form.parse(GOLDEN.read_bytes()), **fields}


@pytest.fixture
def store(store_home: Path) -> Store:
    store = open_store(store_home)
    api.commit_records(store, [build_evaluation(machine=store.machine)], "evaluate: 1 session", {})
    return store


def test_an_evaluation_is_on_main_and_in_the_index(store: Store, run_cli: RunCli) -> None:
    (found,) = Index(store).list_records("EVL")
    assert found["overall"] == 3.17 and found["session"] == build_evaluation()["session"]
    assert reader.scan(store).other_records[found["id"]] == found
    shown = run_cli("show", found["id"])
    assert shown.code == 0 and "scores of a session" in shown.out and "completeness" in shown.out


def test_an_evaluation_is_purged_by_its_id(store: Store, store_home: Path) -> None:
    (found,) = Index(store).list_records("EVL")
    wish = purge.select_by_id(reader.read(store), found["id"])
    plan = purge.plan_purge(store, os.environ, reader.read, wish, str(store_home))
    purge.run_purge(store, os.environ, reader.read, plan, BY, str(store_home))
    assert found["id"] not in reader.read(store).by_id
    assert disk_search.find_texts(store_home, found["session"]) == []


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"machine": "desk-k3f9"}, ""),
        ({"machine": "laptop-7k3v"}, validate.IN_OUR_NAME),
        ({"machine": "desk-k3f9", "scores": {"tone": 9}}, "field 'scores'"),
    ],
)
def test_a_remote_evaluation_is_checked(fields: dict[str, Any], why: str) -> None:
    record = build_evaluation(**fields)
    path = get_record_path(record["id"])
    assert store_paths.get_main_kind(path) == store_paths.RECORD and not store_paths.get_inbox_kind(path)
    (fault,) = validate.check_contents([path], [yaml_form.emit(record)], store_paths.get_main_kind, us="laptop-7k3v")
    assert fault.startswith(why) and bool(fault) == bool(why)
