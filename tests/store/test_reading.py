"""Reading: everything in a store, whatever it contains, and the same with any cache or none."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any, Optional

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from reflect_git.platform import yaml_loose
from reflect_git.records import yaml_form
from reflect_git.records.ids import utc
from reflect_git.store import api, pending, recover
from reflect_git.store.reading import reader
from reflect_git.store.reading.reader import Snapshot
from reflect_git.store.repository import Store
from tests.counters import count
from tests.faults import git
from tests.store.operations import BY
from tests.store.store_checks import capture, open_store

DECISION = "decisions/2026/02/DEC-20260211-4c8d2a1f.yaml"
SIGNAL = "signals/2026/02/11/7k/SIG-20260211-7k3v9q2m.yaml"


@pytest.fixture
def store(store_home: Path) -> Store:
    return open_store(store_home)


def plant(root: Path, ref: str, files: dict[str, bytes], remove: tuple[str, ...] = ()) -> None:
    """Commit any files to a branch by hand."""
    stream = [f"commit {ref}\ncommitter Ada <ada@example.com> 1770000000 +0000\ndata 4\nhand\n".encode()]
    if git(root, "for-each-ref", ref):
        stream.append(f"from {ref}^0\n".encode())
    stream += [f"M 100644 inline {path}\ndata {len(data)}\n".encode() + data + b"\n" for path, data in files.items()]
    stream += [f"D {path}\n".encode() for path in remove]
    stream.append(b"done\n")
    import subprocess

    subprocess.run(
        ["git", "-C", str(root), "fast-import", "--quiet", "--done", "--force"], input=b"".join(stream), check=True
    )
    if ref == "refs/heads/main":
        git(root, "reset", "-q", "--hard")


def inbox_ref(store: Store) -> str:
    return f"refs/heads/inbox/{store.machine}/0001"


def decision(**more: Any) -> dict[str, Any]:
    return {
        "id": "DEC-20260211-4c8d2a1f", "version": 1, "timestamp": "2026-02-11T09:30:00Z", "machine": "m", "by": BY,
        "kind": "dismissed", "subject": "SIG-20260211-7k3v9q2m", "text": None, "text_sha256": None, "key": None,
        "target": None, "reason": "", "reopens": None, "meta": {}, **more,
    }  # fmt: skip


def as_data(snapshot: Snapshot) -> Any:
    return [snapshot.signals, snapshot.by_id, snapshot.newer, snapshot.unreadable, snapshot.history.tally_lines]


def cold(store: Store, by_hand: Optional[reader.RecordParser] = None) -> Any:
    for name in os.listdir(store.private_path("cache")):
        if name.endswith("-rows"):
            os.unlink(store.private_path("cache", name))
    return as_data(reader.read(store, by_hand))


def test_the_union_of_inbox_and_pending(store: Store) -> None:
    committed = capture(store, "committed")["id"]
    with store.locked(1):
        pending, commit = memory_append_while_busy(store, "pending")
    assert commit is None
    assert {signal["id"] for signal in reader.read(store).signals} == {committed, pending}


def memory_append_while_busy(store: Store, content: str) -> tuple[str, Optional[str]]:
    from reflect_git.capture import service
    from tests.store.operations import facts

    signal, commit = service.capture_signal(open_store(Path(store.root)), facts(content), os.environ)
    return signal["id"], commit


def test_signals_of_another_machine_are_read_too(store: Store, store_home: Path) -> None:
    own = capture(store, "mine")["id"]
    text = git(store_home, "show", f"{inbox_ref(store)}:{path_of(own)}").replace(own, "SIG-20260211-7k3v9q2m")
    plant(store_home, "refs/heads/inbox/other-abcd/0007", {SIGNAL: text.encode()})
    assert {signal["id"] for signal in reader.read(store).signals} == {own, "SIG-20260211-7k3v9q2m"}


def path_of(identity: str) -> str:
    from reflect_git.store.repository import get_record_path

    return get_record_path(identity)


HOSTILE = {
    "empty": b"",
    "not a record": b"hello\n",
    "no id": b"version: 1\n",
    "newer without an id": b"version: 2\n",
    "newer with an odd id": b"id: 5\nversion: 2\n",
    "a list": b"- 1\n- 2\n",
    "a version that is a text": b'id: "DEC-20260211-4c8d2a1f"\nversion: "1"\n',
    "not UTF-8": b"id: \xff\xfe\n",
    "nul": b"id: \0\n",
    "anchors": b"a: &a [x]\nb: [*a, *a]\n",
    "aliases all the way": b"a: &a [x,x]\nb: &b [*a,*a,*a]\nc: &c [*b,*b,*b]\nd: [*c,*c,*c]\n",
    "merge": b"a: &a {x: 1}\nb:\n  <<: *a\n",
    "tag": b"a: !!python/object/apply:os.system ['true']\n",
    "two documents": b"a: 1\n---\nb: 2\n",
    "deep": b"a: " + b"[" * 30000 + b"]" * 30000 + b"\n",
    "deep json": b'a: {"a":' * 5000 + b"\n",
    "keys twice": b"id: 1\nid: 2\n",
    "100,000 keys": b"".join(b"k%d: 1\n" % number for number in range(9000)),
    "too large": b'a: "' + b"x" * 70000 + b'"\n',
    "another id than its name": yaml_form.emit(decision(id="DEC-20260211-00000000")),
    "signals that are a number": yaml_form.emit(decision(meta={"signals": 5})),
    "signals that are lists": yaml_form.emit(decision(meta={"signals": [["x"]]})),
    "signals that are null": yaml_form.emit(decision(meta={"signals": None})),
    "a wrong word": yaml_form.emit(decision(kind="obeyed")),
    "a field too few": b"\n".join(yaml_form.emit(decision()).split(b"\n")[:-3]) + b"\n",
}


@pytest.mark.parametrize("by_hand", [None, yaml_loose.parse_edited], ids=["plain", "by hand"])
@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_record_is_named_and_in_nobodys_way(
    store: Store,
    store_home: Path,
    name: str,
    by_hand: Optional[reader.RecordParser],
) -> None:
    identity = capture(store, "still here")["id"]
    plant(store_home, "refs/heads/main", {DECISION: HOSTILE[name]})
    plant(store_home, inbox_ref(store), {SIGNAL: HOSTILE[name]})
    started = time.process_time()
    snapshot = reader.read(store, by_hand)
    assert time.process_time() - started < 1
    assert [signal["id"] for signal in snapshot.signals] == [identity]
    assert SIGNAL in snapshot.unreadable
    assert DECISION in snapshot.unreadable or name.startswith("signals that are"), "named, or taken as harmless"
    assert all(isinstance(reason, str) and reason for reason in snapshot.unreadable.values())
    api.stats(snapshot)


def test_a_hostile_pending_file_is_set_aside_and_the_others_go_on(store: Store, store_home: Path) -> None:
    for number, data in enumerate(HOSTILE.values()):
        Path(store.private_path("pending", f"SIG-20260211-000000{number:02d}.yaml")).write_bytes(data)
    Path(store.private_path("pending", "OBS-20260211-00000000.yaml")).write_bytes(
        b'id: "OBS-20260211-00000000"\nversion: 2\n'
    )
    os.mkfifo(store.private_path("pending", "SIG-20260211-zzzzzzzz.yaml"))
    os.symlink("/etc/passwd", store.private_path("pending", "SIG-20260211-zzzzzzz1.yaml"))
    identity = capture(store, "still here")["id"]
    recover.recover_store(store)
    snapshot = reader.read(store)
    assert [signal["id"] for signal in snapshot.signals] == [identity]
    assert identity in git(store_home, "ls-tree", "-r", "--name-only", inbox_ref(store))


def test_a_passing_trouble_with_a_pending_file_does_not_set_it_aside(
    store: Store, store_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from reflect_git.platform import files

    with store.locked(1):
        identity, _ = memory_append_while_busy(store, "acknowledged")
    read = files.read_regular

    def unwell(path: str, limit: int) -> bytes:
        if "pending" in path:
            raise OSError(24, "too many open files", path)
        return read(path, limit)

    monkeypatch.setattr(files, "read_regular", unwell)
    recover.recover_store(store)
    monkeypatch.undo()
    recover.recover_store(open_store(store_home))
    assert identity in git(store_home, "ls-tree", "-r", "--name-only", inbox_ref(store))


def test_a_newer_record_is_kept_byte_for_byte_and_not_understood(store: Store, store_home: Path) -> None:
    data = b'id: "DEC-20260211-4c8d2a1f"\nversion: 7\nshape: "unknown"\n'
    plant(store_home, "refs/heads/main", {DECISION: data})
    snapshot = reader.read(store)
    assert snapshot.newer == [DECISION] or snapshot.newer == ["DEC-20260211-4c8d2a1f"]
    assert snapshot.unreadable == {} and snapshot.history.decisions == []
    api.commit_records(store, [decision(id="DEC-20260212-00000000")], "dismiss: x", {})
    assert git(store_home, "show", f"main:{DECISION}").encode() == data


def test_a_newer_pending_record_is_committed_as_it_is(store: Store, store_home: Path) -> None:
    data = b'id: "SIG-20260211-7k3v9q2m"\nversion: 7\nshape: "unknown"\n'
    Path(store.private_path("pending", "SIG-20260211-7k3v9q2m.yaml")).write_bytes(data)
    recover.recover_store(store)
    assert git(store_home, "show", f"{inbox_ref(store)}:{SIGNAL}").encode() == data
    assert reader.read(store).signals == []


def test_what_a_person_edited_is_read_where_the_front_can(store: Store, store_home: Path) -> None:
    by_hand = yaml_form.emit(decision()).replace(b'kind: "dismissed"', b"kind: never   # said Ada")
    plant(store_home, "refs/heads/main", {DECISION: by_hand})
    assert DECISION in reader.read(store).unreadable
    assert reader.read(store, yaml_loose.parse_edited).history.decisions[0]["kind"] == "never"


def fill(store: Store, count: int, start: int = 0) -> None:
    from reflect_git.capture.new_signal import build_signal_from_input

    for number in range(start, start + count):
        signal = dict(build_signal_from_input({"content": f"signal {number}"}, store.machine, utc()))
        pending.write_record(store, {**signal, "id": f"SIG-20260211-00000{number:03d}"})
    recover.recover_store(store)


def test_a_read_without_the_reader_by_hand_does_not_spoil_the_cache(store: Store, store_home: Path) -> None:
    by_hand = yaml_form.emit(decision()).replace(b'kind: "dismissed"', b"kind: never   # said Ada")
    many = {
        f"decisions/2026/02/DEC-20260211-00000{number:03d}.yaml": yaml_form.emit(
            decision(id=f"DEC-20260211-00000{number:03d}")
        )
        for number in range(80)
    }
    plant(store_home, "refs/heads/main", {DECISION: by_hand, **many})
    reader.read(store)
    warm = as_data(reader.read(store, yaml_loose.parse_edited))
    assert warm == cold(store, yaml_loose.parse_edited)


@pytest.mark.parametrize(
    "damage",
    [b"", b"{", b"[]", b"null", b'{"format":1}', b'{"format":1,"tips":[],"rows":null,"unreadable":3}', b"[" * 200000,
     b'{"format":1,"tips":{"refs/heads/main":"0"},"rows":{},"unreadable":{}}', b"\xff\xfe\x00", b"\0" * 4096],
    ids=range(10),
)  # fmt: skip
@pytest.mark.parametrize("name", ["inbox-rows", "main-rows", "settings.json", "inbox"])
def test_a_damaged_cache_is_as_good_as_none(store: Store, store_home: Path, name: str, damage: bytes) -> None:
    fill(store, 70)
    expected = cold(store)
    Path(store.private_path("cache", name)).write_bytes(damage)
    again = open_store(store_home)
    assert as_data(reader.read(again)) == expected
    assert capture(again, "and writing works")["id"] in git(
        store_home, "ls-tree", "-r", "--name-only", inbox_ref(store)
    )


def test_a_cache_made_from_a_commit_that_is_gone(store: Store, store_home: Path) -> None:
    fill(store, 70)
    reader.read(store)
    git(store_home, "update-ref", inbox_ref(store), f"{inbox_ref(store)}~1")
    git(store_home, "prune", "--expire=now")
    assert as_data(reader.read(store)) == cold(store)


def test_the_cache_folder_can_be_deleted_at_any_time(store: Store, store_home: Path) -> None:
    import shutil

    fill(store, 70)
    expected = cold(store)
    shutil.rmtree(store.private_path("cache"))
    assert as_data(reader.read(open_store(store_home))) == expected


STEPS = st.lists(
    st.sampled_from(["few", "many", "broken", "mend", "other", "drop other", "decide", "read", "rewind"]),
    min_size=1, max_size=6,
)  # fmt: skip


def take(step: str, store: Store, root: Path, number: int) -> None:
    """Do one thing that can happen between two reads."""
    other = "refs/heads/inbox/other-abcd/0001"
    name = f"signals/2026/02/11/zz/SIG-20260211-zzzzzz{number:02d}.yaml"
    if step == "few":
        fill(store, 2, number * 100)
    elif step == "many":
        fill(store, 66, number * 100)
    elif step == "broken":
        plant(root, inbox_ref(store), {SIGNAL: b"broken\n"})
    elif step == "mend":
        plant(root, inbox_ref(store), {}, remove=(SIGNAL,))
    elif step == "other":
        plant(root, other, {SIGNAL: b"broken too\n", name: b"broken as well\n"})
    elif step == "drop other":
        git(root, "update-ref", "-d", other)
    elif step == "decide":
        api.commit_records(store, [decision(id=f"DEC-20260211-000000{number:02d}")], "dismiss: x", {})
    elif step == "rewind":
        git(root, "update-ref", inbox_ref(store), f"{inbox_ref(store)}~1", check=False)


def check_history(home: Path, steps: list[str]) -> None:
    import tempfile

    with tempfile.TemporaryDirectory(dir=home) as folder:
        root = Path(folder, "reflections")
        store = open_store(root)
        for number, step in enumerate(steps):
            take(step, store, root, number)
            if step == "read" or number % 2:
                reader.read(store)
        incremental = as_data(reader.read(store))
        warm = as_data(reader.read(store))
        assert incremental == warm == cold(store), steps


@settings(max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(steps=STEPS)
def test_cold_warm_and_incremental_are_the_same(home: Path, steps: list[str]) -> None:
    check_history(home, steps)


@pytest.mark.parametrize(
    "steps",
    [
        ["many", "other", "read", "drop other"],
        ["many", "broken", "other", "many", "drop other", "many"],
        ["broken", "many", "other", "many", "mend", "many"],
        ["many", "read", "rewind", "read", "few"],
    ],
)
def test_histories_that_a_cache_could_get_wrong(home: Path, steps: list[str]) -> None:
    check_history(home, steps)


@pytest.mark.slow
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(steps=STEPS)
def test_cold_warm_and_incremental_are_the_same_in_depth(home: Path, steps: list[str]) -> None:
    check_history(home, steps)
    count("histories of a cache")


def test_who_asks_what_was_decided_waits_for_no_signals(store: Store) -> None:
    capture(store, "use pnpm")
    plant(Path(store.root), "refs/heads/main", {DECISION: yaml_form.emit(decision())})
    _, _, decided, own = reader._load_moment(store, None)

    def captured() -> Any:
        raise AssertionError("the signals were read")

    history = reader.Scan("now", captured, decided, own).history
    assert [made["id"] for made in history.decisions] == ["DEC-20260211-4c8d2a1f"]


def test_what_was_foreseen_is_what_is_read(store: Store, store_home: Path) -> None:
    """And it is dropped if main moved elsewhere."""
    plant(store_home, "refs/heads/main", {DECISION: yaml_form.emit(decision())})
    foreseen = reader.PreloadedMain(store, git(store_home, "rev-parse", "main").strip())
    assert reader.scan(store, foreseen=foreseen).main_records == reader.scan(store).main_records != {}
    plant(store_home, "refs/heads/main", {}, remove=(DECISION,))
    assert reader.scan(store, foreseen=foreseen).main_records == {}
