"""What the scorer sees of a message: a short row of facts and the hashes of its words and letters."""

from __future__ import annotations

from binascii import crc32
from itertools import combinations

from reflect_git.capture import sentence

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

BUCKETS = 1 << 14
_MASK = BUCKETS - 1
KINDS = ("correction", "convention", "praise", "workflow", "prohibition", "durable", "gotcha", "neutral")
PHRASE_WORDS = 4
_WIDE_LETTERS = 8
_LETTERS = 4  # three to five together rank no better and take three times as long
_WORDS = 120
_HEAD, _TAIL = 320, 160
_ASSISTANT = 2000

_TASK = frozenset(
    "add create make fix implement update remove delete rename move write run check review show open explain list "
    "print commit push merge rebase switch generate build install deploy test refactor simplify change convert set "
    "continue proceed start log address resolve handle find look read try ensure give tell compare".split()
)
_YES = frozenset(
    "yes yeah yep yup ok okay sure great cool nice good perfect awesome thanks thx k right alright".split()
)
_NO = frozenset("no nope nah not never stop wait hmm hm uhm um ehh eh uh ah oh wow but why w8 hold again lol".split())
_ASK = frozenset("what where when who which how is are does do can could would will should has have did was".split())
_FOLLOW = frozenset("instead over not rather nicht statt".split())
_USE = frozenset("use run prefer call try using running take".split())
_DONE = (
    "done",
    "all tests pass",
    "pushed",
    "committed",
    "complete",
    "fixed",
    "✅",
    "successfully",
    "created",
    "updated",
)
_FAIL = ("error", "fail", "failing", "traceback", "exception", "crash", "severity", "broken")

_HESITATION = frozenset("hmm hm hmmm mmm mh um uum uuum uhm erm ehh eh uh ah oh gah wait w8 lol wow ugh".split())
_DOUBTS = ("are we sure", "are you sure", "not sure", "do we need", "do we really", "isn't", "shouldn't", "wouldn't",
           "can't we", "why not", "any reason", "any chance", "couldn't", "could we", "can we", "what about",
           "how about", "don't we")  # fmt: skip
_STARTS = {"let's": "lets", "lets": "lets", "let": "lets", "i": "i_start", "i'm": "i_start", "i'd": "i_start",
           "you": "you_start", "we": "we_start", "it": "it_start", "this": "it_start", "that": "it_start"}  # fmt: skip
_STOPS = ("interrupted by user", "tell claude what to do differently", "cancelled", "user rejected")
_FACTS = (
    "tiny short brief middle long huge lines bullets ends_ask asks shout ask_shout dots feedback queued args first "
    "interrupt failure no_steps some_steps many_steps silent asked done options overlap yes no ask task lets i_start "
    "you_start we_start it_start can_you can_we you you_did we should not frame ticks path mention link client pasted "
    "all_pasted code_share bug number please wide slash upper midwork stopped smile hesitates opinion thought doubt "
    "past commits also first_then single"
).split()
NAMES = (
    *_FACTS,
    *(f"{kind}{more}" for kind in KINDS for more in ("", "_2", "_3")),
    "kinds_2",
    "kinds_3",
    "rule",
    "mild",
)
_PLACE = {name: at for at, name in enumerate(NAMES)}


class Seen:
    """One message, looked at once: the facts that hold, pairs of them, the buckets of its words and letters."""

    __slots__ = ("counts", "facts", "letters", "lines", "pairs", "said", "wording", "words")

    def __init__(self, text: str, via: str, context: Mapping[str, Any], phrases: Mapping[str, int]) -> None:
        self.lines = sentence.own_lines(text)
        own = " ".join(self.lines)
        brief = own if len(own) <= _HEAD + _TAIL else f"{own[:_HEAD]} {own[-_TAIL:]}"
        plain = flatten(brief)
        self.wording = plain.split()[:_WORDS]
        self.counts = count_kinds(self.wording, plain, phrases)
        self.said = frozenset(_said(text, own, self, via, context))
        self.facts = sorted(_PLACE[name] for name in self.said)
        self.pairs = [first * len(NAMES) + second for first, second in combinations(self.facts, 2)]
        self.words = word_buckets(self.wording)
        self.letters = letter_buckets(" ".join(self.wording))


_SPACES = {ord(sign): " " for sign in '\t\n\r.,;:()[]{}<>"“”„«»*_#|/\\=+~^%$&@`–—…。，、；：（）「」『』【】!！¡¿-'}
_SPACES.update({ord("’"): "'", ord("‘"): "'", ord("?"): " ? ", ord("？"): " ? "})


def flatten(text: str) -> str:
    """Small letters, one kind of apostrophe, no signs but the question mark."""
    return text.lower().translate(_SPACES)


def count_kinds(words: list[str], plain: str, phrases: Mapping[str, int]) -> list[int]:
    """How many phrases of each kind there are; a phrase has up to four words or, in scripts without spaces, letters."""
    masks = [phrases.get("^" + " ".join(words[:size]), 0) for size in range(1, PHRASE_WORDS + 1)] if words else []
    masks.extend(phrases[gram] for gram in _grams(words) if gram in phrases)
    if not plain.isascii():
        masks.extend(_wide_masks(plain, phrases))
    return [sum(mask >> at & 1 for mask in masks) for at in range(len(KINDS))]


def _grams(words: list[str]) -> set[str]:
    grams = set(words)
    grams.update(map(" ".join, zip(words, words[1:])))
    grams.update(map(" ".join, zip(words, words[1:], words[2:])))
    grams.update(map(" ".join, zip(words, words[1:], words[2:], words[3:])))
    return grams


def _wide_masks(plain: str, phrases: Mapping[str, int]) -> list[int]:
    places = [at for at, letter in enumerate(plain) if letter > "⺀"][:200]
    found = {plain[at : at + size].strip() for at in places for size in range(1, _WIDE_LETTERS + 1)}
    return [phrases[gram] for gram in found if gram in phrases]


def word_buckets(words: list[str]) -> list[int]:
    """Words, pairs, and the way the message begins and ends."""
    grams = set(words)
    grams.update(map(" ".join, zip(words, words[1:])))
    grams.update("^" + " ".join(words[:size]) for size in (1, 2, 3))
    if words:
        grams.add("$" + words[-1])
    return [crc32(gram.encode("utf-8", "replace")) & _MASK for gram in grams]


def letter_buckets(plain: str) -> list[int]:
    data = f" {plain} ".encode("utf-8", "replace")
    grams = {data[at : at + _LETTERS] for at in range(len(data) - _LETTERS + 1)}
    return [crc32(gram, 7) & _MASK for gram in grams]


def _said(text: str, own: str, seen: Seen, via: str, context: Mapping[str, Any]) -> list[str]:
    names = _shape(text, own) + _opening(seen.wording) + _wording(text, own, seen.wording)
    return names + _moment(via, context, seen.wording) + _kinds(seen.counts)


def _kinds(counts: list[int]) -> list[str]:
    names = []
    for kind, count in zip(KINDS, counts):
        names += [kind, f"{kind}_2", f"{kind}_3"][: min(count, 3)]
    correction, convention, _praise, workflow, prohibition, durable, gotcha, _neutral = counts
    kinds = sum(map(bool, (correction, convention, workflow, prohibition, durable, gotcha)))
    flags = {"kinds_2": kinds > 1, "kinds_3": kinds > 2, "mild": not kinds,
             "rule": bool(durable and (convention or prohibition or workflow))}  # fmt: skip
    return names + [name for name, holds in flags.items() if holds]


def _shape(text: str, own: str) -> list[str]:
    size = len(own)
    steps = ((15, "tiny"), (35, "short"), (80, "brief"), (200, "middle"), (600, "long"))
    names = [next((name for limit, name in steps if size <= limit), "huge")]
    flags = {
        "lines": text.count("\n") > 3,
        "bullets": "\n- " in text or "\n* " in text or "\n1. " in text or "\n2. " in text,
        "ends_ask": own[-1:] in "?？" and size > 0,
        "asks": own.count("?") > 1,
        "shout": "!" in own or "！" in own,
        "ask_shout": "?!" in own or "!?" in own or "!!" in own or "??" in own,
        "dots": "..." in own or "…" in own,
        "pasted": len(text) > 1.3 * size + 20,
        "all_pasted": size < 12 < len(text),
        "client": sentence.is_client_text(text),
        "slash": text.lstrip()[:1] == "/",
        "upper": any(word.isupper() and len(word) > 2 and word.isalpha() for word in own[:200].split()),
        "wide": not own.isascii()
        and max(own[:200]) > "ʰ"
        and sum(letter > "ʰ" and letter.isalpha() for letter in own[:200]) > 3,
    }
    return names + [name for name, holds in flags.items() if holds]


def _opening(words: list[str]) -> list[str]:
    if not words:
        return []
    first = words[0]
    names = [name for name, table in (("yes", _YES), ("no", _NO), ("ask", _ASK), ("task", _TASK)) if first in table]
    names += [_STARTS[first]] if first in _STARTS else []
    pair = " ".join(words[:2])
    if pair in ("can you", "could you", "please can"):
        names.append("can_you")
    if pair in ("can we", "could we", "should we"):
        names.append("can_we")
    return names


def _wording(text: str, own: str, words: list[str]) -> list[str]:
    bag = set(words)
    low = own[:2000].lower()
    start = text[:2000]
    signs = sum(map(start.count, "`{}()[]=<>/_;"))
    flags = {
        "you": not bag.isdisjoint(("you", "your", "you're", "yourself")),
        "you_did": _you_did(words),
        "we": not bag.isdisjoint(("we", "our", "we're", "us")),
        "should": not bag.isdisjoint(("should", "shouldn't", "must", "needs", "supposed")),
        "not": not bag.isdisjoint(
            ("not", "don't", "dont", "never", "isn't", "doesn't", "no", "didn't", "aren't", "can't")
        ),
        "frame": _has_frame(words),
        "ticks": "`" in text,
        "path": "/" in own and "://" not in own,
        "mention": "@" in own,
        "link": "://" in text,
        "code_share": signs > 0.06 * len(start),
        "bug": any(word in low for word in _FAIL),
        "number": any(map(str.isdigit, own[:200])),
        "please": not bag.isdisjoint(("please", "pls", "plz", "bitte")),
        "smile": not own.isascii() and max(own[:400]) > "\U0001f300",
        "hesitates": not bag.isdisjoint(_HESITATION),
        "opinion": " i think" in low or low.startswith("i think") or "imo" in bag,
        "thought": "i thought" in low or "i meant" in low or "i said" in low or "i told" in low or "i asked" in low,
        "doubt": any(phrase in low for phrase in _DOUBTS),
        "past": " was " in low or " were " in low,
        "commits": not bag.isdisjoint(("commit", "push", "pr", "merge", "branch")),
        "also": not bag.isdisjoint(("also", "too", "additionally")),
        "first_then": not bag.isdisjoint(("first", "before", "until", "after")),
        "single": not any(sign in own[:-1] for sign in ".?!\n"),
    }
    return [name for name, holds in flags.items() if holds]


def _you_did(words: list[str]) -> bool:
    """`you added`, `did you`, `are you`: talk about what the agent does, not a request to it."""
    for first, second in zip(words, words[1:]):
        if first == "you" and (
            second.endswith("ed") or second in ("did", "have", "are", "were", "just", "still", "keep")
        ):
            return True
        if second == "you" and first in ("did", "are", "have", "why", "do", "were", "didn't", "aren't", "haven't"):
            return True
    return False


def _has_frame(words: list[str]) -> bool:
    """`use X instead of Y`, `run X, not Y`."""
    return any(word in _USE and not _FOLLOW.isdisjoint(words[at + 1 : at + 9]) for at, word in enumerate(words))


def _moment(via: str, context: Mapping[str, Any], words: list[str]) -> list[str]:
    assistant = context.get("assistant")
    before = assistant[-_ASSISTANT:] if isinstance(assistant, str) else ""
    low = before.lower()
    steps = context.get("steps")
    number = steps if isinstance(steps, int) else 0
    flags = {
        "feedback": via == "feedback",
        "queued": via == "queued",
        "args": via == "command-args",
        "first": bool(context.get("first")),
        "interrupt": bool(context.get("after_interrupt")),
        "failure": bool(context.get("after_failure")),
        "no_steps": number == 0,
        "some_steps": 0 < number < 4,
        "many_steps": number > 3,
        "silent": not before,
        "asked": bool(context.get("asked")) or low.rstrip(" *_\n")[-1:] == "?",
        "done": any(word in low for word in _DONE),
        "midwork": low.rstrip()[-1:] == ":" or "let me" in low[-160:] or "now let" in low[-160:],
        "stopped": any(word in low[-300:] for word in _STOPS),
        "options": "option" in low or ("1." in low and "2." in low),
        "overlap": sum(len(word) > 4 and word in low for word in set(words)) > 0.4 * len(set(words)) > 1.2,
    }
    return [name for name, holds in flags.items() if holds]
