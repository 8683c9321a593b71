"""Secrets leave a text before it touches a disk. Favours recall: a learning rarely needs a token."""

from __future__ import annotations

from reflect_git.adapters.redact.families import (
    ASCII_NOUNS,
    ASSIGNED,
    INVISIBLE,
    PASSWORDS,
    PREFIXES,
    SHAPES,
    SPOKEN,
    TOKENS,
    WORD_SHAPES,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any, Optional

    Finding = tuple[int, int, str]
    Shape = tuple[str, str, tuple[tuple[str, ...], ...], str]

_DEEPEST = 64
_LONG = 14
_MANY = 5000
_ROUNDS = 4
_NAME = frozenset("_-.+@~")


def redact(text: str, home: Optional[str] = None) -> str:
    """`text` with `[REDACTED:<kind>]` for every secret in it and `~` for the home directory."""
    if len(text) < _LONG and text.isascii() and (text.isalnum() or not text):
        return text  # one short word; half of what a hook redacts is like this
    for _ in range(_ROUNDS):
        # A mask can turn what stands beside it into a finding, so a changed text is read again.
        before, text = text, _tilde(_masked(text, find(text)), home)
        if text == before:
            break
    return text


def redact_value(value: Any, home: Optional[str] = None) -> Any:
    """The same for all strings in JSON-like data, keys included; what is nested too deep is dropped."""
    return _walk(value, home, "", _DEEPEST)


def find(text: str) -> list[Finding]:
    """Where secrets are: (start, end, kind), in order, apart from each other."""
    plain = text if text.isascii() else text.translate(INVISIBLE)
    lower = _lower(plain)
    found = [*_private(plain, lower), *_pem(plain, lower), *_tokens(plain), *_shaped(plain, lower, SHAPES)]
    found += _named(plain, lower)
    return _mapped(text, plain, _merged(found)) if found else found


def _walk(value: Any, home: Optional[str], name: str, depth: int) -> Any:
    if isinstance(value, str):
        return _held(value, home, name)
    if isinstance(value, (dict, list, tuple)) and depth == 0:
        return "[REDACTED:depth]"
    if isinstance(value, dict):
        return _walk_dict(value, home, depth)
    if isinstance(value, (list, tuple)):
        return type(value)([_walk(item, home, name, depth - 1) for item in value])
    return value


def _walk_dict(value: dict[Any, Any], home: Optional[str], depth: int) -> dict[Any, Any]:
    result: dict[Any, Any] = {}
    for key, item in value.items():
        clean = redact(key, home) if isinstance(key, str) else key
        while clean in result:  # two keys may be masked alike, and neither value may be lost
            clean += "'"
        result[clean] = _walk(item, home, key if isinstance(key, str) and len(key) < 80 else "", depth - 1)
    return result


def _held(value: str, home: Optional[str], name: str) -> str:
    """A string as the value of the key that it stands under."""
    if not name or not _nouns(_norm(_lower(name))):
        return redact(value, home)
    lead = len(name) + 2
    inside = [(max(0, start - lead), end - lead, kind) for start, end, kind in find(f'{name}="{value}"') if end > lead]
    return redact(_masked(value, inside), home)


def _lower(text: str) -> str:
    lower = text.lower()
    # Some capitals have two characters as small letters; offsets must stay.
    return lower if len(lower) == len(text) else "".join(c.lower() if len(c.lower()) == 1 else c for c in text)


def _norm(lower: str) -> str:
    return lower.replace("-", "_").replace(" ", "_").replace(".", "_")


def _private(plain: str, lower: str) -> Iterator[Finding]:
    """`<private>` up to its end, or the end of the text."""
    if "private" not in lower:
        return
    import re  # only where something was seen: 8 ms

    tags = re.compile(r"(?:<|&lt;|\\u003c)\s{0,4}(/|)\s{0,4}private(?:\s[^<>\n]{0,100})?(?:>|&gt;|\\u003e)")
    depth = start = 0
    for tag in tags.finditer(lower):
        if not tag.group(1):
            start = start if depth else tag.start()
            depth += 1
        elif depth:
            depth -= 1
            if not depth:
                yield start, tag.end(), "private"
    if depth:
        yield start, len(plain), "private"


def _pem(plain: str, lower: str) -> Iterator[Finding]:
    """Private keys in armour, on many lines or on one, closed or cut off."""
    if "-begin " not in lower and "- begin " not in lower:
        return
    import re

    armour = re.compile(r"-{2,5} ?BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)? ?-{2,5}")
    cut_off = re.compile(
        r"(?:(?:\\+[rn]|[\s\"'>|,]){0,40}[A-Za-z0-9+/=]{16,})*(?:(?:\\+[rn]|\s){1,8}[A-Za-z0-9+/]{1,76}={1,2})?"
    )
    closing = re.compile(r"END [A-Z0-9 ]{0,60}-{0,5}")
    match, last = armour.search(plain), plain.rfind("END ")
    while match:
        close = closing.search(plain, match.end()) if last > match.end() else cut_off.match(plain, match.end())
        end = close.end() if close else match.end()
        if end > match.end():
            yield match.start(), end, "private-key"
        match = armour.search(plain, end)


def _tokens(plain: str) -> Iterator[Finding]:
    """Secrets that are one long word; a text has few of those, so that looking for 300 markers in them costs little."""
    long_words = "\n".join([word for word in plain.split() if len(word) >= _LONG])
    if long_words:
        yield from _prefixed(plain, long_words)
        yield from _shaped(plain, long_words.lower(), WORD_SHAPES)
        # This token has no literal part; its middle is six characters between two dots.
        if any(len(part) == 6 for part in long_words.split(".")[1:-1]):
            yield from _matches(plain, "discord", "real", r"(?<![\w-])[\w-]{23,28}\.[\w-]{6}\.[\w-]{27,}")


def _prefixed(plain: str, long_words: str) -> Iterator[Finding]:
    for kind, characters, least, prefixes in PREFIXES:
        for prefix in prefixes:
            if prefix in long_words:
                import re

                yield from _matches(plain, kind, "real", f"{re.escape(prefix)}{characters}{{{least},}}")


def _shaped(plain: str, lower: str, shapes: tuple[Shape, ...]) -> Iterator[Finding]:
    for kind, evidence, markers, pattern in shapes:
        for marker in markers[0]:  # most texts have none of them, and a call costs more than the look
            if marker in lower:
                if _marked(lower, markers[1:]):
                    yield from _matches(plain, kind, evidence, pattern)
                break


def _marked(lower: str, markers: tuple[tuple[str, ...], ...]) -> bool:
    """One hit of each option. Loops, because any() and all() cost twice their time on the way of every hook."""
    for options in markers:
        for marker in options:
            if marker in lower:
                break
        else:
            return False
    return True


def _matches(plain: str, kind: str, evidence: str, pattern: str) -> Iterator[Finding]:
    import re

    from reflect_git.adapters.redact.looks import EVIDENCE

    holds = EVIDENCE[evidence]
    for count, match in enumerate(re.compile(pattern).finditer(plain)):
        start, end = match.span(match.re.groups)
        # Thousands of candidates come from an attacker: no time to look at each, so each is taken for real.
        if count > _MANY or holds(plain[start:end]):
            yield start, end, kind


def _nouns(norm: str) -> list[str]:
    """The names that occur. Most contain `pass` or `key`, many others are not ASCII: three looks save a hundred."""
    unseen = [part for part in ("pass", "key") if part not in norm]
    nouns = [*PASSWORDS, *TOKENS, *ASSIGNED, *SPOKEN] if not norm.isascii() else [*ASCII_NOUNS]
    for part in unseen:
        nouns = [noun for noun in nouns if part not in noun]
    return [noun for noun in nouns if noun in norm]


def _named(plain: str, lower: str) -> Iterator[Finding]:
    norm = _norm(lower)
    nouns = _nouns(norm)
    if nouns:
        from reflect_git.adapters.redact.fields import fields

        for start, end in fields(plain, norm, nouns):
            yield start, end, "secret"


def _merged(found: list[Finding]) -> list[Finding]:
    """Overlaps become one; of two kinds the earlier found is the more exact."""
    ranked = sorted((start, end, rank) for rank, (start, end, _) in enumerate(found))
    merged: list[list[int]] = []
    for start, end, rank in ranked:
        if merged and start <= merged[-1][1]:
            merged[-1][1:] = [max(end, merged[-1][1]), min(rank, merged[-1][2])]
        else:
            merged.append([start, end, rank])
    return [(start, end, found[rank][2]) for start, end, rank in merged]


def _mapped(text: str, plain: str, found: list[Finding]) -> list[Finding]:
    """Offsets in the text as it came, with its invisible characters."""
    if len(text) == len(plain):
        return found
    places = [place for place, character in enumerate(text) if ord(character) not in INVISIBLE]
    return [(places[start], places[end - 1] + 1, kind) for start, end, kind in found]


def _masked(text: str, found: list[Finding]) -> str:
    pieces, last = [], 0
    for start, end, kind in found:
        pieces += [text[last:start], f"[REDACTED:{kind}]"]
        last = end
    return "".join([*pieces, text[last:]])


def _tilde(text: str, home: Optional[str]) -> str:
    home = (home or "").rstrip("/\\")
    if len(home) < 2:
        return text
    for written in (home, home.replace("\\", "\\\\"), home.replace("\\", "/"), home.replace("/", "\\/")):
        if written in text:
            text = _shortened(text, written)
    return text


def _shortened(text: str, home: str) -> str:
    pieces, last, start = [], 0, text.find(home)
    while start >= 0:
        end = start + len(home)
        if _begins(text, start) and _ends(text, end):
            pieces += [text[last:start], "~"]
            last = end
        start = text.find(home, end)
    return "".join([*pieces, text[last:]])


def _begins(text: str, start: int) -> bool:
    """Not inside another path: /mnt/home/me is not /home/me, but -I/home/me and a JSON-escaped line start are."""
    before = text[max(0, start - 3) : start]
    if before[-1:].isalnum():
        return before[-2:-1] in ("-", "\\")
    return before == "://" or before[-1:] not in ("/", "_", "-", ".", "~", "\\")


def _ends(text: str, end: int) -> bool:
    after = text[end : end + 2]
    if after[:1] == ".":
        return not after[1:].isalnum()
    return not after[:1].isalnum() and after[:1] not in _NAME
