"""The ways in which people say what is wanted and what is not: one function each, the most telling first.

A reading gets marks, plain words and separators; it gives what is wanted, what is not, and when, or None where the
words are not its own.
"""

from __future__ import annotations

from reflect_git.model.phrases import ORDERS, PREPOSITIONS, REASONS, SILENT, SUBJECTS, TALK
from reflect_git.model.plainwords import BANS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Optional

    _Found = Optional[tuple[list[str], list[str], list[str]]]

_BE = ("is", "be")


def _clauses(words: list[str]) -> list[list[str]]:
    found: list[list[str]] = [[]]
    for word in words:
        if word in (",", ";"):
            found.append([])
        elif word == "BUT":
            found.append([word])
        else:
            found[-1].append(word)
    return [clause for clause in found if clause]


def _arrow(words: list[str]) -> _Found:
    """Y → X."""
    if words.count("ARROW") != 1 or _count_bans(words) or "," in words:
        return None
    at = words.index("ARROW")
    left, right = words[:at], words[at + 1 :]
    return (right, left, []) if 0 < len(left) <= 4 and 0 < len(right) <= 4 else None


def _switch(words: list[str]) -> _Found:
    """Switch from Y to X, replace Y with X."""
    verb = words[0]
    if verb in ("switch", "migrat", "mov", "chang") and words[1:2] == ["from"] and "to" in words:
        at = words.index("to")
        return words[at + 1 :], words[2:at], []
    if verb in ("replac", "swap") and not _count_bans(words):
        at = next((at for at, word in enumerate(words) if word in ("with", "by")), 0)
        return (words[at + 1 :], words[1:at], []) if at > 1 else None
    return None


def _instead(words: list[str]) -> _Found:
    """X instead of Y; instead of Y, X; in Japanese and Korean the word stands behind what is not wanted."""
    if "INSTEADPOST" in words:
        at = words.index("INSTEADPOST")
        left, right = _clauses(words[:at]), _clauses(words[at + 1 :])
        return (right[0], left[-1], []) if left and right else None
    if words.count("INSTEAD") != 1 or _count_bans(words):
        return None
    at = words.index("INSTEAD")
    if at == 0:
        clauses = _clauses(words[1:])
        if len(clauses) > 1:
            return clauses[1], clauses[0], []
        rest = [word for word in clauses[0] if word != "USE"] if clauses else []
        return (rest[1:], rest[:1], []) if len(rest) == 2 else None
    before, after = _clauses(words[:at]), _clauses(words[at + 1 :])
    wish = before[-1] if before else []
    if not after or not (
        wish[:1] == ["USE"] or "ALWAYS" in wish or wish[0] in ORDERS or wish[0] in SUBJECTS or len(wish) <= 3
    ):
        return None
    return wish, after[0], []


_WISHING = SUBJECTS | {"USE", "PREFER", "ALWAYS"}


def _over(words: list[str]) -> _Found:
    """Prefer X over Y, prefer X to Y."""
    if words[0] not in _WISHING or _count_bans(words):
        return None
    mark = "OVER" if "OVER" in words else "to"
    if words.count(mark) != 1 or not ("PREFER" in words[:3] or (mark == "OVER" and "USE" in words[:3])):
        return None
    at = words.index(mark)
    after = _clauses(words[at + 1 :])
    is_whole = len([word for word in words[:at] if word not in SILENT and word not in SUBJECTS]) > 0
    return (words[:at], after[0], []) if after and is_whole else None


def _gone(words: list[str]) -> _Found:
    """Y is deprecated; use X."""
    if "GONE" not in words or _count_bans(words):
        return None
    clauses = _clauses(words)
    gone = next(clause for clause in clauses if "GONE" in clause)
    at = gone.index("GONE")
    if at < 2 or gone[at - 1] not in _BE or len(gone) > at + 1:
        return None
    wish = next((clause for clause in clauses if "USE" in clause[:2]), [])
    return (wish, gone[: at - 1], []) if wish or len(clauses) == 1 else None


def _first(words: list[str]) -> _Found:
    """A first, then B; first A, then B: A before B."""
    at = words.index("then") if words.count("then") == 1 else 0
    if at < 2 or words.count("first") != 1 or _count_bans(words) or ";" in words:
        return None
    before, after = [word for word in words[:at] if word not in (",", "and", "first")], words[at + 1 :]
    is_order = before and before[0] in ORDERS and after and after[0] in ORDERS and "," not in after
    return (before, [], ["before", *after]) if is_order and words[words.index("first") + 1] in _THEN else None


_THEN = frozenset((",", "and", "then")) | ORDERS


def _used(words: list[str]) -> _Found:
    """Y is not used, Y must not be done, X must be used, X must be done."""
    if _SAID_OF.isdisjoint(words):
        return None
    for clause in _clauses(words):
        at = next((at for at, word in enumerate(clause) if word in BANS), 0)
        if at:
            before, after = clause[:at], clause[at + 1 :]
            if after == ["USED"] and before[-1] == "is":
                return next((other for other in _clauses(words) if other[0] == "USE"), []), before[:-1], []
            if after[:2] == ["be", "USED"]:
                return [], before + after[2:], []
            if after[:1] == ["be"] and len(after) > 1 and before[0] not in SUBJECTS:
                return [], [after[1], *before, *after[2:]], []
        elif clause[-2:] in _NEEDED and len(clause) > 2:
            return clause[:-2], [], []
        elif "ALWAYS" in clause[1:-2]:
            return _must_be(clause)
    return None


_SAID_OF = frozenset(("USED", "be", "requir", "mandatory"))
_NEEDED = (["be", "USED"], ["is", "USED"], ["is", "requir"], ["is", "mandatory"])


def _must_be(clause: list[str]) -> _Found:
    """X must be done before Y."""
    at = clause.index("ALWAYS", 1)
    done = clause[at + 2 : at + 3]
    if clause[at + 1] != "be" or clause[0] in SUBJECTS or clause[0] in TALK or done[0] not in ORDERS:
        return None
    return [done[0], *clause[:at], *clause[at + 3 :]], [], []


def _only(words: list[str]) -> _Found:
    """Only X when C: not X unless C."""
    if words.count("ONLY") != 1 or _count_bans(words):
        return None
    at = words.index("ONLY")
    if words[at + 1 : at + 2] and words[at + 1] in PREPOSITIONS:
        core, when = words[:at], words[at + 1 :]
    else:
        rest = words[:at] + words[at + 1 :]
        cut = next((spot for spot in range(1, len(rest)) if rest[spot] in PREPOSITIONS), 0)
        if at or not cut:
            return None
        core, when = rest[:cut], rest[cut:]
    when = when[1:] if when[0] in ("when", "if") else when
    return ([], core, ["unless", *(_clauses(when) or [[]])[0]]) if core and core[0] in ORDERS | {"USE"} else None


def _without(words: list[str]) -> _Found:
    """Never A without B: B before A. A without B: no B before A."""
    if words.count("WITHOUT") != 1 or "," in words or ";" in words:
        return None
    at = words.index("WITHOUT")
    first, second = words[:at], words[at + 1 :]
    is_ban = first[:1] == ["BAN"]
    first = first[1:] if is_ban else first
    if not first or not second or _count_bans(first) or second[0] not in ORDERS or first[0] not in ORDERS:
        return None
    when = ["before", *first]
    return (second, [], when) if is_ban else ([], second, when)


def _banned(words: list[str]) -> _Found:
    """Use X, not Y; don't use Y, use X; never Y."""
    at = next(at for at, word in enumerate(words) if word in BANS) if _count_bans(words) == 1 else -1
    if at < 0 or "WITHOUT" in words or (at + 1 == len(words) and words[at] not in ("PAS", "NOTPOST")):
        return None
    before, after = _clauses(words[:at]), _clauses(words[at + 1 :])
    later = [_bare(clause) for clause in after[1:] if _is_wish(clause)]
    if words[at] == "NOTPOST":
        later = [clause for clause in after + before[:-1] if "USEPOST" in clause]
        return (later[0] if later else [], before[-1], []) if before else None
    wish = later[0] if later else []
    if not before or (len(before) == 1 and before[0][0] in SUBJECTS and len(before[0]) <= 2):
        return (wish, after[0], []) if after else None
    if words[at - 1] not in (",", ";"):
        return _banned_within(words[at], before, after, wish)
    if not after or not (
        _is_wish(before[-1]) or (len(before) == 1 and len(before[0]) <= 3 and before[0][0] not in TALK)
    ):
        return None
    return before[-1] if len(before[-1]) > 1 or before[-1][0] not in SILENT else wish, after[0], []


def _banned_within(mark: str, before: list[list[str]], after: list[list[str]], wish: list[str]) -> _Found:
    """Something stands before the negation in its own clause: an order, the subject of the ban, or its verb."""
    head = before[-1]
    rest = after[0] if after else []
    spoken = [word for word in head if word not in SILENT]
    if head[-1] in _BE:
        return ([], head[:-1], []) if rest in (["allow"], ["permit"], ["want"], ["welcom"]) else None
    if not spoken:
        return wish, rest, []
    if mark == "BAN" and _is_wish(head):
        return (head[:-1], rest, []) if head[-1] == "and" and rest and len(spoken) > 1 else None
    if mark == "NOT":
        if _is_wish(head) and spoken and rest:
            return head, rest, []
        is_pair = (
            len(before) == 1 and len(spoken) == 1 == len(rest) and spoken[0] not in TALK and spoken[0] not in SUBJECTS
        )
        return (head, rest, []) if is_pair else None
    if len(before) > 1 or head[0] in TALK or (mark == "PAS" and head[0] == "USE" and rest):
        return None
    return wish, head + rest, []


def _count_bans(words: list[str]) -> int:
    return len([word for word in words if word in BANS])


def _is_wish(clause: list[str]) -> bool:
    if clause[0] == "BUT" and len(clause) > 1 and clause[1] not in TALK:
        return True
    head = clause[1] if clause[0] in _LEADS and len(clause) > 1 else clause[0]
    return head in ("USE", "PREFER") or head in ORDERS or clause[-1] in ("instead", "USEPOST")


_LEADS = ("ALWAYS", "and", "then", "rather")


def _bare(clause: list[str]) -> list[str]:
    return clause[1:] if clause[0] in ("BUT", "and", "then", "rather") else clause


def _wished(words: list[str]) -> _Found:
    """Always X; use X; run X before Y."""
    if _count_bans(words) or "WITHOUT" in words or "INSTEAD" in words or "instead" in words:
        return None
    clauses = _clauses(words)
    head = clauses[0]
    if "is" in head[1:4]:  # "commit signing is off": a fact that begins like an order
        return None
    if not (head[0] in ("USE", "PREFER", "ALWAYS") or head[0] in ORDERS or "ALWAYS" in head or "USEPOST" in head):
        return None
    kept = [clauses[0], *(clause for clause in clauses[1:] if clause[0] not in REASONS)]
    return [word for clause in kept for word in clause], [], []


READINGS = (_arrow, _switch, _instead, _over, _gone, _used, _only, _without, _banned, _first, _wished)
