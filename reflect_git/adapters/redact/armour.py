"""Find what a first and a last mark enclose: `<private>` parts and private keys in armour."""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    Finding = tuple[int, int, str]

_MOST_LINES = 400
_SHORTEST_LINE = 16
_SHORTEST_END = 2
_BASE64 = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")


def private_parts(plain: str, lower: str) -> Iterator[Finding]:
    """`<private>` up to its end, or the end of the text."""
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
    """Find the lines of a private key before its last one, where its first one was cut off."""
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
    """Return where the base64 that ends here begins; `end` if that is none. A loop: a pattern would be quadratic."""
    at = end
    while at > 0 and plain[at - 1] == "=":
        at -= 1
    is_padded = at < end
    while at > 0 and plain[at - 1] in _BASE64:
        at -= 1
    # The `n` of an escaped line break reads like the first letter of the line.
    at += at < end and plain[max(0, at - 1) : at] == "\\"
    return at if end - at >= (_SHORTEST_END if is_padded else _SHORTEST_LINE) else end


def _before_break(plain: str, at: int) -> int:
    """Step back over a line break, as it is or escaped, and over what a quotation or a diff puts around it."""
    while at > 0:
        if plain[max(0, at - 2) : at] in ("\\n", "\\r"):
            at -= 2
        elif plain[at - 1] in " \t\r\n\"'>|,+#*":
            at -= 1
        else:
            break
    return at


def armoured_keys(plain: str) -> Iterator[Finding]:
    """Private keys in armour, on many lines or on one, closed or cut off."""
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
