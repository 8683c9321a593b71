"""Times as people write them."""

from __future__ import annotations

import pytest

from reflect_git.history.moments import shortened, to_its_end


@pytest.mark.parametrize(
    ("text", "short"),
    [
        ("2 weeks ago", "1209600s"),
        ("1 Day  ago", "86400s"),
        ("yesterday", "86400s"),
        ("3 months ago", "7776000s"),
        ("2w", "2w"),
        ("2026-02-11", "2026-02-11"),
        ("weeks ago", "weeks ago"),
        ("2 weeks ago today", "2 weeks ago today"),
    ],
)
def test_ago(text: str, short: str) -> None:
    assert shortened(text) == short


def test_a_day_lasts_until_its_end() -> None:
    assert to_its_end("2026-02-11") == "2026-02-11T23:59:59Z"
    assert to_its_end("2026-02-11T08:00:00Z") == "2026-02-11T08:00:00Z"
    assert to_its_end("yesterday") == "86400s"
