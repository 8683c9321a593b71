"""One form for what people say in many: "isn't", "may not exceed", "why are you using", "every night".

The forms are in `knowledge/spoken.json`, each with what a text must hold for a look to be worth while: of 10,000 texts,
most have none of it.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache

from reflect_git.model.tables import table
from reflect_git.review.families import NUMBERS

_READ = 600
_COUNT = rf"(?=\d|(?:{'|'.join(NUMBERS)})\b)"


@cache
def _forms() -> list[tuple[list[str], str, str]]:
    numbers = "|".join(f" {word}" for word in NUMBERS)
    return [
        (hints.replace("{numbers}", numbers).split("|"), pattern.replace("{count}", _COUNT), plain)
        for hints, pattern, plain in table("spoken")["spoken"]
    ]


@lru_cache(maxsize=16384)
def plainly(text: str) -> str:
    """Return the text in small letters, with one form for what is said in many."""
    text = " ".join(text[:_READ].casefold().replace("\n", " ; ").split())
    for hints, pattern, plain in _forms():
        if any(map(text.__contains__, hints)):
            text = _compiled(pattern).sub(plain, text)
    return text


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    """Compile when a text has a hint of it: all of them would take as long as the first candidate's own reading."""
    return re.compile(pattern)
