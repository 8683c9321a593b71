"""Build matchers from options of a command and from calls that a person marked; check and describe them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from reflect_git.errors import EXIT_USAGE, ReflectError
from reflect_git.guards.match import Call, find_match

Clause = dict[str, Any]
Matcher = dict[str, Any]

MAX_MATCHER_BYTES = 8192
_MAX_PATTERN_LENGTH = 500
_MAIN_KEYS = ("run", "content", "paths", "tool")
_READING_TOOLS = ("Read", "Grep")
_EDITING_TOOLS = ("Edit", "Write", "MultiEdit", "NotebookEdit")
_WILDCARDS = "*?["


def build_matcher(tool: str, match: str, globs: Sequence[str], content: str, required: Sequence[str] = ()) -> Matcher:
    """Return the matcher that the options `--tool`, `--match`, `--path`, `--content` and `--requires` describe."""
    if required and (match or tool):
        raise _usage_error("--requires is about the end of a turn, --match and --tool about a call", "give one of them")
    if required:
        edits = build_matcher("", "", globs or ["**"] if not content else globs, content)
        return {**edits, "requires": [parse_command_clause(text) for text in required]}
    is_path_tool = tool in (*_READING_TOOLS, *_EDITING_TOOLS)
    if content and (match or tool in ("Bash", *_READING_TOOLS)):
        raise _usage_error("--content is for text that a call adds to a file", "give it with or without --path")
    if content:
        return {"any": [{"content": content, **({"paths": list(globs)} if globs else {})}]}
    if globs:
        if match or not (is_path_tool or not tool):
            raise _usage_error("--path is for files, --match for commands", "give one of them")
        return {"any": [{"paths": list(globs), "access": "read" if tool in _READING_TOOLS else "write"}]}
    if is_path_tool:
        raise _usage_error(f"--tool {tool} needs a path", "for example: --path 'src/gen/**'")
    if tool in ("", "Bash"):
        return {"any": [parse_command_clause(match)]}
    return {"any": [{"tool": tool, **({"text": match} if match else {})}]}


def parse_command_clause(text: str) -> Clause:
    """Return the clause for a command: its program and subcommands, then the options that must be there."""
    words = text.split()
    if not words or words[0].startswith("-"):
        raise _usage_error(f"'{text}' names no program", "for example: --match 'git push --force'")
    flags = [word for word in words if word.startswith("-")]
    clause: Clause = {"run": " ".join(word for word in words if not word.startswith("-"))}
    return {**clause, "flags": flags} if flags else clause


def add_exceptions(matcher: Matcher, texts: Iterable[str]) -> Matcher:
    """Return the matcher with the exceptions that `--except` gives: commands for a command, else paths."""
    clauses = [_parse_exception(matcher, text) for text in texts]
    return _with_exceptions(matcher, clauses)


def _parse_exception(matcher: Matcher, text: str) -> Clause:
    kinds = {get_kind(clause) for clause in matcher["any"]}
    if kinds == {"run"}:
        return parse_command_clause(text)
    if kinds <= {"paths", "content"}:
        return {"paths": [text]}
    raise _usage_error("--except works for commands and files only", "narrow it with --match instead")


def _with_exceptions(matcher: Matcher, clauses: Sequence[Clause]) -> Matcher:
    known = list(matcher.get("except") or ())
    added = [clause for clause in clauses if clause not in known]
    return {**matcher, "except": [*known, *added]} if added else matcher


def except_call(matcher: Matcher, call: Call) -> Matcher | None:
    """Return the matcher with an exception for this very command or file; None if that cannot be expressed."""
    if "requires" in matcher:
        edits = except_call({name: value for name, value in matcher.items() if name != "requires"}, call)
        return {**edits, "requires": matcher["requires"]} if edits else None
    for _ in range(len(call.commands) + len(call.writes) + len(call.reads)):
        found = find_match(matcher, call)
        if not found:
            return matcher
        clause = next((_describe_command(one.name, one.args) for one in call.commands
                       if " ".join([one.name, *one.args])[:200] == found), None)  # fmt: skip
        clause = clause or (
            {"paths": [_escape(_get_relative(found, call.root))]} if "/" in found or "." in found else None
        )
        if clause is None:
            return None
        before, matcher = matcher, _with_exceptions(matcher, [clause])
        if matcher is before:
            return None
    return None if find_match(matcher, call) else matcher


def _describe_command(name: str, words: Sequence[str]) -> Clause:
    """Return a clause for one command as it was run; what could be a wildcard in it means itself."""
    leading = []
    for word in words:
        if word.startswith("-") or not re.fullmatch(r"[\w:.@-]+", word):
            break
        leading.append(word)
    rest = words[len(leading) :]
    clause: Clause = {"run": " ".join(map(_escape, [name, *leading]))}
    flags = [_escape(word.partition("=")[0]) for word in rest if word.startswith("-") and word.strip("-")]
    args = [_escape(word) for word in rest if not word.startswith("-") and word]
    # Without `bare`, an exception for `npm install` would spare `npm install zod` as well.
    return {**clause, **({"flags": flags} if flags else {}), **({"args": args} if args else {"bare": True})}


def _escape(word: str) -> str:
    """Return a pattern for exactly this word. `|` cannot be escaped, and becomes any one character."""
    return "".join(f"[{char}]" if char in _WILDCARDS else "?" if char == "|" else char for char in word)


def _get_relative(path: str, root: str) -> str:
    return path[len(root) + 1 :] if root and path.startswith(f"{root}/") else path


def get_kind(clause: Mapping[str, Any]) -> str:
    """Return the kind of a clause: the key that says what it matches; empty without one."""
    return next((key for key in _MAIN_KEYS if key in clause), "")


def find_problem(matcher: Any) -> str:
    """Return what is wrong with a matcher; empty if it can be used. It may come from another machine."""
    if not isinstance(matcher, dict) or not isinstance(matcher.get("any"), list) or not matcher["any"]:
        return "it matches nothing"
    if len(json.dumps(matcher)) > MAX_MATCHER_BYTES:
        return "it is too long"
    required = matcher.get("requires", [])
    parts = (matcher.get("except", []), required)
    if set(matcher) - {"any", "except", "instead", "requires"} or not all(isinstance(one, list) for one in parts):
        return "it has unknown parts"
    if "requires" in matcher and (
        not required
        or any(not isinstance(clause, dict) or get_kind(clause) != "run" for clause in required)
        or any(
            not isinstance(clause, dict) or get_kind(clause) not in ("paths", "content") for clause in matcher["any"]
        )
    ):
        return "it has to name edited files, and commands that are required"
    for clause in (*matcher["any"], *matcher.get("except", ()), *required):
        problem = _find_clause_problem(clause)
        if problem:
            return problem
    return ""


def _find_clause_problem(clause: Any) -> str:
    if not isinstance(clause, dict) or not get_kind(clause):
        return "a part of it names no command, file, content or tool"
    for key, value in clause.items():
        is_usable = _VALUE_CHECKS.get(key)
        if is_usable is None or not is_usable(value):
            return f"'{key}' cannot be {value!r}"[:200]
    for key in ("content", "text"):
        problem = _find_pattern_problem(clause[key]) if key in clause else ""
        if problem:
            return problem
    return ""


def _find_pattern_problem(pattern: str) -> str:
    if len(pattern) > _MAX_PATTERN_LENGTH:
        return f"the regular expression is longer than {_MAX_PATTERN_LENGTH} characters"
    try:
        matches_nothing = re.compile(pattern).search("")
    except (re.error, RecursionError, OverflowError) as error:
        return f"'{pattern[:60]}' is not a regular expression: {error}"
    return f"'{pattern[:60]}' matches every text" if matches_nothing else ""


def _is_word(value: Any) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _is_word_list(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(map(_is_word, value))


_VALUE_CHECKS: dict[str, Callable[[Any], bool]] = {
    **dict.fromkeys(("run", "tool", "content", "text", "from", "branch"), _is_word),
    **dict.fromkeys(("paths", "flags", "missing", "args", "no_args"), _is_word_list),
    **dict.fromkeys(("bare", "existing"), lambda value: isinstance(value, bool)),
    "access": lambda value: value in ("read", "write", "any"),
    "look_in": lambda value: value in ("code", "strings", "all"),
    "files": lambda value: value in ("read", "write"),
    "env": lambda value: isinstance(value, dict) and all(isinstance(each, str) for each in value.values()),
}


def describe_matcher(matcher: Mapping[str, Any]) -> str:
    """Return a matcher in a few words: `npm install with -g, except npm publish`."""
    said = " or ".join(map(_describe_clause, matcher.get("any") or ()))
    if "requires" in matcher:
        said = f"ending a turn without {' or '.join(map(_describe_clause, matcher['requires']))} after {said}"
    spared = ", ".join(map(_describe_clause, matcher.get("except") or ()))
    return f"{said}, except {spared}" if spared else said


def _describe_clause(clause: Mapping[str, Any]) -> str:
    kind = get_kind(clause)
    if kind == "run":
        parts = [f"`{clause['run']}`"]
        parts += [f"with {' '.join(clause[key])}" for key in ("flags", "args") if key in clause]
        parts += [f"without {' '.join(clause[key])}" for key in ("missing", "no_args") if key in clause]
        parts += ["without arguments"] if clause.get("bare") else []
        parts += [f"on branch {clause['branch']}"] if "branch" in clause else []
        parts += [f"fed by {clause['from']}"] if "from" in clause else []
        parts += [f"where {name}={value}" for name, value in clause.get("env", {}).items()]
        parts += [f"with text /{clause['text']}/"] if "text" in clause else []
        return " ".join(parts)
    globs = ", ".join(clause.get("paths", ()))
    if kind == "content":
        return f"text /{clause['content']}/ added{f' to {globs}' if globs else ''}"
    if kind == "paths":
        verb = {"read": "reading", "any": "reading or writing"}.get(clause.get("access", "write"), "writing")
        return f"{verb} {globs}"
    return f"tool {clause.get('tool', '')}" + (f" with text /{clause['text']}/" if "text" in clause else "")


def build_prefilter(matcher: Mapping[str, Any]) -> Callable[[str, Mapping[str, Any]], bool]:
    """Return a fast test that no call fails which the matcher applies to, except for spellings such as n"p"m.

    Parsing a command takes a hundred times as long, and a backtest reads tens of thousands of them.
    """
    names: list[str] = []
    for clause in matcher.get("any") or ():
        words = str(clause.get("run", "")).split()[:1]
        each = words[0].split("|") if words else []
        if not each or any(char in name for name in each for char in _WILDCARDS):
            return lambda tool, given: True
        names += each

    def may_match(tool: str, given: Mapping[str, Any]) -> bool:
        text = given.get("command") if tool == "Bash" else None
        return isinstance(text, str) and any(name in text for name in names)

    return may_match


def parse_call(text: str) -> Call:
    """Return the call that JSON describes: {"tool_name", "tool_input", "cwd"}."""
    try:
        given = json.loads(text)
    except ValueError:
        given = None
    if not isinstance(given, dict) or not isinstance(given.get("tool_input"), dict):
        hint = """for example: --call '{"tool_name": "Bash", "tool_input": {"command": "npm i"}}'"""
        raise _usage_error("--call is not a tool call", hint)
    folder = given.get("cwd")
    return Call(str(given.get("tool_name", "")), given["tool_input"], folder if isinstance(folder, str) else "")


def _usage_error(message: str, hint: str) -> ReflectError:
    return ReflectError(message, hint, "usage", EXIT_USAGE)
