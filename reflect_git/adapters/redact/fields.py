"""Secrets that only their name gives away: `DB_PASSWORD=…`, `--token …`, "the password is …"."""

from __future__ import annotations

from reflect_git.adapters.redact.families import ASSIGNED, PASSWORDS, SHORT_PASSWORDS, SPOKEN, TOKENS
from reflect_git.adapters.redact.looks import (
    digest_like,
    dummy,
    keyed,
    lone,
    marked,
    marked_or_typed,
    noisy,
    phrase,
    spoken,
    strict,
    strong,
    typed,
)
from reflect_git.adapters.redact.prose import SHORT, find_phrase, on_next_line, pattern, said, said_before, told, unwrap
from reflect_git.adapters.redact.tables import BARS, below, inserted, separated
from reflect_git.adapters.redact.words import HARMLESS_KEYS, HARMLESS_TAILS, HARMLESS_TOKENS, REFERENCES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Optional

    Span = tuple[int, int]

# The rest of the name, what closes it, the sign, what opens the value.
_SIGN = (
    r"([\w-]{0,40})(?:\[[\w.-]{0,40}\])?((?:[\\\"'`\]\)*}]|%2[27]|&quot;|&#3[49];|\\u002[27]){0,6})\s{0,4}"
    r"(\{[^{}]{0,200}?\sdefault\s{0,8}=|"
    r",?\s{0,60}[\"']?[vV]alue[\"']?\s{0,4}[:=]|(?:</\w{1,12}>|/?>)\s{0,20}<\w{1,12}>"
    r"|:\s?[&'\w<>\[\]. |?]{1,40}=(?=\s{0,4}[bfruN@]?[\"'`])"
    r"|,\s{0,8}default\s{0,4}=(?=\s{0,4}[\"'])|(?:\|\||\?\?)=?(?=\s{0,4}[\"'`])|\.(?i:to_?(?:be|(?:strict_?)?equal)|equals?|is_?equal_?to|eq|should_?(?:eq|be|equal)\w{0,4})\((?=\s{0,4}[\"'`])|:-|=>|->|:=|==?|%3[AaDd]|&#61;|\\u003[dD]|[:>,]|：|＝)"
    r"(?:\*\*)?\s{0,12}(?:(?:!{1,2}(?:unsafe|str|string|binary|raw)|&[\w-]{1,40})[ \t]{1,4}){0,2}"
    r"(?:[|>][+-]?[ \t]{0,8}(?:\n|\\n)\s{0,40}|[\[(]\s{0,40}(?=[\"']))?"
    r"(?:{\s{0,4}\"value\":\s{0,4}|[bfrNu@](?=[\"'])"
    r"|(?:(?:new )?(?:String::from|std::string|Some|Secret\w{0,8}(?:::\w{1,8})?)\(){1,3}(?=[\"']))?"
    r"(\\{0,3}[\"'`]|%2[27]|&quot;|&#3[49];|\\u002[27]|[“„«「『]|)"
)
_CLOSING = {"“": "”", "„": "“", "«": "»", "「": "」", "『": "』"}
_ENCODED_ENDS = r"%(?:26|22|27|20|0[AaDd]|3[Bb]|2[Cc]|7[Dd])|&amp;|\\u0026"
_BARE = r"[^\s\"'`<>;,&=()\\]+={0,2}"
_LINE = r"[^\s\"'`]+"
_LOOKUP = r"[A-Za-z_$][\w.$]{0,80}\[(?:[\w:.-]{1,40}\][\w.]{0,40})?"  # request.POST["…"], params[:password]
_WIDEST = 4096
_GLUED = ("pass", "pw")
_OTHER_PASSES = ("by", "com", "sur", "tres", "under", "over")
_MANY = 2000
_NOWHERE = 1 << 62
_LONGEST_WORD = 600
_MANY_ROWS = 5000
_CHECKSUM = 32
_SHORTEST = 6


def fields(text: str, norm: str, nouns: list[str]) -> Iterator[Span]:
    """Every secret in `text` that one of `nouns` announces. `norm` is the text as nouns are written, just as long."""
    places = dict.fromkeys(sorted(nouns, key=len, reverse=True), -1)
    found, count, rows = _next(norm, places, 0), 0, 0
    is_drawn = any(bar in text for bar in BARS) or ("insert_into" in norm and "values" in norm)
    is_drawn = is_drawn or (("," in text or ";" in text or "\t" in text) and ("\n" in text or "\\n" in text))
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
            span = said(text, norm[start : found[1]], end, False)
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
    if _has_harmless_head(text, norm, start, end) or _is_reference(text, start):
        return None
    return (
        _assigned(text, norm, start, end)
        or _flagged(text, start, end)
        or _inside(text, noun, end)
        or said(text, noun, end, True)
        or said_before(text, start, noun)
        or on_next_line(text, noun, end)
    )


def _has_harmless_head(text: str, norm: str, start: int, end: int) -> bool:
    """What comes before it says that it is none: a public key, a page token; but not in `String token = "…"`."""
    noun = norm[start:end]
    heads = HARMLESS_KEYS if noun.endswith("key") else HARMLESS_TOKENS if noun == "token" else ()
    if not norm[max(0, start - 16) : start].rstrip("_").endswith(heads):
        return False
    return text[start - 1] != " " or not pattern(r"\w{0,40} ?(?:: ?\w{1,20} ?)?:?= ?[\"'`]").match(text, end)


def _is_reference(text: str, start: int) -> bool:
    """Tell whether the noun is part of the address of a secret: an ARN, a path in a vault."""
    head = text[max(0, start - 200) : start]
    word = head[max(head.rfind(stop) for stop in " \t\n\"'`=,;(<>") + 1 :].lower()
    return any(part in word for part in REFERENCES)


def _has_harmless_tail(tail: str) -> bool:
    return tail.lower().lstrip("s_-").startswith(HARMLESS_TAILS) or tail.lower().lstrip("_-").startswith(HARMLESS_TAILS)


def _assigned(text: str, norm: str, start: int, end: int) -> Optional[Span]:
    """The value behind a sign; an empty span if one stands there that is no secret."""
    sign = pattern(_SIGN).match(text, end)
    if not sign:
        return None
    quote = sign.group(4)
    if sign.group(3) == "," and not (quote and sign.group(2)):
        return None
    if sign.group(3) == ":" and _is_property(text, start):
        return end, end
    exported = not quote and sign.group(3) == "=" and text[start:end].isupper()
    begin, stop = sign.end(), _value_end(text, sign.end(), quote, exported)
    plain = bool(quote) or exported or _is_flag(text, start)
    if sign.group(3) == "=" and _is_connection(text, start, stop) and text[begin:stop].isalpha():
        return (end, end) if dummy(text[begin:stop]) or stop - begin < _SHORTEST else (begin, stop)
    value = text[begin:stop]
    if exported and value.endswith("("):
        value, stop = value[:-1], stop - 1
    if value and not quote and (text[stop : stop + 1] == "(" or pattern(_LOOKUP).fullmatch(value)):  # a call
        return _argument(text, value, stop) or (end, end)
    if value[:1] in ("$", "{"):  # "${prefix}…": what follows a variable may be the secret
        named = pattern(r"(?:\$?\{{1,2}[^{}]{0,80}\}{1,2})+").match(value)
        begin += named.end() if named and marked_or_typed(value[named.end() :]) else 0
        value = text[begin:stop]
    if "\\u" in value:  # letters of another script, as JSON writes them
        value = pattern(r"\\+u[0-9a-fA-F]{4}").sub("é", value)
    if (quote or exported) and noisy(value) and not _has_harmless_tail(sign.group(1)):
        return begin, stop
    words = find_phrase(text, begin, norm[start:end], False)
    if words:
        return words
    if _kept(value, norm[start:end], plain, sign.group(1)):
        return begin, stop
    is_open = norm[start:end] in SPOKEN or (value.isalpha() and not quote and sign.group(3) == ":")
    return None if is_open else (end, end)


def _is_connection(text: str, start: int, stop: int) -> bool:
    """Tell whether this is one of the settings in `Server=…;User Id=…;Password=…;`: only values stand there."""
    before = text[max(0, start - 60) : start].rstrip()
    return before[-1:] == ";" and "=" in before and text[stop : stop + 1] in ("", ";", '"', "'", "\n", "<", "\\")


def _argument(text: str, callee: str, stop: int) -> Optional[Span]:
    """Find a password that is given to a function as it is, or taken instead: `crypt('…')`, `input() or '…'`."""
    instead = pattern(r"[^\n]{0,120}?(?:\bor|\|\||\?\?|\belse)\s{0,4}[bfruN@]?([\"'`])([^\"'`\n]{6,200})\1").match(
        text, stop
    )
    if instead and (strong(instead.group(2)) or typed(instead.group(2)) or noisy(instead.group(2))):
        return instead.span(2)
    match = pattern(r"\(\s{0,8}[bfruN@]?([\"'`])([^\"'`\n]{1,200})\1").match(text, stop)
    if not match:
        return None
    value, name = match.group(2), callee.lower()
    is_given = any(part in name for part in ("crypt", "hash", "encode", "secret", "passw", "hmac", "securestring"))
    return match.span(2) if marked(value) or lone(value) or (is_given and typed(value)) else None


def _is_property(text: str, start: int) -> bool:
    """Tell whether the noun is in the name of a CSS property (`--token-color:`): no option is followed by a colon."""
    head = text[max(0, start - 60) : start]
    return head[max(head.rfind(stop) for stop in " \t\n;{\"'") + 1 :].startswith("--")


def _value_end(text: str, begin: int, quote: str, exported: bool) -> int:
    if not quote:
        match = pattern(_LINE if exported else _BARE).match(text, begin, begin + _WIDEST)
        if not match:
            return begin
        cut = pattern(_ENCODED_ENDS).search(text, begin, match.end()) if "%" in text[begin - 6 : begin] else None
        return cut.start() if cut else match.end()
    stop = text.find(_CLOSING.get(quote, quote), begin, begin + _WIDEST)
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
        return strict(value) and not (tail != "s" and (":" in value or digest_like(value)))
    words = value[:_LONGEST_WORD].split()
    if len(words) > 1:
        return any(spoken(word) for word in words) or (plain and noun in PASSWORDS and phrase(words))
    return strong(value) or _weak(value, noun, plain)


def _weak(value: str, noun: str, plain: bool) -> bool:
    """Passwords that people choose: 4921, hunter2, or one long word where nothing but a value can stand."""
    if noun == "secret" and plain and len(value) >= 8 and typed(value) and noun not in value:
        return True
    if marked(value) and not (value[-1] == "!" and "." in value):  # user.token! is code
        return True
    if noun not in PASSWORDS and noun not in SHORT_PASSWORDS:
        is_seed = noun == "secret" or noun.endswith("seed")
        if is_seed and len(value) >= 16 and value.isupper() and value.isalnum():  # of an authenticator
            return True
        return len(value) >= 16 and value.isalnum() and not value.isalpha() and (plain or value.isdigit())
    if value.isdigit():
        return len(value) >= 4
    if "-" in value and len(value) >= 10 and value[-1].isdigit() and value.replace("-", "").isalnum():
        return True  # quartz-lantern-81: a name in other places, here somebody's password
    if (typed(value) and not value.isidentifier()) or (plain and _is_exclaimed(value)):
        return True
    if not value.isalnum() or len(value) < 6:
        return False
    return not value.isalpha() or (plain and value.islower() and len(value) >= 8 and noun not in value)


def _is_exclaimed(value: str) -> bool:
    """Tell whether this is one word with a mark at its end, as people write passwords: Swordfish!"""
    return len(value) >= 8 and value[-1] in "!#$%&*?" and value[:-1].isalpha()


def _is_flag(text: str, start: int) -> bool:
    """Tell whether the noun is in the name of an option: `--db-password`. A removed line of a diff is none."""
    head = text[max(0, start - 40) : start].lower()
    word = head[len(head.rstrip("abcdefghijklmnopqrstuvwxyz0123456789_-")) :]
    alone = len(head) > len(word) and not head[-len(word) - 1].isalnum()
    return word.startswith("--") or (word.startswith("-") and alone)


def _flagged(text: str, start: int, end: int) -> Optional[Span]:
    """`--password hunter`: the dashes say that the next word is the value."""
    if text[max(0, start - 40) : start].rpartition(" ")[2][:1] != "-":
        return None
    match = pattern(r"([\w-]{0,40}) {1,4}(\\{0,3}[\"'`]|)").match(text, end)
    if not match or _has_harmless_tail(match.group(1)):
        return None
    begin, stop = match.end(), _value_end(text, match.end(), match.group(2), True)
    value = text[begin:stop]
    if value.isidentifier() and any(name in value.lower() for name in ("passw", "secret", "token", "_key", "apikey")):
        return None  # `--secret dbPassword …`: the name of the setting that follows
    taken = (
        not dummy(value) and value[:1] not in "-|<>&" and len(value) >= 3 and not (value.isdigit() and len(value) < 16)
    )
    return (begin, stop) if (taken and "/" not in value) or strong(value) else None


def _inside(text: str, noun: str, end: int) -> Optional[Span]:
    """A secret that is part of a name itself: `notes-password-….txt`."""
    match = pattern(r"[_=+/-]([^\s/\\\"'`<>;,()=:]{10,80})").match(text, end)
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
    if noun in SPOKEN or (noun in ASSIGNED and noun not in SHORT) or _has_harmless_head(text, norm, start, end):
        return
    column = pattern(r"\w{0,40}").match(text, end)
    is_secret = "values" in norm[end : end + 1100] and not _has_harmless_tail(column.group() if column else "")
    for cell in inserted(text, start, end) if is_secret else ():
        value = text[slice(*cell)]
        yield [cell] if strong(value) or typed(value) else []
    for cell in (*below(text, start, end), *separated(text, start, end)):
        spans = [unwrap(text, *match.span()) for match in pattern(r"\S+").finditer(text, *cell)]
        words = [text[slice(*span)] for span in spans]
        # A password comes first in its cell; what is beyond doubt stands anywhere.
        first = bool(words) and noun not in TOKENS and told(words[0], True, True)
        is_drawn = keyed if noun in TOKENS else strict
        yield [span for at, span in enumerate(spans) if is_drawn(words[at]) or (first and not at)]
