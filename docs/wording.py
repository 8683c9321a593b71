"""Check of the wording in names, docstrings and messages, run by `make lint`.

It counts banned words and forms for each package and fails if a count is above its number in docs/wording.json, so that
a count can only go down. `docs/wording.py --list [PACKAGE]` prints each finding, `--update` writes lower counts down.
"""

from __future__ import annotations

import ast
import json
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
BASELINE = ROOT / "docs" / "wording.json"
KINDS = ("name", "docstring", "message")

# Metaphors and old names. A name may not contain one as a word.
NAMES = frozenset(
    "sitting sat desk deck stains corpses spool hearing portrait glance chronicle mainline forgetting court doomed "
    "spokesman bury buried heard told crew crews shelf attic floor floors door doors anew behold".split()
)
# Bare participles and words that could mean ten things. They may be part of a function's name, not all of it.
VAGUE = frozenset(
    "told asked kept said seen given gone held made tried begun heard left look finish standing settle settled "
    "together of go go_on take taken done land landed sought meant shown sent noted spent fresh obey converse".split()
)
# A docstring may not begin with one of these: a clause without a head, or an inverted sentence.
OPENINGS = frozenset(
    "what who whom whose whoever whatever whether of where when which that how as for none nor neither "
    "to with without in if while since after before so".split()
)
# A function's docstring begins with an imperative, which is none of these.
NO_VERBS = frozenset(
    "the a an all any each every both one two some many few it its they their this these those there he she his our "
    "we us you your nothing nobody somebody everybody everything something only also not no yes is are was were has "
    "had does did may might can could must should would will more most least such another other others here now "
    "then by from on at between below above because but and or words texts true false".split()
)
# Imperatives that end like a third person or a participle.
VERBS = frozenset(
    "access address compress cross discuss dismiss express focus guess miss pass press process "
    "bring embed feed need proceed seed shed apply multiply rely reply supply mention partition position".split()
)
METAPHORS = r"sitting|desk|deck|stains?|corpses?|spool|floors?|(?<!make )(?<!no )rooms?|doors?|attic|roof"
BANNED = (
    (r"(?<!if there )\b(?:is|are|was|were) (?-i:none)\b", "is none"),
    (r"\banew\b", "anew"),
    (r"\bstands?\b(?! for)|\bstood\b", "stands"),
    (r"\bgoes\b", "goes"),
    (r"\btells? of\b", "tells of"),
    (r"\btold\b", "told"),
    (r"\bas ever\b", "as ever"),
    (r"\bso that\b[^.;]*\btoo\b", "so that … too"),
    (r"\bof which\b|\bof whom\b", "of which"),
    (r"\blies? in\b", "lies in"),
    (r"\b(?:comes?|came|become|becomes|became) of\b", "comes of"),
    (r"\bmend(?:s|ed|ing)?\b", "mend"),
    (r"\b(?:shall|thereof|whereof|nought|hence|lest|albeit)\b", "archaic word"),
    (r"(?<!there )\b(?:is|are) no (?!longer\b|more\b|need\b)\w", "is no …"),
    (r"\bwho(?:ever)? (?:only|looks?|asks?|waits?|goes|wants?|reads?|sits?)\b", "who only looks"),
    (r"\bwhat (?:waits?|stands?|goes|comes|came|went|lacks|stays|is ours|was said)\b", "what waits"),
    (r"\bwhat (?:is|was|they|you|it|nobody) [^,.;:?]{1,30}\b(?:waits?|stays?|goes|comes|follows)\b", "what is … waits"),
    (r"\bbut for\b|, for (?:there|it|they|he|nobody)\b", "but for; , for there"),
    (r"\bthe very\b|\bthat very\b", "the very"),
    (rf"\b(?:{METAPHORS})\b", "metaphor"),
)
_BANNED = [(re.compile(pattern, re.IGNORECASE), label) for pattern, label in BANNED]
# In these packages every sentence in a string is shown to people. Elsewhere, strings may be data.
MESSAGE_PACKAGES = ("cli", "rules", "audit", "doctor", "history", "purge", "sync", "hook", "hooks")
_SENTENCE = re.compile(r"[a-zA-Z']{2,},? [a-zA-Z']+,? [a-zA-Z']+")
_PATTERN = re.compile(r"\\[bswdW]|\(\?|\[\^|\)\?|\.\*")
_COMMAND = re.compile(r"reflect-git [a-z-]+")


class Finding(NamedTuple):
    """One banned word or form, with the file and line where it is."""

    package: str
    kind: str
    place: str
    text: str
    reason: str


def check_packages(root: Path = ROOT) -> list[Finding]:
    """Return all findings in `reflect_git` and `hooks`."""
    found: list[Finding] = []
    for path in [*sorted((root / "reflect_git").rglob("*.py")), *sorted((root / "hooks").glob("*.py"))]:
        parts = path.relative_to(root).with_suffix("").parts
        package = parts[0] if parts[0] == "hooks" else parts[1]
        found += check_source(path.read_text(encoding="utf-8"), package, path.relative_to(root).as_posix())
    return found


def check_source(source: str, package: str, place: str) -> list[Finding]:
    """Return the findings in the source of one module."""
    tree = ast.parse(source)
    rows = [*_iter_names(tree), *_iter_docstrings(tree), *_iter_messages(tree, package in MESSAGE_PACKAGES)]
    return [Finding(package, kind, f"{place}:{line}", text, reason) for kind, line, text, reason in rows]


def _iter_names(tree: ast.Module) -> Iterator[tuple[str, int, str, str]]:
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            is_vague = not isinstance(node, ast.ClassDef) and node.name.strip("_") in VAGUE
            reason = "could mean many things" if is_vague else _find_old_word(node.name)
            if reason:
                yield "name", node.lineno, node.name, reason
        elif isinstance(node, ast.arg) and _find_old_word(node.arg):
            yield "name", node.lineno, node.arg, _find_old_word(node.arg)
    for node in tree.body:
        for target in node.targets if isinstance(node, ast.Assign) else ():
            if isinstance(target, ast.Name) and _find_old_word(target.id):
                yield "name", node.lineno, target.id, _find_old_word(target.id)


def _find_old_word(name: str) -> str:
    words = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower().split("_")
    return next((f"'{word}' in a name" for word in words if word in NAMES), "")


def _iter_docstrings(tree: ast.Module) -> Iterator[tuple[str, int, str, str]]:
    for node in ast.walk(tree):
        if not isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            continue
        text = (ast.get_docstring(node) or "").partition("\n")[0]
        reason = text and (_find_wrong_opening(text, node) or find_banned_form(text))
        if reason:
            yield "docstring", getattr(node, "lineno", 1), text, reason


def _find_wrong_opening(text: str, node: ast.AST) -> str:
    """Return why a docstring may not begin like this, or an empty text."""
    if isinstance(node, ast.Module) and not text.endswith((".", ":", "?", "!")):
        return "first line is not a whole sentence"
    first = re.split(r"[\s,:;.]", text, maxsplit=1)[0]
    word = first.lower()
    if word in OPENINGS or text.lower().startswith("the same"):
        return f"begins with '{first}'"
    if isinstance(node, (ast.Module, ast.ClassDef)) or _is_property(node) or word in VERBS:
        return ""
    if word in NO_VERBS or not first.isalpha() or not first[0].isupper() or re.search(r"[a-z][A-Z]", first):
        return f"'{first}' is not an imperative"
    if re.search(r"[^s]s$|ed$|ing$|ly$|tion$", word):
        return f"'{first}' is not an imperative"
    return ""


def _is_property(node: ast.AST) -> bool:
    return any("property" in ast.unparse(each) for each in getattr(node, "decorator_list", ()))


def _iter_messages(tree: ast.Module, speaks: bool) -> Iterator[tuple[str, int, str, str]]:
    docstrings = {id(each) for node in ast.walk(tree) for each in _iter_docstring_nodes(node)}
    errors = {id(text): at for node in ast.walk(tree) for at, text in _iter_error_texts(node)}
    inside = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
    for node in ast.walk(tree):
        if id(node) in docstrings or id(node) in inside or not (speaks or id(node) in errors):
            continue
        text = _COMMAND.sub("", _get_text(node)) if id(node) not in errors else _get_text(node)
        if not _SENTENCE.search(text) or _PATTERN.search(text):
            continue
        reason = find_banned_form(text) or (_find_wrong_form(text) if id(node) in errors else "")
        if reason:
            yield "message", getattr(node, "lineno", 1), text, reason


def _iter_docstring_nodes(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the strings that are statements of their own."""
    if isinstance(node, ast.Expr):
        yield node.value


def _iter_error_texts(node: ast.AST) -> Iterator[tuple[int, ast.AST]]:
    """Yield message and hint of a ReflectError, with their position."""
    if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "ReflectError":
        yield from enumerate(node.args[:2])


def _get_text(node: ast.AST) -> str:
    """Return a string, or an f-string with `…` for each value; empty for anything else."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else ""
    if isinstance(node, ast.JoinedStr):
        return "".join(_get_text(part) if isinstance(part, ast.Constant) else "…" for part in node.values)
    return ""


def _find_wrong_form(text: str) -> str:
    if text.endswith(".") and not text.endswith(("..", "…")):
        return "message ends with a full stop"
    if re.match(r"[A-Z][a-z]+ (?!Code|Desktop)[a-z]", text) and not text.startswith(("Claude ", "Python ")):
        return "message begins with a capital"
    return ""


def find_banned_form(text: str) -> str:
    """Return the first banned form in a text, or an empty text."""
    bare = re.sub(r"`[^`]*`", "", text)
    if not bare.rstrip().endswith("?") and re.match(r"(?:What|Who|Whoever) ", bare):
        return "begins with a headless clause"
    return next((f"'{label}'" for pattern, label in _BANNED if pattern.search(bare)), "")


def count_findings(found: Iterable[Finding]) -> dict[str, Counter[str]]:
    """Count the findings of each package by kind."""
    counted: dict[str, Counter[str]] = {}
    for one in found:
        counted.setdefault(one.package, Counter())[one.kind] += 1
    return counted


def load_baseline() -> dict[str, int]:
    """Return the most findings that each package may have."""
    found: dict[str, int] = json.loads(BASELINE.read_text(encoding="utf-8")) if BASELINE.exists() else {}
    return found


def format_table(counted: Mapping[str, Counter[str]], allowed: Mapping[str, int]) -> Iterator[str]:
    """Yield the counts of each package beside what is allowed."""
    yield f"{'package':<12}" + "".join(f"{kind + 's':>12}" for kind in KINDS) + f"{'total':>9}{'allowed':>9}"
    for package in sorted({*counted, *allowed}):
        row = counted.get(package, Counter())
        yield (
            f"{package:<12}"
            + "".join(f"{row[kind]:>12}" for kind in KINDS)
            + _format_totals(row, allowed.get(package, 0))
        )
    whole = sum(counted.values(), Counter[str]())
    yield (
        f"{'all':<12}" + "".join(f"{whole[kind]:>12}" for kind in KINDS) + _format_totals(whole, sum(allowed.values()))
    )


def _format_totals(row: Counter[str], allowed: int) -> str:
    return f"{sum(row.values()):>9}{allowed:>9}"


def main(arguments: Sequence[str]) -> int:
    """Print the counts, and return 1 if a package has more than allowed."""
    found = check_packages()
    counted, allowed = count_findings(found), load_baseline()
    totals = {package: sum(row.values()) for package, row in counted.items()}
    if "--list" in arguments:
        chosen = {each for each in arguments if not each.startswith("-")} or set(totals)
        for one in found:
            if one.package in chosen:
                sys.stdout.write(f"{one.place}: {one.kind}: {one.reason}: {one.text}\n")
        return 0
    if "--update" in arguments:
        lower = {each: min(number, allowed.get(each, number)) for each, number in sorted(totals.items())}
        BASELINE.write_text(json.dumps(lower, indent=2) + "\n", encoding="utf-8")
        allowed = lower
    worse = [each for each, number in sorted(totals.items()) if number > allowed.get(each, 0)]
    if worse or "--quiet" not in arguments:
        sys.stdout.write("\n".join(format_table(counted, allowed)) + "\n")
    for each in worse:
        sys.stdout.write(f"error: {each} has {totals[each]} wording problems, {allowed.get(each, 0)} allowed\n")
        sys.stdout.write(f"hint: python docs/wording.py --list {each}\n")
    return 1 if worse else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
