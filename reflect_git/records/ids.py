"""Ids, keys, hashes and UTC times of records."""

from __future__ import annotations

import os
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Optional

try:  # hashlib loads OpenSSL: 3 of a hook's 36 ms
    if sys.version_info >= (3, 12):
        from _sha2 import sha256
    else:
        from _sha256 import sha256
except ImportError:
    from hashlib import sha256


ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"
_DAY = 86400
_TICKS_PER_SECOND = 194  # ticks a second: a day then fits into 24 bits
_RANDOM_BITS = 16  # random bits, in case another machine approves within the same 5 ms
_TIME_FORMAT = "%Y-%m-%dT%H:%M:%SZ"


def utc(seconds: Optional[float] = None) -> str:
    """Return a time in the format of records."""
    return time.strftime(_TIME_FORMAT, time.gmtime(seconds))


def utc_precise(seconds: Optional[float] = None) -> str:
    """Return a time in milliseconds, for decisions: two within one second need an order."""
    now = time.time() if seconds is None else seconds
    return f"{utc(now)[:-1]}.{int(now * 1000) % 1000:03d}Z"


def parse_utc(timestamp: str) -> float:
    """Parse a UTC time into seconds. An invalid time counts as now, so that nothing expires because of it."""
    try:
        year, month, day = int(timestamp[:4]), int(timestamp[5:7]), int(timestamp[8:10])
        hour, minute, second = int(timestamp[11:13]), int(timestamp[14:16]), int(timestamp[17:19])
    except ValueError:
        return time.time()
    return float(_count_days(year, month, day) * _DAY + hour * 3600 + minute * 60 + second)


def local_day(seconds: float) -> str:
    """Return the local date at that moment: `2026-02-11`."""
    return time.strftime("%Y-%m-%d", time.localtime(seconds))


def day_number(seconds: float) -> int:
    """Return the number of the local day. Consecutive days differ by one, also when clocks change."""
    return _count_days(*time.localtime(seconds)[:3])


def _count_days(year: int, month: int, day: int) -> int:
    """Return the days since 1970-01-01 in the Gregorian calendar (`calendar` imports `datetime` and `locale`: 8 ms)."""
    year -= month <= 2
    era, of_era = divmod(year, 400)
    of_year = (153 * (month + (-3 if month > 2 else 9)) + 2) // 5 + day - 1
    return era * 146097 + of_era * 365 + of_era // 4 - of_era // 100 + of_year - 719468


def digest(*parts: str) -> str:
    """Return the hex sha256 of several texts, separated unambiguously."""
    joined = b"\0".join(part.encode("utf-8", "surrogatepass") for part in parts)
    return str(sha256(joined).hexdigest())


def folder_digest(folder: str) -> str:
    """Return a short hash of a folder's path: the path itself may contain a secret."""
    return digest(folder)[:32]


def fingerprint(data: bytes) -> str:
    """Return the hex sha256 of some bytes."""
    return str(sha256(data).hexdigest())


def _base32(data: bytes) -> str:
    number = int.from_bytes(data[:5], "big")
    return "".join(ALPHABET[number >> shift & 31] for shift in range(35, -1, -5))


def random_id(prefix: str, timestamp: str) -> str:
    """Return a new random id."""
    return f"{prefix}-{timestamp[:10].replace('-', '')}-{_base32(os.urandom(5))}"


def timed_id(prefix: str, timestamp: str) -> str:
    """Return a new id that sorts by time, to five thousandths of a second.

    More than half of it is the time of day. Files list entries by id, so all machines have the same order: the order in
    which a person approved them.
    """
    fraction = timestamp[20:23] if timestamp[19:20] == "." else ""
    tick = int(
        (parse_utc(timestamp) % _DAY + (int(fraction) / 1000 if fraction.isdecimal() else 0.0)) * _TICKS_PER_SECOND
    )
    data = tick.to_bytes(3, "big") + os.urandom(_RANDOM_BITS // 8)
    return f"{prefix}-{timestamp[:10].replace('-', '')}-{_base32(data)}"


def get_id_day(record_id: str) -> str:
    """Return the day in an id, formatted as in times."""
    day = record_id.split("-")[1]
    return f"{day[:4]}-{day[4:6]}-{day[6:]}"


def get_signal_id(timestamp: str, entry: str, family: str, ordinal: int = 0, prefix: str = "SIG") -> str:
    """Return the id of a signal. The same moment gives the same id, from a hook or from a transcript."""
    seed = bytes.fromhex(digest(entry, family, str(ordinal)))
    return f"{prefix}-{timestamp[:10].replace('-', '')}-{_base32(seed)}"


def plural(count: int, noun: str, several: str = "") -> str:
    """Return `1 signal`, `2 signals`. `several` is the plural if it does not just add an s."""
    return f"{count} {noun if count == 1 else several or f'{noun}s'}"


def escape_controls(text: str) -> str:
    """Return a text with what acts on a screen, or hides in it, spelled out: control and direction marks."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c == "\n" else _escape_char(c) for c in text)


def _escape_char(char: str) -> str:
    return "    " if char == "\t" else f"<U+{ord(char):04X}>"


def format_signal_count(signals: int, summaries: int) -> str:
    """Return `3 signals, 1 session summary`. Summaries are counted separately: no review asks about them."""
    apart = f", {plural(summaries, 'session summary', 'session summaries')}" if summaries else ""
    return plural(signals, "signal") + apart


def count_words(text: str) -> int:
    """Count the words of a text. In scripts without spaces, two letters count as one word."""
    wide = 0 if text.isascii() else sum(["\u3040" <= letter <= "\u9fff" for letter in text])
    return len(text.split()) + wide // 2
