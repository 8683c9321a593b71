"""Find secrets that a sentence states: "the password is …", "… is the password"."""

from __future__ import annotations

from reflect_git.redact.families import ASSIGNED, PASSWORDS, SPOKEN, TOKENS
from reflect_git.redact.heuristics import (
    BACKWARD,
    CHANGED,
    CHANGES,
    COMMON_ENDINGS,
    COPULAS,
    EASTERN_LINKS,
    ENDINGS,
    POINTING,
    PRONOUNS,
    PURPOSES,
    REMARKS,
    ROLES,
    TARGETS,
    USES,
    compound,
    digest_like,
    is_mixed,
    lone,
    marked,
    noisy,
    paired,
    phrase,
    plain,
    slug,
    spoken,
    strict,
    typed,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from re import Match, Pattern
    from typing import Optional

    Span = tuple[int, int]

SHORT = ("pw", "mdp", "clave")
_WRAP = "\"'`()[]{}<>,.;:“”„«»‘’"
_REACH = 160
_LONGEST_WORD = 600
_VERB_REACH = 3  # "als Passwort habe ich …", "as the password we now use …"
_EAST = "\u3000-\u30ff\u3400-\u9fff\uac00-\ud7af\uff00-\uffef"  # scripts that do not put spaces between words
_NAMED_TOOLS = ("manager", "managers", "generator", "policy", "policies")  # "our password manager is …"
_PAUSES = frozenset(",?!.;-\"'`)”»")
_QUOTES = frozenset("\"'`“”„«»「」『』")
_MADE_UP = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789!#$%^&*?@+-")
_SHORTEST_KEY = 20
_INITIAL = 32
_CREDENTIALS = ("creds", "credential", "zugangsdaten", "identifiants", "credenciales")
_IS_ID = r"[\"'`)]? (?:is|was|ist|est|es) (?:\w{1,12} ){0,3}?(?:id|ID|identifier|number)\b"
_PHRASE_ENDS = ("", *".,\n\\\"'`”»“」』)")


def pattern(text: str) -> Pattern[str]:
    """Compile a pattern; `re` is imported here."""
    import re  # takes 8 ms: most texts with `passed` or `unexpected token` do not need it

    return re.compile(text)


def said(text: str, noun: str, end: int, near: bool) -> Optional[Span]:
    """Find the first word after the noun, in its sentence, that looks like a secret.

    Right after the noun or after a verb, weaker evidence is enough.
    """
    # the password, …, is old: only certain values count
    aside = text[end : end + 2] == ", " and (noun in PASSWORDS or noun in TOKENS)
    is_file = _is_in_path(text, end - len(noun)) or pattern(r"s?\.(?:[a-z]{2,4}|json\d?)\b").match(text, end)
    is_call = pattern(r"\(\w{1,40}=|::").match(text, end)
    if is_file or is_call or text[end : end + 20].lower().split()[:1] in ([tool] for tool in _NAMED_TOOLS):
        return None
    if (noun in ASSIGNED and noun not in SHORT) or (text[end : end + 1] in tuple("_-=[.,<{/") and not aside):
        return None
    glued = text[end : end + 1].isalnum() and text[end].isascii() and noun.isascii()
    near = near and not glued and not aside and noun not in SPOKEN
    is_password = noun in PASSWORDS or noun in SHORT
    changed = any(stem in text[max(0, end - len(noun) - 40) : end - len(noun)].lower() for stem in CHANGES)
    before = " " + text[max(0, end - len(noun) - 20) : end - len(noun)].lower().replace("\n", " ")
    role = noun in PASSWORDS and before.rstrip().endswith(ROLES)
    used = any(verb in before for verb in USES)
    asked = ended = False
    for place, match in enumerate(_words(text, end)):
        raw = match.group()
        begin, stop = unwrap(text, match.start(), match.end())
        word = text[begin:stop]
        if place and any(name in word.lower() for name in ("passw", "token", "secret")):
            return None
        if ended and raw.lower() not in PRONOUNS:
            is_last = text[match.end() :][:1] in ("", "\n")
            is_secret = told(word, True, True) if is_last else marked(word) or told(word, False, False)
            is_answer = place == 1 or (is_last and asked)
            if is_answer and noun in PASSWORDS and raw[0] in "`\"'“„«":
                return find_phrase(text, begin, noun, True) or ((begin, stop) if is_secret else None)
            return (begin, stop) if is_answer and is_password and is_secret else None
        quoted = raw[0] in "`\"'“„«" or text[begin - 1 : begin] in ("「", "『", "“") or (raw[0] == "(" and is_password)
        # French puts a space between the quotation mark and the word
        quoted = quoted or text[begin - 2 : begin - 1] == "«"
        if near and noun in PASSWORDS and (place or quoted):
            span = find_phrase(text, begin, noun, quoted)
            if span:
                return span
        is_told = told(word, near or quoted, place < 6 and is_password) or (is_password and marked(word))
        is_given = is_password and near and (place > 0 or used) and "," not in text[end:begin]
        is_told = is_told or (is_given and _is_plain(text, word, stop, quoted))
        is_name = noun in TOKENS and (slug(word) or (digest_like(word) and _is_id(text, end, stop)))
        if (place or not glued) and is_told and not is_name:
            return _whole_pair(text, begin, stop, noun)
        if noun in SPOKEN and near and ":" in word and told(word.partition(":")[2], True, True):
            return _whole_pair(text, begin, stop, noun)
        changed = changed or raw.lower().startswith(CHANGED)
        near = _leads(raw, word, noun) or (changed and is_password and raw.lower() in TARGETS)
        role = role and raw.lower() not in PURPOSES
        near = near or (role and place < _VERB_REACH)
        # One password, then the next: "for bob it is …; for alice it is …".
        asked, ended = raw[-1] in "?？", raw[-1] in (".?!。！？" if is_password else ".?!;。！？")
        if place > 9 or (ended and not is_password):
            return None
    return None


def _is_id(text: str, end: int, stop: int) -> bool:
    """Tell whether the sentence says that this number names something: "token <number> is the request id"."""
    return text[end : end + 3].lower() == " id" or bool(pattern(_IS_ID).match(text, stop))


def _is_plain(text: str, word: str, stop: int, quoted: bool) -> bool:
    """Tell whether a sentence gives a common word as the password: in quotes, or two words with a dash."""
    if quoted and text[stop : stop + 1] in _QUOTES:
        return plain(word) and not word.endswith(COMMON_ENDINGS)
    is_last = text[stop : stop + 1] in ("", "\n")
    return paired(word) or (
        is_last and text[max(0, stop - len(word) - 4) : stop - len(word)].rstrip()[-1:] == ":" and compound(word)
    )


def _is_in_path(text: str, start: int) -> bool:
    """Return whether the noun is part of a file name: `ssh -i ~/.ssh/deploy_key bob@host`."""
    head = text[max(0, start - 200) : start]
    word = head[max(head.rfind(stop) for stop in " \t\n\"'`=,;(<>") + 1 :]
    return (word.startswith(("~/", "./", "../")) or (word[:1] == "/" and word[1:2] != "/")) and ":" not in word


def on_next_line(text: str, noun: str, end: int) -> Optional[Span]:
    """Find a secret alone on the line below the one that announces it, as people paste them."""
    match = pattern(r"[^\n]{0,40}\r?\n\s{0,12}([\"'`]?)([^\s\"'`]{6,512})[\"'`]?[ \t]{0,8}(?:\r?\n|$)").match(text, end)
    if not match or noun in SPOKEN or noun in ASSIGNED or not match.group(2).isascii():
        return None
    quote, word = match.groups()
    is_initial = len(word) == _INITIAL and digest_like(word)  # as Jenkins prints its initial password
    is_password = noun in PASSWORDS and (marked(word) or (quote and typed(word)) or is_initial)
    return match.span(2) if lone(word) or is_password or (quote and noisy(word)) else None


def find_phrase(text: str, begin: int, noun: str, quoted: bool) -> Optional[Span]:
    """Find a passphrase that begins here: words in quotes, or plain words up to the end of the sentence."""
    if not quoted and "phrase" not in noun and "fras" not in noun:
        return None
    match = pattern(r"[a-z]{3,20}(?:[ -][a-z]{3,20}){2,15}").match(text, begin)
    if not match or not (text[match.end() : match.end() + 1] in _PHRASE_ENDS or text[match.end() + 1 :][:1] == "»"):
        return None
    return match.span() if phrase(match.group().replace("-", " ").split(), 3 if quoted else 4) else None


def _whole_pair(text: str, begin: int, stop: int, noun: str) -> Span:
    """Exclude the user name before a colon if a pair was announced: `creds are root:…`."""
    name, colon, rest = text[begin:stop].partition(":")
    return (stop - len(rest), stop) if noun in SPOKEN and colon and name.isalnum() and rest else (begin, stop)


def _leads(raw: str, word: str, noun: str) -> bool:
    """Return whether the next word is the value of the noun."""
    if noun in SPOKEN:
        return raw in ("/", "are", ":", "sind", "sont", "son", "sono", "são")
    return not word or raw.lower() in COPULAS or raw[-1] in ":=：" or (not raw.isascii() and raw.endswith(ENDINGS))


def told(word: str, near: bool, certain: bool) -> bool:
    """Return whether a word is a secret, given how clearly it was announced."""
    if not word.isascii():
        return False
    if not near:
        return strict(word) and not digest_like(word)
    return spoken(word) or (certain and (typed(word) or (word.isdigit() and 4 <= len(word) <= 12)))


def _words(text: str, start: int) -> Iterator[Match[str]]:
    """Yield the words in reach on the same line; an escaped line break of JSON also ends it."""
    limit = start + _REACH
    ends = [end for end in (text.find("\n", start, limit), text.find("\\n", start, limit)) if end >= 0]
    # The last word may extend past the limit: half a secret is still one.
    is_plain = text[start : limit + _LONGEST_WORD].isascii()  # the other pattern takes 8 ms to compile
    some = rf"{{1,{_LONGEST_WORD}}}"
    word = pattern(rf"\S{some}" if is_plain else rf"[^\s{_EAST}]{some}|[{_EAST}]{some}")
    for match in word.finditer(text, start, min(ends or [limit + _LONGEST_WORD])):
        if match.start() > limit:
            return
        yield match


def unwrap(text: str, start: int, end: int) -> Span:
    """Strip quotes, brackets and punctuation, and an adjacent word in another script."""
    while start < end and (text[start] in _WRAP or ord(text[start]) > 127):
        start += 1
    while start < end and (text[end - 1] in _WRAP or ord(text[end - 1]) > 127 or text[end - 2 : end] == "**"):
        end -= 1
    return start, end


def said_before(text: str, start: int, noun: str) -> Optional[Span]:
    """Find `… is the password`; for `… for the password`, only words that cannot be the name of a product."""
    if noun in ASSIGNED:
        return None
    enough = strict if noun in SPOKEN else _certain if noun in PASSWORDS else spoken
    is_plain = text[max(0, start - 100) : start].isascii()
    word_or_script = pattern(r"\S+" if is_plain else rf"[^\s{_EAST}]+|[{_EAST}]+")
    words = list(word_or_script.finditer(text, max(0, start - 100), start))[-6:]
    is_last = noun in PASSWORDS and text[start + len(noun) : start + len(noun) + 1] in ("", ".", ",", "\n", "!", ")")
    for left, verb in zip(words, words[1:]):
        begin, stop = unwrap(text, left.start(), left.end())
        word, link = text[begin:stop], verb.group().lower()
        purpose = link in PURPOSES and (_drawn(word) or (is_last and _certain(word)))
        is_link = (
            (link in BACKWARD and (link != "the" or noun in PASSWORDS))
            or (is_last and link in REMARKS and verb in words[-4:] and "/" not in word)
            or link.startswith(EASTERN_LINKS)
            or text.startswith("в качестве", verb.start())
            or (link in POINTING and left.group()[-1] in _PAUSES)
        )
        if digest_like(word) and not PURPOSES.isdisjoint(text[verb.end() : start].lower().split()):
            continue  # "<number> is waiting for the token"
        said = (is_link and enough(word)) or purpose or (noun in PASSWORDS and marked(word))
        if said and word.isascii():
            return _whole_word(text, begin), stop
    return None


def _certain(word: str) -> bool:
    return told(word, True, True) and not word.isdigit()


def _drawn(word: str) -> bool:
    """Return whether a word is certainly random, with a digit: PostgreSQL and GraphQL-API have many capitals too."""
    return any(map(str.isdigit, word)) and strict(word)


def _whole_word(text: str, begin: int) -> int:
    while begin > 0 and not text[begin - 1].isspace() and text[begin - 1] not in _WRAP:
        begin -= 1
    return begin


def in_same_line(text: str, start: int, noun: str) -> Optional[Span]:
    """Find a word that is not the name of a thing in a line about a secret, whatever the sentence is."""
    if noun in ASSIGNED or (noun in SPOKEN and noun not in _CREDENTIALS):
        return None
    far = max(0, start - _REACH)
    line = max(text.rfind("\n", far, start) + 1, far)
    end = text.find("\n", start, start + _REACH)
    is_plain = text[line : start + _REACH].isascii()
    word = pattern(r"\S+" if is_plain else rf"[^\s{_EAST}]+|[{_EAST}]+")
    for match in word.finditer(text, line, end if end >= 0 else start + _REACH):
        begin, stop = unwrap(text, match.start(), match.end())
        is_cut = match.start() == line > 0 and text[line - 1] != "\n"
        is_quoted = text[begin - 1 : begin] in _QUOTES and text[stop : stop + 1] in _QUOTES and begin > 0
        holds = _is_key if noun in TOKENS else _is_made_up
        if not is_cut and holds(text[begin:stop], is_quoted):
            return begin, stop
    return None


def _is_made_up(word: str, is_quoted: bool) -> bool:
    """Return whether a person made up `word` as a password: not a commit, ticket, version or numbered thing."""
    if lone(word) and set("/.:=()[]{}<>|\\").isdisjoint(word) and any(map(str.isdigit, word)):
        return True
    if not typed(word) or digest_like(word) or not _MADE_UP.issuperset(word):
        return False
    if marked(word):
        return True
    digits, letters = sum(map(str.isdigit, word)), sum(map(str.isalpha, word))
    if word.count("-") == 1 or (word[0].isdigit() and word[-1].isalpha()):
        return is_quoted and digits > 2
    return letters > 2 and len(word) >= 8 and digits > (1 if is_quoted else 2) and not word.isupper()


def _is_key(word: str, _: bool) -> bool:
    return len(word) >= _SHORTEST_KEY and word.isascii() and word.replace("_", "").isalnum() and is_mixed(word)
