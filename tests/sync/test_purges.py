"""Records purged on one machine do not come back from another, and nothing else is lost."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from reflect_git.errors import ReflectError
from reflect_git.records.search_text import TextSearch
from reflect_git.store import remotes
from reflect_git.store.purge import purge_main, purge_marks, purge_refs
from reflect_git.sync import store_paths
from reflect_git.sync.exchange import SyncOptions
from reflect_git.sync.store_paths import Purge
from tests.disk_search import find_texts
from tests.faults import git
from tests.sync.clones import Clone, create_bare_repository, purge_record, purge_squashed, sync_until_stable
from tests.sync.hostile_remote import FILE, commit_to_remote
from tests.sync.sample_records import build_approval, build_decision, build_files, build_learning, build_snapshot

SECRET = "the password is swordfish"
BAD = build_learning(1, f"Remember: {SECRET}.")
[PATH] = build_files(BAD)
AGREED = SyncOptions(confirm_purges=lambda purges: True, pause=lambda seconds: None)


@pytest.fixture
def pair(tmp_path: Path, remote: Path) -> tuple[Clone, Clone]:
    """Create two machines with the secret, and something else."""
    laptop, desktop = Clone(tmp_path / "laptop", str(remote)), Clone(tmp_path / "desk", str(remote))
    laptop.add_records(BAD)
    laptop.approve(2)
    sync_until_stable(laptop, desktop, rounds=2)
    return laptop, desktop


def purge(clone: Clone) -> None:
    purge_squashed(clone, [PATH])


def purge_really(clone: Clone, patterns: list[str], ids: tuple[str, ...] = (BAD["id"],)) -> None:
    """Purge and keep the rest of the history."""
    sought = TextSearch(patterns)
    with clone.store.locked(5):
        found = purge_main.preview_purge(clone.store, sought, ids)
        marks = store_paths.build_marks(found.records, found.blobs)
        said = store_paths.emit_purge(Purge(1, "2026-02-12T10:00:00Z", clone.store.machine, tuple(marks)))
        purge_main.run_purge(
            clone.store, found, sought, marks, {store_paths.build_purge_path(1, "00000000"): said}, "purge: it"
        )


def by_hand(clone: Clone) -> None:
    """Make the last commit one of a person's own git."""
    git(clone.root, "-c", "user.name=A", "-c", "user.email=a@b", "commit", "-q", "--amend", "--no-edit")


def test_the_remote_is_replaced_by_what_has_no_secret(pair: tuple[Clone, Clone], remote: Path) -> None:
    laptop, _ = pair
    purge_really(laptop, [SECRET])
    laptop.sync()
    assert git(remote, "rev-parse", "main").strip() == laptop.tip
    git(remote, "-c", "gc.reflogExpire=now", "gc", "-q", "--prune=now")
    assert find_texts(remote, SECRET) == []


def test_an_old_clone_asks_before_it_takes_anything_out(pair: tuple[Clone, Clone], remote: Path) -> None:
    laptop, desktop = pair
    purge(laptop)
    laptop.sync()
    desktop.approve(3)
    before = desktop.tip, git(remote, "rev-parse", "main")
    report = desktop.sync()
    assert [one.machine for one in report.purges] == [laptop.store.machine]
    assert (desktop.tip, git(remote, "rev-parse", "main")) == before, "nothing came and nothing went"


def test_its_unpushed_records_survive_and_the_secret_does_not_return(pair: tuple[Clone, Clone], remote: Path) -> None:
    """Row 68."""
    laptop, desktop = pair
    mine = desktop.approve(3)
    desktop.add_records(build_learning(9, "Another rule."))
    purge(laptop)
    theirs = laptop.approve(4)
    laptop.sync()
    desktop.sync(AGREED)
    sync_until_stable(laptop, desktop, rounds=2)
    for clone in pair:
        assert PATH not in clone.list_paths() and {*mine, *theirs} <= clone.list_paths()
        assert find_texts(clone.root, SECRET) == []
        clone.require_sound()
    assert laptop.tree == desktop.tree
    git(remote, "-c", "gc.reflogExpire=now", "gc", "-q", "--prune=now")
    assert find_texts(remote, SECRET) == []


def test_what_was_purged_is_captured_again_on_no_machine(
    pair: tuple[Clone, Clone], remote: Path, tmp_path: Path
) -> None:
    laptop, desktop = pair
    purge(laptop)
    laptop.sync()
    new = Clone(tmp_path / "new", str(remote))
    for clone in (desktop, new):
        clone.sync(AGREED)
        assert purge_marks.find_purged(clone.store, [BAD["id"], build_learning(2, "x")["id"]]) == {BAD["id"]}


def test_what_a_hand_spoiled_before_a_purge_gives_way_to_what_it_was(pair: tuple[Clone, Clone]) -> None:
    laptop, desktop = pair
    [path, _] = laptop.approve(3)
    good = (laptop.root / path).read_bytes()
    laptop.open_store()
    laptop.commit(path, b"text: mine\n")
    purge_record(laptop, PATH)
    laptop.sync()
    assert not desktop.sync(AGREED).refused
    sync_until_stable(laptop, desktop)
    assert (desktop.root / path).read_bytes() == (laptop.root / path).read_bytes() == good
    assert PATH not in laptop.list_paths() and laptop.tree == desktop.tree


def _torn(said: bytes) -> bytes:
    return said.replace(b'["', b'["no mark", "')


def _emptied(said: bytes) -> bytes:
    return re.sub(rb"purged: \[.*\]", b"purged: []", said)


def _gone(said: bytes) -> None:
    return None


@pytest.mark.parametrize("by_hand", [_torn, _emptied, _gone])
def test_nothing_is_exchanged_while_main_does_not_name_all_that_was_purged(
    pair: tuple[Clone, Clone], remote: Path, by_hand: Callable[[bytes], bytes | None]
) -> None:
    """The remote still has it, and nothing else prevents its return."""
    laptop, _ = pair
    purge(laptop)
    (path,) = (name for name in laptop.list_paths() if name.startswith("purges/"))
    said = (laptop.root / path).read_bytes()
    laptop.open_store()
    edited = by_hand(said)
    if edited is None:
        git(laptop.root, "mv", path, f"{path}.bak")
        git(laptop.root, "-c", "user.name=Ada", "-c", "user.email=ada@example.com", "commit", "-qm", "away with it")
    else:
        laptop.commit(path, edited)
    before = git(remote, "rev-parse", "main")
    with pytest.raises(ReflectError, match="no longer lists everything that was purged") as refused:
        laptop.sync()
    assert "undo it" in (refused.value.hint or "")
    assert PATH not in laptop.list_paths() and git(remote, "rev-parse", "main") == before
    laptop.commit(path, said)
    laptop.sync()
    assert PATH not in laptop.list_paths()
    assert PATH not in git(remote, "ls-tree", "-r", "--name-only", "main").split()


def test_what_others_pushed_meanwhile_is_taken_in_first(pair: tuple[Clone, Clone], remote: Path) -> None:
    laptop, desktop = pair
    purge(laptop)
    theirs = desktop.approve(3)
    desktop.sync()
    laptop.sync()
    assert set(theirs) <= laptop.list_paths() and PATH not in laptop.list_paths()
    assert find_texts(laptop.root, SECRET) == []
    desktop.sync(AGREED)
    assert desktop.tree == laptop.tree and find_texts(desktop.root, SECRET) == []


def test_what_another_machines_person_made_by_hand_is_still_there_afterwards(
    pair: tuple[Clone, Clone], remote: Path
) -> None:
    laptop, desktop = pair
    theirs = desktop.approve(3)
    by_hand(desktop)
    sync_until_stable(desktop, laptop, rounds=1)
    purge_really(laptop, [])
    assert not laptop.sync().refused
    assert git(remote, "rev-parse", "main").strip() == laptop.tip and set(theirs) <= laptop.list_paths()


def test_a_new_remote_gets_what_another_machines_person_made_by_hand_before_a_purge(
    pair: tuple[Clone, Clone], tmp_path: Path
) -> None:
    """The purge also removed the reflog of main, which shows that it came from a remote.

    What somebody wrote here in another machine's name still stays here.
    """
    laptop, desktop = pair
    theirs = desktop.approve(3)
    by_hand(desktop)
    sync_until_stable(desktop, laptop, rounds=1)
    [forged] = laptop.add_records(build_decision(6, desktop.store.machine))
    by_hand(laptop)
    purge_really(laptop, [SECRET])
    with laptop.store.locked(5):
        purge_refs.clean_store(laptop.store, [])  # as a command does that finds the journal of a killed purge
    remotes.delete_state(laptop.store)
    laptop.connect(str(create_bare_repository(tmp_path / "other.git")))
    assert [one["path"] for one in laptop.sync().refused] == [forged]
    assert set(theirs) <= set(git(tmp_path / "other.git", "ls-tree", "-r", "--name-only", "main").split())


def test_a_purge_changes_the_mirrors_of_other_machines_too(pair: tuple[Clone, Clone]) -> None:
    laptop, desktop = pair
    path = f"targets/{desktop.store.machine}/global/CLAUDE.md"
    for version in (1, 2):
        desktop.add_records(**{path: build_snapshot(version, f"- {SECRET}\n")})
        sync_until_stable(desktop, laptop, rounds=1)
    purge_really(laptop, [SECRET])
    laptop.sync()
    assert not desktop.sync(AGREED).refused
    assert (desktop.root / path).read_bytes() == build_snapshot(2, "- [purged]\n")
    sync_until_stable(laptop, desktop, rounds=1)
    assert laptop.tip == desktop.tip and find_texts(desktop.root, SECRET) == []


def entries(*learnings: tuple[str, str]) -> str:
    return "\n".join(f"<!-- {identity} -->\n\n- {text}\n" for identity, text in learnings)


OTHER = ("LRN-20260211-00000002", "Rule number 2.")


def taken_over(desktop: Clone) -> dict[str, bytes]:
    """Return what a machine has that applied the learning: a decision with its text, and a snapshot."""
    said = build_decision(7, desktop.store.machine, kind="applied", subject=BAD["id"], text=BAD["text"])
    path = f"targets/{desktop.store.machine}/global/CLAUDE.md"
    return {**build_files(said), path: build_snapshot(3, entries((BAD["id"], BAD["text"]), OTHER))}


@pytest.mark.parametrize("is_sent", [False, True])
def test_what_another_machine_took_over_meanwhile_does_not_bring_it_back(
    pair: tuple[Clone, Clone], remote: Path, is_sent: bool
) -> None:
    """The purging machine could not know these files; sent before the purge reached the remote, or never sent."""
    laptop, desktop = pair
    mine = desktop.approve(8)
    [told, kept] = desktop.add_records(**taken_over(desktop))
    purge_really(laptop, [SECRET])
    if is_sent:
        desktop.sync()
    laptop.sync()
    report = desktop.sync(AGREED)
    assert not report.refused and not report.remains
    sync_until_stable(laptop, desktop, rounds=2)
    for clone in pair:
        assert told not in clone.list_paths() and set(mine) <= clone.list_paths()
        assert (clone.root / kept).read_bytes() == build_snapshot(3, entries(OTHER))
        assert find_texts(clone.root, SECRET) == []
        clone.require_sound()
    assert laptop.tree == desktop.tree
    git(remote, "-c", "gc.reflogExpire=now", "gc", "-q", "--prune=now")
    assert find_texts(remote, SECRET) == []


@pytest.mark.parametrize("is_sent", [False, True])
def test_a_mirror_that_has_it_in_its_name_goes(pair: tuple[Clone, Clone], remote: Path, is_sent: bool) -> None:
    """An empty rules file on a machine that the purging one does not know."""
    laptop, desktop = pair
    slug = "the-password-is-swordfish"
    place = f"targets/{desktop.store.machine}/global/rules/reflect"
    desktop.add_records(**{f"{place}/{slug}-{BAD['id'].rpartition('-')[2]}.md": build_snapshot(2, "")})
    [kept] = desktop.add_records(**{f"{place}/rule-number-2-{OTHER[0].rpartition('-')[2]}.md": build_snapshot(1, "")})
    purge_really(laptop, [SECRET])
    if is_sent:
        desktop.sync()
    laptop.sync()
    assert not desktop.sync(AGREED).refused
    sync_until_stable(laptop, desktop, rounds=2)
    git(remote, "-c", "gc.reflogExpire=now", "gc", "-q", "--prune=now")
    assert laptop.tree == desktop.tree and kept in laptop.list_paths()
    for root in (laptop.root, desktop.root, remote):
        assert find_texts(root, slug) == []


def test_a_mirror_in_a_folder_that_says_it_goes_where_it_is_spent(pair: tuple[Clone, Clone]) -> None:
    """The path is marked: remains of the purged learning are removed; later files at that path stay."""
    laptop, desktop = pair
    spent = f"targets/{desktop.store.machine}/swordfish-0a1b2c3d/CLAUDE.md"
    used = f"targets/{laptop.store.machine}/swordfish-0a1b2c3d/CLAUDE.md"
    with laptop.store.locked(5):
        found = purge_main.preview_purge(laptop.store, TextSearch([SECRET]), [BAD["id"]])
        marks = store_paths.build_marks(found.records, found.blobs, [spent])
        said = store_paths.emit_purge(Purge(1, "2026-02-12T10:00:00Z", laptop.store.machine, tuple(marks)))
        new = {store_paths.build_purge_path(1, "00000000"): said}
        purge_main.run_purge(laptop.store, found, TextSearch([SECRET]), marks, new, "purge: it")
    desktop.add_records(**{spent: build_snapshot(2, "")})
    laptop.add_records(**{used: build_snapshot(2, "").replace(BAD["id"].encode(), OTHER[0].encode())})
    laptop.sync()
    assert not desktop.sync(AGREED).refused
    sync_until_stable(laptop, desktop, rounds=2)
    before = laptop.tip
    sync_until_stable(laptop, desktop, rounds=2)
    assert laptop.tree == desktop.tree and laptop.tip == before == desktop.tip
    assert spent not in laptop.list_paths() and used in laptop.list_paths()


def test_what_says_the_same_and_was_never_sent_is_named_and_stays(pair: tuple[Clone, Clone], remote: Path) -> None:
    """Repeated and approved on the other machine: other ids, the same words.

    A remote announced the purge, and nobody agreed to lose this.
    """
    laptop, desktop = pair
    again = desktop.add_records(*build_approval(9, desktop.store.machine, BAD["text"]))
    purge_really(laptop, [SECRET])
    laptop.sync()
    left = desktop.sync(AGREED).remains or []
    assert set(again) <= set(left) and set(again) <= desktop.list_paths()
    sync_until_stable(laptop, desktop, rounds=1)
    assert laptop.tree == desktop.tree


def test_what_says_the_same_and_was_sent_is_named(pair: tuple[Clone, Clone]) -> None:
    """It reached the remote after the purge, under other ids than the purged ones: nothing announced it."""
    laptop, desktop = pair
    purge_squashed(laptop, [PATH])
    [again, _] = desktop.add_records(*build_approval(9, desktop.store.machine, BAD["text"]))
    desktop.sync()
    laptop.sync()
    left = desktop.sync(AGREED).remains or []
    assert again in left and left[-1].endswith(" git objects")
    sync_until_stable(laptop, desktop, rounds=1)
    assert laptop.tree == desktop.tree and again in laptop.list_paths()


def test_a_decision_about_another_learning_stays(pair: tuple[Clone, Clone]) -> None:
    laptop, desktop = pair
    said = desktop.add_records(
        build_decision(7, desktop.store.machine, kind="applied", subject=OTHER[0], text=OTHER[1])
    )
    purge_really(laptop, [SECRET])
    laptop.sync()
    desktop.sync(AGREED)
    sync_until_stable(laptop, desktop, rounds=1)
    assert set(said) <= laptop.list_paths() & desktop.list_paths()


def test_a_remote_cannot_bring_it_with_the_very_purge(pair: tuple[Clone, Clone], remote: Path) -> None:
    """A history that announces a purge and has what mentions it: neither the record nor that is accepted."""
    laptop, desktop = pair
    told = build_files(build_decision(7, "other-k3f9", kind="applied", subject=BAD["id"], text=BAD["text"]))
    purge_really(laptop, [SECRET])
    laptop.add_records(**told)
    by_hand(laptop)
    git(laptop.root, "push", "-q", "--force", str(remote), "main")
    refused = desktop.sync(AGREED).refused
    assert {(one["path"], one["reason"]) for one in refused} >= {(path, "it was purged") for path in told}
    assert not set(told) & desktop.list_paths() and find_texts(desktop.root, SECRET) == []


def test_a_host_that_keeps_all_history_is_told_of(tmp_path: Path) -> None:
    remote = create_bare_repository(tmp_path / "shared.git", "--shared")
    laptop = Clone(tmp_path / "laptop", str(remote))
    laptop.add_records(BAD)
    laptop.sync()
    purge(laptop)
    with pytest.raises(ReflectError) as stop:
        laptop.sync()
    assert "keeps the purged text" in stop.value.message and stop.value.hint and "new, empty" in stop.value.hint


def test_purged_bytes_are_refused_whatever_offers_them(pair: tuple[Clone, Clone], tmp_path: Path) -> None:
    """Another remote, whose history is older than the purge."""
    laptop, desktop = pair
    old = create_bare_repository(tmp_path / "old.git")
    desktop.connect(str(old))
    desktop.sync()
    purge(laptop)
    laptop.connect(str(old))
    laptop.sync()
    assert PATH not in laptop.list_paths() and find_texts(laptop.root, SECRET) == []


def test_neither_side_takes_a_purge_for_a_loss_or_a_lie(pair: tuple[Clone, Clone], remote: Path) -> None:
    """The purging machine announced it in its own name; the other one has what the remote lacks."""
    laptop, desktop = pair
    mine = laptop.dismiss(5)
    sync_until_stable(laptop, desktop, rounds=1)
    purge_squashed(laptop, mine)
    first = laptop.sync()
    assert not first.refused and not first.lost
    second = desktop.sync(AGREED)
    assert not second.refused and not second.lost


def test_what_was_purged_does_not_come_back_with_a_history_that_knows_of_it(
    pair: tuple[Clone, Clone], remote: Path, tmp_path: Path
) -> None:
    """An old clone, merged and pushed with git itself: the tree names the purge, and has what was purged."""
    laptop, _ = pair
    old = tmp_path / "old"
    git(tmp_path, "clone", "-q", str(remote), str(old))
    purge(laptop)
    laptop.sync()
    who = ("-c", "user.name=A", "-c", "user.email=a@b")
    git(old, "fetch", "-q", "origin")
    git(old, *who, "merge", "-q", "--allow-unrelated-histories", "-s", "ours", "-m", "both", "origin/main")
    git(old, "checkout", "-q", "origin/main", "--", "purges")
    git(old, *who, "commit", "-qm", "and its purges")
    git(old, "push", "-q", "origin", "HEAD:main")
    report = laptop.sync()
    assert [(one["path"], one["reason"]) for one in report.refused] == [(PATH, "it was purged")]
    assert PATH not in laptop.list_paths() and find_texts(laptop.root, SECRET) == []
    laptop.require_sound()


def test_a_new_repository_of_a_host_keeps_its_history_after_a_purge(pair: tuple[Clone, Clone], tmp_path: Path) -> None:
    """It has nothing that was purged, and nothing is replaced."""
    laptop, _ = pair
    purge(laptop)
    other = create_bare_repository(tmp_path / "other.git")
    first = commit_to_remote(other, {"README.md": (FILE, b"# learnings\n")})
    laptop.connect(str(other))
    remotes.delete_state(laptop.store)
    laptop.sync()
    assert first in git(other, "rev-list", "main").split()
    assert git(other, "rev-parse", "main^{tree}").strip() == laptop.tree
