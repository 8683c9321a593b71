"""Find what a piece of Python, JavaScript, Ruby or Perl does outside itself: commands it starts, files it writes.

Only calls with literal arguments are found. Loaded late, because it needs regular expressions.
"""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Union

_LONGEST = 60_000
_TEXT = r"""(?:"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|`[^`]*`)"""
_STARTS = re.compile(
    r"\b(?:system|popen|run|call|check_call|check_output|Popen|getoutput|exec|execSync|execFile|execFileSync|spawn"
    r"|spawnSync|execa|execaSync)\s*\(\s*(?P<list>\[)?\s*(?P<text>"
    + _TEXT
    + r")(?P<more>(?:\s*,\s*\[?\s*"
    + _TEXT
    + r"){0,40})"
)
_LITERAL = re.compile(_TEXT)
_WRITES = re.compile(
    r"\bopen\(\s*(?P<a>" + _TEXT + r")\s*,\s*(?:mode\s*=\s*)?[\"'][wax]"
    r"|\bPath\(\s*(?P<b>" + _TEXT + r")\s*\)\.(?:write_text|write_bytes|unlink|touch|rename)"
    r"|\b(?:writeFile|writeFileSync|appendFile|appendFileSync|unlinkSync|rmSync|os\.remove|os\.unlink|File\.write)"
    r"\s*\(\s*(?P<c>" + _TEXT + r")"
)
_READS = re.compile(
    r"\b(?:open|readFile|readFileSync|load_dotenv|dotenv_values)\(\s*(?P<a>" + _TEXT + r")"
    r"|\bPath\(\s*(?P<b>" + _TEXT + r")\s*\)\.(?:read_text|read_bytes|open)"
)
_LIST_STARTERS = ("spawn", "execFile", "execa")


def find_started_commands(code: str) -> list[Union[str, list[str]]]:
    """Return the commands that code starts: a text for a shell, or a list of words."""
    found: list[Union[str, list[str]]] = []
    for match in _STARTS.finditer(code[:_LONGEST]):
        texts = [_unquote(match["text"])] + [_unquote(text) for text in _LITERAL.findall(match["more"])]
        if match["list"] or match[0].startswith(_LIST_STARTERS):
            found.append(texts)
        else:
            found.append(texts[0])
    return found


def find_written_files(code: str) -> list[str]:
    """Return the files that code writes or removes, as far as they are named in it."""
    return [_unquote(match["a"] or match["b"] or match["c"]) for match in _WRITES.finditer(code[:_LONGEST])]


def _unquote(text: str) -> str:
    return text[1:-1].replace('\\"', '"').replace("\\'", "'").replace("\\n", "\n")


def find_read_files(code: str) -> list[str]:
    """Return the files that code reads, as far as they are named in it."""
    return [_unquote(match["a"] or match["b"]) for match in _READS.finditer(code[:_LONGEST])]
