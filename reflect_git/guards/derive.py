"""Derive a matcher from the text of a rule, where the text is clear: "use pnpm, not npm" bans the program npm.

A rule that is not clear gets no matcher. A false alarm costs more than a miss, so a phrase counts only if every word of
it is understood. The phrases, kinds of files and names of options are in `knowledge/guards.json`.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from reflect_git.guards.match import Call, find_match
from reflect_git.guards.shell import Command, parse_commands
from reflect_git.language.words import load_table

Clause = dict[str, Any]
Derived = dict[str, Any]

_LONGEST = 600
_TABLE = load_table("guards")
_PROGRAMS = frozenset(load_table("programs")["programs"].split()) | frozenset(_TABLE["more_programs"].split())
_ENGLISH = frozenset(load_table("programs")["english"].split()) | frozenset(
    "open say port task tap standard future screen stack make node less service just black composer kind flux vault "
    "expo next venv ws su dd kill air serve rush karma nose unittest migrate nix xo snap".split()
)
_SUBCOMMANDS = frozenset(_TABLE["subcommands"].split())
_JS = ["*.js", "*.jsx", "*.ts", "*.tsx", "*.mjs", "*.cjs", "*.mts", "*.cts", "*.vue", "*.svelte"]
_TESTS = ["**/tests/**", "**/test/**", "**/__tests__/**", "**/spec/**", "test_*", "*_test.*", "*.test.*", "*.spec.*"]
_FILE_KINDS = [(re.compile(phrase), globs) for phrase, globs in _TABLE["file_kinds"].items()]
_BRANCH = r"(?:the )?`?[\w./*-]+`?(?:(?:,| or| and|/|, or) `?[\w./*-]+`?)*(?: branch(?:es)?)?"
_BRANCHES = frozenset(
    "main master develop dev development production prod staging release trunk default stable live".split()
)
_CONCEPTS = [
    (
        re.compile(each["phrase"].replace("(?P<b>B)", f"(?P<b>{_BRANCH})")),
        each["any"],
        re.compile(each.get("only_phrase", ".*")),
    )
    for each in _TABLE["concepts"]
]
_CONTENT_FILES = [(re.compile(pattern), globs) for pattern, globs in _TABLE["content_files"]]
_LIBRARIES = {name: kind for kind, names in _TABLE["libraries"].items() for name in names.split()}

_CODE = re.compile(r"`+([^`]+)`+|\"([^\"\s][^\"]*)\"|“([^”]+)”")
_MASK = re.compile("\ue000(\\d+)\ue001")
_STATEMENT = re.compile(r"(?<=[.!?])\s+|\.$|!$|;\s*|\s+[—–]\s*|\s+-{1,2}\s+|:\s+|\n+|\s*→\s*|\s*=>\s*")
_PIECE = re.compile(
    r",?\s+(?:but|and)\s+(?=(?:never|don't|do not|not)\b)|,\s+(?=(?:use|run|prefer|call|do not|don't|never|not|always|make|"
    r"create|go through|instead|please|ask|move|no|avoid|only|let|add|write|put)\b)"
)
_REASON = re.compile(
    r",?\s+(?:because|since|otherwise|so that|which|due to)\b.*|,\s+(?:it|they|this|that|these|those|we|our|the|so|as|i|my|your?|he|she|there|"
    r"everything|nobody|everyone|each|every)\b.*|\s+as (?:it|they|this|that|the|we)\b.*|\s+\(it .*",
    re.S,
)
_BAN = re.compile(
    r"^(?:(?:please|we|you|and|but|claude|agents?|also|important|rule|note|seriously)[,:]? )*(?:(?:must|should|may|can|shall) )?"
    r"(?:never(?: ever)?|do not(?: ever)?|don't(?: ever)?|dont|not|mustn't|shouldn't|can't|cannot|avoid|stop|refrain from|no(?: more)?|"
    r"(?:always )?(?:ask|check with|check|confirm with|confirm)(?: (?:me|us|first|for (?:permission|approval|confirmation)|the user|with me|the team|a human))* before(?: you)?|"
    r"(?:get|wait for) (?:my |explicit )*(?:approval|permission|confirmation|ok) before|(?:it is|it's) (?:forbidden|not allowed) to|"
    r"(?:you're|you are) not allowed to|forbidden|banned|prohibited|nie|niemals|kein|keine)[:,]? (?P<what>.*)$",
    re.I | re.S,
)
_WANT = re.compile(
    r"^(?:(?:please|always|we|instead|but|and|only|just|you should|you must|rather|then)[,:]? )*"
    r"(?P<verb>use|run|prefer|call|choose|go through|go with|stick to|stick with|move|make|create|let|do|write|add|put|switch to|work with|rely on|reach for|test with|install with|manage \w+ with|install \w+ with|run \w+ with|run \w+ through|run \w+ via) (?P<what>.*)$",
    re.I | re.S,
)
_INSTEAD = re.compile(
    r"^(?P<wanted>.*?),?\s+(?:instead of|rather than|in place of|over|not|never|and not|and never|but not|but never)\s+(?:(?:using|running|calling|use|the|with|plain|raw|bare) )*(?P<unwanted>.*)$",
    re.I | re.S,
)
_INSTEAD_FIRST = re.compile(
    r"^(?:instead of|rather than) (?:(?:using|running|calling) )?(?P<unwanted>.*?),\s*(?P<wanted>.*)$", re.I | re.S
)
_REPLACED = re.compile(r"^(?:replace|swap) (?P<unwanted>.*?) (?:with|by|for) (?P<wanted>.*)$", re.I | re.S)
_PASSIVE = re.compile(
    r"^(?P<subject>.*?),? (?:is|are|must|should|may|can|has to|have to) (?:never|not|never to|not to)(?: ever)?(?: be)?(?: manually| directly)? "
    r"(?P<verb>\w+(?:ed|en|un|ad|t))\b(?P<rest>.*)$",
    re.I | re.S,
)
_STATE = re.compile(
    r"^(?P<subject>.*?) (?:(?:is|are) (?P<adjective>forbidden|banned|prohibited|not allowed|disallowed|off[- ]limits|read-?only|final|frozen|"
    r"generated|auto-?generated|machine-generated|immutable|deprecated|taboo|not installed|not available|unavailable|broken here|managed by \w+)"
    r"|(?:doesn't|does not|don't|do not) (?P<missing>exist|work)|isn't (?:installed|available))\b(?P<rest>.*)$",
    re.I | re.S,
)
_TAIL = re.compile(
    r"[,\s]*\b(?:by hand|manually|directly|yourself|ever|again|anywhere|at all|please|on your own|in this (?:repo|repository|project|codebase)|"
    r"in (?:the|our) (?:repo|repository|codebase|project)|here|for now|anymore|any more|under any circumstances|no matter what|on its own|in the shell|in bash|with bash|"
    r"from the command line|in the terminal|from the shell|on this (?:machine|laptop|box)|locally|"
    r"unless (?:i|we|you are|you're|the user|told|asked|explicitly|someone|instructed|requested)\b.*|"
    r"without (?:asking|permission|approval|my|explicit|confirm|confirmation|telling|checking|being asked|consent|a review|prior|first asking|the user)\b.*)\s*$",
    re.I | re.S,
)
_CONDITION = re.compile(
    r"\b(?:when|whenever|if|while|until|during|unless|except|after|before|as long as|once|outside|without|for|only|between|more than|less than|other than|apart from|besides|just)\b",
    re.I,
)
_NARROWS = re.compile(
    r"\b(?:when|if|while|until|during|unless|only|(?:in|on|for) (?!every|all\b|any|this|our|the (?:whole|repo)|package|depend|install|everything)\w+)",
    re.I,
)
_FLAG = r"(?:\ue000\d+\ue001|--?[a-zA-Z][\w-]*(?:[= ](?:auto|\d+|[\w./]+))?)"
_NAMED = r"(?:\ue000\d+\ue001|[a-z][\w.-]*(?: [a-z][\w:-]*){0,2}?)"
_MUST = [
    re.compile(pattern, re.I)
    for pattern in (
        rf"^(?:please )?(?:always )?(?:pass|give|add|include|set|specify|supply|append) (?:the )?(?P<flag>{_FLAG})(?: flag| option)? (?:to|with|when (?:you )?(?:run|running|call|calling|using|use|invoking)|for|on|in) (?:every |all |any |each |the |a )*(?P<cmd>{_NAMED})(?: commands?| calls?| runs?| invocations?| builds?)?$",
        rf"^(?:please )?always use (?:the )?(?P<flag>{_FLAG})(?: flag| option)? (?:with|when (?:you )?(?:run|running|call|calling|using|use|invoking)|for|on) (?:every |all |any |each |the |a )*(?P<cmd>{_NAMED})(?: commands?| calls?)?$",
        rf"^(?:please )?(?:always )?(?:give|pass) (?P<cmd>{_NAMED}) (?:the )?(?P<flag>{_FLAG})(?: flag| option)?$",
        rf"^(?:please )?(?:always )?(?:give|pass|run|call) (?P<cmd>{_NAMED}) (?:a |an |the |with a |with an )[\w -]+\((?P<flag>{_FLAG})\)$",
        rf"^(?:please )?(?:always|only) (?:run|use|call|invoke|execute|start) (?P<cmd>{_NAMED}) with (?:the )?(?P<flag>{_FLAG})(?: flag| option| set)?$",
        rf"^(?:every |all |any |the )?(?P<cmd>{_NAMED})(?: commands?| calls?| runs?)? (?:must|should|has to|have to|needs to|needs?|always needs?|requires?|always takes?|always runs?|is always run|is always called|always)(?: always)?(?: be)?(?: run| called| used| invoked)?(?: with| have| use)? (?:the )?(?P<flag>{_FLAG})(?: flag| option)?$",
        rf"^(?:run |use |call |invoke |execute )?(?P<cmd>{_NAMED}) without (?:the )?(?P<flag>{_FLAG})(?: flag| option)?$",
    )
]
_VERBS = {
    "run": "use run call invoke execute launch type start try touch",
    "edit": "edit change modify touch alter update write overwrite rewrite delete remove rename move reformat format create patch tweak regenerate adjust "
    "add put clean replace fix",
    "read": "read open view cat print access inspect display show expose look see",
    "content": "use add write leave introduce put import include have commit call access reach",
}
_VERB_KINDS = {kind: frozenset(words.split()) for kind, words in _VERBS.items()}
_ALL_VERBS = frozenset(" ".join(_VERBS.values()).split())
_IRREGULAR = {
    "written": "write",
    "run": "run",
    "read": "read",
    "put": "put",
    "overwritten": "overwrite",
    "rewritten": "rewrite",
    "left": "leave",
}
_FILLER = frozenset(
    "the a an any or and command commands tool tools program programs cli file files anything everything folder folders directory directories dir "
    "contents content of in under inside within below from to at into its all our my code plain raw statement statements call calls "
    "function functions comment comments line lines keyword operator method hook hooks package library module type types existing "
    "stuff things them it these those that this via through with using macro decorator suppressions suppression directives directive "
    "either both nor checked-in".split()
)
_PATH_NAMES = frozenset(
    "src lib app tests test docs scripts packages backend frontend api server client migrations vendor dist build generated node_modules infra deploy config public static assets fixtures proto protos schemas internal pkg cmd web".split()
)
_NETWORK = "curl|wget|http|https|xh|ssh|scp|sftp|rsync|psql|mysql|redis-cli|mongosh|nc|telnet"
_FUNCTIONS = frozenset(
    "print eval exec alert sleep fetch require input breakpoint open println pprint setattr getattr".split()
)
_DIRECTIVES = re.compile(
    r"^(?:#|//|/\*|<!--|@ts-|eslint-|noqa|nolint|type: ?ignore|pylint|prettier-ignore|istanbul|nosonar|rubocop:|biome-|pragma|c8 |v8 |noinspection|coverage:|nosec)",
    re.I,
)


class _Text(NamedTuple):
    """Hold a rule's text with its code spans masked."""

    masked: str
    codes: list[str]
    quoted: frozenset[int] = frozenset()

    def unmask(self, part: str) -> str:
        return _MASK.sub(lambda match: self.codes[int(match[1])], part)


class _Item(NamedTuple):
    """Name a thing that a rule bans: its text, and whether it was typed as code."""

    text: str
    is_code: bool


def derive_matcher(rule: str) -> Derived | None:
    """Return the matcher that a rule's text clearly means; None if it is not guardable."""
    if len(rule) > _LONGEST:
        return None
    text = _mask(rule)
    wanted, clauses = "", []
    subject = ""
    for statement in _split_statements(text):
        statement, scope = _split_leading_place(statement, text)
        begin = len(clauses)
        for piece in filter(None, (part.strip(" ,.") for part in _PIECE.split(statement))):
            found, wants = _read_piece(piece, text, subject, wanted)
            clauses += found
            wanted = wanted or wants
        if scope is not None:
            clauses[begin:] = [
                {**clause, "paths": scope} for clause in clauses[begin:] if scope and "content" in clause
            ]
        state = _STATE.match(statement)
        subject = state["subject"] if state else ""
    if not clauses:
        clauses = _derive_from_frame(rule)
    if not clauses:
        return None
    return _finish(clauses, text, text.unmask(wanted).strip(" .,"))


def _mask(rule: str) -> _Text:
    """Replace code spans by marks, so that their words and dots are not read as prose."""
    codes: list[str] = []
    quoted: set[int] = set()

    def keep(match: re.Match[str]) -> str:
        codes.append((match[1] or match[2] or match[3]).strip())
        if not match[1]:
            quoted.add(len(codes) - 1)
        return f"\ue000{len(codes) - 1}\ue001"

    rule = " ".join(rule.replace("’", "'").replace("‘", "'").split())
    rule = re.sub(r"^[-*•\s]*(?:\*\*|__)?", "", rule).replace("**", "")
    rule = re.sub(r" \((not|never|instead of) ([^()]*)\)", r", \1 \2", rule)
    return _Text(_CODE.sub(keep, rule), codes, frozenset(quoted))


def _split_statements(text: _Text) -> list[str]:
    return [part.strip() for part in _STATEMENT.split(text.masked) if part and part.strip()]


def _split_leading_place(statement: str, text: _Text) -> tuple[str, list[str] | None]:
    """Split off "In `tests/`, …"; the place is empty if it is a condition that cannot be checked, None without one."""
    found = re.match(
        r"^(?P<word>in|under|inside|within|for|on|when|whenever|while|if|during|outside|before|after|once|unless|until|except) (?P<place>[^,]+), (?P<rest>.*)$",
        statement,
        re.I | re.S,
    )
    if not found or re.match(r"(?:this|the|our) (?:repo|repository|project|codebase|monorepo)$", found["place"], re.I):
        return (found["rest"] if found else statement), None
    is_place = found["word"].lower() in ("in", "under", "inside", "within", "for")
    return found["rest"], (_get_scope(found["place"], text) or []) if is_place else []


def _read_piece(piece: str, text: _Text, subject: str, wanted: str) -> tuple[list[Clause], str]:
    """Return the clauses of one piece of a sentence, and what it wants instead."""
    must = _read_must(piece, text)
    if must:
        return must, ""
    ban = _BAN.match(piece)
    if ban:
        what = ban["what"]
        pair = re.match(
            r"^(?P<unwanted>.*?),? (?:(?:use|prefer|run) (?P<wanted>.*?)(?: instead)?|in favou?r of (?P<other>.*))$",
            what,
        )
        if pair and not re.match(r"^(?:use|run|prefer)\b", what):
            return _interpret(pair["unwanted"], text, subject), pair["wanted"] or pair["other"] or ""
        return _interpret(what, text, subject, has_pair=bool(wanted)), ""
    for pattern in (_INSTEAD_FIRST, _REPLACED):
        pair = pattern.match(piece)
        if pair:
            want = _WANT.match(pair["wanted"])
            return _interpret("use " + pair["unwanted"], text, subject, True), want["what"] if want else pair["wanted"]
    want = _WANT.match(piece)
    if want:
        pair = _INSTEAD.match(want["what"])
        if want["verb"].lower() == "prefer" and not pair:
            pair = re.match(r"^(?P<wanted>\S+) to (?P<unwanted>\S+)$", want["what"])
        if pair and _NARROWS.search(_MASK.sub("", pair["wanted"])):
            return [], ""
        if pair:
            return _interpret("use " + pair["unwanted"], text, subject, True), pair["wanted"]
        return [], want["what"] if want["verb"].lower() not in ("do", "let") else ""
    for pattern in (_STATE, _PASSIVE):
        found = pattern.match(piece)
        if found:
            return _interpret_state(found, text), ""
    pair = _INSTEAD.match(piece)
    if pair and re.fullmatch(r"(?:\ue000\d+\ue001|[\w.-]+)", pair["wanted"].strip()):
        return _interpret("use " + pair["unwanted"], text, subject, True), pair["wanted"]
    return [], ""


def _interpret_state(found: re.Match[str], text: _Text) -> list[Clause]:
    """Return the clauses of "X is never edited" and "X is generated"."""
    parts = found.groupdict()
    subject = parts["subject"]
    if _CONDITION.search(parts.get("rest") or "") and not re.match(r"\s*(?:by|here)\b", parts.get("rest") or ""):
        return []
    if parts.get("verb"):
        return _interpret(_get_base(parts["verb"]) + " " + subject, text, "")
    adjective = (parts.get("adjective") or "").lower()
    if re.match(r"off|read|final|frozen|gen|auto|machine|immutable|managed", adjective):
        return _interpret_files(subject, text, "write")
    return _interpret("use " + subject, text, "", has_pair=True)


def _get_base(verb: str) -> str:
    """Return the base form of an English verb: edited, editing → edit."""
    verb = verb.lower()
    if verb in _IRREGULAR:
        return _IRREGULAR[verb]
    for ending in ("ing", "ed"):
        if verb.endswith(ending) and len(verb) > len(ending) + 1:
            stem = verb[: -len(ending)]
            for base in (stem, stem + "e", stem[:-1], stem[:-1] + "y"):
                if base in _ALL_VERBS or base in _CONCEPT_VERBS:
                    return base
    return verb


_CONCEPT_VERBS = frozenset(
    "push merge install deploy publish prune squash rebase amend skip bypass discard force drop kill pipe connect stash stage tag "
    "close open approve create make delete remove upgrade bump migrate destroy reset restart stop disable truncate sign comment upload pass".split()
)


def _read_must(piece: str, text: _Text) -> list[Clause]:
    """Return the clauses of "always pass FLAG to PROGRAM" and "never run PROGRAM without FLAG"."""
    ban = _BAN.match(piece)
    for pattern in _MUST:
        is_without = "without" in pattern.pattern
        found = pattern.match(_drop_tail(ban["what"] if ban and is_without else piece))
        if not found or bool(ban) != is_without:
            continue
        flag, name = text.unmask(found["flag"]), text.unmask(found["cmd"])
        if not _MASK.match(found["cmd"]):
            name = re.sub(r"^(go|cargo) tests$", r"\1 test", name.lower())
        if flag[:1] != "-" and name[:1] == "-":
            flag, name = name, flag
        command = _parse_command(name, True)
        if flag[:1] != "-" or command is None or not _is_known(command.name):
            continue
        for clause in _get_command_clauses(command):
            subcommand = clause["run"].split("|")[0].split()
            return [{**clause, "missing": [_get_flag(" ".join([command.name, *subcommand[1:2]]), flag)]}]
    return []


def _drop_tail(phrase: str) -> str:
    """Drop what does not narrow a ban: "by hand", "without asking me"."""
    phrase = phrase.strip(" .,!")
    while True:
        shorter = _TAIL.sub("", phrase).strip(" .,!")
        if shorter == phrase or not shorter:
            return phrase
        phrase = shorter


def _interpret(phrase: str, text: _Text, subject: str, has_pair: bool = False) -> list[Clause]:
    """Return the clauses of a banned phrase, such as "edit files in `src/gen`"; empty if it is not understood."""
    phrase = _drop_tail(_REASON.sub("", phrase))
    words = phrase.split(" ", 1)
    base = _get_base(words[0])
    phrase = " ".join([base, *words[1:]]) if base != words[0].lower() else phrase
    if subject and re.fullmatch(
        r"\w+ (?:them|it|these|those|any of them|these files|that file|this file|this folder)(?: directly)?", phrase
    ):
        phrase = base + " " + subject
    found = _interpret_whole(phrase, text, has_pair)
    if found:
        return found
    parts = [part for part in re.split(r",? (?:or|and|nor) |, ", phrase) if part]
    if len(parts) > 1:
        made = [_interpret_whole(_drop_tail(part), text, has_pair) for part in parts]
        if all(made):
            return [clause for clauses in made for clause in clauses]
    inside = re.match(
        r"^(?P<head>.*?) ?\((?:e\.g\.,? |like |such as |no |i\.e\.,? |for example,? )?(?P<list>[^()]*)\)(?P<rest>.*)$",
        phrase,
    )
    if inside and not inside["rest"].strip():
        return _interpret_list(inside["head"], inside["list"], text)
    return []


def _interpret_list(head: str, listed: str, text: _Text) -> list[Clause]:
    """Return the clauses of a phrase with examples in brackets: "publish packages (`npm publish`, `twine upload`)"."""
    clauses = _interpret_whole(_drop_tail(head), text, True)
    items, others = _find_items(listed, text)
    if not items or not set(others) <= _FILLER:
        return clauses
    verb = _get_base(head.split(" ", 1)[0])
    if all(_is_path(item) for item in items):
        kinds = [
            kind for kind in ("edit", "read") if any(_get_base(word) in _VERB_KINDS[kind] for word in head.split())
        ]
        if kinds:
            access = "any" if len(kinds) == 2 else "write" if kinds == ["edit"] else "read"
            return [{"paths": _get_globs(items), "access": access}]
        return clauses
    hosts = [item for item in items if _is_host(item.text)]
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
        found = re.match(r"^(?:connect |use |point |run )?(?P<cmd>\S+)(?: to| into| against| on| with)? .*$", head)
        command = _parse_command(text.unmask(found["cmd"]), True) if found else None
        if command and _is_known(command.name) and command.name not in ("open", "kill"):
            return _get_host_clauses(command, hosts[0].text)
        return [
            {"run": _NETWORK, "args": [f"*{hosts[0].text}*"]},
            {"tool": "WebFetch", "text": re.escape(hosts[0].text)},
        ]
    if hosts:
        return clauses
    more = _get_item_clauses(items, verb, None, has_pair=True)
    if (
        not clauses
        and not more
        and all(item.is_code and re.search(r"[.()=@:]", item.text) and not _is_path(item) for item in items)
    ):
        more = _get_item_clauses(items, "use", None, True)
    return clauses + more


def _interpret_whole(phrase: str, text: _Text, has_pair: bool) -> list[Clause]:
    """Return the clauses of one phrase without alternatives."""
    plain = text.unmask(phrase).lower().strip(" .,")
    coded = text.unmask(phrase.replace("\ue000", "`\ue000").replace("\ue001", "\ue001`")).lower().strip(" .,")
    for pattern, clauses, only in _CONCEPTS:
        found = pattern.fullmatch(plain) or pattern.fullmatch(coded)
        if found and only.fullmatch(plain):
            branches = (
                _get_branches(found, phrase)
                if "b" in pattern.groupindex and "(?P<b>execute" not in pattern.pattern
                else ""
            )
            if branches is not None:
                return [_fill(clause, branches) for clause in clauses]
    words = phrase.split()
    if not words:
        return []
    verbs = _get_verbs(words)
    for reading in (_read_with, _read_about_commits):
        made = reading(phrase, text)
        if made:
            return made
    rest = " ".join(words[len(verbs) :])
    verbs = [verb for verb in verbs if verb not in ("or", "and", "nor", "to", "at")]
    kinds = {kind for kind, names in _VERB_KINDS.items() if verbs and all(verb in names for verb in verbs)}
    access = _get_access(verbs)
    if verbs == ["commit"] or verbs == ["check"]:
        made = _interpret_files(re.sub(r"^(?:in )?", "", rest), text, "write", takes_names=False)
        return [{"run": "git add|stage|commit", "args": [_get_argument_globs(clause["paths"])]} for clause in made]
    if access:
        made = _interpret_files(rest, text, access, takes_names=verbs[0] not in _VERB_KINDS["content"])
        if made and all(verb in ("delete", "remove", "rename", "move") for verb in verbs):
            spec = [_get_argument_globs(made[0]["paths"])]
            return [{"run": "rm|mv|unlink|rmdir|shred|trash", "args": spec}, {"run": "git rm|mv", "args": spec}]
        if made and verbs in (["create"], ["add"], ["put"]):
            return [{**clause, "existing": False} for clause in made]
        if made:
            return made
    if _CONDITION.search(_MASK.sub("", rest)):
        return []
    if not verbs or kinds & {"run", "content"}:
        return _interpret_names(rest, text, verbs, has_pair)
    return []


def _get_verbs(words: list[str]) -> list[str]:
    """Return the verbs that a phrase begins with, in base form: "read or change `.env` files"."""
    verbs: list[str] = []
    for word in words:
        base = _get_base(word.strip(","))
        if base in _ALL_VERBS and (
            not verbs or verbs[-1] in ("or", "and", "nor") or word == words[0] or verbs[-1].endswith(",")
        ):
            verbs.append(base)
        elif verbs and word in ("or", "and", "nor") and len(words) > len(verbs) + 1:
            following = _get_base(words[len(verbs) + 1].strip(","))
            if following not in _ALL_VERBS:
                break
            verbs.append(word)
        elif verbs and word in ("to", "at") and verbs[-1] in ("write", "look"):
            verbs.append(word)
        else:
            break
    return verbs


def _get_access(verbs: list[str]) -> str:
    """Return the kind of access that verbs mean: write, read, any or nothing."""
    edits = any(verb in _VERB_KINDS["edit"] for verb in verbs)
    reads = any(verb in _VERB_KINDS["read"] for verb in verbs)
    if not verbs or not all(verb in _VERB_KINDS["edit"] or verb in _VERB_KINDS["read"] for verb in verbs):
        return ""
    return "any" if edits and reads else "write" if edits else "read"


def _get_branches(found: re.Match[str], phrase: str) -> str | None:
    """Return the branches that a phrase names, separated by `|`; None if they may be something else."""
    named = found["b"] or ""
    is_marked = bool(_MASK.search(phrase)) or "branch" in named
    names = [
        name.strip("`")
        for name in re.split(r",? or | and |, |/(?=main|master)", re.sub(r"\b(?:the|branch(?:es)?)\b", "", named))
        if name.strip("` ")
    ]
    names = [name.strip() for name in names if name.strip()]
    if not names or not all(name in _BRANCHES or is_marked for name in names):
        return None
    if names == ["production"] and not is_marked:
        return None
    return "|".join("main|master" if name == "default" else name for name in names)


def _fill(clause: Clause, branches: str) -> Clause:
    """Return a clause of the table with its branch and its names of file groups filled in."""
    made: Clause = {}
    for key, value in clause.items():
        if isinstance(value, str):
            value = _JS if value == "JS" else _TESTS if value == "TESTS" else value.replace("{b}", branches)
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


def _read_with(phrase: str, text: _Text) -> list[Clause]:
    """Read "PROGRAM with FLAG", "FLAG with PROGRAM", "PROGRAM with the X profile" and "read files with PROGRAM"."""
    found = re.match(
        rf"^(?:(?:use|run|call|invoke|do|make) )?(?P<a>{_NAMED}|{_FLAG}) (?:with|using|to|on|in|for) (?:the )?(?P<b>{_FLAG}|{_NAMED})(?: flag| option)?$",
        phrase,
    )
    found = found or re.match(
        rf"^(?:pass|add|give|set) (?:the )?(?P<a>{_FLAG})(?: flag| option)? (?:to|with|on|in|when running) (?P<b>{_NAMED})$",
        phrase,
    )
    if found:
        first, second = text.unmask(found["a"]), text.unmask(found["b"])
        flag, name = (first, second) if first[:1] == "-" else (second, first)
        command = _parse_command({"commit": "git commit", "push": "git push"}.get(name, name), True)
        if flag[:1] == "-" and command and _is_known(command.name):
            return _get_command_clauses(command, flag.split())
    found = re.match(
        r"^(?:use |run |call )?(?P<cmd>\S+) (?:with|against|in|on) (?:the |our )?(?P<name>\S+) (?P<kind>profile|context|namespace|workspace|project|account|region|cluster|subscription)$",
        phrase,
    )
    if found:
        command = _parse_command(text.unmask(found["cmd"]), True)
        if command and _is_known(command.name):
            return _get_setting_clauses(command, found["kind"], text.unmask(found["name"]))
    found = re.match(
        r"^use (?P<names>.*?) to (?P<verb>read|view|print|show|edit|change|modify|search|create|write)(?: (?:files?|code|text|in|source|contents|the|any|new|or|write|create|edit|change|to))*$",
        phrase,
    )
    found = found or re.match(
        r"^(?P<verb>read|view|print|show|display|open|inspect|edit|change|modify|search|find|create|write|list|install|download|fetch)(?: (?:files?|code|text|in|source|contents|the|packages|dependencies|things|any|new|file|or|write|create|edit|change|python|node))* (?:with|via|using|through|by) (?P<names>.*)$",
        phrase,
    )
    if found:
        items, others = _find_items(found["names"], text, takes_english=True)
        if items and set(others) <= _FILLER and all(_parse_command(item.text, True) for item in items):
            clauses = _get_item_clauses(items, "use", None, True)
            reads = found["verb"] in ("read", "view", "print", "show", "display", "open", "inspect", "search", "find")
            files = "read" if reads else "write" if found["verb"] in ("create", "write") else ""
            return [{**clause, "files": files} if files and "run" in clause else clause for clause in clauses]
    return []


def _read_about_commits(phrase: str, text: _Text) -> list[Clause]:
    """Read "X in commit messages"."""
    found = re.match(
        r"^(?:(?:add|use|put|include|write|have|mention|leave) )?(?:any |a |the )*(?P<what>.+?)(?: lines?| trailers?| footers?| tags?| prefix(?:es)?| mentions?)? (?:in|to|from) (?:the |git |your )*commits?(?: messages?)?$",
        phrase,
    )
    if not found:
        return []
    items, others = _find_items(found["what"], text)
    names = [item.text for item in items if item.is_code]
    if not names or any(word not in _FILLER for word in others):
        named = text.unmask(found["what"])
        if re.fullmatch(r"co-?authored-?by|signed-?off-?by|[A-Z][\w-]+(?:-[A-Za-z]+)+", named, re.I):
            names = [named]
        else:
            return []
    return [{"run": "git commit|merge|tag", "text": "(?i)" + "|".join(map(_escape, names))}]


def _interpret_names(rest: str, text: _Text, verbs: list[str], has_pair: bool) -> list[Clause]:
    """Return the clauses of names of programs, options or pieces of code, with an optional place."""
    scope: list[str] | None = None
    placed = re.match(
        r"^(?P<names>.*?)(?: anywhere)? (?:in|under|inside|within|from|into|to) (?:(?:the|our|any|your) )?(?P<place>[^,]+)$",
        rest,
    )
    items, others = _find_items(rest, text, takes_english=has_pair)
    if placed and (others or not items or len(items) > 1):
        scope = _get_scope(placed["place"], text)
        if scope is None and re.search(r" (?:in|under|inside|within) ", " " + _MASK.sub("", rest)):
            return []
        if scope is not None:
            items, others = _find_items(placed["names"], text, takes_english=has_pair)
            concept = _interpret_whole("use " + placed["names"], text, has_pair) if not items else []
            if concept and all("content" in clause for clause in concept):
                return [{**clause, "paths": scope} for clause in concept]
    if not items or any(word.lower() not in _FILLER for word in others):
        return []
    verb = verbs[0] if verbs else "use"
    return _get_item_clauses(items, verb, scope, has_pair, "comment" in " ".join(others))


def _get_scope(place: str, text: _Text) -> list[str] | None:
    """Return the globs of a place such as "src/" or "tests"; None if it is not a place in the project."""
    items, others = _find_items(place, text)
    if (
        items
        and all(_is_path(item) or item.text.strip("/") in _PATH_NAMES for item in items)
        and all(word in _FILLER for word in others)
    ):
        return _get_globs(items)
    plain = text.unmask(place).lower().strip(" .")
    if plain in ("code", "the code", "source code", "committed code", "production code", "source files"):
        return []
    if re.fullmatch(r"(?:the |unit |our )*tests?(?: files?| code| cases)?|specs?", plain):
        return _TESTS
    for pattern, globs in _FILE_KINDS:
        if pattern.fullmatch(plain):
            return list(globs)
    return [plain.rstrip("/") + "/**"] if plain.rstrip("/") in _PATH_NAMES else None


def _find_items(phrase: str, text: _Text, takes_english: bool = False) -> tuple[list[_Item], list[str]]:
    """Split a phrase into names of things (code spans, paths, options, programs) and other words."""
    items: list[_Item] = []
    others: list[str] = []
    words = phrase.replace(",", " ,").replace("(", " ").replace(")", " ) ").replace(" )  ", ") ").split()
    at = 0
    while at < len(words):
        word = words[at].rstrip(".!")
        at += 1
        masked = _MASK.fullmatch(word.strip("s'"))
        if masked:
            items.append(_Item(text.codes[int(masked[1])], int(masked[1]) not in text.quoted))
        elif word in (",", ")", "/", "&", ""):
            continue
        elif _MASK.search(word) and all(not part or _MASK.fullmatch(part) for part in word.split("/")):
            items += [_Item(text.codes[int(number)], True) for number in _MASK.findall(word)]
        elif (
            _looks_like_path(word)
            or re.fullmatch(r"--?[a-zA-Z][\w-]*(?:=\S+)?", word)
            or re.fullmatch(r"[A-Za-z_][\w]*(?:\.[A-Za-z_]\w*)+(?:\(\))?|\w+\(\)|@\w[\w-]*", word)
        ):
            items.append(_Item(word, False))
        elif word.lower() in _PROGRAMS and (word.lower() not in _ENGLISH or takes_english or word in _SUBCOMMANDS):
            command = [word.lower()]
            while (
                at < len(words)
                and len(command) < 3
                and word.lower() in _SUBCOMMANDS
                and re.fullmatch(r"[a-z][\w:-]*", words[at])
                and words[at] not in _FILLER
                and words[at] not in _PROGRAMS
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
            if len(command) == 1 and word.lower() in _ENGLISH and not takes_english:
                others.append(word)
            else:
                items.append(_Item(" ".join(command), False))
        elif word.lower() in _LIBRARIES and (takes_english or word.lower() not in _FILLER):
            items.append(_Item(word.lower(), False))
        else:
            others.append(word)
    return items, others


def _looks_like_path(word: str) -> bool:
    """Return whether a bare word is a path: `src/gen/`, `.env`, `*.lock`, `tsconfig.json`."""
    if "://" in word or re.fullmatch(
        r"[\d./:-]+|and/or|ci/cd|i/o|n/a|tcp/ip|client/server|read/write|\w+\(\)", word, re.I
    ):
        return False
    if re.fullmatch(r"~/[\w./*-]+", word):
        return True
    if re.fullmatch(r"\.?[\w@*{},.-]+(?:/[\w@*{},.\[\]-]+)+/?|[\w.@-]+/|\*\*?[\w./*-]+|\.[a-zA-Z][\w.-]{2,}", word):
        return (
            word[-1:] == "/"
            or "*" in word
            or word[:1] == "."
            or word.count("/") > 1
            or "." in word
            or word.split("/")[0] in _PATH_NAMES
        )
    return bool(
        re.fullmatch(
            r"[\w.-]+\.(?:json|ya?ml|toml|lock|md|ts|tsx|js|jsx|mjs|cjs|py|rs|go|java|rb|sql|sh|cfg|ini|env|xml|gradle|tf|proto|snap|ipynb|prisma|css|scss|html|txt|csv|conf|sum|mod)|Makefile|Dockerfile|Jenkinsfile|Procfile|LICENSE|Gemfile|Justfile",
            word,
        )
    )


def _is_path(item: _Item) -> bool:
    """Return whether an item is a path; in code spans, bare names of folders count as well."""
    if " " in item.text or item.text.endswith(")") or item.text[:1] in "-@#":
        return False
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
            or bool(re.fullmatch(r"[\w@.-]+(?:/[\w@.-]+)+", item.text))
            and item.text[:1] != "@"
        )
    )


def _is_host(text: str) -> bool:
    return bool(re.fullmatch(r"[a-z0-9-]+(?:\.[a-z0-9-]+)+(?::\d+)?", text)) and not _looks_like_path(text)


def _is_known(name: str) -> bool:
    return name in _PROGRAMS or name in _SUBCOMMANDS


def _parse_command(code: str, is_clear: bool) -> Command | None:
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
    if _is_known(command.name) or (command.program[:2] == "./" and len(command.program) > 3):
        return command
    has_flag = any(arg[:1] == "-" for arg in command.args)
    if is_clear and has_flag and re.fullmatch(r"[a-z][a-z0-9_-]+", command.name):
        return command
    return None


def _get_item_clauses(
    items: list[_Item], verb: str, scope: list[str] | None, has_pair: bool, is_comment: bool = False
) -> list[Clause]:
    """Return the clauses for named things; empty if one of them is not understood."""
    clauses: list[Clause] = []
    program = ""
    for item in items:
        made: list[Clause] = []
        name = item.text.strip()
        if (
            program in _SUBCOMMANDS
            and item.is_code
            and re.fullmatch(r"[a-z][\w:-]*(?: --?[\w-]+)*", name)
            and not _is_known(name.split()[0])
        ):
            name = f"{program} {name}"  # `rails db:drop` or `db:reset`
        command = None if scope is not None else _parse_command(name, True)
        pipe = re.fullmatch(r"(curl|wget)\b.*\|\s*(?:sudo )?(bash|sh|zsh)\b.*", name)
        if pipe:
            made = [{"run": "sh|bash|zsh|dash", "from": "curl|wget"}]
        elif name[:1] == "-" and scope is None:
            named = _TABLE["flag_programs"].get(name.split()[0], "*" if len(name) > 7 and name[:2] == "--" else "")
            made = [{"run": named, "flags": [name if "|" in named else _get_flag(named, name)]}] if named else []
            if name == "--no-verify":
                made.append({"run": "git commit", "flags": ["-n"]})
        elif command is not None and verb in _VERB_KINDS["run"] | {"use"} and not is_comment:
            made, program = _get_command_clauses(command), command.name
        elif verb == "import" or (
            name.lower().removesuffix(".js") in _LIBRARIES and verb in ("use", "add", "introduce", "include")
        ):
            made = _get_library_clauses(name.removesuffix(".js"), scope)
        elif _is_path(item):
            return []
        elif verb in _VERB_KINDS["content"]:
            made = _get_content_clauses(item, scope, is_comment, has_pair)
        if not made:
            return []
        clauses += made
    return clauses


def _get_command_clauses(command: Command, more_flags: list[str] | None = None) -> list[Clause]:
    """Return the clauses for a command as a rule names it: `npm install -g`."""
    words, flags, args = [], [], []
    given = [arg for arg in command.args if arg not in ("|", "")]
    takes_subcommands = command.name in _SUBCOMMANDS
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
    flags += more_flags or []
    if words and len(words) < 3:
        words[0] = _TABLE["same_subcommand"].get(f"{command.name} {words[0]}", words[0])
    name = _TABLE["same_program"].get(command.name, command.name)
    if command.name in ("make", "just", "task", "rake") and len(words) == 1 and not args:
        words, args = [], words  # one target among others
    clause: Clause = {"run": " ".join([name, *words])}
    first = " ".join([command.name, *[word.split("|")[0] for word in words[:1]]])
    if flags:
        clause["flags"] = [each for flag in flags for each in _split_flag(first, flag)]
    if args:
        clause["args"] = [_get_argument(first, arg) for arg in args]
    clauses = [clause]
    if (
        command.name in ("npm", "pnpm", "yarn", "bun")
        and words[:1] == ["run"]
        and len(words) == 2
        and command.name != "npm"
    ):
        clauses.append({**clause, "run": f"{name} {words[1]}"})
    if command.name == "docker-compose":
        clauses.append({**clause, "run": " ".join(["docker compose", *words])})
    elif command.name == "docker" and words[:1] == ["compose"]:
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


def _get_argument(first: str, arg: str) -> str:
    """Return the pattern for an argument: a branch that is pushed can be written in several ways."""
    if first == "git push" and re.fullmatch(r"[\w./-]+", arg):
        return f"{arg}|*:{arg}|+{arg}"
    return arg.rstrip("/") + "|" + arg if arg[-1:] == "/" and len(arg) > 1 else arg


def _split_flag(first: str, flag: str) -> list[str]:
    """Return the patterns of joined options: `-rf` is `-r` and `-f`."""
    name = first.split()[0]
    if re.fullmatch(r"-[a-zA-Z]{2,4}", flag) and name not in ("go", "java", "find", "terraform", "mvn", "tofu", "kill"):
        return [_get_flag(first, "-" + letter) for letter in flag[1:]]
    return [_get_flag(first, flag)]


def _get_flag(first: str, flag: str) -> str:
    """Return all spellings of an option that the program has: `-f|--force`."""
    name, _, value = flag.replace(" ", "=", 1).partition("=")
    tables = _TABLE["same_flags"]
    found = name
    for key in (first, first.split()[0] if first.split() else "", "*"):
        group = next((group for group in tables.get(key, ()) if name in group.split("|")), None)
        if group:
            found = group
            break
    if name == "--force" and first == "git push":
        found = "-f|--force"
    return "|".join(each + "=" + value for each in found.split("|")) if value else found


def _get_setting_clauses(command: Command, kind: str, value: str) -> list[Clause]:
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


def _get_host_clauses(command: Command, host: str) -> list[Clause]:
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
    kind = _LIBRARIES.get(name.lower(), "js" if re.search(r"[-@/]", name) else "")
    if not kind and scope is not None:
        kind = "py" if any(glob.endswith(".py") for glob in scope) else ""
    if not kind or not re.fullmatch(r"@?[\w./-]+", name):
        return []
    name = name.lower() if name.lower() in _LIBRARIES else name
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
    clauses = [{"content": pattern, "look_in": "strings", "paths": scope or _JS}]
    if scope is None:
        clauses.append({"run": "npm|pnpm|yarn|bun install|i|add", "args": [f"{name}|{name}@*"]})
    return clauses


def _get_content_clauses(item: _Item, scope: list[str] | None, is_comment: bool, has_pair: bool) -> list[Clause]:
    """Return the clause for a piece of code that must not be added."""
    name = item.text
    is_directive = bool(_DIRECTIVES.match(name)) or is_comment
    is_clear = bool(re.search(r"[.()@!=\[\]{}*:#/<>]|[a-z][A-Z]|\w \w", name)) or scope is not None or is_directive
    if not is_clear and not (
        item.is_code
        and re.fullmatch(
            r"var|eval|goto|unsafe|unwrap|debugger|useEffect|alert|innerHTML|print|println|puts|assert|lambda|global|any",
            name,
        )
    ):
        return []
    if not item.is_code and not re.fullmatch(r"[\w$]+(?:\.[\w$]+)+(?:\(\))?|\w+\(\)|@[\w-]+", name):
        return []
    if _is_host(name) and not item.is_code or re.fullmatch(r"\W*", name) and len(name) < 2:
        return []
    clause: Clause = {"content": _get_pattern(name)}
    if is_directive:
        clause["look_in"] = "all"
    elif "'" in name or '"' in name:
        clause["look_in"] = "strings"
    globs = next((globs for pattern, globs in _CONTENT_FILES if pattern.search(name)), None)
    if scope:
        clause["paths"] = scope
    elif globs:
        clause["paths"] = globs
    return [clause]


def _get_pattern(name: str) -> str:
    """Return the regular expression for a piece of code."""
    call = re.fullmatch(r"([\w$.!]+?)\((?:\)|\.\.\.\)|…\))?", name + "()" if name in _FUNCTIONS else name)
    if call:
        inner = re.escape(call[1])
        is_method = call[1] not in _FUNCTIONS and "." not in call[1].lstrip(".")
        before = (r"(?<!\w)" if is_method else r"(?<![\w.])") if call[1][:1] != "." else ""
        return rf"{before}{inner}\s*\(" + _get_import(call[1])
    if re.fullmatch(r"[\w$]+(?:\.[\w$]+)+", name):
        return rf"(?<![\w.]){re.escape(name)}\b" + _get_import(name)
    if re.fullmatch(r"[=!]==?", name):
        return rf"(?<![=!<>]){re.escape(name)}(?!=)"
    return _escape(name)


def _get_import(name: str) -> str:
    """Return the pattern by which `time.sleep` is imported by name."""
    module, dot, function = name.rpartition(".")
    if not dot or not module.replace(".", "").islower() or not module[:1].isalpha() or module == "console":
        return ""
    return rf"|(?m:^\s*from\s+{re.escape(module)}\s+import\s[^\n]*\b{re.escape(function)}\b)"


def _escape(name: str) -> str:
    """Escape a text, let any blanks match, and keep words whole."""
    inner = r"\s+".join(re.escape(part) for part in name.split())
    return (r"(?<!\w)" if name[:1].isalnum() else "") + inner + (r"(?!\w)" if name[-1:].isalnum() else "")


# Files


def _interpret_files(rest: str, text: _Text, access: str, takes_names: bool = True) -> list[Clause]:
    """Return the clause for files that a phrase names: "files in `src/gen`", "lockfiles", "any eslint config"."""
    excepted = re.search(
        r",? (?:except|other than|apart from|unless it is|besides|but not) (?:for )?(?P<names>.*)$", rest
    )
    spared: list[_Item] = []
    if excepted:
        spared, others = _find_items(excepted["names"], text)
        if not spared or not all(_is_path(item) for item in spared) or any(word not in _FILLER for word in others):
            return []
        rest = rest[: excepted.start()]
    if _CONDITION.search(_MASK.sub("", rest)):
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
    if kind and globs and re.search(r" (?:in|under|inside|within|below) ", rest):
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
        clause["spared"] = _get_globs(spared)
    return [clause]


def _get_file_globs(part: str, text: _Text, takes_names: bool) -> tuple[list[str], list[str]]:
    """Return the globs of named paths and of kinds of files in a phrase; both empty if a word is not understood."""
    plain = re.sub(
        r"^(?:(?:the|any|our|all|existing|applied|old|merged|committed|past|already|a|an|of|contents|checked-in) )+",
        "",
        text.unmask(part).lower().strip(" .,"),
    )
    plain = re.sub(r" (?:by|of|from) (?:the|our) (?:app|project|repo)$", "", plain)
    if not _MASK.search(part):
        for pattern, globs in _FILE_KINDS:
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
    placed = re.match(
        r"^(?P<kind>.*?),? ?(?:in|under|inside|within|below|from)? ?(?P<names>(?:(?:the|our|any) )?(?:\ue000|[\w.*]*[/.*]).*)$",
        part,
    )
    names = part
    if placed and placed["kind"].strip():
        word = re.sub(r"^(?:(?:the|any|all|our|a|existing) )+", "", placed["kind"].strip().lower())
        found = next((globs for pattern, globs in _FILE_KINDS if pattern.fullmatch(word)), None)
        if found is not None:
            kinds, names = list(found), placed["names"]
    items, others = _find_items(names, text)
    items = [item._replace(text=_strip_prefix(item.text)) for item in items]
    if items and all(_is_path(item) or (takes_names and item.is_code and _is_name(item.text)) for item in items):
        if all(word.lower().strip("'s") in _FILLER for word in others):
            return _get_globs(items), kinds
        return [], []
    bare = re.fullmatch(
        r"(?:(?:anything|files?|code|stuff|things|everything|something) )?(?:in|under|inside|within|below|of)? ?(?:the )?([\w.-]+)(?: folder| directory| dir)",
        plain,
    )
    if bare and bare[1] not in _FILLER:
        return [bare[1] + "/**"], []
    bare = re.fullmatch(
        r"(?:anything|files?|code|everything) (?:in|under|inside|within|below) (?:the )?([\w-]+)", plain
    )
    return ([bare[1] + "/**"], []) if bare and bare[1] in _PATH_NAMES else ([], [])


def _get_argument_globs(globs: list[str]) -> str:
    """Return the pattern for arguments of a command that name files which match globs."""
    made: list[str] = []
    for glob in globs:
        path = glob.removeprefix("**/").removesuffix("/**")
        made += [path, "*/" + path]
        if path != glob.removeprefix("**/"):
            made += [path + "/*", "*/" + path + "/*"]
    return "|".join(made)


def _strip_prefix(path: str) -> str:
    return path[2:] if path[:2] == "./" and len(path) > 2 else path


def _is_name(name: str) -> bool:
    """Return whether a code span can be the name of a file or folder."""
    return bool(re.fullmatch(r"[\w.*@-]+(?:/[\w.*@{},-]+)*/?", name)) and name not in _PROGRAMS


def _get_globs(items: list[_Item]) -> list[str]:
    """Return the globs of paths as a rule names them: `src/gen/` is everything below."""
    globs: list[str] = []
    for item in items:
        path = item.text
        if re.fullmatch(r"\.(?:py|ts|tsx|js|jsx|sql|md|ya?ml|json|ipynb|snap|lock|proto|tf|css|rs|go)", path):
            path = "*" + path
        if path[-1:] == "/":
            path += "**"
        elif "." not in path.rsplit("/", 1)[-1] and "*" not in path and path[:1].islower():
            path += "/**"
        globs.append(path)
    return globs


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
    if len(words) == 1 and name in _PROGRAMS and (name not in _ENGLISH or wanted[:1] and wanted[0] in _PROGRAMS):
        return _get_command_clauses(Command([name], ""))
    return []


def _finish(clauses: list[Clause], text: _Text, wanted: str) -> Derived | None:
    """Return the matcher of some clauses, with what the rule allows as exceptions."""
    exceptions: list[Clause] = []
    for clause in clauses:
        spared = clause.pop("spared", None)
        if spared:
            exceptions.append({"paths": spared})
        if "Read" in wanted or "Grep" in wanted or "Glob" in wanted:
            if clause.get("run", "").split("|")[0] in (
                "cat",
                "head",
                "tail",
                "grep",
                "less",
                "more",
                "rg",
                "sed",
                "awk",
            ):
                clause.setdefault("files", "read")
    unique = [clause for at, clause in enumerate(clauses) if clause not in clauses[:at]]
    for found in re.finditer(
        r"((?:\ue000\d+\ue001(?:, | and | or |/)?)+|[\w./*-]+) (?:is|are) (?:fine|ok|okay|allowed|good|an exception)\b",
        text.masked,
    ):
        items, others = _find_items(found[1], text)
        if items and not others:
            if all(_is_path(item) for item in items):
                exceptions.append({"paths": _get_globs(items)})
            else:
                exceptions += [clause for clause in _get_item_clauses(items, "use", None, True) if "run" in clause]
    matcher: Derived = {"any": unique}
    codes = _find_items(wanted, _Text(wanted, []), takes_english=True)[0]
    preferred = _parse_command(wanted, False) or (_parse_command(codes[0].text, False) if codes else None)
    if preferred is not None:
        command = " ".join([preferred.program, *preferred.args])
        if find_match(matcher, Call("Bash", {"command": command})):
            unique[:] = _narrow(unique, preferred, exceptions, command)
    if exceptions:
        matcher["except"] = exceptions
    if wanted:
        matcher["instead"] = wanted[:200]
    return matcher if unique else None


def _narrow(clauses: list[Clause], preferred: Command, exceptions: list[Clause], command: str) -> list[Clause]:
    """Change clauses so that they do not apply to the command that the rule prefers."""
    made: list[Clause] = []
    for clause in clauses:
        if not find_match({"any": [clause]}, Call("Bash", {"command": command})):
            made.append(clause)
            continue
        flags = [arg for arg in preferred.args if arg[:1] == "-"]
        if clause["run"].split()[0].split("|")[0] == preferred.name and flags and not clause.get("flags"):
            made.append({**clause, "missing": [_get_flag(preferred.name, flag) for flag in flags]})
        elif len(preferred.args) > 0 and len(clause["run"].split()) == 1:
            made.append(clause)
            exceptions += _get_command_clauses(preferred)
    return made
