"""Find texts for a guard: it applies to a call only if the call contains at least one of them.

A shell script compares them with the JSON of a call, before Python starts. So they are in JSON's escaped form and ASCII
only. They need not be exact: a text that is found too often costs time, one that is missing makes the guard blind.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

from reflect_git.guards.shell import expand_braces
from reflect_git.records import json_form

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

STOP_EVENT = '"hook_event_name":"Stop"'  # in no call: there its quotes are escaped
_SHORTEST = 2
_SHORT = 3
_MOST_TEXTS = 60
# In every call; a text that is part of this says nothing.
_FRAME = (
    '{"session_id":"","transcript_path":"/home/user/.claude/projects/-home-user/.jsonl","cwd":"/Users","prompt_id":"",'
    '"permission_mode":"default","effort":{"level":"medium"},"hook_event_name":"PreToolUse","tool_name":"Bash",'
    '"tool_input":{"command":"","description":"","file_path":"","old_string":"","new_string":"","replace_all":false,'
    '"content":"","pattern":"","path":""},"tool_use_id":"toolu_01"}'
)
# What can be in front of a program's name or a path's first letter, and behind a file's name; JSON writes `\\n`.
_BEFORE = ('"', " ", "'", "/", "\\n", "\\t", "\\\\", "(", "`", ";", "&", "|", "{", "=", "!", ",", "<", ">", ":")
_BEHIND = ('"', " ", "'", "/", "\\", ")", "`", ";", "&", "|", "}", ",", "<", ">", ":", "]")


class Texts(NamedTuple):
    """Hold texts, at least one of them in every matching call; `any_case` if upper and lower case do not matter."""

    texts: tuple[str, ...]
    any_case: bool = False

    def get_score(self) -> int:
        """Return how selective the texts are: the length of the shortest."""
        return min(map(len, self.texts), default=0)


def find_texts(matcher: Mapping[str, Any]) -> Texts | None:
    """Return the texts of a guard's matcher; None if every call has to be looked at."""
    if "requires" in matcher:
        return Texts((STOP_EVENT,))
    clauses = matcher.get("any")
    found: list[Texts] = []
    for clause in clauses if isinstance(clauses, list) else [matcher]:
        if isinstance(clause, dict):
            best = max(_find_clause_texts(clause), key=Texts.get_score, default=Texts(()))
            if best.get_score() < _SHORTEST:
                return None
            found.append(best)
    texts = tuple(dict.fromkeys(text for each in found for text in each.texts))
    return Texts(texts, any(each.any_case for each in found)) if texts and len(texts) <= 20 * _MOST_TEXTS else None


def _find_clause_texts(clause: Mapping[str, Any]) -> Iterator[Texts]:
    """Yield the texts for each condition of a clause. All conditions hold, so one of them is enough."""
    if "run" in clause:
        words = str(clause["run"]).split()
        specs = [*words, *_get_strings(clause.get("args")), *_get_strings([clause.get("from")])]
        for at, spec in enumerate(specs):
            yield _build_texts(_find_word_text(each, at < len(words)) for each in spec.split("|"))
        if isinstance(clause.get("text"), str):
            yield _find_pattern_texts(clause["text"])
        return
    if isinstance(clause.get("paths"), list):
        globs = [glob for each in _get_strings(clause["paths"]) for glob in expand_braces(each)]
        yield _build_texts(_find_glob_text(glob) for glob in globs)
    if isinstance(clause.get("content"), str):
        yield _find_pattern_texts(clause["content"])
    elif isinstance(clause.get("tool"), str):
        yield _build_texts((max(_split_wildcards(each), key=len), "") for each in clause["tool"].split("|"))


def _get_strings(value: object) -> list[str]:
    return [each for each in value if isinstance(each, str)] if isinstance(value, list) else []


def _find_word_text(spec: str, is_program: bool) -> tuple[str, str]:
    """Return the longest fixed part of a word, and its side that needs a boundary."""
    part = max(_split_wildcards(spec), key=len)
    return part, "before" if is_program and spec.startswith(part) else ""


def _find_glob_text(glob: str) -> tuple[str, str]:
    """Return the longest fixed part of one folder or file name; a path may be given from any folder, so only of one."""
    parts = [(part, name) for name in glob.split("/") for part in _split_wildcards(name)]
    part, name = max(parts, key=lambda each: len(each[0]), default=("", ""))
    return part, "behind" if name.endswith(part) and not name.startswith(part) else "before"


def _split_wildcards(spec: str) -> list[str]:
    return re.split(r"\*|\?|\[[^\]]*\]", spec)


def _build_texts(parts: Iterable[tuple[str, str]]) -> Texts:
    """Return the texts for alternatives; none if one of them has no fixed part."""
    made: list[str] = []
    for part, side in parts:
        text = max(re.split(r"[^ -~]+", part), key=len)
        if len(text) < _SHORTEST:
            return Texts(())
        quoted = json_form.quote(text)[1:-1]
        if len(quoted) > _SHORT and quoted not in _FRAME:
            made.append(quoted)
        elif side == "before" and part.startswith(text):
            made += [mark + quoted for mark in _BEFORE]
        elif side == "behind" and part.endswith(text):
            made += [quoted + mark for mark in _BEHIND]
        else:
            made.append(quoted)
    return Texts(tuple(made))


def _find_pattern_texts(pattern: str) -> Texts:
    """Return texts so that every match of a regular expression contains at least one of them."""
    try:
        parser = re._parser  # type: ignore[attr-defined]  # since Python 3.11
    except AttributeError:
        import sre_parse as parser
    try:
        parsed = parser.parse(pattern)
    except (re.error, RecursionError, OverflowError):
        return Texts(())
    found = max(_find_parsed_texts(list(parsed)), key=lambda each: min(map(len, each), default=0), default=())
    texts = _build_texts((text, "") for text in found)
    return texts._replace(any_case=bool(parsed.state.flags & re.IGNORECASE) or "(?i" in pattern)


def _find_parsed_texts(nodes: Sequence[tuple[Any, Any]]) -> Iterator[tuple[str, ...]]:
    """Yield tuples of alternatives; in every match at least one text of each tuple occurs."""
    run = ""
    for kind, given in nodes:
        name = str(kind)
        if name == "LITERAL" and chr(given).isprintable():
            run += chr(given)
            continue
        if run:
            yield (run,)
        run = ""
        if name == "SUBPATTERN":
            yield from _find_parsed_texts(list(given[-1]))
        elif name in ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT") and given[0] > 0:
            yield from _find_parsed_texts(list(given[2]))
        elif name == "ATOMIC_GROUP":
            yield from _find_parsed_texts(list(given))
        elif name == "BRANCH":
            best = [
                max(_find_parsed_texts(list(each)), key=lambda one: min(map(len, one), default=0), default=())
                for each in given[1]
            ]
            if all(best) and sum(map(len, best)) <= _MOST_TEXTS:
                yield tuple(text for each in best for text in each)
    if run:
        yield (run,)
