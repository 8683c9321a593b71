"""Ids, keys and UTC times: the names by which records know each other."""

from __future__ import annotations

import os
import sys
import time

try:  # hashlib loads OpenSSL: 3 ms of a hook's 36
    if sys.version_info >= (3, 12):
        from _sha2 import sha256
    else:
        from _sha256 import sha256
except ImportError:
    from hashlib import sha256

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Optional

ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"
_DAY = 86400
_TICKS = 194  # a second: a day has as many as 24 bits can count
_CHANCE = 16  # bits, for who approves in the same five thousandths of a second elsewhere
_TIME = "%Y-%m-%dT%H:%M:%SZ"


def utc(seconds: Optional[float] = None) -> str:
    """A time as records write it."""
    return time.strftime(_TIME, time.gmtime(seconds))


def utc_precise(seconds: Optional[float] = None) -> str:
    """To the millisecond, for decisions: two of one second have an order, too."""
    now = time.time() if seconds is None else seconds
    return f"{utc(now)[:-1]}.{int(now * 1000) % 1000:03d}Z"


def seconds_of(timestamp: str) -> float:
    """UTC text → seconds; a text that is no time counts as now, so that nothing goes because of it."""
    try:
        year, month, day = int(timestamp[:4]), int(timestamp[5:7]), int(timestamp[8:10])
        hour, minute, second = int(timestamp[11:13]), int(timestamp[14:16]), int(timestamp[17:19])
    except ValueError:
        return time.time()
    return float(_days(year, month, day) * _DAY + hour * 3600 + minute * 60 + second)


def local_day(seconds: float) -> str:
    """Return the date at that moment where the person is: `2026-02-11`."""
    return time.strftime("%Y-%m-%d", time.localtime(seconds))


def day_number(seconds: float) -> int:
    """Number the days where the person is: tomorrow's is today's plus one, also when clocks change."""
    return _days(*time.localtime(seconds)[:3])


def _days(year: int, month: int, day: int) -> int:
    """Days since 1970-01-01 in the Gregorian calendar (`calendar` imports `datetime` and `locale`: 8 ms)."""
    year -= month <= 2
    era, of_era = divmod(year, 400)
    of_year = (153 * (month + (-3 if month > 2 else 9)) + 2) // 5 + day - 1
    return era * 146097 + of_era * 365 + of_era // 4 - of_era // 100 + of_year - 719468


def digest(*parts: str) -> str:
    """Hex sha256 over parts that cannot run into each other."""
    joined = b"\0".join(part.encode("utf-8", "surrogatepass") for part in parts)
    return str(sha256(joined).hexdigest())


def folder_digest(folder: str) -> str:
    """Return a short hash of a folder's path: the path itself may contain a secret."""
    return digest(folder)[:32]


def fingerprint(data: bytes) -> str:
    """Hex sha256 of some bytes as they are."""
    return str(sha256(data).hexdigest())


def _base32(data: bytes) -> str:
    number = int.from_bytes(data[:5], "big")
    return "".join(ALPHABET[number >> shift & 31] for shift in range(35, -1, -5))


def random_id(prefix: str, timestamp: str) -> str:
    """An id that no other machine makes."""
    return f"{prefix}-{timestamp[:10].replace('-', '')}-{_base32(os.urandom(5))}"


def timed_id(prefix: str, timestamp: str) -> str:
    """Such an id whose order is that of time, to five thousandths of a second: more than half of it is the time of the
    day. Files list entries by their ids alone, so all machines have one order, and it is that in which they were shown
    to a person."""
    fraction = timestamp[20:23] if timestamp[19:20] == "." else ""
    tick = int((seconds_of(timestamp) % _DAY + (int(fraction) / 1000 if fraction.isdecimal() else 0.0)) * _TICKS)
    data = tick.to_bytes(3, "big") + os.urandom(_CHANCE // 8)
    return f"{prefix}-{timestamp[:10].replace('-', '')}-{_base32(data)}"


def day_of(identity: str) -> str:
    """The day in an id, as times have it."""
    day = identity.split("-")[1]
    return f"{day[:4]}-{day[4:6]}-{day[6:]}"


def moment_id(timestamp: str, entry: str, family: str, ordinal: int = 0, prefix: str = "SIG") -> str:
    """The id of a signal: the same moment gives the same id, whether a hook saw it or a transcript told it."""
    seed = bytes.fromhex(digest(entry, family, str(ordinal)))
    return f"{prefix}-{timestamp[:10].replace('-', '')}-{_base32(seed)}"
