"""Parse a text by meaning, clause by clause: its content words, and whether they are denied.

Frames (parse.py) recognise instructions by their form and produce keys. This module covers more: synonyms and other
languages.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache, lru_cache

from reflect_git.language.words import BANS, MARKS, ORDERS, load_table, opened, plain_words, stem, words_in
from reflect_git.records.named_tuple import NamedTuple

_WORDS = load_table("meanings")


def _firsts(name: str) -> dict[str, str]:
    return {stem(word): stem(line.split()[0]) for line in _WORDS[name] for word in line.split()}


_CANON = _firsts("same")  # one word for those that mean the same in an order
_ROUGHLY = _firsts("near")  # near enough for two that seem to be at odds, but not to be taken for one

_AKIN = _firsts("akin")  # near enough to be shown beside each other, and for nothing else


def akin(word: str) -> str:
    """Return the stem that represents all words on the same subject."""
    word = roughly(canon(FOREIGN.get(word, word)))
    return _AKIN.get(word, word)


def canon(word: str) -> str:
    """Return the stem that represents all words with the same meaning."""
    return _CANON.get(word, word)


def roughly(word: str) -> str:
    """Return the stem that represents all canonical words with nearly the same meaning."""
    return _ROUGHLY.get(word, word)


def _sets(name: str) -> tuple[frozenset[str], ...]:
    return tuple(frozenset(roughly(canon(stem(word))) for word in line.split()) for line in _WORDS[name])


def _stems(name: str) -> frozenset[str]:
    return frozenset(map(stem, _WORDS[name].split()))


(EMPTY,) = _sets("empty")  # words that say nothing of what a clause is about
(AVOIDING,) = _sets("avoiding")  # who does this with a thing wants no more of it: "strip blanks", "mock the clock"
UNITS = _stems("units")  # beside another number, another unit does not make it another thing
ALTERNATIVES = _sets("alternatives")  # of each of these a thing has one
SCOPES = _sets("scopes")  # where these differ, both may hold
PURPOSES = _stems("purposes")  # "use yarn" and "use npm for installing packages" are about one thing
JOBS = _stems("jobs")  # of these purposes each may have its own tool
LOOSE = _stems("loose")  # these say little of what a rule is about
LANGUAGES = frozenset(map(canon, _stems("languages")))  # another one for the same program is at odds
_COUNTED = "one two three four five six seven eight nine ten".split()
NUMBERS = {form: str(number) for number, word in enumerate(_COUNTED, 1) for form in (stem(word), word)}


def _by_word() -> dict[str, str]:
    found = {}
    for meaning, words in _WORDS["foreign"].items():
        plain = MARKS.get(meaning, stem(meaning))
        found.update({stem(word): plain for word in words.split() if stem(word) != plain})
    return found


FOREIGN = _by_word()  # words of orders in other languages, in English
_UNSPACED: dict[str, str] = _WORDS["unspaced"]
_WORD = "|".join(sorted(_UNSPACED, key=lambda word: -len(word)))
_BEFORE = rf"(?:每次|在)?({_WORD}|[a-z]+)\s*(?:する)?(?:之前|以前|前|하기 전)(?:に|必ず|先|,|，)*"
_AFTER = rf"(?:每次|在)?({_WORD}|[a-z]+)\s*(?:した)?(?:之后|以后|后|後)(?:に|,|，)*"


def in_english(text: str) -> str:
    """Separate and translate words in scripts without spaces; other languages are translated word by word."""
    if text.isascii() or max(text) < "\u3040":
        return text
    text = re.sub(_BEFORE, r" before \1 , ", text)  # compiled with the first such text, and kept by `re`
    text = re.sub(_AFTER, r" after \1 , ", text)
    return re.sub(_WORD, lambda found: f" {_UNSPACED[found[0]]} ", text)


# One form for what people say in many: "isn't", "may not exceed", "every night". Each form in `spoken.json` comes with
# what a text must hold for a look to be worth while: of 10,000 texts, most have none of it.
_READ = 600
_COUNT = rf"(?=\d|(?:{'|'.join(NUMBERS)})\b)"


@cache
def _forms() -> list[tuple[list[str], str, str]]:
    numbers = "|".join(f" {word}" for word in NUMBERS)
    return [
        (hints.replace("{numbers}", numbers).split("|"), pattern.replace("{count}", _COUNT), plain)
        for hints, pattern, plain in load_table("spoken")["spoken"]
    ]


@lru_cache(maxsize=16384)
def plainly(text: str) -> str:
    """Return the text in lower case, with one form for phrases that are said in many ways."""
    text = " ".join(text[:_READ].casefold().replace("\n", " ; ").split())
    for hints, pattern, plain in _forms():
        if any(map(text.__contains__, hints)):
            text = re.sub(pattern, plain, text)  # compiled when a text has a hint of it, and kept by `re`
    return text


_LONGEST = 200  # of a text that may be the same as another one: a story has more to it than its words
_ENDS = frozenset((",", ";", "BUT", "WHY"))
_MARKS = BANS | frozenset(
    "USE USEPOST PREFER ALWAYS ASK VAGUE INSTEAD INSTEADPOST USED GONE WITHOUT OVER BUT WHY ARROW instead".split()
)
# These say no to something in a way of their own: what is ignored may be there, what is skipped may be written.
_MILD = frozenset("GONE off untouch ignor gitignor skip disabl needless unnecessary".split())
# An odd number of these says no: "don't X until Y" says yes to X.
_DENIALS = BANS | _MILD | frozenset("off-limits omit refrain".split())
WHEN = frozenset("before after when if unless until except while during once".split())
# Of these nothing is lost: they say that something is so, or point at what is there.
_LIGHT = frozenset(canon(stem(word)) for word in words_in("meanings", "light"))
_POINTING = frozenset("it them they".split())
_SILENT = (_LIGHT | {"keep"}) - frozenset("for with by in on to into onto from through via as".split())


class Clause(NamedTuple):
    """One clause of a text: its words, and whether they are denied.

    `tagged` marks the words of a condition with the word that begins it. `words` and `near` use one word for all with
    nearly the same meaning. `said` and `near` keep all words in order.
    """

    denied: bool
    words: frozenset[str]
    tagged: frozenset[str]
    is_reason: bool
    said: tuple[str, ...]
    near: tuple[str, ...]


@lru_cache(maxsize=16384)
def words_of(text: str) -> tuple[str, ...]:
    """Return the marks and plain words of a text; other languages are translated word by word."""
    words = opened(plain_words(in_english(plainly(text))))
    is_foreign = sum(word in FOREIGN for word in words) > 1
    # A short word may be an English one: ES modules, the MIT license, a TODO.
    sure = [word for word in words if is_foreign or len(word) > 4 or not word.isascii()]
    meant = NUMBERS | {word: FOREIGN[word] for word in sure if word in FOREIGN}
    return tuple(canon(meant.get(word, word)) for word in words)


@lru_cache(maxsize=16384)
def clauses_of(text: str) -> tuple[Clause, ...]:
    found: list[Clause] = []
    topic: list[str] = []
    for part, is_denied, is_reason in _parts(words_of(text)):
        clause = _clause(part, is_denied, is_reason, topic, list(found[-1].said) if found else [])
        if clause:
            found.append(clause)
            topic = _topic(part)
    return tuple(found)


_Part = tuple[list[str], bool, bool]


def _parts(words: Sequence[str]) -> list[_Part]:
    """Split words at separators; each part comes with whether it is denied and whether it gives a reason."""
    found: list[_Part] = []
    part: list[str] = []
    is_denied = is_reason = False
    for word in (*words, ";"):
        is_turned = word == "OVER" or (word in BANS and part[-1:] != ["USE"])  # "use X not Y"
        if word == "INSTEAD" or (is_turned and not _WISHES.isdisjoint(part)):
            found.append((part, is_denied, is_reason))
            part, is_denied = [], not is_denied
        elif word == "WITHOUT":
            part.append(word)
        elif word == "INSTEADPOST":
            found.append((part, True, is_reason))
            part, is_denied = [], False
        elif word in _ENDS:
            found.append((part, is_denied, is_reason))
            if part or word == "WHY":
                is_reason = word == "WHY"
            part, is_denied = [], False
        else:
            part.append(word)
    return [(part, denied, reason) for part, denied, reason in found if part]


_WISHES = frozenset(("USE", "PREFER"))


def _clause(part: list[str], denied: bool, is_reason: bool, topic: list[str], before: list[str]) -> Clause | None:
    if topic and not _POINTING.isdisjoint(part):
        part = [*part, *(topic if "do" not in part else before)]
    at = part.index("be") if "be" in part else 0
    if at and part[at + 1 : at + 2] and part[at + 1] in ORDERS:  # "X must be removed"
        part = [part[at + 1], *part[:at], *part[at + 2 :]]
    if len(part) in (3, 4) and part[0] in ORDERS and part[1] == "with":  # "indent with tabs"
        part = [*part[2:], "for", part[0]]
    part, denied = _turned(part, denied)
    said = [word for word in part if word not in _MARKS and word not in _DENIALS]
    noes = denied + sum(word in _DENIALS for word in part)
    mild = _MILD.intersection(part)
    if noes % 2 and not mild and said[1:] and said[0] in MAKING and said[1] not in _LIGHT:  # "don't add X" is "no X"
        said = said[1:]
    words: set[str] = set()
    tagged: set[str] = set(mild)
    tag = ""
    for at, word in enumerate(said):
        if word in WHEN and at + 1 < len(said):
            tag = f"{word}:"
        elif tag and tagged and said[0] in WHEN and word in ORDERS:
            tag = ""  # "after each edit run the linter"
            words.add(roughly(word))
            tagged.add(word)
        elif word in _LIGHT:
            continue
        else:
            words.add(roughly(word))
            tagged.add(tag + word)
    if not words:
        return None
    near = tuple(map(roughly, said))
    return Clause(noes % 2 == 1, frozenset(words), frozenset(tagged), is_reason, tuple(said), near)


_LIMITS = frozenset("when if after at in on for during".split())
MAKING = frozenset("add writ put creat includ hav".split())


def _turned(part: list[str], denied: bool) -> tuple[list[str], bool]:
    """Rewrite sequences to one form: "no B until A", "no B before A", "never B without A" and "B only after A"."""
    bans = sum(word in BANS for word in part)
    is_alone = part[:2] == ["ONLY", "i"]  # "only I merge"
    who = part[1:] if is_alone else part
    if who[0] == "i" and who[1:2] and who[1] in ORDERS and (is_alone or "myself" in part or bans):
        return [word for word in who[1:] if word != "myself" and word not in BANS], not denied
    if "WITHOUT" in part:
        at = part.index("WITHOUT")
        what, missing = [word for word in part[:at] if word not in BANS], part[at + 1 :]
        if what and missing and (bans == 1 or missing[0] in ORDERS) and bans < 2:
            return [*missing, "before", *what], not (bans or denied)
        return [*part[:at], "BAN", *part[at + 1 :]] if not bans else part, denied
    if "ONLY" in part and not bans:
        at = next((at for at, word in enumerate(part) if word in _LIMITS), 0)
        is_limit = part[0] == "ONLY" or part[at - 1] == "ONLY"  # not "in English only"
        what = [word for word in part[:at] if is_limit and word != "ONLY"]
        if what and part[at] == "after":
            return [*part[at + 1 :], "before", *what], denied
        if what:  # "only X when C": not X unless C
            return [*what, "unless", *part[at + 1 :]], not denied
    at = next((at for at, word in enumerate(part) if word in ("until", "before")), 0)
    if bans == 1 and at and not BANS.isdisjoint(part[:at]) and not denied:
        return [*part[at + 1 :], "before", *(word for word in part[:at] if word not in BANS)], False
    return part, denied


def _topic(part: list[str]) -> list[str]:
    """Return what "it" in the next clause refers to: the subject, or the object of an action."""
    words = [word for word in part if word not in _MARKS and word not in _DENIALS]
    if words[:1] and "is" not in words[1:4] and (words[0] in ORDERS or part[0] in BANS):
        words = words[1:]
    found: list[str] = []
    for word in words:
        if word in ("is", "be") or word in WHEN or len(found) == 2:
            break
        found += [word] if word not in _LIGHT else []
    return found


Sense = tuple[tuple[bool, tuple[str, ...]], ...]


@lru_cache(maxsize=16384)
def sense_of(text: str) -> Sense | None:
    """Return a form that other wordings of the same meaning share; None for questions and texts not fully parsed.

    It keeps the order of words, because "merge A into B" is not "merge B into A".
    """
    words = words_of(text)
    if len(text) > _LONGEST or text.rstrip()[-1:] in ("?", "？") or " fails here" in text:
        return None
    if "VAGUE" in words or "ASK" in words:
        return None
    clauses = [clause for clause in clauses_of(text) if not clause.is_reason]
    is_exclusive = any(clause.denied for clause in clauses)
    forms = [(clause.denied, _form(clause, is_exclusive)) for clause in clauses]
    return tuple(sorted(forms, key=lambda form: form[0])) or None


def _form(clause: Clause, is_exclusive: bool) -> tuple[str, ...]:
    silent = _SILENT | {"i", "me"} if "ask" in clause.said else _SILENT  # who is asked goes without saying
    silent = silent | {"ONLY"} if is_exclusive else silent  # "never Y, only X"
    said = [word for word in clause.said if word not in silent]
    return (*said, *sorted(clause.tagged & _MILD))


def agree(one: Sense | None, other: Sense | None) -> bool:
    """Return whether two senses mean the same, where one may say less: "no Y" and "use X, not Y".

    A text that also forbids a different action, such as "use quills, don't publish letters", says two things.
    """
    if not one or not other or one == other:
        return bool(one) and one == other
    less, more = sorted((one, other), key=len)
    if (len(less), len(more)) != (1, 2) or less[0] not in more:
        return False
    (is_ban, wanted), (is_denied, unwanted) = sorted(more)
    return not is_ban and is_denied and ORDERS.isdisjoint(set(unwanted).difference(wanted))
