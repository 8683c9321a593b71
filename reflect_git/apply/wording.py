"""Do two texts say the same in the same words, whatever a formatter made of them?"""

from __future__ import annotations

import re
import unicodedata

from reflect_git.adapters.markdown import spans
from reflect_git.apply.inert import code, inert
from reflect_git.errors import EXIT_DECISION, ReflectError

_ESCAPED = re.compile(r"\\([!-/:-@\[-`{-~])")
_BULLET = re.compile(r"\s*(?:[-*+]|\d{1,9}[.)])\s+")


class Reworded(ReflectError):
    """The entry in the file does not say any more what was approved."""

    def __init__(self, identity: str, approved: str, live: str) -> None:
        super().__init__(
            f"the entry of '{identity}' was reworded since: '{approved}' now reads '{live}'",
            "use --force to take it all the same",
            code="reworded",
            exit_code=EXIT_DECISION,
        )
        self.identity = identity
        self.approved = approved
        self.live = live


def same(entry_text: str, text: str) -> bool:
    """Equal but for blank lines, bullet sign, wrap, and the marks of emphasis and escape that formatters change."""
    return entry_text == text or normal(entry_text) == normal(inert(text)[0])


def normal(text: str) -> str:
    """The form in which texts are compared; not for people."""
    parts = []
    for span in spans(" ".join(text.split())):
        if span.kind == "code":
            parts.append(code(span.text))
        elif span.kind == "link":
            parts.append(span.text[1:-1])  # a linter puts bare addresses into <>
        else:
            # Linters also move the spaces beside what looks like emphasis.
            parts.append(re.sub(r"\s*[*_]\s*", "_", _ESCAPED.sub(r"\1", span.text)))
    return _close_up("".join(parts).strip())


def unbullet(lines: list[str]) -> str:
    """The text of a list item, or of a paragraph, in one line."""
    first = _BULLET.sub("", lines[0], count=1) if lines else ""
    return " ".join(" ".join([first, *lines[1:]]).split())


def _close_up(text: str) -> str:
    """Without spaces beside wide characters: a line of Chinese or Japanese may be broken anywhere."""
    words = text.split(" ")
    joined = words[0]
    for word in words[1:]:
        wide = joined and word and (_is_wide(joined[-1]) or _is_wide(word[0]))
        joined += word if wide else f" {word}"
    return joined


def _is_wide(character: str) -> bool:
    return unicodedata.east_asian_width(character) in "WF"
