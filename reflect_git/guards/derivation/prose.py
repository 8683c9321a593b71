"""Prepare the prose of a rule for `derive`: find code that was typed without backticks, and rewrite common turns.

People write "never use eval()" as often as "never use `eval()`". Only text that cannot be English counts as code:
calls, names with dots or inner capitals, commands with options, paths behind "in" or "under".
"""

from __future__ import annotations

import re
from typing import NamedTuple

from reflect_git.guards.derivation import phrases

_DOMAINS = frozenset(
    "com org net io dev app ai co local internal cloud sh de fr es uk eu me so gg xyz corp lan js".split()
)
_NOT_CODE = frozenset(
    "camelCase iOS macOS iPhone iPad iCloud iMessage eBay jQuery gRPC mTLS tvOS watchOS npmJS nodeJS npmjs openAI "
    "gitHub gitLab mySQL noSQL i.e e.g".split()
)
_STOP = frozenset(
    "with needs need without to must should requires require always never or and for in on is are takes using uses has "
    "have may can not from via through by as at if when where the a an any that which does do but".split()
)
_WORD = r"[A-Za-z_$][\w$]*"
_COMMAND = re.compile(
    r"(?<![\w./\ue000-])(?:sudo )?[a-z][\w.-]*(?: [a-z][\w:-]*){0,3}?"
    r"(?P<words>(?: (?:--?[A-Za-z0-9][\w-]*(?:=[\w./:@-]*[\w/])?|\.(?=[\s,;)]|$)|[0-7]{3,4}\b))+)"
    r"|(?<![\w./\ue000-])sudo [a-z][\w.-]* [a-z][\w:-]*(?P<none>)"
)
_CODE = re.compile(
    r"(?P<pipe>\b(?:curl|wget)\b[^.;,()\ue000]{0,40}?\|\s*(?:sudo )?(?:ba|z)?sh\b)"
    r"|(?P<tool>\bmcp__[\w*]+|\b(?:WebFetch|WebSearch|NotebookEdit|MultiEdit)\b)"
    r"|(?P<script>(?<![\w./-])(?:npm|pnpm|yarn|bun) run [a-z][\w:-]*|(?<![\w./-])python3? [\w/]+\.py(?: [a-z][\w:-]*)?"
    r"|(?<![\w./])\./[\w./-]*\w)"
    rf"|(?P<call>(?<![\w.$-])(?:new )?{_WORD}(?:\.{_WORD})*\(\)|\b(?:println|dbg|todo|panic|unimplemented)!)"
    r"|(?P<note>\b(?:eslint|prettier|biome|stylelint)-(?:disable|ignore)[\w-]*|@?\bts-(?:ignore|nocheck|expect-error)\b"
    r"|\b(?:noqa|nolint|nosec)\b|(?<!\w)!important\b)"
    r"|(?P<keyword>(?:(?<=use )|(?<=using )|(?<=no )|(?<=No )|(?<=void ))"
    r"(?:var|any(?= in )|eval|goto|lambda|global|assert|debugger|print(?! s)|alert|unwrap|unsafe)"
    r"(?= (?:statement|keyword|call)s?\b| (?:in|from) (?i:javascript|typescript|js|ts|python|rust|go|java|php)\b))"
    r"|(?P<address>\b(?:localhost|127\.0\.0\.1):\d+\b)"
    r"|(?<![\w'])'(?P<quoted>[\w@./:-]+)'(?![\w'])"
    r"|\b(?:in|under|inside|below|within|into|unter|dans|sous|en|bajo) "
    r"(?P<path>[a-z_][\w.-]*(?:/[\w.-]*\w)+)(?![\w/*.-]*[*/])"
    rf"|(?P<dotted>(?<![\w./@\ue001-])[a-z_]\w+(?:\.{_WORD})+(?![\w/*.-]*[*/:]))"
    r"|(?P<camel>(?<![\w./@<-])[a-z]+(?:[A-Z][a-z0-9]*)+(?:[A-Z]+)?\b(?![./]\w))"
)


class Span(NamedTuple):
    """Locate a piece of code in prose."""

    begin: int
    end: int


def find_bare_code(prose: str) -> list[Span]:
    """Return where prose contains code without backticks, from left to right."""
    found: list[Span] = []
    for word in re.finditer(r"(?<![\w./\ue000-])[a-z]", prose):
        match = _COMMAND.match(prose, word.start())
        if match and (not found or word.start() >= found[-1].end) and _is_command(match):
            found.append(Span(*match.span()))
    for match in _CODE.finditer(prose):
        kind = match.lastgroup or ""
        begin, end = match.span("path" if kind == "path" else 0)
        if kind in ("dotted", "camel") and not _is_code(match[0]):
            continue
        if kind == "path" and re.fullmatch(r"(?i)and/or|ci/cd|i/o|n/a|client/server|read/write", match["path"]):
            continue
        if all(end <= other.begin or begin >= other.end for other in found):
            found.append(Span(begin, end))
    return sorted(found)


def _is_command(match: re.Match[str]) -> bool:
    """Return whether words in prose are a known program with an option, or a program with a subcommand behind sudo."""
    words = match[0][: match.start("words") - match.start() if match["words"] else None].split()
    if words[0] == "sudo" and len(words) > 1:
        words = words[1:]
    if words[0] not in phrases.PROGRAMS or any(word in _STOP for word in words):
        return False
    return len(words) == 1 or words[0] in phrases.SUBCOMMANDS


def _is_code(name: str) -> bool:
    """Return whether a name with dots or inner capitals is code, not a file, a host or a brand."""
    parts = name.split(".")
    if name in _NOT_CODE or name.lower() in phrases.PROGRAMS or name.lower() in phrases.LIBRARIES:
        return False
    if len(parts) == 1 or parts[0] in phrases.OBJECTS:
        return True
    return (
        parts[-1].lower() not in _DOMAINS
        and not phrases.FILE_NAME.fullmatch(name)
        and all(len(part) > 1 for part in parts)
        and len(parts) < 5
    )


def rewrite(masked: str) -> str:
    """Rewrite turns of phrase, also of other languages, into those that `derive` reads."""
    for pattern, replacement in phrases.REWRITES:
        masked = pattern.sub(replacement, masked)
    return masked
