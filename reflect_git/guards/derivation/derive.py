"""Derive a matcher from the text of a rule, where the text is clear: "use pnpm, not npm" bans the program npm.

A rule that is not clear gets no matcher. A false alarm costs more than a miss, so a phrase counts only if every word of
it is understood. The phrases, kinds of files and names of options are in `knowledge/guards.json`.
"""

from __future__ import annotations

import re

from reflect_git.guards.derivation import phrases
from reflect_git.guards.derivation.clauses import (
    Clause,
    Derived,
    Item,
    RuleText,
    build_matcher,
    escape,
    find_items,
    get_argument_globs,
    get_command_clauses,
    get_flag,
    get_globs,
    get_host_clauses,
    get_item_clauses,
    get_setting_clauses,
    is_host,
    is_known,
    is_name,
    is_path,
    is_tool,
    parse_command,
    strip_prefix,
)
from reflect_git.guards.derivation.prose import find_bare_code, rewrite
from reflect_git.guards.shell import Command

_LONGEST = 600


def derive_matcher(rule: str) -> Derived | None:
    """Return the matcher that a rule's text clearly means; None if it is not guardable."""
    if len(rule) > _LONGEST:
        return None
    text = _mask(rule)
    wanted = ""
    clauses: list[Clause] = []
    subject = ""
    for statement in _split_statements(text):
        statement, scope = _split_leading_place(statement, text)
        begin = len(clauses)
        pieces = [part.strip(" ,.") for part in phrases.PIECE.split(statement) if part and part.strip(" ,.")]
        for at, piece in enumerate(pieces):
            tool = next(filter(None, map(phrases.WANTS_TOOL.match, pieces[at + 1 :])), None)
            found, wants = _read_piece(piece, text, subject, wanted or (tool["what"] if tool else ""))
            clauses += found
            wanted = wanted or wants
            subject = _find_subject(piece) or subject
        if scope is not None:
            clauses[begin:] = [
                {**clause, "paths": scope} for clause in clauses[begin:] if scope and "content" in clause
            ]
        subject = _find_subject(statement)
    if not clauses:
        clauses = _derive_from_frame(rule)
    if not clauses:
        return None
    codes = phrases.MASK.findall(wanted)
    # Of "run scripts with `uv run`" only the command is worth saying.
    code = text.codes[int(codes[0])] if len(codes) == 1 else ""
    return build_matcher(clauses, text, code if parse_command(code, False) else text.unmask(wanted).strip(" .,"))


def _mask(rule: str) -> RuleText:
    """Replace code spans by marks, so that their words and dots are not read as prose."""
    codes: list[str] = []
    quoted: set[int] = set()

    def keep(match: re.Match[str]) -> str:
        codes.append((match[1] or match[2] or match[3]).strip())
        if not match[1]:
            quoted.add(len(codes) - 1)
        return f"\ue000{len(codes) - 1}\ue001"

    rule = " ".join(rule.replace("’", "'").replace("‘", "'").split())
    rule = re.sub(r"^(?:[-*•]\s+)*(?:\*\*(?!/)|__(?=\w+ ))?", "", rule)
    rule = re.sub(r"\*\*(?!/)(?<!/\*\*)", "", rule)
    rule = re.sub(r" \((not|never|instead of) ([^()]*)\)", r", \1 \2", rule)
    masked = phrases.CODE.sub(keep, rule)
    made, at = "", 0
    for span in find_bare_code(masked):
        codes.append(masked[span.begin : span.end].strip("'"))
        made += masked[at : span.begin] + f"\ue000{len(codes) - 1}\ue001"
        at = span.end
    return RuleText(rewrite(made + masked[at:]), codes, frozenset(quoted))


def _split_statements(text: RuleText) -> list[str]:
    return [part.strip() for part in phrases.STATEMENT.split(text.masked) if part and part.strip()]


def _split_leading_place(statement: str, text: RuleText) -> tuple[str, list[str] | None]:
    """Split off "In `tests/`, …"; the place is empty if it is a condition that cannot be checked, None without one."""
    found = phrases.LEADING_PLACE.match(statement)
    if not found or re.match(r"(?:this|the|our) (?:repo|repository|project|codebase|monorepo)$", found["place"], re.I):
        return (found["rest"] if found else statement), None
    is_place = found["word"].lower() in ("in", "under", "inside", "within", "for")
    return found["rest"], (_get_scope(found["place"], text) or []) if is_place else []


def _find_subject(statement: str) -> str:
    """Return what a statement is about, which "it" or "there" in the next one means."""
    for pattern in (phrases.STORED_IN, phrases.STATE, phrases.OWNED, phrases.SUBJECT):
        found = pattern.match(statement)
        if found:
            named = phrases.NAMED_IN_BRACKETS.fullmatch(found["subject"])
            return str(named["names"] if named else found["subject"])
    return ""


def _read_ban(piece: str, what: str, text: RuleText, subject: str, wanted: str) -> tuple[list[Clause], str]:
    """Return the clauses of what is banned, and what the same piece wants instead."""
    if piece[:4].lower() == "not " and phrases.NARROWS.search(phrases.MASK.sub("", wanted)):
        return [], ""  # "use X in CI, not Y" says nothing about Y elsewhere
    pair = phrases.BAN_WITH_WISH.match(what)
    if pair and not re.match(r"^(?:use|run|prefer)\b", what):
        unwanted = pair["unwanted"] or pair["dropped"] or ""
        return _interpret(unwanted, text, subject), pair["wanted"] or pair["other"] or ""
    return _interpret(what, text, subject, has_pair=bool(wanted)), ""


def _read_wish(want: re.Match[str], text: RuleText, subject: str) -> tuple[list[Clause], str]:
    """Return the clauses of what "use X instead of Y" does not want, and what it wants."""
    pair = phrases.INSTEAD.match(want["what"])
    if want["verb"].lower() == "prefer" and not pair:
        pair = re.match(r"^(?P<wanted>\S+) to (?P<unwanted>\S+)$", want["what"])
    if pair and phrases.NARROWS.search(phrases.MASK.sub("", pair["wanted"])):
        return [], ""
    if pair:
        verb = "import " if want["verb"].lower().startswith("import") else "use "
        return _interpret(verb + pair["unwanted"], text, subject, True), pair["wanted"]
    return [], want["what"] if want["verb"].lower() not in ("do", "let") else ""


def _read_piece(piece: str, text: RuleText, subject: str, wanted: str) -> tuple[list[Clause], str]:
    """Return the clauses of one piece of a sentence, and what it wants instead."""
    must = _read_must(piece, text) or _read_header(piece, text)
    if must:
        return must, ""
    ban = phrases.BAN.match(piece)
    if ban:
        return _read_ban(piece, ban["what"], text, subject, wanted)
    for pattern in (phrases.INSTEAD_FIRST, phrases.REPLACED):
        pair = pattern.match(piece)
        if pair:
            want = phrases.WANT.match(pair["wanted"])
            return _interpret("use " + pair["unwanted"], text, subject, True), want["what"] if want else pair["wanted"]
    want = phrases.WANT.match(piece)
    if want:
        return _read_wish(want, text, subject)
    for pattern in (phrases.STATE, phrases.PASSIVE):
        found = pattern.match(piece)
        if found:
            return _interpret_state(found, text, subject), ""
    found = phrases.FILES_MUST_NOT.match(piece)
    if found:
        scope = _get_scope(found["place"], text)
        made = _interpret(found["what"], text, subject) if scope else []
        if made and all("content" in clause and clause.get("paths", scope) for clause in made):
            return [{**clause, "paths": scope} for clause in made], ""
        return [], ""
    pair = phrases.INSTEAD.match(piece)
    if pair and re.fullmatch(r"(?:\ue000\d+\ue001|[\w.-]+)", pair["wanted"].strip()):
        return _interpret("use " + pair["unwanted"], text, subject, True), pair["wanted"]
    return [], ""


def _interpret_state(found: re.Match[str], text: RuleText, about: str) -> list[Clause]:
    """Return the clauses of "X is never edited" and "X is generated"."""
    parts = found.groupdict()
    subject = parts["subject"]
    named = phrases.NAMED_IN_BRACKETS.fullmatch(subject)
    subject = named["names"] if named else subject
    rest = phrases.REASON.sub("", parts.get("rest") or "")
    rest = "" if re.match(r"\s*(?:by|here)\b", rest) else rest
    if parts.get("verb"):
        must = _read_must(f"never {_get_base(parts['verb'])} {subject}{rest}", text)
        return must or _interpret(f"{_get_base(parts['verb'])} {subject}{rest}", text, "")
    adjective = (parts.get("adjective") or "").lower()
    items, others = find_items(subject, text)
    is_run = (
        bool(items)
        and set(others) <= phrases.FILLER
        and all(is_tool(item.text) or parse_command(item.text, True) for item in items)
    )
    if is_run and re.match(r"read|final|frozen|gen|auto|machine|immutable|managed|vendored", adjective):
        return []  # "kubectl is read-only" says what is fine
    if (
        re.match(
            r"off|read|final|frozen|gen|auto|machine|immutable|managed|vendored|only (?:ever )?(?:ch|ed|mo|up|wr|ge)",
            adjective,
        )
        and not is_run
    ):
        return [] if phrases.CONDITION.search(rest) else _interpret_files(subject, text, "write")
    verb, _, what = subject.partition(" ")
    if verb.lower().endswith("ing") and what and _get_base(verb) != verb.lower():
        return _interpret(f"{_get_base(verb)} {what}{rest}", text, about)  # "editing it is forbidden"
    return _interpret(f"use {subject}{rest}", text, "", has_pair=True)


def _get_base(verb: str) -> str:
    """Return the base form of an English verb: edited, editing → edit."""
    verb = verb.lower()
    if verb in phrases.IRREGULAR:
        return phrases.IRREGULAR[verb]
    for ending in ("ing", "ed"):
        if verb.endswith(ending) and len(verb) > len(ending) + 1:
            stem = verb[: -len(ending)]
            for base in (stem, stem + "e", stem[:-1], stem[:-1] + "y"):
                if base in phrases.ALL_VERBS or base in phrases.CONCEPT_VERBS:
                    return base
    return verb


def _read_must(piece: str, text: RuleText) -> list[Clause]:
    """Return the clauses of "always pass FLAG to PROGRAM" and "never run PROGRAM without FLAG"."""
    piece = phrases.REASON.sub("", piece)
    ban = phrases.BAN.match(piece)
    for pattern in phrases.MUST:
        is_without = "without" in pattern.pattern and "breaks" not in pattern.pattern
        found = pattern.match(_drop_tail(ban["what"] if ban and is_without else piece))
        if not found or bool(ban) != is_without:
            continue
        flag, name = text.unmask(found["flag"]), text.unmask(found["cmd"])
        if not phrases.MASK.match(found["cmd"]):
            name = re.sub(r"^(go|cargo) tests$", r"\1 test", name.lower())
        if flag[:1] != "-" and name[:1] == "-":
            flag, name = name, flag
        command = parse_command(name, True)
        if flag[:1] != "-" or command is None or not is_known(command.name):
            continue
        clauses = get_command_clauses(command)
        subcommand = clauses[0]["run"].split("|")[0].split()
        missing = [get_flag(" ".join([command.name, *subcommand[1:2]]), flag)]
        return [{**clause, "missing": missing} for clause in clauses]
    return []


def _read_header(piece: str, text: RuleText) -> list[Clause]:
    """Return the clause of "every new Go file must start with the SPDX-License-Identifier header"."""
    found = phrases.HEADER.match(phrases.REASON.sub("", piece))
    if not found:
        return []
    plain = re.sub(r"\bsource ", "", text.unmask(found["place"]).lower())
    scope = _get_scope(plain, RuleText(plain, []))
    words = text.unmask(found["text"]).strip("#/* ")
    pattern = r"licen[sc]e|copyright|spdx" if words.lower() in ("licence", "license", "copyright") else escape(words)
    return [{"paths": scope, "existing": False, "lacks": "(?i)" + pattern}] if scope else []


def _drop_tail(phrase: str) -> str:
    """Drop what does not narrow a ban: "by hand", "without asking me"."""
    phrase = phrase.lstrip(" ,").rstrip(" .,!")
    while True:
        shorter = phrases.TAIL.sub("", phrase).lstrip(" ,").rstrip(" .,!")
        if shorter == phrase or not shorter:
            return phrase
        phrase = shorter


def _interpret(phrase: str, text: RuleText, subject: str, has_pair: bool = False) -> list[Clause]:
    """Return the clauses of a banned phrase, such as "edit files in `src/gen`"; empty if it is not understood."""
    phrase = _drop_tail(phrases.REASON.sub("", phrase))
    phrase = re.sub(r" (?:directly|manually|yourself|anywhere)(?= (?:in|from|under|inside|within)\b)", "", phrase)
    purpose = phrases.PURPOSE.search(phrase)
    if purpose and not _get_access(_get_verbs(phrase.split()[:1])):
        made = _interpret(phrase[: purpose.start()], text, subject, has_pair)
        return [_narrow_to_installing(clause) if purpose["install"] else clause for clause in made]
    unnamed = phrases.WITHOUT_NAMES.search(phrase)
    if unnamed:
        made = _interpret(phrase[: unnamed.start()], text, subject, has_pair)
        return [{**clause, "bare": True} for clause in made if "run" in clause and "args" not in clause]
    words = phrase.split(" ", 1)
    base = _get_base(words[0])
    phrase = " ".join([base, *words[1:]]) if base != words[0].lower() else phrase
    if subject and re.fullmatch(r"be \w+(?:ed|en|un)", phrase):
        base = phrase = _get_base(phrase[3:])
    there = phrases.THERE.match(phrase) if subject else None
    is_verb = base in phrases.ALL_VERBS | phrases.CONCEPT_VERBS
    if subject and (phrases.PRONOUN.fullmatch(phrase) or (phrase == base and is_verb)):
        phrase, subject = base + " " + subject, ""  # once: the subject may have an exception itself
    elif there and re.fullmatch(r"\ue000\d+\ue001|\S+/", subject):
        phrase, subject = f"{there['head']} {subject}", ""
    found = _interpret_whole(phrase, text, has_pair)
    if found:
        return found
    excepted = phrases.EXCEPTED.search(phrase)
    if excepted:
        made = _interpret(phrase[: excepted.start()], text, subject, has_pair)
        return _spare(made, excepted["names"], text)
    phrase = re.sub(r"( (?:to|on) )(\S+)( (?:or|and) \w+(?: \w+)?)\1it$", r"\1\2\3\1\2", phrase)
    found = _interpret_parts(phrase, text, has_pair)
    if found:
        return found
    inside = phrases.BRACKETS.match(phrase)
    if inside and inside["rest"].strip():
        return _interpret(inside["head"] + inside["rest"], text, subject, has_pair)
    if inside:
        return _interpret_list(inside["head"], inside["list"], text)
    advised = phrases.ADVICE.search(phrase)
    if advised:
        return _interpret(phrase[: advised.start()], text, subject, has_pair)
    return []


def _interpret_parts(phrase: str, text: RuleText, has_pair: bool) -> list[Clause]:
    """Return the clauses of a phrase with alternatives: "drop or truncate tables", "run `a`, `b` or `c`"."""
    verbs = phrases.VERB_PAIR.match(phrase)
    if verbs and {_get_base(verbs["first"]), _get_base(verbs["second"])} <= phrases.ALL_VERBS | phrases.CONCEPT_VERBS:
        both = [_interpret_whole(f"{verbs[key]} {verbs['rest']}", text, has_pair) for key in ("first", "second")]
        if all(both):
            return both[0] + [clause for clause in both[1] if clause not in both[0]]
    parts = [part for part in re.split(r",? (?:or|and|nor) |, ", phrase) if part]
    if len(parts) > 1:
        each = [_interpret_whole(_drop_tail(part), text, has_pair) for part in parts]
        if all(each):
            return [clause for clauses in each for clause in clauses]
    return []


def _narrow_to_installing(clause: Clause) -> Clause:
    """Return a clause that bans a package manager only for installing."""
    name = clause.get("run", "")
    is_manager = re.match(r"(?:pip|npm|yarn|pnpm|bun|gem|cargo|poetry|conda|pipenv|uv|brew|apt)\b", name)
    return {**clause, "run": name + " install|i|add|ci"} if is_manager and " " not in name else clause


def _spare(clauses: list[Clause], names: str, text: RuleText) -> list[Clause]:
    """Return clauses with what a rule excepts from them; nothing if the exception is not understood."""
    scope = _get_scope(names, text)
    items, others = find_items(names, text, takes_english=True)
    if scope:
        words = get_argument_globs(scope) + "|" + "|".join(glob.removesuffix("**") for glob in scope)
        runs = [{"run": clause["run"], "args": [words]} for clause in clauses if "run" in clause]
        return [{**clause, "spared": scope, "spared_runs": runs} for clause in clauses]
    if not items or any(word.lower() not in phrases.FILLER for word in others):
        return []
    commands = [parse_command(item.text, True) for item in items]
    if not all(commands) or not all("run" in clause for clause in clauses):
        return []
    spared: list[Clause] = []
    for command in filter(None, commands):
        spared += [
            {"run": clause["run"], "args": [phrases.TABLE["same_program"].get(command.name, command.name)]}
            for clause in clauses
            if "sudo" in clause["run"].split("|")
        ] or get_command_clauses(command)
    return [{**clause, "spared_runs": spared} for clause in clauses]


def _interpret_list(head: str, listed: str, text: RuleText) -> list[Clause]:
    """Return the clauses of a phrase with examples in brackets: "publish packages (`npm publish`, `twine upload`)"."""
    clauses = _interpret_whole(_drop_tail(head), text, True)
    items, others = find_items(listed, text)
    if not items or not set(others) <= phrases.FILLER:
        return clauses
    verb = _get_base(head.split(" ", 1)[0])
    if all(is_path(item) for item in items):
        kinds = [
            kind
            for kind in ("edit", "read")
            if any(_get_base(word) in phrases.VERB_KINDS[kind] for word in head.split())
        ]
        if kinds:
            access = "any" if len(kinds) == 2 else "write" if kinds == ["edit"] else "read"
            return [{"paths": get_globs(items), "access": access}]
        return clauses
    hosts = [item for item in items if is_host(item.text)]
    if (
        hosts
        and not clauses
        and verb
        in (
            "connect",
            "use",
            "point",
            "run",
            "call",
            "hit",
            "access",
            "ssh",
            "query",
            "touch",
            "contact",
            "request",
            "fetch",
        )
    ):
        found = phrases.HOST_PHRASE.match(head)
        command = parse_command(text.unmask(found["cmd"]), True) if found else None
        if command and is_known(command.name) and command.name not in ("open", "kill"):
            return get_host_clauses(command, hosts[0].text)
        return [
            {"run": phrases.NETWORK, "args": [f"*{hosts[0].text}*"]},
            {"run": phrases.NETWORK, "flags": [f"-h={hosts[0].text}|--host={hosts[0].text}|-H={hosts[0].text}"]},
            {"run": phrases.NETWORK, "env": {"PGHOST": hosts[0].text}},
            {"tool": "WebFetch", "text": re.escape(hosts[0].text)},
        ]
    if hosts:
        return clauses
    more = get_item_clauses(items, verb, None, has_pair=True)
    if not clauses and not more and all(item.is_code and " " in item.text for item in items):
        more = get_item_clauses(items, "run", None, has_pair=True)  # "delete buckets (`aws s3 rb`)"
    if more and all(" " in clause.get("run", "") for clause in more):
        return more  # the brackets say which command is meant
    if (
        not clauses
        and not more
        and all(item.is_code and re.search(r"[.()=@:]", item.text) and not is_path(item) for item in items)
    ):
        more = get_item_clauses(items, "use", None, True)
    return clauses + more


def _find_concept(phrase: str, text: RuleText) -> list[Clause]:
    """Return the clauses of a phrase that the table knows, such as "force push"."""
    plain = text.unmask(phrase).lower().strip(" .,")
    coded = text.unmask(phrase.replace("\ue000", "`\ue000").replace("\ue001", "\ue001`")).lower().strip(" .,")
    for pattern, clauses, only in phrases.CONCEPTS:
        found = pattern.fullmatch(plain) or pattern.fullmatch(coded)
        if found and only.fullmatch(plain):
            branches = (
                _get_branches(found, phrase)
                if "b" in pattern.groupindex and "(?P<b>execute" not in pattern.pattern
                else ""
            )
            if branches is not None:
                return [_fill(clause, branches) for clause in clauses]
    return []


def _interpret_whole(phrase: str, text: RuleText, has_pair: bool) -> list[Clause]:
    """Return the clauses of one phrase without alternatives."""
    made = _find_concept(phrase, text)
    if made:
        return made
    words = phrase.split()
    if not words:
        return []
    verbs = _get_verbs(words)
    made = _read_with(phrase, text) or _read_about_commits(phrase, text) or _read_sql(phrase, text)
    if made:
        return made
    rest = " ".join(words[len(verbs) :])
    verbs = [verb for verb in verbs if verb not in ("or", "and", "nor", "to", "at")]
    kinds = {kind for kind, names in phrases.VERB_KINDS.items() if verbs and all(verb in names for verb in verbs)}
    access = _get_access(verbs)
    if verbs in (["commit"], ["check"]):
        made = _interpret_committed(rest, text)
        if made or verbs == ["check"]:
            return made
    if verbs == ["import"]:
        rest = re.sub(r"^.* from (?=\ue000)|^from ", "", rest)
    if access:
        made = _interpret_files(rest, text, access, takes_names=verbs[0] not in phrases.VERB_KINDS["content"])
        if made:
            return _limit_access(made, verbs)
    if phrases.CONDITION.search(phrases.MASK.sub("", rest)):
        return []
    if not verbs or kinds & {"run", "content"}:
        return _interpret_names(rest, text, verbs, has_pair)
    return []


def _limit_access(clauses: list[Clause], verbs: list[str]) -> list[Clause]:
    """Return the clauses of files, only for deleting or only for creating if that is what the verbs say."""
    if all(verb in ("delete", "remove", "rename", "move") for verb in verbs):
        spec = [get_argument_globs(clauses[0]["paths"])]
        return [{"run": "rm|mv|unlink|rmdir|shred|trash", "args": spec}, {"run": "git rm|mv", "args": spec}]
    if verbs in (["create"], ["add"], ["put"]):
        return [{**clause, "existing": False} for clause in clauses]
    return clauses


def _interpret_committed(rest: str, text: RuleText) -> list[Clause]:
    """Return the clauses of files that must not be committed."""
    made = _interpret_files(re.sub(r"^(?:in )?", "", rest), text, "write", takes_names=False)
    return [{"run": "git add|stage|commit", "args": [get_argument_globs(clause["paths"])]} for clause in made]


def _get_verbs(words: list[str]) -> list[str]:
    """Return the verbs that a phrase begins with, in base form: "read or change `.env` files"."""
    verbs: list[str] = []
    for word in words:
        base = _get_base(word.strip(","))
        if base in phrases.ALL_VERBS and (
            not verbs or verbs[-1] in ("or", "and", "nor") or word == words[0] or verbs[-1].endswith(",")
        ):
            verbs.append(base)
        elif verbs and word in ("or", "and", "nor") and len(words) > len(verbs) + 1:
            following = _get_base(words[len(verbs) + 1].strip(","))
            if following not in phrases.ALL_VERBS:
                break
            verbs.append(word)
        elif verbs and word in ("to", "at") and verbs[-1] in ("write", "look"):
            verbs.append(word)
        else:
            break
    return verbs


def _get_access(verbs: list[str]) -> str:
    """Return the kind of access that verbs mean: write, read, any or nothing."""
    edits = any(verb in phrases.VERB_KINDS["edit"] for verb in verbs)
    reads = any(verb in phrases.VERB_KINDS["read"] for verb in verbs)
    if not verbs or not all(verb in phrases.VERB_KINDS["edit"] or verb in phrases.VERB_KINDS["read"] for verb in verbs):
        return ""
    return "any" if edits and reads else "write" if edits else "read"


def _get_branches(found: re.Match[str], phrase: str) -> str | None:
    """Return the branches that a phrase names, separated by `|`; None if they may be something else."""
    named = found["b"] or ""
    is_marked = bool(phrases.MASK.search(phrase)) or "branch" in named
    names = [
        name.strip("`")
        for name in re.split(r",? or | and |, |/(?=main|master)", re.sub(r"\b(?:the|branch(?:es)?)\b", "", named))
        if name.strip("` ")
    ]
    names = [name.strip() for name in names if name.strip()]
    if not names or not all(name in phrases.BRANCHES or is_marked for name in names):
        return None
    if names == ["production"] and not is_marked:
        return None
    return "|".join("main|master" if name == "default" else name for name in names)


def _fill(clause: Clause, branches: str) -> Clause:
    """Return a clause of the table with its branch and its names of file groups filled in."""
    made: Clause = {}
    for key, value in clause.items():
        if isinstance(value, str):
            value = (
                phrases.JS if value == "JS" else phrases.TESTS if value == "TESTS" else value.replace("{b}", branches)
            )
        elif isinstance(value, list) and branches:
            value = [
                "|".join(each.replace("{b}", name) for name in branches.split("|") for each in spec.split("|"))
                if "{b}" in spec
                else spec
                for spec in value
            ]
        made[key] = value
    return made


# Names of programs, options and code


def _read_with(phrase: str, text: RuleText) -> list[Clause]:
    """Read "PROGRAM with FLAG", "FLAG with PROGRAM", "PROGRAM with the X profile" and "read files with PROGRAM"."""
    found = phrases.COMMAND_WITH_FLAG.match(phrase)
    found = found or phrases.FLAG_FOR_COMMAND.match(phrase)
    if found:
        first, second = text.unmask(found["a"]), text.unmask(found["b"])
        flag, name = (first, second) if first[:1] == "-" else (second, first)
        command = parse_command(f"git {name}" if name in phrases.GIT_VERBS else name, True)
        if flag[:1] == "-" and command and is_known(command.name):
            return get_command_clauses(command, flag.split())
    found = phrases.COMMAND_WITH_SETTING.match(phrase) or phrases.SETTING_WITH_COMMAND.match(phrase)
    if found:
        command = parse_command(text.unmask(found["cmd"]), True)
        if command and is_known(command.name):
            return get_setting_clauses(command, found["kind"], text.unmask(found["name"]))
    found = phrases.COMMAND_FOR_FILES.match(phrase)
    found = found or phrases.FILES_WITH_COMMAND.match(phrase)
    if found:
        items, others = find_items(found["names"], text, takes_english=True)
        if items and set(others) <= phrases.FILLER and all(parse_command(item.text, True) for item in items):
            clauses = get_item_clauses(items, "use", None, True)
            reads = found["verb"] in ("read", "view", "print", "show", "display", "open", "inspect", "search", "find")
            files = "read" if reads else "write" if found["verb"] in ("create", "write") else ""
            if found["verb"].lower() in ("install", "download"):
                return [_narrow_to_installing(clause) for clause in clauses]
            return [{**clause, "files": files} if files and "run" in clause else clause for clause in clauses]
    return _read_through(phrase, text)


def _read_sql(phrase: str, text: RuleText) -> list[Clause]:
    """Read "run DROP TABLE or TRUNCATE against the database"."""
    found = phrases.SQL.fullmatch(text.unmask(phrase))
    if not found:
        return []
    statements = [part.split() for part in re.split(r",? or |,? and |, ", found["statements"])]
    pattern = "|".join(r"\s+".join(words) for words in statements)
    return [{"run": phrases.SQL_CLIENTS, "text": rf"(?i)(?<![\w.])(?:{pattern})(?!\w)"}]


def _read_through(phrase: str, text: RuleText) -> list[Clause]:
    """Read "install packages globally with npm", "rewrite history with COMMAND" and "post through the X MCP server"."""
    server = phrases.MCP_SERVER.match(phrase) or phrases.THROUGH_MCP.match(phrase)
    if server:
        name = text.unmask(server["name"]).lower()
        verb = server["verb"].lower()
        if verb in ("use", "call", "touch"):
            return [{"tool": f"mcp__{name}__*"}]
        words = phrases.MCP_VERBS.get(verb, "").split()
        return [{"tool": "|".join(f"mcp__{name}__*{word}*" for word in words)}] if words else []
    host = phrases.SSH.match(phrase)
    if host:
        name = text.unmask(host["host"]).rsplit("@", 1)[-1]
        return [{"run": "ssh|scp|sftp|rsync|mosh", "args": [f"{name}|*@{name}|{name}:*|*@{name}:*"]}]
    found = phrases.THROUGH.match(phrase)
    if not found:
        return []
    items, others = find_items(found["names"], text)
    verb = found["head"].split()[0]
    is_plain = len(items) == 1 and len(found["head"].split()) == 2 and not _find_concept(found["head"], text)
    if is_plain and not others and verb in phrases.CONCEPT_VERBS and items[0].text in phrases.SUBCOMMANDS:
        return [{"run": f"{items[0].text} {verb}"}]  # "restart services with systemctl"
    if items and not others and all(item.is_code and phrases.DIRECTIVES.match(item.text) for item in items):
        return get_item_clauses(items, "use", None, True, is_comment=True)
    commands = [parse_command(item.text, True) for item in items]
    if not items or not all(commands) or any(word not in phrases.FILLER for word in others):
        return []
    if all(command and command.name in phrases.SUBCOMMANDS and command.args for command in commands):
        return [clause for command in commands if command for clause in get_command_clauses(command)]
    if len(found["head"].split()) < 4 and all(
        command and command.name not in ("curl", "wget", "python", "python3", "node") and command.args[0][:1] == "-"
        for command in commands
        if command and command.args
    ):
        made = [clause for command in commands if command and command.args for clause in get_command_clauses(command)]
        if made:
            return made
    names = {command.name for command in commands if command and not command.args}
    return [
        {**clause, "run": " ".join(["|".join(sorted(programs & names)), *clause["run"].split()[1:]])}
        for clause in _find_concept(found["head"], text)
        if "run" in clause and len(names) == len(items)
        for programs in [set(clause["run"].split()[0].split("|"))]
        if programs & names
    ]


def _read_about_commits(phrase: str, text: RuleText) -> list[Clause]:
    """Read "X in commit messages"."""
    found = phrases.IN_COMMITS.match(phrase)
    if not found:
        return []
    items, others = find_items(found["what"], text)
    names = [item.text for item in items if item.is_code or item.text in text.codes]
    if phrase.startswith("mention "):
        what = re.sub(r"^(?:words?|phrases?|strings?|text) ", "", found["what"])
        names = [text.unmask(name) for name in re.split(r",? (?:or|and|nor) |, ", what)]
        if not all(re.fullmatch(r"[A-Z][\w.-]*(?: [A-Z][\w.-]*)?|.*[-:@#].*", name) for name in names):
            return []
    elif not names or any(word not in phrases.FILLER for word in others):
        named = text.unmask(found["what"])
        if re.fullmatch(r"co-?authored-?by|signed-?off-?by|[A-Z][\w-]+(?:-[A-Za-z]+)+", named, re.I):
            names = [named]
        else:
            return []
    return [{"run": "git commit|merge|tag", "text": "(?i)" + "|".join(map(escape, names))}]


def _interpret_names(rest: str, text: RuleText, verbs: list[str], has_pair: bool) -> list[Clause]:
    """Return the clauses of names of programs, options or pieces of code, with an optional place."""
    scope: list[str] | None = None
    placed = phrases.IN_PLACE.match(rest)
    items, others = find_items(rest, text, takes_english=has_pair)
    if placed and (others or not items or len(items) > 1):
        scope = _get_scope(placed["place"], text)
        if scope is None and re.search(r" (?:in|under|inside|within) ", " " + phrases.MASK.sub("", rest)):
            return []
        if scope is not None:
            items, others = find_items(placed["names"], text, takes_english=has_pair)
            if phrases.PRODUCTION.fullmatch(placed["place"]) and items and set(others) <= phrases.FILLER:
                made = get_item_clauses(items, verbs[0] if verbs else "use", scope, has_pair)
                return [{**clause, "spared": phrases.TESTS} for clause in made]
            concept = _interpret_whole("use " + placed["names"], text, has_pair) if not items else []
            if concept and all("content" in clause for clause in concept):
                return [{**clause, "paths": scope} for clause in concept]
    if not items or any(word.lower() not in phrases.FILLER for word in others):
        return []
    if len(items) > 1 and any(
        word in ("with", "to", "from", "using", "via", "through", "at", "into") for word in others
    ):
        return []  # one narrows the other
    verb = verbs[0] if verbs else "use"
    return get_item_clauses(items, verb, scope, has_pair, "comment" in " ".join(others))


def _get_scope(place: str, text: RuleText) -> list[str] | None:
    """Return the globs of a place such as "src/" or "tests"; None if it is not a place in the project."""
    items, others = find_items(place, text)
    if (
        items
        and all(is_path(item) or item.text.strip("/") in phrases.PATH_NAMES for item in items)
        and all(word in phrases.FILLER for word in others)
    ):
        return get_globs(items)
    plain = text.unmask(place).lower().strip(" .")
    if plain in ("new code", "code", "the code", "source code", "committed code", "production code", "source files"):
        return []
    if re.fullmatch(
        r"(?:the |unit |our |java |python |go |rust |javascript |typescript )*tests?(?: files?| code| cases)?|specs?",
        plain,
    ):
        return phrases.TESTS
    for pattern, globs in phrases.FILE_KINDS:
        if pattern.fullmatch(plain):
            return list(globs)
    return [plain.rstrip("/") + "/**"] if plain.rstrip("/") in phrases.PATH_NAMES else None


# Files


def _interpret_files(rest: str, text: RuleText, access: str, takes_names: bool = True) -> list[Clause]:
    """Return the clause for files that a phrase names: "files in `src/gen`", "lockfiles", "any eslint config"."""
    excepted = phrases.EXCEPTED.search(rest)
    spared: list[Item] = []
    if excepted:
        spared, others = find_items(excepted["names"], text)
        if (
            not spared
            or not all(is_path(item) for item in spared)
            or any(word not in phrases.FILLER for word in others)
        ):
            return []
        rest = rest[: excepted.start()]
    if phrases.CONDITION.search(phrases.MASK.sub("", rest)):
        return []
    globs: list[str] = []
    is_existing = bool(re.match(r"^(?:existing|applied|old|merged|committed|past|already)\b", rest))
    kind: list[str] = []
    for part in re.split(r",? (?:or|and) (?!it\b)|, ", rest):
        made, kinds = _get_file_globs(part.strip(), text, takes_names)
        if not made and not kinds:
            return []
        globs += made
        kind += kinds
    if kind and globs and "**/generated/**" in kind:
        pass  # the path says which
    elif kind and globs and re.search(r" (?:in|under|inside|within|below) ", rest):
        globs = [
            glob[:-2] + "**/" + name.removeprefix("**/") if glob.endswith("/**") else glob
            for glob in globs
            for name in kind
            if "/" not in name.removeprefix("**/")
        ] or globs
    else:
        globs += kind
    clause: Clause = {"paths": list(dict.fromkeys(globs)), "access": access}
    if is_existing:
        clause["existing"] = True
    if spared:
        clause["spared"] = get_globs(spared)
    return [clause]


def _get_file_globs(part: str, text: RuleText, takes_names: bool) -> tuple[list[str], list[str]]:
    """Return the globs of named paths and of kinds of files in a phrase; both empty if a word is not understood."""
    plain = re.sub(
        r"^(?:(?:the|any|our|all|existing|applied|old|merged|committed|past|already|a|an|of|contents|checked-in) )+",
        "",
        text.unmask(part).lower().strip(" .,"),
    )
    plain = re.sub(r" (?:by|of|from) (?:the|our) (?:app|project|repo)$", "", plain)
    if plain in phrases.LANGUAGES:
        return [], []  # "format SQL by hand" is not about files
    if not phrases.MASK.search(part):
        for pattern, globs in phrases.FILE_KINDS:
            if pattern.fullmatch(plain):
                return [], list(globs)
        config = re.fullmatch(r"(\w[\w.-]+?)(?:'s)? (?:config(?:uration)?s?|settings|rules|rc)(?: files?)?", plain)
        if config and config[1] not in (
            "the",
            "any",
            "build",
            "project",
            "our",
            "app",
            "user",
            "server",
            "test",
            "lint",
            "production",
        ):
            name = config[1]
            return [], [
                f".{name}rc*",
                f"{name}.config.*",
                f".{name}.*",
                f"{name}.toml",
                f"{name}.json",
                f"{name}.yml",
                f"{name}.yaml",
                f"{name}.ini",
                f".{name}",
            ]
    kinds: list[str] = []
    placed = phrases.KIND_AND_PATHS.match(part)
    names = part
    if placed and placed["kind"].strip():
        word = re.sub(r"^(?:(?:the|any|all|our|a|existing) )+", "", placed["kind"].strip().lower())
        found = next((globs for pattern, globs in phrases.FILE_KINDS if pattern.fullmatch(word)), None)
        if found is not None:
            kinds, names = list(found), placed["names"]
    items, others = find_items(names, text)
    items = [item._replace(text=strip_prefix(item.text)) for item in items]
    if items and all(is_path(item) or (takes_names and item.is_code and is_name(item.text)) for item in items):
        if all(word.lower().strip("'s") in phrases.FILLER for word in others):
            return get_globs(items), kinds
        return [], []
    bare = phrases.NAMED_FOLDER.fullmatch(plain)
    if bare and bare[1] not in phrases.FILLER | phrases.NO_FOLDERS:
        return [bare[1] + "/**"], []
    bare = phrases.IN_FOLDER.fullmatch(plain)
    return ([bare[1] + "/**"], []) if bare and bare[1] in phrases.PATH_NAMES else ([], [])


# The whole


def _derive_from_frame(rule: str) -> list[Clause]:
    """Return the clauses of "use X, not Y" in any language that the parser of rules knows."""
    from reflect_git.language.parse import parse_frame

    frame = parse_frame(rule)
    if frame is None or not frame.unwanted or frame.condition:
        return []
    words = frame.unwanted.split()
    name = words[0].removeprefix("=")
    wanted = frame.wanted.split()
    if (
        len(words) == 1
        and name in phrases.PROGRAMS
        and (name not in phrases.ENGLISH or (wanted[:1] and wanted[0] in phrases.PROGRAMS))
    ):
        return get_command_clauses(Command([name], ""))
    return []
