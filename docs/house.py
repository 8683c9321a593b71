"""The house as it stands: which room leans on which, and how large modules and functions are. `make house` prints it.

tests/test_house.py holds docs/architecture.md against it.
"""

from __future__ import annotations

import ast
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from textwrap import wrap

PACKAGE = Path(__file__).resolve().parent.parent / "reflect_git"
# From the top, as `make layers` keeps them; rooms of one floor do not import one another.
FLOORS = (
    ("cli", "hook"),
    ("sitting",),
    ("workflow",),
    ("capture", "review", "apply", "history", "sync"),
    ("store",),
    ("adapters",),
    ("model",),
    ("errors", "paths", "bundle"),
)
_SHOWN = 12


@dataclass(frozen=True)
class Function:
    name: str
    lines: int


@dataclass(frozen=True)
class Module:
    """`room` is the folder or file below the package, `leans` the rooms that it imports anything of."""

    name: str
    room: str
    lines: int
    leans: frozenset[str]
    functions: tuple[Function, ...]


def modules(package: Path = PACKAGE) -> list[Module]:
    rooms = {path.stem for path in package.iterdir() if path.suffix == ".py" or path.is_dir()}
    return [_module(path, package, rooms) for path in sorted(package.rglob("*.py")) if path != package / "__init__.py"]


def _module(path: Path, package: Path, rooms: set[str]) -> Module:
    text = path.read_text(encoding="utf-8")
    parts = path.relative_to(package).with_suffix("").parts
    room, name = parts[0], ".".join(part for part in parts if part != "__init__")
    tree = ast.parse(text)
    leans = {word for found in _imports(tree, package.name) for word in found} & rooms - {room}
    return Module(name, room, text.count("\n"), frozenset(leans), tuple(_functions(tree, name)))


def _imports(tree: ast.AST, package: str) -> Iterator[tuple[str, ...]]:
    """Of each import of the package the room, or rooms, that it names; also of those made late or for types alone."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield tuple(each.name.split(".")[1] for each in node.names if each.name.startswith(f"{package}."))
        elif isinstance(node, ast.ImportFrom) and node.module == package:
            yield tuple(each.name for each in node.names)
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith(f"{package}."):
            yield ((node.module or "").split(".")[1],)


def _functions(tree: ast.AST, module: str) -> Iterator[Function]:
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield Function(f"{module}.{node.name}", (node.end_lineno or node.lineno) - node.lineno + 1)


def graph(found: Iterable[Module]) -> dict[str, Counter[str]]:
    """Room → the rooms it leans on, with how many of its modules do."""
    edges: dict[str, Counter[str]] = {}
    for module in found:
        edges.setdefault(module.room, Counter()).update(module.leans)
    return edges


def report(found: Sequence[Module]) -> str:
    functions = [function for module in found for function in module.functions]
    return "\n".join([
        "Rooms, from the roof down; → imports, with how many of its modules do", "",
        *_drawing(found), "",
        f"Modules: {_spread([module.lines for module in found])}", "",
        *_largest((module.lines, module.name) for module in found), "",
        f"Functions: {_spread([function.lines for function in functions])}", "",
        *_largest((function.lines, function.name) for function in functions),
    ])  # fmt: skip


def _drawing(found: Sequence[Module]) -> Iterator[str]:
    edges = graph(found)
    for floor in FLOORS:
        for room in floor:
            inside = [module.lines for module in found if module.room == room]
            leans = ", ".join(f"{to} {edges[room][to]}" for below in FLOORS for to in below if edges[room][to])
            yield f"  {room:<9}{len(inside):>3} modules {sum(inside):>5} lines"
            yield from wrap(leans, 100, initial_indent=f"{'':13}→ ", subsequent_indent=f"{'':15}")
        yield "  " + "─" * 30


def _spread(sizes: Sequence[int]) -> str:
    return f"{len(sizes)}; median {median(sizes):g} lines, nine of ten at most {tenth(sizes)}, largest {max(sizes)}"


def tenth(sizes: Sequence[int]) -> int:
    """What nine of ten do not exceed."""
    return sorted(sizes)[len(sizes) * 9 // 10]


def _largest(sized: Iterable[tuple[int, str]]) -> Iterator[str]:
    for lines, name in sorted(sized, reverse=True)[:_SHOWN]:
        yield f"{lines:>6}  {name}"


def main() -> int:
    sys.stdout.write(f"{report(modules())}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
