"""Find secrets that a sentence tells: "the password is …", "… is the password"."""

from __future__ import annotations

from reflect_git.adapters.redact.families import ASSIGNED, PASSWORDS, SPOKEN, TOKENS
from reflect_git.adapters.redact.looks import digest_like, lone, marked, noisy, phrase, slug, spoken, strict, typed
from reflect_git.adapters.redact.words import (
    BACKWARD,
    CHANGED,
    CHANGES,
    COPULAS,
    EASTERN_LINKS,
    ENDINGS,
    PRONOUNS,
    PURPOSES,
    REMARKS,
    ROLES,
    TARGETS,
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
_EAST = "\u3000-\u30ff\u3400-\u9fff\uac00-\ud7af\uff00-\uffef"  # scripts that put no space between words
_NAMED_TOOLS = ("manager", "managers", "generator", "policy", "policies")  # "our password manager is …"
_PHRASE_ENDS = ("", *".,\n\\\"'`”»“」』)")


def pattern(text: str) -> Pattern[str]:
    import re  # 8 ms: most texts with `passed` or `unexpected token` in them need none

    return re.compile(text)


def said(text: str, noun: str, end: int, near: bool) -> Optional[Span]:
    """The first word behind the noun, in its sentence, that looks like one: at once or behind a verb less is enough."""
    # the password, …, is old: only what is beyond doubt
    aside = text[end : end + 2] == ", " and (noun in PASSWORDS or noun in TOKENS)
    is_file = _is_in_path(text, end - len(noun)) or pattern(r"s?\.(?:[a-z]{2,4}|json\d?)\b").match(text, end)
    if is_file or text[end : end + 20].lower().split()[:1] in ([tool] for tool in _NAMED_TOOLS):
        return None
    if (noun in ASSIGNED and noun not in SHORT) or (text[end : end + 1] in tuple("_-=[.,<{/") and not aside):
        return None
    glued = text[end : end + 1].isalnum() and text[end].isascii() and noun.isascii()
    near = near and not glued and not aside and noun not in SPOKEN
    is_password = noun in PASSWORDS or noun in SHORT
    changed = any(stem in text[max(0, end - len(noun) - 40) : end - len(noun)].lower() for stem in CHANGES)
    before = " " + text[max(0, end - len(noun) - 20) : end - len(noun)].lower().replace("\n", " ")
    role = noun in PASSWORDS and before.rstrip().endswith(ROLES)
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
        quoted = quoted or text[begin - 2 : begin - 1] == "«"  # French puts a space between the mark and the word
        if near and noun in PASSWORDS and (place or quoted):
            span = find_phrase(text, begin, noun, quoted)
            if span:
                return span
        is_told = told(word, near or quoted, place < 6 and is_password) or (is_password and marked(word))
        if (place or not glued) and is_told and (noun not in TOKENS or not slug(word)):
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


def _is_in_path(text: str, start: int) -> bool:
    """Tell whether the noun is part of a file's name: `ssh -i ~/.ssh/deploy_key bob@host`."""
    head = text[max(0, start - 200) : start]
    word = head[max(head.rfind(stop) for stop in " \t\n\"'`=,;(<>") + 1 :]
    return (word.startswith(("~/", "./", "../")) or (word[:1] == "/" and word[1:2] != "/")) and ":" not in word


def on_next_line(text: str, noun: str, end: int) -> Optional[Span]:
    """Find a secret that stands alone on the line below the one that speaks of it, as people paste them."""
    match = pattern(r"[^\n]{0,40}\r?\n\s{0,8}([\"'`]?)([^\s\"'`]{6,512})[\"'`]?[ \t]{0,8}(?:\r?\n|$)").match(text, end)
    if not match or noun in SPOKEN or noun in ASSIGNED or not match.group(2).isascii():
        return None
    quote, word = match.groups()
    is_password = noun in PASSWORDS and (marked(word) or (quote and typed(word)))
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
    """Leave the name of a user before a colon where a pair was announced: `creds are root:…`."""
    name, colon, rest = text[begin:stop].partition(":")
    return (stop - len(rest), stop) if noun in SPOKEN and colon and name.isalnum() and rest else (begin, stop)


def _leads(raw: str, word: str, noun: str) -> bool:
    """Whether the next word is what the noun is said to be."""
    if noun in SPOKEN:
        return raw in ("/", "are", ":", "sind", "sont", "son", "sono", "são")
    return not word or raw.lower() in COPULAS or raw[-1] in ":=：" or (not raw.isascii() and raw.endswith(ENDINGS))


def told(word: str, near: bool, certain: bool) -> bool:
    if not word.isascii():
        return False
    if not near:
        return strict(word) and not digest_like(word)
    return spoken(word) or (certain and (typed(word) or (word.isdigit() and 4 <= len(word) <= 12)))


def _words(text: str, start: int) -> Iterator[Match[str]]:
    """What stands in reach on the same line, as it is and as JSON writes it."""
    limit = start + _REACH
    ends = [end for end in (text.find("\n", start, limit), text.find("\\n", start, limit)) if end >= 0]
    # The last word may reach over the limit: half a secret is still one.
    is_plain = text[start : limit + _LONGEST_WORD].isascii()  # the other pattern takes 8 ms to compile
    some = rf"{{1,{_LONGEST_WORD}}}"
    word = pattern(rf"\S{some}" if is_plain else rf"[^\s{_EAST}]{some}|[{_EAST}]{some}")
    for match in word.finditer(text, start, min(ends or [limit + _LONGEST_WORD])):
        if match.start() > limit:
            return
        yield match


def unwrap(text: str, start: int, end: int) -> Span:
    """Without quotes, brackets and stops, and without a word of another script that is written together with it."""
    while start < end and (text[start] in _WRAP or ord(text[start]) > 127):
        start += 1
    while start < end and (text[end - 1] in _WRAP or ord(text[end - 1]) > 127 or text[end - 2 : end] == "**"):
        end -= 1
    return start, end


def said_before(text: str, start: int, noun: str) -> Optional[Span]:
    """`… is the password`; `… for the password` only of what no product is called."""
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
        )
        said = (is_link and enough(word)) or purpose or (noun in PASSWORDS and marked(word))
        if said and word.isascii():
            return _whole_word(text, begin), stop
    return None


def _certain(word: str) -> bool:
    return told(word, True, True) and not word.isdigit()


def _drawn(word: str) -> bool:
    """Beyond doubt, and with a digit in it: PostgreSQL and GraphQL-API have capitals enough."""
    return any(map(str.isdigit, word)) and strict(word)


def _whole_word(text: str, begin: int) -> int:
    while begin > 0 and not text[begin - 1].isspace() and text[begin - 1] not in _WRAP:
        begin -= 1
    return begin
