"""Times as records write them, and back."""

from __future__ import annotations

import time

from hypothesis import given
from hypothesis import strategies as st

from reflect_git.records.ids import get_id_day, parse_utc, timed_id, utc, utc_precise


@given(st.integers(-62135596800, 253402300799))
def test_a_time_is_read_as_it_was_written(moment: int) -> None:
    written = utc(moment)
    assert parse_utc(written.zfill(20)) == moment


def test_what_is_no_time_is_now() -> None:
    assert abs(parse_utc("last Tuesday") - time.time()) < 5
    assert parse_utc("1970-01-01T00:00:09Z") == 9.0


@given(st.lists(st.integers(0, 864_000 - 1), unique=True, min_size=2))
def test_ids_of_learnings_have_the_order_of_time(tenths: list[int]) -> None:
    times = [utc_precise(1_770_768_000 + tenth / 10) for tenth in sorted(tenths)]
    made = [timed_id("LRN", moment) for moment in times]
    assert made == sorted(made)
    assert all(get_id_day(identity) == moment[:10] and len(identity) == 21 for identity, moment in zip(made, times))


def test_approvals_in_bulk_have_an_order_too() -> None:
    made = [timed_id("LRN", f"2026-02-11T10:00:00.{number * 13:03d}Z") for number in range(70)]
    assert made == sorted(made)


def test_an_id_may_begin_and_end_a_day_and_takes_any_form_of_a_time() -> None:
    assert timed_id("LRN", "2026-02-11T00:00:00Z").startswith("LRN-20260211-0000")
    assert timed_id("LRN", "2026-02-11T23:59:59.999Z") > timed_id("LRN", "2026-02-11T23:59:59.990Z")
    assert get_id_day(timed_id("LRN", "2026-02-11T10:00:00+00:00")) == "2026-02-11"
