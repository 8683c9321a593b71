"""Find secrets that a sentence states: "the password is …", "… is the password"."""

from __future__ import annotations

from reflect_git.redact.families import ASSIGNED_NOUNS, LOGIN_NOUNS, PASSWORD_NOUNS, TOKEN_NOUNS
from reflect_git.redact.heuristics import (
    BACKWARD_LINKS,
    CHANGE_STEMS,
    CHANGED_STEMS,
    COMMON_ENDINGS,
    COPULA_ENDINGS,
    COPULAS,
    EASTERN_LINKS,
    POINTING_WORDS,
    PRONOUNS,
    PURPOSE_WORDS,
    REMARK_SIGNS,
    ROLE_PHRASES,
    TARGET_WORDS,
    USE_PHRASES,
    is_certain_secret,
    is_compound_word,
    is_digest,
    is_made_up_password,
    is_marked_password,
    is_mixed_key,
    is_noise,
    is_non_digest_secret,
    is_passphrase,
    is_plain_word,
    is_secret_in_prose,
    is_slug,
    is_word_pair,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from re import Match, Pattern
    from typing import Optional

    Span = tuple[int, int]

SHORT_NOUNS = ("pw", "mdp", "clave")
_WRAPPING_SIGNS = "\"'`()[]{}<>,.;:“”„«»‘’"
_MAX_DISTANCE = 160
_WORD_LIMIT = 600
_MAX_VERB_DISTANCE = 3  # "als Passwort habe ich …", "as the password we now use …"
_EASTERN_RANGES = "\u3000-\u30ff\u3400-\u9fff\uac00-\ud7af\uff00-\uffef"  # scripts that do not put spaces between words
_NAMED_TOOLS = ("manager", "managers", "generator", "policy", "policies")  # "our password manager is …"
_PAUSE_SIGNS = frozenset(",?!.;-\"'`)”»")
_QUOTE_SIGNS = frozenset("\"'`“”„«»「」『』")
_PASSWORD_SIGNS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789!#$%^&*?@+-")
_MIN_KEY = 20
_INITIAL_PASSWORD_LENGTH = 32
_CREDENTIAL_NOUNS = ("creds", "credential", "zugangsdaten", "identifiants", "credenciales")
_IS_ID_PATTERN = r"[\"'`)]? (?:is|was|ist|est|es) (?:\w{1,12} ){0,3}?(?:id|ID|identifier|number)\b"
_PHRASE_ENDS = ("", *".,\n\\\"'`”»“」』)")


def compile_pattern(text: str) -> Pattern[str]:
    """Compile a pattern; `re` is imported here."""
    import re  # takes 8 ms: most texts with `passed` or `unexpected token` do not need it

    return re.compile(text)


def find_after_noun(text: str, noun: str, end: int, near: bool) -> Optional[Span]:
    """Find the first word after the noun, in its sentence, that looks like a secret.

    Right after the noun or after a verb, weaker evidence is enough.
    """
    # the password, …, is old: only certain values count
    aside = text[end : end + 2] == ", " and (noun in PASSWORD_NOUNS or noun in TOKEN_NOUNS)
    is_file = _is_in_path(text, end - len(noun)) or compile_pattern(r"s?\.(?:[a-z]{2,4}|json\d?)\b").match(text, end)
    is_call = compile_pattern(r"\(\w{1,40}=|::").match(text, end)
    if is_file or is_call or text[end : end + 20].lower().split()[:1] in ([tool] for tool in _NAMED_TOOLS):
        return None
    if (noun in ASSIGNED_NOUNS and noun not in SHORT_NOUNS) or (
        text[end : end + 1] in tuple("_-=[.,<{/") and not aside
    ):
        return None
    glued = text[end : end + 1].isalnum() and text[end].isascii() and noun.isascii()
    near = near and not glued and not aside and noun not in LOGIN_NOUNS
    is_password = noun in PASSWORD_NOUNS or noun in SHORT_NOUNS
    changed = any(stem in text[max(0, end - len(noun) - 40) : end - len(noun)].lower() for stem in CHANGE_STEMS)
    before = " " + text[max(0, end - len(noun) - 20) : end - len(noun)].lower().replace("\n", " ")
    role = noun in PASSWORD_NOUNS and before.rstrip().endswith(ROLE_PHRASES)
    used = any(verb in before for verb in USE_PHRASES)
    asked = ended = False
    for place, match in enumerate(_find_words(text, end)):
        raw = match.group()
        begin, stop = strip_wrapping(text, match.start(), match.end())
        word = text[begin:stop]
        if place and any(name in word.lower() for name in ("passw", "token", "secret")):
            return None
        if ended and raw.lower() not in PRONOUNS:
            is_last = text[match.end() :][:1] in ("", "\n")
            is_secret = (
                is_announced_secret(word, True, True)
                if is_last
                else is_marked_password(word) or is_announced_secret(word, False, False)
            )
            is_answer = place == 1 or (is_last and asked)
            if is_answer and noun in PASSWORD_NOUNS and raw[0] in "`\"'“„«":
                return find_passphrase(text, begin, noun, True) or ((begin, stop) if is_secret else None)
            return (begin, stop) if is_answer and is_password and is_secret else None
        quoted = raw[0] in "`\"'“„«" or text[begin - 1 : begin] in ("「", "『", "“") or (raw[0] == "(" and is_password)
        # French puts a space between the quotation mark and the word
        quoted = quoted or text[begin - 2 : begin - 1] == "«"
        if near and noun in PASSWORD_NOUNS and (place or quoted):
            span = find_passphrase(text, begin, noun, quoted)
            if span:
                return span
        is_told = is_announced_secret(word, near or quoted, place < 6 and is_password) or (
            is_password and is_marked_password(word)
        )
        is_given = is_password and near and (place > 0 or used) and "," not in text[end:begin]
        is_told = is_told or (is_given and _is_plain_password(text, word, stop, quoted))
        is_name = noun in TOKEN_NOUNS and (is_slug(word) or (is_digest(word) and _is_id(text, end, stop)))
        if (place or not glued) and is_told and not is_name:
            return _drop_user_name(text, begin, stop, noun)
        if noun in LOGIN_NOUNS and near and ":" in word and is_announced_secret(word.partition(":")[2], True, True):
            return _drop_user_name(text, begin, stop, noun)
        changed = changed or raw.lower().startswith(CHANGED_STEMS)
        near = _introduces_value(raw, word, noun) or (changed and is_password and raw.lower() in TARGET_WORDS)
        role = role and raw.lower() not in PURPOSE_WORDS
        near = near or (role and place < _MAX_VERB_DISTANCE)
        # One password, then the next: "for bob it is …; for alice it is …".
        asked, ended = raw[-1] in "?？", raw[-1] in (".?!。！？" if is_password else ".?!;。！？")
        if place > 9 or (ended and not is_password):
            return None
    return None


def _is_id(text: str, end: int, stop: int) -> bool:
    """Tell whether the sentence says that this number names something: "token <number> is the request id"."""
    return text[end : end + 3].lower() == " id" or bool(compile_pattern(_IS_ID_PATTERN).match(text, stop))


def _is_plain_password(text: str, word: str, stop: int, quoted: bool) -> bool:
    """Tell whether a sentence gives a common word as the password: in quotes, or two words with a dash."""
    if quoted and text[stop : stop + 1] in _QUOTE_SIGNS:
        return is_plain_word(word) and not word.endswith(COMMON_ENDINGS)
    is_last = text[stop : stop + 1] in ("", "\n")
    return is_word_pair(word) or (
        is_last
        and text[max(0, stop - len(word) - 4) : stop - len(word)].rstrip()[-1:] == ":"
        and is_compound_word(word)
    )


def _is_in_path(text: str, start: int) -> bool:
    """Return whether the noun is part of a file name: `ssh -i ~/.ssh/deploy_key bob@host`."""
    head = text[max(0, start - 200) : start]
    word = head[max(head.rfind(stop) for stop in " \t\n\"'`=,;(<>") + 1 :]
    return (word.startswith(("~/", "./", "../")) or (word[:1] == "/" and word[1:2] != "/")) and ":" not in word


def find_on_next_line(text: str, noun: str, end: int) -> Optional[Span]:
    """Find a secret alone on the line below the one that announces it, as people paste them."""
    match = compile_pattern(r"[^\n]{0,40}\r?\n\s{0,12}([\"'`]?)([^\s\"'`]{6,512})[\"'`]?[ \t]{0,8}(?:\r?\n|$)").match(
        text, end
    )
    if not match or noun in LOGIN_NOUNS or noun in ASSIGNED_NOUNS or not match.group(2).isascii():
        return None
    quote, word = match.groups()
    is_initial = len(word) == _INITIAL_PASSWORD_LENGTH and is_digest(word)  # as Jenkins prints its initial password
    is_password = noun in PASSWORD_NOUNS and (
        is_marked_password(word) or (quote and is_made_up_password(word)) or is_initial
    )
    return match.span(2) if is_non_digest_secret(word) or is_password or (quote and is_noise(word)) else None


def find_passphrase(text: str, begin: int, noun: str, quoted: bool) -> Optional[Span]:
    """Find a passphrase that begins here: words in quotes, or plain words up to the end of the sentence."""
    if not quoted and "phrase" not in noun and "fras" not in noun:
        return None
    match = compile_pattern(r"[a-z]{3,20}(?:[ -][a-z]{3,20}){2,15}").match(text, begin)
    if not match or not (text[match.end() : match.end() + 1] in _PHRASE_ENDS or text[match.end() + 1 :][:1] == "»"):
        return None
    return match.span() if is_passphrase(match.group().replace("-", " ").split(), 3 if quoted else 4) else None


def _drop_user_name(text: str, begin: int, stop: int, noun: str) -> Span:
    """Exclude the user name before a colon if a pair was announced: `creds are root:…`."""
    name, colon, rest = text[begin:stop].partition(":")
    return (stop - len(rest), stop) if noun in LOGIN_NOUNS and colon and name.isalnum() and rest else (begin, stop)


def _introduces_value(raw: str, word: str, noun: str) -> bool:
    """Return whether the next word is the value of the noun."""
    if noun in LOGIN_NOUNS:
        return raw in ("/", "are", ":", "sind", "sont", "son", "sono", "são")
    return (
        not word or raw.lower() in COPULAS or raw[-1] in ":=：" or (not raw.isascii() and raw.endswith(COPULA_ENDINGS))
    )


def is_announced_secret(word: str, near: bool, certain: bool) -> bool:
    """Return whether a word is a secret, given how clearly it was announced."""
    if not word.isascii():
        return False
    if not near:
        return is_certain_secret(word) and not is_digest(word)
    return is_secret_in_prose(word) or (
        certain and (is_made_up_password(word) or (word.isdigit() and 4 <= len(word) <= 12))
    )


def _find_words(text: str, start: int) -> Iterator[Match[str]]:
    """Yield the words in reach on the same line; an escaped line break of JSON also ends it."""
    limit = start + _MAX_DISTANCE
    ends = [end for end in (text.find("\n", start, limit), text.find("\\n", start, limit)) if end >= 0]
    # The last word may extend past the limit: half a secret is still one.
    is_plain = text[start : limit + _WORD_LIMIT].isascii()  # the other pattern takes 8 ms to compile
    some = rf"{{1,{_WORD_LIMIT}}}"
    word = compile_pattern(rf"\S{some}" if is_plain else rf"[^\s{_EASTERN_RANGES}]{some}|[{_EASTERN_RANGES}]{some}")
    for match in word.finditer(text, start, min(ends or [limit + _WORD_LIMIT])):
        if match.start() > limit:
            return
        yield match


def strip_wrapping(text: str, start: int, end: int) -> Span:
    """Strip quotes, brackets and punctuation, and an adjacent word in another script."""
    while start < end and (text[start] in _WRAPPING_SIGNS or ord(text[start]) > 127):
        start += 1
    while start < end and (text[end - 1] in _WRAPPING_SIGNS or ord(text[end - 1]) > 127 or text[end - 2 : end] == "**"):
        end -= 1
    return start, end


def find_before_noun(text: str, start: int, noun: str) -> Optional[Span]:
    """Find `… is the password`; for `… for the password`, only words that cannot be the name of a product."""
    if noun in ASSIGNED_NOUNS:
        return None
    enough = is_certain_secret if noun in LOGIN_NOUNS else _is_certain if noun in PASSWORD_NOUNS else is_secret_in_prose
    is_plain = text[max(0, start - 100) : start].isascii()
    word_or_script = compile_pattern(r"\S+" if is_plain else rf"[^\s{_EASTERN_RANGES}]+|[{_EASTERN_RANGES}]+")
    words = list(word_or_script.finditer(text, max(0, start - 100), start))[-6:]
    is_last = noun in PASSWORD_NOUNS and text[start + len(noun) : start + len(noun) + 1] in (
        "",
        ".",
        ",",
        "\n",
        "!",
        ")",
    )
    for left, verb in zip(words, words[1:]):
        begin, stop = strip_wrapping(text, left.start(), left.end())
        word, link = text[begin:stop], verb.group().lower()
        purpose = link in PURPOSE_WORDS and (_is_random_word(word) or (is_last and _is_certain(word)))
        is_link = (
            (link in BACKWARD_LINKS and (link != "the" or noun in PASSWORD_NOUNS))
            or (is_last and link in REMARK_SIGNS and verb in words[-4:] and "/" not in word)
            or link.startswith(EASTERN_LINKS)
            or text.startswith("в качестве", verb.start())
            or (link in POINTING_WORDS and left.group()[-1] in _PAUSE_SIGNS)
        )
        if is_digest(word) and not PURPOSE_WORDS.isdisjoint(text[verb.end() : start].lower().split()):
            continue  # "<number> is waiting for the token"
        said = (is_link and enough(word)) or purpose or (noun in PASSWORD_NOUNS and is_marked_password(word))
        if said and word.isascii():
            return _find_word_start(text, begin), stop
    return None


def _is_certain(word: str) -> bool:
    return is_announced_secret(word, True, True) and not word.isdigit()


def _is_random_word(word: str) -> bool:
    """Return whether a word is certainly random, with a digit: PostgreSQL and GraphQL-API have many capitals too."""
    return any(map(str.isdigit, word)) and is_certain_secret(word)


def _find_word_start(text: str, begin: int) -> int:
    while begin > 0 and not text[begin - 1].isspace() and text[begin - 1] not in _WRAPPING_SIGNS:
        begin -= 1
    return begin


def find_in_line(text: str, start: int, noun: str) -> Optional[Span]:
    """Find a word that is not the name of a thing in a line about a secret, whatever the sentence is."""
    if noun in ASSIGNED_NOUNS or (noun in LOGIN_NOUNS and noun not in _CREDENTIAL_NOUNS):
        return None
    far = max(0, start - _MAX_DISTANCE)
    line = max(text.rfind("\n", far, start) + 1, far)
    end = text.find("\n", start, start + _MAX_DISTANCE)
    is_plain = text[line : start + _MAX_DISTANCE].isascii()
    word = compile_pattern(r"\S+" if is_plain else rf"[^\s{_EASTERN_RANGES}]+|[{_EASTERN_RANGES}]+")
    for match in word.finditer(text, line, end if end >= 0 else start + _MAX_DISTANCE):
        begin, stop = strip_wrapping(text, match.start(), match.end())
        is_cut = match.start() == line > 0 and text[line - 1] != "\n"
        is_quoted = text[begin - 1 : begin] in _QUOTE_SIGNS and text[stop : stop + 1] in _QUOTE_SIGNS and begin > 0
        holds = _is_key if noun in TOKEN_NOUNS else _is_made_up
        if not is_cut and holds(text[begin:stop], is_quoted):
            return begin, stop
    return None


def _is_made_up(word: str, is_quoted: bool) -> bool:
    """Return whether a person made up `word` as a password: not a commit, ticket, version or numbered thing."""
    if is_non_digest_secret(word) and set("/.:=()[]{}<>|\\").isdisjoint(word) and any(map(str.isdigit, word)):
        return True
    if not is_made_up_password(word) or is_digest(word) or not _PASSWORD_SIGNS.issuperset(word):
        return False
    if is_marked_password(word):
        return True
    digits, letters = sum(map(str.isdigit, word)), sum(map(str.isalpha, word))
    if word.count("-") == 1 or (word[0].isdigit() and word[-1].isalpha()):
        return is_quoted and digits > 2
    return letters > 2 and len(word) >= 8 and digits > (1 if is_quoted else 2) and not word.isupper()


def _is_key(word: str, _: bool) -> bool:
    return len(word) >= _MIN_KEY and word.isascii() and word.replace("_", "").isalnum() and is_mixed_key(word)
