"""Build matchers from options of a command and from calls that a person marked; check and describe them.

`--match` is a command as a person would type it, with a few marks:

    npm|yarn add                      alternatives; `*` and `?` are wildcards
    git push --force                  options, in every form and place: `-f`, `-rf` is `-r -f`
    pytest -n=auto                    an option with a value
    cargo build !--locked             an option that is missing
    git push ... main                 a word anywhere among the arguments
    terraform apply ... !*.plan       a word that is missing there
    jest !*                           no file or other argument is named
    curl|wget | sh|bash               a pipe into the last program
    AWS_PROFILE=prod aws              a variable in the environment of the command
    git commit on:main                the branch that is checked out
    pytest by:uv|poetry               run by one of these programs, as in `uv run pytest`
    cat|head <file                    it reads a file; `>file`: it writes one
    git commit text:co-authored-by    a regular expression over its words and its input, up to the end
"""

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
_VARIABLE = re.compile(r"[A-Za-z_]\w*=")
_MARKS = {"on:": "branch", "by:": "by"}
_FILES = {"<file": "read", ">file": "write"}


def build_matcher(
    *,
    tool: str = "",
    match: Sequence[str] = (),
    paths: Sequence[str] = (),
    content: str = "",
    look_in: str = "",
    required: Sequence[str] = (),
) -> Matcher:
    """Return the matcher that the options of `guard` describe."""
    if look_in and not content:
        raise _usage_error("--in says where --content counts", "give --content as well")
    if required and (match or tool):
        raise _usage_error("--requires is about the end of a turn, --match and --tool about a call", "give one of them")
    if required:
        after = build_matcher(paths=paths or ([] if content else ["**"]), content=content, look_in=look_in)
        return {**after, "requires": [clause for text in required for clause in parse_pattern(text)]}
    tools = set(tool.split("|")) if tool else set()
    reads, edits = tools & {*_READING_TOOLS}, tools & {*_EDITING_TOOLS}
    if content and (match or "Bash" in tools or reads):
        raise _usage_error("--content is for text that a call adds to a file", "give it with or without --path")
    if content:
        return {"any": [_build_content_clause(content, paths, look_in)]}
    if paths:
        if match or tools - reads - edits:
            raise _usage_error("--path is for files, --match for commands", "for both: --match 'rm ... src/*'")
        access = "any" if reads and edits else "read" if reads else "write"
        return {"any": _build_path_clauses(paths, access)}
    if reads or edits:
        raise _usage_error(f"--tool {tool} needs a path", "for example: --path 'src/gen/**'")
    if tools <= {"Bash"}:
        if not match:
            raise _usage_error("--tool Bash needs a command", "for example: --match 'git push --force'")
        return {"any": [clause for text in match for clause in parse_pattern(text)]}
    return {"any": [{"tool": tool, "text": text} for text in match] or [{"tool": tool}]}


def _build_content_clause(content: str, globs: Sequence[str], look_in: str) -> Clause:
    """Return the clause for text that is added to files; with `!` before it, for whole files that lack it."""
    if content[:1] == "!":
        if not globs or look_in:
            raise _usage_error("text that must be there needs --path, and no --in", "for example: --path '*.go'")
        return {"paths": list(globs), "existing": False, "lacks": content[1:]}
    clause: Clause = {"content": content, **({"paths": list(globs)} if globs else {})}
    return {**clause, "look_in": look_in} if look_in and look_in != "code" else clause


def _build_path_clauses(globs: Sequence[str], access: str) -> list[Clause]:
    """Return the clauses for files: `existing:GLOB` and `new:GLOB` say whether the file must be there already."""
    kinds: dict[str, list[str]] = {}
    for glob in globs:
        prefix, mark, rest = glob.partition(":")
        is_marked = bool(mark and rest) and prefix in ("existing", "new")
        kinds.setdefault(prefix if is_marked else "", []).append(rest if is_marked else glob)
    clauses: list[Clause] = []
    for kind, named in kinds.items():
        clauses.append({"paths": named, "access": access, **({"existing": kind == "existing"} if kind else {})})
    return clauses


def parse_pattern(text: str) -> list[Clause]:
    """Return the clauses for a command: a call matches if one of them does."""
    head, mark, regex = _split_text(text)
    words = head.split()
    clause: Clause = {}
    if "|" in words:
        at = len(words) - 1 - words[::-1].index("|")
        clause["from"] = "".join(words[:at][:1])
        words = words[at + 1 :]
    env: dict[str, str] = {}
    while words and _VARIABLE.match(words[0]):
        name, _, env[name] = words.pop(0).partition("=")
    if not words or words[0][:1] in ("-", "!", "<", ">") or clause.get("from") == "":
        raise _usage_error(f"'{text}' names no program", "for example: --match 'git push --force'")
    if mark and not regex:
        raise _usage_error(f"'{text}' has no text after text:", "for example: --match 'git push --force'")
    clause = {**_parse_words(words), **clause, **({"env": env} if env else {}), **({"text": regex} if mark else {})}
    return [clause, *_find_other_forms(clause)]


def _split_text(text: str) -> tuple[str, str, str]:
    """Split off `text:REGEX`, which has the rest of the line."""
    head, mark, regex = (" " + text).partition(" text:")
    if not mark:
        return text, "", ""
    regex = regex.strip()
    return head, mark, f"(?i){regex}" if regex and regex[:2] != "(?" else regex


def _parse_words(words: list[str]) -> Clause:
    """Return the clause for a program and the words behind it."""
    from reflect_git.guards.derivation import phrases
    from reflect_git.guards.derivation.clauses import get_argument

    run, arguments, options = [words[0]], list[str](), list[str]()
    clause: Clause = {}
    is_behind = False
    for word in words[1:]:
        if word in ("...", "…"):
            is_behind = True
        elif word in _FILES:
            clause["files"] = _FILES[word]
        elif word == "!*":
            clause["bare"] = True
        elif word[:2] == "!-" or (word[:1] == "-" and word.strip("-")):
            options.append(word)
        elif word[:1] == "!" and len(word) > 1:
            clause.setdefault("no_args", []).append(word[1:])
        elif word[:3] in _MARKS and len(word) > 3:
            clause[_MARKS[word[:3]]] = word[3:]
        elif word != "--":
            (arguments if is_behind else run).append(word)
    command = f"{words[0].split('|')[0]} {run[1].split('|')[0]}" if run[1:] else words[0].split("|")[0]
    if run[1:]:
        run[1] = phrases.TABLE["same_subcommand"].get(" ".join(run[:2]), run[1])
    flags = [flag for word in options if word[:1] == "-" for flag in _find_spellings(command, word)]
    missing = [flag for word in options if word[:1] == "!" for flag in _find_spellings(command, word[1:])]
    args = ["|".join(get_argument(command, one) for one in spec.split("|")) for spec in arguments]
    named = {"flags": flags, "missing": missing, "args": args}
    return {"run": " ".join(run), **{key: value for key, value in named.items() if value}, **clause}


def _find_spellings(command: str, option: str) -> list[str]:
    """Return the options that are meant, each in all of its spellings: `-rf` is `-r|--recursive` and `-f|--force`."""
    from reflect_git.guards.derivation.clauses import get_flag, split_flag

    if "|" not in option:
        return split_flag(command, option)
    each = [name for one in option.split("|") for name in get_flag(command, one).split("|")]
    return ["|".join(dict.fromkeys(each))]


def _find_other_forms(clause: Clause) -> list[Clause]:
    """Return clauses for what does the same without the option: `git push origin +main` is forced."""
    if clause["run"] != "git push" or "-f|--force" not in clause.get("flags", ()):
        return []
    others = [flag for flag in clause["flags"] if flag != "-f|--force"]
    rest = {key: value for key, value in clause.items() if key not in ("flags", "args")}
    return [{**rest, **({"flags": others} if others else {}), "args": ["+*", *clause.get("args", ())]}]


def add_exceptions(matcher: Matcher, texts: Iterable[str]) -> Matcher:
    """Return the matcher with the exceptions that `--except` gives: commands for a command, else paths."""
    clauses = [clause for text in texts for clause in _parse_exception(matcher, text)]
    return _with_exceptions(matcher, clauses)


def _parse_exception(matcher: Matcher, text: str) -> list[Clause]:
    kinds = {get_kind(clause) for clause in matcher["any"]}
    if kinds == {"run"}:
        return parse_pattern(text)
    if kinds <= {"paths", "content"}:
        return [{"paths": [text]}]
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
    for key in ("content", "text", "lacks"):
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
    **dict.fromkeys(("run", "tool", "content", "text", "lacks", "from", "by", "branch"), _is_word),
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
        parts += [f"run by {clause['by']}"] if "by" in clause else []
        parts += [f"fed by {clause['from']}"] if "from" in clause else []
        parts += [f"where {name}={value}" for name, value in clause.get("env", {}).items()]
        parts += [f"with text /{clause['text']}/"] if "text" in clause else []
        parts += [f"that {clause['files']}s a file"] if "files" in clause else []
        return " ".join(parts)
    globs = ", ".join(clause.get("paths", ()))
    if kind == "content":
        where = {"strings": " outside comments", "all": ", also in comments,"}.get(clause.get("look_in", ""), "")
        return f"text /{clause['content']}/ added{where}{f' to {globs}' if globs else ''}"
    if "lacks" in clause:
        return f"a new file {globs} without text /{clause['lacks']}/"
    if kind == "paths":
        globs = f"{'existing' if clause['existing'] else 'new'} {globs}" if "existing" in clause else globs
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
