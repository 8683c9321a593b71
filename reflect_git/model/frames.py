"""What an order says, whatever its words: "use X, not Y", "don't use Y, use X" and "X instead of Y" are one frame.

Two texts are the same only if their frames or their normalised sentences are. Likeness of letters is no reason: on hard
pairs every string measure also joins all contradictions.
"""

from __future__ import annotations

from reflect_git.model.ids import digest
from reflect_git.model.phrases import HOUSES, ORDERS, PREPOSITIONS, REASONS, REFUSALS, RUNNING, SILENT, SUBJECTS, US
from reflect_git.model.plainwords import BANS, opened, plain_words
from reflect_git.model.readings import READINGS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Optional

LONGEST = 400
_NO_CONDITION = (["for", "exampl"], ["for", "instanc"])
_PARTS = 14  # words of what is wanted or not; a longer one is a story
_ARTICLES = ("the ", "a ", "an ", "this ", "that ", "our ", "my ", "your ", "these ", "those ")


class Frame:
    """What is wanted, what is not, and when; each in normal form, each may be empty."""

    __slots__ = ("condition", "unwanted", "wanted")

    def __init__(self, wanted: str, unwanted: str, condition: str) -> None:
        self.wanted = wanted
        self.unwanted = unwanted
        self.condition = condition

    def key(self) -> str:
        return f"{self.wanted}\0{self.unwanted}\0{self.condition}"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Frame) and self.key() == other.key()

    def __hash__(self) -> int:
        return hash(self.key())

    def __repr__(self) -> str:
        return f"Frame({self.wanted!r}, {self.unwanted!r}, {self.condition!r})"


def opposes(a: Frame, b: Frame) -> bool:
    """One demands what the other forbids, under the same condition."""
    if a.condition != b.condition:
        return False
    return bool((a.wanted and a.wanted == b.unwanted) or (b.wanted and b.wanted == a.unwanted))


def agrees(a: Frame, b: Frame) -> bool:
    """They say one thing, though one of them may say less of it: "don't use Y" of "use X, not Y"."""
    if a.condition != b.condition or opposes(a, b):
        return False
    if a.unwanted == b.unwanted:
        return a.wanted == b.wanted or bool(a.unwanted and not (a.wanted and b.wanted))
    return bool(a.wanted) and a.wanted == b.wanted and not (a.unwanted and b.unwanted)


def key_of(content: str) -> str:
    """What two signals share when they say the same. A bare wish is its sentence: whether "release notes lag a day" is
    an order or a fact may hang on an article, and articles do not count."""
    frame = frame_of(content)
    if frame is None:
        return digest("sentence", turned(normalised(content)))[:16]
    if not frame.unwanted:
        return digest("sentence", turned(f"{frame.wanted} {frame.condition}".strip()))[:16]
    return digest("frame", frame.key())[:16]


def turned(sentence: str) -> str:
    """One form for what is told and what is ordered: where things live, how they are named, what they are kept."""
    words = [word for word in sentence.split() if word != "ALWAYS"]
    for at in range(1, min(len(words) - 1, 5)):
        thing, verb, rest = words[:at], words[at], words[at + 1 :]
        if verb in _LIVES and rest[0] in _WHERE:
            return " ".join(["put", *thing, *rest])
        if verb in _ARE and len(rest) == 1 and rest[0] in _STATES:
            return " ".join(["keep", *thing, *rest])
        if verb in _ARE and len(rest) == 1 and rest[0] in _CASES:
            return " ".join([*rest, "for", *thing])
        if words[0] == "nam" and verb == "in" and len(rest) == 1 and rest[0] in _CASES:
            return " ".join([*rest, "for", *words[1:at]])
    return " ".join(["put", *words[1:]]) if words and words[0] in _PUTS else " ".join(words)


_LIVES, _WHERE = frozenset("liv go belong sit".split()), frozenset("in into next under besid alongsid".split())
_PUTS, _ARE = frozenset("plac stor".split()), ("be", "is")
_STATES = frozenset("short small simpl clean fast flat pur brief concis minimal stabl consistent tidy private".split())
_CASES = frozenset("kebab-cas kebab-case snak_cas snake_case camelcas pascalcas lowercas uppercas".split())


def normalised(sentence: str) -> str:
    """The words that carry a sentence, in order, in their plain form."""
    words = opened(plain_words(sentence[: 4 * LONGEST]))
    plain = " ".join([word for word in words if word != "," and word != ";"])
    return plain or " ".join(sentence.casefold().split())


def frame_of(sentence: str) -> Optional[Frame]:
    """The frame of an order; None for anything that is none, or not clearly."""
    if len(sentence) > LONGEST:
        return None
    if " fails here (" in sentence:
        return _found_out(sentence)
    words = plain_words(sentence)
    if "VAGUE" in words or (sentence.rstrip()[-1:] in ("?", "？") and "ASK" not in words):
        return None
    words = _plainly([word for word in opened(words) if word != "ASK"])
    if not words:
        return None
    when, words = _when_first(words)
    more, left = _when_first(words) if when and words else ([], words)  # "for now, unless I ask, …"
    if more:  # in whatever order they were said
        when, words = [word for part in sorted((when, more)) if part not in _NO_CONDITION for word in part], left
    if not when and words:
        when, words = _when_last(words)
    said = _count_sentences(words)
    begins_with_noun = sentence.lstrip(" `\"'(")[:6].casefold().startswith(_ARTICLES) and words[:1] != ["USE"]
    begins_with_noun = begins_with_noun and "ALWAYS" not in words
    for reading in READINGS[: -1 if begins_with_noun else None] if words and said < 3 else ():
        found = reading(words)
        if found is not None:
            frame = _checked(found[0], found[1], (when if when not in _NO_CONDITION else []) + found[2])
            return frame if frame and (said == 1 or (frame.wanted and frame.unwanted)) else None
    return None


def _plainly(words: list[str]) -> list[str]:
    """Without a "nope." before it; "we use X" and "the project targets X" are "use X"."""
    if words[1:2] == [";"] and words[0] in REFUSALS:
        words = words[2:]
    if words[1:2] == ["USE"] and (words[0] in US or words[0] in HOUSES):
        return words[1:]
    return ["USE", *words[2:]] if words[1:2] == ["target"] and words[0] in HOUSES else words


def _count_sentences(words: list[str]) -> int:
    """Without those that only give a reason. Two make a frame together if one says what not and the other what."""
    count, starts = 0, True
    for word in words:
        if starts and word not in REASONS and word != ";":
            count += 1
        starts = word == ";"
    return count


def _when_last(words: list[str]) -> tuple[list[str], list[str]]:
    """Use X, not Y, in tests: a condition may stand in a clause of its own."""
    at = max((at for at, word in enumerate(words) if word == ","), default=0)
    if not at or at + 1 == len(words) or words[at + 1] not in PREPOSITIONS or not BANS.isdisjoint(words[at:]):
        return [], words
    return words[at + 1 :], words[:at]


def _when_first(words: list[str]) -> tuple[list[str], list[str]]:
    """In tests, use X; for migrations use X."""
    if words[0] not in PREPOSITIONS:
        return [], words
    ends = {",", "USE", "ALWAYS"} | BANS
    at = next((at for at in range(1, len(words)) if words[at] in ends), len(words))
    return words[:at], words[at:] if words[at : at + 1] != [","] else words[at + 1 :]


def _found_out(sentence: str) -> Optional[Frame]:
    """`A` fails here (why); `B` works."""
    parts = sentence.split("`")
    if len(parts) < 5 or not parts[2].startswith(" fails here (") or parts[-1].strip() != "works":
        return None
    tried, works = (" ".join(part.split()) for part in (parts[1], parts[-2]))
    return Frame(works, tried, "") if tried and works and tried != works else None


def _checked(wanted: list[str], unwanted: list[str], when: list[str]) -> Optional[Frame]:
    """In normal form; None where nothing is left, or so much that it is a story, or a negation that no rule read."""
    good, good_when = _split(wanted)
    bad, bad_when = _split(unwanted)
    good, bad, means = _by_means(good, bad)
    given = [part for part in (_joined(when), good_when, bad_when, means) if part]
    condition = " ".join(dict.fromkeys(given))
    if not (good or bad) or good == bad or max(len(good.split()), len(bad.split())) > _PARTS:
        return None
    marks = set(good.split()) | set(bad.split()) | set(condition.split())
    if not marks.isdisjoint(_UNREAD) or not (marks - _EMPTY):
        return None
    if condition.startswith("before ") and good in ("ask first", "first ask"):
        good = "ask"
    return Frame(RUNNING.get(good, good) if condition else good, bad, condition)


def _by_means(good: str, bad: str) -> tuple[str, str, str]:
    """Indent with tabs: use tabs for indenting. Likewise of a ban, so that it still stands against the wish."""
    parts = [part.split() for part in (good, bad) if part]
    verb = parts[0][0] if parts else ""
    if verb not in ORDERS or not all(part[:2] == [verb, "with"] and 2 < len(part) < 5 for part in parts):
        return good, bad, ""
    cut = len(verb) + len(" with ")
    return good[cut:], bad[cut:], f"for {verb}"


_UNREAD = BANS | {"INSTEAD", "INSTEADPOST", "ARROW", "WITHOUT", "VAGUE"}
# What points into the conversation: "don't do that" is a sentence, not a rule.
_EMPTY = frozenset("it that this them do so there one thing stuff something anything".split())
_VOICES = frozenset(("i", "you", "me", "we", "to"))


def _split(words: list[str]) -> tuple[str, str]:
    """What, and when."""
    words = [word for word in words if word not in SILENT]
    while words and (words[0] in SUBJECTS or words[0] in ("to", "want", "but")):
        words = words[1:]
    at = next((at for at in range(1, len(words)) if words[at] in PREPOSITIONS), len(words))
    return " ".join(words[:at]), _joined(words[at:])


def _joined(words: list[str]) -> str:
    return " ".join(word for word in words if word not in SILENT and word not in _VOICES)
