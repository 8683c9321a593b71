"""Parse a text by meaning, clause by clause: its content words, and whether they are denied.

Frames (parse.py) recognise instructions by their form and produce keys. This module covers more: synonyms and other
languages.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache, lru_cache

from reflect_git.language.words import (
    BAN_MARKS,
    ORDER_VERBS,
    WORD_MARKS,
    drop_openers,
    load_table,
    load_words,
    plain_words,
    stem,
)
from reflect_git.records.named_tuple import NamedTuple

_WORD_LISTS = load_table("meanings")


def _load_representatives(name: str) -> dict[str, str]:
    return {stem(word): stem(line.split()[0]) for line in _WORD_LISTS[name] for word in line.split()}


_CANONICAL_STEMS = _load_representatives("same")  # one word for those that mean the same in an order
_NEAR_STEMS = _load_representatives("near")  # near enough for two that seem to be at odds, but not to be taken for one

_SUBJECT_STEMS = _load_representatives("akin")  # near enough to be shown beside each other, and for nothing else


def get_subject_stem(word: str) -> str:
    """Return the stem that represents all words on the same subject."""
    word = get_near_stem(get_canonical_stem(FOREIGN_WORDS.get(word, word)))
    return _SUBJECT_STEMS.get(word, word)


def get_canonical_stem(word: str) -> str:
    """Return the stem that represents all words with the same meaning."""
    return _CANONICAL_STEMS.get(word, word)


def get_near_stem(word: str) -> str:
    """Return the stem that represents all canonical words with nearly the same meaning."""
    return _NEAR_STEMS.get(word, word)


def _load_word_sets(name: str) -> tuple[frozenset[str], ...]:
    return tuple(
        frozenset(get_near_stem(get_canonical_stem(stem(word))) for word in line.split()) for line in _WORD_LISTS[name]
    )


def _load_stems(name: str) -> frozenset[str]:
    return frozenset(map(stem, _WORD_LISTS[name].split()))


(EMPTY_WORDS,) = _load_word_sets("empty")  # words that say nothing of what a clause is about
(AVOIDING_VERBS,) = _load_word_sets(
    "avoiding"
)  # who does this with a thing wants no more of it: "strip blanks", "mock the clock"
UNITS = _load_stems("units")  # beside another number, another unit does not make it another thing
ALTERNATIVES = _load_word_sets("alternatives")  # of each of these a thing has one
SCOPES = _load_word_sets("scopes")  # where these differ, both may hold
PURPOSES = _load_stems("purposes")  # "use yarn" and "use npm for installing packages" are about one thing
JOBS = _load_stems("jobs")  # of these purposes each may have its own tool
VAGUE_WORDS = _load_stems("loose")  # these say little of what a rule is about
LANGUAGES = frozenset(map(get_canonical_stem, _load_stems("languages")))  # another one for the same program is at odds
_NUMBER_WORDS = "one two three four five six seven eight nine ten".split()
NUMBERS = {form: str(number) for number, word in enumerate(_NUMBER_WORDS, 1) for form in (stem(word), word)}


def _build_foreign_words() -> dict[str, str]:
    found = {}
    for meaning, words in _WORD_LISTS["foreign"].items():
        plain = WORD_MARKS.get(meaning, stem(meaning))
        found.update({stem(word): plain for word in words.split() if stem(word) != plain})
    return found


FOREIGN_WORDS = _build_foreign_words()  # words of orders in other languages, in English
_UNSPACED_WORDS: dict[str, str] = _WORD_LISTS["unspaced"]
_UNSPACED_PATTERN = "|".join(sorted(_UNSPACED_WORDS, key=lambda word: -len(word)))
_BEFORE_PATTERN = rf"(?:每次|在)?({_UNSPACED_PATTERN}|[a-z]+)\s*(?:する)?(?:之前|以前|前|하기 전)(?:に|必ず|先|,|，)*"
_AFTER_PATTERN = rf"(?:每次|在)?({_UNSPACED_PATTERN}|[a-z]+)\s*(?:した)?(?:之后|以后|后|後)(?:に|,|，)*"


def translate_unspaced(text: str) -> str:
    """Separate and translate words in scripts without spaces; other languages are translated word by word."""
    if text.isascii() or max(text) < "\u3040":
        return text
    text = re.sub(_BEFORE_PATTERN, r" before \1 , ", text)  # compiled with the first such text, and kept by `re`
    text = re.sub(_AFTER_PATTERN, r" after \1 , ", text)
    return re.sub(_UNSPACED_PATTERN, lambda found: f" {_UNSPACED_WORDS[found[0]]} ", text)


# One form for what people say in many: "isn't", "may not exceed", "every night". Each form in `spoken.json` comes with
# what a text must hold for a look to be worth while: of 10,000 texts, most have none of it.
_READ_LIMIT = 600
_COUNT_PATTERN = rf"(?=\d|(?:{'|'.join(NUMBERS)})\b)"


@cache
def _load_forms() -> list[tuple[list[str], str, str]]:
    numbers = "|".join(f" {word}" for word in NUMBERS)
    return [
        (hints.replace("{numbers}", numbers).split("|"), pattern.replace("{count}", _COUNT_PATTERN), plain)
        for hints, pattern, plain in load_table("spoken")["spoken"]
    ]


@lru_cache(maxsize=16384)
def normalize_phrases(text: str) -> str:
    """Return the text in lower case, with one form for phrases that are said in many ways."""
    text = " ".join(text[:_READ_LIMIT].casefold().replace("\n", " ; ").split())
    for hints, pattern, plain in _load_forms():
        if any(map(text.__contains__, hints)):
            text = re.sub(pattern, plain, text)  # compiled when a text has a hint of it, and kept by `re`
    return text


_SENSE_LIMIT = 200  # of a text that may be the same as another one: a story has more to it than its words
_CLAUSE_ENDS = frozenset((",", ";", "BUT", "WHY"))
_MARK_WORDS = BAN_MARKS | frozenset(
    "USE USEPOST PREFER ALWAYS ASK VAGUE INSTEAD INSTEADPOST USED GONE WITHOUT OVER BUT WHY ARROW instead".split()
)
# These say no to something in a way of their own: what is ignored may be there, what is skipped may be written.
_MILD_DENIALS = frozenset("GONE off untouch ignor gitignor skip disabl needless unnecessary".split())
# An odd number of these says no: "don't X until Y" says yes to X.
_DENIALS = BAN_MARKS | _MILD_DENIALS | frozenset("off-limits omit refrain".split())
CONDITION_WORDS = frozenset("before after when if unless until except while during once".split())
# Of these nothing is lost: they say that something is so, or point at what is there.
_LIGHT_WORDS = frozenset(get_canonical_stem(stem(word)) for word in load_words("meanings", "light"))
_PRONOUNS = frozenset("it them they".split())
_SILENT_WORDS = (_LIGHT_WORDS | {"keep"}) - frozenset("for with by in on to into onto from through via as".split())


class Clause(NamedTuple):
    """One clause of a text: its words, and whether they are denied.

    `tagged` marks the words of a condition with the word that begins it. `words` and `near` use one word for all with
    nearly the same meaning. `ordered_words` and `near` keep all words in order.
    """

    denied: bool
    words: frozenset[str]
    tagged: frozenset[str]
    is_reason: bool
    ordered_words: tuple[str, ...]
    near: tuple[str, ...]


@lru_cache(maxsize=16384)
def get_words(text: str) -> tuple[str, ...]:
    """Return the marks and plain words of a text; other languages are translated word by word."""
    words = drop_openers(plain_words(translate_unspaced(normalize_phrases(text))))
    is_foreign = sum(word in FOREIGN_WORDS for word in words) > 1
    # A short word may be an English one: ES modules, the MIT license, a TODO.
    sure = [word for word in words if is_foreign or len(word) > 4 or not word.isascii()]
    meant = NUMBERS | {word: FOREIGN_WORDS[word] for word in sure if word in FOREIGN_WORDS}
    return tuple(get_canonical_stem(meant.get(word, word)) for word in words)


@lru_cache(maxsize=16384)
def parse_clauses(text: str) -> tuple[Clause, ...]:
    found: list[Clause] = []
    topic: list[str] = []
    for part, is_denied, is_reason in _split_parts(get_words(text)):
        clause = _build_clause(part, is_denied, is_reason, topic, list(found[-1].ordered_words) if found else [])
        if clause:
            found.append(clause)
            topic = _find_topic(part)
    return tuple(found)


_Part = tuple[list[str], bool, bool]


def _split_parts(words: Sequence[str]) -> list[_Part]:
    """Split words at separators; each part comes with whether it is denied and whether it gives a reason."""
    found: list[_Part] = []
    part: list[str] = []
    is_denied = is_reason = False
    for word in (*words, ";"):
        is_turned = word == "OVER" or (word in BAN_MARKS and part[-1:] != ["USE"])  # "use X not Y"
        if word == "INSTEAD" or (is_turned and not _WISH_MARKS.isdisjoint(part)):
            found.append((part, is_denied, is_reason))
            part, is_denied = [], not is_denied
        elif word == "WITHOUT":
            part.append(word)
        elif word == "INSTEADPOST":
            found.append((part, True, is_reason))
            part, is_denied = [], False
        elif word in _CLAUSE_ENDS:
            found.append((part, is_denied, is_reason))
            if part or word == "WHY":
                is_reason = word == "WHY"
            part, is_denied = [], False
        else:
            part.append(word)
    return [(part, denied, reason) for part, denied, reason in found if part]


_WISH_MARKS = frozenset(("USE", "PREFER"))


def _build_clause(part: list[str], denied: bool, is_reason: bool, topic: list[str], before: list[str]) -> Clause | None:
    if topic and not _PRONOUNS.isdisjoint(part):
        part = [*part, *(topic if "do" not in part else before)]
    at = part.index("be") if "be" in part else 0
    if at and part[at + 1 : at + 2] and part[at + 1] in ORDER_VERBS:  # "X must be removed"
        part = [part[at + 1], *part[:at], *part[at + 2 :]]
    if len(part) in (3, 4) and part[0] in ORDER_VERBS and part[1] == "with":  # "indent with tabs"
        part = [*part[2:], "for", part[0]]
    part, denied = _rewrite_order(part, denied)
    said = [word for word in part if word not in _MARK_WORDS and word not in _DENIALS]
    noes = denied + sum(word in _DENIALS for word in part)
    mild = _MILD_DENIALS.intersection(part)
    if (
        noes % 2 and not mild and said[1:] and said[0] in CREATING_VERBS and said[1] not in _LIGHT_WORDS
    ):  # "don't add X" is "no X"
        said = said[1:]
    words: set[str] = set()
    tagged: set[str] = set(mild)
    tag = ""
    for at, word in enumerate(said):
        if word in CONDITION_WORDS and at + 1 < len(said):
            tag = f"{word}:"
        elif tag and tagged and said[0] in CONDITION_WORDS and word in ORDER_VERBS:
            tag = ""  # "after each edit run the linter"
            words.add(get_near_stem(word))
            tagged.add(word)
        elif word in _LIGHT_WORDS:
            continue
        else:
            words.add(get_near_stem(word))
            tagged.add(tag + word)
    if not words:
        return None
    near = tuple(map(get_near_stem, said))
    return Clause(noes % 2 == 1, frozenset(words), frozenset(tagged), is_reason, tuple(said), near)


_LIMIT_WORDS = frozenset("when if after at in on for during".split())
CREATING_VERBS = frozenset("add writ put creat includ hav".split())


def _rewrite_order(part: list[str], denied: bool) -> tuple[list[str], bool]:
    """Rewrite sequences to one form: "no B until A", "no B before A", "never B without A" and "B only after A"."""
    bans = sum(word in BAN_MARKS for word in part)
    is_alone = part[:2] == ["ONLY", "i"]  # "only I merge"
    who = part[1:] if is_alone else part
    if who[0] == "i" and who[1:2] and who[1] in ORDER_VERBS and (is_alone or "myself" in part or bans):
        return [word for word in who[1:] if word != "myself" and word not in BAN_MARKS], not denied
    if "WITHOUT" in part:
        at = part.index("WITHOUT")
        what, missing = [word for word in part[:at] if word not in BAN_MARKS], part[at + 1 :]
        if what and missing and (bans == 1 or missing[0] in ORDER_VERBS) and bans < 2:
            return [*missing, "before", *what], not (bans or denied)
        return [*part[:at], "BAN", *part[at + 1 :]] if not bans else part, denied
    if "ONLY" in part and not bans:
        at = next((at for at, word in enumerate(part) if word in _LIMIT_WORDS), 0)
        is_limit = part[0] == "ONLY" or part[at - 1] == "ONLY"  # not "in English only"
        what = [word for word in part[:at] if is_limit and word != "ONLY"]
        if what and part[at] == "after":
            return [*part[at + 1 :], "before", *what], denied
        if what:  # "only X when C": not X unless C
            return [*what, "unless", *part[at + 1 :]], not denied
    at = next((at for at, word in enumerate(part) if word in ("until", "before")), 0)
    if bans == 1 and at and not BAN_MARKS.isdisjoint(part[:at]) and not denied:
        return [*part[at + 1 :], "before", *(word for word in part[:at] if word not in BAN_MARKS)], False
    return part, denied


def _find_topic(part: list[str]) -> list[str]:
    """Return what "it" in the next clause refers to: the subject, or the object of an action."""
    words = [word for word in part if word not in _MARK_WORDS and word not in _DENIALS]
    if words[:1] and "is" not in words[1:4] and (words[0] in ORDER_VERBS or part[0] in BAN_MARKS):
        words = words[1:]
    found: list[str] = []
    for word in words:
        if word in ("is", "be") or word in CONDITION_WORDS or len(found) == 2:
            break
        found += [word] if word not in _LIGHT_WORDS else []
    return found


Sense = tuple[tuple[bool, tuple[str, ...]], ...]


@lru_cache(maxsize=16384)
def parse_sense(text: str) -> Sense | None:
    """Return a form that other wordings of the same meaning share; None for questions and texts not fully parsed.

    It keeps the order of words, because "merge A into B" is not "merge B into A".
    """
    words = get_words(text)
    if len(text) > _SENSE_LIMIT or text.rstrip()[-1:] in ("?", "？") or " fails here" in text:
        return None
    if "VAGUE" in words or "ASK" in words:
        return None
    clauses = [clause for clause in parse_clauses(text) if not clause.is_reason]
    is_exclusive = any(clause.denied for clause in clauses)
    forms = [(clause.denied, _build_form(clause, is_exclusive)) for clause in clauses]
    return tuple(sorted(forms, key=lambda form: form[0])) or None


def _build_form(clause: Clause, is_exclusive: bool) -> tuple[str, ...]:
    silent = (
        _SILENT_WORDS | {"i", "me"} if "ask" in clause.ordered_words else _SILENT_WORDS
    )  # who is asked goes without saying
    silent = silent | {"ONLY"} if is_exclusive else silent  # "never Y, only X"
    said = [word for word in clause.ordered_words if word not in silent]
    return (*said, *sorted(clause.tagged & _MILD_DENIALS))


def have_same_sense(one: Sense | None, other: Sense | None) -> bool:
    """Return whether two senses mean the same, where one may say less: "no Y" and "use X, not Y".

    A text that also forbids a different action, such as "use quills, don't publish letters", says two things.
    """
    if not one or not other or one == other:
        return bool(one) and one == other
    less, more = sorted((one, other), key=len)
    if (len(less), len(more)) != (1, 2) or less[0] not in more:
        return False
    (is_ban, wanted), (is_denied, unwanted) = sorted(more)
    return not is_ban and is_denied and ORDER_VERBS.isdisjoint(set(unwanted).difference(wanted))
