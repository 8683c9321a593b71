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


class Suspicion(NamedTuple):
    """Why a call could have decided something: `verb` and `ids` are empty if they cannot be told.

    `is_plain`: the program is run directly, as a child of the client, where it refuses. `is_scheduled`: it may run much
    later.
    """

    kind: str
    verb: str = ""
    ids: frozenset[str] = frozenset()
    is_plain: bool = False
    is_scheduled: bool = False


def mentions(code: str) -> Iterator[Suspicion]:
    """Judge our name within code: by the verb behind it, or as our package."""
    ids = frozenset(ID.findall(code))
    for match in NAMED.finditer(code):
        verb = re.compile(r"[^A-Za-z]*([a-z]+)").match(code, match.end())
        is_package = "_" in match[0] and not re.search(r"-m[^A-Za-z]*$", code[: match.start()])
        if is_package or not verb or verb[1] not in programs.READS:
            yield Suspicion(RUNS, verb[1] if verb and verb[1] in programs.DECIDING else "", ids)


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
    yield Suspicion(RUNS, "" if UNKNOWN in verb else verb, frozenset(ID.findall(" ".join(words))), is_plain)


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
