"""Any order of merges ends in the same tree, and no valid record is lost."""

from __future__ import annotations

from functools import reduce

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reflect_git.sync import store_paths, validate
from reflect_git.sync.store_paths import Purge
from tests.counters import count
from tests.sync.sample_records import blob_id, build_decision, build_files, build_learning, build_snapshot

ID = "LRN-20260211-00000001"
PATH = f"learnings/{ID}.yaml"
OTHER = "decisions/2026/02/DEC-20260211-00000001.yaml"
MIRROR = "targets/desk-k3f9/global/CLAUDE.md"

BLOBS = [f"{number:040x}" for number in range(6)]


def rank_of(path: str, blob: str) -> validate.Rank:
    """Return a rank: blob 5 is not canonical; snapshots have the version of their number."""
    number = int(blob, 16)
    version = number // 2 if store_paths.get_main_kind(path) == store_paths.SNAPSHOT else 0
    return (0 if number < 5 else 1, -version, blob)


trees = st.dictionaries(
    st.sampled_from([PATH, OTHER, MIRROR, "README.md", "machines/desk-k3f9.yaml", "notes.txt"]), st.sampled_from(BLOBS)
)


def merged(*several: validate.Tree) -> dict[str, str]:
    return reduce(lambda one, other: validate.merge_trees(one, other, rank_of).tree, several, {})


def laws(one: validate.Tree, two: validate.Tree, three: validate.Tree) -> None:
    assert merged(one, two) == merged(two, one)
    assert merged(merged(one, two), three) == merged(one, merged(two, three))
    assert merged(one, one) == dict(one)
    assert merged(merged(one, two), two) == merged(one, two)


@given(trees, trees, trees)
@settings(max_examples=500)
def test_merging_commutes_associates_and_repeats(one: validate.Tree, two: validate.Tree, three: validate.Tree) -> None:
    laws(one, two, three)


@pytest.mark.slow
@given(trees, trees, trees)
@settings(max_examples=100_000)
def test_merging_commutes_associates_and_repeats_very_often(
    one: validate.Tree, two: validate.Tree, three: validate.Tree
) -> None:
    laws(one, two, three)
    count("merges of three trees")


@given(st.lists(trees, max_size=5), st.randoms(use_true_random=False))
def test_any_order_of_many_ends_in_one_tree(several: list[validate.Tree], random: object) -> None:
    shuffled = sorted(several, key=lambda _: random.random())  # type: ignore[attr-defined]
    assert merged(*several) == merged(*shuffled)


@given(trees, trees)
def test_what_one_side_lacks_stays_and_every_canonical_record_is_kept(one: validate.Tree, two: validate.Tree) -> None:
    both = merged(one, two)
    assert set(one) | set(two) <= set(both)
    for tree in (one, two):
        for path, blob in tree.items():
            if store_paths.get_main_kind(path) == store_paths.RECORD and rank_of(path, blob)[0] == 0:
                assert blob in (both[path], both.get(store_paths.build_aside_path(path, blob)))


def test_the_smaller_blob_stays_and_the_other_is_kept_beside_it() -> None:
    small, large = BLOBS[1], BLOBS[3]
    found = validate.merge_trees({PATH: large}, {PATH: small}, rank_of)
    assert found.tree == {PATH: small, f"aside/{ID}/{large}.yaml": large}
    assert found.kept_beside == [(PATH, large)] and not found.dropped


def test_ill_made_bytes_never_win_and_are_not_kept() -> None:
    found = validate.merge_trees({PATH: BLOBS[5]}, {PATH: BLOBS[4]}, rank_of)
    assert found.tree == {PATH: BLOBS[4]} and found.dropped == [(PATH, BLOBS[5])]


def test_the_higher_version_of_a_mirror_stays() -> None:
    old, new = build_snapshot(2), build_snapshot(10)
    ranks = {blob_id(data): validate.rank_blob(MIRROR, blob_id(data), data, True) for data in (old, new)}
    for ours, theirs in ((old, new), (new, old)):
        found = validate.merge_trees({MIRROR: blob_id(ours)}, {MIRROR: blob_id(theirs)}, lambda _, blob: ranks[blob])
        assert found.tree == {MIRROR: blob_id(new)} and not found.kept_beside


def dropped(path: str, one: bytes, two: bytes) -> tuple[bytes, list[bytes]]:
    """Return what remains of two files at one path, whichever comes first, and what must be reported."""
    by_id = {blob_id(data): data for data in (one, two)}
    ranks = {blob: validate.rank_blob(path, blob, data, True) for blob, data in by_id.items()}
    found = [validate.merge_trees({path: ours}, {path: theirs}, lambda _, blob: ranks[blob])
             for ours, theirs in (list(by_id), list(by_id)[::-1])]  # fmt: skip
    assert found[0].tree == found[1].tree and not found[0].kept_beside and found[0].dropped == found[1].dropped
    return by_id[found[0].tree[path]], [by_id[blob] for _, blob in found[0].dropped]


def test_only_the_older_version_of_a_mirror_goes_without_a_trace() -> None:
    assert dropped(MIRROR, build_snapshot(1), build_snapshot(2)) == (build_snapshot(2), [])
    small, large = sorted((build_snapshot(1, "- a\n"), build_snapshot(1, "- b\n")), key=blob_id)
    assert dropped(MIRROR, small, large) == (small, [large])
    small, large = sorted((b"# reflections\none\n", b"# reflections\ntwo\n"), key=blob_id)
    assert dropped("README.md", small, large) == (small, [large])


@pytest.mark.parametrize("more", range(2, 6))
def test_of_two_purges_at_one_path_the_one_that_names_more_stays(more: int) -> None:
    few, many = (
        store_paths.emit_purge(Purge(1, "2026-02-12T10:00:00Z", "desk-k3f9", tuple(f"{n:032x}" for n in range(count))))
        for count in (1, more)
    )
    assert dropped(store_paths.build_purge_path(1, "00000000"), few, many) == (many, [few])


def test_a_version_is_a_number_in_the_first_line() -> None:
    assert validate.get_snapshot_version(build_snapshot(7)) == 7
    assert (
        validate.get_snapshot_version(b"version: -1\n")
        == validate.get_snapshot_version(b"version: 7x\n")
        == validate.get_snapshot_version(b"")
        == 0
    )
    assert validate.get_snapshot_version(b"version: " + b"9" * 5000) == 0


def test_only_contested_files_must_be_looked_at() -> None:
    one, two = build_files(build_decision(1)), build_files(build_learning(1, "One."))
    ours = {path: blob_id(data) for path, data in {**one, **two}.items()}
    assert validate.find_conflicts(ours, ours) == []
    theirs = {**ours, PATH: BLOBS[0]}
    assert validate.find_conflicts(ours, theirs) == [(PATH, ours[PATH]), (PATH, BLOBS[0])]
