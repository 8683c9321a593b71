"""What the words behind our own name do: decide something, or plainly only read."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from reflect_git.sitting.audit import programs
from reflect_git.sitting.shell import UNKNOWN
from reflect_git.sitting.written import NAMED

RUNS, OPAQUE, KEYS, HOOK, TRANSCRIPT, STORE = "runs", "opaque", "keys", "hook", "transcript", "store"
ID = re.compile(r"\b(?:SIG|LRN|DEC)-\d{8}-[0-9a-z]{8}\b")
# These two also read; in a text they decide only with what has to follow them.
_NEEDS = {"audit": r"[^\n]*--accept", "config": r"\W+reflect\.\w+\W+\w"}
_VERBS = programs.DECIDING - {*_NEEDS}
_ANY_VERB = "|".join(sorted(programs.DECIDING))
_BEHIND_NAME = re.compile(rf"(?:{NAMED.pattern})[^A-Za-z\n]*({_ANY_VERB})(?![A-Za-z])", NAMED.flags)
_BEFORE_ID = re.compile(rf"(?<![\w-])({'|'.join(sorted(_VERBS))})(?![\w-])[^\n]{{0,80}}?{ID.pattern}")


class Suspicion(NamedTuple):
    """Why a call could have decided something: `verb` and `ids` are empty if they cannot be told.

    `is_plain`: the program is run directly, as a child of the client, where it refuses. `is_scheduled`: it may run much
    later. `is_planted`: the command is part of a text that another program keeps or runs.
    """

    kind: str
    verb: str = ""
    ids: frozenset[str] = frozenset()
    is_plain: bool = False
    is_scheduled: bool = False
    is_planted: bool = False


def mentions(code: str) -> Iterator[Suspicion]:
    """Judge our name within code: by the verb behind it, or as our package. Code can compute an id: none is told."""
    for match in NAMED.finditer(code):
        if code.startswith((":begin", ":end"), match.end()):  # the marks of our block, not our program
            continue
        verb = re.compile(r"[^A-Za-z]*([a-z]+)").match(code, match.end())
        is_package = "_" in match[0] and not re.search(r"-m[^A-Za-z]*$", code[: match.start()])
        if is_package or not verb or verb[1] not in programs.READS:
            yield Suspicion(RUNS, verb[1] if verb and verb[1] in programs.DECIDING else "", is_planted=True)


def planted(text: str) -> Iterator[Suspicion]:
    """Judge a text that some program may run: our name with a deciding verb, or such a verb with an id of ours.

    The name of the program is not needed, because a copy of it can have any name.
    """
    for match in _BEHIND_NAME.finditer(text):
        if match[1] not in _NEEDS or re.compile(_NEEDS[match[1]]).match(text, match.end()):
            yield Suspicion(RUNS, match[1], is_planted=True)
    for match in _BEFORE_ID.finditer(text):
        yield Suspicion(RUNS, match[1], is_planted=True)


def verb_with_id(words: Sequence[str]) -> Iterator[Suspicion]:
    """Judge the words of any program: a deciding verb and the id behind it are ours, whatever the program is called."""
    for at, word in enumerate(words[:-1]):
        if word in _VERBS and any(ID.fullmatch(one) for one in words[at + 1 :]):
            yield from invocation(words[at:])
            return


def invocation(args: Sequence[str], is_plain: bool = False) -> Iterator[Suspicion]:
    """Judge the words behind our name: nothing for a verb that plainly only reads."""
    words = list(args)
    if _is_harmless(words):
        return
    rest, skip = [], False
    for word in words:
        if not skip and not word.startswith("-"):
            rest.append(word)
        skip = word in ("--store", "--color") and not skip
    verb = rest[0] if rest else ""
    if not verb and not any(UNKNOWN in word for word in words):
        return
    if verb in programs.READS or (
        verb in programs.DECIDES_WITH and not {*programs.DECIDES_WITH[verb], UNKNOWN} & set(words)
    ):
        return
    is_listing = {"config": len(rest) < 3 and "--unset" not in words, "restore": len(rest) < 2, "remote": len(rest) < 2}
    if is_listing.get(verb):
        return
    yield Suspicion(RUNS, "" if UNKNOWN in verb else verb, _ids(words, verb), is_plain)


def _ids(words: Sequence[str], verb: str) -> frozenset[str]:
    """Return the ids that a command is about; none if one of its arguments may be another one.

    An id in the value of an option, such as `--reason`, says nothing about what is decided.
    """
    found: set[str] = set()
    behind = list(words[words.index(verb) :])
    for before, word in zip(behind, behind[1:]):
        is_value = before.startswith("-") and before not in programs.FLAGS and "=" not in before
        if UNKNOWN in word or not (is_value or word.startswith("-") or ID.fullmatch(word)):
            return frozenset()
        found |= {word} if not is_value and ID.fullmatch(word) else set()
    return frozenset(found)


def _is_harmless(words: Sequence[str]) -> bool:
    """Tell whether an option makes our program only read. The value of another option, or a word that belongs to the
    next command of a launcher (`tmux … ';' …`), is no such option."""
    for before, word in zip(["", *words], words):
        if word in ("--", ";"):
            return False
        takes_it = before.startswith("-") and before not in programs.FLAGS
        if word in programs.HARMLESS and not takes_it:
            return True
    return False
