"""Rules learned anywhere reach all machines, in whatever order they sync."""

from __future__ import annotations

import itertools
import shutil
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from reflect_git.errors import ReflectError
from reflect_git.platform.remote_git import Limits
from reflect_git.store import remotes
from reflect_git.store.main import main_branch, move_main
from reflect_git.sync import exchange
from reflect_git.sync.exchange import SyncOptions
from reflect_git.sync.fetched import Incoming
from tests.faults import git
from tests.sync.clones import Clone, create_bare_repository, purge_squashed, sync_until_stable
from tests.sync.sample_records import blob_id, build_decision, build_files, build_learning, build_snapshot


@pytest.fixture
def pair(tmp_path: Path, remote: Path) -> tuple[Clone, Clone]:
    return Clone(tmp_path / "laptop", str(remote)), Clone(tmp_path / "desk", str(remote))


def remote_tree(remote: Path) -> set[str]:
    return set(git(remote, "ls-tree", "-r", "--name-only", "main").splitlines())


def test_an_empty_remote_gets_what_we_have(pair: tuple[Clone, Clone], remote: Path) -> None:
    laptop, _ = pair
    made = laptop.approve(1)
    report = laptop.sync()
    assert set(made) <= set(report.pushed) and not report.pulled and not report.refused
    assert remote_tree(remote) == laptop.list_paths()
    assert git(remote, "rev-parse", "main").strip() == laptop.tip
    laptop.require_sound()


def test_a_large_store_of_ones_own_is_never_too_much(pair: tuple[Clone, Clone], remote: Path) -> None:
    """Limits apply only to what a remote offers."""
    laptop, _ = pair
    for number in range(3):
        laptop.approve(number)
    laptop.sync(SyncOptions(limits=Limits(entries=1, commits=1, listing=100)))
    assert git(remote, "rev-parse", "main").strip() == laptop.tip


def test_main_that_moved_while_the_remote_answered_is_not_sent_as_it_was(
    pair: tuple[Clone, Clone], remote: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing came, so nothing is merged; but a purge may have removed what was about to be sent."""
    laptop, _ = pair
    laptop.sync()
    made, fetch = laptop.approve(1), Incoming.fetch_main

    def purge_meanwhile(incoming: Incoming, *given: Any) -> str | None:
        monkeypatch.undo()
        found = fetch(incoming, *given)
        purge_squashed(Clone(laptop.root), made)
        return found

    monkeypatch.setattr(Incoming, "fetch_main", purge_meanwhile)
    assert laptop.sync().tries == 2
    sent = git(remote, "rev-list", "--all", "--objects")
    assert not [path for path in made if path in sent]


@pytest.mark.parametrize("kind", ["tree", "blob"])
def test_damage_of_ones_own_store_is_not_told_as_the_remotes(pair: tuple[Clone, Clone], kind: str) -> None:
    laptop, _ = pair
    laptop.approve(1)
    laptop.sync()
    path = laptop.approve(2)[0]
    lost = _loose(laptop.root, f"main:{path}" if kind == "blob" else "main:learnings")
    data = lost.read_bytes()
    lost.unlink()
    with pytest.raises(ReflectError) as stop:
        laptop.sync()
    assert stop.value.code == "git" and not stop.value.message.startswith("the remote")
    assert "reflect-git doctor" in str(stop.value.hint)
    lost.write_bytes(data)
    laptop.sync()


def _loose(root: Path, name: str) -> Path:
    """Return the file of an object, after all objects were unpacked."""
    for pack in (root / ".git" / "objects" / "pack").glob("*.pack"):
        moved = pack.rename(root.parent / pack.name)
        pack.with_suffix(".idx").unlink()
        with moved.open("rb") as packed:
            subprocess.run(["git", "-C", str(root), "unpack-objects", "-q"], stdin=packed, check=True)
    oid = git(root, "rev-parse", name).strip()
    return root / ".git" / "objects" / oid[:2] / oid[2:]


def test_what_one_has_the_other_gets(pair: tuple[Clone, Clone]) -> None:
    laptop, desktop = pair
    made = laptop.approve(1)
    laptop.sync()
    report = desktop.sync()
    assert set(report.pulled) == set(made) and not report.pushed and report.merge_commit is None
    assert desktop.tip == laptop.tip, "nothing of its own: it goes forward to theirs"
    assert (desktop.root / made[0]).read_bytes() == (laptop.root / made[0]).read_bytes()
    desktop.require_sound()


def test_both_at_once_end_in_one_tree_with_both_histories(pair: tuple[Clone, Clone]) -> None:
    laptop, desktop = pair
    mine, theirs = laptop.approve(1), desktop.approve(2)
    laptop.sync()
    report = desktop.sync()
    assert set(report.pulled) == set(mine) and set(report.pushed) == set(theirs) and report.merge_commit
    parents = git(desktop.root, "rev-list", "--parents", "-n1", "main").split()
    assert len(parents) == 3
    laptop.sync()
    assert laptop.tip == desktop.tip
    for clone in pair:
        assert {*mine, *theirs} <= clone.list_paths()
        clone.require_sound()


def test_nothing_to_do_does_nothing(pair: tuple[Clone, Clone]) -> None:
    laptop, desktop = pair
    laptop.approve(1)
    sync_until_stable(laptop, desktop)
    before = laptop.tip
    for clone in pair:
        report = clone.sync()
        assert not (report.pulled or report.pushed or report.merge_commit) and report.tries == 1
    assert laptop.tip == desktop.tip == before


def test_a_tracking_branch_that_was_deleted_is_there_again(pair: tuple[Clone, Clone]) -> None:
    laptop, _ = pair
    laptop.approve(1)
    laptop.sync()
    git(laptop.root, "update-ref", "-d", remotes.TRACKING_REF)
    laptop.sync()
    assert git(laptop.root, "rev-parse", remotes.TRACKING_REF).strip() == laptop.tip


def test_stores_without_a_common_ancestor_join(tmp_path: Path, remote: Path) -> None:
    laptop, desktop = Clone(tmp_path / "laptop", str(remote)), Clone(tmp_path / "desk", str(remote))
    who = ("-c", "user.name=A", "-c", "user.email=a@example.com")
    root = git(desktop.root, *who, "commit-tree", "main^{tree}", "-m", "another beginning").strip()
    git(desktop.root, "update-ref", "refs/heads/main", root)
    laptop.approve(1), desktop.approve(2)
    sync_until_stable(laptop, desktop)
    assert laptop.tip == desktop.tip
    assert len(git(desktop.root, "rev-list", "--max-parents=0", "main").split()) == 2


def test_one_record_of_two_wordings_is_the_same_on_both_and_neither_is_lost(pair: tuple[Clone, Clone]) -> None:
    laptop, desktop = pair
    one, other = build_learning(1, "Use pnpm."), build_learning(1, "Use yarn.")
    laptop.add_records(one)
    desktop.add_records(other)
    sync_until_stable(laptop, desktop)
    assert laptop.tree == desktop.tree
    [(path, first)], [(_, second)] = build_files(one).items(), build_files(other).items()
    stays, goes = sorted((first, second), key=blob_id)
    assert (laptop.root / path).read_bytes() == stays
    assert (desktop.root / f"aside/{one['id']}/{blob_id(goes)}.yaml").read_bytes() == goes
    for clone in pair:
        clone.require_sound()


def test_the_higher_version_of_a_mirror_wins_whoever_syncs_first(pair: tuple[Clone, Clone]) -> None:
    laptop, desktop = pair
    path = "targets/laptop-0000/global/CLAUDE.md"
    laptop.add_records(**{path: build_snapshot(1)})
    sync_until_stable(laptop, desktop)
    laptop.add_records(**{path: build_snapshot(2)})
    sync_until_stable(desktop, laptop, desktop)
    assert laptop.tip == desktop.tip and (desktop.root / path).read_bytes() == build_snapshot(2)


def test_the_next_version_of_a_mirror_is_no_loss(pair: tuple[Clone, Clone]) -> None:
    """Every approval on one machine makes one: the other machine sets nothing aside."""
    laptop, desktop = pair
    path = f"targets/{laptop.store.machine}/shop-1/CLAUDE.md"
    for version in (1, 2, 3):
        laptop.add_records(**{path: build_snapshot(version)})
        sync_until_stable(laptop, desktop, rounds=1)
    assert (desktop.root / path).read_bytes() == build_snapshot(3)
    assert not list((desktop.root / ".git" / "reflect" / "quarantine").iterdir())


def test_what_gives_way_to_another_file_is_kept_here_and_told(pair: tuple[Clone, Clone]) -> None:
    texts = [b"# reflections\nof the laptop\n", b"# reflections\nof the desk\n"]
    for clone, text in zip(pair, texts):
        clone.commit("README.md", text)
    sync_until_stable(*pair)
    goes = max(texts, key=blob_id)
    loser = pair[texts.index(goes)]
    [kept] = (loser.root / ".git" / "reflect" / "quarantine").iterdir()
    assert kept.read_bytes() == goes
    assert "'README.md' gave way" in (loser.root / ".git" / "reflect" / "log").read_text(encoding="utf-8")


def test_what_they_lack_stays(pair: tuple[Clone, Clone], remote: Path) -> None:
    """Row 57. A remote that lost records loses nobody else's."""
    laptop, desktop = pair
    made = laptop.approve(1)
    sync_until_stable(laptop, desktop)
    git(desktop.root, "rm", "-q", *made)
    git(desktop.root, "-c", "user.name=A", "-c", "user.email=a@b", "commit", "-qm", "they were wrong")
    git(desktop.root, "push", "-q", str(remote), "main:main")
    report = laptop.sync()
    assert set(made) <= laptop.list_paths() and set(made) <= remote_tree(remote)
    assert not report.pulled and set(report.lost) == set(made)
    assert laptop.sync().lost == [], "said once"
    laptop.require_sound()


def test_a_hand_edit_that_is_no_record_gives_way_and_is_kept_here(pair: tuple[Clone, Clone]) -> None:
    laptop, desktop = pair
    [path, _] = laptop.approve(1)
    sync_until_stable(laptop, desktop)
    good = (laptop.root / path).read_bytes()
    laptop.commit(path, b"text: mine   # edited\n")
    laptop.approve(2), desktop.approve(3)
    sync_until_stable(laptop, desktop)
    assert laptop.tree == desktop.tree and (laptop.root / path).read_bytes() == good
    kept = list((laptop.root / ".git/reflect/quarantine").iterdir())
    assert [file.read_bytes() for file in kept] == [b"text: mine   # edited\n"]
    assert b"mine   # edited" not in b"".join(_objects(desktop.root)), "it never left the machine"
    for clone in pair:
        clone.require_sound()


def test_a_hand_edit_of_what_nobody_else_has_is_undone_by_what_it_was(pair: tuple[Clone, Clone]) -> None:
    laptop, desktop = pair
    [path, _] = laptop.approve(1)
    good = (laptop.root / path).read_bytes()
    laptop.commit(path, b"text: mine\n")
    report = laptop.sync()
    assert path in report.pushed and path not in report.pulled
    desktop.sync()
    assert (desktop.root / path).read_bytes() == (laptop.root / path).read_bytes() == good
    assert [file.read_bytes() for file in (laptop.root / ".git/reflect/quarantine").iterdir()] == [b"text: mine\n"]
    assert laptop.tree == desktop.tree


@pytest.mark.parametrize("is_smaller", [True, False])
def test_what_a_copied_store_sets_aside_of_our_own_is_known_again(
    tmp_path: Path, remote: Path, is_smaller: bool
) -> None:
    """The copy still has an edit that was made here by hand before anybody else had seen it."""
    laptop = Clone(tmp_path / "laptop", str(remote))
    [path] = laptop.dismiss(1)
    shutil.copytree(laptop.root, tmp_path / "copy", symlinks=True)
    good = (laptop.root / path).read_bytes()
    edits = (good.replace(b'reason: ""', b'reason: "%d"' % number) for number in itertools.count())
    edit = next(data for data in edits if (blob_id(data) < blob_id(good)) == is_smaller)
    laptop.open_store()
    laptop.commit(path, edit)
    laptop.sync()
    copy = Clone(tmp_path / "copy")
    assert copy.open_store().machine != laptop.store.machine
    copy.sync()
    assert not laptop.sync().refused
    kept = [git(laptop.root, "show", f"main:{one}").encode() for one in laptop.list_paths() if one.startswith("aside/")]
    assert sorted([(laptop.root / path).read_bytes(), *kept]) == sorted([good, edit])
    assert laptop.tree == copy.tree


def _remove(clone: Clone, path: str) -> None:
    """Remove a file with the user's own git; the next command puts it back."""
    git(clone.root, "rm", "-q", "--", path)
    git(clone.root, "-c", "user.name=Ada", "-c", "user.email=ada@example.com", "commit", "-qm", "away with it")
    clone.open_store()
    assert git(clone.root, "log", "-1", "--format=%s").startswith("restore: ") and path in clone.list_paths()


def test_a_hand_edit_that_was_removed_and_put_back_is_undone_all_the_same(pair: tuple[Clone, Clone]) -> None:
    """A commit of our program has it, but did not create it."""
    laptop, desktop = pair
    [path, _] = laptop.approve(1)
    good = (laptop.root / path).read_bytes()
    laptop.open_store()
    laptop.commit(path, b"text: mine\n")
    laptop.open_store()
    _remove(laptop, path)
    laptop.sync()
    assert not desktop.sync().refused
    assert (desktop.root / path).read_bytes() == (laptop.root / path).read_bytes() == good
    assert laptop.tree == desktop.tree


def test_what_a_hand_wrote_in_anothers_name_stays_here_though_it_was_removed_and_put_back(
    pair: tuple[Clone, Clone], remote: Path
) -> None:
    laptop, desktop = pair
    [(forged, data)] = build_files(build_decision(6, desktop.store.machine)).items()
    laptop.open_store()
    laptop.commit(forged, data)
    laptop.open_store()
    _remove(laptop, forged)
    assert [one["path"] for one in laptop.sync().refused] == [forged]
    assert forged not in remote_tree(remote)


@pytest.mark.parametrize("edit", [b"# mine\n", b""], ids=["no record", "a record"])
def test_a_record_of_ours_that_a_hand_changed_is_known_again_when_it_comes_back(
    pair: tuple[Clone, Clone], edit: bytes
) -> None:
    """It is in our name, and we have it: no longer in main, but in its history."""
    laptop, desktop = pair
    [path] = laptop.dismiss(1)
    sync_until_stable(laptop, desktop)
    good = (laptop.root / path).read_bytes()
    laptop.commit(path, edit + good if edit else good.replace(b'reason: ""', b'reason: "other"'))
    laptop.approve(2)
    sync_until_stable(laptop, desktop)
    assert laptop.tree == desktop.tree
    assert laptop.sync().refused == []


def test_a_hand_does_not_write_in_the_name_of_another_machine(pair: tuple[Clone, Clone]) -> None:
    """That machine would refuse it: the edit is undone, and saved here."""
    laptop, desktop = pair
    [path] = laptop.dismiss(1)
    sync_until_stable(laptop, desktop)
    good = (desktop.root / path).read_bytes()
    edited = good.replace(b'reason: ""', b'reason: "other"')
    desktop.commit(path, edited)
    sync_until_stable(desktop, laptop)
    assert laptop.tree == desktop.tree and (desktop.root / path).read_bytes() == good
    assert [file.read_bytes() for file in (desktop.root / ".git/reflect/quarantine").iterdir()] == [edited]


def _objects(root: Path) -> list[bytes]:
    names = git(root, "rev-list", "--objects", "--all").split("\n")
    return [git(root, "cat-file", "-p", line.split()[0]).encode() for line in names if line]


def test_a_file_of_the_users_own_stays_here_and_is_named(pair: tuple[Clone, Clone], remote: Path) -> None:
    laptop, desktop = pair
    laptop.commit("notes.txt", b"private thoughts\n")
    made = laptop.approve(1)
    report = laptop.sync()
    assert [one["path"] for one in report.refused] == ["notes.txt"] and report.refused[0]["side"] == "here"
    assert b"private thoughts" not in b"".join(_objects(remote))
    theirs = desktop.approve(2)
    sync_until_stable(desktop, laptop, desktop)
    assert {*made, *theirs} <= desktop.list_paths() and {*made, *theirs, "notes.txt"} <= laptop.list_paths()
    assert "notes.txt" not in desktop.list_paths() and b"private thoughts" not in b"".join(_objects(remote))
    before = git(remote, "rev-parse", "main")
    sync_until_stable(laptop, desktop)
    assert git(remote, "rev-parse", "main") == before, "and nobody pushes for nothing"
    laptop.require_sound()


def _by_own_hand(clone: Clone) -> None:
    """Commit what our program wrote, with a person's own git."""
    git(clone.root, "-c", "user.name=Ada", "-c", "user.email=ada@example.com", "commit", "-q", "--amend", "--no-edit")


@pytest.mark.parametrize("has_work", [False, True], ids=["forward", "merge"])
def test_a_new_remote_gets_what_another_machines_person_made_there_by_hand(
    pair: tuple[Clone, Clone], tmp_path: Path, has_work: bool
) -> None:
    laptop, desktop = pair
    sync_until_stable(laptop, desktop, rounds=1)
    theirs = desktop.approve(1)
    _by_own_hand(desktop)
    desktop.sync()
    mine = laptop.approve(2) if has_work else []
    laptop.sync()
    mine += laptop.approve(3)
    other = create_bare_repository(tmp_path / "other.git")
    remotes.delete_state(laptop.store)
    laptop.connect(str(other))
    report = laptop.sync()
    assert not report.refused and {*mine, *theirs} <= remote_tree(other)
    assert git(other, "rev-parse", "main").strip() == laptop.tip


def test_what_a_hand_wrote_here_in_anothers_name_stays_here(pair: tuple[Clone, Clone], tmp_path: Path) -> None:
    """Whatever came from a remote before and since."""
    laptop, desktop = pair
    desktop.approve(1)
    sync_until_stable(desktop, laptop, rounds=1)
    [forged] = build_files(build_decision(6, desktop.store.machine))
    laptop.add_records(build_decision(6, desktop.store.machine))
    _by_own_hand(laptop)
    desktop.approve(2)
    sync_until_stable(desktop, laptop, rounds=1)
    other = create_bare_repository(tmp_path / "other.git")
    remotes.delete_state(laptop.store)
    laptop.connect(str(other))
    assert [one["path"] for one in laptop.sync().refused] == [forged]
    assert forged not in remote_tree(other)


def test_uncommitted_work_of_the_user_is_not_touched(pair: tuple[Clone, Clone], remote: Path) -> None:
    laptop, desktop = pair
    laptop.commit("README.md", b"# mine\n")
    path = "targets/desk-0000/global/CLAUDE.md"
    desktop.add_records(**{path: build_snapshot(1)})
    sync_until_stable(laptop, desktop)
    (laptop.root / path).write_bytes(b"being edited\n")
    (laptop.root / "scratch").write_bytes(b"untracked\n")
    git(laptop.root, "add", "scratch")
    desktop.add_records(**{path: build_snapshot(2)})
    desktop.sync()
    report = laptop.sync()
    assert report.pulled == [path]
    assert (laptop.root / path).read_bytes() == b"being edited\n"
    assert git(laptop.root, "status", "--porcelain").splitlines() == ["A  scratch", f" M {path}"]


def test_a_copy_on_another_branch_is_left_alone(pair: tuple[Clone, Clone]) -> None:
    laptop, desktop = pair
    laptop.approve(1)
    laptop.sync()
    git(desktop.root, "switch", "-qc", "mine")
    report = desktop.sync()
    assert report.pulled and git(desktop.root, "status", "--porcelain") == ""
    assert git(desktop.root, "ls-tree", "-r", "--name-only", "HEAD").splitlines() == ["README.md"]
    assert desktop.tip == laptop.tip


def test_a_rewritten_main_stops_the_sync_and_keeps_what_was(pair: tuple[Clone, Clone], remote: Path) -> None:
    """Row 56."""
    laptop, _ = pair
    laptop.approve(1)
    laptop.sync()
    laptop.approve(2)
    laptop.sync()
    was = laptop.tip
    git(remote, "update-ref", "refs/heads/main", f"{was}~1")
    laptop.approve(3)
    before = laptop.tip
    with pytest.raises(ReflectError) as stop:
        laptop.sync()
    assert stop.value.code == "rewritten" and stop.value.exit_code == 4 and was[:10] in stop.value.message
    assert (
        laptop.tip == before
        and git(remote, "rev-parse", "main").strip() == git(laptop.root, "rev-parse", f"{was}~1").strip()
    )
    assert git(laptop.root, "for-each-ref", "--format=%(objectname)", "refs/reflect/before/").strip() == was
    assert remotes.load_state(laptop.store)["error"] == stop.value.message


def test_a_remote_whose_main_is_gone_gets_it_again(pair: tuple[Clone, Clone], remote: Path) -> None:
    """Row 56, deleted."""
    laptop, _ = pair
    laptop.approve(1)
    laptop.sync()
    git(remote, "update-ref", "-d", "refs/heads/main")
    laptop.approve(2)
    laptop.sync()
    assert git(remote, "rev-parse", "main").strip() == laptop.tip


def test_a_dry_run_says_the_same_and_changes_nothing(pair: tuple[Clone, Clone], remote: Path) -> None:
    laptop, desktop = pair
    laptop.approve(1)
    laptop.sync()
    desktop.approve(2)
    before = desktop.tip, git(remote, "rev-parse", "main"), git(desktop.root, "count-objects", "-v")
    foretold = desktop.sync(SyncOptions(dry_run=True))
    assert (desktop.tip, git(remote, "rev-parse", "main"), git(desktop.root, "count-objects", "-v")) == before
    assert remotes.load_state(desktop.store) == {}
    done = desktop.sync()
    assert (sorted(foretold.pulled), sorted(foretold.pushed)) == (sorted(done.pulled), sorted(done.pushed))


@pytest.mark.parametrize("is_sent", [True, False])
def test_what_was_sent_while_main_could_not_move_comes_with_the_next_sync(
    pair: tuple[Clone, Clone], remote: Path, monkeypatch: pytest.MonkeyPatch, is_sent: bool
) -> None:
    """The remote accepts the merge while files are written here, and one of the two fails."""
    laptop, desktop = pair
    sync_until_stable(laptop, desktop)
    made = [*laptop.approve(1), *desktop.approve(2)]
    laptop.sync()
    before = desktop.tip

    def refused(*_: object, **__: object) -> None:
        while is_sent and git(remote, "rev-parse", "main").strip() == laptop.tip:
            time.sleep(0.01)
        raise main_branch.IndexLocked(desktop.store, 1.0)

    monkeypatch.setattr(move_main, "move", refused)
    with pytest.raises(main_branch.IndexLocked):
        desktop.sync()
    monkeypatch.undo()
    assert desktop.tip == before
    desktop.require_sound()
    sync_until_stable(desktop, laptop)
    assert laptop.tip == desktop.tip == git(remote, "rev-parse", "main").strip() and set(made) <= desktop.list_paths()
    desktop.require_sound()


def test_what_is_asked_ahead_of_a_sync_is_what_it_goes_on_with(pair: tuple[Clone, Clone]) -> None:
    laptop, desktop = pair
    sync_until_stable(laptop, desktop)
    made = laptop.approve(1)
    laptop.sync()
    store = desktop.open_store()
    begun = exchange.start_sync(store, desktop.env, store.git.refs("refs/heads/main", remotes.TRACKING_REF))
    assert begun is not None
    with pytest.raises(ReflectError, match="another sync is running"):
        exchange.sync(store, desktop.env, SyncOptions(unattended=True))
    assert set(made) <= set(exchange.sync(store, desktop.env, SyncOptions(started_sync=begun)).pulled)
    assert desktop.tip == laptop.tip
    begun.cancel()  # it has ended, and affects nothing else
    desktop.require_sound()


def test_what_is_asked_ahead_and_not_wanted_leaves_nothing(pair: tuple[Clone, Clone]) -> None:
    laptop, desktop = pair
    sync_until_stable(laptop, desktop)
    store = desktop.open_store()
    begun = exchange.start_sync(store, desktop.env, store.git.refs("refs/heads/main", remotes.TRACKING_REF))
    assert begun is not None
    begun.cancel()
    desktop.require_sound()
    assert desktop.sync().tries == 1


def test_another_clone_that_is_faster_is_taken_in_and_tried_again(
    pair: tuple[Clone, Clone], monkeypatch: pytest.MonkeyPatch
) -> None:
    laptop, desktop = pair
    sync_until_stable(laptop, desktop)
    made = laptop.approve(1)
    raced: list[list[str]] = []
    real = Incoming.start_push

    def late(self: Incoming, *arguments: Any) -> None:
        if len(raced) < 3:
            raced.extend([desktop.dismiss(10 + len(raced))])
            monkeypatch.setattr(Incoming, "start_push", real)
            desktop.sync()
            monkeypatch.setattr(Incoming, "start_push", late)
        real(self, *arguments)

    monkeypatch.setattr(Incoming, "start_push", late)
    report = laptop.sync()
    assert report.tries == 4 and set(made) <= set(report.pushed)
    monkeypatch.setattr(Incoming, "start_push", real)
    desktop.sync()
    assert laptop.tip == desktop.tip and {path for paths in raced for path in paths} <= laptop.list_paths()
