"""Purged records are named by hashes, and recognised again."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reflect_git.errors import ReflectError
from reflect_git.records.purge_marks import blob_mark, id_mark
from reflect_git.sync import store_paths
from reflect_git.sync.store_paths import Purge

BLOB = "ab" * 20
ID = "LRN-20260211-00000001"
PATH = f"learnings/{ID}.yaml"
MARKS = st.lists(st.text("0123456789abcdef", min_size=32, max_size=32), max_size=5)


@given(st.integers(1, 9999), MARKS)
def test_a_purge_is_read_as_it_was_written(number: int, marks: list[str]) -> None:
    made = Purge(number, "2026-02-11T10:00:00Z", "desk-k3f9", tuple(marks))
    assert store_paths.parse_purge(store_paths.emit_purge(made)) == made


def test_as_many_marks_as_allowed_fit_into_one_file() -> None:
    marks = tuple(blob_mark(str(number)) for number in range(store_paths.MAX_MARKS))
    assert store_paths.parse_purge(store_paths.emit_purge(Purge(1, "2026-02-11T10:00:00Z", "a", marks))).purged == marks


def test_its_path_is_one_of_main() -> None:
    assert store_paths.get_main_kind(store_paths.build_purge_path(1, "7k3v9q2m")) == store_paths.PURGE


@pytest.mark.parametrize(
    "old, new",
    [
        (b"epoch: 1", b"epoch: 0"), (b"epoch: 1", b'epoch: "1"'), (b"version: 1", b"version: 2"),
        (b'"desk-k3f9"', b'"../x"'), (b'["', b'["x'), (b"purged", b"other"), (b"epoch: 1\n", b""),
    ],
)  # fmt: skip
def test_other_bytes_are_no_purge(old: bytes, new: bytes) -> None:
    good = store_paths.emit_purge(Purge(1, "2026-02-11T10:00:00Z", "desk-k3f9", (blob_mark(BLOB),)))
    assert old in good
    with pytest.raises(ReflectError):
        store_paths.parse_purge(good.replace(old, new))


def test_bytes_and_records_that_were_purged_do_not_come_back() -> None:
    by_blob, by_id = frozenset({blob_mark(BLOB)}), frozenset({id_mark(ID)})
    other = "cd" * 20
    tree = {PATH: BLOB, "README.md": other, f"aside/{ID}/{other}.yaml": other}
    assert store_paths.drop_purged(tree, frozenset()) == tree
    assert set(store_paths.drop_purged(tree, by_blob)) == {"README.md", f"aside/{ID}/{other}.yaml"}
    assert set(store_paths.drop_purged(tree, by_id)) == {"README.md"}


def test_purges_add_up() -> None:
    one = Purge(1, "2026-02-11T10:00:00Z", "a", (blob_mark(BLOB),))
    two = Purge(2, "2026-02-12T10:00:00Z", "b", (id_mark(ID),))
    assert store_paths.collect_marks([one, two]) == {blob_mark(BLOB), id_mark(ID)}


def test_the_epoch_is_told_by_the_names_of_the_files() -> None:
    made = [store_paths.build_purge_path(number, "7k3v9q2m") for number in (2, 11, 3)]
    assert (
        store_paths.get_epoch(made) == 11 and store_paths.get_epoch(["purges/notes.md", "purges/99-7k3v9q2m.yaml"]) == 0
    )


def test_after_the_last_epoch_comes_the_last_one() -> None:
    def after(number: int) -> str:
        return store_paths.build_purge_path(
            store_paths.get_next_epoch([store_paths.build_purge_path(number, "7k3v9q2m")]), "00000000"
        )

    assert store_paths.get_next_epoch([]) == 1 and after(11) == "purges/0012-00000000.yaml"
    assert after(9998) == after(9999) == "purges/9999-00000000.yaml"
    assert store_paths.get_main_kind(after(9999)) == store_paths.PURGE
