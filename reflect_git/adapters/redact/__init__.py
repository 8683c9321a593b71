"""Secrets leave a text before it touches a disk. Favours recall: a learning rarely needs a token.

Redact a text whole, as it came in, and cut it afterwards: what is left of a secret that was cut looks like no secret.
`Redacted` is the type of what came out. It exists for the type checker alone and is a plain `str` at run time.
"""

from __future__ import annotations

from reflect_git.adapters.redact.families import (
    ASCII_NOUNS,
    ASSIGNED,
    CODES,
    ENCODED,
    INVISIBLE,
    JOINTS,
    KEY_MEMBERS,
    OBJECTS,
    PASSWORDS,
    PREFIXES,
    READABLE,
    SHAPES,
    SPOKEN,
    TOKENS,
    WORD_SHAPES,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import Any, NewType, Optional

    Finding = tuple[int, int, str]
    Shape = tuple[str, str, tuple[tuple[str, ...], ...], str]
    # Only the functions of this module that return it may call it.
    Redacted = NewType("Redacted", str)
else:
    Redacted = str

_DEEPEST = 64
_LONG = 14
_LONG_KEY = 20
_ROUNDS = 4
_WIDEST_GAP = 90
_JOINING = "\\ \t\r\n+.|&_"
_OPENING = frozenset("\"'`")
_NAME = frozenset("_-.+@~")


def redact(text: str, home: Optional[str] = None, left_out: Sequence[str] = ()) -> Redacted:
    """Return `text` with `[REDACTED:<kind>]` for every secret and `~` for the home directory.

    Every occurrence of a `left_out` text becomes a line break, after the secrets were located in the whole text.
    """
    if len(text) < _LONG and text.isascii() and (text.isalnum() or not text):
        return Redacted(text)  # one short word; half of what a hook redacts is like this
    if left_out:
        text = _masked(text, _merged([*find(text), *_occurrences(text, left_out)])).strip()
    for _ in range(_ROUNDS):
        # A mask can turn what stands beside it into a finding, so a changed text is read again.
        before, text = text, _tilde(_masked(text, find(text)), home)
        if text == before:
            break
    return Redacted(text)


def redact_ends(text: str, size: int, home: Optional[str] = None) -> Redacted:
    """Redact a text of any length in bounded time: of a long one, `size` characters at either end, without the middle.

    Private keys and `<private>` parts may begin in the middle and reach an end, so they are looked for in all of it. A
    line or a word that a cut would split is dropped, whatever its length: its end may be the end of a secret.
    """
    if len(text) > 2 * size:
        plain = text if text.isascii() else text.translate(READABLE)
        text = _masked(text, _mapped(text, plain, _merged([*_find_blocks(plain, _lower(plain))])))
    if len(text) <= 2 * size:
        return redact(text, home)
    head, tail = _whole_words(text[:size][::-1])[::-1].rstrip(), _whole_words(text[-size:]).lstrip()
    # As one text: the head may have the title of a table whose rows reach into the tail.
    return redact(f"{head or text[:size]}\n{tail}", home)


def _whole_words(text: str) -> str:
    """Drop the line that a text begins in the middle of, or at least the word."""
    at = text.find("\n", 0, len(text) // 2)
    if at < 0:
        at = min([place for place in map(text.find, " \t\n") if place >= 0], default=len(text))
    return text[at:]


def clip(text: Redacted, limit: int) -> Redacted:
    """Return at most `limit` bytes of UTF-8, cut between characters and marked where the cut is."""
    data = text.encode("utf-8", "surrogatepass")
    if len(data) <= limit:
        return text
    return Redacted(data[: limit - 3].decode("utf-8", "ignore") + "…")


def clip_middle(text: Redacted, limit: int) -> Redacted:
    """Return at most `limit` bytes of UTF-8: the beginning and the end, with a mark between them."""
    if len(text.encode("utf-8", "surrogatepass")) <= limit:
        return text
    kept = (limit - 16) // (4 if text.isascii() else 8)  # four bytes a character at the most
    return Redacted(f"{text[:kept]} […] {text[-kept:]}")


def flatten(text: Redacted, limit: int, mark: str = "…") -> Redacted:
    """Return `text` on one line of at most `limit` characters; a line that was cut ends with `mark`."""
    line = " ".join(text[: limit * 8].split())
    return Redacted(line if len(line) <= limit else f"{line[: limit - len(mark)]}{mark}")


def join(separator: str, parts: Iterable[Redacted]) -> Redacted:
    """Join redacted texts. `separator` has to be a constant of the program."""
    return Redacted(separator.join(parts))


def fill(template: str, *parts: Redacted) -> Redacted:
    """Put redacted texts in the place of each `{}`. `template` has to be a constant of the program."""
    return Redacted(template.format(*parts))


def redact_value(value: Any, home: Optional[str] = None) -> Any:
    """The same for all strings in JSON-like data, keys included; what is nested too deep is dropped."""
    return _walk(value, home, "", _DEEPEST)


def find(text: str) -> list[Finding]:
    """Where secrets are: (start, end, kind), in order, apart from each other."""
    plain = text if text.isascii() else text.translate(READABLE)
    lower = _lower(plain)
    found = [*_written(plain, lower), *_find_structures(plain, lower)]
    if found and ("\n" in plain or "\\n" in plain):
        from reflect_git.adapters.redact.blocks import with_wrapped_lines

        found += with_wrapped_lines(plain, found)
    return _mapped(text, plain, _merged(found)) if found else found


def _written(plain: str, lower: str = "") -> list[Finding]:
    """Find what is a secret as it is written."""
    lower = lower or _lower(plain)
    return [*_find_blocks(plain, lower), *_tokens(plain), *_shaped(plain, lower, SHAPES), *_named(plain, lower)]


def _find_structures(plain: str, lower: str) -> Iterator[Finding]:
    """Find what is a secret once strings are joined or decoded, or by the object that it is part of."""
    if "kty" in lower:
        from reflect_git.adapters.redact.blocks import key_members

        yield from key_members(plain)
    for name in CODES:
        if name in lower:
            from reflect_git.adapters.redact.codes import codes

            yield from codes(plain, lower)
            break
    for name, openings in OBJECTS.items():
        if name in lower and _marked(lower, (openings,)):
            from reflect_git.adapters.redact.blocks import secret_objects

            yield from secret_objects(plain)
            break
    has_joint = _has_joint(plain)
    if has_joint or "\\u" in plain:
        from reflect_git.adapters.redact.blocks import in_joined, in_unescaped

        yield from in_unescaped(plain, _written)
        yield from in_joined(plain, _written) if has_joint else ()


def _has_joint(plain: str) -> bool:
    """Tell whether a string may go on in another one, without the module for patterns: that one costs 8 ms."""
    for quote, joints in JOINTS.items():
        for joint in joints if quote in plain else ():
            at = plain.find(joint)
            while at >= 0:
                at += len(joint)
                if quote not in _OPENING or plain[at : at + _WIDEST_GAP].lstrip(_JOINING)[:1] in _OPENING:
                    return True
                at = plain.find(joint, at)
    return _has_neighbours(plain)


def _has_neighbours(plain: str) -> bool:
    """Tell whether two strings with letters at their ends follow each other: `"ghp_…" "…"`."""
    for joint in ('""', '" "', "''", "' '", '" f"', "' f'", '" b"', "' b'"):
        parts = plain.split(joint) if joint in plain else []
        if any(left[-1:].isalnum() and right[:1].isalnum() for left, right in zip(parts, parts[1:])):
            return True
    return False


def _find_blocks(plain: str, lower: str) -> Iterator[Finding]:
    """Find secrets of any length, which a first and a last mark enclose."""
    if "private" in lower or "begin " in lower:
        from reflect_git.adapters.redact.armour import armoured_keys, ends_of_keys, private_parts

        yield from private_parts(plain, lower) if "private" in lower else ()
        yield from armoured_keys(plain) if "-begin " in lower or "- begin " in lower else ()
        yield from ends_of_keys(plain) if "private key" in lower and ("-end " in lower or "- end " in lower) else ()


def _occurrences(text: str, wanted: Sequence[str]) -> Iterator[Finding]:
    for one in wanted:
        at = text.find(one)
        while one and at >= 0:
            yield at, at + len(one), ""
            at = text.find(one, at + len(one))


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
        if "kty" in value and key in KEY_MEMBERS and isinstance(item, str):
            item = "[REDACTED:private-key]"
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


def _tokens(plain: str) -> Iterator[Finding]:
    """Secrets that are one long word; a text has few of those, so that looking for 300 markers in them costs little."""
    long_words = "\n".join([word for word in plain.split() if len(word) >= _LONG])
    if long_words:
        yield from _prefixed(plain, long_words)
        yield from _shaped(plain, long_words.lower(), WORD_SHAPES)
        yield from _encoded(plain, long_words)
        if "(" in plain and ('"' in long_words or "'" in long_words or "`" in long_words):
            yield from _passed(plain, long_words)
        # This token has no literal part; its middle is six characters between two dots.
        if any(len(part) == 6 for part in long_words.split(".")[1:-1]):
            yield from _matches(plain, "discord", "real", r"(?<![\w-])[\w-]{23,28}\.[\w-]{6}\.[\w-]{27,}")


def _encoded(plain: str, long_words: str) -> Iterator[Finding]:
    for marker in ENCODED:
        if marker in long_words:
            from reflect_git.adapters.redact.blocks import encoded

            yield from encoded(plain, _written)
            return


def _passed(plain: str, long_words: str) -> Iterator[Finding]:
    """Look for keys in calls where a quoted word is long enough for one and has a digit or letters of both cases."""
    for word in long_words.split("\n"):
        is_quoted = len(word) > _LONG_KEY and ('"' in word or "'" in word or "`" in word)
        if is_quoted and (any(map(str.isdigit, word)) or not (word.islower() or word.isupper())):
            from reflect_git.adapters.redact.blocks import call_arguments

            yield from call_arguments(plain)
            return


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
    from reflect_git.adapters.redact.looks import matches

    return matches(plain, kind, evidence, pattern)


def _nouns(norm: str) -> list[str]:
    """The names that occur. Most contain `pass` or `key`, many others are not ASCII: three looks save a hundred."""
    nouns = [*PASSWORDS, *TOKENS, *ASSIGNED, *SPOKEN] if not norm.isascii() else [*ASCII_NOUNS]
    for part in [part for part in ("pass", "key") if part not in norm]:
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
        pieces += [text[last:start], f"[REDACTED:{kind}]" if kind else "\n"]
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
    return not after[1:].isalnum() if after[:1] == "." else not after[:1].isalnum() and after[:1] not in _NAME
