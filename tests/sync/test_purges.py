"""Records purged on one machine do not come back from another, and nothing else is lost."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from reflect_git.errors import ReflectError
from reflect_git.records.search_text import Sought
from reflect_git.store import remotes
from reflect_git.store.purge import purge_main, purge_marks, purge_refs
from reflect_git.sync import store_paths
from reflect_git.sync.exchange import Wishes
from reflect_git.sync.store_paths import Purge
from tests.faults import git
from tests.scan import places_of
from tests.sync.clones import Clone, bare, rewrite_without, settle, take_out
from tests.sync.hostile import FILE, offer
from tests.sync.offers import approved, decision, files_of, learning, mirror

SECRET = "the password is swordfish"
BAD = learning(1, f"Remember: {SECRET}.")
[PATH] = files_of(BAD)
AGREED = Wishes(agrees=lambda purges: True, pause=lambda seconds: None)


@pytest.fixture
def pair(tmp_path: Path, remote: Path) -> tuple[Clone, Clone]:
    """Create two machines with the secret, and something else."""
    laptop, desk = Clone(tmp_path / "laptop", str(remote)), Clone(tmp_path / "desk", str(remote))
    laptop.add(BAD)
    laptop.approve(2)
    settle(laptop, desk, rounds=2)
    return laptop, desk


def purge(clone: Clone) -> None:
    take_out(clone, [PATH])


def purge_really(clone: Clone, patterns: list[str]) -> None:
    """Purge and keep the rest of the history."""
    sought = Sought(patterns)
    with clone.store.locked(5):
        found = purge_main.look(clone.store, sought, [BAD["id"]])
        marks = store_paths.marks_of(found.records, found.blobs)
        said = store_paths.emit(Purge(1, "2026-02-12T10:00:00Z", clone.store.machine, tuple(marks)))
        purge_main.carry_out(
            clone.store, found, sought, marks, {store_paths.path_for(1, "00000000"): said}, "purge: it"
        )


def by_hand(clone: Clone) -> None:
    """Make the last commit one of a person's own git."""
    git(clone.root, "-c", "user.name=A", "-c", "user.email=a@b", "commit", "-q", "--amend", "--no-edit")


def test_the_remote_is_replaced_by_what_has_no_secret(pair: tuple[Clone, Clone], remote: Path) -> None:
    laptop, _ = pair
    purge(laptop)
    laptop.sync()
    assert git(remote, "rev-parse", "main").strip() == laptop.tip
    git(remote, "-c", "gc.reflogExpire=now", "gc", "-q", "--prune=now")
    assert places_of(remote, SECRET) == []


def test_an_old_clone_asks_before_it_takes_anything_out(pair: tuple[Clone, Clone], remote: Path) -> None:
    laptop, desk = pair
    purge(laptop)
    laptop.sync()
    desk.approve(3)
    before = desk.tip, git(remote, "rev-parse", "main")
    report = desk.sync()
    assert [one.machine for one in report.purges] == [laptop.store.machine]
    assert (desk.tip, git(remote, "rev-parse", "main")) == before, "nothing came and nothing went"


def test_its_unpushed_records_survive_and_the_secret_does_not_return(pair: tuple[Clone, Clone], remote: Path) -> None:
    """Row 68."""
    laptop, desk = pair
    mine = desk.approve(3)
    desk.add(learning(9, "Another rule."))
    purge(laptop)
    theirs = laptop.approve(4)
    laptop.sync()
    desk.sync(AGREED)
    settle(laptop, desk, rounds=2)
    for clone in pair:
        assert PATH not in clone.paths() and {*mine, *theirs} <= clone.paths()
        assert places_of(clone.root, SECRET) == []
        clone.require_sound()
    assert laptop.tree == desk.tree
    git(remote, "-c", "gc.reflogExpire=now", "gc", "-q", "--prune=now")
    assert places_of(remote, SECRET) == []


def test_what_was_purged_is_captured_again_on_no_machine(
    pair: tuple[Clone, Clone], remote: Path, tmp_path: Path
) -> None:
    laptop, desk = pair
    purge(laptop)
    laptop.sync()
    new = Clone(tmp_path / "new", str(remote))
    for clone in (desk, new):
        clone.sync(AGREED)
        assert purge_marks.among(clone.store, [BAD["id"], learning(2, "x")["id"]]) == {BAD["id"]}


def test_what_a_hand_spoiled_before_a_purge_gives_way_to_what_it_was(pair: tuple[Clone, Clone]) -> None:
    laptop, desk = pair
    [path, _] = laptop.approve(3)
    good = (laptop.root / path).read_bytes()
    laptop.open()
    laptop.commit(path, b"text: mine\n")
    rewrite_without(laptop, PATH)
    laptop.sync()
    assert not desk.sync(AGREED).refused
    settle(laptop, desk)
    assert (desk.root / path).read_bytes() == (laptop.root / path).read_bytes() == good
    assert PATH not in laptop.paths() and laptop.tree == desk.tree


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
    (path,) = (name for name in laptop.paths() if name.startswith("purges/"))
    said = (laptop.root / path).read_bytes()
    laptop.open()
    edited = by_hand(said)
    if edited is None:
        git(laptop.root, "mv", path, f"{path}.bak")
        git(laptop.root, "-c", "user.name=Ada", "-c", "user.email=ada@example.com", "commit", "-qm", "away with it")
    else:
        laptop.commit(path, edited)
    before = git(remote, "rev-parse", "main")
    with pytest.raises(ReflectError, match="no longer names all that was purged") as refused:
        laptop.sync()
    assert "put it back" in (refused.value.hint or "")
    assert PATH not in laptop.paths() and git(remote, "rev-parse", "main") == before
    laptop.commit(path, said)
    laptop.sync()
    assert PATH not in laptop.paths()
    assert PATH not in git(remote, "ls-tree", "-r", "--name-only", "main").split()


def test_what_others_pushed_meanwhile_is_taken_in_first(pair: tuple[Clone, Clone], remote: Path) -> None:
    laptop, desk = pair
    purge(laptop)
    theirs = desk.approve(3)
    desk.sync()
    laptop.sync()
    assert set(theirs) <= laptop.paths() and PATH not in laptop.paths()
    assert places_of(laptop.root, SECRET) == []
    desk.sync(AGREED)
    assert desk.tree == laptop.tree and places_of(desk.root, SECRET) == []


def test_what_another_machines_person_made_by_hand_is_still_there_afterwards(
    pair: tuple[Clone, Clone], remote: Path
) -> None:
    laptop, desk = pair
    theirs = desk.approve(3)
    by_hand(desk)
    settle(desk, laptop, rounds=1)
    purge_really(laptop, [])
    assert not laptop.sync().refused
    assert git(remote, "rev-parse", "main").strip() == laptop.tip and set(theirs) <= laptop.paths()


def test_a_new_remote_gets_what_another_machines_person_made_by_hand_before_a_purge(
    pair: tuple[Clone, Clone], tmp_path: Path
) -> None:
    """The purge also removed the reflog of main, which shows that it came from a remote.

    What somebody wrote here in another machine's name still stays here.
    """
    laptop, desk = pair
    theirs = desk.approve(3)
    by_hand(desk)
    settle(desk, laptop, rounds=1)
    [forged] = laptop.add(decision(6, desk.store.machine))
    by_hand(laptop)
    purge_really(laptop, [SECRET])
    with laptop.store.locked(5):
        purge_refs.forget(laptop.store, [])  # as a command does that finds the journal of a killed purge
    remotes.forget(laptop.store)
    laptop.connect(str(bare(tmp_path / "other.git")))
    assert [one["path"] for one in laptop.sync().refused] == [forged]
    assert set(theirs) <= set(git(tmp_path / "other.git", "ls-tree", "-r", "--name-only", "main").split())


def test_a_purge_changes_the_mirrors_of_other_machines_too(pair: tuple[Clone, Clone]) -> None:
    laptop, desk = pair
    path = f"targets/{desk.store.machine}/global/CLAUDE.md"
    for version in (1, 2):
        desk.add(**{path: mirror(version, f"- {SECRET}\n")})
        settle(desk, laptop, rounds=1)
    purge_really(laptop, [SECRET])
    laptop.sync()
    assert not desk.sync(AGREED).refused
    assert (desk.root / path).read_bytes() == mirror(2, "- [purged]\n")
    settle(laptop, desk, rounds=1)
    assert laptop.tip == desk.tip and places_of(desk.root, SECRET) == []


def entries(*learnings: tuple[str, str]) -> str:
    return "\n".join(f"<!-- {identity} -->\n\n- {text}\n" for identity, text in learnings)


OTHER = ("LRN-20260211-00000002", "Rule number 2.")


def taken_over(desk: Clone) -> dict[str, bytes]:
    """Return what a machine has that applied the learning: a decision with its text, and a snapshot."""
    said = decision(7, desk.store.machine, kind="applied", subject=BAD["id"], text=BAD["text"])
    path = f"targets/{desk.store.machine}/global/CLAUDE.md"
    return {**files_of(said), path: mirror(3, entries((BAD["id"], BAD["text"]), OTHER))}


@pytest.mark.parametrize("is_sent", [False, True])
def test_what_another_machine_took_over_meanwhile_does_not_bring_it_back(
    pair: tuple[Clone, Clone], remote: Path, is_sent: bool
) -> None:
    """The purging machine could not know these files; sent before the purge reached the remote, or never sent."""
    laptop, desk = pair
    mine = desk.approve(8)
    [told, kept] = desk.add(**taken_over(desk))
    purge_really(laptop, [SECRET])
    if is_sent:
        desk.sync()
    laptop.sync()
    report = desk.sync(AGREED)
    assert not report.refused and not report.left
    settle(laptop, desk, rounds=2)
    for clone in pair:
        assert told not in clone.paths() and set(mine) <= clone.paths()
        assert (clone.root / kept).read_bytes() == mirror(3, entries(OTHER))
        assert places_of(clone.root, SECRET) == []
        clone.require_sound()
    assert laptop.tree == desk.tree
    git(remote, "-c", "gc.reflogExpire=now", "gc", "-q", "--prune=now")
    assert places_of(remote, SECRET) == []


@pytest.mark.parametrize("is_sent", [False, True])
def test_a_mirror_that_has_it_in_its_name_goes(pair: tuple[Clone, Clone], remote: Path, is_sent: bool) -> None:
    """An empty rules file on a machine that the purging one does not know."""
    laptop, desk = pair
    slug = "the-password-is-swordfish"
    place = f"targets/{desk.store.machine}/global/rules/reflect"
    desk.add(**{f"{place}/{slug}-{BAD['id'].rpartition('-')[2]}.md": mirror(2, "")})
    [kept] = desk.add(**{f"{place}/rule-number-2-{OTHER[0].rpartition('-')[2]}.md": mirror(1, "")})
    purge_really(laptop, [SECRET])
    if is_sent:
        desk.sync()
    laptop.sync()
    assert not desk.sync(AGREED).refused
    settle(laptop, desk, rounds=2)
    git(remote, "-c", "gc.reflogExpire=now", "gc", "-q", "--prune=now")
    assert laptop.tree == desk.tree and kept in laptop.paths()
    for root in (laptop.root, desk.root, remote):
        assert places_of(root, slug) == []


def test_a_mirror_in_a_folder_that_says_it_goes_where_it_is_spent(pair: tuple[Clone, Clone]) -> None:
    """The path is marked: remains of the purged learning are removed; later files at that path stay."""
    laptop, desk = pair
    spent = f"targets/{desk.store.machine}/swordfish-0a1b2c3d/CLAUDE.md"
    used = f"targets/{laptop.store.machine}/swordfish-0a1b2c3d/CLAUDE.md"
    with laptop.store.locked(5):
        found = purge_main.look(laptop.store, Sought([SECRET]), [BAD["id"]])
        marks = store_paths.marks_of(found.records, found.blobs, [spent])
        said = store_paths.emit(Purge(1, "2026-02-12T10:00:00Z", laptop.store.machine, tuple(marks)))
        new = {store_paths.path_for(1, "00000000"): said}
        purge_main.carry_out(laptop.store, found, Sought([SECRET]), marks, new, "purge: it")
    desk.add(**{spent: mirror(2, "")})
    laptop.add(**{used: mirror(2, "").replace(BAD["id"].encode(), OTHER[0].encode())})
    laptop.sync()
    assert not desk.sync(AGREED).refused
    settle(laptop, desk, rounds=2)
    before = laptop.tip
    settle(laptop, desk, rounds=2)
    assert laptop.tree == desk.tree and laptop.tip == before == desk.tip
    assert spent not in laptop.paths() and used in laptop.paths()


def test_what_says_the_same_and_was_never_sent_is_named_and_stays(pair: tuple[Clone, Clone], remote: Path) -> None:
    """Repeated and approved on the other machine: other ids, the same words.

    A remote announced the purge, and nobody agreed to lose this.
    """
    laptop, desk = pair
    again = desk.add(*approved(9, desk.store.machine, BAD["text"]))
    purge_really(laptop, [SECRET])
    laptop.sync()
    left = desk.sync(AGREED).left or []
    assert set(again) <= set(left) and set(again) <= desk.paths()
    settle(laptop, desk, rounds=1)
    assert laptop.tree == desk.tree


def test_what_says_the_same_and_was_sent_is_named(pair: tuple[Clone, Clone]) -> None:
    """It reached the remote after the purge, under other ids than the purged ones: nothing announced it."""
    laptop, desk = pair
    take_out(laptop, [PATH])
    [again, _] = desk.add(*approved(9, desk.store.machine, BAD["text"]))
    desk.sync()
    laptop.sync()
    left = desk.sync(AGREED).left or []
    assert again in left and left[-1].endswith(" git objects")
    settle(laptop, desk, rounds=1)
    assert laptop.tree == desk.tree and again in laptop.paths()


def test_a_decision_about_another_learning_stays(pair: tuple[Clone, Clone]) -> None:
    laptop, desk = pair
    said = desk.add(decision(7, desk.store.machine, kind="applied", subject=OTHER[0], text=OTHER[1]))
    purge_really(laptop, [SECRET])
    laptop.sync()
    desk.sync(AGREED)
    settle(laptop, desk, rounds=1)
    assert set(said) <= laptop.paths() & desk.paths()


def test_a_remote_cannot_bring_it_with_the_very_purge(pair: tuple[Clone, Clone], remote: Path) -> None:
    """A history that announces a purge and has what mentions it: neither the record nor that is accepted."""
    laptop, desk = pair
    told = files_of(decision(7, "other-k3f9", kind="applied", subject=BAD["id"], text=BAD["text"]))
    purge_really(laptop, [SECRET])
    laptop.add(**told)
    by_hand(laptop)
    git(laptop.root, "push", "-q", "--force", str(remote), "main")
    refused = desk.sync(AGREED).refused
    assert {(one["path"], one["reason"]) for one in refused} >= {(path, "it was purged") for path in told}
    assert not set(told) & desk.paths() and places_of(desk.root, SECRET) == []


def test_a_host_that_keeps_all_history_is_told_of(tmp_path: Path) -> None:
    remote = bare(tmp_path / "shared.git", "--shared")
    laptop = Clone(tmp_path / "laptop", str(remote))
    laptop.add(BAD)
    laptop.sync()
    purge(laptop)
    with pytest.raises(ReflectError) as stop:
        laptop.sync()
    assert "keeps the purged text" in stop.value.message and stop.value.hint and "new, empty" in stop.value.hint


def test_purged_bytes_are_refused_whatever_offers_them(pair: tuple[Clone, Clone], tmp_path: Path) -> None:
    """Another remote, whose history is older than the purge."""
    laptop, desk = pair
    old = bare(tmp_path / "old.git")
    desk.connect(str(old))
    desk.sync()
    purge(laptop)
    laptop.connect(str(old))
    laptop.sync()
    assert PATH not in laptop.paths() and places_of(laptop.root, SECRET) == []


def test_neither_side_takes_a_purge_for_a_loss_or_a_lie(pair: tuple[Clone, Clone], remote: Path) -> None:
    """The purging machine announced it in its own name; the other one has what the remote lacks."""
    laptop, desk = pair
    mine = laptop.dismiss(5)
    settle(laptop, desk, rounds=1)
    take_out(laptop, mine)
    first = laptop.sync()
    assert not first.refused and not first.lost
    second = desk.sync(AGREED)
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
    assert PATH not in laptop.paths() and places_of(laptop.root, SECRET) == []
    laptop.require_sound()


def test_a_new_repository_of_a_host_keeps_its_history_after_a_purge(pair: tuple[Clone, Clone], tmp_path: Path) -> None:
    """It has nothing that was purged, and nothing is replaced."""
    laptop, _ = pair
    purge(laptop)
    other = bare(tmp_path / "other.git")
    first = offer(other, {"README.md": (FILE, b"# learnings\n")})
    laptop.connect(str(other))
    remotes.forget(laptop.store)
    laptop.sync()
    assert first in git(other, "rev-list", "main").split()
    assert git(other, "rev-parse", "main^{tree}").strip() == laptop.tree
