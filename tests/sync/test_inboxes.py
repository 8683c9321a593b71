"""Signals between own machines: off by default, and only one writer for each inbox."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from reflect_git.records.ids import utc_precise
from reflect_git.store import machines, policy
from reflect_git.store.reading import reader
from reflect_git.sync import inboxes
from reflect_git.sync.fetched import Incoming
from tests.disk_search import find_texts
from tests.faults import git
from tests.store.operations import BY, DAY
from tests.store.store_checks import capture, inbox_ids, run_maintenance_after
from tests.sync.clones import Clone, sync_until_stable
from tests.sync.hostile_remote import FILE, write_blob, write_object, write_tree


@pytest.fixture
def pair(tmp_path: Path, remote: Path) -> tuple[Clone, Clone]:
    """Create two machines that know each other and share signals."""
    pair = Clone(tmp_path / "laptop", str(remote)), Clone(tmp_path / "desk", str(remote))
    names = [clone.store.machine for clone in pair]
    for clone in pair:
        machines.accept_machines(clone.store, names, BY, utc_precise())
        policy.set_policies(clone.store, {"reflect.sync.signals": "true"}, BY, utc_precise())
    return pair


def inboxes_at(root: Path) -> set[str]:
    return set(git(root, "for-each-ref", "--format=%(refname:lstrip=2)", "refs/heads/inbox/").split())


def test_by_default_no_signal_leaves(tmp_path: Path, remote: Path) -> None:
    clone = Clone(tmp_path / "laptop", str(remote))
    capture(clone.store, "my own words")
    clone.sync()
    assert inboxes_at(remote) == set()


@pytest.mark.parametrize("is_own", [True, False])
def test_what_another_machine_heard_counts_as_a_session_without_its_words(
    tmp_path: Path, remote: Path, is_own: bool
) -> None:
    """A tally records it once it has expired there; tallies of machines that nobody accepted do not count."""
    laptop, desktop = Clone(tmp_path / "laptop", str(remote)), Clone(tmp_path / "desk", str(remote))
    if is_own:
        machines.accept_machines(desktop.store, [laptop.store.machine], BY, utc_precise())
    capture(laptop.store, "use pnpm and not npm", session_id="s-1", trust="tool_output", type="failure")
    run_maintenance_after(laptop.store, 20)
    assert inbox_ids(laptop.root) == set()
    sync_until_stable(laptop, desktop, rounds=1)
    capture(desktop.open_store(), "use pnpm and not npm", session_id="s-2", trust="tool_output", type="failure")
    assert [one["confidence"] for one in reader.read(desktop.store).signals] == [2 if is_own else 1]
    assert find_texts(desktop.root, "s-1") == []


def test_a_signal_of_an_own_machine_is_there_with_its_trust(pair: tuple[Clone, Clone]) -> None:
    laptop, desktop = pair
    said = capture(laptop.store, "use pnpm and not npm", session_id="s-1")
    capture(desktop.store, "use pnpm and not npm", session_id="s-2")
    sync_until_stable(laptop, desktop, rounds=2)
    signals = {one["id"]: one for one in reader.read(desktop.open_store()).signals}
    assert signals[said["id"]]["trust"] == "user_typed"
    assert {one["confidence"] for one in signals.values()} == {2}, "two sessions, on two machines"
    assert said["id"] not in {path.stem for path in (desktop.root / "signals").rglob("*.yaml")}, (
        "its copies are its own"
    )
    for clone in pair:
        clone.require_sound()


def test_a_generation_that_begins_meanwhile_is_asked_for_again(
    pair: tuple[Clone, Clone], monkeypatch: pytest.MonkeyPatch
) -> None:
    laptop, desktop = pair
    capture(laptop.store, "use pnpm and not npm")
    laptop.sync()
    real = Incoming.list_heads

    def late(self: Incoming) -> dict[str, str]:
        found = real(self)
        monkeypatch.setattr(Incoming, "list_heads", real)
        run_maintenance_after(laptop.open_store(), 20)
        laptop.sync()
        return found

    monkeypatch.setattr(Incoming, "list_heads", late)
    made = laptop.approve(1)
    report = desktop.sync()
    assert report.tries == 2 and set(made) <= desktop.list_paths()
    assert f"inbox/{laptop.store.machine}/0002" in inboxes_at(desktop.root) & inboxes_at(laptop.root)


def test_what_expired_there_goes_here_and_at_the_remote(pair: tuple[Clone, Clone], remote: Path) -> None:
    laptop, desktop = pair
    old = capture(laptop.store, "soon forgotten")
    sync_until_stable(laptop, desktop, rounds=2)
    assert old["id"] in inbox_ids(desktop.root)
    assert run_maintenance_after(laptop.open_store(), 20) == 1
    sync_until_stable(laptop, desktop, rounds=2)
    machine = laptop.store.machine
    assert inboxes_at(remote) >= {f"inbox/{machine}/0002"} and f"inbox/{machine}/0001" not in inboxes_at(remote)
    assert old["id"] not in inbox_ids(desktop.root) and inboxes_at(desktop.root) == inboxes_at(remote)


def test_a_strangers_inbox_stays_there(tmp_path: Path, remote: Path, pair: tuple[Clone, Clone]) -> None:
    laptop, desktop = pair
    capture(laptop.store, "from somebody")
    laptop.sync()
    policy.set_keys(desktop.store, {machines.OWN_KEY: desktop.store.machine})
    desktop.sync()
    assert not [name for name in inboxes_at(desktop.root) if laptop.store.machine in name]


def test_an_inbox_that_is_not_wholly_one_is_refused(pair: tuple[Clone, Clone], remote: Path) -> None:
    laptop, desktop = pair
    capture(laptop.store, "a good one")
    sync_until_stable(laptop, desktop, rounds=2)
    before = git(desktop.root, "for-each-ref", "refs/heads/inbox/")
    evil = write_blob(remote, b"evil\n")
    made = write_tree(remote, {"signals/x.sh": ("100755", b"evil\n"), "signals/README.md": (FILE, b"hello\n")})
    text = f"tree {made}\nauthor M <m@x> {int(time.time())} +0000\ncommitter M <m@x> {int(time.time())} +0000\n\nx\n"
    commit = write_object(remote, "hash-object", "-t", "commit", "-w", "--stdin", data=text.encode())
    write_object(remote, "update-ref", f"refs/heads/inbox/{laptop.store.machine}/0009", commit)
    report = desktop.sync()
    assert [(one["path"], one["reason"]) for one in report.refused] == [
        (f"inbox/{laptop.store.machine}/0009:signals/x.sh", "it is executable")
    ]
    assert git(desktop.root, "for-each-ref", "refs/heads/inbox/") == before
    assert git(desktop.root, "cat-file", "-e", evil, check=False) == "" and not _has(desktop.root, evil)


def _has(root: Path, oid: str) -> bool:
    return "missing" not in git(root, "cat-file", "--batch-check", stdin=f"{oid}\n")


def test_a_machine_that_was_silent_for_90_days_is_folded_away(pair: tuple[Clone, Clone], remote: Path) -> None:
    laptop, desktop = pair
    capture(laptop.store, "use pnpm and not npm", session_id="s-1")
    key = capture(desktop.store, "use pnpm and not npm", session_id="s-2")["key"]
    laptop.sync()
    from reflect_git.sync import exchange

    store = desktop.open_store()
    incoming = exchange.open_incoming(store, desktop.env, exchange.get_remote(store), exchange.SyncOptions())
    inboxes.exchange_inboxes(store, incoming, incoming.list_heads(), time.time() + 91 * DAY)
    assert not [name for name in (*inboxes_at(desktop.root), *inboxes_at(remote)) if laptop.store.machine in name]
    scan = reader.read(desktop.open_store())
    assert [line[0] for line in scan.history.tally_lines] == [key]
    assert scan.signals[0]["confidence"] == 2, "what it counted still counts"


def test_a_second_writer_of_our_inbox_is_noticed(pair: tuple[Clone, Clone], remote: Path) -> None:
    laptop, _ = pair
    capture(laptop.store, "one")
    laptop.sync()
    ref = f"refs/heads/inbox/{laptop.store.machine}/0001"
    text = (
        f"tree {write_object(remote, 'rev-parse', ref + '^{tree}')}\nparent {write_object(remote, 'rev-parse', ref)}\n"
    )
    text += "author M <m@x> 1 +0000\ncommitter M <m@x> 1 +0000\n\nx\n"
    write_object(
        remote,
        "update-ref",
        ref,
        write_object(remote, "hash-object", "-t", "commit", "-w", "--stdin", data=text.encode()),
    )
    capture(laptop.store, "two")
    with pytest.raises(Exception, match="another machine writes to"):
        laptop.sync()
