"""Turn what a rule names (programs, options, paths, pieces of code) into clauses, and clauses into a matcher."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from reflect_git.guards.derivation import phrases
from reflect_git.guards.match import Call, find_match
from reflect_git.guards.shell import Command, parse_commands
from reflect_git.guards.wrappers import WRAPPERS

Clause = dict[str, Any]
Derived = dict[str, Any]

_READERS = frozenset("cat head tail grep less more rg sed awk".split())


class RuleText(NamedTuple):
    """Hold a rule's text with its code spans masked."""

    masked: str
    codes: list[str]
    quoted: frozenset[int] = frozenset()

    def unmask(self, part: str) -> str:
        return phrases.MASK.sub(lambda match: self.codes[int(match[1])], part)


class Item(NamedTuple):
    """Name a thing that a rule bans: its text, and whether it was typed as code."""

    text: str
    is_code: bool


def find_items(phrase: str, text: RuleText, takes_english: bool = False) -> tuple[list[Item], list[str]]:
    """Split a phrase into names of things (code spans, paths, options, programs) and other words."""
    items: list[Item] = []
    others: list[str] = []
    phrase = phrases.SLASHED.sub(
        lambda match: match[0].replace("/", " , ") if _are_programs(match[0]) else match[0], phrase
    )
    words = phrase.replace(",", " ,").replace("(", " ").replace(")", " ) ").replace(" )  ", ") ").split()
    at = 0
    while at < len(words):
        word = words[at].rstrip(".!")
        at += 1
        masked = phrases.MASK.fullmatch(word.strip("s'"))
        if masked:
            items.append(Item(text.codes[int(masked[1])], int(masked[1]) not in text.quoted))
        elif word in (",", ")", "/", "&", ""):
            continue
        elif phrases.MASK.search(word) and all(not part or phrases.MASK.fullmatch(part) for part in word.split("/")):
            items += [Item(text.codes[int(number)], True) for number in phrases.MASK.findall(word)]
        elif (
            _looks_like_path(word)
            or re.fullmatch(r"--?[a-zA-Z][\w-]*(?:=\S+)?", word)
            or re.fullmatch(r"[A-Za-z_][\w]*(?:\.[A-Za-z_]\w*)+(?:\(\))?|\w+\(\)|@\w[\w-]*", word)
        ):
            items.append(Item(word, False))
        elif word.lower() in phrases.PROGRAMS and (
            word.lower() not in phrases.ENGLISH or takes_english or word in phrases.SUBCOMMANDS
        ):
            command = [word.lower()]
            while (
                at < len(words)
                and len(command) < 3
                and word.lower() in phrases.SUBCOMMANDS
                and re.fullmatch(r"[a-z][\w:-]*", words[at])
                and words[at] not in phrases.FILLER
                and (words[at] not in phrases.PROGRAMS or words[at] not in phrases.SUBCOMMANDS)
            ):
                command.append(
                    words[at].removesuffix("s")
                    if words[at] in ("submodules", "worktrees", "stashes", "tags")
                    else words[at]
                )
                at += 1
            while at < len(words) and re.fullmatch(r"--?[a-zA-Z][\w-]*", words[at]):
                command.append(words[at])
                at += 1
            if len(command) == 1 and word.lower() in phrases.ENGLISH and not takes_english:
                others.append(word)
            else:
                items.append(Item(" ".join(command), False))
        elif word.lower() in phrases.LIBRARIES and (takes_english or word.lower() not in phrases.FILLER):
            items.append(Item(word.lower(), False))
        else:
            others.append(word)
    return items, others


def _are_programs(slashed: str) -> bool:
    """Return whether `cat/head/tail` names programs, and no path."""
    return all(part in phrases.PROGRAMS for part in slashed.split("/"))


def _looks_like_path(word: str) -> bool:
    """Return whether a bare word is a path: `src/gen/`, `.env`, `*.lock`, `tsconfig.json`."""
    if "://" in word or re.fullmatch(
        r"[\d./:-]+|and/or|ci/cd|i/o|n/a|tcp/ip|client/server|read/write|\w+\(\)", word, re.I
    ):
        return False
    if re.fullmatch(r"~/[\w./*-]+", word):
        return True
    if phrases.PATH.fullmatch(word):
        return (
            word[-1:] == "/"
            or "*" in word
            or word[:1] == "."
            or word.count("/") > 1
            or "." in word
            or word.split("/", maxsplit=1)[0] in phrases.PATH_NAMES
        )
    return bool(phrases.FILE_NAME.fullmatch(word))


def is_path(item: Item) -> bool:
    """Return whether an item is a path; in code spans, bare names of folders count as well."""
    if " " in item.text or item.text.endswith(")") or item.text[:1] in "-@#":
        return False
    if "/" not in item.text and item.text.split(".", maxsplit=1)[0] in phrases.OBJECTS:
        return False  # `process.env`
    if re.fullmatch(r"\.[a-z]\w*\(?", item.text) and item.text[1:] in (
        "only",
        "skip",
        "then",
        "unwrap",
        "clone",
        "any",
        "format",
    ):
        return False
    return _looks_like_path(item.text) or (
        item.is_code
        and (
            item.text[:2] in ("./", "~/")
            or item.text[:1] == "/"
            or (bool(re.fullmatch(r"[\w@.-]+(?:/[\w@.-]+)+", item.text)) and item.text[:1] != "@")
        )
    )


def is_host(text: str) -> bool:
    return bool(re.fullmatch(r"[a-z0-9-]+(?:\.[a-z0-9-]+)+(?::\d+)?", text)) and not _looks_like_path(text)


def is_tool(name: str) -> bool:
    """Return whether a name is that of a tool of the client."""
    return name.startswith("mcp__") or name in ("WebFetch", "WebSearch", "NotebookEdit", "MultiEdit")


def is_known(name: str) -> bool:
    return name in phrases.PROGRAMS or name in phrases.SUBCOMMANDS


def parse_command(code: str, is_clear: bool) -> Command | None:
    """Return the command that a code span names; None if it is something else."""
    commands = parse_commands(code.replace("…", "").replace("...", "").replace("<", "").replace(">", ""))
    if not commands or (
        len(commands) > 1
        and commands[0].name not in ("sudo", "npx", "uv", "python", "python3", "pnpm", "yarn", "poetry", "bundle")
    ):
        return None
    command = commands[0]
    if len(commands) > 1:
        command = commands[-1] if commands[0].name == "npx" else commands[0]
    if is_known(command.name) or (command.program[:2] == "./" and len(command.program) > 3):
        return command
    has_flag = any(arg[:1] == "-" for arg in command.args)
    if is_clear and has_flag and re.fullmatch(r"[a-z][a-z0-9_-]+", command.name):
        return command
    return None


def get_item_clauses(
    items: list[Item], verb: str, scope: list[str] | None, has_pair: bool, is_comment: bool = False
) -> list[Clause]:
    """Return the clauses for named things; empty if one of them is not understood."""
    clauses: list[Clause] = []
    program = ""
    for item in items:
        made: list[Clause] = []
        name = item.text.strip()
        if (
            program in phrases.SUBCOMMANDS
            and item.is_code
            and re.fullmatch(r"[a-z][\w:-]*(?: --?[\w-]+)*", name)
            and not is_known(name.split()[0])
        ):
            name = f"{program} {name}"  # `rails db:drop` or `db:reset`
        if re.search(r" -- +(?:<|…|\.\.\.|files?\b|paths?\b)", name):
            return []  # without the placeholder it is another command
        command = None if scope is not None else parse_command(name, True)
        special = _get_special_clauses(name, verb)
        if special:
            made = special
        elif name[:1] == "-" and scope is None:
            named = phrases.TABLE["flag_programs"].get(
                name.split()[0], "*" if len(name) > 7 and name[:2] == "--" else ""
            )
            made = [{"run": named, "flags": [name if "|" in named else get_flag(named, name)]}] if named else []
            if name == "--no-verify":
                made.append({"run": "git commit", "flags": ["-n"]})
        elif command is not None and verb in phrases.VERB_KINDS["run"] | {"use"} and not is_comment:
            made, program = get_command_clauses(command), command.name
        elif verb == "import" or (
            name.lower().removesuffix(".js") in phrases.LIBRARIES and verb in ("use", "add", "introduce", "include")
        ):
            made = _get_library_clauses(name.removesuffix(".js"), scope)
        elif is_path(item):
            return []
        elif verb in phrases.VERB_KINDS["content"]:
            made = _get_content_clauses(item, scope, is_comment, has_pair)
        if not made:
            return []
        clauses += made
    return clauses


def _get_special_clauses(name: str, verb: str) -> list[Clause]:
    """Return the clauses for a tool of the client, for `curl … | sh`, and for running a script, also by its program."""
    if is_tool(name):
        return [{"tool": name}]
    if re.fullmatch(r"(curl|wget)\b.*\|\s*(?:sudo )?(bash|sh|zsh)\b.*", name):
        return [{"run": "sh|bash|zsh|dash", "from": "curl|wget"}]
    if phrases.SCRIPT.fullmatch(name) and verb in phrases.VERB_KINDS["run"] - {"use"}:
        file = name.rpartition("/")[2]
        programs = phrases.INTERPRETERS[file.rpartition(".")[2]]
        return [{"run": file}, {"run": programs, "args": [f"{file}|*/{file}"]}]
    return []


def _split_command(command: Command) -> tuple[list[str], list[str], list[str]]:
    """Return the subcommands, options and arguments of a command as a rule names it."""
    words: list[str] = []
    flags: list[str] = []
    args: list[str] = []
    given = [arg for arg in command.args if arg not in ("|", "", "--")]
    takes_subcommands = command.name in phrases.SUBCOMMANDS
    at = 0
    while at < len(given):
        arg = given[at]
        at += 1
        if arg[:1] == "-" and len(arg) > 1:
            flags.append(arg)
            if (
                at < len(given)
                and re.fullmatch(r"auto|\d+", given[at])
                and command.name not in ("rm", "chmod", "kill", "head", "tail")
            ):
                flags[-1] += "=" + given[at]
                at += 1
        elif (
            takes_subcommands
            and not args
            and not flags
            and re.fullmatch(r"[a-zA-Z][\w:-]*", arg)
            and len(words) < _count_subcommands(command.name, words, given)
        ):
            words.append(arg)
        elif arg not in ("origin", "upstream", "file", "files", "path", "X", "x", "foo"):
            args.append(arg)
    return words, flags, args


def get_command_clauses(command: Command, more_flags: list[str] | None = None) -> list[Clause]:
    """Return the clauses for a command as a rule names it: `npm install -g`."""
    words, flags, args = _split_command(command)
    flags += more_flags or []
    if words and len(words) < 3:
        words[0] = phrases.TABLE["same_subcommand"].get(f"{command.name} {words[0]}", words[0])
    name = phrases.TABLE["same_program"].get(command.name, command.name)
    if command.name in ("make", "just", "task", "rake") and len(words) == 1 and not args:
        words, args = [], words  # one target among others
    clause: Clause = {"run": " ".join([name, *words])}
    first = " ".join([command.name, *[word.split("|")[0] for word in words[:1]]])
    if flags:
        clause["flags"] = [each for flag in flags for each in split_flag(first, flag)]
    if args:
        clause["args"] = [get_argument(first, arg) for arg in args]
    if command.name == "sudo" and args:
        clause = {"run": " ".join(["sudo", *args]), **({"flags": clause["flags"]} if flags else {})}
    elif command.name in ("python", "python3") and args[:1] and args[0].endswith(".py"):
        clause = {**clause, "run": " ".join(["python|python3", "|".join([args[0], "*/" + args[0]]), *args[1:]])}
        del clause["args"]
    clauses = [clause]
    if (
        command.name in ("npm", "pnpm", "yarn", "bun")
        and words[:1] == ["run"]
        and len(words) == 2
        and command.name != "npm"
    ):
        clauses.append({**clause, "run": f"{name} {words[1]}"})
    if command.name == "docker-compose" and words:
        clauses.append({**clause, "run": " ".join(["docker compose", *words])})
    elif command.name == "docker" and words[:1] == ["compose"] and words[1:]:
        clauses.append({**clause, "run": " ".join(["docker-compose", *words[1:]])})
    if first == "git push" and any("--force" in flag.split("|") for flag in clause.get("flags", [])):
        clauses.append({"run": "git push", "args": ["+*", *clause.get("args", [])]})
    if first == "git add" and args == ["."]:
        clauses.append({"run": "git add", "flags": ["-A|--all"]})
    return clauses


def _count_subcommands(name: str, words: list[str], given: list[str]) -> int:
    """Return how many words of a command are subcommands: two for `docker system prune`, one for `git push main`."""
    if name == "git":
        return (
            2 if words[:1] and words[0] in ("stash", "remote", "worktree", "submodule", "bisect", "flow", "lfs") else 1
        )
    if name in ("npm", "pnpm", "yarn", "bun"):
        return (
            2
            if words[:1]
            and words[0] in ("run", "exec", "global", "cache", "dlx", "workspace", "config", "version", "pkg")
            else 1
        )
    if name in (
        "make",
        "just",
        "task",
        "rake",
        "cargo",
        "go",
        "brew",
        "apt",
        "apt-get",
        "pip",
        "gem",
        "helm",
        "vite",
        "twine",
    ):
        return 1
    return 3


def get_argument(first: str, arg: str) -> str:
    """Return the pattern for an argument: a branch that is pushed can be written in several ways."""
    if first == "git push" and re.fullmatch(r"[\w./-]+", arg):
        return f"{arg}|*:{arg}|+{arg}"
    if re.fullmatch(r"[A-Z]{3,}", arg):
        return f"{arg}|{arg.lower()}"
    return arg.rstrip("/") + "|" + arg if arg[-1:] == "/" and len(arg) > 1 else arg


def split_flag(first: str, flag: str) -> list[str]:
    """Return the patterns of joined options: `-rf` is `-r` and `-f`."""
    name = first.split(maxsplit=1)[0]
    if re.fullmatch(r"-[a-zA-Z]{2,4}", flag) and name not in ("go", "java", "find", "terraform", "mvn", "tofu", "kill"):
        return [get_flag(first, "-" + letter) for letter in flag[1:]]
    return [get_flag(first, flag)]


def get_flag(first: str, flag: str) -> str:
    """Return all spellings of an option that the program has: `-f|--force`."""
    name, _, value = flag.replace(" ", "=", 1).partition("=")
    tables = phrases.TABLE["same_flags"]
    found = name
    for key in (first, first.split(maxsplit=1)[0] if first.split() else "", "*"):
        group = next((group for group in tables.get(key, ()) if name in group.split("|")), None)
        if group:
            found = group
            break
    if name == "--force" and first == "git push":
        found = "-f|--force"
    return "|".join(each + "=" + value for each in found.split("|")) if value else found


def get_setting_clauses(command: Command, kind: str, value: str) -> list[Clause]:
    """Return the clauses of "aws with the prod profile"."""
    flags = {
        "profile": "--profile",
        "context": "--context|--kube-context",
        "namespace": "-n|--namespace",
        "workspace": "--workspace|-workspace",
        "project": "--project|-p",
        "account": "--account",
        "region": "--region",
        "cluster": "--cluster|--context",
        "subscription": "--subscription",
    }[kind]
    clauses: list[Clause] = [{"run": command.name, "flags": ["|".join(f"{flag}={value}" for flag in flags.split("|"))]}]
    names = {
        "profile": "AWS_PROFILE",
        "project": "CLOUDSDK_CORE_PROJECT",
        "region": "AWS_REGION",
        "namespace": "NAMESPACE",
        "workspace": "TF_WORKSPACE",
    }
    if kind in names:
        clauses.append({"run": command.name, "env": {names[kind]: value}})
    return clauses


def get_host_clauses(command: Command, host: str) -> list[Clause]:
    """Return the clauses of "connect psql to HOST"."""
    env = {"psql": "PGHOST", "mysql": "MYSQL_HOST"}.get(command.name, "DATABASE_URL")
    return [
        {"run": command.name, "flags": [f"-h={host}|--host={host}|-H={host}"]},
        {"run": command.name, "args": [f"{host}|*@{host}*|*://{host}*|*host={host}*"]},
        {"run": command.name, "flags": [f"-d=*{host}*|--dbname=*{host}*"]},
        {"run": command.name, "env": {env: f"{host}|*@{host}*"}},
    ]


def _get_library_clauses(name: str, scope: list[str] | None) -> list[Clause]:
    """Return the clauses for a library: importing it, and adding it as a dependency."""
    kind = phrases.LIBRARIES.get(name.lower(), "js" if re.search(r"[-@/]", name) else "")
    if not kind and scope is not None:
        kind = "py" if any(glob.endswith(".py") for glob in scope) else ""
    if not kind or not re.fullmatch(r"@?[\w./-]+", name):
        return []
    name = name.lower() if name.lower() in phrases.LIBRARIES else name
    escaped = re.escape(name)
    if kind == "py":
        pattern = rf"(?m)^\s*(?:import\s+(?:[\w.]+\s*,\s*)*{escaped}\b|from\s+{escaped}(?:\.\w+)*\s+import\b)"
        clauses: list[Clause] = [{"content": pattern, "paths": scope or ["*.py"]}]
        if scope is None:
            clauses += [
                {"run": "pip|pip3|uv|poetry|pdm|pipenv install|add", "args": [f"{name}|{name}[=<>~!]*"]},
                {"run": "uv pip install", "args": [f"{name}|{name}[=<>~!]*"]},
            ]
        return clauses
    pattern = rf"(?:\bfrom\s+|\bimport\s+|\brequire\s*\(\s*|\bimport\s*\(\s*)['\"]{escaped}(?:/[\w./-]+)?['\"]"
    clauses = [{"content": pattern, "look_in": "strings", "paths": scope or phrases.JS}]
    if scope is None:
        clauses.append({"run": "npm|pnpm|yarn|bun install|i|add", "args": [f"{name}|{name}@*"]})
    return clauses


def _get_content_clauses(item: Item, scope: list[str] | None, is_comment: bool, has_pair: bool) -> list[Clause]:
    """Return the clause for a piece of code that must not be added."""
    name = item.text
    is_directive = bool(phrases.DIRECTIVES.match(name)) or is_comment
    is_address = bool(re.fullmatch(r"(?:https?://)?[\w.-]+:\d+|https?://\S+", name))
    is_clear = bool(re.search(r"[.()@!=\[\]{}*:#/<>]|[a-z][A-Z]|\w \w", name)) or scope is not None or is_directive
    if not is_clear and not (item.is_code and phrases.KEYWORD.fullmatch(name)):
        return []
    if not item.is_code and not re.fullmatch(r"[\w$]+(?:\.[\w$]+)+(?:\(\))?|\w+\(\)|@[\w-]+", name):
        return []
    if (is_host(name) and not item.is_code) or (re.fullmatch(r"\W*", name) and len(name) < 2):
        return []
    clause: Clause = {"content": _get_pattern(name)}
    if is_directive:
        clause["look_in"] = "all"
    elif "'" in name or '"' in name or is_address:
        clause["look_in"] = "strings"
    globs = next((globs for pattern, globs in phrases.CONTENT_FILES if pattern.search(name)), None)
    if scope:
        clause["paths"] = scope
    elif globs:
        clause["paths"] = globs
    return [clause]


def _get_pattern(name: str) -> str:
    """Return the regular expression for a piece of code."""
    call = re.fullmatch(r"([\w$.!]+?)\((?:\)|\.\.\.\)|…\))?", name + "()" if name in phrases.FUNCTIONS else name)
    if call:
        inner = re.escape(call[1])
        is_method = call[1] not in phrases.FUNCTIONS and "." not in call[1].lstrip(".")
        before = (r"(?<!\w)" if is_method else r"(?<![\w.])") if call[1][:1] != "." else ""
        return rf"{before}{inner}\s*\(" + _get_import(call[1])
    if re.fullmatch(r"[\w$]+(?:\.[\w$]+)+", name):
        return rf"(?<![\w.]){re.escape(name)}\b" + _get_import(name)
    if re.fullmatch(r"[=!]==?", name):
        return rf"(?<![=!<>]){re.escape(name)}(?!=)"
    return escape(name)


def _get_import(name: str) -> str:
    """Return the pattern by which `time.sleep` is imported by name."""
    module, dot, function = name.rpartition(".")
    if not dot or not module.replace(".", "").islower() or not module[:1].isalpha() or module == "console":
        return ""
    return rf"|(?m:^\s*from\s+{re.escape(module)}\s+import\s[^\n]*\b{re.escape(function)}\b)"


def escape(name: str) -> str:
    """Escape a text, let any blanks match, and keep words whole."""
    inner = r"\s+".join(re.escape(part) for part in name.split())
    return (r"(?<!\w)" if name[:1].isalnum() else "") + inner + (r"(?!\w)" if name[-1:].isalnum() else "")


def get_argument_globs(globs: list[str]) -> str:
    """Return the pattern for arguments of a command that name files which match globs."""
    made: list[str] = []
    for glob in globs:
        path = glob.removeprefix("**/").removesuffix("/**")
        made += [path, "*/" + path]
        if path != glob.removeprefix("**/"):
            made += [path + "/*", "*/" + path + "/*"]
    return "|".join(made)


def strip_prefix(path: str) -> str:
    return path[2:] if path[:2] == "./" and len(path) > 2 else path


def is_name(name: str) -> bool:
    """Return whether a code span can be the name of a file or folder."""
    return bool(re.fullmatch(r"[\w.*@-]+(?:/[\w.*@{},-]+)*/?", name)) and name not in phrases.PROGRAMS


def get_globs(items: list[Item]) -> list[str]:
    """Return the globs of paths as a rule names them: `src/gen/` is everything below."""
    globs: list[str] = []
    for item in items:
        path = item.text
        if re.fullmatch(
            r"\.(?:py|ts|tsx|js|jsx|sql|md|ya?ml|json|ipynb|snap|lock|proto|tf|css|rs|go|pem|key|crt|cer|p12|pfx|"
            r"jks|tfstate|tfvars|parquet|xlsx|pdf|png|jpe?g|svg|html|txt|java|kt|swift|rb|php|cpp|cc|hpp|cs|vue|svelte|gradle|"
            r"bak|log|toml|xml|ini|sqlite3?|db|dump|zip|tgz|pbxproj|mdx?|rst|adoc|gen|generated|min|map|d\.ts|tsbuildinfo)",
            path,
        ):
            path = "*" + path
        if path[-1:] == "/":
            path += "**"
        elif "." not in path.rsplit("/", 1)[-1] and "*" not in path and path[:1].islower():
            path += "/**"
        globs.append(path)
    return globs


def build_matcher(clauses: list[Clause], text: RuleText, wanted: str) -> Derived | None:
    """Return the matcher of some clauses, with what the rule allows as exceptions."""
    exceptions: list[Clause] = []
    for clause in clauses:
        spared = clause.pop("spared", None)
        if spared:
            exceptions.append({"paths": spared})
        exceptions += [each for each in clause.pop("spared_runs", ()) if each not in exceptions]
        if clause.get("run", "").split("|")[0] in _READERS and any(tool in wanted for tool in ("Read", "Grep", "Glob")):
            clause.setdefault("files", "read")
    clauses = [_spare_named(clause, text) for clause in _narrow_content(clauses, wanted)]
    unique = [clause for at, clause in enumerate(clauses) if clause not in clauses[:at]]
    for found in phrases.ALLOWED.finditer(text.masked):
        items, others = find_items(found[1], text)
        if items and not others:
            if all(is_path(item) for item in items):
                exceptions.append({"paths": get_globs(items)})
            else:
                exceptions += [clause for clause in get_item_clauses(items, "use", None, True) if "run" in clause]
    matcher: Derived = {"any": unique}
    codes = find_items(wanted, RuleText(wanted, []), takes_english=True)[0]
    preferred = parse_command(wanted, False) or (parse_command(codes[0].text, False) if codes else None)
    if preferred is not None:
        command = " ".join([preferred.program, *preferred.args])
        exceptions += _find_runners(unique, command)
        if find_match({**matcher, "except": exceptions}, Call("Bash", {"command": command})):
            unique[:] = _narrow(unique, preferred, exceptions, command)
    if exceptions:
        matcher["except"] = exceptions
    preference = re.sub(r"(?:^|,? )instead[.!]?$", "", wanted, flags=re.IGNORECASE)
    if preference:
        matcher["instead"] = preference[:200]
    return matcher if unique else None


def _spare_named(clause: Clause, text: RuleText) -> Clause:
    """Return a clause without other names of its program that the rule names itself: "`./gradlew`, never `gradle`"."""
    names, *rest = [word.split("|") for word in clause.get("run", "").split()] or [[""]]
    if phrases.TABLE["same_program"].get(names[0]) != "|".join(names):
        return clause
    named = {code.split()[0].rpartition("/")[2] for code in text.codes if code.split()}
    kept = [name for name in names if name == names[0] or name not in named]
    return {**clause, "run": " ".join(map("|".join, [kept, *rest]))} if len(kept) < len(names) else clause


def _narrow_content(clauses: list[Clause], wanted: str) -> list[Clause]:
    """Change patterns so that they do not match what the rule prefers: `now(tz=UTC)` in place of `now()`."""
    made = []
    for clause in clauses:
        pattern = clause.get("content", "")
        if pattern and wanted and re.search(pattern, wanted):
            pattern = pattern.replace(r"\s*\(", r"\s*\(\s*\)", 1)
            if re.search(pattern, wanted):
                continue
            clause = {**clause, "content": pattern}
        made.append(clause)
    return made


def _find_runners(clauses: list[Clause], command: str) -> list[Clause]:
    """Return exceptions for commands that the preferred one runs: "use `uv run`, never plain `python`"."""
    found: list[Clause] = []
    for clause in clauses:
        name = clause.get("run", "").split("|")[0].split()[:1]
        for line in (command, " ".join([command, *name])) if " " in command or command in WRAPPERS else ():
            inner = [
                one for one in parse_commands(line) if one.outer and find_match(clause, Call("Bash", {"command": line}))
            ]
            made = {"run": clause.get("run", ""), "by": "|".join(dict.fromkeys(inner[0].outer))} if inner else None
            if made and made not in found:
                found.append(made)
    return found


def _narrow(clauses: list[Clause], preferred: Command, exceptions: list[Clause], command: str) -> list[Clause]:
    """Change clauses so that they do not apply to the command that the rule prefers."""
    made: list[Clause] = []
    for clause in clauses:
        if not find_match({"any": [clause]}, Call("Bash", {"command": command})):
            made.append(clause)
            continue
        flags = [arg for arg in preferred.args if arg[:1] == "-"]
        names = clause["run"].split()[0].split("|")
        others = [name for name in names if name != preferred.name]
        if preferred.name in names[1:] and others and not preferred.args:
            made.append({**clause, "run": " ".join(["|".join(others), *clause["run"].split()[1:]])})
        elif clause["run"].split()[0].split("|")[0] == preferred.name and flags and not clause.get("flags"):
            made.append({**clause, "missing": [get_flag(preferred.name, flag) for flag in flags]})
        elif len(preferred.args) > 0 and len(clause["run"].split()) == 1:
            made.append(clause)
            exceptions += get_command_clauses(preferred)
    return made
