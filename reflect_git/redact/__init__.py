"""Redact secrets in a text before it is written to disk. Favours recall: a learning rarely needs a token.

Redact a text as a whole, as it came in, and truncate it afterwards: the rest of a truncated secret is not recognised.
`Redacted` is the type of the result. It exists only for the type checker and is a plain `str` at run time.
"""

from __future__ import annotations

from reflect_git.redact.families import (
    ASCII_CODE_NAMES,
    CODE_NAMES,
    ENCODED_MARKERS,
    FOREIGN_NOUNS,
    INVISIBLE_CHARACTERS,
    KEY_MEMBERS,
    KEY_NOUNS,
    LOGIN_SHAPES,
    LOGIN_STEMS,
    OTHER_NOUNS,
    PASS_NOUNS,
    READABLE_TABLE,
    SECRET_MAP_OPENINGS,
    SHAPES,
    STRING_JOINTS,
    TOKEN_PREFIXES,
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

_MAX_DEPTH = 64
_DIGITS = tuple("0123456789")
_LONG_WORD = 14
_LONG_KEY = 20
_SHORT_KEY = 10
_MAX_ROUNDS = 4
_MAX_GAP = 90
_JOINING_SIGNS = "\\ \t\r\n+.|&_"
_QUOTE_SIGNS = frozenset("\"'`")
_HEX_DIGITS = frozenset("0123456789abcdef")
_NAME_SIGNS = frozenset("_-.+@~")


def redact(text: str, home: Optional[str] = None, left_out: Sequence[str] = ()) -> Redacted:
    """Return `text` with `[REDACTED:<kind>]` for every secret and `~` for the home directory.

    Every occurrence of a `left_out` text becomes a line break, after secrets were located in the whole text.
    """
    if _is_short_word(text):
        return Redacted(text)
    if left_out:
        text = _mask_findings(text, _merge_findings([*find_secrets(text), *_find_occurrences(text, left_out)])).strip()
    for _ in range(_MAX_ROUNDS):
        # A mask can turn what stands beside it into a finding, so a changed text is read again.
        before, text = text, _shorten_home(_mask_findings(text, find_secrets(text)), home)
        if text == before:
            break
    return Redacted(text)


def _is_short_word(text: str) -> bool:
    """Tell whether a text is one short word, too short for a secret. Half of the texts that a hook redacts are."""
    return len(text) < _LONG_WORD and text.isascii() and (text.isalnum() or not text)


def redact_ends(text: str, size: int, home: Optional[str] = None) -> Redacted:
    """Redact a text of any length in bounded time; of a long one, keep only `size` characters at either end.

    Private keys and `<private>` parts may begin in the middle and reach an end, so the whole text is searched for them.
    A line or word that a cut would split is dropped, whatever its length: its end may be the end of a secret.
    """
    if len(text) > 2 * size:
        plain = text if text.isascii() else text.translate(READABLE_TABLE)
        text = _mask_findings(
            text, _map_to_original(text, plain, _merge_findings([*_find_blocks(plain, _to_lower(plain))]))
        )
    if len(text) <= 2 * size:
        return redact(text, home)
    head, tail = _drop_partial_word(text[:size][::-1])[::-1].rstrip(), _drop_partial_word(text[-size:]).lstrip()
    # As one text: the head may have the title of a table whose rows reach into the tail.
    return redact(f"{head or text[:size]}\n{tail}", home)


def _drop_partial_word(text: str) -> str:
    """Drop the partial line at the beginning of a text, or at least the partial word."""
    at = text.find("\n", 0, len(text) // 2)
    if at < 0:
        at = min([place for place in map(text.find, " \t\n") if place >= 0], default=len(text))
    return text[at:]


def clip(text: Redacted, limit: int) -> Redacted:
    """Truncate to `limit` bytes of UTF-8 between characters, and mark the cut."""
    data = text.encode("utf-8", "surrogatepass")
    if len(data) <= limit:
        return text
    return Redacted(data[: limit - 3].decode("utf-8", "ignore") + "…")


def clip_middle(text: Redacted, limit: int) -> Redacted:
    """Return at most `limit` bytes of UTF-8: the beginning and the end, with a mark in between."""
    if len(text.encode("utf-8", "surrogatepass")) <= limit:
        return text
    kept = (limit - 16) // (4 if text.isascii() else 8)  # four bytes a character at the most
    return Redacted(f"{text[:kept]} […] {text[-kept:]}")


def flatten(text: Redacted, limit: int, mark: str = "…") -> Redacted:
    """Return `text` on one line of at most `limit` characters; a truncated line ends with `mark`."""
    line = " ".join(text[: limit * 8].split())
    return Redacted(line if len(line) <= limit else f"{line[: limit - len(mark)]}{mark}")


def join_redacted(separator: str, parts: Iterable[Redacted]) -> Redacted:
    """Join redacted texts. `separator` must be a constant of the program."""
    return Redacted(separator.join(parts))


def format_redacted(template: str, *parts: Redacted) -> Redacted:
    """Fill redacted texts into the `{}` of a template, which must be a constant of the program."""
    return Redacted(template.format(*parts))


def redact_value(value: Any, home: Optional[str] = None) -> Any:
    """Redact all strings in JSON-like data, keys included; what is nested too deeply is dropped."""
    return _redact_nested(value, home, "", _MAX_DEPTH)


def find_secrets(text: str) -> list[Finding]:
    """Return where secrets are: (start, end, kind), in order, without overlaps."""
    if _is_short_word(text):
        return []
    plain = text if text.isascii() else text.translate(READABLE_TABLE)
    lower = _to_lower(plain)
    found = [*_find_written(plain, lower), *_find_structures(plain, lower)]
    if found and ("\n" in plain or "\\n" in plain):
        from reflect_git.redact.blocks import find_wrapped_lines

        found += find_wrapped_lines(plain, found)
    return _map_to_original(text, plain, _merge_findings(found)) if found else found


def _find_written(plain: str, lower: str = "") -> list[Finding]:
    """Find secrets that are visible as written."""
    lower = lower or _to_lower(plain)
    found = [*_find_blocks(plain, lower), *_find_tokens(plain), *_find_shapes(plain, lower, SHAPES)]
    if not lower.isascii() or _has_markers(lower, (LOGIN_STEMS,)):
        found += _find_shapes(plain, lower, LOGIN_SHAPES)
    return [*found, *_find_named(plain, lower)]


def _find_structures(plain: str, lower: str) -> Iterator[Finding]:
    """Find secrets that appear once strings are joined or decoded, or that their enclosing object reveals."""
    if "kty" in lower:
        from reflect_git.redact.blocks import find_key_members

        yield from find_key_members(plain)
    is_ascii = lower.isascii()
    for name in ASCII_CODE_NAMES if is_ascii else CODE_NAMES:
        if name in lower:
            if not is_ascii or "codes" in lower or _has_markers(lower, (_DIGITS,)):
                from reflect_git.redact.codes import find_codes

                yield from find_codes(plain, lower)
            break
    for name, openings in SECRET_MAP_OPENINGS.items():
        if name in lower and _has_markers(lower, (openings,)):
            from reflect_git.redact.blocks import find_secret_objects

            yield from find_secret_objects(plain)
            break
    has_joint = _has_joint(plain)
    if has_joint or "\\u" in plain:
        from reflect_git.redact.blocks import find_in_joined, find_in_unescaped

        yield from find_in_unescaped(plain, _find_written)
        yield from find_in_joined(plain, _find_written) if has_joint else ()


def _has_joint(plain: str) -> bool:
    """Return whether a string may continue in another one, without `re`, whose import takes 8 ms."""
    for quote, joints in STRING_JOINTS.items():
        for joint in joints if quote in plain else ():
            at = plain.find(joint)
            while at >= 0:
                at += len(joint)
                if quote not in _QUOTE_SIGNS or plain[at : at + _MAX_GAP].lstrip(_JOINING_SIGNS)[:1] in _QUOTE_SIGNS:
                    return True
                at = plain.find(joint, at)
    return ('"' in plain or "'" in plain) and _has_neighbours(plain)


def _has_neighbours(plain: str) -> bool:
    """Return whether two adjacent strings have letters where they meet: `"ghp_…" "…"`."""
    for joint in ('""', '" "', "''", "' '", '" f"', "' f'", '" b"', "' b'"):
        parts = plain.split(joint) if joint in plain else []
        if any(left[-1:].isalnum() and right[:1].isalnum() for left, right in zip(parts, parts[1:])):
            return True
    return False


def _find_blocks(plain: str, lower: str) -> Iterator[Finding]:
    """Find secrets of any length between a start and an end mark."""
    if "private" in lower or "begin " in lower:
        from reflect_git.redact.blocks import find_armoured_keys, find_key_ends, find_private_parts

        yield from find_private_parts(plain, lower) if "private" in lower else ()
        yield from find_armoured_keys(plain) if "-begin " in lower or "- begin " in lower else ()
        yield from find_key_ends(plain) if "private key" in lower and ("-end " in lower or "- end " in lower) else ()


def _find_occurrences(text: str, wanted: Sequence[str]) -> Iterator[Finding]:
    for one in wanted:
        at = text.find(one)
        while one and at >= 0:
            yield at, at + len(one), ""
            at = text.find(one, at + len(one))


def _redact_nested(value: Any, home: Optional[str], name: str, depth: int) -> Any:
    if isinstance(value, str):
        return _redact_field(value, home, name)
    if isinstance(value, (dict, list, tuple)) and depth == 0:
        return "[REDACTED:depth]"
    if isinstance(value, dict):
        return _redact_dict(value, home, depth)
    if isinstance(value, (list, tuple)):
        return type(value)([_redact_nested(item, home, name, depth - 1) for item in value])
    return value


def _redact_dict(value: dict[Any, Any], home: Optional[str], depth: int) -> dict[Any, Any]:
    result: dict[Any, Any] = {}
    for key, item in value.items():
        clean = redact(key, home) if isinstance(key, str) else key
        while clean in result:  # two keys may be masked alike, and neither value may be lost
            clean += "'"
        if "kty" in value and key in KEY_MEMBERS and isinstance(item, str):
            item = "[REDACTED:private-key]"
        result[clean] = _redact_nested(item, home, key if isinstance(key, str) and len(key) < 80 else "", depth - 1)
    return result


def _redact_field(value: str, home: Optional[str], name: str) -> str:
    """Redact a string as the value of its key."""
    if not name or not _find_nouns(_normalize(_to_lower(name))):
        return redact(value, home)
    lead = len(name) + 2
    inside = [
        (max(0, start - lead), end - lead, kind) for start, end, kind in find_secrets(f'{name}="{value}"') if end > lead
    ]
    return redact(_mask_findings(value, inside), home)


def _to_lower(text: str) -> str:
    lower = text.lower()
    # Some capitals have two characters as small letters; offsets must stay.
    return lower if len(lower) == len(text) else "".join(c.lower() if len(c.lower()) == 1 else c for c in text)


def _normalize(lower: str) -> str:
    return lower.replace("-", "_").replace(" ", "_").replace(".", "_")


def _find_tokens(plain: str) -> Iterator[Finding]:
    """Find secrets that are one long word. A text has few of those, so searching them for 300 markers is cheap."""
    long_words = "\n".join([word for word in plain.split() if len(word) >= _LONG_WORD])
    if long_words:
        yield from _find_prefixed(plain, long_words)
        yield from _find_shapes(plain, long_words.lower(), WORD_SHAPES)
        yield from _find_encoded(plain, long_words)
        if "(" in plain and ('"' in long_words or "'" in long_words or "`" in long_words):
            yield from _find_call_arguments(plain, long_words)
        # This token has no literal part; its middle is six characters between two dots.
        if any(len(part) == 6 for part in long_words.split(".")[1:-1]):
            yield from _find_matches(plain, "discord", "real", r"(?<![\w-])[\w-]{23,28}\.[\w-]{6}\.[\w-]{27,}")


def _find_encoded(plain: str, long_words: str) -> Iterator[Finding]:
    for marker in ENCODED_MARKERS:
        if marker in long_words:
            from reflect_git.redact.blocks import find_encoded

            yield from find_encoded(plain, _find_written)
            return


def _find_call_arguments(plain: str, long_words: str) -> Iterator[Finding]:
    """Find keys in calls, if a quoted word is long enough and has a digit or letters of both cases."""
    for word in long_words.split("\n"):
        is_quoted = '"' in word or "'" in word or "`" in word
        is_quoted = is_quoted and (len(word) > _LONG_KEY or _has_hex(word))
        if is_quoted and (any(map(str.isdigit, word)) or not (word.islower() or word.isupper())):
            from reflect_git.redact.blocks import find_call_arguments

            yield from find_call_arguments(plain)
            return


def _has_hex(word: str) -> bool:
    parts = word.replace("'", '"').replace("`", '"').split('"')
    return any(len(part) >= _SHORT_KEY and _HEX_DIGITS.issuperset(part) for part in parts)


def _find_prefixed(plain: str, long_words: str) -> Iterator[Finding]:
    for kind, characters, least, prefixes in TOKEN_PREFIXES:
        for prefix in prefixes:
            if prefix in long_words:
                import re

                yield from _find_matches(plain, kind, "real", f"{re.escape(prefix)}{characters}{{{least},}}")


def _find_shapes(plain: str, lower: str, shapes: tuple[Shape, ...]) -> Iterator[Finding]:
    for kind, evidence, markers, pattern in shapes:
        for marker in markers[0]:  # most texts have none of them, and a call costs more than the look
            if marker in lower:
                if _has_markers(lower, markers[1:]):
                    yield from _find_matches(plain, kind, evidence, pattern)
                break


def _has_markers(lower: str, markers: tuple[tuple[str, ...], ...]) -> bool:
    """Return whether each option has a hit. Loops, because any() and all() take twice as long, in every hook."""
    for options in markers:
        for marker in options:
            if marker in lower:
                break
        else:
            return False
    return True


def _find_matches(plain: str, kind: str, evidence: str, pattern: str) -> Iterator[Finding]:
    from reflect_git.redact.heuristics import find_matches

    return find_matches(plain, kind, evidence, pattern)


def _find_nouns(norm: str) -> list[str]:
    """Return the nouns that occur."""
    found = [noun for noun in OTHER_NOUNS if noun in norm]
    if "pass" in norm:
        found += [noun for noun in PASS_NOUNS if noun in norm]
    if "key" in norm:
        found += [noun for noun in KEY_NOUNS if noun in norm]
    return found if norm.isascii() else found + [noun for noun in FOREIGN_NOUNS if noun in norm]


def _find_named(plain: str, lower: str) -> Iterator[Finding]:
    norm = _normalize(lower)
    nouns = _find_nouns(norm)
    if nouns:
        from reflect_git.redact.fields import find_fields

        for start, end in find_fields(plain, norm, nouns):
            yield start, end, "secret"


def _merge_findings(found: list[Finding]) -> list[Finding]:
    """Merge overlapping findings; the kind found first is the more exact one."""
    ranked = sorted((start, end, rank) for rank, (start, end, _) in enumerate(found))
    merged: list[list[int]] = []
    for start, end, rank in ranked:
        if merged and start <= merged[-1][1]:
            merged[-1][1:] = [max(end, merged[-1][1]), min(rank, merged[-1][2])]
        else:
            merged.append([start, end, rank])
    return [(start, end, found[rank][2]) for start, end, rank in merged]


def _map_to_original(text: str, plain: str, found: list[Finding]) -> list[Finding]:
    """Map findings back to offsets in the original text, with its invisible characters."""
    if len(text) == len(plain):
        return found
    places = [place for place, character in enumerate(text) if ord(character) not in INVISIBLE_CHARACTERS]
    return [(places[start], places[end - 1] + 1, kind) for start, end, kind in found]


def _mask_findings(text: str, found: list[Finding]) -> str:
    pieces, last = [], 0
    for start, end, kind in found:
        pieces += [text[last:start], f"[REDACTED:{kind}]" if kind else "\n"]
        last = end
    return "".join([*pieces, text[last:]])


def _shorten_home(text: str, home: Optional[str]) -> str:
    home = (home or "").rstrip("/\\")
    if len(home) < 2:
        return text
    for written in (home, home.replace("\\", "\\\\"), home.replace("\\", "/"), home.replace("/", "\\/")):
        if written in text:
            text = _replace_home(text, written)
    return text


def _replace_home(text: str, home: str) -> str:
    pieces, last, start = [], 0, text.find(home)
    while start >= 0:
        end = start + len(home)
        if _is_path_start(text, start) and _is_path_end(text, end):
            pieces += [text[last:start], "~"]
            last = end
        start = text.find(home, end)
    return "".join([*pieces, text[last:]])


def _is_path_start(text: str, start: int) -> bool:
    """Return whether a path begins here, and not inside another one.

    /mnt/home/me is not /home/me, but -I/home/me and a JSON-escaped line start are.
    """
    before = text[max(0, start - 3) : start]
    if before[-1:].isalnum():
        return before[-2:-1] in ("-", "\\")
    return before == "://" or before[-1:] not in ("/", "_", "-", ".", "~", "\\")


def _is_path_end(text: str, end: int) -> bool:
    after = text[end : end + 2]
    return not after[1:].isalnum() if after[:1] == "." else not after[:1].isalnum() and after[:1] not in _NAME_SIGNS
