"""Whether a word looks like a secret, a placeholder or something that only talks of one."""

from __future__ import annotations

from reflect_git.adapters.redact.words import (
    COMMON_WORDS,
    DUMMY_PARTS,
    DUMMY_STARTS,
    NUMBERED,
    STOP_WORDS,
    TRADE_STARTS,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Callable

    Finding = tuple[int, int, str]

_SPECIAL = frozenset("!#$%^&*+?~|@")
_HEX = frozenset("0123456789abcdef-")
_MOMENT = frozenset("0123456789.:-/+TZ%_, ")
_TYPED = frozenset("!#$%^&*+?~|@-_.,:")
_GLOB = frozenset("*?/._-{},[]!")
_LONGEST = 512
_MANY = 5000


def _variable(value: str) -> bool:
    name = value[1:].rstrip("%")
    if value[0] == "%":
        return not name or name.isalpha() or (name.isidentifier() and value[-1] == "%")
    if value[0] == "@" and strict(name):
        return False
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
    if "://" in word or _MOMENT.issuperset(word) or word.startswith(("/", "./", "~", "../", "--")):
        return True
    if word[0] == "@" and not strict(word[1:]):
        return True
    if "|" in word and all(_rule(part) for part in word.split("|")):
        return True
    if _is_glob(word) or _is_colour(word):
        return True
    local, at, host = word.rstrip(".").partition("@")
    named = host.replace(".", "").replace("-", "").isalnum() and local.replace(".", "").isalnum()
    return bool(at and "." in host and named)


def _is_glob(word: str) -> bool:
    """Tell whether `word` is a file pattern: `**/session*`, `*.token`, `src/**/key?.ts`."""
    if "*" not in word or not all(character.isalnum() or character in _GLOB for character in word):
        return False
    if "**" in word or "*/" in word or "/*" in word or word.startswith("*."):
        return True
    return "*" in (word[0], word[-1]) and word.islower() and not any(map(str.isdigit, word))


def _is_colour(word: str) -> bool:
    return word[0] == "#" and len(word) in (4, 5, 7, 9) and _HEX.issuperset(word[1:].lower())


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
    if "(" in word and word.partition("(")[0].isidentifier():  # Number(f64)
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
        return letters > 0 and len(word) >= 8 and (_special(word) or _erratic(word.strip("!#$%^&*+?~|@")))
    return letters > 0 and (digits > 1 or capitals > 0 or _special(word)) and not _unit(word, digits, capitals)


def _unit(word: str, digits: int, capitals: int) -> bool:
    """15minutes, us-east-1, claude-3-5."""
    if word[0].isdigit() and word.lstrip("0123456789").isalpha() and len(word) < 12:
        return True
    return "-" in word and digits < 3 > capitals and not _special(word)


def spoken(word: str) -> bool:
    """Strong, and not one of the names that sentences about code are full of."""
    return strong(word) and (strict(word) or not _named(word))


def typed(word: str) -> bool:
    """Tell whether `word` looks like a password that a person made up: hunter2, hunter2horse!, maple-otter-42.

    Only for places where nothing but a password is expected: many names of things look the same.
    """
    word = word[:_LONGEST]
    if len(word) < 6 or not word.isascii() or word.lower().startswith(TRADE_STARTS) or word[0] in "-.,:":
        return False
    digits, capitals, small, _ = _counts(word)
    if not digits or not capitals + small or digits + capitals + small + sum(c in _TYPED for c in word) < len(word):
        return False
    if dummy(word) or _lookalike(word) or _named(word) or word.lower().rstrip("0123456789") in NUMBERED:
        return False
    if word[0].isdigit() and word.lstrip("0123456789").isalpha():  # 15minutes, 2048bit
        return len(word) >= 8 and digits + capitals + small > digits + 6
    if "-" in word and not _special(word):
        return len(word) >= 10 and word[-1].isdigit() and not word.startswith(("us-", "eu-", "ap-", "sa-", "ca-"))
    return True


def marked(word: str) -> bool:
    """Tell whether `word` is a made-up password even where only the same sentence speaks of one: Walnut_482!"""
    return len(word) >= 8 and not set("!#$%^&*?").isdisjoint(word) and typed(word)


def marked_or_typed(value: str) -> bool:
    """Tell whether `value` is a secret where a name announced one, and no path or name of a thing."""
    return value[:1] not in ("/", ".", "-", ":") and (typed(value) or lone(value))


def _is_marked(value: str) -> bool:
    return marked(value) or (strict(value) and "/" not in value)


def slug(word: str) -> bool:
    """Tell whether `word` is the name of a thing: tls-2024, app-db-1."""
    parts = word.split("-")
    return len(parts) > 1 and word == word.lower() and all(part.isalpha() or part.isdigit() for part in parts)


def phrase(words: list[str], least: int = 4) -> bool:
    """Tell whether these are the words of a passphrase: no sentence does without articles and prepositions."""
    if not least <= len(words) <= 16:
        return False
    return all(len(w) >= 3 and w.isalpha() and w.islower() and w not in COMMON_WORDS for w in words)


def noisy(word: str) -> bool:
    """Tell whether a quoted value was drawn from letters, digits and punctuation, brackets included."""
    word = word[:_LONGEST]
    if len(word) < 24 or word.startswith(("<", "{", "${", "$(", "%(")) or _hollow(word.lower()):
        return False
    if "/" in word or word.split(":", 1)[0].isalpha():  # an address of any kind
        return False
    digits, capitals, small, changes = _counts(word)
    others = len(word) - digits - capitals - small
    return digits >= 2 and others >= 3 and changes >= 0.35 * len(word) and " " not in word


def digest_like(word: str) -> bool:
    """As commits and checksums are written."""
    return _HEX.issuperset(word.lower())


def lone(word: str) -> bool:
    """Beyond doubt, and nothing that names a commit."""
    return strict(word) and not digest_like(word)


def _userinfo(value: str) -> bool:
    return not dummy(value) and "{" not in value and not value.startswith(("%s", "%v", "%d"))


def _header(value: str) -> bool:
    return strict(value) or (len(value) >= 12 and (strong(value) or (value.isdigit() and len(value) >= 16)))


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
    return not _hollow(lower)


def _argument(value: str) -> bool:
    return strong(value) or typed(value)


def _pair(value: str) -> bool:
    """`admin / hunter2`: a password, not the second of two ways to sign in."""
    return typed(value) or (strong(value) and not _named(value))


def _owned(value: str) -> bool:
    """`admin:…` and `admin / …` without a word about signing in: not the group of a file, nor another role."""
    return len(value) >= 8 and _pair(value) and (not value.isalnum() or sum(map(str.isdigit, value)) > 1)


def _is_account(value: str) -> bool:
    """`grafana: admin/…`: the password of that user, and neither a page nor a branch of an `admin/` folder."""
    return _pair(value) and not slug(value) and not value.isalpha()


def keyed(value: str) -> bool:
    """A long word in the place of a key; checksums count too, because the caller's name says what it is."""
    return strict(value) or (len(value) >= 20 and value.isalnum() and strong(value))


def _is_basic(value: str) -> bool:
    """Tell whether this is base64 of a name, a colon and a password."""
    import binascii

    try:
        said = binascii.a2b_base64(value + "=" * (-len(value) % 4)).decode()
    except ValueError:
        return False
    name, _, rest = said.partition(":")
    return said.isprintable() and bool(name) and len(rest) > 2


def _mixed_key(value: str) -> bool:
    """A key of letters of both cases and digits, and nothing that names a commit."""
    digits, capitals, small, changes = _counts(value[:_LONGEST])
    return lone(value) or (min(digits, capitals, small) > 0 and changes >= 0.3 * len(value) and keyed(value))


def _card(value: str) -> bool:
    """The check digit of Luhn."""
    digits = [int(character) for character in reversed(value) if character.isdigit()]
    doubled = [digit * 2 - 9 * (digit > 4) for digit in digits[1::2]]
    return 13 <= len(digits) <= 19 and len(set(digits)) > 2 and (sum(digits[::2]) + sum(doubled)) % 10 == 0


EVIDENCE: dict[str, Callable[[str], bool]] = {
    "account": _is_account,
    "any": lambda value: "[redacted" not in value.lower(),
    "argument": _argument,
    "basic": _is_basic,
    "card": _card,
    "cookie": _cookie,
    "digits": _digits,
    "header": _header,
    "keyed": keyed,
    "lone": lone,
    "marked": _is_marked,
    "mixed": _mixed_key,
    "owned": _owned,
    "pair": _pair,
    "real": _real,
    "shell": _shell,
    "spoken": spoken,
    "strict": strict,
    "strong": strong,
    "userinfo": _userinfo,
}


def matches(plain: str, kind: str, evidence: str, pattern: str) -> Iterator[Finding]:
    """Find what fits the pattern, if the evidence holds for it."""
    import re

    holds = EVIDENCE[evidence]
    for count, match in enumerate(re.compile(pattern).finditer(plain)):
        start, end = match.span(match.re.groups)
        # Thousands of candidates come from an attacker: no time to look at each, so each is taken for real.
        if count > _MANY or holds(plain[start:end]):
            yield start, end, kind
