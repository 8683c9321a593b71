"""Times as people write them."""

from __future__ import annotations

import pytest

from reflect_git.capture import service
from reflect_git.history.rules_at import get_day_end, normalise_age
from tests.conftest import SetZone


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
    assert normalise_age(text) == short


def test_a_day_lasts_until_its_end(set_zone: SetZone) -> None:
    set_zone("UTC")
    assert get_day_end("2026-02-11") == "2026-02-11T23:59:59Z"
    assert get_day_end("2026-02-11T08:00:00Z") == "2026-02-11T08:00:00Z"
    assert get_day_end("yesterday") == "86400s"
    assert get_day_end("2026-02-31") == "2026-02-31", "which whoever reads it refuses"


@pytest.mark.parametrize(
    ("zone", "day", "first", "last"),
    [
        ("Pacific/Kiritimati", "2026-02-11", "2026-02-10T10:00:00Z", "2026-02-11T09:59:59Z"),
        ("Etc/GMT+12", "2026-02-11", "2026-02-11T12:00:00Z", "2026-02-12T11:59:59Z"),
        ("Europe/Berlin", "2027-03-28", "2027-03-27T23:00:00Z", "2027-03-28T21:59:59Z"),  # 23 hours
        ("Europe/Berlin", "2026-10-25", "2026-10-24T22:00:00Z", "2026-10-25T22:59:59Z"),  # 25 hours
        ("UTC", "2028-02-29", "2028-02-29T00:00:00Z", "2028-02-29T23:59:59Z"),
    ],
)
def test_a_day_is_a_day_where_the_person_is(set_zone: SetZone, zone: str, day: str, first: str, last: str) -> None:
    set_zone(zone)
    assert (service.parse_since(day), get_day_end(day)) == (first, last)
    assert service.parse_since("2026-02-11T08:00:00Z") == "2026-02-11T08:00:00Z"
