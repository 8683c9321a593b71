"""Match names and paths with `*`, `?`, `[…]`, `{a,b}` and `**`, without regular expressions and in bounded time."""

from __future__ import annotations


def matches_word(pattern: str, word: str) -> bool:
    """Return whether a word matches a pattern with `*`, `?` and `[…]`, where `*` also matches `/`."""
    at = star = mark = 0
    has_star = False
    place = 0
    while place < len(word):
        size = _matches_one(pattern, at, word[place])
        if at < len(pattern) and pattern[at] == "*":
            has_star, star, mark = True, at, place
            at += 1
        elif size:
            at += size
            place += 1
        elif has_star:
            at, mark = star + 1, mark + 1
            place = mark
        else:
            return False
    return not pattern[at:].strip("*")


def _matches_one(pattern: str, at: int, char: str) -> int:
    """Return how many characters of the pattern match one character; 0 if they do not."""
    if at >= len(pattern):
        return 0
    if pattern[at] == "?":
        return 1
    if pattern[at] == "[":
        end = pattern.find("]", at + 2)
        if end > 0:
            inside = pattern[at + 1 : end]
            negated = inside[:1] in ("!", "^")
            inside = inside[1:] if negated else inside
            found = char in inside
            for middle in range(1, len(inside) - 1):
                if inside[middle] == "-" and inside[middle - 1] <= char <= inside[middle + 1]:
                    found = True
            return end + 1 - at if found != negated else 0
    return 1 if pattern[at] == char else 0


def matches_path(pattern: str, path: str, is_anchored: bool) -> bool:
    """Return whether a path, or a folder above it, matches a glob.

    A glob without a slash matches at any depth, as in .gitignore. One with a slash begins at the project's root; if the
    root is not known (`is_anchored` is false), at any folder.
    """
    for each in _expand(pattern):
        parts = [part for part in each.split("/") if part not in ("", ".")]
        if each[:1] != "/" and (not is_anchored or len(parts) == 1):
            parts = ["**", *parts]
        if parts[-1:] == ["**"] and len(parts) > 1:
            parts = parts[:-1]  # `src/gen/**` also protects the folder itself
        if parts and _matches_parts(parts, [part for part in path.split("/") if part not in ("", ".")]):
            return True
    return False


def _matches_parts(pattern: list[str], parts: list[str]) -> bool:
    """Return whether the parts of a path begin with a match."""
    reachable = {0}
    for part in pattern:
        if part == "**":
            reachable = set(range(min(reachable), len(parts) + 1))
        else:
            reachable = {at + 1 for at in reachable if at < len(parts) and matches_word(part, parts[at])}
        if not reachable:
            return False
    return True


def _expand(pattern: str) -> list[str]:
    """Return the globs that `{a,b}` stands for."""
    if "{" not in pattern:
        return [pattern]
    from reflect_git.guards.shell import expand_braces

    return expand_braces(pattern)
