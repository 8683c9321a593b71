"""Find secrets that only their name reveals: `DB_PASSWORD=…`, `--token …`, "the password is …"."""

from __future__ import annotations

from reflect_git.redact.families import ASSIGNED_NOUNS, LOGIN_NOUNS, PASSWORD_NOUNS, SHORT_PASSWORD_NOUNS, TOKEN_NOUNS
from reflect_git.redact.heuristics import (
    HARMLESS_KEYS,
    HARMLESS_TAILS,
    HARMLESS_TOKENS,
    REFERENCE_PARTS,
    is_certain_secret,
    is_compound_word,
    is_digest,
    is_key,
    is_likely_secret,
    is_made_up_password,
    is_marked_password,
    is_noise,
    is_non_digest_secret,
    is_passphrase,
    is_password_or_secret,
    is_placeholder,
    is_secret_in_prose,
    is_word_pair,
)
from reflect_git.redact.heuristics import is_plain_word as is_plain
from reflect_git.redact.prose import (
    SHORT_NOUNS,
    compile_pattern,
    find_after_noun,
    find_before_noun,
    find_in_line,
    find_on_next_line,
    find_passphrase,
    is_announced_secret,
    strip_wrapping,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from re import Match
    from typing import Optional

    Span = tuple[int, int]


# The rest of the name, its closing characters, the sign, and the opening characters of the value.
_SIGN_PATTERN = (
    r"((?:[\w-]|\.(?=\w)){0,40})(?:\[[\w.-]{0,40}\])?((?:[\\\"'`\]\)*}]|%2[27]|&quot;|&#3[49];|\\u002[27]){0,6})\s{0,4}"
    r"(\{[^{}]{0,200}?\sdefault\s{0,8}=|"
    r"(?:,\s{0,40}[\"']?\w{1,20}[\"']?\s{0,4}[:=]\s{0,4}[\"']?[\w-]{1,30}[\"']?){0,2},?\s{0,60}[\"']?[vV]alue[\"']?\s{0,4}[:=]|(?:</\w{1,12}>|/?>)\s{0,20}<\w{1,12}>"
    r"|:\s?[&'\w<>\[\]. |?]{1,40}=(?=\s{0,4}[bfruN@]?[\"'`])"
    r"|,\s{0,8}default\s{0,4}=(?=\s{0,4}[\"'])|(?:\|\||\?\?)=?(?=\s{0,4}[\"'`])|\.(?i:to_?(?:be|(?:strict_?)?equal)|equals?|is_?equal_?to|eq|should_?(?:eq|be|equal)\w{0,4})\((?=\s{0,4}[\"'`])|[|│](?=\s{0,40}[\"'`]?[^\s|│]{6,80}\s{0,40}[|│])|:-|=>|->|:=|==?|%3[AaDd]|&#61;|\\u003[dD]|:(?!:)|[>,]|：|＝)"
    r"(?:\*\*)?\s{0,12}(?:(?:!{1,2}(?:unsafe|str|string|binary|raw)|&[\w-]{1,40})[ \t]{1,4}){0,2}"
    r"(?:[|>][+-]?[ \t]{0,8}(?:\n|\\n)\s{0,40}|[\[(]\s{0,40}(?=[\"']))?"
    r"(?:{\s{0,4}\"value\":\s{0,4}|[bfrNu@$](?=[\"'])"
    r"|(?:(?:new )?(?:String::from|std::string|Some|Secret\w{0,8}(?:::\w{1,8})?)\(){1,3}(?=[\"']))?"
    r"(\"{3}|'{3}|\\{0,3}[\"'`]|%2[27]|&quot;|&#3[49];|\\u002[27]|[“„«「『]|\{(?![\w.]{1,60}![rsa]\})(?=[^\s{}]{6,80}\}(?:[;\"']|\s{0,4}$))|)"
)
_CLOSING_QUOTES = {"“": "”", "„": "“", "«": "»", "「": "」", "『": "』", "{": "}"}
_ENCODED_END_PATTERN = r"%(?:26|22|27|20|0[AaDd]|3[Bb]|2[Cc]|7[Dd])|&amp;|\\u0026"
# An ampersand ends a value if another name and value may follow.
_BARE_PATTERN = r"(?:[^\s\"'`<>;,&=()\\]|&(?!&|amp;|[\w.%-]{0,40}=|\s|$))+={0,2}"
_LINE_PATTERN = r"[^\s\"'`]+"
_LOOKUP_PATTERN = r"[A-Za-z_$][\w.$]{0,80}\[(?:[\w:.-]{1,40}\][\w.]{0,40})?"  # request.POST["…"], params[:password]
_VALUE_LIMIT = 4096
_ASSIGN_SIGNS = ("=", ":", "=>", ":=")
_ATTACHED_NOUNS = ("pass", "pw")
_PASS_WORD_STARTS = ("by", "com", "sur", "tres", "under", "over")
_MAX_NOUNS = 2000
_NOT_FOUND = 1 << 62
_WORD_LIMIT = 600
_MAX_ROWS = 5000
_CHECKSUM_LENGTH = 32
_MIN_LENGTH = 6
_LINE_LIMIT = 160
_KEY_ID_PATTERN = r"[\s=:\"']{1,6}(?:[0-9A-F]{16}|[0-9A-F]{40})\b"  # as gpg writes it


def find_fields(text: str, norm: str, nouns: list[str]) -> Iterator[Span]:
    """Yield every secret in `text` that one of `nouns` announces.

    `norm` is the text normalized like the nouns, with the same length.
    """
    places = dict.fromkeys(sorted(nouns, key=len, reverse=True), -1)
    found, count, rows = _find_next_noun(norm, places, 0), 0, 0
    is_drawn = any(bar in text for bar in BARS) or ("insert_into" in norm and "values" in norm)
    is_drawn = is_drawn or (("," in text or ";" in text or "\t" in text) and ("\n" in text or "\\n" in text))
    while found:
        start, end = found
        whole = _is_whole_word(text, norm, start, end)
        count += whole
        if not whole:  # another may begin within it: the `otp` in ROOTPW
            end = start + 1
        for row in _find_in_table(text, norm, start, end) if whole and is_drawn else ():
            yield from row
            rows += 1
            if rows > _MAX_ROWS:
                break
        # Nobody writes like this; scanning on would take seconds, and what is not scanned must not stay.
        if count > _MAX_NOUNS or rows > _MAX_ROWS:
            yield start, len(text)
            return
        span = _find_field(text, norm, start, end) if whole else None
        while span and span[0] < span[1]:
            yield span
            end = max(end, span[1])
            span = find_after_noun(text, norm[start : found[1]], end, False)
        found = _find_next_noun(norm, places, end)


def _find_next_noun(norm: str, places: dict[str, int], at: int) -> Optional[Span]:
    """Return the first noun from `at` on, the longest of those that begin there.

    `places` caches where each noun comes next.
    """
    best: Optional[Span] = None
    for noun, place in places.items():
        if place < at:
            place = norm.find(noun, at)
            places[noun] = place = _NOT_FOUND if place < 0 else place
        if place < (best[0] if best else _NOT_FOUND):
            best = place, place + len(noun)
    return best


def _is_whole_word(text: str, norm: str, start: int, end: int) -> bool:
    """Return whether the noun is a whole word, like `dbPass` and `SMTP_PASS` but not `bypass`; masks do not count."""
    before = norm[max(0, start - 20) : start]
    if "[redacted:" in before and "]" not in before.rpartition("[redacted:")[2]:
        return False
    if norm[start:end] not in ASSIGNED_NOUNS:
        return norm[start:end] != "pwd" or not _is_in_base64(text, start, end)
    if norm[start] == "_":
        return text[start] in "_-" and not norm[end : end + 1].isalpha()
    head = start == 0 or not norm[start - 1].isalpha() or (text[start].isupper() and text[start - 1].islower())
    return (head or _is_attached(norm, start, end)) and not norm[end : end + 1].isalpha()


def _is_in_base64(text: str, start: int, end: int) -> bool:
    """Tell whether the noun is part of base64 by chance."""
    around = (
        compile_pattern(r"[A-Za-z0-9+/]{0,60}$").search(text, max(0, start - 60), start),
        compile_pattern(r"[A-Za-z0-9+/]{0,60}").match(text, end),
    )
    return sum(len(part.group()) for part in around if part) >= _CHECKSUM_LENGTH


def _is_attached(norm: str, start: int, end: int) -> bool:
    """Return whether the noun is attached to what it belongs to: `SSHPASS=…`, `--dbpass=…`, but not `compass=…`."""
    return (
        norm[end : end + 1] == "="
        and norm[start:end] in _ATTACHED_NOUNS
        and not norm.endswith(_PASS_WORD_STARTS, 0, start)
    )


def _find_field(text: str, norm: str, start: int, end: int) -> Optional[Span]:
    noun = norm[start:end]
    if _has_harmless_head(text, norm, start, end) or _is_reference(text, start):
        return None
    if noun == "signingkey" and compile_pattern(_KEY_ID_PATTERN).match(text, end):
        return None
    return (
        _find_assigned(text, norm, start, end)
        or _find_option_value(text, start, end)
        or _find_in_name(text, noun, end)
        or find_after_noun(text, noun, end, True)
        or find_before_noun(text, start, noun)
        or find_on_next_line(text, noun, end)
        or find_in_line(text, start, noun)
    )


def _has_harmless_head(text: str, norm: str, start: int, end: int) -> bool:
    """Return whether the words before rule out a secret: a public key, a page token.

    `String token = "…"` does not count.
    """
    noun = norm[start:end]
    heads = HARMLESS_KEYS if noun.endswith("key") else HARMLESS_TOKENS if noun == "token" else ()
    if not norm[max(0, start - 16) : start].rstrip("_").endswith(heads):
        return False
    return text[start - 1] != " " or not compile_pattern(r"\w{0,40} ?(?:: ?\w{1,20} ?)?:?= ?[\"'`]").match(text, end)


def _is_reference(text: str, start: int) -> bool:
    """Return whether the noun is part of the address of a secret: an ARN, a path in a vault."""
    head = text[max(0, start - 200) : start]
    word = head[max(head.rfind(stop) for stop in " \t\n\"'`=,;(<>") + 1 :].lower()
    return any(part in word for part in REFERENCE_PARTS)


def _has_harmless_tail(tail: str) -> bool:
    return any(tail.lower().lstrip(head).startswith(HARMLESS_TAILS) for head in ("s_-.", "_-."))


def _find_assigned(text: str, norm: str, start: int, end: int) -> Optional[Span]:
    """Return the span of the value after a sign; an empty span if the value is not a secret."""
    sign = compile_pattern(_SIGN_PATTERN).match(text, end)
    if not sign:
        return None
    quote = sign.group(4)
    if (sign.group(3) == "," and not (quote and sign.group(2))) or (
        sign.group(3) in BARS and not _is_in_row(text, start)
    ):
        return None
    if _is_compared(sign) or (sign.group(3) == ":" and _is_property(text, start)):
        return end, end
    is_constant = not quote and text[start:end].isupper()
    exported = is_constant and (sign.group(3) == "=" or _is_noise(text, sign))
    begin, stop = sign.end(), _find_value_end(text, sign.end(), quote, exported)
    is_setting = not quote and _is_setting(text, start, sign.start(3), begin, stop)
    plain = bool(quote and quote != "{") or exported or is_setting or _is_flag(text, start)
    if sign.group(3) == "=" and _is_connection(text, start, stop) and text[begin:stop].isalpha():
        return (end, end) if is_placeholder(text[begin:stop]) or stop - begin < _MIN_LENGTH else (begin, stop)
    value = text[begin:stop]
    if exported and value.endswith("("):
        value, stop = value[:-1], stop - 1
    if (
        value and not quote and (text[stop : stop + 1] == "(" or compile_pattern(_LOOKUP_PATTERN).fullmatch(value))
    ):  # a call
        return _find_argument(text, value, stop) or (end, end)
    if value[:1] in ("$", "{"):  # "${prefix}…": what follows a variable may be the secret
        named = compile_pattern(r"(?:\$?\{{1,2}[^{}]{0,80}\}{1,2})+").match(value)
        begin += named.end() if named and is_password_or_secret(value[named.end() :]) else 0
        value = text[begin:stop]
    if "\\u" in value:  # letters of another script, as JSON escapes them
        value = compile_pattern(r"\\+u[0-9a-fA-F]{4}").sub("é", value)
    if (quote or exported) and is_noise(value) and not _has_harmless_tail(sign.group(1)):
        return begin, stop
    words = find_passphrase(text, begin, norm[start:end], False)
    if words:
        return words
    is_compound = not sign.group(1) and _is_compound(text, value, norm[start:end], stop)
    is_word = (plain or (is_constant and text[stop : stop + 1] in ("", "\n", "\r"))) and sign.group(3) in _ASSIGN_SIGNS
    is_word = is_word and _is_word_password(value, norm[start:end], sign.group(1), exported)
    if is_compound or is_word or _is_secret_value(value, norm[start:end], plain, sign.group(1)):
        return begin, stop
    is_open = norm[start:end] in LOGIN_NOUNS or (value.isalpha() and not quote and sign.group(3) == ":")
    return None if is_open else (" else " in text[stop : stop + 40] and _find_argument(text, value, stop)) or (end, end)


def _is_noise(text: str, sign: Match[str]) -> bool:
    """Tell whether the rest of a line of YAML is drawn from all that a keyboard has."""
    line = (
        compile_pattern(_LINE_PATTERN).match(text, sign.end(), sign.end() + _VALUE_LIMIT)
        if sign.group(3) == ":"
        else None
    )
    return bool(line and is_noise(line.group()) and text[line.end() : line.end() + 1] in ("", "\n", "\r", "\\"))


def _is_compared(sign: Match[str]) -> bool:
    """Return whether a property is compared with something: `token.type == tokenize.NAME`."""
    return sign.group(3) == "==" and "." in sign.group(1)


def _is_in_row(text: str, start: int) -> bool:
    """Return whether the line begins like a row of a table; other bars are operators and pipes."""
    far = max(0, start - _LINE_LIMIT)
    return text[max(text.rfind("\n", far, start) + 1, far) : start].lstrip(" \t>").startswith(BARS)


def _is_connection(text: str, start: int, stop: int) -> bool:
    """Return whether this is a setting in `Server=…;User Id=…;Password=…;`, where only values occur."""
    before = text[max(0, start - 60) : start].rstrip()
    return before[-1:] == ";" and "=" in before and text[stop : stop + 1] in ("", ";", '"', "'", "\n", "<", "\\")


def _is_setting(text: str, start: int, sign: int, begin: int, stop: int) -> bool:
    """Return whether this is a line of a settings file: `trustStorePassword=…`, `keystore.password: …`."""
    if text[stop : stop + 1] not in ("", "\n", "\r"):
        return False
    far = max(0, start - _LINE_LIMIT)
    line = text[max(text.rfind("\n", far, start) + 1, far) : sign]
    name = line.strip().removeprefix("export ").removeprefix("set ")
    is_name = name.replace("_", "").replace("-", "").replace(".", "").isalnum()
    return is_name and (begin == sign + 1 or (text[sign] == ":" and "." in name))


def _find_argument(text: str, callee: str, stop: int) -> Optional[Span]:
    """Find a password passed to a function or used as a fallback: `crypt('…')`, `input() or '…'`."""
    instead = compile_pattern(
        r"[^\n]{0,120}?(?:\bor|\|\||\?\?|\belse)\s{0,4}[bfruN@]?([\"'`])([^\"'`\n]{6,200})\1"
    ).match(text, stop)
    if instead and (
        is_likely_secret(instead.group(2)) or is_made_up_password(instead.group(2)) or is_noise(instead.group(2))
    ):
        return instead.span(2)
    match = compile_pattern(r"\(\s{0,8}[bfruN@]?([\"'`])([^\"'`\n]{1,200})\1").match(text, stop)
    if not match:
        return None
    value, name = match.group(2), callee.lower()
    is_given = any(part in name for part in ("crypt", "hash", "encode", "secret", "passw", "hmac", "securestring"))
    return (
        match.span(2)
        if is_marked_password(value) or is_non_digest_secret(value) or (is_given and is_made_up_password(value))
        else None
    )


def _is_property(text: str, start: int) -> bool:
    """Return whether the noun is in the name of a CSS property (`--token-color:`): no option has a colon."""
    head = text[max(0, start - 60) : start]
    return head[max(head.rfind(stop) for stop in " \t\n;{\"'") + 1 :].startswith("--")


def _find_value_end(text: str, begin: int, quote: str, exported: bool) -> int:
    if not quote:
        match = compile_pattern(_LINE_PATTERN if exported else _BARE_PATTERN).match(text, begin, begin + _VALUE_LIMIT)
        if not match:
            return begin
        cut = (
            compile_pattern(_ENCODED_END_PATTERN).search(text, begin, match.end())
            if "%" in text[begin - 6 : begin]
            else None
        )
        return cut.start() if cut else match.end()
    stop = text.find(_CLOSING_QUOTES.get(quote, quote), begin, begin + _VALUE_LIMIT)
    line = text.find("\n", begin, begin + _VALUE_LIMIT)
    stop = stop if stop >= 0 else min(len(text), begin + _VALUE_LIMIT)
    return min(stop, line) if line >= 0 else stop


def _is_secret_value(value: str, noun: str, plain: bool, tail: str) -> bool:
    """Return whether what follows a name and a sign is its value, and not a type, a variable or a call."""
    if is_placeholder(value):
        return False
    if noun in ASSIGNED_NOUNS and noun not in SHORT_PASSWORD_NOUNS:
        return is_certain_secret(value) and not (tail.lower() in ("id", "_id", "-id") and is_digest(value))
    if _has_harmless_tail(tail) or tail.lower() in ("s", "id", "_id", "-id"):
        return is_certain_secret(value) and not (tail != "s" and (":" in value or is_digest(value)))
    words = value[:_WORD_LIMIT].split()
    if len(words) > 1:
        return any(is_secret_in_prose(word) for word in words) or (
            plain and noun in PASSWORD_NOUNS and is_passphrase(words)
        )
    return is_likely_secret(value) or _is_weak_password(value, noun, plain)


def _is_weak_password(value: str, noun: str, plain: bool) -> bool:
    """Return whether this is a password that people choose: 4921, hunter2, or one long word where only a value fits."""
    if noun == "secret" and plain and len(value) >= 8 and is_made_up_password(value) and noun not in value:
        return True
    if is_marked_password(value) and not (value[-1] == "!" and "." in value):  # user.token! is code
        return True
    if noun not in PASSWORD_NOUNS and noun not in SHORT_PASSWORD_NOUNS:
        is_seed = noun == "secret" or noun.endswith("seed")
        if is_seed and len(value) >= 16 and value.isupper() and value.isalnum():  # of an authenticator
            return True
        return len(value) >= 16 and value.isalnum() and not value.isalpha() and (plain or value.isdigit())
    if value.isdigit():
        return len(value) >= 4
    if "-" in value and len(value) >= 10 and value[-1].isdigit() and value.replace("-", "").isalnum():
        return True  # quartz-lantern-81: a name in other places, but a password here
    if plain and is_passphrase(value.split("-"), 3):
        return True
    if (is_made_up_password(value) and not value.isidentifier()) or (plain and _is_exclaimed(value)):
        return True
    if not value.isalnum() or len(value) < 6:
        return False
    return not value.isalpha() or (plain and value.islower() and len(value) >= 8 and noun not in value)


def _is_word_password(value: str, noun: str, tail: str, exported: bool) -> bool:
    """Tell whether this is a common word in the place of a password: `PGPASSWORD=saffron`, `JWT_SECRET=falcon`."""
    if noun in PASSWORD_NOUNS or noun in SHORT_PASSWORD_NOUNS:
        return not tail and noun not in value and is_plain(value)
    return noun == "secret" and exported and tail in ("", "_KEY", "_KEY_BASE") and is_plain(value)


def _is_exclaimed(value: str) -> bool:
    """Return whether this is one word with a mark at its end, as in passwords: Swordfish!"""
    return len(value) >= 8 and value[-1] in "!#$%&*?" and value[:-1].isalpha()


def _is_compound(text: str, value: str, noun: str, stop: int) -> bool:
    """Return whether the rest of the line is one long lower-case word without a common ending."""
    if noun not in PASSWORD_NOUNS and noun != "pw":
        return False
    return text[stop : stop + 1] in ("", "\n", "\r") and (is_compound_word(value) or is_word_pair(value))


def _is_flag(text: str, start: int) -> bool:
    """Return whether the noun is in the name of an option: `--db-password`. A removed line of a diff is not one."""
    head = text[max(0, start - 40) : start].lower()
    word = head[len(head.rstrip("abcdefghijklmnopqrstuvwxyz0123456789_-")) :]
    alone = len(head) > len(word) and not head[-len(word) - 1].isalnum()
    return word.startswith("--") or (word.startswith("-") and alone)


def _find_option_value(text: str, start: int, end: int) -> Optional[Span]:
    """Find the value of an option: `--password hunter`."""
    if text[max(0, start - 40) : start].rpartition(" ")[2][:1] != "-":
        return None
    match = compile_pattern(r"([\w-]{0,40}) {1,4}(\\{0,3}[\"'`]|)").match(text, end)
    if not match or _has_harmless_tail(match.group(1)):
        return None
    begin, stop = match.end(), _find_value_end(text, match.end(), match.group(2), True)
    value = text[begin:stop]
    if value.isidentifier() and any(name in value.lower() for name in ("passw", "secret", "token", "_key", "apikey")):
        return None  # `--secret dbPassword …`: the name of the setting that follows
    taken = (
        not is_placeholder(value)
        and value[:1] not in "-|<>&"
        and len(value) >= 3
        and not (value.isdigit() and len(value) < 16)
    )
    return (begin, stop) if (taken and "/" not in value) or is_likely_secret(value) else None


def _find_in_name(text: str, noun: str, end: int) -> Optional[Span]:
    """Find a secret that is part of a name itself: `notes-password-….txt`."""
    match = compile_pattern(r"[_=+/-]([^\s/\\\"'`<>;,()=:]{10,80})").match(text, end)
    if not match or noun in ASSIGNED_NOUNS:  # `Pw/` occurs in every other base64 text
        return None
    stem = match.group(1)
    if stem[-5:].rpartition(".")[1]:
        stem = stem.rpartition(".")[0]
    checksum = stem.rpartition("#")[2]
    if "_" in stem or (stem != checksum and len(checksum) >= _CHECKSUM_LENGTH and is_digest(checksum)):  # of an archive
        return None
    return (match.start(1), match.start(1) + len(stem)) if is_certain_secret(stem) else None


def _find_in_table(text: str, norm: str, start: int, end: int) -> Iterator[list[Span]]:
    """Yield the secrets below the noun in a table, row by row."""
    noun = norm[start:end]
    if (
        noun in LOGIN_NOUNS
        or (noun in ASSIGNED_NOUNS and noun not in SHORT_NOUNS)
        or _has_harmless_head(text, norm, start, end)
    ):
        return
    column = compile_pattern(r"\w{0,40}").match(text, end)
    is_secret = "values" in norm[end : end + 1100] and not _has_harmless_tail(column.group() if column else "")
    for cell in find_inserted(text, start, end) if is_secret else ():
        value = text[slice(*cell)]
        yield [cell] if is_likely_secret(value) or is_made_up_password(value) else []
    for cell in (*find_below(text, start, end), *find_separated(text, start, end)):
        spans = [strip_wrapping(text, *match.span()) for match in compile_pattern(r"\S+").finditer(text, *cell)]
        words = [text[slice(*span)] for span in spans]
        # A password comes first in its cell; a certain secret may be anywhere.
        first = bool(words) and noun not in TOKEN_NOUNS and is_announced_secret(words[0], True, True)
        is_drawn = is_key if noun in TOKEN_NOUNS else is_certain_secret
        yield [span for at, span in enumerate(spans) if is_drawn(words[at]) or (first and not at)]


BARS = ("|", "│", "┃")
_BAR_PATTERN = r"(?<!\\)[|│┃]"
_CROSSING_SIGNS = frozenset("|+│┃┼╪╋╂├╞┝┠")
_DASH_SIGNS = frozenset("-=─═━")
_RULE_SIGNS = _CROSSING_SIGNS | _DASH_SIGNS | frozenset("┤╡┥┨┌┐└┘: \t\r>")
_TABLE_LINE_LIMIT = 4096
_COLUMN_LIST_LIMIT = 1000
_MAX_INSERT_ROWS = 1000
_VALUES_PATTERN = r"(?i)\s{0,8}(?:\\n\s{0,8})?values\s{0,8}(?:\\n\s{0,8})?"
_CELL_PATTERN = (
    r"\\?(?P<quote>['\"])(?P<value>[^'\"\n\\]{0,400})\\?(?P=quote)|(?P<bare>[^\s,'\"()]{1,400}(?:\([^()\n]{0,80}\))?)"
)
_ROW_PATTERN = r"[\s,]{0,12}\(((?:[^()'\"\n]|\([^()\n]{0,80}\)|'[^'\n]{0,400}'|\"[^\"\n]{0,400}\"){1,4000})\)"
_CELL_PADDING = " \t\r*_`\"'"


def find_below(text: str, start: int, end: int) -> Iterator[Span]:
    """Yield the cells below the title text[start:end]; none without such a cell or without a rule below it."""
    lines = _split_lines(text, _find_line_start(text, start))
    head = _split_cells(text, *next(lines, (0, 0)))
    place = next((at for at, (left, right) in enumerate(head) if left <= start < right), -1)
    rule = next(lines, (0, 0)) if place >= 0 else (0, 0)
    if not _is_table_rule(text[slice(*rule)]) or text[end : head[place][1]].strip(_CELL_PADDING):
        return
    for begin, stop in lines:
        cells = _split_cells(text, begin, stop)
        if not cells and not _is_table_rule(text[begin:stop]):
            return
        if place < len(cells):
            yield cells[place]


def find_separated(text: str, start: int, end: int) -> Iterator[Span]:
    """Yield the fields below the title text[start:end], in lines with as many fields: CSV and the like."""
    lines = _split_lines(text, _find_line_start(text, start))
    begin, stop = next(lines, (0, 0))
    mark = next((mark for mark in ",;\t" if mark in text[begin:stop]), "")
    title = text[begin:stop].strip(_CELL_PADDING)
    if not mark or not title.replace(mark, "").replace("_", "").replace(" ", "").replace('"', "").isalnum():
        return
    place, count = text.count(mark, begin, start), text.count(mark, begin, stop)
    if text[end : text.find(mark, end, stop) if mark in text[end:stop] else stop].strip(_CELL_PADDING):
        return
    for begin, stop in lines:
        fields = text[begin:stop].split(mark)
        if len(fields) != count + 1:
            return
        at = begin + sum(len(field) + 1 for field in fields[:place])
        yield at, at + len(fields[place])


def find_inserted(text: str, start: int, end: int) -> Iterator[Span]:
    """Yield the values of the column text[start:end]: `INSERT INTO t (name, password) VALUES ('…', '…')`."""
    import re

    opening = text.rfind("(", max(0, start - _COLUMN_LIST_LIMIT), start)
    closing = text.find(")", end, end + _COLUMN_LIST_LIMIT)
    rows = re.compile(_VALUES_PATTERN).match(text, closing + 1) if opening >= 0 and closing >= 0 else None
    if not rows:
        return
    place, at = text.count(",", opening, start), rows.end()
    row, cell = re.compile(_ROW_PATTERN), re.compile(_CELL_PATTERN)
    for _ in range(_MAX_INSERT_ROWS):
        match = row.match(text, at)
        if not match:
            return
        cells = [one.span("value") for one in cell.finditer(text, match.start(1), match.end(1))]
        if place < len(cells):
            yield cells[place]
        at = match.end()


def _find_line_start(text: str, at: int) -> int:
    """Return the start of a line, where escaped line breaks of JSON also count; at most a fixed distance back."""
    far = max(0, at - _TABLE_LINE_LIMIT)
    ends = [text.rfind(end, far, at) + len(end) for end in ("\n", "\\n") if text.find(end, far, at) >= 0]
    return max(ends, default=far)


def _split_lines(text: str, begin: int) -> Iterator[Span]:
    """Yield the lines one by one, up to one that is too long."""
    import re

    ends = re.compile(r"\n|\\n")
    while begin < len(text):
        end = ends.search(text, begin, begin + _TABLE_LINE_LIMIT)
        yield begin, end.start() if end else min(len(text), begin + _TABLE_LINE_LIMIT)
        if not end:
            return
        begin = end.end()


def _split_cells(text: str, begin: int, stop: int) -> list[Span]:
    """Return the cells between bars; a bar at the start of the line or of a string in it is only a frame."""
    import re

    bars = [match.start() for match in re.compile(_BAR_PATTERN).finditer(text, begin, stop)]
    if not bars:
        return []
    cells = [(left + 1, right) for left, right in zip([begin - 1, *bars], [*bars, stop])]
    before = text[slice(*cells[0])].strip(" \t>")
    return cells[1:] if not before or before[-1] in "\"'" else cells


def _is_table_rule(line: str) -> bool:
    return _RULE_SIGNS.issuperset(line) and not _DASH_SIGNS.isdisjoint(line) and not _CROSSING_SIGNS.isdisjoint(line)
