"""Whether a word looks like a secret, a placeholder or something that only talks of one."""

from __future__ import annotations

from reflect_git.adapters.redact.words import DUMMY_PARTS, DUMMY_STARTS, STOP_WORDS, TRADE_STARTS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Callable

_SPECIAL = frozenset("!#$%^&*+?~|@")
_HEX = frozenset("0123456789abcdef-")
_MOMENT = frozenset("0123456789.:-/+TZ%_, ")
_LONGEST = 512


def _variable(value: str) -> bool:
    name = value[1:].rstrip("%")
    if value[0] == "%":
        return not name or name.isalpha() or (name.isidentifier() and value[-1] == "%")
    return value[0] in "$@" and (not name or name.isidentifier())


def dummy(value: str) -> bool:
    """A placeholder, a reference to a variable, or a mask that we or somebody else put there."""
    lower = value[:_LONGEST].lower()
    if not lower or lower in STOP_WORDS or lower.startswith(DUMMY_STARTS) or _variable(value[:_LONGEST]):
        return True
    return _hollow(lower)


def _hollow(lower: str) -> bool:
    return len(set(lower.strip("-_.*x"))) < 3 or any(part in lower for part in DUMMY_PARTS)


def _kind(character: str) -> int:
    if character.isdigit():
        return 1
    return 2 if character.isupper() else 3 if character.isalpha() else 4


def _counts(word: str) -> tuple[int, int, int, int]:
    """Digits, capitals, small letters, and how often one follows another of another kind."""
    kinds = [_kind(character) for character in word]
    changes = sum(left != right for left, right in zip(kinds, kinds[1:]))
    return kinds.count(1), kinds.count(2), kinds.count(3), changes


def _special(word: str) -> bool:
    return not _SPECIAL.isdisjoint(word[1:-1])


def _erratic(word: str) -> bool:
    """Letters in a disorder that no camelCase has."""
    digits, capitals, small, _ = _counts(word)
    if len(word) < 10 or digits or "=" in word.rstrip("="):
        return False
    return capitals >= 0.25 * len(word) and small >= 0.2 * len(word)


def _lookalike(word: str) -> bool:
    """Paths, addresses, dates, options and e-mail addresses are as mixed as secrets are."""
    if word[0] == "-" and word[1:].isalpha() and 3 * sum(map(str.isupper, word)) < len(word):
        return True  # -AsPlainText: few capitals, unlike what was drawn by chance
    if "://" in word or _MOMENT.issuperset(word) or word.startswith(("/", "./", "~", "../", "@", "--")):
        return True
    if "|" in word and all(_rule(part) for part in word.split("|")):
        return True
    local, at, host = word.partition("@")
    named = host.replace(".", "").replace("-", "").isalnum() and local.replace(".", "").isalnum()
    return bool(at and "." in host and named)


def _rule(part: str) -> bool:
    """One of `required|min:8`, or of `string|null`."""
    name = part.partition(":")[0]
    return name.replace("_", "").isalpha() and name.islower()


def strict(word: str) -> bool:
    """Beyond doubt, wherever it stands."""
    word = word[:_LONGEST]
    if len(word) < 10 or dummy(word) or ("://" in word) or _MOMENT.issuperset(word):
        return False
    if _lookalike(word) and not (len(word) >= 32 and (word.count("/") < 4 or word[-1] == "=")):
        return False
    digits, capitals, small, changes = _counts(word)
    if digits and capitals + small > 2 and _special(word) and "(" not in word:
        return True
    mixed = capitals and small and digits >= 2 and changes >= 0.38 * len(word)
    padded = capitals and small and digits and len(word) > 15 and word[-1] == "="
    return bool(mixed or padded) or _erratic(word) or _drawn(word, digits, changes)


def _drawn(word: str, digits: int, changes: int) -> bool:
    """Long, and of one case: hexadecimal, or letters and digits that no hand would mix so."""
    if len(word) < 32:
        return False
    is_hex = digits >= 6 and _HEX.issuperset(word.lower())
    return is_hex or (word.isalnum() and digits >= 4 and changes >= len(word) / 5)


def _named(word: str) -> bool:
    """File names, dotted names, constants and numbered things."""
    stem, dot, ending = word.rpartition(".")
    if dot and stem and (ending.isalpha() or stem.replace(".", "").isdigit()):
        return True
    return "_" in word and word.replace("_", "").isalnum() and (word.isupper() or word.islower())


def strong(word: str) -> bool:
    """Enough where a name or a verb already says that this is a secret."""
    word = word[:_LONGEST]
    if strict(word):
        return True
    if len(word) < 6 or dummy(word) or _lookalike(word) or "(" in word or word.lower().startswith(TRADE_STARTS):
        return False
    digits, capitals, small, _ = _counts(word)
    letters = capitals + small
    if not digits:
        return letters > 0 and len(word) >= 8 and _special(word)
    return letters > 0 and (digits > 1 or capitals > 0 or _special(word)) and not _unit(word, digits, capitals)


def _unit(word: str, digits: int, capitals: int) -> bool:
    """15minutes, us-east-1, claude-3-5."""
    if word[0].isdigit() and word.lstrip("0123456789").isalpha() and len(word) < 12:
        return True
    return "-" in word and digits < 3 > capitals and not _special(word)


def spoken(word: str) -> bool:
    """Strong, and not one of the names that sentences about code are full of."""
    return strong(word) and (strict(word) or not _named(word))


def chosen(word: str) -> bool:
    """A password as people choose them: hunter2."""
    if len(word) < 6 or not (word.isascii() and word.isalnum()) or word.lower().startswith(TRADE_STARTS):
        return False
    return word[0].isalpha() and word[-1].isdigit() and not dummy(word)


def digest_like(word: str) -> bool:
    """As commits and checksums are written."""
    return _HEX.issuperset(word.lower())


def lone(word: str) -> bool:
    """Beyond doubt, and nothing that names a commit."""
    return strict(word) and not digest_like(word)


def _userinfo(value: str) -> bool:
    return not dummy(value) and "{" not in value and not value.startswith(("%s", "%v", "%d"))


def _header(value: str) -> bool:
    return strict(value) or (len(value) >= 12 and strong(value))


def _cookie(value: str) -> bool:
    pairs = [pair.partition("=") for pair in value[:4096].split(";")]
    return any(len(held) >= 12 and strong(held.strip()) for _, _, held in pairs)


def _shell(value: str) -> bool:
    if dummy(value) or len(value) < 3 or value.replace(":", "").isdigit():
        return False
    return value[0] not in "-/|<>&" or strong(value)


def _digits(value: str) -> bool:
    return _real(value) and sum(map(str.isdigit, value[:_LONGEST])) > 1


def _real(value: str) -> bool:
    """What has the shape of a token, unless somebody made it up for a manual."""
    lower = value[:_LONGEST].lower()
    return not _hollow(lower) and "1234567890" not in lower and "abcdefgh" not in lower


def _card(value: str) -> bool:
    """The check digit of Luhn."""
    digits = [int(character) for character in reversed(value) if character.isdigit()]
    doubled = [digit * 2 - 9 * (digit > 4) for digit in digits[1::2]]
    return 13 <= len(digits) <= 19 and len(set(digits)) > 2 and (sum(digits[::2]) + sum(doubled)) % 10 == 0


EVIDENCE: dict[str, Callable[[str], bool]] = {
    "any": lambda value: "[redacted" not in value.lower(),
    "argument": strong,
    "card": _card,
    "cookie": _cookie,
    "digits": _digits,
    "header": _header,
    "lone": lone,
    "real": _real,
    "shell": _shell,
    "spoken": spoken,
    "strict": strict,
    "strong": strong,
    "userinfo": _userinfo,
}
