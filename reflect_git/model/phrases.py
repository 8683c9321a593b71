"""The words that make a frame, in ten languages: what is dropped, what marks a wish, a ban, an alternative.

Marks are upper case; the text they are put into is not, so that none can be typed by a user. The words are in
`knowledge/orders.json`; a key depends on them, so a change of theirs is a change of keys.
"""

from __future__ import annotations

from reflect_git.model.tables import table

_WORDS = table("orders")


def _set(name: str) -> frozenset[str]:
    return frozenset(_WORDS[name].split())


def _by_first_word() -> dict[str, list[tuple[list[str], str]]]:
    """First word → the phrases that begin with it, the longest first."""
    found: dict[str, list[tuple[list[str], str]]] = {}
    for mark, phrases in _WORDS["phrases"]:
        for phrase in phrases.split("|"):
            words = phrase.split()
            found.setdefault(words[0], []).append((words, mark))
    for starting in found.values():
        starting.sort(key=lambda phrase: -len(phrase[0]))
    return found


PHRASES = _by_first_word()
OPENERS = _set("openers")  # said before anything is said: dropped at the beginning, with what follows up to the comma
SUBJECTS = _set("subjects")
US = _set("us")  # who says "we use X"
HOUSES = _set("houses")
REFUSALS = _set("refusals")  # a sentence of one word that only says no to what was done
SILENT = frozenset(("USE", "USEPOST", "PREFER", "ALWAYS", "ONLY", "instead", "ASK", "will"))  # how, not what
RUNNING: dict[str, str] = _WORDS["running"]  # what one says for running the tool that does it
ORDERS = _set("verbs")  # the verbs that begin an order; stems
PREPOSITIONS = _set("prepositions")
REASONS = _set("reasons")
TALK = _set("talk")  # no name of a thing: what stands before a "not" in talk
IRREGULAR: dict[str, str] = _WORDS["irregular"]
MARKS: dict[str, str] = {word: mark for mark, words in _WORDS["marked"].items() for word in words.split()}
# French puts its negation around the verb; the second half alone says nothing.
MARKS.update(dict.fromkeys((*_WORDS["dropped"].split(), *_WORDS["dropped_whole"].split()), ""))
for _word in (*PREPOSITIONS, *SUBJECTS, *REASONS, *TALK, "be", "from", "to", "with", "by", "something"):
    MARKS.setdefault(_word, _word)
_RUN_TOGETHER = ("BAN", "INSTEAD", "INSTEADPOST", "NOTPOST", "USEPOST", "ALWAYS", "USE")
# Where a script does without spaces: these are set apart before anything else is looked at.
UNSPACED = tuple(
    sorted(
        (word for mark in _RUN_TOGETHER for word in _WORDS["marked"][mark].split() if word[0] >= "\u3040" < word[1:]),
        key=lambda word: -len(word),
    )
)
