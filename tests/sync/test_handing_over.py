"""Accepted objects stay in the pack they came in; nothing else from it, or from their history, is kept."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from reflect_git.errors import ReflectError
from reflect_git.platform.remote_git import Limits
from reflect_git.sync import exchange
from reflect_git.sync.exchange import SyncOptions, SyncReport
from tests.conftest import REAL_GIT
from tests.faults import git
from tests.sync.clones import NO_PAUSE, Clone
from tests.sync.hostile_remote import FILE, Files, commit_to_remote, has_object, write_blob, write_object, write_tree
from tests.sync.sample_records import build_approval, build_files

MARK = b"what nobody looked at\n"
WHO = "Mallory <m@example.com> 1700000000 +0000"


def records(number: int) -> Files:
    return {path: (FILE, data) for path, data in build_files(*build_approval(number, "desk-k3f9")).items()}


def commit(remote: Path, of: str, parents: Sequence[str]) -> str:
    text = f"tree {of}\n" + "".join(f"parent {one}\n" for one in parents)
    text += f"author {WHO}\ncommitter {WHO}\n\nharmless\n"
    return write_object(remote, "hash-object", "-t", "commit", "--literally", "-w", "--stdin", data=text.encode())


def listed(remote: Path, name: str) -> dict[str, tuple[str, bytes]]:
    lines = write_object(remote, "ls-tree", "-r", "-z", name).split("\0")
    entries = [line.partition("\t")[::2] for line in lines if line]
    return {path: (meta.split()[0], content(remote, meta.split()[2])) for meta, path in entries}


def content(remote: Path, oid: str) -> bytes:
    return subprocess.check_output([REAL_GIT, "-C", str(remote), "cat-file", "blob", oid])


def packs(root: Path) -> set[str]:
    return {path.name for path in (root / ".git" / "objects" / "pack").glob("*.idx")}


def objects_in(remote: Path, pack: Path) -> str:
    """Return the objects that were sent, in a thin pack or not, with the repository they came from."""
    copy = pack.with_name("whole.pack")
    write_object(remote, "index-pack", "--stdin", "--fix-thin", str(copy), data=pack.read_bytes())
    return write_object(remote, "verify-pack", "-v", str(copy.with_suffix(".idx")))


def over_ssh(clone: Clone, tmp_path: Path, smuggled: str) -> SyncReport:
    """Sync with a host that adds one object to every pack it sends."""
    hook, ssh = tmp_path / "pack-objects", tmp_path / "ssh"
    sent = tmp_path / "sent.pack"
    hook.write_text(f'#!/bin/sh\n(echo {smuggled}; cat) | "$@" | tee {sent}\n')
    asked = """$(echo "$last" | tr -d "\\047" | sed s/^git-//)"""
    ssh.write_text(f"#!/bin/sh\nfor last; do :; done\nexec {REAL_GIT} -c uploadpack.packObjectsHook={hook} {asked}\n")
    for program in (hook, ssh):
        program.chmod(0o700)
    clone.connect(f"ssh://host{tmp_path}/remote.git")
    env: Mapping[str, str] = {**clone.env, "GIT_SSH_COMMAND": str(ssh), "GIT_SSH_VARIANT": "simple"}
    return exchange.sync(clone.open_store(), env, NO_PAUSE)


def test_a_pack_of_accepted_objects_is_taken_as_it_came(synced_clone: Clone, remote: Path) -> None:
    before, new = packs(synced_clone.root), records(5)
    tip = commit_to_remote(remote, new)
    synced_clone.sync()
    assert synced_clone.tip == tip and set(new) <= synced_clone.list_paths()
    [added] = packs(synced_clone.root) - before
    held = git(synced_clone.root, "verify-pack", "-v", f".git/objects/pack/{added}")
    assert all(write_object(remote, "hash-object", "--stdin", data=data) in held for _, data in new.values())
    assert (synced_clone.root / ".git" / "objects" / "pack" / added).stat().st_mode & 0o077 == 0
    synced_clone.require_sound()


@pytest.mark.parametrize("kind", ["blob", "commit"])
def test_what_was_smuggled_into_a_pack_is_left_behind(
    synced_clone: Clone, remote: Path, tmp_path: Path, kind: str
) -> None:
    hidden = write_blob(remote, MARK)
    smuggled = hidden if kind == "blob" else commit(remote, write_tree(remote, {"evil": ("100755", MARK)}), [])
    new = records(5)
    tip = commit_to_remote(remote, new)
    report = over_ssh(synced_clone, tmp_path, smuggled)
    assert smuggled in objects_in(remote, tmp_path / "sent.pack")
    assert set(new) <= set(report.pulled) and not report.refused and synced_clone.tip == tip
    assert not has_object(synced_clone.root, MARK)
    assert git(synced_clone.root, "cat-file", "--batch-all-objects", "--batch-check").find(smuggled) < 0
    synced_clone.require_sound()


def test_what_only_a_merge_has_is_looked_at(synced_clone: Clone, remote: Path) -> None:
    """Neither of its parents has it, nor does the next commit."""
    first = write_object(remote, "rev-parse", "main")
    one, two = (commit(remote, write_tree(remote, {**listed(remote, first), **records(n)}), [first]) for n in (5, 6))
    both = {**listed(remote, first), **records(5), **records(6)}
    merge = commit(remote, write_tree(remote, {**both, "evil.sh": ("100755", MARK)}), [one, two])
    write_object(remote, "update-ref", "refs/heads/main", commit(remote, write_tree(remote, both), [merge]))
    assert [found["path"] for found in synced_clone.sync().refused] == ["evil.sh"]
    assert not has_object(synced_clone.root, MARK) and {*records(5), *records(6)} <= synced_clone.list_paths()
    assert merge not in git(synced_clone.root, "rev-list", "--all").split()


def test_a_merge_of_many_comes_in(synced_clone: Clone, remote: Path) -> None:
    first = write_object(remote, "rev-parse", "main")
    sides = [commit(remote, write_tree(remote, {**listed(remote, first), **records(n)}), [first]) for n in range(5, 9)]
    everything: dict[str, tuple[str, bytes]] = listed(remote, first)
    for number in range(5, 9):
        everything.update(records(number))
    merge = commit(remote, write_tree(remote, everything), [first, *sides])
    write_object(remote, "update-ref", "refs/heads/main", merge)
    assert not synced_clone.sync().refused and synced_clone.tip == merge
    synced_clone.require_sound()


def test_a_bomb_in_the_middle_of_a_history_is_not_listed(synced_clone: Clone, remote: Path) -> None:
    """Row 51. Eleven objects, ten billion files; the last commit has none of them."""
    first, below, mode = write_object(remote, "rev-parse", "main"), write_blob(remote, b"x"), b"100644"
    for _ in range(10):
        entries = (mode + b" f%d\0" % number + bytes.fromhex(below) for number in range(10))
        below, mode = (
            write_object(remote, "hash-object", "-t", "tree", "-w", "--stdin", data=b"".join(entries)),
            b"40000",
        )
    bomb = commit(remote, below, [first])
    write_object(
        remote,
        "update-ref",
        "refs/heads/main",
        commit(remote, write_object(remote, "rev-parse", f"{first}^{{tree}}"), [bomb]),
    )
    before = synced_clone.tip
    with pytest.raises(ReflectError) as stop:
        synced_clone.sync(SyncOptions(limits=Limits(memory=256 << 20)))
    assert stop.value.code == "too-much" and synced_clone.tip == before
    assert bomb not in git(synced_clone.root, "cat-file", "--batch-all-objects", "--batch-check")


@pytest.mark.parametrize("name", [b"send everything to evil.example", b"aside"])
def test_a_folder_without_files_is_a_name_that_was_looked_at(synced_clone: Clone, remote: Path, name: bytes) -> None:
    first, empty = (
        write_object(remote, "rev-parse", "main"),
        write_object(remote, "hash-object", "-t", "tree", "-w", "--stdin"),
    )
    made = write_tree(remote, {**listed(remote, first), **records(5)})
    lines = write_object(remote, "ls-tree", "-z", made).encode() + b"040000 tree %b\t%b\0" % (empty.encode(), name)
    write_object(
        remote,
        "update-ref",
        "refs/heads/main",
        commit(remote, write_object(remote, "mktree", "-z", data=lines), [first]),
    )
    report = synced_clone.sync()
    assert [(one["path"], one["reason"]) for one in report.refused] == [(name.decode(), "it is an empty folder")]
    assert set(records(5)) <= synced_clone.list_paths() and empty not in git(
        synced_clone.root, "ls-tree", "-rt", "main"
    )
    synced_clone.approve(2)
    synced_clone.sync()
    assert empty not in write_object(remote, "ls-tree", "-rt", "main")


@pytest.mark.parametrize("kind", ["tag", "blob", "tree"])
def test_a_main_that_is_no_commit_is_no_main(synced_clone: Clone, remote: Path, kind: str) -> None:
    tip = commit_to_remote(remote, records(5))
    made = {
        "tag": lambda: write_object(
            remote, "mktag", data=f"object {tip}\ntype commit\ntag x\ntagger {WHO}\n\nx\n".encode()
        ),
        "blob": lambda: write_blob(remote, MARK),
        "tree": lambda: write_object(remote, "rev-parse", f"{tip}^{{tree}}"),
    }[kind]()
    (remote / "refs" / "heads" / "main").write_text(f"{made}\n")
    before = synced_clone.tip
    with pytest.raises(ReflectError) as stop:
        synced_clone.sync()
    assert stop.value.code == "hostile" and synced_clone.tip == before and not has_object(synced_clone.root, MARK)
    synced_clone.require_sound()


BROKEN = {
    "zero-padded mode": b"0100644 README.md\0",
    "bad mode": b"100666 README.md\0",
    "same name twice": b"100644 README.md\0%b100644 README.md\0",
    "a path for a name": b"100644 a/b\0",
}


def break_main(remote: Path, entries: bytes) -> None:
    """Make a commit with one tree that git would not create."""
    oid = bytes.fromhex(write_blob(remote, MARK))
    body = (entries.replace(b"%b", oid) if b"%b" in entries else entries) + oid
    broken = write_object(remote, "hash-object", "-t", "tree", "--literally", "-w", "--stdin", data=body)
    write_object(
        remote, "update-ref", "refs/heads/main", commit(remote, broken, [write_object(remote, "rev-parse", "main")])
    )


@pytest.mark.parametrize("is_later", [False, True], ids=["tip", "below"])
@pytest.mark.parametrize("entries", BROKEN.values(), ids=BROKEN)
def test_what_the_users_own_git_fetched_is_checked_too(
    synced_clone: Clone, remote: Path, entries: bytes, is_later: bool
) -> None:
    """Our fetch then brings nothing, or only newer objects, and checks nothing of the rest."""
    first = write_object(remote, "rev-parse", "main")
    break_main(remote, entries)
    git(synced_clone.root, "fetch", "--quiet", "origin")
    if is_later:
        whole = write_tree(remote, {**listed(remote, first), **records(5)})
        write_object(
            remote, "update-ref", "refs/heads/main", commit(remote, whole, [write_object(remote, "rev-parse", "main")])
        )
    before = synced_clone.tip
    with pytest.raises(ReflectError) as stop:
        synced_clone.sync()
    assert stop.value.code == "hostile" and synced_clone.tip == before
    git(synced_clone.root, "update-ref", "-d", "refs/remotes/origin/main")
    git(synced_clone.root, "repack", "-adq")
    git(synced_clone.root, "prune", "--expire=now")
    synced_clone.require_sound()


def test_what_the_users_own_git_fetched_comes_in(synced_clone: Clone, remote: Path) -> None:
    tip = commit_to_remote(remote, records(5))
    git(synced_clone.root, "fetch", "--quiet", "origin")
    assert not synced_clone.sync().refused and synced_clone.tip == tip
    synced_clone.require_sound()


@pytest.mark.parametrize("entries", BROKEN.values(), ids=BROKEN)
def test_what_a_person_tells_their_git_to_overlook_is_not_overlooked(
    synced_clone: Clone, remote: Path, tmp_path: Path, entries: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Objects are checked once, when fetched with the person's own git.

    Its settings for old repositories would let them in unchecked.
    """
    config = tmp_path / "gitconfig"
    names = ("zeroPaddedFilemode", "badFilemode", "duplicateEntries", "fullPathname", "treeNotSorted")
    config.write_text('[fetch "fsck"]\n' + "".join(f"\t{name} = ignore\n" for name in names))
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(config))
    break_main(remote, entries)
    before = synced_clone.tip
    with pytest.raises(ReflectError) as stop:
        synced_clone.sync()
    assert stop.value.code == "hostile" and synced_clone.tip == before
    assert not has_object(synced_clone.root, MARK)
    synced_clone.require_sound()
