"""append, query, get, update, archive, stats, promote: the store's calls as documented."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from reflect_git.errors import ReflectError
from reflect_git.records.ids import digest, utc
from reflect_git.store import api
from reflect_git.store.reading import reader
from reflect_git.store.repository import Store
from tests.faults import git
from tests.store.operations import BY
from tests.store.store_checks import capture, inbox_ids, main_paths, open_store

TARGET: Any = {"kind": "project", "path": "CLAUDE.md"}


@pytest.fixture
def store(store_home: Path) -> Store:
    return open_store(store_home)


def update(store: Store, identity: str, **fields: Any) -> Any:
    return api.update(store, reader.read(store), identity, fields, BY, utc())


def status_of(store: Store, identity: str) -> str:
    return str(reader.read(store).by_id[identity]["status"])


def test_append_returns_the_commit_that_has_it(store: Store, store_home: Path) -> None:
    from reflect_git.capture import service
    from tests.store.operations import facts

    signal, commit = service.capture_signal(store, facts("use tabs"), {})
    assert commit and signal["id"] in git(store_home, "show", "--stat", "--format=%B", commit)
    assert f"Signal-Id: {signal['id']}" in git(store_home, "log", "-1", "--format=%(trailers)", commit)


def test_append_refuses_what_is_no_signal(store: Store, store_home: Path) -> None:
    with pytest.raises(ReflectError):
        api.append(store, {"id": "SIG-20260211-7k3v9q2m", "version": 1})
    assert inbox_ids(store_home) == set()


def test_the_same_moment_twice_is_one_signal_and_the_first_one_stays(store: Store, store_home: Path) -> None:
    moment = {"source": {"entry": "toolu_01"}, "family": "failure", "timestamp": "2026-02-11T09:30:00Z"}
    first = capture(store, "as the hook saw it", **moment)
    second = capture(store, "as the miner told it", **moment)
    assert first["id"] == second["id"]
    assert [signal["content"] for signal in reader.read(store).signals] == ["as the hook saw it"]
    (copy,) = (store_home / "signals").rglob("SIG-*")
    assert "as the hook saw it" in copy.read_text()


def test_query_passes_what_passes_every_filter(store: Store) -> None:
    app = {"key": "example.com/app", "name": "app"}
    a = capture(store, "a", tags=["x", "y"], session_id="s-1", project=app)["id"]
    b = capture(store, "b", tags=["x"], session_id="s-2", type="failure")["id"]
    update(store, b, status="dismissed")
    signals = reader.read(store).signals

    def ids(**filters: Any) -> set[str]:
        return {signal["id"] for signal in api.query(signals, **filters)}

    assert ids() == {a, b} == ids(tags=["x"]) == ids(since="2020-01-01T00:00:00Z") == ids(session="s-")
    assert ids(tags=["x", "y"]) == ids(session="s-1") == ids(project="app") == ids(project=app["key"]) == {a}
    assert ids(status="dismissed") == ids(kind="failure") == {b}
    assert ids(status="dismissed", tags=["y"]) == ids(since="2999-01-01T00:00:00Z") == ids(project="example") == set()


def test_get_takes_any_unique_beginning(store: Store) -> None:
    identity = capture(store, "a")["id"]
    snapshot = reader.read(store)
    for prefix in (identity, identity.lower(), identity[:-2], identity[-8:], identity[-8:-3], f" {identity} "):
        assert api.get(snapshot, prefix)["id"] == identity


@pytest.mark.parametrize("prefix", ["", " ", "nothing", "SIG-19990101", "*", ".."])
def test_get_says_that_there_is_none(store: Store, prefix: str) -> None:
    capture(store, "a")
    with pytest.raises(ReflectError) as caught:
        api.get(reader.read(store), prefix)
    assert caught.value.code == "unknown-id"


def test_get_says_that_there_are_several(store: Store) -> None:
    for number in range(7):
        capture(store, f"signal {number}")
    with pytest.raises(ReflectError) as caught:
        api.get(reader.read(store), "SIG-")
    assert caught.value.code == "ambiguous-id" and "…" in str(caught.value.hint)


@pytest.mark.parametrize("status", ["dismissed", "analyzed", "archived"])
def test_update_writes_a_decision_and_leaves_the_signal_alone(store: Store, store_home: Path, status: str) -> None:
    identity = capture(store, "use tabs")["id"]
    ref = f"inbox/{store.machine}/0001"
    before = git(store_home, "rev-parse", ref)
    made = update(store, identity, status=status, reason="no")
    assert status_of(store, identity) == status
    assert git(store_home, "rev-parse", ref) == before
    assert any(made["id"] in path for path in main_paths(store_home))
    trailers = git(store_home, "log", "-1", "--format=%(trailers)", "main")
    assert f"Signal-Id: {identity}" in trailers and f"Decision: {made['id']}" in trailers


def test_captured_opens_it_again_and_says_what_it_reopens(store: Store) -> None:
    identity = capture(store, "use tabs")["id"]
    dismissed = update(store, identity, status="dismissed")
    assert update(store, identity, status="captured")["reopens"] == dismissed["id"]
    assert status_of(store, identity) == "captured"


def test_update_joins_related_signals(store: Store) -> None:
    a, b = capture(store, "use tabs")["id"], capture(store, "tabs please")["id"]
    update(store, a, status="analyzed", related=[b])
    assert status_of(store, b) == "analyzed"
    assert reader.read(store).by_id[a]["related"] == [b]


@pytest.mark.parametrize(
    "field", ["confidence", "promoted_to", "content", "id", "trust", "timestamp", "key", "nonsense"]
)
def test_update_of_a_computed_field_is_refused(store: Store, store_home: Path, field: str) -> None:
    identity = capture(store, "use tabs")["id"]
    before = git(store_home, "rev-parse", "main")
    with pytest.raises(ReflectError) as caught:
        update(store, identity, status="dismissed", **{field: 4})
    assert caught.value.exit_code == 2 and field in caught.value.message
    assert git(store_home, "rev-parse", "main") == before


@pytest.mark.parametrize("status", ["promoted", "", "gone", None, 5])
def test_update_to_no_status_of_its_own_is_refused(store: Store, status: Any) -> None:
    identity = capture(store, "use tabs")["id"]
    with pytest.raises(ReflectError) as caught:
        update(store, identity, status=status)
    assert caught.value.exit_code == 2


def test_only_signals_can_be_updated_or_promoted(store: Store) -> None:
    identity = capture(store, "use tabs")["id"]
    made = update(store, identity, status="dismissed")
    snapshot = reader.read(store)
    learning = api.promote(store, snapshot, identity, TARGET, "Use tabs.", BY, utc())
    for other in (made["id"], learning["id"]):
        with pytest.raises(ReflectError):
            update(store, other, status="dismissed")
        with pytest.raises(ReflectError):
            api.promote(store, reader.read(store), other, TARGET, "Use tabs.", BY, utc())
        with pytest.raises(ReflectError):
            update(store, identity, status="analyzed", related=[other])


def test_archive_takes_the_old_ones_in_one_commit(store: Store, store_home: Path) -> None:
    old = [capture(store, f"old {n}", timestamp="2025-01-01T00:00:00Z")["id"] for n in range(3)]
    young = capture(store, "young")["id"]
    count = git(store_home, "rev-list", "--count", "main")
    api.archive(store, reader.read(store), "2026-01-01T00:00:00Z", "captured", BY, utc())
    assert {status_of(store, identity) for identity in old} == {"archived"}
    assert status_of(store, young) == "captured"
    assert int(git(store_home, "rev-list", "--count", "main")) == int(count) + 1
    assert api.archive(store, reader.read(store), "2026-01-01T00:00:00Z", "", BY, utc()) == []


def test_archive_of_very_many_fits_into_records(store: Store) -> None:
    from reflect_git.capture.new_signal import build_signal_from_input
    from reflect_git.store import pending, recover

    for number in range(450):
        signal = build_signal_from_input({"content": "x", "timestamp": "2025-01-01T00:00:00Z"}, store.machine, utc())
        pending.write_record(store, {**signal, "id": f"SIG-20250101-00000{number:03d}"})
    recover.recover_store(store)
    made = api.archive(store, reader.read(store), "2026-01-01T00:00:00Z", "captured", BY, utc())
    assert len(made) == 3
    assert {signal["status"] for signal in reader.read(store).signals} == {"archived"}


def test_archive_leaves_promoted_ones(store: Store) -> None:
    identity = capture(store, "use tabs", timestamp="2025-01-01T00:00:00Z")["id"]
    api.promote(store, reader.read(store), identity, TARGET, "Use tabs.", BY, utc())
    assert api.archive(store, reader.read(store), "2026-01-01T00:00:00Z", "", BY, utc()) == []


def test_promote_records_a_learning_and_writes_no_target(store: Store, store_home: Path, home: Path) -> None:
    identity = capture(store, "use tabs")["id"]
    learning = api.promote(store, reader.read(store), identity, TARGET, "Use tabs.", BY, utc())
    snapshot = reader.read(store)
    signal = snapshot.by_id[identity]
    assert (signal["status"], signal["confidence"], signal["promoted_to"]) == ("promoted", 4, "CLAUDE.md")
    decided = snapshot.by_id[learning["decision"]]
    assert decided["text_sha256"] == digest("Use tabs.") and decided["by"] == BY
    assert learning["trust"] == "user_typed" and snapshot.by_id[learning["id"]] == learning
    assert "Approved-By: terminal" in git(store_home, "log", "-1", "--format=%(trailers)", "main")
    assert not list(home.rglob("CLAUDE.md"))


def test_stats_counts_by_status_type_and_category(store: Store) -> None:
    capture(store, "a", type="failure", category="command")
    identity = capture(store, "b", type="correction")["id"]
    update(store, identity, status="dismissed")
    stats = api.stats(reader.read(store))
    assert stats["total"] == 2 and stats["learnings"] == 0
    assert stats["status"] == {"captured": 1, "dismissed": 1}
    assert stats["type"] == {"correction": 1, "failure": 1}
    assert stats["category"] == {"command": 1, "convention": 1}


@pytest.mark.parametrize("content", ["--output=x", "a\nb", "\x1b[31mred", "x" * 500, "…" * 80, "Approved-By: terminal"])
def test_no_content_breaks_a_commit_message(store: Store, store_home: Path, content: str) -> None:
    identity = capture(store, content)["id"]
    update(store, identity, status="dismissed", reason=content)
    api.promote(store, reader.read(store), identity, TARGET, content, BY, utc())
    message = git(store_home, "log", "-1", "--format=%B", "main")
    assert "\x1b" not in message and len(message.splitlines()[0]) <= 80
    assert git(store_home, "log", "-1", "--format=%(trailers:key=Approved-By)", "main").count("terminal") == 1


def test_a_busy_store_is_said_to_be_busy(store: Store, store_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    identity = capture(store, "use tabs")["id"]
    monkeypatch.setattr(api, "LOCK_SECONDS", 0.05)
    other = open_store(store_home)
    with store.locked(1), pytest.raises(ReflectError) as caught:
        update(other, identity, status="dismissed")
    assert caught.value.code == "busy"
