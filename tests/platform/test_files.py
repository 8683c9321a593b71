"""Files: private, written whole or not at all, never through a link, never waiting for a FIFO."""

from __future__ import annotations

import os
import stat
import time
from pathlib import Path

import pytest

from reflect_git.errors import ReflectError
from reflect_git.platform import files


def mode(path: Path) -> int:
    return stat.S_IMODE(path.lstat().st_mode)


@pytest.fixture(params=[0o000, 0o022, 0o777])
def umask(request: pytest.FixtureRequest) -> object:
    before = os.umask(request.param)
    yield request.param
    os.umask(before)


@pytest.mark.usefixtures("umask")
def test_whatever_the_umask_files_and_folders_are_private(tmp_path: Path) -> None:
    files.make_private_dirs(str(tmp_path / "a/b/c"))
    files.write_atomic(str(tmp_path / "a/b/c/file"), b"x")
    assert [mode(tmp_path / name) for name in ("a", "a/b", "a/b/c", "a/b/c/file")] == [0o700, 0o700, 0o700, 0o600]


@pytest.mark.parametrize("sync", [True, False])
def test_a_file_is_replaced_as_a_whole(tmp_path: Path, sync: bool) -> None:
    path = tmp_path / "file"
    for data in (b"one", b"", b"x" * (3 << 20)):
        files.write_atomic(str(path), data, sync=sync)
        assert path.read_bytes() == data
    assert os.listdir(tmp_path) == ["file"]


def test_a_link_in_the_place_is_replaced_and_not_followed(tmp_path: Path) -> None:
    (tmp_path / "target").write_text("theirs")
    (tmp_path / "file").symlink_to(tmp_path / "target")
    files.write_atomic(str(tmp_path / "file"), b"ours")
    assert (tmp_path / "target").read_text() == "theirs"
    assert (tmp_path / "file").read_text() == "ours" and not (tmp_path / "file").is_symlink()


def test_a_write_that_fails_leaves_the_old_bytes_and_no_litter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files.write_atomic(str(tmp_path / "file"), b"old")

    def full(*arguments: object) -> int:
        raise OSError(28, "no space left on device")

    for name in ("write", "rename"):
        with monkeypatch.context() as patch:
            patch.setattr(os, name, full)
            with pytest.raises(OSError, match="no space"):
                files.write_atomic(str(tmp_path / "file"), b"new")
    assert (tmp_path / "file").read_bytes() == b"old" and os.listdir(tmp_path) == ["file"]


def test_short_writes_are_continued(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write = os.write
    monkeypatch.setattr(os, "write", lambda descriptor, data: write(descriptor, data[:3]))
    files.write_atomic(str(tmp_path / "file"), b"0123456789")
    monkeypatch.undo()
    assert (tmp_path / "file").read_bytes() == b"0123456789"


@pytest.mark.parametrize("kind", ["link", "fifo", "folder", "device", "nothing"])
def test_only_regular_files_are_read(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "thing"
    if kind == "link":
        (tmp_path / "target").write_text("x")
        path.symlink_to(tmp_path / "target")
    elif kind == "fifo":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    elif kind == "device":
        path = Path("/dev/zero")
    started = time.monotonic()
    with pytest.raises(OSError):
        files.read_regular(str(path), 10)
    assert time.monotonic() - started < 30


def test_no_more_is_read_than_asked(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"0123456789")
    assert files.read_regular(str(tmp_path / "file"), 4) == b"0123"
    assert files.read_regular(str(tmp_path / "file"), 0) == b""
    assert files.read_if_exists(str(tmp_path / "none")) is None


def test_a_folder_of_ours_is_ours(tmp_path: Path) -> None:
    files.require_own_directory(str(tmp_path))
    (tmp_path / "link").symlink_to(tmp_path)
    (tmp_path / "file").touch()
    for name, code in (("link", "store-symlink"), ("file", "store-foreign")):
        with pytest.raises(ReflectError) as caught:
            files.require_own_directory(str(tmp_path / name))
        assert caught.value.code == code and caught.value.hint


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to give a folder away")
def test_a_folder_of_another_user_is_not(tmp_path: Path) -> None:
    (tmp_path / "theirs").mkdir()
    os.chown(tmp_path / "theirs", 12345, -1)
    with pytest.raises(ReflectError) as caught:
        files.require_own_directory(str(tmp_path / "theirs"))
    assert caught.value.code == "store-owner"


def test_a_tree_is_removed_without_following_links(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    (outside / "kept").mkdir(parents=True)
    tree = tmp_path / "tree"
    (tree / "a/b").mkdir(parents=True)
    (tree / "a/file").touch()
    (tree / "a/link").symlink_to(outside)
    (tree / "dangling").symlink_to("nowhere")
    os.mkfifo(tree / "fifo")
    files.remove_tree(str(tree))
    files.remove_tree(str(tree))
    assert not tree.exists() and (outside / "kept").exists()


def test_names_are_sorted_and_hidden_ones_are_not_seen(tmp_path: Path) -> None:
    for name in ("b", "a", ".tmp-1-aa"):
        (tmp_path / name).touch()
    assert files.list_names(str(tmp_path)) == ["a", "b"]
    assert files.list_names(str(tmp_path / "none")) == []


def test_removing_what_is_gone_is_fine(tmp_path: Path) -> None:
    files.remove(str(tmp_path / "none"))
    files.discard(str(tmp_path / "none"))


def test_a_lock_is_held_once_and_again_after_release(tmp_path: Path) -> None:
    first, second = files.Lock(str(tmp_path / "lock")), files.Lock(str(tmp_path / "lock"))
    assert first.try_acquire() and not second.try_acquire()
    assert not second.acquire(0.05)
    first.release()
    first.release()
    assert second.try_acquire()
    assert mode(tmp_path / "lock") == 0o600
    second.release()


def test_a_lock_that_is_a_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "target").write_text("theirs")
    (tmp_path / "lock").symlink_to(tmp_path / "target")
    assert files.Lock(str(tmp_path / "lock")).try_acquire()
    assert (tmp_path / "target").read_text() == "theirs" and not (tmp_path / "lock").is_symlink()


def test_a_link_is_removed_and_not_what_it_points_to(tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.mkdir()
    (precious / "letter").write_text("dear")
    (tmp_path / "link").symlink_to(precious)
    files.remove_tree(str(tmp_path / "link"))
    assert (precious / "letter").read_text() == "dear" and not (tmp_path / "link").is_symlink()


def test_a_link_below_a_folder_of_ours_is_refused(tmp_path: Path) -> None:
    ours, elsewhere = tmp_path / "ours", tmp_path / "elsewhere"
    ours.mkdir()
    elsewhere.mkdir()
    (ours / "signals").symlink_to(elsewhere)
    with pytest.raises(ReflectError):
        files.make_private_dirs(str(ours / "signals" / "2026"), below=str(ours))
    assert list(elsewhere.iterdir()) == []
