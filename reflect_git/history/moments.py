"""Times as people write them: a day, a moment, `2w`, or as git also takes them: `2 weeks ago`, `yesterday`."""

from __future__ import annotations

import re
import time

from reflect_git.model.ids import utc

ALSO = ", or '2 weeks ago'"
_AGO = re.compile(r"(\d{1,6}) (second|minute|hour|day|week|month|year)s? ago")
_SECONDS = {
    "second": 1, "minute": 60, "hour": 3600, "day": 86400, "week": 604800, "month": 30 * 86400, "year": 365 * 86400,
}  # fmt: skip
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")


def shortened(text: str) -> str:
    """As every verb takes it; what is written otherwise stays as it is."""
    plain = " ".join(text.lower().split())
    found = _AGO.fullmatch("1 day ago" if plain == "yesterday" else plain)
    return f"{int(found[1]) * _SECONDS[found[2]]}s" if found else text


def to_its_end(text: str) -> str:
    """`until` a day, and what held `at` a day, means all of that day."""
    if not _DAY.fullmatch(text):
        return shortened(text)
    try:
        day = time.strptime(text, "%Y-%m-%d")
        # Not the start plus 24 hours: a day on which clocks change has 23 or 25.
        return utc(time.mktime((*day[:2], day[2] + 1, 0, 0, 0, 0, 0, -1)) - 1)
    except (ValueError, OverflowError):
        return text
