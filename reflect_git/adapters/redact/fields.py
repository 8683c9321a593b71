"""Secrets that only their name gives away: `DB_PASSWORD=…`, `--token …`, "the password is …"."""

from __future__ import annotations

from reflect_git.adapters.redact.families import ASSIGNED, PASSWORDS, SHORT_PASSWORDS, SPOKEN, TOKENS
from reflect_git.adapters.redact.looks import chosen, digest_like, dummy, spoken, strict, strong
from reflect_git.adapters.redact.tables import BARS, below
from reflect_git.adapters.redact.words import (
    BACKWARD,
    COPULAS,
    HARMLESS_KEYS,
    HARMLESS_TAILS,
    HARMLESS_TOKENS,
    PURPOSES,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from re import Match, Pattern
    from typing import Optional

    Span = tuple[int, int]

# The rest of the name, what closes it, the sign, what opens the value.
_SIGN = (
    r"([\w-]{0,40})([\\\"'`\]\)*}]{0,6})\s{0,4}"
    r"(\{[^{}]{0,200}?\sdefault\s{0,8}=|"
    r",?\s{0,60}[\"']?[vV]alue[\"']?\s{0,4}[:=]|</\w{1,12}>\s{0,20}<\w{1,12}>|=>|->|:=|==?|[:>,]|：|＝)(?:\*\*)?\s{0,12}"
    r"(?:{\s{0,4}\"value\":\s{0,4}|[bfrNu@](?=[\"'])"
    r"|(?:(?:new )?(?:String::from|std::string|Some|Secret\w{0,8}(?:::\w{1,8})?)\(){1,3}(?=[\"']))?"
    r"(\\{0,3}[\"'`]|)"
)
_BARE = r"[^\s\"'`<>;,&=()\\]+={0,2}"
_LINE = r"[^\s\"'`]+"
_WRAP = "\"'`()[]{}<>,.;:“”„«»‘’"
_REACH = 160
_WIDEST = 4096
_SHORT = ("pw", "mdp", "clave")
_GLUED = ("pass", "pw")
_OTHER_PASSES = ("by", "com", "sur", "tres", "under", "over")
_MANY = 2000
_NOWHERE = 1 << 62
_LONGEST_WORD = 600
_MANY_ROWS = 5000
_CHECKSUM = 32


def fields(text: str, norm: str, nouns: list[str]) -> Iterator[Span]:
    """Every secret in `text` that one of `nouns` announces. `norm` is the text as nouns are written, just as long."""
    places = dict.fromkeys(sorted(nouns, key=len, reverse=True), -1)
    found, count, rows = _next(norm, places, 0), 0, 0
    is_drawn = any(bar in text for bar in BARS)
    while found:
        start, end = found
        whole = _whole(text, norm, start, end)
        count += whole
        if not whole:  # another may begin within it: the `otp` in ROOTPW
            end = start + 1
        for row in _listed(text, norm, start, end) if whole and is_drawn else ():
            yield from row
            rows += 1
            if rows > _MANY_ROWS:
                break
        # Nobody writes so; reading on would take seconds, and what is not read must not stay.
        if count > _MANY or rows > _MANY_ROWS:
            yield start, len(text)
            return
        span = _field(text, norm, start, end) if whole else None
        while span and span[0] < span[1]:
            yield span
            end = max(end, span[1])
            span = _said(text, norm[start : found[1]], end, False)
        found = _next(norm, places, end)


def _next(norm: str, places: dict[str, int], at: int) -> Optional[Span]:
    """The first noun from `at` on, the longest of those that begin there; `places` remembers where each comes next."""
    best: Optional[Span] = None
    for noun, place in places.items():
        if place < at:
            place = norm.find(noun, at)
            places[noun] = place = _NOWHERE if place < 0 else place
        if place < (best[0] if best else _NOWHERE):
            best = place, place + len(noun)
    return best


def _pattern(text: str) -> Pattern[str]:
    import re  # 8 ms: most texts with `passed` or `unexpected token` in them need none

    return re.compile(text)


def _whole(text: str, norm: str, start: int, end: int) -> bool:
    """Not the name of a mask; and a short noun has to be a word: not `bypass`, but `dbPass` and `SMTP_PASS`."""
    before = norm[max(0, start - 20) : start]
    if "[redacted:" in before and "]" not in before.rpartition("[redacted:")[2]:
        return False
    if norm[start:end] not in ASSIGNED:
        return True
    if norm[start] == "_":
        return text[start] in "_-" and not norm[end : end + 1].isalpha()
    head = start == 0 or not norm[start - 1].isalpha() or (text[start].isupper() and text[start - 1].islower())
    return (head or _is_glued(norm, start, end)) and not norm[end : end + 1].isalpha()


def _is_glued(norm: str, start: int, end: int) -> bool:
    """`SSHPASS=…`, `--dbpass=…`, but not `compass=…`: written together with what it is the password of."""
    return norm[end : end + 1] == "=" and norm[start:end] in _GLUED and not norm.endswith(_OTHER_PASSES, 0, start)


def _field(text: str, norm: str, start: int, end: int) -> Optional[Span]:
    noun = norm[start:end]
    if _has_harmless_head(norm, start, end):
        return None
    return (
        _assigned(text, norm, start, end)
        or _flagged(text, start, end)
        or _inside(text, noun, end)
        or _said(text, noun, end, True)
        or _said_before(text, start, noun)
    )


def _has_harmless_head(norm: str, start: int, end: int) -> bool:
    """What comes before it says that it is none: a public key, a page token."""
    noun = norm[start:end]
    heads = HARMLESS_KEYS if noun.endswith("key") else HARMLESS_TOKENS if noun == "token" else ()
    return norm[max(0, start - 16) : start].rstrip("_").endswith(heads)


def _has_harmless_tail(tail: str) -> bool:
    return tail.lower().lstrip("s_-").startswith(HARMLESS_TAILS) or tail.lower().lstrip("_-").startswith(HARMLESS_TAILS)


def _assigned(text: str, norm: str, start: int, end: int) -> Optional[Span]:
    """The value behind a sign; an empty span if one stands there that is no secret."""
    sign = _pattern(_SIGN).match(text, end)
    if not sign:
        return None
    quote = sign.group(4)
    if sign.group(3) == "," and not (quote and sign.group(2)):
        return None
    exported = not quote and sign.group(3) == "=" and text[start:end].isupper()
    begin, stop = sign.end(), _value_end(text, sign.end(), quote, exported)
    plain = bool(quote) or exported or _is_flag(norm, start)
    value = text[begin:stop]
    if value and not quote and text[stop : stop + 1] == "(":  # a call
        return end, end
    if _kept(value, norm[start:end], plain, sign.group(1)):
        return begin, stop
    is_open = norm[start:end] in SPOKEN or (value.isalpha() and not quote and sign.group(3) == ":")
    return None if is_open else (end, end)


def _value_end(text: str, begin: int, quote: str, exported: bool) -> int:
    if not quote:
        match = _pattern(_LINE if exported else _BARE).match(text, begin, begin + _WIDEST)
        return match.end() if match else begin
    stop = text.find(quote, begin, begin + _WIDEST)
    line = text.find("\n", begin, begin + _WIDEST)
    stop = stop if stop >= 0 else min(len(text), begin + _WIDEST)
    return min(stop, line) if line >= 0 else stop


def _kept(value: str, noun: str, plain: bool, tail: str) -> bool:
    """Whether what stands behind a name and a sign is its value, and not a type, a variable or a call."""
    if dummy(value):
        return False
    if noun in ASSIGNED and noun not in SHORT_PASSWORDS:
        return strict(value)
    if _has_harmless_tail(tail) or tail.lower() in ("s", "id", "_id", "-id"):
        return strict(value) and not (_has_harmless_tail(tail) and (":" in value or digest_like(value)))
    words = value[:_LONGEST_WORD].split()
    if len(words) > 1:
        return any(spoken(word) for word in words)
    return strong(value) or _weak(value, noun, plain)


def _weak(value: str, noun: str, plain: bool) -> bool:
    """Passwords that people choose: 4921, hunter2, or one long word where nothing but a value can stand."""
    if noun not in PASSWORDS and noun not in SHORT_PASSWORDS:
        return plain and len(value) >= 16 and value.isalnum() and not value.isalpha()
    if value.isdigit():
        return len(value) >= 4
    if "-" in value and len(value) >= 10 and value[-1].isdigit() and value.replace("-", "").isalnum():
        return True  # quartz-lantern-81: a name in other places, here somebody's password
    if not value.isalnum() or len(value) < 6:
        return False
    return not value.isalpha() or (plain and value.islower() and len(value) >= 8 and noun not in value)


def _is_flag(norm: str, start: int) -> bool:
    """`--db-password`: dashes are underscores here."""
    head = norm[max(0, start - 40) : start]
    word = head[len(head.rstrip("abcdefghijklmnopqrstuvwxyz0123456789_")) :]
    alone = len(head) > len(word) and not head[-len(word) - 1].isalnum()
    return word.startswith("__") or (word.startswith("_") and alone)


def _flagged(text: str, start: int, end: int) -> Optional[Span]:
    """`--password hunter`: the dashes say that the next word is the value."""
    if text[max(0, start - 40) : start].rpartition(" ")[2][:1] != "-":
        return None
    match = _pattern(r"([\w-]{0,40}) {1,4}(\\{0,3}[\"'`]|)").match(text, end)
    if not match or _has_harmless_tail(match.group(1)):
        return None
    begin, stop = match.end(), _value_end(text, match.end(), match.group(2), True)
    value = text[begin:stop]
    taken = not dummy(value) and value[:1] not in "-|<>&" and len(value) >= 3 and not value.isdigit()
    return (begin, stop) if (taken and "/" not in value) or strong(value) else None


def _inside(text: str, noun: str, end: int) -> Optional[Span]:
    """A secret that is part of a name itself: `notes-password-….txt`."""
    match = _pattern(r"[_=+/-]([^\s/\\\"'`<>;,()=:]{10,80})").match(text, end)
    if not match or noun in ASSIGNED:  # `Pw/` stands in every other base64 text
        return None
    stem = match.group(1)
    if stem[-5:].rpartition(".")[1]:
        stem = stem.rpartition(".")[0]
    checksum = stem.rpartition("#")[2]
    if "_" in stem or (stem != checksum and len(checksum) >= _CHECKSUM and digest_like(checksum)):  # of an archive
        return None
    return (match.start(1), match.start(1) + len(stem)) if strict(stem) else None


def _listed(text: str, norm: str, start: int, end: int) -> Iterator[list[Span]]:
    """What stands below the noun in a table, row by row."""
    noun = norm[start:end]
    if noun in SPOKEN or (noun in ASSIGNED and noun not in _SHORT) or _has_harmless_head(norm, start, end):
        return
    for cell in below(text, start, end):
        spans = [_unwrap(text, *match.span()) for match in _pattern(r"\S+").finditer(text, *cell)]
        words = [text[slice(*span)] for span in spans]
        # A password comes first in its cell; what is beyond doubt stands anywhere.
        first = bool(words) and noun not in TOKENS and _told(words[0], True, True)
        yield [span for at, span in enumerate(spans) if strict(words[at]) or (first and not at)]


def _said(text: str, noun: str, end: int, near: bool) -> Optional[Span]:
    """The first word behind the noun, in its sentence, that looks like one: at once or behind a verb less is enough."""
    aside = text[end : end + 2] == ", " and noun in PASSWORDS  # the password, …, is old: only what is beyond doubt
    if (noun in ASSIGNED and noun not in _SHORT) or (text[end : end + 1] in tuple("_-=[.,<{/") and not aside):
        return None
    glued = text[end : end + 1].isalnum() and text[end].isascii()
    near = near and not glued and not aside and noun not in SPOKEN
    for place, match in enumerate(_words(text, end)):
        begin, stop = _unwrap(text, match.start(), match.end())
        word = text[begin:stop]
        if place and any(name in word.lower() for name in ("passw", "token", "secret")):
            return None
        near = near or match.group()[0] in "`\"'“„«"
        if (place or not glued) and _told(word, near, 0 < place < 5 and noun in PASSWORDS):
            return begin, stop
        near = _leads(match.group(), word, noun)
        if place > 9 or match.group()[-1] in ".?!;":
            return None
    return None


def _leads(raw: str, word: str, noun: str) -> bool:
    """Whether the next word is what the noun is said to be."""
    if noun in SPOKEN:
        return raw in ("/", "are", ":")
    return not word or raw.lower() in COPULAS or raw[-1] in ":=："


def _told(word: str, near: bool, certain: bool) -> bool:
    if not word.isascii():
        return False
    if not near:
        return strict(word) and not digest_like(word)
    return spoken(word) or (certain and (chosen(word) or (word.isdigit() and 4 <= len(word) <= 12)))


def _words(text: str, start: int) -> Iterator[Match[str]]:
    """What stands in reach on the same line, as it is and as JSON writes it."""
    limit = start + _REACH
    ends = [end for end in (text.find("\n", start, limit), text.find("\\n", start, limit)) if end >= 0]
    # The last word may reach over the limit: half a secret is still one.
    for match in _pattern(rf"\S{{1,{_LONGEST_WORD}}}").finditer(text, start, min(ends or [limit + _LONGEST_WORD])):
        if match.start() > limit:
            return
        yield match


def _unwrap(text: str, start: int, end: int) -> Span:
    """Without quotes, brackets and stops, and without a word of another script that is written together with it."""
    while start < end and (text[start] in _WRAP or ord(text[start]) > 127):
        start += 1
    while start < end and (text[end - 1] in _WRAP or ord(text[end - 1]) > 127 or text[end - 2 : end] == "**"):
        end -= 1
    return start, end


def _said_before(text: str, start: int, noun: str) -> Optional[Span]:
    """`… is the password`; `… for the password` only of what no product is called."""
    if noun in ASSIGNED:
        return None
    enough = strict if noun in SPOKEN else spoken
    words = list(_pattern(r"\S+").finditer(text, max(0, start - 100), start))[-6:]
    for left, verb in zip(words, words[1:]):
        begin, stop = _unwrap(text, left.start(), left.end())
        word, link = text[begin:stop], verb.group().lower()
        said = (link in BACKWARD and enough(word)) or (link in PURPOSES and _drawn(word))
        if said and word.isascii():
            return _whole_word(text, begin), stop
    return None


def _drawn(word: str) -> bool:
    """Beyond doubt, and with a digit in it: PostgreSQL and GraphQL-API have capitals enough."""
    return any(map(str.isdigit, word)) and strict(word)


def _whole_word(text: str, begin: int) -> int:
    while begin > 0 and not text[begin - 1].isspace() and text[begin - 1] not in _WRAP:
        begin -= 1
    return begin
