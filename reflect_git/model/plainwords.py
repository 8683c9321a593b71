"""A text as plain words: small letters, plain forms, marks for what makes an order, and two separators."""

from __future__ import annotations

from reflect_git.model.phrases import IRREGULAR, MARKS, OPENERS, PHRASES, UNSPACED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Optional

_SIGNS = str.maketrans(dict.fromkeys('`"“”„«»*<>「」『』', " ") | {
    "’": "'", "，": ", ", "、": ", ", "。": ". ", "；": "; ", "：": ": ", "！": "! ", "？": "? ",
    "—": " , ", "–": " , ", "\n": " ; ", "（": " ( ", "）": " ) ",
})  # fmt: skip
_TAIL = ".,;:!?…"
_WRAP = "()[]{}'"
_VOWELS = frozenset("aeiouy")
BANS = frozenset(("NOT", "BAN", "PAS", "NOTPOST"))
_BARE_OPENERS = frozenset(
    "hmm hm um uh ok okay yes yeah yep wait actually remember fyi btw hey oh ah so and then".split()
)


def plain_words(text: str) -> list[str]:
    """Marks, stems and the two separators `,` and `;`."""
    text = text.casefold()
    if "`" in text:
        text = _literal(text)
    if ">" in text:
        text = text.replace("->", " → ").replace("=>", " → ")
    text = text.translate(_SIGNS)
    if not text.isascii():
        text = _spaced(text)
    bare = []
    ends = {}
    for raw in text.split():
        if raw.isalnum():  # most are, and this saves half of the time
            bare.append(raw)
            continue
        word = raw.strip(_WRAP)
        kept = word.rstrip(_TAIL).rstrip("'")
        if kept:
            bare.append(kept)
        if len(kept) < len(word):
            ends[len(bare) - 1] = "," if word[-1] == "," else ";"
    return _marked(bare, ends)


def _literal(text: str) -> str:
    """`any` and `in` in backticks are names, not words to drop or to read; of a command no word is dropped."""
    parts = text.split("`")
    if len(parts) % 2 == 0:
        return text
    for at in range(1, len(parts), 2):
        words = parts[at].split()
        if len(words) == 1 and words[0] in MARKS:
            parts[at] = f"={words[0]}"
        elif any(MARKS.get(word) == "" for word in words):
            parts[at] = " ".join([f"={word}" if MARKS.get(word) == "" else word for word in words])
    return " ".join(parts)


def _marked(bare: list[str], ends: dict[int, str]) -> list[str]:
    words: list[str] = []
    at, last = 0, len(bare)
    while at < last:
        word = bare[at]
        length, plain = _phrase(bare, at, ends) if word in PHRASES else (1, None)
        if plain is None:
            plain = _known.get(word)
            if plain is None:
                plain = _stop(bare, at) if word == "stop" else _remember(word)
        if plain == "WHY":
            words.append(";")
        if plain:
            words.append(plain)
        at += length
        if at - 1 in ends:
            words.append(ends[at - 1])
    return words


def _phrase(bare: list[str], at: int, ends: dict[int, str]) -> tuple[int, Optional[str]]:
    """How many words make a phrase here, and its mark; no phrase goes across a comma."""
    for phrase, mark in PHRASES[bare[at]]:
        end = at + len(phrase)
        if bare[at:end] == phrase and not any(spot in ends for spot in range(at, end - 1)):
            return len(phrase), mark
    return 1, None


def _stop(bare: list[str], at: int) -> str:
    """`stop adding` is a ban, `stop the server` an order."""
    return "BAN" if bare[at + 1 : at + 2] and bare[at + 1].endswith("ing") else "stop"


_known = dict(MARKS)


def _remember(word: str) -> str:
    if len(_known) > 20_000:
        _known.clear()
        _known.update(MARKS)
    _known[word] = found = stem(word)
    return found


def _spaced(text: str) -> str:
    """Scripts without spaces: set apart what is a mark, and what is written in other letters."""
    if max(text) < "\u1100":
        return text
    text = text.translate(_NO_PLACES)
    for place, mark in zip(_PLACES, UNSPACED):  # a mark that was found is not cut by a shorter one within it
        if mark in text:
            text = text.replace(mark, place)
    parts = []
    was_ascii = True
    for sign in text:
        is_ascii = sign < "\u1100"
        if is_ascii != was_ascii:
            parts.append(" ")
            was_ascii = is_ascii
        parts.append(_MARK_AT.get(sign) or sign)
    return "".join(parts)


_PLACES = [chr(0xE000 + at) for at in range(len(UNSPACED))]
_MARK_AT = {place: f" {mark} " for place, mark in zip(_PLACES, UNSPACED)}
_NO_PLACES = dict.fromkeys(map(ord, _PLACES))


def opened(words: list[str]) -> list[str]:
    """Without what people say before they say something: "no,", "hmm", "again:"."""
    start = 0
    while start < len(words):
        word = words[start]
        after = words[start + 1] if start + 1 < len(words) else ""
        is_opener = word in OPENERS or (word == "NOT" and after in (",", ";"))
        if word in (",", ";") or (is_opener and (after in (",", ";") or word in _BARE_OPENERS)):
            start += 1
        else:
            break
    end = len(words)
    while end > start and words[end - 1] in (",", ";"):
        end -= 1
    return words[start:end]


def stem(word: str) -> str:
    """Plural, -ing, -ed and a last e do not count."""
    known = IRREGULAR.get(word)
    if known is not None:
        return known
    if len(word) < 4 or not (word.isascii() and word.isalpha()):
        return word
    if word.endswith("ies"):
        return word[:-3] + "y"
    if word.endswith(("ches", "shes", "sses", "xes")):
        return word[:-2]
    if word[-1] == "s" and word[-2] not in "su":
        word = word[:-1]
    for ending in ("ing", "ed"):
        if (
            word.endswith(ending)
            and len(word) - len(ending) > 2
            and not word.endswith("eed")
            and not _VOWELS.isdisjoint(word[: -len(ending)])
        ):
            return _undoubled(word[: -len(ending)])
    return word[:-1] if word[-1] == "e" and len(word) > 3 else word


def _undoubled(word: str) -> str:
    if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "lsz":
        return word[:-1]
    return word[:-1] if word[-1] == "e" else word
