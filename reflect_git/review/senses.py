"""What a text says, clause by clause: the words that carry it, whatever their order, and whether it says no to them.

Frames read orders in the forms that people give them, and make keys. This reads more, by meaning: told or ordered,
active or passive, with another word for the same thing. Only what was read to the last word is ever taken for the same.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache

from reflect_git.model.frames import Frame
from reflect_git.model.phrases import MARKS, ORDERS
from reflect_git.model.plainwords import BANS, opened, plain_words, stem
from reflect_git.model.tuples import NamedTuple
from reflect_git.review.families import NUMBERS, canon
from reflect_git.review.lexicon import FOREIGN, in_english
from reflect_git.review.spoken import plainly

_LONGEST = 200  # of a text that may be the same as another one: a story has more to it than its words
_PARTS = 14
_ENDS = frozenset((",", ";", "BUT", "WHY"))
_MARKS = BANS | frozenset(
    "USE USEPOST PREFER ALWAYS ASK VAGUE INSTEAD INSTEADPOST USED GONE WITHOUT OVER BUT WHY ARROW instead".split()
)
# These say no to something in a way of their own: what is ignored may be there, what is skipped may be written.
_MILD = frozenset("GONE off dead untouch ignor gitignor skip disabl needless unnecessary".split())
# An odd number of these says no: "don't X until Y" says yes to X.
_DENIALS = BANS | _MILD | frozenset("off-limits omit refrain".split())
_TURNS = frozenset("unless until outsid optional voluntary".split())
WHEN = frozenset("before after when if unless until except while during once".split())
# Of these nothing is lost: they say that something is so, or point at what is there.
_LIGHT = frozenset(
    canon(stem(word))
    for word in """is be am do done goes live sit belong located must should also too very really already still so then
    and of for with by in on at to into onto from through via under within as it its they them their you we that which
    there here per it's that's shall will anything""".split()
)
_HELPING = frozenset(stem(word) for word in "have get give come want".split())  # unless they are the order
_MEASURED = frozenset("keep stay length long character limit may".split())  # light beside a bound: "lines under 80"
_STATES = frozenset("short small simpl clean fast flat pur minimal stabl consistent tidy private".split())
_MOVING = frozenset("merg mov copy rebas migrat switch convert renam port sync push pull translat cast".split())
_TOWARDS = frozenset("into onto to from on as".split())
_POINTING = frozenset("it them they".split())


class Clause(NamedTuple):
    """Its words, those of a condition with the word that begins it, and whether it says no to them."""

    denied: bool
    words: frozenset[str]
    tagged: frozenset[str]
    turned: bool  # with "until" and "unless" counted as a no each
    is_reason: bool
    said: tuple[str, ...]


class Sense(Frame):
    """All that a text says, as a frame of sorted words; and its clauses, where they have an order."""

    __slots__ = ("clauses",)

    def __init__(self, wanted: str, unwanted: str, clauses: Sequence[Clause]) -> None:
        super().__init__(wanted, unwanted, "")
        self.clauses = clauses


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


_FORBIDDEN = re.compile(r"\b(?:forbidden|disallowed|prohibited|banned)\b")  # what is only deprecated is not


@lru_cache(maxsize=16384)
def words_of(text: str) -> tuple[str, ...]:
    """Marks and plain words of what is meant; other languages word by word."""
    words = opened(plain_words(_quoted(in_english(_FORBIDDEN.sub("off-limits", plainly(text))))))
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
    return _in_order([(part, denied, reason) for part, denied, reason in found if part])


_WISHES = frozenset(("USE", "PREFER"))
_LATER = frozenset("then afterward later next".split())


def _in_order(parts: list[_Part]) -> list[_Part]:
    """A first, then B; A first, B afterwards: A before B."""
    for at, (part, denied, reason) in enumerate(parts):
        rest = parts[at + 1] if at + 1 < len(parts) else ([], False, False)
        if "first" in part and "then" in part[1:] and not rest[0]:
            cut = part.index("then")
            part, rest = part[:cut], (part[cut:], denied, reason)
        if "first" in part and not denied and not rest[1] and not _LATER.isdisjoint(rest[0]):
            before = [word for word in part if word != "first"]
            after = [word for word in rest[0] if word not in _LATER]
            if before and after and BANS.isdisjoint(before + after):
                return [*parts[:at], ([*before, "before", *after], denied, reason), *parts[at + 2 :]]
    return parts


def _clause(part: list[str], denied: bool, is_reason: bool, topic: list[str], before: list[str]) -> Clause | None:
    if topic and not _POINTING.isdisjoint(part):
        part = [*part, *(topic if "do" not in part else before)]
    part, denied = _turned(part, denied)
    said = [word for at, word in enumerate(part) if word not in _MARKS and not _says_no(part, at)]
    noes = denied + sum(_says_no(part, at) for at in range(len(part)))
    mild = {word for at, word in enumerate(part) if word in _MILD and _says_no(part, at)}
    if noes % 2 and not mild and said[1:] and said[0] in MAKING and said[1] not in _LIGHT:  # "don't add X" is "no X"
        said = said[1:]
    is_measured = "max" in said or "min" in said or not _STATES.isdisjoint(said)
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
        elif word in _TOWARDS and said[0] in _MOVING and words:
            tag = f"{word}:"
        elif (word in _LIGHT and not _is_particle(said, at)) or _is_empty(said, at, tag):
            continue
        else:
            words.add(word)
            if not (is_measured and word in _MEASURED):
                tagged.add(tag + word)
    empty = _implied(words)
    words -= empty
    tagged -= empty
    if not words:
        return None
    turns = noes + sum(word in _TURNS for word in part)
    return Clause(noes % 2 == 1, frozenset(words), frozenset(tagged), turns % 2 == 1, is_reason, tuple(said))


def _implied(words: set[str]) -> frozenset[str]:
    """What goes without saying beside the others."""
    found: frozenset[str] = frozenset()
    if any(word[-1] == "/" for word in words):  # "the lib/ directory"
        found |= _HOLDERS
    if any(word[0].isdigit() for word in words):
        found |= _COUNTED
    if not words.isdisjoint(_DONE_BY_TOOLS):  # "run the formatter" is "format the code"
        found |= _OF_TOOLS
    if "port" in words:
        found |= _AT_PORTS
    if not words.isdisjoint(_TONGUES):  # "write the comments in English"
        found |= _WRITING
    return found


def _says_no(part: list[str], at: int) -> bool:
    """A "dead" or "off" does so at the end only: dead code is what is talked about."""
    return part[at] in _DENIALS and (part[at] not in _AT_THE_END or at + 1 == len(part))


def _is_empty(said: list[str], at: int, tag: str) -> bool:
    """Who asks is no matter, nor that things go where they go. Any other word is empty only in its own place: a name is
    logged, but functions in snake_case are named so."""
    word, after = said[at], said[at + 1 : at + 2]
    if word in _HELPING:
        return at > 0
    if word == "need":  # "the project needs X", "X is required"
        return said[at - 1] in (_HOUSES if after else _BEING)
    if word in _HOUSES:
        return (at == 0 or said[at - 1] in _OF_HOUSES) and (not after or after[0] in _LIGHT or after[0] in _NEEDING)
    if word == "nam":
        return any("cas" in other or other in _NAMED for other in said)
    if word == "command":
        return any("+" in other for other in said)
    if word == "suit":
        return said[at - 1 : at] == ["test"]
    return (word in _VOICES and (bool(tag) or after == ["ask"])) or (word == "go" and after in _INTO)


def _is_particle(said: list[str], at: int) -> bool:
    """What belongs to the word before it: to log in as somebody."""
    return said[at] in _PARTICLES and at > 0 and (at + 1 == len(said) or said[at + 1] in _AFTER_PARTICLES)


_PARTICLES = frozenset("in on through by".split())
_AFTER_PARTICLES = frozenset("to as with at from into for".split()) | WHEN
_HOUSES = frozenset("project repository codebas".split())
_NEEDING = _HELPING | {"need"}
_BEING = frozenset(("is", "be"))
_OF_HOUSES = frozenset("in of for on".split())
_NAMED = frozenset("prefix suffix singular plural".split())
_AT_THE_END = frozenset("dead off".split())
MAKING = frozenset("add writ put creat includ hav".split())
_VOICES = frozenset("i me".split())
_INTO = (["in"], ["into"], ["under"], ["next"])
_DONE_BY_TOOLS = frozenset("lint format".split())
_HOLDERS = frozenset("directory fil".split())
_COUNTED = frozenset(("version",))
_OF_TOOLS = frozenset("run cod".split())
_AT_PORTS = frozenset("run listen".split())
_TONGUES = frozenset("english german french spanish chines japanes korean russian portugues italian".split())
_WRITING = frozenset(("writ",))


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


@lru_cache(maxsize=16384)
def sense_of(text: str) -> Sense | None:
    """None where not all of it was read."""
    if len(text) > _LONGEST or text.rstrip()[-1:] in ("?", "？") or " fails here" in text:
        return None
    return sense_in(words_of(text), clauses_of(text))


def sense_in(words: Iterable[str], clauses: Sequence[Clause]) -> Sense | None:
    if "VAGUE" in words or "ASK" in words:
        return None
    wanted: set[str] = set()
    unwanted: set[str] = set()
    for clause in clauses:
        if not clause.is_reason:
            (unwanted if clause.denied else wanted).update(clause.tagged)
    if not (wanted or unwanted) or wanted & unwanted or max(len(wanted), len(unwanted)) > _PARTS:
        return None
    return Sense(" ".join(sorted(wanted)), " ".join(sorted(unwanted)), clauses)
