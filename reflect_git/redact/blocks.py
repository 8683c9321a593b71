"""Find secrets that one word does not show: split or wrapped strings, encoded settings, keys, Secret objects."""

from __future__ import annotations

import re

from reflect_git.redact.families import PASSWORDS, TOKENS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from re import Pattern
    from typing import Callable

    Finding = tuple[int, int, str]
    Finder = Callable[[str], list[Finding]]

_NEWLINE = r"(?:\r?\n|\\r?\\?n)"
# A closing quote, an operator or a line break, an opening quote of the same kind; or a backslash at the end of a line.
_JOINT = (
    r"(?P<quote>\\{0,3}[\"'`])[ \t)]{0,8}"
    r"(?:(?:\+|\.\.?|\|\||&|<>|~|\\)(?:[ \t]{0,8}[\\_]{1,2})?"
    + _NEWLINE
    + r"?|\\?"
    + _NEWLINE
    + r"[ \t]{0,80}(?:\+|\.\.?|\|\||&|<>)?)"
    r"[ \t]{0,80}[bfruL@]?(?P=quote)|(?P<call>\\{0,3}[\"'`])\)?\.(?:concat|append)\((?P=call)|"
    r"(?<=\w)(?P<next>[\"'])(?:[ \t]?|[ \t][bfru])(?P=next)(?=\w)|(?<=[^\s\\])\\\r?\n[ \t]{0,80}(?=\S)"
)
_LISTED_JOINT = r"[\"']{2}\.join\(\s{0,8}[\[(]\s{0,8}(?=[\"'])|(?P<list>\\{0,3}[\"'`])\s{0,8},\s{0,40}(?P=list)|"
_WRAPPED = (
    r"(?:[ \t]{0,200}[|│┃║])?" + _NEWLINE + r"[ \t>|*#│┃║]{0,60}([A-Za-z0-9+/=_%.-]{6,512})"
    r"(?=[\"'`,;)]{0,3}(?:[ \t]{0,200}[|│┃║]|\s*?\n|\\r?\\?n|\s{0,8}$|[\"']))"
)
# Letters beyond ASCII; the block from 2000 on has punctuation, which no name of a secret needs.
_ESCAPED = (
    r"\\{1,4}u(00[c-fC-F][0-9a-fA-F]|0[1-9a-fA-F][0-9a-fA-F]{2}|[13-9a-cA-CfF][0-9a-fA-F]{3}|[dD][0-7][0-9a-fA-F]{2})"
)
_LONGEST_RUN = 400
_AROUND = 400
_KEY = 32
_ARGUMENT = r"[\"'`]([\w+/=.~-]{10,256})[\"'`]"
_SHORTEST_CALL_KEY = 16
_SHORTEST_VENDOR_KEY = 20
_SETTING_UP = ("init", "start", "configure", "setup", "load", "client", "connect", "login", "auth", "set")
_CIPHER_KEYS = (16, 24, 32)
_CIPHERS = ("crypt", "cipher", "aes", "hmac", "fernet", "chacha")  # their keys have 16 characters and more
_CALL = r"([A-Za-z_$][\w.$:]{0,80})\s?\((?:[^()]|\(\)){0,160}$"
_SHORTEST_PIECE = 16
_MOST_WORDS = 400
_WIDEST = 1 << 16
_JWK = (
    r"(?<![\w-])\\{0,3}[\"']?(?:d|p|q|dp|dq|qi|k|r|t)\\{0,3}[\"']?"
    r"\s{0,4}[:=]\s{0,4}\\{0,3}[\"']?([A-Za-z0-9_-]{16,4096}={0,2})"
)
_KIND = r"kind\\{0,3}[\"']?\s{0,4}:\s{0,4}\\{0,3}[\"']?(?:Secret|SealedSecret)\b"
_DATA = r"(?P<indent>(?:(?<=\n)|(?<=\\n)|^)[ \t]{0,40})(?:%s):[ \t]{0,8}" + _NEWLINE
_OBJECT = "stringData|data"
_MAPS = r"(?i:api_?-?keys|secrets|tokens|credentials|passwords|app_?secrets)"
_ENTRY = r"(?P<indent>[ \t]{0,60})[\"']?[\w.-]{1,120}[\"']?:[ \t]{0,8}[\"']?([^\s\"'\\|>][^\n\"'\\]{0,4096})"
_JSON_DATA = r"(?:%s)\\{0,3}[\"']?\s{0,4}[:=]\s{0,4}\{([^{}]{1,20000})\}"
_JSON_ENTRY = r":\s{0,4}\\{0,3}[\"']([^\"'\\]{1,4096})"
_BASE64 = r"[A-Za-z0-9+/_-]{16,8192}={0,2}"


def _pattern(text: str) -> Pattern[str]:
    import re

    return re.compile(text)


def in_joined(text: str, find: Finder) -> list[Finding]:
    """Find secrets that appear once concatenated strings are joined."""
    joint = _pattern((_LISTED_JOINT if "join(" in text or "concat(" in text.lower() else "") + _JOINT)
    cuts = [match.span() for match in joint.finditer(text)]
    pieces, starts, length, last = [], [], 0, 0
    for (start, end), (following, _) in zip(cuts, [*cuts[1:], (len(text) + 2 * _AROUND, 0)]):
        # Only what is near a joint is read a second time.
        last = max(last, start - _AROUND)
        stop = end if following - end < 2 * _AROUND else min(len(text), end + _AROUND)
        for begin, finish, rest in ((last, start, ""), (end, stop, "\n\n")):
            pieces.append(text[begin:finish] + rest)
            starts.append((length, begin))
            length += finish - begin + len(rest)
            if stop == end:
                break
        last = stop
    return _original(find("".join(pieces)), starts) if cuts else []


def in_unescaped(text: str, find: Finder) -> list[Finding]:
    """Find secrets that words in another script announce where JSON writes these words as `\\u043f…`."""
    pieces, starts, length, last = [], [], 0, 0
    for match in _pattern(_ESCAPED).finditer(text):
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
    if not any(noun.replace("_", " ") in lower for noun in (*PASSWORDS, *TOKENS) if not noun.isascii()):
        return []
    return _original(find(read), [*starts, (length, last)])


def _original(found: list[Finding], starts: list[tuple[int, int]]) -> list[Finding]:
    """Map findings in a shortened text to places in the original text."""
    from bisect import bisect_right

    shortened = [start for start, _ in starts]

    def place(at: int) -> int:
        short, full = starts[bisect_right(shortened, at) - 1]
        return full + at - short

    return [(place(start), place(end - 1) + 1, kind) for start, end, kind in found if start < end]


def with_wrapped_lines(text: str, found: list[Finding]) -> list[Finding]:
    """Add the following lines of a long secret that a terminal, a mail program or YAML wrapped."""
    from reflect_git.redact.heuristics import strong

    wrapped, longer = _pattern(_WRAPPED), []
    for start, end, kind in found:
        for _ in range(_LONGEST_RUN):
            match = wrapped.match(text, end) if end - start >= _SHORTEST_PIECE else None
            if not match or not (strong(match.group(1)) or match.group(1).endswith("=")):
                break
            longer.append((start, match.end(1), kind))
            end = match.end(1)
    return longer


def key_members(text: str) -> Iterator[Finding]:
    """Find the private members of JSON Web Keys: the objects with a `kty` in them."""
    for match in _pattern(_JWK).finditer(text):
        around = text[max(0, match.start() - 8192) : match.end() + 8192]
        if "kty" in around:
            yield match.start(1), match.end(1), "private-key"


def secret_objects(text: str) -> Iterator[Finding]:
    """Find every value in the data of a Kubernetes Secret, and random values in maps like `secrets` or `apiKeys`."""
    from reflect_git.redact.heuristics import dummy, lone, marked

    if _pattern(_KIND).search(text):
        yield from _values(text, _OBJECT, lambda value: not dummy(value))
    yield from _values(text, _MAPS, lambda value: lone(value) or marked(value))


def _values(text: str, names: str, holds: Callable[[str], bool]) -> Iterator[Finding]:
    """Find the values in maps with one of these names, as YAML and as JSON."""
    for block in _pattern(_JSON_DATA % names).finditer(text):
        for match in _pattern(_JSON_ENTRY).finditer(text, *block.span(1)):
            if holds(match.group(1)):
                yield match.start(1), match.end(1), "secret"
    entry, newline = _pattern(_ENTRY), _pattern(_NEWLINE)
    for block in _pattern(_DATA % names).finditer(text):
        at, depth = block.end(), len(block.group("indent"))
        while at < len(text):
            line = entry.match(text, at)
            if line and len(line.group("indent")) <= depth:
                break
            if line and holds(line.group(2).strip()):
                yield line.start(2), line.end(2), "secret"
            end = newline.search(text, at, at + _WIDEST)
            if not end:
                break
            at = end.end()


def call_arguments(text: str) -> Iterator[Finding]:
    """Find keys passed to a function that takes one: `Client("…")`, `mixpanel.init("…")`."""
    from reflect_git.redact.heuristics import (
        CALLEES,
        NAMING_CALLEES,
        VENDORS,
        digest_like,
        is_mixed,
        keyed,
        strict,
        strong,
    )

    call = _pattern(_CALL)
    for match in _pattern(_ARGUMENT).finditer(text):
        value = match.group(1)
        head = call.search(text, max(0, match.start() - 240), match.start()) if strong(value) else None
        if not head:
            continue
        name = head.group(1).replace(":", ".").rpartition(".")[2]
        if len(value) < _SHORTEST_CALL_KEY or (len(value) < _SHORTEST_VENDOR_KEY and digest_like(value)):
            is_set_up = name[:1].isupper() or name.lower().startswith((*_SETTING_UP, *VENDORS))
            is_vendor = is_set_up and any(part in head.group(1).lower() for part in VENDORS)
            is_positional = text[max(0, match.start() - 40) : match.start()].rstrip()[-1:] in ("(", ",")
            if is_vendor and is_positional and digest_like(value) and value.isalnum() and not value.isdigit():
                yield match.start(1), match.end(1), "vendor-key"
            continue
        is_cipher = any(part in head.group(1).lower() for part in _CIPHERS)
        is_drawn = is_mixed(value) and not value.isalpha() and value.isalnum() and not digest_like(value)
        is_vendor = any(part in head.group(1).lower() for part in CALLEES)
        is_long = len(value) >= _SHORTEST_VENDOR_KEY or (is_vendor and strict(value))
        if not is_cipher and not (is_long and (keyed(value) or is_drawn)):
            continue
        # Commits have 40 digits and checksums 64; keys of vendors often have 32.
        is_class = name[:1].isupper() and strict(value) and (len(value) == _KEY or not digest_like(value))
        is_taker = is_vendor or is_class or is_drawn or (is_cipher and len(value) in _CIPHER_KEYS and value.isalnum())
        if is_taker and not name.lower().endswith(NAMING_CALLEES) and not _reads(name.lower()):
            yield match.start(1), match.end(1), "vendor-key"


def _reads(name: str) -> bool:
    """Return whether a function looks something up by name, as `get_object` and `findById` do."""
    verbs = ("get", "put", "head", "delete", "find", "list", "fetch", "read", "has", "remove", "show", "lookup")
    return name.startswith(verbs)


def encoded(text: str, find: Finder) -> Iterator[Finding]:
    """Find base64 of a setting with a secret: `DB_PASSWORD=…`, a `.env`, a connection string."""
    for count, match in enumerate(_pattern(_BASE64).finditer(text)):
        if count >= _MOST_WORDS:
            return
        said = _decoded(match.group())
        if said and find(said):
            yield match.start(), match.end(), "encoded"


def _decoded(word: str) -> str:
    """Decode base64; return "" unless it gives printable text."""
    import binascii

    bare = word.rstrip("=").replace("-", "+").replace("_", "/")
    try:
        raw = binascii.a2b_base64(bare + "=" * (-len(bare) % 4))
        said = raw.decode()
    except ValueError:
        return ""
    return said if all(character.isprintable() or character in "\r\n\t" for character in said) else ""


_MOST_LINES = 400
_SHORTEST_LINE = 16
_SHORTEST_END = 2
_ARMOUR_BASE64 = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")


def private_parts(plain: str, lower: str) -> Iterator[Finding]:
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


def ends_of_keys(plain: str) -> Iterator[Finding]:
    """Find the lines of a private key whose first line was cut off."""
    closing = re.compile(r"-{2,5} ?END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)? ?-{0,5}")
    for match in closing.finditer(plain):
        start = at = match.start()
        for _ in range(_MOST_LINES):
            end = _before_break(plain, at)
            at = _begin_of_line(plain, end)
            if at == end:
                break
            start = at
        if start < match.start():
            yield start, match.end(), "private-key"


def _begin_of_line(plain: str, end: int) -> int:
    """Return where the base64 that ends here begins, or `end`. A pattern would take quadratic time."""
    at = end
    while at > 0 and plain[at - 1] == "=":
        at -= 1
    is_padded = at < end
    while at > 0 and plain[at - 1] in _ARMOUR_BASE64:
        at -= 1
    # The `n` of an escaped line break reads like the first letter of the line.
    at += at < end and plain[max(0, at - 1) : at] == "\\"
    return at if end - at >= (_SHORTEST_END if is_padded else _SHORTEST_LINE) else end


def _before_break(plain: str, at: int) -> int:
    """Step back over a line break, plain or escaped, and over the prefix of a quotation or diff."""
    while at > 0:
        if plain[max(0, at - 2) : at] in ("\\n", "\\r"):
            at -= 2
        elif plain[at - 1] in " \t\r\n\"'>|,+#*":
            at -= 1
        else:
            break
    return at


def armoured_keys(plain: str) -> Iterator[Finding]:
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
