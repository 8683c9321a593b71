"""Prepare the text that a call adds to a file for content patterns: blank out comments and the inside of strings."""

from __future__ import annotations

_HASH = frozenset(
    "py pyi rb sh bash zsh yml yaml toml pl r ex exs tf dockerfile makefile mk cfg ini conf nix jl ipynb".split()
)
_SLASH = frozenset(
    "js jsx ts tsx mjs cjs mts cts java kt kts go rs c h cc cpp hpp cs swift scala php dart proto css scss less vue "
    "svelte astro groovy gradle zig sol json5 jsonc".split()
)
_DASH = frozenset("sql lua hs elm adb".split())
DOCUMENTS = frozenset("md mdx rst txt adoc markdown org tex log".split())
_MULTILINE = ('"""', "'''")


def get_extension(path: str) -> str:
    """Return the ending of a file's name in lower case, or the name itself if it has no ending."""
    name = path.replace("\\", "/").rsplit("/", 1)[-1].lower()
    return name.rsplit(".", 1)[-1]


def blank_text(text: str, extension: str, keeps_strings: bool) -> str:
    """Return a text of the same length in which comments, and the inside of strings unless kept, are spaces."""
    if extension in _HASH:
        marks, blocks = ("#",), ()
    elif extension in _SLASH:
        marks, blocks = ("//",), (("/*", "*/"), ("<!--", "-->"))
    elif extension in _DASH:
        marks, blocks = ("--",), (("/*", "*/"),)
    elif extension in ("html", "xml", "svg", "htm"):
        marks, blocks = (), (("<!--", "-->"),)
    else:
        return text
    made: list[str] = []
    at, size = 0, len(text)
    starts = frozenset([mark[0] for mark in marks] + [block[0][0] for block in blocks] + ["'", '"', "`"])
    while at < size:
        char = text[at]
        if char not in starts:
            begin = at
            while at < size and text[at] not in starts:
                at += 1
            made.append(text[begin:at])
            continue
        end = _find_comment_end(text, at, marks, blocks)
        if end:
            made.append(_blank(text[at:end]))
            at = end
        elif char in "'\"`" and not (char == "'" and extension in ("rs", "html", "vue", "svelte")):
            quote = char * 3 if text[at : at + 3] in _MULTILINE else char
            end = _find_string_end(text, at + len(quote), quote)
            inside = text[at + len(quote) : end]
            made.append(quote + (inside if keeps_strings else _blank(inside)) + text[end : end + len(quote)])
            at = end + len(quote)
        else:
            made.append(char)
            at += 1
    return "".join(made)


def _find_comment_end(text: str, at: int, marks: tuple[str, ...], blocks: tuple[tuple[str, str], ...]) -> int:
    """Return where the comment at a position ends; 0 if there is no comment."""
    for mark in marks:
        if text.startswith(mark, at) and not (mark == "//" and text[at - 1 : at] == ":"):
            end = text.find("\n", at)
            return end if end >= 0 else len(text)
    for start, close in blocks:
        if text.startswith(start, at):
            end = text.find(close, at + len(start))
            return end + len(close) if end >= 0 else len(text)
    return 0


def _find_string_end(text: str, at: int, quote: str) -> int:
    """Return where a string ends: at its quote, or at the line's end if it has no closing quote."""
    while at < len(text):
        if text[at] == "\\":
            at += 2
        elif text.startswith(quote, at):
            return at
        elif text[at] == "\n" and len(quote) == 1 and quote != "`":
            return at
        else:
            at += 1
    return len(text)


def _blank(text: str) -> str:
    return "\n".join([" " * len(line) for line in text.split("\n")])
