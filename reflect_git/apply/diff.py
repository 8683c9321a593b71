"""A Plan as the unified diff that git would show, and what of it is touched. No other file imports unidiff."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from difflib import SequenceMatcher
from typing import TYPE_CHECKING

from reflect_git.errors import EXIT_BUG, ReflectError

if TYPE_CHECKING:
    from reflect_git.apply.plan import Plan

CONTEXT = 3
_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_NO_NEWLINE = "\\ No newline at end of file\n"
_PLAIN_NAME = re.compile(r"[!#-\[\]-~ ]+")


def diff(plan: Plan, path: str) -> str:
    """What the plan does to its file, which people call `path`; empty if nothing.

    Lines end at LF, as git has it: a CR stays in the line.
    """
    if plan.before == plan.after:
        return ""
    hunks = "".join(_hunks(_lines(plan.before), _lines(plan.after)))
    old, new = _name("a", path), _name("b", path)
    heads = [f"diff --git {old} {new}"]
    if plan.before is None:
        heads.append("new file mode 100644")
    if plan.after is None:
        heads.append("deleted file mode 100644")
    if hunks:
        # A name with a space ends with a tab, or patch programs would take the rest for a date.
        tab = "\t" if " " in path else ""
        heads.append("--- /dev/null" if plan.before is None else f"--- {old}{tab}")
        heads.append("+++ /dev/null" if plan.after is None else f"+++ {new}{tab}")
    return "".join(f"{head}\n" for head in heads) + hunks


def touched(plan: Plan) -> tuple[list[str], list[str]]:
    """Lines added and lines removed, without their ends, as a reader of the diff counts them."""
    # Without git's own first lines, whose two names cannot be told apart where a folder is called 'a b'.
    _, start, text = diff(plan, plan.path).partition("\n--- ")
    if not start:
        return [], []
    from unidiff.errors import UnidiffParseError
    from unidiff.patch import PatchSet

    try:
        patches = PatchSet(io.StringIO(f"--- {text}", newline="\n"))
    except UnidiffParseError as error:
        raise _broken(plan, str(error)) from None
    if len(patches) != 1:
        raise _broken(plan, f"{len(patches)} files")
    lines = [line for hunk in patches[0] for line in hunk]
    added = [line.value.rstrip("\r\n") for line in lines if line.is_added]
    removed = [line.value.rstrip("\r\n") for line in lines if line.is_removed]
    return added, removed


def _lines(data: bytes | None) -> list[str]:
    return _LINE.findall((data or b"").decode())


def _broken(plan: Plan, why: str) -> ReflectError:
    return ReflectError(f"the diff of '{plan.path}' cannot be read back: {why}", code="bug", exit_code=EXIT_BUG)


def _name(side: str, path: str) -> str:
    name = f"{side}/{path.lstrip('/')}"
    if _PLAIN_NAME.fullmatch(name):
        return name
    quoted = "".join(_quote(byte) for byte in name.encode("utf-8", "surrogateescape"))
    return f'"{quoted}"'


def _quote(byte: int) -> str:
    if byte in b'"\\':
        return f"\\{chr(byte)}"
    return chr(byte) if 32 <= byte < 127 else f"\\{byte:03o}"


def _hunks(old: list[str], new: list[str]) -> Iterator[str]:
    """Only what lies between the common beginning and the common end is compared: a large file costs nothing."""
    first = _common(old, new)
    last = _common(old[first:][::-1], new[first:][::-1])
    start = max(0, first - CONTEXT)
    end = max(0, last - CONTEXT)
    a, b = old[start : len(old) - end], new[start : len(new) - end]
    for group in SequenceMatcher(None, a, b, autojunk=False).get_grouped_opcodes(CONTEXT):
        _, a1, _, b1, _ = group[0]
        _, _, a2, _, b2 = group[-1]
        yield f"@@ -{_range(a1 + start, a2 + start)} +{_range(b1 + start, b2 + start)} @@\n"
        for tag, i1, i2, j1, j2 in group:
            if tag == "equal":
                yield from (_shown(" ", line) for line in a[i1:i2])
            else:
                yield from (_shown("-", line) for line in a[i1:i2])
                yield from (_shown("+", line) for line in b[j1:j2])


def _common(old: list[str], new: list[str]) -> int:
    count = 0
    for one, other in zip(old, new, strict=False):
        if one != other:
            break
        count += 1
    return count


def _range(start: int, end: int) -> str:
    length = end - start
    if length == 1:
        return str(start + 1)
    return f"{start + 1 if length else start},{length}"


def _shown(sign: str, line: str) -> str:
    return sign + line if line.endswith("\n") else f"{sign}{line}\n{_NO_NEWLINE}"
