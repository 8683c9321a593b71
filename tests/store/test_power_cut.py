"""After a power cut: files that were renamed into place before their bytes reached the disk."""

from __future__ import annotations

from pathlib import Path

from reflect_git.records.ids import utc_precise
from reflect_git.store import api
from reflect_git.store.reading import reader
from tests.conftest import RunCli
from tests.store.broken_store import find_loose_object
from tests.store.operations import BY
from tests.store.store_checks import capture, main_paths, open_recovered_store, open_store, require_promises


def dismiss(root: Path, identity: str) -> None:
    store = open_recovered_store(root)
    api.update(store, reader.read(store), identity, {"status": "dismissed"}, BY, utc_precise())


def test_an_empty_index_is_made_anew_by_the_next_decision(store_home: Path) -> None:
    first, second = (capture(open_store(store_home), text)["id"] for text in ("the first", "the second"))
    dismiss(store_home, first)
    (store_home / ".git/index").write_bytes(b"")
    dismiss(store_home, second)
    require_promises(store_home, [first, second])
    assert len([path for path in main_paths(store_home) if path.startswith("decisions/")]) == 2


def test_a_signal_whose_object_is_gone_is_read_from_its_copy(store_home: Path) -> None:
    store = open_store(store_home)
    identity = capture(store, "the first")["id"]
    tree = store.git.tree(f"inbox/{store.machine}/0001", "signals")
    blob = next(blob for path, blob in tree.items() if identity in path)
    file = find_loose_object(store_home / ".git", blob)
    data = file.read_bytes()
    file.unlink()
    assert [signal["id"] for signal in reader.read(store).signals] == [identity]
    file.write_bytes(data)


def test_a_capture_whose_pack_never_reached_the_disk_comes_from_its_copy(store_home: Path) -> None:
    before = capture(open_store(store_home), "the first")["id"]
    known = set((store_home / ".git/objects/pack").iterdir())
    lost = capture(open_store(store_home), "the second")["id"]
    for part in set((store_home / ".git/objects/pack").iterdir()) - known:
        part.chmod(0o600)
        part.write_bytes(b"")
    last = capture(open_store(store_home), "the third")["id"]
    open_recovered_store(store_home)
    require_promises(store_home, [before, lost, last])


def test_nothing_that_a_new_store_is_made_of_is_left_to_the_disk_s_mood(run_cli: RunCli, tmp_path: Path) -> None:
    """Every folder of the draft is synced before it is renamed: observed in the fault machinery."""
    trace = tmp_path / "trace"
    env = {"REFLECT_GIT_FAULT": "kill:9999", "REFLECT_GIT_FAULT_TRACE": str(trace)}
    assert run_cli("init", env=env).code == 0
    effects = trace.read_text().splitlines()
    placed = effects.index("rename reflections")
    assert "sync heads" in effects[:placed] and "sync .git" in effects[:placed]
