"""What a text says, clause by clause: the words that carry it, and whether it says no to them.

Frames read orders in the forms that people give them, and make keys. This reads more, by meaning: with another word for
the same thing, and in other languages.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from reflect_git.model.phrases import MARKS, ORDERS
from reflect_git.model.plainwords import BANS, opened, plain_words, stem
from reflect_git.model.tuples import NamedTuple
from reflect_git.review.families import FOREIGN, NUMBERS, canon, in_english
from reflect_git.review.spoken import plainly

_LONGEST = 200  # of a text that may be the same as another one: a story has more to it than its words
_ENDS = frozenset((",", ";", "BUT", "WHY"))
_MARKS = BANS | frozenset(
    "USE USEPOST PREFER ALWAYS ASK VAGUE INSTEAD INSTEADPOST USED GONE WITHOUT OVER BUT WHY ARROW instead".split()
)
# These say no to something in a way of their own: what is ignored may be there, what is skipped may be written.
_MILD = frozenset("GONE off dead untouch ignor gitignor skip disabl needless unnecessary".split())
# An odd number of these says no: "don't X until Y" says yes to X.
_DENIALS = BANS | _MILD | frozenset("off-limits omit refrain".split())
WHEN = frozenset("before after when if unless until except while during once".split())
# Of these nothing is lost: they say that something is so, or point at what is there.
_LIGHT = frozenset(
    canon(stem(word))
    for word in """is be am do done goes live sit belong located must should also too very really already still so then
    and of for with by in on at to into onto from through via under within as it its they them their you we that which
    there here per it's that's shall will anything""".split()
)
_POINTING = frozenset("it them they".split())


_SILENT = (_LIGHT | {"keep"}) - frozenset("for with by in on to into onto from through via as".split())


class Clause(NamedTuple):
    """Its words, those of a condition with the word that begins it, and whether it says no to them."""

    denied: bool
    words: frozenset[str]
    tagged: frozenset[str]
    is_reason: bool
    said: tuple[str, ...]


def _quoted(text: str) -> str:
    """A command is itself to the last word: `just lint` is not to lint."""
    parts = text.split("`")
    if len(parts) < 3 or len(parts) % 2 == 0:
        return text
    for at in range(1, len(parts), 2):
        words = [f"={word}" if word in MARKS else word for word in parts[at].split()]
        words[1:2] = [f"{words[0]}+{word}" for word in words[1:2]]  # what a command does is of that command
        parts[at] = " ".join(words)
    return " ".join(parts)


@lru_cache(maxsize=16384)
def words_of(text: str) -> tuple[str, ...]:
    """Marks and plain words of what is meant; other languages word by word."""
    words = opened(plain_words(_quoted(in_english(plainly(text)))))
    is_foreign = sum(word in FOREIGN for word in words) > 1
    return tuple(canon(_in_english(word, is_foreign)) for word in words)


def _in_english(word: str, is_foreign: bool) -> str:
    """A short word may be an English one: ES modules, the MIT license, a TODO."""
    if word in FOREIGN and (is_foreign or len(word) > 4 or not word.isascii()):
        return FOREIGN[word]
    return NUMBERS.get(word, word)


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
    """The words between separators, whether something before them said no to them, and whether they give a reason."""
    found: list[_Part] = []
    part: list[str] = []
    is_denied = is_reason = False
    for word in (*words, ";"):
        if word == "INSTEAD" or (word == "OVER" and not _WISHES.isdisjoint(part)):
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
    part, denied = _turned(part, denied)
    said = [word for at, word in enumerate(part) if word not in _MARKS and not _says_no(part, at)]
    noes = denied + sum(_says_no(part, at) for at in range(len(part)))
    mild = {word for at, word in enumerate(part) if word in _MILD and _says_no(part, at)}
    if noes % 2 and not mild and said[1:] and said[0] in MAKING and said[1] not in _LIGHT:  # "don't add X" is "no X"
        said = said[1:]
    words: set[str] = set()
    tagged: set[str] = mild
    tag = ""
    for at, word in enumerate(said):
        if word in WHEN and at + 1 < len(said):
            tag = f"{word}:"
        elif tag and tagged and said[0] in WHEN and word in ORDERS:
            tag = ""  # "after each edit run the linter"
            words.add(word)
            tagged.add(word)
        elif word in _LIGHT:
            continue
        else:
            words.add(word)
            tagged.add(tag + word)
    if not words:
        return None
    return Clause(noes % 2 == 1, frozenset(words), frozenset(tagged), is_reason, tuple(said))


def _says_no(part: list[str], at: int) -> bool:
    """A "dead" or "off" does so at the end only: dead code is what is talked about."""
    return part[at] in _DENIALS and (part[at] not in _AT_THE_END or at + 1 == len(part))


_AT_THE_END = frozenset("dead off".split())
MAKING = frozenset("add writ put creat includ hav".split())


def _turned(part: list[str], denied: bool) -> tuple[list[str], bool]:
    """One form for what comes before what: "no B until A", "no B before A", "never B without A", "B only after A"."""
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
        at = next((at for at, word in enumerate(part) if word in ("when", "if", "after")), 0)
        what = [word for word in part[:at] if word != "ONLY"]
        if what and part[at] == "after":
            return [*part[at + 1 :], "before", *what], denied
        if what:  # "only X when C": not X unless C
            return [*what, "unless", *part[at + 1 :]], not denied
    at = next((at for at, word in enumerate(part) if word in ("until", "before")), 0)
    if bans == 1 and at and not BANS.isdisjoint(part[:at]) and not denied:
        return [*part[at + 1 :], "before", *(word for word in part[:at] if word not in BANS)], False
    return part, denied


def _topic(part: list[str]) -> list[str]:
    """What "it" in the next clause stands for: who something is said of, or what is done something with."""
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
    """Return a form that another wording of the same has, too: its words in their order, since "merge A into B" is not
    "merge B into A". None if the text is a question, or was not read whole."""
    words = words_of(text)
    if len(text) > _LONGEST or text.rstrip()[-1:] in ("?", "？") or " fails here" in text:
        return None
    if "VAGUE" in words or "ASK" in words:
        return None
    clauses = [clause for clause in clauses_of(text) if not clause.is_reason]
    return tuple((clause.denied, _form(clause)) for clause in clauses) or None


def _form(clause: Clause) -> tuple[str, ...]:
    silent = _SILENT | {"i", "me"} if "ask" in clause.said else _SILENT  # who is asked goes without saying
    said = [word for word in clause.said if word not in silent]
    return (*said, *sorted(clause.tagged & _MILD))
