"""Parse an instruction into a frame: "use X, not Y", "don't use Y, use X" and "X instead of Y" are the same frame.

Two texts are the same only if their frames or their normalised sentences are. String similarity is not used: on hard
pairs every measure also joins all contradictions.
"""

from __future__ import annotations

from reflect_git.language.words import (
    BAN_MARKS,
    FILLER_WORDS,
    ORDER_VERBS,
    PREPOSITIONS,
    PROJECT_WORDS,
    REASON_WORDS,
    REFUSAL_WORDS,
    SILENT_MARKS,
    SUBJECTS,
    WE_WORDS,
    drop_openers,
    load_table,
    load_words,
    plain_words,
)
from reflect_git.records.ids import digest
from reflect_git.records.named_tuple import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Optional

    _FrameParts = Optional[tuple[list[str], list[str], list[str]]]
    from collections.abc import Iterator, Sequence

SENTENCE_LIMIT = 400
_EXAMPLE_PHRASES = (["for", "exampl"], ["for", "instanc"])
_MAX_PART_WORDS = 14  # words of what is wanted or not; a longer one is a story
_ARTICLES = ("the ", "a ", "an ", "this ", "that ", "our ", "my ", "your ", "these ", "those ")


class Frame(NamedTuple):
    """A parsed instruction: what is wanted, what is not, and when; each normalised, each may be empty."""

    wanted: str
    unwanted: str
    condition: str


def opposes(a: Frame, b: Frame) -> bool:
    """Return whether one frame demands what the other forbids, under the same condition."""
    if a.condition != b.condition:
        return False
    return bool((a.wanted and a.wanted == b.unwanted) or (b.wanted and b.wanted == a.unwanted))


def agrees(a: Frame, b: Frame) -> bool:
    """Return whether two frames mean the same, where one may say less: "don't use Y" and "use X, not Y"."""
    if a.condition != b.condition or opposes(a, b):
        return False
    if a.unwanted == b.unwanted:
        return a.wanted == b.wanted or bool(a.unwanted and not (a.wanted and b.wanted))
    return bool(a.wanted) and a.wanted == b.wanted and not (a.unwanted and b.unwanted)


def compute_key(content: str) -> str:
    """Return the key that texts with the same meaning share.

    A wish without a ban is keyed by its sentence. Whether "release notes lag a day" is an order or a fact may depend on
    an article, and articles are ignored.
    """
    frame = parse_frame(content)
    if frame is None:
        return digest("sentence", " ".join(word for word in normalize_sentence(content).split() if word != "ALWAYS"))[
            :16
        ]
    if not frame.unwanted:
        return digest("sentence", f"{frame.wanted} {frame.condition}".strip())[:16]
    return digest("frame", "\0".join(frame))[:16]


def normalize_sentence(sentence: str) -> str:
    """Return the content words of a sentence, in order and in plain form."""
    words = drop_openers(plain_words(sentence[: 4 * SENTENCE_LIMIT]))
    plain = " ".join([word for word in words if word != "," and word != ";"])
    return plain or " ".join(sentence.casefold().split())


def parse_frame(sentence: str) -> Optional[Frame]:
    """Return the frame of an instruction; None if the text is not clearly one."""
    if len(sentence) > SENTENCE_LIMIT:
        return None
    if " fails here (" in sentence:
        return _parse_observation(sentence)
    words = plain_words(sentence)
    if "VAGUE" in words or (sentence.rstrip()[-1:] in ("?", "？") and "ASK" not in words):
        return None
    words = _simplify_start([word for word in drop_openers(words) if word != "ASK"])
    if not words:
        return None
    when, words = _split_first_condition(words)
    more, left = _split_first_condition(words) if when and words else ([], words)  # "for now, unless I ask, …"
    if more:  # in whatever order they were said
        when, words = [word for part in sorted((when, more)) if part not in _EXAMPLE_PHRASES for word in part], left
    if not when and words:
        when, words = _split_last_condition(words)
    said = _count_sentences(words)
    begins_with_noun = sentence.lstrip(" `\"'(")[:6].casefold().startswith(_ARTICLES) and words[:1] != ["USE"]
    begins_with_noun = begins_with_noun and "ALWAYS" not in words
    for reading in FRAME_PARSERS[: -1 if begins_with_noun else None] if words and said < 3 else ():
        found = reading(words)
        if found is not None:
            frame = _build_frame(found[0], found[1], (when if when not in _EXAMPLE_PHRASES else []) + found[2])
            return frame if frame and (said == 1 or (frame.wanted and frame.unwanted)) else None
    return None


def _simplify_start(words: list[str]) -> list[str]:
    """Drop a leading "nope."; turn "we use X" and "the project targets X" into "use X"."""
    if words[1:2] == [";"] and words[0] in REFUSAL_WORDS:
        words = words[2:]
    if words[1:2] == ["USE"] and (words[0] in WE_WORDS or words[0] in PROJECT_WORDS):
        return words[1:]
    return ["USE", *words[2:]] if words[1:2] == ["target"] and words[0] in PROJECT_WORDS else words


def _count_sentences(words: list[str]) -> int:
    """Count sentences, except those that only give a reason.

    Two make a frame together if one says what not to do and the other what to do.
    """
    count, starts = 0, True
    for word in words:
        if starts and word not in REASON_WORDS and word != ";":
            count += 1
        starts = word == ";"
    return count


def _split_last_condition(words: list[str]) -> tuple[list[str], list[str]]:
    """Split off a condition at the end: use X, not Y, in tests."""
    at = max((at for at, word in enumerate(words) if word == ","), default=0)
    if not at or at + 1 == len(words) or words[at + 1] not in PREPOSITIONS or not BAN_MARKS.isdisjoint(words[at:]):
        return [], words
    return words[at + 1 :], words[:at]


def _split_first_condition(words: list[str]) -> tuple[list[str], list[str]]:
    """Split off a condition at the start: in tests, use X; for migrations use X."""
    if words[0] not in PREPOSITIONS:
        return [], words
    ends = {",", "USE", "ALWAYS"} | BAN_MARKS
    at = next((at for at in range(1, len(words)) if words[at] in ends), len(words))
    return words[:at], words[at:] if words[at : at + 1] != [","] else words[at + 1 :]


def _parse_observation(sentence: str) -> Optional[Frame]:
    """Return the frame of an observation: `A` fails here (why); `B` works."""
    parts = sentence.split("`")
    if len(parts) < 5 or not parts[2].startswith(" fails here (") or parts[-1].strip() != "works":
        return None
    tried, works = (" ".join(part.split()) for part in (parts[1], parts[-2]))
    return Frame(works, tried, "") if tried and works and tried != works else None


def _build_frame(wanted: list[str], unwanted: list[str], when: list[str]) -> Optional[Frame]:
    """Return a normalised frame; None if nothing is left, the text is too long, or a negation was not parsed."""
    good, good_when = _split_condition(wanted)
    bad, bad_when = _split_condition(unwanted)
    given = [part for part in (_join_words(when), good_when, bad_when) if part]
    condition = " ".join(dict.fromkeys(given))
    if not (good or bad) or good == bad or max(len(good.split()), len(bad.split())) > _MAX_PART_WORDS:
        return None
    marks = set(good.split()) | set(bad.split()) | set(condition.split())
    if not marks.isdisjoint(_UNPARSED_MARKS) or not (marks - _EMPTY_WORDS):
        return None
    if condition.startswith("before ") and good in ("ask first", "first ask"):
        good = "ask"
    return Frame(good, bad, condition)


_UNPARSED_MARKS = BAN_MARKS | {"INSTEAD", "INSTEADPOST", "ARROW", "WITHOUT", "VAGUE"}
# What points into the conversation: "don't do that" is a sentence, not a rule.
_EMPTY_WORDS = frozenset("it that this them do so there one thing stuff something anything".split())
_PERSON_WORDS = frozenset(("i", "you", "me", "we", "to"))


def _split_condition(words: list[str]) -> tuple[str, str]:
    """Split words into what and when."""
    words = [word for word in words if word not in SILENT_MARKS]
    while words and (words[0] in SUBJECTS or words[0] in ("to", "want", "but")):
        words = words[1:]
    at = next((at for at in range(1, len(words)) if words[at] in PREPOSITIONS), len(words))
    return " ".join(words[:at]), _join_words(words[at:])


def _join_words(words: list[str]) -> str:
    return " ".join(word for word in words if word not in SILENT_MARKS and word not in _PERSON_WORDS)


# The ways in which people say what is wanted and what is not. A reading gets marks, plain words and separators, and
# returns what is wanted, what is not, and when; None if the words are not its own.
_BE_FORMS = ("is", "be")


def _split_clauses(words: list[str]) -> list[list[str]]:
    found: list[list[str]] = [[]]
    for word in words:
        if word in (",", ";"):
            found.append([])
        elif word == "BUT":
            found.append([word])
        else:
            found[-1].append(word)
    return [clause for clause in found if clause]


def _parse_instead(words: list[str]) -> _FrameParts:
    """Parse "X instead of Y" and "instead of Y, X"; Japanese and Korean put the word after the unwanted thing."""
    if "INSTEADPOST" in words:
        at = words.index("INSTEADPOST")
        left, right = _split_clauses(words[:at]), _split_clauses(words[at + 1 :])
        return (right[0], left[-1], []) if left and right else None
    if words.count("INSTEAD") != 1 or _count_bans(words):
        return None
    at = words.index("INSTEAD")
    if at == 0:
        clauses = _split_clauses(words[1:])
        if len(clauses) > 1:
            return clauses[1], clauses[0], []
        rest = [word for word in clauses[0] if word != "USE"] if clauses else []
        return (rest[1:], rest[:1], []) if len(rest) == 2 else None
    before, after = _split_clauses(words[:at]), _split_clauses(words[at + 1 :])
    wish = before[-1] if before else []
    if not after or not (
        wish[:1] == ["USE"] or "ALWAYS" in wish or wish[0] in ORDER_VERBS or wish[0] in SUBJECTS or len(wish) <= 3
    ):
        return None
    return wish, after[0], []


_WISH_STARTS = SUBJECTS | {"USE", "PREFER", "ALWAYS"}


def _parse_preference(words: list[str]) -> _FrameParts:
    """Parse "prefer X over Y" and "prefer X to Y"."""
    if words[0] not in _WISH_STARTS or _count_bans(words):
        return None
    mark = "OVER" if "OVER" in words else "to"
    if words.count(mark) != 1 or not ("PREFER" in words[:3] or (mark == "OVER" and "USE" in words[:3])):
        return None
    at = words.index(mark)
    after = _split_clauses(words[at + 1 :])
    is_whole = len([word for word in words[:at] if word not in SILENT_MARKS and word not in SUBJECTS]) > 0
    return (words[:at], after[0], []) if after and is_whole else None


def _parse_passive(words: list[str]) -> _FrameParts:
    """Parse "Y is not used", "Y must not be done", "Y is deprecated" and "X must be used"."""
    if _PASSIVE_MARKS.isdisjoint(words):
        return None
    for clause in _split_clauses(words):
        at = next((at for at, word in enumerate(clause) if word in BAN_MARKS), 0)
        if at:
            before, after = clause[:at], clause[at + 1 :]
            if after == ["USED"] and before[-1] == "is":
                return next((other for other in _split_clauses(words) if other[0] == "USE"), []), before[:-1], []
            if after[:2] == ["be", "USED"]:
                return [], before + after[2:], []
            if after[:1] == ["be"] and len(after) > 1 and before[0] not in SUBJECTS:
                return [], [after[1], *before, *after[2:]], []
        elif clause[-2:] == ["is", "GONE"] and len(clause) > 2 and not _count_bans(words):
            return next((other for other in _split_clauses(words) if "USE" in other[:2]), []), clause[:-2], []
        elif clause[-2:] in _REQUIRED_ENDINGS and len(clause) > 2:
            return clause[:-2], [], []
    return None


_PASSIVE_MARKS = frozenset(("USED", "GONE", "be", "requir", "mandatory"))
_REQUIRED_ENDINGS = (["be", "USED"], ["is", "USED"], ["is", "requir"], ["is", "mandatory"])


def _parse_ban(words: list[str]) -> _FrameParts:
    """Parse "use X, not Y", "don't use Y, use X" and "never Y"."""
    at = next(at for at, word in enumerate(words) if word in BAN_MARKS) if _count_bans(words) == 1 else -1
    if at < 0 or "WITHOUT" in words or (at + 1 == len(words) and words[at] not in ("PAS", "NOTPOST")):
        return None
    before, after = _split_clauses(words[:at]), _split_clauses(words[at + 1 :])
    later = [clause[clause[0] in _JOINING_WORDS :] for clause in after[1:] if _is_wish(clause)]
    if words[at] == "NOTPOST":
        later = [clause for clause in after + before[:-1] if "USEPOST" in clause]
        return (later[0] if later else [], before[-1], []) if before else None
    wish = later[0] if later else []
    if not before or (len(before) == 1 and before[0][0] in SUBJECTS and len(before[0]) <= 2):
        return (wish, after[0], []) if after else None
    if words[at - 1] not in (",", ";"):
        return _parse_inner_ban(words[at], before, after, wish)
    if not after or not (
        _is_wish(before[-1]) or (len(before) == 1 and len(before[0]) <= 3 and before[0][0] not in FILLER_WORDS)
    ):
        return None
    return before[-1] if len(before[-1]) > 1 or before[-1][0] not in SILENT_MARKS else wish, after[0], []


def _parse_inner_ban(mark: str, before: list[list[str]], after: list[list[str]], wish: list[str]) -> _FrameParts:
    """Parse a clause with words before its negation: an order, the subject of the ban, or its verb."""
    head = before[-1]
    rest = after[0] if after else []
    spoken = [word for word in head if word not in SILENT_MARKS]
    if head[-1] in _BE_FORMS:
        return ([], head[:-1], []) if rest in (["allow"], ["permit"], ["want"], ["welcom"]) else None
    if not spoken:
        return wish, rest, []
    if mark == "BAN" and _is_wish(head):
        return (head[:-1], rest, []) if head[-1] == "and" and rest and len(spoken) > 1 else None
    if mark == "NOT":
        if _is_wish(head) and spoken and rest:
            return head, rest, []
        is_pair = (
            len(before) == 1
            and len(spoken) == 1 == len(rest)
            and spoken[0] not in FILLER_WORDS
            and spoken[0] not in SUBJECTS
        )
        return (head, rest, []) if is_pair else None
    if len(before) > 1 or head[0] in FILLER_WORDS or (mark == "PAS" and head[0] == "USE" and rest):
        return None
    return wish, head + rest, []


def _count_bans(words: list[str]) -> int:
    return len([word for word in words if word in BAN_MARKS])


def _is_wish(clause: list[str]) -> bool:
    if clause[0] == "BUT" and len(clause) > 1 and clause[1] not in FILLER_WORDS:
        return True
    head = clause[1] if clause[0] in _LEADING_WORDS and len(clause) > 1 else clause[0]
    return head in ("USE", "PREFER") or head in ORDER_VERBS or clause[-1] in ("instead", "USEPOST")


_LEADING_WORDS = ("ALWAYS", "and", "then", "rather")
_JOINING_WORDS = ("BUT", "and", "then", "rather")


def _parse_wish(words: list[str]) -> _FrameParts:
    """Parse "always X", "use X" and "run X before Y"."""
    if _count_bans(words) or "WITHOUT" in words or "INSTEAD" in words or "instead" in words:
        return None
    if "ONLY" in words and not PREPOSITIONS.isdisjoint(words[words.index("ONLY") :]):  # "X only in C" is not "X in C"
        return None
    clauses = _split_clauses(words)
    head = clauses[0]
    if "is" in head[1:4]:  # "commit signing is off": a fact that begins like an order
        return None
    if not (head[0] in ("USE", "PREFER", "ALWAYS") or head[0] in ORDER_VERBS or "ALWAYS" in head or "USEPOST" in head):
        return None
    kept = [clauses[0], *(clause for clause in clauses[1:] if clause[0] not in REASON_WORDS)]
    return [word for clause in kept for word in clause], [], []


FRAME_PARSERS = (_parse_instead, _parse_preference, _parse_passive, _parse_ban, _parse_wish)


_WORD_LISTS = load_table("scopes")
# What is done *to* all projects is work at hand, what holds *in* them is a rule: so a word of place comes first.
_PLACE_WORDS = load_words("scopes", "place")
# What is meant for each project may be what the program does: it takes a word that says whose projects they are.
_FOR_WORDS, _OWNER_WORDS, _EVERY_WORDS = (
    load_words("scopes", "for"),
    load_words("scopes", "ours"),
    load_words("scopes", "every"),
)
_EVERY_WORDS_WITH_ENDING = load_words("scopes", "every_after")  # languages whose word of place is the end of the noun
_PLACE_ENDINGS, _PROJECT_NOUNS = tuple(_WORD_LISTS["ends"]), tuple(_WORD_LISTS["nouns"])
_SHORT_PROJECT_NOUNS = load_words("scopes", "short_nouns")
_IGNORED_WORDS = frozenset("the which what own other".split())  # `regardless of which project`, `in my other repos`
_LOOSE_WORDS = frozenset("of one single".split())  # `every single one of my projects`
_INNER_PLACE_WORDS = _PLACE_WORDS - _OWNER_WORDS
# Work at hand begins so, wherever it is to be done: `fix the warnings in all projects`.
_TASK_VERBS = load_words("scopes", "orders")
_MAX_WORDS_BETWEEN = 5  # words from `all` to the noun: `every single one of my projects`
_OWN_PROJECT_PHRASES, _UNSPACED_PHRASES = tuple(_WORD_LISTS["mine"]), tuple(_WORD_LISTS["wide"])
_ALL_PROJECT_PHRASES = (*_OWN_PROJECT_PHRASES, *_WORD_LISTS["phrases"])


def says_all_projects(words: Sequence[str]) -> bool:
    """Return whether the words say "in all projects". `words` are in lower case, without punctuation."""
    said, plain = _drop_ignored_words(words)
    for before, every, between, noun in _find_all_projects(said):
        is_for = before in _FOR_WORDS and (
            not _OWNER_WORDS.isdisjoint(between) or (every != "each" and _LOOSE_WORDS.issuperset(between))
        )
        if noun.endswith(_PLACE_ENDINGS) if every in _EVERY_WORDS_WITH_ENDING else before in _PLACE_WORDS or is_for:
            return True
    return any(
        phrase in plain
        for phrase in (_ALL_PROJECT_PHRASES if plain.isascii() else _ALL_PROJECT_PHRASES + _UNSPACED_PHRASES)
    )


def says_own_projects(words: Sequence[str]) -> bool:
    """Return whether the words say whose projects: the rule then holds in all of them, even if this one is named."""
    said, plain = _drop_ignored_words(words)
    if any(
        _OWNER_WORDS.intersection(between) and _LOOSE_WORDS.union(_OWNER_WORDS).issuperset(between)
        for _, _, between, _ in _find_all_projects(said)
    ):
        return True
    return any(phrase in plain for phrase in _OWN_PROJECT_PHRASES)


def is_current_task(words: Sequence[str]) -> bool:
    """Return whether the words begin like a task for now."""
    return any(word in _TASK_VERBS for word in [word for word in words[:2] if word != "please"][:1])


def _drop_ignored_words(words: Sequence[str]) -> tuple[list[str], str]:
    """Drop words without meaning here; return the rest as words and as a text."""
    plain = f" {' '.join(word for word in words if word not in _IGNORED_WORDS)} ".replace(" code base", " codebase")
    return plain.split(), plain


def _find_all_projects(words: Sequence[str]) -> Iterator[tuple[str, str, Sequence[str], str]]:
    """Yield each "all projects": the word before it, itself, the words between, and the noun.

    Things in a project or belonging to one are not projects.
    """
    for at, word in enumerate(words):
        near = (
            words[at + 1 : at + 1 + _MAX_WORDS_BETWEEN]
            if word in _EVERY_WORDS or word in _EVERY_WORDS_WITH_ENDING
            else ()
        )
        end = next(
            (place for place, one in enumerate(near) if one in _SHORT_PROJECT_NOUNS or one.startswith(_PROJECT_NOUNS)),
            -1,
        )
        between = near[: max(0, end)]
        is_part = "of" in between and not _LOOSE_WORDS.issuperset(between[: between.index("of")])
        if end >= 0 and not is_part and _INNER_PLACE_WORDS.isdisjoint(between):
            yield words[at - 1] if at else "", word, between, near[end]
