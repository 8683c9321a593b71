"""Find secrets that one word does not show: split or wrapped strings, encoded settings, keys and Secret objects."""

from __future__ import annotations

from reflect_git.adapters.redact.families import PASSWORDS, TOKENS

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
    r"(?:(?:\+|\.\.?|\|\||&|<>|~|\\)(?:[ \t]{0,8}[\\_])?"
    + _NEWLINE
    + r"?|"
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
_ARGUMENT = r"[\"'`]([\w+/=.~-]{16,256})[\"'`]"
_SHORTEST_VENDOR_KEY = 20
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
    """Find secrets in the text as it reads once its concatenated strings are put together."""
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
    """Map findings in a shortened text to the places in the text that it was made from."""
    from bisect import bisect_right

    shortened = [start for start, _ in starts]

    def place(at: int) -> int:
        short, full = starts[bisect_right(shortened, at) - 1]
        return full + at - short

    return [(place(start), place(end - 1) + 1, kind) for start, end, kind in found if start < end]


def with_wrapped_lines(text: str, found: list[Finding]) -> list[Finding]:
    """Add the lines that a long secret goes on in: a terminal, a mail program or YAML broke it."""
    from reflect_git.adapters.redact.looks import strong

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
    """Find every value in the data of a Kubernetes Secret, and drawn values in maps called `secrets` or `apiKeys`."""
    from reflect_git.adapters.redact.looks import dummy, lone, marked

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
    """Find keys that are passed to what takes one: `Client("…")`, `mixpanel.init("…")`."""
    from reflect_git.adapters.redact.looks import digest_like, keyed, strict, strong
    from reflect_git.adapters.redact.words import CALLEES, NAMING_CALLEES

    call = _pattern(_CALL)
    for match in _pattern(_ARGUMENT).finditer(text):
        value = match.group(1)
        head = call.search(text, max(0, match.start() - 240), match.start()) if strong(value) else None
        if not head:
            continue
        name = head.group(1).replace(":", ".").rpartition(".")[2]
        is_cipher = any(part in head.group(1).lower() for part in _CIPHERS)
        if not is_cipher and (len(value) < _SHORTEST_VENDOR_KEY or not keyed(value)):
            continue
        is_vendor = any(part in head.group(1).lower() for part in CALLEES)
        # Commits have 40 digits and checksums 64; keys of vendors often have 32.
        is_class = name[:1].isupper() and strict(value) and (len(value) == _KEY or not digest_like(value))
        is_taker = is_vendor or is_class or (is_cipher and len(value) in _CIPHER_KEYS and value.isalnum())
        if is_taker and not name.lower().endswith(NAMING_CALLEES) and not _reads(name.lower()):
            yield match.start(1), match.end(1), "vendor-key"


def _reads(name: str) -> bool:
    """Tell whether a function looks something up by a name, as `get_object` and `findById` do."""
    verbs = ("get", "put", "head", "delete", "find", "list", "fetch", "read", "has", "remove", "show", "lookup")
    return name.startswith(verbs)


def encoded(text: str, find: Finder) -> Iterator[Finding]:
    """Find base64 that holds a setting with a secret in it: `DB_PASSWORD=…`, a `.env`, a connection string."""
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
