"""Say a negation plainly: "n'oublie pas de tester" wants tests, "stop adding comments" is a ban, "why …?" complains.

Only for comparing a wording with what was said; keys and frames do not come from here.
"""

from __future__ import annotations

import re
from functools import cache

from reflect_git.model.tables import table
from reflect_git.review.senses import words_of

_I = re.IGNORECASE
_ELIDED = re.compile(r"\b(?:n|d|l|j|qu|c)['’](?=\w)", _I)  # French and Italian: n'ajoute, d'ajouter
_ASIDE = re.compile(r"[,;]?\s*(?:what did i (?:just )?(?:tell|say).*|as i said.*|again)?[?!.？！…]*$", _I)


def plainly_denied(text: str) -> str:
    """Replace what reminds, stops, rules out or judges by the plain word for it."""
    text = _phrases("untouched").sub(lambda found: f" do not touch {found[found.lastindex or 0]} ", text)
    for name, plain in (("reminder", " "), ("stop", " do not "), ("nobody", " never "), ("judged", " is forbidden ")):
        text = _phrases(name).sub(plain, text)
    return " ".join(_ELIDED.sub("", text).split())


def complained_of(said: str) -> str:
    """Return the fault that a question complains of; empty if it is no question, or one that orders ("can you …?")."""
    if _phrases("reminder").search(said):
        return ""
    found = _phrases("complaint").match(said.strip())
    is_asked = said.rstrip()[-1:] in ("?", "？") and "ASK" not in words_of(said)
    if not found and not is_asked:
        return ""
    rest = _ASIDE.sub("", said.strip()[found.end() :] if found else said.strip())
    return rest.strip()


@cache
def _phrases(name: str) -> re.Pattern[str]:
    """Compile a list of the table. Scripts without spaces have no edges of words."""
    bounded: list[str] = []
    free: list[str] = []
    for pattern in table("negations")[name]:
        (free if max(pattern) >= "\u3040" else bounded).append(pattern)
    edge = rf"(?<!\w)(?:{'|'.join(bounded)})(?:(?<=['’\s])|(?!\w))"
    return re.compile("|".join((edge, *free)), _I)
