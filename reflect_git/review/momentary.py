"""Tell remarks about the work at hand from instructions that last.

"You forgot the migration again" and "wrong file, I meant main.tf" are corrections, and worth keeping as signals. As
questions they waste the person's time: there is no rule in them. The patterns are in `knowledge/moment.json`.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache

from reflect_git.model.tables import table


@cache
def _any(name: str) -> re.Pattern[str]:
    return re.compile("|".join(f"(?:{pattern})" for pattern in table("moment")[name]), re.IGNORECASE)


@lru_cache(maxsize=16384)
def is_momentary(text: str) -> bool:
    """Return True if a text speaks of what was just done, or of this once, and orders nothing that lasts.

    "Why did you use npm instead of pnpm?" names what to use in place of what, so it is no such remark.
    """
    return bool(_any("fleeting").search(text)) and not _any("standing").search(text)
