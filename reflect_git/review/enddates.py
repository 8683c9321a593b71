"""Read the day on which a rule ends from its words: "until March", "bis 2027-03-01", "until the end of Q3"."""

from __future__ import annotations

import re
from calendar import monthrange
from datetime import date, timedelta
from functools import cache

from reflect_git.model.tables import table


def end_date(text: str, said: str) -> str:
    """Return the day as YYYY-MM-DD, or nothing. A month without a year is the next one after the day it was `said`."""
    words = table("enddates")
    found = _until().search(text)
    if found is None:
        return ""
    if found["iso"]:
        return _day(*map(int, found["iso"].split("-")))
    today, name, is_end = date.fromisoformat(said[:10]), found["name"].lower(), bool(found["end"])
    year = int(found["year"]) if found["year"] else 0
    if name in words["weekdays"]:
        return (today + timedelta(days=(words["weekdays"][name] - today.weekday()) % 7 or 7)).isoformat()
    if not name:
        return _day(year + is_end, 1, 1)
    is_quarter = name not in words["months"]
    month = 3 * int(name[1]) - 2 if is_quarter else words["months"][name]
    month += 2 * (is_quarter and is_end)
    for each in (year,) if year else (today.year, today.year + 1):
        last = monthrange(each, month)[1] if is_end else int(found["day"] or found["later"] or 1)
        if year or _day(each, month, last) > today.isoformat():
            return _day(each, month, last)
    return ""


def _day(year: int, month: int, day: int) -> str:
    try:
        return date(year, month, day).isoformat()
    except ValueError:
        return ""


@cache
def _until() -> re.Pattern[str]:
    words = table("enddates")
    until, end = "|".join(words["until"]), "|".join(words["end"])
    names = "|".join(sorted([*words["months"], *words["weekdays"], "q[1-4]"], key=lambda name: -len(name)))
    return re.compile(
        rf"(?<!\w)(?:{until})\s+(?:at least |mindestens |au moins |al menos |almeno )?(?P<end>(?:{end})\s+)?"
        rf"(?:(?P<iso>\d{{4}}-\d\d-\d\d)(?!\d)|(?:(?P<day>\d{{1,2}})(?:st|nd|rd|th|\.|er|º)?\s+(?:of |de |d')?)?"
        rf"(?P<name>(?:{names})(?!\w)|(?=\d{{4}}(?![\d.-])))(?:\s+(?P<later>\d{{1,2}})(?:st|nd|rd|th)?(?!\d))?"
        rf"(?:,?\s*(?:de )?(?P<year>20\d\d)(?![\d.-]))?)",
        re.IGNORECASE,
    )
