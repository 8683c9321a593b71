"""Split a text into plain words: lower case, stems, marks for the parts of an instruction, and two separators.

Also loads the word tables in `knowledge/`, and splits messages into sentences.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Optional

KNOWLEDGE_DIR = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "knowledge")
_tables: dict[str, dict[str, Any]] = {}


class _ScannerContext:
    """The attributes that the C scanner of `json` needs, with the values of `json.JSONDecoder`."""

    strict = True
    object_hook = object_pairs_hook = None
    parse_float, parse_int, parse_constant = float, int, float

    def __init__(self) -> None:
        self.memo: dict[str, str] = {}


def _parse_json(text: str) -> dict[str, Any]:
    """Parse a table without `import json`, which takes as long as the rest of a hook."""
    try:
        from _json import make_scanner
    except ImportError:
        import json

        return dict(json.loads(text))
    scan: Any = make_scanner(_ScannerContext())  # type: ignore[arg-type]
    return dict(scan(text.strip(), 0)[0])


def load_table(name: str) -> dict[str, Any]:
    """Return the table `knowledge/NAME.json`, loaded once."""
    if name not in _tables:
        with open(os.path.join(KNOWLEDGE_DIR, f"{name}.json"), encoding="utf-8") as file:
            _tables[name] = _parse_json(file.read())
    return _tables[name]


def load_words(name: str, key: str) -> frozenset[str]:
    """Return the words of a key in the table, as a set."""
    return frozenset(load_table(name)[key].split())


_WORD_LISTS = load_table("orders")


def _index_phrases() -> dict[str, list[tuple[list[str], str]]]:
    """Map each first word to the phrases that begin with it, longest first."""
    found: dict[str, list[tuple[list[str], str]]] = {}
    for mark, phrases in _WORD_LISTS["phrases"]:
        for phrase in phrases.split("|"):
            words = phrase.split()
            found.setdefault(words[0], []).append((words, mark))
    for starting in found.values():
        starting.sort(key=lambda phrase: -len(phrase[0]))
    return found


PHRASES_BY_FIRST_WORD = _index_phrases()
# Said before anything is said: dropped at the beginning, with what follows up to the comma.
OPENER_WORDS = load_words("orders", "openers")
SUBJECTS = load_words("orders", "subjects")
WE_WORDS = load_words("orders", "us")  # who says "we use X"
PROJECT_WORDS = load_words("orders", "houses")
REFUSAL_WORDS = load_words("orders", "refusals")  # a sentence of one word that only says no to what was done
SILENT_MARKS = frozenset(("USE", "USEPOST", "PREFER", "ALWAYS", "ONLY", "instead", "ASK", "will"))  # how, not what
ORDER_VERBS = load_words("orders", "verbs")  # the verbs that begin an order; stems
PREPOSITIONS = load_words("orders", "prepositions")
REASON_WORDS = load_words("orders", "reasons")
FILLER_WORDS = load_words("orders", "talk")  # no name of a thing: what stands before a "not" in talk
IRREGULAR_STEMS: dict[str, str] = _WORD_LISTS["irregular"]
WORD_MARKS: dict[str, str] = {word: mark for mark, words in _WORD_LISTS["marked"].items() for word in words.split()}
# French puts its negation around the verb; the second half alone says nothing.
WORD_MARKS.update(dict.fromkeys((*_WORD_LISTS["dropped"].split(), *_WORD_LISTS["dropped_whole"].split()), ""))
for _word in (*PREPOSITIONS, *SUBJECTS, *REASON_WORDS, *FILLER_WORDS, "be", "from", "to", "with", "by", "something"):
    WORD_MARKS.setdefault(_word, _word)
_UNSPACED_MARK_NAMES = ("BAN", "INSTEAD", "INSTEADPOST", "NOTPOST", "USEPOST", "ALWAYS", "USE")
# Where a script does without spaces: these are set apart before anything else is looked at.
UNSPACED_MARK_WORDS = tuple(
    sorted(
        (
            word
            for mark in _UNSPACED_MARK_NAMES
            for word in _WORD_LISTS["marked"][mark].split()
            if word[0] >= "\u3040" < word[1:]
        ),
        key=lambda word: -len(word),
    )
)


_PUNCTUATION_TABLE = str.maketrans(dict.fromkeys('`"“”„«»*<>「」『』', " ") | {
    "’": "'", "，": ", ", "、": ", ", "。": ". ", "；": "; ", "：": ": ", "！": "! ", "？": "? ",
    "—": " , ", "–": " , ", "\n": " ; ", "（": " ( ", "）": " ) ",
})  # fmt: skip
_TRAILING_SIGNS = ".,;:!?…"
_WRAPPING_SIGNS = "()[]{}'"
_VOWELS = frozenset("aeiouy")
BAN_MARKS = frozenset(("NOT", "BAN", "PAS", "NOTPOST"))
_BARE_OPENERS = load_words("orders", "bare_openers")


def plain_words(text: str) -> list[str]:
    """Return the marks and stems of a text, with the two separators `,` and `;`."""
    text = text.casefold()
    if "`" in text:
        text = _mark_literals(text)
    if ">" in text:
        text = text.replace("->", " → ").replace("=>", " → ")
    text = text.translate(_PUNCTUATION_TABLE)
    if not text.isascii():
        text = _space_out(text)
    bare = []
    ends = {}
    for raw in text.split():
        if raw.isalnum():  # most are, and this saves half of the time
            bare.append(raw)
            continue
        word = raw.strip(_WRAPPING_SIGNS)
        kept = word.rstrip(_TRAILING_SIGNS).rstrip("'")
        if kept:
            bare.append(kept)
        if len(kept) < len(word):
            ends[len(bare) - 1] = "," if word[-1] == "," else ";"
    return _mark_words(bare, ends)


def _mark_literals(text: str) -> str:
    """Mark `any` and `in` in backticks as names, so that they are neither dropped nor parsed.

    Commands keep all of their words.
    """
    parts = text.split("`")
    if len(parts) % 2 == 0:
        return text
    for at in range(1, len(parts), 2):
        words = parts[at].split()
        if len(words) == 1 and words[0] in WORD_MARKS:
            parts[at] = f"={words[0]}"
        elif any(WORD_MARKS.get(word) == "" for word in words):
            parts[at] = " ".join([f"={word}" if WORD_MARKS.get(word) == "" else word for word in words])
    return " ".join(parts)


def _mark_words(bare: list[str], ends: dict[int, str]) -> list[str]:
    words: list[str] = []
    at, last = 0, len(bare)
    while at < last:
        word = bare[at]
        length, plain = _match_phrase(bare, at, ends) if word in PHRASES_BY_FIRST_WORD else (1, None)
        if plain is None:
            plain = _stem_cache.get(word)
        if plain is None and word == "stop":  # `stop adding` is a ban, `stop the server` an order
            plain = "BAN" if "".join(bare[at + 1 : at + 2]).endswith("ing") else "stop"
        elif plain is None:
            plain = _cache_stem(word)
        if plain == "WHY":
            words.append(";")
        if plain:
            words.append(plain)
        at += length
        if at - 1 in ends:
            words.append(ends[at - 1])
    return words


def _match_phrase(bare: list[str], at: int, ends: dict[int, str]) -> tuple[int, Optional[str]]:
    """Return how many words form a phrase here, and its mark; phrases do not cross a comma."""
    for phrase, mark in PHRASES_BY_FIRST_WORD[bare[at]]:
        end = at + len(phrase)
        if bare[at:end] == phrase and not any(spot in ends for spot in range(at, end - 1)):
            return len(phrase), mark
    return 1, None


_stem_cache = dict(WORD_MARKS)


def _cache_stem(word: str) -> str:
    if len(_stem_cache) > 20_000:
        _stem_cache.clear()
        _stem_cache.update(WORD_MARKS)
    _stem_cache[word] = found = stem(word)
    return found


def _space_out(text: str) -> str:
    """Separate marks and foreign letters in scripts without spaces."""
    if max(text) < "\u1100":
        return text
    text = text.translate(_DROP_PLACEHOLDERS)
    for place, mark in zip(
        _PLACEHOLDERS, UNSPACED_MARK_WORDS
    ):  # a mark that was found is not cut by a shorter one within it
        if mark in text:
            text = text.replace(mark, place)
    parts = []
    was_ascii = True
    for sign in text:
        is_ascii = sign < "\u1100"
        if is_ascii != was_ascii:
            parts.append(" ")
            was_ascii = is_ascii
        parts.append(_PLACEHOLDER_MARKS.get(sign) or sign)
    return "".join(parts)


_PLACEHOLDERS = [chr(0xE000 + at) for at in range(len(UNSPACED_MARK_WORDS))]
_PLACEHOLDER_MARKS = {place: f" {mark} " for place, mark in zip(_PLACEHOLDERS, UNSPACED_MARK_WORDS)}
_DROP_PLACEHOLDERS = dict.fromkeys(map(ord, _PLACEHOLDERS))


def drop_openers(words: list[str]) -> list[str]:
    """Drop introductory words such as "no,", "hmm" and "again:"."""
    start = 0
    while start < len(words):
        word = words[start]
        after = words[start + 1] if start + 1 < len(words) else ""
        is_opener = word in OPENER_WORDS or (word == "NOT" and after in (",", ";"))
        if word in (",", ";") or (is_opener and (after in (",", ";") or word in _BARE_OPENERS)):
            start += 1
        else:
            break
    end = len(words)
    while end > start and words[end - 1] in (",", ";"):
        end -= 1
    return words[start:end]


def stem(word: str) -> str:
    """Return the stem of a word: without plural, -ing, -ed and a final e."""
    known = IRREGULAR_STEMS.get(word)
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
            return _undouble(word[: -len(ending)])
    return word[:-1] if word[-1] == "e" and len(word) > 3 else word


def _undouble(word: str) -> str:
    if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "lsz":
        return word[:-1]
    return word[:-1] if word[-1] == "e" else word
