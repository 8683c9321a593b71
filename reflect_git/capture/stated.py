"""Tell statements that the trained scorer underrates: short rules, shared commands and plain praise.

People state a rule in one short sentence after the work ("every list endpoint is paginated"). Labelled messages have
few of them, so the scorer puts them just below its limit. The words are in `knowledge/stated.json`.
"""

from __future__ import annotations

from reflect_git.model.tables import table

TYPE_CHECKING = False
if TYPE_CHECKING:
    from reflect_git.capture.features import Seen

# Of 1,304 labelled real messages six more are captured, none of them a signal; of 12 rules that trials missed, 11 are.
LIFT = 0.6
_FEWEST, _MOST, _SHORT = 3, 30, 12
_WORDS = table("stated")
_STANDING, _RUNS, _PURPOSES = (
    frozenset(_WORDS[name].split()) for name in ("standing_words", "runs", "purposes")
)  # fmt: skip
_PHRASES = tuple(f" {phrase} " for phrase in _WORDS["standing_phrases"])
_CORRECTIONS = tuple(f" {phrase} " for phrase in _WORDS["corrections"])
_PRAISE = frozenset(_WORDS["praise"])
_OTHER = ("first", "ask", "ends_ask", "you_did", "client", "lets", "can_you", "can_we")


def lifted(seen: Seen, height: float, limit: float) -> float:
    """Lift such a statement up to the limit, and no further: above it, it would crowd out what the model is sure of."""
    if height >= limit:
        return height
    is_near = height + LIFT >= limit and is_standing(seen)
    return limit if is_near or is_stated(seen) else height


def is_standing(seen: Seen) -> bool:
    """Tell whether a short message says what holds always, where things belong, or which command is for what."""
    if not _is_statement(seen, _MOST):
        return False
    plain = f" {' '.join(seen.wording)} "
    is_command = _shares_command(seen) and not _PURPOSES.isdisjoint(seen.wording)
    return not _STANDING.isdisjoint(seen.wording) or is_command or any(phrase in plain for phrase in _PHRASES)


def is_stated(seen: Seen) -> bool:
    """Tell whether a message of a few words corrects something or shares a command, whether or not that lasts."""
    plain = f" {' '.join(seen.wording)} "
    return _is_statement(seen, _SHORT) and (_shares_command(seen) or any(phrase in plain for phrase in _CORRECTIONS))


def is_plain_praise(seen: Seen) -> bool:
    """Tell whether a message is one phrase of praise and nothing else."""
    return " ".join(seen.wording) in _PRAISE


def _is_statement(seen: Seen, most: int) -> bool:
    return _FEWEST <= len(seen.wording) <= most and "?" not in seen.wording and seen.said.isdisjoint(_OTHER)


def _shares_command(seen: Seen) -> bool:
    return "ticks" in seen.said and not _RUNS.isdisjoint(seen.wording)
