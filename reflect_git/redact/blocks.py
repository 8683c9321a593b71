"""Find secrets that one word does not show: split or wrapped strings, encoded settings, keys, Secret objects."""

from __future__ import annotations

import re

from reflect_git.redact.families import PASSWORD_NOUNS, TOKEN_NOUNS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from re import Pattern
    from typing import Callable

    Finding = tuple[int, int, str]
    Finder = Callable[[str], list[Finding]]

_NEWLINE_PATTERN = r"(?:\r?\n|\\r?\\?n)"
# A closing quote, an operator or a line break, an opening quote of the same kind; or a backslash at the end of a line.
_JOINT_PATTERN = (
    r"(?P<quote>\\{0,3}[\"'`])[ \t)]{0,8}"
    r"(?:(?:\+|\.\.?|\|\||&|<>|~|\\)(?:[ \t]{0,8}[\\_]{1,2})?"
    + _NEWLINE_PATTERN
    + r"?|\\?"
    + _NEWLINE_PATTERN
    + r"[ \t]{0,80}(?:\+|\.\.?|\|\||&|<>)?)"
    r"[ \t]{0,80}[bfruL@]?(?P=quote)|(?P<call>\\{0,3}[\"'`])\)?\.(?:concat|append)\((?P=call)|"
    r"(?<=\w)(?P<next>[\"'])(?:[ \t]?|[ \t][bfru])(?P=next)(?=\w)|(?<=[^\s\\])\\\r?\n[ \t]{0,80}(?=\S)"
)
_LISTED_JOINT_PATTERN = (
    r"[\"']{2}\.join\(\s{0,8}[\[(]\s{0,8}(?=[\"'])|(?P<list>\\{0,3}[\"'`])\s{0,8},\s{0,40}(?P=list)|"
)
_WRAPPED_PATTERN = (
    r"(?:[ \t]{0,200}[|│┃║])?" + _NEWLINE_PATTERN + r"[ \t>|*#│┃║]{0,60}([A-Za-z0-9+/=_%.-]{6,512})"
    r"(?=[\"'`,;)]{0,3}(?:[ \t]{0,200}[|│┃║]|\s*?\n|\\r?\\?n|\s{0,8}$|[\"']))"
)
# Letters beyond ASCII; the block from 2000 on has punctuation, which no name of a secret needs.
_ESCAPE_PATTERN = (
    r"\\{1,4}u(00[c-fC-F][0-9a-fA-F]|0[1-9a-fA-F][0-9a-fA-F]{2}|[13-9a-cA-CfF][0-9a-fA-F]{3}|[dD][0-7][0-9a-fA-F]{2})"
)
_MAX_WRAPPED_LINES = 400
_CONTEXT_LENGTH = 400
_KEY_LENGTH = 32
_ARGUMENT_PATTERN = r"[\"'`]([\w+/=.~-]{10,256})[\"'`]"
_MIN_CALL_KEY = 16
_MIN_VENDOR_KEY = 20
_SETUP_PREFIXES = ("init", "start", "configure", "setup", "load", "client", "connect", "login", "auth", "set")
_CIPHER_KEY_LENGTHS = (16, 24, 32)
_CIPHER_NAMES = ("crypt", "cipher", "aes", "hmac", "fernet", "chacha")  # their keys have 16 characters and more
_CALL_PATTERN = r"([A-Za-z_$][\w.$:]{0,80})\s?\((?:[^()]|\(\)){0,160}$"
_MIN_PIECE = 16
_MAX_WORDS = 400
_LINE_LIMIT = 1 << 16
_JWK_PATTERN = (
    r"(?<![\w-])\\{0,3}[\"']?(?:d|p|q|dp|dq|qi|k|r|t)\\{0,3}[\"']?"
    r"\s{0,4}[:=]\s{0,4}\\{0,3}[\"']?([A-Za-z0-9_-]{16,4096}={0,2})"
)
_SECRET_KIND_PATTERN = r"kind\\{0,3}[\"']?\s{0,4}:\s{0,4}\\{0,3}[\"']?(?:Secret|SealedSecret)\b"
_YAML_DATA_PATTERN = r"(?P<indent>(?:(?<=\n)|(?<=\\n)|^)[ \t]{0,40})(?:%s):[ \t]{0,8}" + _NEWLINE_PATTERN
_DATA_NAMES = "stringData|data"
_MAP_NAMES = r"(?i:api_?-?keys|secrets|tokens|credentials|passwords|app_?secrets)"
_YAML_ENTRY_PATTERN = (
    r"(?P<indent>[ \t]{0,60})[\"']?[\w.-]{1,120}[\"']?:[ \t]{0,8}[\"']?([^\s\"'\\|>][^\n\"'\\]{0,4096})"
)
_JSON_DATA_PATTERN = r"(?:%s)\\{0,3}[\"']?\s{0,4}[:=]\s{0,4}\{([^{}]{1,20000})\}"
_JSON_ENTRY_PATTERN = r":\s{0,4}\\{0,3}[\"']([^\"'\\]{1,4096})"
_BASE64_PATTERN = r"[A-Za-z0-9+/_-]{16,8192}={0,2}"


def _compile_pattern(text: str) -> Pattern[str]:
    import re

    return re.compile(text)


def find_in_joined(text: str, find: Finder) -> list[Finding]:
    """Find secrets that appear once concatenated strings are joined."""
    joint = _compile_pattern(
        (_LISTED_JOINT_PATTERN if "join(" in text or "concat(" in text.lower() else "") + _JOINT_PATTERN
    )
    cuts = [match.span() for match in joint.finditer(text)]
    pieces, starts, length, last, is_near = [], [], 0, 0, False
    for (start, end), (following, _) in zip(cuts, [*cuts[1:], (len(text) + 2 * _CONTEXT_LENGTH, 0)]):
        # Only what is near a joint is read a second time, and everything between two that are near each other.
        last = last if is_near else max(last, start - _CONTEXT_LENGTH)
        is_near = following - end < 2 * _CONTEXT_LENGTH
        stop = end if is_near else min(len(text), end + _CONTEXT_LENGTH)
        for begin, finish, rest in ((last, start, ""), (end, stop, "\n\n")):
            pieces.append(text[begin:finish] + rest)
            starts.append((length, begin))
            length += finish - begin + len(rest)
            if stop == end:
                break
        last = stop
    return _map_to_original(find("".join(pieces)), starts) if cuts else []


def find_in_unescaped(text: str, find: Finder) -> list[Finding]:
    """Find secrets that words in another script announce where JSON writes these words as `\\u043f…`."""
    pieces, starts, length, last = [], [], 0, 0
    for match in _compile_pattern(_ESCAPE_PATTERN).finditer(text):
        for begin, piece in ((last, text[last : match.start()]), (match.start(), chr(int(match.group(1), 16)))):
            pieces.append(piece)
            starts.append((length, begin))
            length += len(piece)
        last = match.end()
    if not starts:
        return []
    read = "".join([*pieces, text[last:]])
    lower = read.lower()
    # Reading it costs as much as the text itself did, so only if a name of a secret came to light.
    if not any(noun.replace("_", " ") in lower for noun in (*PASSWORD_NOUNS, *TOKEN_NOUNS) if not noun.isascii()):
        return []
    return _map_to_original(find(read), [*starts, (length, last)])


def _map_to_original(found: list[Finding], starts: list[tuple[int, int]]) -> list[Finding]:
    """Map findings in a shortened text to places in the original text."""
    from bisect import bisect_right

    shortened = [start for start, _ in starts]

    def place(at: int) -> int:
        short, full = starts[bisect_right(shortened, at) - 1]
        return full + at - short

    return [(place(start), place(end - 1) + 1, kind) for start, end, kind in found if start < end]


def find_wrapped_lines(text: str, found: list[Finding]) -> list[Finding]:
    """Add the following lines of a long secret that a terminal, a mail program or YAML wrapped."""
    from reflect_git.redact.heuristics import is_likely_secret

    wrapped, longer = _compile_pattern(_WRAPPED_PATTERN), []
    for start, end, kind in found:
        for _ in range(_MAX_WRAPPED_LINES):
            match = wrapped.match(text, end) if end - start >= _MIN_PIECE else None
            if not match or not (is_likely_secret(match.group(1)) or match.group(1).endswith("=")):
                break
            longer.append((start, match.end(1), kind))
            end = match.end(1)
    return longer


def find_key_members(text: str) -> Iterator[Finding]:
    """Find the private members of JSON Web Keys: the objects with a `kty` in them."""
    for match in _compile_pattern(_JWK_PATTERN).finditer(text):
        around = text[max(0, match.start() - 8192) : match.end() + 8192]
        if "kty" in around:
            yield match.start(1), match.end(1), "private-key"


def find_secret_objects(text: str) -> Iterator[Finding]:
    """Find every value in the data of a Kubernetes Secret, and random values in maps like `secrets` or `apiKeys`."""
    from reflect_git.redact.heuristics import is_marked_password, is_non_digest_secret, is_placeholder

    if _compile_pattern(_SECRET_KIND_PATTERN).search(text):
        yield from _find_map_values(text, _DATA_NAMES, lambda value: not is_placeholder(value))
    yield from _find_map_values(
        text, _MAP_NAMES, lambda value: is_non_digest_secret(value) or is_marked_password(value)
    )


def _find_map_values(text: str, names: str, holds: Callable[[str], bool]) -> Iterator[Finding]:
    """Find the values in maps with one of these names, as YAML and as JSON."""
    for block in _compile_pattern(_JSON_DATA_PATTERN % names).finditer(text):
        for match in _compile_pattern(_JSON_ENTRY_PATTERN).finditer(text, *block.span(1)):
            if holds(match.group(1)):
                yield match.start(1), match.end(1), "secret"
    entry, newline = _compile_pattern(_YAML_ENTRY_PATTERN), _compile_pattern(_NEWLINE_PATTERN)
    for block in _compile_pattern(_YAML_DATA_PATTERN % names).finditer(text):
        at, depth = block.end(), len(block.group("indent"))
        while at < len(text):
            line = entry.match(text, at)
            if line and len(line.group("indent")) <= depth:
                break
            if line and holds(line.group(2).strip()):
                yield line.start(2), line.end(2), "secret"
            end = newline.search(text, at, at + _LINE_LIMIT)
            if not end:
                break
            at = end.end()


def find_call_arguments(text: str) -> Iterator[Finding]:
    """Find keys passed to a function that takes one: `Client("…")`, `mixpanel.init("…")`."""
    from reflect_git.redact.heuristics import (
        KEY_CALLEES,
        NAMING_CALLEES,
        VENDORS,
        is_certain_secret,
        is_digest,
        is_key,
        is_likely_secret,
        is_mixed_key,
    )

    call = _compile_pattern(_CALL_PATTERN)
    for match in _compile_pattern(_ARGUMENT_PATTERN).finditer(text):
        value = match.group(1)
        head = call.search(text, max(0, match.start() - 240), match.start()) if is_likely_secret(value) else None
        if not head:
            continue
        name = head.group(1).replace(":", ".").rpartition(".")[2]
        if len(value) < _MIN_CALL_KEY or (len(value) < _MIN_VENDOR_KEY and is_digest(value)):
            is_set_up = name[:1].isupper() or name.lower().startswith((*_SETUP_PREFIXES, *VENDORS))
            is_vendor = is_set_up and any(part in head.group(1).lower() for part in VENDORS)
            is_positional = text[max(0, match.start() - 40) : match.start()].rstrip()[-1:] in ("(", ",")
            if is_vendor and is_positional and is_digest(value) and value.isalnum() and not value.isdigit():
                yield match.start(1), match.end(1), "vendor-key"
            continue
        is_cipher = any(part in head.group(1).lower() for part in _CIPHER_NAMES)
        is_drawn = is_mixed_key(value) and not value.isalpha() and value.isalnum() and not is_digest(value)
        is_vendor = any(part in head.group(1).lower() for part in KEY_CALLEES)
        is_long = len(value) >= _MIN_VENDOR_KEY or (is_vendor and is_certain_secret(value))
        if not is_cipher and not (is_long and (is_key(value) or is_drawn)):
            continue
        # Commits have 40 digits and checksums 64; keys of vendors often have 32.
        is_class = (
            name[:1].isupper() and is_certain_secret(value) and (len(value) == _KEY_LENGTH or not is_digest(value))
        )
        is_taker = (
            is_vendor or is_class or is_drawn or (is_cipher and len(value) in _CIPHER_KEY_LENGTHS and value.isalnum())
        )
        if is_taker and not name.lower().endswith(NAMING_CALLEES) and not _is_lookup(name.lower()):
            yield match.start(1), match.end(1), "vendor-key"


def _is_lookup(name: str) -> bool:
    """Return whether a function looks something up by name, as `get_object` and `findById` do."""
    verbs = ("get", "put", "head", "delete", "find", "list", "fetch", "read", "has", "remove", "show", "lookup")
    return name.startswith(verbs)


def find_encoded(text: str, find: Finder) -> Iterator[Finding]:
    """Find base64 of a setting with a secret: `DB_PASSWORD=…`, a `.env`, a connection string."""
    for count, match in enumerate(_compile_pattern(_BASE64_PATTERN).finditer(text)):
        if count >= _MAX_WORDS:
            return
        said = _decode(match.group())
        if said and find(said):
            yield match.start(), match.end(), "encoded"


def _decode(word: str) -> str:
    """Decode base64; return "" unless it gives printable text."""
    import binascii

    bare = word.rstrip("=").replace("-", "+").replace("_", "/")
    try:
        raw = binascii.a2b_base64(bare + "=" * (-len(bare) % 4))
        said = raw.decode()
    except ValueError:
        return ""
    return said if all(character.isprintable() or character in "\r\n\t" for character in said) else ""


_MAX_LINES = 400
_MIN_LINE = 16
_MIN_LAST_LINE = 2
_BASE64_SIGNS = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")


def find_private_parts(plain: str, lower: str) -> Iterator[Finding]:
    """Find `<private>` up to its end tag, or to the end of the text."""
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


def find_key_ends(plain: str) -> Iterator[Finding]:
    """Find the lines of a private key whose first line was cut off."""
    closing = re.compile(r"-{2,5} ?END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)? ?-{0,5}")
    for match in closing.finditer(plain):
        start = at = match.start()
        for _ in range(_MAX_LINES):
            end = _skip_break_back(plain, at)
            at = _find_line_start(plain, end)
            if at == end:
                break
            start = at
        if start < match.start():
            yield start, match.end(), "private-key"


def _find_line_start(plain: str, end: int) -> int:
    """Return where the base64 that ends here begins, or `end`. A pattern would take quadratic time."""
    at = end
    while at > 0 and plain[at - 1] == "=":
        at -= 1
    is_padded = at < end
    while at > 0 and plain[at - 1] in _BASE64_SIGNS:
        at -= 1
    # The `n` of an escaped line break reads like the first letter of the line.
    at += at < end and plain[max(0, at - 1) : at] == "\\"
    return at if end - at >= (_MIN_LAST_LINE if is_padded else _MIN_LINE) else end


def _skip_break_back(plain: str, at: int) -> int:
    """Step back over a line break, plain or escaped, and over the prefix of a quotation or diff."""
    while at > 0:
        if plain[max(0, at - 2) : at] in ("\\n", "\\r"):
            at -= 2
        elif plain[at - 1] in " \t\r\n\"'>|,+#*":
            at -= 1
        else:
            break
    return at


def find_armoured_keys(plain: str) -> Iterator[Finding]:
    """Find PEM and PGP private keys, on many lines or on one, complete or truncated."""
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
