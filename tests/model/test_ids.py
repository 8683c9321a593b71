"""Times as records write them, and back."""

from __future__ import annotations

import time

from hypothesis import given
from hypothesis import strategies as st

from reflect_git.model.ids import seconds_of, utc


@given(st.integers(-62135596800, 253402300799))
def test_a_time_is_read_as_it_was_written(moment: int) -> None:
    written = utc(moment)
    assert seconds_of(written.zfill(20)) == moment


def test_what_is_no_time_is_now() -> None:
    assert abs(seconds_of("last Tuesday") - time.time()) < 5
    assert seconds_of("1970-01-01T00:00:09Z") == 9.0
